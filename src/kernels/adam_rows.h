// SPDX-License-Identifier: Apache-2.0
// A template: one step of Adam or AdamW on 256 elements a group. Define, then include:
//   ADAM_NAME         the kernel
//   ADAM_SLOPE(g, p)  the gradient that the moments see
//   ADAM_KEPT(p)      the parameter before it is moved
//
//     m = fma(beta1, m, a1 g)            a1 = 1 - beta1
//     v = fma(beta2, v, (a2 g) g)        a2 = 1 - beta2
//     p = fma(-step, m / d, kept p)      d = fma(sqrt(v), s2, eps)
KERNEL void ADAM_NAME(GLOBAL const T *RESTRICT g, GLOBAL T *RESTRICT p, GLOBAL T *RESTRICT m, GLOBAL T *RESTRICT v,
                      i64 size, T beta1, T a1, T beta2, T a2, T s2, T eps, T step, T decay GROUP_PARAM) {
    i64 first = GROUP() * 256;
    i32 count = size - first < 256 ? (i32)(size - first) : 256;
    PHASE(l, count) {
        T slope = ADAM_SLOPE(g[first + l], p[first + l]);
        T mean = NAME(FMA)(beta1, m[first + l], a1 * slope);
        T square = NAME(FMA)(beta2, v[first + l], (a2 * slope) * slope);
        T d = NAME(FMA)(NAME(SQRT)(square), s2, eps);
        T moved = NAME(FMA)(-step, NAME(DIV)(mean, d), ADAM_KEPT(p[first + l]));
        m[first + l] = NAME(sbi_canon)(mean);
        v[first + l] = NAME(sbi_canon)(square);
        p[first + l] = NAME(sbi_canon)(moved);
    } PHASE_END
}
#undef ADAM_NAME
#undef ADAM_SLOPE
#undef ADAM_KEPT
