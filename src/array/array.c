// SPDX-License-Identifier: Apache-2.0
// The array: a dtype and a shape over a storage that it shares with its views. The storage goes with the last of them.
#include "array.h"

#include <stdatomic.h>
#include <string.h>

size_t sbi_dtype_size(sb_dtype dtype) {
    switch (dtype) {
    case SB_F32: case SB_I32: case SB_U32: return 4;
    case SB_F64: case SB_I64: case SB_U64: return 8;
    case SB_U8: return 1;
    }
    return 0;
}

const char *sbi_dtype_name(sb_dtype dtype) {
    switch (dtype) {
    case SB_F32: return "float32";
    case SB_F64: return "float64";
    case SB_I32: return "int32";
    case SB_I64: return "int64";
    case SB_U8: return "uint8";
    case SB_U32: return "uint32";
    case SB_U64: return "uint64";
    }
    return "unknown";
}

// The number of elements. Even beside a size of 0 the others must have a product that fits, in bytes: operations
// multiply them without looking.
static sb_status count_elements(sb_dtype dtype, int ndim, const int64_t *shape, int64_t *out, sb_error *err) {
    size_t item = sbi_dtype_size(dtype);
    if (item == 0) return sbi_fail(err, SB_ERR_DTYPE, "dtype", "dtype %d is unknown", (int)dtype);
    if (ndim < 0 || ndim > SB_MAX_DIMS)
        return sbi_fail(err, SB_ERR_SHAPE, "ndim", "%d dimensions: expected 0 to %d", ndim, SB_MAX_DIMS);
    if (ndim > 0 && !shape) return sbi_fail(err, SB_ERR_ARGUMENT, "shape", "shape is NULL");
    int64_t bytes = (int64_t)item;
    bool empty = false;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0)
            return sbi_fail(err, SB_ERR_SHAPE, "shape", "size %lld of axis %d is negative", (long long)shape[i], i);
        if (shape[i] == 0)
            empty = true;
        else if (!sbi_multiply(bytes, shape[i], &bytes))
            return sbi_fail(err, SB_ERR_SIZE, "shape", "the sizes of the axes overflow a 64-bit count of bytes");
    }
    *out = empty ? 0 : bytes / (int64_t)item;
    return SB_OK;
}

static sb_array *make(const sbi_allocator *allocator, sb_dtype dtype, int ndim, const int64_t *shape, int64_t size,
                      sb_error *err) {
    sb_array *a = sbi_allocate(allocator, 1, sizeof *a, err);
    if (!a) return NULL;
    a->dtype = dtype;
    a->ndim = ndim;
    if (ndim > 0) memcpy(a->shape, shape, (size_t)ndim * sizeof *shape);
    a->size = size;
    return a;
}

static sb_status make_with_storage(sb_context *ctx, sb_dtype dtype, int ndim, const int64_t *shape, int64_t size,
                                   sb_array **out, sb_error *err) {
    sb_array *a = make(&ctx->allocator, dtype, ndim, shape, size, err);
    if (!a) return SB_ERR_MEMORY;
    a->storage = sbi_allocate(&ctx->allocator, 1, sizeof *a->storage, err);
    if (!a->storage) {
        sbi_release(&ctx->allocator, a);
        return SB_ERR_MEMORY;
    }
    atomic_init(&a->storage->references, 1);
    a->storage->device = ctx->device;
    sbi_device_keep(ctx->device);
    a->storage->allocator = ctx->allocator;
    *out = a;
    return SB_OK;
}

sb_status sbi_array_new(sb_context *ctx, sb_dtype dtype, int ndim, const int64_t *shape, sb_array **out, sb_error *err) {
    int64_t size;
    sb_array *a = NULL;
    sb_status status = count_elements(dtype, ndim, shape, &size, err);
    if (status == SB_OK) status = make_with_storage(ctx, dtype, ndim, shape, size, &a, err);
    if (status != SB_OK) return status;
    sb_error why = {0};
    void *data = ctx->device->allocate(ctx->device, &ctx->allocator, size * (int64_t)sbi_dtype_size(dtype), &why);
    if (!data) {
        a->storage->borrowed = true; // nothing to release
        sbi_array_free(a);
        if (err) *err = why;
        return why.status;
    }
    a->storage->data = data;
    a->data = data;
    *out = a;
    return SB_OK;
}

