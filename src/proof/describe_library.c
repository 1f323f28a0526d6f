// SPDX-License-Identifier: Apache-2.0
// describe: what this library is and can do, found by asking it. Every lane but the models runs once on its smallest
// fixture while the context is watched: so the operations, their dtypes and the lanes that prove them are those of this
// build, and no list is kept by hand. What no lane does in float64 is tried: the lane runs again with float64 arrays, and
// the error by which it is refused is written down.
#include "kernels.h"
#include "learn.h"
#include "ops.h"
#include "proof.h"
#include "report.h"

#include <string.h>

enum { SIGNATURES = 32, INS = 7, OUTS = 3, FUNCTIONS = 256 };
enum { NAME, INPUTS, CHECKED, MISROUNDED, SECONDS, LEVEL, THREADS, DIGEST, TEXT, FIELDS }; // of a row of docs/proofs.tsv

typedef struct signature { // of one call: what stands in its slots, 0 where nothing does
    sb_dtype in[INS], out[OUTS];
} signature;

typedef struct operation {
    signature signatures[SIGNATURES];
    int count;
    const sbi_lane **lanes; // that run it
    int64_t lane_count;
    sb_error refusal; // of float64, if it is refused
} operation;

typedef struct proof { // a row: its fields in the caller's text
    const char *fields[FIELDS];
    int lengths[FIELDS];
} proof;

typedef struct function { // of the lanes of kind "function": by the number of sb_unary_kind
    const char *name;
    bool narrow, wide; // float32 (or words), float64
    proof proof;
} function;

typedef struct survey {
    sbi_arena *arena;
    int64_t lanes;
    const sbi_lane *lane; // that runs now
    bool listed;          // for the first time: what it runs is written down for it
    bool met[SBI_OP_COUNT];
    operation operations[SBI_OP_COUNT];
    function functions[FUNCTIONS];
} survey;

static void note(void *user, sb_context *ctx, const sbi_op *op) {
    survey *s = user;
    operation *o = &s->operations[op->id];
    signature seen = {0};
    (void)ctx;
    for (int i = 0; i < INS; i++) seen.in[i] = op->in[i] ? op->in[i]->dtype : 0;
    for (int i = 0; i < OUTS; i++) seen.out[i] = op->out[i] ? op->out[i]->dtype : 0;
    int at = 0;
    while (at < o->count && memcmp(&o->signatures[at], &seen, sizeof seen) != 0) at++;
    if (at == o->count && at < SIGNATURES) o->signatures[o->count++] = seen;
    if (op->id == SBI_OP_UNARY && op->n[0] >= 0 && op->n[0] < FUNCTIONS && strcmp(s->lane->kind, "function") == 0 && s->listed) {
        function *f = &s->functions[op->n[0]];
        bool wide = op->out[0]->dtype == SB_F64;
        if (!f->name || !wide) f->name = s->lane->name; // (in float64 the name has an end more)
        *(wide ? &f->wide : &f->narrow) = true;
    }
    if (!s->met[op->id] && s->listed) o->lanes[o->lane_count++] = s->lane;
    s->met[op->id] = true;
}

static void ignore(void *user, const char *cell, const uint8_t digest[32], const sb_array *array) {
    (void)user, (void)cell, (void)digest, (void)array;
}

static sb_status run_lane(sb_context *ctx, survey *s, const sbi_lane *lane, sb_dtype real, sb_error *err) {
    sbi_lane_run run = {.ctx = ctx, .lane = lane, .nudge = -1, .real = real, .report = ignore};
    while (!(lane->fixtures & SBI_FIX(run.fixture))) run.fixture++;
    if (lane->fixtures & SBI_FIX(SBI_FIX_ONE)) run.fixture = SBI_FIX_ONE;
    s->lane = lane;
    memset(s->met, 0, sizeof s->met);
    return sbi_lane_carry_out(&run, err);
}

static bool holds(const sb_dtype *dtypes, int count, sb_dtype dtype) {
    for (int i = 0; i < count; i++)
        if (dtypes[i] == dtype) return true;
    return false;
}

// Whether data may be of this dtype. float64 beside float32 is a side of it (a total, an undivided loss), not the data.
static bool takes(const operation *o, sb_dtype dtype) {
    for (int i = 0; i < o->count; i++) {
        const signature *s = &o->signatures[i];
        bool narrow = holds(s->in, INS, SB_F32) || holds(s->out, OUTS, SB_F32);
        if ((holds(s->in, INS, dtype) || holds(s->out, OUTS, dtype)) && !(dtype == SB_F64 && narrow)) return true;
    }
    return false;
}

