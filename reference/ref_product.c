// SPDX-License-Identifier: Apache-2.0
// T3: products. Chunks of 256 positions, each a chain of fma from +0; runs of 64 chunks, each a chain of sums from +0;
// the runs, a chain of sums from +0. All in the type of the data.
#include "reference.h"

float ref_product(int64_t first, int64_t count, const float *a, int64_t step_a, const float *b, int64_t step_b,
                  const uint8_t *present) {
    int64_t end = first + count;
    float c = 0.0f;
    for (int64_t run = first / 16384; 16384 * run < end; run++) {
        float t = 0.0f;
        for (int64_t chunk = 64 * run; chunk < 64 * run + 64 && 256 * chunk < end; chunk++) {
            float r = 0.0f;
            for (int64_t k = 256 * chunk; k < 256 * chunk + 256 && k < end; k++)
                if (k >= first && (!present || present[k - first]))
                    r = ref_fma32(a[(k - first) * step_a], b[(k - first) * step_b], r);
            t = t + r;
        }
        c = c + t;
    }
    return c;
}

// "Afterwards, in this order, one rounding each: scale (C alpha), bias (+), accumulate (old + C)."
void ref_gemm_f32(int ta, int tb, int64_t m, int64_t n, int64_t k, const float *a, const float *b, const float *bias,
                  int scaled, float alpha, int accumulate, float *c) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const float *row = ta ? a + i : a + i * k;      // a is [k, m] where transposed
            const float *column = tb ? b + j * k : b + j;   // b is [n, k] where transposed
            float y = ref_product(0, k, row, ta ? m : 1, column, tb ? 1 : n, NULL);
            if (scaled)
                y = y * alpha;
            if (bias)
                y = y + bias[j];
            if (accumulate)
                y = c[i * n + j] + y;
            c[i * n + j] = ref_canon32(y);
        }
}
