// SPDX-License-Identifier: Apache-2.0
// Lanes of softmax, log-softmax and cross-entropy both ways. Absent entries come with the nonfinite fixture, and with the
// masked lane in every fixture.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static void softmaxes(sbi_lane_run *run, sb_array *x, int64_t n, int64_t d, sb_error *err) {
    sb_array *y = sbi_lane_result(run, SB_F32, 2, SHAPE(n, d)), *z = sbi_lane_result(run, SB_F32, 2, SHAPE(n, d));
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
    softmaxes(run, sbi_lane_input(run, "x", SB_F32, 2, SHAPE(n, d)), n, d, err);
    return run->status;
}

static sb_status run_softmax_long(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 2, 3), d = sbi_lane_size(run, 9000, 4097);
    softmaxes(run, sbi_lane_input(run, "x", SB_F32, 2, SHAPE(n, d)), n, d, err);
    return run->status;
}

// Every second entry absent, and before the rows one without any present entry.
static sb_status run_softmax_masked(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 12, 7), d = sbi_lane_size(run, 70, 33);
    sb_array *values = sbi_lane_input(run, "x", SB_F32, 2, SHAPE(n, d));
    sb_array *x = sbi_lane_result(run, SB_F32, 2, SHAPE(n + 1, 2 * d));
    float *from = sbi_allocate(&sbi_malloc_allocator, n * d + 1, sizeof *from, err);
    float *to = sbi_allocate(&sbi_malloc_allocator, (n + 1) * 2 * d + 1, sizeof *to, err);
    sbi_lane_do(run, from && to ? SB_OK : SB_ERR_MEMORY);
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_array_read(values, from, (size_t)(n * d) * sizeof *from, err));
        for (int64_t i = 0; i < (n + 1) * 2 * d; i++) {
            to[i] = -__builtin_inff();
        }
        for (int64_t i = 0; i < n * d; i++) {
            to[2 * d + 2 * i + 1] = from[i];
        }
        sbi_lane_do(run, sb_array_write(x, to, (size_t)((n + 1) * 2 * d) * sizeof *to, err));
    }
    sbi_release(&sbi_malloc_allocator, from);
    sbi_release(&sbi_malloc_allocator, to);
    softmaxes(run, x, n + 1, 2 * d, err);
    return run->status;
}

// Targets -1 .. v-1; loss and gradient in parts, then the gradient in place.
static sb_status cross_entropy(sbi_lane_run *run, int64_t n, int64_t v, sb_error *err) {
    sb_array *x = sbi_lane_input(run, "logits", SB_F32, 2, SHAPE(n, v));
    sb_array *targets = sbi_lane_indices(run, "targets", SB_I32, 1, SHAPE(n), v + 1);
    sb_array *loss = sbi_lane_result(run, SB_F64, 1, SHAPE(n)), *dx = sbi_lane_result(run, SB_F32, 2, SHAPE(n, v));
    int32_t *host = sbi_allocate(&sbi_malloc_allocator, n + 1, sizeof *host, err);
    const double scale = 0x1.5555555555555p-6; // 1/48
    sbi_lane_do(run, host ? SB_OK : SB_ERR_MEMORY);
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_array_read(targets, host, (size_t)n * sizeof *host, err));
        for (int64_t i = 0; i < n; i++) {
            host[i]--;
        }
        sbi_lane_do(run, sb_array_write(targets, host, (size_t)n * sizeof *host, err));
    }
    sbi_release(&sbi_malloc_allocator, host);
    for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p)) {
        sb_array *from = sbi_lane_part(run, x, p), *t = sbi_lane_part(run, targets, p);
        sb_array *to = sbi_lane_part(run, loss, p), *gradient = sbi_lane_part(run, dx, p);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_cross_entropy(run->ctx, from, t, to, err));
            sbi_lane_do(run, sb_cross_entropy_backward(run->ctx, from, t, scale, gradient, err));
        }
    }
    sbi_lane_cell(run, "loss", loss, err);
    sbi_lane_cell(run, "gradient", dx, err);
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_cross_entropy_backward(run->ctx, x, targets, scale, x, err));
    }
    return sbi_lane_cell(run, "in_place", x, err);
}

static sb_status run_cross_entropy(sbi_lane_run *run, sb_error *err) {
    return cross_entropy(run, sbi_lane_size(run, 24, 11), sbi_lane_size(run, 257, 31), err);
}
static sb_status run_cross_entropy_long(sbi_lane_run *run, sb_error *err) {
    return cross_entropy(run, sbi_lane_size(run, 2, 3), sbi_lane_size(run, 9000, 4099), err);
}

#define LANE(lane, group, is_quick) {.name = #lane, .kind = group, .fixtures = SBI_FIX_ALL, .quick = is_quick, .rows = true, \
                                     .counts_inputs = true, .run = run_##lane}
const sbi_lane sbi_lanes_softmax[] = {
    LANE(softmax, "softmax", true), LANE(softmax_long, "softmax", false), LANE(softmax_masked, "softmax", false),
    LANE(cross_entropy, "loss", true), LANE(cross_entropy_long, "loss", false),
    {0},
};
