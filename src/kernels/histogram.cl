// SPDX-License-Identifier: Apache-2.0
// Histograms of integer codes (contract T9): counts, or sums of integer weights, exact modulo 2^64; so the parts into
// which the rows are cut reach no bit.

#if T_BITS == 32
#define HISTOGRAM_NAME k_histogram_u8
#define HISTOGRAM_TYPE uint8_t
#include "histogram_part.h"

#define HISTOGRAM_NAME k_histogram_i32
#define HISTOGRAM_TYPE i32
#include "histogram_part.h"

// count[size] = the sum of part[parts, size]; 256 a group.
KERNEL void k_histogram_sum(GLOBAL const u64 *RESTRICT part, GLOBAL u64 *RESTRICT count, i64 parts, i64 size GROUP_PARAM) {
    LANE_VAR(u64, sum, 256);
    i64 first = GROUP() * 256;
    i32 lanes = sbi_lanes(size - first, 256);
    PHASE(l, lanes) { AT(sum, l) = 0; } LANE_END
    for (i64 p = 0; p < parts; p++) {
        PHASE(l, lanes) { AT(sum, l) = AT(sum, l) + part[p * size + first + l]; } LANE_END
    }
    PHASE(l, lanes) { count[first + l] = AT(sum, l); } PHASE_END
}
#endif
