// SPDX-License-Identifier: Apache-2.0
// Gather: rows by their number, and elements of the last axis by their place. Indices are read and checked before anything
// is written.
#include "check.h"
#include "index.h"
#include "ops.h"
#include "order.h"

static sb_status out_of_range(const char *name, int64_t at, int64_t index, int64_t limit, sb_error *err) {
    if (limit < 1)
        return sbi_fail(err, SB_ERR_ARGUMENT, name, "%s[%lld] is %lld, and there is nothing to take it from", name,
                        (long long)at, (long long)index);
    return sbi_fail(err, SB_ERR_ARGUMENT, name, "%s[%lld] is %lld, it must be in 0 .. %lld", name, (long long)at,
                    (long long)index, (long long)limit - 1);
}

sb_status sbi_index_range(const sb_array *a, const char *name, int64_t limit, sb_error *err) {
    enum { PIECE = 2048 };
    union { uint8_t bytes[PIECE]; int32_t narrow[PIECE]; int64_t wide[PIECE]; } host;
    const sbi_device *device = a->storage->device;
    size_t item = sbi_dtype_size(a->dtype);
    for (int64_t first = 0; first < a->size; first += PIECE) {
        int64_t count = a->size - first < PIECE ? a->size - first : PIECE;
        sb_status status = device->read(device, a->data + (size_t)first * item, &host, count * (int64_t)item, err);
        if (status) return status;
        for (int64_t i = 0; i < count; i++) {
            int64_t index = a->dtype == SB_U8 ? host.bytes[i] : a->dtype == SB_I32 ? host.narrow[i] : host.wide[i];
            if (index < 0 || index >= limit) return out_of_range(name, first + i, index, limit, err);
        }
    }
    return SB_OK;
}

sb_status sbi_index_check(const sb_array *indices, const char *name, int64_t limit, sb_error *err) {
    if (indices->dtype != SB_I32 && indices->dtype != SB_I64)
        return sbi_fail(err, SB_ERR_DTYPE, name, "%s is %s, it must be int32 or int64", name, sbi_dtype_name(indices->dtype));
    return sbi_index_range(indices, name, limit, err);
}

sb_status sbi_index_rows(const sb_array *x, const sb_array *indices, const sb_array *out, const char *name, sb_error *err) {
    sb_status status = sbi_check_ndim(out, name, indices->ndim + x->ndim - 1, err);
    for (int i = 0; !status && i < out->ndim; i++)
        status = sbi_check_length(out, name, i, i < indices->ndim ? indices->shape[i] : x->shape[i - indices->ndim + 1], err);
    return status;
}

sb_status sbi_index_wide(sb_context *ctx, const sb_array *indices, const sb_array **wide, sb_array **scratch, sb_error *err) {
    *scratch = NULL;
    *wide = indices;
    if (indices->dtype == SB_I64) return SB_OK;
    sb_status status = sbi_scratch(ctx, SB_I64, indices->size, scratch, err);
    if (status) return status;
    const sbi_arg args[] = {SBI_IN(indices), SBI_OUT(*scratch), SBI_INT(indices->size)};
    *wide = *scratch;
    return sbi_launch(ctx, SBI_ID_k_index_widen, sbi_groups(indices->size, 4096), args, err);
}

enum { ROWS, WIDTH, COUNT };

static sb_status gather_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *x = op->in[0], *wide;
    sb_array *scratch;
    size_t item = sbi_dtype_size(x->dtype);
    int64_t width = op->n[WIDTH], count = op->n[COUNT];
    sb_status status = sbi_index_wide(ctx, op->in[1], &wide, &scratch, err);
    if (!status && width == 1) {
        status = sbi_take(ctx, x, wide, 1, op->n[ROWS], count, op->out[0], err);
    } else if (!status) {
        int64_t words = item == 8 ? 2 * width : width, together = words < 4096 ? 4096 / words : 1;
        const sbi_arg args[] = {SBI_IN(x), SBI_IN(wide), SBI_OUT(op->out[0]), SBI_INT(words), SBI_INT(count)};
        status = sbi_launch(ctx, item == 1 ? SBI_ID_k_gather_u8 : SBI_ID_k_gather_u32,
                            sbi_groups(count, together), args, err);
    }
    sbi_array_free(scratch);
    return status;
}

// The names are those of the caller's arguments.
static sb_status gather(sb_context *ctx, const sb_array *x, const char *x_name, const sb_array *indices, const char *name,
                        sb_array *out, sb_error *err) {
    sb_status status;
    if (x->ndim == 0) return sbi_fail(err, SB_ERR_SHAPE, x_name, "%s has no rows", x_name);
    if ((status = sbi_check_dtype(out, "out", x->dtype, err)) || (status = sbi_index_rows(x, indices, out, "out", err)) ||
        (status = sbi_index_check(indices, name, x->shape[0], err)))
        return status;
    const sbi_op op = {.id = SBI_OP_GATHER, .kernels = gather_kernels, .in = {x, indices}, .out = {out},
                       .n = {x->shape[0], x->shape[0] ? x->size / x->shape[0] : 0, indices->size}};
    return sbi_run(ctx, &op, err);
}

sb_status sbi_gather(sb_context *ctx, const sb_array *x, const sb_array *indices, sb_array *out, sb_error *err) {
    return gather(ctx, x, "x", indices, "indices", out, err);
}

sb_status sbi_embedding(sb_context *ctx, const sb_array *table, const sb_array *ids, sb_array *out, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_ndim(table, "table", 2, err)) || (status = sbi_check_ndim(ids, "ids", 1, err))) return status;
    return gather(ctx, table, "table", ids, "ids", out, err);
}

enum { TAKE_ROWS, TAKE_FROM, TAKE_COUNT };

static sb_status take_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *wide;
    sb_array *scratch;
    sb_status status = sbi_index_wide(ctx, op->in[1], &wide, &scratch, err);
    if (!status)
        status = sbi_take(ctx, op->in[0], wide, op->n[TAKE_ROWS], op->n[TAKE_FROM], op->n[TAKE_COUNT], op->out[0], err);
    sbi_array_free(scratch);
    return status;
}

sb_status sbi_take_along(sb_context *ctx, const sb_array *x, const sb_array *indices, sb_array *out, sb_error *err) {
    sb_status status;
    int last = x->ndim - 1;
    if (x->ndim == 0) return sbi_fail(err, SB_ERR_SHAPE, "x", "x has no axis to take from");
    if ((status = sbi_check_ndim(indices, "indices", x->ndim, err))) return status;
    for (int i = 0; i < last; i++)
        if ((status = sbi_check_length(indices, "indices", i, x->shape[i], err))) return status;
    if ((status = sbi_check_dtype(out, "out", x->dtype, err)) || (status = sbi_check_like(out, "out", indices, "indices", err)) ||
        (status = sbi_index_check(indices, "indices", x->shape[last], err)))
        return status;
    int64_t k = indices->shape[last];
    const sbi_op op = {.id = SBI_OP_TAKE_ALONG, .kernels = take_kernels, .in = {x, indices}, .out = {out},
                       .n = {k ? indices->size / k : 0, x->shape[last], k}};
    return sbi_run(ctx, &op, err);
}
