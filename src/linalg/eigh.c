// SPDX-License-Identifier: Apache-2.0
// Symmetric eigenproblem: A = V diag(w) V^T, w ascending, V orthogonal; the lower triangle of A is read.
//
// Method: reduction to tridiagonal form by reflectors, in blocks (G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed.,
// 8.3.1; J. J. Dongarra, S. J. Hammarling, D. C. Sorensen, "Block reduction of matrices to condensed forms", 1989), the
// tridiagonal problem (tridiagonal.c), and the reflectors applied to its vectors, last block first.
// Order of arithmetic: all in binary64 whatever the type of the data, rounded once at the end. A is scaled by the exact
// power of two that brings its largest entry into [1, 2), mirrored from its lower triangle. Blocks of SBI_PANEL columns of
// what is left, M (m by m), columns j = 0, 1, ... while j < m - 2, the last columns without a reflector:
//   column c = row j of M; for the earlier k of the block ascending c_i = c_i - v_k[i] w_k[j] - w_k[i] v_k[j] for i >= j, left to
//   right; d = c_j; the reflector (reflector.c) of c_j+1 .. c_m-1 gives v (zeros before), tau and e;
//   y = M v (T3); for k ascending: f = dot(w_k, v), g = dot(v_k, v), y_i = y_i - v_k[i] f - w_k[i] g for i > j;
//   y = tau y; h = (tau dot(y, v)) 0.5; w_i = y_i - h v_i.
// After the block M loses its first rows and columns, and the product (T3) of [V W] with [W V]^T. Then vectors: Z loses
// V (T (V^T Z)) (T3) in rows from the block's first on, blocks last to first; an eigenvector whose entry of largest
// magnitude (as rounded; the first on a tie) is negative becomes 0 - v.
// Cost: 4/3 n^3 operations for the reduction, half of them in matrix-vector products; 5 n^3 and 2 n^3 for the vectors.
// What can go wrong: eigenvalues have the absolute error of n 2^-53 |A|, small ones not a relative one; vectors of
// eigenvalues that lie near each other are only together what they should be.
#include "linalg.h"

#include "check.h"

#include <string.h>

typedef struct block { // reflectors of a block, on the device
    int64_t first;     // row of A of the first row of v
    sb_array *v, *t;
} block;

typedef struct reduction {
    sb_context *ctx;
    int64_t n, count; // of blocks
    double *d, *e, *tau;
    double *v, *w;    // [SBI_PANEL][m]: of the block under work
    double *row;
    sb_array *rest;   // M
    block *blocks;
} reduction;

// Column j of a block: its reflector, d and e, and w.
static sb_status reduce_column(reduction *r, int64_t m, int64_t j, int64_t at, sb_array *in, sb_array *out, sb_error *err) {
    double *c = r->row, *v = r->v + j * m, *w = r->w + j * m, *tau = &r->tau[at + j];
    sb_status status = sbi_rows_read(r->ctx, (sbi_rows){r->rest, j, 1}, c, err);
    if (status != SB_OK) return status;
    for (int64_t k = 0; k < j; k++) {
        const double *vk = r->v + k * m, *wk = r->w + k * m, f = wk[j], g = vk[j];
        for (int64_t i = j; i < m; i++) c[i] = c[i] - vk[i] * f - wk[i] * g;
    }
    r->d[at + j] = c[j];
    for (int64_t i = 0; i < m; i++) v[i] = i <= j ? 0.0 : c[i];
    r->e[at + j] = sbi_reflector(m - j - 1, v + j + 1, tau);
    if ((status = sbi_rows_write(r->ctx, (sbi_rows){in, 0, m}, v, err))) return status;
    if ((status = sbi_gemm(r->ctx, NULL, r->rest, in, NULL, out, err))) return status;
    if ((status = sbi_rows_read(r->ctx, (sbi_rows){out, 0, m}, w, err))) return status;
    for (int64_t k = 0; k < j; k++) {
        const double *vk = r->v + k * m, *wk = r->w + k * m;
        const double f = sbi_vector_dot(m, wk, v), g = sbi_vector_dot(m, vk, v);
        for (int64_t i = j + 1; i < m; i++) w[i] = w[i] - vk[i] * f - wk[i] * g;
    }
    for (int64_t i = 0; i < m; i++) w[i] = i <= j ? 0.0 : *tau * w[i];
    const double half = *tau * sbi_vector_dot(m, w, v) * 0.5;
    for (int64_t i = j + 1; i < m; i++) w[i] -= half * v[i];
    return SB_OK;
}

