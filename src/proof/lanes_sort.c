// SPDX-License-Identifier: Apache-2.0
// Lanes of stable sorting: values and positions, up and down, short rows and rows of several runs; the first k; the
// distinct values.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static sb_status sort_rows(sbi_lane_run *run, sb_array *x, sb_dtype dtype, int64_t rows, int64_t n, sb_error *err) {
    static const char *const orders[] = {"up_positions", "down_positions"}, *const sorted[] = {"up", "down"};
    for (int descending = 0; descending < 2; descending++) {
        sb_array *order = sbi_lane_result(run, SB_I64, 2, SHAPE(rows, n));
        sb_array *values = sbi_lane_result(run, dtype, 2, SHAPE(rows, n));
        for (sbi_part p = sbi_lane_first(run, rows); p.count; p = sbi_lane_next(run, p)) {
            sb_array *part = sbi_lane_part(run, x, p);
            sbi_lane_do(run, sb_argsort(run->ctx, part, descending, sbi_lane_part(run, order, p), err));
            sbi_lane_do(run, sb_sort(run->ctx, part, descending, sbi_lane_part(run, values, p), err));
        }
        sbi_lane_cell(run, orders[descending], order, err);
        sbi_lane_cell(run, sorted[descending], values, err);
    }
    return run->status;
}

static sb_status run_short(sbi_lane_run *run, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    int64_t rows = sbi_lane_size(run, 8, 6), n = sbi_lane_size(run, 120, 77);
    return sort_rows(run, sbi_lane_input(run, "x", real, 2, SHAPE(rows, n)), real, rows, n, err);
}
static sb_status run_long(sbi_lane_run *run, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    int64_t rows = sbi_lane_size(run, 4, 4), n = sbi_lane_size(run, 4500, 2309);
    return sort_rows(run, sbi_lane_input(run, "x", real, 2, SHAPE(rows, n)), real, rows, n, err);
}
static sb_status run_integers(sbi_lane_run *run, sb_dtype dtype, int64_t bound, sb_error *err) {
    int64_t rows = sbi_lane_size(run, 3, 5), n = sbi_lane_size(run, 400, 77);
    return sort_rows(run, sbi_lane_indices(run, "x", dtype, 2, SHAPE(rows, n), bound), dtype, rows, n, err);
}
static sb_status run_int32(sbi_lane_run *run, sb_error *err) { return run_integers(run, SB_I32, INT32_MAX, err); }
static sb_status run_int64(sbi_lane_run *run, sb_error *err) { return run_integers(run, SB_I64, INT64_MAX, err); }
static sb_status run_uint8(sbi_lane_run *run, sb_error *err) { return run_integers(run, SB_U8, 256, err); }

// Words of a stream: the top bit is set in half of them.
static sb_status run_unsigned(sbi_lane_run *run, sb_error *err) {
    static const sb_dtype dtypes[] = {SB_U32, SB_U64};
    static const char *const positions[] = {"u32_positions", "u64_positions"}, *const sorted[] = {"u32", "u64"};
    int64_t n = sbi_lane_size(run, 400, 77);
    uint64_t seed = sbi_lane_word(run, "seed");
    for (int i = 0; i < 2; i++) {
        sb_array *x = sbi_lane_result(run, dtypes[i], 1, SHAPE(n)), *values = sbi_lane_result(run, dtypes[i], 1, SHAPE(n));
        sb_array *order = sbi_lane_result(run, SB_I64, 1, SHAPE(n));
        sbi_lane_do(run, sb_random_bits(run->ctx, seed, 0, 0, x, err));
        sbi_lane_do(run, sb_argsort(run->ctx, x, i, order, err));
        sbi_lane_do(run, sb_sort(run->ctx, x, i, values, err));
        sbi_lane_cell(run, positions[i], order, err);
        sbi_lane_cell(run, sorted[i], values, err);
    }
    return run->status;
}

