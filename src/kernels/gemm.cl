// SPDX-License-Identifier: Apache-2.0
// Products (contract T3): C = op(A) op(B), then scale, bias, accumulate.
//
// Order of arithmetic. k is cut into chunks of 256: r = +0, k ascending r = fma(a, b, r). A run is 64 chunks: T = +0,
// T = T + r ascending. C = +0, C = C + T ascending. Then C * alpha, C + bias, old + C, one rounding each, where asked.
// Padding with zeros (of rows, columns and k) leaves no trace: fma(0, 0, r) = r but for the sign of a zero, which the
// totals, started at +0, remove.
#if T_BITS == 32
#define SBI_SCALED 1
#define SBI_BIAS 2
#define SBI_ACCUMULATE 4
#define SBI_CHUNK 256
#define SBI_RUN 16384 // 64 chunks

FN T NAME(sbi_product_end)(T x, i32 flags, T alpha, T bias, T old) {
    x = (flags & SBI_SCALED) ? x * alpha : x;
    x = (flags & SBI_BIAS) ? x + bias : x;
    x = (flags & SBI_ACCUMULATE) ? old + x : x;
    return sbi_canon_f32(x);
}

// A tile of tile_rows x tile_columns (multiples of 32: schedule) of c[m, n] a group, by squares of 32; lanes are columns.
// a[m, k] ([k, m] if ta), b[k, n] ([n, k] if tb). Blocks of 64 of k are staged, k outermost, so that four steps of four
// rows go in one phase.
KERNEL void NAME(k_gemm)(GLOBAL const T *RESTRICT a, GLOBAL const T *RESTRICT b, GLOBAL const T *RESTRICT bias,
                         GLOBAL T *RESTRICT c, i64 m, i64 n, i64 k, i32 ta, i32 tb, i32 flags, T alpha, i64 tile_rows,
                         i64 tile_columns GROUP_PARAM) {
    SHARED T left[64 * 32], right[64 * 32];
    LANE_ARRAY(T, chunk, 32, 32);
    LANE_ARRAY(T, run, 32, 32);
    LANE_ARRAY(T, sum, 32, 32);
    i64 across = (n + tile_columns - 1) / tile_columns, top = GROUP() / across * tile_rows, side = GROUP() % across * tile_columns;
    i64 bottom = m - top < tile_rows ? m : top + tile_rows, end = n - side < tile_columns ? n : side + tile_columns;
    i64 a_row = ta ? 1 : k, a_step = ta ? m : 1, b_column = tb ? k : 1, b_step = tb ? 1 : n;
    for (i64 i0 = top; i0 < bottom; i0 += 32) {
        for (i64 j0 = side; j0 < end; j0 += 32) {
            i32 rows = (i32)(bottom - i0 < 32 ? bottom - i0 : 32), columns = (i32)(end - j0 < 32 ? end - j0 : 32);
            i32 padded = (rows + 3) / 4 * 4;
            PHASE(l, 32) {
                for (i32 i = 0; i < 32; i++) {
                    ATI(chunk, l, i) = (T)0;
                    ATI(run, l, i) = (T)0;
                    ATI(sum, l, i) = (T)0;
                }
            }
            LANE_END
            for (i64 p = 0; p < k; p += 64) {
                i32 depth = (i32)(k - p < 64 ? k - p : 64), steps = (depth + 3) / 4 * 4;
                PHASE(l, 32) {
                    for (i32 s = 0; s < steps; s++) {
                        left[s * 32 + l] = l < rows && s < depth ? a[(i0 + l) * a_row + (p + s) * a_step] : (T)0;
                    }
                }
                LANE_END
                PHASE(l, 32) {
                    for (i32 s = 0; s < steps; s++) {
                        right[s * 32 + l] = l < columns && s < depth ? b[(j0 + l) * b_column + (p + s) * b_step] : (T)0;
                    }
                }
                PHASE_END
                for (i32 s = 0; s < steps; s += 4) {
                    for (i32 i = 0; i < padded; i += 4) {
                        PHASE(l, 32) {
                            T y0 = right[s * 32 + l], y1 = right[s * 32 + 32 + l];
                            T y2 = right[s * 32 + 64 + l], y3 = right[s * 32 + 96 + l];
                            UNROLL for (i32 u = 0; u < 4; u++) {
                                T r = ATI(chunk, l, i + u);
                                r = FMA(left[s * 32 + i + u], y0, r);
                                r = FMA(left[s * 32 + 32 + i + u], y1, r);
                                r = FMA(left[s * 32 + 64 + i + u], y2, r);
                                r = FMA(left[s * 32 + 96 + i + u], y3, r);
                                ATI(chunk, l, i + u) = r;
                            }
                        }
                        LANE_END
                    }
                }
                if ((p + 64) % SBI_CHUNK == 0 || p + 64 >= k) {
                    i32 full = (p + 64) % SBI_RUN == 0;
#define CHUNK chunk
#define CHUNK_RUN run
#define CHUNK_SUM sum
#define CHUNK_COUNT padded
#include "chunk_end.h"
                }
                PHASE(l, 32) {} // everyone has read what the next block overwrites
                PHASE_END
            }
            for (i32 i = 0; i < rows; i++) {
                GLOBAL T *row = c + (i0 + i) * n + j0;
                PHASE(l, columns) {
                    T x = ATI(sum, l, i) + ATI(run, l, i);
                    row[l] = NAME(sbi_product_end)(x, flags, alpha, (flags & SBI_BIAS) ? bias[j0 + l] : (T)0,
                                                   (flags & SBI_ACCUMULATE) ? row[l] : (T)0);
                }
                LANE_END
            }
        }
    }
}

