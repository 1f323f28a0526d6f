// SPDX-License-Identifier: Apache-2.0
// Sparse rows as text (svmlight, libsvm): `TARGET [qid:N] INDEX:VALUE ... [# comment]`, indices ascending. Row by row, however long
// the file. Errors name the file, the line and what stands there.
#ifndef SBI_SVMLIGHT_H
#define SBI_SVMLIGHT_H

#include "base.h"

typedef struct sbi_svmlight sbi_svmlight;
typedef struct sbi_svmlight_row {
    const char *target; // the first word as it stands: a number, a label, or several labels with commas between; not NUL-terminated
    int64_t target_length;
    double value;       // of the target where it is a number; else NaN
    int64_t query;      // -1: none
    int64_t count;
    const int64_t *indices; // as they stand (files begin with 1, some with 0), strictly ascending; valid until the next row
    const double *values;   // finite or not, as written
} sbi_svmlight_row;

sb_status sbi_svmlight_open(const sbi_allocator *allocator, const char *path, sbi_svmlight **out, sb_error *err);
sb_status sbi_svmlight_next(sbi_svmlight *file, sbi_svmlight_row *row, bool *end, sb_error *err); // *end: there was none
int64_t sbi_svmlight_line(const sbi_svmlight *file);
void sbi_svmlight_close(sbi_svmlight *file); // NULL is fine
#endif
