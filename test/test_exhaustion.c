// SPDX-License-Identifier: Apache-2.0
// Memory that runs out: every lane, with an allocator that refuses the k-th request, for every k that the lane makes,
// must end with the named error and leave nothing behind; with enough memory it must end well.
#include "proof.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

typedef struct memory { long left, requests, live; } memory; // requests until refusal; the pool of one thread asks alone

static void *allocate(void *user, size_t bytes) {
    memory *m = user;
    m->requests++;
    if (m->left-- == 0) return NULL;
    void *pointer = malloc(bytes ? bytes : 1);
    m->live += pointer != NULL;
    return pointer;
}
static void release(void *user, void *pointer) {
    memory *m = user;
    m->live -= pointer != NULL;
    free(pointer);
}

static void ignore(void *user, const char *cell, const uint8_t digest[32], const sb_array *array) {
    (void)user, (void)cell, (void)digest, (void)array;
}

// Runs the lane with `left` requests granted once the context stands. Returns how many it made.
static long run_lane(const sbi_lane *lane, sbi_fixture fixture, long left, sb_status *status) {
    memory m = {.left = -1};
    const sb_context_options options = {.size = sizeof options, .device = "cpu", .threads = 1, .allocate = allocate, .release = release, .user = &m};
    sb_context *ctx = NULL;
    CHECK(sb_context_new(&options, &ctx, NULL) == SB_OK, "no context");
    sbi_lane_run run = {.ctx = ctx, .lane = lane, .fixture = fixture, .nudge = -1, .report = ignore};
    sb_error err = {0};
    m.left = left;
    m.requests = 0;
    *status = sbi_lane_carry_out(&run, &err);
    long requests = m.requests;
    m.left = -1;
    sb_context_free(ctx);
    CHECK(m.live == 0, "%s with %ld requests granted: %ld blocks are left", lane->name, left, m.live);
    return requests;
}

int main(void) {
    for (const sbi_lane *const *file = sbi_lane_files; *file; file++)
        for (const sbi_lane *lane = *file; lane->name; lane++) {
            sbi_fixture fixture = lane->fixtures & SBI_FIX(SBI_FIX_ODD) ? SBI_FIX_ODD : SBI_FIX_PLAIN;
            sb_status status;
            long all = run_lane(lane, fixture, -1, &status);
            CHECK(status == SB_OK, "%s with all the memory: %s", lane->name, sb_status_name(status));
            long step = all > 400 ? all / 200 : 1; // a model asks often: a few hundred places are enough
            for (long left = 0; left < all; left += step) {
                run_lane(lane, fixture, left, &status);
                CHECK(status == SB_ERR_MEMORY, "%s with %ld of %ld requests granted: %s", lane->name, left, all, sb_status_name(status));
            }
        }
    return test_end();
}
