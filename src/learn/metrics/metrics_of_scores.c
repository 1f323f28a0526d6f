// SPDX-License-Identifier: Apache-2.0
// Metrics of scores and probabilities.
//
// Order of arithmetic, in binary64. Scores of one class against the rest: rows by descending score, stable; rows of equal score are a
// group g, in which a_g and b_g are the chains of the weights of rows that are of the class and that are not, A_g and B_g the
// chains of these up to it. ROC: S(RN(b_g RN(A_(g-1) + RN(a_g 0.5)))) / RN(A B), NaN where that divisor is 0. Average precision:
// S(RN(RN(a_g / A) RN(A_g / RN(A_g + B_g)))), 0 where A is 0. Of several classes: macro is S over classes / their number, weighted
// S(RN(A_c f_c)) / S(A_c), micro all cells of the table as rows of one problem, row by row; one against one: for each pair of classes
// (i < j) RN(RN(f + g) 0.5), f with the scores of i, g with those of j, over the rows of both; weighted with the part of rows of both.
// log loss: l = -log(p), p the probability of what is, at least eps, at most RN(1 - eps), eps = 2^-52 (2^-23 of float32 data); of two
// classes RN(1 - p) where it is the class 0. S(RN(w l)) / S(w). Brier: q = S over the classes of RN(d d), d = RN([is] - p), for
// two classes twice RN(d d) of the class 1, all times 0.5 where scale_by_half says so; S(RN(w q)) / S(w).
#include "metric.h"

static sb_status check_columns(const sbi_metric_call *call, sb_error *err) {
    if (!call->several && call->classes <= 2) return SB_OK;
    if (!call->several) return sbi_fail(err, SB_ERR_SHAPE, "prediction", "truth has %lld classes: prediction needs a column for each", (long long)call->classes);
    if (call->columns >= call->classes && call->columns >= 2) return SB_OK;
    return sbi_fail(err, SB_ERR_SHAPE, "prediction", "prediction has %lld columns, and there are %lld classes", (long long)call->columns, (long long)call->classes);
}

// One class against the rest: rows, whether they are of it, scores, weights.
typedef struct problem { int64_t n; double *is, *score, *weight; } problem;
typedef struct group { int64_t count; double *of, *other, whole, rest; } group; // a_g, b_g; A, B
typedef double (*curve_of)(const sbi_metric_call *call, const group *g, sb_error *err);

static sb_status new_problem(const sbi_metric_call *call, int64_t n, problem *out, sb_error *err) {
    *out = (problem){0, sbi_metric_room(call, n, err), sbi_metric_room(call, n, err), sbi_metric_room(call, n, err)};
    return out->is && out->score && out->weight ? SB_OK : SB_ERR_MEMORY;
}

static void add_score(problem *p, bool is, double score, double weight) {
    p->is[p->n] = is ? 1.0 : 0.0;
    p->score[p->n] = score;
    p->weight[p->n++] = weight;
}

static sb_status find_groups(const sbi_metric_call *call, const problem *p, group *out, sb_error *err) {
    int64_t *order = NULL;
    sb_status status = sbi_metric_order(call, p->n, p->score, true, &order, err);
    *out = (group){0, sbi_metric_room(call, p->n, err), sbi_metric_room(call, p->n, err), 0.0, 0.0};
    if (status != SB_OK || !out->of || !out->other) return status == SB_OK ? SB_ERR_MEMORY : status;
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t row = order[i];
        if (i > 0 && p->score[row] != p->score[order[i - 1]]) out->count++;
        double *sum = (p->is[row] != 0.0 ? out->of : out->other) + out->count;
        *sum = *sum + p->weight[row];
    }
    out->count++;
    for (int64_t g = 0; g < out->count; g++) {
        out->whole = out->whole + out->of[g];
        out->rest = out->rest + out->other[g];
    }
    return SB_OK;
}

static double area(const sbi_metric_call *call, const group *g, sb_error *err) {
    double *term = sbi_metric_room(call, g->count, err), before = 0.0;
    for (int64_t i = 0; term && i < g->count; i++) {
        const double half = g->of[i] * 0.5, height = before + half;
        term[i] = g->other[i] * height;
        before = before + g->of[i];
    }
    return term ? sbi_host_sum(g->count, term) / (g->whole * g->rest) : -1.0;
}

