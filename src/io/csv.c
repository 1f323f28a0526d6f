// SPDX-License-Identifier: Apache-2.0
// Delimited text. A row is a line that ends behind an even number of quotes (lines.h); it is cut into fields, quoted ones unescaped
// where they stand.
#include "csv.h"

#include "json.h"
#include "lines.h"

#include <string.h>

enum { MOST_FIELDS = 1 << 24 };

struct sbi_csv {
    sbi_allocator allocator;
    sbi_lines lines;
    char delimiter;
    int64_t columns; // -1: no row yet
    sbi_csv_field *fields;
    int64_t room;
};

sb_status sbi_csv_open(const sbi_allocator *allocator, const char *path, char delimiter, sbi_csv **out, sb_error *err) {
    if (delimiter == '"' || delimiter == '\n' || delimiter == '\r' || delimiter == '\0')
        return sbi_fail(err, SB_ERR_ARGUMENT, "delimiter", "a quote, a line end or a NUL cannot be the delimiter");
    sbi_csv *csv = sbi_allocate(allocator, 1, sizeof *csv, err);
    if (!csv) return SB_ERR_MEMORY;
    csv->allocator = *allocator;
    csv->delimiter = delimiter;
    csv->columns = -1;
    sb_status status = sbi_lines_open(allocator, path, &csv->lines, err);
    if (status == SB_OK)
        *out = csv;
    else
        sbi_csv_close(csv);
    return status;
}

void sbi_csv_close(sbi_csv *csv) {
    if (!csv) return;
    const sbi_allocator allocator = csv->allocator;
    sbi_lines_close(&csv->lines);
    sbi_release(&allocator, csv->fields);
    sbi_release(&allocator, csv);
}

int64_t sbi_csv_line(const sbi_csv *csv) { return csv->lines.line; }

static sb_status fail(const sbi_csv *csv, const char *what, sb_error *err) { return sbi_lines_fail(&csv->lines, what, err); }

static sb_status add_field(sbi_csv *csv, int64_t count, sbi_csv_field field, sb_error *err) {
    if (count == csv->room) {
        if (count >= MOST_FIELDS) return fail(csv, "more than 2^24 fields", err);
        const int64_t room = count ? 2 * count : 64;
        sbi_csv_field *fields = sbi_allocate(&csv->allocator, room, sizeof *fields, err);
        if (!fields) return SB_ERR_MEMORY;
        if (count) memcpy(fields, csv->fields, (size_t)count * sizeof *fields);
        sbi_release(&csv->allocator, csv->fields);
        csv->fields = fields;
        csv->room = room;
    }
    csv->fields[count] = field;
    return SB_OK;
}

// A quoted field whose opening quote is at *at: unescaped where it stands; *at goes behind the closing quote.
static sb_status take_quoted(sbi_csv *csv, char *row, int64_t length, int64_t *at, sbi_csv_field *out, sb_error *err) {
    char *to = row + *at + 1;
    *out = (sbi_csv_field){to, 0, true};
    for (int64_t i = *at + 1; i < length; i++) {
        if (row[i] == '"') {
            if (i + 1 == length || row[i + 1] != '"') {
                *at = i + 1;
                return SB_OK;
            }
            i++;
        }
        to[out->length++] = row[i];
    }
    return fail(csv, "a quote that opens here is not closed", err);
}

static sb_status cut(sbi_csv *csv, char *row, int64_t length, int64_t *count, sb_error *err) {
    int64_t at = 0;
    *count = 0;
    for (bool more = true; more; at++) {
        sbi_csv_field field = {row + at, 0, false};
        sb_status status = SB_OK;
        if (at < length && row[at] == '"') {
            status = take_quoted(csv, row, length, &at, &field, err);
            if (status == SB_OK && at < length && row[at] != csv->delimiter)
                status = fail(csv, "something stands between a closing quote and the next delimiter", err);
        } else {
            const char *end = at < length ? memchr(row + at, csv->delimiter, (size_t)(length - at)) : NULL;
            field.length = (end ? end - row : length) - at;
            if (field.length && memchr(field.text, '"', (size_t)field.length))
                status = fail(csv, "a quote inside a field that does not begin with one", err);
            at += field.length;
        }
        if (status == SB_OK) status = add_field(csv, *count, field, err);
        if (status != SB_OK) return status;
        ++*count;
        more = at < length;
    }
    return SB_OK;
}

