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
static int is_infinite(double x) { return (ref_bits64(x) & 0x7fffffffffffffffu) == 0x7ff0000000000000u; }
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

// 2^x
double ref_exp2_64(double x) {
    if (x != x)
        return nan64();
    double z = clamp(x, -1100.0, 1100.0), whole = (z + 0x1.8p52) - 0x1.8p52;
    double d = z - whole;
    pair r = product(d, 0x1.62e42fefa39efp-1);
    r.low = r.low + d * 0x1.abc9e3b39803fp-56;
    pair e = exp_sum(1.0, r);
    return scaled(e.high + e.low, (int64_t)whole);
}

// e^x - 1 = 2^n ((1 - 2^-n) + (e^r - 1))
double ref_expm1_64(double x) {
    if (x != x || x == 0)
        return ref_canon64(x);
    double z = clamp(x, -40.0, 710.0);
    int64_t n;
    pair r = reduced(z, 0.0, &n);
    pair one = sum(1.0, z > 60.0 ? -0.0 : -power(-n));
    pair e = exp_sum(one.high, r);
    return scaled(e.high + (e.low + one.low), n);
}

// ---- log

static double log_limit(double x) { // where x is no positive finite number
    return x == 0 ? ref_float64(0xfff0000000000000u) : x > 0 ? x : nan64();
}
static int log_regular(double x) { return x > 0 && x < ref_float64(0x7ff0000000000000u); }

// x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2))
static double log_split(double x, double *e) {
    int64_t n = 0;
    if (x < 0x1p-1022) {
        x = x * 0x1p54;
        n = -54;
    }
    n += (int64_t)(ref_bits64(x) >> 52) - 1023;
    double m = ref_float64((ref_bits64(x) & 0xfffffffffffffu) | 0x3ff0000000000000u);
    if (m >= 0x1.6a09e667f3bcdp+0) {
        m = m / 2;
        n = n + 1;
    }
    *e = (double)n;
    return m - 1.0;
}

// log(1 + f + f_low)
static pair log_fraction(double f, double f_low) {
    static const double c[] = {0x1.5555555555555p-1, 0x1.9999999999a38p-2, 0x1.2492492476c42p-2, 0x1.c71c720168526p-3,
                               0x1.745cf8fe328f9p-3, 0x1.3b1c36b445cebp-3, 0x1.0fbe71ad855c9p-3, 0x1.0c05166ec4148p-3};
    double d = 2.0 + f, d_low = f - (d - 2.0), s = f / d;
    pair p = product(s, d);
    double rest = (((f - p.high) - p.low) - s * d_low) + (f_low - s * f_low);
    double z = s * s;
    return (pair){s + s, rest * (1.0 - s) + s * (POLYNOMIAL(z, c) * z)};
}

double ref_log2_64(double x) {
    if (!log_regular(x))
        return log_limit(x);
    double e, f = log_split(x, &e);
    pair h = log_fraction(f, 0.0), g = product(h.high, 0x1.71547652b82fep+0), u = ordered(e, g.high);
    return u.high + (u.low + (g.low + (h.high * 0x1.777d0ffda0d24p-56 + h.low * 0x1.71547652b82fep+0)));
}

double ref_log10_64(double x) {
    if (!log_regular(x))
        return log_limit(x);
    double e, f = log_split(x, &e);
    pair h = log_fraction(f, 0.0), g = product(h.high, 0x1.bcb7b1526e50ep-2);
    pair u = ordered(e * 0x1.34413509f7800p-2, g.high);
    double rest = g.low + (h.high * 0x1.95355baaafad3p-57 + h.low * 0x1.bcb7b1526e50ep-2);
    return u.high + (e * 0x1.fef311f12b358p-46 + (u.low + rest));
}

double ref_log1p_64(double x) {
    if (!(x > -1.0) || x == 0 || is_infinite(x))
        return x < -1.0 ? nan64() : x == -1.0 ? ref_float64(0xfff0000000000000u) : ref_canon64(x);
    double e = 0.0, f = x, f_low = 0.0;
    if (!(x > -0.29 && x < 0.41)) {
        pair w = sum(1.0, x);
        f = log_split(w.high, &e);
        if (x <= 0x1p60)
            f_low = w.low * power(-(int64_t)e);
    }
    pair h = log_fraction(f, f_low), u = ordered(e * 0x1.62e42fefa3800p-1, h.high);
    return u.high + (e * 0x1.ef35793c76730p-45 + (u.low + h.low));
}

