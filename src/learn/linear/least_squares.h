// SPDX-License-Identifier: Apache-2.0
// What estimators of linear models share: centred rows, normal equations, and the way out where these are singular.
#ifndef SBI_LEAST_SQUARES_H
#define SBI_LEAST_SQUARES_H

#include "learn.h"

// a[n, d] and e[n, t], column-major, are overwritten; b[t, d]; rank: singular values above cut times the largest.
sb_status sbi_minimum_norm(sb_context *ctx, int64_t n, int64_t d, int64_t t, double *a, double *e, double cut, double *b, int64_t *rank,
                           sb_error *err);

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
sb_status sbi_normal_equations(const sbi_centred *c, sb_array *gram, sb_array *cross, sb_error *err);
// The centred rows on the host, column-major, each times the root of its weight: a[n, d], e[n, t].
sb_status sbi_centred_rows(const sbi_centred *c, double *a, double *e, sb_error *err);
// Fills coef and intercept of the model from b[t, d] (binary64).
sb_status sbi_linear_fill(const sbi_centred *c, const double *b, sb_error *err);
// RN(X coef^T + intercept), products of T3: the predict of linear models.
sb_status sbi_linear_predict(sbi_call *call, sb_error *err);
#endif
