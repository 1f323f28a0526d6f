// SPDX-License-Identifier: Apache-2.0
// Softmax, log-softmax and cross-entropy over the last axis, and their backward (contract T5).
#include "check.h"
#include "fold.h"

enum { ROWS, LENGTH, LOG };

// The rows of a record: along the last axis.
static sb_status see_rows(const sb_array *x, const char *name, int64_t *n, sb_error *err) {
    if (x->ndim == 0)
        return sbi_fail(err, SB_ERR_SHAPE, name, "%s has no dimension; softmax goes over the last one", name);
    n[LENGTH] = x->shape[x->ndim - 1];
    n[ROWS] = n[LENGTH] ? x->size / n[LENGTH] : 0;
    return sbi_check_row(name, n[LENGTH], err);
}

static sb_status softmax_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_OUT(op->out[0]), SBI_INT(op->n[LENGTH])};
    return sbi_launch(ctx, op->n[LOG] ? SBI_TYPED(op->in[0]->dtype, k_log_softmax) : SBI_TYPED(op->in[0]->dtype, k_softmax), op->n[ROWS], args, err);
}

static sb_status run_softmax(sb_context *ctx, const sb_array *x, int64_t log, sb_array *y, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_real(x, "x", err)) || (status = sbi_check_dtype(y, "y", x->dtype, err)) ||
        (status = sbi_check_like(y, "y", x, "x", err)))
        return status;
    sbi_op op = {.id = SBI_OP_SOFTMAX, .kernels = softmax_kernels, .in = {x}, .out = {y}, .n = {[LOG] = log}};
    status = see_rows(x, "x", op.n, err);
    return status ? status : sbi_run(ctx, &op, err);
}

sb_status sbi_softmax(sb_context *ctx, const sb_array *x, sb_array *y, sb_error *err) {
    return run_softmax(ctx, x, 0, y, err);
}

sb_status sbi_log_softmax(sb_context *ctx, const sb_array *x, sb_array *y, sb_error *err) {
    return run_softmax(ctx, x, 1, y, err);
}

static sb_status softmax_backward_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    sb_dtype type = op->out[0]->dtype;
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_OUT(op->out[0]), SBI_INT(op->n[LENGTH])};
    sbi_kernel_id kernel = op->n[LOG] ? SBI_TYPED(type, k_log_softmax_backward) : SBI_TYPED(type, k_softmax_backward);
    return sbi_launch(ctx, kernel, op->n[ROWS], args, err);
}

static sb_status run_softmax_backward(sb_context *ctx, const sb_array *y, const sb_array *dy, int64_t log, sb_array *dx,
                                      sb_error *err) {
    sb_status status;
    if ((status = sbi_check_real(y, "y", err)) || (status = sbi_check_dtype(dy, "dy", y->dtype, err)) ||
        (status = sbi_check_dtype(dx, "dx", y->dtype, err)) || (status = sbi_check_like(dy, "dy", y, "y", err)) ||
        (status = sbi_check_like(dx, "dx", y, "y", err)))
        return status;
    sbi_op op = {.id = SBI_OP_SOFTMAX_BACKWARD, .kernels = softmax_backward_kernels, .in = {y, dy}, .out = {dx},
                 .n = {[LOG] = log}};
    status = see_rows(y, "y", op.n, err);
    return status ? status : sbi_run(ctx, &op, err);
}

sb_status sbi_softmax_backward(sb_context *ctx, const sb_array *y, const sb_array *dy, sb_array *dx, sb_error *err) {
    return run_softmax_backward(ctx, y, dy, 0, dx, err);
}

sb_status sbi_log_softmax_backward(sb_context *ctx, const sb_array *y, const sb_array *dy, sb_array *dx, sb_error *err) {
    return run_softmax_backward(ctx, y, dy, 1, dx, err);
}

// ---- cross-entropy

enum { REDUCTION = LENGTH + 1 };

static sb_status check_options(const sb_cross_entropy_options *o, sb_error *err) {
    if (o->reduction < SB_LOSS_EACH || o->reduction > SB_LOSS_MEAN)
        return sbi_fail(err, SB_ERR_ARGUMENT, "reduction", "reduction is %d, which is none", (int)o->reduction);
    if (!(o->label_smoothing >= 0.0 && o->label_smoothing <= 1.0))
        return sbi_fail(err, SB_ERR_ARGUMENT, "label_smoothing", "label_smoothing is %g, it must be in [0, 1]", o->label_smoothing);
    return SB_OK;
}

