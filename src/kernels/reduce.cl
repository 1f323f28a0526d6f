// SPDX-License-Identifier: Apache-2.0
// Sums, means, norms, variances, extremes and their places of x[outer, count, inner] over the middle axis (contract T1,
// T2), and the dot of two vectors.
//
// Sums: S in the order of fold_block.h, one rounding out. float32 mean: RN32(RN64(S / n)). Contract T2 asks for the value
// itself where all terms are equal; that falls out here: S of n equal float32 values is within (133 + 5) 2^-53 per level
// of n x, far inside half an ulp of float32, so the quotient rounds to x (and zeros of either sign give +0). A mean kept
// in binary64 is looked at again where it is that near to its first term, or not finite (k_mean_doubt, k_mean_mend).
// Variance: S(d d) / (n - ddof), d = RN64(x - mean); float64 data whose S(d d) leaves [2^-900, 2^1024) are taken
// again times c, a power of two. max, min: IEEE, any order. argmax: greatest key, lowest index; the key of a number orders as
// integers do, with -0 = +0 and NaN below all.
#include "sum.h"

#define FOLD_NAME NAME(k_sum_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x
#define FOLD_TERM(i, j, o) ((f64)x[i])
#define FOLD_AHEAD(WORD, i) WORD(x + (i))
#include "fold_block.h"

#define FOLD_NAME NAME(k_size_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x
#define FOLD_TERM(i, j, o) ((f64)NAME(sbi_size)(x[i]))
#define FOLD_AHEAD(WORD, i) WORD(x + (i))
#include "fold_block.h"

#define FOLD_NAME NAME(k_square_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x
#define FOLD_TERM(i, j, o) ((f64)x[i] * (f64)x[i])
#define FOLD_AHEAD(WORD, i) WORD(x + (i))
#include "fold_block.h"

#define FOLD_NAME NAME(k_dot_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x, GLOBAL const T *RESTRICT y
#define FOLD_TERM(i, j, o) ((f64)x[i] * (f64)y[i])
#define FOLD_AHEAD(WORD, i) WORD(x + (i)), WORD(y + (i))
#include "fold_block.h"

#define FOLD_NAME NAME(k_deviation_block)
#define FOLD_NEEDS_OUTPUT 1
#define FOLD_PARAMS GLOBAL const T *RESTRICT x, GLOBAL const f64 *RESTRICT mean
#define FOLD_TERM(i, j, o) sbi_scaled_square((f64)x[i], mean[o], K(1.0))
#define FOLD_AHEAD(WORD, i) WORD(x + (i))
#include "fold_block.h"

#if T_BITS == 32
// Totals of totals, for results in float32. (Those of float64 are k_sum_block_f64.)
#define FOLD_NAME NAME(k_sum_above)
#define FOLD_PARAMS GLOBAL const f64 *RESTRICT x
#define FOLD_TERM(i, j, o) (x[i])
#define FOLD_AHEAD(WORD, i) WORD(x + (i))
#include "fold_block.h"
#else
#define FOLD_NAME NAME(k_shrunk_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x
#define FOLD_TERM(i, j, o) (x[i] * K(0x1p-64))
#define FOLD_AHEAD(WORD, i) WORD(x + (i))
#include "fold_block.h"

#define FOLD_NAME NAME(k_scaled_block)
#define FOLD_NEEDS_OUTPUT 1
#define FOLD_PARAMS GLOBAL const T *RESTRICT x, GLOBAL const f64 *RESTRICT mean, GLOBAL const f64 *RESTRICT factor
#define FOLD_TERM(i, j, o) sbi_scaled_square(x[i], mean[o], factor[o])
#define FOLD_AHEAD(WORD, i) WORD(x + (i))
#include "fold_block.h"
#endif

#define FOLD_NAME NAME(k_max_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x
#define FOLD_TYPE T
#define FOLD_START NAME(SBI_LEAST)
#define FOLD_TERM(i, j, o) (x[i])
#define FOLD_AHEAD(WORD, i) WORD(x + (i))
#define FOLD(a, b) NAME(sbi_max)(a, b)
#define FOLD_TOTAL(a) NAME(sbi_canon)(a)
#define FOLD_OUT(a) NAME(sbi_canon)(a)
#include "fold_block.h"

#define FOLD_NAME NAME(k_min_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x
#define FOLD_TYPE T
#define FOLD_START (-NAME(SBI_LEAST))
#define FOLD_TERM(i, j, o) (x[i])
#define FOLD_AHEAD(WORD, i) WORD(x + (i))
#define FOLD(a, b) NAME(sbi_min)(a, b)
#define FOLD_TOTAL(a) NAME(sbi_canon)(a)
#define FOLD_OUT(a) NAME(sbi_canon)(a)
#include "fold_block.h"

