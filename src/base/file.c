// SPDX-License-Identifier: Apache-2.0
// Files: whole reads of regular files, writes that appear at once or not at all, appended lines, folders, a clock.
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int close_keeping_errno(int descriptor) {
    int before = errno;
    int result = close(descriptor);
    errno = before;
    return result;
}

struct sbi_source {
    sbi_allocator allocator;
    int descriptor;
    char *path;
};

const char *sbi_source_path(const sbi_source *source) { return source->path; }

sb_status sbi_source_open(const sbi_allocator *allocator, const char *path, sbi_source **out, int64_t *size, sb_error *err) {
    const size_t length = strlen(path);
    sbi_source *source = sbi_allocate(allocator, (int64_t)(sizeof *source + length + 1), 1, err);
    if (!source) return SB_ERR_MEMORY;
    source->allocator = *allocator;
    source->path = (char *)(source + 1);
    memcpy(source->path, path, length + 1);
    // O_NONBLOCK: a fifo must be refused, not waited for.
    source->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    sb_status status = source->descriptor < 0 ? sbi_fail_file(err, path, "open", errno) : SB_OK;
    struct stat about;
    if (status == SB_OK && fstat(source->descriptor, &about) != 0) status = sbi_fail_file(err, path, "examine", errno);
    if (status == SB_OK && !S_ISREG(about.st_mode)) {
        char name[200];
        sbi_escape(path, length, name, sizeof name);
        status = sbi_fail(err, SB_ERR_IO, "path", "%s is not a regular file", name);
    }
    if (status == SB_OK) {
        *size = about.st_size;
        *out = source;
    } else {
        sbi_source_close(source);
    }
    return status;
}

sb_status sbi_source_read(sbi_source *source, void *to, int64_t size, int64_t *got, sb_error *err) {
    for (*got = 0; *got < size;) {
        const ssize_t count = read(source->descriptor, (char *)to + *got, (size_t)(size - *got));
        if (count < 0 && errno != EINTR) return sbi_fail_file(err, source->path, "read", errno);
        if (count == 0) break;
        if (count > 0) *got += count;
    }
    return SB_OK;
}

void sbi_source_close(sbi_source *source) {
    if (!source) return;
    if (source->descriptor >= 0) close_keeping_errno(source->descriptor);
    const sbi_allocator allocator = source->allocator;
    sbi_release(&allocator, source);
}

sb_status sbi_file_read(const sbi_allocator *allocator, const char *path, int64_t limit, uint8_t **bytes, int64_t *size,
                        sb_error *err) {
    char name[200];
    uint8_t *buffer = NULL;
    sbi_source *source = NULL;
    int64_t length = 0, have = 0;
    sb_status status = sbi_source_open(allocator, path, &source, &length, err);
    if (status != SB_OK) return status;
    sbi_escape(path, strlen(path), name, sizeof name);
    if (length > limit) {
        status = sbi_fail(err, SB_ERR_SIZE, "path", "%s has %lld bytes: at most %lld are accepted", name, (long long)length,
                          (long long)limit);
        goto done;
    }
    buffer = sbi_allocate(allocator, length + 1, 1, err); // ends in a NUL, for text
    status = buffer ? sbi_source_read(source, buffer, length, &have, err) : SB_ERR_MEMORY;
    if (status == SB_OK && have < length)
        status = sbi_fail(err, SB_ERR_IO, "path", "%s became shorter while it was read", name);
    if (status != SB_OK) goto done;
    *bytes = buffer;
    *size = have;
    buffer = NULL;
done:
    sbi_release(allocator, buffer);
    sbi_source_close(source);
    return status;
}

struct sbi_file {
    sbi_allocator allocator;
    int descriptor;  // -1: closed
    char *path, *temporary, *folder;
};

static int write_all(int descriptor, const void *bytes, int64_t size) {
    const char *from = bytes;
    while (size > 0) {
        ssize_t count = write(descriptor, from, (size_t)size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count < 0 ? errno : EIO;
        from += count;
        size -= count;
    }
    return 0;
}

static int sync_descriptor(int descriptor) {
    while (fsync(descriptor) != 0)
        if (errno != EINTR) return errno;
    return 0;
}

static int sync_folder(const char *folder) {
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return errno;
    int number = sync_descriptor(descriptor);
    close(descriptor);
    return number == EINVAL || number == EROFS ? 0 : number; // a file system that does not sync folders
}

// The folder of path: "a/b" is in "a", "/b" in "/", "b" in ".".
static void write_folder(const char *path, char *out) {
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (!slash)
        strcpy(out, ".");
    else if (length == 0)
        strcpy(out, "/");
    else
        memcpy(out, path, length), out[length] = '\0';
}

sb_status sbi_file_create(const sbi_allocator *allocator, const char *path, sbi_file **out, sb_error *err) {
    static atomic_uint serial; // only so that two files of one process differ
    size_t length = strlen(path);
    struct stat about;
    if (length == 0) return sbi_fail_file(err, path, "write", ENOENT);
    if (path[length - 1] == '/') return sbi_fail_file(err, path, "write", EISDIR);
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
        if (S_ISDIR(about.st_mode)) return sbi_fail_file(err, path, "write", EISDIR);
        char name[200];
        sbi_escape(path, length, name, sizeof name);
        return sbi_fail(err, SB_ERR_IO, "path", "%s is not a regular file: it would be replaced", name);
    }
    int64_t room = (int64_t)length + 64; // for each of the three names
    sbi_file *file = sbi_allocate(allocator, (int64_t)sizeof *file + 3 * room, 1, err);
    if (!file) return SB_ERR_MEMORY;
    file->allocator = *allocator;
    file->descriptor = -1;
    file->path = (char *)(file + 1);
    file->temporary = file->path + room;
    file->folder = file->temporary + room;
    memcpy(file->path, path, length + 1);
    write_folder(path, file->folder);
    int number = EEXIST;
    for (int attempt = 0; attempt < 100 && number == EEXIST; attempt++) {
        snprintf(file->temporary, (size_t)room, "%s/.samebits-%ld-%u.tmp", file->folder, (long)getpid(),
                 atomic_fetch_add(&serial, 1));
        file->descriptor = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        number = file->descriptor >= 0 ? 0 : errno;
    }
    if (number) {
        sbi_release(allocator, file);
        return sbi_fail_file(err, path, "create a file beside", number);
    }
    *out = file;
    return SB_OK;
}

