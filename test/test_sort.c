// SPDX-License-Identifier: Apache-2.0
// Stable sort, argsort, top-k and unique against a merge sort of this file that compares numbers, not keys, at every level and
// thread count; small cases with answers known from elsewhere; bad input.
#include "contexts.h"

typedef union element { float f; double d; int32_t i; int64_t l; uint8_t b; uint32_t u; uint64_t q; } element;

// a comes before b whatever their positions: NaN last in either direction, -0 = +0.
static bool before(sb_dtype dtype, int descending, element a, element b) {
    if (dtype == SB_U8) return descending ? a.b > b.b : a.b < b.b;
    if (dtype == SB_U32) return descending ? a.u > b.u : a.u < b.u;
    if (dtype == SB_U64) return descending ? a.q > b.q : a.q < b.q;
    if (dtype == SB_F64) return a.d != a.d ? false : b.d != b.d ? true : descending ? a.d > b.d : a.d < b.d;
    if (dtype == SB_I64) return descending ? a.l > b.l : a.l < b.l;
    if (dtype == SB_I32) return descending ? a.i > b.i : a.i < b.i;
    if (a.f != a.f) return false;
    if (b.f != b.f) return true;
    return descending ? a.f > b.f : a.f < b.f;
}

static void merge_sort(sb_dtype dtype, int descending, const element *x, int64_t *order, int64_t *spare, int64_t n) {
    if (n < 2) return;
    int64_t half = n / 2, i = 0, j = half;
    merge_sort(dtype, descending, x, order, spare, half);
    merge_sort(dtype, descending, x, order + half, spare, n - half);
    for (int64_t k = 0; k < n; k++) {
        bool right = i == half || (j < n && before(dtype, descending, x[order[j]], x[order[i]]));
        spare[k] = order[right ? j++ : i++];
    }
    memcpy(order, spare, (size_t)n * sizeof *order);
}

static element next_element(sb_dtype dtype, int kind, uint64_t *seed) {
    uint64_t w = next_word(seed);
    if (dtype == SB_F32) return (element){.f = next_float(seed, kind)};
    if (dtype == SB_F64 && kind == ALL_BITS) return (element){.q = w};
    if (dtype == SB_F64) return (element){.d = (double)next_float(seed, kind)};
    if (dtype == SB_U8 || dtype == SB_U32 || dtype == SB_U64) return (element){.q = kind == FEW ? w % 5 : w};
    if (dtype == SB_I32) return (element){.i = kind == FEW ? (int32_t)(w % 5) - 2 : (int32_t)(uint32_t)w};
    return (element){.l = kind == FEW ? (int64_t)(w % 5) - 2 : kind == PLAIN ? (int64_t)w >> 40 : (int64_t)w};
}

static context_walk contexts[64];
static int context_count;

// The first k of the order, for k around what a list holds.
static void check_top(sb_context *ctx, const sb_array *a, const int64_t *order, const unsigned char *sorted, int descending,
                      int64_t rows, int64_t n) {
    static const int64_t some[] = {0, 1, 5, 64, 65, 2000};
    sb_dtype dtype = sb_array_dtype(a);
    size_t item = sb_dtype_size(dtype);
    for (int i = 0; i < 6; i++) {
        int64_t k = some[i] < n ? some[i] : n;
        int64_t *places = malloc((size_t)(rows * k + 1) * sizeof *places);
        unsigned char *kept = malloc((size_t)(rows * k + 1) * item);
        for (int64_t row = 0; row < rows; row++) {
            memcpy(places + row * k, order + row * n, (size_t)k * sizeof *places);
            memcpy(kept + (size_t)(row * k) * item, sorted + (size_t)(row * n) * item, (size_t)k * item);
        }
        sb_array *values = array_of(ctx, dtype, 2, (int64_t[]){rows, k}, NULL);
        sb_array *indices = array_of(ctx, SB_I64, 2, (int64_t[]){rows, k}, NULL);
        sb_error err = {0};
        CHECK(sb_top_k(ctx, a, k, descending, values, indices, &err) == SB_OK && array_is(values, kept) && array_is(indices, places),
              "top %lld of [%lld, %lld] %s %s", (long long)k, (long long)rows, (long long)n, sb_dtype_name(dtype), err.message);
        sb_array_free(values); sb_array_free(indices);
        free(places); free(kept);
    }
}

