// SPDX-License-Identifier: Apache-2.0
// Gaussian mixture.
//
// Problem. Weights w_c, means m_c and covariances C_c of k normal distributions that make the mean over rows of ln sum_c w_c N(x; m_c, C_c)
// great. Covariances: one each (full), one for all (tied), variances of features (diag), one variance each (spherical).
//
// Method. Expectation and maximization (A. P. Dempster, N. M. Laird, D. B. Rubin, Maximum likelihood from incomplete data via the EM
// algorithm, J. R. Statist. Soc. B 39, 1977), from shares r_ic of the gaussians in the rows: the labels of our k-means (n_init 1,
// random_state + start), rows drawn by k-means++ or at random with share 1, or random shares; weights_init, means_init, precisions_init stand
// in for what these make. n_init starts, the greatest lower bound is kept, the first on a tie. Stopping as in scikit-learn.
//
// Order of arithmetic, in binary64 whatever the type of the data, rounded to it once at the end (what methods compute with are the
// rounded arrays). U_c is upper triangular, U U^T = C_c^-1: full, tied from C = L L^T (cholesky.c), U = (L^-1)^T by triangular systems of linalg;
// diag, spherical RN64(1 / RN64(sqrt(C))); from precisions by a Cholesky factor from below, or a root.
//   E: D = RN64(x - m_1), u_c = RN64(m_c - m_1) U_c (chains over the rows of U). q_c = S over features of squares (T12) of: full
//   D U_c + (0 - u_c) (T3, one product); tied the difference of D U (T3) and u_c. l_c = RN64(RN64(q_c (-1/2)) + K_c); of diag, spherical l_c = K_c -
//   S(RN64(RN64(t t) RN64(u u))) / 2, t = RN64(x - m_c), as in the operation gaussians. K_c = RN64(ln w_c + RN64(S(ln u_jj) - RN64(d ln 2pi) / 2)).
//   M = max l_c; e_c = exp(l_c - M); s = S(e_c); r_ic = e_c / s; likelihood of the row M + ln s; lower bound S over rows / n.
//   M: W_c = RN64(S over rows (r_ic) + 10 2^-52); w_c = W_c / S(W). m_c = a + (sum of r_ic (x - a)) / W_c, a the means of x (T2).
//   full: V = RN64(x - m_c), times RN64(sqrt(r_ic)), C = V^T V / W_c; diag: r^T (V V) / W_c; both + reg_covar (on the diagonal); spherical: S over
//   features of diag / d. tied: (G - chain over c of RN64(RN64(W_c (m_c - a)_i) (m_c - a)_j)) / S(W), G = sum of (x - a)(x - a)^T as in projection.h. All sums over rows
//   are products of T3 of blocks of rows, added in their order: max(256, min(4096, 2^17 / (k + d))) rows.
// Draws (T11, seed random_state, start s): k-means++ as in kmeans.c, stream 4 2^32 + s; random: uniform64, stream 7 2^32 + s, row by row, each row
// divided by its S; random_from_data: choice, stream 8 2^32 + s. sample: row i belongs to the first c whose chain w_1 + .. + w_c > u times the
// last, u draw i of uniform64, stream 9 2^32; rows sorted by c; x = RN(m_c + y), y^T U = z^T (ascending chains; diag, spherical z / U), z the draws
// i d .. of normal64, stream 10 2^32.
// aic = -2 S + 2 p, bic = -2 S + p ln n, S the sum of the likelihoods, p the free parameters.
//
// Cost: a round is two products n k d^2 (full), n d^2 (tied), passes n k d (diag, spherical).
//
// What can go wrong. A gaussian that collapses on few rows: reg_covar keeps its variance up; where it does not, a named error. Local optima.
#include "cluster/kmeans.h"
#include "decomposition/projection.h"
#include "normals.h"

#include <stdio.h>
#include <string.h>

#define STREAM(purpose) (UINT64_C(purpose) << 32)

typedef struct mixture { // a fit under way
    sbi_call *call;
    sb_context *ctx;
    int64_t n, k, d;
    sbi_normals g;
    sb_array *centre, *shares; // means of x; [k, n]
    double *gram;              // of the rows about them, tied only
    double *likelihood, *table; // [n], room
    double *bounds;            // [max_iter]
    double bound;
    int64_t rounds;
    bool converged;
} mixture;

