// SPDX-License-Identifier: Apache-2.0
// Decimal text to binary64 and back, by exact integers: no strtod, no locale, no rounding mode.
//
// Reading: the decimal is N / M with big integers N and M = 10^i. With e the exponent of the last bit of the answer,
// q = floor(N / (M 2^e)) has 53 bits (fewer for subnormals); the remainder decides the rounding, to nearest even.
// Digits beyond the 800th cannot lie on a tie (a midpoint of two doubles has at most 767 significant digits), so they
// only say whether anything is left: one last digit 1 stands for them.
// Writing: the free-format algorithm of Steele and White in the form of R. G. Burger and R. K. Dybvig, "Printing
// Floating-Point Numbers Quickly and Accurately" (PLDI 1996): digits are made one by one until what is written lies
// inside the interval that reads back as the same number; the last digit is the nearer one.
#include "json.h"

#include <string.h>

// ---- big integers: at most 4096 bits; the largest that can arise has 3,900

#define BIG_WORDS 128
typedef struct big {
    int count; // words in use; the last is not zero
    uint32_t word[BIG_WORDS];
} big;

static void big_set(big *a, uint64_t value) {
    a->count = 0;
    for (; value; value >>= 32) {
        a->word[a->count++] = (uint32_t)value;
    }
}

