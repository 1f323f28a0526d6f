// SPDX-License-Identifier: Apache-2.0
// A template: the backward of a softmax from the stored y. sum = S(SLOPE_TERM(y_j, dy_j)), dx_j = RN(SLOPE(y_j, dy_j, sum)),
// both of binary64. dx may be dy. Define SLOPE_KERNEL, SLOPE_TERM(y, dy) and SLOPE(y, dy, sum), include.
KERNEL void SLOPE_KERNEL(GLOBAL const T *RESTRICT y, GLOBAL const T *dy, GLOBAL T *dx, i64 n GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    LANE_VAR(f64, acc, 32);
    GLOBAL const T *row = y + GROUP() * n, *from = dy + GROUP() * n;
    GLOBAL T *to = dx + GROUP() * n;
#define ROW_COUNT n
#define ROW_TERM(j) SLOPE_TERM(row[j], from[j])
#define ROW_AHEAD(j) AHEAD(row + (j)), AHEAD(from + (j))
#include "row_sum.h"
    f64 sum = part[0];
    for (i64 j = 0; j < n; j += 256) {
        PHASE(l, sbi_lanes(n - j, 256)) { to[j + l] = NAME(sbi_canon)((T)SLOPE(row[j + l], from[j + l], sum)); } LANE_END
    }
}
#undef SLOPE_KERNEL
#undef SLOPE_TERM
#undef SLOPE
