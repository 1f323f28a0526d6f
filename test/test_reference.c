// SPDX-License-Identifier: Apache-2.0
// The reference against others: MPFR for functions, fma, square roots and roundings; the known answers of the contract
// and of the cases file; brute force in double, and central differences for gradients, so that what is defined is also
// the right function. Draws come from the reference's own Philox (checked first).
#include "reference.h"
#include "test.h"

#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

static uint64_t draws;
static uint32_t draw(void) { return ref_draw32(20261130, 1, draws++); }
static float draw_bits(void) { return ref_float32(draw()); }
static float uniform(float low, float high) {
    return low + (high - low) * ((float)(draw() >> 8) * 0x1p-24f);
}

// ---------------------------------------------------------------- T11: known answers

static void test_random(void) {
    const uint32_t zero[4] = {0, 0, 0, 0}, ones[4] = {~0u, ~0u, ~0u, ~0u};
    const uint32_t of_zero[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    const uint32_t of_ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    uint32_t w[4];
    ref_philox(zero, zero, w);
    CHECK(memcmp(w, of_zero, sizeof w) == 0, "philox of zero");
    ref_philox(ones, ones, w);
    CHECK(memcmp(w, of_ones, sizeof w) == 0, "philox of ones");
    const uint32_t u32[5] = {0x67ee6f2c, 0xe55410cc, 0x6c7eca35, 0x557398d3, 0xe5dde940};
    const uint64_t u64[2] = {0xe55410cc67ee6f2c, 0x557398d36c7eca35};
    const int64_t tens[10] = {8, 3, 3, 1, 9, 8, 4, 9, 1, 8}, order[8] = {3, 1, 2, 6, 5, 0, 4, 7};
    uint32_t a[5];
    uint64_t b[2];
    int64_t c[10], d[8];
    ref_random_bits(42, 7, 0, 5, SB_U32, a);
    ref_random_bits(42, 7, 0, 2, SB_U64, b);
    ref_random_integers(42, 7, 0, 10, 10, SB_I64, c);
    ref_random_choice(42, 7, 8, 8, d);
    CHECK(memcmp(a, u32, sizeof a) == 0, "u32 draws of seed 42, stream 7");
    CHECK(memcmp(b, u64, sizeof b) == 0, "u64 draws");
    CHECK(memcmp(c, tens, sizeof c) == 0, "ten integers in [0, 10)");
    CHECK(memcmp(d, order, sizeof d) == 0, "permutation of 8");
    for (int start = 0; start < 5; start++) { // a draw depends on its index alone
        ref_random_integers(42, 7, start, 10, 10 - start, SB_I64, c);
        CHECK(memcmp(c, tens + start, (size_t)(10 - start) * sizeof *c) == 0, "integers from %d", start);
    }
    float f[4];
    double g[2];
    ref_random_uniform(42, 7, 0, 4, SB_F32, f);
    ref_random_uniform(42, 7, 0, 2, SB_F64, g);
    CHECK(f[0] == (float)(0x67ee6f2c >> 8) / 16777216.0f && f[3] == (float)(0x557398d3 >> 8) / 16777216.0f, "uniform32");
    CHECK(g[1] == (double)(0x557398d36c7eca35u >> 11) / 9007199254740992.0, "uniform64");
}

// ---------------------------------------------------------------- T1: roundings, fma, square roots

static mpfr_t x_, y_, z_, t_, u_;

// x_ to float32, subnormals included (MPFR has no gradual underflow of its own: its result carries `ternary`).
static float to_float(mpfr_t value) { return mpfr_get_flt(value, MPFR_RNDN); }

static void check_fma(float a, float b, float c) {
    mpfr_set_flt(x_, a, MPFR_RNDN);
    mpfr_set_flt(y_, b, MPFR_RNDN);
    mpfr_set_flt(z_, c, MPFR_RNDN);
    mpfr_fma(t_, x_, y_, z_, MPFR_RNDN); // t_ has 640 bits: exact
    float want = to_float(t_);
    if (mpfr_zero_p(t_) && a != 0 && b != 0) // (an exact zero; the sign of a rounded one comes from the sum)
        want = 0.0f;
    if (a == 0 || b == 0)
        want = (float)((double)a * (double)b + (double)c);
    float got = ref_fma32(a, b, c);
    if (ref_bits32(ref_canon32(want)) != ref_bits32(got))
        CHECK(0, "fma(%a, %a, %a) = %a, not %a", (double)a, (double)b, (double)c, (double)got, (double)want);
    else
        test_passed++;
}

static void check_fma64(mpfr_t exact, double a, double b, double c) {
    mpfr_set_d(exact, a, MPFR_RNDN);
    mpfr_mul_d(exact, exact, b, MPFR_RNDN);
    mpfr_add_d(exact, exact, c, MPFR_RNDN); // exact has 4400 bits: both steps are exact
    double want = mpfr_get_d(exact, MPFR_RNDN), got = ref_fma64(a, b, c);
    if (mpfr_zero_p(exact)) want = a == 0 || b == 0 ? a * b + c : 0.0;
    if (ref_bits64(ref_canon64(want)) != ref_bits64(got))
        CHECK(0, "fma(%a, %a, %a) = %a, not %a", a, b, c, got, want);
    else
        test_passed++;
}

static void test_fma64(void) {
    static const uint64_t bits[] = {
        0, 1, 2, 3, 0xfffffffffffff, 0x10000000000000, 0x10000000000001, 0x20000000000000, 0x3fefffffffffffff,
        0x3ff0000000000000, 0x3ff0000000000001, 0x3fffffffffffffff, 0x3ca0000000000000, 0x3c90000000000001,
        0x7fefffffffffffff, 0x7fe0000000000000, 0x7ff0000000000000, 0x7ff8000000000000, 0x2000000000000000,
        0x1fffffffffffffff, 0x0008000000000000, 0x5fe0000000000001, 0x0160000000000001};
    enum { COUNT = sizeof bits / sizeof *bits };
    mpfr_t exact;
    mpfr_init2(exact, 4400);
    for (int i = 0; i < 2 * COUNT; i++)
        for (int j = 0; j < 2 * COUNT; j++)
            for (int k = 0; k < 2 * COUNT; k++)
                check_fma64(exact, ref_float64(bits[i / 2] | (uint64_t)i % 2 << 63), ref_float64(bits[j / 2] | (uint64_t)j % 2 << 63),
                            ref_float64(bits[k / 2] | (uint64_t)k % 2 << 63));
    for (uint64_t i = 0; i < 100000; i++) {
        double a = ref_float64(ref_draw64(5, 0, i)), b = ref_float64(ref_draw64(5, 1, i)), c = ref_float64(ref_draw64(5, 2, i));
        check_fma64(exact, a, b, c);
        a = 1.0 + (double)(ref_draw64(5, 3, i) >> 12) * 0x1p-52, b = 1.0 + (double)(ref_draw64(5, 4, i) >> 12) * 0x1p-52;
        check_fma64(exact, a, b, ref_float64(ref_bits64(-(a * b)) + draw() % 5 - 2)); // cancels
        check_fma64(exact, 1.0 + 1.0 / (double)(1ull << draw() % 53), 1.0 + 1.0 / (double)(1ull << draw() % 53),
                    ref_float64((uint64_t)(draw() % 240 + 900) << 52 | (uint64_t)(draw() & 1) << 63)); // halfway, broken far below
        check_fma64(exact, a * 0x1p-540, b * 0x1p-530 * (double)(draw() % 9), ref_float64(ref_draw64(5, 5, i) >> 12 >> draw() % 50));
    }
    mpfr_clear(exact);
    for (int i = 0; i < 200000; i++) { // maximum, minimum: those of float32, of the same numbers
        float a = i % 3 ? draw_bits() : ref_float32(draw() & 0x80000000u), b = i % 2 ? draw_bits() : ref_float32(draw() & 0x80000000u);
        CHECK(ref_bits64(ref_max64((double)a, (double)b)) == ref_bits64(ref_canon64((double)ref_max32(a, b))), "maximum(%a, %a)", (double)a, (double)b);
        CHECK(ref_bits64(ref_min64((double)a, (double)b)) == ref_bits64(ref_canon64((double)ref_min32(a, b))), "minimum(%a, %a)", (double)a, (double)b);
    }
}

static void test_fma(void) {
    static const uint32_t bits[] = {
        0, 1, 2, 3, 0x7fffff, 0x800000, 0x800001, 0xffffff, 0x1000000, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fffffff,
        0x34000000, 0x33800000, 0x33800001, 0x4b7fffff, 0x4b800000, 0x7f7fffff, 0x7f000000, 0x7f800000, 0x7fc00000,
        0x20000000, 0x1fffffff, 0x20000001, 0x00400000, 0x00000fff, 0x5f000001, 0x0b800001};
    enum { COUNT = sizeof bits / sizeof *bits };
    for (int i = 0; i < 2 * COUNT; i++)
        for (int j = 0; j < 2 * COUNT; j++)
            for (int k = 0; k < 2 * COUNT; k++)
                check_fma(ref_float32(bits[i / 2] | (i % 2 ? 0x80000000u : 0)),
                          ref_float32(bits[j / 2] | (j % 2 ? 0x80000000u : 0)),
                          ref_float32(bits[k / 2] | (k % 2 ? 0x80000000u : 0)));
    for (int i = 0; i < 200000; i++)
        check_fma(draw_bits(), draw_bits(), draw_bits());
    for (int i = 0; i < 200000; i++) { // sums that cancel, and halfway cases broken by a far bit
        float a = uniform(-2, 2), b = uniform(-2, 2);
        float c = ref_float32(ref_bits32(-(a * b)) + draw() % 5 - 2);
        check_fma(a, b, c);
        check_fma(ref_float32(0x3f800000u | (1u << draw() % 23)), ref_float32(0x3f800000u | (1u << draw() % 23)),
                  ref_float32((draw() % 60 + 100) << 23 | (draw() & 1) << 31));
    }
    for (int i = 0; i < 200000; i++) { // subnormal results, and products far below them
        int shift = (int)(draw() % 40) + 60;
        float a = uniform(-2, 2) * ref_float32((uint32_t)(127 - shift) << 23), b = uniform(-2, 2) * 0x1p-70f;
        check_fma(a, b, ref_float32((draw() & 0x807fffffu) >> draw() % 24));
    }
    static const uint64_t m64[] = {1, 2, 3, 0x1000000, 0x1000001, 0x1ffffff, 0x2000001, 0x7fffffffff, 0x8000000000};
    for (int i = 0; i < 200000; i++) { // roundings of long integers
        uint64_t high = m64[draw() % 9], low = draw() % 3 ? 0 : draw();
        int shift = (int)(draw() % 60);
        int64_t e = (int64_t)(draw() % 330) - 220;
        ref_u128 m = ((ref_u128)high << shift) + low;
        mpfr_set_uj(x_, (uint64_t)(m >> 64), MPFR_RNDN);
        mpfr_mul_2ui(x_, x_, 64, MPFR_RNDN);
        mpfr_add_ui(x_, x_, (uint64_t)m, MPFR_RNDN);
        mpfr_mul_2si(x_, x_, (long)e, MPFR_RNDN);
        CHECK(ref_bits32(ref_round32(0, m, e)) == ref_bits32(to_float(x_)), "rounding %llu << %d + %llu, 2^%lld",
              (unsigned long long)high, shift, (unsigned long long)low, (long long)e);
    }
    for (int i = 0; i < 100000; i++) {
        uint32_t pattern = draw() & 0x7fffffffu;
        if (i % 4 == 0) pattern = draw() >> 9 >> draw() % 23;
        float x = ref_float32(pattern);
        mpfr_set_flt(x_, x, MPFR_RNDN);
        mpfr_sqrt(t_, x_, MPFR_RNDN);
        CHECK(ref_bits32(ref_canon32(to_float(t_))) == ref_bits32(ref_sqrt32(x)), "sqrt(%a)", (double)x);
        uint64_t wide = ref_draw64(3, 4, (uint64_t)i) & 0x7fffffffffffffffu;
        if (i % 4 == 0) wide = wide >> 11 >> draw() % 52;
        double d = ref_float64(wide);
        mpfr_set_d(x_, d, MPFR_RNDN);
        mpfr_sqrt(t_, x_, MPFR_RNDN);
        double want = mpfr_get_d(t_, MPFR_RNDN), root = ref_sqrt64(d);
        CHECK(ref_bits64(ref_canon64(want)) == ref_bits64(root), "sqrt(%a) = %a", d, root);
        double square = (double)(wide >> 37) * (double)(wide >> 37); // exact, and one bit beside exact
        CHECK(ref_sqrt64(square) == (double)(wide >> 37), "sqrt(%a)", square);
    }
    CHECK(ref_bits32(ref_max32(-0.0f, 0.0f)) == 0 && ref_bits32(ref_max32(0.0f, -0.0f)) == 0, "max of zeros");
    CHECK(ref_bits32(ref_min32(-0.0f, 0.0f)) == 0x80000000u && ref_bits32(ref_min32(0.0f, -0.0f)) == 0x80000000u, "min of zeros");
    CHECK(ref_bits32(ref_max32(ref_float32(0xffc12345u), 1.0f)) == 0x7fc00000u, "max with NaN");
}

// ---------------------------------------------------------------- T4: functions

static void exact_sigmoid(mpfr_t out, mpfr_t x) { // 1/(1 + exp(-x)) without cancellation
    mpfr_neg(u_, x, MPFR_RNDN);
    mpfr_exp(u_, u_, MPFR_RNDN);
    mpfr_add_ui(u_, u_, 1, MPFR_RNDN);
    mpfr_ui_div(out, 1, u_, MPFR_RNDN);
}

// gelu by the definition that PyTorch's users read: x/2 (1 + erf(x / sqrt 2)), x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
static float exact_gelu(sb_unary_kind kind, float x) {
    int gate = kind == SB_GELU || kind == SB_GELU_TANH, erf = kind == SB_GELU || kind == SB_GELU_GRAD;
    if (x > 30) return gate ? x : 1.0f;
    if (x < (erf ? -30.0f : -11.0f)) return -0.0f; // (below 2^-150; here 1 + tanh would keep no bit)
    mpfr_set_flt(x_, x, MPFR_RNDN);
    mpfr_t u, half;
    mpfr_inits2(mpfr_get_prec(t_), u, half, (mpfr_ptr)0);
    if (erf) {
        mpfr_sqrt_ui(u, 2, MPFR_RNDN);
        mpfr_div(u, x_, u, MPFR_RNDN);
        mpfr_erf(t_, u, MPFR_RNDN);
    } else {
        mpfr_pow_ui(u, x_, 3, MPFR_RNDN);
        mpfr_mul_ui(u, u, 44715, MPFR_RNDN);
        mpfr_div_ui(u, u, 1000000, MPFR_RNDN);
        mpfr_add(u, u, x_, MPFR_RNDN);
        mpfr_const_pi(half, MPFR_RNDN);
        mpfr_ui_div(half, 2, half, MPFR_RNDN);
        mpfr_sqrt(half, half, MPFR_RNDN);
        mpfr_mul(u, u, half, MPFR_RNDN);
        mpfr_tanh(t_, u, MPFR_RNDN);
    }
    mpfr_add_ui(half, t_, 1, MPFR_RNDN);
    mpfr_div_ui(half, half, 2, MPFR_RNDN); // the half with (1 + ...)
    if (gate) {
        mpfr_mul(t_, half, x_, MPFR_RNDN);
    } else if (erf) { // + x e^(-x^2/2) / sqrt(2 pi)
        mpfr_sqr(u, u, MPFR_RNDN);
        mpfr_neg(u, u, MPFR_RNDN);
        mpfr_exp(u, u, MPFR_RNDN);
        mpfr_mul(u, u, x_, MPFR_RNDN);
        mpfr_const_pi(t_, MPFR_RNDN);
        mpfr_mul_ui(t_, t_, 2, MPFR_RNDN);
        mpfr_sqrt(t_, t_, MPFR_RNDN);
        mpfr_div(u, u, t_, MPFR_RNDN);
        mpfr_add(t_, half, u, MPFR_RNDN);
    } else { // + x/2 (1 - tanh^2) u', u' = sqrt(2/pi) (1 + 3 0.044715 x^2)
        mpfr_sqr(t_, t_, MPFR_RNDN);
        mpfr_ui_sub(t_, 1, t_, MPFR_RNDN);
        mpfr_mul(t_, t_, x_, MPFR_RNDN);
        mpfr_sqr(u, x_, MPFR_RNDN);
        mpfr_mul_ui(u, u, 3 * 44715, MPFR_RNDN);
        mpfr_div_ui(u, u, 1000000, MPFR_RNDN);
        mpfr_add_ui(u, u, 1, MPFR_RNDN);
        mpfr_mul(t_, t_, u, MPFR_RNDN);
        mpfr_const_pi(u, MPFR_RNDN);
        mpfr_mul_ui(u, u, 2, MPFR_RNDN);
        mpfr_rec_sqrt(u, u, MPFR_RNDN);
        mpfr_mul(t_, t_, u, MPFR_RNDN);
        mpfr_add(t_, t_, half, MPFR_RNDN);
    }
    mpfr_clears(u, half, (mpfr_ptr)0);
    return to_float(t_);
}

static float exact(sb_unary_kind kind, float x) {
    mpfr_set_flt(x_, x, MPFR_RNDN);
    switch (kind) {
    case SB_EXP: mpfr_exp(t_, x_, MPFR_RNDN); break;
    case SB_LOG: mpfr_log(t_, x_, MPFR_RNDN); break;
    case SB_SIN: mpfr_sin(t_, x_, MPFR_RNDN); break;
    case SB_COS: mpfr_cos(t_, x_, MPFR_RNDN); break;
    case SB_RSQRT:
        if (x == 0) return x == 0 && ref_bits32(x) ? -INFINITY : INFINITY;
        mpfr_rec_sqrt(t_, x_, MPFR_RNDN);
        break;
    case SB_TANH: mpfr_tanh(t_, x_, MPFR_RNDN); break;
    case SB_EXPM1: mpfr_expm1(t_, x_, MPFR_RNDN); break;
    case SB_LOG1P: mpfr_log1p(t_, x_, MPFR_RNDN); break;
    case SB_EXP2: mpfr_exp2(t_, x_, MPFR_RNDN); break;
    case SB_LOG2: mpfr_log2(t_, x_, MPFR_RNDN); break;
    case SB_LOG10: mpfr_log10(t_, x_, MPFR_RNDN); break;
    case SB_ERF: mpfr_erf(t_, x_, MPFR_RNDN); break;
    case SB_ERFC: mpfr_erfc(t_, x_, MPFR_RNDN); break;
    case SB_SOFTPLUS:
    case SB_LOG_SIGMOID: // +-log(1 + e^+-x)
        if (kind == SB_LOG_SIGMOID) mpfr_neg(x_, x_, MPFR_RNDN);
        if (x == INFINITY || x == -INFINITY || mpfr_cmp_d(x_, 1e6) > 0) {
            mpfr_set(t_, x_, MPFR_RNDN);
            if (mpfr_sgn(x_) < 0) mpfr_set_zero(t_, 1);
        } else {
            mpfr_exp(t_, x_, MPFR_RNDN);
            mpfr_log1p(t_, t_, MPFR_RNDN);
        }
        if (kind == SB_LOG_SIGMOID) mpfr_neg(t_, t_, MPFR_RNDN);
        break;
    case SB_GELU:
    case SB_GELU_GRAD:
    case SB_GELU_TANH:
    case SB_GELU_TANH_GRAD: return exact_gelu(kind, x);
    case SB_SIGMOID: exact_sigmoid(t_, x_); break;
    case SB_SILU:
        if (x == -INFINITY) return -0.0f;
        exact_sigmoid(t_, x_);
        mpfr_mul(t_, t_, x_, MPFR_RNDN);
        break;
    case SB_SILU_GRAD:
        if (x == -INFINITY) return -0.0f;
        if (x == INFINITY) return 1.0f;
        exact_sigmoid(t_, x_);
        mpfr_neg(y_, x_, MPFR_RNDN);
        exact_sigmoid(z_, y_);
        mpfr_mul(z_, z_, x_, MPFR_RNDN);
        mpfr_add_ui(z_, z_, 1, MPFR_RNDN);
        mpfr_mul(t_, t_, z_, MPFR_RNDN);
        break;
    default: return 0;
    }
    return to_float(t_);
}

static void check_function(sb_unary_kind kind, const char *name, float x) {
    float want = ref_canon32(exact(kind, x)), got = ref_unary(kind, x);
    if (ref_bits32(want) != ref_bits32(got))
        CHECK(0, "%s(%a, %08x) = %a, not %a", name, (double)x, ref_bits32(x), (double)got, (double)want);
    else
        test_passed++;
}

static void test_functions(void) {
    static const struct { sb_unary_kind kind; const char *name; float low, high; float hard[4]; } rows[] = {
        {SB_EXP, "exp", -104.5f, 89, {88.722839f, -103.97208f, -87.336545f, 0.69314718f}},
        {SB_LOG, "log", 0.5f, 2, {1, 2.7182817f, 0x1p-126f, 0.70710677f}},
        {SB_SIN, "sin", -10, 10, {1.5707964f, 3.1415927f, 6.2831855f, 0.78539819f}},
        {SB_COS, "cos", -10, 10, {1.5707964f, 4.712389f, 3.1415927f, 0.78539819f}},
        {SB_RSQRT, "rsqrt", 0, 4, {1, 2, 0x1p-126f, 0.25f}},
        {SB_SIGMOID, "sigmoid", -105, 18, {0x1p-22f, 17.328679f, -103.97208f, -87.336545f}},
        {SB_SILU, "silu", -110, 20, {-1.2784645f, -108.6f, -92, 17}},
        {SB_SILU_GRAD, "silu_grad", -110, 22, {-1.2784645f, 2.3993573f, -2.3993573f, 1}},
        {SB_TANH, "tanh", -10, 10, {0.34657359f, 9.0109133f, -0.17328680f, 0x1p-12f}},
        {SB_EXPM1, "expm1", -20, 89, {0.34657359f, -0.34657359f, -17.328679f, 88.722839f}},
        {SB_LOG1P, "log1p", -1, 4, {-0.99999994f, 0.41421357f, -0.29289323f, 0x1p-29f}},
        {SB_EXP2, "exp2", -151, 129, {128, -149, -150, 0.5f}},
        {SB_LOG2, "log2", 0.5f, 2, {1, 0x1p-126f, 0.70710677f, 8}},
        {SB_LOG10, "log10", 0.5f, 2000, {1, 10, 1000, 1e10f}},
        {SB_ERF, "erf", -4, 4, {0.89442719f, 3.8325f, -1, 0x1p-12f}},
        {SB_ERFC, "erfc", -4, 10.1f, {9.1945495f, 10.054f, 0.47f, -3.8325f}},
        {SB_SOFTPLUS, "softplus", -104.5f, 20, {-0.88f, 0.88f, 16.635532f, -87.336545f}},
        {SB_LOG_SIGMOID, "log_sigmoid", -20, 104.5f, {-0.88f, 0.88f, -16.635532f, 87.336545f}},
        {SB_GELU, "gelu", -14.3f, 6, {-0.75179154f, -13, -5.5f, 5.5f}},
        {SB_GELU_TANH, "gelu_tanh", -10.1f, 6, {-0.75246143f, -9.5f, -2, 5.5f}},
        {SB_GELU_GRAD, "gelu_grad", -14.5f, 6, {-0.75179154f, 1.4142135f, -14, -5.5f}},
        {SB_GELU_TANH_GRAD, "gelu_tanh_grad", -10.2f, 6, {-0.75246143f, 1.4142135f, -10, -2}},
    };
    static const uint32_t always[] = {0, 1, 2, 3, 0x7fffff, 0x800000, 0x3f800000, 0x7f7fffff, 0x7f800000, 0x7fc00000,
                                      0x7f800001, 0x33800000, 0x34000000, 0x33000000, 0x33800001, 0x32ffffff};
    enum { RANDOM = 70000 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sb_unary_kind kind = rows[i].kind;
        for (size_t j = 0; j < 2 * (sizeof always / sizeof *always); j++)
            check_function(kind, rows[i].name, ref_float32(always[j / 2] | (j % 2 ? 0x80000000u : 0)));
        for (int j = 0; j < RANDOM; j++) // every binade, both signs
            check_function(kind, rows[i].name, ref_float32((uint32_t)(j % 512) << 23 | draw() >> 9));
        for (int j = 0; j < RANDOM; j++) // where something happens
            check_function(kind, rows[i].name, uniform(rows[i].low, rows[i].high));
        for (int h = 0; h < 4; h++)
            for (int j = -1500; j < 1500; j++)
                check_function(kind, rows[i].name, ref_float32(ref_bits32(rows[i].hard[h]) + (uint32_t)j));
        for (int j = 0; j < RANDOM; j++) // small arguments with few bits, halves of spacings: 1 + x, 1/2 + x/4, x/2
            check_function(kind, rows[i].name,
                           ref_float32((draw() & 1) << 31 | ((draw() % 40 + 95) << 23) | (draw() & 15) << 19));
        if (kind == SB_SILU || kind == SB_SILU_GRAD || kind == SB_GELU || kind == SB_GELU_TANH)
            for (int j = 0; j < RANDOM / 4; j++)
                check_function(kind, rows[i].name, ref_float32((draw() & 0x80ffffffu) >> draw() % 3));
        if (kind == SB_SIN || kind == SB_COS)
            for (uint32_t j = 1; j < 30000; j++) // beside multiples of pi/2, near and far
                check_function(kind, rows[i].name, (float)((double)(j < 20000 ? j : j << draw() % 12) * 1.5707963267948966));
        printf("%-10s checked\n", rows[i].name);
    }
    CHECK(ref_bits32(ref_unary(SB_NEG, 0.0f)) == 0x80000000u && ref_bits32(ref_unary(SB_ABS, -0.0f)) == 0, "neg, abs");
    CHECK(ref_bits32(ref_unary(SB_NEG, ref_float32(0x7fc00001u))) == 0x7fc00000u, "neg of a NaN is canonical");
    CHECK(ref_bits32(ref_unary(SB_SQRT, 2.0f)) == 0x3fb504f3u && ref_bits32(ref_unary(SB_SQRT, -0.0f)) == 0x80000000u, "sqrt");
    // Half a spacing and a little more, or a little less: never a tie.
    CHECK(ref_bits32(ref_unary(SB_SILU, 0x1p-149f)) == 1, "silu of the least float rounds up");
    CHECK(ref_bits32(ref_unary(SB_SILU, -0x1p-149f)) == 0x80000000u, "and its negative to -0");
}

static double exact_normal_at(double z, mpfr_t out) { // Phi(z)
    mpfr_set_d(x_, z, MPFR_RNDN);
    mpfr_sqrt_ui(y_, 2, MPFR_RNDN);
    mpfr_div(x_, x_, y_, MPFR_RNDN);
    mpfr_neg(x_, x_, MPFR_RNDN);
    mpfr_erfc(out, x_, MPFR_RNDN);
    mpfr_div_2ui(out, out, 1, MPFR_RNDN);
    return z;
}

static void check_normal(uint32_t u) {
    float z = ref_normal(u);
    uint32_t bits = ref_bits32(z);
    double toward = ((double)ref_float32(bits - 1) + (double)z) / 2, away = ((double)ref_float32(bits + 1) + (double)z) / 2;
    mpfr_set_ui(u_, u, MPFR_RNDN);
    mpfr_add_d(u_, u_, 0.5, MPFR_RNDN);
    mpfr_div_2ui(u_, u_, 32, MPFR_RNDN);
    exact_normal_at(toward < away ? toward : away, z_);
    exact_normal_at(toward < away ? away : toward, t_);
    CHECK(mpfr_less_p(z_, u_) && mpfr_less_p(u_, t_), "normal(%08x) = %a", u, (double)z);
}

static void test_normal(void) {
    for (uint32_t u = 0; u < 300; u++) {
        check_normal(u);
        check_normal(~u);
        check_normal(0x7fffffffu - u);
        check_normal(0x80000000u + u);
    }
    for (int i = 0; i < 12000; i++)
        check_normal(draw());
    for (int i = 0; i < 3000; i++) // tails
        check_normal(draw() >> draw() % 30);
    CHECK(ref_normal(0) < -6.3f && ref_normal(0xffffffffu) == -ref_normal(0), "symmetry");
}

static void test_power(void) {
    static const float thetas[] = {10000, 500000, 1000000, 10, 2, 0.37f, 0x1p-20f, 1};
    for (size_t i = 0; i < sizeof thetas / sizeof *thetas; i++)
        for (int64_t half = 1; half <= 64; half += half < 8 ? 1 : 4)
            for (int64_t j = 0; j < half; j++) {
                mpfr_set_flt(x_, thetas[i], MPFR_RNDN);
                mpfr_set_si(y_, -(long)j, MPFR_RNDN);
                mpfr_div_si(y_, y_, (long)half, MPFR_RNDN);
                mpfr_pow(t_, x_, y_, MPFR_RNDN);
                CHECK(to_float(t_) == ref_power_f32(thetas[i], j, half), "%g^(-%d/%d)", (double)thetas[i], (int)j, (int)half);
            }
}

static void test_log64(void) {
    double worst = 0;
    for (int i = 0; i < 60000; i++) {
        uint64_t bits = ref_draw64(5, 6, (uint64_t)i) >> 1;
        if (i % 3 == 0) bits = 0x3fe0000000000000u + (bits >> 10);
        double x = ref_float64(bits), y = ref_log64(x);
        if (!(x < HUGE_VAL) || x == 0) continue;
        mpfr_set_d(x_, x, MPFR_RNDN);
        mpfr_log(t_, x_, MPFR_RNDN);
        double near = mpfr_get_d(t_, MPFR_RNDN);
        if (near == 0) {
            CHECK(y == 0, "log 1");
            continue;
        }
        mpfr_sub_d(t_, t_, y, MPFR_RNDN);
        double ulp = ref_float64((ref_bits64(near) & 0x7ff0000000000000u)) * 0x1p-52;
        double error = fabs(mpfr_get_d(t_, MPFR_RNDN)) / ulp;
        worst = error > worst ? error : worst;
    }
    printf("log in binary64: within %.3f ulp\n", worst);
    CHECK(worst < 0.6, "log in binary64 is off by %g ulp", worst);
    CHECK(ref_bits64(ref_log64(1.0)) == 0 && ref_log64(0.0) == -HUGE_VAL && ref_log64(HUGE_VAL) == HUGE_VAL, "limits of log");
    CHECK(ref_bits64(ref_log64(-1.0)) == 0x7ff8000000000000u, "log of a negative number");
    // Met elsewhere, other bits by CPU: correctly rounded values, which this sequence happens to meet.
    CHECK(ref_bits64(ref_log64(1332.312)) == 0x401cc757d98cbc78u, "log(1332.312)");
    CHECK(ref_bits64(ref_log64(1e4)) == 0x40226bb1bbb55516u, "log(1e4)");
}

// ---------------------------------------------------------------- T2

static float sum_of(int64_t n, const float *x) {
    float s;
    ref_reduce_f32(SB_SUM, 1, n, 1, x, &s);
    return s;
}

static void test_sums(void) {
    // Met elsewhere, stuck at 2^24: 20,000,000 ones in a column.
    int64_t n = 20000000;
    float *ones = malloc((size_t)n * sizeof *ones);
    CHECK(ones != NULL, "memory");
    if (!ones) return;
    for (int64_t i = 0; i < n; i++) ones[i] = 1;
    CHECK(sum_of(n, ones) == 20000000.0f, "stuck sum");
    float mean;
    ref_reduce_f32(SB_MEAN, 1, n, 1, ones, &mean);
    CHECK(mean == 1.0f, "mean of ones");
    free(ones);
    // Met elsewhere, a constant column with a spread: the mean is the value itself.
    for (int count = 1; count <= 1000; count += 37) {
        float x[1000];
        for (int i = 0; i < count; i++) x[i] = 14.62f;
        ref_reduce_f32(SB_MEAN, 1, count, 1, x, &mean);
        CHECK(mean == 14.62f, "mean of %d times 14.62", count);
        for (int i = 0; i < count; i++) x[i] = i % 2 ? -0.0f : 0.0f;
        ref_reduce_f32(SB_MEAN, 1, count, 1, x, &mean);
        CHECK(ref_bits32(mean) == 0, "mean of zeros is +0");
    }
    // The order shows: 2^53, 1, ... in one lane loses the ones, the tree keeps what other lanes hold.
    double wide[4096 + 1] = {0};
    wide[0] = 0x1p53;
    for (int i = 1; i <= 10; i++) wide[32 * i] = 1;
    CHECK(ref_sum(4096, wide, NULL) == 0x1p53, "within a lane");
    memset(wide, 0, sizeof wide);
    wide[0] = 0x1p53;
    wide[16] = 1; // stride 16 joins lane 0 first
    wide[8] = 1;
    wide[24] = 1; // 8 + 24 = 2 reaches lane 0 whole
    CHECK(ref_sum(4096, wide, NULL) == 0x1p53 + 2, "the tree");
    wide[4096] = 0.5; // a block of its own: added to the first block's total
    CHECK(ref_sum(4097, wide, NULL) == 0x1p53 + 2, "blocks");
    wide[4096] = 2;
    CHECK(ref_sum(4097, wide, NULL) == 0x1p53 + 4, "blocks");
    // An absent term keeps its number.
    uint8_t present[40];
    memset(present, 1, sizeof present);
    double few[40] = {0};
    few[0] = 0x1p53, few[31] = 1, few[32] = NAN, few[33] = 1;
    present[32] = 0;
    CHECK(ref_sum(40, few, present) == 0x1p53 + 2, "31 and 33 (lane 1) meet in the tree");
    const float minus[2] = {-0.0f, -0.0f};
    CHECK(ref_bits32(sum_of(2, minus)) == 0 && ref_bits32(sum_of(0, minus)) == 0, "a sum is never -0");
    const float mixed[6] = {NAN, 3, -0.0f, 7, 7, NAN}, nans[2] = {NAN, NAN}, zeros[3] = {-0.0f, 0.0f, -0.0f};
    int64_t at;
    ref_reduce_f32(SB_ARGMAX, 1, 6, 1, mixed, &at);
    CHECK(at == 3, "argmax");
    ref_reduce_f32(SB_ARGMAX, 1, 2, 1, nans, &at);
    CHECK(at == 0, "argmax of NaN");
    ref_reduce_f32(SB_ARGMAX, 1, 3, 1, zeros, &at);
    CHECK(at == 0, "argmax of zeros");
    float most;
    ref_reduce_f32(SB_MAX, 1, 3, 1, zeros, &most);
    CHECK(ref_bits32(most) == 0, "max of zeros");
    ref_reduce_f32(SB_MAX, 1, 6, 1, mixed, &most);
    CHECK(ref_bits32(most) == 0x7fc00000u, "max with NaN");
}

// ---------------------------------------------------------------- T1: sorting, ties that others break

static void test_sort(void) {
    static const struct { int n; float x[9]; int64_t ascending[9]; } rows[] = {
        {6, {1, 2, 3, 3, 2, 1}, {0, 5, 1, 4, 2, 3}},
        {9, {3, 1, 4, 1, 5, 9, 2, 6, 5}, {1, 3, 6, 0, 2, 4, 8, 7, 5}},
        {5, {NAN, 1, -NAN, -INFINITY, INFINITY}, {3, 1, 4, 0, 2}},
        {4, {0.0f, -0.0f, 0.0f, -1}, {3, 0, 1, 2}},
    };
    int64_t at[9];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ref_argsort(SB_F32, 1, rows[i].n, 0, rows[i].x, at);
        CHECK(memcmp(at, rows[i].ascending, (size_t)rows[i].n * sizeof *at) == 0, "argsort of row %d", (int)i);
    }
    const float top[6] = {3, 2, 3, 2, 1, 1}, with_nan[4] = {NAN, 1, 2, NAN};
    ref_argsort(SB_F32, 1, 6, 1, top, at);
    CHECK(at[0] == 0 && at[1] == 2 && at[2] == 1 && at[3] == 3, "descending is stable");
    ref_argsort(SB_F32, 1, 4, 1, with_nan, at);
    CHECK(at[0] == 2 && at[1] == 1 && at[2] == 0 && at[3] == 3, "descending, NaN last");
    float values[4];
    uint32_t bits[4];
    ref_sort(SB_F32, 1, 4, 0, (const uint32_t[]){0x7fc00123u, 0x3f800000u, 0x80000000u, 0xffc00001u}, bits);
    CHECK(bits[0] == 0x80000000u && bits[2] == 0x7fc00123u && bits[3] == 0xffc00001u, "a sort keeps bits");
    (void)values;
    const int64_t wide[3] = {INT64_MIN, INT64_MAX, 0};
    int64_t sorted[3];
    ref_sort(SB_I64, 1, 3, 1, wide, sorted);
    CHECK(sorted[0] == INT64_MAX && sorted[2] == INT64_MIN, "int64");
}

