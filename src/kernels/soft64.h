// SPDX-License-Identifier: Apache-2.0
// Binary64 by 64-bit integers alone: what a device without binary64 makes of f64 (dialect/f64_class.h), and where the
// emulated fma goes with operands out of the ordinary (fma.h). A number is its 64 bits; every function gives the
// correctly rounded result (nearest, ties to even, subnormals kept), and each NaN is 0x7ff8000000000000. Equal to the
// processor's arithmetic on 2^30 hostile pairs (test/test_soft64.c, docs/soft64.tsv).
#ifndef SBI_SOFT64_H
#define SBI_SOFT64_H

#define SBI_SOFT_SIGN 0x8000000000000000u
#define SBI_SOFT_SIZE 0x7fffffffffffffffu
#define SBI_SOFT_INFINITY 0x7ff0000000000000u
#define SBI_SOFT_NAN 0x7ff8000000000000u

// A finite number other than 0: m 2^(e - 1086), the leading bit of m at place 63, so that e is the exponent's field
// where the number is normal.
typedef struct sbi_soft { u64 m; i32 e; } sbi_soft;

FN sbi_soft sbi_soft_open(u64 size) {
    sbi_soft x;
    x.e = (i32)(size >> 52);
    x.m = x.e ? (size | ((u64)1 << 52)) << 11 : size << 11;
    i32 zeros = CLZ64(x.m);
    x.m <<= zeros;
    x.e = (x.e ? x.e : 1) - zeros;
    return x;
}

// x / 2^s, s >= 0; what falls out below is remembered in the last bit.
FN u64 sbi_soft_jam(u64 x, i32 s) {
    return s < 64 ? (x >> s) | (u64)((x << (63 - s)) << 1 != 0) : (u64)(x != 0);
}

// The number m 2^(e - 1086), rounded; the last bit of m remembers what was below it. sign stands at place 63.
FN u64 sbi_soft_round(u64 sign, i32 e, u64 m) {
    if (m == 0) return sign;
    i32 zeros = CLZ64(m);
    m <<= zeros;
    e -= zeros;
    if (e > 2046) return sign | SBI_SOFT_INFINITY;
    if (e < 1) {
        m = sbi_soft_jam(m, 1 - e);
        e = 1;
    }
    u64 kept = m >> 11;
    kept += (u64)((m & 0x7ffu) + (kept & 1u) > 0x400u);
    return sign | (((u64)(e - 1) << 52) + kept); // (the leading bit adds one to the exponent, and so does a carry)
}

FN u64 sbi_soft_add(u64 a, u64 b) {
    if ((a & SBI_SOFT_SIZE) < (b & SBI_SOFT_SIZE)) {
        u64 other = a;
        a = b;
        b = other;
    }
    u64 x = a & SBI_SOFT_SIZE, y = b & SBI_SOFT_SIZE, parted = (a ^ b) & SBI_SOFT_SIGN;
    if (x >= SBI_SOFT_INFINITY) return x > SBI_SOFT_INFINITY || (y == x && parted) ? SBI_SOFT_NAN : a;
    i32 ex = (i32)(x >> 52), ey = (i32)(y >> 52);
    u64 mx = ((x & 0x000fffffffffffffu) | (u64)(ex != 0) << 52) << 10;
    u64 my = ((y & 0x000fffffffffffffu) | (u64)(ey != 0) << 52) << 10;
    // (Where the exponents part by two or more no more than one leading bit cancels: ten places below the last suffice.)
    my = sbi_soft_jam(my, (ex ? ex : 1) - (ey ? ey : 1));
    u64 m = parted ? mx - my : mx + my;
    return sbi_soft_round(m ? a & SBI_SOFT_SIGN : a & b & SBI_SOFT_SIGN, (ex ? ex : 1) + 1, m);
}

FN u64 sbi_soft_multiply(u64 a, u64 b) {
    u64 x = a & SBI_SOFT_SIZE, y = b & SBI_SOFT_SIZE, sign = (a ^ b) & SBI_SOFT_SIGN;
    if (x >= SBI_SOFT_INFINITY || y >= SBI_SOFT_INFINITY) {
        return x > SBI_SOFT_INFINITY || y > SBI_SOFT_INFINITY || !x || !y ? SBI_SOFT_NAN : sign | SBI_SOFT_INFINITY;
    }
    if (!x || !y) return sign;
    sbi_soft p = sbi_soft_open(x), q = sbi_soft_open(y);
    return sbi_soft_round(sign, p.e + q.e - 1022, MULHI64(p.m, q.m) | (u64)(p.m * q.m != 0));
}

