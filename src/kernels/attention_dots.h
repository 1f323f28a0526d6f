// SPDX-License-Identifier: Apache-2.0
// A template for the body of a kernel: the dot of the row of each lane with each of `count` rows of the other operand,
// DOTS_OUT[32 j + l] = dot(lane l, row j of DOTS_ROWS), an fma chain over the d channels from +0 (T3). Define,
// then include:
//   DOTS_OUT      32 lanes by row
//   DOTS_LANES(l, c)   channel c of the lane
//   DOTS_ROWS     a pointer to the rows, DOTS_STRIDE apart
for (i32 j = 0; j < count; j++) {
    PHASE(l, 32) { DOTS_OUT[j * 32 + l] = (T)0; }
    LANE_END
}
#define CHAIN_LANES 32
#define CHAIN_OUT(l, u) DOTS_OUT[(u) * 32 + l]
#define CHAIN_OUT_ROW 32
#define CHAIN_FACTOR(l, s) DOTS_LANES(l, s)
#define CHAIN_FACTOR_STEP 32
#define CHAIN_X(u, s) (DOTS_ROWS)[(u) * DOTS_STRIDE + s]
#define CHAIN_X_ROW DOTS_STRIDE
#define CHAIN_X_STEP 1
#define CHAIN_ROWS count
#define CHAIN_STEPS d
#include "attention_chains.h"
#undef DOTS_OUT
#undef DOTS_LANES
#undef DOTS_ROWS
#undef DOTS_STRIDE
