// SPDX-License-Identifier: Apache-2.0
// The one-file build with SAMEBITS_NO_THREADS, in place of threads.c: a pool whose only thread is the caller.
#include "base.h"

struct sbi_pool {
    sbi_allocator allocator;
    sbi_spare scratch;
};

sbi_pool *sbi_pool_new(const sbi_allocator *allocator, int threads, sb_error *err) {
    (void)threads; // no bit depends on it
    sbi_pool *pool = sbi_allocate(allocator, 1, sizeof *pool, err);
    if (pool) pool->allocator = *allocator;
    return pool;
}

int sbi_pool_threads(const sbi_pool *pool) {
    (void)pool;
    return 1;
}

void sbi_pool_run(sbi_pool *pool, int64_t count, sbi_task task, void *argument) {
    (void)pool;
    sbi_fpenv before = sbi_fpenv_enter();
    for (int64_t i = 0; i < count; i++) task(argument, i);
    sbi_fpenv_leave(before);
}

void *sbi_pool_scratch(sbi_pool *pool, int64_t bytes, sb_error *err) {
    return sbi_spare_take(&pool->scratch, &pool->allocator, bytes, err);
}

void sbi_pool_scratch_done(sbi_pool *pool, void *scratch) {
    sbi_spare_put(&pool->scratch, &pool->allocator, scratch);
}

void sbi_pool_free(sbi_pool *pool) {
    if (!pool) return;
    sbi_allocator allocator = pool->allocator;
    sbi_spare_free(&pool->scratch, &allocator);
    sbi_release(&allocator, pool);
}
