// SPDX-License-Identifier: Apache-2.0
// The unary functions through the public interface, at every CPU level: limits and signs, hostile and random inputs
// against MPFR (by another text than the judge of `prove`), order, symmetry, sizes, in place, bad input; and the
// binary64 logarithm within its stated error. (The exhaustive arm is `samebits prove`.)
#include "dialect/c.h"
#include "function.h"

#include "contexts.h"

#include <mpfr.h>

static const struct { const char *name; sb_unary_kind kind; float low, high; } functions[] = {
    {"exp", SB_EXP, -104, 89},         {"log", SB_LOG, 0, 1e30f},         {"sin", SB_SIN, -1e4f, 1e4f},
    {"cos", SB_COS, -1e4f, 1e4f},      {"rsqrt", SB_RSQRT, 0, 1e9f},      {"sigmoid", SB_SIGMOID, -104, 20},
    {"silu", SB_SILU, -104, 30},       {"silu_grad", SB_SILU_GRAD, -110, 30}, {"tanh", SB_TANH, -10, 10},
    {"expm1", SB_EXPM1, -20, 89},      {"log1p", SB_LOG1P, -1, 1000},     {"exp2", SB_EXP2, -151, 129},
    {"log2", SB_LOG2, 0, 1e30f},       {"log10", SB_LOG10, 0, 1e30f},   {"erf", SB_ERF, -4, 4},
    {"erfc", SB_ERFC, -4, 10.1f},      {"softplus", SB_SOFTPLUS, -104, 20}, {"log_sigmoid", SB_LOG_SIGMOID, -20, 104},
    {"gelu", SB_GELU, -14.3f, 6},      {"gelu_tanh", SB_GELU_TANH, -10.1f, 6}, {"gelu_grad", SB_GELU_GRAD, -14.5f, 6},
    {"gelu_tanh_grad", SB_GELU_TANH_GRAD, -10.2f, 6},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

// r = x h(x), or its derivative h(x) + x h'(x), where h(x) is erfc(-x / sqrt 2) / 2, h' the normal density, or
// h(x) = 1 / (1 + e^-2u), h' = 2 u' h (1 - h), u = sqrt(2 / pi) (x + 44715/10^6 x^3).
static void exact_gelu(sb_unary_kind kind, mpfr_t x, mpfr_t r, mpfr_t s) {
    bool slope = kind == SB_GELU_GRAD || kind == SB_GELU_TANH_GRAD;
    if (mpfr_cmp_d(x, 15) > 0 || mpfr_cmp_d(x, -15) < 0) {
        if (mpfr_sgn(x) < 0) mpfr_set_zero(r, -1);
        else if (slope) mpfr_set_ui(r, 1, MPFR_RNDN);
        else mpfr_set(r, x, MPFR_RNDN);
        return;
    }
    mpfr_t h, pi;
    mpfr_inits2(mpfr_get_prec(r), h, pi, (mpfr_ptr)0);
    mpfr_const_pi(pi, MPFR_RNDN);
    if (kind == SB_GELU || kind == SB_GELU_GRAD) {
        mpfr_sqrt_ui(h, 2, MPFR_RNDN);
        mpfr_div(h, x, h, MPFR_RNDN);
        mpfr_neg(h, h, MPFR_RNDN);
        mpfr_erfc(h, h, MPFR_RNDN);
        mpfr_div_2ui(h, h, 1, MPFR_RNDN);
        mpfr_sqr(s, x, MPFR_RNDN);
        mpfr_div_si(s, s, -2, MPFR_RNDN);
        mpfr_exp(s, s, MPFR_RNDN);
        mpfr_mul_2ui(pi, pi, 1, MPFR_RNDN);
        mpfr_sqrt(pi, pi, MPFR_RNDN);
        mpfr_div(s, s, pi, MPFR_RNDN); // the density
    } else {
        mpfr_sqr(s, x, MPFR_RNDN);
        mpfr_mul_ui(s, s, 44715, MPFR_RNDN);
        mpfr_div_ui(s, s, 1000000, MPFR_RNDN); // c x^2
        mpfr_ui_div(pi, 8, pi, MPFR_RNDN);
        mpfr_sqrt(pi, pi, MPFR_RNDN); // 2 sqrt(2 / pi)
        mpfr_add_ui(h, s, 1, MPFR_RNDN);
        mpfr_mul(h, h, x, MPFR_RNDN);
        mpfr_mul(h, h, pi, MPFR_RNDN); // 2 u
        mpfr_mul_ui(s, s, 3, MPFR_RNDN);
        mpfr_add_ui(s, s, 1, MPFR_RNDN);
        mpfr_mul(s, s, pi, MPFR_RNDN); // 2 u'
        mpfr_exp(h, h, MPFR_RNDN);
        mpfr_add_ui(r, h, 1, MPFR_RNDN);
        mpfr_div(h, h, r, MPFR_RNDN);
        mpfr_div(s, s, r, MPFR_RNDN); // 2 u' (1 - h)
        mpfr_mul(s, s, h, MPFR_RNDN);
    }
    mpfr_mul(r, x, slope ? s : h, MPFR_RNDN);
    if (slope) mpfr_add(r, r, h, MPFR_RNDN);
    mpfr_clears(h, pi, (mpfr_ptr)0);
}

// f(x) rounded once to binary32 by MPFR, canonical NaN. 420 bits: x^2/4 of silu is felt down to 2^-149.
static uint32_t exact(sb_unary_kind kind, float value) {
    mpfr_t x, r, s, y;
    mpfr_init2(x, 24);
    mpfr_inits2(420, r, s, (mpfr_ptr)0);
    mpfr_init2(y, 24);
    mpfr_set_flt(x, value, MPFR_RNDN);
    switch ((int)kind) {
    case SB_EXP: mpfr_exp(r, x, MPFR_RNDN); break;
    case SB_LOG: mpfr_log(r, x, MPFR_RNDN); break;
    case SB_SIN: mpfr_sin(r, x, MPFR_RNDN); break;
    case SB_COS: mpfr_cos(r, x, MPFR_RNDN); break;
    case SB_TANH: mpfr_tanh(r, x, MPFR_RNDN); break;
    case SB_EXPM1: mpfr_expm1(r, x, MPFR_RNDN); break;
    case SB_LOG1P: mpfr_log1p(r, x, MPFR_RNDN); break;
    case SB_EXP2: mpfr_exp2(r, x, MPFR_RNDN); break;
    case SB_LOG2: mpfr_log2(r, x, MPFR_RNDN); break;
    case SB_LOG10: mpfr_log10(r, x, MPFR_RNDN); break;
    case SB_ERF: mpfr_erf(r, x, MPFR_RNDN); break;
    case SB_ERFC: mpfr_erfc(r, x, MPFR_RNDN); break;
    case SB_SOFTPLUS:
    case SB_LOG_SIGMOID: // -log(sigmoid(-x)), log(sigmoid(x)): each from the small exponential
        mpfr_set(r, x, MPFR_RNDN);
        if (kind == SB_LOG_SIGMOID) mpfr_neg(r, r, MPFR_RNDN);
        mpfr_abs(s, r, MPFR_RNDN);
        mpfr_neg(s, s, MPFR_RNDN);
        mpfr_exp(s, s, MPFR_RNDN);
        mpfr_log1p(s, s, MPFR_RNDN);
        if (mpfr_sgn(r) < 0) mpfr_set(r, s, MPFR_RNDN);
        else mpfr_add(r, r, s, MPFR_RNDN);
        if (kind == SB_LOG_SIGMOID) mpfr_neg(r, r, MPFR_RNDN);
        break;
    case SB_GELU:
    case SB_GELU_GRAD:
    case SB_GELU_TANH:
    case SB_GELU_TANH_GRAD: exact_gelu(kind, x, r, s); break;
    case SB_RSQRT:
        if (mpfr_zero_p(x)) mpfr_set_inf(r, mpfr_signbit(x) ? -1 : 1);
        else mpfr_rec_sqrt(r, x, MPFR_RNDN);
        break;
    default: // s = e^x; sigmoid = s / (1 + s); silu' = sigmoid (1 + x / (1 + s))
        mpfr_exp(s, x, MPFR_RNDN);
        mpfr_add_ui(r, s, 1, MPFR_RNDN);
        if (mpfr_inf_p(s)) mpfr_set_ui(s, 1, MPFR_RNDN);
        else mpfr_div(s, s, r, MPFR_RNDN);
        if (kind == SB_SIGMOID) mpfr_set(r, s, MPFR_RNDN);
        if (kind == SB_SILU) mpfr_mul(r, x, s, MPFR_RNDN);
        if (kind == SB_SILU_GRAD) {
            if (mpfr_inf_p(r)) mpfr_set_ui(r, 0, MPFR_RNDN);
            else mpfr_div(r, x, r, MPFR_RNDN);
            mpfr_add_ui(r, r, 1, MPFR_RNDN);
            mpfr_mul(r, r, s, MPFR_RNDN);
        }
        if (mpfr_inf_p(x) && mpfr_signbit(x)) mpfr_set_zero(r, kind == SB_SIGMOID ? 1 : -1);
        break;
    }
    mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    int ternary = mpfr_set(y, r, MPFR_RNDN);
    ternary = mpfr_check_range(y, ternary, MPFR_RNDN);
    mpfr_subnormalize(y, ternary, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    float result = mpfr_get_flt(y, MPFR_RNDN);
    mpfr_clears(x, r, s, y, (mpfr_ptr)0);
    return bits_of_float(canonical(result));
}

static void run(sb_context *ctx, sb_unary_kind kind, const uint32_t *x, uint32_t *y, int64_t n) {
    sb_error err = {0};
    sb_array *a = array_of(ctx, kind == SB_INVERSE_NORMAL ? SB_U32 : SB_F32, 1, &n, x);
    sb_array *b = array_of(ctx, SB_F32, 1, &n, NULL);
    CHECK(sb_unary(ctx, kind, a, b, &err) == SB_OK, "%s", err.message);
    CHECK(sb_array_read(b, y, 4 * (size_t)n, &err) == SB_OK, "%s", err.message);
    sb_array_free(a);
    sb_array_free(b);
}

// The values that the contract names: limits, signs, exact results.
static void limits(sb_context *ctx, const char *level) {
    enum { PINF = 0x7f800000, MZERO = 1 << 31, NOT = 0x7fc00000 };
    static const struct { sb_unary_kind kind; uint32_t x, y; } rows[] = {
        {SB_EXP, 0, 0x3f800000}, {SB_EXP, 0x80000000, 0x3f800000}, {SB_EXP, PINF, PINF}, {SB_EXP, 0xff800000, 0},
        {SB_EXP, 0x42b17218, PINF}, {SB_EXP, 0xc2cff1b5, 0}, {SB_EXP, 0xc2cff1b4, 1}, {SB_EXP, 0xff7fffff, 0},
        {SB_LOG, 0, 0xff800000}, {SB_LOG, 0x80000000, 0xff800000}, {SB_LOG, 0x3f800000, 0}, {SB_LOG, PINF, PINF},
        {SB_LOG, 0xff800000, NOT}, {SB_LOG, 0x80000001, NOT}, {SB_LOG, 1, 0xc2ce8ed0},
        {SB_SIN, 0, 0}, {SB_SIN, 0x80000000, 0x80000000}, {SB_SIN, PINF, NOT}, {SB_SIN, 0xff800000, NOT},
        {SB_SIN, 0x80000001, 0x80000001},
        {SB_COS, 0, 0x3f800000}, {SB_COS, 0x80000000, 0x3f800000}, {SB_COS, PINF, NOT}, {SB_COS, 0xff800000, NOT},
        {SB_RSQRT, 0, PINF}, {SB_RSQRT, 0x80000000, 0xff800000}, {SB_RSQRT, PINF, 0}, {SB_RSQRT, 0xff800000, NOT},
        {SB_RSQRT, 0x80000001, NOT}, {SB_RSQRT, 0x40800000, 0x3f000000}, {SB_RSQRT, 1, 0x64b504f3},
        {SB_SIGMOID, 0, 0x3f000000}, {SB_SIGMOID, 0xff800000, 0}, {SB_SIGMOID, PINF, 0x3f800000}, {SB_SIGMOID, 0xc3000000, 0},
        {SB_SILU, 0, 0}, {SB_SILU, 0x80000000, 0x80000000}, {SB_SILU, 0xff800000, 0x80000000}, {SB_SILU, PINF, PINF},
        {SB_SILU, 1, 1}, {SB_SILU, 0x80000001, 0x80000000}, {SB_SILU, 3, 2}, {SB_SILU, 0x80000003, 0x80000001},
        {SB_SILU, 0xff7fffff, 0x80000000}, {SB_SILU, 0x7f7fffff, 0x7f7fffff},
        {SB_SILU_GRAD, 0, 0x3f000000}, {SB_SILU_GRAD, 0xff800000, 0x80000000}, {SB_SILU_GRAD, PINF, 0x3f800000},
        {SB_SILU_GRAD, 0xff7fffff, 0x80000000},
        {SB_SQRT, 0x80000000, 0x80000000}, {SB_SQRT, PINF, PINF}, {SB_SQRT, 0xbf800000, NOT}, {SB_SQRT, 2, 0x1a800000},
        {SB_NEG, 0, 0x80000000}, {SB_NEG, PINF, 0xff800000}, {SB_NEG, 0x80000001, 1}, {SB_ABS, 0x80000000, 0},
        {SB_ABS, 0xff800000, PINF}, {SB_ABS, 0x80000001, 1},
        {SB_TANH, 0x80000000, 0x80000000}, {SB_TANH, PINF, 0x3f800000}, {SB_TANH, 0xff800000, 0xbf800000}, {SB_TANH, 1, 1},
        {SB_EXPM1, 0x80000000, 0x80000000}, {SB_EXPM1, 0, 0}, {SB_EXPM1, PINF, PINF}, {SB_EXPM1, 0xff800000, 0xbf800000},
        {SB_EXPM1, 0x80000001, 0x80000001}, {SB_EXPM1, 0x42b17218, PINF},
        {SB_LOG1P, 0x80000000, 0x80000000}, {SB_LOG1P, 0, 0}, {SB_LOG1P, 0xbf800000, 0xff800000}, {SB_LOG1P, 0xbf800001, NOT},
        {SB_LOG1P, 0xff800000, NOT}, {SB_LOG1P, PINF, PINF}, {SB_LOG1P, 1, 1}, {SB_LOG1P, 0x80000001, 0x80000001},
        {SB_EXP2, 0x80000000, 0x3f800000}, {SB_EXP2, 0x40400000, 0x41000000}, {SB_EXP2, 0x43000000, PINF}, {SB_EXP2, PINF, PINF},
        {SB_EXP2, 0xff800000, 0}, {SB_EXP2, 0xc3160000, 0}, {SB_EXP2, 0xc315ffff, 1}, {SB_EXP2, 0xc3150000, 1},
        {SB_LOG2, 0x80000000, 0xff800000}, {SB_LOG2, 0x3f800000, 0}, {SB_LOG2, 1, 0xc3150000}, {SB_LOG2, 0x80000001, NOT},
        {SB_LOG2, PINF, PINF}, {SB_LOG2, 0x41000000, 0x40400000}, {SB_LOG10, 0x80000000, 0xff800000}, {SB_LOG10, 0x3f800000, 0},
        {SB_ERF, 0x80000000, 0x80000000}, {SB_ERF, PINF, 0x3f800000}, {SB_ERF, 0xff800000, 0xbf800000}, {SB_ERF, 1, 1},
        {SB_ERFC, 0, 0x3f800000}, {SB_ERFC, 0x80000000, 0x3f800000}, {SB_ERFC, PINF, 0}, {SB_ERFC, 0xff800000, 0x40000000},
        {SB_ERFC, 0x41280000, 0}, {SB_SOFTPLUS, 0, 0x3f317218}, {SB_SOFTPLUS, PINF, PINF}, {SB_SOFTPLUS, 0xff800000, 0},
        {SB_SOFTPLUS, 0xc3000000, 0}, {SB_SOFTPLUS, 0x7f7fffff, 0x7f7fffff}, {SB_LOG_SIGMOID, 0x80000000, 0xbf317218},
        {SB_LOG_SIGMOID, PINF, 0x80000000}, {SB_LOG_SIGMOID, 0xff800000, 0xff800000}, {SB_LOG_SIGMOID, 0x43000000, 0x80000000},
        {SB_GELU, 0, 0}, {SB_GELU, 0x80000000, 0x80000000}, {SB_GELU, 0xff800000, 0x80000000}, {SB_GELU, PINF, PINF},
        {SB_GELU, 1, 1}, {SB_GELU, 0x80000001, 0x80000000}, {SB_GELU, 3, 2}, {SB_GELU, 0x80000003, 0x80000001},
        {SB_GELU, 0xff7fffff, 0x80000000}, {SB_GELU, 0x7f7fffff, 0x7f7fffff}, {SB_GELU_TANH, 0x80000000, 0x80000000},
        {SB_GELU_TANH, 0xff800000, 0x80000000}, {SB_GELU_TANH, PINF, PINF}, {SB_GELU_TANH, 1, 1}, {SB_GELU_TANH, 0x80000001, 0x80000000},
        {SB_GELU_TANH, 3, 2}, {SB_GELU_TANH, 0x80000003, 0x80000001}, {SB_GELU_TANH, 0xff7fffff, 0x80000000},
        {SB_GELU_GRAD, 0, 0x3f000000}, {SB_GELU_GRAD, 0xff800000, 0x80000000}, {SB_GELU_GRAD, PINF, 0x3f800000},
        {SB_GELU_GRAD, 0xff7fffff, 0x80000000}, {SB_GELU_TANH_GRAD, 0x80000000, 0x3f000000}, {SB_GELU_TANH_GRAD, 0xff800000, 0x80000000},
        {SB_GELU_TANH_GRAD, PINF, 0x3f800000}, {SB_GELU_TANH_GRAD, 0xff7fffff, 0x80000000},
        {SB_LOG10, 0x447a0000, 0x40400000}, {SB_LOG10, 0x501502f9, 0x41200000}, {SB_LOG10, 0xbf800000, NOT}, {SB_LOG10, PINF, PINF},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t y = 0xa5a5a5a5;
        run(ctx, rows[i].kind, &rows[i].x, &y, 1);
        CHECK(y == rows[i].y, "level %s, kind %d of %08x is %08x, not %08x", level, (int)rows[i].kind, rows[i].x, y, rows[i].y);
    }
    for (int kind = SB_EXP; kind <= SB_GELU_TANH_GRAD; kind++) { // every NaN becomes the canonical one
        if (kind == SB_INVERSE_NORMAL) continue;
        const uint32_t x[] = {0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff, 0x7fc12345};
        uint32_t y[7];
        run(ctx, (sb_unary_kind)kind, x, y, 7);
        for (int i = 0; i < 7; i++) {
            CHECK(y[i] == 0x7fc00000, "level %s, kind %d of the NaN %08x is %08x", level, kind, x[i], y[i]);
        }
    }
}

enum { SAMPLE = 4127 }; // a whole group, whole rows of lanes, and a rest
static uint32_t sample[FUNCTIONS][SAMPLE], right[FUNCTIONS][SAMPLE];

// Inputs of a function: limits of binades and reductions, its domain, any bits, beside 0 and 1, exact ties.
static void make_sample(int f) {
    uint64_t state = 17u + (uint64_t)f;
    for (int i = 0; i < SAMPLE; i++) {
        uint64_t w = next_word(&state);
        uint32_t x;
        switch (i % 8) {
        case 0: x = (uint32_t)w; break;
        case 1: x = (uint32_t)(w & 0xff800000u) + (uint32_t)(w >> 62) - 1u; break; // powers of two and neighbours
        case 2: x = bits_of_float((float)((double)(int64_t)(w >> 58) * 0x1.921fb54442d18p+0 * (double)(1u << (w & 15)))); break;
        case 3: x = 0x3f800000u + (uint32_t)(w & 0xffu) - 128u; break;
        case 4: x = (uint32_t)(w & 0x807fffffu); break; // subnormal
        case 5: x = bits_of_float(((float)(w & 0xffu) + 0.5f) * 0x1p-23f) | (uint32_t)(w >> 32 & 0x80000000u); break; // ties by 1/2
        case 6: x = 0xbfa3a4bau + (uint32_t)(w & 0xffu) - 128u; break; // the zero of silu'
        default:
            x = bits_of_float(functions[f].low + (functions[f].high - functions[f].low) * (float)(w >> 40) * 0x1p-24f);
        }
        sample[f][i] = x;
        right[f][i] = exact(functions[f].kind, float_of(x));
    }
}

static void against_mpfr(sb_context *ctx, const char *level, int threads) {
    static uint32_t got[SAMPLE];
    for (int f = 0; f < FUNCTIONS; f++) {
        run(ctx, functions[f].kind, sample[f], got, SAMPLE);
        int wrong = 0;
        for (int i = 0; i < SAMPLE; i++) {
            if (got[i] != right[f][i] && wrong++ < 5) {
                fprintf(stderr, "%s of %08x is %08x, not %08x\n", functions[f].name, sample[f][i], got[i], right[f][i]);
            }
        }
        CHECK(wrong == 0, "%s at level %s with %d threads: %d of %d misrounded", functions[f].name, level, threads, wrong, SAMPLE);
    }
}

// Where a function grows or falls, rounding must not turn it round: all floats around seams of the reductions.
static void order(sb_context *ctx) {
    static const struct { sb_unary_kind kind; uint32_t centre; int sign; } spots[] = {
        {SB_EXP, 0x3eb17218, 1}, {SB_EXP, 0xbf851592, -1}, {SB_EXP, 0xc2aeac50, -1}, {SB_LOG, 0x3f3504f3, 1},
        {SB_LOG, 0x3fb504f3, 1}, {SB_LOG, 0x3f800000, 1}, {SB_LOG, 0x00800000, 1}, {SB_SIN, 0x3f490fdb, 1},
        {SB_COS, 0x3f490fdb, -1}, {SB_COS, 0x40490fdb - 4096, -1}, {SB_RSQRT, 0x3f800000, -1}, {SB_RSQRT, 0x40000000, -1},
        {SB_SIGMOID, 0x33800000, 1}, {SB_SIGMOID, 0x39800000, 1}, {SB_SIGMOID, 0xb9800000, -1}, {SB_SILU, 0x21800000, 1},
        {SB_TANH, 0x3eb17218, 1}, {SB_TANH, 0x3e317218, 1}, {SB_EXPM1, 0x3eb17218, 1}, {SB_EXPM1, 0xbeb17218, -1},
        {SB_LOG1P, 0x3ed413cd, 1}, {SB_LOG1P, 0xbe95f61a, -1}, {SB_LOG1P, 0x31000000, 1}, {SB_EXP2, 0x3f000000, 1},
        {SB_LOG2, 0x3f800000, 1}, {SB_LOG2, 0x3fb504f3, 1}, {SB_LOG10, 0x3f3504f3, 1}, {SB_LOG10, 0x3f800000, 1},
        {SB_ERF, 0x3f64f92e, 1}, {SB_ERF, 0x3e800000, 1}, {SB_ERFC, 0x3f64f92e, -1}, {SB_ERFC, 0x40900000, -1},
        {SB_SOFTPLUS, 0x3f61c5c0, 1}, {SB_SOFTPLUS, 0xbf61c5c0, -1}, {SB_LOG_SIGMOID, 0x3f61c5c0, 1}, {SB_GELU, 0xc0b00000, 1},
        {SB_GELU_TANH, 0xc0b00000, 1}, {SB_GELU_GRAD, 0xbf007569, -1}, {SB_GELU_GRAD, 0xbf803ab4, -1}, {SB_GELU_GRAD, 0xbf407569, -1},
        {SB_GELU_TANH_GRAD, 0xbf00a150, -1}, {SB_GELU_TANH_GRAD, 0xbf8050a8, -1}, {SB_GELU_TANH_GRAD, 0xbf40a150, -1},
        {SB_SILU_GRAD, 0xbf83a4ba, -1}, {SB_SILU_GRAD, 0xbfa3a4ba, -1}, {SB_SILU_GRAD, 0xbfc3a4ba, -1},
    };
    for (size_t s = 0; s < sizeof spots / sizeof spots[0]; s++) {
        uint32_t x[4096], y[4096];
        for (uint32_t i = 0; i < 4096; i++) {
            x[i] = spots[s].centre - 2048u + i;
        }
        run(ctx, spots[s].kind, x, y, 4096);
        for (int i = 1; i < 4096; i++) {
            float step = float_of(y[i]) - float_of(y[i - 1]);
            CHECK(step * (float)spots[s].sign >= 0, "kind %d turns at %08x", (int)spots[s].kind, x[i]);
        }
    }
}

// The word u and ~u give z and -z; z grows with u; its ties lie on the right side of (u + 1/2) / 2^32.
static void inverse_normal(sb_context *ctx, const char *level) {
    enum { N = 3001 };
    static uint32_t words[N], mirrored[N], z[N], m[N];
    uint64_t state = 5;
    for (int i = 0; i < N; i++) {
        uint64_t w = next_word(&state);
        words[i] = i < 64 ? (uint32_t)i : i < 128 ? 0x13333333u + (uint32_t)i - 96u : i < 192 ? 0x80000000u - (uint32_t)i + 127u
                 : (uint32_t)w >> (w >> 59);
        mirrored[i] = ~words[i];
    }
    run(ctx, SB_INVERSE_NORMAL, words, z, N);
    run(ctx, SB_INVERSE_NORMAL, mirrored, m, N);
    mpfr_t p, t;
    mpfr_inits2(200, p, t, (mpfr_ptr)0);
    for (int i = 0; i < N; i++) {
        CHECK((z[i] ^ m[i]) == 0x80000000u, "level %s: %08x and %08x are no mirror images", level, words[i], mirrored[i]);
        uint32_t low = words[i] >> 31 ? mirrored[i] : words[i], size = z[i] & 0x7fffffffu;
        CHECK((z[i] >> 31) == (words[i] >> 31 ? 0u : 1u), "level %s: the sign of z(%08x)", level, words[i]);
        for (int side = -1; side <= 1; side += 2) {
            double tie = 0.5 * ((double)float_of(size) + (double)float_of(size + (uint32_t)side));
            mpfr_sqrt_ui(t, 2, MPFR_RNDN);
            mpfr_d_div(t, tie, t, MPFR_RNDN);
            mpfr_erfc(p, t, MPFR_RNDN);
            mpfr_div_2ui(p, p, 1, MPFR_RNDN);
            int beyond = mpfr_cmp_d(p, ((double)low + 0.5) * 0x1p-32); // the tail beyond the tie against that beyond z
            CHECK(beyond == -side, "level %s: z(%08x) = %08x is misrounded", level, words[i], z[i]);
        }
    }
    mpfr_clears(p, t, (mpfr_ptr)0);
}

static void bad_input(sb_context *ctx) {
    float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    sb_array *x = array_of(ctx, SB_F32, 1, (int64_t[]){8}, values), *y = array_of(ctx, SB_F32, 1, (int64_t[]){8}, NULL);
    sb_array *d = array_of(ctx, SB_F64, 1, (int64_t[]){8}, NULL), *s = array_of(ctx, SB_F32, 1, (int64_t[]){7}, NULL);
    sb_array *m = array_of(ctx, SB_F32, 2, (int64_t[]){2, 4}, NULL), *u = array_of(ctx, SB_U32, 1, (int64_t[]){8}, NULL);
    sb_array *head = NULL, *tail = NULL, *none = array_of(ctx, SB_F32, 2, (int64_t[]){0, 4}, NULL);
    sb_error err = {0};
    CHECK(sb_array_slice(x, 0, 7, &head, &err) == SB_OK && sb_array_slice(x, 1, 7, &tail, &err) == SB_OK, "%s", err.message);
    CHECK(sb_unary(ctx, SB_EXP, d, y, &err) == SB_ERR_DTYPE && !strcmp(err.argument, "out"), "%s", err.message);
    CHECK(sb_unary(ctx, SB_EXP, x, d, &err) == SB_ERR_DTYPE && !strcmp(err.argument, "out"), "%s", err.message);
    CHECK(sb_unary(ctx, SB_EXP, u, y, &err) == SB_ERR_DTYPE, "words are no floats");
    CHECK(sb_unary(ctx, SB_INVERSE_NORMAL, x, y, &err) == SB_ERR_DTYPE, "floats are no words");
    CHECK(sb_unary(ctx, SB_EXP, x, s, &err) == SB_ERR_SHAPE && !strcmp(err.argument, "out"), "%s", err.message);
    CHECK(sb_unary(ctx, SB_EXP, x, m, &err) == SB_ERR_SHAPE, "8 is not 2 by 4");
    CHECK(sb_unary(ctx, (sb_unary_kind)0, x, y, &err) == SB_ERR_ARGUMENT && !strcmp(err.argument, "kind"), "%s", err.message);
    CHECK(sb_unary(ctx, (sb_unary_kind)99, x, y, &err) == SB_ERR_ARGUMENT, "kind 99");
    CHECK(sb_unary(ctx, SB_EXP, NULL, y, &err) == SB_ERR_ARGUMENT && sb_unary(ctx, SB_EXP, x, NULL, &err) == SB_ERR_ARGUMENT &&
          sb_unary(NULL, SB_EXP, x, y, &err) == SB_ERR_ARGUMENT, "NULL");
    CHECK(sb_unary(ctx, SB_EXP, head, tail, &err) == SB_ERR_OVERLAP, "seven elements moved by one");
    CHECK(sb_unary(ctx, SB_EXP, none, none, &err) == SB_OK, "nothing: %s", err.message);
    CHECK(array_is(x, values), "a refused call changed x");
    sb_array *all[] = {head, tail, x, y, d, s, m, u, none};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        sb_array_free(all[i]);
    }
}

static void sizes_and_in_place(sb_context *ctx) {
    static const int64_t sizes[] = {1, 2, 31, 32, 33, 4095, 4096, 4097, 8192, 12321};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        int64_t n = sizes[s];
        uint32_t *x = malloc(4 * (size_t)(n + 2)), *y = malloc(4 * (size_t)n);
        uint64_t state = 99;
        for (int64_t i = 0; i < n; i++) {
            x[i + 1] = (uint32_t)next_word(&state);
        }
        for (int kind = SB_EXP; kind <= SB_ABS; kind++) {
            run(ctx, (sb_unary_kind)kind, x + 1, y, n);
            uint32_t *own = malloc(4 * (size_t)(n + 2)); // in place, between two words that must stay
            memcpy(own + 1, x + 1, 4 * (size_t)n);
            own[0] = own[n + 1] = 0xa5a5a5a5u;
            sb_array *a = NULL;
            sb_error err = {0};
            CHECK(sb_array_wrap(ctx, SB_F32, 1, &n, own + 1, &a, &err) == SB_OK, "%s", err.message);
            CHECK(sb_unary(ctx, (sb_unary_kind)kind, a, a, &err) == SB_OK, "%s", err.message);
            sb_array_free(a);
            CHECK(memcmp(own + 1, y, 4 * (size_t)n) == 0, "kind %d, %lld in place", kind, (long long)n);
            CHECK(own[0] == 0xa5a5a5a5u && own[n + 1] == 0xa5a5a5a5u, "kind %d, %lld: wrote outside", kind, (long long)n);
            free(own);
        }
        free(x);
        free(y);
    }
}

