// SPDX-License-Identifier: Apache-2.0
// Principal components.
//
// Problem. Orthonormal directions v_1, v_2, ... of the greatest variance of the rows x_i about their mean m, and these variances.
//
// Method. covariance_eigh: eigenvectors of the covariance in binary64 (tall data: a product n d^2 / 2, then d by d). full: singular values
// of the centred rows (linalg/svd.c). randomized: a random subspace (linalg/random_svd.c; N. Halko and others, SIAM Review 53, 2011).
// arpack: taken, and answered by full. auto: covariance_eigh where d <= 1,000 and n >= 10 d; else full where max(n, d) <= 500 or
// n_components is mle, else randomized where it is a number below 0.8 min(n, d), else full.
// The likelihood is that of M. E. Tipping, C. M. Bishop, Probabilistic principal component analysis, J. R. Statist. Soc. B 61, 1999.
//
// Order of arithmetic, in binary64 but where a type is named; r = min(n, d), N = n - 1.
// m: means of T2. covariance_eigh: G as in projection.h, C = RN64(G / N), its eigenpairs (eigh.c), the greatest first;
// var_j = the eigenvalue, 0 where it is negative, s_j = RN64(sqrt(RN64(var_j N))). full: s, V^T of svd.c of D = RN64(x - m), var_j =
// RN64(RN64(s_j s_j) / N). randomized: the same, D = RN(x - m) in the type of the data, k + n_oversamples vectors, iterated_power
// iterations (auto: 7 where k < 0.1 r, else 4), normalized unless power_iteration_normalizer is none (auto: where there are more than
// 2); LU is QR here.
// total = S(var_j over j <= r), of randomized S over features of their variances (divisor N). ratio_j = var_j / total, 0 where that is 0.
// k: r (arpack: r - 1) for none; for a fraction f the first j with chain ratio_1 + ... + ratio_j > f, r without one; mle: minka.c.
// noise = S(var_j, k < j <= r) / (r - k), of randomized (total - S(var_j, j <= k)) / (r - k), not below 0; 0 where k = r.
// Everything is rounded once to the type of the data; signs as there: the entry of largest magnitude in a row of V^T is positive.
// From the stored arrays, root_j = RN(sqrt(var_j)) of the type of the data, not below its epsilon:
// transform: D = RN(x - mean), the product of T3 with V, whitened / root. inverse_transform: z (whitened RN(z root)), the product
// of T3 with V, + mean.
// score_samples: D = RN64(x - mean); Z = D V^T, R = D - Z V (T3, binary64); w_j = max(var_j, noise);
// -(RN64(S(u u) + S(R R) / noise) / 2) - RN64(RN64(d ln 2pi + L) / 2) with u = RN64(Z / RN64(sqrt(w))), L = S(ln w_j) + (d - k) ln noise; without the terms
// of noise where k = d. score: S over rows / n. get_covariance: A^T A (T3), A_j = RN64(v_j RN64(sqrt(w_j - noise))), + noise on the diagonal.
// get_precision: (RN64(V c))^T V (T3), c_j = 1 / w_j - 1 / noise, + 1 / noise on the diagonal; k = d: c_j = 1 / w_j alone.
//
// Cost: n d^2 / 2 and d^3; full 2 n d^2 and more; randomized 16 or 10 products n d (k + 10).
//
// What can go wrong. One row has no variance: refused. In covariance_eigh singular values below 1e-8 of the greatest are rounding; for
// float32 data that is below their own rounding. Likelihood and precision of a singular covariance do not exist: a named error.
#include "linalg.h"
#include "projection.h"

#include <string.h>

#define STREAM (UINT64_C(5) << 32)
#define LN_TWO_PI 0x1.d67f1c864beb5p+0

typedef enum solver { COVARIANCE, FULL, RANDOMIZED } solver;
typedef struct spectrum {
    sbi_call *call;
    sb_context *ctx;
    int64_t n, d, r, k, found;  // r = min(n, d); found: how many of var, s, vt are there
    double *means, *spread;     // [d]; the variances of features, of randomized
    double *var, *s, *ratio, *vt; // [d], [d], [d], [found, d]
    double total, noise;
} spectrum;

