// SPDX-License-Identifier: Apache-2.0
// Neighbours: known faults of others, every metric against the definition on numbers whose sums are exact (so that ties are many),
// however rows and points are cut; settings of one call and several results; classes and targets; DBSCAN.
#include "models.h"

// ---- against the definition

enum { POINTS = 1300, QUERIES = 260, WIDTH = 5, K = 17 };

static double apart(const double *a, const double *b, int kind) { // before the last step; whole numbers, or a quotient of them
    double sum = 0.0, most = 0.0, aa = 0.0, bb = 0.0;
    for (int j = 0; j < WIDTH; j++) {
        const double t = a[j] > b[j] ? a[j] - b[j] : b[j] - a[j];
        sum += kind == 0 ? t * t : kind == 1 ? t : kind == 3 ? t * t * t : a[j] * b[j];
        most = t > most ? t : most;
        aa += a[j] * a[j];
        bb += b[j] * b[j];
    }
    if (kind == 2) return most;
    if (kind != 4) return sum;
    double root = aa * bb; // Newton's steps would do; the kernel's own root is correctly rounded, as is this
    root = __builtin_sqrt(root);
    const double cosine = root > 0.0 ? sum / root : 0.0;
    return 1.0 - (cosine > 1.0 ? 1.0 : cosine < -1.0 ? -1.0 : cosine);
}

static void test_definition(void) {
    static const char *const metrics[] = {"euclidean", "manhattan", "chebyshev", "minkowski", "cosine"};
    static double points[POINTS * WIDTH], queries[QUERIES * WIDTH];
    static int64_t expected[QUERIES * K], got[QUERIES * K];
    uint64_t state = 5;
    for (int i = 0; i < POINTS * WIDTH; i++) points[i] = (double)(next_word(&state) % 7) - 3.0;
    for (int i = 0; i < QUERIES * WIDTH; i++) queries[i] = (double)(next_word(&state) % 9) - 4.0;
    for (int kind = 0; kind < 5; kind++) {
        for (int i = 0; i < QUERIES; i++) {
            double list[K];
            int have = 0;
            for (int j = 0; j < POINTS; j++) {
                const double far = apart(queries + i * WIDTH, points + j * WIDTH, kind);
                if (have == K && !(far < list[K - 1])) continue;
                int at = have < K ? have++ : K - 1;
                for (; at > 0 && list[at - 1] > far; at--) {
                    list[at] = list[at - 1];
                    expected[i * K + at] = expected[i * K + at - 1];
                }
                list[at] = far;
                expected[i * K + at] = j;
            }
        }
        EACH_CONTEXT(c) {
            if (c.threads != 1 && c.threads != 3) continue;
            sb_model *model = made(c.ctx, "nearest_neighbors");
            sb_array *x = array_of(c.ctx, SB_F64, 2, SHAPE(POINTS, WIDTH), points), *results[2] = {NULL};
            set(model, "metric", metrics[kind]);
            set(model, "p", "3");
            CHECK(FITS(model, "fit", .x = x), "%s", err.message);
            for (int n = QUERIES; n >= 1; n -= 113) { // other rows beside a row, other blocks
                sb_array *q = array_of(c.ctx, SB_F64, 2, SHAPE(n, WIDTH), queries);
                const sb_data data = {.size = sizeof data, .x = q, .settings = "n_neighbors=17"};
                CHECK(sb_model_call_many(c.ctx, model, "kneighbors", &data, 2, results, &err) == SB_OK, "%s", err.message);
                CHECK(sb_array_read(results[1], got, (size_t)n * K * 8, &err) == SB_OK && memcmp(got, expected, (size_t)n * K * 8) == 0, "%s at %s, %d rows", metrics[kind], c.level, n);
                for (int i = 0; i < 2; i++) sb_array_free(results[i]);
                sb_array_free(q);
            }
            sb_array_free(x);
            sb_model_free(model);
        }
    }
}

