// SPDX-License-Identifier: Apache-2.0
// The typed text of ref_random.c: "Dropout keeps iff (u32 >> 8) >= nearest-even(p 2^24); kept x becomes RN(x RN(1/(1-p)))".
void REF(ref_dropout)(uint64_t seed, uint64_t stream, int64_t start, int64_t n, REAL p, const REAL *x, REAL *y) {
    uint32_t threshold = threshold_of((double)p);
    double kept = 1.0 - (double)p;
    double reciprocal = 1.0 / kept;
    REAL factor = (REAL)reciprocal;
    for (int64_t i = 0; i < n; i++) {
        REAL value = x[i] * factor;
        y[i] = ref_draw32(seed, stream, (uint64_t)(start + i)) >> 8 >= threshold ? REF_CANON(value) : (REAL)0;
    }
}
