// SPDX-License-Identifier: Apache-2.0
// replay: the models of a recording over its input once more, here; each output by its digest, the last one row by row.
#include "recording.h"
#include "verify.h"

#include <stdio.h>
#include <string.h>

const char *sbi_replay_verdict(int verdict) {
    return verdict == SBI_IDENTICAL ? "IDENTICAL" : verdict == SBI_DIFFERENT ? "DIFFERENT" : "REFUSED";
}

bool sbi_replay_same(const sbi_replay *replay, int step) {
    return replay->statuses[step] == SB_OK && sbi_recorded_same(&replay->outputs[step], &replay->recording.steps[step].output);
}

// ---- numbers

static double number(sb_dtype dtype, const uint8_t *bytes, int64_t index) {
    float f;
    double d;
    if (dtype == SB_F32) {
        memcpy(&f, bytes + 4 * index, 4);
        return (double)f;
    }
    memcpy(&d, bytes + 8 * index, 8);
    return d;
}

// Whole numbers as they stand; floats by their place among the floats: neighbours are one apart, -0 is 0.
static int64_t place(sb_dtype dtype, const uint8_t *bytes, int64_t index) {
    int32_t narrow;
    int64_t wide;
    if (sbi_dtype_size(dtype) == 4) {
        memcpy(&narrow, bytes + 4 * index, 4);
        wide = narrow;
        return dtype == SB_F32 && narrow < 0 ? INT32_MIN - wide : wide;
    }
    memcpy(&wide, bytes + 8 * index, 8);
    return dtype == SB_F64 && wide < 0 ? INT64_MIN - wide : wide;
}

static uint64_t distance(sb_dtype dtype, const uint8_t *a, const uint8_t *b, int64_t index) {
    if (dtype == SB_F32 || dtype == SB_F64) {
        const double x = number(dtype, a, index), y = number(dtype, b, index);
        if (x != x || y != y) return SBI_NO_ULP;
    }
    const int64_t i = place(dtype, a, index), j = place(dtype, b, index);
    return i > j ? (uint64_t)i - (uint64_t)j : (uint64_t)j - (uint64_t)i;
}

static int64_t decide(const sbi_recording *r, const uint8_t *bytes, int64_t row, int64_t columns) {
    const sb_dtype dtype = r->steps[r->count - 1].output.dtype;
    int64_t best = -1;
    switch (r->decision) {
    case SBI_DECIDES_CLASS: return place(dtype, bytes, row * columns);
    case SBI_DECIDES_THRESHOLD: return number(dtype, bytes, row * columns + columns - 1) >= r->threshold;
    case SBI_DECIDES_LARGEST:
        for (int64_t j = 0; j < columns; j++) {
            const double x = number(dtype, bytes, row * columns + j);
            if (x == x && (best < 0 || x > number(dtype, bytes, row * columns + best))) best = j;
        }
        return best;
    default: return 0;
    }
}

static void judge_row(sbi_replay *replay, int64_t i) {
    const sbi_recording *r = &replay->recording;
    const sb_dtype dtype = r->steps[r->count - 1].output.dtype;
    const int64_t columns = replay->columns;
    sbi_row row = {.row = i};
    for (int64_t j = 0; j < columns; j++) {
        const int64_t item = (int64_t)sbi_dtype_size(dtype), at = i * columns + j;
        if (memcmp(replay->recorded + at * item, replay->computed + at * item, (size_t)item) == 0) continue;
        const uint64_t ulp = distance(dtype, replay->recorded, replay->computed, at);
        if (ulp >= row.ulp) {
            row.ulp = ulp;
            row.column = j;
        }
    }
    row.flips = decide(r, replay->recorded, i, columns) != decide(r, replay->computed, i, columns);
    if (replay->differing < SBI_ROWS_SHOWN) replay->rows[replay->differing] = row;
    if (replay->differing == 0 || row.ulp > replay->worst.ulp) replay->worst = row;
    replay->differing++;
    replay->flipping += row.flips;
}

