// SPDX-License-Identifier: Apache-2.0
// A column of a table whose fields may be words, and its labels as numbers of classes.
#ifndef SBI_WORDS_H
#define SBI_WORDS_H

#include "csv.h"
#include "learn.h"

// ---- words.c: a column, collected row by row
typedef struct sbi_words {
    int64_t column, rows, room;
    sbi_text text;    // the fields, a NUL behind each
    int64_t *from;    // where each begins
    double *numbers;  // what each is as a number; in the end, where one is none, the place of its word; NaN: missing
    bool any;         // one is no number
    const char **list; // then: the distinct words, ascending by their bytes
    int64_t count;
} sbi_words;
void sbi_words_start(sbi_words *words, int64_t column, const sbi_allocator *allocator);
sb_status sbi_words_take(sbi_words *words, const sbi_csv *csv, const sbi_csv_field *field, sb_error *err);
sb_status sbi_words_end(sbi_words *words, sb_error *err);
void sbi_words_free(sbi_words *words);

// ---- classes.c
// A column: each row's label, a number or, where there are words, the place of its word. NaN: missing.
typedef struct sbi_labels {
    int64_t n;
    const double *numbers;
    const char *const *words; // ascending; NULL where all are numbers
    int64_t word_count;
} sbi_labels;
// out[n] int64: each label's place among `classes`; where that is NULL among the labels themselves, which `names` then says.
sb_status sbi_labels_number(sb_context *ctx, const sbi_labels *labels, const char *classes, sbi_text *names, sb_array **out, sb_error *err);
#endif
