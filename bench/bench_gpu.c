// SPDX-License-Identifier: Apache-2.0
// Kernels on one device (--device opencl:P.D, cuda:N, hip:N), each beside its floor: the bytes that
// must move (every input read once, every output written once) at the rate of a copy between
// arrays, measured in the same run, and the float32 operations that must happen, at the rate given
// by --peak (GFLOP/s, the data sheet's). The floor is the greater of the two times, and which it is
// says what limits the kernel. Arrays stay on the device; a measure is the median of five, each of
// as many calls as take a tenth of a second, ended by a read of one element. With --peer the
// seconds of another program stand beside (bench/gpu_peer.py).
//
//     bench_gpu --device D [--only WORDS] [--small] [--peak GFLOPS] [--peer F] [--json F]
#include "samebits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ARRAYS = 8, ROUNDS = 5, NAME = 48 };

typedef struct work {
    sb_context *ctx;
    sb_array *a[MOST_ARRAYS];
    int64_t n, d; // sizes, as the operation takes them
} work;

typedef struct operation {
    char name[NAME]; // "gemm 1024", the same in every program
    double bytes, flops;
    sb_status (*run)(const work *w, sb_error *err);
} operation;

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what, const char *detail) {
    fprintf(stderr, "bench_gpu: %s: %s\n", what, detail);
    exit(1);
}

static sb_status run_gemm(const work *w, sb_error *err) {
    return sb_gemm(w->ctx, NULL, w->a[0], w->a[1], NULL, w->a[2], err);
}
static sb_status run_attention(const work *w, sb_error *err) {
    const sb_attention_options options = {.size = sizeof options, .causal = 1};
    return sb_attention(w->ctx, &options, w->a[0], w->a[1], w->a[2], w->a[3], w->a[4], w->a[5],
                        err);
}
static sb_status run_copy(const work *w, sb_error *err) {
    return sb_array_copy(w->ctx, w->a[0], w->a[2], err);
}
static sb_status run_scale(const work *w, sb_error *err) {
    return sb_scale(w->ctx, w->a[0], 1.25, w->a[2], err);
}
static sb_status run_add(const work *w, sb_error *err) {
    return sb_binary(w->ctx, SB_ADD, w->a[0], w->a[1], w->a[2], err);
}
static sb_status run_exp(const work *w, sb_error *err) {
    return sb_unary(w->ctx, SB_EXP, w->a[0], w->a[2], err);
}
static sb_status run_sum(const work *w, sb_error *err) {
    return sb_reduce(w->ctx, SB_SUM, 1, w->a[0], w->a[3], err);
}
static sb_status run_softmax(const work *w, sb_error *err) {
    return sb_softmax(w->ctx, w->a[0], w->a[2], err);
}
static sb_status run_norm(const work *w, sb_error *err) {
    return sb_rms_norm(w->ctx, w->a[0], w->a[4], 1e-5, w->a[2], w->a[5], err);
}
static sb_status run_swiglu(const work *w, sb_error *err) {
    return sb_swiglu(w->ctx, w->a[0], w->a[1], w->a[2], err);
}

// Of zeros or of numbers from -2 to 2.
static sb_array *array(sb_context *ctx, sb_dtype dtype, int ndim, const int64_t *shape, int drawn) {
    sb_array *a = NULL;
    sb_error err;
    if (sb_array_new(ctx, dtype, ndim, shape, &a, &err)) fail("an array", err.message);
    if (!drawn) return a;
    const size_t size = (size_t)sb_array_size(a);
    float *values = malloc(size * sizeof *values);
    if (!values) fail("an array", "out of memory");
    uint32_t state = 1;
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(state >> 8) * 0x1p-22f - 2.0f;
    }
    if (sb_array_write(a, values, size * sizeof *values, &err)) fail("an array", err.message);
    free(values);
    return a;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Seconds a call. What was started is done when an element has been read.
