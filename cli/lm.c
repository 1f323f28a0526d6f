// SPDX-License-Identifier: Apache-2.0
// samebits lm: train, resume, evaluate and generate with language models, compare ledgers.
#include "cli.h"

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sbi_cli_lm(int argc, char **argv); // argv[0] is "lm"

enum { EXIT_DIFFERENT = 1, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };
enum { WORKERS_MAX = 64, ASKED_FOR_HELP = -1 };

static const char usage[] =
    "usage: samebits lm train --recipe R.json --data TEXT --out DIR [options]\n"
    "       samebits lm resume DIR [options]\n"
    "           --until N           stop after step N (resume goes on from there)\n"
    "           --threads N --isa L the threads and CPU level of this process\n"
    "           --worker isa=L,threads=N,shards=N\n"
    "                               a process that takes a range of every step's shards (again for "
    "more)\n"
    "           --data TEXT         resume: the text, if it is no longer where it was\n"
    "           --quiet             no progress; --json: events, one JSON object a line, on "
    "standard output\n"
    "       samebits lm eval --checkpoint C --data TEXT [--whole] [--json]\n"
    "           bits per byte on the held-out part of its data; --whole: on all of any text\n"
    "       samebits lm generate --checkpoint C --prompt TEXT --tokens N\n"
    "           [--temperature T] [--top-k K] [--top-p P] [--seed S]   (temperature 0, the "
    "default, is greedy)\n"
    "       samebits lm describe --recipe R.json [--json]\n"
    "       samebits lm ledger compare A B [--json]\n"
    "           exit code 0: equal; 1: the first step and field that differ are named\n"
    "Ctrl-C finishes the step, saves it and exits with 130.\n";

typedef struct options {
    const char *recipe, *data, *out, *checkpoint, *prompt, *isa, *positional[3];
    int positionals, threads, whole, quiet, json;
    int64_t until, tokens, top_k, seed, sabotage;
    double temperature, top_p;
    sb_lm_worker workers[WORKERS_MAX];
    char worker_isa[WORKERS_MAX][16];
    int worker_count;
    char data_path[PATH_MAX], self[PATH_MAX];
} options;

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

static int say(const sb_error *err) {
    fprintf(stderr, "samebits lm: %s: %s\n", sb_status_name(err->status), err->message);
    return err->status == SB_ERR_INTERRUPTED ? EXIT_INTERRUPTED : EXIT_FAILED;
}

static int misuse(const char *what, const char *which) {
    fprintf(stderr, "samebits lm: %s%s%s\n%s", what, which ? " " : "", which ? cli_show(which) : "",
            usage);
    return EXIT_USAGE;
}

static int parse_integer(const char *text, int64_t least, int64_t most, int64_t *out) {
    int64_t value = 0;
    if (!*text) return 0;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || value > (INT64_MAX - (*c - '0')) / 10) return 0;
        value = 10 * value + (*c - '0');
    }
    *out = value;
    return value >= least && value <= most;
}

// isa=L,threads=N,shards=N in any order
static int parse_worker(const char *text, options *o) {
    if (o->worker_count == WORKERS_MAX) return 0;
    sb_lm_worker *w = &o->workers[o->worker_count];
    char *isa = o->worker_isa[o->worker_count];
    *w = (sb_lm_worker){.threads = 1};
    while (*text) {
        char item[40];
        size_t length = strcspn(text, ",");
        int64_t n;
        if (length >= sizeof item) return 0;
        memcpy(item, text, length);
        item[length] = 0;
        text += length + (text[length] == ',');
        if (strncmp(item, "isa=", 4) == 0 && strlen(item + 4) > 0 && strlen(item + 4) < 16) {
            strcpy(isa, item + 4);
            w->isa = isa;
        } else if (strncmp(item, "threads=", 8) == 0 && parse_integer(item + 8, 1, 1024, &n)) {
            w->threads = (int)n;
        } else if (strncmp(item, "shards=", 7) == 0 && parse_integer(item + 7, 1, 65536, &n)) {
            w->shards = n;
        } else {
            return 0;
        }
    }
    o->worker_count++;
    return 1;
}