// Runs a lane of float32 whose operations were not seen with float64 again, with float64.
static sb_status try_wide(sb_context *ctx, survey *s, const sbi_lane *lane, sb_error *err) {
    bool met[SBI_OP_COUNT], missing = false;
    sb_error why = {.status = SB_OK};
    if (lane->dtype == SB_F64) return SB_OK;
    sb_status status = run_lane(ctx, s, lane, 0, err);
    memcpy(met, s->met, sizeof met);
    for (int i = 0; i < SBI_OP_COUNT; i++)
        missing = missing || (met[i] && takes(&s->operations[i], SB_F32) && !takes(&s->operations[i], SB_F64));
    if (status != SB_OK || !missing) return status;
    sbi_lane wide = *lane;
    wide.dtype = SB_F64;
    if (run_lane(ctx, s, &wide, SB_F64, &why) == SB_ERR_MEMORY) // that says nothing of the operation
        return sbi_fail(err, SB_ERR_MEMORY, "", "out of memory in the lane %s", lane->name);
    for (int i = 0; i < SBI_OP_COUNT; i++)
        if (met[i] && (why.status == SB_ERR_DTYPE || why.status == SB_ERR_UNSUPPORTED) && !takes(&s->operations[i], SB_F64))
            s->operations[i].refusal = why;
    return SB_OK;
}

static sb_status look(sb_context *ctx, survey *s, sb_error *err) {
    sb_status status = SB_OK;
    for (const sbi_lane *const *file = sbi_lane_files; *file; file++)
        for (const sbi_lane *lane = *file; lane->name; lane++) s->lanes++;
    for (int i = 0; i < SBI_OP_COUNT && status == SB_OK; i++) {
        s->operations[i].lanes = sbi_arena_allocate(s->arena, s->lanes, sizeof(sbi_lane *), err);
        if (!s->operations[i].lanes) status = SB_ERR_MEMORY;
    }
    s->listed = true;
    for (const sbi_lane *const *file = sbi_lane_files; *file; file++)
        for (const sbi_lane *lane = *file; lane->name && status == SB_OK; lane++)
            if (strcmp(lane->kind, "model") != 0) status = run_lane(ctx, s, lane, 0, err);
    s->listed = false;
    for (int i = 0; i < SBI_OP_COUNT && status == SB_OK; i++) {
        for (int64_t j = 0; j < s->operations[i].lane_count && status == SB_OK; j++) {
            status = takes(&s->operations[i], SB_F64) ? SB_OK : try_wide(ctx, s, s->operations[i].lanes[j], err);
            if (s->operations[i].refusal.status != SB_OK) break;
        }
    }
    return status;
}

// ---- the caller's proofs: their fields are told as they stand, so nothing but a table of proofs is let in

static bool is(const proof *row, int field, const char *word) {
    return (size_t)row->lengths[field] == strlen(word) && memcmp(row->fields[field], word, strlen(word)) == 0;
}

static bool made_of(const proof *row, int field, const char *characters, int least, int most) {
    for (int i = 0; i < row->lengths[field]; i++)
        if (!memchr(characters, row->fields[field][i], strlen(characters))) return false;
    return row->lengths[field] >= least && row->lengths[field] <= most;
}

static bool whole_number(const proof *row, int field) { // as JSON writes it
    return made_of(row, field, "0123456789", 1, 18) && (row->lengths[field] == 1 || row->fields[field][0] != '0');
}

// The function a row is of (prove calls one of them "normal"), -1 if it is no row.
static int read_proof(const survey *s, const char *line, const char *stop, proof *row) {
    static const char hex[] = "0123456789abcdef", letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    for (int i = 0; i < FIELDS; i++) {
        const char *tab = memchr(line, '\t', (size_t)(stop - line));
        if (!tab != (i == FIELDS - 1)) return -1;
        row->fields[i] = line;
        row->lengths[i] = (int)((tab ? tab : stop) - line);
        if (tab) line = tab + 1;
    }
    if (!whole_number(row, INPUTS) || !whole_number(row, CHECKED) || !whole_number(row, MISROUNDED) ||
        !made_of(row, SECONDS, "0123456789.", 1, 18) || !made_of(row, LEVEL, letters, 1, 18) || !whole_number(row, THREADS) ||
        !made_of(row, DIGEST, hex, 64, 64) || !made_of(row, TEXT, hex, 64, 64)) return -1;
    for (int kind = 0; kind < FUNCTIONS; kind++) {
        const char *name = s->functions[kind].name;
        if (name && (is(row, NAME, name) || (kind == SB_INVERSE_NORMAL && is(row, NAME, "normal")))) return kind;
    }
    return -1;
}

