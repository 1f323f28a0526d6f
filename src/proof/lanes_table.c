// SPDX-License-Identifier: Apache-2.0
// Lanes of what estimators are made of: lines through columns, moments, sums of segments, distances, densities, nearest points.
#include "ops.h"
#include "proof.h"

#include <stdio.h>

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

sb_array *sbi_lane_sizes(sbi_lane_run *run, const char *name, int64_t n, sb_error *err) {
    sb_array *a = sbi_lane_input(run, name, SB_F64, 1, SHAPE(n)), *one = sbi_lane_result(run, SB_F64, 1, SHAPE(1));
    const double value = 1.0;
    if (run->status == SB_OK) sbi_lane_do(run, sb_array_write(one, &value, sizeof value, err));
    if (run->status == SB_OK) sbi_lane_do(run, sb_unary(run->ctx, SB_ABS, a, a, err));
    if (run->status == SB_OK) sbi_lane_do(run, sb_binary(run->ctx, SB_ADD, a, one, a, err));
    return a;
}

static sb_status run_columns(sbi_lane_run *run, sb_error *err) {
    static const char *const names[] = {"scaled", "centred", "back", "wide"};
    const sb_dtype real = sbi_lane_real(run);
    const int64_t n = sbi_lane_size(run, 300, 33), d = sbi_lane_size(run, 300, 7);
    sb_array *x = sbi_lane_input(run, "x", real, 2, SHAPE(n, d)), *a = sbi_lane_input(run, "a", SB_F64, 1, SHAPE(d)), *b = sbi_lane_sizes(run, "b", d, err);
    for (int way = 0; way < 4; way++) {
        sb_array *y = sbi_lane_result(run, way == 3 ? SB_F64 : real, 2, SHAPE(n, d));
        for (sbi_part p = sbi_lane_first(run, n); p.count && run->status == SB_OK; p = sbi_lane_next(run, p)) {
            sb_array *from = sbi_lane_part(run, x, p), *to = sbi_lane_part(run, y, p);
            if (run->status == SB_OK) sbi_lane_do(run, sbi_columns(run->ctx, from, a, way == 1 ? NULL : b, way == 2, to, err));
        }
        sbi_lane_cell(run, names[way], y, err);
    }
    return run->status;
}

static sb_status run_moments(sbi_lane_run *run, sb_error *err) {
    const int64_t n = sbi_lane_size(run, 9001, 333), d = sbi_lane_size(run, 5, 70);
    sb_array *x = sbi_lane_input(run, "x", sbi_lane_real(run), 2, SHAPE(n, d)), *w = sbi_lane_sizes(run, "weights", n, err);
    for (int way = 0; way < 2; way++) {
        sb_array *out = sbi_lane_result(run, SB_F64, 2, SHAPE(5, d));
        if (run->status == SB_OK) sbi_lane_do(run, sbi_moments(run->ctx, x, way ? w : NULL, out, err));
        sbi_lane_cell(run, way ? "weighted" : "plain", out, err);
    }
    return run->status;
}

static sb_status run_segments(sbi_lane_run *run, sb_error *err) {
    const int64_t n = sbi_lane_size(run, 15001, 333), d = sbi_lane_size(run, 3, 70), k = 3;
    sb_array *x = sbi_lane_input(run, "x", sbi_lane_real(run), 2, SHAPE(n, d)), *w = sbi_lane_sizes(run, "weights", n, err);
    sb_array *labels = sbi_lane_indices(run, "labels", SB_I32, 1, SHAPE(n), 2); // the last is of nobody
    for (int way = 0; way < 2; way++) {
        sb_array *sums = sbi_lane_result(run, SB_F64, 2, SHAPE(k, d)), *totals = sbi_lane_result(run, SB_F64, 1, SHAPE(k));
        if (run->status == SB_OK) sbi_lane_do(run, sbi_segments(run->ctx, x, labels, way ? w : NULL, sums, totals, err));
        sbi_lane_cell(run, way ? "weighted_sums" : "sums", sums, err);
        sbi_lane_cell(run, way ? "weights" : "counts", totals, err);
    }
    return run->status;
}

