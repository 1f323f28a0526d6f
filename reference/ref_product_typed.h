// SPDX-License-Identifier: Apache-2.0
// The typed text of ref_product.c: REAL is float or double (ref_both.h).
REAL REF(ref_product)(int64_t first, int64_t count, const REAL *a, int64_t step_a, const REAL *b, int64_t step_b,
                      const uint8_t *present) {
    int64_t end = first + count;
    REAL c = 0;
    for (int64_t run = first / 16384; 16384 * run < end; run++) {
        REAL t = 0;
        for (int64_t chunk = 64 * run; chunk < 64 * run + 64 && 256 * chunk < end; chunk++) {
            REAL r = 0;
            for (int64_t k = 256 * chunk; k < 256 * chunk + 256 && k < end; k++)
                if (k >= first && (!present || present[k - first]))
                    r = REF_FMA(a[(k - first) * step_a], b[(k - first) * step_b], r);
            t = t + r;
        }
        c = c + t;
    }
    return c;
}

// "Then, in this order and only where asked for: C = C·alpha; C = C + bias_j; C = old + C."
void REF(ref_gemm)(int ta, int tb, int64_t m, int64_t n, int64_t k, const REAL *a, const REAL *b, const REAL *bias,
                   int scaled, REAL alpha, int accumulate, REAL *c) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const REAL *row = ta ? a + i : a + i * k;      // a is [k, m] where transposed
            const REAL *column = tb ? b + j * k : b + j;   // b is [n, k] where transposed
            REAL y = REF(ref_product)(0, k, row, ta ? m : 1, column, tb ? 1 : n, NULL);
            if (scaled)
                y = y * alpha;
            if (bias)
                y = y + bias[j];
            if (accumulate)
                y = c[i * n + j] + y;
            c[i * n + j] = REF_CANON(y);
        }
}
