// SPDX-License-Identifier: Apache-2.0
// Stable sort and argsort over the last axis.
#include "check.h"
#include "ops.h"
#include "order.h"

enum { SHORT_ROW = 256, RUN = 2048, DIGIT_BITS = 8, DIGITS = 256, RUNS_A_GROUP = 16, LANES = 256 };

static int64_t groups_of(int64_t count, int64_t group) { return count / group + (count % group != 0); }

sb_status sbi_order(sb_context *ctx, sb_array *keys, int64_t rows, int64_t n, int bits, sb_array *order,
                    sb_error *err) {
    if (rows == 0 || n == 0)
        return SB_OK;
    if (n <= SHORT_ROW) {
        const sbi_arg args[] = {SBI_IN(keys), SBI_OUT(order), SBI_INT(n)};
        return sbi_launch(ctx, SBI_ID_k_sort_short, rows, args, err);
    }
    int64_t row_runs = groups_of(n, RUN), runs = rows * row_runs, table; // runs <= rows * n
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
        if ((status = sbi_launch(ctx, SBI_ID_k_sort_count, groups_of(runs, RUNS_A_GROUP), count, err)) ||
            (status = sbi_launch(ctx, SBI_ID_k_sort_places, rows, place, err)) ||
            (status = sbi_launch(ctx, SBI_ID_k_sort_move, groups_of(runs, RUNS_A_GROUP), move, err)))
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

enum { ROWS, COUNT, DESCENDING };

static sb_status argsort_into(sb_context *ctx, const sbi_op *op, sb_array *order, sb_error *err) {
    const sb_array *x = op->in[0];
    sb_array *keys = NULL;
    sb_status status = sbi_scratch(ctx, SB_U64, x->size, &keys, err);
    sbi_kernel_id kernel = x->dtype == SB_F32   ? SBI_ID_k_sort_keys_f32
                           : x->dtype == SB_I32 ? SBI_ID_k_sort_keys_i32
                                                : SBI_ID_k_sort_keys_i64;
    if (!status) {
        const sbi_arg args[] = {SBI_IN(x), SBI_OUT(keys), SBI_INT(x->size), SBI_INT(op->n[DESCENDING])};
        status = sbi_launch(ctx, kernel, groups_of(x->size, LANES), args, err);
    }
    if (!status)
        status = sbi_order(ctx, keys, op->n[ROWS], op->n[COUNT], x->dtype == SB_I64 ? 64 : 32, order, err);
    sbi_array_free(keys);
    return status;
}

static sb_status argsort_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    return argsort_into(ctx, op, op->out[0], err);
}

static sb_status sort_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *x = op->in[0];
    int64_t n = op->n[COUNT];
    sb_array *order = NULL;
    sb_status status = sbi_scratch(ctx, SB_I64, x->size, &order, err);
    if (!status)
        status = argsort_into(ctx, op, order, err);
    if (!status) {
        const sbi_arg args[] = {SBI_IN(x), SBI_IN(order), SBI_OUT(op->out[0]), SBI_INT(n)};
        status = sbi_launch(ctx, x->dtype == SB_I64 ? SBI_ID_k_sort_gather_u64 : SBI_ID_k_sort_gather_u32,
                            op->n[ROWS] * groups_of(n, LANES), args, err);
    }
    sbi_array_free(order);
    return status;
}

static sb_status check_and_run(sb_context *ctx, const sb_array *x, int descending, sb_array *out, const char *name,
                               sb_dtype dtype, sbi_op op, sb_error *err) {
    sb_status status;
    if (x->dtype != SB_F32 && x->dtype != SB_I32 && x->dtype != SB_I64)
        return sbi_fail(err, SB_ERR_DTYPE, "x", "x is %s, it must be float32, int32 or int64", sbi_dtype_name(x->dtype));
    if (x->ndim == 0)
        return sbi_fail(err, SB_ERR_SHAPE, "x", "x has no axis to sort over");
    if ((status = sbi_check_dtype(out, name, dtype, err)) || (status = sbi_check_like(out, name, x, "x", err)))
        return status;
    op.in[0] = x;
    op.out[0] = out;
    op.n[COUNT] = x->shape[x->ndim - 1];
    op.n[ROWS] = op.n[COUNT] ? x->size / op.n[COUNT] : 0;
    op.n[DESCENDING] = descending != 0;
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
