// SPDX-License-Identifier: Apache-2.0
// T2: "Scans: c_i = chain from +0 inside chunks of 256; P = chain of chunk totals inside runs of 64 chunks; R = chain of run
// totals; y_i = RN64(RN64(R + P) + c_i), rounded once." Integers modulo 2^32 or 2^64.
#include "reference.h"

static void scan_integers(sb_dtype dtype, int64_t n, int exclusive, int reverse, const void *x, void *y) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = reverse ? n - 1 - i : i;
        uint64_t before = sum;
        sum += dtype == SB_I32 ? (uint64_t)((const int32_t *)x)[at] : (uint64_t)((const int64_t *)x)[at];
        if (dtype == SB_I32)
            ((int32_t *)y)[at] = (int32_t)(uint32_t)(exclusive ? before : sum);
        else
            ((int64_t *)y)[at] = (int64_t)(exclusive ? before : sum);
    }
}

static void scan_reals(sb_dtype dtype, int64_t n, int exclusive, int reverse, const void *x, void *y) {
    double r = 0.0, p = 0.0, c = 0.0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = reverse ? n - 1 - i : i;
        if (i > 0 && i % 256 == 0) { // a chunk ends
            p = p + c;
            c = 0.0;
            if (i % (256 * 64) == 0) { // and a run
                r = r + p;
                p = 0.0;
            }
        }
        double term = dtype == SB_F32 ? (double)((const float *)x)[at] : ((const double *)x)[at], before = c;
        c = c + term;
        double base = r + p;
        double value = base + (exclusive ? before : c);
        if (dtype == SB_F32)
            ((float *)y)[at] = ref_canon32((float)value);
        else
            ((double *)y)[at] = ref_canon64(value);
    }
}

void ref_scan(sb_dtype dtype, int64_t rows, int64_t n, int exclusive, int reverse, const void *x, void *y) {
    int64_t bytes = n * (dtype == SB_F32 || dtype == SB_I32 ? 4 : 8);
    for (int64_t row = 0; row < rows; row++) {
        const void *from = (const char *)x + row * bytes;
        void *to = (char *)y + row * bytes;
        if (dtype == SB_I32 || dtype == SB_I64)
            scan_integers(dtype, n, exclusive, reverse, from, to);
        else
            scan_reals(dtype, n, exclusive, reverse, from, to);
    }
}
