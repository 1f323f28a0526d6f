// SPDX-License-Identifier: Apache-2.0
// A replay as one page of HTML that needs nothing else: what was recorded, what came out here, what differs, and lines for a
// reviewer's name and signature. Whatever others wrote is escaped; there is no script in it.
#include "recording.h"
#include "verify.h"

#include <string.h>

static void add_escaped(sbi_text *page, const char *text) { // control characters and bytes that are no UTF-8 as \xNN
    for (const char *at = text; *at;) {
        const int64_t left = (int64_t)strlen(at);
        const int length = sbi_utf8_sequence(at, left);
        const unsigned char c = (unsigned char)*at;
        if (length == 0 || c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)at[1] < 0xa0)) {
            for (int i = 0; i < (length ? length : 1); i++) sbi_text_add(page, "\\x%02x", (unsigned char)at[i]);
        } else if (strchr("<>&\"'", c)) {
            sbi_text_add(page, "&#%d;", c);
        } else {
            sbi_text_add_bytes(page, at, length);
        }
        at += length ? length : 1;
    }
}

static void add_field(sbi_text *page, const char *label, const char *value) {
    sbi_text_add(page, "<tr><th>%s</th><td>", label);
    add_escaped(page, value);
    sbi_text_add(page, "</td></tr>\n");
}

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Replay</title>\n<style>\n"
    "body{font:15px/1.45 sans-serif;max-width:58em;margin:2em auto;padding:0 1em;color:#111}\n"
    "h1{font-size:1.5em}h2{font-size:1.1em;margin-top:1.6em}\n"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.25em .6em .25em 0;border-bottom:1px solid #ddd}\n"
    "th{font-weight:600;white-space:nowrap}.hash{font:12px monospace;word-break:break-all}\n"
    ".IDENTICAL{color:#05691f}.DIVERGENT,.DIFFERENT,.flips{color:#a40e26}.REFUSED{color:#7a5200}\n"
    ".sign td{height:2.2em;border-bottom:1px solid #333}@media print{body{margin:0}}\n"
    "</style></head><body>\n";

static void add_recorded(sbi_text *page, const sbi_recorded *a) {
    char shown[160], *hash;
    sbi_recorded_show(a, shown);
    hash = strrchr(shown, ' ');
    *hash++ = 0;
    sbi_text_add(page, "%s <span class=\"hash\">%s</span>", shown, hash);
}

static void add_steps(const sbi_replay *replay, sbi_text *page) {
    const sbi_recording *r = &replay->recording;
    sbi_text_add(page, "<h2>Steps</h2>\n<table>\n<tr><th>step</th><th>model</th><th>recorded output</th><th>here</th></tr>\n");
    for (int i = 0; i < r->count; i++) {
        const sbi_step *step = &r->steps[i];
        const char *state = replay->statuses[i] != SB_OK ? "REFUSED" : sbi_replay_same(replay, i) ? "IDENTICAL" : "DIVERGENT";
        char hex[65];
        sbi_hex(step->digest, 32, hex);
        sbi_text_add(page, "<tr><td>%d ", i);
        add_escaped(page, step->name);
        sbi_text_add(page, "</td><td>%s.%s<br><span class=\"hash\">%s</span></td><td>", step->model->algorithm.class_name, step->method, hex);
        add_recorded(page, &step->output);
        sbi_text_add(page, "</td><td class=\"%s\">%s", state, state);
        if (replay->statuses[i] != SB_OK) {
            sbi_text_add(page, "<br>");
            add_escaped(page, replay->refusals[i]);
        } else if (!sbi_replay_same(replay, i)) {
            sbi_text_add(page, "<br>");
            add_recorded(page, &replay->outputs[i]);
        }
        sbi_text_add(page, "</td></tr>\n");
    }
    sbi_text_add(page, "</table>\n");
}

static void add_parameters(const sbi_recording *r, sbi_text *page) {
    sbi_text_add(page, "<h2>Parameters</h2>\n<table>\n");
    for (int i = 0; i < r->count; i++) {
        const sb_model *model = r->steps[i].model;
        sbi_text_add(page, "<tr><th>%d %s</th><td>", i, model->algorithm.class_name);
        for (const sbi_parameter_row *p = model->algorithm.parameters; p->name; p++) {
            if (p->surface) continue;
            sbi_text_add(page, "%s = ", p->name);
            sbi_value_write(&model->values[p - model->algorithm.parameters], page);
            sbi_text_add(page, "<br>");
        }
        const char *origin = sb_model_note(model, "origin");
        if (origin) {
            sbi_text_add(page, "taken over from ");
            add_escaped(page, origin);
        } else {
            sbi_text_add(page, "fitted on %lld rows of %lld features", (long long)sbi_model_size(model, "n"), (long long)sbi_model_size(model, "d"));
        }
        sbi_text_add(page, "</td></tr>\n");
    }
    sbi_text_add(page, "</table>\n");
}

