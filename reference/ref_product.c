// SPDX-License-Identifier: Apache-2.0
// T3: products. Chunks of 256 positions, each a chain of fma from +0; runs of 64 chunks, each a chain of sums from +0;
// the runs, a chain of sums from +0. All in the type of the data.
#include "reference.h"

#include <stdlib.h>

#define REF_TEXT "ref_product_typed.h"
#include "ref_both.h"

static double *widened(int64_t count, const float *x) {
    double *y = ref_memory(count + 1, sizeof *y);
    for (int64_t i = 0; i < count; i++)
        y[i] = (double)x[i];
    return y;
}

void ref_gemm_wide(int ta, int tb, int64_t m, int64_t n, int64_t k, const float *a, const float *b, const double *bias,
                   int scaled, double alpha, int accumulate, double *c) {
    double *x = widened(m * k, a), *y = widened(k * n, b);
    ref_gemm_f64(ta, tb, m, n, k, x, y, bias, scaled, alpha, accumulate, c);
    free(x);
    free(y);
}
