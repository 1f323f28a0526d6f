// SPDX-License-Identifier: Apache-2.0
// Squared distances of rows from points, logarithms of densities, and the nearest point of each row (contract T12). See distance.cl for the bound by
// which most rows are decided from a product.
#include "check.h"
#include "fold.h"

enum { N, M, D, ROOT }; // a record's numbers

static sb_status distance_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_OUT(op->out[0]), SBI_OUT(op->out[0]), SBI_INT(op->n[M]),
                            SBI_INT(op->n[D]), SBI_INT(op->n[ROOT])};
    return sbi_launch(ctx, SBI_TYPED(op->in[0]->dtype, k_distance), op->n[N], args, err);
}

static sb_status check_points(const sb_array *x, const sb_array *c, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_real(x, "x", err)) || (status = sbi_check_dtype(c, "c", x->dtype, err)) ||
        (status = sbi_check_ndim(x, "x", 2, err)) || (status = sbi_check_ndim(c, "c", 2, err)) ||
        (status = sbi_check_length(c, "c", 1, x->shape[1], err)))
        return status;
    return sbi_check_row("x", x->shape[1], err);
}

sb_status sbi_distances(sb_context *ctx, const sb_array *x, const sb_array *c, int root, sb_array *out, sb_error *err) {
    sb_status status = check_points(x, c, err);
    if (status) return status;
    if ((status = sbi_check_dtype(out, "out", root ? x->dtype : SB_F64, err)) || (status = sbi_check_ndim(out, "out", 2, err)) ||
        (status = sbi_check_length(out, "out", 0, x->shape[0], err)) || (status = sbi_check_length(out, "out", 1, c->shape[0], err)))
        return status;
    const sbi_op op = {.id = SBI_OP_DISTANCE, .kernels = distance_kernels, .in = {x, c}, .out = {out},
                       .n = {x->shape[0], c->shape[0], x->shape[1], root != 0}};
    return sbi_run(ctx, &op, err);
}

static sb_status gaussian_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_IN(op->in[2]), SBI_IN(op->in[3]), SBI_OUT(op->out[0]),
                            SBI_INT(op->n[N]), SBI_INT(op->n[M]), SBI_INT(op->n[D])};
    return sbi_launch(ctx, SBI_TYPED(op->in[0]->dtype, k_gaussian), sbi_groups(op->n[N], 64), args, err);
}

sb_status sbi_gaussians(sb_context *ctx, const sb_array *x, const sb_array *mean, const sb_array *scale, const sb_array *start, sb_array *out, sb_error *err) {
    const sb_array *const all[] = {mean, scale, start, out};
    static const char *const names[] = {"mean", "scale", "start", "out"};
    sb_status status;
    if ((status = sbi_check_real(x, "x", err)) || (status = sbi_check_ndim(x, "x", 2, err))) return status;
    for (int i = 0; i < 4; i++)
        if ((status = sbi_check_dtype(all[i], names[i], SB_F64, err)) || (status = sbi_check_ndim(all[i], names[i], i == 2 ? 1 : 2, err))) return status;
    const int64_t n = x->shape[0], m = mean->shape[0], d = x->shape[1];
    if ((status = sbi_check_length(mean, "mean", 1, d, err)) || (status = sbi_check_like(scale, "scale", mean, "mean", err)) ||
        (status = sbi_check_length(start, "start", 0, m, err)) || (status = sbi_check_length(out, "out", 0, n, err)) ||
        (status = sbi_check_length(out, "out", 1, m, err)) || (status = sbi_check_row("x", d, err)))
        return status;
    const sbi_op op = {.id = SBI_OP_GAUSSIAN, .kernels = gaussian_kernels, .in = {x, mean, scale, start}, .out = {out}, .n = {n, m, d}};
    return sbi_run(ctx, &op, err);
}

sb_status sbi_fold_squares(sb_context *ctx, const sb_array *x, sb_array *out, sb_error *err) {
    const sbi_fold fold = {.first = SBI_TYPED(x->dtype, k_square_block), .above = SBI_ID_k_sum_block_f64, .dtype = SB_F64,
                           .outer = x->shape[0], .count = x->shape[1], .inner = 1, .divisor = 1.0, .inputs = 1,
                           .input = {SBI_IN(x)}};
    return sbi_fold_run(ctx, &fold, NULL, out, err);
}

enum { FEW = 256, MANY = 1 << 20 }; // the columns that k_nearest_few holds; points whose numbers float32 holds

