// SPDX-License-Identifier: Apache-2.0
// The greatest singular values of a large matrix and their right vectors, from a random subspace.
//
// Method: N. Halko, P. G. Martinsson, J. A. Tropp, "Finding structure with randomness", SIAM Review 53, 2011, algorithms 4.4 and
// 5.1: the range of A (m by n) is found by power iterations on l = min(k + oversamples, m, n) random vectors; in it the problem
// is small. Few long vectors are made orthonormal by the Cholesky factor of their products (T. Fukaya and others, "CholeskyQR2", ScalA 2014).
// Order of arithmetic. G[n, l]: normals of the type of the data, draws 0, 1, ... of the stream (T11), row by row. Y = A G; then
// `iterations` times Y = A (A^T Y), with `normalize` each factor but the last normalized. Y is normalized twice; B = Y^T A; s and V^T are
// those of svd.c of B, of which the first k are kept. Products are those of T3 in the type of the data.
// Y normalized: P = Y^T Y (T3, binary64), s_j = RN64(sqrt(P_jj)), L L^T = P_ij / (s_i s_j) (cholesky.c); if every s_j > 0 and every
// RN64(l_jj l_jj) >= 2^-40: T_ij = RN64((L^-1)_ji / s_i), Y becomes the product of Y and RN(T). Else Y becomes the Q of its QR (qr.c).
// Cost: 2 + 2 iterations products m n l, and m l^2 or n l^2 for every normalization.
// What can go wrong: singular values that differ by little are not separated; a flat spectrum wants more iterations. Without
// normalization the small ones drown in the rounding of the great ones after a few iterations.
#include "linalg.h"

// P as a matrix with unit diagonal; scale[l]. False where a vector is zero.
static bool balance(int64_t l, double *p, double *scale) {
    for (int64_t j = 0; j < l; j++) {
        scale[j] = __builtin_sqrt(p[j * l + j]);
        if (!(scale[j] > 0.0)) return false;
    }
    for (int64_t i = 0; i < l; i++)
        for (int64_t j = 0; j < l; j++) p[i * l + j] = p[i * l + j] / (scale[i] * scale[j]);
    return true;
}

// y = y T; *sure is false, and y untouched, where the vectors depend too much on each other.
static sb_status by_cholesky(sb_context *ctx, sb_array *y, bool *sure, sb_error *err) {
    const int64_t l = y->shape[1], square[2] = {l, l};
    const sb_gemm_options turned = {.size = sizeof turned, .transpose_a = 1};
    const sb_solve_options down = {.size = sizeof down, .kind = SB_LOWER};
    sb_array *p = NULL, *t = NULL, *narrow = NULL, *product = NULL;
    double *host = sbi_allocate(&ctx->allocator, l * l + l, sizeof *host, err), *scale = host ? host + l * l : NULL;
    sb_error why = {0};
    sb_status status = host ? SB_OK : SB_ERR_MEMORY;
    *sure = false;
    if (status || (status = sbi_array_new(ctx, SB_F64, 2, square, &p, err)) || (status = sbi_array_new(ctx, SB_F64, 2, square, &t, err)) ||
        (status = sbi_array_new(ctx, y->dtype, 2, square, &narrow, err)) || (status = sbi_array_new(ctx, y->dtype, 2, y->shape, &product, err)) ||
        (status = sbi_gemm(ctx, &turned, y, y, NULL, p, err)) || (status = sbi_rows_read(ctx, (sbi_rows){p, 0, l}, host, err)) ||
        !balance(l, host, scale) || (status = sbi_rows_write(ctx, (sbi_rows){p, 0, l}, host, err)))
        goto done;
    status = sbi_cholesky(ctx, p, p, &why);
    if (status == SB_ERR_SINGULAR || status == SB_ERR_NONFINITE) { // QR looks closer
        status = SB_OK;
        goto done;
    }
    if (status && err) *err = why;
    if (status || (status = sbi_rows_read(ctx, (sbi_rows){p, 0, l}, host, err))) goto done;
    for (int64_t j = 0; j < l; j++)
        if (!(host[j * l + j] * host[j * l + j] >= 0x1p-40)) goto done;
    for (int64_t i = 0; i < l * l; i++) host[i] = i % (l + 1) ? 0.0 : 1.0;
    if ((status = sbi_rows_write(ctx, (sbi_rows){t, 0, l}, host, err)) || (status = sbi_solve(ctx, &down, p, t, t, err)) ||
        (status = sbi_rows_read(ctx, (sbi_rows){t, 0, l}, host, err)))
        goto done;
    for (int64_t i = 0; i < l; i++)
        for (int64_t j = 0; j <= i; j++) {
            const double below = host[i * l + j];
            host[i * l + j] = i == j ? below / scale[i] : 0.0;
            if (i != j) host[j * l + i] = below / scale[j];
        }
    if ((status = sbi_rows_write(ctx, (sbi_rows){narrow, 0, l}, host, err)) || (status = sbi_gemm(ctx, NULL, y, narrow, NULL, product, err)) ||
        (status = sbi_copy(ctx, product, y, err)))
        goto done;
    *sure = true;
done:
    sbi_array_free(p);
    sbi_array_free(t);
    sbi_array_free(narrow);
    sbi_array_free(product);
    sbi_release(&ctx->allocator, host);
    return status;
}

