// SPDX-License-Identifier: Apache-2.0
// Lanes of products.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

typedef struct product {
    int64_t m, n, k;       // standard
    int64_t om, on, ok;    // odd
    int ta, tb, bias, scaled, accumulate, wide, split; // split: rows of a (not transposed) may go in parts
} product;

static sb_status run_product(sbi_lane_run *run, const product *p, sb_error *err) {
    const sb_dtype real = sbi_lane_real(run), data = p->wide ? SB_F32 : real;
    int64_t m = sbi_lane_size(run, p->m, p->om), n = sbi_lane_size(run, p->n, p->on), k = sbi_lane_size(run, p->k, p->ok);
    sb_array *a = sbi_lane_input(run, "a", data, 2, p->ta ? SHAPE(k, m) : SHAPE(m, k));
    sb_array *b = sbi_lane_input(run, "b", data, 2, p->tb ? SHAPE(n, k) : SHAPE(k, n));
    sb_array *bias = p->bias ? sbi_lane_input(run, "bias", real, 1, SHAPE(n)) : NULL;
    sb_array *c = p->accumulate ? sbi_lane_input(run, "c", real, 2, SHAPE(m, n)) : sbi_lane_result(run, real, 2, SHAPE(m, n));
    const sb_gemm_options options = {.size = sizeof options, .transpose_a = p->ta, .transpose_b = p->tb,
                                     .scaled = p->scaled, .alpha = 0.3, .accumulate = p->accumulate};
    if (p->split) {
        for (sbi_part part = sbi_lane_first(run, m); part.count; part = sbi_lane_next(run, part)) {
            sb_array *some = sbi_lane_part(run, a, part), *to = sbi_lane_part(run, c, part);
            if (run->status == SB_OK) {
                sbi_lane_do(run, sb_gemm(run->ctx, &options, some, b, bias, to, err));
            }
        }
    } else if (run->status == SB_OK) {
        sbi_lane_do(run, sb_gemm(run->ctx, &options, a, b, bias, c, err));
    }
    return sbi_lane_cell(run, "c", c, err);
}

#define PRODUCT(name, ...) \
    static sb_status run_##name(sbi_lane_run *run, sb_error *err) { \
        static const product p = {__VA_ARGS__}; \
        return run_product(run, &p, err); \
    }
PRODUCT(nn, 40, 72, 96, 5, 37, 61, .split = 1)
PRODUCT(nt, 40, 72, 96, 7, 33, 259, .tb = 1, .split = 1)
PRODUCT(tn, 40, 72, 96, 35, 9, 65, .ta = 1)
PRODUCT(tt, 40, 72, 96, 3, 41, 33, .ta = 1, .tb = 1)
PRODUCT(end, 33, 48, 64, 6, 19, 21, .tb = 1, .bias = 1, .scaled = 1, .accumulate = 1, .split = 1)
PRODUCT(deep_end, 7, 40, 600, 3, 19, 300, .bias = 1, .scaled = 1, .accumulate = 1, .split = 1)
PRODUCT(wide, 20, 35, 300, 5, 18, 261, .tb = 1, .bias = 1, .scaled = 1, .wide = 1, .split = 1)
PRODUCT(wide_row, 1, 70, 300, 1, 35, 261, .accumulate = 1, .wide = 1)
PRODUCT(chunks, 6, 40, 600, 3, 7, 1027, .split = 1)
PRODUCT(runs, 3, 5, 16900, 2, 3, 33000, .tb = 1)
PRODUCT(no_k, 4, 6, 0, 3, 5, 0, .bias = 1, .split = 1)
PRODUCT(row, 1, 300, 520, 1, 77, 263, .tb = 1, .bias = 1, .scaled = 1)
PRODUCT(column, 270, 1, 520, 61, 1, 263, .bias = 1, .accumulate = 1, .split = 1)

static sb_status run_gemv(sbi_lane_run *run, sb_error *err) {
    const sb_dtype real = sbi_lane_real(run);
    int64_t n = sbi_lane_size(run, 290, 33), k = sbi_lane_size(run, 300, 541);
    sb_array *x = sbi_lane_input(run, "x", real, 1, SHAPE(k));
    sb_array *w = sbi_lane_input(run, "w", real, 2, SHAPE(k, n));
    sb_array *wt = sbi_lane_input(run, "wt", real, 2, SHAPE(n, k));
    sb_array *y = sbi_lane_result(run, real, 1, SHAPE(n)), *z = sbi_lane_result(run, real, 1, SHAPE(n));
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_gemm(run->ctx, NULL, x, w, NULL, y, err));
        sbi_lane_do(run, sb_gemm(run->ctx, NULL, wt, x, NULL, z, err));
    }
    sbi_lane_cell(run, "y", y, err);
    return sbi_lane_cell(run, "z", z, err);
}

