// SPDX-License-Identifier: Apache-2.0
// Sums, means, maxima and argmax of x[outer, count, inner] over the middle axis (contract T1, T2).
//
// sum: S in the order of sum.h, one rounding out. mean: RN32(RN64(S / n)). Contract T2 asks for the value itself where
// all terms are equal; that falls out here: S of n equal float32 values is within (133 + 5) 2^-53 per level of n x,
// far inside half an ulp of float32, so the quotient rounds to x (and zeros of either sign give +0).
// max: IEEE maximum, any order. argmax: greatest key, lowest index; the key of a float32 orders numbers as integers,
// with -0 = +0 and NaN below -inf.
#include "sum.h"

#if T_BITS == 32
#define FOLD_NAME NAME(k_sum_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x
#define FOLD_TYPE f64
#define FOLD_START K(0.0)
#define FOLD_TERM(i, j) ((f64)x[i])
#define FOLD_AHEAD(i) PREFETCH(x + (i))
#define FOLD(a, b) ((a) + (b))
#define FOLD_TOTAL(a) sbi_canon_f64(a)
#define FOLD_OUT(a, d) sbi_canon_f32((f32)((a) / (d)))
#include "fold_block.h"

#define FOLD_NAME NAME(k_square_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x
#define FOLD_TYPE f64
#define FOLD_START K(0.0)
#define FOLD_TERM(i, j) ((f64)x[i] * (f64)x[i])
#define FOLD_AHEAD(i) PREFETCH(x + (i))
#define FOLD(a, b) ((a) + (b))
#define FOLD_TOTAL(a) sbi_canon_f64(a)
#define FOLD_OUT(a, d) sbi_canon_f32((f32)((a) / (d)))
#include "fold_block.h"

// Totals of totals, and sums of binary64.
#define FOLD_NAME k_sum_block_f64
#define FOLD_PARAMS GLOBAL const f64 *RESTRICT x
#define FOLD_TYPE f64
#define FOLD_START K(0.0)
#define FOLD_TERM(i, j) (x[i])
#define FOLD_AHEAD(i) PREFETCH(x + (i))
#define FOLD(a, b) ((a) + (b))
#define FOLD_TOTAL(a) sbi_canon_f64(a)
#define FOLD_OUT(a, d) sbi_canon_f32((f32)((a) / (d)))
#include "fold_block.h"

#define FOLD_NAME k_square_block_f64
#define FOLD_PARAMS GLOBAL const f64 *RESTRICT x
#define FOLD_TYPE f64
#define FOLD_START K(0.0)
#define FOLD_TERM(i, j) (x[i] * x[i])
#define FOLD_AHEAD(i) PREFETCH(x + (i))
#define FOLD(a, b) ((a) + (b))
#define FOLD_TOTAL(a) sbi_canon_f64(a)
#define FOLD_OUT(a, d) sbi_canon_f32((f32)((a) / (d)))
#include "fold_block.h"

#define FOLD_NAME NAME(k_max_block)
#define FOLD_PARAMS GLOBAL const T *RESTRICT x
#define FOLD_TYPE T
#define FOLD_START FLOAT32(0xff800000u)
#define FOLD_TERM(i, j) (x[i])
#define FOLD_AHEAD(i) PREFETCH(x + (i))
#define FOLD(a, b) sbi_max_f32(a, b)
#define FOLD_TOTAL(a) sbi_canon_f32(a)
#define FOLD_OUT(a, d) sbi_canon_f32(a)
#include "fold_block.h"

FN i32 sbi_order_key(f32 x) {
    i32 b = (i32)BITS32(x);
    i32 k = b ^ ((b >> 31) & 0x7fffffff);
    k = x == (f32)0 ? 0 : k;
    return x == x ? k : -0x7fffffff - 1;
}

// index[outer, blocks, inner]: the position on the axis of the greatest term of a block of 4,096.
KERNEL void NAME(k_argmax_block)(GLOBAL const T *RESTRICT x, GLOBAL i64 *RESTRICT index, i64 count, i64 inner,
                                 i64 blocks, i64 tiles GROUP_PARAM) {
    SHARED i32 best[64];
    SHARED i32 where[64];
    LANE_VAR(i32, top, 64);
    LANE_VAR(i32, at, 64);
    i64 tile = GROUP() % tiles, block = GROUP() / tiles % blocks, row = GROUP() / tiles / blocks;
    i64 first = block * 4096, column = tile * 64;
    i32 n = sbi_lanes(count - first, 4096), w = sbi_lanes(inner - column, 64);
    i64 base = (row * count + first) * inner + column;
    PHASE(l, 64) { AT(top, l) = -0x7fffffff - 1; AT(at, l) = l; } LANE_END
    if (inner == 1) { // lane l takes terms l, l + 64, ...
        for (i32 j = 0; j < n; j += 64) {
            PHASE(l, sbi_lanes(n - j, 64)) {
                i32 key = sbi_order_key(x[base + j + l]);
                i32 better = key > AT(top, l);
                AT(at, l) = better ? j + l : AT(at, l);
                AT(top, l) = better ? key : AT(top, l);
            } LANE_END
        }
        PHASE(l, 64) { best[l] = AT(top, l); where[l] = AT(at, l); } PHASE_END
        for (i32 s = 32; s > 0; s /= 2) {
            PHASE(l, s) {
                i32 better = best[l + s] > best[l] || (best[l + s] == best[l] && where[l + s] < where[l]);
                where[l] = better ? where[l + s] : where[l];
                best[l] = better ? best[l + s] : best[l];
            } PHASE_END
        }
        PHASE(l, 1) { index[row * blocks + block] = first + where[0]; } PHASE_END
    } else { // lane l takes column l
        PHASE(l, w) { AT(at, l) = 0; } LANE_END
        for (i32 j = 0; j < n; j++) {
            i64 i = base + j * inner;
            PHASE(l, w) {
                i32 key = sbi_order_key(x[i + l]);
                i32 better = key > AT(top, l);
                AT(at, l) = better ? j : AT(at, l);
                AT(top, l) = better ? key : AT(top, l);
            } LANE_END
        }
        PHASE(l, w) { index[(row * blocks + block) * inner + column + l] = first + AT(at, l); } PHASE_END
    }
}

// out[outer, inner]: of the blocks' candidates the greatest, the first on a tie.
KERNEL void NAME(k_argmax_last)(GLOBAL const T *RESTRICT x, GLOBAL const i64 *RESTRICT index, GLOBAL i64 *RESTRICT out,
                                i64 count, i64 inner, i64 blocks, i64 tiles GROUP_PARAM) {
    LANE_VAR(i32, top, 64);
    LANE_VAR(i64, at, 64);
    i64 tile = GROUP() % tiles, row = GROUP() / tiles, column = tile * 64;
    i32 w = sbi_lanes(inner - column, 64);
    PHASE(l, w) { AT(top, l) = -0x7fffffff - 1; AT(at, l) = 0; } LANE_END
    for (i64 b = 0; b < blocks; b++) {
        PHASE(l, w) {
            i64 j = index[(row * blocks + b) * inner + column + l];
            i32 key = sbi_order_key(x[(row * count + j) * inner + column + l]);
            i32 greater = key > AT(top, l);
            AT(at, l) = greater ? j : AT(at, l);
            AT(top, l) = greater ? key : AT(top, l);
        } LANE_END
    }
    PHASE(l, w) { out[row * inner + column + l] = AT(at, l); } PHASE_END
}
#endif
