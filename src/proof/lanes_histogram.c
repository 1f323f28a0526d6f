// SPDX-License-Identifier: Apache-2.0
// Lanes of histograms: one vector of codes in several parts, and features side by side, counted and weighed.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static sb_status run_vector(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 40000, 17001), bins = 300;
    sb_array *codes = sbi_lane_indices(run, "codes", SB_I32, 1, SHAPE(n), bins);
    sb_array *weights = sbi_lane_indices(run, "weights", SB_I64, 1, SHAPE(n), INT64_MAX);
    sb_array *counts = sbi_lane_result(run, SB_I64, 1, SHAPE(bins)), *sums = sbi_lane_result(run, SB_I64, 1, SHAPE(bins));
    sbi_lane_do(run, sb_histogram(run->ctx, codes, NULL, counts, err));
    sbi_lane_do(run, sb_histogram(run->ctx, codes, weights, sums, err));
    sbi_lane_cell(run, "counts", counts, err);
    return sbi_lane_cell(run, "sums", sums, err);
}
static sb_status run_features(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 900, 331), features = sbi_lane_size(run, 70, 9), bins = 256;
    sb_array *codes = sbi_lane_indices(run, "codes", SB_U8, 2, SHAPE(n, features), bins);
    sb_array *weights = sbi_lane_indices(run, "weights", SB_I32, 1, SHAPE(n), INT32_MAX);
    sb_array *counts = sbi_lane_result(run, SB_I64, 2, SHAPE(features, bins)), *sums = sbi_lane_result(run, SB_I64, 2, SHAPE(features, bins));
    sbi_lane_do(run, sb_histogram(run->ctx, codes, NULL, counts, err));
    sbi_lane_do(run, sb_histogram(run->ctx, codes, weights, sums, err));
    sbi_lane_cell(run, "counts", counts, err);
    return sbi_lane_cell(run, "sums", sums, err);
}

#define WHOLE (SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_TIES) | SBI_FIX(SBI_FIX_ODD) | SBI_FIX(SBI_FIX_EMPTY) | SBI_FIX(SBI_FIX_ONE))
const sbi_lane sbi_lanes_histogram[] = {
    {.name = "histogram", .kind = "count", .fixtures = WHOLE, .quick = true, .run = run_vector},
    {.name = "histogram_features", .kind = "count", .fixtures = WHOLE, .run = run_features},
    {.name = NULL},
};
