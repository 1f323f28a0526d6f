// SPDX-License-Identifier: Apache-2.0
// The levels of a reduction whose kernels are made from kernels/fold_block.h: blocks of 4,096 terms, then blocks of
// their totals, until one is left.
#ifndef SBI_FOLD_H
#define SBI_FOLD_H

#include "ops.h"

typedef struct sbi_fold {
    sbi_kernel_id first, above; // the kernel of the terms, and of the totals
    sb_dtype dtype;             // of the totals
    int64_t outer, count, inner;
    double divisor;             // of the last level, if it writes out; else 1
    int inputs;                 // of the first kernel
    sbi_arg input[4];
} sbi_fold;

static inline sbi_kernel_id sbi_sum_above(sb_dtype type) { // the kernel above sums whose results are of this type
    return type == SB_F64 ? SBI_ID_k_sum_block_f64 : SBI_ID_k_sum_above_f32;
}

// Writes out[outer, inner] (of the kernels' type, rounded once), or where out is NULL total[outer, inner] (fold->dtype).
sb_status sbi_fold_run(sb_context *ctx, const sbi_fold *fold, sb_array *out, sb_array *total, sb_error *err);
// out[rows] float64: S(x x) of each row of x[rows, d].
sb_status sbi_fold_squares(sb_context *ctx, const sb_array *x, sb_array *out, sb_error *err);
// S over all of x in binary64, by the kernel of its terms, for the host.
sb_status sbi_fold_value(sb_context *ctx, sbi_kernel_id kernel, const sb_array *x, double *value, sb_error *err);
#endif
