// SPDX-License-Identifier: Apache-2.0
// Columns of x[n, d]: a line through each (scalers), their moments over the numbers that are there, and sums of segments of
// rows (contract T2).
#include "sum.h"

// y = RN((x - a) / b), or RN(x b + a) backwards: a[d] and b[d] in binary64, either may be missing; or the same unrounded, wide.
FN void NAME(sbi_columns)(GLOBAL const T *RESTRICT x, GLOBAL const f64 *RESTRICT a, GLOBAL const f64 *RESTRICT b, GLOBAL T *RESTRICT y,
                          GLOBAL f64 *RESTRICT wide, i64 row, i64 end, i64 d, i32 has_a, i32 has_b, i32 back, i32 widens) {
    for (; row < end; row++) {
        GLOBAL const T *from = x + row * d;
        for (i64 j = 0; j < d; j += 256) {
            PHASE(l, sbi_lanes(d - j, 256)) {
                f64 t = (f64)from[j + l], shift = has_a ? a[j + l] : K(0.0), scale = has_b ? b[j + l] : K(1.0);
                f64 there = (has_a ? t - shift : t) / scale, home = t * scale;
                home = has_a ? home + shift : home;
                f64 value = sbi_canon_f64(back ? home : there);
                if (widens)
                    wide[row * d + j + l] = value;
                else
                    y[row * d + j + l] = NAME(sbi_canon)((T)value);
            } LANE_END
        }
    }
}

// A group is 4,096 / d rows (at least 1). (What is often asked for stands alone: no division where there is no b.)
KERNEL void NAME(k_columns)(GLOBAL const T *RESTRICT x, GLOBAL const f64 *RESTRICT a, GLOBAL const f64 *RESTRICT b,
                            GLOBAL T *RESTRICT y, GLOBAL f64 *RESTRICT wide, i64 n, i64 d, i32 has_a, i32 has_b, i32 back,
                            i32 widens GROUP_PARAM) {
    i64 together = d < 4096 ? 4096 / d : 1, row = GROUP() * together, end = row + together < n ? row + together : n;
    if (has_a && !has_b && !back && widens)
        NAME(sbi_columns)(x, a, b, y, wide, row, end, d, 1, 0, 0, 1);
    else if (has_a && !has_b && !back)
        NAME(sbi_columns)(x, a, b, y, wide, row, end, d, 1, 0, 0, 0);
    else if (has_a && has_b && !back && !widens)
        NAME(sbi_columns)(x, a, b, y, wide, row, end, d, 1, 1, 0, 0);
    else
        NAME(sbi_columns)(x, a, b, y, wide, row, end, d, has_a, has_b, back, widens);
}

// The weight of a term, 0 where the number is missing or its row weighs nothing.
FN f64 NAME(sbi_term_weight)(T x, f64 weight) { return x == x ? weight : K(0.0); }

#define FOLD_NAME NAME(k_weight_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x, GLOBAL const f64 *RESTRICT weights, i32 weighted
#define FOLD_TERM(i, j, o) NAME(sbi_term_weight)(x[i], weighted ? weights[j] : K(1.0))
#define FOLD_AHEAD(WORD, i) WORD(x + (i))
#include "fold_block.h"

#define FOLD_NAME NAME(k_moment_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x, GLOBAL const f64 *RESTRICT weights, i32 weighted
#define FOLD_TERM(i, j, o) (x[i] == x[i] ? (weighted ? weights[j] * (f64)x[i] : (f64)x[i]) : K(0.0))
#define FOLD_AHEAD(WORD, i) WORD(x + (i))
#include "fold_block.h"

#if T_BITS == 32
FN f64 sbi_weighted_square(f64 x, f64 mean, f64 weight, i32 weighted) {
    f64 t = x - mean, square = t * t;
    square = weighted ? weight * square : square;
    return x == x ? square : K(0.0);
}
#endif

#define FOLD_NAME NAME(k_second_block)
#define FOLD_NEEDS_OUTPUT 1
#define FOLD_PARAMS GLOBAL const T *RESTRICT x, GLOBAL const f64 *RESTRICT weights, i32 weighted, GLOBAL const f64 *RESTRICT mean
#define FOLD_TERM(i, j, o) sbi_weighted_square((f64)x[i], mean[o], weighted ? weights[j] : K(1.0), weighted)
#define FOLD_AHEAD(WORD, i) WORD(x + (i))
#include "fold_block.h"

// Extremes of the numbers that are there and weigh something; +inf, -inf where there are none.
#define FOLD_NAME NAME(k_low_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x, GLOBAL const f64 *RESTRICT weights, i32 weighted
#define FOLD_TYPE T
#define FOLD_START (-NAME(SBI_LEAST))
#define FOLD_TERM(i, j, o) (x[i] == x[i] && !(weighted && weights[j] == K(0.0)) ? x[i] : -NAME(SBI_LEAST))
#define FOLD_AHEAD(WORD, i) WORD(x + (i))
#define FOLD(a, b) NAME(sbi_min)(a, b)
#define FOLD_TOTAL(a) (a)
#define FOLD_OUT(a) (a)
#include "fold_block.h"

#define FOLD_NAME NAME(k_high_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x, GLOBAL const f64 *RESTRICT weights, i32 weighted
#define FOLD_TYPE T
#define FOLD_START NAME(SBI_LEAST)
#define FOLD_TERM(i, j, o) (x[i] == x[i] && !(weighted && weights[j] == K(0.0)) ? x[i] : NAME(SBI_LEAST))
#define FOLD_AHEAD(WORD, i) WORD(x + (i))
#define FOLD(a, b) NAME(sbi_max)(a, b)
#define FOLD_TOTAL(a) (a)
#define FOLD_OUT(a) (a)
#include "fold_block.h"

