// SPDX-License-Identifier: Apache-2.0
// selftest: the comparison of verify can fail. Every lane untouched must read IDENTICAL, and with one input value moved
// by the least there is (a float by one ulp, an index or a seed by one) DIVERGENT. An output may rightly not depend on a
// certain last bit (a maximum, a rounding): then other inputs are tried, up to 64 spread over all of them, and then the
// lane's other fixtures; it is a failure if none shows.
#include "verify.h"

#include <string.h>

enum { TRIES = 64 };

static bool all_are(const sbi_cells *cells, sbi_cell_state state) {
    for (int64_t i = 0; i < cells->count; i++) {
        if (cells->items[i].state != state) {
            return false;
        }
    }
    return cells->count > 0;
}

static bool any_is(const sbi_cells *cells, sbi_cell_state state) {
    for (int64_t i = 0; i < cells->count; i++) {
        if (cells->items[i].state == state) {
            return true;
        }
    }
    return false;
}

typedef struct outcome {
    const char *fixture, *untouched;
    int64_t inputs;
    bool identical, absent, divergent;
    char nudged[64];
} outcome;

// One fixture: untouched, then inputs moved one at a time until one shows.
static sb_status test_fixture(sb_context *ctx, const sbi_lane *lane, sbi_fixture fixture, const sbi_references *references,
                              outcome *out, sb_error *err) {
    sbi_cells cells = {0};
    sbi_lane_run run;
    sb_status status = sbi_verify_lane(ctx, lane, fixture, 0, -1, references, &cells, &run, err);
    *out = (outcome){.fixture = sbi_fixture_names[fixture], .inputs = run.inputs_seen};
    out->absent = any_is(&cells, SBI_CELL_ABSENT);
    out->identical = all_are(&cells, SBI_CELL_IDENTICAL);
    out->untouched = out->identical ? "IDENTICAL" : out->absent ? "ABSENT" : any_is(&cells, SBI_CELL_REFUSED) ? "REFUSED" : "DIVERGENT";
    int64_t tries = out->inputs < TRIES ? out->inputs : TRIES;
    for (int64_t i = 0; i < tries && out->identical && !out->divergent && status == SB_OK; i++) {
        cells.count = 0;
        status = sbi_verify_lane(ctx, lane, fixture, 0, out->inputs / tries * i, references, &cells, &run, err);
        out->divergent = any_is(&cells, SBI_CELL_DIVERGENT);
        memcpy(out->nudged, run.nudged, sizeof out->nudged);
        if (status == SB_OK && run.status == SB_ERR_MEMORY) { // (else another input would be tried in its place)
            status = sbi_fail(err, SB_ERR_MEMORY, "", "out of memory in the lane %s", lane->name);
        }
    }
    sbi_cells_free(&cells);
    return status;
}

// The verdict on one lane: 0, 1 or 3; one line and one JSON object.
static sb_status test_lane(sb_context *ctx, const sbi_lane *lane, const sbi_references *references, sb_report *report, int *verdict,
                           sb_error *err) {
    outcome o = {.fixture = "", .untouched = "not run"};
    sb_status status = SB_OK;
    bool going = true;
    for (int fixture = 0; fixture < SBI_FIX_COUNT && going && status == SB_OK; fixture++) {
        if (lane->fixtures & SBI_FIX(fixture) && fixture != SBI_FIX_EMPTY) {
            status = test_fixture(ctx, lane, (sbi_fixture)fixture, references, &o, err);
            going = o.identical && !o.divergent;
        }
    }
    const char *touched = !o.identical ? "not tried" : o.divergent ? "DIVERGENT" : o.inputs == 0 ? "has no input" : "IDENTICAL";
    *verdict = o.identical && o.divergent ? 0 : o.absent ? 3 : 1;
    sbi_text_add(&report->text, "%-28s %s: %-9s untouched; %s %s: %s\n", lane->name, o.fixture, o.untouched,
                 lane->counts_inputs ? "one ulp added to" : "one added to", o.nudged[0] ? o.nudged : "nothing", touched);
    sbi_text_add(&report->json, "\n  {");
    sbi_report_member(&report->json, true, "lane", lane->name);
    sbi_report_member(&report->json, false, "fixture", o.fixture);
    sbi_report_member(&report->json, false, "untouched", o.untouched);
    sbi_report_member(&report->json, false, "input", o.nudged);
    sbi_report_member(&report->json, false, "touched", touched);
    sbi_text_add(&report->json, "}");
    return status;
}

sb_status sbi_selftest(sb_context *ctx, const sb_verify_options *options, sb_report **out, sb_error *err) {
    sbi_references references = {0};
    const sbi_lane **lanes;
    int64_t count = 0, good = 0;
    bool failed = false;
    sb_report *report = sbi_report_new(err);
    sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, err);
    sb_status status = report && arena ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK) {
        status = sbi_references_read(options->references, options->references_size, &references, err);
    }
    if (status == SB_OK) {
        status = sbi_verify_choose(arena, options->tier, options->lanes, &lanes, &count, err);
    }
    if (status == SB_OK) {
        sbi_text_add(&report->json, "{\"samebits\": \"selftest\", \"format\": 1,\n \"lanes\": [");
    }
    for (int64_t i = 0; i < count && status == SB_OK; i++) {
        int verdict = 1;
        if (options->progress) {
            options->progress(options->user, lanes[i]->name, i, count);
        }
        sbi_text_add(&report->json, i ? "," : "");
        status = test_lane(ctx, lanes[i], &references, report, &verdict, err);
        good += verdict == 0;
        failed = failed || verdict == 1;
    }
    if (status == SB_OK) {
        report->verdict = failed ? 1 : good < count || count == 0 ? 3 : 0;
        sbi_text_add(&report->text, "selftest: %lld of %lld lanes read IDENTICAL untouched and DIVERGENT with one input moved\n",
                     (long long)good, (long long)count);
        sbi_text_add(&report->json, "\n ], \"good\": %lld, \"all\": %lld}\n", (long long)good, (long long)count);
        status = sbi_report_give(report, out, err);
    } else {
        sbi_report_free(report);
    }
    sbi_references_free(&references);
    sbi_arena_free(arena);
    return status;
}
