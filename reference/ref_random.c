// SPDX-License-Identifier: Apache-2.0
// T11: Philox 4x32-10 (J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011)
// and what is drawn from it.
#include "reference.h"

#include <stdlib.h>
#include <string.h>

void ref_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]}, k[2] = {key[0], key[1]};
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xd2511f53u * c[0], p1 = (uint64_t)0xcd9e8d57u * c[2];
        uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k[0], (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c[3] ^ k[1],
                            (uint32_t)p0};
        memcpy(c, next, sizeof c);
        k[0] += 0x9e3779b9u;
        k[1] += 0xbb67ae85u;
    }
    memcpy(out, c, sizeof c);
}

// "key = (low, high 32 of seed); block b of stream s = counter (low b, high b, low s, high s)".
static void block(uint64_t seed, uint64_t stream, uint64_t b, uint32_t w[4]) {
    uint32_t counter[4] = {(uint32_t)b, (uint32_t)(b >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    ref_philox(counter, key, w);
}

uint32_t ref_draw32(uint64_t seed, uint64_t stream, uint64_t i) {
    uint32_t w[4];
    block(seed, stream, i / 4, w);
    return w[i % 4];
}

uint64_t ref_draw64(uint64_t seed, uint64_t stream, uint64_t i) {
    uint32_t w[4];
    block(seed, stream, i / 2, w);
    return (uint64_t)w[2 * (i % 2)] + ((uint64_t)w[2 * (i % 2) + 1] << 32);
}

void ref_random_bits(uint64_t seed, uint64_t stream, int64_t start, int64_t n, sb_dtype dtype, void *out) {
    for (int64_t i = 0; i < n; i++) {
        if (dtype == SB_U32)
            ((uint32_t *)out)[i] = ref_draw32(seed, stream, (uint64_t)(start + i));
        else
            ((uint64_t *)out)[i] = ref_draw64(seed, stream, (uint64_t)(start + i));
    }
}

// "uniform32 = (u32 >> 8) 2^-24; uniform64 = (u64 >> 11) 2^-53": exact.
void ref_random_uniform(uint64_t seed, uint64_t stream, int64_t start, int64_t n, sb_dtype dtype, void *out) {
    for (int64_t i = 0; i < n; i++) {
        if (dtype == SB_F32)
            ((float *)out)[i] = (float)(ref_draw32(seed, stream, (uint64_t)(start + i)) >> 8) * 0x1p-24f;
        else
            ((double *)out)[i] = (double)(ref_draw64(seed, stream, (uint64_t)(start + i)) >> 11) * 0x1p-53;
    }
}

void ref_random_normal(uint64_t seed, uint64_t stream, int64_t start, int64_t n, sb_dtype dtype, void *out) {
    for (int64_t i = 0; i < n; i++) {
        if (dtype == SB_F32)
            ((float *)out)[i] = ref_normal(ref_draw32(seed, stream, (uint64_t)(start + i)));
        else
            ((double *)out)[i] = ref_normal64(ref_draw64(seed, stream, (uint64_t)(start + i)));
    }
}

// "Integer in [0, n) = floor(u64 n / 2^64), exact 128-bit product".
void ref_random_integers(uint64_t seed, uint64_t stream, int64_t start, int64_t bound, int64_t n, sb_dtype dtype, void *out) {
    for (int64_t i = 0; i < n; i++) {
        int64_t integer = (int64_t)(((ref_u128)ref_draw64(seed, stream, (uint64_t)(start + i)) * (uint64_t)bound) >> 64);
        if (dtype == SB_I32)
            ((int32_t *)out)[i] = (int32_t)integer;
        else
            ((int64_t *)out)[i] = integer;
    }
}

// "Permutation = indices sorted by (u64 draw i, i); choice of k: its first k".
void ref_random_choice(uint64_t seed, uint64_t stream, int64_t n, int64_t k, int64_t *out) {
    uint64_t *draw = ref_memory(n, sizeof *draw);
    for (int64_t i = 0; i < n; i++)
        draw[i] = ref_draw64(seed, stream, (uint64_t)i);
    ref_top_k(SB_U64, 1, n, 0, k, draw, NULL, out);
    free(draw);
}

// p 2^24 to the nearest integer, ties to even.
static uint32_t threshold_of(double p) {
    double scaled = p * 0x1p24;
    uint32_t whole = (uint32_t)scaled;
    double rest = scaled - (double)whole;
    return whole + (rest > 0.5 || (rest == 0.5 && whole % 2 == 1));
}

#define REF_TEXT "ref_random_typed.h"
#include "ref_both.h"
