// SPDX-License-Identifier: Apache-2.0
// Sums (contract T2).

// out[group] = RN32(S(row)), one block (n <= 4096) a row of x[groups, n].
KERNEL void NAME(k_sum_row)(GLOBAL const T *RESTRICT x, GLOBAL T *RESTRICT out, i32 n GROUP_PARAM) {
    SHARED f64 part[32];
    LANE_VAR(f64, acc, 32);
    GLOBAL const T *row = x + (i64)GROUP() * n;
    i32 tail = n - n % 32;
    PHASE(l, 32) { AT(acc, l) = K(0.0); } LANE_END
    for (i32 j = 0; j < tail; j += 32) {
        PHASE(l, 32) { AT(acc, l) = AT(acc, l) + (f64)row[j + l]; } LANE_END
    }
    PHASE(l, n - tail) { AT(acc, l) = AT(acc, l) + (f64)row[tail + l]; } LANE_END
    PHASE(l, 32) { part[l] = AT(acc, l); } PHASE_END
    for (i32 s = 16; s > 0; s /= 2) {
        PHASE(l, s) { part[l] = part[l] + part[l + s]; } PHASE_END
    }
    PHASE(l, 1) { out[GROUP()] = sbi_canon_f32((T)(part[0] + K(0.0))); } PHASE_END
}
