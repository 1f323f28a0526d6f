// SPDX-License-Identifier: Apache-2.0
// Compares evidence documents. It needs nothing but the documents, and trusts nothing in them: every member it uses is
// checked, and names are escaped before anybody sees them.
#include "verify.h"

#include <stdio.h>
#include <string.h>

#define LARGEST_DOCUMENT ((int64_t)256 << 20)

typedef struct document {
    const char *path;
    char shown[120]; // the path, escaped
    uint8_t digest[32]; // of its bytes
    int64_t contract;
    const char *release, *commit, *seed, *architecture, *cpu, *device, *level, *compiler;
    int64_t threads;
    const sbi_json *references;
    const sbi_json **cells; // in ascending order
    int64_t count;
    int group;
} document;

// ---- reading

static sb_status malformed(const document *d, const char *what, sb_error *err) {
    return sbi_fail(err, SB_ERR_FORMAT, "document", "%s is no evidence document: %s", d->shown, what);
}

// A member that must be a text without NULs and of a length that nobody needs to exceed.
static const char *text_member(const sbi_json *object, const char *key) {
    const sbi_json *member = sbi_json_member(object, key);
    bool good = member && member->kind == SBI_JSON_STRING && member->length <= 256 && !memchr(member->text, 0, (size_t)member->length);
    return good ? member->text : NULL;
}

static bool is_hash(const sbi_json *value) {
    if (!value || value->kind != SBI_JSON_STRING || value->length != 64) {
        return false;
    }
    for (int i = 0; i < 64; i++) {
        char c = value->text[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
            return false;
        }
    }
    return true;
}

static int cell_order(const sbi_json *a, const sbi_json *b) {
    static const char *const keys[] = {"lane", "fixture", "cell"};
    int order = 0;
    for (int i = 0; i < 3 && order == 0; i++) {
        order = strcmp(sbi_json_member(a, keys[i])->text, sbi_json_member(b, keys[i])->text);
    }
    return order;
}

static void sort_cells(const sbi_json **cells, int64_t count) {
    for (int64_t gap = count / 2; gap > 0; gap /= 2) {
        for (int64_t i = gap; i < count; i++) {
            const sbi_json *held = cells[i];
            int64_t j = i;
            for (; j >= gap && cell_order(cells[j - gap], held) > 0; j -= gap) {
                cells[j] = cells[j - gap];
            }
            cells[j] = held;
        }
    }
}

static sb_status read_cells(sbi_arena *arena, const sbi_json *list, document *d, sb_error *err) {
    if (!list || list->kind != SBI_JSON_ARRAY) {
        return malformed(d, "it has no list \"cells\"", err);
    }
    d->cells = sbi_arena_allocate(arena, list->length + 1, sizeof *d->cells, err);
    if (!d->cells) {
        return SB_ERR_MEMORY;
    }
    int64_t number = 0;
    for (const sbi_json *cell = list->first; cell; cell = cell->next, number++) {
        const sbi_json *hash = sbi_json_member(cell, "sha256");
        bool hashed = is_hash(hash);
        if (!text_member(cell, "lane") || !text_member(cell, "fixture") || !text_member(cell, "cell") || !text_member(cell, "state") ||
            !hash || (!hashed && hash->kind != SBI_JSON_NULL)) {
            char what[120];
            snprintf(what, sizeof what, "cell %lld needs lane, fixture, cell, state and sha256 (64 hexadecimal digits or null)",
                     (long long)number);
            return malformed(d, what, err);
        }
        if (hashed) { // (a cell that was not computed compares with nothing)
            d->cells[d->count++] = cell;
        }
    }
    sort_cells(d->cells, d->count);
    for (int64_t i = 1; i < d->count; i++) {
        if (cell_order(d->cells[i - 1], d->cells[i]) == 0) {
            return malformed(d, "a cell stands in it twice", err);
        }
    }
    return SB_OK;
}

