// SPDX-License-Identifier: Apache-2.0
// Memory that runs out, at every single request: every lane, and every public function that is more than an operation, with
// the k-th request refused for every k that it makes. Each must end with SB_ERR_MEMORY in words, leave no block and no
// half file behind; and right after, with memory, give what an undisturbed call gives. The requests are those of malloc
// itself (counted_memory.h), so that the library's own allocator is met as well.
#include "counted_memory.h"
#include "proof.h"
#include "folder.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct task {
    const char *name;
    sb_status (*run)(sb_context *ctx, sbi_sha256 *result, sb_error *err); // what it gives goes into the hash
    void (*after)(const char *name, sb_status status);                     // looks at what is left behind, and clears it
    long step;                                                             // 0: every request, else every step-th
} task;

static sb_status add_file(sbi_sha256 *result, const char *path) { // read with other calls than the library's
    char bytes[4096];
    size_t count;
    FILE *file = fopen(path, "rb");
    CHECK(file, "%s is not there", path);
    while (file && (count = fread(bytes, 1, sizeof bytes, file)) > 0) sbi_sha256_add(result, bytes, count);
    if (file) fclose(file);
    return SB_OK;
}

static sb_status add_report(sbi_sha256 *result, sb_report *report, sb_status status) {
    if (status == SB_OK) {
        sbi_sha256_add(result, sb_report_text(report), strlen(sb_report_text(report)));
        sbi_sha256_add(result, sb_report_json(report), strlen(sb_report_json(report)));
    }
    sb_report_free(report);
    return status;
}

// ---- lanes

static const sbi_lane *lane_now;
static sbi_fixture fixture_now;

static void add_cell(void *user, const char *cell, const uint8_t digest[32], const sb_array *array) {
    (void)array;
    sbi_sha256_add(user, cell, strlen(cell));
    sbi_sha256_add(user, digest, 32);
}

static sb_status run_lane(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    sbi_lane_run run = {.ctx = ctx, .lane = lane_now, .fixture = fixture_now, .nudge = -1, .report = add_cell, .user = result};
    return sbi_lane_carry_out(&run, err);
}

// ---- proof. A lane that runs out of memory in verify is a cell REFUSED: a report, verdict 3, that says so.

static char *table;
static size_t table_size;
static const char *const documents[2] = {"/one.json", "/other.json"};

static sb_status add_verification(sbi_sha256 *result, sb_report *report, sb_status status, sb_error *err) {
    if (status == SB_OK && sb_report_verdict(report) == 3 && strstr(sb_report_json(report), "SB_ERR_MEMORY")) {
        sb_report_free(report);
        return sbi_fail(err, SB_ERR_MEMORY, "", "a cell is REFUSED");
    }
    return add_report(result, report, status);
}

static sb_status run_verify(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    sb_report *report = NULL;
    const sb_verify_options options = {.size = sizeof options, .lanes = "softmax", .references = table, .references_size = table_size};
    sb_status status = sb_verify(ctx, &options, &report, err);
    return add_verification(result, report, status, err);
}

static sb_status run_selftest(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    sb_report *report = NULL;
    const sb_verify_options options = {.size = sizeof options, .lanes = "rms_norm", .references = table, .references_size = table_size};
    sb_status status = sb_selftest(ctx, &options, &report, err);
    if (status == SB_OK && sb_report_verdict(report) != 0) {
        sb_report_free(report);
        return sbi_fail(err, SB_ERR_MEMORY, "", "a lane did not run");
    }
    return add_report(result, report, status);
}

static sb_status run_compare(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    sb_report *report = NULL;
    const char *paths[3] = {inside(documents[0]), inside(documents[1]), inside(documents[0])};
    (void)ctx;
    sb_status status = sb_compare(3, paths, &report, err);
    return add_report(result, report, status);
}

static sb_status run_doctor(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    sb_report *report = NULL;
    (void)ctx;
    sb_status status = sb_doctor(&report, err);
    return add_report(result, report, status);
}

static sb_status run_describe_library(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    static const char proofs[] = "";
    sb_report *report = NULL;
    sb_status status = sb_describe(ctx, proofs, 0, &report, err);
    return add_report(result, report, status);
}

