// SPDX-License-Identifier: Apache-2.0
// Cross-entropy of logits[rows, v] against targets (contract T5). A group is a row of any length.
//
// m, d, e, s as in softmax; n_j = RN64(log s - d_j). loss = RN64(w_t n_t), n_t without weights; smoothed: RN64(RN64(a loss) +
// RN64(k S(RN64(w_j n_j)))). Gradient: r = RN64(1/s); p = RN64(e_j r), e_j = +0 where absent; h = RN64(p - [j = t]);
// q = RN64(w_t h), h without weights; smoothed: RN64(RN64(A h) + RN64(k RN64(RN64(p Q) - w_j))), A = RN64(a w_t), Q = S(w_j);
// RN(RN64(q scale)). Absent entries have no w_j. Target -1, or a row without a present entry: loss +0, gradient +0.
#include "row_exp.h"

// share[rows]: what a row counts in a mean: w_t (1 without weights), +0 where it has no target or no present entry.
KERNEL void NAME(k_loss_share)(GLOBAL const T *RESTRICT logits, GLOBAL const i64 *RESTRICT targets,
                               GLOBAL const T *RESTRICT weights, GLOBAL f64 *RESTRICT share, i64 v, i32 has_weights GROUP_PARAM) {
    PHASE(l, 1) {
        GLOBAL const T *row = logits + GROUP() * v;
        i64 t = targets[GROUP()], j = 0;
        while (j < v && row[j] == NAME(SBI_LEAST)) j++; // (the first entry, unless it is absent)
        f64 w = t >= 0 && has_weights ? (f64)weights[t] : K(1.0);
        share[GROUP()] = t >= 0 && j < v ? w : K(0.0);
    } PHASE_END
}

FN f64 NAME(sbi_present_weight)(T x, GLOBAL const T *weights, i64 j, i32 has_weights) {
    f64 w = has_weights ? (f64)weights[j] : K(1.0);
    return x == NAME(SBI_LEAST) ? K(0.0) : w;
}

// w_j n_j, +0 where the entry is absent.
FN f64 NAME(sbi_smooth_loss)(T x, T m, f64 log_s, GLOBAL const T *weights, i64 j, i32 has_weights) {
    f64 n = log_s - (f64)(x - m);
    n = has_weights ? (f64)weights[j] * n : n;
    return x == NAME(SBI_LEAST) ? K(0.0) : n;
}

KERNEL void NAME(k_cross_entropy)(GLOBAL const T *RESTRICT logits, GLOBAL const i64 *RESTRICT targets,
                                  GLOBAL const T *RESTRICT weights, GLOBAL f64 *RESTRICT loss, i64 v, i32 has_weights,
                                  i32 smooth, f64 a, f64 k GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    SHARED T top[32];
    LANE_VAR(f64, acc, 32);
    GLOBAL const T *row = logits + GROUP() * v;
    i64 t = targets[GROUP()];
    f64 value = K(0.0);
    WHEN(t >= 0) {
        NAME(sbi_row_maximum)(row, v, top);
        T m = top[0];
        WHEN(m != NAME(SBI_LEAST)) {
            NAME(sbi_row_exp_sum)(row, v, m, part, upper);
            f64 log_s = sbi_log_f64(part[0]);
            value = log_s - (f64)(row[t] - m);
            value = has_weights ? (f64)weights[t] * value : value;
            WHEN(smooth) {
                PHASE(l, 1) {} PHASE_END
#define ROW_COUNT v
#define ROW_TERM(j) NAME(sbi_smooth_loss)(row[j], m, log_s, weights, j, has_weights)
#include "row_sum.h"
                value = a * value + k * part[0];
            }
        }
    }
    PHASE(l, 1) { loss[GROUP()] = sbi_canon_f64(value); } PHASE_END
}

// dlogits may be logits.
KERNEL void NAME(k_cross_entropy_backward)(GLOBAL const T *logits, GLOBAL const i64 *RESTRICT targets,
                                           GLOBAL const T *RESTRICT weights, GLOBAL T *dlogits, i64 v, i32 has_weights,
                                           i32 smooth, f64 a, f64 k, f64 scale GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    SHARED T top[32];
    LANE_VAR(f64, acc, 32);
    GLOBAL const T *row = logits + GROUP() * v;
    GLOBAL T *to = dlogits + GROUP() * v;
    i64 t = targets[GROUP()];
    T m = NAME(SBI_LEAST);
    WHEN(t >= 0) {
        NAME(sbi_row_maximum)(row, v, top);
        m = top[0];
    }
    i32 empty = m == NAME(SBI_LEAST);
    if (empty) {
        for (i64 j = 0; j < v; j += 256) {
            PHASE(l, sbi_lanes(v - j, 256)) { to[j + l] = (T)0; } LANE_END
        }
    }
    WHEN(!empty) {
        f64 q = K(0.0), w = has_weights ? (f64)weights[t] : K(1.0);
        WHEN(smooth) {
#define ROW_COUNT v
#define ROW_TERM(j) NAME(sbi_present_weight)(row[j], weights, j, has_weights)
#include "row_sum.h"
            q = part[0];
            PHASE(l, 1) {} PHASE_END
        }
        NAME(sbi_row_exp)(row, to, v, m, part, upper);
        f64 r = K(1.0) / part[0];
        T e_t = to[t] < (T)0 ? (T)0 : to[t];
        f64 h_t = w * ((f64)e_t * r - K(1.0));
        if (smooth) {
            f64 rest = to[t] < (T)0 ? K(0.0) : w;
            h_t = a * w * ((f64)e_t * r - K(1.0)) + k * ((f64)e_t * r * q - rest);
        }
        PHASE(l, 1) {} PHASE_END
        if (smooth) {
            for (i64 j = 0; j < v; j += 256) {
                PHASE(l, sbi_lanes(v - j, 256)) {
                    T e = to[j + l];
                    f64 p = (f64)(e < (T)0 ? (T)0 : e) * r, own = has_weights ? (f64)weights[j + l] : K(1.0);
                    own = e < (T)0 ? K(0.0) : own;
                    to[j + l] = NAME(sbi_canon)((T)((a * w * p + k * (p * q - own)) * scale));
                } LANE_END
            }
        } else {
            for (i64 j = 0; j < v; j += 256) {
                PHASE(l, sbi_lanes(v - j, 256)) { // (p - 0 is p, and w is 1 where there are no weights)
                    T e = to[j + l] < (T)0 ? (T)0 : to[j + l];
                    to[j + l] = NAME(sbi_canon)((T)(w * ((f64)e * r) * scale));
                } LANE_END
            }
        }
        PHASE(l, 1) {} PHASE_END
        PHASE(l, 1) { to[t] = NAME(sbi_canon)((T)(h_t * scale)); } PHASE_END
    }
}
