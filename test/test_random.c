// SPDX-License-Identifier: Apache-2.0
// Random numbers (contract T11): the published answers of Philox 4x32-10, the contract's own, a cipher written again
// from the paper, draws that do not depend on where a call begins or on level and threads, and bad input.
#include "contexts.h"

#include <mpfr.h>

// Philox 4x32-10 from the paper: the round as a function of the counter, the key bumped between rounds.
static void philox_by_text(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t x[4], k[2] = {key[0], key[1]};
    memcpy(x, counter, sizeof x);
    for (int round = 0; round < 10; round++) {
        uint64_t first = (uint64_t)x[0] * 0xd2511f53u, second = (uint64_t)x[2] * 0xcd9e8d57u;
        uint32_t y[4] = {(uint32_t)(second >> 32) ^ x[1] ^ k[0], (uint32_t)second, (uint32_t)(first >> 32) ^ x[3] ^ k[1], (uint32_t)first};
        memcpy(x, y, sizeof x);
        k[0] += 0x9e3779b9u;
        k[1] += 0xbb67ae85u;
    }
    memcpy(out, x, sizeof x);
}

static uint32_t draw_32(uint64_t seed, uint64_t stream, uint64_t i) {
    uint32_t w[4];
    uint64_t b = i / 4;
    philox_by_text((uint32_t[]){(uint32_t)b, (uint32_t)(b >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)},
                   (uint32_t[]){(uint32_t)seed, (uint32_t)(seed >> 32)}, w);
    return w[i % 4];
}
static uint64_t draw_64(uint64_t seed, uint64_t stream, uint64_t i) {
    uint32_t w[4];
    uint64_t b = i / 2;
    philox_by_text((uint32_t[]){(uint32_t)b, (uint32_t)(b >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)},
                   (uint32_t[]){(uint32_t)seed, (uint32_t)(seed >> 32)}, w);
    return i % 2 ? w[2] | (uint64_t)w[3] << 32 : w[0] | (uint64_t)w[1] << 32;
}

// floor(u n / 2^64) by long multiplication, bit by bit.
static int64_t integer_by_text(uint64_t u, uint64_t n) {
    uint64_t high = 0, low = 0;
    for (int bit = 63; bit >= 0; bit--) {
        high = high << 1 | low >> 63;
        low <<= 1;
        if (n >> bit & 1) {
            low += u;
            high += low < u;
        }
    }
    return (int64_t)high;
}

