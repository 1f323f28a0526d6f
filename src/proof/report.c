// SPDX-License-Identifier: Apache-2.0
// Reports: two growing texts and a verdict.
#include "report.h"

#include <string.h>

sb_report *sbi_report_new(sb_error *err) {
    sb_report *report = sbi_allocate(&sbi_malloc_allocator, 1, sizeof *report, err);
    if (report) {
        sbi_text_start(&report->text, &sbi_malloc_allocator);
        sbi_text_start(&report->json, &sbi_malloc_allocator);
        sbi_text_start(&report->page, &sbi_malloc_allocator);
        sbi_text_add_bytes(&report->text, "", 0);
        sbi_text_add_bytes(&report->json, "", 0);
        sbi_text_add_bytes(&report->page, "", 0);
    }
    return report;
}

sb_status sbi_report_check(const sb_report *report, sb_error *err) {
    const bool failed = report->text.failed || report->json.failed || report->page.failed;
    return failed ? sbi_fail(err, SB_ERR_MEMORY, "", "out of memory for the report") : SB_OK;
}

sb_status sbi_report_give(sb_report *report, sb_report **out, sb_error *err) {
    const sb_status status = sbi_report_check(report, err);
    if (status != SB_OK) {
        sbi_report_free(report);
        return status;
    }
    *out = report;
    return SB_OK;
}

void sbi_report_free(sb_report *report) {
    if (report) {
        sbi_text_free(&report->text);
        sbi_text_free(&report->json);
        sbi_text_free(&report->page);
        sbi_release(&sbi_malloc_allocator, report);
    }
}

sb_status sbi_report_write(const sbi_text *part, const char *path, sb_error *err) {
    sbi_file *file = NULL;
    sb_status status = sbi_file_create(&sbi_malloc_allocator, path, &file, err);
    if (status == SB_OK) {
        status = sbi_file_write(file, part->bytes, part->length, err);
    }
    if (status == SB_OK) {
        status = sbi_file_commit(file, err);
        file = status == SB_OK ? NULL : file;
    }
    sbi_file_abandon(file);
    return status;
}

void sbi_report_member(sbi_text *json, bool first, const char *key, const char *value) {
    sbi_text_add(json, "%s\"%s\": ", first ? "" : ", ", key);
    if (value) {
        sbi_text_add_json_string(json, value, (int64_t)strlen(value));
    } else {
        sbi_text_add(json, "null");
    }
}

const char *sbi_compiler(void) {
#if defined(__clang__)
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "gcc " __VERSION__;
#else
    return "unknown";
#endif
}
