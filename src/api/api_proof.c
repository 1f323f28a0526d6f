// SPDX-License-Identifier: Apache-2.0
// Exported: verify, compare, selftest, doctor, recordings and their replay, digests of files.
#include "api.h"
#include "recording.h"
#include "verify.h"

const char *sb_report_text(const sb_report *report) { return report ? report->text.bytes : ""; }
const char *sb_report_json(const sb_report *report) { return report ? report->json.bytes : ""; }
int sb_report_verdict(const sb_report *report) { return report ? report->verdict : 3; }
void sb_report_free(sb_report *report) { sbi_report_free(report); }

sb_status sb_report_write(const sb_report *report, const char *path, sb_error *err) {
    NEED(report); NEED(path);
    return sbi_report_write(&report->json, path, err);
}

sb_status sb_report_write_page(const sb_report *report, const char *path, sb_error *err) {
    NEED(report); NEED(path);
    if (!report->page.length) return sbi_fail(err, SB_ERR_STATE, "report", "this report has no page: that of a replay has");
    return sbi_report_write(&report->page, path, err);
}

static const sbi_lane *lane_at(int64_t index) {
    for (const sbi_lane *const *file = sbi_lane_files; *file && index >= 0; file++) {
        for (const sbi_lane *lane = *file; lane->name; lane++) {
            if (index-- == 0) return lane;
        }
    }
    return NULL;
}

int64_t sb_lane_count(void) {
    int64_t count = 0;
    while (lane_at(count)) count++;
    return count;
}

const char *sb_lane_name(int64_t index) {
    const sbi_lane *lane = lane_at(index);
    return lane ? lane->name : NULL;
}

const char *sb_lane_kind(int64_t index) {
    const sbi_lane *lane = lane_at(index);
    return lane ? lane->kind : NULL;
}

int sb_lane_in_tier(int64_t index, sb_tier tier) {
    const sbi_lane *lane = lane_at(index);
    return lane && sbi_lane_in_tier(lane, tier);
}

static sb_status check_options(const sb_verify_options *options, sb_verify_options *known, sb_error *err) {
    sb_status status = sbi_api_options(options, known, &sbi_verify_struct, err);
    if (status != SB_OK) return status;
    if (known->tier < SB_TIER_DEFAULT || known->tier > SB_TIER_ALL)
        return sbi_fail(err, SB_ERR_ARGUMENT, "options", "options->tier is %d: expected an sb_tier", (int)known->tier);
    if (!known->references) return sbi_fail(err, SB_ERR_ARGUMENT, "options", "options->references is NULL");
    return SB_OK;
}

sb_status sb_verify(sb_context *ctx, const sb_verify_options *options, sb_report **out, sb_error *err) {
    NEED(ctx); NEED(options); NEED(out);
    *out = NULL;
    sb_verify_options known;
    sb_status status = check_options(options, &known, err);
    return status == SB_OK ? sbi_verify(ctx, &known, out, err) : status;
}

sb_status sb_selftest(sb_context *ctx, const sb_verify_options *options, sb_report **out, sb_error *err) {
    NEED(ctx); NEED(options); NEED(out);
    *out = NULL;
    sb_verify_options known;
    sb_status status = check_options(options, &known, err);
    return status == SB_OK ? sbi_selftest(ctx, &known, out, err) : status;
}

sb_status sb_compare(int count, const char *const *paths, sb_report **out, sb_error *err) {
    NEED(paths); NEED(out);
    *out = NULL;
    for (int i = 0; i < count; i++)
        if (!paths[i]) return sbi_fail(err, SB_ERR_ARGUMENT, "paths", "paths[%d] is NULL", i);
    return sbi_compare(count, paths, out, err);
}

sb_status sb_trace_compare(const char *a, const char *b, sb_report **out, sb_error *err) {
    NEED(a); NEED(b); NEED(out);
    *out = NULL;
    return sbi_bisect(a, b, out, err);
}

sb_status sb_describe(sb_context *ctx, const char *proofs, size_t proofs_size, sb_report **out, sb_error *err) {
    NEED(ctx); NEED(out);
    *out = NULL;
    if (proofs_size) NEED(proofs);
    RETURN_INSIDE(sbi_describe(ctx, proofs, proofs ? proofs_size : 0, out, err));
}

sb_status sb_doctor(sb_report **out, sb_error *err) {
    NEED(out);
    *out = NULL;
    return sbi_doctor(out, err);
}

sb_status sb_digest_file(const char *path, uint8_t bytes[32], uint8_t tree[32], int64_t *arrays, sb_error *err) {
    NEED(path); NEED(bytes); NEED(tree); NEED(arrays);
    return sbi_digest_file(path, bytes, tree, arrays, err);
}

sb_status sb_record(sb_context *ctx, const sb_record_options *options, const char *path, sb_report **out, sb_error *err) {
    NEED(out);
    *out = NULL;
    NEED(ctx); NEED(options); NEED(path);
    sb_record_options known;
    sb_data data;
    sb_status status = sbi_api_options(options, &known, &sbi_record_struct, err);
    if (status != SB_OK) return status;
    NEED_FIELD(known, models); NEED_FIELD(known, method); NEED_FIELD(known, data);
    if ((status = sbi_api_options(known.data, &data, &sbi_data_struct, err))) return status;
    NEED_FIELD(data, x);
    known.data = &data;
    RETURN_INSIDE(sbi_record(ctx, &known, path, out, err));
}

sb_status sb_replay(sb_context *ctx, const char *path, const sb_replay_options *options, sb_report **out, sb_error *err) {
    NEED(out);
    *out = NULL;
    NEED(ctx); NEED(path);
    sb_replay_options known;
    sb_data data;
    sb_status status = sbi_api_options(options, &known, &sbi_replay_struct, err);
    if (status == SB_OK && known.data) status = sbi_api_options(known.data, &data, &sbi_data_struct, err);
    if (status != SB_OK) return status;
    if (known.data) {
        NEED_FIELD(data, x);
        known.data = &data;
    }
    RETURN_INSIDE(sbi_replay_run(ctx, path, &known, out, err));
}
