// SPDX-License-Identifier: Apache-2.0
// Systems of equations: op(A) X = B, by the kind of A: triangular by substitution (triangle.c), positive definite by
// A = L L^T (cholesky.c), L Y = B, L^T X = Y; general by P A = L U (lu.c): L Y = P B, U X = Y, or U^T Y = B, L^T Z = Y, X = P^T Z.
//
// What can go wrong: a zero on the diagonal of a triangle, a pivot that is not positive: SB_ERR_SINGULAR, named by its row.
#include "linalg.h"

#include "check.h"

#include <string.h>

// The first zero on the diagonal, or -1.
static sb_status find_zero(const sbi_panels *p, int64_t *row, sb_error *err) {
    double *block = sbi_allocate(&p->ctx->allocator, SBI_PANEL * SBI_PANEL, sizeof *block, err);
    sb_status status = block ? SB_OK : SB_ERR_MEMORY;
    *row = -1;
    for (int64_t k = 0; k < p->count && status == SB_OK && *row < 0; k++) {
        const int64_t width = sbi_panel_width(p, k);
        status = sbi_rows_read(p->ctx, (sbi_rows){p->panel[k], k * SBI_PANEL, width}, block, err);
        for (int64_t i = 0; i < width && status == SB_OK && *row < 0; i++)
            if (block[i * width + i] == 0.0) *row = k * SBI_PANEL + i;
    }
    sbi_release(&p->ctx->allocator, block);
    return status;
}

static sb_status solve_triangular(const sb_solve_options *o, const sb_array *a, sb_array *x, sb_error *err, sbi_panels *p) {
    const sbi_triangle kind = {o->kind == SB_UPPER, o->transpose != 0, o->unit_diagonal != 0};
    int64_t zero = -1;
    sb_status status = sbi_panels_load(p, kind.upper ? SBI_READ_UPPER : SBI_READ_LOWER, a, "a", err);
    if (status == SB_OK && !kind.unit) status = find_zero(p, &zero, err);
    if (status == SB_OK && zero >= 0)
        return sbi_fail(err, SB_ERR_SINGULAR, "a", "a is singular: its diagonal is 0 in row %lld", (long long)zero);
    return status == SB_OK ? sbi_triangle_solve(p, kind, x, err) : status;
}

static sb_status solve_positive(const sb_array *a, sb_array *x, sb_error *err, sbi_panels *p) {
    sb_status status = sbi_panels_load(p, SBI_READ_LOWER, a, "a", err);
    if (status == SB_OK) status = sbi_cholesky_panels(p, err);
    if (status == SB_OK) status = sbi_triangle_solve(p, (sbi_triangle){0}, x, err);
    return status == SB_OK ? sbi_triangle_solve(p, (sbi_triangle){.transpose = true}, x, err) : status;
}

// The rows of x in another order: from those at `order`, or to them.
static sb_status permute(sb_context *ctx, const int64_t *order, bool to, sb_array *x, sb_error *err) {
    sb_array *where = NULL, *held = NULL;
    sb_status status = sbi_scratch(ctx, SB_I64, x->shape[0], &where, err);
    if (status == SB_OK) status = sbi_array_write(where, order, (size_t)x->shape[0] * sizeof *order, err);
    if (status == SB_OK) status = sbi_array_new(ctx, x->dtype, x->ndim, x->shape, &held, err);
    if (status == SB_OK) status = to ? sbi_copy(ctx, x, held, err) : sbi_gather(ctx, x, where, held, err);
    if (status == SB_OK) status = to ? sbi_scatter(ctx, where, held, x, err) : sbi_copy(ctx, held, x, err);
    sbi_array_free(held);
    sbi_array_free(where);
    return status;
}

static sb_status solve_general(sb_context *ctx, bool transposed, const sb_array *a, sb_array *x, sb_error *err) {
    const sbi_triangle lower = {.unit = true, .transpose = transposed}, upper = {.upper = true, .transpose = transposed};
    sbi_lu_factors lu = {0};
    int64_t zero = -1;
    sb_status status = sbi_lu_factor(ctx, a, &lu, err);
    if (status == SB_OK) status = find_zero(&lu.a, &zero, err);
    if (status == SB_OK && zero >= 0)
        status = sbi_fail(err, SB_ERR_SINGULAR, "a", "a is singular: pivot %lld of its LU factors is 0", (long long)zero);
    if (status == SB_OK && !transposed && x->size) status = permute(ctx, lu.order, false, x, err);
    if (status == SB_OK) status = sbi_triangle_solve(&lu.a, transposed ? upper : lower, x, err);
    if (status == SB_OK) status = sbi_triangle_solve(&lu.a, transposed ? lower : upper, x, err);
    if (status == SB_OK && transposed && x->size) status = permute(ctx, lu.order, true, x, err);
    sbi_lu_free(&lu);
    return status;
}

sb_status sbi_solve(sb_context *ctx, const sb_solve_options *options, const sb_array *a, const sb_array *b, sb_array *x,
                    sb_error *err) {
    sb_solve_options o = {0};
    sbi_panels p = {0};
    if (options) memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    sb_status status = sbi_check_square(a, "a", err);
    if (status == SB_OK) status = sbi_check_dtype(b, "b", a->dtype, err);
    if (status == SB_OK && b->ndim != 1) status = sbi_check_ndim(b, "b", 2, err);
    if (status == SB_OK) status = sbi_check_length(b, "b", 0, a->shape[0], err);
    if (status == SB_OK) status = sbi_check_dtype(x, "x", a->dtype, err);
    if (status == SB_OK) status = sbi_check_like(x, "x", b, "b", err);
    if (status != SB_OK) return status;
    const bool triangular = o.kind == SB_LOWER || o.kind == SB_UPPER;
    if (!triangular && o.kind != SB_POSITIVE_DEFINITE && o.kind != SB_GENERAL)
        return sbi_fail(err, SB_ERR_ARGUMENT, "options",
                        "kind %d: expected SB_GENERAL, SB_POSITIVE_DEFINITE, SB_LOWER or SB_UPPER", (int)o.kind);
    if (o.unit_diagonal && !triangular)
        return sbi_fail(err, SB_ERR_ARGUMENT, "options", "unit_diagonal is of SB_LOWER and SB_UPPER");
    status = sbi_check_finite(ctx, b, "b", err);
    if (status == SB_OK && x->data != b->data) status = sbi_copy(ctx, b, x, err);
    if (status == SB_OK && o.kind == SB_GENERAL) return solve_general(ctx, o.transpose != 0, a, x, err);
    if (status == SB_OK) status = sbi_panels_new(ctx, a->dtype, a->shape[0], a->shape[0], &p, err);
    if (status == SB_OK) status = triangular ? solve_triangular(&o, a, x, err, &p) : solve_positive(a, x, err, &p);
    sbi_panels_free(&p);
    return status;
}
