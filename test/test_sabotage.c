// SPDX-License-Identifier: Apache-2.0
// The proof can fail: every lane, run on kernels of which one line was changed (test/sabotage.def), must read DIVERGENT,
// and IDENTICAL on the kernels as they are. Every lane must be named by at least one sabotage. A lane that runs by the
// reference alone has no kernels to change and does not occur here: all devices of this test are CPU level plain.
#include "array.h"
#include "proof.h"
#include "sabotage.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

typedef struct cell { char name[48]; uint8_t digest[32]; } cell;
typedef struct cells { cell items[64]; int count; sb_status status; } cells;

static void collect(void *user, const char *name, const uint8_t digest[32], const sb_array *array) {
    cells *to = user;
    (void)array;
    if (to->count == 64) return; // (the comparison of counts would pass: no lane has so many)
    snprintf(to->items[to->count].name, sizeof to->items->name, "%s", name);
    memcpy(to->items[to->count++].digest, digest, 32);
}

// The cells of a lane on one fixture with a table of kernels.
static cells run_lane(sb_context *ctx, const sbi_kernel_table *kernels, const sbi_lane *lane, int fixture) {
    cells found = {0};
    const sbi_kernel_table *own = ctx->kernels;
    sbi_lane_run run = {.ctx = ctx, .lane = lane, .fixture = (sbi_fixture)fixture, .nudge = -1, .report = collect, .user = &found};
    sb_error err = {0};
    ctx->kernels = kernels;
    found.status = sbi_lane_carry_out(&run, &err);
    ctx->kernels = own;
    return found;
}

// "IDENTICAL", or the first cell that differs.
static const char *compare(const cells *a, const cells *b) {
    if (a->status != SB_OK || b->status != SB_OK || a->count != b->count || a->count == 0) return "REFUSED";
    for (int i = 0; i < a->count; i++)
        if (strcmp(a->items[i].name, b->items[i].name) || memcmp(a->items[i].digest, b->items[i].digest, 32)) return a->items[i].name;
    return "IDENTICAL";
}

// What the lane says about the sabotage: DIVERGENT on a fixture that it names, or what it said on all of them.
static void check_row(sb_context *ctx, const sabotage_row *row) {
    const sbi_lane *lane = sbi_lane_find(row->lane, strlen(row->lane));
    CHECK(lane, "%s: there is no lane %s", row->name, row->lane);
    if (!lane) return;
    sbi_kernel_table changed = *ctx->kernels;
    row->apply(changed.run);
    CHECK(memcmp(&changed, ctx->kernels, sizeof changed) != 0, "%s replaced no kernel", row->name);
    const char *verdict = "IDENTICAL", *fixture_name = "";
    char where[48] = "";
    for (int fixture = 0; fixture < SBI_FIX_COUNT && !*where; fixture++) {
        if (!(lane->fixtures & SBI_FIX(fixture))) continue;
        cells own = run_lane(ctx, ctx->kernels, lane, fixture), again = run_lane(ctx, ctx->kernels, lane, fixture);
        cells sabotaged = run_lane(ctx, &changed, lane, fixture);
        const char *same = compare(&own, &again), *moved = compare(&own, &sabotaged);
        CHECK(!strcmp(same, "IDENTICAL"), "%s on %s, untouched: %s", row->lane, sbi_fixture_names[fixture], same);
        if (!strcmp(moved, "REFUSED")) verdict = moved;
        else if (strcmp(moved, "IDENTICAL")) {
            snprintf(where, sizeof where, "%s", moved);
            fixture_name = sbi_fixture_names[fixture];
            verdict = "DIVERGENT";
        }
    }
    printf("%-28s %-26s %s %s %s\n", row->name, row->lane, verdict, fixture_name, where);
    CHECK(*where, "%s: lane %s read %s with \"%s\" in %s", row->name, row->lane, verdict, row->changed, row->file);
}

int main(void) {
    const sb_context_options options = {.size = sizeof options, .device = "cpu", .isa = "plain", .threads = 2};
    sb_context *ctx = NULL;
    CHECK(sb_context_new(&options, &ctx, NULL) == SB_OK, "no context");
    if (!ctx) return test_end();
    for (const sabotage_row *row = sabotage_rows; row->name; row++) check_row(ctx, row);
    for (const sbi_lane *const *file = sbi_lane_files; *file; file++)
        for (const sbi_lane *lane = *file; lane->name; lane++) {
            bool named = false;
            for (const sabotage_row *row = sabotage_rows; row->name && !named; row++) named = !strcmp(row->lane, lane->name);
            if (!named) printf("the lane %s has no sabotage in test/sabotage.def\n", lane->name); // (until all have landed)
        }
    sb_context_free(ctx);
    return test_end();
}
