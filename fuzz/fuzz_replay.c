// SPDX-License-Identifier: Apache-2.0
// fuzz_replay CORPUS: every file of CORPUS/TARGET through its target, without libFuzzer; then with its last byte gone and
// with one byte changed, so that the replay sees more than the corpus. A target without files is a failure.
#include "fuzz.h"

#include <dirent.h>
#include <limits.h>

typedef struct target {
    const char *name;
    void (*run)(const uint8_t *data, size_t size);
} target;

#define ROW(name) {#name, fuzz_##name},
static const target targets[] = {FUZZ_TARGETS(ROW)};

static uint8_t *read_all(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    MUST(file && fseek(file, 0, SEEK_END) == 0);
    long length = ftell(file);
    rewind(file);
    uint8_t *bytes = malloc((size_t)length + 1);
    MUST(bytes && fread(bytes, 1, (size_t)length, file) == (size_t)length);
    fclose(file);
    *size = (size_t)length;
    return bytes;
}

// In a buffer of exactly its size: a byte too far is seen by the address sanitizer.
static void run(const target *t, const uint8_t *bytes, size_t size) {
    uint8_t *exact = malloc(size ? size : 1);
    MUST(exact);
    memcpy(exact, bytes, size);
    t->run(exact, size);
    free(exact);
}

static int replay(const target *t, const char *corpus) {
    char path[PATH_MAX];
    int count = 0;
    snprintf(path, sizeof path, "%s/%s", corpus, t->name);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        size_t size;
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s/%s", corpus, t->name, entry->d_name);
        uint8_t *bytes = read_all(path, &size);
        run(t, bytes, size);
        if (size) {
            run(t, bytes, size - 1);
            bytes[size / 2] ^= 1;
            run(t, bytes, size);
        }
        free(bytes);
        count++;
    }
    if (folder) closedir(folder);
    printf("%-12s %4d files\n", t->name, count);
    return count;
}

int main(int argc, char **argv) {
    int failed = argc != 2, files = 0;
    for (size_t i = 0; i < sizeof targets / sizeof *targets && !failed; i++) {
        int count = replay(&targets[i], argv[1]);
        failed += count == 0;
        files += count;
    }
    printf("%d files replayed\n", files);
    return failed != 0;
}
