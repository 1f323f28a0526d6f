// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (J. Su et al., "RoFormer", 2021), pairs (i, i + d/2).
#include "function64.h"

// One position a group: angle = RN(position * frequency), its cosine and sine (T4). The product of a float32 is exact in
// binary64 for positions below 2^29, so the angle is rounded once.
KERNEL void NAME(k_rotary_table)(GLOBAL const T *RESTRICT frequency, GLOBAL T *RESTRICT cosines,
                                 GLOBAL T *RESTRICT sines, i32 pairs GROUP_PARAM) {
    GLOBAL T *c = cosines + GROUP() * pairs;
    GLOBAL T *s = sines + GROUP() * pairs;
    f64 position = (f64)GROUP();
    for (i32 first = 0; first < pairs; first += 64) {
        i32 count = pairs - first < 64 ? pairs - first : 64;
        PHASE(l, count) {
            T angle = (T)(position * (f64)frequency[first + l]);
            c[first + l] = NAME(sbi_cos)(angle);
            s[first + l] = NAME(sbi_sin)(angle);
        } LANE_END
    }
}

// The turned pair: u = RN(RN(x c) - RN(y s)), v = RN(RN(y c) + RN(x s)).
FN T NAME(rotary_left)(T x, T y, T c, T s) { return NAME(sbi_canon)(x * c - y * s); }
FN T NAME(rotary_right)(T x, T y, T c, T s) { return NAME(sbi_canon)(y * c + x * s); }

// x, y[b, t, h, 2 pairs], one (b, t) a group; its position is first + t; inverse turns back (s negated). y may be x: a
// lane reads its pair before it writes it, so these two pointers are not RESTRICT.
KERNEL void NAME(k_rotary)(GLOBAL const T *x, GLOBAL const T *RESTRICT cosines,
                           GLOBAL const T *RESTRICT sines, GLOBAL T *y, i64 t, i64 h, i32 pairs,
                           i64 first, i32 inverse GROUP_PARAM) {
    GLOBAL const T *c = cosines + (first + GROUP() % t) * pairs;
    GLOBAL const T *s = sines + (first + GROUP() % t) * pairs;
    for (i64 head = 0; head < h; head++) {
        i64 at = (GROUP() * h + head) * 2 * pairs;
        for (i32 from = 0; from < pairs; from += 64) {
            i32 count = pairs - from < 64 ? pairs - from : 64;
            PHASE(l, count) {
                T left = x[at + from + l], right = x[at + pairs + from + l];
                T turn = inverse ? -s[from + l] : s[from + l];
                y[at + from + l] = NAME(rotary_left)(left, right, c[from + l], turn);
                y[at + pairs + from + l] = NAME(rotary_right)(left, right, c[from + l], turn);
            } LANE_END
        }
    }
}
