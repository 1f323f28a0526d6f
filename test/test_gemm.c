// SPDX-License-Identifier: Apache-2.0
// Products and dots: bits against the definition of T3 and T2 written as plain loops here, at every level and several
// thread counts, and by the kernels of other devices; the case "row alone and in a batch"; bad input.
#include "array.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;
static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 2685821657736338717u;
}

enum { PLAIN, WIDE, SUBNORMAL, ZEROS, NONFINITE, KINDS };
static float value(int kind) {
    uint64_t u = draw();
    float x = (float)(int32_t)(u >> 32) * 0x1p-30f;
    switch (kind) {
    case WIDE: return ldexpf(x, (int)(u % 80) - 40);
    case SUBNORMAL: return ldexpf(x, -(int)(u % 20) - 60); // products from 2^-120 to below the smallest
    case ZEROS: return u % 3 == 0 ? 0.0f : u % 3 == 1 ? -0.0f : x;
    case NONFINITE: return u % 97 == 0 ? INFINITY : u % 97 == 1 ? -INFINITY : u % 97 == 2 ? -NAN : x;
    default: return x;
    }
}

typedef struct product {
    int64_t m, n, k;
    int ta, tb, flags, kind; // flags: 1 scaled, 2 bias, 4 accumulate
} product;

static float canonical(float x) {
    const uint32_t bits = 0x7fc00000u;
    float nan;
    memcpy(&nan, &bits, sizeof nan);
    return x == x ? x : nan;
}

static void define(const product *p, const float *a, const float *b, const float *bias, float *c) {
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            float sum = 0.0f, run = 0.0f, chunk = 0.0f;
            for (int64_t s = 0; s < p->k; s++) {
                float x = p->ta ? a[s * p->m + i] : a[i * p->k + s], y = p->tb ? b[j * p->k + s] : b[s * p->n + j];
                chunk = fmaf(x, y, chunk);
                if (s % 256 == 255 || s == p->k - 1) {
                    run += chunk;
                    chunk = 0.0f;
                }
                if (s % 16384 == 16383) {
                    sum += run;
                    run = 0.0f;
                }
            }
            sum += run;
            if (p->flags & 1) sum *= 0.3f;
            if (p->flags & 2) sum += bias[j];
            if (p->flags & 4) sum = c[i * p->n + j] + sum;
            c[i * p->n + j] = canonical(sum);
        }
    }
}

static sb_array *array(sb_context *ctx, int ndim, int64_t r, int64_t c, float *data) {
    sb_array *out = NULL;
    const int64_t shape[2] = {r, c};
    CHECK(sb_array_wrap(ctx, SB_F32, ndim, shape, data, &out, NULL) == SB_OK, "wrap");
    return out;
}

static sb_context *contexts[64];
static int context_count;

// The CPU under another name, whose memory is said to be apart while a product is made: so the kernels whose tiles many lanes
// share run at every level, also with their lanes reversed.
static sbi_device elsewhere;

static sb_status gemm(sb_context *ctx, const sb_gemm_options *o, const sb_array *a, const sb_array *b, const sb_array *bias, sb_array *c, sb_error *err) {
    elsewhere.apart = true;
    sb_status status = sb_gemm(ctx, o, a, b, bias, c, err);
    elsewhere.apart = false;
    return status;
}

static float *numbers(int64_t count, int kind) {
    float *x = malloc((size_t)(count + 1) * sizeof *x);
    for (int64_t i = 0; i < count; i++) {
        x[i] = value(kind);
    }
    return x;
}

