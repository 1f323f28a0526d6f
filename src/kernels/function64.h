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
    u64 first = m >> 1;
    return (y * FLOAT64(first << 52)) * FLOAT64((m - first) << 52);
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

// 2^x: the integer part is exact, the rest times log 2 a pair.
FN f64 sbi_exp2_f64(f64 x) {
    f64 z = x > K(1100.0) ? K(1100.0) : x;
    z = z < K(-1100.0) ? K(-1100.0) : z;
    f64 t = z + SBI_ROUNDER;
    f64 d = z - (t - SBI_ROUNDER);
    sbi_pair r = sbi_product_exact(d, K(0x1.62e42fefa39efp-1));
    sbi_pair e = sbi_exp_sum(K(1.0), r.high, r.low + d * K(0x1.abc9e3b39803fp-56));
    f64 y = sbi_times_power(e.high + e.low, SBI_POWER(t));
    return x == x ? y : SBI_NAN64;
}

// e^x - 1 = 2^n ((1 - 2^-n) + (e^r - 1)).
FN f64 sbi_expm1_f64(f64 x) {
    f64 z = x > K(710.0) ? K(710.0) : x;
    z = z < K(-40.0) ? K(-40.0) : z; // -1 from here on
    sbi_reduced g = sbi_exp_reduce(z, K(0.0));
    f64 p = FLOAT64(0x3ff0000000000000u - (BITS64(g.t) << 52)); // 2^-n
    p = z > K(60.0) ? K(0.0) : p;
    sbi_pair one = sbi_sum_exact(K(1.0), K(0.0) - p), e = sbi_exp_sum(one.high, g.r, g.r_low);
    f64 y = sbi_times_power(e.high + (e.low + one.low), SBI_POWER(g.t));
    y = x == K(0.0) ? x : y;
    return x == x ? y : SBI_NAN64;
}

// ---------------------------------------------------------------- log

// w = 2^e (1 + f), as in sbi_log_core; t >> 52 = e + the bias.
#define SBI_LOG_BITS(w) (BITS64(w) + 0x00095f619980c433u)
#define SBI_LOG_F(t) (FLOAT64(((t) & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - K(1.0))

// log(1 + f + f_low), f in [sqrt(1/2) - 1, sqrt(2) - 1); high is 2 s, low what is missing.
FN sbi_pair sbi_log_fraction(f64 f, f64 f_low) {
    f64 d = K(2.0) + f;
    f64 d_low = f - (d - K(2.0));
    f64 s = f / d;
    f64 p = s * d;
    f64 rest = (((f - p) - LOW64(s, d, p)) - s * d_low) + (f_low - s * f_low);
    return sbi_pair_of(s + s, rest * (K(1.0) - s) + s * sbi_log_series(s * s));
}

// e and f of a positive number, subnormals scaled first.
FN sbi_pair sbi_log_parts(f64 x) {
    u64 small = x < K(0x1p-1022) ? (u64)1 : (u64)0;
    u64 t = SBI_LOG_BITS(small ? x * K(0x1p+54) : x);
    f64 e = FLOAT64((t >> 52) | 0x4330000000000000u) - (small ? K(0x1.0000000000435p+52) : K(0x1.00000000003ffp+52));
    return sbi_pair_of(e, SBI_LOG_F(t));
}

// y where x > 0 is finite, else the limit.
FN f64 sbi_log_limits(f64 x, f64 y) {
    y = x < FLOAT64(0x7ff0000000000000u) ? y : x;
    y = x == K(0.0) ? FLOAT64(0xfff0000000000000u) : y;
    return x >= K(0.0) ? y : SBI_NAN64;
}

FN f64 sbi_log2_f64(f64 x) {
    sbi_pair w = sbi_log_parts(x), h = sbi_log_fraction(w.low, K(0.0));
    sbi_pair g = sbi_product_exact(h.high, K(0x1.71547652b82fep+0));
    sbi_pair u = sbi_sum_ordered(w.high, g.high);
    f64 rest = g.low + (h.high * K(0x1.777d0ffda0d24p-56) + h.low * K(0x1.71547652b82fep+0));
    return sbi_log_limits(x, u.high + (u.low + rest));
}

FN f64 sbi_log10_f64(f64 x) {
    sbi_pair w = sbi_log_parts(x), h = sbi_log_fraction(w.low, K(0.0));
    sbi_pair g = sbi_product_exact(h.high, K(0x1.bcb7b1526e50ep-2));
    sbi_pair u = sbi_sum_ordered(w.high * K(0x1.34413509f7800p-2), g.high);
    f64 rest = g.low + (h.high * K(0x1.95355baaafad3p-57) + h.low * K(0x1.bcb7b1526e50ep-2));
    return sbi_log_limits(x, u.high + (w.high * K(0x1.fef311f12b358p-46) + (u.low + rest)));
}