static sb_status read_document(sbi_arena *arena, const char *path, document *d, sb_error *err) {
    uint8_t *bytes = NULL;
    int64_t size = 0;
    const sbi_json *root, *machine, *build;
    d->path = path;
    sbi_escape(path, strlen(path), d->shown, sizeof d->shown);
    sb_status status = sbi_file_read(&sbi_malloc_allocator, path, LARGEST_DOCUMENT, &bytes, &size, err);
    if (status != SB_OK) {
        return sbi_named(status, "paths", err);
    }
    sb_sha256(bytes, (size_t)size, d->digest);
    sb_error why = {.status = SB_OK};
    status = sbi_json_read(arena, (const char *)bytes, size, &root, &why);
    if (status == SB_ERR_FORMAT) {
        status = malformed(d, why.message, err);
        goto done;
    }
    if (status != SB_OK) {
        if (err) {
            *err = why;
        }
        goto done;
    }
    const char *kind = text_member(root, "samebits");
    int64_t format = 0;
    if (!kind || strcmp(kind, "evidence") != 0 || !sbi_json_integer(sbi_json_member(root, "format"), &format) || format != 1) {
        status = malformed(d, "expected \"samebits\": \"evidence\" and \"format\": 1", err);
        goto done;
    }
    machine = sbi_json_member(root, "machine");
    build = sbi_json_member(root, "build");
    d->release = text_member(root, "release");
    d->commit = text_member(root, "commit");
    d->seed = text_member(root, "seed");
    d->architecture = text_member(machine, "architecture");
    d->cpu = text_member(machine, "cpu");
    d->device = text_member(machine, "device");
    d->level = text_member(machine, "level");
    d->compiler = text_member(build, "compiler");
    d->references = sbi_json_member(root, "references");
    if (!d->release || !d->commit || !d->seed || !d->architecture || !d->cpu || !d->device || !d->level || !d->compiler ||
        !sbi_json_integer(sbi_json_member(root, "contract"), &d->contract) ||
        !sbi_json_integer(sbi_json_member(machine, "threads"), &d->threads) ||
        !(is_hash(d->references) || (d->references && d->references->kind == SBI_JSON_NULL))) {
        status = malformed(d, "release, contract, commit, seed, references, machine or build is missing or of another type", err);
        goto done;
    }
    status = read_cells(arena, sbi_json_member(root, "cells"), d, err);
done:
    sbi_release(&sbi_malloc_allocator, bytes);
    return status;
}

// ---- pairs

typedef struct pair {
    int verdict;
    int64_t common, different, only_one, only_other;
    const sbi_json *first, *first_other; // the first cell that differs
    const char *why;
} pair;

static pair compare_pair(const document *a, const document *b) {
    pair p = {.verdict = SBI_INCOMPARABLE};
    if (memcmp(a->digest, b->digest, 32) == 0) {
        p.verdict = SBI_SAME_FILE;
        return p;
    }
    if (a->contract != b->contract) {
        p.why = "they follow different versions of the contract";
        return p;
    }
    if (strcmp(a->seed, b->seed) != 0) {
        p.why = "their fixtures were drawn from different seeds";
        return p;
    }
    for (int64_t i = 0, j = 0; i < a->count || j < b->count;) {
        int order = i == a->count ? 1 : j == b->count ? -1 : cell_order(a->cells[i], b->cells[j]);
        if (order == 0) {
            p.common++;
            if (strcmp(sbi_json_member(a->cells[i], "sha256")->text, sbi_json_member(b->cells[j], "sha256")->text) != 0 &&
                p.different++ == 0) {
                p.first = a->cells[i];
                p.first_other = b->cells[j];
            }
        }
        p.only_one += order < 0;
        p.only_other += order > 0;
        i += order <= 0;
        j += order >= 0;
    }
    p.verdict = p.different ? SBI_DIFFER : p.common ? SBI_AGREE : SBI_INCOMPARABLE;
    p.why = p.common ? NULL : "they have no computed cell in common";
    return p;
}