static void check_product(product p) {
    float *a = numbers(p.m * p.k, p.kind), *b = numbers(p.k * p.n, p.kind), *bias = numbers(p.n, p.kind);
    float *old = numbers(p.m * p.n, PLAIN), *want = malloc((size_t)(p.m * p.n + 1) * 4), *got = malloc((size_t)(p.m * p.n + 1) * 4);
    memcpy(want, old, (size_t)(p.m * p.n) * 4);
    define(&p, a, b, bias, want);
    for (int i = 0; i < context_count; i++) {
        sb_context *ctx = contexts[i];
        memcpy(got, old, (size_t)(p.m * p.n) * 4);
        got[p.m * p.n] = 77.0f;
        sb_array *aa = array(ctx, 2, p.ta ? p.k : p.m, p.ta ? p.m : p.k, a), *bb = array(ctx, 2, p.tb ? p.n : p.k, p.tb ? p.k : p.n, b);
        sb_array *cc = array(ctx, 2, p.m, p.n, got), *ee = p.flags & 2 ? array(ctx, 1, p.n, 0, bias) : NULL;
        const sb_gemm_options o = {sizeof o, p.ta, p.tb, p.flags & 1, 0.3, p.flags >> 2 & 1};
        sb_error err = {0};
        CHECK(gemm(ctx, &o, aa, bb, ee, cc, &err) == SB_OK, "%s", err.message);
        CHECK(memcmp(want, got, (size_t)(p.m * p.n) * 4) == 0 && got[p.m * p.n] == 77.0f,
              "%s, %d threads: %lld %lld %lld, transposed %d %d, flags %d, kind %d", sb_context_isa(ctx), sb_context_threads(ctx),
              (long long)p.m, (long long)p.n, (long long)p.k, p.ta, p.tb, p.flags, p.kind);
        sb_array_free(aa);
        sb_array_free(bb);
        sb_array_free(cc);
        sb_array_free(ee);
    }
    free(a), free(b), free(bias), free(old), free(want), free(got);
}

static void check_products(void) {
    static const int64_t sizes[][3] = {
        {0, 5, 3},    {5, 0, 3},     {2, 2, 0},    {1, 1, 1},      {1, 1, 0},     {2, 3, 1},     {3, 2, 2},
        {5, 7, 3},    {31, 33, 5},   {32, 32, 64}, {33, 31, 65},   {17, 64, 255}, {64, 17, 256}, {48, 50, 257},
        {7, 37, 600}, {1, 40, 700},  {40, 1, 700}, {1, 300, 513},  {300, 1, 31},  {2, 3, 16900}, {1, 5, 16900},
        {3, 1, 33000}, {70, 110, 20}, {15, 16, 12}, {129, 65, 40}, {6, 97, 513}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int way = 0; way < 4; way++) {
            int flags = (int)(i * 5 + (size_t)way * 3) & 7;
            check_product((product){sizes[i][0], sizes[i][1], sizes[i][2], way & 1, way >> 1, flags, PLAIN});
        }
    }
    for (int kind = 0; kind < KINDS; kind++) {
        for (int way = 0; way < 4; way++) {
            check_product((product){19, 37, 300, way & 1, way >> 1, way * 2 + 1, kind});
            check_product((product){1, 37, 300, way & 1, way >> 1, way * 2, kind});
            check_product((product){37, 1, 300, way & 1, way >> 1, way, kind});
        }
    }
}

// Float64 and widened products, batches and products of an array with itself: against the definition in binary64 written
// here, which for float32 rounds each step (24 + 24 bits of a product are exact in binary64, so one rounding by fmaf).
typedef struct form {
    int64_t batch, m, n, k;
    int ta, tb, flags, shared, self; // self: b has the memory of a; where m is n it is a
    sb_dtype data, result;
} form;

static double get(const void *x, sb_dtype type, int64_t i) { return type == SB_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i]; }
static void put(void *x, sb_dtype type, int64_t i, double value) {
    const uint64_t bits = 0x7ff8000000000000u;
    if (type == SB_F32) ((float *)x)[i] = canonical((float)value);
    else if (value == value) ((double *)x)[i] = value;
    else memcpy((double *)x + i, &bits, sizeof bits);
}
static double narrowed(sb_dtype type, double x) { return type == SB_F32 ? (double)(float)x : x; }

