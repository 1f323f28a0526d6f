// SPDX-License-Identifier: Apache-2.0
// Rotary embedding: frequencies and tables against MPFR, the turn against the contract's formulas at every level and
// thread count, in place and not, forth and back; bad input.
#include "contexts.h"
#include "rotary_frequency.h"

#include <mpfr.h>

static double frequency_by_mpfr(double theta, int64_t i, int64_t d, int fraction) {
    mpfr_t base, power;
    mpfr_init2(base, 400);
    mpfr_init2(power, 400);
    mpfr_set_d(base, theta, MPFR_RNDN);
    mpfr_set_si(power, -2 * (long)i, MPFR_RNDN);
    mpfr_div_si(power, power, (long)d, MPFR_RNDN);
    mpfr_pow(base, base, power, MPFR_RNDN);
    double frequency = fraction == 23 ? (double)mpfr_get_flt(base, MPFR_RNDN) : mpfr_get_d(base, MPFR_RNDN);
    mpfr_clear(base);
    mpfr_clear(power);
    return frequency;
}

static void test_frequencies(void) {
    static const float thetas[] = {1.0f, 0x1.000002p0f, 2.0f, 3.0f, 10.0f, 1000.0f, 4096.0f, 10000.0f, 500000.0f, 1e6f,
                                   1e7f, 0x1.fffffep23f, 0x1p24f, 12345.678f, 1e30f, 0x1.fffffep127f};
    static const int64_t widths[] = {2, 4, 6, 10, 32, 64, 80, 96, 128, 256, 258};
    for (size_t t = 0; t < sizeof thetas / sizeof *thetas; t++)
        for (size_t k = 0; k < sizeof widths / sizeof *widths; k++)
            for (int64_t i = 0; 2 * i < widths[k]; i++)
                for (int fraction = 23; fraction <= 52; fraction += 29) {
                    double theta = (double)thetas[t] + (fraction == 52 && thetas[t] < 1e6f ? 0x1.23456789abcdep-4 : 0.0); // (of 53 bits)
                    double found = sbi_rotary_frequency(theta, i, widths[k], fraction), expected = frequency_by_mpfr(theta, i, widths[k], fraction);
                    CHECK(found == expected, "theta %a, %lld of %lld: %a, MPFR says %a", theta, (long long)i, (long long)widths[k], found, expected);
                }
    for (int64_t i = 1; i < 1000000; i += 99991) // far from small: the powers are cut to a few words
        for (int fraction = 23; fraction <= 52; fraction += 29)
            CHECK(sbi_rotary_frequency(10000.0, i, 2000000, fraction) == frequency_by_mpfr(10000.0, i, 2000000, fraction), "%lld of 2000000", (long long)i);
}

static void check_table(sb_context *ctx, const char *level, double theta, int64_t positions, int64_t half) {
    const int64_t shape[] = {positions, half};
    sb_array *c = array_of(ctx, SB_F32, 2, shape, NULL), *s = array_of(ctx, SB_F32, 2, shape, NULL);
    sb_error err = {0};
    CHECK(sb_rotary_table(ctx, theta, c, s, &err) == SB_OK, "%s", err.message);
    float *cosines = malloc((size_t)(positions * half + 1) * sizeof *cosines), *sines = malloc((size_t)(positions * half + 1) * sizeof *sines);
    mpfr_t angle, value;
    mpfr_init2(angle, 24);
    mpfr_init2(value, 200);
    for (int64_t p = 0; p < positions; p++)
        for (int64_t i = 0; i < half; i++) {
            mpfr_set_d(value, frequency_by_mpfr(theta, i, 2 * half, 23), MPFR_RNDN);
            mpfr_mul_si(angle, value, (long)p, MPFR_RNDN); // one rounding to 24 bits
            mpfr_cos(value, angle, MPFR_RNDN);
            cosines[p * half + i] = mpfr_get_flt(value, MPFR_RNDN);
            mpfr_sin(value, angle, MPFR_RNDN);
            sines[p * half + i] = mpfr_get_flt(value, MPFR_RNDN);
        }
    CHECK(array_is(c, cosines) && array_is(s, sines), "%s: theta %g [%lld, %lld]", level, theta, (long long)positions, (long long)half);
    mpfr_clear(angle);
    mpfr_clear(value);
    free(cosines); free(sines);
    sb_array_free(c); sb_array_free(s);
}

