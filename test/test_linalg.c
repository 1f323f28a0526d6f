// SPDX-License-Identifier: Apache-2.0
// Linear algebra: against residual bounds in long double, against solutions that are known, at every level and thread count
// the same bits, and what is refused.
#include "contexts.h"

#include <math.h>

typedef struct matrix { // of the type of the data, kept as doubles
    int64_t rows, columns;
    double *at;
} matrix;
#define AT(m, i, j) ((m).at[(i) * (m).columns + (j)])

static matrix new_matrix(int64_t rows, int64_t columns) {
    return (matrix){rows, columns, calloc((size_t)(rows * columns) + 1, sizeof(double))};
}

static double rounded(sb_dtype dtype, double x) { return dtype == SB_F32 ? (double)(float)x : x; }
static double unit_of(sb_dtype dtype) { return dtype == SB_F32 ? 0x1p-24 : 0x1p-53; }

static double uniform(uint64_t *seed) { return (double)((int64_t)next_word(seed) >> 11) * 0x1p-52; } // in [-1, 1)

static matrix random_matrix(sb_dtype dtype, int64_t rows, int64_t columns, uint64_t seed) {
    matrix m = new_matrix(rows, columns);
    for (int64_t i = 0; i < rows * columns; i++) m.at[i] = rounded(dtype, uniform(&seed));
    return m;
}

static sb_array *to_array(sb_context *ctx, sb_dtype dtype, matrix m) {
    const int64_t size = m.rows * m.columns, shape[] = {m.rows, m.columns};
    if (dtype == SB_F64) return array_of(ctx, dtype, 2, shape, m.at);
    float *narrow = calloc((size_t)size + 1, sizeof *narrow);
    for (int64_t i = 0; i < size; i++) narrow[i] = (float)m.at[i];
    sb_array *a = array_of(ctx, dtype, 2, shape, narrow);
    free(narrow);
    return a;
}

static matrix from_array(const sb_array *a) {
    const int64_t *shape = sb_array_shape(a), size = sb_array_size(a);
    matrix m = new_matrix(shape[0], sb_array_ndim(a) > 1 ? shape[1] : 1);
    float *narrow = calloc((size_t)size + 1, sizeof *narrow);
    if (sb_array_dtype(a) == SB_F64) {
        sb_array_read(a, m.at, (size_t)size * 8, NULL);
    } else {
        sb_array_read(a, narrow, (size_t)size * 4, NULL);
        for (int64_t i = 0; i < size; i++) m.at[i] = (double)narrow[i];
    }
    free(narrow);
    return m;
}

static double largest(matrix m) {
    double most = 0;
    for (int64_t i = 0; i < m.rows * m.columns; i++) most = fabs(m.at[i]) > most ? fabs(m.at[i]) : most;
    return most;
}

// max |a - op(x) op(y)| in long double.
static double residual(matrix a, matrix x, bool tx, matrix y, bool ty) {
    long double most = 0;
    const int64_t depth = tx ? x.rows : x.columns;
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t j = 0; j < a.columns; j++) {
            long double sum = 0;
            for (int64_t k = 0; k < depth; k++) sum += (long double)(tx ? AT(x, k, i) : AT(x, i, k)) * (long double)(ty ? AT(y, j, k) : AT(y, k, j));
            const long double off = fabsl((long double)AT(a, i, j) - sum);
            most = off > most || off != off ? off : most;
        }
    return (double)most;
}

// Runs `call` at every level and thread count: all outputs must be the same bytes. Returns those of the last, as matrices.
typedef sb_status (*call_on)(sb_context *ctx, sb_array *const *in, sb_array **out, sb_error *err);
typedef struct results { int count; matrix out[3]; } results;
static results run_everywhere(const char *name, sb_dtype dtype, int inputs, const matrix *in, call_on call, bool all) {
    results kept = {0};
    unsigned char *first[3] = {NULL, NULL, NULL};
    int number = 0;
    EACH_CONTEXT(c) {
        const bool emulated = !strcmp(c.level, "plain") || !strcmp(c.level, "v1");
        if (!all && (c.threads_index > 1 || (emulated && (c.threads_index || c.level_index)))) continue; // large ones: fewer
        sb_array *a[4] = {NULL}, *out[3] = {NULL};
        sb_error err = {0};
        for (int i = 0; i < inputs; i++) a[i] = to_array(c.ctx, dtype, in[i]);
        CHECK(call(c.ctx, a, out, &err) == SB_OK, "%s, %s, %d threads: %s", name, c.level, c.threads, err.message);
        for (int k = 0; k < 3 && out[k]; k++) {
            const size_t bytes = (size_t)sb_array_size(out[k]) * sb_dtype_size(sb_array_dtype(out[k]));
            if (number == 0) {
                first[k] = malloc(bytes + 1);
                sb_array_read(out[k], first[k], bytes, NULL);
                kept.out[kept.count++] = from_array(out[k]);
            } else {
                CHECK(array_is(out[k], first[k]), "%s, %s, %d threads: output %d has other bits", name, c.level, c.threads, k);
            }
            sb_array_free(out[k]);
        }
        for (int i = 0; i < inputs; i++) sb_array_free(a[i]);
        number++;
    }
    for (int k = 0; k < 3; k++) free(first[k]);
    return kept;
}
static void forget(results r) {
    for (int i = 0; i < r.count; i++) free(r.out[i].at);
}

