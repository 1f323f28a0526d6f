// SPDX-License-Identifier: Apache-2.0
// The JSON reader on good, bad and hostile text, and decimal conversion against the C library's.
#include "json.h"
#include "test.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static sb_error error;

static sb_status read_text(sbi_arena *arena, const char *text, int64_t size, const sbi_json **out) {
    *out = NULL;
    memset(&error, 0, sizeof error);
    return sbi_json_read(arena, text, size, out, &error);
}

static void test_values(void) {
    sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, NULL);
    static const char text[] = " {\"a\": [1, -0, 2.5e3, true, false, null], \"b\":{\"\":\"\\u00e9\\n\\ud83d\\ude00\\u0000x\"},"
                               "\"c\":[],\"d\":{}}\r\n\t ";
    const sbi_json *root;
    CHECK(read_text(arena, text, (int64_t)sizeof text - 1, &root) == SB_OK, "%s", error.message);
    CHECK(root && root->kind == SBI_JSON_OBJECT && root->length == 4, "root");
    const sbi_json *a = sbi_json_member(root, "a");
    CHECK(a && a->kind == SBI_JSON_ARRAY && a->length == 6, "a");
    int64_t integer = 0;
    double real = 0;
    CHECK(sbi_json_integer(a->first, &integer) && integer == 1, "%" PRId64, integer);
    const sbi_json *third = a->first->next->next;
    CHECK(!sbi_json_integer(third, &integer), "2.5e3 is no integer text");
    CHECK(sbi_json_real(third, &real) && real == 2500.0, "%g", real);
    CHECK(third->next->kind == SBI_JSON_TRUE && third->next->next->kind == SBI_JSON_FALSE &&
              third->next->next->next->kind == SBI_JSON_NULL && !third->next->next->next->next,
          "words");
    const sbi_json *s = sbi_json_member(sbi_json_member(root, "b"), "");
    CHECK(s && s->length == 9 && memcmp(s->text, "\xc3\xa9\n\xf0\x9f\x98\x80\0x", 10) == 0, "escapes");
    CHECK(!sbi_json_member(root, "e") && !sbi_json_member(a, "a") && !sbi_json_member(NULL, "a"), "absent");

    static const struct { const char *text; bool good; int64_t value; } integers[] = {
        {"9223372036854775807", true, INT64_MAX}, {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0}, {"-9223372036854775809", false, 0}, {"92233720368547758070", false, 0},
        {"0", true, 0}, {"-0", true, 0}, {"3.0", false, 0}, {"1e3", false, 0},
    };
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        const char *t = integers[i].text;
        CHECK(read_text(arena, t, (int64_t)strlen(t), &root) == SB_OK, "%s", t);
        bool good = sbi_json_integer(root, &integer);
        CHECK(good == integers[i].good && (!good || integer == integers[i].value), "%s", t);
    }
    sbi_arena_free(arena);
}

static void test_malformed(void) {
    static const char *const bad[] = {
        "", " ", "{", "}", "[", "]", "[1", "[1,", "[1,]", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{a:1}", "{1:1}",
        "{\"a\" 1}", "[1 2]", "tru", "truex", "True", "nul", "NaN", "Infinity", "-Infinity", "-", "+1", "01", "-01", "1.", ".5",
        "1e", "1e+", "0x10", "1 1", "[]]", "\"", "\"\\", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"",
        "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\ud800x\"", "\"\x01\"", "\"\n\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"",
        "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "\xef\xbb\xbf{}", "'a'", "//x\n1", "{\"a\":1,\"a\":2}", "{\"\\u0061\":1,\"a\":2}",
        "{\"a\":1,\"b\":2,\"c\":3,\"b\":4}", "[1,,2]", "[,1]", "{,}", "--1", "1e1.5",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, NULL);
        const sbi_json *root;
        sb_status status = read_text(arena, bad[i], (int64_t)strlen(bad[i]), &root);
        CHECK(status == SB_ERR_FORMAT && strncmp(error.message, "byte ", 5) == 0, "%s: %s", bad[i], error.message);
        sbi_arena_free(arena);
    }
    // Nesting: 64 are read, 65 and a million are refused.
    for (int depth = 64; depth <= 1000000; depth = depth == 64 ? 65 : depth == 65 ? 1000000 : depth + 1) {
        sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, NULL);
        char *text = malloc((size_t)(2 * depth));
        const sbi_json *root;
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        CHECK(read_text(arena, text, 2 * depth, &root) == (depth == 64 ? SB_OK : SB_ERR_FORMAT), "%d", depth);
        free(text);
        sbi_arena_free(arena);
    }
    // A hundred thousand keys, the last one there twice: found, and not in quadratic time.
    sbi_text text;
    sbi_text_start(&text, &sbi_malloc_allocator);
    sbi_text_add(&text, "{");
    for (int i = 0; i < 100000; i++) {
        sbi_text_add(&text, "\"k%d\":0,", i * 7919 % 100000);
    }
    sbi_text_add(&text, "\"k5\":0}");
    sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, NULL);
    const sbi_json *root;
    CHECK(read_text(arena, text.bytes, text.length, &root) == SB_ERR_FORMAT && strstr(error.message, "\"k5\""), "%s", error.message);
    sbi_arena_free(arena);
    sbi_text_free(&text);
}

