// SPDX-License-Identifier: Apache-2.0
// T9: counts of integer codes, or sums of integer weights, modulo 2^64.
#include "reference.h"

void ref_histogram(sb_dtype codes_dtype, int64_t n, int64_t features, int64_t bins, const void *codes,
                   sb_dtype weights_dtype, const void *weights, int64_t *counts) {
    for (int64_t i = 0; i < features * bins; i++)
        counts[i] = 0;
    for (int64_t row = 0; row < n; row++)
        for (int64_t f = 0; f < features; f++) {
            int64_t at = row * features + f, weight = 1;
            int64_t code = codes_dtype == SB_U8 ? ((const uint8_t *)codes)[at] : ((const int32_t *)codes)[at];
            if (weights)
                weight = weights_dtype == SB_I32 ? ((const int32_t *)weights)[row] : ((const int64_t *)weights)[row];
            uint64_t sum = (uint64_t)counts[f * bins + code] + (uint64_t)weight;
            counts[f * bins + code] = (int64_t)sum;
        }
}
