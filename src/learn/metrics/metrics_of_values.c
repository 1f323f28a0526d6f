// SPDX-License-Identifier: Apache-2.0
// Metrics of values.
//
// Order of arithmetic, in binary64, for each target. e = RN(y - p), w the weights (1 each without any), mean(z) = S(RN(w z)) / S(w), and z
// itself where it is constant (T2).
// Squared error mean(RN(e e)), its root, absolute error mean(|e|), max |e|. R2: 1 - S(RN(w RN(e e))) / S(RN(w RN(d d))), d = RN(y -
// mean(y)). Explained variance: 1 - mean(RN(f f)) / mean(RN(d d)), f = RN(e - mean(e)). For both, where the divisor is 0: 1 if the
// dividend is, too, else 0; without force_finite the division as it is. Median: |e| ascending (stable), c the chain of their
// weights; the first with c at least half of the last c; where it is that half, the mean RN(RN(a + b) 0.5) of it and the next that weighs
// something. Of several targets S / their number, or
// S(RN(v score)) / S(v) with v given, or the divisors (S / number where all are 0).
#include "metric.h"

static double residual(const sbi_metric_call *call, int64_t i, int64_t j) { return call->y[i * call->columns + j] - call->p[i * call->columns + j]; }
static double target(const sbi_metric_call *call, int64_t i, int64_t j) { return call->y[i * call->columns + j]; }

typedef double (*term_of)(const sbi_metric_call *call, int64_t i, int64_t j);
static double square_of(const sbi_metric_call *call, int64_t i, int64_t j) {
    const double e = residual(call, i, j);
    return e * e;
}
static double size_of(const sbi_metric_call *call, int64_t i, int64_t j) { return __builtin_fabs(residual(call, i, j)); }

// Where all that weighs something is one number, that number (T2).
static double mean(const sbi_metric_call *call, term_of of, int64_t j, double *room) {
    double low = __builtin_inf(), high = -__builtin_inf();
    for (int64_t i = 0; i < call->n; i++) {
        room[i] = of(call, i, j);
        if (call->w[i] > 0.0 && room[i] < low) low = room[i];
        if (call->w[i] > 0.0 && room[i] > high) high = room[i];
    }
    return low == high ? low + 0.0 : sbi_host_dot(call->n, call->w, room) / call->total;
}

// S(RN(w RN(t t))), t = RN(term - centre).
static double spread(const sbi_metric_call *call, term_of of, int64_t j, double centre, double *room) {
    for (int64_t i = 0; i < call->n; i++) {
        const double apart = of(call, i, j) - centre;
        room[i] = apart * apart;
    }
    return sbi_host_dot(call->n, call->w, room);
}

// The result of one number a target.
static sb_status give(const sbi_metric_call *call, const double *each, const double *weight, sb_error *err) {
    const int64_t t = call->columns;
    const sbi_value *own = sbi_setting(call, "multioutput");
    if (own->kind == SBI_LIST && own->count != t)
        return sbi_fail(err, SB_ERR_SHAPE, "multioutput", "There must be equally many custom weights (%d) as outputs (%lld).", own->count, (long long)t);
    if (own->kind == SBI_LIST) weight = own->numbers;
    const double sum = weight ? sbi_host_sum(t, weight) : 0.0;
    if (own->kind == SBI_LIST && sum == 0.0) return sbi_fail(err, SB_ERR_ARGUMENT, "multioutput", "Weights sum to zero, can't be normalized");
    if (sbi_setting_is(call, "multioutput", "raw_values")) return sbi_metric_array(call, 1, t, 1, each, err);
    if ((own->kind == SBI_LIST || sbi_setting_is(call, "multioutput", "variance_weighted")) && sum != 0.0) return sbi_metric_number(call, sbi_host_dot(t, weight, each) / sum, err);
    return sbi_metric_number(call, sbi_host_sum(t, each) / (double)t, err);
}

