// SPDX-License-Identifier: Apache-2.0
// Faults that people met elsewhere, with the right value: the small inputs of docs/cases.md that belong to operations, at
// every CPU level and several thread counts. How each value was established stands beside it.
#include "contexts.h"

#include <float.h>
#include <math.h>

static sb_error err;
#define DO(call) CHECK((call) == SB_OK, "%s: %s", c.level, err.message)
#define SHAPE(...) (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)), (int64_t[]){__VA_ARGS__}

static double read_real(const sb_array *a) {
    float narrow = 0;
    double wide = 0;
    if (sb_array_dtype(a) == SB_F32)
        sb_array_read(a, &narrow, sizeof narrow, &err), wide = (double)narrow;
    else
        sb_array_read(a, &wide, sizeof wide, &err);
    return wide;
}

static uint32_t narrow_bits(double value) { return bits_of_float((float)value); }
static uint64_t wide_bits(double value) { uint64_t u; memcpy(&u, &value, 8); return u; }

// Float32 ones: a float32 accumulator sticks at 2^24. Exact: the count.
static void stuck_sum(void) {
    const int64_t rows = 20000000;
    float *ones = malloc((size_t)rows * 2 * sizeof *ones);
    for (int64_t i = 0; i < 2 * rows; i++) ones[i] = 1.0f;
    for (int threads = 1; threads <= 2; threads++) {
        const sb_context_options options = {.size = sizeof options, .device = "cpu", .threads = threads};
        context_walk c = {.level = "best"};
        DO(sb_context_new(&options, &c.ctx, &err));
        sb_array *x = NULL, *y = NULL, *sums = array_of(c.ctx, SB_F32, SHAPE(2), NULL), *mean = array_of(c.ctx, SB_F32, 0, NULL, NULL);
        DO(sb_array_wrap(c.ctx, SB_F32, SHAPE(rows, 2), ones, &x, &err));
        DO(sb_array_wrap(c.ctx, SB_F32, SHAPE(2 * rows), ones, &y, &err));
        DO(sb_reduce(c.ctx, SB_SUM, 0, x, sums, &err));
        CHECK(array_is(sums, (float[]){2e7f, 2e7f}), "column sums of 20,000,000 ones");
        DO(sb_reduce(c.ctx, SB_MEAN, 0, y, mean, &err));
        CHECK(read_real(mean) == 1.0, "the mean of 40,000,000 ones is %.9g", read_real(mean));
        sb_array_free(x), sb_array_free(y), sb_array_free(sums), sb_array_free(mean);
        sb_context_free(c.ctx);
    }
    free(ones);
}

// A column of one value has that mean and no spread, whatever its rounding errors; a true spread of 1e-10 is one. By definition.
static void constant_column(context_walk c) {
    const struct { double value; int64_t rows; } columns[] = {
        {14.62, 1000}, {-11.512925464970229, 8}, {-11.512925464970229, 22}, {1.79769313e301, 5000}};
    for (int i = 0; i < 4; i++)
        for (int wide = 0; wide < 2; wide++) {
            if (!wide && columns[i].value > 1e38) continue;
            int64_t n = columns[i].rows;
            double *doubles = malloc((size_t)n * sizeof *doubles);
            float *floats = malloc((size_t)n * sizeof *floats);
            for (int64_t r = 0; r < n; r++) doubles[r] = columns[i].value, floats[r] = wide ? 0 : (float)columns[i].value;
            sb_dtype dtype = wide ? SB_F64 : SB_F32;
            sb_array *x = array_of(c.ctx, dtype, SHAPE(n, 1), wide ? (void *)doubles : floats);
            sb_array *mean = array_of(c.ctx, SB_F64, SHAPE(1), NULL), *variance = array_of(c.ctx, dtype, SHAPE(1), NULL);
            DO(sb_variance(c.ctx, 0, 0, x, mean, variance, &err));
            CHECK(read_real(mean) == (wide ? doubles[0] : (double)floats[0]) && wide_bits(read_real(variance)) == 0,
                  "%s: %g, %lld times: mean %.17g, variance %g", c.level, columns[i].value, (long long)n, read_real(mean), read_real(variance));
            if (wide && columns[i].value == 14.62) {
                for (int64_t r = 0; r < n; r++) doubles[r] += r % 2 ? 1e-10 : -1e-10;
                DO(sb_array_write(x, doubles, (size_t)n * sizeof *doubles, &err));
                DO(sb_deviation(c.ctx, 0, 0, x, mean, variance, &err));
                CHECK(fabs(read_real(variance) / 1e-10 - 1) < 1e-4, "%s: a spread of 1e-10 is %g", c.level, read_real(variance));
            }
            sb_array_free(x), sb_array_free(mean), sb_array_free(variance);
            free(doubles), free(floats);
        }
}

