// SPDX-License-Identifier: Apache-2.0
// Tables as text, row by row, however long the file: RFC 4180 with any one-byte delimiter. Fields may be quoted ("" is a
// quote, line ends and delimiters may stand inside), lines end in LF or CRLF, empty lines are skipped, a UTF-8 byte-order
// mark at the start is ignored. Every row has as many fields as the first. Errors name the file and the line.
#ifndef SBI_CSV_H
#define SBI_CSV_H

#include "base.h"

typedef struct sbi_csv sbi_csv;
typedef struct sbi_csv_field {
    const char *text; // without its quotes; valid until the next row
    int64_t length;
    bool quoted;
} sbi_csv_field;

sb_status sbi_csv_open(const sbi_allocator *allocator, const char *path, char delimiter, sbi_csv **out, sb_error *err);
// The next row; *count is 0 at the end of the file.
sb_status sbi_csv_row(sbi_csv *csv, const sbi_csv_field **fields, int64_t *count, sb_error *err);
int64_t sbi_csv_line(const sbi_csv *csv); // where the row that was read last begins, from 1
void sbi_csv_close(sbi_csv *csv);         // NULL is fine

// What a field is. A number: as people write it ("1", "+1.5", ".5", "5.", "1e-3", "007", inf, -Infinity; spaces around it),
// its nearest double. Missing (NaN): nothing, or unquoted NA N/A NaN nan null NULL None.
typedef enum sbi_csv_kind { SBI_CSV_NUMBER, SBI_CSV_MISSING, SBI_CSV_TEXT } sbi_csv_kind;
sbi_csv_kind sbi_csv_number(const sbi_csv_field *field, double *out);
// The row looks like names: no field of it is a number, and one at least is text.
bool sbi_csv_names(const sbi_csv_field *fields, int64_t count);
// All fields of a row as numbers; else SB_ERR_FORMAT names line, column and what stands there.
sb_status sbi_csv_reals(const sbi_csv *csv, const sbi_csv_field *fields, int64_t count, double *to, sb_error *err);
#endif
