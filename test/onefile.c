// SPDX-License-Identifier: Apache-2.0
// The smallest program over the one-file build: runs lanes against the golden file that is embedded (cmake/embed.cmake)
// and prints the report. test/onefile.py builds it by gcc, by clang, and for a bare core.
#include "samebits.h"

#include <stdio.h>
#include <string.h>

extern const unsigned char golden[];
extern const size_t golden_size;

#ifndef LANES
#define LANES NULL
#endif

int main(void) {
    sb_error err = {SB_OK, "", ""};
    sb_context *ctx = NULL;
    sb_report *report = NULL;
    sb_verify_options options = {0};
    options.size = sizeof options;
    options.tier = SB_TIER_QUICK;
    options.lanes = LANES;
    options.references = (const char *)golden;
    options.references_size = golden_size;
    sb_status status = sb_context_new(NULL, &ctx, &err);
    if (status == SB_OK) {
        printf("samebits %s, level %s, %d threads\n", sb_version(), sb_context_isa(ctx), sb_context_threads(ctx));
        status = sb_verify(ctx, &options, &report, &err);
    }
    if (status != SB_OK) {
        printf("%s (%s): %s\n", sb_status_name(status), err.argument, err.message);
        return 2;
    }
    fputs(sb_report_text(report), stdout);
    int verdict = sb_report_verdict(report);
    printf("verdict %d\n", verdict); // (the exit status of a bare core is nobody's)
    sb_report_free(report);
    sb_context_free(ctx);
    return verdict;
}
