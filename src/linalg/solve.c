// SPDX-License-Identifier: Apache-2.0
// Systems of equations: op(A) X = B, by the kind of A: triangular by substitution (triangle.c), positive definite by
// A = L L^T (cholesky.c), L Y = B, L^T X = Y.
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
    if (!triangular && o.kind != SB_POSITIVE_DEFINITE)
        return sbi_fail(err, o.kind == SB_GENERAL ? SB_ERR_UNSUPPORTED : SB_ERR_ARGUMENT, "options",
                        "kind %d: expected SB_POSITIVE_DEFINITE, SB_LOWER or SB_UPPER", (int)o.kind);
    if (o.unit_diagonal && !triangular)
        return sbi_fail(err, SB_ERR_ARGUMENT, "options", "unit_diagonal is of SB_LOWER and SB_UPPER");
    status = sbi_check_finite(ctx, b, "b", err);
    if (status == SB_OK) status = sbi_panels_new(ctx, a->dtype, a->shape[0], a->shape[0], &p, err);
    if (status == SB_OK && x->data != b->data) status = sbi_copy(ctx, b, x, err);
    if (status == SB_OK) status = triangular ? solve_triangular(&o, a, x, err, &p) : solve_positive(a, x, err, &p);
    sbi_panels_free(&p);
    return status;
}
