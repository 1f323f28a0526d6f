// SPDX-License-Identifier: Apache-2.0
// Random numbers (contract T11): Philox 4x32-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC11). Block b of stream s under a seed is the cipher of the counter (b, s) under the key `seed`: four words.
// Draw i of 32 bits is word i mod 4 of block i div 4; draw i of 64 bits is the pair i mod 2 of block i div 2, the
// lower word first.
//
// Every kernel here makes draws start .. start + size - 1. A group is 256 blocks, counted from block 0 of the stream
// and not from `start`, so that draw i is made in the same way whatever was asked for with it.
#include "function64.h"

#if T_BITS == 32
// word[4 l + c] = word c of block first + l, for 256 blocks.
FN void random_words(LOCAL u32 *word, u64 seed, u64 stream, u64 first) {
    PHASE(l, 256) {
        u64 block = first + (u64)l;
        u32 w0 = (u32)block, w1 = (u32)(block >> 32), w2 = (u32)stream, w3 = (u32)(stream >> 32);
        u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
        UNROLL
        for (i32 round = 0; round < 10; round++) {
            u64 a = (u64)0xd2511f53u * w0, b = (u64)0xcd9e8d57u * w2;
            w0 = (u32)(b >> 32) ^ w1 ^ k0;
            w1 = (u32)b;
            w2 = (u32)(a >> 32) ^ w3 ^ k1;
            w3 = (u32)a;
            k0 += 0x9e3779b9u;
            k1 += 0xbb67ae85u;
        }
        word[4 * l] = w0;
        word[4 * l + 1] = w1;
        word[4 * l + 2] = w2;
        word[4 * l + 3] = w3;
    } PHASE_END
}

// A group holds `draws` draws; those numbered low .. high - 1 within it are asked for.
FN i32 random_low(i64 group, i64 start, i32 draws) { return group == 0 ? (i32)(start % draws) : 0; }
FN i32 random_high(i64 group, i64 start, i64 size, i32 draws) {
    i64 left = start % draws + size - group * draws;
    return left < draws ? (i32)left : draws;
}
FN u64 random_first(i64 group, i64 start, i32 draws) { return ((u64)(start / draws) + (u64)group) * 256u; }
FN i32 random_lanes(i32 left) { return left < 256 ? left : 256; }
FN u64 random_pair(LOCAL const u32 *word, i32 i) { return (u64)word[2 * i] | (u64)word[2 * i + 1] << 32; }

#define RANDOM_NAME k_random_bits_u32
#define RANDOM_TYPE u32
#define RANDOM_DRAWS 1024
#define RANDOM_VALUE(i) word[i]
#include "random_draws.h"

#define RANDOM_NAME k_random_bits_u64
#define RANDOM_TYPE u64
#define RANDOM_DRAWS 512
#define RANDOM_VALUE(i) random_pair(word, i)
#include "random_draws.h"

// (u32 >> 8) 2^-24
#define RANDOM_NAME k_random_uniform_f32
#define RANDOM_TYPE f32
#define RANDOM_DRAWS 1024
#define RANDOM_VALUE(i) (f32)(i32)(word[i] >> 8) * 0x1p-24f
#include "random_draws.h"

// The z whose normal distribution function is (u32 + 1/2) / 2^32, correctly rounded.
#define RANDOM_NAME k_random_normal_f32
#define RANDOM_TYPE f32
#define RANDOM_DRAWS 1024
#define RANDOM_VALUE(i) sbi_normal_f32(word[i])
#include "random_draws.h"

// The same of ((u64 >> 11) + 1/2) / 2^53, a written sequence.
#define RANDOM_NAME k_random_normal_f64
#define RANDOM_TYPE f64
#define RANDOM_DRAWS 512
#define RANDOM_VALUE(i) sbi_normal_f64(random_pair(word, i))
#include "random_draws.h"

// (u64 >> 11) 2^-53
#define RANDOM_NAME k_random_uniform_f64
#define RANDOM_TYPE f64
#define RANDOM_DRAWS 512
#define RANDOM_VALUE(i) (f64)(i64)(random_pair(word, i) >> 11) * K(0x1p-53)
#include "random_draws.h"

// The integer part of u64 n / 2^64: the high half of the exact product.
#define RANDOM_NAME k_random_integers
#define RANDOM_TYPE i64
#define RANDOM_DRAWS 512
#define RANDOM_ALSO , i64 n
#define RANDOM_VALUE(i) (i64)MULHI64(random_pair(word, i), (u64)n)
#include "random_draws.h"

// The same number in 32 bits.
#define RANDOM_NAME k_random_integers_i32
#define RANDOM_TYPE i32
#define RANDOM_DRAWS 512
#define RANDOM_ALSO , i64 n
#define RANDOM_VALUE(i) (i32)MULHI64(random_pair(word, i), (u64)n)
#include "random_draws.h"
#endif

// Dropout: element i takes 32-bit draw start + i; where its upper 24 bits are not below the threshold y = RN(x * factor), else
// +0. y may be x: an element is read before it is written.
KERNEL void NAME(k_dropout)(u64 seed, u64 stream, i64 start, i64 size, GLOBAL const T *x, GLOBAL T *y, u32 threshold,
                            T factor GROUP_PARAM) {
    SHARED u32 word[1024];
    i32 low = random_low(GROUP(), start, 1024), high = random_high(GROUP(), start, size, 1024);
    i64 to = GROUP() * 1024 - start % 1024;
    random_words(word, seed, stream, random_first(GROUP(), start, 1024));
    for (i32 from = low; from < high; from += 256) {
        PHASE(l, random_lanes(high - from)) {
            T kept = NAME(sbi_canon)(x[to + from + l] * factor);
            y[to + from + l] = word[from + l] >> 8 >= threshold ? kept : (T)0;
        } LANE_END
    }
}