// What k_nearest_few needs of the points c[m, d]: an origin in their middle, how far they are from it, half of the squares of that. The largest
// square of all, a percent larger. All of it may be rounded as it comes: no bit of a result depends on it.
static sb_status points_about(sb_context *ctx, const sb_array *c, sb_array *origin, sb_array *apart, sb_array *halves, double *largest, sb_error *err) {
    const int64_t m = c->shape[0], d = c->shape[1];
    const size_t item = sbi_dtype_size(c->dtype);
    const bool narrow = c->dtype == SB_F32;
    char *raw = sbi_allocate(&ctx->allocator, m * d + d + m, item, err); // the points, which become `apart`; the origin; `halves`
    float *f = (float *)(void *)raw;
    double *g = (double *)(void *)raw;
    sb_status status = raw ? sbi_array_read(c, raw, (size_t)(m * d) * item, err) : SB_ERR_MEMORY;
    *largest = 0.0;
    for (int64_t j = 0; j < d && status == SB_OK; j++) {
        double sum = 0.0;
        for (int64_t p = 0; p < m; p++) sum += narrow ? (double)f[p * d + j] : g[p * d + j];
        if (narrow) f[m * d + j] = (float)(sum / (double)m);
        else g[m * d + j] = sum / (double)m;
    }
    for (int64_t p = 0; p < m && status == SB_OK; p++) {
        double square = 0.0;
        for (int64_t j = p * d; j < (p + 1) * d; j++) {
            if (narrow) f[j] = f[m * d + j % d] - f[j];
            else g[j] = g[m * d + j % d] - g[j];
            square += narrow ? (double)f[j] * (double)f[j] : g[j] * g[j];
        }
        if (narrow) f[m * d + d + p] = (float)(0.5 * square);
        else g[m * d + d + p] = 0.5 * square;
        *largest = *largest != *largest || square <= *largest ? *largest : square; // (a NaN stays: nothing is certain)
    }
    *largest *= 1.01;
    if (status == SB_OK) status = sbi_array_write(apart, raw, (size_t)(m * d) * item, err);
    if (status == SB_OK) status = sbi_array_write(origin, raw + (size_t)(m * d) * item, (size_t)d * item, err);
    if (status == SB_OK) status = sbi_array_write(halves, raw + (size_t)(m * d + d) * item, (size_t)m * item, err);
    sbi_release(&ctx->allocator, raw);
    return status;
}

static sb_status nearest_of_few(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *x = op->in[0], *c = op->in[1];
    const int64_t n = op->n[N], m = op->n[M], d = op->n[D];
    const bool narrow = x->dtype == SB_F32;
    const double u = narrow ? 0x1p-24 : 0x1p-53, eta = narrow ? 0x1p-149 : 0x1p-1074;
    double largest = 0.0;
    sb_array *origin = NULL, *apart = NULL, *halves = NULL;
    sb_status status;
    if ((status = sbi_scratch(ctx, x->dtype, d, &origin, err)) || (status = sbi_scratch(ctx, x->dtype, m * d, &apart, err)) ||
        (status = sbi_scratch(ctx, x->dtype, m, &halves, err)) || (status = points_about(ctx, c, origin, apart, halves, &largest, err)))
        goto done;
    const sbi_arg args[] = {SBI_IN(x), SBI_IN(c), SBI_IN(origin), SBI_IN(apart), SBI_IN(halves), SBI_OUT(op->out[0]), SBI_OUT(op->out[1]),
                            SBI_INT(n), SBI_INT(m), SBI_INT(d), SBI_INT(op->out[1] != NULL), SBI_REAL(largest),
                            SBI_REAL(2.1 * (double)(d + 34) * u), SBI_REAL((double)(8 * d + 16) * eta), SBI_REAL(narrow ? 0x1p120 : 0x1p1000)};
    status = sbi_launch(ctx, SBI_TYPED(x->dtype, k_nearest_few), sbi_groups(n, 64), args, err);
done:
    sbi_array_free(origin);
    sbi_array_free(apart);
    sbi_array_free(halves);
    return status;
}

