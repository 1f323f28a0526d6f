// SPDX-License-Identifier: Apache-2.0
// Gather, take_along, scatter, scatter_add, scan and histogram against loops that follow the contract's text, at every level and
// thread count. (The sums of segments in float32: test_embedding.c; refusals: api_rows.def.)
#include "contexts.h"

static double canonical64(double x) { return x == x ? x : (double)float_of(0x7fc00000u); }

// Rows of `bytes` by int32 and int64 indices, out and back.
static void check_rows(sb_context *ctx, const char *level, sb_dtype dtype, int64_t v, int64_t width, int64_t n) {
    int64_t bytes = width * (int64_t)sb_dtype_size(dtype);
    unsigned char *x = malloc((size_t)(v * bytes + 1)), *out = malloc((size_t)(n * bytes + 1)), *into = malloc((size_t)(v * bytes + 1));
    int64_t *wide = malloc((size_t)(n + 1) * sizeof *wide);
    int32_t *narrow = malloc((size_t)(n + 1) * sizeof *narrow);
    uint64_t seed = (uint64_t)(v * 1000 + n);
    for (int64_t i = 0; i < v * bytes; i++) into[i] = x[i] = (unsigned char)next_word(&seed);
    for (int64_t i = 0; i < n; i++) wide[i] = narrow[i] = (int32_t)(next_word(&seed) % (uint64_t)v);
    for (int64_t i = 0; i < n; i++) memcpy(out + i * bytes, x + wide[i] * bytes, (size_t)bytes);
    for (int64_t i = 0; i < n; i++) memset(out + i * bytes, (int)i, (size_t)(i % 3 ? 0 : bytes)); // (what scatter writes)
    sb_array *table = array_of(ctx, dtype, 2, (int64_t[]){v, width}, x), *got = array_of(ctx, dtype, 2, (int64_t[]){n, width}, NULL);
    sb_array *source = array_of(ctx, dtype, 2, (int64_t[]){n, width}, out);
    sb_array *index[] = {array_of(ctx, SB_I32, 1, &n, narrow), array_of(ctx, SB_I64, 1, &n, wide)};
    for (int64_t i = 0; i < n; i++) memcpy(into + wide[i] * bytes, out + i * bytes, (size_t)bytes);
    for (int64_t i = 0; i < n; i++) memcpy(out + i * bytes, x + wide[i] * bytes, (size_t)bytes);
    for (int k = 0; k < 2; k++) {
        sb_array *target = array_of(ctx, dtype, 2, (int64_t[]){v, width}, x);
        CHECK(sb_gather(ctx, table, index[k], got, NULL) == SB_OK && array_is(got, out), "%s: gather %s [%lld, %lld] of %lld", level,
              sb_dtype_name(dtype), (long long)v, (long long)width, (long long)n);
        CHECK(sb_scatter(ctx, index[k], source, target, NULL) == SB_OK && array_is(target, into), "%s: scatter %s [%lld, %lld] of %lld",
              level, sb_dtype_name(dtype), (long long)v, (long long)width, (long long)n);
        sb_array_free(target);
        sb_array_free(index[k]);
    }
    sb_array_free(table); sb_array_free(got); sb_array_free(source);
    free(x); free(out); free(into); free(wide); free(narrow);
}

static void check_along(sb_context *ctx, const char *level, int64_t rows, int64_t n, int64_t k) {
    double *x = malloc((size_t)(rows * n + 1) * sizeof *x), *out = malloc((size_t)(rows * k + 1) * sizeof *out);
    int32_t *index = malloc((size_t)(rows * k + 1) * sizeof *index);
    uint64_t seed = 3;
    for (int64_t i = 0; i < rows * n; i++) x[i] = (double)next_float(&seed, PLAIN);
    for (int64_t i = 0; i < rows * k; i++) {
        index[i] = (int32_t)(next_word(&seed) % (uint64_t)n);
        out[i] = x[i / k * n + index[i]];
    }
    sb_array *a = array_of(ctx, SB_F64, 2, (int64_t[]){rows, n}, x), *b = array_of(ctx, SB_I32, 2, (int64_t[]){rows, k}, index);
    sb_array *c = array_of(ctx, SB_F64, 2, (int64_t[]){rows, k}, NULL);
    CHECK(sb_take_along(ctx, a, b, c, NULL) == SB_OK && array_is(c, out), "%s: take_along [%lld, %lld] %lld", level, (long long)rows,
          (long long)n, (long long)k);
    sb_array_free(a); sb_array_free(b); sb_array_free(c);
    free(x); free(out); free(index);
}

