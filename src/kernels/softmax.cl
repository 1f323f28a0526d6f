// SPDX-License-Identifier: Apache-2.0
// Softmax and log-softmax of rows (contract T5). A group is a row of any length.
//
// An entry of -inf is absent. m = maximum; d_j = RN32(x_j - m); e_j = exp(d_j); s = S(e), absent entries keep their
// number and add nothing; r = RN64(1/s); y_j = RN32(e_j r), or RN32(RN64(d_j - log s)). Absent entries give +0, or
// -inf; so does every entry of a row without a present one.
#include "row_exp.h"

#if T_BITS == 32
KERNEL void NAME(k_softmax)(GLOBAL const T *RESTRICT x, GLOBAL T *RESTRICT y, i64 n GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    SHARED f32 top[32];
    GLOBAL const T *row = x + GROUP() * n;
    GLOBAL T *to = y + GROUP() * n;
    sbi_row_maximum(row, n, top);
    f32 m = top[0];
    sbi_row_exp(row, to, n, m, -1.0f, part, upper);
    f64 r = K(1.0) / part[0];
    for (i64 j = 0; j < n; j += 256) {
        PHASE(l, sbi_lanes(n - j, 256)) {
            f32 e = to[j + l], v = sbi_canon_f32((f32)((f64)e * r));
            to[j + l] = e < 0.0f ? 0.0f : v; // (absent)
        } LANE_END
    }
}

KERNEL void NAME(k_log_softmax)(GLOBAL const T *RESTRICT x, GLOBAL T *RESTRICT y, i64 n GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    SHARED f32 top[32];
    GLOBAL const T *row = x + GROUP() * n;
    GLOBAL T *to = y + GROUP() * n;
    sbi_row_maximum(row, n, top);
    f32 m = top[0];
    sbi_row_exp_sum(row, n, m, part, upper);
    f64 log_s = sbi_log_f64(part[0]);
    for (i64 j = 0; j < n; j += 256) {
        PHASE(l, sbi_lanes(n - j, 256)) {
            f32 v = sbi_canon_f32((f32)((f64)(row[j + l] - m) - log_s));
            to[j + l] = row[j + l] == FLOAT32(0xff800000u) ? row[j + l] : v;
        } LANE_END
    }
}
#endif