// The options with an integer, and where it goes.
static const struct integer_option {
    const char *name;
    int64_t least, most;
    size_t to;
} integers[] = {
    {"--until", 1, INT64_C(1) << 24, offsetof(options, until)},
    {"--steps-until", 1, INT64_C(1) << 24, offsetof(options, until)},
    {"--tokens", 0, INT64_C(1) << 20, offsetof(options, tokens)},
    {"--top-k", 0, INT64_C(1) << 24, offsetof(options, top_k)},
    {"--seed", 0, INT64_MAX, offsetof(options, seed)},
    {"--sabotage-step", 1, INT64_C(1) << 24, offsetof(options, sabotage)},
};

static const struct integer_option *integer_option(const char *name) {
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        if (strcmp(name, integers[i].name) == 0) return &integers[i];
    return NULL;
}

// What an option takes, for a message.
static const char *expected(const char *name) {
    static char text[80];
    const struct integer_option *integer = integer_option(name);
    if (integer)
        snprintf(text, sizeof text, "a number from %lld to %lld", (long long)integer->least,
                 (long long)integer->most);
    else
        snprintf(text, sizeof text, "%s",
                 strcmp(name, "--threads") == 0  ? "a number from 0 to 1024"
                 : strcmp(name, "--worker") == 0 ? "isa=L,threads=N,shards=N, at most 64 workers"
                 : strcmp(name, "--temperature") == 0 || strcmp(name, "--top-p") == 0
                     ? "a decimal number"
                     : "text, not empty");
    return text;
}

// One option with a value: 1 if taken, 0 if unknown, -1 if its value is bad.
static int take_value(options *o, const char *name, const char *value) {
    const struct {
        const char *name, **to;
    } texts[] = {{"--recipe", &o->recipe},         {"--data", &o->data},     {"--out", &o->out},
                 {"--checkpoint", &o->checkpoint}, {"--prompt", &o->prompt}, {"--isa", &o->isa}};
    const struct {
        const char *name;
        double *to;
    } reals[] = {{"--temperature", &o->temperature}, {"--top-p", &o->top_p}};
    const struct integer_option *integer = integer_option(name);
    int64_t n;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].to = value;
            return *value ? 1 : -1;
        }
    if (integer)
        return parse_integer(value, integer->least, integer->most,
                             (int64_t *)((char *)o + integer->to))
                   ? 1
                   : -1;
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        if (strcmp(name, reals[i].name) == 0)
            return sb_parse_real(value, reals[i].to, NULL) == SB_OK ? 1 : -1;
    if (strcmp(name, "--threads") == 0) {
        if (!parse_integer(value, 0, 1024, &n)) return -1;
        o->threads = (int)n;
        return 1;
    }
    if (strcmp(name, "--worker") == 0) return parse_worker(value, o) ? 1 : -1;
    return 0;
}

// allowed: the options of the subcommand, each with a space on both sides.
static int parse(int argc, char **argv, const char *allowed, int positionals, options *o) {
    for (int i = 0; i < argc; i++) {
        char key[64];
        const char *arg = argv[i];
        const char *equals = strncmp(arg, "--", 2) == 0 ? strchr(arg, '=') : NULL;
        if (strcmp(arg, "--help") == 0) {
            fputs(usage, stdout);
            return ASKED_FOR_HELP;
        }
        if (strncmp(arg, "--", 2) != 0) {
            if (o->positionals == positionals) return misuse("unexpected argument", cli_show(arg));
            o->positional[o->positionals++] = arg;
            continue;
        }
        int length = equals ? (int)(equals - arg) : (int)strlen(arg);
        if (length > 40) return misuse("unknown option", cli_show(arg));
        snprintf(key, sizeof key, " %.*s ", length, arg);
        if (memchr(arg, ' ', (size_t)length) || !strstr(allowed, key))
            return misuse("unknown option", cli_show(arg));
        int *flag = strcmp(key, " --quiet ") == 0   ? &o->quiet
                    : strcmp(key, " --json ") == 0  ? &o->json
                    : strcmp(key, " --whole ") == 0 ? &o->whole
                                                    : NULL;
        if (flag && equals) return misuse("this option has no value:", cli_show(arg));
        if (flag) {
            *flag = 1;
            continue;
        }
        if (!equals && i + 1 == argc) return misuse("a value is missing after", arg);
        const char *value = equals ? equals + 1 : argv[++i];
        char name[48];
        snprintf(name, sizeof name, "%.*s", length, arg);
        if (take_value(o, name, value) != 1) {
            fprintf(stderr, "samebits lm: %s is \"%s\": expected %s\n%s", name, cli_show(value),
                    expected(name), usage);
            return EXIT_USAGE;
        }
    }
    if (o->positionals != positionals) return misuse("an argument is missing", NULL);
    return 0;
}

