// SPDX-License-Identifier: Apache-2.0
// The CPU as a device: memory is memory, a launch is a loop over groups in contiguous runs, shared by the pool.
#include "device.h"

#include <stdatomic.h>
#include <string.h>

// Runs a thread of the pool takes on average: enough for balance when groups differ or a core is taken away, few
// enough that neighbours mostly stay together in a cache.
enum { RUNS_A_THREAD = 8, COPY_BYTES = 1 << 20 };

static void *cpu_allocate(const sbi_device *device, const sbi_allocator *allocator, int64_t bytes, sb_error *err) {
    (void)device;
    return sbi_allocate(allocator, bytes, 1, err);
}

static void cpu_release(const sbi_device *device, const sbi_allocator *allocator, void *data) {
    (void)device;
    sbi_release(allocator, data);
}

static sb_status cpu_move(const sbi_device *device, const void *from, void *to, int64_t bytes, sb_error *err) {
    (void)device, (void)err;
    if (bytes > 0) memmove(to, from, (size_t)bytes);
    return SB_OK;
}

// A launch is as many members as threads have something to do. A member has scratch of its own and takes runs, one after
// another, until none is left.
typedef struct cpu_job {
    sbi_kernel_run run;
    const sbi_arg *args;
    int64_t runs, size, longer; // groups a run; the first `longer` runs have one more
    char *scratch;
    int64_t bytes; // of it a member
    _Alignas(64) atomic_int_least64_t next;
} cpu_job;

static void cpu_work(void *argument, int64_t member) {
    cpu_job *job = argument;
    void *scratch = job->scratch ? job->scratch + member * job->bytes : NULL;
    for (int64_t i; (i = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed)) < job->runs;) {
        const int64_t first = i * job->size + (i < job->longer ? i : job->longer);
        job->run(job->args, first, first + job->size + (i < job->longer), scratch);
    }
}

static int64_t scratch_of(const sbi_kernel_table *kernels, sbi_kernel_id kernel) {
    const sbi_scratch_need *need = kernels->scratch;
    while (need->bytes > 0 && need->kernel != kernel) need++;
    return (need->bytes + 63) / 64 * 64; // whole lines a thread
}

static sb_status cpu_launch(const sbi_device *device, const sbi_kernel_table *kernels, sbi_pool *pool,
                            sbi_kernel_id kernel, int64_t groups, const sbi_arg *args, sb_error *err) {
    (void)device;
    const int64_t threads = sbi_pool_threads(pool), most = threads == 1 ? 1 : threads * RUNS_A_THREAD;
    const int64_t runs = groups < most ? groups : most, members = runs < threads ? runs : threads;
    cpu_job job = {.run = kernels->run[kernel], .args = args, .runs = runs, .size = groups / runs, .longer = groups % runs,
                   .bytes = scratch_of(kernels, kernel)};
    if (job.bytes > 0 && !(job.scratch = sbi_pool_scratch(pool, members * job.bytes, err))) return SB_ERR_MEMORY;
    sbi_pool_run(pool, members, cpu_work, &job);
    sbi_pool_scratch_done(pool, job.scratch);
    return SB_OK;
}

typedef struct cpu_copying {
    const char *from;
    char *to;
    int64_t bytes;
} cpu_copying;

static void cpu_copy_part(void *argument, int64_t index) {
    const cpu_copying *job = argument;
    int64_t first = index * COPY_BYTES, rest = job->bytes - first;
    memcpy(job->to + first, job->from + first, (size_t)(rest < COPY_BYTES ? rest : COPY_BYTES));
}

static sb_status cpu_copy(const sbi_device *device, sbi_pool *pool, const void *from, void *to, int64_t bytes,
                          sb_error *err) {
    (void)device, (void)err;
    cpu_copying job = {from, to, bytes};
    sbi_pool_run(pool, bytes / COPY_BYTES + (bytes % COPY_BYTES != 0), cpu_copy_part, &job);
    return SB_OK;
}

const sbi_device sbi_cpu = {
    .name = "cpu",
    .allocate = cpu_allocate,
    .release = cpu_release,
    .read = cpu_move,
    .write = cpu_move,
    .launch = cpu_launch,
    .copy = cpu_copy,
};