// Differences first, in binary64: the expansion aa - 2ab + bb gives 118 and NaN elsewhere. Exact by integers.
static void distance(context_walk c) {
    const struct { float a, b; int64_t n; uint32_t bits; } cases[] = {{1.0f, 1.1f, 1000000, 0x42c80003}, {1.0f, 1.001f, 1000, 0x3d01886f}};
    for (int i = 0; i < 2; i++) {
        double difference = (double)cases[i].a - (double)cases[i].b, squares = 0;
        double *all = malloc((size_t)cases[i].n * sizeof *all);
        for (int64_t j = 0; j < cases[i].n; j++) all[j] = difference;
        sb_array *d = array_of(c.ctx, SB_F64, SHAPE(cases[i].n), all);
        DO(sb_sum_squares(c.ctx, d, &squares, &err));
        CHECK(narrow_bits(sqrt(squares)) == cases[i].bits, "%s: %08x", c.level, narrow_bits(sqrt(squares)));
        sb_array_free(d);
        free(all);
    }
}

// 1 - cosine of nearly parallel vectors, the dots in binary64; the cosine of a vector with itself is 1. mpmath.
static void cosine(context_walk c) {
    const float uv[2][3] = {{-.30039746f, -.13594460f, .58292344f}, {-.65563949f, -.29700866f, 1.27146813f}};
    double wide[2][3], dots[3];
    for (int i = 0; i < 6; i++) wide[i / 3][i % 3] = (double)uv[i / 3][i % 3];
    sb_array *u = array_of(c.ctx, SB_F64, SHAPE(3), wide[0]), *v = array_of(c.ctx, SB_F64, SHAPE(3), wide[1]),
             *out = array_of(c.ctx, SB_F64, 0, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        DO(sb_dot(c.ctx, i < 2 ? u : v, i < 1 ? u : v, out, &err)); // uu, uv, vv
        dots[i] = read_real(out);
    }
    CHECK(narrow_bits(1.0 - dots[1] / sqrt(dots[0] * dots[2])) == 0x33a524b8, "%s: %08x", c.level,
          narrow_bits(1.0 - dots[1] / sqrt(dots[0] * dots[2])));
    CHECK(dots[0] / sqrt(dots[0] * dots[0]) == 1.0, "%s: with itself", c.level);
    sb_array_free(u), sb_array_free(v), sb_array_free(out);
}

// A row alone has the bits that it has in any batch: those of the chain of fma.
static void row_alone(context_walk c) {
    const float x[2][2] = {{.0451f, -.8093f}, {-.3275f, -.5304f}};
    const float w[4][2] = {{.29f, .05f}, {-.11f, -.29f}, {.05f, .29f}, {-.03f, -.05f}};
    const uint32_t y[2][4] = {{0xbce0589b, 0x3e6b3fea, 0xbe6e0546, 0x3d2033e8}, {0xbdf8d25e, 0x3e4265ad, 0xbe2e468c, 0x3d14de7e}};
    const sb_gemm_options options = {.size = sizeof options, .transpose_b = 1};
    sb_array *b = array_of(c.ctx, SB_F32, SHAPE(4, 2), w);
    for (int64_t batch = 1; batch <= 9; batch++) {
        float rows[9][2];
        uint32_t expected[9][4];
        for (int64_t r = 0; r < batch; r++) memcpy(rows[r], x[r % 2], sizeof rows[r]), memcpy(expected[r], y[r % 2], sizeof expected[r]);
        sb_array *a = array_of(c.ctx, SB_F32, SHAPE(batch, 2), rows), *out = array_of(c.ctx, SB_F32, SHAPE(batch, 4), NULL);
        DO(sb_gemm(c.ctx, &options, a, b, NULL, out, &err));
        CHECK(array_is(out, expected), "%s: a batch of %lld", c.level, (long long)batch);
        sb_array_free(a), sb_array_free(out);
    }
    sb_array_free(b);
}

