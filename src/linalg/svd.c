// SPDX-License-Identifier: Apache-2.0
// Singular values: A = U diag(s) V^T, A m by n, k = min(m, n), s descending and not negative.
//
// Method: a tall A is reduced to R by QR (a wide one is turned over first). For the square R: V from the eigenvectors of
// R^T R, which leaves the columns of B = R V nearly orthogonal, then one-sided Jacobi rotations (M. R. Hestenes, 1958;
// Z. Drmac, K. Veselic, "New fast and accurate Jacobi SVD algorithm", 2008) until they are: what the squares have lost of the small singular
// values, the rotations of B itself restore.
// Order of arithmetic. QR in the type of the data; then all in binary64. R is scaled by the power of two of its largest entry
// (reflector.c). G = R^T R (T3), its eigenvectors V (eigh.c), B^T = V^T R^T (T3).
// A sweep: a column of B whose entries are all below 2^-200 becomes +0; G = B^T B (T3); for i < j in row order with |g_ij| > t (sqrt(g_ii)
// sqrt(g_jj)), t = (n + 8) 2^-53: a, b, g = dots (S) of columns i i, j j, i j; where |g| > t (sqrt(a) sqrt(b)): z = (b - a) / (2 g), r = 1 / (|z| + RN64(sqrt(1 + z z))), -r where z < 0,
// c = 1 / RN64(sqrt(1 + r r)), s = c r; columns (x, y) of B and of V become (c x - s y, s x + c y). Sweeps end with one that turns
// nothing. s_i = RN64(sqrt(S(b b))), descending, equal ones by index; u_i = b_i / s_i. For s_i = 0: unit vectors e_0, e_1, ... in turn, less
// twice their parts along all earlier u (f = dot(u, x); x = x - f u, ascending), until one keeps a length l of which l l > 1 / (2 n);
// divided by l. U = Q [U; 0]: the blocks of
// reflectors, in the type of the data. The entry of largest magnitude in
// a row of V^T, the first on a tie, as rounded, is positive; U's column follows.
// Cost: QR, eigh of n, 3 n^3 multiplications and those of the rotations, which are few unless R is ill-conditioned.
// What can go wrong: singular values have the absolute error of n 2^-53 s_0; below 2^-200 s_0 they are 0. A nearly singular
// large R takes many rotations. 60 sweeps without an end have never been seen: SB_ERR_INTERNAL.
#include "linalg.h"

#include "check.h"

#include <string.h>

typedef struct pairs { // bt, vt, g: [n, n]; rows are the columns of B, V
    sb_context *ctx;
    int64_t n;
    double *bt, *vt, *g;
    sb_array *b, *gram; // on the device
} pairs;

static void turn_rows(int64_t n, double c, double s, double *x, double *y) {
    for (int64_t i = 0; i < n; i++) {
        const double a = x[i], b = y[i];
        x[i] = c * a - s * b;
        y[i] = s * a + c * b;
    }
}

static double magnitude(double x) { return x < 0.0 ? -x : x; }

static bool turn_pair(pairs *p, int64_t i, int64_t j, double tolerance) {
    const int64_t n = p->n;
    double *x = p->bt + i * n, *y = p->bt + j * n;
    const double a = sbi_vector_dot(n, x, x), b = sbi_vector_dot(n, y, y), g = sbi_vector_dot(n, x, y);
    if (!(magnitude(g) > tolerance * (__builtin_sqrt(a) * __builtin_sqrt(b)))) return false;
    const double z = (b - a) / (2.0 * g), root = __builtin_sqrt(1.0 + z * z);
    const double r = z < 0.0 ? -(1.0 / (-z + root)) : 1.0 / (z + root), c = 1.0 / __builtin_sqrt(1.0 + r * r), s = c * r;
    turn_rows(n, c, s, x, y);
    turn_rows(n, c, s, p->vt + i * n, p->vt + j * n);
    return true;
}

// Columns whose entries are all below 2^-200 are nothing: where columns depend on each other, what is left of them would else
// be made smaller in every sweep.
static void drop_small(const pairs *p) {
    for (int64_t i = 0; i < p->n; i++) {
        double most = 0.0, *row = p->bt + i * p->n;
        for (int64_t j = 0; j < p->n; j++) most = magnitude(row[j]) > most ? magnitude(row[j]) : most;
        for (int64_t j = 0; j < p->n && most < 0x1p-200; j++) row[j] = 0.0;
    }
}

