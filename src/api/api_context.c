// SPDX-License-Identifier: Apache-2.0
// Exported: status names, the context.
#include "api.h"

const char *sb_status_name(sb_status status) {
    switch (status) {
    case SB_OK: return "SB_OK";
    case SB_ERR_ARGUMENT: return "SB_ERR_ARGUMENT";
    case SB_ERR_SHAPE: return "SB_ERR_SHAPE";
    case SB_ERR_DTYPE: return "SB_ERR_DTYPE";
    case SB_ERR_SIZE: return "SB_ERR_SIZE";
    case SB_ERR_EMPTY: return "SB_ERR_EMPTY";
    case SB_ERR_NONFINITE: return "SB_ERR_NONFINITE";
    case SB_ERR_OVERLAP: return "SB_ERR_OVERLAP";
    case SB_ERR_MEMORY: return "SB_ERR_MEMORY";
    case SB_ERR_IO: return "SB_ERR_IO";
    case SB_ERR_FORMAT: return "SB_ERR_FORMAT";
    case SB_ERR_DEVICE: return "SB_ERR_DEVICE";
    case SB_ERR_UNSUPPORTED: return "SB_ERR_UNSUPPORTED";
    case SB_ERR_STATE: return "SB_ERR_STATE";
    case SB_ERR_INTERRUPTED: return "SB_ERR_INTERRUPTED";
    case SB_ERR_WORKER: return "SB_ERR_WORKER";
    case SB_ERR_SINGULAR: return "SB_ERR_SINGULAR";
    case SB_ERR_INTERNAL: return "SB_ERR_INTERNAL";
    }
    return "unknown status";
}

sb_status sb_context_new(const sb_context_options *options, sb_context **out, sb_error *err) {
    NEED(out);
    *out = NULL;
    sb_context_options known;
    sb_status status = sbi_api_options(options, &known, &sbi_context_struct, err);
    if (status != SB_OK) return status;
    return sbi_context_new(&known, out, err);
}

void sb_context_free(sb_context *ctx) {
    sbi_context_free(ctx);
}

const char *sb_context_device(const sb_context *ctx) {
    return ctx ? ctx->device->name : "";
}

const char *sb_context_isa(const sb_context *ctx) {
    return !ctx ? "" : ctx->device->operation ? "none" : ctx->device->level ? ctx->device->level : ctx->kernels->level;
}

int sb_context_threads(const sb_context *ctx) {
    return ctx ? sbi_pool_threads(ctx->pool) : 0;
}
