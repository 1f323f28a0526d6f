// SPDX-License-Identifier: Apache-2.0
// The double functions of the host, in loops that gcc vectorises where glibc has vector functions (libmvec, which errs
// by 4 ulp at most); elsewhere the same loops call the scalar ones. (It uses <math.h>: nothing here reaches a bit of a
// result.) Arguments are clamped where the value is long beyond float32's reach, so that no call takes a slow way.
#include "prove_estimate.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 35)
#define VECTOR_FUNCTION(f) extern double f(double) __attribute__((simd("notinbranch")));
VECTOR_FUNCTION(exp)
VECTOR_FUNCTION(exp2)
VECTOR_FUNCTION(expm1)
VECTOR_FUNCTION(log)
VECTOR_FUNCTION(log2)
VECTOR_FUNCTION(log10)
VECTOR_FUNCTION(log1p)
VECTOR_FUNCTION(sin)
VECTOR_FUNCTION(cos)
VECTOR_FUNCTION(tanh)
VECTOR_FUNCTION(erf)
VECTOR_FUNCTION(erfc)
#endif
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) // (their runtimes are not up when a clone is chosen)
#define EACH_WIDTH __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define EACH_WIDTH
#endif

static inline float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline double clamp(double x, double low, double high) { // keeps NaN
    x = x < low ? low : x;
    return x > high ? high : x;
}

static inline double positive(double x, double y) { // y, NaN for x < 0
    return x < 0 ? (double)NAN : y;
}

static inline double decay(double x) { return exp(-clamp(fabs(x), 0, 400)); }

static inline double sigmoid(double x) {
    double e = decay(x);
    return (x < 0 ? e : 1) / (1 + e);
}

static inline double silu(double x) { return clamp(x, -400, HUGE_VAL) * sigmoid(x); }

static inline double silu_grad(double x) {
    double e = decay(x), s = (x < 0 ? e : 1) / (1 + e), c = (x < 0 ? 1 : e) / (1 + e);
    return s * (1 + clamp(x, -400, 400) * c);
}

static inline double softplus(double x) { return (x > 0 ? x : 0) + log1p(decay(x)); }

// Phi(x), |x| <= 28
static inline double normal_distribution(double x) { return 0.5 * erfc(-0.70710678118654752440 * clamp(x, -28, 28)); }

static inline double gelu_grad(double x) {
    double c = clamp(x, -28, 28);
    return normal_distribution(x) + c * exp(-0.5 * c * c) * 0.39894228040143267794;
}

// 2 sqrt(2 / pi) (x + k 0.044715 x^3), |x| <= 12
static inline double gelu_argument(double x, double k) {
    double c = clamp(x, -12, 12);
    return 1.5957691216057307117 * c * (1 + k * 0.044715 * c * c);
}

static inline double gelu_tanh_grad(double x) {
    double y = gelu_argument(x, 1), e = decay(y), s = (y < 0 ? e : 1) / (1 + e), c = (y < 0 ? 1 : e) / (1 + e);
    return s * (1 + gelu_argument(x, 3) * c);
}

// -z for p < 1/2 by one step of Halley's method on erfc from the output under judgement: what is left of its error is
// cubed. An output that is far off stays far off, and goes to MPFR.
static inline double normal(uint32_t input, uint32_t output) {
    uint32_t word = input >> 31 ? ~input : input;
    double p = ((double)(int32_t)word + 0.5) * 0x1p-32, claim = (double)float_of(output & 0x7fffffffu);
    double s = claim * 0.70710678118654752440, density = exp(-clamp(s * s, 0, 400)) * 0.39894228040143267794;
    double e = (p > 0.25 ? 0.5 - p - 0.5 * erf(s) : 0.5 * erfc(s) - p) / density;
    double z = claim + e / (1 - 0.5 * claim * e);
    return input >> 31 ? z : -z;
}

#define LOOP(name, value) \
    EACH_WIDTH static void loop_##name(const uint32_t *inputs, const uint32_t *outputs, int64_t count, double *values) { \
        for (int64_t i = 0; i < count; i++) { \
            double x = (double)float_of(inputs[i]); \
            values[i] = value; \
        } \
        (void)outputs; \
    }