static sb_status run_traced(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    const sb_context_options options = {.size = sizeof options, .threads = 1, .trace = inside("traced")};
    sb_context *traced = NULL;
    sb_array *x = NULL;
    int64_t shape[2] = {3, 5};
    (void)ctx;
    sb_status status = sb_context_new(&options, &traced, err);
    if (status == SB_OK) status = sb_array_new(traced, SB_F32, 2, shape, &x, err);
    for (int i = 0; i < 3 && status == SB_OK; i++) status = sb_unary(traced, SB_EXP, x, x, err);
    sb_array_free(x);
    sb_context_free(traced);
    return status == SB_OK ? add_file(result, inside("traced")) : status;
}

static sb_status run_bisect(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    sb_report *report = NULL;
    (void)ctx;
    sb_status status = sb_trace_compare(inside("traced"), inside("traced"), &report, err);
    return add_report(result, report, status);
}

static sb_status run_write(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    sb_report *report = NULL;
    const char *paths[2] = {inside(documents[0]), inside(documents[1])};
    (void)ctx;
    sb_status status = sb_compare(2, paths, &report, err);
    if (status == SB_OK) status = sb_report_write(report, inside("comparison.json"), err);
    if (status == SB_OK) status = add_file(result, inside("comparison.json"));
    sb_report_free(report);
    return status;
}

static void after_write(const char *name, sb_status status) {
    CHECK((access(inside("comparison.json"), F_OK) == 0) == (status == SB_OK), "%s: half a file", name);
    unlink(inside("comparison.json"));
}

static sb_status run_digest(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    uint8_t digests[2][32];
    int64_t arrays = 0;
    (void)ctx;
    sb_status status = sb_digest_file(inside("run/step-000000002/model.safetensors"), digests[0], digests[1], &arrays, err);
    if (status == SB_OK) {
        CHECK(arrays > 0, "%lld arrays", (long long)arrays);
        sbi_sha256_add(result, digests, sizeof digests);
    }
    return status;
}

// ---- recordings: a scaler of three rows

static sb_status run_record(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    const float values[6] = {1.0f, 2.0f, 3.5f, -1.0f, 0.25f, 8.0f};
    const int64_t shape[2] = {3, 2};
    sb_array *x = NULL;
    sb_model *model = NULL;
    sb_report *report = NULL;
    sb_status status = sb_array_new(ctx, SB_F32, 2, shape, &x, err);
    if (status == SB_OK) status = sb_array_write(x, values, sizeof values, err);
    if (status == SB_OK) status = sb_model_new(ctx, "standard_scaler", &model, err);
    const sb_data data = {.size = sizeof data, .x = x};
    const sb_model *const models[1] = {model};
    const sb_record_options options = {.size = sizeof options, .models = models, .model_count = 1, .method = "transform", .data = &data};
    if (status == SB_OK) status = sb_model_fit(ctx, model, "fit", &data, err);
    if (status == SB_OK) status = sb_record(ctx, &options, inside("recording"), &report, err);
    if (status == SB_OK) status = add_file(result, inside("recording"));
    sb_array_free(x);
    sb_model_free(model);
    return add_report(result, report, status);
}

static void after_record(const char *name, sb_status status) {
    CHECK((access(inside("recording"), F_OK) == 0) == (status == SB_OK), "%s: half a file", name);
    if (status == SB_OK) CHECK(rename(inside("recording"), inside("kept.recording")) == 0, "%s", name);
}

static sb_status run_replay(sb_context *ctx, sbi_sha256 *result, sb_error *err) { // of what run_record kept
    sb_report *report = NULL;
    sb_status status = sb_replay(ctx, inside("kept.recording"), NULL, &report, err);
    return add_report(result, report, status);
}

// ---- language models: the smallest there is, two steps of three shards