static sb_status run_distance(sbi_lane_run *run, sb_error *err) {
    const sb_dtype real = sbi_lane_real(run);
    const int64_t n = sbi_lane_size(run, 9, 5), m = sbi_lane_size(run, 7, 3), d = sbi_lane_size(run, 4500, 37);
    sb_array *x = sbi_lane_input(run, "x", real, 2, SHAPE(n, d)), *c = sbi_lane_input(run, "c", real, 2, SHAPE(m, d));
    sb_array *squares = sbi_lane_result(run, SB_F64, 2, SHAPE(n, m)), *roots = sbi_lane_result(run, real, 2, SHAPE(n, m));
    for (sbi_part p = sbi_lane_first(run, n); p.count && run->status == SB_OK; p = sbi_lane_next(run, p)) {
        sb_array *from = sbi_lane_part(run, x, p), *square = sbi_lane_part(run, squares, p), *root = sbi_lane_part(run, roots, p);
        if (run->status == SB_OK) sbi_lane_do(run, sbi_distances(run->ctx, from, c, 0, square, err));
        if (run->status == SB_OK) sbi_lane_do(run, sbi_distances(run->ctx, from, c, 1, root, err));
    }
    sbi_lane_cell(run, "squares", squares, err);
    return sbi_lane_cell(run, "roots", roots, err);
}

static sb_status run_gaussian(sbi_lane_run *run, sb_error *err) {
    const int64_t n = sbi_lane_size(run, 70, 5), m = 3, d = sbi_lane_size(run, 37, 4500);
    sb_array *x = sbi_lane_input(run, "x", sbi_lane_real(run), 2, SHAPE(n, d)), *mean = sbi_lane_input(run, "mean", SB_F64, 2, SHAPE(m, d));
    sb_array *flat = sbi_lane_sizes(run, "scale", m * d, err), *start = sbi_lane_input(run, "start", SB_F64, 1, SHAPE(m)), *scale = NULL;
    sb_array *out = sbi_lane_result(run, SB_F64, 2, SHAPE(n, m));
    if (run->status == SB_OK) sbi_lane_do(run, sb_array_reshape(flat, 2, SHAPE(m, d), &scale, err));
    for (sbi_part p = sbi_lane_first(run, n); p.count && run->status == SB_OK; p = sbi_lane_next(run, p)) {
        sb_array *from = sbi_lane_part(run, x, p), *to = sbi_lane_part(run, out, p);
        if (run->status == SB_OK) sbi_lane_do(run, sbi_gaussians(run->ctx, from, mean, scale, start, to, err));
    }
    sb_array_free(scale);
    return sbi_lane_cell(run, "density", out, err);
}

// Points among which are some of the rows themselves, twice: ties, and distances of 0.
static sb_status run_nearest(sbi_lane_run *run, sb_error *err) {
    const sb_dtype real = sbi_lane_real(run);
    const int64_t n = sbi_lane_size(run, 700, 65), m = 11, d = sbi_lane_size(run, 24, 300), all = n + m;
    sb_array *x = sbi_lane_input(run, "x", real, 2, SHAPE(all, d)), *c = sbi_lane_result(run, real, 2, SHAPE(m, d));
    sb_array *label = sbi_lane_result(run, SB_I32, 1, SHAPE(all)), *distance = sbi_lane_result(run, SB_F64, 1, SHAPE(all));
    for (int64_t j = 0; j < m && run->status == SB_OK; j++)
        sbi_lane_do(run, sb_array_copy(run->ctx, sbi_lane_part(run, x, (sbi_part){j * 7 % 9, 1, all}), sbi_lane_part(run, c, (sbi_part){j, 1, m}), err));
    for (sbi_part p = sbi_lane_first(run, all); p.count && run->status == SB_OK; p = sbi_lane_next(run, p)) {
        sb_array *from = sbi_lane_part(run, x, p), *to = sbi_lane_part(run, label, p), *apart = sbi_lane_part(run, distance, p);
        if (run->status == SB_OK) sbi_lane_do(run, sbi_nearest(run->ctx, from, c, to, apart, err));
    }
    sbi_lane_cell(run, "label", label, err);
    return sbi_lane_cell(run, "distance", distance, err);
}

typedef struct metric_case { const char *name; sbi_metric metric; double p; } metric_case;
static const metric_case metrics[] = {
    {"euclidean", SBI_EUCLIDEAN, 2.0}, {"manhattan", SBI_MANHATTAN, 1.0}, {"chebyshev", SBI_CHEBYSHEV, 1.0}, {"minkowski", SBI_MINKOWSKI, 2.5},
    {"cosine", SBI_COSINE, 1.0}};

// Points among which are some of the rows, twice: ties, and distances of 0.
static void make_points(sbi_lane_run *run, sb_array *x, sb_array *c, int64_t rows, int64_t m, sb_error *err) {
    for (int64_t j = 0; j < m && run->status == SB_OK; j++)
        sbi_lane_do(run, sb_array_copy(run->ctx, sbi_lane_part(run, x, (sbi_part){j * 7 % (rows - 3), 1, rows}), sbi_lane_part(run, c, (sbi_part){j, 1, m}), err));
}

