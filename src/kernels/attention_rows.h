// SPDX-License-Identifier: Apache-2.0
// A template for the body of a kernel whose lanes are channels: ROWS_COUNT sums of rows, each row times a factor,
// ROWS_INTO(l, u) = fma(factor(u, s), row s, ROWS_INTO(l, u)), s ascending (T3). A row whose weight(u, s) is -0 is absent
// and skipped; beside rows that are all finite it need not be told apart, so only a `careful` reader looks. Define, then
// include:
//   ROWS_INTO                    an array of lanes, `blocks` a row: that of channel c is c / 32, its lane c % 32
//   ROWS_FIRST, ROWS_COUNT       the rows of it
//   ROWS_FACTOR                  factor(u, s) is ROWS_FACTOR[u * ROWS_ROW + s * ROWS_STEP]; beside finite rows -0 or +0 where absent
//   ROWS_ROW, ROWS_STEP          and likewise the weights
//   ROWS_FROM                    a pointer to ROWS_STEPS rows of d channels, ROWS_STRIDE apart
for (i32 c = 0; c < d; c += 32) {
    i32 width = sbi_lanes(d - c, 32);
    if (!careful) {
#define CHAIN_LANES width
#define CHAIN_OUT(l, u) ATI(ROWS_INTO, l, (ROWS_FIRST + (u)) * blocks + c / 32)
#define CHAIN_OUT_ROW (32 * blocks)
#define CHAIN_FACTOR(l, s) (ROWS_FROM)[(s) * ROWS_STRIDE + c + l]
#define CHAIN_FACTOR_STEP ROWS_STRIDE
#define CHAIN_X(u, s) ROWS_FACTOR[(u) * ROWS_ROW + (s) * ROWS_STEP]
#define CHAIN_X_ROW ROWS_ROW
#define CHAIN_X_STEP ROWS_STEP
#define CHAIN_ROWS ROWS_COUNT
#define CHAIN_STEPS ROWS_STEPS
#include "attention_chains.h"
    } else {
        for (i32 u = 0; u < ROWS_COUNT; u++) {
            for (i32 w = 0; w < ROWS_STEPS; w++) {
                i32 absent = NAME(BITS)(weight[u * ROWS_ROW + w * ROWS_STEP]) == NAME(BITS)(SBI_ABSENT);
                T x = ROWS_FACTOR[u * ROWS_ROW + w * ROWS_STEP];
                PHASE(l, width) {
                    T r = ATI(ROWS_INTO, l, (ROWS_FIRST + u) * blocks + c / 32);
                    T next = NAME(FMA)(x, (ROWS_FROM)[w * ROWS_STRIDE + c + l], r);
                    ATI(ROWS_INTO, l, (ROWS_FIRST + u) * blocks + c / 32) = absent ? r : next;
                }
                LANE_END
            }
        }
    }
}
#undef ROWS_INTO
#undef ROWS_FIRST
#undef ROWS_COUNT
#undef ROWS_FACTOR
#undef ROWS_ROW
#undef ROWS_STEP
#undef ROWS_FROM
#undef ROWS_STRIDE
#undef ROWS_STEPS
