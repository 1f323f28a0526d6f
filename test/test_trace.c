// SPDX-License-Identifier: Apache-2.0
// Traces: the same bytes for any threads, level and device; 20 faults of one ulp, planted at random operations of a
// training run, each named exactly; hostile traces refused; a trace that cannot be written is an error of the operation.
#include "contexts.h"
#include "folder.h"
#include "ops.h"
#include "proof.h"
#include "reference_device.h"
#include "trace.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static char *get(const char *path, int64_t *size) {
    uint8_t *bytes = NULL;
    sbi_file_read(&sbi_malloc_allocator, path, INT64_C(1) << 30, &bytes, size, NULL);
    return (char *)bytes;
}

static bool same_file(const char *a, const char *b) {
    int64_t m = 0, n = 0;
    char *x = get(a, &m), *y = get(b, &n);
    bool same = x && y && m == n && memcmp(x, y, (size_t)m) == 0;
    sbi_release(&sbi_malloc_allocator, x);
    sbi_release(&sbi_malloc_allocator, y);
    return same;
}

// ---- a fault: one ulp in the first value that the operation at a place writes

typedef struct fault {
    const char *at;
    int planted;
} fault;

static void plant(void *user, sb_context *ctx, const struct sbi_op *op) {
    fault *f = user;
    char place[200];
    sbi_trace_place(ctx->trace, place, sizeof place);
    if (strcmp(place, f->at) != 0) return;
    f->planted++; // (one thread has this place)
    if (op->real_out) {
        uint64_t word;
        memcpy(&word, op->real_out, 8);
        word ^= 1;
        memcpy(op->real_out, &word, 8);
    } else {
        op->out[0]->data[0] ^= 1; // (little-endian)
    }
}

static void train(const char *trace, const char *isa, int threads, fault *f) {
    static int run;
    char name[32];
    sb_error err = {0};
    sb_context *ctx = NULL;
    snprintf(name, sizeof name, "run%d", run++);
    const sb_context_options options = {.size = sizeof options, .isa = isa, .threads = threads, .trace = trace};
    CHECK(sb_context_new(&options, &ctx, &err) == SB_OK, "%s", err.message);
    if (!ctx) return;
    if (f) {
        ctx->watch = plant;
        ctx->watch_user = f;
    }
    const sb_lm_run training = {.size = sizeof training, .recipe = SOURCE "/recipes/tiny.json", .data = SOURCE "/data/kjv.txt",
                                .folder = inside(name), .until = 1};
    CHECK(sb_lm_train(ctx, &training, &err) == SB_OK, "%s", err.message);
    sb_context_free(ctx);
}

static int bisect(const char *a, const char *b, char *json, size_t size) {
    sb_error err = {0};
    sb_report *report = NULL;
    CHECK(sb_trace_compare(a, b, &report, &err) == SB_OK, "%s", err.message);
    int verdict = sb_report_verdict(report);
    snprintf(json, size, "%s", sb_report_json(report));
    sb_report_free(report);
    return verdict;
}

// The place of a line of a trace, and whether it writes anything.
static bool place_of(const char *line, char *out) {
    return sscanf(line, "{\"at\":\"%63[^\"]", out) == 1 && (!strstr(line, "\"out\":[]") || strstr(line, "\"real\""));
}

static void check_training(void) {
    static const char *const levels[] = {"plain", "v1", "v3", "v4", "neon", "reverse"};
    char json[20000], clean[300], other[300];
    snprintf(clean, sizeof clean, "%s", inside("clean"));
    snprintf(other, sizeof other, "%s", inside("other"));
    train(clean, NULL, 1, NULL);
    for (int i = 0; i < 6; i++) {
        sb_context *there = NULL;
        const sb_context_options options = {.size = sizeof options, .isa = levels[i]};
        if (sb_context_new(&options, &there, NULL) != SB_OK) continue;
        sb_context_free(there);
        train(other, levels[i], 1 + i % 4, NULL);
        CHECK(same_file(clean, other), "level %s, %d threads", levels[i], 1 + i % 4);
        CHECK(bisect(clean, other, json, sizeof json) == 0, "level %s: %s", levels[i], json);
    }
    int64_t size = 0, lines = 0;
    char *text = get(clean, &size);
    for (int64_t i = 0; i < size; i++) lines += text[i] == '\n';
    CHECK(lines > 300, "%lld lines", (long long)lines);
    uint64_t state = 20;
    for (int i = 0; i < 20; i++) {
        char place[64] = "", expected[120];
        do {
            int64_t number = 1 + (int64_t)(next_word(&state) % (uint64_t)(lines - 1));
            const char *line = text;
            while (number-- > 0) line = strchr(line, '\n') + 1;
            char one[4096];
            snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\n"), line);
            if (place_of(one, place)) break;
        } while (true);
        fault f = {.at = place};
        train(other, NULL, 1 + i % 3, &f);
        CHECK(f.planted == 1, "the fault at %s was planted %d times", place, f.planted);
        int verdict = bisect(clean, other, json, sizeof json);
        snprintf(expected, sizeof expected, "\"kind\": \"result\", \"at\": \"%s\"", place);
        CHECK(verdict == 1 && strstr(json, expected), "%s: %s", place, json);
        verdict = bisect(other, clean, json, sizeof json);
        CHECK(verdict == 1 && strstr(json, expected), "%s, the other way: %s", place, json);
    }
    sbi_release(&sbi_malloc_allocator, text);
}