static sb_status read_bytes(const sb_array *a, uint8_t **out, sb_error *err) {
    const size_t bytes = (size_t)a->size * sbi_dtype_size(a->dtype);
    if (!(*out = sbi_allocate(&sbi_malloc_allocator, (int64_t)bytes, 1, err))) return SB_ERR_MEMORY;
    return sbi_array_read(a, *out, bytes, err);
}

// Which rows differ: where values were kept, and there is as much of them as there was.
static sb_status judge_rows(sbi_replay *replay, const sb_array *y, sb_error *err) {
    const sb_array *was = replay->recording.y;
    if (!was || was->dtype != y->dtype || was->ndim != y->ndim || memcmp(was->shape, y->shape, (size_t)y->ndim * sizeof *y->shape) != 0) return SB_OK;
    sb_status status = read_bytes(was, &replay->recorded, err);
    if (status == SB_OK) status = read_bytes(y, &replay->computed, err);
    if (status != SB_OK) return status;
    replay->row_count = y->ndim ? y->shape[0] : 1;
    replay->columns = replay->row_count ? y->size / replay->row_count : 0;
    const int64_t bytes = replay->columns * (int64_t)sbi_dtype_size(y->dtype);
    for (int64_t i = 0; i < replay->row_count; i++)
        if (memcmp(replay->recorded + i * bytes, replay->computed + i * bytes, (size_t)bytes) != 0) judge_row(replay, i);
    return SB_OK;
}

// ---- the run

// The input: the recording's own, or the one that was brought, which must be it.
static sb_status find_input(sb_context *ctx, const sb_data *data, const sbi_recording *r, const sb_array **x, sb_array **dense, sb_error *err) {
    sbi_recorded found;
    char was[160], is[160];
    *x = r->x;
    if (!data) {
        if (r->x) return SB_OK;
        sbi_recorded_show(&r->input, was);
        return sbi_fail(err, SB_ERR_ARGUMENT, "data", "the recording holds hashes only: bring its input, %s", was);
    }
    *x = data->x;
    sb_status status = data->indptr ? sbi_dense_of(ctx, data, dense, err) : SB_OK;
    if (*dense) *x = *dense;
    if (status == SB_OK) status = sbi_recorded_of(ctx, *x, &found, err);
    if (status != SB_OK || sbi_recorded_same(&found, &r->input)) return status;
    sbi_recorded_show(&r->input, was);
    sbi_recorded_show(&found, is);
    return sbi_fail(err, SB_ERR_ARGUMENT, "data", "this is not the input of the recording: it is %s, recorded was %s", is, was);
}

static sb_status run_steps(sbi_replay *replay, const sb_array *x, sb_error *err) {
    const sbi_recording *r = &replay->recording;
    sb_array *y = NULL, *next = NULL;
    sb_error why = {0};
    sb_status status = SB_OK;
    replay->verdict = SBI_IDENTICAL;
    for (int i = 0; i < r->count && status == SB_OK; i++, next = NULL) {
        status = sbi_step_call(replay->ctx, &r->steps[i], y ? y : x, &next, &why);
        if (status == SB_OK) status = sbi_recorded_of(replay->ctx, next, &replay->outputs[i], &why);
        sbi_array_free(y);
        y = next;
        replay->statuses[i] = status;
        if (status == SB_OK && !sbi_replay_same(replay, i)) replay->verdict = SBI_DIFFERENT;
        if (status == SB_OK) continue;
        replay->verdict = SBI_REFUSED;
        snprintf(replay->refusals[i], sizeof replay->refusals[i], "%s: %.120s", sb_status_name(status), why.message);
        for (int j = i + 1; j < r->count; j++) {
            replay->statuses[j] = SB_ERR_STATE;
            snprintf(replay->refusals[j], sizeof replay->refusals[j], "not reached");
        }
    }
    if (status == SB_OK) status = judge_rows(replay, y, &why);
    sbi_array_free(y);
    if (status == SB_ERR_MEMORY && err) *err = why;
    return status == SB_ERR_MEMORY ? status : SB_OK; // (what a device refuses is a finding)
}

// ---- the report

void sbi_replay_ulp(sbi_text *text, uint64_t ulp) {
    if (ulp == SBI_NO_ULP)
        sbi_text_add(text, "NaN");
    else
        sbi_text_add(text, "%llu", (unsigned long long)ulp);
}