// logits[n, v], targets[n] int32 or int64, weights[v] or NULL.
static sb_status check_loss(const sb_cross_entropy_options *o, const sb_array *logits, const sb_array *targets,
                            const sb_array *weights, sb_error *err) {
    sb_status status;
    if ((status = check_options(o, err)) || (status = sbi_check_real(logits, "logits", err)) ||
        (status = sbi_check_ndim(logits, "logits", 2, err)))
        return status;
    if (targets->dtype != SB_I32 && targets->dtype != SB_I64)
        return sbi_fail(err, SB_ERR_DTYPE, "targets", "targets is %s, it must be int32 or int64", sbi_dtype_name(targets->dtype));
    if ((status = sbi_check_ndim(targets, "targets", 1, err)) ||
        (status = sbi_check_length(targets, "targets", 0, logits->shape[0], err)) ||
        (status = sbi_check_row("logits", logits->shape[1], err)))
        return status;
    if (weights && ((status = sbi_check_dtype(weights, "weights", logits->dtype, err)) ||
                    (status = sbi_check_ndim(weights, "weights", 1, err)) ||
                    (status = sbi_check_length(weights, "weights", 0, logits->shape[1], err))))
        return status;
    return SB_OK;
}

// The targets as int64, -1 where one is not counted; each must be a class or the one that is ignored.
static sb_status counted_targets(sb_context *ctx, const sb_cross_entropy_options *o, const sb_array *targets, int64_t v,
                                 sb_array **out, sb_error *err) {
    int64_t n = targets->size, ignored = o->ignores ? o->ignore_index : -1;
    bool wide = targets->dtype == SB_I64;
    int32_t *narrow = NULL;
    sb_status status = SB_OK;
    int64_t *host = sbi_allocate(&ctx->allocator, n ? n : 1, sizeof *host, err);
    if (!wide) narrow = sbi_allocate(&ctx->allocator, n ? n : 1, sizeof *narrow, err);
    if (!host || (!wide && !narrow)) status = SB_ERR_MEMORY;
    if (status == SB_OK)
        status = sbi_array_read(targets, wide ? (void *)host : (void *)narrow, (size_t)n * sbi_dtype_size(targets->dtype), err);
    for (int64_t i = 0; status == SB_OK && i < n; i++) {
        int64_t t = wide ? host[i] : narrow[i];
        host[i] = t == ignored ? -1 : t;
        if (t != ignored && (t < 0 || t >= v))
            status = sbi_fail(err, SB_ERR_ARGUMENT, "targets", "target %lld is %lld, it must be in 0 .. %lld, or %lld",
                              (long long)i, (long long)t, (long long)v - 1, (long long)ignored);
    }
    if (status == SB_OK) status = sbi_scratch(ctx, SB_I64, n, out, err);
    if (status == SB_OK) status = sbi_array_write(*out, host, (size_t)n * sizeof *host, err);
    sbi_release(&ctx->allocator, host);
    sbi_release(&ctx->allocator, narrow);
    return status;
}

// W of a mean: the weights of the rows that are counted.
static sb_status share_of(sb_context *ctx, const sbi_op *op, double *total, sb_error *err) {
    const sb_array *weights = op->in[2];
    sb_array *share = NULL;
    sb_status status = sbi_scratch(ctx, SB_F64, op->n[ROWS], &share, err);
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_IN(weights), SBI_OUT(share), SBI_INT(op->n[LENGTH]),
                            SBI_INT(weights != NULL)};
    if (status == SB_OK) status = sbi_launch(ctx, SBI_TYPED(op->in[0]->dtype, k_loss_share), op->n[ROWS], args, err);
    if (status == SB_OK) status = sbi_fold_value(ctx, SBI_ID_k_sum_block_f64, share, total, err);
    sbi_array_free(share);
    return status;
}

