// SPDX-License-Identifier: Apache-2.0
// The rest of what probe_single.cl begins: binary64.

#if T_BITS == 64
#include "probe_arithmetic.h"

// Conversions of a float32, a float64 and integers; to an integer only what it can hold.
KERNEL void k_probe_convert(GLOBAL const u32 *RESTRICT a, GLOBAL const u64 *RESTRICT b, GLOBAL u64 *RESTRICT out, i64 n GROUP_PARAM) {
    i64 first = GROUP() * 256;
    i32 lanes = sbi_lanes(n - first, 256);
    PHASE(l, lanes) {
        u32 small = a[first + l];
        u64 word = b[first + l];
        f32 x = FLOAT32(small);
        f64 y = FLOAT64(word);
        GLOBAL u64 *at = out + first + l;
        at[0] = BITS64(sbi_canon_f64((f64)x));
        at[n] = BITS32(sbi_canon_f32((f32)y));
        at[2 * n] = BITS32((f32)(i32)small);
        at[3 * n] = BITS32((f32)small);
        at[4 * n] = BITS32((f32)(i64)word);
        at[5 * n] = BITS32((f32)word);
        at[6 * n] = BITS64((f64)(i32)small);
        at[7 * n] = BITS64((f64)(i64)word);
        at[8 * n] = BITS64((f64)word);
        at[9 * n] = (u64)(x > -0x1p31f && x < 0x1p31f ? (i32)x : 0);
        at[10 * n] = (u64)(y > K(-0x1p31) && y < K(0x1p31) ? (i32)y : 0);
        at[11 * n] = (u64)(y > K(-0x1p63) && y < K(0x1p63) ? (i64)y : 0);
        at[12 * n] = y >= K(0.0) && y < K(0x1p64) ? (u64)y : 0;
    }
    PHASE_END
}
#endif
