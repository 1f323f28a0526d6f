// SPDX-License-Identifier: Apache-2.0
// Estimators: the mechanism (parameters from text, methods, arrays, files, digests, errors), and small cases with known
// answers, each at every level and thread count.
#include "folder.h"
#include "learn.h"
#include "models.h"
#include "purse.h"

#include <stdio.h>

// ---- the mechanism

static void test_rows(void) {
    CHECK(sb_algorithm_count() >= 3 && !sb_algorithm_name(-1) && !sb_algorithm_name(sb_algorithm_count()), "names");
    for (int64_t i = 0; i < sb_algorithm_count(); i++) {
        sbi_algorithm a;
        sbi_value value;
        CHECK(sbi_algorithm_at(i, &a) && strcmp(a.name, sb_algorithm_name(i)) == 0, "row %lld", (long long)i);
        // A list that fills its place may have lost a row.
        CHECK(!a.parameters[SBI_PARAMETERS - 2].name && !a.fitted[SBI_FITTED - 2].name && !a.methods[SBI_METHODS - 2].name && !a.proofs[SBI_PROOFS - 2],
              "%s has too many rows", a.name);
        for (const sbi_parameter_row *p = a.parameters; p->name; p++) {
            CHECK(strlen(p->name) < SBI_NAME && sbi_value_read(&a, p, p->value, &value, &err) == SB_OK, "default of %s.%s: %s", a.name, p->name, err.message);
            CHECK(sbi_value_read(&a, p, "no such value", &value, NULL) == SB_ERR_ARGUMENT, "%s.%s takes anything", a.name, p->name);
        }
        for (const sbi_fitted_row *f = a.fitted; f->name; f++)
            CHECK(strlen(f->name) < SBI_NAME && (strncmp(f->dtype, "data", 4) == 0 || strncmp(f->dtype, "f64", 3) == 0 || strncmp(f->dtype, "i32", 3) == 0 ||
                                                 strncmp(f->dtype, "i64", 3) == 0), "%s.%s", a.name, f->name);
        CHECK(a.methods[0].name && strcmp(a.methods[0].name, "fit") == 0, "%s begins with fit", a.name);
    }
}

// The grammar of types, on rows of nobody.
static void test_types(void) {
    static const struct { const char *type, *text; bool good; const char *written; } tries[] = {
        {"none | int [1, inf) | real (0, 1)", "none", true, "none"}, {"none | int [1, inf) | real (0, 1)", "3", true, "3"},
        {"none | int [1, inf) | real (0, 1)", "0.5", true, "0.5"}, {"none | int [1, inf) | real (0, 1)", "1.0", false, NULL},
        {"real", "-3", true, "-3.0"}, {"real", "inf", false, NULL}, {"real (0, inf)", "inf", false, NULL}, {"real (0, inf]", "inf", true, "inf"},
        {"real (0, inf]", "-inf", false, NULL}, {"real (0, inf]", "0", false, NULL}, {"real [0, 1]", "1", true, "1.0"}, {"real [-1, 1)", "-1e0", true, "-1.0"},
        {"real [-1, 1)", "1", false, NULL}, {"int", "-5", true, "-5"}, {"int [0, 3]", "4", false, NULL}, {"bool", "true", true, "true"}, {"bool", "True", false, NULL},
        {"numbers 2", "0,1", true, "0.0,1.0"}, {"numbers 2", "25.0,75.5", true, "25.0,75.5"}, {"numbers 2", "1", false, NULL}, {"numbers 2", "1,2,3", false, NULL},
        {"numbers 2", "1,", false, NULL}, {"numbers 2", ",", false, NULL}, {"numbers", "1,2,3", true, "1.0,2.0,3.0"},
        {"numbers", "1,2,3,4,5,6,7,8,9", false, NULL}, {"numbers", "", false, NULL}, {"'a' | 'b c'", "b c", true, "b c"}, {"'a' | 'b c'", "b", false, NULL},
        {"nan | real", "nan", true, "nan"}, {"nan | real", "-0.5", true, "-0.5"}, {"real", "nan", false, NULL},
        {"seed", "18446744073709551615", true, "18446744073709551615"}, {"seed", "0", true, "0"}, {"array n d", "array", false, NULL}, {"dtype", "float64", true, "none"}, {"dtype", "float", false, NULL}, {"nan | entry", "word", false, NULL}};
    const sbi_algorithm nobody = {.name = "nobody"};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        const sbi_parameter_row row = {.name = "x", .type = tries[i].type};
        sbi_value value;
        sbi_text text;
        const bool good = sbi_value_read(&nobody, &row, tries[i].text, &value, &err) == SB_OK;
        CHECK(good == tries[i].good, "%s: \"%s\"", tries[i].type, tries[i].text);
        if (!good || !tries[i].good) continue;
        sbi_text_start(&text, &sbi_malloc_allocator);
        sbi_value_write(&value, &text);
        CHECK(!text.failed && strcmp(text.bytes, tries[i].written) == 0, "%s: \"%s\" is written %s", tries[i].type, tries[i].text, text.bytes);
        sbi_text_free(&text);
    }
}

static void test_parameters(sb_context *ctx) {
    static const struct { const char *name, *text; sb_status status; } tries[] = {
        {"n_clusters", "3", SB_OK}, {"n_clusters", "0", SB_ERR_ARGUMENT}, {"n_clusters", "3.0", SB_ERR_ARGUMENT}, {"n_clusters", "", SB_ERR_ARGUMENT},
        {"n_clusters", "99999999999999999999", SB_ERR_ARGUMENT}, {"n_init", "auto", SB_OK}, {"n_init", "4", SB_OK}, {"n_init", "never", SB_ERR_ARGUMENT},
        {"tol", "0", SB_OK}, {"tol", "1e-4", SB_OK}, {"tol", "-1", SB_ERR_ARGUMENT}, {"tol", "nan", SB_ERR_ARGUMENT}, {"init", "random", SB_OK},
        {"init", "k-means++", SB_OK}, {"init", "array", SB_ERR_ARGUMENT}, {"random_state", "18446744073709551615", SB_OK},
        {"random_state", "18446744073709551616", SB_ERR_ARGUMENT}, {"random_state", "-1", SB_ERR_ARGUMENT}, {"random_state", "none", SB_OK},
        {"verbose", "1", SB_ERR_ARGUMENT}, {"clusters", "1", SB_ERR_ARGUMENT}};
    sb_model *model = made(ctx, "kmeans"), *none = NULL;
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        err = (sb_error){0};
        CHECK(sb_model_set(model, tries[i].name, tries[i].text, &err) == tries[i].status, "%s=%s: %s", tries[i].name, tries[i].text, err.message);
    }
    CHECK(sb_model_set(model, "n_clusters", "-7", &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "n_clusters") == 0 &&
          strcmp(err.message, "n_clusters of kmeans is \"-7\"; expected int [1, inf)") == 0, "%s", err.message);
    CHECK(strcmp(sb_model_algorithm(model), "kmeans") == 0, "algorithm");
    sb_array *some = array_of(ctx, SB_F32, 1, SHAPE(2), (const float[]){1.0f, 2.0f});
    CHECK(sb_model_set_array(ctx, model, "tol", some, &err) == SB_ERR_ARGUMENT, "tol is no array");
    CHECK(sb_model_set_array(ctx, model, "init", some, &err) == SB_OK, "%s", err.message);
    const sb_data wrong_shape = {.size = sizeof wrong_shape, .x = some};
    CHECK(sb_model_fit(ctx, model, "fit", &wrong_shape, &err) == SB_ERR_SHAPE, "%s", err.message);
    CHECK(sb_model_new(ctx, "kmean", &none, &err) == SB_ERR_ARGUMENT && !none, "%s", err.message);
    CHECK(sb_model_set_note(model, "b", "two", &err) == SB_OK && sb_model_set_note(model, "a", "one", &err) == SB_OK &&
          sb_model_set_note(model, "b", "2", &err) == SB_OK && sb_model_set_note(model, "c", "3", &err) == SB_OK &&
          sb_model_set_note(model, "a", NULL, &err) == SB_OK && !sb_model_note(model, "a") && strcmp(sb_model_note(model, "b"), "2") == 0 &&
          strcmp(sb_model_note(model, "c"), "3") == 0, "notes");
    CHECK(sb_model_set_note(model, "b", "\xff", &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "text") == 0 &&
          sb_model_set_note(model, "\xc0\x80", "x", &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "key") == 0 &&
          strcmp(sb_model_note(model, "b"), "2") == 0, "notes that are not UTF-8");
    sb_array_free(some);
    sb_model_free(model);
    sb_model_free(NULL);
}

// Arguments that are missing: every function says so by name.
static void test_null(sb_context *ctx) {
    sb_model *model = made(ctx, "kmeans"), *other = NULL;
    sb_array *out = NULL;
    int64_t size = 0;
    uint8_t digest[32];
    const sb_data data = {.size = sizeof data}, odd = {.size = 12};
    CHECK(sb_model_new(NULL, "kmeans", &other, &err) == SB_ERR_ARGUMENT && sb_model_new(ctx, NULL, &other, &err) == SB_ERR_ARGUMENT &&
          sb_model_new(ctx, "kmeans", NULL, &err) == SB_ERR_ARGUMENT, "new");
    CHECK(sb_model_set(NULL, "tol", "0", &err) == SB_ERR_ARGUMENT && sb_model_set(model, NULL, "0", &err) == SB_ERR_ARGUMENT &&
          sb_model_set(model, "tol", NULL, &err) == SB_ERR_ARGUMENT && sb_model_set_array(ctx, model, "init", NULL, &err) == SB_ERR_ARGUMENT &&
          sb_model_set_note(model, NULL, "x", &err) == SB_ERR_ARGUMENT, "set");
    CHECK(sb_model_fit(ctx, model, "fit", NULL, &err) == SB_ERR_ARGUMENT && sb_model_fit(ctx, model, "fit", &data, &err) == SB_ERR_ARGUMENT &&
          strcmp(err.argument, "x") == 0 && sb_model_fit(ctx, model, "fit", &odd, &err) == SB_ERR_ARGUMENT &&
          sb_model_fit(ctx, model, "predict", &data, &err) == SB_ERR_ARGUMENT && sb_model_fit(ctx, model, "fits", &data, &err) == SB_ERR_ARGUMENT, "fit");
    CHECK(sb_model_call(ctx, model, "predict", &data, &out, &err) == SB_ERR_STATE && sb_model_call(ctx, model, "fit", &data, &out, &err) == SB_ERR_ARGUMENT &&
          sb_model_call(ctx, NULL, "predict", &data, &out, &err) == SB_ERR_ARGUMENT && !out, "call");
    CHECK(sb_model_save(model, "/nowhere/x", &err) == SB_ERR_STATE && sb_model_store(model, NULL, 0, &size, &err) == SB_ERR_STATE &&
          sb_model_digest(ctx, model, digest, &err) == SB_ERR_STATE, "not fitted");
    CHECK(sb_model_load(ctx, "/nowhere/x", &other, &err) == SB_ERR_IO && sb_model_restore(ctx, NULL, 0, &other, &err) == SB_ERR_ARGUMENT &&
          sb_model_restore(ctx, digest, -1, &other, &err) == SB_ERR_ARGUMENT && !other, "load");
    CHECK(!sb_model_fitted(NULL) && !sb_model_fitted(model) && !*sb_model_warnings(model) && sb_model_array_count(model) == 0 &&
          !sb_model_array_name(model, 0) && !sb_model_array(model, "labels") && !sb_model_algorithm(NULL) && !sb_model_note(NULL, "x"), "nothing there");
    sb_model_free(model);
}