// ---------------------------------------------------------------- brute force

static void fill(float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] = uniform(-1, 1);
}

static int near(double got, double want, double tolerance) {
    return fabs(got - want) <= tolerance * (1 + fabs(want));
}

static void test_gemm(void) {
    enum { M = 5, N = 4, K = 17000 };
    float *a = ref_memory(M * K, sizeof *a), *b = ref_memory(N * K, sizeof *b), c[M * N], bias[N], old[M * N], first[M * N];
    fill(a, M * K);
    fill(b, N * K);
    fill(bias, N);
    fill(old, M * N);
    static const int64_t sizes[] = {0, 1, 7, 256, 257, 1000, 16384, 16385, K};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int form = 0; form < 4; form++) {
            int ta = form & 1, tb = form >> 1;
            int64_t k = sizes[s];
            memcpy(c, old, sizeof c);
            ref_gemm_f32(ta, tb, M, N, k, a, b, bias, 1, 0.5f, 1, c);
            for (int i = 0; i < M; i++)
                for (int j = 0; j < N; j++) {
                    double want = 0;
                    for (int64_t l = 0; l < k; l++)
                        want += (double)(ta ? a[l * M + i] : a[i * k + l]) * (double)(tb ? b[j * k + l] : b[l * N + j]);
                    want = (double)old[i * N + j] + (want * 0.5 + (double)bias[j]);
                    CHECK(near((double)c[i * N + j], want, 1e-4), "gemm form %d, k %d", form, (int)k);
                }
        }
    // A row alone and in its batch, by the contract's chain.
    const float x[4] = {.0451f, -.8093f, -.3275f, -.5304f}, w[8] = {.29f, .05f, -.11f, -.29f, .05f, .29f, -.03f, -.05f};
    const uint32_t want[8] = {0xbce0589b, 0x3e6b3fea, 0xbe6e0546, 0x3d2033e8, 0xbdf8d25e, 0x3e4265ad, 0xbe2e468c, 0x3d14de7e};
    float y[8], alone[8];
    ref_gemm_f32(0, 1, 2, 4, 2, x, w, NULL, 0, 0, 0, y);
    ref_gemm_f32(0, 1, 1, 4, 2, x, w, NULL, 0, 0, 0, alone);
    ref_gemm_f32(0, 1, 1, 4, 2, x + 2, w, NULL, 0, 0, 0, alone + 4);
    for (int i = 0; i < 8; i++)
        CHECK(ref_bits32(y[i]) == want[i] && ref_bits32(alone[i]) == want[i], "a row alone and in a batch: %d, %08x", i, ref_bits32(y[i]));
    // Totals start at +0: no product is -0. Chunks: 2^24, then ones in a chunk of their own, then in the same chunk.
    const float minus = -1, zero = 0;
    ref_gemm_f32(0, 0, 1, 1, 1, &minus, &zero, NULL, 0, 0, 0, first);
    CHECK(ref_bits32(first[0]) == 0, "-1 times 0 is +0 as a product");
    for (int64_t i = 0; i < 600; i++) a[i] = b[i] = 0;
    a[0] = 0x1p24f, b[0] = 1;
    a[256] = a[257] = b[256] = b[257] = 1;
    ref_gemm_f32(0, 0, 1, 1, 600, a, b, NULL, 0, 0, 0, first);
    CHECK(first[0] == 0x1p24f + 2, "two ones of one chunk arrive together");
    a[257] = 0, a[512] = b[512] = 1;
    ref_gemm_f32(0, 0, 1, 1, 600, a, b, NULL, 0, 0, 0, first);
    CHECK(first[0] == 0x1p24f, "ones of two chunks are lost one by one");
    free(a);
    free(b);
}