static const char *verdict_name(int verdict) {
    return verdict == SBI_AGREE ? "AGREE" : verdict == SBI_DIFFER ? "DIFFER" : verdict == SBI_SAME_FILE ? "SAME FILE" : "INCOMPARABLE";
}

typedef struct shown { char text[100]; } shown;
static const char *show(const char *text, shown *out) { return sbi_escape(text, strlen(text), out->text, sizeof out->text); }

static void describe_pair(sb_report *report, const document *a, const document *b, const pair *p, bool first) {
    shown lane, fixture, cell;
    sbi_text *text = &report->text, *json = &report->json;
    sbi_text_add(text, "%s and %s: %s", a->shown, b->shown, verdict_name(p->verdict));
    sbi_text_add(json, "%s\n  {", first ? "" : ",");
    sbi_report_member(json, true, "one", a->path);
    sbi_report_member(json, false, "other", b->path);
    sbi_report_member(json, false, "verdict", verdict_name(p->verdict));
    sbi_text_add(json, ", \"compared\": %lld, \"different\": %lld", (long long)p->common, (long long)p->different);
    if (p->verdict == SBI_DIFFER) {
        sbi_text_add(text, " at %s/%s/%s: %.16s... and %.16s... (%lld of %lld cells)", show(text_member(p->first, "lane"), &lane),
                     show(text_member(p->first, "fixture"), &fixture), show(text_member(p->first, "cell"), &cell),
                     sbi_json_member(p->first, "sha256")->text, sbi_json_member(p->first_other, "sha256")->text,
                     (long long)p->different, (long long)p->common);
        sbi_text_add(json, ", \"first\": {");
        sbi_report_member(json, true, "lane", text_member(p->first, "lane"));
        sbi_report_member(json, false, "fixture", text_member(p->first, "fixture"));
        sbi_report_member(json, false, "cell", text_member(p->first, "cell"));
        sbi_text_add(json, "}");
    } else if (p->verdict == SBI_INCOMPARABLE) {
        sbi_text_add(text, ": %s", p->why);
        sbi_report_member(json, false, "why", p->why);
    } else if (p->verdict == SBI_AGREE) {
        sbi_text_add(text, " in all of %lld cells", (long long)p->common);
    }
    if (p->verdict != SBI_SAME_FILE && (p->only_one || p->only_other)) {
        sbi_text_add(text, "; %lld cells stand only in the first, %lld only in the second", (long long)p->only_one, (long long)p->only_other);
    }
    sbi_text_add(text, "\n");
    sbi_text_add(json, "}");
}

// ---- the whole

static bool same_machine(const document *a, const document *b) { // as far as documents can say
    return strcmp(a->architecture, b->architecture) == 0 && strcmp(a->cpu, b->cpu) == 0 && strcmp(a->device, b->device) == 0;
}

static void describe_documents(sb_report *report, const document *documents, int count, int groups) {
    shown architecture, cpu, device, level, compiler, release, commit;
    sbi_text_add(&report->json, "{\"samebits\": \"comparison\", \"format\": 1,\n \"groups\": [");
    for (int group = 0; group < groups; group++) {
        sbi_text_add(&report->text, "group %d computed:\n", group + 1);
        sbi_text_add(&report->json, "%s[", group ? ", " : "");
        bool first = true;
        for (int i = 0; i < count; i++) {
            const document *d = &documents[i];
            if (d->group == group) {
                sbi_text_add(&report->text, "  %s: %s, %s, %s, level %s, %lld threads, %s, samebits %s (%.12s), %lld cells\n", d->shown,
                             show(d->architecture, &architecture), show(d->cpu, &cpu), show(d->device, &device),
                             show(d->level, &level), (long long)d->threads, show(d->compiler, &compiler),
                             show(d->release, &release), show(d->commit, &commit), (long long)d->count);
                sbi_text_add(&report->json, "%s", first ? "" : ", ");
                sbi_text_add_json_string(&report->json, d->path, (int64_t)strlen(d->path));
                first = false;
            }
        }
        sbi_text_add(&report->json, "]");
    }
    sbi_text_add(&report->json, "],\n \"pairs\": [");
}

