// SPDX-License-Identifier: Apache-2.0
// The functions of function.h in pairs of float32, for a device whose binary64 is 64-bit integers
// (SBI_PAIRS): the same bits by +, -, *, DIV32, SQRT32 and FMA of float32 and integers alone.
//
// A pair is h + l, |l| no more than half a unit of h in the last place: some 48 bits. Where a value
// is made of parts of falling size it stays in three words until sbi_pair_round rounds it once, so
// that only the smaller parts carry errors: 2^-49 of the value and mostly less. Nothing branches,
// and nothing becomes subnormal on the way: exponents stand aside (k) until the end.
// Inputs that come out wrong all the same, being nearer to a tie than that, stand with their values
// in pair_constants.h, which tools/pairs.py writes; so do the coefficients. `samebits
// prove` at level soft64 goes through all inputs; docs/proofs.tsv holds what it proved.
#ifndef SBI_PAIRS_H
#define SBI_PAIRS_H

#include "pair_constants.h"

// ---------------------------------------------------------------- pairs

typedef struct sbi_pair32 {
    f32 h, l;
} sbi_pair32;

typedef struct sbi_words { // h + m + l
    f32 h, m, l;
} sbi_words;

// 2^k, k from -126 to 127.
FN f32 sbi_pair_power(i32 k) { return FLOAT32((u32)(k + 127) << 23); }

// The same where what it multiplies is added to 1: 2^-100 is as good as less.
FN f32 sbi_pair_weight(i32 k) { return sbi_pair_power(k > -100 ? k : -100); }

// a + b exactly, |a| >= |b|; a + b exactly; a b exactly.
FN sbi_pair32 sbi_pair_fast(f32 a, f32 b) {
    f32 h = a + b;
    sbi_pair32 y = {h, b - (h - a)};
    return y;
}
FN sbi_pair32 sbi_pair_sum(f32 a, f32 b) {
    f32 h = a + b, of_b = h - a;
    sbi_pair32 y = {h, (a - (h - of_b)) + (b - of_b)};
    return y;
}
FN sbi_pair32 sbi_pair_product(f32 a, f32 b) {
    f32 h = a * b;
    sbi_pair32 y = {h, FMA(a, b, -h)};
    return y;
}

FN sbi_pair32 sbi_pair_add(sbi_pair32 a, sbi_pair32 b) {
    sbi_pair32 s = sbi_pair_sum(a.h, b.h);
    return sbi_pair_fast(s.h, s.l + (a.l + b.l));
}
FN sbi_pair32 sbi_pair_times(sbi_pair32 a, sbi_pair32 b) {
    sbi_pair32 p = sbi_pair_product(a.h, b.h);
    return sbi_pair_fast(p.h, p.l + FMA(a.h, b.l, a.l * b.h));
}
FN sbi_pair32 sbi_pair_over(sbi_pair32 a, sbi_pair32 b) {
    f32 q = DIV32(a.h, b.h), rest = FMA(-q, b.h, a.h) + FMA(-q, b.l, a.l); // (the first is exact)
    return sbi_pair_fast(q, DIV32(rest, b.h));
}
// By a power of two.
FN sbi_pair32 sbi_pair_scale(sbi_pair32 a, f32 s) {
    sbi_pair32 y = {a.h * s, a.l * s};
    return y;
}

// sum of c[i] x^i: `singles` coefficients of one word from the highest on, then `pairs` of two.
FN sbi_pair32 sbi_pair_series(sbi_pair32 x, i32 at, i32 singles, i32 pairs) {
    f32 q = sbi_pair_constants[at];
    UNROLL
    for (i32 i = 1; i < singles; i++) q = FMA(q, x.h, sbi_pair_constants[at + i]);
    sbi_pair32 p = {q, 0.0f};
    UNROLL
    for (i32 i = 0; i < pairs; i++) {
        sbi_pair32 t = sbi_pair_times(p, x),
                   s = sbi_pair_sum(sbi_pair_constants[at + singles + 2 * i], t.h);
        p = sbi_pair_fast(s.h, s.l + (sbi_pair_constants[at + singles + 2 * i + 1] + t.l));
    }
    return p;
}

FN sbi_words sbi_words_add(sbi_words w, f32 a) {
    sbi_pair32 s = sbi_pair_sum(w.h, a), t = sbi_pair_sum(w.m, s.l);
    sbi_words y = {s.h, t.h, w.l + t.l};
    return y;
}
FN sbi_words sbi_words_add_pair(sbi_words w, sbi_pair32 a) {
    return sbi_words_add(sbi_words_add(w, a.h), a.l);
}
FN sbi_words sbi_words_times(sbi_words w, f32 a) {
    sbi_pair32 p = sbi_pair_product(w.h, a), q = sbi_pair_product(w.m, a),
               s = sbi_pair_sum(p.l, q.h);
    sbi_words y = {p.h, s.h, s.l + FMA(w.l, a, q.l)};
    return y;
}
FN sbi_pair32 sbi_words_pair(sbi_words w) { return sbi_pair_fast(w.h, w.m + w.l); }
FN sbi_words sbi_words_pick(i32 first, sbi_words a, sbi_words b) {
    sbi_words y = {first ? a.h : b.h, first ? a.m : b.m, first ? a.l : b.l};
    return y;
}

// w 2^k rounded once, k from -250 to 144. Where the value is subnormal, 2^23 of its units are added
// first, so that the sum has their place. The last sum but one is rounded to odd: a word halfway
// between two says which side it is on.
FN f32 sbi_pair_round(sbi_words w, i32 k) {
    u32 sign = BITS32(w.h) & 0x80000000u;
    f32 least = sbi_pair_power(k > 0 ? -126 : -126 - k); // below it w 2^k is subnormal
    f32 base = FLOAT32(BITS32(w.h) ^ sign) < least ? FLOAT32(BITS32(least) | sign) : 0.0f;
    sbi_pair32 s = sbi_pair_sum(base, w.h), t = sbi_pair_sum(s.l, w.m),
               top = sbi_pair_sum(s.h, t.h);
    sbi_pair32 rest = sbi_pair_sum(top.l, t.l + w.l);
    u32 bits = BITS32(rest.h);
    u32 step = ((BITS32(rest.l) ^ bits) >> 31) != 0u ? ~(u32)0 : 1u; // towards rest.l
    bits = rest.l != 0.0f && (bits & 1u) == 0u ? bits + step : bits;
    f32 y = (top.h + FLOAT32(bits)) - base;
    i32 first = (k - (k & 1)) / 2;
    return FLOAT32(BITS32((y * sbi_pair_power(first)) * sbi_pair_power(k - first)) | sign);
}