// float64: the angle from MPFR's frequency, its cosine and sine as sb_unary gives them; then the turn by them, there and back.
static void check_float64(sb_context *ctx, const char *level) {
    enum { POSITIONS = 50, HALF = 9, HEADS = 2 };
    const int64_t table[] = {POSITIONS, HALF}, shape[] = {1, POSITIONS, HEADS, 2 * HALF};
    static double angle[POSITIONS][HALF], c[POSITIONS][HALF], s[POSITIONS][HALF], x[POSITIONS][HEADS][2 * HALF], y[POSITIONS][HEADS][2 * HALF];
    for (int p = 0; p < POSITIONS; p++)
        for (int i = 0; i < HALF; i++) angle[p][i] = (double)p * frequency_by_mpfr(12345.678, i, 2 * HALF, 52);
    sb_array *angles = array_of(ctx, SB_F64, 2, table, angle), *cosine = array_of(ctx, SB_F64, 2, table, NULL), *sine = array_of(ctx, SB_F64, 2, table, NULL);
    CHECK(sb_unary(ctx, SB_COS, angles, cosine, NULL) == SB_OK && sb_unary(ctx, SB_SIN, angles, sine, NULL) == SB_OK, "sin, cos");
    sb_array_read(cosine, c, sizeof c, NULL);
    sb_array_read(sine, s, sizeof s, NULL);
    sb_error err = {0};
    CHECK(sb_rotary_table(ctx, 12345.678, cosine, sine, &err) == SB_OK && array_is(cosine, c) && array_is(sine, s), "%s: table in float64 %s", level, err.message);
    uint64_t seed = 4;
    for (int k = 0; k < POSITIONS * HEADS * 2 * HALF; k++) (&x[0][0][0])[k] = (double)(int64_t)next_word(&seed) * 0x1p-63;
    sb_array *from = array_of(ctx, SB_F64, 4, shape, x), *to = array_of(ctx, SB_F64, 4, shape, NULL);
    for (int inverse = 0; inverse < 2; inverse++) {
        for (int p = 0; p < POSITIONS; p++)
            for (int h = 0; h < HEADS; h++)
                for (int i = 0; i < HALF; i++) {
                    double sign = inverse ? -s[p][i] : s[p][i], left = x[p][h][i], right = x[p][h][HALF + i];
                    double a = left * c[p][i], b = right * sign, d = right * c[p][i], e = left * sign;
                    y[p][h][i] = a - b;
                    y[p][h][HALF + i] = d + e;
                }
        CHECK(sb_rotary(ctx, from, cosine, sine, 0, inverse, to, &err) == SB_OK && array_is(to, y), "%s: turn in float64 %s", level, err.message);
    }
    sb_array_free(angles); sb_array_free(cosine); sb_array_free(sine); sb_array_free(from); sb_array_free(to);
}

typedef struct turn { int64_t b, t, h, half, positions, first; int kind; } turn;

static void check_turn(sb_context *ctx, const char *level, const turn *f) {
    int64_t size = f->b * f->t * f->h * f->half * 2, table = f->positions * f->half;
    const int64_t shape[] = {f->b, f->t, f->h, 2 * f->half}, table_shape[] = {f->positions, f->half};
    float *x = malloc((size_t)(size + 1) * sizeof *x), *y = malloc((size_t)(size + 1) * sizeof *y);
    float *c = malloc((size_t)(table + 1) * sizeof *c), *s = malloc((size_t)(table + 1) * sizeof *s);
    uint64_t seed = (uint64_t)(size + f->kind);
    for (int64_t k = 0; k < size; k++) x[k] = next_float(&seed, f->kind);
    for (int64_t k = 0; k < table; k++) {
        c[k] = next_float(&seed, f->kind == SUBNORMAL ? PLAIN : f->kind);
        s[k] = next_float(&seed, f->kind == SUBNORMAL ? PLAIN : f->kind);
    }
    sb_array *xa = array_of(ctx, SB_F32, 4, shape, x), *ya = array_of(ctx, SB_F32, 4, shape, NULL);
    sb_array *ca = array_of(ctx, SB_F32, 2, table_shape, c), *sa = array_of(ctx, SB_F32, 2, table_shape, s);
    for (int inverse = 0; inverse < 2; inverse++) {
        for (int64_t row = 0; row < f->b * f->t * f->h; row++)
            for (int64_t i = 0; i < f->half; i++) {
                int64_t at = (f->first + row / f->h % f->t) * f->half + i, left = row * 2 * f->half + i, right = left + f->half;
                float sine = inverse ? -s[at] : s[at];
                float a = x[left] * c[at], b = x[right] * sine, e = x[right] * c[at], g = x[left] * sine;
                float lower = a - b, upper = e + g;
                y[left] = canonical(lower);
                y[right] = canonical(upper);
            }
        sb_error err = {0};
        set_caller_mode(HOSTILE_MODE);
        sb_status status = sb_rotary(ctx, xa, ca, sa, f->first, inverse, ya, &err);
        set_caller_mode(USUAL_MODE);
        CHECK(status == SB_OK && array_is(ya, y) && array_is(xa, x), "%s half %lld kind %d inverse %d %s", level, (long long)f->half, f->kind, inverse, err.message);
        sb_array_write(ya, x, (size_t)size * sizeof *x, NULL);
        CHECK(sb_rotary(ctx, ya, ca, sa, f->first, inverse, ya, &err) == SB_OK && array_is(ya, y), "%s in place, half %lld kind %d %s", level, (long long)f->half, f->kind, err.message);
    }
    sb_array_free(xa); sb_array_free(ya); sb_array_free(ca); sb_array_free(sa);
    free(x); free(y); free(c); free(s);
}