static const char recipe[] =
    "{\"recipe\":1,\"name\":\"smallest\",\"model\":{\"hidden_size\":2,\"layers\":1,\"heads\":1,\"kv_heads\":1,\"intermediate_size\":2,"
    "\"tie\":true},\"training\":{\"steps\":2,\"shards\":3,\"shard_sequences\":1,\"sequence_length\":4,\"seed\":1,"
    "\"learning_rate\":0.01},\"checkpoints\":{\"every\":1,\"keep\":2},\"evaluation\":{\"windows\":1},"
    "\"data\":{\"held_out\":16,\"sha256\":\"%s\"}}";
static const char corpus[] = "the same bits on every machine, at any number of threads, in any batch";

static sb_lm_run the_run(const char *where) {
    return (sb_lm_run){.size = sizeof(sb_lm_run), .recipe = inside("recipe.json"), .data = inside("corpus.txt"), .folder = where};
}

static sb_status add_run(sbi_sha256 *result, const char *name) {
    char path[100];
    snprintf(path, sizeof path, "%s/ledger.jsonl", name);
    add_file(result, inside(path));
    snprintf(path, sizeof path, "%s/step-000000002/model.safetensors", name);
    return add_file(result, inside(path));
}

static sb_status run_train(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    const sb_lm_run run = the_run(inside("new"));
    sb_status status = sb_lm_train(ctx, &run, err);
    return status == SB_OK ? add_run(result, "new") : status;
}

static void after_train(const char *name, sb_status status) {
    (void)status;
    CHECK(clear(inside("new")) == 0, "%s: a temporary file is left", name);
}

// Resumes from step 1; a resume that failed must leave a folder from which the next one ends as if nothing had been.
static sb_status run_resume(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    const sb_lm_run run = the_run(inside("half"));
    sb_status status = sb_lm_resume(ctx, &run, err);
    return status == SB_OK ? add_run(result, "half") : status;
}

static void after_resume(const char *name, sb_status status) {
    sbi_sha256 ignored;
    sb_error err = {0};
    sb_context *ctx = NULL;
    const sb_context_options options = {.size = sizeof options, .threads = 1};
    sb_lm_run run = the_run(inside("half"));
    sbi_sha256_start(&ignored);
    CHECK(sb_context_new(&options, &ctx, NULL) == SB_OK, "%s", name);
    if (status != SB_OK) CHECK(run_resume(ctx, &ignored, &err) == SB_OK, "%s: the next resume: %s", name, err.message);
    CHECK(clear(inside("half")) == 0, "%s: a temporary file is left", name);
    run.until = 1;
    CHECK(sb_lm_train(ctx, &run, &err) == SB_OK, "%s", err.message);
    sb_context_free(ctx);
}

static sb_status run_evaluate(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    sb_lm_evaluation out = {0};
    sb_status status = sb_lm_evaluate(ctx, inside("run"), inside("corpus.txt"), 0, &out, err);
    if (status == SB_OK) sbi_sha256_add(result, &out, sizeof out);
    return status;
}

static sb_status run_generate(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    uint8_t out[3];
    const sb_lm_generation options = {.size = sizeof options, .checkpoint = inside("run"), .prompt = (const uint8_t *)"the",
                                      .prompt_bytes = 3, .tokens = 3, .temperature = 1.0, .top_k = 9, .top_p = 0.9, .seed = 3};
    sb_status status = sb_lm_generate(ctx, &options, out, err);
    if (status == SB_OK) sbi_sha256_add(result, out, sizeof out);
    return status;
}

static sb_status run_describe(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    sb_lm_description out = {0};
    sb_status status = sb_lm_describe(ctx, inside("recipe.json"), &out, err);
    if (status == SB_OK) sbi_sha256_add(result, &out, sizeof out);
    return status;
}

static sb_status run_ledgers(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    sb_lm_difference out = {0};
    (void)ctx;
    sb_status status = sb_lm_ledger_compare(inside("run/ledger.jsonl"), inside("half/ledger.jsonl"), &out, err);
    if (status == SB_OK) {
        CHECK(!out.equal && strcmp(out.field, "end") == 0, "%s", out.field);
        sbi_sha256_add(result, &out, sizeof out);
    }
    return status;
}

// ---- every request of a task

