// SPDX-License-Identifier: Apache-2.0
// Columns of a table: a line through each, their moments over the numbers that are there, sums of segments of rows (T2).
#include "check.h"
#include "fold.h"

enum { N, D, BACK, K = BACK };

static sb_status columns_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const int64_t d = op->n[D], together = d < 4096 ? 4096 / d : 1;
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_IN(op->in[2]), SBI_OUT(op->out[0]), SBI_OUT(op->out[0]),
                            SBI_INT(op->n[N]), SBI_INT(d), SBI_INT(op->in[1] != NULL), SBI_INT(op->in[2] != NULL), SBI_INT(op->n[BACK]),
                            SBI_INT(op->out[0]->dtype != op->in[0]->dtype)};
    return sbi_launch(ctx, SBI_TYPED(op->in[0]->dtype, k_columns), sbi_groups(op->n[N], together), args, err);
}

static sb_status check_column(const sb_array *a, const char *name, int64_t d, sb_error *err) {
    sb_status status;
    if (!a) return SB_OK;
    if ((status = sbi_check_dtype(a, name, SB_F64, err)) || (status = sbi_check_ndim(a, name, 1, err))) return status;
    return sbi_check_length(a, name, 0, d, err);
}

sb_status sbi_columns(sb_context *ctx, const sb_array *x, const sb_array *a, const sb_array *b, int back, sb_array *y, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_real(x, "x", err)) || (status = sbi_check_ndim(x, "x", 2, err)) ||
        (status = check_column(a, "a", x->shape[1], err)) || (status = check_column(b, "b", x->shape[1], err)) ||
        (y->dtype != SB_F64 && (status = sbi_check_dtype(y, "y", x->dtype, err))) || (status = sbi_check_like(y, "y", x, "x", err)))
        return status;
    const sbi_op op = {.id = SBI_OP_COLUMNS, .kernels = columns_kernels, .in = {x, a, b}, .out = {y},
                       .n = {x->shape[0], x->shape[1], back != 0}};
    return sbi_run(ctx, &op, err);
}

static sb_status moments_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *x = op->in[0], *w = op->in[1];
    const int64_t d = op->n[D];
    const sb_dtype type = x->dtype;
    sbi_fold fold = {.above = SBI_ID_k_sum_block_f64, .dtype = SB_F64, .outer = 1, .count = op->n[N], .inner = d, .divisor = 1.0,
                     .inputs = 3, .input = {SBI_IN(x), SBI_IN(w), SBI_INT(w != NULL)}};
    sb_array row = *op->out[0], mean = row, *low = NULL, *high = NULL;
    sb_status status;
    mean.data = row.data + 8 * d;
    if ((status = sbi_scratch(ctx, type, d, &low, err)) || (status = sbi_scratch(ctx, type, d, &high, err))) goto done;
    fold.first = SBI_TYPED(type, k_weight_block);
    if ((status = sbi_fold_run(ctx, &fold, NULL, &row, err))) goto done;
    fold.first = SBI_TYPED(type, k_moment_block);
    if ((status = sbi_fold_run(ctx, &fold, NULL, &mean, err))) goto done;
    sbi_fold extreme = fold;
    extreme.dtype = type;
    extreme.first = SBI_TYPED(type, k_low_block);
    extreme.above = SBI_TYPED(type, k_min_block);
    if ((status = sbi_fold_run(ctx, &extreme, NULL, low, err))) goto done;
    extreme.first = SBI_TYPED(type, k_high_block);
    extreme.above = SBI_TYPED(type, k_max_block);
    if ((status = sbi_fold_run(ctx, &extreme, NULL, high, err))) goto done;
    const sbi_arg args[] = {SBI_IN(low), SBI_IN(high), {.out = row.data}, SBI_INT(d)};
    if ((status = sbi_launch(ctx, SBI_TYPED(type, k_moment_mean), sbi_groups(d, 4096), args, err))) goto done;
    fold.first = SBI_TYPED(type, k_second_block);
    fold.inputs = 4;
    fold.input[3] = (sbi_arg){.in = mean.data};
    row.data += 16 * d;
    status = sbi_fold_run(ctx, &fold, NULL, &row, err);
