// SPDX-License-Identifier: Apache-2.0
// Decimal numbers, beside the C library's: a text is taken exactly where it is a JSON number and rounds to a finite
// double, and then it is strtod's (glibc rounds correctly). And the other way: the shortest text of a double or float, of
// the input's first bytes, reads back as itself, and no shorter one does.
#include "fuzz.h"
#include "json.h"

#include <math.h>

static const char *digits(const char *at) {
    while (*at >= '0' && *at <= '9') at++;
    return at;
}

static bool number(const char *at) { // the grammar of RFC 8259
    at += *at == '-';
    const char *start = at;
    at = *at == '0' ? at + 1 : digits(at);
    if (at == start) return false;
    if (*at == '.') {
        start = ++at;
        if ((at = digits(at)) == start) return false;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '+' || *at == '-';
        start = at;
        if ((at = digits(at)) == start) return false;
    }
    return *at == 0;
}

static void check_text(const char *text) {
    double ours = 1.0, theirs;
    sb_error err = {0};
    sb_status status = sb_parse_real(text, &ours, &err);
    theirs = strtod(text, NULL);
    MUST((status == SB_OK) == (number(text) && isfinite(theirs)));
    if (status == SB_OK)
        MUST(memcmp(&ours, &theirs, sizeof ours) == 0);
    else
        fuzz_error(status, &err);
}

static int significant(const char *text) { // digits of the shortest text, without zeros at its ends
    int count = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text == '0' && count) zeros++;
        if (*text > '0' && *text <= '9') count += 1 + zeros, zeros = 0;
    }
    return count;
}

static void check_value(double value, bool narrow) {
    sbi_text text;
    char other[64];
    double back = 0;
    sbi_text_start(&text, &sbi_malloc_allocator);
    if (narrow)
        sbi_text_add_real32(&text, (float)value);
    else
        sbi_text_add_real(&text, value);
    if (!isfinite(value)) {
        MUST(strcmp(text.bytes, "null") == 0);
    } else {
        MUST(number(text.bytes));
        MUST(narrow ? strtof(text.bytes, NULL) == (float)value : strtod(text.bytes, NULL) == value);
        MUST(sb_parse_real(text.bytes, &back, NULL) == SB_OK && signbit(back) == signbit(value));
        int count = significant(text.bytes);
        if (count > 1) {
            snprintf(other, sizeof other, "%.*e", count - 2, value);
            MUST(narrow ? strtof(other, NULL) != (float)value : strtod(other, NULL) != value);
        }
    }
    sbi_text_free(&text);
}

void fuzz_real(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    double wide;
    float narrow;
    MUST(text);
    if (size) memcpy(text, data, size);
    text[size] = 0;
    check_text(text);
    free(text);
    if (size >= sizeof wide) {
        memcpy(&wide, data, sizeof wide);
        check_value(wide, false);
        memcpy(&narrow, data, sizeof narrow);
        check_value((double)narrow, true);
    }
}
