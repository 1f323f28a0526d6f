// SPDX-License-Identifier: Apache-2.0
// Weighted normal distributions (see gaussian_mixture.c for the order of arithmetic).
#include "normals.h"

#include "linalg.h"

#include <string.h>

#define LN_TWO_PI 0x1.d67f1c864beb5p+0

static sbi_covariance kind_of(const sb_model *model) {
    static const char *const words[] = {"full", "tied", "diag", "spherical"};
    int kind = 0;
    while (kind < 3 && !sbi_model_is(model, "covariance_type", words[kind])) kind++;
    return (sbi_covariance)kind;
}

sb_status sbi_normals_new(sb_context *ctx, const sb_model *model, int64_t d, sbi_normals *out, sb_error *err) {
    const int64_t k = sbi_model_integer(model, "n_components");
    *out = (sbi_normals){.ctx = ctx, .kind = kind_of(model), .k = k, .d = d};
    out->each = out->kind <= SBI_TIED ? d * d : out->kind == SBI_DIAG ? d : 1;
    out->size = out->kind == SBI_TIED ? out->each : k * out->each;
    out->weights = sbi_allocate(&ctx->allocator, k, sizeof(double), err);
    out->means = sbi_allocate(&ctx->allocator, k * d, sizeof(double), err);
    out->covariances = sbi_allocate(&ctx->allocator, out->size, sizeof(double), err);
    out->roots = sbi_allocate(&ctx->allocator, out->size, sizeof(double), err);
    return out->weights && out->means && out->covariances && out->roots ? SB_OK : SB_ERR_MEMORY;
}

void sbi_normals_free(sbi_normals *g) {
    if (!g->ctx) return;
    double *const numbers[] = {g->weights, g->means, g->covariances, g->roots};
    for (int i = 0; i < 4; i++) sbi_release(&g->ctx->allocator, numbers[i]);
}

sb_status sbi_normals_of(sb_context *ctx, const sb_model *model, sbi_normals *out, sb_error *err) {
    static const char *const names[] = {"weights", "means", "precisions_cholesky"};
    sb_status status = sbi_normals_new(ctx, model, sbi_model_size(model, "d"), out, err);
    for (int i = 0; i < 3 && status == SB_OK; i++) {
        double *to = i == 0 ? out->weights : i == 1 ? out->means : out->roots, *values = NULL;
        const sb_array *from = sbi_model_array(model, names[i]);
        status = sbi_read_reals(ctx, from, &values, err);
        if (status == SB_OK) memcpy(to, values, (size_t)from->size * sizeof *to);
        sbi_release(&ctx->allocator, values);
    }
    return status;
}

// ---- roots

static sb_status ill_defined(bool precision, sb_error *err) {
    if (precision) return sbi_fail(err, SB_ERR_ARGUMENT, "precisions_init", "precisions_init should be symmetric, positive-definite");
    return sbi_fail(err, SB_ERR_ARGUMENT, "x", "Fitting the mixture model failed because some components have ill-defined empirical covariance (for instance "
                    "caused by singleton or collapsed samples). Try to decrease the number of components, increase reg_covar, or scale the input data.");
}

