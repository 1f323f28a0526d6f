// SPDX-License-Identifier: Apache-2.0
// Distances of rows x[n, d] from points c[m, d], densities about them, and the nearest point of each row (contract T12).
//
// The squared distance is S of RN64(t t), t = RN64(x_j - c_j). The nearest point is the lowest of those whose squared distance
// is least. Most rows are decided by cheaper numbers: s_j = |c_j|^2 - 2 x.c_j with the product of T3 differs from the
// squared distance less |x|^2 by at most the bound below, so that a point whose s is more than two bounds above the least
// is not the nearest. What is left is decided by the definition. Rows of few columns need no product made beforehand (below).
//
// The bound. A product is a sum in which no term passes more than k = min(d, 256) + min(chunks, 64) + runs roundings: it errs by
// at most k u |x||c|, nearly (u half an ulp of 1; underflow adds less than k eta). |c|^2, the squared distance and s themselves
// err by less than (d + 50) 2^-53 of (|x| + |c|)^2. All that is so while products do not overflow: limit. The host adds a
// percent for the rounding of the bounds themselves.
#include "sum.h"

FN f64 NAME(sbi_distance)(GLOBAL const T *row, GLOBAL const T *point, i64 d, LOCAL f64 *part, LOCAL f64 *upper) {
    LANE_VAR(f64, acc, 32);
#define ROW_COUNT d
#define ROW_TERM(j) sbi_scaled_square((f64)row[j], (f64)point[j], K(1.0))
#include "row_sum.h"
    f64 square = part[0];
    PHASE(l, 1) {} PHASE_END
    return sbi_canon_f64(square);
}

// wide[n, m], the squared distance, or out[n, m], RN of its root. A group is a row.
KERNEL void NAME(k_distance)(GLOBAL const T *RESTRICT x, GLOBAL const T *RESTRICT c, GLOBAL f64 *RESTRICT wide,
                             GLOBAL T *RESTRICT out, i64 m, i64 d, i32 root GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    GLOBAL const T *row = x + GROUP() * d;
    for (i64 j = 0; TOGETHER(j < m); j++) {
        f64 square = NAME(sbi_distance)(row, c + j * d, d, part, upper);
        PHASE(l, 1) {
            if (root)
                out[GROUP() * m + j] = NAME(sbi_canon)((T)SQRT64(square));
            else
                wide[GROUP() * m + j] = square;
        } LANE_END
    }
}

// out[n, m] = RN64(start_j - RN64(S / 2)), S over j of RN64(RN64(t t) scale_j), t = RN64(x_j - mean_j); mean, scale[m, d]. A group is
// 64 rows.
KERNEL void NAME(k_gaussian)(GLOBAL const T *RESTRICT x, GLOBAL const f64 *RESTRICT mean, GLOBAL const f64 *RESTRICT scale,
                             GLOBAL const f64 *RESTRICT start, GLOBAL f64 *RESTRICT out, i64 n, i64 m, i64 d GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    i64 last = (GROUP() + 1) * 64 < n ? (GROUP() + 1) * 64 : n;
    for (i64 row = GROUP() * 64; TOGETHER(row < last); row++) {
        GLOBAL const T *from = x + row * d;
        for (i64 c = 0; TOGETHER(c < m); c++) {
            GLOBAL const f64 *centre = mean + c * d;
            GLOBAL const f64 *by = scale + c * d;
            LANE_VAR(f64, acc, 32);
#define ROW_COUNT d
#define ROW_TERM(j) (sbi_scaled_square((f64)from[j], centre[j], K(1.0)) * by[j])
#include "row_sum.h"
            PHASE(l, 1) { out[row * m + c] = sbi_canon_f64(start[c] - K(0.5) * part[0]); } PHASE_END
        }
    }
}

#if T_BITS == 32
// Whether a point at squared distance `other` is nearer than the nearest so far, of a lower index (-1: none).
FN i32 sbi_is_nearer(i32 nearest, f64 square, f64 other) {
    return nearest < 0 || other < square || (square != square && other == other);
}
#endif

// label[row] = nearest, or where that is -1 the nearest by the definition: of the points whose s, from product[m, n] and squares[m], is
// at most `most` (without squares of all). distance[row] = that point's, squared, where it is asked for.
FN void NAME(sbi_label)(GLOBAL const T *x, GLOBAL const T *c, i64 n, i64 m, i64 d, i64 row, i32 nearest, GLOBAL const T *product,
                        GLOBAL const f64 *squares, f64 most, GLOBAL i32 *label, i32 distances, GLOBAL f64 *distance,
                        LOCAL f64 *part, LOCAL f64 *upper) {
    i32 several = nearest < 0;
    f64 square = K(0.0);
    WHEN(several) {
        for (i64 j = 0; TOGETHER(j < m); j++) {
            if (squares && squares[j] - K(2.0) * (f64)product[j * n + row] > most) continue;
            f64 other = NAME(sbi_distance)(x + row * d, c + j * d, d, part, upper);
            if (sbi_is_nearer(nearest, square, other)) {
                nearest = (i32)j;
                square = other;
            }
        }
    }
    WHEN(distances && !several) {
        square = NAME(sbi_distance)(x + row * d, c + (i64)nearest * d, d, part, upper);
    }
    PHASE(l, 1) {
        label[row] = nearest;
        if (distances) distance[row] = square;
    } LANE_END
}