static void big_multiply_add(big *a, uint32_t factor, uint32_t addend) { // a = a * factor + addend
    uint64_t carry = addend;
    for (int i = 0; i < a->count; i++) {
        carry += (uint64_t)a->word[i] * factor;
        a->word[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) {
        a->word[a->count++] = (uint32_t)carry;
    }
}

static void big_times_power_of_ten(big *a, int power) {
    for (; power >= 9; power -= 9) {
        big_multiply_add(a, 1000000000u, 0);
    }
    for (; power > 0; power--) {
        big_multiply_add(a, 10, 0);
    }
}

static void big_shift(big *a, int bits) { // a = a * 2^bits
    int words = bits / 32, rest = bits % 32;
    if (a->count == 0 || bits == 0) {
        return;
    }
    uint32_t top = rest ? a->word[a->count - 1] >> (32 - rest) : 0;
    for (int i = a->count - 1; i >= 0; i--) {
        uint32_t below = rest && i > 0 ? a->word[i - 1] >> (32 - rest) : 0;
        a->word[i + words] = (a->word[i] << rest) | below;
    }
    memset(a->word, 0, (size_t)words * sizeof a->word[0]);
    a->count += words;
    if (top) {
        a->word[a->count++] = top;
    }
}

static int big_bits(const big *a) {
    int bits = 32 * (a->count - 1);
    if (a->count == 0) {
        return 0;
    }
    for (uint32_t top = a->word[a->count - 1]; top; top >>= 1) {
        bits++;
    }
    return bits;
}

static int big_compare(const big *a, const big *b) { // -1, 0, 1
    if (a->count != b->count) {
        return a->count < b->count ? -1 : 1;
    }
    for (int i = a->count - 1; i >= 0; i--) {
        if (a->word[i] != b->word[i]) {
            return a->word[i] < b->word[i] ? -1 : 1;
        }
    }
    return 0;
}

static void big_subtract(big *a, const big *b) { // a = a - b, where a >= b
    uint64_t borrow = 0;
    for (int i = 0; i < a->count; i++) {
        uint64_t d = (uint64_t)a->word[i] - (i < b->count ? b->word[i] : 0) - borrow;
        a->word[i] = (uint32_t)d;
        borrow = d >> 63;
    }
    while (a->count && a->word[a->count - 1] == 0) {
        a->count--;
    }
}

static void big_sum(big *out, const big *a, const big *b) {
    uint64_t carry = 0;
    int count = a->count > b->count ? a->count : b->count;
    for (int i = 0; i < count; i++) {
        carry += (i < a->count ? a->word[i] : 0u);
        carry += (i < b->count ? b->word[i] : 0u);
        out->word[i] = (uint32_t)carry;
        carry >>= 32;
    }
    out->count = count;
    if (carry) {
        out->word[out->count++] = (uint32_t)carry;
    }
}

// ---- reading

#define KEPT_DIGITS 800

typedef struct decimal { // 0.d1 d2 d3 ... * 10^point
    bool negative;
    int count;
    int64_t point;
    uint8_t digit[KEPT_DIGITS + 1];
} decimal;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// [-] digits [. digits] [(e|E) [+|-] digits], no leading zeros before another digit: a JSON number.
static bool decimal_read(const char *text, int64_t length, decimal *d) {
    const char *at = text, *end = text + length;
    bool rest = false, started = false;
    memset(d, 0, sizeof *d);
    if (at < end && *at == '-') {
        d->negative = true;
        at++;
    }
    if (at == end || !is_digit(*at) || (*at == '0' && at + 1 < end && is_digit(at[1]))) {
        return false;
    }
    bool fraction = false;
    for (; at < end; at++) {
        if (*at == '.' && !fraction && at + 1 < end && is_digit(at[1])) {
            fraction = true;
            continue;
        }
        if (!is_digit(*at)) {
            break;
        }
        started = started || *at != '0';
        if (started && d->count < KEPT_DIGITS) {
            d->digit[d->count++] = (uint8_t)(*at - '0');
        } else if (started) {
            rest = rest || *at != '0';
        }
        d->point += started && !fraction;
        d->point -= !started && fraction;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        int64_t exponent = 0;
        bool down = false;
        at++;
        if (at < end && (*at == '+' || *at == '-')) {
            down = *at++ == '-';
        }
        if (at == end) {
            return false;
        }
        for (; at < end && is_digit(*at); at++) {
            if (exponent < INT64_MAX / 100) { // (the text is shorter than that: saturating changes no answer)
                exponent = 10 * exponent + (*at - '0');
            }
        }
        d->point += down ? -exponent : exponent;
    }
    if (rest) {
        d->digit[d->count++] = 1;
    }
    while (d->count && d->digit[d->count - 1] == 0) {
        d->count--;
    }
    return at == end;
}

// floor(r 2^64 / d), r < d, the top bit of d set, and what is left; in two steps of 32 bits (D. E. Knuth, The Art of Computer
// Programming, vol. 2, 4.3.1, algorithm D).
static uint64_t divide_wide(uint64_t r, uint64_t d, uint64_t *left) {
    const uint64_t high = d >> 32, low = d & 0xffffffffu;
    uint64_t q = 0;
    for (int step = 0; step < 2; step++) {
        uint64_t guess = r / high, rest = r % high;
        while (guess >> 32 || guess * low > rest << 32) { // at most two too large
            guess--;
            rest += high;
            if (rest >> 32) break;
        }
        r = (r << 32) - guess * d;
        q = q << 32 | guess;
    }
    *left = r;
    return q;
}

// Most numbers are short: w 10^-k, w below 10^19 and k at most 27. Then w / 5^k is divided in 64-bit integers, 64 bits of
// the quotient and whether anything is left, and rounded. False where the text is longer, or no number.
static bool short_parse(const char *text, int64_t length, double *out) {
    const char *at = text, *end = text + length;
    uint64_t w = 0, bits = 0;
    int digits = 0, power = 0;
    bool negative = at < end && *at == '-', fraction = false;
    at += negative;
    if (at == end || !is_digit(*at) || (*at == '0' && at + 1 < end && is_digit(at[1]))) return false;
    for (; at < end; at++) {
        if (*at == '.' && !fraction && at + 1 < end && is_digit(at[1])) {
            fraction = true;
            continue;
        }
        if (!is_digit(*at)) break;
        digits += digits > 0 || *at != '0';
        if (digits > 19) return false;
        w = 10 * w + (uint64_t)(*at - '0');
        power -= fraction;
    }
    if (at + 1 < end && (*at == 'e' || *at == 'E')) {
        int exponent = 0;
        bool down = at[1] == '-';
        at += 1 + (at[1] == '+' || down);
        if (at == end || end - at > 4) return false;
        for (; at < end && is_digit(*at); at++) exponent = 10 * exponent + (*at - '0');
        power += down ? -exponent : exponent;
    }
    if (at != end || power > 0 || power < -27) return false;
    if (w) {
        uint64_t d = 1, left = 0;
        for (int i = power; i < 0; i++) d *= 5; // below 2^63
        const int shift_w = __builtin_clzll(w), shift_d = __builtin_clzll(d);
        const uint64_t n = w << shift_w;
        d <<= shift_d;
        int exponent = power + shift_d - shift_w; // w / 5^k = n / d 2^(shift_d - shift_w)
        uint64_t q = divide_wide(n >= d ? n - d : n, d, &left);
        bool rest = left != 0;
        if (n >= d) { // n / d is 1 and a fraction
            rest = rest || (q & 1);
            q = (uint64_t)1 << 63 | q >> 1;
        } else {
            exponent--;
        }
        const uint64_t kept = q >> 11, below = (q & 0x7ff) << 1 | rest, half = 0x800;
        bits = ((uint64_t)(exponent + 1022) << 52) + kept + (below > half || (below == half && (kept & 1)));
    }
    bits |= (uint64_t)negative << 63;
    memcpy(out, &bits, sizeof bits);
    return true;
}

bool sbi_real_parse(const char *text, int64_t length, double *out) {
    decimal d;
    if (short_parse(text, length, out)) return true;
    if (!decimal_read(text, length, &d) || (d.count && d.point > 310)) {
        return false;
    }
    uint64_t bits = 0;
    if (d.count && d.point > -326) {
        big n, m;
        int power = (int)d.point - d.count; // n * 10^power
        big_set(&n, 0);
        for (int i = 0; i < d.count; i++) {
            big_multiply_add(&n, 10, d.digit[i]);
        }
        big_set(&m, 1);
        big_times_power_of_ten(power < 0 ? &m : &n, power < 0 ? -power : power);
        // The exponent of the first bit: floor(log2(n / m)).
        int first = big_bits(&n) - big_bits(&m);
        big scaled = first < 0 ? n : m;
        big_shift(&scaled, first < 0 ? -first : first);
        if (first < 0 ? big_compare(&scaled, &m) < 0 : big_compare(&n, &scaled) < 0) {
            first--;
        }
        int last = first - 52 < -1074 ? -1074 : first - 52;
        big_shift(last < 0 ? &n : &m, last < 0 ? -last : last);
        big_shift(&m, 53);
        uint64_t q = 0;
        for (int i = 0; i < 54; i++) { // q = floor(n / m'), where m = m' 2^53; n becomes 2^54 times the remainder
            q <<= 1;
            if (big_compare(&n, &m) >= 0) {
                big_subtract(&n, &m);
                q |= 1;
            }
            big_shift(&n, 1);
        }
        int half = big_compare(&n, &m);
        q += half > 0 || (half == 0 && (q & 1));
        bits = ((uint64_t)(last + 1074) << 52) + q; // (a carry into bit 53 moves the exponent, as it should)
        if (bits >= 0x7ff0000000000000u) {
            return false;
        }
    }
    bits |= (uint64_t)d.negative << 63;
    memcpy(out, &bits, sizeof bits);
    return true;
}

// ---- writing

// The shortest digits of mantissa * 2^exponent > 0 and the position of the point; the count of digits.
// narrow: the gap below is half of the gap above (the mantissa is a power of two, not at the lowest exponent).
static int shortest_digits(uint64_t mantissa, int exponent, bool narrow, char *digits, int *point) {
    // value = r / s, half of the gap above = above / s, half of the gap below = below / s
    big r, s, above, below, sum;
    bool even = (mantissa & 1) == 0; // then the ends of the interval read back, too
    int extra = narrow ? 2 : 1;
    big_set(&r, mantissa);
    big_set(&s, 1);
    big_set(&below, 1);
    big_shift(&r, extra);
    big_shift(&s, extra);
    if (exponent >= 0) {
        big_shift(&r, exponent);
        big_shift(&below, exponent);
    } else {
        big_shift(&s, -exponent);
    }
    above = below;
    big_shift(&above, extra - 1);

    int bits = 0;
    for (uint64_t m = mantissa; m; m >>= 1) {
        bits++;
    }
    int log2 = bits - 1 + exponent;
    int k = (log2 >= 0 ? log2 * 78913 / 262144 : -((-log2 * 78913 + 262143) / 262144)) + 1; // about ceil(log10)
    big_times_power_of_ten(k >= 0 ? &s : &r, k >= 0 ? k : -k);
    if (k < 0) {
        big_times_power_of_ten(&above, -k);
        big_times_power_of_ten(&below, -k);
    }
    for (;;) { // mend the guess: too small
        big_sum(&sum, &r, &above);
        int c = big_compare(&sum, &s);
        if (c < 0 || (c == 0 && !even)) {
            break;
        }
        big_multiply_add(&s, 10, 0);
        k++;
    }
    for (;;) { // too large
        big ten = sum;
        big_multiply_add(&ten, 10, 0);
        int c = big_compare(&ten, &s);
        if (c > 0 || (c == 0 && even)) {
            break;
        }
        big_multiply_add(&r, 10, 0);
        big_multiply_add(&above, 10, 0);
        big_multiply_add(&below, 10, 0);
        big_sum(&sum, &r, &above);
        k--;
    }
    *point = k;
    int count = 0;
    for (;;) {
        big_multiply_add(&r, 10, 0);
        big_multiply_add(&above, 10, 0);
        big_multiply_add(&below, 10, 0);
        char digit = '0';
        while (big_compare(&r, &s) >= 0) {
            big_subtract(&r, &s);
            digit++;
        }
        big_sum(&sum, &r, &above);
        int low = big_compare(&r, &below), high = big_compare(&sum, &s);
        bool stop_low = low < 0 || (low == 0 && even), stop_high = high > 0 || (high == 0 && even);
        if (stop_low || stop_high) {
            big_shift(&r, 1);
            int half = big_compare(&r, &s);
            bool up = stop_high && (!stop_low || half > 0 || (half == 0 && (digit & 1)));
            digits[count++] = (char)(digit + up); // (never '9' + 1: the shorter text would have stopped before)
            return count;
        }
        digits[count++] = digit;
    }
}

static void add_digits(sbi_text *text, bool negative, const char *digits, int count, int point) {
    sbi_text_add(text, "%s", negative ? "-" : "");
    if (point > 17 || point < -3) {
        sbi_text_add(text, "%c%s%.*se%d", digits[0], count > 1 ? "." : "", count - 1, digits + 1, point - 1);
    } else if (point <= 0) {
        sbi_text_add(text, "0.%.*s%.*s", -point, "000", count, digits);
    } else if (point >= count) {
        sbi_text_add(text, "%.*s%.*s.0", count, digits, point - count, "00000000000000000");
    } else {
        sbi_text_add(text, "%.*s.%.*s", point, digits, count - point, digits + point);
    }
}

// A number in parts: its exponent field, its mantissa field of `width` bits, the bias of its last bit.
static void add_parts(sbi_text *text, bool negative, int field, uint64_t fraction, int width, int lowest, int infinite) {
    char digits[20];
    int point = 0;
    if (field == infinite) {
        sbi_text_add(text, "null"); // JSON has no word for infinity and NaN
    } else if (field == 0 && fraction == 0) {
        sbi_text_add(text, negative ? "-0.0" : "0.0");
    } else {
        uint64_t mantissa = field ? fraction | (uint64_t)1 << width : fraction;
        int exponent = lowest + (field ? field - 1 : 0);
        int count = shortest_digits(mantissa, exponent, fraction == 0 && field > 1, digits, &point);
        add_digits(text, negative, digits, count, point);
    }
}

void sbi_text_add_real(sbi_text *text, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_parts(text, bits >> 63, (int)(bits >> 52 & 0x7ff), bits & 0xfffffffffffffu, 52, -1074, 0x7ff);
}

void sbi_text_add_real32(sbi_text *text, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_parts(text, bits >> 31, (int)(bits >> 23 & 0xff), bits & 0x7fffffu, 23, -149, 0xff);
}
