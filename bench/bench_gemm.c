// SPDX-License-Identifier: Apache-2.0
// Products beside other libraries, in one process: paired runs (ours, every peer, ours, ...), medians, the spread between
// quartiles, and the ratio peer / ours of the fastest peer of each row (above 1: ours is faster). The peers' results are
// compared with ours to tolerance. One thread is timed by the processor time of the process, so that neighbours on the
// machine disturb less; more threads by the clock, and then everyone rests a while before each run, because the threads
// of some libraries go on looking for work for long.
//
//     bench_gemm [--threads N] [--pairs N] [--dtype float32|float64] [--shape M,N,K,NT] [--json F] [--peer LIBRARY]...
//
// Peers are loaded at run time, from paths (bench/peers.sh makes some) or names; without --peer it is libopenblas.so.0.
// Known are libraries with a CBLAS interface: OpenBLAS, with its 64-bit symbols too, and MKL. OPENBLAS_CORETYPE is left
// alone: the name of the core that OpenBLAS chose stands above the table.
#define _POSIX_C_SOURCE 200809L
#include "samebits.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112, MOST_PAIRS = 101, MOST_PEERS = 8 };

typedef struct shape {
    int m, n, k;
    const char *kind, *what; // "NT": op(A) op(B)
} shape;

// A peer's cblas_sgemm or cblas_dgemm, with integers of 32 or 64 bits.
#define GEMM_TYPE(name, integer, real) \
    typedef void (*name)(int order, int ta, int tb, integer m, integer n, integer k, real alpha, const real *a, integer lda, \
                         const real *b, integer ldb, real beta, real *c, integer ldc)
GEMM_TYPE(sgemm32, int, float);
GEMM_TYPE(sgemm64, int64_t, float);
GEMM_TYPE(dgemm32, int, double);
GEMM_TYPE(dgemm64, int64_t, double);

typedef struct peer {
    const char *name;
    bool wide; // integers of 64 bits
    void *gemm;
} peer;
static peer peers[MOST_PEERS];
static int peer_count;
static sb_dtype dtype = SB_F32;

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
    {512, 512, 512, "NT", ""},
    {1024, 1024, 1024, "NT", ""},
    {2048, 2048, 2048, "NT", ""},
    {512, 512, 512, "TN", ""},
    {1024, 1024, 1024, "TN", ""},
    {2048, 2048, 2048, "TN", ""},
    {1000, 1000, 1000, "NN", "edges"},
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

static void rest(void) {
    const struct timespec t = {0, 150000000};
    if (timer == CLOCK_MONOTONIC) nanosleep(&t, NULL);
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

static sb_array *matrix(sb_context *ctx, int rows, int columns, void *data) {
    sb_array *out = NULL;
    sb_error err;
    const int64_t dims[2] = {rows, columns};
    if (sb_array_wrap(ctx, dtype, 2, dims, data, &out, &err) != SB_OK) fail("array", &err);
    return out;
}

static void *numbers(int64_t count) {
    static uint64_t state = 1;
    const size_t item = sb_dtype_size(dtype);
    char *x = aligned_alloc(64, ((size_t)count * item + 63) / 64 * 64);
    if (!x) fail("out of memory", NULL);
    for (int64_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double value = (double)(int32_t)(state >> 32) * 0x1p-31;
        const float narrow = (float)value;
        memcpy(x + (size_t)i * item, dtype == SB_F32 ? (const void *)&narrow : (const void *)&value, item);
    }
    return x;
}

static double entry(const void *x, int64_t i) {
    return dtype == SB_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static void call(const peer *p, const shape *s, const void *a, const void *b, void *c) {
    const bool ta = s->kind[0] == 'T', tb = s->kind[1] == 'T';
    const int one = ta ? TRANSPOSED : PLAIN, other = tb ? TRANSPOSED : PLAIN, lda = ta ? s->m : s->k, ldb = tb ? s->k : s->n;
#define CALL(type, real) \
    do { \
        type gemm; \
        memcpy(&gemm, &p->gemm, sizeof gemm); \
        gemm(ROW_MAJOR, one, other, s->m, s->n, s->k, (real)1, a, lda, b, ldb, (real)0, c, s->n); \
    } while (0)
    if (dtype == SB_F32 && p->wide) CALL(sgemm64, float);
    else if (dtype == SB_F32) CALL(sgemm32, float);
    else if (p->wide) CALL(dgemm64, double);
    else CALL(dgemm32, double);
}

// Loads a library; its functions may have the prefix and suffix of numpy's OpenBLAS. MKL counts its threads elsewhere.
static void add_peer(const char *path, int threads) {
    static const char *const forms[][2] = {{"", ""}, {"scipy_", "64_"}, {"", "64_"}, {"scipy_", ""}};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "bench_gemm: %s\n", dlerror());
        return;
    }
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "%scblas_%cgemm%s", forms[i][0], dtype == SB_F32 ? 's' : 'd', forms[i][1]);
        peer *p = &peers[peer_count];
        p->gemm = dlsym(library, name);
        if (!p->gemm) continue;
        p->wide = forms[i][1][0] != '\0';
        p->name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
        void (*set)(int) = NULL;
        char *(*core)(void) = NULL;
        snprintf(name, sizeof name, "%sopenblas_set_num_threads%s", forms[i][0], forms[i][1]);
        *(void **)&set = dlsym(library, name);
        snprintf(name, sizeof name, "%sopenblas_get_corename%s", forms[i][0], forms[i][1]);
        *(void **)&core = dlsym(library, name);
        if (!set) *(void **)&set = dlsym(library, "MKL_Set_Num_Threads");
        if (set) set(threads);
        printf("peer %d: %s%s%s%s\n", ++peer_count, p->name, core ? " (" : "", core ? core() : "", core ? ")" : "");
        return;
    }
    fprintf(stderr, "bench_gemm: %s has no CBLAS interface that is known here\n", path);
}

