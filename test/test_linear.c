// SPDX-License-Identifier: Apache-2.0
// Linear models on small cases with known answers, each at every level.
#include "models.h"

// One feature, sums that are small integers: b = S(x y) / (S(x x) + alpha).
static void test_ridge(void) {
    static const double rows[4] = {1, 2, 3, 5}, wide[6] = {3, 0, 4, 0, 2, 0}, many[8] = {1, -1, 2, -2, 3, -3, 5, -5}, penalties[2] = {39, -1};
    EACH_CONTEXT(c) {
        if (c.threads != 1 && c.threads != 3) continue;
        sb_array *x = array_of(c.ctx, SB_F64, 2, SHAPE(4, 1), rows), *y = array_of(c.ctx, SB_F64, 1, SHAPE(4), rows), *two = array_of(c.ctx, SB_F64, 2, SHAPE(4, 2), many);
        sb_array *flat = array_of(c.ctx, SB_F64, 2, SHAPE(2, 3), wide), *goal = array_of(c.ctx, SB_F64, 1, SHAPE(2), rows), *alpha = array_of(c.ctx, SB_F64, 1, SHAPE(2), penalties);
        sb_model *model = made(c.ctx, "ridge");
        set(model, "fit_intercept", "false");
        set(model, "alpha", "39");
        CHECK(FITS(model, "fit", .x = x, .y = y) && at(model, "coef", 0) - 0.5 < 1e-15 && 0.5 - at(model, "coef", 0) < 1e-15 && at(model, "intercept", 0) == 0.0, "coef %.17g", at(model, "coef", 0));
        sb_model_free(model);
        // Two rows at right angles: b = D^T v, v_i = y_i / (|row i|^2 + alpha).
        model = made(c.ctx, "ridge");
        set(model, "fit_intercept", "false");
        set(model, "alpha", "4");
        CHECK(FITS(model, "fit", .x = flat, .y = goal), "%s", err.message);
        const double expected[3] = {3.0 / 29.0, 2.0 * 2.0 / 8.0, 4.0 / 29.0};
        for (int j = 0; j < 3; j++) CHECK(at(model, "coef", j) - expected[j] < 1e-15 && expected[j] - at(model, "coef", j) < 1e-15, "wide %d %.17g", j, at(model, "coef", j));
        sb_model_free(model);
        // Not negative: the second target is best at 0.
        for (int which = 0; which < 2; which++) {
            model = made(c.ctx, which ? "linear_regression" : "ridge");
            set(model, "fit_intercept", "false");
            set(model, "positive", "true");
            if (!which) set(model, "alpha", "0");
            CHECK(FITS(model, "fit", .x = x, .y = two) && at(model, "coef", 0) - 1.0 < 1e-12 && 1.0 - at(model, "coef", 0) < 1e-12 && at(model, "coef", 1) == 0.0, "positive %.17g %.17g",
                  at(model, "coef", 0), at(model, "coef", 1));
            CHECK(!sb_model_array(model, "rank"), "a rank");
            sb_model_free(model);
        }
        model = made(c.ctx, "ridge");
        CHECK(sb_model_set_array(c.ctx, model, "alpha", alpha, &err) == SB_OK && !FITS(model, "fit", .x = x, .y = two) && err.status == SB_ERR_ARGUMENT && strcmp(err.argument, "alpha") == 0, "%s", err.message);
        CHECK(!FITS(model, "fit", .x = x, .y = y) && err.status == SB_ERR_SHAPE, "%s", err.message);
        sb_model_free(model);
        sb_array *const all[] = {x, y, two, flat, goal, alpha};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
    }
}

