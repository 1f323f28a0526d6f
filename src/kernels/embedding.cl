// SPDX-License-Identifier: Apache-2.0
// Embedding: a gather of rows, and its gradient, a sum of segments (contract T2).

#if T_BITS == 32
// out[position, :] = table[ids[position], :], bits kept: rows of `width` 32-bit words; one position a group.
KERNEL void k_embedding(GLOBAL const u32 *RESTRICT table, GLOBAL const i32 *RESTRICT ids, GLOBAL u32 *RESTRICT out,
                        i64 width GROUP_PARAM) {
    GLOBAL const u32 *row = table + (i64)ids[GROUP()] * width;
    GLOBAL u32 *to = out + GROUP() * width;
    for (i64 first = 0; first < width; first += 256) {
        i32 lanes = width - first < 256 ? (i32)(width - first) : 256;
        PHASE(l, lanes) { to[first + l] = row[first + l]; } LANE_END
    }
}

// The tree of T2 over 32 partial sums of 32 columns each, of which the first `terms` were used (the others would add
// +0 to sums that are never -0): the totals are part[l].
FN void embedding_fold(LOCAL f64 *part, i64 terms, i32 columns) {
    for (i32 s = 16; s > 0; s /= 2) {
        for (i32 i = 0; i < s && i + s < terms; i++) {
            PHASE(l, columns) { part[32 * i + l] = part[32 * i + l] + part[32 * (i + s) + l]; } LANE_END
        }
    }
}
FN void embedding_clear(LOCAL f64 *part, i64 terms, i32 columns) {
    for (i32 i = 0; i < 32 && i < terms; i++) {
        PHASE(l, columns) { part[32 * i + l] = K(0.0); } LANE_END
    }
}
// One more term, the total of `from`, into the sum `to`.
FN void embedding_carry(LOCAL f64 *to, LOCAL const f64 *from, i64 number, i32 columns) {
    i32 own = (i32)(number % 32) * 32;
    PHASE(l, columns) { to[own + l] = to[own + l] + (from[l] + K(0.0)); } LANE_END
}

// Row `group` of table[v, d] = RN32(S over the positions that hold it, numbered by rank, ascending, of dout). `order`
// lists the positions by ascending id, equal ids ascending. A lane is a column; blocks of 4,096 terms are summed at
// level 0, their totals at level 1, the totals of 4,096 of those at level 2 (enough for 2^36 positions).
KERNEL void NAME(k_embedding_backward)(GLOBAL const i32 *RESTRICT ids, GLOBAL const i64 *RESTRICT order,
                                       GLOBAL const T *RESTRICT dout, GLOBAL T *RESTRICT table, i64 count, i64 d,
                                       i32 accumulate GROUP_PARAM) {
    SHARED f64 level_0[1024];
    SHARED f64 level_1[1024];
    SHARED f64 level_2[1024];
    GLOBAL T *to = table + GROUP() * d;
    i64 low = 0, high = count; // the first place whose id is not below this row
    while (low < high) {
        i64 middle = low + (high - low) / 2;
        if (ids[order[middle]] < GROUP())
            low = middle + 1;
        else
            high = middle;
    }
    i64 end = low; // the first place whose id is above
    for (high = end < count && ids[order[end]] == GROUP() ? count : end; end < high;) {
        i64 middle = end + (high - end) / 2;
        if (ids[order[middle]] <= GROUP())
            end = middle + 1;
        else
            high = middle;
    }
    i64 terms = end - low, blocks = (terms + 4095) / 4096;
    for (i64 column = 0; column < d; column += 32) {
        i32 columns = d - column < 32 ? (i32)(d - column) : 32;
        embedding_clear(level_0, 1, columns); // no term: +0
        embedding_clear(level_1, blocks, columns);
        embedding_clear(level_2, blocks, columns);
        for (i64 block = 0; block < blocks; block++) {
            i64 first = low + block * 4096, here = end - first < 4096 ? end - first : 4096;
            embedding_clear(level_0, here, columns);
            for (i64 j = 0; j < here; j++) {
                GLOBAL const T *from = dout + order[first + j] * d + column;
                LOCAL f64 *sum = level_0 + j % 32 * 32;
                PHASE(l, columns) { sum[l] = sum[l] + (f64)from[l]; } LANE_END
            }
            embedding_fold(level_0, here, columns);
            if (blocks > 1)
                embedding_carry(level_1, level_0, block, columns);
            if (blocks > 4096 && (block % 4096 == 4095 || block == blocks - 1)) {
                embedding_fold(level_1, block % 4096 + 1, columns);
                embedding_carry(level_2, level_1, block / 4096, columns);
                embedding_clear(level_1, 32, columns);
            }
        }
        if (blocks > 4096)
            embedding_fold(level_2, (blocks + 4095) / 4096, columns);
        else if (blocks > 1)
            embedding_fold(level_1, blocks, columns);
        LOCAL const f64 *total = blocks > 4096 ? level_2 : blocks > 1 ? level_1 : level_0;
        PHASE(l, columns) {
            T sum = (T)(total[l] + K(0.0));
            to[column + l] = sbi_canon_f32(accumulate ? to[column + l] + sum : sum);
        } LANE_END
    }
}
#endif
