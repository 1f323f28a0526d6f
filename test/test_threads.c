// SPDX-License-Identifier: Apache-2.0
// The pool: every index once, at 1 to 16 threads; nested, by several callers at once, after fork and in the child, in a
// grandchild, while another thread of the parent is at work; freed in the child.
#include "test.h"

#include "array.h"
#include "base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 10000 };

typedef struct job {
    atomic_int seen[MOST];
    atomic_int threads; // distinct threads that came by
    sbi_pool *again;    // nested: the pool to call
    atomic_int inner;
} job;

static _Thread_local job *counted;

static void mark(void *argument, int64_t i) {
    job *j = argument;
    if (counted != j) {
        counted = j;
        atomic_fetch_add(&j->threads, 1);
    }
    atomic_fetch_add(&j->seen[i], 1);
}

static bool each_once(job *j, int64_t count) {
    for (int64_t i = 0; i < MOST; i++)
        if (atomic_load(&j->seen[i]) != (i < count)) return false;
    return true;
}

static bool run_once(sbi_pool *pool, int64_t count) {
    job *j = calloc(1, sizeof *j);
    sbi_pool_run(pool, count, mark, j);
    bool good = each_once(j, count) && atomic_load(&j->threads) <= sbi_pool_threads(pool);
    counted = NULL;
    free(j);
    return good;
}

static void inner(void *argument, int64_t i) {
    (void)i;
    atomic_fetch_add((atomic_int *)argument, 1);
}

static void outer(void *argument, int64_t i) {
    job *j = argument;
    sbi_pool_run(j->again, 50, inner, &j->inner);
    mark(j, i);
}

static void test_counts(void) {
    static const int64_t counts[] = {0, 1, 2, 3, 15, 16, 17, 1000, MOST};
    for (int threads = 1; threads <= 16; threads++) {
        sb_error err = {0};
        sbi_pool *pool = sbi_pool_new(&sbi_malloc_allocator, threads, &err);
        CHECK(pool && sbi_pool_threads(pool) == threads, "%s", err.message);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (int again = 0; again < 3; again++)
                CHECK(run_once(pool, counts[c]), "%d threads, %lld indices", threads, (long long)counts[c]);
        sbi_pool_run(pool, -5, mark, NULL);
        sbi_pool_free(pool);
    }
    sbi_pool_free(NULL);
    sb_error err;
    CHECK(!sbi_pool_new(&sbi_malloc_allocator, 0, &err) && err.status == SB_ERR_ARGUMENT, "0 threads");
    CHECK(!sbi_pool_new(&sbi_malloc_allocator, 1025, &err) && err.status == SB_ERR_ARGUMENT, "1025 threads");
}

static void test_nested(void) {
    sb_error err;
    sbi_pool *one = sbi_pool_new(&sbi_malloc_allocator, 4, &err), *two = sbi_pool_new(&sbi_malloc_allocator, 3, &err);
    for (int own = 0; own < 2; own++) {
        job *j = calloc(1, sizeof *j);
        j->again = own ? one : two;
        sbi_pool_run(one, 200, outer, j);
        CHECK(each_once(j, 200) && atomic_load(&j->inner) == 200 * 50, "own pool: %d", own);
        counted = NULL;
        free(j);
    }
    sbi_pool_free(two);
    sbi_pool_free(one);
}

// ---- several callers at once

typedef struct caller {
    sbi_pool *pool; // its own, or shared
    int rounds, failed;
    atomic_bool *stop;
} caller;

static void *call(void *argument) {
    caller *c = argument;
    for (int i = 0; i < c->rounds && !(c->stop && atomic_load(c->stop)); i++)
        if (!run_once(c->pool, 1 + (i * 37) % 500)) c->failed++;
    return NULL;
}

static void test_callers(void) {
    sb_error err;
    for (int shared = 0; shared < 2; shared++) {
        sbi_pool *common = shared ? sbi_pool_new(&sbi_malloc_allocator, 3, &err) : NULL;
        caller callers[4];
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) {
            callers[i] = (caller){.pool = common ? common : sbi_pool_new(&sbi_malloc_allocator, 1 + i, &err), .rounds = 200};
            pthread_create(&threads[i], NULL, call, &callers[i]);
        }
        for (int i = 0; i < 4; i++) {
            pthread_join(threads[i], NULL);
            CHECK(callers[i].failed == 0, "caller %d, shared %d: %d wrong", i, shared, callers[i].failed);
            if (!shared) sbi_pool_free(callers[i].pool);
        }
        sbi_pool_free(common);
    }
}