static sb_context *context(const options *o, sb_error *err) {
    sb_context *ctx = NULL;
    sb_context_options wanted = {.size = sizeof wanted, .isa = o->isa, .threads = o->threads};
    return sb_context_new(&wanted, &ctx, err) == SB_OK ? ctx : NULL;
}

static void print_json_string(const char *text) {
    putchar('"');
    for (const char *c = text ? text : ""; *c; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if ((unsigned char)*c < 32)
            printf("\\u%04x", (unsigned)*c);
        else
            putchar(*c);
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

static int run_it(options *o, int resume) {
    sb_error err = {0};
    sb_lm_run run = {.size = sizeof run,
                     .recipe = o->recipe,
                     .folder = resume ? o->positional[0] : o->out,
                     .until = o->until,
                     .worker_count = o->worker_count,
                     .workers = o->workers,
                     .sabotage_step = o->sabotage,
                     .listener = listen_to,
                     .user = o};
    if (!resume && (!o->recipe || !o->data || !o->out))
        return misuse("train needs --recipe, --data and --out", NULL);
    if (o->data) // where the data is must not depend on where we are
        run.data = realpath(o->data, o->data_path) ? o->data_path : o->data;
    ssize_t length = readlink("/proc/self/exe", o->self, sizeof o->self - 1);
    if (length > 0) run.worker_command = o->self;
    struct sigaction action = {.sa_handler = on_signal,
                               .sa_flags = (int)SA_RESETHAND}; // the second Ctrl-C ends at once
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sb_context *ctx = context(o, &err);
    if (!ctx) return say(&err);
    sb_status status = resume ? sb_lm_resume(ctx, &run, &err) : sb_lm_train(ctx, &run, &err);
    sb_context_free(ctx);
    return status == SB_OK ? 0 : say(&err);
}

static int work(options *o) {
    sb_error err = {0};
    signal(SIGINT, SIG_IGN); // the first process finishes the step and ends this one
    signal(SIGTERM, SIG_IGN);
    sb_context *ctx = context(o, &err);
    if (!ctx) return say(&err);
    sb_status status = sb_lm_work(ctx, &err);
    sb_context_free(ctx);
    if (status == SB_ERR_WORKER) // the first process is gone, and has said or will say why
        return EXIT_FAILED;
    return status == SB_OK ? 0 : say(&err);
}

// ---------------------------------------------------------------- the others

static int evaluate(const options *o) {
    sb_error err = {0};
    sb_lm_evaluation result;
    if (!o->checkpoint || !o->data) return misuse("eval needs --checkpoint and --data", NULL);
    sb_context *ctx = context(o, &err);
    if (!ctx) return say(&err);
    sb_status status = sb_lm_evaluate(ctx, o->checkpoint, o->data, o->whole, &result, &err);
    sb_context_free(ctx);
    if (status != SB_OK) return say(&err);
    if (o->json)
        printf("{\"loss\": %.17g, \"bits_per_byte\": %.17g, \"bytes\": %lld}\n", result.loss,
               result.bits_per_byte, (long long)result.bytes);
    else
        printf("%.6f bits per byte over %lld bytes (loss %.6f)\n", result.bits_per_byte,
               (long long)result.bytes, result.loss);
    return 0;
}

static int generate(const options *o) {
    sb_error err = {0};
    if (!o->checkpoint || !o->prompt || !o->prompt[0] || o->tokens < 1)
        return misuse("generate needs --checkpoint, --prompt (not empty) and --tokens", NULL);
    sb_context *ctx = context(o, &err);
    if (!ctx) return say(&err);
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
    return status == SB_OK ? 0 : say(&err);
}

static void print_bytes(const char *what, int64_t bytes) {
    printf("%-28s %20lld bytes  %10.3f GiB\n", what, (long long)bytes,
           (double)bytes / (1024.0 * 1024.0 * 1024.0));
}

static int describe(const options *o) {
    sb_error err = {0};
    sb_lm_description d;
    if (!o->recipe) return misuse("describe needs --recipe", NULL);
    sb_context *ctx = context(o, &err);
    if (!ctx) return say(&err);
    sb_status status = sb_lm_describe(ctx, o->recipe, &d, &err);
    sb_context_free(ctx);
    if (status != SB_OK) return say(&err);
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

static int compare_ledgers(const options *o) {
    sb_error err = {0};
    sb_lm_difference d;
    if (strcmp(o->positional[0], "compare") != 0)
        return misuse("unknown: ledger", cli_show(o->positional[0]));
    if (sb_lm_ledger_compare(o->positional[1], o->positional[2], &d, &err) != SB_OK) {
        say(&err);
        return EXIT_USAGE; // nothing was compared
    }
    if (o->json)
        printf("{\"equal\": %s, \"steps_a\": %lld, \"steps_b\": %lld, \"step\": %lld, \"field\": "
               "\"%s\"}\n",
               d.equal ? "true" : "false", (long long)d.steps_a, (long long)d.steps_b,
               (long long)d.step, d.field);
    else if (d.equal)
        printf("EQUAL: %lld steps\n", (long long)d.steps_a);
    else
        printf("DIFFERENT: first at step %lld, field %s\n", (long long)d.step, d.field);
    return d.equal ? 0 : EXIT_DIFFERENT;
}

static int run_command(int argc, char **argv) {
    static options o;
    const char *what = argc > 1 ? argv[1] : "";
    int status;
    memset(&o, 0, sizeof o);
    argc -= 2;
    argv += 2;
    if (strcmp(what, "train") == 0)
        return (status = parse(argc, argv,
                               " --recipe --data --out --until --steps-until --threads --isa "
                               "--worker --quiet --json --sabotage-step ",
                               0, &o))
                   ? status
                   : run_it(&o, 0);
    if (strcmp(what, "resume") == 0)
        return (status = parse(argc, argv,
                               " --data --until --steps-until --threads --isa --worker --quiet "
                               "--json --sabotage-step ",
                               1, &o))
                   ? status
                   : run_it(&o, 1);
    if (strcmp(what, "worker") == 0)
        return (status = parse(argc, argv, " --threads --isa ", 0, &o)) ? status : work(&o);
    if (strcmp(what, "eval") == 0)
        return (status = parse(argc, argv, " --checkpoint --data --whole --threads --isa --json ",
                               0, &o))
                   ? status
                   : evaluate(&o);
    if (strcmp(what, "generate") == 0)
        return (status = parse(argc, argv,
                               " --checkpoint --prompt --tokens --temperature --top-k --top-p "
                               "--seed --threads --isa ",
                               0, &o))
                   ? status
                   : generate(&o);
    if (strcmp(what, "describe") == 0)
        return (status = parse(argc, argv, " --recipe --threads --isa --json ", 0, &o))
                   ? status
                   : describe(&o);
    if (strcmp(what, "ledger") == 0)
        return (status = parse(argc, argv, " --json ", 3, &o)) ? status : compare_ledgers(&o);
    if (strcmp(what, "--help") == 0 || strcmp(what, "help") == 0)
        return fputs(usage, stdout) == EOF;
    return misuse(*what ? "unknown subcommand" : "a subcommand is missing",
                  *what ? cli_show(what) : NULL);
}

int sbi_cli_lm(int argc, char **argv) {
    int status = run_command(argc, argv);
    return status == ASKED_FOR_HELP ? 0 : status;
}
