// SPDX-License-Identifier: Apache-2.0
// Drivers, which a machine may lack: opened by name when they are asked for, never linked.
#include "base.h"

#ifndef SBI_STATIC // (a static program opens no libraries)
#include <dlfcn.h>
#endif

#include <string.h>

void *sbi_library_open(const char *name) {
#ifdef SBI_STATIC
    (void)name;
    return NULL;
#else
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
#endif
}

bool sbi_library_function(void *library, const char *name, void *out, size_t out_size) {
#ifdef SBI_STATIC
    (void)library, (void)name, (void)out, (void)out_size;
    return false;
#else
    void *found = dlsym(library, name);
    if (!found || out_size != sizeof found) return false;
    memcpy(out, &found, sizeof found); // (C has no cast from an object's address to a function's)
    return true;
#endif
}
