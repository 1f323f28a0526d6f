// SPDX-License-Identifier: Apache-2.0
// A pool of threads of our own. A job is a count of indices and a function; threads take indices from one counter, so
// the split is dynamic and no result may depend on it. The caller opens a job, works on it like any other thread,
// closes it, and waits only for the workers that came in: one that wakes late finds the job closed and sleeps on.
//
// fork: a child has the memory of its parent and none of its threads. A counter that only a child raises tells a pool
// that its threads are gone; locks are then made anew and threads started at the first job. A pool that is already at
// work (a task that calls back into its own pool, two callers at once) runs the new job serially on the caller.
#include "base.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { STACK_BYTES = 8 << 20 }; // kernels keep their SHARED arrays on the stack

struct sbi_pool {
    sbi_allocator allocator;
    int threads;         // the caller is one of them
    int started;         // workers that run
    unsigned process;    // forks that this process was away from the first, when the locks were made
    atomic_int busy;     // 0 or 1 (a byte would need libatomic on riscv64)
    pthread_mutex_t lock; // guards the job below
    pthread_cond_t opened, left;
    uint64_t job;     // number of the newest job
    bool open, stop;
    int inside;       // workers at work on it
    sbi_task task;
    void *argument;
    int64_t count;
    atomic_int_least64_t next;
    pthread_t workers[];
};

static atomic_uint forks;
static pthread_once_t forks_once = PTHREAD_ONCE_INIT;

static void count_fork(void) {
    atomic_fetch_add(&forks, 1);
}

static void watch_forks(void) {
    pthread_atfork(NULL, NULL, count_fork);
}

static void take_indices(sbi_pool *pool, sbi_task task, void *argument, int64_t count) {
    sbi_fpenv before = sbi_fpenv_enter();
    for (int64_t i; (i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed)) < count;) task(argument, i);
    sbi_fpenv_leave(before);
}

static void *work(void *user) {
    sbi_pool *pool = user;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->stop && (!pool->open || pool->job == seen)) pthread_cond_wait(&pool->opened, &pool->lock);
        if (pool->stop) break;
        seen = pool->job;
        sbi_task task = pool->task;
        void *argument = pool->argument;
        int64_t count = pool->count;
        pool->inside++;
        pthread_mutex_unlock(&pool->lock);
        take_indices(pool, task, argument, count);
        pthread_mutex_lock(&pool->lock);
        if (--pool->inside == 0) pthread_cond_signal(&pool->left);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void make_locks(sbi_pool *pool) {
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->opened, NULL);
    pthread_cond_init(&pool->left, NULL);
    pool->process = atomic_load(&forks);
    pool->started = pool->inside = 0;
    pool->open = pool->stop = false;
    atomic_store(&pool->busy, 0);
}

// Starts what is missing. Where the system refuses a thread the others do its work: no bit depends on their number.
static void start_workers(sbi_pool *pool) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigset_t all, before; // signals belong to the program's threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->started < pool->threads - 1 &&
           pthread_create(&pool->workers[pool->started], &attributes, work, pool) == 0)
        pool->started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

sbi_pool *sbi_pool_new(const sbi_allocator *allocator, int threads, sb_error *err) {
    if (threads < 1 || threads > 1024) {
        sbi_fail(err, SB_ERR_ARGUMENT, "threads", "%d threads: expected 1 to 1024", threads);
        return NULL;
    }
    pthread_once(&forks_once, watch_forks);
    int64_t bytes = (int64_t)sizeof(sbi_pool) + threads * (int64_t)sizeof(pthread_t);
    sbi_pool *pool = sbi_allocate(allocator, bytes, 1, err);
    if (!pool) return NULL;
    pool->allocator = *allocator;
    pool->threads = threads;
    make_locks(pool);
    return pool;
}

int sbi_pool_threads(const sbi_pool *pool) {
    return pool->threads;
}

static void run_serially(int64_t count, sbi_task task, void *argument) {
    sbi_fpenv before = sbi_fpenv_enter();
    for (int64_t i = 0; i < count; i++) task(argument, i);
    sbi_fpenv_leave(before);
}

void sbi_pool_run(sbi_pool *pool, int64_t count, sbi_task task, void *argument) {
    if (count <= 0) return;
    if (pool->threads == 1 || count == 1) {
        run_serially(count, task, argument);
        return;
    }
    if (pool->process != atomic_load(&forks)) make_locks(pool); // in a child: whatever was going on is the parent's
    int free = 0;
    if (!atomic_compare_exchange_strong(&pool->busy, &free, 1)) {
        run_serially(count, task, argument);
        return;
    }
    if (pool->started < pool->threads - 1) start_workers(pool);

    pthread_mutex_lock(&pool->lock);
    pool->task = task;
    pool->argument = argument;
    pool->count = count;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pool->job++;
    pool->open = true;
    if (count > pool->started)
        pthread_cond_broadcast(&pool->opened);
    else
        for (int64_t i = 1; i < count; i++) pthread_cond_signal(&pool->opened);
    pthread_mutex_unlock(&pool->lock);

    take_indices(pool, task, argument, count);

    pthread_mutex_lock(&pool->lock);
    pool->open = false;
    while (pool->inside > 0) pthread_cond_wait(&pool->left, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    atomic_store(&pool->busy, 0);
}

void sbi_pool_free(sbi_pool *pool) {
    if (!pool) return;
    if (pool->process == atomic_load(&forks)) { // else the workers were the parent's, and so were the locks
        pthread_mutex_lock(&pool->lock);
        pool->stop = true;
        pthread_cond_broadcast(&pool->opened);
        pthread_mutex_unlock(&pool->lock);
        for (int i = 0; i < pool->started; i++) pthread_join(pool->workers[i], NULL);
        pthread_cond_destroy(&pool->left);
        pthread_cond_destroy(&pool->opened);
        pthread_mutex_destroy(&pool->lock);
    }
    sbi_allocator allocator = pool->allocator;
    sbi_release(&allocator, pool);
}
