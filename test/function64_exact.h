// SPDX-License-Identifier: Apache-2.0
// The functions of binary64 by MPFR (the exact value to many bits) and by the host's long double (to tell cheaply where
// MPFR need not be asked).
#ifndef FUNCTION64_EXACT_H
#define FUNCTION64_EXACT_H

#include <float.h>
#include <math.h>
#include <mpfr.h>

enum function64 {
    F_EXP, F_EXP2, F_EXPM1, F_LOG, F_LOG2, F_LOG10, F_LOG1P, F_SIN, F_COS, F_TANH, F_ERF, F_ERFC, F_RSQRT, F_SIGMOID,
    F_LOG_SIGMOID, F_SOFTPLUS, F_SILU, F_GELU, F_GELU_TANH, F_SILU_GRAD, F_GELU_GRAD, F_GELU_TANH_GRAD, FUNCTIONS64
};

enum { EXACT_BITS = 260 };
static mpfr_t exact_x, exact_a, exact_b, exact_c, exact_root_half, exact_root_2pi, exact_gelu;

static inline void exact_begin(void) {
    mpfr_inits2(EXACT_BITS, exact_x, exact_a, exact_b, exact_c, exact_root_half, exact_root_2pi, exact_gelu, (mpfr_ptr)0);
    mpfr_set_d(exact_root_half, 0.5, MPFR_RNDN);
    mpfr_sqrt(exact_root_half, exact_root_half, MPFR_RNDN);
    mpfr_const_pi(exact_root_2pi, MPFR_RNDN);
    mpfr_ui_div(exact_gelu, 8, exact_root_2pi, MPFR_RNDN); // 2 sqrt(2/pi)
    mpfr_sqrt(exact_gelu, exact_gelu, MPFR_RNDN);
    mpfr_mul_2ui(exact_root_2pi, exact_root_2pi, 1, MPFR_RNDN);
    mpfr_sqrt(exact_root_2pi, exact_root_2pi, MPFR_RNDN);
}

static inline void exact_end(void) {
    mpfr_clears(exact_x, exact_a, exact_b, exact_c, exact_root_half, exact_root_2pi, exact_gelu, (mpfr_ptr)0);
    mpfr_free_cache();
}

static inline void exact_sigmoid(mpfr_t r, mpfr_t v) {
    mpfr_neg(r, v, MPFR_RNDN);
    mpfr_exp(r, r, MPFR_RNDN);
    mpfr_add_ui(r, r, 1, MPFR_RNDN);
    mpfr_ui_div(r, 1, r, MPFR_RNDN);
}

// s(v) (1 + w s(-v)); v is lost.
static inline void exact_slope(mpfr_t r, mpfr_t v, mpfr_t w) {
    exact_sigmoid(r, v);
    mpfr_neg(v, v, MPFR_RNDN);
    exact_sigmoid(exact_c, v);
    mpfr_mul(exact_c, exact_c, w, MPFR_RNDN);
    mpfr_add_ui(exact_c, exact_c, 1, MPFR_RNDN);
    mpfr_mul(r, r, exact_c, MPFR_RNDN);
}

// a = v = 2 sqrt(2/pi) (x + 0.044715 x^3), b = x v'.
static inline void exact_gelu_argument(void) {
    mpfr_sqr(exact_a, exact_x, MPFR_RNDN);
    mpfr_mul_ui(exact_a, exact_a, 44715, MPFR_RNDN);
    mpfr_div_ui(exact_a, exact_a, 1000000, MPFR_RNDN);
    mpfr_mul_ui(exact_b, exact_a, 3, MPFR_RNDN);
    mpfr_add_ui(exact_a, exact_a, 1, MPFR_RNDN);
    mpfr_add_ui(exact_b, exact_b, 1, MPFR_RNDN);
    mpfr_mul(exact_a, exact_a, exact_gelu, MPFR_RNDN);
    mpfr_mul(exact_b, exact_b, exact_gelu, MPFR_RNDN);
    mpfr_mul(exact_a, exact_a, exact_x, MPFR_RNDN);
    mpfr_mul(exact_b, exact_b, exact_x, MPFR_RNDN);
}

