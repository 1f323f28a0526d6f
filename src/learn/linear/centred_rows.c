// SPDX-License-Identifier: Apache-2.0
// What linear models share. Order of arithmetic: means are those of the contract (with weights RN64(S(RN64(w x)) / S(w)), see
// standard_scaler.c), rows D = RN64(x - mean), E = RN64(y - mean); normal equations are products of T3 of these in binary64 whose
// summed index is the row, with weights the left operand is RN64(w D). They are made 16,384 rows at a time, which is a run of
// T3: each block's product is the total of its run, added in order.
#include "least_squares.h"

#include <string.h>

enum { RUN = 16384 };

static sb_status column_means(const sbi_call *call, const sb_array *x, sb_array **means, double *host, sb_error *err) {
    const int64_t d = x->shape[1], shape[2] = {5, d};
    sb_array *moments = NULL;
    double *values = NULL;
    sb_status status = sbi_array_new(call->ctx, SB_F64, 2, shape, &moments, err);
    if (status == SB_OK) status = sbi_moments(call->ctx, x, call->weights, moments, err);
    if (status == SB_OK) status = sbi_read_reals(call->ctx, moments, &values, err);
    if (status == SB_OK) status = sbi_array_new(call->ctx, SB_F64, 1, &d, means, err);
    if (status == SB_OK) memcpy(host, values + d, (size_t)d * sizeof *host);
    if (status == SB_OK) status = sbi_array_write(*means, host, (size_t)d * sizeof *host, err);
    sbi_array_free(moments);
    sbi_release(&call->ctx->allocator, values);
    return status;
}

sb_status sbi_centred_start(const sbi_call *call, bool centred, sbi_centred *out, sb_error *err) {
    const int64_t n = call->n, d = call->d, t = call->y->ndim == 2 ? call->y->shape[1] : 1, shape[2] = {n, t};
    sb_array whole = *call->y; // (a view that is only looked through)
    sb_status status;
    *out = (sbi_centred){.call = call, .n = n, .d = d, .t = t};
    if ((status = sbi_array_reshape(&whole, 2, shape, &out->y, err))) return status;
    out->x_means = sbi_allocate(&call->ctx->allocator, d, sizeof(double), err);
    out->y_means = sbi_allocate(&call->ctx->allocator, t, sizeof(double), err);
    if (!out->x_means || !out->y_means) return SB_ERR_MEMORY;
    if (!centred) return SB_OK;
    status = column_means(call, call->x, &out->x_mean, out->x_means, err);
    return status ? status : column_means(call, out->y, &out->y_mean, out->y_means, err);
}

void sbi_centred_free(sbi_centred *c) {
    if (!c->call) return;
    sbi_array_free(c->y);
    sbi_array_free(c->x_mean);
    sbi_array_free(c->y_mean);
    sbi_release(&c->call->ctx->allocator, c->x_means);
    sbi_release(&c->call->ctx->allocator, c->y_means);
}

// rows[count, columns] = rows first .. of x less the means.
static sb_status centre(sb_context *ctx, const sb_array *x, const sb_array *means, int64_t first, int64_t count, sb_array **out, sb_error *err) {
    sb_array part = *x;
    const int64_t width = x->shape[1];
    part.shape[0] = count;
    part.size = count * width;
    part.data = x->data + first * width * (int64_t)sbi_dtype_size(x->dtype);
    sb_status status = sbi_array_new(ctx, SB_F64, 2, part.shape, out, err);
    return status ? status : sbi_columns(ctx, &part, means, NULL, 0, *out, err);
}

sb_status sbi_normal_equations(const sbi_centred *c, sb_array *gram, sb_array *cross, sb_error *err) {
    sb_context *ctx = c->call->ctx;
    sb_gemm_options turned = {.size = sizeof turned, .transpose_a = 1};
    sb_status status = SB_OK;
    for (int64_t first = 0; first < c->n && status == SB_OK; first += RUN) {
        const int64_t count = c->n - first < RUN ? c->n - first : RUN, column[2] = {count, 1};
        sb_array *x = NULL, *y = NULL, *weighted = NULL, *weights = NULL, *tall = NULL;
        turned.accumulate = first > 0;
        if ((status = centre(ctx, c->call->x, c->x_mean, first, count, &x, err)) ||
            (status = centre(ctx, c->y, c->y_mean, first, count, &y, err)))
            goto done;
        if (c->call->weights) {
            sb_array whole = *c->call->weights;
            if ((status = sbi_array_slice(&whole, first, count, &weights, err)) || (status = sbi_array_reshape(weights, 2, column, &tall, err)) ||
                (status = sbi_array_new(ctx, SB_F64, 2, x->shape, &weighted, err)) ||
                (status = sbi_binary(ctx, SB_MUL, x, tall, weighted, err)))
                goto done;
        }
        const sb_array *left = weighted ? weighted : x;
        if ((status = sbi_gemm(ctx, &turned, left, x, NULL, gram, err)) || (status = sbi_gemm(ctx, &turned, left, y, NULL, cross, err))) goto done;
        status = sbi_call_progress(c->call, first + count, c->n, err);
    done:
        sbi_array_free(x);
        sbi_array_free(y);
        sbi_array_free(weighted);
        sbi_array_free(weights);
        sbi_array_free(tall);
    }
    return status;
}