// y, or what stands beside x among the 2^steps mends from `at` on, which are in ascending order.
FN f32 sbi_pair_mend(f32 y, u32 x, i32 at, i32 steps) {
    UNROLL
    for (i32 i = 1; i <= steps; i++) {
        i32 step = (i32)1 << (steps - i);
        at = sbi_pair_mends[2 * (at + step)] <= x ? at + step : at;
    }
    return sbi_pair_mends[2 * at] == x ? FLOAT32(sbi_pair_mends[2 * at + 1]) : y;
}

// |x|; the same kept from `low` to `high`; NaN stays.
FN f32 sbi_pair_size(f32 x) { return FLOAT32(BITS32(x) & 0x7fffffffu); }
FN f32 sbi_pair_clamp(f32 x, f32 low, f32 high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}
FN f32 sbi_pair_signed(f32 y, f32 x) { return FLOAT32(BITS32(y) | (BITS32(x) & 0x80000000u)); }

// p 2^k itself, or (and k is 0 then) what it leaves of top.
FN sbi_words sbi_pair_tail(sbi_pair32 p, i32 *k, i32 itself, f32 top) {
    f32 scale = sbi_pair_weight(*k);
    sbi_words tail = {p.h, p.l, 0.0f}, rest = {top, -p.h * scale, -p.l * scale};
    *k = itself ? *k : 0;
    return sbi_words_pick(itself, tail, rest);
}

// For a function that is x / 2 and a little beside 0: x, but 2^64 x where that is tiny, and -64;
// and a size that stands for |x| in what is little, so that it stays in sight.
FN f32 sbi_pair_lift(f32 x, i32 *k) {
    i32 tiny = sbi_pair_size(x) < 0x1p-60f ? 1 : 0;
    *k = tiny ? -64 : 0;
    return tiny ? x * 0x1p64f : x;
}
FN f32 sbi_pair_seen(f32 x) { return sbi_pair_clamp(sbi_pair_size(x), 0x1p-60f, 0x1p127f); }

// ---------------------------------------------------------------- exp

// z = n log 2 / 64 + r, |z| < 180, |r| < 0.0055: e^r - 1, and n. n times the first 9 bits of log 2
// / 64 is exact, and so is its difference with z.h.
FN sbi_pair32 sbi_pair_exp_rest(sbi_words z, i32 *n) {
    f32 t = FMA(z.h, 0x1.715476p6f, 0x1.8p23f), turns = t - 0x1.8p23f;
    *n = (i32)(BITS32(t) - 0x4b400000u);
    sbi_pair32 off = sbi_pair_product(turns, 0x1.bd0106p-19f); // turns (0x1.63p-7 - log 2 / 64)
    sbi_pair32 a = sbi_pair_sum(FMA(turns, -0x1.63p-7f, z.h), off.h), b = sbi_pair_sum(a.h, z.m);
    sbi_pair32 r = sbi_pair_fast(b.h, (a.l + b.l) + (FMA(turns, -0x1.cf79acp-46f, off.l) + z.l));
    // r + r^2 (1/2 + r g)
    f32 q = FMA(r.h, FMA(r.h, 0x1.6c16c2p-10f, 0x1.111112p-7f), 0x1.555556p-5f);
    sbi_pair32 g = sbi_pair_fast(0x1.555556p-3f, FMA(r.h, q, -0x1.555556p-28f)),
               one_half = {0.5f, 0.0f};
    sbi_pair32 c = sbi_pair_add(one_half, sbi_pair_times(r, g));
    return sbi_pair_add(r, sbi_pair_times(sbi_pair_times(r, r), c));
}

// e^z - minus, over 2^k: minus is 0, or 2^-k for e^z - 1.
FN sbi_words sbi_pair_exp_less(sbi_words z, i32 one, i32 *k) {
    i32 n, j;
    sbi_pair32 p = sbi_pair_exp_rest(z, &n);
    j = n & 63;
    *k = (n - j) / 64;
    f32 minus = one ? sbi_pair_power(*k < 126 ? -*k : -126) : 0.0f;
    f32 high = sbi_pair_constants[SBI_PAIR_POWERS + 2 * j],
        low = sbi_pair_constants[SBI_PAIR_POWERS + 2 * j + 1];
    sbi_pair32 a = sbi_pair_product(high, p.h), d = sbi_pair_sum(high, -minus);
    sbi_words w = {d.h, d.l, 0.0f};
    w = sbi_words_add(sbi_words_add(w, a.h), low);
    w.l = w.l + (a.l + FMA(high, p.l, low * p.h));
    return w;
}
FN sbi_words sbi_pair_exp_words(sbi_words z, i32 *k) { return sbi_pair_exp_less(z, 0, k); }
FN sbi_pair32 sbi_pair_exp(f32 h, f32 l, i32 *k) {
    sbi_words z = {h, l, 0.0f};
    return sbi_words_pair(sbi_pair_exp_words(z, k));
}