sb_status sbi_csv_row(sbi_csv *csv, const sbi_csv_field **fields, int64_t *count, sb_error *err) {
    int64_t length = 0;
    char *row = NULL;
    *count = 0;
    sb_status status = sbi_lines_next(&csv->lines, true, &row, &length, err);
    if (status != SB_OK || !row) return status;
    status = cut(csv, row, length, count, err);
    if (status != SB_OK) return status;
    if (csv->columns >= 0 && *count != csv->columns)
        return sbi_fail(err, SB_ERR_FORMAT, "path", "%s, line %lld: %lld fields, expected %lld as in the first row", csv->lines.name,
                        (long long)csv->lines.line, (long long)*count, (long long)csv->columns);
    csv->columns = *count;
    *fields = csv->fields;
    return SB_OK;
}

// ---- numbers

static bool is_word(const char *text, int64_t length, const char *const *words) {
    for (; *words; words++)
        if ((int64_t)strlen(*words) == length && memcmp(text, *words, (size_t)length) == 0) return true;
    return false;
}

// What people write beyond JSON's numbers: a plus sign, zeros in front, nothing before or behind the point.
static bool loose_number(const char *text, int64_t length, double *out) {
    char plain[1024];
    int64_t at = 0, to = 0;
    if (length > (int64_t)sizeof plain - 2) return false;
    if (length && (text[0] == '+' || text[0] == '-')) {
        if (text[0] == '-') plain[to++] = '-';
        if (++at < length && text[at] == '-') return false; // (a second sign would be JSON's)
    }
    while (at + 1 < length && text[at] == '0' && text[at + 1] >= '0' && text[at + 1] <= '9') at++;
    if (at < length && text[at] == '.') {
        if (at + 1 == length || text[at + 1] < '0' || text[at + 1] > '9') return false;
        plain[to++] = '0';
    }
    for (bool may = true; at < length; at++) { // a point: once, and not behind an exponent
        if (text[at] == '.' && !may) return false;
        may = may && text[at] != '.' && text[at] != 'e' && text[at] != 'E';
        const bool bare = text[at] == '.' && (at + 1 == length || text[at + 1] == 'e' || text[at + 1] == 'E');
        if (!bare) plain[to++] = text[at];
    }
    return sbi_real_parse(plain, to, out);
}

sbi_csv_kind sbi_csv_number(const sbi_csv_field *field, double *out) {
    static const char *const missing[] = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", NULL};
    static const char *const infinite[] = {"inf", "+inf", "Inf", "+Inf", "Infinity", "+Infinity", "infinity", NULL};
    static const char *const negative[] = {"-inf", "-Inf", "-Infinity", "-infinity", NULL};
    const uint64_t nan = 0x7ff8000000000000, infinity = 0x7ff0000000000000;
    const char *text = field->text;
    int64_t length = field->length;
    for (; length && (*text == ' ' || *text == '\t'); text++) length--;
    while (length && (text[length - 1] == ' ' || text[length - 1] == '\t')) length--;
    if (sbi_real_parse(text, length, out)) return SBI_CSV_NUMBER;
    if (length == 0 || (!field->quoted && is_word(text, length, missing))) {
        memcpy(out, &nan, sizeof nan);
        return SBI_CSV_MISSING;
    }
    const bool down = is_word(text, length, negative);
    if (down || is_word(text, length, infinite)) {
        const uint64_t bits = infinity | (uint64_t)down << 63;
        memcpy(out, &bits, sizeof bits);
        return SBI_CSV_NUMBER;
    }
    return loose_number(text, length, out) ? SBI_CSV_NUMBER : SBI_CSV_TEXT;
}

bool sbi_csv_names(const sbi_csv_field *fields, int64_t count) {
    bool text = false;
    double unused;
    for (int64_t i = 0; i < count; i++) {
        const sbi_csv_kind kind = sbi_csv_number(&fields[i], &unused);
        if (kind == SBI_CSV_NUMBER) return false;
        text = text || kind == SBI_CSV_TEXT;
    }
    return text;
}

sb_status sbi_csv_reals(const sbi_csv *csv, const sbi_csv_field *fields, int64_t count, double *to, sb_error *err) {
    for (int64_t i = 0; i < count; i++)
        if (sbi_csv_number(&fields[i], &to[i]) == SBI_CSV_TEXT) {
            char shown[80];
            return sbi_fail(err, SB_ERR_FORMAT, "path", "%s, line %lld, column %lld: \"%s\" is no number", csv->lines.name,
                            (long long)csv->lines.line, (long long)i + 1,
                            sbi_escape(fields[i].text, (size_t)fields[i].length, shown, sizeof shown));
        }
    return SB_OK;
}
