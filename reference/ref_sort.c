// SPDX-License-Identifier: Apache-2.0
// T1: "Sorting, either direction: NaN last, -0 = +0, stable." A merge sort of indices, bottom up.
#include "reference.h"

#include <stdlib.h>
#include <string.h>

static size_t item_of(sb_dtype dtype) {
    return dtype == SB_U8 ? 1 : dtype == SB_F64 || dtype == SB_I64 || dtype == SB_U64 ? 8 : 4;
}

// -1, 0, 1 as a is below, equal to, above b in ascending order; a NaN is above every number and equal to a NaN.
static int compare(sb_dtype dtype, const void *x, int64_t i, int64_t j) {
#define ELEMENTS(type) type a = ((const type *)x)[i], b = ((const type *)x)[j]
#define SIGN (a > b) - (a < b)
    switch (dtype) {
    case SB_F32: { ELEMENTS(float); return a != a || b != b ? (a != a) - (b != b) : SIGN; }
    case SB_F64: { ELEMENTS(double); return a != a || b != b ? (a != a) - (b != b) : SIGN; }
    case SB_I32: { ELEMENTS(int32_t); return SIGN; }
    case SB_I64: { ELEMENTS(int64_t); return SIGN; }
    case SB_U32: { ELEMENTS(uint32_t); return SIGN; }
    case SB_U64: { ELEMENTS(uint64_t); return SIGN; }
    default: { ELEMENTS(uint8_t); return SIGN; }
    }
}

static int is_nan(sb_dtype dtype, const void *x, int64_t i) {
    if (dtype == SB_F32)
        return ((const float *)x)[i] != ((const float *)x)[i];
    return dtype == SB_F64 && ((const double *)x)[i] != ((const double *)x)[i];
}

// Whether entry j of the row must stand before entry i, given that i comes first in the source (so a tie says no).
static int overtakes(sb_dtype dtype, int descending, const void *x, int64_t j, int64_t i) {
    if (is_nan(dtype, x, i) || is_nan(dtype, x, j))
        return is_nan(dtype, x, i) && !is_nan(dtype, x, j);
    return descending ? compare(dtype, x, j, i) > 0 : compare(dtype, x, j, i) < 0;
}

void ref_argsort(sb_dtype dtype, int64_t rows, int64_t count, int descending, const void *x, int64_t *indices) {
    int64_t *from = ref_memory(count, sizeof *from), *to = ref_memory(count, sizeof *to);
    size_t item = item_of(dtype);
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
    size_t item = item_of(dtype);
    ref_argsort(dtype, rows, count, descending, x, indices);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < count; i++) { // a move keeps bits
            int64_t source = row * count + indices[row * count + i];
            memcpy((char *)values + (size_t)(row * count + i) * item, (const char *)x + (size_t)source * item, item);
        }
    free(indices);
}

void ref_top_k(sb_dtype dtype, int64_t rows, int64_t count, int largest, int64_t k, const void *x, void *values,
               int64_t *indices) {
    int64_t *order = ref_memory(rows * count, sizeof *order);
    size_t item = item_of(dtype);
    ref_argsort(dtype, rows, count, largest, x, order);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < k; i++) {
            int64_t place = order[row * count + i];
            if (indices)
                indices[row * k + i] = place;
            if (values)
                memcpy((char *)values + (size_t)(row * k + i) * item, (const char *)x + (size_t)(row * count + place) * item, item);
        }
    free(order);
}

int64_t ref_unique(sb_dtype dtype, int64_t n, const void *x, void *values, int64_t *inverse, int64_t *counts) {
    int64_t *order = ref_memory(n, sizeof *order), number = 0;
    size_t item = item_of(dtype);
    ref_argsort(dtype, 1, n, 0, x, order);
    memset(values, 0, (size_t)n * item);
    if (counts)
        memset(counts, 0, (size_t)n * sizeof *counts);
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || compare(dtype, x, order[i - 1], order[i]) != 0) {
            memcpy((char *)values + (size_t)number * item, (const char *)x + (size_t)order[i] * item, item);
            number++;
        }
        if (inverse)
            inverse[order[i]] = number - 1;
        if (counts)
            counts[number - 1]++;
    }
    free(order);
    return number;
}