// log in binary64: known answers, limits, and the stated 0.6 ulp over hostile ranges.
static void log_binary64(void) {
    static const struct { uint64_t x, y; } rows[] = {
        {0x3ff0000000000000, 0}, {0, 0xfff0000000000000}, {0x8000000000000000, 0xfff0000000000000},
        {0x7ff0000000000000, 0x7ff0000000000000}, {0xfff0000000000000, 0x7ff8000000000000},
        {0xbff0000000000000, 0x7ff8000000000000}, {0x8000000000000001, 0x7ff8000000000000},
        {0x7ff0000000000001, 0x7ff8000000000000}, {0xfff8000000000000, 0x7ff8000000000000},
        {1, 0xc0874385446d71c3}, {0x40c3880000000000, 0x40226bb1bbb55516}, {0x4094d13f7ced9168, 0x401cc757d98cbc78},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t y = BITS64(sbi_log_f64(FLOAT64(rows[i].x)));
        CHECK(y == rows[i].y, "log of %016llx is %016llx", (unsigned long long)rows[i].x, (unsigned long long)y);
    }
    mpfr_t x, r;
    mpfr_init2(x, 53);
    mpfr_init2(r, 160);
    double worst = 0;
    uint64_t state = 3;
    for (int i = 0; i < 60000; i++) {
        uint64_t w = next_word(&state);
        double u = (double)(int64_t)(w >> 11) * 0x1p-53, v;
        switch (i % 6) {
        case 0: v = FLOAT64(w >> 1); break;
        case 1: v = 0.5 + 1.5 * u; break;
        case 2: v = 1 + (u - 0.5) * 0x1p-6; break;
        case 3: v = 0x1.6a09e667f3bcdp+0 * (1 - u * 0x1p-6); break; // both ends of the reduction
        case 4: v = 0x1.6a09e667f3bcdp-1 * (1 + u * 0x1p-5); break;
        default: v = FLOAT64(w & 0x000fffffffffffff); // subnormal
        }
        if (!(v > 0 && v < FLOAT64(0x7ff0000000000000u))) continue;
        double y = sbi_log_f64(v);
        mpfr_set_d(x, v, MPFR_RNDN);
        mpfr_log(r, x, MPFR_RNDN);
        mpfr_exp_t e = mpfr_zero_p(r) ? 0 : mpfr_get_exp(r);
        mpfr_sub_d(r, r, y, MPFR_RNDN);
        mpfr_mul_2si(r, r, 53 - (long)e, MPFR_RNDN);
        double error = mpfr_get_d(r, MPFR_RNDN);
        error = error < 0 ? -error : error;
        worst = error > worst ? error : worst;
    }
    CHECK(worst < 0.6, "log in binary64 errs by %.4f ulp", worst);
    printf("log in binary64: largest error seen %.4f ulp\n", worst);
    mpfr_clears(x, r, (mpfr_ptr)0);
}

int main(void) {
    for (int f = 0; f < FUNCTIONS; f++) {
        make_sample(f);
    }
    log_binary64();
    EACH_CONTEXT(c) {
        against_mpfr(c.ctx, c.level, c.threads);
        if (c.threads == 1) {
            limits(c.ctx, c.level);
            inverse_normal(c.ctx, c.level);
            sizes_and_in_place(c.ctx);
        }
        if (c.threads == 2) {
            order(c.ctx);
            bad_input(c.ctx);
        }
    }
    mpfr_free_cache();
    return test_end();
}