static void add_row(const sbi_replay *replay, const sbi_row *row, sbi_text *text) {
    const sbi_recording *r = &replay->recording;
    const sb_dtype dtype = r->steps[r->count - 1].output.dtype;
    const int64_t at = (row->row * replay->columns + row->column) * (int64_t)sbi_dtype_size(dtype);
    sbi_text_add(text, "  row %lld", (long long)row->row);
    if (replay->columns > 1) sbi_text_add(text, " column %lld", (long long)row->column);
    sbi_text_add(text, ": ");
    sbi_table_number(text, dtype, replay->recorded + at);
    sbi_text_add(text, " recorded, ");
    sbi_table_number(text, dtype, replay->computed + at);
    sbi_text_add(text, " computed, ");
    sbi_replay_ulp(text, row->ulp);
    sbi_text_add(text, " ulp%s\n", row->flips ? ", the decision flips" : "");
}

static void add_lines(const sbi_replay *replay, sbi_text *text) {
    const sbi_recording *r = &replay->recording;
    char id[65], shown[160], name[120];
    sbi_hex(r->id, 32, id);
    sbi_recorded_show(&r->input, shown);
    sbi_text_add(text, "recording %s of samebits %s\n  replayed on %s, level %s, %d threads\n  input  %s\n", id,
                 sbi_escape(r->release, strlen(r->release), name, sizeof name), sb_context_device(replay->ctx), sb_context_isa(replay->ctx),
                 sb_context_threads(replay->ctx), shown);
    for (int i = 0; i < r->count; i++) {
        const sbi_step *step = &r->steps[i];
        sbi_text_add(text, "  step %d %s: %s.%s  ", i, sbi_escape(step->name, strlen(step->name), name, sizeof name), step->model->algorithm.name, step->method);
        sbi_recorded_show(&step->output, shown);
        if (replay->statuses[i] != SB_OK) {
            sbi_text_add(text, "REFUSED  %s\n", replay->refusals[i]);
        } else if (sbi_replay_same(replay, i)) {
            sbi_text_add(text, "IDENTICAL  %s\n", shown);
        } else {
            sbi_text_add(text, "DIVERGENT  recorded %s, ", shown);
            sbi_recorded_show(&replay->outputs[i], shown);
            sbi_text_add(text, "computed %s\n", shown);
        }
    }
    if (replay->differing) {
        sbi_text_add(text, "%lld of %lld rows differ, the most by ", (long long)replay->differing, (long long)replay->row_count);
        sbi_replay_ulp(text, replay->worst.ulp);
        sbi_text_add(text, " ulp (row %lld); %lld decisions flip\n", (long long)replay->worst.row, (long long)replay->flipping);
        for (int64_t i = 0; i < replay->differing && i < 10; i++) add_row(replay, &replay->rows[i], text);
        if (replay->differing > 10) sbi_text_add(text, "  ...\n");
    } else if (replay->verdict == SBI_DIFFERENT && !replay->recorded) {
        sbi_text_add(text, "the recording holds hashes only: which rows differ it cannot say\n");
    }
    sbi_text_add(text, "%s\n", sbi_replay_verdict(replay->verdict));
}

static void add_json_number(sbi_text *json, const char *key, sb_dtype dtype, const uint8_t *at) { // as text: NaN is no JSON
    sbi_text_add(json, ", \"%s\": \"", key);
    sbi_table_number(json, dtype, at);
    sbi_text_add(json, "\"");
}

static void add_json_ulp(sbi_text *json, const char *key, uint64_t ulp) {
    if (ulp == SBI_NO_ULP)
        sbi_text_add(json, ", \"%s\": null", key);
    else
        sbi_text_add(json, ", \"%s\": %llu", key, (unsigned long long)ulp);
}