// One shape; writes its row (and JSON). Returns false if a peer's result is not ours.
static bool measure(sb_context *ctx, const shape *p, int pairs, FILE *json, bool first) {
    const bool ta = p->kind[0] == 'T', tb = p->kind[1] == 'T';
    const double work = 2.0 * p->m * p->n * p->k;
    void *a = numbers((int64_t)p->m * p->k), *b = numbers((int64_t)p->k * p->n);
    void *c = numbers((int64_t)p->m * p->n), *d = numbers((int64_t)p->m * p->n);
    sb_array *aa = matrix(ctx, ta ? p->k : p->m, ta ? p->m : p->k, a), *bb = matrix(ctx, tb ? p->n : p->k, tb ? p->k : p->n, b);
    sb_array *cc = matrix(ctx, p->m, p->n, c);
    const sb_gemm_options o = {.size = sizeof o, .transpose_a = ta, .transpose_b = tb};
    static double times[1 + MOST_PEERS][MOST_PAIRS], ratios[1 + MOST_PEERS][MOST_PAIRS];
    const int repeat = work > 4e8 ? 1 : (int)(4e8 / work) + 1;
    bool same = true;
    for (int i = -1; i < pairs; i++) { // (the first pair warms up)
        for (int who = 0; who <= peer_count; who++) {
            sb_error err;
            double start = 0;
            rest();
            for (int r = timer == CLOCK_MONOTONIC ? -1 : 0; r < repeat; r++) { // (after a rest the first call warms up, too)
                if (r == 0) start = seconds();
                if (who > 0) call(&peers[who - 1], p, a, b, d);
                else if (sb_gemm(ctx, &o, aa, bb, NULL, cc, &err) != SB_OK) fail("gemm", &err);
            }
            if (i < 0) continue;
            times[who][i] = (seconds() - start) / repeat;
            ratios[who][i] = times[who][i] / times[0][i];
        }
        for (int64_t j = 0; j < (int64_t)p->m * p->n && peer_count && i == 0; j++) { // (of the last peer)
            const double gap = entry(c, j) - entry(d, j), unit = dtype == SB_F32 ? 1e-5 : 1e-13;
            same = same && gap * gap <= unit * unit * p->k; // entries of size sqrt(k)/3
        }
    }
    int best = 1;
    for (int who = 2; who <= peer_count; who++)
        if (quantile(times[who], pairs, 0.5) < quantile(times[best], pairs, 0.5)) best = who;
    const double mine = quantile(times[0], pairs, 0.5), ratio = quantile(ratios[best], pairs, 0.5);
    printf("%5d %5d %6d %s  %8.1f %5.1f%%", p->m, p->n, p->k, p->kind, work / mine * 1e-9,
           100.0 * (quantile(times[0], pairs, 0.75) - quantile(times[0], pairs, 0.25)) / mine);
    for (int who = 1; who <= peer_count; who++) {
        const double other = quantile(times[who], pairs, 0.5);
        printf(" %8.1f %5.1f%%", work / other * 1e-9, 100.0 * (quantile(times[who], pairs, 0.75) - quantile(times[who], pairs, 0.25)) / other);
    }
    printf("  %-46s", p->what);
    if (peer_count) printf(" %6.3f%s", ratio, same ? "" : "  RESULTS DIFFER");
    printf("\n");
    if (json) {
        fprintf(json, "%s\n  {\"m\": %d, \"n\": %d, \"k\": %d, \"kind\": \"%s\", \"ours_gflops\": %.3f", first ? "" : ",", p->m,
                p->n, p->k, p->kind, work / mine * 1e-9);
        if (peer_count)
            fprintf(json, ", \"peer_gflops\": %.3f, \"peer\": \"%s\", \"ratio\": %.4f, \"agree\": %s",
                    work / quantile(times[best], pairs, 0.5) * 1e-9, peers[best - 1].name, ratio, same ? "true" : "false");
        fprintf(json, "}");
    }
    fflush(stdout);
    sb_array_free(aa), sb_array_free(bb), sb_array_free(cc);
    free(a), free(b), free(c), free(d);
    return same;
}

