// SPDX-License-Identifier: Apache-2.0
// A library to preload: the n-th call of one kind fails, as a full disk, a lost one or a folder without rights would make it.
// FAULT_CALL names the kind (open: for writing; write, fsync, close: of files open for writing; rename, unlink, mkdir,
// ftruncate, read; half: a write that takes half of its bytes, after which there is no room), FAULT_AT is n (0: none),
// FAULT_ERRNO the error. FAULT_COUNT names a file for the number of calls of the kind. FAULT_LIBRARY: libraries whose names
// start so are not there.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { DESCRIPTORS = 4096 };
static long calls;
static int full; // after half a write
static unsigned char writes[DESCRIPTORS], reads[DESCRIPTORS];

static int fails(const char *call) {
    const char *kind = getenv("FAULT_CALL"), *at = getenv("FAULT_AT"), *number = getenv("FAULT_ERRNO");
    if (!kind || strcmp(kind, call) != 0) return 0;
    calls++;
    if (!at || calls != atol(at)) return 0;
    errno = number ? atoi(number) : EIO;
    return 1;
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("FAULT_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", calls);
    fclose(file);
}

#define REAL(name, type) ((type)(dlsym(RTLD_NEXT, name)))

static int is_file(int fd) {
    struct stat about;
    return fd > 2 && fd < DESCRIPTORS && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    int mode = (flags & O_CREAT) ? va_arg(list, int) : 0, writing = (flags & O_ACCMODE) != O_RDONLY;
    va_end(list);
    if (writing && fails("open")) return -1;
    int fd = REAL("open", int (*)(const char *, int, int))(path, flags, mode);
    if (fd >= 0 && fd < DESCRIPTORS) {
        writes[fd] = (unsigned char)writing;
        reads[fd] = (unsigned char)(!writing && strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0 && is_file(fd));
    }
    return fd;
}

ssize_t write(int fd, const void *bytes, size_t size) {
    ssize_t (*real)(int, const void *, size_t) = REAL("write", ssize_t(*)(int, const void *, size_t));
    if (!is_file(fd)) return real(fd, bytes, size);
    if (fails("write")) return -1;
    if (fails("half")) {
        full = 1;
        return real(fd, bytes, size / 2);
    }
    if (full) {
        errno = ENOSPC;
        return -1;
    }
    return real(fd, bytes, size);
}

ssize_t read(int fd, void *bytes, size_t size) {
    if (fd > 2 && fd < DESCRIPTORS && reads[fd] && fails("read")) return -1;
    return REAL("read", ssize_t(*)(int, void *, size_t))(fd, bytes, size);
}

int fsync(int fd) { return fails("fsync") ? -1 : REAL("fsync", int (*)(int))(fd); }

int close(int fd) {
    int writing = fd > 2 && fd < DESCRIPTORS && writes[fd];
    if (writing) writes[fd] = 0;
    int r = REAL("close", int (*)(int))(fd); // (the descriptor is gone either way, as in truth)
    return writing && fails("close") ? -1 : r;
}

int rename(const char *from, const char *to) { return fails("rename") ? -1 : REAL("rename", int (*)(const char *, const char *))(from, to); }
int unlink(const char *path) { return fails("unlink") ? -1 : REAL("unlink", int (*)(const char *))(path); }
int mkdir(const char *path, mode_t mode) { return fails("mkdir") ? -1 : REAL("mkdir", int (*)(const char *, mode_t))(path, mode); }
int ftruncate(int fd, off_t size) { return fails("ftruncate") ? -1 : REAL("ftruncate", int (*)(int, off_t))(fd, size); }

void *dlopen(const char *name, int flags) {
    const char *absent = getenv("FAULT_LIBRARY");
    if (absent && name && strncmp(name, absent, strlen(absent)) == 0) return NULL;
    return REAL("dlopen", void *(*)(const char *, int))(name, flags);
}