// Runs it in a context of its own with `left` requests granted, the context's included. Gives how many it made.
static long run_task(const task *t, long left, uint8_t digest[32], sb_status *status) {
    sb_error err = {0};
    sb_context *ctx = NULL;
    sbi_sha256 result;
    const sb_context_options options = {.size = sizeof options, .device = "cpu", .threads = 1};
    sbi_sha256_start(&result);
    long live = memory_live;
    memory_requests = 0;
    memory_left = left;
    *status = sb_context_new(&options, &ctx, &err);
    if (*status == SB_OK) *status = t->run(ctx, &result, &err);
    memory_left = -1;
    long requests = memory_requests;
    sb_context_free(ctx);
    CHECK(memory_live == live, "%s with %ld requests granted: %ld blocks are left", t->name, left, memory_live - live);
    if (*status != SB_OK)
        CHECK(err.status == *status && err.message[0], "%s with %ld requests granted: %s without words", t->name, left,
              sb_status_name(*status));
    sbi_sha256_end(&result, digest);
    if (t->after) t->after(t->name, *status);
    return requests;
}

static void exhaust(const task *t) {
    uint8_t undisturbed[32], digest[32];
    sb_status status;
    clock_t start = clock();
    const char *every = getenv("SAMEBITS_TEST_EVERY"); // under a sanitizer: every n-th request
    long step = (t->step ? t->step : 1) * (every && atol(every) > 0 ? atol(every) : 1);
    long all = run_task(t, -1, undisturbed, &status);
    CHECK(status == SB_OK, "%s with all the memory: %s", t->name, sb_status_name(status));
    for (long left = 0; left < all; left += step) {
        run_task(t, left, digest, &status);
        CHECK(status == SB_ERR_MEMORY, "%s with %ld of %ld requests granted: %s", t->name, left, all, sb_status_name(status));
    }
    run_task(t, -1, digest, &status);
    CHECK(status == SB_OK && memcmp(digest, undisturbed, 32) == 0, "%s afterwards: %s or other bits", t->name, sb_status_name(status));
    if (getenv("SAMEBITS_TEST_COUNTS")) printf("%-28s %6ld requests %6.2f s\n", t->name, all, (double)(clock() - start) / CLOCKS_PER_SEC);
}

// Rows that are many enough for a tree (near_tree.c); no lane has so many.
static sb_status run_near(sb_context *ctx, sbi_sha256 *result, sb_error *err) {
    enum { N = 600, D = 2 };
    static double x[N * D], weights[N];
    const int64_t shape[2] = {N, D};
    sb_array *rows = NULL, *heavy = NULL, *found[3] = {NULL};
    sb_model *models[2] = {NULL};
    uint8_t digest[32];
    sb_status status = SB_OK;
    for (int i = 0; i < N * D; i++) x[i] = (double)(i * 7919 % 601) / 64.0;
    for (int i = 0; i < N; i++) weights[i] = 1.0 + i % 3;
    if (!(status = sb_array_new(ctx, SB_F64, 2, shape, &rows, err)) && !(status = sb_array_write(rows, x, sizeof x, err)) &&
        !(status = sb_array_new(ctx, SB_F64, 1, shape, &heavy, err)) && !(status = sb_array_write(heavy, weights, sizeof weights, err)) &&
        !(status = sb_model_new(ctx, "dbscan", &models[0], err)) && !(status = sb_model_new(ctx, "nearest_neighbors", &models[1], err)))
        for (int i = 0; i < 3 && status == SB_OK; i++) {
            const sb_data data = {.size = sizeof data, .x = rows, .weights = i == 1 ? heavy : NULL};
            if (!(status = sb_model_fit(ctx, models[i / 2], "fit", &data, err)) && !(status = sb_model_digest(ctx, models[i / 2], digest, err)))
                sbi_sha256_add(result, digest, sizeof digest);
        }
    static const char *const methods[] = {"kneighbors", "radius_neighbors"};
    for (int i = 0; i < 2 && status == SB_OK; i++) {
        const sb_data data = {.size = sizeof data, .x = rows};
        if (!(status = sb_model_call_many(ctx, models[1], methods[i], &data, 2 + i, found, err)) &&
            !(status = sb_digest_arrays(ctx, 2 + i, (const char *const[]){"far", "index", "start"}, (const sb_array *const *)found, digest, err)))
            sbi_sha256_add(result, digest, sizeof digest);
        for (int j = 0; j < 3; j++) {
            sb_array_free(found[j]);
            found[j] = NULL;
        }
    }
    sb_array_free(rows);
    sb_array_free(heavy);
    sb_model_free(models[0]);
    sb_model_free(models[1]);
    return status;
}

