// SPDX-License-Identifier: Apache-2.0
// The two narrow places: sbi_run, through which every operation passes, and sbi_launch, through which every kernel is
// started. And copying, which is no arithmetic.
#include "trace_line.h"

const char *const sbi_op_names[SBI_OP_COUNT] = {
    [SBI_OP_GEMM] = "gemm",
    [SBI_OP_DOT] = "dot",
    [SBI_OP_REDUCE] = "reduce",
    [SBI_OP_VARIANCE] = "variance",
    [SBI_OP_TOTAL] = "total",
    [SBI_OP_BINARY] = "binary",
    [SBI_OP_SCALE] = "scale",
    [SBI_OP_UNARY] = "unary",
    [SBI_OP_SWIGLU] = "swiglu",
    [SBI_OP_SWIGLU_BACKWARD] = "swiglu_backward",
    [SBI_OP_SOFTMAX] = "softmax",
    [SBI_OP_SOFTMAX_BACKWARD] = "softmax_backward",
    [SBI_OP_CROSS_ENTROPY] = "cross_entropy",
    [SBI_OP_CROSS_ENTROPY_BACKWARD] = "cross_entropy_backward",
    [SBI_OP_RMS_NORM] = "rms_norm",
    [SBI_OP_RMS_NORM_BACKWARD] = "rms_norm_backward",
    [SBI_OP_LAYER_NORM] = "layer_norm",
    [SBI_OP_LAYER_NORM_BACKWARD] = "layer_norm_backward",
    [SBI_OP_ROTARY_TABLE] = "rotary_table",
    [SBI_OP_ROTARY] = "rotary",
    [SBI_OP_ATTENTION] = "attention",
    [SBI_OP_ATTENTION_BACKWARD] = "attention_backward",
    [SBI_OP_GATHER] = "gather",
    [SBI_OP_TAKE_ALONG] = "take_along",
    [SBI_OP_SCATTER] = "scatter",
    [SBI_OP_SCATTER_ADD] = "scatter_add",
    [SBI_OP_SCAN] = "scan",
    [SBI_OP_HISTOGRAM] = "histogram",
    [SBI_OP_ARGSORT] = "argsort",
    [SBI_OP_SORT] = "sort",
    [SBI_OP_TOP_K] = "top_k",
    [SBI_OP_UNIQUE] = "unique",
    [SBI_OP_RANDOM] = "random",
    [SBI_OP_DROPOUT] = "dropout",
    [SBI_OP_ADAMW] = "adamw",
    [SBI_OP_ADAM] = "adam",
    [SBI_OP_SGD] = "sgd",
    [SBI_OP_COLUMNS] = "columns",
    [SBI_OP_MOMENTS] = "moments",
    [SBI_OP_SEGMENTS] = "segments",
    [SBI_OP_DISTANCE] = "distance",
    [SBI_OP_GAUSSIAN] = "gaussian",
    [SBI_OP_NEAREST] = "nearest",
    [SBI_OP_NEIGHBORS] = "neighbors",
    [SBI_OP_WITHIN] = "within",
    [SBI_OP_APART] = "apart",
    [SBI_OP_COPY] = "copy",
};

// Nothing to write is nothing to do: beside a size of 0 the other sizes may be anything, and loops over them endless.
static bool writes_nothing(const sbi_op *op) {
    for (int i = 0; i < 3; i++)
        if (op->out[i] && op->out[i]->size > 0) return false;
    return !op->real_out;
}

// Arrays are where they were made: only a copy brings one elsewhere.
static sb_status check_devices(const sb_context *ctx, const sbi_op *op, sb_error *err) {
    enum { INS = sizeof op->in / sizeof *op->in, OUTS = sizeof op->out / sizeof *op->out };
    if (op->id == SBI_OP_COPY) return SB_OK;
    for (int i = 0; i < INS + OUTS; i++) {
        const sb_array *a = i < INS ? op->in[i] : op->out[i - INS];
        if (a && a->storage->device != ctx->device)
            return sbi_fail(err, SB_ERR_DEVICE, i < INS ? "input" : "output", "%s on %s: %s %d is an array on %s; sb_array_copy brings it there",
                            sbi_op_names[op->id], ctx->device->name, i < INS ? "input" : "output", i < INS ? i : i - INS,
                            a->storage->device->name);
    }
    return SB_OK;
}