// Attention in double, of perturbed inputs, summed against fixed weights: what central differences need.
typedef struct attention_case {
    ref_attention o;
    int64_t q_size, k_size;
    double *q, *k, *v, *y;
    const float *weight;
} attention_case;

static double attention_double(attention_case *c) {
    const ref_attention *o = &c->o;
    double total = 0;
    for (int64_t row = 0; row < o->b * o->t * o->h; row++) {
        int64_t head = row % o->h, query = row / o->h % o->t, batch = row / o->h / o->t, group = head / (o->h / o->g);
        double sum = 0, *y = c->y + row * o->d;
        for (int64_t e = 0; e < o->d; e++) y[e] = 0;
        for (int64_t key = 0; key < o->keys; key++) {
            int64_t at_query = o->first + query;
            int behind = o->window && key <= at_query - o->window, beyond = o->causal && key > at_query;
            if ((o->mask && !o->mask[batch * o->s + key]) || (key >= o->prefix && (behind || beyond))) continue;
            int64_t at = ((batch * o->s + key) * o->g + group) * o->d;
            double score = 0;
            for (int64_t e = 0; e < o->d; e++) score += c->q[row * o->d + e] * c->k[at + e];
            double weight = exp(score * o->scale);
            sum += weight;
            for (int64_t e = 0; e < o->d; e++) y[e] += weight * c->v[at + e];
        }
        for (int64_t e = 0; e < o->d; e++) {
            y[e] = sum > 0 ? y[e] / sum : 0;
            total += y[e] * (double)c->weight[row * o->d + e];
        }
    }
    return total;
}

