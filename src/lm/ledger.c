// SPDX-License-Identifier: Apache-2.0
// The ledger of a run: JSON lines, one a step (T10), each with the SHA-256 of the line before it
// (its bytes without the newline), so that the last hash vouches for the whole run. The first line
// names what runs:
//   {"ledger":1,"contract":1,"recipe":"<SHA-256 of its full text>","state":"<of step
//   0>","previous":"000..."}
//   {"step":1,"rate":"3a83126f","losses":["40162e42fefa39ef",...],"gradient":"...","state":"...","previous":"..."}
// rate: float32 bits. losses: binary64 bits of each shard's undivided loss, in order. gradient:
// digest of the summed gradient, before clipping. state: digest of weights, moments and powers of
// beta after the step.
#include "lm.h"

#include <stdio.h>
#include <string.h>

#define LEDGER_LIMIT (INT64_C(1) << 36)

static void add_bits64(sbi_text *text, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    sbi_text_add(text, "%016llx", (unsigned long long)bits);
}

sb_status sbi_ledger_start(const sbi_allocator *allocator, const char *path,
                           const sbi_recipe *recipe, const char *state, sbi_ledger *out,
                           sb_error *err) {
    char line[512];
    sbi_file *file = NULL;
    int length = snprintf(line, sizeof line,
                          "{\"ledger\":1,\"contract\":%d,\"recipe\":\"%s\",\"state\":\"%s\","
                          "\"previous\":\"%064d\"}\n",
                          SB_CONTRACT, recipe->sha256, state, 0);
    sb_status status = sbi_file_create(allocator, path, &file, err);
    if (status == SB_OK) status = sbi_file_write(file, line, length, err);
    if (status == SB_OK) status = sbi_file_commit(file, err);
    if (status != SB_OK) {
        sbi_file_abandon(file);
        return status;
    }
    out->step = 0;
    sbi_sha256_hex(line, length - 1, out->previous);
    return SB_OK;
}

sb_status sbi_ledger_append(const sbi_allocator *allocator, const char *path, sbi_ledger *ledger,
                            float rate, const double *losses, int64_t shards, const char *gradient,
                            const char *state, sb_error *err) {
    uint32_t bits;
    sbi_text text;
    memcpy(&bits, &rate, sizeof bits);
    sbi_text_start(&text, allocator);
    sbi_text_add(&text, "{\"step\":%lld,\"rate\":\"%08x\",\"losses\":[",
                 (long long)ledger->step + 1, bits);
    for (int64_t i = 0; i < shards; i++) {
        sbi_text_add(&text, i ? ",\"" : "\"");
        add_bits64(&text, losses[i]);
        sbi_text_add(&text, "\"");
    }
    sbi_text_add(&text, "],\"gradient\":\"%s\",\"state\":\"%s\",\"previous\":\"%s\"}\n", gradient,
                 state, ledger->previous);
    sb_status status = text.failed
                           ? sbi_fail(err, SB_ERR_MEMORY, "", "out of memory for a ledger line")
                           : sbi_file_append(path, text.bytes, text.length, err);
    if (status == SB_OK) {
        ledger->step++;
        sbi_sha256_hex(text.bytes, text.length - 1, ledger->previous);
    }
    sbi_text_free(&text);
    return status;
}

// ---------------------------------------------------------------- reading

typedef struct lines {
    const char *bytes;
    int64_t size, at, number; // of the line last taken, from 0
    const char *line;
    int64_t length;
    char previous[65]; // hash of the line before
    char hash[65];     // of this one
} lines;

static bool
next_line(lines *l) { // a last line without its newline is no line: it was cut in the writing
    const char *end =
        l->at < l->size ? memchr(l->bytes + l->at, '\n', (size_t)(l->size - l->at)) : NULL;
    if (!end) return false;
    l->number++;
    l->line = l->bytes + l->at;
    l->length = end - l->line;
    l->at += l->length + 1;
    memcpy(l->previous, l->hash, sizeof l->previous);
    sbi_sha256_hex(l->line, l->length, l->hash);
    return true;
}

