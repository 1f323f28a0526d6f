// SPDX-License-Identifier: Apache-2.0
// A template: the kernel that makes draws start .. start + size - 1 of one kind. Define, then include:
//   RANDOM_NAME       the kernel
//   RANDOM_TYPE       the type of a draw
//   RANDOM_DRAWS      draws a group: 1,024 of one word, 512 of two
//   RANDOM_VALUE(i)   draw i of the group, from its words word[1024]
//   RANDOM_ALSO       further parameters, a comma before each; may be left out
#ifndef RANDOM_ALSO
#define RANDOM_ALSO
#endif
KERNEL void RANDOM_NAME(u64 seed, u64 stream, i64 start, i64 size RANDOM_ALSO,
                        GLOBAL RANDOM_TYPE *RESTRICT out GROUP_PARAM) {
    SHARED u32 word[1024];
    i32 low = random_low(GROUP(), start, RANDOM_DRAWS), high = random_high(GROUP(), start, size, RANDOM_DRAWS);
    i64 to = GROUP() * RANDOM_DRAWS - start % RANDOM_DRAWS;
    random_words(word, seed, stream, random_first(GROUP(), start, RANDOM_DRAWS));
    for (i32 from = low; from < high; from += 256) {
        PHASE(l, random_lanes(high - from)) { out[to + from + l] = RANDOM_VALUE(from + l); } LANE_END
    }
}
#undef RANDOM_NAME
#undef RANDOM_TYPE
#undef RANDOM_DRAWS
#undef RANDOM_VALUE
#undef RANDOM_ALSO