// ---- files

static const float six[12] = {1, 2, 1, 4, 1, 0, 4, 2, 4, 4, 4, 0};

static sb_model *six_points(sb_context *ctx) {
    sb_model *model = made(ctx, "kmeans");
    sb_array *x = array_of(ctx, SB_F32, 2, SHAPE(6, 2), six);
    const sb_data data = {.size = sizeof data, .x = x};
    set(model, "n_clusters", "2");
    set(model, "random_state", "0");
    set(model, "n_init", "10");
    CHECK(sb_model_fit(ctx, model, "fit", &data, &err) == SB_OK, "%s", err.message);
    sb_array_free(x);
    return model;
}

static uint8_t *stored(const sb_model *model, int64_t *size) {
    CHECK(sb_model_store(model, NULL, 0, size, &err) == SB_OK && *size > 0, "%s", err.message);
    uint8_t *bytes = malloc((size_t)*size);
    CHECK(sb_model_store(model, bytes, *size - 1, size, &err) == SB_ERR_SIZE, "a byte too few");
    CHECK(sb_model_store(model, bytes, *size, size, &err) == SB_OK, "%s", err.message);
    return bytes;
}

// The bytes with one text in them replaced by another as long.
static uint8_t *changed(const uint8_t *bytes, int64_t size, const char *from, const char *to) {
    uint8_t *copy = malloc((size_t)size);
    size_t length = strlen(from);
    int64_t found = 0;
    memcpy(copy, bytes, (size_t)size);
    for (int64_t i = 0; i + (int64_t)length <= size; i++)
        if (memcmp(bytes + i, from, length) == 0) {
            memcpy(copy + i, to, length);
            found++;
        }
    CHECK(found > 0 && strlen(to) == length, "%s is not in the file", from);
    return copy;
}

static void test_file(sb_context *ctx) {
    static const struct { const char *from, *to; } faults[] = {
        {"samebits.model 1", "samebits.model 9"}, {"\\\"kmeans\\\"", "\\\"kmeanz\\\""}, {"\\\"data\\\": \\\"float32", "\\\"data\\\": \\\"float64"},
        {"\\\"n_clusters\\\": \\\"2", "\\\"n_clusters\\\": \\\"3"}, {"\\\"n_clusters\\\": \\\"2", "\\\"n_clusters\\\": \\\"0"},
        {"\\\"n\\\": 6", "\\\"n\\\": 7"}, {"\\\"d\\\": 2", "\\\"d\\\": 4"}, {"\"cluster_centers\"", "\"cluster_center_\""},
        {"\"shape\":[2,2]", "\"shape\":[4,1]"}, {"\\\"random_state\\\"", "\\\"random_stat_\\\""}, {"\\\"sizes\\\"", "\\\"sizez\\\""}};
    sb_model *model = six_points(ctx), *again = NULL;
    int64_t size = 0, other_size = 0;
    uint8_t one[32], two[32], *bytes = stored(model, &size);
    CHECK(sb_model_restore(ctx, bytes, size, &again, &err) == SB_OK, "%s", err.message);
    uint8_t *twice = stored(again, &other_size);
    CHECK(size == other_size && memcmp(bytes, twice, (size_t)size) == 0, "a model that was read writes the same bytes");
    CHECK(sb_model_digest(ctx, model, one, &err) == SB_OK && sb_model_digest(ctx, again, two, &err) == SB_OK && memcmp(one, two, 32) == 0, "digest");
    CHECK(sb_model_set(again, "tol", "0", &err) == SB_ERR_STATE, "a fitted model keeps its parameters");
    CHECK(sb_model_set_note(again, "why", "because", &err) == SB_OK && sb_model_digest(ctx, again, two, &err) == SB_OK && memcmp(one, two, 32) != 0, "a note is in the digest");
    sb_model_free(again);
    again = NULL;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        uint8_t *wrong = changed(bytes, size, faults[i].from, faults[i].to);
        sb_status status = sb_model_restore(ctx, wrong, size, &again, &err);
        CHECK((status == SB_ERR_FORMAT || status == SB_ERR_UNSUPPORTED) && !again && *err.message, "%s: %s %s", faults[i].to, sb_status_name(status), err.message);
        free(wrong);
    }
    for (int64_t cut = 0; cut < size; cut += cut < 64 ? 1 : 7) {
        sb_status status = sb_model_restore(ctx, bytes, cut, &again, &err);
        CHECK(status == SB_ERR_FORMAT && !again, "cut at %lld: %s", (long long)cut, sb_status_name(status));
    }
    // A label that names no cluster: the algorithm's own check.
    uint8_t *wrong = malloc((size_t)size);
    memcpy(wrong, bytes, (size_t)size);
    const int32_t outside = 2;
    memcpy(wrong + size - 8 - 8 - 4, &outside, 4); // before inertia and n_iter
    CHECK(sb_model_restore(ctx, wrong, size, &again, &err) == SB_ERR_FORMAT && strcmp(err.argument, "labels") == 0, "%s", err.message);
    const char *path = inside("model");
    CHECK(sb_model_save(model, path, &err) == SB_OK && sb_model_load(ctx, path, &again, &err) == SB_OK, "%s", err.message);
    CHECK(again && at(again, "inertia", 0) == 16.0, "loaded");
    free(wrong);
    free(twice);
    free(bytes);
    sb_model_free(again);
    sb_model_free(model);
}

// A CSR matrix has the bits of the dense one; what is no CSR matrix is refused.
static void test_sparse(sb_context *ctx) {
    static const float dense[12] = {1, 0, 0, 4, 0, -2, 3, 0, 0, 5, 0, 7}, packed[6] = {4, 1, -2, 3, 7, 5};
    static const int32_t columns[6] = {3, 0, 1, 2, 3, 1}; // (in any order within a row)
    static const int64_t starts[4] = {0, 2, 4, 6};
    static const struct { int64_t starts[4]; int32_t columns[6]; sb_status status; } faults[] = {
        {{0, 2, 4, 5}, {3, 0, 1, 2, 3, 1}, SB_ERR_ARGUMENT}, {{0, 4, 2, 6}, {3, 0, 1, 2, 3, 1}, SB_ERR_ARGUMENT}, {{1, 2, 4, 6}, {3, 0, 1, 2, 3, 1}, SB_ERR_ARGUMENT},
        {{0, 2, 4, 7}, {3, 0, 1, 2, 3, 1}, SB_ERR_ARGUMENT}, {{0, 2, 4, 6}, {4, 0, 1, 2, 3, 1}, SB_ERR_ARGUMENT}, {{0, 2, 4, 6}, {-1, 0, 1, 2, 3, 1}, SB_ERR_ARGUMENT},
        {{0, 2, 4, 6}, {3, 3, 1, 2, 3, 1}, SB_ERR_ARGUMENT}, {{0, 3, 3, 6}, {1, 0, 1, 2, 3, 1}, SB_ERR_ARGUMENT}};
    const context_walk c = {.ctx = ctx};
    sb_array *x = array_of(ctx, SB_F32, 2, SHAPE(3, 4), dense), *values = array_of(ctx, SB_F32, 1, SHAPE(6), packed);
    sb_array *indices = array_of(ctx, SB_I32, 1, SHAPE(6), columns), *indptr = array_of(ctx, SB_I64, 1, SHAPE(4), starts), *out = NULL;
    sb_model *model = made(ctx, "kmeans"), *sparse = made(ctx, "kmeans"), *bayes = made(ctx, "gaussian_nb");
    uint8_t one[32], two[32];
    set(model, "n_clusters", "2");
    set(sparse, "n_clusters", "2");
    CHECK(FITS(model, "fit", .x = x) && FITS(sparse, "fit", .x = values, .indptr = indptr, .indices = indices, .columns = 4), "%s", err.message);
    CHECK(sb_model_digest(ctx, model, one, &err) == SB_OK && sb_model_digest(ctx, sparse, two, &err) == SB_OK && memcmp(one, two, 32) == 0, "the bits of the dense");
    const sb_data data = {.size = sizeof data, .x = values, .indptr = indptr, .indices = indices, .columns = 4}, wide = {.size = sizeof wide, .x = values, .indptr = indptr, .indices = indices, .columns = 5};
    CHECK(sb_model_call(ctx, model, "predict", &data, &out, &err) == SB_OK, "%s", err.message);
    sb_array_free(out);
    CHECK(sb_model_call(ctx, model, "predict", &wide, &out, &err) == SB_ERR_SHAPE && !out, "%s", err.message);
    CHECK(!FITS(bayes, "fit", .x = values, .indptr = indptr, .indices = indices, .columns = 4) && err.status == SB_ERR_UNSUPPORTED, "%s", err.message);
    CHECK(!FITS(sparse, "fit", .x = values, .indptr = indptr, .columns = 4) && err.status == SB_ERR_ARGUMENT, "%s", err.message);
    CHECK(!FITS(sparse, "fit", .x = values, .indptr = indptr, .indices = indices, .columns = INT64_C(1) << 50) && (err.status == SB_ERR_MEMORY || err.status == SB_ERR_SIZE), "%s", err.message);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        sb_array *wrong_starts = array_of(ctx, SB_I64, 1, SHAPE(4), faults[i].starts), *wrong_columns = array_of(ctx, SB_I32, 1, SHAPE(6), faults[i].columns);
        CHECK(!FITS(sparse, "fit", .x = values, .indptr = wrong_starts, .indices = wrong_columns, .columns = 4) && err.status == faults[i].status, "fault %zu: %s", i, err.message);
        sb_array_free(wrong_starts);
        sb_array_free(wrong_columns);
    }
    sb_array *const arrays[] = {x, values, indices, indptr};
    for (size_t i = 0; i < 4; i++) sb_array_free(arrays[i]);
    sb_model_free(model);
    sb_model_free(sparse);
    sb_model_free(bayes);
}

