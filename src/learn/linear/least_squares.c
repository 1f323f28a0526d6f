// SPDX-License-Identifier: Apache-2.0
// The least sum_i w_i |y_i - b . x_i - c|^2 + alpha |b|^2, of several b the one with the least |b|: what LinearRegression (alpha 0) and
// Ridge solve.
//
// Order of arithmetic. More rows than features: G = D^T W D, R = D^T W E as in centred_rows.c, and b as in gram_solve.c. Else, where alpha > 0:
// D and E times RN64(sqrt(w)), K = D D^T, v of (K + alpha I) v = E as in gram_solve.c, b = D^T v, products of T3 in binary64. Where a pivot
// there, RN64(l_jj l_jj), is less than 2^-20 (with alpha > 0, which bounds what a rounding does to the minimum: 2^-32), or the
// sums leave binary64, and where alpha is 0 and there are no more rows than features: lstsq.c of the rows D, E times RN64(sqrt(w)),
// which alpha > 0 lengthens by RN64(sqrt(alpha)) I below, or on the right where there are no more rows than features, and E by 0 below. Its
// rcond is max(n, d) 2^-52, of float32 data max(n, d) 2^-23.
// positive: G, R, and b as in gram_solve.c.
#include "least_squares.h"
#include "linalg.h"

#include <string.h>

// [x, y] with root on the diagonal of a square below x, or on its right (side).
static sb_status extend(sb_context *ctx, sb_array **x, sb_array **y, double root, bool side, sb_error *err) {
    const int64_t n = (*x)->shape[0], d = (*x)->shape[1], t = (*y)->shape[1], more = side ? n : d;
    const int64_t rows = side ? n : n + d, columns = side ? d + n : d, shape[2] = {rows, columns}, right[2] = {rows, t};
    double *a = sbi_allocate(&ctx->allocator, rows * columns, sizeof *a, err), *b = a ? sbi_allocate(&ctx->allocator, rows * t, sizeof *b, err) : NULL;
    double *from = NULL;
    sb_status status = b ? sbi_read_reals(ctx, *x, &from, err) : SB_ERR_MEMORY;
    for (int64_t i = 0; i < n && status == SB_OK; i++) memcpy(a + i * columns, from + i * d, (size_t)d * sizeof *a);
    for (int64_t i = 0; i < more && status == SB_OK; i++) a[side ? i * columns + d + i : (n + i) * columns + i] = root;
    if (status == SB_OK) status = sbi_array_read(*y, b, (size_t)(n * t) * sizeof *b, err);
    sbi_array_free(*x);
    sbi_array_free(*y);
    *x = *y = NULL;
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, shape, x, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, right, y, err);
    if (status == SB_OK) status = sbi_array_write(*x, a, (size_t)(rows * columns) * sizeof *a, err);
    if (status == SB_OK) status = sbi_array_write(*y, b, (size_t)(rows * t) * sizeof *b, err);
    sbi_release(&ctx->allocator, a);
    sbi_release(&ctx->allocator, b);
    sbi_release(&ctx->allocator, from);
    return status;
}

// b of the targets first, ... by singular values.
static sb_status by_singular_values(const sbi_centred *c, double alpha, int64_t first, int64_t count, double *b, int64_t *rank, sb_error *err) {
    sb_context *ctx = c->call->ctx;
    const int64_t most = c->n > c->d ? c->n : c->d;
    const double cut = (double)most * (c->call->x->dtype == SB_F32 ? 0x1p-23 : 0x1p-52);
    sb_array *x = NULL, *y = NULL, *solution = NULL;
    double *values = NULL;
    sb_status status = sbi_centred_rows(c, &x, &y, err);
    if (status == SB_OK && alpha > 0.0) status = extend(ctx, &x, &y, __builtin_sqrt(alpha), c->n <= c->d, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, (int64_t[]){x->shape[1], c->t}, &solution, err);
    if (status == SB_OK) status = sbi_lstsq(ctx, x, y, cut < 0.5 ? cut : 0.5, solution, NULL, rank, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, solution, &values, err);
    for (int64_t i = 0; i < c->d && status == SB_OK; i++)
        for (int64_t j = first; j < first + count; j++) b[j * c->d + i] = values[i * c->t + j];
    sbi_array_free(x);
    sbi_array_free(y);
    sbi_array_free(solution);
    sbi_release(&ctx->allocator, values);
    return status;
}

