// SPDX-License-Identifier: Apache-2.0
// Operations that memory bounds, beside a plain triad a = b + s c measured in the same run: bytes that must move (each
// input read once, each output written once) by the time, and the ratio ours / triad, which is triad time / our time for
// the same bytes (above 1: ours is faster). Paired runs (ours, triad, ours, ...), medians. One thread is timed by the
// processor time of the process, so that neighbours on the machine disturb less; more threads by the clock.
//
//     bench_streams [--threads N] [--pairs N] [--small] [--json F]
//
// A triad of several threads is not measured: with --threads N the peer is N times the triad of one.
#include "samebits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_PAIRS = 101 };

static clockid_t timer = CLOCK_PROCESS_CPUTIME_ID;
static double seconds(void) {
    struct timespec t;
    clock_gettime(timer, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("avx512f", "avx2", "default"))) // as wide as the levels that ours chooses from
#endif
static void triad(float *restrict a, const float *restrict b, const float *restrict c, float s, int64_t n) {
    for (int64_t i = 0; i < n; i++) a[i] = b[i] + s * c[i];
}

static void fail(const char *what, const char *detail) {
    fprintf(stderr, "bench_streams: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
    exit(1);
}

typedef struct arrays {
    sb_context *ctx;
    sb_array *x, *y, *out, *weight, *rows, *scale, *targets, *loss;
} arrays;

static sb_status run_sum(const arrays *a, sb_error *err) { return sb_reduce(a->ctx, SB_SUM, 1, a->x, a->rows, err); }
static sb_status run_columns(const arrays *a, sb_error *err) { return sb_reduce(a->ctx, SB_SUM, 0, a->x, a->weight, err); }
static sb_status run_max(const arrays *a, sb_error *err) { return sb_reduce(a->ctx, SB_MAX, 1, a->x, a->rows, err); }
static sb_status run_add(const arrays *a, sb_error *err) { return sb_binary(a->ctx, SB_ADD, a->x, a->y, a->out, err); }
static sb_status run_scale(const arrays *a, sb_error *err) { return sb_scale(a->ctx, a->x, 1.25f, a->out, err); }
static sb_status run_softmax(const arrays *a, sb_error *err) { return sb_softmax(a->ctx, a->x, a->out, err); }
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
    int bytes; // an element
    sb_status (*run)(const arrays *a, sb_error *err);
} operations[] = {
    {"sum of rows", 4, run_sum},   {"sum of columns", 4, run_columns}, {"max of rows", 4, run_max},
    {"add", 12, run_add},          {"scale", 8, run_scale},            {"rms norm", 8, run_norm},
    {"rms norm, dx", 12, run_norm_back}, {"softmax", 8, run_softmax},  {"cross-entropy", 4, run_loss},
    {"swiglu", 12, run_swiglu},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static sb_array *array(sb_context *ctx, sb_dtype dtype, int64_t n, int64_t d) {
    sb_array *a = NULL;
    sb_error err;
    if (sb_array_new(ctx, dtype, d ? 2 : 1, (int64_t[]){n, d}, &a, &err)) fail("an array", err.message);
    if (dtype != SB_F32) return a;
    int64_t size = sb_array_size(a);
    float *values = malloc((size_t)size * sizeof *values);
    if (!values) fail("out of memory", NULL);
    uint32_t state = 1;
    for (int64_t i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(state >> 8) * 0x1p-22f - 2.0f;
    }
    if (sb_array_write(a, values, (size_t)size * sizeof *values, &err)) fail("an array", err.message);
    free(values);
    return a;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

static void measure(const arrays *a, int64_t n, int64_t d, int pairs, int threads, FILE *json, int *lines) {
    int64_t size = n * d, repeats = size > 4000000 ? 1 : 4000000 / size;
    float *p = malloc((size_t)size * sizeof *p), *q = malloc((size_t)size * sizeof *q), *r = malloc((size_t)size * sizeof *r);
    if (!p || !q || !r) fail("out of memory", NULL);
    for (int64_t i = 0; i < size; i++) p[i] = q[i] = r[i] = 1.0f;
    for (int o = 0; o < OPERATIONS; o++) {
        double ours[MOST_PAIRS], peer[MOST_PAIRS], ratio[MOST_PAIRS];
        sb_error err;
        if (operations[o].run(a, &err)) fail(operations[o].name, err.message);
        for (int i = 0; i < pairs; i++) {
            double start = seconds();
            for (int64_t k = 0; k < repeats; k++) operations[o].run(a, NULL);
            double middle = seconds();
            for (int64_t k = 0; k < repeats; k++) triad(p, q, r, 0.5f + (float)(k & 1), size);
            double bytes = (double)(size * repeats) * 1e-9;
            ours[i] = (double)operations[o].bytes * bytes / (middle - start);
            peer[i] = (double)threads * 12.0 * bytes / (seconds() - middle);
            ratio[i] = ours[i] / peer[i];
        }
        double our = median(ours, pairs), their = median(peer, pairs), best = median(ratio, pairs);
        printf("%-16s %8lld x %-6lld %10.2f %10.2f %10.3f\n", operations[o].name, (long long)n, (long long)d, our, their, best);
        if (json)
            fprintf(json, "%s\n  {\"operation\": \"%s\", \"rows\": %lld, \"columns\": %lld, \"ours_gbs\": %.3f, \"peer_gbs\": %.3f, "
                    "\"ratio\": %.4f}", (*lines)++ ? "," : "", operations[o].name, (long long)n, (long long)d, our, their, best);
    }
    if (p[size / 2] == 0.0f) printf("(the triad cannot be left out)\n");
    free(p);
    free(q);
    free(r);
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
    if (threads < 1 || threads > 1024 || pairs < 1 || pairs > MOST_PAIRS) fail("a number out of its range", NULL);
    if (threads > 1) timer = CLOCK_MONOTONIC;
    const sb_context_options options = {.size = sizeof options, .threads = threads};
    sb_context *ctx = NULL;
    sb_error err;
    if (sb_context_new(&options, &ctx, &err)) fail("a context", err.message);
    FILE *json = path ? fopen(path, "w") : NULL;
    if (path && !json) fail("cannot write", path);
    printf("level %s, %d thread%s; GB/s of ours and of the triad, medians of %d pairs\n", sb_context_isa(ctx), threads,
           threads > 1 ? "s" : "", pairs);
    printf("%-16s %17s %10s %10s %10s\n", "operation", "rows x columns", "ours", "triad", "ratio");
    if (json) fprintf(json, "{\"level\": \"%s\", \"threads\": %d, \"pairs\": %d, \"rows\": [", sb_context_isa(ctx), threads, pairs);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes && !(small && s); s++) {
        int64_t n = shapes[s][0], d = shapes[s][1];
        const arrays a = {ctx, array(ctx, SB_F32, n, d), array(ctx, SB_F32, n, d), array(ctx, SB_F32, n, d), array(ctx, SB_F32, d, 0),
                          array(ctx, SB_F32, n, 0), array(ctx, SB_F64, n, 0), array(ctx, SB_I32, n, 0), array(ctx, SB_F64, n, 0)};
        measure(&a, n, d, pairs, threads, json, &lines);
        sb_array *all[] = {a.x, a.y, a.out, a.weight, a.rows, a.scale, a.targets, a.loss};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
    }
    if (json) {
        fprintf(json, "\n]}\n");
        if (fclose(json)) fail("cannot write", path);
    }
    sb_context_free(ctx);
    return 0;
}
