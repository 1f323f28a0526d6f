// SPDX-License-Identifier: Apache-2.0
// fma, exact on every machine: the instruction where the level has one, an emulation where not.
#ifndef SBI_FMA_H
#define SBI_FMA_H

#if !defined(SBI_FMA_EMULATED) && \
    (defined(__FMA__) || defined(__aarch64__) || defined(__riscv_flen) || defined(__s390x__))
static inline f32 sbi_fma_f32(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
static inline f64 sbi_fma_f64(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
#else
// The product of two floats is exact in binary64 (48 bits; no overflow, no subnormal). The sum is taken by
// 2Sum and rounded to odd, so the last rounding, to binary32, is the only one that counts
// (S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums", IEEE ToC 57, 2008).
static inline f32 sbi_fma_f32(f32 a, f32 b, f32 c) {
    union { f64 f; u64 u; } s, e, size;
    f64 p = (f64)a * (f64)b, z = (f64)c;
    s.f = p + z;
    f64 t = s.f - p;
    e.f = (p - (s.f - t)) + (z - t); // p + z = s + e exactly, where finite
    // Inexact with an even last bit: to the odd neighbour the error points to. (e is NaN at infinities: nothing to
    // mend there.) Written with one comparison and integers, so that gcc vectorises it with SSE2 too.
    size.u = e.u & 0x7fffffffffffffffu;
    u64 step = (size.f > K(0.0) ? ~s.u : (u64)0) & 1u;
    u64 toward_zero = (e.u ^ s.u) >> 63;
    s.u = s.u + step - ((step & toward_zero) << 1);
    return (f32)s.f;
}
#endif
#endif
