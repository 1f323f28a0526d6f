// SPDX-License-Identifier: Apache-2.0
// Functions of one binary64 value (contract T4): written sequences, each of which is contract as it stands, operation
// by operation (docs/functions.md; the same again in reference/ref_function64.c).
//
// Method: a value that must be better than its last bit is a pair, high + low; what a product leaves behind is taken
// exactly (LOW64: fma where there is one, else Dekker's splitting: the same bits), what a sum leaves behind by Knuth's or
// Dekker's sums. Polynomials are products and sums, never fused, so that levels without fma run the same text at
// speed. Coefficients: tools/functions64.py. Everything is free of branches but sin and cos of large arguments.
#ifndef SBI_FUNCTION64_H
#define SBI_FUNCTION64_H

#include "function.h"

#define SBI_NAN64 FLOAT64(0x7ff8000000000000u)

typedef struct sbi_pair { f64 high, low; } sbi_pair; // a number of about 106 bits, high + low

FN sbi_pair sbi_pair_of(f64 high, f64 low) {
    sbi_pair y;
    y.high = high;
    y.low = low;
    return y;
}
FN sbi_pair sbi_sum_ordered(f64 a, f64 b) { // a + b exactly, |a| >= |b| or a = 0
    f64 s = a + b;
    return sbi_pair_of(s, (a - s) + b);
}
FN sbi_pair sbi_sum_exact(f64 a, f64 b) { // a + b exactly
    f64 s = a + b, t = s - a;
    return sbi_pair_of(s, (a - (s - t)) + (b - t));
}
FN sbi_pair sbi_product_exact(f64 a, f64 b) { // a b exactly
    f64 p = a * b;
    return sbi_pair_of(p, LOW64(a, b, p));
}
FN sbi_pair sbi_quotient(sbi_pair a, sbi_pair b) { // a / b
    f64 r = K(1.0) / b.high;
    f64 q = a.high * r;
    f64 p = q * b.high;
    f64 rest = ((a.high - p) - LOW64(q, b.high, p)) + (a.low - q * b.low);
    return sbi_pair_of(q, rest * r);
}

// y 2^(m - 2046), 0 <= m < 4094, rounded once.
FN f64 sbi_times_power(f64 y, u64 m) {
    u64 half = m >> 1;
    return (y * FLOAT64(half << 52)) * FLOAT64((m - half) << 52);
}

// ---------------------------------------------------------------- exp

// x = n log 2 + r + r_low; t = n + 0x1.8p52.
typedef struct sbi_reduced { f64 t, r, r_low; } sbi_reduced;

FN sbi_reduced sbi_exp_reduce(f64 x, f64 x_low) { // |x| < 1400
    sbi_reduced y;
    y.t = x * K(0x1.71547652b82fep+0) + SBI_ROUNDER;
    f64 n = y.t - SBI_ROUNDER;
    f64 a = x - n * K(0x1.62e42fefa3800p-1);
    f64 b = n * K(0x1.ef35793c76730p-45) - x_low;
    y.r = a - b;
    y.r_low = (a - y.r) - b;
    return y;
}

// one + (e^(r + r_low) - 1), not normalised.
FN sbi_pair sbi_exp_sum(f64 one, f64 r, f64 r_low) {
    f64 z = r * r;
    f64 h = K(0.5) * z;
    f64 h_low = K(0.5) * LOW64(r, r, z);
    f64 q = K(0x1.1f66df7fca49fp-29);
    q = q * r + K(0x1.af38a9b0ec855p-26);
    q = q * r + K(0x1.27e4e1f48534fp-22);
    q = q * r + K(0x1.71de0dae63bb3p-19);
    q = q * r + K(0x1.a01a01a47b054p-16);
    q = q * r + K(0x1.a01a01a7c41d5p-13);
    q = q * r + K(0x1.6c16c16c167e1p-10);
    q = q * r + K(0x1.11111111109b3p-7);
    q = q * r + K(0x1.5555555555555p-5);
    q = q * r + K(0x1.5555555555556p-3);
    sbi_pair s = sbi_sum_ordered(one, r), u = sbi_sum_ordered(s.high, h);
    return sbi_pair_of(u.high, (s.low + u.low) + ((r * z) * q + (h_low + (r_low + r_low * r))));
}

