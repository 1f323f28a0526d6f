// SPDX-License-Identifier: Apache-2.0
// Logistic regression: two classes by one score, more by a score each (multinomial).
//
// Problem. Coefficients B and constants with the least S_i(w_i loss_i) + (1 / C) (l1_ratio |B|_1 + (1 - l1_ratio) / 2 |B|^2), loss_i = log(1 +
// exp(-+ z_i)), or log S_k(exp(z_ik)) - z_i,y_i, where z = B x + constants; w are the sample weights times those of the classes (balanced:
// W / (c W_k)). The constants are not penalised.
//
// Method. Limited-memory BFGS in the metric of a bound on the Hessian (Boehning 1992), with absolute values OWL-QN (quasi_newton.c). It ends
// where no entry of the gradient is more than tol W and a step promises at most 2^-28 of the objective, without a penalty 2^-40.
//
// Order of arithmetic, binary64. Unknowns are B and the constants at the mean m (of centred_rows.c, with w; without an intercept 0), from 0.
// z = the product of T3 of X and B, + RN64(constant - S(RN64(m B_k))). Of float32 X the coefficients are two float32 each, h = RN32(b) and
// RN32(RN64(b - h)), both products widened, then RN64 of their sum; the residuals likewise. Two classes: t = z for the first class, -z for the
// second, loss = softplus(t), residual w sigmoid(t), negative for the second; else the log-softmax and softmax of T5, residual
// RN64(w RN64(p - [y])). Objective S(RN64(w loss)) + RN64(RN64(M / 2) S(b b)) + S(RN64(L |b|)), L = RN64(l1_ratio / C), M = RN64(RN64(1 - l1_ratio) / C).
// Gradient RN64(RN64((X^T r) - RN64(m_j S(r))) + RN64(M b)), S(r) for the constants. The metric, of every class: f G + M I, f = 1/4, of more than two
// classes 1/2, G the normal equations of centred_rows.c, by Cholesky (cholesky.c; L v = u by rows, L^T x = v by columns), where there are more rows
// than features and no absolute values; else, and where that fails, f S(w (x - m)^2) + M; f W of a constant. coef = RN(B); intercept =
// RN(RN64(constant - S(RN64(m coef)))).
// decision_function: the product of T3 of X and coef, + intercept, z. predict: z > 0, or the first of the greatest. predict_proba: sigmoid of
// -z and z, or softmax; predict_log_proba: their logarithms, log-sigmoid and log-softmax.
//
// Cost: a product n d^2 / 2 in binary64 (not with absolute values), then two products n d c a step.
//
// What can go wrong. Classes that can be separated have no best coefficients without a penalty: the fit ends by the gradient alone and says so.
// With absolute values and features that are nearly combinations of others steps are many; after max_iter of them it says so.
#include "least_squares.h"
#include "linalg.h"
#include "quasi_newton.h"

#include <string.h>

typedef struct logistic {
    const sbi_call *call;
    sb_context *ctx;
    int64_t n, d, k;  // k: scores a row
    bool intercept, narrow, apart; // narrow: float32 x; apart: every row is on its class's side
    int64_t *y;       // [n]
    double *w, total; // [n], W
    const double *mean;
    double l1, l2, tol, bound;
    sb_array *scores, *other, *pair, *fold, *b, *bias, *slope; // [n, k] twice, [n, 2 k], [2 k, k], [k or 2 k, d], [k], as b in binary64
    sb_array *rest;   // the residuals as the product takes them
    double *z, *r, *term, *g;  // [n, k] twice, [n], [2 k, d]
    float *halves;    // [max(n, d), 2 k]
    double *factor, *diagonal; // [d, d] or NULL; [d]
} logistic;

