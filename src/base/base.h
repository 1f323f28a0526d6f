// SPDX-License-Identifier: Apache-2.0
// base: status and error, memory, checked sizes, hashes, threads, CPU features, FP environment, files. The only room
// that calls POSIX. Everything below is declared here; each .c file holds one heading.
#ifndef SBI_BASE_H
#define SBI_BASE_H

#include "samebits.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SBI_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define SBI_PRINTF(f, a)
#endif

// ---- error.c
// Fills err (nullable) and returns status: `return sbi_fail(err, SB_ERR_SHAPE, "b", "b has %lld rows, ...", ...)`.
// Bytes from outside (names in files, flags) go through sbi_escape first.
sb_status sbi_fail(sb_error *err, sb_status status, const char *argument, const char *format, ...) SBI_PRINTF(4, 5);
// Printable ASCII with \xNN for the rest, cut with "..." to fit; returns out.
const char *sbi_escape(const char *bytes, size_t length, char *out, size_t out_size);
// Why the operating system refused (an errno), in our own words: strerror speaks the user's language and is not safe
// among threads. spare: for a number without words.
enum { SBI_REASON_SIZE = 32 };
const char *sbi_reason(int number, char spare[SBI_REASON_SIZE]);
sb_status sbi_fail_file(sb_error *err, const char *path, const char *what, int number); // SB_ERR_IO: "cannot WHAT PATH: why"
// What files refuse names the argument "path": here it gets the name by which the caller gave the file. Returns status.
sb_status sbi_named(sb_status status, const char *argument, sb_error *err);

// ---- memory.c
typedef struct sbi_allocator {
    void *(*allocate)(void *user, size_t bytes);
    void (*release)(void *user, void *pointer);
    void *user;
} sbi_allocator;
extern const sbi_allocator sbi_malloc_allocator;
// Zeroed, 64-byte aligned memory for count items; NULL and err on overflow or exhaustion. count 0 is fine.
void *sbi_allocate(const sbi_allocator *allocator, int64_t count, size_t item_bytes, sb_error *err);
void sbi_release(const sbi_allocator *allocator, void *pointer); // NULL is fine
bool sbi_multiply(int64_t a, int64_t b, int64_t *out);           // false on overflow or a negative factor
bool sbi_add(int64_t a, int64_t b, int64_t *out);
// A growing arena: everything goes at once.
typedef struct sbi_arena sbi_arena;
sbi_arena *sbi_arena_new(const sbi_allocator *allocator, sb_error *err);
void *sbi_arena_allocate(sbi_arena *arena, int64_t count, size_t item_bytes, sb_error *err); // zeroed, aligned
char *sbi_arena_string(sbi_arena *arena, const char *bytes, size_t length, sb_error *err);
void sbi_arena_free(sbi_arena *arena);

// ---- spare.c (a block kept from one use to the next: what is in it is whatever the last user left)
typedef atomic_uintptr_t sbi_spare; // 0 at first
void *sbi_spare_take(sbi_spare *spare, const sbi_allocator *allocator, int64_t bytes, sb_error *err); // as sbi_allocate
void sbi_spare_put(sbi_spare *spare, const sbi_allocator *allocator, void *taken); // NULL is fine
void sbi_spare_free(sbi_spare *spare, const sbi_allocator *allocator);

// ---- sha256.c (uses the processor's instructions where present; same digest)
typedef struct sbi_sha256 {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[64];
} sbi_sha256;
void sbi_sha256_start(sbi_sha256 *hash);
void sbi_sha256_add(sbi_sha256 *hash, const void *data, size_t bytes);
// The same of two hashes, as many bytes each: where the instructions are there, in little more than the time of one.
void sbi_sha256_add_two(sbi_sha256 *one, const void *data, sbi_sha256 *other, const void *more, size_t bytes);
void sbi_sha256_end(sbi_sha256 *hash, uint8_t out[32]);
// The forms of the round loop, for the test that they agree; _fast only where _instructions says so.
void sbi_sha256_blocks_plain(uint32_t state[8], const uint8_t *data, size_t blocks);
void sbi_sha256_blocks_fast(uint32_t state[8], const uint8_t *data, size_t blocks);
bool sbi_sha256_instructions(void);
void sbi_hex(const uint8_t *bytes, size_t count, char *out); // out[2*count + 1]

// ---- threads.c (a pool of our own; survives fork: a child builds its threads anew at its first use)
typedef struct sbi_pool sbi_pool;
typedef void (*sbi_task)(void *argument, int64_t index);
sbi_pool *sbi_pool_new(const sbi_allocator *allocator, int threads, sb_error *err); // the caller is one of them
int sbi_pool_threads(const sbi_pool *pool);
// Runs task(argument, i) for every i in 0..count-1, in any order on any thread of the pool, and waits. Every worker
// sets the contract's FP environment around its work.
void sbi_pool_run(sbi_pool *pool, int64_t count, sbi_task task, void *argument);
// Scratch for a job; a pool keeps one block of it. NULL and err where memory is refused.
void *sbi_pool_scratch(sbi_pool *pool, int64_t bytes, sb_error *err);
void sbi_pool_scratch_done(sbi_pool *pool, void *scratch); // NULL is fine
void sbi_pool_free(sbi_pool *pool);
typedef struct sbi_lock sbi_lock; // one thread at a time, for what takes long
sbi_lock *sbi_lock_new(const sbi_allocator *allocator, sb_error *err);
void sbi_lock_take(sbi_lock *lock);
void sbi_lock_leave(sbi_lock *lock);
void sbi_lock_free(sbi_lock *lock); // NULL is fine
unsigned sbi_forks(void); // how many forks this process is away from the one that first asked

