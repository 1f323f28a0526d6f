// SPDX-License-Identifier: Apache-2.0
// Lanes of softmax, log-softmax and cross-entropy, both ways. Absent entries come with the nonfinite fixture, and with the
// masked lane in every fixture.
#include "proof.h"

#include <string.h>

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static void softmaxes(sbi_lane_run *run, sb_array *x, int64_t n, int64_t d, sb_error *err) {
    sb_array *y = sbi_lane_result(run, sbi_lane_real(run), 2, SHAPE(n, d)), *z = sbi_lane_result(run, sbi_lane_real(run), 2, SHAPE(n, d));
    for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p)) {
        sb_array *from = sbi_lane_part(run, x, p), *to = sbi_lane_part(run, y, p), *log_to = sbi_lane_part(run, z, p);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_softmax(run->ctx, from, to, err));
            sbi_lane_do(run, sb_log_softmax(run->ctx, from, log_to, err));
        }
    }
    sbi_lane_cell(run, "softmax", y, err);
    sbi_lane_cell(run, "log_softmax", z, err);
}

static sb_status run_softmax(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 7, 5), d = sbi_lane_size(run, 600, 97);
    softmaxes(run, sbi_lane_input(run, "x", sbi_lane_real(run), 2, SHAPE(n, d)), n, d, err);
    return run->status;
}

static sb_status run_softmax_long(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 2, 3), d = sbi_lane_size(run, 9000, 4097);
    softmaxes(run, sbi_lane_input(run, "x", sbi_lane_real(run), 2, SHAPE(n, d)), n, d, err);
    return run->status;
}

// x[n + 1, 2d] of values[n, d]: every second entry absent, and before the rows one without any present entry.
static sb_array *masked(sbi_lane_run *run, const sb_array *values, int64_t n, int64_t d, sb_error *err) {
    sb_array *x = sbi_lane_result(run, sbi_lane_real(run), 2, SHAPE(n + 1, 2 * d));
    size_t item = sb_dtype_size(sbi_lane_real(run));
    uint8_t *from = sbi_allocate(&sbi_malloc_allocator, n * d + 1, item, err);
    uint8_t *to = sbi_allocate(&sbi_malloc_allocator, (n + 1) * 2 * d + 1, item, err);
    const float absent = -__builtin_inff();
    const double wide_absent = (double)absent;
    sbi_lane_do(run, from && to ? SB_OK : SB_ERR_MEMORY);
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_array_read(values, from, (size_t)(n * d) * item, err));
        for (int64_t i = 0; i < (n + 1) * 2 * d; i++) {
            memcpy(to + (size_t)i * item, item == sizeof absent ? (const void *)&absent : (const void *)&wide_absent, item);
        }
        for (int64_t i = 0; i < n * d; i++) {
            memcpy(to + (size_t)(2 * d + 2 * i + 1) * item, from + (size_t)i * item, item);
        }
        sbi_lane_do(run, sb_array_write(x, to, (size_t)((n + 1) * 2 * d) * item, err));
    }
    sbi_release(&sbi_malloc_allocator, from);
    sbi_release(&sbi_malloc_allocator, to);
    return x;
}

static sb_status run_softmax_masked(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 12, 7), d = sbi_lane_size(run, 70, 33);
    sb_array *values = sbi_lane_input(run, "x", sbi_lane_real(run), 2, SHAPE(n, d));
    softmaxes(run, masked(run, values, n, d, err), n + 1, 2 * d, err);
    return run->status;
}

// Each target t becomes (t + offset) | bits.
static void move_targets(sbi_lane_run *run, sb_array *targets, int32_t offset, int32_t bits, sb_error *err) {
    int64_t n = targets ? sb_array_size(targets) : 0;
    int32_t *host = sbi_allocate(&sbi_malloc_allocator, n + 1, sizeof *host, err);
    sbi_lane_do(run, host ? SB_OK : SB_ERR_MEMORY);
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_array_read(targets, host, (size_t)n * sizeof *host, err));
        for (int64_t i = 0; i < n; i++) {
            host[i] = (host[i] + offset) | bits;
        }
        sbi_lane_do(run, sb_array_write(targets, host, (size_t)n * sizeof *host, err));
    }
    sbi_release(&sbi_malloc_allocator, host);
}

