// SPDX-License-Identifier: Apache-2.0
// Functions in pairs of float32 (kernels/pairs.h): where a value is sure it is the one that was
// proved, and few are not. test_pairs [all]: every 251st float32, or all of them (make proof).
#include "dialect/c.h"

#include "function.h"
#include "pairs.h"

#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static atomic_long next_block, wrong, unsure, inside;
static u32 step = 251;

static void *work(void *unused) {
    (void)unused;
    for (u64 block; (block = (u64)atomic_fetch_add(&next_block, 1)) < 4096;) {
        long bad = 0, doubtful = 0, within = 0;
        for (u64 word = ((block << 20) + step - 1) / step * step; word < (block + 1) << 20;
             word += step) {
            const f32 x = FLOAT32((u32)word);
            i32 sure;
            const f32 y = sbi_pair_exp(x, &sure);
            within += x > -87.0f && x < 88.5f;
            doubtful += x > -87.0f && x < 88.5f && !sure;
            if (sure && BITS32(y) != BITS32(sbi_exp_f32(x)) && bad++ == 0 &&
                atomic_fetch_add(&wrong, 0) < 3)
                fprintf(stderr, "exp of %08x is %08x, not %08x\n", (unsigned)word,
                        (unsigned)BITS32(y), (unsigned)BITS32(sbi_exp_f32(x)));
        }
        atomic_fetch_add(&wrong, bad), atomic_fetch_add(&unsure, doubtful),
            atomic_fetch_add(&inside, within);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[64];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    cores = cores < 1 ? 1 : cores > 64 ? 64 : cores;
    if (argc > 1 && strcmp(argv[1], "all") == 0) step = 1;
    for (long i = 0; i < cores; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (long i = 0; i < cores; i++) pthread_join(threads[i], NULL);
    printf("exp: %ld inputs from -87 to 88.5, %ld not sure, %ld wrong\n", (long)inside,
           (long)unsure, (long)wrong);
    CHECK(wrong == 0 && inside > 2000000000 / (long)step, "%ld wrong", (long)wrong);
    CHECK(unsure < inside / 10000, "%ld of %ld are not sure", (long)unsure, (long)inside);
    return test_end();
}