// Beside 0 the argument itself is f; elsewhere 1 + x in two words.
FN f64 sbi_log1p_f64(f64 x) {
    sbi_pair w = sbi_sum_exact(K(1.0), x);
    u64 t = SBI_LOG_BITS(w.high);
    f64 e = FLOAT64((t >> 52) | 0x4330000000000000u) - K(0x1.00000000003ffp+52);
    f64 f_low = w.low * FLOAT64(0x7fe0000000000000u - (t & 0xfff0000000000000u)); // w.low 2^-e
    f_low = x > K(0x1p+60) ? K(0.0) : f_low;
    u64 near = x > K(-0.29) && x < K(0.41) ? (u64)1 : (u64)0;
    e = near ? K(0.0) : e;
    sbi_pair h = sbi_log_fraction(near ? x : SBI_LOG_F(t), near ? K(0.0) : f_low);
    sbi_pair u = sbi_sum_ordered(e * K(0x1.62e42fefa3800p-1), h.high);
    f64 y = u.high + (e * K(0x1.ef35793c76730p-45) + (u.low + h.low));
    y = x < FLOAT64(0x7ff0000000000000u) ? y : x;
    y = x == K(0.0) ? x : y;
    y = x == K(-1.0) ? FLOAT64(0xfff0000000000000u) : y;
    return x >= K(-1.0) ? y : SBI_NAN64;
}

// ---------------------------------------------------------------- rsqrt

// r = 1/s, s = sqrt(x), mended by what both roundings left: 1 - r s, and x - s^2 = d (d / 2x of it).
FN f64 sbi_rsqrt_f64(f64 x) {
    u64 small = x < K(0x1p-800) ? (u64)1 : (u64)0, large = x > K(0x1p+800) ? (u64)1 : (u64)0;
    f64 z = x * (small ? K(0x1p+300) : large ? K(0x1p-300) : K(1.0));
    f64 s = SQRT64(z);
    f64 r = K(1.0) / s;
    f64 p = r * s, q = s * s;
    f64 first = (K(1.0) - p) - LOW64(r, s, p);
    f64 second = ((z - q) - LOW64(s, s, q)) * (K(0.5) * (r * r));
    f64 y = (r + r * (first - second)) * (small ? K(0x1p+150) : large ? K(0x1p-150) : K(1.0));
    y = x < FLOAT64(0x7ff0000000000000u) ? y : K(0.0);
    y = x == K(0.0) ? FLOAT64(BITS64(x) | 0x7ff0000000000000u) : y;
    return x >= K(0.0) ? y : SBI_NAN64;
}

// ---------------------------------------------------------------- sin, cos

// sin(r + r_low + n pi/2), |r| < 0.786, by the low two bits of n: r - r^3/6 and 1 - r^2/2 are taken in two words.
FN f64 sbi_trig_sum(f64 r, f64 r_low, u64 n) {
    f64 z = r * r;
    f64 z_low = LOW64(r, r, z);
    f64 v = r * z;
    f64 v_low = LOW64(r, z, v) + r * z_low;
    f64 g = v * K(-0x1.5555555555555p-3);
    f64 g_low = LOW64(v, K(-0x1.5555555555555p-3), g) + v_low * K(-0x1.5555555555555p-3);
    f64 h = K(0.5) * z;
    f64 h_low = K(0.5) * z_low + r * r_low;
    f64 p = K(-0x1.ab9398c0b7a1fp-41);
    p = p * z + K(0x1.61225ab204a14p-33);
    p = p * z + K(-0x1.ae645533a0097p-26);
    p = p * z + K(0x1.71de3a550c83cp-19);
    p = p * z + K(-0x1.a01a01a019ed5p-13);
    p = p * z + K(0x1.1111111111111p-7);
    p = p * z + K(-0x1.5555555555555p-57);
    f64 q = K(-0x1.907d3b5c05656p-37);
    q = q * z + K(0x1.1eeb6858c7e58p-29);
    q = q * z + K(-0x1.27e4fa174f62cp-22);
    q = q * z + K(0x1.a01a019f4e451p-16);
    q = q * z + K(-0x1.6c16c16c16965p-10);
    q = q * z + K(0x1.5555555555555p-5);
    sbi_pair sine = sbi_sum_ordered(r, g), cosine = sbi_sum_ordered(K(1.0), K(0.0) - h);
    f64 a = sine.high + (sine.low + (g_low + (v * p + r_low * (K(1.0) - h))));
    f64 b = cosine.high + (cosine.low + ((z * z) * q - h_low));
    u64 odd = (u64)0 - (n & 1u);
    return FLOAT64(((BITS64(b) & odd) | (BITS64(a) & ~odd)) ^ ((n & 2u) << 62));
}

// sin(x + quarter pi/2), |x| < 2^21: pi/2 in four parts, of which n times three are exact.
FN f64 sbi_turn_near(f64 x, u64 quarter) {
    f64 t = x * K(0x1.45f306dc9c883p-1) + SBI_ROUNDER;
    f64 n = t - SBI_ROUNDER;
    sbi_pair a = sbi_sum_exact(x - n * K(0x1.921fb54400000p+0), K(0.0) - n * K(0x1.0b4611a000000p-34));
    sbi_pair b = sbi_sum_exact(a.high, K(0.0) - n * K(0x1.898cc51600000p-64));
    sbi_pair r = sbi_sum_ordered(b.high, (a.low + b.low) - n * K(0x1.01b839a25204ap-96));
    return sbi_trig_sum(r.high, r.low, BITS64(t) + quarter);
}