// ---- faults of others

static int64_t nearest_to(sb_context *ctx, const char *metric, int64_t n, int64_t d, const double *points, const double *query, double *distance) {
    sb_model *model = made(ctx, "nearest_neighbors");
    sb_array *x = array_of(ctx, SB_F64, 2, SHAPE(n, d), points), *q = array_of(ctx, SB_F64, 2, SHAPE(1, d), query), *results[2] = {NULL};
    const context_walk c = {.ctx = ctx};
    const sb_data data = {.size = sizeof data, .x = q};
    int64_t index = -1;
    set(model, "n_neighbors", "1");
    set(model, "metric", metric);
    CHECK(FITS(model, "fit", .x = x) && sb_model_call_many(ctx, model, "kneighbors", &data, 2, results, &err) == SB_OK &&
          sb_array_read(results[0], distance, 8, &err) == SB_OK && sb_array_read(results[1], &index, 8, &err) == SB_OK, "%s", err.message);
    for (int i = 0; i < 2; i++) sb_array_free(results[i]);
    sb_array_free(x);
    sb_array_free(q);
    sb_model_free(model);
    return index;
}

static void test_cases(sb_context *ctx) {
    double distance = 0.0;
    CHECK(nearest_to(ctx, "euclidean", 2, 2, (double[]){1, 0, 0, 1}, (double[]){0, 0}, &distance) == 0 && distance == 1.0, "a tie");
    CHECK(nearest_to(ctx, "euclidean", 2, 2, (double[]){0, 1, 1, 0}, (double[]){0, 0}, &distance) == 0, "a tie, turned");
    enum { MILLION = 1000000 };
    double *rows = malloc(2 * MILLION * sizeof *rows);
    for (int64_t i = 0; i < MILLION; i++) rows[i] = 1.0;
    for (int64_t i = MILLION; i < 2 * MILLION; i++) rows[i] = 1.1;
    nearest_to(ctx, "euclidean", 1, MILLION, rows, rows + MILLION, &distance); // 1000 (1.1 - 1)
    CHECK(distance > 100.0 && distance < 100.0000000001, "by expansion it is another: %.17g", distance);
    free(rows);
    const double u[3] = {0.1, 0.2, 0.3}, v[3] = {0.3, 0.6, 0.9};
    nearest_to(ctx, "cosine", 1, 3, u, v, &distance);
    CHECK(distance >= 0.0 && distance < 1e-15, "a cosine above 1: %g", distance);
    nearest_to(ctx, "cosine", 1, 3, u, u, &distance);
    CHECK(distance == 0.0, "itself: %g", distance);
    nearest_to(ctx, "cosine", 1, 3, u, (double[]){0, 0, 0}, &distance);
    CHECK(distance == 1.0, "nothing: %g", distance);
    const double huge[2] = {1e308, -1e308};
    CHECK(nearest_to(ctx, "euclidean", 2, 1, huge, (double[]){1e308}, &distance) == 0 && distance == 0.0, "beyond products: %g", distance);
}

