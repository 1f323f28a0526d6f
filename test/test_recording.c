// SPDX-License-Identifier: Apache-2.0
// Recordings and their replay: the same file from every level and thread count; what differs is found, by rows, ulps and
// decisions; a file that was changed anywhere is refused; hashes alone take the input that they were made of, and no other.
#include "contexts.h"
#include "folder.h"
#include "recording.h"

#include <math.h>
#include <stdio.h>

enum { N = 40, D = 3 };
static sb_error err;
static float table[N * D];
static double target[N];

typedef struct pair { // a scaler and what it feeds
    sb_model *models[2];
    sb_array *x;
} pair;

static pair made(sb_context *ctx, const char *last) {
    const int64_t shape[2] = {N, D};
    pair t = {.x = array_of(ctx, SB_F32, 2, shape, table)};
    sb_array *y = array_of(ctx, SB_F64, 1, shape, target), *z = NULL;
    sb_data data = {.size = sizeof data, .x = t.x, .y = y};
    CHECK(sb_model_new(ctx, "standard_scaler", &t.models[0], &err) == SB_OK && sb_model_fit(ctx, t.models[0], "fit", &data, &err) == SB_OK &&
          sb_model_call(ctx, t.models[0], "transform", &data, &z, &err) == SB_OK, "%s", err.message);
    data.x = z;
    CHECK(sb_model_new(ctx, last, &t.models[1], &err) == SB_OK && sb_model_fit(ctx, t.models[1], "fit", &data, &err) == SB_OK, "%s", err.message);
    sb_array_free(y);
    sb_array_free(z);
    return t;
}

static void gone(pair *t) {
    sb_model_free(t->models[0]);
    sb_model_free(t->models[1]);
    sb_array_free(t->x);
}

static const char *const names[2] = {"scaler", NULL};

static sb_report *recorded(sb_context *ctx, const pair *t, const char *path, bool hashes_only, const double *threshold) {
    const sb_data data = {.size = sizeof data, .x = t->x};
    const sb_record_options options = {.size = sizeof options, .models = (const sb_model *const *)t->models, .model_count = 2, .names = names,
                                       .method = "predict", .data = &data, .hashes_only = hashes_only, .thresholded = threshold != NULL,
                                       .threshold = threshold ? *threshold : 0.0, .note = "a \"note\" <b>\x1b"};
    sb_report *report = NULL;
    CHECK(sb_record(ctx, &options, path, &report, &err) == SB_OK, "%s", err.message);
    return report;
}

static sb_report *replayed(sb_context *ctx, const char *path, const sb_array *x, int verdict) {
    const sb_data data = {.size = sizeof data, .x = x};
    const sb_replay_options options = {.size = sizeof options, .data = x ? &data : NULL};
    sb_report *report = NULL;
    CHECK(sb_replay(ctx, path, &options, &report, &err) == SB_OK, "%s", err.message);
    CHECK(report && sb_report_verdict(report) == verdict, "%s", sb_report_text(report));
    return report;
}

static unsigned char bytes[1 << 16], other[1 << 16];
static size_t read_file(const char *path, unsigned char *to) {
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(to, 1, sizeof bytes, file) : 0;
    CHECK(size > 0 && size < sizeof bytes, "%s", path);
    if (file) fclose(file);
    return size;
}

// ---- the same everywhere

static void test_everywhere(void) {
    size_t size = 0;
    EACH_CONTEXT(c) {
        pair t = made(c.ctx, "linear_regression");
        sb_report_free(recorded(c.ctx, &t, inside("this"), false, NULL));
        if (!size) {
            size = read_file(inside("this"), bytes);
            put(inside("first"), bytes, size);
        }
        CHECK(read_file(inside("this"), other) == size && memcmp(bytes, other, size) == 0, "%s, %d threads: another file", c.level, c.threads);
        sb_report *report = replayed(c.ctx, inside("first"), NULL, SBI_IDENTICAL);
        CHECK(strstr(sb_report_text(report), "step 0 scaler: standard_scaler.transform  IDENTICAL  float32 [40, 3] ") &&
              strstr(sb_report_text(report), "\nIDENTICAL\n"), "%s", sb_report_text(report));
        sb_report_free(report);
        gone(&t);
    }
}