// Rows 1, 3, 4 of moments[5, d] (the mean; least, greatest) from rows 0 and 1 (weights; sums) and the extremes: where all
// are equal the mean is that number, where there are none it is NaN.
KERNEL void NAME(k_moment_mean)(GLOBAL const T *RESTRICT low, GLOBAL const T *RESTRICT high, GLOBAL f64 *RESTRICT moments,
                                i64 d GROUP_PARAM) {
    i64 start = GROUP() * 4096, end = d - start < 4096 ? d : start + 4096;
    for (i64 i = start; i < end; i += 256) {
        PHASE(l, sbi_lanes(end - i, 256)) {
            f64 a = (f64)low[i + l], b = (f64)high[i + l], mean = moments[d + i + l] / moments[i + l];
            moments[d + i + l] = sbi_canon_f64(a == b ? a + K(0.0) : mean);
            moments[3 * d + i + l] = a;
            moments[4 * d + i + l] = b;
        } LANE_END
    }
}

#if T_BITS == 32
// A counting sort by label: parts of `rows` rows each, four of them a group, in step, so that no count waits for the one before.
// count[part, k] = the rows of the part with each label (it was zeros).
KERNEL void k_label_count(GLOBAL const i32 *RESTRICT label, GLOBAL i64 *RESTRICT count, i64 n, i64 k, i64 rows GROUP_PARAM) {
    PHASE(l, 1) {
        for (i64 i = 0; i < rows; i++) {
            for (i64 part = 4 * GROUP(); part < 4 * GROUP() + 4; part++) {
                i64 row = part * rows + i;
                if (row < n) count[part * k + label[row]] += 1;
            }
        }
    } LANE_END
}

// order[at[part, label]], one after another, = the rows of the part with that label, ascending.
KERNEL void k_label_place(GLOBAL const i32 *RESTRICT label, GLOBAL i64 *RESTRICT at, GLOBAL i64 *RESTRICT order, i64 n, i64 k,
                          i64 rows GROUP_PARAM) {
    PHASE(l, 1) {
        for (i64 i = 0; i < rows; i++) {
            for (i64 part = 4 * GROUP(); part < 4 * GROUP() + 4; part++) {
                i64 row = part * rows + i;
                if (row < n) {
                    i64 place = at[part * k + label[row]];
                    at[part * k + label[row]] = place + 1;
                    order[place] = row;
                }
            }
        }
    } LANE_END
}
#endif

// acc[lane, .] += the rows low .. of one block, each times its weight, `width` columns of them.
FN void NAME(sbi_segment_add)(GLOBAL const T *RESTRICT x, GLOBAL const f64 *RESTRICT w, GLOBAL const i64 *RESTRICT order, i64 low, i32 terms, i64 d, i32 width,
                              i32 weighted, i32 ordered, LOCAL f64 *RESTRICT acc) {
    for (i32 j = 0; j < terms; j++) {
        i64 row = ordered ? order[low + j] : low + j;
        GLOBAL const T *from = x + row * d;
        f64 weight = weighted ? w[row] : K(1.0);
        LOCAL f64 *sum = acc + j % 32 * 64;
        if (ordered && j + 16 < terms) { // (a row may lie across two lines)
            PREFETCH(x + order[low + j + 16] * d);
            PREFETCH(x + order[low + j + 16] * d + width - 1);
        }
        PHASE(l, width) { sum[l] = sum[l] + (weighted ? weight * (f64)from[l] : (f64)from[l]); } LANE_END
    }
}

// total[group, d]: the sums of the rows order[first[group]] .. order[first[group + 1] - 1], at most 4,096, each times its
// weight where there are weights, numbered by rank. (order missing: the rows themselves.)
KERNEL void NAME(k_segment_block)(GLOBAL const T *RESTRICT x, GLOBAL const f64 *RESTRICT w, GLOBAL const i64 *RESTRICT order,
                                  GLOBAL const i64 *RESTRICT first, GLOBAL f64 *RESTRICT total, i64 d, i32 weighted,
                                  i32 ordered GROUP_PARAM) {
    SHARED f64 acc[32 * 64];
    i64 low = first[GROUP()];
    i32 terms = (i32)(first[GROUP() + 1] - low), lanes = 32;
    while (lanes / 2 >= terms && lanes > 1) lanes /= 2;
    for (i64 column = 0; column < d;) {
        i32 left = sbi_lanes(d - column, 64), width = left < 64 && left > 16 ? 16 : left;
        for (i32 i = 0; i < lanes; i++) {
            PHASE(l, width) { acc[64 * i + l] = K(0.0); } LANE_END
        }
        // (widths that a compiler knows)
        if (width == 64 && !weighted)
            NAME(sbi_segment_add)(x + column, w, order, low, terms, d, 64, 0, ordered, acc);
        else if (!weighted)
            NAME(sbi_segment_add)(x + column, w, order, low, terms, d, width, 0, ordered, acc);
        else
            NAME(sbi_segment_add)(x + column, w, order, low, terms, d, width, weighted, ordered, acc);
        for (i32 s = lanes / 2; s > 0; s /= 2) {
            for (i32 i = 0; i < s; i++) {
                PHASE(l, width) { acc[64 * i + l] = acc[64 * i + l] + acc[64 * (i + s) + l]; } LANE_END
            }
        }
        PHASE(l, width) { total[GROUP() * d + column + l] = sbi_canon_f64(acc[l]); } LANE_END
        column += width;
    }
}
