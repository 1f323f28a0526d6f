// SPDX-License-Identifier: Apache-2.0
// safetensors: reading bytes we did not write into checked views, and writing.
#ifndef SBI_SAFETENSORS_H
#define SBI_SAFETENSORS_H

#include "base.h"

typedef struct sbi_tensor_view {
    const char *name; // NUL-terminated, no NUL inside
    sb_dtype dtype;
    int ndim;
    int64_t shape[SB_MAX_DIMS];
    const uint8_t *bytes; // little-endian, in the caller's buffer, of exactly the shape's size
    int64_t size;         // bytes
} sbi_tensor_view;

typedef struct sbi_safetensors {
    sbi_tensor_view *tensors; // in the order of their bytes
    int64_t count;
    const char **keys, **values; // __metadata__
    int64_t metadata_count;
} sbi_safetensors;

// Checks everything: header length, JSON, dtypes, shapes (no overflow), spans that cover the data exactly, without gaps
// or overlaps, distinct names. Nothing is allocated from a declared size. Views point into bytes; the rest lives in the arena.
sb_status sbi_safetensors_read(sbi_arena *arena, const uint8_t *bytes, int64_t size, sbi_safetensors *out, sb_error *err);
const sbi_tensor_view *sbi_safetensors_find(const sbi_safetensors *file, const char *name);   // NULL if absent
const char *sbi_safetensors_metadata(const sbi_safetensors *file, const char *key);          // NULL if absent

// Writing: tensors as given (bytes in the host's order; written little-endian), header padded with spaces to 8 bytes.
// Same input, same bytes, on any machine. Atomic as sbi_file is.
sb_status sbi_safetensors_write(const sbi_allocator *allocator, const char *path, const sbi_tensor_view *tensors, int64_t count,
                                const char *const *keys, const char *const *values, int64_t metadata_count, sb_error *err);
// The same bytes into memory, of which *size are needed; to NULL: only that is found out. Too few: SB_ERR_SIZE.
sb_status sbi_safetensors_store(const sbi_allocator *allocator, const sbi_tensor_view *tensors, int64_t count,
                                const char *const *keys, const char *const *values, int64_t metadata_count, void *to,
                                int64_t capacity, int64_t *size, sb_error *err);
// Copies a view's elements to host order.
void sbi_tensor_copy(const sbi_tensor_view *view, void *to);
#endif
