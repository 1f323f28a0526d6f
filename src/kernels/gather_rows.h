// SPDX-License-Identifier: Apache-2.0
// Templates: rows of `width` words moved by their numbers, bits kept. Groups are rows that make up some 4,096 words. Define
// ROWS_TYPE, GATHER_NAME, SCATTER_NAME, include.

// out[j, :] = x[index[j], :]
KERNEL void GATHER_NAME(GLOBAL const ROWS_TYPE *RESTRICT x, GLOBAL const i64 *RESTRICT index,
                        GLOBAL ROWS_TYPE *RESTRICT out, i64 width, i64 count GROUP_PARAM) {
    i64 together = width < 4096 ? 4096 / width : 1, j = GROUP() * together;
    i64 end = j + together < count ? j + together : count;
    for (; j < end; j++) {
        GLOBAL const ROWS_TYPE *row = x + index[j] * width;
        GLOBAL ROWS_TYPE *to = out + j * width;
        for (i64 first = 0; first < width; first += 256) {
            PHASE(l, sbi_lanes(width - first, 256)) { to[first + l] = row[first + l]; } LANE_END
        }
    }
}

// out[index[j], :] = source[j, :], of equal indices the last j: `order` lists the positions by ascending index, equal ones
// ascending, so that a row is written once.
KERNEL void SCATTER_NAME(GLOBAL const ROWS_TYPE *RESTRICT source, GLOBAL const i64 *RESTRICT index,
                         GLOBAL const i64 *RESTRICT order, GLOBAL ROWS_TYPE *RESTRICT out, i64 width, i64 count GROUP_PARAM) {
    i64 together = width < 4096 ? 4096 / width : 1, place = GROUP() * together;
    i64 end = place + together < count ? place + together : count;
    for (; place < end; place++) {
        i64 j = order[place];
        if (place + 1 < count && index[order[place + 1]] == index[j]) continue;
        GLOBAL const ROWS_TYPE *row = source + j * width;
        GLOBAL ROWS_TYPE *to = out + index[j] * width;
        for (i64 first = 0; first < width; first += 256) {
            PHASE(l, sbi_lanes(width - first, 256)) { to[first + l] = row[first + l]; } LANE_END
        }
    }
}
#undef ROWS_TYPE
#undef GATHER_NAME
#undef SCATTER_NAME