sb_status sbi_gram_equations(const sbi_centred *c, sbi_gram *g, sb_error *err) {
    sb_context *ctx = c->call->ctx;
    *g = (sbi_gram){.n = c->d, .t = c->t};
    sb_array *gram = NULL, *cross = NULL;
    sb_status status = sbi_array_new(ctx, SB_F64, 2, (int64_t[]){c->d, c->d}, &gram, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, (int64_t[]){c->d, c->t}, &cross, err);
    if (status == SB_OK) status = sbi_normal_equations(c, gram, cross, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, gram, &g->gram, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, cross, &g->cross, err);
    sbi_array_free(gram);
    sbi_array_free(cross);
    return status;
}

// The equations of the rows: x x^T, y; x[n, d] stays.
static sb_status row_equations(const sbi_centred *c, sbi_gram *g, sb_array **x, sb_error *err) {
    sb_context *ctx = c->call->ctx;
    const sb_gemm_options turned = {.size = sizeof turned, .transpose_b = 1};
    *g = (sbi_gram){.n = c->n, .t = c->t};
    sb_array *gram = NULL, *cross = NULL;
    sb_status status = sbi_array_new(ctx, SB_F64, 2, (int64_t[]){c->n, c->n}, &gram, err);
    if (status == SB_OK) status = sbi_centred_rows(c, x, &cross, err);
    if (status == SB_OK) status = sbi_gemm(ctx, &turned, *x, *x, NULL, gram, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, gram, &g->gram, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, cross, &g->cross, err);
    sbi_array_free(gram);
    sbi_array_free(cross);
    return status;
}

// b[t, d] of the solutions v[n, t] for rows: x^T v.
static sb_status from_rows(const sbi_centred *c, const sb_array *x, const double *v, int64_t first, int64_t count, double *b, sb_error *err) {
    sb_context *ctx = c->call->ctx;
    const sb_gemm_options turned = {.size = sizeof turned, .transpose_a = 1};
    sb_array *side = NULL, *solution = NULL;
    double *values = NULL;
    sb_status status = sbi_array_new(ctx, SB_F64, 2, (int64_t[]){c->n, c->t}, &side, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, (int64_t[]){c->t, c->d}, &solution, err);
    if (status == SB_OK) status = sbi_array_write(side, v, (size_t)(c->n * c->t) * sizeof *v, err);
    if (status == SB_OK) status = sbi_gemm(ctx, &turned, side, x, NULL, solution, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, solution, &values, err);
    if (status == SB_OK) memcpy(b + first * c->d, values + first * c->d, (size_t)(count * c->d) * sizeof *b);
    sbi_array_free(side);
    sbi_array_free(solution);
    sbi_release(&ctx->allocator, values);
    return status;
}

sb_status sbi_least_squares(const sbi_centred *c, const double *alpha, bool each, bool positive, double *b, int64_t *rank, sb_error *err) {
    sb_context *ctx = c->call->ctx;
    const int64_t groups = each ? c->t : 1, count = each ? 1 : c->t;
    const bool rows = c->n <= c->d && !positive, direct = rows && !each && !(*alpha > 0.0);
    sbi_gram g = {0};
    sb_array *x = NULL;
    double *v = NULL;
    sb_status status = SB_OK;
    *rank = c->d;
    if (!direct && (status = rows ? row_equations(c, &g, &x, err) : sbi_gram_equations(c, &g, err))) goto done;
    if (!direct && !(v = sbi_allocate(&ctx->allocator, g.n * c->t, sizeof *v, err))) status = SB_ERR_MEMORY;
    for (int64_t i = 0; i < groups && status == SB_OK; i++) {
        bool sure = positive;
        if (positive)
            status = sbi_gram_positive(ctx, g, alpha[i], i, count, v, err);
        else if (!direct)
            status = sbi_gram_solve(ctx, g, alpha[i], alpha[i] > 0.0 ? 0x1p-32 : 0x1p-20, i, count, v, &sure, err);
        if (status != SB_OK) break;
        if (!sure)
            status = by_singular_values(c, alpha[i], i, count, b, rank, err);
        else if (rows)
            status = from_rows(c, x, v, i, count, b, err);
        else
            for (int64_t j = i; j < i + count; j++)
                for (int64_t k = 0; k < c->d; k++) b[j * c->d + k] = v[k * c->t + j];
    }
    for (int64_t i = 0; i < c->d * c->t && status == SB_OK; i++)
        if (b[i] - b[i] != 0.0) status = sbi_fail(err, SB_ERR_NONFINITE, "x", "the sums of squares of x or y leave binary64: scale the data");
done:
    sbi_array_free(x);
    sbi_release(&ctx->allocator, v);
    sbi_release(&ctx->allocator, g.gram);
    sbi_release(&ctx->allocator, g.cross);
    return status;
}
