// SPDX-License-Identifier: Apache-2.0
// Division and square root of float32, correctly rounded, for a device that has both only to 3
// units in the last place but a true fma (OpenCL without CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT). The
// dialect says ROUGH_DIVIDE and ROUGH_ROOT.
//
// Operands become numbers A and B in [1, 2), or A in [2, 4), such that the result q is in [1, 2),
// where a unit in the last place is u = 2^-23 and nothing is subnormal. A rough q is corrected by
// its residual r = A - q B once, which leaves it within one u; then r is exact, and r beyond B u /
// 2 (a root: s u) says that the neighbour is nearer. A quotient of two such numbers is never
// halfway between two, nor is a root; where a quotient is subnormal and loses digits, the sign of
// the exact r decides what looks halfway. Proved on 2^30 hostile pairs and all roots, with rough
// results wrong by up to 3 u: test/test_residual.c.
#ifndef SBI_RESIDUAL_H
#define SBI_RESIDUAL_H

#define NEAR_UNIT 0x1p-23f

// A positive number's exponent field, as if there were one below 0 for subnormal numbers; *part:
// the number with exponent 0.
FN i32 sbi_near_split(u32 x, f32 *part) {
    i32 e = (i32)(x >> 23), up = e == 0 ? CLZ64(x) - 40 : 0;
    *part = FLOAT32((x << up & 0x007fffffu) | 0x3f800000u);
    return e == 0 ? 1 - up : e;
}

FN f32 sbi_near_clamp(f32 q) { return q < 1.0f ? 1.0f : q > 0x1.fffffep0f ? 0x1.fffffep0f : q; }

FN f32 sbi_near_divide(f32 x, f32 y) {
    u32 a = BITS32(x) & 0x7fffffffu, b = BITS32(y) & 0x7fffffffu,
        sign = (BITS32(x) ^ BITS32(y)) & 0x80000000u;
    f32 high, low, q, r;
    if (a > 0x7f800000u || b > 0x7f800000u || (a == b && (a == 0 || a == 0x7f800000u)))
        return FLOAT32(0x7fc00000u);
    if (a == 0x7f800000u || b == 0) return FLOAT32(sign | 0x7f800000u);
    if (a == 0 || b == 0x7f800000u) return FLOAT32(sign);
    i32 e = sbi_near_split(a, &high) + 127;
    e = e - sbi_near_split(b, &low);
    e = high < low ? e - 1 : e;
    high = high < low ? high + high : high;
    q = sbi_near_clamp(ROUGH_DIVIDE(high, low));
    r = FMA(-q, low, high);
    q = sbi_near_clamp(q + ROUGH_DIVIDE(r, low));
    r = FMA(-q, low, high);
    q = r > low * (0.5f * NEAR_UNIT)    ? q + NEAR_UNIT
        : r < low * (-0.5f * NEAR_UNIT) ? q - NEAR_UNIT
                                        : q;
    if (e >= 255) return FLOAT32(sign | 0x7f800000u);
    if (e >= 1) return FLOAT32(sign | (u32)e << 23 | (BITS32(q) & 0x007fffffu));
    if (e < -23) return FLOAT32(sign); // below half of the least number
    r = FMA(-q, low, high);
    u32 digits = (BITS32(q) & 0x007fffffu) | 0x00800000u, lost = (u32)(1 - e),
        kept = digits >> lost;
    u32 rest = digits & (((u32)1 << lost) - 1), middle = (u32)1 << (lost - 1);
    u32 up =
        rest > middle || (rest == middle && (r > 0.0f || (r == 0.0f && (kept & 1) != 0))) ? 1 : 0;
    return FLOAT32(sign | (kept + up));
}

FN f32 sbi_near_root(f32 x) {
    u32 a = BITS32(x);
    f32 part, s, r;
    if ((a & 0x7fffffffu) == 0 || a == 0x7f800000u) return x;
    if (a > 0x7f800000u) return FLOAT32(0x7fc00000u); // NaN, or below zero
    i32 e = sbi_near_split(a, &part) - 127, odd = e & 1;
    part = odd ? part + part : part;
    s = sbi_near_clamp(ROUGH_ROOT(part));
    r = FMA(-s, s, part);
    s = sbi_near_clamp(s + ROUGH_DIVIDE(r, s + s));
    r = FMA(-s, s, part);
    s = r > s * NEAR_UNIT ? s + NEAR_UNIT : r <= s * -NEAR_UNIT ? s - NEAR_UNIT : s;
    return FLOAT32((u32)((e - odd) / 2 + 127) << 23 | (BITS32(s) & 0x007fffffu));
}
#endif
