// SPDX-License-Identifier: Apache-2.0
// A template: counts of one part of the rows of code[n, features]. Define HISTOGRAM_NAME, HISTOGRAM_TYPE, include.
//
// A group is a part, of `rows` rows, and 64 features, one a lane: a lane has its own counts, so none meets another's. The
// rows are gone through 64 at a time, so that they are still near when the next feature reads them.
// part[parts, features, bins] starts at zero; weight may be NULL: 1 each.
KERNEL void HISTOGRAM_NAME(GLOBAL const HISTOGRAM_TYPE *RESTRICT code, GLOBAL const i64 *RESTRICT weight,
                           GLOBAL u64 *RESTRICT part, i64 n, i64 features, i64 bins, i64 rows GROUP_PARAM) {
    i64 tiles = (features + 63) / 64, own = GROUP() / tiles, feature = GROUP() % tiles * 64;
    i64 first = own * rows, end = first + rows < n ? first + rows : n;
    i32 lanes = sbi_lanes(features - feature, 64);
    for (i64 row = first; row < end; row += 64) {
        i32 here = sbi_lanes(end - row, 64);
        PHASE(l, lanes) {
            GLOBAL u64 *count = part + ((own * features) + feature + l) * bins;
            GLOBAL const HISTOGRAM_TYPE *at = code + row * features + feature + l;
            for (i32 j = 0; j < here; j++)
                count[at[j * features]] += weight ? (u64)weight[row + j] : (u64)1;
        } LANE_END
    }
}
#undef HISTOGRAM_NAME
#undef HISTOGRAM_TYPE
