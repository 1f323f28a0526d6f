// SPDX-License-Identifier: Apache-2.0
// The JSON reader: what it takes, written again, reads as the same tree.
#include "fuzz.h"
#include "json.h"

static void write_value(sbi_text *text, const sbi_json *value) {
    const char *between = "";
    switch (value->kind) {
    case SBI_JSON_NULL: sbi_text_add(text, "null"); break;
    case SBI_JSON_FALSE: sbi_text_add(text, "false"); break;
    case SBI_JSON_TRUE: sbi_text_add(text, "true"); break;
    case SBI_JSON_NUMBER: sbi_text_add_bytes(text, value->text, value->length); break;
    case SBI_JSON_STRING: sbi_text_add_json_string(text, value->text, value->length); break;
    default:
        sbi_text_add(text, value->kind == SBI_JSON_ARRAY ? "[" : "{");
        for (const sbi_json *child = value->first; child; child = child->next, between = ",") {
            sbi_text_add(text, "%s", between);
            if (value->kind == SBI_JSON_OBJECT) {
                sbi_text_add_json_string(text, child->key, child->key_length);
                sbi_text_add(text, ":");
            }
            write_value(text, child);
        }
        sbi_text_add(text, value->kind == SBI_JSON_ARRAY ? "]" : "}");
    }
}

static void check_value(const sbi_json *value) {
    int64_t children = 0, whole;
    double real;
    for (const sbi_json *child = value->first; child; child = child->next, children++) {
        if (value->kind == SBI_JSON_OBJECT && !memchr(child->key, 0, (size_t)child->key_length))
            MUST(sbi_json_member(value, child->key) == child);
        check_value(child);
    }
    if (value->kind == SBI_JSON_ARRAY || value->kind == SBI_JSON_OBJECT) MUST(children == value->length);
    if (sbi_json_integer(value, &whole)) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)whole);
        MUST(strcmp(text, value->text) == 0 || strcmp(value->text, "-0") == 0);
        MUST(sbi_json_real(value, &real) && real == (double)whole);
    }
}

void fuzz_json(const uint8_t *data, size_t size) {
    sb_error err = {0}, again = {0};
    const sbi_json *root = NULL, *other = NULL;
    sbi_arena *arena = sbi_arena_new(&fuzz_allocator, NULL);
    sbi_text first, second;
    sbi_text_start(&first, &fuzz_allocator);
    sbi_text_start(&second, &fuzz_allocator);
    MUST(arena);
    sb_status status = sbi_json_read(arena, (const char *)data, (int64_t)size, &root, &err);
    MUST(status == sbi_json_read(arena, (const char *)data, (int64_t)size, &other, &again));
    MUST(strcmp(err.message, again.message) == 0);
    if (status == SB_OK) {
        check_value(root);
        write_value(&first, root);
        if (!first.failed) {
            MUST(sbi_json_read(arena, first.bytes, first.length, &other, &again) == SB_OK);
            write_value(&second, other);
            MUST(second.failed || (first.length == second.length && memcmp(first.bytes, second.bytes, (size_t)first.length) == 0));
        }
    } else {
        fuzz_error(status, &err);
    }
    sbi_text_free(&first);
    sbi_text_free(&second);
    sbi_arena_free(arena);
}
