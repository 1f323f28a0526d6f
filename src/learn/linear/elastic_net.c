// SPDX-License-Identifier: Apache-2.0
// Least squares with penalties on the absolute values and the squares of the coefficients: ElasticNet, and Lasso, which is that with l1_ratio 1.
//
// Problem. Coefficients b and a constant c with the least 1 / (2 W) sum_i w_i |y_i - b . x_i - c|^2 + alpha l1_ratio |b|_1 +
// alpha (1 - l1_ratio) / 2 |b|^2, W the sum of the weights; with positive under b >= 0. Each target by itself.
//
// Method. Coordinate descent (Friedman, Hastie, Tibshirani 2010): with more rows than features on the normal equations G, q of the centred
// data ("covariance updates"), else on the rows, each times the root of its weight. A round takes every coordinate in turn, or
// with selection random d of them drawn. It ends by the duality gap: where that is at most tol times the sum of squares of y, as
// scikit-learn has it, and at most 2^-20 of the objective, or of the sum of squares 2^-44.
//
// Order of arithmetic. L = RN64(RN64(alpha l1_ratio) W), M = RN64(RN64(alpha RN64(1 - l1_ratio)) W), W = S(w) or n. G, q as in centred_rows.c; z_j =
// G_jj, Y = S(RN64(w e e)) of the centred y. b = 0, g = q. A coordinate with z_j > 0: u = RN64(g_j + RN64(b_j z_j)); b' = RN64(t / RN64(z_j + M))
// with t = RN64(u - L) where u > L, RN64(u + L) where u < -L and positive is not asked, else 0; h = RN64(b' - b_j); where h is not 0
// g_i = RN64(g_i - RN64(h G_ij)) for all i. On the rows z_j = S(D_j D_j), g_j = S(D_j r), r = E at first, then r_i = RN64(r_i - RN64(h D_ij)).
// The gap, where no b moved by more than 2^-7 of the greatest, and after every eighth round and the last: R = Y - S(b_j (q_j + g_j)) at
// least 0, or S(r r); P = R / 2 + L |b|_1 + M / 2 S(b b); v the greatest of |g_j - M b_j| (positive: of g_j - M b_j), k = L / v where
// v > L, else 1; gap = k < 1 ? (R + R k k) / 2 : R; + L |b|_1 - k (Y - S(b q)) + M (1 + k k) / 2 S(b b). Of L = 0: R + M / 2 S(b b) -
// (Y - S(b q)) + S(g g) / (2 M), and where M = 0, too, S(g_j g_j / z_j), with positive without the g_j < 0 where b_j = 0. Draws: integers of the stream 16 2^32 + target, d a round.
//
// Cost: a product n d^2 / 2 in binary64, then d a round for each coefficient that moves; on the rows 2 n d a round.
//
// What can go wrong. Features that are nearly combinations of others slow it down: after max_iter rounds it says so. With alpha 0 the
// minimum is found, slowly; LinearRegression is the better way. warm_start is taken and starts at 0: where a fit starts is in no bit of it.
#include "least_squares.h"

#include <string.h>

typedef struct descent {
    const sbi_call *call;
    int64_t n, d, max_iter, iterations;
    double *gram, *rows;                // [d, d], both triangles; or [d, n]
    double *z, *q, *g, *b, *r, *term;   // [d]; r[n], term[max(n, d)]
    double l1, l2, tol, total, gap;     // total: Y
    bool positive, random;
    sb_array *draw;
    int64_t *order;
} descent;

static double magnitude(double x) { return x < 0.0 ? -x : x; }

static void move(descent *s, int64_t j, double by) {
    const int64_t count = s->gram ? s->d : s->n;
    const double *column = s->gram ? s->gram + j * count : s->rows + j * count;
    double *to = s->gram ? s->g : s->r;
    for (int64_t i = 0; i < count; i++) to[i] = to[i] - by * column[i];
}

