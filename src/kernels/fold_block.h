// SPDX-License-Identifier: Apache-2.0
// A template: one level of a reduction of [outer, count, inner] over the middle axis. Define, then include:
//   FOLD_NAME            the kernel
//   FOLD_PARAMS          its inputs
//   FOLD_TERM(i, j, o)   the term at flat index i, whose number on the axis is j, of the output at flat index o
//   FOLD_AHEAD(WORD, i)  WORD (PREFETCH or AHEAD) of what the term at flat index i reads
//   FOLD_NEEDS_OUTPUT    1 where the term reads something at o: columns that fill a vector then go row by row
// That is the sum S of binary64 terms; its last level is divided, and may take the root. For another reduction also:
//   FOLD_TYPE            the type of an accumulator
//   FOLD_START           what an accumulator starts at
//   FOLD(a, b)           what takes a term, or another accumulator, into an accumulator
//   FOLD_TOTAL(a)        the value of a block, as the next level reads it
//   FOLD_OUT(a)          the value of the last level
//
// A group is one block of 4,096 terms of up to 64 neighbouring columns. Every column has the 32 accumulators of T2
// (term number within the block mod 32), kept as 32 rows of acc, so that memory is read as it lies: where all
// columns fit into one group the whole block is contiguous and so are 32 rows of accumulators.
// total[outer, blocks, inner] is written where last is 0, else out[outer, inner] (of a sum: RN of the quotient by
// divisor, or where last is 2 of its root).
#ifndef FOLD_NEEDS_OUTPUT
#define FOLD_NEEDS_OUTPUT 0
#endif
#ifndef FOLD
#define FOLD_TYPE f64
#define FOLD_START K(0.0)
#define FOLD(a, b) ((a) + (b))
#define FOLD_TOTAL(a) sbi_canon_f64(a)
#define FOLD_OUT(a) NAME(sbi_canon)((T)(last == 2 ? SQRT64((a) / divisor) : (a) / divisor))
#endif
KERNEL void FOLD_NAME(FOLD_PARAMS, GLOBAL FOLD_TYPE *RESTRICT total, GLOBAL T *RESTRICT out, i64 count, i64 inner,
                      i64 blocks, i64 tiles, i32 last, f64 divisor GROUP_PARAM) {
    SHARED FOLD_TYPE acc[32 * 64];
    LANE_VAR(FOLD_TYPE, own, 32);
    i64 tile = GROUP() % tiles, block = GROUP() / tiles % blocks, row = GROUP() / tiles / blocks;
    i64 first = block * 4096, column = tile * 64;
    i32 n = sbi_lanes(count - first, 4096), w = sbi_lanes(inner - column, 64);
    i64 base = (row * count + first) * inner + column;
    (void)divisor; // (a maximum has no use for it)
    i32 lanes = 32; // accumulators in use: those that no term reaches are as they started and change nothing
    while (lanes / 2 >= n && lanes > 1) lanes /= 2;
    WHEN(inner == 1) {
        i32 tail = n - n % 32;
        PHASE(l, 32) { AT(own, l) = FOLD_START; } LANE_END
        for (i32 j = 0; j < tail; j += 32) {
            for (i32 c = 0; c < 32; c += 512 / T_BITS) FOLD_AHEAD(AHEAD, base + j + c); // each line of 64 bytes
            PHASE(l, 32) { AT(own, l) = FOLD(AT(own, l), FOLD_TERM(base + j + l, first + j + l, row)); } LANE_END
        }
        PHASE(l, n - tail) { AT(own, l) = FOLD(AT(own, l), FOLD_TERM(base + tail + l, first + tail + l, row)); } LANE_END
        PHASE(l, 32) { acc[l] = AT(own, l); } PHASE_END
        PHASE(l, 16) { acc[l] = FOLD(acc[l], acc[l + 16]); } PHASE_END
        PHASE(l, 8) { acc[l] = FOLD(acc[l], acc[l + 8]); } PHASE_END
        PHASE(l, 4) { acc[l] = FOLD(acc[l], acc[l + 4]); } PHASE_END
        PHASE(l, 2) { acc[l] = FOLD(acc[l], acc[l + 2]); } PHASE_END
        PHASE(l, 1) { acc[l] = FOLD(acc[l], acc[l + 1]); } PHASE_END
    }
    WHEN(inner != 1) {
        for (i32 c = 0; c < lanes * w; c += 64) {
            PHASE(l, sbi_lanes(lanes * w - c, 64)) { acc[c + l] = FOLD_START; } LANE_END
        }
        PHASE(l, 1) {} PHASE_END
        if (inner < (FOLD_NEEDS_OUTPUT ? 8 : 64)) { // 32 rows of terms lie as the accumulators do
            for (i32 p = 0; p < n * w; p += 32 * w) {
                i32 here = sbi_lanes(n * w - p, 32 * w);
                for (i32 c = 0; c < here; c += 64) {
                    PHASE(l, sbi_lanes(here - c, 64)) {
                        acc[c + l] = FOLD(acc[c + l], FOLD_TERM(base + p + c + l, first + (p + c + l) / w, row * inner + (p + c + l) % w));
                    } LANE_END
                }
            }
        } else if (w == 64) {
            for (i32 j = 0; j < n; j++) {
                i32 a = j % 32 * 64;
                i64 i = base + j * inner, later = base + (j + 16 < n ? j + 16 : j) * inner;
                for (i32 c = 0; c < 64; c += 16) FOLD_AHEAD(PREFETCH, later + c);
                PHASE(l, 64) { acc[a + l] = FOLD(acc[a + l], FOLD_TERM(i + l, first + j, row * inner + column + l)); } LANE_END
            }
        } else {
            for (i32 j = 0; j < n; j++) {
                i32 a = j % 32 * w;
                i64 i = base + j * inner;
                PHASE(l, w) { acc[a + l] = FOLD(acc[a + l], FOLD_TERM(i + l, first + j, row * inner + column + l)); } LANE_END
            }
        }
        PHASE(l, 1) {} PHASE_END
        for (i32 s = lanes / 2; TOGETHER(s > 0); s /= 2) {
            for (i32 c = 0; c < s * w; c += 64) {
                PHASE(l, sbi_lanes(s * w - c, 64)) { acc[c + l] = FOLD(acc[c + l], acc[c + l + s * w]); } LANE_END
            }
            PHASE(l, 1) {} PHASE_END
        }
    }
    if (last) {
        PHASE(l, w) { out[row * inner + column + l] = FOLD_OUT(acc[l]); } LANE_END
    } else {
        PHASE(l, w) { total[(row * blocks + block) * inner + column + l] = FOLD_TOTAL(acc[l]); } LANE_END
    }
}
#undef FOLD_NAME
#undef FOLD_PARAMS
#undef FOLD_TYPE
#undef FOLD_START
#undef FOLD_TERM
#undef FOLD_NEEDS_OUTPUT
#undef FOLD_AHEAD
#undef FOLD
#undef FOLD_TOTAL
#undef FOLD_OUT