static sb_array *like(sb_context *ctx, const sb_array *a) { return array_of(ctx, sb_array_dtype(a), sb_array_ndim(a), sb_array_shape(a), NULL); }

// ---- cholesky and the systems that use it

static matrix positive_definite(sb_dtype dtype, int64_t n, uint64_t seed) {
    matrix x = random_matrix(dtype, n, n + 5, seed), a = new_matrix(n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = i == j ? 0.1 : 0.0;
            for (int64_t k = 0; k < n + 5; k++) sum += AT(x, i, k) * AT(x, j, k);
            AT(a, i, j) = AT(a, j, i) = rounded(dtype, sum);
        }
    free(x.at);
    return a;
}

static sb_status call_cholesky(sb_context *ctx, sb_array *const *in, sb_array **out, sb_error *err) {
    out[0] = like(ctx, in[0]);
    return sb_cholesky(ctx, in[0], out[0], err);
}

static sb_solve_options system_kind;
static sb_status call_solve(sb_context *ctx, sb_array *const *in, sb_array **out, sb_error *err) {
    out[0] = like(ctx, in[1]);
    return sb_solve(ctx, &system_kind, in[0], in[1], out[0], err);
}

static void test_cholesky(sb_dtype dtype, int64_t n) {
    matrix a = positive_definite(dtype, n, (uint64_t)n);
    results r = run_everywhere("cholesky", dtype, 1, &a, call_cholesky, n < 100);
    matrix l = r.out[0];
    const double off = residual(a, l, false, l, true), bound = (double)(n + 2) * unit_of(dtype) * largest(a);
    CHECK(off <= bound, "cholesky of %lld: residual %g, bound %g", (long long)n, off, bound);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) CHECK(j == i ? AT(l, i, j) > 0 : AT(l, i, j) == 0 && !signbit(AT(l, i, j)), "l[%lld, %lld]", (long long)i, (long long)j);
    // what is above the diagonal is not read
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) AT(a, i, j) = NAN;
    results again = run_everywhere("cholesky", dtype, 1, &a, call_cholesky, false);
    CHECK(!memcmp(again.out[0].at, l.at, (size_t)(n * n) * sizeof *l.at), "cholesky reads the upper triangle");
    forget(again);
    forget(r);
    free(a.at);
}

// |b - op(a) x| against |a| |x|, for every kind.
static void test_solve(sb_dtype dtype, int64_t n, int64_t right) {
    static const struct { sb_matrix_kind kind; int transpose, unit; } kinds[] = {
        {SB_POSITIVE_DEFINITE, 0, 0}, {SB_GENERAL, 0, 0}, {SB_GENERAL, 1, 0}, {SB_LOWER, 0, 0}, {SB_LOWER, 1, 0},
        {SB_UPPER, 0, 0}, {SB_UPPER, 1, 0}, {SB_LOWER, 1, 1}, {SB_UPPER, 0, 1}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        system_kind = (sb_solve_options){sizeof system_kind, kinds[k].kind, kinds[k].transpose, kinds[k].unit};
        matrix in[2] = {positive_definite(dtype, n, 7), random_matrix(dtype, n, right, 8)};
        matrix a = in[0], read = new_matrix(n, n);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                const bool unread = (kinds[k].kind == SB_LOWER && j > i) || (kinds[k].kind == SB_UPPER && j < i) ;
                if (kinds[k].unit && i != j) AT(a, i, j) = rounded(dtype, AT(a, i, j) / (double)(4 * n));
                AT(read, i, j) = unread ? 0.0 : kinds[k].unit && i == j ? 1.0 : AT(a, i, j);
                if (unread) AT(a, i, j) = NAN;
            }
        results r = run_everywhere("solve", dtype, 2, in, call_solve, n < 100);
        matrix x = r.out[0];
        const double off = residual(in[1], read, kinds[k].transpose != 0, x, false);
        const double bound = (double)(4 * n) * unit_of(dtype) * (largest(read) * largest(x) * (double)n + 1);
        CHECK(off <= bound, "solve of %lld, kind %d%s: residual %g, bound %g", (long long)n, (int)kinds[k].kind,
              kinds[k].transpose ? " transposed" : "", off, bound);
        forget(r);
        free(in[0].at), free(in[1].at), free(read.at);
    }
}

