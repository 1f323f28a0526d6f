// SPDX-License-Identifier: Apache-2.0
// Division and square root of float32 from exact residuals (kernels/residual.h) against the
// processor's: special values and hostile pairs, with the rough results wrong by up to 3 units in
// the last place. test_residual [LOG2 [all]]: 2^LOG2 pairs (22; 30 in make proof), on every core;
// roots of 2^LOG2 numbers, or of all.
#include "dialect/c.h"

// A result of the processor, moved by -3 to 3 units: always to one side, or by the bits of the
// operand.
static _Thread_local i32 aside;
static f32 rough(f32 exact, u32 seed) {
    i32 by = aside == 7 ? (i32)((seed ^ seed >> 7) * 2654435761u >> 29) % 7 - 3 : aside - 3;
    return exact == 0.0f ? exact : FLOAT32(BITS32(exact) + (u32)by);
}
#define ROUGH_DIVIDE(a, b) rough((a) / (b), BITS32(a) ^ BITS32(b))
#define ROUGH_ROOT(x) rough(__builtin_sqrtf(x), BITS32(x))
#include "residual.h"

#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 16 };
static atomic_long wrong, checked, subnormal, huge;
static u64 blocks;
static atomic_long next_block;
static int every_root;

static u64 draw(u64 *state) { // splitmix64 (G. Steele et al., 2014)
    u64 z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void tell(const char *what, u32 a, u32 b, f32 have, f32 want) {
    if (atomic_fetch_add(&wrong, 1) < 5)
        fprintf(stderr, "%s of %08x %08x, rough by %d, is %08x, not %08x\n", what, (unsigned)a,
                (unsigned)b, aside - 3, (unsigned)BITS32(have), (unsigned)BITS32(want));
}

static void divide(u32 a, u32 b) {
    volatile f32 x = FLOAT32(a), y = FLOAT32(b);
    f32 want = sbi_canon_f32(x / y), have = sbi_canon_f32(sbi_near_divide(x, y));
    u32 size = BITS32(want) & 0x7fffffffu;
    if (BITS32(have) != BITS32(want)) tell("quotient", a, b, have, want);
    if (size && size < 0x00800000u) atomic_fetch_add_explicit(&subnormal, 1, memory_order_relaxed);
    if (size >= 0x7f000000u) atomic_fetch_add_explicit(&huge, 1, memory_order_relaxed);
}

static void root(u32 a) {
    f32 want = sbi_canon_f32(__builtin_sqrtf(FLOAT32(a))),
        have = sbi_canon_f32(sbi_near_root(FLOAT32(a)));
    if (BITS32(have) != BITS32(want)) tell("root", a, 0, have, want);
}

// Any bits; digits that are few, or all ones but few; quotients around the least and the largest
// number, and halfway between two subnormal ones: a = RN(q b) for a subnormal q with one digit
// more.
static void pair(u64 *state, u64 i) {
    const u64 w = draw(state), z = draw(state);
    u32 a = (u32)w, b = (u32)(w >> 32), digits = (u32)z & 0x007fffffu, place = (u32)(z >> 32) % 24;
    switch (i & 7) {
    case 0:
    case 1:
        break;
    case 2:
        a = (a & 0xff800000u) | (u32)1 << place >> 1,
        b = (b & 0xff800000u) | (digits & digits << 3);
        break;
    case 3:
        a = (a & 0xff800000u) | (0x007fffffu << place & 0x007fffffu),
        b = (b & 0xff800000u) | (0x007fffffu - (digits >> place));
        break;
    case 4:
        a = (a & 0x807fffffu) | (1 + (u32)(z >> 40) % 60) << 23,
        b = (b & 0x807fffffu) | (100 + (u32)(z >> 48) % 80) << 23;
        break;
    case 5:
        a = (a & 0x807fffffu) | (250 - (u32)(z >> 40) % 10) << 23,
        b = (b & 0x807fffffu) | (120 + (u32)(z >> 48) % 8) << 23;
        break;
    case 6:
        a = (a & 0x80000000u) | (a & 0x007fffffu) >> place,
        b = (b & 0x80000000u) | (digits >> (z >> 40) % 24);
        break;
    default: {
        const u32 scale = 127 + (u32)(z >> 40) % 20;
        const f32 q = FLOAT32(digits >> place | 1),
                  y = FLOAT32((b & 0x007fffffu & ~(u32)0 << place) | scale << 23);
        a = BITS32(q * y * 0.5f) + ((u32)(z >> 60) % 3 - 1), b = BITS32(y);
        break;
    }
    }
    divide(a, b);
    if (!every_root) root(i & 1 ? a & 0x7fffffffu : b);
}

static void *work(void *unused) {
    (void)unused;
    for (u64 block; (block = (u64)atomic_fetch_add(&next_block, 1)) < blocks;) {
        u64 state = block * 0x5851f42d4c957f2du;
        aside = (i32)(block & 7);
        for (u64 i = 0; i < BLOCK; i++) pair(&state, i);
        for (u64 i = 0; every_root && i < ((u64)1 << 32) / blocks; i++)
            root((u32)(block * (((u64)1 << 32) / blocks) + i));
        atomic_fetch_add(&checked, BLOCK);
    }
    return NULL;
}

int main(int argc, char **argv) {
    static const u32 special[] = {0,           1,           2,           3,           0x007fffffu,
                                  0x00800000u, 0x00800001u, 0x3f7fffffu, 0x3f800000u, 0x3f800001u,
                                  0x40400000u, 0x7f7fffffu, 0x7f800000u, 0x7f800001u, 0x7fc00000u,
                                  0x00400000u, 0x4b000000u, 0x7f000000u, 0x3effffffu};
    enum { SPECIAL = sizeof special / sizeof *special };
    pthread_t threads[64];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int log2 = argc > 1 ? atoi(argv[1]) : 22;
    if (log2 < 19 || log2 > 32) return 2;
    cores = cores < 1 ? 1 : cores > 64 ? 64 : cores;
    blocks = (u64)1 << (log2 - 16);
    every_root = argc > 2 && strcmp(argv[2], "all") == 0;
    for (aside = 0; aside < 8; aside++)
        for (int i = 0; i < 2 * SPECIAL; i++) {
            const u32 a = special[i / 2] | (u32)(i & 1) << 31;
            root(a);
            for (int j = 0; j < 2 * SPECIAL; j++) divide(a, special[j / 2] | (u32)(j & 1) << 31);
        }
    for (long i = 0; i < cores; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (long i = 0; i < cores; i++) pthread_join(threads[i], NULL);
    printf("%ld pairs, %ld subnormal and %ld overflowing or nearly; roots of %s\n", (long)checked,
           (long)subnormal, (long)huge, every_root ? "all 2^32 numbers" : "as many numbers");
    CHECK(wrong == 0, "%ld wrong", (long)wrong);
    CHECK(checked == (long)blocks * BLOCK && subnormal > checked / 20 && huge > checked / 100,
          "too few cases");
    return test_end();
}