// ---- what differs

// The recording in `from` with element `index` of its output moved to `value`, as if it had been recorded so.
static void falsify(sb_context *ctx, const char *from, const char *to, int64_t index, float value) {
    static sbi_recording r;
    float values[N * D];
    CHECK(sbi_recording_load(ctx, from, &r, &err) == SB_OK, "%s", err.message);
    const size_t size = (size_t)r.y->size * sizeof *values;
    CHECK(sb_array_read(r.y, values, size, &err) == SB_OK, "%s", err.message);
    values[index] = value == 0.0f ? nextafterf(values[index], INFINITY) : value;
    CHECK(sb_array_write(r.y, values, size, &err) == SB_OK && sbi_recorded_of(ctx, r.y, &r.steps[r.count - 1].output, &err) == SB_OK &&
          sbi_recording_save(&r, to, &err) == SB_OK, "%s", err.message);
    sbi_recording_clear(&r);
}

static bool says(const sb_report *report, const char *words) {
    const bool found = strstr(sb_report_text(report), words) != NULL;
    CHECK(found, "\"%s\" is not in\n%s", words, sb_report_text(report));
    return found;
}

static void test_differences(sb_context *ctx) {
    pair t = made(ctx, "linear_regression");
    sb_array *out = NULL, *z = NULL;
    float values[N];
    sb_data data = {.size = sizeof data, .x = t.x};
    CHECK(sb_model_call(ctx, t.models[0], "transform", &data, &z, &err) == SB_OK, "%s", err.message);
    data.x = z;
    CHECK(sb_model_call(ctx, t.models[1], "predict", &data, &out, &err) == SB_OK && sb_array_read(out, values, sizeof values, &err) == SB_OK, "%s", err.message);
    // The threshold lies between row 17 and its upper neighbour: what was recorded one ulp higher decides otherwise.
    const double threshold = (double)nextafterf(values[17], INFINITY);
    sb_report_free(recorded(ctx, &t, inside("true"), false, &threshold));
    sb_report_free(replayed(ctx, inside("true"), NULL, SBI_IDENTICAL));
    falsify(ctx, inside("true"), inside("up"), 17, 0.0f);
    sb_report *report = replayed(ctx, inside("up"), NULL, SBI_DIFFERENT);
    says(report, "1 of 40 rows differ, the most by 1 ulp (row 17); 1 decisions flip");
    says(report, "computed, 1 ulp, the decision flips");
    says(report, "step 1 linear_regression: linear_regression.predict  DIVERGENT  recorded float32 [40] ");
    CHECK(strstr(sb_report_json(report), "\"differing\": 1, \"flipping\": 1, \"worst_ulp\": 1, \"first\": [\n  {\"row\": 17, \"column\": 0, \"recorded\": \""), "%s",
          sb_report_json(report));
    CHECK(sb_report_write_page(report, inside("page.html"), &err) == SB_OK, "%s", err.message);
    other[read_file(inside("page.html"), other)] = 0;
    CHECK(strstr((char *)other, "<span class=\"DIFFERENT\">DIFFERENT") && strstr((char *)other, "a &#34;note&#34; &#60;b&#62;\\x1b") &&
          !strchr((char *)other, 0x1b) && strstr((char *)other, "<td class=\"flips\">flips") && strstr((char *)other, "signature") &&
          !strstr((char *)other, "<script") && !strstr((char *)other, "http"), "the page");
    sb_report_free(report);
    falsify(ctx, inside("up"), inside("far"), 5, NAN);
    report = replayed(ctx, inside("far"), NULL, SBI_DIFFERENT);
    says(report, "2 of 40 rows differ, the most by NaN ulp (row 5)");
    sb_report_free(report);
    falsify(ctx, inside("true"), inside("negative"), 3, -values[3]);
    report = replayed(ctx, inside("negative"), NULL, SBI_DIFFERENT);
    uint32_t place;
    char words[60];
    memcpy(&place, &values[3], sizeof place);
    snprintf(words, sizeof words, ", %llu ulp", 2ull * (place & 0x7fffffffu));
    says(report, words); // from one side of 0 to the other
    sb_report_free(report);
    // Hashes alone: it differs, and nothing more is known.
    static sbi_recording r;
    CHECK(sbi_recording_load(ctx, inside("up"), &r, &err) == SB_OK, "%s", err.message);
    sb_array_free(r.x);
    sb_array_free(r.y);
    r.x = r.y = NULL;
    CHECK(sbi_recording_save(&r, inside("up-hashes"), &err) == SB_OK, "%s", err.message);
    sbi_recording_clear(&r);
    report = replayed(ctx, inside("up-hashes"), t.x, SBI_DIFFERENT);
    says(report, "the recording holds hashes only: which rows differ it cannot say");
    sb_report_free(report);
    sb_array_free(out);
    sb_array_free(z);
    gone(&t);
}

