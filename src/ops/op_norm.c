// SPDX-License-Identifier: Apache-2.0
// RMSNorm and LayerNorm, and their backward (contract T7). A record of RMSNorm has no bias and no mean.
#include "check.h"
#include "fold.h"

enum { ROWS, LENGTH };

static sb_status norm_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    bool centred = op->id == SBI_OP_LAYER_NORM;
    const sb_array *x = op->in[0], *weight = op->in[1], *bias = op->in[2];
    const sb_array *mean = op->out[1], *r = op->out[2];
    const sbi_arg args[] = {SBI_IN(x), SBI_IN(weight), SBI_IN(bias), SBI_OUT(op->out[0]), SBI_OUT(mean), SBI_OUT(r),
                            SBI_INT(op->n[LENGTH]), SBI_INT(centred), SBI_INT(weight != NULL), SBI_INT(bias != NULL),
                            SBI_INT(mean != NULL), SBI_INT(r != NULL), SBI_REAL(op->r[0])};
    return sbi_launch(ctx, SBI_TYPED(x->dtype, k_norm), op->n[ROWS], args, err);
}

// An array of `length` values for all rows, or of one binary64 value for each.
static sb_status check_vector(const sb_array *a, const char *name, sb_dtype dtype, int64_t length, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_dtype(a, name, dtype, err)) || (status = sbi_check_ndim(a, name, 1, err))) return status;
    return sbi_check_length(a, name, 0, length, err);
}

// x[n, d], weight[d] and bias[d] or NULL.
static sb_status check_input(const sb_array *x, const sb_array *weight, const sb_array *bias, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_real(x, "x", err)) || (status = sbi_check_ndim(x, "x", 2, err)) ||
        (weight && (status = check_vector(weight, "weight", x->dtype, x->shape[1], err))) ||
        (bias && (status = check_vector(bias, "bias", x->dtype, x->shape[1], err))) ||
        (status = sbi_check_row("x", x->shape[1], err)))
        return status;
    if (x->shape[0] > 0 && x->shape[1] == 0)
        return sbi_fail(err, SB_ERR_EMPTY, "x", "the norm of nothing: rows of x have no element");
    return SB_OK;
}

static sb_status check_as_x(const sb_array *a, const char *name, const sb_array *x, sb_error *err) {
    sb_status status = sbi_check_dtype(a, name, x->dtype, err);
    return status ? status : sbi_check_like(a, name, x, "x", err);
}

static sb_status run_norm(sb_context *ctx, sbi_op_id id, const sb_array *x, const sb_array *weight, const sb_array *bias,
                          double eps, sb_array *y, sb_array *mean, sb_array *r, sb_error *err) {
    sbi_op op = {.id = id, .kernels = norm_kernels, .in = {x, weight, bias}, .out = {y, mean, r}, .r = {eps}};
    sb_status status;
    if (!(eps > 0.0 && eps <= 0x1.fffffffffffffp+1023))
        return sbi_fail(err, SB_ERR_ARGUMENT, "eps", "eps is %g, it must be above 0 and finite", eps);
    if ((status = check_input(x, weight, bias, err)) || (status = check_as_x(y, "y", x, err)) ||
        (mean && (status = check_vector(mean, "mean", SB_F64, x->shape[0], err))) ||
        (r && (status = check_vector(r, "r", SB_F64, x->shape[0], err))))
        return status;
    op.n[ROWS] = x->shape[0];
    op.n[LENGTH] = x->shape[1];
    return sbi_run(ctx, &op, err);
}

sb_status sbi_rms_norm(sb_context *ctx, const sb_array *x, const sb_array *weight, double eps, sb_array *y, sb_array *r,
                       sb_error *err) {
    return run_norm(ctx, SBI_OP_RMS_NORM, x, weight, NULL, eps, y, NULL, r, err);
}

sb_status sbi_layer_norm(sb_context *ctx, const sb_array *x, const sb_array *weight, const sb_array *bias, double eps,
                         sb_array *y, sb_array *mean, sb_array *r, sb_error *err) {
    return run_norm(ctx, SBI_OP_LAYER_NORM, x, weight, bias, eps, y, mean, r, err);
}

