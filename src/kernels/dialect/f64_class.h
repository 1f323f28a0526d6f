// SPDX-License-Identifier: Apache-2.0
// C++ only: binary64 as a class, as a device without binary64 will have it over integers. The kernel text must
// compile with it: it shows that no f64 is taken from, or turned into, another type except by a cast that is written.
#ifndef SBI_F64_CLASS_H
#define SBI_F64_CLASS_H

struct f64 {
    double value;
    f64() = default;
    constexpr explicit f64(double x) : value(x) {}
    constexpr explicit f64(float x) : value(static_cast<double>(x)) {}
    constexpr explicit f64(int32_t x) : value(x) {}
    constexpr explicit f64(uint32_t x) : value(x) {}
    constexpr explicit f64(int64_t x) : value(static_cast<double>(x)) {}
    constexpr explicit f64(uint64_t x) : value(static_cast<double>(x)) {}
    explicit operator float() const { return static_cast<float>(value); }
    explicit operator int32_t() const { return static_cast<int32_t>(value); }
    explicit operator uint32_t() const { return static_cast<uint32_t>(value); }
    explicit operator int64_t() const { return static_cast<int64_t>(value); }
    explicit operator uint64_t() const { return static_cast<uint64_t>(value); }
};
static inline f64 operator+(f64 a, f64 b) { return f64(a.value + b.value); }
static inline f64 operator-(f64 a, f64 b) { return f64(a.value - b.value); }
static inline f64 operator*(f64 a, f64 b) { return f64(a.value * b.value); }
static inline f64 operator/(f64 a, f64 b) { return f64(a.value / b.value); }
static inline f64 operator-(f64 a) { return f64(-a.value); }
static inline bool operator==(f64 a, f64 b) { return a.value == b.value; }
static inline bool operator!=(f64 a, f64 b) { return a.value != b.value; }
static inline bool operator<(f64 a, f64 b) { return a.value < b.value; }
static inline bool operator>(f64 a, f64 b) { return a.value > b.value; }
static inline bool operator<=(f64 a, f64 b) { return a.value <= b.value; }
static inline bool operator>=(f64 a, f64 b) { return a.value >= b.value; }
static inline f64 sbi_class_sqrt(f64 a) { return f64(__builtin_sqrt(a.value)); }
static inline f64 sbi_class_fma(f64 a, f64 b, f64 c) { return f64(__builtin_fma(a.value, b.value, c.value)); }
#endif
