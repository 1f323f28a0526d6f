// SPDX-License-Identifier: Apache-2.0
// Products beside other libraries, in one process: paired runs (ours, every peer, ours, ...), medians, the spread between
// quartiles, and the ratio peer / ours of the fastest peer of each row (above 1: ours is faster). Every peer's result is
// compared with ours to tolerance. One thread is timed by the processor time of the process, so that neighbours on the
// machine disturb less; more threads by the clock, and then everyone rests a while before each run, because the threads
// of some libraries go on looking for work for long. A^T A (kind AA) has two runs of each peer: its product, and its
// product of a matrix with itself (syrk), which writes one triangle where ours writes all; the faster one counts. A peer
// that took four times as long as another in the first pair of a row, its answer checked, sits out the rest of the row.
//
//     bench_gemm [--threads N] [--pairs N] [--short] [--dtype float32|float64] [--shape M,N,K,NT] [--json F]
//                [--peer LIBRARY]...
//
// --short leaves out some shapes and lets a row have fewer pairs than --pairs, never fewer than three (or --pairs), once
// it took two seconds.
// Peers are loaded at run time, from paths (bench/peers.sh makes some) or names; without --peer it is libopenblas.so.0.
// Known are libraries with a CBLAS interface: OpenBLAS, with its 64-bit symbols too, and MKL. OPENBLAS_CORETYPE is left
// alone: the name of the core that OpenBLAS chose stands above the table.
#define _POSIX_C_SOURCE 200809L
#include "samebits.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112, UPPER = 121, MOST_PAIRS = 101, MOST_PEERS = 8 };

typedef struct shape {
    int m, n, k;
    const char *kind, *what; // "NT": op(A) op(B); "AA": A^T A
    bool long_only;          // not in the set of --short
} shape;

// A peer's cblas_sgemm or cblas_dgemm, cblas_ssyrk or cblas_dsyrk, with integers of 32 or 64 bits.
#define GEMM_TYPE(name, integer, real) \
    typedef void (*name)(int order, int ta, int tb, integer m, integer n, integer k, real alpha, const real *a, integer lda, \
                         const real *b, integer ldb, real beta, real *c, integer ldc)
GEMM_TYPE(sgemm32, int, float);
GEMM_TYPE(sgemm64, int64_t, float);
GEMM_TYPE(dgemm32, int, double);
GEMM_TYPE(dgemm64, int64_t, double);
#define SYRK_TYPE(name, integer, real) \
    typedef void (*name)(int order, int triangle, int transposed, integer n, integer k, real alpha, const real *a, integer lda, \
                         real beta, real *c, integer ldc)
SYRK_TYPE(ssyrk32, int, float);
SYRK_TYPE(ssyrk64, int64_t, float);
SYRK_TYPE(dsyrk32, int, double);
SYRK_TYPE(dsyrk64, int64_t, double);

typedef struct peer {
    const char *name;
    bool wide; // integers of 64 bits
    void *gemm, *syrk;
} peer;
static peer peers[MOST_PEERS];
static int peer_count;
static sb_dtype dtype = SB_F32;

static const shape shapes[] = {
    {64, 256, 256, "NT", "64 tokens, width 256: forward", false},
    {64, 256, 256, "NN", "the same, gradient of the input", false},
    {256, 256, 64, "TN", "the same, gradient of the weight", false},
    {64, 128, 128, "NT", "width 128", true},
    {64, 688, 256, "NT", "feed-forward", false},
    {64, 256, 688, "NN", "feed-forward, gradient of the input", true},
    {688, 256, 64, "TN", "feed-forward, gradient of the weight", true},
    {64, 256, 688, "NT", "feed-forward, down", true},
    {1024, 256, 256, "NT", "1,024 tokens", false},
    {1024, 688, 256, "NT", "1,024 tokens, feed-forward", false},
    {688, 256, 1024, "TN", "1,024 tokens, gradient of the weight", false},
    {2048, 1024, 384, "NT", "2,048 tokens, GPT-like", false},
    {2048, 384, 1024, "NN", "the same, gradient of the input", false},
    {256, 256, 256, "NN", "squares", false},
    {512, 512, 512, "NN", "", false},
    {1024, 1024, 1024, "NN", "", false},
    {2048, 2048, 2048, "NN", "", false},
    {256, 256, 256, "NT", "", false},
    {512, 512, 512, "NT", "", false},
    {1024, 1024, 1024, "NT", "", false},
    {2048, 2048, 2048, "NT", "", false},
    {256, 256, 256, "TN", "", false},
    {512, 512, 512, "TN", "", false},
    {1024, 1024, 1024, "TN", "", false},
    {2048, 2048, 2048, "TN", "", false},
    {1000, 1000, 1000, "NN", "edges", true},
    {64, 64, 16384, "NN", "deep", true},
    {8, 1024, 1024, "NT", "eight tokens", true},
    {1, 4096, 4096, "NN", "one token, rows of W", false},
    {1, 4096, 4096, "NT", "one token, columns of W", false},
    {220, 220, 2000000, "AA", "two million observations of 220", false},
};