// The member "replay" of the evidence document.
static void add_member(const sbi_replay *replay, sbi_text *json) {
    const sbi_recording *r = &replay->recording;
    const sb_dtype dtype = r->steps[r->count - 1].output.dtype;
    char id[65];
    sbi_hex(r->id, 32, id);
    sbi_text_add(json, ",\n \"replay\": {\"recording\": \"%s\"", id);
    sbi_report_member(json, false, "release", r->release);
    sbi_report_member(json, false, "verdict", sbi_replay_verdict(replay->verdict));
    sbi_report_member(json, false, "decision", sbi_decision_names[r->decision]);
    if (replay->recorded) {
        sbi_text_add(json, ", \"rows\": %lld, \"differing\": %lld, \"flipping\": %lld", (long long)replay->row_count, (long long)replay->differing,
                     (long long)replay->flipping);
        add_json_ulp(json, "worst_ulp", replay->worst.ulp);
    } else {
        sbi_text_add(json, ", \"rows\": null, \"differing\": null, \"flipping\": null, \"worst_ulp\": null");
    }
    sbi_text_add(json, ", \"first\": [");
    for (int64_t i = 0; i < replay->differing && i < SBI_ROWS_SHOWN; i++) {
        const sbi_row *row = &replay->rows[i];
        const int64_t at = (row->row * replay->columns + row->column) * (int64_t)sbi_dtype_size(dtype);
        sbi_text_add(json, "%s\n  {\"row\": %lld, \"column\": %lld", i ? "," : "", (long long)row->row, (long long)row->column);
        add_json_number(json, "recorded", dtype, replay->recorded + at);
        add_json_number(json, "computed", dtype, replay->computed + at);
        add_json_ulp(json, "ulp", row->ulp);
        sbi_text_add(json, ", \"flips\": %s}", row->flips ? "true" : "false");
    }
    sbi_text_add(json, "]}");
}

static void add_document(const sbi_replay *replay, sbi_text *json) {
    const sbi_recording *r = &replay->recording;
    sbi_cells cells = {0};
    sbi_text more;
    char id[65];
    sbi_hex(r->id, 32, id);
    for (int i = 0; i < r->count; i++) {
        const bool done = replay->statuses[i] == SB_OK;
        sbi_cell *cell = sbi_cells_add(&cells);
        if (!cell) break;
        *cell = (sbi_cell){.lane = "replay", .fixture = id, .hashed = done};
        cell->state = !done ? SBI_CELL_REFUSED : sbi_replay_same(replay, i) ? SBI_CELL_IDENTICAL : SBI_CELL_DIVERGENT;
        snprintf(cell->name, sizeof cell->name, "%02d.%s", i, r->steps[i].method);
        snprintf(cell->note, sizeof cell->note, "%s", replay->refusals[i]);
        if (done) memcpy(cell->digest, replay->outputs[i].digest, 32);
    }
    sbi_text_start(&more, &sbi_malloc_allocator);
    add_member(replay, &more);
    if (!more.failed && !cells.failed) sbi_evidence_write(replay->ctx, 0, "replay", r->id, replay->date, &cells, more.bytes, json);
    json->failed = json->failed || more.failed || cells.failed;
    sbi_text_free(&more);
    sbi_cells_free(&cells);
}

sb_status sbi_replay_run(sb_context *ctx, const char *path, const sb_replay_options *options, sb_report **out, sb_error *err) {
    const sb_array *x = NULL;
    sb_array *dense = NULL;
    sb_report *report = NULL;
    sbi_replay *replay = sbi_allocate(&sbi_malloc_allocator, 1, sizeof *replay, err);
    if (!replay) return SB_ERR_MEMORY;
    replay->ctx = ctx;
    replay->date = options->date;
    sb_status status = sbi_recording_load(ctx, path, &replay->recording, err);
    if (status == SB_OK) status = find_input(ctx, options->data, &replay->recording, &x, &dense, err);
    if (status == SB_OK) status = run_steps(replay, x, err);
    if (status == SB_OK) status = (report = sbi_report_new(err)) ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK) {
        report->verdict = replay->verdict;
        add_lines(replay, &report->text);
        add_document(replay, &report->json);
        sbi_replay_page(replay, &report->page);
        status = sbi_report_give(report, out, err);
    }
    sbi_array_free(dense);
    sbi_release(&sbi_malloc_allocator, replay->recorded);
    sbi_release(&sbi_malloc_allocator, replay->computed);
    sbi_recording_clear(&replay->recording);
    sbi_release(&sbi_malloc_allocator, replay);
    return status;
}
