// SPDX-License-Identifier: Apache-2.0
// What estimators of subspaces share: moments, scatter matrices, rows projected a block at a time.
#ifndef SBI_PROJECTION_H
#define SBI_PROJECTION_H

#include "learn.h"

// means[d] and squares[d], S((x - mean)^2) (T2), in binary64, of the host. squares NULL: the means alone, the same and sooner.
sb_status sbi_column_moments(sb_context *ctx, const sb_array *x, double *means, double *squares, sb_error *err);
// gram[d, d], float64, = sum of (x - mean)(x - mean)^T over the rows of x; mean float64 [d].
// Order: D = RN64(x - mean); blocks of 4,096 rows, each the product D^T D of T3, added in their order.
sb_status sbi_centred_gram(const sbi_call *call, const sb_array *mean, sb_array *gram, sb_error *err);
// out[n, k] = RN((D V^T) / scale), of x's type: D = RN(x - mean), a product of T3, then a division. V: components[k, d], mean[d] of
// any real type, mean may be NULL; scale[k] of x's type, or NULL.
sb_status sbi_project(const sbi_call *call, const sb_array *mean, const sb_array *components, const sb_array *scale, sb_array *out, sb_error *err);
// Rows of vt[k, d], rounded to dtype: the entry of largest magnitude, the first on a tie, is positive.
void sbi_fix_row_signs(sb_dtype dtype, int64_t k, int64_t d, double *vt);
// The most likely rank of a spectrum[d], descending, of n rows (minka.c).
sb_status sbi_minka_rank(sb_context *ctx, int64_t n, int64_t d, const double *spectrum, int64_t *rank, sb_error *err);
#endif
