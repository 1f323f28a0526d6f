// SPDX-License-Identifier: Apache-2.0
// T4: every function is the correctly rounded value of the exact function. Each is evaluated with a proved error
// (ref_ball.c) on 192 bits, then 384, then 768, until the interval lies within the reach of one float. Ties are excluded
// by argument, so that this ends: exp, expm1, log, log1p, sin, cos, tanh, sigmoid, silu, silu' of a float other than the
// fixed points below are transcendental (Lindemann-Weierstrass), exp2, log2 and log10 rational at powers alone
// (Gelfond-Schneider), erf, erfc and gelu transcendental (Siegel), rsqrt and sqrt are decided by integers; for softplus,
// log-sigmoid and the others of gelu the proofs of all inputs have met no tie. Values that are floats themselves (exp 0, exp2 3,
// sigmoid 0, ...) need no care: both ends of an interval around a float round to it.
//
// Limits at infinities, zeros and on underflow "with the sign of the side it is reached from" (T4).
#include "reference.h"

#include <stdlib.h>

static float quiet(void) {
    return ref_float32(0x7fc00000u);
}

// sigma(x) = 1 / (1 + exp(-x)), for x < 0 as exp(x) / (1 + exp(x)).
static ref_ball sigmoid(const ref_ball *x) {
    int n = x->n, negative = x->sign < 0;
    ref_ball minus = negative ? *x : ref_ball_negate(x), e = ref_ball_exp(&minus), one = ref_ball_integer(n, 1);
    ref_ball below = ref_ball_add(&one, &e);
    return ref_ball_divide(negative ? &e : &one, &below);
}

// sigma(y) (1 + t (1 - sigma(y))), 1 - sigma(y) = sigma(-y): the derivative of x sigma(y), t = x y'.
static ref_ball sigmoid_product_slope(const ref_ball *y, const ref_ball *t) {
    ref_ball minus = ref_ball_negate(y), s = sigmoid(y), rest = sigmoid(&minus), one = ref_ball_integer(y->n, 1);
    rest = ref_ball_multiply(t, &rest);
    rest = ref_ball_add(&one, &rest);
    return ref_ball_multiply(&s, &rest);
}

// 2 sqrt(2 / pi) (x + k 44715/10^6 x^3), 2 sqrt(2 / pi) = 4 / sqrt(2 pi). k = 1: the y of gelu-tanh; k = 3: x y'.
static ref_ball gelu_argument(const ref_ball *x, int k) {
    int n = x->n;
    ref_ball y = ref_ball_multiply(x, x), one = ref_ball_integer(n, 1), factor = ref_ball_integer(n, k * 44715);
    y = ref_ball_multiply(&y, &factor);
    y = ref_ball_divide_by(&y, 1000000);
    y = ref_ball_add(&one, &y);
    y = ref_ball_multiply(x, &y);
    y = ref_ball_divide(&y, ref_ball_root_pi(n, 2));
    return ref_ball_scale(&y, 2);
}

// erf x = 2 / sqrt(pi) x exp(-x^2) series(2 x^2)
static ref_ball error_function(const ref_ball *x) {
    int n = x->n;
    ref_ball square = ref_ball_multiply(x, x), minus = ref_ball_negate(&square), e = ref_ball_exp(&minus);
    square = ref_ball_scale(&square, 1);
    ref_ball y = ref_ball_normal_series(&square);
    y = ref_ball_multiply(&y, &e);
    y = ref_ball_multiply(&y, x);
    y = ref_ball_divide(&y, ref_ball_root_pi(n, 1));
    return ref_ball_scale(&y, 1);
}

// The density of the normal distribution, exp(-x^2 / 2) / sqrt(2 pi).
static ref_ball density(const ref_ball *x) {
    ref_ball y = ref_ball_multiply(x, x);
    y = ref_ball_scale(&y, -1);
    y = ref_ball_negate(&y);
    y = ref_ball_exp(&y);
    return ref_ball_divide(&y, ref_ball_root_pi(x->n, 2));
}

// The normal distribution, 1/2 + x density(x) series(x^2).
static ref_ball distribution(const ref_ball *x) {
    ref_ball square = ref_ball_multiply(x, x), y = ref_ball_normal_series(&square), d = density(x);
    ref_ball one = ref_ball_integer(x->n, 1), half = ref_ball_scale(&one, -1);
    y = ref_ball_multiply(&y, &d);
    y = ref_ball_multiply(&y, x);
    return ref_ball_add(&half, &y);
}

// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))
static ref_ball softplus(const ref_ball *x) {
    ref_ball minus = x->sign > 0 ? ref_ball_negate(x) : *x, e = ref_ball_exp(&minus), one = ref_ball_integer(x->n, 1);
    e = ref_ball_add(&one, &e);
    ref_ball y = ref_ball_log(&e);
    return x->sign > 0 ? ref_ball_add(x, &y) : y;
}

// (1 - t) / (1 + t), t = exp(-2 |x|).
static ref_ball hyperbolic_tangent(int n, float x) {
    ref_ball minus = ref_ball_float(n, x < 0 ? x : -x), one = ref_ball_integer(n, 1);
    minus = ref_ball_scale(&minus, 1);
    ref_ball t = ref_ball_exp(&minus), above = ref_ball_subtract(&one, &t), below = ref_ball_add(&one, &t);
    ref_ball y = ref_ball_divide(&above, &below);
    return x < 0 ? ref_ball_negate(&y) : y;
}

// 1 + x is exact: at most 151 bits.
static ref_ball log_of_one_and(int n, float x) {
    ref_ball whole = ref_ball_float(n, x), one = ref_ball_integer(n, 1), w = ref_ball_add(&one, &whole);
    w.radius = 0;
    return ref_ball_log(&w);
}

// log x / log base.
static ref_ball log_to_base(const ref_ball *x, const ref_ball *base) {
    ref_ball above = ref_ball_log(x), below = ref_ball_log(base);
    return ref_ball_divide(&above, &below);
}

static float evaluate(sb_unary_kind kind, float x) {
    for (int n = 3; n <= 12; n *= 2) {
        ref_ball y, exact = ref_ball_float(n, x), one = ref_ball_integer(n, 1), two = ref_ball_integer(n, 2),
                    ten = ref_ball_integer(n, 10);
        switch (kind) {
        case SB_EXP: y = ref_ball_exp(&exact); break;
        case SB_LOG: y = ref_ball_log(&exact); break;
        case SB_SIN: y = ref_ball_sin(n, x, 0); break;
        case SB_COS: y = ref_ball_sin(n, x, 1); break;
        case SB_SIGMOID: y = sigmoid(&exact); break;
        case SB_SILU:
            y = sigmoid(&exact);
            y = ref_ball_multiply(&exact, &y);
            break;
        case SB_SILU_GRAD: y = sigmoid_product_slope(&exact, &exact); break;
        case SB_TANH: y = hyperbolic_tangent(n, x); break;
        case SB_EXPM1:
            y = ref_ball_exp(&exact);
            y = ref_ball_subtract(&y, &one);
            break;
        case SB_LOG1P: y = log_of_one_and(n, x); break;
        case SB_EXP2:
            y = ref_ball_multiply(&exact, ref_ball_log_two(n));
            y = ref_ball_exp(&y);
            break;
        case SB_LOG2: y = log_to_base(&exact, &two); break;
        case SB_LOG10: y = log_to_base(&exact, &ten); break;
        case SB_ERF: y = error_function(&exact); break;
        case SB_ERFC:
            y = error_function(&exact);
            y = ref_ball_subtract(&one, &y);
            break;
        case SB_SOFTPLUS: y = softplus(&exact); break;
        case SB_LOG_SIGMOID: // -softplus(-x)
            y = ref_ball_negate(&exact);
            y = softplus(&y);
            y = ref_ball_negate(&y);
            break;
        case SB_GELU:
            y = distribution(&exact);
            y = ref_ball_multiply(&exact, &y);
            break;
        case SB_GELU_GRAD: {
            ref_ball slope = density(&exact);
            slope = ref_ball_multiply(&exact, &slope);
            y = distribution(&exact);
            y = ref_ball_add(&y, &slope);
            break;
        }
        case SB_GELU_TANH:
            y = gelu_argument(&exact, 1);
            y = sigmoid(&y);
            y = ref_ball_multiply(&exact, &y);
            break;
        case SB_GELU_TANH_GRAD: {
            ref_ball t = gelu_argument(&exact, 3);
            y = gelu_argument(&exact, 1);
            y = sigmoid_product_slope(&y, &t);
            break;
        }
        default: abort(); // decided elsewhere
        }
        float out;
        if (ref_ball_round32(&y, &out))
            return out;
    }
    abort(); // no float is that close to a tie
}

