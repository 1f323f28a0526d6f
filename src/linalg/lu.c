// SPDX-License-Identifier: Apache-2.0
// LU: P A = L U, A n by n, L unit lower triangular, U upper, P the rows of A in another order.
//
// Method: right-looking by block columns of SBI_PANEL with partial pivoting (G. H. Golub, C. F. Van Loan, Matrix Computations, 4th
// ed., 3.4.5).
// Order of arithmetic. For the block columns in order, rows from the diagonal on, widened; in binary64, for its columns j: the
// pivot is the entry of largest magnitude in rows j and on, the first on a tie; its row changes places with row j, in all block
// columns; where it is not zero, for i > j: l_ij = RN64(a_ij / a_jj), and for the later columns k of the block a_ik = RN64(a_ik - RN64(l_ij a_jk)).
// The block column is rounded once. In every later block column J the rows of the diagonal block are solved by substitution
// with the unit triangle (triangle.c), and the rows below lose the product (T3) of L's rounded rows with them.
// Cost: n^3 / 3 multiplications, all but n^2 SBI_PANEL of them in products.
// What can go wrong: a pivot of 0 is kept (the matrix is singular; sb_solve says so). Growth of the entries beyond 2^(n-1) cannot be.
#include "linalg.h"

#include "check.h"

#include <string.h>

// Swaps are noted in order[rows] (positions); the panel's own rows move here.
static void factor_panel(int64_t rows, int64_t width, double *a, int64_t *order) {
    for (int64_t i = 0; i < rows; i++) order[i] = i;
    for (int64_t j = 0; j < width && j < rows; j++) {
        int64_t pivot = j;
        double most = -1.0;
        for (int64_t i = j; i < rows; i++) {
            const double size = a[i * width + j] < 0.0 ? -a[i * width + j] : a[i * width + j];
            if (size > most) most = size, pivot = i;
        }
        for (int64_t k = 0; k < width && pivot != j; k++) {
            const double held = a[j * width + k];
            a[j * width + k] = a[pivot * width + k];
            a[pivot * width + k] = held;
        }
        const int64_t held = order[j];
        order[j] = order[pivot];
        order[pivot] = held;
        const double top = a[j * width + j];
        for (int64_t i = j + 1; i < rows && top != 0.0; i++) {
            const double l = a[i * width + j] /= top;
            for (int64_t k = j + 1; k < width; k++) a[i * width + k] -= l * a[j * width + k];
        }
    }
}

// The rows that moved, in the other block columns: gathered from where they were, put where they go.
static sb_status move_rows(sbi_lu_factors *lu, int64_t k, int64_t first, const int64_t *order, sb_error *err) {
    sb_context *ctx = lu->a.ctx;
    const int64_t rows = lu->a.rows - first;
    int64_t moved = 0, from[2 * SBI_PANEL], to[2 * SBI_PANEL];
    for (int64_t i = 0; i < rows; i++)
        if (order[i] != i) {
            from[moved] = first + order[i];
            to[moved++] = first + i;
        }
    if (moved == 0) return SB_OK;
    sb_array *where[2] = {NULL, NULL};
    sb_status status = SB_OK;
    for (int i = 0; i < 2 && status == SB_OK; i++) {
        status = sbi_scratch(ctx, SB_I64, moved, &where[i], err);
        if (status == SB_OK) status = sbi_array_write(where[i], i ? to : from, (size_t)moved * sizeof *to, err);
    }
    for (int64_t j = 0; j < lu->a.count && status == SB_OK; j++) {
        sb_array *held = NULL;
        if (j == k) continue;
        status = sbi_array_new(ctx, lu->a.dtype, 2, (int64_t[]){moved, sbi_panel_width(&lu->a, j)}, &held, err);
        if (status == SB_OK) status = sbi_gather(ctx, lu->a.panel[j], where[0], held, err);
        if (status == SB_OK) status = sbi_scatter(ctx, where[1], held, lu->a.panel[j], err);
        sbi_array_free(held);
    }
    sbi_array_free(where[0]);
    sbi_array_free(where[1]);
    return status;
}

