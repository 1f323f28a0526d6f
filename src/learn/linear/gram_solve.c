// SPDX-License-Identifier: Apache-2.0
// Systems of normal equations on the host's side: (G + alpha I) x = r by Cholesky, and the same with x >= 0.
//
// Order of arithmetic. s_j = RN64(sqrt(RN64(G_jj + alpha))), A_ij = RN64(G_ij / RN64(s_i s_j)) for i > j, A_jj = RN64(RN64(G_jj + alpha) /
// RN64(s_j s_j)), A = L L^T (cholesky.c, binary64); L u = RN64(r / s), L^T v = u (triangular systems of linalg), x_j = RN64(v_j / s_j).
//
// x >= 0: block principal pivoting (Portugal, Judice, Vicente 1994; Kim, Park 2011) on A as above, without a diagonal entry s_j = 1. A
// set P of features, empty at first: x_P solves the system of A_PP, x is 0 elsewhere, y_j = RN64(S(RN64(A_j x)) - r_j). Features of P with
// x_j < 0 and others with y_j < -2^-40 max |r| change sides: all of them, and after three rounds that made them no fewer the last one alone,
// until they are. So that A_PP is never singular 2^-30 is added to its diagonal, and RN64(2^-30 x of the last step) to r: steps of
// a proximal method, ended where no x moves by more than 2^-40 of the greatest, or after 50.
#include "least_squares.h"
#include "linalg.h"

#include <string.h>

static sb_status factor(sb_context *ctx, sb_array *a, bool *sure, sb_error *err) {
    sb_error why = {0};
    const sb_status status = sbi_cholesky(ctx, a, a, &why);
    *sure = status == SB_OK;
    if (status == SB_OK || status == SB_ERR_SINGULAR || status == SB_ERR_NONFINITE) return SB_OK;
    if (err) *err = why;
    return status;
}

sb_status sbi_gram_solve(sb_context *ctx, sbi_gram g, double alpha, double least, int64_t first, int64_t count, double *x, bool *sure, sb_error *err) {
    const int64_t n = g.n, t = g.t, square[2] = {n, n}, right[2] = {n, count};
    const sb_solve_options down = {.size = sizeof down, .kind = SB_LOWER}, up = {.size = sizeof up, .kind = SB_LOWER, .transpose = 1};
    sb_array *matrix = NULL, *sides = NULL;
    double *s = sbi_allocate(&ctx->allocator, n, sizeof *s, err), *a = s ? sbi_allocate(&ctx->allocator, n * n, sizeof *a, err) : NULL;
    double *r = a ? sbi_allocate(&ctx->allocator, n * count, sizeof *r, err) : NULL;
    sb_status status = r ? SB_OK : SB_ERR_MEMORY;
    *sure = false;
    for (int64_t j = 0; j < n && status == SB_OK; j++) {
        s[j] = __builtin_sqrt(g.gram[j * n + j] + alpha);
        if (!(s[j] > 0.0)) goto done;
    }
    if (status || (status = sbi_array_new(ctx, SB_F64, 2, square, &matrix, err)) || (status = sbi_array_new(ctx, SB_F64, 2, right, &sides, err))) goto done;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) a[i * n + j] = g.gram[i * n + j] / (s[i] * s[j]);
        a[i * n + i] = (g.gram[i * n + i] + alpha) / (s[i] * s[i]);
        for (int64_t j = 0; j < count; j++) r[i * count + j] = g.cross[i * t + first + j] / s[i];
    }
    if ((status = sbi_array_write(matrix, a, (size_t)(n * n) * sizeof *a, err)) || (status = sbi_array_write(sides, r, (size_t)(n * count) * sizeof *r, err)) ||
        (status = factor(ctx, matrix, sure, err)) || !*sure || (status = sbi_array_read(matrix, a, (size_t)(n * n) * sizeof *a, err)))
        goto done;
    for (int64_t j = 0; j < n; j++) *sure = *sure && a[j * n + j] * a[j * n + j] >= least;
    if (!*sure || (status = sbi_solve(ctx, &down, matrix, sides, sides, err)) || (status = sbi_solve(ctx, &up, matrix, sides, sides, err)) ||
        (status = sbi_array_read(sides, r, (size_t)(n * count) * sizeof *r, err)))
        goto done;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < count; j++) x[i * t + first + j] = r[i * count + j] / s[i];
done:
    sbi_array_free(matrix);
    sbi_array_free(sides);
    sbi_release(&ctx->allocator, s);
    sbi_release(&ctx->allocator, a);
    sbi_release(&ctx->allocator, r);
    return status;
}

// ---- x >= 0

typedef struct pivoting {
    sb_context *ctx;
    int64_t n, *in;             // the set P, ascending
    double *a, *r, *x, *y, *sub, *side, *part; // a: both triangles
    bool *inside;
} pivoting;