// ---- library.c (drivers: opened where they are there)
void *sbi_library_open(const char *name); // NULL: absent. It stays open
// Puts the address of a function into *out, a pointer to a function. False where there is none.
bool sbi_library_function(void *library, const char *name, void *out, size_t out_size);

// ---- cores.c
int sbi_cpu_cores(void); // usable by this process (affinity, cgroup)

// ---- cpu.c
bool sbi_cpu_level_usable(const char *level); // "v3": does this machine (and its kernel) run it
const char *sbi_cpu_model(void);             // "Intel(R) Xeon(R) ..." or "unknown"
const char *sbi_cpu_architecture(void);      // "x86_64" "aarch64" "riscv64" "s390x" ...

// ---- module.c
// SHA-256 of the file this code was loaded from: the shared library, or the program that holds it. False if unknown.
bool sbi_module_digest(uint8_t out[32]);

// ---- fpenv.c
typedef struct sbi_fpenv { uint64_t word; } sbi_fpenv;
sbi_fpenv sbi_fpenv_enter(void);        // nearest even, no flush to zero, no traps; returns what was there
void sbi_fpenv_leave(sbi_fpenv before); // restores it, exception flags included

// ---- file.c
// Reads a whole regular file (never mapped). limit: the most bytes accepted.
sb_status sbi_file_read(const sbi_allocator *allocator, const char *path, int64_t limit, uint8_t **bytes, int64_t *size, sb_error *err);
// A regular file read from its start on, a part at a time.
typedef struct sbi_source sbi_source;
sb_status sbi_source_open(const sbi_allocator *allocator, const char *path, sbi_source **out, int64_t *size, sb_error *err);
sb_status sbi_source_read(sbi_source *source, void *to, int64_t size, int64_t *got, sb_error *err); // got < size: the end
const char *sbi_source_path(const sbi_source *source);
void sbi_source_close(sbi_source *source); // NULL is fine
// Writes to a temporary file beside path; sbi_file_commit does fsync, rename, fsync of the folder.
// sbi_file_abandon (NULL is fine) removes the temporary; after any error it is what remains to be called.
typedef struct sbi_file sbi_file;
sb_status sbi_file_create(const sbi_allocator *allocator, const char *path, sbi_file **out, sb_error *err);
sb_status sbi_file_write(sbi_file *file, const void *bytes, int64_t size, sb_error *err);
sb_status sbi_file_commit(sbi_file *file, sb_error *err); // frees file on success
void sbi_file_abandon(sbi_file *file);
// A file that is there while it grows (a trace): emptied at first, no fsync. Ended by sbi_file_abandon.
sb_status sbi_file_start(const sbi_allocator *allocator, const char *path, sbi_file **out, sb_error *err);
const char *sbi_file_path(const sbi_file *file);
sb_status sbi_file_append(const char *path, const void *bytes, int64_t size, sb_error *err); // one write, then fsync
sb_status sbi_folder_make(const char *path, sb_error *err);                                  // with parents; fine if there
int64_t sbi_nanoseconds(void); // a monotonic clock; for waiting and progress, never for a value. No float in it
double sbi_seconds(void);       // the same

// ---- folder.c
// Calls visit for every entry of a folder but "." and "..", in bytewise order of names.
sb_status sbi_folder_list(const sbi_allocator *allocator, const char *path,
                          sb_status (*visit)(void *user, const char *name, sb_error *err), void *user, sb_error *err);
sb_status sbi_file_remove(const char *path, sb_error *err);   // fine if absent
sb_status sbi_folder_remove(const char *path, sb_error *err); // an empty folder; fine if absent
// Takes a folder for this process alone, until *lock is closed (or the process ends, however it does). SB_ERR_STATE if
// another holds it. A file system that knows no locks grants it.
sb_status sbi_folder_lock(const char *path, int *lock, sb_error *err);
void sbi_folder_unlock(int lock); // negative: none
bool sbi_file_present(const char *path);                      // a regular file is there

// ---- process.c
// Another program that shares a socket with this one: it finds its end at descriptor SBI_PROCESS_SOCKET.
#define SBI_PROCESS_SOCKET 3
typedef struct sbi_process {
    int64_t id;
    int socket; // -1: none
} sbi_process;
sb_status sbi_process_start(const char *const *command, sbi_process *out, sb_error *err); // command: a path, arguments, NULL
// Closes the socket, which asks the program to end, waits a little, else kills it. Says how it ended ("killed by signal 9").
void sbi_process_end(sbi_process *process, char *how, size_t how_size); // how may be NULL
// All of it or an error: SB_ERR_WORKER when the other end is gone.
sb_status sbi_socket_send(int socket, const void *bytes, int64_t size, sb_error *err);
sb_status sbi_socket_receive(int socket, void *bytes, int64_t size, sb_error *err);
#endif
