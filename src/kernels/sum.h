// SPDX-License-Identifier: Apache-2.0
// The sum S of contract T2 in kernel text, for kernels whose group is a row.
//
// Terms x_0 .. x_(n-1) in binary64. A block is 4,096 consecutive terms; term j of a block is added to accumulator
// j mod 32, j ascending from +0; then for s = 16, 8, 4, 2, 1 and i < s: a_i += a_(i+s); the block's total is a_0.
// n > 4,096: S of the totals, again in blocks. The totals are folded as they arrive: `upper` holds 32 accumulators
// for totals of blocks and 32 for totals of 4,096 blocks, so rows may have 4096^3 terms. (S of one term is that
// term, so a level that was not needed changes nothing. No accumulator is ever -0: it starts at +0.)
#ifndef SBI_SUM_H
#define SBI_SUM_H

#define SBI_SUM_BLOCK 4096

// part[32], the accumulators; afterwards part[0] is the block's total.
FN void sbi_sum_tree(LOCAL f64 *part) {
    PHASE(l, 16) { part[l] = part[l] + part[l + 16]; } PHASE_END
    PHASE(l, 8) { part[l] = part[l] + part[l + 8]; } PHASE_END
    PHASE(l, 4) { part[l] = part[l] + part[l + 4]; } PHASE_END
    PHASE(l, 2) { part[l] = part[l] + part[l + 2]; } PHASE_END
    PHASE(l, 1) { part[l] = part[l] + part[l + 1]; } PHASE_END
}

FN i64 sbi_sum_blocks(i64 n) { return n > SBI_SUM_BLOCK ? (n + SBI_SUM_BLOCK - 1) / SBI_SUM_BLOCK : 1; }

// Folds the accumulators part[32] of one block of a row into upper[64]. A row of one block needs no upper.
FN void sbi_sum_fold(LOCAL f64 *part, LOCAL f64 *upper, i64 block, i64 blocks) {
    sbi_sum_tree(part);
    WHEN(blocks > 1) {
        WHEN(block == 0) {
            PHASE(l, 32) { upper[l] = K(0.0); upper[l + 32] = K(0.0); } PHASE_END
        }
        PHASE(l, 1) { upper[block % 32] = upper[block % 32] + part[0]; } PHASE_END
        WHEN(block % SBI_SUM_BLOCK == SBI_SUM_BLOCK - 1 || block == blocks - 1) {
            i64 run = block / SBI_SUM_BLOCK % 32;
            sbi_sum_tree(upper);
            PHASE(l, 1) { upper[32 + run] = upper[32 + run] + upper[0]; } PHASE_END
            PHASE(l, 32) { upper[l] = K(0.0); } PHASE_END
        }
        WHEN(block == blocks - 1) {
            sbi_sum_tree(upper + 32);
            PHASE(l, 1) { part[0] = upper[32]; } PHASE_END
        }
    }
}

// The term of a variance: RN64(d d), d = RN64(x - mean) times c. A c above 1 multiplies the difference, one below 1 its
// terms, whose difference may overflow.
FN f64 sbi_scaled_square(f64 x, f64 mean, f64 c) {
    f64 d = c < K(1.0) ? x * c - mean * c : (x - mean) * c;
    return d * d;
}

// part[32]; afterwards part[0] is the total of the block of the n <= 4,096 terms RN64(a_j b_j).
FN void sbi_sum_products(GLOBAL const f32 *a, GLOBAL const f32 *b, i32 n, LOCAL f64 *part) {
    LANE_VAR(f64, acc, 32);
    i32 tail = n - n % 32;
    PHASE(l, 32) { AT(acc, l) = K(0.0); } LANE_END
    for (i32 j = 0; j < tail; j += 32) {
        PHASE(l, 32) { AT(acc, l) = AT(acc, l) + (f64)a[j + l] * (f64)b[j + l]; } LANE_END
    }
    PHASE(l, n - tail) { AT(acc, l) = AT(acc, l) + (f64)a[tail + l] * (f64)b[tail + l]; } LANE_END
    PHASE(l, 32) { part[l] = AT(acc, l); } PHASE_END
    sbi_sum_tree(part);
}
#endif