// M without its first `gone` rows and columns, less [V W] [W V]^T.
static sb_status shrink(reduction *r, int64_t m, int64_t gone, sb_error *err) {
    sb_context *ctx = r->ctx;
    const int64_t left = m - gone;
    sb_array *next = NULL, *one = NULL, *two = NULL;
    double *pair = sbi_allocate(&ctx->allocator, 2 * left * gone + m + 1, sizeof *pair, err);
    double *row = pair ? pair + 2 * left * gone : NULL;
    sb_status status = pair ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, (int64_t[]){left, left}, &next, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, (int64_t[]){left, 2 * gone}, &one, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, (int64_t[]){left, 2 * gone}, &two, err);
    for (int64_t i = 0; i < left && status == SB_OK; i++) {
        status = sbi_rows_read(ctx, (sbi_rows){r->rest, gone + i, 1}, row, err);
        if (status == SB_OK) status = sbi_rows_write(ctx, (sbi_rows){next, i, 1}, row + gone, err);
    }
    for (int turn = 0; turn < 2 && status == SB_OK; turn++) {
        for (int64_t i = 0; i < left; i++)
            for (int64_t j = 0; j < 2 * gone; j++)
                pair[i * 2 * gone + j] = ((j < gone) == (turn == 0) ? r->v : r->w)[(j % gone) * m + gone + i];
        status = sbi_rows_write(ctx, (sbi_rows){turn ? two : one, 0, left}, pair, err);
    }
    if (status == SB_OK)
        status = sbi_rows_subtract(ctx, (sbi_rows){one, 0, left}, 0, (sbi_rows){two, 0, left}, 1, (sbi_rows){next, 0, left}, err);
    sbi_array_free(one);
    sbi_array_free(two);
    sbi_release(&ctx->allocator, pair);
    if (status == SB_OK) {
        sbi_array_free(r->rest);
        r->rest = next;
    } else {
        sbi_array_free(next);
    }
    return status;
}

// d, e and the blocks of reflectors, from r->rest.
static sb_status reduce(reduction *r, bool vectors, sb_error *err) {
    sb_context *ctx = r->ctx;
    sb_status status = SB_OK;
    for (int64_t at = 0, m = r->n; m > 0 && status == SB_OK;) {
        const int64_t columns = m < 3 ? 0 : m - 2 < SBI_PANEL ? m - 2 : SBI_PANEL;
        sb_array *in = NULL, *out = NULL;
        if (columns) status = sbi_scratch(ctx, SB_F64, m, &in, err);
        if (columns && status == SB_OK) status = sbi_scratch(ctx, SB_F64, m, &out, err);
        for (int64_t j = 0; j < columns && status == SB_OK; j++) status = reduce_column(r, m, j, at, in, out, err);
        sbi_array_free(in);
        sbi_array_free(out);
        if (vectors && columns && status == SB_OK) {
            block *b = &r->blocks[r->count++];
            b->first = at;
            status = sbi_block_arrays(ctx, SB_F64, m, columns, r->v, r->tau + at, &b->v, &b->t, err);
        }
        if (status == SB_OK && columns) status = shrink(r, m, columns, err);
        at += columns;
        m -= columns;
        if (m < 3 && status == SB_OK) { // what is left has no reflector
            double last[4] = {0};
            status = sbi_rows_read(ctx, (sbi_rows){r->rest, 0, m}, last, err);
            r->d[at] = last[0];
            if (m == 2) {
                r->e[at] = last[2];
                r->d[at + 1] = last[3];
            }
            m = 0;
        }
    }
    return status;
}

// The largest entry into [1, 2), the upper triangle from the lower. False: all zero.
static bool prepare(int64_t n, double *a, double *scale) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) a[j * n + i] = a[i * n + j];
    *scale = sbi_scale_of(n * n, a);
    for (int64_t i = 0; i < n * n; i++) a[i] *= *scale;
    return *scale != 0.0;
}

void sbi_fix_signs(sb_dtype dtype, int64_t rows, int64_t columns, double *v, double *scratch, double *other, int64_t other_rows) {
    for (int64_t j = 0; j < columns; j++) scratch[j] = 0.0; // the entry of largest magnitude so far
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            double *x = &v[i * columns + j], most = scratch[j] < 0.0 ? -scratch[j] : scratch[j];
            if (dtype == SB_F32) *x = (double)(float)*x;
            if ((*x < 0.0 ? -*x : *x) > most) scratch[j] = *x;
        }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            if (scratch[j] < 0.0) v[i * columns + j] = 0.0 - v[i * columns + j];
    for (int64_t i = 0; i < other_rows; i++)
        for (int64_t j = 0; j < columns; j++)
            if (scratch[j] < 0.0) other[i * columns + j] = 0.0 - other[i * columns + j];
}