// Binary64 functions are the same on every CPU. mpmath: these are also the correctly rounded values.
static void functions(context_walk c) {
    const struct { sb_unary_kind kind; double x; uint64_t bits; } cases[] = {
        {SB_SIN, 0.78539816339744828, 0x3fe6a09e667f3bcc}, {SB_EXP, 12.312, 0x410b2461c6e1a9d2},
        {SB_LOG, 1332.312, 0x401cc757d98cbc78}, {SB_LOG, 1e4, 0x40226bb1bbb55516}};
    for (int i = 0; i < 4; i++) {
        sb_array *x = array_of(c.ctx, SB_F64, SHAPE(1), &cases[i].x);
        DO(sb_unary(c.ctx, cases[i].kind, x, x, &err));
        CHECK(wide_bits(read_real(x)) == cases[i].bits, "%s: case %d is %016llx", c.level, i, (unsigned long long)wide_bits(read_real(x)));
        sb_array_free(x);
    }
}

// Flush-to-zero set by another library: subnormals are kept, and the caller's mode is as it was.
static void flushed(context_walk c) {
    float x[2] = {FLT_MIN, -FLT_MIN};
    sb_array *a = array_of(c.ctx, SB_F32, SHAPE(2), x);
    set_caller_mode(HOSTILE_MODE);
    sb_status status = sb_scale(c.ctx, a, 0.5, a, &err);
    unsigned mode = caller_mode();
    set_caller_mode(USUAL_MODE);
    CHECK(status == SB_OK && array_is(a, (uint32_t[]){0x00400000, 0x80400000}), "%s: FLT_MIN / 2", c.level);
    CHECK(mode == caller_mode() || mode == (HOSTILE_MODE & 0xffc0u), "%s: the caller's mode is %x", c.level, mode);
    sb_array_free(a);
}

// Ties by the lowest index, NaN last in both directions, both zeros alike. By hand.
static void order(context_walk c) {
    const float nan = float_of(0x7fc00000), infinity = float_of(0x7f800000);
    const struct { int64_t n; float x[9]; int descending; int64_t order[9]; } sorts[] = {
        {6, {1, 2, 3, 3, 2, 1}, 0, {0, 5, 1, 4, 2, 3}},
        {9, {3, 1, 4, 1, 5, 9, 2, 6, 5}, 0, {1, 3, 6, 0, 2, 4, 8, 7, 5}},
        {6, {nan, 1, -nan, infinity, -infinity, 1}, 0, {4, 1, 5, 3, 0, 2}},
        {6, {nan, 1, -nan, infinity, -infinity, 1}, 1, {3, 1, 5, 4, 0, 2}},
        {4, {0.0f, -0.0f, 0.0f, -0.0f}, 0, {0, 1, 2, 3}}};
    for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++) {
        sb_array *x = array_of(c.ctx, SB_F32, SHAPE(sorts[i].n), sorts[i].x), *at = array_of(c.ctx, SB_I64, SHAPE(sorts[i].n), NULL);
        DO(sb_argsort(c.ctx, x, sorts[i].descending, at, &err));
        CHECK(array_is(at, sorts[i].order), "%s: argsort %zu", c.level, i);
        sb_array_free(x), sb_array_free(at);
    }
    const float ties[6] = {3, 2, 3, 2, 1, 1}, distances[2] = {1, 1};
    sb_array *x = array_of(c.ctx, SB_F32, SHAPE(6), ties), *values = array_of(c.ctx, SB_F32, SHAPE(2), NULL),
             *at = array_of(c.ctx, SB_I64, SHAPE(2), NULL), *y = array_of(c.ctx, SB_F32, SHAPE(2), distances),
             *one = array_of(c.ctx, SB_I64, 0, NULL, NULL);
    int64_t nearest = -1;
    DO(sb_top_k(c.ctx, x, 2, 1, values, at, &err));
    CHECK(array_is(at, (int64_t[]){0, 2}) && array_is(values, (float[]){3, 3}), "%s: top 2", c.level);
    DO(sb_reduce(c.ctx, SB_ARGMIN, SB_ALL, y, one, &err)); // of two neighbors at one distance, the first
    DO(sb_array_read(one, &nearest, sizeof nearest, &err));
    CHECK(nearest == 0, "%s: the nearest is %lld", c.level, (long long)nearest);
    sb_array_free(x), sb_array_free(values), sb_array_free(at), sb_array_free(y), sb_array_free(one);
}