// ---- rsqrt

double ref_rsqrt64(double x) {
    if (x == 0)
        return ref_float64(ref_bits64(x) | 0x7ff0000000000000u);
    if (!(x > 0))
        return nan64();
    if (is_infinite(x))
        return 0.0;
    double up = x < 0x1p-800 ? 0x1p300 : x > 0x1p800 ? 0x1p-300 : 1.0;
    double back = x < 0x1p-800 ? 0x1p150 : x > 0x1p800 ? 0x1p-150 : 1.0;
    double z = x * up, s = ref_sqrt64(z), r = 1.0 / s;
    pair p = product(r, s), q = product(s, s);
    double first = (1.0 - p.high) - p.low;
    double second = ((z - q.high) - q.low) * (0.5 * (r * r));
    return (r + r * (first - second)) * back;
}

// ---- sin, cos

// sin(r + n pi/2)
static double trig_sum(pair r, uint64_t n) {
    static const double sine[] = {-0x1.5555555555555p-57, 0x1.1111111111111p-7, -0x1.a01a01a019ed5p-13,
                                  0x1.71de3a550c83cp-19, -0x1.ae645533a0097p-26, 0x1.61225ab204a14p-33,
                                  -0x1.ab9398c0b7a1fp-41};
    static const double cosine[] = {0x1.5555555555555p-5, -0x1.6c16c16c16965p-10, 0x1.a01a019f4e451p-16,
                                    -0x1.27e4fa174f62cp-22, 0x1.1eeb6858c7e58p-29, -0x1.907d3b5c05656p-37};
    const double third = -0x1.5555555555555p-3; // -1/6
    pair z = product(r.high, r.high);
    double h = 0.5 * z.high, y;
    if (n % 2 == 0) {
        pair v = product(r.high, z.high);
        v.low = v.low + r.high * z.low;
        pair g = product(v.high, third);
        g.low = g.low + v.low * third;
        double p = POLYNOMIAL(z.high, sine);
        pair s = ordered(r.high, g.high);
        y = s.high + (s.low + (g.low + (v.high * p + r.low * (1.0 - h))));
    } else {
        double h_low = 0.5 * z.low + r.high * r.low;
        double q = POLYNOMIAL(z.high, cosine);
        pair s = ordered(1.0, -h);
        y = s.high + (s.low + ((z.high * z.high) * q - h_low));
    }
    return n / 2 % 2 ? -y : y;
}

