// SPDX-License-Identifier: Apache-2.0
// Neighbours among points c[m, d] of rows x[n, d] (contract T12): the nearest k, those within a radius, how far pairs are apart.
//
// How far, before the last step, by `kind`: 0 S of RN64(t t), t = RN64(x_j - c_j), whose root is the distance; 1 S of |t|; 2 the largest |t|;
// 3 S of |t|^p, whose power 1/p is the distance; 4 RN64(1 - q), q = RN64(S of RN64(x_j c_j) / RN64(sqrt(RN64(S(x x) S(c c))))) between
// -1 and 1, 0 where the divisor is 0. A NaN (numbers that overflow) counts as infinity. Neighbours are ordered by that number, then by index.
//
// Of kind 0 most points are ruled out by cheaper numbers, s_j = |c_j|^2 - 2 x.c_j with the product of T3 (distance.cl): `filter`. Only
// points whose s does not pass the most it can be are looked at by the definition. What `slack` and `top` are is said in op_neighbors.c.
#include "function64.h"
#include "sum.h"

#if T_BITS == 32
// The distance itself.
FN f64 sbi_reach(f64 far, i32 kind, f64 p) {
    if (kind == 0) return SQRT64(far);
    return kind == 3 ? sbi_pow_f64(far, K(1.0) / p) : far;
}
#endif

FN f64 NAME(sbi_far)(GLOBAL const T *row, GLOBAL const T *point, i64 d, i32 kind, f64 p, f64 norm, f64 square, LOCAL f64 *part,
                     LOCAL f64 *upper) {
    LANE_VAR(f64, acc, 32);
    WHEN(kind == 2) {
        PHASE(l, 32) { AT(acc, l) = K(0.0); } LANE_END
        for (i64 j = 0; TOGETHER(j < d); j += 32) {
            PHASE(l, sbi_lanes(d - j, 32)) {
                f64 t = sbi_size_f64((f64)row[j + l] - (f64)point[j + l]);
                AT(acc, l) = t > AT(acc, l) ? t : AT(acc, l);
            } LANE_END
        }
        PHASE(l, 32) { part[l] = AT(acc, l); } PHASE_END
        for (i32 s = 16; TOGETHER(s > 0); s /= 2) {
            PHASE(l, s) { part[l] = part[l + s] > part[l] ? part[l + s] : part[l]; } PHASE_END
        }
    }
    WHEN(kind == 0) {
#define ROW_COUNT d
#define ROW_TERM(j) sbi_scaled_square((f64)row[j], (f64)point[j], K(1.0))
#include "row_sum.h"
    }
    WHEN(kind == 1) {
#define ROW_COUNT d
#define ROW_TERM(j) sbi_size_f64((f64)row[j] - (f64)point[j])
#include "row_sum.h"
    }
    WHEN(kind == 3) {
#define ROW_COUNT d
#define ROW_TERM(j) sbi_pow_f64(sbi_size_f64((f64)row[j] - (f64)point[j]), p)
#include "row_sum.h"
    }
    WHEN(kind == 4) {
#define ROW_COUNT d
#define ROW_TERM(j) ((f64)row[j] * (f64)point[j])
#include "row_sum.h"
    }
    f64 far = part[0];
    PHASE(l, 1) {} PHASE_END
    if (kind == 4) {
        f64 sizes = SQRT64(norm * square), q = sizes == K(0.0) ? K(0.0) : far / sizes;
        q = q > K(1.0) ? K(1.0) : q < K(-1.0) ? K(-1.0) : q;
        far = K(1.0) - q;
    }
    return far == far ? far : -SBI_LEAST_f64;
}