static void test_calls(sb_context *ctx) {
    static const double line[6] = {0, 1, 2, 4, 8, 8};
    const context_walk c = {.ctx = ctx};
    sb_array *x = array_of(ctx, SB_F64, 2, SHAPE(6, 1), line), *results[3] = {NULL};
    sb_model *model = made(ctx, "nearest_neighbors");
    set(model, "n_neighbors", "2");
    set(model, "radius", "2");
    CHECK(FITS(model, "fit", .x = x), "%s", err.message);
    const sb_data own = {.size = sizeof own}, all = {.size = sizeof all, .x = x, .settings = "n_neighbors=6"};
    CHECK(sb_model_call_many(ctx, model, "kneighbors", &own, 2, results, &err) == SB_OK && array_is(results[1], (int64_t[]){1, 2, 0, 2, 1, 0, 2, 1, 5, 3, 4, 3}), "itself: %s", err.message);
    for (int i = 0; i < 2; i++) sb_array_free(results[i]);
    CHECK(sb_model_call(ctx, model, "kneighbors", &all, results, &err) == SB_OK && sb_array_shape(results[0])[1] == 6, "%s", err.message);
    sb_array_free(results[0]);
    CHECK(sb_model_call_many(ctx, model, "radius_neighbors", &own, 3, results, &err) == SB_OK && array_is(results[2], (int64_t[]){0, 2, 4, 7, 8, 9, 10}) &&
          array_is(results[1], (int64_t[]){1, 2, 0, 2, 1, 0, 3, 2, 5, 4}) && array_is(results[0], (double[]){1, 2, 1, 1, 1, 2, 2, 2, 0, 0}), "radius: %s", err.message);
    for (int i = 0; i < 3; i++) sb_array_free(results[i]);
    static const struct { const char *settings; sb_status status; const char *words; } tries[] = {
        {"n_neighbors=7", SB_ERR_ARGUMENT, "Expected n_neighbors <= n_samples_fit, but n_neighbors = 7, n_samples_fit = 6, n_samples = 6"}, {"n_neighbors=0", SB_ERR_ARGUMENT, "int [1, inf)"},
        {"neighbors=3", SB_ERR_ARGUMENT, "no parameter"}, {"n_neighbors", SB_ERR_ARGUMENT, "NAME=VALUE"}, {"=3", SB_ERR_ARGUMENT, "NAME=VALUE"}, {"n_neighbors= radius=1", SB_ERR_ARGUMENT, "NAME=VALUE"}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        const sb_data data = {.size = sizeof data, .x = x, .settings = tries[i].settings};
        CHECK(sb_model_call(ctx, model, "kneighbors", &data, results, &err) == tries[i].status && strstr(err.message, tries[i].words) && !results[0], "%s: %s", tries[i].settings, err.message);
    }
    const sb_data six = {.size = sizeof six, .settings = "n_neighbors=6"};
    CHECK(sb_model_call(ctx, model, "kneighbors", &six, results, &err) == SB_ERR_ARGUMENT && strstr(err.message, "n_neighbors < n_samples_fit"), "%s", err.message);
    CHECK(sb_model_call_many(ctx, model, "kneighbors", &all, 3, results, &err) == SB_ERR_ARGUMENT && !results[0] && sb_model_call_many(ctx, model, "kneighbors", &all, 0, results, &err) == SB_ERR_ARGUMENT &&
          sb_model_call_many(ctx, model, "kneighbors", &all, 9, results, &err) == SB_ERR_ARGUMENT && sb_model_call_many(ctx, model, "kneighbors", &all, 1, NULL, &err) == SB_ERR_ARGUMENT &&
          sb_model_call_many(NULL, model, "kneighbors", &all, 1, results, &err) == SB_ERR_ARGUMENT, "%s", err.message);
    sb_array_free(x);
    sb_model_free(model);
}

