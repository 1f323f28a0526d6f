// SPDX-License-Identifier: Apache-2.0
// A template inside a kernel whose group is a row, or a function of such: part[0] = S of the terms ROW_TERM(j), j = 0 ..
// ROW_COUNT - 1, in the order of sum.h. Uses part[32], upper[64] (LOCAL) and LANE_VAR(f64, acc, 32). Where the
// row comes from memory here, ROW_AHEAD(j) is AHEAD of what term j reads. Or, instead of ROW_TERM: ROW_BLOCK(j, n) makes
// ready the n terms from j on, at most 32, and ROW_LANE(l) is that of lane l. Define, include.
#ifdef ROW_BLOCK
#define ROW_ADD(j, n) ROW_BLOCK(j, n) PHASE(l, n) { AT(acc, l) = AT(acc, l) + ROW_LANE(l); } LANE_END
#else
#define ROW_ADD(j, n) PHASE(l, n) { AT(acc, l) = AT(acc, l) + ROW_TERM((j) + l); } LANE_END
#endif
for (i64 block = 0, blocks = sbi_sum_blocks(ROW_COUNT); TOGETHER(block < blocks); block++) {
    i64 first = block * SBI_SUM_BLOCK, end = first + SBI_SUM_BLOCK < (ROW_COUNT) ? first + SBI_SUM_BLOCK : (ROW_COUNT);
    i64 tail = end - end % 32;
    PHASE(l, 32) { AT(acc, l) = K(0.0); } LANE_END
    for (i64 j = first; j < tail; j += 32) {
#ifdef ROW_AHEAD
        for (i32 c = 0; c < 32; c += 512 / T_BITS) ROW_AHEAD(j + c); // each line of 64 bytes
#endif
        ROW_ADD(j, 32)
    }
    ROW_ADD(tail, end - tail)
    PHASE(l, 32) { part[l] = AT(acc, l); } PHASE_END
    sbi_sum_fold(part, upper, block, blocks);
}
#undef ROW_ADD
#undef ROW_BLOCK
#undef ROW_LANE
#undef ROW_TERM
#undef ROW_COUNT
#undef ROW_AHEAD
