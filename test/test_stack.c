// SPDX-License-Identifier: Apache-2.0
// Every lane, and products and attention of sizes that fill their scratch, on a thread whose stack is small: 128 KiB,
// musl's default. What needs more has it from the context's allocator; here one that looks for writes behind a block, so
// that a size in scratch.def that is too small shows. The results are those of a thread with a large stack.
#include "contexts.h"
#include "proof.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STACK = 2 << 20 }; // (a sanitizer's frames are larger)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
enum { STACK = 2 << 20 };
#else
enum { STACK = 128 << 10 };
#endif
#else
enum { STACK = 128 << 10 };
#endif
enum { GUARD = 64, M = 70, N = 300, K = 600, DEEP = 17000, CHANNELS = 256, TOKENS = 150, RESULTS = 29 };

// An allocator whose blocks end in a pattern; the size stands in front.
static atomic_int live, overruns;
static void *guarded_allocate(void *user, size_t bytes) {
    (void)user;
    unsigned char *block = malloc(bytes + 2 * GUARD);
    if (!block) return NULL;
    memcpy(block, &bytes, sizeof bytes);
    memset(block + GUARD, 0xa5, bytes); // (the library zeroes what it wants zero)
    memset(block + GUARD + bytes, 0x5a, GUARD);
    atomic_fetch_add(&live, 1);
    return block + GUARD;
}
static void guarded_release(void *user, void *pointer) {
    (void)user;
    unsigned char *block = (unsigned char *)pointer - GUARD;
    size_t bytes;
    memcpy(&bytes, block, sizeof bytes);
    for (int i = 0; i < GUARD; i++)
        if (block[GUARD + bytes + (size_t)i] != 0x5a) atomic_fetch_add(&overruns, 1);
    atomic_fetch_sub(&live, 1);
    free(block);
}

typedef struct work {
    sb_context *ctx;
    uint8_t digests[RESULTS][32];
    int count, lanes;
    sb_error err;
} work;

static sb_array *filled(work *w, sb_dtype dtype, int ndim, const int64_t *shape) {
    sb_array *a = NULL;
    if (w->err.status || sb_array_new(w->ctx, dtype, ndim, shape, &a, &w->err)) return NULL;
    const size_t size = (size_t)sb_array_size(a), item = sb_dtype_size(dtype);
    char *values = malloc(size * item);
    uint64_t state = 7;
    for (size_t i = 0; i < size; i++) {
        const double x = (double)(int32_t)(next_word(&state) >> 32) * 0x1p-31;
        const float narrow = (float)x;
        memcpy(values + i * item, item == 4 ? (const void *)&narrow : (const void *)&x, item);
    }
    (void)sb_array_write(a, values, size * item, &w->err);
    free(values);
    return a;
}

static void keep(work *w, sb_array *a) {
    if (w->err.status || w->count == RESULTS) return;
    const char *name = "result";
    const sb_array *result = a;
    (void)sb_digest_arrays(w->ctx, 1, &name, &result, w->digests[w->count++], &w->err);
}

static void product(work *w, sb_dtype in, sb_dtype out, int m, int n, int k, int ta, int tb) {
    const int64_t a_shape[2] = {ta ? k : m, ta ? m : k}, b_shape[2] = {tb ? n : k, tb ? k : n}, c_shape[2] = {m, n};
    sb_array *a = filled(w, in, 2, a_shape), *b = filled(w, in, 2, b_shape), *c = filled(w, out, 2, c_shape);
    const sb_gemm_options o = {.size = sizeof o, .transpose_a = ta, .transpose_b = tb};
    if (!w->err.status) (void)sb_gemm(w->ctx, &o, a, b, NULL, c, &w->err);
    keep(w, c);
    sb_array_free(a), sb_array_free(b), sb_array_free(c);
}

