// SPDX-License-Identifier: Apache-2.0
// A column of words: its fields are kept as they stand until the last row tells whether all of them are numbers. Where one is
// not, each field that is not missing is a word, "1" and "1.0" two of them, and its number is its place in their order.
#include "words.h"

#include <string.h>

void sbi_words_start(sbi_words *words, int64_t column, const sbi_allocator *allocator) {
    *words = (sbi_words){.column = column};
    sbi_text_start(&words->text, allocator);
}

void sbi_words_free(sbi_words *words) {
    const sbi_allocator *allocator = words->text.allocator;
    sbi_release(allocator, words->from);
    sbi_release(allocator, words->numbers);
    sbi_release(allocator, words->list);
    sbi_text_free(&words->text);
}

static sb_status grow(sbi_words *words, sb_error *err) {
    const sbi_allocator *allocator = words->text.allocator;
    const int64_t room = words->room ? 2 * words->room : 1024;
    int64_t *from = sbi_allocate(allocator, room, sizeof *from, err);
    double *numbers = from ? sbi_allocate(allocator, room, sizeof *numbers, err) : NULL;
    if (!numbers) {
        sbi_release(allocator, from);
        return SB_ERR_MEMORY;
    }
    if (words->rows) {
        memcpy(from, words->from, (size_t)words->rows * sizeof *from);
        memcpy(numbers, words->numbers, (size_t)words->rows * sizeof *numbers);
    }
    sbi_release(allocator, words->from);
    sbi_release(allocator, words->numbers);
    words->from = from;
    words->numbers = numbers;
    words->room = room;
    return SB_OK;
}

static bool is_word(const sbi_csv_field *field) { // UTF-8 without NULs
    for (int64_t at = 0; at < field->length;) {
        const int length = field->text[at] ? sbi_utf8_sequence(field->text + at, field->length - at) : 0;
        if (length == 0) return false;
        at += length;
    }
    return true;
}

sb_status sbi_words_take(sbi_words *words, const sbi_csv *csv, const sbi_csv_field *field, sb_error *err) {
    if (words->rows == words->room) {
        sb_status status = grow(words, err);
        if (status != SB_OK) return status;
    }
    if (!is_word(field))
        return sbi_fail(err, SB_ERR_FORMAT, "path", "line %lld, column %lld: a word that is not UTF-8, or holds a NUL",
                        (long long)sbi_csv_line(csv), (long long)words->column + 1);
    if (sbi_csv_number(field, &words->numbers[words->rows]) == SBI_CSV_TEXT) {
        words->numbers[words->rows] = 0.0;
        words->any = true;
    }
    words->from[words->rows++] = words->text.length;
    sbi_text_add_bytes(&words->text, field->text, field->length);
    sbi_text_add_bytes(&words->text, "", 1);
    return words->text.failed ? sbi_fail(err, SB_ERR_MEMORY, "path", "out of memory after %lld rows", (long long)words->rows) : SB_OK;
}

// Rows in the order of their fields, by merging.
static void sort_rows(const sbi_words *words, int64_t *rows, int64_t *other) {
    const char *text = words->text.bytes;
    for (int64_t width = 1; width < words->rows; width *= 2) {
        for (int64_t first = 0; first < words->rows; first += 2 * width) {
            int64_t a = first, b = first + width, to = first;
            const int64_t middle = b < words->rows ? b : words->rows, end = first + 2 * width < words->rows ? first + 2 * width : words->rows;
            while (to < end) {
                const bool left = a < middle && (b >= end || strcmp(text + words->from[rows[a]], text + words->from[rows[b]]) <= 0);
                other[to++] = left ? rows[a++] : rows[b++];
            }
        }
        memcpy(rows, other, (size_t)words->rows * sizeof *rows);
    }
}

sb_status sbi_words_end(sbi_words *words, sb_error *err) {
    const sbi_allocator *allocator = words->text.allocator;
    if (!words->any) return SB_OK;
    int64_t *rows = sbi_allocate(allocator, words->rows, sizeof *rows, err), *other = sbi_allocate(allocator, words->rows, sizeof *other, err);
    words->list = sbi_allocate(allocator, words->rows, sizeof *words->list, err);
    const bool there = rows && other && words->list;
    for (int64_t i = 0; there && i < words->rows; i++) rows[i] = i;
    if (there) sort_rows(words, rows, other);
    for (int64_t i = 0; there && i < words->rows; i++) {
        const char *word = words->text.bytes + words->from[rows[i]];
        double *number = &words->numbers[rows[i]];
        if (*number != *number) continue;
        if (words->count == 0 || strcmp(words->list[words->count - 1], word) != 0) words->list[words->count++] = word;
        *number = (double)(words->count - 1);
    }
    sbi_release(allocator, rows);
    sbi_release(allocator, other);
    return there ? SB_OK : SB_ERR_MEMORY;
}