static double precision(const sbi_metric_call *call, const group *g, sb_error *err) {
    double *term = sbi_metric_room(call, g->count, err), of = 0.0, other = 0.0;
    for (int64_t i = 0; term && i < g->count; i++) {
        of = of + g->of[i];
        other = other + g->other[i];
        const double all = of + other, right = all > 0.0 ? of / all : 0.0, part = g->of[i] / g->whole;
        term[i] = part * right;
    }
    return !term ? -1.0 : g->whole > 0.0 ? sbi_host_sum(g->count, term) : 0.0;
}

// (a curve is never below 0: -1 is memory that was refused)
static sb_status solve(const sbi_metric_call *call, const problem *p, curve_of of, double *out, double *whole, sb_error *err) {
    group g;
    sb_status status = find_groups(call, p, &g, err);
    if (status != SB_OK) return status;
    *out = of(call, &g, err);
    if (whole) *whole = g.whole;
    return *out == -1.0 ? SB_ERR_MEMORY : SB_OK;
}

static sb_status one_problem(sbi_metric_call *call, curve_of of, sb_error *err) {
    problem p;
    double score = 0.0;
    sb_status status = new_problem(call, call->n, &p, err);
    for (int64_t i = 0; i < call->n && status == SB_OK; i++) add_score(&p, call->truth[i] == 1, call->p[i], call->w[i]);
    if (status != SB_OK || (status = solve(call, &p, of, &score, NULL, err))) return status;
    return sbi_metric_number(call, score, err);
}

static sb_status all_cells(sbi_metric_call *call, curve_of of, sb_error *err) {
    problem p;
    double score = 0.0;
    sb_status status = new_problem(call, call->n * call->columns, &p, err);
    for (int64_t i = 0; i < call->n && status == SB_OK; i++)
        for (int64_t c = 0; c < call->columns; c++) add_score(&p, call->truth[i] == c, call->p[i * call->columns + c], call->w[i]);
    if (status != SB_OK || (status = solve(call, &p, of, &score, NULL, err))) return status;
    return sbi_metric_number(call, score, err);
}

static sb_status one_against_rest(sbi_metric_call *call, curve_of of, sb_error *err) {
    if (sbi_setting_is(call, "average", "micro")) return all_cells(call, of, err);
    const int64_t k = call->columns;
    problem p;
    double *each = sbi_metric_room(call, k, err), *weight = sbi_metric_room(call, k, err);
    sb_status status = each && weight ? new_problem(call, call->n, &p, err) : SB_ERR_MEMORY;
    for (int64_t c = 0; c < k && status == SB_OK; c++) {
        p.n = 0;
        for (int64_t i = 0; i < call->n; i++) add_score(&p, call->truth[i] == c, call->p[i * k + c], call->w[i]);
        status = solve(call, &p, of, each + c, weight + c, err);
    }
    if (status != SB_OK) return status;
    if (sbi_setting_is(call, "average", "none")) return sbi_metric_array(call, 1, k, 1, each, err);
    if (sbi_setting_is(call, "average", "weighted")) return sbi_metric_number(call, sbi_host_dot(k, weight, each) / sbi_host_sum(k, weight), err);
    return sbi_metric_number(call, sbi_host_sum(k, each) / (double)k, err);
}

static sb_status one_against_one(sbi_metric_call *call, sb_error *err) {
    const int64_t k = call->columns, pairs = k * (k - 1) / 2;
    problem p;
    double *each = sbi_metric_room(call, pairs, err), *part = sbi_metric_room(call, pairs, err), score[2];
    sb_status status = each && part ? new_problem(call, call->n, &p, err) : SB_ERR_MEMORY;
    int64_t at = 0;
    for (int64_t a = 0; a < k && status == SB_OK; a++)
        for (int64_t b = a + 1; b < k && status == SB_OK; b++, at++) {
            for (int side = 0; side < 2 && status == SB_OK; side++) {
                const int64_t own = side ? b : a;
                p.n = 0;
                for (int64_t i = 0; i < call->n; i++)
                    if (call->truth[i] == a || call->truth[i] == b) add_score(&p, call->truth[i] == own, call->p[i * k + own], 1.0);
                if (p.n == 0) score[side] = __builtin_nan("");
                else status = solve(call, &p, area, score + side, NULL, err);
            }
            const double sum = score[0] + score[1];
            each[at] = sum * 0.5;
            part[at] = (double)p.n / (double)call->n;
        }
    if (status != SB_OK) return status;
    if (sbi_setting_is(call, "average", "weighted")) return sbi_metric_number(call, sbi_host_dot(pairs, part, each) / sbi_host_sum(pairs, part), err);
    return sbi_metric_number(call, sbi_host_sum(pairs, each) / (double)pairs, err);
}

