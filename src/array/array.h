// SPDX-License-Identifier: Apache-2.0
// The array and the context. See samebits.h for what they promise.
#ifndef SBI_ARRAY_H
#define SBI_ARRAY_H

#include "base.h"
#include "device.h"

typedef struct sbi_storage { // shared by an array and its views
    int64_t references;
    void *data;              // an address on the device
    sb_context *context;     // whose allocator released it; NULL: the caller's memory
    sbi_allocator allocator; // copied, so that an array may outlive its context
} sbi_storage;

struct sb_array {
    sb_dtype dtype;
    int ndim;
    int64_t shape[SB_MAX_DIMS];
    int64_t size;         // elements
    char *data;           // storage->data + offset
    sbi_storage *storage;
};

struct sbi_op; // ops.h
struct sb_context {
    sbi_allocator allocator;
    sbi_pool *pool;
    const sbi_device *device;
    const struct sbi_kernel_table *kernels; // the CPU level that runs
    // Called after every operation when set: the trace (bisecting, tests).
    void (*trace)(void *user, const struct sbi_op *op);
    void *trace_user;
};

// Zeroed scratch for the time of an operation, as an array of count elements; free with sb_array_free.
sb_status sbi_scratch(sb_context *ctx, sb_dtype dtype, int64_t count, sb_array **out, sb_error *err);
bool sbi_arrays_overlap(const sb_array *a, const sb_array *b);
// A context over a device that stands outside the library (the reference, in tools and tests).
sb_status sbi_context_new_on(const sbi_device *device, int threads, sb_context **out, sb_error *err);
// A context with `threads` threads and the same device, level and allocator: for work split above the operations.
sb_status sbi_context_share(const sb_context *ctx, int threads, sb_context **out, sb_error *err);
#endif