// ---- fork

static int wait_for(pid_t child) {
    int state = -1;
    if (waitpid(child, &state, 0) != child) return -1;
    return WIFEXITED(state) ? WEXITSTATUS(state) : 1000 + WTERMSIG(state);
}

static bool digest(sb_context *ctx, const sb_array *a, uint8_t out[32]) {
    const char *name = "a";
    return sb_digest_arrays(ctx, 1, &name, &a, out, NULL) == SB_OK;
}

static void test_fork(void) {
    sb_error err = {0};
    sb_context *ctx = NULL;
    sb_context_options options = {.size = sizeof options, .threads = 4};
    CHECK(sb_context_new(&options, &ctx, &err) == SB_OK, "%s", err.message);
    sb_array *a = NULL, *b = NULL;
    int64_t n = 1 << 20;
    CHECK(sb_array_new(ctx, SB_F32, 1, &n, &a, &err) == SB_OK && sb_array_new(ctx, SB_F32, 1, &n, &b, &err) == SB_OK,
          "%s", err.message);
    for (int64_t i = 0; i < n; i++) ((float *)(void *)a->data)[i] = (float)(i * 2654435761u % 1000003);
    uint8_t before[32], after[32];
    for (int round = 0; round < 20; round++) { // use, fork, use in the child and in its child, use in the parent
        CHECK(digest(ctx, a, before), "parent");
        pid_t child = fork();
        if (child == 0) {
            alarm(20); // a hang ends in a signal
            bool good = digest(ctx, a, after) && memcmp(before, after, 32) == 0 && run_once(ctx->pool, 1000);
            pid_t grandchild = fork();
            if (grandchild == 0) {
                alarm(20);
                good = sb_array_copy(ctx, a, b, NULL) == SB_OK && digest(ctx, b, after) && memcmp(before, after, 32) == 0;
                sb_array_free(a), sb_array_free(b), sb_context_free(ctx);
                _exit(good ? 0 : 1);
            }
            good = wait_for(grandchild) == 0 && run_once(ctx->pool, 77) && good;
            sb_context *own = NULL; // and a new one
            good = good && sb_context_new(&options, &own, NULL) == SB_OK && digest(own, a, after) &&
                   memcmp(before, after, 32) == 0;
            sb_context_free(own);
            sb_array_free(a), sb_array_free(b), sb_context_free(ctx);
            _exit(good ? 0 : 1);
        }
        CHECK(wait_for(child) == 0, "round %d", round);
        CHECK(digest(ctx, a, after) && memcmp(before, after, 32) == 0, "the parent again");
    }
    pid_t child = fork(); // free in the child without a use
    if (child == 0) {
        alarm(20);
        sb_array_free(a), sb_array_free(b), sb_context_free(ctx);
        _exit(0);
    }
    CHECK(wait_for(child) == 0, "freed in the child");
    sb_array_free(a), sb_array_free(b), sb_context_free(ctx);
}

static void test_fork_at_work(void) {
    sb_error err;
    atomic_bool stop = false;
    caller busy = {.pool = sbi_pool_new(&sbi_malloc_allocator, 4, &err), .rounds = 1 << 30, .stop = &stop};
    pthread_t thread;
    pthread_create(&thread, NULL, call, &busy);
    for (int i = 0; i < 30; i++) {
        usleep(500);
        pid_t child = fork(); // the child's copy of the pool is in the middle of a job of a thread it does not have
        if (child == 0) {
            alarm(20);
            // (No malloc here: another thread of the parent may have held its lock; glibc handles that, a sanitizer may not.)
            static atomic_int sum;
            sbi_pool_run(busy.pool, 5000, inner, &sum);
            _exit(atomic_load(&sum) == 5000 ? 0 : 1);
        }
        CHECK(wait_for(child) == 0, "fork %d", i);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    CHECK(busy.failed == 0, "the parent's own work");
    sbi_pool_free(busy.pool);
}

int main(void) {
    test_counts();
    test_nested();
    test_callers();
#if defined(__SANITIZE_THREAD__)
    const bool child_may_thread = false; // the thread sanitizer cannot follow threads of a child
#else
    const bool child_may_thread = true;
#endif
    if (child_may_thread) {
        test_fork();
        test_fork_at_work();
    } else {
        printf("skipped: fork\n");
    }
    return test_end();
}