#define FOLD_NAME NAME(k_largest_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x
#define FOLD_TYPE T
#define FOLD_START ((T)0)
#define FOLD_TERM(i, j, o) NAME(sbi_size)(x[i])
#define FOLD_AHEAD(WORD, i) WORD(x + (i))
#define FOLD(size, other) NAME(sbi_larger_size)(size, other)
#define FOLD_TOTAL(a) NAME(sbi_canon)(a)
#define FOLD_OUT(a) NAME(sbi_canon)(a)
#include "fold_block.h"

// mean = RN64(s / count) for each of size outputs, and whether to look again: all terms may be equal, which their mean
// is then nearer to than 2^-40 of the first; or s has overflowed.
KERNEL void NAME(k_mean_doubt)(GLOBAL const T *RESTRICT x, GLOBAL const f64 *RESTRICT s, GLOBAL f64 *RESTRICT mean,
                               GLOBAL f64 *RESTRICT doubt, i64 count, i64 inner, i64 size GROUP_PARAM) {
    i64 start = GROUP() * 4096, end = size - start < 4096 ? size : start + 4096;
    for (i64 i = start; i < end; i += 256) {
        PHASE(l, sbi_lanes(end - i, 256)) {
            i64 o = i + l;
            f64 first = (f64)x[o / inner * count * inner + o % inner], m = s[o] / (f64)count;
            i32 near = sbi_size_f64(m - first) < sbi_size_f64(first) * K(0x1p-40);
            i32 lost = T_BITS == 64 && s[o] - s[o] != K(0.0);
            mean[o] = sbi_canon_f64(m);
            doubt[o] = near || lost ? K(1.0) : K(0.0);
        } LANE_END
    }
}

// Where all terms are equal (low = high as numbers) the mean is that number; where s is not finite though every term is,
// it is RN64(shrunk / count) 2^64, with shrunk the sum of the terms times 2^-64.
KERNEL void NAME(k_mean_mend)(GLOBAL const T *RESTRICT low, GLOBAL const T *RESTRICT high, GLOBAL const f64 *RESTRICT s,
                              GLOBAL const f64 *RESTRICT shrunk, GLOBAL f64 *RESTRICT mean, i64 count, i64 size GROUP_PARAM) {
    i64 start = GROUP() * 4096, end = size - start < 4096 ? size : start + 4096;
    for (i64 i = start; i < end; i += 256) {
        PHASE(l, sbi_lanes(end - i, 256)) {
            i64 o = i + l;
            f64 a = (f64)low[o], b = (f64)high[o], m = mean[o];
            i32 lost = s[o] - s[o] != K(0.0) && a - a == K(0.0) && b - b == K(0.0);
            m = T_BITS == 64 && lost ? shrunk[o] / (f64)count * K(0x1p64) : m;
            mean[o] = a == b ? a + K(0.0) : m;
        } LANE_END
    }
}

// out = RN of the root of q / divisor, or of q / divisor itself. q was taken of terms times c (c NULL: as they are).
KERNEL void NAME(k_spread)(GLOBAL const f64 *RESTRICT q, GLOBAL const f64 *RESTRICT c, GLOBAL T *RESTRICT out, i64 size,
                           f64 divisor, i32 root, i32 has_c GROUP_PARAM) {
    i64 start = GROUP() * 4096, end = size - start < 4096 ? size : start + 4096;
    for (i64 i = start; i < end; i += 256) {
        PHASE(l, sbi_lanes(end - i, 256)) {
            f64 v = q[i + l] / divisor, back = K(1.0) / (has_c ? c[i + l] : K(1.0));
            v = root ? SQRT64(v) * back : v * back * back;
            out[i + l] = NAME(sbi_canon)((T)v);
        } LANE_END
    }
}

#if T_BITS == 64
// c: what the terms of each output are taken again with, and whether any is (doubt).
KERNEL void NAME(k_spread_doubt)(GLOBAL const f64 *RESTRICT q, GLOBAL f64 *RESTRICT c, GLOBAL f64 *RESTRICT doubt,
                                 i64 size GROUP_PARAM) {
    i64 start = GROUP() * 4096, end = size - start < 4096 ? size : start + 4096;
    for (i64 i = start; i < end; i += 256) {
        PHASE(l, sbi_lanes(end - i, 256)) {
            f64 x = q[i + l], factor = x < K(0x1p-900) ? K(0x1p600) : K(1.0);
            factor = x - x == K(0.0) ? factor : K(0x1p-600);
            c[i + l] = factor;
            doubt[i + l] = factor == K(1.0) ? K(0.0) : K(1.0);
        } LANE_END
    }
}
#endif

