// SPDX-License-Identifier: Apache-2.0
// Embedding lookup and its gradient. The ids are read and checked before anything is written. The gradient sorts the
// positions by id with integers and sums one segment a row, so no two threads ever add to the same number.
#include "check.h"
#include "ops.h"
#include "order.h"

enum { V, D, COUNT, ACCUMULATE };

static sb_status embedding_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_OUT(op->out[0]), SBI_INT(op->n[D])};
    return sbi_launch(ctx, SBI_ID_k_embedding, op->n[COUNT], args, err);
}

static int bits_of(int64_t values) { // enough to write 0 .. values - 1
    int bits = 1;
    while (bits < 32 && values > (int64_t)1 << bits)
        bits++;
    return bits;
}

static sb_status backward_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *ids = op->in[0];
    int64_t count = op->n[COUNT];
    sb_array *keys = NULL, *order = NULL;
    sb_status status;
    if ((status = sbi_scratch(ctx, SB_U64, count, &keys, err)) || (status = sbi_scratch(ctx, SB_I64, count, &order, err)))
        goto done;
    const sbi_arg key[] = {SBI_IN(ids), SBI_OUT(keys), SBI_INT(count), SBI_INT(0)};
    const sbi_arg sum[] = {SBI_IN(ids), SBI_IN(order), SBI_IN(op->in[1]), SBI_OUT(op->out[0]), SBI_INT(count),
                           SBI_INT(op->n[D]), SBI_INT(op->n[ACCUMULATE])};
    if ((status = sbi_launch(ctx, SBI_ID_k_sort_keys_i32, count / 256 + (count % 256 != 0), key, err)) ||
        (status = sbi_order(ctx, keys, 1, count, bits_of(op->n[V]), order, err)))
        goto done;
    status = sbi_launch(ctx, SBI_ID_k_embedding_backward_f32, op->n[V], sum, err);
done:
    sbi_array_free(order);
    sbi_array_free(keys);
    return status;
}

static sb_status check_ids(sb_context *ctx, const sb_array *ids, int64_t v, sb_error *err) {
    int32_t *host = sbi_allocate(&ctx->allocator, ids->size ? ids->size : 1, sizeof *host, err);
    if (!host)
        return SB_ERR_MEMORY;
    sb_status status = sbi_array_read(ids, host, (size_t)ids->size * sizeof *host, err);
    for (int64_t i = 0; !status && i < ids->size; i++)
        if (host[i] < 0 || host[i] >= v)
            status = sbi_fail(err, SB_ERR_ARGUMENT, "ids", "ids[%lld] is %ld, the table has rows 0 .. %lld",
                              (long long)i, (long)host[i], (long long)v - 1);
    sbi_release(&ctx->allocator, host);
    return status;
}

// table[v, d], ids[n], rows[n, d]
static sb_status check(sb_context *ctx, const sb_array *table, const char *table_name, const sb_array *ids,
                       const sb_array *rows, const char *rows_name, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_dtype(table, table_name, SB_F32, err)) ||
        (status = sbi_check_ndim(table, table_name, 2, err)) || (status = sbi_check_dtype(ids, "ids", SB_I32, err)) ||
        (status = sbi_check_ndim(ids, "ids", 1, err)) || (status = sbi_check_dtype(rows, rows_name, SB_F32, err)) ||
        (status = sbi_check_ndim(rows, rows_name, 2, err)) ||
        (status = sbi_check_length(rows, rows_name, 0, ids->size, err)) ||
        (status = sbi_check_length(rows, rows_name, 1, table->shape[1], err)))
        return status;
    return check_ids(ctx, ids, table->shape[0], err);
}

sb_status sbi_embedding(sb_context *ctx, const sb_array *table, const sb_array *ids, sb_array *out, sb_error *err) {
    sb_status status = check(ctx, table, "table", ids, out, "out", err);
    if (status)
        return status;
    const sbi_op op = {.id = SBI_OP_EMBEDDING, .kernels = embedding_kernels, .in = {table, ids}, .out = {out},
                       .n = {table->shape[0], table->shape[1], ids->size}};
    return sbi_run(ctx, &op, err);
}

sb_status sbi_embedding_backward(sb_context *ctx, const sb_array *ids, const sb_array *dout, int accumulate,
                                 sb_array *dtable, sb_error *err) {
    sb_status status = check(ctx, dtable, "dtable", ids, dout, "dout", err);
    if (status)
        return status;
    if (ids->size > (int64_t)1 << 36)
        return sbi_fail(err, SB_ERR_SIZE, "ids", "%lld ids: at most 2^36 are possible", (long long)ids->size);
    const sbi_op op = {.id = SBI_OP_EMBEDDING_BACKWARD, .kernels = backward_kernels, .in = {ids, dout}, .out = {dtable},
                       .n = {dtable->shape[0], dtable->shape[1], ids->size, accumulate != 0},
                       .keeps = accumulate != 0};
    return sbi_run(ctx, &op, err);
}
