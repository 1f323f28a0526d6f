// SPDX-License-Identifier: Apache-2.0
// A library to preload: kills the process (SIGKILL) before or after its n-th call of open for writing, write, fsync or
// rename, where KILL_AT is n and KILL_WHEN "before" or "after". With KILL_COUNT naming a file it only counts.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;

static void tick(const char *when) {
    const char *at = getenv("KILL_AT"), *wanted = getenv("KILL_WHEN");
    if (strcmp(when, "before") == 0) calls++;
    if (at && wanted && strcmp(wanted, when) == 0 && calls == atol(at)) kill(getpid(), SIGKILL);
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("KILL_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", (long)calls);
    fclose(file);
}

#define REAL(name, type) ((type)(dlsym(RTLD_NEXT, name)))

ssize_t write(int fd, const void *bytes, size_t size) {
    if (fd <= 2) return REAL("write", ssize_t(*)(int, const void *, size_t))(fd, bytes, size);
    tick("before");
    ssize_t r = REAL("write", ssize_t(*)(int, const void *, size_t))(fd, bytes, size);
    tick("after");
    return r;
}

int fsync(int fd) {
    tick("before");
    int r = REAL("fsync", int (*)(int))(fd);
    tick("after");
    return r;
}

int rename(const char *from, const char *to) {
    tick("before");
    int r = REAL("rename", int (*)(const char *, const char *))(from, to);
    tick("after");
    return r;
}

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    int mode = (flags & O_CREAT) ? va_arg(list, int) : 0;
    va_end(list);
    int writes = (flags & O_ACCMODE) != O_RDONLY;
    if (writes) tick("before");
    int r = REAL("open", int (*)(const char *, int, int))(path, flags, mode);
    if (writes) tick("after");
    return r;
}