static solver choose_solver(const spectrum *p) {
    const sb_model *model = p->call->model;
    const sbi_value *wanted = sbi_model_value(model, "n_components");
    const int64_t most = p->n > p->d ? p->n : p->d;
    if (sbi_model_is(model, "svd_solver", "covariance_eigh")) return COVARIANCE;
    if (sbi_model_is(model, "svd_solver", "randomized")) return RANDOMIZED;
    if (!sbi_model_is(model, "svd_solver", "auto")) return FULL;
    if (p->d <= 1000 && p->n / 10 >= p->d) return COVARIANCE;
    if (most <= 500 || wanted->kind == SBI_WORD) return FULL;
    const int64_t k = wanted->kind == SBI_NONE ? p->r : wanted->integer;
    return wanted->kind != SBI_REAL && (double)k < 0.8 * (double)p->r ? RANDOMIZED : FULL;
}

static sb_status check_wanted(const spectrum *p, solver how, sb_error *err) {
    const sbi_value *wanted = sbi_model_value(p->call->model, "n_components");
    const bool counted = wanted->kind == SBI_INTEGER, arpack = sbi_model_is(p->call->model, "svd_solver", "arpack");
    if (p->n < 2) return sbi_fail(err, SB_ERR_ARGUMENT, "x", "n_samples=1: the variance of 1 sample does not exist");
    if (counted && (wanted->integer > p->r || (arpack && wanted->integer == p->r)))
        return sbi_fail(err, SB_ERR_ARGUMENT, "n_components", "n_components=%lld must be between 1 and %smin(n_samples, n_features)=%lld%s",
                        (long long)wanted->integer, arpack ? "strictly less than " : "", (long long)p->r, arpack ? " with svd_solver='arpack'" : "");
    if ((how == RANDOMIZED || arpack) && (wanted->kind == SBI_WORD || wanted->kind == SBI_REAL))
        return sbi_fail(err, SB_ERR_ARGUMENT, "n_components", "n_components='mle' or a fraction cannot be used with svd_solver='%s'",
                        arpack ? "arpack" : "randomized");
    if (wanted->kind == SBI_WORD && p->n < p->d)
        return sbi_fail(err, SB_ERR_ARGUMENT, "n_components", "n_components='mle' is only supported if n_samples >= n_features");
    if (arpack && p->r < 2) return sbi_fail(err, SB_ERR_ARGUMENT, "svd_solver", "svd_solver='arpack' leaves no component of n_features=%lld, n_samples=%lld", (long long)p->d, (long long)p->n);
    return SB_OK;
}

// ---- the spectrum

static sb_status by_covariance(spectrum *p, const sb_array *mean, sb_error *err) {
    sb_context *ctx = p->ctx;
    const int64_t d = p->d, square[2] = {d, d};
    sb_array *gram = NULL, *w = NULL, *v = NULL;
    double *g = NULL, *values = NULL;
    sb_status status;
    if ((status = sbi_array_new(ctx, SB_F64, 2, square, &gram, err)) || (status = sbi_array_new(ctx, SB_F64, 2, square, &v, err)) ||
        (status = sbi_array_new(ctx, SB_F64, 1, &d, &w, err)) || (status = sbi_centred_gram(p->call, mean, gram, err)) ||
        (status = sbi_read_reals(ctx, gram, &g, err)))
        goto done;
    for (int64_t i = 0; i < d * d; i++) g[i] = g[i] / (double)(p->n - 1);
    if ((status = sbi_array_write(gram, g, (size_t)(d * d) * sizeof *g, err)) || (status = sbi_eigh(ctx, gram, w, v, err)) ||
        (status = sbi_read_reals(ctx, w, &values, err)) || (status = sbi_array_read(v, g, (size_t)(d * d) * sizeof *g, err)))
        goto done;
    for (int64_t i = 0; i < p->found; i++) {
        const double value = values[d - 1 - i];
        p->var[i] = value > 0.0 ? value : 0.0;
        p->s[i] = __builtin_sqrt(p->var[i] * (double)(p->n - 1));
        for (int64_t j = 0; j < d; j++) p->vt[i * d + j] = g[j * d + d - 1 - i];
    }
done:
    sbi_array_free(gram);
    sbi_array_free(w);
    sbi_array_free(v);
    sbi_release(&ctx->allocator, g);
    sbi_release(&ctx->allocator, values);
    return status;
}

