// SPDX-License-Identifier: Apache-2.0
// Unary functions on one thread, nanoseconds an element at every CPU level this machine has, beside the C library's
// float function in a loop (a scalar peer, faithful but not always correctly rounded) and, where libsleef is found, SLEEF's
// widest vector function of 1 ulp, and the ratios peer / ours of the best level (above 1: ours is faster). Paired runs,
// medians of the process' time. (numpy: bench_numpy.py.)
//
// With --threads N instead five functions on N threads, by the clock, in cache (2^16 elements) and beyond it (2^26): ours at
// the best level beside SLEEF, whose array N threads divide and who meet only at the end of the rounds.
//
//     bench_functions [--threads N] [--pairs N] [--json F]
#include "samebits.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { SIZE = 4096, ROUNDS = 64, MOST_PAIRS = 101, MOST_THREADS = 64 }; // the arrays stay in the first cache

static float peer_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
static float peer_silu(float x) { return x / (1.0f + expf(-x)); }
static float peer_rsqrt(float x) { return 1.0f / sqrtf(x); }
static float peer_silu_grad(float x) {
    float s = peer_sigmoid(x);
    return s * (1.0f + x * (1.0f - s));
}

static float peer_softplus(float x) { return log1pf(expf(-fabsf(x))) + (x > 0.0f ? x : 0.0f); }
static float peer_log_sigmoid(float x) { return -peer_softplus(-x); }
static float peer_gelu(float x) { return 0.5f * x * erfcf(-0.707106781f * x); }
static float peer_gelu_tanh(float x) {
    return 0.5f * x * (1.0f + tanhf(0.797884561f * (x + 0.044715f * x * x * x)));
}
static float peer_gelu_grad(float x) {
    return 0.5f * erfcf(-0.707106781f * x) + 0.398942280f * x * expf(-0.5f * x * x);
}