done:
    sbi_array_free(low);
    sbi_array_free(high);
    return status;
}

static sb_status check_weights(const sb_array *w, int64_t n, sb_error *err) { return check_column(w, "weights", n, err); }

sb_status sbi_moments(sb_context *ctx, const sb_array *x, const sb_array *weights, sb_array *out, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_real(x, "x", err)) || (status = sbi_check_ndim(x, "x", 2, err)) ||
        (status = check_weights(weights, x->shape[0], err)) || (status = sbi_check_dtype(out, "out", SB_F64, err)) ||
        (status = sbi_check_ndim(out, "out", 2, err)) || (status = sbi_check_length(out, "out", 0, 5, err)) ||
        (status = sbi_check_length(out, "out", 1, x->shape[1], err)))
        return status;
    const sbi_op op = {.id = SBI_OP_MOMENTS, .kernels = moments_kernels, .in = {x, weights}, .out = {out},
                       .n = {x->shape[0], x->shape[1]}};
    return sbi_run(ctx, &op, err);
}

// ---- segments

// Cuts the places of each segment, from[k] .. from[k + 1] - 1, into blocks of 4,096: first[], one more than blocks; a
// segment without places has one empty block. Returns the number of blocks, and in from[] where they begin for each segment.
static int64_t cut(int64_t *from, int64_t k, int64_t *first) {
    int64_t blocks = 0;
    for (int64_t s = 0; s < k; s++) {
        const int64_t low = from[s], end = from[s + 1];
        from[s] = blocks;
        first[blocks++] = low;
        for (int64_t at = low + 4096; at < end; at += 4096) first[blocks++] = at;
    }
    first[blocks] = from[k];
    from[k] = blocks;
    return blocks;
}

// S over segments of x[., d]: level by level until a segment is one block, whose totals go to out[k, d].
static sb_status sum_segments(sb_context *ctx, const sb_array *x, const sb_array *w, const sb_array *order, int64_t *from, int64_t k,
                              int64_t d, sb_array *out, sb_error *err) {
    sb_status status = SB_OK;
    sb_array *below = NULL;
    for (bool last = false; !last && status == SB_OK;) {
        const int64_t most = from[k] / 4096 + k + 1;
        sb_array *first = NULL, *totals = NULL;
        int64_t *starts = sbi_allocate(&ctx->allocator, most + 1, sizeof *starts, err);
        status = starts ? SB_OK : SB_ERR_MEMORY;
        const int64_t blocks = status == SB_OK ? cut(from, k, starts) : 0;
        last = blocks == k;
        if (status == SB_OK) status = sbi_scratch(ctx, SB_I64, blocks + 1, &first, err);
        if (status == SB_OK) status = sbi_array_write(first, starts, (size_t)(blocks + 1) * sizeof *starts, err);
        if (status == SB_OK && !last) status = sbi_scratch(ctx, SB_F64, blocks * d, &totals, err);
        if (status == SB_OK) {
            const sbi_arg args[] = {SBI_IN(x), SBI_IN(w), SBI_IN(order), SBI_IN(first), SBI_OUT(last ? out : totals), SBI_INT(d),
                                    SBI_INT(w != NULL), SBI_INT(order != NULL)};
            status = sbi_launch(ctx, SBI_TYPED(x->dtype, k_segment_block), blocks, args, err);
        }
        sbi_array_free(below);
        below = totals;
        x = totals;
        w = order = NULL;
        sbi_array_free(first);
        sbi_release(&ctx->allocator, starts);
    }
    sbi_array_free(below);
    return status;
}

