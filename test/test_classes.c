// SPDX-License-Identifier: Apache-2.0
// Classifiers: tables with words in them, names of classes in models and files, what is refused; Gaussian naive Bayes on cases
// with known answers.
#include "folder.h"
#include "models.h"

#include <stdio.h>

static sb_table *read_words(sb_context *ctx, const char *path, const char *column) {
    sb_table *table = NULL;
    CHECK(sb_table_read_words(ctx, path, 0, column, &table, &err) == SB_OK, "%s", err.message);
    if (!table) exit(test_end());
    return table;
}

static bool refused(sb_context *ctx, const char *text, const char *column, sb_status status) {
    sb_table *table = NULL;
    const char *csv = inside("refused.csv");
    put(csv, text, strlen(text));
    const bool right = sb_table_read_words(ctx, csv, 0, column, &table, &err) == status && !table;
    sb_table_free(table);
    return right;
}

static void test_words(sb_context *ctx) {
    static const char text[] = "size,kind,colour\n1,cat,red\n2,\"dog, big\",\n3,cat,7\n4,\xc3\xa9t\xc3\xa9,7.0\n";
    const char *csv = inside("words.csv"), *names = NULL;
    put(csv, text, sizeof text - 1);
    sb_table *table = read_words(ctx, csv, NULL);
    double cells[12];
    CHECK(sb_array_read(sb_table_array(table), cells, sizeof cells, &err) == SB_OK, "%s", err.message);
    const double expected[12] = {1, 0, 2, 2, 1, 0, 3, 0, 0, 4, 2, 1};
    for (int i = 0; i < 12; i++) CHECK(i == 5 ? cells[i] != cells[i] : cells[i] == expected[i], "cell %d is %g", i, cells[i]);
    CHECK(!sb_table_word(table, 0, 0) && strcmp(sb_table_word(table, 1, 1), "dog, big") == 0 && !sb_table_word(table, 1, 3) && !sb_table_word(table, 1, -1) &&
          strcmp(sb_table_word(table, 2, 0), "7") == 0 && strcmp(sb_table_word(table, 2, 2), "red") == 0 && !sb_table_word(NULL, 0, 0), "words");
    sb_array *rest = NULL, *picked = NULL, *y = NULL;
    CHECK(sb_table_split(ctx, table, "kind", &rest, &picked, &err) == SB_ERR_FORMAT && strstr(err.message, "column 2"), "%s", err.message);
    CHECK(sb_table_labels(ctx, table, "kind", NULL, &y, &names, &err) == SB_OK && array_is(y, (int64_t[]){0, 1, 0, 2}), "%s", err.message);
    CHECK(strcmp(names, "[\"cat\", \"dog, big\", \"\xc3\xa9t\xc3\xa9\"]") == 0, "%s", names);
    sb_array_free(y);
    CHECK(sb_table_labels(ctx, table, "kind", "[\"ant\", \"cat\"]", &y, NULL, &err) == SB_OK && array_is(y, (int64_t[]){1, 2, 1, 2}), "%s", err.message);
    sb_array_free(y);
    CHECK(sb_table_labels(ctx, table, "size", NULL, &y, &names, &err) == SB_OK && strcmp(names, "[1, 2, 3, 4]") == 0, "%s", err.message);
    sb_array_free(y);
    CHECK(sb_table_labels(ctx, table, "size", "[\"1\", \"2\"]", &y, NULL, &err) == SB_OK && array_is(y, (int64_t[]){2, 2, 2, 2}), "a number is no word");
    sb_array_free(y);
    CHECK(sb_table_labels(ctx, table, "colour", NULL, &y, NULL, &err) == SB_ERR_NONFINITE && !y && sb_table_labels(ctx, table, NULL, NULL, &y, NULL, &err) == SB_ERR_ARGUMENT &&
          sb_table_labels(ctx, table, "3", NULL, &y, NULL, &err) == SB_ERR_ARGUMENT && sb_table_labels(ctx, NULL, "0", NULL, &y, NULL, &err) == SB_ERR_ARGUMENT &&
          sb_table_labels(ctx, table, "kind", "[1", &y, NULL, &err) == SB_ERR_ARGUMENT && !y, "labels refused");
    sb_table_free(table);
    // One column may hold words, the others not; numbers alone stay numbers; what is no word is refused.
    CHECK(refused(ctx, text, "colour", SB_ERR_FORMAT) && strstr(err.message, "line 2, column 2"), "%s", err.message);
    CHECK(refused(ctx, text, "shape", SB_ERR_ARGUMENT) && refused(ctx, "a,b\n1,x\xff\n", "b", SB_ERR_FORMAT) && refused(ctx, "a,b\n1\n", NULL, SB_ERR_FORMAT), "%s", err.message);
    CHECK(sb_table_read_words(ctx, NULL, 0, NULL, &table, &err) == SB_ERR_ARGUMENT && sb_table_read_words(ctx, csv, SB_I32, NULL, &table, &err) == SB_ERR_DTYPE, "refused");
    put(csv, "a,y\n1,2\n3,0.5\n5,-1\n", 19);
    table = read_words(ctx, csv, "y");
    CHECK(!sb_table_word(table, 1, 0) && sb_table_labels(ctx, table, "y", NULL, &y, NULL, &err) == SB_ERR_ARGUMENT && strstr(err.message, "row 1 is no whole number"), "%s", err.message);
    CHECK(sb_table_split(ctx, table, "a", &rest, &picked, &err) == SB_OK && array_is(rest, (double[]){2, 0.5, -1}), "%s", err.message);
    sb_array_free(rest);
    sb_array_free(picked);
    sb_table_free(table);
    put(csv, "y\nb\na\n", 6);
    table = read_words(ctx, csv, NULL);
    CHECK(sb_table_labels(ctx, table, NULL, NULL, &y, NULL, &err) == SB_OK && array_is(y, (int64_t[]){1, 0}), "%s", err.message);
    sb_array_free(y);
    sb_table_free(table);
}