// ---- starts: shares

// A share of 1 for these rows, one a gaussian.
static sb_status shares_of_rows(mixture *m, const int64_t *rows, sb_error *err) {
    double *all = sbi_allocate(&m->ctx->allocator, m->k * m->n, sizeof *all, err);
    if (!all) return SB_ERR_MEMORY;
    for (int64_t c = 0; c < m->k; c++) all[c * m->n + rows[c]] = 1.0;
    sb_status status = sbi_array_write(m->shares, all, (size_t)(m->k * m->n) * sizeof *all, err);
    sbi_release(&m->ctx->allocator, all);
    return status;
}

static sb_status shares_by_kmeans(mixture *m, int64_t start, sb_error *err) {
    sb_context *ctx = m->ctx;
    const sb_data data = {.size = sizeof data, .x = m->call->x};
    sb_model *model = NULL;
    char clusters[24], seed[24];
    double *labels = NULL, *all = NULL;
    snprintf(clusters, sizeof clusters, "%lld", (long long)m->k);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)(sbi_model_seed(m->call->model, "random_state") + (uint64_t)start));
    sb_status status = sbi_model_new(ctx, "kmeans", &model, err);
    if (status == SB_OK) status = sbi_model_set(model, "n_clusters", clusters, err);
    if (status == SB_OK) status = sbi_model_set(model, "n_init", "1", err);
    if (status == SB_OK) status = sbi_model_set(model, "random_state", seed, err);
    if (status == SB_OK) status = sbi_model_fit(ctx, model, "fit", &data, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, sbi_model_array(model, "labels"), &labels, err);
    if (status == SB_OK && !(all = sbi_allocate(&ctx->allocator, m->k * m->n, sizeof *all, err))) status = SB_ERR_MEMORY;
    for (int64_t i = 0; i < m->n && status == SB_OK; i++) all[(int64_t)labels[i] * m->n + i] = 1.0;
    if (status == SB_OK) status = sbi_array_write(m->shares, all, (size_t)(m->k * m->n) * sizeof *all, err);
    sbi_model_free(model);
    sbi_release(&ctx->allocator, labels);
    sbi_release(&ctx->allocator, all);
    return status;
}

static sb_status shares_at_random(mixture *m, int64_t start, sb_error *err) {
    sb_context *ctx = m->ctx;
    const int64_t shape[2] = {m->n, m->k}, n = m->n, k = m->k;
    sb_array *draws = NULL;
    double *u = NULL, *all = sbi_allocate(&ctx->allocator, k * n, sizeof *all, err);
    sb_status status = all ? sbi_array_new(ctx, SB_F64, 2, shape, &draws, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_random_uniform(ctx, sbi_model_seed(m->call->model, "random_state"), STREAM(7) + (uint64_t)start, 0, draws, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, draws, &u, err);
    for (int64_t i = 0; i < n && status == SB_OK; i++) {
        const double sum = sbi_host_sum(k, u + i * k);
        for (int64_t c = 0; c < k; c++) all[c * n + i] = sum > 0.0 ? u[i * k + c] / sum : 1.0 / (double)k;
    }
    if (status == SB_OK) status = sbi_array_write(m->shares, all, (size_t)(k * n) * sizeof *all, err);
    sbi_array_free(draws);
    sbi_release(&ctx->allocator, u);
    sbi_release(&ctx->allocator, all);
    return status;
}

static sb_status shares_of_drawn_rows(mixture *m, int64_t start, sb_error *err) {
    sb_context *ctx = m->ctx;
    sb_array *chosen = NULL;
    int64_t *rows = sbi_allocate(&ctx->allocator, m->k, sizeof *rows, err);
    sb_status status = rows ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK && sbi_model_is(m->call->model, "init_params", "k-means++")) {
        status = sbi_kmeans_careful_rows(m->call, m->k, start, rows, err);
    } else if (status == SB_OK) {
        status = sbi_array_new(ctx, SB_I64, 1, &m->k, &chosen, err);
        if (status == SB_OK) status = sbi_random_choice(ctx, sbi_model_seed(m->call->model, "random_state"), STREAM(8) + (uint64_t)start, m->n, chosen, err);
        if (status == SB_OK) status = sbi_array_read(chosen, rows, (size_t)m->k * sizeof *rows, err);
    }
    if (status == SB_OK) status = shares_of_rows(m, rows, err);
    sbi_array_free(chosen);
    sbi_release(&ctx->allocator, rows);
    return status;
}

