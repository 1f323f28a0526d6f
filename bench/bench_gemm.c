// SPDX-License-Identifier: Apache-2.0
// Products beside OpenBLAS, in one process: paired runs (ours, the peer, ours, ...), medians, the spread, and the ratio
// peer / ours (above 1: ours is faster). The peer's result is compared with ours to tolerance. One thread is timed by
// the processor time of the process, so that neighbours on the machine disturb less; more threads by the clock.
//
//     bench_gemm [--threads N] [--pairs N] [--json F]
//
// The peer is looked for at run time (libopenblas.so.0); without it the table has ours alone. OPENBLAS_CORETYPE is left
// alone: the name of the core that OpenBLAS chose stands above the table.
#include "samebits.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void (*peer_gemm)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                          int ldb, float beta, float *c, int ldc);
enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112, MOST_PAIRS = 101 };

typedef struct shape {
    int m, n, k;
    const char *kind, *what; // "NT": op(A) op(B)
} shape;

static const shape shapes[] = {
    {64, 256, 256, "NT", "a shard of 64 tokens, width 256: forward"},
    {64, 256, 256, "NN", "the same, gradient of the input"},
    {256, 256, 64, "TN", "the same, gradient of the weight"},
    {64, 128, 128, "NT", "width 128"},
    {64, 688, 256, "NT", "feed-forward"},
    {64, 256, 688, "NN", "feed-forward, gradient of the input"},
    {688, 256, 64, "TN", "feed-forward, gradient of the weight"},
    {64, 256, 688, "NT", "feed-forward, down"},
    {1024, 256, 256, "NT", "1,024 tokens"},
    {1024, 688, 256, "NT", "1,024 tokens, feed-forward"},
    {688, 256, 1024, "TN", "1,024 tokens, gradient of the weight"},
    {2048, 1024, 384, "NT", "2,048 tokens, GPT-like"},
    {2048, 384, 1024, "NN", "2,048 tokens, GPT-like, gradient of the input"},
    {256, 256, 256, "NN", "squares"},
    {512, 512, 512, "NN", ""},
    {1024, 1024, 1024, "NN", ""},
    {2048, 2048, 2048, "NN", ""},
    {64, 64, 16384, "NN", "deep"},
    {8, 1024, 1024, "NT", "eight tokens"},
    {1, 4096, 4096, "NN", "one token, rows of W"},
    {1, 4096, 4096, "NT", "one token, columns of W"},
};