static void refused(sb_status status, sb_status expected, const sb_error *err, const char *argument) {
    CHECK(status == expected && !strcmp(err->argument, argument), "%s %s: %s", sb_status_name(status), err->argument, err->message);
}

static void test_refusals(sb_context *ctx) {
    const int64_t table_shape[] = {4, 3}, other_shape[] = {5, 3}, shape[] = {1, 4, 2, 6}, odd[] = {1, 4, 2, 7}, flat[] = {4, 12};
    const int64_t long_shape[] = {((int64_t)1 << 29) + 1, 0};
    sb_array *c = array_of(ctx, SB_F32, 2, table_shape, NULL), *s = array_of(ctx, SB_F32, 2, table_shape, NULL);
    sb_array *other = array_of(ctx, SB_F32, 2, other_shape, NULL), *x = array_of(ctx, SB_F32, 4, shape, NULL);
    sb_array *y = array_of(ctx, SB_F32, 4, shape, NULL), *odd_x = array_of(ctx, SB_F32, 4, odd, NULL), *odd_y = array_of(ctx, SB_F32, 4, odd, NULL);
    sb_array *flat_x = array_of(ctx, SB_F32, 2, flat, NULL), *wide = array_of(ctx, SB_F64, 2, table_shape, NULL);
    sb_array *long_c = array_of(ctx, SB_F32, 2, long_shape, NULL), *long_s = array_of(ctx, SB_F32, 2, long_shape, NULL);
    sb_error err = {0};
    refused(sb_rotary_table(ctx, 0.5, c, s, &err), SB_ERR_ARGUMENT, &err, "theta");
    refused(sb_rotary_table(ctx, (double)float_of(0x7fc00000u), c, s, &err), SB_ERR_ARGUMENT, &err, "theta");
    refused(sb_rotary_table(ctx, 0x1p128, c, s, &err), SB_ERR_ARGUMENT, &err, "theta");
    refused(sb_rotary_table(ctx, 1e4, c, other, &err), SB_ERR_SHAPE, &err, "sin_table");
    refused(sb_rotary_table(ctx, 1e4, wide, s, &err), SB_ERR_DTYPE, &err, "sin_table");
    refused(sb_rotary_table(ctx, 1e4, long_c, long_s, &err), SB_ERR_SIZE, &err, "cos_table");
    CHECK(sb_rotary_table(ctx, 1e4, c, c, &err) == SB_ERR_OVERLAP, "%s", err.message);
    refused(sb_rotary(ctx, odd_x, c, s, 0, 0, odd_y, &err), SB_ERR_SHAPE, &err, "x");
    refused(sb_rotary(ctx, flat_x, c, s, 0, 0, y, &err), SB_ERR_SHAPE, &err, "x");
    refused(sb_rotary(ctx, x, c, s, 1, 0, y, &err), SB_ERR_SHAPE, &err, "cos_table"); // positions 1 .. 4 of 0 .. 3
    refused(sb_rotary(ctx, x, c, s, INT64_MAX, 0, y, &err), SB_ERR_SHAPE, &err, "cos_table");
    refused(sb_rotary(ctx, x, c, s, -1, 0, y, &err), SB_ERR_ARGUMENT, &err, "first");
    refused(sb_rotary(ctx, x, c, other, 0, 0, y, &err), SB_ERR_SHAPE, &err, "sin_table");
    CHECK(sb_rotary(ctx, x, c, s, 0, 0, y, &err) == SB_OK, "%s", err.message);
    sb_array *all[] = {c, s, other, x, y, odd_x, odd_y, flat_x, wide, long_c, long_s};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) sb_array_free(all[k]);
}

int main(void) {
    test_frequencies();
    EACH_CONTEXT(c) {
        if (c.threads <= 2) {
            check_float64(c.ctx, c.level);
            check_table(c.ctx, c.level, 10000.0, 70, 16);
            check_table(c.ctx, c.level, 500000.0, 3, 100);
            check_table(c.ctx, c.level, 1.0, 0, 4);
        }
        static const turn turns[] = {{2, 5, 3, 8, 9, 4, 0}, {1, 3, 2, 65, 3, 0, 0}, {3, 1, 1, 1, 6, 5, 0}, {0, 4, 2, 4, 4, 0, 0}, {2, 4, 3, 64, 8, 2, 0}};
        for (size_t k = 0; k < sizeof turns / sizeof *turns; k++)
            for (int kind = 0; kind < NUMBER_KINDS; kind++) {
                turn f = turns[k];
                f.kind = kind;
                check_turn(c.ctx, c.level, &f);
            }
    }
    sb_context *ctx = NULL;
    CHECK(sb_context_new(NULL, &ctx, NULL) == SB_OK, "no context");
    check_table(ctx, "default", 10000.0, 2048, 32);
    test_refusals(ctx);
    sb_context_free(ctx);
    return test_end();
}
