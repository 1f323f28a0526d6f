// SPDX-License-Identifier: Apache-2.0
// Stable sort and argsort over the last axis; the first k of that order; the distinct values of a vector.
#include "check.h"
#include "ops.h"
#include "order.h"

enum { SHORT_ROW = 256, RUN = 2048, DIGIT_BITS = 8, DIGITS = 256, RUNS_A_GROUP = 16, LANES = 256 };


sb_status sbi_order(sb_context *ctx, sb_array *keys, int64_t rows, int64_t n, int bits, sb_array *order,
                    sb_error *err) {
    if (rows == 0 || n == 0)
        return SB_OK;
    if (n <= SHORT_ROW) {
        const sbi_arg args[] = {SBI_IN(keys), SBI_OUT(order), SBI_INT(n)};
        return sbi_launch(ctx, SBI_ID_k_sort_short, rows, args, err);
    }
    int64_t row_runs = sbi_groups(n, RUN), runs = rows * row_runs, table; // runs <= rows * n
    if (!sbi_multiply(runs, DIGITS, &table))
        return sbi_fail(err, SB_ERR_SIZE, "", "a sort of %lld rows of %lld is too large", (long long)rows, (long long)n);
    sb_array *other_keys = NULL, *other_order = NULL, *places = NULL;
    sb_status status;
    if ((status = sbi_scratch(ctx, SB_U64, rows * n, &other_keys, err)) ||
        (status = sbi_scratch(ctx, SB_I64, rows * n, &other_order, err)) ||
        (status = sbi_scratch(ctx, SB_I64, table, &places, err)))
        goto done;
    int passes = (bits + DIGIT_BITS - 1) / DIGIT_BITS;
    passes = passes ? passes : 1;
    const sb_array *key_from = keys, *order_from = passes % 2 ? other_order : order;
    sb_array *key_to = other_keys, *order_to = passes % 2 ? order : other_order; // the last pass ends in `order`
    for (int pass = 0; !status && pass < passes; pass++) {
        int shift = pass * DIGIT_BITS;
        const sbi_arg count[] = {SBI_IN(key_from), SBI_OUT(places), SBI_INT(n), SBI_INT(runs), SBI_INT(shift)};
        const sbi_arg place[] = {SBI_OUT(places), SBI_INT(row_runs)};
        const sbi_arg move[] = {SBI_IN(key_from), SBI_IN(order_from), SBI_OUT(key_to), SBI_OUT(order_to),
                                SBI_OUT(places), SBI_INT(n), SBI_INT(runs), SBI_INT(shift), SBI_INT(pass == 0)};
        if ((status = sbi_launch(ctx, SBI_ID_k_sort_count, sbi_groups(runs, RUNS_A_GROUP), count, err)) ||
            (status = sbi_launch(ctx, SBI_ID_k_sort_places, rows, place, err)) ||
            (status = sbi_launch(ctx, SBI_ID_k_sort_move, sbi_groups(runs, RUNS_A_GROUP), move, err)))
            break;
        key_from = key_to;
        key_to = key_to == keys ? other_keys : keys;
        order_from = order_to;
        order_to = order_to == order ? other_order : order;
    }
done:
    sbi_array_free(places);
    sbi_array_free(other_order);
    sbi_array_free(other_keys);
    return status;
}

int sbi_order_bits(sb_dtype dtype) { return 8 * (int)sbi_dtype_size(dtype); }

sb_status sbi_order_keys(sb_context *ctx, const sb_array *x, int descending, sb_array *keys, sb_error *err) {
    static const sbi_kernel_id kernels[] = {
        [SB_F32] = SBI_ID_k_sort_keys_f32, [SB_F64] = SBI_ID_k_sort_keys_f64, [SB_I32] = SBI_ID_k_sort_keys_i32,
        [SB_I64] = SBI_ID_k_sort_keys_i64, [SB_U8] = SBI_ID_k_sort_keys_u8, [SB_U32] = SBI_ID_k_sort_keys_u32,
        [SB_U64] = SBI_ID_k_sort_keys_u64};
    const sbi_arg args[] = {SBI_IN(x), SBI_OUT(keys), SBI_INT(x->size), SBI_INT(descending)};
    return sbi_launch(ctx, kernels[x->dtype], sbi_groups(x->size, LANES), args, err);
}