static void write_text(const char *path, const char *text) { put(path, text, strlen(text)); }

// Tables written and read again, in both forms and both types; columns by name and number.
// Rows that name what is not 0, and their targets; archives.
static void test_sparse_tables(sb_context *ctx) {
    static const char rows[] = "1 1:0.5 3:-2\n# nothing\n0 2:4 # a comment\n";
    const float dense[6] = {0.5f, 0.0f, -2.0f, 0.0f, 4.0f, 0.0f}, wide[8] = {0.5f, 0.0f, -2.0f, 0.0f, 0.0f, 4.0f, 0.0f, 0.0f};
    const double targets[2] = {1.0, 0.0};
    sb_table *table = NULL, *plain = NULL;
    put(inside("rows.libsvm"), rows, sizeof rows - 1);
    put(inside("plain.csv"), "1,2\n", 4);
    CHECK(sb_table_read(ctx, inside("rows.libsvm"), SB_F32, &table, &err) == SB_OK && array_is(sb_table_array(table), dense), "%s", err.message);
    sb_table *own = sb_table_target(table);
    sb_array *y = NULL;
    CHECK(own && sb_array_dtype(sb_table_array(own)) == SB_F32 && sb_table_labels(ctx, own, NULL, "[0, 1]", &y, NULL, &err) == SB_OK &&
          array_is(y, ((const int64_t[]){1, 0})), "%s", err.message);
    CHECK(sb_table_widen(ctx, table, 2, &err) == SB_OK && array_is(sb_table_array(table), dense), "%s", err.message);
    CHECK(sb_table_widen(ctx, table, 4, &err) == SB_OK && sb_array_shape(sb_table_array(table))[1] == 4 && array_is(sb_table_array(table), wide), "%s", err.message);
    CHECK(sb_table_widen(ctx, table, INT64_MAX / 2, &err) == SB_ERR_MEMORY && array_is(sb_table_array(table), wide), "%s", err.message);
    CHECK(sb_table_widen(NULL, table, 4, &err) == SB_ERR_ARGUMENT && sb_table_widen(ctx, NULL, 4, &err) == SB_ERR_ARGUMENT, "NULL");
    CHECK(sb_table_read(ctx, inside("plain.csv"), 0, &plain, &err) == SB_OK && !sb_table_target(plain) && !sb_table_target(NULL), "%s", err.message);
    CHECK(sb_table_widen(ctx, plain, 4, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "table") == 0, "%s", err.message);
    sb_table_free(table);
    CHECK(sb_table_read(ctx, inside("rows.libsvm"), 0, &table, &err) == SB_OK && array_is(sb_table_array(sb_table_target(table)), targets), "%s", err.message);
    sb_table_free(table);
    sb_table_free(plain);
    sb_array_free(y);
    put(inside("bad.npz"), "PK\3\4 and no more", 16);
    CHECK(sb_table_read(ctx, inside("bad.npz"), 0, &table, &err) == SB_ERR_FORMAT && sb_table_read(ctx, inside("absent.npz:x"), 0, &table, &err) == SB_ERR_IO, "%s", err.message);
    sb_model *model = made(ctx, "kmeans");
    CHECK(sb_model_features(model) == -1 && sb_model_features(NULL) == -1, "not fitted");
    sb_model_free(model);
}

static void test_tables(sb_context *ctx) {
    const float values[6] = {1.5f, -0.0f, 3e-40f, 7.0f, 1e30f, (float)__builtin_nan("")};
    const char *npy = inside("table.npy"), *csv = inside("table.csv");
    sb_array *a = array_of(ctx, SB_F32, 2, SHAPE(3, 2), values), *deep = array_of(ctx, SB_F32, 3, SHAPE(1, 1, 1), NULL), *rest = NULL, *picked = NULL;
    sb_table *table = NULL;
    CHECK(sb_array_save(a, npy, &err) == SB_OK && sb_array_save(a, csv, &err) == SB_OK, "%s", err.message);
    CHECK(sb_array_save(deep, csv, &err) == SB_ERR_SHAPE && sb_array_save(NULL, csv, &err) == SB_ERR_ARGUMENT && sb_array_save(a, "/nowhere/x", &err) == SB_ERR_IO, "%s", err.message);
    for (int form = 0; form < 2; form++) {
        float got[6] = {0};
        CHECK(sb_table_read(ctx, form ? csv : npy, SB_F32, &table, &err) == SB_OK && sb_array_read(sb_table_array(table), got, sizeof got, &err) == SB_OK, "%s", err.message);
        CHECK(memcmp(got, values, 5 * sizeof *got) == 0 && got[5] != got[5], "form %d keeps bits", form);
        CHECK(!sb_table_name(table, 0) && sb_table_split(ctx, table, "0", &rest, &picked, &err) == SB_OK && sb_array_size(rest) == 3 && sb_array_size(picked) == 3, "%s", err.message);
        sb_array_free(rest);
        sb_array_free(picked);
        CHECK(sb_table_split(ctx, table, "2", &rest, &picked, &err) == SB_ERR_ARGUMENT && !rest && !picked, "%s", err.message);
        sb_table_free(table);
    }
    CHECK(sb_table_read(ctx, npy, 0, &table, &err) == SB_OK && sb_array_dtype(sb_table_array(table)) == SB_F32, "as the file has it");
    sb_table_free(table);
    write_text(csv, "\"x, 1\",y\n1,2\n,4\n");
    double got[2] = {0};
    CHECK(sb_table_read(ctx, csv, 0, &table, &err) == SB_OK && strcmp(sb_table_name(table, 0), "x, 1") == 0 && !sb_table_name(table, 2) && !sb_table_name(table, -1), "%s", err.message);
    CHECK(sb_table_split(ctx, table, "y", &rest, &picked, &err) == SB_OK && sb_array_read(picked, got, sizeof got, &err) == SB_OK && got[0] == 2.0 && got[1] == 4.0 &&
          sb_array_read(rest, got, sizeof got, &err) == SB_OK && got[0] == 1.0 && got[1] != got[1], "%s", err.message);
    CHECK(sb_table_split(ctx, table, NULL, &rest, &picked, &err) == SB_ERR_ARGUMENT && sb_table_split(ctx, NULL, "y", &rest, &picked, &err) == SB_ERR_ARGUMENT, "NULL");
    sb_table_free(table);
    table = NULL;
    write_text(csv, "1,2\n3\n");
    CHECK(sb_table_read(ctx, csv, 0, &table, &err) == SB_ERR_FORMAT && !table, "%s", err.message);
    write_text(csv, "");
    CHECK(sb_table_read(ctx, csv, 0, &table, &err) == SB_OK && sb_array_size(sb_table_array(table)) == 0, "an empty file has no rows: %s", err.message);
    sb_table_free(table);
    CHECK(sb_table_read(ctx, csv, SB_I32, &table, &err) == SB_ERR_DTYPE && sb_table_read(ctx, NULL, 0, &table, &err) == SB_ERR_ARGUMENT && !sb_table_array(NULL) && !sb_table_name(NULL, 0), "refused");
    sb_table_free(NULL);
    sb_array_free(a);
    sb_array_free(deep);
}

// ---- cases

static void test_kmeans(void) {
    // 17 points, 9 of them distinct.
    static const double points[34] = {1086, 348, 1086, 348, 1087, 347, 1087, 347, 1190, 244, 1190, 244, 1185, 249, 1185, 249, 1193, 241,
                                      1188, 247, 1187, 233, 26, 111, 26, 111, 26, 110, 26, 110, 26, 110, 26, 110};
    uint8_t first[32], own[32];
    bool any = false;
    EACH_CONTEXT(c) {
        sb_model *model = six_points(c.ctx);
        CHECK(at(model, "inertia", 0) == 16.0, "inertia %g", at(model, "inertia", 0));
        const double low = at(model, "labels", 0), high = at(model, "labels", 3);
        for (int i = 0; i < 6; i++) CHECK(at(model, "labels", i) == (i < 3 ? low : high) && low != high, "label %d", i);
        CHECK(sb_model_digest(c.ctx, model, any ? own : first, &err) == SB_OK && (!any || memcmp(own, first, 32) == 0), "%s, %d threads", c.level, c.threads);
        any = true;
        sb_array *x = array_of(c.ctx, SB_F32, 2, SHAPE(6, 2), six), *near = called(c.ctx, model, "predict", x), *apart = called(c.ctx, model, "transform", x);
        CHECK(sb_array_dtype(apart) == SB_F32 && sb_array_ndim(apart) == 2 && sb_array_shape(apart)[1] == 2, "transform");
        sb_array_free(near);
        sb_array_free(apart);
        sb_array_free(x);
        sb_model_free(model);
        for (int seed = 0; seed < 4; seed++) {
            char text[8];
            snprintf(text, sizeof text, "%d", seed);
            model = made(c.ctx, "kmeans");
            set(model, "n_clusters", "10");
            set(model, "random_state", text);
            set(model, "init", seed % 2 ? "random" : "k-means++");
            x = array_of(c.ctx, SB_F64, 2, SHAPE(17, 2), points);
            CHECK(FITS(model, "fit", .x = x) && at(model, "inertia", 0) == 0.0, "inertia %g %s", at(model, "inertia", 0), err.message);
            CHECK(strncmp(sb_model_warnings(model), "ConvergenceWarning: Number of distinct clusters (9)", 51) == 0, "%s", sb_model_warnings(model));
            sb_array_free(x);
            sb_model_free(model);
        }
    }
}

static int stop_at_once(void *user, int64_t done, int64_t total) {
    (void)done, (void)total;
    ++*(int *)user;
    return 1;
}

