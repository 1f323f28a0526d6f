// SPDX-License-Identifier: Apache-2.0
// Rows by their number: gather and scatter move them and keep bits. scatter_add sums segments (T2) in ascending source
// order, numbered by rank. Indices are int32 or int64.
#include "reference.h"

#include <stdlib.h>
#include <string.h>

static int64_t at(sb_dtype dtype, const void *indices, int64_t i) {
    return dtype == SB_I32 ? ((const int32_t *)indices)[i] : ((const int64_t *)indices)[i];
}

void ref_gather(int64_t bytes, int64_t count, const void *x, sb_dtype dtype, const void *indices, void *out) {
    for (int64_t i = 0; i < count; i++)
        memcpy((char *)out + i * bytes, (const char *)x + at(dtype, indices, i) * bytes, (size_t)bytes);
}

void ref_take_along(int64_t item, int64_t rows, int64_t n, int64_t k, const void *x, sb_dtype dtype, const void *indices,
                    void *out) {
    for (int64_t i = 0; i < rows * k; i++)
        memcpy((char *)out + i * item, (const char *)x + (i / k * n + at(dtype, indices, i)) * item, (size_t)item);
}

void ref_scatter(int64_t bytes, int64_t count, sb_dtype dtype, const void *indices, const void *source, void *out) {
    for (int64_t i = 0; i < count; i++) // the last one stays
        memcpy((char *)out + at(dtype, indices, i) * bytes, (const char *)source + i * bytes, (size_t)bytes);
}

void ref_scatter_add_i64(int64_t v, int64_t width, int64_t count, sb_dtype dtype, const void *indices, const int64_t *source,
                         int accumulate, int64_t *out) {
    uint64_t *sum = (uint64_t *)out; // modulo 2^64
    for (int64_t i = 0; i < v * width; i++)
        sum[i] = accumulate ? sum[i] : 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t c = 0; c < width; c++)
            sum[at(dtype, indices, i) * width + c] += (uint64_t)source[i * width + c];
}

#define REF_TEXT "ref_gather_typed.h"
#include "ref_both.h"