static sb_status top_rows(sbi_lane_run *run, sb_array *x, sb_dtype dtype, int64_t rows, int64_t k, sb_error *err) {
    static const char *const places[] = {"least_positions", "greatest_positions"}, *const kept[] = {"least", "greatest"};
    for (int largest = 0; largest < 2; largest++) {
        sb_array *indices = sbi_lane_result(run, SB_I64, 2, SHAPE(rows, k));
        sb_array *values = sbi_lane_result(run, dtype, 2, SHAPE(rows, k));
        for (sbi_part p = sbi_lane_first(run, rows); p.count; p = sbi_lane_next(run, p))
            sbi_lane_do(run, sb_top_k(run->ctx, sbi_lane_part(run, x, p), k, largest, sbi_lane_part(run, values, p),
                                      sbi_lane_part(run, indices, p), err));
        sbi_lane_cell(run, places[largest], indices, err);
        sbi_lane_cell(run, kept[largest], values, err);
    }
    return run->status;
}
static sb_status run_top(sbi_lane_run *run, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    int64_t rows = sbi_lane_size(run, 7, 5), n = sbi_lane_size(run, 6500, 4133);
    return top_rows(run, sbi_lane_input(run, "x", real, 2, SHAPE(rows, n)), real, rows, sbi_lane_size(run, 9, 64), err);
}
static sb_status run_top_many(sbi_lane_run *run, sb_error *err) { // more than a list holds, and all of them
    sb_dtype real = sbi_lane_real(run);
    int64_t rows = sbi_lane_size(run, 3, 5), n = sbi_lane_size(run, 900, 70);
    return top_rows(run, sbi_lane_input(run, "x", real, 2, SHAPE(rows, n)), real, rows, sbi_lane_size(run, 400, 70), err);
}

static sb_status distinct(sbi_lane_run *run, sb_array *x, sb_dtype dtype, int64_t n, sb_error *err) {
    sb_array *values = sbi_lane_result(run, dtype, 1, SHAPE(n)), *inverse = sbi_lane_result(run, SB_I64, 1, SHAPE(n));
    sb_array *counts = sbi_lane_result(run, SB_I64, 1, SHAPE(n));
    int64_t number = 0;
    sbi_lane_do(run, sb_unique(run->ctx, x, values, inverse, counts, &number, err));
    sbi_lane_cell(run, "values", values, err);
    sbi_lane_cell(run, "inverse", inverse, err);
    sbi_lane_cell(run, "counts", counts, err);
    return sbi_lane_cell_real(run, "number", (double)number, err);
}
// The second half is the first again, so that there is something to find.
static sb_status run_unique(sbi_lane_run *run, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    int64_t n = sbi_lane_size(run, 9000, 4133);
    sb_array *x = sbi_lane_input(run, "x", real, 1, SHAPE(n));
    const sbi_part first = {0, n / 2 ? n / 2 : -1, n}, second = {n / 2, first.count, n};
    sbi_lane_do(run, sb_array_copy(run->ctx, sbi_lane_part(run, x, first), sbi_lane_part(run, x, second), err));
    return distinct(run, x, real, n, err);
}
static sb_status run_unique_int32(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 5000, 331);
    return distinct(run, sbi_lane_indices(run, "x", SB_I32, 1, SHAPE(n), 700), SB_I32, n, err);
}

#define WHOLE (SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_TIES) | SBI_FIX(SBI_FIX_ODD) | SBI_FIX(SBI_FIX_EMPTY) | SBI_FIX(SBI_FIX_ONE))
#define REAL(lane, type, ...) {.name = lane, .kind = "order", .fixtures = SBI_FIX_ALL, .counts_inputs = true, .dtype = type, __VA_ARGS__}

const sbi_lane sbi_lanes_sort[] = {
    REAL("sort", SB_F32, .quick = true, .rows = true, .run = run_short), REAL("sort_f64", SB_F64, .rows = true, .run = run_short),
    REAL("sort_long", SB_F32, .rows = true, .run = run_long), REAL("sort_long_f64", SB_F64, .rows = true, .run = run_long),
    {.name = "sort_int32", .kind = "order", .fixtures = WHOLE, .rows = true, .run = run_int32},
    {.name = "sort_int64", .kind = "order", .fixtures = WHOLE, .rows = true, .run = run_int64},
    {.name = "sort_uint8", .kind = "order", .fixtures = WHOLE, .rows = true, .run = run_uint8},
    {.name = "sort_unsigned", .kind = "order", .fixtures = WHOLE, .run = run_unsigned},
    REAL("top_k", SB_F32, .rows = true, .run = run_top), REAL("top_k_f64", SB_F64, .rows = true, .run = run_top),
    REAL("top_k_many", SB_F32, .rows = true, .run = run_top_many),
    REAL("unique", SB_F32, .run = run_unique), REAL("unique_f64", SB_F64, .run = run_unique),
    {.name = "unique_int32", .kind = "order", .fixtures = WHOLE, .run = run_unique_int32},
    {.name = NULL},
};
