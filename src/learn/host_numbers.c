// SPDX-License-Identifier: Apache-2.0
// Arrays as numbers of the host, for the scalar arithmetic between operations; the sum S (T2) of such numbers; R2 and accuracy.
#include "check.h"
#include "learn.h"

#include <string.h>

static sb_status read_reals(const sbi_allocator *allocator, const sb_array *a, double **out, sb_error *err) {
    const size_t item = sbi_dtype_size(a->dtype);
    double *numbers = sbi_allocate(allocator, a->size, sizeof *numbers, err);
    char *raw = (char *)numbers; // narrow elements are read into the upper part, then widened from below
    sb_status status = numbers ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK) {
        raw += (size_t)a->size * (sizeof *numbers - item);
        status = sbi_array_read(a, raw, (size_t)a->size * item, err);
    }
    for (int64_t i = 0; i < a->size && status == SB_OK; i++) {
        float f;
        int32_t n;
        int64_t l;
        double value = 0.0;
        switch (a->dtype) {
        case SB_F32: memcpy(&f, raw + 4 * i, 4); value = (double)f; break;
        case SB_F64: memcpy(&value, raw + 8 * i, 8); break;
        case SB_I32: memcpy(&n, raw + 4 * i, 4); value = (double)n; break;
        case SB_I64: memcpy(&l, raw + 8 * i, 8); value = (double)l; break;
        default: status = sbi_fail(err, SB_ERR_DTYPE, "array", "an array of %s where numbers are read", sbi_dtype_name(a->dtype));
        }
        numbers[i] = value;
    }
    if (status == SB_OK)
        *out = numbers;
    else
        sbi_release(allocator, numbers);
    return status;
}

sb_status sbi_read_reals(sb_context *ctx, const sb_array *a, double **out, sb_error *err) { return read_reals(&ctx->allocator, a, out, err); }

sb_status sbi_model_numbers(const sb_model *model, const char *name, double **out, sb_error *err) {
    return read_reals(&model->allocator, sbi_model_array(model, name), out, err);
}

sb_status sbi_model_check_numbers(const sb_model *model, const char *name, double least, sb_error *err) {
    const sb_array *a = sbi_model_array(model, name);
    double *values = NULL;
    sb_status status = a ? sbi_model_numbers(model, name, &values, err) : SB_OK;
    for (int64_t i = 0; a && i < a->size && status == SB_OK; i++)
        if (!(values[i] - values[i] == 0.0 && values[i] >= least))
            status = sbi_fail(err, SB_ERR_FORMAT, name, "%s holds %g (element %lld)", name, values[i], (long long)i);
    sbi_release(&model->allocator, values);
    return status;
}

sb_status sbi_write_reals(sb_context *ctx, const double *values, sb_array *to, sb_error *err) {
    if (to->dtype == SB_F64) return sbi_array_write(to, values, (size_t)to->size * sizeof *values, err);
    if (to->dtype != SB_F32) return sbi_fail(err, SB_ERR_DTYPE, "array", "reals into an array of %s", sbi_dtype_name(to->dtype));
    float *narrow = sbi_allocate(&ctx->allocator, to->size, sizeof *narrow, err);
    if (!narrow) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < to->size; i++) narrow[i] = (float)values[i];
    sb_status status = sbi_array_write(to, narrow, (size_t)to->size * sizeof *narrow, err);
    sbi_release(&ctx->allocator, narrow);
    return status;
}

sb_status sbi_array_of(sb_context *ctx, int ndim, const int64_t *shape, const double *values, sb_array **out, sb_error *err) {
    sb_status status = sbi_array_new(ctx, SB_F64, ndim, shape, out, err);
    return status ? status : sbi_array_write(*out, values, (size_t)(*out)->size * sizeof *values, err);
}

sb_status sbi_array_as(sb_context *ctx, sb_dtype dtype, const sb_array *x, const sb_array **out, sb_array **made, sb_error *err) {
    double *numbers = NULL;
    sb_array *copy = NULL;
    *out = x;
    *made = NULL;
    if (x->dtype == dtype) return SB_OK;
    sb_status status = sbi_array_new(ctx, dtype, x->ndim, x->shape, &copy, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, x, &numbers, err);
    if (status == SB_OK) status = sbi_write_reals(ctx, numbers, copy, err);
    sbi_release(&ctx->allocator, numbers);
    if (status == SB_OK)
        *out = *made = copy;
    else
        sbi_array_free(copy);
    return status;
}

static sb_status read_indices(sb_context *ctx, const sb_array *a, const char *name, double **out, sb_error *err) {
    sb_status status;
    if (a->dtype != SB_I32 && a->dtype != SB_I64)
        return sbi_fail(err, SB_ERR_DTYPE, name, "%s is %s, it must be int32 or int64", name, sbi_dtype_name(a->dtype));
    if ((status = sbi_check_ndim(a, name, 1, err))) return status;
    return sbi_read_reals(ctx, a, out, err); // (exact: sizes are below 2^53)
}

