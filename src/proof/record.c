// SPDX-License-Identifier: Apache-2.0
// record: models one after another over an input, and a file of what they were, what they were given and what they gave.
#include "recording.h"
#include "verify.h"

#include <stdio.h>
#include <string.h>

sb_status sbi_recorded_of(sb_context *ctx, const sb_array *a, sbi_recorded *out, sb_error *err) {
    const char *name = "";
    *out = (sbi_recorded){.dtype = a->dtype, .ndim = a->ndim};
    memcpy(out->shape, a->shape, (size_t)a->ndim * sizeof *a->shape);
    return sbi_digest_arrays(ctx, 1, &name, &a, out->digest, err);
}

bool sbi_recorded_same(const sbi_recorded *a, const sbi_recorded *b) { // (the digest is also one of dtype and shape)
    return a->dtype == b->dtype && a->ndim == b->ndim && memcmp(a->shape, b->shape, sizeof a->shape) == 0 && memcmp(a->digest, b->digest, 32) == 0;
}

void sbi_recorded_show(const sbi_recorded *a, char out[160]) {
    int length = snprintf(out, 160, "%s [", sbi_dtype_name(a->dtype));
    for (int i = 0; i < a->ndim && length < 80; i++) length += snprintf(out + length, 160 - (size_t)length, "%s%lld", i ? ", " : "", (long long)a->shape[i]);
    char hex[65];
    sbi_hex(a->digest, 32, hex);
    snprintf(out + length, 160 - (size_t)length, "] %s", hex);
}

sb_status sbi_step_call(sb_context *ctx, const sbi_step *step, const sb_array *x, sb_array **out, sb_error *err) {
    const sb_data data = {.size = sizeof data, .x = x};
    return sbi_model_call(ctx, step->model, step->method, &data, 1, out, err);
}

static sb_status choose_steps(const sb_record_options *o, sbi_recording *r, sb_error *err) {
    if (o->model_count < 1 || o->model_count > SBI_STEPS)
        return sbi_fail(err, SB_ERR_ARGUMENT, "models", "%d models: a recording has 1 to %d", o->model_count, SBI_STEPS);
    for (r->count = 0; r->count < o->model_count; r->count++) {
        sbi_step *step = &r->steps[r->count];
        if (!(step->model = o->models[r->count])) return sbi_fail(err, SB_ERR_ARGUMENT, "models", "models[%d] is NULL", r->count);
        const char *name = o->names && o->names[r->count] ? o->names[r->count] : step->model->algorithm.name;
        const char *method = r->count + 1 < o->model_count ? "transform" : o->method;
        if (strlen(name) >= sizeof step->name)
            return sbi_fail(err, SB_ERR_ARGUMENT, "names", "the name of model %d has %zu bytes: at most %zu", r->count, strlen(name), sizeof step->name - 1);
        if (strlen(method) >= sizeof step->method) return sbi_fail(err, SB_ERR_ARGUMENT, "method", "no method has a name as long as this");
        snprintf(step->name, sizeof step->name, "%s", name);
        snprintf(step->method, sizeof step->method, "%s", method);
    }
    return SB_OK;
}

// Methods whose largest column is the class that they stand for.
static bool is_vote(const char *method) { return strstr(method, "proba") || strcmp(method, "decision_function") == 0; }

static sb_status choose_decision(const sb_record_options *o, const sb_array *y, sbi_recording *r, sb_error *err) {
    const bool real = y->dtype == SB_F32 || y->dtype == SB_F64;
    if (y->ndim < 1 || y->ndim > 2)
        return sbi_fail(err, SB_ERR_ARGUMENT, "method", "%s gives no row for each row of the input", o->method);
    if (o->thresholded && !real)
        return sbi_fail(err, SB_ERR_ARGUMENT, "threshold", "%s gives whole numbers, which decide by themselves", o->method);
    if (o->thresholded && o->threshold - o->threshold != 0.0)
        return sbi_fail(err, SB_ERR_ARGUMENT, "threshold", "the threshold is not finite");
    r->decision = o->thresholded ? SBI_DECIDES_THRESHOLD
                  : !real        ? SBI_DECIDES_CLASS
                  : y->ndim == 2 && y->shape[1] > 1 && is_vote(o->method) ? SBI_DECIDES_LARGEST
                                                                          : SBI_DECIDES_NOTHING;
    r->threshold = o->threshold;
    return SB_OK;
}