static void test_classes(sb_context *ctx) {
    pair t = made(ctx, "kmeans");
    sb_report *report = recorded(ctx, &t, inside("classes"), false, NULL);
    says(report, "decision: class");
    says(report, "step 1 keeps labels, an entry for each row that its model was fitted on");
    sb_report_free(report);
    static sbi_recording r;
    int32_t labels[N];
    CHECK(sbi_recording_load(ctx, inside("classes"), &r, &err) == SB_OK && sb_array_read(r.y, labels, sizeof labels, &err) == SB_OK, "%s", err.message);
    labels[0] += 3;
    labels[9] -= 1;
    CHECK(sb_array_write(r.y, labels, sizeof labels, &err) == SB_OK && sbi_recorded_of(ctx, r.y, &r.steps[1].output, &err) == SB_OK &&
          sbi_recording_save(&r, inside("classes"), &err) == SB_OK, "%s", err.message);
    sbi_recording_clear(&r);
    report = replayed(ctx, inside("classes"), NULL, SBI_DIFFERENT);
    says(report, "2 of 40 rows differ, the most by 3 ulp (row 0); 2 decisions flip");
    sb_report_free(report);
    gone(&t);
}

// ---- hashes alone, and other inputs

static void test_hashes(sb_context *ctx) {
    pair t = made(ctx, "linear_regression");
    sb_report *one = recorded(ctx, &t, inside("values"), false, NULL), *two = recorded(ctx, &t, inside("hashes"), true, NULL), *report = NULL;
    CHECK(strcmp(sb_report_text(one), sb_report_text(two)) == 0, "one recording, with values and without");
    CHECK(read_file(inside("hashes"), bytes) + N * (D + 1) * sizeof(float) < read_file(inside("values"), other), "what is in the file");
    sb_report_free(one);
    sb_report_free(two);
    CHECK(sb_replay(ctx, inside("hashes"), NULL, &report, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "data") == 0 && strstr(err.message, "hashes only"), "%s",
          err.message);
    sb_report_free(replayed(ctx, inside("hashes"), t.x, SBI_IDENTICAL));
    sb_report_free(replayed(ctx, inside("values"), t.x, SBI_IDENTICAL));
    // CSR of the same numbers is the same input.
    int32_t indptr[N + 1], indices[N * D];
    for (int i = 0; i <= N; i++) indptr[i] = i * D;
    for (int i = 0; i < N * D; i++) indices[i] = i % D;
    const int64_t rows[1] = {N + 1}, count[1] = {N * D};
    sb_array *values = array_of(ctx, SB_F32, 1, count, table), *p = array_of(ctx, SB_I32, 1, rows, indptr), *i = array_of(ctx, SB_I32, 1, count, indices);
    sb_data data = {.size = sizeof data, .x = values, .indptr = p, .indices = i, .columns = D};
    sb_replay_options options = {.size = sizeof options, .data = &data};
    CHECK(sb_replay(ctx, inside("hashes"), &options, &report, &err) == SB_OK && sb_report_verdict(report) == SBI_IDENTICAL, "%s", err.message);
    sb_report_free(report);
    table[7] += 1.0f;
    sb_array *changed = array_of(ctx, SB_F32, 2, (const int64_t[]){N, D}, table);
    table[7] -= 1.0f;
    data = (sb_data){.size = sizeof data, .x = changed};
    for (int with = 0; with < 2; with++)
        CHECK(sb_replay(ctx, inside(with ? "values" : "hashes"), &options, &report, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "data") == 0 &&
              strstr(err.message, "not the input"), "%s", err.message);
    sb_array_free(values), sb_array_free(p), sb_array_free(i), sb_array_free(changed);
    gone(&t);
}

