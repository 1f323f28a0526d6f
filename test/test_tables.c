// SPDX-License-Identifier: Apache-2.0
// Tables of numbers: npy and csv files, what they hold, and hostile ones of every kind.
#include "csv.h"
#include "folder.h"
#include "json.h"
#include "npy.h"
#include "svmlight.h"

#include <math.h>
#include <stdlib.h>

static sb_error error;

// ---- npy

// A file in memory exactly as long as it is, so that a sanitizer sees every byte read beyond it.
static sb_status parse(int version, const char *header, const void *data, int64_t bytes, sbi_npy *npy, uint8_t **kept) {
    const int64_t length = (int64_t)strlen(header), wide = version > 1 ? 4 : 2, total = 8 + wide + length + bytes;
    uint8_t *file = malloc((size_t)total);
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (uint8_t)version, file[7] = 0;
    for (int64_t i = 0; i < wide; i++) file[8 + i] = (uint8_t)(length >> 8 * i);
    memcpy(file + 8 + wide, header, (size_t)length);
    if (bytes) memcpy(file + 8 + wide + length, data, (size_t)bytes);
    memset(&error, 0, sizeof error);
    sb_status status = sbi_npy_header(file, total, total, npy, &error);
    *kept = file;
    return status;
}

static void test_npy_values(void) {
    static const struct { int version; const char *header; const char *bytes; int64_t size; sb_dtype dtype; double expected[6]; int count; } files[] = {
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", "\0\0\x80\x3f\0\0\0\xc0", 8, SB_F32, {1, -2}, 2},
        {1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", "\x3f\x80\0\0\xc0\0\0\0", 8, SB_F32, {1, -2}, 2},
        {2, "{\"shape\":(1,1), \"descr\":\"<f8\",\"fortran_order\":False}", "\0\0\0\0\0\0\xf8\x3f", 8, SB_F64, {1.5}, 1},
        {3, "{'descr': '>f8', 'fortran_order': True, 'shape': (1, 1), }", "\x3f\xf8\0\0\0\0\0\0", 8, SB_F64, {1.5}, 1},
        {1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "\1\2\3\4\5\6", 6, SB_I64, {1, 3, 5, 2, 4, 6}, 6},
        {1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", "\1\2\3\4\5\377", 6, SB_I64, {1, 2, 3, 4, 5, 255}, 6},
        {1, "{'descr': '|i1', 'fortran_order': False, 'shape': (2, ), }", "\377\177", 2, SB_I64, {-1, 127}, 2},
        {1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "\0\1\2", 3, SB_I64, {0, 1, 1}, 3},
        {1, "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }", "\376\377\1\1", 4, SB_I64, {-2, 257}, 2},
        {1, "{'descr': '>i4', 'fortran_order': False, 'shape': (1,), }", "\200\0\0\0", 4, SB_I64, {-2147483648.0}, 1},
        {1, "{'descr': '<i8', 'fortran_order': False, 'shape': (), }", "\377\377\377\377\377\377\377\377", 8, SB_I64, {-1}, 1},
        {1, "{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }", "\377\377\377\377\377\377\377\377", 8, SB_U64, {18446744073709551616.0}, 1},
        {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (5,), }", "\0\x3c\1\0\xff\3\0\xfc\0\x80", 10, SB_F32, {1, 0x1p-24, 0x1.ff8p-15, -INFINITY, -0.0}, 5},
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 0), }", "", 0, SB_F64, {0}, 0},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        sbi_npy npy;
        uint8_t *file;
        double wide[6] = {7, 7, 7, 7, 7, 7};
        CHECK(parse(files[i].version, files[i].header, files[i].bytes, files[i].size, &npy, &file) == SB_OK, "%zu: %s", i, error.message);
        CHECK(sbi_npy_dtype(&npy) == files[i].dtype && npy.size == files[i].count, "%zu: dtype %d", i, (int)sbi_npy_dtype(&npy));
        sb_status status = SB_OK;
        for (int64_t k = 0; k < npy.size; k++) // one at a time, so that parts meet their places
            status = status ? status : sbi_npy_convert(&npy, file + npy.offset + k * npy.item, k, 1, SB_F64, wide, &error);
        CHECK(status == SB_OK, "%zu: %s", i, error.message);
        for (int k = 0; k < files[i].count; k++)
            CHECK(wide[k] == files[i].expected[k] && signbit(wide[k]) == signbit(files[i].expected[k]), "%zu [%d]: %g", i, k, wide[k]);
        if (npy.kind == 'f') CHECK(sbi_npy_convert(&npy, file + npy.offset, 0, 0, SB_I64, wide, &error) == SB_ERR_DTYPE, "%zu", i);
        free(file);
    }
}

