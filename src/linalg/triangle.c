// SPDX-License-Identifier: Apache-2.0
// Triangular systems: op(T) X = B for an n by n triangle T, X in place of B (n by r), op none or the transpose.
//
// Method: substitution by blocks of SBI_PANEL (G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 3.1).
// Order of arithmetic. A block of X, widened, is solved in binary64: entry i of a column, i ascending where op(T) is lower,
// else descending, is x_i = b_i; for the solved j in ascending order x_i = RN64(x_i - RN64(t_ij x_j)); x_i = RN64(x_i / t_ii)
// unless the diagonal is taken as 1. The block is rounded once to the type of the data. Around it, C = RN(C + RN(-P)), P a
// product of T3:
//   op none: after block J, the rows of X that are still to be solved lose P = T[those, J] X_J;
//   op transpose: before block J, X_J loses P = T[solved, J]^T X[solved].
// Cost: n^2 r multiplications, all but n r SBI_PANEL of them in products.
// What can go wrong: a zero on the diagonal gives infinities, as arithmetic does; who calls looks at it first.
#include "linalg.h"

enum { LANES = 16 };

// LANES right sides side by side: x[j][] for the solved j, one row at a time.
static void solve_lanes(sbi_triangle kind, int64_t n, const double *t, int64_t stride, double (*x)[LANES]) {
    const bool down = kind.upper == kind.transpose; // op(t) is lower
    for (int64_t step = 0; step < n; step++) {
        const int64_t i = down ? step : n - 1 - step, first = down ? 0 : i + 1, last = down ? i : n;
        double sum[LANES];
        for (int l = 0; l < LANES; l++) sum[l] = x[i][l];
        for (int64_t j = first; j < last; j++) {
            const double factor = kind.transpose ? t[j * stride + i] : t[i * stride + j];
            for (int l = 0; l < LANES; l++) sum[l] -= factor * x[j][l];
        }
        const double pivot = t[i * stride + i];
        if (!kind.unit)
            for (int l = 0; l < LANES; l++) sum[l] /= pivot;
        for (int l = 0; l < LANES; l++) x[i][l] = sum[l];
    }
}

void sbi_triangle_columns(sbi_triangle kind, int64_t n, const double *t, int64_t stride, double *s, int64_t s_stride, int64_t count) {
    double x[SBI_PANEL][LANES];
    for (int64_t at = 0; at < count; at += LANES) {
        const int64_t some = count - at < LANES ? count - at : LANES;
        for (int64_t i = 0; i < n; i++)
            for (int64_t l = 0; l < LANES; l++) x[i][l] = l < some ? s[i * s_stride + at + l] : 0.0;
        solve_lanes(kind, n, t, stride, x);
        for (int64_t i = 0; i < n; i++)
            for (int64_t l = 0; l < some; l++) s[i * s_stride + at + l] = x[i][l];
    }
}

typedef struct job { // columns of a block, shared among threads
    sbi_triangle kind;
    int64_t n, count;
    const double *t;
    double *s;
} job;

static void solve_columns(void *argument, int64_t index) {
    const job *j = argument;
    const int64_t each = 4 * LANES, at = index * each, left = j->count - at;
    sbi_triangle_columns(j->kind, j->n, j->t, j->n, j->s + at, j->count, left < each ? left : each);
}

sb_status sbi_triangle_solve(const sbi_panels *t, sbi_triangle kind, sb_array *x, sb_error *err) {
    sb_context *ctx = t->ctx;
    const int64_t n = t->columns, right = n ? x->size / n : 0;
    if (x->size == 0) return SB_OK;
    double *block = sbi_allocate(&ctx->allocator, SBI_PANEL * right, sizeof *block, err);
    double *diagonal = block ? sbi_allocate(&ctx->allocator, SBI_PANEL * SBI_PANEL, sizeof *diagonal, err) : NULL;
    sb_status status = diagonal ? SB_OK : SB_ERR_MEMORY;
    const bool down = kind.upper == kind.transpose;
    for (int64_t step = 0; step < t->count && status == SB_OK; step++) {
        const int64_t k = down ? step : t->count - 1 - step, first = k * SBI_PANEL, width = sbi_panel_width(t, k);
        const int64_t last = first + width;
        const sbi_rows own = {x, first, width}, rest = kind.upper ? (sbi_rows){x, 0, first} : (sbi_rows){x, last, n - last};
        const sbi_rows beside = {t->panel[k], rest.first, rest.count};
        if (kind.transpose && rest.count) status = sbi_rows_subtract(ctx, beside, 1, rest, 0, own, err);
        if (status == SB_OK) status = sbi_rows_read(ctx, (sbi_rows){t->panel[k], first, width}, diagonal, err);
        if (status == SB_OK) status = sbi_rows_read(ctx, own, block, err);
        if (status != SB_OK) break;
        job j = {kind, width, right, diagonal, block};
        sbi_pool_run(ctx->pool, sbi_groups(right, 4 * LANES), solve_columns, &j);
        status = sbi_rows_write(ctx, own, block, err);
        if (status == SB_OK && !kind.transpose && rest.count) status = sbi_rows_subtract(ctx, beside, 0, own, 0, rest, err);
    }
    sbi_release(&ctx->allocator, diagonal);
    sbi_release(&ctx->allocator, block);
    return status;
}
