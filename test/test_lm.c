// SPDX-License-Identifier: Apache-2.0
// Whole runs: recipes read strictly; the ledger; resuming byte for byte; processes that share a
// step; interruption; checkpoints that are damaged or hostile; generation. This program is its own
// worker.
#include "lm.h"
#include "folder.h"

#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char self[400];
static sb_context *ctx;

// What the public functions refuse, the library does not do either: no operation of a run writes where it reads, but
// for those that say "in place", element for element. (Kernels are compiled as if.)
static atomic_int watched, overlapping;
static bool in_place(const sbi_op *op, int out, int in) {
    static const struct {
        sbi_op_id id;
        int out, in;
    } pairs[] = {{SBI_OP_BINARY, 0, 0},           {SBI_OP_BINARY, 0, 1},
                 {SBI_OP_SCALE, 0, 0},            {SBI_OP_UNARY, 0, 0},
                 {SBI_OP_SWIGLU_BACKWARD, 0, 0},  {SBI_OP_SWIGLU_BACKWARD, 1, 1},
                 {SBI_OP_SOFTMAX_BACKWARD, 0, 1}, {SBI_OP_CROSS_ENTROPY_BACKWARD, 0, 0},
                 {SBI_OP_ROTARY, 0, 0},           {SBI_OP_SCAN, 0, 0},
                 {SBI_OP_DROPOUT, 0, 0}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].id == op->id && pairs[i].out == out && pairs[i].in == in)
            return op->out[out]->data == op->in[in]->data && op->out[out]->size == op->in[in]->size;
    return false;
}
static void stay_apart(void *user, sb_context *c, const struct sbi_op *op) {
    (void)user, (void)c;
    watched++;
    for (int o = 0; o < 3; o++) {
        if (!op->out[o]) continue;
        for (int i = 0; i < 8; i++)
            if (op->in[i] && sbi_arrays_overlap(op->out[o], op->in[i]) && !in_place(op, o, i)) {
                fprintf(stderr, "%s: output %d overlaps input %d\n", sbi_op_names[op->id], o, i);
                overlapping++;
            }
        for (int other = 0; other < o; other++)
            overlapping += op->out[other] && sbi_arrays_overlap(op->out[o], op->out[other]);
    }
}

// ---------------------------------------------------------------- material

enum { TEXT = 3000 };
static uint8_t text[TEXT + 1];
static char text_sha256[65];

static uint8_t *get(const char *path, int64_t *size) {
    uint8_t *bytes = NULL;
    *size = -1;
    sbi_file_read(&sbi_malloc_allocator, path, INT64_C(1) << 30, &bytes, size, NULL);
    return bytes;
}

static bool same_file(const char *a, const char *b) {
    int64_t size_a, size_b;
    uint8_t *x = get(a, &size_a), *y = get(b, &size_b);
    bool same = x && y && size_a == size_b && memcmp(x, y, (size_t)size_a) == 0;
    sbi_release(&sbi_malloc_allocator, x);
    sbi_release(&sbi_malloc_allocator, y);
    return same;
}

static const char *recipe_text(const char *extra_training, const char *sha256) {
    static char recipe[2000];
    snprintf(recipe, sizeof recipe,
             "{\"recipe\": 1, \"name\": \"test\", \"model\": {\"hidden_size\": 16, \"layers\": 2, "
             "\"heads\": 2, \"kv_heads\": 1, \"intermediate_size\": 24},\n"
             "\"training\": {\"steps\": 8, \"shards\": 6, \"shard_sequences\": 2, "
             "\"sequence_length\": 12, \"seed\": 5, \"learning_rate\": 0.01, \"warm_up\": 2%s},\n"
             "\"checkpoints\": {\"every\": 3, \"keep\": 2}, \"evaluation\": {\"windows\": 10}, "
             "\"data\": {\"sha256\": \"%s\", \"held_out\": 400}}",
             extra_training, sha256);
    return recipe;
}

static void prepare(void) {
    static const char *const words[] = {"the ", "and ", "of ",     "light", "water, ",
                                        "in ",  "day",  "night. ", "said ", "was "};
    size_t at = 0;
    uint32_t x = 12345;
    while (at < TEXT) {
        x = x * 1664525u + 1013904223u;
        for (const char *c = words[(x >> 20) % 10]; *c && at < TEXT; c++) text[at++] = (uint8_t)*c;
    }
    sbi_sha256_hex(text, TEXT, text_sha256);
    put(inside("text"), text, TEXT);
    const char *recipe = recipe_text("", text_sha256);
    put(inside("recipe.json"), recipe, strlen(recipe));
}

typedef struct heard {
    int64_t steps, saved, last, stop_after, sabotaged;
    double loss[20], bits;
    char levels[8][16];
} heard;

static int listen_to(void *user, const sb_lm_event *e) {
    heard *h = user;
    if (e->kind == SB_LM_STEP) {
        h->steps++;
        h->last = e->step;
        h->loss[e->step] = e->loss;
    }
    h->saved += e->kind == SB_LM_SAVED;
    h->sabotaged += e->kind == SB_LM_SABOTAGED;
    if (e->kind == SB_LM_EVALUATED) h->bits = e->bits_per_byte;
    if (e->kind == SB_LM_WORKER) snprintf(h->levels[e->worker], sizeof h->levels[0], "%s", e->text);
    return e->kind == SB_LM_STEP && e->step == h->stop_after;
}

static sb_lm_run run_in(const char *name, int64_t until, heard *h) {
    memset(h, 0, sizeof *h);
    return (sb_lm_run){.size = sizeof(sb_lm_run),
                       .recipe = inside("recipe.json"),
                       .data = inside("text"),
                       .folder = inside(name),
                       .until = until,
                       .worker_command = self,
                       .listener = listen_to,
                       .user = h};
}

static sb_context *make_context(const char *isa, int threads) {
    sb_context *c = NULL;
    sb_context_options o = {.size = sizeof o, .isa = isa, .threads = threads};
    return sb_context_new(&o, &c, NULL) == SB_OK ? c : NULL;
}

// ---------------------------------------------------------------- recipes

static sb_status read_recipe(const char *bytes, sb_error *err) {
    sbi_recipe r;
    sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, NULL);
    sb_status status = sbi_recipe_read(ctx, arena, bytes, (int64_t)strlen(bytes), &r, err);
    sbi_arena_free(arena);
    return status;
}

