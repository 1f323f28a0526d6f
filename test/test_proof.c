// SPDX-License-Identifier: Apache-2.0
// The states of verify on lanes made to show them, compare on constructed documents, hostile tables and documents, the
// fixtures, and the exact arithmetic of the probes against this machine's own.
#include "probe.h"
#include "test.h"
#include "verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sb_error error;
static sb_context *ctx;

// ---- lanes made for the test

static sb_status add_rows(sbi_lane_run *run, bool by_split, sb_error *err) {
    int64_t n = sbi_lane_size(run, 6, 5), d = sbi_lane_size(run, 4, 3);
    sb_array *x = sbi_lane_input(run, "x", SB_F32, 2, (const int64_t[]){n, d});
    sb_array *y = sbi_lane_result(run, SB_F32, 2, (const int64_t[]){n, d});
    for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p)) {
        sb_array *from = sbi_lane_part(run, x, p), *to = sbi_lane_part(run, y, p);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_scale(run->ctx, from, by_split && run->split == SBI_ROWS ? 3.0f : 2.0f, to, err));
        }
    }
    return sbi_lane_cell(run, "y", y, err);
}
static sb_status run_good(sbi_lane_run *run, sb_error *err) { return add_rows(run, false, err); }
static sb_status run_split(sbi_lane_run *run, sb_error *err) { return add_rows(run, true, err); }
static sb_status run_refused(sbi_lane_run *run, sb_error *err) {
    sbi_lane_do(run, sbi_fail(err, SB_ERR_UNSUPPORTED, "x", "not \x1b[2J here"));
    return sbi_lane_cell(run, "y", NULL, err);
}
static sb_status run_twice(sbi_lane_run *run, sb_error *err) {
    sbi_lane_cell_real(run, "z", 1.0, err);
    return sbi_lane_cell_real(run, "z", 2.0, err);
}
static sb_status run_maximum(sbi_lane_run *run, sb_error *err) {
    sb_array *x = sbi_lane_input(run, "x", SB_F32, 1, (const int64_t[]){5});
    sb_array *y = sbi_lane_result(run, SB_F32, 0, NULL);
    sbi_lane_do(run, sb_reduce(run->ctx, SB_MAX, SB_ALL, x, y, err));
    return sbi_lane_cell(run, "max", y, err);
}

#define LANE(lane_name, function) \
    {.name = lane_name, .kind = "test", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = function}
static const sbi_lane good = LANE("good", run_good), split = LANE("split", run_split), refused = LANE("refused", run_refused),
                      twice = LANE("twice", run_twice), maximum = LANE("maximum", run_maximum);

// A table with the cells of the good lane, after `change` of one digit, and with `extra` lines.
static void make_table(sbi_text *table, sbi_fixture fixture, bool change, const char *extra) {
    sbi_cells cells = {0};
    sbi_lane_run run;
    CHECK(sbi_verify_lane(ctx, &good, fixture, 0, -1, NULL, &cells, &run, &error) == SB_OK, "%s", error.message);
    CHECK(cells.count == 1 && cells.items[0].state == SBI_CELL_COMPUTED, "state");
    sbi_text_start(table, &sbi_malloc_allocator);
    sbi_references_write(&cells, table);
    if (change) {
        char *last = table->bytes + table->length - 2;
        *last = *last == '0' ? '1' : '0';
    }
    sbi_text_add(table, "%s", extra);
    sbi_cells_free(&cells);
}

static sbi_cell_state state_of(const sbi_lane *lane, const char *table, size_t size, int64_t nudge, int64_t *count, char note[160]) {
    sbi_references references;
    sbi_cells cells = {0};
    sbi_lane_run run;
    CHECK(sbi_references_read(table, size, &references, &error) == SB_OK, "%s", error.message);
    CHECK(sbi_verify_lane(ctx, lane, SBI_FIX_PLAIN, 0, nudge, &references, &cells, &run, &error) == SB_OK, "%s", error.message);
    sbi_cell_state state = cells.count ? cells.items[cells.count - 1].state : SBI_CELL_STATES;
    *count = cells.count;
    strcpy(note, cells.count ? cells.items[cells.count - 1].note : "");
    sbi_cells_free(&cells);
    sbi_references_free(&references);
    return state;
}

