// SPDX-License-Identifier: Apache-2.0
// T8: AdamW. Scalars once a step in binary64 from the float32 options, each operation rounded:
//   step = RN32(lr/(1 - b1t)); s2 = RN32(1/sqrt(1 - b2t)); dec = RN32(1 - lr wd); a1 = RN32(1 - beta1);
//   a2 = RN32(1 - beta2)
// and for each element, in float32:
//   m = fma(beta1, m, a1 g); v = fma(beta2, v, (a2 g) g); d = fma(sqrt(v), s2, eps); p = fma(-step, m/d, p dec).
#include "reference.h"

void ref_adamw_f32(int64_t n, float learning_rate, float beta1, float beta2, float eps, float weight_decay,
                   double beta1_power, double beta2_power, const float *g, float *p, float *m, float *v) {
    double t = 1.0 - beta1_power;
    t = (double)learning_rate / t;
    float step = (float)t;
    t = 1.0 - beta2_power;
    t = ref_sqrt64(t);
    t = 1.0 / t;
    float s2 = (float)t;
    t = (double)learning_rate * (double)weight_decay;
    t = 1.0 - t;
    float dec = (float)t;
    t = 1.0 - (double)beta1;
    float a1 = (float)t;
    t = 1.0 - (double)beta2;
    float a2 = (float)t;
    for (int64_t i = 0; i < n; i++) {
        float ag = a1 * g[i];
        float mean = ref_fma32(beta1, m[i], ag);
        float bg = a2 * g[i];
        bg = bg * g[i];
        float square = ref_fma32(beta2, v[i], bg);
        float d = ref_fma32(ref_sqrt32(square), s2, eps);
        float quotient = mean / d;
        float decayed = p[i] * dec;
        float value = ref_fma32(-step, quotient, decayed);
        m[i] = ref_canon32(mean);
        v[i] = ref_canon32(square);
        p[i] = ref_canon32(value);
    }
}