// ---- eigenvalues

static sb_status call_eigh(sb_context *ctx, sb_array *const *in, sb_array **out, sb_error *err) {
    const int64_t n = sb_array_shape(in[0])[0];
    out[0] = array_of(ctx, sb_array_dtype(in[0]), 1, &n, NULL);
    out[1] = like(ctx, in[0]);
    out[2] = array_of(ctx, sb_array_dtype(in[0]), 1, &n, NULL);
    sb_status status = sb_eigh(ctx, in[0], out[0], out[1], err);
    return status == SB_OK ? sb_eigh(ctx, in[0], out[2], NULL, err) : status;
}

// |v^T v - 1|, largest entry.
static double orthogonality(matrix v) {
    matrix one = new_matrix(v.columns, v.columns);
    for (int64_t i = 0; i < v.columns; i++) AT(one, i, i) = 1.0;
    const double off = residual(one, v, true, v, false);
    free(one.at);
    return off;
}

static void check_signs(const char *name, matrix v) {
    for (int64_t j = 0; j < v.columns; j++) {
        double most = 0;
        for (int64_t i = 0; i < v.rows; i++) most = fabs(AT(v, i, j)) > fabs(most) ? AT(v, i, j) : most;
        CHECK(most >= 0, "%s: the largest entry of vector %lld is %g", name, (long long)j, most);
    }
}

static void check_eigh(const char *name, sb_dtype dtype, matrix a, bool all) {
    const int64_t n = a.rows;
    matrix whole = new_matrix(n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) AT(whole, i, j) = AT(a, i > j ? i : j, i > j ? j : i);
    results r = run_everywhere(name, dtype, 1, &a, call_eigh, all);
    matrix w = r.out[0], v = r.out[1], scaled = new_matrix(n, n);
    CHECK(!memcmp(w.at, r.out[2].at, (size_t)n * sizeof *w.at), "%s: eigenvalues alone have other bits", name);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) AT(scaled, i, j) = AT(v, i, j) * AT(w, j, 0);
    for (int64_t j = 1; j < n; j++) CHECK(AT(w, j - 1, 0) <= AT(w, j, 0), "%s: order at %lld", name, (long long)j);
    double bound = (double)(8 * n + 8) * 0x1p-53 + 4 * unit_of(dtype), norm = largest(whole);
    const double off = residual(whole, scaled, false, v, true), turned = orthogonality(v);
    CHECK(off <= bound * norm * (double)(n < 4 ? 4 : n) * 0.5 && turned <= bound, "%s of %lld: residual %g (norm %g), orthogonality %g", name,
          (long long)n, off, norm, turned);
    check_signs(name, v);
    free(whole.at), free(scaled.at);
    forget(r);
}

static matrix symmetric(sb_dtype dtype, int64_t n, uint64_t seed) {
    matrix a = random_matrix(dtype, n, n, seed);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) AT(a, i, j) = NAN; // not read
    return a;
}

static void test_eigh(sb_dtype dtype) {
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 33, 64, 65, 66, 67, 68, 131};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        matrix a = symmetric(dtype, sizes[i], 11 + (uint64_t)i);
        check_eigh("eigh", dtype, a, sizes[i] < 50);
        free(a.at);
    }
    matrix a = new_matrix(70, 70);
    check_eigh("eigh of zeros", dtype, a, false);
    for (int64_t i = 0; i < 70; i++) AT(a, i, i) = (double)((i * 37) % 11);
    check_eigh("eigh of a diagonal", dtype, a, false);
    for (int64_t i = 0; i < 70; i++)
        for (int64_t j = 0; j <= i; j++) AT(a, i, j) = 1.0;
    check_eigh("eigh of ones", dtype, a, false);
    const double large = dtype == SB_F32 ? 0x1p100 : 0x1p900, small = dtype == SB_F32 ? 0x1p-130 : 0x1p-1040;
    for (int k = 0; k < 2; k++) {
        uint64_t seed = 5;
        for (int64_t i = 0; i < 70; i++)
            for (int64_t j = 0; j <= i; j++) AT(a, i, j) = rounded(dtype, uniform(&seed) * (k ? small : large));
        results r = run_everywhere("eigh, far scales", dtype, 1, &a, call_eigh, false);
        CHECK(orthogonality(r.out[1]) < 70 * 16 * unit_of(dtype) && AT(r.out[0], 69, 0) > (k ? small : large), "far scale %d", k);
        forget(r);
    }
    free(a.at);
}

