// SPDX-License-Identifier: Apache-2.0
// Evidence documents: two compared. The first byte says where the second begins, in 1/256 of the size.
#include "fuzz.h"

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
        fuzz_report(one);
        MUST(strcmp(sb_report_text(one), sb_report_text(two)) == 0 && strcmp(sb_report_json(one), sb_report_json(two)) == 0);
        sb_report_free(two);
        two = NULL;
        MUST(sb_compare(3, paths, &two, NULL) == SB_OK);
        fuzz_report(two);
    } else {
        fuzz_error(status, &err);
    }
    sb_report_free(one);
    sb_report_free(two);
}
