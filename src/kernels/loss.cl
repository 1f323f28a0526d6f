// SPDX-License-Identifier: Apache-2.0
// Cross-entropy of logits[rows, v] against targets (contract T5). A group is a row of any length.
//
// m, d, e, s as in softmax. loss = RN64(log s - d_t). Gradient: r = RN64(1/s); p = RN64(e_j r), e_j = +0 where absent;
// q = RN64(p - [j = t]); RN32(RN64(q * scale)). Target -1, or a row without a present entry: loss +0, gradient +0.
#include "row_exp.h"

#if T_BITS == 32
KERNEL void NAME(k_cross_entropy)(GLOBAL const T *RESTRICT logits, GLOBAL const i32 *RESTRICT targets,
                                  GLOBAL f64 *RESTRICT loss, i64 v GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    SHARED f32 top[32];
    GLOBAL const T *row = logits + GROUP() * v;
    i32 t = targets[GROUP()];
    f64 value = K(0.0);
    if (t >= 0) {
        sbi_row_maximum(row, v, top);
        f32 m = top[0];
        if (m != FLOAT32(0xff800000u)) {
            sbi_row_exp_sum(row, v, m, part, upper);
            value = sbi_canon_f64(sbi_log_f64(part[0]) - (f64)(row[t] - m));
        }
    }
    PHASE(l, 1) { loss[GROUP()] = value; } PHASE_END
}

// dlogits may be logits.
KERNEL void NAME(k_cross_entropy_backward)(GLOBAL const T *logits, GLOBAL const i32 *RESTRICT targets, GLOBAL T *dlogits,
                                           i64 v, f64 scale GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    SHARED f32 top[32];
    GLOBAL const T *row = logits + GROUP() * v;
    GLOBAL T *to = dlogits + GROUP() * v;
    i32 t = targets[GROUP()];
    f32 m = FLOAT32(0xff800000u);
    if (t >= 0) {
        sbi_row_maximum(row, v, top);
        m = top[0];
    }
    if (m == FLOAT32(0xff800000u)) {
        for (i64 j = 0; j < v; j += 256) {
            PHASE(l, sbi_lanes(v - j, 256)) { to[j + l] = 0.0f; } LANE_END
        }
    } else {
        sbi_row_exp(row, to, v, m, 0.0f, part, upper);
        f64 r = K(1.0) / part[0];
        f32 e_t = to[t];
        PHASE(l, 1) {} PHASE_END
        for (i64 j = 0; j < v; j += 256) {
            PHASE(l, sbi_lanes(v - j, 256)) { // (p - 0 is p)
                to[j + l] = sbi_canon_f32((f32)((f64)to[j + l] * r * scale));
            } LANE_END
        }
        PHASE(l, 1) {} PHASE_END
        PHASE(l, 1) { to[t] = sbi_canon_f32((f32)(((f64)e_t * r - K(1.0)) * scale)); } PHASE_END
    }
}
#endif
