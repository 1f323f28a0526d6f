// SPDX-License-Identifier: Apache-2.0
// Least squares of any rank, of the solutions the smallest, on the host: for systems that normal equations cannot tell apart.
//
// Problem. min |D b - e| over b, D[n, d]; of several b the one with the least |b|. Singular values up to `cut` times the largest
// count as 0.
//
// Method. n >= d: Householder's triangularisation D = Q R, z = Q^T e (A. S. Householder, Unitary triangularization of a
// nonsymmetric matrix, JACM 5, 1958). Then one-sided Jacobi rotations (M. R. Hestenes, Inversion of matrices by
// biorthogonalization and related results, SIAM J. 6, 1958) of the columns of R (n < d: of D^T) until they are orthogonal:
// W = R V, b = sum_j v_j (w_j . z) / |w_j|^2 (n < d: b = sum_j w_j (v_j . e) / |w_j|^2).
//
// Order of arithmetic: binary64, dots S of T2 (over the rows from the pivot down). Householder of column j: a = sqrt(S(x x)),
// negative where x_j >= 0 is not; v = x with v_j = x_j + a signed as x_j; every later column c and every right side loses
// v RN64(RN64(2 S(v c)) / S(v v)). Jacobi: sweeps over pairs i < j, rows ascending, at most 60, until one rotates nothing: alpha, beta,
// gamma = S(w_i w_i), S(w_j w_j), S(w_i w_j); rotated where gamma^2 > 2^-104 alpha beta: zeta = (beta - alpha) / (2 gamma),
// t = sign(zeta) / (|zeta| + sqrt(1 + zeta^2)), c = 1 / sqrt(1 + t^2), s = c t.
//
// Cost: 2 n d^2 on one thread, and some ten sweeps of d^3.
// What can go wrong: nothing but time; products of entries beyond 1e150 overflow.
#include "least_squares.h"

#include <string.h>

// Columns of a[n, d] below the diagonal are reduced; e[n, t] goes with them. Column-major.
static void triangularise(int64_t n, int64_t d, int64_t t, double *a, double *e) {
    for (int64_t j = 0; j < d; j++) {
        double *v = a + j * n + j;
        const int64_t left = n - j;
        const double size = __builtin_sqrt(sbi_host_dot(left, v, v)), first = v[0];
        if (size == 0.0) continue;
        v[0] = first < 0.0 ? first - size : first + size;
        const double square = sbi_host_dot(left, v, v);
        for (int64_t c = j + 1; c < d + t; c++) {
            double *x = c < d ? a + c * n + j : e + (c - d) * n + j;
            const double factor = 2.0 * sbi_host_dot(left, v, x) / square;
            for (int64_t i = 0; i < left; i++) x[i] -= v[i] * factor;
        }
        v[0] = first < 0.0 ? size : 0.0 - size;
        for (int64_t i = 1; i < left; i++) v[i] = 0.0;
    }
}

static void turn(int64_t n, double *x, double *y, double c, double s) {
    for (int64_t i = 0; i < n; i++) {
        const double a = x[i], b = y[i];
        x[i] = c * a - s * b;
        y[i] = s * a + c * b;
    }
}

// w[m, p], columns m apart, becomes w v with orthogonal columns; v[p, p].
static void rotate(int64_t m, int64_t p, double *w, double *v) {
    for (int64_t j = 0; j < p; j++)
        for (int64_t i = 0; i < p; i++) v[j * p + i] = i == j ? 1.0 : 0.0;
    bool again = true;
    for (int sweep = 0; sweep < 60 && again; sweep++) {
        again = false;
        for (int64_t i = 0; i < p; i++)
            for (int64_t j = i + 1; j < p; j++) {
                double *x = w + i * m, *y = w + j * m;
                const double alpha = sbi_host_dot(m, x, x), beta = sbi_host_dot(m, y, y), gamma = sbi_host_dot(m, x, y);
                if (!(gamma * gamma > 0x1p-104 * (alpha * beta))) continue;
                const double zeta = (beta - alpha) / (2.0 * gamma), size = zeta < 0.0 ? 0.0 - zeta : zeta;
                const double root = __builtin_sqrt(1.0 + zeta * zeta), tangent = 1.0 / (size + root), t = zeta < 0.0 ? 0.0 - tangent : tangent;
                const double c = 1.0 / __builtin_sqrt(1.0 + t * t), s = c * t;
                turn(m, x, y, c, s);
                turn(p, v + i * p, v + j * p, c, s);
                again = true;
            }
    }
}

sb_status sbi_minimum_norm(sb_context *ctx, int64_t n, int64_t d, int64_t t, double *a, double *e, double cut, double *b, int64_t *rank,
                           sb_error *err) {
    const bool tall = n >= d;
    const int64_t m = d, p = tall ? d : n;
    double *w = sbi_allocate(&ctx->allocator, m * p, sizeof *w, err), *v = sbi_allocate(&ctx->allocator, p * p, sizeof *v, err);
    double largest = 0.0;
    if (!w || !v) {
        sbi_release(&ctx->allocator, w);
        sbi_release(&ctx->allocator, v);
        return SB_ERR_MEMORY;
    }
    if (tall) triangularise(n, d, t, a, e);
    for (int64_t j = 0; j < p; j++)
        for (int64_t i = 0; i < m; i++) w[j * m + i] = tall ? (i <= j ? a[j * n + i] : 0.0) : a[i * n + j];
    rotate(m, p, w, v);
    memset(b, 0, (size_t)(d * t) * sizeof *b);
    for (int64_t j = 0; j < p; j++) {
        const double square = sbi_host_dot(m, w + j * m, w + j * m);
        largest = square > largest ? square : largest;
    }
    *rank = 0;
    for (int64_t j = 0; j < p; j++) {
        const double *column = w + j * m, *turned = v + j * p, square = sbi_host_dot(m, column, column);
        if (!(__builtin_sqrt(square) > cut * __builtin_sqrt(largest))) continue;
        ++*rank;
        for (int64_t c = 0; c < t; c++) {
            const double along = tall ? sbi_host_dot(d, column, e + c * n) : sbi_host_dot(n, turned, e + c * n), factor = along / square;
            for (int64_t i = 0; i < d; i++) b[c * d + i] += (tall ? turned[i] : column[i]) * factor;
        }
    }
    sbi_release(&ctx->allocator, w);
    sbi_release(&ctx->allocator, v);
    return SB_OK;
}
