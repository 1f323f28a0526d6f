// SPDX-License-Identifier: Apache-2.0
// A template for the body of a kernel: chains of products (T3), `rows` of them for each of some lanes, over s = 0 ..
// steps - 1 ascending: OUT(l, u) = fma(X(u, s), FACTOR(l, s), OUT(l, u)). Define, then include:
//   CHAIN_LANES                                  how many lanes, at most 32
//   CHAIN_OUT(l, u), CHAIN_FACTOR(l, s)          elements of the lanes, neighbours in memory
//   CHAIN_X(u, s)                                elements that are the same for all lanes
//   CHAIN_OUT_ROW, CHAIN_X_ROW                   the distance of those of one u and the next
//   CHAIN_FACTOR_STEP, CHAIN_X_STEP              the same of one s and the next
//   CHAIN_ROWS, CHAIN_STEPS                      rows, steps
#ifdef SBI_TUNED
NAME(sbi_chains)(&CHAIN_OUT(0, 0), CHAIN_OUT_ROW, &CHAIN_FACTOR(0, 0), CHAIN_FACTOR_STEP, &CHAIN_X(0, 0), CHAIN_X_ROW, CHAIN_X_STEP,
                 CHAIN_LANES, CHAIN_ROWS, CHAIN_STEPS);
#else
for (i32 u = 0; u < CHAIN_ROWS; u++) { // (one fma in the text: where it is no instruction it is a page of them)
    for (i32 w = 0; w < CHAIN_STEPS; w++) {
        PHASE(l, CHAIN_LANES) { CHAIN_OUT(l, u) = NAME(FMA)(CHAIN_X(u, w), CHAIN_FACTOR(l, w), CHAIN_OUT(l, u)); }
        LANE_END
    }
}
#endif
#undef CHAIN_LANES
#undef CHAIN_OUT
#undef CHAIN_FACTOR
#undef CHAIN_X
#undef CHAIN_OUT_ROW
#undef CHAIN_X_ROW
#undef CHAIN_FACTOR_STEP
#undef CHAIN_X_STEP
#undef CHAIN_ROWS
#undef CHAIN_STEPS
