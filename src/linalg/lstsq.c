// SPDX-License-Identifier: Apache-2.0
// Least squares: the x of least length among those that make |A x - b| least, A m by n of any rank.
//
// Method: singular values (svd.c): A = U diag(s) V^T, x = V diag(1 / s) U^T b over the s_i > rcond s_0: the rank.
// Order of arithmetic. m >= n: c = Q^T b, the blocks of reflectors applied to b in the type of the data, its first n rows
// widened; y = U^T c, x = V (y_i / s_i), products of T3 in binary64, y_i = +0 from the rank on; rounded once. m < n (the factors are
// those of A^T = Q U diag(s) V^T): y = V^T b, z = U (y_i / s_i), rounded to the type of the data, x = Q [z; 0] by the blocks.
// rcond of 0: the unit 2^-23 or 2^-52 of the data's type times max(m, n), as numpy has it.
// What can go wrong: a rank that rcond decides otherwise than its user would.
#include "linalg.h"

#include "check.h"

#include <string.h>

// Rows of x[n, r] (as doubles, in place): x = right^T (diag(1 / s) (left x)) over the rank.
static sb_status through(const sbi_tall *t, double *left, double *right, int64_t rank, int64_t columns, double *x, sb_error *err) {
    sb_context *ctx = t->ctx;
    const int64_t n = t->n;
    const sb_gemm_options turned = {.size = sizeof turned, .transpose_a = 1};
    sb_array *factor = NULL, *one = NULL, *two = NULL;
    const int64_t shape[] = {n, columns};
    sb_status status = sbi_array_new(ctx, SB_F64, 2, (int64_t[]){n, n}, &factor, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, shape, &one, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, shape, &two, err);
    if (status == SB_OK) status = sbi_rows_write(ctx, (sbi_rows){factor, 0, n}, left, err);
    if (status == SB_OK) status = sbi_rows_write(ctx, (sbi_rows){one, 0, n}, x, err);
    if (status == SB_OK) status = sbi_gemm(ctx, NULL, factor, one, NULL, two, err);
    if (status == SB_OK) status = sbi_rows_read(ctx, (sbi_rows){two, 0, n}, x, err);
    for (int64_t i = 0; i < n && status == SB_OK; i++)
        for (int64_t j = 0; j < columns; j++) x[i * columns + j] = i < rank ? x[i * columns + j] / t->s[i] : 0.0;
    if (status == SB_OK) status = sbi_rows_write(ctx, (sbi_rows){one, 0, n}, x, err);
    if (status == SB_OK) status = sbi_rows_write(ctx, (sbi_rows){factor, 0, n}, right, err);
    if (status == SB_OK) status = sbi_gemm(ctx, &turned, factor, one, NULL, two, err);
    if (status == SB_OK) status = sbi_rows_read(ctx, (sbi_rows){two, 0, n}, x, err);
    sbi_array_free(two);
    sbi_array_free(one);
    sbi_array_free(factor);
    return status;
}

static sb_status solve(const sbi_tall *t, int64_t rank, const sb_array *b, sb_array *x, sb_error *err) {
    sb_context *ctx = t->ctx;
    const int64_t columns = b->ndim == 1 ? 1 : b->shape[1];
    sb_array *work = NULL; // of the long side, [m, columns]
    double *rows = sbi_allocate(&ctx->allocator, t->m * columns, sizeof *rows, err);
    sb_status status = rows ? sbi_array_new(ctx, b->dtype, 2, (int64_t[]){t->m, columns}, &work, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_rows_read(ctx, (sbi_rows){(sb_array *)b, 0, b->shape[0]}, rows, err); // (only read)
    if (status == SB_OK && !t->turned) {
        status = sbi_rows_write(ctx, (sbi_rows){work, 0, t->m}, rows, err);
        if (status == SB_OK) status = sbi_qr_apply(&t->qr, 1, work, err);
        if (status == SB_OK) status = sbi_rows_read(ctx, (sbi_rows){work, 0, t->n}, rows, err);
    }
    if (status == SB_OK) status = through(t, t->turned ? t->vt : t->ut, t->turned ? t->ut : t->vt, rank, columns, rows, err);
    if (status == SB_OK && t->turned) {
        status = sbi_rows_write(ctx, (sbi_rows){work, 0, t->n}, rows, err);
        if (status == SB_OK) status = sbi_qr_apply(&t->qr, 0, work, err);
        if (status == SB_OK) status = sbi_rows_read(ctx, (sbi_rows){work, 0, t->m}, rows, err);
    }
    if (status == SB_OK) status = sbi_rows_write(ctx, (sbi_rows){x, 0, x->shape[0]}, rows, err);
    sbi_array_free(work);
    sbi_release(&ctx->allocator, rows);
    return status;
}

sb_status sbi_lstsq(sb_context *ctx, const sb_array *a, const sb_array *b, double rcond, sb_array *x, sb_array *s, int64_t *rank,
                    sb_error *err) {
    sb_status status = sbi_check_real(a, "a", err);
    if (status == SB_OK) status = sbi_check_ndim(a, "a", 2, err);
    if (status == SB_OK) status = sbi_check_dtype(b, "b", a->dtype, err);
    if (status == SB_OK && b->ndim != 1) status = sbi_check_ndim(b, "b", 2, err);
    if (status == SB_OK) status = sbi_check_length(b, "b", 0, a->shape[0], err);
    if (status != SB_OK) return status;
    const int64_t m = a->shape[0], n = a->shape[1], k = m < n ? m : n, longer = m < n ? n : m;
    status = b->ndim == 1 ? sbi_check_vector(x, "x", a->dtype, n, err) : sbi_check_matrix(x, "x", a->dtype, n, b->shape[1], err);
    if (status == SB_OK && s) status = sbi_check_vector(s, "s", a->dtype, k, err);
    if (status == SB_OK && !(rcond >= 0.0 && rcond < 1.0))
        status = sbi_fail(err, SB_ERR_ARGUMENT, "rcond", "rcond must be in [0, 1)");
    if (status == SB_OK) status = sbi_check_finite(ctx, b, "b", err);
    if (status != SB_OK) return status;
    const double limit = rcond > 0.0 ? rcond : (a->dtype == SB_F32 ? 0x1p-23 : 0x1p-52) * (double)longer;
    sbi_tall t = {0};
    int64_t found = 0;
    if (k > 0) status = sbi_tall_open(ctx, a, &t, err);
    while (status == SB_OK && found < k && t.s[found] > limit * t.s[0]) found++;
    if (status == SB_OK && x->size) {
        if (k > 0) {
            status = solve(&t, found, b, x, err);
        } else { // no equations: zeros
            double zero = 0.0;
            sb_array *flat = NULL;
            status = sbi_array_reshape(x, 1, &x->size, &flat, err);
            for (int64_t i = 0; i < x->size && status == SB_OK; i++) status = sbi_rows_write(ctx, (sbi_rows){flat, i, 1}, &zero, err);
            sbi_array_free(flat);
        }
    }
    if (status == SB_OK && s && k > 0) status = sbi_rows_write(ctx, (sbi_rows){s, 0, k}, t.s, err);
    if (status == SB_OK && rank) *rank = found;
    sbi_tall_close(&t);
    return status;
}
