// SPDX-License-Identifier: Apache-2.0
// samebits demo: one language model trains twice, by two routes that change instruction level, threads, processes and
// (where a command for an emulated machine is given) architecture in mid-run, and device where an OpenCL device conforms,
// through checkpoints; both must end in the same bytes. A third route carries one deliberate ulp and must be caught at its step. Nothing printed is precomputed.
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char usage[] = "samebits demo --recipe R.json --data TEXT --out DIR [--emulated EMULATOR:COMMAND] [--device D]";

enum { PATH = 4096, MOST_STEPS = 4096, LEVELS = 8, SABOTAGED_STEP = 5 };

// A segment of a route. Levels are named by kind, so that any machine can run it: fast levels have an fma instruction.
// DEVICE is the other device, given or found; it also takes half of the shards of a step that SHARED_DEVICE shares.
typedef enum kind { FAST, OTHER_FAST, SLOW, SLOWEST, EMULATED, SHARED_FAST, SHARED_MIXED, DEVICE, SHARED_DEVICE } kind;
typedef struct segment {
    int permille; // of the recipe's steps, at its end; 0: one step more than the segment before
    kind kind;
    int threads;
} segment;

static const segment route_a[] = {{200, FAST, 2}, {0, EMULATED, 2}, {0, SLOW, 2}, {600, SHARED_FAST, 1}, {0, DEVICE, 1}, {1000, OTHER_FAST, 3}};
static const segment route_b[] = {{100, OTHER_FAST, 1}, {0, SLOWEST, 2}, {0, SHARED_MIXED, 1}, {500, OTHER_FAST, 7}, {0, SHARED_DEVICE, 1}, {1000, FAST, 2}};
enum { SEGMENTS = sizeof route_a / sizeof route_a[0] };

typedef struct demo {
    const char *recipe, *data, *out, *emulated, *device;
    char found[24];                  // the device, where none is given
    sb_context *held;                // keeps it open: it is probed once
    char self[PATH];                 // this command, which workers run
    const char *fast[LEVELS], *slow[LEVELS];
    int fast_count, slow_count;
    sb_lm_description model;
    int64_t steps;
    double loss[MOST_STEPS + 1];     // of the route under way, by step
    char ran[160];                   // what the segment under way really ran on
    FILE *table;                     // the route table, for the model card too
    bool good;
} demo;

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Prints to standard output and into the model card's table.
static void __attribute__((format(printf, 2, 3))) tell(demo *d, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    fflush(stdout);
    va_start(list, format);
    vfprintf(d->table, format, list);
    va_end(list);
}

static void verdict(demo *d, bool good, const char *what) {
    tell(d, "%s  %s\n", good ? "ok    " : "FAILED", what);
    d->good = d->good && good;
}

static void wipe_progress(void) {
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r%60s\r", "");
}

static int listen_to(void *user, const sb_lm_event *e) {
    demo *d = user;
    size_t used = strlen(d->ran);
    switch (e->kind) {
    case SB_LM_STARTED:
        d->steps = e->steps;
        if (strcmp(e->text, "workers") != 0) snprintf(d->ran + used, sizeof d->ran - used, "%s", e->text);
        break;
    case SB_LM_WORKER:
        snprintf(d->ran + used, sizeof d->ran - used, "%s%s", used ? " + " : "", e->text);
        break;
    case SB_LM_STEP:
        if (e->step <= MOST_STEPS) d->loss[e->step] = e->loss;
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "\r  step %lld of %lld, loss %.4f ", (long long)e->step, (long long)e->steps, e->loss);
        break;
    default:
        break;
    }
    return 0;
}

// Which levels this machine runs, best first.
static void find_levels(demo *d) {
    static const struct { const char *name; bool fast; } levels[] = {
        {"v4", true}, {"v3", true}, {"neon", true}, {"v1", false}, {"plain", false}};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        sb_context_options options = {.size = sizeof options, .device = "cpu", .isa = levels[i].name, .threads = 1};
        sb_context *ctx = NULL;
        if (sb_context_new(&options, &ctx, NULL) != SB_OK) continue;
        if (levels[i].fast)
            d->fast[d->fast_count++] = levels[i].name;
        else
            d->slow[d->slow_count++] = levels[i].name;
        sb_context_free(ctx);
    }
    if (d->fast_count == 0) d->fast[d->fast_count++] = "plain";
}