static void check_slope(attention_case *c, double *x, double got, const char *name, int64_t i) {
    const double step = 1e-5;
    double kept = *x;
    *x = kept + step;
    double high = attention_double(c);
    *x = kept - step;
    double low = attention_double(c);
    *x = kept;
    CHECK(near(got, (high - low) / (2 * step), 2e-5), "%s[%d] = %g, slope %g", name, (int)i, got, (high - low) / (2 * step));
}

static void test_attention_case(ref_attention o) {
    int64_t nq = o.b * o.t * o.h * o.d, nk = o.b * o.s * o.g * o.d, rows = o.b * o.t * o.h;
    float *q = ref_memory(nq, 4), *k = ref_memory(nk, 4), *v = ref_memory(nk, 4), *y = ref_memory(nq, 4), *m = ref_memory(rows, 4);
    float *dy = ref_memory(nq, 4), *dq = ref_memory(nq, 4), *dk = ref_memory(nk, 4), *dv = ref_memory(nk, 4);
    double *l = ref_memory(rows, 8);
    fill(q, nq), fill(k, nk), fill(v, nk), fill(dy, nq);
    for (int64_t i = 0; i < nq; i++) q[i] *= 3;
    attention_case c = {o, nq, nk, ref_memory(nq, 8), ref_memory(nk, 8), ref_memory(nk, 8), ref_memory(nq, 8), dy};
    for (int64_t i = 0; i < nq; i++) c.q[i] = (double)q[i];
    for (int64_t i = 0; i < nk; i++) c.k[i] = (double)k[i], c.v[i] = (double)v[i];
    for (int64_t b = 0; b < o.b; b++) // beyond the keys lies what may not be seen
        for (int64_t i = (b * o.s + o.keys) * o.g * o.d; i < (b + 1) * o.s * o.g * o.d; i++) k[i] = v[i] = NAN;
    ref_attention_f32(&o, q, k, v, y, m, l);
    attention_double(&c);
    for (int64_t i = 0; i < nq; i++) CHECK(near((double)y[i], c.y[i], 5e-6), "attention y[%d]", (int)i);
    ref_attention_backward_f32(&o, q, k, v, y, m, l, dy, dq, dk, dv);
    for (int64_t i = 0; i < nq; i += nq / 23 + 1) check_slope(&c, c.q + i, (double)dq[i], "dq", i);
    for (int64_t i = 0; i < nk; i += nk / 23 + 1) {
        check_slope(&c, c.k + i, (double)dk[i], "dk", i);
        check_slope(&c, c.v + i, (double)dv[i], "dv", i);
    }
    free(q), free(k), free(v), free(y), free(m), free(dy), free(dq), free(dk), free(dv), free(l);
    free(c.q), free(c.k), free(c.v), free(c.y);
}

