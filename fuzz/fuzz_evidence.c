// SPDX-License-Identifier: Apache-2.0
// Evidence documents: two compared. The first byte says where the second begins, in 1/256 of the size.
#include "fuzz.h"
#include "json.h"

static void check_report(const sb_report *report) {
    int verdict = sb_report_verdict(report);
    const char *json = sb_report_json(report);
    const sbi_json *root;
    sbi_arena *arena = sbi_arena_new(&fuzz_allocator, NULL);
    MUST(verdict == 0 || verdict == 1 || verdict == 3 || verdict == 4);
    fuzz_printable(sb_report_text(report));
    sb_status status = sbi_json_read(arena, json, (int64_t)strlen(json), &root, NULL);
    MUST(status == SB_OK || status == SB_ERR_MEMORY);
    sbi_arena_free(arena);
}

void fuzz_evidence(const uint8_t *data, size_t size) {
    if (size < 1) return;
    size_t rest = size - 1, middle = rest * data[0] / 256;
    const char *paths[3] = {fuzz_file(0, data + 1, middle), fuzz_file(1, data + 1 + middle, rest - middle)};
    paths[2] = paths[0];
    sb_report *one = NULL, *two = NULL;
    sb_error err = {0};
    sb_status status = sb_compare(2, paths, &one, &err);
    MUST(status == sb_compare(2, paths, &two, NULL));
    if (status == SB_OK) {
        check_report(one);
        MUST(strcmp(sb_report_text(one), sb_report_text(two)) == 0 && strcmp(sb_report_json(one), sb_report_json(two)) == 0);
        sb_report_free(two);
        two = NULL;
        MUST(sb_compare(3, paths, &two, NULL) == SB_OK);
        check_report(two);
    } else {
        fuzz_error(status, &err);
    }
    sb_report_free(one);
    sb_report_free(two);
}