static void check_recipes(void) {
#define MODEL                                                                                      \
    "\"model\": {\"hidden_size\": 8, \"layers\": 1, \"heads\": 2, \"kv_heads\": 1, "               \
    "\"intermediate_size\": 8}"
#define TRAINING                                                                                   \
    "\"training\": {\"steps\": 2, \"shards\": 2, \"shard_sequences\": 1, \"sequence_length\": 4, " \
    "\"seed\": 1, \"learning_rate\": 0.1}"
    static const struct {
        const char *recipe, *argument;
    } bad[] = {
        {"{\"recipe\": 1, " MODEL "}", "training.steps"},
        {"{" MODEL ", " TRAINING "}", "recipe"},
        {"{\"recipe\": 2, " MODEL ", " TRAINING "}", "recipe"},
        {"{\"recipe\": 1, \"modle\": {}, " TRAINING "}", "modle"},
        {"{\"recipe\": 1, \"model\": [], " TRAINING "}", "model"},
        {"{\"recipe\": 1, \"model\": {\"hiden_size\": 8}, " TRAINING "}", "model.hiden_size"},
        {"{\"recipe\": 1, \"model\": {\"hidden_size\": 8.0}, " TRAINING "}", "model.hidden_size"},
        {"{\"recipe\": 1, \"model\": {\"hidden_size\": \"8\"}, " TRAINING "}", "model.hidden_size"},
        {"{\"recipe\": 1, \"model\": {\"hidden_size\": 70000}, " TRAINING "}", "model.hidden_size"},
        {"{\"recipe\": 1, \"model\": {\"hidden_size\": 99999999999999999999}, " TRAINING "}",
         "model.hidden_size"},
        {"{\"recipe\": 1, \"model\": {\"hidden_size\": 8, \"layers\": 1, \"heads\": 3, "
         "\"kv_heads\": 1, \"intermediate_size\": 8}, " TRAINING "}",
         "model.heads"},
        {"{\"recipe\": 1, \"model\": {\"hidden_size\": 6, \"layers\": 1, \"heads\": 2, "
         "\"kv_heads\": 1, \"intermediate_size\": 8}, " TRAINING "}",
         "model.heads"},
        {"{\"recipe\": 1, \"model\": {\"hidden_size\": 24, \"layers\": 1, \"heads\": 6, "
         "\"kv_heads\": 4, \"intermediate_size\": 8}, " TRAINING "}",
         "model.kv_heads"},
        {"{\"recipe\": 1, \"model\": {\"hidden_size\": 8, \"layers\": 1, \"heads\": 2, "
         "\"kv_heads\": 1, \"intermediate_size\": 8, \"tie\": 1}, " TRAINING "}",
         "model.tie"},
        {"{\"recipe\": 1, " MODEL ", \"training\": {\"steps\": 2, \"shard_sequences\": 1, "
                                  "\"sequence_length\": 4, \"seed\": 1, \"learning_rate\": -0.1}}",
         "training.learning_rate"},
        {"{\"recipe\": 1, " MODEL ", \"training\": {\"steps\": 2, \"shard_sequences\": 1, "
                                  "\"sequence_length\": 4, \"seed\": -1, \"learning_rate\": 0.1}}",
         "training.seed"},
        {"{\"recipe\": 1, " MODEL
         ", \"training\": {\"steps\": 2, \"shard_sequences\": 1, \"sequence_length\": 4, \"seed\": "
         "1, \"learning_rate\": 0.1, \"warm_up\": 3}}",
         "training.warm_up"},
        {"{\"recipe\": 1, " MODEL
         ", \"training\": {\"steps\": 2, \"shard_sequences\": 1, \"sequence_length\": 4, \"seed\": "
         "1, \"learning_rate\": 0.1, \"beta1\": 1}}",
         "training.beta1"},
        {"{\"recipe\": 1, " MODEL
         ", \"training\": {\"steps\": 2, \"shard_sequences\": 1, \"sequence_length\": 4, \"seed\": "
         "1, \"learning_rate\": 0.1, \"groups\": [{}]}}",
         "training.groups"},
        {"{\"recipe\": 1, " MODEL
         ", \"training\": {\"steps\": 2, \"shard_sequences\": 1, \"sequence_length\": 4, \"seed\": "
         "1, \"learning_rate\": 0.1, \"groups\": [{\"pattern\": \"*\", \"decay\": 1}]}}",
         "training.groups.decay"},
        {"{\"recipe\": 1, " MODEL
         ", \"training\": {\"steps\": 2, \"shard_sequences\": 1, \"sequence_length\": 4, \"seed\": "
         "1, \"learning_rate\": 0.1, \"learning_rates\": \"3a83126f\"}}",
         "training.learning_rates"},
        {"{\"recipe\": 1, " MODEL
         ", \"training\": {\"steps\": 2, \"shard_sequences\": 1, \"sequence_length\": 4, \"seed\": "
         "1, \"learning_rate\": 0.1, \"learning_rates\": \"3a83126f 7f800000\"}}",
         "training.learning_rates"},
        {"{\"recipe\": 1, " MODEL ", " TRAINING ", \"data\": {\"sha256\": \"abc\"}}",
         "data.sha256"},
        {"{\"recipe\": 1, " MODEL ", " TRAINING ", \"data\": {\"held_out\": -1}}", "data.held_out"},
        {"{\"recipe\": 1, " MODEL ", " TRAINING ", \"data\": {\"path\": \"x\"}}", "data.path"},
        {"{\"recipe\": 1, \"name\": \"\", " MODEL ", " TRAINING "}", "name"},
        {"{\"recipe\": 1, \"name\": \"a\\nb\", " MODEL ", " TRAINING "}", "name"},
        {"{\"recipe\": 1, \"name\\u0000x\": \"a\", " MODEL ", " TRAINING "}", "name\\x00x"},
        {"{\"recipe\": 1, " MODEL ", " TRAINING ", \"data\": {\"held_out\\u0000\": 1}}",
         "data.held_out\\x00"},
        {"[]", "recipe"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sb_error err = {0};
        CHECK(read_recipe(bad[i].recipe, &err) != SB_OK &&
                  strcmp(err.argument, bad[i].argument) == 0,
              "recipe %zu names \"%s\": %s", i, err.argument, err.message);
    }
    sb_error err = {0};
    CHECK(read_recipe("{\"recipe\": 1, " MODEL ", " TRAINING "}", &err) == SB_OK, "%s",
          err.message);
    CHECK(read_recipe("{\"recipe\": 1, " MODEL ", " TRAINING ", }", &err) == SB_ERR_FORMAT,
          "a comma too many");
    CHECK(read_recipe("{\"recipe\": 1, \"recipe\": 1, " MODEL ", " TRAINING "}", &err) ==
              SB_ERR_FORMAT,
          "a key twice");
    // The full text gives itself back, and the table of rates stands in it.
    sbi_recipe a, b;
    sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, NULL);
    const char *given = recipe_text(
        ", \"groups\": [{\"pattern\": \"lm_head*\", \"weight_decay\": 0.3, \"rate_ratio\": 0.7}]",
        text_sha256);
    CHECK(sbi_recipe_read(ctx, arena, given, (int64_t)strlen(given), &a, &err) == SB_OK, "%s",
          err.message);
    CHECK(sbi_recipe_read(ctx, arena, a.text, a.text_length, &b, &err) == SB_OK, "%s", err.message);
    CHECK(a.text_length == b.text_length && strcmp(a.text, b.text) == 0 &&
              strcmp(a.sha256, b.sha256) == 0,
          "the full text gives\n%s\nthen\n%s", a.text, b.text);
    CHECK(memcmp(a.rates, b.rates, (size_t)a.steps * sizeof *a.rates) == 0 && a.rates[7] > 0.0f,
          "rates");
    CHECK(a.group_count == 2 && a.groups[0].weight_decay == 0.3f &&
              a.groups[0].rate_ratio == 0.7f && a.groups[1].weight_decay == 0.1f,
          "groups");
    sbi_arena_free(arena);
}

// ---------------------------------------------------------------- runs

