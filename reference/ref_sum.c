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

static int finite64(double x) { return x - x == 0.0; }

// S(d d) with d = RN64(x - mean), times c: "where c is small, d = RN64(RN64(x c) - RN64(mean c)), else RN64(RN64(x - mean) c)".
static double squares(int64_t n, const double *x, double mean, double c) {
    double *term = ref_memory(n, sizeof *term);
    for (int64_t j = 0; j < n; j++) {
        double d;
        if (c < 1.0) {
            double scaled = x[j] * c, middle = mean * c;
            d = scaled - middle;
        } else {
            d = x[j] - mean;
            d = d * c;
        }
        term[j] = d * d;
    }
    double s = ref_sum(n, term, NULL);
    free(term);
    return s;
}

// S(d d) / divisor, or its root. "On float64 data whose S(d d) is not finite, or below 2^-900, d is taken times c = 2^-600,
// or 2^600, and the result, rounded each time, times 1/c (the root) or twice times 1/c."
double ref_spread(int wide, int64_t n, const double *x, double mean, double divisor, int root) {
    double c = 1.0, q = squares(n, x, mean, c);
    if (wide && !finite64(q))
        c = ref_float64((uint64_t)(1023 - 600) << 52);
    else if (wide && q < ref_float64((uint64_t)(1023 - 900) << 52))
        c = ref_float64((uint64_t)(1023 + 600) << 52);
    if (c != 1.0)
        q = squares(n, x, mean, c);
    double back = 1.0 / c, v = q / divisor;
    if (root) {
        v = ref_sqrt64(v);
        return v * back;
    }
    v = v * back;
    return v * back;
}

// The mean in binary64. "NaN if a term is NaN; if minimum = maximum as numbers, that number (a zero is +0); else RN64(S/n);
// where S is not finite though every term is, RN64(S(x 2^-64)/n) 2^64."
double ref_mean(int64_t n, const double *x) {
    double low = x[0], high = x[0];
    for (int64_t j = 0; j < n; j++) {
        low = ref_min64(low, x[j]);
        high = ref_max64(high, x[j]);
    }
    if (low == high)
        return low == 0 ? 0.0 : low;
    double s = ref_sum(n, x, NULL), mean = s / (double)n;
    if (finite64(low) && finite64(high) && !finite64(s)) {
        double *shrunk = ref_memory(n, sizeof *shrunk);
        for (int64_t j = 0; j < n; j++)
            shrunk[j] = x[j] * ref_float64((uint64_t)(1023 - 64) << 52);
        s = ref_sum(n, shrunk, NULL);
        free(shrunk);
        mean = s / (double)n;
        mean = mean * ref_float64((uint64_t)(1023 + 64) << 52);
    }
    return ref_canon64(mean);
}

#define REF_TEXT "ref_sum_typed.h"
#include "ref_both.h"