static void test_refused(sb_context *ctx) {
    const context_walk c = {.ctx = ctx};
    sb_array *x = array_of(ctx, SB_F32, 2, SHAPE(6, 2), six), *few = array_of(ctx, SB_F32, 2, SHAPE(2, 3), six), *none = array_of(ctx, SB_F32, 2, SHAPE(0, 2), NULL);
    sb_array *integers = array_of(ctx, SB_I64, 2, SHAPE(2, 2), NULL), *out = NULL, *y = array_of(ctx, SB_F32, 1, SHAPE(5), six);
    const float bad[4] = {1.0f, 2.0f, (float)__builtin_inf(), 3.0f};
    sb_array *endless = array_of(ctx, SB_F32, 2, SHAPE(2, 2), bad);
    sb_model *model = made(ctx, "kmeans");
    int asked = 0;
    CHECK(!FITS(model, "fit", .x = few) && err.status == SB_ERR_ARGUMENT && strcmp(err.message, "n_samples=2 should be >= n_clusters=8.") == 0, "%s", err.message);
    CHECK(!FITS(model, "fit", .x = none) && err.status == SB_ERR_EMPTY, "%s", err.message);
    CHECK(!FITS(model, "fit", .x = integers) && err.status == SB_ERR_DTYPE, "%s", err.message);
    CHECK(!FITS(model, "fit", .x = endless) && err.status == SB_ERR_NONFINITE && strstr(err.message, "infinity"), "%s", err.message);
    CHECK(!FITS(model, "fit", .x = x, .weights = y) && err.status == SB_ERR_DTYPE, "%s", err.message);
    set(model, "n_clusters", "2");
    CHECK(!FITS(model, "fit", .x = x, .progress = stop_at_once, .user = &asked) && err.status == SB_ERR_INTERRUPTED && asked == 1 && !sb_model_fitted(model), "%s", err.message);
    CHECK(FITS(model, "fit", .x = x) && sb_model_fitted(model) == 1, "%s", err.message);
    const sb_data three = {.size = sizeof three, .x = few};
    CHECK(sb_model_call(ctx, model, "predict", &three, &out, &err) == SB_ERR_SHAPE &&
          strcmp(err.message, "X has 3 features, but KMeans is expecting 2 features as input") == 0, "%s", err.message);
    CHECK(!FITS(model, "fit", .x = x, .progress = stop_at_once, .user = &asked) && !sb_model_fitted(model) && !sb_model_array(model, "labels"), "half a fit is none");
    sb_model_free(model);
    model = made(ctx, "linear_regression");
    CHECK(!FITS(model, "fit", .x = x) && err.status == SB_ERR_ARGUMENT && !FITS(model, "fit", .x = x, .y = y) && err.status == SB_ERR_SHAPE, "%s", err.message);
    sb_model_free(model);
    sb_array *const all[] = {x, few, none, integers, y, endless};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
}

static void test_scaler(void) {
    static const double constants[] = {14.62, -11.512925464970229, -11.512925464970229};
    static const int64_t counts[] = {1000, 8, 22};
    const double huge = 1.79769313e301;
    EACH_CONTEXT(c) {
        if (c.threads != 1 && c.threads != 3) continue;
        for (int i = 0; i < 3; i++) { // a constant column: 0 exactly
            double values[1000];
            for (int64_t j = 0; j < counts[i]; j++) values[j] = constants[i];
            sb_array *x = array_of(c.ctx, SB_F64, 2, SHAPE(counts[i], 1), values);
            sb_model *model = made(c.ctx, "standard_scaler");
            CHECK(FITS(model, "fit", .x = x) && at(model, "mean", 0) == constants[i] && at(model, "var", 0) == 0.0 && at(model, "scale", 0) == 1.0, "constant %d", i);
            sb_array *y = called(c.ctx, model, "transform", x);
            double out[1000] = {1.0};
            bool zero = sb_array_read(y, out, (size_t)counts[i] * 8, &err) == SB_OK;
            for (int64_t j = 0; j < counts[i]; j++) zero = zero && out[j] == 0.0;
            CHECK(zero, "constant %d is not 0", i);
            sb_array_free(y);
            sb_array_free(x);
            sb_model_free(model);
        }
        double values[5000]; // the same column with a true spread of 1e-10
        for (int j = 0; j < 1000; j++) values[j] = 14.62 + (j % 2 ? 1e-10 : -1e-10);
        sb_array *x = array_of(c.ctx, SB_F64, 2, SHAPE(1000, 1), values), *y = NULL;
        sb_model *model = made(c.ctx, "standard_scaler");
        CHECK(FITS(model, "fit", .x = x), "%s", err.message);
        y = called(c.ctx, model, "transform", x);
        CHECK(sb_array_read(y, values, 8000, &err) == SB_OK && values[1] > 0.999 && values[1] < 1.001 && values[0] < -0.999, "spread %g", values[1]);
        sb_array_free(x);
        sb_array_free(y);
        sb_model_free(model);
        // Streamed: 100 batches of 5,000 rows.
        model = made(c.ctx, "standard_scaler");
        for (int j = 0; j < 5000; j++) values[j] = huge;
        x = array_of(c.ctx, SB_F64, 2, SHAPE(5000, 1), values);
        for (int batch = 0; batch < 100; batch++) CHECK(FITS(model, "partial_fit", .x = x), "%s", err.message);
        CHECK(at(model, "mean", 0) == huge && at(model, "var", 0) == 0.0 && at(model, "n_samples_seen", 0) == 500000.0, "streamed mean %g", at(model, "mean", 0));
        sb_array_free(x);
        sb_model_free(model);
        // Missing numbers, and the same by weights of 0.
        const double nan = __builtin_nan(""), holes[6] = {1, nan, 4, 5, nan, 7}, whole[6] = {1, 9, 4, 5, 9, 7}, weights[3] = {1, 1, 0}, two[4] = {1, 9, 4, 5};
        x = array_of(c.ctx, SB_F64, 2, SHAPE(3, 2), holes);
        model = made(c.ctx, "standard_scaler");
        CHECK(FITS(model, "fit", .x = x) && at(model, "n_samples_seen", 0) == 2.0 && at(model, "n_samples_seen", 1) == 2.0 && at(model, "mean", 0) == 2.5 &&
              at(model, "mean", 1) == 6.0 && at(model, "var", 1) == 1.0, "missing");
        sb_array_free(x);
        sb_model_free(model);
        sb_model *other = made(c.ctx, "standard_scaler");
        model = made(c.ctx, "standard_scaler");
        x = array_of(c.ctx, SB_F64, 2, SHAPE(3, 2), whole);
        y = array_of(c.ctx, SB_F64, 2, SHAPE(2, 2), two);
        sb_array *w = array_of(c.ctx, SB_F64, 1, SHAPE(3), weights);
        CHECK(FITS(model, "fit", .x = x, .weights = w) && FITS(other, "fit", .x = y), "%s", err.message);
        for (int j = 0; j < 2; j++) CHECK(at(model, "mean", j) == at(other, "mean", j) && at(model, "var", j) == at(other, "var", j), "weight 0");
        sb_array_free(x);
        sb_array_free(y);
        sb_array_free(w);
        sb_model_free(model);
        sb_model_free(other);
    }
}

// The numbers of a method's result are these.
static void gives(sb_context *ctx, const sb_model *model, const char *method, const sb_array *x, int64_t count, const double *wanted) {
    double got[64] = {0};
    sb_array *out = called(ctx, model, method, x);
    CHECK(sb_array_size(out) == count && sb_array_read(out, got, (size_t)count * 8, &err) == SB_OK, "%s gives %lld numbers", method, (long long)sb_array_size(out));
    for (int64_t i = 0; i < count; i++)
        CHECK(got[i] == wanted[i] || (got[i] != got[i] && wanted[i] != wanted[i]), "%s, number %lld: %.17g, not %.17g", method, (long long)i, got[i], wanted[i]);
    sb_array_free(out);
}

static void test_ranges(void) {
    const double nan = __builtin_nan(""), huge = 0x1p1023, tiny = 0x1p-1074;
    const double rows[15] = {-1, nan, 3, -huge, 0, 3, nan, 3, huge, tiny, 0.5, nan, 3, 0, 0}, scaled[15] = {0, nan, 0, 0, 0, 1, nan, 0, 1, tiny, 0.375, nan, 0, 0.5, 0};
    const double ends[2] = {-4, 6};
    EACH_CONTEXT(c) {
        if (c.threads != 1 && c.threads != 3) continue;
        sb_array *x = array_of(c.ctx, SB_F64, 2, SHAPE(3, 5), rows), *first = array_of(c.ctx, SB_F64, 2, SHAPE(1, 5), rows), *last = array_of(c.ctx, SB_F64, 2, SHAPE(2, 5), rows + 5);
        sb_model *model = made(c.ctx, "min_max_scaler"), *parts = made(c.ctx, "min_max_scaler");
        set(model, "feature_range", "0,1");
        CHECK(FITS(model, "fit", .x = x) && FITS(parts, "partial_fit", .x = last) && FITS(parts, "partial_fit", .x = first) && at(parts, "n_samples_seen", 0) == 3.0, "%s", err.message);
        // (columns: -1, 3, 0.5; none but NaN; a constant, the ends of binary64; a range below the normal numbers)
        for (int j = 0; j < 5; j++)
            CHECK(j == 1 || (at(model, "scale", j) == at(parts, "scale", j) && at(model, "min", j) == at(parts, "min", j)), "batches, feature %d", j);
        CHECK(at(model, "data_range", 3) == __builtin_inf() && at(model, "scale", 3) > 0.0 && at(model, "scale", 4) == 1.0, "ends");
        gives(c.ctx, model, "transform", x, 15, scaled);
        sb_model_free(model);
        model = made(c.ctx, "min_max_scaler");
        set(model, "clip", "true");
        set(model, "feature_range", "-1,0.5");
        sb_array *narrow = array_of(c.ctx, SB_F64, 2, SHAPE(2, 1), (const double[]){-1, 1}), *beyond = array_of(c.ctx, SB_F64, 2, SHAPE(2, 1), ends);
        CHECK(FITS(model, "fit", .x = narrow), "%s", err.message);
        gives(c.ctx, model, "transform", beyond, 2, (const double[]){-1, 0.5});
        gives(c.ctx, model, "inverse_transform", beyond, 2, (const double[]){-5, 8.333333333333334});
        sb_model_free(model);
        model = made(c.ctx, "min_max_scaler");
        set(model, "feature_range", "1,1");
        CHECK(!FITS(model, "fit", .x = x) && err.status == SB_ERR_ARGUMENT && strcmp(err.argument, "feature_range") == 0, "%s", err.message);
        sb_array *const all[] = {x, first, last, narrow, beyond};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
        sb_model_free(model);
        sb_model_free(parts);
    }
}

