// SPDX-License-Identifier: Apache-2.0
// Lanes of the optimizer: two steps of AdamW, and the clip of several arrays by their common norm.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static sb_status run_adamw(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 8, 6), d = sbi_lane_size(run, 190, 77);
    sb_array *g = sbi_lane_input(run, "g", SB_F32, 2, SHAPE(n, d)), *p = sbi_lane_input(run, "p", SB_F32, 2, SHAPE(n, d));
    sb_array *m = sbi_lane_input(run, "m", SB_F32, 2, SHAPE(n, d)), *root = sbi_lane_input(run, "v", SB_F32, 2, SHAPE(n, d));
    sb_array *v = sbi_lane_result(run, SB_F32, 2, SHAPE(n, d));
    sbi_lane_do(run, sb_binary(run->ctx, SB_MUL, root, root, v, err)); // not negative
    sb_adamw_options options = {.size = sizeof options, .learning_rate = 0.013f, .beta1 = 0.9f, .beta2 = 0.95f,
                                .eps = 1e-8f, .weight_decay = 0.1f, .beta1_power = 1.0, .beta2_power = 1.0};
    for (int step = 0; step < 2; step++) {
        options.beta1_power *= (double)options.beta1;
        options.beta2_power *= (double)options.beta2;
        for (sbi_part part = sbi_lane_first(run, n); part.count; part = sbi_lane_next(run, part))
            sbi_lane_do(run, sb_adamw(run->ctx, &options, sbi_lane_part(run, g, part), sbi_lane_part(run, p, part),
                                      sbi_lane_part(run, m, part), sbi_lane_part(run, v, part), err));
    }
    sbi_lane_cell(run, "p", p, err);
    sbi_lane_cell(run, "m", m, err);
    return sbi_lane_cell(run, "v", v, err);
}

static sb_status run_clip(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 5000, 4099), d = sbi_lane_size(run, 33, 7);
    sb_array *a = sbi_lane_input(run, "a", SB_F32, 1, SHAPE(n)), *b = sbi_lane_input(run, "b", SB_F32, 2, SHAPE(d, d));
    sb_array *c = sbi_lane_input(run, "c", SB_F32, 0, NULL), *const grads[] = {a, b, c};
    double norm = 0.0;
    sbi_lane_do(run, sb_clip_norm(run->ctx, 3, grads, 0.7, &norm, err));
    sbi_lane_cell(run, "a", a, err);
    sbi_lane_cell(run, "b", b, err);
    sbi_lane_cell(run, "c", c, err);
    return sbi_lane_cell_real(run, "norm", norm, err);
}

const sbi_lane sbi_lanes_optimizer[] = {
    {.name = "adamw", .kind = "optimizer", .fixtures = SBI_FIX_ALL, .training = true, .rows = true, .counts_inputs = true, .run = run_adamw},
    {.name = "clip_norm", .kind = "optimizer", .fixtures = SBI_FIX_ALL & ~SBI_FIX(SBI_FIX_NONFINITE), .training = true, .counts_inputs = true, .run = run_clip},
    {.name = NULL},
};
