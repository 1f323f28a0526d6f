// SPDX-License-Identifier: Apache-2.0
// Files: what is read is a regular file and whole; what is written appears whole or not at all, when the disk is full,
// when the folder is not writable, when the process is killed at any moment; no temporary file stays after an abandon.
#include "folder.h"

#include "base.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int entries(void) { // in the folder
    DIR *listing = opendir(folder);
    int count = -2;
    while (listing && readdir(listing)) count++;
    if (listing) closedir(listing);
    return count;
}

static void empty_folder(void) {
    DIR *listing = opendir(folder);
    for (const struct dirent *e; listing && (e = readdir(listing));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            if (unlink(inside(e->d_name)) != 0) rmdir(inside(e->d_name));
    if (listing) closedir(listing);
}

static sb_status put_file(const char *path, const void *bytes, int64_t size, sb_error *err) {
    sbi_file *file = NULL;
    sb_status status = sbi_file_create(&sbi_malloc_allocator, path, &file, err);
    if (status == SB_OK) status = sbi_file_write(file, bytes, size, err);
    if (status == SB_OK) {
        status = sbi_file_commit(file, err);
        if (status == SB_OK) file = NULL;
    }
    sbi_file_abandon(file);
    return status;
}

static bool holds(const char *path, const void *bytes, int64_t size) {
    uint8_t *have = NULL;
    int64_t length = -1;
    sb_error err;
    if (sbi_file_read(&sbi_malloc_allocator, path, 1 << 30, &have, &length, &err) != SB_OK) return false;
    bool same = length == size && memcmp(have, bytes, (size_t)size) == 0 && have[length] == 0;
    sbi_release(&sbi_malloc_allocator, have);
    return same;
}

#define REFUSED(call, expected) \
    do { \
        memset(&err, 0, sizeof err); \
        sb_status got = (call); \
        CHECK(got == (expected) && err.status == got && err.message[0] && strcmp(err.argument, "path") == 0, "%s: %s", \
              sb_status_name(got), err.message); \
    } while (0)

static void test_round_trip(void) {
    sb_error err = {0};
    static uint8_t data[300001];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 31 >> 3);
    const char *path = inside("a file");
    for (int64_t size = 0; size <= (int64_t)sizeof data; size = size * 9 + 1) {
        CHECK(put_file(path, data, size, &err) == SB_OK, "%s", err.message);
        CHECK(holds(path, data, size), "%lld bytes", (long long)size);
    }
    CHECK(entries() == 1, "%d entries", entries());
    sbi_file *one = NULL, *two = NULL; // two writers of one name: the last commit wins, both whole
    CHECK(sbi_file_create(&sbi_malloc_allocator, path, &one, &err) == SB_OK &&
          sbi_file_create(&sbi_malloc_allocator, path, &two, &err) == SB_OK, "%s", err.message);
    CHECK(sbi_file_write(one, "one", 3, &err) == SB_OK && sbi_file_write(two, "seco", 4, &err) == SB_OK &&
          sbi_file_write(two, "nd", 2, &err) == SB_OK, "%s", err.message);
    CHECK(sbi_file_commit(two, &err) == SB_OK && holds(path, "second", 6), "%s", err.message);
    CHECK(sbi_file_commit(one, &err) == SB_OK && holds(path, "one", 3), "%s", err.message);
    CHECK(sbi_file_create(&sbi_malloc_allocator, path, &one, &err) == SB_OK, "%s", err.message);
    CHECK(sbi_file_write(one, "never", 5, &err) == SB_OK && entries() == 2, "%s", err.message);
    sbi_file_abandon(one);
    sbi_file_abandon(NULL);
    CHECK(entries() == 1 && holds(path, "one", 3), "an abandoned file leaves nothing");

    char before[200];
    CHECK(getcwd(before, sizeof before) && chdir(folder) == 0, "chdir"); // a name without a folder
    CHECK(put_file("bare", "x", 1, &err) == SB_OK && holds("bare", "x", 1), "%s", err.message);
    CHECK(sbi_folder_make("deep/er/and/er", &err) == SB_OK && sbi_folder_make("deep/er", &err) == SB_OK &&
          sbi_folder_make("deep//er/x/", &err) == SB_OK, "%s", err.message);
    struct stat about;
    CHECK(stat("deep/er/and/er", &about) == 0 && S_ISDIR(about.st_mode) && stat("deep/er/x", &about) == 0, "folders");
    REFUSED(sbi_folder_make("bare/under", &err), SB_ERR_IO);
    REFUSED(sbi_folder_make("bare", &err), SB_ERR_IO);
    REFUSED(sbi_folder_make("", &err), SB_ERR_IO);
    REFUSED(sbi_folder_remove("deep", &err), SB_ERR_IO);
    CHECK(strcmp(err.message, "cannot remove the folder deep: the folder is not empty") == 0, "%s", err.message);
    REFUSED(sbi_file_remove("bare/under", &err), SB_ERR_IO);
    CHECK(strcmp(err.message, "cannot remove bare/under: a part of the path is not a folder") == 0, "%s", err.message);
    CHECK(rmdir("deep/er/and/er") == 0 && rmdir("deep/er/and") == 0 && rmdir("deep/er/x") == 0 && rmdir("deep/er") == 0 &&
          rmdir("deep") == 0 && unlink("bare") == 0 && chdir(before) == 0, "clean up");
    double now = sbi_seconds();
    CHECK(now > 0 && sbi_seconds() >= now, "the clock");
    empty_folder();
}

