// SPDX-License-Identifier: Apache-2.0
// Lanes of the optimizers: steps of AdamW, Adam and SGD, and the clip of several arrays by their common norm.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

typedef sb_status adam_step(sb_context *ctx, const sb_adamw_options *options, const sb_array *g, sb_array *p, sb_array *m,
                            sb_array *v, sb_error *err);

static sb_status run_steps(sbi_lane_run *run, adam_step *adam, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    int64_t n = sbi_lane_size(run, 8, 6), d = sbi_lane_size(run, 190, 77);
    sb_array *g = sbi_lane_input(run, "g", real, 2, SHAPE(n, d)), *p = sbi_lane_input(run, "p", real, 2, SHAPE(n, d));
    sb_array *m = sbi_lane_input(run, "m", real, 2, SHAPE(n, d)), *root = sbi_lane_input(run, "v", real, 2, SHAPE(n, d));
    sb_array *v = sbi_lane_result(run, real, 2, SHAPE(n, d));
    sbi_lane_do(run, sb_binary(run->ctx, SB_MUL, root, root, v, err)); // not negative
    sb_adamw_options options = {.size = sizeof options, .learning_rate = 0.013, .beta1 = 0.9, .beta2 = 0.95,
                                .eps = 1e-8, .weight_decay = 0.1};
    // Powers of the betas in the type of the data: constants, since the caller's rounding may be any.
    static const double powers[2][2][2] = {{{(double)0.9f, (double)0.95f}, {(double)0.9f * (double)0.9f, (double)0.95f * (double)0.95f}},
                                           {{0.9, 0.95}, {0.9 * 0.9, 0.95 * 0.95}}};
    for (int step = 0; step < 2; step++) {
        options.beta1_power = powers[real == SB_F64][step][0];
        options.beta2_power = powers[real == SB_F64][step][1];
        for (sbi_part part = sbi_lane_first(run, n); part.count; part = sbi_lane_next(run, part))
            sbi_lane_do(run, adam(run->ctx, &options, sbi_lane_part(run, g, part), sbi_lane_part(run, p, part),
                                  sbi_lane_part(run, m, part), sbi_lane_part(run, v, part), err));
    }
    sbi_lane_cell(run, "p", p, err);
    sbi_lane_cell(run, "m", m, err);
    return sbi_lane_cell(run, "v", v, err);
}
static sb_status run_adamw(sbi_lane_run *run, sb_error *err) { return run_steps(run, sb_adamw, err); }
static sb_status run_adam(sbi_lane_run *run, sb_error *err) { return run_steps(run, sb_adam, err); }

// Three steps each, the first on a buffer that holds nothing yet.
static sb_status run_sgd(sbi_lane_run *run, sb_error *err) {
    static const struct { const char *p, *m; sb_sgd_options options; } kinds[] = {
        {"plain", NULL, {.learning_rate = 0.013, .weight_decay = 0.1}},
        {"momentum", "momentum_m", {.learning_rate = 0.013, .momentum = 0.9, .dampening = 0.3}},
        {"nesterov", "nesterov_m", {.learning_rate = 0.013, .momentum = 0.9, .weight_decay = 0.1, .nesterov = 1}}};
    sb_dtype real = sbi_lane_real(run);
    int64_t n = sbi_lane_size(run, 8, 6), d = sbi_lane_size(run, 190, 77);
    sb_array *g = sbi_lane_input(run, "g", real, 2, SHAPE(n, d)), *start = sbi_lane_input(run, "p", real, 2, SHAPE(n, d));
    for (int k = 0; k < 3; k++) {
        sb_array *p = sbi_lane_result(run, real, 2, SHAPE(n, d)), *m = sbi_lane_result(run, real, 2, SHAPE(n, d));
        sb_sgd_options options = kinds[k].options;
        options.size = sizeof options;
        sbi_lane_do(run, sb_array_copy(run->ctx, start, p, err));
        for (int step = 0; step < 3; step++) {
            options.first = step == 0;
            for (sbi_part part = sbi_lane_first(run, n); part.count; part = sbi_lane_next(run, part))
                sbi_lane_do(run, sb_sgd(run->ctx, &options, sbi_lane_part(run, g, part), sbi_lane_part(run, p, part),
                                        sbi_lane_part(run, m, part), err));
        }
        sbi_lane_cell(run, kinds[k].p, p, err);
        if (kinds[k].m) sbi_lane_cell(run, kinds[k].m, m, err);
    }
    return run->status;
}

static sb_status run_clip(sbi_lane_run *run, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    int64_t n = sbi_lane_size(run, 5000, 4099), d = sbi_lane_size(run, 33, 7);
    sb_array *a = sbi_lane_input(run, "a", real, 1, SHAPE(n)), *b = sbi_lane_input(run, "b", real, 2, SHAPE(d, d));
    sb_array *c = sbi_lane_input(run, "c", real, 0, NULL), *const grads[] = {a, b, c};
    double norm = 0.0;
    sbi_lane_do(run, sb_clip_norm(run->ctx, 3, grads, 0.7, &norm, err));
    sbi_lane_cell(run, "a", a, err);
    sbi_lane_cell(run, "b", b, err);
    sbi_lane_cell(run, "c", c, err);
    return sbi_lane_cell_real(run, "norm", norm, err);
}

#define FINITE (SBI_FIX_ALL & ~SBI_FIX(SBI_FIX_NONFINITE))
#define STEP(lane, type, ...) {.name = lane, .kind = "optimizer", .fixtures = SBI_FIX_ALL, .training = true, .rows = true, \
                               .counts_inputs = true, .dtype = type, __VA_ARGS__}
const sbi_lane sbi_lanes_optimizer[] = {
    STEP("adamw", SB_F32, .run = run_adamw), STEP("adam", SB_F32, .run = run_adam), STEP("sgd", SB_F32, .run = run_sgd),
    STEP("adamw_f64", SB_F64, .run = run_adamw), STEP("adam_f64", SB_F64, .run = run_adam), STEP("sgd_f64", SB_F64, .run = run_sgd),
    {.name = "clip_norm", .kind = "optimizer", .fixtures = FINITE, .training = true, .counts_inputs = true, .run = run_clip},
    {.name = "clip_norm_f64", .kind = "optimizer", .fixtures = FINITE, .training = true, .counts_inputs = true, .run = run_clip, .dtype = SB_F64},
    {.name = NULL},
};
