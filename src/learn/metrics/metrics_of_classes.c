// SPDX-License-Identifier: Apache-2.0
// Metrics of classes.
//
// Order of arithmetic, in binary64. w are the weights, 1 each without any; for class k T_k, P_k, H_k are S(w) over the rows that are
// of it, that were predicted as it, that are both, numbered by rank (T2); C_ij likewise of the rows of i that were predicted as j. Without
// weights all of these are counts, and exact. Fractions have the operations of their formulas in order, one rounding each:
// precision H / P, recall H / T, fbeta RN(RN(1 + b b) H) / RN(RN(RN(b b) T) + P) (recall where b is infinite), jaccard
// H / RN(RN(T + P) - H). micro: of S(H), S(T), S(P) over the classes that count; macro: S over those that are numbers / their number;
// weighted: S(RN(T f)) / S(T), macro where that divisor is 0.
// accuracy: S(w where right) / S(w). balanced accuracy: S(H / T over the classes that are there) / their number.
// matthews: RN(RN(h N) - S(RN(T P))) / sqrt(RN(RN(RN(N N) - S(RN(P P))) RN(RN(N N) - S(RN(T T))))), h = S(H), N = S(T); 0 where
// the divisor is 0. kappa: 1 - S(RN(v C)) / S(RN(v RN(RN(R_i Q_j) / S(R)))), over the k k cells by rows, with R, Q the S of C's rows
// and columns, v 1 off the diagonal, or the distance of the classes, or its square.
#include "metric.h"

#include <string.h>

typedef struct counts { int64_t k; double *truth, *guess, *hit; } counts;

// How many classes count: all, or the first ones.
static sb_status how_many(const sbi_metric_call *call, int64_t *k, sb_error *err) {
    const sbi_value *labels = sbi_setting(call, "labels");
    *k = call->classes;
    if (labels->kind == SBI_NONE) return SB_OK;
    if (labels->integer <= call->classes) *k = labels->integer;
    else return sbi_fail(err, SB_ERR_ARGUMENT, "labels", "labels is %lld, and there are %lld classes", (long long)labels->integer, (long long)call->classes);
    return SB_OK;
}

static sb_status count(const sbi_metric_call *call, int64_t k, counts *out, sb_error *err) {
    const int64_t all = call->classes;
    int64_t *both = sbi_arena_allocate(call->arena, call->n, sizeof *both, err);
    sb_status status;
    *out = (counts){k, sbi_metric_room(call, all, err), sbi_metric_room(call, all, err), sbi_metric_room(call, all, err)};
    if (!both || !out->truth || !out->guess || !out->hit) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < call->n; i++) both[i] = call->truth[i] == call->guess[i] ? call->truth[i] : -1;
    if ((status = sbi_metric_sums(call, call->truth, all, out->truth, err)) || (status = sbi_metric_sums(call, call->guess, all, out->guess, err))) return status;
    return sbi_metric_sums(call, both, all, out->hit, err);
}

sb_status sbi_metric_accuracy_score(sbi_metric_call *call, sb_error *err) {
    double *right = sbi_metric_room(call, call->n, err);
    if (!right) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < call->n; i++) right[i] = call->truth[i] == call->guess[i] ? call->w[i] : 0.0;
    const double sum = sbi_host_sum(call->n, right);
    return sbi_metric_number(call, sbi_setting(call, "normalize")->integer ? sum / call->total : sum, err);
}

sb_status sbi_metric_balanced_accuracy_score(sbi_metric_call *call, sb_error *err) {
    counts c;
    int64_t there = 0;
    sb_status status = count(call, call->classes, &c, err);
    if (status != SB_OK) return status;
    for (int64_t i = 0; i < c.k; i++)
        if (c.truth[i] > 0.0) c.hit[there++] = c.hit[i] / c.truth[i];
    const double score = sbi_host_sum(there, c.hit) / (double)there, chance = 1.0 / (double)there, above = score - chance;
    return sbi_metric_number(call, sbi_setting(call, "adjusted")->integer ? above / (1.0 - chance) : score, err);
}

// ---- the matrix