static void test_imputer(void) {
    const double nan = __builtin_nan(""), rows[15] = {1, nan, 5, nan, nan, 5, 2, nan, -0.0, 9, nan, 0, 9, nan, nan};
    static const struct { const char *strategy; double statistics[3]; } tries[] = {
        {"mean", {5.25, 0, 2.5}}, {"median", {5.5, 0, 2.5}}, {"most_frequent", {9, 0, 0}}, {"constant", {-3, -3, -3}}};
    EACH_CONTEXT(c) {
        if (c.threads != 1 && c.threads != 3) continue;
        sb_array *x = array_of(c.ctx, SB_F64, 2, SHAPE(5, 3), rows), *row = array_of(c.ctx, SB_F64, 2, SHAPE(1, 3), rows + 3);
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
            const double *s = tries[i].statistics;
            sb_model *model = made(c.ctx, "simple_imputer"), *keeps = made(c.ctx, "simple_imputer");
            for (int k = 0; k < 2; k++) {
                set(k ? keeps : model, "strategy", tries[i].strategy);
                set(k ? keeps : model, "fill_value", "-3");
                set(k ? keeps : model, "add_indicator", k ? "false" : "true");
                set(k ? keeps : model, "keep_empty_features", k ? "true" : "false");
            }
            CHECK(FITS(model, "fit", .x = x) && FITS(keeps, "fit", .x = x), "%s", err.message);
            gives(c.ctx, keeps, "transform", row, 3, (const double[]){s[0], s[1], 5});
            gives(c.ctx, model, "transform", row, 5, (const double[]){s[0], 5, 1, 1, 0});
            sb_array *filled = called(c.ctx, model, "transform", x);
            gives(c.ctx, model, "inverse_transform", filled, 15, rows);
            sb_array_free(filled);
            CHECK(at(model, "statistics", 1) != at(model, "statistics", 1) && at(keeps, "statistics", 0) == s[0] && at(keeps, "statistics", 2) == s[2], "%s", tries[i].strategy);
            sb_model_free(model);
            sb_model_free(keeps);
        }
        sb_model *model = made(c.ctx, "simple_imputer");
        set(model, "missing_values", "9");
        CHECK(!FITS(model, "fit", .x = x) && err.status == SB_ERR_NONFINITE, "%s", err.message);
        sb_model_free(model);
        sb_array_free(x);
        sb_array_free(row);
    }
}

static void test_ordinal(void) {
    const double nan = __builtin_nan("");
    const double rows[12] = {3, 1, 7, nan, 7, 1, -0.0, 0, 7, 1, 0, 1}, own[6] = {1, -1.5, 3, 0, 2, nan};
    static const struct { const char *parameter, *text; double first[6], second[6]; } tries[] = { // (columns)
        {"encoded_missing_value", "nan", {1, 2, 2, 0, 2, 0}, {1, __builtin_nan(""), 1, 0, 1, 1}},
        {"max_categories", "2", {1, 0, 0, 1, 0, 1}, {0, __builtin_nan(""), 0, 1, 0, 0}}, // (a group counts even where it is of one)
        {"min_frequency", "2", {2, 1, 1, 0, 1, 0}, {0, __builtin_nan(""), 0, 1, 0, 0}},
        {"min_frequency", "0.5", {1, 0, 0, 1, 0, 1}, {0, __builtin_nan(""), 0, 1, 0, 0}},
        {"max_categories", "1", {0, 0, 0, 0, 0, 0}, {0, __builtin_nan(""), 0, 0, 0, 0}}};
    EACH_CONTEXT(c) {
        if (c.threads != 1 && c.threads != 3) continue;
        sb_array *x = array_of(c.ctx, SB_F64, 2, SHAPE(6, 2), rows), *strange = array_of(c.ctx, SB_F64, 2, SHAPE(1, 2), (const double[]){3, 2});
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
            double wanted[12];
            for (int k = 0; k < 12; k++) wanted[k] = k % 2 ? tries[i].second[k / 2] : tries[i].first[k / 2];
            sb_model *model = made(c.ctx, "ordinal_encoder");
            set(model, tries[i].parameter, tries[i].text);
            CHECK(FITS(model, "fit", .x = x), "%s", err.message);
            gives(c.ctx, model, "transform", x, 12, wanted);
            sb_array *codes = called(c.ctx, model, "transform", x);
            if (i == 0) gives(c.ctx, model, "inverse_transform", codes, 12, (const double[]){3, 1, 7, nan, 7, 1, 0, 0, 7, 1, 0, 1});
            if (i == 2) gives(c.ctx, model, "inverse_transform", codes, 12, (const double[]){nan, 1, 7, nan, 7, 1, 0, nan, 7, 1, 0, 1});
            sb_array *none = NULL;
            CHECK(i != 0 || (sb_model_call(c.ctx, model, "transform", &(sb_data){.size = sizeof(sb_data), .x = strange}, &none, &err) == SB_ERR_ARGUMENT && strstr(err.message, "[2] in column 1 during transform")), "%s", err.message);
            sb_array_free(codes);
            sb_model_free(model);
        }
        sb_model *model = made(c.ctx, "ordinal_encoder");
        sb_array *given = array_of(c.ctx, SB_F64, 1, SHAPE(6), own), *few = array_of(c.ctx, SB_F64, 2, SHAPE(2, 2), (const double[]){-1.5, 2, 2, 0});
        CHECK(sb_model_set_array(c.ctx, model, "categories", given, &err) == SB_OK, "%s", err.message);
        CHECK(!FITS(model, "fit", .x = few) && err.status == SB_ERR_ARGUMENT && strstr(err.message, "[2] in column 0 during fit"), "%s", err.message);
        set(model, "handle_unknown", "use_encoded_value");
        CHECK(!FITS(model, "fit", .x = few) && err.status == SB_ERR_ARGUMENT && strcmp(err.argument, "unknown_value") == 0, "%s", err.message);
        set(model, "unknown_value", "1");
        CHECK(!FITS(model, "fit", .x = few) && strstr(err.message, "already used for encoding"), "%s", err.message);
        set(model, "unknown_value", "-1");
        set(model, "encoded_missing_value", "1");
        CHECK(!FITS(model, "fit", .x = few) && strcmp(err.argument, "encoded_missing_value") == 0, "%s", err.message);
        set(model, "encoded_missing_value", "-2");
        CHECK(FITS(model, "fit", .x = few), "%s", err.message);
        gives(c.ctx, model, "transform", x, 12, (const double[]){-1, -1, -1, -2, -1, -1, -1, 0, -1, -1, -1, -1});
        gives(c.ctx, model, "transform", few, 4, (const double[]){0, 1, -1, 0});
        // Words that fit the categories of no model.
        int64_t size = 0;
        static uint8_t bytes[1 << 14];
        sb_model *again = NULL;
        static const struct { const char *note; bool right; } notes[] = {{"[null, [\"a\"]]", false}, {"[null]", false}, {"7", false}, {"[null, null]", true}, {"nothing", false}};
        for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
            CHECK(sb_model_set_note(model, "categories", notes[i].note, &err) == SB_OK && sb_model_store(model, bytes, sizeof bytes, &size, &err) == SB_OK, "%s", err.message);
            CHECK((sb_model_restore(c.ctx, bytes, size, &again, &err) == SB_OK) == notes[i].right && (notes[i].right || err.status == SB_ERR_FORMAT), "%s: %s", notes[i].note, err.message);
            sb_model_free(again);
            again = NULL;
        }
        static const double wrong[][4] = {{2, 1, 1, 1}, {2, 2, 1, 1}, {1, 1, 3, 1}, {1.5, 1, 1, 1}, {2, __builtin_nan(""), 1, 1}};
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            sb_model *other = made(c.ctx, "ordinal_encoder");
            sb_array *list = array_of(c.ctx, SB_F64, 1, SHAPE(4), wrong[i]);
            CHECK(sb_model_set_array(c.ctx, other, "categories", list, &err) == SB_OK && !FITS(other, "fit", .x = few) && strcmp(err.argument, "categories") == 0, "%s", err.message);
            sb_array_free(list);
            sb_model_free(other);
        }
        sb_array_free(given), sb_array_free(few), sb_array_free(x), sb_array_free(strange);
        sb_model_free(model);
    }
}

static void test_one_hot(void) {
    const double nan = __builtin_nan(""), rows[12] = {3, 1, 7, nan, 7, 1, -0.0, 0, 7, 1, 0, 1}, strange[2] = {5, 1};
    static const struct { const char *parameter, *text; int64_t width, unknown; double first[6]; } tries[] = { // (the first row; the number of a stranger)
        {"drop", "none", 6, -1, {0, 1, 0, 0, 1, 0}},
        {"drop", "first", 4, 0, {1, 0, 1, 0}},
        {"drop", "if_binary", 6, -1, {0, 1, 0, 0, 1, 0}},
        {"max_categories", "2", 4, 1, {0, 1, 1, 0}},
        {"min_frequency", "2", 5, 2, {0, 0, 1, 1, 0}}};
    EACH_CONTEXT(c) {
        if (c.threads != 1 && c.threads != 3) continue;
        sb_array *x = array_of(c.ctx, SB_F64, 2, SHAPE(6, 2), rows), *one = array_of(c.ctx, SB_F64, 2, SHAPE(1, 2), rows), *other = array_of(c.ctx, SB_F64, 2, SHAPE(1, 2), strange);
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
            sb_model *model = made(c.ctx, "one_hot_encoder");
            set(model, tries[i].parameter, tries[i].text);
            set(model, "handle_unknown", "infrequent_if_exist");
            CHECK(FITS(model, "fit", .x = x), "%s", err.message);
            gives(c.ctx, model, "transform", one, tries[i].width, tries[i].first);
            sb_array *hot = called(c.ctx, model, "transform", x), *csr[2] = {NULL};
            if (i < 3) gives(c.ctx, model, "inverse_transform", hot, 12, (const double[]){3, 1, 7, nan, 7, 1, 0, 0, 7, 1, 0, 1});
            CHECK(sb_model_call_many(c.ctx, model, "transform_csr", &(sb_data){.size = sizeof(sb_data), .x = x}, 2, csr, &err) == SB_OK, "%s", err.message);
            double dense[36];
            int64_t ends[7], columns[12], count = 0;
            CHECK(sb_array_read(hot, dense, (size_t)sb_array_size(hot) * 8, &err) == SB_OK && sb_array_read(csr[0], ends, sizeof ends, &err) == SB_OK &&
                  sb_array_read(csr[1], columns, (size_t)sb_array_size(csr[1]) * 8, &err) == SB_OK && ends[0] == 0, "%s", err.message);
            for (int64_t k = 0; k < 6 * tries[i].width; k++)
                if (dense[k] != 0.0) CHECK(dense[k] == 1.0 && columns[count] == k % tries[i].width && ++count <= ends[k / tries[i].width + 1], "%s: one %lld", tries[i].text, (long long)k);
            CHECK(count == ends[6] && count == sb_array_size(csr[1]), "%lld ones", (long long)count);
            sb_array *unknown = called(c.ctx, model, "transform", other), *numbers[2] = {NULL};
            CHECK(sb_model_call_many(c.ctx, model, "inverse_transform", &(sb_data){.size = sizeof(sb_data), .x = unknown}, 2, numbers, &err) == SB_OK, "%s", err.message);
            int64_t number[2];
            CHECK(sb_array_read(numbers[1], number, sizeof number, &err) == SB_OK && number[0] == tries[i].unknown, "%s: unknown is %lld", tries[i].text, (long long)number[0]);
            sb_array_free(hot), sb_array_free(csr[0]), sb_array_free(csr[1]), sb_array_free(unknown), sb_array_free(numbers[0]), sb_array_free(numbers[1]);
            sb_model_free(model);
        }
        sb_model *model = made(c.ctx, "one_hot_encoder");
        sb_array *drop = array_of(c.ctx, SB_F64, 1, SHAPE(2), (const double[]){7, nan}), *none = array_of(c.ctx, SB_F64, 1, SHAPE(2), (const double[]){8, nan}), *out = NULL;
        sb_array *few = array_of(c.ctx, SB_F64, 1, SHAPE(1), rows);
        for (int i = 0; i < 2; i++)
            CHECK(sb_model_set_array(c.ctx, model, "drop", i ? none : few, &err) == SB_OK && !FITS(model, "fit", .x = x) && strcmp(err.argument, "drop") == 0, "%s", err.message);
        CHECK(sb_model_set_array(c.ctx, model, "drop", drop, &err) == SB_OK && FITS(model, "fit", .x = x), "%s", err.message);
        gives(c.ctx, model, "transform", x, 24, (const double[]){0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1});
        CHECK(sb_model_call(c.ctx, model, "transform", &(sb_data){.size = sizeof(sb_data), .x = other}, &out, &err) == SB_ERR_ARGUMENT, "unknown");
        sb_array_free(drop), sb_array_free(none), sb_array_free(few), sb_array_free(x), sb_array_free(one), sb_array_free(other);
        sb_model_free(model);
    }
}