// Integers and float64 whose every sum is exact: only what is added where can be wrong; and what is accumulated.
static void check_add(sb_context *ctx, const char *level, int64_t v, int64_t width, int64_t n) {
    int64_t *source = malloc((size_t)(n * width + 1) * sizeof *source), *sum = calloc((size_t)(v * width + 1), sizeof *sum);
    double *real = malloc((size_t)(n * width + 1) * sizeof *real), *total = calloc((size_t)(v * width + 1), sizeof *total);
    int64_t *index = malloc((size_t)(n + 1) * sizeof *index);
    uint64_t seed = (uint64_t)n;
    for (int64_t i = 0; i < n; i++) index[i] = (int64_t)(next_word(&seed) % (uint64_t)v);
    for (int64_t i = 0; i < n * width; i++) {
        int64_t at = index[i / width] * width + i % width;
        source[i] = (int64_t)next_word(&seed);
        real[i] = (double)(source[i] >> 30);
        sum[at] = (int64_t)((uint64_t)sum[at] + (uint64_t)source[i]);
        total[at] += real[i];
    }
    sb_array *where = array_of(ctx, SB_I64, 1, &n, index), *a = array_of(ctx, SB_I64, 2, (int64_t[]){n, width}, source);
    sb_array *b = array_of(ctx, SB_F64, 2, (int64_t[]){n, width}, real), *c = array_of(ctx, SB_I64, 2, (int64_t[]){v, width}, NULL);
    sb_array *d = array_of(ctx, SB_F64, 2, (int64_t[]){v, width}, NULL);
    CHECK(sb_scatter_add(ctx, where, a, 0, c, NULL) == SB_OK && array_is(c, sum), "%s: int64 [%lld, %lld]", level, (long long)v, (long long)n);
    CHECK(sb_scatter_add(ctx, where, b, 0, d, NULL) == SB_OK && array_is(d, total), "%s: float64 [%lld, %lld]", level, (long long)v, (long long)n);
    for (int64_t i = 0; i < v * width; i++) {
        sum[i] = (int64_t)(2 * (uint64_t)sum[i]);
        total[i] *= 2;
    }
    CHECK(sb_scatter_add(ctx, where, a, 1, c, NULL) == SB_OK && array_is(c, sum), "%s: int64, accumulated", level);
    CHECK(sb_scatter_add(ctx, where, b, 1, d, NULL) == SB_OK && array_is(d, total), "%s: float64, accumulated", level);
    sb_array_free(where); sb_array_free(a); sb_array_free(b); sb_array_free(c); sb_array_free(d);
    free(source); free(sum); free(real); free(total); free(index);
}

// y_i = RN(RN64(RN64(R + P) + c_i)): chunks of 256, runs of 64 chunks.
static void scan_by_text(int64_t n, int exclusive, int reverse, const float *x, float *narrow, double *wide) {
    double r = 0, p = 0, c = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = reverse ? n - 1 - i : i;
        double before = c;
        c += (double)x[at];
        double base = r + p, value = base + (exclusive ? before : c);
        narrow[at] = canonical((float)value);
        wide[at] = canonical64(value);
        if (i % 256 == 255) { p += c; c = 0; }
        if (i % 16384 == 16383) { r += p; p = 0; }
    }
}

static void check_scan(sb_context *ctx, const char *level, int64_t rows, int64_t n, int kind) {
    size_t size = (size_t)(rows * n + 1);
    float *x = malloc(size * sizeof *x), *narrow = malloc(size * sizeof *narrow);
    double *xd = malloc(size * sizeof *xd), *wide = malloc(size * sizeof *wide);
    int64_t *xl = malloc(size * sizeof *xl), *integers = malloc(size * sizeof *integers);
    uint64_t seed = (uint64_t)(n + kind);
    for (int64_t i = 0; i < rows * n; i++) {
        x[i] = next_float(&seed, kind);
        xd[i] = (double)x[i];
        xl[i] = (int64_t)next_word(&seed);
    }
    for (int way = 0; way < 4; way++) {
        for (int64_t row = 0; row < rows; row++) {
            scan_by_text(n, way % 2, way / 2, x + row * n, narrow + row * n, wide + row * n);
            uint64_t sum = 0;
            for (int64_t i = 0; i < n; i++) {
                int64_t at = row * n + (way / 2 ? n - 1 - i : i);
                uint64_t before = sum;
                sum += (uint64_t)xl[at];
                integers[at] = (int64_t)(way % 2 ? before : sum);
            }
        }
        const int64_t shape[] = {rows, n};
        sb_array *a = array_of(ctx, SB_F32, 2, shape, x), *b = array_of(ctx, SB_F64, 2, shape, xd), *c = array_of(ctx, SB_I64, 2, shape, xl);
        sb_array *y = array_of(ctx, SB_F32, 2, shape, NULL);
        CHECK(sb_scan(ctx, a, way % 2, way / 2, y, NULL) == SB_OK && array_is(y, narrow), "%s: float32 [%lld, %lld] way %d kind %d", level,
              (long long)rows, (long long)n, way, kind);
        CHECK(sb_scan(ctx, b, way % 2, way / 2, b, NULL) == SB_OK && array_is(b, wide), "%s: float64 [%lld, %lld] way %d kind %d", level,
              (long long)rows, (long long)n, way, kind);
        CHECK(sb_scan(ctx, c, way % 2, way / 2, c, NULL) == SB_OK && array_is(c, integers), "%s: int64 [%lld, %lld] way %d", level,
              (long long)rows, (long long)n, way);
        sb_array_free(a); sb_array_free(b); sb_array_free(c); sb_array_free(y);
    }
    free(x); free(narrow); free(xd); free(wide); free(xl); free(integers);
}