// 2 on the diagonal, -1 beside it: 2 - 2 cos(k pi / (n + 1)); a matrix of Wilkinson with pairs that agree to 14 digits; Hilbert's.
static void test_eigh_known(sb_context *ctx) {
    enum { N = 100 };
    matrix a = new_matrix(N, N);
    sb_error err = {0};
    for (int64_t i = 0; i < N; i++) {
        AT(a, i, i) = 2;
        if (i) AT(a, i, i - 1) = -1;
    }
    sb_array *m = to_array(ctx, SB_F64, a), *w = array_of(ctx, SB_F64, 1, (int64_t[]){N}, NULL);
    CHECK(sb_eigh(ctx, m, w, NULL, &err) == SB_OK, "%s", err.message);
    matrix found = from_array(w);
    for (int64_t k = 0; k < N; k++) {
        const double right = (double)(2 - 2 * cosl(3.14159265358979323846264338327950288L * (long double)(k + 1) / (N + 1)));
        CHECK(fabs(AT(found, k, 0) - right) <= 40 * 0x1p-53, "eigenvalue %lld: %.17g, not %.17g", (long long)k, AT(found, k, 0), right);
    }
    free(found.at), free(a.at);
    sb_array_free(m), sb_array_free(w);
    a = new_matrix(21, 21);
    for (int64_t i = 0; i < 21; i++) {
        AT(a, i, i) = fabs((double)(i - 10));
        if (i) AT(a, i, i - 1) = 1;
    }
    check_eigh("eigh of Wilkinson's W21+", SB_F64, a, false);
    free(a.at);
    a = new_matrix(12, 12);
    for (int64_t i = 0; i < 12; i++)
        for (int64_t j = 0; j < 12; j++) AT(a, i, j) = 1.0 / (double)(i + j + 1);
    check_eigh("eigh of Hilbert's matrix", SB_F64, a, false);
    free(a.at);
    // scikit-learn's principal component of these four points: +(.9486833, .3162278)
    const double x[] = {45, 15, 15, 5};
    sb_array *c = array_of(ctx, SB_F64, 2, (int64_t[]){2, 2}, x), *v = like(ctx, c);
    w = array_of(ctx, SB_F64, 1, (int64_t[]){2}, NULL);
    CHECK(sb_eigh(ctx, c, w, v, &err) == SB_OK, "%s", err.message);
    found = from_array(v);
    CHECK(fabs(AT(found, 0, 1) - 0.9486832980505138) < 1e-15 && fabs(AT(found, 1, 1) - 0.31622776601683794) < 1e-15, "%g %g", AT(found, 0, 1), AT(found, 1, 1));
    free(found.at);
    sb_array_free(c), sb_array_free(v), sb_array_free(w);
}

// ---- qr, lu, singular values, least squares

static sb_status call_qr(sb_context *ctx, sb_array *const *in, sb_array **out, sb_error *err) {
    const int64_t *shape = sb_array_shape(in[0]), k = shape[0] < shape[1] ? shape[0] : shape[1];
    out[0] = array_of(ctx, sb_array_dtype(in[0]), 2, (int64_t[]){shape[0], k}, NULL);
    out[1] = array_of(ctx, sb_array_dtype(in[0]), 2, (int64_t[]){k, shape[1]}, NULL);
    out[2] = like(ctx, out[1]);
    sb_status status = sb_qr(ctx, in[0], out[0], out[1], err);
    return status == SB_OK ? sb_qr(ctx, in[0], NULL, out[2], err) : status;
}