// Two float32 of each of count x width numbers, side by side (turned: below each other).
static void halve(int64_t count, int64_t width, bool below, const double *from, float *to) {
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < width; j++) {
            const float high = (float)from[i * width + j];
            const int64_t at = below ? i * width + j : 2 * i * width + j;
            to[at] = high;
            to[at + (below ? count * width : width)] = (float)(from[i * width + j] - (double)high);
        }
}

// ---- the objective and its gradient

static sb_status scores_of(logistic *s, const double *u, sb_error *err) {
    const sb_gemm_options turned = {.size = sizeof turned, .transpose_b = 1};
    const double *constant = u + s->k * s->d;
    double *bias = s->g;
    sb_status status;
    for (int64_t j = 0; j < s->k; j++) bias[j] = s->intercept ? constant[j] - sbi_host_dot(s->d, s->mean, u + j * s->d) : 0.0;
    if ((status = sbi_array_write(s->bias, bias, (size_t)s->k * sizeof *bias, err))) return status;
    if (!s->narrow) {
        status = sbi_array_write(s->b, u, (size_t)(s->k * s->d) * sizeof *u, err);
        return status ? status : sbi_gemm(s->ctx, &turned, s->call->x, s->b, s->bias, s->scores, err);
    }
    halve(s->k, s->d, true, u, s->halves);
    if ((status = sbi_array_write(s->b, s->halves, (size_t)(2 * s->k * s->d) * sizeof *s->halves, err)) ||
        (status = sbi_gemm(s->ctx, &turned, s->call->x, s->b, NULL, s->pair, err)))
        return status;
    return sbi_gemm(s->ctx, NULL, s->pair, s->fold, s->bias, s->scores, err);
}

static sb_status value(void *user, const double *u, double *f, sb_error *err) {
    logistic *s = user;
    const size_t bytes = (size_t)(s->n * s->k) * sizeof(double);
    sb_status status = scores_of(s, u, err);
    if (status != SB_OK) return status;
    s->apart = true;
    if (s->k == 1) {
        if ((status = sbi_array_read(s->scores, s->z, bytes, err))) return status;
        for (int64_t i = 0; i < s->n; i++) {
            s->z[i] = s->y[i] ? -s->z[i] : s->z[i];
            s->apart = s->apart && (s->z[i] < 0.0 || s->w[i] == 0.0);
        }
        if ((status = sbi_array_write(s->other, s->z, bytes, err)) || (status = sbi_unary(s->ctx, SB_SOFTPLUS, s->other, s->scores, err)) ||
            (status = sbi_array_read(s->scores, s->z, bytes, err)))
            return status;
        for (int64_t i = 0; i < s->n; i++) s->term[i] = s->w[i] * s->z[i];
    } else {
        if ((status = sbi_log_softmax(s->ctx, s->scores, s->other, err)) || (status = sbi_array_read(s->other, s->z, bytes, err))) return status;
        for (int64_t i = 0; i < s->n; i++) {
            const double log_p = s->z[i * s->k + s->y[i]];
            s->term[i] = s->w[i] * -log_p;
            s->apart = s->apart && (log_p > -0.6875 || s->w[i] == 0.0); // (more likely than not)
        }
    }
    const double squares = s->l2 > 0.0 ? sbi_host_dot(s->k * s->d, u, u) : 0.0;
    *f = sbi_host_sum(s->n, s->term) + 0.5 * s->l2 * squares;
    return SB_OK;
}

static sb_status residuals(logistic *s, sb_error *err) {
    const size_t bytes = (size_t)(s->n * s->k) * sizeof(double);
    sb_status status = s->k == 1 ? sbi_unary(s->ctx, SB_SIGMOID, s->other, s->scores, err) : sbi_softmax(s->ctx, s->scores, s->scores, err);
    if (status == SB_OK) status = sbi_array_read(s->scores, s->r, bytes, err);
    for (int64_t i = 0; i < s->n && status == SB_OK; i++) {
        if (s->k == 1) {
            s->r[i] = s->w[i] * (s->y[i] ? -s->r[i] : s->r[i]);
            continue;
        }
        s->r[i * s->k + s->y[i]] = s->r[i * s->k + s->y[i]] - 1.0;
        for (int64_t j = 0; j < s->k; j++) s->r[i * s->k + j] = s->w[i] * s->r[i * s->k + j];
    }
    return status;
}