// x and y of the set P, with the proximal term of `last`.
static sb_status at_set(pivoting *p, const double *last, sb_error *err) {
    const int64_t n = p->n;
    int64_t count = 0;
    bool sure = true;
    sb_status status = SB_OK;
    for (int64_t j = 0; j < n; j++) {
        p->x[j] = 0.0;
        if (p->inside[j]) p->in[count++] = j;
    }
    for (int64_t i = 0; i < count; i++) {
        p->side[i] = p->r[p->in[i]] + 0x1p-30 * last[p->in[i]];
        for (int64_t j = 0; j < count; j++) p->sub[i * count + j] = p->a[p->in[i] * n + p->in[j]];
    }
    if (count) status = sbi_gram_solve(p->ctx, (sbi_gram){count, 1, p->sub, p->side}, 0x1p-30, 0.0, 0, 1, p->part, &sure, err);
    if (status == SB_OK && !sure) return sbi_fail(err, SB_ERR_NONFINITE, "x", "the sums of squares of x or y leave binary64: scale the data");
    for (int64_t i = 0; i < count; i++) p->x[p->in[i]] = p->part[i];
    for (int64_t j = 0; j < n && status == SB_OK; j++)
        p->y[j] = p->inside[j] ? 0.0 : sbi_host_dot(n, p->a + j * n, p->x) - (p->r[j] + 0x1p-30 * last[j]);
    return status;
}

// One proximal step: the set that is right for `last`, and its x.
static sb_status step(pivoting *p, const double *last, double slack, sb_error *err) {
    int64_t fewest = p->n + 1;
    int patience = 3;
    for (int64_t round = 0; round < 100 + 10 * p->n; round++) {
        int64_t wrong = 0, at = 0;
        sb_status status = at_set(p, last, err);
        if (status != SB_OK) return status;
        for (int64_t j = 0; j < p->n; j++)
            if (p->inside[j] ? p->x[j] < 0.0 : p->y[j] < -slack) wrong++, at = j;
        if (!wrong) return SB_OK;
        const bool all = wrong < fewest || patience-- > 0;
        if (wrong < fewest) fewest = wrong, patience = 3;
        for (int64_t j = all ? 0 : at; j <= at; j++)
            if (p->inside[j] ? p->x[j] < 0.0 : p->y[j] < -slack) p->inside[j] = !p->inside[j];
    }
    for (int64_t j = 0; j < p->n; j++) p->x[j] = p->x[j] > 0.0 ? p->x[j] : 0.0; // (rounding went in a circle)
    return SB_OK;
}

static sb_status positive_column(pivoting *p, double *last, sb_error *err) {
    double slack = 0.0;
    sb_status status = SB_OK;
    for (int64_t j = 0; j < p->n; j++) {
        const double size = __builtin_fabs(p->r[j]);
        slack = size > slack ? size : slack;
        last[j] = 0.0;
        p->inside[j] = false;
    }
    slack *= 0x1p-40;
    for (int round = 0; round < 50 && status == SB_OK; round++) {
        double most = 0.0, moved = 0.0;
        if ((status = step(p, last, slack, err))) break;
        for (int64_t j = 0; j < p->n; j++) {
            const double by = __builtin_fabs(p->x[j] - last[j]);
            moved = by > moved ? by : moved;
            most = p->x[j] > most ? p->x[j] : most;
            last[j] = p->x[j];
        }
        if (moved <= 0x1p-40 * most) break;
    }
    return status;
}

sb_status sbi_gram_positive(sb_context *ctx, sbi_gram g, double alpha, int64_t first, int64_t count, double *x, sb_error *err) {
    const int64_t n = g.n, t = g.t;
    double *block = sbi_allocate(&ctx->allocator, 2 * n * n + 7 * n, sizeof *block, err);
    int64_t *in = block ? sbi_allocate(&ctx->allocator, n, sizeof *in, err) : NULL;
    bool *inside = in ? sbi_allocate(&ctx->allocator, n, sizeof *inside, err) : NULL;
    sb_status status = inside ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK) {
        double *rest = block + 2 * n * n, *s = rest + 5 * n, *last = rest + 6 * n;
        pivoting p = {ctx, n, in, block, rest, rest + n, rest + 2 * n, block + n * n, rest + 3 * n, rest + 4 * n, inside};
        for (int64_t j = 0; j < n; j++) {
            s[j] = __builtin_sqrt(g.gram[j * n + j] + alpha);
            if (!(s[j] > 0.0)) s[j] = 1.0;
        }
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < i; j++) p.a[i * n + j] = p.a[j * n + i] = g.gram[i * n + j] / (s[i] * s[j]);
            p.a[i * n + i] = (g.gram[i * n + i] + alpha) / (s[i] * s[i]);
        }
        for (int64_t k = first; k < first + count && status == SB_OK; k++) {
            for (int64_t j = 0; j < n; j++) p.r[j] = g.cross[j * t + k] / s[j];
            status = positive_column(&p, last, err);
            for (int64_t j = 0; j < n; j++) x[j * t + k] = p.x[j] / s[j];
        }
    }
    sbi_release(&ctx->allocator, block);
    sbi_release(&ctx->allocator, in);
    sbi_release(&ctx->allocator, inside);
    return status;
}
