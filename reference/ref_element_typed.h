// SPDX-License-Identifier: Apache-2.0
// The typed text of ref_element.c: REAL is float or double (real.h).
static REAL REF(binary)(sb_binary_kind kind, REAL a, REAL b) {
    REAL y = 0;
    switch (kind) {
    case SB_ADD: y = a + b; break;
    case SB_SUB: y = a - b; break;
    case SB_MUL: y = a * b; break;
    case SB_DIV: y = a / b; break;
    case SB_MAXIMUM: y = REF_MAX(a, b); break;
    case SB_MINIMUM: y = REF_MIN(a, b); break;
    case SB_POW: y = REF_WIDTH(ref_pow)(a, b); break;
    }
    return REF_CANON(y);
}

void REF(ref_binary)(sb_binary_kind kind, int ndim, const int64_t *shape, const int64_t *step_a, const int64_t *step_b,
                    const REAL *a, const REAL *b, REAL *out) {
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
        out[at] = REF(binary)(kind, a[at_a], b[at_b]);
    }
}

void REF(ref_scale)(int64_t n, const REAL *x, REAL factor, REAL *out) {
    for (int64_t i = 0; i < n; i++) {
        REAL y = x[i] * factor;
        out[i] = REF_CANON(y);
    }
}

void REF(ref_swiglu)(int64_t n, const REAL *gate, const REAL *up, REAL *y) {
    for (int64_t i = 0; i < n; i++) {
        REAL s = REF_UNARY(SB_SILU, gate[i]);
        REAL t = s * up[i];
        y[i] = REF_CANON(t);
    }
}

void REF(ref_swiglu_backward)(int64_t n, const REAL *gate, const REAL *up, const REAL *dy, REAL *dgate, REAL *dup) {
    for (int64_t i = 0; i < n; i++) {
        REAL s = REF_UNARY(SB_SILU, gate[i]), ds = REF_UNARY(SB_SILU_GRAD, gate[i]);
        REAL into_up = dy[i] * s;
        REAL t = dy[i] * up[i];
        REAL into_gate = t * ds;
        dup[i] = REF_CANON(into_up); // (the outputs may be the inputs)
        dgate[i] = REF_CANON(into_gate);
    }
}
