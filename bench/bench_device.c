// SPDX-License-Identifier: Apache-2.0
// A device beside our own CPU device, in one process: products, attention forward and backward, a sum and a softmax. Paired
// runs, medians; the ratio is the CPU's time / the device's (above 1: the device is faster). On a device whose groups run on this
// machine's cores (PoCL) time is that of the processor, all threads together (--processor), else that of the clock.
//
//     bench_device --device opencl:0.0 [--processor] [--pairs N] [--size N] [--json F]
//
// --size: squares of so many rows (1,024), attention over so many positions. Outputs must be the same bytes.
#define _POSIX_C_SOURCE 200809L
#include "samebits.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ARRAYS = 8, MOST_PAIRS = 51, HEADS = 6, CHANNELS = 64 };

static clockid_t the_clock = CLOCK_MONOTONIC;
static sb_error err;

static double seconds(void) {
    struct timespec t;
    clock_gettime(the_clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(sb_status status) {
    if (status == SB_OK) return;
    fprintf(stderr, "bench_device: %s\n", err.message);
    exit(2);
}

// The arrays of one side; the same numbers on both.
typedef struct side {
    sb_context *ctx;
    sb_array *a[ARRAYS];
} side;

static void make(side *s, int i, int ndim, const int64_t *shape, bool filled) {
    int64_t size = 1;
    for (int axis = 0; axis < ndim; axis++) size *= shape[axis];
    float *values = malloc((size_t)size * sizeof *values);
    uint32_t state = 12345u + (uint32_t)i;
    if (!values) exit(2);
    for (int64_t j = 0; j < size; j++) {
        state = state * 1664525u + 1013904223u;
        values[j] = filled ? (float)(int32_t)state * 0x1p-31f : 0.0f;
    }
    need(sb_array_new(s->ctx, SB_F32, ndim, shape, &s->a[i], &err));
    need(sb_array_write(s->a[i], values, (size_t)size * sizeof *values, &err));
    free(values);
}

static void clear(side *s) {
    for (int i = 0; i < ARRAYS; i++) {
        sb_array_free(s->a[i]);
        s->a[i] = NULL;
    }
}

// ---- what is measured: make(side, size), then run it; a[0] is its output

static void squares(side *s, int64_t n) {
    const int64_t shape[2] = {n, n};
    for (int i = 0; i < 3; i++) make(s, i, 2, shape, i > 0);
}

static void gemm(side *s) {
    need(sb_gemm(s->ctx, NULL, s->a[1], s->a[2], NULL, s->a[0], &err));
}

static void gemm_turned(side *s) {
    const sb_gemm_options options = {.size = sizeof options, .transpose_b = 1};
    need(sb_gemm(s->ctx, &options, s->a[1], s->a[2], NULL, s->a[0], &err));
}

static void heads(side *s, int64_t n) { // y, q, k, v, dy, dq, dk, dv
    const int64_t shape[4] = {1, n, HEADS, CHANNELS};
    for (int i = 0; i < ARRAYS; i++) make(s, i, 4, shape, i > 0 && i < 5);
}

static void attention(side *s) {
    const sb_attention_options options = {.size = sizeof options, .causal = 1};
    need(sb_attention(s->ctx, &options, s->a[1], s->a[2], s->a[3], s->a[0], NULL, NULL, &err));
}

static void attention_both(side *s) {
    const sb_attention_options options = {.size = sizeof options, .causal = 1};
    int64_t shape[4];
    sb_array *maximum = NULL, *total = NULL;
    for (int axis = 0; axis < 4; axis++) shape[axis] = sb_array_shape(s->a[0])[axis];
    need(sb_array_new(s->ctx, SB_F32, 3, shape, &maximum, &err));
    need(sb_array_new(s->ctx, SB_F64, 3, shape, &total, &err));
    need(sb_attention(s->ctx, &options, s->a[1], s->a[2], s->a[3], s->a[0], maximum, total, &err));
    need(sb_attention_backward(s->ctx, &options, s->a[1], s->a[2], s->a[3], s->a[0], maximum, total, s->a[4], s->a[5], s->a[6], s->a[7], &err));
    sb_array_free(maximum);
    sb_array_free(total);
}

static void softmax(side *s) {
    need(sb_softmax(s->ctx, s->a[1], s->a[0], &err));
}

static const struct {
    const char *name;
    void (*arrays)(side *s, int64_t n);
    void (*run)(side *s);
    int outputs[3]; // beside a[0]
} rows[] = {{"gemm NN", squares, gemm, {0}},
            {"gemm NT", squares, gemm_turned, {0}},
            {"attention, causal, 6 heads of 64", heads, attention, {0}},
            {"attention and its backward", heads, attention_both, {5, 6, 7}},
            {"softmax of rows", squares, softmax, {0}}};

static double once(side *s, void (*run)(side *s)) {
    float word;
    sb_array *first = NULL, *one = NULL;
    const int64_t flat = (int64_t)sb_array_size(s->a[0]);
    need(sb_array_reshape(s->a[0], 1, &flat, &one, &err));
    need(sb_array_slice(one, 0, 1, &first, &err));
    const double start = seconds();
    run(s);
    need(sb_array_read(first, &word, sizeof word, &err)); // (waits for the device)
    const double taken = seconds() - start;
    sb_array_free(first);
    sb_array_free(one);
    return taken;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool same(const side *a, const side *b, int i) {
    const size_t bytes = (size_t)sb_array_size(a->a[i]) * sizeof(float);
    void *x = malloc(bytes), *y = malloc(bytes);
    if (!x || !y) exit(2);
    need(sb_array_read(a->a[i], x, bytes, &err));
    need(sb_array_read(b->a[i], y, bytes, &err));
    const bool equal = memcmp(x, y, bytes) == 0;
    free(x);
    free(y);
    return equal;
}

int main(int argc, char **argv) {
    const char *device = NULL, *json = NULL;
    int pairs = 5;
    int64_t size = 1024;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--device") == 0 && i + 1 < argc) device = argv[++i];
        else if (strcmp(argv[i], "--pairs") == 0 && i + 1 < argc) pairs = atoi(argv[++i]);
        else if (strcmp(argv[i], "--size") == 0 && i + 1 < argc) size = atoll(argv[++i]);
        else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) json = argv[++i];
        else if (strcmp(argv[i], "--processor") == 0) the_clock = CLOCK_PROCESS_CPUTIME_ID;
        else device = NULL, pairs = 0;
    }
    if (!device || pairs < 1 || pairs > MOST_PAIRS || size < 1) {
        fprintf(stderr, "bench_device: usage: bench_device --device D [--processor] [--pairs N] [--size N] [--json F]\n");
        return 2;
    }
    side cpu = {0}, other = {0};
    const sb_context_options here = {.size = sizeof here, .device = "cpu"}, there = {.size = sizeof there, .device = device};
    need(sb_context_new(&here, &cpu.ctx, &err));
    need(sb_context_new(&there, &other.ctx, &err));
    printf("%s beside the CPU at level %s, %d threads; size %lld, float32, %s\n", device, sb_context_isa(cpu.ctx), sb_context_threads(cpu.ctx),
           (long long)size, the_clock == CLOCK_MONOTONIC ? "the clock" : "time of the processor");
    bool good = true;
    FILE *file = json ? fopen(json, "w") : NULL;
    if (file) fprintf(file, "[");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        double taken[2][MOST_PAIRS], ratio[MOST_PAIRS];
        rows[r].arrays(&cpu, size);
        rows[r].arrays(&other, size);
        once(&cpu, rows[r].run), once(&other, rows[r].run); // (programs are compiled here)
        for (int p = 0; p < pairs; p++) {
            taken[0][p] = once(&cpu, rows[r].run);
            taken[1][p] = once(&other, rows[r].run);
            ratio[p] = taken[0][p] / taken[1][p];
        }
        bool equal = same(&cpu, &other, 0);
        for (int i = 0; i < 3 && rows[r].outputs[i]; i++) equal = same(&cpu, &other, rows[r].outputs[i]) && equal;
        good = good && equal;
        for (int s = 0; s < 2; s++) qsort(taken[s], (size_t)pairs, sizeof(double), ascending);
        qsort(ratio, (size_t)pairs, sizeof(double), ascending);
        printf("%-34s cpu %9.3f ms, device %9.3f ms, ratio %.2f%s\n", rows[r].name, 1e3 * taken[0][pairs / 2], 1e3 * taken[1][pairs / 2], ratio[pairs / 2],
               equal ? "" : "  DIFFERENT BYTES");
        if (file) fprintf(file, "%s\n {\"name\": \"%s\", \"cpu\": %.9g, \"device\": %.9g, \"ratio\": %.6g}", r ? "," : "", rows[r].name, taken[0][pairs / 2],
                          taken[1][pairs / 2], ratio[pairs / 2]);
        clear(&cpu), clear(&other);
    }
    if (file) fprintf(file, "\n]\n");
    if (json && (!file || fclose(file) != 0)) good = false;
    sb_context_free(cpu.ctx), sb_context_free(other.ctx);
    return good ? 0 : 1;
}