// 2^64 / (2 pi) and so on: 2/pi in base 2^64 after a word of zeros.
TABLE u64 sbi_two_over_pi_words[20] = {
    0x0000000000000000u, 0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u, 0xfe5163abdebbc561u,
    0xb7246e3a424dd2e0u, 0x06492eea09d1921cu, 0xfe1deb1cb129a73eu, 0xe88235f52ebb4484u, 0xe99c7026b45f7e41u,
    0x3991d639835339f4u, 0x9c845f8bbdf9283bu, 0x1ff897ffde05980fu, 0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u,
    0x4f463f669e5fea2du, 0x7527bac7ebe5f17bu, 0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b6babu,
};
FN u64 sbi_two_over_pi_at(u32 bit) { // 64 bits from this place on
    u32 i = bit >> 6, s = bit & 63u;
    return (sbi_two_over_pi_words[i] << s) | ((sbi_two_over_pi_words[i + 1u] >> 1) >> (63u - s));
}

// The same from 2^21 on: |x| = m 2^k times 2/pi modulo 4 in 192 bits (Payne and Hanek). NaN at infinity.
FN f64 sbi_turn_far(f64 x, u64 quarter) {
    u64 bits = BITS64(x) & 0x7fffffffffffffffu;
    u64 m = (bits & 0x000fffffffffffffu) | 0x0010000000000000u;
    u32 skip = (u32)(bits >> 52) - 1013u; // bits of the words that give multiples of 4: 64 + k - 2
    u64 a = sbi_two_over_pi_at(skip), b = sbi_two_over_pi_at(skip + 64u), c = sbi_two_over_pi_at(skip + 128u);
    u64 p0 = m * c;
    u64 p1 = m * b + MULHI64(m, c);
    u64 p2 = m * a + MULHI64(m, b) + (p1 < m * b ? (u64)1 : (u64)0);
    u64 n = (p2 + 0x2000000000000000u) >> 62; // p2, p1, p0 in units of 2^-62, 2^-126, 2^-190 quarters
    p2 = p2 - (n << 62);
    u64 flip = (u64)0 - (p2 >> 63); // -1: the rest is negative; its complement is its size (but for 2^-190)
    p2 = p2 ^ flip;
    p1 = p1 ^ flip;
    p0 = p0 ^ flip;
    sbi_pair v = sbi_sum_ordered((f64)(i64)(p2 >> 32) * K(0x1p-30), (f64)(i64)(p2 & 0xffffffffu) * K(0x1p-62));
    sbi_pair w = sbi_sum_ordered((f64)(i64)(p1 >> 32) * K(0x1p-94), (f64)(i64)(p1 & 0xffffffffu) * K(0x1p-126));
    sbi_pair u = sbi_sum_ordered(v.high, w.high);
    sbi_pair y = sbi_sum_ordered(u.high, (u.low + v.low) + (w.low + (f64)(i64)(p0 >> 32) * K(0x1p-158)));
    sbi_pair d = sbi_product_exact(y.high, K(0x1.921fb54442d18p+0));
    sbi_pair r = sbi_sum_ordered(d.high, d.low + (y.high * K(0x1.1a62633145c07p-54) + y.low * K(0x1.921fb54442d18p+0)));
    u64 negative = BITS64(x) >> 63;
    u64 sign = (flip ^ ((u64)0 - negative)) & 0x8000000000000000u;
    n = negative ? (u64)4 - n : n;
    f64 value = sbi_trig_sum(FLOAT64(BITS64(r.high) ^ sign), FLOAT64(BITS64(r.low) ^ sign), n + quarter);
    return bits < 0x7ff0000000000000u ? value : SBI_NAN64;
}

#define SBI_TURN_FAR K(0x1p+21) // |x| from here on (and NaN) takes sbi_turn_far
FN u32 sbi_turn_is_far(f64 x) { return x > K(-0x1p+21) && x < SBI_TURN_FAR ? 0u : 1u; }

FN f64 sbi_sin_near_f64(f64 x) {
    f64 y = sbi_turn_near(x, 0u);
    return x == K(0.0) ? x : y;
}
FN f64 sbi_sin_far_f64(f64 x) { return sbi_turn_far(x, 0u); }
FN f64 sbi_sin_f64(f64 x) { return sbi_turn_is_far(x) ? sbi_sin_far_f64(x) : sbi_sin_near_f64(x); }
FN f64 sbi_cos_near_f64(f64 x) { return sbi_turn_near(x, 1u); }
FN f64 sbi_cos_far_f64(f64 x) { return sbi_turn_far(x, 1u); }
FN f64 sbi_cos_f64(f64 x) { return sbi_turn_is_far(x) ? sbi_cos_far_f64(x) : sbi_cos_near_f64(x); }

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

