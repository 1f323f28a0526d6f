// SPDX-License-Identifier: Apache-2.0
// samebits prove: runs a unary function over all 2^32 inputs (or a stratified sample with all recorded hard cases)
// through the public interface, has every output judged, and compares the hash of all outputs with the recorded one.
// Exit: 0 proved; 1 misrounded, or another hash than the recorded one; 2 usage; 3 nothing wrong found, but without MPFR
// and without a recorded hash nothing proved either.
#include "prove.h"

#include "base.h"
#include "cli.h"
#include "prove_judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char prove_recorded[], prove_hard_cases[]; // references/*.tsv, embedded, closed by a zero

enum { SLAB = 1 << 21, SLICE = 1 << 14 };
#define ALL ((int64_t)1 << 32)
#define QUICK ((int64_t)1 << 26)

typedef struct prove_options {
    const char *device, *isa, *hard_out;
    uint64_t count;
    int threads;
    bool all, quick, hash_only, json, quiet;
} prove_options;

typedef struct slab {
    const sbi_judged *function;
    uint32_t *inputs, *outputs;
    sb_array *x, *y; // of `count` elements, for all slabs of a function
    int64_t count;
    sbi_sha256 *hash;
    sbi_verdict verdicts[SLAB / SLICE];
} slab;

// Task 0 adds the outputs to the hash, the others judge a slice each.
static void slab_task(void *argument, int64_t index) {
    slab *s = argument;
    if (index == 0) {
        uint8_t bytes[4096];
        for (int64_t i = 0; i < s->count; i += 1024) {
            int64_t n = s->count - i < 1024 ? s->count - i : 1024;
            for (int64_t j = 0; j < n; j++) {
                uint32_t u = s->outputs[i + j];
                bytes[4 * j] = (uint8_t)u;
                bytes[4 * j + 1] = (uint8_t)(u >> 8);
                bytes[4 * j + 2] = (uint8_t)(u >> 16);
                bytes[4 * j + 3] = (uint8_t)(u >> 24);
            }
            sbi_sha256_add(s->hash, bytes, 4 * (size_t)n);
        }
        return;
    }
    int64_t first = (index - 1) * SLICE, n = s->count - first < SLICE ? s->count - first : SLICE;
    sbi_judge(s->function, s->inputs + first, s->outputs + first, n, &s->verdicts[index - 1]);
}

// Input i of `count`, one from each stratum of 2^32 / count neighbours; all of them in order where count is 2^32.
static uint32_t stratified(int64_t i, int64_t count) {
    uint64_t width = (uint64_t)(ALL / count), z = (uint64_t)i * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((uint64_t)i * width + ((z ^ (z >> 31)) & (width - 1)));
}

static sb_status make_arrays(sb_context *ctx, const sbi_judged *function, int64_t count, sb_array **x, sb_array **y,
                             sb_error *err) {
    *x = *y = NULL;
    sb_status status = sb_array_new(ctx, function->kind == SB_INVERSE_NORMAL ? SB_U32 : SB_F32, 1, &count, x, err);
    return status == SB_OK ? sb_array_new(ctx, SB_F32, 1, &count, y, err) : status;
}

static sb_status outputs_of(sb_context *ctx, const sbi_judged *function, sb_array *x, sb_array *y, const uint32_t *inputs,
                            uint32_t *outputs, sb_error *err) {
    size_t bytes = 4 * (size_t)sb_array_size(x);
    sb_status status = sb_array_write(x, inputs, bytes, err);
    if (status == SB_OK) status = sb_unary(ctx, function->kind, x, y, err);
    return status == SB_OK ? sb_array_read(y, outputs, bytes, err) : status;
}

// Rows of an embedded table: name, a number, hexadecimal digits. Calls back for those of this name.
static void table_rows(const unsigned char *table, const char *name, void (*row)(void *user, const char *second, const char *third),
                       void *user) {
    char fields[3][80];
    for (const char *line = (const char *)table; *line; line += *line == '\n') {
        const char *end = line + strcspn(line, "\n");
        if (sscanf(line, "%79[^\t\n]\t%79[^\t\n]\t%79[^\t\n]", fields[0], fields[1], fields[2]) == 3 && fields[0][0] != '#' &&
            strcmp(fields[0], name) == 0) {
            row(user, fields[1], fields[2]);
        }
        line = end;
    }
}