static clockid_t timer = CLOCK_PROCESS_CPUTIME_ID;
static double seconds(void) {
    struct timespec t;
    clock_gettime(timer, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double quantile(const double *values, int count, double at) {
    double sorted[MOST_PAIRS];
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    return sorted[(int)(at * (count - 1) + 0.5)];
}

static void fail(const char *what, const sb_error *err) {
    fprintf(stderr, "bench_gemm: %s%s%s\n", what, err ? ": " : "", err ? err->message : "");
    exit(1);
}

static sb_array *matrix(sb_context *ctx, int rows, int columns, float *data) {
    sb_array *out = NULL;
    sb_error err;
    const int64_t dims[2] = {rows, columns};
    if (sb_array_wrap(ctx, SB_F32, 2, dims, data, &out, &err) != SB_OK) fail("array", &err);
    return out;
}

static float *numbers(int64_t count) {
    static uint64_t state = 1;
    float *x = aligned_alloc(64, ((size_t)count * sizeof *x + 63) / 64 * 64);
    if (!x) fail("out of memory", NULL);
    for (int64_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (float)(int32_t)(state >> 32) * 0x1p-31f;
    }
    return x;
}

// One shape; writes its row (and JSON). Returns false if the peer's result is not ours.
static bool measure(sb_context *ctx, peer_gemm peer, const shape *p, int pairs, FILE *json, bool first) {
    const bool ta = p->kind[0] == 'T', tb = p->kind[1] == 'T';
    const double work = 2.0 * p->m * p->n * p->k;
    float *a = numbers((int64_t)p->m * p->k), *b = numbers((int64_t)p->k * p->n);
    float *c = numbers((int64_t)p->m * p->n), *d = numbers((int64_t)p->m * p->n);
    sb_array *aa = matrix(ctx, ta ? p->k : p->m, ta ? p->m : p->k, a), *bb = matrix(ctx, tb ? p->n : p->k, tb ? p->k : p->n, b);
    sb_array *cc = matrix(ctx, p->m, p->n, c);
    const sb_gemm_options o = {.size = sizeof o, .transpose_a = ta, .transpose_b = tb};
    double ours[MOST_PAIRS], theirs[MOST_PAIRS], ratios[MOST_PAIRS];
    const int repeat = work > 4e8 ? 1 : (int)(4e8 / work) + 1;
    bool same = true;
    for (int i = -1; i < pairs; i++) { // (the first pair warms up)
        sb_error err;
        double start = seconds();
        for (int r = 0; r < repeat; r++)
            if (sb_gemm(ctx, &o, aa, bb, NULL, cc, &err) != SB_OK) fail("gemm", &err);
        double middle = seconds();
        for (int r = 0; r < repeat && peer; r++)
            peer(ROW_MAJOR, ta ? TRANSPOSED : PLAIN, tb ? TRANSPOSED : PLAIN, p->m, p->n, p->k, 1.0f, a, ta ? p->m : p->k, b,
                 tb ? p->k : p->n, 0.0f, d, p->n);
        double end = seconds();
        if (i < 0) continue;
        ours[i] = (middle - start) / repeat;
        theirs[i] = (end - middle) / repeat;
        ratios[i] = theirs[i] / ours[i];
    }
    for (int64_t i = 0; i < (int64_t)p->m * p->n && peer; i++) {
        float gap = c[i] - d[i];
        same = same && gap * gap <= 1e-10f * (float)p->k; // entries of size sqrt(k)/3
    }
    double mine = quantile(ours, pairs, 0.5), other = quantile(theirs, pairs, 0.5);
    printf("%5d %5d %6d %s  %8.1f %5.1f%%", p->m, p->n, p->k, p->kind, work / mine * 1e-9,
           100.0 * (quantile(ours, pairs, 0.75) - quantile(ours, pairs, 0.25)) / mine);
    if (peer)
        printf(" %8.1f %5.1f%%  %-46s %6.3f%s\n", work / other * 1e-9,
               100.0 * (quantile(theirs, pairs, 0.75) - quantile(theirs, pairs, 0.25)) / other, p->what, quantile(ratios, pairs, 0.5),
               same ? "" : "  RESULTS DIFFER");
    else
        printf("  %s\n", p->what);
    if (json) {
        fprintf(json, "%s\n  {\"m\": %d, \"n\": %d, \"k\": %d, \"kind\": \"%s\", \"ours_gflops\": %.3f", first ? "" : ",", p->m,
                p->n, p->k, p->kind, work / mine * 1e-9);
        if (peer)
            fprintf(json, ", \"peer_gflops\": %.3f, \"ratio\": %.4f, \"agree\": %s", work / other * 1e-9, quantile(ratios, pairs, 0.5),
                    same ? "true" : "false");
        fprintf(json, "}");
    }
    fflush(stdout);
    sb_array_free(aa), sb_array_free(bb), sb_array_free(cc);
    free(a), free(b), free(c), free(d);
    return same;
}

int main(int argc, char **argv) {
    int threads = 1, pairs = 9;
    const char *path = NULL;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && strcmp(argv[i], "--threads") == 0) threads = atoi(argv[i + 1]);
        else if (i + 1 < argc && strcmp(argv[i], "--pairs") == 0) pairs = atoi(argv[i + 1]);
        else if (i + 1 < argc && strcmp(argv[i], "--json") == 0) path = argv[i + 1];
        else fail("usage: bench_gemm [--threads N] [--pairs N] [--json F]", NULL);
    }
    if (threads < 1 || pairs < 1 || pairs > MOST_PAIRS) fail("threads from 1, pairs from 1 to 101", NULL);
    if (threads > 1) timer = CLOCK_MONOTONIC;
    const sb_context_options o = {.size = sizeof o, .threads = threads};
    sb_context *ctx = NULL;
    sb_error err;
    if (sb_context_new(&o, &ctx, &err) != SB_OK) fail("context", &err);

    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    peer_gemm peer = NULL;
    const char *core = "absent";
    if (library) {
        void (*set_threads)(int) = NULL;
        char *(*name)(void) = NULL;
        *(void **)&peer = dlsym(library, "cblas_sgemm");
        *(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
        *(void **)&name = dlsym(library, "openblas_get_corename");
        if (set_threads) set_threads(threads);
        if (name) core = name();
    }
    printf("samebits %s, %s, %d thread%s; OpenBLAS: %s; %d pairs, medians, spread between quartiles\n", sb_version(),
           sb_context_isa(ctx), threads, threads == 1 ? "" : "s", core, pairs);
    printf("    m     n      k        ours spread     peer spread  %-46s  ratio\n", "");
    FILE *json = path ? fopen(path, "w") : NULL;
    if (path && !json) fail("cannot write the file of --json", NULL);
    if (json) fprintf(json, "{\"isa\": \"%s\", \"threads\": %d, \"peer\": \"OpenBLAS %s\", \"rows\": [", sb_context_isa(ctx), threads, core);
    bool same = true;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) same &= measure(ctx, peer, &shapes[i], pairs, json, i == 0);
    if (json) {
        fprintf(json, "]}\n");
        fclose(json);
    }
    sb_context_free(ctx);
    return same ? 0 : 1;
}