static sb_status by_singular_values(spectrum *p, const sb_array *mean, bool random, sb_error *err) {
    sb_context *ctx = p->ctx;
    const sb_model *model = p->call->model;
    const sbi_value *power = sbi_model_value(model, "iterated_power");
    const int64_t r = p->r, d = p->d, few = 10 * p->k < r, iterations = power->kind == SBI_INTEGER ? power->integer : few ? 7 : 4;
    const sbi_random_svd_options options = {
        .k = p->k, .oversamples = sbi_model_integer(model, "n_oversamples"), .iterations = iterations, .stream = STREAM,
        .normalize = sbi_model_is(model, "power_iteration_normalizer", "auto") ? iterations > 2 : !sbi_model_is(model, "power_iteration_normalizer", "none"),
        .seed = sbi_model_seed(model, "random_state")};
    const int64_t vectors[2] = {r, d};
    sb_array *centred = NULL, *s = NULL, *vt = NULL;
    sb_status status = sbi_array_new(ctx, random ? p->call->x->dtype : SB_F64, 2, p->call->x->shape, &centred, err);
    if (status == SB_OK) status = sbi_columns(ctx, p->call->x, mean, NULL, 0, centred, err);
    if (status == SB_OK && random) status = sbi_random_svd(ctx, centred, &options, p->s, p->vt, err);
    if (status == SB_OK && !random) status = sbi_array_new(ctx, SB_F64, 1, &r, &s, err);
    if (status == SB_OK && !random) status = sbi_array_new(ctx, SB_F64, 2, vectors, &vt, err);
    if (status == SB_OK && !random) status = sbi_svd(ctx, centred, NULL, s, vt, err);
    if (status == SB_OK && !random) status = sbi_array_read(s, p->s, (size_t)r * sizeof *p->s, err);
    if (status == SB_OK && !random) status = sbi_array_read(vt, p->vt, (size_t)(r * d) * sizeof *p->vt, err);
    for (int64_t i = 0; i < p->found; i++) p->var[i] = p->s[i] * p->s[i] / (double)(p->n - 1);
    sbi_array_free(centred);
    sbi_array_free(s);
    sbi_array_free(vt);
    return status;
}

static sb_status choose_k(spectrum *p, sb_error *err) {
    const sbi_value *wanted = sbi_model_value(p->call->model, "n_components");
    double sum = 0.0;
    p->k = wanted->kind == SBI_INTEGER ? wanted->integer : p->r - sbi_model_is(p->call->model, "svd_solver", "arpack");
    if (wanted->kind == SBI_WORD) return p->d > 1 ? sbi_minka_rank(p->ctx, p->n, p->d, p->var, &p->k, err) : SB_OK;
    for (int64_t i = 0; i < p->r && wanted->kind == SBI_REAL; i++) {
        sum = sum + p->ratio[i];
        if (!(sum > wanted->real)) continue;
        p->k = i + 1;
        break;
    }
    return SB_OK;
}

static sb_status fill(spectrum *p, sb_error *err) {
    sb_model *model = p->call->model;
    sb_status status;
    sbi_fix_row_signs(p->call->x->dtype, p->k, p->d, p->vt);
    if ((status = sbi_model_set_size(model, "k", p->k, err)) || (status = sbi_model_fill(p->ctx, model, "components", p->vt, err)) ||
        (status = sbi_model_fill(p->ctx, model, "explained_variance", p->var, err)) ||
        (status = sbi_model_fill(p->ctx, model, "explained_variance_ratio", p->ratio, err)) ||
        (status = sbi_model_fill(p->ctx, model, "singular_values", p->s, err)) || (status = sbi_model_fill(p->ctx, model, "mean", p->means, err)) ||
        (status = sbi_model_fill_integers(p->ctx, model, "n_components", &p->k, err)) ||
        (status = sbi_model_fill_integers(p->ctx, model, "n_samples", &p->n, err)))
        return status;
    return sbi_model_fill(p->ctx, model, "noise_variance", &p->noise, err);
}

