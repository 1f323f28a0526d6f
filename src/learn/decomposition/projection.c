// SPDX-License-Identifier: Apache-2.0
// What estimators of subspaces share (see projection.h for the order of arithmetic).
#include "projection.h"

enum { BLOCK = 4096 };

static sb_status column_means(sb_context *ctx, const sb_array *x, double *means, sb_error *err) {
    sb_array *mean = NULL;
    sb_status status = sbi_array_new(ctx, SB_F64, 1, &x->shape[1], &mean, err);
    if (status == SB_OK) status = sbi_mean(ctx, 0, x, mean, err);
    if (status == SB_OK) status = sbi_array_read(mean, means, (size_t)mean->size * sizeof *means, err);
    sbi_array_free(mean);
    return status;
}

sb_status sbi_column_moments(sb_context *ctx, const sb_array *x, double *means, double *squares, sb_error *err) {
    const int64_t d = x->shape[1], shape[2] = {5, d};
    sb_array *moments = NULL;
    double *values = NULL;
    if (!squares) return column_means(ctx, x, means, err);
    sb_status status = sbi_array_new(ctx, SB_F64, 2, shape, &moments, err);
    if (status == SB_OK) status = sbi_moments(ctx, x, NULL, moments, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, moments, &values, err);
    for (int64_t j = 0; j < d && status == SB_OK; j++) {
        means[j] = values[d + j];
        squares[j] = values[2 * d + j];
    }
    sbi_array_free(moments);
    sbi_release(&ctx->allocator, values);
    return status;
}

sb_status sbi_centred_gram(const sbi_call *call, const sb_array *mean, sb_array *gram, sb_error *err) {
    sb_context *ctx = call->ctx;
    sb_gemm_options turned = {.size = sizeof turned, .transpose_a = 1};
    const int64_t most[2] = {call->n < BLOCK ? call->n : BLOCK, call->d};
    sb_array *block = NULL;
    sb_status status = sbi_array_new(ctx, SB_F64, 2, most, &block, err);
    for (int64_t first = 0; first < call->n && status == SB_OK; first += BLOCK) {
        const int64_t count = call->n - first < BLOCK ? call->n - first : BLOCK;
        const sb_array rows = sbi_some_rows(call->x, first, count);
        sb_array centred = sbi_some_rows(block, 0, count);
        turned.accumulate = first > 0;
        status = sbi_columns(ctx, &rows, mean, NULL, 0, &centred, err);
        if (status == SB_OK) status = sbi_gemm(ctx, &turned, &centred, &centred, NULL, gram, err);
        if (status == SB_OK) status = sbi_call_progress(call, first + count, call->n, err);
    }
    sbi_array_free(block);
    return status;
}

sb_status sbi_project(const sbi_call *call, const sb_array *mean, const sb_array *components, const sb_array *scale, sb_array *out, sb_error *err) {
    sb_context *ctx = call->ctx;
    const sb_gemm_options turned = {.size = sizeof turned, .transpose_b = 1};
    const int64_t k = components->shape[0], together = call->d + k < 4096 ? (1 << 18) / (call->d + k) : 64, most[2] = {call->n < together ? call->n : together, call->d};
    const sb_dtype type = call->x->dtype;
    const sb_array *matrix = NULL, *shift = NULL;
    sb_array *made[2] = {NULL, NULL}, *block = NULL;
    sb_status status = sbi_array_as(ctx, type, components, &matrix, &made[0], err);
    if (status == SB_OK && mean) status = sbi_array_as(ctx, SB_F64, mean, &shift, &made[1], err);
    if (status == SB_OK && mean) status = sbi_array_new(ctx, type, 2, most, &block, err);
    for (int64_t first = 0; first < call->n && status == SB_OK; first += together) {
        const int64_t count = call->n - first < together ? call->n - first : together;
        const sb_array rows = sbi_some_rows(call->x, first, count);
        sb_array centred = block ? sbi_some_rows(block, 0, count) : rows, result = sbi_some_rows(out, first, count);
        if (block) status = sbi_columns(ctx, &rows, shift, NULL, 0, &centred, err);
        if (status == SB_OK) status = sbi_gemm(ctx, &turned, &centred, matrix, NULL, &result, err);
        if (status == SB_OK && scale) status = sbi_binary(ctx, SB_DIV, &result, scale, &result, err);
    }
    sbi_array_free(block);
    sbi_array_free(made[0]);
    sbi_array_free(made[1]);
    return status;
}

void sbi_fix_row_signs(sb_dtype dtype, int64_t k, int64_t d, double *vt) {
    for (int64_t i = 0; i < k; i++) {
        double *row = vt + i * d, most = 0.0, size = 0.0;
        for (int64_t j = 0; j < d; j++) {
            if (dtype == SB_F32) row[j] = (double)(float)row[j];
            const double own = row[j] < 0.0 ? -row[j] : row[j];
            if (own > size) {
                size = own;
                most = row[j];
            }
        }
        for (int64_t j = 0; j < d && most < 0.0; j++) row[j] = 0.0 - row[j];
    }
}