// Lines are rows, comments or empty. A function told twice keeps its first proof.
static sb_status read_proofs(survey *s, const char *proofs, size_t size, sb_error *err) {
    int64_t number = 0;
    for (const char *line = proofs, *end = proofs + size; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop) stop = end;
        proof row;
        number++;
        if (line < stop && *line != '#') {
            int kind = read_proof(s, line, stop, &row);
            if (kind < 0)
                return sbi_fail(err, SB_ERR_FORMAT, "proofs", "line %lld of the proofs: expected a function of this library, whole "
                                "numbers, seconds, a level and two SHA-256, as in docs/proofs.tsv", (long long)number);
            if (!s->functions[kind].proof.fields[0]) s->functions[kind].proof = row;
        }
        line = stop < end ? stop + 1 : end;
    }
    return SB_OK;
}

// ---- what is told

static void tell_dtypes(sbi_text *text, const sb_dtype *dtypes, int count, const char *quote, const char *none) {
    bool first = true;
    while (count > 0 && !dtypes[count - 1]) count--;
    for (int i = 0; i < count; i++) {
        if (dtypes[i])
            sbi_text_add(text, "%s%s%s%s", first ? "" : ", ", quote, sbi_dtype_name(dtypes[i]), quote);
        else
            sbi_text_add(text, "%s%s", first ? "" : ", ", none);
        first = false;
    }
}

static void tell_operation(sb_report *report, const operation *o, const char *name, bool first) {
    sbi_text *text = &report->text, *json = &report->json;
    sbi_text_add(text, "  %-24s", name);
    sbi_text_add(json, "%s\n  {", first ? "" : ",");
    sbi_report_member(json, true, "name", name);
    sbi_text_add(json, ", \"signatures\": [");
    for (int i = 0; i < o->count; i++) {
        sbi_text_add(json, "%s{\"in\": [", i ? ", " : "");
        tell_dtypes(json, o->signatures[i].in, INS, "\"", "null");
        sbi_text_add(json, "], \"out\": [");
        tell_dtypes(json, o->signatures[i].out, OUTS, "\"", "null");
        sbi_text_add(json, "]}");
    }
    sbi_text_add(json, "], \"dtypes\": [");
    bool any = false;
    for (sb_dtype dtype = SB_F32; dtype <= SB_U64; dtype++) {
        if (!takes(o, dtype)) continue;
        sbi_text_add(text, " %s", sbi_dtype_name(dtype));
        sbi_text_add(json, "%s\"%s\"", any ? ", " : "", sbi_dtype_name(dtype));
        any = true;
    }
    sbi_text_add(json, "], \"refused\": [");
    if (o->refusal.status != SB_OK) {
        sbi_text_add(text, "; float64: %s", sb_status_name(o->refusal.status));
        sbi_text_add(json, "{\"dtype\": \"float64\"");
        sbi_report_member(json, false, "error", sb_status_name(o->refusal.status));
        sbi_report_member(json, false, "message", o->refusal.message);
        sbi_text_add(json, "}");
    }
    sbi_text_add(json, "], \"lanes\": [");
    for (int64_t i = 0; i < o->lane_count; i++) sbi_text_add(json, "%s\"%s\"", i ? ", " : "", o->lanes[i]->name);
    sbi_text_add(json, "]}");
    sbi_text_add(text, "; %lld lanes\n", (long long)o->lane_count);
}

static void tell_function(sb_report *report, int kind, const function *f, bool first) {
    sbi_text *text = &report->text, *json = &report->json;
    const char *const *fields = f->proof.fields;
    const int *lengths = f->proof.lengths;
    sbi_text_add(text, "  %-24s%s%s", f->name, f->narrow ? " float32" : "", f->wide ? " float64" : "");
    sbi_text_add(json, "%s\n  {", first ? "" : ",");
    sbi_report_member(json, true, "name", f->name);
    sbi_text_add(json, ", \"kind\": %d, \"dtypes\": [%s%s%s], \"proof\": ", kind, f->narrow ? "\"float32\"" : "",
                 f->narrow && f->wide ? ", " : "", f->wide ? "\"float64\"" : "");
    if (fields[NAME]) {
        sbi_text_add(text, "; float32 proved: %.*s inputs, %.*s misrounded", lengths[INPUTS], fields[INPUTS], lengths[MISROUNDED],
                     fields[MISROUNDED]);
        sbi_text_add(json, "{\"dtype\": \"float32\", \"inputs\": %.*s, \"checked_with_mpfr\": %.*s, ", lengths[INPUTS], fields[INPUTS],
                     lengths[CHECKED], fields[CHECKED]);
        sbi_text_add(json, "\"misrounded\": %.*s, \"sha256\": \"%.*s\"}", lengths[MISROUNDED], fields[MISROUNDED], lengths[DIGEST],
                     fields[DIGEST]);
    } else {
        sbi_text_add(json, "null");
    }
    sbi_text_add(text, "\n");
    sbi_text_add(json, "}");
}

