// SPDX-License-Identifier: Apache-2.0
// Softmax, log-softmax and cross-entropy over the last axis (contract T5).
#include "check.h"
#include "ops.h"

enum { ROWS, LENGTH, LOG };

static const int64_t length_limit = (int64_t)1 << 36; // what the totals kept in a group can hold (kernels/sum.h)

static sb_status check_length(const char *name, int64_t length, sb_error *err) {
    if (length <= length_limit) return SB_OK;
    return sbi_fail(err, SB_ERR_SIZE, name, "rows of %lld: at most 2^36 are possible", (long long)length);
}

static sb_status softmax_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_OUT(op->out[0]), SBI_INT(op->n[LENGTH])};
    return sbi_launch(ctx, op->n[LOG] ? SBI_ID_k_log_softmax_f32 : SBI_ID_k_softmax_f32, op->n[ROWS], args, err);
}

static sb_status run_softmax(sb_context *ctx, const sb_array *x, int64_t log, sb_array *y, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_dtype(x, "x", SB_F32, err)) || (status = sbi_check_dtype(y, "y", SB_F32, err)) ||
        (status = sbi_check_like(y, "y", x, "x", err)))
        return status;
    if (x->ndim == 0)
        return sbi_fail(err, SB_ERR_SHAPE, "x", "x has no dimension; softmax goes over the last one");
    int64_t length = x->shape[x->ndim - 1];
    if ((status = check_length("x", length, err))) return status;
    const sbi_op op = {.id = SBI_OP_SOFTMAX, .kernels = softmax_kernels, .in = {x}, .out = {y},
                       .n = {length ? x->size / length : 0, length, log}};
    return sbi_run(ctx, &op, err);
}

sb_status sbi_softmax(sb_context *ctx, const sb_array *x, sb_array *y, sb_error *err) {
    return run_softmax(ctx, x, 0, y, err);
}

sb_status sbi_log_softmax(sb_context *ctx, const sb_array *x, sb_array *y, sb_error *err) {
    return run_softmax(ctx, x, 1, y, err);
}

// logits[n, v] float32, targets[n] int32, every target in -1 .. v-1.
static sb_status check_targets(sb_context *ctx, const sb_array *logits, const sb_array *targets, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_dtype(logits, "logits", SB_F32, err)) || (status = sbi_check_ndim(logits, "logits", 2, err)) ||
        (status = sbi_check_dtype(targets, "targets", SB_I32, err)) ||
        (status = sbi_check_ndim(targets, "targets", 1, err)) ||
        (status = sbi_check_length(targets, "targets", 0, logits->shape[0], err)) ||
        (status = check_length("logits", logits->shape[1], err)))
        return status;
    int64_t n = targets->size, v = logits->shape[1];
    int32_t *host = sbi_allocate(&ctx->allocator, n ? n : 1, sizeof *host, err);
    if (!host) return SB_ERR_MEMORY;
    status = sbi_array_read(targets, host, (size_t)n * sizeof *host, err);
    for (int64_t i = 0; status == SB_OK && i < n; i++)
        if (host[i] < -1 || host[i] >= v)
            status = sbi_fail(err, SB_ERR_ARGUMENT, "targets", "target %lld is %ld, it must be in 0 .. %lld, or -1",
                              (long long)i, (long)host[i], (long long)v - 1);
    sbi_release(&ctx->allocator, host);
    return status;
}

static sb_status cross_entropy_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_OUT(op->out[0]), SBI_INT(op->n[LENGTH])};
    return sbi_launch(ctx, SBI_ID_k_cross_entropy_f32, op->n[ROWS], args, err);
}

sb_status sbi_cross_entropy(sb_context *ctx, const sb_array *logits, const sb_array *targets, sb_array *loss,
                            sb_error *err) {
    sb_status status;
    if ((status = check_targets(ctx, logits, targets, err)) || (status = sbi_check_dtype(loss, "loss", SB_F64, err)) ||
        (status = sbi_check_like(loss, "loss", targets, "targets", err)))
        return status;
    const sbi_op op = {.id = SBI_OP_CROSS_ENTROPY, .kernels = cross_entropy_kernels, .in = {logits, targets},
                       .out = {loss}, .n = {logits->shape[0], logits->shape[1]}};
    return sbi_run(ctx, &op, err);
}

static sb_status cross_entropy_backward_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_OUT(op->out[0]), SBI_INT(op->n[LENGTH]),
                            SBI_REAL(op->r[0])};
    return sbi_launch(ctx, SBI_ID_k_cross_entropy_backward_f32, op->n[ROWS], args, err);
}

sb_status sbi_cross_entropy_backward(sb_context *ctx, const sb_array *logits, const sb_array *targets, double scale,
                                     sb_array *dlogits, sb_error *err) {
    sb_status status;
    if ((status = check_targets(ctx, logits, targets, err)) ||
        (status = sbi_check_dtype(dlogits, "dlogits", SB_F32, err)) ||
        (status = sbi_check_like(dlogits, "dlogits", logits, "logits", err)))
        return status;
    const sbi_op op = {.id = SBI_OP_CROSS_ENTROPY_BACKWARD, .kernels = cross_entropy_backward_kernels,
                       .in = {logits, targets}, .out = {dlogits}, .n = {logits->shape[0], logits->shape[1]},
                       .r = {scale}};
    return sbi_run(ctx, &op, err);
}