static clockid_t timer = CLOCK_PROCESS_CPUTIME_ID;
static double seconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(void) { return seconds_of(timer); }

static void rest(void) {
    const struct timespec t = {0, 60000000}; // (OpenBLAS looks for work for 2^26 cycles)
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

static bool of_itself(const shape *s) { return strcmp(s->kind, "AA") == 0; }
static bool left(const shape *s) { return s->kind[0] == 'T' || of_itself(s); } // is the first matrix transposed?

static void call_syrk(const peer *p, const shape *s, const void *a, void *c) {
#define CALL(type, real) \
    do { \
        type syrk; \
        memcpy(&syrk, &p->syrk, sizeof syrk); \
        syrk(ROW_MAJOR, UPPER, TRANSPOSED, s->n, s->k, (real)1, a, s->n, (real)0, c, s->n); \
    } while (0)
    if (dtype == SB_F32 && p->wide) CALL(ssyrk64, float);
    else if (dtype == SB_F32) CALL(ssyrk32, float);
    else if (p->wide) CALL(dsyrk64, double);
    else CALL(dsyrk32, double);
#undef CALL
}

static void call(const peer *p, const shape *s, const void *a, const void *b, void *c) {
    const bool ta = left(s), tb = s->kind[1] == 'T';
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
        snprintf(name, sizeof name, "%scblas_%csyrk%s", forms[i][0], dtype == SB_F32 ? 's' : 'd', forms[i][1]);
        p->syrk = dlsym(library, name);
        if (!p->syrk) continue;
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

// Is a peer's result ours, to tolerance? Of syrk's only the triangle counts.
static bool agree(const shape *p, const void *ours, const void *theirs, bool triangle) {
    const double unit = dtype == SB_F32 ? 1e-5 : 1e-12, typical = sqrt((double)p->k);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = triangle ? i : 0; j < p->n; j++) {
            const double x = entry(ours, i * p->n + j), gap = fabs(x - entry(theirs, i * p->n + j));
            if (!(gap <= unit * (typical + fabs(x)))) return false; // most entries have the size sqrt(k)/3
        }
    return true;
}

// One shape; writes its row (and JSON). Returns false if a peer's result is not ours. Contender 0 is ours, then come the
// peers' products, then, of A^T A, the peers' syrk.
static bool measure(sb_context *ctx, const shape *p, int most, double enough, FILE *json, bool first) {
    const bool ta = left(p), tb = p->kind[1] == 'T', itself = of_itself(p);
    const double work = 2.0 * p->m * p->n * p->k;
    void *a = numbers((int64_t)p->m * p->k), *b = itself ? a : numbers((int64_t)p->k * p->n);
    void *c = numbers((int64_t)p->m * p->n), *d = numbers((int64_t)p->m * p->n);
    sb_array *aa = matrix(ctx, ta ? p->k : p->m, ta ? p->m : p->k, a);
    sb_array *bb = itself ? aa : matrix(ctx, tb ? p->n : p->k, tb ? p->k : p->n, b), *cc = matrix(ctx, p->m, p->n, c);
    const sb_gemm_options o = {.size = sizeof o, .transpose_a = ta, .transpose_b = tb};
    static double times[1 + 2 * MOST_PEERS][MOST_PAIRS], ratios[1 + 2 * MOST_PEERS][MOST_PAIRS];
    const int contenders = itself ? 1 + 2 * peer_count : 1 + peer_count, repeat = work > 4e8 ? 1 : (int)(4e8 / work) + 1;
    const int warm = work > 1e11 ? 0 : -1; // pair -1 warms up; a product of seconds needs none
    const double begin = seconds_of(CLOCK_MONOTONIC);
    bool same = true, out[1 + 2 * MOST_PEERS] = {false};
    double once[1 + 2 * MOST_PEERS]; // the times of the first pair
    int pairs = 0;
    for (int i = warm; i < most && (i < 3 || seconds_of(CLOCK_MONOTONIC) - begin < enough); i++, pairs = i) {
        for (int who = 0; who < contenders; who++) {
            if (out[who]) continue;
            const bool syrk = who > peer_count;
            sb_error err;
            double start = 0;
            if (i == warm && who) memset(d, 0, (size_t)p->m * (size_t)p->n * sb_dtype_size(dtype));
            rest();
            for (int r = timer == CLOCK_MONOTONIC && warm ? -1 : 0; r < repeat; r++) { // (after a rest a first call warms up, too)
                if (r == 0) start = seconds();
                if (syrk) call_syrk(&peers[who - 1 - peer_count], p, a, d);
                else if (who > 0) call(&peers[who - 1], p, a, b, d);
                else if (sb_gemm(ctx, &o, aa, bb, NULL, cc, &err) != SB_OK) fail("gemm", &err);
            }
            const double time = (seconds() - start) / repeat;
            if (i == warm) once[who] = time;
            if (i == warm && who && !agree(p, c, d, syrk)) {
                printf("%s%s: RESULTS DIFFER\n", peers[(who - 1) % peer_count].name, syrk ? ", syrk" : "");
                same = false;
            }
            if (i < 0) continue;
            times[who][i] = time;
            ratios[who][i] = time / times[0][i];
        }
        for (int who = 1; who < contenders && i == warm; who++)
            for (int other = 1; other < contenders; other++) out[who] = out[who] || once[who] > 4 * once[other];
    }
    int best = 1;
    while (out[best]) best++;
    for (int who = best + 1; who < contenders; who++)
        if (!out[who] && quantile(times[who], pairs, 0.5) < quantile(times[best], pairs, 0.5)) best = who;
    const double mine = quantile(times[0], pairs, 0.5);
    printf("%5d %5d %7d %s %3d %8.1f %5.1f%%", p->m, p->n, p->k, p->kind, pairs, work / mine * 1e-9,
           100.0 * (quantile(times[0], pairs, 0.75) - quantile(times[0], pairs, 0.25)) / mine);
    if (json)
        fprintf(json, "%s\n  {\"m\": %d, \"n\": %d, \"k\": %d, \"kind\": \"%s\", \"pairs\": %d, \"ours_gflops\": %.3f", first ? "" : ",",
                p->m, p->n, p->k, p->kind, pairs, work / mine * 1e-9);
    if (peer_count) {
        const double theirs = quantile(times[best], pairs, 0.5), ratio = quantile(ratios[best], pairs, 0.5);
        const double low = quantile(ratios[best], pairs, 0.25), high = quantile(ratios[best], pairs, 0.75);
        const char *name = peers[(best - 1) % peer_count].name, *how = best > peer_count ? ", syrk" : "";
        const int number = (best - 1) % peer_count + 1;
        printf(" %8.1f %7.3f %6.3f-%-6.3f  %d%-7s", work / theirs * 1e-9, ratio, low, high, number, how);
        if (json)
            fprintf(json, ", \"peer_gflops\": %.3f, \"peer\": \"%s%s\", \"ratio\": %.4f, \"low\": %.4f, \"high\": %.4f, \"agree\": %s",
                    work / theirs * 1e-9, name, how, ratio, low, high, same ? "true" : "false");
    }
    printf("  %s\n", p->what);
    if (json) fprintf(json, "}");
    fflush(stdout);
    if (!itself) sb_array_free(bb), free(b);
    sb_array_free(aa), sb_array_free(cc);
    free(a), free(c), free(d);
    return same;
}

int main(int argc, char **argv) {
    static const char usage[] = "usage: bench_gemm [--threads N] [--pairs N] [--short] [--dtype float32|float64] "
                                "[--shape M,N,K,NT] [--json F] [--peer LIBRARY]...";
    bool brief = false;
    int threads = 1, pairs = 9, named = 0;
    const char *path = NULL, *paths[MOST_PEERS];
    char kind[3] = "";
    shape one = {.kind = kind, .what = ""};
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--short") == 0) {
            brief = true, i--;
            continue;
        }
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
    setenv("KMP_BLOCKTIME", "30", 0); // (milliseconds: MKL's threads sleep before we rest no longer)
    const sb_context_options o = {.size = sizeof o, .threads = threads};
    sb_context *ctx = NULL;
    sb_error err;
    if (sb_context_new(&o, &ctx, &err) != SB_OK) fail("context", &err);
    printf("samebits %s, %s, %d thread%s, %s; GFLOP/s, medians of up to %d pairs; ratio: fastest peer's time / ours\n", sb_version(), sb_context_isa(ctx),
           threads, threads == 1 ? "" : "s", sb_dtype_name(dtype), pairs);
    if (!named) paths[named++] = "libopenblas.so.0";
    for (int i = 0; i < named; i++) add_peer(paths[i], threads);
    printf("    m     n       k    pairs  ours spread     peer   ratio   quartiles    peer\n"); // of the fastest peer
    FILE *json = path ? fopen(path, "w") : NULL;
    if (path && !json) fail("cannot write the file of --json", NULL);
    if (json) fprintf(json, "{\"isa\": \"%s\", \"threads\": %d, \"dtype\": \"%s\", \"rows\": [", sb_context_isa(ctx), threads, sb_dtype_name(dtype));
    const double enough = brief ? 2.0 : 1e9; // seconds a row
    bool same = true;
    if (one.m)
        same = measure(ctx, &one, pairs, enough, json, true);
    else
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            if (!(brief && shapes[i].long_only)) same &= measure(ctx, &shapes[i], pairs, enough, json, i == 0);
    if (json) {
        fprintf(json, "]}\n");
        fclose(json);
    }
    sb_context_free(ctx);
    return same ? 0 : 1;
}
