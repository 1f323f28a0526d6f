// SPDX-License-Identifier: Apache-2.0
// Lanes of running sums: forwards and back, with the element and without, rows of a chunk and of several runs.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static sb_status all_ways(sbi_lane_run *run, sb_array *x, sb_dtype dtype, int64_t rows, int64_t n, sb_error *err) {
    static const char *const names[] = {"up", "up_exclusive", "down", "down_exclusive"};
    for (int way = 0; way < 4; way++) {
        sb_array *y = sbi_lane_result(run, dtype, 2, SHAPE(rows, n));
        for (sbi_part p = sbi_lane_first(run, rows); p.count; p = sbi_lane_next(run, p))
            sbi_lane_do(run, sb_scan(run->ctx, sbi_lane_part(run, x, p), way % 2, way / 2, sbi_lane_part(run, y, p), err));
        sbi_lane_cell(run, names[way], y, err);
    }
    return run->status;
}

// Long rows: two runs and more. The second half takes away what the first adds: what is left shows the order.
static sb_status run_long(sbi_lane_run *run, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    int64_t n = sbi_lane_size(run, 20000, 9001);
    sb_array *x = sbi_lane_input(run, "x", real, 1, SHAPE(2 * n)), *rows = NULL;
    const sbi_part first = {0, n ? n : -1, 2 * n}, second = {n, first.count, 2 * n};
    sbi_lane_do(run, sb_scale(run->ctx, sbi_lane_part(run, x, first), -1.0, sbi_lane_part(run, x, second), err));
    if (run->status == SB_OK) sbi_lane_do(run, sb_array_reshape(x, 2, SHAPE(1, 2 * n), &rows, err));
    all_ways(run, rows, real, 1, 2 * n, err);
    sb_array_free(rows);
    return run->status;
}
static sb_status run_short(sbi_lane_run *run, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    int64_t rows = sbi_lane_size(run, 20, 5), n = sbi_lane_size(run, 600, 77);
    return all_ways(run, sbi_lane_input(run, "x", real, 2, SHAPE(rows, n)), real, rows, n, err);
}
static sb_status run_integers(sbi_lane_run *run, sb_error *err) {
    int64_t rows = sbi_lane_size(run, 5, 3), n = sbi_lane_size(run, 900, 331);
    all_ways(run, sbi_lane_indices(run, "x", SB_I64, 2, SHAPE(rows, n), INT64_MAX), SB_I64, rows, n, err);
    sb_array *x = sbi_lane_indices(run, "narrow", SB_I32, 2, SHAPE(rows, n), INT32_MAX);
    sb_array *y = sbi_lane_result(run, SB_I32, 2, SHAPE(rows, n));
    sbi_lane_do(run, sb_scan(run->ctx, x, 0, 0, y, err));
    return sbi_lane_cell(run, "int32", y, err);
}

#define WHOLE (SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_TIES) | SBI_FIX(SBI_FIX_ODD) | SBI_FIX(SBI_FIX_EMPTY) | SBI_FIX(SBI_FIX_ONE))
#define REAL(lane, type, ...) {.name = lane, .kind = "sum", .fixtures = SBI_FIX_ALL, .counts_inputs = true, .dtype = type, __VA_ARGS__}
const sbi_lane sbi_lanes_scan[] = {
    REAL("scan", SB_F32, .run = run_long), REAL("scan_f64", SB_F64, .run = run_long),
    REAL("scan_rows", SB_F32, .rows = true, .run = run_short), REAL("scan_rows_f64", SB_F64, .rows = true, .run = run_short),
    {.name = "scan_integers", .kind = "sum", .fixtures = WHOLE, .rows = true, .run = run_integers},
    {.name = NULL},
};