static void define_form(const form *f, const void *a, const void *b, const void *bias, void *c) {
    for (int64_t z = 0; z < f->batch; z++)
        for (int64_t i = 0; i < f->m; i++)
            for (int64_t j = 0; j < f->n; j++) {
                double sum = 0, run = 0, chunk = 0;
                for (int64_t s = 0; s < f->k; s++) {
                    const int64_t at_a = z * f->m * f->k + (f->ta ? s * f->m + i : i * f->k + s);
                    const int64_t at_b = (f->shared ? 0 : z * f->k * f->n) + (f->tb ? j * f->k + s : s * f->n + j);
                    const double x = get(a, f->data, at_a), y = get(b, f->data, at_b);
                    chunk = f->result == SB_F32 ? (double)fmaf((float)x, (float)y, (float)chunk) : fma(x, y, chunk);
                    if (s % 256 == 255 || s == f->k - 1) {
                        run = narrowed(f->result, run + chunk);
                        chunk = 0;
                    }
                    if (s % 16384 == 16383) {
                        sum = narrowed(f->result, sum + run);
                        run = 0;
                    }
                }
                const int64_t at = (z * f->m + i) * f->n + j;
                sum = narrowed(f->result, sum + run);
                if (f->flags & 1) sum = narrowed(f->result, sum * narrowed(f->result, 0.3));
                if (f->flags & 2) sum = narrowed(f->result, sum + get(bias, f->result, j));
                if (f->flags & 4) sum = narrowed(f->result, get(c, f->result, at) + sum);
                put(c, f->result, at, sum);
            }
}

static void *values(int64_t count, sb_dtype type) {
    void *x = malloc((size_t)(count + 1) * sizeof(double));
    for (int64_t i = 0; i < count; i++) {
        const double fine = (double)value(ZEROS) * (1.0 + (double)(draw() >> 40) * 0x1p-50);
        if (type == SB_F32) ((float *)x)[i] = (float)fine;
        else ((double *)x)[i] = fine;
    }
    return x;
}

static sb_array *typed(sb_context *ctx, sb_dtype type, int ndim, int64_t first, int64_t r, int64_t c, void *data) {
    sb_array *out = NULL;
    const int64_t shape[3] = {ndim == 3 ? first : ndim == 2 ? r : c, ndim == 3 ? r : c, c};
    CHECK(sb_array_wrap(ctx, type, ndim, shape, data, &out, NULL) == SB_OK, "wrap");
    return out;
}

static void check_form(form f) {
    const int64_t size = f.batch * f.m * f.n;
    const size_t bytes = (size_t)size * sb_dtype_size(f.result);
    const int ndim = f.batch > 1 ? 3 : 2;
    void *a = values(f.batch * (f.self && f.n > f.m ? f.n : f.m) * f.k, f.data), *b = f.self ? a : values(f.batch * f.k * f.n, f.data), *bias = values(f.n, f.result);
    void *old = values(size, f.result), *want = malloc(bytes + 8), *got = malloc(bytes + 8);
    memcpy(want, old, bytes);
    define_form(&f, a, b, bias, want);
    for (int i = 0; i < context_count; i++) {
        sb_context *ctx = contexts[i];
        const char *level = sb_context_isa(ctx);
        if (f.m * f.n * f.k > 20000000 && (strchr("pr", level[0]) || strcmp(level, "v1") == 0)) continue; // (fma emulated: slow)
        memcpy(got, old, bytes);
        memset((char *)got + bytes, 0x55, 8);
        sb_array *aa = typed(ctx, f.data, ndim, f.batch, f.ta ? f.k : f.m, f.ta ? f.m : f.k, a);
        sb_array *bb = f.self && f.m == f.n ? aa : typed(ctx, f.data, f.shared ? 2 : ndim, f.batch, f.tb ? f.n : f.k, f.tb ? f.k : f.n, b);
        sb_array *cc = typed(ctx, f.result, ndim, f.batch, f.m, f.n, got), *ee = f.flags & 2 ? typed(ctx, f.result, 1, 0, 0, f.n, bias) : NULL;
        const sb_gemm_options o = {sizeof o, f.ta, f.tb, f.flags & 1, 0.3, f.flags >> 2 & 1};
        sb_error err = {0};
        CHECK(gemm(ctx, &o, aa, bb, ee, cc, &err) == SB_OK, "%s", err.message);
        CHECK(memcmp(want, got, bytes) == 0 && ((char *)got)[bytes] == 0x55,
              "%s, %d threads: %lld of %lld %lld %lld, transposed %d %d, flags %d, shared %d, self %d, %s to %s", sb_context_isa(ctx),
              sb_context_threads(ctx), (long long)f.batch, (long long)f.m, (long long)f.n, (long long)f.k, f.ta, f.tb, f.flags,
              f.shared, f.self, sb_dtype_name(f.data), sb_dtype_name(f.result));
        sb_array_free(aa);
        if (bb != aa) sb_array_free(bb);
        sb_array_free(cc);
        sb_array_free(ee);
    }
    free(a), free(bias), free(old), free(want), free(got);
    if (!f.self) free(b);
}

