// SPDX-License-Identifier: Apache-2.0
// Searches by a tree against the reference, which looks at all rows by definition: the nearest, those within a radius, DBSCAN, on
// hostile tables, to the bit, at several levels and thread counts.
#include "models.h"
#include "reference_device.h"

enum { ROWS = 530, QUERIES = 260, WIDEST = 11 };

static uint64_t state = 11;
static double uniform(void) { return (double)(next_word(&state) >> 11) * 0x1p-52 - 1.0; } // of 52 bits, in [-1, 1)

typedef enum table { GENERAL, TIES, EQUAL, HUGE_NUMBERS, TINY, LEAST_NUMBERS, BINADES, TWICE, CLUSTERED, TABLES } table;

static void fill(table kind, sb_dtype dtype, int64_t d, double *x) {
    const bool narrow = dtype == SB_F32;
    const double greatest = narrow ? 0x1.fffffep127 : 0x1.fffffffffffffp1023, normal = narrow ? 0x1p-126 : 0x1p-1022, least = narrow ? 0x1p-149 : 0x1p-1074;
    for (int64_t i = 0; i < ROWS * d; i++) {
        const double u = uniform();
        switch (kind) {
        case TIES: x[i] = (double)(next_word(&state) % 4) - 1.0; break;
        case EQUAL: x[i] = i % d ? 0.3 : -0.0; break;
        case HUGE_NUMBERS: x[i] = u * greatest; break;
        case TINY: x[i] = u * normal; break;
        case LEAST_NUMBERS: x[i] = ((double)(next_word(&state) % 7) - 3.0) * least; break;
        case BINADES: x[i] = u * (next_word(&state) % 2 ? 0x1p40 : 1.0) * (next_word(&state) % 2 ? 0x1p-30 : 1.0); break;
        case TWICE: x[i] = i < ROWS / 2 * d ? u : x[i - ROWS / 2 * d]; break;
        case CLUSTERED: x[i] = u * 0.1 + (double)(i / d % 5) * 1.3; break;
        default: x[i] = u;
        }
    }
}

static sb_array *array_as(sb_context *ctx, sb_dtype dtype, int64_t n, int64_t d, const double *x) {
    static float narrow[ROWS * WIDEST];
    for (int64_t i = 0; i < n * d && dtype == SB_F32; i++) narrow[i] = (float)x[i];
    return array_of(ctx, dtype, 2, SHAPE(n, d), dtype == SB_F32 ? (const void *)narrow : x);
}

typedef struct answers { // of a search: what it gave, one array after another
    unsigned char *bytes;
    size_t size;
} answers;

static void add(answers *a, const sb_array *from) {
    const size_t more = (size_t)sb_array_size(from) * sb_dtype_size(sb_array_dtype(from));
    a->bytes = realloc(a->bytes, a->size + more + 1);
    CHECK(sb_array_read(from, a->bytes + a->size, more, &err) == SB_OK, "%s", err.message);
    a->size += more;
}

typedef struct question {
    table kind;
    sb_dtype dtype;
    int64_t d;
    bool slow; // the reference is
    const char *metric, *p;
    double x[ROWS * WIDEST], queries[QUERIES * WIDEST], weights[ROWS];
    char radius[40]; // a distance that some pair has
} question;

static void ask(sb_context *ctx, const question *q, const sb_array *queries, int count, const char *method, const char *settings, answers *to, const sb_model *model) {
    sb_array *results[3] = {NULL};
    const sb_data data = {.size = sizeof data, .x = queries, .settings = settings};
    CHECK(sb_model_call_many(ctx, model, method, &data, count, results, &err) == SB_OK, "%d %s: %s", (int)q->kind, q->metric, err.message);
    for (int i = 0; i < count && results[i]; i++) add(to, results[i]);
    for (int i = 0; i < count; i++) sb_array_free(results[i]);
}

