// SPDX-License-Identifier: Apache-2.0
// Flags: the input's lines are the arguments of a command that has a flag of every kind, lm's --worker among them; and the
// first line is a list of lanes. What is printed is printable.
#include "lm.c" // the command's, for its --worker
#include "fuzz.h"
#include "verify.h"

#include <float.h>

enum { ARGUMENTS_MAX = 64 };

typedef struct values {
    bool switched;
    const char *text;
    int count, operands, status;
    int64_t integer;
    uint64_t number;
    double real;
    worker_list workers;
} values;

static void read_all(int argc, char **argv, values *v) {
    char *texts[2] = {NULL, NULL};
    size_t sizes[2];
    FILE *const out = stdout, *const errors = stderr;
    const cli_flag flags[] = {
        {"--switch", CLI_SWITCH, &v->switched, 0, 0, NULL, "a switch"},
        {"--text", CLI_TEXT, &v->text, 0, 0, "TEXT", "a text"},
        {"--count", CLI_COUNT, &v->count, 0, 1024, "N", "a count"},
        {"--integer", CLI_INTEGER, &v->integer, 1, INT64_MAX, "N", "an integer"},
        {"--number", CLI_NUMBER, &v->number, 1, 0, "N", "a number"},
        {"--real", CLI_REAL, &v->real, 0, 0, "X", "a real"},
        {"--worker", CLI_EACH, &(cli_each){take_worker, &v->workers}, 0, 0, "isa=L,threads=N,shards=N", "a worker"},
        {0},
    };
    memset(v, 0, sizeof *v);
    stdout = open_memstream(&texts[0], &sizes[0]);
    stderr = open_memstream(&texts[1], &sizes[1]);
    v->status = cli_flags(argc, argv, "samebits fuzz", "Nothing.", flags, &v->operands);
    fclose(stdout);
    fclose(stderr);
    stdout = out;
    stderr = errors;
    MUST(v->status == -1 || v->status == CLI_GOOD || v->status == CLI_USAGE);
    MUST((v->status == CLI_USAGE) == (sizes[1] > 0) && (v->status == CLI_GOOD) == (sizes[0] > 0));
    MUST(v->count >= 0 && v->count <= 1024 && v->integer >= 0 && v->operands < argc && v->workers.count <= WORKERS_MAX);
    MUST(v->real >= -DBL_MAX && v->real <= DBL_MAX);
    for (int i = 0; i < v->workers.count; i++) {
        const sb_lm_worker *w = &v->workers.workers[i];
        MUST(w->threads >= 1 && w->threads <= 1024 && w->shards >= 0 && w->shards <= 65536);
    }
    fuzz_printable(texts[0]);
    fuzz_printable(texts[1]);
    free(texts[0]);
    free(texts[1]);
}

static void choose_lanes(const char *names) {
    const sbi_lane **lanes;
    int64_t count;
    sb_error err = {0};
    sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, NULL);
    sb_status status = sbi_verify_choose(arena, SB_TIER_DEFAULT, names, &lanes, &count, &err);
    if (status != SB_OK) fuzz_error(status, &err);
    sbi_arena_free(arena);
}

void fuzz_flags(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1), *argv[ARGUMENTS_MAX + 1] = {"fuzz"}, *again[ARGUMENTS_MAX + 1];
    int argc = 1;
    values one, two;
    MUST(text);
    if (size) memcpy(text, data, size);
    text[size] = 0;
    for (char *at = text; at && argc < ARGUMENTS_MAX; argc++) {
        argv[argc] = at;
        at = strchr(at, '\n');
        if (at) *at++ = 0;
    }
    choose_lanes(argv[1]);
    memcpy(again, argv, sizeof argv);
    read_all(argc, argv, &one);
    read_all(argc, again, &two);
    MUST(one.status == two.status && one.count == two.count && one.integer == two.integer && one.number == two.number);
    MUST(one.workers.count == two.workers.count && (one.status >= 0 || one.operands == two.operands));
    free(text);
}
