// SPDX-License-Identifier: Apache-2.0
// For tests of operations: every CPU level this machine can run at several thread counts, arrays from host memory,
// hostile numbers from integers, and the caller's flush-to-zero mode.
//
//     EACH_CONTEXT(c) { sb_array *x = array_of(c.ctx, SB_F32, 1, (int64_t[]){n}, values); ... }
#ifndef CONTEXTS_H
#define CONTEXTS_H

#include "samebits.h"
#include "test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct context_walk {
    sb_context *ctx;
    const char *level;
    int threads, level_index, threads_index;
} context_walk;

static inline context_walk context_next(context_walk walk) {
    static const char *const levels[] = {"plain", "reverse", "v1", "v3", "v4", "neon", NULL};
    static const int threads[] = {1, 2, 3, 7, 16, 0};
    sb_context_free(walk.ctx);
    walk.ctx = NULL;
    for (walk.threads_index++;; walk.threads_index++) {
        if (threads[walk.threads_index] == 0) {
            walk.threads_index = 0;
            walk.level_index++;
        }
        walk.level = levels[walk.level_index];
        walk.threads = threads[walk.threads_index];
        if (!walk.level) return walk;
        const sb_context_options options = {.size = sizeof options, .device = "cpu", .isa = walk.level, .threads = walk.threads};
        if (sb_context_new(&options, &walk.ctx, NULL) == SB_OK) return walk; // (others are absent on this machine)
    }
}
#define EACH_CONTEXT(c) for (context_walk c = context_next((context_walk){.threads_index = -1}); c.level; c = context_next(c))

static inline sb_array *array_of(sb_context *ctx, sb_dtype dtype, int ndim, const int64_t *shape, const void *values) {
    sb_error err = {0};
    sb_array *a = NULL;
    if (sb_array_new(ctx, dtype, ndim, shape, &a, &err) == SB_OK && values)
        sb_array_write(a, values, (size_t)sb_array_size(a) * sb_dtype_size(dtype), &err);
    CHECK(err.status == SB_OK, "%s", err.message);
    if (err.status != SB_OK) exit(test_end());
    return a;
}

// The array holds exactly these bytes.
static inline bool array_is(const sb_array *a, const void *values) {
    size_t bytes = (size_t)sb_array_size(a) * sb_dtype_size(sb_array_dtype(a));
    unsigned char *own = malloc(bytes ? bytes : 1);
    bool same = sb_array_read(a, own, bytes, NULL) == SB_OK && memcmp(own, values, bytes) == 0;
    free(own);
    return same;
}

static inline uint64_t next_word(uint64_t *state) { // SplitMix64 (G. Steele et al., 2014)
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static inline float float_of(uint32_t bits) { float f; memcpy(&f, &bits, 4); return f; }
static inline uint32_t bits_of_float(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static inline float canonical(float f) { return f == f ? f : float_of(0x7fc00000u); }

enum { PLAIN, WIDE, SUBNORMAL, FEW, ALL_BITS, NUMBER_KINDS };
// PLAIN (-2, 2); WIDE over 80 binades; SUBNORMAL around and below 2^-126; FEW of seven values, zeros of both signs
// among them; ALL_BITS any pattern, infinities and NaN included.
static inline float next_float(uint64_t *state, int kind) {
    uint64_t w = next_word(state);
    uint32_t sign = (uint32_t)(w >> 63) << 31, fraction = (uint32_t)w & 0x7fffffu, spread = (uint32_t)(w >> 32) & 0x7fffu;
    switch (kind) {
    case PLAIN: return (float)((int32_t)(uint32_t)w >> 7) * 0x1p-23f;
    case WIDE: return float_of(sign | (87u + spread % 80u) << 23 | fraction);
    case SUBNORMAL: return float_of(sign | spread % 4u << 23 | fraction);
    case FEW: return (float[]){-0.0f, 0.0f, 1.0f, -1.0f, 0.5f, 3.0f, 0x1.000002p0f}[spread % 7u];
    default: return float_of((uint32_t)w);
    }
}

// The modes a fast-math library would leave behind (x86: flush to zero, denormals are zero, round down), and what
// they are now; machines without such a word have nothing to set.
#if defined(__SSE2__)
static inline unsigned caller_mode(void) { return __builtin_ia32_stmxcsr() & 0xffc0u; }
static inline void set_caller_mode(unsigned mode) { __builtin_ia32_ldmxcsr(mode); }
enum { HOSTILE_MODE = 0x1f80 | 0x8040 | 0x2000, USUAL_MODE = 0x1f80 };
#else
static inline unsigned caller_mode(void) { return 0; }
static inline void set_caller_mode(unsigned mode) { (void)mode; }
enum { HOSTILE_MODE = 0, USUAL_MODE = 0 };
#endif
#endif
