// SPDX-License-Identifier: Apache-2.0
// linalg: factorizations and solutions of dense systems (contract T12), float32 and float64, on any device.
//
// A matrix being factored stands in block columns of SBI_PANEL columns, each an array of its own, so that every block that
// a product needs is rows of an array. A panel is factored on the host in binary64 and rounded once to the type of the data;
// what it changes in the rest is C = C - A B, the product of T3 in the type of the data.
#ifndef SBI_LINALG_H
#define SBI_LINALG_H

#include "ops.h"

enum { SBI_PANEL = 64 };

// As in samebits.h, without the checks of NULL and overlap.
sb_status sbi_cholesky(sb_context *ctx, const sb_array *a, sb_array *l, sb_error *err);
sb_status sbi_solve(sb_context *ctx, const sb_solve_options *options, const sb_array *a, const sb_array *b, sb_array *x,
                    sb_error *err);
sb_status sbi_eigh(sb_context *ctx, const sb_array *a, sb_array *w, sb_array *v, sb_error *err);
sb_status sbi_qr(sb_context *ctx, const sb_array *a, sb_array *q, sb_array *r, sb_error *err);
sb_status sbi_lu(sb_context *ctx, const sb_array *a, sb_array *lu, sb_array *rows, sb_error *err);
sb_status sbi_svd(sb_context *ctx, const sb_array *a, sb_array *u, sb_array *s, sb_array *vt, sb_error *err);
sb_status sbi_lstsq(sb_context *ctx, const sb_array *a, const sb_array *b, double rcond, sb_array *x, sb_array *s, int64_t *rank,
                    sb_error *err);

// ---- panels.c: block columns, and rows of them on the host

typedef enum sbi_part_read { SBI_READ_ALL, SBI_READ_LOWER, SBI_READ_UPPER } sbi_part_read; // what is not read is zero
typedef struct sbi_panels {
    sb_context *ctx;
    sb_dtype dtype;
    int64_t rows, columns, count; // count: of panels
    sb_array **panel;             // each [rows, its width]
} sbi_panels;
// Panels of zeros, freed by sbi_panels_free (also after a failure; a zeroed struct is fine).
sb_status sbi_panels_new(sb_context *ctx, sb_dtype dtype, int64_t rows, int64_t columns, sbi_panels *out, sb_error *err);
void sbi_panels_free(sbi_panels *p);
static inline int64_t sbi_panel_width(const sbi_panels *p, int64_t index) {
    const int64_t left = p->columns - index * SBI_PANEL;
    return left < SBI_PANEL ? left : SBI_PANEL;
}
// From and to a matrix. An infinity or NaN in what is read: SB_ERR_NONFINITE, naming the matrix and the place.
sb_status sbi_panels_load(sbi_panels *p, sbi_part_read part, const sb_array *a, const char *name, sb_error *err);
// (the first rows, as many as a has)
sb_status sbi_panels_store(const sbi_panels *p, sb_array *a, sb_error *err);

// Rows of an array, as doubles on the host, [count, row], row-major; writing rounds once
// (and makes every NaN the canonical one, in `from` as well).
typedef struct sbi_rows {
    sb_array *of;
    int64_t first, count;
} sbi_rows;
sb_status sbi_rows_read(sb_context *ctx, sbi_rows rows, double *to, sb_error *err);
sb_status sbi_rows_write(sb_context *ctx, sbi_rows rows, double *from, sb_error *err);
// c = c - op(a) op(b), one product of T3, negated and added: RN(c + RN(-1 * product)).
sb_status sbi_rows_subtract(sb_context *ctx, sbi_rows a, int transpose_a, sbi_rows b, int transpose_b, sbi_rows c, sb_error *err);
// SB_ERR_NONFINITE if the array holds an infinity or NaN.
sb_status sbi_check_finite(sb_context *ctx, const sb_array *a, const char *name, sb_error *err);
// The lower triangle of a square matrix as doubles, to[n, n], zeros above it; refuses what is not finite.
sb_status sbi_lower_read(sb_context *ctx, const sb_array *a, double *to, sb_error *err);
sb_status sbi_check_matrix(const sb_array *a, const char *name, sb_dtype dtype, int64_t rows, int64_t columns, sb_error *err);
sb_status sbi_check_vector(const sb_array *a, const char *name, sb_dtype dtype, int64_t length, sb_error *err);
// a is a square matrix.
sb_status sbi_check_square(const sb_array *a, const char *name, sb_error *err);

// ---- triangle.c: triangular systems

typedef struct sbi_triangle { // which of the four systems
    bool upper, transpose, unit;
} sbi_triangle;
// On the host, n <= SBI_PANEL: t[n, n] (rows `stride` apart) y = s for `count` right sides in the columns of s[n, count]
// (rows `s_stride` apart), in place.
void sbi_triangle_columns(sbi_triangle kind, int64_t n, const double *t, int64_t stride, double *s, int64_t s_stride,
                          int64_t count);
