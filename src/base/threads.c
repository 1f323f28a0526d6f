// SPDX-License-Identifier: Apache-2.0
// A pool of threads of our own. A job is a count of indices and a function; threads take indices from one counter, so
// the split is dynamic and no result may depend on it. The caller opens a job, works on it like any other thread,
// closes it, and waits only for the workers that came in: one that wakes late finds the job closed and waits on.
//
// One word, the gate, holds the number of the job, whether it is open, and how many workers are inside; the job itself
// stands beside it and changes only while the gate is closed and nobody inside. Who waits (a worker for a job, the
// caller for the last worker) looks at the gate for some tens of microseconds before it sleeps, since operations follow
// each other faster than threads wake; not where the pool has more threads than the process has cores. A sleeper counts
// itself before it looks at the gate a last time, and the other side changes the gate before it looks for sleepers: so
// one of them sees the other.
//
// fork: a child has the memory of its parent and none of its threads. A counter that only a child raises tells a pool
// that its threads are gone; locks are then made anew and threads started at the first job. A pool that is already at
// work (a task that calls back into its own pool, two callers at once) runs the new job serially on the caller.
#include "base.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { STACK_BYTES = 8 << 20 }; // kernels keep their SHARED arrays on the stack

// The gate: workers inside in the low bits, the open bit, the number of the job above.
#define INSIDE ((uint64_t)0xffff)
#define OPEN ((uint64_t)0x10000)
#define ONE_JOB ((uint64_t)0x20000)

struct sbi_pool {
    sbi_allocator allocator;
    sbi_spare scratch;   // of a job, for all its threads
    int threads;         // the caller is one of them
    int started;         // workers that run
    int64_t patience;    // nanoseconds of looking before sleep; 0 where a core is not free for it
    unsigned process;    // forks that this process was away from the first, when the locks were made
    atomic_int busy;     // 0 or 1 (a byte would need libatomic on riscv64)
    sbi_task task;       // the job
    void *argument;
    int64_t count;
    _Alignas(64) atomic_int_least64_t next; // lines of their own: workers look at one while others take from the other
    _Alignas(64) atomic_uint_least64_t gate;
    _Alignas(64) atomic_int stop, sleeping, caller_sleeps;
    pthread_mutex_t lock; // for sleep alone
    pthread_cond_t opened, left;
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

static inline void pause_core(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Is there something for a worker that has seen this job?
static bool called(sbi_pool *pool, uint64_t seen) {
    const uint64_t gate = atomic_load(&pool->gate);
    return (gate & OPEN && gate / ONE_JOB != seen) || atomic_load(&pool->stop);
}

static bool all_left(sbi_pool *pool, uint64_t unused) {
    (void)unused;
    return (atomic_load(&pool->gate) & INSIDE) == 0;
}

// Looks for what is awaited, as long as the pool has patience. The mode of the floating point here is the caller's (its
// traps may be on, its flags are its own), so time is counted in integers.
static bool look(sbi_pool *pool, bool (*there)(sbi_pool *pool, uint64_t seen), uint64_t seen) {
    if (there(pool, seen)) return true;
    if (pool->patience == 0) return false;
    const int64_t end = sbi_nanoseconds() + pool->patience;
    do {
        for (int i = 0; i < 8; i++) {
            pause_core();
            if (there(pool, seen)) return true;
        }
    } while (sbi_nanoseconds() < end);
    return false;
}

static void sleep_until_called(sbi_pool *pool, uint64_t seen) {
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleeping, 1);
    while (!called(pool, seen)) pthread_cond_wait(&pool->opened, &pool->lock);
    atomic_fetch_sub(&pool->sleeping, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void *work(void *user) {
    sbi_pool *pool = user;
    for (uint64_t seen = 0;;) {
        if (!look(pool, called, seen)) sleep_until_called(pool, seen);
        if (atomic_load(&pool->stop)) return NULL;
        uint64_t gate = atomic_load(&pool->gate);
        if (!(gate & OPEN) || gate / ONE_JOB == seen) continue; // closed again
        if (!atomic_compare_exchange_strong(&pool->gate, &gate, gate + 1)) continue;
        seen = gate / ONE_JOB;
        take_indices(pool, pool->task, pool->argument, pool->count);
        if ((atomic_fetch_sub(&pool->gate, 1) & INSIDE) == 1 && atomic_load(&pool->caller_sleeps)) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->left);
            pthread_mutex_unlock(&pool->lock);
        }
    }
}

static void make_locks(sbi_pool *pool) {
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->opened, NULL);
    pthread_cond_init(&pool->left, NULL);
    pool->process = atomic_load(&forks);
    pool->started = 0;
    atomic_store(&pool->gate, 0);
    atomic_store(&pool->stop, 0);
    atomic_store(&pool->sleeping, 0);
    atomic_store(&pool->caller_sleeps, 0);
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
    const int64_t patience = 50000;
    int64_t bytes = (int64_t)sizeof(sbi_pool) + threads * (int64_t)sizeof(pthread_t);
    sbi_pool *pool = sbi_allocate(allocator, bytes, 1, err);
    if (!pool) return NULL;
    pool->allocator = *allocator;
    pool->threads = threads;
    pool->patience = threads > 1 && threads <= sbi_cpu_cores() ? patience : 0;
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

