// SPDX-License-Identifier: Apache-2.0
// What verify, compare, selftest and doctor give their caller.
#ifndef SBI_REPORT_H
#define SBI_REPORT_H

#include "json.h"

struct sb_report {
    sbi_text text, json, page; // page: of a replay
    int verdict;
};

sb_report *sbi_report_new(sb_error *err);
sb_status sbi_report_check(const sb_report *report, sb_error *err); // SB_ERR_MEMORY where it could not be written whole
// Hands the report over (or, when memory ran out while it was written, frees it and says so).
sb_status sbi_report_give(sb_report *report, sb_report **out, sb_error *err);
void sbi_report_free(sb_report *report);
sb_status sbi_report_write(const sbi_text *part, const char *path, sb_error *err); // json or page

// "key": "value" of a JSON object, with the comma before it unless first.
void sbi_report_member(sbi_text *json, bool first, const char *key, const char *value); // value NULL: null

const char *sbi_compiler(void); // "gcc 12.2.0"

sb_status sbi_doctor(sb_report **out, sb_error *err);                                  // doctor.c
sb_status sbi_describe(sb_context *ctx, const char *proofs, size_t size, sb_report **out, sb_error *err); // describe_library.c
sb_status sbi_bisect(const char *a, const char *b, sb_report **out, sb_error *err); // bisect.c
#endif
