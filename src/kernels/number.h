// SPDX-License-Identifier: Apache-2.0
// Contract T1 in kernel text: canonical NaN, maximum, minimum, the order of sorting.
#ifndef SBI_NUMBER_H
#define SBI_NUMBER_H

// The value an arithmetic kernel writes: NaN becomes 0x7fc00000 (0x7ff8000000000000).
FN f32 sbi_canon_f32(f32 x) { return x == x ? x : FLOAT32(0x7fc00000u); }
FN f64 sbi_canon_f64(f64 x) { return x == x ? x : FLOAT64(0x7ff8000000000000u); }

// IEEE 754-2019 maximum and minimum: NaN if either is, -0 < +0. (Every value is made before it is chosen: so gcc
// vectorises them.)
FN f32 sbi_max_f32(f32 a, f32 b) {
    f32 m = a > b ? a : b, same = FLOAT32(BITS32(a) & BITS32(b));
    m = a == b ? same : m;
    m = a == a ? m : FLOAT32(0x7fc00000u);
    return b == b ? m : FLOAT32(0x7fc00000u);
}
FN f32 sbi_min_f32(f32 a, f32 b) {
    f32 m = a < b ? a : b, same = FLOAT32(BITS32(a) | BITS32(b));
    m = a == b ? same : m;
    m = a == a ? m : FLOAT32(0x7fc00000u);
    return b == b ? m : FLOAT32(0x7fc00000u);
}
FN f64 sbi_max_f64(f64 a, f64 b) {
    f64 m = a > b ? a : b, same = FLOAT64(BITS64(a) & BITS64(b));
    m = a == b ? same : m;
    m = a == a ? m : FLOAT64(0x7ff8000000000000u);
    return b == b ? m : FLOAT64(0x7ff8000000000000u);
}
FN f64 sbi_min_f64(f64 a, f64 b) {
    f64 m = a < b ? a : b, same = FLOAT64(BITS64(a) | BITS64(b));
    m = a == b ? same : m;
    m = a == a ? m : FLOAT64(0x7ff8000000000000u);
    return b == b ? m : FLOAT64(0x7ff8000000000000u);
}

// |x|, NaN and all.
FN f32 sbi_size_f32(f32 x) { return FLOAT32(BITS32(x) & 0x7fffffffu); }
FN f64 sbi_size_f64(f64 x) { return FLOAT64(BITS64(x) & 0x7fffffffffffffffu); }

// The larger of two such sizes: as integers they are in the same order, with every NaN above infinity.
FN f32 sbi_larger_size_f32(f32 a, f32 b) { return (i32)BITS32(a) < (i32)BITS32(b) ? b : a; }
FN f64 sbi_larger_size_f64(f64 a, f64 b) { return (i64)BITS64(a) < (i64)BITS64(b) ? b : a; }

// The words of a template: NAME(FMA)(a, b, c) is FMA_f32 or FMA_f64, and so on; U is the unsigned integer as wide as T.
#define FMA_f32(a, b, c) FMA(a, b, c)
#define FMA_f64(a, b, c) FMA64(a, b, c)
#define DIV_f32(a, b) DIV32(a, b)
#define DIV_f64(a, b) ((a) / (b))
#define SQRT_f32(x) SQRT32(x)
#define SQRT_f64(x) SQRT64(x)
#define BITS_f32(x) BITS32(x)
#define BITS_f64(x) BITS64(x)
#define FLOAT_f32(x) FLOAT32(x)
#define FLOAT_f64(x) FLOAT64(x)
#define U_f32 u32
#define U_f64 u64
#define SBI_LEAST_f32 FLOAT32(0xff800000u) // -infinity
#define SBI_LEAST_f64 FLOAT64(0xfff0000000000000u)

// How many lanes of at most `most` have work where `left` items are left.
FN i32 sbi_lanes(i64 left, i32 most) { return left < (i64)most ? (i32)left : most; }
#endif
