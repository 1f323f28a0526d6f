// SPDX-License-Identifier: Apache-2.0
// Lanes of linear algebra: sizes beyond one panel, so that products take part. A positive definite matrix is x x^T.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static sb_array *positive_definite(sbi_lane_run *run, int64_t n, sb_error *err) {
    const sb_gemm_options options = {.size = sizeof options, .transpose_b = 1};
    const sb_dtype real = sbi_lane_real(run);
    sb_array *x = sbi_lane_input(run, "x", real, 2, SHAPE(n, 2 * n)), *a = sbi_lane_result(run, real, 2, SHAPE(n, n));
    if (run->status == SB_OK) sbi_lane_do(run, sb_gemm(run->ctx, &options, x, x, NULL, a, err));
    return a;
}

static sb_status run_cholesky(sbi_lane_run *run, sb_error *err) {
    const int64_t n = sbi_lane_size(run, 80, 67);
    sb_array *a = positive_definite(run, n, err), *l = sbi_lane_result(run, sbi_lane_real(run), 2, SHAPE(n, n));
    if (run->status == SB_OK) sbi_lane_do(run, sb_cholesky(run->ctx, a, l, err));
    return sbi_lane_cell(run, "l", l, err);
}

static sb_status run_solve(sbi_lane_run *run, sb_error *err) {
    static const struct { const char *cell; sb_matrix_kind kind; int transpose, unit; } systems[] = {
        {"positive", SB_POSITIVE_DEFINITE, 0, 0}, {"lower", SB_LOWER, 0, 0}, {"lower_t", SB_LOWER, 1, 0},
        {"upper", SB_UPPER, 0, 0}, {"upper_t", SB_UPPER, 1, 0}, {"unit", SB_LOWER, 0, 1}};
    const sb_dtype real = sbi_lane_real(run);
    const int64_t n = sbi_lane_size(run, 80, 67);
    sb_array *a = positive_definite(run, n, err), *l = sbi_lane_result(run, real, 2, SHAPE(n, n));
    sb_array *b = sbi_lane_input(run, "b", real, 2, SHAPE(n, 3));
    if (run->status == SB_OK) sbi_lane_do(run, sb_scale(run->ctx, a, 0.0015, l, err)); // (a unit triangle that does not grow)
    for (size_t i = 0; i < sizeof systems / sizeof *systems && run->status == SB_OK; i++) {
        const sb_solve_options options = {.size = sizeof options, .kind = systems[i].kind, .transpose = systems[i].transpose,
                                          .unit_diagonal = systems[i].unit};
        sb_array *x = sbi_lane_result(run, real, 2, SHAPE(n, 3));
        if (run->status == SB_OK) sbi_lane_do(run, sb_solve(run->ctx, &options, systems[i].unit ? l : a, b, x, err));
        sbi_lane_cell(run, systems[i].cell, x, err);
    }
    return run->status;
}

static sb_status run_eigh(sbi_lane_run *run, sb_error *err) {
    const sb_dtype real = sbi_lane_real(run);
    const int64_t n = sbi_lane_size(run, 75, 67);
    sb_array *a = sbi_lane_input(run, "a", real, 2, SHAPE(n, n)), *lower = sbi_lane_result(run, real, 2, SHAPE(n, n));
    sb_array *v = sbi_lane_result(run, real, 2, SHAPE(n, n)), *w = sbi_lane_result(run, real, 1, SHAPE(n));
    // (every entry of a counts: the lower triangle of a a^T)
    const sb_gemm_options options = {.size = sizeof options, .transpose_b = 1};
    if (run->status == SB_OK) sbi_lane_do(run, sb_gemm(run->ctx, &options, a, a, NULL, lower, err));
    if (run->status == SB_OK) sbi_lane_do(run, sb_eigh(run->ctx, lower, w, v, err));
    sbi_lane_cell(run, "w", w, err);
    return sbi_lane_cell(run, "v", v, err);
}

#define TAME (SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_TIES) | SBI_FIX(SBI_FIX_SUBNORMAL) | SBI_FIX(SBI_FIX_ZEROS) | \
              SBI_FIX(SBI_FIX_ODD) | SBI_FIX(SBI_FIX_EMPTY) | SBI_FIX(SBI_FIX_ONE))
#define BOTH(lane, of, is_quick, ...) \
    {.name = #lane, .kind = "factorization", .fixtures = of, .quick = is_quick, .counts_inputs = true, __VA_ARGS__}, \
    {.name = #lane "_f64", .kind = "factorization", .fixtures = of, .quick = is_quick, .counts_inputs = true, __VA_ARGS__, .dtype = SB_F64}
const sbi_lane sbi_lanes_linalg[] = {
    BOTH(cholesky, TAME, true, .run = run_cholesky),
    BOTH(solve, TAME, false, .run = run_solve),
    BOTH(eigh, TAME | SBI_FIX(SBI_FIX_OFFSET) | SBI_FIX(SBI_FIX_WIDE), false, .run = run_eigh),
    {0},
};