static sb_status sweeps(pairs *p, sb_error *err) {
    const int64_t n = p->n;
    const double tolerance = (double)(n + 8) * 0x1p-53;
    const sb_gemm_options self = {.size = sizeof self, .transpose_b = 1};
    for (int sweep = 0; sweep < 60; sweep++) {
        int64_t turned = 0;
        drop_small(p);
        sb_status status = sbi_rows_write(p->ctx, (sbi_rows){p->b, 0, n}, p->bt, err);
        if (status == SB_OK) status = sbi_gemm(p->ctx, &self, p->b, p->b, NULL, p->gram, err);
        if (status == SB_OK) status = sbi_rows_read(p->ctx, (sbi_rows){p->gram, 0, n}, p->g, err);
        if (status != SB_OK) return status;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = i + 1; j < n; j++)
                if (magnitude(p->g[i * n + j]) > tolerance * (__builtin_sqrt(p->g[i * n + i]) * __builtin_sqrt(p->g[j * n + j])))
                    turned += turn_pair(p, i, j, tolerance);
        if (turned == 0) return SB_OK;
    }
    return sbi_fail(err, SB_ERR_INTERNAL, "a", "the singular vectors did not converge in 60 sweeps");
}

// A unit vector orthogonal to rows 0 .. i-1 of u.
static void complete(int64_t n, int64_t i, double *u) {
    double *x = u + i * n;
    for (int64_t unit = 0; unit < n; unit++) {
        for (int64_t k = 0; k < n; k++) x[k] = k == unit ? 1.0 : 0.0;
        for (int64_t k = 0; k < 2 * i; k++) {
            const double *other = u + (k % i) * n, f = sbi_vector_dot(n, other, x);
            for (int64_t l = 0; l < n; l++) x[l] -= f * other[l];
        }
        const double square = sbi_vector_dot(n, x, x), length = __builtin_sqrt(square);
        if (square * (2.0 * (double)n) > 1.0) {
            for (int64_t k = 0; k < n; k++) x[k] /= length;
            return;
        }
    }
}

// s and the rows of U^T and V^T, descending; bt, vt, g as the sweeps left them, g is overwritten.
static void arrange(pairs *p, double *s, double *spare, int64_t *order) {
    const int64_t n = p->n;
    for (int64_t i = 0; i < n; i++) spare[i] = __builtin_sqrt(sbi_vector_dot(n, p->bt + i * n, p->bt + i * n));
    double *ut = p->g;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i; // insertion: stable
        for (; at > 0 && spare[order[at - 1]] < spare[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = order[k];
        s[k] = spare[i];
        for (int64_t l = 0; l < n && s[k] > 0.0; l++) ut[k * n + l] = p->bt[i * n + l] / s[k];
        if (!(s[k] > 0.0)) complete(n, k, ut);
    }
    for (int64_t k = 0; k < n; k++) memcpy(p->bt + k * n, p->vt + order[k] * n, (size_t)n * sizeof *p->bt);
    memcpy(p->vt, p->bt, (size_t)(n * n) * sizeof *p->vt);
    memcpy(p->bt, ut, (size_t)(n * n) * sizeof *p->bt);
}

static sb_status start(pairs *p, sb_array *r, sb_error *err) {
    sb_context *ctx = p->ctx;
    const int64_t n = p->n;
    const sb_gemm_options left = {.size = sizeof left, .transpose_a = 1}, both = {.size = sizeof both, .transpose_a = 1, .transpose_b = 1};
    sb_array *w = NULL, *v = NULL;
    sb_status status = sbi_gemm(ctx, &left, r, r, NULL, p->gram, err);
    if (status == SB_OK) status = sbi_scratch(ctx, SB_F64, n, &w, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, (int64_t[]){n, n}, &v, err);
    if (status == SB_OK) status = sbi_eigh(ctx, p->gram, w, v, err);
    if (status == SB_OK) status = sbi_gemm(ctx, &both, v, r, NULL, p->b, err);
    if (status == SB_OK) status = sbi_rows_read(ctx, (sbi_rows){p->b, 0, n}, p->bt, err);
    if (status == SB_OK) status = sbi_rows_read(ctx, (sbi_rows){v, 0, n}, p->g, err);
    for (int64_t i = 0; i < n && status == SB_OK; i++)
        for (int64_t j = 0; j < n; j++) p->vt[j * n + i] = p->g[i * n + j];
    sbi_array_free(v);
    sbi_array_free(w);
    return status;
}

sb_status sbi_svd_square(sb_context *ctx, int64_t n, double *r, double *s, double *vt, sb_error *err) {
    pairs p = {.ctx = ctx, .n = n, .bt = r, .vt = vt};
    const double scale = sbi_scale_of(n * n, r);
    sb_array *matrix = NULL;
    if (scale == 0.0) { // zeros
        for (int64_t i = 0; i < n * n; i++) r[i] = vt[i] = i % (n + 1) ? 0.0 : 1.0;
        for (int64_t i = 0; i < n; i++) s[i] = 0.0;
        return SB_OK;
    }
    p.g = sbi_allocate(&ctx->allocator, n * n, sizeof *p.g, err);
    double *spare = p.g ? sbi_allocate(&ctx->allocator, n, sizeof *spare, err) : NULL;
    int64_t *order = spare ? sbi_allocate(&ctx->allocator, n, sizeof *order, err) : NULL;
    const int64_t shape[] = {n, n};
    sb_status status = order ? SB_OK : SB_ERR_MEMORY;
    for (int64_t i = 0; i < n * n; i++) r[i] *= scale;
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, shape, &matrix, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, shape, &p.b, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, shape, &p.gram, err);
    if (status == SB_OK) status = sbi_rows_write(ctx, (sbi_rows){matrix, 0, n}, r, err);
    if (status == SB_OK) status = start(&p, matrix, err);
    if (status == SB_OK) status = sweeps(&p, err);
    if (status == SB_OK) {
        arrange(&p, s, spare, order);
        for (int64_t i = 0; i < n; i++) s[i] /= scale;
    }
    sbi_array_free(p.gram);
    sbi_array_free(p.b);
    sbi_array_free(matrix);
    sbi_release(&ctx->allocator, order);
    sbi_release(&ctx->allocator, spare);
    sbi_release(&ctx->allocator, p.g);
    return status;
}

