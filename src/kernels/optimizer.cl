// SPDX-License-Identifier: Apache-2.0
// Optimizers (contract T8): element by element in float32, the scalars made once a step in binary64 (op_optimizer.c).

#if T_BITS == 32
// AdamW (I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", 2019) on 256 elements a group:
//     m = fma(beta1, m, a1 g)            a1 = 1 - beta1
//     v = fma(beta2, v, (a2 g) g)        a2 = 1 - beta2
//     p = fma(-step, m / d, p dec)       d = fma(sqrt(v), s2, eps)
KERNEL void NAME(k_adamw)(GLOBAL const T *RESTRICT g, GLOBAL T *RESTRICT p, GLOBAL T *RESTRICT m,
                          GLOBAL T *RESTRICT v, i64 size, T beta1, T a1, T beta2, T a2, T s2, T eps, T step,
                          T dec GROUP_PARAM) {
    i64 first = GROUP() * 256;
    i32 count = size - first < 256 ? (i32)(size - first) : 256;
    PHASE(l, count) {
        T slope = g[first + l];
        T mean = FMA(beta1, m[first + l], a1 * slope);
        T square = FMA(beta2, v[first + l], (a2 * slope) * slope);
        T d = FMA(SQRT32(square), s2, eps);
        T moved = FMA(-step, mean / d, p[first + l] * dec);
        m[first + l] = sbi_canon_f32(mean);
        v[first + l] = sbi_canon_f32(square);
        p[first + l] = sbi_canon_f32(moved);
    } PHASE_END
}
#endif
