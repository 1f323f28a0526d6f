// SPDX-License-Identifier: Apache-2.0
// The square root where there is no instruction for it (a bare core, in the one-file build): by integers, one bit a step,
// nearest even. Everywhere else it is the instruction; test_base.c compares the two.
#ifndef SBI_SQUARE_ROOT_H
#define SBI_SQUARE_ROOT_H

#include <stdint.h>

static inline double sbi_square_root(double x) {
    union { double f; uint64_t u; } v = {x};
    const uint64_t fraction = UINT64_C(0x000fffffffffffff);
    int exponent = (int)(v.u >> 52 & 0x7ff);
    uint64_t m = v.u & fraction;
    if (v.u << 1 == 0 || v.u == UINT64_C(0x7ff0000000000000)) return x;
    if (exponent == 0x7ff || v.u >> 63) return (x - x) / (x - x); // a negative number has none
    if (exponent) {
        m |= fraction + 1;
    } else {
        for (exponent = 1; m <= fraction; exponent--) m <<= 1;
    }
    exponent -= 1075; // x = m 2^exponent, 53 bits
    if (exponent & 1) {
        m <<= 1;
        exponent--;
    }
    // root = floor(sqrt(m 2^54)), 54 bits, two bits of the argument a step; `left` is what remains.
    uint64_t root = 0, left = 0;
    for (int i = 26; i >= -27; i--) {
        left = left << 2 | (i >= 0 ? m >> (2 * i) & 3 : 0);
        uint64_t next = root << 2 | 1;
        root <<= 1;
        if (left >= next) {
            left -= next;
            root |= 1;
        }
    }
    // To 53 bits. A tie cannot be: the square of 54 bits that end in 1 has more bits than x.
    root = (root >> 1) + (root & 1);
    v.u = ((uint64_t)((exponent - 54) / 2 + 1075) << 52) + root;
    return v.f;
}
#endif