static void first_line(lines *l, const uint8_t *bytes, int64_t size) {
    *l = (lines){.bytes = (const char *)bytes, .size = size, .number = -1};
    memset(l->hash, '0', 64);
}

// Every line ends in ,"previous":"HASH"}
static bool chained(const lines *l) {
    static const char before[] = ",\"previous\":\"";
    int64_t tail = (int64_t)sizeof before - 1 + 64 + 2;
    if (l->length < tail) return false;
    const char *at = l->line + l->length - tail;
    return memcmp(at, before, sizeof before - 1) == 0 &&
           memcmp(at + sizeof before - 1, l->previous, 64) == 0 &&
           memcmp(at + tail - 2, "\"}", 2) == 0;
}

static sb_status broken(sb_error *err, const char *path, int64_t line) {
    char shown[160];
    return sbi_fail(err, SB_ERR_FORMAT, "ledger",
                    "line %lld of %s does not follow from the line before it", (long long)line + 1,
                    sbi_escape(path, strlen(path), shown, sizeof shown));
}

sb_status sbi_ledger_cut(const sbi_allocator *allocator, const char *path, const char *recipe,
                         const char *last, int64_t step, sb_error *err) {
    char named[100];
    uint8_t *bytes = NULL;
    int64_t size = 0;
    lines l;
    sbi_file *file = NULL;
    sb_status status = sbi_file_read(allocator, path, LEDGER_LIMIT, &bytes, &size, err);
    if (status != SB_OK) return status;
    first_line(&l, bytes, size);
    snprintf(named, sizeof named, "\"recipe\":\"%s\"", recipe);
    while (l.number < step && status == SB_OK) {
        if (!next_line(&l))
            status = sbi_fail(err, SB_ERR_FORMAT, "ledger",
                              "the ledger ends after step %lld, the checkpoint is of step %lld",
                              (long long)l.number, (long long)step);
        else if (!chained(&l))
            status = broken(err, path, l.number);
        else if (l.number == 0 && !memmem(l.line, (size_t)l.length, named, strlen(named)))
            status = sbi_fail(err, SB_ERR_FORMAT, "ledger",
                              "the ledger is of another recipe than the checkpoint");
    }
    if (status == SB_OK && strcmp(l.hash, last) != 0)
        status = sbi_fail(err, SB_ERR_FORMAT, "ledger",
                          "the ledger's line of step %lld is not the one that the checkpoint names",
                          (long long)step);
    if (status == SB_OK && l.at < size) {
        status = sbi_file_create(allocator, path, &file, err);
        if (status == SB_OK) status = sbi_file_write(file, bytes, l.at, err);
        if (status == SB_OK) status = sbi_file_commit(file, err);
        if (status != SB_OK) sbi_file_abandon(file);
    }
    sbi_release(allocator, bytes);
    return status;
}

// ---------------------------------------------------------------- comparing

static const sbi_json *value_of(const sbi_json *line, const char *key) {
    const sbi_json *v = sbi_json_member(line, key);
    return v && (v->kind == SBI_JSON_STRING || v->kind == SBI_JSON_NUMBER) ? v : NULL;
}

static bool same_value(const sbi_json *a, const sbi_json *b) {
    if (!a || !b) return a == b;
    return a->kind == b->kind && a->length == b->length &&
           memcmp(a->text, b->text, (size_t)a->length) == 0;
}

