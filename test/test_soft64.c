// SPDX-License-Identifier: Apache-2.0
// Binary64 over integers (kernels/soft64.h) against the processor's: special values, every way of converting, and
// hostile pairs. test_soft64 [LOG2 [FROM]]: 2^LOG2 pairs (20; 30 in make proof) from block FROM on, on every core.
#include "dialect/c.h"

#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__x86_64__)
__attribute__((target("fma"))) static f64 instruction(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
static i32 has_instruction(void) { return __builtin_cpu_supports("fma") != 0; }
#else
static f64 instruction(f64 a, f64 b, f64 c) { return sbi_fma_f64(a, b, c); }
static i32 has_instruction(void) { return 1; } // (or the emulation that test_fma.c checks)
#endif

enum { BLOCK = 1 << 16, KINDS = 10 };
static const char *const names[] = {"+", "-", "*", "/", "sqrt", "fma", "to float", "from float", "from i64", "from u64",
                                    "from i32", "to i64", "to u64", "to i32", "<", "<=", "=="};
enum { OPERATIONS = sizeof names / sizeof *names };
static atomic_long wrong[OPERATIONS], checked;
static i32 fused; // there is an instruction to compare with

static u64 draw(u64 *state) { // splitmix64 (G. Steele et al., 2014)
    u64 z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static i64 between(u64 *state, i64 low, i64 high) { return low + (i64)(draw(state) % (u64)(high - low + 1)); }

// Significands that make halfway cases and long carries: random, few bits set, all ones, one bit from either.
static u64 significand(u64 *state) {
    const u64 all = ((u64)1 << 52) - 1;
    u64 w = draw(state), place = w >> 8 & 63;
    place = place > 51 ? place - 20 : place;
    switch (w & 7) {
    case 0: return (u64)1 << place;
    case 1: return all - ((u64)1 << place);
    case 2: return draw(state) & draw(state) & draw(state) & all;
    case 3: return (all << place) & all;
    case 4: return w >> 61;
    case 5: return (draw(state) >> 35 << 23) & all; // what a float has
    default: return draw(state) & all;
    }
}
static f64 made(u64 *state, i64 exponent) { // of the leading bit; below -1022 a subnormal number
    u64 sign = draw(state) << 63, m = significand(state);
    if (exponent > 1023) exponent = 1023;
    if (exponent >= -1022) return FLOAT64(sign | (u64)(exponent + 1023) << 52 | m);
    i64 shift = -1022 - exponent;
    return FLOAT64(sign | (shift > 52 ? (u64)0 : (m | (u64)1 << 52) >> shift));
}

static void tell(i32 operation, u64 a, u64 b, u64 c, u64 have, u64 want) {
    if (atomic_fetch_add(&wrong[operation], 1) < 3) {
        fprintf(stderr, "%s of %016llx %016llx %016llx is %016llx, not %016llx\n", names[operation], (unsigned long long)a,
                (unsigned long long)b, (unsigned long long)c, (unsigned long long)have, (unsigned long long)want);
    }
}
#define WHOLE(operation, have, want) \
    do { \
        u64 whole_have = (u64)(have), whole_want = (u64)(want); \
        if (whole_have != whole_want) tell(operation, a, b, c, whole_have, whole_want); \
    } while (0)
#define REAL(operation, have, want) \
    do { \
        f64 real_want = (want); \
        WHOLE(operation, have, real_want != real_want ? 0x7ff8000000000000u : BITS64(real_want)); \
    } while (0)

static void check(u64 a, u64 b, u64 c) {
    f64 x = FLOAT64(a), y = FLOAT64(b), z = FLOAT64(c);
    REAL(0, sbi_soft_add(a, b), x + y);
    REAL(1, sbi_soft_add(a, b ^ SBI_SOFT_SIGN), x - y);
    REAL(2, sbi_soft_multiply(a, b), x * y);
    REAL(3, sbi_soft_divide(a, b), x / y);
    REAL(4, sbi_soft_root(a), __builtin_sqrt(x));
    if (fused) REAL(5, sbi_soft_fma(a, b, c), instruction(x, y, z));
    f32 narrow = (f32)x, wide = FLOAT32((u32)(b >> 32));
    WHOLE(6, sbi_soft_to_f32(a), narrow != narrow ? 0x7fc00000u : BITS32(narrow));
    REAL(7, sbi_soft_from_f32(BITS32(wide)), (f64)wide);
    REAL(8, sbi_soft_from_i64((i64)a), (f64)(i64)a);
    REAL(9, sbi_soft_from_u64(a), (f64)a);
    REAL(10, sbi_soft_from_i64((i32)(u32)a), (f64)(i32)(u32)a);
    if (x > -0x1p63 && x < 0x1p63) WHOLE(11, sbi_soft_to_i64(a), (i64)x);
    if (x > -1.0 && x < 0x1p64) WHOLE(12, sbi_soft_to_u64(a), (u64)x);
    if (x > -0x1p31 && x < 0x1p31) WHOLE(13, (i32)sbi_soft_to_i64(a), (i32)x);
    WHOLE(14, sbi_soft_less(a, b), x < y);
    WHOLE(15, sbi_soft_less(a, b) || sbi_soft_equal(a, b), x <= y);
    WHOLE(16, sbi_soft_equal(a, b), x == y);
}

static void pair(u64 *state, i32 kind) {
    u64 a = draw(state), b = draw(state), c = draw(state); // kind 0: any bits
    f64 x, y;
    i64 e;
    switch (kind) {
    case 0: break;
    case 1: // neighbouring binades, c beside the product
        e = between(state, -480, 480);
        x = made(state, e), y = made(state, e + between(state, -56, 56));
        a = BITS64(x), b = BITS64(y), c = BITS64(made(state, 2 * e + between(state, -120, 120)));
        break;
    case 2: // cancellation: b beside -a, c beside -RN(a b)
        e = between(state, -500, 500);
        x = made(state, e);
        a = BITS64(x), b = BITS64(-x) + (u64)between(state, -3, 3);
        c = BITS64(-(x * FLOAT64(b))) + (u64)between(state, -2, 2);
        break;
    case 3: // a tie of the sum, or nearly; a fused one too
        e = between(state, -900, 900);
        x = made(state, e);
        a = BITS64(x), b = (u64)(e + 1023 - 53) << 52 | (draw(state) & 1 ? (u64)0 : (u64)between(state, 0, 2)) | draw(state) << 63;
        c = (u64)(2 * e > 900 || 2 * e < -900 ? 1 : 2 * e + 1023 - 53) << 52;
        break;
    case 4: // results below the smallest normal number: products, quotients, sums
        e = between(state, -1000, 0);
        a = BITS64(made(state, e)), b = BITS64(made(state, between(state, -1080, -1010) - e)), c = BITS64(made(state, between(state, -1080, -1015)));
        if (draw(state) & 1) b = BITS64(made(state, e + between(state, 1010, 1080)));
        break;
    case 5: // around the largest
        e = between(state, 0, 1023);
        a = BITS64(made(state, e)), b = BITS64(made(state, between(state, 1018, 1026) - e)), c = BITS64(made(state, between(state, 960, 1023)));
        if (draw(state) & 1) b = BITS64(made(state, e - between(state, 1018, 1026)));
        break;
    case 6: // subnormal operands
        a = draw(state) >> between(state, 12, 63), b = draw(state) >> between(state, 10, 63), c = draw(state) >> between(state, 12, 63);
        a |= draw(state) << 63, b |= draw(state) << 63, c |= draw(state) << 63;
        break;
    case 7: // quotients and roots beside a representable number or the middle of two: a = RN(q b), a = RN(r r)
        x = made(state, between(state, -300, 300)), y = made(state, between(state, -300, 300));
        if (draw(state) & 1) { // (27 bits each: q has 26 or 27 and is exact)
            x = FLOAT64(BITS64(x) & 0xfffffffffc000000u), y = FLOAT64(BITS64(y) & 0xfffffffffc000000u);
        }
        c = BITS64(y), b = draw(state) & 1 ? BITS64(x) : BITS64(y);
        a = BITS64(x * y) + (u64)between(state, -2, 2);
        if (draw(state) & 1) a = BITS64(x * x) + (u64)between(state, -1, 1);
        break;
    case 8: // what a float or an integer can just hold: ties of float, its subnormals, 2^31, 2^53, 2^63, 2^64
        e = draw(state) & 1 ? between(state, -152, -120) : between(state, 20, 66);
        a = BITS64(made(state, e)), b = BITS64(made(state, between(state, -152, 130)));
        if (draw(state) & 1) a = ((u64)(e + 1023) << 52 | (draw(state) >> 35 << 28)) + (u64)between(state, -1, 1);
        if (e > 60 && (draw(state) & 1)) a = draw(state) >> between(state, 0, 63);
        c = BITS64(made(state, between(state, -200, 200)));
        break;
    default: // equal, opposite, zero, infinite, NaN
        b = draw(state) & 1 ? a : a ^ SBI_SOFT_SIGN;
        if (draw(state) % 4 == 0) b = b & SBI_SOFT_SIGN;
        if (draw(state) % 8 == 0) a = (a & SBI_SOFT_SIGN) | SBI_SOFT_INFINITY;
        if (draw(state) % 8 == 0) b = (b & SBI_SOFT_SIGN) | SBI_SOFT_INFINITY | (draw(state) & 1);
        if (draw(state) % 4 == 0) c = c & SBI_SOFT_SIGN;
        if (draw(state) % 4 == 0) c = BITS64(-(FLOAT64(a) * FLOAT64(b)));
        break;
    }
    check(a, b, c);
}

static void specials(void) {
    static const u64 numbers[] = {0, 1, 2, 3, 0x000fffffffffffff, 0x0010000000000000, 0x0010000000000001, 0x001fffffffffffff,
        0x3690000000000000, 0x36a0000000000000, 0x380fffffe0000000, 0x380ffffff0000000, 0x3810000000000000, 0x3fe0000000000000,
        0x3fefffffffffffff, 0x3ff0000000000000, 0x3ff0000000000001, 0x3ff0000010000000, 0x3ff0000030000000, 0x4000000000000000,
        0x41dfffffffc00000, 0x41e0000000000000, 0x43dfffffffffffff, 0x43e0000000000000, 0x43efffffffffffff, 0x47efffffe0000000,
        0x47effffff0000000, 0x47f0000000000000, 0x1ff0000000000000, 0x1e50000000000000, 0x5fe0000000000000, 0x5fefffffffffffff,
        0x7fe0000000000000, 0x7fefffffffffffff, 0x7ff0000000000000, 0x7ff0000000000001, 0x7ff8000000000000, 0x7fffffffffffffff};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    for (u64 i = 0; i < (u64)8 * COUNT * COUNT * COUNT; i++) {
        u64 signs = i & 7, j = i / 8;
        check(numbers[j % COUNT] | signs << 63, numbers[j / COUNT % COUNT] | signs >> 1 << 63, numbers[j / COUNT / COUNT] | signs >> 2 << 63);
    }
    checked += (long)8 * COUNT * COUNT * COUNT;
}

static atomic_long next_block;
static long last_block;

static void *work(void *unused) {
    long block;
    while ((block = atomic_fetch_add(&next_block, 1)) < last_block) {
        u64 state = (u64)block * 0xd1342543de82ef95u;
        for (i32 i = 0; i < BLOCK; i++) pair(&state, i % KINDS);
        atomic_fetch_add(&checked, BLOCK);
    }
    return unused;
}

int main(int argc, char **argv) {
    int log2 = argc > 1 ? atoi(argv[1]) : 20;
    CHECK(log2 >= 16 && log2 < 50, "test_soft64 [LOG2 [FROM]]: LOG2 is 16 to 49");
    if (test_failed) return test_end();
    fused = has_instruction();
    specials();
    long before = checked, cores = sysconf(_SC_NPROCESSORS_ONLN);
    next_block = argc > 2 ? atol(argv[2]) : 0;
    last_block = next_block + (1L << (log2 - 16));
    pthread_t threads[64];
    int count = 0;
    while (count + 1 < cores && count < 64 && pthread_create(&threads[count], NULL, work, NULL) == 0) count++;
    work(NULL);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    long total = 0;
    for (int i = 0; i < OPERATIONS; i++) {
        long bad = wrong[i];
        total += bad;
        CHECK(bad == 0, "%s: %ld of %ld results are not the processor's", names[i], bad, (long)checked);
    }
    CHECK(checked - before == 1L << log2, "%ld pairs", (long)checked);
    printf("soft64: %ld special triples, %ld pairs, %d operations, %ld wrong; fma %scompared with an instruction\n", before,
           (long)checked - before, OPERATIONS, total, fused ? "" : "not ");
    return test_end();
}
