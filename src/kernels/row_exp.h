// SPDX-License-Identifier: Apache-2.0
// What softmax, log-softmax and cross-entropy share, for each type: the maximum m of a row, and s = S(exp(RN(x_j - m))).
// An entry of -inf is absent: it keeps its number and adds nothing (an exponential is never -0, so adding the +0 of an
// absent one changes no accumulator; the choice matters where m is infinite or NaN).
#if (T_BITS == 32 && !defined(SBI_ROW_EXP_F32)) || (T_BITS == 64 && !defined(SBI_ROW_EXP_F64)) // once for each type
#if T_BITS == 32
#define SBI_ROW_EXP_F32
#else
#define SBI_ROW_EXP_F64
#endif
#include "function64.h"
#include "quick.h"
#include "sum.h"

// top[32]; afterwards top[0] is the IEEE maximum of row[n], -inf where no entry is present.
FN void NAME(sbi_row_maximum)(GLOBAL const T *row, i64 n, LOCAL T *top) {
    LANE_VAR(T, best, 32);
    i64 tail = n - n % 32;
    PHASE(l, 32) { AT(best, l) = NAME(SBI_LEAST); } LANE_END
    for (i64 j = 0; j < tail; j += 32) {
        for (i32 c = 0; c < 32; c += 512 / T_BITS) AHEAD(row + j + c); // each line of 64 bytes
        PHASE(l, 32) { AT(best, l) = NAME(sbi_max)(AT(best, l), row[j + l]); } LANE_END
    }
    PHASE(l, n - tail) { AT(best, l) = NAME(sbi_max)(AT(best, l), row[tail + l]); } LANE_END
    PHASE(l, 32) { top[l] = AT(best, l); } PHASE_END
    PHASE(l, 16) { top[l] = NAME(sbi_max)(top[l], top[l + 16]); } PHASE_END
    PHASE(l, 8) { top[l] = NAME(sbi_max)(top[l], top[l + 8]); } PHASE_END
    PHASE(l, 4) { top[l] = NAME(sbi_max)(top[l], top[l + 4]); } PHASE_END
    PHASE(l, 2) { top[l] = NAME(sbi_max)(top[l], top[l + 2]); } PHASE_END
    PHASE(l, 1) { top[l] = NAME(sbi_max)(top[l], top[l + 1]); } PHASE_END
}

// The exponential of a present entry, -1 in an absent one's place.
FN T NAME(sbi_entry_exp)(T x, T m) {
    T e = NAME(sbi_exp)(x - m);
    return x == NAME(SBI_LEAST) ? (T)-1 : e;
}

// Those of the n entries from row[j] on, in the lanes e.
#if T_BITS == 32 && defined(SBI_QUICK)
#define SBI_ROW_EXP_OPEN_f32(j, n) ((n) < 32 ? ~0u : sbi_quick_entry_exp_f32(row + (j), m, e))
#elif T_BITS == 32
#define SBI_ROW_EXP_OPEN_f32(j, n) ~0u
#else
#define SBI_ROW_EXP_OPEN_f64(j, n) ~0u
#endif
#ifndef SBI_ROW_EXP
#define SBI_ROW_EXP(j, n) \
    { \
        u32 open = NAME(SBI_ROW_EXP_OPEN)(j, n); \
        if (open != 0u) { \
            PHASE(l, n) { \
                T v = NAME(sbi_entry_exp)(row[(j) + l], m); \
                AT(e, l) = open >> l & 1u ? v : AT(e, l); \
            } LANE_END \
        } \
    }
#endif

// part[32], upper[64]; afterwards part[0] = s.
FN void NAME(sbi_row_exp_sum)(GLOBAL const T *row, i64 n, T m, LOCAL f64 *part, LOCAL f64 *upper) {
    LANE_VAR(f64, acc, 32);
    LANE_VAR(T, e, 32);
#define ROW_COUNT n
#define ROW_BLOCK(j, n) SBI_ROW_EXP(j, n)
#define ROW_LANE(l) (f64)(AT(e, l) < (T)0 ? (T)0 : AT(e, l))
#include "row_sum.h"
}

// The same, and to[n] = the exponentials, with -1 in an absent entry's place (`to` may be `row`).
FN void NAME(sbi_row_exp)(GLOBAL const T *row, GLOBAL T *to, i64 n, T m, LOCAL f64 *part, LOCAL f64 *upper) {
    LANE_VAR(f64, acc, 32);
    LANE_VAR(T, e, 32);
#define ROW_COUNT n
#define ROW_BLOCK(j, n) \
    SBI_ROW_EXP(j, n) \
    PHASE(l, n) { to[(j) + l] = AT(e, l); } LANE_END
#define ROW_LANE(l) (f64)(AT(e, l) < (T)0 ? (T)0 : AT(e, l))
#include "row_sum.h"
}
#endif