static void attention(work *w, sb_dtype real) {
    const int64_t shape[4] = {1, TOKENS, 1, CHANNELS};
    enum { Q, KEYS, V, Y, DY, DQ, DK, DV, ALL };
    sb_array *a[ALL], *maximum = filled(w, real, 3, shape), *total = filled(w, SB_F64, 3, shape);
    for (int i = 0; i < ALL; i++) a[i] = filled(w, real, 4, shape);
    const sb_attention_options o = {.size = sizeof o, .causal = 1};
    if (!w->err.status) (void)sb_attention(w->ctx, &o, a[Q], a[KEYS], a[V], a[Y], maximum, total, &w->err);
    if (!w->err.status)
        (void)sb_attention_backward(w->ctx, &o, a[Q], a[KEYS], a[V], a[Y], maximum, total, a[DY], a[DQ], a[DK], a[DV], &w->err);
    keep(w, a[Y]), keep(w, a[DQ]), keep(w, a[DK]), keep(w, a[DV]);
    for (int i = 0; i < ALL; i++) sb_array_free(a[i]);
    sb_array_free(maximum), sb_array_free(total);
}

static void *everything(void *argument) {
    work *w = argument;
    static const struct { sb_dtype in, out; } types[] = {{SB_F32, SB_F32}, {SB_F64, SB_F64}, {SB_F32, SB_F64}};
    for (int i = 0; i < 3; i++) {
        for (int t = 0; t < 4; t++) product(w, types[i].in, types[i].out, M, N, K, t / 2, t % 2);
        product(w, types[i].in, types[i].out, 20, 40, DEEP, 0, 0);
        product(w, types[i].in, types[i].out, 1, 4 * N, K, 0, 0);
        product(w, types[i].in, types[i].out, 1, 4 * N, K, 0, 1);
    }
    attention(w, SB_F32);
    attention(w, SB_F64);
    return NULL;
}

static void add_cell(void *user, const char *cell, const uint8_t digest[32], const sb_array *array) {
    (void)user, (void)cell, (void)digest, (void)array;
}

static void *every_lane(void *argument) {
    work *w = argument;
    for (const sbi_lane *const *file = sbi_lane_files; *file; file++)
        for (const sbi_lane *lane = *file; lane->name; lane++) {
            const bool odd = lane->fixtures & SBI_FIX(SBI_FIX_ODD);
            sbi_lane_run one = {.ctx = w->ctx, .lane = lane, .fixture = odd ? SBI_FIX_ODD : SBI_FIX_PLAIN, .nudge = -1, .report = add_cell};
            sb_error err = {0};
            if (sbi_lane_carry_out(&one, &err) == SB_OK) w->lanes++;
            else w->err = err;
        }
    return NULL;
}

static bool on_small_stack(void *(*what)(void *), work *w) {
    pthread_t thread;
    pthread_attr_t attributes;
    bool good = pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, STACK) == 0 &&
                pthread_create(&thread, &attributes, what, w) == 0 && pthread_join(thread, NULL) == 0;
    pthread_attr_destroy(&attributes);
    return good;
}

int main(void) {
    static const char *const levels[] = {"plain", "reverse", "v1", "v3", "v4", "neon"};
    static work first, w;
    for (int i = 0; i < 6; i++)
        for (int threads = 1; threads <= 2; threads++) {
            sb_context *ctx = NULL;
            const sb_context_options o = {.size = sizeof o, .device = "cpu", .isa = levels[i], .threads = threads,
                                          .allocate = guarded_allocate, .release = guarded_release};
            if (sb_context_new(&o, &ctx, NULL) != SB_OK) continue; // (absent on this machine)
            w = (work){.ctx = ctx};
            CHECK(on_small_stack(everything, &w), "no thread with a stack of %d bytes", STACK);
            if (first.count == 0) {
                first.ctx = ctx;
                everything(&first); // here, where the stack is as large as a program's
                CHECK(first.count == RESULTS && first.err.status == SB_OK, "%d results, %s", first.count, first.err.message);
            }
            CHECK(w.err.status == SB_OK, "%s, %d threads: %s", levels[i], threads, w.err.message);
            CHECK(w.count == RESULTS && memcmp(w.digests, first.digests, sizeof first.digests) == 0, "%s, %d threads: other bits",
                  levels[i], threads);
            if (threads == 1) {
                CHECK(on_small_stack(every_lane, &w) && w.err.status == SB_OK, "%s: %s", levels[i], w.err.message);
                CHECK(w.lanes > 100, "%s: %d lanes", levels[i], w.lanes);
            }
            sb_context_free(ctx);
        }
    CHECK(atomic_load(&live) == 0, "%d blocks are left", atomic_load(&live));
    CHECK(atomic_load(&overruns) == 0, "%d bytes behind a block were written", atomic_load(&overruns));
    return test_end();
}