static void check_qr(sb_dtype dtype, matrix a) {
    results r = run_everywhere("qr", dtype, 1, &a, call_qr, a.rows < 50);
    matrix q = r.out[0], upper = r.out[1];
    const double bound = (double)(8 * (a.rows + a.columns) + 32) * unit_of(dtype), off = residual(a, q, false, upper, false);
    CHECK(off <= bound * largest(a) && orthogonality(q) <= bound, "qr of %lld by %lld: residual %g, orthogonality %g, bound %g", (long long)a.rows,
          (long long)a.columns, off, orthogonality(q), bound);
    for (int64_t i = 0; i < upper.rows; i++) {
        CHECK(AT(upper, i, i) >= 0, "r[%lld, %lld] is negative", (long long)i, (long long)i);
        for (int64_t j = 0; j < i; j++) CHECK(AT(upper, i, j) == 0, "r[%lld, %lld]", (long long)i, (long long)j);
    }
    CHECK(!memcmp(upper.at, r.out[2].at, (size_t)(upper.rows * upper.columns) * sizeof *upper.at), "r alone has other bits");
    forget(r);
}

static sb_status call_lu(sb_context *ctx, sb_array *const *in, sb_array **out, sb_error *err) {
    const int64_t n = sb_array_shape(in[0])[0];
    sb_array *rows = array_of(ctx, SB_I64, 1, &n, NULL);
    int64_t *order = calloc((size_t)n + 1, sizeof *order);
    double *wide = calloc((size_t)n + 1, sizeof *wide);
    out[0] = like(ctx, in[0]);
    out[1] = array_of(ctx, SB_F64, 1, &n, NULL);
    sb_status status = sb_lu(ctx, in[0], out[0], rows, err);
    sb_array_read(rows, order, (size_t)n * sizeof *order, NULL);
    for (int64_t i = 0; i < n; i++) wide[i] = (double)order[i];
    sb_array_write(out[1], wide, (size_t)n * sizeof *wide, NULL);
    free(order), free(wide);
    sb_array_free(rows);
    return status;
}

static void check_lu(sb_dtype dtype, matrix a) {
    const int64_t n = a.rows;
    results r = run_everywhere("lu", dtype, 1, &a, call_lu, n < 50);
    matrix packed = r.out[0], order = r.out[1], l = new_matrix(n, n), u = new_matrix(n, n), moved = new_matrix(n, n);
    double seen = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = (int64_t)AT(order, i, 0);
        CHECK(from >= 0 && from < n, "rows[%lld] = %lld", (long long)i, (long long)from);
        seen += (double)from;
        for (int64_t j = 0; j < n && from >= 0 && from < n; j++) {
            AT(moved, i, j) = AT(a, from, j);
            if (j < i) AT(l, i, j) = AT(packed, i, j);
            else AT(u, i, j) = AT(packed, i, j);
            if (j < i) CHECK(fabs(AT(packed, i, j)) <= 1, "l[%lld, %lld] = %g", (long long)i, (long long)j, AT(packed, i, j));
        }
        AT(l, i, i) = 1;
    }
    const double off = residual(moved, l, false, u, false), bound = (double)(4 * n + 8) * unit_of(dtype) * (largest(u) + largest(a));
    CHECK(off <= bound && seen == (double)n * (double)(n - 1) / 2, "lu of %lld: residual %g, bound %g", (long long)n, off, bound);
    free(l.at), free(u.at), free(moved.at);
    forget(r);
}

static sb_status call_svd(sb_context *ctx, sb_array *const *in, sb_array **out, sb_error *err) {
    const int64_t *shape = sb_array_shape(in[0]), k = shape[0] < shape[1] ? shape[0] : shape[1];
    out[0] = array_of(ctx, sb_array_dtype(in[0]), 2, (int64_t[]){shape[0], k}, NULL);
    out[1] = array_of(ctx, sb_array_dtype(in[0]), 1, &k, NULL);
    out[2] = array_of(ctx, sb_array_dtype(in[0]), 2, (int64_t[]){k, shape[1]}, NULL);
    sb_array *alone = like(ctx, out[1]);
    sb_status status = sb_svd(ctx, in[0], out[0], out[1], out[2], err);
    if (status == SB_OK) status = sb_svd(ctx, in[0], NULL, alone, NULL, err);
    matrix s = from_array(alone);
    double *values = calloc((size_t)k + 1, sizeof *values);
    float *narrow = (float *)(void *)values;
    for (int64_t i = 0; i < k; i++)
        if (sb_array_dtype(alone) == SB_F32) narrow[i] = (float)s.at[i];
        else values[i] = s.at[i];
    CHECK(array_is(out[1], values), "singular values alone have other bits");
    free(values), free(s.at);
    sb_array_free(alone);
    return status;
}