static void test_least_squares(void) {
    static const double twice[8] = {1, 1, 2, 2, 3, 3, 5, 5}, y_twice[4] = {1, 2, 3, 5};
    static const double rank[9] = {10, 10, 0, 1e-32, 0, 0, 0, 0, 1}, y_rank[3] = {5, 0, 5};
    static const double line[10] = {0, 1, 1, 3, 2, 0, 3, 5, 4, 1}, y_line[5] = {3, 11, 4, 22, 11}; // 1 + 2 a + 3 b, off by 2, -1, 0, ...
    EACH_CONTEXT(c) {
        if (c.threads != 1 && c.threads != 3) continue;
        sb_model *model = made(c.ctx, "linear_regression");
        set(model, "fit_intercept", "false");
        sb_array *x = array_of(c.ctx, SB_F64, 2, SHAPE(4, 2), twice), *y = array_of(c.ctx, SB_F64, 1, SHAPE(4), y_twice), *w;
        CHECK(FITS(model, "fit", .x = x, .y = y) && at(model, "rank", 0) == 1.0, "rank %g", at(model, "rank", 0));
        for (int j = 0; j < 2; j++) CHECK(at(model, "coef", j) - 0.5 < 1e-15 && 0.5 - at(model, "coef", j) < 1e-15, "coef %.17g", at(model, "coef", j));
        sb_array_free(x);
        sb_array_free(y);
        sb_model_free(model);
        model = made(c.ctx, "linear_regression");
        set(model, "fit_intercept", "false");
        x = array_of(c.ctx, SB_F64, 2, SHAPE(3, 3), rank);
        y = array_of(c.ctx, SB_F64, 1, SHAPE(3), y_rank);
        CHECK(FITS(model, "fit", .x = x, .y = y), "%s", err.message);
        CHECK(at(model, "coef", 0) == at(model, "coef", 1) && at(model, "coef", 0) - 0.25 < 1e-15 && 0.25 - at(model, "coef", 0) < 1e-15 &&
              at(model, "coef", 2) - 5.0 < 1e-14 && 5.0 - at(model, "coef", 2) < 1e-14, "coef %.17g %.17g %.17g", at(model, "coef", 0), at(model, "coef", 1), at(model, "coef", 2));
        sb_array_free(x);
        sb_array_free(y);
        sb_model_free(model);
        // Weights are repetitions: to the bit, where sums are exact (means and squares of small integers over 8 rows).
        const double weights[5] = {1, 0, 2, 1, 4}, repeated[16] = {0, 1, 2, 0, 2, 0, 3, 5, 4, 1, 4, 1, 4, 1, 4, 1}, y_repeated[8] = {3, 4, 4, 22, 11, 11, 11, 11};
        sb_model *other = made(c.ctx, "linear_regression");
        model = made(c.ctx, "linear_regression");
        x = array_of(c.ctx, SB_F64, 2, SHAPE(5, 2), line);
        y = array_of(c.ctx, SB_F64, 1, SHAPE(5), y_line);
        w = array_of(c.ctx, SB_F64, 1, SHAPE(5), weights);
        CHECK(FITS(model, "fit", .x = x, .y = y, .weights = w), "%s", err.message);
        sb_array_free(x);
        sb_array_free(y);
        x = array_of(c.ctx, SB_F64, 2, SHAPE(8, 2), repeated);
        y = array_of(c.ctx, SB_F64, 1, SHAPE(8), y_repeated);
        CHECK(FITS(other, "fit", .x = x, .y = y), "%s", err.message);
        for (int j = 0; j < 2; j++) CHECK(at(model, "coef", j) == at(other, "coef", j), "weights %d: %.17g %.17g", j, at(model, "coef", j), at(other, "coef", j));
        CHECK(at(model, "intercept", 0) == at(other, "intercept", 0), "intercept");
        sb_array *score = NULL;
        const sb_data data = {.size = sizeof data, .x = x, .y = y};
        double r2 = 0.0;
        CHECK(sb_model_call(c.ctx, other, "score", &data, &score, &err) == SB_OK && sb_array_read(score, &r2, 8, &err) == SB_OK && r2 > 0.5 && r2 <= 1.0, "R2 %g", r2);
        sb_array_free(score);
        sb_array_free(x);
        sb_array_free(y);
        sb_array_free(w);
        sb_model_free(model);
        sb_model_free(other);
    }
}

// ---- subspaces

static double off(double a, double b) { return a > b ? a - b : b - a; }

static void test_components(void) {
    static const double line[8] = {-1, 2, 0, 3, 2, 5, 3, 6}, flat[6] = {3, 0, 0, 2, 0, 0}; // along (1, 1) about (1, 4): -2, -1, 1, 2
    static const char *const solvers[] = {"covariance_eigh", "full", "randomized", "auto", "arpack"};
    const double half = 0x1.6a09e667f3bcdp-1; // 1 / sqrt(2)
    EACH_CONTEXT(c) {
        if (c.threads != 1 && c.threads != 3) continue;
        sb_array *x = array_of(c.ctx, SB_F64, 2, SHAPE(4, 2), line), *wide = array_of(c.ctx, SB_F64, 2, SHAPE(2, 4), line), *one = array_of(c.ctx, SB_F64, 2, SHAPE(1, 2), line);
        for (int i = 0; i < 5; i++) {
            sb_model *model = made(c.ctx, "pca");
            set(model, "svd_solver", solvers[i]);
            set(model, "n_components", "1");
            CHECK(FITS(model, "fit", .x = x), "%s: %s", solvers[i], err.message);
            CHECK(off(at(model, "components", 0), half) < 1e-15 && off(at(model, "components", 1), half) < 1e-15 && at(model, "mean", 0) == 1.0 &&
                  at(model, "mean", 1) == 4.0 && off(at(model, "explained_variance", 0), 20.0 / 3.0) < 1e-14 && off(at(model, "explained_variance_ratio", 0), 1.0) < 1e-15 &&
                  off(at(model, "singular_values", 0), 0x1.1e3779b97f4a8p+2) < 1e-14 && at(model, "noise_variance", 0) < 1e-15 && at(model, "n_components", 0) == 1.0 &&
                  at(model, "n_samples", 0) == 4.0, "%s: %.17g %.17g", solvers[i], at(model, "components", 0), at(model, "explained_variance", 0));
            sb_array *z = called(c.ctx, model, "transform", x), *back = called(c.ctx, model, "inverse_transform", z);
            double rows[8] = {0};
            CHECK(sb_array_read(back, rows, sizeof rows, &err) == SB_OK && sb_array_shape(z)[1] == 1, "%s", err.message);
            for (int j = 0; j < 8; j++) CHECK(off(rows[j], line[j]) < 1e-14, "%s: back %d: %.17g", solvers[i], j, rows[j]);
            sb_array *none = NULL;
            const sb_data wrong = {.size = sizeof wrong, .x = x};
            CHECK(sb_model_call(c.ctx, model, "inverse_transform", &wrong, &none, &err) == SB_ERR_SHAPE && strstr(err.message, "1 features"), "%s", err.message);
            CHECK(!FITS(model, "fit", .x = one) && err.status == SB_ERR_ARGUMENT && strstr(err.message, "n_samples=1"), "%s", err.message);
            sb_array_free(z);
            sb_array_free(back);
            sb_model_free(model);
        }
        static const struct { const char *components, *solver, *words; } refused[] = {{"3", "full", "between 1 and min"}, {"2", "arpack", "strictly less"},
            {"0.5", "randomized", "fraction"}, {"mle", "auto", "n_samples >= n_features"}};
        for (int i = 0; i < 4; i++) {
            sb_model *model = made(c.ctx, "pca");
            set(model, "n_components", refused[i].components);
            set(model, "svd_solver", refused[i].solver);
            CHECK(!FITS(model, "fit", .x = wide) && err.status == SB_ERR_ARGUMENT && strstr(err.message, refused[i].words), "%d: %s", i, err.message);
            sb_model_free(model);
        }
        sb_model *model = made(c.ctx, "pca"); // a singular covariance
        set(model, "n_components", "1");
        CHECK(FITS(model, "fit", .x = x), "%s", err.message);
        sb_array *covariance = called(c.ctx, model, "get_covariance", NULL), *none = NULL;
        double entries[4] = {0};
        CHECK(sb_array_read(covariance, entries, sizeof entries, &err) == SB_OK && off(entries[1], 10.0 / 3.0) < 1e-14, "covariance %g", entries[1]);
        sb_array_free(covariance);
        sb_model_free(model);
        model = made(c.ctx, "pca");
        sb_array *same = array_of(c.ctx, SB_F64, 2, SHAPE(3, 2), (const double[]){1, 2, 1, 2, 1, 2});
        const sb_data data = {.size = sizeof data, .x = same};
        CHECK(FITS(model, "fit", .x = same) && at(model, "explained_variance_ratio", 0) == 0.0, "%s", err.message);
        CHECK(sb_model_call(c.ctx, model, "score", &data, &none, &err) == SB_ERR_SINGULAR && sb_model_call(c.ctx, model, "get_precision", &data, &none, &err) == SB_ERR_SINGULAR, "%s", err.message);
        sb_model_free(model);
        for (int i = 0; i < 2; i++) {
            sb_array *corner = array_of(c.ctx, SB_F64, 2, SHAPE(3, 2), flat);
            model = made(c.ctx, "truncated_svd");
            set(model, "algorithm", i ? "arpack" : "randomized");
            CHECK(FITS(model, "fit", .x = corner) && off(at(model, "singular_values", 0), 3.0) < 1e-14 && off(at(model, "singular_values", 1), 2.0) < 1e-14 &&
                  off(at(model, "components", 0), 1.0) < 1e-15 && off(at(model, "explained_variance", 0), 2.0) < 1e-14, "%s", err.message);
            sb_array_free(corner);
            sb_model_free(model);
            model = made(c.ctx, "truncated_svd");
            set(model, "n_components", "3");
            CHECK(!FITS(model, "fit", .x = x) && err.status == SB_ERR_ARGUMENT && strstr(err.message, "n_components(3) must be <= n_features(2)."), "%s", err.message);
            CHECK(FITS(model, "fit", .x = wide) && sb_array_shape(sb_model_array(model, "components"))[0] == 2, "as many as rows: %s", err.message);
            sb_model_free(model);
        }
        sb_array_free(same);
        sb_array_free(x);
        sb_array_free(wide);
        sb_array_free(one);
    }
}