static sb_status find_spectrum(spectrum *p, solver how, const sb_array *mean, sb_error *err) {
    sb_status status = SB_OK;
    for (int64_t j = 0; j < p->d && how == RANDOMIZED; j++) p->spread[j] = p->spread[j] / (double)(p->n - 1);
    if (how == RANDOMIZED) status = choose_k(p, err);
    p->found = how == RANDOMIZED ? p->k : p->r;
    if (status == SB_OK && !(p->vt = sbi_allocate(&p->ctx->allocator, p->found * p->d, sizeof(double), err))) status = SB_ERR_MEMORY;
    if (status == SB_OK) status = how == COVARIANCE ? by_covariance(p, mean, err) : by_singular_values(p, mean, how == RANDOMIZED, err);
    if (status != SB_OK) return status;
    p->total = how == RANDOMIZED ? sbi_host_sum(p->d, p->spread) : sbi_host_sum(p->r, p->var);
    if (p->total - p->total != 0.0) return sbi_fail(err, SB_ERR_NONFINITE, "x", "the variances of x leave binary64: scale the data");
    for (int64_t i = 0; i < p->found; i++) p->ratio[i] = p->total > 0.0 ? p->var[i] / p->total : 0.0;
    if (how != RANDOMIZED && (status = choose_k(p, err))) return status;
    const double left = (double)(p->r - p->k);
    if (p->k < p->r) p->noise = how == RANDOMIZED ? (p->total - sbi_host_sum(p->k, p->var)) / left : sbi_host_sum(p->r - p->k, p->var + p->k) / left;
    if (!(p->noise > 0.0)) p->noise = 0.0;
    return SB_OK;
}

sb_status sbi_pca_fit(sbi_call *call, sb_error *err) {
    const int64_t n = call->n, d = call->d;
    spectrum p = {.call = call, .ctx = call->ctx, .n = n, .d = d, .r = n < d ? n : d};
    double *const numbers = sbi_allocate(&call->ctx->allocator, 5 * d, sizeof *numbers, err);
    sb_array *mean = NULL;
    const solver how = choose_solver(&p);
    sb_status status = numbers ? check_wanted(&p, how, err) : SB_ERR_MEMORY;
    if (status != SB_OK) goto done;
    p.means = numbers, p.spread = numbers + d, p.var = numbers + 2 * d, p.s = numbers + 3 * d, p.ratio = numbers + 4 * d;
    if ((status = sbi_column_moments(call->ctx, call->x, p.means, how == RANDOMIZED ? p.spread : NULL, err)) || (status = sbi_array_of(call->ctx, 1, &d, p.means, &mean, err)) ||
        (status = find_spectrum(&p, how, mean, err)))
        goto done;
    status = fill(&p, err);
done:
    sbi_array_free(mean);
    sbi_release(&call->ctx->allocator, numbers);
    sbi_release(&call->ctx->allocator, p.vt);
    return status;
}

// ---- coordinates

// RN(sqrt(var)) in x's type, not below its epsilon.
static sb_status roots_of(const sbi_call *call, sb_array **out, sb_error *err) {
    const sb_array *var = sbi_model_array(call->model, "explained_variance");
    const double least = call->x->dtype == SB_F32 ? 0x1p-23 : 0x1p-52;
    double *values = NULL;
    sb_status status = sbi_read_reals(call->ctx, var, &values, err);
    for (int64_t i = 0; i < var->size && status == SB_OK; i++) {
        const double root = __builtin_sqrt(values[i]);
        values[i] = root > least ? root : least;
    }
    if (status == SB_OK) status = sbi_array_new(call->ctx, call->x->dtype, 1, var->shape, out, err);
    if (status == SB_OK) status = sbi_write_reals(call->ctx, values, *out, err);
    sbi_release(&call->ctx->allocator, values);
    return status;
}

sb_status sbi_pca_transform(sbi_call *call, sb_error *err) {
    sb_array *roots = NULL;
    sb_status status = sbi_model_flag(call->model, "whiten") ? roots_of(call, &roots, err) : SB_OK;
    if (status == SB_OK)
        status = sbi_project(call, sbi_model_array(call->model, "mean"), sbi_model_array(call->model, "components"), roots, call->out, err);
    sbi_array_free(roots);
    return status;
}