static inline void exact_normal(mpfr_t r) { // Phi(x)
    mpfr_mul(r, exact_x, exact_root_half, MPFR_RNDN);
    mpfr_neg(r, r, MPFR_RNDN);
    mpfr_erfc(r, r, MPFR_RNDN);
    mpfr_div_2ui(r, r, 1, MPFR_RNDN);
}

static inline void exact_softplus(mpfr_t r, double x) {
    mpfr_set_d(exact_a, x, MPFR_RNDN);
    if (x > 2000) {
        mpfr_set(r, exact_a, MPFR_RNDN);
    } else {
        mpfr_exp(exact_a, exact_a, MPFR_RNDN);
        mpfr_log1p(r, exact_a, MPFR_RNDN);
    }
}

// r, of EXACT_BITS, = f(x), x finite and in the domain.
static inline void exact_value(enum function64 f, mpfr_t r, double x) {
    mpfr_set_d(exact_x, x, MPFR_RNDN);
    switch (f) {
    case F_EXP: mpfr_exp(r, exact_x, MPFR_RNDN); break;
    case F_EXP2: mpfr_exp2(r, exact_x, MPFR_RNDN); break;
    case F_EXPM1: mpfr_expm1(r, exact_x, MPFR_RNDN); break;
    case F_LOG: mpfr_log(r, exact_x, MPFR_RNDN); break;
    case F_LOG2: mpfr_log2(r, exact_x, MPFR_RNDN); break;
    case F_LOG10: mpfr_log10(r, exact_x, MPFR_RNDN); break;
    case F_LOG1P: mpfr_log1p(r, exact_x, MPFR_RNDN); break;
    case F_SIN: mpfr_sin(r, exact_x, MPFR_RNDN); break;
    case F_COS: mpfr_cos(r, exact_x, MPFR_RNDN); break;
    case F_TANH: mpfr_tanh(r, exact_x, MPFR_RNDN); break;
    case F_ERF: mpfr_erf(r, exact_x, MPFR_RNDN); break;
    case F_ERFC: mpfr_erfc(r, exact_x, MPFR_RNDN); break;
    case F_RSQRT: mpfr_rec_sqrt(r, exact_x, MPFR_RNDN); break;
    case F_SIGMOID: exact_sigmoid(r, exact_x); break;
    case F_SOFTPLUS: exact_softplus(r, x); break;
    case F_LOG_SIGMOID:
        exact_softplus(r, -x);
        mpfr_neg(r, r, MPFR_RNDN);
        break;
    case F_SILU:
        exact_sigmoid(r, exact_x);
        mpfr_mul(r, r, exact_x, MPFR_RNDN);
        break;
    case F_SILU_GRAD:
        mpfr_set(exact_a, exact_x, MPFR_RNDN);
        exact_slope(r, exact_a, exact_x);
        break;
    case F_GELU:
        exact_normal(r);
        mpfr_mul(r, r, exact_x, MPFR_RNDN);
        break;
    case F_GELU_GRAD: // Phi(x) + x phi(x)
        exact_normal(r);
        mpfr_sqr(exact_a, exact_x, MPFR_RNDN);
        mpfr_div_2ui(exact_a, exact_a, 1, MPFR_RNDN);
        mpfr_neg(exact_a, exact_a, MPFR_RNDN);
        mpfr_exp(exact_a, exact_a, MPFR_RNDN);
        mpfr_div(exact_a, exact_a, exact_root_2pi, MPFR_RNDN);
        mpfr_mul(exact_a, exact_a, exact_x, MPFR_RNDN);
        mpfr_add(r, r, exact_a, MPFR_RNDN);
        break;
    case F_GELU_TANH:
        exact_gelu_argument();
        exact_sigmoid(r, exact_a);
        mpfr_mul(r, r, exact_x, MPFR_RNDN);
        break;
    case F_GELU_TANH_GRAD:
        exact_gelu_argument();
        exact_slope(r, exact_a, exact_b);
        break;
    case FUNCTIONS64: break;
    }
}

