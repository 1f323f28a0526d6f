// SPDX-License-Identifier: Apache-2.0
// Digests of a file: of its bytes, and, where it is a safetensors file, of the arrays in it (T10), which do not depend on
// how the file was laid out.
#include "verify.h"

#include "safetensors.h"

#define LARGEST ((int64_t)1 << 40)

// A view as an array of its own: a view may stand at any address, and in the other order of bytes.
static sb_status array_of(sb_context *ctx, sbi_arena *arena, const sbi_tensor_view *view, sb_array **out, sb_error *err) {
    void *values = sbi_arena_allocate(arena, view->size + 1, 1, err);
    if (!values) {
        return SB_ERR_MEMORY;
    }
    sbi_tensor_copy(view, values);
    sb_status status = sb_array_new(ctx, view->dtype, view->ndim, view->shape, out, err);
    return status == SB_OK ? sb_array_write(*out, values, (size_t)view->size, err) : status;
}

static sb_status digest_tree(sbi_arena *arena, const sbi_safetensors *file, uint8_t out[32], sb_error *err) {
    const char **names = sbi_arena_allocate(arena, file->count + 1, sizeof *names, err);
    const sb_array **arrays = sbi_arena_allocate(arena, file->count + 1, sizeof *arrays, err);
    sb_array **owned = sbi_arena_allocate(arena, file->count + 1, sizeof *owned, err);
    sb_context *ctx = NULL;
    sb_status status = names && arrays && owned ? sb_context_new(NULL, &ctx, err) : SB_ERR_MEMORY;
    for (int64_t i = 0; i < file->count && status == SB_OK; i++) {
        status = array_of(ctx, arena, &file->tensors[i], &owned[i], err);
        names[i] = file->tensors[i].name;
        arrays[i] = owned[i];
    }
    if (status == SB_OK) {
        status = sb_digest_arrays(ctx, file->count, names, arrays, out, err);
    }
    for (int64_t i = 0; owned && i < file->count; i++) {
        sb_array_free(owned[i]);
    }
    sb_context_free(ctx);
    return status;
}

sb_status sbi_digest_file(const char *path, uint8_t bytes[32], uint8_t tree[32], int64_t *arrays, sb_error *err) {
    uint8_t *content = NULL;
    int64_t size = 0;
    sbi_safetensors file;
    *arrays = -1;
    sb_status status = sbi_file_read(&sbi_malloc_allocator, path, LARGEST, &content, &size, err);
    if (status != SB_OK) {
        return status;
    }
    sb_sha256(content, (size_t)size, bytes);
    sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, err);
    sb_error why = {.status = SB_OK};
    status = arena ? sbi_safetensors_read(arena, content, size, &file, &why) : SB_ERR_MEMORY;
    if (status == SB_ERR_MEMORY && arena && err) {
        *err = why;
    }
    if (status == SB_OK) {
        status = digest_tree(arena, &file, tree, err);
        *arrays = file.count;
    } else if (status != SB_ERR_MEMORY) {
        status = SB_OK; // any other file
    }
    sbi_arena_free(arena);
    sbi_release(&sbi_malloc_allocator, content);
    return status;
}
