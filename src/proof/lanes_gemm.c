// SPDX-License-Identifier: Apache-2.0
// Lanes of products.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

typedef struct product {
    int64_t m, n, k;       // standard
    int64_t om, on, ok;    // odd
    int ta, tb, bias, scaled, accumulate, split; // split: rows of a (not transposed) may go in parts
} product;

static sb_status run_product(sbi_lane_run *run, const product *p, sb_error *err) {
    int64_t m = sbi_lane_size(run, p->m, p->om), n = sbi_lane_size(run, p->n, p->on), k = sbi_lane_size(run, p->k, p->ok);
    sb_array *a = sbi_lane_input(run, "a", SB_F32, 2, p->ta ? SHAPE(k, m) : SHAPE(m, k));
    sb_array *b = sbi_lane_input(run, "b", SB_F32, 2, p->tb ? SHAPE(n, k) : SHAPE(k, n));
    sb_array *bias = p->bias ? sbi_lane_input(run, "bias", SB_F32, 1, SHAPE(n)) : NULL;
    sb_array *c = p->accumulate ? sbi_lane_input(run, "c", SB_F32, 2, SHAPE(m, n)) : sbi_lane_result(run, SB_F32, 2, SHAPE(m, n));
    const sb_gemm_options options = {.size = sizeof options, .transpose_a = p->ta, .transpose_b = p->tb,
                                     .scaled = p->scaled, .alpha = 0.3f, .accumulate = p->accumulate};
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
PRODUCT(chunks, 6, 40, 600, 3, 7, 1027, .split = 1)
PRODUCT(runs, 3, 5, 16900, 2, 3, 33000, .tb = 1)
PRODUCT(no_k, 4, 6, 0, 3, 5, 0, .bias = 1, .split = 1)
PRODUCT(row, 1, 300, 520, 1, 77, 263, .tb = 1, .bias = 1, .scaled = 1)
PRODUCT(column, 270, 1, 520, 61, 1, 263, .bias = 1, .accumulate = 1, .split = 1)

static sb_status run_gemv(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 290, 33), k = sbi_lane_size(run, 300, 541);
    sb_array *x = sbi_lane_input(run, "x", SB_F32, 1, SHAPE(k));
    sb_array *w = sbi_lane_input(run, "w", SB_F32, 2, SHAPE(k, n));
    sb_array *wt = sbi_lane_input(run, "wt", SB_F32, 2, SHAPE(n, k));
    sb_array *y = sbi_lane_result(run, SB_F32, 1, SHAPE(n)), *z = sbi_lane_result(run, SB_F32, 1, SHAPE(n));
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_gemm(run->ctx, NULL, x, w, NULL, y, err));
        sbi_lane_do(run, sb_gemm(run->ctx, NULL, wt, x, NULL, z, err));
    }
    sbi_lane_cell(run, "y", y, err);
    return sbi_lane_cell(run, "z", z, err);
}

#define HOSTILE (SBI_FIX_ALL & ~SBI_FIX(SBI_FIX_NONFINITE))
const sbi_lane sbi_lanes_gemm[] = {
    {.name = "gemm_nn", .kind = "product", .fixtures = SBI_FIX_ALL, .quick = true, .rows = true, .counts_inputs = true, .run = run_nn},
    {.name = "gemm_nt", .kind = "product", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = run_nt},
    {.name = "gemm_tn", .kind = "product", .fixtures = SBI_FIX_ALL, .counts_inputs = true, .run = run_tn},
    {.name = "gemm_tt", .kind = "product", .fixtures = SBI_FIX_ALL, .counts_inputs = true, .run = run_tt},
    {.name = "gemm_end", .kind = "product", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = run_end},
    {.name = "gemm_chunks", .kind = "product", .fixtures = HOSTILE, .rows = true, .counts_inputs = true, .run = run_chunks},
    {.name = "gemm_runs", .kind = "product", .fixtures = HOSTILE, .counts_inputs = true, .run = run_runs},
    {.name = "gemm_no_k", .kind = "product", .fixtures = SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_ZEROS), .rows = true, .counts_inputs = true, .run = run_no_k},
    {.name = "gemm_row", .kind = "product", .fixtures = SBI_FIX_ALL, .counts_inputs = true, .run = run_row},
    {.name = "gemm_column", .kind = "product", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = run_column},
    {.name = "gemv", .kind = "product", .fixtures = SBI_FIX_ALL, .counts_inputs = true, .run = run_gemv},
    {0},
};
