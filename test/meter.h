// SPDX-License-Identifier: Apache-2.0
// An allocator that runs out: it refuses once `left` requests are used up, counts what is live and hands out poisoned
// memory. For sb_context_options.allocate, release and user.
#ifndef METER_H
#define METER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct meter {
    int64_t left, live;
} meter;

static void *meter_allocate(void *user, size_t bytes) {
    meter *m = user;
    if (m->left-- <= 0) return NULL;
    void *memory = malloc(bytes);
    if (memory) memset(memory, 0xa5, bytes), m->live++;
    return memory;
}

static void meter_release(void *user, void *pointer) {
    ((meter *)user)->live--;
    free(pointer);
}
#endif
