// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4): H from the eight initial words; each 64-byte block is expanded to 64 words and folded in by
// 64 rounds; the message ends with a one bit, zeros and its length in bits. Three forms of the round loop, one digest:
// portable C, the x86 SHA instructions, the ARMv8 ones.
#include "base.h"

#include <stdatomic.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#define HAVE_INSTRUCTIONS 1
#elif defined(__aarch64__) && defined(__linux__) && defined(__AARCH64EL__)
#include <sys/auxv.h>
#include <arm_neon.h>
#define HAVE_INSTRUCTIONS 1
#else
#define HAVE_INSTRUCTIONS 0
#endif

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 16")
#endif

static uint32_t rotate(uint32_t x, int n) {
    return x >> n | x << (32 - n);
}

void sbi_sha256_blocks_plain(uint32_t state[8], const uint8_t *data, size_t blocks) {
    for (; blocks; blocks--, data += 64) {
        uint32_t w[64];
        for (int i = 0; i < 16; i++)
            w[i] = (uint32_t)data[4 * i] << 24 | (uint32_t)data[4 * i + 1] << 16 | (uint32_t)data[4 * i + 2] << 8 |
                   data[4 * i + 3];
        for (int i = 16; i < 64; i++) {
            uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
            uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
        for (int i = 0; i < 64; i++) {
            uint32_t s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
            uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
            uint32_t s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
            uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
        }
        state[0] += a, state[1] += b, state[2] += c, state[3] += d;
        state[4] += e, state[5] += f, state[6] += g, state[7] += h;
    }
}

#if defined(__x86_64__)
bool sbi_sha256_instructions(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 9 & 1) || !(c >> 19 & 1)) return false; // SSSE3, SSE4.1
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 29 & 1);
}

// The instructions hold the state as ABEF and CDGH, do two rounds at a time, and expand four words at a time. Each waits
// for the one before it, so a second message costs little more than one: `count` of them, 1 or 2, go side by side.
#define TARGET __attribute__((target("sha,sse4.1")))
TARGET static inline __attribute__((always_inline)) void fold_blocks(const int count, uint32_t *const *state,
                                                                     const uint8_t *const *data, size_t blocks) {
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    __m128i abef[2], cdgh[2];
    for (int m = 0; m < count; m++) {
        __m128i dcba = _mm_loadu_si128((const __m128i *)(const void *)state[m]);
        __m128i hgfe = _mm_loadu_si128((const __m128i *)(const void *)(state[m] + 4));
        __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
        abef[m] = _mm_alignr_epi8(cdab, efgh, 8), cdgh[m] = _mm_blend_epi16(efgh, cdab, 0xf0);
    }
    for (size_t block = 0; block < blocks; block++) {
        __m128i w[2][4], abef_before[2], cdgh_before[2];
        for (int m = 0; m < count; m++) abef_before[m] = abef[m], cdgh_before[m] = cdgh[m];
        UNROLL for (int i = 0; i < 16; i++) {
            const __m128i constants = _mm_loadu_si128((const __m128i *)(const void *)(round_constants + 4 * i));
            UNROLL for (int m = 0; m < count; m++) {
                __m128i *now = &w[m][i % 4];
                if (i < 4) {
                    *now = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(data[m] + 64 * block + 16 * (size_t)i)), swap);
                } else { // w[t] = s1(w[t-2]) + w[t-7] + s0(w[t-15]) + w[t-16], four t at once
                    __m128i w7 = _mm_alignr_epi8(w[m][(i + 3) % 4], w[m][(i + 2) % 4], 4);
                    *now = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(*now, w[m][(i + 1) % 4]), w7),
                                                w[m][(i + 3) % 4]);
                }
                __m128i sum = _mm_add_epi32(*now, constants);
                cdgh[m] = _mm_sha256rnds2_epu32(cdgh[m], abef[m], sum);
                abef[m] = _mm_sha256rnds2_epu32(abef[m], cdgh[m], _mm_shuffle_epi32(sum, 0x0e));
            }
        }
        for (int m = 0; m < count; m++) {
            abef[m] = _mm_add_epi32(abef[m], abef_before[m]);
            cdgh[m] = _mm_add_epi32(cdgh[m], cdgh_before[m]);
        }
    }
    for (int m = 0; m < count; m++) {
        __m128i feba = _mm_shuffle_epi32(abef[m], 0x1b), dchg = _mm_shuffle_epi32(cdgh[m], 0xb1);
        _mm_storeu_si128((__m128i *)(void *)state[m], _mm_blend_epi16(feba, dchg, 0xf0));
        _mm_storeu_si128((__m128i *)(void *)(state[m] + 4), _mm_alignr_epi8(dchg, feba, 8));
    }
}

TARGET void sbi_sha256_blocks_fast(uint32_t state[8], const uint8_t *data, size_t blocks) {
    fold_blocks(1, &state, &data, blocks);
}

