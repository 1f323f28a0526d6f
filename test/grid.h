// SPDX-License-Identifier: Apache-2.0
// What tests of operations share: one body run on every CPU level and several thread counts, arrays from C memory,
// drawn values, and the sum S of contract T2 by its definition.
#ifndef GRID_H
#define GRID_H

#include "samebits.h"
#include "test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static char grid_where[64]; // "v3, 2 threads": for messages

// Runs body on every level this machine has; the others are named once.
static inline void grid_run(void (*body)(sb_context *ctx)) {
    static const char *const levels[] = {"plain", "reverse", "v1", "v3", "v4", "neon"};
    static const int threads[] = {1, 2, 3, 7};
    static int told;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        for (size_t j = 0; j < sizeof threads / sizeof *threads; j++) {
            const sb_context_options options = {.size = sizeof options, .device = "cpu", .isa = levels[i], .threads = threads[j]};
            sb_context *ctx = NULL;
            sb_status status = sb_context_new(&options, &ctx, NULL);
            if (status == SB_ERR_DEVICE) {
                if (!told) printf("skipped: %s (not on this machine)\n", levels[i]);
                break;
            }
            CHECK(status == SB_OK, "no context for %s", levels[i]);
            if (status != SB_OK) break;
            snprintf(grid_where, sizeof grid_where, "%s, %d threads", levels[i], threads[j]);
            body(ctx);
            sb_context_free(ctx);
        }
    }
    told = 1;
}

#define SHAPE(...) ((int64_t[]){__VA_ARGS__})
#define NDIM(...) ((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
// An array of a shape, with data copied in (NULL: poisoned with 0xa5).
#define ARRAY(ctx, dtype, data, ...) grid_array(ctx, dtype, data, NDIM(__VA_ARGS__), SHAPE(__VA_ARGS__))
#define SCALAR(ctx, dtype, data) grid_array(ctx, dtype, data, 0, NULL)

static inline sb_array *grid_array(sb_context *ctx, sb_dtype dtype, const void *data, int ndim, const int64_t *shape) {
    sb_array *a = NULL;
    sb_error err = {0};
    sb_status status = sb_array_new(ctx, dtype, ndim, shape, &a, &err);
    CHECK(status == SB_OK, "array: %s", err.message);
    if (status != SB_OK) exit(1);
    size_t bytes = (size_t)sb_array_size(a) * sb_dtype_size(dtype);
    void *poison = NULL;
    if (!data) {
        poison = malloc(bytes + 1);
        if (!poison) exit(1);
        memset(poison, 0xa5, bytes);
    }
    status = sb_array_write(a, data ? data : poison, bytes, &err);
    CHECK(status == SB_OK, "array: %s", err.message);
    free(poison);
    return a;
}

// The array holds these bytes.
static inline void grid_expect(const sb_array *a, const void *want, const char *what, int line) {
    size_t item = sb_dtype_size(sb_array_dtype(a)), bytes = (size_t)sb_array_size(a) * item;
    unsigned char *have = malloc(bytes + 1);
    if (!have) exit(1);
    CHECK(sb_array_read(a, have, bytes, NULL) == SB_OK, "read");
    size_t i = 0;
    while (i < bytes && have[i] == ((const unsigned char *)want)[i]) i++;
    i = i < bytes ? i / item * item : bytes;
    uint64_t h = 0, w = 0;
    if (i < bytes && item == 4) {
        uint32_t h32, w32;
        memcpy(&h32, have + i, 4);
        memcpy(&w32, (const unsigned char *)want + i, 4);
        h = h32, w = w32;
    } else if (i < bytes && item == 8) {
        memcpy(&h, have + i, 8);
        memcpy(&w, (const unsigned char *)want + i, 8);
    }
    CHECK(i == bytes, "%s, line %d, %s: element %zu of %zu is %llx, expected %llx", what, line, grid_where, i / item,
          bytes / item, (unsigned long long)h, (unsigned long long)w);
    free(have);
}
#define EXPECT(a, want, what) grid_expect(a, want, what, __LINE__)

// The call fails with this status and names this argument.
#define REFUSED(call, wanted, name) \
    do { \
        sb_error err = {0}; \
        sb_status refused_status = (call); \
        CHECK(refused_status == (wanted), "%s: %s", sb_status_name(refused_status), err.message); \
        CHECK(refused_status == (wanted) && err.status == (wanted) && strcmp(err.argument, name) == 0, \
              "argument \"%s\": %s", err.argument, err.message); \
    } while (0)
#define DONE(call) \
    do { \
        sb_error err = {0}; \
        sb_status done_status = (call); \
        CHECK(done_status == SB_OK, "%s: %s: %s", sb_status_name(done_status), err.argument, err.message); \
    } while (0)

// Drawn values.
static uint64_t grid_state = 1;
static inline uint32_t grid_word(void) {
    grid_state = grid_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(grid_state >> 32);
}
static inline float grid_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
static inline uint32_t grid_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
// kind 0: (-2, 2); 1: 60 binades; 2: subnormal and just above; 3: with zeros of either sign; 4: with infinities and NaN;
// 5: 10000 and a little; 6: few values.
static inline float grid_value(int kind) {
    uint32_t w = grid_word(), r = grid_word();
    float plain = ((float)(w >> 8) * 0x1p-24f - 0.5f) * 4.0f;
    switch (kind) {
    case 1: return grid_float((w & 0x807fffffu) | (97u + r % 60u) << 23);
    case 2: return grid_float((w & 0x807fffffu) | (r % 3u) << 23);
    case 3: return r % 4u ? plain : w & 1u ? -0.0f : 0.0f;
    case 4: return r % 16u ? plain : grid_float(w % 4u == 0 ? 0x7f800000u : w % 4u == 1 ? 0xff800000u : w | 0x7f900000u);
    case 5: return 10000.0f + plain;
    case 6: return (float)(int)(r % 5u) - 2.0f;
    default: return plain;
    }
}
enum { GRID_KINDS = 7 };
static inline float *grid_values(int kind, int64_t count) {
    float *x = malloc((size_t)(count + 1) * sizeof *x);
    if (!x) exit(1);
    for (int64_t i = 0; i < count; i++) x[i] = grid_value(kind);
    return x;
}
static inline void *grid_room(int64_t count, size_t item) {
    void *p = calloc((size_t)(count + 1), item);
    if (!p) exit(1);
    return p;
}

static inline float grid_canon(float x) { return x == x ? x : grid_float(0x7fc00000u); }
static inline double grid_canon64(double x) {
    const uint64_t bits = 0x7ff8000000000000u;
    if (x != x) memcpy(&x, &bits, 8);
    return x;
}

// S of contract T2, from its sentences. x[n * step].
static inline double grid_sum(const double *x, int64_t n, int64_t step) {
    if (n > 4096) {
        int64_t blocks = (n + 4095) / 4096;
        double *totals = grid_room(blocks, sizeof *totals);
        for (int64_t b = 0; b < blocks; b++)
            totals[b] = grid_sum(x + b * 4096 * step, b + 1 < blocks ? 4096 : n - b * 4096, step);
        double s = grid_sum(totals, blocks, 1);
        free(totals);
        return s;
    }
    double a[32] = {0.0};
    for (int64_t j = 0; j < n; j++) a[j % 32] = a[j % 32] + x[j * step];
    for (int s = 16; s > 0; s /= 2)
        for (int i = 0; i < s; i++) a[i] = a[i] + a[i + s];
    return a[0] + 0.0;
}
#endif