static void one_round(descent *s, double *moved, double *most) {
    *moved = *most = 0.0;
    for (int64_t k = 0; k < s->d; k++) {
        const int64_t j = s->random ? s->order[k] : k;
        if (!(s->z[j] > 0.0)) continue;
        if (s->rows) s->g[j] = sbi_host_dot(s->n, s->rows + j * s->n, s->r);
        const double old = s->b[j], u = s->g[j] + old * s->z[j];
        const double t = u > s->l1 ? u - s->l1 : u < -s->l1 && !s->positive ? u + s->l1 : 0.0;
        s->b[j] = t / (s->z[j] + s->l2);
        const double by = s->b[j] - old;
        if (by != 0.0) move(s, j, by);
        if (magnitude(by) > *moved) *moved = magnitude(by);
        if (magnitude(s->b[j]) > *most) *most = magnitude(s->b[j]);
    }
}

// The gap, and the objective.
static double duality(descent *s, double *objective) {
    const int64_t d = s->d;
    double most = 0.0, squares;
    for (int64_t j = 0; j < d && s->rows; j++) s->g[j] = sbi_host_dot(s->n, s->rows + j * s->n, s->r);
    for (int64_t j = 0; j < d; j++) s->term[j] = magnitude(s->b[j]);
    const double length = sbi_host_sum(d, s->term), square = sbi_host_dot(d, s->b, s->b), along = s->total - sbi_host_dot(d, s->b, s->q);
    for (int64_t j = 0; j < d; j++) s->term[j] = s->q[j] + s->g[j];
    squares = s->rows ? sbi_host_dot(s->n, s->r, s->r) : s->total - sbi_host_dot(d, s->b, s->term);
    squares = squares > 0.0 ? squares : 0.0;
    *objective = 0.5 * squares + s->l1 * length + 0.5 * s->l2 * square;
    if (s->l1 == 0.0) {
        for (int64_t j = 0; j < d; j++) {
            const bool counts = s->z[j] > 0.0 && !(s->positive && s->b[j] == 0.0 && s->g[j] < 0.0);
            s->term[j] = counts ? s->l2 > 0.0 ? s->g[j] * s->g[j] : s->g[j] * s->g[j] / s->z[j] : 0.0;
        }
        const double slope = sbi_host_sum(d, s->term);
        return s->l2 > 0.0 ? squares + 0.5 * s->l2 * square - along + slope / (2.0 * s->l2) : slope;
    }
    for (int64_t j = 0; j < d; j++) {
        const double slope = s->g[j] - s->l2 * s->b[j], size = s->positive ? slope : magnitude(slope);
        most = size > most ? size : most;
    }
    const double k = most > s->l1 ? s->l1 / most : 1.0;
    return (k < 1.0 ? 0.5 * (squares + squares * (k * k)) : squares) + s->l1 * length - k * along + 0.5 * s->l2 * (1.0 + k * k) * square;
}

static sb_status draw_round(descent *s, uint64_t stream, int64_t round, sb_error *err) {
    sb_context *ctx = s->call->ctx;
    sb_status status = sbi_random_integers(ctx, sbi_model_seed(s->call->model, "random_state"), stream, round * s->d, s->d, s->draw, err);
    return status ? status : sbi_array_read(s->draw, s->order, (size_t)s->d * sizeof *s->order, err);
}

// b from 0 to the minimum of one target.
static sb_status descend(descent *s, int64_t target, sb_error *err) {
    double moved, most, objective;
    bool enough = false;
    sb_status status = SB_OK;
    s->iterations = 0;
    for (int64_t j = 0; j < s->d; j++) s->b[j] = 0.0;
    for (bool right = false; !right && s->iterations < s->max_iter;) {
        if (s->random && (status = draw_round(s, (UINT64_C(16) << 32) + (uint64_t)target, s->iterations, err))) return status;
        if ((status = sbi_call_progress(s->call, s->iterations, s->max_iter, err))) return status;
        one_round(s, &moved, &most);
        s->iterations++;
        if (moved > 0x1p-7 * most && s->iterations % 8 && s->iterations < s->max_iter) continue;
        s->gap = duality(s, &objective);
        enough = s->gap <= s->tol * s->total;
        right = enough && (s->gap <= 0x1p-20 * objective || s->gap <= 0x1p-44 * s->total);
    }
    for (int64_t j = 0; j < s->d; j++)
        if (s->b[j] - s->b[j] != 0.0) return sbi_fail(err, SB_ERR_NONFINITE, "x", "the sums of squares of x or y leave binary64: scale the data");
    if (enough) return SB_OK;
    return sbi_warned(sbi_model_warn(s->call->model, "ConvergenceWarning", "Objective did not converge in %lld iterations. Raise max_iter, scale the features, or raise alpha.",
                                     (long long)s->iterations), err);
}

