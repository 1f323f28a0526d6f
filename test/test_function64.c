// SPDX-License-Identifier: Apache-2.0
// The functions of binary64, pow and the inverse normal distribution: the stated bounds over stratified arguments and
// hard cases, judged by MPFR; limits and signs; known answers; and equal bits through the public interface at every CPU
// level. `test_function64 --measure N` measures N arguments a function and prints the rows of docs/functions64.tsv.
#include "dialect/c.h"
#include "function64.h"

#include "contexts.h"
#include "function64_exact.h"

static const struct row {
    const char *name;
    sb_unary_kind kind;
    double (*value)(double);
    double low, high;   // the range of the uniform stratum
    double spots[6];    // seams of the sequence and zeros, drawn near
} rows[FUNCTIONS64] = {
    [F_EXP] = {"exp", SB_EXP, sbi_exp_f64, -745, 709.7, {1, -708, 700, 1e-3, -745, 0.34657359027997264}},
    [F_EXP2] = {"exp2", SB_EXP2, sbi_exp2_f64, -1074, 1024, {1, -1022.5, 1000.5, 1e-3, -1060, 0.5}},
    [F_EXPM1] = {"expm1", SB_EXPM1, sbi_expm1_f64, -40, 709, {1, 0.34657359027997264, -0.34657359027997264, 1.0397207708399179, -37, 37}},
    [F_LOG] = {"log", SB_LOG, sbi_log_f64, 0, 100, {1, 0.70710678118654757, 1.4142135623730951, 2, 0.5, 1.001}},
    [F_LOG2] = {"log2", SB_LOG2, sbi_log2_f64, 0, 100, {1, 0.70710678118654757, 1.4142135623730951, 2, 0.5, 1.001}},
    [F_LOG10] = {"log10", SB_LOG10, sbi_log10_f64, 0, 100, {1, 0.70710678118654757, 1.4142135623730951, 10, 100, 1000}},
    [F_LOG1P] = {"log1p", SB_LOG1P, sbi_log1p_f64, -1, 10, {-0.29, 0.41, -0.29289321881345243, 0.41421356237309515, -0.5, -0.999}},
    [F_SIN] = {"sin", SB_SIN, sbi_sin_f64, -100, 100, {0.78539816339744828, 2.356194490192345, 3.1415926535897931, 1e5, 2097152, 1e22}},
    [F_COS] = {"cos", SB_COS, sbi_cos_f64, -100, 100, {0.78539816339744828, 2.356194490192345, 1.5707963267948966, 1e5, 2097152, 1e22}},
    [F_TANH] = {"tanh", SB_TANH, sbi_tanh_f64, -20, 20, {1, 0.1, -0.17328679513998632, 0.17328679513998632, 0.55, 19}},
    [F_ERF] = {"erf", SB_ERF, sbi_erf_f64, -6, 6, {0.5, 0.49999, 0.50001, 1, 2, 0.1}},
    [F_ERFC] = {"erfc", SB_ERFC, sbi_erfc_f64, -6, 28, {0.5, 2.4748737341529163, 26, 1, 2, 0.1}},
    [F_RSQRT] = {"rsqrt", SB_RSQRT, sbi_rsqrt_f64, 0, 10, {1, 4, 2, 0.5, 0.25, 9}},
    [F_SIGMOID] = {"sigmoid", SB_SIGMOID, sbi_sigmoid_f64, -745, 40, {1, -708, -700, 1e-3, -745, 0.34657359027997264}},
    [F_LOG_SIGMOID] = {"log_sigmoid", SB_LOG_SIGMOID, sbi_log_sigmoid_f64, -40, 745, {-0.89159811928378352, -64, 64, 0.89159811928378352, -1, 1e-3}},
    [F_SOFTPLUS] = {"softplus", SB_SOFTPLUS, sbi_softplus_f64, -745, 40, {-0.89159811928378352, -64, 64, 0.89159811928378352, -1, 1e-3}},
    [F_SILU] = {"silu", SB_SILU, sbi_silu_f64, -750, 40, {1, -708, -700, 1e-3, -745, -1.278}},
    [F_GELU] = {"gelu", SB_GELU, sbi_gelu_f64, -38.6, 10, {-0.75179152469356449, 3.5, -38, -1, 2, -3}},
    [F_GELU_TANH] = {"gelu_tanh", SB_GELU_TANH, sbi_gelu_tanh_f64, -22, 22, {-0.7524, 0.3, 21, -21, 1, 1e-3}},
    [F_SILU_GRAD] = {"silu_grad", SB_SILU_GRAD, sbi_silu_grad_f64, -750, 40, {-1.2784645427610738, -708, -700, -1.27, -1.2159645, -1.3409645}},
    [F_GELU_GRAD] = {"gelu_grad", SB_GELU_GRAD, sbi_gelu_grad_f64, -38.6, 10, {-0.75179152469356449, -0.68929152, -0.81429152, -38, 2, -3}},
    [F_GELU_TANH_GRAD] = {"gelu_tanh_grad", SB_GELU_TANH_GRAD, sbi_gelu_tanh_grad_f64, -22, 22, {-0.75246142220077, -0.68996142, -0.81496142, -21, 1, 1e-3}},
};
// Stated in docs/functions.md: of the slopes, of all others, of subnormal results.
static const double bound_slope = 0.7, bound = 0.65, bound_subnormal = 0.8;

