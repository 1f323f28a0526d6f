// SPDX-License-Identifier: Apache-2.0
// The float32 or float64 nearest to the real number f = theta^(-2 i / d), decided without a function of the C library.
//
// With 2 i / d = p / q in lowest terms and mu the midpoint of two neighbouring floats, mu < f exactly when
// mu^q theta^p < 1. Both are integers times a power of two, so their powers are computed as integers cut to a few
// words, each with a bound on what was cut off; where the cut could matter more words are taken. This ends: mu and
// theta being integers times powers of two, equality would need mu to be a power of two itself, and no midpoint in
// the range of f, (2^-128, 1], is one. The float is then found by halving the range of bit patterns.
#include "rotary_frequency.h"

#include <stdbool.h>

enum { MOST_WORDS = 64 };

// The real number v with m <= v / 2^exponent < m (1 + 2^(1 - 32 words))^cuts, where m is the integer of `words`
// words, lowest first, whose highest bit is set.
typedef struct number {
    int words;
    int64_t exponent, cuts;
    uint32_t m[MOST_WORDS];
} number;

static void set_integer(number *out, int words, uint64_t integer, int64_t exponent) {
    out->words = words;
    out->exponent = exponent - 32 * (words - 2);
    out->cuts = 0;
    while (!(integer >> 63)) {
        integer <<= 1;
        out->exponent--;
    }
    for (int k = 0; k < words; k++)
        out->m[k] = 0;
    out->m[words - 1] = (uint32_t)(integer >> 32);
    out->m[words - 2] = (uint32_t)integer;
}

// out may be a or b.
static void multiply(number *out, const number *a, const number *b) {
    int words = a->words;
    uint32_t product[2 * MOST_WORDS] = {0};
    for (int i = 0; i < words; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < words; j++) {
            carry += (uint64_t)a->m[i] * b->m[j] + product[i + j];
            product[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product[i + words] = (uint32_t)carry;
    }
    int64_t exponent = a->exponent + b->exponent + 32 * words;
    if (!(product[2 * words - 1] >> 31)) { // the product of two normalised numbers lacks one bit at most
        for (int k = 2 * words - 1; k > 0; k--)
            product[k] = (product[k] << 1) | (product[k - 1] >> 31);
        exponent--;
    }
    int64_t cuts = a->cuts + b->cuts + 1;
    for (int k = 0; k < words; k++)
        out->m[k] = product[words + k];
    out->words = words;
    out->exponent = exponent;
    out->cuts = cuts;
}

// out = base^power, power >= 1; out is not base.
static void raise(number *out, const number *base, int64_t power) {
    int64_t bit = 1;
    while (bit <= power / 2)
        bit *= 2;
    *out = *base;
    while ((bit /= 2) > 0) {
        multiply(out, out, out);
        if (power & bit)
            multiply(out, out, base);
    }
}

// mu^q theta^p < 1, where mu = mu_integer 2^mu_exponent and theta likewise.
static bool product_below_one(uint64_t mu_integer, int64_t mu_exponent, int64_t q, uint64_t theta_integer,
                              int64_t theta_exponent, int64_t p) {
    bool below = false;
    for (int words = 4; words <= MOST_WORDS; words *= 2) {
        number base, a, b;
        set_integer(&base, words, mu_integer, mu_exponent);
        raise(&a, &base, q);
        set_integer(&base, words, theta_integer, theta_exponent);
        raise(&b, &base, p);
        multiply(&a, &a, &b);
        // The integer m has 32 words bits: the value is at least 1 exactly when that bit is 2^0 or higher.
        below = a.exponent + 32 * words <= 0;
        if (!below || a.exponent + 32 * words < 0)
            break; // (what was cut is far less than a factor of two)
        // m (1 + 2^(1 - 32 words))^cuts < m + 4 cuts: does that stay below the next power of two?
        uint64_t carry = (uint64_t)a.cuts * 4;
        for (int k = 0; k < words; k++) {
            carry += a.m[k];
            carry >>= 32;
        }
        if (carry == 0)
            break;
    }
    return below;
}

// An integer and an exponent for the number of these bits, doubled so that a midpoint is the odd number above. The number has
// `fraction` bits of fraction: 23 of float32, 52 of float64.
static uint64_t doubled(uint64_t bits, int fraction, int64_t *exponent) {
    uint64_t field = bits >> fraction, hidden = (uint64_t)1 << fraction, part = bits & (hidden - 1);
    *exponent = (field ? (int64_t)field : 1) - (fraction == 23 ? 127 : 1023) - fraction - 1;
    return 2 * (field ? part | hidden : part);
}

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

double sbi_rotary_frequency(double theta, int64_t i, int64_t d, int fraction) {
    if (i == 0)
        return 1.0;
    int64_t divisor = common_divisor(2 * i, d), p = 2 * i / divisor, q = d / divisor;
    union { double f; uint64_t u; } v = {theta}, wide;
    union { float f; uint32_t u; } narrow;
    int64_t theta_exponent;
    uint64_t theta_integer = doubled(v.u, 52, &theta_exponent);
    // The answer, the first number whose upper midpoint is above f, is in low .. high.
    uint64_t low = 0, high = (uint64_t)(fraction == 23 ? 127 : 1023) << fraction;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int64_t exponent;
        uint64_t midpoint = doubled(middle, fraction, &exponent) + 1;
        if (product_below_one(midpoint, exponent, q, theta_integer, theta_exponent, p))
            low = middle + 1;
        else
            high = middle;
    }
    narrow.u = (uint32_t)low;
    wide.u = low;
    return fraction == 23 ? (double)narrow.f : wide.f;
}
