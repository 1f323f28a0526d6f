// SPDX-License-Identifier: Apache-2.0
// A template for the body of a kernel whose lanes are channels: the end of a chunk of products (T3), one of those with
// numbers FOLD_FROM .. FOLD_TO, folded in ascending order. A run is what 64 of them, aligned, have added up; the last
// chunk of a run adds it to the total. Define, then include:
//   FOLD_CHUNK, FOLD_ROWS                 an array of lanes, `blocks` a row; how many rows
//   FOLD_INDEX, FOLD_FROM, FOLD_TO        numbers of chunks
//   FOLD_TOTAL, FOLD_RUN                  where totals and runs stand (the same place if there is but one run)
//   FOLD_AT(u)                            where the channels of row u stand in both
{
    i32 anew = FOLD_INDEX == FOLD_FROM || FOLD_INDEX % 64 == 0, full = FOLD_INDEX == FOLD_TO || FOLD_INDEX % 64 == 63;
    i32 only = FOLD_INDEX / 64 == FOLD_FROM / 64;
    for (i32 u = 0; u < FOLD_ROWS; u++) {
        for (i32 c = 0; c < d; c += 32) {
            i64 at = FOLD_AT(u) + c;
            PHASE(l, sbi_lanes(d - c, 32)) {
                T r = (anew ? (T)0 : FOLD_RUN[at + l]) + ATI(FOLD_CHUNK, l, u * blocks + c / 32);
                if (full) {
                    FOLD_TOTAL[at + l] = NAME(sbi_canon)(only ? r : FOLD_TOTAL[at + l] + r);
                } else {
                    FOLD_RUN[at + l] = r;
                }
            }
            LANE_END
        }
    }
}
#undef FOLD_CHUNK
#undef FOLD_ROWS
#undef FOLD_INDEX
#undef FOLD_FROM
#undef FOLD_TO
#undef FOLD_TOTAL
#undef FOLD_RUN
#undef FOLD_AT
