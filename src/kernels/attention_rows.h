// SPDX-License-Identifier: Apache-2.0
// A template for the body of a kernel: `count` rows of d channels, each times a factor of the lane, added to what the
// lane has: ROWS_INTO(l, c) = fma(ROWS_FACTOR(l, j), row j, ROWS_INTO(l, c)), j ascending (T3). A row whose weight(l, j)
// is -0 is absent and skipped; where `plain` says that rows are finite it need not be told apart. Define, then include:
//   ROWS_INTO     an array of lanes, by channel
//   ROWS_FACTOR   an array of lanes, by row; finite rows: -0 or +0 where absent
//   ROWS_FROM     a pointer to the rows, `stride` apart
for (i32 j = 0, upto = 0; j < count; j = upto) { // as many finite rows as follow each other, or one that is not
    for (upto = j; upto < count && plain[upto]; upto++) {
    }
#define CHAIN_OUT(l, u) ATI(ROWS_INTO, l, u)
#define CHAIN_FACTOR(l, s) ATI(ROWS_FACTOR, l, j + s)
#define CHAIN_X (ROWS_FROM + j * stride)
#define CHAIN_ROW 1
#define CHAIN_STEP stride
#define CHAIN_ROWS d
#define CHAIN_STEPS (upto - j)
#include "attention_chains.h"
    if (upto == j) {
        GLOBAL const T *x = ROWS_FROM + j * stride;
        for (i32 c = 0; c < d; c++) {
            PHASE(l, 32) {
                T r = ATI(ROWS_INTO, l, c), next = NAME(FMA)(ATI(ROWS_FACTOR, l, j), x[c], r);
                ATI(ROWS_INTO, l, c) = NAME(BITS)(ATI(weight, l, j)) == NAME(BITS)(SBI_ABSENT) ? r : next;
            }
            LANE_END
        }
        upto++;
    }
}
#undef ROWS_INTO
#undef ROWS_FACTOR
#undef ROWS_FROM