static void check_forms(void) {
    static const struct { sb_dtype data, result; } types[] = {{SB_F64, SB_F64}, {SB_F32, SB_F64}, {SB_F32, SB_F32}};
    static const int64_t sizes[][3] = {{0, 5, 3}, {5, 7, 0}, {1, 1, 1}, {31, 33, 5}, {17, 65, 257}, {48, 50, 513}, {1, 300, 513},
                                       {300, 1, 300}, {2, 3, 16900}, {1, 20, 16900}, {3, 7, 33000}, {129, 65, 40}};
    for (int t = 0; t < 3; t++) {
        const sb_dtype data = types[t].data, result = types[t].result;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && t < 2; i++)
            for (int way = 0; way < 4; way++)
                check_form((form){1, sizes[i][0], sizes[i][1], sizes[i][2], way & 1, way >> 1, (int)(i * 5 + (size_t)way * 3) & 7, 0, 0, data, result});
        for (int way = 0; way < 4; way++) {
            check_form((form){3, 5, 37, 300, way & 1, way >> 1, way * 2 + 1, 0, 0, data, result});
            check_form((form){4, 7, 19, 261, way & 1, way >> 1, way * 2 & 7, 1, 0, data, result});
        }
        check_form((form){7, 1, 40, 20, 0, 1, 2, 0, 0, data, result});
        check_form((form){2, 3, 5, 33000, 0, 1, 6, 0, 0, data, result});
        for (int flags = 0; flags < 8; flags += 3) {
            check_form((form){1, 70, 70, 300, 1, 0, flags, 0, 1, data, result});
            check_form((form){1, 131, 131, 40, 0, 1, flags, 0, 1, data, result});
        }
        check_form((form){1, 67, 67, 16500, 1, 0, 7, 0, 1, data, result});
        for (int way = 1; way < 3; way++) { // not symmetric: some rows with all, the same numbers in two shapes
            check_form((form){1, 200, 64, 40, way & 1, way >> 1, 0, 0, 1, data, result});
            check_form((form){1, 70, 131, 40, way & 1, way >> 1, 7, 0, 1, data, result});
        }
    }
}

// Met elsewhere: other bits for a row alone than in its batch.
static void check_rows(void) {
    static float x[2][2] = {{.0451f, -.8093f}, {-.3275f, -.5304f}};
    static float w[4][2] = {{.29f, .05f}, {-.11f, -.29f}, {.05f, .29f}, {-.03f, -.05f}};
    static const uint32_t want[2][4] = {{0xbce0589b, 0x3e6b3fea, 0xbe6e0546, 0x3d2033e8}, {0xbdf8d25e, 0x3e4265ad, 0xbe2e468c, 0x3d14de7e}};
    const sb_gemm_options o = {.size = sizeof o, .transpose_b = 1};
    for (int i = 0; i < context_count; i++) {
        sb_context *ctx = contexts[i];
        sb_array *ww = array(ctx, 2, 4, 2, w[0]);
        for (int64_t batch = 1; batch <= 67; batch += batch < 5 ? 1 : 31) {
            float many[67][2], y[67][4];
            for (int64_t r = 0; r < batch; r++) {
                memcpy(many[r], x[r % 2], sizeof many[r]);
            }
            sb_array *xx = array(ctx, 2, batch, 2, many[0]), *yy = array(ctx, 2, batch, 4, y[0]);
            CHECK(gemm(ctx, &o, xx, ww, NULL, yy, NULL) == SB_OK, "batch %lld", (long long)batch);
            for (int64_t r = 0; r < batch; r++) {
                CHECK(memcmp(y[r], want[r % 2], sizeof y[r]) == 0, "%s: batch %lld, row %lld", sb_context_isa(ctx), (long long)batch, (long long)r);
            }
            float one[4]; // the row as a vector
            sb_array *v = array(ctx, 1, 2, 0, x[1]), *z = array(ctx, 1, 4, 0, one);
            CHECK(gemm(ctx, &o, v, ww, NULL, z, NULL) == SB_OK && memcmp(one, want[1], sizeof one) == 0, "vector");
            CHECK(gemm(ctx, NULL, ww, v, NULL, z, NULL) == SB_OK && memcmp(one, want[1], sizeof one) == 0, "vector on the right");
            sb_array_free(xx), sb_array_free(yy), sb_array_free(v), sb_array_free(z);
        }
        sb_array_free(ww);
    }
}