// The device of the other segments: the one that is given, or the first OpenCL device that conforms.
static void find_device(demo *d) {
    const bool given = d->device != NULL;
    if (given && strcmp(d->device, "none") == 0) d->device = NULL;
    for (int platform = 0; platform < 8 && !given && !d->device; platform++) {
        sb_error err = {.status = SB_OK};
        for (int number = 0; number < 8 && !d->device && !strstr(err.message, "there is no device"); number++) {
            snprintf(d->found, sizeof d->found, "opencl:%d.%d", platform, number);
            const sb_context_options options = {.size = sizeof options, .device = d->found, .threads = 1};
            if (sb_context_new(&options, &d->held, &err) == SB_OK) d->device = d->found;
        }
    }
}

static const char *level_of(const demo *d, kind k) {
    if (k == SLOW) return d->slow[0];
    if (k == SLOWEST) return d->slow[d->slow_count - 1];
    return d->fast[k == OTHER_FAST ? d->fast_count - 1 : 0];
}

// One segment by the command of another architecture under its emulator, read by its JSON events.
static bool run_emulated(demo *d, const char *folder, int64_t until, sb_error *err) {
    char emulator[96], number[32], line[1024];
    const char *colon = strchr(d->emulated, ':');
    snprintf(emulator, sizeof emulator, "%.*s", (int)(colon - d->emulated), d->emulated);
    snprintf(number, sizeof number, "%lld", (long long)until);
    int ends[2];
    if (pipe(ends) != 0) {
        *err = (sb_error){.status = SB_ERR_IO, .message = "no pipe"};
        return false;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execlp(emulator, emulator, colon + 1, "lm", "resume", folder, "--until", number, "--threads", "2", "--json", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    while (from && fgets(line, sizeof line, from)) {
        char *isa = strstr(line, "\"isa\": \""), *loss = strstr(line, "\"loss\": "), *step = strstr(line, "\"step\": ");
        if (strstr(line, "\"started\"") && isa) snprintf(d->ran, sizeof d->ran, "%.90s, %.*s", emulator, (int)strcspn(isa + 8, "\""), isa + 8);
        if (strstr(line, "\"event\": \"step\"") && loss && step) {
            long long n = atoll(step + 8);
            if (n > 0 && n <= MOST_STEPS) d->loss[n] = atof(loss + 8);
        }
    }
    if (from) fclose(from);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        *err = (sb_error){.status = SB_ERR_WORKER};
        snprintf(err->message, sizeof err->message, "%.100s %.200s lm resume ended with status %d", emulator, colon + 1, status);
        return false;
    }
    return true;
}

static bool is_shared(kind k) { return k == SHARED_FAST || k == SHARED_MIXED || k == SHARED_DEVICE; }

// Runs one segment; started says whether the folder already holds the run.
static bool run_segment(demo *d, const segment *s, const char *folder, int64_t until, int64_t sabotage, bool started, sb_error *err) {
    d->ran[0] = '\0';
    if (s->kind == EMULATED) return run_emulated(d, folder, until, err);
    const bool shared = is_shared(s->kind), mixed = s->kind == SHARED_MIXED;
    const sb_lm_worker workers[] = {
        {.device = "cpu", .isa = d->fast[0], .threads = 1},
        {.device = s->kind == SHARED_DEVICE ? d->device : "cpu", .isa = mixed ? d->slow[0] : d->fast[d->fast_count - 1],
         .threads = mixed ? 2 : 1, .shards = mixed ? 1 : 0}}; // (an emulated fma is slow: one shard of the step)
    sb_context_options options = {.size = sizeof options, .device = s->kind == DEVICE ? d->device : "cpu", .isa = level_of(d, s->kind),
                                  .threads = s->threads};
    sb_lm_run run = {.size = sizeof run, .recipe = started ? NULL : d->recipe, .data = d->data, .folder = folder,
                     .until = until, .worker_count = shared ? 2 : 0, .workers = workers, .worker_command = d->self,
                     .sabotage_step = sabotage, .listener = listen_to, .user = d};
    sb_context *ctx = NULL;
    bool good = sb_context_new(&options, &ctx, err) == SB_OK &&
                (started ? sb_lm_resume(ctx, &run, err) : sb_lm_train(ctx, &run, err)) == SB_OK;
    sb_context_free(ctx);
    return good;
}

static bool run_route(demo *d, const char *name, const segment *segments, sb_error *err) {
    char folder[PATH];
    snprintf(folder, sizeof folder, "%s/route-%s", d->out, name);
    int64_t done = 0;
    for (int i = 0; i < SEGMENTS; i++) {
        const segment *s = &segments[i];
        int64_t until = s->permille ? d->steps * s->permille / 1000 : done + 1;
        if (until > d->steps) until = d->steps;
        if (until <= done) continue;
        if (s->kind == EMULATED && !d->emulated) {
            tell(d, "%-6s %3s .. %-3s  %-28s\n", name, "-", "-", "emulated machine: none given, skipped");
            continue;
        }
        if ((s->kind == DEVICE || s->kind == SHARED_DEVICE) && !d->device) {
            tell(d, "%-6s %3s .. %-3s  %-28s\n", name, "-", "-", d->found[0] ? "OpenCL device: none here conforms" : "OpenCL device: none wanted");
            continue;
        }
        double start = seconds();
        bool good = run_segment(d, s, folder, until, 0, done > 0, err);
        wipe_progress();
        if (!good) return false;
        char how[64];
        if (is_shared(s->kind))
            snprintf(how, sizeof how, "2 processes share each step");
        else
            snprintf(how, sizeof how, "%d thread%s", s->threads, s->threads > 1 ? "s" : "");
        tell(d, "%-6s %3lld .. %-3lld  %-28s %-28s %6.1f s  loss %.4f\n", name, (long long)done + 1, (long long)until, d->ran, how,
             seconds() - start, d->loss[until]);
        done = until;
    }
    return true;
}

static void checkpoint_of(const demo *d, const char *route, char *path) {
    snprintf(path, PATH, "%s/route-%s/step-%09lld/model.safetensors", d->out, route, (long long)d->steps);
}

static bool compare_ends(demo *d, sb_error *err) {
    char a[PATH], b[PATH], hex[2][65];
    uint8_t digest[2][32], tree[32];
    int64_t arrays;
    snprintf(a, sizeof a, "%s/route-A/ledger.jsonl", d->out);
    snprintf(b, sizeof b, "%s/route-B/ledger.jsonl", d->out);
    sb_lm_difference difference;
    if (sb_lm_ledger_compare(a, b, &difference, err) != SB_OK) return false;
    tell(d, "\n");
    char what[200];
    if (difference.equal)
        snprintf(what, sizeof what, "the step ledgers agree in all %lld steps", (long long)difference.steps_a);
    else
        snprintf(what, sizeof what, "the step ledgers differ first at step %lld, field %s", (long long)difference.step, difference.field);
    verdict(d, difference.equal && difference.steps_a == d->steps, what);
    for (int i = 0; i < 2; i++) {
        char path[PATH];
        checkpoint_of(d, i ? "B" : "A", path);
        if (sb_digest_file(path, digest[i], tree, &arrays, err) != SB_OK) return false;
        for (int j = 0; j < 32; j++) snprintf(hex[i] + 2 * j, 3, "%02x", digest[i][j]);
        tell(d, "SHA-256 of route %s's last checkpoint  %s\n", i ? "B" : "A", hex[i]);
    }
    verdict(d, memcmp(digest[0], digest[1], 32) == 0, "the two checkpoints are the same bytes");
    tell(d, "loss ");
    for (int i = 0; i <= 4; i++) {
        int64_t step = i ? d->steps * i / 4 : 1;
        if (step <= MOST_STEPS) tell(d, "%s%.4f (step %lld)", i ? ", " : "", d->loss[step], (long long)step);
    }
    tell(d, "\n");
    verdict(d, d->loss[d->steps] < d->loss[1], "the loss has fallen");
    return true;
}

// Held-out quality and a text, route A's on the best level, route B's on another.
static bool use_ends(demo *d, sb_error *err) {
    enum { TOKENS = 200 };
    static const char prompt[] = "And God said, ";
    sb_lm_evaluation quality[2];
    uint8_t text[2][TOKENS];
    for (int i = 0; i < 2; i++) {
        char path[PATH];
        checkpoint_of(d, i ? "B" : "A", path);
        sb_context_options options = {.size = sizeof options, .isa = d->fast[i ? d->fast_count - 1 : 0], .threads = i ? 1 : 2};
        sb_context *ctx = NULL;
        sb_lm_generation wish = {.size = sizeof wish, .checkpoint = path, .prompt = (const uint8_t *)prompt,
                                 .prompt_bytes = (int64_t)strlen(prompt), .tokens = TOKENS, .temperature = 0.75, .top_k = 40, .seed = 1611};
        bool good = sb_context_new(&options, &ctx, err) == SB_OK && sb_lm_evaluate(ctx, path, d->data, 0, &quality[i], err) == SB_OK &&
                    sb_lm_generate(ctx, &wish, text[i], err) == SB_OK;
        sb_context_free(ctx);
        if (!good) return false;
        tell(d, "route %s: %.6f bits per byte over %lld held-out bytes; generated (temperature 0.75, top-k 40, seed 1611):\n    %s", i ? "B" : "A",
             quality[i].bits_per_byte, (long long)quality[i].bytes, prompt);
        for (int j = 0; j < TOKENS; j++) {
            if (text[i][j] == '\n')
                tell(d, "\n    ");
            else
                tell(d, "%c", text[i][j] >= 32 && text[i][j] < 127 ? text[i][j] : '?');
        }
        tell(d, "\n");
    }
    verdict(d, memcmp(&quality[0].bits_per_byte, &quality[1].bits_per_byte, sizeof(double)) == 0, "held-out quality has the same bits");
    verdict(d, memcmp(text[0], text[1], TOKENS) == 0, "the generated texts are the same");
    return true;
}

// A third route, one ulp wrong in one gradient element at one step: the ledgers must name that step.
static bool run_sabotaged(demo *d, sb_error *err) {
    char folder[PATH], a[PATH], b[PATH + 32], what[200];
    snprintf(folder, sizeof folder, "%s/route-C-sabotaged", d->out);
    const segment s = {.kind = FAST, .threads = 2};
    int64_t step = d->steps < SABOTAGED_STEP ? 1 : SABOTAGED_STEP;
    double loss = d->loss[d->steps];
    if (!run_segment(d, &s, folder, step < d->steps ? step + 1 : step, step, false, err)) return false;
    wipe_progress();
    d->loss[d->steps] = loss;
    snprintf(a, sizeof a, "%s/route-A/ledger.jsonl", d->out);
    snprintf(b, sizeof b, "%s/ledger.jsonl", folder);
    sb_lm_difference difference;
    if (sb_lm_ledger_compare(a, b, &difference, err) != SB_OK) return false;
    snprintf(what, sizeof what, "route C, one ulp added to one gradient element at step %lld: caught at step %lld, field %s", (long long)step,
             (long long)(difference.equal ? 0 : difference.step), difference.equal ? "none" : difference.field);
    verdict(d, !difference.equal && difference.step == step && strcmp(difference.field, "gradient") == 0, what);
    return true;
}

// An evidence document for each of two levels, and what compare says of them.
static bool write_evidence(demo *d, sb_error *err) {
    char paths[2][PATH];
    bool good = true;
    for (int i = 0; good && i < 2; i++) {
        snprintf(paths[i], PATH, "%s/evidence-%s.json", d->out, i ? "B" : "A");
        sb_context_options options = {.size = sizeof options, .isa = i ? d->slow[0] : d->fast[0], .threads = i + 1};
        sb_verify_options verify = {.size = sizeof verify, .tier = SB_TIER_QUICK, .references = (const char *)cli_golden,
                                    .references_size = cli_golden_size};
        sb_context *ctx = NULL;
        sb_report *report = NULL;
        char what[200];
        good = sb_context_new(&options, &ctx, err) == SB_OK && sb_verify(ctx, &verify, &report, err) == SB_OK &&
               sb_report_write(report, paths[i], err) == SB_OK;
        if (good) {
            snprintf(what, sizeof what, "verify --quick at level %s: every operation against the golden values", options.isa);
            verdict(d, sb_report_verdict(report) == 0, what);
        }
        sb_report_free(report);
        sb_context_free(ctx);
    }
    sb_report *report = NULL;
    const char *both[] = {paths[0], paths[1]};
    good = good && sb_compare(2, both, &report, err) == SB_OK;
    if (good) verdict(d, sb_report_verdict(report) == 0, "compare says of the two evidence documents: AGREE");
    sb_report_free(report);
    return good;
}

static bool write_card(demo *d, const char *table, sb_error *err) {
    char path[PATH], temporary[PATH + 8];
    snprintf(path, sizeof path, "%s/model-card.md", d->out);
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    FILE *card = fopen(temporary, "w");
    if (card) {
        uint8_t recipe[32] = {0}, data[32] = {0}, tree[32];
        int64_t arrays;
        if (sb_digest_file(d->recipe, recipe, tree, &arrays, err) != SB_OK || sb_digest_file(d->data, data, tree, &arrays, err) != SB_OK) {
            fclose(card);
            remove(temporary);
            return false;
        }
        fprintf(card, "# Model card: %s\n\nMade by samebits %s, contract %d, commit %s.\n\n", d->model.name, sb_version(), SB_CONTRACT, sb_commit());
        fprintf(card, "- data: %s, SHA-256 ", d->data);
        for (int i = 0; i < 32; i++) fprintf(card, "%02x", data[i]);
        fprintf(card, "\n- recipe: %s, SHA-256 ", d->recipe);
        for (int i = 0; i < 32; i++) fprintf(card, "%02x", recipe[i]);
        fprintf(card, "\n- parameters: %lld; %lld steps of %lld bytes\n", (long long)d->model.parameters, (long long)d->steps,
                (long long)d->model.tokens_per_step);
        fprintf(card, "- limits: a demonstration of identity, trained for a minute on one book in the English of 1611; it knows nothing else, and\n"
                      "  is fit for no use. The same bits are not right answers.\n\n## Routes\n\n```\n%s```\n", table);
    }
    bool good = card && !ferror(card) && fflush(card) == 0 && fsync(fileno(card)) == 0;
    if (card) good = fclose(card) == 0 && good;
    good = good && rename(temporary, path) == 0;
    if (!good) {
        remove(temporary);
        *err = (sb_error){.status = SB_ERR_IO, .message = "the model card could not be written"};
    }
    return good;
}

int sbi_cli_demo(int argc, char **argv);
int sbi_cli_demo(int argc, char **argv) {
    static demo d; // large; one a process
    int operands = 0;
    const cli_flag flags[] = {
        {"--recipe", CLI_TEXT, &d.recipe, 0, 0, "FILE", "the recipe (recipes/demo.json)"},
        {"--data", CLI_TEXT, &d.data, 0, 0, "FILE", "the text it names (data/kjv.txt)"},
        {"--out", CLI_TEXT, &d.out, 0, 0, "DIR", "a new folder: both runs, evidence, model card"},
        {"--emulated", CLI_TEXT, &d.emulated, 0, 0, "EMULATOR:COMMAND", "samebits of another architecture, and what runs it"},
        {"--device", CLI_TEXT, &d.device, 0, 0, "D", "a device for a segment of each route (the first opencl:P.D that conforms; none)"},
        {0}};
    int status = cli_flags(argc, argv, usage, "Trains one language model by two routes to the same bits.", flags, &operands);
    if (status >= 0) return status;
    if (operands > 0) return cli_usage_error(usage, "%s was not expected", cli_show(argv[1]));
    if (!d.recipe || !d.data || !d.out) return cli_usage_error(usage, "--recipe, --data and --out are needed");
    if (d.emulated && !strchr(d.emulated, ':')) return cli_usage_error(usage, "--emulated is %s; expected EMULATOR:COMMAND", cli_show(d.emulated));
    if (strlen(d.out) > PATH - 128) return cli_usage_error(usage, "--out is longer than %d bytes", PATH - 128);
    sb_error err = {.status = SB_OK};
    if (mkdir(d.out, 0777) != 0) {
        fprintf(stderr, "samebits demo: the folder %s cannot be made; expected a new one in a writable place\n", cli_show(d.out));
        return CLI_INCOMPLETE;
    }
    char *table = NULL;
    size_t table_size = 0;
    ssize_t length = readlink("/proc/self/exe", d.self, sizeof d.self - 1);
    d.self[length > 0 ? length : 0] = '\0';
    d.table = open_memstream(&table, &table_size);
    d.good = true;
    double start = seconds();
    find_levels(&d);
    find_device(&d);
    sb_context *ctx = NULL;
    bool ran = d.table && sb_context_new(NULL, &ctx, &err) == SB_OK && sb_lm_describe(ctx, d.recipe, &d.model, &err) == SB_OK;
    sb_context_free(ctx);
    d.steps = d.model.steps;
    if (ran) {
        tell(&d, "%s: a decoder of %lld parameters, %lld steps of %lld bytes, by two routes\n\n", d.model.name, (long long)d.model.parameters,
             (long long)d.steps, (long long)d.model.tokens_per_step);
        tell(&d, "%-6s %-10s  %-28s %-28s\n", "route", "steps", "level that ran", "how");
        ran = run_route(&d, "A", route_a, &err) && run_route(&d, "B", route_b, &err) && compare_ends(&d, &err) && use_ends(&d, &err) &&
              run_sabotaged(&d, &err) && write_evidence(&d, &err);
    }
    sb_context_free(d.held);
    if (d.table) fclose(d.table);
    ran = ran && write_card(&d, table, &err);
    free(table);
    if (!ran) {
        return cli_failed("demo", &err);
    }
    printf("\n%s, in %.1f s; ledgers, checkpoints, evidence and the model card are in %s\n",
           d.good ? "IDENTICAL: two routes, the same bits" : "DIVERGENT", seconds() - start, cli_show(d.out));
    return d.good ? CLI_GOOD : CLI_FOUND;
}