FN f32 sbi_pair_exp_f32(f32 x) {
    i32 k;
    sbi_words z = {sbi_pair_clamp(x, -120.0f, 100.0f), 0.0f, 0.0f};
    z = sbi_pair_exp_words(z, &k);
    f32 y = sbi_pair_mend(sbi_pair_round(z, k), BITS32(x), SBI_MEND_EXP);
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- expm1

FN f32 sbi_pair_expm1_f32(f32 x) {
    i32 k;
    sbi_words z = {sbi_pair_clamp(x, -20.0f, 100.0f), 0.0f, 0.0f};
    z = sbi_pair_exp_less(z, 1, &k);
    f32 y = sbi_pair_mend(sbi_pair_round(z, k), BITS32(x), SBI_MEND_EXPM1);
    y = sbi_pair_size(x) < 0x1p-25f ? x : y;
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- tanh

// tanh a = E / (E + 2), E = e^(2a) - 1, for a = |x|.
FN f32 sbi_pair_tanh_f32(f32 x) {
    i32 k;
    f32 a = sbi_pair_clamp(sbi_pair_size(x), 0x1p-13f, 10.0f);
    sbi_words z = {a + a, 0.0f, 0.0f};
    sbi_pair32 e = sbi_words_pair(sbi_pair_exp_less(z, 1, &k)), two = {2.0f, 0.0f};
    e = sbi_pair_scale(e, sbi_pair_power(k));
    sbi_pair32 q = sbi_pair_over(e, sbi_pair_add(two, e));
    sbi_words w = {q.h, q.l, 0.0f};
    f32 y = sbi_pair_mend(sbi_pair_round(w, 0), BITS32(sbi_pair_size(x)), SBI_MEND_TANH);
    y = sbi_pair_signed(y, x);
    y = sbi_pair_size(x) < 0x1p-12f ? x : y;
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- exp2

FN f32 sbi_pair_exp2_f32(f32 x) {
    i32 k;
    f32 a = sbi_pair_clamp(x, -160.0f, 130.0f), t = a + 0x1.8p23f;
    sbi_words log2 = {SBI_PAIR_LN2},
              w = sbi_pair_exp_words(sbi_words_times(log2, a - (t - 0x1.8p23f)), &k);
    f32 y = sbi_pair_round(w, k + (i32)(BITS32(t) - 0x4b400000u));
    y = sbi_pair_mend(y, BITS32(x), SBI_MEND_EXP2);
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- log

// log(1 + f) - f = s (h + S(s^2)) - h, s = f / (2 + f), h = f^2 / 2, for 1 + f from sqrt(1/2) to
// sqrt(2).
FN sbi_pair32 sbi_pair_bend(sbi_pair32 f) {
    sbi_pair32 two = {2.0f, 0.0f}, s = sbi_pair_over(f, sbi_pair_add(two, f));
    sbi_pair32 h = sbi_pair_scale(sbi_pair_times(f, f), 0.5f), z = sbi_pair_times(s, s);
    sbi_pair32 tail = sbi_pair_times(z, sbi_pair_series(z, SBI_PAIR_LOG));
    return sbi_pair_add(sbi_pair_scale(h, -1.0f), sbi_pair_times(s, sbi_pair_add(h, tail)));
}

// x = 2^e m, m from sqrt(1/2) to sqrt(2), x positive and normal: m, and e.
FN f32 sbi_pair_split(f32 x, f32 *e) {
    u32 t = BITS32(x) + (0x3f800000u - 0x3f3504f3u);
    *e = (f32)((i32)(t >> 23) - 127);
    return FLOAT32((t & 0x007fffffu) + 0x3f3504f3u);
}

// e unit + log(1 + f) scale: the logarithm to a base, of 2^e (1 + f).
FN sbi_words sbi_pair_log_words(f32 e, sbi_pair32 f, sbi_words unit, sbi_words scale) {
    sbi_pair32 bend = sbi_pair_bend(f), factor = {scale.h, scale.m};
    sbi_words w = sbi_words_times(unit, e), v = sbi_words_times(scale, f.h);
    w = sbi_words_add(sbi_words_add(w, v.h), v.m);
    w = sbi_words_add_pair(w, sbi_pair_times(bend, factor));
    w.l = w.l + FMA(scale.h, f.l, v.l);
    return w;
}

FN f32 sbi_pair_log_base(f32 x, sbi_words unit, sbi_words scale) {
    f32 e;
    i32 small = x < 0x1p-126f ? 1 : 0;
    sbi_pair32 f = {sbi_pair_split(small ? x * 0x1p24f : x, &e) - 1.0f, 0.0f};
    f32 y = sbi_pair_round(sbi_pair_log_words(small ? e - 24.0f : e, f, unit, scale), 0);
    y = x < FLOAT32(0x7f800000u) ? y : x;
    y = x == 0.0f ? FLOAT32(0xff800000u) : y;
    return x >= 0.0f ? y : SBI_NAN32;
}

FN f32 sbi_pair_log_f32(f32 x) {
    sbi_words unit = {SBI_PAIR_LN2}, scale = {1.0f, 0.0f, 0.0f};
    return sbi_pair_mend(sbi_pair_log_base(x, unit, scale), BITS32(x), SBI_MEND_LOG);
}

// ---------------------------------------------------------------- log2

FN f32 sbi_pair_log2_f32(f32 x) {
    sbi_words unit = {1.0f, 0.0f, 0.0f}, scale = {SBI_PAIR_LOG2_E};
    return sbi_pair_mend(sbi_pair_log_base(x, unit, scale), BITS32(x), SBI_MEND_LOG2);
}

// ---------------------------------------------------------------- log10

FN f32 sbi_pair_log10_f32(f32 x) {
    sbi_words unit = {SBI_PAIR_LOG10_2}, scale = {SBI_PAIR_LOG10_E};
    return sbi_pair_mend(sbi_pair_log_base(x, unit, scale), BITS32(x), SBI_MEND_LOG10);
}

// ---------------------------------------------------------------- log1p

// log of w = 1 + x, a pair exactly.
FN f32 sbi_pair_log1p_f32(f32 x) {
    f32 e, inside = x > -1.0f && x < FLOAT32(0x7f800000u) ? x : 0.0f;
    sbi_pair32 w = sbi_pair_sum(1.0f, inside);
    f32 m = sbi_pair_split(w.h, &e);
    sbi_pair32 f = sbi_pair_sum(m - 1.0f, w.l * sbi_pair_power(e < 126.0f ? -(i32)e : -126));
    sbi_words unit = {SBI_PAIR_LN2}, scale = {1.0f, 0.0f, 0.0f};
    f32 y = sbi_pair_round(sbi_pair_log_words(e, f, unit, scale), 0);
    y = sbi_pair_mend(y, BITS32(x), SBI_MEND_LOG1P);
    y = x < FLOAT32(0x7f800000u) ? y : x;
    y = sbi_pair_size(x) < 0x1p-25f ? x : y;
    y = x == -1.0f ? FLOAT32(0xff800000u) : y;
    return x >= -1.0f ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- rsqrt

// m 4^j, m from 1 to 4: y = 1 / sqrt(m) in float32, corrected by its residual e = 1 - m y^2, which
// is exact in three words: y (1 + e/2 + 3/8 e^2).
FN f32 sbi_pair_rsqrt_f32(f32 x) {
    i32 small = x < 0x1p-126f ? 1 : 0;
    u32 bits = BITS32(small ? x * 0x1p24f : x);
    i32 e = (i32)(bits >> 23) - 127, odd = e & 1;
    f32 m = FLOAT32((bits & 0x007fffffu) | (0x3f800000u + ((u32)odd << 23)));
    f32 y = DIV32(1.0f, SQRT32(m));
    sbi_pair32 square = sbi_pair_product(y, y), a = sbi_pair_product(m, square.h),
               b = sbi_pair_product(m, square.l);
    sbi_words r = {1.0f - a.h, -a.l, 0.0f};
    r = sbi_words_add(sbi_words_add(r, -b.h), -b.l);
    sbi_pair32 d = sbi_pair_product(0.5f * y, r.h);
    sbi_words w = {y, d.h, d.l + (0.5f * y) * (r.m + (0.75f * r.h) * r.h)};
    f32 z = sbi_pair_round(w, (odd - e) / 2 + (small ? 12 : 0));
    z = x < FLOAT32(0x7f800000u) ? z : 0.0f;
    z = x == 0.0f ? sbi_pair_signed(FLOAT32(0x7f800000u), x) : z;
    return x >= 0.0f ? z : SBI_NAN32;
}

// ---------------------------------------------------------------- sin, cos

// 32 bits of 2/pi 2^-64, from bit s of word i on.
FN u32 sbi_pair_digit(i32 i, i32 s) {
    return (sbi_pair_two_over_pi[i] << s) | ((sbi_pair_two_over_pi[i + 1] >> 1) >> (31 - s));
}

// |x| = n pi/2 + r, |r| <= pi/4: r, and n modulo 4. From 3/4 on |x| = m 2^k times 2/pi modulo 4 in
// 128 bits (Payne and Hanek).
FN sbi_words sbi_pair_turn(f32 x, u32 *n) {
    u32 bits = BITS32(x) & 0x7fffffffu, m = (bits & 0x007fffffu) | 0x00800000u;
    i32 near = sbi_pair_size(x) < 0.75f ? 1 : 0;
    u32 exponent = bits >> 23, skip = (exponent > 88u ? exponent : 88u) -
                                      88u; // bits of 2/pi 2^-64 that give multiples of 4
    i32 i = (i32)(skip >> 5), s = (i32)(skip & 31u);
    u64 p0 = (u64)m * sbi_pair_digit(i + 3, s);
    u64 p1 = (u64)m * sbi_pair_digit(i + 2, s) + (p0 >> 32);
    u64 p2 = (u64)m * sbi_pair_digit(i + 1, s) + (p1 >> 32);
    u64 p3 = (u64)m * sbi_pair_digit(i, s) + (p2 >> 32);
    u64 turn = (p3 << 32) | (p2 & 0xffffffffu); // in units of 2^-62 quarters, modulo 4
    u64 up = turn + 0x2000000000000000u, part = up & 0x3fffffffffffffffu; // plus one half
    u32 low = (u32)p1;
    *n = near ? 0u : (u32)(up >> 62);
    // 24 bits a word, the first less the half
    sbi_words w = {(f32)((i32)(part >> 38) - 0x800000) * 0x1p-24f, 0.0f, 0.0f};
    w = sbi_words_add(w, (f32)(i32)((part >> 14) & 0xffffffu) * 0x1p-48f);
    w = sbi_words_add(w, (f32)(i32)(((part & 0x3fffu) << 10) | (low >> 22)) * 0x1p-72f);
    w = sbi_words_add(w, (f32)(i32)(low & 0x3fffffu) * 0x1p-94f);
    sbi_words half_pi = {SBI_PAIR_HALF_PI}, r = sbi_words_times(half_pi, w.h),
              rest = sbi_words_times(half_pi, w.m);
    r = sbi_words_add(r, rest.h);
    r.l = r.l + FMA(half_pi.h, w.l, rest.m);
    sbi_words plain = {sbi_pair_size(x), 0.0f, 0.0f};
    return sbi_words_pick(near, plain, r);
}

// sin(|x| + quarter pi/2).
FN f32 sbi_pair_trig(f32 x, u32 quarter) {
    u32 n;
    sbi_words r = sbi_pair_turn(x, &n);
    n = n + quarter;
    sbi_pair32 a = sbi_pair_fast(r.h, r.m), z = sbi_pair_times(a, a);
    sbi_pair32 p = sbi_pair_times(sbi_pair_times(a, z), sbi_pair_series(z, SBI_PAIR_SIN));
    sbi_pair32 q = sbi_pair_times(sbi_pair_times(z, z), sbi_pair_series(z, SBI_PAIR_COS));
    sbi_words sine = {a.h, a.l, r.l + p.l}, cosine = {1.0f, 0.0f, q.l};
    sine = sbi_words_add(sine, p.h);
    cosine = sbi_words_add(sbi_words_add_pair(cosine, sbi_pair_scale(z, -0.5f)), q.h);
    f32 y = sbi_pair_round(sbi_words_pick((i32)(n & 1u), cosine, sine), 0);
    return FLOAT32(BITS32(y) ^ ((n & 2u) << 30));
}

// ---------------------------------------------------------------- sin

FN f32 sbi_pair_sin_f32(f32 x) {
    u32 bits = BITS32(x) & 0x7fffffffu;
    f32 y = sbi_pair_mend(sbi_pair_trig(x, 0u), bits, SBI_MEND_SIN);
    y = FLOAT32(BITS32(y) ^ (BITS32(x) ^ bits));
    y = sbi_pair_size(x) < 0x1p-12f ? x : y;
    return bits < 0x7f800000u ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- cos

FN f32 sbi_pair_cos_f32(f32 x) {
    u32 bits = BITS32(x) & 0x7fffffffu;
    f32 y = sbi_pair_mend(sbi_pair_trig(x, 1u), bits, SBI_MEND_COS);
    return bits < 0x7f800000u ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- gates

// q of 1 / (1 + e^y) = q 2^k, k <= 0, for y >= 0.
FN sbi_pair32 sbi_pair_gate(sbi_words y, i32 *k) {
    sbi_words z = {-y.h, -y.m, -y.l};
    sbi_pair32 one = {1.0f, 0.0f}, e = sbi_words_pair(sbi_pair_exp_words(z, k));
    return sbi_pair_over(e, sbi_pair_add(one, sbi_pair_scale(e, sbi_pair_weight(*k))));
}

// x / (1 + e^-y), y odd in x and given for |x|: q 2^k x below 0, x - q 2^k x above; beside 0 x/2 +
// |x| y/4 - |x| y^3/48.
FN f32 sbi_pair_gated(f32 x, sbi_words y) {
    i32 k, lift;
    f32 a = sbi_pair_clamp(x, -110.0f, 200.0f), raised = sbi_pair_lift(a, &lift),
        size = sbi_pair_size(raised);
    sbi_pair32 q = sbi_pair_gate(y, &k), at = {a < 110.0f ? a : 110.0f, 0.0f},
               p = sbi_pair_times(q, at);
    sbi_pair32 fine = {y.h * 0.25f, y.m * 0.25f}, wide = {size, 0.0f},
               t = sbi_pair_times(fine, wide);
    sbi_words beside = {0.5f * raised, t.h, t.l - (size * y.h) * (y.h * y.h) * 0x1.555556p-6f};
    i32 small = sbi_pair_size(x) < 0x1p-10f ? 1 : 0;
    sbi_words w = sbi_words_pick(small, beside, sbi_pair_tail(p, &k, x < 0.0f ? 1 : 0, a));
    f32 z = sbi_pair_round(w, small ? lift : k);
    return x > 200.0f ? x : z;
}

// The slope of x / (1 + e^-y) with s = x y': b (1 - s i) below 0, b = q 2^k, i = 1 - b; 1 less that
// above.
FN sbi_words sbi_pair_gate_slope(f32 x, sbi_words y, sbi_pair32 s, i32 *k) {
    sbi_pair32 one = {1.0f, 0.0f}, q = sbi_pair_gate(y, k);
    sbi_pair32 i = sbi_pair_add(one, sbi_pair_scale(q, -sbi_pair_weight(*k)));
    sbi_pair32 t =
        sbi_pair_times(q, sbi_pair_add(one, sbi_pair_scale(sbi_pair_times(s, i), -1.0f)));
    return sbi_pair_tail(t, k, x < 0.0f ? 1 : 0, 1.0f);
}

// (x - zero) g(x - zero) within 1/4 of a zero, else w.
FN sbi_words sbi_pair_beside_zero(f32 x, sbi_words zero, i32 at, i32 singles, i32 pairs,
                                  sbi_words w, i32 *k) {
    sbi_pair32 d = sbi_pair_sum(x - zero.h, -zero.m);
    d.l = d.l - zero.l;
    sbi_pair32 t = sbi_pair_times(d, sbi_pair_series(d, at, singles, pairs));
    i32 near = sbi_pair_size(d.h) < 0.25f ? 1 : 0;
    sbi_words y = {t.h, t.l, 0.0f};
    *k = near ? 0 : *k;
    return sbi_words_pick(near, y, w);
}

// ---------------------------------------------------------------- sigmoid

FN f32 sbi_pair_sigmoid_f32(f32 x) {
    i32 k;
    sbi_words y = {sbi_pair_clamp(sbi_pair_size(x), 0.0f, 110.0f), 0.0f, 0.0f};
    sbi_pair32 q = sbi_pair_gate(y, &k);
    sbi_words beside = {0.5f, x * 0.25f, (x * x) * x * -0x1.555556p-6f};
    i32 small = sbi_pair_size(x) < 0x1p-10f ? 1 : 0;
    sbi_words w = sbi_words_pick(small, beside, sbi_pair_tail(q, &k, x < 0.0f ? 1 : 0, 1.0f));
    f32 z = sbi_pair_round(w, small ? 0 : k);
    z = sbi_pair_mend(z, BITS32(x), SBI_MEND_SIGMOID);
    return x == x ? z : SBI_NAN32;
}

// ---------------------------------------------------------------- silu

FN f32 sbi_pair_silu_f32(f32 x) {
    sbi_words y = {sbi_pair_clamp(sbi_pair_seen(x), 0.0f, 110.0f), 0.0f, 0.0f};
    f32 z = sbi_pair_mend(sbi_pair_gated(x, y), BITS32(x), SBI_MEND_SILU);
    return x == x ? z : SBI_NAN32;
}

// ---------------------------------------------------------------- silu_grad

FN f32 sbi_pair_silu_grad_f32(f32 x) {
    i32 k;
    f32 a = sbi_pair_clamp(sbi_pair_size(x), 0.0f, 125.0f);
    sbi_words y = {a, 0.0f, 0.0f}, zero = {SBI_PAIR_SILU_ZERO};
    sbi_words beside = {0.5f, 0.5f * x, (x * x) * x * -0x1.555556p-4f};
    sbi_pair32 s = {a, 0.0f};
    sbi_words w = sbi_pair_gate_slope(x, y, s, &k);
    w = sbi_pair_beside_zero(x, zero, SBI_PAIR_SILU_GRAD, w, &k);
    i32 small = sbi_pair_size(x) < 0x1p-11f ? 1 : 0;
    f32 z = sbi_pair_round(sbi_words_pick(small, beside, w), small ? 0 : k);
    z = sbi_pair_mend(z, BITS32(x), SBI_MEND_SILU_GRAD);
    return x == x ? z : SBI_NAN32;
}

// ---------------------------------------------------------------- gelu_tanh, gelu_tanh_grad

// 2 sqrt(2 / pi) (a + 44715/10^6 a^3), to 2^-60.
FN sbi_words sbi_pair_gelu_argument(f32 a) {
    sbi_words linear = {SBI_PAIR_GELU_LINEAR}, cubic = {SBI_PAIR_GELU_CUBIC};
    sbi_pair32 square = sbi_pair_product(a, a), low = sbi_pair_product(cubic.h, square.l);
    sbi_words w = sbi_words_times(cubic, square.h);
    w = sbi_words_add(sbi_words_add(w, low.h), linear.h);
    w = sbi_words_add(w, linear.m);
    w.l = w.l + (linear.l + FMA(cubic.m, square.l, low.l));
    return sbi_words_times(w, a);
}

// ---------------------------------------------------------------- gelu_tanh

FN f32 sbi_pair_gelu_tanh_f32(f32 x) {
    sbi_words y = sbi_pair_gelu_argument(sbi_pair_clamp(sbi_pair_seen(x), 0.0f, 11.0f));
    f32 z = sbi_pair_mend(sbi_pair_gated(x, y), BITS32(x), SBI_MEND_GELU_TANH);
    return x == x ? z : SBI_NAN32;
}

// ---------------------------------------------------------------- gelu_tanh_grad

// s = a y' = c a + 3 d a^3, y = c a + d a^3. Beside 0 the slope is 1/2 + c x/2 + (d - c^3/12) x^3.
FN f32 sbi_pair_gelu_tanh_grad_f32(f32 x) {
    i32 k;
    f32 a = sbi_pair_clamp(sbi_pair_size(x), 0.0f, 11.0f);
    sbi_words linear = {SBI_PAIR_GELU_LINEAR}, cubic = {SBI_PAIR_GELU_CUBIC},
              zero = {SBI_PAIR_GELU_TANH_ZERO};
    sbi_pair32 b = {linear.h, linear.m}, here = {a, 0.0f};
    sbi_pair32 c = sbi_pair_add(sbi_pair_product(cubic.h, 3.0f), sbi_pair_product(cubic.m, 3.0f));
    sbi_pair32 s = sbi_pair_times(sbi_pair_add(sbi_pair_times(c, sbi_pair_product(a, a)), b), here);
    sbi_words w = sbi_pair_gate_slope(x, sbi_pair_gelu_argument(a), s, &k);
    w = sbi_pair_beside_zero(x, zero, SBI_PAIR_GELU_TANH_GRAD, w, &k);
    sbi_words straight = sbi_words_times(linear, 0.5f * sbi_pair_clamp(x, -1.0f, 1.0f));
    f32 bend = cubic.h - linear.h * linear.h * linear.h * 0x1.555556p-4f;
    sbi_words beside = {0.5f, straight.h, straight.m + (x * x) * x * bend};
    i32 small = sbi_pair_size(x) < 0x1p-12f ? 1 : 0;
    f32 z = sbi_pair_round(sbi_words_pick(small, beside, w), small ? 0 : k);
    z = sbi_pair_mend(z, BITS32(x), SBI_MEND_GELU_TANH_GRAD);
    return x == x ? z : SBI_NAN32;
}

// ---------------------------------------------------------------- softplus, log_sigmoid

// log(1 + e^x) = max(x, 0) + log(1 + e), e = e^-|x|; from 0.41 on 1 + e = 2 (1 + f), f = (e - 1) /
// 2; e - e^2/2 for tiny e.
FN f32 sbi_pair_softplus_core(f32 x) {
    i32 k;
    sbi_pair32 top = sbi_pair_exp(-sbi_pair_clamp(sbi_pair_size(x), 0.0f, 110.0f), 0.0f, &k);
    sbi_pair32 e = sbi_pair_scale(top, sbi_pair_weight(k));
    i32 big = e.h > 0.41f ? 1 : 0, tiny = x < -20.0f ? 1 : 0;
    sbi_pair32 less = sbi_pair_sum(e.h, -1.0f),
               f = sbi_pair_scale(sbi_pair_fast(less.h, less.l + e.l), 0.5f);
    f.h = big ? f.h : e.h;
    f.l = big ? f.l : e.l;
    sbi_words unit = {SBI_PAIR_LN2}, scale = {1.0f, 0.0f, 0.0f};
    sbi_words w = sbi_pair_log_words(big ? 1.0f : 0.0f, f, unit, scale);
    w = sbi_words_add(w, sbi_pair_clamp(x, 0.0f, 200.0f));
    sbi_words little = {top.h, top.l, -0.5f * top.h * e.h};
    f32 y = sbi_pair_round(sbi_words_pick(tiny, little, w), tiny ? k : 0);
    return x > 200.0f ? x : y;
}

// ---------------------------------------------------------------- softplus

FN f32 sbi_pair_softplus_f32(f32 x) {
    f32 y = sbi_pair_mend(sbi_pair_softplus_core(x), BITS32(x), SBI_MEND_SOFTPLUS);
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- log_sigmoid

// log(1 / (1 + e^-x)) = -softplus(-x)
FN f32 sbi_pair_log_sigmoid_f32(f32 x) {
    f32 back = FLOAT32(BITS32(x) ^ 0x80000000u);
    f32 y = sbi_pair_mend(sbi_pair_softplus_core(back), BITS32(back), SBI_MEND_SOFTPLUS);
    return x == x ? FLOAT32(BITS32(y) ^ 0x80000000u) : SBI_NAN32;
}

// ---------------------------------------------------------------- error function

// erf(a) / a by u = a^2 < 0.8.
FN sbi_pair32 sbi_pair_erf_ratio(sbi_pair32 u) {
    sbi_words first = {SBI_PAIR_ERF_FIRST};
    sbi_pair32 c = {first.h, first.m};
    return sbi_pair_add(c, sbi_pair_times(u, sbi_pair_series(u, SBI_PAIR_ERF)));
}

// erfc(a) e^(a^2) = w p(t), w = 1 / (a + 3), t = (a - 3) w, for a from 0.87 to 10.26.
FN sbi_pair32 sbi_pair_erfc_rest(sbi_pair32 a) {
    sbi_pair32 centre = {3.0f, 0.0f}, less = {-3.0f, 0.0f}, one = {1.0f, 0.0f};
    sbi_pair32 w = sbi_pair_over(one, sbi_pair_add(centre, a));
    return sbi_pair_times(w,
                          sbi_pair_series(sbi_pair_times(sbi_pair_add(a, less), w), SBI_PAIR_ERFC));
}

// erf(|x|) for |x| < 0.88 over 2^k.
FN sbi_words sbi_pair_erf_near(f32 x, i32 *k) {
    f32 a = sbi_pair_clamp(sbi_pair_size(x), 0.0f, 0.9f), raised = sbi_pair_lift(a, k);
    sbi_words first = {SBI_PAIR_ERF_FIRST}, w = sbi_words_times(first, raised);
    sbi_pair32 u = sbi_pair_product(a, a), here = {raised, 0.0f};
    sbi_pair32 t = sbi_pair_times(sbi_pair_times(u, sbi_pair_series(u, SBI_PAIR_ERF)), here);
    w = sbi_words_add(w, t.h);
    w.l = w.l + t.l;
    return w;
}

// erfc(|x|) for |x| from 0.88 on over 2^k.
FN sbi_pair32 sbi_pair_erfc_far(f32 x, i32 *k) {
    sbi_pair32 a = {sbi_pair_clamp(sbi_pair_size(x), 0.88f, 10.25f), 0.0f},
               u = sbi_pair_product(a.h, a.h);
    return sbi_pair_times(sbi_pair_exp(-u.h, -u.l, k), sbi_pair_erfc_rest(a));
}

// ---------------------------------------------------------------- erf

FN f32 sbi_pair_erf_f32(f32 x) {
    i32 k, lift, near = sbi_pair_size(x) < 0.88f ? 1 : 0;
    sbi_words odd = sbi_pair_erf_near(x, &lift);
    sbi_pair32 tail = sbi_pair_erfc_far(x, &k);
    sbi_words far = sbi_pair_tail(tail, &k, 0, 1.0f);
    f32 y = sbi_pair_round(sbi_words_pick(near, odd, far), near ? lift : 0);
    y = sbi_pair_signed(sbi_pair_mend(y, BITS32(sbi_pair_size(x)), SBI_MEND_ERF), x);
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- erfc

// 1 - erf(x) beside 0; below it 2 - erfc(-x).
FN f32 sbi_pair_erfc_f32(f32 x) {
    i32 k, lift, near = sbi_pair_size(x) < 0.88f ? 1 : 0;
    sbi_words odd = sbi_pair_erf_near(sbi_pair_seen(x), &lift), w = {1.0f, 0.0f, 0.0f};
    sbi_pair32 tail = sbi_pair_erfc_far(x, &k);
    f32 turn = x < 0.0f ? 1.0f : -1.0f;
    w = sbi_words_add(w, turn * odd.h);
    w = sbi_words_add(w, turn * odd.m);
    w.l = w.l + turn * odd.l;
    sbi_words far = sbi_pair_tail(tail, &k, x < 0.0f ? 0 : 1, 2.0f);
    f32 y = sbi_pair_round(sbi_words_pick(near, w, far), near ? 0 : k);
    y = sbi_pair_mend(y, BITS32(x), SBI_MEND_ERFC);
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- gelu, gelu_grad

// (Phi(x) - 1/2) / x by u = x^2 / 2 < 0.8.
FN sbi_pair32 sbi_pair_normal_ratio(sbi_pair32 u) {
    sbi_words root = {SBI_PAIR_QUARTER_ROOT};
    sbi_pair32 scale = {root.h, root.m};
    return sbi_pair_times(sbi_pair_erf_ratio(u), scale);
}

// 1 - Phi(a) = r e^(-a^2 / 2), for a from 1.24 to 14.5: r.
FN sbi_pair32 sbi_pair_normal_rest(f32 a) {
    sbi_words root = {SBI_PAIR_HALF_ROOT};
    sbi_pair32 scale = {root.h, root.m}, here = {a, 0.0f};
    return sbi_pair_scale(sbi_pair_erfc_rest(sbi_pair_times(here, scale)), 0.5f);
}

// ---------------------------------------------------------------- gelu

// x Phi(x): x/2 + x^2 (Phi(x) - 1/2) / x beside 0.
FN f32 sbi_pair_gelu_f32(f32 x) {
    i32 k, lift, near = sbi_pair_size(x) < 1.25f ? 1 : 0;
    f32 low = sbi_pair_clamp(x, -14.5f, 14.5f), raised = sbi_pair_lift(low, &lift);
    f32 seen = sbi_pair_clamp(sbi_pair_seen(x), 0.0f, 1.25f),
        a = sbi_pair_clamp(sbi_pair_size(x), 1.24f, 14.5f);
    sbi_pair32 ratio = sbi_pair_normal_ratio(sbi_pair_scale(sbi_pair_product(seen, seen), 0.5f));
    sbi_pair32 t =
        sbi_pair_times(sbi_pair_product(sbi_pair_size(near ? raised : 0.0f), seen), ratio);
    sbi_words beside = {0.5f * raised, t.h, t.l};
    sbi_pair32 square = sbi_pair_product(a, a), here = {low, 0.0f};
    sbi_pair32 tail = sbi_pair_times(sbi_pair_exp(-0.5f * square.h, -0.5f * square.l, &k),
                                     sbi_pair_normal_rest(a));
    tail = sbi_pair_times(tail, here);
    sbi_words far = sbi_pair_tail(tail, &k, x < 0.0f ? 1 : 0, low);
    f32 y = sbi_pair_round(sbi_words_pick(near, beside, far), near ? lift : k);
    y = sbi_pair_mend(x > 14.0f ? x : y, BITS32(x), SBI_MEND_GELU);
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- gelu_grad

// Phi(x) + x phi(x): 1/2 + x ((Phi(x) - 1/2) / x + phi(x)) beside 0; e^(-a^2 / 2) (r - a / sqrt(2
// pi)) for x = -a, 1 less that for x = a.
FN f32 sbi_pair_gelu_grad_f32(f32 x) {
    i32 k, near = sbi_pair_size(x) < 1.25f ? 1 : 0;
    f32 a = sbi_pair_clamp(sbi_pair_size(x), 0.0f, 15.25f);
    sbi_words density = {SBI_PAIR_DENSITY}, zero = {SBI_PAIR_GELU_ZERO};
    sbi_pair32 top = {density.h, density.m}, here = {a, 0.0f}, square = sbi_pair_product(a, a);
    sbi_pair32 e = sbi_pair_exp(-0.5f * square.h, -0.5f * square.l, &k),
               r = sbi_pair_normal_rest(sbi_pair_clamp(a, 1.24f, 15.25f));
    f32 inner = sbi_pair_clamp(sbi_pair_size(x), 0.0f, 1.25f);
    sbi_pair32 ratio = sbi_pair_normal_ratio(sbi_pair_scale(sbi_pair_product(inner, inner), 0.5f));
    sbi_pair32 odd = sbi_pair_times(
        sbi_pair_add(ratio, sbi_pair_times(top, sbi_pair_scale(e, sbi_pair_weight(k)))), here);
    f32 turn = x < 0.0f ? -1.0f : 1.0f;
    sbi_words beside = {0.5f, turn * odd.h, turn * odd.l};
    sbi_pair32 t =
        sbi_pair_times(e, sbi_pair_add(r, sbi_pair_scale(sbi_pair_times(top, here), -1.0f)));
    sbi_words w = sbi_words_pick(near, beside, sbi_pair_tail(t, &k, x < 0.0f ? 1 : 0, 1.0f));
    k = near ? 0 : k;
    w = sbi_pair_beside_zero(x, zero, SBI_PAIR_GELU_GRAD, w, &k);
    f32 y = sbi_pair_mend(sbi_pair_round(w, k), BITS32(x), SBI_MEND_GELU_GRAD);
    return x == x ? y : SBI_NAN32;
}

// ---------------------------------------------------------------- inverse normal

// See sbi_normal_f32: -z = q (9/4 + A/B) in t = 3/16 - q^2, or s - 1/4 + A/B in t = s - 3/2, s =
// sqrt(-log p), by the lower half's p = (m + 1/2) / 2^32 and q = 1/2 - p, which are pairs exactly.
FN f32 sbi_pair_normal_f32(u32 u) {
    f32 e;
    u32 m = u >> 31 ? ~u : u;
    sbi_pair32 p = sbi_pair_sum((f32)(i32)(m & 0x7fffff00u) * 0x1p-32f,
                                (f32)(i32)(m & 0xffu) * 0x1p-32f + 0x1p-33f);
    sbi_pair32 one_half = {0.5f, 0.0f}, q = sbi_pair_add(one_half, sbi_pair_scale(p, -1.0f));
    f32 part = sbi_pair_split(p.h, &e);
    sbi_pair32 f = sbi_pair_sum(part - 1.0f, p.l * sbi_pair_power(-(i32)e));
    sbi_words unit = {SBI_PAIR_LN2}, scale = {1.0f, 0.0f, 0.0f};
    sbi_pair32 log = sbi_pair_scale(sbi_words_pair(sbi_pair_log_words(e, f, unit, scale)), -1.0f);
    f32 root = SQRT32(log.h);
    sbi_pair32 s = sbi_pair_fast(root, DIV32(FMA(-root, root, log.h) + log.l, root + root));
    i32 tail = p.h < 0.075f ? 1 : 0;
    sbi_pair32 three = {0.1875f, 0.0f}, less = {-1.5f, 0.0f},
               near = sbi_pair_add(three, sbi_pair_scale(sbi_pair_times(q, q), -1.0f));
    sbi_pair32 far = sbi_pair_add(s, less), t = {tail ? far.h : near.h, tail ? far.l : near.l};
    sbi_pair32 y = sbi_pair_over(
        sbi_pair_series(t, tail ? SBI_PAIR_NORMAL_TAIL_TOP : SBI_PAIR_NORMAL_CENTRE_TOP, 1, 9),
        sbi_pair_series(t, tail ? SBI_PAIR_NORMAL_TAIL_BOTTOM : SBI_PAIR_NORMAL_CENTRE_BOTTOM, 1,
                        9));
    sbi_pair32 nine = sbi_pair_product(q.h, 2.25f), c = sbi_pair_times(q, y);
    sbi_words beyond = {s.h, s.l, 0.0f}, within = {nine.h, nine.l, 0.0f};
    sbi_words w =
        sbi_words_pick(tail, sbi_words_add(beyond, -0.25f), sbi_words_add(within, 2.25f * q.l));
    w = sbi_words_add(w, tail ? y.h : c.h);
    w.l = w.l + (tail ? y.l : c.l);
    f32 z = sbi_pair_mend(-sbi_pair_round(w, 0), m, SBI_MEND_NORMAL);
    return u >> 31 ? -z : z;
}
#endif