#define SBI_POWER(t) (BITS64(t) - (0x4338000000000000u - 2046u)) // n + 2046, for sbi_times_power

FN f64 sbi_exp_f64(f64 x) {
    f64 z = x > K(710.0) ? K(710.0) : x;
    z = z < K(-746.0) ? K(-746.0) : z;
    sbi_reduced g = sbi_exp_reduce(z, K(0.0));
    sbi_pair e = sbi_exp_sum(K(1.0), g.r, g.r_low);
    f64 y = sbi_times_power(e.high + e.low, SBI_POWER(g.t));
    return x == x ? y : SBI_NAN64;
}

// ---------------------------------------------------------------- tanh

// With m = 2^-n (e^(2|x|) - 1): m / (m + 2 2^-n).
FN f64 sbi_tanh_f64(f64 x) {
    u64 sign = BITS64(x) & 0x8000000000000000u;
    f64 a = FLOAT64(BITS64(x) ^ sign);
    a = a > K(20.0) ? K(20.0) : a;
    sbi_reduced g = sbi_exp_reduce(a + a, K(0.0));
    f64 p = FLOAT64(0x3ff0000000000000u - (BITS64(g.t) << 52)); // 2^-n
    sbi_pair e = sbi_exp_sum(K(1.0) - p, g.r, g.r_low);
    sbi_pair m = sbi_sum_ordered(e.high, e.low);
    sbi_pair d = sbi_sum_exact(m.high, p + p);
    sbi_pair q = sbi_quotient(m, sbi_pair_of(d.high, d.low + m.low));
    f64 y = q.high + q.low;
    return x == x ? FLOAT64(BITS64(y) | sign) : SBI_NAN64;
}

// ---------------------------------------------------------------- sigmoid

// e = e^-|x + x_low| = (h + h_low) 2^(m - 2046); d = 1 + e; and e scaled, +0 where |x| > 64 (nothing beside 1).
typedef struct sbi_decayed { sbi_pair h, e, d; u64 m; } sbi_decayed;

FN sbi_decayed sbi_decay_f64(f64 x, f64 x_low) { // |x| <= 800
    u64 flip = ~BITS64(x) & 0x8000000000000000u;
    f64 a = FLOAT64(BITS64(x) ^ flip);
    sbi_reduced g = sbi_exp_reduce(a, FLOAT64(BITS64(x_low) ^ flip));
    sbi_pair s = sbi_exp_sum(K(1.0), g.r, g.r_low);
    f64 p = FLOAT64(0x3ff0000000000000u + (BITS64(g.t) << 52));
    p = a < K(-64.0) ? K(0.0) : p;
    sbi_decayed y;
    y.h = sbi_sum_ordered(s.high, s.low);
    y.e = sbi_pair_of(y.h.high * p, y.h.low * p);
    sbi_pair d = sbi_sum_ordered(K(1.0), y.e.high);
    y.d = sbi_pair_of(d.high, d.low + y.e.low);
    y.m = SBI_POWER(g.t);
    return y;
}

// 1 / (1 + e^-(x + x_low)) = (s.high + s.low) 2^(m - 2046), |x| <= 800.
typedef struct sbi_scaled { sbi_pair s; u64 m; } sbi_scaled;

FN sbi_scaled sbi_sigmoid_pair(f64 x, f64 x_low) {
    sbi_decayed v = sbi_decay_f64(x, x_low);
    u64 below = x < K(0.0) ? (u64)1 : (u64)0;
    f64 top = below ? v.h.high : K(1.0), top_low = below ? v.h.low : K(0.0);
    sbi_scaled y;
    y.s = sbi_quotient(sbi_pair_of(top, top_low), v.d);
    y.m = below ? v.m : (u64)2046;
    return y;
}

FN f64 sbi_within_800(f64 x) {
    f64 z = x > K(800.0) ? K(800.0) : x;
    return z < K(-800.0) ? K(-800.0) : z;
}

FN f64 sbi_sigmoid_f64(f64 x) {
    sbi_scaled v = sbi_sigmoid_pair(sbi_within_800(x), K(0.0));
    f64 y = sbi_times_power(v.s.high + v.s.low, v.m);
    return x == x ? y : SBI_NAN64;
}

