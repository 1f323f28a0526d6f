// SPDX-License-Identifier: Apache-2.0
// fma, exact on every machine: the instruction where the level has one, an emulation where not. Both emulations are
// tested against MPFR (test/test_fma.c), on every machine, also where it has the instruction.
#ifndef SBI_FMA_H
#define SBI_FMA_H

#ifdef SBI_F64_CLASS
static inline f64 sbi_fma_f64(f64 a, f64 b, f64 c) { return FLOAT64(sbi_soft_fma(BITS64(a), BITS64(b), BITS64(c))); }
static inline f64 sbi_product_low(f64 a, f64 b, f64 p) { return sbi_fma_f64(a, b, -p); }
#endif
#if !defined(SBI_FMA_EMULATED) && \
    (defined(__FMA__) || defined(__aarch64__) || defined(__riscv_flen) || defined(__s390x__))
static inline f32 sbi_fma_f32(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
#ifndef SBI_F64_CLASS
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

// Kept out of line, so that the rare case costs the common one no more than a branch.
static __attribute__((noinline, cold, unused)) f32 sbi_fma_f32_odd(f64 p, f64 c) { return (f32)sbi_add_odd(p, c); }

// The product of two floats is exact in binary64 (48 bits; no overflow, no subnormal), so the sum is the only rounding.
// Rounding it twice, to binary64 and to float, differs from rounding once only where the first lands on a tie between
// two floats: bit 28 set and all below it clear. Below 2^-126 floats are further apart and ties lie elsewhere (a sum of
// zero is exact).
static inline f32 sbi_fma_f32(f32 a, f32 b, f32 c) {
    f64 p = (f64)a * (f64)b, s = p + (f64)c;
    u64 u = BITS64(s);
    i32 tie = (u & 0x1fffffffu) == 0x10000000u, small = (u << 1) - 1 < ((u64)0x3810000000000000u << 1) - 1;
    return __builtin_expect(tie | small, 0) ? sbi_fma_f32_odd(p, (f64)c) : (f32)s;
}

#ifndef SBI_F64_CLASS
// a b - p, p = a b rounded: exact where neither a b overflows nor a bit of it lies below 2^-1074. Factors rounded to 26
// bits and the rest (T. J. Dekker, 1971); free of branches, so that a loop over it vectorises.
static inline f64 sbi_product_low(f64 a, f64 b, f64 p) {
    f64 at = FLOAT64((BITS64(a) + 0x4000000u) & 0xfffffffff8000000u);
    f64 bt = FLOAT64((BITS64(b) + 0x4000000u) & 0xfffffffff8000000u);
    f64 ar = a - at, br = b - bt;
    return (((at * bt - p) + ar * bt) + at * br) + ar * br;
}

// By integers alone, for any operands; out of line, as it is rare.
static __attribute__((noinline, cold, unused)) f64 sbi_fma_integer(f64 a, f64 b, f64 c) {
    return FLOAT64(sbi_soft_fma(BITS64(a), BITS64(b), BITS64(c)));
}

// The product in two words, the sum by 2Sum and one addition rounded to odd; operands that could overflow or lose a bit
// below 2^-1074 on the way take the integers.
static inline f64 sbi_fma_f64(f64 a, f64 b, f64 c) {
    u64 wa = BITS64(a), wb = BITS64(b);
    u64 xa = (wa >> 52) & 0x7ffu, xb = (wb >> 52) & 0x7ffu, xc = (BITS64(c) >> 52) & 0x7ffu;
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
#endif