sb_status sbi_file_start(const sbi_allocator *allocator, const char *path, sbi_file **out, sb_error *err) {
    size_t length = strlen(path);
    struct stat about;
    sbi_file *file = sbi_allocate(allocator, (int64_t)(sizeof *file + length + 2), 1, err);
    if (!file) return SB_ERR_MEMORY;
    file->allocator = *allocator;
    file->path = (char *)(file + 1);
    file->temporary = file->folder = file->path + length + 1; // none
    memcpy(file->path, path, length + 1);
    file->descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    sb_status status = file->descriptor < 0 ? sbi_fail_file(err, path, "open", errno) : SB_OK;
    if (status == SB_OK && fstat(file->descriptor, &about) != 0) status = sbi_fail_file(err, path, "examine", errno);
    if (status == SB_OK && !S_ISREG(about.st_mode)) {
        char name[200];
        sbi_escape(path, length, name, sizeof name);
        status = sbi_fail(err, SB_ERR_IO, "path", "%s is not a regular file", name);
    }
    if (status == SB_OK && ftruncate(file->descriptor, 0) != 0) status = sbi_fail_file(err, path, "empty", errno);
    if (status == SB_OK)
        *out = file;
    else
        sbi_file_abandon(file);
    return status;
}

const char *sbi_file_path(const sbi_file *file) { return file->path; }

sb_status sbi_file_write(sbi_file *file, const void *bytes, int64_t size, sb_error *err) {
    int number = write_all(file->descriptor, bytes, size);
    return number ? sbi_fail_file(err, file->path, "write", number) : SB_OK;
}

sb_status sbi_file_commit(sbi_file *file, sb_error *err) {
    int number = sync_descriptor(file->descriptor);
    if (number) return sbi_fail_file(err, file->path, "write", number);
    int closed = close(file->descriptor); // never tried twice: the descriptor is gone either way
    file->descriptor = -1;
    if (closed != 0 && errno != EINTR) return sbi_fail_file(err, file->path, "write", errno);
    if (rename(file->temporary, file->path) != 0)
        return sbi_fail_file(err, file->path, "put a file in place of", errno);
    file->temporary[0] = '\0';
    number = sync_folder(file->folder);
    if (number) return sbi_fail_file(err, file->folder, "sync", number);
    sbi_allocator allocator = file->allocator;
    sbi_release(&allocator, file);
    return SB_OK;
}

void sbi_file_abandon(sbi_file *file) {
    if (!file) return;
    if (file->descriptor >= 0) close(file->descriptor);
    if (file->temporary[0]) unlink(file->temporary);
    sbi_allocator allocator = file->allocator;
    sbi_release(&allocator, file);
}

sb_status sbi_file_append(const char *path, const void *bytes, int64_t size, sb_error *err) {
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (file < 0) return sbi_fail_file(err, path, "open", errno);
    sb_status status = SB_OK;
    struct stat about;
    char name[200];
    int number = 0;
    if (fstat(file, &about) != 0) {
        status = sbi_fail_file(err, path, "examine", errno);
    } else if (!S_ISREG(about.st_mode)) {
        sbi_escape(path, strlen(path), name, sizeof name);
        status = sbi_fail(err, SB_ERR_IO, "path", "%s is not a regular file", name);
    } else {
        ssize_t count;
        do count = write(file, bytes, (size_t)size);
        while (count < 0 && errno == EINTR);
        number = count < 0 ? errno : count < size ? ENOSPC : sync_descriptor(file);
        // A line is there whole or not at all, as far as we can help it.
        if (count >= 0 && count < size && ftruncate(file, about.st_size) != 0) number = errno;
        if (number) status = sbi_fail_file(err, path, "append to", number);
    }
    if (close(file) != 0 && errno != EINTR && status == SB_OK) status = sbi_fail_file(err, path, "append to", errno);
    if (status == SB_OK && about.st_size == 0) { // perhaps new: its name must last as well
        char folder[4096];
        if (strlen(path) >= sizeof folder) return sbi_fail_file(err, path, "sync", ENAMETOOLONG);
        write_folder(path, folder);
        number = sync_folder(folder);
        if (number) status = sbi_fail_file(err, folder, "sync", number);
    }
    return status;
}

sb_status sbi_folder_make(const char *path, sb_error *err) {
    char part[4096];
    size_t length = strlen(path);
    if (length == 0) return sbi_fail_file(err, path, "make", ENOENT);
    if (length >= sizeof part) return sbi_fail_file(err, path, "make", ENAMETOOLONG);
    memcpy(part, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        part[i] = '\0';
        struct stat about;
        if (mkdir(part, 0777) != 0) {
            int number = errno;
            if (stat(part, &about) != 0) return sbi_fail_file(err, path, "make", number);
            if (!S_ISDIR(about.st_mode)) return sbi_fail_file(err, path, "make", ENOTDIR);
        }
        part[i] = path[i];
    }
    return SB_OK;
}

int64_t sbi_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

double sbi_seconds(void) { return 1e-9 * (double)sbi_nanoseconds(); }
