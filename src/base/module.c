// SPDX-License-Identifier: Apache-2.0
// The file this code was loaded from, found by its address in the process's own map: it holds for a shared library, a
// program and a static program alike, and under an emulator, which shows the emulated program's map.
#include "base.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool module_path(char *out, size_t size) {
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4352];
    bool found = false;
    if (!maps) {
        return false;
    }
    while (!found && fgets(line, sizeof line, maps)) {
        uintptr_t first, last, here = (uintptr_t)&module_path;
        int path = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &first, &last, &path) == 2 && path > 0 &&
            here >= first && here < last && line[path] == '/' && strlen(line + path) < size) {
            strcpy(out, line + path);
            found = true;
        }
    }
    fclose(maps);
    return found;
}

bool sbi_module_digest(uint8_t out[32]) {
    char path[4096];
    uint8_t buffer[16384];
    FILE *file = module_path(path, sizeof path) ? fopen(path, "rbe") : NULL;
    sbi_sha256 hash;
    if (!file) {
        return false;
    }
    sbi_sha256_start(&hash);
    for (size_t count; (count = fread(buffer, 1, sizeof buffer, file)) > 0;) {
        sbi_sha256_add(&hash, buffer, count);
    }
    bool good = !ferror(file);
    fclose(file);
    sbi_sha256_end(&hash, out);
    return good;
}
