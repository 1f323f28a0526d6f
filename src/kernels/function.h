// SPDX-License-Identifier: Apache-2.0
// Functions of one float32, correctly rounded for every one of the 2^32 inputs (contract T4), and the binary64
// logarithm, whose sequence is part of the contract (docs/functions.md).
//
// Problem: y = RN32(f(x)). NaN gives the canonical NaN; at infinities and on underflow the limit, with the sign of the
// side it is reached from.
// Method: argument reduction and a polynomial in binary64 by + - * / sqrt and integer work on bits alone, so every
// machine computes the same; 29 spare bits make the last rounding right except for inputs that lie within some 2^-53
// of a tie, and `samebits prove` has looked at all inputs: those that came out wrong are mended here, by name or by
// a nudge of one binary64 ulp where the exact value is known to lie on one side of a tie. Nothing here is contract
// but the value; only sbi_log_f64 is contract as it stands.
// Everything is free of branches, so that a loop over lanes vectorises, but sin and cos from 2^28 on (sbi_trig_far).
// Polynomials: interpolation at Chebyshev nodes in 300 bits, by us.
#ifndef SBI_FUNCTION_H
#define SBI_FUNCTION_H

#define SBI_NAN32 FLOAT32(0x7fc00000u)
#define SBI_ROUNDER K(0x1.8p+52) // x + this - this: x rounded to an integer, whose low bits are those of the sum

// ---------------------------------------------------------------- exp

// q of e^r = 1 + r + r^2 q(r), |r| < 0.3467.
FN f64 sbi_exp_series(f64 r) {
    f64 q = K(0x1.1f730349868cep-29);
    q = q * r + K(0x1.af4de97ca4194p-26);
    q = q * r + K(0x1.27e4db646b17ep-22);
    q = q * r + K(0x1.71de0231960ebp-19);
    q = q * r + K(0x1.a01a01a6d889cp-16);
    q = q * r + K(0x1.a01a01abe7fe1p-13);
    q = q * r + K(0x1.6c16c16c162d4p-10);
    q = q * r + K(0x1.11111111100dcp-7);
    q = q * r + K(0x1.5555555555556p-5);
    q = q * r + K(0x1.5555555555557p-3);
    return q * r + K(0.5);
}

// z = n log 2 + r, |z| < 700: n, which is t - SBI_ROUNDER, stands in the low bits of t.
FN f64 sbi_exp_turns(f64 z) { return z * K(0x1.71547652b82fep+0) + SBI_ROUNDER; }
FN f64 sbi_exp_rest(f64 z, f64 n) { return (z - n * K(0x1.62e42fefap-1)) - n * K(0x1.cf79abc9e3b3ap-40); }

// e^z in binary64, |z| < 700, within 1 ulp.
FN f64 sbi_exp_core(f64 z) {
    f64 t = sbi_exp_turns(z);
    f64 r = sbi_exp_rest(z, t - SBI_ROUNDER);
    f64 p = K(1.0) + (r + (r * r) * sbi_exp_series(r));
    return FLOAT64(BITS64(p) + (BITS64(t) << 52));
}

