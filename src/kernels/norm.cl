// SPDX-License-Identifier: Apache-2.0
// RMSNorm of rows x[rows, d] and its backward (contract T7). A group is a row of any length.
//
// v = RN64(S(x x) / d); r = RN64(1/RN64(sqrt(RN64(v + eps)))); t = RN64(x r); y = RN32(RN64(t w)), without w RN32(t).
// Backward, r as stored: t = RN64(x r); g = RN64(dy w) (dy without w); B = RN64(S(RN64(g t)) / d);
// dx = RN32(RN64(r RN64(g - RN64(t B)))); dw = RN32(S over rows of RN64(dy t)).
#include "sum.h"

#if T_BITS == 32
KERNEL void NAME(k_rms_norm)(GLOBAL const T *RESTRICT x, GLOBAL const T *RESTRICT weight, GLOBAL T *RESTRICT y,
                             GLOBAL f64 *RESTRICT scale, i64 d, i32 has_weight, i32 has_scale, f64 eps GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    LANE_VAR(f64, acc, 32);
    GLOBAL const T *row = x + GROUP() * d;
    GLOBAL T *to = y + GROUP() * d;
    i64 blocks = sbi_sum_blocks(d);
    for (i64 block = 0; block < blocks; block++) {
        i64 first = block * SBI_SUM_BLOCK, end = first + SBI_SUM_BLOCK < d ? first + SBI_SUM_BLOCK : d;
        i64 tail = end - end % 32;
        PHASE(l, 32) { AT(acc, l) = K(0.0); } LANE_END
        for (i64 j = first; j < tail; j += 32) {
            PHASE(l, 32) { AT(acc, l) = AT(acc, l) + (f64)row[j + l] * (f64)row[j + l]; } LANE_END
        }
        PHASE(l, end - tail) { AT(acc, l) = AT(acc, l) + (f64)row[tail + l] * (f64)row[tail + l]; } LANE_END
        PHASE(l, 32) { part[l] = AT(acc, l); } PHASE_END
        sbi_sum_fold(part, upper, block, blocks);
    }
    f64 r = K(1.0) / SQRT64(part[0] / (f64)d + eps);
    if (has_weight) {
        for (i64 j = 0; j < d; j += 256) {
            PHASE(l, sbi_lanes(d - j, 256)) {
                f64 t = (f64)row[j + l] * r;
                to[j + l] = sbi_canon_f32((f32)(t * (f64)weight[j + l]));
            } LANE_END
        }
    } else {
        for (i64 j = 0; j < d; j += 256) {
            PHASE(l, sbi_lanes(d - j, 256)) { to[j + l] = sbi_canon_f32((f32)((f64)row[j + l] * r)); } LANE_END
        }
    }
    if (has_scale) {
        PHASE(l, 1) { scale[GROUP()] = sbi_canon_f64(r); } PHASE_END
    }
}

FN f64 sbi_rms_gradient(f32 dy, f32 w, i32 has_weight) { return has_weight ? (f64)dy * (f64)w : (f64)dy; }

KERNEL void NAME(k_rms_norm_backward)(GLOBAL const T *RESTRICT x, GLOBAL const T *RESTRICT weight,
                                      GLOBAL const f64 *RESTRICT scale, GLOBAL const T *RESTRICT dy,
                                      GLOBAL T *RESTRICT dx, i64 d, i32 has_weight GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    LANE_VAR(f64, acc, 32);
    GLOBAL const T *row = x + GROUP() * d;
    GLOBAL const T *from = dy + GROUP() * d;
    GLOBAL const T *w = has_weight ? weight : from; // (read, and unused, where there is no weight)
    GLOBAL T *to = dx + GROUP() * d;
    f64 r = scale[GROUP()];
    i64 blocks = sbi_sum_blocks(d);
    for (i64 block = 0; block < blocks; block++) {
        i64 first = block * SBI_SUM_BLOCK, end = first + SBI_SUM_BLOCK < d ? first + SBI_SUM_BLOCK : d;
        i64 tail = end - end % 32;
        PHASE(l, 32) { AT(acc, l) = K(0.0); } LANE_END
        for (i64 j = first; j < tail; j += 32) {
            PHASE(l, 32) {
                f64 g = sbi_rms_gradient(from[j + l], w[j + l], has_weight);
                AT(acc, l) = AT(acc, l) + g * ((f64)row[j + l] * r);
            } LANE_END
        }
        PHASE(l, end - tail) {
            f64 g = sbi_rms_gradient(from[tail + l], w[tail + l], has_weight);
            AT(acc, l) = AT(acc, l) + g * ((f64)row[tail + l] * r);
        } LANE_END
        PHASE(l, 32) { part[l] = AT(acc, l); } PHASE_END
        sbi_sum_fold(part, upper, block, blocks);
    }
    f64 b = part[0] / (f64)d;
    for (i64 j = 0; j < d; j += 256) {
        PHASE(l, sbi_lanes(d - j, 256)) {
            f64 g = sbi_rms_gradient(from[j + l], w[j + l], has_weight), t = (f64)row[j + l] * r;
            to[j + l] = sbi_canon_f32((f32)(r * (g - t * b)));
        } LANE_END
    }
}

// dweight: the terms RN64(dy t) summed over rows, as [1, rows, d]; levels above are k_sum_above_f32.
#define FOLD_NAME NAME(k_rms_weight_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x, GLOBAL const f64 *RESTRICT scale, GLOBAL const T *RESTRICT dy
#define FOLD_TERM(i, j, o) ((f64)dy[i] * ((f64)x[i] * scale[j]))
#define FOLD_AHEAD(i) PREFETCH(dy + (i)), PREFETCH(x + (i))
#include "fold_block.h"
#endif
