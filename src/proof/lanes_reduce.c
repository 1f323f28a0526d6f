// SPDX-License-Identifier: Apache-2.0
// Lanes of dots, sums, means, norms, variances, extremes and their places, and totals. Every lane reports a total in binary64 too: there one ulp of one term
// shows, which a float32 sum may round away and a maximum may not see.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static const char *const kinds[] = {"", "sum", "mean", "max", "argmax", "min", "argmin", "norm1", "norm2", "norm_max"};

static sb_dtype result_of(const sbi_lane_run *run, int kind) {
    return kind == SB_ARGMAX || kind == SB_ARGMIN ? SB_I64 : sbi_lane_real(run);
}

static void report_total(sbi_lane_run *run, const sb_array *x, sb_error *err) {
    double total = 0.0;
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_total(run->ctx, x, &total, err));
        sbi_lane_cell_real(run, "total", total, err);
    }
}

static void spread(sbi_lane_run *run, int axis, const sb_array *x, sb_array *mean, sb_array *variance, sb_array *deviation,
                   sb_error *err) {
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_variance(run->ctx, axis, 1, x, mean, variance, err));
        sbi_lane_do(run, sb_deviation(run->ctx, axis, 0, x, NULL, deviation, err));
    }
}

static void report_spread(sbi_lane_run *run, const sb_array *variance, const sb_array *deviation, const sb_array *mean, sb_error *err) {
    sbi_lane_cell(run, "variance", variance, err);
    sbi_lane_cell(run, "deviation", deviation, err);
    sbi_lane_cell(run, "mean64", mean, err);
}

// Every reduction over one axis of an array, then variance and deviation; over the last axis rows may go in parts.
static sb_status run_axis(sbi_lane_run *run, int axis, int ndim, const int64_t *shape, sb_error *err) {
    sb_array *x = sbi_lane_input(run, "x", sbi_lane_real(run), ndim, shape);
    int64_t left[SB_MAX_DIMS];
    int count = 0;
    for (int i = 0; i < ndim; i++) {
        if (i != axis) {
            left[count++] = shape[i];
        }
    }
    for (int kind = SB_SUM; kind <= SB_NORM_MAX; kind++) {
        sb_array *out = sbi_lane_result(run, result_of(run, kind), count, left);
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
    if (ndim && shape[axis] > 1) { // (one term has no deviation to lose a degree of freedom by)
        sb_array *variance = sbi_lane_result(run, sbi_lane_real(run), count, left);
        sb_array *deviation = sbi_lane_result(run, sbi_lane_real(run), count, left);
        sb_array *mean = sbi_lane_result(run, SB_F64, count, left);
        if (axis == 0) {
            spread(run, axis, x, mean, variance, deviation, err);
        } else {
            for (sbi_part p = sbi_lane_first(run, shape[0]); p.count; p = sbi_lane_next(run, p)) {
                spread(run, axis, sbi_lane_part(run, x, p), sbi_lane_part(run, mean, p), sbi_lane_part(run, variance, p),
                       sbi_lane_part(run, deviation, p), err);
            }
        }
        report_spread(run, variance, deviation, mean, err);
    }
    report_total(run, x, err);
    return run->status;
}

static sb_status run_reduce_rows(sbi_lane_run *run, sb_error *err) {
    return run_axis(run, 1, 2, SHAPE(sbi_lane_size(run, 12, 7), sbi_lane_size(run, 600, 97)), err);
}
static sb_status run_reduce_rows_long(sbi_lane_run *run, sb_error *err) {
    return run_axis(run, 1, 2, SHAPE(sbi_lane_size(run, 3, 2), sbi_lane_size(run, 9000, 4097)), err);
}
static sb_status run_reduce_columns(sbi_lane_run *run, sb_error *err) {
    return run_axis(run, 0, 2, SHAPE(sbi_lane_size(run, 200, 77), sbi_lane_size(run, 100, 67)), err);
}
static sb_status run_reduce_columns_long(sbi_lane_run *run, sb_error *err) {
    return run_axis(run, 0, 2, SHAPE(sbi_lane_size(run, 8200, 4099), sbi_lane_size(run, 3, 5)), err);
}
static sb_status run_reduce_middle(sbi_lane_run *run, sb_error *err) {
    return run_axis(run, 1, 3, SHAPE(sbi_lane_size(run, 6, 5), sbi_lane_size(run, 70, 37), sbi_lane_size(run, 20, 3)), err);
}

// Everything at once. Nothing has a sum, but no mean, extreme or place.
static sb_status run_reduce_all(sbi_lane_run *run, sb_error *err) {
    sb_array *x = sbi_lane_input(run, "x", sbi_lane_real(run), 2, SHAPE(sbi_lane_size(run, 30, 7), sbi_lane_size(run, 300, 613)));
    int last = run->fixture == SBI_FIX_EMPTY ? SB_SUM : SB_NORM_MAX;
    for (int kind = SB_SUM; kind <= last; kind++) {
        sb_array *out = sbi_lane_result(run, result_of(run, kind), 0, NULL);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_reduce(run->ctx, (sb_reduction)kind, SB_ALL, x, out, err));
        }
        sbi_lane_cell(run, kinds[kind], out, err);
    }
    if (sb_array_size(x) > 1) {
        sb_array *variance = sbi_lane_result(run, sbi_lane_real(run), 0, NULL), *mean = sbi_lane_result(run, SB_F64, 0, NULL);
        sb_array *deviation = sbi_lane_result(run, sbi_lane_real(run), 0, NULL);
        spread(run, SB_ALL, x, mean, variance, deviation, err);
        report_spread(run, variance, deviation, mean, err);
    }
    report_total(run, x, err);
    return run->status;
}

