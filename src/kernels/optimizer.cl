// SPDX-License-Identifier: Apache-2.0
// Optimizers (contract T8): element by element in the type of the data, the scalars made once a step in binary64
// (op_optimizer.c). A decay of 0 leaves the gradient as it is: a parameter that is not finite must not reach it.

// AdamW (I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", 2019): decay is 1 - lr wd.
#define ADAM_NAME NAME(k_adamw)
#define ADAM_SLOPE(g, p) (g)
#define ADAM_KEPT(p) ((p) * decay)
#include "adam_rows.h"

// Adam (D. Kingma, J. Ba, "Adam: a method for stochastic optimization", 2015): the decay is added to the gradient.
#define ADAM_NAME NAME(k_adam)
#define ADAM_SLOPE(g, p) (decay != (T)0 ? NAME(FMA)(decay, p, g) : (g))
#define ADAM_KEPT(p) (p)
#include "adam_rows.h"

// SGD on 256 elements a group: slope = fma(decay, p, g); m = fma(momentum, m, kept slope), at the first step m = slope;
// used = m, with nesterov fma(momentum, m, slope); p = fma(-rate, used, p). Without momentum used = slope, m is not touched.
KERNEL void NAME(k_sgd)(GLOBAL const T *RESTRICT g, GLOBAL T *RESTRICT p, GLOBAL T *RESTRICT m, i64 size, T rate,
                        T momentum, T kept, T decay, i32 begins, i32 nesterov GROUP_PARAM) {
    i64 first = GROUP() * 256;
    i32 count = size - first < 256 ? (i32)(size - first) : 256;
    if (momentum == (T)0) {
        PHASE(l, count) {
            T old = p[first + l], slope = g[first + l];
            slope = decay != (T)0 ? NAME(FMA)(decay, old, slope) : slope;
            p[first + l] = NAME(sbi_canon)(NAME(FMA)(-rate, slope, old));
        } LANE_END
    } else {
        PHASE(l, count) {
            T old = p[first + l], slope = g[first + l];
            slope = decay != (T)0 ? NAME(FMA)(decay, old, slope) : slope;
            T moment = begins ? slope : NAME(FMA)(momentum, m[first + l], kept * slope);
            T used = nesterov ? NAME(FMA)(momentum, moment, slope) : moment;
            m[first + l] = NAME(sbi_canon)(moment);
            p[first + l] = NAME(sbi_canon)(NAME(FMA)(-rate, used, old));
        } LANE_END
    }
}