typedef struct recorded_hash {
    int64_t count;
    char digest[80];
} recorded_hash;
static void recorded_row(void *user, const char *count, const char *digest) {
    recorded_hash *r = user;
    if (strtoll(count, NULL, 10) == r->count) {
        snprintf(r->digest, sizeof r->digest, "%s", digest);
    }
}

typedef struct hard_cases {
    int64_t count;
    uint32_t inputs[1024], outputs[1024];
} hard_cases;
static void hard_row(void *user, const char *input, const char *output) {
    hard_cases *h = user;
    if (h->count < 1024) {
        h->inputs[h->count] = (uint32_t)strtoul(input, NULL, 16);
        h->outputs[h->count++] = (uint32_t)strtoul(output, NULL, 16);
    }
}

// The recorded hard cases: each output must be the recorded one.
static sb_status hard_misses(sb_context *ctx, const sbi_judged *function, int64_t *tried, sbi_verdict *verdict, sb_error *err) {
    static hard_cases h;
    uint32_t got[1024];
    h.count = 0;
    table_rows(prove_hard_cases, function->name, hard_row, &h);
    *tried = h.count;
    if (h.count == 0) {
        return SB_OK;
    }
    sb_array *x, *y;
    sb_status status = make_arrays(ctx, function, h.count, &x, &y, err);
    if (status == SB_OK) status = outputs_of(ctx, function, x, y, h.inputs, got, err);
    sb_array_free(x);
    sb_array_free(y);
    for (int64_t i = 0; status == SB_OK && i < h.count; i++) {
        if (got[i] != h.outputs[i] && !verdict->misrounded++) {
            verdict->wrong_input = h.inputs[i];
            verdict->wrong_output = got[i];
        }
    }
    return status;
}

static sb_status append_hard(const char *path, const sbi_judged *function, const sbi_verdict *v, sb_error *err) {
    char text[SBI_HARDEST * 64];
    size_t length = 0;
    for (int i = 0; i < v->hardest_count; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s\t%08x\t%08x\n", function->name,
                                   v->hardest[i].input, v->hardest[i].output);
    }
    return sbi_file_append(path, text, (int64_t)length, err);
}

