// SPDX-License-Identifier: Apache-2.0
// samebits lm: train, resume, evaluate and generate with language models, compare ledgers.
#include "cli.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sbi_cli_lm(int argc, char **argv); // argv[0] is "lm"

enum { WORKERS_MAX = 64, STEPS_MAX = 1 << 24, TOKENS_MAX = 1 << 20, RANKS_MAX = 1 << 24 };

typedef struct worker_list {
    sb_lm_worker workers[WORKERS_MAX];
    char isa[WORKERS_MAX][16], device[WORKERS_MAX][16];
    int count;
} worker_list;

typedef struct options {
    sb_context_options context;
    const char *recipe, *data, *out, *checkpoint, *prompt;
    bool whole, quiet, json;
    int64_t until, tokens, top_k, seed, sabotage;
    double temperature, top_p;
    worker_list workers;
    char data_path[PATH_MAX], self[PATH_MAX];
} options;

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

// device=D,isa=L,threads=N,shards=N in any order
static bool take_worker(void *to, const char *text) {
    worker_list *list = to;
    if (list->count == WORKERS_MAX) return false;
    sb_lm_worker *w = &list->workers[list->count];
    char *isa = list->isa[list->count], *device = list->device[list->count];
    *w = (sb_lm_worker){.threads = 1};
    while (*text) {
        char item[40];
        size_t length = strcspn(text, ",");
        uint64_t n = 0;
        if (length >= sizeof item) return false;
        memcpy(item, text, length);
        item[length] = 0;
        text += length + (text[length] == ',');
        if (strncmp(item, "isa=", 4) == 0 && item[4] && strlen(item + 4) < sizeof list->isa[0]) {
            strcpy(isa, item + 4);
            w->isa = isa;
        } else if (strncmp(item, "device=", 7) == 0 && item[7] && strlen(item + 7) < sizeof list->device[0]) {
            strcpy(device, item + 7);
            w->device = device;
        } else if (strncmp(item, "threads=", 8) == 0 && cli_read_number(item + 8, &n) && n >= 1 &&
                   n <= 1024) {
            w->threads = (int)n;
        } else if (strncmp(item, "shards=", 7) == 0 && cli_read_number(item + 7, &n) && n >= 1 &&
                   n <= 65536) {
            w->shards = (int64_t)n;
        } else {
            return false;
        }
    }
    list->count++;
    return true;
}

// Flags, and as many operands as there must be (argv[1..]).
static int read_flags(int argc, char **argv, const char *usage, const char *about,
                      const cli_flag *flags, int wanted) {
    int operands = 0, status = cli_flags(argc, argv, usage, about, flags, &operands);
    if (status >= 0) return status;
    if (operands > wanted)
        return cli_usage_error(usage, "\"%s\" was not expected", cli_show(argv[wanted + 1]));
    if (operands < wanted) return cli_usage_error(usage, "an argument is missing");
    return -1;
}

static sb_context *context(const options *o, sb_error *err) {
    sb_context *ctx = NULL;
    return sb_context_new(&o->context, &ctx, err) == SB_OK ? ctx : NULL;
}

// The code point that starts here and its bytes; 0xfffd and 1 where the bytes are no UTF-8.
static unsigned code_point(const unsigned char *at, int *bytes) {
    static const unsigned least[5] = {0, 0, 0x80, 0x800, 0x10000};
    int count = *at < 0x80 ? 1 : *at < 0xc0 ? 5 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : *at < 0xf8 ? 4 : 5;
    unsigned code = count == 1 ? *at : count < 5 ? *at & (0x7fu >> count) : 0;
    *bytes = 1;
    for (int i = 1; i < count; i++) {
        if (count == 5 || (at[i] & 0xc0) != 0x80) return 0xfffd; // (a NUL ends it as well)
        code = code << 6 | (at[i] & 0x3fu);
    }
    if (code < least[count] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0xfffd;
    *bytes = count;
    return code;
}

static void print_json_string(const char *text) {
    int bytes;
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)(text ? text : ""); *c; c += bytes) {
        unsigned code = code_point(c, &bytes);
        if (code == '"' || code == '\\')
            printf("\\%c", (int)code);
        else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
            printf("\\u%04x", code);
        else if (code == 0xfffd)
            fputs("\xef\xbf\xbd", stdout);
        else
            fwrite(c, 1, (size_t)bytes, stdout);
    }
    putchar('"');
}

