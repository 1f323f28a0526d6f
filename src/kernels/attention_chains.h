// SPDX-License-Identifier: Apache-2.0
// A template for the body of a kernel: chains of products (T3), `rows` of them for each of 32 lanes, over s = 0 ..
// steps - 1 ascending: OUT(l, u) = fma(x(u, s), FACTOR(l, s), OUT(l, u)), where x is the same for all lanes. Define, then
// include:
//   CHAIN_OUT(l, u), CHAIN_FACTOR(l, s)   elements of arrays of lanes
//   CHAIN_X, CHAIN_ROW, CHAIN_STEP        x(u, s) is CHAIN_X[u * CHAIN_ROW + s * CHAIN_STEP]
//   CHAIN_ROWS, CHAIN_STEPS               rows, steps
#ifdef SBI_TUNED
NAME(sbi_chains)(&CHAIN_OUT(0, 0), &CHAIN_FACTOR(0, 0), CHAIN_X, CHAIN_ROW, CHAIN_STEP, CHAIN_ROWS, CHAIN_STEPS);
#else
for (i32 u = 0; u < CHAIN_ROWS; u++) { // (one fma in the text: where it is no instruction it is a page of them)
    GLOBAL const T *x = CHAIN_X + u * CHAIN_ROW;
    for (i32 w = 0; w < CHAIN_STEPS; w++) {
        PHASE(l, 32) { CHAIN_OUT(l, u) = NAME(FMA)(x[w * CHAIN_STEP], CHAIN_FACTOR(l, w), CHAIN_OUT(l, u)); }
        LANE_END
    }
}
#endif
#undef CHAIN_OUT
#undef CHAIN_FACTOR
#undef CHAIN_X
#undef CHAIN_ROW
#undef CHAIN_STEP
#undef CHAIN_ROWS
#undef CHAIN_STEPS