// ---- devices: the reference writes the same lines

static void few_operations(sb_context *ctx) {
    static const float values[12] = {1, -2, 3.5f, 0.1f, 7, -0.0f, 9, 2, 4, 5, 6, 8};
    sb_error err = {0};
    sb_array *x = array_of(ctx, SB_F32, 2, (int64_t[]){3, 4}, values), *y = array_of(ctx, SB_F32, 2, (int64_t[]){3, 4}, NULL);
    sb_array *z = array_of(ctx, SB_F32, 2, (int64_t[]){3, 3}, NULL);
    const sb_gemm_options options = {.size = sizeof options, .transpose_b = 1, .accumulate = 1};
    double total;
    CHECK(sb_softmax(ctx, x, y, &err) == SB_OK && sb_gemm(ctx, &options, x, y, NULL, z, &err) == SB_OK &&
              sb_total(ctx, z, &total, &err) == SB_OK && sb_scale(ctx, y, 0.5f, y, &err) == SB_OK &&
              sb_gemm(ctx, &options, x, x, NULL, z, &err) == SB_OK,
          "%s", err.message);
    sb_array_free(x);
    sb_array_free(y);
    sb_array_free(z);
}

static void check_devices(void) {
    sb_context *ctx = NULL;
    char json[4000], name[300], second[310];
    snprintf(name, sizeof name, "%s", inside("variable"));
    setenv("SAMEBITS_TRACE", name, 1);
    CHECK(sb_context_new(NULL, &ctx, NULL) == SB_OK, "the variable");
    few_operations(ctx);
    sb_context_free(ctx);
    CHECK(reference_context(&ctx, NULL) == SB_OK, "the reference"); // the second context with the variable
    few_operations(ctx);
    sb_context_free(ctx);
    unsetenv("SAMEBITS_TRACE");
    snprintf(second, sizeof second, "%s.2", name);
    CHECK(same_file(name, second) && bisect(name, second, json, sizeof json) == 0 && strstr(json, "\"same\": 5"),
          "the reference has another trace");
    int64_t size;
    char *text = get(second, &size);
    CHECK(text && strstr(text, "\"kept\":[{"), "an accumulating product names what it adds to");
    sbi_release(&sbi_malloc_allocator, text);
    const sb_context_options none = {.size = sizeof none, .trace = ""};
    setenv("SAMEBITS_TRACE", "/nowhere/at/all", 1);
    sb_error err = {0};
    CHECK(sb_context_new(NULL, &ctx, &err) == SB_ERR_IO && strstr(err.message, "/nowhere/at/all") &&
          strcmp(err.argument, "SAMEBITS_TRACE") == 0, "%s: %s", err.argument, err.message);
    CHECK(sb_context_new(&none, &ctx, NULL) == SB_OK, "\"\" is none");
    sb_context_free(ctx);
    unsetenv("SAMEBITS_TRACE");
}

// ---- a record says which old values its result depends on

enum { MOST_CALLS = 4096 };
typedef struct record {
    uint8_t digests[MOST_CALLS][32];
    int count;     // calls of this run
    bool again;    // compare with the run before
    int different;
    const char *op;
} record;