static void test_attention(void) {
    test_attention_case((ref_attention){2, 7, 4, 6, 9, 2, 0, 0, 9, .scale = 0x1.99999ap-2});
    test_attention_case((ref_attention){2, 7, 4, 6, 12, 2, 1, 3, 10, .scale = 0x1.99999ap-2});
    test_attention_case((ref_attention){1, 150, 2, 8, 150, 1, 1, 0, 150, .scale = 0x1.666666p-2});
    test_attention_case((ref_attention){1, 3, 2, 8, 300, 2, 1, 290, 293, .scale = 0x1.666666p-2});
    static uint8_t mask[2 * 300];
    for (int i = 0; i < 600; i++) mask[i] = i * 7 % 5 < 3 && (i < 100 || i > 240);
    test_attention_case((ref_attention){2, 7, 4, 6, 12, 2, 1, 3, 10, .scale = 0.5, .window = 3});
    test_attention_case((ref_attention){1, 150, 2, 8, 150, 1, 1, 0, 150, .scale = 0.25, .window = 20, .prefix = 2});
    test_attention_case((ref_attention){2, 9, 2, 4, 300, 2, 0, 0, 300, .scale = 0.5, .mask = mask});
    test_attention_case((ref_attention){2, 9, 4, 4, 200, 2, 1, 180, 190, .scale = 0.5, .window = 60, .prefix = 7, .mask = mask});
    // A decoded row equals the same row of a prefill; a fully masked row is zeros (its scores are all -inf).
    enum { T = 140, D = 4 };
    float q[T * D], k[T * D], v[T * D], y[T * D], one[D];
    fill(q, T * D), fill(k, T * D), fill(v, T * D);
    ref_attention o = {1, T, 1, D, T, 1, 1, 0, T, .scale = 0.5};
    ref_attention_f32(&o, q, k, v, y, NULL, NULL);
    for (int64_t i = 0; i < T; i++) {
        ref_attention step = {1, 1, 1, D, T, 1, 1, i, i + 1, .scale = 0.5};
        ref_attention_f32(&step, q + i * D, k, v, one, NULL, NULL);
        CHECK(memcmp(one, y + i * D, sizeof one) == 0, "decoded row %d", (int)i);
    }
    for (int i = 0; i < T * D; i++) k[i] = -INFINITY, v[i] = NAN;
    for (int i = 0; i < D; i++) q[i] = 1;
    float m[1];
    double l[1];
    ref_attention masked = {1, 1, 1, D, T, 1, 0, 0, T, .scale = 0.5};
    ref_attention_f32(&masked, q, k, v, one, m, l);
    for (int i = 0; i < D; i++) CHECK(ref_bits32(one[i]) == 0, "fully masked");
    CHECK(m[0] == -INFINITY && l[0] == 0, "M and L of a masked row");
}