// ---------------------------------------------------------------- train and resume

static void tell_json(const sb_lm_event *e) {
    static const char *const names[] = {"",          "started", "worker",    "step",
                                        "evaluated", "saved",   "sabotaged", "finished"};
    printf("{\"event\": \"%s\", \"step\": %lld, \"steps\": %lld", names[e->kind],
           (long long)e->step, (long long)e->steps);
    if (e->kind == SB_LM_WORKER) printf(", \"worker\": %d", e->worker);
    if (e->kind == SB_LM_STEP || e->kind == SB_LM_EVALUATED) printf(", \"loss\": %.17g", e->loss);
    if (e->kind == SB_LM_STEP)
        printf(", \"tokens_per_second\": %.1f, \"seconds_left\": %.1f", e->tokens_per_second,
               e->seconds_left);
    if (e->kind == SB_LM_EVALUATED) printf(", \"bits_per_byte\": %.17g", e->bits_per_byte);
    if (e->text) {
        printf(", \"%s\": ", e->kind == SB_LM_STARTED || e->kind == SB_LM_WORKER ? "isa"
                             : e->kind == SB_LM_SABOTAGED                        ? "tensor"
                                                                                 : "file");
        print_json_string(e->text);
    }
    puts("}");
    fflush(stdout);
}

static void tell_people(const sb_lm_event *e, int tty) {
    switch (e->kind) {
    case SB_LM_STARTED:
        fprintf(stderr, "from step %lld of %lld, on %s\n", (long long)e->step, (long long)e->steps,
                e->text);
        break;
    case SB_LM_WORKER:
        fprintf(stderr, "worker %d on %s\n", e->worker, e->text);
        break;
    case SB_LM_STEP: {
        int left = e->seconds_left < 1e9 ? (int)(e->seconds_left + 0.5) : 999999999;
        fprintf(stderr, "%sstep %lld/%lld  loss %.4f  %.0f tokens/s  %d:%02d left%s",
                tty ? "\r" : "", (long long)e->step, (long long)e->steps, e->loss,
                e->tokens_per_second, left / 60, left % 60, tty ? "   " : "\n");
        break;
    }
    case SB_LM_EVALUATED:
        fprintf(stderr, "%sstep %lld: held-out loss %.4f, %.4f bits per byte\n", tty ? "\n" : "",
                (long long)e->step, e->loss, e->bits_per_byte);
        break;
    case SB_LM_SABOTAGED:
        fprintf(stderr,
                "%ssabotage: one ulp added to one element of the gradient of %s at step %lld\n",
                tty ? "\n" : "", e->text, (long long)e->step);
        break;
    case SB_LM_SAVED:
    case SB_LM_FINISHED:
        break;
    }
}

static int listen_to(void *user, const sb_lm_event *e) {
    const options *o = user;
    if (o->json) tell_json(e);
    if (!o->quiet && !o->json)
        tell_people(e, isatty(2));
    else if (e->kind == SB_LM_SABOTAGED && !o->json)
        tell_people(e, 0); // never silently
    if (e->kind == SB_LM_FINISHED && !o->json) printf("%s\n", e->text);
    return interrupted;
}