// ---- mixtures

static void test_mixture(void) {
    static const char *const kinds[] = {"full", "tied", "diag", "spherical"}, *const starts[] = {"kmeans", "k-means++", "random", "random_from_data"};
    enum { N = 240 };
    double rows[2 * N], firsts[4][8] = {{0}};
    for (int i = 0; i < N; i++) { // two groups of different shape
        const double u = (double)(i * 37 % 101) / 101.0 - 0.5, v = (double)(i * 53 % 89) / 89.0 - 0.5;
        rows[2 * i] = i % 3 ? u : 6.0 + 2.0 * v;
        rows[2 * i + 1] = i % 3 ? 2.0 * u + v : 3.0 * u - v;
    }
    EACH_CONTEXT(c) {
        if (c.threads != 1 && c.threads != 3) continue;
        sb_array *x = array_of(c.ctx, SB_F64, 2, SHAPE(N, 2), rows), *few = array_of(c.ctx, SB_F64, 2, SHAPE(3, 2), rows), *one = array_of(c.ctx, SB_F64, 2, SHAPE(1, 2), rows);
        for (int i = 0; i < 4; i++) {
            sb_model *model = made(c.ctx, "gaussian_mixture");
            set(model, "n_components", "2");
            set(model, "covariance_type", kinds[i]);
            set(model, "init_params", starts[i]);
            set(model, "tol", "1e-9");
            set(model, "max_iter", "300");
            set(model, "random_state", "5");
            CHECK(FITS(model, "fit", .x = x) && at(model, "converged", 0) == 1.0, "%s: %s", kinds[i], err.message);
            const int64_t rounds = (int64_t)at(model, "n_iter", 0);
            for (int64_t r = 1; r < rounds; r++)
                CHECK(at(model, "lower_bounds", r) > at(model, "lower_bounds", r - 1) - 1e-12, "%s: the likelihood falls in round %lld", kinds[i], (long long)r);
            CHECK(at(model, "lower_bounds", rounds - 1) == at(model, "lower_bound", 0) && off(at(model, "weights", 0) + at(model, "weights", 1), 1.0) < 1e-15, "%s", kinds[i]);
            double shares[2 * N], likelihood[N], sample[10];
            int64_t labels[N], of_sample[5];
            sb_array *a = called(c.ctx, model, "predict_proba", x), *b = called(c.ctx, model, "predict", x), *l = called(c.ctx, model, "score_samples", x);
            CHECK(sb_array_read(a, shares, sizeof shares, &err) == SB_OK && sb_array_read(b, labels, sizeof labels, &err) == SB_OK &&
                  sb_array_read(l, likelihood, sizeof likelihood, &err) == SB_OK, "%s", err.message);
            for (int j = 0; j < N; j++)
                CHECK(off(shares[2 * j] + shares[2 * j + 1], 1.0) < 1e-15 && (shares[2 * j + 1] > shares[2 * j]) == (labels[j] == 1), "%s: row %d", kinds[i], j);
            const sb_data draws = {.size = sizeof draws, .rows = 5}, none = {.size = sizeof none};
            sb_array *s = NULL, *of = NULL;
            CHECK(sb_model_call(c.ctx, model, "sample", &draws, &s, &err) == SB_OK && sb_model_call(c.ctx, model, "sample_labels", &draws, &of, &err) == SB_OK &&
                  sb_array_read(s, sample, sizeof sample, &err) == SB_OK && sb_array_read(of, of_sample, sizeof of_sample, &err) == SB_OK, "%s", err.message);
            for (int j = 1; j < 5; j++) CHECK(of_sample[j] >= of_sample[j - 1], "%s: a sample is sorted", kinds[i]);
            double *first = firsts[i], now[8] = {at(model, "means", 0), at(model, "means", 3), at(model, "covariances", 0), at(model, "lower_bound", 0), likelihood[7], shares[9], sample[0], sample[9]};
            for (int j = 0; j < 8; j++) CHECK(first[j] == 0.0 || first[j] == now[j], "%s: number %d by level and threads", kinds[i], j);
            memcpy(first, now, sizeof now);
            CHECK(sb_model_call(c.ctx, model, "sample", &none, &s, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "rows") == 0, "%s", err.message);
            sb_array_free(a), sb_array_free(b), sb_array_free(l), sb_array_free(s), sb_array_free(of);
            sb_model_free(model);
        }
        sb_model *model = made(c.ctx, "gaussian_mixture");
        CHECK(!FITS(model, "fit", .x = one) && err.status == SB_ERR_ARGUMENT && strstr(err.message, "minimum of 2"), "%s", err.message);
        set(model, "n_components", "4");
        CHECK(!FITS(model, "fit", .x = few) && strstr(err.message, "n_components = 4, n_samples = 3"), "%s", err.message);
        set(model, "n_components", "2");
        set(model, "reg_covar", "0");
        set(model, "init_params", "random_from_data");
        CHECK(!FITS(model, "fit", .x = few) && strstr(err.message, "ill-defined empirical covariance"), "%s", err.message);
        set(model, "reg_covar", "1e-6");
        sb_array *w = array_of(c.ctx, SB_F64, 1, SHAPE(2), (const double[]){0.5, 0.6}), *p = array_of(c.ctx, SB_F64, 3, SHAPE(2, 2, 2), (const double[]){1, 0, 0, 1, 1, 2, 2, 1});
        CHECK(sb_model_set_array(c.ctx, model, "weights_init", w, &err) == SB_OK && !FITS(model, "fit", .x = x) && strstr(err.message, "normalized"), "%s", err.message);
        set(model, "weights_init", "none");
        CHECK(sb_model_set_array(c.ctx, model, "precisions_init", w, &err) == SB_OK && !FITS(model, "fit", .x = x) && err.status == SB_ERR_SHAPE, "%s", err.message);
        CHECK(sb_model_set_array(c.ctx, model, "precisions_init", p, &err) == SB_OK && !FITS(model, "fit", .x = x) && strstr(err.message, "positive-definite"), "%s", err.message);
        sb_model_free(model);
        sb_array_free(x), sb_array_free(few), sb_array_free(one), sb_array_free(w), sb_array_free(p);
    }
}

// ---- memory: every request refused in turn is a named error, and nothing is left over

static sb_status whole_life(sb_context *ctx, const char *name, const char *setting, const char *text, sb_error *why) {
    static const double numbers[24] = {1, 2, 9, 4, 5, 1, 7, 8, 2, 3, 3, 6, 1, 2, 9, 0, 5, 4, 4, 8, 1, 2, 2, 7}, goal[8] = {1, 3, 2, 5, 4, 9, 7, 8};
    static const int64_t numbers_of_classes[8] = {1, 0, 1, 1, 0, 0, 2, 2};
    const bool classes = sb_algorithm_takes(name, "classes");
    sb_array *x = NULL, *y = NULL, *w = NULL, *out = NULL, *forth = NULL;
    sb_model *model = NULL, *again = NULL;
    sbi_algorithm algorithm;
    int64_t size = 0;
    uint8_t digest[32], *bytes = NULL;
    sb_status status;
    if ((status = sb_array_new(ctx, SB_F64, 2, SHAPE(8, 3), &x, why)) || (status = sb_array_write(x, numbers, sizeof numbers, why)) ||
        (status = sb_array_new(ctx, classes ? SB_I64 : SB_F64, 1, SHAPE(8), &y, why)) ||
        (status = sb_array_write(y, classes ? (const void *)numbers_of_classes : goal, sizeof goal, why)) ||
        (status = sb_array_new(ctx, SB_F64, 1, SHAPE(8), &w, why)) || (status = sb_array_write(w, goal, sizeof goal, why)) ||
        (status = sb_model_new(ctx, name, &model, why)) || (setting && (status = sb_model_set(model, setting, text, why))))
        goto done;
    sbi_algorithm_find(name, &algorithm);
    const sb_data data = {.size = sizeof data, .x = x, .y = y, .weights = sbi_row_has(algorithm.input, "weights") ? w : NULL,
                          .classes = classes ? "[\"a\", \"b\", \"c\"]" : NULL, .rows = 3};
    if ((status = sb_model_fit(ctx, model, "fit", &data, why)) || (status = sb_model_digest(ctx, model, digest, why)) ||
        (status = sb_model_store(model, NULL, 0, &size, why)))
        goto done;
    bytes = malloc((size_t)size);
    if ((status = sb_model_store(model, bytes, size, &size, why)) || (status = sb_model_restore(ctx, bytes, size, &again, why))) goto done;
    for (const sbi_method_row *m = algorithm.methods; m->name && status == SB_OK; m++) {
        const sb_data back = {.size = sizeof back, .x = forth};
        if (*m->dtype) status = sb_model_call(ctx, again, m->name, strcmp(m->name, "inverse_transform") ? &data : &back, &out, why);
        sb_array_free(strcmp(m->name, "transform") ? out : NULL);
        if (strcmp(m->name, "transform") == 0) forth = out;
        out = NULL;
    }
done:
    sb_array_free(forth);
    sb_model_free(model);
    sb_model_free(again);
    sb_array_free(x);
    sb_array_free(y);
    sb_array_free(w);
    free(bytes);
    return status;
}