static void check_svd(const char *name, sb_dtype dtype, matrix a, bool all) {
    results r = run_everywhere(name, dtype, 1, &a, call_svd, all);
    matrix u = r.out[0], s = r.out[1], vt = r.out[2], us = new_matrix(u.rows, u.columns), v = new_matrix(vt.columns, vt.rows);
    for (int64_t i = 0; i < u.rows; i++)
        for (int64_t j = 0; j < u.columns; j++) AT(us, i, j) = AT(u, i, j) * AT(s, j, 0);
    for (int64_t i = 0; i < v.rows; i++)
        for (int64_t j = 0; j < v.columns; j++) AT(v, i, j) = AT(vt, j, i);
    const double bound = (double)(8 * (a.rows + a.columns) + 64) * unit_of(dtype), off = residual(a, us, false, vt, false);
    CHECK(off <= bound * (s.rows ? AT(s, 0, 0) : 1) && orthogonality(u) <= bound && orthogonality(v) <= bound,
          "%s of %lld by %lld: residual %g, orthogonality %g %g, bound %g", name, (long long)a.rows, (long long)a.columns, off, orthogonality(u),
          orthogonality(v), bound);
    for (int64_t j = 0; j < s.rows; j++) CHECK(AT(s, j, 0) >= 0 && (j == 0 || AT(s, j, 0) <= AT(s, j - 1, 0)), "%s: s[%lld]", name, (long long)j);
    check_signs(name, v);
    free(us.at), free(v.at);
    forget(r);
}

static int64_t rank_found;
static sb_status call_lstsq(sb_context *ctx, sb_array *const *in, sb_array **out, sb_error *err) {
    const int64_t n = sb_array_shape(in[0])[1], right = sb_array_shape(in[1])[1];
    out[0] = array_of(ctx, sb_array_dtype(in[0]), 2, (int64_t[]){n, right}, NULL);
    return sb_lstsq(ctx, in[0], in[1], 0.0, out[0], NULL, &rank_found, err);
}

// The residual is orthogonal to the columns of a; of the solutions x lies in the row space (asked of rank < n).
static void check_lstsq(sb_dtype dtype, int64_t m, int64_t n, int64_t rank) {
    matrix left = random_matrix(SB_F64, m, rank, 21), right = random_matrix(SB_F64, rank, n, 22), a = new_matrix(m, n);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            for (int64_t k = 0; k < rank; k++) AT(a, i, j) += AT(left, i, k) * AT(right, k, j);
            AT(a, i, j) = rounded(dtype, AT(a, i, j));
        }
    matrix in[2] = {a, random_matrix(dtype, m, 3, 23)};
    results r = run_everywhere("lstsq", dtype, 2, in, call_lstsq, false);
    matrix x = r.out[0], off = new_matrix(m, 3), zero = new_matrix(n, 3);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < 3; j++) {
            AT(off, i, j) = AT(in[1], i, j);
            for (int64_t k = 0; k < n; k++) AT(off, i, j) -= AT(a, i, k) * AT(x, k, j);
        }
    const double unit = unit_of(dtype), bound = 200.0 * (double)(m + n) * unit * (1 + largest(a) * largest(x) * (double)n) * largest(a);
    CHECK(rank_found == rank, "lstsq of %lld by %lld: rank %lld, not %lld", (long long)m, (long long)n, (long long)rank_found, (long long)rank);
    CHECK(residual(zero, a, true, off, false) <= bound, "lstsq of %lld by %lld: gradient %g, bound %g", (long long)m, (long long)n,
          residual(zero, a, true, off, false), bound);
    free(off.at), free(zero.at), free(left.at), free(right.at), free(a.at), free(in[1].at);
    forget(r);
}

static void test_rectangles(sb_dtype dtype) {
    static const int64_t shapes[][2] = {{0, 0}, {3, 0}, {0, 3}, {1, 1}, {5, 3}, {3, 5}, {70, 70}, {140, 66}, {66, 140}, {300, 5}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t m = shapes[i][0], n = shapes[i][1];
        matrix a = random_matrix(dtype, m, n, 31 + i);
        check_qr(dtype, a);
        check_svd("svd", dtype, a, m < 50 && n < 50);
        if (m == n) check_lu(dtype, a);
        for (int64_t j = 0; j < m * n; j++) // few values, dependent rows and columns, zeros
            a.at[j] = (double)((j % (n ? n : 1) % 4) * (j / (n ? n : 1) % 3));
        check_qr(dtype, a);
        check_svd("svd of rank 1", dtype, a, false);
        free(a.at);
    }
    matrix a = random_matrix(dtype, 150, 150, 41);
    check_lu(dtype, a);
    for (int64_t i = 0; i < 150; i++) // graded over 30 binades, two columns alike, one of zeros
        for (int64_t j = 0; j < 150; j++) AT(a, i, j) = j == 7 ? 0 : j == 9 ? AT(a, i, 8) : rounded(dtype, ldexp(AT(a, i, j), (int)(-j % 30)));
    check_svd("svd of graded columns", dtype, a, false);
    free(a.at);
    check_lstsq(dtype, 100, 7, 7);
    check_lstsq(dtype, 90, 70, 20);
    check_lstsq(dtype, 20, 90, 20);
    check_lstsq(dtype, 30, 30, 4);
}

