// SPDX-License-Identifier: Apache-2.0
// A template by include: the kernel UNARY, y[i] = VALUE(x[i]) over groups of 4096 elements. y may be x (hence no
// RESTRICT). VALUE is free of branches; where some arguments need another way, FAR(v) says which and FAR_VALUE
// how. FROM is the type of x, T unless defined.
// (No include guard: included once for each function.)
#ifndef FROM
#define FROM T
#endif
KERNEL void UNARY(GLOBAL const FROM *x, GLOBAL T *y, i64 size GROUP_PARAM) {
    i64 first = GROUP() * 4096;
    i32 count = size - first < 4096 ? (i32)(size - first) : 4096;
    GLOBAL const FROM *from = x + first;
    GLOBAL T *to = y + first;
#ifdef FAR
    LANE_VAR(FROM, v, 32);
    for (i32 j = 0; j < count; j += 32) {
        i32 n = count - j < 32 ? count - j : 32;
        PHASE(l, n) { AT(v, l) = from[j + l]; } LANE_END
        PHASE(l, n) { to[j + l] = VALUE(AT(v, l)); } LANE_END
        PHASE(l, n) {
            if (FAR(AT(v, l))) to[j + l] = FAR_VALUE(AT(v, l));
        } LANE_END
    }
#else
    i32 whole = count - count % 32;
    for (i32 j = 0; j < whole; j += 32) {
        PHASE(l, 32) { to[j + l] = VALUE(from[j + l]); } LANE_END
    }
    PHASE(l, count - whole) { to[whole + l] = VALUE(from[whole + l]); } LANE_END
#endif
}
#undef UNARY
#undef VALUE
#undef FAR
#undef FAR_VALUE
#undef FROM