// The nearest of points c[m, d] to rows 64 g .. of x[n, d]; product[m, n] holds their products with the rows, squares[m] the
// squared norms of the points, norms[n] those of the rows. label[n]; distance[n] (where asked for), squared, of that point.
KERNEL void NAME(k_nearest)(GLOBAL const T *RESTRICT x, GLOBAL const T *RESTRICT c, GLOBAL const T *RESTRICT product,
                            GLOBAL const f64 *RESTRICT squares, GLOBAL const f64 *RESTRICT norms, GLOBAL i32 *RESTRICT label,
                            GLOBAL f64 *RESTRICT distance, i64 n, i64 m, i64 d, i32 distances, f64 largest, f64 slope,
                            f64 curve, f64 least, f64 limit GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    SHARED f64 best[64];
    SHARED f64 second[64];
    SHARED i32 where[64];
    i64 first = GROUP() * 64;
    i32 rows = sbi_lanes(n - first, 64);
    PHASE(l, rows) { best[l] = -SBI_LEAST_f64; second[l] = -SBI_LEAST_f64; where[l] = 0; } LANE_END
    for (i64 j = 0; j < m; j++) {
        f64 square = squares[j];
        GLOBAL const T *from = product + j * n + first;
        PHASE(l, rows) {
            f64 s = square - K(2.0) * (f64)from[l], b = best[l], t = second[l];
            i32 less = s < b;
            second[l] = less ? b : (s < t ? s : t);
            best[l] = less ? s : b;
            where[l] = less ? (i32)j : where[l];
        } LANE_END
    }
    PHASE(l, rows) { // second becomes the most that a point which may be nearest can have; where -1 if there are two
        f64 size = SQRT64(norms[first + l]) * SQRT64(largest);
        f64 bound = slope * size + curve * (norms[first + l] + largest) + least;
        f64 most = best[l] + K(2.0) * bound;
        most = size <= limit ? most : -SBI_LEAST_f64; // where a product may have overflowed all are looked at
        where[l] = second[l] > most || m == 1 ? where[l] : -1;
        second[l] = most;
    } PHASE_END
    for (i32 i = 0; TOGETHER(i < rows); i++) {
        NAME(sbi_label)(x, c, n, m, d, first + i, where[i], product, squares, second[i], label, distances, distance, part, upper);
    }
}

// The same for rows of few columns, d <= 256, in one pass: no product, no norms beforehand. All is seen from an origin o, which may
// be any: apart[m, d] = RN(o - c), halves[m] = |apart|^2 / 2. With y = RN(x - o) a point's score halves + y.apart differs from half of what its
// squared distance is more than |x - o|^2, and the definition from that squared distance, together by less than (d + 24) u 1.02
// (|y|^2 + largest) and some underflow (least), largest at least every |c - o|^2, u half an ulp of 1: no term of a score passes more than d + 5
// roundings, and |y||c - o| is at most half of the two squares. slope is 2.1 (d + 34) u, for two points, the roundings of |y|^2 and of
// the bound itself. So it does not matter in what order a score is summed, or whether its products are rounded (tuned/nearest_few_tuned.h).
KERNEL void NAME(k_nearest_few)(GLOBAL const T *RESTRICT x, GLOBAL const T *RESTRICT c, GLOBAL const T *RESTRICT origin,
                                GLOBAL const T *RESTRICT apart, GLOBAL const T *RESTRICT halves, GLOBAL i32 *RESTRICT label,
                                GLOBAL f64 *RESTRICT distance, i64 n, i64 m, i64 d, i32 distances, f64 largest, f64 slope, f64 least,
                                f64 limit GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    SHARED i32 where[64];
    LANE_VAR(T, size, 64);
    LANE_VAR(T, best, 64);
    LANE_VAR(T, second, 64);
    LANE_VAR(T, score, 64);
    i64 first = GROUP() * 64;
    i32 rows = sbi_lanes(n - first, 64), columns = (i32)d;
    PHASE(l, rows) {
        AT(size, l) = (T)0;
        AT(best, l) = -NAME(SBI_LEAST);
        AT(second, l) = -NAME(SBI_LEAST);
        where[l] = 0;
    } LANE_END
    for (i32 j = 0; j < columns; j++) {
        PHASE(l, rows) {
            T y = x[(first + l) * d + j] - origin[j];
            AT(size, l) = AT(size, l) + y * y;
        } LANE_END
    }
    for (i64 p = 0; p < m; p++) {
        PHASE(l, rows) { AT(score, l) = halves[p]; } LANE_END
        for (i32 j = 0; j < columns; j++) {
            PHASE(l, rows) { AT(score, l) = AT(score, l) + (x[(first + l) * d + j] - origin[j]) * apart[p * d + j]; } LANE_END
        }
        PHASE(l, rows) {
            T s = AT(score, l), b = AT(best, l), t = AT(second, l);
            i32 less = s < b;
            AT(second, l) = less ? b : (s < t ? s : t);
            AT(best, l) = less ? s : b;
            where[l] = less ? (i32)p : where[l];
        } LANE_END
    }
    PHASE(l, rows) { // -1 where it is not certain: a second one too near, or a size so large that a score may have overflowed
        T sizes = AT(size, l) + (T)largest, most = AT(best, l) + (sizes * (T)slope + (T)least);
        where[l] = AT(second, l) > most && sizes < (T)limit ? where[l] : -1;
    } PHASE_END
    for (i32 i = 0; TOGETHER(i < rows); i++) {
        NAME(sbi_label)(x, c, n, m, d, first + i, where[i], 0, 0, K(0.0), label, distances, distance, part, upper);
    }
}