// Targets -1 .. v-1; loss and gradient in parts, then the gradient in place.
static sb_status cross_entropy(sbi_lane_run *run, int64_t n, int64_t v, sb_error *err) {
    sb_array *x = sbi_lane_input(run, "logits", sbi_lane_real(run), 2, SHAPE(n, v));
    sb_array *targets = sbi_lane_indices(run, "targets", SB_I32, 1, SHAPE(n), v + 1);
    sb_array *loss = sbi_lane_result(run, SB_F64, 1, SHAPE(n)), *dx = sbi_lane_result(run, sbi_lane_real(run), 2, SHAPE(n, v));
    const double scale = 0x1.5555555555555p-6; // 1/48
    move_targets(run, targets, -1, 0, err);
    for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p)) {
        sb_array *from = sbi_lane_part(run, x, p), *t = sbi_lane_part(run, targets, p);
        sb_array *to = sbi_lane_part(run, loss, p), *gradient = sbi_lane_part(run, dx, p);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_cross_entropy(run->ctx, NULL, from, t, NULL, to, err));
            sbi_lane_do(run, sb_cross_entropy_backward(run->ctx, NULL, from, t, NULL, scale, gradient, err));
        }
    }
    sbi_lane_cell(run, "loss", loss, err);
    sbi_lane_cell(run, "gradient", dx, err);
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_cross_entropy_backward(run->ctx, NULL, x, targets, NULL, scale, x, err));
    }
    return sbi_lane_cell(run, "in_place", x, err);
}

static sb_status run_cross_entropy(sbi_lane_run *run, sb_error *err) {
    return cross_entropy(run, sbi_lane_size(run, 24, 11), sbi_lane_size(run, 257, 31), err);
}
static sb_status run_cross_entropy_long(sbi_lane_run *run, sb_error *err) {
    return cross_entropy(run, sbi_lane_size(run, 2, 3), sbi_lane_size(run, 9000, 4099), err);
}

// Every reduction, with and without weights and smoothing; int64 targets of which class 1 is ignored.
static sb_status run_cross_entropy_options(sbi_lane_run *run, sb_error *err) {
    static const char *const names[] = {"weighted_each", "weighted_sum", "weighted_mean", "smoothed_each", "smoothed_sum",
                                        "smoothed_mean", "both_each", "both_sum", "both_mean"};
    static const char *const slopes[] = {"weighted_each_dx", "weighted_sum_dx", "weighted_mean_dx", "smoothed_each_dx", "smoothed_sum_dx",
                                         "smoothed_mean_dx", "both_each_dx", "both_sum_dx", "both_mean_dx"};
    sb_dtype real = sbi_lane_real(run);
    int64_t n = sbi_lane_size(run, 24, 11), v = sbi_lane_size(run, 130, 31);
    sb_array *x = sbi_lane_input(run, "logits", real, 2, SHAPE(n, v)), *weights = sbi_lane_input(run, "weights", real, 1, SHAPE(v));
    sb_array *targets = sbi_lane_indices(run, "targets", SB_I64, 1, SHAPE(n), v);
    for (int i = 0; i < 9; i++) {
        const sb_cross_entropy_options o = {.size = sizeof o, .reduction = (sb_loss_reduction)(i % 3), .ignores = 1, .ignore_index = 1,
                                            .label_smoothing = i / 3 ? 0.1 : 0.0};
        sb_array *w = i / 3 == 1 ? NULL : weights;
        sb_array *loss = sbi_lane_result(run, SB_F64, i % 3 == 0, SHAPE(n)), *dx = sbi_lane_result(run, real, 2, SHAPE(n, v));
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_cross_entropy(run->ctx, &o, x, targets, w, loss, err));
            sbi_lane_do(run, sb_cross_entropy_backward(run->ctx, &o, x, targets, w, 1.1, dx, err));
        }
        sbi_lane_cell(run, names[i], loss, err);
        sbi_lane_cell(run, slopes[i], dx, err);
    }
    return run->status;
}

