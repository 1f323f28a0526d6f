// SPDX-License-Identifier: Apache-2.0
// What estimators of linear models share: centred rows, normal equations, coefficients and what they predict.
#ifndef SBI_LEAST_SQUARES_H
#define SBI_LEAST_SQUARES_H

#include "learn.h"

// Centred data, row by row: x[n, d] and y[n, t] less their means (0 without an intercept), which are kept.
typedef struct sbi_centred {
    const sbi_call *call;
    int64_t n, d, t;
    sb_array *y;                      // [n, t]
    sb_array *x_mean, *y_mean;        // float64; NULL: not centred
    double *x_means, *y_means;        // the same on the host, zeros if not centred
} sbi_centred;
sb_status sbi_centred_start(const sbi_call *call, bool centred, sbi_centred *out, sb_error *err); // freed also after a failure
void sbi_centred_free(sbi_centred *c);
// gram[d, d] = D^T W D, cross[d, t] = D^T W E of the centred rows D, E in binary64 (products of T3); float64 arrays. Of gram the lower
// triangle is used.
sb_status sbi_normal_equations(const sbi_centred *c, sb_array *gram, sb_array *cross, sb_error *err);
// The centred rows, each times the root of its weight: x[n, d], y[n, t], float64, the caller's to free (also after a failure).
sb_status sbi_centred_rows(const sbi_centred *c, sb_array **x, sb_array **y, sb_error *err);
// ---- gram_solve.c: systems of normal equations, numbers of the host
typedef struct sbi_gram {
    int64_t n, t;
    double *gram, *cross; // [n, n], the lower triangle is used; [n, t]
} sbi_gram;
// x[n, t] of (gram + alpha I) x = cross, columns first, first + 1, ...; *sure is false, and x untouched, where the square of a pivot of
// the matrix scaled to a unit diagonal is under `least`.
sb_status sbi_gram_solve(sb_context *ctx, sbi_gram g, double alpha, double least, int64_t first, int64_t count, double *x, bool *sure, sb_error *err);
// The same columns of x >= 0 with the least x^T (gram + alpha I) x / 2 - cross^T x.
sb_status sbi_gram_positive(sb_context *ctx, sbi_gram g, double alpha, int64_t first, int64_t count, double *x, sb_error *err);

// ---- least_squares.c
// The normal equations of c on the host; gram and cross are the caller's to release (also after a failure).
sb_status sbi_gram_equations(const sbi_centred *c, sbi_gram *g, sb_error *err);
// b[t, d] of least squares with the penalty alpha |b|^2, one alpha or (each) one a target; *rank as far as it was asked for.
sb_status sbi_least_squares(const sbi_centred *c, const double *alpha, bool each, bool positive, double *b, int64_t *rank, sb_error *err);

// What sbi_model_warn returned, with the error's words.
sb_status sbi_warned(sb_status status, sb_error *err);
// Fills coef and intercept of the model from b[t, d] (binary64).
sb_status sbi_linear_fill(const sbi_centred *c, const double *b, sb_error *err);
// to[n, t] (or [n], t = 1) = RN(X coef^T + intercept), t rows of coefficients.
sb_status sbi_linear_scores(sbi_call *call, int64_t t, const sb_array *to, sb_error *err);
// The same, products of T3: the predict of linear models.
sb_status sbi_linear_predict(sbi_call *call, sb_error *err);
#endif