// ---- what is refused

static void test_refused(sb_context *ctx) {
    pair t = made(ctx, "linear_regression");
    sb_model *empty = NULL;
    sb_report *report = NULL;
    CHECK(sb_model_new(ctx, "kmeans", &empty, &err) == SB_OK, "%s", err.message);
    const sb_model *const good[] = {t.models[0], t.models[1]}, *const hole[] = {t.models[0], NULL}, *const unfitted[] = {t.models[0], empty},
                   *const turned[] = {t.models[1], t.models[0]}, *const scaler[] = {t.models[0]};
    static const char longest[] = "0123456789012345678901234567890123456789012345678901234567890123";
    const char *const long_names[] = {longest, NULL};
    const sb_data data = {.size = sizeof data, .x = t.x}, nothing = {.size = sizeof nothing}, half = {.size = 9, .x = t.x};
    const sb_record_options usual = {.size = sizeof usual, .models = good, .model_count = 2, .method = "predict", .data = &data};
    sb_record_options o;
#define REFUSED(expected, name, change) \
    do { \
        o = usual; \
        change; \
        err = (sb_error){0}; \
        CHECK(sb_record(ctx, &o, inside("none"), &report, &err) == expected && !report && err.status == expected && strcmp(err.argument, name) == 0, \
              "%s: %s (%s): %s", #change, sb_status_name(err.status), err.argument, err.message); \
        CHECK(access(inside("none"), F_OK) != 0, "%s: a file", #change); \
    } while (0)
    REFUSED(SB_ERR_ARGUMENT, "models", o.models = NULL);
    REFUSED(SB_ERR_ARGUMENT, "models", o.models = hole);
    REFUSED(SB_ERR_ARGUMENT, "models", o.model_count = 0);
    REFUSED(SB_ERR_ARGUMENT, "models", o.model_count = 33);
    REFUSED(SB_ERR_STATE, "model", o.models = unfitted);
    REFUSED(SB_ERR_ARGUMENT, "method", o.models = turned);
    REFUSED(SB_ERR_ARGUMENT, "method", o.method = NULL);
    REFUSED(SB_ERR_ARGUMENT, "method", o.method = "fit");
    REFUSED(SB_ERR_ARGUMENT, "y", o.method = "score");
    REFUSED(SB_ERR_ARGUMENT, "method", o.method = longest);
    REFUSED(SB_ERR_ARGUMENT, "names", o.names = long_names);
    REFUSED(SB_ERR_ARGUMENT, "data", o.data = NULL);
    REFUSED(SB_ERR_ARGUMENT, "x", o.data = &nothing);
    REFUSED(SB_ERR_ARGUMENT, "options", o.data = &half);
    REFUSED(SB_ERR_ARGUMENT, "threshold", (o.thresholded = 1, o.threshold = INFINITY));
    REFUSED(SB_ERR_ARGUMENT, "options", o.size = 9);
    CHECK(sb_record(NULL, &usual, inside("none"), &report, &err) == SB_ERR_ARGUMENT && sb_record(ctx, NULL, inside("none"), &report, &err) == SB_ERR_ARGUMENT &&
          sb_record(ctx, &usual, NULL, &report, &err) == SB_ERR_ARGUMENT && sb_record(ctx, &usual, inside("none"), NULL, &err) == SB_ERR_ARGUMENT, "NULL");
    CHECK(sb_record(ctx, &usual, inside("no/folder"), &report, &err) == SB_ERR_IO && !report, "%s", err.message);
    o = usual;
    o.models = scaler, o.model_count = 1, o.method = "transform";
    CHECK(sb_record(ctx, &o, inside("one"), &report, &err) == SB_OK, "%s", err.message);
    CHECK(sb_report_write_page(report, inside("none"), &err) == SB_ERR_STATE && sb_report_write_page(NULL, inside("none"), &err) == SB_ERR_ARGUMENT &&
          sb_report_write_page(report, NULL, &err) == SB_ERR_ARGUMENT, "a page");
    sb_report_free(report);
    sb_report_free(replayed(ctx, inside("one"), NULL, SBI_IDENTICAL));
    CHECK(sb_replay(NULL, inside("one"), NULL, &report, &err) == SB_ERR_ARGUMENT && sb_replay(ctx, NULL, NULL, &report, &err) == SB_ERR_ARGUMENT &&
          sb_replay(ctx, inside("one"), NULL, NULL, &err) == SB_ERR_ARGUMENT, "NULL");
    const sb_replay_options no_x = {.size = sizeof no_x, .data = &nothing}, cut = {.size = 11};
    CHECK(sb_replay(ctx, inside("one"), &no_x, &report, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "x") == 0, "%s", err.message);
    CHECK(sb_replay(ctx, inside("one"), &cut, &report, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "options") == 0, "%s", err.message);
    CHECK(sb_replay(ctx, inside("absent"), NULL, &report, &err) == SB_ERR_IO && !report, "%s", err.message);
    sb_model_free(empty);
    gone(&t);
}

// Any byte changed, any length cut: refused by name; or another recording by its number (what the descriptor claims: names, the
// note, outputs); or the same one (the release, the form of a model's header).
static void test_changed(sb_context *ctx) {
    pair t = made(ctx, "linear_regression");
    sb_report_free(recorded(ctx, &t, inside("whole"), false, NULL));
    const size_t size = read_file(inside("whole"), bytes);
    static sbi_recording r;
    uint8_t id[32];
    long same = 0, others = 0, tail = 0;
    CHECK(sbi_recording_restore(ctx, bytes, (int64_t)size, &r, &err) == SB_OK, "%s", err.message);
    memcpy(id, r.id, 32);
    sbi_recording_clear(&r);
    for (size_t i = 0; i < size; i++) {
        memcpy(other, bytes, size);
        other[i] ^= (unsigned char)(1u << (i % 8));
        sb_status status = sbi_recording_restore(ctx, other, (int64_t)size, &r, &err);
        if (status == SB_OK) {
            same += memcmp(r.id, id, 32) == 0;
            others += memcmp(r.id, id, 32) != 0;
            sbi_recording_clear(&r);
            tail += i + N * (D + 1) * sizeof(float) >= size; // input and output stand last
            continue;
        }
        CHECK((status == SB_ERR_FORMAT || status == SB_ERR_UNSUPPORTED) && err.status == status && *err.message && !r.count && !r.x, "byte %zu: %s %s", i,
              sb_status_name(status), err.message);
    }
    CHECK(same < 60 && others < 120 && tail == 0, "%ld bytes may be others, %ld make another recording; %ld of the numbers", same, others, tail);
    for (size_t length = 0; length < size; length++)
        CHECK(sbi_recording_restore(ctx, bytes, (int64_t)length, &r, &err) == SB_ERR_FORMAT, "cut to %zu: %s", length, err.message);
    gone(&t);
}

int main(void) {
    sb_context *ctx = NULL;
    uint64_t state = 5;
    CHECK(sb_context_new(NULL, &ctx, &err) == SB_OK, "%s", err.message);
    if (!ctx || !open_folder(NULL)) return 1;
    for (int i = 0; i < N * D; i++) table[i] = (float)(int32_t)(next_word(&state) >> 32) * 0x1p-29f + (float)(i % D);
    for (int i = 0; i < N; i++) target[i] = 1.0 + (double)table[i * D] - 2.0 * (double)table[i * D + 1] + (double)(int32_t)(next_word(&state) >> 32) * 0x1p-33;
    test_everywhere();
    test_differences(ctx);
    test_classes(ctx);
    test_hashes(ctx);
    test_refused(ctx);
    test_changed(ctx);
    sb_context_free(ctx);
    CHECK(clear(folder) == 0, "a temporary file is left");
    return test_end();
}
