// SPDX-License-Identifier: Apache-2.0
// svmlight and libsvm files: words between spaces, each but the first an index and a value.
#include "svmlight.h"

#include "csv.h"
#include "lines.h"

#include <string.h>

struct sbi_svmlight {
    sbi_allocator allocator;
    sbi_lines lines;
    int64_t *indices;
    double *values;
    int64_t room;
};

sb_status sbi_svmlight_open(const sbi_allocator *allocator, const char *path, sbi_svmlight **out, sb_error *err) {
    sbi_svmlight *file = sbi_allocate(allocator, 1, sizeof *file, err);
    if (!file) return SB_ERR_MEMORY;
    file->allocator = *allocator;
    sb_status status = sbi_lines_open(allocator, path, &file->lines, err);
    if (status == SB_OK)
        *out = file;
    else
        sbi_svmlight_close(file);
    return status;
}

void sbi_svmlight_close(sbi_svmlight *file) {
    if (!file) return;
    const sbi_allocator allocator = file->allocator;
    sbi_lines_close(&file->lines);
    sbi_release(&allocator, file->indices);
    sbi_release(&allocator, file->values);
    sbi_release(&allocator, file);
}

int64_t sbi_svmlight_line(const sbi_svmlight *file) { return file->lines.line; }

static sb_status fail(const sbi_svmlight *file, const char *word, int64_t length, const char *expected, sb_error *err) {
    char shown[80];
    sbi_escape(word, (size_t)length, shown, sizeof shown);
    return sbi_fail(err, SB_ERR_FORMAT, "path", "%s, line %lld: \"%s\": expected %s", file->lines.name, (long long)file->lines.line,
                    shown, expected);
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static bool take_integer(const char *text, int64_t length, int64_t *out) {
    *out = 0;
    for (int64_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9' || !sbi_multiply(*out, 10, out) || !sbi_add(*out, text[i] - '0', out)) return false;
    return length > 0;
}

static sb_status make_room(sbi_svmlight *file, int64_t count, sb_error *err) {
    if (count < file->room) return SB_OK;
    const int64_t room = count ? 2 * count : 64;
    int64_t *indices = sbi_allocate(&file->allocator, room, sizeof *indices, err);
    double *values = indices ? sbi_allocate(&file->allocator, room, sizeof *values, err) : NULL;
    if (!values) {
        sbi_release(&file->allocator, indices);
        return SB_ERR_MEMORY;
    }
    if (count) memcpy(indices, file->indices, (size_t)count * sizeof *indices);
    if (count) memcpy(values, file->values, (size_t)count * sizeof *values);
    sbi_release(&file->allocator, file->indices);
    sbi_release(&file->allocator, file->values);
    file->indices = indices;
    file->values = values;
    file->room = room;
    return SB_OK;
}

// INDEX:VALUE or qid:N.
static sb_status take_pair(sbi_svmlight *file, const char *word, int64_t length, sbi_svmlight_row *row, sb_error *err) {
    const char *colon = memchr(word, ':', (size_t)length);
    if (!colon) return fail(file, word, length, "INDEX:VALUE", err);
    const int64_t before = colon - word;
    const sbi_csv_field value = {colon + 1, length - before - 1, true};
    if (before == 3 && memcmp(word, "qid", 3) == 0) {
        if (row->query >= 0 || row->count || !take_integer(value.text, value.length, &row->query))
            return fail(file, word, length, "qid:N, once, before the indices", err);
        return SB_OK;
    }
    sb_status status = make_room(file, row->count, err);
    if (status != SB_OK) return status;
    int64_t index;
    if (!take_integer(word, before, &index)) return fail(file, word, length, "an index before the colon", err);
    if (row->count && index <= file->indices[row->count - 1]) return fail(file, word, length, "indices that ascend", err);
    if (sbi_csv_number(&value, &file->values[row->count]) != SBI_CSV_NUMBER) return fail(file, word, length, "a number behind the colon", err);
    file->indices[row->count++] = index;
    return SB_OK;
}

sb_status sbi_svmlight_next(sbi_svmlight *file, sbi_svmlight_row *row, bool *end, sb_error *err) {
    char *text = NULL;
    int64_t length = 0, at = 0;
    *end = false;
    do { // lines of a comment or of spaces alone are no rows
        sb_status status = sbi_lines_next(&file->lines, false, &text, &length, err);
        if (status != SB_OK) return status;
        if (!text) {
            *end = true;
            return SB_OK;
        }
        const char *comment = memchr(text, '#', (size_t)length);
        length = comment ? comment - text : length;
        for (at = 0; at < length && is_space(text[at]); at++) {}
    } while (at == length);
    *row = (sbi_svmlight_row){.query = -1};
    for (bool first = true; at < length; first = false) {
        const int64_t start = at;
        while (at < length && !is_space(text[at])) at++;
        if (first) {
            row->target = text + start;
            row->target_length = at - start;
            const sbi_csv_field target = {row->target, row->target_length, true};
            const uint64_t nan = 0x7ff8000000000000;
            if (sbi_csv_number(&target, &row->value) != SBI_CSV_NUMBER) memcpy(&row->value, &nan, sizeof nan);
            if (memchr(row->target, ':', (size_t)row->target_length))
                return fail(file, row->target, row->target_length, "the target first", err);
        } else {
            sb_status status = take_pair(file, text + start, at - start, row, err);
            if (status != SB_OK) return status;
        }
        while (at < length && is_space(text[at])) at++;
    }
    row->indices = file->indices;
    row->values = file->values;
    return SB_OK;
}