#define EXTRA(lane) lane "\tplain\tz\t0000000000000000000000000000000000000000000000000000000000000000\n"
static void test_states(void) {
    static const char empty[] = "# samebits golden values, contract 1\nlane\tfixture\tcell\tsha256\n";
    sbi_text table, changed, extra;
    int64_t count = 0;
    char note[160];
    make_table(&table, SBI_FIX_PLAIN, false, "");
    make_table(&changed, SBI_FIX_PLAIN, true, "");
    make_table(&extra, SBI_FIX_PLAIN, false, EXTRA("good"));
    CHECK(state_of(&good, table.bytes, (size_t)table.length, -1, &count, note) == SBI_CELL_IDENTICAL && count == 1, "%s", note);
    CHECK(state_of(&good, table.bytes, (size_t)table.length, 7, &count, note) == SBI_CELL_DIVERGENT && count == 1, "%s", note);
    CHECK(state_of(&good, table.bytes, (size_t)table.length, 24, &count, note) == SBI_CELL_IDENTICAL, "a nudge beyond the inputs");
    CHECK(state_of(&good, changed.bytes, (size_t)changed.length, -1, &count, note) == SBI_CELL_DIVERGENT, "%s", note);
    CHECK(state_of(&good, empty, sizeof empty - 1, -1, &count, note) == SBI_CELL_ABSENT, "%s", note);
    CHECK(state_of(&good, extra.bytes, (size_t)extra.length, -1, &count, note) == SBI_CELL_ABSENT && count == 2, "%s", note);
    CHECK(state_of(&split, empty, sizeof empty - 1, -1, &count, note) == SBI_CELL_DIVERGENT && strstr(note, "row by row"), "%s", note);
    CHECK(state_of(&refused, empty, sizeof empty - 1, -1, &count, note) == SBI_CELL_REFUSED && strstr(note, "SB_ERR_UNSUPPORTED: not \\x1b"),
          "%s", note);
    sbi_text_free(&table), sbi_text_free(&changed), sbi_text_free(&extra);

    sbi_cells cells = {0};
    sbi_lane_run run;
    CHECK(sbi_verify_lane(ctx, &twice, SBI_FIX_PLAIN, 0, -1, NULL, &cells, &run, &error) == SB_ERR_INTERNAL, "a cell reported twice");
    sbi_cells_free(&cells);
    // A maximum sees an ulp in one input of five: the others must not show.
    int shown = 0;
    uint8_t first[32] = {0};
    for (int64_t nudge = -1; nudge < 5; nudge++) {
        CHECK(sbi_verify_lane(ctx, &maximum, SBI_FIX_PLAIN, 0, nudge, NULL, &cells, &run, &error) == SB_OK, "%s", error.message);
        if (nudge < 0) {
            memcpy(first, cells.items[0].digest, 32);
            CHECK(run.inputs_seen == 5, "inputs");
        } else {
            shown += memcmp(first, cells.items[0].digest, 32) != 0;
        }
        cells.count = 0;
    }
    CHECK(shown == 1, "%d", shown);
    sbi_cells_free(&cells);
}

