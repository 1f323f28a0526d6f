// SPDX-License-Identifier: Apache-2.0
// A template for the body of a kernel: the dot of the row of each lane with each of `count` rows of the other operand,
// DOTS_OUT(l, j) = dot(DOTS_LANES(l), row j of DOTS_ROWS), an fma chain over the d channels from +0 (T3). Define, then
// include:
//   DOTS_OUT     an array of lanes, by row
//   DOTS_LANES   an array of lanes, by channel
//   DOTS_ROWS    a pointer to the rows, `stride` apart
for (i32 j = 0; j < count; j++) {
    PHASE(l, 32) { ATI(DOTS_OUT, l, j) = (T)0; }
    LANE_END
}
#define CHAIN_OUT(l, u) ATI(DOTS_OUT, l, u)
#define CHAIN_FACTOR(l, s) ATI(DOTS_LANES, l, s)
#define CHAIN_X DOTS_ROWS
#define CHAIN_ROW stride
#define CHAIN_STEP 1
#define CHAIN_ROWS count
#define CHAIN_STEPS d
#include "attention_chains.h"
#undef DOTS_OUT
#undef DOTS_LANES
#undef DOTS_ROWS