// Every name of a device or level, tried.
static void tell_tried(sb_report *report, const char *title, const char *member, const char *const *names, bool levels) {
    sbi_text_add(&report->text, "%-12s", title);
    sbi_text_add(&report->json, ",\n \"%s\": [", title);
    for (int i = 0; names[i]; i++) {
        sb_context *ctx = NULL;
        sb_error why = {.status = SB_OK};
        const sb_context_options options = {.size = sizeof options, .device = levels ? NULL : names[i], .isa = levels ? names[i] : NULL,
                                            .threads = 1, .trace = ""};
        bool there = sb_context_new(&options, &ctx, &why) == SB_OK;
        sb_context_free(ctx);
        report->text.failed = report->text.failed || why.status == SB_ERR_MEMORY; // that says nothing of the level
        sbi_text_add(&report->text, "%s%s%s%s", i ? "; " : " ", names[i], there ? "" : ": ", there ? "" : sb_status_name(why.status));
        sbi_text_add(&report->json, "%s{", i ? ", " : "");
        sbi_report_member(&report->json, true, member, names[i]);
        sbi_report_member(&report->json, false, "error", there ? NULL : sb_status_name(why.status));
        sbi_text_add(&report->json, "}");
    }
    sbi_text_add(&report->text, "\n");
    sbi_text_add(&report->json, "]");
}

static void tell(sb_report *report, const survey *s) {
    static const char *const devices[] = {"cpu", "opencl:0.0", "cuda:0", "hip:0", NULL};
    static const char *const levels[] = {"plain", "v1", "v3", "v4", "neon", "reverse", NULL};
    sbi_text_add(&report->text, "samebits     %s, contract %d, commit %s\n", sb_version(), SB_CONTRACT, sb_commit());
    sbi_text_add(&report->json, "{\"samebits\": \"description\", \"format\": 1");
    sbi_report_member(&report->json, false, "release", sb_version());
    sbi_text_add(&report->json, ", \"contract\": %d", SB_CONTRACT);
    sbi_report_member(&report->json, false, "commit", sb_commit());
    sbi_report_member(&report->json, false, "architecture", sbi_cpu_architecture());
    tell_tried(report, "devices", "device", devices, false);
    tell_tried(report, "levels", "level", levels, true);
    sbi_text_add(&report->text, "operations\n");
    sbi_text_add(&report->json, ",\n \"operations\": [");
    for (int i = 0; i < SBI_OP_COUNT; i++) tell_operation(report, &s->operations[i], sbi_op_names[i], i == 0);
    sbi_text_add(&report->text, "functions\n");
    sbi_text_add(&report->json, "\n ],\n \"functions\": [");
    bool first = true;
    for (int i = 0; i < FUNCTIONS; i++) {
        if (!s->functions[i].name) continue;
        tell_function(report, i, &s->functions[i], first);
        first = false;
    }
    sbi_text_add(&report->text, "algorithms\n");
    sbi_text_add(&report->json, "\n ],\n \"algorithms\": ");
    sbi_describe_algorithms(&report->json, &report->text);
    sbi_text_add(&report->json, "}\n");
}

sb_status sbi_describe(sb_context *ctx, const char *proofs, size_t size, sb_report **out, sb_error *err) {
    survey *s = sbi_allocate(&sbi_malloc_allocator, 1, sizeof *s, err);
    sb_report *report = s ? sbi_report_new(err) : NULL;
    sb_status status = report ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK && !(s->arena = sbi_arena_new(&sbi_malloc_allocator, err))) status = SB_ERR_MEMORY;
    if (status == SB_OK) {
        sb_context before = *ctx; // somebody else may watch or trace it
        ctx->watch = note;
        ctx->watch_user = s;
        ctx->trace = NULL;
        status = look(ctx, s, err);
        ctx->watch = before.watch;
        ctx->watch_user = before.watch_user;
        ctx->trace = before.trace;
    }
    if (status == SB_OK) status = read_proofs(s, proofs, size, err);
    if (status == SB_OK) tell(report, s);
    if (status == SB_OK)
        status = sbi_report_give(report, out, err);
    else
        sbi_report_free(report);
    if (s) sbi_arena_free(s->arena);
    sbi_release(&sbi_malloc_allocator, s);
    return status;
}