static sb_status maximize(mixture *m, sb_error *err) {
    return sbi_normals_estimate(&m->g, m->call, m->centre, m->gram, m->shares, sbi_model_real(m->call->model, "reg_covar"), err);
}

static sb_status begin(mixture *m, int64_t start, sb_error *err) {
    const sb_model *model = m->call->model;
    const sb_array *weights = sbi_model_value(model, "weights_init")->array, *means = sbi_model_value(model, "means_init")->array;
    const sb_array *precisions = sbi_model_value(model, "precisions_init")->array;
    double *given = NULL;
    sb_status status = SB_OK;
    if (!weights || !means || !precisions) {
        status = sbi_model_is(model, "init_params", "kmeans")   ? shares_by_kmeans(m, start, err)
                 : sbi_model_is(model, "init_params", "random") ? shares_at_random(m, start, err)
                                                                : shares_of_drawn_rows(m, start, err);
        if (status == SB_OK) status = maximize(m, err);
    }
    if (status == SB_OK && weights) status = sbi_array_read(weights, m->g.weights, (size_t)m->k * sizeof(double), err);
    if (status == SB_OK && means) status = sbi_array_read(means, m->g.means, (size_t)(m->k * m->d) * sizeof(double), err);
    if (status == SB_OK && precisions) status = sbi_read_reals(m->ctx, precisions, &given, err);
    if (status == SB_OK) status = sbi_normals_roots(&m->g, given, err);
    sbi_release(&m->ctx->allocator, given);
    return status;
}

// ---- rounds

// Shares of all rows, and the lower bound.
static sb_status expect(mixture *m, sb_error *err) {
    const int64_t n = m->n, k = m->k;
    sbi_densities p = {0};
    sb_status status = sbi_densities_open(&m->g, n, &p, err);
    for (int64_t first = 0; first < n && status == SB_OK; first += p.together) {
        const int64_t count = n - first < p.together ? n - first : p.together;
        const sb_array rows = sbi_some_rows(m->call->x, first, count);
        sb_array log, share;
        status = sbi_densities_run(&p, &rows, &log, &share, m->likelihood + first, err);
        if (status == SB_OK) status = sbi_array_read(&share, m->table, (size_t)(count * k) * sizeof *m->table, err);
        for (int64_t c = 0; c < k && status == SB_OK; c++) {
            double *column = m->table + p.together * k;
            sb_array row = sbi_shaped(*m->shares, count, 0);
            row.data = m->shares->data + (c * n + first) * (int64_t)sizeof(double);
            for (int64_t i = 0; i < count; i++) column[i] = m->table[i * k + c];
            status = sbi_array_write(&row, column, (size_t)count * sizeof *column, err);
        }
    }
    sbi_densities_close(&p);
    if (status == SB_OK) m->bound = sbi_host_sum(n, m->likelihood) / (double)n;
    if (status == SB_OK && m->bound - m->bound != 0.0) return sbi_fail(err, SB_ERR_NONFINITE, "x", "the likelihood of x leaves binary64: scale the data");
    return status;
}

static sb_status run_start(mixture *m, int64_t start, int64_t starts, sb_error *err) {
    const int64_t most = sbi_model_integer(m->call->model, "max_iter");
    const double tolerance = sbi_model_real(m->call->model, "tol");
    sb_status status = begin(m, start, err);
    m->converged = false;
    for (m->rounds = 0; m->rounds < most && !m->converged && status == SB_OK; m->rounds++) {
        const double before = m->bound;
        if ((status = sbi_call_progress(m->call, start * most + m->rounds, starts * most, err)) || (status = expect(m, err)) ||
            (status = maximize(m, err)) || (status = sbi_normals_roots(&m->g, NULL, err)))
            break;
        const double change = m->bound - before;
        m->converged = m->rounds > 0 && (change < 0.0 ? -change : change) < tolerance;
        m->bounds[m->rounds] = m->bound;
    }
    return status;
}

// ---- the fit

