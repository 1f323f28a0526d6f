// SPDX-License-Identifier: Apache-2.0
// Lanes over fixtures and splits, each cell judged against its golden value.
#include "verify.h"

#include <stdio.h>
#include <string.h>

const char *const sbi_cell_state_names[SBI_CELL_STATES] = {"IDENTICAL", "DIVERGENT", "REFUSED", "ABSENT", "COMPUTED"};

// ---- cells

sbi_cell *sbi_cells_add(sbi_cells *cells) {
    if (cells->count == cells->capacity) {
        int64_t capacity = cells->capacity ? 2 * cells->capacity : 64;
        sbi_cell *items = sbi_allocate(&sbi_malloc_allocator, capacity, sizeof *items, NULL);
        if (!items) {
            cells->failed = true;
            return NULL;
        }
        if (cells->count) {
            memcpy(items, cells->items, (size_t)cells->count * sizeof *items);
        }
        sbi_release(&sbi_malloc_allocator, cells->items);
        cells->items = items;
        cells->capacity = capacity;
    }
    sbi_cell *cell = &cells->items[cells->count++];
    memset(cell, 0, sizeof *cell);
    return cell;
}

void sbi_cells_free(sbi_cells *cells) {
    sbi_release(&sbi_malloc_allocator, cells->items);
    *cells = (sbi_cells){0};
}

int sbi_cell_order(const sbi_cell *a, const sbi_cell *b) {
    int order = strcmp(a->lane, b->lane);
    order = order ? order : strcmp(a->fixture, b->fixture);
    return order ? order : strcmp(a->name, b->name);
}

void sbi_cells_sort(sbi_cells *cells) { // Shell's sort: in place, and fast on what is nearly in order
    for (int64_t gap = cells->count / 2; gap > 0; gap /= 2) {
        for (int64_t i = gap; i < cells->count; i++) {
            sbi_cell held = cells->items[i];
            int64_t j = i;
            for (; j >= gap && sbi_cell_order(&cells->items[j - gap], &held) > 0; j -= gap) {
                cells->items[j] = cells->items[j - gap];
            }
            cells->items[j] = held;
        }
    }
}

// ---- golden values

