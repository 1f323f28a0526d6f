// SPDX-License-Identifier: Apache-2.0
// A template: running sums of rows of n (contract T2). Define, then include:
//   SCAN_TOTALS, SCAN_BASES, SCAN_SUMS   the kernels, in the order in which they run
//   SCAN_TYPE, SCAN_SUM                  the types of an element and of a sum
//   SCAN_ZERO, SCAN_TERM(x), SCAN_OUT(s) +0; an element as a term; a sum as an element
//
// Terms are numbered from the end where `reverse` is set. A chunk is 256 terms, one a lane, 16 a group; chunks are numbered
// over all rows, `all` of them. A lane that has no more terms adds none.

// total[chunk]: c, the chain of its terms from +0.
KERNEL void SCAN_TOTALS(GLOBAL const SCAN_TYPE *RESTRICT x, GLOBAL SCAN_SUM *RESTRICT total, i64 n, i64 all,
                        i32 reverse GROUP_PARAM) {
    LANE_VAR(SCAN_SUM, c, 16);
    LANE_VAR(i64, at, 16);
    LANE_VAR(i32, terms, 16);
    i64 chunks = (n + 255) / 256, first = GROUP() * 16, step = reverse ? -1 : 1;
    i32 lanes = sbi_lanes(all - first, 16);
    PHASE(l, lanes) {
        i64 from = (first + l) % chunks * 256;
        AT(at, l) = (first + l) / chunks * n + (reverse ? n - 1 - from : from);
        AT(terms, l) = sbi_lanes(n - from, 256);
        AT(c, l) = SCAN_ZERO;
    } LANE_END
    for (i32 j = 0; j < 256; j++) {
        PHASE(l, lanes) {
            SCAN_SUM sum = AT(c, l) + SCAN_TERM(x[AT(at, l) + (j < AT(terms, l) ? j : 0) * step]);
            AT(c, l) = j < AT(terms, l) ? sum : AT(c, l);
        } LANE_END
    }
    PHASE(l, lanes) { total[first + l] = AT(c, l); } PHASE_END
}

// One row a group. In: the totals of its chunks; out: R + P for each, P the chain of the totals before it in its run of 64
// chunks, R the chain of the totals of the runs before.
KERNEL void SCAN_BASES(GLOBAL SCAN_SUM *RESTRICT base, i64 chunks GROUP_PARAM) {
    PHASE(l, 1) {
        GLOBAL SCAN_SUM *own = base + GROUP() * chunks;
        SCAN_SUM r = SCAN_ZERO, p = SCAN_ZERO;
        for (i64 q = 0; q < chunks; q++) {
            SCAN_SUM total = own[q];
            own[q] = r + p;
            p = p + total;
            if (q % 64 == 63) {
                r = r + p;
                p = SCAN_ZERO;
            }
        }
    } PHASE_END
}

// y = base + c, c with its own term or, where `exclusive` is set, without it. y may be x.
KERNEL void SCAN_SUMS(GLOBAL const SCAN_TYPE *x, GLOBAL const SCAN_SUM *base, GLOBAL SCAN_TYPE *y, i64 n, i64 all,
                      i32 reverse, i32 exclusive GROUP_PARAM) {
    LANE_VAR(SCAN_SUM, c, 16);
    LANE_VAR(SCAN_SUM, start, 16);
    LANE_VAR(i64, at, 16);
    LANE_VAR(i32, terms, 16);
    i64 chunks = (n + 255) / 256, first = GROUP() * 16, step = reverse ? -1 : 1;
    i32 lanes = sbi_lanes(all - first, 16);
    PHASE(l, lanes) {
        i64 from = (first + l) % chunks * 256;
        AT(at, l) = (first + l) / chunks * n + (reverse ? n - 1 - from : from);
        AT(terms, l) = sbi_lanes(n - from, 256);
        AT(start, l) = base[first + l];
        AT(c, l) = SCAN_ZERO;
    } LANE_END
    for (i32 j = 0; j < 256; j++) {
        PHASE(l, lanes) {
            if (j < AT(terms, l)) {
                i64 i = AT(at, l) + j * step;
                SCAN_SUM sum = AT(c, l) + SCAN_TERM(x[i]);
                SCAN_SUM value = AT(start, l) + (exclusive ? AT(c, l) : sum);
                y[i] = SCAN_OUT(value);
                AT(c, l) = sum;
            }
        } LANE_END
    }
}
#undef SCAN_TOTALS
#undef SCAN_BASES
#undef SCAN_SUMS
#undef SCAN_TYPE
#undef SCAN_SUM
#undef SCAN_ZERO
#undef SCAN_TERM
#undef SCAN_OUT