sb_status sbi_pca_inverse_transform(sbi_call *call, sb_error *err) {
    sb_context *ctx = call->ctx;
    const sb_dtype type = call->x->dtype;
    const sb_array *components = NULL, *mean = NULL, *z = call->x;
    sb_array *made[2] = {NULL, NULL}, *roots = NULL, *grown = NULL;
    sb_status status;
    if ((status = sbi_array_as(ctx, type, sbi_model_array(call->model, "components"), &components, &made[0], err)) ||
        (status = sbi_array_as(ctx, type, sbi_model_array(call->model, "mean"), &mean, &made[1], err)))
        goto done;
    if (sbi_model_flag(call->model, "whiten")) {
        if ((status = roots_of(call, &roots, err)) || (status = sbi_array_new(ctx, type, 2, z->shape, &grown, err)) ||
            (status = sbi_binary(ctx, SB_MUL, z, roots, grown, err)))
            goto done;
        z = grown;
    }
    status = sbi_gemm(ctx, NULL, z, components, mean, call->out, err);
done:
    sbi_array_free(made[0]);
    sbi_array_free(made[1]);
    sbi_array_free(roots);
    sbi_array_free(grown);
    return status;
}

// ---- the likelihood

typedef struct normal { // the model as numbers: w_j = max(var_j, noise)
    int64_t d, k;
    double *vt, *w, noise;
} normal;

static sb_status normal_of(const sbi_call *call, bool regular, normal *out, sb_error *err) {
    sb_context *ctx = call->ctx;
    double *noise = NULL;
    *out = (normal){.d = sbi_model_size(call->model, "d"), .k = sbi_model_size(call->model, "k")};
    sb_status status = sbi_read_reals(ctx, sbi_model_array(call->model, "components"), &out->vt, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, sbi_model_array(call->model, "explained_variance"), &out->w, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, sbi_model_array(call->model, "noise_variance"), &noise, err);
    if (status != SB_OK) return status;
    out->noise = noise[0];
    sbi_release(&ctx->allocator, noise);
    double least = out->k < out->d ? out->noise : 1.0;
    for (int64_t i = 0; i < out->k; i++) {
        out->w[i] = out->w[i] > out->noise ? out->w[i] : out->noise;
        least = out->w[i] < least ? out->w[i] : least;
    }
    if (!regular || least > 0.0) return SB_OK;
    return sbi_fail(err, SB_ERR_SINGULAR, "model", "the covariance of this PCA is singular: it has no likelihood and no inverse");
}

static void free_normal(sb_context *ctx, normal *p) {
    sbi_release(&ctx->allocator, p->vt);
    sbi_release(&ctx->allocator, p->w);
}

// What every row's likelihood has: (d ln 2pi + L) / 2.
static sb_status constant_of(sb_context *ctx, const normal *p, double *out, sb_error *err) {
    double *logs = sbi_allocate(&ctx->allocator, p->k + 1, sizeof *logs, err);
    sb_status status = logs ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK) {
        memcpy(logs, p->w, (size_t)p->k * sizeof *logs);
        logs[p->k] = p->k < p->d ? p->noise : 1.0;
        status = sbi_host_unary(ctx, SB_LOG, p->k + 1, logs, err);
    }
    if (status == SB_OK) {
        const double volume = sbi_host_sum(p->k, logs), rest = (double)(p->d - p->k) * logs[p->k], whole = volume + rest, turn = (double)p->d * LN_TWO_PI;
        *out = (turn + whole) / 2.0;
    }
    sbi_release(&ctx->allocator, logs);
    return status;
}

typedef struct likelihood { // of some rows at a time, all float64
    sb_context *ctx;
    const normal *p;
    double constant;
    sb_array *mean, *vt, *roots, *origin_k, *origin_d; // what they are held against
    sb_array *centred, *z, *u, *near, *far;            // room
    double *a, *b;
} likelihood;