sb_status sbi_metric_roc_auc_score(sbi_metric_call *call, sb_error *err) {
    sb_status status = check_columns(call, err);
    if (status != SB_OK) return status;
    if (!call->several) return one_problem(call, area, err);
    if (sbi_setting_is(call, "multi_class", "raise")) return sbi_fail(err, SB_ERR_ARGUMENT, "multi_class", "multi_class must be in ('ovo', 'ovr')");
    double *row = sbi_metric_room(call, call->columns, err);
    if (!row) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < call->n; i++) {
        const double sum = sbi_host_sum(call->columns, call->p + i * call->columns);
        if (sum < 1.0 - 1.001e-5 || sum > 1.0 + 1.001e-5)
            return sbi_fail(err, SB_ERR_ARGUMENT, "prediction", "Target scores need to be probabilities for multiclass roc_auc, i.e. they should sum up to 1.0 over classes");
    }
    if (sbi_setting_is(call, "multi_class", "ovr")) return one_against_rest(call, area, err);
    if (!sbi_setting_is(call, "average", "macro") && !sbi_setting_is(call, "average", "weighted"))
        return sbi_fail(err, SB_ERR_ARGUMENT, "average", "average must be one of ('macro', 'weighted') for multiclass problems, one against one");
    for (int64_t i = 0; i < call->n; i++)
        if (call->w[i] != 1.0)
            return sbi_fail(err, SB_ERR_UNSUPPORTED, "weights", "sample_weight is not supported for multiclass one-vs-one ROC AUC, 'sample_weight' must be None in this case.");
    return one_against_one(call, err);
}

sb_status sbi_metric_average_precision_score(sbi_metric_call *call, sb_error *err) {
    sb_status status = check_columns(call, err);
    if (status != SB_OK) return status;
    return call->several ? one_against_rest(call, precision, err) : one_problem(call, precision, err);
}

// ---- probabilities

static sb_status check_probabilities(const sbi_metric_call *call, sb_error *err) {
    sb_status status = check_columns(call, err);
    for (int64_t i = 0; i < call->n * call->columns && status == SB_OK; i++)
        if (!(call->p[i] >= 0.0 && call->p[i] <= 1.0))
            status = sbi_fail(err, SB_ERR_ARGUMENT, "prediction", "y_prob contains values %s: %.17g", call->p[i] > 1.0 ? "greater than 1" : "less than 0", call->p[i]);
    return status;
}

// S(RN(w term)), term overwritten; over S(w) where a mean is wanted.
static double weighted_sum(const sbi_metric_call *call, double *term, bool mean) {
    const double sum = sbi_host_dot(call->n, call->w, term);
    return mean ? sum / call->total : sum;
}

sb_status sbi_metric_log_loss(sbi_metric_call *call, sb_error *err) {
    const double eps = call->narrow ? 0x1p-23 : 0x1p-52, most = 1.0 - eps;
    double *loss = sbi_metric_room(call, call->n, err);
    sb_status status = loss ? check_probabilities(call, err) : SB_ERR_MEMORY;
    if (status != SB_OK) return status;
    for (int64_t i = 0; i < call->n; i++) {
        const double *p = call->p + i * call->columns, given = call->several ? p[call->truth[i]] : call->truth[i] == 1 ? *p : 1.0 - *p;
        loss[i] = given < eps ? eps : given > most ? most : given;
    }
    if ((status = sbi_metric_logs(call, call->n, loss, false, err))) return status;
    for (int64_t i = 0; i < call->n; i++) loss[i] = -loss[i];
    return sbi_metric_number(call, weighted_sum(call, loss, sbi_setting(call, "normalize")->integer != 0), err);
}

sb_status sbi_metric_brier_score_loss(sbi_metric_call *call, sb_error *err) {
    const sbi_value *half = sbi_setting(call, "scale_by_half");
    double *loss = sbi_metric_room(call, call->n, err), *term = sbi_metric_room(call, call->columns, err);
    sb_status status = loss && term ? check_probabilities(call, err) : SB_ERR_MEMORY;
    if (status != SB_OK) return status;
    const double scale = (half->kind == SBI_WORD ? call->columns < 3 : half->integer != 0) ? 0.5 : 1.0;
    for (int64_t i = 0; i < call->n; i++) {
        for (int64_t c = 0; c < call->columns; c++) {
            const double apart = (call->truth[i] == (call->several ? c : 1) ? 1.0 : 0.0) - call->p[i * call->columns + c];
            term[c] = apart * apart;
        }
        loss[i] = scale * (call->several ? sbi_host_sum(call->columns, term) : 2.0 * term[0]);
    }
    return sbi_metric_number(call, weighted_sum(call, loss, true), err);
}
