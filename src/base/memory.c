// SPDX-License-Identifier: Apache-2.0
// Memory: aligned zeroed blocks over any allocator, checked sizes, arenas.
#include "base.h"

#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

enum { ALIGNMENT = 64, HUGE_PAGE = 1 << 21 };

// Large blocks ask for large pages where the system has them: one stream through memory was a quarter faster with them.
static void ask_for_huge_pages(void *block, size_t bytes) {
#ifdef MADV_HUGEPAGE
    uintptr_t first = ((uintptr_t)block + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE, end = ((uintptr_t)block + bytes) / HUGE_PAGE * HUGE_PAGE;
    if (end > first) (void)madvise((void *)first, end - first, MADV_HUGEPAGE); // (a wish: refused is as good)
#else
    (void)block, (void)bytes;
#endif
}

static void *malloc_allocate(void *user, size_t bytes) {
    (void)user;
    void *block = calloc(1, bytes); // fresh pages are zero already: sbi_allocate need not touch them
    if (block && bytes >= 2 * HUGE_PAGE) ask_for_huge_pages(block, bytes);
    return block;
}

static void malloc_release(void *user, void *pointer) {
    (void)user;
    free(pointer);
}

const sbi_allocator sbi_malloc_allocator = {malloc_allocate, malloc_release, NULL};

bool sbi_multiply(int64_t a, int64_t b, int64_t *out) {
    return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, out);
}

bool sbi_add(int64_t a, int64_t b, int64_t *out) {
    return a >= 0 && b >= 0 && !__builtin_add_overflow(a, b, out);
}

// The address that the allocator gave stands in the word before the aligned block.
void *sbi_allocate(const sbi_allocator *allocator, int64_t count, size_t item_bytes, sb_error *err) {
    int64_t bytes, total;
    if (item_bytes > INT64_MAX || !sbi_multiply(count, (int64_t)item_bytes, &bytes) ||
        !sbi_add(bytes, ALIGNMENT + (int64_t)sizeof(void *), &total) || (uint64_t)total > PTRDIFF_MAX) {
        sbi_fail(err, SB_ERR_SIZE, "", "%lld items of %zu bytes do not fit in memory", (long long)count, item_bytes);
        return NULL;
    }
    char *given = allocator->allocate(allocator->user, (size_t)total);
    if (!given) {
        sbi_fail(err, SB_ERR_MEMORY, "", "out of memory: %lld bytes were refused", (long long)total);
        return NULL;
    }
    uintptr_t start = (uintptr_t)given + sizeof(void *);
    char *block = given + sizeof(void *) + (ALIGNMENT - start % ALIGNMENT) % ALIGNMENT;
    memcpy(block - sizeof(void *), &given, sizeof given);
    if (allocator->allocate != malloc_allocate) memset(block, 0, (size_t)bytes);
    return block;
}

void sbi_release(const sbi_allocator *allocator, void *pointer) {
    if (!pointer) return;
    void *given;
    memcpy(&given, (char *)pointer - sizeof given, sizeof given);
    allocator->release(allocator->user, given);
}

// ---- arenas: a list of blocks, the newest first; an item larger than a block gets one of its own

typedef struct sbi_arena_block {
    struct sbi_arena_block *next;
    int64_t used, capacity; // bytes behind this header
} sbi_arena_block;

struct sbi_arena {
    sbi_allocator allocator;
    sbi_arena_block *blocks;
    int64_t step; // capacity of the next block
};

enum { ITEM_ALIGNMENT = 16, FIRST_STEP = 4096, LAST_STEP = 1 << 20, BLOCK_HEADER = 64 };
_Static_assert(sizeof(sbi_arena_block) <= BLOCK_HEADER, "the header fits before the first item");

sbi_arena *sbi_arena_new(const sbi_allocator *allocator, sb_error *err) {
    sbi_arena *arena = sbi_allocate(allocator, 1, sizeof *arena, err);
    if (!arena) return NULL;
    arena->allocator = *allocator;
    arena->step = FIRST_STEP;
    return arena;
}

void *sbi_arena_allocate(sbi_arena *arena, int64_t count, size_t item_bytes, sb_error *err) {
    int64_t bytes, padded;
    if (item_bytes > INT64_MAX || !sbi_multiply(count, (int64_t)item_bytes, &bytes) ||
        !sbi_add(bytes, ITEM_ALIGNMENT - 1, &padded)) {
        sbi_fail(err, SB_ERR_SIZE, "", "%lld items of %zu bytes do not fit in memory", (long long)count, item_bytes);
        return NULL;
    }
    padded -= padded % ITEM_ALIGNMENT;
    if (padded == 0) padded = ITEM_ALIGNMENT;
    sbi_arena_block *block = arena->blocks;
    if (!block || block->capacity - block->used < padded) {
        int64_t capacity = padded > arena->step ? padded : arena->step, total;
        if (!sbi_add(capacity, BLOCK_HEADER, &total)) {
            sbi_fail(err, SB_ERR_SIZE, "", "%lld bytes do not fit in memory", (long long)bytes);
            return NULL;
        }
        block = sbi_allocate(&arena->allocator, total, 1, err);
        if (!block) return NULL;
        block->capacity = capacity;
        block->next = arena->blocks;
        arena->blocks = block;
        if (arena->step < LAST_STEP) arena->step *= 2;
    }
    void *item = (char *)block + BLOCK_HEADER + block->used;
    block->used += padded;
    return item;
}

char *sbi_arena_string(sbi_arena *arena, const char *bytes, size_t length, sb_error *err) {
    if (length >= INT64_MAX) {
        sbi_fail(err, SB_ERR_SIZE, "", "a string of %zu bytes does not fit in memory", length);
        return NULL;
    }
    char *copy = sbi_arena_allocate(arena, (int64_t)length + 1, 1, err);
    if (copy && length) memcpy(copy, bytes, length);
    return copy;
}

void sbi_arena_free(sbi_arena *arena) {
    if (!arena) return;
    sbi_allocator allocator = arena->allocator;
    for (sbi_arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        sbi_release(&allocator, block);
    }
    sbi_release(&allocator, arena);
}