static void test_npy_hostile(void) {
#define HEAD(descr, shape) "{'descr': '" descr "', 'fortran_order': False, 'shape': " shape ", }"
    static const struct { int version; const char *header; int64_t size; sb_status status; const char *says; } files[] = {
        {0, HEAD("<f4", "(2,)"), 8, SB_ERR_UNSUPPORTED, "format 0.0"},
        {4, HEAD("<f4", "(2,)"), 8, SB_ERR_UNSUPPORTED, "format 4.0"},
        {1, HEAD("<f4", "(2,)"), 7, SB_ERR_FORMAT, "8 bytes of elements, and 7"},
        {1, HEAD("<f4", "(2,)"), 9, SB_ERR_FORMAT, "and 9 are there"},
        {1, HEAD("<f4", "(2)"), 8, SB_OK, ""},
        {1, HEAD("<f4", "(-2,)"), 8, SB_ERR_FORMAT, "a size"},
        {1, HEAD("<f4", "(2 3,)"), 8, SB_ERR_FORMAT, ", or )"},
        {1, HEAD("<f4", "(4294967296, 4294967296)"), 0, SB_ERR_SIZE, "overflows"},
        {1, HEAD("<f4", "(0, 9223372036854775807, 2)"), 0, SB_ERR_SIZE, "overflows"},
        {1, HEAD("<f4", "(18446744073709551617,)"), 4, SB_ERR_SIZE, "overflows"},
        {1, HEAD("<f4", "(1,1,1,1,1,1,1,1,1)"), 4, SB_ERR_UNSUPPORTED, "dimensions"},
        {1, HEAD("|O", "(1,)"), 8, SB_ERR_UNSUPPORTED, "\"|O\""},
        {1, HEAD("<c16", "(1,)"), 16, SB_ERR_UNSUPPORTED, "\"<c16\""},
        {1, HEAD("=f4", "(1,)"), 4, SB_ERR_UNSUPPORTED, "\"=f4\""},
        {1, HEAD("", "(1,)"), 4, SB_ERR_UNSUPPORTED, "\"\""},
        {1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4, SB_ERR_UNSUPPORTED, "structures"},
        {1, "{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}", 4, SB_ERR_FORMAT, "once each"},
        {1, "{'descr': '<f4', 'fortran_order': False}", 4, SB_ERR_FORMAT, "all three"},
        {1, "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", 4, SB_ERR_FORMAT, "True or False"},
        {1, HEAD("<f4", "(1,)") " x", 4, SB_ERR_FORMAT, "nothing after }"},
        {1, HEAD("<f4", "(1,"), 4, SB_ERR_FORMAT, "a size or )"},
        {1, "{'descr': '<f4", 4, SB_ERR_FORMAT, "closing quote"},
        {1, "", 4, SB_ERR_FORMAT, "expected {"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        sbi_npy npy;
        uint8_t *file, zeros[16] = {0};
        sb_status status = parse(files[i].version, files[i].header, zeros, files[i].size, &npy, &file);
        CHECK(status == files[i].status && strstr(error.message, files[i].says), "%zu: %s %s", i, sb_status_name(status), error.message);
        free(file);
    }
    sbi_npy npy;
    uint8_t *whole;
    CHECK(parse(1, HEAD("<f4", "(2,)"), "\0\0\0\0\0\0\0", 8, &npy, &whole) == SB_OK, "%s", error.message);
    const int64_t total = npy.offset + 8;
    for (int64_t cut = 0; cut < total; cut++) { // truncated anywhere
        uint8_t *part = malloc((size_t)cut + 1);
        memcpy(part, whole, (size_t)cut);
        CHECK(sbi_npy_header(part, cut, cut, &npy, &error) == SB_ERR_FORMAT, "cut at %lld", (long long)cut);
        free(part);
    }
    free(whole);
}

static void test_npy_file(void) {
    const char *path = inside("a.npy");
    enum { ROWS = 300, COLUMNS = 500 };
    char head[128] = {0};
    snprintf(head, sizeof head, "\x93NUMPY\x01%cv%c{'descr': '<i4', 'fortran_order': True, 'shape': (%d, %d), }", 0, 0, ROWS, COLUMNS);
    memcpy(head + 6, "\x01\0v\0", 4);
    snprintf(head + 10, sizeof head - 10, "{'descr': '<i4', 'fortran_order': True, 'shape': (%d, %d), }", ROWS, COLUMNS);
    memset(head + strlen(head + 10) + 10, ' ', sizeof head - strlen(head + 10) - 10);
    head[sizeof head - 1] = '\n';
    uint8_t *bytes = malloc(sizeof head + 4 * ROWS * COLUMNS);
    memcpy(bytes, head, sizeof head);
    for (int64_t i = 0; i < ROWS * COLUMNS; i++)
        for (int k = 0; k < 4; k++) bytes[(int64_t)sizeof head + 4 * i + k] = (uint8_t)(i >> 8 * k);
    put(path, bytes, sizeof head + 4 * ROWS * COLUMNS);
    sbi_npy npy;
    CHECK(sbi_npy_open(&sbi_malloc_allocator, path, &npy, &error) == SB_OK, "%s", error.message);
    float *to = calloc(ROWS * COLUMNS, sizeof *to);
    CHECK(npy.size == ROWS * COLUMNS && sbi_npy_read(&sbi_malloc_allocator, path, &npy, SB_F32, to, &error) == SB_OK, "%s", error.message);
    int64_t wrong = 0;
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < COLUMNS; j++) wrong += to[i * COLUMNS + j] != (float)(j * ROWS + i);
    CHECK(wrong == 0, "%lld elements are elsewhere", (long long)wrong);
    put(path, bytes, sizeof head + 4 * ROWS * COLUMNS - 1); // shorter since
    CHECK(sbi_npy_read(&sbi_malloc_allocator, path, &npy, SB_F32, to, &error) == SB_ERR_IO, "%s", error.message);
    CHECK(sbi_npy_open(&sbi_malloc_allocator, inside("none"), &npy, &error) == SB_ERR_IO && strstr(error.message, "none"), "%s", error.message);
    CHECK(sbi_npy_open(&sbi_malloc_allocator, folder, &npy, &error) == SB_ERR_IO, "%s", error.message);
    free(bytes), free(to);
}