static void check_unique(sb_context *ctx, sb_array *a, const element *x, const int64_t *order, int64_t n) {
    sb_dtype dtype = sb_array_dtype(a);
    size_t item = sb_dtype_size(dtype);
    unsigned char *distinct = calloc((size_t)n + 1, item);
    int64_t *inverse = calloc((size_t)n + 1, sizeof *inverse), *counts = calloc((size_t)n + 1, sizeof *counts), number = 0, found = -1;
    for (int64_t k = 0; k < n; k++) {
        if (k == 0 || before(dtype, 0, x[order[k - 1]], x[order[k]]) || before(dtype, 0, x[order[k]], x[order[k - 1]]))
            memcpy(distinct + (size_t)number++ * item, &x[order[k]], item);
        inverse[order[k]] = number - 1;
        counts[number - 1]++;
    }
    sb_array *flat = NULL, *values = array_of(ctx, dtype, 1, &n, NULL), *back = array_of(ctx, SB_I64, 1, &n, NULL);
    sb_array *often = array_of(ctx, SB_I64, 1, &n, NULL);
    sb_error err = {0};
    sb_array_reshape(a, 1, &n, &flat, NULL);
    CHECK(sb_unique(ctx, flat, values, back, often, &found, &err) == SB_OK && found == number && array_is(values, distinct) &&
          array_is(back, inverse) && array_is(often, counts), "unique of %lld %s: %lld, not %lld %s", (long long)n, sb_dtype_name(dtype),
          (long long)found, (long long)number, err.message);
    sb_array_free(flat); sb_array_free(values); sb_array_free(back); sb_array_free(often);
    free(distinct); free(inverse); free(counts);
}

static void check(sb_dtype dtype, int kind, int descending, int64_t rows, int64_t n) {
    size_t total = (size_t)(rows * n) + 1, item = sb_dtype_size(dtype);
    element *x = calloc(total, sizeof *x);
    unsigned char *bytes = malloc(total * item), *sorted = malloc(total * item);
    int64_t *order = malloc(total * sizeof *order), *spare = malloc(total * sizeof *spare);
    uint64_t seed = (uint64_t)(rows * 100000 + n * 10 + kind);
    for (int64_t k = 0; k < rows * n; k++) {
        x[k] = next_element(dtype, kind, &seed);
        if (kind == WIDE && k % 97 == 3 && dtype == SB_F32) x[k].f = float_of(k % 2 ? 0xffc12345u : 0x7f800001u); // NaNs
        memcpy(bytes + (size_t)k * item, &x[k], item);
        order[k] = k % n;
    }
    for (int64_t row = 0; row < rows; row++) {
        merge_sort(dtype, descending, x + row * n, order + row * n, spare, n);
        for (int64_t k = 0; k < n; k++) memcpy(sorted + (size_t)(row * n + k) * item, &x[row * n + order[row * n + k]], item);
    }
    for (int k = 0; k < context_count; k++) {
        const int64_t shape[] = {rows, n};
        sb_context *ctx = contexts[k].ctx;
        sb_array *a = array_of(ctx, dtype, 2, shape, bytes), *values = array_of(ctx, dtype, 2, shape, NULL);
        sb_array *indices = array_of(ctx, SB_I64, 2, shape, NULL);
        sb_error err = {0};
        bool argsorted = sb_argsort(ctx, a, descending, indices, &err) == SB_OK && array_is(indices, order);
        bool values_sorted = sb_sort(ctx, a, descending, values, &err) == SB_OK && array_is(values, sorted);
        CHECK(argsorted && values_sorted, "%s, %d threads: %s kind %d descending %d [%lld, %lld] %s", contexts[k].level, contexts[k].threads, sb_dtype_name(dtype), kind, descending, (long long)rows, (long long)n, err.message);
        CHECK(array_is(a, bytes), "sorting changed its input");
        check_top(ctx, a, order, sorted, descending, rows, n);
        if (rows == 1 && !descending) check_unique(ctx, a, x, order, n);
        sb_array_free(a); sb_array_free(indices); sb_array_free(values);
    }
    free(x); free(bytes); free(sorted); free(order); free(spare);
}

