// SPDX-License-Identifier: Apache-2.0
// Functions of one value, element by element (contract T4; sqrt, neg and abs T1).
#include "check.h"
#include "ops.h"

static sb_status unary_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    static const sbi_kernel_id kernels[] = {
        [SB_EXP] = SBI_ID_k_exp_f32,         [SB_LOG] = SBI_ID_k_log_f32,
        [SB_SIN] = SBI_ID_k_sin_f32,         [SB_COS] = SBI_ID_k_cos_f32,
        [SB_RSQRT] = SBI_ID_k_rsqrt_f32,     [SB_SIGMOID] = SBI_ID_k_sigmoid_f32,
        [SB_SILU] = SBI_ID_k_silu_f32,       [SB_SILU_GRAD] = SBI_ID_k_silu_grad_f32,
        [SB_SQRT] = SBI_ID_k_sqrt_f32,       [SB_NEG] = SBI_ID_k_neg_f32,
        [SB_ABS] = SBI_ID_k_abs_f32,         [SB_INVERSE_NORMAL] = SBI_ID_k_inverse_normal_f32,
    };
    static const sbi_kernel_id wide[] = { // of float64
        [SB_EXP] = SBI_ID_k_exp_f64,         [SB_LOG] = SBI_ID_k_log_f64,
        [SB_SIN] = SBI_ID_k_sin_f64,         [SB_COS] = SBI_ID_k_cos_f64,
        [SB_RSQRT] = SBI_ID_k_rsqrt_f64,     [SB_SIGMOID] = SBI_ID_k_sigmoid_f64,
        [SB_SILU] = SBI_ID_k_silu_f64,       [SB_SILU_GRAD] = SBI_ID_k_silu_grad_f64,
        [SB_SQRT] = SBI_ID_k_sqrt_f64,       [SB_NEG] = SBI_ID_k_neg_f64,
        [SB_ABS] = SBI_ID_k_abs_f64,         [SB_INVERSE_NORMAL] = SBI_ID_k_inverse_normal_f64,
    };
    int64_t size = op->n[1];
    if (size == 0) {
        return SB_OK;
    }
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_OUT(op->out[0]), SBI_INT(size)};
    return sbi_launch(ctx, (op->out[0]->dtype == SB_F64 ? wide : kernels)[op->n[0]], (size - 1) / 4096 + 1, args, err);
}

sb_status sbi_unary(sb_context *ctx, sb_unary_kind kind, const sb_array *x, sb_array *out, sb_error *err) {
    if (kind < SB_EXP || kind > SB_INVERSE_NORMAL) {
        return sbi_fail(err, SB_ERR_ARGUMENT, "kind", "%d is no kind of unary function (%d to %d)", (int)kind,
                        (int)SB_EXP, (int)SB_INVERSE_NORMAL);
    }
    sb_status status = kind == SB_INVERSE_NORMAL && x->dtype != SB_U64 ? sbi_check_dtype(x, "x", SB_U32, err)
                       : kind != SB_INVERSE_NORMAL                     ? sbi_check_real(x, "x", err)
                                                                       : SB_OK;
    if (status == SB_OK) {
        status = sbi_check_dtype(out, "out", x->dtype == SB_U32 ? SB_F32 : x->dtype == SB_U64 ? SB_F64 : x->dtype, err);
    }
    if (status == SB_OK) {
        status = sbi_check_like(out, "out", x, "x", err);
    }
    if (status == SB_OK && kind == SB_INVERSE_NORMAL && sbi_arrays_overlap(x, out)) {
        status = sbi_fail(err, SB_ERR_OVERLAP, "out", "out may not be x: words go in, floats come out");
    }
    if (status != SB_OK) {
        return status;
    }
    sbi_op op = {.id = SBI_OP_UNARY, .kernels = unary_kernels};
    op.in[0] = x;
    op.out[0] = out;
    op.n[0] = kind;
    op.n[1] = x->size;
    return sbi_run(ctx, &op, err);
}