static bool saved(sb_context *ctx, const sb_array *numbers, const char *classes, const char *expected) {
    char got[100] = "";
    const char *path = inside("saved.csv");
    if (sb_labels_save(ctx, numbers, classes, path, &err) != SB_OK) return false;
    FILE *file = fopen(path, "rb");
    const size_t length = file ? fread(got, 1, sizeof got - 1, file) : 0;
    if (file) fclose(file);
    got[length] = 0;
    return strcmp(got, expected) == 0;
}

static void test_save(sb_context *ctx) {
    sb_array *numbers = array_of(ctx, SB_I64, 1, SHAPE(3), (int64_t[]){2, 0, 1});
    CHECK(saved(ctx, numbers, "[\"\", \"a \\\"b\\\"\", \"c,d\"]", "class\n\"c,d\"\n\"\"\n\"a \"\"b\"\"\"\n"), "%s", err.message);
    CHECK(saved(ctx, numbers, "[-5, 7, 12]", "12\n-5\n7\n"), "%s", err.message);
    CHECK(sb_labels_save(ctx, numbers, "[\"a\", \"b\", \"c\"]", inside("saved.npy"), &err) == SB_ERR_UNSUPPORTED, "%s", err.message);
    CHECK(sb_labels_save(ctx, numbers, "[1, 2, 3]", inside("saved.npy"), &err) == SB_OK && sb_labels_save(ctx, numbers, "[false, true]", inside("saved.csv"), &err) == SB_ERR_ARGUMENT &&
          sb_labels_save(ctx, NULL, "[1]", "x", &err) == SB_ERR_ARGUMENT && sb_labels_save(ctx, numbers, NULL, "x", &err) == SB_ERR_ARGUMENT &&
          sb_labels_save(ctx, numbers, "[1, 2, 3]", "/nowhere/x", &err) == SB_ERR_IO, "%s", err.message);
    sb_array_free(numbers);
    numbers = array_of(ctx, SB_I64, 1, SHAPE(2), (int64_t[]){1, 0});
    CHECK(saved(ctx, numbers, "[false, true]", "class\ntrue\nfalse\n"), "%s", err.message);
    sb_array_free(numbers);
}

// ---- names in models

static const double four[8] = {1, 2, 2, 1, 8, 9, 9, 7};

