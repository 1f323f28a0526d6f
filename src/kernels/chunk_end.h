// SPDX-License-Identifier: Apache-2.0
// A template for the body of a kernel: the end of a chunk of a product (T3). run + chunk; where the run is `full` it is
// added to the sum and begins anew, and so does the chunk. Define, then include:
//   CHUNK, CHUNK_RUN, CHUNK_SUM   arrays of 32 lanes
//   CHUNK_COUNT                   how many of each lane
for (i32 i = 0; i < CHUNK_COUNT; i++) {
    PHASE(l, 32) {
        T r = ATI(CHUNK_RUN, l, i) + ATI(CHUNK, l, i);
        ATI(CHUNK, l, i) = (T)0;
        ATI(CHUNK_SUM, l, i) = full ? ATI(CHUNK_SUM, l, i) + r : ATI(CHUNK_SUM, l, i);
        ATI(CHUNK_RUN, l, i) = full ? (T)0 : r;
    }
    LANE_END
}
#undef CHUNK
#undef CHUNK_RUN
#undef CHUNK_SUM
#undef CHUNK_COUNT