static sb_status slope(void *user, const double *u, double *g, sb_error *err) {
    logistic *s = user;
    const sb_gemm_options turned = {.size = sizeof turned, .transpose_a = 1};
    const int64_t cells = s->k * s->d;
    sb_status status = residuals(s, err);
    if (status != SB_OK) return status;
    if (s->narrow) {
        halve(s->n, s->k, false, s->r, s->halves);
        status = sbi_array_write(s->rest, s->halves, (size_t)(2 * s->n * s->k) * sizeof *s->halves, err);
    } else {
        status = sbi_array_write(s->rest, s->r, (size_t)(s->n * s->k) * sizeof *s->r, err);
    }
    if (status || (status = sbi_gemm(s->ctx, &turned, s->rest, s->call->x, NULL, s->slope, err)) ||
        (status = sbi_array_read(s->slope, s->g, (size_t)((s->narrow ? 2 : 1) * cells) * sizeof *s->g, err)))
        return status;
    for (int64_t j = 0; j < s->k; j++) {
        for (int64_t i = 0; i < s->n; i++) s->term[i] = s->r[i * s->k + j];
        const double sum = sbi_host_sum(s->n, s->term);
        for (int64_t i = j * s->d; i < (j + 1) * s->d; i++) {
            const double along = s->narrow ? s->g[i] + s->g[cells + i] : s->g[i];
            g[i] = along - s->mean[i - j * s->d] * sum + s->l2 * u[i];
        }
        if (s->intercept) g[cells + j] = sum;
    }
    return SB_OK;
}

// ---- the metric

static void scale(void *user, double *v) {
    const logistic *s = user;
    const int64_t d = s->d;
    for (int64_t j = 0; j < s->k; j++) {
        double *x = v + j * d;
        for (int64_t i = 0; i < d && !s->factor; i++) x[i] = s->diagonal[i] > 0.0 ? x[i] / s->diagonal[i] : 0.0;
        for (int64_t i = 0; i < d && s->factor; i++) x[i] = (x[i] - sbi_host_dot(i, s->factor + i * d, x)) / s->factor[i * d + i];
        for (int64_t i = d - 1; i >= 0 && s->factor; i--) {
            x[i] = x[i] / s->factor[i * d + i];
            for (int64_t l = 0; l < i; l++) x[l] = x[l] - s->factor[i * d + l] * x[i];
        }
        if (s->intercept) v[s->k * d + j] = v[s->k * d + j] / (s->bound * s->total);
    }
}

// The factor of f G + M I, if there is one; g is overwritten.
static sb_status factor_of(logistic *s, sbi_gram *g, sb_error *err) {
    sb_array *matrix = NULL;
    sb_error why = {0};
    const int64_t d = s->d;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++) g->gram[i * d + j] = j > i ? 0.0 : s->bound * g->gram[i * d + j] + (i == j ? s->l2 : 0.0);
    sb_status status = sbi_array_new(s->ctx, SB_F64, 2, (int64_t[]){d, d}, &matrix, err);
    if (status == SB_OK) status = sbi_array_write(matrix, g->gram, (size_t)(d * d) * sizeof *g->gram, err);
    const sb_status made = status ? status : sbi_cholesky(s->ctx, matrix, matrix, &why);
    if (status == SB_OK && made == SB_OK) {
        status = sbi_array_read(matrix, g->gram, (size_t)(d * d) * sizeof *g->gram, err);
        s->factor = g->gram;
        g->gram = NULL;
    } else if (status == SB_OK && made != SB_ERR_SINGULAR && made != SB_ERR_NONFINITE) {
        status = made;
        if (err) *err = why;
    }
    sbi_array_free(matrix);
    return status;
}