static void test_names(sb_context *ctx) {
    static const struct { const char *given, *kept; } good[] = {
        {NULL, "[0, 1]"}, {"[\"a\",\"b\"]", "[\"a\", \"b\"]"}, {" [ -3,1e1 ] ", "[-3, 10]"}, {"[false, true]", "[false, true]"}, {"[\"\\u00e9\", \"\xc3\xaa\", \"z\xcc\x88\"]", NULL},
        {"[\"1\", \"10\", \"9\"]", "[\"1\", \"10\", \"9\"]"}};
    static const char *const bad[] = {"", "[]", "{}", "3", "[1]", "[\"b\", \"a\"]", "[\"a\", \"a\"]", "[2, 1]", "[0.5, 1]", "[true, false]", "[\"a\", 1]", "[0, true]", "[null, 1]", "[[1], [2]]", "[\"a\\u0000\", \"b\"]"};
    const context_walk c = {.ctx = ctx};
    sb_array *x = array_of(ctx, SB_F64, 2, SHAPE(4, 2), four), *y = array_of(ctx, SB_I64, 1, SHAPE(4), (int64_t[]){0, 0, 1, 1}), *out = NULL;
    sb_array *late = array_of(ctx, SB_I64, 1, SHAPE(4), (int64_t[]){0, 2, 1, 1}), *below = array_of(ctx, SB_I64, 1, SHAPE(4), (int64_t[]){0, -1, 1, 1});
    CHECK(sb_algorithm_takes("gaussian_nb", "classes") && !sb_algorithm_takes("kmeans", "classes") && !sb_algorithm_takes("gaussian", "classes") &&
          !sb_algorithm_takes(NULL, "x") && !sb_algorithm_takes("kmeans", NULL) && !sb_algorithm_takes("gaussian_nb", "class"), "takes");
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        sb_model *model = made(ctx, "gaussian_nb");
        const bool fits = FITS(model, "fit", .x = x, .y = y, .classes = good[i].given);
        if (good[i].kept) CHECK(fits && strcmp(sb_model_note(model, "classes"), good[i].kept) == 0, "%s: %s", good[i].given, err.message);
        else CHECK(!fits && err.status == SB_ERR_ARGUMENT, "bytes do not ascend"); // z < e with an accent
        sb_model_free(model);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sb_model *model = made(ctx, "gaussian_nb");
        CHECK(!FITS(model, "fit", .x = x, .y = y, .classes = bad[i]) && err.status == SB_ERR_ARGUMENT && !sb_model_fitted(model), "%s: %s", bad[i], err.message);
        sb_model_free(model);
    }
    sb_model *model = made(ctx, "gaussian_nb");
    CHECK(!FITS(model, "fit", .x = x, .y = below) && err.status == SB_ERR_ARGUMENT && !FITS(model, "fit", .x = x, .y = late, .classes = "[0, 1]") &&
          strstr(err.message, "class 2"), "%s", err.message);
    CHECK(FITS(model, "partial_fit", .x = x, .y = y, .classes = "[\"a\", \"b\", \"c\"]") && FITS(model, "partial_fit", .x = x, .y = late) && at(model, "class_count", 2) == 1.0, "%s", err.message);
    CHECK(!FITS(model, "partial_fit", .x = x, .y = y, .classes = "[\"a\", \"b\", \"d\"]") && sb_model_fitted(model) && FITS(model, "partial_fit", .x = x, .y = y, .classes = "[\"a\",\"b\",\"c\"]"), "%s", err.message);
    sb_array *strange = array_of(ctx, SB_I64, 1, SHAPE(4), (int64_t[]){0, 7, 1, 1});
    const sb_data data = {.size = sizeof data, .x = x, .y = strange};
    double score = 0.0;
    CHECK(sb_model_call(ctx, model, "score", &data, &out, &err) == SB_OK && sb_array_read(out, &score, sizeof score, &err) == SB_OK && score == 0.75, "%g %s", score, err.message);
    // In a file.
    static const char *const faults[][2] = {{"\\\"b\\\\\\\", ", "\\\"b\\\\\\\" ,"}, {"\\\\\\\"c", "\\\\\\\"a"}, {"\\\"c\\\": 3", "\\\"c\\\": 2"}, {"\\\"classes\\\"", "\\\"classez\\\""}};
    int64_t size = 0;
    sb_model *again = NULL;
    CHECK(sb_model_store(model, NULL, 0, &size, &err) == SB_OK, "%s", err.message);
    char *bytes = malloc((size_t)size + 1);
    CHECK(sb_model_store(model, bytes, size, &size, &err) == SB_OK && sb_model_restore(ctx, bytes, size, &again, &err) == SB_OK &&
          strcmp(sb_model_note(again, "classes"), "[\"a\", \"b\", \"c\"]") == 0, "%s", err.message);
    sb_model_free(again);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char *place = memmem(bytes, (size_t)size, faults[i][0], strlen(faults[i][0]));
        CHECK(place != NULL, "fault %zu", i);
        if (!place) continue;
        memcpy(place, faults[i][1], strlen(faults[i][1]));
        again = NULL;
        CHECK(sb_model_restore(ctx, bytes, size, &again, &err) == SB_ERR_FORMAT && !again, "fault %zu: %s", i, err.message);
        memcpy(place, faults[i][0], strlen(faults[i][0]));
    }
    free(bytes);
    sb_array *const all[] = {x, y, late, below, strange, out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
    sb_model_free(model);
}