static void test_tables(void) {
#define HEAD "# samebits golden values, contract 1\nlane\tfixture\tcell\tsha256\n"
#define ROW(name) name "\t0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
    static const struct { const char *text; bool good; } tables[] = {
        {HEAD, true}, {HEAD ROW("a\tb\tc"), true}, {HEAD ROW("a\tb\tc") ROW("a\tb\td") ROW("a\tc\ta"), true}, {"", false},
        {"# samebits golden values, contract 2\n", false}, {"# samebits golden values, contract 1", false},
        {HEAD ROW("a\tb\tc") ROW("a\tb\tc"), false}, {HEAD ROW("a\tb\td") ROW("a\tb\tc"), false}, {HEAD "\n", false},
        {HEAD ROW("a\tb"), false}, {HEAD ROW("a\t\tc"), false}, {HEAD ROW("\tb\tc"), false}, {HEAD ROW("a\tb\tc\td"), false},
        {HEAD "a\tb\tc\t0123\n", false}, {HEAD "a\tb\tc\t0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef\n", false},
        {HEAD "a\tb\tc\t0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", false},
        {HEAD ROW("a\tb\tthis name of a cell is longer than any cell's name may be"), false},
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        sbi_references references;
        sb_status status = sbi_references_read(tables[i].text, strlen(tables[i].text), &references, &error);
        CHECK(status == (tables[i].good ? SB_OK : SB_ERR_FORMAT), "%s", tables[i].text);
        sbi_references_free(&references);
    }
}

// ---- documents

static char folder[64];
static const char *path_of(const char *name) {
    static char paths[4][128];
    static int next;
    next = (next + 1) % 4;
    snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
    return paths[next];
}

static void write_file(const char *name, const char *bytes, int64_t size) {
    FILE *file = fopen(path_of(name), "wb");
    CHECK(file && fwrite(bytes, 1, (size_t)size, file) == (size_t)size && fclose(file) == 0, "%s", name);
}

// cells: "name:digit name:digit ..."; the digit repeated is the digest, '-' is null.
static void write_document(const char *name, int contract, const char *seed, const char *cpu, const char *cells) {
    sbi_text text;
    bool first = true;
    sbi_text_start(&text, &sbi_malloc_allocator);
    sbi_text_add(&text, "{\"samebits\": \"evidence\", \"format\": 1, \"release\": \"0.1.0\", \"contract\": %d, \"commit\": \"c\", \"seed\": \"%s\","
                 " \"tier\": \"all\", \"references\": null, \"date\": null, \"machine\": {\"architecture\": \"x\", \"cpu\": \"%s\","
                 " \"endianness\": \"little\", \"device\": \"cpu\", \"level\": \"v4\", \"threads\": 2}, \"build\": {\"compiler\": \"gcc\","
                 " \"sha256\": null}, \"cells\": [", contract, seed, cpu);
    for (const char *at = cells; *at; at += strcspn(at, " "), at += *at == ' ') {
        int length = (int)strcspn(at, ":");
        char digest[67] = "null";
        if (at[length + 1] != '-') {
            memset(digest, at[length + 1], 66);
            digest[0] = digest[65] = '"';
            digest[66] = '\0';
        }
        sbi_text_add(&text, "%s{\"lane\": \"%.*s\", \"fixture\": \"plain\", \"cell\": \"y\", \"state\": \"COMPUTED\", \"sha256\": %s}",
                     first ? "" : ", ", length, at, digest);
        first = false;
    }
    sbi_text_add(&text, "]}\n");
    write_file(name, text.bytes, text.length);
    sbi_text_free(&text);
}

static int verdict_of(int count, const char *const *names, const char *says) {
    char paths[5][128];
    const char *pointers[5];
    sb_report *report = NULL;
    for (int i = 0; i < count; i++) {
        snprintf(paths[i], sizeof paths[i], "%s", path_of(names[i]));
        pointers[i] = paths[i];
    }
    sb_status status = sb_compare(count, pointers, &report, &error);
    CHECK(status == SB_OK, "%s", error.message);
    int verdict = sb_report_verdict(report);
    CHECK(strstr(sb_report_text(report), says), "%s has no \"%s\"", sb_report_text(report), says);
    sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, NULL);
    const sbi_json *root;
    CHECK(sbi_json_read(arena, sb_report_json(report), (int64_t)strlen(sb_report_json(report)), &root, &error) == SB_OK, "%s", error.message);
    sbi_arena_free(arena);
    sb_report_free(report);
    return verdict;
}
#define VERDICT(says, ...) verdict_of((int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__}, says)

