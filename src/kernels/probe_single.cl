// SPDX-License-Identifier: Apache-2.0
// What a device must do as the CPU does (src/device/device_probe.c compares them on hostile operands): every operation of
// the dialect, one result an operand, as bits; result r of operand i stands at out[r * n + i]. 256 operands a group. Here
// is what needs no binary64: a device without it is asked this, too.

#if T_BITS == 32
#include "probe_arithmetic.h"

// Integers of 64 and of 32 bits.
KERNEL void k_probe_integer(GLOBAL const u64 *RESTRICT a, GLOBAL const u64 *RESTRICT b, GLOBAL u64 *RESTRICT out, i64 n GROUP_PARAM) {
    i64 first = GROUP() * 256;
    i32 lanes = sbi_lanes(n - first, 256);
    PHASE(l, lanes) {
        u64 x = a[first + l], y = b[first + l];
        u32 p = (u32)x, q = (u32)y;
        i64 signed_x = (i64)(x >> 1) - (i64)(y >> 2), signed_y = (i64)(y >> 33) - 0x20000000;
        GLOBAL u64 *at = out + first + l;
        at[0] = x + y;
        at[n] = x - y;
        at[2 * n] = x * y;
        at[3 * n] = MULHI64(x, y);
        at[4 * n] = x << (y & 63);
        at[5 * n] = x >> (y & 63);
        at[6 * n] = (u64)((i64)x >> (y & 63));
        at[7 * n] = x / (y | 1);
        at[8 * n] = x % (y | 1);
        at[9 * n] = (u64)(signed_x / (signed_y | 1));
        at[10 * n] = (u64)(signed_x % (signed_y | 1));
        at[11 * n] = (u64)((x < y ? 1 : 0) | ((i64)x < (i64)y ? 2 : 0) | (x == y ? 4 : 0) | (p < q ? 8 : 0) | ((i32)p < (i32)q ? 16 : 0));
        at[12 * n] = p * q;
        at[13 * n] = (u64)p * q;
        at[14 * n] = p / (q | 1);
        at[15 * n] = (u64)(i64)((i32)p >> (q & 31)) ^ (u64)(p << (q & 31)) ^ (u64)(p >> (q & 31)) << 32;
        at[16 * n] = (u64)(uint8_t)x | (u64)(i64)(i32)q << 8;
    }
    PHASE_END
}

// Atomic sums: count[1024] and wide lanes that meet in them; the order reaches no bit.
KERNEL void k_probe_atomic(GLOBAL const u64 *RESTRICT a, GLOBAL u32 *RESTRICT count, i64 n GROUP_PARAM) {
    i64 first = GROUP() * 256;
    i32 lanes = sbi_lanes(n - first, 256);
    PHASE(l, lanes) { ATOMIC_ADD(count + (a[first + l] & 1023), (u32)(a[first + l] >> 20)); }
    PHASE_END
}

// Barriers: eight times round, every lane takes what two others left in the phase before.
KERNEL void k_probe_barrier(GLOBAL const u64 *RESTRICT a, GLOBAL u64 *RESTRICT out, i64 n GROUP_PARAM) {
    SHARED u64 shelf[256];
    LANE_VAR(u64, own, 256);
    i64 first = GROUP() * 256;
    i32 lanes = sbi_lanes(n - first, 256);
    PHASE(l, 256) { AT(own, l) = l < lanes ? a[first + l] : (u64)l; }
    LANE_END
    for (i32 round = 0; TOGETHER(round < 8); round++) {
        PHASE(l, 256) { shelf[l] = AT(own, l); }
        PHASE_END
        PHASE(l, 256) { AT(own, l) = AT(own, l) * 5 + shelf[(l + 1 + 37 * round) & 255] + shelf[255 - l]; }
        PHASE_END
    }
    PHASE(l, lanes) { out[first + l] = AT(own, l); }
    LANE_END
}
#endif
