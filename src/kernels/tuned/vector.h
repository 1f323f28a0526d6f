// SPDX-License-Identifier: Apache-2.0
// Vectors of float32 for the tuned kernels: the few words they need, per instruction set.
#ifndef SBI_VECTOR_H
#define SBI_VECTOR_H

#include <stdint.h>

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 64")
#endif

#if defined(__AVX512F__)
#include <immintrin.h>
enum { LANES = 16 };
typedef __m512 vec;
static inline vec vec_fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
static inline vec vec_all(float x) { return _mm512_set1_ps(x); }
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
enum { LANES = 8 };
typedef __m256 vec;
static inline vec vec_fma(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
static inline vec vec_all(float x) { return _mm256_set1_ps(x); }
#elif defined(__ARM_NEON)
#include <arm_neon.h>
enum { LANES = 4 };
typedef float32x4_t vec;
static inline vec vec_fma(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
static inline vec vec_all(float x) { return vdupq_n_f32(x); }
#else
#error "no tuned kernels for this instruction set"
#endif

static inline vec vec_load(const float *p) {
    vec v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
static inline void vec_store(float *p, vec v) { __builtin_memcpy(p, &v, sizeof v); }

typedef uint32_t vec_bits __attribute__((vector_size(LANES * 4)));
// NaN becomes the canonical NaN.
static inline vec vec_canon(vec x) {
    vec_bits keep = (vec_bits)(x == x), bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    bits = (bits & keep) | (~keep & 0x7fc00000u);
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

// A square of LANES x LANES floats turned over: row i of `from` (stride `step`) becomes column i of `to` (stride
// `width`). Only `rows` rows are there; the last stands for those beyond.
static inline void vec_transpose(const float *from, int64_t step, int64_t rows, float *to, int64_t width) {
    vec r[LANES], t[LANES];
    UNROLL for (int i = 0; i < LANES; i++) {
        r[i] = vec_load(from + (i < rows ? i : rows - 1) * step);
    }
#if defined(__AVX512F__)
    enum { LOW = 0x88, HIGH = 0xdd };
    UNROLL for (int i = 0; i < 16; i += 4) { // squares of 4 within each quarter
        vec a = _mm512_unpacklo_ps(r[i], r[i + 1]), b = _mm512_unpackhi_ps(r[i], r[i + 1]);
        vec c = _mm512_unpacklo_ps(r[i + 2], r[i + 3]), d = _mm512_unpackhi_ps(r[i + 2], r[i + 3]);
        t[i] = _mm512_shuffle_ps(a, c, 0x44);
        t[i + 1] = _mm512_shuffle_ps(a, c, 0xee);
        t[i + 2] = _mm512_shuffle_ps(b, d, 0x44);
        t[i + 3] = _mm512_shuffle_ps(b, d, 0xee);
    }
    UNROLL for (int i = 0; i < 4; i++) { // t[4 q + i]: columns i, i + 4, i + 8, i + 12 of rows 4 q .. 4 q + 3
        vec a = _mm512_shuffle_f32x4(t[i], t[i + 4], LOW), b = _mm512_shuffle_f32x4(t[i], t[i + 4], HIGH);
        vec c = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], LOW), d = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], HIGH);
        vec_store(to + i * width, _mm512_shuffle_f32x4(a, c, LOW));
        vec_store(to + (i + 4) * width, _mm512_shuffle_f32x4(b, d, LOW));
        vec_store(to + (i + 8) * width, _mm512_shuffle_f32x4(a, c, HIGH));
        vec_store(to + (i + 12) * width, _mm512_shuffle_f32x4(b, d, HIGH));
    }
#elif defined(__AVX2__)
    UNROLL for (int i = 0; i < 8; i += 4) {
        vec a = _mm256_unpacklo_ps(r[i], r[i + 1]), b = _mm256_unpackhi_ps(r[i], r[i + 1]);
        vec c = _mm256_unpacklo_ps(r[i + 2], r[i + 3]), d = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
        t[i] = _mm256_shuffle_ps(a, c, 0x44);
        t[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
        t[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
        t[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
    UNROLL for (int i = 0; i < 4; i++) {
        vec_store(to + i * width, _mm256_permute2f128_ps(t[i], t[i + 4], 0x20));
        vec_store(to + (i + 4) * width, _mm256_permute2f128_ps(t[i], t[i + 4], 0x31));
    }
#else
    for (int i = 0; i < 4; i += 2) { // pairs, then halves
        t[i] = vtrn1q_f32(r[i], r[i + 1]);
        t[i + 1] = vtrn2q_f32(r[i], r[i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        vec_store(to + i * width, vcombine_f32(vget_low_f32(t[i]), vget_low_f32(t[i + 2])));
        vec_store(to + (i + 2) * width, vcombine_f32(vget_high_f32(t[i]), vget_high_f32(t[i + 2])));
    }
#endif
}
#endif