    pool->task = task;
    pool->argument = argument;
    pool->count = count;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    atomic_store(&pool->gate, ((atomic_load(&pool->gate) / ONE_JOB + 1) * ONE_JOB) | OPEN);
    if (atomic_load(&pool->sleeping)) {
        pthread_mutex_lock(&pool->lock);
        if (count > pool->started)
            pthread_cond_broadcast(&pool->opened);
        else
            for (int64_t i = 1; i < count; i++) pthread_cond_signal(&pool->opened);
        pthread_mutex_unlock(&pool->lock);
    }

    take_indices(pool, task, argument, count);

    atomic_fetch_and(&pool->gate, ~OPEN);
    if (!look(pool, all_left, 0)) {
        pthread_mutex_lock(&pool->lock);
        atomic_store(&pool->caller_sleeps, 1);
        while (!all_left(pool, 0)) pthread_cond_wait(&pool->left, &pool->lock);
        atomic_store(&pool->caller_sleeps, 0);
        pthread_mutex_unlock(&pool->lock);
    }
    atomic_store(&pool->busy, 0);
}

void *sbi_pool_scratch(sbi_pool *pool, int64_t bytes, sb_error *err) {
    return sbi_spare_take(&pool->scratch, &pool->allocator, bytes, err);
}

void sbi_pool_scratch_done(sbi_pool *pool, void *scratch) {
    sbi_spare_put(&pool->scratch, &pool->allocator, scratch);
}

void sbi_pool_free(sbi_pool *pool) {
    if (!pool) return;
    if (pool->process == atomic_load(&forks)) { // else the workers were the parent's, and so were the locks
        pthread_mutex_lock(&pool->lock);
        atomic_store(&pool->stop, 1);
        pthread_cond_broadcast(&pool->opened);
        pthread_mutex_unlock(&pool->lock);
        for (int i = 0; i < pool->started; i++) pthread_join(pool->workers[i], NULL);
        pthread_cond_destroy(&pool->left);
        pthread_cond_destroy(&pool->opened);
        pthread_mutex_destroy(&pool->lock);
    }
    sbi_allocator allocator = pool->allocator;
    sbi_spare_free(&pool->scratch, &allocator);
    sbi_release(&allocator, pool);
}

unsigned sbi_forks(void) {
    pthread_once(&forks_once, watch_forks);
    return atomic_load(&forks);
}

struct sbi_lock {
    sbi_allocator allocator;
    pthread_mutex_t mutex;
};

sbi_lock *sbi_lock_new(const sbi_allocator *allocator, sb_error *err) {
    sbi_lock *lock = sbi_allocate(allocator, 1, sizeof *lock, err);
    if (!lock) return NULL;
    lock->allocator = *allocator;
    pthread_mutex_init(&lock->mutex, NULL);
    return lock;
}

void sbi_lock_take(sbi_lock *lock) {
    pthread_mutex_lock(&lock->mutex);
}

void sbi_lock_leave(sbi_lock *lock) {
    pthread_mutex_unlock(&lock->mutex);
}

void sbi_lock_free(sbi_lock *lock) {
    if (!lock) return;
    sbi_allocator allocator = lock->allocator;
    pthread_mutex_destroy(&lock->mutex);
    sbi_release(&allocator, lock);
}
