// SPDX-License-Identifier: Apache-2.0
// Ordinary least squares.
//
// Problem. Coefficients b and a constant c with the least sum_i w_i |y_i - b . x_i - c|^2; of several b the one with the least |b|. With
// positive under b >= 0.
//
// Method. Normal equations of the centred data in binary64, scaled to a unit diagonal, by Cholesky. Where a pivot shows that a
// feature is nearly a combination of others, the singular values of the centred data instead (linalg/lstsq.c): so that the
// answer is as good as an orthogonal method's. b >= 0: block principal pivoting.
//
// Order of arithmetic. least_squares.c with alpha 0 (G + 0 is G), and gram_solve.c; the rank is d where Cholesky was sure, else that of
// lstsq.c; with positive there is none. coef = RN(b); intercept = RN(RN64(mean_y - S(RN64(mean_x coef)))). predict: the product of T3 of X and
// coef, + intercept.
//
// Cost: a product n d^2 / 2 in binary64, d^3 / 6; in the other case 2 n d^2, most of it in products, and the memory of the centred rows.
//
// What can go wrong. Below the pivot's threshold nothing is lost: 2^-20 leaves the normal equations some 33 bits. Entries beyond
// 1e150 overflow the products: a named error. b >= 0 of dependent features is one of several minima.
#include "least_squares.h"

sb_status sbi_linear_regression_fit(sbi_call *call, sb_error *err) {
    const bool positive = sbi_model_flag(call->model, "positive");
    const double none = 0.0;
    sbi_centred c = {0};
    double *b = NULL;
    int64_t rank = 0;
    sb_status status = sbi_centred_start(call, sbi_model_flag(call->model, "fit_intercept"), &c, err);
    if (status == SB_OK && !(b = sbi_allocate(&call->ctx->allocator, c.d * c.t, sizeof *b, err))) status = SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_least_squares(&c, &none, false, positive, b, &rank, err);
    if (status == SB_OK) status = sbi_linear_fill(&c, b, err);
    if (status == SB_OK && !positive) status = sbi_model_fill_integers(call->ctx, call->model, "rank", &rank, err);
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