FN f32 sbi_exp_f32(f32 x) {
    f64 z = (f64)x;
    z = z > K(100.0) ? K(100.0) : z; // overflow and underflow happen in the last rounding
    z = z < K(-120.0) ? K(-120.0) : z;
    f32 y = (f32)sbi_exp_core(z);
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- exp2

// 2^x = 2^n 2^r, 2^r = 1 + r q(r), |r| <= 1/2 exactly.
FN f32 sbi_exp2_f32(f32 x) {
    f64 z = (f64)x;
    z = z > K(200.0) ? K(200.0) : z;
    z = z < K(-200.0) ? K(-200.0) : z;
    f64 t = z + SBI_ROUNDER;
    f64 r = z - (t - SBI_ROUNDER);
    f64 q = K(0x1.c4a29324a1038p-36);
    q = q * r + K(0x1.e9ec1fcb69a7fp-32);
    q = q * r + K(0x1.e4cf10dec0f59p-28);
    q = q * r + K(0x1.b524ebd13a55fp-24);
    q = q * r + K(0x1.62c02242b879cp-20);
    q = q * r + K(0x1.ffcbfc6da6ed1p-17);
    q = q * r + K(0x1.430912f86b7dbp-13);
    q = q * r + K(0x1.5d87fe78a3f9cp-10);
    q = q * r + K(0x1.3b2ab6fba4e79p-7);
    q = q * r + K(0x1.c6b08d704a0c6p-5);
    q = q * r + K(0x1.ebfbdff82c58fp-3);
    q = q * r + K(0x1.62e42fefa39efp-1);
    f64 p = K(1.0) + r * q;
    f32 y = (f32)FLOAT64(BITS64(p) + (BITS64(t) << 52));
    y = BITS32(x) == 0xbcf3a937u ? FLOAT32(0x3f7ac6b1u) : y; // nearer to a tie than binary64 can tell
    y = BITS32(x) == 0x3b429d37u ? FLOAT32(0x3f804385u) : y;
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- expm1

// e^z - 1 = 2^n (e^r - 1) + (2^n - 1), |z| < 700, to a relative 2^-52 also beside 0.
FN f64 sbi_expm1_core(f64 z) {
    f64 t = sbi_exp_turns(z);
    f64 r = sbi_exp_rest(z, t - SBI_ROUNDER);
    f64 p = r + (r * r) * sbi_exp_series(r);
    f64 s = FLOAT64((BITS64(t) + 1023u) << 52);
    return s * p + (s - K(1.0));
}

FN f32 sbi_expm1_f32(f32 x) {
    f64 z = (f64)x;
    z = z > K(100.0) ? K(100.0) : z;
    z = z < K(-100.0) ? K(-100.0) : z;
    f32 y = (f32)sbi_expm1_core(z);
    y = x == 0.0f ? x : y;
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- tanh

// tanh a = E / (E + 2), E = e^(2a) - 1, for a = |x|.
FN f32 sbi_tanh_f32(f32 x) {
    u32 sign = BITS32(x) & 0x80000000u;
    f64 a = (f64)FLOAT32(BITS32(x) ^ sign);
    a = a > K(20.0) ? K(20.0) : a;
    f64 e = sbi_expm1_core(a + a);
    f32 y = FLOAT32(BITS32((f32)(e / (e + K(2.0)))) | sign);
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- log

// (log((1 + s) / (1 - s)) - 2 s) / s, as a polynomial in z = s^2 <= 0.02944.
FN f64 sbi_log_series(f64 z) {
    f64 p = K(0x1.0c05166ec4148p-3);
    p = p * z + K(0x1.0fbe71ad855c9p-3);
    p = p * z + K(0x1.3b1c36b445cebp-3);
    p = p * z + K(0x1.745cf8fe328f9p-3);
    p = p * z + K(0x1.c71c720168526p-3);
    p = p * z + K(0x1.2492492476c42p-2);
    p = p * z + K(0x1.9999999999a38p-2);
    p = p * z + K(0x1.5555555555555p-1);
    return p * z;
}

// log(w) + (2^52 + 1023 - bias) log 2 of a positive, normal w.
FN f64 sbi_log_core(f64 w, f64 bias) {
    // w = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2))
    u64 t = BITS64(w) + 0x00095f619980c433u;
    f64 e = FLOAT64((t >> 52) | 0x4330000000000000u) - bias;
    f64 f = FLOAT64((t & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - K(1.0);
    // s = f / (2 + f), and r = f - s (2 + f) exactly enough, so that 2 f / (2 + f) = 2 s + c
    f64 d = K(2.0) + f;
    f64 d_low = f - (d - K(2.0));
    f64 s = f / d;
    f64 s_top = FLOAT64(BITS64(s) & 0xfffffffff8000000u);
    f64 d_top = FLOAT64(BITS64(d) & 0xfffffffff8000000u);
    f64 s_rest = s - s_top;
    f64 d_rest = (d - d_top) + d_low;
    f64 r = (((f - s_top * d_top) - s_top * d_rest) - s_rest * d_top) - s_rest * d_rest;
    f64 c = r * (K(1.0) - s); // (1 - s) / 2 = 1 / (2 + f)
    f64 p = s * sbi_log_series(s * s);
    // log x = e log 2 + 2 s + c + p, the large terms in two words
    f64 h = s + s;
    f64 a = e * K(0x1.62e42fefa3800p-1);
    f64 b = e * K(0x1.ef35793c76730p-45);
    f64 u = a + h;
    f64 u_low = (a - u) + h;
    return u + (p + (b + (c + u_low)));
}

// The natural logarithm in binary64. Contract: exactly these operations in this order (docs/functions.md).
FN f64 sbi_log_f64(f64 x) {
    u64 small = x < K(0x1p-1022) ? (u64)1 : (u64)0; // subnormal arguments are scaled first
    f64 y = sbi_log_core(small ? x * K(0x1p+54) : x, small ? K(0x1.0000000000435p+52) : K(0x1.00000000003ffp+52));
    y = x < FLOAT64(0x7ff0000000000000u) ? y : x;     // +inf
    y = x == K(0.0) ? FLOAT64(0xfff0000000000000u) : y; // -inf
    return x >= K(0.0) ? y : FLOAT64(0x7ff8000000000000u);
}

// The same for a float32 argument: f has 24 bits, so f^2/2 and e log 2 + f need no second word.
FN f32 sbi_log_f32(f32 x) {
    u64 t = BITS64((f64)x) + 0x00095f619980c433u;
    f64 e = FLOAT64((t >> 52) | 0x4330000000000000u) - K(0x1.00000000003ffp+52);
    f64 f = FLOAT64((t & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - K(1.0);
    f64 s = f / (K(2.0) + f);
    f64 h = (K(0.5) * f) * f;
    f64 p = s * (h + sbi_log_series(s * s));
    f64 v = (e * K(0x1.62e42fefa3800p-1) + f) - h;
    f32 y = (f32)(v + (p + e * K(0x1.ef35793c76730p-45)));
    y = BITS32(x) == 0x3c413d3au ? FLOAT32(0xc08e158fu) : y; // nearer to a tie than binary64 can tell
    y = BITS32(x) == 0x41178febu ? FLOAT32(0x400fe5e7u) : y;
    y = BITS32(x) == 0x65d890d3u ? FLOAT32(0x4254d1f9u) : y;
    y = BITS32(x) == 0x6f31a8ecu ? FLOAT32(0x42845a89u) : y;
    y = x < FLOAT32(0x7f800000u) ? y : x;
    y = x == 0.0f ? FLOAT32(0xff800000u) : y;
    return x >= 0.0f ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- log1p

// As log of w = 1 + x, which is exact but for tiny x (what it lacks is w_low, with which f is x itself) and beyond 2^53;
// f has up to 53 bits here.
FN f32 sbi_log1p_f32(f32 x) {
    f64 z = (f64)x;
    f64 w = K(1.0) + z;
    f64 w_low = z < K(1.0) ? z - (w - K(1.0)) : K(0.0);
    u64 t = BITS64(w) + 0x00095f619980c433u;
    f64 e = FLOAT64((t >> 52) | 0x4330000000000000u) - K(0x1.00000000003ffp+52);
    f64 f = (FLOAT64((t & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - K(1.0)) + w_low;
    f64 s = f / (K(2.0) + f);
    f64 h = (K(0.5) * f) * f;
    f64 p = s * (h + sbi_log_series(s * s));
    f64 a = e * K(0x1.62e42fefa3800p-1);
    f64 u = a + f;
    f64 u_low = (a - u) + f;
    f32 y = (f32)((u - h) + ((p + u_low) + e * K(0x1.ef35793c76730p-45)));
    // Nine lie nearer to a tie than binary64 can tell. (Of so many choices between values gcc would make a switch.)
    y = FLOAT32(BITS32(y) + (BITS32(x) == 0x35400003u ? 1u : 0u));
    y = FLOAT32(BITS32(y) - (BITS32(x) == 0xb53ffffdu ? 1u : 0u));
    y = FLOAT32(BITS32(y) + (BITS32(x) == 0x3710001bu ? 1u : 0u));
    y = FLOAT32(BITS32(y) - (BITS32(x) == 0xb70fffe5u ? 1u : 0u));
    y = FLOAT32(BITS32(y) + (BITS32(x) == 0xbb0ec8c4u ? 1u : 0u));
    y = FLOAT32(BITS32(y) - (BITS32(x) == 0x3efd81adu ? 1u : 0u));
    y = FLOAT32(BITS32(y) - (BITS32(x) == 0x41078febu ? 1u : 0u));
    y = FLOAT32(BITS32(y) + (BITS32(x) == 0x65d890d3u ? 1u : 0u));
    y = FLOAT32(BITS32(y) + (BITS32(x) == 0x6f31a8ecu ? 1u : 0u));
    y = x < FLOAT32(0x7f800000u) ? y : x;
    y = x == 0.0f ? x : y;
    y = x == -1.0f ? FLOAT32(0xff800000u) : y;
    return x >= -1.0f ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- log2, log10

// log(1 + f) - f.
FN f64 sbi_log_bend(f64 f) {
    f64 s = f / (K(2.0) + f);
    f64 h = (K(0.5) * f) * f;
    return s * (h + sbi_log_series(s * s)) - h;
}

// What log2 and log10 are at zeros, infinities, outside the domain.
FN f32 sbi_log_limits_f32(f32 x, f32 y) {
    y = x < FLOAT32(0x7f800000u) ? y : x;
    y = x == 0.0f ? FLOAT32(0xff800000u) : y;
    return x >= 0.0f ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- log2

// log2 x = e + log(1 + f) / log 2; 1 / log 2 in 29 bits and the rest, so that its product with f (24 bits) is exact.
FN f32 sbi_log2_f32(f32 x) {
    u64 t = BITS64((f64)x) + 0x00095f619980c433u;
    f64 e = FLOAT64((t >> 52) | 0x4330000000000000u) - K(0x1.00000000003ffp+52);
    f64 f = FLOAT64((t & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - K(1.0);
    f64 high = f * K(0x1.7154765p+0);
    f64 low = f * K(0x1.5c17f0bbbe880p-31) + sbi_log_bend(f) * K(0x1.71547652b82fep+0);
    f64 u = e + high;
    f64 u_low = (e - u) + high;
    return sbi_log_limits_f32(x, (f32)(u + (u_low + low)));
}

// ---------------------------------------------------------------- log10

// The same over log 10, and e log10 2 exact in its first word of 42 bits.
FN f32 sbi_log10_f32(f32 x) {
    u64 t = BITS64((f64)x) + 0x00095f619980c433u;
    f64 e = FLOAT64((t >> 52) | 0x4330000000000000u) - K(0x1.00000000003ffp+52);
    f64 f = FLOAT64((t & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - K(1.0);
    f64 a = e * K(0x1.34413509f7800p-2);
    f64 high = f * K(0x1.bcb7b15p-2);
    f64 low = f * K(0x1.37287195355bbp-33) + sbi_log_bend(f) * K(0x1.bcb7b1526e50ep-2);
    f64 u = a + high;
    f64 u_low = (a - u) + high;
    f32 y = (f32)(u + (u_low + (low + e * K(0x1.fef311f12b358p-46))));
    y = BITS32(x) == 0x0efeee7au ? FLOAT32(0xc1e99d23u) : y; // nearer to a tie than binary64 can tell
    return sbi_log_limits_f32(x, y);
}

// ---------------------------------------------------------------- rsqrt

FN f32 sbi_rsqrt_f32(f32 x) {
    return sbi_canon_f32((f32)(K(1.0) / SQRT64((f64)x)));
}

// ---------------------------------------------------------------- sin, cos

// sin(r + r_low + n pi/2), |r| < 0.786, by the low two bits of n.
FN f64 sbi_trig_core(f64 r, f64 r_low, u64 n) {
    f64 z = r * r;
    f64 h = K(0.5) * z;
    f64 p = K(-0x1.ab17a79237a19p-41);
    p = p * z + K(0x1.61217ec01749dp-33);
    p = p * z + K(-0x1.ae64541266378p-26);
    p = p * z + K(0x1.71de3a54605eep-19);
    p = p * z + K(-0x1.a01a01a019936p-13);
    p = p * z + K(0x1.1111111111110p-7);
    p = p * z + K(-0x1.5555555555555p-3);
    f64 q = K(0x1.ab783376962cfp-45);
    q = q * z + K(-0x1.9394b9c9c20a4p-37);
    q = q * z + K(0x1.1eed8deb6d561p-29);
    q = q * z + K(-0x1.27e4fb7712bdfp-22);
    q = q * z + K(0x1.a01a01a019d0ap-16);
    q = q * z + K(-0x1.6c16c16c16c16p-10);
    q = q * z + K(0x1.5555555555555p-5);
    f64 sine = r + ((r * z) * p + r_low * (K(1.0) - h));
    f64 one = K(1.0) - h;
    f64 cosine = one + (((K(1.0) - one) - h) + ((z * z) * q - r * r_low));
    u64 odd = (u64)0 - (n & 1u);
    u64 y = (BITS64(cosine) & odd) | (BITS64(sine) & ~odd);
    return FLOAT64(y ^ ((n & 2u) << 62));
}

// sin(z + quarter pi/2), |z| < 2^28: pi/2 in three parts, of which the first two are subtracted exactly.
FN f64 sbi_trig_near(f64 z, u64 quarter) {
    f64 t = z * K(0x1.45f306dc9c883p-1) + SBI_ROUNDER;
    f64 n = t - SBI_ROUNDER;
    f64 a = (z - n * K(0x1.921fb5p+0)) - n * K(0x1.110b46p-26);
    f64 b = n * K(0x1.1a62633145c07p-54);
    f64 r = a - b;
    return sbi_trig_core(r, (a - r) - b, BITS64(t) + quarter);
}

// Word i of 2/pi = 0.w0 w1 w2 ... in base 2^32.
FN u64 sbi_two_over_pi(u32 i) {
    return i == 0u ? 0xa2f9836eu : i == 1u ? 0x4e441529u : i == 2u ? 0xfc2757d1u : i == 3u ? 0xf534ddc0u
         : i == 4u ? 0xdb629599u : i == 5u ? 0x3c439041u : i == 6u ? 0xfe5163abu : 0xdebbc561u;
}

// The same from 2^28 on: |x| = m 2^k times 2/pi modulo 4 in 128 bits (Payne and Hanek). NaN at infinity.
FN f64 sbi_trig_far(f32 x, u64 quarter) {
    u32 bits = BITS32(x) & 0x7fffffffu;
    u64 m = (u64)((bits & 0x007fffffu) | 0x00800000u);
    u32 skip = (bits >> 23) - 152u; // bits of 2/pi that give multiples of 4: k - 2, 3 .. 102
    u32 i = (skip >> 5) & 3u, s = skip & 31u;
    u64 w0 = sbi_two_over_pi(i), w1 = sbi_two_over_pi(i + 1u), w2 = sbi_two_over_pi(i + 2u);
    u64 w3 = sbi_two_over_pi(i + 3u), w4 = sbi_two_over_pi(i + 4u);
    u64 p0 = m * ((((w3 << 32) | w4) << s) >> 32);
    u64 p1 = m * ((((w2 << 32) | w3) << s) >> 32) + (p0 >> 32);
    u64 p2 = m * ((((w1 << 32) | w2) << s) >> 32) + (p1 >> 32);
    u64 p3 = m * ((((w0 << 32) | w1) << s) >> 32) + (p2 >> 32);
    u64 turn = (p3 << 32) | (p2 & 0xffffffffu); // in units of 2^-62 quarters, modulo 4
    u64 n = (turn + 0x2000000000000000u) >> 62;
    i64 part = (i64)(turn - (n << 62)); // |part| <= 2^61
    i64 high = part >= 0 ? part >> 32 : -((-part - 1) >> 32) - 1; // floor(part / 2^32)
    f64 a = (f64)high * K(0x1p-30);
    f64 b = (f64)(i64)((u64)part & 0xffffffffu) * K(0x1p-62);
    f64 c = (f64)(i64)(p1 & 0xffffffffu) * K(0x1p-94);
    f64 ab = a + b;
    f64 rest = ((a - ab) + b) + c;
    f64 y = ab + rest;
    f64 y_low = (ab - y) + rest;
    f64 y_top = FLOAT64(BITS64(y) & 0xfffffffff8000000u); // 26 bits: y_top * (26 bits of pi/2) is exact
    f64 d = y_top * K(0x1.921fb58p+0);
    f64 f = (y - y_top) * K(0x1.921fb58p+0) + (y * K(-0x1.dde973dcb3b3ap-27) + y_low * K(0x1.921fb58p+0));
    f64 r = d + f;
    f64 r_low = (d - r) + f;
    u64 negative = (u64)(BITS32(x) >> 31);
    r = negative ? K(0.0) - r : r;
    r_low = negative ? K(0.0) - r_low : r_low;
    n = negative ? (u64)4 - n : n;
    f64 v = sbi_trig_core(r, r_low, n + quarter);
    return bits < 0x7f800000u ? v : FLOAT64(0x7ff8000000000000u);
}

#define SBI_TRIG_FAR 0x1p+28f // |x| from here on (and NaN) takes sbi_trig_far
FN u32 sbi_trig_is_far(f32 x) { return x > -SBI_TRIG_FAR && x < SBI_TRIG_FAR ? 0u : 1u; }

// ---------------------------------------------------------------- sin

FN f32 sbi_sin_near_f32(f32 x) {
    f32 y = (f32)sbi_trig_near((f64)x, 0u);
    u32 sign = BITS32(x) & 0x80000000u;
    y = BITS32(x) == (0x46199998u | sign) ? FLOAT32(0xbeb1fa5du ^ sign) : y; // nearer to a tie than binary64 can tell
    return x == 0.0f ? x : y;
}
FN f32 sbi_sin_far_f32(f32 x) { return sbi_canon_f32((f32)sbi_trig_far(x, 0u)); }
FN f32 sbi_sin_f32(f32 x) { return sbi_trig_is_far(x) ? sbi_sin_far_f32(x) : sbi_sin_near_f32(x); }

// ---------------------------------------------------------------- cos

FN f32 sbi_cos_near_f32(f32 x) { return (f32)sbi_trig_near((f64)x, 1u); }
FN f32 sbi_cos_far_f32(f32 x) {
    u32 bits = BITS32(x) & 0x7fffffffu;
    f32 y = sbi_canon_f32((f32)sbi_trig_far(x, 1u));
    y = bits == 0x5f18b878u ? FLOAT32(0x3f7f14bbu) : y; // these two lie nearer to a tie than binary64 can tell
    return bits == 0x6115cb11u ? FLOAT32(0x3f78142fu) : y;
}
FN f32 sbi_cos_f32(f32 x) { return sbi_trig_is_far(x) ? sbi_cos_far_f32(x) : sbi_cos_near_f32(x); }

// ---------------------------------------------------------------- sigmoid

// e^-|z|, for sigmoid, silu and silu'.
FN f64 sbi_decay(f64 z) {
    f64 a = z < K(0.0) ? z : K(0.0) - z;
    return sbi_exp_core(a < K(-300.0) ? K(-300.0) : a);
}

// A value beside 1/2 that may lie exactly on a tie, moved one ulp towards 1/2, where the exact value lies.
FN f64 sbi_towards_half(f64 y, f64 z) {
    f64 step = z > K(0.0) ? K(-0x1p-53) : K(0x1p-53);
    step = z * z < K(0x1p-24) && z * z > K(0x1p-60) ? step : K(0.0);
    return y + step;
}

// y, which is z/2 for tiny z, moved one ulp up, where the exact value lies: z/2 is a tie where z is subnormal and odd.
FN f64 sbi_above_half(f64 y, f64 z) {
    u64 step = z > K(0.0) ? (u64)1 : ~(u64)0;
    step = z * z < K(0x1p-120) && z != K(0.0) ? step : (u64)0;
    return FLOAT64(BITS64(y) + step);
}

// 1 / (1 + e^-x)
FN f32 sbi_sigmoid_f32(f32 x) {
    f64 z = (f64)x;
    f64 e = sbi_decay(z);
    f64 y = (z < K(0.0) ? e : K(1.0)) / (K(1.0) + e);
    f32 r = (f32)sbi_towards_half(y, z);
    return x == x ? r : SBI_NAN32;
}

// ---------------------------------------------------------------- silu

// x / (1 + e^-x). For tiny x it is x/2 + x^2/4: above x/2, which is a tie where x is subnormal.
FN f32 sbi_silu_f32(f32 x) {
    f64 z = (f64)x;
    f64 e = sbi_decay(z);
    f64 low = z < K(-300.0) ? K(-300.0) : z; // -inf: the limit -0
    f64 y = (z < K(0.0) ? low * e : z) / (K(1.0) + e);
    f32 r = (f32)sbi_above_half(y, z);
    r = BITS32(x) == 0xb7100000u ? FLOAT32(0xb68fffd8u) : r; // -9 2^-20: nearer to a tie than binary64 can tell
    return x == x ? r : SBI_NAN32;
}

// ---------------------------------------------------------------- softplus

// log(1 + e^z) = max(z, 0) + log(1 + e), e = e^-|z|; from 0.41 on 1 + e = 2 (1 + f), f = (e - 1) / 2.
FN f64 sbi_softplus_core(f64 z) {
    f64 e = sbi_decay(z);
    f64 f = e > K(0x1.a8p-2) ? e * K(0.5) - K(0.5) : e;
    f64 a = e > K(0x1.a8p-2) ? K(0x1.62e42fefa3800p-1) : K(0.0);
    f64 b = e > K(0x1.a8p-2) ? K(0x1.ef35793c76730p-45) : K(0.0);
    f64 s = f / (K(2.0) + f);
    f64 h = (K(0.5) * f) * f;
    f64 p = s * (h + sbi_log_series(s * s));
    f64 u = a + f;
    f64 u_low = (a - u) + f;
    f64 y = (u - h) + (p + (u_low + b));
    return (z > K(0.0) ? z : K(0.0)) + y;
}

FN f32 sbi_softplus_f32(f32 x) {
    f32 y = (f32)sbi_softplus_core((f64)x);
    y = BITS32(x) == 0x39ea41d0u ? FLOAT32(0x3f3180bdu) : y; // nearer to a tie than binary64 can tell
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- log_sigmoid

// log(1 / (1 + e^-x)) = -softplus(-x)
FN f32 sbi_log_sigmoid_f32(f32 x) {
    f32 y = (f32)(K(0.0) - sbi_softplus_core(K(0.0) - (f64)x));
    y = BITS32(x) == 0xb9ea41d0u ? FLOAT32(0xbf3180bdu) : y; // nearer to a tie than binary64 can tell
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- erf, erfc

// erfc a = e^(-a^2) w p(t), w = 1 / (a + 9/2), t = (a - 9/2) w, for 0 <= a <= 10.25 of 24 bits (a^2 is exact).
FN f64 sbi_erfc_core(f64 a) {
    f64 w = K(1.0) / (a + K(4.5));
    f64 t = (a - K(4.5)) * w;
    f64 p = K(0x1.4cbe81cd93075p-27);
    p = p * t + K(0x1.daceee879ac3bp-25);
    p = p * t + K(0x1.733ca64df61e8p-25);
    p = p * t + K(-0x1.f9389292f1e4cp-23);
    p = p * t + K(0x1.61d39e0853471p-23);
    p = p * t + K(0x1.ad5047c72a6dcp-20);
    p = p * t + K(-0x1.44c0606c14e9ap-18);
    p = p * t + K(-0x1.6f4004a5bbf80p-19);
    p = p * t + K(0x1.bc74449a225fap-15);
    p = p * t + K(-0x1.2ad36c3d692d1p-13);
    p = p * t + K(-0x1.c2663faa9efa5p-16);
    p = p * t + K(0x1.be8a94dbec1fap-10);
    p = p * t + K(-0x1.0cfe407866b18p-7);
    p = p * t + K(0x1.ad3e6ed39ed58p-6);
    p = p * t + K(-0x1.0ee993c0ead71p-4);
    p = p * t + K(0x1.203d11baa94b2p-3);
    p = p * t + K(-0x1.0ac6cc1cbd423p-2);
    p = p * t + K(0x1.b588f60828a75p-2);
    p = p * t + K(-0x1.4199bb01dd92cp-1);
    p = p * t + K(0x1.aafba83e6c9eep-1);
    p = p * t + K(-0x1.0142e504b936dp+0);
    p = p * t + K(0x1.1a347a29849afp+0);
    return sbi_exp_core(K(0.0) - a * a) * (w * p);
}

// ---------------------------------------------------------------- erf

// z p(z^2) for z^2 < 0.8, 1 - erfc beyond.
FN f32 sbi_erf_f32(f32 x) {
    u32 sign = BITS32(x) & 0x80000000u;
    f64 a = (f64)FLOAT32(BITS32(x) ^ sign);
    a = a > K(10.0) ? K(10.0) : a;
    f64 u = a * a;
    f64 p = K(-0x1.d5145b084537bp-31);
    p = p * u + K(0x1.e35d65bb54d07p-27);
    p = p * u + K(-0x1.5d99775a83febp-23);
    p = p * u + K(0x1.b9ba40c1de930p-20);
    p = p * u + K(-0x1.f4cf95029fd29p-17);
    p = p * u + K(0x1.f9a3094361e8ep-14);
    p = p * u + K(-0x1.c02db32e91a5ap-11);
    p = p * u + K(0x1.565bcd0abeb61p-8);
    p = p * u + K(-0x1.b82ce3127546ap-6);
    p = p * u + K(0x1.ce2f21a04288fp-4);
    p = p * u + K(-0x1.812746b0379e3p-2);
    p = p * u + K(0x1.20dd750429b6dp+0);
    f64 far = K(1.0) - sbi_erfc_core(a);
    f32 y = (f32)(u < K(0.8) ? a * p : far);
    y = FLOAT32(BITS32(y) | sign);
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- erfc

FN f32 sbi_erfc_f32(f32 x) {
    f64 z = (f64)x;
    f64 a = z < K(0.0) ? K(0.0) - z : z;
    f64 tail = sbi_erfc_core(a > K(10.25) ? K(10.25) : a);
    f32 y = (f32)(z < K(0.0) ? K(2.0) - tail : tail);
    y = BITS32(x) == 0xb76c9f62u ? FLOAT32(0x3f800085u) : y; // nearer to a tie than binary64 can tell
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- silu_grad

// silu'(x) = s (1 + x (1 - s)), s = sigmoid(x). Beside its zero x0 = -1.27846...: (x - x0) g(x - x0).
FN f32 sbi_silu_grad_f32(f32 x) {
    f64 z = (f64)x;
    f64 e = sbi_decay(z);
    f64 inverse = K(1.0) / (K(1.0) + e);
    f64 other = e * inverse;
    f64 s = z < K(0.0) ? other : inverse;
    f64 c = z < K(0.0) ? inverse : other; // 1 - s
    f64 clamped = z < K(-300.0) ? K(-300.0) : z;
    clamped = clamped > K(300.0) ? K(300.0) : clamped;
    f64 y = sbi_towards_half(s * (K(1.0) + clamped * c), z);
    f64 d = (z - K(-0x1.474973c84120bp+0)) - K(-0x1.f8d74bc9ac154p-54);
    f64 g = K(-0x1.28d97ffe5701ap-25);
    g = g * d + K(0x1.c2e1da8a2b944p-21);
    g = g * d + K(0x1.3aecd4a3d4ac5p-19);
    g = g * d + K(-0x1.8ab8bc2b9df34p-19);
    g = g * d + K(-0x1.f2d8a7865a96dp-16);
    g = g * d + K(-0x1.5723b632642fep-15);
    g = g * d + K(0x1.8574d1421971bp-13);
    g = g * d + K(0x1.a2a7caff10db7p-11);
    g = g * d + K(0x1.098e92b8d2724p-13);
    g = g * d + K(-0x1.b0f82c499488bp-8);
    g = g * d + K(-0x1.f2d0e32bc298cp-7);
    g = g * d + K(0x1.353eb573ca46ap-6);
    g = g * d + K(0x1.2c563458cc0adp-3);
    g = g * d + K(0x1.be1410460527fp-3);
    f64 near = d * g;
    y = d * d < K(0x1p-4) ? near : y;
    f32 r = (f32)y;
    return x == x ? r : SBI_NAN32;
}

// ---------------------------------------------------------------- gelu, gelu_grad

// (1 - Phi(a)) e^(a^2 / 2), Phi the normal distribution: w p(t), w = 1 / (a + 11/2), t = (a - 11/2) w, 0 <= a <= 15.
FN f64 sbi_normal_tail_f32(f64 a) {
    f64 w = K(1.0) / (a + K(5.5));
    f64 t = (a - K(5.5)) * w;
    f64 p = K(-0x1.3028ac1974e58p-31);
    p = p * t + K(0x1.22a1eedd8df55p-28);
    p = p * t + K(0x1.58687dbf4715cp-25);
    p = p * t + K(0x1.f83e9ee82cc39p-25);
    p = p * t + K(-0x1.92ba607a88a55p-23);
    p = p * t + K(-0x1.2d3c3d1de895dp-22);
    p = p * t + K(0x1.8e3f9dbde6a06p-20);
    p = p * t + K(0x1.e553897e949c8p-22);
    p = p * t + K(-0x1.969752c47e271p-17);
    p = p * t + K(0x1.11c81e726455dp-16);
    p = p * t + K(0x1.2b888c1128d4cp-14);
    p = p * t + K(-0x1.54495561eb08bp-12);
    p = p * t + K(0x1.1ab34bfa95216p-12);
    p = p * t + K(0x1.4034e535ce7c3p-9);
    p = p * t + K(-0x1.c83edf47eb8cap-7);
    p = p * t + K(0x1.71707b5784085p-5);
    p = p * t + K(-0x1.c15806fa4111cp-4);
    p = p * t + K(0x1.be33e6ee98d88p-3);
    p = p * t + K(-0x1.77dbb5cddaa37p-2);
    p = p * t + K(0x1.1239b3f8c06e4p-1);
    p = p * t + K(-0x1.5ed05c7e41a2dp-1);
    p = p * t + K(0x1.8c2b8893b5c8dp-1);
    return w * p;
}

// ---------------------------------------------------------------- gelu

// x Phi(x). For tiny x it is x/2 + x^2 / sqrt(2 pi): see silu.
FN f32 sbi_gelu_f32(f32 x) {
    f64 z = (f64)x;
    f64 low = z < K(-15.0) ? K(-15.0) : z;
    f64 a = low < K(0.0) ? K(0.0) - low : low;
    a = a > K(15.0) ? K(15.0) : a;
    f64 tail = sbi_exp_core(K(-0.5) * (a * a)) * sbi_normal_tail_f32(a);
    f64 y = low * (z < K(0.0) ? tail : K(1.0) - tail);
    y = z * z < K(0x1p-120) ? K(0.5) * z : y;
    f32 r = (f32)sbi_above_half(y, z);
    r = BITS32(x) == 0x37b0a46fu ? FLOAT32(0x3730a531u) : r; // nearer to a tie than binary64 can tell
    return x == x ? r : SBI_NAN32;
}

// ---------------------------------------------------------------- gelu_grad

// Phi(x) + x phi(x) = e^(-a^2 / 2) (tail - a / sqrt(2 pi)) for x = -a, 1 less that for x = a.
// Beside its zero x0 = -0.75179...: (x - x0) g(x - x0).
FN f32 sbi_gelu_grad_f32(f32 x) {
    f64 z = (f64)x;
    f64 a = z < K(0.0) ? K(0.0) - z : z;
    a = a > K(15.0) ? K(15.0) : a;
    f64 e = sbi_exp_core(K(-0.5) * (a * a)) * (sbi_normal_tail_f32(a) - a * K(0x1.9884533d43651p-2));
    f64 d = (z - K(-0x1.80ead197f00b4p-1)) - K(0x1.13e74c58cada8p-56);
    f64 g = K(0x1.2dbc8a23fc800p-21);
    g = g * d + K(0x1.d04fab0ae096dp-22);
    g = g * d + K(-0x1.03f8264f1d43dp-17);
    g = g * d + K(-0x1.784a70ded327ep-17);
    g = g * d + K(0x1.6960ff0863522p-14);
    g = g * d + K(0x1.86c8637089644p-13);
    g = g * d + K(-0x1.8680f74626fcdp-11);
    g = g * d + K(-0x1.258a6d8546671p-9);
    g = g * d + K(0x1.297b9d6ff7345p-8);
    g = g * d + K(0x1.3e346def41f94p-6);
    g = g * d + K(-0x1.e4088244f8ff4p-7);
    g = g * d + K(-0x1.d2fa4c17c7e84p-4);
    g = g * d + K(-0x1.2a2ef9bb865aep-6);
    g = g * d + K(0x1.8d9a941de3ac5p-2);
    g = g * d + K(0x1.b9d98fa5a3215p-2);
    f64 y = z < K(0.0) ? e : K(1.0) - e;
    y = d * d < K(0x1p-4) ? d * g : y; // beside the zero of gelu'
    f32 r = (f32)y;
    r = BITS32(x) == 0x33206c99u ? FLOAT32(0x3f000001u) : r; // nearer to a tie than binary64 can tell
    r = BITS32(x) == 0xb2a06c99u ? FLOAT32(0x3effffffu) : r;
    r = BITS32(x) == 0x3c0a31fbu ? FLOAT32(0x3f01b90bu) : r;
    r = BITS32(x) == 0x3d95c72eu ? FLOAT32(0x3f0ee95fu) : r;
    return x == x ? r : SBI_NAN32;
}

// ---------------------------------------------------------------- gelu_tanh, gelu_tanh_grad

// e^-y, y = 2 sqrt(2 / pi) (a + 44715/10^6 a^3), 0 <= a <= 12 of 24 bits: y in two words, since up to 142 it would lose 7 bits.
FN f64 sbi_gelu_decay(f64 a) {
    f64 square = a * a; // exact; 26 bits and the rest
    f64 square_top = FLOAT64(BITS64(square) & 0xfffffffff8000000u);
    f64 p = square_top * K(0x1.2444f28p-4);
    f64 p_low = (square - square_top) * K(0x1.2444f28p-4) + square * K(0x1.26c5a57a4def1p-31);
    f64 q = p + K(0x1.9884533d43651p+0);
    f64 back = q - p;
    f64 q_low = (p - (q - back)) + (K(0x1.9884533d43651p+0) - back);
    q_low = q_low + (p_low + K(-0x1.cbc0d30ebfd15p-54));
    f64 q_top = FLOAT64(BITS64(q) & 0xfffffffff8000000u);
    f64 y = K(0.0) - a * q_top;
    f64 y_low = K(0.0) - a * ((q - q_top) + q_low);
    f64 t = sbi_exp_turns(y);
    f64 r = sbi_exp_rest(y, t - SBI_ROUNDER) + y_low;
    f64 v = K(1.0) + (r + (r * r) * sbi_exp_series(r));
    return FLOAT64(BITS64(v) + (BITS64(t) << 52));
}

// ---------------------------------------------------------------- gelu_tanh

// x (1 + tanh(y / 2)) / 2 = x / (1 + e^-y), y odd in x. For tiny x it is x/2 + x^2 / sqrt(2 pi): see silu.
FN f32 sbi_gelu_tanh_f32(f32 x) {
    f64 z = (f64)x;
    f64 low = z < K(-12.0) ? K(-12.0) : z;
    f64 a = low < K(0.0) ? K(0.0) - low : low;
    f64 e = sbi_gelu_decay(a > K(12.0) ? K(12.0) : a);
    f64 y = (z < K(0.0) ? low * e : z) / (K(1.0) + e);
    f32 r = (f32)sbi_above_half(y, z);
    r = BITS32(x) == 0xb7b0a46fu ? FLOAT32(0xb730a3adu) : r; // nearer to a tie than binary64 can tell
    return x == x ? r : SBI_NAN32;
}

// ---------------------------------------------------------------- gelu_tanh_grad

// s (1 + x (1 - s) y'), s = 1 / (1 + e^-y). Beside its zero x0 = -0.75246...: (x - x0) g(x - x0).
FN f32 sbi_gelu_tanh_grad_f32(f32 x) {
    f64 z = (f64)x;
    f64 a = z < K(0.0) ? K(0.0) - z : z;
    a = a > K(12.0) ? K(12.0) : a;
    f64 e = sbi_gelu_decay(a);
    f64 inverse = K(1.0) / (K(1.0) + e);
    f64 other = e * inverse;
    f64 s = z < K(0.0) ? other : inverse;
    f64 c = z < K(0.0) ? inverse : other; // 1 - s
    f64 slope = a * (K(0x1.9884533d43651p+0) + (a * a) * K(0x1.b6676bf7450f0p-3));
    slope = z < K(0.0) ? K(0.0) - slope : slope;
    f64 y = s * (K(1.0) + slope * c);
    f64 d = (z - K(-0x1.81429f9e97e4dp-1)) - K(0x1.4f523ed77dbdcp-55);
    f64 g = K(0x1.3964d3d8dcf35p-19);
    g = g * d + K(0x1.7dee5ee557f9dp-18);
    g = g * d + K(-0x1.0b7533ed2766fp-16);
    g = g * d + K(-0x1.250e53f62b6b3p-15);
    g = g * d + K(0x1.04933321a5946p-13);
    g = g * d + K(0x1.14bf44179ec54p-12);
    g = g * d + K(-0x1.e63f28e15831dp-11);
    g = g * d + K(-0x1.3d8d63de7aa1fp-9);
    g = g * d + K(0x1.58c9ed710b7b9p-8);
    g = g * d + K(0x1.427996dc0ce14p-6);
    g = g * d + K(-0x1.104a83edc0ce9p-6);
    g = g * d + K(-0x1.d2b773464701ep-4);
    g = g * d + K(-0x1.029615edb077ap-6);
    g = g * d + K(0x1.8cd1a2b2fff32p-2);
    g = g * d + K(0x1.b8bacd2c96b91p-2);
    y = d * d < K(0x1p-4) ? d * g : y;
    f32 r = (f32)y;
    r = BITS32(x) == 0x33206c99u ? FLOAT32(0x3f000001u) : r; // nearer to a tie than binary64 can tell
    r = BITS32(x) == 0xb2a06c99u ? FLOAT32(0x3effffffu) : r;
    return x == x ? r : SBI_NAN32;
}

// ---------------------------------------------------------------- inverse normal

// The z for which Phi(z) = (u + 1/2) / 2^32, for every word u (contract T11). By symmetry the lower half is enough:
// p < 1/2, q = 1/2 - p. Down to p = 0.075, -z = q (9/4 + A/B) in t = 3/16 - q^2; below, -z = s - 1/4 + A/B in
// t = s - 3/2, s = sqrt(-log p); each A/B a rational of degree 8 by 8, interpolated with 2^-60 to spare.
FN f32 sbi_normal_f32(u32 u) {
    u32 m = u >> 31 ? ~u : u;
    f64 p = ((f64)(i32)m + K(0.5)) * K(0x1p-32);
    f64 q = K(0.5) - p;
    f64 s = SQRT64(K(0.0) - sbi_log_core(p, K(0x1.00000000003ffp+52)));
    u64 tail = p < K(0.075) ? (u64)1 : (u64)0;
    f64 t = tail ? s - K(1.5) : K(0.1875) - q * q;
    f64 a = tail ? K(0x1.4e4e715de99fap-15) : K(-0x1.28fad592cc52cp+15);
    a = a * t + (tail ? K(0x1.7ad30eb5e464fp-10) : K(-0x1.53d3147362ee4p+17));
    a = a * t + (tail ? K(0x1.3d80445504744p-6) : K(-0x1.52730aafe046cp+17));
    a = a * t + (tail ? K(0x1.10539f00d60f9p-3) : K(-0x1.4d626bdb4709ap+15));
    a = a * t + (tail ? K(0x1.0c8094ab7fb30p-1) : K(0x1.0f989f9af2520p+13));
    a = a * t + (tail ? K(0x1.34105963b9ee3p+0) : K(0x1.42bc31841d8edp+12));
    a = a * t + (tail ? K(0x1.799ddc2a12750p+0) : K(0x1.8f3d9f06a22ddp+9));
    a = a * t + (tail ? K(0x1.796e3b7f918a1p-1) : K(0x1.9d37001ff092ap+5));
    a = a * t + (tail ? K(0x1.67e7b59946c1dp-10) : K(0x1.35fd20fb5c1e7p+0));
    f64 b = tail ? K(0x1.7ec0b828698edp-32) : K(0x1.46e579ed0c0d6p+14);
    b = b * t + (tail ? K(0x1.93635a7eebe80p-14) : K(0x1.1e055dbc6143fp+17));
    b = b * t + (tail ? K(0x1.af307b01131ebp-9) : K(0x1.f77f9b70cc897p+17));
    b = b * t + (tail ? K(0x1.4e02829a68418p-5) : K(0x1.62dc957f69ce5p+17));
    b = b * t + (tail ? K(0x1.07ee17ea0faeap-2) : K(0x1.e3daf8a064410p+15));
    b = b * t + (tail ? K(0x1.dfa29cd2dacefp-1) : K(0x1.5b61a3c2496e8p+13));
    b = b * t + (tail ? K(0x1.f7fbf09d5f79cp+0) : K(0x1.0b6d7f711a37fp+10));
    b = b * t + (tail ? K(0x1.1963af82003a6p+1) : K(0x1.a0049a6a989efp+5));
    b = b * t + K(1.0);
    f64 y = a / b;
    y = tail ? (s - K(0.25)) + y : q * K(2.25) + q * y;
    f32 z = (f32)y;
    z = m == 0x47e8d521u ? FLOAT32(0x3f1486b3u) : z; // nearer to a tie than binary64 can tell
    return u >> 31 ? z : 0.0f - z;
}

// ---------------------------------------------------------------- in pairs

// A device whose binary64 is integers (or whoever says SBI_PAIRS) takes the same values from pairs of float32.
#if defined(SBI_F64_CLASS) || defined(SBI_PAIRS)
#include "pairs.h"
#define sbi_exp_f32 sbi_pair_exp_f32
#define sbi_exp2_f32 sbi_pair_exp2_f32
#define sbi_expm1_f32 sbi_pair_expm1_f32
#define sbi_log_f32 sbi_pair_log_f32
#define sbi_log1p_f32 sbi_pair_log1p_f32
#define sbi_log2_f32 sbi_pair_log2_f32
#define sbi_log10_f32 sbi_pair_log10_f32
#define sbi_rsqrt_f32 sbi_pair_rsqrt_f32
#define sbi_tanh_f32 sbi_pair_tanh_f32
#define sbi_sin_near_f32 sbi_pair_sin_f32
#define sbi_cos_near_f32 sbi_pair_cos_f32
#define sbi_sin_f32 sbi_pair_sin_f32
#define sbi_cos_f32 sbi_pair_cos_f32
#define sbi_trig_is_far(x) 0u
#define sbi_sigmoid_f32 sbi_pair_sigmoid_f32
#define sbi_log_sigmoid_f32 sbi_pair_log_sigmoid_f32
#define sbi_softplus_f32 sbi_pair_softplus_f32
#define sbi_silu_f32 sbi_pair_silu_f32
#define sbi_silu_grad_f32 sbi_pair_silu_grad_f32
#define sbi_erf_f32 sbi_pair_erf_f32
#define sbi_erfc_f32 sbi_pair_erfc_f32
#define sbi_gelu_f32 sbi_pair_gelu_f32
#define sbi_gelu_grad_f32 sbi_pair_gelu_grad_f32
#define sbi_gelu_tanh_f32 sbi_pair_gelu_tanh_f32
#define sbi_gelu_tanh_grad_f32 sbi_pair_gelu_tanh_grad_f32
#define sbi_normal_f32 sbi_pair_normal_f32
#endif
#endif
