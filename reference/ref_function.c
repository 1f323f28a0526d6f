// SPDX-License-Identifier: Apache-2.0
// T4: every function is the correctly rounded value of the exact function. Each is evaluated with a proved error
// (ref_ball.c) on 192 bits, then 384, then 768, until the interval lies within the reach of one float. Ties are excluded
// by argument, so that this ends: exp, log, sin, cos, sigmoid, silu, silu' of a float other than the fixed points below
// are transcendental (Lindemann-Weierstrass), rsqrt and sqrt are decided by integers. Values that are floats themselves
// (exp 0, log 1, sigmoid 0, ...) need no care: both ends of an interval around a float round to it.
//
// Limits at infinities, zeros and on underflow "with the sign of the side it is reached from" (T4).
#include "reference.h"

#include <stdlib.h>

static float quiet(void) {
    return ref_float32(0x7fc00000u);
}

// sigma(x) = 1 / (1 + exp(-x)), for x < 0 as exp(x) / (1 + exp(x)).
static ref_ball sigmoid(int n, float x) {
    ref_ball minus = ref_ball_float(n, x < 0 ? x : -x), e = ref_ball_exp(&minus), one = ref_ball_integer(n, 1);
    ref_ball below = ref_ball_add(&one, &e);
    return ref_ball_divide(x < 0 ? &e : &one, &below);
}

static ref_ball silu(int n, float x) {
    ref_ball s = sigmoid(n, x), whole = ref_ball_float(n, x);
    return ref_ball_multiply(&whole, &s);
}

// sigma(x) (1 + x (1 - sigma(x))), 1 - sigma(x) = sigma(-x).
static ref_ball silu_grad(int n, float x) {
    ref_ball s = sigmoid(n, x), rest = sigmoid(n, -x), whole = ref_ball_float(n, x), one = ref_ball_integer(n, 1);
    ref_ball t = ref_ball_multiply(&whole, &rest);
    t = ref_ball_add(&one, &t);
    return ref_ball_multiply(&s, &t);
}

static float evaluate(sb_unary_kind kind, float x) {
    for (int n = 3; n <= 12; n *= 2) {
        ref_ball y, exact = ref_ball_float(n, x);
        switch (kind) {
        case SB_EXP: y = ref_ball_exp(&exact); break;
        case SB_LOG: y = ref_ball_log(n, x); break;
        case SB_SIN: y = ref_ball_sin(n, x, 0); break;
        case SB_COS: y = ref_ball_sin(n, x, 1); break;
        case SB_SIGMOID: y = sigmoid(n, x); break;
        case SB_SILU: y = silu(n, x); break;
        default: y = silu_grad(n, x); break;
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
    case SB_SILU_GRAD: // 1 + x e^-x, x e^x beyond 200
        if (x > 200 || x < -200)
            return x > 0 ? 1.0f : -0.0f;
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
float ref_power(float theta, int64_t p, int64_t q) {
    if (p == 0 || theta == 1.0f)
        return 1.0f;
    for (int n = 3; n <= 12; n *= 2) {
        ref_ball y = ref_ball_log(n, theta), above = ref_ball_integer(n, -p), below = ref_ball_integer(n, q);
        y = ref_ball_multiply(&y, &above);
        y = ref_ball_divide(&y, &below);
        y = ref_ball_exp(&y);
        float out;
        if (ref_ball_round32(&y, &out))
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
        ref_ball e = ref_ball_exp(&half), sum = x, term = x;
        for (uint32_t j = 1;; j++) {
            term = ref_ball_multiply(&term, &square);
            term = ref_ball_divide_by(&term, 2 * j + 1);
            sum = ref_ball_add(&sum, &term);
            // From here terms at least halve where z^2 <= j: the rest is less than the last.
            if (z * z <= (double)j && term.exponent < sum.exponent - 64 * n) {
                ref_ball last = term; // as a radius, by a ball that is wider: its exponent bounds it
                sum.radius += 2.0 * ref_float64((uint64_t)((last.exponent < -900 ? -900 : last.exponent) + 1023) << 52);
                break;
            }
        }
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
