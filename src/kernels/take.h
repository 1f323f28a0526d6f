// SPDX-License-Identifier: Apache-2.0
// A template: out[row, j] = x[row, index[row, j]], bits kept, rows of x n long and of out k; 256 elements of a row a group.
// Define TAKE_NAME, TAKE_TYPE, include.
KERNEL void TAKE_NAME(GLOBAL const TAKE_TYPE *RESTRICT x, GLOBAL const i64 *RESTRICT index, GLOBAL TAKE_TYPE *RESTRICT out,
                      i64 n, i64 k GROUP_PARAM) {
    i64 chunks = (k + 255) / 256, row = GROUP() / chunks, first = row * k + GROUP() % chunks * 256;
    i32 lanes = sbi_lanes((row + 1) * k - first, 256);
    GLOBAL const TAKE_TYPE *from = x + row * n;
    PHASE(l, lanes) { out[first + l] = from[index[first + l]]; } PHASE_END
}
#undef TAKE_NAME
#undef TAKE_TYPE