static void check_histogram(sb_context *ctx, const char *level, int64_t n, int64_t features, int64_t bins) {
    int64_t *counts = calloc((size_t)(features * bins), sizeof *counts), *sums = calloc((size_t)(features * bins), sizeof *sums);
    int64_t *weights = malloc((size_t)(n + 1) * sizeof *weights);
    int32_t *codes = calloc((size_t)(n * features + 1), sizeof *codes);
    uint8_t *bytes = calloc((size_t)(n * features + 1), 1);
    uint64_t seed = (uint64_t)(n + bins);
    for (int64_t i = 0; i < n; i++) weights[i] = (int64_t)next_word(&seed);
    for (int64_t i = 0; i < n * features; i++) {
        bytes[i] = (uint8_t)(codes[i] = (int32_t)(next_word(&seed) % (uint64_t)bins));
        int64_t at = i % features * bins + codes[i];
        counts[at]++;
        sums[at] = (int64_t)((uint64_t)sums[at] + (uint64_t)weights[i / features]);
    }
    const int64_t shape[] = {n, features}, out[] = {features, bins};
    sb_array *a = array_of(ctx, SB_I32, 2, shape, codes), *b = array_of(ctx, SB_U8, 2, shape, bytes), *w = array_of(ctx, SB_I64, 1, &n, weights);
    sb_array *c = array_of(ctx, SB_I64, 2, out, NULL);
    CHECK(sb_histogram(ctx, a, NULL, c, NULL) == SB_OK && array_is(c, counts), "%s: counts %lld", level, (long long)n);
    CHECK(sb_histogram(ctx, a, w, c, NULL) == SB_OK && array_is(c, sums), "%s: sums %lld", level, (long long)n);
    if (bins <= 256) CHECK(sb_histogram(ctx, b, w, c, NULL) == SB_OK && array_is(c, sums), "%s: sums of bytes %lld", level, (long long)n);
    sb_array_free(a); sb_array_free(b); sb_array_free(w); sb_array_free(c);
    free(counts); free(sums); free(weights); free(codes); free(bytes);
}

int main(void) {
    EACH_CONTEXT(c) {
        static const int64_t widths[] = {1, 2, 7, 64, 5000};
        for (int w = 0; w < 5; w++)
            for (int dtype = 0; dtype < 3; dtype++) check_rows(c.ctx, c.level, (sb_dtype[]){SB_U8, SB_F32, SB_U64}[dtype], 23, widths[w], w ? 50 : 9000);
        check_rows(c.ctx, c.level, SB_F32, 23, 3, 0);
        check_rows(c.ctx, c.level, SB_F32, 23, 0, 4);
        check_histogram(c.ctx, c.level, 40000, 3, 256);
        check_histogram(c.ctx, c.level, 700, 130, 5);
        check_histogram(c.ctx, c.level, 16384, 1, 70000);
        check_histogram(c.ctx, c.level, 0, 2, 3);
        check_along(c.ctx, c.level, 5, 40, 1000);
        check_along(c.ctx, c.level, 300, 3, 1);
        check_add(c.ctx, c.level, 7, 33, 500);
        check_add(c.ctx, c.level, 4000, 1, 9000);
        check_add(c.ctx, c.level, 3, 2, 0);
        for (int kind = PLAIN; kind < NUMBER_KINDS; kind++) {
            check_scan(c.ctx, c.level, 40, 5, kind);
            check_scan(c.ctx, c.level, 3, 256, kind);
            check_scan(c.ctx, c.level, 17, 257, kind);
            check_scan(c.ctx, c.level, 1, 0, kind);
        }
        check_scan(c.ctx, c.level, 2, 40000, PLAIN);
        check_scan(c.ctx, c.level, 1, 16384, WIDE);
    }
    return test_end();
}
