// SPDX-License-Identifier: Apache-2.0
// Programs that a driver's compiler made once, on disk: for every kind of device that compiles at
// run time.
//
// The cache is a folder of files (SAMEBITS_CACHE, or samebits in XDG_CACHE_HOME or in ~/.cache; an
// empty SAMEBITS_CACHE is none). A file's name is the SHA-256 of the text and of all that its
// program depends on: options, device, driver; it holds the SHA-256 of the program and the program.
// It is written beside and renamed, so that processes never see half of one; one that is not whole,
// or that the driver does not take, is built anew. A cache that cannot be written is no error.
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 32, MOST_BYTES = 1 << 28 };

static bool cache_folder(char *out, size_t size) {
    static const struct {
        const char *variable, *below;
    } places[] = {
        {"SAMEBITS_CACHE", ""}, {"XDG_CACHE_HOME", "/samebits"}, {"HOME", "/.cache/samebits"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *value = getenv(places[i].variable);
        if (value && (*value || i == 0))
            return *value && snprintf(out, size, "%s%s", value, places[i].below) < (int)size;
    }
    return false;
}

bool sbi_program_path(const char *const *parts, const unsigned char *text, size_t size,
                      char out[SBI_PROGRAM_PATH]) {
    char folder[SBI_PROGRAM_PATH - 256], name[65];
    uint8_t digest[32];
    sbi_sha256 hash;
    if (!cache_folder(folder, sizeof folder)) return false;
    sbi_sha256_start(&hash);
    for (; *parts; parts++)
        sbi_sha256_add(&hash, *parts,
                       strlen(*parts) + 1); // with its end: no two lists of texts are one
    sbi_sha256_add(&hash, text, size);
    sbi_sha256_end(&hash, digest);
    sbi_hex(digest, sizeof digest, name);
    return snprintf(out, SBI_PROGRAM_PATH, "%s/%s.program", folder, name) < SBI_PROGRAM_PATH;
}

static void digest_of(const uint8_t *bytes, size_t size, uint8_t out[HEAD]) {
    sbi_sha256 hash;
    sbi_sha256_start(&hash);
    sbi_sha256_add(&hash, bytes, size);
    sbi_sha256_end(&hash, out);
}

uint8_t *sbi_program_read(const char *path, size_t *size) {
    uint8_t *bytes = NULL, digest[HEAD];
    int64_t all = 0;
    if (sbi_file_read(&sbi_malloc_allocator, path, MOST_BYTES, &bytes, &all, NULL) != SB_OK)
        return NULL;
    *size = all > HEAD ? (size_t)all - HEAD : 0;
    if (*size) digest_of(bytes + HEAD, *size, digest);
    if (*size == 0 || memcmp(digest, bytes, HEAD) != 0) {
        sbi_release(&sbi_malloc_allocator, bytes);
        return NULL;
    }
    memmove(bytes, bytes + HEAD, *size);
    bytes[*size] = 0; // (some are texts)
    return bytes;
}

void sbi_program_keep(const char *path, const uint8_t *bytes, size_t size) {
    char folder[SBI_PROGRAM_PATH];
    uint8_t digest[HEAD];
    sbi_file *file = NULL;
    if (size == 0 || size > MOST_BYTES - HEAD) return;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    digest_of(bytes, size, digest);
    if (sbi_folder_make(folder, NULL) != SB_OK ||
        sbi_file_create(&sbi_malloc_allocator, path, &file, NULL) != SB_OK)
        return;
    if (sbi_file_write(file, digest, HEAD, NULL) != SB_OK ||
        sbi_file_write(file, bytes, (int64_t)size, NULL) != SB_OK ||
        sbi_file_commit(file, NULL) != SB_OK)
        sbi_file_abandon(file);
}