// ---- Gaussian naive Bayes

static void test_gaussian(void) {
    // Class 0: 1, 3 and 5, 5 (a constant); class 1: 6, 8, 10 and 0, 2, 4.
    static const double points[10] = {1, 5, 6, 0, 8, 2, 3, 5, 10, 4};
    static const int64_t numbers[5] = {0, 1, 1, 0, 1}, one[5] = {0, 0, 0, 0, 0};
    const double theta[4] = {2, 5, 8, 2}, var[4] = {1, 0, 8.0 / 3, 8.0 / 3};
    EACH_CONTEXT(c) {
        if (c.threads != 1 && c.threads != 3) continue;
        sb_array *x = array_of(c.ctx, SB_F64, 2, SHAPE(5, 2), points), *y = array_of(c.ctx, SB_I64, 1, SHAPE(5), numbers), *same = array_of(c.ctx, SB_I64, 1, SHAPE(5), one);
        sb_model *model = made(c.ctx, "gaussian_nb"), *parts = made(c.ctx, "gaussian_nb"), *other = made(c.ctx, "gaussian_nb");
        set(model, "var_smoothing", "0.5");
        CHECK(FITS(model, "fit", .x = x, .y = y), "%s", err.message);
        const double epsilon = at(model, "epsilon", 0); // half the variance of 1 6 8 3 10
        CHECK(epsilon == 0.5 * 10.64, "epsilon %.17g", epsilon);
        for (int i = 0; i < 4; i++) CHECK(at(model, "theta", i) == theta[i] && at(model, "var", i) == var[i] + epsilon, "%d: %g %g", i, at(model, "theta", i), at(model, "var", i));
        CHECK(at(model, "class_count", 0) == 2.0 && at(model, "class_prior", 1) == 0.6, "prior");
        sb_array *found = called(c.ctx, model, "predict", x);
        CHECK(array_is(found, numbers), "predict");
        sb_array_free(found);
        // Row by row.
        for (int i = 0; i < 5; i++) {
            sb_array *row = array_of(c.ctx, SB_F64, 2, SHAPE(1, 2), points + 2 * i), *label = array_of(c.ctx, SB_I64, 1, SHAPE(1), numbers + i);
            CHECK(FITS(parts, "partial_fit", .x = row, .y = label, .classes = i == 0 ? "[0, 1]" : NULL), "%s", err.message);
            sb_array_free(row);
            sb_array_free(label);
        }
        for (int i = 0; i < 4; i++) CHECK(at(parts, "theta", i) - theta[i] < 1e-14 && theta[i] - at(parts, "theta", i) < 1e-14, "theta %d", i);
        CHECK(at(parts, "theta", 1) == 5.0 && at(parts, "var", 1) == at(parts, "epsilon", 0), "a constant");
        // A weight of 0 is no row, of 2 two; one class alone is predicted.
        const double weights[5] = {1, 0, 1, 1, 2};
        static const double repeated[10] = {1, 5, 8, 2, 3, 5, 10, 4, 10, 4};
        sb_array *w = array_of(c.ctx, SB_F64, 1, SHAPE(5), weights), *again = array_of(c.ctx, SB_F64, 2, SHAPE(5, 2), repeated), *labels = array_of(c.ctx, SB_I64, 1, SHAPE(5), (int64_t[]){0, 1, 0, 1, 1});
        sb_model *weighted = made(c.ctx, "gaussian_nb");
        CHECK(FITS(weighted, "fit", .x = x, .y = y, .weights = w) && FITS(other, "fit", .x = again, .y = labels), "%s", err.message);
        for (int i = 0; i < 4; i++)
            CHECK(at(weighted, "theta", i) == at(other, "theta", i) && at(weighted, "var", i) - at(other, "var", i) < 1e-14 && at(other, "var", i) - at(weighted, "var", i) < 1e-14, "weights %d", i);
        CHECK(FITS(weighted, "fit", .x = x, .y = same) && at(weighted, "class_prior", 0) == 1.0, "%s", err.message);
        found = called(c.ctx, weighted, "predict_proba", x);
        CHECK(array_is(found, (double[]){1, 1, 1, 1, 1}), "one class");
        sb_array_free(found);
        sb_array *const all[] = {x, y, same, w, again, labels};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
        sb_model *const models[] = {model, parts, other, weighted};
        for (size_t i = 0; i < sizeof models / sizeof *models; i++) sb_model_free(models[i]);
    }
}

