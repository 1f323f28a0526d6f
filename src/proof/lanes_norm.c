// SPDX-License-Identifier: Apache-2.0
// Lanes of RMSNorm and LayerNorm both ways, with weight (and bias) and without.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

// The weight's gradient sums over rows, so it is taken from all rows at once, after the parts.
static sb_status rms_norm(sbi_lane_run *run, bool weighted, int64_t n, int64_t d, sb_error *err) {
    const double eps = 0x1.4f8b588e368f1p-17; // 1e-5
    sb_array *x = sbi_lane_input(run, "x", sbi_lane_real(run), 2, SHAPE(n, d)), *dy = sbi_lane_input(run, "dy", sbi_lane_real(run), 2, SHAPE(n, d));
    sb_array *weight = weighted ? sbi_lane_input(run, "weight", sbi_lane_real(run), 1, SHAPE(d)) : NULL;
    sb_array *y = sbi_lane_result(run, sbi_lane_real(run), 2, SHAPE(n, d)), *r = sbi_lane_result(run, SB_F64, 1, SHAPE(n));
    sb_array *dx = sbi_lane_result(run, sbi_lane_real(run), 2, SHAPE(n, d)), *dweight = sbi_lane_result(run, sbi_lane_real(run), 1, SHAPE(d));
    for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p)) {
        sb_array *from = sbi_lane_part(run, x, p), *to = sbi_lane_part(run, y, p), *kept = sbi_lane_part(run, r, p);
        sb_array *slope = sbi_lane_part(run, dy, p), *back = sbi_lane_part(run, dx, p);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_rms_norm(run->ctx, from, weight, eps, to, kept, err));
            sbi_lane_do(run, sb_rms_norm_backward(run->ctx, from, weight, kept, slope, back, NULL, err));
        }
    }
    sbi_lane_cell(run, "y", y, err);
    sbi_lane_cell(run, "r", r, err);
    sbi_lane_cell(run, "dx", dx, err);
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_rms_norm_backward(run->ctx, x, weight, r, dy, dx, dweight, err));
    }
    return sbi_lane_cell(run, "dweight", dweight, err);
}

static sb_status run_rms_norm(sbi_lane_run *run, sb_error *err) {
    return rms_norm(run, true, sbi_lane_size(run, 40, 33), sbi_lane_size(run, 192, 97), err);
}
static sb_status run_rms_norm_plain(sbi_lane_run *run, sb_error *err) {
    return rms_norm(run, false, sbi_lane_size(run, 40, 33), sbi_lane_size(run, 100, 61), err);
}
static sb_status run_rms_norm_long(sbi_lane_run *run, sb_error *err) {
    return rms_norm(run, true, sbi_lane_size(run, 3, 2), sbi_lane_size(run, 9000, 4099), err);
}
static sb_status run_rms_norm_tall(sbi_lane_run *run, sb_error *err) {
    return rms_norm(run, true, sbi_lane_size(run, 4200, 4097), sbi_lane_size(run, 3, 2), err);
}

static sb_status layer_norm(sbi_lane_run *run, bool weighted, int64_t n, int64_t d, sb_error *err) {
    const double eps = 0x1.4f8b588e368f1p-17; // 1e-5
    sb_dtype real = sbi_lane_real(run);
    sb_array *x = sbi_lane_input(run, "x", real, 2, SHAPE(n, d)), *dy = sbi_lane_input(run, "dy", real, 2, SHAPE(n, d));
    sb_array *weight = weighted ? sbi_lane_input(run, "weight", real, 1, SHAPE(d)) : NULL;
    sb_array *bias = weighted ? sbi_lane_input(run, "bias", real, 1, SHAPE(d)) : NULL;
    sb_array *y = sbi_lane_result(run, real, 2, SHAPE(n, d)), *dx = sbi_lane_result(run, real, 2, SHAPE(n, d));
    sb_array *mean = sbi_lane_result(run, SB_F64, 1, SHAPE(n)), *r = sbi_lane_result(run, SB_F64, 1, SHAPE(n));
    sb_array *dweight = sbi_lane_result(run, real, 1, SHAPE(d)), *dbias = sbi_lane_result(run, real, 1, SHAPE(d));
    for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p)) {
        sb_array *from = sbi_lane_part(run, x, p), *to = sbi_lane_part(run, y, p), *kept = sbi_lane_part(run, r, p);
        sb_array *middle = sbi_lane_part(run, mean, p), *slope = sbi_lane_part(run, dy, p), *back = sbi_lane_part(run, dx, p);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_layer_norm(run->ctx, from, weight, bias, eps, to, middle, kept, err));
            sbi_lane_do(run, sb_layer_norm_backward(run->ctx, from, weight, middle, kept, slope, back, NULL, NULL, err));
        }
    }
    sbi_lane_cell(run, "y", y, err);
    sbi_lane_cell(run, "mean", mean, err);
    sbi_lane_cell(run, "r", r, err);
    sbi_lane_cell(run, "dx", dx, err);
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_layer_norm_backward(run->ctx, x, weight, mean, r, dy, dx, dweight, dbias, err));
    }
    sbi_lane_cell(run, "dweight", dweight, err);
    sbi_lane_cell(run, "dbias", dbias, err);
    if (run->status == SB_OK) { // a bias alone
        sbi_lane_do(run, sb_layer_norm(run->ctx, x, NULL, bias, eps, y, NULL, NULL, err));
    }
    return sbi_lane_cell(run, "without_weight", y, err);
}

static sb_status run_layer_norm(sbi_lane_run *run, sb_error *err) {
    return layer_norm(run, true, sbi_lane_size(run, 40, 33), sbi_lane_size(run, 192, 97), err);
}
static sb_status run_layer_norm_plain(sbi_lane_run *run, sb_error *err) {
    return layer_norm(run, false, sbi_lane_size(run, 40, 33), sbi_lane_size(run, 100, 61), err);
}
static sb_status run_layer_norm_long(sbi_lane_run *run, sb_error *err) {
    return layer_norm(run, true, sbi_lane_size(run, 3, 2), sbi_lane_size(run, 9000, 4099), err);
}
static sb_status run_layer_norm_tall(sbi_lane_run *run, sb_error *err) {
    return layer_norm(run, true, sbi_lane_size(run, 4200, 4097), sbi_lane_size(run, 3, 2), err);
}

#define LANE(lane, is_quick, in_rows) {.name = #lane, .kind = "norm", .fixtures = SBI_FIX_ALL, .quick = is_quick, .rows = in_rows, \
                                       .counts_inputs = true, .run = run_##lane}
#define LANE64(lane, in_rows) {.name = #lane "_f64", .kind = "norm", .fixtures = SBI_FIX_ALL, .rows = in_rows, .counts_inputs = true, \
                               .run = run_##lane, .dtype = SB_F64}
const sbi_lane sbi_lanes_norm[] = {
    LANE(rms_norm, true, true), LANE(rms_norm_plain, false, true), LANE(rms_norm_long, false, true), LANE(rms_norm_tall, false, false),
    LANE(layer_norm, true, true), LANE(layer_norm_plain, false, true), LANE(layer_norm_long, false, true), LANE(layer_norm_tall, false, false),
    LANE64(rms_norm, true), LANE64(rms_norm_plain, true), LANE64(rms_norm_long, true), LANE64(rms_norm_tall, false),
    LANE64(layer_norm, true), LANE64(layer_norm_plain, true), LANE64(layer_norm_long, true), LANE64(layer_norm_tall, false),
    {0},
};