sb_status sbi_take(sb_context *ctx, const sb_array *x, const sb_array *index, int64_t rows, int64_t n, int64_t k,
                   sb_array *out, sb_error *err) {
    size_t item = sbi_dtype_size(x->dtype);
    const sbi_arg args[] = {SBI_IN(x), SBI_IN(index), SBI_OUT(out), SBI_INT(n), SBI_INT(k)};
    return sbi_launch(ctx, item == 1 ? SBI_ID_k_take_u8 : item == 4 ? SBI_ID_k_take_u32 : SBI_ID_k_take_u64,
                      rows * sbi_groups(k, LANES), args, err);
}

// A list of at most SHORT_LIST is kept for every run, then for every run of these lists, until one list a row is left.
// The lists of a row follow in its order, so equal keys stay in theirs. More than that: the whole order, cut.
static sb_status top_of_lists(sb_context *ctx, sb_array *keys, int64_t rows, int64_t n, int64_t k, sb_array *places,
                              sb_error *err) {
    sb_array *from = keys, *from_place = NULL, *to = NULL, *to_place = NULL;
    sb_status status = SB_OK;
    for (int64_t runs = 0; !status && runs != 1;) {
        runs = sbi_groups(n, RUN);
        int64_t last = n - (runs - 1) * RUN, kept = (runs - 1) * k + (last < k ? last : k);
        status = sbi_scratch(ctx, SB_U64, rows * kept, &to, err);
        if (!status && runs > 1) status = sbi_scratch(ctx, SB_I64, rows * kept, &to_place, err);
        if (!status) {
            const sbi_arg args[] = {SBI_IN(from), SBI_IN(from_place), SBI_OUT(to), SBI_OUT(runs > 1 ? to_place : places),
                                    SBI_INT(n), SBI_INT(rows * runs), SBI_INT(k), SBI_INT(kept)};
            status = sbi_launch(ctx, SBI_ID_k_top_run, sbi_groups(rows * runs, RUNS_A_GROUP), args, err);
        }
        if (from != keys) sbi_array_free(from);
        sbi_array_free(from_place);
        from = to;
        from_place = to_place;
        to = to_place = NULL;
        n = kept;
    }
    if (from != keys) sbi_array_free(from);
    sbi_array_free(from_place);
    return status;
}

sb_status sbi_order_top(sb_context *ctx, sb_array *keys, int64_t rows, int64_t n, int bits, int64_t k, sb_array *places,
                        sb_error *err) {
    enum { SHORT_LIST = 64 };
    if (rows == 0 || k == 0) return SB_OK;
    if (k == n) return sbi_order(ctx, keys, rows, n, bits, places, err);
    if (k <= SHORT_LIST) return top_of_lists(ctx, keys, rows, n, k, places, err);
    sb_array *order = NULL;
    sb_status status = sbi_scratch(ctx, SB_I64, rows * n, &order, err);
    if (!status) status = sbi_order(ctx, keys, rows, n, bits, order, err);
    if (!status) {
        const sbi_arg args[] = {SBI_IN(order), SBI_OUT(places), SBI_INT(n), SBI_INT(k)};
        status = sbi_launch(ctx, SBI_ID_k_top_cut, rows * sbi_groups(k, LANES), args, err);
    }
    sbi_array_free(order);
    return status;
}

enum { ROWS, COUNT, DESCENDING, KEPT };

// The first n[KEPT] positions of every row.
static sb_status order_into(sb_context *ctx, const sbi_op *op, int64_t kept, sb_array *places, sb_error *err) {
    const sb_array *x = op->in[0];
    sb_array *keys = NULL;
    sb_status status = sbi_scratch(ctx, SB_U64, x->size, &keys, err);
    if (!status) status = sbi_order_keys(ctx, x, op->n[DESCENDING] != 0, keys, err);
    if (!status)
        status = sbi_order_top(ctx, keys, op->n[ROWS], op->n[COUNT], sbi_order_bits(x->dtype), kept, places, err);
    sbi_array_free(keys);
    return status;
}