static void test_append(void) {
    sb_error err = {0};
    const char *path = inside("ledger");
    CHECK(sbi_file_append(path, "line 1\n", 7, &err) == SB_OK && sbi_file_append(path, "line 2\n", 7, &err) == SB_OK &&
          holds(path, "line 1\nline 2\n", 14), "%s", err.message);
    REFUSED(sbi_file_append(folder, "x", 1, &err), SB_ERR_IO);
    REFUSED(sbi_file_append(inside("no/ledger"), "x", 1, &err), SB_ERR_IO);
    REFUSED(sbi_file_append("/dev/null", "x", 1, &err), SB_ERR_IO);
    CHECK(mkfifo(inside("fifo"), 0600) == 0, "mkfifo");
    REFUSED(sbi_file_append(inside("fifo"), "x", 1, &err), SB_ERR_IO);
    empty_folder();
}

static void test_refusals(void) {
    sb_error err;
    uint8_t *bytes = NULL;
    int64_t size = 0;
    const sbi_allocator *a = &sbi_malloc_allocator;
    alarm(20); // a fifo that is waited for ends in a signal
    REFUSED(sbi_file_read(a, inside("missing"), 100, &bytes, &size, &err), SB_ERR_IO);
    REFUSED(sbi_file_read(a, "", 100, &bytes, &size, &err), SB_ERR_IO);
    REFUSED(sbi_file_read(a, folder, 100, &bytes, &size, &err), SB_ERR_IO);
    REFUSED(sbi_file_read(a, "/dev/zero", 100, &bytes, &size, &err), SB_ERR_IO);
    CHECK(mkfifo(inside("fifo"), 0600) == 0, "mkfifo");
    REFUSED(sbi_file_read(a, inside("fifo"), 100, &bytes, &size, &err), SB_ERR_IO);
    sb_error put_error = {0};
    CHECK(put_file(inside("eleven"), "12345678901", 11, &put_error) == SB_OK, "%s", put_error.message);
    REFUSED(sbi_file_read(a, inside("eleven"), 10, &bytes, &size, &err), SB_ERR_SIZE);
    CHECK(sbi_file_read(a, inside("eleven"), 11, &bytes, &size, &err) == SB_OK && size == 11, "11 of 11");
    sbi_release(a, bytes);
    bytes = NULL;
    REFUSED(sbi_file_read(a, inside("eleven/x"), 11, &bytes, &size, &err), SB_ERR_IO);
    REFUSED(sbi_file_read(a, inside("bell\x07" "and\nline"), 11, &bytes, &size, &err), SB_ERR_IO);
    CHECK(!strchr(err.message, '\n') && !strchr(err.message, '\x07') && strstr(err.message, "bell\\x07and\\x0aline"),
          "%s", err.message);
    CHECK(!bytes, "nothing is given out with an error");

    REFUSED(put_file("", "x", 1, &err), SB_ERR_IO);
    REFUSED(put_file(folder, "x", 1, &err), SB_ERR_IO);
    REFUSED(put_file(inside("new/"), "x", 1, &err), SB_ERR_IO);
    REFUSED(put_file(inside("no folder/file"), "x", 1, &err), SB_ERR_IO);
    REFUSED(put_file(inside("eleven/file"), "x", 1, &err), SB_ERR_IO);
    REFUSED(put_file("/dev/null", "x", 1, &err), SB_ERR_IO);
    REFUSED(put_file(inside("fifo"), "x", 1, &err), SB_ERR_IO);
    REFUSED(put_file("/proc/self/new", "x", 1, &err), SB_ERR_IO);
    char name[300];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    REFUSED(put_file(inside(name), "x", 1, &err), SB_ERR_IO);
    CHECK(entries() == 2, "%d entries", entries());
    alarm(0);
    empty_folder();
}