// The flags that train and resume share.
#define RUN_FLAGS(o)                                                                              \
    {"--until", CLI_INTEGER, &(o)->until, 1, STEPS_MAX, "N",                                       \
     "save and stop after step N; resume goes on from there"},                                     \
        {"--steps-until", CLI_INTEGER, &(o)->until, 1, STEPS_MAX, "N", "the same as --until"},     \
        CLI_MACHINE_FLAGS((o)->context.device, (o)->context.isa, (o)->context.threads, 0),                              \
        {"--worker", CLI_EACH, &(cli_each){take_worker, &(o)->workers}, 0, 0,                      \
         "device=D,isa=L,threads=N,shards=N",                                                             \
         "a process that takes a range of every step's shards; again for more, at most 64"},       \
        {"--quiet", CLI_SWITCH, &(o)->quiet, 0, 0, NULL, "no progress"},                           \
        {"--json", CLI_SWITCH, &(o)->json, 0, 0, NULL,                                             \
         "events, one JSON object a line, on standard output"},                                    \
        {"--sabotage-step", CLI_INTEGER, &(o)->sabotage, 1, STEPS_MAX, "N",                        \
         "test: one ulp added to one gradient element at step N, and said so"}, {0}

static int run_it(options *o, const char *folder, bool resume) {
    sb_error err = {0};
    sb_lm_run run = {.size = sizeof run,
                     .recipe = o->recipe,
                     .folder = folder,
                     .until = o->until,
                     .worker_count = o->workers.count,
                     .workers = o->workers.workers,
                     .sabotage_step = o->sabotage,
                     .listener = listen_to,
                     .user = o};
    if (o->data) // where the data is must not depend on where we are
        run.data = realpath(o->data, o->data_path) ? o->data_path : o->data;
    ssize_t length = readlink("/proc/self/exe", o->self, sizeof o->self - 1);
    if (length > 0) run.worker_command = o->self;
    struct sigaction action = {.sa_handler = on_signal,
                               .sa_flags = (int)SA_RESETHAND}; // the second Ctrl-C ends at once
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sb_context *ctx = context(o, &err);
    if (!ctx) return cli_failed("lm", &err);
    sb_status status = resume ? sb_lm_resume(ctx, &run, &err) : sb_lm_train(ctx, &run, &err);
    sb_context_free(ctx);
    return status == SB_OK ? CLI_GOOD : cli_failed("lm", &err);
}

static int train(int argc, char **argv, options *o) {
    static const char usage[] = "samebits lm train --recipe R.json --data TEXT --out DIR [flags]";
    const cli_flag flags[] = {
        {"--recipe", CLI_TEXT, &o->recipe, 0, 0, "R.json", "what is trained, and how"},
        {"--data", CLI_TEXT, &o->data, 0, 0, "TEXT", "the text that the recipe names"},
        {"--out", CLI_TEXT, &o->out, 0, 0, "DIR", "the run's folder: ledger and checkpoints"},
        RUN_FLAGS(o)};
    int status = read_flags(argc, argv, usage,
                      "Trains a language model. Ctrl-C finishes the step, saves it and exits with 130.",
                      flags, 0);
    if (status >= 0) return status;
    if (!o->recipe || !o->data || !o->out)
        return cli_usage_error(usage, "train needs --recipe, --data and --out");
    return run_it(o, o->out, false);
}

static int resume(int argc, char **argv, options *o) {
    static const char usage[] = "samebits lm resume DIR [flags]";
    const cli_flag flags[] = {
        {"--data", CLI_TEXT, &o->data, 0, 0, "TEXT", "the text, if it is no longer where it was"},
        RUN_FLAGS(o)};
    int status = read_flags(argc, argv, usage,
                      "Goes on from the newest checkpoint of a run. Ctrl-C finishes the step, saves it "
                      "and exits with 130.",
                      flags, 1);
    return status >= 0 ? status : run_it(o, argv[1], true);
}

