// SPDX-License-Identifier: Apache-2.0
// Products (contract T3): C = op(A) op(B), then scale, bias, accumulate.
//
// Order of arithmetic. k is cut into chunks of 256: r = +0, k ascending r = fma(a, b, r). A run is 64 chunks: T = +0,
// T = T + r ascending. C = +0, C = C + T ascending. Then C * alpha, C + bias, old + C, one rounding each, where asked.
// Padding with zeros (of rows, columns and k) leaves no trace: fma(0, 0, r) = r but for the sign of a zero, which the
// totals, started at +0, remove.
#define SBI_SCALED 1
#define SBI_BIAS 2
#define SBI_ACCUMULATE 4
#define SBI_UPPER 8
#define SBI_PART 16
#define SBI_CHUNK 256
#define SBI_RUN 16384 // 64 chunks
#define SBI_DEPTH (1024 / T_BITS) // steps that lanes share at a time: two operands of 128 are 33 KiB

FN T NAME(sbi_product_end)(T x, i32 flags, T alpha, T bias, T old) {
    x = (flags & SBI_SCALED) ? x * alpha : x;
    x = (flags & SBI_BIAS) ? x + bias : x;
    x = (flags & SBI_ACCUMULATE) ? old + x : x;
    return NAME(sbi_canon)(x);
}

#define IN T
#define PRODUCT(x) NAME(x)
#include "product.h"

#if T_BITS == 64
#define IN f32
#define PRODUCT(x) x##_wide
#include "product.h"
#endif

// Folds runs: to[m, n] = before (nullable, the runs before these) + total[0][m, n] + total[1][m, n] + ..., and its end,
// which is none between two folds. With SBI_UPPER the totals are of a symmetric product and hold nothing below the
// diagonal: an entry there is the one across it. 32 rows a group, by squares of 32; lanes are columns,
// in a square below the diagonal rows until it is turned over.
KERNEL void NAME(k_gemm_fold)(GLOBAL const T *RESTRICT total, GLOBAL const T *RESTRICT before,
                              GLOBAL const T *RESTRICT bias, GLOBAL T *RESTRICT to, i64 m, i64 n, i64 runs, i32 flags, T alpha GROUP_PARAM) {
    SHARED T square[32 * 33];
    i64 i0 = GROUP() * 32;
    i32 rows = (i32)(m - i0 < 32 ? m - i0 : 32);
    for (i64 j0 = 0; TOGETHER(j0 < n); j0 += 32) {
        i32 columns = (i32)(n - j0 < 32 ? n - j0 : 32), below = (flags & SBI_UPPER) && i0 > j0;
        i32 lines = below ? columns : rows, lanes = below ? rows : columns;
        for (i32 i = 0; i < lines; i++) {
            i64 at = below ? (j0 + i) * n + i0 : (i0 + i) * n + j0;
            PHASE(l, lanes) {
                T x = before ? before[at + l] : (T)0;
                for (i64 r = 0; r < runs; r++) {
                    x = x + total[r * m * n + at + l];
                }
                square[i * 33 + l] = x;
            }
            LANE_END
        }
        PHASE(l, 32) {} // (other lanes' values from here on)
        PHASE_END
        for (i32 i = 0; i < rows; i++) {
            GLOBAL T *row = to + (i0 + i) * n + j0;
            PHASE(l, columns) {
                i32 turned = below || ((flags & SBI_UPPER) && i0 + i > j0 + l);
                row[l] = NAME(sbi_product_end)(turned ? square[l * 33 + i] : square[i * 33 + l], flags, alpha,
                                               (flags & SBI_BIAS) ? bias[j0 + l] : (T)0,
                                               (flags & SBI_ACCUMULATE) ? row[l] : (T)0);
            }
            LANE_END
        }
        PHASE(l, 32) {} // everyone has read what the next square overwrites
        PHASE_END
    }
}
