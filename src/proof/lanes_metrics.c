// SPDX-License-Identifier: Apache-2.0
// Lanes of metrics: each of them with settings that reach every branch of its arithmetic, weighted and not.
#include "proof.h"

#include <stdio.h>

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

typedef struct inputs { sb_array *truth, *guess, *weights; } inputs;
typedef struct try { const char *metric, *settings[3]; bool weighted; } try;

static void report(sbi_lane_run *run, const char *what, const try *t, int number, const inputs *in, sb_error *err) {
    char cell[48];
    sb_array *out = NULL;
    sb_metric_data data = {.size = sizeof data, .truth = in->truth, .prediction = in->guess, .weights = t->weighted ? in->weights : NULL, .settings = t->settings};
    while (data.setting_count < 3 && t->settings[data.setting_count]) data.setting_count++;
    if (run->status == SB_OK) sbi_lane_do(run, sb_metric(run->ctx, t->metric, &data, &out, err));
    snprintf(cell, sizeof cell, "%s%d.%s", what, number, t->metric);
    if (run->status == SB_OK) sbi_lane_cell(run, cell, out, err);
    sb_array_free(out);
}

#define REPORT_ALL(what, tries, ...) \
    for (int i = 0; i < (int)(sizeof tries / sizeof *tries); i++) report(run, what, &tries[i], i, &(inputs){__VA_ARGS__}, err)

static sb_status run_classes(sbi_lane_run *run, sb_error *err) {
    static const try several[] = {
        {"accuracy_score", {NULL}, true}, {"balanced_accuracy_score", {"adjusted=true"}, true}, {"confusion_matrix", {"normalize=pred"}, true},
        {"confusion_matrix", {"labels=2"}, false}, {"precision_score", {"average=none"}, true}, {"recall_score", {"average=weighted"}, true},
        {"f1_score", {"average=macro", "labels=2"}, true}, {"fbeta_score", {"average=micro", "beta=0.3"}, true}, {"jaccard_score", {"average=none"}, true},
        {"matthews_corrcoef", {NULL}, true}, {"cohen_kappa_score", {"weights=quadratic"}, true}, {"cohen_kappa_score", {NULL}, false}};
    static const try one[] = {{"roc_auc_score", {NULL}, true}, {"average_precision_score", {NULL}, true}, {"roc_auc_score", {NULL}, false}};
    static const try probable[] = {{"log_loss", {NULL}, true}, {"brier_score_loss", {NULL}, true}};
    static const try each[] = {
        {"roc_auc_score", {"multi_class=ovr", "average=weighted"}, true}, {"roc_auc_score", {"multi_class=ovo"}, false}, {"average_precision_score", {"average=micro"}, true},
        {"average_precision_score", {"average=none"}, true}, {"log_loss", {"normalize=false"}, true}, {"brier_score_loss", {NULL}, true}};
    const sb_dtype real = sbi_lane_real(run);
    const int64_t n = sbi_lane_size(run, 300, 67);
    sb_array *truth = sbi_lane_indices(run, "truth", SB_I64, 1, SHAPE(n), 3), *guess = sbi_lane_indices(run, "guess", SB_I64, 1, SHAPE(n), 3);
    sb_array *two = sbi_lane_indices(run, "two", SB_I64, 1, SHAPE(n), 2), *w = sbi_lane_sizes(run, "weights", n, err);
    sb_array *score = sbi_lane_input(run, "score", real, 1, SHAPE(n)), *scores = sbi_lane_input(run, "scores", real, 2, SHAPE(n, 3));
    sb_array *shares = sbi_lane_result(run, real, 2, SHAPE(n, 3));
    REPORT_ALL("classes", several, truth, guess, w);
    REPORT_ALL("score", one, two, score, w);
    if (run->status == SB_OK) sbi_lane_do(run, sb_unary(run->ctx, SB_SIGMOID, score, score, err));
    if (run->status == SB_OK) sbi_lane_do(run, sb_softmax(run->ctx, scores, shares, err));
    sbi_lane_cell(run, "probability", score, err); // (a score moves a rank only where it passes another)
    sbi_lane_cell(run, "probabilities", shares, err);
    REPORT_ALL("probability", probable, two, score, w);
    REPORT_ALL("probabilities", each, truth, shares, w);
    return run->status;
}

static sb_status run_values(sbi_lane_run *run, sb_error *err) {
    static const try values[] = {
        {"r2_score", {"multioutput=raw_values"}, true}, {"r2_score", {"multioutput=variance_weighted"}, false}, {"explained_variance_score", {"multioutput=0.25,1.7"}, true},
        {"mean_squared_error", {"multioutput=raw_values"}, true}, {"root_mean_squared_error", {NULL}, true}, {"mean_absolute_error", {NULL}, true},
        {"mean_absolute_error", {NULL}, false}, {"median_absolute_error", {"multioutput=raw_values"}, true}, {"median_absolute_error", {NULL}, false}};
    static const try first[] = {{"max_error", {NULL}, false}};
    static const try clusters[] = {
        {"rand_score", {NULL}, false}, {"adjusted_rand_score", {NULL}, false}, {"mutual_info_score", {NULL}, false}, {"homogeneity_score", {NULL}, false},
        {"completeness_score", {NULL}, false}, {"v_measure_score", {"beta=0.3"}, false}, {"normalized_mutual_info_score", {"average_method=geometric"}, false},
        {"adjusted_mutual_info_score", {NULL}, false}, {"adjusted_mutual_info_score", {"average_method=max"}, false}};
    static const try points[] = {{"silhouette_score", {NULL}, false}, {"silhouette_samples", {NULL}, false}};
    const sb_dtype real = sbi_lane_real(run);
    const int64_t n = sbi_lane_size(run, 300, 67);
    sb_array *y = sbi_lane_input(run, "y", real, 2, SHAPE(n, 2)), *p = sbi_lane_input(run, "p", real, 2, SHAPE(n, 2));
    sb_array *one = sbi_lane_input(run, "one", real, 1, SHAPE(n)), *other = sbi_lane_input(run, "other", real, 1, SHAPE(n));
    sb_array *truth = sbi_lane_indices(run, "truth", SB_I64, 1, SHAPE(n), 5), *guess = sbi_lane_indices(run, "guess", SB_I64, 1, SHAPE(n), 4);
    sb_array *x = sbi_lane_input(run, "x", real, 2, SHAPE(n, 3)), *w = sbi_lane_sizes(run, "weights", n, err);
    REPORT_ALL("values", values, y, p, w);
    REPORT_ALL("value", first, one, other, NULL);
    REPORT_ALL("clusters", clusters, truth, guess, NULL);
    REPORT_ALL("points", points, x, guess, NULL);
    return run->status;
}

#define FIXTURES (SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_TIES) | SBI_FIX(SBI_FIX_ZEROS) | SBI_FIX(SBI_FIX_OFFSET) | SBI_FIX(SBI_FIX_ODD))
#define LANES(lane, function) \
    {.name = lane, .kind = "metric", .fixtures = FIXTURES, .counts_inputs = true, .run = function}, \
    {.name = lane "_f64", .kind = "metric", .fixtures = FIXTURES, .counts_inputs = true, .run = function, .dtype = SB_F64}
const sbi_lane sbi_lanes_metrics[] = {LANES("metrics_of_classes", run_classes), LANES("metrics_of_values", run_values), {.name = NULL}};