static void test_rectangles_known(sb_context *ctx) {
    // Rank-deficient: X = [x, x], y = x is solved by [.5, .5].
    const double twice[] = {1, 1, 2, 2, 3, 3, 7, 7}, y[] = {1, 2, 3, 7};
    double x[2];
    int64_t rank = 0;
    sb_error err = {0};
    sb_array *a = array_of(ctx, SB_F64, 2, (int64_t[]){4, 2}, twice), *b = array_of(ctx, SB_F64, 1, (int64_t[]){4}, y);
    sb_array *out = array_of(ctx, SB_F64, 1, (int64_t[]){2}, NULL), *s = like(ctx, out);
    CHECK(sb_lstsq(ctx, a, b, 0.0, out, s, &rank, &err) == SB_OK && rank == 1, "%s", err.message);
    sb_array_read(out, x, sizeof x, NULL);
    CHECK(fabs(x[0] - 0.5) < 1e-15 && fabs(x[1] - 0.5) < 1e-15, "%.17g %.17g", x[0], x[1]);
    CHECK(sb_lstsq(ctx, a, b, 1.0, out, s, &rank, &err) == SB_ERR_ARGUMENT && !strcmp(err.argument, "rcond"), "%s", err.message);
    CHECK(sb_lstsq(ctx, a, b, -1.0, out, s, &rank, &err) == SB_ERR_ARGUMENT, "%s", err.message);
    sb_array_free(a), sb_array_free(b), sb_array_free(out), sb_array_free(s);
    // Small singular values that the eigenvalues of a^T a do not have: diag(1, 1e-5, 1e-10, 1e-15), columns turned by 45 degrees.
    const double h = 0.70710678118654752;
    double m[16] = {h, -h, 0, 0, 1e-5 * h, 1e-5 * h, 0, 0, 0, 0, 1e-10 * h, -1e-10 * h, 0, 0, 1e-15 * h, 1e-15 * h}, values[4];
    a = array_of(ctx, SB_F64, 2, (int64_t[]){4, 4}, m);
    s = array_of(ctx, SB_F64, 1, (int64_t[]){4}, NULL);
    CHECK(sb_svd(ctx, a, NULL, s, NULL, &err) == SB_OK, "%s", err.message);
    sb_array_read(s, values, sizeof values, NULL);
    for (int i = 0; i < 3; i++) CHECK(fabs(values[i] - (double[]){1, 1e-5, 1e-10}[i]) < 1e-15, "s[%d] = %.17g", i, values[i]);
    sb_array_free(a), sb_array_free(s);
    // Singular, and named.
    const double singular[] = {1, 2, 3, 2, 4, 6, 1, 1, 1};
    a = array_of(ctx, SB_F64, 2, (int64_t[]){3, 3}, singular);
    b = array_of(ctx, SB_F64, 1, (int64_t[]){3}, NULL);
    CHECK(sb_solve(ctx, NULL, a, b, b, &err) == SB_ERR_SINGULAR && !strcmp(err.argument, "a") && strstr(err.message, "pivot 2"), "%s", err.message);
    sb_array_free(a), sb_array_free(b);
}