// The quotient is a reciprocal by Newton's steps (errors 2^-4, -8, -16, -32, then that of the integers) times the
// dividend, one unit of 2^-56 off at most, which the exact remainder tells.
FN u64 sbi_soft_divide(u64 a, u64 b) {
    u64 x = a & SBI_SOFT_SIZE, y = b & SBI_SOFT_SIZE, sign = (a ^ b) & SBI_SOFT_SIGN;
    if (x > SBI_SOFT_INFINITY || y > SBI_SOFT_INFINITY || x == y) {
        if (x >= SBI_SOFT_INFINITY || y >= SBI_SOFT_INFINITY || !x) return SBI_SOFT_NAN;
        return sign | 0x3ff0000000000000u;
    }
    if (x == SBI_SOFT_INFINITY || !y) return sign | SBI_SOFT_INFINITY;
    if (y == SBI_SOFT_INFINITY || !x) return sign;
    sbi_soft p = sbi_soft_open(x), q = sbi_soft_open(y);
    u64 r = 0xb4b4b4b4b4b4b4b4u - MULHI64(q.m, 0x7878787878787878u); // (48 - 32 d) / 17 for d = q.m 2^-64, times 2^62
    for (i32 i = 0; i < 4; i++) r = MULHI64(r, SBI_SOFT_SIGN - MULHI64(q.m, r)) << 2;
    u64 quotient = MULHI64(p.m, r) >> 6;
    i64 divisor = (i64)(q.m >> 11), rest = (i64)(((p.m >> 11) << 56) - quotient * (u64)divisor);
    if (rest < 0) {
        quotient--;
        rest += divisor;
    } else if (rest >= divisor) {
        quotient++;
        rest -= divisor;
    }
    return sbi_soft_round(sign, p.e - q.e + 1023, quotient << 7 | (u64)(rest != 0));
}

// The root is a reciprocal root by Newton's steps (errors 2^-3, -6, -12, -23, -45, then that of the integers) times the
// number, one unit of 2^-55 off at most.
FN u64 sbi_soft_root(u64 a) {
    u64 x = a & SBI_SOFT_SIZE;
    if (!x || a == SBI_SOFT_INFINITY) return a;
    if (a > SBI_SOFT_INFINITY) return SBI_SOFT_NAN; // (below zero, too)
    sbi_soft p = sbi_soft_open(x);
    i32 odd = (p.e - 1023) & 1;
    u64 h = odd ? p.m : p.m >> 1; // the number is h 2^-64 4^k, h 2^-64 in [1/4, 1)
    u64 r = 0x8851eb851eb851ecu - MULHI64(h, 0x4d70a3d70a3d70a4u); // 2.13 - 1.21 h 2^-64, times 2^62
    for (i32 i = 0; i < 5; i++) r = MULHI64(r, 0x3000000000000000u - MULHI64(h, MULHI64(r, r))) << 3;
    u64 root = MULHI64(h, r) >> 7;
    i64 rest = (i64)((h << 46) - root * root);
    if (rest < 0) {
        root--;
        rest += (i64)(2 * root + 1);
    } else if (rest > (i64)(2 * root)) {
        rest -= (i64)(2 * root + 1);
        root++;
    }
    return sbi_soft_round(0, (p.e - 1021 - odd) / 2 + 1022, root << 9 | (u64)(rest != 0));
}

// A number of 128 bits, high and low.
typedef struct sbi_wide { u64 high, low; } sbi_wide;

FN sbi_wide sbi_wide_left(sbi_wide x, i32 s) { // 0 <= s < 128
    sbi_wide y;
    if (s >= 64) {
        y.high = x.low << (s - 64);
        y.low = 0;
    } else {
        y.high = s ? (x.high << s) | (x.low >> (64 - s)) : x.high;
        y.low = x.low << s;
    }
    return y;
}

// x / 2^s, s >= 0; what falls out below is remembered in the last bit.
FN sbi_wide sbi_wide_jam(sbi_wide x, i32 s) {
    sbi_wide y;
    if (s >= 64) {
        y.high = 0;
        y.low = sbi_soft_jam(x.high, s - 64) | (u64)(x.low != 0);
    } else {
        y.high = x.high >> s;
        y.low = sbi_soft_jam(x.low, s) | (s ? x.high << (64 - s) : (u64)0);
    }
    return y;
}

