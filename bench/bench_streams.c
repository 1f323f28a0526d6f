// SPDX-License-Identifier: Apache-2.0
// Operations that memory bounds, beside a plain triad a = b + s c of the same type and with the same number of threads,
// measured in the same run: bytes that must move (each input read once, each output written once: the minimum, whatever
// really moved) by the time, and the fraction ours / triad (above 1: ours is faster). Paired runs (ours, triad, ours,
// ...), medians and quartiles. Several threads divide the triad's arrays and meet only at the end of its repetitions. One
// thread is timed by the processor time of the process, so that neighbours on the machine disturb less; more by the clock.
//
//     bench_streams [--threads N] [--pairs N] [--small] [--json F]
#include "samebits.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { MOST_PAIRS = 101, MOST_THREADS = 64 };

static clockid_t timer = CLOCK_PROCESS_CPUTIME_ID;
static double seconds(void) {
    struct timespec t;
    clock_gettime(timer, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default"))) // as wide as the levels that ours chooses from
#else
#define WIDE
#endif
WIDE static void triad_f32(float *restrict a, const float *restrict b, const float *restrict c, float s, int64_t n) {
    for (int64_t i = 0; i < n; i++) a[i] = b[i] + s * c[i];
}
WIDE static void triad_f64(double *restrict a, const double *restrict b, const double *restrict c, double s, int64_t n) {
    for (int64_t i = 0; i < n; i++) a[i] = b[i] + s * c[i];
}

static void fail(const char *what, const char *detail) {
    fprintf(stderr, "bench_streams: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
    exit(1);
}

// One thread's share of the triad's arrays, and how often it goes through them.
typedef struct share {
    sb_dtype dtype;
    char *a, *b, *c;
    int64_t size, repeats;
} share;

static void *run_share(void *argument) {
    const share *t = argument;
    for (int64_t k = 0; k < t->repeats; k++) {
        const float s = 0.5f + (float)(k & 1);
        if (t->dtype == SB_F32) triad_f32((float *)t->a, (const float *)t->b, (const float *)t->c, s, t->size);
        else triad_f64((double *)t->a, (const double *)t->b, (const double *)t->c, (double)s, t->size);
    }
    return NULL;
}

// The triad of all threads; the calling thread takes the last share.
static void run_triad(const share *all, int threads) {
    const int64_t item = (int64_t)sb_dtype_size(all->dtype);
    share shares[MOST_THREADS];
    pthread_t ids[MOST_THREADS];
    for (int i = 0; i < threads; i++) {
        const int64_t from = all->size / 64 * i / threads * 64, to = i + 1 == threads ? all->size : all->size / 64 * (i + 1) / threads * 64;
        shares[i] = (share){all->dtype, all->a + from * item, all->b + from * item, all->c + from * item, to - from, all->repeats};
        if (i + 1 < threads && pthread_create(&ids[i], NULL, run_share, &shares[i])) abort();
    }
    run_share(&shares[threads - 1]);
    for (int i = 0; i + 1 < threads; i++) pthread_join(ids[i], NULL);
}

typedef struct arrays {
    sb_context *ctx;
    sb_array *x, *y, *out, *flat_x, *flat_y, *weight, *bias, *rows, *one, *scale, *mean, *targets, *loss;
} arrays;

static sb_status run_sum(const arrays *a, sb_error *err) { return sb_reduce(a->ctx, SB_SUM, 1, a->x, a->rows, err); }
static sb_status run_columns(const arrays *a, sb_error *err) { return sb_reduce(a->ctx, SB_SUM, 0, a->x, a->weight, err); }
static sb_status run_max(const arrays *a, sb_error *err) { return sb_reduce(a->ctx, SB_MAX, 1, a->x, a->rows, err); }
static sb_status run_add(const arrays *a, sb_error *err) { return sb_binary(a->ctx, SB_ADD, a->x, a->y, a->out, err); }
static sb_status run_scale(const arrays *a, sb_error *err) { return sb_scale(a->ctx, a->x, 1.25f, a->out, err); }
static sb_status run_softmax(const arrays *a, sb_error *err) { return sb_softmax(a->ctx, a->x, a->out, err); }
static sb_status run_dot(const arrays *a, sb_error *err) { return sb_dot(a->ctx, a->flat_x, a->flat_y, a->one, err); }
static sb_status run_log_softmax(const arrays *a, sb_error *err) { return sb_log_softmax(a->ctx, a->x, a->out, err); }
static sb_status run_layer_norm(const arrays *a, sb_error *err) {
    return sb_layer_norm(a->ctx, a->x, a->weight, a->bias, 1e-5, a->out, a->mean, a->scale, err);
}
static sb_status run_swiglu(const arrays *a, sb_error *err) { return sb_swiglu(a->ctx, a->x, a->y, a->out, err); }
static sb_status run_loss(const arrays *a, sb_error *err) { return sb_cross_entropy(a->ctx, NULL, a->x, a->targets, NULL, a->loss, err); }
static sb_status run_norm(const arrays *a, sb_error *err) {
    return sb_rms_norm(a->ctx, a->x, a->weight, 1e-5, a->out, a->scale, err);
}
static sb_status run_norm_back(const arrays *a, sb_error *err) {
    return sb_rms_norm_backward(a->ctx, a->x, a->weight, a->scale, a->y, a->out, NULL, err);
}

static const struct operation {
    const char *name;
    int arrays; // of rows x columns, read or written once
    sb_status (*run)(const arrays *a, sb_error *err);
    bool wide; // in float64, too
} operations[] = {
    {"sum of rows", 1, run_sum, true},    {"sum of columns", 1, run_columns, false},  {"max of rows", 1, run_max, false},
    {"dot", 2, run_dot, true},            {"add", 3, run_add, true},                  {"scale", 2, run_scale, false},
    {"softmax", 2, run_softmax, true},    {"log-softmax", 2, run_log_softmax, false}, {"layer norm", 2, run_layer_norm, true},
    {"rms norm", 2, run_norm, false},     {"rms norm, dx", 3, run_norm_back, false},  {"cross-entropy", 1, run_loss, false},
    {"swiglu", 3, run_swiglu, false},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

// A scalar (n < 0), vector (d < 0) or matrix of zeros or, in real types, of numbers from -2 to 2.
static sb_array *array(sb_context *ctx, sb_dtype dtype, int64_t n, int64_t d) {
    sb_array *a = NULL;
    sb_error err;
    if (sb_array_new(ctx, dtype, n < 0 ? 0 : d < 0 ? 1 : 2, (int64_t[]){n, d}, &a, &err)) fail("an array", err.message);
    if (dtype != SB_F32 && dtype != SB_F64) return a;
    const size_t size = (size_t)sb_array_size(a), item = sb_dtype_size(dtype);
    char *values = malloc(size * item);
    if (!values) fail("out of memory", NULL);
    uint32_t state = 1;
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        const float narrow = (float)(state >> 8) * 0x1p-22f - 2.0f;
        const double value = (double)narrow;
        memcpy(values + i * item, dtype == SB_F32 ? (const void *)&narrow : (const void *)&value, item);
    }
    if (sb_array_write(a, values, size * item, &err)) fail("an array", err.message);
    free(values);
    return a;
}

static sb_array *flat(sb_array *a) {
    sb_array *out = NULL;
    sb_error err;
    if (sb_array_reshape(a, 1, (int64_t[]){sb_array_size(a)}, &out, &err)) fail("an array", err.message);
    return out;
}

// Memory for the triad: in large pages where the system has them, as ours is, and touched.
static char *touched(size_t bytes) {
    const size_t page = 1 << 21, whole = (bytes + page - 1) / page * page;
    char *p = aligned_alloc(page, whole);
    if (!p) fail("out of memory", NULL);
#if defined(MADV_HUGEPAGE)
    madvise(p, whole, MADV_HUGEPAGE);
#endif
    memset(p, 0, whole);
    return p;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double quartile(double *values, int count, int number) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[(number * (count - 1) + 2) / 4];
}

static void measure(const arrays *a, sb_dtype dtype, int64_t n, int64_t d, int pairs, int threads, FILE *json, int *lines) {
    const int64_t size = n * d, repeats = size > 4000000 ? 1 : 4000000 / size;
    const size_t item = sb_dtype_size(dtype), bytes = (size_t)size * item;
    const share triad = {dtype, touched(bytes), touched(bytes), touched(bytes), size, repeats};
    run_triad(&triad, threads);
    for (int o = 0; o < OPERATIONS; o++) {
        double ours[MOST_PAIRS], peer[MOST_PAIRS], ratio[MOST_PAIRS];
        sb_error err;
        if (dtype == SB_F64 && !operations[o].wide) continue;
        if (operations[o].run(a, &err)) fail(operations[o].name, err.message);
        for (int i = 0; i < pairs; i++) {
            const double start = seconds();
            for (int64_t k = 0; k < repeats; k++) operations[o].run(a, NULL);
            const double middle = seconds();
            run_triad(&triad, threads);
            const double end = seconds(), moved = (double)bytes * (double)repeats * 1e-9;
            ours[i] = operations[o].arrays * moved / (middle - start);
            peer[i] = 3.0 * moved / (end - middle);
            ratio[i] = ours[i] / peer[i];
        }
        const double our = quartile(ours, pairs, 2), their = quartile(peer, pairs, 2);
        const double low = quartile(ratio, pairs, 1), best = quartile(ratio, pairs, 2), high = quartile(ratio, pairs, 3);
        printf("%-16s %s %8lld x %-6lld %9.2f %9.2f %9.3f %6.3f-%.3f\n", operations[o].name, sb_dtype_name(dtype), (long long)n,
               (long long)d, our, their, best, low, high);
        fflush(stdout);
        if (json)
            fprintf(json, "%s\n  {\"operation\": \"%s\", \"dtype\": \"%s\", \"rows\": %lld, \"columns\": %lld, \"ours_gbs\": %.3f, "
                    "\"peer_gbs\": %.3f, \"ratio\": %.4f, \"low\": %.4f, \"high\": %.4f}", (*lines)++ ? "," : "", operations[o].name,
                    sb_dtype_name(dtype), (long long)n, (long long)d, our, their, best, low, high);
    }
    free(triad.a), free(triad.b), free(triad.c);
}

int main(int argc, char **argv) {
    static const int64_t shapes[][2] = {{128, 768}, {32768, 768}, {512, 50257}};
    int threads = 1, pairs = 7, small = 0, lines = 0;
    const char *path = NULL;
    for (int i = 1; i < argc; i++) {
        if (i + 1 < argc && strcmp(argv[i], "--threads") == 0) threads = atoi(argv[++i]);
        else if (i + 1 < argc && strcmp(argv[i], "--pairs") == 0) pairs = atoi(argv[++i]);
        else if (i + 1 < argc && strcmp(argv[i], "--json") == 0) path = argv[++i];
        else if (strcmp(argv[i], "--small") == 0) small = 1; // only what fits into a cache
        else fail("usage: bench_streams [--threads N] [--pairs N] [--small] [--json F]", NULL);
    }
    if (threads < 1 || threads > MOST_THREADS || pairs < 1 || pairs > MOST_PAIRS) fail("a number out of its range", NULL);
    if (threads > 1) timer = CLOCK_MONOTONIC;
    const sb_context_options options = {.size = sizeof options, .threads = threads};
    sb_context *ctx = NULL;
    sb_error err;
    if (sb_context_new(&options, &ctx, &err)) fail("a context", err.message);
    FILE *json = path ? fopen(path, "w") : NULL;
    if (path && !json) fail("cannot write", path);
    printf("level %s, %d thread%s; GB/s (minimum of bytes) of ours and of the triad of as many threads, medians of %d pairs\n", sb_context_isa(ctx), threads,
           threads > 1 ? "s" : "", pairs);
    printf("%-24s %17s %9s %9s %9s  quartiles\n", "operation", "rows x columns", "ours", "triad", "fraction");
    if (json) fprintf(json, "{\"level\": \"%s\", \"threads\": %d, \"pairs\": %d, \"rows\": [", sb_context_isa(ctx), threads, pairs);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes && !(small && s); s++) {
        const int64_t d = shapes[s][1];
        for (sb_dtype t = SB_F32; t <= SB_F64; t++) {
            const int64_t n = shapes[s][0] / (t == SB_F64 ? 2 : 1); // the same bytes, so the same cache
            sb_array *x = array(ctx, t, n, d), *y = array(ctx, t, n, d);
            const arrays a = {.ctx = ctx, .x = x, .y = y, .out = array(ctx, t, n, d), .flat_x = flat(x), .flat_y = flat(y),
                              .weight = array(ctx, t, d, -1), .bias = array(ctx, t, d, -1), .rows = array(ctx, t, n, -1),
                              .one = array(ctx, t, -1, -1), .scale = array(ctx, SB_F64, n, -1), .mean = array(ctx, SB_F64, n, -1),
                              .targets = array(ctx, SB_I32, n, -1), .loss = array(ctx, SB_F64, n, -1)};
            measure(&a, t, n, d, pairs, threads, json, &lines);
            sb_array *all[] = {a.x, a.y, a.out, a.flat_x, a.flat_y, a.weight, a.bias, a.rows, a.one, a.scale, a.mean, a.targets, a.loss};
            for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
        }
    }
    if (json) {
        fprintf(json, "\n]}\n");
        if (fclose(json)) fail("cannot write", path);
    }
    sb_context_free(ctx);
    return 0;
}
