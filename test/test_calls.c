// SPDX-License-Identifier: Apache-2.0
// The public functions that take no arrays (runs, reports, digests of files) under hostile arguments, and the whole of
// training, resuming, evaluation, generation and verification with an allocator that fails at its n-th call: a named
// error, no leak, no crash, and in the end the same bytes as without failures. (Arrays and operations: test_api.c.)
#include "folder.h"

#include "base.h"
#include "meter.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- material: a model of some hundred parameters, two steps

enum { TEXT = 400 };
static const char no_references[] = "# samebits golden values, contract 1\n";
static const char recipe_form[] =
    "{\"recipe\": 1, \"name\": \"calls\", \"model\": {\"hidden_size\": 8, \"layers\": 1, \"heads\": 2, \"kv_heads\": 1, "
    "\"intermediate_size\": 8}, \"training\": {\"steps\": 2, \"shards\": 2, \"shard_sequences\": 1, \"sequence_length\": 4, "
    "\"seed\": 1, \"learning_rate\": 0.01}, \"checkpoints\": {\"every\": 1, \"keep\": 2}, \"evaluation\": {\"windows\": 2}, "
    "\"data\": {\"sha256\": \"%s\", \"held_out\": 100}}";

static sb_lm_run run_in(const char *path, int64_t until) {
    return (sb_lm_run){.size = sizeof(sb_lm_run), .recipe = inside("recipe.json"), .data = inside("text"), .folder = path,
                       .until = until};
}

// What a report would tell as it stands: a quote, an escape, a number JSON does not know, a name this library does not.
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define PROOF(name, inputs, misrounded, digest) name "\t" inputs "\t1\t" misrounded "\t1.5\tv4\t2\t" digest "\t" HEX "\n"
static const char right_proofs[] = "# a comment\n\n" PROOF("inverse_normal", "5", "0", HEX) PROOF("exp", "4294967296", "7", HEX);
static const char *const wrong_proofs[] = {
    PROOF("exp", "1\"", "0", HEX), PROOF("exp", "1", "\033[2J", HEX), PROOF("exp", "007", "0", HEX), PROOF("exp", "", "0", HEX),
    PROOF("exp", "1", "0", "\"}" HEX), PROOF("exp", "1", "-1", HEX), PROOF("no_such_function", "1", "0", HEX),
    PROOF("\033exp", "1", "0", HEX), PROOF("exp\t1", "1", "0", HEX), "exp\t1\t1\t0\n", "exp", NULL};
#define ROW(lane, fixture, cell) \
    "# samebits golden values, contract 1\nlane\tfixture\tcell\tsha256\n" lane "\t" fixture "\t" cell "\t" HEX "\n"
static const char *const wrong_references[] = {ROW("\033[2J", "plain", "y"), ROW("exp", "\"", "y"), ROW("exp", "plain", "\001"),
                                               NULL};

static void test_told_proofs(sb_context *ctx) {
    sb_error err = {0};
    sb_report *report = NULL;
    CHECK(sb_describe(ctx, right_proofs, sizeof right_proofs - 1, &report, &err) == SB_OK, "%s", err.message);
    CHECK(strstr(sb_report_text(report), "float32 proved: 4294967296 inputs, 7 misrounded"), "the proof of exp is not told");
    CHECK(strstr(sb_report_json(report), "\"inputs\": 5, \"checked_with_mpfr\": 1, \"misrounded\": 0, \"sha256\": \"" HEX "\""),
          "the proof of inverse_normal is not told");
    sb_report_free(report);
}