static void test_compare(void) {
    write_document("a", 1, "0", "one", "k:1 l:2 m:3");
    write_document("same", 1, "0", "one", "k:1 l:2 m:3");
    write_document("b", 1, "0", "two", "m:3 k:1 l:2"); // another order of the cells
    write_document("less", 1, "0", "one", "l:2 z:9");
    write_document("off", 1, "0", "two", "k:1 l:4 m:5");
    write_document("off2", 1, "0", "three", "k:1 l:4 m:5");
    write_document("other contract", 2, "0", "two", "k:1 l:2 m:3");
    write_document("other seed", 1, "7", "two", "k:1 l:2 m:3");
    write_document("apart", 1, "0", "two", "p:1 q:2");
    write_document("none", 1, "0", "two", "k:- l:- m:-");
    write_document("nothing", 1, "0", "two", "");
    write_document("empty", 1, "0", "one", "");
    CHECK(VERDICT("AGREE in all of 3 cells", "a", "b") == 0, "agree");
    CHECK(VERDICT("machines: 2 kinds", "a", "b") == 0, "machines");
    CHECK(VERDICT("whether these were different machines the documents do not say", "a", "less") == 0, "one machine");
    CHECK(VERDICT("AGREE in all of 1 cells; 2 cells stand only in the first, 1 only in the second", "a", "less") == 0, "partly");
    CHECK(VERDICT("DIFFER at l/plain/y: 2222222222222222... and 4444444444444444... (2 of 3 cells)", "a", "off") == 1, "differ");
    CHECK(VERDICT("SAME FILE", "a", "a") == 4, "the same path");
    CHECK(VERDICT("SAME FILE", "a", "same") == 4, "the same bytes");
    CHECK(VERDICT("different versions of the contract", "a", "other contract") == 3, "contract");
    CHECK(VERDICT("different seeds", "a", "other seed") == 3, "seed");
    CHECK(VERDICT("no computed cell in common", "a", "apart") == 3, "apart");
    CHECK(VERDICT("no computed cell in common", "a", "none") == 3, "not computed");
    CHECK(VERDICT("no computed cell in common", "nothing", "empty") == 3, "nothing compared is never AGREE");
    CHECK(VERDICT("no computed cell in common", "none", "nothing") == 3, "nothing compared is never AGREE");
    CHECK(VERDICT("group 2 computed:", "a", "off", "b", "off2") == 1, "groups");
    CHECK(VERDICT("AGREE", "a", "same", "b") == 0, "one given twice, and another that agrees");
    CHECK(VERDICT("INCOMPARABLE", "a", "b", "apart") == 3, "one that compares with none");
}