static sb_status argsort_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    return order_into(ctx, op, op->n[COUNT], op->out[0], err);
}

static sb_status sort_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *x = op->in[0];
    sb_array *order = NULL;
    sb_status status = sbi_scratch(ctx, SB_I64, x->size, &order, err);
    if (!status) status = order_into(ctx, op, op->n[COUNT], order, err);
    if (!status) status = sbi_take(ctx, x, order, op->n[ROWS], op->n[COUNT], op->n[COUNT], op->out[0], err);
    sbi_array_free(order);
    return status;
}

static sb_status top_k_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    int64_t rows = op->n[ROWS], k = op->n[KEPT];
    sb_array *scratch = NULL, *places = op->out[1];
    sb_status status = SB_OK;
    if (!places) {
        status = sbi_scratch(ctx, SB_I64, rows * k, &scratch, err);
        places = scratch;
    }
    if (!status) status = order_into(ctx, op, k, places, err);
    if (!status && op->out[0]) status = sbi_take(ctx, op->in[0], places, rows, op->n[COUNT], k, op->out[0], err);
    sbi_array_free(scratch);
    return status;
}

// x has a last axis; the record's sizes.
static sb_status see_rows(const sb_array *x, int descending, sbi_op *op, sb_error *err) {
    if (x->ndim == 0) return sbi_fail(err, SB_ERR_SHAPE, "x", "x has no axis to sort over");
    op->in[0] = x;
    op->n[COUNT] = x->shape[x->ndim - 1];
    op->n[ROWS] = op->n[COUNT] ? x->size / op->n[COUNT] : 0;
    op->n[DESCENDING] = descending != 0;
    return SB_OK;
}

static sb_status check_and_run(sb_context *ctx, const sb_array *x, int descending, sb_array *out, const char *name,
                               sb_dtype dtype, sbi_op op, sb_error *err) {
    sb_status status = see_rows(x, descending, &op, err);
    if (status || (status = sbi_check_dtype(out, name, dtype, err)) || (status = sbi_check_like(out, name, x, "x", err)))
        return status;
    op.out[0] = out;
    return sbi_run(ctx, &op, err);
}

sb_status sbi_argsort(sb_context *ctx, const sb_array *x, int descending, sb_array *indices, sb_error *err) {
    return check_and_run(ctx, x, descending, indices, "indices", SB_I64,
                         (sbi_op){.id = SBI_OP_ARGSORT, .kernels = argsort_kernels}, err);
}

sb_status sbi_sort(sb_context *ctx, const sb_array *x, int descending, sb_array *values, sb_error *err) {
    return check_and_run(ctx, x, descending, values, "values", x->dtype,
                         (sbi_op){.id = SBI_OP_SORT, .kernels = sort_kernels}, err);
}

sb_status sbi_top_k(sb_context *ctx, const sb_array *x, int64_t k, int largest, sb_array *values, sb_array *indices,
                    sb_error *err) {
    sbi_op op = {.id = SBI_OP_TOP_K, .kernels = top_k_kernels, .out = {values, indices}};
    static const char *const names[] = {"values", "indices"};
    sb_status status = see_rows(x, largest, &op, err);
    if (status) return status;
    if (!values && !indices) return sbi_fail(err, SB_ERR_ARGUMENT, "indices", "neither values nor indices are asked for");
    if (k < 0 || k > op.n[COUNT])
        return sbi_fail(err, SB_ERR_ARGUMENT, "k", "k is %lld, the last axis of x has length %lld", (long long)k,
                        (long long)op.n[COUNT]);
    op.n[KEPT] = k;
    for (int i = 0; i < 2; i++) {
        const sb_array *out = op.out[i];
        if (!out) continue;
        if ((status = sbi_check_dtype(out, names[i], i ? SB_I64 : x->dtype, err)) ||
            (status = sbi_check_ndim(out, names[i], x->ndim, err)))
            return status;
        for (int axis = 0; axis < x->ndim; axis++)
            if ((status = sbi_check_length(out, names[i], axis, axis < x->ndim - 1 ? x->shape[axis] : k, err)))
                return status;
    }
    return sbi_run(ctx, &op, err);
}

