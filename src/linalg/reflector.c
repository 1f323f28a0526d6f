// SPDX-License-Identifier: Apache-2.0
// Reflectors H = I - tau v v^T, v_0 = 1, and products of them, H_0 H_1 ... = I - V T V^T (A. S. Householder, 1958; R. Schreiber,
// C. Van Loan, "A storage-efficient WY representation for products of Householder transformations", 1989).
//
// Order of arithmetic, all in binary64. The dot of two vectors is S(RN64(x_i y_i)) of T2.
//   Reflector of x: c = 2^-k with k the exponent of the largest |x_i| (x = 0: tau = 0, beta = x_0); z = x c, exact;
//   q = S(z_i z_i over i >= 1); q = 0: tau = 0, beta = x_0; else r = RN64(sqrt(RN64(RN64(z_0 z_0) + q))), b = -r if z_0 > 0, else r;
//   tau = RN64(RN64(b - z_0) / b); v_i = RN64(z_i / RN64(z_0 - b)); beta = b / c.
//   Applied to y: f = RN64(tau dot(v, y)); y_i = RN64(y_i - RN64(f v_i)).
//   T, column j: t_jj = tau_j; g_i = dot(v_i, v_j) for i < j; t_ij = -RN64(tau_j s), s the chain from +0 of RN64(t_ik g_k) over
//   k = i .. j-1 ascending.
#include "linalg.h"

#include <string.h>

enum { LANES = 32, BLOCK = 4096 };

static double tree(double a[LANES]) {
    for (int s = LANES / 2; s; s /= 2)
        for (int i = 0; i < s; i++) a[i] += a[i + s];
    return a[0] + 0.0;
}

static double dot_block(int64_t n, const double *x, const double *y) {
    double a[LANES];
    for (int l = 0; l < LANES; l++) a[l] = 0.0;
    const int64_t tail = n - n % LANES;
    for (int64_t j = 0; j < tail; j += LANES)
        for (int l = 0; l < LANES; l++) a[l] += x[j + l] * y[j + l];
    for (int64_t j = tail; j < n; j++) a[j - tail] += x[j] * y[j];
    return tree(a);
}

double sbi_vector_dot(int64_t n, const double *x, const double *y) {
    if (n <= BLOCK) return dot_block(n, x, y);
    int64_t part = BLOCK; // so long that BLOCK parts hold all
    while (part * BLOCK < n) part *= BLOCK;
    double a[LANES];
    for (int l = 0; l < LANES; l++) a[l] = 0.0;
    for (int64_t at = 0, count = 0; at < n; at += part, count++)
        a[count % LANES] += sbi_vector_dot(n - at < part ? n - at : part, x + at, y + at);
    return tree(a);
}

double sbi_power_of_two(int exponent) { // of a normal number
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double sbi_scale_of(int64_t n, const double *x) {
    double most = 0.0;
    uint64_t bits;
    for (int64_t i = 0; i < n; i++) {
        const double size = x[i] < 0.0 ? -x[i] : x[i];
        most = size > most ? size : most;
    }
    memcpy(&bits, &most, sizeof bits);
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023; // -1023 where it is subnormal
    if (most == 0.0 || exponent == 1024) return 0.0;
    return sbi_power_of_two(exponent < -1000 ? 1000 : exponent > 1000 ? -1000 : -exponent);
}

double sbi_reflector(int64_t n, double *x, double *tau) {
    const double scale = sbi_scale_of(n, x), first = x[0];
    *tau = 0.0;
    if (scale == 0.0) return first;
    for (int64_t i = 0; i < n; i++) x[i] *= scale;
    const double rest = sbi_vector_dot(n - 1, x + 1, x + 1);
    if (rest == 0.0) {
        x[0] = 1.0;
        for (int64_t i = 1; i < n; i++) x[i] = 0.0;
        return first;
    }
    const double length = __builtin_sqrt(x[0] * x[0] + rest), beta = x[0] > 0.0 ? -length : length, pivot = x[0] - beta;
    *tau = (beta - x[0]) / beta;
    for (int64_t i = 1; i < n; i++) x[i] /= pivot;
    x[0] = 1.0;
    return beta / scale;
}

void sbi_reflect(int64_t n, const double *v, double tau, double *y) {
    const double factor = tau * sbi_vector_dot(n, v, y);
    for (int64_t i = 0; i < n; i++) y[i] -= factor * v[i];
}

void sbi_reflector_block(int64_t n, int64_t count, const double *v, const double *tau, double *t) {
    double g[SBI_PANEL];
    memset(t, 0, (size_t)(count * count) * sizeof *t);
    for (int64_t j = 0; j < count; j++) {
        for (int64_t i = 0; i < j; i++) g[i] = sbi_vector_dot(n, v + i * n, v + j * n);
        for (int64_t i = 0; i < j; i++) {
            double sum = 0.0;
            for (int64_t k = i; k < j; k++) sum += t[i * count + k] * g[k];
            t[i * count + j] = -(tau[j] * sum);
        }
        t[j * count + j] = tau[j];
    }
}

sb_status sbi_reflect_rows(sb_context *ctx, sb_array *v, sb_array *t, int transpose, sbi_rows c, sb_error *err) {
    const int64_t count = t->shape[0], columns = c.of->shape[1];
    const sb_gemm_options of_v = {.size = sizeof of_v, .transpose_a = 1}, of_t = {.size = sizeof of_t, .transpose_a = transpose};
    sb_array *rows = NULL, *seen = NULL, *turned = NULL;
    sb_status status = sbi_array_slice(c.of, c.first, c.count, &rows, err);
    if (status == SB_OK) status = sbi_array_new(ctx, t->dtype, 2, (int64_t[]){count, columns}, &seen, err);
    if (status == SB_OK) status = sbi_array_new(ctx, t->dtype, 2, (int64_t[]){count, columns}, &turned, err);
    if (status == SB_OK) status = sbi_gemm(ctx, &of_v, v, rows, NULL, seen, err);
    if (status == SB_OK) status = sbi_gemm(ctx, &of_t, t, seen, NULL, turned, err);
    if (status == SB_OK) status = sbi_rows_subtract(ctx, (sbi_rows){v, 0, c.count}, 0, (sbi_rows){turned, 0, count}, 0, c, err);
    sbi_array_free(rows);
    sbi_array_free(seen);
    sbi_array_free(turned);
    return status;
}

sb_status sbi_block_arrays(sb_context *ctx, sb_dtype dtype, int64_t n, int64_t count, const double *v, const double *tau,
                           sb_array **v_out, sb_array **t_out, sb_error *err) {
    double *turned = sbi_allocate(&ctx->allocator, n * count + 1, sizeof *turned, err), t[SBI_PANEL * SBI_PANEL];
    sb_status status = turned ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_array_new(ctx, dtype, 2, (int64_t[]){n, count}, v_out, err);
    if (status == SB_OK) status = sbi_array_new(ctx, dtype, 2, (int64_t[]){count, count}, t_out, err);
    if (status == SB_OK) {
        sbi_reflector_block(n, count, v, tau, t);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < count; j++) turned[i * count + j] = v[j * n + i];
        status = sbi_rows_write(ctx, (sbi_rows){*v_out, 0, n}, turned, err);
    }
    if (status == SB_OK) status = sbi_rows_write(ctx, (sbi_rows){*t_out, 0, count}, t, err);
    sbi_release(&ctx->allocator, turned);
    return status;
}