static void test_hostile_documents(void) {
    static const char *const bad[] = {
        "", "{}", "[]", "null", "\"evidence\"", "{\"samebits\": \"evidence\"}", "{\"samebits\": \"comparison\", \"format\": 1}",
        "{\"samebits\": \"evidence\", \"format\": 2}", "{\"samebits\": \"evidence\", \"format\": 1, \"format\": 1}", "\xff\xfe", "{",
    };
    char path[128];
    uint8_t *bytes = NULL;
    int64_t size = 0;
    sb_report *report = NULL;
    snprintf(path, sizeof path, "%s", path_of("a"));
    const char *pair[] = {path, path_of("bad")};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_file("bad", bad[i], (int64_t)strlen(bad[i]));
        CHECK(sb_compare(2, pair, &report, &error) == SB_ERR_FORMAT && strstr(error.message, "is no evidence document"), "%s: %s", bad[i],
              error.message);
    }
    CHECK(sbi_file_read(&sbi_malloc_allocator, path, 1 << 20, &bytes, &size, &error) == SB_OK, "%s", error.message);
    for (int64_t cut = 0; cut < size - 1; cut += 3) { // (only the last newline may be missing)
        write_file("bad", (const char *)bytes, cut);
        CHECK(sb_compare(2, pair, &report, &error) == SB_ERR_FORMAT, "cut at %lld", (long long)cut);
    }
    for (int64_t at = 0; at < size; at += 2) { // a byte changed: a named error or a verdict, never worse
        char held = (char)bytes[at];
        static const char replacements[] = "\"{}[],:x0\\\x01";
        bytes[at] = (uint8_t)replacements[at / 2 % 11];
        write_file("bad", (const char *)bytes, size);
        sb_status status = sb_compare(2, pair, &report, &error);
        CHECK(status == SB_OK || status == SB_ERR_FORMAT, "byte %lld", (long long)at);
        if (status == SB_OK) {
            sb_report_free(report);
        }
        bytes[at] = (uint8_t)held;
    }
    sbi_release(&sbi_malloc_allocator, bytes);
    write_document("bad", 1, "0", "two", "k:1 k:1");
    CHECK(sb_compare(2, pair, &report, &error) == SB_ERR_FORMAT && strstr(error.message, "twice"), "%s", error.message);
    write_document("bad", 1, "0", "two", "k:g");
    CHECK(sb_compare(2, pair, &report, &error) == SB_ERR_FORMAT && strstr(error.message, "64 hexadecimal"), "%s", error.message);
    // Names that would move a terminal's cursor, or end the message early.
    write_document("bad", 1, "0", "\\u001b[2Jcpu\\n", "k\\u001b:4 k:2");
    const char *names[] = {"a", "bad"};
    CHECK(verdict_of(2, names, "\\x1b[2Jcpu\\x0a") == 1, "escaped");
    write_document("bad", 1, "0", "c\\u0000pu", "k:1");
    CHECK(sb_compare(2, pair, &report, &error) == SB_ERR_FORMAT, "a NUL in a name");
    const char *missing[] = {path, path_of("no\nsuch\x1b")};
    CHECK(sb_compare(2, missing, &report, &error) == SB_ERR_IO && !strchr(error.message, '\x1b') && !strchr(error.message, '\n'), "%s",
          error.message);
    const char *dir[] = {path, folder};
    CHECK(sb_compare(2, dir, &report, &error) == SB_ERR_IO, "a folder: %s", error.message);
    CHECK(sb_compare(1, pair, &report, &error) == SB_ERR_ARGUMENT && sb_compare(2, NULL, &report, &error) == SB_ERR_ARGUMENT &&
              sb_compare(2, pair, NULL, &error) == SB_ERR_ARGUMENT, "arguments");
}

// ---- the public functions