// rows, each times the root of its weight.
static sb_status scale_rows(const sbi_centred *c, sb_array *rows, sb_error *err) {
    sb_context *ctx = c->call->ctx;
    const int64_t column[2] = {c->n, 1};
    sb_array *roots = NULL, *tall = NULL;
    sb_status status = sbi_array_new(ctx, SB_F64, 1, &c->n, &roots, err);
    if (status == SB_OK) status = sbi_unary(ctx, SB_SQRT, c->call->weights, roots, err);
    if (status == SB_OK) status = sbi_array_reshape(roots, 2, column, &tall, err);
    if (status == SB_OK) status = sbi_binary(ctx, SB_MUL, rows, tall, rows, err);
    sbi_array_free(roots);
    sbi_array_free(tall);
    return status;
}

sb_status sbi_centred_rows(const sbi_centred *c, sb_array **x, sb_array **y, sb_error *err) {
    sb_status status = centre(c->call->ctx, c->call->x, c->x_mean, 0, c->n, x, err);
    if (status == SB_OK) status = centre(c->call->ctx, c->y, c->y_mean, 0, c->n, y, err);
    if (status == SB_OK && c->call->weights) status = scale_rows(c, *x, err);
    if (status == SB_OK && c->call->weights) status = scale_rows(c, *y, err);
    return status;
}

sb_status sbi_linear_fill(const sbi_centred *c, const double *b, sb_error *err) {
    sb_context *ctx = c->call->ctx;
    double *coef = NULL, *intercept = sbi_allocate(&ctx->allocator, c->t, sizeof *intercept, err);
    sb_status status = intercept ? sbi_model_fill(ctx, c->call->model, "coef", b, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_read_reals(ctx, sbi_model_array(c->call->model, "coef"), &coef, err);
    for (int64_t j = 0; j < c->t && status == SB_OK; j++)
        intercept[j] = c->x_mean ? c->y_means[j] - sbi_host_dot(c->d, c->x_means, coef + j * c->d) : 0.0;
    if (status == SB_OK) status = sbi_model_fill(ctx, c->call->model, "intercept", intercept, err);
    sbi_release(&ctx->allocator, coef);
    sbi_release(&ctx->allocator, intercept);
    return status;
}

sb_status sbi_linear_scores(sbi_call *call, int64_t t, const sb_array *to, sb_error *err) {
    sb_context *ctx = call->ctx;
    const sb_array *coef = NULL, *intercept = NULL;
    sb_array *made[2] = {NULL, NULL}, *matrix = NULL, *bias = NULL, *out = NULL;
    const sb_gemm_options turned = {.size = sizeof turned, .transpose_b = 1};
    const int64_t shape[2] = {t, call->d}, result[2] = {call->n, t};
    sb_status status;
    if ((status = sbi_array_as(ctx, call->x->dtype, sbi_model_array(call->model, "coef"), &coef, &made[0], err)) ||
        (status = sbi_array_as(ctx, call->x->dtype, sbi_model_array(call->model, "intercept"), &intercept, &made[1], err)))
        goto done;
    sb_array flat = *coef, constant = *intercept, whole = *to;
    if ((status = sbi_array_reshape(&flat, 2, shape, &matrix, err)) || (status = sbi_array_reshape(&constant, 1, &t, &bias, err)) ||
        (status = sbi_array_reshape(&whole, 2, result, &out, err)))
        goto done;
    status = sbi_gemm(ctx, &turned, call->x, matrix, bias, out, err);
done:
    sbi_array_free(out);
    sbi_array_free(matrix);
    sbi_array_free(bias);
    sbi_array_free(made[0]);
    sbi_array_free(made[1]);
    return status;
}

sb_status sbi_linear_predict(sbi_call *call, sb_error *err) {
    const int64_t known = sbi_model_size(call->model, "t");
    return sbi_linear_scores(call, known < 0 ? 1 : known, call->out, err);
}

sb_status sbi_warned(sb_status status, sb_error *err) { return status ? sbi_fail(err, status, "warnings", "out of memory for a warning") : SB_OK; }