// root[d, d], the upper U with U U^T = A^-1 (a covariance), or = A (a precision: its Cholesky factor from below).
static sb_status root_of(sb_context *ctx, int64_t d, bool precision, const double *a, double *root, sb_error *err) {
    const int64_t square[2] = {d, d};
    const sb_solve_options down = {.size = sizeof down, .kind = SB_LOWER};
    sb_array *matrix = NULL, *inverse = NULL;
    sb_error why = {0};
    for (int64_t i = 0; i < d * d; i++) root[i] = precision ? a[d * d - 1 - i] : a[i];
    sb_status status = sbi_array_of(ctx, 2, square, root, &matrix, err);
    if (status == SB_OK) {
        status = sbi_cholesky(ctx, matrix, matrix, &why);
        if (status == SB_ERR_SINGULAR || status == SB_ERR_NONFINITE) status = ill_defined(precision, err);
        else if (status && err) *err = why;
    }
    if (status == SB_OK && precision) {
        status = sbi_array_read(matrix, root, (size_t)(d * d) * sizeof *root, err);
        for (int64_t i = 0, j = d * d - 1; i < j && status == SB_OK; i++, j--) {
            const double other = root[i];
            root[i] = root[j];
            root[j] = other;
        }
    } else if (status == SB_OK) {
        for (int64_t i = 0; i < d * d; i++) root[i] = i % (d + 1) ? 0.0 : 1.0;
        status = sbi_array_of(ctx, 2, square, root, &inverse, err);
        if (status == SB_OK) status = sbi_solve(ctx, &down, matrix, inverse, inverse, err);
        if (status == SB_OK) status = sbi_array_read(inverse, root, (size_t)(d * d) * sizeof *root, err);
        for (int64_t i = 0; i < d && status == SB_OK; i++)
            for (int64_t j = 0; j < i; j++) {
                root[j * d + i] = root[i * d + j];
                root[i * d + j] = 0.0;
            }
    }
    sbi_array_free(matrix);
    sbi_array_free(inverse);
    return status;
}

sb_status sbi_normals_roots(sbi_normals *g, const double *precisions, sb_error *err) {
    const double *a = precisions ? precisions : g->covariances;
    sb_status status = SB_OK;
    if (g->kind <= SBI_TIED) {
        for (int64_t at = 0; at < g->size && status == SB_OK; at += g->each)
            status = root_of(g->ctx, g->d, precisions != NULL, a + at, g->roots + at, err);
        return status;
    }
    for (int64_t i = 0; i < g->size; i++) {
        if (!(a[i] > 0.0)) return ill_defined(precisions != NULL, err);
        g->roots[i] = precisions ? __builtin_sqrt(a[i]) : 1.0 / __builtin_sqrt(a[i]);
    }
    return SB_OK;
}

sb_status sbi_normals_precisions(const sbi_normals *g, double *precisions, sb_error *err) {
    const int64_t square[2] = {g->d, g->d};
    const sb_gemm_options turned = {.size = sizeof turned, .transpose_b = 1};
    sb_status status = SB_OK;
    for (int64_t i = 0; i < g->size && g->kind > SBI_TIED; i++) precisions[i] = g->roots[i] * g->roots[i];
    for (int64_t at = 0; at < g->size && g->kind <= SBI_TIED && status == SB_OK; at += g->each) {
        sb_array *root = NULL, *product = NULL;
        status = sbi_array_of(g->ctx, 2, square, g->roots + at, &root, err);
        if (status == SB_OK) status = sbi_array_new(g->ctx, SB_F64, 2, square, &product, err);
        if (status == SB_OK) status = sbi_gemm(g->ctx, &turned, root, root, NULL, product, err);
        if (status == SB_OK) status = sbi_array_read(product, precisions + at, (size_t)g->each * sizeof *precisions, err);
        sbi_array_free(root);
        sbi_array_free(product);
    }
    return status;
}

// ---- densities

// constant[k] = ln w + (S(ln u_jj) - d ln(2 pi) / 2).
static sb_status constants_of(const sbi_normals *g, double *constant, sb_error *err) {
    const int64_t k = g->k, d = g->d;
    double *logs = sbi_allocate(&g->ctx->allocator, k * d + k, sizeof *logs, err), *weights = logs ? logs + k * d : NULL;
    if (!logs) return SB_ERR_MEMORY;
    for (int64_t c = 0; c < k; c++) {
        const double *root = g->roots + (g->kind == SBI_TIED ? 0 : c * g->each);
        weights[c] = g->weights[c];
        for (int64_t j = 0; j < d; j++) logs[c * d + j] = g->kind <= SBI_TIED ? root[j * d + j] : g->kind == SBI_DIAG ? root[j] : root[0];
    }
    sb_status status = sbi_host_unary(g->ctx, SB_LOG, k * d + k, logs, err);
    for (int64_t c = 0; c < k && status == SB_OK; c++) {
        const double half = (double)d * LN_TWO_PI / 2.0, volume = sbi_host_sum(d, logs + c * d) - half;
        constant[c] = weights[c] + volume;
    }
    sbi_release(&g->ctx->allocator, logs);
    return status;
}

