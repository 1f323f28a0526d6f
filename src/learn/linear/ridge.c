// SPDX-License-Identifier: Apache-2.0
// Ridge regression.
//
// Problem. Coefficients b and a constant c with the least sum_i w_i |y_i - b . x_i - c|^2 + alpha |b|^2, alpha of each target its own if an
// array is given; with positive under b >= 0. It has one solution where alpha > 0.
//
// Method. The normal equations of the centred data in binary64, G + alpha I, by Cholesky; with no more rows than features those of the rows
// (b = D^T v). Where alpha is too small for them singular values (linalg/lstsq.c). b >= 0: block principal pivoting.
//
// Order of arithmetic. least_squares.c and gram_solve.c. coef = RN(b); intercept = RN(RN64(mean_y - S(RN64(mean_x coef)))). predict: the
// product of T3 of X and coef, + intercept.
//
// Cost: a product n d^2 / 2 in binary64 (n^2 d with no more rows than features), and min(n, d)^3 / 6 for each alpha.
//
// What can go wrong. Entries beyond 1e150 overflow the products: a named error. The constant is free of the penalty, so adding to
// y adds to it alone.
#include "least_squares.h"

static sb_status alphas_of(const sbi_call *call, double **out, sb_error *err) {
    const sbi_value *value = sbi_model_value(call->model, "alpha");
    if (!value->array) {
        if (!(*out = sbi_allocate(&call->ctx->allocator, 1, sizeof **out, err))) return SB_ERR_MEMORY;
        **out = value->real;
        return SB_OK;
    }
    sb_status status = sbi_read_reals(call->ctx, value->array, out, err);
    for (int64_t i = 0; i < value->array->size && status == SB_OK; i++)
        if ((*out)[i] < 0.0) status = sbi_fail(err, SB_ERR_ARGUMENT, "alpha", "alpha[%lld] is negative", (long long)i);
    return status;
}

sb_status sbi_ridge_fit(sbi_call *call, sb_error *err) {
    const sb_model *model = call->model;
    sbi_centred c = {0};
    double *b = NULL, *alpha = NULL;
    int64_t rank = 0;
    sb_status status = alphas_of(call, &alpha, err);
    if (status == SB_OK) status = sbi_centred_start(call, sbi_model_flag(model, "fit_intercept"), &c, err);
    if (status == SB_OK && !(b = sbi_allocate(&call->ctx->allocator, c.d * c.t, sizeof *b, err))) status = SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_least_squares(&c, alpha, sbi_model_value(model, "alpha")->array != NULL, sbi_model_flag(model, "positive"), b, &rank, err);
    if (status == SB_OK) status = sbi_linear_fill(&c, b, err);
    sbi_centred_free(&c);
    sbi_release(&call->ctx->allocator, alpha);
    sbi_release(&call->ctx->allocator, b);
    return status;
}

sb_status sbi_ridge_predict(sbi_call *call, sb_error *err) { return sbi_linear_predict(call, err); }
sb_status sbi_ridge_score(sbi_call *call, sb_error *err) { return sbi_regressor_score(call, sbi_linear_predict, err); }

sb_status sbi_ridge_check(const sb_model *model, sb_error *err) {
    (void)model, (void)err; // any numbers of these shapes are coefficients
    return SB_OK;
}