static void check_train_and_resume(void) {
    heard h;
    sb_error err = {0};
    sb_lm_run run = run_in("straight", 0, &h);
    CHECK(sb_lm_train(ctx, &run, &err) == SB_OK, "%s", err.message);
    CHECK(h.steps == 8 && h.last == 8 && h.loss[8] < h.loss[1], "loss from %g to %g", h.loss[1],
          h.loss[8]);
    CHECK(sbi_file_present(inside("straight/step-000000008/model.safetensors")) &&
              sbi_file_present(inside("straight/step-000000006/model.safetensors")),
          "the last two are kept");
    CHECK(!sbi_file_present(inside("straight/step-000000003/model.safetensors")) &&
              !sbi_file_present(inside("straight/step-000000000/model.safetensors")),
          "older ones go");
    CHECK(sbi_file_present(inside("straight/step-000000008/config.json")) &&
              sbi_file_present(inside("straight/best.json")),
          "config.json, best.json");
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_STATE, "training over a run: %s", err.message);

    // In parts, with other threads and levels, interrupted once by the listener; ledger and
    // checkpoint are the same bytes.
    static const struct {
        const char *isa;
        int threads;
        int64_t until, stop;
    } parts[] = {{"plain", 1, 2, 0},
                 {"reverse", 3, 0, 3},
                 {NULL, 7, 5, 0},
                 {NULL, 16, 7, 0},
                 {"plain", 2, 0, 0}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        sb_context *c = make_context(parts[i].isa, parts[i].threads);
        run = run_in("parts", parts[i].until, &h);
        h.stop_after = parts[i].stop;
        sb_status status = i ? sb_lm_resume(c, &run, &err) : sb_lm_train(c, &run, &err);
        CHECK(status == (parts[i].stop ? SB_ERR_INTERRUPTED : SB_OK), "part %zu: %s", i,
              err.message);
        sb_context_free(c);
    }
    CHECK(same_file(inside("straight/ledger.jsonl"), inside("parts/ledger.jsonl")),
          "ledgers differ");
    CHECK(same_file(inside("straight/step-000000008/model.safetensors"),
                    inside("parts/step-000000008/model.safetensors")),
          "checkpoints differ");
    CHECK(same_file(inside("straight/best.json"), inside("parts/best.json")), "the best differs");
    for (int step = 0; step <= 8; step++) { // interruptions leave none of their own, and push none out
        char a[80], b[80];
        snprintf(a, sizeof a, "straight/step-%09d/model.safetensors", step);
        snprintf(b, sizeof b, "parts/step-%09d/model.safetensors", step);
        CHECK(sbi_file_present(inside(a)) == sbi_file_present(inside(b)), "the checkpoint of step %d is in one folder only", step);
    }
    run = run_in("parts", 0, &h);
    CHECK(sb_lm_resume(ctx, &run, &err) == SB_OK && h.steps == 0,
          "resuming a finished run does nothing");
    run.until = 4;
    CHECK(sb_lm_resume(ctx, &run, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "until") == 0,
          "until before the checkpoint");
    run = run_in("nothing", 0, &h);
    CHECK(sb_lm_resume(ctx, &run, &err) == SB_ERR_IO, "a folder that is not there");
    run = run_in("nothing", 9, &h);
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "until") == 0,
          "nine of eight steps");
    CHECK(access(inside("nothing"), F_OK) != 0, "a folder is left by a run that could not start");
}

// While one run is under way in a folder, another must not write there.
static int intrude(void *user, const sb_lm_event *e) {
    sb_error *first = user;
    heard h;
    sb_lm_run run = run_in("taken", 0, &h);
    sb_context *c = make_context("plain", 1);
    if (e->kind == SB_LM_STEP && e->step == 2) {
        (void)sb_lm_resume(c, &run, &first[0]);
        (void)sb_lm_train(c, &run, &first[1]);
    }
    sb_context_free(c);
    return 0;
}

static void check_lock(void) {
    heard h;
    sb_error err = {0}, intruder[2] = {{0}, {0}};
    sb_lm_run run = run_in("taken", 0, &h);
    run.listener = intrude;
    run.user = intruder;
    CHECK(sb_lm_train(ctx, &run, &err) == SB_OK, "%s", err.message);
    for (int i = 0; i < 2; i++)
        CHECK(intruder[i].status == SB_ERR_STATE && strstr(intruder[i].message, "another process"),
              "a second run at once: %s", intruder[i].message);
    CHECK(same_file(inside("straight/ledger.jsonl"), inside("taken/ledger.jsonl")),
          "ledgers differ");
    run = run_in("taken", 0, &h);
    CHECK(sb_lm_resume(ctx, &run, &err) == SB_OK, "the folder is free again: %s", err.message);
}

static void check_workers(void) {
    heard h;
    sb_error err = {0};
    sb_lm_worker workers[] = {{.isa = "plain", .threads = 1},
                              {.threads = 2},
                              {.isa = "reverse", .threads = 1, .shards = 1}};
    sb_lm_run run = run_in("shared", 4, &h);
    run.workers = workers;
    run.worker_count = 3;
    CHECK(sb_lm_train(ctx, &run, &err) == SB_OK, "%s", err.message);
    CHECK(strcmp(h.levels[0], "plain") == 0 && strcmp(h.levels[2], "reverse") == 0 &&
              h.levels[1][0],
          "levels that ran: %s %s %s", h.levels[0], h.levels[1], h.levels[2]);
    run = run_in("shared", 0, &h);
    CHECK(sb_lm_resume(ctx, &run, &err) == SB_OK, "%s", err.message);
    CHECK(same_file(inside("straight/ledger.jsonl"), inside("shared/ledger.jsonl")),
          "ledgers differ");
    CHECK(same_file(inside("straight/step-000000008/model.safetensors"),
                    inside("shared/step-000000008/model.safetensors")),
          "checkpoints differ");
    // One with all shards; more than there are; one that dies in its second step.
    run = run_in("alone", 2, &h);
    run.workers = workers;
    run.worker_count = 1;
    CHECK(sb_lm_train(ctx, &run, &err) == SB_OK, "%s", err.message);
    workers[0].shards = 7;
    run = run_in("toomany", 2, &h);
    run.workers = workers;
    run.worker_count = 1;
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_ARGUMENT, "seven of six shards: %s", err.message);
    CHECK(access(inside("toomany"), F_OK) != 0, "a folder is left by a run that could not start");
    run = run_in("nonsense", 2, &h);
    run.workers = workers;
    run.worker_count = 1;
    workers[0] = (sb_lm_worker){.isa = "nonsense", .threads = 1};
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_WORKER && strstr(err.message, "worker 0"),
          "a level that is not there: %s", err.message);
    workers[0] = (sb_lm_worker){.isa = "plain", .threads = 1};
    setenv("TEST_LM_DIE_AT_STEP", "5", 1);
    run = run_in("dies", 0, &h);
    run.workers = workers;
    run.worker_count = 2;
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_WORKER &&
              strstr(err.message, "killed by signal 9"),
          "a worker that dies: %s", err.message);
    unsetenv("TEST_LM_DIE_AT_STEP");
    CHECK(h.last == 4 && sbi_file_present(inside("dies/step-000000004/model.safetensors")),
          "the last good state is kept, step %lld", (long long)h.last);
    run = run_in("dies", 0, &h);
    CHECK(sb_lm_resume(ctx, &run, &err) == SB_OK, "%s", err.message);
    CHECK(same_file(inside("straight/ledger.jsonl"), inside("dies/ledger.jsonl")),
          "ledgers differ");
    CHECK(same_file(inside("straight/step-000000008/model.safetensors"),
                    inside("dies/step-000000008/model.safetensors")),
          "checkpoints differ");
}

