// SPDX-License-Identifier: Apache-2.0
// A template for product.h: k_gemm where many lanes run at once. The tile of a group is TILE x TILE (tile_rows, tile_columns); each
// of its (TILE / 8)^2 lanes owns 8 rows by 8 columns, whose chains it keeps in registers while SBI_DEPTH steps of both
// operands are shared. A run's total stands in c between its chunks. Define TILE and TILE_KERNEL, include. (Floor: 2 m n k
// operations; for 64 fmas a lane reads 16 values of shared memory, a group 2 TILE of the operands for TILE^2.)
#define TILE_LANES (TILE / 8 * (TILE / 8))
KERNEL void TILE_KERNEL(GLOBAL const IN *RESTRICT a, GLOBAL const IN *RESTRICT b, GLOBAL const T *RESTRICT bias,
                        GLOBAL T *RESTRICT c, i64 m, i64 n, i64 k, i32 ta, i32 tb, i32 flags, T alpha, i64 tile_rows,
                        i64 tile_columns, i64 a_batch, i64 b_batch, i64 first, i64 runs, i64 first_run GROUP_PARAM) {
    SHARED T left[(TILE + 4) * SBI_DEPTH];
    SHARED T right[(TILE + 4) * SBI_DEPTH];
    LANE_LARGE(T, chunk, TILE_LANES, 64);
    i64 across = (n + tile_columns - 1) / tile_columns, tiles = (m + tile_rows - 1) / tile_rows * across;
    i64 slice = GROUP() / tiles, tile = GROUP() % tiles, top = tile / across * tile_rows, side = tile % across * tile_columns;
    i32 rows = sbi_lanes(m - top, TILE), columns = sbi_lanes(n - side, TILE);
    i64 a_row = ta ? 1 : k, a_step = ta ? m : 1, b_column = tb ? k : 1, b_step = tb ? 1 : n;
    i64 from = (first_run + slice % runs) * SBI_RUN, end = k - from < SBI_RUN ? k : from + SBI_RUN;
    GLOBAL const IN *a_at = a + (first + slice / runs) * a_batch + top * a_row, *b_at = b + (first + slice / runs) * b_batch + side * b_column;
    if ((flags & SBI_UPPER) && top >= side + columns) {
        return; // (below the diagonal)
    }
    PHASE(l, TILE_LANES) {
        for (i32 i = 0; i < 64; i++) {
            ATI(chunk, l, i) = (T)0;
        }
    }
    LANE_END
    for (i64 p = from; TOGETHER(p < end || p == from); p += SBI_DEPTH) { // (one step at least: a product of nothing is zero)
        i32 depth = sbi_lanes(end - p, SBI_DEPTH);
        PHASE(l, TILE_LANES) {
            PRODUCT(sbi_stage)(a_at + p * a_step, left, ta ? m : k, !ta, rows, depth, TILE, SBI_DEPTH, TILE_LANES, l);
            PRODUCT(sbi_stage)(b_at + p * b_step, right, tb ? k : n, tb, columns, depth, TILE, SBI_DEPTH, TILE_LANES, l);
        }
        PHASE_END
        PHASE(l, TILE_LANES) {
#define TILE_ROWS 8
#define TILE_COLUMNS 8
#define TILE_OUT(i) ATI(chunk, l, i)
#define TILE_X (left + l / (TILE / 8) * 8)
#define TILE_X_STEP (TILE + 4)
#define TILE_Y (right + l % (TILE / 8) * 8)
#define TILE_Y_STEP (TILE + 4)
#define TILE_STEPS SBI_DEPTH
#include "tile_chains.h"
        }
        PHASE_END
        if ((p + SBI_DEPTH) % SBI_CHUNK == 0 || p + SBI_DEPTH >= end) {
            i32 opens = p - from < SBI_CHUNK, closes = p + SBI_DEPTH >= end;
            PHASE(l, TILE_LANES) {
                i32 i0 = l / (TILE / 8) * 8, j0 = l % (TILE / 8) * 8;
                UNROLL_LANE for (i32 i = 0; i < 8; i++) {
                    GLOBAL T *row = c + (slice * m + top + i0 + i) * n + side + j0;
                    UNROLL_LANE for (i32 j = 0; j < 8; j++) {
                        if (i0 + i < rows && j0 + j < columns) {
                            T x = (opens ? (T)0 : row[j]) + ATI(chunk, l, 8 * i + j);
                            row[j] = !closes ? x : NAME(sbi_product_end)(x, flags, alpha, (flags & SBI_BIAS) ? bias[side + j0 + j] : (T)0,
                                                                         (flags & SBI_ACCUMULATE) ? row[j] : (T)0);
                        }
                        ATI(chunk, l, 8 * i + j) = (T)0;
                    }
                }
            }
            LANE_END
        }
    }
}
#undef TILE_LANES
#undef TILE_KERNEL
#undef TILE