static void test_public(void) {
    static const char empty[] = HEAD;
    sb_verify_options options = {.size = sizeof options, .references = empty, .references_size = sizeof empty - 1, .lanes = "gemm_nn"};
    sb_report *report = NULL;
    char one[128], other[128];
    snprintf(one, sizeof one, "%s", path_of("verify one"));
    snprintf(other, sizeof other, "%s", path_of("verify other"));
    CHECK(sb_verify(ctx, &options, &report, &error) == SB_OK && sb_report_verdict(report) == 3, "without references: %s", error.message);
    sb_report_free(report);
    CHECK(sb_selftest(ctx, &options, &report, &error) == SB_OK && sb_report_verdict(report) == 3, "without references: %s", error.message);
    sb_report_free(report);
    options.seed = 12345;
    CHECK(sb_verify(ctx, &options, &report, &error) == SB_OK && sb_report_verdict(report) == 0, "with a seed: %s", error.message);
    CHECK(strstr(sb_report_text(report), "no references for seed 12345: compare two documents"), "%s", sb_report_text(report));
    CHECK(sb_report_write(report, one, &error) == SB_OK, "%s", error.message);
    CHECK(sb_report_write(report, "/dev/full", &error) == SB_ERR_IO, "/dev/full");
    CHECK(sb_report_write(report, path_of("no folder/x"), &error) == SB_ERR_IO, "no folder");
    sb_report_free(report);
    const sb_context_options plain = {.size = sizeof plain, .isa = "plain", .threads = 1};
    sb_context *second = NULL;
    CHECK(sb_context_new(&plain, &second, &error) == SB_OK, "%s", error.message);
    CHECK(sb_verify(second, &options, &report, &error) == SB_OK, "%s", error.message);
    CHECK(sb_report_write(report, other, &error) == SB_OK, "%s", error.message);
    sb_report_free(report);
    const char *names[] = {"verify one", "verify other"};
    CHECK(verdict_of(2, names, "AGREE in all of") == 0, "two levels");
    options.seed = 12346;
    CHECK(sb_verify(second, &options, &report, &error) == SB_OK && sb_report_write(report, other, &error) == SB_OK, "%s", error.message);
    sb_report_free(report);
    CHECK(verdict_of(2, names, "different seeds") == 3, "two seeds");
    sb_context_free(second);

    options.lanes = "gemm_nn,no such\x1b";
    CHECK(sb_verify(ctx, &options, &report, &error) == SB_ERR_ARGUMENT && strstr(error.message, "no such\\x1b"), "%s", error.message);
    options.lanes = "";
    CHECK(sb_verify(ctx, &options, &report, &error) == SB_ERR_ARGUMENT, "%s", error.message);
    options.lanes = NULL;
    options.tier = (sb_tier)9;
    CHECK(sb_verify(ctx, &options, &report, &error) == SB_ERR_ARGUMENT, "%s", error.message);
    options.tier = SB_TIER_QUICK;
    options.references = NULL;
    CHECK(sb_verify(ctx, &options, &report, &error) == SB_ERR_ARGUMENT, "%s", error.message);
    options.references = "x";
    options.references_size = 1;
    CHECK(sb_verify(ctx, &options, &report, &error) == SB_ERR_FORMAT, "%s", error.message);
    CHECK(sb_verify(NULL, &options, &report, &error) == SB_ERR_ARGUMENT && sb_verify(ctx, NULL, &report, &error) == SB_ERR_ARGUMENT, "NULL");
    CHECK(sb_doctor(&report, &error) == SB_OK && sb_report_verdict(report) == 0, "%s", report ? sb_report_text(report) : error.message);
    sb_report_free(report);
    CHECK(sb_doctor(NULL, &error) == SB_ERR_ARGUMENT, "NULL");
    CHECK(sb_lane_count() > 0 && sb_lane_name(0) && !sb_lane_name(-1) && !sb_lane_name(sb_lane_count()), "lanes");
    int64_t arrays = 0;
    uint8_t bytes[32], tree[32], known[32];
    write_file("abc", "abc", 3);
    CHECK(sb_digest_file(path_of("abc"), bytes, tree, &arrays, &error) == SB_OK && arrays == -1, "%s", error.message);
    sb_sha256("abc", 3, known);
    CHECK(memcmp(bytes, known, 32) == 0, "digest");
    write_file("st", "\x02\0\0\0\0\0\0\0{}", 10);
    CHECK(sb_digest_file(path_of("st"), bytes, tree, &arrays, &error) == SB_OK && arrays == 0, "%s", error.message);
    CHECK(sb_digest_file(path_of("absent"), bytes, tree, &arrays, &error) == SB_ERR_IO, "absent");
}

// ---- fixtures