static double loss_double(int n, const double *x, int target) {
    double s = 0, m = x[0];
    for (int i = 0; i < n; i++) m = x[i] > m ? x[i] : m;
    for (int i = 0; i < n; i++) s += exp(x[i] - m);
    return log(s) - (x[target] - m);
}

static void test_softmax(void) {
    enum { N = 50 };
    float x[N], y[N], dx[N];
    double loss, w[N];
    for (int target = 0; target < N; target += 7) {
        for (int i = 0; i < N; i++) x[i] = uniform(-6, 6), w[i] = (double)x[i];
        int64_t t = target;
        ref_cross_entropy_f32(1, N, SB_LOSS_EACH, 0, x, &t, NULL, &loss);
        CHECK(near(loss, loss_double(N, w, target), 1e-6), "loss %g", loss);
        ref_cross_entropy_backward_f32(1, N, SB_LOSS_EACH, 0, 0.25, x, &t, NULL, dx);
        for (int i = 0; i < N; i++) {
            double kept = w[i];
            w[i] = kept + 1e-5;
            double high = loss_double(N, w, target);
            w[i] = kept - 1e-5;
            double low = loss_double(N, w, target);
            w[i] = kept;
            CHECK(near((double)dx[i], 0.25 * (high - low) / 2e-5, 1e-7), "gradient of the loss");
        }
        ref_softmax_f32(1, N, 0, x, y);
        for (int i = 0; i < N; i++) CHECK(near((double)y[i], exp(-loss_double(N, w, i)), 1e-6), "softmax");
        ref_softmax_f32(1, N, 1, x, y);
        for (int i = 0; i < N; i++) CHECK(near((double)y[i], -loss_double(N, w, i), 1e-6), "log-softmax");
    }
    const float none[3] = {-INFINITY, -INFINITY, -INFINITY}, some[3] = {-INFINITY, 1, 1}, bad[3] = {-INFINITY, INFINITY, 1};
    int64_t t = 0;
    ref_softmax_f32(1, 3, 0, none, y);
    ref_cross_entropy_f32(1, 3, SB_LOSS_EACH, 0, none, &t, NULL, &loss);
    CHECK(ref_bits32(y[0]) == 0 && ref_bits32(y[2]) == 0 && ref_bits64(loss) == 0, "no entry is present");
    ref_softmax_f32(1, 3, 0, some, y);
    ref_cross_entropy_f32(1, 3, SB_LOSS_EACH, 0, some, &t, NULL, &loss);
    CHECK(y[0] == 0 && y[1] == 0.5f && loss == HUGE_VAL, "an absent entry");
    ref_softmax_f32(1, 3, 0, bad, y);
    CHECK(y[0] == 0 && ref_bits32(y[1]) == 0x7fc00000u, "+inf in a row");
    t = -1;
    ref_cross_entropy_f32(1, 3, SB_LOSS_EACH, 0, bad, &t, NULL, &loss);
    ref_cross_entropy_backward_f32(1, 3, SB_LOSS_EACH, 0, 1, bad, &t, NULL, dx);
    CHECK(loss == 0 && dx[0] == 0 && dx[1] == 0, "a target of -1");
}