static sb_status prove_one(sb_context *ctx, sbi_pool *pool, const sbi_judged *function, const prove_options *options,
                           int64_t count, slab *s, int *exit_code, sb_error *err) {
    double start = sbi_seconds();
    sbi_sha256 hash;
    sbi_verdict total = {0};
    uint8_t digest[32];
    char hex[65];
    int64_t tried = 0;
    sbi_sha256_start(&hash);
    s->function = function;
    s->hash = &hash;
    s->count = count < SLAB ? count : SLAB; // (powers of two)
    sb_status status = make_arrays(ctx, function, s->count, &s->x, &s->y, err);
    for (int64_t first = 0; status == SB_OK && first < count; first += SLAB) {
        for (int64_t i = 0; i < s->count; i++) {
            s->inputs[i] = count == ALL ? (uint32_t)(first + i) : stratified(first + i, count);
        }
        status = outputs_of(ctx, function, s->x, s->y, s->inputs, s->outputs, err);
        if (status != SB_OK) {
            break;
        }
        memset(s->verdicts, 0, sizeof s->verdicts);
        int64_t slices = options->hash_only ? 0 : (s->count + SLICE - 1) / SLICE;
        sbi_pool_run(pool, slices + 1, slab_task, s);
        for (int64_t i = 0; i < slices; i++) {
            sbi_verdict_add(&total, &s->verdicts[i]);
        }
        if (!options->quiet && count > QUICK && first / SLAB % 64 == 63) {
            fprintf(stderr, "%s: %lld %%, %lld misrounded so far\n", function->name,
                    (long long)((first + SLAB) * 100 / count), (long long)total.misrounded);
        }
    }
    sb_array_free(s->x);
    sb_array_free(s->y);
    if (status == SB_OK) status = hard_misses(ctx, function, &tried, &total, err);
    if (status == SB_OK && options->hard_out) {
        status = append_hard(options->hard_out, function, &total, err);
    }
    if (status != SB_OK) {
        return status;
    }
    sbi_sha256_end(&hash, digest);
    sbi_hex(digest, sizeof digest, hex);
    recorded_hash recorded = {.count = count};
    table_rows(prove_recorded, function->name, recorded_row, &recorded);
    bool equal = strcmp(recorded.digest, hex) == 0;
    const char *verdict = recorded.digest[0] ? equal ? "equal" : "different" : "none";
    double seconds = sbi_seconds() - start;
    if (options->json) {
        printf("{\"function\": \"%s\", \"inputs\": %lld, \"hard_cases\": %lld, \"judged\": %s, ", function->name, (long long)count,
               (long long)tried, options->hash_only ? "false" : "true");
        if (!options->hash_only) {
            printf("\"mpfr\": %s, \"checked_with_mpfr\": %lld, \"misrounded\": %lld, \"undecided\": %lld, ",
                   sbi_judge_has_mpfr ? "true" : "false", (long long)total.checked, (long long)total.misrounded,
                   (long long)total.undecided);
        }
        printf("\"seconds\": %.1f, \"sha256\": \"%s\", \"recorded\": \"%s\", \"device\": \"%s\", \"isa\": \"%s\", "
               "\"threads\": %d}\n",
               seconds, hex, verdict, sb_context_device(ctx), sb_context_isa(ctx), sb_context_threads(ctx));
    } else {
        if (total.misrounded) {
            printf("%s: of %08x came %08x, which is not the correctly rounded value\n", function->name, total.wrong_input,
                   total.wrong_output);
        }
        printf("%s: %lld inputs", function->name, (long long)count);
        if (count < ALL) {
            printf(" and %lld hard cases", (long long)tried);
        }
        if (options->hash_only) {
            printf(", not judged");
        } else if (sbi_judge_has_mpfr) {
            printf(", %lld checked with MPFR, %lld misrounded", (long long)total.checked, (long long)total.misrounded);
        } else {
            printf(", %lld left to the recorded hash (no MPFR here), %lld misrounded", (long long)total.undecided,
                   (long long)total.misrounded);
        }
        printf(", %.1f s, sha256 %s, %s\n", seconds, hex,
               recorded.digest[0] ? equal ? "equal to the recorded one" : "DIFFERENT from the recorded one"
                                  : "none recorded for this count");
    }
    fflush(stdout);
    if (total.misrounded || (recorded.digest[0] && !equal)) {
        *exit_code = CLI_FOUND;
    } else if ((total.undecided || options->hash_only) && !equal && *exit_code == CLI_GOOD) {
        *exit_code = CLI_INCOMPLETE;
    }
    return SB_OK;
}

// NULL, and why, where nothing is to be proved.
static const sbi_judged *find_function(const char *name, const char **why) {
    static const char *const exact[] = {"sqrt", "neg", "abs"};
    *why = "there is no function of this name (--help lists them)";
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++)
        if (strcmp(name, exact[i]) == 0) *why = "nothing to prove: IEEE 754 fixes every bit of it, and the lane of its name holds it to that";
    if (strcmp(name, "inverse_normal") == 0) name = "normal"; // (as the header and `describe` call it)
    for (const sbi_judged *f = sbi_judged_functions; f->name; f++)
        if (strcmp(f->name, name) == 0) return f;
    return NULL;
}