int main(int argc, char **argv) {
    static const char usage[] = "usage: bench_gemm [--threads N] [--pairs N] [--dtype float32|float64] [--shape M,N,K,NT] "
                                "[--json F] [--peer LIBRARY]...";
    int threads = 1, pairs = 9, named = 0;
    const char *path = NULL, *paths[MOST_PEERS];
    char kind[3] = "";
    shape one = {.kind = kind, .what = ""};
    for (int i = 1; i < argc; i += 2) {
        const char *value = argv[i + 1];
        if (i + 1 == argc) fail(usage, NULL);
        if (strcmp(argv[i], "--threads") == 0) threads = atoi(value);
        else if (strcmp(argv[i], "--pairs") == 0) pairs = atoi(value);
        else if (strcmp(argv[i], "--dtype") == 0) dtype = strcmp(value, "float64") == 0 ? SB_F64 : SB_F32;
        else if (strcmp(argv[i], "--shape") == 0 && sscanf(value, "%d,%d,%d,%2s", &one.m, &one.n, &one.k, kind) == 4) continue;
        else if (strcmp(argv[i], "--json") == 0) path = value;
        else if (strcmp(argv[i], "--peer") == 0 && named < MOST_PEERS) paths[named++] = value;
        else fail(usage, NULL);
    }
    if (threads < 1 || pairs < 1 || pairs > MOST_PAIRS) fail("threads from 1, pairs from 1 to 101", NULL);
    if (threads > 1) timer = CLOCK_MONOTONIC;
    setenv("KMP_BLOCKTIME", "100", 0); // (milliseconds: MKL's threads sleep before we rest no longer)
    const sb_context_options o = {.size = sizeof o, .threads = threads};
    sb_context *ctx = NULL;
    sb_error err;
    if (sb_context_new(&o, &ctx, &err) != SB_OK) fail("context", &err);
    printf("samebits %s, %s, %d thread%s, %s; %d pairs, medians, spread between quartiles\n", sb_version(), sb_context_isa(ctx),
           threads, threads == 1 ? "" : "s", sb_dtype_name(dtype), pairs);
    if (!named) paths[named++] = "libopenblas.so.0";
    for (int i = 0; i < named; i++) add_peer(paths[i], threads);
    printf("    m     n      k        ours spread");
    for (int i = 1; i <= peer_count; i++) printf("   peer %d spread", i);
    printf("  %-46s  ratio\n", "");
    FILE *json = path ? fopen(path, "w") : NULL;
    if (path && !json) fail("cannot write the file of --json", NULL);
    if (json) fprintf(json, "{\"isa\": \"%s\", \"threads\": %d, \"dtype\": \"%s\", \"rows\": [", sb_context_isa(ctx), threads, sb_dtype_name(dtype));
    bool same = true;
    if (one.m)
        same = measure(ctx, &one, pairs, json, true);
    else
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) same &= measure(ctx, &shapes[i], pairs, json, i == 0);
    if (json) {
        fprintf(json, "]}\n");
        fclose(json);
    }
    sb_context_free(ctx);
    return same ? 0 : 1;
}