// x g, g the sigmoid or the distribution at x: a tiny x is scaled, beyond 40 it is the value itself, below -800 the limit.
FN f64 sbi_gated(f64 x, sbi_scaled g) {
    f64 size = FLOAT64(BITS64(x) & 0x7fffffffffffffffu);
    u64 tiny = size < K(0x1p-500) ? (u64)400 : (u64)0;
    f64 z = sbi_within_800(x) * FLOAT64((tiny + 1023u) << 52);
    sbi_pair p = sbi_product_exact(z, g.s.high);
    f64 y = sbi_times_power(p.high + (p.low + z * g.s.low), g.m - tiny);
    y = x > K(40.0) || x == K(0.0) ? x : y;
    return x == x ? y : SBI_NAN64;
}

FN f64 sbi_silu_f64(f64 x) { return sbi_gated(x, sbi_sigmoid_pair(sbi_within_800(x), K(0.0))); }

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

// Beside a zero z = a + b + c of a slope it is d (slope + d q), d = x - z.
FN sbi_pair sbi_from_zero(f64 x, f64 a, f64 b, f64 c) {
    sbi_pair d = sbi_sum_exact(x - a, K(0.0) - b);
    return sbi_pair_of(d.high, d.low - c);
}
FN f64 sbi_zero_series(sbi_pair d, f64 q, f64 slope, f64 slope_low) {
    sbi_pair p = sbi_product_exact(d.high, slope);
    return p.high + ((d.high * d.high) * q + (p.low + (d.high * slope_low + d.low * slope)));
}

FN f64 sbi_silu_grad_f64(f64 x) {
    f64 z = sbi_within_800(x);
    f64 y = sbi_gated_slope(z, K(0.0), sbi_pair_of(z, K(0.0)));
    sbi_pair d = sbi_from_zero(z, K(-0x1.474973c84120bp+0), K(-0x1.f8d74bc9ac154p-54), K(-0x1.44a50180ba780p-108));
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
    f64 near = sbi_zero_series(d, q, K(0x1.be1410460527fp-3), K(-0x1.2541062177473p-58));
    y = t * t < K(0x1p-8) ? near : y;
    return x == x ? y : SBI_NAN64;
}

// ---------------------------------------------------------------- softplus, log_sigmoid

// log(1 + e^x) = max(x, 0) + log(1 + e), e = e^-|x|; beyond 64 one of the two alone.
FN f64 sbi_softplus_value(f64 x) {
    f64 z = sbi_within_800(x);
    sbi_decayed g = sbi_decay_f64(z, K(0.0));
    u64 halve = g.e.high > K(0.41) ? (u64)1 : (u64)0; // 1 + e = 2 (1 + f)
    sbi_pair half_way = sbi_sum_ordered(K(-0.5), K(0.5) * g.e.high);
    f64 f = halve ? half_way.high : g.e.high;
    f64 f_low = halve ? half_way.low + K(0.5) * g.e.low : g.e.low;
    sbi_pair h = sbi_log_fraction(f, f_low);
    sbi_pair u = sbi_sum_ordered(halve ? K(0x1.62e42fefa3800p-1) : K(0.0), h.high);
    sbi_pair v = sbi_sum_exact(z > K(0.0) ? z : K(0.0), u.high);
    f64 y = v.high + (v.low + (u.low + (h.low + (halve ? K(0x1.ef35793c76730p-45) : K(0.0)))));
    f64 far = sbi_times_power(g.h.high + g.h.low, g.m);
    y = x < K(-64.0) ? far : y;
    return x > K(64.0) ? x : y;
}

FN f64 sbi_softplus_f64(f64 x) { return sbi_canon_f64(sbi_softplus_value(x)); }

FN f64 sbi_log_sigmoid_f64(f64 x) { // -softplus(-x)
    f64 y = sbi_softplus_value(FLOAT64(BITS64(x) ^ 0x8000000000000000u));
    return sbi_canon_f64(FLOAT64(BITS64(y) ^ 0x8000000000000000u));
}

// ---------------------------------------------------------------- gelu_tanh

// x sigmoid(v), v = 2 sqrt(2/pi) (x + 0.044715 x^3), and w = x v', for x within 21.9, where all has vanished.
typedef struct sbi_gelu_argument { sbi_pair v, w; } sbi_gelu_argument;

FN f64 sbi_within_22(f64 x) {
    f64 z = x > K(21.9) ? K(21.9) : x;
    return z < K(-21.9) ? K(-21.9) : z;
}

FN sbi_gelu_argument sbi_gelu_of(f64 x) {
    sbi_gelu_argument y;
    sbi_pair z = sbi_product_exact(x, x);
    sbi_pair g = sbi_product_exact(z.high, K(0x1.2444f2a4d8b4bp-4));
    sbi_pair k = sbi_product_exact(z.high, K(0x1.b6676bf7450f0p-3));
    sbi_pair a = sbi_sum_exact(K(0x1.9884533d43651p+0), g.high), b = sbi_sum_exact(K(0x1.9884533d43651p+0), k.high);
    f64 a_low = a.low + ((g.low + z.low * K(0x1.2444f2a4d8b4bp-4)) + (z.high * K(-0x1.6c843a29d1c70p-61) + K(-0x1.cbc0d30ebfd15p-54)));
    f64 b_low = b.low + ((k.low + z.low * K(0x1.b6676bf7450f0p-3)) + (z.high * K(0x1.bba7351828aabp-57) + K(-0x1.cbc0d30ebfd15p-54)));
    y.v = sbi_product_exact(x, a.high);
    y.v.low = y.v.low + x * a_low;
    y.w = sbi_product_exact(x, b.high);
    y.w.low = y.w.low + x * b_low;
    return y;
}

