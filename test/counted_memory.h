// SPDX-License-Identifier: Apache-2.0
// malloc and its kin of the whole program (linked with --wrap), counted: the k-th request from now on can be refused, and
// what is live is known. One thread at a time.
#ifndef COUNTED_MEMORY_H
#define COUNTED_MEMORY_H

#include <stddef.h>

static long memory_left = -1, memory_requests, memory_live; // left: requests until refusal; negative: never

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *pointer, size_t bytes);
void __real_free(void *pointer);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *pointer, size_t bytes);
void __wrap_free(void *pointer);

static int memory_granted(void) {
    memory_requests++;
    return memory_left < 0 || memory_left-- > 0;
}

void *__wrap_malloc(size_t bytes) {
    void *pointer = memory_granted() ? __real_malloc(bytes) : NULL;
    memory_live += pointer != NULL;
    return pointer;
}

void *__wrap_calloc(size_t count, size_t bytes) {
    void *pointer = memory_granted() ? __real_calloc(count, bytes) : NULL;
    memory_live += pointer != NULL;
    return pointer;
}

void *__wrap_realloc(void *pointer, size_t bytes) {
    void *moved = memory_granted() ? __real_realloc(pointer, bytes) : NULL;
    memory_live += moved != NULL && pointer == NULL;
    return moved;
}

void __wrap_free(void *pointer) {
    memory_live -= pointer != NULL;
    __real_free(pointer);
}
#endif