static sb_status run_neighbors(sbi_lane_run *run, sb_error *err) {
    const sb_dtype real = sbi_lane_real(run);
    const int64_t n = sbi_lane_size(run, 12, 5) + 4, m = 300, d = sbi_lane_size(run, 11, 70), k = 13;
    sb_array *x = sbi_lane_input(run, "x", real, 2, SHAPE(n, d)), *c = sbi_lane_result(run, real, 2, SHAPE(m, d));
    char cell[40];
    make_points(run, x, c, n, m, err);
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        sb_array *far = sbi_lane_result(run, SB_F64, 2, SHAPE(n, k)), *index = sbi_lane_result(run, SB_I64, 2, SHAPE(n, k));
        for (sbi_part p = sbi_lane_first(run, n); p.count && run->status == SB_OK; p = sbi_lane_next(run, p)) {
            sb_array *from = sbi_lane_part(run, x, p), *to = sbi_lane_part(run, far, p), *where = sbi_lane_part(run, index, p);
            if (run->status == SB_OK) sbi_lane_do(run, sbi_neighbors(run->ctx, from, c, k, metrics[i].metric, metrics[i].p, i % 2 ? p.first : -1, to, where, err));
        }
        snprintf(cell, sizeof cell, "%s.far", metrics[i].name);
        sbi_lane_cell(run, cell, far, err);
        snprintf(cell, sizeof cell, "%s.index", metrics[i].name);
        sbi_lane_cell(run, cell, index, err);
    }
    return run->status;
}

static sb_status run_within(sbi_lane_run *run, sb_error *err) {
    const sb_dtype real = sbi_lane_real(run);
    const int64_t n = sbi_lane_size(run, 12, 5) + 4, m = 70, d = sbi_lane_size(run, 11, 70), pairs = n;
    sb_array *x = sbi_lane_input(run, "x", real, 2, SHAPE(n, d)), *c = sbi_lane_result(run, real, 2, SHAPE(m, d));
    sb_array *rows = sbi_lane_indices(run, "rows", SB_I64, 1, SHAPE(pairs), n), *places = sbi_lane_indices(run, "places", SB_I64, 1, SHAPE(pairs), m);
    char cell[40];
    make_points(run, x, c, n, m, err);
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        const sbi_metric metric = metrics[i].metric;
        const double p = metrics[i].p;
        sb_array *far = sbi_lane_result(run, SB_F64, 1, SHAPE(pairs)), *inside = sbi_lane_result(run, SB_U8, 2, SHAPE(n, m));
        if (run->status == SB_OK) sbi_lane_do(run, sbi_apart(run->ctx, x, c, rows, places, metric, p, far, err));
        if (run->status == SB_OK) sbi_lane_do(run, sbi_reach(run->ctx, metric, p, far, err));
        snprintf(cell, sizeof cell, "%s.apart", metrics[i].name);
        sbi_lane_cell(run, cell, far, err);
        double radius = 0.0; // that of a pair, which is just inside
        if (run->status == SB_OK) sbi_lane_do(run, sb_array_read(sbi_lane_part(run, far, (sbi_part){0, 1, pairs}), &radius, sizeof radius, err));
        for (sbi_part part = sbi_lane_first(run, n); part.count && run->status == SB_OK; part = sbi_lane_next(run, part)) {
            sb_array *from = sbi_lane_part(run, x, part), *to = sbi_lane_part(run, inside, part);
            if (run->status == SB_OK) sbi_lane_do(run, sbi_within(run->ctx, from, c, metric, p, radius, to, err));
        }
        snprintf(cell, sizeof cell, "%s.inside", metrics[i].name);
        sbi_lane_cell(run, cell, inside, err);
    }
    return run->status;
}

#define LANES(lane, splits, function) \
    {.name = lane, .kind = "table", .fixtures = SBI_FIX_ALL, .rows = splits, .counts_inputs = true, .run = function}, \
    {.name = lane "_f64", .kind = "table", .fixtures = SBI_FIX_ALL, .rows = splits, .counts_inputs = true, .run = function, .dtype = SB_F64}
const sbi_lane sbi_lanes_table[] = {
    LANES("columns", true, run_columns), LANES("moments", false, run_moments), LANES("segments", false, run_segments),
    LANES("distance", true, run_distance), LANES("gaussian", true, run_gaussian), LANES("nearest", true, run_nearest),
    LANES("neighbors", true, run_neighbors), LANES("within", true, run_within),
    {.name = NULL},
};