FN f64 sbi_gelu_tanh_f64(f64 x) {
    sbi_gelu_argument g = sbi_gelu_of(sbi_within_22(x));
    return sbi_gated(x, sbi_sigmoid_pair(g.v.high, g.v.low));
}

FN f64 sbi_gelu_tanh_grad_f64(f64 x) {
    f64 z = sbi_within_22(x);
    sbi_gelu_argument g = sbi_gelu_of(z);
    f64 y = sbi_gated_slope(g.v.high, g.v.low, g.w);
    sbi_pair d = sbi_from_zero(z, K(-0x1.81429f9e97e4dp-1), K(0x1.4f523ed77dbdcp-55), K(-0x1.a649fca8ac0e5p-109));
    f64 q = K(0x1.146d2575f51c3p-12);
    q = q * d.high + K(-0x1.e5acb288cca23p-11);
    q = q * d.high + K(-0x1.3d8d5c5e4c5ccp-9);
    q = q * d.high + K(0x1.58c9dfb6e811dp-8);
    q = q * d.high + K(0x1.427996dbdffc2p-6);
    q = q * d.high + K(-0x1.104a83ecccd7bp-6);
    q = q * d.high + K(-0x1.d2b7734647096p-4);
    q = q * d.high + K(-0x1.029615edb089ep-6);
    q = q * d.high + K(0x1.8cd1a2b2fff33p-2);
    f64 near = sbi_zero_series(d, q, K(0x1.b8bacd2c96b91p-2), K(0x1.7625a206be83dp-56));
    y = d.high * d.high < K(0x1p-8) ? near : y;
    return x == x ? y : SBI_NAN64;
}

// ---------------------------------------------------------------- the tail of the normal distribution

FN sbi_pair sbi_horner_step(sbi_pair y, sbi_pair t, f64 c, f64 c_low) { // c + t y
    sbi_pair p = sbi_product_exact(t.high, y.high), s = sbi_sum_exact(c, p.high);
    return sbi_pair_of(s.high, (s.low + c_low) + (p.low + (t.high * y.low + t.low * y.high)));
}

// e^(a^2/2) Phi(-a), 0 <= a <= 40, a in two words: Q(t) / (a + 7/2), t = (a - 7/2) / (a + 7/2).
FN sbi_pair sbi_normal_tail(f64 a, f64 a_low) {
    sbi_pair n = sbi_sum_exact(a, K(-3.5)), d = sbi_sum_exact(a, K(3.5));
    n.low = n.low + a_low;
    d.low = d.low + a_low;
    sbi_pair t = sbi_quotient(n, d);
    f64 q = K(-0x1.8045784e591ffp-33);
    q = q * t.high + K(-0x1.826dcd6f59d32p-31);
    q = q * t.high + K(-0x1.2833c66eccbe9p-37);
    q = q * t.high + K(0x1.2dae2918c306fp-28);
    q = q * t.high + K(0x1.d4fd42b0d9ba6p-28);
    q = q * t.high + K(-0x1.379b28d42325fp-27);
    q = q * t.high + K(-0x1.61f2933534327p-25);
    q = q * t.high + K(-0x1.a95db22f12d1bp-26);
    q = q * t.high + K(0x1.1707ab0f7a8e0p-23);
    q = q * t.high + K(0x1.385bddf50b3edp-22);
    q = q * t.high + K(-0x1.3d2703574bbf3p-23);
    q = q * t.high + K(-0x1.8ca6d8a25be15p-20);
    q = q * t.high + K(-0x1.3828efae19d99p-20);
    q = q * t.high + K(0x1.7b435e4dcf166p-18);
    q = q * t.high + K(0x1.82137c1873cc6p-17);
    q = q * t.high + K(-0x1.3b394e7e00706p-16);
    q = q * t.high + K(-0x1.3d06448311101p-14);
    q = q * t.high + K(0x1.19285f04bd363p-14);
    q = q * t.high + K(0x1.f3cfa9810bdf0p-12);
    q = q * t.high + K(-0x1.d2a140fdf6d3ep-12);
    q = q * t.high + K(-0x1.a200796706b20p-9);
    q = q * t.high + K(0x1.a86cec765b088p-8);
    sbi_pair y = sbi_pair_of(q, K(0.0));
    y = sbi_horner_step(y, t, K(0x1.1d35bdee1234ap-6), K(0.0));
    y = sbi_horner_step(y, t, K(-0x1.db5837f7f54b7p-4), K(0x1.1daed5ab34a81p-60));
    y = sbi_horner_step(y, t, K(0x1.42fec3680acbep-2), K(-0x1.f19a8161f44c6p-58));
    y = sbi_horner_step(y, t, K(-0x1.2191517fa27b8p-1), K(-0x1.0a0d97e827b18p-55));
    y = sbi_horner_step(y, t, K(0x1.7d241a953a614p-1), K(-0x1.e5b145659428cp-59));
    return sbi_quotient(y, d);
}