LOOP(exp, exp(clamp(x, -400, 400)))
LOOP(log, positive(x, log(fabs(x))))
LOOP(sin, sin(x))
LOOP(cos, cos(x))
LOOP(rsqrt, 1 / sqrt(x))
LOOP(sigmoid, sigmoid(x))
LOOP(silu, silu(x))
LOOP(silu_grad, silu_grad(x))
LOOP(tanh, tanh(clamp(x, -40, 40)))
LOOP(expm1, expm1(clamp(x, -400, 400)))
LOOP(log1p, positive(1 + x, log1p(clamp(x, -1, HUGE_VAL))))
LOOP(exp2, exp2(clamp(x, -600, 600)))
LOOP(log2, positive(x, log2(fabs(x))))
LOOP(log10, positive(x, log10(fabs(x))))
LOOP(erf, erf(clamp(x, -6, 6)))
LOOP(erfc, erfc(clamp(x, -6, 20)))
LOOP(softplus, softplus(x))
LOOP(log_sigmoid, -softplus(-x))
LOOP(gelu, clamp(x, -28, HUGE_VAL) * normal_distribution(x))
LOOP(gelu_tanh, clamp(x, -12, HUGE_VAL) * sigmoid(gelu_argument(x, 1)))
LOOP(gelu_grad, gelu_grad(x))
LOOP(gelu_tanh_grad, gelu_tanh_grad(x))

EACH_WIDTH static void loop_normal(const uint32_t *inputs, const uint32_t *outputs, int64_t count, double *values) {
    for (int64_t i = 0; i < count; i++) {
        values[i] = normal(inputs[i], outputs[i]);
    }
}

void sbi_estimate(int number, const uint32_t *inputs, const uint32_t *outputs, int64_t count, double *values) {
    static void (*const loops[])(const uint32_t *, const uint32_t *, int64_t, double *) = {
        [SBI_J_EXP] = loop_exp,         [SBI_J_LOG] = loop_log,     [SBI_J_SIN] = loop_sin,
        [SBI_J_COS] = loop_cos,         [SBI_J_RSQRT] = loop_rsqrt, [SBI_J_SIGMOID] = loop_sigmoid,
        [SBI_J_SILU] = loop_silu,       [SBI_J_SILU_GRAD] = loop_silu_grad, [SBI_J_NORMAL] = loop_normal,
        [SBI_J_TANH] = loop_tanh,       [SBI_J_EXPM1] = loop_expm1, [SBI_J_LOG1P] = loop_log1p,
        [SBI_J_EXP2] = loop_exp2,       [SBI_J_LOG2] = loop_log2,   [SBI_J_LOG10] = loop_log10,
        [SBI_J_ERF] = loop_erf,         [SBI_J_ERFC] = loop_erfc,   [SBI_J_SOFTPLUS] = loop_softplus,
        [SBI_J_LOG_SIGMOID] = loop_log_sigmoid, [SBI_J_GELU] = loop_gelu, [SBI_J_GELU_TANH] = loop_gelu_tanh,
        [SBI_J_GELU_GRAD] = loop_gelu_grad, [SBI_J_GELU_TANH_GRAD] = loop_gelu_tanh_grad,
    };
    loops[number](inputs, outputs, count, values);
}

bool sbi_estimate_cancels(int number, double x) {
    double zero = number == SBI_J_SILU_GRAD      ? -1.2784645427610738
                  : number == SBI_J_GELU_GRAD      ? -0.7517915246935645
                  : number == SBI_J_GELU_TANH_GRAD ? -0.7524614220710163
                                                   : 0;
    return zero < 0 && !(fabs(x - zero) > 0.005);
}

EACH_WIDTH void sbi_estimate_clear(const uint32_t *outputs, const double *values, int64_t count, uint8_t *clear) {
    for (int64_t i = 0; i < count; i++) {
        uint32_t output = outputs[i], magnitude = output & 0x7fffffffu;
        double d = values[i], size = fabs(d), y = (double)float_of(magnitude);
        double low = 0.5 * (y + (double)float_of(magnitude - 1)); // (of 0 - 1: a NaN, and replaced)
        double high = 0.5 * (y + (double)float_of(magnitude + 1));
        low = magnitude ? low : -1;
        high = magnitude < 0x7f7fffffu ? high : 0x1.ffffffp+127; // of the greatest float
        low = magnitude < 0x7f800000u ? low : 0x1.ffffffp+127;   // of infinity
        high = magnitude < 0x7f800000u ? high : HUGE_VAL;
        double margin = size * 0x1p-40;
        uint64_t bits;
        memcpy(&bits, &d, sizeof bits);
        int inside = (size - margin > low) & (size + margin < high) & (magnitude <= 0x7f800000u);
        int infinite = (size == HUGE_VAL) & (magnitude == 0x7f800000u);
        int sign = (uint32_t)(bits >> 63) == output >> 31;
        int nan = (d != d) & (output == 0x7fc00000u);
        clear[i] = (uint8_t)(((inside | infinite) & sign) | nan);
    }
}