// ---- what a descent starts from

// E^T W E of each target.
static sb_status totals_of(const sbi_centred *c, const double *w, double *out, sb_error *err) {
    double *y = NULL, *term = sbi_allocate(&c->call->ctx->allocator, c->n, sizeof *term, err);
    sb_status status = term ? sbi_read_reals(c->call->ctx, c->y, &y, err) : SB_ERR_MEMORY;
    for (int64_t j = 0; j < c->t && status == SB_OK; j++) {
        for (int64_t i = 0; i < c->n; i++) {
            const double e = y[i * c->t + j] - c->y_means[j];
            term[i] = w ? w[i] * (e * e) : e * e;
        }
        out[j] = sbi_host_sum(c->n, term);
    }
    sbi_release(&c->call->ctx->allocator, y);
    sbi_release(&c->call->ctx->allocator, term);
    return status;
}

// Features as rows of the host, and the centred targets; both times the roots of weights.
static sb_status turned_rows(const sbi_centred *c, double **rows, double **y, sb_error *err) {
    sb_context *ctx = c->call->ctx;
    sb_array *x_rows = NULL, *y_rows = NULL;
    double *x = NULL;
    sb_status status = sbi_centred_rows(c, &x_rows, &y_rows, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, x_rows, &x, err);
    sbi_array_free(x_rows);
    if (status == SB_OK) status = sbi_read_reals(ctx, y_rows, y, err);
    if (status == SB_OK && !(*rows = sbi_allocate(&ctx->allocator, c->d * c->n, sizeof **rows, err))) status = SB_ERR_MEMORY;
    for (int64_t i = 0; i < c->n && status == SB_OK; i++)
        for (int64_t j = 0; j < c->d; j++) (*rows)[j * c->n + i] = x[i * c->d + j];
    sbi_array_free(y_rows);
    sbi_release(&ctx->allocator, x);
    return status;
}

static sb_status all_targets(descent *s, const sbi_centred *c, const sbi_gram *g, const double *y, const double *totals, double weight, double *b, double *gaps,
                             int64_t *iterations, sb_error *err) {
    sb_status status = SB_OK;
    for (int64_t j = 0; j < s->d; j++) s->z[j] = s->gram ? s->gram[j * s->d + j] : sbi_host_dot(s->n, s->rows + j * s->n, s->rows + j * s->n);
    for (int64_t k = 0; k < c->t && status == SB_OK; k++) {
        s->b = b + k * s->d;
        s->total = totals[k];
        for (int64_t i = 0; i < s->n && s->rows; i++) s->r[i] = y[i * c->t + k];
        for (int64_t j = 0; j < s->d; j++) s->q[j] = s->g[j] = s->gram ? g->cross[j * c->t + k] : sbi_host_dot(s->n, s->rows + j * s->n, s->r);
        status = descend(s, k, err);
        gaps[k] = s->gap / weight;
        iterations[k] = s->iterations;
    }
    return status;
}

