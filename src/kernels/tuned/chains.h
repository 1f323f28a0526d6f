// SPDX-License-Identifier: Apache-2.0
// attention_chains.h for CPUs with vectors and fma: the same chains, with their sums in registers. Read once for each
// type, as the text that includes it.
#if T_BITS == 32
#if defined(__AVX512F__)
#include <immintrin.h>
enum { CHAIN_BYTES = 64, CHAINS_AT_ONCE = 8 };
typedef __m512 chain_f32;
typedef __m512d chain_f64;
#define CHAIN_FMA_f32 _mm512_fmadd_ps
#define CHAIN_FMA_f64 _mm512_fmadd_pd
#define CHAIN_ALL_f32 _mm512_set1_ps
#define CHAIN_ALL_f64 _mm512_set1_pd
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
enum { CHAIN_BYTES = 32, CHAINS_AT_ONCE = 2 };
typedef __m256 chain_f32;
typedef __m256d chain_f64;
#define CHAIN_FMA_f32 _mm256_fmadd_ps
#define CHAIN_FMA_f64 _mm256_fmadd_pd
#define CHAIN_ALL_f32 _mm256_set1_ps
#define CHAIN_ALL_f64 _mm256_set1_pd
#else
#include <arm_neon.h>
enum { CHAIN_BYTES = 16, CHAINS_AT_ONCE = 2 };
typedef float32x4_t chain_f32;
typedef float64x2_t chain_f64;
#define CHAIN_FMA_f32(a, b, c) vfmaq_f32(c, a, b)
#define CHAIN_FMA_f64(a, b, c) vfmaq_f64(c, a, b)
#define CHAIN_ALL_f32 vdupq_n_f32
#define CHAIN_ALL_f64 vdupq_n_f64
#endif
enum { CHAIN_VECTORS = 32 * 4 / CHAIN_BYTES }; // of float32; float64 goes in halves of 16 lanes
#endif

// `rows` chains of `vectors` vectors of lanes.
static inline __attribute__((always_inline)) void NAME(sbi_chains_some)(const int rows, const int vectors, T *out, i64 out_row,
                                                                        const T *factor, i64 factor_step, const T *x, i64 x_row,
                                                                        i64 x_step, i32 steps) {
    const i64 width = CHAIN_BYTES / (i64)sizeof(T);
    NAME(chain) r[CHAINS_AT_ONCE][CHAIN_VECTORS];
    UNROLL for (int u = 0; u < rows; u++)
        UNROLL for (int i = 0; i < vectors; i++) __builtin_memcpy(&r[u][i], out + u * out_row + i * width, CHAIN_BYTES);
    for (i32 s = 0; s < steps; s++, factor += factor_step, x += x_step) {
        NAME(chain) y[CHAIN_VECTORS];
        UNROLL for (int i = 0; i < vectors; i++) __builtin_memcpy(&y[i], factor + i * width, CHAIN_BYTES);
        UNROLL for (int u = 0; u < rows; u++) {
            const NAME(chain) same = NAME(CHAIN_ALL)(x[u * x_row]);
            UNROLL for (int i = 0; i < vectors; i++) r[u][i] = NAME(CHAIN_FMA)(same, y[i], r[u][i]);
        }
    }
    UNROLL for (int u = 0; u < rows; u++)
        UNROLL for (int i = 0; i < vectors; i++) __builtin_memcpy(out + u * out_row + i * width, &r[u][i], CHAIN_BYTES);
}

static inline __attribute__((always_inline)) void NAME(sbi_chains_rows)(const int vectors, T *out, i64 out_row, const T *factor,
                                                                        i64 factor_step, const T *x, i64 x_row, i64 x_step, i32 rows,
                                                                        i32 steps) {
    i32 u = 0;
    if (x_row == 1) // (neighbours in memory: their distance is known)
        for (; u + CHAINS_AT_ONCE <= rows; u += CHAINS_AT_ONCE)
            NAME(sbi_chains_some)(CHAINS_AT_ONCE, vectors, out + u * out_row, out_row, factor, factor_step, x + u, 1, x_step, steps);
    for (; u + CHAINS_AT_ONCE <= rows; u += CHAINS_AT_ONCE)
        NAME(sbi_chains_some)(CHAINS_AT_ONCE, vectors, out + u * out_row, out_row, factor, factor_step, x + u * x_row, x_row, x_step, steps);
    for (; u < rows; u++)
        NAME(sbi_chains_some)(1, vectors, out + u * out_row, out_row, factor, factor_step, x + u * x_row, x_row, x_step, steps);
}

static __attribute__((noinline)) void NAME(sbi_chains)(T *out, i64 out_row, const T *factor, i64 factor_step, const T *x, i64 x_row,
                                                       i64 x_step, i32 lanes, i32 rows, i32 steps) {
    const i32 width = CHAIN_BYTES / (i32)sizeof(T);
    i32 l = 0;
    for (; l + CHAIN_VECTORS * width <= lanes; l += CHAIN_VECTORS * width)
        NAME(sbi_chains_rows)(CHAIN_VECTORS, out + l, out_row, factor + l, factor_step, x, x_row, x_step, rows, steps);
    for (; l + width <= lanes; l += width)
        NAME(sbi_chains_rows)(1, out + l, out_row, factor + l, factor_step, x, x_row, x_step, rows, steps);
    for (i32 u = 0; u < rows; u++)
        for (i32 k = l; k < lanes; k++)
            for (i32 s = 0; s < steps; s++)
                out[u * out_row + k] = NAME(FMA)(x[u * x_row + s * x_step], factor[s * factor_step + k], out[u * out_row + k]);
}