static sb_status some_likelihoods(likelihood *w, const sb_array *rows, double *out, sb_error *err) {
    sb_context *ctx = w->ctx;
    const int64_t count = rows->shape[0];
    const bool whole = w->p->k == w->p->d;
    const sb_gemm_options turned = {.size = sizeof turned, .transpose_b = 1}, less = {.size = sizeof less, .scaled = 1, .alpha = -1.0, .accumulate = 1};
    sb_array centred = sbi_some_rows(w->centred, 0, count), z = sbi_some_rows(w->z, 0, count), u = sbi_some_rows(w->u, 0, count);
    sb_array near = sbi_some_rows(w->near, 0, count), far = sbi_some_rows(w->far, 0, count);
    sb_status status;
    if ((status = sbi_columns(ctx, rows, w->mean, NULL, 0, &centred, err)) || (status = sbi_gemm(ctx, &turned, &centred, w->vt, NULL, &z, err)) ||
        (status = sbi_columns(ctx, &z, NULL, w->roots, 0, &u, err)) || (status = sbi_distances(ctx, &u, w->origin_k, 0, &near, err)) ||
        (status = sbi_array_read(&near, w->a, (size_t)count * sizeof *w->a, err)))
        return status;
    if (!whole && ((status = sbi_gemm(ctx, &less, &z, w->vt, NULL, &centred, err)) || (status = sbi_distances(ctx, &centred, w->origin_d, 0, &far, err)) ||
                   (status = sbi_array_read(&far, w->b, (size_t)count * sizeof *w->b, err))))
        return status;
    for (int64_t i = 0; i < count; i++) {
        const double rest = whole ? 0.0 : w->b[i] / w->p->noise, sum = w->a[i] + rest;
        out[i] = -(sum / 2.0) - w->constant;
    }
    return SB_OK;
}

// out[n] of the host.
static sb_status likelihoods(const sbi_call *call, double *out, sb_error *err) {
    enum { TOGETHER = 1024 };
    sb_context *ctx = call->ctx;
    normal p = {0};
    double *values = NULL, *roots = NULL;
    sb_status status = normal_of(call, true, &p, err);
    likelihood w = {.ctx = ctx, .p = &p};
    const int64_t k = p.k, d = p.d, vectors[2] = {k, d}, wide[2] = {TOGETHER, d}, narrow[2] = {TOGETHER, k}, one[2] = {TOGETHER, 1};
    const int64_t origin_k[2] = {1, k}, origin_d[2] = {1, d};
    if (status || (status = constant_of(ctx, &p, &w.constant, err)) ||
        (status = sbi_read_reals(ctx, sbi_model_array(call->model, "mean"), &values, err)) || (status = sbi_array_of(ctx, 1, &d, values, &w.mean, err)) ||
        (status = sbi_array_of(ctx, 2, vectors, p.vt, &w.vt, err)) || (status = sbi_array_new(ctx, SB_F64, 2, origin_k, &w.origin_k, err)) ||
        (status = sbi_array_new(ctx, SB_F64, 2, origin_d, &w.origin_d, err)) || (status = sbi_array_new(ctx, SB_F64, 2, wide, &w.centred, err)) ||
        (status = sbi_array_new(ctx, SB_F64, 2, narrow, &w.z, err)) || (status = sbi_array_new(ctx, SB_F64, 2, narrow, &w.u, err)) ||
        (status = sbi_array_new(ctx, SB_F64, 2, one, &w.near, err)) || (status = sbi_array_new(ctx, SB_F64, 2, one, &w.far, err)))
        goto done;
    roots = sbi_allocate(&ctx->allocator, k + 2 * TOGETHER, sizeof *roots, err);
    if (!roots) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    w.a = roots + k;
    w.b = w.a + TOGETHER;
    for (int64_t i = 0; i < k; i++) roots[i] = __builtin_sqrt(p.w[i]);
    status = sbi_array_of(ctx, 1, &k, roots, &w.roots, err);
    for (int64_t first = 0; first < call->n && status == SB_OK; first += TOGETHER) {
        const sb_array rows = sbi_some_rows(call->x, first, call->n - first < TOGETHER ? call->n - first : TOGETHER);
        status = some_likelihoods(&w, &rows, out + first, err);
    }
done:
    free_normal(ctx, &p);
    sb_array *const arrays[] = {w.mean, w.vt, w.roots, w.origin_k, w.origin_d, w.centred, w.z, w.u, w.near, w.far};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) sbi_array_free(arrays[i]);
    sbi_release(&ctx->allocator, values);
    sbi_release(&ctx->allocator, roots);
    return status;
}

static sb_status tell_likelihood(sbi_call *call, bool mean, sb_error *err) {
    double *each = sbi_allocate(&call->ctx->allocator, call->n, sizeof *each, err);
    sb_status status = each ? likelihoods(call, each, err) : SB_ERR_MEMORY;
    const double score = status == SB_OK && mean ? sbi_host_sum(call->n, each) / (double)call->n : 0.0;
    if (status == SB_OK) status = sbi_write_reals(call->ctx, mean ? &score : each, call->out, err);
    sbi_release(&call->ctx->allocator, each);
    return status;
}
sb_status sbi_pca_score_samples(sbi_call *call, sb_error *err) { return tell_likelihood(call, false, err); }
sb_status sbi_pca_score(sbi_call *call, sb_error *err) { return tell_likelihood(call, true, err); }

