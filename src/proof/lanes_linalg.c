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

static sb_status run_qr(sbi_lane_run *run, sb_error *err) {
    const sb_dtype real = sbi_lane_real(run);
    const int64_t m = sbi_lane_size(run, 90, 71), n = sbi_lane_size(run, 70, 66), k = sbi_lane_size(run, 30, 29);
    sb_array *tall = sbi_lane_input(run, "tall", real, 2, SHAPE(m, n)), *wide = sbi_lane_input(run, "wide", real, 2, SHAPE(k, n));
    sb_array *q = sbi_lane_result(run, real, 2, SHAPE(m, n)), *r = sbi_lane_result(run, real, 2, SHAPE(n, n));
    sb_array *p = sbi_lane_result(run, real, 2, SHAPE(k, k)), *s = sbi_lane_result(run, real, 2, SHAPE(k, n));
    if (run->status == SB_OK) sbi_lane_do(run, sb_qr(run->ctx, tall, q, r, err));
    if (run->status == SB_OK) sbi_lane_do(run, sb_qr(run->ctx, wide, p, s, err));
    sbi_lane_cell(run, "q", q, err);
    sbi_lane_cell(run, "r", r, err);
    sbi_lane_cell(run, "wide_q", p, err);
    return sbi_lane_cell(run, "wide_r", s, err);
}

static sb_status run_svd(sbi_lane_run *run, sb_error *err) {
    const sb_dtype real = sbi_lane_real(run);
    const int64_t m = sbi_lane_size(run, 80, 69), n = sbi_lane_size(run, 66, 37), k = m < n ? m : n;
    sb_array *a = sbi_lane_input(run, "a", real, 2, SHAPE(m, n));
    sb_array *u = sbi_lane_result(run, real, 2, SHAPE(m, k)), *s = sbi_lane_result(run, real, 1, SHAPE(k));
    sb_array *vt = sbi_lane_result(run, real, 2, SHAPE(k, n));
    if (run->status == SB_OK) sbi_lane_do(run, sb_svd(run->ctx, a, u, s, vt, err));
    sbi_lane_cell(run, "u", u, err);
    sbi_lane_cell(run, "s", s, err);
    return sbi_lane_cell(run, "vt", vt, err);
}

static sb_status run_lstsq(sbi_lane_run *run, sb_error *err) {
    const sb_dtype real = sbi_lane_real(run);
    const int64_t m = sbi_lane_size(run, 80, 70), n = sbi_lane_size(run, 12, 9);
    sb_array *tall = sbi_lane_input(run, "tall", real, 2, SHAPE(m, n)), *b = sbi_lane_input(run, "b", real, 2, SHAPE(m, 3));
    sb_array *wide = sbi_lane_input(run, "wide", real, 2, SHAPE(n, m)), *c = sbi_lane_input(run, "c", real, 1, SHAPE(n));
    sb_array *x = sbi_lane_result(run, real, 2, SHAPE(n, 3)), *y = sbi_lane_result(run, real, 1, SHAPE(m));
    int64_t rank = 0;
    if (run->status == SB_OK) sbi_lane_do(run, sb_lstsq(run->ctx, tall, b, 0.0, x, NULL, &rank, err));
    if (run->status == SB_OK) sbi_lane_do(run, sb_lstsq(run->ctx, wide, c, 0.0, y, NULL, NULL, err));
    sbi_lane_cell(run, "x", x, err);
    sbi_lane_cell(run, "y", y, err);
    return sbi_lane_cell_real(run, "rank", (double)rank, err);
}

static sb_status run_lu(sbi_lane_run *run, sb_error *err) {
    const sb_dtype real = sbi_lane_real(run);
    const int64_t n = sbi_lane_size(run, 90, 67);
    sb_array *a = sbi_lane_input(run, "a", real, 2, SHAPE(n, n)), *lu = sbi_lane_result(run, real, 2, SHAPE(n, n));
    sb_array *rows = sbi_lane_result(run, SB_I64, 1, SHAPE(n)), *moved = sbi_lane_result(run, real, 2, SHAPE(n, n));
    if (run->status == SB_OK) sbi_lane_do(run, sb_lu(run->ctx, a, lu, rows, err));
    if (run->status == SB_OK) sbi_lane_do(run, sb_gather(run->ctx, a, rows, moved, err));
    sbi_lane_cell(run, "lu", lu, err);
    sbi_lane_cell(run, "moved", moved, err);
    return sbi_lane_cell(run, "rows", rows, err);
}

static sb_status run_solve_general(sbi_lane_run *run, sb_error *err) {
    const sb_solve_options turned = {.size = sizeof turned, .transpose = 1};
    const sb_dtype real = sbi_lane_real(run);
    const int64_t n = sbi_lane_size(run, 70, 67);
    sb_array *a = sbi_lane_input(run, "a", real, 2, SHAPE(n, n)), *b = sbi_lane_input(run, "b", real, 2, SHAPE(n, 2));
    sb_array *x = sbi_lane_result(run, real, 2, SHAPE(n, 2)), *y = sbi_lane_result(run, real, 2, SHAPE(n, 2));
    if (run->status == SB_OK) sbi_lane_do(run, sb_solve(run->ctx, NULL, a, b, x, err));
    if (run->status == SB_OK) sbi_lane_do(run, sb_solve(run->ctx, &turned, a, b, y, err));
    sbi_lane_cell(run, "x", x, err);
    return sbi_lane_cell(run, "transposed", y, err);
}

#define ANY (SBI_FIX_ALL & ~SBI_FIX(SBI_FIX_NONFINITE))
#define FEW (SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_ODD) | SBI_FIX(SBI_FIX_EMPTY) | SBI_FIX(SBI_FIX_ONE))
#define TAME (SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_TIES) | SBI_FIX(SBI_FIX_SUBNORMAL) | SBI_FIX(SBI_FIX_ZEROS) | \
              SBI_FIX(SBI_FIX_ODD) | SBI_FIX(SBI_FIX_EMPTY) | SBI_FIX(SBI_FIX_ONE))
#define BOTH(lane, of, is_quick, ...) \
    {.name = #lane, .kind = "factorization", .fixtures = of, .quick = is_quick, .counts_inputs = true, __VA_ARGS__}, \
    {.name = #lane "_f64", .kind = "factorization", .fixtures = of, .quick = is_quick, .counts_inputs = true, __VA_ARGS__, .dtype = SB_F64}
const sbi_lane sbi_lanes_linalg[] = {
    BOTH(cholesky, TAME, true, .run = run_cholesky),
    BOTH(solve, TAME, false, .run = run_solve),
    BOTH(eigh, TAME | SBI_FIX(SBI_FIX_OFFSET) | SBI_FIX(SBI_FIX_WIDE), false, .run = run_eigh),
    BOTH(qr, ANY, false, .run = run_qr),
    BOTH(svd, ANY, false, .run = run_svd),
    BOTH(lstsq, ANY & ~SBI_FIX(SBI_FIX_WIDE), false, .run = run_lstsq),
    BOTH(lu, ANY, false, .run = run_lu),
    BOTH(solve_general, FEW | SBI_FIX(SBI_FIX_OFFSET), false, .run = run_solve_general),
    {0},
};
