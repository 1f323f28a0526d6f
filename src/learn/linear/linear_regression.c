// SPDX-License-Identifier: Apache-2.0
// Ordinary least squares.
//
// Problem. Coefficients b and a constant c with the least sum_i w_i |y_i - b . x_i - c|^2; of several b the one with the least |b|.
//
// Method. Normal equations of the centred data in binary64, scaled to a unit diagonal, by Cholesky. Where a pivot shows that a
// feature is nearly a combination of others, the singular values of the centred data instead (linalg/lstsq.c): so that the
// answer is as good as an orthogonal method's.
//
// Order of arithmetic. G = D^T W D, R = D^T W E as in centred_rows.c; s_j = RN64(sqrt(G_jj)); A_ij = RN64(G_ij / RN64(s_i s_j)) for
// i >= j; A = L L^T (cholesky.c, binary64). If every s_j > 0 and every RN64(l_jj l_jj) >= 2^-20: L u = RN64(R_j / s_j), L^T v = u
// (triangular systems of linalg), b_j = RN64(v_j / s_j), rank d. Else lstsq.c of the centred rows, each times RN64(sqrt(w)), with
// rcond = max(n, d) 2^-52, of float32 data max(n, d) 2^-23. coef = RN(b); intercept = RN(RN64(mean_y - S(RN64(mean_x coef)))).
// predict: the product of T3 of X and coef, + intercept.
//
// Cost: a product n d^2 / 2 in binary64, d^3 / 6; in the other case 2 n d^2, most of it in products, and the memory of the centred rows.
//
// What can go wrong. Below the pivot's threshold nothing is lost: 2^-20 leaves the normal equations some 33 bits. Entries beyond
// 1e150 overflow the products: a named error.
#include "least_squares.h"
#include "linalg.h"

#include <string.h>

sb_status sbi_linear_regression_check(const sb_model *model, sb_error *err);
sb_status sbi_linear_regression_fit(sbi_call *call, sb_error *err);
sb_status sbi_linear_regression_predict(sbi_call *call, sb_error *err);
sb_status sbi_linear_regression_score(sbi_call *call, sb_error *err);

// b[t, d] by Cholesky; *sure is false, and b untouched, where its pivots do not tell.
static sb_status by_normal_equations(const sbi_centred *c, double *b, bool *sure, sb_error *err) {
    sb_context *ctx = c->call->ctx;
    const int64_t d = c->d, t = c->t, square[2] = {d, d}, right[2] = {d, t};
    const sb_solve_options down = {.size = sizeof down, .kind = SB_LOWER}, up = {.size = sizeof up, .kind = SB_LOWER, .transpose = 1};
    sb_array *gram = NULL, *cross = NULL;
    double *g = NULL, *r = NULL, *s = NULL;
    sb_status status;
    *sure = false;
    if ((status = sbi_array_new(ctx, SB_F64, 2, square, &gram, err)) || (status = sbi_array_new(ctx, SB_F64, 2, right, &cross, err)) ||
        (status = sbi_normal_equations(c, gram, cross, err)) || (status = sbi_read_reals(ctx, gram, &g, err)) ||
        (status = sbi_read_reals(ctx, cross, &r, err)))
        goto done;
    if (!(s = sbi_allocate(&ctx->allocator, d, sizeof *s, err))) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    for (int64_t j = 0; j < d; j++) {
        s[j] = __builtin_sqrt(g[j * d + j]);
        if (!(s[j] > 0.0)) goto done;
    }
    for (int64_t i = 0; i < d; i++) {
        for (int64_t j = 0; j < d; j++) g[i * d + j] = j <= i ? g[i * d + j] / (s[i] * s[j]) : 0.0;
        for (int64_t j = 0; j < t; j++) r[i * t + j] = r[i * t + j] / s[i];
    }
    if ((status = sbi_array_write(gram, g, (size_t)(d * d) * sizeof *g, err)) ||
        (status = sbi_array_write(cross, r, (size_t)(d * t) * sizeof *r, err)))
        goto done;
    sb_error why = {0};
    status = sbi_cholesky(ctx, gram, gram, &why);
    if (status == SB_ERR_SINGULAR || status == SB_ERR_NONFINITE) { // singular values look closer
        status = SB_OK;
        goto done;
    }
    if (status && err) *err = why;
    sbi_release(&ctx->allocator, g);
    g = NULL;
    if (status || (status = sbi_read_reals(ctx, gram, &g, err))) goto done;
    for (int64_t j = 0; j < d; j++)
        if (!(g[j * d + j] * g[j * d + j] >= 0x1p-20)) goto done;
    sbi_release(&ctx->allocator, r);
    r = NULL;
    if ((status = sbi_solve(ctx, &down, gram, cross, cross, err)) || (status = sbi_solve(ctx, &up, gram, cross, cross, err)) ||
        (status = sbi_read_reals(ctx, cross, &r, err)))
        goto done;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < t; j++) b[j * d + i] = r[i * t + j] / s[i];
    *sure = true;