static sb_status backward_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *x = op->in[0], *weight = op->in[1], *mean = op->in[2], *r = op->in[3], *dy = op->in[4];
    bool centred = op->id == SBI_OP_LAYER_NORM_BACKWARD;
    const sbi_arg args[] = {SBI_IN(x), SBI_IN(weight), SBI_IN(mean), SBI_IN(r), SBI_IN(dy), SBI_OUT(op->out[0]),
                            SBI_INT(op->n[LENGTH]), SBI_INT(centred), SBI_INT(weight != NULL)};
    sb_status status = sbi_launch(ctx, SBI_TYPED(x->dtype, k_norm_backward), op->n[ROWS], args, err);
    sbi_fold fold = {.first = SBI_TYPED(x->dtype, k_rms_weight_block), .above = sbi_sum_above(x->dtype), .dtype = SB_F64,
                     .outer = 1, .count = op->n[ROWS], .inner = op->n[LENGTH], .divisor = 1.0, .inputs = 3,
                     .input = {SBI_IN(x), SBI_IN(r), SBI_IN(dy)}};
    if (centred) {
        fold.first = SBI_TYPED(x->dtype, k_layer_weight_block);
        fold.inputs = 4;
        fold.input[1] = (sbi_arg)SBI_IN(mean);
        fold.input[2] = (sbi_arg)SBI_IN(r);
        fold.input[3] = (sbi_arg)SBI_IN(dy);
    }
    if (status == SB_OK && op->out[1]) status = sbi_fold_run(ctx, &fold, op->out[1], NULL, err);
    fold.first = SBI_TYPED(x->dtype, k_sum_block);
    fold.inputs = 1;
    fold.input[0] = (sbi_arg)SBI_IN(dy);
    if (status == SB_OK && op->out[2]) status = sbi_fold_run(ctx, &fold, op->out[2], NULL, err);
    return status;
}

static sb_status run_backward(sb_context *ctx, sbi_op_id id, const sb_array *x, const sb_array *weight, const sb_array *mean,
                              const sb_array *r, const sb_array *dy, sb_array *dx, sb_array *dweight, sb_array *dbias,
                              sb_error *err) {
    sbi_op op = {.id = id, .kernels = backward_kernels, .in = {x, weight, mean, r, dy}, .out = {dx, dweight, dbias}};
    sb_status status;
    if ((status = check_input(x, weight, NULL, err)) ||
        (mean && (status = check_vector(mean, "mean", SB_F64, x->shape[0], err))) ||
        (status = check_vector(r, "r", SB_F64, x->shape[0], err)) || (status = check_as_x(dy, "dy", x, err)) ||
        (status = check_as_x(dx, "dx", x, err)) ||
        (dweight && (status = check_vector(dweight, "dweight", x->dtype, x->shape[1], err))) ||
        (dbias && (status = check_vector(dbias, "dbias", x->dtype, x->shape[1], err))))
        return status;
    op.n[ROWS] = x->shape[0];
    op.n[LENGTH] = x->shape[1];
    return sbi_run(ctx, &op, err);
}

sb_status sbi_rms_norm_backward(sb_context *ctx, const sb_array *x, const sb_array *weight, const sb_array *r,
                                const sb_array *dy, sb_array *dx, sb_array *dweight, sb_error *err) {
    return run_backward(ctx, SBI_OP_RMS_NORM_BACKWARD, x, weight, NULL, r, dy, dx, dweight, NULL, err);
}

sb_status sbi_layer_norm_backward(sb_context *ctx, const sb_array *x, const sb_array *weight, const sb_array *mean,
                                  const sb_array *r, const sb_array *dy, sb_array *dx, sb_array *dweight, sb_array *dbias,
                                  sb_error *err) {
    return run_backward(ctx, SBI_OP_LAYER_NORM_BACKWARD, x, weight, mean, r, dy, dx, dweight, dbias, err);
}