static void test_fixtures(void) {
    static const sbi_lane lane = {.name = "fixture test", .kind = "test", .counts_inputs = true};
    enum { N = 4096 };
    static float values[N];
    static uint32_t bits[N];
    uint8_t digest[32];
    sbi_sha256 all;
    sbi_sha256_start(&all);
    for (int fixture = 0; fixture < SBI_FIX_COUNT; fixture++) {
        int subnormal = 0, zero = 0, negative_zero = 0, nonfinite = 0, outside = 0;
        sbi_lane_run run = {.ctx = ctx, .lane = &lane, .fixture = (sbi_fixture)fixture, .nudge = -1};
        sb_array *x = sbi_lane_input(&run, "x", SB_F32, 2, (const int64_t[]){N / 64, 64});
        CHECK(x && sb_array_read(x, values, sizeof values, &error) == SB_OK, "%s", error.message);
        memcpy(bits, values, sizeof bits);
        for (int i = 0; i < N; i++) {
            uint32_t magnitude = bits[i] & 0x7fffffffu;
            subnormal += magnitude > 0 && magnitude < 0x00800000;
            zero += magnitude == 0;
            negative_zero += bits[i] == 0x80000000u;
            nonfinite += magnitude >= 0x7f800000;
            outside += magnitude >= 0x40000000 && magnitude < 0x7f800000;
            uint8_t little[4] = {(uint8_t)bits[i], (uint8_t)(bits[i] >> 8), (uint8_t)(bits[i] >> 16), (uint8_t)(bits[i] >> 24)};
            sbi_sha256_add(&all, little, 4);
        }
        CHECK((subnormal > N / 4) == (fixture == SBI_FIX_SUBNORMAL), "%s: %d subnormal", sbi_fixture_names[fixture], subnormal);
        CHECK((zero > N / 3) == (fixture == SBI_FIX_ZEROS) && (negative_zero > N / 8) == (fixture == SBI_FIX_ZEROS), "%s: %d zeros",
              sbi_fixture_names[fixture], zero);
        CHECK((nonfinite > 30) == (fixture == SBI_FIX_NONFINITE), "%s: %d not finite", sbi_fixture_names[fixture], nonfinite);
        CHECK((outside > 0) == (fixture == SBI_FIX_WIDE || fixture == SBI_FIX_OFFSET), "%s: %d large", sbi_fixture_names[fixture], outside);
        sb_array_free(x);
        sbi_release(&sbi_malloc_allocator, run.arrays);
    }
    sbi_sha256_end(&all, digest); // the same on every machine, big-endian ones too
    char hex[65];
    sbi_hex(digest, 32, hex);
    CHECK(strcmp(hex, "ba3790e78f2b59dc66bdc1b073ae6cf988b81a688e3714df16319dbcc92eedb3") == 0, "%s", hex);
    // Widened values hold the float in their first bits; indices stay in range, and both ends are reached.
    sbi_lane_run run = {.ctx = ctx, .lane = &lane, .fixture = SBI_FIX_SUBNORMAL, .nudge = -1};
    static double wide[N];
    static int32_t indices[N];
    sb_array *w = sbi_lane_input(&run, "x", SB_F64, 1, (const int64_t[]){N});
    CHECK(w && sb_array_read(w, wide, sizeof wide, &error) == SB_OK, "%s", error.message);
    sb_array *x = sbi_lane_input(&run, "x", SB_F32, 1, (const int64_t[]){N});
    CHECK(x && sb_array_read(x, values, sizeof values, &error) == SB_OK, "%s", error.message);
    for (int i = 0; i < N; i++) {
        double ratio = wide[i] / (double)values[i];
        CHECK(ratio >= 1.0 && ratio < 1.0 + 0x1p-22, "%a and %a", wide[i], (double)values[i]);
    }
    sb_array *k = sbi_lane_indices(&run, "k", SB_I32, 1, (const int64_t[]){N}, 7);
    int seen[7] = {0};
    CHECK(k && sb_array_read(k, indices, sizeof indices, &error) == SB_OK, "%s", error.message);
    for (int i = 0; i < N; i++) {
        CHECK(indices[i] >= 0 && indices[i] < 7, "%d", indices[i]);
        seen[indices[i] >= 0 && indices[i] < 7 ? indices[i] : 0]++;
    }
    CHECK(seen[0] > N / 14 && seen[6] > N / 14, "%d %d", seen[0], seen[6]);
    CHECK(!sbi_lane_indices(&run, "bad", SB_I32, 1, (const int64_t[]){3}, 0) && run.status == SB_ERR_ARGUMENT, "no bound");
    sb_array_free(w), sb_array_free(x), sb_array_free(k);
    sbi_release(&sbi_malloc_allocator, run.arrays);
}