static void check_ledgers(void) {
    heard h;
    sb_error err = {0};
    sb_lm_difference d;
    sb_lm_run run = run_in("sabotaged", 6, &h);
    run.sabotage_step = 5;
    CHECK(sb_lm_train(ctx, &run, &err) == SB_OK && h.sabotaged == 1, "%s", err.message);
    CHECK(sb_lm_ledger_compare(inside("straight/ledger.jsonl"), inside("sabotaged/ledger.jsonl"),
                               &d, &err) == SB_OK,
          "%s", err.message);
    CHECK(!d.equal && d.step == 5 && strcmp(d.field, "gradient") == 0 && d.steps_a == 8 &&
              d.steps_b == 6,
          "step %lld, field %s", (long long)d.step, d.field);
    run = run_in("sabotaged", 8, &h); // the rest of the run carries it on
    CHECK(sb_lm_resume(ctx, &run, &err) == SB_OK, "%s", err.message);
    CHECK(!same_file(inside("straight/step-000000008/model.safetensors"),
                     inside("sabotaged/step-000000008/model.safetensors")),
          "one ulp was lost");
    CHECK(sb_lm_ledger_compare(inside("straight/ledger.jsonl"), inside("parts/ledger.jsonl"), &d,
                               &err) == SB_OK &&
              d.equal && d.steps_a == 8,
          "equal ledgers");
    // A shorter one; a changed loss; lines that do not follow; no ledger.
    int64_t size, line = 0, cut = 0;
    uint8_t *bytes = get(inside("straight/ledger.jsonl"), &size);
    while (line < 4) line += bytes[cut++] == '\n';
    put(inside("short"), bytes, (size_t)cut); // three steps
    CHECK(sb_lm_ledger_compare(inside("straight/ledger.jsonl"), inside("short"), &d, &err) ==
                  SB_OK &&
              !d.equal && d.step == 4 && strcmp(d.field, "end") == 0 && d.steps_b == 3,
          "step %lld, field %s", (long long)d.step, d.field);
    // A last line cut in the writing is no line, and must not pass for none: on either side, and
    // where only its newline is missing.
    for (int64_t more = 1; more < size - cut; more += more < 40 ? 1 : 97) {
        put(inside("cut"), bytes, (size_t)(cut + more));
        int64_t ends = bytes[cut + more - 1] == '\n';
        sb_status status =
            sb_lm_ledger_compare(inside("straight/ledger.jsonl"), inside("cut"), &d, &err);
        CHECK(ends || (status == SB_ERR_FORMAT && strcmp(err.argument, "ledger") == 0 &&
                       strstr(err.message, "does not end")),
              "%lld bytes of more: %s", (long long)more, err.message);
    }
    put(inside("cut"), bytes, (size_t)size - 1);
    CHECK(sb_lm_ledger_compare(inside("straight/ledger.jsonl"), inside("cut"), &d, &err) ==
                  SB_ERR_FORMAT &&
              sb_lm_ledger_compare(inside("cut"), inside("straight/ledger.jsonl"), &d, &err) ==
                  SB_ERR_FORMAT &&
              sb_lm_ledger_compare(inside("cut"), inside("cut"), &d, &err) == SB_ERR_FORMAT &&
              strstr(err.message, "line 9, does not end"),
          "no newline at the end: %s", err.message);
    int64_t last = size - 11; // of the last line: its losses
    while (last > 0 && memcmp(bytes + last, "\"losses\":[\"", 11) != 0) last--;
    CHECK(last > cut, "the last line's losses");
    if (last > 0) {
        bytes[last + 11 + 19 * 2] ^= 1; // the third
        put(inside("changed"), bytes, (size_t)size);
        CHECK(sb_lm_ledger_compare(inside("straight/ledger.jsonl"), inside("changed"), &d, &err) ==
                      SB_OK &&
                  !d.equal && d.step == 8 && strcmp(d.field, "losses[2]") == 0,
              "step %lld, field %s", (long long)d.step, d.field);
        bytes[last + 11 + 19 * 2] ^= 1;
    }
    bytes[cut - 100] ^= 1;
    put(inside("broken"), bytes, (size_t)size);
    CHECK(sb_lm_ledger_compare(inside("straight/ledger.jsonl"), inside("broken"), &d, &err) ==
              SB_ERR_FORMAT,
          "a chain that does not hold");
    put(inside("broken"), text, TEXT);
    CHECK(sb_lm_ledger_compare(inside("broken"), inside("broken"), &d, &err) == SB_ERR_FORMAT,
          "a text");
    put(inside("broken"), "", 0);
    CHECK(sb_lm_ledger_compare(inside("broken"), inside("broken"), &d, &err) == SB_ERR_FORMAT,
          "an empty file");
    CHECK(sb_lm_ledger_compare(inside("absent"), inside("broken"), &d, &err) == SB_ERR_IO,
          "a file that is not there");
    // A ledger ahead of the newest checkpoint, as a kill leaves it, is cut; one behind it is
    // refused.
    bytes[cut - 100] ^= 1;
    run = run_in("ahead", 4, &h);
    CHECK(sb_lm_train(ctx, &run, &err) == SB_OK, "%s", err.message);
    put(inside("ahead/ledger.jsonl"), bytes, (size_t)size - 33);
    run = run_in("ahead", 0, &h);
    CHECK(sb_lm_resume(ctx, &run, &err) == SB_OK && h.steps == 4, "%s", err.message);
    CHECK(same_file(inside("straight/ledger.jsonl"), inside("ahead/ledger.jsonl")),
          "ledgers differ");
    put(inside("ahead/ledger.jsonl"), bytes, (size_t)cut);
    CHECK(sb_lm_resume(ctx, &run, &err) == SB_ERR_FORMAT && strcmp(err.argument, "ledger") == 0,
          "a ledger behind: %s", err.message);
    sbi_release(&sbi_malloc_allocator, bytes);
}

static void check_data(void) {
    heard h;
    sb_error err = {0};
    sb_lm_run run = run_in("other", 0, &h);
    text[100] ^= 1;
    put(inside("othertext"), text, TEXT);
    text[100] ^= 1;
    run.data = inside("othertext");
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "data") == 0,
          "another text: %s", err.message);
    CHECK(!sbi_file_present(inside("other/ledger.jsonl")), "a refused run left files");
    run.data = inside("absent");
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_IO, "no text: %s", err.message);
    run = run_in("straight", 0, &h);
    run.data = inside("othertext");
    CHECK(sb_lm_resume(ctx, &run, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "data") == 0,
          "resuming with another text: %s", err.message);
    const char *recipe = recipe_text("", text_sha256);
    char *sha = strstr(recipe, "\"sha256\"");
    char none[2000];
    snprintf(none, sizeof none, "%.*s\"held_out\": 400}}", (int)(sha - recipe), recipe);
    put(inside("nodata.json"), none, strlen(none));
    run = run_in("nodata", 0, &h);
    run.recipe = inside("nodata.json");
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_ARGUMENT &&
              strcmp(err.argument, "data.sha256") == 0,
          "a recipe without data: %s", err.message);
    run.folder = inside("text/below");
    run.recipe = inside("recipe.json");
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_IO, "a folder inside a file: %s", err.message);
}

