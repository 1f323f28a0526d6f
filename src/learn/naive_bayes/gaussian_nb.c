// SPDX-License-Identifier: Apache-2.0
// Gaussian naive Bayes.
//
// Problem. The most probable class of a row x: the c with the largest log p_c + sum_j log N(x_j; m_cj, v_cj), p_c the probability of
// the class, m_cj and v_cj the mean and the variance of feature j over its rows.
//
// Method. The moments of the rows of each class (contract T2), and where rows come in batches their combination (moments.c). So that
// no variance is 0, epsilon is added to all: var_smoothing times the largest variance of a feature over all rows.
//
// Order of arithmetic, in binary64. Of each class, over its rows in their order, and of all rows: W, m and Q as standard_scaler.c
// has them, weights included. epsilon = RN64(var_smoothing RN64(Q_j / W_j)) of the feature where that quotient is largest;
// v_cj = RN64(RN64(Q_cj / W_c) + epsilon); p_c = RN64(W_c / S(W)), or as given. A class without weight has m = 0, v = epsilon.
// start_c = RN64(log p_c - RN64(S_j(log RN64(2 pi v_cj)) / 2)), logarithms of T4; joint_c = RN64(start_c - RN64(S_j(RN64(RN64(t t) r_cj)) / 2))
// with t = RN64(x_j - m_cj), r_cj = RN64(1 / v_cj). predict: the first of the largest joint; predict_log_proba, predict_proba: the
// (log-)softmax of T5 of joint. All of it is float64, of float32 data, too, as it is in scikit-learn. score: S of the weights of the
// rows that are right over S of all.
//
// Cost: for a fit the rows of each class are copied, and read five times; then two operations a row, class and feature.
//
// What can go wrong. With var_smoothing 0 a feature that is constant in a class has variance 0 there: the density of that class is
// NaN where the row agrees, and a NaN is chosen only if there is nothing else. scikit-learn's epsilon counts every row alike, also
// where there are weights, and in partial_fit it is that of the last batch; here a weight is a repetition, and rows may come in any batches.
#include "learn.h"

#include <string.h>

// ---- fit

// What a fit works with: rows of the host. moments[SBI_MOMENTS, c, d], all[SBI_MOMENTS, d].
typedef struct fitting {
    sbi_call *call;
    sb_context *ctx;
    int64_t c, d;
    double *moments, *all;
} fitting;

