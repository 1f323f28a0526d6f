// SPDX-License-Identifier: Apache-2.0
// The CPU as a device: memory is memory, a launch is a loop over groups in contiguous runs, shared by the pool.
#include "device.h"

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

typedef struct cpu_job {
    sbi_kernel_run run;
    const sbi_arg *args;
    int64_t size, longer; // groups a run; the first `longer` runs have one more
} cpu_job;

static void cpu_run(void *argument, int64_t index) {
    const cpu_job *job = argument;
    int64_t first = index * job->size + (index < job->longer ? index : job->longer);
    job->run(job->args, first, first + job->size + (index < job->longer));
}

static sb_status cpu_launch(const sbi_device *device, const sbi_kernel_table *kernels, sbi_pool *pool,
                            sbi_kernel_id kernel, int64_t groups, const sbi_arg *args, sb_error *err) {
    (void)device, (void)err;
    sbi_kernel_run run = kernels->run[kernel];
    int threads = sbi_pool_threads(pool);
    if (threads == 1 || groups == 1) {
        run(args, 0, groups);
        return SB_OK;
    }
    int64_t runs = groups < (int64_t)threads * RUNS_A_THREAD ? groups : (int64_t)threads * RUNS_A_THREAD;
    cpu_job job = {run, args, groups / runs, groups % runs};
    sbi_pool_run(pool, runs, cpu_run, &job);
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