// order[n]: the rows by label, ascending in each; from[k + 1]: where the rows of each label begin in it. A counting sort: each part
// of the rows counts its labels, then places its rows after those of the parts before.
static sb_status sort_labels(sb_context *ctx, const sb_array *labels, int64_t k, sb_array *order, int64_t *from, sb_error *err) {
    const int64_t n = labels->size, least = 4096, rows = k < least / 4 ? least : 4 * k, groups = sbi_groups(n, 4 * rows), parts = 4 * groups;
    sb_array *count = NULL;
    int64_t *at = sbi_allocate(&ctx->allocator, parts * k, sizeof *at, err), place = 0;
    sb_status status = at ? sbi_scratch(ctx, SB_I64, parts * k, &count, err) : SB_ERR_MEMORY;
    const sbi_arg counting[] = {SBI_IN(labels), SBI_OUT(count), SBI_INT(n), SBI_INT(k), SBI_INT(rows)};
    const sbi_arg placing[] = {SBI_IN(labels), SBI_OUT(count), SBI_OUT(order), SBI_INT(n), SBI_INT(k), SBI_INT(rows)};
    if (status == SB_OK) status = sbi_launch(ctx, SBI_ID_k_label_count, groups, counting, err);
    if (status == SB_OK) status = sbi_array_read(count, at, (size_t)(parts * k) * sizeof *at, err);
    for (int64_t s = 0; s < k && status == SB_OK; s++) {
        from[s] = place;
        for (int64_t p = s; p < parts * k; p += k) {
            const int64_t here = at[p];
            at[p] = place;
            place += here;
        }
    }
    from[k] = place;
    if (status == SB_OK) status = sbi_array_write(count, at, (size_t)(parts * k) * sizeof *at, err);
    if (status == SB_OK) status = sbi_launch(ctx, SBI_ID_k_label_place, groups, placing, err);
    sbi_array_free(count);
    sbi_release(&ctx->allocator, at);
    return status;
}

static sb_status segments_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *x = op->in[0], *weights = op->in[2];
    const int64_t n = op->n[N], d = op->n[D], k = op->n[K];
    sb_array *order = NULL;
    int64_t *from = sbi_allocate(&ctx->allocator, k + 1, sizeof *from, err), *again = sbi_allocate(&ctx->allocator, k + 1, sizeof *again, err);
    double *counts = sbi_allocate(&ctx->allocator, k, sizeof *counts, err);
    sb_status status = from && again && counts ? sbi_scratch(ctx, SB_I64, n, &order, err) : SB_ERR_MEMORY;
    if (status != SB_OK || (status = sort_labels(ctx, op->in[1], k, order, from, err))) goto done;
    for (int64_t s = 0; s < k; s++) counts[s] = (double)(from[s + 1] - from[s]);
    for (int64_t s = 0; s <= k; s++) again[s] = from[s];
    if ((status = sum_segments(ctx, x, weights, order, from, k, d, op->out[0], err))) goto done;
    status = weights ? sum_segments(ctx, weights, NULL, order, again, k, 1, op->out[1], err)
                     : sbi_array_write(op->out[1], counts, (size_t)k * sizeof *counts, err);
done:
    sbi_array_free(order);
    sbi_release(&ctx->allocator, from);
    sbi_release(&ctx->allocator, again);
    sbi_release(&ctx->allocator, counts);
    return status;
}

sb_status sbi_segments(sb_context *ctx, const sb_array *x, const sb_array *labels, const sb_array *weights, sb_array *sums,
                       sb_array *totals, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_real(x, "x", err)) || (status = sbi_check_ndim(x, "x", 2, err)) ||
        (status = sbi_check_dtype(labels, "labels", SB_I32, err)) || (status = sbi_check_ndim(labels, "labels", 1, err)) ||
        (status = sbi_check_length(labels, "labels", 0, x->shape[0], err)) || (status = check_weights(weights, x->shape[0], err)) ||
        (status = sbi_check_dtype(sums, "sums", SB_F64, err)) || (status = sbi_check_ndim(sums, "sums", 2, err)) ||
        (status = sbi_check_length(sums, "sums", 1, x->shape[1], err)) || (status = check_column(totals, "totals", sums->shape[0], err)))
        return status;
    const sbi_op op = {.id = SBI_OP_SEGMENTS, .kernels = segments_kernels, .in = {x, labels, weights}, .out = {sums, totals},
                       .n = {x->shape[0], x->shape[1], sums->shape[0]}};
    return sbi_run(ctx, &op, err);
}
