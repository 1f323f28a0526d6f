// SPDX-License-Identifier: Apache-2.0
// Scatter: rows written to, or added to, the rows that indices name. Indices are read and checked before anything is
// written. They are sorted, stably, as integers; then every row has one writer and no two threads ever add to the same
// number.
#include "check.h"
#include "index.h"
#include "ops.h"
#include "order.h"

enum { ROWS, WIDTH, COUNT, ACCUMULATE };

static int bits_of(int64_t values) { // enough to write 0 .. values - 1
    int bits = 1;
    while (bits < 63 && values > (int64_t)1 << bits) bits++;
    return bits;
}

// order: the positions by ascending index, equal ones ascending; wide: the indices as int64. All three scratch arrays are
// the caller's to free.
typedef struct sorted_indices {
    const sb_array *wide;
    sb_array *order, *scratch;
} sorted_indices;

static sb_status sort_indices(sb_context *ctx, const sbi_op *op, sorted_indices *out, sb_error *err) {
    int64_t count = op->n[COUNT];
    sb_array *keys = NULL;
    sb_status status;
    *out = (sorted_indices){.wide = NULL};
    if ((status = sbi_index_wide(ctx, op->in[0], &out->wide, &out->scratch, err)) ||
        (status = sbi_scratch(ctx, SB_U64, count, &keys, err)) || (status = sbi_scratch(ctx, SB_I64, count, &out->order, err)))
        goto done;
    status = ctx->device->copy(ctx->device, ctx->pool, out->wide->data, keys->data, count * 8, err); // none is negative
    if (!status) status = sbi_order(ctx, keys, 1, count, bits_of(op->n[ROWS]), out->order, err);
done:
    sbi_array_free(keys);
    return status;
}

static void free_indices(sorted_indices *indices) {
    sbi_array_free(indices->order);
    sbi_array_free(indices->scratch);
}

static sb_status scatter_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *source = op->in[1];
    size_t item = sbi_dtype_size(source->dtype);
    int64_t count = op->n[COUNT], words = item == 8 ? 2 * op->n[WIDTH] : op->n[WIDTH];
    int64_t together = words < 4096 ? 4096 / words : 1;
    sorted_indices indices;
    if (count == 0) return SB_OK;
    sb_status status = sort_indices(ctx, op, &indices, err);
    if (!status) {
        const sbi_arg args[] = {SBI_IN(source), SBI_IN(indices.wide), SBI_IN(indices.order), SBI_OUT(op->out[0]),
                                SBI_INT(words), SBI_INT(count)};
        status = sbi_launch(ctx, item == 1 ? SBI_ID_k_scatter_u8 : SBI_ID_k_scatter_u32,
                            count / together + (count % together != 0), args, err);
    }
    free_indices(&indices);
    return status;
}

static sb_status scatter_add_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    sb_dtype type = op->in[1]->dtype;
    sorted_indices indices;
    sb_status status = sort_indices(ctx, op, &indices, err);
    if (!status) {
        const sbi_arg args[] = {SBI_IN(indices.wide), SBI_IN(indices.order), SBI_IN(op->in[1]), SBI_OUT(op->out[0]),
                                SBI_INT(op->n[COUNT]), SBI_INT(op->n[WIDTH]), SBI_INT(op->n[ACCUMULATE])};
        status = sbi_launch(ctx, type == SB_I64 ? SBI_ID_k_scatter_add_i64 : SBI_TYPED(type, k_scatter_add), op->n[ROWS],
                            args, err);
    }
    free_indices(&indices);
    return status;
}

// out[v, ...], indices[...], source[indices' shape, ...]; the names are those of the caller's arguments.
static sb_status check_and_run(sb_context *ctx, const sb_array *indices, const char *index_name, const sb_array *source,
                               const char *source_name, sb_array *out, const char *out_name, sbi_op op, sb_error *err) {
    sb_status status;
    if (out->ndim == 0) return sbi_fail(err, SB_ERR_SHAPE, out_name, "%s has no rows", out_name);
    if ((status = sbi_check_dtype(source, source_name, out->dtype, err)) ||
        (status = sbi_index_rows(out, indices, source, source_name, err)) ||
        (status = sbi_index_check(indices, index_name, out->shape[0], err)))
        return status;
    if (indices->size > (int64_t)1 << 36)
        return sbi_fail(err, SB_ERR_SIZE, index_name, "%lld %s: at most 2^36 are possible", (long long)indices->size, index_name);
    op.in[0] = indices;
    op.in[1] = source;
    op.out[0] = out;
    op.n[ROWS] = out->shape[0];
    op.n[WIDTH] = out->shape[0] ? out->size / out->shape[0] : 0;
    op.n[COUNT] = indices->size;
    return sbi_run(ctx, &op, err);
}

sb_status sbi_scatter(sb_context *ctx, const sb_array *indices, const sb_array *source, sb_array *out, sb_error *err) {
    const sbi_op op = {.id = SBI_OP_SCATTER, .kernels = scatter_kernels, .keeps = 1};
    return check_and_run(ctx, indices, "indices", source, "source", out, "out", op, err);
}

sb_status sbi_scatter_add(sb_context *ctx, const sb_array *indices, const sb_array *source, int accumulate, sb_array *out,
                          sb_error *err) {
    const sbi_op op = {.id = SBI_OP_SCATTER_ADD, .kernels = scatter_add_kernels, .keeps = accumulate != 0,
                       .n[ACCUMULATE] = accumulate != 0};
    if (out->dtype != SB_F32 && out->dtype != SB_F64 && out->dtype != SB_I64)
        return sbi_fail(err, SB_ERR_DTYPE, "out", "out is %s, it must be float32, float64 or int64", sbi_dtype_name(out->dtype));
    return check_and_run(ctx, indices, "indices", source, "source", out, "out", op, err);
}

sb_status sbi_embedding_backward(sb_context *ctx, const sb_array *ids, const sb_array *dout, int accumulate,
                                 sb_array *dtable, sb_error *err) {
    const sbi_op op = {.id = SBI_OP_SCATTER_ADD, .kernels = scatter_add_kernels, .keeps = accumulate != 0,
                       .n[ACCUMULATE] = accumulate != 0};
    sb_status status;
    if ((status = sbi_check_real(dtable, "dtable", err)) || (status = sbi_check_ndim(dtable, "dtable", 2, err)) ||
        (status = sbi_check_ndim(ids, "ids", 1, err)))
        return status;
    return check_and_run(ctx, ids, "ids", dout, "dout", dtable, "dtable", op, err);
}
