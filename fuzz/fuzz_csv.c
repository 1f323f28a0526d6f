// SPDX-License-Identifier: Apache-2.0
// Delimited text: the first byte is the delimiter. What is read, written again with every field quoted, reads as the same
// rows; numbers are those of the C library.
#include "csv.h"
#include "fuzz.h"
#include "json.h"

#include <math.h>

static void check_number(const sbi_csv_field *field) {
    char *text = malloc((size_t)field->length + 1), *end;
    double value = 0;
    MUST(text);
    memcpy(text, field->text, (size_t)field->length);
    text[field->length] = 0;
    if (sbi_csv_number(field, &value) == SBI_CSV_NUMBER) {
        const double theirs = strtod(text, &end);
        MUST(end != text && end[strspn(end, " \t")] == 0 && memcmp(&value, &theirs, sizeof value) == 0);
    }
    free(text);
}

// All rows, every field in quotes. The status of the end.
static sb_status read_all(const char *path, char delimiter, sbi_text *out, sb_error *err) {
    sbi_csv *csv = NULL;
    const sbi_csv_field *fields;
    int64_t count = 1, columns = -1, line = 0;
    sb_status status = sbi_csv_open(&fuzz_allocator, path, delimiter, &csv, err);
    while (status == SB_OK && count) {
        status = sbi_csv_row(csv, &fields, &count, err);
        if (status != SB_OK || count == 0) break;
        MUST(columns < 0 || columns == count);
        MUST(sbi_csv_line(csv) > line);
        columns = count;
        line = sbi_csv_line(csv);
        for (int64_t i = 0; i < count; i++) {
            check_number(&fields[i]);
            if (i) sbi_text_add_bytes(out, &delimiter, 1);
            sbi_text_add_bytes(out, "\"", 1);
            for (int64_t k = 0; k < fields[i].length; k++) {
                sbi_text_add_bytes(out, &fields[i].text[k], 1);
                if (fields[i].text[k] == '"') sbi_text_add_bytes(out, "\"", 1);
            }
            sbi_text_add_bytes(out, "\"", 1);
        }
        sbi_text_add_bytes(out, "\n", 1);
    }
    sbi_csv_close(csv);
    return status;
}

void fuzz_csv(const uint8_t *data, size_t size) {
    if (size < 1) return;
    const char delimiter = (char)data[0];
    sb_error err = {0};
    sbi_text one, two;
    sbi_text_start(&one, &sbi_malloc_allocator);
    sbi_text_start(&two, &sbi_malloc_allocator);
    sb_status status = read_all(fuzz_file(0, data + 1, size - 1), delimiter, &one, &err);
    MUST(status != SB_ERR_MEMORY); // (the input is far smaller than any bound)
    if (status == SB_OK) {
        MUST(read_all(fuzz_file(1, one.length ? one.bytes : "", (size_t)one.length), delimiter, &two, &err) == SB_OK);
        MUST(one.length == two.length && (one.length == 0 || memcmp(one.bytes, two.bytes, (size_t)one.length) == 0));
    } else {
        fuzz_error(status, &err);
    }
    sbi_text_free(&one);
    sbi_text_free(&two);
}