#if T_BITS == 32
#define KEY i32
#define KEY_MOST 0x7fffffff
#else
#define KEY i64
#define KEY_MOST 0x7fffffffffffffff
#endif

// Greatest for the greatest number, or for the least; least of all for NaN.
FN KEY NAME(sbi_order_key)(T x, i32 least) {
    KEY b = (KEY)NAME(BITS)(x);
    KEY k = b ^ ((b >> (T_BITS - 1)) & KEY_MOST);
    k = x == (T)0 ? 0 : k;
    k = least ? -k : k;
    return x == x ? k : -KEY_MOST - 1;
}

// index[outer, blocks, inner]: the position on the axis of the greatest (least) term of a block of 4,096.
KERNEL void NAME(k_argmax_block)(GLOBAL const T *RESTRICT x, GLOBAL i64 *RESTRICT index, i64 count, i64 inner,
                                 i64 blocks, i64 tiles, i32 least GROUP_PARAM) {
    SHARED KEY best[64];
    SHARED i32 where[64];
    LANE_VAR(KEY, top, 64);
    LANE_VAR(i32, at, 64);
    i64 tile = GROUP() % tiles, block = GROUP() / tiles % blocks, row = GROUP() / tiles / blocks;
    i64 first = block * 4096, column = tile * 64;
    i32 n = sbi_lanes(count - first, 4096), w = sbi_lanes(inner - column, 64);
    i64 base = (row * count + first) * inner + column;
    PHASE(l, 64) { AT(top, l) = -KEY_MOST - 1; AT(at, l) = l; } LANE_END
    WHEN(inner == 1) { // lane l takes terms l, l + 64, ...
        for (i32 j = 0; j < n; j += 64) {
            PHASE(l, sbi_lanes(n - j, 64)) {
                KEY key = NAME(sbi_order_key)(x[base + j + l], least);
                i32 better = key > AT(top, l);
                AT(at, l) = better ? j + l : AT(at, l);
                AT(top, l) = better ? key : AT(top, l);
            } LANE_END
        }
        PHASE(l, 64) { best[l] = AT(top, l); where[l] = AT(at, l); } PHASE_END
        for (i32 s = 32; TOGETHER(s > 0); s /= 2) {
            PHASE(l, s) {
                i32 better = best[l + s] > best[l] || (best[l + s] == best[l] && where[l + s] < where[l]);
                where[l] = better ? where[l + s] : where[l];
                best[l] = better ? best[l + s] : best[l];
            } PHASE_END
        }
        PHASE(l, 1) { index[row * blocks + block] = first + where[0]; } LANE_END
    }
    if (inner != 1) { // lane l takes column l
        PHASE(l, w) { AT(at, l) = 0; } LANE_END
        for (i32 j = 0; j < n; j++) {
            i64 i = base + j * inner;
            PHASE(l, w) {
                KEY key = NAME(sbi_order_key)(x[i + l], least);
                i32 better = key > AT(top, l);
                AT(at, l) = better ? j : AT(at, l);
                AT(top, l) = better ? key : AT(top, l);
            } LANE_END
        }
        PHASE(l, w) { index[(row * blocks + block) * inner + column + l] = first + AT(at, l); } LANE_END
    }
}

// out[outer, inner]: of the blocks' candidates the greatest (least), the first on a tie.
KERNEL void NAME(k_argmax_last)(GLOBAL const T *RESTRICT x, GLOBAL const i64 *RESTRICT index, GLOBAL i64 *RESTRICT out,
                                i64 count, i64 inner, i64 blocks, i64 tiles, i32 least GROUP_PARAM) {
    LANE_VAR(KEY, top, 64);
    LANE_VAR(i64, at, 64);
    i64 tile = GROUP() % tiles, row = GROUP() / tiles, column = tile * 64;
    i32 w = sbi_lanes(inner - column, 64);
    PHASE(l, w) { AT(top, l) = -KEY_MOST - 1; AT(at, l) = 0; } LANE_END
    for (i64 b = 0; b < blocks; b++) {
        PHASE(l, w) {
            i64 j = index[(row * blocks + b) * inner + column + l];
            KEY key = NAME(sbi_order_key)(x[(row * count + j) * inner + column + l], least);
            i32 greater = key > AT(top, l);
            AT(at, l) = greater ? j : AT(at, l);
            AT(top, l) = greater ? key : AT(top, l);
        } LANE_END
    }
    PHASE(l, w) { out[row * inner + column + l] = AT(at, l); } LANE_END
}
#undef KEY
#undef KEY_MOST