static void prepare(void) {
    char text[1000], hex[65];
    uint8_t digest[32];
    sb_error err = {0};
    sb_context *ctx = NULL;
    const sb_context_options options = {.size = sizeof options, .threads = 1};
    CHECK(open_folder(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NULL), "%s", folder);
    sb_sha256(corpus, sizeof corpus - 1, digest);
    sbi_hex(digest, 32, hex);
    snprintf(text, sizeof text, recipe, hex);
    put(inside("recipe.json"), text, strlen(text));
    put(inside("corpus.txt"), corpus, sizeof corpus - 1);
    CHECK(sb_context_new(&options, &ctx, &err) == SB_OK, "%s", err.message);
    sb_lm_run run = the_run(inside("run"));
    CHECK(sb_lm_train(ctx, &run, &err) == SB_OK, "%s", err.message);
    run = the_run(inside("half"));
    run.until = 1;
    CHECK(sb_lm_train(ctx, &run, &err) == SB_OK, "%s", err.message);
    FILE *file = fopen(GOLDEN, "rb");
    static char golden[8 << 20];
    table = golden;
    table_size = file ? fread(golden, 1, sizeof golden, file) : 0;
    CHECK(table_size > 0 && table_size < sizeof golden, "%s", GOLDEN);
    if (file) fclose(file);
    for (int i = 0; i < 2; i++) { // two documents of one machine, of seeds of one's own
        sb_report *report = NULL;
        const sb_verify_options seeded = {.size = sizeof seeded, .lanes = i ? "rms_norm,softmax" : "rms_norm", .references = table,
                                          .references_size = table_size, .seed = 5};
        CHECK(sb_verify(ctx, &seeded, &report, &err) == SB_OK, "%s", err.message);
        CHECK(sb_report_write(report, inside(documents[i]), &err) == SB_OK, "%s", err.message);
        sb_report_free(report);
    }
    sb_context_free(ctx);
}

int main(void) {
    static const task tasks[] = {
        {"near", run_near, NULL, 0},
        {"verify", run_verify, NULL, 0}, {"selftest", run_selftest, NULL, 0}, {"compare", run_compare, NULL, 0},
        {"doctor", run_doctor, NULL, 67}, // (each of its requests is one of the same few places, after seconds of probing)
        {"describe", run_describe_library, NULL, 499}, {"trace", run_traced, NULL, 0}, {"trace_compare", run_bisect, NULL, 0},
        {"report_write", run_write, after_write, 0}, {"digest_file", run_digest, NULL, 0},
        {"record", run_record, after_record, 0}, {"replay", run_replay, NULL, 0},
        {"lm_train", run_train, after_train, 0}, {"lm_resume", run_resume, after_resume, 0}, {"lm_evaluate", run_evaluate, NULL, 0},
        {"lm_generate", run_generate, NULL, 0}, {"lm_describe", run_describe, NULL, 0}, {"lm_ledger_compare", run_ledgers, NULL, 0}};
    prepare();
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) exhaust(&tasks[i]);
    CHECK(clear(folder) == 0, "a temporary file is left");
    for (const sbi_lane *const *file = sbi_lane_files; *file; file++)
        for (lane_now = *file; lane_now->name; lane_now++) {
            const unsigned has = lane_now->fixtures;
            fixture_now = has & SBI_FIX(SBI_FIX_ONE) ? SBI_FIX_ONE : has & SBI_FIX(SBI_FIX_ODD) ? SBI_FIX_ODD : SBI_FIX_PLAIN;
            exhaust(&(task){lane_now->name, run_lane, NULL, 0});
        }
    return test_end();
}