static void check_nonfinite(void) {
    heard h;
    sb_error err = {0};
    const char *recipe =
        recipe_text(", \"minimum_ratio\": 1, \"clip\": 0, \"groups\": [{\"pattern\": \"*\", "
                    "\"rate_ratio\": 1000}], \"weight_decay\": 100",
                    text_sha256);
    put(inside("wild.json"), recipe,
        strlen(recipe)); // decay of -9999 a step: infinite within eight steps
    sb_lm_run run = run_in("wild", 0, &h);
    run.recipe = inside("wild.json");
    sb_status status = sb_lm_train(ctx, &run, &err);
    CHECK(status == SB_ERR_NONFINITE && strstr(err.message, "step ") &&
              strstr(err.message, "shard "),
          "%d: %s", (int)status, err.message);
    char path[64];
    snprintf(path, sizeof path, "wild/step-%09lld/model.safetensors", (long long)h.last);
    CHECK(h.last < 8 && sbi_file_present(inside(path)),
          "the last good state, of step %lld, is kept", (long long)h.last);
    sb_error again = {0};
    run = run_in("wild", 0, &h);
    sb_context *c = make_context("plain", 3);
    CHECK(sb_lm_resume(c, &run, &again) == SB_ERR_NONFINITE &&
              strcmp(again.message, err.message) == 0,
          "the same report: %s", again.message);
    sb_context_free(c);
}

// ---------------------------------------------------------------- checkpoints and generation

static void check_hostile_checkpoints(void) {
    heard h;
    sb_error err = {0};
    int64_t size;
    char path[500];
    uint8_t *bytes = get(inside("straight/step-000000008/model.safetensors"), &size);
    sb_lm_evaluation e;
    mkdir(inside("hostile"), 0777);
    mkdir(inside("hostile/step-000000008"), 0777);
    snprintf(path, sizeof path, "%s", inside("hostile/step-000000008/model.safetensors"));
    put(inside("hostile/run.json"), "{\"data\": \"x\"}", 13);
    int64_t ledger_size;
    uint8_t *ledger = get(inside("straight/ledger.jsonl"), &ledger_size);
    put(inside("hostile/ledger.jsonl"), ledger, (size_t)ledger_size);
    sb_lm_run run = run_in("hostile", 0, &h);
    put(path, bytes, (size_t)size);
    CHECK(sb_lm_resume(ctx, &run, &err) == SB_OK, "untouched: %s", err.message);
    // Cut anywhere: a named error.
    for (int64_t cut = 0; cut < size; cut += cut < 200 ? 7 : size / 50) {
        put(path, bytes, (size_t)cut);
        CHECK(sb_lm_resume(ctx, &run, &err) == SB_ERR_FORMAT, "cut at %lld: %s", (long long)cut,
              err.message);
    }
    // One bit anywhere: in the data the digest notices, in the header the reader or the checks.
    uint32_t x = 99;
    for (int i = 0; i < 150; i++) {
        x = x * 1664525u + 1013904223u;
        int64_t at = (int64_t)((uint64_t)x * (uint64_t)(i < 75 ? size : 4000) >> 32);
        uint8_t bit = (uint8_t)(1u << (x >> 8 & 7u));
        bytes[at] ^= bit;
        put(path, bytes, (size_t)size);
        sb_status status = sb_lm_resume(ctx, &run, &err);
        CHECK(status != SB_OK && err.message[0], "bit at %lld: %d", (long long)at, (int)status);
        if (i % 10 == 0) { // what only reads the weights refuses it as well
            err = (sb_error){0};
            status = sb_lm_evaluate(ctx, path, inside("text"), 0, &e, &err);
            CHECK(status != SB_OK && err.message[0], "bit at %lld, evaluated: %d", (long long)at,
                  (int)status);
        }
        bytes[at] ^= bit;
    }
    // Names and steps that lie.
    static const struct {
        const char *from, *to;
    } lies[] = {{"\"samebits.step\":\"8\"", "\"samebits.step\":\"9\""},
                {"\"samebits.step\":\"8\"", "\"samebits.step\":\"7\""},
                {"\"samebits.step\":\"8\"", "\"samebits.step\":\"x\""},
                {"\"samebits.contract\":\"1\"", "\"samebits.contract\":\"2\""},
                {"\"samebits.checkpoint\":\"1\"", "\"samebits.checkpoint\":\"3\""},
                {"model.norm.weight", "model.norm.height"},
                {"hidden_size\\\": 16", "hidden_size\\\": 12"},
                {"\\\"layers\\\": 2", "\\\"layers\\\": 1"},
                {"\\\"seed\\\": 5", "\\\"seed\\\": 6"}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        size_t length = strlen(lies[i].from);
        uint8_t *at = memmem(bytes, (size_t)size, lies[i].from, length);
        CHECK(at != NULL, "the header holds %s", lies[i].from);
        if (!at) continue;
        memcpy(at, lies[i].to, length);
        put(path, bytes, (size_t)size);
        CHECK(sb_lm_resume(ctx, &run, &err) != SB_OK, "%s is taken for %s", lies[i].to,
              lies[i].from);
        memcpy(at, lies[i].from, length);
    }
    CHECK(sb_lm_evaluate(ctx, inside("text"), inside("text"), 0, &e, &err) == SB_ERR_FORMAT,
          "a text as a checkpoint: %s", err.message);
    CHECK(sb_lm_evaluate(ctx, inside("absent"), inside("text"), 0, &e, &err) == SB_ERR_IO,
          "no checkpoint: %s", err.message);
    // A folder without its file is no checkpoint; temporaries go.
    put(path, bytes, (size_t)size);
    mkdir(inside("hostile/step-000000009"), 0777);
    put(inside("hostile/step-000000009/.samebits-1-1.tmp"), bytes, 10);
    put(inside("hostile/.samebits-1-2.tmp"), bytes, 10);
    CHECK(sb_lm_resume(ctx, &run, &err) == SB_OK, "%s", err.message);
    CHECK(!sbi_file_present(inside("hostile/.samebits-1-2.tmp")) &&
              access(inside("hostile/step-000000009"), F_OK) != 0,
          "left-overs stay");
    sbi_release(&sbi_malloc_allocator, bytes);
    sbi_release(&sbi_malloc_allocator, ledger);
}

