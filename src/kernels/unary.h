// SPDX-License-Identifier: Apache-2.0
// A template by include: the kernel UNARY, y[i] = VALUE(x[i]) over groups of 4096 elements. y may be x (hence no
// RESTRICT). VALUE is free of branches; where some arguments need another way, FAR(v) says which and FAR_VALUE
// how. FROM is the type of x, T unless defined. QUICK(x, y), for levels that have it (quick.h), writes those of 32 values
// that it is certain of, and gives the others as bits.
// (No include guard: included once for each function.)
#ifndef FROM
#define FROM T
#endif
KERNEL void UNARY(GLOBAL const FROM *x, GLOBAL T *y, i64 size GROUP_PARAM) {
    i64 first = GROUP() * 4096;
    i32 count = size - first < 4096 ? (i32)(size - first) : 4096;
    GLOBAL const FROM *from = x + first;
    GLOBAL T *to = y + first;
    i32 done = 0;
#ifdef FAR
    LANE_VAR(FROM, v, 32);
#endif
#if defined(QUICK) && defined(SBI_QUICK)
    for (; count - done >= 32; done += 32) {
        u32 open = QUICK(from + done, to + done);
        if (open == 0u) continue;
#ifdef FAR
        PHASE(l, 32) { AT(v, l) = from[done + l]; } LANE_END
        PHASE(l, 32) {
            T value = VALUE(AT(v, l));
            to[done + l] = open >> l & 1u ? value : to[done + l];
        } LANE_END
        PHASE(l, 32) {
            if ((open >> l & 1u) && FAR(AT(v, l))) to[done + l] = FAR_VALUE(AT(v, l));
        } LANE_END
#else
        PHASE(l, 32) {
            T value = VALUE(from[done + l]);
            to[done + l] = open >> l & 1u ? value : to[done + l];
        } LANE_END
#endif
    }
#endif
#ifdef FAR
    for (; done < count; done += 32) {
        i32 n = count - done < 32 ? count - done : 32;
        PHASE(l, n) { AT(v, l) = from[done + l]; } LANE_END
        PHASE(l, n) { to[done + l] = VALUE(AT(v, l)); } LANE_END
        PHASE(l, n) {
            if (FAR(AT(v, l))) to[done + l] = FAR_VALUE(AT(v, l));
        } LANE_END
    }
#else
    for (; count - done >= 32; done += 32) {
        PHASE(l, 32) { to[done + l] = VALUE(from[done + l]); } LANE_END
    }
    PHASE(l, count - done) { to[done + l] = VALUE(from[done + l]); } LANE_END
#endif
}
#undef UNARY
#undef VALUE
#undef FAR
#undef FAR_VALUE
#undef FROM
#undef QUICK