// ---- csv

// All rows, fields joined by | and rows by \n; or "line N: ..." of the error.
static const char *rows_of(const char *text, size_t size, char delimiter) {
    static char out[4096];
    const char *path = inside("a.csv");
    sbi_csv *csv = NULL;
    const sbi_csv_field *fields;
    int64_t count = 1;
    size_t at = 0;
    memset(&error, 0, sizeof error);
    put(path, text, size);
    sb_status status = sbi_csv_open(&sbi_malloc_allocator, path, delimiter, &csv, &error);
    out[0] = '\0';
    while (status == SB_OK && count) {
        status = sbi_csv_row(csv, &fields, &count, &error);
        for (int64_t i = 0; i < count && status == SB_OK; i++)
            at += (size_t)snprintf(out + at, sizeof out - at, "%.*s%c", (int)fields[i].length, fields[i].text, i + 1 < count ? '|' : '\n');
    }
    sbi_csv_close(csv);
    return status == SB_OK ? out : strstr(error.message, "line") ? strstr(error.message, "line") : error.message;
}

static void test_csv(void) {
    static const struct { const char *text; char delimiter; const char *expected; } files[] = {
        {"", ',', ""}, {"\n\n\r\n", ',', ""}, {"a", ',', "a\n"}, {"a,b\n1,2\n", ',', "a|b\n1|2\n"}, {"a,b\r\n1,2\r\n", ',', "a|b\n1|2\n"},
        {"\xef\xbb\xbf" "a,b\n1,", ',', "a|b\n1|\n"}, {"a;b\n1,5;2", ';', "a|b\n1,5|2\n"}, {",\n,", ',', "|\n|\n"},
        {"\"a,\nb\",\"say \"\"x\"\"\"\n\"\",2", ',', "a,\nb|say \"x\"\n|2\n"}, {"1\r,2\n", ',', "1\r|2\n"},
        {"a,b\n1\n", ',', "line 2: 1 fields, expected 2 as in the first row"}, {"a\n\n1,2\n", ',', "line 3: 2 fields, expected 1 as in the first row"},
        {"a,b\n\"1,2\n3", ',', "line 2: a quote that opens here is not closed"}, {"a\"b\"", ',', "line 1: a quote inside a field that does not begin with one"},
        {"\"a\nb\"\n\"c\"d", ',', "line 3: something stands between a closing quote and the next delimiter"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *got = rows_of(files[i].text, strlen(files[i].text), files[i].delimiter);
        CHECK(strcmp(got, files[i].expected) == 0, "%zu: %s", i, got);
    }
    CHECK(strstr(rows_of("a\0b", 3, ','), "NUL"), "%s", error.message);
    CHECK(strstr(rows_of("a", 1, '"'), "delimiter"), "%s", error.message);
    // rows across the ends of the buffer, one longer than it
    enum { LONG = 3 << 20 };
    char *text = malloc(LONG + 100);
    const char *path = inside("b.csv");
    memset(text, 'x', LONG);
    for (size_t i = 0; i < LONG / 2; i += 10) memcpy(text + i, "\"a\nb\",123\n", 10);
    text[LONG / 2 + 7] = ',';
    put(path, text, LONG);
    sbi_csv *csv = NULL;
    const sbi_csv_field *fields;
    int64_t count = 0, rows = 0, last = 0;
    CHECK(sbi_csv_open(&sbi_malloc_allocator, path, ',', &csv, &error) == SB_OK, "%s", error.message);
    while (sbi_csv_row(csv, &fields, &count, &error) == SB_OK && count) rows++, last = fields[1].length;
    CHECK(count == 0 && rows == (LONG / 2 + 9) / 10 + 1 && last > LONG / 2 - 20, "%lld rows, %s", (long long)rows, error.message);
    sbi_csv_close(csv);
    free(text);
    CHECK(sbi_csv_open(&sbi_malloc_allocator, inside("none"), ',', &csv, &error) == SB_ERR_IO, "%s", error.message);
}

static void test_csv_numbers(void) {
    static const struct { const char *text; bool quoted; sbi_csv_kind kind; double value; } fields[] = {
        {"1", 0, SBI_CSV_NUMBER, 1}, {" -1.5\t", 0, SBI_CSV_NUMBER, -1.5}, {"+.5", 0, SBI_CSV_NUMBER, 0.5}, {"5.", 0, SBI_CSV_NUMBER, 5},
        {"-007.25e1", 1, SBI_CSV_NUMBER, -72.5}, {"5.e-1", 0, SBI_CSV_NUMBER, 0.5}, {"0", 0, SBI_CSV_NUMBER, 0}, {"00", 0, SBI_CSV_NUMBER, 0},
        {"0.671", 0, SBI_CSV_NUMBER, 0.671}, {"20180131", 0, SBI_CSV_NUMBER, 20180131}, {"-Infinity", 0, SBI_CSV_NUMBER, -INFINITY},
        {"1234567890123456789", 0, SBI_CSV_NUMBER, 1234567890123456789.0}, {"1.0000000000000000e+00", 0, SBI_CSV_NUMBER, 1},
        {"9007199254740993", 0, SBI_CSV_NUMBER, 9007199254740992.0}, {"0.1000000000000000055511151231257827021181583404541015625", 0, SBI_CSV_NUMBER, 0.1},
        {"", 0, SBI_CSV_MISSING, 0}, {"  ", 0, SBI_CSV_MISSING, 0}, {"NA", 0, SBI_CSV_MISSING, 0}, {"nan", 0, SBI_CSV_MISSING, 0}, {"", 1, SBI_CSV_MISSING, 0},
        {"NA", 1, SBI_CSV_TEXT, 0}, {".", 0, SBI_CSV_TEXT, 0}, {"+", 0, SBI_CSV_TEXT, 0}, {"1 2", 0, SBI_CSV_TEXT, 0}, {"1,5", 0, SBI_CSV_TEXT, 0},
        {"0x10", 0, SBI_CSV_TEXT, 0}, {"1e", 0, SBI_CSV_TEXT, 0}, {"1e999", 0, SBI_CSV_TEXT, 0}, {"--1", 0, SBI_CSV_TEXT, 0}, {".5.", 0, SBI_CSV_TEXT, 0}, {"1e45.", 0, SBI_CSV_TEXT, 0}, {"+-3", 0, SBI_CSV_TEXT, 0}, {"-+3", 0, SBI_CSV_TEXT, 0}, {"1.5.", 0, SBI_CSV_TEXT, 0}, {"1..e2", 0, SBI_CSV_TEXT, 0}, {"e5", 0, SBI_CSV_TEXT, 0},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const sbi_csv_field field = {fields[i].text, (int64_t)strlen(fields[i].text), fields[i].quoted};
        double value = 7;
        const sbi_csv_kind kind = sbi_csv_number(&field, &value);
        CHECK(kind == fields[i].kind && (kind != SBI_CSV_NUMBER || value == fields[i].value) && (kind != SBI_CSV_MISSING || value != value),
              "\"%s\": kind %d, %.17g", fields[i].text, (int)kind, value);
    }
    const sbi_csv_field names[] = {{"a", 1, 0}, {"", 0, 0}}, numbers[] = {{"a", 1, 0}, {"1", 1, 0}}, empty[] = {{"", 0, 0}};
    CHECK(sbi_csv_names(names, 2) && !sbi_csv_names(numbers, 2) && !sbi_csv_names(empty, 1), "names");
    const char *path = inside("c.csv");
    sbi_csv *csv = NULL;
    const sbi_csv_field *row;
    int64_t count;
    double values[2];
    put(path, "1,NA\n2,b\x1b\n", 11);
    CHECK(sbi_csv_open(&sbi_malloc_allocator, path, ',', &csv, &error) == SB_OK && sbi_csv_row(csv, &row, &count, &error) == SB_OK, "%s", error.message);
    CHECK(sbi_csv_reals(csv, row, count, values, &error) == SB_OK && values[0] == 1 && values[1] != values[1], "%s", error.message);
    CHECK(sbi_csv_row(csv, &row, &count, &error) == SB_OK && sbi_csv_reals(csv, row, count, values, &error) == SB_ERR_FORMAT &&
          strstr(error.message, "line 2, column 2: \"b\\x1b\" is no number"), "%s", error.message);
    sbi_csv_close(csv);
}

// ---- svmlight

// All rows as "target/query index=value ...;", or the error from "line" on.
static const char *sparse_rows(const char *text) {
    static char out[1024];
    const char *path = inside("a.svm");
    sbi_svmlight *file = NULL;
    sbi_svmlight_row row;
    bool end = false;
    size_t at = 0;
    memset(&error, 0, sizeof error);
    put(path, text, strlen(text));
    out[0] = '\0';
    sb_status status = sbi_svmlight_open(&sbi_malloc_allocator, path, &file, &error);
    while (status == SB_OK && (status = sbi_svmlight_next(file, &row, &end, &error)) == SB_OK && !end) {
        at += (size_t)snprintf(out + at, sizeof out - at, "%.*s/%g/%lld", (int)row.target_length, row.target, row.value, (long long)row.query);
        for (int64_t i = 0; i < row.count; i++)
            at += (size_t)snprintf(out + at, sizeof out - at, " %lld=%g", (long long)row.indices[i], row.values[i]);
        at += (size_t)snprintf(out + at, sizeof out - at, ";");
    }
    sbi_svmlight_close(file);
    return status == SB_OK ? out : strstr(error.message, "line") ? strstr(error.message, "line") : error.message;
}

static void test_svmlight(void) {
    static const struct { const char *text, *expected; } files[] = {
        {"", ""}, {"# nothing\n  \n", ""}, {"1 1:0.5 3:-2e-3 # c\n-1 2:1\n", "1/1/-1 1=0.5 3=-0.002;-1/-1/-1 2=1;"},
        {"+1 qid:3 0:1\t2:inf\r\n0", "+1/1/3 0=1 2=inf;0/0/-1;"}, {"1,2 1:1", "1,2/nan/-1 1=1;"},
        {"1 2:1 1:1", "line 1: \"1:1\": expected indices that ascend"}, {"1\n1 1:1 1:2", "line 2: \"1:2\": expected indices that ascend"},
        {"1 1:x", "line 1: \"1:x\": expected a number behind the colon"}, {"1 1:nan", "line 1: \"1:nan\": expected a number behind the colon"},
        {"1 1:", "line 1: \"1:\": expected a number behind the colon"}, {"1 :1", "line 1: \":1\": expected an index before the colon"},
        {"1 -1:1", "line 1: \"-1:1\": expected an index before the colon"}, {"1 2", "line 1: \"2\": expected INDEX:VALUE"},
        {"1:1", "line 1: \"1:1\": expected the target first"}, {"1 9223372036854775808:1", "line 1: \"9223372036854775808:1\": expected an index before the colon"},
        {"1 qid:1 qid:2", "line 1: \"qid:2\": expected qid:N, once, before the indices"}, {"1 1:1 qid:2", "line 1: \"qid:2\": expected qid:N, once, before the indices"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *got = sparse_rows(files[i].text);
        CHECK(strcmp(got, files[i].expected) == 0, "%zu: %s", i, got);
    }
}

// The short way of reading decimals against the C library's: every length and power that it takes, and those beside them.
static void test_short_decimals(void) {
    uint64_t word = 88172645463325252u;
    int64_t wrong = 0;
    char text[64];
    for (int i = 0; i < 200000; i++) {
        word ^= word << 13, word ^= word >> 7, word ^= word << 17;
        const int digits = 1 + (int)(word >> 40) % 21, point = (int)(word >> 20 & 0xffff) % (digits + 1), exponent = (int)(word >> 50) % 70 - 45;
        char all[32];
        snprintf(all, sizeof all, "%020llu%01llu", (unsigned long long)word, (unsigned long long)word % 10);
        const char *from = all + 21 - digits;
        snprintf(text, sizeof text, "%s0.%.*se%d", word & 1 ? "-" : "", digits, from, exponent);
        if (point && from[0] != '0') snprintf(text, sizeof text, "%.*s.%se%d", point, from, point == digits ? "0" : from + point, exponent);
        double ours = 7, theirs = strtod(text, NULL);
        if (!sbi_real_parse(text, (int64_t)strlen(text), &ours) || memcmp(&ours, &theirs, sizeof ours))
            if (wrong++ < 3) fprintf(stderr, "%s: %a, not %a\n", text, ours, theirs);
    }
    CHECK(wrong == 0, "%lld numbers differ from strtod's", (long long)wrong);
}

int main(void) {
    if (!open_folder(NULL)) return 1;
    test_npy_values();
    test_npy_hostile();
    test_npy_file();
    test_csv();
    test_csv_numbers();
    test_svmlight();
    test_short_decimals();
    clear(folder);
    return test_end();
}
