// SPDX-License-Identifier: Apache-2.0
// The array and the context. See samebits.h for what they promise.
#ifndef SBI_ARRAY_H
#define SBI_ARRAY_H

#include "base.h"
#include "device.h"

#include <stdatomic.h>

typedef struct sbi_storage { // shared by an array and its views
    atomic_ptrdiff_t references; // (each takes memory: they cannot overflow)
    void *data;               // an address on the device
    const sbi_device *device; // where it is
    bool borrowed;            // the caller's memory
    sbi_allocator allocator;  // copied, so that an array may outlive its context
} sbi_storage;

struct sb_array {
    sb_dtype dtype;
    int ndim;
    int64_t shape[SB_MAX_DIMS];
    int64_t size;         // elements
    char *data;           // storage->data + offset
    sbi_storage *storage;
};

struct sbi_op;           // ops.h
struct sbi_trace_branch; // trace.h
struct sb_context {
    sbi_allocator allocator;
    sbi_pool *pool;
    const sbi_device *device;
    const struct sbi_kernel_table *kernels; // the CPU level that runs
    int tile; // SAMEBITS_TILE: the side of a product's tile on a device that has several, 0: as op_gemm.c's table says
    struct sbi_trace_branch *trace; // where the lines of the operations go; NULL: nowhere
    // Tests: called after every operation when set, before its result is traced. Also on contexts shared from this one.
    void (*watch)(void *user, sb_context *ctx, const struct sbi_op *op);
    void *watch_user;
};

// As in samebits.h, without the NULL checks.
sb_status sbi_context_new(const sb_context_options *options, sb_context **out, sb_error *err);
void sbi_context_free(sb_context *ctx);
size_t sbi_dtype_size(sb_dtype dtype);
const char *sbi_dtype_name(sb_dtype dtype);
sb_status sbi_array_new(sb_context *ctx, sb_dtype dtype, int ndim, const int64_t *shape, sb_array **out, sb_error *err);
sb_status sbi_array_wrap(sb_context *ctx, sb_dtype dtype, int ndim, const int64_t *shape, void *data, sb_array **out,
                         sb_error *err);
sb_status sbi_array_slice(sb_array *a, int64_t first, int64_t count, sb_array **out, sb_error *err);
sb_status sbi_array_reshape(sb_array *a, int ndim, const int64_t *shape, sb_array **out, sb_error *err);
void sbi_array_free(sb_array *a); // NULL is fine
sb_status sbi_array_read(const sb_array *a, void *to, size_t bytes, sb_error *err);
sb_status sbi_array_write(sb_array *a, const void *from, size_t bytes, sb_error *err);
sb_status sbi_digest_arrays(sb_context *ctx, int64_t count, const char *const *names, const sb_array *const *arrays,
                            uint8_t out[32], sb_error *err);

// Zeroed scratch for the time of an operation, as an array of count elements; free with sb_array_free.
sb_status sbi_scratch(sb_context *ctx, sb_dtype dtype, int64_t count, sb_array **out, sb_error *err);
bool sbi_arrays_overlap(const sb_array *a, const sb_array *b);
// A context over a device that stands outside the library (the reference, in tools and tests).
sb_status sbi_context_new_on(const sbi_device *device, int threads, sb_context **out, sb_error *err);
// A context with `threads` threads and the same device, level and allocator: for work split above the operations.
sb_status sbi_context_share(const sb_context *ctx, int threads, sb_context **out, sb_error *err);
#endif
