// SPDX-License-Identifier: Apache-2.0
// golden FILE [--check | --replace | --lanes A,B]: writes the golden values, by running every lane over the reference alone.
//
// A line that is there already may not change or go: then nothing is written and the exit status is 1. New lines are
// welcome. --check writes nothing and also fails where a line is missing. --replace lets lines change (before a contract
// is frozen, when a fixture changes). --lanes runs these alone, for whoever adds one: the lines of all others stay as they are.
#include "verify.h"

#include "reference_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    const sbi_lane *lane;
    sbi_cells cells;
    sb_status status;
    sb_error err;
    double seconds;
} job;

static void collect(void *user, const char *name, const uint8_t digest[32], const sb_array *array) {
    sbi_cell *cell = sbi_cells_add(user);
    (void)array;
    if (cell) {
        snprintf(cell->name, sizeof cell->name, "%s", name);
        memcpy(cell->digest, digest, 32);
        cell->hashed = true;
    }
}

static void run_lane(void *argument, int64_t index) {
    job *j = (job *)argument + index;
    sb_context *ctx = NULL;
    double start = sbi_seconds();
    j->status = reference_context(&ctx, &j->err);
    for (int fixture = 0; fixture < SBI_FIX_COUNT && j->status == SB_OK; fixture++) {
        if (j->lane->fixtures & SBI_FIX(fixture)) {
            int64_t first = j->cells.count;
            sbi_lane_run run = {.ctx = ctx, .lane = j->lane, .fixture = (sbi_fixture)fixture, .nudge = -1, .report = collect,
                                .user = &j->cells};
            j->status = sbi_lane_carry_out(&run, &j->err);
            for (int64_t i = first; i < j->cells.count; i++) {
                j->cells.items[i].lane = j->lane->name;
                j->cells.items[i].fixture = sbi_fixture_names[fixture];
            }
            if (j->status == SB_OK && j->cells.count == first) {
                j->status = sbi_fail(&j->err, SB_ERR_INTERNAL, "", "no cell on the fixture %s", sbi_fixture_names[fixture]);
            }
        }
    }
    sb_context_free(ctx);
    j->seconds = sbi_seconds() - start;
}

// Every line of the old table against the new cells, both in ascending order. The count of lines that changed or went.
static int compare_tables(const sbi_references *old, const sbi_cells *cells, int64_t *added) {
    int wrong = 0;
    int64_t i = 0, j = 0;
    *added = 0;
    while (i < old->count || j < cells->count) {
        int order = i == old->count ? 1 : j == cells->count ? -1 : sbi_cell_order(&old->rows[i], &cells->items[j]);
        const sbi_cell *cell = order <= 0 ? &old->rows[i] : &cells->items[j];
        bool changed = order == 0 && memcmp(old->rows[i].digest, cells->items[j].digest, 32) != 0;
        if (order < 0 || changed) {
            wrong++;
            printf("%s: %s/%s/%s\n", changed ? "changed" : "gone", cell->lane, cell->fixture, cell->name);
        }
        *added += order > 0;
        i += order <= 0;
        j += order >= 0;
    }
    return wrong;
}

static int fail(const sb_error *err) {
    fprintf(stderr, "golden: %s: %s\n", sb_status_name(err->status), err->message);
    return 1;
}

static int write_table(const char *path, const sbi_cells *cells, bool check, bool replace) {
    sb_error err = {.status = SB_OK};
    sbi_references old = {0};
    uint8_t *bytes = NULL;
    int64_t size = 0, added = 0;
    int wrong = 0;
    if (sbi_file_present(path)) {
        if (sbi_file_read(&sbi_malloc_allocator, path, 1 << 28, &bytes, &size, &err) != SB_OK ||
            sbi_references_read((const char *)bytes, (size_t)size, &old, &err) != SB_OK) {
            return fail(&err);
        }
    }
    wrong = compare_tables(&old, cells, &added);
    printf("golden: %lld cells, %lld new, %d changed or gone\n", (long long)cells->count, (long long)added, wrong);
    sbi_references_free(&old);
    sbi_release(&sbi_malloc_allocator, bytes);
    if (check && added) {
        printf("golden: the table lacks lines: run the golden tool without --check\n");
    }
    if (check || (wrong && !replace)) {
        return wrong || added;
    }
    sbi_text text;
    sbi_file *file = NULL;
    sbi_text_start(&text, &sbi_malloc_allocator);
    sbi_references_write(cells, &text);
    sb_status status = text.failed ? sbi_fail(&err, SB_ERR_MEMORY, "", "out of memory")
                                   : sbi_file_create(&sbi_malloc_allocator, path, &file, &err);
    status = status == SB_OK ? sbi_file_write(file, text.bytes, text.length, &err) : status;
    status = status == SB_OK ? sbi_file_commit(file, &err) : status;
    if (status != SB_OK) {
        sbi_file_abandon(file);
        return fail(&err);
    }
    sbi_text_free(&text);
    return 0;
}