static double norm_double(int rows, int d, const double *x, const double *w, double eps, const float *weight) {
    double total = 0;
    for (int i = 0; i < rows; i++) {
        double v = 0;
        for (int j = 0; j < d; j++) v += x[i * d + j] * x[i * d + j];
        double r = 1 / sqrt(v / d + eps);
        for (int j = 0; j < d; j++) total += x[i * d + j] * r * w[j] * (double)weight[i * d + j];
    }
    return total;
}

static void test_norm(void) {
    enum { R = 4, D = 13 };
    float x[R * D], w[D], y[R * D], dy[R * D], dx[R * D], dw[D];
    double r[R], xd[R * D], wd[D], parts = 0;
    fill(x, R * D), fill(w, D), fill(dy, R * D);
    for (int i = 0; i < R * D; i++) xd[i] = (double)x[i];
    for (int i = 0; i < D; i++) wd[i] = (double)w[i];
    ref_norm_f32(0, R, D, x, w, NULL, 1e-5, y, NULL, r);
    for (int i = 0; i < R * D; i++) parts += (double)y[i] * (double)dy[i];
    CHECK(near(parts, norm_double(R, D, xd, wd, 1e-5, dy), 1e-6), "rms norm");
    ref_norm_backward_f32(R, D, x, w, NULL, r, dy, dx, dw, NULL);
    for (int i = 0; i < R * D + D; i++) {
        double *at = i < R * D ? xd + i : wd + i - R * D, kept = *at;
        *at = kept + 1e-6;
        double high = norm_double(R, D, xd, wd, 1e-5, dy);
        *at = kept - 1e-6;
        double low = norm_double(R, D, xd, wd, 1e-5, dy);
        *at = kept;
        CHECK(near((double)(i < R * D ? dx[i] : dw[i - R * D]), (high - low) / 2e-6, 1e-6), "gradient of rms norm %d", i);
    }
    const float pairs[4] = {2, 2, 14, 14};
    ref_norm_f32(0, 2, 2, pairs, NULL, NULL, 1e-30, y, NULL, NULL);
    CHECK(y[0] == 1 && y[3] == 1, "rms norm of equal entries");
}

