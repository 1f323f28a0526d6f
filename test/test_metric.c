// SPDX-License-Identifier: Apache-2.0
// Metrics: the table, answers known by hand, what is refused and by which name, threads, memory. Agreement with scikit-learn is in
// python_cases.py.
#include "contexts.h"
#include "metric.h"
#include "purse.h"

#include <stdio.h>

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})
#define MOST 64

static sb_error err;

// Vectors of tests as arrays: whole numbers as int64, others as float64.
static sb_array *whole(sb_context *ctx, int64_t n, const int64_t *x) { return array_of(ctx, SB_I64, 1, SHAPE(n), x); }
static sb_array *reals(sb_context *ctx, int64_t n, const double *x) { return array_of(ctx, SB_F64, 1, SHAPE(n), x); }

static sb_status score(sb_context *ctx, const char *metric, const sb_array *truth, const sb_array *guess, const sb_array *weights, const char *setting, double *out) {
    const char *const settings[2] = {setting, NULL};
    const sb_metric_data data = {.size = sizeof data, .truth = truth, .prediction = guess, .weights = weights, .settings = settings, .setting_count = setting != NULL};
    sb_array *a = NULL;
    sb_status status = sb_metric(ctx, metric, &data, &a, &err);
    if (status == SB_OK) CHECK(sb_array_dtype(a) == SB_F64 && sb_array_size(a) <= MOST && sb_array_read(a, out, (size_t)sb_array_size(a) * 8, &err) == SB_OK, "%s", metric);
    else CHECK(!a && *err.message, "%s: an error without words, or with a result", metric);
    sb_array_free(a);
    return status;
}

static void test_rows(void) {
    CHECK(sb_metric_count() >= 24 && !sb_metric_name(-1) && !sb_metric_name(sb_metric_count()), "names");
    CHECK(sb_metric_takes("accuracy_score", "classes") && sb_metric_takes("roc_auc_score", "scores") && sb_metric_takes("silhouette_score", "points") && !sb_metric_takes("r2_score", "classes") &&
          !sb_metric_takes("accuracy", "classes") && !sb_metric_takes(NULL, "classes") && !sb_metric_takes("r2_score", NULL) && !sb_metric_takes("accuracy_score", "class"), "takes");
    for (int64_t i = 0; i < sb_metric_count(); i++) {
        sbi_metric_rows metric;
        sbi_value value;
        CHECK(sbi_metric_at(i, &metric) && strcmp(metric.name, sb_metric_name(i)) == 0, "row %lld", (long long)i);
        CHECK(!metric.settings[SBI_SETTINGS - 2].name, "%s has too many settings", metric.name);
        for (const sbi_parameter_row *s = metric.settings; s->name; s++)
            CHECK(sbi_value_read(&(sbi_algorithm){.name = metric.name}, s, s->value, &value, &err) == SB_OK, "default of %s.%s: %s", metric.name, s->name, err.message);
    }
}

static void near(double got, double wanted, const char *what) {
    CHECK(got == wanted || (got - wanted < 1e-15 && wanted - got < 1e-15) || (got != got && wanted != wanted), "%s: %.17g, not %.17g", what, got, wanted);
}

