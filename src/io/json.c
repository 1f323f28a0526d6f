// SPDX-License-Identifier: Apache-2.0
// A strict JSON reader (RFC 8259) into an arena, and the growing text that documents are written with.
//
// Strict: UTF-8 without surrogates or overlong forms, no duplicate keys, no control characters in strings, no leading
// zeros, nothing but white space around the value, nesting at most 64. Memory is proportional to the bytes read.
#include "json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH 64

// ---- UTF-8

int sbi_utf8_sequence(const char *bytes, int64_t length) {
    const uint8_t *b = (const uint8_t *)bytes;
    if (length < 1) {
        return 0;
    }
    int count = b[0] < 0x80 ? 1 : b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : b[0] < 0xf5 ? 4 : 0;
    if (count == 0 || count > length) {
        return 0;
    }
    for (int i = 1; i < count; i++) {
        if ((b[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xf0 && b[1] < 0x90);
    bool surrogate = b[0] == 0xed && b[1] > 0x9f;
    bool beyond = b[0] == 0xf4 && b[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : count;
}

bool sbi_utf8_whole(const char *bytes, int64_t length) {
    for (int64_t i = 0, step = 0; i < length; i += step)
        if (!(step = sbi_utf8_sequence(bytes + i, length - i))) return false;
    return true;
}

static int utf8_write(char *out, uint32_t code) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    int count = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = count - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)((0xf00u >> count & 0xff) | code);
    return count;
}

// ---- reading

typedef struct node { // what the arena holds: the public value and where its key (or it) began
    sbi_json json;
    int64_t offset;
} node;

typedef struct reader {
    sbi_arena *arena;
    const char *bytes;
    int64_t size, at;
    int depth;
    sb_error *err;
} reader;

static sb_status bad(reader *r, int64_t offset, const char *what) {
    return sbi_fail(r->err, SB_ERR_FORMAT, "json", "byte %lld: %s", (long long)offset, what);
}

static int peek(const reader *r) { return r->at < r->size ? (unsigned char)r->bytes[r->at] : -1; }

static void skip_space(reader *r) {
    while (peek(r) == ' ' || peek(r) == '\t' || peek(r) == '\n' || peek(r) == '\r') {
        r->at++;
    }
}

static int hex_digit(int c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool read_hex4(const char *at, const char *end, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < 4; i++) {
        int digit = at + i < end ? hex_digit((unsigned char)at[i]) : -1;
        if (digit < 0) {
            return false;
        }
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

// One escape; at points behind the backslash. Bytes consumed, 0 if it is wrong.
static int read_escape(const char *at, const char *end, char *out, int *written) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *found = at < end && *at ? strchr(names, *at) : NULL;
    *written = 1;
    if (found) {
        *out = values[found - names];
        return 1;
    }
    uint32_t code = 0, low = 0;
    if (at == end || *at != 'u' || !read_hex4(at + 1, end, &code)) {
        return 0;
    }
    int used = 5;
    if (code >= 0xd800 && code < 0xe000) { // a pair of surrogates, high then low
        if (code >= 0xdc00 || end - at < 11 || at[5] != '\\' || at[6] != 'u' || !read_hex4(at + 7, end, &low) ||
            low < 0xdc00 || low >= 0xe000) {
            return 0;
        }
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        used = 11;
    }
    *written = utf8_write(out, code);
    return used;
}

// A string, at its quote: decoded into the arena.
static sb_status read_string(reader *r, const char **text, int64_t *length) {
    int64_t start = r->at + 1, close = start;
    while (close < r->size && r->bytes[close] != '"') {
        close += r->bytes[close] == '\\' ? 2 : 1;
    }
    if (close >= r->size) {
        return bad(r, r->at, "a string without its closing quote");
    }
    char *out = sbi_arena_allocate(r->arena, close - start + 1, 1, r->err); // decoding never lengthens
    if (!out) {
        return SB_ERR_MEMORY;
    }
    int64_t count = 0;
    for (int64_t i = start; i < close;) {
        const char *at = r->bytes + i, *end = r->bytes + close;
        if (*at == '\\') {
            int written = 0, used = read_escape(at + 1, end, out + count, &written);
            if (!used) {
                return bad(r, i, "an escape that JSON does not know");
            }
            count += written;
            i += 1 + used;
            continue;
        }
        int bytes = sbi_utf8_sequence(at, close - i);
        if (!bytes || (unsigned char)*at < 0x20) {
            return bad(r, i, bytes ? "a control character in a string" : "not UTF-8");
        }
        memcpy(out + count, at, (size_t)bytes);
        count += bytes;
        i += bytes;
    }
    *text = out;
    *length = count;
    r->at = close + 1;
    return SB_OK;
}

static bool digits(reader *r) { // at least one
    int64_t start = r->at;
    while (peek(r) >= '0' && peek(r) <= '9') {
        r->at++;
    }
    return r->at > start;
}

static sb_status read_number(reader *r, sbi_json *value) {
    int64_t start = r->at;
    r->at += peek(r) == '-';
    int64_t first = r->at;
    bool good = digits(r) && (r->bytes[first] != '0' || r->at == first + 1);
    if (good && peek(r) == '.') {
        r->at++;
        good = digits(r);
    }
    if (good && (peek(r) == 'e' || peek(r) == 'E')) {
        r->at++;
        r->at += peek(r) == '+' || peek(r) == '-';
        good = digits(r);
    }
    if (!good) {
        return bad(r, start, "not a JSON number");
    }
    value->kind = SBI_JSON_NUMBER;
    value->length = r->at - start;
    value->text = sbi_arena_string(r->arena, r->bytes + start, (size_t)value->length, r->err);
    return value->text ? SB_OK : SB_ERR_MEMORY;
}

static bool read_word(reader *r, const char *word) {
    int64_t length = (int64_t)strlen(word);
    if (r->size - r->at < length || memcmp(r->bytes + r->at, word, (size_t)length) != 0) {
        return false;
    }
    r->at += length;
    return true;
}

static int key_order(const node *a, const node *b) { // bytewise, then as in the file
    int64_t common = a->json.key_length < b->json.key_length ? a->json.key_length : b->json.key_length;
    int order = memcmp(a->json.key, b->json.key, (size_t)common);
    if (order == 0) {
        order = a->json.key_length < b->json.key_length ? -1 : a->json.key_length > b->json.key_length;
    }
    return order ? order : a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void sift(const node **heap, int64_t root, int64_t count) {
    for (int64_t child; (child = 2 * root + 1) < count; root = child) {
        child += child + 1 < count && key_order(heap[child], heap[child + 1]) < 0;
        if (key_order(heap[root], heap[child]) >= 0) {
            return;
        }
        const node *held = heap[root];
        heap[root] = heap[child];
        heap[child] = held;
    }
}

// Duplicate keys, in n log n whatever the keys are (a hostile file may hold a million).
static sb_status check_keys(reader *r, const sbi_json *object) {
    int64_t count = object->length, at = 0;
    const node **heap = sbi_arena_allocate(r->arena, count + 1, sizeof *heap, r->err);
    if (!heap) {
        return SB_ERR_MEMORY;
    }
    for (const sbi_json *child = object->first; child; child = child->next) {
        heap[at++] = (const node *)child;
    }
    for (int64_t i = count / 2; i-- > 0;) {
        sift(heap, i, count);
    }
    for (int64_t end = count; end-- > 1;) {
        const node *held = heap[0];
        heap[0] = heap[end];
        heap[end] = held;
        sift(heap, 0, end);
    }
    for (int64_t i = 1; i < count; i++) {
        const sbi_json *a = &heap[i - 1]->json, *b = &heap[i]->json;
        if (a->key_length == b->key_length && memcmp(a->key, b->key, (size_t)a->key_length) == 0) {
            char name[80];
            return sbi_fail(r->err, SB_ERR_FORMAT, "json", "byte %lld: the key \"%s\" for the second time",
                            (long long)heap[i]->offset, sbi_escape(b->key, (size_t)b->key_length, name, sizeof name));
        }
    }
    return SB_OK;
}

static sb_status read_value(reader *r, node *out);

// The members of an object or the items of an array; at the opening bracket.
static sb_status read_children(reader *r, sbi_json *parent, char close) {
    bool object = close == '}';
    const sbi_json **link = &parent->first;
    int64_t open = r->at++;
    parent->kind = object ? SBI_JSON_OBJECT : SBI_JSON_ARRAY;
    if (++r->depth > MAX_DEPTH) {
        return bad(r, open, "nested deeper than 64");
    }
    skip_space(r);
    if (peek(r) == close) {
        r->at++;
        r->depth--;
        return SB_OK;
    }
    for (;;) {
        node *child = sbi_arena_allocate(r->arena, 1, sizeof *child, r->err);
        sb_status status = child ? SB_OK : SB_ERR_MEMORY;
        skip_space(r);
        if (status == SB_OK && object) {
            int64_t offset = r->at;
            if (peek(r) != '"') {
                return bad(r, r->at, "expected a key in quotes");
            }
            status = read_string(r, &child->json.key, &child->json.key_length);
            child->offset = offset;
            skip_space(r);
            if (status == SB_OK && peek(r) != ':') {
                return bad(r, r->at, "expected a colon behind the key");
            }
            r->at++;
        }
        if (status == SB_OK) {
            status = read_value(r, child);
        }
        if (status != SB_OK) {
            return status;
        }
        *link = &child->json;
        link = &child->json.next;
        parent->length++;
        skip_space(r);
        int c = peek(r);
        if (c != ',' && c != close) {
            return bad(r, r->at, object ? "expected a comma or }" : "expected a comma or ]");
        }
        r->at++;
        if (c == close) {
            r->depth--;
            return object ? check_keys(r, parent) : SB_OK;
        }
    }
}

static sb_status read_value(reader *r, node *out) {
    skip_space(r);
    int c = peek(r);
    switch (c) {
    case '{': return read_children(r, &out->json, '}');
    case '[': return read_children(r, &out->json, ']');
    case '"': out->json.kind = SBI_JSON_STRING; return read_string(r, &out->json.text, &out->json.length);
    case 't': out->json.kind = SBI_JSON_TRUE; return read_word(r, "true") ? SB_OK : bad(r, r->at, "expected true");
    case 'f': out->json.kind = SBI_JSON_FALSE; return read_word(r, "false") ? SB_OK : bad(r, r->at, "expected false");
    case 'n': out->json.kind = SBI_JSON_NULL; return read_word(r, "null") ? SB_OK : bad(r, r->at, "expected null");
    case -1: return bad(r, r->at, "the text ends where a value was expected");
    default:
        if (c == '-' || (c >= '0' && c <= '9')) {
            return read_number(r, &out->json);
        }
        return bad(r, r->at, "expected a value");
    }
}

sb_status sbi_json_read(sbi_arena *arena, const char *bytes, int64_t size, const sbi_json **out, sb_error *err) {
    reader r = {arena, bytes, size, 0, 0, err};
    node *root = sbi_arena_allocate(arena, 1, sizeof *root, err);
    if (!root) {
        return SB_ERR_MEMORY;
    }
    sb_status status = read_value(&r, root);
    if (status != SB_OK) {
        return status;
    }
    skip_space(&r);
    if (r.at != size) {
        return bad(&r, r.at, "bytes behind the end of the value");
    }
    *out = &root->json;
    return SB_OK;
}

const sbi_json *sbi_json_member(const sbi_json *object, const char *key) {
    if (!object || object->kind != SBI_JSON_OBJECT) {
        return NULL;
    }
    int64_t length = (int64_t)strlen(key);
    for (const sbi_json *child = object->first; child; child = child->next) {
        if (child->key_length == length && memcmp(child->key, key, (size_t)length) == 0) {
            return child;
        }
    }
    return NULL;
}

bool sbi_json_integer(const sbi_json *value, int64_t *out) {
    if (!value || value->kind != SBI_JSON_NUMBER) {
        return false;
    }
    bool negative = value->text[0] == '-';
    int64_t result = 0; // below zero all the way: INT64_MIN has no positive twin
    for (int64_t i = negative; i < value->length; i++) {
        int digit = value->text[i] - '0';
        if (digit < 0 || digit > 9 || !sbi_multiply(result, 10, &result) || !sbi_add(result, digit, &result)) {
            // Past INT64_MAX only the text of INT64_MIN is left.
            if (strcmp(value->text, "-9223372036854775808") == 0) {
                *out = INT64_MIN;
                return true;
            }
            return false;
        }
    }
    *out = negative ? -result : result;
    return true;
}

bool sbi_json_real(const sbi_json *value, double *out) {
    return value && value->kind == SBI_JSON_NUMBER && sbi_real_parse(value->text, value->length, out);
}

// ---- writing

void sbi_text_start(sbi_text *text, const sbi_allocator *allocator) {
    *text = (sbi_text){.allocator = allocator};
}

// Room for `more` bytes and a NUL.
static bool text_reserve(sbi_text *text, int64_t more) {
    int64_t needed;
    if (text->failed || !sbi_add(text->length, more, &needed) || !sbi_add(needed, 1, &needed)) {
        text->failed = true;
        return false;
    }
    if (needed <= text->capacity) {
        return true;
    }
    int64_t capacity = needed < 256 ? 256 : needed < INT64_MAX / 2 ? 2 * needed : needed;
    char *bytes = sbi_allocate(text->allocator, capacity, 1, NULL);
    if (!bytes) {
        text->failed = true;
        return false;
    }
    if (text->length) {
        memcpy(bytes, text->bytes, (size_t)text->length);
    }
    sbi_release(text->allocator, text->bytes);
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void sbi_text_add(sbi_text *text, const char *format, ...) {
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, list);
    if (length < 0) {
        text->failed = true;
    } else if (text_reserve(text, length)) {
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += length;
    }
    va_end(again);
    va_end(list);
}

void sbi_text_add_bytes(sbi_text *text, const char *bytes, int64_t length) {
    if (text_reserve(text, length)) {
        if (length) {
            memcpy(text->bytes + text->length, bytes, (size_t)length);
        }
        text->length += length;
        text->bytes[text->length] = '\0';
    }
}

void sbi_text_add_json_string(sbi_text *text, const char *bytes, int64_t length) {
    sbi_text_add(text, "\"");
    for (int64_t i = 0; i < length;) {
        unsigned char c = (unsigned char)bytes[i];
        int sequence = sbi_utf8_sequence(bytes + i, length - i);
        if (c == '"' || c == '\\') {
            sbi_text_add(text, "\\%c", c);
        } else if (c < 0x20 || c == 0x7f) {
            sbi_text_add(text, "\\u%04x", c);
        } else if (sequence == 2 && c == 0xc2 && (unsigned char)bytes[i + 1] < 0xa0) { // the other set of control characters
            sbi_text_add(text, "\\u%04x", (unsigned char)bytes[i + 1]);
        } else if (sequence) {
            sbi_text_add_bytes(text, bytes + i, sequence);
        } else {
            sbi_text_add(text, "\xef\xbf\xbd");
        }
        i += sequence ? sequence : 1;
    }
    sbi_text_add(text, "\"");
}

void sbi_text_free(sbi_text *text) {
    sbi_release(text->allocator, text->bytes);
    *text = (sbi_text){.allocator = text->allocator};
}