// In a child that is nobody, since root may write everywhere.
static void test_unwritable(void) {
    if (chmod(folder, 0555) != 0) return;
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
        sb_error err = {0};
        sb_status wrote = put_file(inside("x"), "x", 1, &err);
        bool good = wrote == SB_ERR_IO && strstr(err.message, "permission denied");
        good = good && sbi_file_append(inside("y"), "x", 1, &err) == SB_ERR_IO;
        good = good && sbi_folder_make(inside("z"), &err) == SB_ERR_IO;
        _exit(good ? 0 : 1);
    }
    int state = -1;
    waitpid(child, &state, 0);
    CHECK(WIFEXITED(state) && (WEXITSTATUS(state) == 0 || WEXITSTATUS(state) == 2), "state %x", (unsigned)state);
    if (WIFEXITED(state) && WEXITSTATUS(state) == 2) printf("skipped: cannot become nobody\n");
    chmod(folder, 0755);
    CHECK(entries() == 0, "%d entries", entries());
}

// A full disk: the limit on the size of a file makes write stop short, then fail; /dev/full gives ENOSPC itself.
static void test_full(void) {
    sb_error before = {0};
    CHECK(put_file(inside("kept"), "old", 3, &before) == SB_OK &&
          sbi_file_append(inside("ledger"), "line 1\n", 7, &before) == SB_OK, "%s", before.message);
    pid_t child = fork();
    if (child == 0) {
        static char large[200000];
        signal(SIGXFSZ, SIG_IGN);
        struct rlimit limit = {100000, 100000};
        setrlimit(RLIMIT_FSIZE, &limit);
        sb_error err = {0};
        bool good = put_file(inside("kept"), large, sizeof large, &err) == SB_ERR_IO;
        good = good && strstr(err.message, "file too large") && holds(inside("kept"), "old", 3);
        good = good && sbi_file_append(inside("ledger"), large, sizeof large, &err) == SB_ERR_IO;
        good = good && holds(inside("ledger"), "line 1\n", 7); // no half line
        _exit(good ? 0 : 1);
    }
    int state = -1;
    waitpid(child, &state, 0);
    CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 0, "state %x", (unsigned)state);
    CHECK(entries() == 2 && holds(inside("kept"), "old", 3), "%d entries", entries());
    empty_folder();
}

// Killed at any moment, the file is the old one or the new one. (Temporary files may stay: their owner is gone.)
static void test_killed(void) {
    static char old[50000], new[80000];
    memset(old, 'o', sizeof old), memset(new, 'n', sizeof new);
    int olds = 0, news = 0;
    const char *path = inside("state");
    for (int round = 0; round < 60; round++) {
        sb_error err = {0};
        CHECK(put_file(path, old, sizeof old, &err) == SB_OK, "%s", err.message);
        pid_t child = fork();
        if (child == 0) {
            sbi_file *file = NULL;
            sbi_file_create(&sbi_malloc_allocator, path, &file, NULL);
            for (int i = 0; i < 80; i++) sbi_file_write(file, new + 1000 * i, 1000, NULL);
            sbi_file_commit(file, NULL);
            pause();
        }
        usleep((useconds_t)(round * 40));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        bool is_old = holds(path, old, sizeof old), is_new = holds(path, new, sizeof new);
        olds += is_old, news += is_new;
        CHECK(is_old != is_new, "round %d: neither old nor new", round);
    }
    printf("killed: %d old, %d new\n", olds, news);
    empty_folder();
}

static void *refuse(void *user, size_t bytes) {
    (void)user, (void)bytes;
    return NULL;
}

static void never(void *user, void *pointer) {
    (void)user, (void)pointer;
}

static void test_memory(void) {
    sbi_allocator empty = {refuse, never, NULL};
    sb_error err = {0};
    sbi_file *file = NULL;
    uint8_t *bytes = NULL;
    int64_t size;
    CHECK(put_file(inside("f"), "x", 1, &err) == SB_OK, "%s", err.message);
    CHECK(sbi_file_create(&empty, inside("g"), &file, &err) == SB_ERR_MEMORY && !file, "%s", err.message);
    CHECK(sbi_file_read(&empty, inside("f"), 10, &bytes, &size, &err) == SB_ERR_MEMORY && !bytes, "%s", err.message);
    CHECK(entries() == 1, "%d entries", entries());
    empty_folder();
}

int main(void) {
    if (!open_folder(NULL)) return perror(folder), 1;
    test_round_trip();
    test_append();
    test_refusals();
    test_unwritable();
    test_full();
    test_killed();
    test_memory();
    empty_folder();
    CHECK(rmdir(folder) == 0, "%s: %d", folder, errno);
    return test_end();
}
