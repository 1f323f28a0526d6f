// SPDX-License-Identifier: Apache-2.0
// RMSNorm and its backward (contract T7).
#include "check.h"
#include "fold.h"

enum { ROWS, LENGTH };

static const int64_t length_limit = (int64_t)1 << 36; // what the totals kept in a group can hold (kernels/sum.h)

static sb_status rms_norm_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_OUT(op->out[0]), SBI_OUT(op->out[1]),
                            SBI_INT(op->n[LENGTH]), SBI_INT(op->in[1] != NULL), SBI_INT(op->out[1] != NULL),
                            SBI_REAL(op->r[0])};
    return sbi_launch(ctx, SBI_ID_k_rms_norm_f32, op->n[ROWS], args, err);
}

// x[n, d], weight[d] or NULL.
static sb_status check_input(const sb_array *x, const sb_array *weight, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_dtype(x, "x", SB_F32, err)) || (status = sbi_check_ndim(x, "x", 2, err))) return status;
    if (weight && ((status = sbi_check_dtype(weight, "weight", SB_F32, err)) ||
                   (status = sbi_check_ndim(weight, "weight", 1, err)) ||
                   (status = sbi_check_length(weight, "weight", 0, x->shape[1], err))))
        return status;
    if (x->shape[1] > length_limit)
        return sbi_fail(err, SB_ERR_SIZE, "x", "rows of %lld: at most 2^36 are possible", (long long)x->shape[1]);
    if (x->shape[0] > 0 && x->shape[1] == 0)
        return sbi_fail(err, SB_ERR_EMPTY, "x", "the mean square of nothing: rows of x have no element");
    return SB_OK;
}

static sb_status check_scale(const sb_array *r, int64_t rows, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_dtype(r, "r", SB_F64, err)) || (status = sbi_check_ndim(r, "r", 1, err)) ||
        (status = sbi_check_length(r, "r", 0, rows, err)))
        return status;
    return SB_OK;
}

sb_status sbi_rms_norm(sb_context *ctx, const sb_array *x, const sb_array *weight, double eps, sb_array *y, sb_array *r,
                       sb_error *err) {
    sb_status status;
    if (!(eps > 0.0 && eps <= 0x1.fffffffffffffp+1023))
        return sbi_fail(err, SB_ERR_ARGUMENT, "eps", "eps is %g, it must be above 0 and finite", eps);
    if ((status = check_input(x, weight, err)) || (status = sbi_check_dtype(y, "y", SB_F32, err)) ||
        (status = sbi_check_like(y, "y", x, "x", err)) || (r && (status = check_scale(r, x->shape[0], err))))
        return status;
    const sbi_op op = {.id = SBI_OP_RMS_NORM, .kernels = rms_norm_kernels, .in = {x, weight}, .out = {y, r},
                       .n = {x->shape[0], x->shape[1]}, .r = {eps}};
    return sbi_run(ctx, &op, err);
}

static sb_status rms_norm_backward_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *x = op->in[0], *weight = op->in[1], *r = op->in[2], *dy = op->in[3];
    const sbi_arg args[] = {SBI_IN(x), SBI_IN(weight), SBI_IN(r), SBI_IN(dy), SBI_OUT(op->out[0]),
                            SBI_INT(op->n[LENGTH]), SBI_INT(weight != NULL)};
    sb_status status = sbi_launch(ctx, SBI_ID_k_rms_norm_backward_f32, op->n[ROWS], args, err);
    if (status != SB_OK || !op->out[1]) return status;
    const sbi_fold fold = {.first = SBI_ID_k_rms_weight_block_f32, .above = SBI_ID_k_sum_above_f32, .dtype = SB_F64,
                           .outer = 1, .count = op->n[ROWS], .inner = op->n[LENGTH], .divisor = 1.0, .inputs = 3,
                           .input = {SBI_IN(x), SBI_IN(r), SBI_IN(dy)}};
    return sbi_fold_run(ctx, &fold, op->out[1], NULL, err);
}

sb_status sbi_rms_norm_backward(sb_context *ctx, const sb_array *x, const sb_array *weight, const sb_array *r,
                                const sb_array *dy, sb_array *dx, sb_array *dweight, sb_error *err) {
    sb_status status;
    if ((status = check_input(x, weight, err)) || (status = check_scale(r, x->shape[0], err)) ||
        (status = sbi_check_dtype(dy, "dy", SB_F32, err)) || (status = sbi_check_like(dy, "dy", x, "x", err)) ||
        (status = sbi_check_dtype(dx, "dx", SB_F32, err)) || (status = sbi_check_like(dx, "dx", x, "x", err)))
        return status;
    if (dweight && ((status = sbi_check_dtype(dweight, "dweight", SB_F32, err)) ||
                    (status = sbi_check_ndim(dweight, "dweight", 1, err)) ||
                    (status = sbi_check_length(dweight, "dweight", 0, x->shape[1], err))))
        return status;
    const sbi_op op = {.id = SBI_OP_RMS_NORM_BACKWARD, .kernels = rms_norm_backward_kernels, .in = {x, weight, r, dy},
                       .out = {dx, dweight}, .n = {x->shape[0], x->shape[1]}};
    return sbi_run(ctx, &op, err);
}
