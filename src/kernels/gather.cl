// SPDX-License-Identifier: Apache-2.0
// Gather and scatter: rows moved by their numbers, and rows summed into those that their numbers name (contract T2,
// segments).

#if T_BITS == 32
KERNEL void k_index_widen(GLOBAL const i32 *RESTRICT index, GLOBAL i64 *RESTRICT wide, i64 size GROUP_PARAM) {
    i64 first = GROUP() * 4096, end = first + 4096 < size ? first + 4096 : size;
    for (i64 j = first; j < end; j += 256) {
        PHASE(l, sbi_lanes(end - j, 256)) { wide[j + l] = index[j + l]; } LANE_END
    }
}

#define ROWS_TYPE uint8_t
#define GATHER_NAME k_gather_u8
#define SCATTER_NAME k_scatter_u8
#include "gather_rows.h"

#define ROWS_TYPE u32
#define GATHER_NAME k_gather_u32
#define SCATTER_NAME k_scatter_u32
#include "gather_rows.h"

// `order` lists `count` positions by ascending index: the first place whose index is not below `row`.
FN i64 scatter_first(GLOBAL const i64 *index, GLOBAL const i64 *order, i64 low, i64 count, i64 row) {
    i64 high = count;
    while (low < high) {
        i64 middle = low + (high - low) / 2;
        if (index[order[middle]] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Row `group` of out[v, d] = the sum modulo 2^64 of the rows of source[count, d] that name it. A lane is a column.
KERNEL void k_scatter_add_i64(GLOBAL const i64 *RESTRICT index, GLOBAL const i64 *RESTRICT order,
                              GLOBAL const u64 *RESTRICT source, GLOBAL u64 *RESTRICT out, i64 count, i64 d,
                              i32 accumulate GROUP_PARAM) {
    LANE_VAR(u64, sum, 32);
    GLOBAL u64 *to = out + GROUP() * d;
    i64 low = scatter_first(index, order, 0, count, GROUP());
    i64 end = scatter_first(index, order, low, count, GROUP() + 1);
    for (i64 column = 0; column < d; column += 32) {
        i32 columns = sbi_lanes(d - column, 32);
        PHASE(l, columns) { AT(sum, l) = accumulate ? to[column + l] : (u64)0; } LANE_END
        for (i64 place = low; place < end; place++) {
            GLOBAL const u64 *from = source + order[place] * d + column;
            PHASE(l, columns) { AT(sum, l) = AT(sum, l) + from[l]; } LANE_END
        }
        PHASE(l, columns) { to[column + l] = AT(sum, l); } LANE_END
    }
}

// The tree of T2 over 32 partial sums of 32 columns each, of which the first `terms` were used (the others would add
// +0 to sums that are never -0): the totals are part[l].
FN void scatter_fold(LOCAL f64 *part, i64 terms, i32 columns) {
    for (i32 s = 16; s > 0; s /= 2) {
        for (i32 i = 0; i < s && i + s < terms; i++) {
            PHASE(l, columns) { part[32 * i + l] = part[32 * i + l] + part[32 * (i + s) + l]; } LANE_END
        }
    }
}
FN void scatter_clear(LOCAL f64 *part, i64 terms, i32 columns) {
    for (i32 i = 0; i < 32 && i < terms; i++) {
        PHASE(l, columns) { part[32 * i + l] = K(0.0); } LANE_END
    }
}
// One more term, the total of `from`, into the sum `to`.
FN void scatter_carry(LOCAL f64 *to, LOCAL const f64 *from, i64 number, i32 columns) {
    i32 own = (i32)(number % 32) * 32;
    PHASE(l, columns) { to[own + l] = to[own + l] + (from[l] + K(0.0)); } LANE_END
}

#endif

// Row `group` of out[v, d] = RN(S over the positions that name it, numbered by rank, ascending, of source). A lane is a
// column; blocks of 4,096 terms are summed at level 0, their totals at level 1, the totals of 4,096 of those at level 2
// (enough for 2^36 positions).
KERNEL void NAME(k_scatter_add)(GLOBAL const i64 *RESTRICT index, GLOBAL const i64 *RESTRICT order,
                                GLOBAL const T *RESTRICT source, GLOBAL T *RESTRICT out, i64 count, i64 d,
                                i32 accumulate GROUP_PARAM) {
    SHARED f64 level_0[1024];
    SHARED f64 level_1[1024];
    SHARED f64 level_2[1024];
    GLOBAL T *to = out + GROUP() * d;
    i64 low = scatter_first(index, order, 0, count, GROUP());
    i64 end = scatter_first(index, order, low, count, GROUP() + 1);
    i64 terms = end - low, blocks = (terms + 4095) / 4096;
    for (i64 column = 0; column < d; column += 32) {
        i32 columns = d - column < 32 ? (i32)(d - column) : 32;
        scatter_clear(level_0, 1, columns); // no term: +0
        scatter_clear(level_1, blocks, columns);
        scatter_clear(level_2, blocks, columns);
        for (i64 block = 0; block < blocks; block++) {
            i64 first = low + block * 4096, here = end - first < 4096 ? end - first : 4096;
            scatter_clear(level_0, here, columns);
            for (i64 j = 0; j < here; j++) {
                GLOBAL const T *from = source + order[first + j] * d + column;
                LOCAL f64 *sum = level_0 + j % 32 * 32;
                PHASE(l, columns) { sum[l] = sum[l] + (f64)from[l]; } LANE_END
            }
            scatter_fold(level_0, here, columns);
            if (blocks > 1)
                scatter_carry(level_1, level_0, block, columns);
            if (blocks > 4096 && (block % 4096 == 4095 || block == blocks - 1)) {
                scatter_fold(level_1, block % 4096 + 1, columns);
                scatter_carry(level_2, level_1, block / 4096, columns);
                scatter_clear(level_1, 32, columns);
            }
        }
        if (blocks > 4096)
            scatter_fold(level_2, (blocks + 4095) / 4096, columns);
        else if (blocks > 1)
            scatter_fold(level_1, blocks, columns);
        LOCAL const f64 *total = blocks > 4096 ? level_2 : blocks > 1 ? level_1 : level_0;
        PHASE(l, columns) {
            T sum = (T)(total[l] + K(0.0));
            to[column + l] = NAME(sbi_canon)(accumulate ? to[column + l] + sum : sum);
        } LANE_END
    }
}
