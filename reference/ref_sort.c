// SPDX-License-Identifier: Apache-2.0
// T1: "Sorting, either direction: NaN last, -0 = +0, stable." A merge sort of indices, bottom up.
#include "reference.h"

#include <stdlib.h>
#include <string.h>

// Whether entry j of the row must stand before entry i, given that i comes first in the source (so a tie says no).
static int overtakes(sb_dtype dtype, int descending, const void *x, int64_t j, int64_t i) {
    if (dtype == SB_F32) {
        float a = ((const float *)x)[i], b = ((const float *)x)[j];
        if (a != a || b != b)
            return a != a && b == b;
        return descending ? b > a : b < a;
    }
    int64_t a = dtype == SB_I32 ? ((const int32_t *)x)[i] : ((const int64_t *)x)[i];
    int64_t b = dtype == SB_I32 ? ((const int32_t *)x)[j] : ((const int64_t *)x)[j];
    return descending ? b > a : b < a;
}

void ref_argsort(sb_dtype dtype, int64_t rows, int64_t count, int descending, const void *x, int64_t *indices) {
    int64_t *from = ref_memory(count, sizeof *from), *to = ref_memory(count, sizeof *to);
    size_t item = dtype == SB_I64 ? 8 : 4;
    for (int64_t row = 0; row < rows; row++) {
        const char *at = (const char *)x + (size_t)(row * count) * item;
        for (int64_t i = 0; i < count; i++)
            from[i] = i;
        for (int64_t width = 1; width < count; width *= 2) {
            for (int64_t first = 0; first < count; first += 2 * width) {
                int64_t middle = first + width < count ? first + width : count;
                int64_t last = first + 2 * width < count ? first + 2 * width : count;
                int64_t i = first, j = middle;
                for (int64_t k = first; k < last; k++)
                    if (j == last || (i < middle && !overtakes(dtype, descending, at, from[j], from[i])))
                        to[k] = from[i++];
                    else
                        to[k] = from[j++];
            }
            int64_t *t = from;
            from = to;
            to = t;
        }
        memcpy(indices + row * count, from, (size_t)count * sizeof *from);
    }
    free(from);
    free(to);
}

void ref_sort(sb_dtype dtype, int64_t rows, int64_t count, int descending, const void *x, void *values) {
    int64_t *indices = ref_memory(rows * count, sizeof *indices);
    size_t item = dtype == SB_I64 ? 8 : 4;
    ref_argsort(dtype, rows, count, descending, x, indices);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < count; i++) { // a move keeps bits
            int64_t source = row * count + indices[row * count + i];
            memcpy((char *)values + (size_t)(row * count + i) * item, (const char *)x + (size_t)source * item, item);
        }
    free(indices);
}
