// SPDX-License-Identifier: Apache-2.0
// Reads a trace (docs/trace.md), a file of others: line by line, strictly.
#ifndef SBI_TRACE_FILE_H
#define SBI_TRACE_FILE_H

#include "json.h"

typedef struct sbi_trace_array {
    const char *dtype, *sha256; // NULL: there is none in this slot
    int ndim;
    int64_t shape[SB_MAX_DIMS];
} sbi_trace_array;

enum { SBI_TRACE_IN, SBI_TRACE_KEPT, SBI_TRACE_OUT, SBI_TRACE_LISTS };
enum { SBI_TRACE_ARRAYS = 16 }; // the most of a list
extern const char *const sbi_trace_lists[SBI_TRACE_LISTS]; // "in", "kept", "out"

typedef struct sbi_trace_record {
    const char *at, *op;    // printable
    const char *parameters; // the bytes of n, u and r, one after another
    sbi_trace_array arrays[SBI_TRACE_LISTS][SBI_TRACE_ARRAYS];
    int counts[SBI_TRACE_LISTS];
    const char *real;       // NULL: none
} sbi_trace_record;

typedef struct sbi_trace_file {
    char shown[120]; // the path, escaped
    uint8_t *bytes;
    int64_t size, offset; // of the next line
    int64_t line;         // of the last one read; the first is 1
    int64_t contract;
    sbi_arena *arena;     // of the last record
} sbi_trace_file;

// Reads the file and its first line; sbi_trace_file_close in any case.
sb_status sbi_trace_file_open(const char *path, sbi_trace_file *out, sb_error *err);
// The next record, valid until the next call; *end where there is none.
sb_status sbi_trace_file_next(sbi_trace_file *file, sbi_trace_record *out, bool *end, sb_error *err);
void sbi_trace_file_close(sbi_trace_file *file);
#endif
