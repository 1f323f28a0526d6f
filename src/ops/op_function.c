// SPDX-License-Identifier: Apache-2.0
// Functions of one value, element by element (contract T4; sqrt, neg and abs T1).
#include "check.h"
#include "ops.h"

static sb_status unary_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
#define KIND(KIND, name) [SB_##KIND] = {SBI_ID_k_##name##_f32, SBI_ID_k_##name##_f64}
    static const sbi_kernel_id kernels[][2] = {
        KIND(EXP, exp),                       KIND(LOG, log),                       KIND(SIN, sin),
        KIND(COS, cos),                       KIND(RSQRT, rsqrt),                   KIND(SIGMOID, sigmoid),
        KIND(SILU, silu),                     KIND(SILU_GRAD, silu_grad),           KIND(SQRT, sqrt),
        KIND(NEG, neg),                       KIND(ABS, abs),                       KIND(INVERSE_NORMAL, inverse_normal),
        KIND(TANH, tanh),                     KIND(EXPM1, expm1),                   KIND(LOG1P, log1p),
        KIND(EXP2, exp2),                     KIND(LOG2, log2),                     KIND(LOG10, log10),
        KIND(ERF, erf),                       KIND(ERFC, erfc),                     KIND(SOFTPLUS, softplus),
        KIND(LOG_SIGMOID, log_sigmoid),       KIND(GELU, gelu),                     KIND(GELU_TANH, gelu_tanh),
        KIND(GELU_GRAD, gelu_grad),           KIND(GELU_TANH_GRAD, gelu_tanh_grad),
    };
#undef KIND
    int64_t size = op->n[1];
    if (size == 0) {
        return SB_OK;
    }
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_OUT(op->out[0]), SBI_INT(size)};
    return sbi_launch(ctx, kernels[op->n[0]][op->out[0]->dtype == SB_F64], (size - 1) / 4096 + 1, args, err);
}

sb_status sbi_unary(sb_context *ctx, sb_unary_kind kind, const sb_array *x, sb_array *out, sb_error *err) {
    if (kind < SB_EXP || kind > SB_GELU_TANH_GRAD) {
        return sbi_fail(err, SB_ERR_ARGUMENT, "kind", "%d is no kind of unary function (%d to %d)", (int)kind,
                        (int)SB_EXP, (int)SB_GELU_TANH_GRAD);
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