int sbi_cli_prove(int argc, char **argv) {
    static const char usage[] = "samebits prove NAME ... | --all [--quick | --count N] [--hash-only] [flags]";
    static const char about[] =
        "Runs a function over all 2^32 inputs and judges every output by the host's double functions and, near a tie, by MPFR;\n"
        "the hash of all outputs is compared with the recorded one. Names: exp log sin cos rsqrt sigmoid silu silu_grad normal\n"
        "(or inverse_normal) tanh expm1 log1p exp2 log2 log10 erf erfc softplus log_sigmoid gelu gelu_tanh gelu_grad\n"
        "gelu_tanh_grad. Not sqrt, neg and abs, of which IEEE 754 fixes every bit.";
    prove_options options = {.count = 0};
    const cli_flag flags[] = {
        {"--all", CLI_SWITCH, &options.all, 0, 0, NULL, "every function"},
        {"--quick", CLI_SWITCH, &options.quick, 0, 0, NULL, "2^26 inputs spread over all, and every recorded hard case"},
        {"--hash-only", CLI_SWITCH, &options.hash_only, 0, 0, NULL, "judge nothing: only compare the hash of all outputs with the recorded one"},
        {"--count", CLI_NUMBER, &options.count, 1, 0, "N", "N such inputs, a power of two"},
        CLI_MACHINE_FLAGS(options.device, options.isa, options.threads, 1),
        {"--hard-out", CLI_TEXT, &options.hard_out, 0, 0, "FILE", "append the inputs found nearest to a tie"},
        {"--json", CLI_SWITCH, &options.json, 0, 0, NULL, "one JSON object a function on stdout"},
        {"--quiet", CLI_SWITCH, &options.quiet, 0, 0, NULL, "no progress on stderr"},
        {0},
    };
    const sbi_judged *chosen[64];
    int operands = 0, exit_code = cli_flags(argc, argv, usage, about, flags, &operands);
    if (exit_code >= 0) {
        return exit_code;
    }
    exit_code = CLI_GOOD;
    int chosen_count = 0;
    for (int i = 1; i <= operands && chosen_count < 64; i++) {
        const char *why;
        const sbi_judged *f = find_function(argv[i], &why);
        if (!f) {
            return cli_usage_error(usage, "%s: %s", cli_show(argv[i]), why);
        }
        chosen[chosen_count++] = f;
    }
    if (options.all == (operands > 0)) {
        return cli_usage_error(usage, options.all ? "names and --all exclude each other" : "expected a function or --all");
    }
    for (const sbi_judged *f = sbi_judged_functions; options.all && f->name; f++) {
        chosen[chosen_count++] = f;
    }
    if (options.quick && options.count) {
        return cli_usage_error(usage, "--quick and --count exclude each other");
    }
    if (options.count > (uint64_t)ALL || (options.count & (options.count - 1))) {
        return cli_usage_error(usage, "--count is %llu: expected a power of two up to 4294967296", (unsigned long long)options.count);
    }
    const int64_t count = options.quick ? QUICK : options.count ? (int64_t)options.count : ALL;

    sb_error err = {0};
    sb_context *ctx = NULL;
    sbi_pool *pool = NULL;
    slab *s = sbi_allocate(&sbi_malloc_allocator, 1, sizeof *s, &err);
    uint32_t *words = sbi_allocate(&sbi_malloc_allocator, 2 * SLAB, sizeof *words, &err);
    sb_context_options context_options = {.size = sizeof context_options, .device = options.device, .isa = options.isa,
                                          .threads = options.threads};
    sb_status status = s && words ? sb_context_new(&context_options, &ctx, &err) : SB_ERR_MEMORY;
    if (status == SB_OK) {
        pool = sbi_pool_new(&sbi_malloc_allocator, sb_context_threads(ctx), &err);
        status = pool ? SB_OK : err.status;
    }
    if (status == SB_OK) {
        s->inputs = words;
        s->outputs = words + SLAB;
        if (!options.json && !options.quiet) {
            fprintf(stderr, "device %s, level %s, %d threads\n", sb_context_device(ctx), sb_context_isa(ctx),
                    sb_context_threads(ctx));
        }
    }
    for (int i = 0; status == SB_OK && i < chosen_count; i++) {
        status = prove_one(ctx, pool, chosen[i], &options, count, s, &exit_code, &err);
    }
    if (status != SB_OK) {
        exit_code = cli_failed("prove", &err);
    }
    sbi_pool_free(pool);
    sb_context_free(ctx);
    sbi_release(&sbi_malloc_allocator, words);
    sbi_release(&sbi_malloc_allocator, s);
    return exit_code;
}