static sb_status name_sizes(const mixture *m, sb_error *err) {
    const sbi_covariance kind = m->g.kind;
    sb_model *model = m->call->model;
    sb_status status = sbi_model_set_size(model, "each", kind == SBI_TIED ? -1 : m->k, err);
    if (status == SB_OK) status = sbi_model_set_size(model, "row", kind == SBI_SPHERICAL ? -1 : m->d, err);
    return status ? status : sbi_model_set_size(model, "column", kind <= SBI_TIED ? m->d : -1, err);
}

static sb_status keep(mixture *m, sb_error *err) {
    sb_model *model = m->call->model;
    const int64_t converged = m->converged;
    double *precisions = sbi_allocate(&m->ctx->allocator, m->g.size, sizeof *precisions, err);
    sb_status status = precisions ? sbi_normals_precisions(&m->g, precisions, err) : SB_ERR_MEMORY;
    if (status || (status = sbi_model_set_size(model, "rounds", m->rounds, err)) || (status = sbi_model_fill(m->ctx, model, "weights", m->g.weights, err)) ||
        (status = sbi_model_fill(m->ctx, model, "means", m->g.means, err)) || (status = sbi_model_fill(m->ctx, model, "covariances", m->g.covariances, err)) ||
        (status = sbi_model_fill(m->ctx, model, "precisions", precisions, err)) ||
        (status = sbi_model_fill(m->ctx, model, "precisions_cholesky", m->g.roots, err)) ||
        (status = sbi_model_fill_integers(m->ctx, model, "converged", &converged, err)) || (status = sbi_model_fill_integers(m->ctx, model, "n_iter", &m->rounds, err)) ||
        (status = sbi_model_fill(m->ctx, model, "lower_bound", &m->bound, err)))
        goto done;
    status = sbi_model_fill(m->ctx, model, "lower_bounds", m->bounds, err);
done:
    sbi_release(&m->ctx->allocator, precisions);
    return status;
}

static sb_status check_given(const mixture *m, sb_error *err) {
    const sb_model *model = m->call->model;
    const sb_array *weights = sbi_model_value(model, "weights_init")->array, *precisions = sbi_model_value(model, "precisions_init")->array;
    const int64_t d = m->d, wide = m->g.kind <= SBI_TIED ? d : 0;
    double *values = NULL;
    sb_status status = SB_OK;
    if (m->n < 2)
        return sbi_fail(err, SB_ERR_ARGUMENT, "x", "Found array with 1 sample(s) (shape=(1, %lld)) while a minimum of 2 is required by GaussianMixture.", (long long)d);
    if (m->n < m->k)
        return sbi_fail(err, SB_ERR_ARGUMENT, "n_components", "Expected n_samples >= n_components but got n_components = %lld, n_samples = %lld", (long long)m->k, (long long)m->n);
    if (weights) {
        if ((status = sbi_read_reals(m->ctx, weights, &values, err))) return status;
        const double off = 1.0 - sbi_host_sum(m->k, values);
        for (int64_t c = 0; c < m->k && status == SB_OK; c++)
            if (!(values[c] >= 0.0 && values[c] <= 1.0)) status = sbi_fail(err, SB_ERR_ARGUMENT, "weights_init", "The parameter 'weights' should be in the range [0, 1]");
        if (status == SB_OK && !(off <= 1e-6 && off >= -1e-6)) status = sbi_fail(err, SB_ERR_ARGUMENT, "weights_init", "The parameter 'weights' should be normalized");
        sbi_release(&m->ctx->allocator, values);
        values = NULL;
    }
    if (status || !precisions) return status;
    const bool fits = precisions->size == m->g.size && precisions->ndim == (m->g.kind == SBI_FULL ? 3 : m->g.kind == SBI_SPHERICAL ? 1 : 2) &&
                      precisions->shape[precisions->ndim - 1] == (m->g.kind == SBI_SPHERICAL ? m->k : d);
    if (!fits) return sbi_fail(err, SB_ERR_SHAPE, "precisions_init", "precisions_init does not have the shape of the covariances of this covariance_type");
    if (sbi_model_integer(model, "max_iter") == 0)
        return sbi_fail(err, SB_ERR_UNSUPPORTED, "max_iter", "max_iter=0 with precisions_init: there would be no covariances");
    status = sbi_read_reals(m->ctx, precisions, &values, err);
    for (int64_t at = 0; at < m->g.size && wide && status == SB_OK; at++) {
        const double other = values[at / m->g.each * m->g.each + at % d * d + at % m->g.each / d], apart = values[at] - other, size = other < 0.0 ? -other : other;
        if ((apart < 0.0 ? -apart : apart) > 1e-5 * size + 1e-8)
            status = sbi_fail(err, SB_ERR_ARGUMENT, "precisions_init", "precisions_init should be symmetric, positive-definite");
    }
    sbi_release(&m->ctx->allocator, values);
    return status;
}