// ---- the arithmetic of the probes against this machine's

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return x == x ? bits : 0x7fc00000u;
}

static void test_soft(void) {
    uint64_t state = 9;
    int wrong = 0;
    for (int i = 0; i < 2000000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t a = (uint32_t)(state >> 32), b = (uint32_t)(state ^ state >> 29), c = (uint32_t)(state >> 16) * 2654435761u;
        if (i % 2) { // exponents close to each other and to both ends
            b = (b & 0x80ffffffu) | (a & 0x7f000000u);
            c = i % 4 == 1 ? (c & 0x80ffffffu) | 0x01000000u : c;
        }
        volatile float x, y, z;
        float x0, y0, z0;
        memcpy(&x0, &a, 4), memcpy(&y0, &b, 4), memcpy(&z0, &c, 4);
        x = x0, y = y0, z = z0;
        double sum = (double)x + (double)y;
        wrong += sbi_soft_add(a, b) != bits_of(x + y);
        wrong += sbi_soft_mul(a, b) != bits_of(x * y);
        wrong += sbi_soft_div(a, b) != bits_of(x / y);
        wrong += sbi_soft_sqrt(a) != bits_of(__builtin_sqrtf(x));
        wrong += sbi_soft_sum2(a, b) != bits_of((float)sum == 0.0f ? 0.0f : (float)sum);
        double wide = (double)x;
        uint64_t wide_bits;
        memcpy(&wide_bits, &wide, sizeof wide_bits);
        wrong += x == x && x != 0.0f && sbi_soft_widen(a) != wide_bits;
        wrong += sbi_soft_fma(a, b, c) != bits_of(fmaf(x, y, z));
    }
    CHECK(wrong == 0, "%d", wrong);
    // Known fma: (1 + 2^-12)^2 - (1 + 2^-11) = 2^-24; the smallest subnormal halved and added to itself.
    CHECK(sbi_soft_fma(0x3f800800, 0x3f800800, 0xbf801000) == 0x33800000, "%08x", sbi_soft_fma(0x3f800800, 0x3f800800, 0xbf801000));
    CHECK(sbi_soft_fma(0x00000001, 0x3f000000, 0x00000001) == 0x00000002, "tie to even");
    CHECK(sbi_soft_fma(0x00000001, 0x3f000000, 0x80000001) == 0x80000000, "a negative that underflows");
    CHECK(sbi_soft_fma(0x3f800001, 0x3f800001, 0x7f7fffff) == 0x7f7fffff, "no overflow");
    CHECK(sbi_soft_fma(0x7f7fffff, 0x40000000, 0xff7fffff) == 0x7f7fffff, "the product may exceed the largest float");
}

int main(void) {
    snprintf(folder, sizeof folder, "test_proof_%ld.tmp", (long)getpid());
    CHECK(sbi_folder_make(folder, &error) == SB_OK, "%s", error.message);
    CHECK(sb_context_new(NULL, &ctx, &error) == SB_OK, "%s", error.message);
    test_states();
    test_tables();
    test_compare();
    test_hostile_documents();
    test_public();
    test_fixtures();
    test_soft();
    sb_context_free(ctx);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0, "%s", command);
    return test_end();
}