// The moments of x[n, d], joined with those that stand at `to`, whose rows are `step` apart.
static sb_status take_rows(fitting *f, const sb_array *x, const sb_array *weights, double *to, int64_t step, sb_error *err) {
    const int64_t d = f->d, shape[2] = {SBI_MOMENTS, d};
    sb_array *moments = NULL;
    double *now = NULL, *before = sbi_allocate(&f->ctx->allocator, SBI_MOMENTS * d, sizeof *before, err);
    sb_status status = before ? sbi_array_new(f->ctx, SB_F64, 2, shape, &moments, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_moments(f->ctx, x, weights, moments, err);
    if (status == SB_OK) status = sbi_read_reals(f->ctx, moments, &now, err);
    for (int i = 0; i < SBI_MOMENTS && status == SB_OK; i++) memcpy(before + i * d, to + i * step, (size_t)d * sizeof *to);
    if (status == SB_OK && now[0] > 0.0) { // (all columns weigh the same)
        sbi_moments_join(d, before, now);
        for (int i = 0; i < SBI_MOMENTS; i++) memcpy(to + i * step, now + i * d, (size_t)d * sizeof *to);
    }
    sbi_array_free(moments);
    sbi_release(&f->ctx->allocator, now);
    sbi_release(&f->ctx->allocator, before);
    return status;
}

// The moments of the rows of class k, whose places are rows[count].
static sb_status take_class(fitting *f, int64_t k, const int64_t *rows, int64_t count, sb_error *err) {
    const int64_t shape[2] = {count, f->d};
    sb_array *places = NULL, *x = NULL, *weights = NULL;
    sb_status status;
    if (count == 0) return SB_OK;
    if ((status = sbi_array_new(f->ctx, SB_I64, 1, &count, &places, err)) || (status = sbi_array_write(places, rows, (size_t)count * sizeof *rows, err)) ||
        (status = sbi_array_new(f->ctx, f->call->x->dtype, 2, shape, &x, err)) || (status = sbi_gather(f->ctx, f->call->x, places, x, err)) ||
        (f->call->weights && ((status = sbi_array_new(f->ctx, SB_F64, 1, &count, &weights, err)) ||
                              (status = sbi_gather(f->ctx, f->call->weights, places, weights, err)))))
        goto done;
    status = take_rows(f, x, weights, f->moments + k * f->d, f->c * f->d, err);
done:
    sbi_array_free(places);
    sbi_array_free(x);
    sbi_array_free(weights);
    return status;
}

static sb_status take_classes(fitting *f, sb_error *err) {
    const int64_t n = f->call->n;
    const sbi_allocator *allocator = &f->ctx->allocator;
    int64_t *y = sbi_allocate(allocator, n, sizeof *y, err), *rows = sbi_allocate(allocator, n, sizeof *rows, err);
    int64_t *from = sbi_allocate(allocator, f->c + 1, sizeof *from, err);
    sb_status status = y && rows && from ? sbi_array_read(f->call->y, y, (size_t)n * sizeof *y, err) : SB_ERR_MEMORY;
    if (status == SB_OK) { // rows by class, in their order; from[k] ends as the end of class k
        for (int64_t i = 0; i < n; i++) from[y[i] + 1]++;
        for (int64_t k = 0; k < f->c; k++) from[k + 1] += from[k];
        for (int64_t i = 0; i < n; i++) rows[from[y[i]]++] = i;
    }
    for (int64_t k = 0; k < f->c && status == SB_OK; k++) {
        const int64_t first = k ? from[k - 1] : 0;
        status = take_class(f, k, rows + first, from[k] - first, err);
    }
    sbi_release(allocator, y);
    sbi_release(allocator, rows);
    sbi_release(allocator, from);
    return status;
}

// The given probabilities, or those of the weights; scikit-learn's errors.
static sb_status fill_prior(fitting *f, const double *weight, sb_error *err) {
    const sb_array *given = sbi_model_value(f->call->model, "priors")->array;
    double *prior = NULL;
    sb_status status;
    if (given) {
        if ((status = sbi_read_reals(f->ctx, given, &prior, err)) != SB_OK) return status;
        const double off = sbi_host_sum(f->c, prior) - 1.0;
        if (!(off <= 1.001e-5 && off >= -1.001e-5)) status = sbi_fail(err, SB_ERR_ARGUMENT, "priors", "The sum of the priors should be 1.");
        for (int64_t k = 0; k < f->c; k++)
            if (prior[k] < 0.0) status = sbi_fail(err, SB_ERR_ARGUMENT, "priors", "Priors must be non-negative.");
    } else {
        const double total = sbi_host_sum(f->c, weight);
        if (!(total > 0.0)) return sbi_fail(err, SB_ERR_ARGUMENT, "weights", "the weights of all rows are 0");
        prior = sbi_allocate(&f->ctx->allocator, f->c, sizeof *prior, err);
        status = prior ? SB_OK : SB_ERR_MEMORY;
        for (int64_t k = 0; k < f->c && status == SB_OK; k++) prior[k] = weight[k] / total;
    }
    if (status == SB_OK) status = sbi_model_fill(f->ctx, f->call->model, "class_prior", prior, err);
    sbi_release(&f->ctx->allocator, prior);
    return status;
}

static sb_status keep(fitting *f, sb_error *err) {
    sb_model *model = f->call->model;
    const int64_t c = f->c, d = f->d;
    double largest = 0.0, *weight = sbi_allocate(&f->ctx->allocator, c, sizeof *weight, err), *var = sbi_allocate(&f->ctx->allocator, c * d, sizeof *var, err);
    sb_status status = weight && var ? SB_OK : SB_ERR_MEMORY;
    if (status != SB_OK) goto done;
    for (int64_t j = 0; j < d; j++) {
        const double v = f->all[SBI_SQUARES * d + j] / f->all[j];
        largest = v > largest ? v : largest;
    }
    const double epsilon = sbi_model_real(model, "var_smoothing") * largest;
    for (int64_t k = 0; k < c; k++) weight[k] = f->moments[k * d];
    for (int64_t i = 0; i < c * d; i++) {
        const double spread = weight[i / d] > 0.0 ? f->moments[SBI_SQUARES * c * d + i] / weight[i / d] : 0.0;
        var[i] = spread + epsilon;
    }
    if ((status = fill_prior(f, weight, err)) || (status = sbi_model_fill(f->ctx, model, "class_count", weight, err)) ||
        (status = sbi_model_fill(f->ctx, model, "theta", f->moments + SBI_MEAN * c * d, err)) ||
        (status = sbi_model_fill(f->ctx, model, "var", var, err)) || (status = sbi_model_fill(f->ctx, model, "epsilon", &epsilon, err)) ||
        (status = sbi_model_fill(f->ctx, model, "squares", f->moments + SBI_SQUARES * c * d, err)) ||
        (status = sbi_model_fill(f->ctx, model, "low", f->moments + SBI_LOW * c * d, err)) ||
        (status = sbi_model_fill(f->ctx, model, "high", f->moments + SBI_HIGH * c * d, err)))
        goto done;
    status = sbi_model_fill(f->ctx, model, "moments", f->all, err);
done:
    sbi_release(&f->ctx->allocator, weight);
    sbi_release(&f->ctx->allocator, var);
    return status;
}

static sb_status go_on_from(fitting *f, sb_error *err) {
    static const char *const names[] = {[SBI_MEAN] = "theta", [SBI_SQUARES] = "squares", [SBI_LOW] = "low", [SBI_HIGH] = "high"};
    const sb_model *model = f->call->model;
    const int64_t c = f->c, d = f->d;
    double *weight = NULL;
    sb_status status = sbi_read_reals(f->ctx, sbi_model_array(model, "class_count"), &weight, err);
    for (int64_t i = 0; i < c * d && status == SB_OK; i++) f->moments[i] = weight[i / d];
    for (int i = SBI_MEAN; i < SBI_MOMENTS && status == SB_OK; i++)
        status = sbi_array_read(sbi_model_array(model, names[i]), f->moments + i * c * d, (size_t)(c * d) * sizeof *f->moments, err);
    if (status == SB_OK) status = sbi_array_read(sbi_model_array(model, "moments"), f->all, (size_t)(SBI_MOMENTS * d) * sizeof *f->all, err);
    sbi_release(&f->ctx->allocator, weight);
    return status;
}

static sb_status fit(sbi_call *call, bool goes_on, sb_error *err) {
    fitting f = {.call = call, .ctx = call->ctx, .c = sbi_model_size(call->model, "c"), .d = call->d};
    sb_status status;
    f.moments = sbi_allocate(&f.ctx->allocator, SBI_MOMENTS * f.c * f.d, sizeof *f.moments, err);
    f.all = sbi_allocate(&f.ctx->allocator, SBI_MOMENTS * f.d, sizeof *f.all, err);
    status = f.moments && f.all ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK && goes_on) status = go_on_from(&f, err);
    if (status == SB_OK) status = take_rows(&f, call->x, call->weights, f.all, f.d, err);
    if (status == SB_OK) status = take_classes(&f, err);
    if (status == SB_OK) status = keep(&f, err);
    sbi_release(&f.ctx->allocator, f.moments);
    sbi_release(&f.ctx->allocator, f.all);
    return status;
}

