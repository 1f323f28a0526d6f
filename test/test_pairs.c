// SPDX-License-Identifier: Apache-2.0
// Functions in pairs of float32 (kernels/pairs.h) against those of function.h, which are proved.
// test_pairs HARD_CASES [NAME ...]: 2^17 inputs spread over all, those of
// references/hard-cases.tsv, the mended ones and those beside them, special ones. test_pairs all
// [NAME ...]: all 2^32; what differs is written as tools/pairs.py takes it. (Quick where the
// processor's instructions are: cmake -DCMAKE_C_FLAGS=-march=native.)
#include "dialect/c.h"

#include "function.h"
#include "pairs.h"

#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { SLAB = 4096, SPREAD = 1 << 17 };

#define FUNCTION(name, input, mend)                                                                \
    static void own_##name(const u32 *in, u32 *out) {                                              \
        for (int i = 0; i < SLAB; i++) out[i] = BITS32(sbi_##name##_f32(input(in[i])));            \
    }                                                                                              \
    static void pairs_##name(const u32 *in, u32 *out) {                                            \
        for (int i = 0; i < SLAB; i++) out[i] = BITS32(sbi_pair_##name##_f32(input(in[i])));       \
    }
#define WORD(x) (x)
#define NONE 0, 0 // (of rsqrt nothing is mended)
#define FUNCTIONS                                                                                  \
    FUNCTION(exp, FLOAT32, SBI_MEND_EXP)                                                           \
    FUNCTION(log, FLOAT32, SBI_MEND_LOG)                                                           \
    FUNCTION(sin, FLOAT32, SBI_MEND_SIN)                                                           \
    FUNCTION(cos, FLOAT32, SBI_MEND_COS)                                                           \
    FUNCTION(rsqrt, FLOAT32, NONE)                                                                 \
    FUNCTION(sigmoid, FLOAT32, SBI_MEND_SIGMOID)                                                   \
    FUNCTION(silu, FLOAT32, SBI_MEND_SILU)                                                         \
    FUNCTION(silu_grad, FLOAT32, SBI_MEND_SILU_GRAD)                                               \
    FUNCTION(normal, WORD, SBI_MEND_NORMAL)                                                        \
    FUNCTION(tanh, FLOAT32, SBI_MEND_TANH)                                                         \
    FUNCTION(expm1, FLOAT32, SBI_MEND_EXPM1)                                                       \
    FUNCTION(log1p, FLOAT32, SBI_MEND_LOG1P)                                                       \
    FUNCTION(exp2, FLOAT32, SBI_MEND_EXP2)                                                         \
    FUNCTION(log2, FLOAT32, SBI_MEND_LOG2)                                                         \
    FUNCTION(log10, FLOAT32, SBI_MEND_LOG10)                                                       \
    FUNCTION(erf, FLOAT32, SBI_MEND_ERF)                                                           \
    FUNCTION(erfc, FLOAT32, SBI_MEND_ERFC)                                                         \
    FUNCTION(softplus, FLOAT32, SBI_MEND_SOFTPLUS)                                                 \
    FUNCTION(log_sigmoid, FLOAT32, SBI_MEND_SOFTPLUS)                                              \
    FUNCTION(gelu, FLOAT32, SBI_MEND_GELU)                                                         \
    FUNCTION(gelu_tanh, FLOAT32, SBI_MEND_GELU_TANH)                                               \
    FUNCTION(gelu_grad, FLOAT32, SBI_MEND_GELU_GRAD)                                               \
    FUNCTION(gelu_tanh_grad, FLOAT32, SBI_MEND_GELU_TANH_GRAD)
FUNCTIONS
#undef FUNCTION
#define FUNCTION(name, input, mend) {#name, own_##name, pairs_##name, {mend}},
static const struct {
    const char *name;
    void (*own)(const u32 *, u32 *), (*pairs)(const u32 *, u32 *);
    i32 mends[2]; // where they begin, and how many there are, as a power of two
} functions[] = {FUNCTIONS};
enum { COUNT = sizeof functions / sizeof functions[0] };

