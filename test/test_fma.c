// SPDX-License-Identifier: Apache-2.0
// fma: the emulations (of binary32, of binary64 by error-free transformations and by integers) and the processor's
// instruction, where present, against MPFR on hostile operands. An argument multiplies the counts.
#define SBI_FMA_EMULATED
#include "dialect/c.h"

#include "test.h"

#include <mpfr.h>
#include <stdbool.h>
#include <stdlib.h>

static u64 state = 0x9e3779b97f4a7c15u;
static u64 draw(void) { // splitmix64
    u64 z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static i64 between(i64 low, i64 high) { return low + (i64)(draw() % (u64)(high - low + 1)); }

#if defined(__x86_64__)
__attribute__((target("fma"))) static f32 instruction32(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
__attribute__((target("fma"))) static f64 instruction64(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
static bool has_instruction(void) { return __builtin_cpu_supports("fma"); }
#elif defined(__aarch64__) || defined(__riscv_flen) || defined(__s390x__)
static f32 instruction32(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
static f64 instruction64(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
static bool has_instruction(void) { return true; }
#else
static f32 instruction32(f32 a, f32 b, f32 c) { return sbi_fma_f32(a, b, c); }
static f64 instruction64(f64 a, f64 b, f64 c) { return sbi_fma_f64(a, b, c); }
static bool has_instruction(void) { return false; }
#endif

// a b + c by MPFR, rounded once to `bits` bits with the smallest exponent emin (that of MPFR: significand in [1/2, 1)).
static double exact(double a, double b, double c, int bits, long emin, long emax) {
    mpfr_t x, y, z, r;
    mpfr_inits2(53, x, y, z, (mpfr_ptr)0);
    mpfr_init2(r, bits);
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_set_d(y, b, MPFR_RNDN);
    mpfr_set_d(z, c, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    int ternary = mpfr_fma(r, x, y, z, MPFR_RNDN);
    mpfr_subnormalize(r, ternary, MPFR_RNDN);
    double d = mpfr_get_d(r, MPFR_RNDN);
    mpfr_clears(x, y, z, r, (mpfr_ptr)0);
    return d;
}

static long long checked, wrong;
static bool same64(f64 a, f64 b) { return a != a ? b != b : BITS64(a) == BITS64(b); }
static bool same32(f32 a, f32 b) { return a != a ? b != b : BITS32(a) == BITS32(b); }

static void check64(f64 a, f64 b, f64 c) {
    f64 want = exact(a, b, c, 53, -1073, 1024);
    f64 got[3] = {sbi_fma_f64(a, b, c), sbi_fma_integer(a, b, c), has_instruction() ? instruction64(a, b, c) : want};
    for (int i = 0; i < 3; i++) {
        checked++;
        if (!same64(got[i], want) && wrong++ < 20) {
            fprintf(stderr, "fma64 way %d: %a * %a + %a = %a, want %a\n", i, a, b, c, got[i], want);
        }
    }
}

static void check32(f32 a, f32 b, f32 c) {
    f32 want = (f32)exact((double)a, (double)b, (double)c, 24, -148, 128);
    f32 got[2] = {sbi_fma_f32(a, b, c), has_instruction() ? instruction32(a, b, c) : want};
    for (int i = 0; i < 2; i++) {
        checked++;
        if (!same32(got[i], want) && wrong++ < 20) {
            fprintf(stderr, "fma32 way %d: %a * %a + %a = %a, want %a\n", i, (double)a, (double)b, (double)c,
                    (double)got[i], (double)want);
        }
    }
}

// Significands that make halfway cases and long carries: random, few bits set, all ones, one bit from either.
static u64 significand(int bits) {
    u64 all = ((u64)1 << bits) - 1;
    switch (draw() % 6) {
    case 0: return draw() & all;
    case 1: return ((u64)1 << (draw() % (u64)bits)) & all;
    case 2: return all - (((u64)1 << (draw() % (u64)bits)) & all);
    case 3: return (draw() & draw() & draw() & draw()) & all;
    case 4: return (all << (draw() % (u64)bits)) & all;
    default: return draw() % 8;
    }
}
static f64 make64(i64 exponent) { // exponent: that of the leading bit; below -1022 a subnormal
    u64 sign = draw() << 63, m = significand(52);
    if (exponent < -1022) {
        i64 shift = -1022 - exponent;
        return FLOAT64(sign | (shift > 52 ? 0 : ((m | ((u64)1 << 52)) >> shift)));
    }
    return FLOAT64(sign | ((u64)(exponent > 1023 ? 2046 : exponent + 1023) << 52) | m);
}
static f32 make32(i64 exponent) {
    u32 sign = (u32)draw() << 31, m = (u32)significand(23);
    if (exponent < -126) {
        i64 shift = -126 - exponent;
        return FLOAT32(sign | (shift > 23 ? 0 : ((m | (1u << 23)) >> shift)));
    }
    return FLOAT32(sign | ((u32)(exponent > 127 ? 254 : exponent + 127) << 23) | m);
}

static void specials(void) {
    static const u64 wide[] = {0, 1, 2, 0x000fffffffffffff, 0x0010000000000000, 0x0010000000000001, 0x3fe0000000000000,
                               0x3fefffffffffffff, 0x3ff0000000000000, 0x3ff0000000000001, 0x4000000000000000,
                               0x1ff0000000000000, 0x1e50000000000000, 0x5fe0000000000000, 0x5fefffffffffffff,
                               0x7fe0000000000000, 0x7fefffffffffffff, 0x7ff0000000000000, 0x7ff8000000000000};
    static const u32 narrow[] = {0, 1, 2, 0x007fffff, 0x00800000, 0x00800001, 0x3f000000, 0x3f7fffff, 0x3f800000,
                                 0x3f800001, 0x40000000, 0x1f800000, 0x1a000000, 0x5f000000, 0x5f7fffff, 0x7f000000,
                                 0x7f7fffff, 0x7f800000, 0x7fc00000};
    enum { COUNT = sizeof wide / sizeof wide[0] };
    for (u64 i = 0; i < 8 * COUNT * COUNT * COUNT; i++) {
        u64 s = i & 7, j = i / 8;
        u64 a = j % COUNT, b = j / COUNT % COUNT, c = j / COUNT / COUNT;
        check64(FLOAT64(wide[a] | s << 63), FLOAT64(wide[b] | (s >> 1) << 63), FLOAT64(wide[c] | (s >> 2) << 63));
        check32(FLOAT32(narrow[a] | (u32)s << 31), FLOAT32(narrow[b] | (u32)(s >> 1) << 31),
                FLOAT32(narrow[c] | (u32)(s >> 2) << 31));
    }
}

int main(int argc, char **argv) {
    long count = 1000000;
    if (argc > 1) {
        count *= atol(argv[1]);
    }
    specials();
    printf("special values: %lld checked, %lld wrong\n", checked, wrong);
    static const char *const names[] = {"any bits", "same binades", "cancellation", "halfway", "subnormal results",
                                        "overflow"};
    for (int kind = 0; kind < 6; kind++) {
        long long before = checked;
        for (long i = 0; i < count; i++) {
            f64 a, b, c;
            f32 p, q, r;
            if (kind == 0) {
                a = FLOAT64(draw()), b = FLOAT64(draw()), c = FLOAT64(draw());
                p = FLOAT32((u32)draw()), q = FLOAT32((u32)draw()), r = FLOAT32((u32)draw());
            } else if (kind == 1) { // c beside the product, over all distances
                i64 x = between(-500, 500), y = between(-500, 500), z = between(-60, 60), w = between(-30, 30);
                a = make64(x), b = make64(y), c = make64(x + y + between(-112, 112));
                p = make32(z), q = make32(w), r = make32(z + w + between(-54, 54));
            } else if (kind == 2) { // c = -RN(a b), moved by a few ulps
                i64 x = between(-1060, 1000);
                a = make64(x), b = make64(between(-1074, 1000) - x);
                c = FLOAT64(BITS64(-(a * b)) + (u64)between(-2, 2));
                i64 z = between(-140, 120);
                p = make32(z), q = make32(between(-149, 120) - z);
                r = FLOAT32(BITS32(-(p * q)) + (u32)between(-2, 2));
            } else if (kind == 3) { // a b beside half an ulp of c
                i64 x = between(-900, 900), y = between(-1, 0), z = between(-90, 90);
                a = FLOAT64(((u64)(1023 + 5) << 52) + (u64)between(-3, 3));
                b = FLOAT64((u64)(x - 53 - 5 + y + 1023) << 52 | (u64)between(0, 3));
                c = make64(x);
                a = draw() & 1 ? a : -a;
                p = FLOAT32((u32)(127 + 5) << 23 | (u32)between(0, 3));
                q = FLOAT32((u32)(z - 24 - 5 + y + 127) << 23 | (u32)between(0, 3));
                r = make32(z);
                p = draw() & 1 ? p : -p;
            } else if (kind == 4) { // results below the smallest normal number
                i64 x = between(-700, 0);
                a = make64(x), b = make64(between(-1130, -1000) - x), c = draw() & 3 ? make64(between(-1080, -1018)) : 0.0;
                i64 z = between(-100, 0);
                p = make32(z), q = make32(between(-180, -110) - z), r = draw() & 3 ? make32(between(-152, -122)) : 0.0f;
            } else { // around the largest
                i64 x = between(0, 1023);
                a = make64(x), b = make64(between(1018, 1026) - x), c = make64(between(960, 1023));
                i64 z = between(0, 127);
                p = make32(z), q = make32(between(124, 130) - z), r = make32(between(100, 127));
            }
            check64(a, b, c);
            check32(p, q, r);
        }
        printf("%s: %lld checked, %lld wrong so far\n", names[kind], checked - before, wrong);
    }
    CHECK(wrong == 0, "%lld of %lld results of fma are not the correctly rounded one", wrong, checked);
    printf("the processor's instruction was %schecked\n", has_instruction() ? "" : "not ");
    mpfr_free_cache();
    return test_end();
}
