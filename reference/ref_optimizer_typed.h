// SPDX-License-Identifier: Apache-2.0
// The typed text of ref_optimizer.c. Scalars once a step in binary64 from the options, each operation rounded:
//   step = RN(lr/(1 - b1t)); s2 = RN(1/sqrt(1 - b2t)); dec = RN(1 - lr wd); a1 = RN(1 - beta1); a2 = RN(1 - beta2)
// and for each element, in the type of the data:
//   m = fma(beta1, m, a1 g); v = fma(beta2, v, (a2 g) g); d = fma(sqrt(v), s2, eps);
//   AdamW: p = fma(-step, m/d, p dec). Adam: g = fma(wd, p, g) first where wd is not 0, p = fma(-step, m/d, p).
static void REF(step_adam)(int64_t n, int decoupled, REAL learning_rate, REAL beta1, REAL beta2, REAL eps,
                           REAL weight_decay, double beta1_power, double beta2_power, const REAL *g, REAL *p, REAL *m,
                           REAL *v) {
    double t = 1.0 - beta1_power;
    t = (double)learning_rate / t;
    REAL step = (REAL)t;
    t = 1.0 - beta2_power;
    t = ref_sqrt64(t);
    t = 1.0 / t;
    REAL s2 = (REAL)t;
    t = (double)learning_rate * (double)weight_decay;
    t = 1.0 - t;
    REAL dec = (REAL)t;
    t = 1.0 - (double)beta1;
    REAL a1 = (REAL)t;
    t = 1.0 - (double)beta2;
    REAL a2 = (REAL)t;
    for (int64_t i = 0; i < n; i++) {
        REAL slope = g[i];
        if (!decoupled && weight_decay != 0)
            slope = REF_FMA(weight_decay, p[i], slope);
        REAL ag = a1 * slope;
        REAL mean = REF_FMA(beta1, m[i], ag);
        REAL bg = a2 * slope;
        bg = bg * slope;
        REAL square = REF_FMA(beta2, v[i], bg);
        REAL d = REF_FMA(REF_SQRT(square), s2, eps);
        REAL quotient = mean / d;
        REAL kept = p[i];
        if (decoupled)
            kept = kept * dec;
        REAL value = REF_FMA(-step, quotient, kept);
        m[i] = REF_CANON(mean);
        v[i] = REF_CANON(square);
        p[i] = REF_CANON(value);
    }
}

void REF(ref_adamw)(int64_t n, REAL learning_rate, REAL beta1, REAL beta2, REAL eps, REAL weight_decay,
                    double beta1_power, double beta2_power, const REAL *g, REAL *p, REAL *m, REAL *v) {
    REF(step_adam)(n, 1, learning_rate, beta1, beta2, eps, weight_decay, beta1_power, beta2_power, g, p, m, v);
}

void REF(ref_adam)(int64_t n, REAL learning_rate, REAL beta1, REAL beta2, REAL eps, REAL weight_decay,
                   double beta1_power, double beta2_power, const REAL *g, REAL *p, REAL *m, REAL *v) {
    REF(step_adam)(n, 0, learning_rate, beta1, beta2, eps, weight_decay, beta1_power, beta2_power, g, p, m, v);
}

// kept = RN(1 - dampening) once. Element: g = fma(wd, p, g) where wd is not 0; where the momentum is not 0:
// m = fma(momentum, m, kept g), at the first step m = g, and g = fma(momentum, m, g) with nesterov, else g = m;
// p = fma(-lr, g, p).
void REF(ref_sgd)(int64_t n, int first, int nesterov, REAL learning_rate, REAL momentum, REAL dampening,
                  REAL weight_decay, const REAL *g, REAL *p, REAL *m) {
    double t = 1.0 - (double)dampening;
    REAL kept = (REAL)t;
    for (int64_t i = 0; i < n; i++) {
        REAL slope = g[i];
        if (weight_decay != 0)
            slope = REF_FMA(weight_decay, p[i], slope);
        if (momentum != 0) {
            REAL own = kept * slope;
            REAL mean = first ? slope : REF_FMA(momentum, m[i], own);
            slope = nesterov ? REF_FMA(momentum, mean, slope) : mean;
            m[i] = REF_CANON(mean);
        }
        REAL value = REF_FMA(-learning_rate, slope, p[i]);
        p[i] = REF_CANON(value);
    }
}
