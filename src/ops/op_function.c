// SPDX-License-Identifier: Apache-2.0
// Functions of one value, element by element (contract T4; sqrt, neg and abs T1).
#include "ops.h"

#include <string.h>

static sb_status unary_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    static const sbi_kernel_id kernels[] = {
        [SB_EXP] = SBI_ID_k_exp_f32,         [SB_LOG] = SBI_ID_k_log_f32,
        [SB_SIN] = SBI_ID_k_sin_f32,         [SB_COS] = SBI_ID_k_cos_f32,
        [SB_RSQRT] = SBI_ID_k_rsqrt_f32,     [SB_SIGMOID] = SBI_ID_k_sigmoid_f32,
        [SB_SILU] = SBI_ID_k_silu_f32,       [SB_SILU_GRAD] = SBI_ID_k_silu_grad_f32,
        [SB_SQRT] = SBI_ID_k_sqrt_f32,       [SB_NEG] = SBI_ID_k_neg_f32,
        [SB_ABS] = SBI_ID_k_abs_f32,
    };
    int64_t size = op->n[1];
    if (size == 0) {
        return SB_OK;
    }
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_OUT(op->out[0]), SBI_INT(size)};
    return sbi_launch(ctx, kernels[op->n[0]], (size - 1) / 4096 + 1, args, err);
}

sb_status sbi_unary(sb_context *ctx, sb_unary_kind kind, const sb_array *x, sb_array *out, sb_error *err) {
    if (kind < SB_EXP || kind > SB_ABS) {
        return sbi_fail(err, SB_ERR_ARGUMENT, "kind", "%d is no kind of unary function (%d to %d)", (int)kind,
                        (int)SB_EXP, (int)SB_ABS);
    }
    if (x->dtype != SB_F32) {
        return sbi_fail(err, SB_ERR_DTYPE, "x", "x is %s; functions take float32", sb_dtype_name(x->dtype));
    }
    if (out->dtype != SB_F32) {
        return sbi_fail(err, SB_ERR_DTYPE, "out", "out is %s; functions write float32", sb_dtype_name(out->dtype));
    }
    if (out->ndim != x->ndim || memcmp(out->shape, x->shape, (size_t)x->ndim * sizeof x->shape[0]) != 0) {
        return sbi_fail(err, SB_ERR_SHAPE, "out", "out must have the shape of x");
    }
    sbi_op op = {.id = SBI_OP_UNARY, .kernels = unary_kernels};
    op.in[0] = x;
    op.out[0] = out;
    op.n[0] = kind;
    op.n[1] = x->size;
    return sbi_run(ctx, &op, err);
}
