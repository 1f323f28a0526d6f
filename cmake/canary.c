// SPDX-License-Identifier: Apache-2.0
// Built and run at configure time with the flags of the library: a compiler or flag set that fuses, reassociates,
// flushes, divides by reciprocals or keeps excess precision is refused. Exit 0: conforms; else the number of the
// first failing probe, named on stdout.
#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__GNUC__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE
#endif

NOINLINE static float multiply_add(float a, float b, float c) { return a * b + c; }
NOINLINE static double multiply_add_64(double a, double b, double c) { return a * b + c; }
NOINLINE static float add_subtract(float a, float b) { return (a + b) - a; }
NOINLINE static float half(float a) { return a * 0.5f; }
NOINLINE static float third(float a) { return a / 3.0f; }
NOINLINE static float root(float a) { return __builtin_sqrtf(a); }
NOINLINE static int is_nan(float a) { return a != a; }
NOINLINE static float zero_sum(float a) { return a + 0.0f; }
NOINLINE static float total(const float *x, int n) { // vectorised only by reassociation
    float s = 0.0f;
    for (int i = 0; i < n; i++) s += x[i];
    return s;
}
NOINLINE static void divide_rows(float *x, int n, float d) { // x / d, never x * (1 / d)
    for (int i = 0; i < n; i++) x[i] = x[i] / d;
}

static uint32_t bits(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

int main(void) {
    volatile float a = 0x1.000002p0f, b = 0x1.fffffcp-1f, big = 0x1p24f, one = 1.0f, tiny = FLT_MIN, zero = 0.0f;
    volatile double a64 = 0x1.0000000000001p0, b64 = 0x1.ffffffffffffep-1;
    float row[64], ramp[33];
    for (int i = 0; i < 64; i++) row[i] = i == 0 ? big : one;
    for (int i = 0; i < 33; i++) ramp[i] = (float)(i + 1);
    divide_rows(ramp, 33, one + one + one);
    const struct { const char *name; int good; } probes[] = {
        {"excess precision (FLT_EVAL_METHOD)", FLT_EVAL_METHOD == 0},
        {"contraction to fma, float", bits(multiply_add(a, b, -one)) == 0},
        {"contraction to fma, double", multiply_add_64(a64, b64, -1.0) == 0.0},
        {"reassociation of (a + b) - a", add_subtract(big, one) == 0.0f},
        {"reassociation of a sum", total(row, 64) == big},
        {"subnormals flushed", bits(half(tiny)) == 0x00400000u},
        {"subnormal inputs read as zero", half(0x1p-148f) == 0x1p-149f},
        {"division by reciprocal", bits(third(10.0f)) == 0x40555555u && bits(ramp[4]) == 0x3fd55555u && bits(ramp[6]) == 0x40155555u},
        {"square root", bits(root(2.0f)) == 0x3fb504f3u},
        {"NaN assumed absent", is_nan(zero / zero)},
        {"sign of zero assumed away", bits(zero_sum(-zero)) == 0},
    };
    for (unsigned i = 0; i < sizeof probes / sizeof *probes; i++) {
        if (!probes[i].good) {
            printf("%s\n", probes[i].name);
            return (int)i + 1;
        }
    }
    return 0;
}
