// SPDX-License-Identifier: Apache-2.0
// The proof can fail: every lane, run on kernels of which one line was changed (test/sabotage.def), must read DIVERGENT,
// and IDENTICAL on the kernels as they are: against itself, and against the golden file by the code of `samebits verify`. Every
// lane must be named by at least one sabotage. All of this on CPU level plain.
#include "array.h"
#include "proof.h"
#include "sabotage.h"
#include "test.h"
#include "verify.h"

#include <stdlib.h>
#include <string.h>

typedef struct cell { char name[48]; uint8_t digest[32]; } cell;
enum { CELLS = 128 }; // the most of one lane and fixture
typedef struct cells { cell items[CELLS]; int count; sb_status status; } cells;

static void collect(void *user, const char *name, const uint8_t digest[32], const sb_array *array) {
    cells *to = user;
    (void)array;
    CHECK(to->count < CELLS, "more cells than this test has room for");
    if (to->count == CELLS) return;
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

// ---- the golden file, if the lane has values in it: the code of `samebits verify`

static sbi_references golden;

static void check_golden(sb_context *ctx, const sbi_kernel_table *kernels, const sbi_lane *lane, int fixture, bool divergent, const char *name) {
    int64_t rows = 0;
    sbi_references_of(&golden, lane->name, sbi_fixture_names[fixture], &rows);
    if (rows == 0) return;
    sbi_cells found = {0};
    sbi_lane_run run;
    const sbi_kernel_table *own = ctx->kernels;
    int64_t states[SBI_CELL_STATES] = {0};
    ctx->kernels = kernels;
    CHECK(sbi_verify_lane(ctx, lane, (sbi_fixture)fixture, 0, -1, &golden, &found, &run, NULL) == SB_OK, "%s: verify", name);
    ctx->kernels = own;
    for (int64_t i = 0; i < found.count; i++) states[found.items[i].state]++;
    if (divergent) CHECK(states[SBI_CELL_DIVERGENT] > 0, "%s: verify did not read %s on %s as DIVERGENT", name, lane->name, sbi_fixture_names[fixture]);
    else CHECK(states[SBI_CELL_IDENTICAL] == found.count, "%s on %s, untouched: not IDENTICAL with the golden values", lane->name, sbi_fixture_names[fixture]);
    sbi_cells_free(&found);
}

static void read_golden(void) {
    uint8_t *bytes = NULL;
    int64_t size = 0;
    sb_error err = {0};
    sb_status status = sbi_file_read(&sbi_malloc_allocator, GOLDEN, 1 << 30, &bytes, &size, &err);
    if (status == SB_OK) status = sbi_references_read((const char *)bytes, (size_t)size, &golden, &err);
    CHECK(status == SB_OK, "%s: %s", GOLDEN, err.message);
    sbi_release(&sbi_malloc_allocator, bytes);
}

// ---- rows

// The lane must diverge from itself on one of its fixtures, and there from the golden values.
static void check_lane(sb_context *ctx, const sabotage_row *row, const sbi_kernel_table *changed, const sbi_lane *lane) {
    const char *verdict = "IDENTICAL", *fixture_name = "";
    char where[48] = "";
    for (int fixture = 0; fixture < SBI_FIX_COUNT && !*where; fixture++) {
        if (!(lane->fixtures & SBI_FIX(fixture))) continue;
        cells own = run_lane(ctx, ctx->kernels, lane, fixture), again = run_lane(ctx, ctx->kernels, lane, fixture);
        cells sabotaged = run_lane(ctx, changed, lane, fixture);
        const char *same = compare(&own, &again), *moved = compare(&own, &sabotaged);
        CHECK(!strcmp(same, "IDENTICAL"), "%s on %s, untouched: %s", lane->name, sbi_fixture_names[fixture], same);
        if (!strcmp(moved, "REFUSED")) {
            verdict = moved;
        } else if (strcmp(moved, "IDENTICAL")) {
            snprintf(where, sizeof where, "%s", moved);
            fixture_name = sbi_fixture_names[fixture];
            verdict = "DIVERGENT";
            check_golden(ctx, ctx->kernels, lane, fixture, false, row->name);
            check_golden(ctx, changed, lane, fixture, true, row->name);
        }
    }
    printf("%-34s %-26s %s %s %s\n", row->name, lane->name, verdict, fixture_name, where);
    CHECK(*where, "%s: lane %s read %s with \"%s\" in %s", row->name, lane->name, verdict, row->changed, row->file);
}

static void check_row(sb_context *ctx, const sabotage_row *row) {
    sbi_kernel_table changed = *ctx->kernels;
    row->apply(changed.run);
    CHECK(memcmp(&changed, ctx->kernels, sizeof changed) != 0, "%s replaced no kernel", row->name);
    for (const char *at = row->lanes; *at; at += strcspn(at, ","), at += *at == ',') {
        const sbi_lane *lane = sbi_lane_find(at, strcspn(at, ","));
        CHECK(lane, "%s: there is no lane %.*s", row->name, (int)strcspn(at, ","), at);
        if (lane) check_lane(ctx, row, &changed, lane);
    }
}

static bool names(const sabotage_row *row, const char *lane) {
    size_t length = strlen(lane);
    for (const char *at = row->lanes; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && !memcmp(at, lane, length)) return true;
    return false;
}

int main(void) {
    const sb_context_options options = {.size = sizeof options, .device = "cpu", .isa = "plain", .threads = 2};
    sb_context *ctx = NULL;
    CHECK(sb_context_new(&options, &ctx, NULL) == SB_OK, "no context");
    if (!ctx) return test_end();
    read_golden();
    for (const sabotage_row *row = sabotage_rows; row->name; row++) check_row(ctx, row);
    for (const sbi_lane *const *file = sbi_lane_files; *file; file++)
        for (const sbi_lane *lane = *file; lane->name; lane++) {
            bool named = false;
            for (const sabotage_row *row = sabotage_rows; row->name && !named; row++) named = names(row, lane->name);
            CHECK(named, "the lane %s has no sabotage in test/sabotage.def", lane->name);
        }
    sbi_references_free(&golden);
    sb_context_free(ctx);
    return test_end();
}