static sb_status metric_of(logistic *s, const sbi_centred *c, sb_error *err) {
    sb_array *moments = NULL;
    double *values = NULL;
    sbi_gram g = {0};
    sb_status status = sbi_array_new(s->ctx, SB_F64, 2, (int64_t[]){SBI_MOMENTS, s->d}, &moments, err);
    if (status == SB_OK) status = sbi_moments(s->ctx, c->call->x, c->call->weights, moments, err);
    if (status == SB_OK) status = sbi_read_reals(s->ctx, moments, &values, err);
    for (int64_t j = 0; j < s->d && status == SB_OK; j++) {
        const double mean = values[SBI_MEAN * s->d + j], square = values[SBI_SQUARES * s->d + j];
        s->diagonal[j] = s->bound * (s->intercept ? square : square + s->total * (mean * mean)) + s->l2;
    }
    if (status == SB_OK && s->n > s->d && s->l1 == 0.0) {
        status = sbi_gram_equations(c, &g, err);
        if (status == SB_OK) status = factor_of(s, &g, err);
    }
    sbi_array_free(moments);
    sbi_release(&s->ctx->allocator, values);
    sbi_release(&s->ctx->allocator, g.gram);
    sbi_release(&s->ctx->allocator, g.cross);
    return status;
}

static bool enough(void *user, double f, double most, double decrement) {
    const logistic *s = user;
    const bool free_of = s->l1 == 0.0 && s->l2 == 0.0;
    return most <= s->tol * s->total && ((free_of && s->apart) || decrement <= (free_of ? 0x1p-40 : 0x1p-28) * f);
}

// ---- fit

// Weights of rows: the given ones times those of their classes.
static sb_status weigh(logistic *s, int64_t classes, sb_error *err) {
    const sbi_value *given = sbi_model_value(s->call->model, "class_weight");
    double *of_class = NULL;
    sb_status status = sbi_array_read(s->call->y, s->y, (size_t)s->n * sizeof *s->y, err);
    if (status == SB_OK && s->call->weights) status = sbi_array_read(s->call->weights, s->w, (size_t)s->n * sizeof *s->w, err);
    for (int64_t i = 0; i < s->n && status == SB_OK && !s->call->weights; i++) s->w[i] = 1.0;
    if (status == SB_OK && given->array) status = sbi_read_reals(s->ctx, given->array, &of_class, err);
    if (status == SB_OK && given->kind == SBI_WORD) {
        const double total = sbi_host_sum(s->n, s->w);
        of_class = sbi_allocate(&s->ctx->allocator, classes, sizeof *of_class, err);
        status = of_class ? SB_OK : SB_ERR_MEMORY;
        for (int64_t k = 0; k < classes && status == SB_OK; k++) {
            for (int64_t i = 0; i < s->n; i++) s->term[i] = s->y[i] == k ? s->w[i] : 0.0;
            const double own = sbi_host_sum(s->n, s->term);
            of_class[k] = own > 0.0 ? total / ((double)classes * own) : 1.0;
        }
    }
    for (int64_t k = 0; k < classes && status == SB_OK && of_class; k++)
        if (of_class[k] < 0.0) status = sbi_fail(err, SB_ERR_ARGUMENT, "class_weight", "the weight of class %lld is negative", (long long)k);
    for (int64_t i = 0; i < s->n && status == SB_OK && of_class; i++) s->w[i] = s->w[i] * of_class[s->y[i]];
    sbi_release(&s->ctx->allocator, of_class);
    if (status != SB_OK) return status;
    s->total = sbi_host_sum(s->n, s->w);
    return s->total > 0.0 ? SB_OK : sbi_fail(err, SB_ERR_ARGUMENT, "weights", "the weights of all rows are 0");
}

