// SPDX-License-Identifier: Apache-2.0
// fma, exact on every machine: the instruction where the level has one, an emulation where not. Both emulations are
// tested against MPFR (test/test_fma.c), on every machine, also where it has the instruction.
#ifndef SBI_FMA_H
#define SBI_FMA_H

#if !defined(SBI_FMA_EMULATED) && \
    (defined(__FMA__) || defined(__aarch64__) || defined(__riscv_flen) || defined(__s390x__))
static inline f32 sbi_fma_f32(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
#ifdef SBI_F64_CLASS
static inline f64 sbi_fma_f64(f64 a, f64 b, f64 c) { return sbi_class_fma(a, b, c); }
static inline f64 sbi_product_low(f64 a, f64 b, f64 p) { return sbi_class_fma(a, b, -p); }
#else
static inline f64 sbi_fma_f64(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
static inline f64 sbi_product_low(f64 a, f64 b, f64 p) { return __builtin_fma(a, b, -p); }
#endif
#else

// x + y rounded to odd: where the sum is inexact, the one of its two neighbours whose last bit is 1. A later rounding
// to two or more bits less then gives what one rounding of x + y would have given
// (S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums", IEEE ToC 57, 2008).
static inline f64 sbi_add_odd(f64 x, f64 y) {
    union { f64 f; u64 u; } s, e, size;
    s.f = x + y;
    f64 t = s.f - x;
    e.f = (x - (s.f - t)) + (y - t); // x + y = s + e exactly, where finite
    // Inexact with an even last bit: to the odd neighbour the error points to. (e is NaN at infinities: nothing to mend
    // there.) One comparison and integers, so that gcc vectorises it with SSE2 too: four times the speed there.
    size.u = e.u & 0x7fffffffffffffffu;
    u64 step = (size.f > K(0.0) ? ~s.u : (u64)0) & 1u;
    u64 toward_zero = (e.u ^ s.u) >> 63;
    s.u = s.u + step - ((step & toward_zero) << 1);
    return s.f;
}

static inline u64 sbi_fma_word(f64 x) { union { f64 f; u64 u; } v; v.f = x; return v.u; }
static inline f64 sbi_fma_real(u64 x) { union { f64 f; u64 u; } v; v.u = x; return v.f; }

// a b - p, p = a b rounded: exact where neither a b overflows nor a bit of it lies below 2^-1074. Factors rounded to 26
// bits and the rest (T. J. Dekker, 1971); free of branches, so that a loop over it vectorises.
static inline f64 sbi_product_low(f64 a, f64 b, f64 p) {
    f64 at = sbi_fma_real((sbi_fma_word(a) + 0x4000000u) & 0xfffffffff8000000u);
    f64 bt = sbi_fma_real((sbi_fma_word(b) + 0x4000000u) & 0xfffffffff8000000u);
    f64 ar = a - at, br = b - bt;
    return (((at * bt - p) + ar * bt) + at * br) + ar * br;
}

// Kept out of line, so that the rare case costs the common one no more than a branch.
static __attribute__((noinline, cold, unused)) f32 sbi_fma_f32_odd(f64 p, f64 c) { return (f32)sbi_add_odd(p, c); }

// The product of two floats is exact in binary64 (48 bits; no overflow, no subnormal), so the sum is the only rounding.
// Rounding it twice, to binary64 and to float, differs from rounding once only where the first lands on a tie between
// two floats: bit 28 set and all below it clear. Below 2^-126 floats are further apart and ties lie elsewhere (a sum of
// zero is exact).
static inline f32 sbi_fma_f32(f32 a, f32 b, f32 c) {
    f64 p = (f64)a * (f64)b, s = p + (f64)c;
    u64 u = sbi_fma_word(s);
    i32 tie = (u & 0x1fffffffu) == 0x10000000u, small = (u << 1) - 1 < ((u64)0x3810000000000000u << 1) - 1;
    return __builtin_expect(tie | small, 0) ? sbi_fma_f32_odd(p, (f64)c) : (f32)s;
}

// A number of 128 bits, high and low.
typedef struct sbi_wide { u64 high, low; } sbi_wide;

static inline sbi_wide sbi_wide_left(sbi_wide x, i32 s) { // 0 <= s < 128
    sbi_wide y;
    if (s >= 64) {
        y.high = x.low << (s - 64);
        y.low = 0;
    } else {
        y.high = s ? (x.high << s) | (x.low >> (64 - s)) : x.high;
        y.low = x.low << s;
    }
    return y;
}

static inline i32 sbi_wide_zeros(sbi_wide x) { // leading zeros; x > 0
    i32 n = x.high ? 0 : 64;
    u64 w = x.high ? x.high : x.low;
    for (i32 s = 32; s > 0; s /= 2) {
        if (!(w >> (64 - s))) {
            n += s;
            w <<= s;
        }
    }
    return n;
}

// x / 2^s, s >= 0; what falls out below is remembered in the last bit.
static inline sbi_wide sbi_wide_jam(sbi_wide x, i32 s) {
    sbi_wide y;
    if (s >= 128) {
        y.high = 0;
        y.low = (x.high | x.low) ? (u64)1 : (u64)0;
        return y;
    }
    sbi_wide lost = s ? sbi_wide_left(x, 128 - s) : x;
    u64 sticky = s && (lost.high | lost.low) ? (u64)1 : (u64)0;
    if (s >= 64) {
        y.high = 0;
        y.low = (x.high >> (s - 64)) | sticky;
    } else {
        y.high = x.high >> s;
        y.low = (s ? (x.low >> s) | (x.high << (64 - s)) : x.low) | sticky;
    }
    return y;
}

// a * b + c by integers alone, for any operands.
static inline f64 sbi_fma_integer(f64 a, f64 b, f64 c) {
    const u64 fraction = 0x000fffffffffffffu;
    u64 wa = sbi_fma_word(a), wb = sbi_fma_word(b), wc = sbi_fma_word(c);
    i32 xa = (i32)((wa >> 52) & 0x7ffu), xb = (i32)((wb >> 52) & 0x7ffu), xc = (i32)((wc >> 52) & 0x7ffu);
    if (xa == 0x7ff || xb == 0x7ff || !(wa << 1) || !(wb << 1)) {
        return a * b + c; // infinities, NaN, an exact zero
    }
    if (xc == 0x7ff) {
        return c;
    }
    // a b = p 2^(ep), c = q 2^(eq), the leading bits of p and q at place 126
    u64 ma = xa ? (wa & fraction) | (fraction + 1) : wa & fraction;
    u64 mb = xb ? (wb & fraction) | (fraction + 1) : wb & fraction;
    u64 mc = xc ? (wc & fraction) | (fraction + 1) : wc & fraction;
    u64 a0 = ma & 0xffffffffu, a1 = ma >> 32, b0 = mb & 0xffffffffu, b1 = mb >> 32;
    u64 m = a1 * b0 + ((a0 * b0) >> 32), n = a0 * b1 + (m & 0xffffffffu);
    sbi_wide p, q, r;
    p.high = a1 * b1 + (m >> 32) + (n >> 32);
    p.low = ma * mb;
    q.high = 0;
    q.low = mc;
    i32 zp = sbi_wide_zeros(p) - 1;
    p = sbi_wide_left(p, zp);
    i32 ep = (xa ? xa : 1) + (xb ? xb : 1) - 2 * 1075 - zp, e = ep;
    u64 sign = (wa ^ wb) >> 63, other = wc >> 63;
    r = p;
    if (mc) {
        i32 zq = sbi_wide_zeros(q) - 1;
        q = sbi_wide_left(q, zq);
        i32 eq = (xc ? xc : 1) - 1075 - zq;
        // (Shifted by less than 22, p loses nothing; by more, no more than one leading bit cancels: the last bit will do.)
        e = ep > eq ? ep : eq;
        p = sbi_wide_jam(p, e - ep);
        q = sbi_wide_jam(q, e - eq);
        if (sign == other) {
            r.low = p.low + q.low;
            r.high = p.high + q.high + (r.low < p.low ? (u64)1 : (u64)0);
        } else {
            if (q.high > p.high || (q.high == p.high && q.low > p.low)) {
                r = p;
                p = q;
                q = r;
                sign = other;
            }
            r.low = p.low - q.low;
            r.high = p.high - q.high - (p.low < q.low ? (u64)1 : (u64)0);
            if (!(r.high | r.low)) {
                return K(0.0);
            }
        }
    }
    // Round r 2^e to 53 bits, or to fewer where the result is subnormal.
    i32 z = sbi_wide_zeros(r);
    r = sbi_wide_left(r, z);
    i32 top = e - z + 127; // the exponent of the leading bit
    if (top > 1023) {
        return sbi_fma_real((sign << 63) | 0x7ff0000000000000u);
    }
    i32 drop = 75 + (top < -1022 ? -1022 - top : 0) - 2;
    r = sbi_wide_jam(r, drop); // two bits more than are kept
    u64 bits = (r.low >> 2) + (((r.low & 3u) > 2u || (r.low & 7u) == 6u) ? (u64)1 : (u64)0);
    bits += top < -1022 ? (u64)0 : (u64)(top + 1022) << 52; // (the leading bit adds one to the exponent)
    return sbi_fma_real((sign << 63) | bits);
}

// The product in two words, the sum by 2Sum and one addition rounded to odd; operands that could overflow or lose a bit
// below 2^-1074 on the way take the integers.
static inline f64 sbi_fma_f64(f64 a, f64 b, f64 c) {
    u64 wa = sbi_fma_word(a), wb = sbi_fma_word(b);
    u64 xa = (wa >> 52) & 0x7ffu, xb = (wb >> 52) & 0x7ffu, xc = (sbi_fma_word(c) >> 52) & 0x7ffu;
    if (!(xa - 1u < 0x7fdu && xb - 1u < 0x7fdu && xc < 2000u && xa + xb - 1146u < 1800u)) {
        return sbi_fma_integer(a, b, c);
    }
    f64 u = a * b;
    f64 u_low = sbi_product_low(a, b, u);
    f64 t = c + u_low, d = t - c;
    f64 t_low = (c - (t - d)) + (u_low - d);
    f64 v = u + t, g = v - u;
    f64 v_low = (u - (v - g)) + (t - g);
    return v + sbi_add_odd(t_low, v_low);
}
#endif
#endif