// |x| 2/pi modulo 4 from 192 bits, as n quarters and the rest times pi/2; |x| = m 2^k, 2^21 <= |x|.
static pair far_reduced(double x, uint64_t *n) {
    static const uint64_t words[] = { // 2/pi in base 2^64
        0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u, 0xfe5163abdebbc561u, 0xb7246e3a424dd2e0u,
        0x06492eea09d1921cu, 0xfe1deb1cb129a73eu, 0xe88235f52ebb4484u, 0xe99c7026b45f7e41u, 0x3991d639835339f4u,
        0x9c845f8bbdf9283bu, 0x1ff897ffde05980fu, 0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u, 0x4f463f669e5fea2du,
        0x7527bac7ebe5f17bu, 0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b6babu};
    uint64_t bits = ref_bits64(x), m = (bits & 0xfffffffffffffu) | 0x10000000000000u;
    int64_t k = (int64_t)((bits >> 52) & 0x7ff) - 1075;
    uint64_t a[3]; // the bits of 2/pi from place k - 2 on; before the point there are zeros
    for (int64_t i = 0; i < 3; i++) {
        a[i] = 0;
        for (int64_t j = 0; j < 64; j++) {
            int64_t place = k - 2 + 64 * i + j;
            uint64_t bit = place < 0 ? 0 : words[place / 64] >> (63 - place % 64) & 1;
            a[i] = a[i] << 1 | bit;
        }
    }
    ref_u128 low = (ref_u128)m * a[2];
    ref_u128 middle = (ref_u128)m * a[1] + (uint64_t)(low >> 64);
    uint64_t p[3] = {(uint64_t)low, (uint64_t)middle, m * a[0] + (uint64_t)(middle >> 64)}; // in 2^-190, 2^-126, 2^-62
    *n = p[2] >> 62;
    p[2] = p[2] & 0x3fffffffffffffffu;
    int above = p[2] >= 0x2000000000000000u;
    if (above) { // more than half a quarter: the rest is negative, minus the complement (but for 2^-190)
        *n = *n + 1;
        for (int i = 0; i < 3; i++)
            p[i] = ~p[i];
        p[2] = p[2] & 0x3fffffffffffffffu;
    }
    double part[5];
    const double unit[] = {0x1p-30, 0x1p-62, 0x1p-94, 0x1p-126, 0x1p-158};
    for (int i = 0; i < 5; i++) {
        uint64_t word = p[2 - i / 2];
        part[i] = (double)(i % 2 ? word & 0xffffffffu : word >> 32) * unit[i];
    }
    pair v = ordered(part[0], part[1]), w = ordered(part[2], part[3]), u = ordered(v.high, w.high);
    pair y = ordered(u.high, (u.low + v.low) + (w.low + part[4]));
    pair d = product(y.high, 0x1.921fb54442d18p+0);
    pair r = ordered(d.high, d.low + (y.high * 0x1.1a62633145c07p-54 + y.low * 0x1.921fb54442d18p+0));
    if (above)
        r = (pair){-r.high, -r.low};
    if (x < 0) {
        r = (pair){-r.high, -r.low};
        *n = 4 - *n % 4;
    }
    return r;
}

static double trig(double x, uint64_t quarter) {
    if (x != x || is_infinite(x))
        return nan64();
    if (x <= -0x1p21 || x >= 0x1p21) {
        uint64_t n;
        pair r = far_reduced(x, &n);
        return trig_sum(r, n + quarter);
    }
    double n = (x * 0x1.45f306dc9c883p-1 + 0x1.8p52) - 0x1.8p52;
    pair a = sum(x - n * 0x1.921fb54400000p+0, -(n * 0x1.0b4611a000000p-34));
    pair b = sum(a.high, -(n * 0x1.898cc51600000p-64));
    pair r = ordered(b.high, (a.low + b.low) - n * 0x1.01b839a25204ap-96);
    return trig_sum(r, (uint64_t)(int64_t)n + quarter);
}

double ref_sin64(double x) { return x == 0 ? x : trig(x, 0); }
double ref_cos64(double x) { return trig(x, 1); }

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

// x s 2^n, where s 2^n is the sigmoid or the distribution at x
static double gated(double x, pair s, int64_t n) {
    if (x > 40.0 || x == 0)
        return x;
    int tiny = absolute(x) < 0x1p-500;
    double z = clamp(x, -800.0, 800.0);
    if (tiny)
        z = z * 0x1p400;
    pair p = product(z, s.high);
    return scaled(p.high + (p.low + z * s.low), tiny ? n - 400 : n);
}

