// SPDX-License-Identifier: Apache-2.0
// Element by element: binary arithmetic with broadcasting, scaling, and the gate of SwiGLU both ways. Each operation is
// one IEEE operation in the type of the data (silu and its derivative: contract T4), in the order written. Groups are 4,096 elements.
// Where an operation may work in place its pointers have no RESTRICT; an element is read before it is written.
#include "function64.h"

#define BINARY_NAME NAME(k_add)
#define BINARY(x, y) ((x) + (y))
#include "binary_rows.h"

#define BINARY_NAME NAME(k_sub)
#define BINARY(x, y) ((x) - (y))
#include "binary_rows.h"

#define BINARY_NAME NAME(k_mul)
#define BINARY(x, y) ((x) * (y))
#include "binary_rows.h"

#define BINARY_NAME NAME(k_div)
#define BINARY(x, y) NAME(DIV)(x, y)
#include "binary_rows.h"

#define BINARY_NAME NAME(k_maximum)
#define BINARY(x, y) NAME(sbi_max)(x, y)
#include "binary_rows.h"

#define BINARY_NAME NAME(k_minimum)
#define BINARY(x, y) NAME(sbi_min)(x, y)
#include "binary_rows.h"

#define BINARY_NAME NAME(k_pow)
#define BINARY(x, y) NAME(sbi_pow)(x, y)
#include "binary_rows.h"

// out = RN(x * factor); out may be x.
KERNEL void NAME(k_scale)(GLOBAL const T *x, GLOBAL T *out, i64 size, T factor GROUP_PARAM) {
    i64 first = GROUP() * 4096;
    i32 n = (i32)(size - first < 4096 ? size - first : 4096);
    for (i32 j = 0; j < n; j += 256) {
        PHASE(l, sbi_lanes(n - j, 256)) { out[first + j + l] = NAME(sbi_canon)(x[first + j + l] * factor); } LANE_END
    }
}

// y = RN(silu(gate) * up).
KERNEL void NAME(k_swiglu)(GLOBAL const T *RESTRICT gate, GLOBAL const T *RESTRICT up, GLOBAL T *RESTRICT y,
                           i64 size GROUP_PARAM) {
    i64 first = GROUP() * 4096;
    i32 n = (i32)(size - first < 4096 ? size - first : 4096);
    for (i32 j = 0; j < n; j += 256) {
        PHASE(l, sbi_lanes(n - j, 256)) {
            y[first + j + l] = NAME(sbi_canon)(NAME(sbi_silu)(gate[first + j + l]) * up[first + j + l]);
        } LANE_END
    }
}

// dup = RN(dy * silu(gate)); dgate = RN(RN(dy * up) * silu'(gate)); dgate may be gate, dup may be up.
KERNEL void NAME(k_swiglu_backward)(GLOBAL const T *gate, GLOBAL const T *up, GLOBAL const T *dy, GLOBAL T *dgate,
                                    GLOBAL T *dup, i64 size GROUP_PARAM) {
    i64 first = GROUP() * 4096;
    i32 n = (i32)(size - first < 4096 ? size - first : 4096);
    for (i32 j = 0; j < n; j += 256) {
        PHASE(l, sbi_lanes(n - j, 256)) {
            i64 i = first + j + l;
            T g = gate[i], u = up[i], d = dy[i];
            T into_up = NAME(sbi_canon)(d * NAME(sbi_silu)(g));
            T into_gate = NAME(sbi_canon)(d * u * NAME(sbi_silu_grad)(g));
            dup[i] = into_up;
            dgate[i] = into_gate;
        } LANE_END
    }
}