// A matrix and a vector: out[j] = the product of w's column j and x, 256 outputs a group, lanes are outputs. Output j
// and step s of w stand at w[j * column + s * step]. bias has one value (bias_step 0) or one an output (1).
KERNEL void NAME(k_gemv)(GLOBAL const T *RESTRICT w, GLOBAL const T *RESTRICT x, GLOBAL const T *RESTRICT bias,
                         GLOBAL T *RESTRICT out, i64 n, i64 k, i64 column, i64 step, i32 bias_step, i32 flags,
                         T alpha GROUP_PARAM) {
    LANE_VAR(T, chunk, 256);
    LANE_VAR(T, run, 256);
    LANE_VAR(T, sum, 256);
    i64 j0 = GROUP() * 256;
    i32 columns = (i32)(n - j0 < 256 ? n - j0 : 256);
    PHASE(l, 256) {
        AT(chunk, l) = (T)0;
        AT(run, l) = (T)0;
        AT(sum, l) = (T)0;
    }
    LANE_END
    for (i64 p = 0; p < k; p += SBI_CHUNK) {
        i64 end = k - p < SBI_CHUNK ? k : p + SBI_CHUNK;
        i32 full = (p + SBI_CHUNK) % SBI_RUN == 0;
        if (step == 1) { // a column is contiguous: each lane walks its own
            PHASE(l, columns) {
                T r = (T)0;
                for (i64 s = p; s < end; s++) {
                    r = FMA(x[s], w[(j0 + l) * column + s], r);
                }
                AT(chunk, l) = r;
            }
            LANE_END
        } else {
            i64 s = p;
            for (; s + 4 <= end; s += 4) {
                GLOBAL const T *at = w + j0 * column + s * step;
                PHASE(l, columns) {
                    T r = AT(chunk, l);
                    r = FMA(x[s], at[l * column], r);
                    r = FMA(x[s + 1], at[step + l * column], r);
                    r = FMA(x[s + 2], at[2 * step + l * column], r);
                    r = FMA(x[s + 3], at[3 * step + l * column], r);
                    AT(chunk, l) = r;
                }
                LANE_END
            }
            for (; s < end; s++) {
                PHASE(l, columns) { AT(chunk, l) = FMA(x[s], w[(j0 + l) * column + s * step], AT(chunk, l)); }
                LANE_END
            }
        }
        PHASE(l, columns) {
            T r = AT(run, l) + AT(chunk, l);
            AT(chunk, l) = (T)0;
            AT(sum, l) = full ? AT(sum, l) + r : AT(sum, l);
            AT(run, l) = full ? (T)0 : r;
        }
        LANE_END
    }
    PHASE(l, columns) {
        T y = AT(sum, l) + AT(run, l);
        out[j0 + l] = NAME(sbi_product_end)(y, flags, alpha, (flags & SBI_BIAS) ? bias[(j0 + l) * bias_step] : (T)0,
                                            (flags & SBI_ACCUMULATE) ? out[j0 + l] : (T)0);
    }
    LANE_END
}
#endif