static double measure(const operation *o, const work *w, sb_array *last) {
    double times[ROUNDS];
    char element[8];
    sb_error err;
    sb_array *flat = NULL, *one = NULL;
    if (sb_array_reshape(last, 1, (int64_t[]){sb_array_size(last)}, &flat, &err) ||
        sb_array_slice(flat, 0, 1, &one, &err))
        fail(o->name, err.message);
    int64_t calls = 1;
    for (int round = -1; round < ROUNDS; round++) {
        const double start = seconds();
        for (int64_t i = 0; i < calls; i++)
            if (o->run(w, &err)) fail(o->name, err.message);
        if (sb_array_read(one, element, sb_dtype_size(sb_array_dtype(one)), &err))
            fail(o->name, err.message);
        const double took = seconds() - start;
        if (round >= 0) {
            times[round] = took / (double)calls;
        } else if (took < 0.1) { // the first call compiled: a second tells how long one takes
            const double again = seconds();
            o->run(w, NULL);
            sb_array_read(one, element, sb_dtype_size(sb_array_dtype(one)), NULL);
            calls = 1 + (int64_t)(0.1 / (seconds() - again + 1e-6));
        }
    }
    sb_array_free(one), sb_array_free(flat);
    qsort(times, ROUNDS, sizeof *times, ascending);
    return times[ROUNDS / 2];
}

// What another program took for the operation of this name: lines "name<tab>seconds"; 0: unknown.
static double peer_of(const char *path, const char *name) {
    char line[256];
    double found = 0;
    FILE *file = path ? fopen(path, "r") : NULL;
    while (file && fgets(line, sizeof line, file)) {
        char *tab = strchr(line, '\t');
        if (tab && (size_t)(tab - line) == strlen(name) && strncmp(line, name, strlen(name)) == 0)
            found = atof(tab + 1);
    }
    if (file) fclose(file);
    return found;
}

typedef struct report {
    double copy, peak; // bytes and operations a second; 0: not known
    const char *peer;
    FILE *json;
    int lines;
} report;

static void tell(report *r, const operation *o, double took) {
    const double by_memory = r->copy > 0 ? o->bytes / r->copy : 0,
                 by_units = r->peak > 0 ? o->flops / r->peak : 0;
    const double floor = by_memory > by_units ? by_memory : by_units,
                 peer = peer_of(r->peer, o->name);
    const char *limit = r->peak == 0 && o->flops > 16 * o->bytes ? "arithmetic"
                        : by_units > by_memory                   ? "arithmetic"
                                                                 : "memory";
    printf("%-22s %10.3f %10.1f %10.1f %8s %8.3f", o->name, took * 1e3, o->flops / took * 1e-9,
           o->bytes / took * 1e-9, limit, floor / took);
    printf(peer > 0 ? " %10.3f\n" : "          -\n", peer / took);
    fflush(stdout);
    if (r->json)
        fprintf(r->json,
                "%s\n  {\"operation\": \"%s\", \"seconds\": %.9g, \"bytes\": %.0f, \"flops\": "
                "%.0f, \"limit\": \"%s\", \"floor_seconds\": %.9g, "
                "\"peer_seconds\": %.9g}",
                r->lines++ ? "," : "", o->name, took, o->bytes, o->flops, limit, floor, peer);
}

static void release(work *w) {
    for (int i = 0; i < MOST_ARRAYS; i++) sb_array_free(w->a[i]);
    memset(w->a, 0, sizeof w->a);
}

// Whether `only` (NULL: everything) has the first word of a name.
static int chosen(const char *only, const char *name) {
    const size_t length = strcspn(name, " ");
    for (const char *at = only; at; at = strchr(at, ' '), at = at ? at + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ' ' || at[length] == '\0')) return 1;
    return !only;
}

static void streams(sb_context *ctx, report *r, const char *only, int64_t n, int64_t d) {
    const double one = 4.0 * (double)n * (double)d;
    static const struct {
        const char *name;
        double arrays, flops;
        int out;
        sb_status (*run)(const work *w, sb_error *err);
    } all[] = {{"copy", 2, 0, 2, run_copy},     {"scale", 2, 1, 2, run_scale},
               {"add", 3, 1, 2, run_add},       {"sum of rows", 1, 1, 3, run_sum},
               {"exp", 2, 0, 2, run_exp},       {"softmax", 2, 0, 2, run_softmax},
               {"rms norm", 2, 4, 2, run_norm}, {"swiglu", 3, 2, 2, run_swiglu}};
    work w = {.ctx = ctx, .n = n, .d = d};
    for (int i = 0; i < 3; i++) w.a[i] = array(ctx, SB_F32, 2, (int64_t[]){n, d}, i < 2);
    w.a[3] = array(ctx, SB_F32, 1, (int64_t[]){n}, 0);
    w.a[4] = array(ctx, SB_F32, 1, (int64_t[]){d}, 1);
    w.a[5] = array(ctx, SB_F64, 1, (int64_t[]){n}, 0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        operation o = {
            .bytes = all[i].arrays * one, .flops = all[i].flops * one / 4, .run = all[i].run};
        snprintf(o.name, sizeof o.name, "%s %lldx%lld", all[i].name, (long long)n, (long long)d);
        if (i > 0 && !chosen(only, all[i].name))
            continue; // (the copy is what the others stand beside)
        const double took = measure(&o, &w, w.a[all[i].out]);
        if (i == 0) r->copy = o.bytes / took;
        tell(r, &o, took);
    }
    release(&w);
}