// A fit that was made elsewhere.
static void test_take(sb_context *ctx) {
    const double centres[6] = {0.0, 0.0, 4.0, 1.0, -3.0, 2.0}, inertia = 1.5, points[4] = {3.0, 1.0, -2.0, 2.0};
    const int32_t labels[4] = {0, 2, 1, 1};
    const int64_t rounds = 3;
    sb_array *a[4] = {array_of(ctx, SB_F64, 2, SHAPE(3, 2), centres), array_of(ctx, SB_I32, 1, SHAPE(4), labels), array_of(ctx, SB_F64, 0, NULL, &inertia),
                      array_of(ctx, SB_I64, 0, NULL, &rounds)};
    sb_array *x = array_of(ctx, SB_F64, 2, SHAPE(2, 2), points), *wrong = array_of(ctx, SB_F64, 2, SHAPE(2, 3), centres);
    const char *const names[] = {"cluster_centers", "labels", "inertia", "n_iter"}, *const strange[] = {"centres"}, *const sizes[] = {"n", "d"};
    const char *const holes[] = {NULL, "d"};
    const sb_array *const arrays[] = {a[0], a[1], a[2], a[3]}, *const turned[] = {wrong}, *const none[] = {NULL};
    const sb_fitted usual = {.size = sizeof usual, .dtype = SB_F64, .size_count = 2, .size_names = sizes, .sizes = SHAPE(4, 2), .array_count = 4,
                             .array_names = names, .arrays = arrays};
    sb_model *model = made(ctx, "kmeans");
    set(model, "n_clusters", "3");
    sb_fitted f;
#define REFUSED(name, change) \
    do { \
        f = usual; \
        change; \
        err = (sb_error){0}; \
        CHECK(sb_model_take(ctx, model, &f, &err) == SB_ERR_ARGUMENT && err.status == SB_ERR_ARGUMENT && strcmp(err.argument, name) == 0 && \
              !sb_model_fitted(model), "%s: %s (%s) %s", #change, sb_status_name(err.status), err.argument, err.message); \
    } while (0)
    REFUSED("dtype", f.dtype = SB_I32);
    REFUSED("sizes", f.size_count = 1);
    REFUSED("sizes", f.sizes = SHAPE(4, 0));
    REFUSED("sizes", f.sizes = SHAPE(4, -2));
    REFUSED("sizes", f.sizes = NULL);
    REFUSED("size_names", f.size_names = NULL);
    REFUSED("size_names", f.size_names = holes);
    REFUSED("n_iter", f.array_count = 3);
    REFUSED("array_names", (f.array_count = 1, f.array_names = strange));
    REFUSED("array_names", f.array_names = holes);
    REFUSED("cluster_centers", (f.array_count = 1, f.arrays = turned));
    REFUSED("arrays", (f.array_count = 1, f.arrays = none));
    REFUSED("labels", f.sizes = SHAPE(5, 2));
    REFUSED("fitted", f.array_count = -1);
    REFUSED("options", f.size = 9);
#undef REFUSED
    set(model, "n_clusters", "2"); // a label of a cluster that is not there
    CHECK(sb_model_take(ctx, model, &usual, &err) == SB_ERR_ARGUMENT && !sb_model_fitted(model), "%s", err.message);
    set(model, "n_clusters", "3");
    CHECK(sb_model_take(NULL, model, &usual, &err) == SB_ERR_ARGUMENT && sb_model_take(ctx, NULL, &usual, &err) == SB_ERR_ARGUMENT &&
          sb_model_take(ctx, model, NULL, &err) == SB_ERR_ARGUMENT, "NULL");
    CHECK(sb_model_take(ctx, model, &usual, &err) == SB_OK && sb_model_fitted(model), "%s", err.message);
    sb_array *out = called(ctx, model, "predict", x);
    CHECK(array_is(out, ((const int32_t[]){1, 2})) && at(model, "inertia", 0) == 1.5 && at(model, "n_iter", 0) == 3.0 && sb_model_features(model) == 2, "what was taken");
    CHECK(sb_model_take(ctx, model, &usual, &err) == SB_ERR_STATE, "taken twice");
    sb_model *narrow = made(ctx, "kmeans");
    set(narrow, "n_clusters", "3");
    f = usual;
    f.dtype = SB_F32;
    CHECK(sb_model_take(ctx, narrow, &f, &err) == SB_OK && sb_array_dtype(sb_model_array(narrow, "cluster_centers")) == SB_F32, "%s", err.message);
    sb_model *classifier = made(ctx, "gaussian_nb");
    f = usual;
    f.array_count = 0;
    CHECK(sb_model_take(ctx, classifier, &f, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "classes") == 0, "%s", err.message);
    f.classes = "[\"b\", \"a\"]";
    CHECK(sb_model_take(ctx, classifier, &f, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "classes") == 0, "%s", err.message);
    f.classes = "[\"a\", \"b\"]";
    CHECK(sb_model_take(ctx, classifier, &f, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "class_count") == 0 && !sb_model_fitted(classifier), "%s", err.message);
    sb_model_free(classifier);
    // A scaler without what partial_fit goes on from stays what it is.
    const double ones[2] = {1.0, 2.0};
    sb_array *one = array_of(ctx, SB_F64, 1, SHAPE(2), ones);
    const char *const moments[] = {"scale", "mean", "var", "n_samples_seen"};
    const sb_array *const four[] = {one, one, one, one};
    sb_model *scaler = made(ctx, "standard_scaler");
    f = usual;
    f.array_names = moments;
    f.arrays = four;
    CHECK(sb_model_take(ctx, scaler, &f, &err) == SB_OK, "%s", err.message);
    const sb_data data = {.size = sizeof data, .x = x};
    CHECK(sb_model_fit(ctx, scaler, "partial_fit", &data, &err) == SB_ERR_UNSUPPORTED && sb_model_fitted(scaler), "%s", err.message);
    CHECK(sb_model_fit(ctx, scaler, "fit", &data, &err) == SB_OK && sb_model_fit(ctx, scaler, "partial_fit", &data, &err) == SB_OK, "%s", err.message);
    sb_model_free(model), sb_model_free(narrow), sb_model_free(scaler);
    sb_array_free(out), sb_array_free(x), sb_array_free(wrong), sb_array_free(one);
    for (int i = 0; i < 4; i++) sb_array_free(a[i]);
}

static void test_memory(void) {
    static const struct { const char *name, *setting, *text; } lives[] = {
        {"gaussian_nb", NULL, NULL},
        {"dbscan", "eps", "4"},
        {"kmeans", "n_clusters", "2"},
        {"nearest_neighbors", "metric", "cosine"},
        {"kneighbors_classifier", "weights", "distance"},
        {"kneighbors_regressor", NULL, NULL},
        {"linear_regression", NULL, NULL},
        {"ridge", NULL, NULL},
        {"lasso", NULL, NULL},
        {"logistic_regression", "max_iter", "3"},
        {"elastic_net", NULL, NULL},
        {"standard_scaler", NULL, NULL},
        {"min_max_scaler", "clip", "true"},
        {"simple_imputer", "add_indicator", "true"},
        {"ordinal_encoder", "max_categories", "2"},
        {"one_hot_encoder", "drop", "first"},
        {"pca", "svd_solver", "randomized"},
        {"pca", "n_components", "mle"},
        {"pca", "whiten", "true"},
        {"truncated_svd", "n_components", "3"},
        {"gaussian_mixture", "n_components", "2"},
        {"gaussian_mixture", "covariance_type", "tied"},
        {"gaussian_mixture", "covariance_type", "diag"},
        {"gaussian_mixture", "init_params", "k-means++"}};
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
        bool whole = false;
        long refused = 0;
        for (long after = 0; !whole && after < 4000; after++) {
            purse p = {-1, 0};
            sb_context *ctx = NULL;
            sb_error why = {0};
            const sb_context_options options = {.size = sizeof options, .threads = 1, .allocate = granted, .release = given_back, .user = &p, .trace = ""};
            if (sb_context_new(&options, &ctx, &why) != SB_OK) break;
            const long before = p.live;
            p.left = after;
            sb_status status = whole_life(ctx, lives[i].name, lives[i].setting, lives[i].text, &why);
            whole = status == SB_OK;
            refused += status == SB_ERR_MEMORY;
            CHECK(whole || (status == SB_ERR_MEMORY && why.status == SB_ERR_MEMORY && *why.message), "%s after %ld: %s %s", lives[i].name, after, sb_status_name(status), why.message);
            // (one is kept: the pool's scratch, which goes with the context)
            CHECK(p.live <= before + 1, "%s after %ld: %ld blocks are left", lives[i].name, after, p.live - before);
            p.left = -1;
            sb_context_free(ctx);
            CHECK(p.live == 0, "%s after %ld: the context left %ld", lives[i].name, after, p.live);
        }
        CHECK(whole && refused > 50, "%s: %ld refusals", lives[i].name, refused);
    }
}

int main(void) {
    sb_context *ctx = NULL;
    CHECK(sb_context_new(NULL, &ctx, &err) == SB_OK, "%s", err.message);
    if (!ctx || !open_folder(NULL)) return 1;
    test_rows();
    test_types();
    test_parameters(ctx);
    test_null(ctx);
    test_file(ctx);
    test_tables(ctx);
    test_sparse_tables(ctx);
    test_sparse(ctx);
    test_refused(ctx);
    test_kmeans();
    test_scaler();
    test_ranges();
    test_imputer();
    test_ordinal();
    test_one_hot();
    test_least_squares();
    test_take(ctx);
    test_components();
    test_mixture();
    test_memory();
    sb_context_free(ctx);
    clear(folder);
    return test_end();
}