static void penalty_of(const sb_model *model, double *l1, double *l2) {
    const sbi_value *share = sbi_model_value(model, "l1_ratio");
    const double c = sbi_model_real(model, "C"), given = share->kind == SBI_NONE ? 0.0 : share->real;
    const double ratio = sbi_model_is(model, "penalty", "l1") ? 1.0 : sbi_model_is(model, "penalty", "l2") ? 0.0 : given;
    const bool none = sbi_model_is(model, "penalty", "none");
    *l1 = none ? 0.0 : ratio / c;
    *l2 = none ? 0.0 : (1.0 - ratio) / c;
}

static sb_status prepare(logistic *s, int64_t classes, sb_error *err) {
    const sbi_allocator *allocator = &s->ctx->allocator;
    const int64_t n = s->n, d = s->d, k = s->k, parts = s->narrow ? 2 * k : k;
    const sb_dtype type = s->call->x->dtype;
    sb_status status;
    s->y = sbi_allocate(allocator, n, sizeof *s->y, err);
    s->w = s->y ? sbi_allocate(allocator, 2 * n + d, sizeof *s->w, err) : NULL;
    s->z = s->w ? sbi_allocate(allocator, 2 * n * k, sizeof *s->z, err) : NULL;
    s->g = s->z ? sbi_allocate(allocator, 2 * k * d, sizeof *s->g, err) : NULL;
    s->halves = s->g ? sbi_allocate(allocator, s->narrow ? 2 * k * (n > d ? n : d) : 1, sizeof *s->halves, err) : NULL;
    if (!s->halves) return SB_ERR_MEMORY;
    s->term = s->w + n, s->diagonal = s->w + 2 * n, s->r = s->z + n * k;
    if ((status = sbi_array_new(s->ctx, SB_F64, 2, (int64_t[]){n, k}, &s->scores, err)) ||
        (status = sbi_array_new(s->ctx, SB_F64, 2, (int64_t[]){n, k}, &s->other, err)) || (status = sbi_array_new(s->ctx, SB_F64, 1, &k, &s->bias, err)) ||
        (status = sbi_array_new(s->ctx, type, 2, (int64_t[]){parts, d}, &s->b, err)) ||
        (status = sbi_array_new(s->ctx, SB_F64, 2, (int64_t[]){parts, d}, &s->slope, err)) ||
        (status = sbi_array_new(s->ctx, type, 2, (int64_t[]){n, parts}, &s->rest, err)))
        return status;
    if (s->narrow) {
        if ((status = sbi_array_new(s->ctx, SB_F64, 2, (int64_t[]){n, parts}, &s->pair, err)) ||
            (status = sbi_array_new(s->ctx, SB_F64, 2, (int64_t[]){parts, k}, &s->fold, err)))
            return status;
        for (int64_t i = 0; i < parts; i++)
            for (int64_t j = 0; j < k; j++) s->z[i * k + j] = i % k == j ? 1.0 : 0.0;
        if ((status = sbi_array_write(s->fold, s->z, (size_t)(parts * k) * sizeof *s->z, err))) return status;
    }
    return weigh(s, classes, err);
}

static void release(logistic *s) {
    sb_array *const arrays[] = {s->scores, s->other, s->pair, s->fold, s->b, s->bias, s->slope, s->rest};
    void *const blocks[] = {s->y, s->w, s->z, s->g, s->halves, s->factor};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) sbi_array_free(arrays[i]);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sbi_release(&s->ctx->allocator, blocks[i]);
}