static void test_arguments(sb_context *ctx) {
    sb_error err;
    sb_report *report = NULL;
    sb_lm_evaluation evaluation;
    sb_lm_description description;
    sb_lm_difference difference;
    uint8_t digest[32], tree[32], made[8];
    int64_t arrays;
    double real;
    static const char *const one_path[] = {"x"}, *const holes[] = {"x", NULL}, *const no_paths[] = {"/none/x", "/none/y"};
    sb_verify_options verify = {.size = sizeof verify, .references = no_references, .references_size = sizeof no_references - 1};
    sb_lm_run run = run_in(inside("new"), 0);
    sb_lm_generation generation = {.size = sizeof generation, .checkpoint = inside("none"), .prompt = (const uint8_t *)"a",
                                   .prompt_bytes = 1, .tokens = 1};
#define REFUSED(expected, name, call) \
    do { \
        memset(&err, 0, sizeof err); \
        sb_status got = (call); \
        CHECK(got == (expected) && err.status == got && err.message[0] && strcmp(err.argument, name) == 0, \
              "%s: %s, argument \"%s\": %s", #call, sb_status_name(got), err.argument, err.message); \
    } while (0)
    sb_lm_run copy_sb_lm_run;
    sb_lm_generation copy_sb_lm_generation;
    sb_verify_options copy_sb_verify_options;
#define RUN(change) (copy_sb_lm_run = run, copy_sb_lm_run.change, &copy_sb_lm_run)
#define GENERATION(change) (copy_sb_lm_generation = generation, copy_sb_lm_generation.change, &copy_sb_lm_generation)
#define VERIFY(change) (copy_sb_verify_options = verify, copy_sb_verify_options.change, &copy_sb_verify_options)
    REFUSED(SB_ERR_ARGUMENT, "report", sb_report_write(NULL, "x", &err));
    CHECK(!sb_report_text(NULL)[0] && !sb_report_json(NULL)[0] && sb_report_verdict(NULL) != 0, "no report is no good report");
    sb_report_free(NULL);
    CHECK(sb_lane_count() > 0 && !sb_lane_name(-1) && !sb_lane_kind(-1) && !sb_lane_name(sb_lane_count()) &&
          !sb_lane_kind(INT64_MAX) && !sb_lane_in_tier(-1, SB_TIER_ALL), "lanes that are not there");
    for (int64_t i = 0; i < sb_lane_count(); i++)
        CHECK(sb_lane_name(i)[0] && sb_lane_kind(i)[0] && sb_lane_in_tier(i, SB_TIER_ALL), "lane %lld", (long long)i);
    REFUSED(SB_ERR_ARGUMENT, "ctx", sb_verify(NULL, &verify, &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "options", sb_verify(ctx, NULL, &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "out", sb_verify(ctx, &verify, NULL, &err));
    REFUSED(SB_ERR_ARGUMENT, "options", sb_verify(ctx, VERIFY(size = 1), &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "options", sb_verify(ctx, VERIFY(size = offsetof(sb_verify_options, lanes) + 3), &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "options", sb_verify(ctx, VERIFY(tier = (sb_tier)9), &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "lanes", sb_verify(ctx, VERIFY(lanes = "no_such_lane"), &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "lanes", sb_verify(ctx, VERIFY(lanes = "add,"), &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "ctx", sb_selftest(NULL, &verify, &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "options", sb_selftest(ctx, NULL, &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "out", sb_selftest(ctx, &verify, NULL, &err));
    REFUSED(SB_ERR_ARGUMENT, "out", sb_doctor(NULL, &err));
    REFUSED(SB_ERR_ARGUMENT, "ctx", sb_describe(NULL, NULL, 0, &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "out", sb_describe(ctx, NULL, 0, NULL, &err));
    for (int i = 0; wrong_proofs[i]; i++)
        REFUSED(SB_ERR_FORMAT, "proofs", sb_describe(ctx, wrong_proofs[i], strlen(wrong_proofs[i]), &report, &err));
    for (int i = 0; wrong_references[i]; i++) {
        sb_verify_options wrong = {.size = sizeof wrong, .references = wrong_references[i]};
        wrong.references_size = strlen(wrong.references);
        REFUSED(SB_ERR_FORMAT, "references", sb_verify(ctx, &wrong, &report, &err));
    }
    REFUSED(SB_ERR_ARGUMENT, "a", sb_trace_compare(NULL, "x", &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "b", sb_trace_compare("x", NULL, &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "out", sb_trace_compare("x", "x", NULL, &err));
    REFUSED(SB_ERR_IO, "a", sb_trace_compare(inside("none"), inside("none"), &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "paths", sb_compare(2, NULL, &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "paths", sb_compare(2, holes, &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "count", sb_compare(1, one_path, &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "count", sb_compare(-1, one_path, &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "out", sb_compare(1, one_path, NULL, &err));
    REFUSED(SB_ERR_ARGUMENT, "path", sb_digest_file(NULL, digest, tree, &arrays, &err));
    REFUSED(SB_ERR_ARGUMENT, "bytes", sb_digest_file("x", NULL, tree, &arrays, &err));
    REFUSED(SB_ERR_ARGUMENT, "tree", sb_digest_file("x", digest, NULL, &arrays, &err));
    REFUSED(SB_ERR_ARGUMENT, "arrays", sb_digest_file("x", digest, tree, NULL, &err));
    REFUSED(SB_ERR_IO, "path", sb_digest_file(inside("none"), digest, tree, &arrays, &err));
    REFUSED(SB_ERR_IO, "path", sb_digest_file(folder, digest, tree, &arrays, &err));

    REFUSED(SB_ERR_ARGUMENT, "ctx", sb_lm_train(NULL, &run, &err));
    REFUSED(SB_ERR_ARGUMENT, "run", sb_lm_train(ctx, NULL, &err));
    REFUSED(SB_ERR_ARGUMENT, "options", sb_lm_train(ctx, RUN(size = 1), &err));
    REFUSED(SB_ERR_ARGUMENT, "options", sb_lm_train(ctx, RUN(size = offsetof(sb_lm_run, user) + 4), &err));
    REFUSED(SB_ERR_ARGUMENT, "folder", sb_lm_train(ctx, RUN(folder = NULL), &err));
    REFUSED(SB_ERR_ARGUMENT, "recipe", sb_lm_train(ctx, RUN(recipe = NULL), &err));
    REFUSED(SB_ERR_ARGUMENT, "data", sb_lm_train(ctx, RUN(data = NULL), &err));
    REFUSED(SB_ERR_ARGUMENT, "worker_count", sb_lm_train(ctx, RUN(worker_count = -1), &err));
    REFUSED(SB_ERR_ARGUMENT, "worker_count", sb_lm_train(ctx, RUN(worker_count = 1), &err));
    REFUSED(SB_ERR_IO, "recipe", sb_lm_train(ctx, RUN(recipe = inside("none")), &err));
    REFUSED(SB_ERR_FORMAT, "recipe", sb_lm_train(ctx, RUN(recipe = inside("text")), &err));
    REFUSED(SB_ERR_IO, "data", sb_lm_train(ctx, RUN(data = inside("none")), &err));
    REFUSED(SB_ERR_IO, "folder", sb_lm_train(ctx, RUN(folder = inside("text/below")), &err));
    REFUSED(SB_ERR_IO, "folder", sb_lm_resume(ctx, RUN(folder = inside("none")), &err));
    REFUSED(SB_ERR_IO, "checkpoint", sb_lm_evaluate(ctx, inside("none"), inside("text"), 0, &evaluation, &err));
    REFUSED(SB_ERR_IO, "checkpoint", sb_lm_generate(ctx, &generation, made, &err));
    REFUSED(SB_ERR_IO, "recipe", sb_lm_describe(ctx, inside("none"), &description, &err));
    REFUSED(SB_ERR_IO, "a", sb_lm_ledger_compare(inside("none"), "x", &difference, &err));
    REFUSED(SB_ERR_IO, "paths", sb_compare(2, no_paths, &report, &err));
    REFUSED(SB_ERR_ARGUMENT, "ctx", sb_lm_resume(NULL, &run, &err));
    REFUSED(SB_ERR_ARGUMENT, "run", sb_lm_resume(ctx, NULL, &err));
    REFUSED(SB_ERR_ARGUMENT, "folder", sb_lm_resume(ctx, RUN(folder = NULL), &err));
    REFUSED(SB_ERR_ARGUMENT, "ctx", sb_lm_work(NULL, &err));
    REFUSED(SB_ERR_ARGUMENT, "ctx", sb_lm_evaluate(NULL, "x", "x", 0, &evaluation, &err));
    REFUSED(SB_ERR_ARGUMENT, "checkpoint", sb_lm_evaluate(ctx, NULL, "x", 0, &evaluation, &err));
    REFUSED(SB_ERR_ARGUMENT, "data", sb_lm_evaluate(ctx, "x", NULL, 0, &evaluation, &err));
    REFUSED(SB_ERR_ARGUMENT, "out", sb_lm_evaluate(ctx, "x", "x", 0, NULL, &err));
    REFUSED(SB_ERR_ARGUMENT, "ctx", sb_lm_generate(NULL, &generation, made, &err));
    REFUSED(SB_ERR_ARGUMENT, "options", sb_lm_generate(ctx, NULL, made, &err));
    REFUSED(SB_ERR_ARGUMENT, "out", sb_lm_generate(ctx, &generation, NULL, &err));
    REFUSED(SB_ERR_ARGUMENT, "options", sb_lm_generate(ctx, GENERATION(size = 1), made, &err));
    REFUSED(SB_ERR_ARGUMENT, "options", sb_lm_generate(ctx, GENERATION(size = offsetof(sb_lm_generation, seed) + 4), made, &err));
    REFUSED(SB_ERR_ARGUMENT, "checkpoint", sb_lm_generate(ctx, GENERATION(checkpoint = NULL), made, &err));
    REFUSED(SB_ERR_ARGUMENT, "prompt", sb_lm_generate(ctx, GENERATION(prompt = NULL), made, &err));
    REFUSED(SB_ERR_ARGUMENT, "ctx", sb_lm_describe(NULL, "x", &description, &err));
    REFUSED(SB_ERR_ARGUMENT, "recipe", sb_lm_describe(ctx, NULL, &description, &err));
    REFUSED(SB_ERR_ARGUMENT, "out", sb_lm_describe(ctx, "x", NULL, &err));
    REFUSED(SB_ERR_ARGUMENT, "text", sb_parse_real(NULL, &real, &err));
    REFUSED(SB_ERR_ARGUMENT, "out", sb_parse_real("1", NULL, &err));
    REFUSED(SB_ERR_ARGUMENT, "text", sb_parse_real("1,5", &real, &err));
    REFUSED(SB_ERR_ARGUMENT, "text", sb_parse_real("", &real, &err));
    REFUSED(SB_ERR_ARGUMENT, "a", sb_lm_ledger_compare(NULL, "x", &difference, &err));
    REFUSED(SB_ERR_ARGUMENT, "b", sb_lm_ledger_compare("x", NULL, &difference, &err));
    REFUSED(SB_ERR_ARGUMENT, "out", sb_lm_ledger_compare("x", "x", NULL, &err));
    CHECK(sb_lm_train(NULL, NULL, NULL) == SB_ERR_ARGUMENT && sb_compare(1, one_path, &report, NULL) == SB_ERR_ARGUMENT &&
          sb_parse_real("x", &real, NULL) == SB_ERR_ARGUMENT && !report, "without an error");
    CHECK(access(inside("new"), F_OK) != 0, "a refused run leaves a folder");
}

// ---- allocations

typedef struct attempt {
    const char *name;
    bool (*call)(sb_context *ctx, sb_status *status, sb_error *err); // false: the result is wrong
} attempt;

static uint8_t expected_model[32], expected_generated[8];
static double expected_loss;

static bool model_is(int step, const uint8_t digest[32]) {
    uint8_t bytes[32], tree[32];
    int64_t arrays;
    char name[80];
    snprintf(name, sizeof name, "run/step-%09d/model.safetensors", step);
    return sb_digest_file(inside(name), bytes, tree, &arrays, NULL) == SB_OK && memcmp(bytes, digest, 32) == 0;
}

static bool train(sb_context *ctx, sb_status *status, sb_error *err) {
    clear(inside("run"));
    sb_lm_run run = run_in(inside("run"), 2);
    *status = sb_lm_train(ctx, &run, err);
    return *status != SB_OK || model_is(2, expected_model);
}

static bool resume(sb_context *ctx, sb_status *status, sb_error *err) {
    clear(inside("run/step-000000002"));
    sb_lm_run run = run_in(inside("run"), 2);
    *status = sb_lm_resume(ctx, &run, err);
    return *status != SB_OK || model_is(2, expected_model);
}

static bool evaluate(sb_context *ctx, sb_status *status, sb_error *err) {
    sb_lm_evaluation e = {0};
    *status = sb_lm_evaluate(ctx, inside("run/step-000000002"), inside("text"), 0, &e, err);
    return *status != SB_OK || e.loss == expected_loss;
}

static bool generate(sb_context *ctx, sb_status *status, sb_error *err) {
    uint8_t made[8];
    sb_lm_generation g = {.size = sizeof g, .checkpoint = inside("run/step-000000002"), .prompt = (const uint8_t *)"the", .prompt_bytes = 3,
                          .tokens = 8, .temperature = 0.7, .top_k = 20, .top_p = 0.9, .seed = 3};
    *status = sb_lm_generate(ctx, &g, made, err);
    return *status != SB_OK || memcmp(made, expected_generated, sizeof made) == 0;
}

static bool describe(sb_context *ctx, sb_status *status, sb_error *err) {
    sb_lm_description d = {0};
    *status = sb_lm_describe(ctx, inside("recipe.json"), &d, err);
    return *status != SB_OK || (d.steps == 2 && d.parameters > 0 && strcmp(d.name, "calls") == 0);
}

static bool verify(sb_context *ctx, sb_status *status, sb_error *err) {
    sb_report *report = NULL;
    sb_verify_options o = {.size = sizeof o, .references = no_references, .references_size = sizeof no_references - 1, .lanes = "softmax", .seed = 7};
    *status = sb_verify(ctx, &o, &report, err);
    // A lane without memory is a refused cell, and the report says so.
    if (*status == SB_OK && sb_report_verdict(report) == 3 && strstr(sb_report_json(report), "REFUSED"))
        *status = sbi_fail(err, SB_ERR_MEMORY, "", "refused");
    else if (*status != SB_OK)
        CHECK(!report, "a report beside an error");
    bool good = *status != SB_OK || (sb_report_verdict(report) == 0 && strstr(sb_report_json(report), "COMPUTED"));
    sb_report_free(report);
    return good;
}

static const attempt attempts[] = {{"train", train}, {"resume", resume}, {"evaluate", evaluate}, {"generate", generate},
                                   {"describe", describe}, {"verify", verify}};

static void test_allocations(void) {
    for (size_t k = 0; k < sizeof attempts / sizeof *attempts; k++) {
        meter m = {.left = INT64_MAX, .live = 0};
        sb_context_options options = {.size = sizeof options, .threads = 1, .allocate = meter_allocate,
                                      .release = meter_release, .user = &m};
        sb_context *ctx = NULL;
        sb_error err = {0};
        CHECK(sb_context_new(&options, &ctx, &err) == SB_OK, "%s", err.message);
        int64_t own = m.live;
        sb_status status = SB_ERR_MEMORY;
        int tries = 0;
        for (int64_t n = 0; status == SB_ERR_MEMORY && n < 1000000; n += 1 + n / 24, tries++) {
            m.left = n;
            bool good = attempts[k].call(ctx, &status, &err);
            CHECK(status == SB_OK || (status == SB_ERR_MEMORY && err.status == status && err.message[0]),
                  "%s, allocation %lld: %s %s", attempts[k].name, (long long)n, sb_status_name(status), err.message);
            CHECK(good, "%s, allocation %lld: a wrong result", attempts[k].name, (long long)n);
            CHECK(m.live <= own + 1, "%s, allocation %lld: %lld blocks leaked", attempts[k].name, (long long)n,
                  (long long)(m.live - own)); // (one is kept: the pool's scratch)
        }
        CHECK(status == SB_OK, "%s never succeeds: %s", attempts[k].name, err.message);
        printf("%s: %d failures survived\n", attempts[k].name, tries - 1);
        sb_context_free(ctx);
        CHECK(m.live == 0, "%s: the context leaks", attempts[k].name);
    }
}

static void expect(sb_context *ctx) { // the results without failures
    sb_error err = {0};
    sb_lm_run run = run_in(inside("run"), 2);
    uint8_t tree[32];
    int64_t arrays;
    sb_lm_evaluation e = {0};
    CHECK(sb_lm_train(ctx, &run, &err) == SB_OK, "%s", err.message);
    CHECK(sb_digest_file(inside("run/step-000000002/model.safetensors"), expected_model, tree, &arrays, &err) == SB_OK &&
          arrays > 0, "%s", err.message);
    CHECK(sb_lm_evaluate(ctx, inside("run/step-000000002"), inside("text"), 0, &e, &err) == SB_OK, "%s", err.message);
    expected_loss = e.loss;
    sb_lm_generation g = {.size = sizeof g, .checkpoint = inside("run/step-000000002"), .prompt = (const uint8_t *)"the", .prompt_bytes = 3,
                          .tokens = 8, .temperature = 0.7, .top_k = 20, .top_p = 0.9, .seed = 3};
    CHECK(sb_lm_generate(ctx, &g, expected_generated, &err) == SB_OK, "%s", err.message);
}

int main(void) {
    sb_error err = {0};
    if (!open_folder(NULL)) return 1;
    static char text[TEXT];
    for (int i = 0; i < TEXT; i++) text[i] = "the light and the water "[i * 7 % 24];
    put(inside("text"), text, TEXT);
    uint8_t digest[32];
    char hex[65], recipe[600];
    sb_sha256(text, TEXT, digest);
    sbi_hex(digest, 32, hex);
    int length = snprintf(recipe, sizeof recipe, recipe_form, hex);
    put(inside("recipe.json"), recipe, (size_t)length);
    sb_context_options options = {.size = sizeof options, .threads = 2};
    sb_context *ctx = NULL;
    CHECK(sb_context_new(&options, &ctx, &err) == SB_OK, "%s", err.message);
    test_told_proofs(ctx);
    test_arguments(ctx);
    expect(ctx);
    sb_context_free(ctx);
    test_allocations();
    clear(folder);
    return test_end();
}