static sb_status normalized(sb_context *ctx, sb_array *y, sb_error *err) {
    const int64_t l = y->shape[1], square[2] = {l, l};
    sb_array *r = NULL, *q = NULL;
    bool sure = false;
    sb_status status = by_cholesky(ctx, y, &sure, err);
    if (status || sure) return status;
    status = sbi_array_new(ctx, y->dtype, 2, square, &r, err);
    if (status == SB_OK) status = sbi_array_new(ctx, y->dtype, 2, y->shape, &q, err);
    if (status == SB_OK) status = sbi_qr(ctx, y, q, r, err);
    if (status == SB_OK) status = sbi_copy(ctx, q, y, err);
    sbi_array_free(q);
    sbi_array_free(r);
    return status;
}

sb_status sbi_random_svd(sb_context *ctx, const sb_array *a, const sbi_random_svd_options *o, double *s, double *vt, sb_error *err) {
    const int64_t m = a->shape[0], n = a->shape[1], most = m < n ? m : n, l = o->oversamples < most - o->k ? o->k + o->oversamples : most;
    const sb_gemm_options turned = {.size = sizeof turned, .transpose_a = 1};
    const int64_t tall[2] = {m, l}, wide[2] = {n, l}, small[2] = {l, n};
    sb_array *y = NULL, *g = NULL, *b = NULL, *values = NULL, *vectors = NULL;
    sb_status status;
    if ((status = sbi_array_new(ctx, a->dtype, 2, tall, &y, err)) || (status = sbi_array_new(ctx, a->dtype, 2, wide, &g, err)) ||
        (status = sbi_array_new(ctx, a->dtype, 2, small, &b, err)) || (status = sbi_array_new(ctx, a->dtype, 1, &l, &values, err)) ||
        (status = sbi_array_new(ctx, a->dtype, 2, small, &vectors, err)) ||
        (status = sbi_random_normal(ctx, o->seed, o->stream, 0, g, err)) || (status = sbi_gemm(ctx, NULL, a, g, NULL, y, err)))
        goto done;
    for (int64_t i = 0; i < o->iterations; i++)
        if ((o->normalize && (status = normalized(ctx, y, err))) || (status = sbi_gemm(ctx, &turned, a, y, NULL, g, err)) ||
            (o->normalize && (status = normalized(ctx, g, err))) || (status = sbi_gemm(ctx, NULL, a, g, NULL, y, err)))
            goto done;
    if ((status = normalized(ctx, y, err)) || (status = normalized(ctx, y, err)) || (status = sbi_gemm(ctx, &turned, y, a, NULL, b, err)) ||
        (status = sbi_svd(ctx, b, NULL, values, vectors, err)))
        goto done;
    status = sbi_rows_read(ctx, (sbi_rows){vectors, 0, o->k}, vt, err);
    if (status == SB_OK) status = sbi_rows_read(ctx, (sbi_rows){values, 0, o->k}, s, err);
done:
    sbi_array_free(y);
    sbi_array_free(g);
    sbi_array_free(b);
    sbi_array_free(values);
    sbi_array_free(vectors);
    return status;
}