static sb_status fill(logistic *s, const sbi_minimum *m, sb_error *err) {
    sb_model *model = s->call->model;
    double *coef = NULL, *constant = m->u + s->k * s->d;
    const int64_t steps = m->iterations;
    for (int64_t i = 0; i < m->size; i++)
        if (m->u[i] - m->u[i] != 0.0) return sbi_fail(err, SB_ERR_NONFINITE, "x", "the sums of x or of weights leave the range of numbers: scale the data");
    sb_status status = sbi_model_fill(s->ctx, model, "coef", m->u, err);
    if (status == SB_OK) status = sbi_read_reals(s->ctx, sbi_model_array(model, "coef"), &coef, err);
    for (int64_t j = 0; j < s->k && status == SB_OK; j++) s->g[j] = s->intercept ? constant[j] - sbi_host_dot(s->d, s->mean, coef + j * s->d) : 0.0;
    if (status == SB_OK) status = sbi_model_fill(s->ctx, model, "intercept", s->g, err);
    if (status == SB_OK) status = sbi_model_fill_integers(s->ctx, model, "n_iter", &steps, err);
    sbi_release(&s->ctx->allocator, coef);
    if (status == SB_OK && s->l1 == 0.0 && s->l2 == 0.0 && s->apart)
        return sbi_warned(sbi_model_warn(model, "ConvergenceWarning", "The classes can be separated: without a penalty no coefficients are best, and larger ones are always better."), err);
    if (status == SB_OK && !m->ended && !(m->most <= s->tol * s->total))
        return sbi_warned(sbi_model_warn(model, "ConvergenceWarning", "The gradient is not small after %lld iterations. Raise max_iter, or scale the features.", (long long)steps), err);
    return status;
}

sb_status sbi_logistic_regression_fit(sbi_call *call, sb_error *err) {
    sb_model *model = call->model;
    const int64_t classes = sbi_model_size(model, "c"), k = classes == 2 ? 1 : classes;
    logistic s = {.call = call, .ctx = call->ctx, .n = call->n, .d = call->d, .k = k, .intercept = sbi_model_flag(model, "fit_intercept"),
                  .narrow = call->x->dtype == SB_F32, .tol = sbi_model_real(model, "tol"), .bound = k == 1 ? 0.25 : 0.5};
    sbi_minimum m = {.size = k * call->d + (s.intercept ? k : 0), .max_iter = sbi_model_integer(model, "max_iter"), .user = &s, .value = value, .slope = slope,
                     .scale = scale, .enough = enough};
    sbi_call inner = *call;
    sbi_centred c = {0};
    sb_array *weights = NULL;
    double *unknown = NULL;
    sb_status status;
    if (classes < 2)
        return sbi_fail(err, SB_ERR_ARGUMENT, "y", "This solver needs samples of at least 2 classes in the data, but the data contains only one class");
    penalty_of(model, &s.l1, &s.l2);
    if ((status = sbi_model_set_size(model, "k", k, err)) || (status = sbi_model_set_size(model, "s", classes == 2 ? -1 : classes, err)) ||
        (status = prepare(&s, classes, err)) || (status = sbi_array_new(s.ctx, SB_F64, 1, &s.n, &weights, err)) ||
        (status = sbi_array_write(weights, s.w, (size_t)s.n * sizeof *s.w, err)))
        goto done;
    inner.weights = inner.y = weights; // (only X is looked at)
    inner.progress = NULL;
    if ((status = sbi_centred_start(&inner, s.intercept, &c, err))) goto done;
    s.mean = c.x_means;
    if (!(unknown = sbi_allocate(&s.ctx->allocator, 2 * m.size, sizeof *unknown, err))) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    m.u = unknown;
    for (int64_t i = 0; i < k * s.d; i++) unknown[m.size + i] = s.l1;
    m.l1 = s.l1 > 0.0 ? unknown + m.size : NULL;
    if ((status = metric_of(&s, &c, err)) || (status = sbi_minimise(call, &m, err))) goto done;
    status = fill(&s, &m, err);
done:
    sbi_centred_free(&c);
    sbi_array_free(weights);
    sbi_release(&s.ctx->allocator, unknown);
    release(&s);
    return status;
}

// ---- the other methods

static int64_t scores_a_row(const sbi_call *call) { return sbi_model_size(call->model, "k"); }

