// SPDX-License-Identifier: Apache-2.0
// A strict JSON reader (RFC 8259, UTF-8, no duplicate keys, nesting at most 64, no bytes after the value) and a writer.
#ifndef SBI_JSON_H
#define SBI_JSON_H

#include "base.h"

typedef enum sbi_json_kind { SBI_JSON_NULL, SBI_JSON_FALSE, SBI_JSON_TRUE, SBI_JSON_NUMBER, SBI_JSON_STRING, SBI_JSON_ARRAY, SBI_JSON_OBJECT } sbi_json_kind;

typedef struct sbi_json {
    sbi_json_kind kind;
    const char *text;        // STRING: decoded, NUL-terminated (may hold NULs); NUMBER: its characters
    int64_t length;          // bytes of text, items of an array, members of an object
    const char *key;         // of a member of an object
    int64_t key_length;
    const struct sbi_json *first, *next; // children; siblings, in the order of the file
} sbi_json;

// The tree lives in the arena. Errors name the byte offset.
sb_status sbi_json_read(sbi_arena *arena, const char *bytes, int64_t size, const sbi_json **out, sb_error *err);
const sbi_json *sbi_json_member(const sbi_json *object, const char *key); // NULL if absent or not an object
bool sbi_json_integer(const sbi_json *value, int64_t *out); // exact: "3", not "3.0" or "1e3"
// The nearest double of the decimal text, correctly rounded, by integers (never strtod: locale and rounding are ours).
// False where the value is no number, or rounds beyond the largest double.
bool sbi_json_real(const sbi_json *value, double *out);
bool sbi_real_parse(const char *text, int64_t length, double *out); // the same for any text; all of it is a JSON number
int sbi_utf8_sequence(const char *bytes, int64_t length); // bytes of the valid sequence that starts here, 0 if none does
bool sbi_utf8_whole(const char *bytes, int64_t length);           // all of it is valid

// Writing: a growing buffer.
typedef struct sbi_text {
    const sbi_allocator *allocator;
    char *bytes; // NUL-terminated
    int64_t length, capacity;
    bool failed; // out of memory: checked once at the end
} sbi_text;
void sbi_text_start(sbi_text *text, const sbi_allocator *allocator);
void sbi_text_add(sbi_text *text, const char *format, ...) SBI_PRINTF(2, 3);
void sbi_text_add_bytes(sbi_text *text, const char *bytes, int64_t length);
void sbi_text_add_json_string(sbi_text *text, const char *bytes, int64_t length); // with quotes and escapes; invalid UTF-8 becomes U+FFFD
void sbi_text_add_real(sbi_text *text, double value);   // shortest decimal that reads back as the same double; not finite: null
void sbi_text_add_real32(sbi_text *text, float value);  // shortest decimal that reads back as the same float
void sbi_text_free(sbi_text *text);
#endif