static const uint64_t hard[] = { // far reductions near a multiple of pi/2, ends of ranges, limits of the exponent
    0x7506ac5b262ca1ff, 0x6ea1c6d5aa5d1cf5, 0x44b52d02c7e14af6, 0x7fefffffffffffff, 0x7fe0000000000001, 0x4140000000000000,
    0x413fffffffffffff, 0x40862e42fefa39ef, 0xc086232bdd7abcd2, 0xc0874910d52d3051, 0x0000000000000001, 0x0010000000000000,
    0x000fffffffffffff, 0xbff474973c84120b, 0xbff474973c84120c, 0xbfe80ead197f00b4, 0xbfe80ead197f00b5, 0xbfe81429f9e97e4d,
    0xbfe81429f9e97e4e, 0xc03ae17b4c1e5a9d, 0x403ae17b4c1e5a9d, 0xc0434f1e6d2b3a4c, 0x3fefffffffffffff, 0x3ff0000000000001,
    0xbfefffffffffffff, 0x3ca0000000000000, 0xbc90000000000000, 0x3e40000000000000, 0x40c3880000000000, 0x433fffffffffffff,
};

// Argument i of the strata: the range; any bits; small, of either sign; beside the spots; beside odd multiples of
// log(2)/2; subnormal; within 4; beside multiples of pi/2.
static double argument(const struct row *row, int64_t i, uint64_t *state) {
    uint64_t w = next_word(state), v = next_word(state);
    double u = (double)(int64_t)(w >> 11) * 0x1p-53, narrow = ldexp(1, -(int)((v >> 32) % 52));
    if (i < (int64_t)(sizeof hard / sizeof *hard)) return FLOAT64(hard[i]);
    switch (i % 8) {
    case 0: return row->low + (row->high - row->low) * u;
    case 1: return FLOAT64(w);
    case 2: return FLOAT64((w & 0x800fffffffffffffu) | (1023 - v % 70) << 52);
    case 3: return row->spots[v % 6] * (1 + (u - 0.5) * narrow);
    case 4: return ((double)(int64_t)(v % 64) - 31.5) * 0x1.62e42fefa39efp-1 * (1 + (u - 0.5) * 0x1p-20);
    case 5: return FLOAT64(w & 0x800fffffffffffffu);
    case 6: return (u - 0.5) * 8;
    default: return ((double)(int64_t)(v % 4096) - 2048) * 0x1.921fb54442d18p+0 * (1 + (u - 0.5) * narrow);
    }
}

static bool is_finite(double x) { return x - x == 0; }

typedef struct worst { double error, at, subnormal; } worst;