// y - f(x) in ulp of f(x), by MPFR; *subnormal: whether |f(x)| < 2^-1022.
static inline double exact_error(mpfr_t r, double y, int *subnormal) {
    if (mpfr_zero_p(r)) {
        *subnormal = 0;
        return y == 0 ? 0.0 : (double)INFINITY;
    }
    mpfr_exp_t e = mpfr_get_exp(r);
    *subnormal = e <= -1022;
    e = e < -1021 ? -1021 : e;
    mpfr_sub_d(r, r, y, MPFR_RNDN);
    mpfr_mul_2si(r, r, 53 - (long)e, MPFR_RNDN);
    return fabs(mpfr_get_d(r, MPFR_RNDN));
}

// erfc(x s) for x s >= 2, s^2 = 1 or 1/2 (half): e^(-(x s)^2) / (sqrt(pi) (t + (1/2)/(t + 1/(t + (3/2)/(t + ...))))), t = x s.
// The square of x is taken in two parts, the first of them exact, so that the power keeps its bits. Some 2^-61.
static inline long double extended_tail(double x, int half) {
    double top = (double)(float)x;
    long double t = half ? (long double)x * 0.707106781186547524400844362104849039L : (long double)x, f = 0;
    long double square = (long double)top * (long double)top, rest = ((long double)x - top) * ((long double)x + top);
    for (int k = 120; k > 0; k--)
        f = (long double)k / 2 / (t + f);
    return expl(half ? -square / 2 : -square) * expl(half ? -rest / 2 : -rest) / (1.772453850905516027298167483341145183L * (t + f));
}

// f(x) within some 2^-60, or NaN where that is not known of it.
static inline long double extended_value(enum function64 f, double value) {
    long double x = (long double)value, s, c, t;
    if (LDBL_MANT_DIG < 64) return (long double)NAN;
    switch (f) {
    case F_EXP: return expl(x);
    case F_EXP2: return exp2l(x);
    case F_EXPM1: return expm1l(x);
    case F_LOG: return logl(x);
    case F_LOG2: return fabsl(x - 1) < 0.25L ? (long double)NAN : log2l(x);
    case F_LOG10: return fabsl(x - 1) < 0.25L ? (long double)NAN : log10l(x);
    case F_LOG1P: return log1pl(x);
    case F_SIN: return fabsl(x) < 0.5L ? sinl(x) : (long double)NAN; // (the reduction of larger ones is what is tested)
    case F_COS: return fabsl(x) < 0.5L ? cosl(x) : (long double)NAN;
    case F_TANH: return tanhl(x);
    case F_ERF: return erfl(x);
    case F_ERFC: return x < 2 ? erfcl(x) : extended_tail(value, 0);
    case F_RSQRT: return 1 / sqrtl(x);
    case F_SIGMOID: return 1 / (1 + expl(-x));
    case F_SOFTPLUS: return x < 700 ? log1pl(expl(x)) : x;
    case F_LOG_SIGMOID: return x > -700 ? -log1pl(expl(-x)) : x;
    case F_SILU: return x / (1 + expl(-x));
    case F_SILU_GRAD:
        s = 1 / (1 + expl(-x));
        c = 1 / (1 + expl(x));
        t = 1 + x * c;
        return fabsl(t) < 0.05L ? (long double)NAN : s * t;
    case F_GELU:
        if (x < -3) return x / 2 * extended_tail(-value, 1);
        return x > 3 ? x - x / 2 * extended_tail(value, 1) : x * 0.5L * erfcl(-x * 0.707106781186547524400844362104849039L);
    case F_GELU_GRAD: // Phi(x) + x phi(x), but beside its zero
        if (fabsl(x) < 3 || fabsl(x) > 1e3L) return (long double)NAN;
        t = extended_tail(fabs(value), 1) / 2;
        c = x * expl(-(long double)(float)value * (float)value / 2) * expl(-(x - (float)value) * (x + (float)value) / 2);
        c *= 0.398942280401432677939946059934381868L;
        return (x < 0 ? t : 1 - t) + c;
    default: return (long double)NAN;
    }
}
#endif
