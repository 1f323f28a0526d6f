// SPDX-License-Identifier: Apache-2.0
// T1: numbers. Bits, canonical NaN, maximum and minimum; and, by integers alone, the roundings that C does not offer
// without libm: the fused multiply-add and the square root.
#include "reference.h"

#include <stdlib.h>
#include <string.h>

uint32_t ref_bits32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

float ref_float32(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

uint64_t ref_bits64(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

double ref_float64(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

float ref_canon32(float x) {
    return x != x ? ref_float32(0x7fc00000u) : x;
}

double ref_canon64(double x) {
    return x != x ? ref_float64(0x7ff8000000000000u) : x;
}

// "max, min: IEEE 754-2019 maximum, minimum (NaN if any, -0 < +0)" (T1).
float ref_max32(float a, float b) {
    if (a != a || b != b)
        return ref_float32(0x7fc00000u);
    if (a == 0 && b == 0)
        return ref_bits32(a) == 0 ? a : b;
    return a > b ? a : b;
}

double ref_max64(double a, double b) {
    if (a != a || b != b)
        return ref_float64(0x7ff8000000000000u);
    if (a == 0 && b == 0)
        return ref_bits64(a) == 0 ? a : b;
    return a > b ? a : b;
}

double ref_min64(double a, double b) {
    if (a != a || b != b)
        return ref_float64(0x7ff8000000000000u);
    if (a == 0 && b == 0)
        return ref_bits64(a) != 0 ? a : b;
    return a < b ? a : b;
}

float ref_min32(float a, float b) {
    if (a != a || b != b)
        return ref_float32(0x7fc00000u);
    if (a == 0 && b == 0)
        return ref_bits32(a) != 0 ? a : b;
    return a < b ? a : b;
}

static int bit_length(ref_u128 m) {
    uint64_t high = (uint64_t)(m >> 64), low = (uint64_t)m;
    return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

// The magnitude bits of RN(m 2^e) in a format of `precision` significant bits whose least spacing is 2^least and whose
// infinity has the bits `infinity`. The value lies between multiples of 2^q, the spacing of floats around it: q =
// (exponent of its leading bit) - (precision - 1), or `least` where that would be less. The multiple below, plus one if
// the rest is more than half, or half and the multiple odd. A carry into one more bit is a power of two and moves the
// exponent by itself.
static uint64_t round_bits(int precision, int64_t least, uint64_t infinity, ref_u128 m, int64_t e) {
    int length = bit_length(m);
    if (length == 0)
        return 0;
    int64_t q = e + length - precision;
    if (q < least)
        q = least;
    uint64_t multiple;
    if (q <= e) { // a multiple already; the shift is less than the precision, since the length is then at most that
        multiple = (uint64_t)m << (e - q);
    } else if (q - e > 128) { // less than a quarter of the spacing
        multiple = 0;
    } else {
        int drop = (int)(q - e);
        ref_u128 rest = drop == 128 ? m : m & (((ref_u128)1 << drop) - 1);
        ref_u128 half = (ref_u128)1 << (drop - 1);
        multiple = drop == 128 ? 0 : (uint64_t)(m >> drop);
        if (rest > half || (rest == half && multiple % 2 == 1))
            multiple++;
    }
    // multiple <= 2^precision counts spacings: below half of that it is a subnormal (q = least), from there on a leading
    // bit is implied, and q - least is the exponent field less one (0 for the subnormals and for the first binade alike).
    int64_t field = q - least;
    if (field >= (int64_t)(infinity >> (precision - 1)))
        return infinity;
    uint64_t magnitude = ((uint64_t)field << (precision - 1)) + multiple;
    return magnitude < infinity ? magnitude : infinity;
}

float ref_round32(int negative, ref_u128 m, int64_t e) {
    return ref_float32((negative ? 0x80000000u : 0) | (uint32_t)round_bits(24, -149, 0x7f800000u, m, e));
}

double ref_round64(int negative, ref_u128 m, int64_t e) {
    return ref_float64((negative ? 0x8000000000000000u : 0) | round_bits(53, -1074, 0x7ff0000000000000u, m, e));
}

// A finite float as (-1)^negative m 2^e.
static void split32(float x, int *negative, uint32_t *m, int *e) {
    uint32_t bits = ref_bits32(x), field = bits >> 23 & 255;
    *negative = (int)(bits >> 31);
    *m = field ? (bits & 0x7fffffu) | 0x800000u : bits & 0x7fffffu;
    *e = (int)(field ? field : 1) - 150;
}

float ref_fma32(float a, float b, float c) {
    uint32_t a_bits = ref_bits32(a) & 0x7fffffffu, b_bits = ref_bits32(b) & 0x7fffffffu, c_bits = ref_bits32(c) & 0x7fffffffu;
    if (a_bits >= 0x7f800000u || b_bits >= 0x7f800000u || c_bits >= 0x7f800000u) {
        // Infinities and NaN. The product is an infinity, a NaN or finite (then c is not, and any finite
        // value stands for it).
        float product = a_bits < 0x7f800000u && b_bits < 0x7f800000u ? 0.0f : a * b;
        float sum = product + c;
        return ref_canon32(sum);
    }
    int a_negative, b_negative, c_negative, a_e, b_e, c_e;
    uint32_t a_m, b_m, c_m;
    split32(a, &a_negative, &a_m, &a_e);
    split32(b, &b_negative, &b_m, &b_e);
    split32(c, &c_negative, &c_m, &c_e);
    int p_negative = a_negative ^ b_negative, p_e = a_e + b_e;
    uint64_t p_m = (uint64_t)a_m * b_m;
    if (p_m == 0) { // +-0 + c: C's own sum knows the signs
        float zero = p_negative ? -0.0f : 0.0f;
        return zero + c;
    }
    if (c_m == 0)
        return ref_round32(p_negative, p_m, p_e);
    // Both to one exponent, exactly, where the shift is at most 70: 48 + 70 bits. Beyond that the smaller one is less
    // than 2^-21 of the spacing of floats beside the greater one, which is a multiple of a half spacing: one unit at
    // the 70th bit below stands for it, on the same side.
    ref_u128 p = p_m, s = c_m;
    int e = p_e < c_e ? p_e : c_e, gap = p_e < c_e ? c_e - p_e : p_e - c_e;
    if (gap <= 70) {
        if (p_e > c_e)
            p <<= gap;
        else
            s <<= gap;
    } else if (p_e > c_e) {
        p <<= 70;
        s = 1;
        e = p_e - 70;
    } else {
        s <<= 70;
        p = 1;
        e = c_e - 70;
    }
    if (p_negative == c_negative)
        return ref_round32(p_negative, p + s, e);
    if (p == s)
        return 0.0f; // an exact zero is +0 to nearest
    return p > s ? ref_round32(p_negative, p - s, e) : ref_round32(c_negative, s - p, e);
}

// A finite double that is not zero as (-1)^negative m 2^e with m in [2^126, 2^127).
static void split64(double x, int *negative, ref_u128 *m, int *e) {
    uint64_t bits = ref_bits64(x), field = bits >> 52 & 2047, fraction = bits & 0xfffffffffffffu;
    *negative = (int)(bits >> 63);
    *m = field ? fraction | 0x10000000000000u : fraction;
    *e = (int)(field ? field : 1) - 1075;
    int up = 127 - bit_length(*m);
    *m <<= up;
    *e -= up;
}

double ref_fma64(double a, double b, double c) {
    uint64_t a_bits = ref_bits64(a) << 1, b_bits = ref_bits64(b) << 1, c_bits = ref_bits64(c) << 1;
    uint64_t infinity = 0xffe0000000000000u;
    if (a_bits >= infinity || b_bits >= infinity || c_bits >= infinity) { // as in ref_fma32
        double product = a_bits < infinity && b_bits < infinity ? 0.0 : a * b;
        double sum = product + c;
        return ref_canon64(sum);
    }
    if (a_bits == 0 || b_bits == 0) { // +-0 + c: C's own sum knows the signs
        double zero = (ref_bits64(a) ^ ref_bits64(b)) >> 63 ? -0.0 : 0.0;
        return zero + c;
    }
    int a_negative, b_negative, negative, s_negative = 0, a_e, b_e, e, s_e = 0;
    ref_u128 a_m, b_m, m, s = 0;
    split64(a, &a_negative, &a_m, &a_e);
    split64(b, &b_negative, &b_m, &b_e);
    negative = a_negative ^ b_negative;
    m = (a_m >> 74) * (b_m >> 74); // 53 bits each: exact
    e = a_e + b_e + 148;
    int up = 127 - bit_length(m);
    m <<= up;
    e -= up;
    if (c_bits == 0)
        return ref_round64(negative, m, e);
    split64(c, &s_negative, &s, &s_e);
    if (s_e > e || (s_e == e && s > m)) { // m 2^e is the greater one
        int n = negative, x = e;
        ref_u128 t = m;
        negative = s_negative, e = s_e, m = s;
        s_negative = n, s_e = x, s = t;
    }
    // Both end in at least 21 zeros, so that a shift by less loses nothing. By more, the result has 125 bits or more, and
    // what is lost stands as one in the lowest bit: as far from any tie as it is itself.
    int gap = e - s_e;
    if (gap > 127)
        s = 1;
    else if (gap > 0)
        s = s >> gap | ((s & (((ref_u128)1 << gap) - 1)) != 0);
    if (negative == s_negative)
        return ref_round64(negative, m + s, e);
    if (m == s)
        return 0.0; // an exact zero is +0 to nearest
    return ref_round64(negative, m - s, e);
}

// floor(sqrt(x)), bit by bit.
static uint64_t root(ref_u128 x) {
    uint64_t r = 0;
    for (int bit = (bit_length(x) + 1) / 2; bit >= 0; bit--) {
        uint64_t t = r | (bit < 64 ? (uint64_t)1 << bit : 0);
        if ((ref_u128)t * t <= x)
            r = t;
    }
    return r;
}

float ref_sqrt32(float x) {
    if (x != x || x < 0)
        return ref_float32(0x7fc00000u);
    if (x == 0 || ref_bits32(x) == 0x7f800000u)
        return x;
    int negative, e;
    uint32_t m;
    split32(x, &negative, &m, &e);
    int shift = e % 2 != 0 ? 81 : 80; // the exponent left is even; the root has 41 bits or more
    ref_u128 wide = (ref_u128)m << shift;
    uint64_t r = root(wide);
    uint64_t sticky = (ref_u128)r * r != wide; // a quarter unit stands for whatever is left
    return ref_round32(0, ((ref_u128)r << 2) | sticky, (e - shift) / 2 - 2);
}

double ref_sqrt64(double x) {
    if (x != x || x < 0)
        return ref_float64(0x7ff8000000000000u);
    uint64_t bits = ref_bits64(x);
    if (x == 0 || bits == 0x7ff0000000000000u)
        return x;
    int64_t field = (int64_t)(bits >> 52), e = (field ? field : 1) - 1075;
    uint64_t m = (bits & 0xfffffffffffffu) | (field ? 0x10000000000000u : 0);
    while (m < 0x10000000000000u) {
        m <<= 1;
        e--;
    }
    int shift = e % 2 != 0 ? 55 : 56;  // 53 + 55 or 56 bits: the root has 54 or 55
    ref_u128 wide = (ref_u128)m << shift;
    uint64_t r = root(wide), sticky = (ref_u128)r * r != wide;
    e = (e - shift) / 2; // the root's exponent
    int drop = r >> 54 ? 2 : 1; // to 53 bits; a root of binary64 is never subnormal and never a tie
    uint64_t rest = r & (((uint64_t)1 << drop) - 1), half = (uint64_t)1 << (drop - 1), y = r >> drop;
    if (rest > half || (rest == half && (sticky || y % 2 == 1)))
        y++;
    e += drop;
    if (y >> 53) {
        y >>= 1;
        e++;
    }
    return ref_float64(((uint64_t)(e + 1075) << 52) | (y & 0xfffffffffffffu));
}

void *ref_memory(int64_t count, size_t item) {
    void *memory = calloc(count > 0 ? (size_t)count : 1, item);
    if (!memory)
        abort(); // an oracle without memory has no answer
    return memory;
}