static void test_priors(sb_context *ctx) {
    static const struct { double priors[3]; int count; sb_status status; const char *words; } tries[] = {
        {{0.25, 0.75}, 2, SB_OK, ""}, {{0.5, 0.25, 0.25}, 3, SB_ERR_SHAPE, "priors"}, {{0.5, 0.6}, 2, SB_ERR_ARGUMENT, "The sum of the priors should be 1."},
        {{-0.5, 1.5}, 2, SB_ERR_ARGUMENT, "Priors must be non-negative."}};
    const context_walk c = {.ctx = ctx};
    sb_array *x = array_of(ctx, SB_F64, 2, SHAPE(4, 2), four), *y = array_of(ctx, SB_I64, 1, SHAPE(4), (int64_t[]){0, 0, 1, 1});
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        sb_array *priors = array_of(ctx, SB_F64, 1, SHAPE(tries[i].count), tries[i].priors);
        sb_model *model = made(ctx, "gaussian_nb");
        CHECK(sb_model_set_array(ctx, model, "priors", priors, &err) == SB_OK, "%s", err.message);
        const bool fits = FITS(model, "fit", .x = x, .y = y);
        CHECK(tries[i].status == SB_OK ? fits && at(model, "class_prior", 0) == 0.25 : !fits && err.status == tries[i].status && strstr(err.message, tries[i].words), "%s", err.message);
        sb_model_free(model);
        sb_array_free(priors);
    }
    sb_array *nothing = array_of(ctx, SB_F64, 1, SHAPE(4), (double[]){0, 0, 0, 0});
    sb_model *model = made(ctx, "gaussian_nb");
    CHECK(!FITS(model, "fit", .x = x, .y = y, .weights = nothing) && err.status == SB_ERR_ARGUMENT, "%s", err.message);
    CHECK(!FITS(model, "fit", .x = x) && !FITS(model, "fit", .x = x, .y = x) && err.status == SB_ERR_DTYPE, "%s", err.message);
    sb_model_free(model);
    sb_array_free(nothing);
    sb_array_free(x);
    sb_array_free(y);
}

int main(void) {
    sb_context *ctx = NULL;
    CHECK(sb_context_new(NULL, &ctx, &err) == SB_OK, "%s", err.message);
    if (!ctx || !open_folder(NULL)) return 1;
    test_words(ctx);
    test_save(ctx);
    test_names(ctx);
    test_gaussian();
    test_priors(ctx);
    sb_context_free(ctx);
    clear(folder);
    return test_end();
}