static sb_status spread_rows(const sb_data *data, const double *indptr, const double *indices, const char *values, size_t item,
                             char *dense, sb_error *err) {
    const int64_t n = data->indptr->size - 1, d = data->columns, count = data->x->size;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(indptr[i] == (double)at && indptr[i + 1] >= indptr[i] && indptr[i + 1] <= (double)count))
            return sbi_fail(err, SB_ERR_ARGUMENT, "indptr", "indptr does not ascend from 0 to %lld at row %lld", (long long)count, (long long)i);
        bool ascending = true; // so far: then no column stands twice
        for (const int64_t end = (int64_t)indptr[i + 1]; at < end; at++) {
            if (!(indices[at] >= 0.0 && indices[at] < (double)d))
                return sbi_fail(err, SB_ERR_ARGUMENT, "indices", "row %lld names a column outside 0 .. %lld", (long long)i, (long long)d - 1);
            ascending = ascending && (at == (int64_t)indptr[i] || indices[at - 1] < indices[at]);
            for (int64_t before = (int64_t)indptr[i]; before < at && !ascending; before++)
                if (indices[before] == indices[at])
                    return sbi_fail(err, SB_ERR_ARGUMENT, "indices", "row %lld names column %lld twice", (long long)i, (long long)indices[at]);
            memcpy(dense + (size_t)(i * d + (int64_t)indices[at]) * item, values + (size_t)at * item, item);
        }
    }
    if (at != count) return sbi_fail(err, SB_ERR_ARGUMENT, "indptr", "indptr ends at %lld, there are %lld values", (long long)at, (long long)count);
    return SB_OK;
}

sb_status sbi_dense_of(sb_context *ctx, const sb_data *data, sb_array **out, sb_error *err) {
    const sb_array *x = data->x;
    const size_t item = sbi_dtype_size(x->dtype);
    double *indptr = NULL, *indices = NULL;
    char *values = NULL, *dense = NULL;
    int64_t cells = 0;
    sb_status status;
    if ((status = sbi_check_real(x, "x", err)) || (status = sbi_check_ndim(x, "x", 1, err))) return status;
    if (!data->indices) return sbi_fail(err, SB_ERR_ARGUMENT, "indices", "indices is NULL, and indptr is not");
    if ((status = read_indices(ctx, data->indptr, "indptr", &indptr, err)) || (status = read_indices(ctx, data->indices, "indices", &indices, err)) ||
        (status = sbi_check_length(data->indices, "indices", 0, x->size, err)))
        goto done;
    if (data->indptr->size < 1 || data->columns < 0 || data->columns > INT64_C(1) << 52) {
        status = sbi_fail(err, SB_ERR_ARGUMENT, "columns", "a CSR matrix of %lld rows and %lld columns", (long long)data->indptr->size - 1, (long long)data->columns);
        goto done;
    }
    const int64_t shape[2] = {data->indptr->size - 1, data->columns};
    if (!sbi_multiply(shape[0], shape[1], &cells)) {
        status = sbi_fail(err, SB_ERR_SIZE, "columns", "the dense matrix, %lld x %lld, overflows", (long long)shape[0], (long long)shape[1]);
        goto done;
    }
    values = sbi_allocate(&ctx->allocator, x->size, item, err);
    dense = values ? sbi_allocate(&ctx->allocator, cells, item, err) : NULL;
    if (!dense) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    if ((status = sbi_array_read(x, values, (size_t)x->size * item, err)) || (status = spread_rows(data, indptr, indices, values, item, dense, err)) ||
        (status = sbi_array_new(ctx, x->dtype, 2, shape, out, err)))
        goto done;
    status = sbi_array_write(*out, dense, (size_t)cells * item, err);
done:
    sbi_release(&ctx->allocator, indptr);
    sbi_release(&ctx->allocator, indices);
    sbi_release(&ctx->allocator, values);
    sbi_release(&ctx->allocator, dense);
    return status;
}

// The block's accumulators, then the tree. b NULL: terms a.
static double block_sum(int64_t n, const double *a, const double *b) {
    double sum[32] = {0};
    const int64_t tail = n - n % 32;
    for (int64_t j = 0; j < tail; j += 32)
        for (int l = 0; l < 32; l++) sum[l] = sum[l] + (b ? a[j + l] * b[j + l] : a[j + l]);
    for (int64_t j = tail; j < n; j++) sum[j - tail] = sum[j - tail] + (b ? a[j] * b[j] : a[j]);
    for (int s = 16; s > 0; s /= 2)
        for (int i = 0; i < s; i++) sum[i] = sum[i] + sum[i + s];
    return sum[0] + 0.0;
}

// Totals of blocks are kept until there are 4,096: 32 times 2^24 terms and more.
static double sum_of(int64_t n, const double *a, const double *b) {
    double level[2][32] = {{0}};
    if (n <= 4096) return block_sum(n, a, b);
    const int64_t blocks = (n - 1) / 4096 + 1;
    for (int64_t block = 0; block < blocks; block++) {
        const int64_t first = 4096 * block, here = n - first < 4096 ? n - first : 4096;
        level[0][block % 32] = level[0][block % 32] + block_sum(here, a + first, b ? b + first : NULL);
        if (block % 4096 == 4095 || block == blocks - 1) {
            const int64_t run = block / 4096 % 32;
            level[1][run] = level[1][run] + block_sum(32, level[0], NULL);
            memset(level[0], 0, sizeof level[0]);
        }
    }
    return block_sum(32, level[1], NULL);
}