done:
    sbi_array_free(gram);
    sbi_array_free(cross);
    sbi_release(&ctx->allocator, g);
    sbi_release(&ctx->allocator, r);
    sbi_release(&ctx->allocator, s);
    return status;
}

// b[t, d] and the rank by singular values of the centred rows.
static sb_status by_singular_values(const sbi_centred *c, double *b, int64_t *rank, sb_error *err) {
    sb_context *ctx = c->call->ctx;
    const int64_t most = c->n > c->d ? c->n : c->d, shape[2] = {c->d, c->t};
    const double cut = (double)most * (c->call->x->dtype == SB_F32 ? 0x1p-23 : 0x1p-52);
    sb_array *x = NULL, *y = NULL, *solution = NULL;
    double *values = NULL;
    sb_status status = sbi_centred_rows(c, &x, &y, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, shape, &solution, err);
    if (status == SB_OK) status = sbi_lstsq(ctx, x, y, cut < 0.5 ? cut : 0.5, solution, NULL, rank, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, solution, &values, err);
    for (int64_t i = 0; i < c->d && status == SB_OK; i++)
        for (int64_t j = 0; j < c->t; j++) b[j * c->d + i] = values[i * c->t + j];
    sbi_array_free(x);
    sbi_array_free(y);
    sbi_array_free(solution);
    sbi_release(&ctx->allocator, values);
    return status;
}

sb_status sbi_linear_regression_fit(sbi_call *call, sb_error *err) {
    sbi_centred c = {0};
    double *b = NULL;
    int64_t rank = call->d;
    bool sure = false;
    sb_status status;
    if (sbi_model_flag(call->model, "positive"))
        return sbi_fail(err, SB_ERR_UNSUPPORTED, "positive", "positive=true is not there yet");
    if ((status = sbi_centred_start(call, sbi_model_flag(call->model, "fit_intercept"), &c, err))) goto done;
    if (!(b = sbi_allocate(&call->ctx->allocator, c.d * c.t, sizeof *b, err))) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    if ((call->n > call->d && (status = by_normal_equations(&c, b, &sure, err))) ||
        (!sure && (status = by_singular_values(&c, b, &rank, err))))
        goto done;
    for (int64_t i = 0; i < c.d * c.t; i++) {
        if (b[i] - b[i] == 0.0) continue;
        status = sbi_fail(err, SB_ERR_NONFINITE, "x", "the sums of squares of x or y leave binary64: scale the data");
        goto done;
    }
    status = sbi_linear_fill(&c, b, err);
    if (status == SB_OK) status = sbi_model_fill_integers(call->ctx, call->model, "rank", &rank, err);
done:
    sbi_centred_free(&c);
    sbi_release(&call->ctx->allocator, b);
    return status;
}

sb_status sbi_linear_regression_predict(sbi_call *call, sb_error *err) { return sbi_linear_predict(call, err); }
sb_status sbi_linear_regression_score(sbi_call *call, sb_error *err) { return sbi_regressor_score(call, sbi_linear_predict, err); }

sb_status sbi_linear_regression_check(const sb_model *model, sb_error *err) {
    (void)model, (void)err; // any numbers of these shapes are coefficients
    return SB_OK;
}