// Block column j after block column k, whose diagonal block is l.
static sb_status update(sbi_lu_factors *lu, int64_t k, int64_t j, const double *l, double *block, sb_error *err) {
    sbi_panels *a = &lu->a;
    const int64_t first = k * SBI_PANEL, width = sbi_panel_width(a, k), last = first + width, columns = sbi_panel_width(a, j);
    const sbi_rows top = {a->panel[j], first, width};
    sb_status status = sbi_rows_read(a->ctx, top, block, err);
    if (status != SB_OK) return status;
    sbi_triangle_columns((sbi_triangle){.unit = true}, width, l, width, block, columns, columns);
    status = sbi_rows_write(a->ctx, top, block, err);
    if (status != SB_OK) return status;
    return sbi_rows_subtract(a->ctx, (sbi_rows){a->panel[k], last, a->rows - last}, 0, top, 0, (sbi_rows){a->panel[j], last, a->rows - last}, err);
}

sb_status sbi_lu_factor(sb_context *ctx, const sb_array *a, sbi_lu_factors *out, sb_error *err) {
    const int64_t n = a->shape[0];
    *out = (sbi_lu_factors){0};
    sb_status status = sbi_panels_new(ctx, a->dtype, n, n, &out->a, err);
    if (status == SB_OK) status = sbi_panels_load(&out->a, SBI_READ_ALL, a, "a", err);
    if (status != SB_OK) return status;
    out->order = sbi_allocate(&ctx->allocator, 3 * n + 1, sizeof *out->order, err);
    double *host = out->order ? sbi_allocate(&ctx->allocator, (n + 2 * SBI_PANEL) * SBI_PANEL, sizeof *host, err) : NULL;
    if (!host) return SB_ERR_MEMORY;
    int64_t *order = out->order + n, *moved = order + n;
    double *l = host + n * SBI_PANEL, *block = l + SBI_PANEL * SBI_PANEL;
    for (int64_t i = 0; i < n && status == SB_OK; i++) out->order[i] = i;
    for (int64_t k = 0; k < out->a.count && status == SB_OK; k++) {
        const int64_t first = k * SBI_PANEL, rows = n - first, width = sbi_panel_width(&out->a, k);
        const sbi_rows own = {out->a.panel[k], first, rows};
        if ((status = sbi_rows_read(ctx, own, host, err))) break;
        factor_panel(rows, width, host, order);
        if ((status = sbi_rows_write(ctx, own, host, err))) break;
        if ((status = move_rows(out, k, first, order, err))) break;
        for (int64_t i = 0; i < rows; i++) moved[i] = out->order[first + order[i]];
        memcpy(out->order + first, moved, (size_t)rows * sizeof *moved);
        status = sbi_rows_read(ctx, (sbi_rows){out->a.panel[k], first, width}, l, err); // as rounded
        for (int64_t j = k + 1; j < out->a.count && status == SB_OK; j++) status = update(out, k, j, l, block, err);
    }
    sbi_release(&ctx->allocator, host);
    return status;
}

void sbi_lu_free(sbi_lu_factors *lu) {
    if (lu->a.ctx) sbi_release(&lu->a.ctx->allocator, lu->order);
    sbi_panels_free(&lu->a);
    *lu = (sbi_lu_factors){0};
}

sb_status sbi_lu(sb_context *ctx, const sb_array *a, sb_array *lu, sb_array *rows, sb_error *err) {
    sb_status status = sbi_check_square(a, "a", err);
    if (status == SB_OK) status = sbi_check_matrix(lu, "lu", a->dtype, a->shape[0], a->shape[1], err);
    if (status == SB_OK) status = sbi_check_vector(rows, "rows", SB_I64, a->shape[0], err);
    if (status != SB_OK) return status;
    sbi_lu_factors own = {0};
    status = sbi_lu_factor(ctx, a, &own, err);
    if (status == SB_OK) status = sbi_panels_store(&own.a, lu, err);
    if (status == SB_OK) status = sbi_array_write(rows, own.order, (size_t)a->shape[0] * sizeof *own.order, err);
    sbi_lu_free(&own);
    return status;
}