static void check_known(sb_context *ctx, const char *level, const float *x, const int64_t *up, const int64_t *down, int64_t n) {
    sb_array *a = array_of(ctx, SB_F32, 1, &n, x), *indices = array_of(ctx, SB_I64, 1, &n, NULL);
    CHECK(sb_argsort(ctx, a, 0, indices, NULL) == SB_OK && array_is(indices, up), "%s: up, n = %lld", level, (long long)n);
    CHECK(sb_argsort(ctx, a, 1, indices, NULL) == SB_OK && array_is(indices, down), "%s: down, n = %lld", level, (long long)n);
    sb_array_free(a); sb_array_free(indices);
}

// Cases of people who met the fault elsewhere; the answers follow from "stable, lowest index first".
static void test_known(sb_context *ctx, const char *level) {
    check_known(ctx, level, (float[]){3, 2, 3, 2, 1, 1}, (int64_t[]){4, 5, 1, 3, 0, 2}, (int64_t[]){0, 2, 1, 3, 4, 5}, 6);
    check_known(ctx, level, (float[]){1, 2, 3, 3, 2, 1}, (int64_t[]){0, 5, 1, 4, 2, 3}, (int64_t[]){2, 3, 1, 4, 0, 5}, 6);
    check_known(ctx, level, (float[]){3, 1, 4, 1, 5, 9, 2, 6, 5}, (int64_t[]){1, 3, 6, 0, 2, 4, 8, 7, 5}, (int64_t[]){5, 7, 4, 8, 2, 0, 6, 1, 3}, 9);
    float hostile[] = {float_of(0xffc00000u), 0.0f, float_of(0x7f800000u), -0.0f, float_of(0x7fc00000u), float_of(0xff800000u), float_of(1u), float_of(0x80000001u)};
    check_known(ctx, level, hostile, (int64_t[]){5, 7, 1, 3, 6, 2, 0, 4}, (int64_t[]){2, 6, 1, 3, 7, 5, 0, 4}, 8);
}

// Met elsewhere: the first k of a tie, a NaN of either sign among the greatest; and what one NaN and two zeros come to.
static void test_known_few(sb_context *ctx, const char *level) {
    sb_array *ties = array_of(ctx, SB_F32, 1, (int64_t[]){6}, (float[]){3, 2, 3, 2, 1, 1}), *two = array_of(ctx, SB_I64, 1, (int64_t[]){2}, NULL);
    CHECK(sb_top_k(ctx, ties, 2, 1, NULL, two, NULL) == SB_OK && array_is(two, (int64_t[]){0, 2}), "%s: top-k of a tie", level);
    CHECK(sb_top_k(ctx, ties, 2, 0, NULL, two, NULL) == SB_OK && array_is(two, (int64_t[]){4, 5}), "%s: least of a tie", level);
    float hostile[] = {float_of(0xffc00000u), -0.0f, float_of(0x7fc00001u), 0.0f, -1.0f, float_of(0x7fa00000u)};
    sb_array *x = array_of(ctx, SB_F32, 1, (int64_t[]){6}, hostile), *four = array_of(ctx, SB_I64, 1, (int64_t[]){4}, NULL);
    CHECK(sb_top_k(ctx, x, 4, 1, NULL, four, NULL) == SB_OK && array_is(four, (int64_t[]){1, 3, 4, 0}), "%s: NaN last, down", level);
    CHECK(sb_top_k(ctx, x, 4, 0, NULL, four, NULL) == SB_OK && array_is(four, (int64_t[]){4, 1, 3, 0}), "%s: NaN last, up", level);
    sb_array *values = array_of(ctx, SB_F32, 1, (int64_t[]){6}, NULL), *counts = array_of(ctx, SB_I64, 1, (int64_t[]){6}, NULL);
    int64_t number = 0;
    CHECK(sb_unique(ctx, x, values, NULL, counts, &number, NULL) == SB_OK && number == 3, "%s: %lld", level, (long long)number);
    CHECK(array_is(values, (float[]){-1.0f, -0.0f, float_of(0xffc00000u), 0, 0, 0}) && array_is(counts, (int64_t[]){1, 2, 3, 0, 0, 0}), "%s", level);
    sb_array_free(ties); sb_array_free(two); sb_array_free(x); sb_array_free(four); sb_array_free(values); sb_array_free(counts);
}

