// SPDX-License-Identifier: Apache-2.0
// Lanes of sums, means, maxima, argmax and totals. Every lane reports a total in binary64 too: there one ulp of one term
// shows, which a float32 sum may round away and a maximum may not see.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static const char *const kinds[] = {"", "sum", "mean", "max", "argmax"};

static void report_total(sbi_lane_run *run, const sb_array *x, sb_error *err) {
    double total = 0.0;
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_total(run->ctx, x, &total, err));
        sbi_lane_cell_real(run, "total", total, err);
    }
}

// The four reductions over one axis of an array; over the last one rows may go in parts.
static sb_status run_axis(sbi_lane_run *run, int axis, int ndim, const int64_t *shape, sb_error *err) {
    sb_array *x = sbi_lane_input(run, "x", SB_F32, ndim, shape);
    int64_t left[SB_MAX_DIMS];
    int count = 0;
    for (int i = 0; i < ndim; i++) {
        if (i != axis) {
            left[count++] = shape[i];
        }
    }
    for (int kind = SB_SUM; kind <= SB_ARGMAX; kind++) {
        sb_array *out = sbi_lane_result(run, kind == SB_ARGMAX ? SB_I64 : SB_F32, count, left);
        if (axis == 0) {
            if (run->status == SB_OK) {
                sbi_lane_do(run, sb_reduce(run->ctx, (sb_reduction)kind, axis, x, out, err));
            }
        } else {
            for (sbi_part p = sbi_lane_first(run, shape[0]); p.count; p = sbi_lane_next(run, p)) {
                sb_array *from = sbi_lane_part(run, x, p), *to = sbi_lane_part(run, out, p);
                if (run->status == SB_OK) {
                    sbi_lane_do(run, sb_reduce(run->ctx, (sb_reduction)kind, axis, from, to, err));
                }
            }
        }
        sbi_lane_cell(run, kinds[kind], out, err);
    }
    report_total(run, x, err);
    return run->status;
}

static sb_status run_rows(sbi_lane_run *run, sb_error *err) {
    return run_axis(run, 1, 2, SHAPE(sbi_lane_size(run, 12, 7), sbi_lane_size(run, 600, 97)), err);
}
static sb_status run_rows_long(sbi_lane_run *run, sb_error *err) {
    return run_axis(run, 1, 2, SHAPE(sbi_lane_size(run, 3, 2), sbi_lane_size(run, 9000, 4097)), err);
}
static sb_status run_columns(sbi_lane_run *run, sb_error *err) {
    return run_axis(run, 0, 2, SHAPE(sbi_lane_size(run, 200, 77), sbi_lane_size(run, 100, 67)), err);
}
static sb_status run_columns_long(sbi_lane_run *run, sb_error *err) {
    return run_axis(run, 0, 2, SHAPE(sbi_lane_size(run, 8200, 4099), sbi_lane_size(run, 3, 5)), err);
}
static sb_status run_middle(sbi_lane_run *run, sb_error *err) {
    return run_axis(run, 1, 3, SHAPE(sbi_lane_size(run, 6, 5), sbi_lane_size(run, 70, 37), sbi_lane_size(run, 20, 3)), err);
}

// Everything at once. Nothing has a sum, but no mean, maximum or argmax.
static sb_status run_all(sbi_lane_run *run, sb_error *err) {
    sb_array *x = sbi_lane_input(run, "x", SB_F32, 2, SHAPE(sbi_lane_size(run, 30, 7), sbi_lane_size(run, 300, 613)));
    int last = run->fixture == SBI_FIX_EMPTY ? SB_SUM : SB_ARGMAX;
    for (int kind = SB_SUM; kind <= last; kind++) {
        sb_array *out = sbi_lane_result(run, kind == SB_ARGMAX ? SB_I64 : SB_F32, 0, NULL);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_reduce(run->ctx, (sb_reduction)kind, SB_ALL, x, out, err));
        }
        sbi_lane_cell(run, kinds[kind], out, err);
    }
    report_total(run, x, err);
    return run->status;
}

// Columns that hold every value and its negation: what is left of the sum is its roundings, so the order shows in float32.
static sb_status run_cancelling(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 200, 77), d = sbi_lane_size(run, 100, 67);
    sb_array *x = sbi_lane_input(run, "x", SB_F32, 2, SHAPE(n, d)), *both = sbi_lane_result(run, SB_F32, 2, SHAPE(2 * n, d));
    sb_array *upper = sbi_lane_part(run, both, (sbi_part){0, n, 2 * n});
    sb_array *lower = sbi_lane_part(run, both, (sbi_part){n, n, 2 * n});
    sb_array *columns = sbi_lane_result(run, SB_F32, 1, SHAPE(d)), *all = sbi_lane_result(run, SB_F32, 0, NULL);
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_array_copy(run->ctx, x, upper, err));
        sbi_lane_do(run, sb_scale(run->ctx, x, -1.0f, lower, err));
        sbi_lane_do(run, sb_reduce(run->ctx, SB_SUM, 0, both, columns, err));
        sbi_lane_do(run, sb_reduce(run->ctx, SB_SUM, SB_ALL, both, all, err));
    }
    sbi_lane_cell(run, "columns", columns, err);
    sbi_lane_cell(run, "all", all, err);
    report_total(run, x, err);
    return run->status;
}

// Totals and sums of squares of float32 and float64.
static sb_status run_totals(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 9000, 4097);
    const sb_array *inputs[] = {sbi_lane_input(run, "x", SB_F32, 1, SHAPE(n)), sbi_lane_input(run, "y", SB_F64, 1, SHAPE(n))};
    static const char *const names[][2] = {{"total_f32", "squares_f32"}, {"total_f64", "squares_f64"}};
    for (int i = 0; i < 2 && run->status == SB_OK; i++) {
        double total = 0.0, squares = 0.0;
        sbi_lane_do(run, sb_total(run->ctx, inputs[i], &total, err));
        sbi_lane_cell_real(run, names[i][0], total, err);
        sbi_lane_do(run, sb_sum_squares(run->ctx, inputs[i], &squares, err));
        sbi_lane_cell_real(run, names[i][1], squares, err);
    }
    return run->status;
}

const sbi_lane sbi_lanes_reduce[] = {
    {.name = "reduce_rows", .kind = "sum", .fixtures = SBI_FIX_ALL, .quick = true, .rows = true, .counts_inputs = true, .run = run_rows},
    {.name = "reduce_rows_long", .kind = "sum", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = run_rows_long},
    {.name = "reduce_columns", .kind = "sum", .fixtures = SBI_FIX_ALL, .counts_inputs = true, .run = run_columns},
    {.name = "reduce_columns_long", .kind = "sum", .fixtures = SBI_FIX_ALL, .counts_inputs = true, .run = run_columns_long},
    {.name = "reduce_middle", .kind = "sum", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = run_middle},
    {.name = "reduce_all", .kind = "sum", .fixtures = SBI_FIX_ALL, .counts_inputs = true, .run = run_all},
    {.name = "reduce_cancelling", .kind = "sum", .fixtures = SBI_FIX_ALL, .counts_inputs = true, .run = run_cancelling},
    {.name = "totals", .kind = "sum", .fixtures = SBI_FIX_ALL, .counts_inputs = true, .run = run_totals},
    {0},
};
