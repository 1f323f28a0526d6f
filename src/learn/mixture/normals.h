// SPDX-License-Identifier: Apache-2.0
// Weighted normal distributions: their densities at rows, and what rows of some weight make of them. Order of arithmetic: see
// gaussian_mixture.c.
#ifndef SBI_NORMALS_H
#define SBI_NORMALS_H

#include "learn.h"

typedef enum sbi_covariance { SBI_FULL, SBI_TIED, SBI_DIAG, SBI_SPHERICAL } sbi_covariance;
typedef struct sbi_normals { // numbers of the host; `each` numbers a covariance, `size` in all
    sb_context *ctx;
    sbi_covariance kind;
    int64_t k, d, each, size;
    double *weights, *means, *covariances, *roots; // [k], [k d], [size]; roots: upper triangles U with U U^T the precision
} sbi_normals;
// Zeros; the kind and k are the model's. Freed also after a failure.
sb_status sbi_normals_new(sb_context *ctx, const sb_model *model, int64_t d, sbi_normals *out, sb_error *err);
// The arrays weights, means and precisions_cholesky of a fitted model.
sb_status sbi_normals_of(sb_context *ctx, const sb_model *model, sbi_normals *out, sb_error *err);
void sbi_normals_free(sbi_normals *g);
// The roots from the covariances, or from precisions[size]. What is not positive definite: SB_ERR_ARGUMENT.
sb_status sbi_normals_roots(sbi_normals *g, const double *precisions, sb_error *err);
// precisions[size] = U U^T.
sb_status sbi_normals_precisions(const sbi_normals *g, double *precisions, sb_error *err);

// Log-densities of rows, a block at a time.
typedef struct sbi_densities {
    const sbi_normals *g;
    int64_t together;                            // rows of a block, at most
    sb_array *shift, *roots, *bias, *points, *constant, *origin; // what the distributions are
    sb_array *centred, *turned, *log, *share, *most, *sum; // room: log[together, k] and so on
} sbi_densities;
sb_status sbi_densities_open(const sbi_normals *g, int64_t n, sbi_densities *out, sb_error *err);
void sbi_densities_close(sbi_densities *p);
// Of `count` rows: log[count, k] = ln(weight density); share[count, k], the shares of the distributions in each row, and likelihood[count]
// of the host, the logarithm of the sum (both may be NULL); views into p's room.
sb_status sbi_densities_run(sbi_densities *p, const sb_array *rows, sb_array *log, sb_array *share, double *likelihood, sb_error *err);

// Weights, means and covariances from shares[k, n], which is overwritten. centre[d]: means of x; gram[d, d] of the rows about it where the covariance is tied,
// else NULL; least: what is added to the variances.
sb_status sbi_normals_estimate(sbi_normals *g, const sbi_call *call, const sb_array *centre, const double *gram, sb_array *shares, double least, sb_error *err);
#endif