// A row of attention or softmax in which every key is masked is zeros, never NaN.
static void masked(context_walk c) {
    float scores[6], values[8], zeros[6] = {0};
    for (int i = 0; i < 6; i++) scores[i] = float_of(0xff800000);
    for (int i = 0; i < 8; i++) values[i] = float_of(0x7fc00000);
    sb_array *x = array_of(c.ctx, SB_F32, SHAPE(2, 3), scores), *y = array_of(c.ctx, SB_F32, SHAPE(2, 3), NULL);
    DO(sb_softmax(c.ctx, x, y, &err));
    CHECK(array_is(y, zeros), "%s: softmax", c.level);
    sb_array *q = array_of(c.ctx, SB_F32, SHAPE(1, 1, 1, 4), values), *k = array_of(c.ctx, SB_F32, SHAPE(1, 2, 1, 4), values),
             *out = array_of(c.ctx, SB_F32, SHAPE(1, 1, 1, 4), NULL), *mask = array_of(c.ctx, SB_U8, SHAPE(1, 2), NULL);
    const sb_attention_options options = {.size = sizeof options, .mask = mask};
    DO(sb_attention(c.ctx, &options, q, k, k, out, NULL, NULL, &err));
    CHECK(array_is(out, zeros), "%s: attention", c.level);
    sb_array_free(x), sb_array_free(y), sb_array_free(q), sb_array_free(k), sb_array_free(out), sb_array_free(mask);
}

// The mean loss of unequal batches is over all tokens: 10 of 2.0 and 100 of 1.0 are 12/11, not 1.5.
static void unequal_batches(context_walk c) {
    double losses[110], total = 0, part[2];
    for (int i = 0; i < 110; i++) losses[i] = i < 10 ? 2.0 : 1.0;
    sb_array *all = array_of(c.ctx, SB_F64, SHAPE(110), losses), *few = NULL, *many = NULL;
    DO(sb_array_slice(all, 0, 10, &few, &err));
    DO(sb_array_slice(all, 10, 100, &many, &err));
    DO(sb_total(c.ctx, few, &part[0], &err));
    DO(sb_total(c.ctx, many, &part[1], &err));
    DO(sb_total(c.ctx, all, &total, &err));
    CHECK((part[0] + part[1]) / 110 == 12.0 / 11.0 && total / 110 == 12.0 / 11.0, "%s: %.17g", c.level, total / 110);
    sb_array_free(all), sb_array_free(few), sb_array_free(many);
}

// Sizes above 2^31, and products that leave 64 bits: a named error before anything is allocated.
static void large_sizes(context_walk c) {
    const int64_t pairs = 7200660015;
    sb_array *a = NULL;
    CHECK(sb_array_new(c.ctx, SB_F64, SHAPE(INT64_C(1) << 28, pairs), &a, &err) == SB_ERR_SIZE && !a, "%s", err.message);
    CHECK(sb_array_new(c.ctx, SB_U8, SHAPE(INT64_C(1) << 32, INT64_C(1) << 32), &a, &err) == SB_ERR_SIZE && !a, "%s", err.message);
    DO(sb_array_new(c.ctx, SB_F32, SHAPE(0, pairs), &a, &err)); // nothing, of that width
    CHECK(sb_array_shape(a)[1] == pairs && sb_array_size(a) == 0, "%s", c.level);
    sb_array_free(a);
}

int main(void) {
    stuck_sum();
    EACH_CONTEXT(c) {
        if (c.threads == 7) continue;
        constant_column(c);
        distance(c);
        cosine(c);
        row_alone(c);
        functions(c);
        flushed(c);
        order(c);
        masked(c);
        unequal_batches(c);
        large_sizes(c);
    }
    double real; // thresholds as text keep their bits
    CHECK(sb_parse_real("0.671", &real, &err) == SB_OK && wide_bits(real) == 0x3fe578d4fdf3b646, "%016llx", (unsigned long long)wide_bits(real));
    CHECK(sb_parse_real("20180131", &real, &err) == SB_OK && real == 20180131.0, "%.17g", real);
    return test_end();
}