static void check_generation(void) {
    sb_error err = {0};
    sb_lm_evaluation e, again;
    const char *checkpoint = inside("straight/step-000000008");
    sb_lm_generation g = {.size = sizeof g,
                          .checkpoint = checkpoint,
                          .prompt = (const uint8_t *)"the ",
                          .prompt_bytes = 4,
                          .tokens = 40};
    uint8_t one[40], two[40], sampled[40], shorter[40];
    CHECK(sb_lm_generate(ctx, &g, one, &err) == SB_OK, "%s", err.message);
    sb_context *c = make_context("plain", 3);
    CHECK(sb_lm_generate(c, &g, two, &err) == SB_OK && memcmp(one, two, 40) == 0,
          "greedy on another level");
    g.temperature = 1.5;
    g.seed = 3;
    CHECK(sb_lm_generate(ctx, &g, sampled, &err) == SB_OK && memcmp(one, sampled, 40) != 0,
          "sampled is not greedy");
    CHECK(sb_lm_generate(c, &g, two, &err) == SB_OK && memcmp(sampled, two, 40) == 0,
          "sampled on another level");
    // The prompt's split does not matter: prompt + first half as a prompt gives the second half.
    uint8_t longer[24];
    memcpy(longer, "the ", 4);
    memcpy(longer + 4, sampled, 20);
    g.prompt = longer;
    g.prompt_bytes = 24;
    g.tokens = 20;
    CHECK(sb_lm_generate(ctx, &g, shorter, &err) == SB_OK && memcmp(sampled + 20, shorter, 20) == 0,
          "a longer prompt");
    g.top_k = 1;
    CHECK(sb_lm_generate(ctx, &g, shorter, &err) == SB_OK, "%s", err.message);
    g.top_k = 0;
    g.temperature = 0.0;
    CHECK(sb_lm_generate(ctx, &g, two, &err) == SB_OK && memcmp(two, shorter, 20) == 0,
          "top-k of 1 is greedy");
    g.temperature = 1.0;
    g.top_p = 1e-9;
    CHECK(sb_lm_generate(ctx, &g, shorter, &err) == SB_OK && memcmp(two, shorter, 20) == 0,
          "a tiny nucleus is greedy");
    static const double bad[][2] = {{-1.0, 0.0}, {1.0, 1.5}, {1.0, -0.5},    {1e-9, 0.0},
                                    {NAN, 0.0},  {1.0, NAN}, {INFINITY, 0.0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        g.temperature = bad[i][0];
        g.top_p = bad[i][1];
        CHECK(sb_lm_generate(ctx, &g, shorter, &err) == SB_ERR_ARGUMENT, "temperature %g, top-p %g",
              bad[i][0], bad[i][1]);
    }
    g = (sb_lm_generation){.size = sizeof g,
                           .checkpoint = checkpoint,
                           .prompt = longer,
                           .prompt_bytes = 0,
                           .tokens = 3};
    CHECK(sb_lm_generate(ctx, &g, shorter, &err) == SB_ERR_ARGUMENT &&
              strcmp(err.argument, "prompt_bytes") == 0,
          "no prompt: %s", err.message);
    g.prompt_bytes = 3;
    g.tokens = INT64_MAX;
    CHECK(sb_lm_generate(ctx, &g, shorter, &err) == SB_ERR_ARGUMENT &&
              strcmp(err.argument, "tokens") == 0,
          "too many: %s", err.message);
    CHECK(sb_lm_evaluate(ctx, checkpoint, inside("text"), 0, &e, &err) == SB_OK &&
              e.bytes == 33 * 12,
          "%s, %lld bytes", err.message, (long long)e.bytes);
    CHECK(sb_lm_evaluate(c, checkpoint, inside("text"), 0, &again, &err) == SB_OK &&
              memcmp(&e, &again, sizeof e) == 0,
          "evaluation on another level");
    CHECK(sb_lm_evaluate(c, inside("straight"), inside("text"), 0, &again, &err) == SB_OK &&
              memcmp(&e, &again, sizeof e) == 0,
          "a run's folder is its newest checkpoint");
    CHECK(fabs(e.bits_per_byte - e.loss / log(2.0)) < 1e-12 && e.bits_per_byte > 1.0 &&
              e.bits_per_byte < 9.0,
          "%g bits", e.bits_per_byte);
    CHECK(sb_lm_evaluate(ctx, checkpoint, inside("othertext"), 0, &e, &err) == SB_ERR_ARGUMENT,
          "another text");
    CHECK(sb_lm_evaluate(ctx, checkpoint, inside("othertext"), 1, &e, &err) == SB_OK &&
              e.bytes == 249 * 12,
          "all of another text: %lld", (long long)e.bytes);
    sb_context_free(c);
}

// The draws of sampling have the frequencies of the distribution.
static void check_sampling(void) {
    static const float logits[5] = {1.0f, 3.0f, -1.0f, 3.0f, 2.0f};
    int64_t n = 5, token, counts[5] = {0};
    double total = 0.0, p[5];
    sb_array *row;
    sb_array_new(ctx, SB_F32, 1, &n, &row, NULL);
    for (int i = 0; i < 5; i++) total += exp((double)logits[i] / 0.8);
    for (int i = 0; i < 5; i++) p[i] = exp((double)logits[i] / 0.8) / total;
    enum { DRAWS = 4000 };
    for (int64_t d = 0; d < DRAWS; d++) {
        sb_array_write(row, logits, sizeof logits, NULL);
        CHECK(sbi_sample(ctx, row, 0.8, 0, 1.0, 17, d, &token, NULL) == SB_OK && token >= 0 &&
                  token < 5,
              "draw");
        counts[token]++;
    }
    for (int i = 0; i < 5; i++)
        CHECK(fabs((double)counts[i] - DRAWS * p[i]) < 4.0 * sqrt(DRAWS * p[i] * (1 - p[i])) + 1.0,
              "token %d: %lld of %d, expected %.1f", i, (long long)counts[i], DRAWS, DRAWS * p[i]);
    for (int64_t d = 0; d < 200; d++) { // ranks: 1, 3, 4, 0, 2; ties to the lower index
        sb_array_write(row, logits, sizeof logits, NULL);
        CHECK(sbi_sample(ctx, row, 1.0, 2, 1.0, 17, d, &token, NULL) == SB_OK &&
                  (token == 1 || token == 3),
              "top-k drew %lld", (long long)token);
        sb_array_write(row, logits, sizeof logits, NULL);
        CHECK(sbi_sample(ctx, row, 1.0, 1, 1.0, 17, d, &token, NULL) == SB_OK && token == 1,
              "top 1 drew %lld", (long long)token);
        sb_array_write(row, logits, sizeof logits, NULL);
        CHECK(sbi_sample(ctx, row, 1.0, 0, 0.75, 17, d, &token, NULL) == SB_OK &&
                  (token == 1 || token == 3),
              "top-p drew %lld", (long long)token);
    }
    sb_array_write(row, logits, sizeof logits, NULL);
    CHECK(sbi_sample(ctx, row, 0.0, 0, 1.0, 0, 0, &token, NULL) == SB_OK && token == 1,
          "greedy takes the lower of two");
    float bad[5] = {0.0f, NAN, 0.0f, 0.0f, 0.0f};
    sb_array_write(row, bad, sizeof bad, NULL);
    CHECK(sbi_sample(ctx, row, 1.0, 0, 1.0, 0, 0, &token, NULL) == SB_ERR_NONFINITE,
          "a NaN among the logits");
    sb_array_free(row);
}

static void check_describe(const char *source) {
    char path[500];
    sb_lm_description d;
    sb_error err = {0};
    snprintf(path, sizeof path, "%s/recipes/gpt3-small.json", source);
    CHECK(sb_lm_describe(ctx, path, &d, &err) == SB_OK, "%s", err.message);
    CHECK(d.parameters == 162147840 && d.tokens_per_step == 64 * 4 * 2048 &&
              d.gradient_bytes == 4 * 162147840LL,
          "%lld parameters", (long long)d.parameters);
    snprintf(path, sizeof path, "%s/recipes/demo.json", source);
    CHECK(sb_lm_describe(ctx, path, &d, &err) == SB_OK && d.tokens_per_step == 1024 &&
              d.parameters > 900000 && d.parameters < 1200000,
          "%s", err.message);
    CHECK(sb_lm_describe(ctx, inside("recipe.json"), &d, &err) == SB_OK, "%s", err.message);
    struct stat about;
    CHECK(stat(inside("straight/step-000000008/model.safetensors"), &about) == 0 &&
              llabs((long long)about.st_size - (long long)d.checkpoint_bytes) < about.st_size / 10,
          "a checkpoint of %lld bytes, described as %lld", (long long)about.st_size,
          (long long)d.checkpoint_bytes);
}

static sb_status count_temporaries(void *user, const char *name, sb_error *err) {
    (void)err;
    *(int *)user += strstr(name, ".tmp") != NULL;
    return SB_OK;
}

// A disk that takes no more: a named error, no half file, and the run goes on when there is room
// again.
static void check_full_disk(void) {
    heard h;
    sb_error err = {0};
    struct rlimit before, small;
    int temporaries = 0;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 5000; // the recipe and the ledger's first lines fit, a checkpoint does not
    signal(SIGXFSZ, SIG_IGN);
    sb_lm_run run = run_in("full", 2, &h);
    setrlimit(RLIMIT_FSIZE, &small);
    sb_status status = sb_lm_train(ctx, &run, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(status == SB_ERR_IO, "%d: %s", (int)status, err.message);
    sbi_folder_list(&sbi_malloc_allocator, inside("full"), count_temporaries, &temporaries, NULL);
    sbi_folder_list(&sbi_malloc_allocator, inside("full/step-000000000"), count_temporaries,
                    &temporaries, NULL);
    CHECK(temporaries == 0 && !sbi_file_present(inside("full/step-000000000/model.safetensors")),
          "%d temporaries are left", temporaries);
    CHECK(sb_lm_resume(ctx, &run, &err) == SB_ERR_STATE, "nothing was saved: %s", err.message);
    CHECK(sb_lm_train(ctx, &run, &err) == SB_OK, "begun again: %s", err.message);
    // In mid-run: the ledger's next line does not fit.
    int64_t size;
    sbi_release(&sbi_malloc_allocator, get(inside("full/ledger.jsonl"), &size));
    small.rlim_cur = (rlim_t)size + 100;
    run = run_in("full", 0, &h);
    setrlimit(RLIMIT_FSIZE, &small);
    status = sb_lm_resume(ctx, &run, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(status == SB_ERR_IO, "%d: %s", (int)status, err.message);
    CHECK(sb_lm_resume(ctx, &run, &err) == SB_OK, "%s", err.message);
    CHECK(same_file(inside("straight/ledger.jsonl"), inside("full/ledger.jsonl")),
          "ledgers differ");
    CHECK(same_file(inside("straight/step-000000008/model.safetensors"),
                    inside("full/step-000000008/model.safetensors")),
          "checkpoints differ");
}

// A gradient that is not finite is named by step, shard and tensor; one that overflows only in the
// sum without a shard.
static void check_gradient_report(void) {
    sbi_recipe r;
    sbi_trainer t;
    sb_error err = {0};
    static const float infinite[16] = {INFINITY};
    const sbi_corpus corpus = {
        .allocator = sbi_malloc_allocator, .bytes = text, .size = TEXT, .train = TEXT - 400};
    sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, NULL);
    const char *given = recipe_text("", text_sha256);
    CHECK(sbi_recipe_read(ctx, arena, given, (int64_t)strlen(given), &r, &err) == SB_OK, "%s",
          err.message);
    CHECK(sbi_trainer_new(ctx, &r, &corpus, 0, r.shards, &t, &err) == SB_OK, "%s", err.message);
    CHECK(sbi_trainer_initialize(&t, &err) == SB_OK && sbi_trainer_compute(&t, &err) == SB_OK, "%s",
          err.message);
    sbi_tensors *gradient = sbi_tree_root(t.tree)->views;
    CHECK(sbi_trainer_check(&t, gradient, &err) == SB_OK, "%s", err.message);
    sb_array_write(gradient->items[t.decoder.norm], infinite, sizeof infinite, NULL);
    CHECK(sbi_trainer_check(&t, gradient, &err) == SB_ERR_NONFINITE &&
              strstr(err.message, "step 1: the gradient of model.norm.weight, summed"),
          "%s", err.message);
    CHECK(sbi_trainer_apply(&t, gradient, &err) == SB_ERR_NONFINITE && t.step == 0, "applied: %s",
          err.message);
    sbi_trainer_free(&t);
    // One target; a head of +-3e38 behind a norm of +-1e-38: logits and loss are ordinary, and the
    // sum that goes back through the head, p_j h_j - h_t, overflows for one of the two signs.
    static const char one[] =
        "{\"recipe\": 1, \"model\": {\"hidden_size\": 16, \"layers\": 1, \"heads\": 2, "
        "\"kv_heads\": 1, \"intermediate_size\": 8}, \"training\": "
        "{\"steps\": 1, \"shards\": 1, \"shard_sequences\": 1, \"sequence_length\": 1, \"seed\": "
        "5, \"learning_rate\": 0.01, \"clip\": 0}}";
    float head[256 * 16] = {0}, norm[16] = {0};
    int named = 0;
    for (int i = 0; i < 256; i++) head[16 * i] = i % 2 ? -3e38f : 3e38f;
    CHECK(sbi_recipe_read(ctx, arena, one, (int64_t)sizeof one - 1, &r, &err) == SB_OK, "%s",
          err.message);
    CHECK(sbi_trainer_new(ctx, &r, &corpus, 0, 1, &t, &err) == SB_OK &&
              sbi_trainer_initialize(&t, &err) == SB_OK,
          "%s", err.message);
    sb_array_write(t.decoder.weights.items[t.decoder.head], head, sizeof head, NULL);
    for (int sign = -1; sign <= 1; sign += 2) {
        norm[0] = (float)sign * 1e-38f;
        sb_array_write(t.decoder.weights.items[t.decoder.norm], norm, sizeof norm, NULL);
        CHECK(sbi_trainer_compute(&t, &err) == SB_OK, "%s", err.message);
        sb_status status = sbi_trainer_check(&t, sbi_tree_root(t.tree)->views, &err);
        named += status == SB_ERR_NONFINITE &&
                 strstr(err.message, "step 1, shard 0: the gradient of model.") != NULL;
    }
    CHECK(named == 1, "%d: %s", named, err.message);
    sbi_trainer_free(&t);
    sbi_arena_free(arena);
}

// Every allocation of a run may fail: a named error, nothing leaks, and what is on the disk can be
// resumed.
static int64_t allocations, live, fail_at;
static void *counted_allocate(void *user, size_t bytes) {
    (void)user;
    if (++allocations == fail_at) return NULL;
    live++;
    return malloc(bytes);
}
static void counted_release(void *user, void *pointer) {
    (void)user;
    live -= pointer != NULL;
    free(pointer);
}

static sb_status exhausted_run(const char *name, sb_error *err) {
    heard h;
    sb_context *c = NULL;
    sb_lm_run run = run_in(name, 3, &h);
    sb_context_options o = {
        .size = sizeof o, .threads = 1, .allocate = counted_allocate, .release = counted_release};
    allocations = 0;
    sb_status status = sb_context_new(&o, &c, err);
    if (status == SB_OK) status = sb_lm_train(c, &run, err);
    sb_context_free(c);
    return status;
}

static void check_exhaustion(void) {
    sb_error err = {0};
    heard h;
    char command[400];
    fail_at = 0;
    CHECK(exhausted_run("plenty", &err) == SB_OK && live == 0, "%s, %lld live", err.message,
          (long long)live);
    int64_t all = allocations, resumed = 0;
    for (int64_t n = 1; n <= all; n += n < 60 ? 1 : all / 120) {
        fail_at = n;
        err = (sb_error){0};
        sb_status status = exhausted_run("scarce", &err);
        CHECK(status == SB_ERR_MEMORY && err.status == status && err.message[0],
              "allocation %lld of %lld: %d, %s", (long long)n, (long long)all, (int)status,
              err.message);
        CHECK(live == 0, "allocation %lld: %lld live", (long long)n, (long long)live);
        char path[SBI_PATH];
        if (sbi_file_present(inside("scarce/ledger.jsonl")) &&
            sbi_checkpoint_newest(&sbi_malloc_allocator, inside("scarce"), path, NULL) == SB_OK) {
            sb_lm_run run = run_in("scarce", 3, &h);
            CHECK(sb_lm_resume(ctx, &run, &err) == SB_OK, "allocation %lld: %s", (long long)n,
                  err.message);
            CHECK(same_file(inside("plenty/ledger.jsonl"), inside("scarce/ledger.jsonl")),
                  "allocation %lld: ledgers differ", (long long)n);
            CHECK(same_file(inside("plenty/step-000000003/model.safetensors"),
                            inside("scarce/step-000000003/model.safetensors")),
                  "allocation %lld", (long long)n);
            resumed++;
        }
        snprintf(command, sizeof command, "rm -rf '%s'", inside("scarce"));
        CHECK(system(command) == 0, "rm");
    }
    CHECK(resumed > 20, "%lld runs were resumed", (long long)resumed);
}

static void check_nulls(void) {
    sb_error err = {0};
    heard h;
    sb_lm_run run = run_in("nulls", 0, &h);
    CHECK(sb_lm_train(NULL, &run, &err) == SB_ERR_ARGUMENT &&
              sb_lm_train(ctx, NULL, &err) == SB_ERR_ARGUMENT,
          "NULL");
    run.recipe = NULL;
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_ARGUMENT, "no recipe");
    run = run_in("nulls", 0, &h);
    run.folder = NULL;
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_ARGUMENT &&
              sb_lm_resume(ctx, &run, &err) == SB_ERR_ARGUMENT,
          "no folder");
    run = run_in("nulls", -3, &h);
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_ARGUMENT, "until -3");
    run = run_in("nulls2", 99, &h);
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_ARGUMENT, "until 99 of 8");
    run.worker_count = 2;
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_ARGUMENT, "workers without a list");
    CHECK(sb_lm_generate(ctx, NULL, NULL, &err) == SB_ERR_ARGUMENT &&
              sb_lm_evaluate(ctx, NULL, NULL, 0, NULL, &err) == SB_ERR_ARGUMENT,
          "NULL");
    double value;
    CHECK(sb_parse_real("0.8", &value, &err) == SB_OK && value == 0.8 &&
              sb_parse_real("0,8", &value, &err) == SB_ERR_ARGUMENT,
          "decimal text");
}