static void test_answers(void) {
    static const struct { const char *metric, *setting; bool weighted; double wanted; } classes[] = {
        {"accuracy_score", NULL, false, 0.625}, {"accuracy_score", "normalize=false", true, 6.5}, {"accuracy_score", NULL, true, 6.5 / 10.0},
        {"balanced_accuracy_score", NULL, false, (2.0 / 3.0 + 0.5 + 2.0 / 3.0) / 3.0}, {"precision_score", "average=micro", false, 0.625},
        {"recall_score", "average=macro", false, (2.0 / 3.0 + 0.5 + 2.0 / 3.0) / 3.0}, {"jaccard_score", "average=micro", false, 5.0 / 11.0}};
    static const int64_t truth[8] = {0, 0, 0, 1, 1, 2, 2, 2}, guess[8] = {0, 0, 1, 1, 2, 2, 2, 0};
    static const double weights[8] = {1, 0.5, 2, 3, 0.5, 2, 0, 1};
    static const int64_t yes[4] = {0, 0, 1, 1}, none[4] = {0, 0, 0, 0};
    static const double scores[4] = {0.1, 0.4, 0.35, 0.8}, tied[4] = {0.5, 0.5, 0.5, 0.5};
    static const double y[4] = {3, -0.5, 2, 7}, p[4] = {2.5, 0, 2, 8}, x[4] = {0, 1, 10, 11};
    EACH_CONTEXT(c) {
        if (c.threads != 1 && c.threads != 3) continue;
        double out[MOST];
        sb_array *t = whole(c.ctx, 8, truth), *g = whole(c.ctx, 8, guess), *w = reals(c.ctx, 8, weights), *b = whole(c.ctx, 4, yes), *o = whole(c.ctx, 4, none);
        sb_array *s = reals(c.ctx, 4, scores), *e = reals(c.ctx, 4, tied), *v = reals(c.ctx, 4, y), *q = reals(c.ctx, 4, p), *points = array_of(c.ctx, SB_F64, 2, SHAPE(4, 1), x);
        for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
            CHECK(score(c.ctx, classes[i].metric, t, g, classes[i].weighted ? w : NULL, classes[i].setting, out) == SB_OK, "%s", err.message);
            near(out[0], classes[i].wanted, classes[i].metric);
        }
        CHECK(score(c.ctx, "confusion_matrix", t, g, w, NULL, out) == SB_OK && out[0] == 1.5 && out[1] == 2.0 && out[4] == 3.0 && out[6] == 1.0 && out[8] == 2.0, "%s", err.message);
        CHECK(score(c.ctx, "precision_score", o, b, NULL, "average=none", out) == SB_OK && out[0] == 1.0 && out[1] == 0.0, "%s", err.message);
        CHECK(score(c.ctx, "recall_score", o, b, NULL, "zero_division=nan", out) == SB_OK && out[0] != out[0], "%s", err.message);
        CHECK(score(c.ctx, "roc_auc_score", b, s, NULL, NULL, out) == SB_OK && out[0] == 0.75, "%g", out[0]);
        CHECK(score(c.ctx, "roc_auc_score", b, e, NULL, NULL, out) == SB_OK && out[0] == 0.5, "ties: %g", out[0]);
        CHECK(score(c.ctx, "roc_auc_score", o, s, NULL, NULL, out) == SB_OK && out[0] != out[0], "one class: %g", out[0]);
        CHECK(score(c.ctx, "average_precision_score", b, s, NULL, NULL, out) == SB_OK, "%s", err.message);
        near(out[0], 0.5 + 0.5 * (2.0 / 3.0), "average precision");
        CHECK(score(c.ctx, "brier_score_loss", b, s, NULL, NULL, out) == SB_OK, "%s", err.message);
        near(out[0], (0.01 + 0.16 + 0.65 * 0.65 + 0.04) / 4.0, "brier");
        CHECK(score(c.ctx, "log_loss", b, e, NULL, NULL, out) == SB_OK, "%s", err.message);
        near(out[0], 0.69314718055994531, "log loss");
        CHECK(score(c.ctx, "mean_squared_error", v, q, NULL, NULL, out) == SB_OK && out[0] == 0.375, "%g", out[0]);
        CHECK(score(c.ctx, "mean_absolute_error", v, q, NULL, NULL, out) == SB_OK && out[0] == 0.5, "%g", out[0]);
        CHECK(score(c.ctx, "median_absolute_error", v, q, NULL, NULL, out) == SB_OK && out[0] == 0.5, "%g", out[0]);
        CHECK(score(c.ctx, "max_error", v, q, NULL, NULL, out) == SB_OK && out[0] == 1.0, "%g", out[0]);
        CHECK(score(c.ctx, "r2_score", e, q, NULL, NULL, out) == SB_OK && out[0] == 0.0, "a constant target: %g", out[0]);
        CHECK(score(c.ctx, "adjusted_rand_score", b, b, NULL, NULL, out) == SB_OK && out[0] == 1.0, "%g", out[0]);
        CHECK(score(c.ctx, "mutual_info_score", b, b, NULL, NULL, out) == SB_OK, "%s", err.message);
        near(out[0], 0.69314718055994531, "information");
        CHECK(score(c.ctx, "completeness_score", b, o, NULL, NULL, out) == SB_OK && out[0] == 1.0, "%g", out[0]);
        CHECK(score(c.ctx, "silhouette_samples", points, b, NULL, NULL, out) == SB_OK, "%s", err.message);
        near(out[0], (10.5 - 1.0) / 10.5, "silhouette");
        sb_array *const all[] = {t, g, w, b, o, s, e, v, q, points};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
    }
}