// Systems whose solution is known exactly: integers small enough that every step is exact.
static void test_known(sb_context *ctx) {
    const double a[] = {4, 2, -2, 2, 10, 5, -2, 5, 9}, l[] = {2, 0, 0, 1, 3, 0, -1, 2, 2}, b[] = {4, 17, 12};
    double x[3] = {0};
    sb_array *m = array_of(ctx, SB_F64, 2, (int64_t[]){3, 3}, a), *f = like(ctx, m), *v = array_of(ctx, SB_F64, 1, (int64_t[]){3}, b);
    sb_error err = {0};
    CHECK(sb_cholesky(ctx, m, f, &err) == SB_OK && array_is(f, l), "a known factor %s", err.message);
    const sb_solve_options o = {sizeof o, SB_POSITIVE_DEFINITE, 0, 0};
    CHECK(sb_solve(ctx, &o, m, v, v, &err) == SB_OK, "%s", err.message); // in place
    sb_array_read(v, x, sizeof x, NULL);
    CHECK(x[0] == 1 && x[1] == 1 && x[2] == 1, "%g %g %g", x[0], x[1], x[2]);
    sb_array_free(m), sb_array_free(f), sb_array_free(v);
}

static void refused(sb_status status, sb_status expected, const sb_error *err, const char *argument, const char *words) {
    CHECK(status == expected && !strcmp(err->argument, argument) && strstr(err->message, words), "%s %s: %s", sb_status_name(status),
          err->argument, err->message);
}

static void test_refusals(sb_context *ctx) {
    enum { N = 90 };
    matrix a = positive_definite(SB_F64, N, 3);
    sb_error err = {0};
    sb_array *b = array_of(ctx, SB_F64, 1, (int64_t[]){N}, NULL), *x = like(ctx, b);
    const double kept = AT(a, 77, 77);
    AT(a, 77, 77) = -1;
    sb_array *m = to_array(ctx, SB_F64, a), *l = like(ctx, m);
    refused(sb_cholesky(ctx, m, l, &err), SB_ERR_SINGULAR, &err, "a", "row 77");
    const sb_solve_options o = {sizeof o, SB_POSITIVE_DEFINITE, 0, 0}, lower = {sizeof o, SB_LOWER, 0, 0}, unit = {sizeof o, SB_LOWER, 0, 1};
    const sb_solve_options wrong = {sizeof o, (sb_matrix_kind)9, 0, 0}, both = {sizeof o, SB_POSITIVE_DEFINITE, 0, 1};
    refused(sb_solve(ctx, &o, m, b, x, &err), SB_ERR_SINGULAR, &err, "a", "row 77");
    refused(sb_solve(ctx, &wrong, m, b, x, &err), SB_ERR_ARGUMENT, &err, "options", "kind 9");
    refused(sb_solve(ctx, &both, m, b, x, &err), SB_ERR_ARGUMENT, &err, "options", "unit_diagonal");
    sb_array_free(m);
    AT(a, 77, 77) = 0;
    m = to_array(ctx, SB_F64, a);
    refused(sb_solve(ctx, &lower, m, b, x, &err), SB_ERR_SINGULAR, &err, "a", "row 77");
    CHECK(sb_solve(ctx, &unit, m, b, x, &err) == SB_OK, "%s", err.message);
    sb_array_free(m);
    AT(a, 77, 77) = kept;
    AT(a, 81, 5) = INFINITY;
    m = to_array(ctx, SB_F64, a);
    refused(sb_cholesky(ctx, m, l, &err), SB_ERR_NONFINITE, &err, "a", "[81, 5]");
    refused(sb_solve(ctx, &lower, m, b, x, &err), SB_ERR_NONFINITE, &err, "a", "[81, 5]");
    sb_array_free(m);
    AT(a, 81, 5) = 0;
    m = to_array(ctx, SB_F64, a);
    double *values = calloc(N, sizeof *values);
    values[3] = NAN;
    sb_array_write(b, values, N * sizeof *values, NULL);
    refused(sb_solve(ctx, &lower, m, b, x, &err), SB_ERR_NONFINITE, &err, "b", "[3, 0]");
    free(values);
    sb_array_free(m), sb_array_free(l), sb_array_free(b), sb_array_free(x);
    free(a.at);
}

int main(void) {
    static const int64_t sizes[] = {0, 1, 2, 15, 16, 17, 63, 64, 65, 130, 200};
    for (int wide = 0; wide < 2; wide++) {
        const sb_dtype dtype = wide ? SB_F64 : SB_F32;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) test_cholesky(dtype, sizes[i]);
        test_eigh(dtype);
        test_rectangles(dtype);
        test_solve(dtype, 5, 1);
        test_solve(dtype, 70, 3);
        test_solve(dtype, 150, 70);
    }
    sb_context *ctx = NULL;
    CHECK(sb_context_new(NULL, &ctx, NULL) == SB_OK, "a context");
    test_known(ctx);
    test_eigh_known(ctx);
    test_rectangles_known(ctx);
    test_refusals(ctx);
    sb_context_free(ctx);
    return test_end();
}