// to[d] = (mean of c - mean of 0) U, chains over the rows of U.
static void turn_mean(const sbi_normals *g, int64_t c, const double *root, double *to) {
    const int64_t d = g->d;
    for (int64_t j = 0; j < d; j++) to[j] = 0.0;
    for (int64_t i = 0; i < d; i++) {
        const double apart = g->means[c * d + i] - g->means[i];
        for (int64_t j = i; j < d; j++) to[j] = to[j] + apart * root[i * d + j];
    }
}

// What the kinds are held against: roots and bias (full), roots and points (tied), means and precisions (the others).
static sb_status open_kind(sbi_densities *p, sb_error *err) {
    const sbi_normals *g = p->g;
    sb_context *ctx = g->ctx;
    const bool full = g->kind == SBI_FULL;
    const int64_t k = g->k, d = g->d, wide[2] = {d, k * d}, square[2] = {d, d}, points[2] = {k, d}, one[2] = {1, d}, all = k * d;
    double *numbers = sbi_allocate(&ctx->allocator, (full ? d + 1 : 1) * k * d, sizeof *numbers, err), *spread = numbers ? numbers + k * d : NULL;
    sb_status status = numbers ? SB_OK : SB_ERR_MEMORY;
    if (status != SB_OK) return status;
    if (g->kind > SBI_TIED) {
        for (int64_t i = 0; i < k * d; i++) {
            const double root = g->roots[g->kind == SBI_DIAG ? i : i / d];
            numbers[i] = root * root;
        }
        status = sbi_array_of(ctx, 2, points, g->means, &p->points, err);
        if (status == SB_OK) status = sbi_array_of(ctx, 2, points, numbers, &p->roots, err);
        goto done;
    }
    for (int64_t c = 0; c < k; c++) turn_mean(g, c, g->roots + (full ? c * g->each : 0), numbers + c * d);
    for (int64_t i = 0; i < k * d && full; i++) numbers[i] = 0.0 - numbers[i];
    for (int64_t c = 0; c < k && full; c++)
        for (int64_t i = 0; i < d; i++) memcpy(spread + i * k * d + c * d, g->roots + c * g->each + i * d, (size_t)d * sizeof *spread);
    status = full ? sbi_array_of(ctx, 2, wide, spread, &p->roots, err) : sbi_array_of(ctx, 2, square, g->roots, &p->roots, err);
    if (status == SB_OK) status = full ? sbi_array_of(ctx, 1, &all, numbers, &p->bias, err) : sbi_array_of(ctx, 2, points, numbers, &p->points, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, one, &p->origin, err);
done:
    sbi_release(&ctx->allocator, numbers);
    return status;
}

sb_status sbi_densities_open(const sbi_normals *g, int64_t n, sbi_densities *out, sb_error *err) {
    sb_context *ctx = g->ctx;
    const int64_t k = g->k, d = g->d, width = g->kind == SBI_FULL ? k * d : d, fit = (1 << 20) / (k * d), most = fit < 256 ? 256 : fit < 8192 ? fit : 8192;
    const int64_t together = n < most ? n : most, rows[2] = {together, d}, turned[2] = {together, width}, logs[2] = {together, k};
    double *numbers = sbi_allocate(&ctx->allocator, k, sizeof *numbers, err);
    sb_status status = numbers ? SB_OK : SB_ERR_MEMORY;
    *out = (sbi_densities){.g = g, .together = together};
    if (status || (status = constants_of(g, numbers, err))) goto done;
    if ((status = sbi_array_of(ctx, 1, &k, numbers, &out->constant, err)) || (status = sbi_array_of(ctx, 1, &d, g->means, &out->shift, err)) || (status = open_kind(out, err)) ||
        (status = sbi_array_new(ctx, SB_F64, 2, rows, &out->centred, err)) || (status = sbi_array_new(ctx, SB_F64, 2, turned, &out->turned, err)) ||
        (status = sbi_array_new(ctx, SB_F64, 2, logs, &out->log, err)) || (status = sbi_array_new(ctx, SB_F64, 2, logs, &out->share, err)) ||
        (status = sbi_array_new(ctx, SB_F64, 1, &together, &out->most, err)))
        goto done;
    status = sbi_array_new(ctx, SB_F64, 1, &together, &out->sum, err);
done:
    sbi_release(&ctx->allocator, numbers);
    return status;
}