static void test_refused(sb_context *ctx) {
    const double bad[4] = {0.5, __builtin_nan(""), 0.25, 1.5}, none[4] = {0, 0, 0, 0}, negative[4] = {1, 1, -1, 1}, part[4] = {0, 1, 0.5, 1};
    sb_array *b = whole(ctx, 4, (const int64_t[]){0, 1, 2, 1}), *two = whole(ctx, 4, (const int64_t[]){0, 1, 0, 1}), *few = whole(ctx, 3, (const int64_t[]){0, 1, 2});
    sb_array *nan = reals(ctx, 4, bad), *zero = reals(ctx, 4, none), *minus = reals(ctx, 4, negative), *half = reals(ctx, 4, part), *empty = array_of(ctx, SB_I64, 1, SHAPE(0), NULL);
    sb_array *below = whole(ctx, 4, (const int64_t[]){0, -1, 0, 0}), *points = array_of(ctx, SB_F64, 2, SHAPE(4, 1), none), *square = array_of(ctx, SB_F64, 2, SHAPE(4, 4), NULL);
    const struct { const char *metric; const sb_array *truth, *guess, *weights; const char *setting; sb_status status; const char *argument; } tries[] = {
        {"accuracy", b, b, NULL, NULL, SB_ERR_ARGUMENT, "metric"}, {"accuracy_score", b, b, NULL, "normal=true", SB_ERR_ARGUMENT, "settings"},
        {"accuracy_score", b, b, NULL, "normalize", SB_ERR_ARGUMENT, "settings"}, {"accuracy_score", b, b, NULL, "normalize=2", SB_ERR_ARGUMENT, "normalize"},
        {"accuracy_score", NULL, b, NULL, NULL, SB_ERR_ARGUMENT, "truth"}, {"accuracy_score", b, NULL, NULL, NULL, SB_ERR_ARGUMENT, "prediction"},
        {"accuracy_score", b, few, NULL, NULL, SB_ERR_SHAPE, "prediction"}, {"accuracy_score", empty, empty, NULL, NULL, SB_ERR_EMPTY, "truth"},
        {"accuracy_score", b, below, NULL, NULL, SB_ERR_ARGUMENT, "prediction"}, {"accuracy_score", half, b, NULL, NULL, SB_ERR_ARGUMENT, "truth"},
        {"accuracy_score", b, b, zero, NULL, SB_ERR_ARGUMENT, "weights"}, {"accuracy_score", b, b, minus, NULL, SB_ERR_ARGUMENT, "weights"},
        {"accuracy_score", b, b, nan, NULL, SB_ERR_NONFINITE, "weights"}, {"rand_score", b, b, minus, NULL, SB_ERR_UNSUPPORTED, "weights"},
        {"f1_score", b, b, NULL, NULL, SB_ERR_ARGUMENT, "average"}, {"f1_score", two, two, NULL, "pos_label=7", SB_ERR_ARGUMENT, "pos_label"},
        {"f1_score", b, b, NULL, "labels=9", SB_ERR_ARGUMENT, "labels"}, {"roc_auc_score", b, half, NULL, NULL, SB_ERR_SHAPE, "prediction"},
        {"roc_auc_score", b, square, NULL, "multi_class=ovr", SB_ERR_ARGUMENT, "prediction"}, {"roc_auc_score", b, square, NULL, NULL, SB_ERR_ARGUMENT, "multi_class"},
        {"log_loss", two, nan, NULL, NULL, SB_ERR_NONFINITE, "prediction"}, {"log_loss", two, minus, NULL, NULL, SB_ERR_ARGUMENT, "prediction"},
        {"r2_score", half, square, NULL, NULL, SB_ERR_SHAPE, "prediction"}, {"max_error", square, square, NULL, NULL, SB_ERR_SHAPE, "prediction"},
        {"mean_squared_error", half, half, NULL, "multioutput=1.0,2.0", SB_ERR_SHAPE, "multioutput"}, {"silhouette_score", half, b, NULL, NULL, SB_ERR_SHAPE, "truth"},
        {"silhouette_score", points, below, NULL, NULL, SB_ERR_ARGUMENT, "prediction"}, {"silhouette_score", points, zero, NULL, NULL, SB_ERR_ARGUMENT, "prediction"}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        double out[MOST];
        err = (sb_error){0};
        sb_status status = score(ctx, tries[i].metric, tries[i].truth, tries[i].guess, tries[i].weights, tries[i].setting, out);
        CHECK(status == tries[i].status && strcmp(err.argument, tries[i].argument) == 0, "%zu, %s: %s (%s) %s", i, tries[i].metric, sb_status_name(status), err.argument, err.message);
    }
    sb_array *out = NULL;
    const sb_metric_data data = {.size = sizeof data, .truth = b, .prediction = b}, holes = {.size = sizeof holes, .truth = b, .prediction = b, .setting_count = 1};
    CHECK(sb_metric(NULL, "accuracy_score", &data, &out, &err) == SB_ERR_ARGUMENT && sb_metric(ctx, NULL, &data, &out, &err) == SB_ERR_ARGUMENT &&
          sb_metric(ctx, "accuracy_score", NULL, &out, &err) == SB_ERR_ARGUMENT && sb_metric(ctx, "accuracy_score", &data, NULL, &err) == SB_ERR_ARGUMENT &&
          sb_metric(ctx, "accuracy_score", &holes, &out, &err) == SB_ERR_ARGUMENT && !out, "NULL");
    sb_array *const all[] = {b, two, few, nan, zero, minus, half, empty, below, points, square};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
}