static sb_status back_transform(reduction *r, const double *zt, double *z, sb_error *err) {
    const int64_t n = r->n;
    sb_array *all = NULL;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) z[j * n + i] = zt[i * n + j];
    sb_status status = sbi_array_new(r->ctx, SB_F64, 2, (int64_t[]){n, n}, &all, err);
    if (status == SB_OK) status = sbi_rows_write(r->ctx, (sbi_rows){all, 0, n}, z, err);
    for (int64_t k = r->count; k-- > 0 && status == SB_OK;) {
        const block *b = &r->blocks[k];
        status = sbi_reflect_rows(r->ctx, b->v, b->t, 0, (sbi_rows){all, b->first, n - b->first}, err);
    }
    if (status == SB_OK) status = sbi_rows_read(r->ctx, (sbi_rows){all, 0, n}, z, err);
    sbi_array_free(all);
    return status;
}

static sb_status solve(sb_context *ctx, const sb_array *a, sb_array *w, sb_array *v, sb_error *err) {
    const int64_t n = a->shape[0];
    reduction r = {.ctx = ctx, .n = n};
    sbi_arena *arena = sbi_arena_new(&ctx->allocator, err);
    double *host = arena ? sbi_arena_allocate(arena, n * n, sizeof *host, err) : NULL, *zt = NULL, scale = 1.0;
    double *numbers = host ? sbi_arena_allocate(arena, 4 * n, sizeof *numbers, err) : NULL; // d, e, tau, row
    double *pair = numbers ? sbi_arena_allocate(arena, 2 * SBI_PANEL * n, sizeof *pair, err) : NULL;
    r.blocks = pair ? sbi_arena_allocate(arena, n / SBI_PANEL + 1, sizeof *r.blocks, err) : NULL;
    sb_status status = r.blocks ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK && v && !(zt = sbi_arena_allocate(arena, n * n, sizeof *zt, err))) status = SB_ERR_MEMORY;
    if (status != SB_OK) goto done;
    r.d = numbers, r.e = numbers + n, r.tau = numbers + 2 * n, r.row = numbers + 3 * n;
    r.v = pair, r.w = pair + SBI_PANEL * n;
    if ((status = sbi_lower_read(ctx, a, host, err))) goto done;
    const bool any = prepare(n, host, &scale);
    for (int64_t i = 0; i < n && v; i++) zt[i * n + i] = 1.0;
    if (any) {
        if ((status = sbi_array_new(ctx, SB_F64, 2, (int64_t[]){n, n}, &r.rest, err))) goto done;
        if ((status = sbi_rows_write(ctx, (sbi_rows){r.rest, 0, n}, host, err))) goto done;
        if ((status = reduce(&r, v != NULL, err))) goto done;
        if ((status = sbi_tridiagonal(ctx, n, r.d, r.e, zt, err))) goto done;
        for (int64_t i = 0; i < n; i++) r.d[i] /= scale;
    }
    if (v) {
        if ((status = back_transform(&r, zt, host, err))) goto done;
        sbi_fix_signs(a->dtype, n, n, host, r.row, NULL, 0);
        if ((status = sbi_rows_write(ctx, (sbi_rows){v, 0, n}, host, err))) goto done;
    }
    status = sbi_rows_write(ctx, (sbi_rows){w, 0, n}, r.d, err);
done:
    for (int64_t k = 0; k < r.count; k++) {
        sbi_array_free(r.blocks[k].v);
        sbi_array_free(r.blocks[k].t);
    }
    sbi_array_free(r.rest);
    sbi_arena_free(arena);
    return status;
}

sb_status sbi_eigh(sb_context *ctx, const sb_array *a, sb_array *w, sb_array *v, sb_error *err) {
    sb_status status = sbi_check_square(a, "a", err);
    if (status == SB_OK) status = sbi_check_dtype(w, "w", a->dtype, err);
    if (status == SB_OK) status = sbi_check_ndim(w, "w", 1, err);
    if (status == SB_OK) status = sbi_check_length(w, "w", 0, a->shape[0], err);
    if (status == SB_OK && v) status = sbi_check_dtype(v, "v", a->dtype, err);
    if (status == SB_OK && v) status = sbi_check_like(v, "v", a, "a", err);
    if (status != SB_OK || a->shape[0] == 0) return status;
    return solve(ctx, a, w, v, err);
}