// e^-(z + z_low) times tail = (s.high + s.low) 2^(m - 2046), 0 <= z <= 800; one: 1 less that.
typedef struct sbi_tailed { sbi_scaled tail; sbi_pair rest; } sbi_tailed;

FN sbi_tailed sbi_tail_of(sbi_pair z, sbi_pair tail) {
    sbi_reduced g = sbi_exp_reduce(K(0.0) - z.high, K(0.0) - z.low);
    sbi_pair e = sbi_exp_sum(K(1.0), g.r, g.r_low);
    sbi_pair h = sbi_sum_ordered(e.high, e.low), p = sbi_product_exact(h.high, tail.high);
    f64 p_low = p.low + (h.high * tail.low + h.low * tail.high);
    f64 power = FLOAT64(0x3ff0000000000000u + (BITS64(g.t) << 52));
    power = z.high > K(64.0) ? K(0.0) : power;
    sbi_pair one = sbi_sum_exact(K(1.0), K(0.0) - p.high * power);
    sbi_tailed y;
    y.tail.s = sbi_pair_of(p.high, p_low);
    y.tail.m = SBI_POWER(g.t);
    y.rest = sbi_pair_of(one.high, one.low - p_low * power);
    return y;
}

// ---------------------------------------------------------------- erf, erfc

// 2 Phi(-sqrt(2) |x|), and 1 less that.
FN sbi_tailed sbi_erfc_of(f64 x) {
    f64 a = FLOAT64(BITS64(x) & 0x7fffffffffffffffu);
    a = a > K(28.0) ? K(28.0) : a;
    sbi_pair b = sbi_product_exact(a, K(0x1.6a09e667f3bcdp+0));
    sbi_pair tail = sbi_normal_tail(b.high, b.low + a * K(-0x1.bdd3413b26456p-54));
    return sbi_tail_of(sbi_product_exact(a, a), sbi_pair_of(tail.high + tail.high, tail.low + tail.low));
}

FN f64 sbi_erfc_f64(f64 x) {
    sbi_tailed v = sbi_erfc_of(x);
    f64 small = sbi_times_power(v.tail.s.high + v.tail.s.low, v.tail.m);
    sbi_pair one = sbi_sum_ordered(K(1.0), v.rest.high);
    f64 large = one.high + (one.low + v.rest.low);
    f64 y = x < K(0.0) ? large : small;
    return x == x ? y : SBI_NAN64;
}

// Beside 0 the odd series, x (2/sqrt(pi) + z q(z)).
FN f64 sbi_erf_f64(f64 x) {
    sbi_tailed v = sbi_erfc_of(x);
    u64 sign = BITS64(x) & 0x8000000000000000u;
    f64 a = FLOAT64(BITS64(x) ^ sign);
    u64 tiny = a < K(0x1p-900) ? (u64)200 : (u64)0;
    f64 b = a * FLOAT64((1023u + tiny) << 52);
    sbi_pair z = sbi_product_exact(a, a);
    f64 q = K(0x1.cac3adf531b41p-27);
    q = q * z.high + K(-0x1.5dd2aa62eb12ep-23);
    q = q * z.high + K(0x1.b9d791f41c41fp-20);
    q = q * z.high + K(-0x1.f4d2061b0dba6p-17);
    q = q * z.high + K(0x1.f9a325cb67f8fp-14);
    q = q * z.high + K(-0x1.c02db3fdba119p-11);
    q = q * z.high + K(0x1.565bcd0e6738ep-8);
    q = q * z.high + K(-0x1.b82ce31288b13p-6);
    q = q * z.high + K(0x1.ce2f21a042be2p-4);
    q = q * z.high + K(-0x1.812746b0379e7p-2);
    sbi_pair c = sbi_horner_step(sbi_pair_of(q, K(0.0)), z, K(0x1.20dd750429b6dp+0), K(0x1.1ae3a914fed80p-56));
    sbi_pair p = sbi_product_exact(b, c.high);
    f64 near = (p.high + (p.low + b * c.low)) * FLOAT64((1023u - tiny) << 52);
    f64 y = a < K(0.5) ? near : v.rest.high + v.rest.low;
    return x == x ? FLOAT64(BITS64(y) | sign) : SBI_NAN64;
}

// ---------------------------------------------------------------- gelu

// a = |x|, at most 39, where all has vanished.
FN f64 sbi_gelu_size(f64 x) {
    f64 a = FLOAT64(BITS64(x) & 0x7fffffffffffffffu);
    return a > K(39.0) ? K(39.0) : a;
}
FN sbi_pair sbi_half_square(f64 a) {
    sbi_pair z = sbi_product_exact(a, a);
    return sbi_pair_of(K(0.5) * z.high, K(0.5) * z.low);
}

// x Phi(x)
FN f64 sbi_gelu_f64(f64 x) {
    f64 a = sbi_gelu_size(x);
    sbi_tailed v = sbi_tail_of(sbi_half_square(a), sbi_normal_tail(a, K(0.0)));
    u64 below = x < K(0.0) ? (u64)1 : (u64)0;
    f64 s = below ? v.tail.s.high : v.rest.high, s_low = below ? v.tail.s.low : v.rest.low;
    sbi_scaled g;
    g.s = sbi_pair_of(s, s_low);
    g.m = below ? v.tail.m : (u64)2046;
    return sbi_gated(x, g);
}