static int hex_value(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

// The text up to the next tab, and *at behind it.
static size_t field(const char **at, const char *end, const char **start) {
    const char *stop = memchr(*at, '\t', (size_t)(end - *at));
    stop = stop ? stop : end;
    *start = *at;
    *at = stop + (stop < end);
    return (size_t)(stop - *start);
}

// Names go into reports as they stand, so nothing but these characters is let in.
static bool is_name(const char *name, size_t length) {
    static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    for (size_t i = 0; i < length; i++)
        if (!memchr(characters, name[i], sizeof characters - 1)) return false;
    return length > 0;
}

static bool read_row(const char *line, const char *end, const char *names[2], size_t lengths[2], sbi_cell *row) {
    const char *name;
    lengths[0] = field(&line, end, &names[0]);
    lengths[1] = field(&line, end, &names[1]);
    size_t length = field(&line, end, &name);
    if (!is_name(names[0], lengths[0]) || !is_name(names[1], lengths[1]) || !is_name(name, length) ||
        length >= sizeof row->name || end - line != 64) {
        return false;
    }
    memcpy(row->name, name, length);
    for (int i = 0; i < 32; i++) {
        int high = hex_value(line[2 * i]), low = hex_value(line[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        row->digest[i] = (uint8_t)(high << 4 | low);
    }
    row->hashed = true;
    return true;
}

sb_status sbi_references_read(const char *text, size_t size, sbi_references *out, sb_error *err) {
    memset(out, 0, sizeof *out);
    sb_sha256(text, size, out->digest);
    const char *end = text + size;
    int64_t lines = 0, number = 0;
    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n';
    }
    char first[80];
    snprintf(first, sizeof first, "# samebits golden values, contract %d\n", SB_CONTRACT);
    if (size < strlen(first) || memcmp(text, first, strlen(first)) != 0) {
        return sbi_fail(err, SB_ERR_FORMAT, "references", "the table of golden values does not start with \"%.*s\"",
                        (int)strlen(first) - 1, first);
    }
    out->arena = sbi_arena_new(&sbi_malloc_allocator, err);
    out->rows = out->arena ? sbi_arena_allocate(out->arena, lines + 1, sizeof *out->rows, err) : NULL;
    if (!out->rows) {
        return SB_ERR_MEMORY;
    }
    for (const char *line = text; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        number++;
        sbi_cell *row = &out->rows[out->count];
        const char *names[2];
        size_t lengths[2];
        if (!stop || (number > 2 && !read_row(line, stop, names, lengths, row))) {
            return sbi_fail(err, SB_ERR_FORMAT, "references", "line %lld of the golden values: expected lane, fixture, cell "
                            "and SHA-256, separated by tabs", (long long)number);
        }
        if (number > 2 && (!(row->lane = sbi_arena_string(out->arena, names[0], lengths[0], err)) ||
                           !(row->fixture = sbi_arena_string(out->arena, names[1], lengths[1], err)))) {
            return SB_ERR_MEMORY;
        }
        if (number > 2 && out->count++ && sbi_cell_order(row - 1, row) >= 0) {
            return sbi_fail(err, SB_ERR_FORMAT, "references", "line %lld of the golden values is not in ascending order",
                            (long long)number);
        }
        line = stop + 1;
    }
    return SB_OK;
}

void sbi_references_free(sbi_references *references) {
    sbi_arena_free(references->arena);
    *references = (sbi_references){0};
}

const sbi_cell *sbi_references_of(const sbi_references *references, const char *lane, const char *fixture, int64_t *count) {
    const sbi_cell wanted = {.lane = lane, .fixture = fixture}; // (its empty name comes before every other)
    int64_t low = 0, high = references->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (sbi_cell_order(&references->rows[middle], &wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *count = 0;
    for (int64_t i = low; i < references->count; i++) {
        if (strcmp(references->rows[i].lane, lane) != 0 || strcmp(references->rows[i].fixture, fixture) != 0) {
            break;
        }
        ++*count;
    }
    return references->rows + low;
}

void sbi_references_write(const sbi_cells *cells, sbi_text *out) {
    sbi_text_add(out, "# samebits golden values, contract %d\nlane\tfixture\tcell\tsha256\n", SB_CONTRACT);
    for (int64_t i = 0; i < cells->count; i++) {
        char hex[65];
        sbi_hex(cells->items[i].digest, 32, hex);
        sbi_text_add(out, "%s\t%s\t%s\t%s\n", cells->items[i].lane, cells->items[i].fixture, cells->items[i].name, hex);
    }
}

// ---- one lane, one fixture

static void collect(void *user, const char *name, const uint8_t digest[32], const sb_array *array) {
    sbi_cell *cell = sbi_cells_add(user);
    (void)array;
    if (cell) {
        snprintf(cell->name, sizeof cell->name, "%s", name);
        memcpy(cell->digest, digest, 32);
        cell->hashed = true;
    }
}

static sbi_cell *named(sbi_cell *cells, int64_t count, const char *name) {
    for (int64_t i = 0; i < count; i++) {
        if (strcmp(cells[i].name, name) == 0) {
            return &cells[i];
        }
    }
    return NULL;
}

static void judge(sbi_cell *cell, sbi_cell_state state, const char *note) {
    if (cell->state != SBI_CELL_DIVERGENT) { // (once divergent, it stays so)
        cell->state = state;
        snprintf(cell->note, sizeof cell->note, "%s", note);
    }
}

// A run that did not end well: the cells it would have given are refused.
static void refuse(sbi_cells *cells, const sbi_lane *lane, const char *fixture, const char *how, const sb_error *why,
                   const sbi_cell *rows, int64_t count) {
    char note[160], reason[120];
    snprintf(note, sizeof note, "%s%s: %s", how, sb_status_name(why->status),
             sbi_escape(why->message, strlen(why->message), reason, sizeof reason));
    for (int64_t i = 0; i < count || i == 0; i++) {
        sbi_cell *cell = sbi_cells_add(cells);
        if (cell) {
            cell->lane = lane->name;
            cell->fixture = fixture;
            memcpy(cell->name, count ? rows[i].name : "run", count ? sizeof cell->name : sizeof "run");
            judge(cell, SBI_CELL_REFUSED, note);
        }
    }
}

// The lane in a split: its cells must be those of the whole.
static void check_split(sbi_lane_run *run, sbi_split split, sbi_cell *whole, int64_t count, sbi_cells *other) {
    static const char *const names[] = {"whole", "in halves", "row by row"};
    char note[160], reason[100];
    sb_error err = {.status = SB_OK};
    other->count = 0;
    run->split = split;
    run->user = other;
    sb_status status = sbi_lane_carry_out(run, &err);
    for (int64_t i = 0; i < count; i++) {
        const sbi_cell *same = named(other->items, other->count, whole[i].name);
        if (status != SB_OK) {
            snprintf(note, sizeof note, "%s: %s: %s", names[split], sb_status_name(status),
                     sbi_escape(err.message, strlen(err.message), reason, sizeof reason));
            judge(&whole[i], SBI_CELL_REFUSED, note);
        } else if (!same || memcmp(same->digest, whole[i].digest, 32) != 0) {
            snprintf(note, sizeof note, "%s it differs from the whole", names[split]);
            judge(&whole[i], SBI_CELL_DIVERGENT, note);
        }
    }
}

sb_status sbi_verify_lane(sb_context *ctx, const sbi_lane *lane, sbi_fixture fixture, uint64_t seed, int64_t nudge,
                          const sbi_references *references, sbi_cells *cells, sbi_lane_run *run, sb_error *err) {
    sb_error why = {.status = SB_OK};
    sbi_cells other = {0};
    int64_t rows_count = 0, start = cells->count;
    const char *fixture_name = sbi_fixture_names[fixture];
    const sbi_cell *rows = references ? sbi_references_of(references, lane->name, fixture_name, &rows_count) : NULL;
    *run = (sbi_lane_run){.ctx = ctx, .lane = lane, .seed = seed, .fixture = fixture, .split = SBI_WHOLE, .nudge = nudge,
                          .report = collect, .user = cells};
    if (sbi_lane_carry_out(run, &why) != SB_OK) {
        cells->count = start;
        refuse(cells, lane, fixture_name, "", &why, rows, rows_count);
        goto done;
    }
    sbi_cell *whole = cells->items + start;
    int64_t count = cells->count - start;
    for (int64_t i = 0; i < count; i++) {
        whole[i].lane = lane->name;
        whole[i].fixture = fixture_name;
        whole[i].state = references ? SBI_CELL_IDENTICAL : SBI_CELL_COMPUTED;
        if (named(whole, i, whole[i].name)) {
            return sbi_fail(err, SB_ERR_INTERNAL, lane->name, "the lane reports the cell %s twice", whole[i].name);
        }
    }
    if (lane->rows && nudge < 0) {
        check_split(run, SBI_HALVES, whole, count, &other);
        check_split(run, SBI_ROWS, whole, count, &other);
    }
    for (int64_t i = 0; references && i < count; i++) {
        const sbi_cell *row = named((sbi_cell *)rows, rows_count, whole[i].name);
        if (!row) {
            judge(&whole[i], SBI_CELL_ABSENT, "there is no golden value for it");
        } else if (memcmp(row->digest, whole[i].digest, 32) != 0) {
            char hex[13];
            sbi_hex(row->digest, 6, hex);
            char note[80];
            snprintf(note, sizeof note, "the golden value is %s...", hex);
            judge(&whole[i], SBI_CELL_DIVERGENT, note);
        }
    }
    for (int64_t i = 0; i < rows_count; i++) {
        if (!named(cells->items + start, count, rows[i].name)) {
            sbi_cell *cell = sbi_cells_add(cells);
            if (cell) {
                *cell = (sbi_cell){.lane = lane->name, .fixture = fixture_name};
                memcpy(cell->name, rows[i].name, sizeof cell->name);
                judge(cell, SBI_CELL_ABSENT, "there is a golden value, and the lane did not report it");
            }
        }
    }
done:;
    bool failed = cells->failed || other.failed; // a cell that found no room must not read as one that differs
    sbi_cells_free(&other);
    return failed ? sbi_fail(err, SB_ERR_MEMORY, "", "out of memory for cells") : SB_OK;
}

// ---- the lanes that were asked for

bool sbi_lane_in_tier(const sbi_lane *lane, sb_tier tier) {
    switch (tier) {
    case SB_TIER_QUICK: return lane->quick && !lane->training;
    case SB_TIER_TRAINING: return lane->training;
    case SB_TIER_ALL: return true;
    default: return !lane->training;
    }
}

// Whether a list "a,b" has the name.
static bool listed(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        if (strcspn(at, ",") == length && memcmp(at, name, length) == 0) {
            return true;
        }
    }
    return false;
}

sb_status sbi_verify_choose(sbi_arena *arena, sb_tier tier, const char *names, const sbi_lane ***out, int64_t *count, sb_error *err) {
    int64_t all = 0;
    *count = 0;
    if (names && !*names) {
        return sbi_fail(err, SB_ERR_ARGUMENT, "lanes", "the list of lanes is empty");
    }
    for (const char *at = names, *comma; at; at = comma ? comma + 1 : NULL) {
        size_t length = strcspn(at, ",");
        comma = at[length] ? at + length : NULL;
        if (!sbi_lane_find(at, length)) {
            char shown[80];
            return sbi_fail(err, SB_ERR_ARGUMENT, "lanes", "there is no lane \"%s\" (`samebits verify --list` names them)",
                            sbi_escape(at, length, shown, sizeof shown));
        }
    }
    for (const sbi_lane *const *file = sbi_lane_files; *file; file++) {
        for (const sbi_lane *lane = *file; lane->name; lane++) {
            all++;
        }
    }
    *out = sbi_arena_allocate(arena, all + 1, sizeof **out, err);
    if (!*out) {
        return SB_ERR_MEMORY;
    }
    for (const sbi_lane *const *file = sbi_lane_files; *file; file++) {
        for (const sbi_lane *lane = *file; lane->name; lane++) {
            if (names ? listed(names, lane->name) : sbi_lane_in_tier(lane, tier)) {
                (*out)[(*count)++] = lane;
            }
        }
    }
    return SB_OK;
}

// Golden values that nothing above has touched: of a lane that this build lacks, or of a fixture its lane does not run.
static void add_unknown(const sbi_references *references, const sbi_lane **lanes, int64_t lane_count, bool unknown_too,
                        sbi_cells *cells) {
    for (int64_t i = 0; i < references->count; i++) {
        const sbi_cell *row = &references->rows[i];
        const sbi_lane *lane = sbi_lane_find(row->lane, strlen(row->lane));
        bool asked = lane ? false : unknown_too, known = false;
        for (int64_t j = 0; j < lane_count && lane; j++) {
            asked = asked || lanes[j] == lane;
        }
        for (int fixture = 0; fixture < SBI_FIX_COUNT && lane; fixture++) {
            known = known || ((lane->fixtures & SBI_FIX(fixture)) && strcmp(sbi_fixture_names[fixture], row->fixture) == 0);
        }
        sbi_cell *cell = asked && !known ? sbi_cells_add(cells) : NULL;
        if (cell) {
            cell->lane = row->lane;
            cell->fixture = row->fixture;
            memcpy(cell->name, row->name, sizeof cell->name);
            judge(cell, SBI_CELL_ABSENT, lane ? "the lane does not run this fixture" : "this build has no such lane");
        }
    }
}

// ---- verify

static void describe(sbi_text *text, const sbi_cells *cells, sbi_cell_state state) {
    int64_t shown = 0, all = 0;
    for (int64_t i = 0; i < cells->count; i++) {
        const sbi_cell *cell = &cells->items[i];
        if (cell->state == state && ++all <= 20) {
            sbi_text_add(text, "%-9s %s/%s/%s: %s\n", sbi_cell_state_names[state], cell->lane, cell->fixture, cell->name, cell->note);
            shown++;
        }
    }
    if (all > shown) {
        sbi_text_add(text, "%-9s and %lld more\n", sbi_cell_state_names[state], (long long)(all - shown));
    }
}

static int verdict_of(const int64_t counts[SBI_CELL_STATES], int64_t all) {
    if (counts[SBI_CELL_DIVERGENT]) {
        return 1;
    }
    return all == 0 || counts[SBI_CELL_REFUSED] || counts[SBI_CELL_ABSENT] ? 3 : 0;
}

sb_status sbi_verify(sb_context *ctx, const sb_verify_options *options, sb_report **out, sb_error *err) {
    static const char *const tiers[] = {"default", "quick", "training", "all"};
    sbi_references references = {0};
    sbi_cells cells = {0};
    const sbi_lane **lanes;
    int64_t lane_count = 0, counts[SBI_CELL_STATES] = {0};
    bool seeded = options->seed != 0;
    sb_report *report = sbi_report_new(err);
    sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, err);
    sb_status status = report && arena ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK) {
        status = sbi_references_read(options->references, options->references_size, &references, err);
    }
    if (status == SB_OK) {
        status = sbi_verify_choose(arena, options->tier, options->lanes, &lanes, &lane_count, err);
    }
    for (int64_t i = 0; i < lane_count && status == SB_OK; i++) {
        if (options->progress) {
            options->progress(options->user, lanes[i]->name, i, lane_count);
        }
        for (int fixture = 0; fixture < SBI_FIX_COUNT && status == SB_OK; fixture++) {
            sbi_lane_run run;
            if (lanes[i]->fixtures & SBI_FIX(fixture)) {
                status = sbi_verify_lane(ctx, lanes[i], (sbi_fixture)fixture, options->seed, -1, seeded ? NULL : &references,
                                         &cells, &run, err);
            }
        }
    }
    if (status == SB_OK && !seeded) {
        add_unknown(&references, lanes, lane_count, !options->lanes && (options->tier == SB_TIER_DEFAULT || options->tier == SB_TIER_ALL),
                    &cells);
    }
    if (status == SB_OK && cells.failed) {
        status = sbi_fail(err, SB_ERR_MEMORY, "", "out of memory for cells");
    }
    if (status != SB_OK) {
        sbi_report_free(report);
        goto done;
    }
    sbi_cells_sort(&cells);
    for (int64_t i = 0; i < cells.count; i++) {
        counts[cells.items[i].state]++;
    }
    report->verdict = verdict_of(counts, cells.count);
    describe(&report->text, &cells, SBI_CELL_ABSENT);
    describe(&report->text, &cells, SBI_CELL_REFUSED);
    describe(&report->text, &cells, SBI_CELL_DIVERGENT);
    if (seeded) {
        sbi_text_add(&report->text, "no references for seed %llu: compare two documents\n", (unsigned long long)options->seed);
    }
    sbi_text_add(&report->text, "verify: contract %d on %s, level %s, threads %d: %lld lanes, %lld cells:", SB_CONTRACT,
                 sb_context_device(ctx), sb_context_isa(ctx), sb_context_threads(ctx), (long long)lane_count, (long long)cells.count);
    for (int state = 0; state < SBI_CELL_STATES; state++) {
        if (state == SBI_CELL_COMPUTED ? seeded : state != SBI_CELL_IDENTICAL || !seeded) {
            sbi_text_add(&report->text, " %lld %s%s", (long long)counts[state], sbi_cell_state_names[state],
                         state < (seeded ? SBI_CELL_COMPUTED : SBI_CELL_ABSENT) ? "," : "\n");
        }
    }
    sbi_evidence_write(ctx, options->seed, options->lanes ? "lanes" : tiers[options->tier], options->seed ? NULL : references.digest,
                       options->date, &cells, "", &report->json);
    status = sbi_report_give(report, out, err);
done:
    sbi_cells_free(&cells);
    sbi_references_free(&references);
    sbi_arena_free(arena);
    return status;
}
