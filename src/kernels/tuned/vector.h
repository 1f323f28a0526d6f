// SPDX-License-Identifier: Apache-2.0
// Vectors for the tuned kernels: the few words they need, per instruction set and width of T (T_BITS 32 or 64). Data of
// type IN, T itself or float32 to be widened, becomes T as it is loaded. vec_pick_less(a, b, x, y) is a < b ? x : y.
#ifndef SBI_VECTOR_H
#define SBI_VECTOR_H

#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 64")
#endif
#define SBI_VECTOR_JOIN_(a, b) a##_##b
#define SBI_VECTOR_JOIN(a, b) SBI_VECTOR_JOIN_(a, b)

#if defined(__AVX512F__)
#include <immintrin.h>
enum { VECTOR_BYTES = 64 };
#if T_BITS == 32
typedef __m512 vec;
static inline vec vec_fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
static inline vec vec_all(T x) { return _mm512_set1_ps(x); }
static inline vec vec_pick_less(vec a, vec b, vec x, vec y) { return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x); }
#else
typedef __m512d vec;
static inline vec vec_fma(vec a, vec b, vec c) { return _mm512_fmadd_pd(a, b, c); }
static inline vec vec_all(T x) { return _mm512_set1_pd(x); }
static inline vec vec_pick_less(vec a, vec b, vec x, vec y) { return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(a, b, _CMP_LT_OQ), y, x); }
#endif
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
enum { VECTOR_BYTES = 32 };
#if T_BITS == 32
typedef __m256 vec;
static inline vec vec_fma(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
static inline vec vec_all(T x) { return _mm256_set1_ps(x); }
static inline vec vec_pick_less(vec a, vec b, vec x, vec y) { return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ)); }
#else
typedef __m256d vec;
static inline vec vec_fma(vec a, vec b, vec c) { return _mm256_fmadd_pd(a, b, c); }
static inline vec vec_all(T x) { return _mm256_set1_pd(x); }
static inline vec vec_pick_less(vec a, vec b, vec x, vec y) { return _mm256_blendv_pd(y, x, _mm256_cmp_pd(a, b, _CMP_LT_OQ)); }
#endif
#elif defined(__ARM_NEON)
#include <arm_neon.h>
enum { VECTOR_BYTES = 16 };
#if T_BITS == 32
typedef float32x4_t vec;
static inline vec vec_fma(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
static inline vec vec_all(T x) { return vdupq_n_f32(x); }
static inline vec vec_pick_less(vec a, vec b, vec x, vec y) { return vbslq_f32(vcltq_f32(a, b), x, y); }
#else
typedef float64x2_t vec;
static inline vec vec_fma(vec a, vec b, vec c) { return vfmaq_f64(c, a, b); }
static inline vec vec_all(T x) { return vdupq_n_f64(x); }
static inline vec vec_pick_less(vec a, vec b, vec x, vec y) { return vbslq_f64(vcltq_f64(a, b), x, y); }
#endif
#else
#error "no tuned kernels for this instruction set"
#endif
enum { LANES = VECTOR_BYTES / sizeof(T), WIDENS = sizeof(IN) != sizeof(T) };

static inline vec vec_load(const T *p) {
    vec v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
static inline void vec_store(T *p, vec v) { __builtin_memcpy(p, &v, sizeof v); }

// LANES values of data.
typedef IN in_vec __attribute__((vector_size(LANES * sizeof(IN))));
static inline vec vec_in(const IN *p) {
    in_vec narrow;
    __builtin_memcpy(&narrow, p, sizeof narrow);
    return (vec)__builtin_convertvector(narrow, __typeof__(T __attribute__((vector_size(VECTOR_BYTES)))));
}

// The first `count` of LANES, count < LANES; zeros stand for the rest.
#if defined(__AVX512F__) && T_BITS == 32
static inline vec vec_load_some(const T *p, int64_t count) { return _mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), p); }
static inline void vec_store_some(T *p, vec v, int64_t count) { _mm512_mask_storeu_ps(p, (__mmask16)((1u << count) - 1), v); }
#elif defined(__AVX512F__)
static inline vec vec_load_some(const T *p, int64_t count) { return _mm512_maskz_loadu_pd((__mmask8)((1u << count) - 1), p); }
static inline void vec_store_some(T *p, vec v, int64_t count) { _mm512_mask_storeu_pd(p, (__mmask8)((1u << count) - 1), v); }
#else
static inline vec vec_load_some(const T *p, int64_t count) {
    T some[LANES] = {0};
    __builtin_memcpy(some, p, (size_t)count * sizeof(T));
    return vec_load(some);
}
static inline void vec_store_some(T *p, vec v, int64_t count) {
    T some[LANES];
    vec_store(some, v);
    __builtin_memcpy(p, some, (size_t)count * sizeof(T));
}
#endif
static inline vec vec_in_some(const IN *p, int64_t count) {
#if defined(__AVX512F__) && T_BITS == 64
    if (WIDENS) return _mm512_cvtps_pd(_mm512_castps512_ps256(_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), p)));
#endif
    if (!WIDENS) return vec_load_some((const void *)p, count);
    IN some[LANES] = {0};
    __builtin_memcpy(some, p, (size_t)count * sizeof(IN));
    return vec_in(some);
}

