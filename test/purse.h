// SPDX-License-Identifier: Apache-2.0
// A context's allocator that refuses the k-th request from now on and knows what is live.
#ifndef PURSE_H
#define PURSE_H

#include <stddef.h>
#include <stdlib.h>

typedef struct purse { long left, live; } purse; // requests until one is refused (negative: never), blocks in use

static inline void *granted(void *user, size_t bytes) {
    purse *p = user;
    if (p->left == 0) return NULL;
    if (p->left > 0) p->left--;
    void *block = malloc(bytes);
    p->live += block != NULL;
    return block;
}

static inline void given_back(void *user, void *block) {
    if (block) ((purse *)user)->live--;
    free(block);
}

#endif
