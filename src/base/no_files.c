// SPDX-License-Identifier: Apache-2.0
// The one-file build with SAMEBITS_NO_FILES, in place of what asks an operating system (file.c, folder.c, process.c,
// module.c, cores.c): everything that needs one is refused by name.
#include "base.h"

#ifndef SAMEBITS_NO_THREADS
#include <time.h>
#endif

#include <string.h>

static sb_status refuse(sb_error *err) {
    return sbi_fail(err, SB_ERR_UNSUPPORTED, "path", "this samebits was built without files (SAMEBITS_NO_FILES)");
}

sb_status sbi_file_read(const sbi_allocator *allocator, const char *path, int64_t limit, uint8_t **bytes, int64_t *size, sb_error *err) {
    (void)allocator, (void)path, (void)limit, (void)bytes, (void)size;
    return refuse(err);
}
sb_status sbi_source_open(const sbi_allocator *allocator, const char *path, sbi_source **out, int64_t *size, sb_error *err) {
    (void)allocator, (void)path, (void)out, (void)size;
    return refuse(err);
}
sb_status sbi_source_read(sbi_source *source, void *to, int64_t size, int64_t *got, sb_error *err) {
    (void)source, (void)to, (void)size, (void)got;
    return refuse(err);
}
const char *sbi_source_path(const sbi_source *source) {
    (void)source;
    return "";
}
void sbi_source_close(sbi_source *source) {
    (void)source;
}
sb_status sbi_file_create(const sbi_allocator *allocator, const char *path, sbi_file **out, sb_error *err) {
    (void)allocator, (void)path, (void)out;
    return refuse(err);
}
sb_status sbi_file_start(const sbi_allocator *allocator, const char *path, sbi_file **out, sb_error *err) {
    (void)allocator, (void)path, (void)out;
    return refuse(err);
}
const char *sbi_file_path(const sbi_file *file) {
    (void)file;
    return "";
}
sb_status sbi_file_write(sbi_file *file, const void *bytes, int64_t size, sb_error *err) {
    (void)file, (void)bytes, (void)size;
    return refuse(err);
}
sb_status sbi_file_commit(sbi_file *file, sb_error *err) {
    (void)file;
    return refuse(err);
}
void sbi_file_abandon(sbi_file *file) {
    (void)file;
}
sb_status sbi_file_append(const char *path, const void *bytes, int64_t size, sb_error *err) {
    (void)path, (void)bytes, (void)size;
    return refuse(err);
}
sb_status sbi_folder_make(const char *path, sb_error *err) {
    (void)path;
    return refuse(err);
}
sb_status sbi_folder_list(const sbi_allocator *allocator, const char *path,
                          sb_status (*visit)(void *user, const char *name, sb_error *err), void *user, sb_error *err) {
    (void)allocator, (void)path, (void)visit, (void)user;
    return refuse(err);
}
sb_status sbi_file_remove(const char *path, sb_error *err) {
    (void)path;
    return refuse(err);
}
sb_status sbi_folder_remove(const char *path, sb_error *err) {
    (void)path;
    return refuse(err);
}
sb_status sbi_folder_lock(const char *path, int *lock, sb_error *err) {
    (void)path, (void)lock;
    return refuse(err);
}
void sbi_folder_unlock(int lock) {
    (void)lock;
}
bool sbi_file_present(const char *path) {
    (void)path;
    return false;
}
int64_t sbi_nanoseconds(void) {
#ifdef SAMEBITS_NO_THREADS
    return 0; // (no clock: for progress only)
#else
    struct timespec now;
    return timespec_get(&now, TIME_UTC) ? (int64_t)now.tv_sec * 1000000000 + now.tv_nsec : 0;
#endif
}
double sbi_seconds(void) {
    return 1e-9 * (double)sbi_nanoseconds();
}
sb_status sbi_process_start(const char *const *command, sbi_process *out, sb_error *err) {
    (void)command, (void)out;
    return refuse(err);
}
void sbi_process_end(sbi_process *process, char *how, size_t how_size) {
    (void)process;
    if (how && how_size) how[0] = '\0';
}
sb_status sbi_socket_send(int socket, const void *bytes, int64_t size, sb_error *err) {
    (void)socket, (void)bytes, (void)size;
    return refuse(err);
}
sb_status sbi_socket_receive(int socket, void *bytes, int64_t size, sb_error *err) {
    (void)socket, (void)bytes, (void)size;
    return refuse(err);
}
bool sbi_module_digest(uint8_t out[32]) {
    memset(out, 0, 32);
    return false;
}
int sbi_cpu_cores(void) {
    return 1;
}
