// SPDX-License-Identifier: Apache-2.0
// A template for gemm.cl: matrix products of data of type IN in the type T; PRODUCT(k_x) names a kernel. Where IN is
// narrower than T the data are widened first (gemm_wide).

// A tile of tile_rows x tile_columns (multiples of 32: schedule) of a product a group, by squares of 32; lanes are columns.
// a[m, k] ([k, m] if ta), b[k, n] ([n, k] if tb); c holds slices of m x n. Tile g mod (tiles of a slice) of slice
// z = g / (tiles of a slice) is of the product first + z / runs of a batch, whose operands stand a_batch and b_batch
// elements apart, and of its run first_run + z mod runs. Where flags have no SBI_PART the product has one run and its
// end is made; else the slice is the run's total, for k_gemm_fold. With SBI_UPPER squares below the diagonal are left
// out. Blocks of 64 of k are staged, k outermost, so that four steps of four rows go in one phase.
KERNEL void PRODUCT(k_gemm)(GLOBAL const IN *RESTRICT a, GLOBAL const IN *RESTRICT b, GLOBAL const T *RESTRICT bias,
                            GLOBAL T *RESTRICT c, i64 m, i64 n, i64 k, i32 ta, i32 tb, i32 flags, T alpha, i64 tile_rows,
                            i64 tile_columns, i64 a_batch, i64 b_batch, i64 first, i64 runs, i64 first_run GROUP_PARAM) {
    SHARED T left[64 * 32], right[64 * 32];
    LANE_ARRAY(T, chunk, 32, 32);
    LANE_ARRAY(T, run, 32, 32);
    i64 across = (n + tile_columns - 1) / tile_columns, tiles = (m + tile_rows - 1) / tile_rows * across;
    i64 slice = GROUP() / tiles, tile = GROUP() % tiles, top = tile / across * tile_rows, side = tile % across * tile_columns;
    i64 bottom = m - top < tile_rows ? m : top + tile_rows, right_end = n - side < tile_columns ? n : side + tile_columns;
    i64 a_row = ta ? 1 : k, a_step = ta ? m : 1, b_column = tb ? k : 1, b_step = tb ? 1 : n;
    i64 from = (first_run + slice % runs) * SBI_RUN, end = k - from < SBI_RUN ? k : from + SBI_RUN;
    GLOBAL const IN *a_at = a + (first + slice / runs) * a_batch, *b_at = b + (first + slice / runs) * b_batch;
    for (i64 i0 = top; TOGETHER(i0 < bottom); i0 += 32) {
        for (i64 j0 = side; TOGETHER(j0 < right_end); j0 += 32) {
            i32 rows = (i32)(bottom - i0 < 32 ? bottom - i0 : 32), columns = (i32)(right_end - j0 < 32 ? right_end - j0 : 32);
            i32 padded = (rows + 3) / 4 * 4;
            i64 start = (flags & SBI_UPPER) && i0 >= j0 + columns ? end : from; // below the diagonal: no step
            PHASE(l, 32) {
                for (i32 i = 0; i < 32; i++) {
                    ATI(chunk, l, i) = (T)0;
                    ATI(run, l, i) = (T)0;
                }
            }
            LANE_END
            for (i64 p = start; TOGETHER(p < end); p += 64) {
                i32 depth = (i32)(end - p < 64 ? end - p : 64), steps = (depth + 3) / 4 * 4;
                PHASE(l, 32) {
                    for (i32 s = 0; s < steps; s++) {
                        left[s * 32 + l] = l < rows && s < depth ? (T)a_at[(i0 + l) * a_row + (p + s) * a_step] : (T)0;
                    }
                }
                LANE_END
                PHASE(l, 32) {
                    for (i32 s = 0; s < steps; s++) {
                        right[s * 32 + l] = l < columns && s < depth ? (T)b_at[(j0 + l) * b_column + (p + s) * b_step] : (T)0;
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
                                r = NAME(FMA)(left[s * 32 + i + u], y0, r);
                                r = NAME(FMA)(left[s * 32 + 32 + i + u], y1, r);
                                r = NAME(FMA)(left[s * 32 + 64 + i + u], y2, r);
                                r = NAME(FMA)(left[s * 32 + 96 + i + u], y3, r);
                                ATI(chunk, l, i + u) = r;
                            }
                        }
                        LANE_END
                    }
                }
                if ((p + 64) % SBI_CHUNK == 0 || p + 64 >= end) {
                    for (i32 i = 0; i < padded; i++) {
                        PHASE(l, 32) {
                            ATI(run, l, i) = ATI(run, l, i) + ATI(chunk, l, i);
                            ATI(chunk, l, i) = (T)0;
                        }
                        LANE_END
                    }
                }
                PHASE(l, 32) {} // everyone has read what the next block overwrites
                PHASE_END
            }
            for (i32 i = 0; i < rows; i++) {
                GLOBAL T *row = c + (slice * m + i0 + i) * n + j0;
                PHASE(l, columns) {
                    row[l] = NAME(sbi_product_end)(ATI(run, l, i), flags, alpha, (flags & SBI_BIAS) ? bias[j0 + l] : (T)0,
                                                   (flags & SBI_ACCUMULATE) ? row[l] : (T)0);
                }
                LANE_END
            }
        }
    }
}

#define STAGE_NAME PRODUCT(sbi_stage)
#include "stage.h"

#define TILE 64
#define TILE_KERNEL PRODUCT(k_gemm_tile64)
#include "product_tile.h"

#define TILE 128
#define TILE_KERNEL PRODUCT(k_gemm_tile128)
#include "product_tile.h"

// A matrix and a vector: out[j] = the product of w's column j and x, 256 outputs a group, lanes are outputs. Output j
// and step s of w stand at w[j * column + s * step]. bias has one value (bias_step 0) or one an output (1).
KERNEL void PRODUCT(k_gemv)(GLOBAL const IN *RESTRICT w, GLOBAL const IN *RESTRICT x, GLOBAL const T *RESTRICT bias,
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
                    r = NAME(FMA)((T)x[s], (T)w[(j0 + l) * column + s], r);
                }
                AT(chunk, l) = r;
            }
            LANE_END
        } else {
            i64 s = p;
            for (; s + 4 <= end; s += 4) {
                GLOBAL const IN *at = w + j0 * column + s * step;
                PHASE(l, columns) {
                    T r = AT(chunk, l);
                    r = NAME(FMA)((T)x[s], (T)at[l * column], r);
                    r = NAME(FMA)((T)x[s + 1], (T)at[step + l * column], r);
                    r = NAME(FMA)((T)x[s + 2], (T)at[2 * step + l * column], r);
                    r = NAME(FMA)((T)x[s + 3], (T)at[3 * step + l * column], r);
                    AT(chunk, l) = r;
                }
                LANE_END
            }
            for (; s < end; s++) {
                PHASE(l, columns) { AT(chunk, l) = NAME(FMA)((T)x[s], (T)w[(j0 + l) * column + s * step], AT(chunk, l)); }
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
#undef IN
#undef PRODUCT
