// SPDX-License-Identifier: Apache-2.0
// Deflate backwards (RFC 1951), into memory whose size is known. Nothing is trusted: codes that are over- or undersubscribed, distances
// before the start, data that end early, a byte too many: false.
#include "npz.h"

#include <string.h>

enum { LENGTHS = 288, DISTANCES = 30, LONGEST = 15 };

typedef struct bits {
    const uint8_t *at, *end;
    uint32_t held;
    int count;
    bool short_of; // bits were asked for that are not there
} bits;

static uint32_t take(bits *b, int count) {
    while (b->count < count) {
        b->short_of = b->short_of || b->at == b->end;
        b->held |= (uint32_t)(b->at < b->end ? *b->at++ : 0) << b->count;
        b->count += 8;
    }
    const uint32_t value = b->held & ((1u << count) - 1u);
    b->held >>= count;
    b->count -= count;
    return value;
}

// A canonical code: how many codes there are of each length, and the symbols in the order of their codes.
typedef struct code {
    uint16_t count[LONGEST + 1], symbol[LENGTHS];
} code;

// Whether the lengths are those of a code; one that leaves codes unused is taken where it has a single symbol (`lonely`).
static bool make_code(code *c, const uint8_t *lengths, int symbols, bool lonely) {
    uint16_t next[LONGEST + 2] = {0};
    int left = 1;
    memset(c->count, 0, sizeof c->count);
    for (int i = 0; i < symbols; i++) c->count[lengths[i]]++;
    for (int length = 1; length <= LONGEST; length++) {
        left = 2 * left - c->count[length];
        if (left < 0) return false;
        next[length + 1] = (uint16_t)(next[length] + c->count[length]);
    }
    const int used = symbols - c->count[0];
    for (int i = 0; i < symbols; i++)
        if (lengths[i]) c->symbol[next[lengths[i]]++] = (uint16_t)i;
    c->count[0] = 0;
    return left == 0 || (lonely && used <= 1);
}

static int decode(bits *b, const code *c) { // -1: no symbol has this code
    int value = 0, first = 0, index = 0;
    for (int length = 1; length <= LONGEST; length++) {
        value |= (int)take(b, 1);
        const int count = c->count[length];
        if (value - first < count) return c->symbol[index + value - first];
        index += count;
        first = 2 * (first + count);
        value *= 2;
    }
    return -1;
}

// The codes of literals and lengths, and of distances, which stand before the data.
static bool read_codes(bits *b, code *literal, code *distance) {
    static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[LENGTHS + 32] = {0}, small[19] = {0};
    const int literals = (int)take(b, 5) + 257, distances = (int)take(b, 5) + 1, given = (int)take(b, 4) + 4;
    if (literals > 286 || distances > DISTANCES) return false;
    for (int i = 0; i < given; i++) small[order[i]] = (uint8_t)take(b, 3);
    if (!make_code(literal, small, 19, false)) return false;
    for (int i = 0; i < literals + distances;) {
        const int symbol = decode(b, literal);
        if (symbol < 0 || b->short_of) return false;
        if (symbol < 16) {
            lengths[i++] = (uint8_t)symbol;
            continue;
        }
        if (symbol == 16 && i == 0) return false;
        const uint8_t repeated = symbol == 16 ? lengths[i - 1] : 0;
        int times = symbol == 16 ? 3 + (int)take(b, 2) : symbol == 17 ? 3 + (int)take(b, 3) : 11 + (int)take(b, 7);
        if (i + times > literals + distances) return false;
        while (times-- > 0) lengths[i++] = repeated;
    }
    if (lengths[256] == 0) return false; // no end
    return make_code(literal, lengths, literals, true) && make_code(distance, lengths + literals, distances, true);
}

static bool fixed_codes(code *literal, code *distance) {
    uint8_t lengths[LENGTHS];
    for (int i = 0; i < LENGTHS; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    if (!make_code(literal, lengths, LENGTHS, false)) return false;
    memset(lengths, 5, sizeof lengths);
    (void)make_code(distance, lengths, DISTANCES, true); // (two of 32 codes stay unused)
    return true;
}

static bool read_block(bits *b, const code *literal, const code *distance, uint8_t *to, int64_t want, int64_t *done) {
    static const uint16_t length_base[29] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t length_bits[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    for (;;) {
        const int symbol = decode(b, literal);
        if (symbol < 0 || b->short_of) return false;
        if (symbol == 256) return true;
        if (symbol < 256) {
            if (*done == want) return false;
            to[(*done)++] = (uint8_t)symbol;
            continue;
        }
        if (symbol > 285) return false;
        const int64_t length = length_base[symbol - 257] + (int64_t)take(b, length_bits[symbol - 257]);
        const int far = decode(b, distance);
        if (far < 0 || far >= DISTANCES) return false;
        const int extra = far < 4 ? 0 : far / 2 - 1; // distances double every two symbols
        const int64_t back = (far < 4 ? far : (int64_t)(2 + far % 2) << extra) + 1 + (int64_t)take(b, extra);
        if (b->short_of || back > *done || length > want - *done) return false;
        for (int64_t i = 0; i < length; i++, ++*done) to[*done] = to[*done - back];
    }
}

static bool copy_block(bits *b, uint8_t *to, int64_t want, int64_t *done) {
    b->held = 0; // (what is left of a byte)
    b->count = 0;
    if (b->end - b->at < 4) return false;
    const int64_t length = b->at[0] | b->at[1] << 8, inverse = b->at[2] | b->at[3] << 8;
    b->at += 4;
    if (length != (inverse ^ 0xffff) || length > b->end - b->at || length > want - *done) return false;
    if (length) memcpy(to + *done, b->at, (size_t)length);
    b->at += length;
    *done += length;
    return true;
}

bool sbi_inflate(const uint8_t *from, int64_t size, uint8_t *to, int64_t want) {
    bits b = {.at = from, .end = from + size};
    code literal, distance;
    int64_t done = 0;
    for (bool last = false, good = true; !last;) {
        last = take(&b, 1);
        switch (take(&b, 2)) {
        case 0: good = copy_block(&b, to, want, &done); break;
        case 1: good = fixed_codes(&literal, &distance) && read_block(&b, &literal, &distance, to, want, &done); break;
        case 2: good = read_codes(&b, &literal, &distance) && read_block(&b, &literal, &distance, to, want, &done); break;
        default: good = false;
        }
        if (!good || b.short_of) return false;
    }
    return done == want && b.at == b.end;
}

uint32_t sbi_crc32(const uint8_t *bytes, int64_t size) {
    uint32_t table[256], crc = 0xffffffffu;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
    }
    for (int64_t i = 0; i < size; i++) crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
    return ~crc;
}
