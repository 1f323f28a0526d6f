// SPDX-License-Identifier: Apache-2.0
// T4: functions of one binary64 value, the written sequences of docs/functions.md. Every operation below is rounded to
// binary64 where it stands and nothing is fused. (The other files of this folder keep one operation a statement; here
// the formulas are long, and a compiler that would keep excess precision is refused instead.)
#include "reference.h"

#include <float.h>
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 1
#error "binary64 expressions must be evaluated in binary64"
#endif

typedef struct pair { double high, low; } pair; // a number in two words

static double nan64(void) { return ref_float64(0x7ff8000000000000u); }
static double absolute(double x) { return ref_float64(ref_bits64(x) & 0x7fffffffffffffffu); }
static double power(int64_t n) { return ref_float64((uint64_t)(n + 1023) << 52); } // 2^n, -1022 <= n <= 1023
static double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

// The words of docs/functions.md: ordered, sum, product, quotient, scaled, polynomial.
static pair ordered(double a, double b) {
    double s = a + b;
    return (pair){s, (a - s) + b};
}
static pair sum(double a, double b) {
    double s = a + b, t = s - a;
    return (pair){s, (a - (s - t)) + (b - t)};
}
static double leading(double x) { return ref_float64((ref_bits64(x) + 0x4000000u) & 0xfffffffff8000000u); }
static pair product(double a, double b) {
    double p = a * b, at = leading(a), bt = leading(b), ar = a - at, br = b - bt;
    return (pair){p, (((at * bt - p) + ar * bt) + at * br) + ar * br};
}
static pair quotient(pair a, pair b) {
    double r = 1.0 / b.high, q = a.high * r;
    pair p = product(q, b.high);
    double rest = ((a.high - p.high) - p.low) + (a.low - q * b.low);
    return (pair){q, rest * r};
}
static double scaled(double y, int64_t n) { // y 2^n
    int64_t half = n >= 0 ? n / 2 : -((1 - n) / 2);
    return (y * power(half)) * power(n - half);
}
static double polynomial(double t, int count, const double *c) { // c_0 + c_1 t + ...
    double y = c[count - 1];
    for (int i = count - 2; i >= 0; i--)
        y = y * t + c[i];
    return y;
}
#define POLYNOMIAL(t, c) polynomial(t, (int)(sizeof(c) / sizeof(c)[0]), c)

// ---- exp

// x + x_low = n log 2 + r.
static pair reduced(double x, double x_low, int64_t *n) {
    double t = x * 0x1.71547652b82fep+0 + 0x1.8p52, whole = t - 0x1.8p52;
    *n = (int64_t)whole;
    double a = x - whole * 0x1.62e42fefa3800p-1;
    double b = whole * 0x1.ef35793c76730p-45 - x_low;
    double r = a - b;
    return (pair){r, (a - r) - b};
}

// one + (e^r - 1)
static pair exp_sum(double one, pair r) {
    static const double c[] = {0x1.5555555555556p-3, 0x1.5555555555555p-5, 0x1.11111111109b3p-7, 0x1.6c16c16c167e1p-10,
                               0x1.a01a01a7c41d5p-13, 0x1.a01a01a47b054p-16, 0x1.71de0dae63bb3p-19,
                               0x1.27e4e1f48534fp-22, 0x1.af38a9b0ec855p-26, 0x1.1f66df7fca49fp-29};
    pair z = product(r.high, r.high);
    double q = POLYNOMIAL(r.high, c);
    pair s = ordered(one, r.high);
    pair u = ordered(s.high, 0.5 * z.high);
    double tail = (r.high * z.high) * q + (0.5 * z.low + (r.low + r.low * r.high));
    return (pair){u.high, (s.low + u.low) + tail};
}

double ref_exp64(double x) {
    if (x != x)
        return nan64();
    int64_t n;
    pair r = reduced(clamp(x, -746.0, 710.0), 0.0, &n);
    pair e = exp_sum(1.0, r);
    return scaled(e.high + e.low, n);
}

// ---- tanh

double ref_tanh64(double x) {
    if (x != x)
        return nan64();
    double a = clamp(absolute(x), 0.0, 20.0);
    int64_t n;
    pair r = reduced(2 * a, 0.0, &n);
    double p = power(-n);
    pair e = exp_sum(1.0 - p, r);
    pair m = ordered(e.high, e.low);
    pair d = sum(m.high, 2 * p);
    pair q = quotient(m, (pair){d.high, d.low + m.low});
    double y = q.high + q.low;
    return ref_bits64(x) >> 63 ? -y : y;
}

// ---- sigmoid, silu and their slopes

// e^-|x| = h 2^n, e the same scaled (0 where it is nothing beside 1), d = 1 + e.
typedef struct decay { pair h, e, d; int64_t n; } decay;