// Fits whose models hold an entry for each row of theirs: of whom they are made may show in them.
static void warn_of_rows(const sbi_recording *r, sbi_text *text) {
    for (int i = 0; i < r->count; i++)
        for (const sbi_fitted_row *f = r->steps[i].model->algorithm.fitted; f->name; f++)
            if (strcmp(f->shape, "n") == 0 || strncmp(f->shape, "n ", 2) == 0)
                sbi_text_add(text, "  step %d keeps %s, an entry for each row that its model was fitted on\n", i, f->name);
}

static void describe(const sb_context *ctx, const sbi_recording *r, const char *date, sb_report *report) {
    char id[65], shown[160], name[120];
    sbi_cells cells = {0};
    sbi_hex(r->id, 32, id);
    sbi_recorded_show(&r->input, shown);
    sbi_text_add(&report->text, "recording %s\n  input  %s\n", id, shown);
    for (int i = 0; i < r->count; i++) {
        const sbi_step *step = &r->steps[i];
        sbi_recorded_show(&step->output, shown);
        sbi_text_add(&report->text, "  step %d %s: %s.%s  %s\n", i, sbi_escape(step->name, strlen(step->name), name, sizeof name),
                     step->model->algorithm.name, step->method, shown);
        sbi_cell *cell = sbi_cells_add(&cells);
        if (!cell) break;
        *cell = (sbi_cell){.lane = "replay", .fixture = id, .state = SBI_CELL_COMPUTED, .hashed = true};
        snprintf(cell->name, sizeof cell->name, "%02d.%s", i, step->method);
        memcpy(cell->digest, step->output.digest, 32);
    }
    sbi_text_add(&report->text, "  decision: %s", sbi_decision_names[r->decision]);
    if (r->decision == SBI_DECIDES_THRESHOLD) {
        sbi_text_add(&report->text, " ");
        sbi_text_add_real(&report->text, r->threshold);
    }
    sbi_text_add(&report->text, "\n");
    warn_of_rows(r, &report->text);
    report->json.failed = report->json.failed || cells.failed;
    sbi_evidence_write(ctx, 0, "replay", r->id, date, &cells, "", &report->json);
    sbi_cells_free(&cells);
}

sb_status sbi_record(sb_context *ctx, const sb_record_options *options, const char *path, sb_report **out, sb_error *err) {
    sbi_recording r = {.note = options->note ? options->note : ""};
    sb_array *dense = NULL, *y = NULL;
    sb_report *report = NULL;
    sb_status status = choose_steps(options, &r, err);
    const sb_array *x = options->data->x;
    if (status == SB_OK && options->data->indptr) {
        status = sbi_dense_of(ctx, options->data, &dense, err);
        x = dense;
    }
    if (status == SB_OK) status = sbi_recorded_of(ctx, x, &r.input, err);
    for (int i = 0; i < r.count && status == SB_OK; i++) {
        sb_array *next = NULL;
        status = sbi_model_digest(ctx, r.steps[i].model, r.steps[i].digest, err);
        if (status == SB_OK) status = sbi_step_call(ctx, &r.steps[i], y ? y : x, &next, err);
        if (status == SB_OK) status = sbi_recorded_of(ctx, next, &r.steps[i].output, err);
        sbi_array_free(y);
        y = next;
    }
    if (status == SB_OK) status = choose_decision(options, y, &r, err);
    if (status == SB_OK) status = sbi_recording_identify(&r, err);
    if (status == SB_OK && !options->hashes_only) {
        memcpy(&r.x, &x, sizeof x); // (only read, while it is written)
        r.y = y;
    }
    if (status == SB_OK) status = (report = sbi_report_new(err)) ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK) {
        describe(ctx, &r, options->date, report);
        status = sbi_report_check(report, err);
    }
    if (status == SB_OK) status = sbi_recording_save(&r, path, err);
    if (status == SB_OK)
        status = sbi_report_give(report, out, err);
    else
        sbi_report_free(report);
    sbi_array_free(dense);
    sbi_array_free(y);
    return status;
}