// Phi(x) + x phi(x): with B = e^(a^2/2) (Phi(-a) - a phi(a)), e^(-a^2/2) B below 0, 1 less that above.
FN f64 sbi_gelu_grad_f64(f64 x) {
    f64 a = sbi_gelu_size(x);
    sbi_pair tail = sbi_normal_tail(a, K(0.0)), p = sbi_product_exact(a, K(0x1.9884533d43651p-2));
    sbi_pair b = sbi_sum_exact(tail.high, K(0.0) - p.high);
    b.low = b.low + (tail.low - (p.low + a * K(-0x1.cbc0d30ebfd15p-56)));
    sbi_tailed v = sbi_tail_of(sbi_half_square(a), b);
    f64 below = sbi_times_power(v.tail.s.high + v.tail.s.low, v.tail.m);
    f64 y = x < K(0.0) ? below : v.rest.high + v.rest.low;
    sbi_pair d = sbi_from_zero(FLOAT64(BITS64(a) | (BITS64(x) & 0x8000000000000000u)), K(-0x1.80ead197f00b4p-1), K(0x1.13e74c58cada8p-56), K(0x1.65d4b5b9cdd03p-111));
    f64 q = K(0x1.86937c4220e4cp-13);
    q = q * d.high + K(-0x1.861b61b8821eap-11);
    q = q * d.high + K(-0x1.258a6b0a955acp-9);
    q = q * d.high + K(0x1.297b93ea5c286p-8);
    q = q * d.high + K(0x1.3e346def2bfaep-6);
    q = q * d.high + K(-0x1.e4088243a6791p-7);
    q = q * d.high + K(-0x1.d2fa4c17c7e7ep-4);
    q = q * d.high + K(-0x1.2a2ef9bb86679p-6);
    q = q * d.high + K(0x1.8d9a941de3ac5p-2);
    f64 near = sbi_zero_series(d, q, K(0x1.b9d98fa5a3215p-2), K(0x1.f7c1a23190c7cp-56));
    y = d.high * d.high < K(0x1p-8) ? near : y;
    return x == x ? y : SBI_NAN64;
}

// ---------------------------------------------------------------- pow

// log x of a positive finite x, in two words of 2^-68.
FN sbi_pair sbi_log_pair(f64 x) {
    sbi_pair w = sbi_log_parts(x);
    f64 f = w.low;
    sbi_pair d = sbi_sum_ordered(K(2.0), f), s = sbi_quotient(sbi_pair_of(f, K(0.0)), d);
    s = sbi_sum_ordered(s.high, s.low);
    sbi_pair z = sbi_product_exact(s.high, s.high);
    z.low = z.low + (s.high + s.high) * s.low;
    f64 q = K(0x1.92e33c844a263p-4);
    q = q * z.high + K(0x1.83745141fbd60p-4);
    q = q * z.high + K(0x1.af3cc8d731eeep-4);
    q = q * z.high + K(0x1.e1e186cfe33d6p-4);
    q = q * z.high + K(0x1.11111188649fep-3);
    q = q * z.high + K(0x1.3b13b13a644d3p-3);
    q = q * z.high + K(0x1.745d1745d1f56p-3);
    q = q * z.high + K(0x1.c71c71c71c71ap-3);
    q = q * z.high + K(0x1.2492492492492p-2);
    sbi_pair y = sbi_horner_step(sbi_pair_of(q, K(0.0)), z, K(0x1.999999999999ap-2), K(-0x1.999999999999ap-56));
    y = sbi_horner_step(y, z, K(0x1.5555555555555p-1), K(0x1.5555555555555p-55));
    sbi_pair c = sbi_product_exact(z.high, s.high); // s^3
    c.low = c.low + (z.high * s.low + z.low * s.high);
    sbi_pair r = sbi_product_exact(c.high, y.high);
    r.low = r.low + (c.high * y.low + c.low * y.high);
    sbi_pair u = sbi_sum_ordered(w.high * K(0x1.62e42fefa3800p-1), s.high + s.high), v = sbi_sum_ordered(u.high, r.high);
    return sbi_sum_ordered(v.high, v.low + (u.low + ((s.low + s.low) + (r.low + w.high * K(0x1.ef35793c76730p-45)))));
}

