// SPDX-License-Identifier: Apache-2.0
// Softmax and log-softmax of rows, and their backward (contract T5). A group is a row of any length.
//
// An entry of -inf is absent. m = maximum; d_j = RN(x_j - m); e_j = exp(d_j); s = S(e), absent entries keep their
// number and add nothing; r = RN64(1/s); y_j = RN(RN64(e_j r)), or RN(RN64(d_j - log s)). Absent entries give +0, or
// -inf; so does every entry of a row without a present one. Backward, from the stored y: D = S(RN64(y dy)),
// dx = RN(RN64(y RN64(dy - D))); of log-softmax G = S(dy), dx = RN(RN64(dy - RN64(exp(y) G))).
#include "row_exp.h"

KERNEL void NAME(k_softmax)(GLOBAL const T *RESTRICT x, GLOBAL T *RESTRICT y, i64 n GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    SHARED T top[32];
    GLOBAL const T *row = x + GROUP() * n;
    GLOBAL T *to = y + GROUP() * n;
    NAME(sbi_row_maximum)(row, n, top);
    T m = top[0];
    NAME(sbi_row_exp)(row, to, n, m, part, upper);
    f64 r = K(1.0) / part[0];
    for (i64 j = 0; j < n; j += 256) {
        PHASE(l, sbi_lanes(n - j, 256)) {
            T e = to[j + l], v = NAME(sbi_canon)((T)((f64)e * r));
            to[j + l] = e < (T)0 ? (T)0 : v; // (absent)
        } LANE_END
    }
}

KERNEL void NAME(k_log_softmax)(GLOBAL const T *RESTRICT x, GLOBAL T *RESTRICT y, i64 n GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    SHARED T top[32];
    GLOBAL const T *row = x + GROUP() * n;
    GLOBAL T *to = y + GROUP() * n;
    NAME(sbi_row_maximum)(row, n, top);
    T m = top[0];
    NAME(sbi_row_exp_sum)(row, n, m, part, upper);
    f64 log_s = sbi_log_f64(part[0]);
    for (i64 j = 0; j < n; j += 256) {
        PHASE(l, sbi_lanes(n - j, 256)) {
            T v = NAME(sbi_canon)((T)((f64)(row[j + l] - m) - log_s));
            to[j + l] = row[j + l] == NAME(SBI_LEAST) ? row[j + l] : v;
        } LANE_END
    }
}

#define SLOPE_KERNEL NAME(k_softmax_backward)
#define SLOPE_TERM(y, dy) ((f64)(y) * (f64)(dy))
#define SLOPE(y, dy, sum) ((f64)(y) * ((f64)(dy) - sum))
#include "softmax_slope.h"

#define SLOPE_KERNEL NAME(k_log_softmax_backward)
#define SLOPE_TERM(y, dy) ((f64)(dy))
#define SLOPE(y, dy, sum) ((f64)(dy) - (f64)NAME(sbi_exp)(y) * sum)
#include "softmax_slope.h"
