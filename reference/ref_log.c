// SPDX-License-Identifier: Apache-2.0
// The binary64 logarithm of T5: a written sequence (docs/functions.md), every operation rounded to binary64 and in this
// order. Its error is below 0.6 ulp, but what counts is the sequence.
#include "reference.h"

// The first 26 bits of the significand.
static double top(double x) {
    return ref_float64(ref_bits64(x) & 0xfffffffff8000000u);
}

double ref_log64(double x) {
    if (x != x || x < 0)
        return ref_float64(0x7ff8000000000000u);
    if (x == 0)
        return ref_float64(0xfff0000000000000u);
    if (ref_bits64(x) == 0x7ff0000000000000u)
        return x;
    // x = 2^e m, sqrt(1/2) <= m < sqrt(2) as the constant says; subnormals are scaled first.
    int64_t e = 0;
    if (x < 0x1p-1022) {
        x = x * 0x1p54;
        e = -54;
    }
    uint64_t bits = ref_bits64(x);
    e += (int64_t)(bits >> 52) - 1023;
    double m = ref_float64((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
    if (m >= 0x1.6a09e667f3bcdp+0) {
        m = m / 2;
        e = e + 1;
    }
    // s = f/(2 + f) and what its rounding lost, as c: 2 f/(2 + f) = 2 s + c.
    double f = m - 1.0;
    double d = 2.0 + f;
    double d_low = d - 2.0;
    d_low = f - d_low;
    double s = f / d;
    double s_top = top(s), d_top = top(d);
    double s_rest = s - s_top;
    double d_rest = d - d_top;
    d_rest = d_rest + d_low;
    double t = s_top * d_top;
    double r = f - t;
    t = s_top * d_rest;
    r = r - t;
    t = s_rest * d_top;
    r = r - t;
    t = s_rest * d_rest;
    r = r - t;
    t = 1.0 - s;
    double c = r * t;
    // p = s (log((1 + s)/(1 - s)) - 2 s)/s, a polynomial in z = s^2 by Horner's rule, without constant term.
    static const double series[] = {0x1.0c05166ec4148p-3, 0x1.0fbe71ad855c9p-3, 0x1.3b1c36b445cebp-3,
                                    0x1.745cf8fe328f9p-3, 0x1.c71c720168526p-3, 0x1.2492492476c42p-2,
                                    0x1.9999999999a38p-2, 0x1.5555555555555p-1};
    double z = s * s;
    double p = series[0];
    for (int i = 1; i < 8; i++) {
        p = p * z;
        p = p + series[i];
    }
    p = p * z;
    p = s * p;
    // log x = e log 2 + 2 s + c + p, the large terms in two words.
    double h = s + s;
    double a = (double)e * 0x1.62e42fefa3800p-1;
    double b = (double)e * 0x1.ef35793c76730p-45;
    double u = a + h;
    double u_low = a - u;
    u_low = u_low + h;
    t = c + u_low;
    t = b + t;
    t = p + t;
    return u + t;
}