// Every cut of a document fails, and no bit flip does worse than fail (run under the sanitizers in `make check`).
static void test_mutations(void) {
    static const char text[] = "{\"a\":[1,-2.5e-3,\"x\\u00e9\\\\\"],\"b\":{\"c\":true,\"d\":null}}";
    int64_t size = (int64_t)sizeof text - 1;
    int read = 0;
    for (int64_t cut = 0; cut <= size; cut++) {
        char *copy = malloc((size_t)cut + 1); // exactly as long, so that reading beyond is seen
        memcpy(copy, text, (size_t)cut);
        sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, NULL);
        const sbi_json *root;
        CHECK((read_text(arena, copy, cut, &root) == SB_OK) == (cut == size), "cut %" PRId64, cut);
        sbi_arena_free(arena);
        free(copy);
    }
    for (int64_t bit = 0; bit < 8 * size; bit++) {
        char copy[sizeof text];
        memcpy(copy, text, sizeof text);
        copy[bit / 8] = (char)(copy[bit / 8] ^ (1 << bit % 8));
        sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, NULL);
        const sbi_json *root;
        sb_status status = read_text(arena, copy, size, &root);
        CHECK(status == SB_OK || status == SB_ERR_FORMAT, "bit %" PRId64, bit);
        read += status == SB_OK;
        sbi_arena_free(arena);
    }
    CHECK(read > 0 && read < 8 * size, "%d", read);
}