// op(t) x = x in place, t the triangle of the panels, x[n, r] or x[n] of their dtype.
sb_status sbi_triangle_solve(const sbi_panels *t, sbi_triangle kind, sb_array *x, sb_error *err);

// ---- reflector.c: reflectors, on the host in binary64

double sbi_vector_dot(int64_t n, const double *x, const double *y); // S of the products
double sbi_power_of_two(int exponent);                              // -1022 .. 1023
double sbi_scale_of(int64_t n, const double *x); // the power of two that brings the largest magnitude into [1, 2); 0: all are zero
// x becomes v, with v_0 = 1; returns beta: (I - tau v v^T) x = (beta, 0, 0, ...).
double sbi_reflector(int64_t n, double *x, double *tau);
void sbi_reflect(int64_t n, const double *v, double tau, double *y);
// t[count, count] upper triangular with H_0 H_1 ... = I - V T V^T, vector j at v + j n; count <= SBI_PANEL.
void sbi_reflector_block(int64_t n, int64_t count, const double *v, const double *tau, double *t);
// The same as arrays: *v_out[n, count], *t_out[count, count].
sb_status sbi_block_arrays(sb_context *ctx, sb_dtype dtype, int64_t n, int64_t count, const double *v, const double *tau,
                           sb_array **v_out, sb_array **t_out, sb_error *err);
// c = c - V (op(T) (V^T c)), three products.
sb_status sbi_reflect_rows(sb_context *ctx, sb_array *v, sb_array *t, int transpose, sbi_rows c, sb_error *err);

// ---- tridiagonal.c
// d[n] becomes the eigenvalues, ascending; e[n] is overwritten; zt[n, n] (or NULL), rows of vectors, turns with them.
sb_status sbi_tridiagonal(sb_context *ctx, int64_t n, double *d, double *e, double *zt, sb_error *err);

// ---- eigh.c
// Columns of v[rows, columns], rounded to dtype: the entry of largest magnitude, the first on a tie, becomes positive; the
// columns of other[other_rows, columns] change their signs with them. scratch[columns].
void sbi_fix_signs(sb_dtype dtype, int64_t rows, int64_t columns, double *v, double *scratch, double *other, int64_t other_rows);

// ---- qr.c, lu.c: what remains of a factorization, freed also after a failure

typedef struct sbi_qr_factors {
    sbi_panels a;     // the upper triangle is R
    int64_t blocks;
    sb_array **v, **t; // of each block, the rows from its first column on
} sbi_qr_factors;
sb_status sbi_qr_factor(sb_context *ctx, const sb_array *a, const char *name, sbi_qr_factors *out, sb_error *err);
sb_status sbi_qr_apply(const sbi_qr_factors *qr, int transpose, sb_array *c, sb_error *err); // c[m, r] = op(Q) c
void sbi_qr_free(sbi_qr_factors *qr);

typedef struct sbi_lu_factors {
    sbi_panels a;
    int64_t *order; // row i of P A is row order[i] of A
} sbi_lu_factors;
sb_status sbi_lu_factor(sb_context *ctx, const sb_array *a, sbi_lu_factors *out, sb_error *err);
void sbi_lu_free(sbi_lu_factors *lu);

// ---- svd.c

// r[n, n] = U diag(s) V^T: r becomes U^T, vt V^T, s descending; signs as they come.
sb_status sbi_svd_square(sb_context *ctx, int64_t n, double *r, double *s, double *vt, sb_error *err);
typedef struct sbi_tall { // of a, or of its transpose where it is wide (turned): Q R, R = U diag(s) V^T
    sb_context *ctx;
    bool turned;
    int64_t m, n;           // m >= n
    sbi_qr_factors qr;      // empty where m = n
    sbi_arena *arena;
    double *s, *ut, *vt;    // [n], [n, n], [n, n]
} sbi_tall;
sb_status sbi_tall_open(sb_context *ctx, const sb_array *a, sbi_tall *out, sb_error *err);
void sbi_tall_close(sbi_tall *t);

// ---- random_svd.c

typedef struct sbi_random_svd_options {
    int64_t k, oversamples, iterations; // 1 <= k <= min(m, n)
    bool normalize;
    uint64_t seed, stream;
} sbi_random_svd_options;
// The k greatest singular values of a[m, n], about, descending: s[k], vt[k, n], signs as in sbi_svd. a is finite.
sb_status sbi_random_svd(sb_context *ctx, const sb_array *a, const sbi_random_svd_options *options, double *s, double *vt, sb_error *err);

// ---- cholesky.c
// Overwrites the panels, whose lower triangle is read, by the factor. A pivot that is not positive: SB_ERR_SINGULAR.
sb_status sbi_cholesky_panels(sbi_panels *p, sb_error *err);
#endif