static void add_rows(const sbi_replay *replay, sbi_text *page) {
    const sbi_recording *r = &replay->recording;
    const sb_dtype dtype = r->steps[r->count - 1].output.dtype;
    sbi_text_add(page, "<h2>Rows</h2>\n");
    if (!replay->recorded) {
        sbi_text_add(page, "<p>The recording holds hashes only, or the output was not reached: rows are not told apart.</p>\n");
        return;
    }
    sbi_text_add(page, "<p>%lld of %lld rows differ", (long long)replay->differing, (long long)replay->row_count);
    if (replay->differing) {
        sbi_text_add(page, ", the most by ");
        sbi_replay_ulp(page, replay->worst.ulp);
        sbi_text_add(page, " ulp; <b>%lld decisions flip</b>", (long long)replay->flipping);
    }
    sbi_text_add(page, ".</p>\n");
    if (!replay->differing) return;
    sbi_text_add(page, "<table>\n<tr><th>row</th><th>column</th><th>recorded</th><th>computed</th><th>ulp</th><th>decision</th></tr>\n");
    for (int64_t i = 0; i < replay->differing && i < SBI_ROWS_SHOWN; i++) {
        const sbi_row *row = &replay->rows[i];
        const int64_t at = (row->row * replay->columns + row->column) * (int64_t)sbi_dtype_size(dtype);
        sbi_text_add(page, "<tr><td>%lld</td><td>%lld</td><td>", (long long)row->row, (long long)row->column);
        sbi_table_number(page, dtype, replay->recorded + at);
        sbi_text_add(page, "</td><td>");
        sbi_table_number(page, dtype, replay->computed + at);
        sbi_text_add(page, "</td><td>");
        sbi_replay_ulp(page, row->ulp);
        sbi_text_add(page, "</td><td%s</td></tr>\n", row->flips ? " class=\"flips\">flips" : ">the same");
    }
    sbi_text_add(page, "</table>\n");
    if (replay->differing > SBI_ROWS_SHOWN) sbi_text_add(page, "<p>The first %d of them.</p>\n", SBI_ROWS_SHOWN);
}

void sbi_replay_page(const sbi_replay *replay, sbi_text *page) {
    const sbi_recording *r = &replay->recording;
    const char *verdict = sbi_replay_verdict(replay->verdict);
    char id[65];
    sbi_hex(r->id, 32, id);
    sbi_text_add_bytes(page, head, (int64_t)sizeof head - 1);
    sbi_text_add(page, "<h1>Replay: <span class=\"%s\">%s</span></h1>\n<table>\n", verdict, verdict);
    sbi_text_add(page, "<tr><th>recording</th><td class=\"hash\">%s</td></tr>\n", id);
    if (*r->note) add_field(page, "note", r->note);
    sbi_text_add(page, "<tr><th>recorded by</th><td>samebits ");
    add_escaped(page, r->release);
    sbi_text_add(page, " (a remark: no hash covers it), contract %d</td></tr>\n<tr><th>input</th><td>", SB_CONTRACT);
    add_recorded(page, &r->input);
    sbi_text_add(page, "</td></tr>\n<tr><th>decision of a row</th><td>%s",
                 r->decision == SBI_DECIDES_CLASS       ? "the class it gets"
                 : r->decision == SBI_DECIDES_LARGEST   ? "its largest column"
                 : r->decision == SBI_DECIDES_THRESHOLD ? "its last column is at least "
                                                        : "none was named");
    if (r->decision == SBI_DECIDES_THRESHOLD) sbi_text_add_real(page, r->threshold);
    sbi_text_add(page, "</td></tr>\n</table>\n");
    add_steps(replay, page);
    add_rows(replay, page);
    add_parameters(r, page);
    sbi_text_add(page, "<h2>Where this was replayed</h2>\n<table>\n");
    add_field(page, "release", sb_version());
    add_field(page, "commit", sb_commit());
    add_field(page, "architecture", sbi_cpu_architecture());
    add_field(page, "processor", sbi_cpu_model());
    add_field(page, "device", sb_context_device(replay->ctx));
    add_field(page, "level", sb_context_isa(replay->ctx));
    add_field(page, "compiler", sbi_compiler());
    if (replay->date) add_field(page, "date", replay->date);
    sbi_text_add(page, "</table>\n<p>To repeat it: <code>samebits replay RECORDING%s --report PAGE.html</code>, on any machine; the "
                 "recording's number above must be the one that this page names.</p>\n", r->x ? "" : " --data INPUT");
    sbi_text_add(page, "<h2>Reviewed</h2>\n<table class=\"sign\">\n<tr><th>name</th><td></td></tr>\n<tr><th>finding</th><td></td></tr>\n"
                 "<tr><th>date</th><td></td></tr>\n<tr><th>signature</th><td></td></tr>\n</table>\n</body></html>\n");
}