static uint64_t next_random(uint64_t *state) { // splitmix64
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

static void check_double(double x) {
    static sbi_text text;
    double back = 0, again = 0;
    char digits[64];
    text.allocator = &sbi_malloc_allocator;
    text.length = 0;
    sbi_text_add_real(&text, x);
    bool good = sbi_real_parse(text.bytes, text.length, &back) && same_bits(back, x) && same_bits(strtod(text.bytes, NULL), x);
    int wide = snprintf(digits, sizeof digits, "%.17g", x);
    good = good && sbi_real_parse(digits, wide, &again) && same_bits(again, x);
    // No shorter text may read back: the significant digits are as few as %.*e needs.
    int count = 0, leading = 1, trailing = 0;
    for (const char *c = text.bytes; *c && *c != 'e'; c++) {
        leading = leading && (*c < '1' || *c > '9');
        if (*c >= '0' && *c <= '9' && !leading) {
            count++;
            trailing = *c == '0' ? trailing + 1 : 0;
        }
    }
    count -= trailing;
    if (good && count > 1) {
        snprintf(digits, sizeof digits, "%.*e", count - 2, x);
        good = !same_bits(strtod(digits, NULL), x);
    }
    CHECK(good, "%a written as %s", x, text.bytes);
}

static void check_float(float x) {
    static sbi_text text;
    text.allocator = &sbi_malloc_allocator;
    text.length = 0;
    sbi_text_add_real32(&text, x);
    float back = strtof(text.bytes, NULL);
    CHECK(memcmp(&back, &x, sizeof x) == 0 && text.length < 24, "%a written as %s", (double)x, text.bytes);
}

static void test_reals(void) {
    static const struct { const char *text; uint64_t bits; } known[] = {
        {"0", 0}, {"-0", 0x8000000000000000u}, {"0e999999999999999999999", 0}, {"1", 0x3ff0000000000000u},
        {"0.1", 0x3fb999999999999au}, {"1e23", 0x44b52d02c7e14af6u}, {"9007199254740993", 0x4340000000000000u},
        {"9007199254740993.00000000000000000000000000000000000001", 0x4340000000000001u},
        {"2.2250738585072011e-308", 0x000fffffffffffffu}, {"2.2250738585072014e-308", 0x0010000000000000u},
        {"4.9e-324", 1}, {"2.4703282292062327e-324", 0}, {"2.4703282292062328e-324", 1}, {"1e-400", 0},
        {"-1e-999999999999999999999", 0x8000000000000000u}, {"1.7976931348623157e308", 0x7fefffffffffffffu},
        {"1.7976931348623158e308", 0x7fefffffffffffffu},
        {"0.000001e6", 0x3ff0000000000000u}, {"1000000e-6", 0x3ff0000000000000u},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        double value = 7, expected;
        bool good = sbi_real_parse(known[i].text, (int64_t)strlen(known[i].text), &value);
        memcpy(&expected, &known[i].bits, sizeof expected);
        CHECK(good && same_bits(value, expected), "%s: %a", known[i].text, value);
    }
    static const char *const bad[] = {"", "-", "+1", "1.", ".1", "01", "1e", "1e+", "1x", "nan", "inf", "1e309", "-1e309",
                                      "1.7976931348623159e308", "1e99999999999999999999", "1.2.3", " 1", "1 "};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        double value;
        CHECK(!sbi_real_parse(bad[i], (int64_t)strlen(bad[i]), &value), "%s", bad[i]);
    }
    // The smallest subnormal with all its 1,074 decimals; a tie decided by a digit far behind the 800th.
    char text[2400];
    int length = snprintf(text, sizeof text, "%.1074f", 0x1p-1074);
    double value = 0;
    CHECK(sbi_real_parse(text, length, &value) && same_bits(value, 0x1p-1074), "%a", value);
    // 1 + 2^-53 is the tie between 1 and 1 + 2^-52.
    length = snprintf(text, sizeof text, "1.00000000000000011102230246251565404236316680908203125");
    CHECK(sbi_real_parse(text, length, &value) && same_bits(value, 1.0), "%a", value);
    memset(text + length, '0', 2000);
    CHECK(sbi_real_parse(text, length + 2000, &value) && same_bits(value, 1.0), "%a", value);
    text[length + 2000] = '1';
    CHECK(sbi_real_parse(text, length + 2001, &value) && same_bits(value, 1.0 + 0x1p-52), "%a", value);

    static const struct { double value; const char *text; } written[] = {
        {0.0, "0.0"}, {-0.0, "-0.0"}, {1.0, "1.0"}, {-1.5, "-1.5"}, {0.1, "0.1"}, {1e23, "1e23"}, {5e-324, "5e-324"},
        {123456.0, "123456.0"}, {1e-5, "1e-5"}, {0.0001, "0.0001"}, {1e16, "10000000000000000.0"}, {1e17, "1e17"},
        {9007199254740993.0, "9007199254740992.0"}, {1.7976931348623157e308, "1.7976931348623157e308"}, {1e22, "1e22"},
        {(double)NAN, "null"}, {(double)INFINITY, "null"}, {2.0 / 3, "0.6666666666666666"}, {0x1p-44, "5.684341886080802e-14"},
        {1.2345e-7, "1.2345e-7"},
    };
    sbi_text out;
    sbi_text_start(&out, &sbi_malloc_allocator);
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        out.length = 0;
        sbi_text_add_real(&out, written[i].value);
        CHECK(strcmp(out.bytes, written[i].text) == 0, "%s, not %s", out.bytes, written[i].text);
    }
    out.length = 0;
    sbi_text_add_real32(&out, 0.1f);
    CHECK(strcmp(out.bytes, "0.1") == 0, "%s", out.bytes);
    sbi_text_free(&out);

    uint64_t state = 1;
    for (int i = 0; i < 1000000; i++) {
        uint64_t bits = next_random(&state);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x)) {
            check_double(x);
        }
        uint32_t low = (uint32_t)(bits >> 7);
        float y;
        memcpy(&y, &low, sizeof y);
        if (isfinite(y)) {
            check_float(y);
        }
    }
    for (int e = 0; e < 52 + 2047; e++) { // powers of two, where the gaps differ, and their neighbours
        uint64_t power = e < 52 ? (uint64_t)1 << e : (uint64_t)(e - 52) << 52;
        for (uint64_t step = 0; step < 3; step++) {
            uint64_t bits = power + step - (power > 0);
            double x;
            memcpy(&x, &bits, sizeof x);
            check_double(x);
        }
    }
}

static void test_writing(void) {
    sbi_text text;
    sbi_text_start(&text, &sbi_malloc_allocator);
    sbi_text_add_json_string(&text, "a\"\\\n\x1b\0\x7f\xc3\xa9\xff\xed\xa0\x80z", 14);
    static const char expected[] = "\"a\\\"\\\\\\u000a\\u001b\\u0000\\u007f\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\"";
    CHECK(strcmp(text.bytes, expected) == 0, "%s", text.bytes);
    sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, NULL);
    const sbi_json *root;
    CHECK(read_text(arena, text.bytes, text.length, &root) == SB_OK && root->kind == SBI_JSON_STRING, "%s", error.message);
    CHECK(root && root->length == 22, "length");
    CHECK(memcmp(root->text, "a\"\\\n\x1b\0\x7f\xc3\xa9", 9) == 0, "text");
    sbi_arena_free(arena);
    sbi_text_free(&text);
}

int main(void) {
    test_values();
    test_malformed();
    test_mutations();
    test_reals();
    test_writing();
    return test_end();
}
