// SPDX-License-Identifier: Apache-2.0
// Exported: linear algebra.
#include "api.h"
#include "linalg.h"

sb_status sb_cholesky(sb_context *ctx, const sb_array *a, sb_array *l, sb_error *err) {
    NEED(ctx); NEED(a); NEED(l);
    APART_OR_SAME(l, a);
    RETURN_INSIDE(sbi_cholesky(ctx, a, l, err));
}

sb_status sb_eigh(sb_context *ctx, const sb_array *a, sb_array *w, sb_array *v, sb_error *err) {
    NEED(ctx); NEED(a); NEED(w);
    APART(w, a); APART(v, a); APART(v, w);
    RETURN_INSIDE(sbi_eigh(ctx, a, w, v, err));
}

sb_status sb_solve(sb_context *ctx, const sb_solve_options *options, const sb_array *a, const sb_array *b, sb_array *x,
                   sb_error *err) {
    NEED(ctx); NEED(a); NEED(b); NEED(x);
    APART(x, a); APART_OR_SAME(x, b);
    sb_solve_options known;
    sb_status status = sbi_api_options(options, &known, &sbi_solve_struct, err);
    if (status != SB_OK) return status;
    RETURN_INSIDE(sbi_solve(ctx, &known, a, b, x, err));
}

sb_status sb_qr(sb_context *ctx, const sb_array *a, sb_array *q, sb_array *r, sb_error *err) {
    NEED(ctx); NEED(a); NEED(r);
    APART(q, a); APART(r, a); APART(q, r);
    RETURN_INSIDE(sbi_qr(ctx, a, q, r, err));
}

sb_status sb_lu(sb_context *ctx, const sb_array *a, sb_array *lu, sb_array *rows, sb_error *err) {
    NEED(ctx); NEED(a); NEED(lu); NEED(rows);
    APART_OR_SAME(lu, a); APART(rows, a); APART(rows, lu);
    RETURN_INSIDE(sbi_lu(ctx, a, lu, rows, err));
}

sb_status sb_svd(sb_context *ctx, const sb_array *a, sb_array *u, sb_array *s, sb_array *vt, sb_error *err) {
    NEED(ctx); NEED(a); NEED(s);
    APART(u, a); APART(s, a); APART(vt, a); APART(u, s); APART(vt, s); APART(vt, u);
    RETURN_INSIDE(sbi_svd(ctx, a, u, s, vt, err));
}

sb_status sb_lstsq(sb_context *ctx, const sb_array *a, const sb_array *b, double rcond, sb_array *x, sb_array *s, int64_t *rank,
                   sb_error *err) {
    NEED(ctx); NEED(a); NEED(b); NEED(x);
    APART(x, a); APART(x, b); APART(s, a); APART(s, b); APART(s, x);
    RETURN_INSIDE(sbi_lstsq(ctx, a, b, rcond, x, s, rank, err));
}
