// SPDX-License-Identifier: Apache-2.0
// RMSNorm and LayerNorm of rows x[rows, d] and their backward (contract T7). A group is a row of any length.
//
// LayerNorm: m the mean, v the variance of T2 (ddof 0); r = RN64(1/RN64(sqrt(RN64(v + eps)))); t = RN64(RN64(x - m) r);
// y = RN(RN64(RN64(t w) + b)), without w or b without that step. RMSNorm: m = +0, v = RN64(S(x x) / d), no b.
// Backward, m and r as stored: g = RN64(dy w) (dy without w); A = RN64(S(g) / d) (RMSNorm: +0);
// B = RN64(S(RN64(g t)) / d); dx = RN(RN64(r RN64(RN64(g - A) - RN64(t B)))); dw = RN(S over rows of RN64(dy t)).
#include "sum.h"

// The mean in binary64: S / d, but the term itself where all are equal (then the quotient is nearer to the first than
// 2^-40 of it), and in float64 2^64 times the mean of smaller terms where S is not finite though every term is.
FN f64 NAME(sbi_row_mean)(GLOBAL const T *row, i64 d, LOCAL f64 *part, LOCAL f64 *upper) {
    LANE_VAR(f64, acc, 32);
#define ROW_COUNT d
#define ROW_TERM(j) ((f64)row[j])
#define ROW_AHEAD(j) AHEAD(row + (j))
#include "row_sum.h"
    f64 s = part[0], m = s / (f64)d, one = (f64)row[0];
    PHASE(l, 1) {} PHASE_END
    WHEN(sbi_size_f64(m - one) < sbi_size_f64(one) * K(0x1p-40)) {
#define ROW_COUNT d
#define ROW_TERM(j) ((f64)row[j] == one ? K(0.0) : K(1.0))
#include "row_sum.h"
        m = part[0] == K(0.0) ? one : m;
        PHASE(l, 1) {} PHASE_END
    }
#if T_BITS == 64
    WHEN(s - s != K(0.0)) {
#define ROW_COUNT d
#define ROW_TERM(j) (row[j] - row[j] == K(0.0) ? K(0.0) : K(1.0))
#include "row_sum.h"
        i32 finite = part[0] == K(0.0) && m - m != K(0.0);
        PHASE(l, 1) {} PHASE_END
        WHEN(finite) {
#define ROW_COUNT d
#define ROW_TERM(j) (row[j] * K(0x1p-64))
#include "row_sum.h"
            m = part[0] / (f64)d * K(0x1p64);
            PHASE(l, 1) {} PHASE_END
        }
    }
#endif
    return m;
}

FN f64 NAME(sbi_row_variance)(GLOBAL const T *row, i64 d, f64 m, LOCAL f64 *part, LOCAL f64 *upper) {
    LANE_VAR(f64, acc, 32);
#define ROW_COUNT d
#define ROW_TERM(j) sbi_scaled_square((f64)row[j], m, K(1.0))
#include "row_sum.h"
    f64 q = part[0], back = K(1.0);
    PHASE(l, 1) {} PHASE_END
    WHEN(T_BITS == 64 && (q < K(0x1p-900) || q - q != K(0.0))) {
        f64 c = q < K(0x1p-900) ? K(0x1p600) : K(0x1p-600);
#define ROW_COUNT d
#define ROW_TERM(j) sbi_scaled_square((f64)row[j], m, c)
#include "row_sum.h"
        q = part[0];
        back = K(1.0) / c;
        PHASE(l, 1) {} PHASE_END
    }
    return q / (f64)d * back * back;
}