// 1/sqrt(x), x = m 4^h: q = floor(2^61 / sqrt(m)) by the square root of floor(2^122 / m), which has the same floor.
// It is exact where q^2 m = 2^122; otherwise more than zero and less than one unit is left. (A tie y of 25 bits would
// need y^2 m to be a power of two: y is one itself, and a float.)
static float rsqrt(float x) {
    uint32_t bits = ref_bits32(x), field = bits >> 23;
    uint32_t m = field ? (bits & 0x7fffffu) | 0x800000u : bits;
    int e = (int)(field ? field : 1) - 150;
    if (e % 2 != 0) {
        m *= 2;
        e--;
    }
    ref_u128 top = (ref_u128)1 << 122, square = top / m;
    uint64_t q = 0;
    for (int bit = 61; bit >= 0; bit--) {
        uint64_t t = q | (uint64_t)1 << bit;
        if ((ref_u128)t * t <= square)
            q = t;
    }
    int exact = (ref_u128)q * q == square && square * m == top;
    return ref_round32(0, (ref_u128)q << 2 | !exact, -e / 2 - 61 - 2);
}

// RN32 of the function; NaN canonical.
float ref_unary(sb_unary_kind kind, float x) {
    const float infinity = ref_float32(0x7f800000u);
    if (x != x)
        return quiet();
    switch (kind) {
    case SB_EXP:
        if (x > 200 || x < -200)
            return x > 0 ? infinity : 0.0f;
        break;
    case SB_LOG:
    case SB_LOG2:
    case SB_LOG10:
        if (x == 1)
            return 0.0f;
        if (x <= 0 || x == infinity)
            return x == 0 ? -infinity : x < 0 ? quiet() : infinity;
        break;
    case SB_SIN:
        if (x == 0 || x == infinity || x == -infinity)
            return x == 0 ? x : quiet();
        break;
    case SB_COS:
        if (x == infinity || x == -infinity)
            return quiet();
        break;
    case SB_RSQRT:
        if (x <= 0 || x == infinity)
            return x == 0 ? (ref_bits32(x) ? -infinity : infinity) : x < 0 ? quiet() : 0.0f;
        return rsqrt(x);
    case SB_SIGMOID:
        if (x > 200 || x < -200)
            return x > 0 ? 1.0f : 0.0f;
        break;
    case SB_SILU: // x (1 - e^-x), x e^x beyond 200
        if (x == 0 || x > 200 || x < -200)
            return x < -200 ? -0.0f : x;
        break;
    case SB_ERF:
        if (x == 0 || x > 20 || x < -20)
            return x > 0 ? 1.0f : x < 0 ? -1.0f : x;
        break;
    case SB_ERFC:
        if (x > 12 || x < -12)
            return x > 0 ? 0.0f : 2.0f;
        break;
    case SB_SOFTPLUS: // x + e^-x, e^x beyond 200
        if (x > 200 || x < -200)
            return x > 0 ? x : 0.0f;
        break;
    case SB_LOG_SIGMOID:
        if (x > 200 || x < -200)
            return x > 0 ? -0.0f : x;
        break;
    case SB_GELU: // x (1 - less than e^-x), less than x e^-100 beyond 15
    case SB_GELU_TANH:
        if (x == 0 || x > 15 || x < -15)
            return x < -15 ? -0.0f : x;
        break;
    case SB_GELU_GRAD:
    case SB_GELU_TANH_GRAD:
        if (x > 15 || x < -15)
            return x > 0 ? 1.0f : -0.0f;
        break;
    case SB_SILU_GRAD: // 1 + x e^-x, x e^x beyond 200
        if (x > 200 || x < -200)
            return x > 0 ? 1.0f : -0.0f;
        break;
    case SB_TANH:
        if (x == 0 || x > 50 || x < -50)
            return x > 0 ? 1.0f : x < 0 ? -1.0f : x;
        break;
    case SB_EXPM1:
        if (x == 0 || x > 200 || x < -200)
            return x > 0 ? infinity : x < 0 ? -1.0f : x;
        break;
    case SB_LOG1P:
        if (x == 0 || x <= -1 || x == infinity)
            return x == -1 ? -infinity : x < -1 ? quiet() : x;
        break;
    case SB_EXP2: // 2^-150 is the one tie of all functions here: to even
        if (x >= 128 || x <= -150)
            return x > 0 ? infinity : 0.0f;
        break;
    case SB_SQRT: return ref_sqrt32(x);
    case SB_NEG: return -x;
    case SB_ABS: return ref_float32(ref_bits32(x) & 0x7fffffffu);
    case SB_INVERSE_NORMAL: abort(); // a function of a word: ref_normal
    }
    return evaluate(kind, x);
}

void ref_unary_f32(sb_unary_kind kind, int64_t n, const void *x, float *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = kind == SB_INVERSE_NORMAL ? ref_normal(((const uint32_t *)x)[i]) : ref_unary(kind, ((const float *)x)[i]);
}

