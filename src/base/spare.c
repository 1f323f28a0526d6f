// SPDX-License-Identifier: Apache-2.0
// One block of memory that its owner keeps from one use to the next. Whoever takes it has it alone; a second user at the
// same time gets a block of his own, and of two that come back the latter is kept.
#include "base.h"

enum { HEADER = 64 }; // the block's size stands before what its user sees; a line, for alignment

void *sbi_spare_take(sbi_spare *spare, const sbi_allocator *allocator, int64_t bytes, sb_error *err) {
    int64_t total;
    char *block = (char *)atomic_exchange(spare, 0);
    if (block && *(const int64_t *)(const void *)block >= bytes) return block + HEADER;
    sbi_release(allocator, block);
    if (!sbi_add(bytes, HEADER, &total)) total = INT64_MAX; // (refused in the words of sbi_allocate)
    block = sbi_allocate(allocator, total, 1, err);
    if (!block) return NULL;
    *(int64_t *)(void *)block = bytes;
    return block + HEADER;
}

void sbi_spare_put(sbi_spare *spare, const sbi_allocator *allocator, void *taken) {
    if (taken) sbi_release(allocator, (void *)atomic_exchange(spare, (uintptr_t)((char *)taken - HEADER)));
}

void sbi_spare_free(sbi_spare *spare, const sbi_allocator *allocator) {
    sbi_release(allocator, (void *)atomic_exchange(spare, 0));
}