static void remember(void *user, sb_context *ctx, const struct sbi_op *op) {
    static const char *const names[] = {"a", "b", "c"};
    record *r = user;
    const sb_array *outs[3];
    int count = 0;
    uint8_t digest[32] = {0};
    for (int i = 0; i < 3; i++)
        if (op->out[i] && !op->keeps) outs[count++] = op->out[i];
    sb_digest_arrays(ctx, count, names, outs, digest, NULL);
    if (r->count == MOST_CALLS) return;
    if (r->again && memcmp(digest, r->digests[r->count], 32) != 0 && r->different++ == 0) r->op = sbi_op_names[op->id];
    memcpy(r->digests[r->count++], digest, 32);
}

static void ignore(void *user, const char *cell, const uint8_t digest[32], const sb_array *array) {
    (void)user, (void)cell, (void)digest, (void)array;
}

// Every lane twice, its results poisoned with other bytes: an operation whose result differs reads an old value that its
// record does not name, or leaves a part of its output unwritten; a trace would differ from run to run. (Not seen here: a
// state that the lane gives as an input and that is changed in place.)
static void check_old_values(void) {
    static record r;
    sb_context *ctx = NULL;
    const sb_context_options one = {.size = sizeof one, .threads = 1};
    CHECK(sb_context_new(&one, &ctx, NULL) == SB_OK, "context");
    ctx->watch = remember;
    ctx->watch_user = &r;
    for (const sbi_lane *const *file = sbi_lane_files; *file; file++)
        for (const sbi_lane *lane = *file; lane->name; lane++) {
            sbi_fixture fixture = lane->fixtures & SBI_FIX(SBI_FIX_ODD) ? SBI_FIX_ODD : SBI_FIX_PLAIN;
            if (!(lane->fixtures & SBI_FIX(fixture)) || strcmp(lane->kind, "model") == 0) continue;
            for (int turn = 0; turn < 2; turn++) {
                sbi_lane_run run = {.ctx = ctx, .lane = lane, .fixture = fixture, .nudge = -1, .report = ignore, .poison = (uint8_t)(7 * turn)};
                sb_error err;
                r.again = turn;
                r.count = r.different = 0;
                CHECK(sbi_lane_carry_out(&run, &err) == SB_OK, "%s: %s", lane->name, err.message);
            }
            CHECK(r.different == 0, "%s: the result of %s depends on what stood there before", lane->name, r.op);
        }
    sb_context_free(ctx);
}

// ---- hostile files

#define HEAD "{\"samebits\":\"trace\",\"format\":1,\"contract\":1}\n"
#define HASH "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ARRAY "{\"dtype\":\"float32\",\"shape\":[2],\"sha256\":\"" HASH "\"}"
#define LINE(at, op, n, in, out) \
    "{\"at\":\"" at "\",\"op\":\"" op "\",\"n\":[" n "],\"u\":[],\"r\":[],\"in\":[" in "],\"kept\":[],\"out\":[" out "]}\n"
#define GOOD LINE("0", "scale", "2", ARRAY, ARRAY)

static void refuse(const char *what, const char *text) {
    const char *bad = inside("bad"), *good = inside("good");
    sb_report *report = NULL;
    sb_error err = {0};
    put(bad, text, strlen(text));
    put(good, HEAD GOOD, strlen(HEAD GOOD));
    CHECK(sb_trace_compare(good, bad, &report, &err) == SB_ERR_FORMAT && !report, "%s: %s", what, err.message);
    for (const char *c = err.message; *c; c++) CHECK(*c >= 0x20 && *c < 0x7f, "%s: a byte %02x in the message", what, *c);
    CHECK(sb_trace_compare(bad, good, &report, &err) == SB_ERR_FORMAT, "%s, first: %s", what, err.message);
}

static int judge(const char *a, const char *b, char *json, size_t size) {
    const char *one = inside("one"), *other = inside("two");
    put(one, a, strlen(a));
    put(other, b, strlen(b));
    return bisect(one, other, json, size);
}

