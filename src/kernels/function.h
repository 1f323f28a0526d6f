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

// e^z in binary64, |z| < 700, within 1 ulp: z = n log 2 + r, e^r = 1 + r + r^2 q(r).
FN f64 sbi_exp_core(f64 z) {
    f64 t = z * K(0x1.71547652b82fep+0) + SBI_ROUNDER;
    f64 n = t - SBI_ROUNDER;
    f64 r = (z - n * K(0x1.62e42fefap-1)) - n * K(0x1.cf79abc9e3b3ap-40);
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
    q = q * r + K(0.5);
    f64 p = K(1.0) + (r + (r * r) * q);
    return FLOAT64(BITS64(p) + (BITS64(t) << 52));
}

FN f32 sbi_exp_f32(f32 x) {
    f64 z = (f64)x;
    z = z > K(100.0) ? K(100.0) : z; // overflow and underflow happen in the last rounding
    z = z < K(-120.0) ? K(-120.0) : z;
    f32 y = (f32)sbi_exp_core(z);
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
    u64 step = z > K(0.0) ? (u64)1 : ~(u64)0;
    step = z * z < K(0x1p-120) && z != K(0.0) ? step : (u64)0;
    f32 r = (f32)FLOAT64(BITS64(y) + step);
    r = BITS32(x) == 0xb7100000u ? FLOAT32(0xb68fffd8u) : r; // -9 2^-20: nearer to a tie than binary64 can tell
    return x == x ? r : SBI_NAN32;
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
#endif
