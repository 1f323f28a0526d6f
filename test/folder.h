// SPDX-License-Identifier: Apache-2.0
// A test's own folder, and files in it.
#ifndef FOLDER_H
#define FOLDER_H

#include "test.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[200];

// Makes it: a new one in `base`, or where the system keeps temporary files.
static inline int open_folder(const char *base) {
    const char *temporary = base ? base : getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.150s/samebits-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    return mkdtemp(folder) != NULL;
}

// The path of a file in the folder; good until 64 more are asked for.
static inline const char *inside(const char *name) {
    static char paths[64][600];
    static int next;
    char *path = paths[next++ % 64];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static inline void put(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0, "cannot write %s", path);
}

// Removes a folder and all in it; counts the temporary files met.
static inline int clear(const char *path) {
    DIR *listing = opendir(path);
    int temporary = 0;
    for (const struct dirent *e; listing && (e = readdir(listing));) {
        char name[900];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(name, sizeof name, "%.600s/%s", path, e->d_name);
        temporary += strstr(e->d_name, ".tmp") != NULL;
        if (unlink(name) != 0) temporary += clear(name);
    }
    if (listing) closedir(listing);
    rmdir(path);
    return temporary;
}
#endif
