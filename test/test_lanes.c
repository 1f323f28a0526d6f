// SPDX-License-Identifier: Apache-2.0
// Every lane on every fixture: the reference first, then each CPU level at several thread counts, compared element by
// element. Batches split into halves and single rows are compared with the reference's whole. A difference is
// printed with its place and both bit patterns.
//
//     test_lanes [--isa LEVEL] [--lane NAME] [--quick]
//
// Levels this machine lacks are counted, never silent; that every operation was met is checked at the end. --quick takes
// the quick lanes, one thread count and no splits (for emulated machines).
#include "array.h"
#include "ops.h"
#include "proof.h"
#include "reference_device.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { CELLS = 256, SHOWN = 3 };

typedef struct kept_cell {
    char name[64];
    sb_dtype dtype;
    int64_t size;
    unsigned char *bytes;
} kept_cell;

typedef struct kept_cells {
    kept_cell cell[CELLS];
    int count;
} kept_cells;

static void keep(void *user, const char *name, const uint8_t digest[32], const sb_array *array) {
    kept_cells *cells = user;
    (void)digest;
    if (cells->count == CELLS) {
        CHECK(0, "more than %d cells", CELLS);
        return;
    }
    kept_cell *cell = &cells->cell[cells->count++];
    snprintf(cell->name, sizeof cell->name, "%s", name);
    cell->dtype = sb_array_dtype(array);
    cell->size = sb_array_size(array);
    size_t bytes = (size_t)cell->size * sb_dtype_size(cell->dtype);
    cell->bytes = malloc(bytes + 1);
    if (!cell->bytes || sb_array_read(array, cell->bytes, bytes, NULL) != SB_OK)
        CHECK(0, "cell %s cannot be read", name);
}

static void forget(kept_cells *cells) {
    for (int i = 0; i < cells->count; i++)
        free(cells->cell[i].bytes);
    cells->count = 0;
}

static uint64_t pattern(const kept_cell *cell, int64_t i) {
    size_t item = sb_dtype_size(cell->dtype);
    uint8_t narrow;
    uint32_t word;
    uint64_t wide;
    switch (item) {
    case 1: memcpy(&narrow, cell->bytes + i, 1); return narrow;
    case 4: memcpy(&word, cell->bytes + 4 * i, 4); return word;
    default: memcpy(&wide, cell->bytes + 8 * i, 8); return wide;
    }
}

// Where these cells differ from the reference's.
static void compare(const kept_cells *want, const kept_cells *got, const char *where) {
    CHECK(want->count == got->count, "%s: %d cells, the reference has %d", where, got->count, want->count);
    for (int c = 0; c < want->count && c < got->count; c++) {
        const kept_cell *w = &want->cell[c], *g = &got->cell[c];
        int same = strcmp(w->name, g->name) == 0 && w->dtype == g->dtype && w->size == g->size;
        CHECK(same, "%s: cell %d is %s[%lld], the reference's %s[%lld]", where, c, g->name, (long long)g->size, w->name,
              (long long)w->size);
        if (!same || !w->bytes || !g->bytes)
            continue;
        int64_t different = 0;
        for (int64_t i = 0; i < w->size; i++)
            if (pattern(w, i) != pattern(g, i) && different++ < SHOWN) {
                int digits = 2 * (int)sb_dtype_size(w->dtype);
                fprintf(stderr, "    %s %s[%lld] is %0*llx, the reference says %0*llx\n", where, w->name, (long long)i, digits,
                        (unsigned long long)pattern(g, i), digits, (unsigned long long)pattern(w, i));
            }
        CHECK(different == 0, "%s %s: %lld of %lld elements differ from the reference", where, w->name, (long long)different,
              (long long)w->size);
    }
}

static sb_status run_on(sb_context *ctx, const sbi_lane *lane, int fixture, sbi_split split, kept_cells *cells, sb_error *err) {
    sbi_lane_run run = {.ctx = ctx, .lane = lane, .fixture = (sbi_fixture)fixture, .split = split, .nudge = -1, .report = keep,
                        .user = cells};
    cells->count = 0;
    return sbi_lane_carry_out(&run, err);
}

static void meet(void *user, sb_context *ctx, const sbi_op *op) {
    (void)ctx;
    ((bool *)user)[op->id] = true;
}

typedef struct target {
    sb_context *ctx;
    char name[40];
} target;

