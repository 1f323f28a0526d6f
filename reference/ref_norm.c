// SPDX-License-Identifier: Apache-2.0
// T7: RMS norm. v = RN64(S(RN64(x x))/d); r = RN64(1/RN64(sqrt(RN64(v + eps)))); t = RN64(x r); y = RN32(RN64(t w)),
// without w RN32(t).
#include "reference.h"

#include <stdlib.h>

void ref_rms_norm_f32(int64_t rows, int64_t d, const float *x, const float *weight, double eps, float *y, double *r) {
    for (int64_t i = 0; i < rows; i++) {
        const float *row = x + i * d;
        double v = ref_total_f32(d, row, 1);
        v = v / (double)d;
        v = v + eps;
        v = ref_sqrt64(v);
        double inverse = 1.0 / v;
        if (r)
            r[i] = ref_canon64(inverse);
        for (int64_t j = 0; j < d; j++) {
            double t = (double)row[j] * inverse;
            if (weight)
                t = t * (double)weight[j];
            y[i * d + j] = ref_canon32((float)t);
        }
    }
}

// "t = RN64(x r) from the saved r; g = RN64(dy w) (dy without w); B = RN64(S(RN64(g t))/d); dx = RN32(RN64(r *
// RN64(g - RN64(t B)))); dw = RN32(S over rows of RN64(dy t))".
void ref_rms_norm_backward_f32(int64_t rows, int64_t d, const float *x, const float *weight, const double *r,
                               const float *dy, float *dx, float *dweight) {
    double *term = ref_memory(rows > d ? rows : d, sizeof *term);
    for (int64_t j = 0; dweight && j < d; j++) {
        for (int64_t i = 0; i < rows; i++) {
            double t = (double)x[i * d + j] * r[i];
            term[i] = (double)dy[i * d + j] * t;
        }
        double s = ref_sum(rows, term, NULL);
        dweight[j] = ref_canon32((float)s);
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < d; j++) {
            double t = (double)x[i * d + j] * r[i], g = (double)dy[i * d + j];
            if (weight)
                g = g * (double)weight[j];
            term[j] = g * t;
        }
        double b = ref_sum(d, term, NULL);
        b = b / (double)d;
        for (int64_t j = 0; j < d; j++) {
            double t = (double)x[i * d + j] * r[i], g = (double)dy[i * d + j];
            if (weight)
                g = g * (double)weight[j];
            double u = t * b;
            u = g - u;
            u = r[i] * u;
            dx[i * d + j] = ref_canon32((float)u);
        }
    }
    free(term);
}
