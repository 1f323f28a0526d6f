// SPDX-License-Identifier: Apache-2.0
// Recordings: what is taken is written as a recording of the same number, and replays twice alike, with a page that holds none of
// what its text could smuggle in.
#include "fuzz.h"
#include "recording.h"

static sb_report *replayed(sb_context *ctx, const char *path) {
    sb_report *report = NULL;
    sb_error err = {0};
    const sb_status status = sb_replay(ctx, path, NULL, &report, &err);
    if (status != SB_OK) {
        MUST(!report);
        fuzz_error(status, &err);
        return NULL;
    }
    const int verdict = sb_report_verdict(report);
    MUST(verdict == SBI_IDENTICAL || verdict == SBI_DIFFERENT || verdict == SBI_REFUSED);
    fuzz_printable(sb_report_text(report));
    for (const char *at = report->page.bytes; *at; at++) MUST(*at == '\n' || (unsigned char)*at >= 0x20);
    MUST(!strstr(report->page.bytes, "<script"));
    return report;
}

void fuzz_recording(const uint8_t *data, size_t size) {
    sb_context *ctx = fuzz_context();
    static sbi_recording r, again;
    sb_error err = {0};
    const char *path = fuzz_file(0, data, size);
    const sb_status status = sbi_recording_restore(ctx, data, (int64_t)size, &r, &err);
    if (status != SB_OK) {
        MUST(r.count == 0 && !r.x && !r.y);
        fuzz_error(status, &err);
        return;
    }
    char to[100];
    snprintf(to, sizeof to, "%s/recording", fuzz_folder());
    MUST(sbi_recording_save(&r, to, &err) == SB_OK);
    MUST(sbi_recording_load(ctx, to, &again, &err) == SB_OK && memcmp(r.id, again.id, 32) == 0);
    sbi_recording_clear(&r);
    sbi_recording_clear(&again);
    MUST(remove(to) == 0);
    sb_report *one = replayed(ctx, path), *two = replayed(ctx, path);
    MUST(!one == !two);
    if (one) {
        MUST(strcmp(sb_report_text(one), sb_report_text(two)) == 0 && strcmp(one->page.bytes, two->page.bytes) == 0);
        fuzz_report(one);
    }
    sb_report_free(one);
    sb_report_free(two);
}