// ---- memory: every request refused in turn is a named error, and nothing is left over

static void test_memory(void) {
    static const char *const names[] = {"f1_score", "cohen_kappa_score", "roc_auc_score", "log_loss", "median_absolute_error", "adjusted_mutual_info_score", "silhouette_score"};
    static const int64_t truth[6] = {0, 1, 0, 1, 1, 0}, guess[6] = {0, 1, 1, 1, 0, 0};
    static const double value[6] = {0.1, 0.7, 0.4, 0.9, 0.3, 0.2};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        purse p = {-1, 0};
        sb_context *ctx = NULL;
        const sb_context_options options = {.size = sizeof options, .threads = 1, .allocate = granted, .release = given_back, .user = &p, .trace = ""};
        CHECK(sb_context_new(&options, &ctx, &err) == SB_OK, "%s", err.message);
        sb_array *t = whole(ctx, 6, truth), *g = whole(ctx, 6, guess), *v = reals(ctx, 6, value), *x = array_of(ctx, SB_F64, 2, SHAPE(6, 1), value);
        const bool scores = i == 2 || i == 3, values = i == 4, points = i == 6;
        double out[MOST];
        CHECK(score(ctx, names[i], points ? x : values ? v : t, scores || values ? v : g, NULL, NULL, out) == SB_OK, "%s", err.message);
        const long before = p.live;
        long refused = 0;
        for (bool done = false; !done && refused < 2000; refused += !done) {
            p.left = refused;
            err = (sb_error){0};
            sb_status status = score(ctx, names[i], points ? x : values ? v : t, scores || values ? v : g, NULL, NULL, out);
            done = status == SB_OK;
            CHECK(done || status == SB_ERR_MEMORY, "%s after %ld: %s %s", names[i], refused, sb_status_name(status), err.message);
            CHECK(p.live == before, "%s after %ld: %ld blocks are left", names[i], refused, p.live - before);
        }
        CHECK(refused > 5 && refused < 2000, "%s: %ld refusals", names[i], refused);
        p.left = -1;
        sb_array *const all[] = {t, g, v, x};
        for (size_t k = 0; k < 4; k++) sb_array_free(all[k]);
        sb_context_free(ctx);
        CHECK(p.live == 0, "%ld blocks are left", p.live);
    }
}

int main(void) {
    sb_context *ctx = NULL;
    CHECK(sb_context_new(NULL, &ctx, &err) == SB_OK, "%s", err.message);
    if (!ctx) return 1;
    test_rows();
    test_answers();
    test_refused(ctx);
    test_memory();
    sb_context_free(ctx);
    return test_end();
}
