// SPDX-License-Identifier: Apache-2.0
// Reads a trace, strictly: exactly the members of docs/trace.md, each of its type and within its limits. Nothing of it is
// shown to anybody before it is known to be printable.
#include "trace_file.h"

#include <stdio.h>
#include <string.h>

#define LARGEST_TRACE ((int64_t)16 << 30)

const char *const sbi_trace_lists[SBI_TRACE_LISTS] = {"in", "kept", "out"};

static sb_status malformed(const sbi_trace_file *file, const char *what, sb_error *err) {
    return sbi_fail(err, SB_ERR_FORMAT, "trace", "%s is no trace: line %lld: %s", file->shown, (long long)file->line, what);
}

// 1 to `most` characters, each one of `letters`, a digit or a small letter. NULL if not.
static const char *word(const sbi_json *value, int64_t most, const char *letters) {
    if (!value || value->kind != SBI_JSON_STRING || value->length < 1 || value->length > most) return NULL;
    for (int64_t i = 0; i < value->length; i++) {
        char c = value->text[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c && strchr(letters, c)))) return NULL;
    }
    return value->text;
}

static const char *digits(const sbi_json *value, int64_t count) { // hexadecimal ones
    if (!value || value->kind != SBI_JSON_STRING || value->length != count) return NULL;
    for (int64_t i = 0; i < count; i++) {
        char c = value->text[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return NULL;
    }
    return value->text;
}

static bool read_array(const sbi_json *value, sbi_trace_array *out) {
    *out = (sbi_trace_array){0};
    if (value->kind == SBI_JSON_NULL) return true;
    const sbi_json *shape = sbi_json_member(value, "shape");
    out->dtype = word(sbi_json_member(value, "dtype"), 16, "");
    out->sha256 = digits(sbi_json_member(value, "sha256"), 64);
    if (!out->dtype || !out->sha256 || value->length != 3 || !shape || shape->kind != SBI_JSON_ARRAY || shape->length > SB_MAX_DIMS)
        return false;
    for (const sbi_json *size = shape->first; size; size = size->next)
        if (!sbi_json_integer(size, &out->shape[out->ndim++]) || out->shape[out->ndim - 1] < 0) return false;
    return true;
}

static bool read_arrays(const sbi_json *list, sbi_trace_array *out, int *count) {
    *count = 0;
    if (!list || list->kind != SBI_JSON_ARRAY || list->length > SBI_TRACE_ARRAYS) return false;
    for (const sbi_json *item = list->first; item; item = item->next)
        if (!read_array(item, &out[(*count)++])) return false;
    return true;
}

// n: integers; u, r: 16 hexadecimal digits each. To one text: "n 1 2 u r 3ff0...".
static const char *parameters(sbi_arena *arena, const sbi_json *root, sb_error *err) {
    static const char *const names[] = {"n", "u", "r"};
    sbi_text text;
    bool good = true;
    char *out = NULL;
    sbi_text_start(&text, &sbi_malloc_allocator);
    for (int i = 0; i < 3; i++) {
        const sbi_json *list = sbi_json_member(root, names[i]);
        good = good && list && list->kind == SBI_JSON_ARRAY && list->length <= 64;
        sbi_text_add(&text, "%s%s", i ? " " : "", names[i]);
        for (const sbi_json *item = good ? list->first : NULL; item && good; item = item->next) {
            int64_t number;
            good = i == 0 ? sbi_json_integer(item, &number) : digits(item, 16) != NULL;
            if (good) sbi_text_add(&text, " %s", item->text);
        }
    }
    if (good && !text.failed)
        out = sbi_arena_string(arena, text.bytes, (size_t)text.length, err);
    else
        sbi_fail(err, text.failed ? SB_ERR_MEMORY : SB_ERR_FORMAT, "trace", "out of memory");
    sbi_text_free(&text);
    return out;
}

// The next line as JSON, an object; *root NULL at the end of the file.
static sb_status next_line(sbi_trace_file *file, const sbi_json **root, sb_error *err) {
    sb_error why = {.status = SB_OK};
    *root = NULL;
    if (file->offset == file->size) return SB_OK;
    file->line++;
    const char *line = (const char *)file->bytes + file->offset;
    const char *end = memchr(line, '\n', (size_t)(file->size - file->offset));
    if (!end) return malformed(file, "it does not end (was the run cut short?)", err);
    file->offset += end - line + 1;
    sbi_arena_free(file->arena);
    file->arena = sbi_arena_new(&sbi_malloc_allocator, err);
    if (!file->arena) return SB_ERR_MEMORY;
    sb_status status = sbi_json_read(file->arena, line, end - line, root, &why);
    if (status == SB_ERR_FORMAT) return malformed(file, why.message, err);
    if (status != SB_OK && err) *err = why;
    if (status == SB_OK && (*root)->kind != SBI_JSON_OBJECT) return malformed(file, "it is no object", err);
    return status;
}

sb_status sbi_trace_file_open(const char *path, sbi_trace_file *out, sb_error *err) {
    const sbi_json *root = NULL;
    int64_t format = 0;
    *out = (sbi_trace_file){0};
    sbi_escape(path, strlen(path), out->shown, sizeof out->shown);
    sb_status status = sbi_file_read(&sbi_malloc_allocator, path, LARGEST_TRACE, &out->bytes, &out->size, err);
    if (status == SB_OK) status = next_line(out, &root, err);
    if (status != SB_OK) return status;
    const char *kind = root ? word(sbi_json_member(root, "samebits"), 16, "") : NULL;
    if (!kind || strcmp(kind, "trace") != 0 || root->length != 3 || !sbi_json_integer(sbi_json_member(root, "format"), &format) ||
        format != 1 || !sbi_json_integer(sbi_json_member(root, "contract"), &out->contract))
        return malformed(out, "expected \"samebits\": \"trace\", \"format\": 1 and \"contract\"", err);
    return SB_OK;
}

sb_status sbi_trace_file_next(sbi_trace_file *file, sbi_trace_record *out, bool *end, sb_error *err) {
    const sbi_json *root = NULL;
    sb_error why = {.status = SB_OK};
    sb_status status = next_line(file, &root, err);
    *end = root == NULL;
    if (status != SB_OK || !root) return status;
    const sbi_json *real = sbi_json_member(root, "real");
    *out = (sbi_trace_record){.at = word(sbi_json_member(root, "at"), 190, ".-"), .op = word(sbi_json_member(root, "op"), 64, "_")};
    if (!out->at || !out->op) return malformed(file, "\"at\" or \"op\" is missing or not a word", err);
    if (root->length != 8 + (real != NULL)) return malformed(file, "a member too many or too few", err);
    out->parameters = parameters(file->arena, root, &why);
    if (!out->parameters && why.status == SB_ERR_FORMAT) return malformed(file, "\"n\", \"u\" or \"r\" is no list of numbers", err);
    if (!out->parameters) return sbi_fail(err, why.status, why.argument, "%s", why.message);
    for (int list = 0; list < SBI_TRACE_LISTS; list++)
        if (!read_arrays(sbi_json_member(root, sbi_trace_lists[list]), out->arrays[list], &out->counts[list]))
            return malformed(file, "\"in\", \"kept\" or \"out\" is no list of arrays (dtype, shape, sha256) and nulls", err);
    if (real && !(out->real = digits(real, 16))) return malformed(file, "\"real\" is not 16 hexadecimal digits", err);
    return SB_OK;
}

void sbi_trace_file_close(sbi_trace_file *file) {
    sbi_arena_free(file->arena);
    sbi_release(&sbi_malloc_allocator, file->bytes);
    *file = (sbi_trace_file){0};
}