// A batch, whole and in parts: a matrix of b for each of a, then one for all.
static sb_status run_batch(sbi_lane_run *run, sb_error *err) {
    const sb_dtype real = sbi_lane_real(run);
    int64_t count = sbi_lane_size(run, 5, 3), m = sbi_lane_size(run, 6, 3), n = sbi_lane_size(run, 37, 19), k = sbi_lane_size(run, 70, 261);
    sb_array *a = sbi_lane_input(run, "a", real, 3, SHAPE(count, m, k)), *at = sbi_lane_input(run, "at", real, 3, SHAPE(count, k, m));
    sb_array *b = sbi_lane_input(run, "b", real, 3, SHAPE(count, k, n)), *one = sbi_lane_input(run, "one", real, 2, SHAPE(n, k));
    sb_array *c = sbi_lane_result(run, real, 3, SHAPE(count, m, n)), *d = sbi_lane_input(run, "d", real, 3, SHAPE(count, m, n));
    const sb_gemm_options options = {.size = sizeof options, .transpose_a = 1, .transpose_b = 1, .accumulate = 1};
    for (sbi_part part = sbi_lane_first(run, count); part.count; part = sbi_lane_next(run, part)) {
        sb_array *x = sbi_lane_part(run, a, part), *xt = sbi_lane_part(run, at, part), *y = sbi_lane_part(run, b, part);
        sb_array *to = sbi_lane_part(run, c, part), *to_d = sbi_lane_part(run, d, part);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_gemm(run->ctx, NULL, x, y, NULL, to, err));
            sbi_lane_do(run, sb_gemm(run->ctx, &options, xt, one, NULL, to_d, err));
        }
    }
    sbi_lane_cell(run, "c", c, err);
    return sbi_lane_cell(run, "shared", d, err);
}

// An array with itself, turned over on the left, on the right.
static sb_status run_self(sbi_lane_run *run, sb_error *err) {
    const sb_dtype real = sbi_lane_real(run);
    int64_t n = sbi_lane_size(run, 90, 65), d = sbi_lane_size(run, 70, 67);
    sb_array *a = sbi_lane_input(run, "a", real, 2, SHAPE(n, d)), *bias = sbi_lane_input(run, "bias", real, 1, SHAPE(d));
    sb_array *left = sbi_lane_result(run, real, 2, SHAPE(d, d)), *right = sbi_lane_result(run, real, 2, SHAPE(n, n));
    const sb_gemm_options options[] = {{.size = sizeof *options, .transpose_a = 1, .scaled = 1, .alpha = 0.3},
                                       {.size = sizeof *options, .transpose_b = 1}};
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_gemm(run->ctx, &options[0], a, a, bias, left, err));
        sbi_lane_do(run, sb_gemm(run->ctx, &options[1], a, a, NULL, right, err));
    }
    sbi_lane_cell(run, "left", left, err);
    return sbi_lane_cell(run, "right", right, err);
}

#define HOSTILE (SBI_FIX_ALL & ~SBI_FIX(SBI_FIX_NONFINITE))
#define FEW_FIXTURES (SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_ZEROS))
#define LANE(lane, of, ...) {.name = #lane, .kind = "product", .fixtures = of, .counts_inputs = true, __VA_ARGS__}
#define BOTH(lane, of, ...) LANE(lane, of, __VA_ARGS__), LANE(lane##_f64, of, __VA_ARGS__, .dtype = SB_F64)
const sbi_lane sbi_lanes_gemm[] = {
    LANE(gemm_nn, SBI_FIX_ALL, .quick = true, .rows = true, .run = run_nn),
    LANE(gemm_nn_f64, SBI_FIX_ALL, .quick = true, .rows = true, .run = run_nn, .dtype = SB_F64),
    BOTH(gemm_nt, SBI_FIX_ALL, .rows = true, .run = run_nt),
    BOTH(gemm_tn, SBI_FIX_ALL, .run = run_tn),
    BOTH(gemm_tt, SBI_FIX_ALL, .run = run_tt),
    BOTH(gemm_end, SBI_FIX_ALL, .rows = true, .run = run_end),
    BOTH(gemm_deep_end, SBI_FIX_ALL, .rows = true, .run = run_deep_end),
    BOTH(gemm_chunks, HOSTILE, .rows = true, .run = run_chunks),
    BOTH(gemm_runs, HOSTILE, .run = run_runs),
    BOTH(gemm_no_k, FEW_FIXTURES, .rows = true, .run = run_no_k),
    BOTH(gemm_row, SBI_FIX_ALL, .run = run_row),
    BOTH(gemm_column, SBI_FIX_ALL, .rows = true, .run = run_column),
    BOTH(gemv, SBI_FIX_ALL, .run = run_gemv),
    BOTH(gemm_batch, SBI_FIX_ALL, .rows = true, .run = run_batch),
    BOTH(gemm_self, SBI_FIX_ALL, .run = run_self),
    LANE(gemm_wide, SBI_FIX_ALL, .rows = true, .run = run_wide, .dtype = SB_F64),
    LANE(gemm_wide_row, SBI_FIX_ALL, .run = run_wide_row, .dtype = SB_F64),
    {0},
};