static sb_status fit(sbi_call *call, double l1_ratio, sb_error *err) {
    const sb_model *model = call->model;
    const sbi_allocator *allocator = &call->ctx->allocator;
    const sbi_value *most = sbi_model_value(model, "max_iter");
    const double alpha = sbi_model_real(model, "alpha");
    descent s = {.call = call, .n = call->n, .d = call->d, .max_iter = most->kind == SBI_INTEGER ? most->integer : 1000, .tol = sbi_model_real(model, "tol"),
                 .positive = sbi_model_flag(model, "positive"), .random = sbi_model_is(model, "selection", "random")};
    sbi_centred c = {0};
    sbi_gram g = {0};
    double *w = NULL, *y = NULL, *b = NULL, *per_target = NULL;
    int64_t *iterations = NULL;
    sb_status status = sbi_centred_start(call, sbi_model_flag(model, "fit_intercept"), &c, err);
    if (status == SB_OK && call->weights) status = sbi_read_reals(call->ctx, call->weights, &w, err);
    if (status == SB_OK) status = c.n > c.d ? sbi_gram_equations(&c, &g, err) : turned_rows(&c, &s.rows, &y, err);
    if (status == SB_OK && s.random) status = sbi_array_new(call->ctx, SB_I64, 1, &c.d, &s.draw, err);
    if (status != SB_OK) goto done;
    b = sbi_allocate(allocator, c.d * c.t, sizeof *b, err);
    per_target = b ? sbi_allocate(allocator, 2 * c.t, sizeof *per_target, err) : NULL;
    iterations = per_target ? sbi_allocate(allocator, c.t, sizeof *iterations, err) : NULL;
    s.z = iterations ? sbi_allocate(allocator, 3 * c.d + c.n + (c.n > c.d ? c.n : c.d), sizeof *s.z, err) : NULL;
    s.order = s.z ? sbi_allocate(allocator, c.d, sizeof *s.order, err) : NULL;
    if (!s.order) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    s.q = s.z + c.d, s.g = s.q + c.d, s.r = s.g + c.d, s.term = s.r + c.n;
    s.gram = g.gram;
    for (int64_t i = 0; i < c.d && s.gram; i++)
        for (int64_t j = 0; j < i; j++) s.gram[j * c.d + i] = s.gram[i * c.d + j];
    const double weight = w ? sbi_host_sum(c.n, w) : (double)c.n;
    s.l1 = alpha * l1_ratio * weight;
    s.l2 = alpha * (1.0 - l1_ratio) * weight;
    if (alpha == 0.0) status = sbi_warned(sbi_model_warn(call->model, "UserWarning", "With alpha=0 this is slow; LinearRegression has the same minimum."), err);
    if (status || (status = totals_of(&c, w, per_target, err)) || (status = all_targets(&s, &c, &g, y, per_target, weight, b, per_target + c.t, iterations, err)) ||
        (status = sbi_linear_fill(&c, b, err)) || (status = sbi_model_fill(call->ctx, call->model, "dual_gap", per_target + c.t, err)))
        goto done;
    status = sbi_model_fill_integers(call->ctx, call->model, "n_iter", iterations, err);
done:
    sbi_centred_free(&c);
    sbi_array_free(s.draw);
    void *const blocks[] = {w, y, b, per_target, iterations, g.gram, g.cross, s.rows, s.z, s.order};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sbi_release(allocator, blocks[i]);
    return status;
}

sb_status sbi_elastic_net_fit(sbi_call *call, sb_error *err) { return fit(call, sbi_model_real(call->model, "l1_ratio"), err); }
sb_status sbi_lasso_fit(sbi_call *call, sb_error *err) { return fit(call, 1.0, err); }
sb_status sbi_elastic_net_predict(sbi_call *call, sb_error *err) { return sbi_linear_predict(call, err); }
sb_status sbi_lasso_predict(sbi_call *call, sb_error *err) { return sbi_linear_predict(call, err); }
sb_status sbi_elastic_net_score(sbi_call *call, sb_error *err) { return sbi_regressor_score(call, sbi_linear_predict, err); }
sb_status sbi_lasso_score(sbi_call *call, sb_error *err) { return sbi_regressor_score(call, sbi_linear_predict, err); }
sb_status sbi_elastic_net_check(const sb_model *model, sb_error *err) {
    (void)model, (void)err; // any numbers of these shapes are coefficients
    return SB_OK;
}
sb_status sbi_lasso_check(const sb_model *model, sb_error *err) { return sbi_elastic_net_check(model, err); }