void sbi_densities_close(sbi_densities *p) {
    sb_array *const arrays[] = {p->shift, p->roots, p->bias, p->points, p->constant, p->origin, p->centred, p->turned, p->log, p->share, p->most, p->sum};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) sbi_array_free(arrays[i]);
}

static sb_status squared_distances(sbi_densities *p, const sb_array *rows, sb_array *log, sb_error *err) {
    sb_context *ctx = p->g->ctx;
    const int64_t count = log->shape[0], k = p->g->k, d = p->g->d;
    sb_array centred = sbi_some_rows(p->centred, 0, count), turned = sbi_some_rows(p->turned, 0, count);
    sb_status status;
    if ((status = sbi_columns(ctx, rows, p->shift, NULL, 0, &centred, err)) || (status = sbi_gemm(ctx, NULL, &centred, p->roots, p->bias, &turned, err)))
        return status;
    if (p->g->kind == SBI_TIED) return sbi_distances(ctx, &turned, p->points, 0, log, err);
    const sb_array each = sbi_shaped(turned, count * k, d);
    sb_array column = sbi_shaped(*log, count * k, 1);
    return sbi_distances(ctx, &each, p->origin, 0, &column, err);
}

static sb_status logarithms(sbi_densities *p, const sb_array *rows, sb_array *log, sb_error *err) {
    sb_context *ctx = p->g->ctx;
    sb_status status;
    if (p->g->kind > SBI_TIED) return sbi_gaussians(ctx, rows, p->points, p->roots, p->constant, log, err);
    if ((status = squared_distances(p, rows, log, err)) || (status = sbi_scale(ctx, log, -0.5, log, err))) return status;
    return sbi_binary(ctx, SB_ADD, log, p->constant, log, err);
}

sb_status sbi_densities_run(sbi_densities *p, const sb_array *rows, sb_array *log, sb_array *share, double *likelihood, sb_error *err) {
    sb_context *ctx = p->g->ctx;
    const int64_t count = rows->shape[0];
    sb_array most = sbi_shaped(*p->most, count, 0), sum = sbi_shaped(*p->sum, count, 0);
    const sb_array highest = sbi_shaped(most, count, 1), total = sbi_shaped(sum, count, 1);
    sb_status status;
    *log = sbi_some_rows(p->log, 0, count);
    if ((status = logarithms(p, rows, log, err)) || !share) return status;
    *share = sbi_some_rows(p->share, 0, count);
    if ((status = sbi_reduce(ctx, SB_MAX, 1, log, &most, err)) || (status = sbi_binary(ctx, SB_SUB, log, &highest, share, err)) ||
        (status = sbi_unary(ctx, SB_EXP, share, share, err)) || (status = sbi_reduce(ctx, SB_SUM, 1, share, &sum, err)) ||
        (status = sbi_binary(ctx, SB_DIV, share, &total, share, err)) || (status = sbi_unary(ctx, SB_LOG, &sum, &sum, err)) ||
        (status = sbi_binary(ctx, SB_ADD, &most, &sum, &sum, err)) || !likelihood)
        return status;
    return sbi_array_read(&sum, likelihood, (size_t)count * sizeof *likelihood, err);
}

// ---- estimates

typedef struct estimate {
    sbi_normals *g;
    const sbi_call *call;
    int64_t together;
    sb_array *shares;           // [k, n]
    sb_array *rows, *part;      // room: [together, d], [together, k]
    double *weight, *table;     // [k]; [together, k]
} estimate;

// Row c of shares, places first .. first + count - 1, as a matrix of `columns` columns.
static sb_array some_shares(const estimate *e, int64_t c, int64_t first, int64_t count, int64_t columns) {
    sb_array part = sbi_shaped(*e->shares, count / columns, columns);
    part.data = e->shares->data + (c * e->call->n + first) * (int64_t)sizeof(double);
    return part;
}