// (RN64(V a_j))^T RN64(V b_j) + diagonal, from the weights a[k], b[k] of the vectors; b NULL: as a.
static sb_status outer_sum(const sbi_call *call, const normal *p, const double *a, const double *b, double diagonal, sb_error *err) {
    sb_context *ctx = call->ctx;
    const int64_t k = p->k, d = p->d, vectors[2] = {k, d}, square[2] = {d, d};
    const sb_gemm_options turned = {.size = sizeof turned, .transpose_a = 1};
    double *scaled = sbi_allocate(&ctx->allocator, k * d, sizeof *scaled, err), *sum = NULL;
    sb_array *left = NULL, *right = NULL, *product = NULL;
    sb_status status = scaled ? SB_OK : SB_ERR_MEMORY;
    for (int64_t i = 0; i < k * d && status == SB_OK; i++) scaled[i] = p->vt[i] * a[i / d];
    if (status == SB_OK) status = sbi_array_of(ctx, 2, vectors, scaled, &left, err);
    for (int64_t i = 0; i < k * d && status == SB_OK && b; i++) scaled[i] = p->vt[i] * b[i / d];
    if (status == SB_OK && b) status = sbi_array_of(ctx, 2, vectors, scaled, &right, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, square, &product, err);
    if (status == SB_OK) status = sbi_gemm(ctx, &turned, left, b ? right : left, NULL, product, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, product, &sum, err);
    for (int64_t i = 0; i < d && status == SB_OK; i++) sum[i * d + i] = sum[i * d + i] + diagonal;
    if (status == SB_OK) status = sbi_write_reals(ctx, sum, call->out, err);
    sbi_array_free(left);
    sbi_array_free(right);
    sbi_array_free(product);
    sbi_release(&ctx->allocator, scaled);
    sbi_release(&ctx->allocator, sum);
    return status;
}

sb_status sbi_pca_get_covariance(sbi_call *call, sb_error *err) {
    normal p = {0};
    sb_status status = normal_of(call, false, &p, err);
    for (int64_t i = 0; i < p.k && status == SB_OK; i++) p.w[i] = __builtin_sqrt(p.w[i] - p.noise);
    if (status == SB_OK) status = outer_sum(call, &p, p.w, NULL, p.noise, err);
    free_normal(call->ctx, &p);
    return status;
}

sb_status sbi_pca_get_precision(sbi_call *call, sb_error *err) {
    normal p = {0};
    sb_status status = normal_of(call, true, &p, err);
    const double floor = status == SB_OK && p.k < p.d ? 1.0 / p.noise : 0.0;
    double *ones = status == SB_OK ? sbi_allocate(&call->ctx->allocator, p.k, sizeof *ones, err) : NULL;
    if (status == SB_OK && !ones) status = SB_ERR_MEMORY;
    for (int64_t i = 0; i < p.k && status == SB_OK; i++) {
        ones[i] = 1.0;
        p.w[i] = 1.0 / p.w[i] - floor;
    }
    if (status == SB_OK) status = outer_sum(call, &p, p.w, ones, floor, err);
    sbi_release(&call->ctx->allocator, ones);
    free_normal(call->ctx, &p);
    return status;
}

sb_status sbi_pca_check(const sb_model *model, sb_error *err) {
    const double any = -__builtin_inf();
    sb_status status;
    if (sbi_model_size(model, "k") < 1 || sbi_model_size(model, "d") < 1)
        return sbi_fail(err, SB_ERR_FORMAT, "components", "a PCA of %lld components", (long long)sbi_model_size(model, "k"));
    if ((status = sbi_model_check_numbers(model, "components", any, err)) || (status = sbi_model_check_numbers(model, "mean", any, err)) ||
        (status = sbi_model_check_numbers(model, "explained_variance", 0.0, err)))
        return status;
    return sbi_model_check_numbers(model, "noise_variance", 0.0, err);
}