// ---------------------------------------------------------------- silu

// x sigmoid(v), where v has the sign of x: a tiny x is scaled, a large one is the value itself, below -800 the limit.
FN f64 sbi_gated(f64 x, f64 v, f64 v_low) {
    f64 size = FLOAT64(BITS64(x) & 0x7fffffffffffffffu);
    u64 tiny = size < K(0x1p-500) ? (u64)400 : (u64)0;
    f64 z = (size > K(800.0) ? FLOAT64((BITS64(x) & 0x8000000000000000u) | 0x4089000000000000u) : x) * FLOAT64((tiny + 1023u) << 52);
    sbi_scaled g = sbi_sigmoid_pair(v, v_low);
    sbi_pair p = sbi_product_exact(z, g.s.high);
    f64 y = sbi_times_power(p.high + (p.low + z * g.s.low), g.m - tiny);
    y = x > K(40.0) ? x : y;
    return x == x ? y : SBI_NAN64;
}

FN f64 sbi_silu_f64(f64 x) { return sbi_gated(x, sbi_within_800(x), K(0.0)); }

// ---------------------------------------------------------------- silu_grad

// s (1 + w (1 - s)), s = sigmoid(v), where w and v have one sign; |v|, |w.high| <= 800 unless v > 64, where w is not felt:
// with e = e^-|v|, (1 + e + w e) / (1 + e)^2 from 0 on, e (1 + e + w) / (1 + e)^2 below.
FN f64 sbi_gated_slope(f64 v, f64 v_low, sbi_pair w) {
    sbi_decayed g = sbi_decay_f64(v, v_low);
    u64 below = v < K(0.0) ? (u64)1 : (u64)0;
    sbi_pair we = sbi_product_exact(w.high, g.e.high);
    we.low = we.low + (w.high * g.e.low + w.low * g.e.high);
    f64 m = below ? w.high : we.high, m_low = below ? w.low : we.low;
    sbi_pair a = sbi_sum_exact(g.d.high, m);
    f64 a_low = a.low + (g.d.low + m_low);
    f64 h = below ? g.h.high : K(1.0), h_low = below ? g.h.low : K(0.0);
    sbi_pair top = sbi_product_exact(a.high, h);
    top.low = top.low + (a.high * h_low + a_low * h);
    sbi_pair d = sbi_product_exact(g.d.high, g.d.high);
    d.low = d.low + (g.d.high + g.d.high) * g.d.low;
    sbi_pair q = sbi_quotient(top, d);
    return sbi_times_power(q.high + q.low, below ? g.m : (u64)2046);
}

// Beside its zero z0 = -1.27846...: (x - z0) g(x - z0), the zero in three words.
FN f64 sbi_silu_grad_f64(f64 x) {
    f64 z = sbi_within_800(x);
    f64 y = sbi_gated_slope(z, K(0.0), sbi_pair_of(z, K(0.0)));
    sbi_pair d = sbi_sum_exact(z - K(-0x1.474973c84120bp+0), K(0x1.f8d74bc9ac154p-54));
    f64 d_low = d.low + K(0x1.44a50180ba780p-108);
    f64 t = d.high;
    f64 q = K(-0x1.f28009dc16b7cp-16);
    q = q * t + K(-0x1.575affc6c30f7p-15);
    q = q * t + K(0x1.8574c8e99cfa0p-13);
    q = q * t + K(0x1.a2a7cd89ea64cp-11);
    q = q * t + K(0x1.098e92bb3ecbdp-13);
    q = q * t + K(-0x1.b0f82c49a6e89p-8);
    q = q * t + K(-0x1.f2d0e32bc299fp-7);
    q = q * t + K(0x1.353eb573ca45ep-6);
    q = q * t + K(0x1.2c563458cc0adp-3);
    sbi_pair p = sbi_product_exact(t, K(0x1.be1410460527fp-3));
    f64 near = p.high + ((t * t) * q + (p.low + (t * K(-0x1.2541062177473p-58) + d_low * K(0x1.be1410460527fp-3))));
    y = t * t < K(0x1p-8) ? near : y;
    return x == x ? y : SBI_NAN64;
}
#endif