double ref_silu64(double x) {
    if (x != x)
        return nan64();
    int64_t n;
    pair s = sigmoid((pair){clamp(x, -800.0, 800.0), 0.0}, &n);
    return gated(x, s, n);
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

// ---- softplus, log_sigmoid

double ref_softplus64(double x) {
    if (x != x || x > 64.0)
        return ref_canon64(x);
    decay g = decayed((pair){clamp(x, -800.0, 800.0), 0.0});
    if (x < -64.0)
        return scaled(g.h.high + g.h.low, g.n);
    double a = 0.0, a_low = 0.0;
    pair f = g.e;
    if (g.e.high > 0.41) { // 1 + e = 2 (1 + f)
        f = ordered(-0.5, 0.5 * g.e.high);
        f.low = f.low + 0.5 * g.e.low;
        a = 0x1.62e42fefa3800p-1;
        a_low = 0x1.ef35793c76730p-45;
    }
    pair h = log_fraction(f.high, f.low), u = ordered(a, h.high);
    pair v = sum(x > 0 ? x : 0.0, u.high);
    return v.high + (v.low + (u.low + (h.low + a_low)));
}

double ref_log_sigmoid64(double x) { return ref_canon64(-ref_softplus64(-x)); }

// ---- gelu_tanh

// v = 2 sqrt(2/pi) (x + 0.044715 x^3), w = x v'
static pair gelu_argument(double x, pair *w) {
    const pair one = {0x1.9884533d43651p+0, -0x1.cbc0d30ebfd15p-54};
    const pair cube[] = {{0x1.2444f2a4d8b4bp-4, -0x1.6c843a29d1c70p-61}, {0x1.b6676bf7450f0p-3, 0x1.bba7351828aabp-57}};
    pair z = product(x, x), result[2];
    for (int i = 0; i < 2; i++) {
        pair g = product(z.high, cube[i].high);
        pair a = sum(one.high, g.high);
        a.low = a.low + ((g.low + z.low * cube[i].high) + (z.high * cube[i].low + one.low));
        result[i] = product(x, a.high);
        result[i].low = result[i].low + x * a.low;
    }
    *w = result[1];
    return result[0];
}

double ref_gelu_tanh64(double x) {
    if (x != x)
        return nan64();
    int64_t n;
    pair w, v = gelu_argument(clamp(x, -21.9, 21.9), &w);
    pair s = sigmoid(v, &n);
    return gated(x, s, n);
}

double ref_gelu_tanh_grad64(double x) {
    static const double zero[] = {-0x1.81429f9e97e4dp-1, 0x1.4f523ed77dbdcp-55, -0x1.a649fca8ac0e5p-109};
    static const double c[] = {
        0x1.8cd1a2b2fff33p-2, -0x1.029615edb089ep-6, -0x1.d2b7734647096p-4, -0x1.104a83ecccd7bp-6,
        0x1.427996dbdffc2p-6, 0x1.58c9dfb6e811dp-8, -0x1.3d8d5c5e4c5ccp-9, -0x1.e5acb288cca23p-11,
        0x1.146d2575f51c3p-12};
    if (x != x)
        return nan64();
    double z = clamp(x, -21.9, 21.9), t = sum(z - zero[0], -zero[1]).high;
    if (t * t < 0x1p-8)
        return beside_zero(z, zero, (pair){0x1.b8bacd2c96b91p-2, 0x1.7625a206be83dp-56}, 9, c);
    pair w, v = gelu_argument(z, &w);
    return gated_slope(v, w);
}

// ---- the tail of the normal distribution

static pair horner_step(pair y, pair t, double c, double c_low) { // c + t y
    pair p = product(t.high, y.high), s = sum(c, p.high);
    return (pair){s.high, (s.low + c_low) + (p.low + (t.high * y.low + t.low * y.high))};
}

// e^(a^2/2) Phi(-a) = Q(t) / (a + 7/2), t = (a - 7/2) / (a + 7/2)
static pair normal_tail(pair a) {
    static const double c[] = {
        0x1.7d241a953a614p-1, -0x1.2191517fa27b8p-1, 0x1.42fec3680acbep-2, -0x1.db5837f7f54b7p-4,
        0x1.1d35bdee1234ap-6, 0x1.a86cec765b088p-8, -0x1.a200796706b20p-9, -0x1.d2a140fdf6d3ep-12,
        0x1.f3cfa9810bdf0p-12, 0x1.19285f04bd363p-14, -0x1.3d06448311101p-14, -0x1.3b394e7e00706p-16,
        0x1.82137c1873cc6p-17, 0x1.7b435e4dcf166p-18, -0x1.3828efae19d99p-20, -0x1.8ca6d8a25be15p-20,
        -0x1.3d2703574bbf3p-23, 0x1.385bddf50b3edp-22, 0x1.1707ab0f7a8e0p-23, -0x1.a95db22f12d1bp-26,
        -0x1.61f2933534327p-25, -0x1.379b28d42325fp-27, 0x1.d4fd42b0d9ba6p-28, 0x1.2dae2918c306fp-28,
        -0x1.2833c66eccbe9p-37, -0x1.826dcd6f59d32p-31, -0x1.8045784e591ffp-33};
    static const double c_low[] = {
        -0x1.e5b145659428cp-59, -0x1.0a0d97e827b18p-55, -0x1.f19a8161f44c6p-58, 0x1.1daed5ab34a81p-60};
    pair n = sum(a.high, -3.5), d = sum(a.high, 3.5);
    n.low = n.low + a.low;
    d.low = d.low + a.low;
    pair t = quotient(n, d);
    pair y = {polynomial(t.high, 22, c + 5), 0.0};
    for (int i = 4; i >= 0; i--) // the last five steps in two words
        y = horner_step(y, t, c[i], i < 4 ? c_low[i] : 0.0);
    return quotient(y, d);
}

// e^-z tail = result 2^n, and 1 less that
static pair tail_of(pair z, pair tail, int64_t *n, pair *rest) {
    pair r = reduced(-z.high, -z.low, n);
    pair e = exp_sum(1.0, r), h = ordered(e.high, e.low), p = product(h.high, tail.high);
    p.low = p.low + (h.high * tail.low + h.low * tail.high);
    double unit = z.high > 64.0 ? 0.0 : power(*n);
    *rest = sum(1.0, -(p.high * unit));
    rest->low = rest->low - p.low * unit;
    return p;
}

// ---- erf, erfc

static pair erfc_of(double x, int64_t *n, pair *rest) { // of |x|
    double a = clamp(absolute(x), 0.0, 28.0);
    pair b = product(a, 0x1.6a09e667f3bcdp+0);
    b.low = b.low + a * -0x1.bdd3413b26456p-54;
    pair tail = normal_tail(b);
    return tail_of(product(a, a), (pair){2 * tail.high, 2 * tail.low}, n, rest);
}

double ref_erfc64(double x) {
    if (x != x)
        return nan64();
    int64_t n;
    pair rest, p = erfc_of(x, &n, &rest);
    if (!(x < 0))
        return scaled(p.high + p.low, n);
    pair one = ordered(1.0, rest.high);
    return one.high + (one.low + rest.low);
}

double ref_erf64(double x) {
    static const double c[] = {
        -0x1.812746b0379e7p-2, 0x1.ce2f21a042be2p-4, -0x1.b82ce31288b13p-6, 0x1.565bcd0e6738ep-8,
        -0x1.c02db3fdba119p-11, 0x1.f9a325cb67f8fp-14, -0x1.f4d2061b0dba6p-17, 0x1.b9d791f41c41fp-20,
        -0x1.5dd2aa62eb12ep-23, 0x1.cac3adf531b41p-27};
    if (x != x)
        return nan64();
    double a = absolute(x), y;
    if (a < 0.5) {
        double up = a < 0x1p-900 ? 0x1p200 : 1.0, back = a < 0x1p-900 ? 0x1p-200 : 1.0;
        double b = a * up;
        pair z = product(a, a), q = {POLYNOMIAL(z.high, c), 0.0};
        q = horner_step(q, z, 0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56);
        pair p = product(b, q.high);
        y = (p.high + (p.low + b * q.low)) * back;
    } else {
        int64_t n;
        pair rest;
        erfc_of(a, &n, &rest);
        y = rest.high + rest.low;
    }
    return ref_bits64(x) >> 63 ? -y : y;
}

// ---- gelu

static pair half_square(double a) {
    pair z = product(a, a);
    return (pair){0.5 * z.high, 0.5 * z.low};
}

double ref_gelu64(double x) {
    if (x != x)
        return nan64();
    double a = clamp(absolute(x), 0.0, 39.0);
    int64_t n;
    pair rest, p = tail_of(half_square(a), normal_tail((pair){a, 0.0}), &n, &rest);
    return x < 0 ? gated(x, p, n) : gated(x, rest, 0);
}

double ref_gelu_grad64(double x) {
    static const double zero[] = {-0x1.80ead197f00b4p-1, 0x1.13e74c58cada8p-56, 0x1.65d4b5b9cdd03p-111};
    static const double c[] = {
        0x1.8d9a941de3ac5p-2, -0x1.2a2ef9bb86679p-6, -0x1.d2fa4c17c7e7ep-4, -0x1.e4088243a6791p-7,
        0x1.3e346def2bfaep-6, 0x1.297b93ea5c286p-8, -0x1.258a6b0a955acp-9, -0x1.861b61b8821eap-11,
        0x1.86937c4220e4cp-13};
    if (x != x)
        return nan64();
    double z = clamp(x, -39.0, 39.0), a = absolute(z), t = sum(z - zero[0], -zero[1]).high;
    if (t * t < 0x1p-8)
        return beside_zero(z, zero, (pair){0x1.b9d98fa5a3215p-2, 0x1.f7c1a23190c7cp-56}, 9, c);
    pair tail = normal_tail((pair){a, 0.0}), p = product(a, 0x1.9884533d43651p-2);
    pair b = sum(tail.high, -p.high);
    b.low = b.low + (tail.low - (p.low + a * -0x1.cbc0d30ebfd15p-56));
    int64_t n;
    pair rest;
    p = tail_of(half_square(a), b, &n, &rest);
    return x < 0 ? scaled(p.high + p.low, n) : rest.high + rest.low;
}

// ---- pow

// log x, x > 0 and finite, in two words
static pair log_pair(double x) {
    static const double c[] = {
        0x1.2492492492492p-2, 0x1.c71c71c71c71ap-3, 0x1.745d1745d1f56p-3, 0x1.3b13b13a644d3p-3,
        0x1.11111188649fep-3, 0x1.e1e186cfe33d6p-4, 0x1.af3cc8d731eeep-4, 0x1.83745141fbd60p-4,
        0x1.92e33c844a263p-4};
    double e, f = log_split(x, &e);
    pair s = quotient((pair){f, 0.0}, ordered(2.0, f));
    s = ordered(s.high, s.low);
    pair z = product(s.high, s.high);
    z.low = z.low + (s.high + s.high) * s.low;
    pair y = {POLYNOMIAL(z.high, c), 0.0};
    y = horner_step(y, z, 0x1.999999999999ap-2, -0x1.999999999999ap-56);
    y = horner_step(y, z, 0x1.5555555555555p-1, 0x1.5555555555555p-55);
    pair cube = product(z.high, s.high);
    cube.low = cube.low + (z.high * s.low + z.low * s.high);
    pair r = product(cube.high, y.high);
    r.low = r.low + (cube.high * y.low + cube.low * y.high);
    pair u = ordered(e * 0x1.62e42fefa3800p-1, 2 * s.high), v = ordered(u.high, r.high);
    return ordered(v.high, v.low + (u.low + (2 * s.low + (r.low + e * 0x1.ef35793c76730p-45))));
}

// e^(y log a), 0 <= a
static double power_of(double a, double y) {
    if (a == 0 || is_infinite(a))
        return is_infinite(a) == (y > 0) ? ref_float64(0x7ff0000000000000u) : 0.0;
    double b = clamp(y, -0x1p65, 0x1p65);
    pair l = log_pair(a), p = product(b, l.high);
    p.low = p.low + b * l.low;
    int64_t n;
    pair r;
    if (p.high > 800.0 || p.high < -800.0)
        r = reduced(clamp(p.high, -800.0, 800.0), 0.0, &n);
    else
        r = reduced(p.high, p.low, &n);
    pair e = exp_sum(1.0, r);
    return scaled(e.high + e.low, n);
}

double ref_pow64(double x, double y) {
    if (y == 0 || x == 1.0)
        return 1.0;
    if (x != x || y != y)
        return nan64();
    double b = absolute(y);
    int whole = b >= 0x1p52 || (double)(int64_t)b == b;
    int odd = b < 0x1p53 && whole && (int64_t)b % 2 == 1;
    int negative = ref_bits64(x) >> 63 ? 1 : 0;
    if (negative && !whole && x != 0 && !is_infinite(x))
        return nan64();
    double value = power_of(absolute(x), y);
    return negative && odd ? -value : value;
}

float ref_pow32(float x, float y) { return ref_canon32((float)ref_pow64((double)x, (double)y)); }

// ---- the inverse normal distribution

double ref_normal64(uint64_t u) {
    static const double series[] = {
        0x1.4ffddeaa22dc8p+1, 0x1.71713082d9a2bp+2, 0x1.f55d0d78fa62ap+3, 0x1.78494af2579cep+5,
        0x1.2ba8db1ca2a27p+7, 0x1.f04611c8b91c7p+8, 0x1.a6759718c710cp+10, 0x1.6f5f34c163b2ep+12,
        0x1.3f01b2eb6b6cbp+14, 0x1.5c5e1a95cbb98p+16};
    static const double start[] = {
        0x1.4b598e8c552c9p+2, 0x1.7e3798310025dp+3, 0x1.5f91cb107705ap+3, 0x1.72347be77e8b8p+3,
        0x1.6420b1bfd49fdp+3, 0x1.6f2aea0ea62aap+3, 0x1.6c0c02e0c0b7cp+3, 0x1.7514ed6d15cccp+3,
        0x1.3a09af192449bp+3, 0x1.59aca82aecbecp+2, 0x1.d3ad0198d5f5fp-1};
    int above = u >> 63 ? 1 : 0;
    uint64_t m = (above ? ~u : u) >> 11;
    double p = ((double)m + 0.5) * 0x1p-53, q = 0.5 - p, y;
    if (q < 0.1) {
        double t = q * q, c = POLYNOMIAL(t, series);
        pair n = product(q, 0x1.40d931ff62706p+1);
        y = n.high + (n.low + q * (t * c + -0x1.a6a0d6f814637p-53));
    } else {
        double s = ref_sqrt64(-ref_log64(p)), v = (s - 4.0) / (s + 4.0);
        double a = POLYNOMIAL(v, start);
        pair z = half_square(a), tail = normal_tail((pair){a, 0.0});
        int64_t n;
        pair r = reduced(-z.high, -z.low, &n);
        pair e = exp_sum(1.0, r), h = ordered(e.high, e.low), w = product(h.high, tail.high);
        w.low = w.low + (h.high * tail.low + h.low * tail.high);
        double over = (w.high - p * power(-n)) + w.low;
        double d = over / (h.high * 0x1.9884533d43651p-2);
        y = a + (d + (0.5 * a) * (d * d));
    }
    return above ? y : -y;
}

// ---- by kind

double ref_unary64(sb_unary_kind kind, double x) {
    double y = x;
    switch ((int)kind) {
    case SB_EXP: y = ref_exp64(x); break;
    case SB_LOG: y = ref_log64(x); break;
    case SB_SIN: y = ref_sin64(x); break;
    case SB_COS: y = ref_cos64(x); break;
    case SB_RSQRT: y = ref_rsqrt64(x); break;
    case SB_SIGMOID: y = ref_sigmoid64(x); break;
    case SB_SILU: y = ref_silu64(x); break;
    case SB_SILU_GRAD: y = ref_silu_grad64(x); break;
    case SB_SQRT: y = ref_sqrt64(x); break;
    case SB_NEG: y = -x; break;
    case SB_ABS: y = absolute(x); break;
    case SB_TANH: y = ref_tanh64(x); break;
    case SB_EXPM1: y = ref_expm1_64(x); break;
    case SB_LOG1P: y = ref_log1p_64(x); break;
    case SB_EXP2: y = ref_exp2_64(x); break;
    case SB_LOG2: y = ref_log2_64(x); break;
    case SB_LOG10: y = ref_log10_64(x); break;
    case SB_ERF: y = ref_erf64(x); break;
    case SB_ERFC: y = ref_erfc64(x); break;
    case SB_SOFTPLUS: y = ref_softplus64(x); break;
    case SB_LOG_SIGMOID: y = ref_log_sigmoid64(x); break;
    case SB_GELU: y = ref_gelu64(x); break;
    case SB_GELU_TANH: y = ref_gelu_tanh64(x); break;
    case SB_GELU_GRAD: y = ref_gelu_grad64(x); break;
    case SB_GELU_TANH_GRAD: y = ref_gelu_tanh_grad64(x); break;
    }
    return ref_canon64(y);
}

void ref_unary_f64(sb_unary_kind kind, int64_t n, const void *x, double *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = kind == SB_INVERSE_NORMAL ? ref_normal64(((const uint64_t *)x)[i]) : ref_unary64(kind, ((const double *)x)[i]);
}