static sb_status prepare(mixture *m, sb_error *err) {
    sb_context *ctx = m->ctx;
    const int64_t d = m->d, square[2] = {d, d}, shares[2] = {m->k, m->n}, most = sbi_model_integer(m->call->model, "max_iter");
    double *means = sbi_allocate(&ctx->allocator, d, sizeof *means, err);
    sb_array *gram = NULL;
    sb_status status = means ? sbi_column_moments(ctx, m->call->x, means, NULL, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_array_of(ctx, 1, &d, means, &m->centre, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, shares, &m->shares, err);
    if (status == SB_OK && m->g.kind == SBI_TIED) {
        status = sbi_array_new(ctx, SB_F64, 2, square, &gram, err);
        if (status == SB_OK) status = sbi_centred_gram(m->call, m->centre, gram, err);
        if (status == SB_OK) status = sbi_read_reals(ctx, gram, &m->gram, err);
    }
    sbi_array_free(gram);
    sbi_release(&ctx->allocator, means);
    if (status != SB_OK) return status;
    m->likelihood = sbi_allocate(&ctx->allocator, m->n, sizeof(double), err);
    m->table = sbi_allocate(&ctx->allocator, 8192 * (m->k + 1), sizeof(double), err);
    m->bounds = sbi_allocate(&ctx->allocator, most + 1, sizeof(double), err);
    return m->likelihood && m->table && m->bounds ? name_sizes(m, err) : SB_ERR_MEMORY;
}

sb_status sbi_gaussian_mixture_fit(sbi_call *call, sb_error *err) {
    mixture m = {.call = call, .ctx = call->ctx, .n = call->n, .k = sbi_model_integer(call->model, "n_components"), .d = call->d};
    const int64_t starts = sbi_model_integer(call->model, "n_init");
    double greatest = 0.0;
    bool converged = false;
    sb_status status = sbi_normals_new(call->ctx, call->model, call->d, &m.g, err);
    if (status == SB_OK) status = check_given(&m, err);
    if (status == SB_OK) status = prepare(&m, err);
    for (int64_t i = 0; i < starts && status == SB_OK; i++) {
        status = run_start(&m, i, starts, err);
        if (status != SB_OK || (i > 0 && !(m.bound > greatest))) continue;
        greatest = m.bound;
        converged = m.converged;
        status = keep(&m, err);
    }
    if (status == SB_OK && !converged && sbi_model_integer(call->model, "max_iter") > 0)
        status = sbi_model_warn(call->model, "ConvergenceWarning", "Best performing initialization did not converge. Try different init parameters, or increase "
                                "max_iter, tol, or check for degenerate data.");
    sbi_normals_free(&m.g);
    sbi_array_free(m.centre);
    sbi_array_free(m.shares);
    double *const numbers[] = {m.gram, m.likelihood, m.table, m.bounds};
    for (int i = 0; i < 4; i++) sbi_release(&call->ctx->allocator, numbers[i]);
    return status;
}

// ---- the other methods

typedef enum told { LABELS, SHARES, LIKELIHOODS } told;

// What of each row is asked for, into call->out; LIKELIHOODS into likelihood[n] of the host.
static sb_status tell(sbi_call *call, told what, double *likelihood, sb_error *err) {
    sb_context *ctx = call->ctx;
    sbi_normals g = {0};
    sbi_densities p = {0};
    double *shares = NULL;
    sb_status status = sbi_normals_of(ctx, call->model, &g, err);
    if (status == SB_OK) status = sbi_densities_open(&g, call->n, &p, err);
    for (int64_t first = 0; first < call->n && status == SB_OK; first += p.together) {
        const int64_t count = call->n - first < p.together ? call->n - first : p.together;
        const sb_array rows = sbi_some_rows(call->x, first, count);
        sb_array log, share, out = what == LIKELIHOODS ? rows : sbi_some_rows(call->out, first, count);
        status = sbi_densities_run(&p, &rows, &log, what == LABELS ? NULL : &share, what == LIKELIHOODS ? likelihood + first : NULL, err);
        if (status == SB_OK && what == LABELS) status = sbi_reduce(ctx, SB_ARGMAX, 1, &log, &out, err);
        if (status == SB_OK && what == SHARES) status = sbi_read_reals(ctx, &share, &shares, err);
        if (status == SB_OK && what == SHARES) status = sbi_write_reals(ctx, shares, &out, err);
        sbi_release(&ctx->allocator, shares);
        shares = NULL;
    }
    sbi_densities_close(&p);
    sbi_normals_free(&g);
    return status;
}

sb_status sbi_gaussian_mixture_predict(sbi_call *call, sb_error *err) { return tell(call, LABELS, NULL, err); }
sb_status sbi_gaussian_mixture_predict_proba(sbi_call *call, sb_error *err) { return tell(call, SHARES, NULL, err); }

sb_status sbi_gaussian_mixture_score_samples(sbi_call *call, sb_error *err) {
    double *each = sbi_allocate(&call->ctx->allocator, call->n, sizeof *each, err);
    sb_status status = each ? tell(call, LIKELIHOODS, each, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_write_reals(call->ctx, each, call->out, err);
    sbi_release(&call->ctx->allocator, each);
    return status;
}

static int64_t free_parameters(const sb_model *model) {
    const int64_t k = sbi_model_integer(model, "n_components"), d = sbi_model_size(model, "d"), triangle = d * (d + 1) / 2;
    const int64_t covariance = sbi_model_is(model, "covariance_type", "full")   ? k * triangle
                               : sbi_model_is(model, "covariance_type", "tied") ? triangle
                               : sbi_model_is(model, "covariance_type", "diag") ? k * d
                                                                                : k;
    return covariance + k * d + k - 1;
}

// S of the likelihoods times `factor`, and `penalty`; divided by `divisor`.
static sb_status judge(sbi_call *call, double factor, double penalty, double divisor, sb_error *err) {
    double *each = sbi_allocate(&call->ctx->allocator, call->n, sizeof *each, err);
    sb_status status = each ? tell(call, LIKELIHOODS, each, err) : SB_ERR_MEMORY;
    const double part = status == SB_OK ? factor * sbi_host_sum(call->n, each) : 0.0, value = (part + penalty) / divisor;
    if (status == SB_OK) status = sbi_write_reals(call->ctx, &value, call->out, err);
    sbi_release(&call->ctx->allocator, each);
    return status;
}
sb_status sbi_gaussian_mixture_score(sbi_call *call, sb_error *err) { return judge(call, 1.0, 0.0, (double)call->n, err); }
sb_status sbi_gaussian_mixture_aic(sbi_call *call, sb_error *err) { return judge(call, -2.0, 2.0 * (double)free_parameters(call->model), 1.0, err); }
sb_status sbi_gaussian_mixture_bic(sbi_call *call, sb_error *err) {
    double log_n = (double)call->n;
    sb_status status = sbi_host_unary(call->ctx, SB_LOG, 1, &log_n, err);
    return status ? status : judge(call, -2.0, (double)free_parameters(call->model) * log_n, 1.0, err);
}

// label[n], ascending.
static sb_status draw_labels(const sbi_call *call, const sbi_normals *g, int64_t *label, sb_error *err) {
    sb_context *ctx = call->ctx;
    sb_array *draws = NULL;
    double *u = NULL, all = 0.0;
    int64_t *count = sbi_allocate(&ctx->allocator, g->k, sizeof *count, err);
    sb_status status = count ? sbi_array_new(ctx, SB_F64, 1, &call->n, &draws, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_random_uniform(ctx, sbi_model_seed(call->model, "random_state"), STREAM(9), 0, draws, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, draws, &u, err);
    for (int64_t c = 0; c < g->k; c++) all = all + g->weights[c];
    for (int64_t i = 0; i < call->n && status == SB_OK; i++) {
        int64_t c = 0;
        double sum = g->weights[0];
        while (c < g->k - 1 && !(sum > u[i] * all)) sum = sum + g->weights[++c];
        count[c]++;
    }
    for (int64_t c = 0, i = 0; c < g->k && status == SB_OK; c++)
        for (int64_t j = 0; j < count[c]; j++) label[i++] = c;
    sbi_array_free(draws);
    sbi_release(&ctx->allocator, u);
    sbi_release(&ctx->allocator, count);
    return status;
}

// x[d] from normals z[d], in place.
static void place(const sbi_normals *g, int64_t c, double *x) {
    const double *root = g->roots + (g->kind == SBI_TIED ? 0 : c * g->each);
    for (int64_t j = 0; j < g->d; j++) {
        double y = x[j];
        for (int64_t i = 0; i < j && g->kind <= SBI_TIED; i++) y = y - x[i] * root[i * g->d + j];
        x[j] = y / (g->kind <= SBI_TIED ? root[j * g->d + j] : g->kind == SBI_DIAG ? root[j] : root[0]);
    }
    for (int64_t j = 0; j < g->d; j++) x[j] = g->means[c * g->d + j] + x[j];
}

static sb_status sample(sbi_call *call, bool labels, sb_error *err) {
    sb_context *ctx = call->ctx;
    const int64_t shape[2] = {call->n, call->d};
    sbi_normals g = {0};
    sb_array *draws = NULL;
    double *x = NULL;
    int64_t *label = sbi_allocate(&ctx->allocator, call->n, sizeof *label, err);
    sb_status status = label ? sbi_normals_of(ctx, call->model, &g, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = draw_labels(call, &g, label, err);
    if (status == SB_OK && labels) {
        status = sbi_array_write(call->out, label, (size_t)call->n * sizeof *label, err);
    } else if (status == SB_OK) {
        status = sbi_array_new(ctx, SB_F64, 2, shape, &draws, err);
        if (status == SB_OK) status = sbi_random_normal(ctx, sbi_model_seed(call->model, "random_state"), STREAM(10), 0, draws, err);
        if (status == SB_OK) status = sbi_read_reals(ctx, draws, &x, err);
        for (int64_t i = 0; i < call->n && status == SB_OK; i++) place(&g, label[i], x + i * call->d);
        if (status == SB_OK) status = sbi_write_reals(ctx, x, call->out, err);
    }
    sbi_normals_free(&g);
    sbi_array_free(draws);
    sbi_release(&ctx->allocator, x);
    sbi_release(&ctx->allocator, label);
    return status;
}
sb_status sbi_gaussian_mixture_sample(sbi_call *call, sb_error *err) { return sample(call, false, err); }
sb_status sbi_gaussian_mixture_sample_labels(sbi_call *call, sb_error *err) { return sample(call, true, err); }

sb_status sbi_gaussian_mixture_check(const sb_model *model, sb_error *err) {
    const double any = -__builtin_inf();
    const sbi_covariance kind = sbi_model_is(model, "covariance_type", "full") ? SBI_FULL : sbi_model_is(model, "covariance_type", "tied") ? SBI_TIED
                                : sbi_model_is(model, "covariance_type", "diag") ? SBI_DIAG : SBI_SPHERICAL;
    const int64_t k = sbi_model_integer(model, "n_components"), d = sbi_model_size(model, "d"), wide = kind <= SBI_TIED ? d : 1;
    double *roots = NULL;
    sb_status status;
    if (d < 1 || sbi_model_size(model, "each") != (kind == SBI_TIED ? -1 : k) || sbi_model_size(model, "row") != (kind == SBI_SPHERICAL ? -1 : d) ||
        sbi_model_size(model, "column") != (kind <= SBI_TIED ? d : -1) || sbi_model_size(model, "rounds") < 0)
        return sbi_fail(err, SB_ERR_FORMAT, "covariances", "covariances are not those of this covariance_type");
    if ((status = sbi_model_check_numbers(model, "weights", 0.0, err)) || (status = sbi_model_check_numbers(model, "means", any, err)) ||
        (status = sbi_model_check_numbers(model, "precisions_cholesky", any, err)) || (status = sbi_model_numbers(model, "precisions_cholesky", &roots, err)))
        return status;
    const sb_array *a = sbi_model_array(model, "precisions_cholesky");
    for (int64_t at = 0; at < a->size && status == SB_OK; at += kind <= SBI_TIED && at % (wide * wide) != wide * wide - 1 ? wide + 1 : 1)
        if (!(roots[at] > 0.0)) status = sbi_fail(err, SB_ERR_FORMAT, "precisions_cholesky", "precisions_cholesky has a diagonal entry that is not positive");
    sbi_release(&model->allocator, roots);
    return status;
}