TARGET static void two_blocks_fast(uint32_t *const *state, const uint8_t *const *data, size_t blocks) {
    fold_blocks(2, state, data, blocks);
}
#elif HAVE_INSTRUCTIONS
bool sbi_sha256_instructions(void) {
    return getauxval(AT_HWCAP) >> 6 & 1; // HWCAP_SHA2
}

__attribute__((target("+crypto"))) void sbi_sha256_blocks_fast(uint32_t state[8], const uint8_t *data, size_t blocks) {
    uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
    for (; blocks; blocks--, data += 64) {
        const uint32x4_t abcd_before = abcd, efgh_before = efgh;
        uint32x4_t w[4];
        for (int i = 0; i < 16; i++) {
            uint32x4_t *now = &w[i % 4];
            if (i < 4)
                *now = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(data + 16 * i)));
            else
                *now = vsha256su1q_u32(vsha256su0q_u32(*now, w[(i + 1) % 4]), w[(i + 2) % 4], w[(i + 3) % 4]);
            uint32x4_t sum = vaddq_u32(*now, vld1q_u32(round_constants + 4 * i));
            uint32x4_t abcd_now = abcd;
            abcd = vsha256hq_u32(abcd_now, efgh, sum);
            efgh = vsha256h2q_u32(efgh, abcd_now, sum);
        }
        abcd = vaddq_u32(abcd, abcd_before);
        efgh = vaddq_u32(efgh, efgh_before);
    }
    vst1q_u32(state, abcd);
    vst1q_u32(state + 4, efgh);
}
#else
bool sbi_sha256_instructions(void) {
    return false;
}
void sbi_sha256_blocks_fast(uint32_t state[8], const uint8_t *data, size_t blocks) {
    sbi_sha256_blocks_plain(state, data, blocks);
}
#endif

static bool fast(void) {
    static atomic_int known; // 0: not asked yet, 1: no, 2: yes. A property of the machine: asking twice is harmless
    int now = atomic_load_explicit(&known, memory_order_relaxed);
    if (now == 0) {
        now = sbi_sha256_instructions() ? 2 : 1;
        atomic_store_explicit(&known, now, memory_order_relaxed);
    }
    return now == 2;
}

static void add_blocks(uint32_t state[8], const uint8_t *data, size_t blocks) {
    if (fast())
        sbi_sha256_blocks_fast(state, data, blocks);
    else
        sbi_sha256_blocks_plain(state, data, blocks);
}

void sbi_sha256_start(sbi_sha256 *hash) {
    static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(hash->state, initial, sizeof initial);
    hash->bytes = 0;
}

void sbi_sha256_add(sbi_sha256 *hash, const void *data, size_t bytes) {
    if (bytes == 0) return;
    const uint8_t *from = data;
    size_t held = (size_t)(hash->bytes % 64);
    hash->bytes += bytes;
    if (held) {
        size_t take = 64 - held < bytes ? 64 - held : bytes;
        memcpy(hash->block + held, from, take);
        from += take, bytes -= take;
        if (held + take < 64) return;
        add_blocks(hash->state, hash->block, 1);
    }
    if (bytes >= 64) add_blocks(hash->state, from, bytes / 64);
    memcpy(hash->block, from + bytes / 64 * 64, bytes % 64);
}

void sbi_sha256_add_two(sbi_sha256 *one, const void *data, sbi_sha256 *other, const void *more, size_t bytes) {
    size_t whole = 0;
#if defined(__x86_64__)
    if (fast() && one->bytes % 64 == 0 && other->bytes % 64 == 0) {
        uint32_t *const states[2] = {one->state, other->state};
        const uint8_t *const from[2] = {data, more};
        whole = bytes / 64 * 64;
        two_blocks_fast(states, from, whole / 64);
        one->bytes += whole;
        other->bytes += whole;
    }
#endif
    sbi_sha256_add(one, (const uint8_t *)data + whole, bytes - whole);
    sbi_sha256_add(other, (const uint8_t *)more + whole, bytes - whole);
}

void sbi_sha256_end(sbi_sha256 *hash, uint8_t out[32]) {
    uint64_t bits = hash->bytes * 8;
    size_t held = (size_t)(hash->bytes % 64);
    hash->block[held++] = 0x80;
    if (held > 56) {
        memset(hash->block + held, 0, 64 - held);
        add_blocks(hash->state, hash->block, 1);
        held = 0;
    }
    memset(hash->block + held, 0, 56 - held);
    for (int i = 0; i < 8; i++) hash->block[56 + i] = (uint8_t)(bits >> (56 - 8 * i));
    add_blocks(hash->state, hash->block, 1);
    for (int i = 0; i < 32; i++) out[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sbi_hex(const uint8_t *bytes, size_t count, char *out) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * count] = '\0';
}