static int work(int argc, char **argv, options *o) {
    const cli_flag flags[] = {CLI_MACHINE_FLAGS(o->context.device, o->context.isa, o->context.threads, 0),
                              {"--trace", CLI_TEXT, &o->context.trace, 0, 0, "FILE",
                               "one line an operation, as SAMEBITS_TRACE"},
                              {0}};
    int read_status = read_flags(argc, argv, "samebits lm worker [flags]",
                           "The process that --worker starts, over the socket at descriptor 3; not "
                           "to be called by hand.",
                           flags, 0);
    if (read_status >= 0) return read_status;
    sb_error err = {0};
    signal(SIGINT, SIG_IGN); // the first process finishes the step and ends this one
    signal(SIGTERM, SIG_IGN);
    sb_context *ctx = context(o, &err);
    if (!ctx) return cli_failed("lm", &err);
    sb_status status = sb_lm_work(ctx, &err);
    sb_context_free(ctx);
    if (status == SB_ERR_WORKER) // the first process is gone, and has said or will say why
        return CLI_INCOMPLETE;
    return status == SB_OK ? CLI_GOOD : cli_failed("lm", &err);
}

// ---------------------------------------------------------------- the others

static const char checkpoint_help[] = "its file, its folder, or a run's folder: the newest in it";

static int evaluate(int argc, char **argv, options *o) {
    static const char usage[] = "samebits lm eval --checkpoint C --data TEXT [flags]";
    const cli_flag flags[] = {
        {"--checkpoint", CLI_TEXT, &o->checkpoint, 0, 0, "C", checkpoint_help},
        {"--data", CLI_TEXT, &o->data, 0, 0, "TEXT", "the text"},
        {"--whole", CLI_SWITCH, &o->whole, 0, 0, NULL, "on all of any text"},
        CLI_MACHINE_FLAGS(o->context.device, o->context.isa, o->context.threads, 0),
        {"--json", CLI_SWITCH, &o->json, 0, 0, NULL, "print JSON instead of a line"},
        {0}};
    int read_status = read_flags(argc, argv, usage,
                           "Bits per byte on the held-out part of the text that it was trained on.",
                           flags, 0);
    if (read_status >= 0) return read_status;
    sb_error err = {0};
    sb_lm_evaluation result;
    if (!o->checkpoint || !o->data)
        return cli_usage_error(usage, "eval needs --checkpoint and --data");
    sb_context *ctx = context(o, &err);
    if (!ctx) return cli_failed("lm", &err);
    sb_status status = sb_lm_evaluate(ctx, o->checkpoint, o->data, o->whole, &result, &err);
    sb_context_free(ctx);
    if (status != SB_OK) return cli_failed("lm", &err);
    if (o->json)
        printf("{\"loss\": %.17g, \"bits_per_byte\": %.17g, \"bytes\": %lld}\n", result.loss,
               result.bits_per_byte, (long long)result.bytes);
    else
        printf("%.6f bits per byte over %lld bytes (loss %.6f)\n", result.bits_per_byte,
               (long long)result.bytes, result.loss);
    return 0;
}