static double define_sum(const double *x, int64_t n) { // S of T2
    double lanes[32] = {0};
    if (n > 4096) {
        int64_t blocks = (n + 4095) / 4096;
        double *totals = malloc((size_t)blocks * sizeof *totals);
        for (int64_t i = 0; i < blocks; i++) {
            totals[i] = define_sum(x + i * 4096, n - i * 4096 < 4096 ? n - i * 4096 : 4096);
        }
        double total = define_sum(totals, blocks);
        free(totals);
        return total;
    }
    for (int64_t j = 0; j < n; j++) {
        lanes[j % 32] += x[j];
    }
    for (int s = 16; s > 0; s /= 2) {
        for (int i = 0; i < s; i++) {
            lanes[i] += lanes[i + s];
        }
    }
    return lanes[0] + 0.0;
}

static void check_dots(void) {
    static const int64_t sizes[] = {0, 1, 2, 31, 32, 33, 1000, 4095, 4096, 4097, 8192, 12345, 200000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int kind = 0; kind < KINDS; kind++) {
            int64_t n = sizes[i];
            float *a = numbers(n, kind), *b = numbers(n, kind);
            double *terms = malloc((size_t)(n + 1) * sizeof *terms);
            for (int64_t j = 0; j < n; j++) {
                terms[j] = (double)a[j] * (double)b[j];
            }
            float want = canonical((float)define_sum(terms, n)), got;
            for (int c = 0; c < context_count; c++) {
                sb_array *aa = array(contexts[c], 1, n, 0, a), *bb = array(contexts[c], 1, n, 0, b), *out = array(contexts[c], 0, 0, 0, &got);
                CHECK(sb_dot(contexts[c], aa, bb, out, NULL) == SB_OK && memcmp(&got, &want, 4) == 0, "%s: dot of %lld, kind %d: %a, not %a",
                      sb_context_isa(contexts[c]), (long long)n, kind, (double)got, (double)want);
                sb_array_free(aa), sb_array_free(bb), sb_array_free(out);
            }
            free(a), free(b), free(terms);
        }
    }
}

