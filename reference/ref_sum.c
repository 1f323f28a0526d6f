// SPDX-License-Identifier: Apache-2.0
// T2: sums S, and the reductions that follow from them. Terms are widened to binary64 and numbered; blocks of 4,096
// terms; within a block 32 accumulators by the number within the block modulo 32, ascending, then the tree.
#include "reference.h"

#include <stdlib.h>

static double sum_block(int64_t n, const double *x, const uint8_t *present) {
    double a[32];
    for (int l = 0; l < 32; l++)
        a[l] = 0.0;
    for (int64_t j = 0; j < n; j++)
        if (!present || present[j])
            a[j % 32] = a[j % 32] + x[j];
    for (int s = 16; s >= 1; s /= 2)
        for (int i = 0; i < s; i++)
            a[i] = a[i] + a[i + s];
    return a[0] + 0.0;
}

double ref_sum(int64_t n, const double *x, const uint8_t *present) {
    if (n <= 4096)
        return sum_block(n, x, present);
    int64_t blocks = (n + 4095) / 4096;
    double *totals = ref_memory(blocks, sizeof *totals);
    for (int64_t b = 0; b < blocks; b++) {
        int64_t first = 4096 * b, count = n - first < 4096 ? n - first : 4096;
        totals[b] = sum_block(count, x + first, present ? present + first : NULL);
    }
    double s = ref_sum(blocks, totals, NULL);
    free(totals);
    return s;
}

// "Product terms (dot): RN64 of the product, then added."
void ref_dot_f32(int64_t n, const float *a, const float *b, float *out) {
    double *term = ref_memory(n, sizeof *term);
    for (int64_t j = 0; j < n; j++)
        term[j] = (double)a[j] * (double)b[j];
    float s = (float)ref_sum(n, term, NULL);
    *out = ref_canon32(s);
    free(term);
}

double ref_total_f32(int64_t n, const float *x, int squares) {
    double *term = ref_memory(n, sizeof *term);
    for (int64_t j = 0; j < n; j++)
        term[j] = squares ? (double)x[j] * (double)x[j] : (double)x[j];
    double s = ref_sum(n, term, NULL);
    free(term);
    return ref_canon64(s);
}

double ref_total_f64(int64_t n, const double *x, int squares) {
    double *term = ref_memory(n, sizeof *term);
    for (int64_t j = 0; j < n; j++)
        term[j] = squares ? x[j] * x[j] : x[j];
    double s = ref_sum(n, term, NULL);
    free(term);
    return ref_canon64(s);
}

static float reduce_sum(int64_t n, const float *x) {
    double s = ref_total_f32(n, x, 0);
    return ref_canon32((float)s);
}

// "if minimum = maximum as numbers over the terms, the mean is that value (a zero is +0); NaN terms: NaN".
static float reduce_mean(int64_t n, const float *x) {
    float low = x[0], high = x[0];
    for (int64_t j = 0; j < n; j++) {
        low = ref_min32(low, x[j]);
        high = ref_max32(high, x[j]);
    }
    if (low == high)
        return low == 0 ? 0.0f : low;
    double s = ref_total_f32(n, x, 0);
    double mean = s / (double)n;
    return ref_canon32((float)mean);
}

static float reduce_max(int64_t n, const float *x) {
    float m = x[0];
    for (int64_t j = 0; j < n; j++)
        m = ref_max32(m, x[j]);
    return m;
}

// "never pick a NaN while a number remains; lowest index on a tie".
static int64_t reduce_argmax(int64_t n, const float *x) {
    int64_t best = -1;
    for (int64_t j = 0; j < n; j++)
        if (x[j] == x[j] && (best < 0 || x[j] > x[best]))
            best = j;
    return best < 0 ? 0 : best;
}

void ref_reduce_f32(sb_reduction kind, int64_t outer, int64_t count, int64_t inner, const float *x, void *out) {
    float *term = ref_memory(count, sizeof *term);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            for (int64_t j = 0; j < count; j++)
                term[j] = x[(o * count + j) * inner + i];
            switch (kind) {
            case SB_SUM: ((float *)out)[o * inner + i] = reduce_sum(count, term); break;
            case SB_MEAN: ((float *)out)[o * inner + i] = reduce_mean(count, term); break;
            case SB_MAX: ((float *)out)[o * inner + i] = reduce_max(count, term); break;
            case SB_ARGMAX: ((int64_t *)out)[o * inner + i] = reduce_argmax(count, term); break;
            }
        }
    free(term);
}
