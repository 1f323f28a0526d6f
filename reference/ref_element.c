// SPDX-License-Identifier: Apache-2.0
// Element by element: one rounding for each operation that is written.
#include "reference.h"

#define REF_TEXT "ref_element_typed.h"
#include "ref_both.h"

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
