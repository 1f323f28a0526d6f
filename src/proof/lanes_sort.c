// SPDX-License-Identifier: Apache-2.0
// Lanes of stable sorting: values and positions, up and down, short rows and rows of several runs.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static sb_status sort_rows(sbi_lane_run *run, sb_array *x, sb_dtype dtype, int64_t rows, int64_t n, sb_error *err) {
    static const char *const orders[] = {"up_positions", "down_positions"}, *const sorted[] = {"up", "down"};
    for (int descending = 0; descending < 2; descending++) {
        sb_array *order = sbi_lane_result(run, SB_I64, 2, SHAPE(rows, n));
        sb_array *values = sbi_lane_result(run, dtype, 2, SHAPE(rows, n));
        for (sbi_part p = sbi_lane_first(run, rows); p.count; p = sbi_lane_next(run, p)) {
            sb_array *part = sbi_lane_part(run, x, p);
            sbi_lane_do(run, sb_argsort(run->ctx, part, descending, sbi_lane_part(run, order, p), err));
            sbi_lane_do(run, sb_sort(run->ctx, part, descending, sbi_lane_part(run, values, p), err));
        }
        sbi_lane_cell(run, orders[descending], order, err);
        sbi_lane_cell(run, sorted[descending], values, err);
    }
    return run->status;
}

static sb_status run_short(sbi_lane_run *run, sb_error *err) {
    int64_t rows = sbi_lane_size(run, 8, 6), n = sbi_lane_size(run, 120, 77);
    return sort_rows(run, sbi_lane_input(run, "x", SB_F32, 2, SHAPE(rows, n)), SB_F32, rows, n, err);
}
static sb_status run_long(sbi_lane_run *run, sb_error *err) {
    int64_t rows = sbi_lane_size(run, 4, 4), n = sbi_lane_size(run, 4500, 2309);
    return sort_rows(run, sbi_lane_input(run, "x", SB_F32, 2, SHAPE(rows, n)), SB_F32, rows, n, err);
}
static sb_status run_int32(sbi_lane_run *run, sb_error *err) {
    int64_t rows = sbi_lane_size(run, 3, 5), n = sbi_lane_size(run, 400, 77);
    return sort_rows(run, sbi_lane_indices(run, "x", SB_I32, 2, SHAPE(rows, n), INT32_MAX), SB_I32, rows, n, err);
}
static sb_status run_int64(sbi_lane_run *run, sb_error *err) {
    int64_t rows = sbi_lane_size(run, 3, 5), n = sbi_lane_size(run, 400, 77);
    return sort_rows(run, sbi_lane_indices(run, "x", SB_I64, 2, SHAPE(rows, n), INT64_MAX), SB_I64, rows, n, err);
}

#define WHOLE (SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_TIES) | SBI_FIX(SBI_FIX_ODD) | SBI_FIX(SBI_FIX_EMPTY) | SBI_FIX(SBI_FIX_ONE))

const sbi_lane sbi_lanes_sort[] = {
    {.name = "sort", .kind = "order", .fixtures = SBI_FIX_ALL, .quick = true, .rows = true, .counts_inputs = true, .run = run_short},
    {.name = "sort_long", .kind = "order", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = run_long},
    {.name = "sort_int32", .kind = "order", .fixtures = WHOLE, .rows = true, .run = run_int32},
    {.name = "sort_int64", .kind = "order", .fixtures = WHOLE, .rows = true, .run = run_int64},
    {.name = NULL},
};
