// SPDX-License-Identifier: Apache-2.0
// Cholesky: A = L L^T, A symmetric positive definite (its lower triangle is read), L lower with a positive diagonal.
//
// Method: right-looking by block columns of SBI_PANEL (G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 4.2.9).
// Order of arithmetic. For the block columns in order: the block column's rows from its diagonal down are widened. In
// binary64, for its columns j in order and rows i >= j: x = a_ij; for the columns k < j of the block, ascending,
// x = RN64(x - RN64(l_ik l_jk)); l_jj = RN64(sqrt(x)) for i = j, then l_ij = RN64(x / l_jj). The block column is rounded once to
// the type of the data. Then every later block column J loses, in rows from its diagonal block down, the product (T3) of these
// rounded rows with the rounded rows of J: a = RN(a + RN(-P)).
// Cost: n^3 / 6 multiplications, all but n^2 SBI_PANEL / 2 of them in products.
// What can go wrong: a pivot x that is not positive: A is not positive definite, or is so near to singular that rounding
// made it so (of a relative condition beyond 1/u); named by its row. (A NaN can only arise where entries overflow: it is no
// positive pivot either.)
#include "linalg.h"

#include "check.h"

#include <string.h>

enum { ROWS = 64 }; // of a strip below the diagonal block: a thread's portion

// The diagonal block, whose rows are `width` apart. Returns the first column without a positive pivot, or -1.
static int64_t factor_block(double *a, int64_t width) {
    for (int64_t j = 0; j < width; j++) {
        for (int64_t i = j; i < width; i++) {
            double x = a[i * width + j];
            for (int64_t k = 0; k < j; k++) x -= a[i * width + k] * a[j * width + k];
            if (i == j && !(x > 0.0)) return j;
            a[i * width + j] = i == j ? __builtin_sqrt(x) : x / a[j * width + j];
        }
        for (int64_t i = 0; i < j; i++) a[i * width + j] = 0.0;
    }
    return -1;
}

typedef struct below { // the rows below the diagonal block
    int64_t width, rows;
    double *a;
} below;

// l_i = L11^-1 a_i for rows i of a strip: substitution, with the rows as right sides.
static void factor_strip(void *argument, int64_t index) {
    const below *b = argument;
    const int64_t first = b->width + index * ROWS, left = b->rows - first, count = left < ROWS ? left : ROWS, width = b->width;
    double turned[SBI_PANEL * ROWS];
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < width; k++) turned[k * ROWS + i] = b->a[(first + i) * width + k];
    sbi_triangle_columns((sbi_triangle){0}, width, b->a, width, turned, ROWS, count);
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < width; k++) b->a[(first + i) * width + k] = turned[k * ROWS + i];
}

sb_status sbi_cholesky_panels(sbi_panels *p, sb_error *err) {
    sb_context *ctx = p->ctx;
    double *host = sbi_allocate(&ctx->allocator, p->rows * SBI_PANEL + 1, sizeof *host, err);
    sb_status status = host ? SB_OK : SB_ERR_MEMORY;
    for (int64_t k = 0; k < p->count && status == SB_OK; k++) {
        const int64_t width = sbi_panel_width(p, k), first = k * SBI_PANEL, rows = p->rows - first;
        status = sbi_rows_read(ctx, (sbi_rows){p->panel[k], first, rows}, host, err);
        if (status != SB_OK) break;
        const int64_t pivot = factor_block(host, width);
        if (pivot >= 0) {
            status = sbi_fail(err, SB_ERR_SINGULAR, "a", "a is not positive definite: the pivot of row %lld is not positive",
                              (long long)(first + pivot));
            break;
        }
        below b = {width, rows, host};
        sbi_pool_run(ctx->pool, sbi_groups(rows - width, ROWS), factor_strip, &b);
        status = sbi_rows_write(ctx, (sbi_rows){p->panel[k], first, rows}, host, err);
        for (int64_t j = k + 1; j < p->count && status == SB_OK; j++) {
            const int64_t at = j * SBI_PANEL, count = p->rows - at;
            status = sbi_rows_subtract(ctx, (sbi_rows){p->panel[k], at, count}, 0, (sbi_rows){p->panel[k], at, sbi_panel_width(p, j)},
                                       1, (sbi_rows){p->panel[j], at, count}, err);
        }
    }
    sbi_release(&ctx->allocator, host);
    return status;
}

sb_status sbi_cholesky(sb_context *ctx, const sb_array *a, sb_array *l, sb_error *err) {
    sbi_panels p = {0};
    sb_status status = sbi_check_square(a, "a", err);
    if (status == SB_OK) status = sbi_check_dtype(l, "l", a->dtype, err);
    if (status == SB_OK) status = sbi_check_like(l, "l", a, "a", err);
    if (status != SB_OK) return status;
    status = sbi_panels_new(ctx, a->dtype, a->shape[0], a->shape[0], &p, err);
    if (status == SB_OK) status = sbi_panels_load(&p, SBI_READ_LOWER, a, "a", err);
    if (status == SB_OK) status = sbi_cholesky_panels(&p, err);
    if (status == SB_OK) status = sbi_panels_store(&p, l, err);
    sbi_panels_free(&p);
    return status;
}