static void note(worst *w, double error, int subnormal, double at) {
    if (subnormal) {
        w->subnormal = error > w->subnormal ? error : w->subnormal;
    } else if (error > w->error) {
        w->error = error;
        w->at = at;
    }
}

// An infinite y is right where the exact value rounds beyond the largest number.
static double judged(mpfr_t r, double y, int *subnormal) {
    *subnormal = 0;
    if (is_finite(y)) return exact_error(r, y, subnormal);
    return mpfr_cmpabs(r, exact_x) >= 0 && mpfr_cmp_d(r, y > 0 ? DBL_MAX : -DBL_MAX) * (y > 0 ? 1 : -1) > 0 ? 0.0 : (double)INFINITY;
}

// Whether y errs by less than the largest error seen, by a long double e of the exact value whose own error is below
// `slack` ulp of a double: 40 of its own units, 128 for the slopes. What is not surely less goes to MPFR.
static bool less(const worst *w, double y, long double e, double slack) {
    long double size = fabsl(e);
    int exponent;
    if (LDBL_MANT_DIG < 64 || e != e) return false;
    if (y == 0) return size < 0x1.fp-1076L;
    if (!is_finite(y)) return size > 0x1.001p1024L && (e > 0) == (y > 0);
    (void)frexpl(e, &exponent);
    bool subnormal = exponent < -1021;
    long double ulps = fabsl((long double)y - e) / ldexpl(1, subnormal ? -1074 : exponent - 53);
    return ulps < (long double)((subnormal ? w->subnormal : w->error) - slack);
}

static worst measure(enum function64 f, int64_t count) {
    const struct row *row = &rows[f];
    worst w = {0};
    uint64_t state = 100u + (uint64_t)f;
    mpfr_t r;
    mpfr_init2(r, EXACT_BITS);
    for (int64_t i = 0; i < count; i++) {
        double x = argument(row, i, &state), y = row->value(x);
        if (!is_finite(x) || y != y) continue; // (NaN is looked at in limits())
        if (x != 0 && less(&w, y, extended_value(f, x), f >= F_SILU_GRAD ? 0.0625 : 0.02)) continue;
        if (x == 0 || y == 0) {
            if (x == 0 || (f != F_LOG && f != F_LOG1P)) {
                exact_value(f, r, x == 0 ? 1.0 : x); // (zeros: limits())
                if (x != 0 && mpfr_cmpabs(r, exact_a) > 0 && !mpfr_zero_p(r) && mpfr_get_exp(r) > -1074) note(&w, (double)INFINITY, 0, x);
                continue;
            }
        }
        int subnormal;
        exact_value(f, r, x);
        double error = judged(r, y, &subnormal);
        note(&w, error, subnormal, x);
    }
    mpfr_clear(r);
    return w;
}

// ---- pow and the inverse normal distribution

static worst measure_pow(int64_t count) {
    worst w = {0};
    uint64_t state = 7;
    mpfr_t x, y, r;
    mpfr_inits2(53, x, y, (mpfr_ptr)0);
    mpfr_init2(r, 160);
    for (int64_t i = 0; i < count; i++) {
        uint64_t p = next_word(&state), q = next_word(&state);
        double u = (double)(int64_t)(p >> 11) * 0x1p-53, t = (double)(int64_t)(q >> 11) * 0x1p-53, a, b;
        switch (i % 6) {
        case 0: a = u * 10, b = (t - 0.5) * 600; break;
        case 1: a = FLOAT64(p >> 1), b = (t - 0.5) * 4; break;
        case 2: a = 1 + (u - 0.5) * 0x1p-20, b = (t - 0.5) * 1e9; break;
        case 3: a = FLOAT64(p >> 1), b = 745 / log(a) * (t - 0.5) * 2; break;
        case 4: a = u * 2, b = (double)(int64_t)(q % 64) - 32; break;
        default: a = FLOAT64(p >> 12 | (q % 2 ? 0 : 0x3ff0000000000000u)), b = (t - 0.5) * 2000;
        }
        if (!(a > 0) || !is_finite(a) || !is_finite(b)) continue;
        double c = sbi_pow_f64(a, b);
        if (less(&w, c, powl((long double)a, (long double)b), 0.02)) continue;
        mpfr_set_d(x, a, MPFR_RNDN);
        mpfr_set_d(y, b, MPFR_RNDN);
        mpfr_pow(r, x, y, MPFR_RNDN);
        if (c == 0 || !is_finite(c)) {
            bool right = c == 0 ? mpfr_cmp_d(r, 0x1p-1074) < 0 : mpfr_cmp_d(r, DBL_MAX) > 0;
            if (!right) note(&w, (double)INFINITY, 0, a);
            continue;
        }
        int subnormal;
        double error = exact_error(r, c, &subnormal);
        note(&w, error, subnormal, a);
    }
    mpfr_clears(x, y, r, (mpfr_ptr)0);
    return w;
}