static void refused(sb_status status, sb_status expected, const sb_error *err, const char *argument) {
    CHECK(status == expected && !strcmp(err->argument, argument), "%s %s: %s", sb_status_name(status), err->argument, err->message);
}

static void test_refusals(sb_context *ctx) {
    const int64_t three[] = {3}, four[] = {4};
    sb_array *f = array_of(ctx, SB_F32, 1, three, NULL), *d = array_of(ctx, SB_F64, 1, three, NULL), *i = array_of(ctx, SB_I64, 1, three, NULL);
    sb_array *longer = array_of(ctx, SB_I64, 1, four, NULL), *scalar = array_of(ctx, SB_F32, 0, NULL, NULL), *w = array_of(ctx, SB_I32, 1, three, NULL);
    sb_error err = {0};
    refused(sb_sort(ctx, d, 0, f, &err), SB_ERR_DTYPE, &err, "values");
    refused(sb_argsort(ctx, scalar, 0, i, &err), SB_ERR_SHAPE, &err, "x");
    refused(sb_argsort(ctx, f, 0, w, &err), SB_ERR_DTYPE, &err, "indices");
    refused(sb_argsort(ctx, f, 0, longer, &err), SB_ERR_SHAPE, &err, "indices");
    refused(sb_sort(ctx, f, 0, w, &err), SB_ERR_DTYPE, &err, "values");
    CHECK(sb_sort(ctx, f, 0, f, &err) == SB_ERR_OVERLAP, "%s", err.message);
    CHECK(sb_argsort(ctx, NULL, 0, i, &err) == SB_ERR_ARGUMENT, "%s", err.message);
    sb_array_free(f); sb_array_free(d); sb_array_free(i); sb_array_free(longer); sb_array_free(scalar); sb_array_free(w);
}

int main(void) {
    static const int64_t shapes[][2] = {{1, 0}, {0, 5}, {1, 1}, {7, 2}, {3, 255}, {2, 256}, {5, 257}, {3, 2048}, {2, 2049}, {1, 33333}};
    EACH_CONTEXT(c) {
        test_known(c.ctx, c.level);
        test_known_few(c.ctx, c.level);
        contexts[context_count++] = c;
        c.ctx = NULL; // kept
    }
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int kind = 0; kind < NUMBER_KINDS; kind++)
            for (int dtype = 0; dtype < 7; dtype++)
                for (int descending = 0; descending < 2; descending++)
                    check((sb_dtype[]){SB_F32, SB_F64, SB_I32, SB_I64, SB_U8, SB_U32, SB_U64}[dtype], kind, descending, shapes[k][0], shapes[k][1]);
    test_refusals(contexts[0].ctx);
    while (context_count > 1) sb_context_free(contexts[--context_count].ctx);
    check(SB_F32, ALL_BITS, 0, 1, 300000); // (one is enough for a long row)
    sb_context_free(contexts[0].ctx);
    return test_end();
}
