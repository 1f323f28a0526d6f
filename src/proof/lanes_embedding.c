// SPDX-License-Identifier: Apache-2.0
// Lanes of gather, scatter and the embedding: rows moved, and the gradient as a sum of segments, short and of several
// blocks.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static sb_status run_lookup(sbi_lane_run *run, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    int64_t v = 50, d = sbi_lane_size(run, 24, 33), n = sbi_lane_size(run, 70, 13);
    sb_array *table = sbi_lane_input(run, "table", real, 2, SHAPE(v, d));
    sb_array *ids = sbi_lane_indices(run, "ids", SB_I32, 1, SHAPE(n), v);
    sb_array *out = sbi_lane_result(run, real, 2, SHAPE(n, d));
    for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p))
        sbi_lane_do(run, sb_embedding(run->ctx, table, sbi_lane_part(run, ids, p), sbi_lane_part(run, out, p), err));
    return sbi_lane_cell(run, "out", out, err);
}

// The second half of the positions takes away what the first half adds, so that what is left of a sum is its roundings:
// these show the order, which a sum of numbers that do not cancel would hide behind its rounding to float32.
static void cancel(sbi_lane_run *run, sb_array *ids, sb_array *dout, int64_t n, sb_error *err) {
    const sbi_part first = {0, n / 2 ? n / 2 : -1, n}, second = {n / 2, first.count, n};
    sbi_lane_do(run, sb_array_copy(run->ctx, sbi_lane_part(run, ids, first), sbi_lane_part(run, ids, second), err));
    sbi_lane_do(run, sb_scale(run->ctx, sbi_lane_part(run, dout, first), -1.0, sbi_lane_part(run, dout, second), err));
}

static sb_status gradient_of(sbi_lane_run *run, int64_t v, int64_t d, int64_t n, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    sb_array *ids = sbi_lane_indices(run, "ids", SB_I32, 1, SHAPE(n), v);
    sb_array *dout = sbi_lane_input(run, "dout", real, 2, SHAPE(n, d));
    sb_array *fresh = sbi_lane_result(run, real, 2, SHAPE(v, d));
    sb_array *added = sbi_lane_input(run, "dtable", real, 2, SHAPE(v, d));
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

// Rows of three widths, by int64 indices; NaN keep their bits.
static sb_status run_gather(sbi_lane_run *run, sb_error *err) {
    static const char *const rows[] = {"vector", "narrow", "wide"};
    static const int64_t widths[] = {1, 3, 5000};
    int64_t v = 40, n = sbi_lane_size(run, 90, 13);
    for (int i = 0; i < 3; i++) {
        sb_array *x = sbi_lane_input(run, rows[i], SB_F32, 2, SHAPE(v, widths[i]));
        sb_array *indices = sbi_lane_indices(run, "indices", SB_I64, 1, SHAPE(n), v);
        sb_array *out = sbi_lane_result(run, SB_F32, 2, SHAPE(n, widths[i]));
        sbi_lane_do(run, sb_gather(run->ctx, x, indices, out, err));
        sbi_lane_cell(run, rows[i], out, err);
    }
    return run->status;
}
static sb_status run_scatter(sbi_lane_run *run, sb_error *err) {
    static const char *const rows[] = {"vector", "narrow", "wide"};
    static const int64_t widths[] = {1, 3, 5000};
    int64_t v = 40, n = sbi_lane_size(run, 90, 13);
    for (int i = 0; i < 3; i++) {
        sb_array *source = sbi_lane_input(run, rows[i], SB_F32, 2, SHAPE(n, widths[i]));
        sb_array *indices = sbi_lane_indices(run, "indices", SB_I64, 1, SHAPE(n), v);
        sb_array *out = sbi_lane_input(run, "out", SB_F32, 2, SHAPE(v, widths[i]));
        sbi_lane_do(run, sb_scatter(run->ctx, indices, source, out, err));
        sbi_lane_cell(run, rows[i], out, err);
    }
    return run->status;
}
static sb_status run_take_along(sbi_lane_run *run, sb_error *err) {
    int64_t rows = sbi_lane_size(run, 9, 5), n = 70, k = sbi_lane_size(run, 300, 77);
    sb_array *x = sbi_lane_input(run, "x", SB_F32, 2, SHAPE(rows, n));
    sb_array *indices = sbi_lane_indices(run, "indices", SB_I32, 2, SHAPE(rows, k), n);
    sb_array *out = sbi_lane_result(run, SB_F32, 2, SHAPE(rows, k));
    for (sbi_part p = sbi_lane_first(run, rows); p.count; p = sbi_lane_next(run, p))
        sbi_lane_do(run, sb_take_along(run->ctx, sbi_lane_part(run, x, p), sbi_lane_part(run, indices, p),
                                       sbi_lane_part(run, out, p), err));
    return sbi_lane_cell(run, "out", out, err);
}
// Sums that leave 64 bits.
static sb_status run_add_integers(sbi_lane_run *run, sb_error *err) {
    int64_t v = 30, d = sbi_lane_size(run, 40, 33), n = sbi_lane_size(run, 700, 301);
    sb_array *indices = sbi_lane_indices(run, "indices", SB_I32, 1, SHAPE(n), v);
    sb_array *source = sbi_lane_indices(run, "source", SB_I64, 2, SHAPE(n, d), INT64_MAX);
    sb_array *out = sbi_lane_indices(run, "out", SB_I64, 2, SHAPE(v, d), INT64_MAX), *fresh = sbi_lane_result(run, SB_I64, 2, SHAPE(v, d));
    sbi_lane_do(run, sb_scatter_add(run->ctx, indices, source, 0, fresh, err));
    sbi_lane_do(run, sb_scatter_add(run->ctx, indices, source, 1, out, err));
    sbi_lane_cell(run, "sum", fresh, err);
    return sbi_lane_cell(run, "accumulated", out, err);
}

#define WHOLE (SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_TIES) | SBI_FIX(SBI_FIX_ODD) | SBI_FIX(SBI_FIX_EMPTY) | SBI_FIX(SBI_FIX_ONE))
#define REAL(lane, of, type, ...) {.name = lane, .kind = of, .fixtures = SBI_FIX_ALL, .counts_inputs = true, .dtype = type, __VA_ARGS__}
const sbi_lane sbi_lanes_embedding[] = {
    REAL("embedding", "order", SB_F32, .quick = true, .rows = true, .run = run_lookup),
    REAL("embedding_f64", "order", SB_F64, .rows = true, .run = run_lookup),
    REAL("embedding_backward", "sum", SB_F32, .training = true, .run = run_gradient),
    REAL("embedding_backward_f64", "sum", SB_F64, .training = true, .run = run_gradient),
    REAL("embedding_backward_blocks", "sum", SB_F32, .training = true, .run = run_blocks),
    REAL("embedding_backward_blocks_f64", "sum", SB_F64, .training = true, .run = run_blocks),
    REAL("gather", "order", SB_F32, .run = run_gather),
    REAL("scatter", "order", SB_F32, .run = run_scatter),
    REAL("take_along", "order", SB_F32, .rows = true, .run = run_take_along),
    {.name = "scatter_add_int64", .kind = "sum", .fixtures = WHOLE, .run = run_add_integers},
    {.name = NULL},
};
