// SPDX-License-Identifier: Apache-2.0
// Rotary embedding. frequency_i = the real theta^(-2i/d) rounded to float32; angle = RN32(position frequency), one
// rounding; cos and sin of T4.
#include "reference.h"

void ref_rotary_table_f32(int64_t positions, int64_t half, float theta, float *cosine, float *sine) {
    for (int64_t i = 0; i < half; i++) {
        float frequency = ref_power(theta, i, half); // 2 i / d = i / half
        for (int64_t p = 0; p < positions; p++) {
            double product = (double)p * (double)frequency; // exact: 29 + 24 bits
            float angle = (float)product;
            cosine[p * half + i] = ref_unary(SB_COS, angle);
            sine[p * half + i] = ref_unary(SB_SIN, angle);
        }
    }
}

// "y_i = RN32(RN32(x_i c) - RN32(x_j s)); y_j = RN32(RN32(x_j c) + RN32(x_i s)); inverse uses -s", j = i + d/2.
void ref_rotary_f32(int64_t b, int64_t t, int64_t h, int64_t d, int64_t first, int inverse, const float *x,
                    const float *cosine, const float *sine, float *y) {
    int64_t half = d / 2;
    for (int64_t row = 0; row < b * t * h; row++) {
        int64_t position = first + row / h % t;
        for (int64_t i = 0; i < half; i++) {
            float xi = x[row * d + i], xj = x[row * d + half + i];
            float c = cosine[position * half + i], s = sine[position * half + i];
            if (inverse)
                s = -s;
            float xi_c = xi * c, xj_s = xj * s, xj_c = xj * c, xi_s = xi * s;
            float yi = xi_c - xj_s, yj = xj_c + xi_s;
            y[row * d + i] = ref_canon32(yi);
            y[row * d + half + i] = ref_canon32(yj);
        }
    }
}