// Columns that hold every value and its negation: what is left of the sum is its roundings, so the order shows in float32.
static sb_status run_reduce_cancelling(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 200, 77), d = sbi_lane_size(run, 100, 67);
    sb_array *x = sbi_lane_input(run, "x", sbi_lane_real(run), 2, SHAPE(n, d)), *both = sbi_lane_result(run, sbi_lane_real(run), 2, SHAPE(2 * n, d));
    sb_array *upper = sbi_lane_part(run, both, (sbi_part){0, n, 2 * n});
    sb_array *lower = sbi_lane_part(run, both, (sbi_part){n, n, 2 * n});
    sb_array *columns = sbi_lane_result(run, sbi_lane_real(run), 1, SHAPE(d)), *all = sbi_lane_result(run, sbi_lane_real(run), 0, NULL);
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_array_copy(run->ctx, x, upper, err));
        sbi_lane_do(run, sb_scale(run->ctx, x, -1.0, lower, err));
        sbi_lane_do(run, sb_reduce(run->ctx, SB_SUM, 0, both, columns, err));
        sbi_lane_do(run, sb_reduce(run->ctx, SB_SUM, SB_ALL, both, all, err));
    }
    sbi_lane_cell(run, "columns", columns, err);
    sbi_lane_cell(run, "all", all, err);
    report_total(run, x, err);
    return run->status;
}

// Mean, 2-norm, variance and deviation of columns.
static void moments(sbi_lane_run *run, const char *const *names, const sb_array *x, int64_t d, sb_error *err) {
    sb_array *out[4];
    for (int i = 0; i < 4; i++) {
        out[i] = sbi_lane_result(run, sbi_lane_real(run), 1, SHAPE(d));
    }
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_reduce(run->ctx, SB_MEAN, 0, x, out[0], err));
        sbi_lane_do(run, sb_reduce(run->ctx, SB_NORM2, 0, x, out[1], err));
        sbi_lane_do(run, sb_variance(run->ctx, 0, 0, x, NULL, out[2], err));
        sbi_lane_do(run, sb_deviation(run->ctx, 0, 0, x, NULL, out[3], err));
    }
    for (int i = 0; i < 4; i++) {
        sbi_lane_cell(run, names[i], out[i], err);
    }
}

// Columns of equal terms: their mean is the term, their deviation +0. One term is then moved by the last row's own.
static sb_status run_reduce_constant(sbi_lane_run *run, sb_error *err) {
    static const char *const same[] = {"mean", "norm2", "variance", "deviation"};
    static const char *const moved[] = {"moved_mean", "moved_norm2", "moved_variance", "moved_deviation"};
    int64_t n = sbi_lane_size(run, 1000, 37), d = sbi_lane_size(run, 100, 67);
    sb_array *x = sbi_lane_input(run, "x", sbi_lane_real(run), 2, SHAPE(1, d)), *y = sbi_lane_input(run, "y", sbi_lane_real(run), 2, SHAPE(1, d));
    sb_array *all = sbi_lane_result(run, sbi_lane_real(run), 2, SHAPE(n, d));
    for (int64_t i = 0; i < n; i++) {
        sb_array *to = sbi_lane_part(run, all, (sbi_part){i, 1, n});
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_array_copy(run->ctx, x, to, err));
        }
    }
    moments(run, same, all, d, err);
    if (n > 0) {
        sb_array *last = sbi_lane_part(run, all, (sbi_part){n - 1, 1, n});
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_array_copy(run->ctx, y, last, err));
        }
    }
    moments(run, moved, all, d, err);
    return run->status;
}