double sbi_host_sum(int64_t n, const double *terms) { return sum_of(n, terms, NULL); }
double sbi_host_dot(int64_t n, const double *a, const double *b) { return sum_of(n, a, b); }

sb_status sbi_host_unary(sb_context *ctx, sb_unary_kind kind, int64_t n, double *values, sb_error *err) {
    sb_array *a = NULL;
    sb_status status = sbi_array_new(ctx, SB_F64, 1, &n, &a, err);
    if (status == SB_OK) status = sbi_array_write(a, values, (size_t)n * sizeof *values, err);
    if (status == SB_OK) status = sbi_unary(ctx, kind, a, a, err);
    if (status == SB_OK) status = sbi_array_read(a, values, (size_t)n * sizeof *values, err);
    sbi_array_free(a);
    return status;
}

// For each target: 1 - S(w (y - p)^2) / S(w (y - mean)^2), mean = S(w y) / S(w); where the divisor is 0: 1 if the dividend is
// 0, too, else 0. Then the mean over targets.
sb_status sbi_regressor_score(sbi_call *call, sbi_method predict, sb_error *err) {
    const int64_t n = call->n, t = call->y->ndim == 2 ? call->y->shape[1] : 1;
    sb_context *ctx = call->ctx;
    sb_array *predicted = NULL;
    double *y = NULL, *p = NULL, *w = NULL, *term = NULL, *each = NULL, score;
    sbi_call inner = *call;
    const int64_t known = sbi_model_size(call->model, "t");
    sb_status status;
    if ((known < 0) != (call->y->ndim == 1) || (known >= 0 && known != t))
        return sbi_fail(err, SB_ERR_SHAPE, "y", "y has another number of targets than the model was fitted on");
    if ((status = sbi_array_new(ctx, call->x->dtype, call->y->ndim, call->y->shape, &predicted, err))) return status;
    inner.out = predicted;
    if ((status = predict(&inner, err)) || (status = sbi_read_reals(ctx, call->y, &y, err)) ||
        (status = sbi_read_reals(ctx, predicted, &p, err)) || (call->weights && (status = sbi_read_reals(ctx, call->weights, &w, err))))
        goto done;
    if (!(term = sbi_allocate(&ctx->allocator, n, sizeof *term, err)) || !(each = sbi_allocate(&ctx->allocator, t, sizeof *each, err))) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    const double total = w ? sbi_host_sum(n, w) : (double)n;
    for (int64_t j = 0; j < t; j++) {
        for (int64_t i = 0; i < n; i++) term[i] = w ? w[i] * y[i * t + j] : y[i * t + j];
        const double mean = sbi_host_sum(n, term) / total;
        for (int64_t i = 0; i < n; i++) {
            const double off = y[i * t + j] - mean;
            term[i] = w ? w[i] * (off * off) : off * off;
        }
        const double spread = sbi_host_sum(n, term);
        for (int64_t i = 0; i < n; i++) {
            const double off = y[i * t + j] - p[i * t + j];
            term[i] = w ? w[i] * (off * off) : off * off;
        }
        const double rest = sbi_host_sum(n, term);
        each[j] = spread != 0.0 ? 1.0 - rest / spread : rest == 0.0 ? 1.0 : 0.0;
    }
    score = sbi_host_sum(t, each) / (double)t;
    status = sbi_write_reals(ctx, &score, call->out, err);
done:
    sbi_array_free(predicted);
    sbi_release(&ctx->allocator, y);
    sbi_release(&ctx->allocator, p);
    sbi_release(&ctx->allocator, w);
    sbi_release(&ctx->allocator, term);
    sbi_release(&ctx->allocator, each);
    return status;
}

sb_status sbi_classifier_score(sbi_call *call, sbi_method predict, sb_error *err) {
    const int64_t n = call->n;
    sb_context *ctx = call->ctx;
    sbi_call inner = *call;
    double *y = NULL, *p = NULL, *w = NULL, score;
    sb_status status = sbi_array_new(ctx, SB_I64, 1, &n, &inner.out, err);
    if (status != SB_OK) return status;
    if ((status = predict(&inner, err)) || (status = sbi_read_reals(ctx, call->y, &y, err)) || (status = sbi_read_reals(ctx, inner.out, &p, err)) ||
        (call->weights && (status = sbi_read_reals(ctx, call->weights, &w, err))))
        goto done;
    for (int64_t i = 0; i < n; i++) p[i] = p[i] != y[i] ? 0.0 : w ? w[i] : 1.0;
    score = sbi_host_sum(n, p) / (w ? sbi_host_sum(n, w) : (double)n);
    status = sbi_write_reals(ctx, &score, call->out, err);
done:
    sbi_array_free(inner.out);
    sbi_release(&ctx->allocator, y);
    sbi_release(&ctx->allocator, p);
    sbi_release(&ctx->allocator, w);
    return status;
}