static const struct row {
    const char *name;
    sb_unary_kind kind;
    float low, high;
    float (*peer)(float); // NULL: none in the C library
    const char *sleef;    // Sleef_NAMEf16_u10; NULL: none
} rows[] = {
    {"exp", SB_EXP, -10.0f, 10.0f, expf, "exp"},
    {"exp, softmax", SB_EXP, -30.0f, 0.0f, expf, NULL},
    {"log", SB_LOG, 0.001f, 1000.0f, logf, "log"},
    {"sin", SB_SIN, -10.0f, 10.0f, sinf, "sin"},
    {"sin, large", SB_SIN, 1e9f, 1e12f, sinf, "sin"},
    {"cos", SB_COS, -10.0f, 10.0f, cosf, "cos"},
    {"rsqrt", SB_RSQRT, 0.001f, 1000.0f, peer_rsqrt, NULL},
    {"sigmoid", SB_SIGMOID, -10.0f, 10.0f, peer_sigmoid, NULL},
    {"silu", SB_SILU, -10.0f, 10.0f, peer_silu, NULL},
    {"silu_grad", SB_SILU_GRAD, -10.0f, 10.0f, peer_silu_grad, NULL},
    {"inverse normal", SB_INVERSE_NORMAL, 0.0f, 0.0f, NULL, NULL},
    {"tanh", SB_TANH, -5.0f, 5.0f, tanhf, "tanh"},
    {"expm1", SB_EXPM1, -5.0f, 5.0f, expm1f, "expm1"},
    {"log1p", SB_LOG1P, -0.9f, 100.0f, log1pf, "log1p"},
    {"exp2", SB_EXP2, -10.0f, 10.0f, exp2f, "exp2"},
    {"log2", SB_LOG2, 0.001f, 1000.0f, log2f, "log2"},
    {"log10", SB_LOG10, 0.001f, 1000.0f, log10f, "log10"},
    {"erf", SB_ERF, -4.0f, 4.0f, erff, "erf"},
    {"erfc", SB_ERFC, -4.0f, 8.0f, erfcf, NULL},
    {"softplus", SB_SOFTPLUS, -10.0f, 10.0f, peer_softplus, NULL},
    {"log_sigmoid", SB_LOG_SIGMOID, -10.0f, 10.0f, peer_log_sigmoid, NULL},
    {"gelu", SB_GELU, -5.0f, 5.0f, peer_gelu, NULL},
    {"gelu_tanh", SB_GELU_TANH, -5.0f, 5.0f, peer_gelu_tanh, NULL},
    {"gelu_grad", SB_GELU_GRAD, -5.0f, 5.0f, peer_gelu_grad, NULL},
    {"gelu_tanh_grad", SB_GELU_TANH_GRAD, -5.0f, 5.0f, NULL, NULL},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

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
static double median(double *times, int n) {
    qsort(times, (size_t)n, sizeof *times, ascending);
    return times[n / 2] / ((double)SIZE * ROUNDS) * 1e9;
}

static double time_ours(sb_context *ctx, sb_unary_kind kind, const sb_array *x, sb_array *y) {
    double start = seconds();
    for (int i = 0; i < ROUNDS; i++) {
        sb_unary(ctx, kind, x, y, NULL);
    }
    return seconds() - start;
}

static double time_peer(float (*peer)(float), const float *x, float *y) {
    double start = seconds();
    for (int i = 0; i < ROUNDS; i++) {
        for (int j = 0; j < SIZE; j++) {
            y[j] = peer(x[j]);
        }
        __asm__ volatile("" : : "r"(y) : "memory");
    }
    return seconds() - start;
}

#if defined(__x86_64__)
typedef __m512 (*sleef_16)(__m512);
typedef __m256 (*sleef_8)(__m256);
__attribute__((target("avx512f"))) static void call_16(void *f, const float *x, float *y, int64_t n) {
    sleef_16 g;
    memcpy(&g, &f, sizeof g);
    for (int64_t j = 0; j < n; j += 16) {
        _mm512_storeu_ps(y + j, g(_mm512_loadu_ps(x + j)));
    }
}
__attribute__((target("avx2"))) static void call_8(void *f, const float *x, float *y, int64_t n) {
    sleef_8 g;
    memcpy(&g, &f, sizeof g);
    for (int64_t j = 0; j < n; j += 8) {
        _mm256_storeu_ps(y + j, g(_mm256_loadu_ps(x + j)));
    }
}
static void *sleef_function(void *library, const char *name, bool wide) {
    char symbol[64];
    snprintf(symbol, sizeof symbol, "Sleef_%sf%d_u10%s", name, wide ? 16 : 8, wide ? "avx512f" : "avx2");
    return library && name && (wide || __builtin_cpu_supports("avx2")) ? dlsym(library, symbol) : NULL;
}
static bool sleef_is_wide(void) { return __builtin_cpu_supports("avx512f"); }
#else
static void call_16(void *f, const float *x, float *y, int64_t n) { (void)f, (void)x, (void)y, (void)n; }
static void call_8(void *f, const float *x, float *y, int64_t n) { (void)f, (void)x, (void)y, (void)n; }
static void *sleef_function(void *library, const char *name, bool wide) { return (void)library, (void)name, (void)wide, NULL; }
static bool sleef_is_wide(void) { return false; }
#endif

static double time_sleef(void *f, bool wide, const float *x, float *y) {
    double start = seconds();
    for (int i = 0; i < ROUNDS; i++) {
        (wide ? call_16 : call_8)(f, x, y, SIZE);
        __asm__ volatile("" : : "r"(y) : "memory");
    }
    return seconds() - start;
}

// One thread's share of SLEEF's work.
typedef struct share {
    void *function;
    bool wide;
    const float *x;
    float *y;
    int64_t size, rounds;
} share;
static void *run_share(void *argument) {
    const share *s = argument;
    for (int64_t i = 0; i < s->rounds; i++) {
        (s->wide ? call_16 : call_8)(s->function, s->x, s->y, s->size);
        __asm__ volatile("" : : "r"(s->y) : "memory");
    }
    return NULL;
}

// Seconds of SLEEF on all threads (the caller takes the last share); size is a multiple of 16.
static double time_shares(const share *all, int threads) {
    share shares[MOST_THREADS];
    pthread_t ids[MOST_THREADS];
    const double start = seconds();
    for (int i = 0; i < threads; i++) {
        const int64_t from = all->size / 16 * i / threads * 16, to = all->size / 16 * (i + 1) / threads * 16;
        shares[i] = (share){all->function, all->wide, all->x + from, all->y + from, to - from, all->rounds};
        if (i + 1 < threads && pthread_create(&ids[i], NULL, run_share, &shares[i])) {
            abort();
        }
    }
    run_share(&shares[threads - 1]);
    for (int i = 0; i + 1 < threads; i++) {
        pthread_join(ids[i], NULL);
    }
    return seconds() - start;
}

// The table of --threads.
static int several_threads(int threads, int pairs, FILE *out) {
    static const char *const names[] = {"exp", "log", "sin", "cos", "tanh"};
    static const int64_t sizes[] = {1 << 16, 1 << 26};
    const sb_context_options options = {.size = sizeof options, .device = "cpu", .threads = threads};
    sb_context *ctx = NULL;
    const size_t most = (size_t)sizes[1] * sizeof(float), page = 1 << 21;
    float *x = aligned_alloc(page, most), *y = aligned_alloc(page, most);
    if (!x || !y || sb_context_new(&options, &ctx, NULL) != SB_OK) {
        fprintf(stderr, "bench_functions: out of memory\n");
        return 1;
    }
    memset(y, 0, most);
    void *library = dlopen("libsleef.so.3", RTLD_NOW);
    const bool wide = sleef_is_wide();
    printf("ns an element, %d thread%s, level %s%s\n%-10s%12s%10s%10s%14s%16s\n", threads, threads > 1 ? "s" : "", sb_context_isa(ctx),
           library ? "" : "; no libsleef.so.3", "function", "elements", "ours", "SLEEF", "SLEEF / ours", "quartiles");
    bool first = true;
    for (int r = 0; r < ROWS; r++) {
        const struct row *row = &rows[r];
        bool chosen = false;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            chosen = chosen || strcmp(row->name, names[i]) == 0;
        }
        if (!chosen) {
            continue;
        }
        for (int64_t j = 0; j < sizes[1]; j++) {
            x[j] = row->low + (row->high - row->low) * ((float)((uint32_t)j * 2654435761u >> 8) * 0x1p-24f);
        }
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            const int64_t n = sizes[s], rounds = n < (1 << 22) ? (1 << 22) / n : 1;
            share sleef = {sleef_function(library, row->sleef, wide), wide, x, y, n, rounds};
            double ours[MOST_PAIRS], theirs[MOST_PAIRS], ratios[MOST_PAIRS];
            sb_array *in = NULL, *to = NULL;
            if (sb_array_wrap(ctx, SB_F32, 1, &n, x, &in, NULL) != SB_OK || sb_array_wrap(ctx, SB_F32, 1, &n, y, &to, NULL) != SB_OK ||
                sb_unary(ctx, row->kind, in, to, NULL) != SB_OK) {
                fprintf(stderr, "bench_functions: an array\n");
                return 1;
            }
            for (int p = 0; p < pairs; p++) {
                const double start = seconds();
                for (int64_t i = 0; i < rounds; i++) {
                    sb_unary(ctx, row->kind, in, to, NULL);
                }
                ours[p] = seconds() - start;
                theirs[p] = sleef.function ? time_shares(&sleef, threads) : 0.0;
                ratios[p] = theirs[p] / ours[p];
            }
            const double unit = 1e9 / ((double)n * (double)rounds);
            qsort(ours, (size_t)pairs, sizeof *ours, ascending);
            qsort(theirs, (size_t)pairs, sizeof *theirs, ascending);
            qsort(ratios, (size_t)pairs, sizeof *ratios, ascending);
            const double our = ours[pairs / 2] * unit, their = theirs[pairs / 2] * unit, ratio = ratios[pairs / 2];
            printf("%-10s%12lld%10.3f", row->name, (long long)n, our);
            if (out) {
                fprintf(out, "%s{\"function\": \"%s\", \"threads\": %d, \"elements\": %lld, \"ours\": %.4f", first ? "[\n" : ",\n",
                        row->name, threads, (long long)n, our);
            }
            if (sleef.function) {
                printf("%10.3f%14.2f%9.2f-%.2f\n", their, ratio, ratios[pairs / 4], ratios[3 * (pairs - 1) / 4]);
            } else {
                printf("%10s%14s\n", "-", "-");
            }
            if (out && sleef.function) {
                fprintf(out, ", \"sleef\": %.4f, \"sleef_ratio\": %.4f", their, ratio);
            }
            if (out) {
                fprintf(out, "}");
            }
            fflush(stdout);
            first = false;
            sb_array_free(in);
            sb_array_free(to);
        }
    }
    sb_context_free(ctx);
    free(x);
    free(y);
    if (out) {
        fprintf(out, "\n]\n");
        return fclose(out) != 0;
    }
    return 0;
}

