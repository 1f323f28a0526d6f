// SPDX-License-Identifier: Apache-2.0
// A template for the body of a kernel: `count` rows of d channels, each times a factor of the lane, added to what the
// lane has: ROWS_INTO(l, c) = fma(ROWS_FACTOR(l, j), row j, ROWS_INTO(l, c)), j ascending (T3). A row whose weight(l, j)
// is -0 is absent and skipped; where `plain` says that rows are finite it need not be told apart. Define, then include:
//   ROWS_INTO     an array of lanes, by channel
//   ROWS_FACTOR   an array of lanes, by row; finite rows: -0 or +0 where absent
//   ROWS_FROM     a pointer to the rows, `stride` apart
for (i32 j = 0; j < count; j += 4) { // four rows by four channels a phase
    GLOBAL const T *x = ROWS_FROM + j * stride;
    i32 c = 0, four = j + 4 <= count && plain[j] && plain[j + 1] && plain[j + 2] && plain[j + 3];
    for (; four && c + 4 <= d; c += 4) {
        PHASE(l, 32) {
            T e0 = ATI(ROWS_FACTOR, l, j), e1 = ATI(ROWS_FACTOR, l, j + 1);
            T e2 = ATI(ROWS_FACTOR, l, j + 2), e3 = ATI(ROWS_FACTOR, l, j + 3);
            UNROLL for (i32 u = 0; u < 4; u++) {
                T r = ATI(ROWS_INTO, l, c + u);
                r = NAME(FMA)(e0, x[c + u], r);
                r = NAME(FMA)(e1, x[stride + c + u], r);
                r = NAME(FMA)(e2, x[2 * stride + c + u], r);
                r = NAME(FMA)(e3, x[3 * stride + c + u], r);
                ATI(ROWS_INTO, l, c + u) = r;
            }
        }
        LANE_END
    }
    for (i32 i = j; i < j + 4 && i < count; i++, x += stride) {
        for (i32 n = c; n < d; n++) {
            PHASE(l, 32) {
                T r = ATI(ROWS_INTO, l, n), next = NAME(FMA)(ATI(ROWS_FACTOR, l, i), x[n], r);
                ATI(ROWS_INTO, l, n) = NAME(BITS)(ATI(weight, l, i)) == NAME(BITS)(SBI_ABSENT) ? r : next;
            }
            LANE_END
        }
    }
}
#undef ROWS_INTO
#undef ROWS_FACTOR
#undef ROWS_FROM