static void check_refusals(void) {
    sb_context *ctx = contexts[0];
    static float data[64];
    static double wide[8];
    sb_error err;
    sb_array *a23 = array(ctx, 2, 2, 3, data), *b34 = array(ctx, 2, 3, 4, data + 8), *c24 = array(ctx, 2, 2, 4, data + 24);
    sb_array *c23 = array(ctx, 2, 2, 3, data + 24), *v3 = array(ctx, 1, 3, 0, data + 40), *v4 = array(ctx, 1, 4, 0, data + 44);
    sb_array *one = array(ctx, 0, 0, 0, data + 60), *inside = array(ctx, 2, 2, 4, data + 10), *d64 = NULL, *cube = NULL;
    const int64_t shape[3] = {2, 2, 2};
    CHECK(sb_array_wrap(ctx, SB_F64, 2, shape, wide, &d64, NULL) == SB_OK, "wrap");
    CHECK(sb_array_wrap(ctx, SB_F32, 3, shape, data, &cube, NULL) == SB_OK, "wrap");
#define REFUSED(call, expected, name) CHECK((call) == expected && strcmp(err.argument, name) == 0, "%s: %s", err.argument, err.message)
    CHECK(sb_gemm(ctx, NULL, a23, b34, NULL, c24, &err) == SB_OK, "%s", err.message);
    REFUSED(sb_gemm(ctx, NULL, b34, a23, NULL, c24, &err), SB_ERR_SHAPE, "b");
    REFUSED(sb_gemm(ctx, NULL, a23, b34, NULL, c23, &err), SB_ERR_SHAPE, "c");
    REFUSED(sb_gemm(ctx, NULL, a23, b34, v3, c24, &err), SB_ERR_SHAPE, "bias");
    REFUSED(sb_gemm(ctx, NULL, a23, v3, NULL, v4, &err), SB_ERR_SHAPE, "c");
    REFUSED(sb_gemm(ctx, NULL, v3, v4, NULL, one, &err), SB_ERR_SHAPE, "b");
    REFUSED(sb_gemm(ctx, NULL, cube, b34, NULL, c24, &err), SB_ERR_SHAPE, "b");
    REFUSED(sb_gemm(ctx, NULL, a23, cube, NULL, c24, &err), SB_ERR_SHAPE, "b");
    REFUSED(sb_gemm(ctx, NULL, cube, cube, NULL, c24, &err), SB_ERR_SHAPE, "c");
    REFUSED(sb_gemm(ctx, NULL, d64, b34, NULL, c24, &err), SB_ERR_DTYPE, "b");
    REFUSED(sb_gemm(ctx, NULL, a23, b34, NULL, d64, &err), SB_ERR_SHAPE, "c");
    REFUSED(sb_gemm(ctx, NULL, d64, d64, NULL, c24, &err), SB_ERR_DTYPE, "c");
    CHECK(sb_gemm(ctx, NULL, a23, b34, NULL, inside, &err) == SB_ERR_OVERLAP, "%s", err.message);
    CHECK(sb_gemm(ctx, NULL, NULL, b34, NULL, c24, &err) == SB_ERR_ARGUMENT, "%s", err.message);
    CHECK(sb_gemm(ctx, NULL, a23, b34, NULL, NULL, NULL) == SB_ERR_ARGUMENT, "c");
    REFUSED(sb_dot(ctx, v3, v4, one, &err), SB_ERR_SHAPE, "b");
    REFUSED(sb_dot(ctx, v3, v3, v4, &err), SB_ERR_SHAPE, "out");
    REFUSED(sb_dot(ctx, d64, v3, one, &err), SB_ERR_DTYPE, "b");
    sb_array_free(a23), sb_array_free(b34), sb_array_free(c24), sb_array_free(c23), sb_array_free(v3), sb_array_free(v4);
    sb_array_free(one), sb_array_free(inside), sb_array_free(d64), sb_array_free(cube);
}

int main(void) {
    elsewhere = sbi_cpu;
    elsewhere.name = "elsewhere";
    static const char *const levels[] = {NULL, "plain", "reverse", "v1", "v3", "v4", "neon"};
    static const int threads[] = {1, 2, 3, 7};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        for (size_t j = 0; j < sizeof threads / sizeof *threads; j++) {
            const sb_context_options o = {.size = sizeof o, .isa = levels[i], .threads = threads[j]};
            if (sb_context_new(&o, &contexts[context_count], NULL) == SB_OK) {
                context_count++;
            }
        }
        const sb_context_options o = {.size = sizeof o, .isa = levels[i], .threads = 2};
        if (sb_context_new(&o, &contexts[context_count], NULL) == SB_OK) {
            contexts[context_count++]->device = &elsewhere;
        }
    }
    CHECK(context_count >= 12, "%d contexts", context_count);
    check_products();
    check_forms();
    check_rows();
    check_dots();
    check_refusals();
    for (int i = 0; i < context_count; i++) {
        sb_context_free(contexts[i]);
    }
    return test_end();
}