static sb_status errors(const sbi_metric_call *call, term_of of, bool root, sb_error *err) {
    double *each = sbi_metric_room(call, call->columns, err), *room = sbi_metric_room(call, call->n, err);
    if (!each || !room) return SB_ERR_MEMORY;
    for (int64_t j = 0; j < call->columns; j++) {
        each[j] = mean(call, of, j, room);
        if (root) each[j] = __builtin_sqrt(each[j]);
    }
    return give(call, each, NULL, err);
}

sb_status sbi_metric_mean_squared_error(sbi_metric_call *call, sb_error *err) { return errors(call, square_of, false, err); }
sb_status sbi_metric_root_mean_squared_error(sbi_metric_call *call, sb_error *err) { return errors(call, square_of, true, err); }
sb_status sbi_metric_mean_absolute_error(sbi_metric_call *call, sb_error *err) { return errors(call, size_of, false, err); }

static sb_status explained(const sbi_metric_call *call, bool centred, sb_error *err) {
    double *each = sbi_metric_room(call, call->columns, err), *weight = sbi_metric_room(call, call->columns, err), *room = sbi_metric_room(call, call->n, err);
    const bool finite = sbi_setting(call, "force_finite")->integer != 0;
    if (!each || !weight || !room) return SB_ERR_MEMORY;
    for (int64_t j = 0; j < call->columns; j++) {
        const double rest = spread(call, residual, j, centred ? mean(call, residual, j, room) : 0.0, room);
        const double above = centred ? rest / call->total : rest, all = spread(call, target, j, mean(call, target, j, room), room);
        weight[j] = centred ? all / call->total : all;
        each[j] = weight[j] != 0.0 || !finite ? 1.0 - above / weight[j] : above == 0.0 ? 1.0 : 0.0;
        if (each[j] != each[j]) each[j] = __builtin_nan("");
    }
    return give(call, each, weight, err);
}

sb_status sbi_metric_r2_score(sbi_metric_call *call, sb_error *err) {
    if (call->n < 2) return sbi_metric_number(call, __builtin_nan(""), err); // (as scikit-learn: of one row there is none)
    return explained(call, false, err);
}
sb_status sbi_metric_explained_variance_score(sbi_metric_call *call, sb_error *err) { return explained(call, true, err); }

static double median(const sbi_metric_call *call, const double *size, const int64_t *order) {
    double all = 0.0, sum = 0.0;
    int64_t at = 0, next;
    for (int64_t i = 0; i < call->n; i++) all = all + call->w[order[i]];
    const double half = all * 0.5;
    for (sum = call->w[order[0]]; sum < half || sum == 0.0; sum = sum + call->w[order[at]]) at++;
    for (next = at + 1; next < call->n && call->w[order[next]] == 0.0;) next++;
    if (sum != half || next == call->n) return size[order[at]];
    const double both = size[order[at]] + size[order[next]];
    return both * 0.5;
}

sb_status sbi_metric_median_absolute_error(sbi_metric_call *call, sb_error *err) {
    double *each = sbi_metric_room(call, call->columns, err), *size = sbi_metric_room(call, call->n, err);
    int64_t *order = NULL;
    if (!each || !size) return SB_ERR_MEMORY;
    for (int64_t j = 0; j < call->columns; j++) {
        for (int64_t i = 0; i < call->n; i++) size[i] = size_of(call, i, j);
        sb_status status = sbi_metric_order(call, call->n, size, false, &order, err);
        if (status != SB_OK) return status;
        each[j] = median(call, size, order);
    }
    return give(call, each, NULL, err);
}

sb_status sbi_metric_max_error(sbi_metric_call *call, sb_error *err) {
    double most = 0.0;
    if (call->columns != 1) return sbi_fail(err, SB_ERR_SHAPE, "prediction", "Multioutput not supported in max_error");
    for (int64_t i = 0; i < call->n; i++) most = size_of(call, i, 0) > most ? size_of(call, i, 0) : most;
    return sbi_metric_number(call, most, err);
}
