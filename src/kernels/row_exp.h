// SPDX-License-Identifier: Apache-2.0
// What softmax, log-softmax and cross-entropy share: the maximum m of a row, and s = S(exp(RN32(x_j - m))).
// An entry of -inf is absent: it keeps its number and adds nothing (an exponential is never -0, so adding the +0 of an
// absent one changes no accumulator; the choice matters where m is infinite or NaN).
#ifndef SBI_ROW_EXP_H
#define SBI_ROW_EXP_H

#include "function.h"
#include "sum.h"

// top[32]; afterwards top[0] is the IEEE maximum of row[n], -inf where no entry is present.
FN void sbi_row_maximum(GLOBAL const f32 *row, i64 n, LOCAL f32 *top) {
    LANE_VAR(f32, best, 32);
    i64 tail = n - n % 32;
    PHASE(l, 32) { AT(best, l) = FLOAT32(0xff800000u); } LANE_END
    for (i64 j = 0; j < tail; j += 32) {
        PHASE(l, 32) { AT(best, l) = sbi_max_f32(AT(best, l), row[j + l]); } LANE_END
    }
    PHASE(l, n - tail) { AT(best, l) = sbi_max_f32(AT(best, l), row[tail + l]); } LANE_END
    PHASE(l, 32) { top[l] = AT(best, l); } PHASE_END
    PHASE(l, 16) { top[l] = sbi_max_f32(top[l], top[l + 16]); } PHASE_END
    PHASE(l, 8) { top[l] = sbi_max_f32(top[l], top[l + 8]); } PHASE_END
    PHASE(l, 4) { top[l] = sbi_max_f32(top[l], top[l + 4]); } PHASE_END
    PHASE(l, 2) { top[l] = sbi_max_f32(top[l], top[l + 2]); } PHASE_END
    PHASE(l, 1) { top[l] = sbi_max_f32(top[l], top[l + 1]); } PHASE_END
}

// The exponential of a present entry, +0 for an absent one.
FN f32 sbi_present_exp(f32 x, f32 m) {
    f32 e = sbi_exp_f32(x - m);
    return x == FLOAT32(0xff800000u) ? 0.0f : e;
}

// part[32], upper[64]; afterwards part[0] = s.
FN void sbi_row_exp_sum(GLOBAL const f32 *row, i64 n, f32 m, LOCAL f64 *part, LOCAL f64 *upper) {
    LANE_VAR(f64, acc, 32);
    i64 blocks = sbi_sum_blocks(n);
    for (i64 block = 0; block < blocks; block++) {
        i64 first = block * SBI_SUM_BLOCK, end = first + SBI_SUM_BLOCK < n ? first + SBI_SUM_BLOCK : n;
        i64 tail = end - end % 32;
        PHASE(l, 32) { AT(acc, l) = K(0.0); } LANE_END
        for (i64 j = first; j < tail; j += 32) {
            PHASE(l, 32) { AT(acc, l) = AT(acc, l) + (f64)sbi_present_exp(row[j + l], m); } LANE_END
        }
        PHASE(l, end - tail) { AT(acc, l) = AT(acc, l) + (f64)sbi_present_exp(row[tail + l], m); } LANE_END
        PHASE(l, 32) { part[l] = AT(acc, l); } PHASE_END
        sbi_sum_fold(part, upper, block, blocks);
    }
}

// The same, and to[n] = the exponentials, with `absent` in an absent entry's place (`to` may be `row`).
FN void sbi_row_exp(GLOBAL const f32 *row, GLOBAL f32 *to, i64 n, f32 m, f32 absent, LOCAL f64 *part,
                    LOCAL f64 *upper) {
    LANE_VAR(f64, acc, 32);
    i64 blocks = sbi_sum_blocks(n);
    for (i64 block = 0; block < blocks; block++) {
        i64 first = block * SBI_SUM_BLOCK, end = first + SBI_SUM_BLOCK < n ? first + SBI_SUM_BLOCK : n;
        i64 tail = end - end % 32;
        PHASE(l, 32) { AT(acc, l) = K(0.0); } LANE_END
        for (i64 j = first; j < tail; j += 32) {
            PHASE(l, 32) {
                f32 x = row[j + l], e = sbi_present_exp(x, m);
                to[j + l] = x == FLOAT32(0xff800000u) ? absent : e;
                AT(acc, l) = AT(acc, l) + (f64)e;
            } LANE_END
        }
        PHASE(l, end - tail) {
            f32 x = row[tail + l], e = sbi_present_exp(x, m);
            to[tail + l] = x == FLOAT32(0xff800000u) ? absent : e;
            AT(acc, l) = AT(acc, l) + (f64)e;
        } LANE_END
        PHASE(l, 32) { part[l] = AT(acc, l); } PHASE_END
        sbi_sum_fold(part, upper, block, blocks);
    }
}
#endif