sb_status sbi_gaussian_nb_fit(sbi_call *call, sb_error *err) { return fit(call, false, err); }
sb_status sbi_gaussian_nb_partial_fit(sbi_call *call, sb_error *err) { return fit(call, sbi_model_array(call->model, "theta") != NULL, err); }

// ---- the other methods

enum { TOGETHER = 4096 }; // rows whose densities are made before they are looked at

// What the densities of a model are made of: scale = 1 / var, start[c].
typedef struct density { sb_array *scale, *start; } density;

static sb_status open_density(const sbi_call *call, density *out, sb_error *err) {
    sb_context *ctx = call->ctx;
    const sb_array *var = sbi_model_array(call->model, "var"), *prior = sbi_model_array(call->model, "class_prior");
    const int64_t c = var->shape[0], d = var->shape[1];
    const double two_pi = 0x1.921fb54442d18p+2;
    sb_array *logs = NULL;
    double *values = NULL, *log_prior = NULL;
    sb_status status;
    *out = (density){.scale = NULL};
    if ((status = sbi_array_new(ctx, SB_F64, 2, var->shape, &out->scale, err)) || (status = sbi_array_new(ctx, SB_F64, 1, &c, &out->start, err)) ||
        (status = sbi_array_new(ctx, SB_F64, 2, var->shape, &logs, err)) || (status = sbi_read_reals(ctx, var, &values, err)))
        goto done;
    for (int64_t i = 0; i < c * d; i++) values[i] = two_pi * values[i];
    if ((status = sbi_write_reals(ctx, values, logs, err)) || (status = sbi_unary(ctx, SB_LOG, logs, logs, err))) goto done;
    sbi_release(&ctx->allocator, values);
    values = NULL;
    if ((status = sbi_read_reals(ctx, logs, &values, err)) || (status = sbi_unary(ctx, SB_LOG, prior, out->start, err)) ||
        (status = sbi_read_reals(ctx, out->start, &log_prior, err)))
        goto done;
    for (int64_t k = 0; k < c; k++) {
        const double half = 0.5 * sbi_host_sum(d, values + k * d);
        log_prior[k] = log_prior[k] - half;
    }
    if ((status = sbi_write_reals(ctx, log_prior, out->start, err))) goto done;
    sbi_release(&ctx->allocator, values);
    values = NULL;
    if ((status = sbi_read_reals(ctx, var, &values, err))) goto done;
    for (int64_t i = 0; i < c * d; i++) values[i] = 1.0 / values[i];
    status = sbi_write_reals(ctx, values, out->scale, err);
done:
    sbi_array_free(logs);
    sbi_release(&ctx->allocator, values);
    sbi_release(&ctx->allocator, log_prior);
    return status;
}