// means[k, d] = centre + shares (x - centre) / weight.
static sb_status estimate_means(estimate *e, const sb_array *centre, sb_error *err) {
    sb_context *ctx = e->g->ctx;
    const int64_t n = e->call->n, k = e->g->k, d = e->g->d, shape[2] = {k, d};
    sb_gemm_options turned = {.size = sizeof turned, .transpose_a = 1};
    sb_array *sums = NULL;
    double *middle = NULL;
    sb_status status = sbi_array_new(ctx, SB_F64, 2, shape, &sums, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, centre, &middle, err);
    for (int64_t first = 0; first < n && status == SB_OK; first += e->together) {
        const int64_t count = n - first < e->together ? n - first : e->together;
        const sb_array x = sbi_some_rows(e->call->x, first, count);
        sb_array centred = sbi_some_rows(e->rows, 0, count), part = sbi_some_rows(e->part, 0, count);
        for (int64_t c = 0; c < k && status == SB_OK; c++) {
            const sb_array row = some_shares(e, c, first, count, 1);
            double *column = e->table + e->together * k;
            status = sbi_array_read(&row, column, (size_t)count * sizeof *column, err);
            for (int64_t i = 0; i < count; i++) e->table[i * k + c] = column[i];
        }
        turned.accumulate = first > 0;
        if (status == SB_OK) status = sbi_array_write(&part, e->table, (size_t)(count * k) * sizeof *e->table, err);
        if (status == SB_OK) status = sbi_columns(ctx, &x, centre, NULL, 0, &centred, err);
        if (status == SB_OK) status = sbi_gemm(ctx, &turned, &part, &centred, NULL, sums, err);
    }
    if (status == SB_OK) status = sbi_array_read(sums, e->g->means, (size_t)(k * d) * sizeof(double), err);
    for (int64_t i = 0; i < k * d && status == SB_OK; i++) {
        const double part = e->g->means[i] / e->weight[i / d];
        e->g->means[i] = middle[i % d] + part;
    }
    sbi_array_free(sums);
    sbi_release(&ctx->allocator, middle);
    return status;
}

// covariance[each] of distribution c: full, or the variances of features.
static sb_status estimate_covariance(estimate *e, int64_t c, double *covariance, sb_error *err) {
    sb_context *ctx = e->g->ctx;
    const int64_t n = e->call->n, d = e->g->d, matrix[2] = {e->g->kind == SBI_FULL ? d : 1, d};
    sb_gemm_options of_full = {.size = sizeof of_full, .transpose_a = 1}, of_diag = {.size = sizeof of_diag};
    sb_array *mean = NULL, *sums = NULL;
    sb_status status = sbi_array_of(ctx, 1, &d, e->g->means + c * d, &mean, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, 2, matrix, &sums, err);
    for (int64_t first = 0; first < n && status == SB_OK; first += e->together) {
        const int64_t count = n - first < e->together ? n - first : e->together;
        const sb_array x = sbi_some_rows(e->call->x, first, count), down = some_shares(e, c, first, count, 1), along = some_shares(e, c, first, count, count);
        sb_array centred = sbi_some_rows(e->rows, 0, count);
        of_full.accumulate = of_diag.accumulate = first > 0;
        status = sbi_columns(ctx, &x, mean, NULL, 0, &centred, err);
        if (status == SB_OK) status = sbi_binary(ctx, SB_MUL, &centred, e->g->kind == SBI_FULL ? &down : &centred, &centred, err);
        if (status == SB_OK && e->g->kind == SBI_FULL) status = sbi_gemm(ctx, &of_full, &centred, &centred, NULL, sums, err);
        if (status == SB_OK && e->g->kind != SBI_FULL) status = sbi_gemm(ctx, &of_diag, &along, &centred, NULL, sums, err);
    }
    if (status == SB_OK) status = sbi_array_read(sums, covariance, (size_t)sums->size * sizeof *covariance, err);
    for (int64_t i = 0; status == SB_OK && i < sums->size; i++) covariance[i] = covariance[i] / e->weight[c];
    sbi_array_free(mean);
    sbi_array_free(sums);
    return status;
}

