// SPDX-License-Identifier: Apache-2.0
// Traces: two compared. The first byte says where the second begins, in 1/256 of the size.
#include "fuzz.h"

void fuzz_trace(const uint8_t *data, size_t size) {
    if (size < 1) return;
    size_t rest = size - 1, middle = rest * data[0] / 256;
    const char *a = fuzz_file(0, data + 1, middle), *b = fuzz_file(1, data + 1 + middle, rest - middle);
    sb_report *one = NULL, *two = NULL, *same = NULL;
    sb_error err = {0};
    sb_status status = sb_trace_compare(a, b, &one, &err);
    MUST(status == sb_trace_compare(a, b, &two, NULL));
    if (status == SB_OK) {
        fuzz_report(one);
        MUST(strcmp(sb_report_text(one), sb_report_text(two)) == 0 && strcmp(sb_report_json(one), sb_report_json(two)) == 0);
    } else {
        fuzz_error(status, &err);
    }
    if (sb_trace_compare(a, a, &same, NULL) == SB_OK) MUST(sb_report_verdict(same) != 1);
    sb_report_free(one);
    sb_report_free(two);
    sb_report_free(same);
}