// The first field of two lines that differs, in the order of cause: what went in, then what came
// out.
static void name_field(const sbi_json *a, const sbi_json *b, char *field, size_t size) {
    static const char *const before[] = {"ledger", "contract", "recipe", "step", "rate"},
                             *const after[] = {"gradient", "state", "previous"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (!same_value(value_of(a, before[i]), value_of(b, before[i]))) {
            snprintf(field, size, "%s", before[i]);
            return;
        }
    const sbi_json *la = sbi_json_member(a, "losses"), *lb = sbi_json_member(b, "losses");
    const sbi_json *x = la && la->kind == SBI_JSON_ARRAY ? la->first : NULL,
                   *y = lb && lb->kind == SBI_JSON_ARRAY ? lb->first : NULL;
    for (int64_t i = 0; x || y; i++, x = x ? x->next : NULL, y = y ? y->next : NULL)
        if (!x || !y || x->kind != SBI_JSON_STRING || !same_value(x, y)) {
            snprintf(field, size, "losses[%lld]", (long long)i);
            return;
        }
    for (size_t i = 0; i < sizeof after / sizeof *after; i++)
        if (!same_value(value_of(a, after[i]), value_of(b, after[i]))) {
            snprintf(field, size, "%s", after[i]);
            return;
        }
    snprintf(field, size, "text");
}

static sb_status read_ledger(const sbi_allocator *allocator, const char *path, uint8_t **bytes,
                             int64_t *size, int64_t *steps, sb_error *err) {
    static const char start[] = "{\"ledger\":1,";
    lines l;
    sb_status status = sbi_file_read(allocator, path, LEDGER_LIMIT, bytes, size, err);
    if (status != SB_OK) return status;
    first_line(&l, *bytes, *size);
    while (next_line(&l))
        if (!chained(&l)) return broken(err, path, l.number);
    if (l.number < 0 || *size < (int64_t)sizeof start ||
        memcmp(*bytes, start, sizeof start - 1) != 0) {
        char shown[160];
        return sbi_fail(err, SB_ERR_FORMAT, "ledger", "%s is not a ledger",
                        sbi_escape(path, strlen(path), shown, sizeof shown));
    }
    if (l.at < *size) { // else it could differ unseen
        char shown[160];
        return sbi_fail(err, SB_ERR_FORMAT, "ledger",
                        "the last line of %s, line %lld, does not end: it was cut in the writing",
                        sbi_escape(path, strlen(path), shown, sizeof shown),
                        (long long)l.number + 2);
    }
    *steps = l.number;
    return SB_OK;
}

sb_status sbi_ledger_compare(const sbi_allocator *allocator, const char *a, const char *b,
                             sb_lm_difference *out, sb_error *err) {
    uint8_t *bytes_a = NULL, *bytes_b = NULL;
    int64_t size_a = 0, size_b = 0;
    lines la, lb;
    *out = (sb_lm_difference){0};
    sbi_arena *arena = sbi_arena_new(allocator, err);
    sb_status status =
        arena ? sbi_named(read_ledger(allocator, a, &bytes_a, &size_a, &out->steps_a, err), "a", err)
              : SB_ERR_MEMORY;
    if (status == SB_OK)
        status = sbi_named(read_ledger(allocator, b, &bytes_b, &size_b, &out->steps_b, err), "b", err);
    if (status != SB_OK) goto done;
    first_line(&la, bytes_a, size_a);
    first_line(&lb, bytes_b, size_b);
    for (;;) {
        bool more_a = next_line(&la), more_b = next_line(&lb);
        if (!more_a && !more_b) {
            out->equal = 1;
            break;
        }
        if (!more_a || !more_b) {
            out->step = (more_a ? la : lb).number;
            snprintf(out->field, sizeof out->field, "end");
            break;
        }
        if (la.length == lb.length && memcmp(la.line, lb.line, (size_t)la.length) == 0) continue;
        const sbi_json *x, *y;
        out->step = la.number;
        status = sbi_json_read(arena, la.line, la.length, &x, err);
        if (status == SB_OK) status = sbi_json_read(arena, lb.line, lb.length, &y, err);
        if (status == SB_OK) name_field(x, y, out->field, sizeof out->field);
        break;
    }
done:
    sbi_release(allocator, bytes_a);
    sbi_release(allocator, bytes_b);
    sbi_arena_free(arena);
    return status;
}
