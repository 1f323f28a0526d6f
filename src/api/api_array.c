// SPDX-License-Identifier: Apache-2.0
// Exported: arrays and digests.
#include "api.h"

size_t sb_dtype_size(sb_dtype dtype) {
    return sbi_dtype_size(dtype);
}

const char *sb_dtype_name(sb_dtype dtype) {
    return sbi_dtype_name(dtype);
}

sb_status sb_array_new(sb_context *ctx, sb_dtype dtype, int ndim, const int64_t *shape, sb_array **out, sb_error *err) {
    NEED(out);
    *out = NULL;
    NEED(ctx);
    return sbi_array_new(ctx, dtype, ndim, shape, out, err);
}

sb_status sb_array_wrap(sb_context *ctx, sb_dtype dtype, int ndim, const int64_t *shape, void *data, sb_array **out,
                        sb_error *err) {
    NEED(out);
    *out = NULL;
    NEED(ctx);
    return sbi_array_wrap(ctx, dtype, ndim, shape, data, out, err);
}

sb_status sb_array_slice(sb_array *a, int64_t first, int64_t count, sb_array **out, sb_error *err) {
    NEED(out);
    *out = NULL;
    NEED(a);
    return sbi_array_slice(a, first, count, out, err);
}

sb_status sb_array_reshape(sb_array *a, int ndim, const int64_t *shape, sb_array **out, sb_error *err) {
    NEED(out);
    *out = NULL;
    NEED(a);
    return sbi_array_reshape(a, ndim, shape, out, err);
}

void sb_array_free(sb_array *a) {
    sbi_array_free(a);
}

sb_dtype sb_array_dtype(const sb_array *a) {
    return a ? a->dtype : (sb_dtype)0;
}

int sb_array_ndim(const sb_array *a) {
    return a ? a->ndim : 0;
}

const int64_t *sb_array_shape(const sb_array *a) {
    return a ? a->shape : NULL;
}

int64_t sb_array_size(const sb_array *a) {
    return a ? a->size : 0;
}

void *sb_array_data(sb_array *a) {
    return a && !a->storage->device->apart ? a->data : NULL;
}

sb_status sb_array_read(const sb_array *a, void *to, size_t bytes, sb_error *err) {
    NEED(a);
    if (bytes) NEED(to);
    return sbi_array_read(a, to, bytes, err);
}

sb_status sb_array_write(sb_array *a, const void *from, size_t bytes, sb_error *err) {
    NEED(a);
    if (bytes) NEED(from);
    return sbi_array_write(a, from, bytes, err);
}

void sb_sha256(const void *data, size_t bytes, uint8_t out[32]) {
    sbi_sha256 hash;
    sbi_sha256_start(&hash);
    sbi_sha256_add(&hash, data, bytes);
    sbi_sha256_end(&hash, out);
}

sb_status sb_digest_arrays(sb_context *ctx, int64_t count, const char *const *names, const sb_array *const *arrays,
                           uint8_t out[32], sb_error *err) {
    NEED(ctx);
    NEED(out);
    if (count < 0) return sbi_fail(err, SB_ERR_ARGUMENT, "count", "%lld arrays", (long long)count);
    if (count > 0) {
        NEED(names);
        NEED(arrays);
    }
    for (int64_t i = 0; i < count; i++) {
        if (!names[i]) return sbi_fail(err, SB_ERR_ARGUMENT, "names", "names[%lld] is NULL", (long long)i);
        if (!arrays[i]) return sbi_fail(err, SB_ERR_ARGUMENT, "arrays", "arrays[%lld] is NULL", (long long)i);
    }
    RETURN_INSIDE(sbi_digest_arrays(ctx, count, names, arrays, out, err));
}
