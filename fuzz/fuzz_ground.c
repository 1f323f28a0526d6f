// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets stand on: bounded memory, files in memory, the look of errors.
#include "fuzz.h"
#include "json.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST_REQUEST = 1 << 20 };

static void *allocate(void *user, size_t bytes) {
    (void)user;
    return bytes > LARGEST_REQUEST ? NULL : malloc(bytes);
}

static void release(void *user, void *pointer) {
    (void)user;
    free(pointer);
}

const sbi_allocator fuzz_allocator = {allocate, release, NULL};

static sb_context *context;
static char folder[64];
static int files[4] = {-1, -1, -1, -1};

static void close_all(void) {
    sb_context_free(context);
    for (int i = 0; i < 4; i++)
        if (files[i] >= 0) close(files[i]);
    if (folder[0]) rmdir(folder);
}

static void close_at_exit(void) {
    static bool asked;
    if (!asked) atexit(close_all);
    asked = true;
}

sb_context *fuzz_context(void) {
    if (!context) {
        const sb_context_options options = {
            .size = sizeof options, .device = "cpu", .isa = "plain", .threads = 1, .allocate = allocate, .release = release};
        MUST(sb_context_new(&options, &context, NULL) == SB_OK);
        close_at_exit();
    }
    return context;
}

const char *fuzz_file(int slot, const void *bytes, size_t size) {
    static char paths[4][40];
    close_at_exit();
    if (files[slot] < 0) MUST((files[slot] = memfd_create("fuzz", MFD_CLOEXEC)) >= 0);
    MUST(ftruncate(files[slot], 0) == 0);
    MUST(pwrite(files[slot], bytes, size, 0) == (ssize_t)size);
    snprintf(paths[slot], sizeof paths[slot], "/proc/self/fd/%d", files[slot]);
    return paths[slot];
}

const char *fuzz_folder(void) {
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "%s/samebits-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        MUST(mkdtemp(folder));
        close_at_exit();
    }
    return folder;
}

void fuzz_printable(const char *text) {
    for (; *text; text++) MUST(*text == '\n' || (*text >= 0x20 && *text < 0x7f));
}

void fuzz_error(sb_status status, const sb_error *err) {
    MUST(status > SB_OK && status < SB_ERR_INTERNAL); // a fault of our own is one, whatever the bytes
    MUST(err->status == status);
    MUST(err->message[0] != 0 && !strchr(err->message, '\n') && !strchr(err->argument, '\n'));
    fuzz_printable(err->message);
    fuzz_printable(err->argument);
}

void fuzz_report(const sb_report *report) {
    int verdict = sb_report_verdict(report);
    const char *json = sb_report_json(report);
    const sbi_json *root;
    sbi_arena *arena = sbi_arena_new(&fuzz_allocator, NULL);
    MUST(verdict == 0 || verdict == 1 || verdict == 3 || verdict == 4);
    fuzz_printable(sb_report_text(report));
    sb_status status = sbi_json_read(arena, json, (int64_t)strlen(json), &root, NULL);
    MUST(status == SB_OK || status == SB_ERR_MEMORY);
    sbi_arena_free(arena);
}