static int generate(int argc, char **argv, options *o) {
    static const char usage[] =
        "samebits lm generate --checkpoint C --prompt TEXT --tokens N [flags]";
    const cli_flag flags[] = {
        {"--checkpoint", CLI_TEXT, &o->checkpoint, 0, 0, "C", checkpoint_help},
        {"--prompt", CLI_TEXT, &o->prompt, 0, 0, "TEXT", "what is continued"},
        {"--tokens", CLI_INTEGER, &o->tokens, 0, TOKENS_MAX, "N", "bytes to make"},
        {"--temperature", CLI_REAL, &o->temperature, 0, 0, "T", "0, the default, is greedy"},
        {"--top-k", CLI_INTEGER, &o->top_k, 0, RANKS_MAX, "K", "the K likeliest alone (0: all)"},
        {"--top-p", CLI_REAL, &o->top_p, 0, 0, "P", "the likeliest up to this probability (1: all)"},
        {"--seed", CLI_INTEGER, &o->seed, 0, INT64_MAX, "S", "of the draws (0)"},
        CLI_MACHINE_FLAGS(o->context.device, o->context.isa, o->context.threads, 0),
        {0}};
    int read_status = read_flags(argc, argv, usage, "Continues a text.", flags, 0);
    if (read_status >= 0) return read_status;
    sb_error err = {0};
    if (!o->checkpoint || !o->prompt || o->tokens < 1)
        return cli_usage_error(usage, "generate needs --checkpoint, --prompt and --tokens");
    sb_context *ctx = context(o, &err);
    if (!ctx) return cli_failed("lm", &err);
    uint8_t *bytes = malloc((size_t)o->tokens);
    sb_lm_generation wanted = {.size = sizeof wanted,
                               .checkpoint = o->checkpoint,
                               .prompt = (const uint8_t *)o->prompt,
                               .prompt_bytes = (int64_t)strlen(o->prompt),
                               .tokens = o->tokens,
                               .temperature = o->temperature,
                               .top_k = o->top_k,
                               .top_p = o->top_p,
                               .seed = (uint64_t)o->seed};
    sb_status status = bytes ? sb_lm_generate(ctx, &wanted, bytes, &err) : SB_ERR_MEMORY;
    err.status = status;
    sb_context_free(ctx);
    if (status == SB_OK) {
        fputs(o->prompt, stdout);
        fwrite(bytes, 1, (size_t)o->tokens, stdout);
        putchar('\n');
    }
    free(bytes);
    return status == SB_OK ? CLI_GOOD : cli_failed("lm", &err);
}

static void print_bytes(const char *what, int64_t bytes) {
    printf("%-28s %20lld bytes  %10.3f GiB\n", what, (long long)bytes,
           (double)bytes / (1024.0 * 1024.0 * 1024.0));
}

static int describe(int argc, char **argv, options *o) {
    static const char usage[] = "samebits lm describe --recipe R.json [flags]";
    const cli_flag flags[] = {
        {"--recipe", CLI_TEXT, &o->recipe, 0, 0, "R.json", "the recipe"},
        CLI_MACHINE_FLAGS(o->context.device, o->context.isa, o->context.threads, 0),
        {"--json", CLI_SWITCH, &o->json, 0, 0, NULL, "print JSON instead of lines"},
        {0}};
    int read_status =
        read_flags(argc, argv, usage, "What a recipe's run takes: parameters, memory, files.", flags, 0);
    if (read_status >= 0) return read_status;
    sb_error err = {0};
    sb_lm_description d;
    if (!o->recipe) return cli_usage_error(usage, "describe needs --recipe");
    sb_context *ctx = context(o, &err);
    if (!ctx) return cli_failed("lm", &err);
    sb_status status = sb_lm_describe(ctx, o->recipe, &d, &err);
    sb_context_free(ctx);
    if (status != SB_OK) return cli_failed("lm", &err);
    int64_t memory = d.state_bytes + d.gradient_sets * d.gradient_bytes + d.activation_bytes;
    if (o->json) {
        printf("{\"name\": ");
        print_json_string(d.name);
        printf(", \"parameters\": %lld, \"tokens_per_step\": %lld, \"state_bytes\": %lld, "
               "\"gradient_bytes\": %lld, \"gradient_sets\": %lld, "
               "\"activation_bytes\": %lld, \"memory_bytes\": %lld, \"step_read_bytes\": %lld, "
               "\"step_exchange_bytes\": %lld, "
               "\"ledger_line_bytes\": %lld, \"checkpoint_bytes\": %lld}\n",
               (long long)d.parameters, (long long)d.tokens_per_step, (long long)d.state_bytes,
               (long long)d.gradient_bytes, (long long)d.gradient_sets,
               (long long)d.activation_bytes, (long long)memory, (long long)d.step_read_bytes,
               (long long)d.step_exchange_bytes, (long long)d.ledger_line_bytes,
               (long long)d.checkpoint_bytes);
        return 0;
    }
    printf("%s: %lld parameters, %lld tokens a step\n", d.name, (long long)d.parameters,
           (long long)d.tokens_per_step);
    print_bytes("weights and two moments", d.state_bytes);
    print_bytes("one set of gradients", d.gradient_bytes);
    printf("%-28s %20lld at most at once on one thread\n", "sets of gradients",
           (long long)d.gradient_sets);
    print_bytes("activations, one a thread", d.activation_bytes);
    print_bytes("memory with one thread", memory);
    print_bytes("text read a step", d.step_read_bytes);
    print_bytes("exchanged a step, a worker", d.step_exchange_bytes);
    print_bytes("ledger line", d.ledger_line_bytes);
    print_bytes("checkpoint", d.checkpoint_bytes);
    return 0;
}