static sb_status carry_out(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sbi_device *device = ctx->device;
    sb_status status = check_devices(ctx, op, err);
    if (status != SB_OK) return status;
    if (writes_nothing(op)) return SB_OK;
    if (device->operation && op->id != SBI_OP_COPY) return device->operation(device, op, err);
    return op->kernels(ctx, op, err);
}

sb_status sbi_run(sb_context *ctx, const sbi_op *op, sb_error *err) {
    sbi_trace_branch *trace = ctx->trace;
    sbi_trace_line line;
    sb_status status = trace ? sbi_trace_inputs(ctx, op, &line, err) : SB_OK;
    ctx->trace = NULL; // an operation within this one has no line of its own: devices differ in them
    if (status == SB_OK) status = carry_out(ctx, op, err);
    ctx->trace = trace;
    if (status == SB_OK && ctx->watch) ctx->watch(ctx->watch_user, ctx, op);
    return status == SB_OK && trace ? sbi_trace_result(ctx, op, &line, err) : status;
}

sb_status sbi_launch(sb_context *ctx, sbi_kernel_id kernel, int64_t groups, const sbi_arg *args, sb_error *err) {
    if (groups <= 0) return SB_OK;
    const sbi_device *device = ctx->device;
    if (!device->launch)
        return sbi_fail(err, SB_ERR_INTERNAL, "", "the device %s has no kernels, and %s was started on it", device->name,
                        sbi_kernel_infos[kernel].name);
    return device->launch(device, ctx->kernels, ctx->pool, kernel, groups, args, err);
}

enum { PIECE = 4 << 20 };

// By way of the host, piece by piece.
static sb_status copy_across(sb_context *ctx, const sb_array *from, sb_array *to, int64_t bytes, sb_error *err) {
    const sbi_device *source = from->storage->device, *target = to->storage->device;
    sb_status status = SB_OK;
    char *piece = sbi_allocate(&ctx->allocator, bytes < PIECE ? bytes : PIECE, 1, err);
    if (!piece) return SB_ERR_MEMORY;
    for (int64_t at = 0; at < bytes && status == SB_OK; at += PIECE) {
        const int64_t here = bytes - at < PIECE ? bytes - at : PIECE;
        status = source->read(source, from->data + at, piece, here, err);
        if (status == SB_OK) status = target->write(target, piece, to->data + at, here, err);
    }
    sbi_release(&ctx->allocator, piece);
    return status;
}

static sb_status run_copy(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *from = op->in[0];
    sb_array *to = op->out[0];
    const sbi_device *device = to->storage->device;
    if (device != from->storage->device) return copy_across(ctx, from, to, op->n[0], err);
    return device->copy(device, ctx->pool, from->data, to->data, op->n[0], err);
}

sb_status sbi_copy(sb_context *ctx, const sb_array *from, sb_array *to, sb_error *err) {
    if (from->dtype != to->dtype)
        return sbi_fail(err, SB_ERR_DTYPE, "to", "to is %s, from is %s", sbi_dtype_name(to->dtype),
                        sbi_dtype_name(from->dtype));
    bool same = from->ndim == to->ndim;
    for (int i = 0; same && i < from->ndim; i++) same = from->shape[i] == to->shape[i];
    if (!same) return sbi_fail(err, SB_ERR_SHAPE, "to", "from and to have different shapes");
    sbi_op op = {.id = SBI_OP_COPY, .kernels = run_copy, .in = {from}, .out = {to}};
    op.n[0] = from->size * (int64_t)sbi_dtype_size(from->dtype);
    return sbi_run(ctx, &op, err);
}