// Sums and squares beyond binary64 and below it, whose mean, norm and deviation are not.
static sb_status run_reduce_overflow(sbi_lane_run *run, sb_error *err) {
    static const struct { const char *names[4]; double scale; } ways[] = {
        {{"great_mean", "great_norm2", "great_variance", "great_deviation"}, 0x1p1022},
        {{"large_mean", "large_norm2", "large_variance", "large_deviation"}, 0x1p510},
        {{"small_mean", "small_norm2", "small_variance", "small_deviation"}, 0x1p-530},
    };
    int64_t n = sbi_lane_size(run, 200, 77), d = sbi_lane_size(run, 100, 67);
    sb_array *x = sbi_lane_input(run, "x", sbi_lane_real(run), 2, SHAPE(n, d)), *scaled = sbi_lane_result(run, sbi_lane_real(run), 2, SHAPE(n, d));
    for (int i = 0; i < 3; i++) {
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_scale(run->ctx, x, ways[i].scale, scaled, err));
        }
        moments(run, ways[i].names, scaled, d, err);
    }
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

static sb_status dot_of(sbi_lane_run *run, int64_t n, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    sb_array *a = sbi_lane_input(run, "a", real, 1, SHAPE(n)), *b = sbi_lane_input(run, "b", real, 1, SHAPE(n));
    sb_array *out = sbi_lane_result(run, real, 0, NULL);
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_dot(run->ctx, a, b, out, err));
    }
    return sbi_lane_cell(run, "out", out, err);
}
static sb_status run_dot(sbi_lane_run *run, sb_error *err) { return dot_of(run, sbi_lane_size(run, 1000, 4095), err); }
static sb_status run_dot_blocks(sbi_lane_run *run, sb_error *err) { return dot_of(run, sbi_lane_size(run, 9000, 12345), err); }

#define LANE(lane, is_quick, in_rows, some) \
    {.name = #lane, .kind = "sum", .fixtures = some, .quick = is_quick, .rows = in_rows, .counts_inputs = true, .run = run_##lane}
#define LANE64(lane, in_rows, some) \
    {.name = #lane "_f64", .kind = "sum", .fixtures = some, .rows = in_rows, .counts_inputs = true, .run = run_##lane, .dtype = SB_F64}
#define FINITE (SBI_FIX_ALL & ~SBI_FIX(SBI_FIX_NONFINITE))
const sbi_lane sbi_lanes_reduce[] = {
    LANE(reduce_rows, true, true, SBI_FIX_ALL), LANE(reduce_rows_long, false, true, SBI_FIX_ALL),
    LANE(reduce_columns, false, false, SBI_FIX_ALL), LANE(reduce_columns_long, false, false, SBI_FIX_ALL),
    LANE(reduce_middle, false, true, SBI_FIX_ALL), LANE(reduce_all, false, false, SBI_FIX_ALL),
    LANE(reduce_cancelling, false, false, SBI_FIX_ALL), LANE(totals, false, false, SBI_FIX_ALL),
    LANE(reduce_constant, false, false, SBI_FIX_ALL), LANE(dot, false, false, SBI_FIX_ALL), LANE(dot_blocks, false, false, FINITE),
    LANE64(reduce_rows, true, SBI_FIX_ALL), LANE64(reduce_rows_long, true, SBI_FIX_ALL),
    LANE64(reduce_columns, false, SBI_FIX_ALL), LANE64(reduce_columns_long, false, SBI_FIX_ALL),
    LANE64(reduce_middle, true, SBI_FIX_ALL), LANE64(reduce_all, false, SBI_FIX_ALL),
    LANE64(reduce_cancelling, false, SBI_FIX_ALL), LANE64(reduce_constant, false, SBI_FIX_ALL),
    LANE64(reduce_overflow, false, SBI_FIX_ALL), LANE64(dot, false, SBI_FIX_ALL), LANE64(dot_blocks, false, FINITE),
    {0},
};