static int compare_ledgers(int argc, char **argv, options *o) {
    static const char usage[] = "samebits lm ledger compare A B [--json]";
    const cli_flag flags[] = {
        {"--json", CLI_SWITCH, &o->json, 0, 0, NULL, "print JSON instead of a line"}, {0}};
    int read_status = read_flags(argc, argv, usage,
                           "Compares two runs' ledgers and names the first step and field that "
                           "differ (exit status 1).",
                           flags, 3);
    if (read_status >= 0) return read_status;
    sb_error err = {0};
    sb_lm_difference d;
    if (strcmp(argv[1], "compare") != 0)
        return cli_usage_error(usage, "there is no ledger %s", cli_show(argv[1]));
    if (sb_lm_ledger_compare(argv[2], argv[3], &d, &err) != SB_OK) return cli_failed("lm", &err);
    if (o->json)
        printf("{\"equal\": %s, \"steps_a\": %lld, \"steps_b\": %lld, \"step\": %lld, \"field\": "
               "\"%s\"}\n",
               d.equal ? "true" : "false", (long long)d.steps_a, (long long)d.steps_b,
               (long long)d.step, d.field);
    else if (d.equal)
        printf("EQUAL: %lld steps\n", (long long)d.steps_a);
    else
        printf("DIFFERENT: first at step %lld, field %s\n", (long long)d.step, d.field);
    return d.equal ? CLI_GOOD : CLI_FOUND;
}

// ---------------------------------------------------------------- the table

static const struct subcommand {
    const char *name, *about; // about NULL: not for people
    int (*run)(int argc, char **argv, options *o); // argv[0] is the subcommand's name
} subcommands[] = {
    {"train", "train a model by a recipe", train},
    {"resume", "go on with a run that was stopped", resume},
    {"eval", "bits per byte of a checkpoint on a text", evaluate},
    {"generate", "continue a text", generate},
    {"describe", "what a recipe's run takes", describe},
    {"ledger", "compare two runs' ledgers: ledger compare A B", compare_ledgers},
    {"worker", NULL, work},
};
enum { SUBCOMMANDS = sizeof subcommands / sizeof subcommands[0] };

int sbi_cli_lm(int argc, char **argv) {
    static const char usage[] = "samebits lm SUBCOMMAND [--help] ...";
    static options o; // large; one a process
    o.context.size = sizeof o.context;
    if (argc < 2) return cli_usage_error(usage, "a subcommand is missing (lm --help lists them)");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        printf("usage: %s\n\nTrains, evaluates and runs language models.\n\n", usage);
        for (int i = 0; i < SUBCOMMANDS; i++)
            if (subcommands[i].about)
                printf("  %-10s %s\n", subcommands[i].name, subcommands[i].about);
        return CLI_GOOD;
    }
    for (int i = 0; i < SUBCOMMANDS; i++)
        if (strcmp(argv[1], subcommands[i].name) == 0)
            return subcommands[i].run(argc - 1, argv + 1, &o);
    return cli_usage_error(usage, "there is no subcommand \"%s\" (lm --help lists them)",
                           cli_show(argv[1]));
}
