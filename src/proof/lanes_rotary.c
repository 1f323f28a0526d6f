// SPDX-License-Identifier: Apache-2.0
// Lanes of rotary embedding: its tables, and the turn there and back.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static sb_status run_table(sbi_lane_run *run, sb_error *err) {
    int64_t positions = sbi_lane_size(run, 130, 11), half = sbi_lane_size(run, 32, 67);
    sb_dtype real = sbi_lane_real(run);
    double theta = (double)(2 + sbi_lane_word(run, "theta") % 1000000);
    sb_array *c = sbi_lane_result(run, real, 2, SHAPE(positions, half));
    sb_array *s = sbi_lane_result(run, real, 2, SHAPE(positions, half));
    sbi_lane_do(run, sb_rotary_table(run->ctx, theta, c, s, err));
    sbi_lane_cell(run, "cos", c, err);
    return sbi_lane_cell(run, "sin", s, err);
}

// A batch in parts has the positions of the whole: they run along the second axis.
static sb_status run_turn(sbi_lane_run *run, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    int64_t b = sbi_lane_size(run, 4, 3), t = sbi_lane_size(run, 9, 5), h = sbi_lane_size(run, 3, 1);
    int64_t half = sbi_lane_size(run, 16, 37), first = 3;
    sb_array *x = sbi_lane_input(run, "x", real, 4, SHAPE(b, t, h, 2 * half));
    sb_array *c = sbi_lane_input(run, "cos", real, 2, SHAPE(first + t, half));
    sb_array *s = sbi_lane_input(run, "sin", real, 2, SHAPE(first + t, half));
    sb_array *y = sbi_lane_result(run, real, 4, SHAPE(b, t, h, 2 * half));
    for (sbi_part p = sbi_lane_first(run, b); p.count; p = sbi_lane_next(run, p)) {
        sb_array *from = sbi_lane_part(run, x, p), *to = sbi_lane_part(run, y, p);
        sbi_lane_do(run, sb_rotary(run->ctx, from, c, s, first, 0, to, err));
        sbi_lane_do(run, sb_rotary(run->ctx, from, c, s, 0, 1, from, err)); // back, in place
    }
    sbi_lane_cell(run, "y", y, err);
    return sbi_lane_cell(run, "x", x, err);
}

#define PLACES (SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_ODD) | SBI_FIX(SBI_FIX_EMPTY) | SBI_FIX(SBI_FIX_ONE))

const sbi_lane sbi_lanes_rotary[] = {
    {.name = "rotary_table", .kind = "function", .fixtures = PLACES, .run = run_table},
    {.name = "rotary", .kind = "element", .fixtures = SBI_FIX_ALL, .quick = true, .rows = true, .counts_inputs = true, .run = run_turn},
    {.name = "rotary_table_f64", .kind = "function", .fixtures = PLACES, .run = run_table, .dtype = SB_F64},
    {.name = "rotary_f64", .kind = "element", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = run_turn, .dtype = SB_F64},
    {.name = NULL},
};
