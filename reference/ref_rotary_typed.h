// SPDX-License-Identifier: Apache-2.0
// The typed text of ref_rotary.c. frequency_i = RN of the real theta^(-2i/d); angle = RN(position frequency), one rounding;
// cos and sin of T4.
void REF(ref_rotary_table)(int64_t positions, int64_t half, REAL theta, REAL *cosine, REAL *sine) {
    for (int64_t i = 0; i < half; i++) {
        REAL frequency = REF(ref_power)(theta, i, half); // 2 i / d = i / half
        for (int64_t p = 0; p < positions; p++) {
            double product = (double)p * (double)frequency; // of float32 exact: 29 + 24 bits
            REAL angle = (REAL)product;
            cosine[p * half + i] = REF_UNARY(SB_COS, angle);
            sine[p * half + i] = REF_UNARY(SB_SIN, angle);
        }
    }
}

// "y_i = RN(RN(x_i c) - RN(x_j s)); y_j = RN(RN(x_j c) + RN(x_i s)); inverse uses -s", j = i + d/2.
void REF(ref_rotary)(int64_t b, int64_t t, int64_t h, int64_t d, int64_t first, int inverse, const REAL *x,
                    const REAL *cosine, const REAL *sine, REAL *y) {
    int64_t half = d / 2;
    for (int64_t row = 0; row < b * t * h; row++) {
        int64_t position = first + row / h % t;
        for (int64_t i = 0; i < half; i++) {
            REAL xi = x[row * d + i], xj = x[row * d + half + i];
            REAL c = cosine[position * half + i], s = sine[position * half + i];
            if (inverse)
                s = -s;
            REAL xi_c = xi * c, xj_s = xj * s, xj_c = xj * c, xi_s = xi * s;
            REAL yi = xi_c - xj_s, yj = xj_c + xi_s;
            y[row * d + i] = REF_CANON(yi);
            y[row * d + half + i] = REF_CANON(yj);
        }
    }
}