static void describe_machines(sb_report *report, const document *documents, int count) {
    int machines = 0;
    for (int i = 0; i < count; i++) {
        bool seen = false;
        for (int j = 0; j < i; j++) {
            seen = seen || same_machine(&documents[i], &documents[j]);
        }
        machines += !seen;
    }
    if (machines > 1) {
        sbi_text_add(&report->text, "machines: %d kinds, different by architecture, CPU or device\n", machines);
    } else {
        sbi_text_add(&report->text, "machines: one kind; whether these were different machines the documents do not say\n");
    }
    sbi_text_add(&report->json, "\n ],\n \"machine_kinds\": %d", machines);
}

static sb_status compare_all(sbi_arena *arena, document *documents, int count, sb_report *report, sb_error *err) {
    int groups = 0;
    int64_t pairs[5] = {0};
    bool first = true;
    for (int i = 0; i < count; i++) { // a document joins the first group whose every member it agrees with
        bool *fits = sbi_arena_allocate(arena, groups + 1, sizeof *fits, err);
        if (!fits) {
            return SB_ERR_MEMORY;
        }
        memset(fits, true, (size_t)groups + 1);
        for (int j = 0; j < i; j++) {
            int verdict = compare_pair(&documents[i], &documents[j]).verdict;
            pairs[verdict]++;
            fits[documents[j].group] = fits[documents[j].group] && (verdict == SBI_AGREE || verdict == SBI_SAME_FILE);
        }
        documents[i].group = 0;
        while (!fits[documents[i].group]) {
            documents[i].group++;
        }
        groups += documents[i].group == groups;
    }
    describe_documents(report, documents, count, groups);
    for (int i = 0; i < count; i++) {
        for (int j = i + 1; j < count; j++) {
            pair p = compare_pair(&documents[i], &documents[j]);
            if (count <= 8 || p.verdict != SBI_AGREE) { // of many documents, only what is not agreement
                describe_pair(report, &documents[i], &documents[j], &p, first);
                first = false;
            }
            bool referenced = is_hash(documents[i].references) && is_hash(documents[j].references);
            if (referenced && p.verdict != SBI_SAME_FILE && strcmp(documents[i].references->text, documents[j].references->text) != 0) {
                sbi_text_add(&report->text, "%s and %s were held against different references\n",
                             documents[i].shown, documents[j].shown);
            }
        }
    }
    describe_machines(report, documents, count);
    report->verdict = pairs[SBI_DIFFER]         ? SBI_DIFFER
                      : pairs[SBI_INCOMPARABLE] ? SBI_INCOMPARABLE
                      : pairs[SBI_AGREE]        ? SBI_AGREE
                                                : SBI_SAME_FILE;
    sbi_report_member(&report->json, false, "verdict", verdict_name(report->verdict));
    sbi_text_add(&report->json, "}\n");
    sbi_text_add(&report->text, "%s\n", verdict_name(report->verdict));
    return SB_OK;
}

sb_status sbi_compare(int count, const char *const *paths, sb_report **out, sb_error *err) {
    if (count < 2) {
        return sbi_fail(err, SB_ERR_ARGUMENT, "count", "%d documents: a comparison takes at least two", count);
    }
    sb_report *report = sbi_report_new(err);
    sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, err);
    document *documents = arena ? sbi_arena_allocate(arena, count, sizeof *documents, err) : NULL;
    sb_status status = report && documents ? SB_OK : SB_ERR_MEMORY;
    for (int i = 0; i < count && status == SB_OK; i++) {
        status = read_document(arena, paths[i], &documents[i], err);
    }
    if (status == SB_OK) {
        status = compare_all(arena, documents, count, report, err);
    }
    if (status == SB_OK) {
        status = sbi_report_give(report, out, err);
    } else {
        sbi_report_free(report);
    }
    sbi_arena_free(arena);
    return status;
}