// The distinct values: the runs of equal keys in sorted order. Every run begins with the first of its elements in x.
static sb_status unique_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *x = op->in[0];
    int64_t n = x->size, groups = sbi_groups(n, 4096), number = 0;
    sb_array *keys = NULL, *order = NULL, *first = NULL, *start = NULL, *source = NULL, *zeros = NULL;
    sb_status status;
    *op->real_out = 0.0;
    if (n == 0) return SB_OK;
    if ((status = sbi_scratch(ctx, SB_U64, n, &keys, err)) || (status = sbi_scratch(ctx, SB_I64, n, &order, err)) ||
        (status = sbi_scratch(ctx, SB_I64, groups + 1, &first, err)) ||
        (status = sbi_scratch(ctx, SB_I64, n, &start, err)) || (status = sbi_scratch(ctx, SB_I64, n, &source, err)) ||
        (status = sbi_scratch(ctx, x->dtype, n, &zeros, err)))
        goto done;
    const sbi_arg count[] = {SBI_IN(keys), SBI_IN(order), SBI_OUT(first), SBI_INT(n)};
    const sbi_arg sum[] = {SBI_OUT(first), SBI_INT(groups)};
    const sbi_arg runs[] = {SBI_IN(keys), SBI_IN(order), SBI_IN(first), SBI_OUT(start), SBI_OUT(source),
                            SBI_OUT(op->out[1]), SBI_INT(n)};
    if ((status = sbi_order_keys(ctx, x, 0, keys, err)) ||
        (status = sbi_order(ctx, keys, 1, n, sbi_order_bits(x->dtype), order, err)) ||
        (status = sbi_order_keys(ctx, x, 0, keys, err)) || // (the order overwrote them)
        (status = sbi_launch(ctx, SBI_ID_k_unique_count, groups, count, err)) ||
        (status = sbi_launch(ctx, SBI_ID_k_unique_first, 1, sum, err)) ||
        (status = sbi_launch(ctx, SBI_ID_k_unique_runs, groups, runs, err)))
        goto done;
    status = ctx->device->read(ctx->device, first->data + (size_t)groups * sizeof number, &number, sizeof number, err);
    if (!status) status = ctx->device->copy(ctx->device, ctx->pool, zeros->data, op->out[0]->data, n * (int64_t)sbi_dtype_size(x->dtype), err);
    if (!status) status = sbi_take(ctx, x, source, 1, n, number, op->out[0], err);
    if (!status && op->out[2]) {
        const sbi_arg lengths[] = {SBI_IN(start), SBI_OUT(op->out[2]), SBI_INT(number), SBI_INT(n)};
        status = sbi_launch(ctx, SBI_ID_k_unique_lengths, sbi_groups(n, LANES), lengths, err);
    }
    *op->real_out = (double)number;
done:
    sbi_array_free(zeros);
    sbi_array_free(source);
    sbi_array_free(start);
    sbi_array_free(first);
    sbi_array_free(order);
    sbi_array_free(keys);
    return status;
}

sb_status sbi_unique(sb_context *ctx, const sb_array *x, sb_array *values, sb_array *inverse, sb_array *counts,
                     int64_t *number, sb_error *err) {
    double found = 0.0; // (an integer below 2^53)
    const sbi_op op = {.id = SBI_OP_UNIQUE, .kernels = unique_kernels, .in = {x}, .out = {values, inverse, counts},
                       .n = {x->size}, .real_out = &found};
    static const char *const names[] = {"values", "inverse", "counts"};
    sb_status status = sbi_check_ndim(x, "x", 1, err);
    for (int i = 0; !status && i < 3; i++) {
        if (!op.out[i]) continue;
        status = sbi_check_dtype(op.out[i], names[i], i ? SB_I64 : x->dtype, err);
        if (!status) status = sbi_check_like(op.out[i], names[i], x, "x", err);
    }
    if (!status) status = sbi_run(ctx, &op, err);
    if (!status) *number = (int64_t)found;
    return status;
}