static sb_status cross_entropy_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *weights = op->in[2];
    double smoothing = op->r[0], each = 1.0 - smoothing, all = smoothing / (double)op->n[LENGTH], value, share = 1.0;
    bool one = op->n[REDUCTION] != SB_LOSS_EACH;
    sb_array *loss = NULL;
    sb_status status = SB_OK;
    if (one && (status = sbi_scratch(ctx, SB_F64, op->n[ROWS], &loss, err))) return status;
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_IN(weights), SBI_OUT(one ? loss : op->out[0]),
                            SBI_INT(op->n[LENGTH]), SBI_INT(weights != NULL), SBI_INT(smoothing > 0.0), SBI_REAL(each),
                            SBI_REAL(all)};
    if ((status = sbi_launch(ctx, SBI_TYPED(op->in[0]->dtype, k_cross_entropy), op->n[ROWS], args, err)) || !one) goto done;
    if ((status = sbi_fold_value(ctx, SBI_ID_k_sum_block_f64, loss, &value, err))) goto done;
    if (op->n[REDUCTION] == SB_LOSS_MEAN) {
        if ((status = share_of(ctx, op, &share, err))) goto done;
        value = value / share;
    }
    if (value != value) value = __builtin_nan("");
    status = sbi_array_write(op->out[0], &value, sizeof value, err);
done:
    sbi_array_free(loss);
    return status;
}

sb_status sbi_cross_entropy(sb_context *ctx, const sb_cross_entropy_options *options, const sb_array *logits,
                            const sb_array *targets, const sb_array *weights, sb_array *loss, sb_error *err) {
    const sb_cross_entropy_options none = {.size = sizeof none}, *o = options ? options : &none;
    sb_array *counted = NULL;
    sb_status status;
    if ((status = check_loss(o, logits, targets, weights, err)) || (status = sbi_check_dtype(loss, "loss", SB_F64, err)) ||
        (status = o->reduction == SB_LOSS_EACH ? sbi_check_like(loss, "loss", targets, "targets", err)
                                               : sbi_check_ndim(loss, "loss", 0, err)) ||
        (status = counted_targets(ctx, o, targets, logits->shape[1], &counted, err)))
        goto done;
    const sbi_op op = {.id = SBI_OP_CROSS_ENTROPY, .kernels = cross_entropy_kernels, .in = {logits, counted, weights},
                       .out = {loss}, .n = {logits->shape[0], logits->shape[1], (int64_t)o->reduction}, .r = {o->label_smoothing}};
    status = sbi_run(ctx, &op, err);
done:
    sbi_array_free(counted);
    return status;
}

static sb_status cross_entropy_backward_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *weights = op->in[2];
    double smoothing = op->r[0], each = 1.0 - smoothing, all = smoothing / (double)op->n[LENGTH], scale = op->r[1], share;
    if (op->n[REDUCTION] == SB_LOSS_MEAN) {
        sb_status status = share_of(ctx, op, &share, err);
        if (status != SB_OK) return status;
        scale = scale / share;
    }
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_IN(weights), SBI_OUT(op->out[0]), SBI_INT(op->n[LENGTH]),
                            SBI_INT(weights != NULL), SBI_INT(smoothing > 0.0), SBI_REAL(each), SBI_REAL(all), SBI_REAL(scale)};
    return sbi_launch(ctx, SBI_TYPED(op->in[0]->dtype, k_cross_entropy_backward), op->n[ROWS], args, err);
}

sb_status sbi_cross_entropy_backward(sb_context *ctx, const sb_cross_entropy_options *options, const sb_array *logits,
                                     const sb_array *targets, const sb_array *weights, double scale, sb_array *dlogits,
                                     sb_error *err) {
    const sb_cross_entropy_options none = {.size = sizeof none}, *o = options ? options : &none;
    sb_array *counted = NULL;
    sb_status status;
    if ((status = check_loss(o, logits, targets, weights, err)) ||
        (status = sbi_check_dtype(dlogits, "dlogits", logits->dtype, err)) ||
        (status = sbi_check_like(dlogits, "dlogits", logits, "logits", err)) ||
        (status = counted_targets(ctx, o, targets, logits->shape[1], &counted, err)))
        goto done;
    const sbi_op op = {.id = SBI_OP_CROSS_ENTROPY_BACKWARD, .kernels = cross_entropy_backward_kernels,
                       .in = {logits, counted, weights}, .out = {dlogits},
                       .n = {logits->shape[0], logits->shape[1], (int64_t)o->reduction}, .r = {o->label_smoothing, scale}};
    status = sbi_run(ctx, &op, err);
done:
    sbi_array_free(counted);
    return status;
}