static sb_status confuse(const sbi_metric_call *call, int64_t k, double **out, sb_error *err) {
    int64_t cells, *label = sbi_arena_allocate(call->arena, call->n, sizeof *label, err);
    if (!label) return SB_ERR_MEMORY;
    if (!sbi_multiply(k, k, &cells) || cells >= INT64_C(1) << 31)
        return sbi_fail(err, SB_ERR_SIZE, "truth", "the matrix of %lld classes is too large", (long long)k);
    if (!(*out = sbi_metric_room(call, cells, err))) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < call->n; i++) label[i] = call->truth[i] < k && call->guess[i] < k ? call->truth[i] * k + call->guess[i] : -1;
    return sbi_metric_sums(call, label, cells, *out, err);
}

// S of a row's or a column's cells.
static double line(int64_t k, const double *matrix, int64_t at, bool column, double *room) {
    for (int64_t i = 0; i < k; i++) room[i] = column ? matrix[i * k + at] : matrix[at * k + i];
    return sbi_host_sum(k, room);
}

sb_status sbi_metric_confusion_matrix(sbi_metric_call *call, sb_error *err) {
    double *matrix = NULL;
    int64_t k = 0;
    sb_status status = how_many(call, &k, err);
    double *room = status == SB_OK ? sbi_metric_room(call, k, err) : NULL;
    if (!room) return status == SB_OK ? SB_ERR_MEMORY : status;
    if ((status = confuse(call, k, &matrix, err))) return status;
    const bool columns = sbi_setting_is(call, "normalize", "pred"), all = sbi_setting_is(call, "normalize", "all");
    const double whole = sbi_host_sum(k * k, matrix);
    for (int64_t i = 0; i < k && !sbi_setting_is(call, "normalize", "none"); i++) {
        const double sum = all ? whole : line(k, matrix, i, columns, room);
        for (int64_t j = 0; j < k; j++) {
            double *cell = matrix + (columns ? j * k + i : i * k + j);
            *cell = sum > 0.0 ? *cell / sum : 0.0;
        }
    }
    return sbi_metric_array(call, 2, k, k, matrix, err);
}

sb_status sbi_metric_cohen_kappa_score(sbi_metric_call *call, sb_error *err) {
    double *matrix = NULL;
    int64_t k = 0;
    sb_status status = how_many(call, &k, err);
    if (status != SB_OK || (status = confuse(call, k, &matrix, err))) return status;
    double *row = sbi_metric_room(call, k, err), *column = sbi_metric_room(call, k, err), *room = sbi_metric_room(call, k, err);
    double *expected = sbi_metric_room(call, k * k, err);
    if (!row || !column || !room || !expected) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < k; i++) {
        row[i] = line(k, matrix, i, false, room);
        column[i] = line(k, matrix, i, true, room);
    }
    const double whole = sbi_host_sum(k, row);
    const bool linear = sbi_setting_is(call, "weights", "linear"), square = sbi_setting_is(call, "weights", "quadratic");
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++) {
            const double apart = (double)(i > j ? i - j : j - i), weight = linear ? apart : square ? apart * apart : i == j ? 0.0 : 1.0;
            const double both = row[i] * column[j], share = both / whole;
            expected[i * k + j] = weight * share;
            matrix[i * k + j] = weight * matrix[i * k + j];
        }
    return sbi_metric_number(call, 1.0 - sbi_host_sum(k * k, matrix) / sbi_host_sum(k * k, expected), err);
}

sb_status sbi_metric_matthews_corrcoef(sbi_metric_call *call, sb_error *err) {
    counts c;
    sb_status status = count(call, call->classes, &c, err);
    if (status != SB_OK) return status;
    const double hits = sbi_host_sum(c.k, c.hit), all = sbi_host_sum(c.k, c.truth), square = all * all, chosen = hits * all;
    const double together = chosen - sbi_host_dot(c.k, c.truth, c.guess);
    const double product = (square - sbi_host_dot(c.k, c.guess, c.guess)) * (square - sbi_host_dot(c.k, c.truth, c.truth));
    return sbi_metric_number(call, product == 0.0 ? 0.0 : together / __builtin_sqrt(product), err);
}

// ---- fractions of classes

typedef struct fraction { double above, below; } fraction;
typedef fraction (*fraction_of)(const sbi_metric_call *call, double hit, double truth, double guess);