// x^y, IEEE 754's pow: e^(y log |x|), then the sign and the limits.
FN f64 sbi_pow_f64(f64 x, f64 y) {
    const f64 inf = FLOAT64(0x7ff0000000000000u);
    f64 a = FLOAT64(BITS64(x) & 0x7fffffffffffffffu), b = FLOAT64(BITS64(y) & 0x7fffffffffffffffu);
    f64 power = y > K(0x1p+65) ? K(0x1p+65) : y;
    power = power < K(-0x1p+65) ? K(-0x1p+65) : power;
    sbi_pair l = sbi_log_pair(a), p = sbi_product_exact(power, l.high);
    f64 p_low = p.low + power * l.low;
    f64 h = p.high > K(800.0) ? K(800.0) : p.high;
    h = h < K(-800.0) ? K(-800.0) : h;
    sbi_reduced g = sbi_exp_reduce(h, h == p.high ? p_low : K(0.0));
    sbi_pair e = sbi_exp_sum(K(1.0), g.r, g.r_low);
    f64 value = sbi_times_power(e.high + e.low, SBI_POWER(g.t));
    value = a == K(0.0) || a == inf ? ((a == inf) == (y > K(0.0)) ? inf : K(0.0)) : value;
    // y whole, y odd
    f64 shifted = b + K(0x1p+52);
    u64 whole = b >= K(0x1p+52) || shifted - K(0x1p+52) == b ? (u64)1 : (u64)0;
    u64 odd = whole & (b < K(0x1p+53) ? (u64)1 : (u64)0) & BITS64(b < K(0x1p+52) ? shifted : b);
    u64 negative = BITS64(x) >> 63;
    value = FLOAT64(BITS64(value) | ((negative & odd) << 63));
    value = negative && !whole && a > K(0.0) && a < inf ? SBI_NAN64 : value;
    value = x == x && y == y ? value : SBI_NAN64;
    return y == K(0.0) || x == K(1.0) ? K(1.0) : value;
}
FN f32 sbi_pow_f32(f32 x, f32 y) { // not proved correctly rounded: by definition the sequence above, rounded
    return sbi_canon_f32((f32)sbi_pow_f64((f64)x, (f64)y));
}

// ---------------------------------------------------------------- inverse normal

// The z for which Phi(z) = p = ((u >> 11) + 1/2) / 2^53 (contract T11). By symmetry the lower half is enough: p < 1/2,
// q = 1/2 - p. Below q = 0.1, -z = q (sqrt(2 pi) + q^2 P(q^2)). Else a start within 2^-22 and one step of Halley's method
// on the tail, which is known to 2^-58.
FN f64 sbi_normal_f64(u64 u) {
    u64 m = (u >> 63 ? ~u : u) >> 11;
    f64 p = ((f64)(i64)m + K(0.5)) * K(0x1p-53);
    f64 q = K(0.5) - p;
    f64 t = q * q;
    f64 c = K(0x1.5c5e1a95cbb98p+16);
    c = c * t + K(0x1.3f01b2eb6b6cbp+14);
    c = c * t + K(0x1.6f5f34c163b2ep+12);
    c = c * t + K(0x1.a6759718c710cp+10);
    c = c * t + K(0x1.f04611c8b91c7p+8);
    c = c * t + K(0x1.2ba8db1ca2a27p+7);
    c = c * t + K(0x1.78494af2579cep+5);
    c = c * t + K(0x1.f55d0d78fa62ap+3);
    c = c * t + K(0x1.71713082d9a2bp+2);
    c = c * t + K(0x1.4ffddeaa22dc8p+1);
    sbi_pair n = sbi_product_exact(q, K(0x1.40d931ff62706p+1));
    f64 near = n.high + (n.low + q * (t * c + K(-0x1.a6a0d6f814637p-53)));
    f64 s = SQRT64(K(0.0) - sbi_log_core(p, K(0x1.00000000003ffp+52)));
    f64 v = (s - K(4.0)) / (s + K(4.0));
    f64 a = K(0x1.d3ad0198d5f5fp-1);
    a = a * v + K(0x1.59aca82aecbecp+2);
    a = a * v + K(0x1.3a09af192449bp+3);
    a = a * v + K(0x1.7514ed6d15cccp+3);
    a = a * v + K(0x1.6c0c02e0c0b7cp+3);
    a = a * v + K(0x1.6f2aea0ea62aap+3);
    a = a * v + K(0x1.6420b1bfd49fdp+3);
    a = a * v + K(0x1.72347be77e8b8p+3);
    a = a * v + K(0x1.5f91cb107705ap+3);
    a = a * v + K(0x1.7e3798310025dp+3);
    a = a * v + K(0x1.4b598e8c552c9p+2);
    a = q < K(0.1) ? K(1.0) : a; // (not used there; within the tail's range)
    sbi_pair z = sbi_product_exact(a, a), tail = sbi_normal_tail(a, K(0.0));
    sbi_reduced g = sbi_exp_reduce(K(-0.5) * z.high, K(-0.5) * z.low);
    sbi_pair e = sbi_exp_sum(K(1.0), g.r, g.r_low), h = sbi_sum_ordered(e.high, e.low);
    sbi_pair w = sbi_product_exact(h.high, tail.high);
    f64 w_low = w.low + (h.high * tail.low + h.low * tail.high);
    f64 over = (w.high - p * FLOAT64(0x3ff0000000000000u - (BITS64(g.t) << 52))) + w_low; // Phi(-a) - p, by 2^-n
    f64 d = over / (h.high * K(0x1.9884533d43651p-2));
    f64 far = a + (d + (K(0.5) * a) * (d * d));
    f64 y = q < K(0.1) ? near : far;
    return u >> 63 ? y : K(0.0) - y;
}
#endif
