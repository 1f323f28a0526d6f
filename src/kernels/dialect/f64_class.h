// SPDX-License-Identifier: Apache-2.0
// C++ only: binary64 as a class over 64-bit integers (soft64.h), for devices without binary64. No kernel text knows of
// it: that it compiles with it shows that no f64 is taken from, or turned into, another type but by a written cast.
#ifndef SBI_F64_CLASS_H
#define SBI_F64_CLASS_H

struct f64 {
    u64 bits;
    f64() = default;
    explicit f64(f32 x) : bits(sbi_soft_from_f32(BITS32(x))) {}
    explicit f64(i32 x) : bits(sbi_soft_from_i64(x)) {}
    explicit f64(u32 x) : bits(sbi_soft_from_u64(x)) {}
    explicit f64(i64 x) : bits(sbi_soft_from_i64(x)) {}
    explicit f64(u64 x) : bits(sbi_soft_from_u64(x)) {}
    explicit operator f32() const { return FLOAT32(sbi_soft_to_f32(bits)); }
    explicit operator i32() const { return (i32)sbi_soft_to_i64(bits); }
    explicit operator u32() const { return (u32)sbi_soft_to_u64(bits); }
    explicit operator i64() const { return sbi_soft_to_i64(bits); }
    explicit operator u64() const { return sbi_soft_to_u64(bits); }
};
FN u64 BITS64(f64 x) { return x.bits; }
FN f64 FLOAT64(u64 x) {
    f64 y;
    y.bits = x;
    return y;
}
FN f64 operator+(f64 a, f64 b) { return FLOAT64(sbi_soft_add(a.bits, b.bits)); }
FN f64 operator-(f64 a, f64 b) { return FLOAT64(sbi_soft_add(a.bits, b.bits ^ SBI_SOFT_SIGN)); }
FN f64 operator*(f64 a, f64 b) { return FLOAT64(sbi_soft_multiply(a.bits, b.bits)); }
FN f64 operator/(f64 a, f64 b) { return FLOAT64(sbi_soft_divide(a.bits, b.bits)); }
FN f64 operator-(f64 a) { return FLOAT64(a.bits ^ SBI_SOFT_SIGN); }
FN bool operator==(f64 a, f64 b) { return sbi_soft_equal(a.bits, b.bits); }
FN bool operator!=(f64 a, f64 b) { return !sbi_soft_equal(a.bits, b.bits); }
FN bool operator<(f64 a, f64 b) { return sbi_soft_less(a.bits, b.bits); }
FN bool operator>(f64 a, f64 b) { return sbi_soft_less(b.bits, a.bits); }
FN bool operator<=(f64 a, f64 b) { return sbi_soft_less(a.bits, b.bits) || sbi_soft_equal(a.bits, b.bits); }
FN bool operator>=(f64 a, f64 b) { return sbi_soft_less(b.bits, a.bits) || sbi_soft_equal(a.bits, b.bits); }
FN f64 SQRT64(f64 x) { return FLOAT64(sbi_soft_root(x.bits)); }
#endif
