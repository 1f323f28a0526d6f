// SPDX-License-Identifier: Apache-2.0
// Element by element: one rounding for each operation that is written.
#include "reference.h"

static float binary(sb_binary_kind kind, float a, float b) {
    float y = 0.0f;
    switch (kind) {
    case SB_ADD: y = a + b; break;
    case SB_SUB: y = a - b; break;
    case SB_MUL: y = a * b; break;
    case SB_DIV: y = a / b; break;
    case SB_MAXIMUM: y = ref_max32(a, b); break;
    case SB_MINIMUM: y = ref_min32(a, b); break;
    }
    return ref_canon32(y);
}

void ref_binary_f32(sb_binary_kind kind, int ndim, const int64_t *shape, const int64_t *step_a, const int64_t *step_b,
                    const float *a, const float *b, float *out) {
    int64_t size = 1;
    for (int i = 0; i < ndim; i++)
        size *= shape[i];
    for (int64_t at = 0; at < size; at++) {
        int64_t rest = at, at_a = 0, at_b = 0;
        for (int i = ndim - 1; i >= 0; i--) {
            at_a += rest % shape[i] * step_a[i];
            at_b += rest % shape[i] * step_b[i];
            rest /= shape[i];
        }
        out[at] = binary(kind, a[at_a], b[at_b]);
    }
}

void ref_scale_f32(int64_t n, const float *x, float factor, float *out) {
    for (int64_t i = 0; i < n; i++) {
        float y = x[i] * factor;
        out[i] = ref_canon32(y);
    }
}

void ref_swiglu_f32(int64_t n, const float *gate, const float *up, float *y) {
    for (int64_t i = 0; i < n; i++) {
        float s = ref_unary(SB_SILU, gate[i]);
        float t = s * up[i];
        y[i] = ref_canon32(t);
    }
}

void ref_swiglu_backward_f32(int64_t n, const float *gate, const float *up, const float *dy, float *dgate, float *dup) {
    for (int64_t i = 0; i < n; i++) {
        float s = ref_unary(SB_SILU, gate[i]), ds = ref_unary(SB_SILU_GRAD, gate[i]);
        float into_up = dy[i] * s;
        float t = dy[i] * up[i];
        float into_gate = t * ds;
        dup[i] = ref_canon32(into_up); // (the outputs may be the inputs)
        dgate[i] = ref_canon32(into_gate);
    }
}
