// SPDX-License-Identifier: Apache-2.0
// Folders: listing in an order that no file system decides, and removal.
#include "base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

sb_status sbi_folder_list(const sbi_allocator *allocator, const char *path,
                          sb_status (*visit)(void *user, const char *name, sb_error *err), void *user, sb_error *err) {
    sbi_arena *arena = sbi_arena_new(allocator, err);
    DIR *folder = NULL;
    char **names = NULL;
    sb_status status = SB_ERR_MEMORY;
    if (!arena)
        return status;
    folder = opendir(path);
    if (!folder) {
        status = sbi_fail_file(err, path, "read the folder", errno);
        goto done;
    }
    int64_t count = 0, capacity = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry) {
            if (errno) {
                status = sbi_fail_file(err, path, "read the folder", errno);
                goto done;
            }
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (count == capacity) { // the arena keeps the old table until the end: folders are small
            capacity = capacity ? 2 * capacity : 64;
            char **grown = sbi_arena_allocate(arena, capacity, sizeof *grown, err);
            if (!grown)
                goto done;
            if (count)
                memcpy(grown, names, (size_t)count * sizeof *grown);
            names = grown;
        }
        char *name = sbi_arena_string(arena, entry->d_name, strlen(entry->d_name), err);
        if (!name)
            goto done;
        int64_t at = count++;
        for (; at > 0 && strcmp(names[at - 1], name) > 0; at--)
            names[at] = names[at - 1];
        names[at] = name;
    }
    status = SB_OK;
    for (int64_t i = 0; i < count && status == SB_OK; i++)
        status = visit(user, names[i], err);
done:
    if (folder)
        closedir(folder);
    sbi_arena_free(arena);
    return status;
}

sb_status sbi_file_remove(const char *path, sb_error *err) {
    if (unlink(path) == 0 || errno == ENOENT)
        return SB_OK;
    return sbi_fail_file(err, path, "remove", errno);
}

sb_status sbi_folder_remove(const char *path, sb_error *err) {
    if (rmdir(path) == 0 || errno == ENOENT)
        return SB_OK;
    return sbi_fail_file(err, path, "remove the folder", errno);
}

sb_status sbi_folder_lock(const char *path, int *lock, sb_error *err) {
    *lock = -1;
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); // the folder itself: no file is left behind
    if (descriptor < 0)
        return sbi_fail_file(err, path, "open the folder", errno);
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        char shown[160];
        close(descriptor);
        return sbi_fail(err, SB_ERR_STATE, "folder", "another process works in %s", sbi_escape(path, strlen(path), shown, sizeof shown));
    }
    *lock = descriptor;
    return SB_OK;
}

void sbi_folder_unlock(int lock) {
    if (lock >= 0)
        close(lock);
}

bool sbi_file_present(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}