// (Phi(z) - p) / phi(z) in ulp of z.
static worst measure_normal(int64_t count) {
    worst w = {0};
    uint64_t state = 9;
    mpfr_t r, p, c;
    mpfr_inits2(200, r, p, c, (mpfr_ptr)0);
    for (int64_t i = 0; i < count; i++) {
        uint64_t word = next_word(&state), shift = next_word(&state) % 54, u = word;
        if (i % 3 == 1) u = word >> 1 >> shift;
        if (i % 3 == 2) u = 0x7fffffffffffffffu - (word >> 1 >> shift);
        if (i < 16) u = (uint64_t)i << 11;
        double z = sbi_normal_f64(u), size = fabs(z), ulp = size - FLOAT64(BITS64(size) - 1);
        if (LDBL_MANT_DIG >= 64) { // near the middle by what is beyond 1/2, else by the tail: as in less()
            uint64_t q = u >> 11, beyond = z < 0 ? q : 0x1fffffffffffffu - q; // the tail is (beyond + 1/2) 2^-53
            long double t = (long double)size * 0.70710678118654752440L, phi = expl(-t * t) * 0.39894228040143267794L;
            long double tail = ((long double)beyond + 0.5L) * 0x1p-53L;
            long double by = size < 1 ? erfl(t) / 2 - (0.5L - tail) : erfcl(t) / 2 - tail;
            if (fabsl(by) / phi / (long double)ulp < (long double)(w.error - 0.02)) continue;
        }
        mpfr_set_d(c, z, MPFR_RNDN);
        mpfr_mul(r, c, exact_root_half, MPFR_RNDN);
        mpfr_neg(r, r, MPFR_RNDN);
        mpfr_erfc(r, r, MPFR_RNDN);
        mpfr_div_2ui(r, r, 1, MPFR_RNDN);
        mpfr_set_d(p, (double)(int64_t)(u >> 11) , MPFR_RNDN);
        mpfr_add_d(p, p, 0.5, MPFR_RNDN);
        mpfr_div_2ui(p, p, 53, MPFR_RNDN);
        mpfr_sub(r, r, p, MPFR_RNDN);
        mpfr_sqr(c, c, MPFR_RNDN);
        mpfr_div_2ui(c, c, 1, MPFR_RNDN);
        mpfr_exp(c, c, MPFR_RNDN);
        mpfr_mul(r, r, c, MPFR_RNDN);
        mpfr_mul(r, r, exact_root_2pi, MPFR_RNDN);
        mpfr_div_d(r, r, ulp, MPFR_RNDN);
        note(&w, fabs(mpfr_get_d(r, MPFR_RNDN)), 0, z);
    }
    mpfr_clears(r, p, c, (mpfr_ptr)0);
    return w;
}

static void print_row(const char *name, int64_t count, worst w) {
    printf("%s\t%lld\t%.4f\t%a\t%.4f\n", name, (long long)count, w.error, w.at, w.subnormal);
    fflush(stdout);
}