sb_status sbi_tall_open(sb_context *ctx, const sb_array *a, sbi_tall *out, sb_error *err) {
    *out = (sbi_tall){.ctx = ctx, .turned = a->shape[0] < a->shape[1]};
    const int64_t rows = a->shape[0], columns = a->shape[1], m = out->turned ? columns : rows, n = out->turned ? rows : columns;
    sb_array *turned = NULL, *r = NULL;
    double *turn = NULL;
    out->m = m, out->n = n;
    if (n == 0) return SB_OK;
    out->arena = sbi_arena_new(&ctx->allocator, err);
    if (out->arena) out->s = sbi_arena_allocate(out->arena, n, sizeof *out->s, err);
    if (out->s) out->ut = sbi_arena_allocate(out->arena, n * n, sizeof *out->ut, err);
    if (out->ut) out->vt = sbi_arena_allocate(out->arena, n * n, sizeof *out->vt, err);
    sb_status status = out->vt ? sbi_check_finite(ctx, a, "a", err) : SB_ERR_MEMORY;
    if (status == SB_OK && out->turned) {
        turn = sbi_allocate(&ctx->allocator, 2 * m * n, sizeof *turn, err);
        status = turn ? sbi_rows_read(ctx, (sbi_rows){(sb_array *)a, 0, rows}, turn, err) : SB_ERR_MEMORY; // (only read)
        for (int64_t i = 0; i < rows && status == SB_OK; i++)
            for (int64_t j = 0; j < columns; j++) turn[m * n + j * rows + i] = turn[i * columns + j];
        if (status == SB_OK) status = sbi_array_new(ctx, a->dtype, 2, (int64_t[]){m, n}, &turned, err);
        if (status == SB_OK) status = sbi_rows_write(ctx, (sbi_rows){turned, 0, m}, turn + m * n, err);
    }
    if (status == SB_OK && m > n) status = sbi_qr_factor(ctx, turned ? turned : a, "a", &out->qr, err);
    if (status == SB_OK && m > n) status = sbi_array_new(ctx, a->dtype, 2, (int64_t[]){n, n}, &r, err);
    if (status == SB_OK && m > n) status = sbi_panels_store(&out->qr.a, r, err);
    if (status == SB_OK) status = sbi_rows_read(ctx, (sbi_rows){m > n ? r : (sb_array *)a, 0, n}, out->ut, err); // (only read)
    if (status == SB_OK) status = sbi_svd_square(ctx, n, out->ut, out->s, out->vt, err);
    sbi_array_free(r);
    sbi_array_free(turned);
    sbi_release(&ctx->allocator, turn);
    return status;
}