// From the rows about their mean, which all share, less what lies between the means.
static void tie(const estimate *e, const double *middle, const double *gram, double least) {
    const sbi_normals *g = e->g;
    const int64_t k = g->k, d = g->d;
    const double all = sbi_host_sum(k, e->weight);
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j <= i; j++) {
            double between = 0.0;
            for (int64_t c = 0; c < k; c++) {
                const double a = g->means[c * d + i] - middle[i], b = g->means[c * d + j] - middle[j], part = e->weight[c] * a;
                between = between + part * b;
            }
            const double within = (gram[i * d + j] - between) / all;
            g->covariances[i * d + j] = g->covariances[j * d + i] = i == j ? within + least : within;
        }
}

static sb_status estimate_covariances(estimate *e, const sb_array *centre, const double *gram, double least, sb_error *err) {
    sbi_normals *g = e->g;
    const int64_t d = g->d, wide = g->kind == SBI_FULL ? d * d : d;
    double *middle = NULL, *one = sbi_allocate(&g->ctx->allocator, wide, sizeof *one, err);
    sb_status status = one ? sbi_read_reals(g->ctx, centre, &middle, err) : SB_ERR_MEMORY;
    if (status == SB_OK && g->kind == SBI_TIED) tie(e, middle, gram, least);
    if (status == SB_OK && g->kind == SBI_FULL) status = sbi_unary(g->ctx, SB_SQRT, e->shares, e->shares, err);
    for (int64_t c = 0; c < g->k && g->kind != SBI_TIED && status == SB_OK; c++) {
        status = estimate_covariance(e, c, one, err);
        for (int64_t i = 0; i < wide; i += g->kind == SBI_FULL ? d + 1 : 1) one[i] = one[i] + least;
        if (g->kind == SBI_SPHERICAL)
            g->covariances[c] = sbi_host_sum(d, one) / (double)d;
        else
            memcpy(g->covariances + c * g->each, one, (size_t)g->each * sizeof *one);
    }
    sbi_release(&g->ctx->allocator, one);
    sbi_release(&g->ctx->allocator, middle);
    return status;
}

sb_status sbi_normals_estimate(sbi_normals *g, const sbi_call *call, const sb_array *centre, const double *gram, sb_array *shares, double least, sb_error *err) {
    sb_context *ctx = g->ctx;
    const int64_t k = g->k, d = g->d, fit = (1 << 17) / (k + d), most = fit < 256 ? 256 : fit < 4096 ? fit : 4096;
    estimate e = {.g = g, .call = call, .together = call->n < most ? call->n : most, .shares = shares};
    const int64_t rows[2] = {e.together, d}, part[2] = {e.together, k};
    sb_array *weight = NULL;
    sb_status status;
    if ((status = sbi_array_new(ctx, SB_F64, 1, &k, &weight, err)) || (status = sbi_array_new(ctx, SB_F64, 2, rows, &e.rows, err)) ||
        (status = sbi_array_new(ctx, SB_F64, 2, part, &e.part, err)) || (status = sbi_reduce(ctx, SB_SUM, 1, shares, weight, err)) ||
        (status = sbi_read_reals(ctx, weight, &e.weight, err)))
        goto done;
    if (!(e.table = sbi_allocate(&ctx->allocator, e.together * (k + 1), sizeof *e.table, err))) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    for (int64_t c = 0; c < k; c++) e.weight[c] = e.weight[c] + 10.0 * 0x1p-52; // (one of no row divides by that)
    if ((status = estimate_means(&e, centre, err)) || (status = estimate_covariances(&e, centre, gram, least, err))) goto done;
    const double all = sbi_host_sum(k, e.weight);
    for (int64_t c = 0; c < k; c++) g->weights[c] = e.weight[c] / all;
done:
    sbi_array_free(weight);
    sbi_array_free(e.rows);
    sbi_array_free(e.part);
    sbi_release(&ctx->allocator, e.weight);
    sbi_release(&ctx->allocator, e.table);
    return status;
}
