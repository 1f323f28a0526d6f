// SPDX-License-Identifier: Apache-2.0
// The lines of a text file, one after another, however long the file: a line is whole in memory, the file never.
#ifndef SBI_LINES_H
#define SBI_LINES_H

#include "base.h"

typedef struct sbi_lines {
    sbi_allocator allocator;
    sbi_source *source;
    char *buffer;
    int64_t capacity, at, end; // what is not read yet: buffer[at .. end)
    bool finished;             // the file has no more
    int64_t line, next_line;   // of the last line, of buffer[at]; from 1
    char name[120];            // of the file, printable
} sbi_lines;

sb_status sbi_lines_open(const sbi_allocator *allocator, const char *path, sbi_lines *out, sb_error *err);
// The next line that is not empty, without its end (LF or CRLF; inside quotes, where they count, it is no end); *text is NULL at the
// end of the file. A UTF-8 byte-order mark at the start is skipped. Valid, and the caller's to change, until the next call.
sb_status sbi_lines_next(sbi_lines *lines, bool quotes, char **text, int64_t *length, sb_error *err);
sb_status sbi_lines_fail(const sbi_lines *lines, const char *what, sb_error *err); // SB_ERR_FORMAT: "NAME, line N: WHAT"
void sbi_lines_close(sbi_lines *lines); // a zeroed one is fine
#endif