sb_status sbi_array_wrap(sb_context *ctx, sb_dtype dtype, int ndim, const int64_t *shape, void *data, sb_array **out,
                         sb_error *err) {
    int64_t size;
    sb_array *a = NULL;
    sb_status status = count_elements(dtype, ndim, shape, &size, err);
    if (status != SB_OK) return status;
    if (ctx->device->apart)
        return sbi_fail(err, SB_ERR_UNSUPPORTED, "ctx", "an array on %s cannot be memory of the caller: make one and write it",
                        ctx->device->name);
    if (!data && size > 0) return sbi_fail(err, SB_ERR_ARGUMENT, "data", "data is NULL");
    if ((uintptr_t)data % sbi_dtype_size(dtype) != 0)
        return sbi_fail(err, SB_ERR_ARGUMENT, "data", "data is not aligned to an element of %zu bytes",
                        sbi_dtype_size(dtype));
    status = make_with_storage(ctx, dtype, ndim, shape, size, &a, err);
    if (status != SB_OK) return status;
    a->storage->borrowed = true;
    a->storage->data = data;
    a->data = data;
    *out = a;
    return SB_OK;
}

static sb_status make_view(sb_array *a, int ndim, const int64_t *shape, int64_t size, int64_t offset, sb_array **out,
                           sb_error *err) {
    sb_array *view = make(&a->storage->allocator, a->dtype, ndim, shape, size, err);
    if (!view) return SB_ERR_MEMORY;
    atomic_fetch_add(&a->storage->references, 1);
    view->storage = a->storage;
    view->data = offset ? a->data + offset : a->data;
    *out = view;
    return SB_OK;
}

sb_status sbi_array_slice(sb_array *a, int64_t first, int64_t count, sb_array **out, sb_error *err) {
    if (a->ndim == 0) return sbi_fail(err, SB_ERR_SHAPE, "a", "a has no leading axis");
    if (first < 0 || first > a->shape[0])
        return sbi_fail(err, SB_ERR_ARGUMENT, "first", "row %lld is not in an axis of %lld", (long long)first,
                        (long long)a->shape[0]);
    if (count < 0 || count > a->shape[0] - first)
        return sbi_fail(err, SB_ERR_ARGUMENT, "count", "%lld rows from row %lld are not in an axis of %lld",
                        (long long)count, (long long)first, (long long)a->shape[0]);
    int64_t shape[SB_MAX_DIMS], row = a->shape[0] ? a->size / a->shape[0] : 0;
    memcpy(shape, a->shape, sizeof shape);
    shape[0] = count;
    return make_view(a, a->ndim, shape, count * row, first * row * (int64_t)sbi_dtype_size(a->dtype), out, err);
}

sb_status sbi_array_reshape(sb_array *a, int ndim, const int64_t *shape, sb_array **out, sb_error *err) {
    int64_t size;
    sb_status status = count_elements(a->dtype, ndim, shape, &size, err);
    if (status != SB_OK) return status;
    if (size != a->size)
        return sbi_fail(err, SB_ERR_SHAPE, "shape", "a has %lld elements, the new shape %lld", (long long)a->size,
                        (long long)size);
    return make_view(a, ndim, shape, size, 0, out, err);
}

void sbi_array_free(sb_array *a) {
    if (!a) return;
    sbi_storage *storage = a->storage;
    sbi_allocator allocator = storage->allocator;
    sbi_release(&allocator, a);
    if (atomic_fetch_sub(&storage->references, 1) != 1) return;
    if (!storage->borrowed) storage->device->release(storage->device, &allocator, storage->data);
    sbi_device_leave(storage->device);
    sbi_release(&allocator, storage);
}

static sb_status check_bytes(const sb_array *a, size_t bytes, sb_error *err) {
    size_t own = (size_t)a->size * sbi_dtype_size(a->dtype);
    if (bytes == own) return SB_OK;
    return sbi_fail(err, SB_ERR_ARGUMENT, "bytes", "%zu bytes given, the array has %zu", bytes, own);
}

sb_status sbi_array_read(const sb_array *a, void *to, size_t bytes, sb_error *err) {
    sb_status status = check_bytes(a, bytes, err);
    if (status != SB_OK || bytes == 0) return status;
    const sbi_device *device = a->storage->device;
    return device->read(device, a->data, to, (int64_t)bytes, err);
}

sb_status sbi_array_write(sb_array *a, const void *from, size_t bytes, sb_error *err) {
    sb_status status = check_bytes(a, bytes, err);
    if (status != SB_OK || bytes == 0) return status;
    const sbi_device *device = a->storage->device;
    return device->write(device, from, a->data, (int64_t)bytes, err);
}

sb_status sbi_scratch(sb_context *ctx, sb_dtype dtype, int64_t count, sb_array **out, sb_error *err) {
    return sbi_array_new(ctx, dtype, 1, &count, out, err);
}

bool sbi_arrays_overlap(const sb_array *a, const sb_array *b) {
    if (a->size == 0 || b->size == 0) return false;
    uintptr_t first_a = (uintptr_t)a->data, first_b = (uintptr_t)b->data;
    uintptr_t end_a = first_a + (uintptr_t)a->size * sbi_dtype_size(a->dtype);
    uintptr_t end_b = first_b + (uintptr_t)b->size * sbi_dtype_size(b->dtype);
    return first_a < end_b && first_b < end_a;
}