// Rows of which half is absent, the first altogether. Any targets, absent ones among them; then present ones, so that the
// mean is finite: it does not count the first row, and smoothing meets present entries alone.
static sb_status run_cross_entropy_masked(sbi_lane_run *run, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    int64_t n = sbi_lane_size(run, 12, 7), d = sbi_lane_size(run, 70, 33), rows = n + 1, v = 2 * d;
    sb_array *x = masked(run, sbi_lane_input(run, "logits", real, 2, SHAPE(n, d)), n, d, err);
    sb_array *weights = sbi_lane_input(run, "weights", real, 1, SHAPE(v));
    sb_array *targets = sbi_lane_indices(run, "targets", SB_I32, 1, SHAPE(rows), v + 1);
    sb_array *loss = sbi_lane_result(run, SB_F64, 1, SHAPE(rows)), *dx = sbi_lane_result(run, real, 2, SHAPE(rows, v));
    move_targets(run, targets, -1, 0, err);
    for (sbi_part p = sbi_lane_first(run, rows); p.count; p = sbi_lane_next(run, p)) {
        sb_array *from = sbi_lane_part(run, x, p), *t = sbi_lane_part(run, targets, p);
        sb_array *to = sbi_lane_part(run, loss, p), *gradient = sbi_lane_part(run, dx, p);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_cross_entropy(run->ctx, NULL, from, t, NULL, to, err));
            sbi_lane_do(run, sb_cross_entropy_backward(run->ctx, NULL, from, t, NULL, 1.1, gradient, err));
        }
    }
    sbi_lane_cell(run, "each", loss, err);
    sbi_lane_cell(run, "each_dx", dx, err);
    move_targets(run, targets, 0, 1, err); // (-1 stays)
    for (int smooth = 0; smooth < 2; smooth++) {
        const sb_cross_entropy_options o = {.size = sizeof o, .reduction = SB_LOSS_MEAN, .label_smoothing = smooth ? 0.1 : 0.0};
        sb_array *mean = sbi_lane_result(run, SB_F64, 0, NULL), *slope = sbi_lane_result(run, real, 2, SHAPE(rows, v));
        sb_array *w = smooth ? weights : NULL;
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_cross_entropy(run->ctx, &o, x, targets, w, mean, err));
            sbi_lane_do(run, sb_cross_entropy_backward(run->ctx, &o, x, targets, w, 1.1, slope, err));
        }
        sbi_lane_cell(run, smooth ? "smoothed" : "mean", mean, err);
        sbi_lane_cell(run, smooth ? "smoothed_dx" : "mean_dx", slope, err);
    }
    return run->status;
}

// Backward from what the forward wrote; then in place.
static sb_status softmax_backward(sbi_lane_run *run, int64_t n, int64_t d, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    sb_array *x = sbi_lane_input(run, "x", real, 2, SHAPE(n, d)), *dy = sbi_lane_input(run, "dy", real, 2, SHAPE(n, d));
    sb_array *y = sbi_lane_result(run, real, 2, SHAPE(n, d)), *z = sbi_lane_result(run, real, 2, SHAPE(n, d));
    sb_array *dx = sbi_lane_result(run, real, 2, SHAPE(n, d)), *dz = sbi_lane_result(run, real, 2, SHAPE(n, d));
    for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p)) {
        sb_array *from = sbi_lane_part(run, x, p), *slope = sbi_lane_part(run, dy, p), *to = sbi_lane_part(run, y, p);
        sb_array *log_to = sbi_lane_part(run, z, p), *back = sbi_lane_part(run, dx, p), *log_back = sbi_lane_part(run, dz, p);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_softmax(run->ctx, from, to, err));
            sbi_lane_do(run, sb_log_softmax(run->ctx, from, log_to, err));
            sbi_lane_do(run, sb_softmax_backward(run->ctx, to, slope, back, err));
            sbi_lane_do(run, sb_log_softmax_backward(run->ctx, log_to, slope, log_back, err));
        }
    }
    sbi_lane_cell(run, "dx", dx, err);
    sbi_lane_cell(run, "log_dx", dz, err);
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_softmax_backward(run->ctx, y, dy, dy, err));
    }
    return sbi_lane_cell(run, "in_place", dy, err);
}
static sb_status run_softmax_backward(sbi_lane_run *run, sb_error *err) {
    return softmax_backward(run, sbi_lane_size(run, 7, 5), sbi_lane_size(run, 600, 97), err);
}

#define LANE(lane, group, is_quick, in_rows) {.name = #lane, .kind = group, .fixtures = SBI_FIX_ALL, .quick = is_quick, \
                                              .rows = in_rows, .counts_inputs = true, .run = run_##lane}
#define LANE64(lane, group, in_rows) {.name = #lane "_f64", .kind = group, .fixtures = SBI_FIX_ALL, .rows = in_rows, \
                                      .counts_inputs = true, .run = run_##lane, .dtype = SB_F64}
const sbi_lane sbi_lanes_softmax[] = {
    LANE(softmax, "softmax", true, true), LANE(softmax_long, "softmax", false, true), LANE(softmax_masked, "softmax", false, true),
    LANE(softmax_backward, "softmax", false, true), LANE(cross_entropy, "loss", true, true),
    LANE(cross_entropy_long, "loss", false, true), LANE(cross_entropy_options, "loss", false, false),
    LANE(cross_entropy_masked, "loss", false, true),
    LANE64(softmax, "softmax", true), LANE64(softmax_long, "softmax", true), LANE64(softmax_masked, "softmax", true),
    LANE64(softmax_backward, "softmax", true), LANE64(cross_entropy, "loss", true), LANE64(cross_entropy_long, "loss", true),
    LANE64(cross_entropy_options, "loss", false), LANE64(cross_entropy_masked, "loss", true),
    {0},
};