static decay decayed(pair x) {
    decay y;
    if (!(ref_bits64(x.high) >> 63))
        x = (pair){-x.high, -x.low};
    pair r = reduced(x.high, x.low, &y.n);
    pair s = exp_sum(1.0, r);
    y.h = ordered(s.high, s.low);
    double p = x.high < -64.0 ? 0.0 : power(y.n);
    y.e = (pair){y.h.high * p, y.h.low * p};
    pair d = ordered(1.0, y.e.high);
    y.d = (pair){d.high, d.low + y.e.low};
    return y;
}

// 1 / (1 + e^-x) = result 2^n
static pair sigmoid(pair x, int64_t *n) {
    decay y = decayed(x);
    *n = x.high < 0 ? y.n : 0;
    return quotient(x.high < 0 ? y.h : (pair){1.0, 0.0}, y.d);
}

double ref_sigmoid64(double x) {
    if (x != x)
        return nan64();
    int64_t n;
    pair s = sigmoid((pair){clamp(x, -800.0, 800.0), 0.0}, &n);
    return scaled(s.high + s.low, n);
}

// x sigmoid(v)
static double gated(double x, pair v) {
    if (x > 40.0)
        return x;
    int tiny = absolute(x) < 0x1p-500;
    double z = clamp(x, -800.0, 800.0);
    if (tiny)
        z = z * 0x1p400;
    int64_t n;
    pair s = sigmoid(v, &n);
    pair p = product(z, s.high);
    return scaled(p.high + (p.low + z * s.low), tiny ? n - 400 : n);
}

double ref_silu64(double x) {
    return x != x ? nan64() : gated(x, (pair){clamp(x, -800.0, 800.0), 0.0});
}

// s (1 + w (1 - s)), s = sigmoid(v)
static double gated_slope(pair v, pair w) {
    decay g = decayed(v);
    int below = v.high < 0;
    if (!below) {
        pair we = product(w.high, g.e.high);
        we.low = we.low + (w.high * g.e.low + w.low * g.e.high);
        w = we;
    }
    pair a = sum(g.d.high, w.high);
    a.low = a.low + (g.d.low + w.low);
    pair h = below ? g.h : (pair){1.0, 0.0};
    pair top = product(a.high, h.high);
    top.low = top.low + (a.high * h.low + a.low * h.high);
    pair d = product(g.d.high, g.d.high);
    d.low = d.low + (g.d.high + g.d.high) * g.d.low;
    pair q = quotient(top, d);
    return scaled(q.high + q.low, below ? g.n : 0);
}

// (x - z0) g(x - z0) beside the zero z0 = zero[0] + zero[1] + zero[2]; slope = g(0) in two words, then the coefficients of
// (g(t) - g(0))/t.
static double beside_zero(double x, const double *zero, pair slope, int count, const double *c) {
    pair d = sum(x - zero[0], -zero[1]);
    double d_low = d.low - zero[2];
    double q = polynomial(d.high, count, c);
    pair p = product(d.high, slope.high);
    return p.high + ((d.high * d.high) * q + (p.low + (d.high * slope.low + d_low * slope.high)));
}

double ref_silu_grad64(double x) {
    static const double zero[] = {-0x1.474973c84120bp+0, -0x1.f8d74bc9ac154p-54, -0x1.44a50180ba780p-108};
    static const double c[] = {0x1.2c563458cc0adp-3, 0x1.353eb573ca45ep-6, -0x1.f2d0e32bc299fp-7, -0x1.b0f82c49a6e89p-8,
                               0x1.098e92bb3ecbdp-13, 0x1.a2a7cd89ea64cp-11, 0x1.8574c8e99cfa0p-13,
                               -0x1.575affc6c30f7p-15, -0x1.f28009dc16b7cp-16};
    if (x != x)
        return nan64();
    double z = clamp(x, -800.0, 800.0);
    double t = sum(z - zero[0], -zero[1]).high;
    if (t * t < 0x1p-8)
        return beside_zero(z, zero, (pair){0x1.be1410460527fp-3, -0x1.2541062177473p-58}, 9, c);
    return gated_slope((pair){z, 0.0}, (pair){z, 0.0});
}

double ref_unary64(sb_unary_kind kind, double x) {
    double y = x;
    switch ((int)kind) {
    case SB_EXP: y = ref_exp64(x); break;
    case SB_LOG: y = ref_log64(x); break;
    case SB_SIGMOID: y = ref_sigmoid64(x); break;
    case SB_SILU: y = ref_silu64(x); break;
    case SB_SILU_GRAD: y = ref_silu_grad64(x); break;
    case SB_SQRT: y = ref_sqrt64(x); break;
    case SB_NEG: y = -x; break;
    case SB_ABS: y = absolute(x); break;
    }
    return ref_canon64(y);
}
