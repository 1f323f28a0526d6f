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