// b = (S(x y) - L) / S(x x), L = alpha n, of one feature; two rows at right angles, where one of two equal ways wins.
static void test_lasso(void) {
    static const double rows[4] = {1, 2, 3, 5}, wide[6] = {3, 0, 4, 0, 2, 0}, line[10] = {0, 1, 1, 3, 2, 0, 3, 5, 4, 1}, y_line[5] = {3, 11, 4, 22, 11};
    static const char *const names[] = {"lasso", "elastic_net"}, *const ways[] = {"cyclic", "random"};
    EACH_CONTEXT(c) {
        if (c.threads != 1 && c.threads != 3) continue;
        sb_array *x = array_of(c.ctx, SB_F64, 2, SHAPE(4, 1), rows), *y = array_of(c.ctx, SB_F64, 1, SHAPE(4), rows), *flat = array_of(c.ctx, SB_F64, 2, SHAPE(2, 3), wide);
        sb_array *goal = array_of(c.ctx, SB_F64, 1, SHAPE(2), rows), *plane = array_of(c.ctx, SB_F64, 2, SHAPE(5, 2), line), *height = array_of(c.ctx, SB_F64, 1, SHAPE(5), y_line);
        for (int i = 0; i < 4; i++) {
            sb_model *model = made(c.ctx, names[i % 2]), *other = made(c.ctx, names[i % 2]), *short_one = made(c.ctx, names[i % 2]), *negative = made(c.ctx, names[i % 2]);
            set(model, "fit_intercept", "false");
            set(other, "fit_intercept", "false");
            set(model, "alpha", "4.875");
            set(other, "tol", "1e-12");
            if (i % 2) set(model, "l1_ratio", "1");
            if (i % 2) set(other, "l1_ratio", "1");
            set(model, "selection", ways[i / 2]);
            set(other, "selection", ways[i / 2]);
            CHECK(FITS(model, "fit", .x = x, .y = y) && at(model, "coef", 0) == 0.5 && at(model, "n_iter", 0) >= 1.0 && !*sb_model_warnings(model), "coef %.17g %s", at(model, "coef", 0), err.message);
            CHECK(FITS(other, "fit", .x = flat, .y = goal) && at(other, "coef", 0) == 0.0 && at(other, "coef", 1) == 0.5 && at(other, "coef", 2) - 0.125 < 1e-9 && 0.125 - at(other, "coef", 2) < 1e-9,
                  "wide %.17g %.17g %.17g", at(other, "coef", 0), at(other, "coef", 1), at(other, "coef", 2));
            set(short_one, "max_iter", "1");
            set(short_one, "tol", "1e-12");
            set(short_one, "alpha", "0.001");
            CHECK(FITS(short_one, "fit", .x = plane, .y = height) && strncmp(sb_model_warnings(short_one), "ConvergenceWarning: ", 20) == 0 && at(short_one, "n_iter", 0) == 1.0 && at(short_one, "dual_gap", 0) > 0.0,
                  "%s", sb_model_warnings(short_one));
            set(negative, "positive", "true");
            set(negative, "alpha", "0");
            set(negative, "tol", "1e-12");
            CHECK(FITS(negative, "fit", .x = plane, .y = height) && strncmp(sb_model_warnings(negative), "UserWarning: With alpha=0", 25) == 0 && at(negative, "coef", 0) >= 0.0, "%s", sb_model_warnings(negative));
            sb_model *const models[] = {model, other, short_one, negative};
            for (size_t m = 0; m < 4; m++) sb_model_free(models[m]);
        }
        sb_array *const all[] = {x, y, flat, goal, plane, height};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
    }
}