static void bounds(int64_t count, bool print) {
    for (int f = 0; f < FUNCTIONS64; f++) {
        worst w = measure((enum function64)f, count);
        CHECK(w.error < (f >= F_SILU_GRAD ? bound_slope : bound) && w.subnormal < bound_subnormal, "%s errs by %.4f ulp at %a, by %.4f where it is subnormal",
              rows[f].name, w.error, w.at, w.subnormal);
        if (print) print_row(rows[f].name, count, w);
    }
    worst p = measure_pow(count), n = measure_normal(count);
    CHECK(p.error < bound && p.subnormal < bound_subnormal, "pow errs by %.4f ulp at %a", p.error, p.at);
    CHECK(n.error < bound, "the inverse normal distribution errs by %.4f ulp at %a", n.error, n.at);
    if (print) {
        print_row("pow", count, p);
        print_row("normal", count, n);
    }
}

// ---- limits, signs and known answers

static void limits(void) {
    const double inf = FLOAT64(0x7ff0000000000000u), tiny = 0x1p-1074, huge = DBL_MAX;
    static const double nan = (double)NAN;
    const struct { enum function64 f; double x, y; } table[] = {
        {F_EXP, -inf, 0}, {F_EXP, inf, inf}, {F_EXP, -0.0, 1}, {F_EXP, huge, inf}, {F_EXP, -huge, 0},
        {F_EXP2, 10, 1024}, {F_EXP2, -1074, tiny}, {F_EXP2, -1075, 0}, {F_EXP2, 1023, 0x1p1023}, {F_EXP2, 1024, inf}, {F_EXP2, -inf, 0},
        {F_EXPM1, -0.0, -0.0}, {F_EXPM1, -inf, -1}, {F_EXPM1, inf, inf}, {F_EXPM1, tiny, tiny}, {F_EXPM1, -tiny, -tiny},
        {F_LOG, 0, -inf}, {F_LOG, -0.0, -inf}, {F_LOG, -1, nan}, {F_LOG, inf, inf}, {F_LOG, 1, 0},
        {F_LOG2, 8, 3}, {F_LOG2, tiny, -1074}, {F_LOG2, 1, 0}, {F_LOG2, -0.0, -inf}, {F_LOG2, -tiny, nan}, {F_LOG2, inf, inf},
        {F_LOG10, 1000, 3}, {F_LOG10, 1e22, 22}, {F_LOG10, 1, 0}, {F_LOG10, 0, -inf}, {F_LOG10, -inf, nan},
        {F_LOG1P, -0.0, -0.0}, {F_LOG1P, -1, -inf}, {F_LOG1P, -1.5, nan}, {F_LOG1P, inf, inf}, {F_LOG1P, tiny, tiny}, {F_LOG1P, -inf, nan},
        {F_SIN, -0.0, -0.0}, {F_SIN, inf, nan}, {F_SIN, -inf, nan}, {F_SIN, -tiny, -tiny}, {F_COS, -0.0, 1}, {F_COS, inf, nan},
        {F_TANH, -0.0, -0.0}, {F_TANH, inf, 1}, {F_TANH, -inf, -1}, {F_TANH, tiny, tiny}, {F_TANH, 20, 1},
        {F_ERF, -0.0, -0.0}, {F_ERF, inf, 1}, {F_ERF, -inf, -1}, {F_ERF, 6, 1}, {F_ERFC, inf, 0}, {F_ERFC, -inf, 2}, {F_ERFC, 0, 1},
        {F_RSQRT, 0, inf}, {F_RSQRT, -0.0, -inf}, {F_RSQRT, inf, 0}, {F_RSQRT, -1, nan}, {F_RSQRT, 4, 0.5}, {F_RSQRT, tiny, 0x1p537},
        {F_SIGMOID, -inf, 0}, {F_SIGMOID, inf, 1}, {F_SIGMOID, 0, 0.5}, {F_SIGMOID, -huge, 0},
        {F_LOG_SIGMOID, inf, -0.0}, {F_LOG_SIGMOID, -inf, -inf}, {F_LOG_SIGMOID, huge, -0.0}, {F_SOFTPLUS, -inf, 0}, {F_SOFTPLUS, inf, inf},
        {F_SILU, -inf, -0.0}, {F_SILU, inf, inf}, {F_SILU, -0.0, -0.0}, {F_SILU, -huge, -0.0}, {F_SILU, 2 * tiny, tiny},
        {F_GELU, -inf, -0.0}, {F_GELU, inf, inf}, {F_GELU, -0.0, -0.0}, {F_GELU_TANH, -inf, -0.0}, {F_GELU_TANH, inf, inf}, {F_GELU_TANH, -0.0, -0.0},
        {F_SILU_GRAD, -inf, -0.0}, {F_SILU_GRAD, inf, 1}, {F_SILU_GRAD, 0, 0.5}, {F_GELU_GRAD, -inf, -0.0}, {F_GELU_GRAD, inf, 1},
        {F_GELU_GRAD, 0, 0.5}, {F_GELU_TANH_GRAD, -inf, -0.0}, {F_GELU_TANH_GRAD, inf, 1}, {F_GELU_TANH_GRAD, -0.0, 0.5},
        // shared/cases "functions by CPU"
        {F_SIN, 0.78539816339744828, FLOAT64(0x3fe6a09e667f3bcc)}, {F_EXP, 12.312, FLOAT64(0x410b2461c6e1a9d2)},
        {F_LOG, 1332.312, FLOAT64(0x401cc757d98cbc78)}, {F_LOG, 1e4, FLOAT64(0x40226bb1bbb55516)},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double y = rows[table[i].f].value(table[i].x), want = table[i].y == table[i].y ? table[i].y : SBI_NAN64;
        CHECK(BITS64(y) == BITS64(want), "%s of %a is %a, not %a", rows[table[i].f].name, table[i].x, y, want);
    }
    for (int f = 0; f < FUNCTIONS64; f++)
        for (int i = 0; i < 4; i++) {
            const uint64_t x[] = {0x7ff8000000000000, 0xfff8000000000001, 0x7ff0000000000001, 0xfff4000000000000};
            uint64_t y = BITS64(rows[f].value(FLOAT64(x[i])));
            CHECK(y == 0x7ff8000000000000, "%s of a NaN is %016llx", rows[f].name, (unsigned long long)y);
        }
    // pow as IEEE 754 has it
    const struct { double x, y, z; } powers[] = {
        {nan, 0, 1}, {nan, -0.0, 1}, {1, nan, 1}, {1, -inf, 1}, {-1, inf, 1}, {-1, -inf, 1}, {0, 3, 0}, {-0.0, 3, -0.0}, {-0.0, 2, 0},
        {0, -3, inf}, {-0.0, -3, -inf}, {-0.0, -2, inf}, {-0.0, -2.5, inf}, {0.5, -inf, inf}, {-2, -inf, 0}, {0.5, inf, 0}, {2, inf, inf},
        {-inf, -3, -0.0}, {-inf, -2, 0}, {-inf, 3, -inf}, {-inf, 2.5, inf}, {inf, -1, 0}, {inf, 0.5, inf}, {-2, 0.5, nan}, {-2, 3, -8},
        {-2, 4, 16}, {-2, 0x1p53, inf}, {-1, 0x1.fffffffffffffp52, -1}, {-1, 0x1p52, 1}, {2, -1074, tiny}, {2, -1075, 0}, {-2, -1075, -0.0},
        {2, 0.5, 0x1.6a09e667f3bcdp+0}, {10, 22, 1e22}, {huge, 1, huge}, {tiny, 1, tiny}, {nan, 1, nan}, {2, nan, nan}, {tiny, tiny, 1},
    };
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) {
        double z = sbi_pow_f64(powers[i].x, powers[i].y), want = powers[i].z == powers[i].z ? powers[i].z : SBI_NAN64;
        CHECK(BITS64(z) == BITS64(want), "pow(%a, %a) is %a, not %a", powers[i].x, powers[i].y, z, want);
    }
    for (uint64_t i = 0; i < 1000; i++) { // mirror images
        uint64_t state = i, u = next_word(&state) >> (i % 64);
        CHECK(BITS64(sbi_normal_f64(u)) == (BITS64(sbi_normal_f64(~u)) ^ 0x8000000000000000u), "normal of %016llx", (unsigned long long)u);
    }
}