// Whether a lane is one of the list "A,B"; all are where there is no list.
static bool listed(const char *list, const char *lane) {
    size_t length = strlen(lane);
    for (const char *at = list; at && (at = strstr(at, lane)) != NULL; at += length) {
        if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length])) {
            return true;
        }
    }
    return !list;
}

// The lines of the table whose lanes are not listed.
static int keep_others(const char *path, const char *list, sbi_references *old, sbi_cells *cells) {
    sb_error err = {.status = SB_OK};
    uint8_t *bytes = NULL;
    int64_t size = 0;
    if (sbi_file_read(&sbi_malloc_allocator, path, 1 << 28, &bytes, &size, &err) != SB_OK ||
        sbi_references_read((const char *)bytes, (size_t)size, old, &err) != SB_OK) {
        return fail(&err);
    }
    for (int64_t i = 0; i < old->count; i++) {
        sbi_cell *cell = listed(list, old->rows[i].lane) ? NULL : sbi_cells_add(cells);
        if (cell) {
            *cell = old->rows[i];
        }
    }
    sbi_release(&sbi_malloc_allocator, bytes);
    return 0;
}

int main(int argc, char **argv) {
    bool check = argc == 3 && strcmp(argv[2], "--check") == 0, replace = argc == 3 && strcmp(argv[2], "--replace") == 0;
    const char *lanes = argc == 4 && strcmp(argv[2], "--lanes") == 0 ? argv[3] : NULL;
    sbi_references old = {0};
    if (argc != 2 && !check && !replace && !lanes) {
        fprintf(stderr, "usage: golden FILE [--check | --replace | --lanes A,B]\n");
        return 2;
    }
    int64_t count = 0, at = 0;
    for (const sbi_lane *const *file = sbi_lane_files; *file; file++) {
        for (const sbi_lane *lane = *file; lane->name; lane++) {
            count += listed(lanes, lane->name);
        }
    }
    sb_error err = {.status = SB_OK};
    job *jobs = sbi_allocate(&sbi_malloc_allocator, count + 1, sizeof *jobs, &err);
    sbi_pool *pool = sbi_pool_new(&sbi_malloc_allocator, sbi_cpu_cores(), &err);
    if (!jobs || !pool) {
        return fail(&err);
    }
    for (const sbi_lane *const *file = sbi_lane_files; *file; file++) {
        for (const sbi_lane *lane = *file; lane->name; lane++) {
            if (listed(lanes, lane->name)) {
                jobs[at++].lane = lane;
            }
        }
    }
    sbi_pool_run(pool, count, run_lane, jobs);
    sbi_pool_free(pool);
    sbi_cells all = {0};
    int failed = 0;
    for (int64_t i = 0; i < count; i++) {
        if (jobs[i].status != SB_OK) {
            printf("%s: %s: %s\n", jobs[i].lane->name, sb_status_name(jobs[i].status), jobs[i].err.message);
            failed++;
        }
        if (jobs[i].seconds > 5.0) {
            printf("%s took %.1f s\n", jobs[i].lane->name, jobs[i].seconds);
        }
        for (int64_t j = 0; j < jobs[i].cells.count; j++) {
            sbi_cell *cell = sbi_cells_add(&all);
            if (cell) {
                *cell = jobs[i].cells.items[j];
            }
        }
        failed += jobs[i].cells.failed;
        sbi_cells_free(&jobs[i].cells);
    }
    sbi_release(&sbi_malloc_allocator, jobs);
    failed += count == 0 || (lanes && keep_others(argv[1], lanes, &old, &all));
    sbi_cells_sort(&all);
    for (int64_t i = 1; i < all.count; i++) {
        if (sbi_cell_order(&all.items[i - 1], &all.items[i]) == 0) {
            printf("twice: %s/%s/%s\n", all.items[i].lane, all.items[i].fixture, all.items[i].name);
            failed++;
        }
    }
    int status = failed || all.failed ? 1 : write_table(argv[1], &all, check, replace);
    sbi_cells_free(&all);
    sbi_references_free(&old);
    return status;
}