static void check_hostile(void) {
    char json[4000];
    sb_report *report;
    sb_error err;
    refuse("nothing", "");
    refuse("no head", GOOD);
    refuse("another format", "{\"samebits\":\"trace\",\"format\":2,\"contract\":1}\n" GOOD);
    refuse("another document", "{\"samebits\":\"evidence\",\"format\":1,\"contract\":1}\n");
    refuse("no JSON", HEAD "\x1b[31m\n");
    refuse("cut short", HEAD "{\"at\":\"0\"");
    refuse("an empty line", HEAD "\n");
    refuse("a list", HEAD "[]\n");
    refuse("a place that is no word", HEAD LINE("0\\u001b", "scale", "2", ARRAY, ARRAY));
    refuse("a name with a NUL", HEAD LINE("0", "sc\\u0000ale", "2", ARRAY, ARRAY));
    refuse("a number that is none", HEAD LINE("0", "scale", "2.5", ARRAY, ARRAY));
    refuse("a negative size", HEAD LINE("0", "scale", "2", "{\"dtype\":\"float32\",\"shape\":[-2],\"sha256\":\"" HASH "\"}", ARRAY));
    refuse("nine sizes", HEAD LINE("0", "scale", "2", "{\"dtype\":\"float32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"sha256\":\"" HASH "\"}", ""));
    refuse("half a hash", HEAD LINE("0", "scale", "2", "{\"dtype\":\"float32\",\"shape\":[2],\"sha256\":\"aaaa\"}", ARRAY));
    refuse("a member twice", HEAD "{\"at\":\"0\",\"at\":\"0\",\"op\":\"a\",\"n\":[],\"u\":[],\"r\":[],\"in\":[],\"kept\":[],\"out\":[]}\n");
    refuse("a member more", HEAD "{\"at\":\"0\",\"x\":0,\"op\":\"a\",\"n\":[],\"u\":[],\"r\":[],\"in\":[],\"kept\":[],\"out\":[]}\n");
    CHECK(sb_trace_compare(inside("absent"), inside("good"), &report, &err) == SB_ERR_IO, "%s", err.message);
    CHECK(sb_trace_compare(NULL, "x", &report, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "a") == 0, "%s", err.message);

    CHECK(judge(HEAD GOOD, HEAD GOOD, json, sizeof json) == 0, "%s", json);
    CHECK(judge(HEAD, HEAD, json, sizeof json) == 3, "nothing compared: %s", json);
    CHECK(judge(HEAD GOOD, HEAD GOOD LINE("1", "scale", "2", ARRAY, ARRAY), json, sizeof json) == 3, "one ends: %s", json);
    CHECK(judge(HEAD GOOD, HEAD LINE("0", "unary", "2", ARRAY, ARRAY), json, sizeof json) == 1 && strstr(json, "\"kind\": \"operation\""),
          "%s", json);
    CHECK(judge(HEAD GOOD, HEAD LINE("0", "scale", "3", ARRAY, ARRAY), json, sizeof json) == 1 && strstr(json, "\"kind\": \"operation\""),
          "%s", json);
    CHECK(judge(HEAD GOOD, HEAD LINE("0", "scale", "2", "null", ARRAY), json, sizeof json) == 1, "%s", json);
    CHECK(judge(HEAD LINE("0", "scale", "2", "", ARRAY), HEAD GOOD, json, sizeof json) == 1, "%s", json);
    CHECK(judge(HEAD GOOD, "{\"samebits\":\"trace\",\"format\":1,\"contract\":2}\n" GOOD, json, sizeof json) == 3, "%s", json);
}

// ---- a file that takes no more

static void check_full(void) {
    sb_error err = {0};
    sb_context *ctx = NULL;
    sb_status status = SB_OK;
    const sb_context_options options = {.size = sizeof options, .trace = inside("full")};
    CHECK(sb_context_new(&options, &ctx, NULL) == SB_OK, "context");
    sb_array *x = array_of(ctx, SB_F32, 1, (int64_t[]){4}, (float[]){1, 2, 3, 4});
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 2000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 20 && status == SB_OK; i++) status = sb_scale(ctx, x, 1.0f, x, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(status == SB_ERR_IO && strstr(err.message, "full") && strstr(err.message, "file too large") &&
          strcmp(err.argument, "trace") == 0, "%s: %s", err.argument, err.message);
    sb_array_free(x);
    sb_context_free(ctx);
    const sb_context_options device = {.size = sizeof device, .trace = "/dev/null"};
    CHECK(sb_context_new(&device, &ctx, &err) == SB_ERR_IO && strstr(err.message, "not a regular file"), "%s", err.message);
}

int main(void) {
    unsetenv("SAMEBITS_TRACE");
    if (!open_folder(NULL)) return 1;
    check_old_values();
    check_devices();
    check_training();
    check_hostile();
    check_full();
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK(system(command) == 0, "cannot remove %s", folder);
    return test_end();
}