// Votes and means, alike and by distance; a row at distance 0 counts alone.
static void test_votes(sb_context *ctx) {
    static const double line[5] = {0, 1, 3, 10, 11}, queries[3] = {2.25, 3, 10.5};
    const context_walk c = {.ctx = ctx};
    sb_array *x = array_of(ctx, SB_F64, 2, SHAPE(5, 1), line), *q = array_of(ctx, SB_F64, 2, SHAPE(3, 1), queries), *y = array_of(ctx, SB_I64, 1, SHAPE(5), (int64_t[]){1, 1, 0, 2, 0});
    sb_array *target = array_of(ctx, SB_F64, 1, SHAPE(5), (double[]){1, 2, 4, 8, 16});
    for (int by_distance = 0; by_distance < 2; by_distance++) {
        sb_model *classes = made(ctx, "kneighbors_classifier"), *values = made(ctx, "kneighbors_regressor");
        for (int i = 0; i < 2; i++) {
            set(i ? values : classes, "n_neighbors", "3");
            set(i ? values : classes, "weights", by_distance ? "distance" : "uniform");
        }
        CHECK(FITS(classes, "fit", .x = x, .y = y) && FITS(values, "fit", .x = x, .y = target), "%s", err.message);
        sb_array *label = called(ctx, classes, "predict", q), *mean = called(ctx, values, "predict", q), *chance = called(ctx, classes, "predict_proba", q);
        CHECK(array_is(label, by_distance ? (int64_t[]){0, 0, 0} : (int64_t[]){1, 1, 0}), "labels");
        double got[9];
        CHECK(sb_array_read(mean, got, 24, &err) == SB_OK && got[1] == (by_distance ? 4.0 : 7.0 / 3), "mean %.17g", got[1]);
        CHECK(sb_array_read(chance, got, 72, &err) == SB_OK && got[4] == (by_distance ? 0.0 : 2.0 / 3) && got[3] + got[4] + got[5] == 1.0, "chance %.17g", got[4]);
        sb_array *const all[] = {label, mean, chance};
        for (size_t i = 0; i < 3; i++) sb_array_free(all[i]);
        sb_model_free(classes);
        sb_model_free(values);
    }
    sb_array *const all[] = {x, q, y, target};
    for (size_t i = 0; i < 4; i++) sb_array_free(all[i]);
}

// ---- DBSCAN

static void test_clusters(void) {
    // Two squares of four, a point as far from both (its nearest cores tie: the one with the lesser values has it), and one alone.
    static const double points[20] = {0, 0, 0, 1, 1, 0, 1, 1, 5, 0, 5, 1, 6, 0, 6, 1, 3, 0, 20, 20}, weights[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 4};
    EACH_CONTEXT(c) {
        if (c.threads != 1 && c.threads != 3) continue;
        for (int turned = 0; turned < 2; turned++) {
            double rows[20];
            for (int i = 0; i < 10; i++) memcpy(rows + 2 * i, points + 2 * (turned ? 9 - i : i), 16);
            sb_model *model = made(c.ctx, "dbscan");
            sb_array *x = array_of(c.ctx, SB_F64, 2, SHAPE(10, 2), rows), *w = array_of(c.ctx, SB_F64, 1, SHAPE(10), weights);
            set(model, "eps", "2");
            set(model, "min_samples", "4");
            CHECK(FITS(model, "fit", .x = x), "%s", err.message);
            const sb_array *labels = sb_model_array(model, "labels");
            CHECK(array_is(labels, turned ? (int64_t[]){-1, 1, 0, 0, 0, 0, 1, 1, 1, 1} : (int64_t[]){0, 0, 0, 0, 1, 1, 1, 1, 0, -1}), "labels %d", turned);
            CHECK(sb_array_size(sb_model_array(model, "core_sample_indices")) == 8, "cores");
            if (!turned) {
                CHECK(FITS(model, "fit", .x = x, .weights = w) && at(model, "labels", 9) == 2.0, "a weight of 4 is a core: %s", err.message);
                sb_model *none = made(c.ctx, "dbscan");
                set(none, "min_samples", "9");
                CHECK(FITS(none, "fit", .x = x) && at(none, "labels", 0) == -1.0 && sb_array_size(sb_model_array(none, "components")) == 0, "%s", err.message);
                sb_model_free(none);
            }
            sb_array_free(x);
            sb_array_free(w);
            sb_model_free(model);
        }
    }
}

int main(void) {
    sb_context *ctx = NULL;
    CHECK(sb_context_new(NULL, &ctx, &err) == SB_OK, "%s", err.message);
    if (!ctx) return 1;
    test_definition();
    test_cases(ctx);
    test_calls(ctx);
    test_votes(ctx);
    test_clusters();
    sb_context_free(ctx);
    return test_end();
}
