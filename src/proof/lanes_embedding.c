// SPDX-License-Identifier: Apache-2.0
// Lanes of the embedding: the lookup, and the gradient as a sum of segments, short and of several blocks.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static sb_status run_lookup(sbi_lane_run *run, sb_error *err) {
    int64_t v = 50, d = sbi_lane_size(run, 24, 33), n = sbi_lane_size(run, 70, 13);
    sb_array *table = sbi_lane_input(run, "table", SB_F32, 2, SHAPE(v, d));
    sb_array *ids = sbi_lane_indices(run, "ids", SB_I32, 1, SHAPE(n), v);
    sb_array *out = sbi_lane_result(run, SB_F32, 2, SHAPE(n, d));
    for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p))
        sbi_lane_do(run, sb_embedding(run->ctx, table, sbi_lane_part(run, ids, p), sbi_lane_part(run, out, p), err));
    return sbi_lane_cell(run, "out", out, err);
}

// The second half of the positions takes away what the first half adds, so that what is left of a sum is its roundings:
// these show the order, which a sum of numbers that do not cancel would hide behind its rounding to float32.
static void cancel(sbi_lane_run *run, sb_array *ids, sb_array *dout, int64_t n, sb_error *err) {
    const sbi_part first = {0, n / 2 ? n / 2 : -1, n}, second = {n / 2, first.count, n};
    sbi_lane_do(run, sb_array_copy(run->ctx, sbi_lane_part(run, ids, first), sbi_lane_part(run, ids, second), err));
    sbi_lane_do(run, sb_unary(run->ctx, SB_NEG, sbi_lane_part(run, dout, first), sbi_lane_part(run, dout, second), err));
}

static sb_status gradient_of(sbi_lane_run *run, int64_t v, int64_t d, int64_t n, sb_error *err) {
    sb_array *ids = sbi_lane_indices(run, "ids", SB_I32, 1, SHAPE(n), v);
    sb_array *dout = sbi_lane_input(run, "dout", SB_F32, 2, SHAPE(n, d));
    sb_array *fresh = sbi_lane_result(run, SB_F32, 2, SHAPE(v, d));
    sb_array *added = sbi_lane_input(run, "dtable", SB_F32, 2, SHAPE(v, d));
    cancel(run, ids, dout, n, err);
    sbi_lane_do(run, sb_embedding_backward(run->ctx, ids, dout, 0, fresh, err));
    sbi_lane_do(run, sb_embedding_backward(run->ctx, ids, dout, 1, added, err));
    sbi_lane_cell(run, "dtable", fresh, err);
    return sbi_lane_cell(run, "accumulated", added, err);
}
static sb_status run_gradient(sbi_lane_run *run, sb_error *err) {
    return gradient_of(run, 60, sbi_lane_size(run, 40, 33), sbi_lane_size(run, 700, 301), err);
}
static sb_status run_blocks(sbi_lane_run *run, sb_error *err) {
    return gradient_of(run, 2, sbi_lane_size(run, 3, 5), sbi_lane_size(run, 20000, 8297), err);
}

const sbi_lane sbi_lanes_embedding[] = {
    {.name = "embedding", .kind = "order", .fixtures = SBI_FIX_ALL, .quick = true, .rows = true, .counts_inputs = true, .run = run_lookup},
    {.name = "embedding_backward", .kind = "sum", .fixtures = SBI_FIX_ALL, .training = true, .counts_inputs = true, .run = run_gradient},
    {.name = "embedding_backward_blocks", .kind = "sum", .fixtures = SBI_FIX_ALL, .training = true, .counts_inputs = true, .run = run_blocks},
    {.name = NULL},
};
