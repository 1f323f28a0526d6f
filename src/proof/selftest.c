// SPDX-License-Identifier: Apache-2.0
// selftest: the comparison of verify can fail. Every lane untouched must read IDENTICAL, and with one input value moved
// by the least there is (a float by one ulp, an index or a seed by one) DIVERGENT. An output may rightly not depend on a
// certain last bit (a maximum, a rounding): then other inputs are tried, up to 4,096 spread over all of them.
#include "verify.h"

#include <string.h>

enum { TRIES = 4096 };

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

// The verdict on one lane: 0, 1 or 3; one line and one JSON object.
static sb_status test_lane(sb_context *ctx, const sbi_lane *lane, const sbi_references *references, sb_report *report, int *verdict,
                           sb_error *err) {
    sbi_cells cells = {0};
    sbi_lane_run run;
    int fixture = 0;
    while (fixture < SBI_FIX_COUNT - 1 && !(lane->fixtures & SBI_FIX(fixture))) {
        fixture++;
    }
    const char *untouched, *touched = "not tried";
    char nudged[64] = "";
    sb_status status = sbi_verify_lane(ctx, lane, (sbi_fixture)fixture, 0, -1, references, &cells, &run, err);
    bool absent = any_is(&cells, SBI_CELL_ABSENT), identical = all_are(&cells, SBI_CELL_IDENTICAL), divergent = false;
    untouched = identical ? "IDENTICAL" : absent ? "ABSENT" : any_is(&cells, SBI_CELL_REFUSED) ? "REFUSED" : "DIVERGENT";
    int64_t inputs = run.inputs_seen, tries = inputs < TRIES ? inputs : TRIES;
    for (int64_t i = 0; i < tries && identical && !divergent && status == SB_OK; i++) {
        cells.count = 0;
        status = sbi_verify_lane(ctx, lane, (sbi_fixture)fixture, 0, inputs / tries * i, references, &cells, &run, err);
        divergent = any_is(&cells, SBI_CELL_DIVERGENT);
        memcpy(nudged, run.nudged, sizeof nudged);
    }
    if (identical) {
        touched = divergent ? "DIVERGENT" : inputs == 0 ? "has no input" : "IDENTICAL";
    }
    *verdict = identical && divergent ? 0 : absent ? 3 : 1;
    sbi_text_add(&report->text, "%-24s %-9s untouched; %s %s: %s\n", lane->name, untouched,
                 lane->counts_inputs ? "one ulp added to" : "one added to", nudged[0] ? nudged : "nothing", touched);
    sbi_text_add(&report->json, "\n  {");
    sbi_report_member(&report->json, true, "lane", lane->name);
    sbi_report_member(&report->json, false, "fixture", sbi_fixture_names[fixture]);
    sbi_report_member(&report->json, false, "untouched", untouched);
    sbi_report_member(&report->json, false, "input", nudged);
    sbi_report_member(&report->json, false, "touched", touched);
    sbi_text_add(&report->json, "}");
    sbi_cells_free(&cells);
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