sb_status sbi_logistic_regression_decision_function(sbi_call *call, sb_error *err) { return sbi_linear_scores(call, scores_a_row(call), call->out, err); }

// z[n, k] as an array, and its numbers (which may be NULL).
static sb_status make_scores(sbi_call *call, sb_array **out, double **numbers, sb_error *err) {
    const int64_t shape[2] = {call->n, scores_a_row(call)};
    sb_status status = sbi_array_new(call->ctx, call->x->dtype, 2, shape, out, err);
    if (status == SB_OK) status = sbi_linear_scores(call, shape[1], *out, err);
    return status || !numbers ? status : sbi_read_reals(call->ctx, *out, numbers, err);
}

sb_status sbi_logistic_regression_predict(sbi_call *call, sb_error *err) {
    const int64_t k = scores_a_row(call);
    sb_array *scores = NULL;
    double *z = NULL;
    int64_t *label = sbi_allocate(&call->ctx->allocator, call->n, sizeof *label, err);
    sb_status status = label ? make_scores(call, &scores, &z, err) : SB_ERR_MEMORY;
    for (int64_t i = 0; i < call->n && status == SB_OK; i++) {
        label[i] = k == 1 && z[i] > 0.0;
        for (int64_t j = 1; j < k; j++)
            if (z[i * k + j] > z[i * k + label[i]]) label[i] = j;
    }
    if (status == SB_OK) status = sbi_array_write(call->out, label, (size_t)call->n * sizeof *label, err);
    sbi_array_free(scores);
    sbi_release(&call->ctx->allocator, z);
    sbi_release(&call->ctx->allocator, label);
    return status;
}

// Of two classes `single` of -z and z; else `many` of the scores.
static sb_status chances(sbi_call *call, sb_unary_kind single, sb_status (*many)(sb_context *, const sb_array *, sb_array *, sb_error *), sb_error *err) {
    const bool two = scores_a_row(call) == 1;
    sb_array *scores = NULL;
    double *z = NULL, *both = NULL;
    sb_status status = make_scores(call, &scores, two ? &z : NULL, err);
    if (status == SB_OK && !two) status = many(call->ctx, scores, call->out, err);
    if (status == SB_OK && two && !(both = sbi_allocate(&call->ctx->allocator, 2 * call->n, sizeof *both, err))) status = SB_ERR_MEMORY;
    for (int64_t i = 0; i < call->n && status == SB_OK && two; i++) both[2 * i] = -z[i], both[2 * i + 1] = z[i];
    if (status == SB_OK && two) status = sbi_write_reals(call->ctx, both, call->out, err);
    if (status == SB_OK && two) status = sbi_unary(call->ctx, single, call->out, call->out, err);
    sbi_array_free(scores);
    sbi_release(&call->ctx->allocator, z);
    sbi_release(&call->ctx->allocator, both);
    return status;
}

sb_status sbi_logistic_regression_predict_proba(sbi_call *call, sb_error *err) { return chances(call, SB_SIGMOID, sbi_softmax, err); }
sb_status sbi_logistic_regression_predict_log_proba(sbi_call *call, sb_error *err) { return chances(call, SB_LOG_SIGMOID, sbi_log_softmax, err); }
sb_status sbi_logistic_regression_score(sbi_call *call, sb_error *err) { return sbi_classifier_score(call, sbi_logistic_regression_predict, err); }

sb_status sbi_logistic_regression_check(const sb_model *model, sb_error *err) {
    const int64_t classes = sbi_model_size(model, "c"), k = sbi_model_size(model, "k"), s = sbi_model_size(model, "s");
    if (classes >= 2 && k == (classes == 2 ? 1 : classes) && s == (classes == 2 ? -1 : classes)) return SB_OK;
    return sbi_fail(err, SB_ERR_FORMAT, "coef", "%lld rows of coefficients for %lld classes", (long long)k, (long long)classes);
}