// Two classes whose best scores are known: of x = -1, 1 with 3 of 4 rows right the likelihood is best at z = +-log 3. Rows by weights.
static void test_logistic(void) {
    static const double rows[4] = {-1, -1, 1, 1}, weights[4] = {3, 1, 1, 3}, apart[4] = {-2, -1, 1, 2}, three[6] = {-1, -1, 0, 0, 1, 1}, log3 = 0x1.193ea7aad030bp+0;
    static const int64_t classes[4] = {0, 1, 0, 1}, halves[4] = {0, 0, 1, 1}, thirds[6] = {0, 0, 1, 1, 2, 2}, one[4] = {0, 0, 0, 0};
    EACH_CONTEXT(c) {
        if (c.threads != 1 && c.threads != 3) continue;
        sb_array *x = array_of(c.ctx, SB_F64, 2, SHAPE(4, 1), rows), *y = array_of(c.ctx, SB_I64, 1, SHAPE(4), classes), *w = array_of(c.ctx, SB_F64, 1, SHAPE(4), weights);
        sb_array *away = array_of(c.ctx, SB_F64, 2, SHAPE(4, 1), apart), *side = array_of(c.ctx, SB_I64, 1, SHAPE(4), halves), *line = array_of(c.ctx, SB_F64, 2, SHAPE(6, 1), three);
        sb_array *third = array_of(c.ctx, SB_I64, 1, SHAPE(6), thirds), *alone = array_of(c.ctx, SB_I64, 1, SHAPE(4), one);
        sb_model *model = made(c.ctx, "logistic_regression");
        set(model, "C", "inf");
        set(model, "tol", "1e-9");
        CHECK(FITS(model, "fit", .x = x, .y = y, .weights = w) && !*sb_model_warnings(model), "%s %s", err.message, sb_model_warnings(model));
        CHECK(at(model, "coef", 0) - log3 < 1e-6 && log3 - at(model, "coef", 0) < 1e-6 && at(model, "intercept", 0) < 1e-9 && at(model, "intercept", 0) > -1e-9 && at(model, "n_iter", 0) >= 1.0,
              "coef %.17g", at(model, "coef", 0));
        sb_array *chance = called(c.ctx, model, "predict_proba", x), *label = called(c.ctx, model, "predict", x), *score = called(c.ctx, model, "decision_function", x);
        double p[8], z[4];
        CHECK(sb_array_read(chance, p, sizeof p, &err) == SB_OK && p[0] > 0.7499 && p[0] < 0.7501 && p[0] + p[1] - 1.0 < 1e-15 && p[7] > 0.7499, "chance %g", p[0]);
        CHECK(array_is(label, halves) && sb_array_ndim(score) == 1 && sb_array_read(score, z, sizeof z, &err) == SB_OK && z[0] == -z[2], "scores");
        sb_array_free(chance), sb_array_free(label), sb_array_free(score);
        sb_model_free(model);
        // A penalty on absolute values that is greater than the slope at 0 leaves 0.
        model = made(c.ctx, "logistic_regression");
        set(model, "l1_ratio", "1");
        set(model, "C", "0.25");
        CHECK(FITS(model, "fit", .x = x, .y = y, .weights = w) && at(model, "coef", 0) == 0.0, "coef %g", at(model, "coef", 0));
        sb_model_free(model);
        // Separable classes: a named report without a penalty, none with one.
        for (int free_of = 0; free_of < 2; free_of++) {
            model = made(c.ctx, "logistic_regression");
            if (free_of) set(model, "C", "inf");
            CHECK(FITS(model, "fit", .x = away, .y = side) && (strstr(sb_model_warnings(model), "ConvergenceWarning: The classes can be separated") != NULL) == (free_of == 1), "%s", sb_model_warnings(model));
            sb_model_free(model);
        }
        // Three classes in a row, the middle one the mean of the others: its coefficient is 0, theirs are opposite.
        model = made(c.ctx, "logistic_regression");
        set(model, "tol", "1e-9");
        CHECK(FITS(model, "fit", .x = line, .y = third) && at(model, "coef", 0) + at(model, "coef", 2) < 1e-6 && at(model, "coef", 1) < 1e-6 && at(model, "coef", 1) > -1e-6 && at(model, "coef", 2) > 0.1,
              "three %g %g %g", at(model, "coef", 0), at(model, "coef", 1), at(model, "coef", 2));
        CHECK(!FITS(model, "fit", .x = away, .y = alone) && err.status == SB_ERR_ARGUMENT && strstr(err.message, "only one class"), "%s", err.message);
        sb_model_free(model);
        sb_array *const all[] = {x, y, w, away, side, line, third, alone};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
    }
}

int main(void) {
    test_ridge();
    test_lasso();
    test_logistic();
    return test_end();
}