static atomic_long next_slab, wrong, compared;
static bool everything;
static int which;

static void compare(const u32 *in) {
    u32 own[SLAB], pairs[SLAB];
    functions[which].own(in, own);
    functions[which].pairs(in, pairs);
    atomic_fetch_add(&compared, SLAB);
    if (memcmp(own, pairs, sizeof own) == 0) return;
    for (int i = 0; i < SLAB; i++)
        if (own[i] != pairs[i] && atomic_fetch_add(&wrong, 1) < (everything ? 1000 : 3))
            printf("mend %s %08x %08x\n", functions[which].name, (unsigned)in[i], (unsigned)own[i]);
}

static void *work(void *unused) {
    (void)unused;
    u32 in[SLAB];
    const u64 slabs = everything ? ((u64)1 << 32) / SLAB : SPREAD / SLAB,
              step = ((u64)1 << 32) / (slabs * SLAB);
    for (u64 slab; (slab = (u64)atomic_fetch_add(&next_slab, 1)) < slabs;) {
        for (u64 i = 0; i < SLAB; i++) { // (one in each stratum)
            const u64 number = slab * SLAB + i;
            in[i] = (u32)(number * step + number * 2654435761u % step);
        }
        compare(in);
    }
    return NULL;
}

static void compare_rest(u32 *in, u32 found) {
    if (found == 0) return;
    for (; found < SLAB; found++) in[found] = in[found - 1];
    compare(in);
}

// The inputs of this function in a file of lines NAME, input, output.
static void recorded(const char *path) {
    u32 in[SLAB], found = 0;
    char name[32];
    unsigned input;
    FILE *file = fopen(path, "r");
    CHECK(file != NULL, "%s is not there", path);
    while (file && !feof(file)) {
        if (fscanf(file, "%31s %x %*x\n", name, &input) == 2 && found < SLAB &&
            strcmp(name, functions[which].name) == 0)
            in[found++] = input;
        else if (name[0] == '#' && fscanf(file, "%*[^\n]\n") == EOF)
            break;
    }
    if (file) fclose(file);
    CHECK(found > 30, "%u hard cases of %s", (unsigned)found, functions[which].name);
    compare_rest(in, found);
}

// What is mended, and powers of two from the least to infinity, by both signs; 64 inputs about
// each.
static void hard(void) {
    u32 in[SLAB], found = 0;
    const i32 first = functions[which].mends[0], last = first + (1 << functions[which].mends[1]);
    for (u32 i = 0; i < (u32)(last - first) + 256 + 24; i++) {
        const u32 power = i < 256 ? i << 23 : (u32)1 << (i - 256);
        const u32 middle = i < 280 ? power : sbi_pair_mends[2 * ((u32)first + i - 280)];
        for (u32 j = 0; j < 64; j++) {
            in[found++] = middle - 16 + j % 32 + (j < 32 ? 0u : 0x80000000u);
            if (found == SLAB) compare(in), found = 0;
        }
    }
    compare_rest(in, found);
}

int main(int argc, char **argv) {
    pthread_t threads[64];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    cores = cores < 1 ? 1 : cores > 64 ? 64 : cores;
    everything = argc > 1 && strcmp(argv[1], "all") == 0;
    for (which = 0; which < COUNT; which++) {
        bool chosen = argc < 3;
        for (int i = 2; i < argc; i++)
            chosen = chosen || strcmp(argv[i], functions[which].name) == 0;
        if (!chosen) continue;
        next_slab = wrong = compared = 0;
        hard();
        if (!everything && argc > 1) recorded(argv[1]);
        for (long i = 0; i < cores; i++) pthread_create(&threads[i], NULL, work, NULL);
        for (long i = 0; i < cores; i++) pthread_join(threads[i], NULL);
        printf("%s: %ld inputs, %ld wrong\n", functions[which].name, (long)compared, (long)wrong);
        CHECK(wrong == 0 && compared > SPREAD, "%s: %ld wrong", functions[which].name, (long)wrong);
    }
    return test_end();
}
