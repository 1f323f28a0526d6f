// SPDX-License-Identifier: Apache-2.0
// T5: softmax and losses. An entry of -inf is absent: it contributes nothing. m = max; d_j = RN32(x_j - m);
// e_j = exp(d_j); s = S(e); r = RN64(1/s).
#include "reference.h"

#include <stdlib.h>

typedef struct row_parts {
    int any;           // is an entry present
    float *d;          // d_j
    double *e;         // e_j, widened
    uint8_t *present;
    double s;
} row_parts;

static row_parts row_new(int64_t n) {
    row_parts p = {0, ref_memory(n, sizeof(float)), ref_memory(n, sizeof(double)), ref_memory(n, 1), 0.0};
    return p;
}

static void row_free(row_parts *p) {
    free(p->d);
    free(p->e);
    free(p->present);
}

static void row_take(row_parts *p, int64_t n, const float *x) {
    const float infinity = ref_float32(0x7f800000u);
    float m = -infinity;
    p->any = 0;
    for (int64_t j = 0; j < n; j++) {
        p->present[j] = !(x[j] == -infinity);
        if (p->present[j]) {
            m = ref_max32(m, x[j]);
            p->any = 1;
        }
    }
    for (int64_t j = 0; j < n; j++) {
        p->d[j] = 0.0f;
        p->e[j] = 0.0;
        if (p->present[j]) {
            p->d[j] = x[j] - m;
            p->e[j] = (double)ref_unary(SB_EXP, p->d[j]);
        }
    }
    p->s = ref_sum(n, p->e, p->present);
}

// "y_j = RN32(e_j r). log-softmax_j = RN32(RN64(d_j - log s))"; absent: +0, and -inf.
void ref_softmax_f32(int64_t rows, int64_t count, int log, const float *x, float *y) {
    row_parts p = row_new(count);
    for (int64_t i = 0; i < rows; i++) {
        row_take(&p, count, x + i * count);
        double r = 1.0 / p.s, log_s = log && p.any ? ref_log64(p.s) : 0.0;
        for (int64_t j = 0; j < count; j++) {
            float *out = y + i * count + j;
            if (!p.present[j]) {
                *out = log ? -ref_float32(0x7f800000u) : 0.0f;
            } else if (log) {
                double t = (double)p.d[j] - log_s;
                *out = ref_canon32((float)t);
            } else {
                double t = p.e[j] * r;
                *out = ref_canon32((float)t);
            }
        }
    }
    row_free(&p);
}

// "loss = RN64(log s - d_t) (+inf where the target's entry is absent)". No target or no present entry: +0.
void ref_cross_entropy_f32(int64_t rows, int64_t v, const float *logits, const int32_t *targets, double *loss) {
    row_parts p = row_new(v);
    for (int64_t i = 0; i < rows; i++) {
        loss[i] = 0.0;
        if (targets[i] < 0)
            continue;
        row_take(&p, v, logits + i * v);
        if (!p.any)
            continue;
        double log_s = ref_log64(p.s), d_t = (double)p.d[targets[i]];
        if (!p.present[targets[i]])
            d_t = -(double)ref_float32(0x7f800000u);
        double t = log_s - d_t;
        loss[i] = ref_canon64(t);
    }
    row_free(&p);
}

// "p = RN64(e_j r); RN64(p - [j = t]); RN32(RN64(that scale))"; e_j = +0 for an absent entry.
void ref_cross_entropy_backward_f32(int64_t rows, int64_t v, const float *logits, const int32_t *targets, double scale,
                                    float *dlogits) {
    row_parts p = row_new(v);
    for (int64_t i = 0; i < rows; i++) {
        row_take(&p, v, logits + i * v); // (dlogits may be logits)
        double r = 1.0 / p.s;
        for (int64_t j = 0; j < v; j++) {
            float *out = dlogits + i * v + j;
            *out = 0.0f;
            if (targets[i] < 0 || !p.any)
                continue;
            double t = p.e[j] * r;
            t = t - (j == targets[i] ? 1.0 : 0.0);
            t = t * scale;
            *out = ref_canon32((float)t);
        }
    }
    row_free(&p);
}
