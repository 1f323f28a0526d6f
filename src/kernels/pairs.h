// SPDX-License-Identifier: Apache-2.0
// A function of one float32 in pairs of float32, for a device whose binary64 is 64-bit integers:
// the value where its rounding is sure, else the caller takes the sequence of function.h. Proved
// against that on all 2^32 inputs (test/test_pairs.c). No kernel takes it yet.
//
// exp: n the integer nearest to 32 x / ln 2, n = 32 k + j; r = x - n ln 2 / 32, |r| < 0.011, as a
// pair (n times the first 11 bits of ln 2 / 32 is exact, and so is the difference); e^x = 2^k
// 2^(j/32) (1 + r + r^2 / 2 + q), r and r^2 / 2 as pairs, q = r^3 / 6 + ... in float32, 2^-45 wrong
// at most. The last sum is rounded with 2^-41 added and taken away: where both agree the value is
// theirs.
#ifndef SBI_PAIRS_H
#define SBI_PAIRS_H

// clang-format off
TABLE f32 sbi_pair_powers[64] = { // 2^(j/32), high and low
    0x1p0f, 0x0p0f, 0x1.059b0ep0f, -0x1.9d4f52p-25f,
    0x1.0b5586p0f, 0x1.9f3122p-25f, 0x1.11301ep0f, -0x1.fdb496p-25f,
    0x1.172b84p0f, -0x1.c15742p-27f, 0x1.1d4874p0f, -0x1.d2e8cap-25f,
    0x1.2387a6p0f, 0x1.ceac48p-25f, 0x1.29e9ep0f, -0x1.5c0424p-25f,
    0x1.306fep0f, 0x1.4636e2p-25f, 0x1.371a74p0f, -0x1.18aac6p-25f,
    0x1.3dea64p0f, 0x1.824684p-25f, 0x1.44e086p0f, 0x1.8624b4p-30f,
    0x1.4bfdaep0f, -0x1.593abcp-25f, 0x1.5342b6p0f, -0x1.2c561p-25f,
    0x1.5ab07ep0f, -0x1.5bd5ecp-27f, 0x1.6247ecp0f, -0x1.f8b55p-25f,
    0x1.6a09e6p0f, 0x1.9fcef4p-26f, 0x1.71f75ep0f, 0x1.1d8beep-25f,
    0x1.7a1148p0f, -0x1.829fdp-25f, 0x1.82589ap0f, -0x1.accc7cp-26f,
    0x1.8ace54p0f, 0x1.15506ep-27f, 0x1.93737cp0f, -0x1.e64744p-25f,
    0x1.9c4918p0f, 0x1.51f848p-27f, 0x1.a5503cp0f, -0x1.b83b54p-25f,
    0x1.ae89fap0f, -0x1.a94b14p-26f, 0x1.b7f77p0f, -0x1.a09438p-25f,
    0x1.c199bep0f, -0x1.3d56b2p-27f, 0x1.cb720ep0f, -0x1.8837ccp-27f,
    0x1.d5818ep0f, -0x1.822dbcp-27f, 0x1.dfc974p0f, -0x1.908c94p-25f,
    0x1.ea4afap0f, 0x1.52486cp-27f, 0x1.f50766p0f, -0x1.246ebp-26f};
// clang-format on

FN f32 sbi_pair_exp(f32 x, i32 *sure) {
    *sure = x > -87.0f && x < 88.5f ? 1 : 0;
    x = *sure ? x : 0.0f;
    f32 n = (FMA(x, 0x1.715476p5f, 0x1.8p23f)) - 0x1.8p23f;
    i32 whole = (i32)n, j = whole & 31, k = (whole - j) / 32;
    f32 d = FMA(n, -0x1.63p-6f, x); // exact
    f32 m = n * 0x1.bd0106p-18f;    // n (0x1.63p-6 - ln 2 / 32), with low
    f32 low = FMA(n, 0x1.bd0106p-18f, -m) - n * 0x1.cf79acp-45f;
    f32 r = d + m, part = r - d;
    low = (d - (r - part)) + (m - part) + low; // r + low is the pair
    f32 square = r * r, rest = FMA(r, r, -square) * 0.5f;
    f32 q = square * r * FMA(r, FMA(r, 0x1.111112p-7f, 0x1.555556p-5f), 0x1.555556p-3f);
    f32 p = FMA(square, 0.5f, r);
    low = (FMA(square, 0.5f, r - p) + rest) + FMA(r, low, low) + q; // e^r - 1 is p + low
    f32 high = sbi_pair_powers[2 * j], small = sbi_pair_powers[2 * j + 1];
    f32 product = high * p, error = FMA(high, p, -product), y = high + product;
    low = (product - (y - high)) + (error + FMA(high, low, FMA(small, p, small)));
    f32 above = y + (low + y * 0x1p-41f), below = y + (low - y * 0x1p-41f);
    *sure = above == below ? *sure : 0;
    return FLOAT32(BITS32(above) + ((u32)k << 23));
}
#endif