// The k nearest of all points so far, which are list[n, k] with their numbers name[n, k], as many as have[n] says, and of the
// points c[points, d], numbered from `first` on. product[n, points]; squares[points], norms[n]: S of squares. A group is a row;
// where `self` is not negative the point of number self + row is left out.
KERNEL void NAME(k_neighbors)(GLOBAL const T *RESTRICT x, GLOBAL const T *RESTRICT c, GLOBAL const T *RESTRICT product,
                              GLOBAL const f64 *RESTRICT squares, GLOBAL const f64 *RESTRICT norms, GLOBAL const f64 *RESTRICT slack,
                              GLOBAL f64 *RESTRICT list, GLOBAL i64 *RESTRICT name, GLOBAL i64 *RESTRICT have, i64 points, i64 first, i64 d,
                              i64 k, i32 kind, i32 filter, i64 self, f64 p GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    SHARED f64 low[32];
    i64 row = GROUP(), own = self < 0 ? -1 : self + row - first, count = have[row];
    GLOBAL const T *from = x + row * d;
    GLOBAL const T *near = product + row * points;
    GLOBAL f64 *best = list + row * k;
    GLOBAL i64 *where = name + row * k;
    f64 most = count == k ? best[k - 1] : -SBI_LEAST_f64, top = filter ? most + slack[row] : most;
    for (i64 j = 0; TOGETHER(j < points); j += 256) {
        i32 n = sbi_lanes(points - j, 256), look = 1;
        WHEN(filter) {
            PHASE(l, 32) { low[l] = -SBI_LEAST_f64; } LANE_END
            for (i32 u = 0; TOGETHER(u < n); u += 32) {
                PHASE(l, sbi_lanes(n - u, 32)) {
                    f64 s = squares[j + u + l] - K(2.0) * (f64)near[j + u + l];
                    low[l] = s < low[l] ? s : low[l];
                } LANE_END
            }
            PHASE(l, 1) {} PHASE_END
            for (i32 s = 16; TOGETHER(s > 0); s /= 2) {
                PHASE(l, s) { low[l] = low[l + s] < low[l] ? low[l + s] : low[l]; } PHASE_END
            }
            look = !(low[0] > top);
            PHASE(l, 1) {} PHASE_END
        }
        WHEN(look) {
            for (i32 i = 0; TOGETHER(i < n); i++) {
                i32 out = filter && squares[j + i] - K(2.0) * (f64)near[j + i] > top;
                WHEN(!out && j + i != own) {
                    f64 far = NAME(sbi_far)(from, c + (j + i) * d, d, kind, p, norms[row], squares[j + i], part, upper);
                    WHEN(count < k || far < most) {
                        PHASE(l, 1) {
                            i64 at = count < k ? count : k - 1;
                            for (; at > 0 && best[at - 1] > far; at--) {
                                best[at] = best[at - 1];
                                where[at] = where[at - 1];
                            }
                            best[at] = far;
                            where[at] = first + j + i;
                        } PHASE_END
                        count += count < k;
                        most = count == k ? best[k - 1] : -SBI_LEAST_f64;
                        top = filter ? most + slack[row] : most;
                    }
                }
            }
        }
    }
    PHASE(l, 1) { have[row] = count; } LANE_END
}

// inside[n, points], rows `stride` apart: 1 where the distance is at most `radius`, else 0. top[n]: the most that s can be there;
// sure[n]: up to here it is so. A group is a row.
KERNEL void NAME(k_within)(GLOBAL const T *RESTRICT x, GLOBAL const T *RESTRICT c, GLOBAL const T *RESTRICT product,
                           GLOBAL const f64 *RESTRICT squares, GLOBAL const f64 *RESTRICT norms, GLOBAL const f64 *RESTRICT top,
                           GLOBAL const f64 *RESTRICT sure, GLOBAL uint8_t *RESTRICT inside, i64 points, i64 stride, i64 d, i32 kind, i32 filter, f64 radius, f64 p GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    i64 row = GROUP();
    GLOBAL const T *from = x + row * d;
    GLOBAL const T *near = product + row * points;
    GLOBAL uint8_t *to = inside + row * stride;
    f64 most = filter ? top[row] : K(0.0), least = filter ? sure[row] : K(0.0);
    for (i64 j = 0; TOGETHER(j < points); j += 32) {
        i32 n = sbi_lanes(points - j, 32), any = !filter;
        WHEN(filter) {
            PHASE(l, n) {
                f64 s = squares[j + l] - K(2.0) * (f64)near[j + l];
                to[j + l] = (uint8_t)(s <= least);
                part[l] = s <= least ? -SBI_LEAST_f64 : s;
            } PHASE_END
            for (i32 i = 0; i < n; i++) any |= !(part[i] > most);
            PHASE(l, 1) {} PHASE_END
        }
        WHEN(any) {
            for (i32 i = 0; TOGETHER(i < n); i++) {
                f64 s = filter ? squares[j + i] - K(2.0) * (f64)near[j + i] : K(0.0);
                WHEN(!filter || !(s > most || s <= least)) {
                    f64 far = NAME(sbi_far)(from, c + (j + i) * d, d, kind, p, norms[row], squares[j + i], part, upper);
                    PHASE(l, 1) { to[j + i] = (uint8_t)(sbi_reach(far, kind, p) <= radius); } LANE_END
                }
            }
        }
    }
}

// far[pairs]: how far row rows[i] of x is from point places[i] of c, before the last step. A group is 16 pairs.
KERNEL void NAME(k_apart)(GLOBAL const T *RESTRICT x, GLOBAL const T *RESTRICT c, GLOBAL const i64 *RESTRICT rows,
                          GLOBAL const i64 *RESTRICT places, GLOBAL const f64 *RESTRICT norms, GLOBAL const f64 *RESTRICT squares,
                          GLOBAL f64 *RESTRICT far, i64 pairs, i64 d, i32 kind, f64 p GROUP_PARAM) {
    SHARED f64 part[32];
    SHARED f64 upper[64];
    i64 last = (GROUP() + 1) * 16 < pairs ? (GROUP() + 1) * 16 : pairs;
    for (i64 i = GROUP() * 16; TOGETHER(i < last); i++) {
        f64 value = NAME(sbi_far)(x + rows[i] * d, c + places[i] * d, d, kind, p, norms[rows[i]], squares[places[i]], part, upper);
        PHASE(l, 1) { far[i] = value; } LANE_END
    }
}