static answers answer(sb_context *ctx, const question *q) {
    const context_walk c = {.ctx = ctx};
    answers a = {NULL, 0};
    char settings[64];
    sb_array *x = array_as(ctx, q->dtype, ROWS, q->d, q->x), *y = array_as(ctx, q->dtype, QUERIES, q->d, q->queries), *w = array_of(ctx, SB_F64, 1, SHAPE(ROWS), q->weights);
    sb_model *model = made(ctx, "nearest_neighbors"), *clusters = made(ctx, "dbscan");
    set(model, "metric", q->metric);
    set(model, "p", q->p);
    CHECK(FITS(model, "fit", .x = x), "%s", err.message);
    snprintf(settings, sizeof settings, "radius=%s", q->radius);
    ask(ctx, q, y, 2, "kneighbors", "n_neighbors=11", &a, model);
    ask(ctx, q, NULL, 2, "kneighbors", "n_neighbors=1", &a, model);
    ask(ctx, q, y, 3, "radius_neighbors", settings, &a, model);
    ask(ctx, q, NULL, 3, "radius_neighbors", settings, &a, model);
    set(clusters, "metric", q->metric);
    set(clusters, "p", q->p);
    if (strtod(q->radius, NULL) > 0.0) set(clusters, "eps", q->radius);
    set(clusters, "min_samples", q->d < 3 ? "9" : "4");
    for (int weighted = 0; weighted < 2; weighted++) {
        CHECK(FITS(clusters, "fit", .x = x, .weights = weighted ? w : NULL), "%s", err.message);
        add(&a, sb_model_array(clusters, "labels"));
        add(&a, sb_model_array(clusters, "core_sample_indices"));
    }
    sb_model_free(model);
    sb_model_free(clusters);
    sb_array *const all[] = {x, y, w};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
    return a;
}

// A distance between some row and its second neighbour, as text that reads back.
static void choose_radius(sb_context *ctx, question *q) {
    sb_array *x = array_as(ctx, q->dtype, ROWS, q->d, q->x), *far = NULL;
    sb_model *model = made(ctx, "nearest_neighbors");
    const context_walk c = {.ctx = ctx};
    const sb_data data = {.size = sizeof data, .settings = "n_neighbors=6"};
    double row[6];
    float narrow[6];
    set(model, "metric", q->metric);
    set(model, "p", q->p);
    CHECK(FITS(model, "fit", .x = x) && sb_model_call(ctx, model, "kneighbors", &data, &far, &err) == SB_OK, "%s", err.message);
    const size_t bytes = (size_t)sb_array_size(far) * sb_dtype_size(q->dtype);
    unsigned char *all = malloc(bytes);
    CHECK(sb_array_read(far, all, bytes, &err) == SB_OK, "%s", err.message);
    memcpy(row, all, sizeof row);
    memcpy(narrow, all, sizeof narrow);
    const double radius = q->dtype == SB_F32 ? (double)narrow[5] : row[5];
    snprintf(q->radius, sizeof q->radius, "%.17g", radius - radius == 0.0 ? radius : 1e300);
    free(all);
    sb_array_free(far);
    sb_array_free(x);
    sb_model_free(model);
}

static void compare(sb_context *reference, question *q) {
    for (int64_t i = 0; i < QUERIES; i++) // rows themselves, and what lies between
        for (int64_t j = 0; j < q->d; j++) q->queries[i * q->d + j] = i % 2 ? q->x[2 * i * q->d + j] : 0.5 * q->x[2 * i * q->d + j] + 0.5 * q->x[(2 * i + 1) * q->d + j];
    for (int64_t i = 0; i < ROWS; i++) q->weights[i] = 0.5 + 0.3 * (uniform() + 1.0);
    choose_radius(reference, q);
    answers expected = answer(reference, q);
    EACH_CONTEXT(c) {
        if (c.threads != (c.level_index % 2 ? 1 : 3) || (c.level_index && (q->d == 2 || q->slow))) continue; // (every level at some widths)
        answers got = answer(c.ctx, q);
        CHECK(got.size == expected.size && memcmp(got.bytes, expected.bytes, got.size) == 0, "table %d, %s, %lld features, %s at %s, %d threads", (int)q->kind, sb_dtype_name(q->dtype),
              (long long)q->d, q->metric, c.level, c.threads);
        free(got.bytes);
    }
    free(expected.bytes);
}

int main(void) {
    static const struct { const char *metric, *p; } metrics[] = {{"euclidean", "2"}, {"manhattan", "2"}, {"chebyshev", "2"}, {"minkowski", "3.5"}, {"minkowski", "0.75"}};
    static const int64_t widths[] = {1, 2, 3, 6, WIDEST};
    static question q;
    sb_context *reference = NULL;
    CHECK(reference_context(&reference, &err) == SB_OK, "%s", err.message);
    if (!reference) return 1;
    for (int narrow = 0; narrow < 2; narrow++)
        for (int kind = 0; kind < TABLES; kind++)
            for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
                const size_t turn = (size_t)(kind / 2 + (int)i + 2 * narrow) % 5, m = widths[i] > 3 ? turn % 3 : turn;
                if ((kind + (int)i + narrow) % 2) continue; // (half of them: the reference takes its time)
                q.kind = (table)kind;
                q.dtype = narrow ? SB_F32 : SB_F64;
                q.d = widths[i];
                q.slow = m >= 3;
                q.metric = metrics[m].metric;
                q.p = metrics[m].p;
                fill(q.kind, q.dtype, q.d, q.x);
                compare(reference, &q);
            }
    sb_context_free(reference);
    return test_end();
}
