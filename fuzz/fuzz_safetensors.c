// SPDX-License-Identifier: Apache-2.0
// The safetensors reader: its views lie in the file, in order and without gaps; what it takes can be written, and reads
// as the same tensors and metadata. Then the public function that reads such files.
#include "fuzz.h"
#include "safetensors.h"

#include <unistd.h>

static void check_views(const sbi_safetensors *file, const uint8_t *data, size_t size) {
    const uint8_t *at = NULL;
    for (int64_t i = 0; i < file->count; i++) {
        const sbi_tensor_view *view = &file->tensors[i];
        MUST(view->bytes >= data && view->size >= 0 && view->size <= data + size - view->bytes);
        MUST(!at || at == view->bytes);
        at = view->bytes + view->size;
        MUST(sbi_safetensors_find(file, view->name) == view);
        void *copy = malloc((size_t)view->size + 1);
        MUST(copy);
        sbi_tensor_copy(view, copy);
        free(copy);
    }
    MUST(!at || at == data + size);
}

static void check_written(sbi_arena *arena, const sbi_safetensors *file) {
    char path[100];
    uint8_t *bytes = NULL;
    int64_t size;
    sb_error err = {0};
    sbi_safetensors other;
    snprintf(path, sizeof path, "%s/a.safetensors", fuzz_folder());
    sb_status status = sbi_safetensors_write(&fuzz_allocator, path, file->tensors, file->count, file->keys, file->values,
                                             file->metadata_count, &err);
    if (status != SB_OK) {
        fuzz_error(status, &err);
        MUST(status == SB_ERR_MEMORY && access(path, F_OK) != 0);
        return;
    }
    MUST(sbi_file_read(&fuzz_allocator, path, INT64_MAX, &bytes, &size, &err) == SB_OK || err.status == SB_ERR_MEMORY);
    unlink(path);
    if (!bytes) return;
    MUST(sbi_safetensors_read(arena, bytes, size, &other, &err) == SB_OK || err.status == SB_ERR_MEMORY);
    if (err.status == SB_OK) {
        MUST(other.count == file->count && other.metadata_count == file->metadata_count);
        for (int64_t i = 0; i < file->count; i++) {
            const sbi_tensor_view *a = &file->tensors[i], *b = sbi_safetensors_find(&other, a->name);
            MUST(b && a->dtype == b->dtype && a->ndim == b->ndim && a->size == b->size);
            MUST(memcmp(a->shape, b->shape, sizeof a->shape) == 0 && memcmp(a->bytes, b->bytes, (size_t)a->size) == 0);
        }
        for (int64_t i = 0; i < file->metadata_count; i++)
            MUST(strcmp(sbi_safetensors_metadata(&other, file->keys[i]), file->values[i]) == 0);
    }
    sbi_release(&fuzz_allocator, bytes);
}

void fuzz_safetensors(const uint8_t *data, size_t size) {
    sb_error err = {0}, again = {0};
    sbi_safetensors file;
    uint8_t digests[4][32];
    int64_t arrays, arrays_again;
    sbi_arena *arena = sbi_arena_new(&fuzz_allocator, NULL);
    MUST(arena);
    sb_status status = sbi_safetensors_read(arena, data, (int64_t)size, &file, &err);
    if (status == SB_OK) {
        check_views(&file, data, size);
        check_written(arena, &file);
    } else {
        fuzz_error(status, &err);
    }
    const char *path = fuzz_file(0, data, size);
    MUST(sb_digest_file(path, digests[0], digests[1], &arrays, &again) == SB_OK);
    MUST(sb_digest_file(path, digests[2], digests[3], &arrays_again, &again) == SB_OK);
    MUST(arrays == arrays_again && (status == SB_ERR_MEMORY || arrays == (status == SB_OK ? file.count : -1)));
    MUST(memcmp(digests[0], digests[2], 32) == 0 && (arrays < 0 || memcmp(digests[1], digests[3], 32) == 0));
    sbi_arena_free(arena);
}