// What the header names for a recipe, whether it is to be trained or described; and for workers.
static void check_refused_recipes(void) {
    static const struct {
        const char *from, *to; // in the recipe's text
        sb_status status;
        const char *argument;
    } rows[] = {{"{\"recipe\"", "[\"recipe\"", SB_ERR_FORMAT, "recipe"},
                {"\"steps\": 8,", "\"steps\": 0,", SB_ERR_ARGUMENT, "training.steps"},
                {"\"steps\": 8,", "", SB_ERR_ARGUMENT, "training.steps"},
                {"\"layers\"", "\"layer\"", SB_ERR_ARGUMENT, "model.layer"},
                {"\"heads\": 2", "\"heads\": 3", SB_ERR_ARGUMENT, "model.heads"}};
    heard h;
    sb_error err = {0};
    sb_lm_description about;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *good = recipe_text("", text_sha256), *at = strstr(good, rows[i].from);
        char bad[2000];
        CHECK(at != NULL, "the recipe holds %s", rows[i].from);
        if (!at) continue;
        snprintf(bad, sizeof bad, "%.*s%s%s", (int)(at - good), good, rows[i].to,
                 at + strlen(rows[i].from));
        put(inside("refused.json"), bad, strlen(bad));
        sb_lm_run run = run_in("refused", 0, &h);
        run.recipe = inside("refused.json");
        CHECK(sb_lm_train(ctx, &run, &err) == rows[i].status &&
                  strcmp(err.argument, rows[i].argument) == 0,
              "%s: %s (%s)", rows[i].to, err.message, err.argument);
        CHECK(sb_lm_describe(ctx, inside("refused.json"), &about, &err) == rows[i].status &&
                  strcmp(err.argument, rows[i].argument) == 0,
              "%s, described: %s (%s)", rows[i].to, err.message, err.argument);
    }
    sb_lm_run run = run_in("refused", 0, &h);
    run.recipe = inside("absent");
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_IO &&
              sb_lm_describe(ctx, run.recipe, &about, &err) == SB_ERR_IO,
          "a recipe that is not there");
    put(inside("short"), text, 12);
    CHECK(sb_lm_evaluate(ctx, inside("straight"), inside("short"), 1, &(sb_lm_evaluation){0}, &err) ==
                  SB_ERR_ARGUMENT &&
              strcmp(err.argument, "data") == 0,
          "twelve bytes: %s", err.message);
    CHECK(sb_lm_evaluate(ctx, SOURCE, inside("text"), 1, &(sb_lm_evaluation){0}, &err) == SB_ERR_IO,
          "a folder without a checkpoint: %s", err.message);
    const sb_lm_worker worker = {.threads = 1025};
    run = run_in("refused", 0, &h);
    run.workers = &worker;
    run.worker_count = 1;
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "workers") == 0,
          "1,025 threads: %s", err.message);
    run.worker_count = 4097;
    CHECK(sb_lm_train(ctx, &run, &err) == SB_ERR_ARGUMENT &&
              strcmp(err.argument, "worker_count") == 0,
          "4,097 workers: %s", err.message);
    CHECK(access(inside("refused"), F_OK) != 0, "a folder is left by a run that could not start");
}