// What becomes of joint[rows, c] in the same rows of the result.
typedef sb_status (*finish)(sb_context *ctx, const sb_array *joint, sb_array *out, sb_error *err);

static sb_array rows_of(const sb_array *a, int64_t first, int64_t count) { // a view that is only passed on
    sb_array part = *a;
    part.shape[0] = count;
    part.size = a->shape[0] ? a->size / a->shape[0] * count : 0;
    part.data = a->data + first * (part.size / count) * (int64_t)sbi_dtype_size(a->dtype);
    return part;
}

static sb_status each_part(sbi_call *call, finish end, sb_error *err) {
    density of = {.scale = NULL};
    sb_array *joint = NULL;
    const int64_t shape[2] = {call->n < TOGETHER ? call->n : TOGETHER, sbi_model_size(call->model, "c")};
    sb_status status = open_density(call, &of, err);
    if (status == SB_OK) status = sbi_array_new(call->ctx, SB_F64, 2, shape, &joint, err);
    for (int64_t first = 0; first < call->n && status == SB_OK; first += TOGETHER) {
        const int64_t count = call->n - first < TOGETHER ? call->n - first : TOGETHER;
        sb_array x = rows_of(call->x, first, count), part = rows_of(joint, 0, count), out = rows_of(call->out, first, count);
        status = sbi_gaussians(call->ctx, &x, sbi_model_array(call->model, "theta"), of.scale, of.start, &part, err);
        if (status == SB_OK) status = end(call->ctx, &part, &out, err);
    }
    sbi_array_free(of.scale);
    sbi_array_free(of.start);
    sbi_array_free(joint);
    return status;
}

static sb_status first_largest(sb_context *ctx, const sb_array *joint, sb_array *out, sb_error *err) { return sbi_reduce(ctx, SB_ARGMAX, 1, joint, out, err); }

sb_status sbi_gaussian_nb_predict(sbi_call *call, sb_error *err) { return each_part(call, first_largest, err); }
sb_status sbi_gaussian_nb_predict_proba(sbi_call *call, sb_error *err) { return each_part(call, sbi_softmax, err); }
sb_status sbi_gaussian_nb_predict_log_proba(sbi_call *call, sb_error *err) { return each_part(call, sbi_log_softmax, err); }
sb_status sbi_gaussian_nb_predict_joint_log_proba(sbi_call *call, sb_error *err) { return each_part(call, sbi_copy, err); }
sb_status sbi_gaussian_nb_score(sbi_call *call, sb_error *err) { return sbi_classifier_score(call, sbi_gaussian_nb_predict, err); }

sb_status sbi_gaussian_nb_check(const sb_model *model, sb_error *err) {
    const sb_array *var = sbi_model_array(model, "var");
    double *values = sbi_allocate(&model->allocator, var->size, sizeof *values, err);
    sb_status status = values ? sbi_array_read(var, values, (size_t)var->size * sizeof *values, err) : SB_ERR_MEMORY;
    for (int64_t i = 0; i < var->size && status == SB_OK; i++)
        if (values[i] < 0.0) status = sbi_fail(err, SB_ERR_FORMAT, "var", "a variance is negative");
    sbi_release(&model->allocator, values);
    return status;
}