FN u64 sbi_soft_fma(u64 a, u64 b, u64 c) {
    u64 x = a & SBI_SOFT_SIZE, y = b & SBI_SOFT_SIZE, z = c & SBI_SOFT_SIZE, sign = (a ^ b) & SBI_SOFT_SIGN;
    if (x >= SBI_SOFT_INFINITY || y >= SBI_SOFT_INFINITY || !x || !y) return sbi_soft_add(sbi_soft_multiply(a, b), c);
    if (z >= SBI_SOFT_INFINITY) return z > SBI_SOFT_INFINITY ? SBI_SOFT_NAN : c;
    // |a b| and |c| with their leading bits at place 126; e is the exponent's field of that place.
    sbi_soft f = sbi_soft_open(x), g = sbi_soft_open(y);
    sbi_wide p, q, r;
    p.high = MULHI64(f.m >> 1, g.m);
    p.low = (f.m >> 1) * g.m;
    i32 low = (i32)(p.high >> 62) ^ 1, e = f.e + g.e - 1022 - low;
    p = sbi_wide_left(p, low);
    r = p;
    if (z) {
        f = sbi_soft_open(z);
        q.high = f.m >> 1;
        q.low = 0;
        // (Shifted by less than 22, a b loses nothing; by more, no more than one leading bit cancels: the last will do.)
        if (f.e > e) {
            p = sbi_wide_jam(p, f.e - e);
            e = f.e;
        } else {
            q = sbi_wide_jam(q, e - f.e);
        }
        if (((c & SBI_SOFT_SIGN) ^ sign) == 0) {
            r.low = p.low + q.low;
            r.high = p.high + q.high + (u64)(r.low < p.low);
        } else {
            if (q.high > p.high || (q.high == p.high && q.low > p.low)) {
                r = p;
                p = q;
                q = r;
                sign = c & SBI_SOFT_SIGN;
            }
            r.low = p.low - q.low;
            r.high = p.high - q.high - (u64)(p.low < q.low);
            if (!(r.high | r.low)) return 0; // +0
        }
    }
    i32 zeros = r.high ? CLZ64(r.high) : 64 + CLZ64(r.low);
    r = sbi_wide_left(r, zeros);
    return sbi_soft_round(sign, e + 1 - zeros, r.high | (u64)(r.low != 0));
}

// ---------------------------------------------------------------- comparisons

FN i32 sbi_soft_equal(u64 a, u64 b) {
    u64 x = a & SBI_SOFT_SIZE, y = b & SBI_SOFT_SIZE;
    return x <= SBI_SOFT_INFINITY && y <= SBI_SOFT_INFINITY && (a == b || !(x | y));
}
FN i32 sbi_soft_less(u64 a, u64 b) {
    u64 x = a & SBI_SOFT_SIZE, y = b & SBI_SOFT_SIZE;
    if (x > SBI_SOFT_INFINITY || y > SBI_SOFT_INFINITY || !(x | y)) return 0;
    return (a & SBI_SOFT_SIGN) ? !(b & SBI_SOFT_SIGN) || y < x : !(b & SBI_SOFT_SIGN) && x < y;
}

// ---------------------------------------------------------------- conversions

FN u64 sbi_soft_from_u64(u64 x) { return sbi_soft_round(0, 1086, x); }
FN u64 sbi_soft_from_i64(i64 x) {
    return x < 0 ? sbi_soft_round(SBI_SOFT_SIGN, 1086, 0u - (u64)x) : sbi_soft_round(0, 1086, (u64)x);
}

// Toward zero; what the integer type cannot hold gives a value of no meaning, as the C language has it.
FN u64 sbi_soft_to_u64(u64 a) {
    i32 e = (i32)(a >> 52 & 0x7ffu) - 1023;
    u64 size = e < 0 || e > 63 ? (u64)0 : ((a & 0x000fffffffffffffu) | (u64)1 << 52) << 11 >> (63 - e);
    return (a & SBI_SOFT_SIGN) ? 0u - size : size;
}
FN i64 sbi_soft_to_i64(u64 a) { return (i64)sbi_soft_to_u64(a); }

// From and to the bits of a float.
FN u64 sbi_soft_from_f32(u32 a) {
    u64 sign = (u64)(a >> 31) << 63, fraction = a & 0x7fffffu;
    i32 e = (i32)(a >> 23 & 0xffu);
    if (e == 255) return fraction ? SBI_SOFT_NAN : sign | SBI_SOFT_INFINITY;
    return sbi_soft_round(sign, (e ? e : 1) + 896, (fraction | (u64)(e != 0) << 23) << 40);
}
FN u32 sbi_soft_to_f32(u64 a) {
    u64 x = a & SBI_SOFT_SIZE;
    u32 sign = (u32)(a >> 32) & 0x80000000u;
    i32 e = (i32)(x >> 52) - 896;
    if (x > SBI_SOFT_INFINITY) return 0x7fc00000u;
    if (e > 254) return sign | 0x7f800000u;
    if (!(x >> 52)) return sign; // below 2^-1022
    u64 m = ((x & 0x000fffffffffffffu) | (u64)1 << 52) << 11;
    if (e < 1) {
        m = sbi_soft_jam(m, 1 - e);
        e = 1;
    }
    u32 kept = (u32)(m >> 40);
    kept += (u32)((m & 0xffffffffffu) + (kept & 1u) > 0x8000000000u);
    return sign | (((u32)(e - 1) << 23) + kept);
}
#endif