// A worker that dies as by kill -9 in the step that the test names: it counts the losses of
// its three shards.
static int64_t die_at, shards_seen;
static void count_losses(void *user, sb_context *c, const struct sbi_op *op) {
    (void)user, (void)c;
    if (op->id == SBI_OP_CROSS_ENTROPY && ++shards_seen > 3 * (die_at - 1)) kill(getpid(), SIGKILL);
}

static int work(int argc, char **argv) {
    const char *isa = NULL;
    int threads = 0;
    for (int i = 3; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--isa") == 0)
            isa = argv[i + 1];
        else
            threads = atoi(argv[i + 1]);
    }
    sb_context *c = make_context(isa, threads);
    const char *at = getenv("TEST_LM_DIE_AT_STEP");
    if (!c) return 1;
    if (at && isa) { // the worker that asked for a level dies
        die_at = atoi(at);
        c->watch = count_losses;
    }
    sb_status status = sb_lm_work(c, NULL);
    sb_context_free(c);
    return status != SB_OK;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "lm") == 0 && strcmp(argv[2], "worker") == 0)
        return work(argc, argv);
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (!open_folder(NULL) || length < 0) return 1;
    ctx = make_context(NULL, 2);
    ctx->watch = stay_apart;
    prepare();
    check_recipes();
    check_train_and_resume();
    check_lock();
    check_workers();
    check_ledgers();
    check_data();
    check_nonfinite();
    check_hostile_checkpoints();
    check_generation();
    check_sampling();
    check_describe(SOURCE);
    check_nulls();
    check_refused_recipes();
    check_gradient_report();
    check_full_disk();
    check_exhaustion();
    CHECK(watched > 1000 && overlapping == 0, "%d of %d operations write where they read", (int)overlapping,
          (int)watched);
    sb_context_free(ctx);
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (getenv("TEST_LM_KEEP") == NULL && system(command) != 0) return 1;
    return test_end();
}