static void products(sb_context *ctx, report *r, int64_t n) {
    const double size = (double)n;
    operation o = {.bytes = 12 * size * size, .flops = 2 * size * size * size, .run = run_gemm};
    work w = {.ctx = ctx, .n = n};
    snprintf(o.name, sizeof o.name, "gemm %lld", (long long)n);
    for (int i = 0; i < 3; i++) w.a[i] = array(ctx, SB_F32, 2, (int64_t[]){n, n}, i < 2);
    tell(r, &o, measure(&o, &w, w.a[2]));
    release(&w);
}

static void attention(sb_context *ctx, report *r, int64_t t, int64_t heads,
                      int64_t d) { // causal: half of the pairs
    const double rows = (double)t * (double)heads;
    operation o = {.bytes = 16 * rows * (double)d,
                   .flops = 2 * rows * ((double)t + 1) * (double)d,
                   .run = run_attention};
    work w = {.ctx = ctx};
    snprintf(o.name, sizeof o.name, "attention %lldx%lldx%lld", (long long)t, (long long)heads,
             (long long)d);
    for (int i = 0; i < 4; i++) w.a[i] = array(ctx, SB_F32, 4, (int64_t[]){1, t, heads, d}, i < 3);
    w.a[4] = array(ctx, SB_F32, 3, (int64_t[]){1, t, heads}, 0);
    w.a[5] = array(ctx, SB_F64, 3, (int64_t[]){1, t, heads}, 0);
    tell(r, &o, measure(&o, &w, w.a[3]));
    release(&w);
}

int main(int argc, char **argv) {
    const char *device = NULL, *only = NULL, *json = NULL;
    int small = 0;
    report r = {0};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--small") == 0)
            small = 1;
        else if (value && strcmp(argv[i], "--device") == 0)
            device = argv[++i];
        else if (value && strcmp(argv[i], "--only") == 0)
            only = argv[++i];
        else if (value && strcmp(argv[i], "--peak") == 0)
            r.peak = atof(argv[++i]) * 1e9;
        else if (value && strcmp(argv[i], "--peer") == 0)
            r.peer = argv[++i];
        else if (value && strcmp(argv[i], "--json") == 0)
            json = argv[++i];
        else
            fail("usage",
                 "bench_gpu --device D [--only WORDS] [--small] [--peak GFLOPS] [--peer F] "
                 "[--json F]");
    }
    const sb_context_options options = {.size = sizeof options, .device = device, .trace = ""};
    sb_context *ctx = NULL;
    sb_error err;
    if (sb_context_new(&options, &ctx, &err)) fail("the device", err.message);
    r.json = json ? fopen(json, "w") : NULL;
    if (json && !r.json) fail(json, "cannot be written");
    if (r.json) fprintf(r.json, "[");
    printf("%s\n%-22s %10s %10s %10s %8s %8s %10s\n", sb_context_device(ctx), "operation", "ms",
           "GFLOP/s", "GB/s", "limit", "of floor", "peer/ours");
    streams(ctx, &r, only, small ? 64 : 32768, small ? 256 : 4096);
    for (int64_t n = small ? 128 : 1024; n <= (small ? 128 : 8192) && chosen(only, "gemm"); n *= 2)
        products(ctx, &r, n);
    if (chosen(only, "attention"))
        attention(ctx, &r, small ? 64 : 4096, small ? 2 : 32, small ? 32 : 128);
    if (r.json) fprintf(r.json, "\n]\n"), fclose(r.json);
    sb_context_free(ctx);
    return 0;
}