// NaN becomes the canonical NaN.
#if T_BITS == 32
typedef uint32_t vec_bits __attribute__((vector_size(VECTOR_BYTES)));
#define SBI_VECTOR_NAN 0x7fc00000u
#else
typedef uint64_t vec_bits __attribute__((vector_size(VECTOR_BYTES)));
#define SBI_VECTOR_NAN 0x7ff8000000000000u
#endif
static inline vec vec_canon(vec x) {
    vec_bits keep = (vec_bits)(x == x), bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    bits = (bits & keep) | (~keep & SBI_VECTOR_NAN);
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

// A square of LANES x LANES values turned over: row i of `from` (stride `step`) becomes column i of `to` (stride
// `width`). If only `rows` rows are there,
// the last stands for those beyond. A vector is filled with the quarters of
// several rows straight from memory, so that all that is left for the shuffles are squares of 128 bits.
enum { QUARTER = 16 / sizeof(T), ROWS_A_VECTOR = VECTOR_BYTES / 16 };
static inline vec vec_quarters(const T *from, int64_t step) { // QUARTER rows apart
#if defined(__AVX512F__) && T_BITS == 32
    vec v = _mm512_castps128_ps512(_mm_loadu_ps(from));
    v = _mm512_insertf32x4(v, _mm_loadu_ps(from + QUARTER * step), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(from + 2 * QUARTER * step), 2);
    return _mm512_insertf32x4(v, _mm_loadu_ps(from + 3 * QUARTER * step), 3);
#elif defined(__AVX512F__)
    vec v = _mm512_castpd128_pd512(_mm_loadu_pd(from));
    v = _mm512_insertf64x2(v, _mm_loadu_pd(from + QUARTER * step), 1);
    v = _mm512_insertf64x2(v, _mm_loadu_pd(from + 2 * QUARTER * step), 2);
    return _mm512_insertf64x2(v, _mm_loadu_pd(from + 3 * QUARTER * step), 3);
#elif defined(__AVX2__) && T_BITS == 32
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from)), _mm_loadu_ps(from + QUARTER * step), 1);
#elif defined(__AVX2__)
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(from)), _mm_loadu_pd(from + QUARTER * step), 1);
#else
    (void)step;
    return vec_load(from);
#endif
}
static inline void vec_turn_quarters(vec *r) {
#if T_BITS == 32
#if defined(__AVX512F__)
    vec a = _mm512_unpacklo_ps(r[0], r[1]), b = _mm512_unpackhi_ps(r[0], r[1]);
    vec c = _mm512_unpacklo_ps(r[2], r[3]), d = _mm512_unpackhi_ps(r[2], r[3]);
    r[0] = _mm512_shuffle_ps(a, c, 0x44);
    r[1] = _mm512_shuffle_ps(a, c, 0xee);
    r[2] = _mm512_shuffle_ps(b, d, 0x44);
    r[3] = _mm512_shuffle_ps(b, d, 0xee);
#elif defined(__AVX2__)
    vec a = _mm256_unpacklo_ps(r[0], r[1]), b = _mm256_unpackhi_ps(r[0], r[1]);
    vec c = _mm256_unpacklo_ps(r[2], r[3]), d = _mm256_unpackhi_ps(r[2], r[3]);
    r[0] = _mm256_shuffle_ps(a, c, 0x44);
    r[1] = _mm256_shuffle_ps(a, c, 0xee);
    r[2] = _mm256_shuffle_ps(b, d, 0x44);
    r[3] = _mm256_shuffle_ps(b, d, 0xee);
#else
    vec a = vtrn1q_f32(r[0], r[1]), b = vtrn2q_f32(r[0], r[1]), c = vtrn1q_f32(r[2], r[3]), d = vtrn2q_f32(r[2], r[3]);
    r[0] = vcombine_f32(vget_low_f32(a), vget_low_f32(c));
    r[1] = vcombine_f32(vget_low_f32(b), vget_low_f32(d));
    r[2] = vcombine_f32(vget_high_f32(a), vget_high_f32(c));
    r[3] = vcombine_f32(vget_high_f32(b), vget_high_f32(d));
#endif
#else
#if defined(__AVX512F__)
    vec a = _mm512_unpacklo_pd(r[0], r[1]), b = _mm512_unpackhi_pd(r[0], r[1]);
#elif defined(__AVX2__)
    vec a = _mm256_unpacklo_pd(r[0], r[1]), b = _mm256_unpackhi_pd(r[0], r[1]);
#else
    vec a = vtrn1q_f64(r[0], r[1]), b = vtrn2q_f64(r[0], r[1]);
#endif
    r[0] = a;
    r[1] = b;
#endif
}
static inline void vec_transpose(const IN *from, int64_t step, int64_t rows, T *to, int64_t width) {
    T square[LANES * LANES];
    const T *rows_at = (const void *)from;
    if (WIDENS || rows < LANES) {
        UNROLL for (int i = 0; i < LANES; i++) vec_store(square + i * LANES, vec_in(from + (i < rows ? i : rows - 1) * step));
        rows_at = square;
        step = LANES;
    }
    UNROLL for (int j = 0; j < LANES; j += QUARTER) {
        vec r[QUARTER];
        UNROLL for (int q = 0; q < QUARTER; q++) r[q] = vec_quarters(rows_at + q * step + j, step);
        vec_turn_quarters(r);
        UNROLL for (int q = 0; q < QUARTER; q++) vec_store(to + (j + q) * width, r[q]);
    }
}
#endif