static void test_element(void) {
    float gate[300], up[300], y[300], dy[300], dgate[300], dup[300];
    fill(gate, 300), fill(up, 300), fill(dy, 300);
    for (int i = 0; i < 300; i++) gate[i] *= 8;
    ref_swiglu_f32(300, gate, up, y);
    ref_swiglu_backward_f32(300, gate, up, dy, dgate, dup);
    for (int i = 0; i < 300; i++) {
        double g = (double)gate[i], h = 1e-5;
        double high = (g + h) / (1 + exp(-g - h)), low = (g - h) / (1 + exp(-g + h)), at = g / (1 + exp(-g));
        CHECK(near((double)y[i], at * (double)up[i], 1e-6), "swiglu");
        CHECK(near((double)dup[i], at * (double)dy[i], 1e-6), "swiglu, up");
        CHECK(near((double)dgate[i], (double)dy[i] * (double)up[i] * (high - low) / (2 * h), 1e-6), "swiglu, gate");
    }
    const float a[2] = {1, 2}, b[3] = {10, 20, 30};
    float out[6];
    ref_binary_f32(SB_ADD, 2, (const int64_t[]){2, 3}, (const int64_t[]){1, 0}, (const int64_t[]){0, 1}, a, b, out);
    CHECK(out[0] == 11 && out[2] == 31 && out[3] == 12 && out[5] == 32, "broadcast");
    // Met elsewhere, where a library sets flush-to-zero: FLT_MIN / 2 is 00400000.
    ref_scale_f32(1, (const float[]){0x1p-126f}, 0.5f, out);
    CHECK(ref_bits32(out[0]) == 0x00400000u, "subnormals are kept");
}

static void test_rotary(void) {
    enum { P = 40, H = 4, D = 8 };
    float c[P * H], s[P * H], x[3 * 2 * D], y[3 * 2 * D], z[3 * 2 * D];
    ref_rotary_table_f32(P, H, 10000, c, s);
    for (int p = 0; p < P; p++)
        for (int i = 0; i < H; i++) {
            double angle = p * pow(10000, -2.0 * i / D);
            CHECK(near((double)c[p * H + i], cos(angle), 2e-6) && near((double)s[p * H + i], sin(angle), 2e-6), "table");
        }
    fill(x, 3 * 2 * D);
    ref_rotary_f32(1, 3, 2, D, 5, 0, x, c, s, y);
    ref_rotary_f32(1, 3, 2, D, 5, 1, y, c, s, z);
    for (int i = 0; i < 3 * 2 * D; i++) CHECK(near((double)z[i], (double)x[i], 1e-6), "there and back");
    double angle = 6 * pow(10000, -0.25); // row 1 has position 6; pair (1, 5)
    CHECK(near((double)y[2 * D + 1], (double)x[2 * D + 1] * cos(angle) - (double)x[2 * D + 5] * sin(angle), 1e-6), "rotary");
}

static void test_embedding(void) {
    const float table[6] = {1, 2, 3, 4, ref_float32(0x7fc00123u), 6}, dout[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    const int32_t ids[4] = {2, 0, 2, 0};
    float out[8], dtable[6] = {-0.0f, -0.0f, -0.0f, 1, 1, 1};
    ref_gather(8, 4, table, SB_I32, ids, out);
    CHECK(ref_bits32(out[0]) == 0x7fc00123u && out[2] == 1 && out[5] == 6, "lookup keeps bits");
    ref_scatter_add_f32(3, 2, 4, SB_I32, ids, dout, 1, dtable);
    CHECK(dtable[0] == 4 + 64 && ref_bits32(dtable[2]) == 0 && dtable[4] == 1 + 1 + 16, "accumulate");
    ref_scatter_add_f32(3, 2, 4, SB_I32, ids, dout, 0, dtable);
    CHECK(dtable[1] == 8 + 128 && ref_bits32(dtable[3]) == 0 && dtable[5] == 2 + 32, "scatter-add");
}

static void test_adamw(void) {
    float p[40], m[40] = {0}, v[40] = {0}, g[40];
    double pd[40], md[40] = {0}, vd[40] = {0}, b1 = 1, b2 = 1, e1 = 1, e2 = 1;
    fill(p, 40);
    for (int i = 0; i < 40; i++) pd[i] = (double)p[i];
    for (int step = 0; step < 20; step++) {
        fill(g, 40);
        b1 *= (double)0.9f, b2 *= (double)0.95f, e1 *= 0.9, e2 *= 0.95;
        ref_adamw_f32(40, 1e-2f, 0.9f, 0.95f, 1e-8f, 0.1f, b1, b2, g, p, m, v);
        for (int i = 0; i < 40; i++) {
            double gd = (double)g[i];
            md[i] = 0.9 * md[i] + 0.1 * gd;
            vd[i] = 0.95 * vd[i] + 0.05 * gd * gd;
            pd[i] -= 1e-2 * 0.1 * pd[i];
            pd[i] -= 1e-2 * (md[i] / (1 - e1)) / (sqrt(vd[i] / (1 - e2)) + 1e-8);
        }
    }
    for (int i = 0; i < 40; i++) CHECK(near((double)p[i], pd[i], 3e-6), "adamw %g %g", (double)p[i], pd[i]);
}

int main(void) {
    mpfr_inits2(640, x_, y_, z_, t_, u_, (mpfr_ptr)0);
    test_random();
    test_fma();
    test_fma64();
    mpfr_set_prec(t_, 200), mpfr_set_prec(u_, 200), mpfr_set_prec(z_, 200), mpfr_set_prec(y_, 200);
    test_functions();
    test_normal();
    test_power();
    test_log64();
    test_sums();
    test_sort();
    test_gemm();
    test_attention();
    test_softmax();
    test_norm();
    test_element();
    test_rotary();
    test_embedding();
    test_adamw();
    mpfr_clears(x_, y_, z_, t_, u_, (mpfr_ptr)0);
    return test_end();
}