void sbi_tall_close(sbi_tall *t) {
    sbi_qr_free(&t->qr);
    sbi_arena_free(t->arena);
    *t = (sbi_tall){0};
}

// The vectors of the long side, columns [m, n] as doubles: Q [U; 0].
static sb_status long_side(const sbi_tall *t, sb_dtype dtype, double *columns, sb_error *err) {
    sb_array *all = NULL;
    for (int64_t i = 0; i < t->m; i++)
        for (int64_t j = 0; j < t->n; j++) columns[i * t->n + j] = i < t->n ? t->ut[j * t->n + i] : 0.0;
    if (t->m == t->n) return SB_OK;
    sb_status status = sbi_array_new(t->ctx, dtype, 2, (int64_t[]){t->m, t->n}, &all, err);
    if (status == SB_OK) status = sbi_rows_write(t->ctx, (sbi_rows){all, 0, t->m}, columns, err);
    if (status == SB_OK) status = sbi_qr_apply(&t->qr, 0, all, err);
    if (status == SB_OK) status = sbi_rows_read(t->ctx, (sbi_rows){all, 0, t->m}, columns, err);
    sbi_array_free(all);
    return status;
}

static void transpose(int64_t rows, int64_t columns, const double *from, double *to) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) to[j * rows + i] = from[i * columns + j];
}

// From the tall matrix's: left [m, n], right [n, n], columns are vectors; where the matrix was turned over they change sides.
static sb_status write_vectors(sbi_tall *t, sb_dtype dtype, sb_array *u, sb_array *vt, sb_error *err) {
    const int64_t m = t->m, n = t->n;
    double *left = sbi_allocate(&t->ctx->allocator, m * n + n, sizeof *left, err);
    double *right = left ? sbi_allocate(&t->ctx->allocator, m * n, sizeof *right, err) : NULL; // (and room to turn left over)
    sb_status status = right ? long_side(t, dtype, left, err) : SB_ERR_MEMORY;
    if (status == SB_OK) {
        transpose(n, n, t->vt, right);
        if (t->turned)
            sbi_fix_signs(dtype, m, n, left, left + m * n, right, n);
        else
            sbi_fix_signs(dtype, n, n, right, left + m * n, left, m);
        double *own = t->turned ? right : left, *other = t->turned ? left : right;
        if (u) status = sbi_rows_write(t->ctx, (sbi_rows){u, 0, u->shape[0]}, own, err);
        if (status == SB_OK && vt) {
            transpose(t->turned ? m : n, n, other, t->turned ? right : left);
            status = sbi_rows_write(t->ctx, (sbi_rows){vt, 0, n}, t->turned ? right : left, err);
        }
    }
    sbi_release(&t->ctx->allocator, right);
    sbi_release(&t->ctx->allocator, left);
    return status;
}

sb_status sbi_svd(sb_context *ctx, const sb_array *a, sb_array *u, sb_array *s, sb_array *vt, sb_error *err) {
    sb_status status = sbi_check_real(a, "a", err);
    if (status == SB_OK) status = sbi_check_ndim(a, "a", 2, err);
    if (status != SB_OK) return status;
    const int64_t m = a->shape[0], n = a->shape[1], k = m < n ? m : n;
    status = sbi_check_vector(s, "s", a->dtype, k, err);
    if (status == SB_OK && u) status = sbi_check_matrix(u, "u", a->dtype, m, k, err);
    if (status == SB_OK && vt) status = sbi_check_matrix(vt, "vt", a->dtype, k, n, err);
    if (status != SB_OK || k == 0) return status;
    sbi_tall t = {0};
    status = sbi_tall_open(ctx, a, &t, err);
    if (status == SB_OK && (u || vt)) status = write_vectors(&t, a->dtype, u, vt, err);
    if (status == SB_OK) status = sbi_rows_write(ctx, (sbi_rows){s, 0, k}, t.s, err);
    sbi_tall_close(&t);
    return status;
}
