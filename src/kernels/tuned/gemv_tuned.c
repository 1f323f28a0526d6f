// SPDX-License-Identifier: Apache-2.0
// k_gemv_f32 where an output's terms are contiguous (contract T3; gemm.cl is the portable text with the same bits).
//
// The chain of an output is ascending, so lanes are outputs: a square of LANES outputs by LANES steps is turned over in
// registers, then goes step by step. Several squares of outputs go together, so that the chains' latency is hidden.
// Where the outputs are contiguous instead, lanes are outputs as they stand.
#include "kernels.h"
#include "tuned/vector.h"

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

enum { CHUNK = 256, CHUNKS_A_RUN = 64, GROUP = 256, SCALED = 1, BIAS = 2, ACCUMULATE = 4 };

// r[j] continues over steps 0 .. count-1 of w (output j, step s at w[j * column + s]) and x, for LANES outputs.
static inline void turned(const float *w, int64_t column, const float *x, int64_t count, vec *r) {
    _Alignas(64) float square[LANES * LANES];
    vec sum = *r;
    int64_t s = 0;
    for (; s + LANES <= count; s += LANES) {
        vec_transpose(w + s, column, LANES, square, LANES);
        UNROLL for (int u = 0; u < LANES; u++) sum = vec_fma(vec_all(x[s + u]), vec_load(square + u * LANES), sum);
    }
    for (; s < count; s++) {
        float y[LANES];
        for (int j = 0; j < LANES; j++) y[j] = w[j * column + s];
        sum = vec_fma(vec_all(x[s]), vec_load(y), sum);
    }
    *r = sum;
}

static float one(const float *w, int64_t step, const float *x, int64_t count) {
    float r[LANES];
    vec sum = vec_all(0.0f);
    for (int64_t s = 0; s < count; s++) sum = vec_fma(vec_all(w[s * step]), vec_all(x[s]), sum);
    vec_store(r, sum);
    return r[0];
}

void JOIN(k_gemv_f32_tuned, SBI_LEVEL)(const sbi_arg *args, int64_t first, int64_t last);
void JOIN(k_gemv_f32_tuned, SBI_LEVEL)(const sbi_arg *args, int64_t first, int64_t last) {
    const float *w = args[0].in, *x = args[1].in, *bias = args[2].in;
    float *out = args[3].out;
    const int64_t n = args[4].i, k = args[5].i, column = args[6].i, step = args[7].i, bias_step = args[8].i, flags = args[9].i;
    const float alpha = (float)args[10].f;
    for (int64_t group = first; group < last; group++) {
        const int64_t j0 = group * GROUP, columns = n - j0 < GROUP ? n - j0 : GROUP, whole = columns / LANES * LANES;
        _Alignas(64) float run[GROUP] = {0}, sum[GROUP] = {0}, chunk[GROUP];
        for (int64_t p = 0; p < k; p += CHUNK) {
            const int64_t count = k - p < CHUNK ? k - p : CHUNK;
            const float *at = w + j0 * column + p * step;
            __builtin_memset(chunk, 0, sizeof chunk);
            for (int64_t j = 0; j < whole && step == 1; j += LANES) {
                vec r = vec_all(0.0f);
                turned(at + j * column, column, x + p, count, &r);
                vec_store(chunk + j, r);
            }
            int64_t s = 0;
            for (; s + 4 <= count && step != 1; s += 4) {
                const vec x0 = vec_all(x[p + s]), x1 = vec_all(x[p + s + 1]), x2 = vec_all(x[p + s + 2]), x3 = vec_all(x[p + s + 3]);
                const float *row = at + s * step;
                for (int64_t j = 0; j < whole; j += LANES) {
                    vec r = vec_fma(x0, vec_load(row + j), vec_load(chunk + j));
                    r = vec_fma(x1, vec_load(row + step + j), r);
                    r = vec_fma(x2, vec_load(row + 2 * step + j), r);
                    vec_store(chunk + j, vec_fma(x3, vec_load(row + 3 * step + j), r));
                }
            }
            for (; s < count && step != 1; s++)
                for (int64_t j = 0; j < whole; j += LANES)
                    vec_store(chunk + j, vec_fma(vec_all(x[p + s]), vec_load(at + s * step + j), vec_load(chunk + j)));
            for (int64_t j = whole; j < columns; j++) chunk[j] = one(at + j * column, step, x + p, count);
            const int full = (p + CHUNK) % (CHUNK * CHUNKS_A_RUN) == 0;
            for (int64_t j = 0; j < columns; j++) {
                run[j] = run[j] + chunk[j];
                if (full) {
                    sum[j] = sum[j] + run[j];
                    run[j] = 0.0f;
                }
            }
        }
        for (int64_t j = 0; j < columns; j++) {
            float y = sum[j] + run[j];
            y = (flags & SCALED) ? y * alpha : y;
            y = (flags & BIAS) ? y + bias[(j0 + j) * bias_step] : y;
            y = (flags & ACCUMULATE) ? out[j0 + j] + y : y;
            const uint32_t nan = 0x7fc00000u;
            if (y != y) __builtin_memcpy(&y, &nan, sizeof y);
            out[j0 + j] = y;
        }
    }
}