static void test_known_answers(sb_context *ctx) {
    uint32_t out[4];
    philox_by_text((uint32_t[]){0, 0, 0, 0}, (uint32_t[]){0, 0}, out);
    CHECK(out[0] == 0x6627e8d5u && out[1] == 0xe169c58du && out[2] == 0xbc57ac4cu && out[3] == 0x9b00dbd8u, "zeros");
    const uint32_t ones = 0xffffffffu;
    philox_by_text((uint32_t[]){ones, ones, ones, ones}, (uint32_t[]){ones, ones}, out);
    CHECK(out[0] == 0x408f276du && out[1] == 0x41c83b0eu && out[2] == 0xa20bc7c6u && out[3] == 0x6d5451fdu, "ones");

    static const uint32_t words[] = {0x67ee6f2c, 0xe55410cc, 0x6c7eca35, 0x557398d3, 0xe5dde940};
    static const uint64_t pairs[] = {0xe55410cc67ee6f2c, 0x557398d36c7eca35};
    static const int64_t digits[] = {8, 3, 3, 1, 9, 8, 4, 9, 1, 8}, order[] = {3, 1, 2, 6, 5, 0, 4, 7};
    static const uint32_t zero[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    struct { sb_dtype dtype; int64_t count; const void *answer; } rows[] = {
        {SB_U32, 5, words}, {SB_U64, 2, pairs}, {SB_I64, 10, digits}, {SB_I64, 8, order}, {SB_U32, 4, zero}};
    for (int k = 0; k < 5; k++) {
        sb_array *a = array_of(ctx, rows[k].dtype, 1, (int64_t[]){rows[k].count}, NULL);
        sb_status status = k < 2    ? sb_random_bits(ctx, 42, 7, 0, a, NULL)
                           : k == 2 ? sb_random_integers(ctx, 42, 7, 0, 10, a, NULL)
                           : k == 3 ? sb_random_permutation(ctx, 42, 7, a, NULL)
                                    : sb_random_bits(ctx, 0, 0, 0, a, NULL);
        CHECK(status == SB_OK && array_is(a, rows[k].answer), "known answer %d", k);
        sb_array_free(a);
    }
}

// Whether the normal distribution function of the number halfway between two floats is below p = (u + 1/2) / 2^32.
static bool below(float a, float b, uint32_t u) {
    mpfr_t x, p;
    mpfr_init2(x, 200);
    mpfr_init2(p, 200);
    mpfr_set_d(x, ((double)a + (double)b) / -2.0, MPFR_RNDN); // exact
    mpfr_sqrt_ui(p, 2, MPFR_RNDN);
    mpfr_div(x, x, p, MPFR_RNDN);
    mpfr_erfc(x, x, MPFR_RNDN); // 2 Phi(z) = erfc(-z / sqrt 2)
    mpfr_set_d(p, ((double)u + 0.5) * 0x1p-31, MPFR_RNDN);
    bool less = mpfr_cmp(x, p) < 0;
    mpfr_clear(x);
    mpfr_clear(p);
    return less;
}

// The float nearest to the inverse: p lies between the distribution function at its two midpoints.
static void check_normal(sb_context *ctx, const char *level, int64_t start, int64_t n, bool prove) {
    static float first[4096];
    sb_array *a = array_of(ctx, SB_F32, 1, &n, NULL);
    float *z = malloc((size_t)(n + 1) * sizeof *z);
    CHECK(sb_random_normal(ctx, 5, 6, start, a, NULL) == SB_OK, "normal");
    sb_array_read(a, z, (size_t)n * sizeof *z, NULL);
    for (int64_t k = 0; k < n && prove; k++) {
        uint32_t u = draw_32(5, 6, (uint64_t)(start + k)), bits = bits_of_float(z[k]);
        float less = float_of(bits & 0x80000000u ? bits + 1 : bits - 1), more = float_of(bits & 0x80000000u ? bits - 1 : bits + 1);
        CHECK(below(less, z[k], u) && !below(z[k], more, u), "normal of %08x is %a", u, (double)z[k]);
        first[k] = z[k];
    }
    CHECK(memcmp(first, z, (size_t)n * sizeof *z) == 0, "%s: normal draws from %lld", level, (long long)start);
    sb_array_free(a);
    free(z);
}

static const int64_t starts[] = {0, 1, 3, 5, 511, 1023, 1024, 1025, 0x3fffffffe, 0x400000001, (int64_t)1 << 62};
static const uint64_t bounds[] = {1, 2, 10, 1000003, (uint64_t)1 << 40, INT64_MAX};

static void check_draws(sb_context *ctx, const char *level, int64_t start, int64_t n) {
    const uint64_t seed = 0x9d2c5680a1b2c3d4u, stream = 0x100000007u;
    size_t count = (size_t)n + 1;
    uint32_t *w32 = malloc(count * 4);
    uint64_t *w64 = malloc(count * 8);
    float *f32 = malloc(count * 4);
    double *f64 = malloc(count * 8);
    int64_t *whole = malloc(count * 8);
    uint64_t bound = bounds[(uint64_t)(start ^ n) % 6];
    for (int64_t k = 0; k < n; k++) {
        w32[k] = draw_32(seed, stream, (uint64_t)(start + k));
        w64[k] = draw_64(seed, stream, (uint64_t)(start + k));
        f32[k] = (float)(w32[k] / 256) / 16777216.0f;
        f64[k] = (double)(w64[k] / 2048) / 9007199254740992.0;
        whole[k] = integer_by_text(w64[k], bound);
        CHECK(whole[k] >= 0 && whole[k] < (int64_t)bound, "the test's own integer");
    }
    const int64_t shape[] = {n};
    sb_array *a = array_of(ctx, SB_U32, 1, shape, NULL), *b = array_of(ctx, SB_U64, 1, shape, NULL);
    sb_array *c = array_of(ctx, SB_F32, 1, shape, NULL), *d = array_of(ctx, SB_F64, 1, shape, NULL);
    sb_array *e = array_of(ctx, SB_I64, 1, shape, NULL);
    CHECK(sb_random_bits(ctx, seed, stream, start, a, NULL) == SB_OK && array_is(a, w32), "%s u32 %lld", level, (long long)start);
    CHECK(sb_random_bits(ctx, seed, stream, start, b, NULL) == SB_OK && array_is(b, w64), "%s u64 %lld", level, (long long)start);
    CHECK(sb_random_uniform(ctx, seed, stream, start, c, NULL) == SB_OK && array_is(c, f32), "%s f32 %lld", level, (long long)start);
    CHECK(sb_random_uniform(ctx, seed, stream, start, d, NULL) == SB_OK && array_is(d, f64), "%s f64 %lld", level, (long long)start);
    CHECK(sb_random_integers(ctx, seed, stream, start, (int64_t)bound, e, NULL) == SB_OK && array_is(e, whole), "%s integers below %llu from %lld", level, (unsigned long long)bound, (long long)start);
    sb_array_free(a); sb_array_free(b); sb_array_free(c); sb_array_free(d); sb_array_free(e);
    free(w32); free(w64); free(f32); free(f64); free(whole);
}

// Dropout: draw by draw, parts as the whole, both types; integers of 32 bits are those of 64.
static void check_dropout(sb_context *ctx, const char *level, int64_t start, int64_t n) {
    static const struct { float p; uint32_t threshold; float factor; } shares[] = {
        {0.0f, 0, 1.0f}, {0.5f, 1u << 23, 2.0f}, {0.25f, 1u << 22, 0x1.555556p0f}, {0x1.8p-24f, 2, 0x1.000002p0f}, // a tie: 1.5 to 2
        {0x1.4p-22f, 5, 0x1.000006p0f}};                                   // 5, exactly; 1 + 5 2^-24 + ..., above the tie at 2.5 ulp
    float *x = malloc((size_t)(n + 1) * sizeof *x), *y = malloc((size_t)(n + 1) * sizeof *y);
    double *xd = malloc((size_t)(n + 1) * sizeof *xd), *yd = malloc((size_t)(n + 1) * sizeof *yd);
    uint64_t seed = 5;
    for (int64_t i = 0; i < n; i++) xd[i] = (double)(x[i] = next_float(&seed, ALL_BITS));
    sb_array *a = array_of(ctx, SB_F32, 1, &n, x), *b = array_of(ctx, SB_F32, 1, &n, NULL), *front = NULL, *back = NULL, *to_front = NULL, *to_back = NULL;
    sb_array *c = array_of(ctx, SB_F64, 1, &n, xd);
    sb_array_slice(a, 0, n / 3, &front, NULL);
    sb_array_slice(a, n / 3, n - n / 3, &back, NULL);
    sb_array_slice(b, 0, n / 3, &to_front, NULL);
    sb_array_slice(b, n / 3, n - n / 3, &to_back, NULL);
    for (int k = 0; k < 5; k++) {
        for (int64_t i = 0; i < n; i++) {
            float kept = x[i] * shares[k].factor;
            y[i] = draw_32(8, 9, (uint64_t)(start + i)) / 256 >= shares[k].threshold ? canonical(kept) : 0.0f;
        }
        double p = (double)shares[k].p;
        CHECK(sb_dropout(ctx, a, p, 8, 9, start, b, NULL) == SB_OK && array_is(b, y), "%s: dropout %g from %lld", level, p, (long long)start);
        CHECK(sb_dropout(ctx, back, p, 8, 9, start + n / 3, to_back, NULL) == SB_OK && sb_dropout(ctx, front, p, 8, 9, start, to_front, NULL) == SB_OK &&
              array_is(b, y), "%s: dropout in parts", level);
    }
    for (int64_t i = 0; i < n; i++) {
        double kept = xd[i] * (1.0 / (1.0 - 0.3));
        yd[i] = draw_32(8, 9, (uint64_t)(start + i)) / 256 >= 5033165u ? (kept == kept ? kept : (double)float_of(0x7fc00000u)) : 0.0; // 0.3 2^24 = 5033164.8
    }
    CHECK(sb_dropout(ctx, c, 0.3, 8, 9, start, c, NULL) == SB_OK && array_is(c, yd), "%s: dropout, float64", level);
    sb_array *narrow = array_of(ctx, SB_I32, 1, &n, NULL);
    int32_t *integers = malloc((size_t)(n + 1) * sizeof *integers);
    for (int64_t i = 0; i < n; i++) integers[i] = (int32_t)integer_by_text(draw_64(8, 9, (uint64_t)(start + i)), (uint64_t)1 << 31);
    CHECK(sb_random_integers(ctx, 8, 9, start, (int64_t)1 << 31, narrow, NULL) == SB_OK && array_is(narrow, integers), "%s: int32", level);
    sb_array *all[] = {a, b, c, front, back, to_front, to_back, narrow};
    for (int k = 0; k < 8; k++) sb_array_free(all[k]);
    free(x); free(y); free(xd); free(yd); free(integers);
}

static uint64_t *permutation_draws;
static int by_draw(const void *a, const void *b) {
    int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    uint64_t x = permutation_draws[i], y = permutation_draws[j];
    return x != y ? (x > y) - (x < y) : (i > j) - (i < j);
}

static void check_permutation(sb_context *ctx, const char *level, int64_t n) {
    int64_t *expected = malloc((size_t)(n + 1) * sizeof *expected);
    permutation_draws = malloc((size_t)(n + 1) * sizeof *permutation_draws);
    for (int64_t i = 0; i < n; i++) {
        permutation_draws[i] = draw_64(99, (uint64_t)n, (uint64_t)i);
        expected[i] = i;
    }
    qsort(expected, (size_t)n, sizeof *expected, by_draw);
    sb_array *a = array_of(ctx, SB_I64, 1, (int64_t[]){n}, NULL);
    CHECK(sb_random_permutation(ctx, 99, (uint64_t)n, a, NULL) == SB_OK && array_is(a, expected), "%s: permutation of %lld", level, (long long)n);
    for (int64_t k = 0; k <= n; k = 3 * k + 1) { // its first k
        sb_array *first = array_of(ctx, SB_I64, 1, &k, NULL);
        CHECK(sb_random_choice(ctx, 99, (uint64_t)n, n, first, NULL) == SB_OK && array_is(first, expected), "%s: %lld of %lld", level, (long long)k, (long long)n);
        sb_array_free(first);
    }
    sb_array_free(a);
    free(permutation_draws);
    free(expected);
}

static void refused(sb_status status, sb_status expected, const sb_error *err, const char *argument) {
    CHECK(status == expected && err->status == expected && !strcmp(err->argument, argument), "%s %s: %s", sb_status_name(status), err->argument, err->message);
}

static void test_refusals(sb_context *ctx) {
    sb_array *u = array_of(ctx, SB_U32, 1, (int64_t[]){4}, NULL), *f = array_of(ctx, SB_F32, 1, (int64_t[]){4}, NULL);
    sb_array *i = array_of(ctx, SB_I64, 1, (int64_t[]){4}, NULL), *square = array_of(ctx, SB_I64, 2, (int64_t[]){2, 2}, NULL);
    sb_error err = {0};
    refused(sb_random_bits(ctx, 1, 1, -1, u, &err), SB_ERR_ARGUMENT, &err, "start");
    refused(sb_random_bits(ctx, 1, 1, INT64_MAX - 3, u, &err), SB_ERR_SIZE, &err, "start");
    CHECK(sb_random_bits(ctx, 1, 1, INT64_MAX - 4, u, &err) == SB_OK, "the last draws: %s", err.message);
    refused(sb_random_uniform(ctx, 1, 1, INT64_MAX, f, &err), SB_ERR_SIZE, &err, "start");
    refused(sb_random_bits(ctx, 1, 1, 0, f, &err), SB_ERR_DTYPE, &err, "out");
    refused(sb_random_uniform(ctx, 1, 1, 0, u, &err), SB_ERR_DTYPE, &err, "out");
    refused(sb_random_normal(ctx, 1, 1, 0, u, &err), SB_ERR_DTYPE, &err, "out");
    refused(sb_random_integers(ctx, 1, 1, 0, 0, i, &err), SB_ERR_ARGUMENT, &err, "n");
    refused(sb_random_integers(ctx, 1, 1, 0, INT64_MIN, i, &err), SB_ERR_ARGUMENT, &err, "n");
    refused(sb_random_integers(ctx, 1, 1, 0, 3, u, &err), SB_ERR_DTYPE, &err, "out");
    refused(sb_random_permutation(ctx, 1, 1, u, &err), SB_ERR_DTYPE, &err, "out");
    refused(sb_random_permutation(ctx, 1, 1, square, &err), SB_ERR_SHAPE, &err, "out");
    sb_array_free(u); sb_array_free(f); sb_array_free(i); sb_array_free(square);
}

// A permutation too large for its scratch: a named error, before or at the allocation, never a wrong answer.
static void *refuse_large(void *user, size_t bytes) { (void)user; return bytes < (size_t)1 << 28 ? malloc(bytes) : NULL; }
static void release(void *user, void *pointer) { (void)user; free(pointer); }

static void test_large(void) {
    const sb_context_options options = {.size = sizeof options, .threads = 1, .allocate = refuse_large, .release = release};
    sb_context *ctx = NULL;
    CHECK(sb_context_new(&options, &ctx, NULL) == SB_OK, "no context");
    static int64_t one;
    sb_array *a = NULL;
    const int64_t n = ((int64_t)1 << 31) + 5; // (wrapped around memory that is not there: it must not be touched)
    CHECK(sb_array_wrap(ctx, SB_I64, 1, &n, &one, &a, NULL) == SB_OK, "no view");
    sb_error err = {0};
    sb_status status = sb_random_permutation(ctx, 1, 1, a, &err);
    CHECK(status == SB_ERR_MEMORY, "%s: %s", sb_status_name(status), err.message);
    sb_array_free(a);
    sb_context_free(ctx);
}

int main(void) {
    EACH_CONTEXT(c) {
        test_known_answers(c.ctx);
        for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
            static const int64_t counts[] = {0, 1, 2, 7, 513, 3001};
            for (int k = 0; k < 6; k++)
                if (c.threads <= 3 || k == 5) check_draws(c.ctx, c.level, starts[s], counts[k]);
        }
        check_dropout(c.ctx, c.level, 0, 5000);
        check_dropout(c.ctx, c.level, 1021, 700);
        static const int64_t permutations[] = {0, 1, 2, 255, 256, 257, 2048, 2049, 10000};
        for (int k = 0; k < 9; k++)
            if (c.threads <= 2 || k == 8) check_permutation(c.ctx, c.level, permutations[k]);
    }
    sb_context *ctx = NULL;
    CHECK(sb_context_new(NULL, &ctx, NULL) == SB_OK, "no context");
    check_permutation(ctx, "default", 300000);
    check_normal(ctx, "default", 1001, 4000, true);
    EACH_CONTEXT(c) { check_normal(c.ctx, c.level, 1001, 4000 - c.threads, false); }
    test_refusals(ctx);
    sb_context_free(ctx);
    test_large();
    return test_end();
}