static sb_status nearest_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *x = op->in[0], *c = op->in[1];
    const int64_t n = op->n[N], m = op->n[M], d = op->n[D], size = (int64_t)1 << 18;
    const bool narrow = x->dtype == SB_F32;
    // Rows at a time: what they and their products take stays in the caches.
    int64_t together = size / (d + m) / 64 * 64;
    together = together < 64 ? 64 : together < n ? together : n;
    const double u = narrow ? 0x1p-24 : 0x1p-53, eta = narrow ? 0x1p-149 : 0x1p-1074;
    const int64_t chunks = (d - 1) / 256 + 1, roundings = (d < 256 ? d : 256) + (chunks < 64 ? chunks : 64) + (chunks - 1) / 64 + 1;
    const double k = (double)roundings;
    double largest = 0.0, *squares = NULL;
    sb_array *points = NULL, *norms = NULL, *product = NULL;
    sb_gemm_options turned = {.size = sizeof turned, .transpose_b = 1};
    sb_status status;
    if (n == 0) return SB_OK;
    if (d <= FEW && m <= MANY) return nearest_of_few(ctx, op, err);
    if ((status = sbi_scratch(ctx, SB_F64, m, &points, err)) || (status = sbi_scratch(ctx, SB_F64, together, &norms, err)) ||
        (status = sbi_scratch(ctx, x->dtype, m * together, &product, err)) || (status = sbi_fold_squares(ctx, c, points, err)))
        goto done;
    if (!(squares = sbi_allocate(&ctx->allocator, m, sizeof *squares, err))) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    if ((status = sbi_array_read(points, squares, (size_t)m * sizeof *squares, err))) goto done;
    for (int64_t j = 0; j < m; j++) largest = largest != largest || squares[j] <= largest ? largest : squares[j]; // (NaN stays)
    for (int64_t first = 0; first < n && status == SB_OK; first += together) {
        const int64_t rows = n - first < together ? n - first : together;
        sb_array part = *x, norm = *norms, result = *product;
        part.shape[0] = rows;
        part.size = rows * d;
        part.data = x->data + first * d * (int64_t)sbi_dtype_size(x->dtype);
        norm.shape[0] = norm.size = rows;
        result.ndim = 2;
        result.shape[0] = m;
        result.shape[1] = rows;
        result.size = m * rows;
        const sbi_arg args[] = {{.in = part.data}, SBI_IN(c), {.in = result.data}, SBI_IN(points), {.in = norm.data},
                                {.out = op->out[0]->data + first * 4}, {.out = op->out[1] ? op->out[1]->data + first * 8 : NULL},
                                SBI_INT(rows), SBI_INT(m), SBI_INT(d), SBI_INT(op->out[1] != NULL), SBI_REAL(largest),
                                SBI_REAL(2.0 * 1.01 * k * u / (1.0 - k * u)), SBI_REAL(1.01 * 0x1p-53 * (double)(4 * d + 200)),
                                SBI_REAL(4.0 * (k + (double)d) * eta), SBI_REAL(narrow ? 0x1p120 : 0x1p1000)};
        if ((status = sbi_fold_squares(ctx, &part, &norm, err)) || (status = sbi_gemm(ctx, &turned, c, &part, NULL, &result, err))) break;
        status = sbi_launch(ctx, SBI_TYPED(x->dtype, k_nearest), sbi_groups(rows, 64), args, err);
    }
done:
    sbi_release(&ctx->allocator, squares);
    sbi_array_free(points);
    sbi_array_free(norms);
    sbi_array_free(product);
    return status;
}

sb_status sbi_nearest(sb_context *ctx, const sb_array *x, const sb_array *c, sb_array *label, sb_array *distance, sb_error *err) {
    sb_status status = check_points(x, c, err);
    if (status) return status;
    if (c->shape[0] < 1 || c->shape[0] > INT32_MAX)
        return sbi_fail(err, SB_ERR_SHAPE, "c", "%lld points: expected 1 to 2^31 - 1", (long long)c->shape[0]);
    if ((status = sbi_check_dtype(label, "label", SB_I32, err)) || (status = sbi_check_ndim(label, "label", 1, err)) ||
        (status = sbi_check_length(label, "label", 0, x->shape[0], err)) ||
        (distance && ((status = sbi_check_dtype(distance, "distance", SB_F64, err)) ||
                      (status = sbi_check_like(distance, "distance", label, "label", err)))))
        return status;
    const sbi_op op = {.id = SBI_OP_NEAREST, .kernels = nearest_kernels, .in = {x, c}, .out = {label, distance},
                       .n = {x->shape[0], c->shape[0], x->shape[1]}};
    return sbi_run(ctx, &op, err);
}