static fraction precision_of(const sbi_metric_call *call, double hit, double truth, double guess) {
    (void)call, (void)truth;
    return (fraction){hit, guess};
}

static fraction recall_of(const sbi_metric_call *call, double hit, double truth, double guess) {
    (void)call, (void)guess;
    return (fraction){hit, truth};
}

static fraction fbeta_of(const sbi_metric_call *call, double hit, double truth, double guess) {
    const sbi_value *given = sbi_setting(call, "beta");
    const double beta = given->kind == SBI_NONE ? 1.0 : given->real, square = beta * beta;
    if (square > 0x1p1023) return (fraction){hit, truth};
    const double weighted = square * truth;
    return (fraction){(1.0 + square) * hit, weighted + guess};
}

static fraction jaccard_of(const sbi_metric_call *call, double hit, double truth, double guess) {
    (void)call;
    const double twice = truth + guess;
    return (fraction){hit, twice - hit};
}

static double divided(const sbi_metric_call *call, fraction f) {
    if (f.below != 0.0) return f.above / f.below;
    return sbi_setting(call, "zero_division")->real; // (warn: 0)
}

// The mean of what is a number, weighted by truth where that is asked for and not all 0.
static double mean_of(const sbi_metric_call *call, int64_t k, double *each, const double *truth, double *weight) {
    int64_t there = 0;
    for (int64_t i = 0; i < k; i++) {
        if (each[i] != each[i]) continue;
        each[there] = each[i];
        weight[there++] = truth[i];
    }
    const double sum = sbi_host_sum(there, weight);
    if (there == 0) return __builtin_nan("");
    if (sbi_setting_is(call, "average", "weighted") && sum != 0.0) return sbi_host_dot(there, weight, each) / sum;
    return sbi_host_sum(there, each) / (double)there;
}

static sb_status averaged(sbi_metric_call *call, fraction_of of, sb_error *err) {
    counts c;
    int64_t k = 0;
    sb_status status = how_many(call, &k, err);
    if (status != SB_OK || (status = count(call, k, &c, err))) return status;
    double *each = sbi_metric_room(call, k, err), *weight = sbi_metric_room(call, k, err);
    if (!each || !weight) return SB_ERR_MEMORY;
    if (sbi_setting_is(call, "average", "binary")) {
        const int64_t at = sbi_setting(call, "pos_label")->integer;
        if (call->classes > 2)
            return sbi_fail(err, SB_ERR_ARGUMENT, "average", "Target is multiclass but average='binary'. Please choose another average setting, one of "
                            "[None, 'micro', 'macro', 'weighted'].");
        if (at >= call->classes && at != 1)
            return sbi_fail(err, SB_ERR_ARGUMENT, "pos_label", "pos_label=%lld is not a valid label: there are %lld classes", (long long)at, (long long)call->classes);
        return sbi_metric_number(call, divided(call, at < call->classes ? of(call, c.hit[at], c.truth[at], c.guess[at]) : of(call, 0.0, 0.0, 0.0)), err);
    }
    if (sbi_setting_is(call, "average", "micro"))
        return sbi_metric_number(call, divided(call, of(call, sbi_host_sum(k, c.hit), sbi_host_sum(k, c.truth), sbi_host_sum(k, c.guess))), err);
    for (int64_t i = 0; i < k; i++) each[i] = divided(call, of(call, c.hit[i], c.truth[i], c.guess[i]));
    if (sbi_setting_is(call, "average", "none")) return sbi_metric_array(call, 1, k, 1, each, err);
    return sbi_metric_number(call, mean_of(call, k, each, c.truth, weight), err);
}

sb_status sbi_metric_precision_score(sbi_metric_call *call, sb_error *err) { return averaged(call, precision_of, err); }
sb_status sbi_metric_recall_score(sbi_metric_call *call, sb_error *err) { return averaged(call, recall_of, err); }
sb_status sbi_metric_f1_score(sbi_metric_call *call, sb_error *err) { return averaged(call, fbeta_of, err); }
sb_status sbi_metric_fbeta_score(sbi_metric_call *call, sb_error *err) { return averaged(call, fbeta_of, err); }
sb_status sbi_metric_jaccard_score(sbi_metric_call *call, sb_error *err) { return averaged(call, jaccard_of, err); }