static const char *const all_levels[] = {"plain", "reverse", "v1", "v3", "v4", "neon"};
static const char *const splits[] = {"whole", "halves", "rows"};

static int open_targets(const char *isa, int quick, target *targets) {
    static const int threads[] = {1, 3};
    int count = 0, absent = 0;
    for (size_t i = 0; i < sizeof all_levels / sizeof *all_levels; i++)
        for (int j = 0; j < (quick ? 1 : 2) && (!isa || strcmp(isa, all_levels[i]) == 0); j++) {
            const sb_context_options options = {.size = sizeof options, .device = "cpu", .isa = all_levels[i],
                                                .threads = threads[j]};
            sb_error err = {0};
            if (sb_context_new(&options, &targets[count].ctx, &err) == SB_OK) {
                snprintf(targets[count].name, sizeof targets->name, "%s, threads %d", all_levels[i], threads[j]);
                count++;
            } else if (j == 0) {
                printf("skipped: %s (%s)\n", all_levels[i], err.message);
                absent++;
            }
        }
    printf("%d targets, %d levels absent\n", count, absent);
    return count;
}

static void test_fixture(sb_context *reference, const sbi_lane *lane, int fixture, const target *targets, int count, int quick) {
    static kept_cells want, got;
    sb_error err = {0};
    char where[160];
    sb_status status = run_on(reference, lane, fixture, SBI_WHOLE, &want, &err);
    CHECK(status == SB_OK && want.count > 0, "%s %s reference: %s: %s", lane->name, sbi_fixture_names[fixture],
          sb_status_name(status), err.message);
    for (int t = 0; t < count && status == SB_OK; t++)
        // a batch in parts: once for each level is enough (thread counts alternate, and the second is the finer split)
        for (int split = SBI_WHOLE; split <= (lane->rows && !quick ? SBI_ROWS : SBI_WHOLE); split++) {
            if (split != SBI_WHOLE && split - 1 != t % 2)
                continue;
            snprintf(where, sizeof where, "%s %s (%s, %s)", lane->name, sbi_fixture_names[fixture], targets[t].name, splits[split]);
            sb_status own = run_on(targets[t].ctx, lane, fixture, (sbi_split)split, &got, &err);
            CHECK(own == SB_OK, "%s: %s: %s", where, sb_status_name(own), err.message);
            if (own == SB_OK)
                compare(&want, &got, where);
            forget(&got);
        }
    forget(&want);
}

int main(int argc, char **argv) {
    const char *isa = NULL, *only = NULL;
    int quick = 0, lanes = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--isa") == 0 && i + 1 < argc)
            isa = argv[++i];
        else if (strcmp(argv[i], "--lane") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (strcmp(argv[i], "--quick") == 0)
            quick = 1;
        else {
            fprintf(stderr, "usage: test_lanes [--isa LEVEL] [--lane NAME] [--quick]\n");
            return 2;
        }
    }
    target targets[2 * sizeof all_levels / sizeof *all_levels];
    sb_context *reference = NULL;
    sb_error err = {0};
    CHECK(reference_context(&reference, &err) == SB_OK, "%s", err.message);
    bool met[SBI_OP_COUNT] = {false};
    if (reference) {
        reference->watch = meet;
        reference->watch_user = met;
    }
    int count = open_targets(isa, quick, targets);
    CHECK(count > 0, "no target");
    for (const sbi_lane *const *file = sbi_lane_files; *file && reference; file++)
        for (const sbi_lane *lane = *file; lane->name; lane++) {
            if (only ? strcmp(only, lane->name) != 0 : quick && !lane->quick)
                continue;
            double start = sbi_seconds();
            int before = test_failed;
            for (int fixture = 0; fixture < SBI_FIX_COUNT; fixture++)
                if (lane->fixtures & SBI_FIX(fixture))
                    test_fixture(reference, lane, fixture, targets, count, quick);
            lanes++;
            printf("%-24s %s %.1f s\n", lane->name, test_failed == before ? "same   " : "DIFFERS", sbi_seconds() - start);
            fflush(stdout);
        }
    CHECK(lanes > 0, "no lane of that name");
    for (int id = 0; id < SBI_OP_COUNT && !only && !quick; id++)
        CHECK(met[id], "no lane runs the operation %s", sbi_op_names[id]);
    for (int t = 0; t < count; t++)
        sb_context_free(targets[t].ctx);
    sb_context_free(reference);
    return test_end();
}