int main(int argc, char **argv) {
    static const char *const levels[] = {"plain", "v1", "v3", "v4", "neon"};
    enum { LEVELS = sizeof levels / sizeof levels[0] };
    sb_context *contexts[LEVELS] = {NULL};
    const char *json = NULL;
    int pairs = 15, threads = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--pairs") && i + 1 < argc) {
            pairs = atoi(argv[++i]);
        } else if (!strcmp(argv[i], "--threads") && i + 1 < argc) {
            threads = atoi(argv[++i]);
            timer = CLOCK_MONOTONIC;
        } else if (!strcmp(argv[i], "--json") && i + 1 < argc) {
            json = argv[++i];
        } else {
            fprintf(stderr, "usage: bench_functions [--threads N] [--pairs N] [--json F]\n");
            return 2;
        }
    }
    if (pairs < 1 || pairs > MOST_PAIRS || threads < 0 || threads > MOST_THREADS) {
        fprintf(stderr, "bench_functions: --pairs takes 1 to %d, --threads 1 to %d\n", MOST_PAIRS, MOST_THREADS);
        return 2;
    }
    FILE *out = json ? fopen(json, "w") : NULL;
    if (json && !out) {
        fprintf(stderr, "bench_functions: %s cannot be written\n", json);
        return 1;
    }
    if (threads) {
        return several_threads(threads, pairs, out);
    }
    printf("%-16s", "ns an element");
    for (int l = 0; l < LEVELS; l++) {
        const sb_context_options options = {.size = sizeof options, .device = "cpu", .isa = levels[l], .threads = 1};
        if (sb_context_new(&options, &contexts[l], NULL) == SB_OK) {
            printf("%8s", levels[l]);
        }
    }
    printf("%10s%12s%10s%14s\n", "C library", "peer / ours", "SLEEF", "SLEEF / ours");
    void *library = dlopen("libsleef.so.3", RTLD_NOW);
    bool wide = sleef_is_wide();
    for (int r = 0; r < ROWS; r++) {
        const struct row *row = &rows[r];
        bool words = row->kind == SB_INVERSE_NORMAL;
        static float x[SIZE], y[SIZE];
        double times[LEVELS + 2][MOST_PAIRS], ours[LEVELS] = {0}, best = 0.0, peer = 0.0, sleef = 0.0;
        void *vector = sleef_function(library, row->sleef, wide);
        sb_array *in[LEVELS] = {NULL}, *to[LEVELS] = {NULL};
        for (int j = 0; j < SIZE; j++) {
            uint32_t word = (uint32_t)j * 2654435761u;
            x[j] = row->low + (row->high - row->low) * ((float)(word >> 8) * 0x1p-24f);
            if (words) {
                memcpy(&x[j], &word, sizeof word);
            }
        }
        for (int l = 0; l < LEVELS; l++) {
            int64_t n = SIZE;
            if (contexts[l] && (sb_array_new(contexts[l], words ? SB_U32 : SB_F32, 1, &n, &in[l], NULL) != SB_OK ||
                                sb_array_new(contexts[l], SB_F32, 1, &n, &to[l], NULL) != SB_OK ||
                                sb_array_write(in[l], x, sizeof x, NULL) != SB_OK)) {
                fprintf(stderr, "bench_functions: out of memory\n");
                return 1;
            }
        }
        for (int p = 0; p < pairs; p++) {
            for (int l = 0; l < LEVELS; l++) {
                times[l][p] = contexts[l] ? time_ours(contexts[l], row->kind, in[l], to[l]) : 0.0;
            }
            times[LEVELS][p] = row->peer ? time_peer(row->peer, x, y) : 0.0;
            times[LEVELS + 1][p] = vector ? time_sleef(vector, wide, x, y) : 0.0;
        }
        printf("%-16s", row->name);
        for (int l = 0; l < LEVELS; l++) {
            if (contexts[l]) {
                ours[l] = median(times[l], pairs);
                best = best == 0.0 || ours[l] < best ? ours[l] : best;
                printf("%8.2f", ours[l]);
            }
            sb_array_free(in[l]);
            sb_array_free(to[l]);
        }
        if (row->peer) {
            peer = median(times[LEVELS], pairs);
            printf("%10.2f%12.2f", peer, peer / best);
        } else {
            printf("%10s%12s", "-", "-");
        }
        if (vector) {
            sleef = median(times[LEVELS + 1], pairs);
            printf("%10.2f%14.2f\n", sleef, sleef / best);
        } else {
            printf("%10s%14s\n", "-", "-");
        }
        if (out) {
            fprintf(out, "%s{\"function\": \"%s\"", r ? ",\n" : "[\n", row->name);
            for (int l = 0; l < LEVELS; l++) {
                if (contexts[l]) {
                    fprintf(out, ", \"%s\": %.3f", levels[l], ours[l]);
                }
            }
            if (row->peer) {
                fprintf(out, ", \"peer\": %.3f, \"ratio\": %.3f", peer, peer / best);
            }
            if (vector) {
                fprintf(out, ", \"sleef\": %.3f, \"sleef_ratio\": %.3f", sleef, sleef / best);
            }
            fprintf(out, "}");
        }
    }
    for (int l = 0; l < LEVELS; l++) {
        sb_context_free(contexts[l]);
    }
    if (out) {
        fprintf(out, "\n]\n");
        return fclose(out) != 0;
    }
    return 0;
}