KERNEL void NAME(k_norm)(GLOBAL const T *RESTRICT x, GLOBAL const T *RESTRICT weight, GLOBAL const T *RESTRICT bias,
                         GLOBAL T *RESTRICT y, GLOBAL f64 *RESTRICT mean, GLOBAL f64 *RESTRICT scale, i64 d, i32 centred,
                         i32 has_weight, i32 has_bias, i32 has_mean, i32 has_scale, f64 eps GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    LANE_VAR(f64, acc, 32);
    GLOBAL const T *row = x + GROUP() * d;
    GLOBAL T *to = y + GROUP() * d;
    f64 m = K(0.0), v = K(0.0);
    WHEN(centred) {
        m = NAME(sbi_row_mean)(row, d, part, upper);
        v = NAME(sbi_row_variance)(row, d, m, part, upper);
    }
    WHEN(!centred) {
#define ROW_COUNT d
#define ROW_TERM(j) ((f64)row[j] * (f64)row[j])
#define ROW_AHEAD(j) AHEAD(row + (j))
#include "row_sum.h"
        v = part[0] / (f64)d;
    }
    f64 r = K(1.0) / SQRT64(v + eps);
    if (has_bias) {
        GLOBAL const T *w = has_weight ? weight : bias; // (read, and unused, where there is no weight)
        for (i64 j = 0; j < d; j += 256) {
            PHASE(l, sbi_lanes(d - j, 256)) {
                f64 t = ((f64)row[j + l] - m) * r;
                t = has_weight ? t * (f64)w[j + l] : t;
                to[j + l] = NAME(sbi_canon)((T)(t + (f64)bias[j + l]));
            } LANE_END
        }
    } else if (has_weight) {
        for (i64 j = 0; j < d; j += 256) {
            PHASE(l, sbi_lanes(d - j, 256)) {
                f64 t = ((f64)row[j + l] - m) * r;
                to[j + l] = NAME(sbi_canon)((T)(t * (f64)weight[j + l]));
            } LANE_END
        }
    } else {
        for (i64 j = 0; j < d; j += 256) {
            PHASE(l, sbi_lanes(d - j, 256)) { to[j + l] = NAME(sbi_canon)((T)(((f64)row[j + l] - m) * r)); } LANE_END
        }
    }
    PHASE(l, 1) {
        if (has_mean) mean[GROUP()] = sbi_canon_f64(m);
        if (has_scale) scale[GROUP()] = sbi_canon_f64(r);
    } PHASE_END
}

FN f64 NAME(sbi_norm_gradient)(T dy, T w, i32 has_weight) { return has_weight ? (f64)dy * (f64)w : (f64)dy; }

KERNEL void NAME(k_norm_backward)(GLOBAL const T *RESTRICT x, GLOBAL const T *RESTRICT weight, GLOBAL const f64 *RESTRICT mean,
                                  GLOBAL const f64 *RESTRICT scale, GLOBAL const T *RESTRICT dy, GLOBAL T *RESTRICT dx,
                                  i64 d, i32 centred, i32 has_weight GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    LANE_VAR(f64, acc, 32);
    GLOBAL const T *row = x + GROUP() * d;
    GLOBAL const T *from = dy + GROUP() * d;
    GLOBAL const T *w = has_weight ? weight : from; // (read, and unused, where there is no weight)
    GLOBAL T *to = dx + GROUP() * d;
    f64 m = centred ? mean[GROUP()] : K(0.0), r = scale[GROUP()], a = K(0.0);
    WHEN(centred) {
#define ROW_COUNT d
#define ROW_TERM(j) NAME(sbi_norm_gradient)(from[j], w[j], has_weight)
#include "row_sum.h"
        a = part[0] / (f64)d;
        PHASE(l, 1) {} PHASE_END
    }
#define ROW_COUNT d
#define ROW_TERM(j) (NAME(sbi_norm_gradient)(from[j], w[j], has_weight) * (((f64)row[j] - m) * r))
#define ROW_AHEAD(j) AHEAD(row + (j)), AHEAD(from + (j))
#include "row_sum.h"
    f64 b = part[0] / (f64)d;
    for (i64 j = 0; j < d; j += 256) {
        PHASE(l, sbi_lanes(d - j, 256)) {
            f64 t = ((f64)row[j + l] - m) * r, g = NAME(sbi_norm_gradient)(from[j + l], w[j + l], has_weight);
            to[j + l] = NAME(sbi_canon)((T)(r * (g - a - t * b)));
        } LANE_END
    }
}

// dweight: the terms RN64(dy t) summed over rows, as [1, rows, d]. (dbias is a sum of dy.)
#define FOLD_NAME NAME(k_rms_weight_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x, GLOBAL const f64 *RESTRICT scale, GLOBAL const T *RESTRICT dy
#define FOLD_TERM(i, j, o) ((f64)dy[i] * ((f64)x[i] * scale[j]))
#define FOLD_AHEAD(WORD, i) WORD(dy + (i)), WORD(x + (i))
#include "fold_block.h"

#define FOLD_NAME NAME(k_layer_weight_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x, GLOBAL const f64 *RESTRICT mean, GLOBAL const f64 *RESTRICT scale, \
                    GLOBAL const T *RESTRICT dy
#define FOLD_TERM(i, j, o) ((f64)dy[i] * (((f64)x[i] - mean[j]) * scale[j]))
#define FOLD_AHEAD(WORD, i) WORD(dy + (i)), WORD(x + (i))
#include "fold_block.h"