// theta^(-p/q) = exp(-(p/q) log theta). Not a tie: theta^p M^q would be a power of two for an odd M > 1.
static ref_ball power(int n, double theta, int64_t p, int64_t q) {
    ref_ball y = ref_ball_double(n, theta), above = ref_ball_integer(n, -p), below = ref_ball_integer(n, q);
    y = ref_ball_log(&y);
    y = ref_ball_multiply(&y, &above);
    y = ref_ball_divide(&y, &below);
    return ref_ball_exp(&y);
}

float ref_power_f32(float theta, int64_t p, int64_t q) {
    float out = 1.0f;
    if (p == 0 || theta == 1.0f)
        return out;
    for (int n = 3; n <= 12; n *= 2) {
        ref_ball y = power(n, (double)theta, p, q);
        if (ref_ball_round32(&y, &out))
            return out;
    }
    abort();
}

double ref_power_f64(double theta, int64_t p, int64_t q) {
    double out = 1.0;
    if (p == 0 || theta == 1.0)
        return out;
    for (int n = 3; n <= 12; n *= 2) {
        ref_ball y = power(n, theta, p, q);
        if (ref_ball_round64(&y, &out))
            return out;
    }
    abort();
}

// T11, the inverse normal distribution of p = (u + 1/2) / 2^32. By symmetry z > 0 with q = p - 1/2 > 0:
//     Phi(z) - 1/2 = exp(-z^2 / 2) / sqrt(2 pi) T(z),   T(z) = sum over j >= 0 of z^(2j+1) / (1 3 5 ... (2j+1)),
// all terms positive. A float is the answer when q lies between the values at the ends of its reach (Phi at a midpoint of
// floats is never the rational p). A guess in binary64 says where to look first; what it says moves no bit.

// The sign of Phi(z) - 1/2 - q: of (exp(-z^2 / 2) T(z))^2 - 2 pi q^2. z > 0 of at most 26 bits.
static int beyond(double z, double q) {
    for (int n = 2; n <= 12; n *= 2) {
        ref_ball x = ref_ball_double(n, z), square = ref_ball_multiply(&x, &x), half = ref_ball_scale(&square, -1);
        half = ref_ball_negate(&half);
        ref_ball e = ref_ball_exp(&half), sum = ref_ball_normal_series(&square);
        sum = ref_ball_multiply(&x, &sum);
        ref_ball left = ref_ball_multiply(&e, &sum), right = ref_ball_double(n, q);
        left = ref_ball_multiply(&left, &left);
        right = ref_ball_multiply(&right, &right);
        right = ref_ball_multiply(&right, ref_ball_pi(n));
        right = ref_ball_scale(&right, 1);
        ref_ball difference = ref_ball_subtract(&left, &right);
        int sign = ref_ball_sign(&difference);
        if (sign == 1 || sign == -1)
            return sign;
    }
    abort();
}

// Newton's steps from 0 rise to the solution of 1 - Phi(z) = tail, since that bends upward. exp(-z^2 / 2) by halving and
// Taylor; 1 - Phi by the series below 2, by Laplace's continued fraction 1/(z + 1/(z + 2/(z + 3/...))) above.
static double guess(double tail) {
    double z = 0;
    for (int step = 0; step < 60; step++) {
        double t = z * z / 2048, e = 1, area;
        for (int j = 8; j > 0; j--)
            e = 1 - t / j * e;
        for (int i = 0; i < 10; i++)
            e = e * e;
        double density = e * 0.3989422804014327;
        if (z < 2) {
            double sum = z, term = z;
            for (int j = 1; term > sum * 0x1p-54; j++) {
                term = term * z * z / (2 * j + 1);
                sum = sum + term;
            }
            area = 0.5 - density * sum;
        } else {
            double fraction = z;
            for (int j = 80; j > 0; j--)
                fraction = z + j / fraction;
            area = density / fraction;
        }
        double move = (area - tail) / density;
        z = z + move;
        if (move < z * 0x1p-40)
            break;
    }
    return z;
}

float ref_normal(uint32_t u) {
    int negative = u < 0x80000000u;
    double q = ((double)((negative ? ~u : u) - 0x80000000u) + 0.5) * 0x1p-32;
    uint32_t bits = ref_bits32((float)guess(0.5 - q)); // a normal float: 2^-33 <= z < 8
    for (;;) {
        double z = (double)ref_float32(bits), low = ((double)ref_float32(bits - 1) + z) / 2,
               high = ((double)ref_float32(bits + 1) + z) / 2;
        if (beyond(low, q) > 0)
            bits--;
        else if (beyond(high, q) < 0)
            bits++;
        else
            break;
    }
    return ref_float32(bits | (negative ? 0x80000000u : 0));
}
