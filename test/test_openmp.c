// SPDX-License-Identifier: Apache-2.0
// A program that uses OpenMP sees nothing of samebits: its thread counts, its environment and its results are the same
// before, between and after our calls, from its threads too. (Our pool is not OpenMP's; this is where it shows.)
#include "test.h"

#include "samebits.h"

#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

typedef struct view {
    int most, limit, processors, in_region;
    unsigned schedule_and_nesting;
    int64_t sum;
    size_t environment; // a hash of it
} view;

static view look(void) {
    view v = {.most = omp_get_max_threads(), .limit = omp_get_thread_limit(), .processors = omp_get_num_procs()};
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    v.schedule_and_nesting = (unsigned)kind * 1000 + (unsigned)chunk * 10 + (unsigned)omp_get_max_active_levels() +
                             (unsigned)omp_get_dynamic();
#pragma omp parallel
    {
#pragma omp single
        v.in_region = omp_get_num_threads();
    }
    int64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int64_t i = 0; i < 100000; i++) sum += i * i % 7;
    v.sum = sum;
    for (char **line = environ; *line; line++)
        for (const char *c = *line; *c; c++) v.environment = v.environment * 31 + (unsigned char)*c;
    return v;
}

static bool same(const view *a, const view *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

static bool digest(int threads, uint8_t out[32]) {
    static float data[200000];
    sb_context_options options = {.size = sizeof options, .threads = threads};
    sb_context *ctx = NULL;
    sb_array *a = NULL;
    int64_t n = 200000;
    const char *name = "data";
    bool good = sb_context_new(&options, &ctx, NULL) == SB_OK &&
                sb_array_wrap(ctx, SB_F32, 1, &n, data, &a, NULL) == SB_OK &&
                sb_digest_arrays(ctx, 1, &name, (const sb_array *const *)&a, out, NULL) == SB_OK;
    sb_array_free(a);
    sb_context_free(ctx);
    return good;
}

int main(void) {
    omp_set_dynamic(0);
    for (int threads = 1; threads <= 4; threads++) {
        omp_set_num_threads(threads);
        view before, after;
        memset(&before, 0, sizeof before);
        before = look();
        CHECK(before.most == threads && before.in_region == threads, "%d threads", threads);
        uint8_t alone[32], inside[8][32];
        memset(inside, 0, sizeof inside);
        CHECK(digest(3, alone), "digest");
        after = look();
        CHECK(same(&before, &after), "changed by a call, %d threads", threads);
#pragma omp parallel for
        for (int i = 0; i < 8; i++)
            if (!digest(1 + i % 3, inside[i])) inside[i][0] ^= 1;
        for (int i = 0; i < 8; i++) CHECK(memcmp(alone, inside[i], 32) == 0, "call %d from a region", i);
        after = look();
        CHECK(same(&before, &after), "changed by calls from a region, %d threads", threads);
    }
    return test_end();
}