// ---- the public interface at every level: the same bits

enum { SAMPLE = 4127 };

static void public_interface(sb_context *ctx, const char *level) {
    static double x[SAMPLE], want[SAMPLE];
    static uint64_t words[SAMPLE];
    int64_t n = SAMPLE;
    sb_error err = {0};
    for (int f = 0; f < FUNCTIONS64; f++) {
        uint64_t state = 55u + (uint64_t)f;
        for (int i = 0; i < SAMPLE; i++) {
            x[i] = argument(&rows[f], i, &state);
            want[i] = rows[f].value(x[i]);
        }
        sb_array *a = array_of(ctx, SB_F64, 1, &n, x), *b = array_of(ctx, SB_F64, 1, &n, NULL);
        CHECK(sb_unary(ctx, rows[f].kind, a, b, &err) == SB_OK, "%s", err.message);
        CHECK(array_is(b, want), "%s at level %s: other bits", rows[f].name, level);
        CHECK(sb_unary(ctx, rows[f].kind, a, a, &err) == SB_OK && array_is(a, want), "%s in place", rows[f].name);
        sb_array_free(a);
        sb_array_free(b);
    }
    uint64_t state = 4;
    for (int i = 0; i < SAMPLE; i++) {
        words[i] = next_word(&state) >> (i % 64);
        want[i] = sbi_normal_f64(words[i]);
    }
    sb_array *a = array_of(ctx, SB_U64, 1, &n, words), *b = array_of(ctx, SB_F64, 1, &n, NULL), *c = array_of(ctx, SB_F32, 1, &n, NULL);
    CHECK(sb_unary(ctx, SB_INVERSE_NORMAL, a, b, &err) == SB_OK && array_is(b, want), "inverse normal at level %s: %s", level, err.message);
    CHECK(sb_unary(ctx, SB_INVERSE_NORMAL, a, c, &err) == SB_ERR_DTYPE && !strcmp(err.argument, "out"), "uint64 words give float64");
    CHECK(sb_unary(ctx, SB_INVERSE_NORMAL, b, b, &err) == SB_ERR_DTYPE && !strcmp(err.argument, "x"), "floats are no words");
    CHECK(sb_unary(ctx, SB_EXP, b, c, &err) == SB_ERR_DTYPE && !strcmp(err.argument, "out"), "float64 gives float64");
    CHECK(sb_random_bits(ctx, 5, 6, 7, a, &err) == SB_OK && sb_random_normal(ctx, 5, 6, 7, b, &err) == SB_OK, "%s", err.message);
    CHECK(sb_array_read(a, words, sizeof words, &err) == SB_OK, "%s", err.message);
    for (int i = 0; i < SAMPLE; i++) want[i] = sbi_normal_f64(words[i]);
    CHECK(array_is(b, want), "normal draws are not those of the words");
    sb_array_free(c);
    for (int i = 0; i < SAMPLE; i++) {
        x[i] = FLOAT64(next_word(&state));
        words[i] = i % 2 ? next_word(&state) : BITS64((double)(i - 2000) * 0.25);
        want[i] = sbi_pow_f64(x[i], FLOAT64(words[i]));
    }
    CHECK(sb_array_write(b, x, sizeof x, &err) == SB_OK, "%s", err.message);
    c = array_of(ctx, SB_F64, 1, &n, words);
    CHECK(sb_binary(ctx, SB_POW, b, c, c, &err) == SB_OK && array_is(c, want), "pow at level %s: %s", level, err.message);
    sb_array_free(a);
    sb_array_free(b);
    sb_array_free(c);
}

int main(int argc, char **argv) {
    exact_begin();
    if (argc == 3 && !strcmp(argv[1], "--measure")) {
        bounds(atoll(argv[2]), true);
    } else {
        bounds(20000, false);
        limits();
        EACH_CONTEXT(c) {
            if (c.threads <= 2) public_interface(c.ctx, c.level);
        }
    }
    exact_end();
    if (argc == 3) return test_failed != 0;
    return test_end();
}
