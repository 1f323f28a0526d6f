// SPDX-License-Identifier: Apache-2.0
// Arrays: shapes and their overflow, views and how long memory lives, reads and writes, copies; the tree digest against
// its definition spelled out on bytes made here; contexts that share.
#include "test.h"

#include "array.h"
#include "base.h"

#include <stdlib.h>
#include <string.h>

static sb_context *ctx;
static sb_error err;

static void test_shapes(void) {
    static const sb_dtype dtypes[] = {SB_F32, SB_F64, SB_I32, SB_I64, SB_U8, SB_U32, SB_U64};
    static const struct { const char *name; size_t size; } facts[] = {{"float32", 4}, {"float64", 8}, {"int32", 4},
        {"int64", 8}, {"uint8", 1}, {"uint32", 4}, {"uint64", 8}};
    sb_array *a = NULL;
    for (size_t i = 0; i < 7; i++) {
        CHECK(sb_dtype_size(dtypes[i]) == facts[i].size && strcmp(sb_dtype_name(dtypes[i]), facts[i].name) == 0, "%zu", i);
        int64_t shape[] = {3, 5, 7};
        CHECK(sb_array_new(ctx, dtypes[i], 3, shape, &a, &err) == SB_OK, "%s", err.message);
        CHECK(sb_array_dtype(a) == dtypes[i] && sb_array_ndim(a) == 3 && sb_array_size(a) == 105 &&
              memcmp(sb_array_shape(a), shape, sizeof shape) == 0 && (uintptr_t)a->data % 64 == 0, "%s", facts[i].name);
        static uint8_t bytes[105 * 8];
        memset(bytes, 1, sizeof bytes);
        CHECK(sb_array_read(a, bytes, 105 * facts[i].size, &err) == SB_OK, "%s", err.message);
        bool zero = true;
        for (size_t k = 0; k < 105 * facts[i].size; k++) zero = zero && bytes[k] == 0;
        CHECK(zero, "a new array is zeros");
        sb_array_free(a);
    }
    CHECK(sb_dtype_size((sb_dtype)0) == 0 && sb_dtype_size((sb_dtype)8) == 0, "unknown dtypes");
    CHECK(sb_array_new(ctx, (sb_dtype)0, 0, NULL, &a, &err) == SB_ERR_DTYPE && !a, "dtype 0");
    CHECK(sb_array_new(ctx, SB_F32, 0, NULL, &a, &err) == SB_OK && sb_array_size(a) == 1 && sb_array_ndim(a) == 0, "scalar");
    sb_array_free(a);
    const int64_t big = INT64_MAX, half = 1ll << 31;
    struct { int ndim; int64_t shape[9]; sb_status expected; } cases[] = {
        {1, {0}, SB_OK}, {2, {0, 5}, SB_OK}, {2, {5, 0}, SB_OK}, {8, {1, 1, 1, 1, 1, 1, 1, 2}, SB_OK},
        {9, {1, 1, 1, 1, 1, 1, 1, 1, 1}, SB_ERR_SHAPE}, {-1, {1}, SB_ERR_SHAPE}, {1, {-1}, SB_ERR_SHAPE},
        {2, {0, -1}, SB_ERR_SHAPE}, {1, {big}, SB_ERR_SIZE}, {1, {big / 4 + 1}, SB_ERR_SIZE}, {2, {half, half}, SB_ERR_SIZE},
        {3, {half, half, 4}, SB_ERR_SIZE}, {4, {half, half, half, half}, SB_ERR_SIZE}, {2, {1ll << 32, 1ll << 32}, SB_ERR_SIZE},
        {3, {0, half, half}, SB_ERR_SIZE}, {3, {half, half, 0}, SB_ERR_SIZE}, {1, {1ll << 56}, SB_ERR_MEMORY},
        {1, {big / 4}, SB_ERR_SIZE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sb_status status = sb_array_new(ctx, SB_F32, cases[i].ndim, cases[i].shape, &a, &err);
        CHECK(status == cases[i].expected && (status == SB_OK) == (a != NULL), "case %zu: %s", i, sb_status_name(status));
        sb_array_free(a);
    }
    sb_array_free(NULL);
}

static void test_views(void) {
    int64_t shape[] = {4, 3}, other[] = {2, 6}, wrong[] = {5, 2}, empty[] = {0, 3};
    sb_array *a = NULL, *slice = NULL, *flat = NULL, *piece = NULL;
    float values[12], back[12];
    for (int i = 0; i < 12; i++) values[i] = (float)i;
    CHECK(sb_array_new(ctx, SB_F32, 2, shape, &a, &err) == SB_OK, "%s", err.message);
    CHECK(sb_array_write(a, values, sizeof values, &err) == SB_OK, "%s", err.message);
    CHECK(sb_array_slice(a, 1, 2, &slice, &err) == SB_OK && sb_array_size(slice) == 6 && sb_array_shape(slice)[0] == 2, "%s",
          err.message);
    CHECK(sb_array_read(slice, back, 24, &err) == SB_OK && memcmp(back, values + 3, 24) == 0, "rows 1 and 2");
    CHECK(sb_array_reshape(a, 2, other, &flat, &err) == SB_OK && sb_array_shape(flat)[1] == 6, "%s", err.message);
    CHECK(sb_array_slice(flat, 1, 1, &piece, &err) == SB_OK, "%s", err.message);
    float new_values[6] = {100, 101, 102, 103, 104, 105};
    CHECK(sb_array_write(piece, new_values, sizeof new_values, &err) == SB_OK, "%s", err.message);
    CHECK(sbi_arrays_overlap(piece, slice) && sbi_arrays_overlap(a, piece), "overlap");
    sb_array *first = NULL, *nothing = NULL, *refused = NULL;
    CHECK(sb_array_slice(a, 0, 1, &first, &err) == SB_OK && !sbi_arrays_overlap(first, piece), "neighbours do not overlap");
    CHECK(sb_array_slice(a, 4, 0, &nothing, &err) == SB_OK && sb_array_size(nothing) == 0 && !sbi_arrays_overlap(nothing, a),
          "nothing, at the end");
    CHECK(sb_array_slice(a, 5, 0, &refused, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "first") == 0, "row 5");
    CHECK(sb_array_slice(a, -1, 1, &refused, &err) == SB_ERR_ARGUMENT && sb_array_slice(a, 3, 2, &refused, &err) ==
          SB_ERR_ARGUMENT && sb_array_slice(a, 1, -1, &refused, &err) == SB_ERR_ARGUMENT &&
          sb_array_slice(a, 1, INT64_MAX, &refused, &err) == SB_ERR_ARGUMENT, "rows that are not there");
    CHECK(sb_array_reshape(a, 2, wrong, &refused, &err) == SB_ERR_SHAPE && sb_array_reshape(a, 2, empty, &refused, &err) ==
          SB_ERR_SHAPE && sb_array_reshape(a, 0, NULL, &refused, &err) == SB_ERR_SHAPE && !refused, "wrong sizes");
    sb_array_free(a), sb_array_free(flat), sb_array_free(first), sb_array_free(nothing); // views keep the memory alive
    CHECK(sb_array_read(slice, back, 24, &err) == SB_OK && back[2] == 5 && back[3] == 100 && back[5] == 102, "after the owner");
    CHECK(sb_array_read(slice, back, 23, &err) == SB_ERR_ARGUMENT && strcmp(err.argument, "bytes") == 0, "23 bytes");
    CHECK(sb_array_write(slice, back, 25, &err) == SB_ERR_ARGUMENT, "25 bytes");
    sb_array_free(slice), sb_array_free(piece);
    sb_array *scalar = NULL;
    CHECK(sb_array_new(ctx, SB_F32, 0, NULL, &scalar, &err) == SB_OK, "%s", err.message);
    CHECK(sb_array_slice(scalar, 0, 1, &refused, &err) == SB_ERR_SHAPE, "a scalar has no rows");
    int64_t ones[] = {1, 1, 1};
    CHECK(sb_array_reshape(scalar, 3, ones, &a, &err) == SB_OK && sb_array_ndim(a) == 3, "%s", err.message);
    sb_array_free(a), sb_array_free(scalar);

    double memory[3] = {1, 2, 3};
    int64_t three = 3, none = 0;
    CHECK(sb_array_wrap(ctx, SB_F64, 1, &three, memory, &a, &err) == SB_OK && sb_array_data(a) == (void *)memory, "wrap");
    CHECK(!sb_array_data(NULL), "the elements of no array");
    memory[1] = 7;
    double copy[3];
    CHECK(sb_array_read(a, copy, sizeof copy, &err) == SB_OK && copy[1] == 7, "a view of the caller's memory");
    sb_array_free(a);
    CHECK(sb_array_wrap(ctx, SB_F64, 1, &three, (char *)memory + 4, &a, &err) == SB_ERR_ARGUMENT && !a, "not aligned");
    CHECK(sb_array_wrap(ctx, SB_F64, 1, &three, NULL, &a, &err) == SB_ERR_ARGUMENT, "NULL");
    CHECK(sb_array_wrap(ctx, SB_F64, 1, &none, NULL, &a, &err) == SB_OK, "nothing at NULL");
    sb_array_free(a);
}

static void test_outlives(void) {
    sb_context *other = NULL, *shared = NULL;
    sb_array *a = NULL;
    int64_t n = 1000;
    CHECK(sb_context_new(NULL, &other, &err) == SB_OK && sbi_context_share(other, 5, &shared, &err) == SB_OK, "%s", err.message);
    CHECK(sb_context_threads(shared) == 5 && strcmp(sb_context_isa(shared), sb_context_isa(other)) == 0, "shared");
    CHECK(sb_array_new(shared, SB_U8, 1, &n, &a, &err) == SB_OK, "%s", err.message);
    sb_context_free(shared), sb_context_free(other); // the array outlives its context
    uint8_t bytes[1000];
    CHECK(sb_array_read(a, bytes, 1000, &err) == SB_OK && bytes[999] == 0, "%s", err.message);
    sb_array_free(a);
    sb_context_free(NULL);
}

static void test_copy(void) {
    int64_t n = (1 << 22) + 12345;
    sb_array *a = NULL, *b = NULL, *c = NULL;
    CHECK(sb_array_new(ctx, SB_U32, 1, &n, &a, &err) == SB_OK && sb_array_new(ctx, SB_U32, 1, &n, &b, &err) == SB_OK, "%s",
          err.message);
    uint32_t *data = (uint32_t *)(void *)a->data;
    for (int64_t i = 0; i < n; i++) data[i] = (uint32_t)i * 2654435761u; // signalling NaN patterns among them
    CHECK(sb_array_copy(ctx, a, b, &err) == SB_OK && memcmp(a->data, b->data, (size_t)n * 4) == 0, "%s", err.message);
    CHECK(sb_array_copy(ctx, a, a, &err) == SB_ERR_OVERLAP && strcmp(err.argument, "to") == 0, "onto itself");
    int64_t shape[] = {n, 1};
    CHECK(sb_array_reshape(b, 2, shape, &c, &err) == SB_OK && sb_array_copy(ctx, a, c, &err) == SB_ERR_SHAPE, "shape");
    sb_array_free(c);
    CHECK(sb_array_new(ctx, SB_F32, 1, &n, &c, &err) == SB_OK && sb_array_copy(ctx, a, c, &err) == SB_ERR_DTYPE, "dtype");
    sb_array_free(a), sb_array_free(b), sb_array_free(c);
}

// ---- the digest, spelled out

static uint8_t *text;
static size_t length;

static void put(const void *bytes, size_t size) {
    text = realloc(text, length + size + 1);
    if (size) memcpy(text + length, bytes, size);
    length += size;
}

static void put_number(uint64_t x, int bytes) {
    for (int i = 0; i < bytes; i++) {
        uint8_t byte = (uint8_t)(x >> (8 * i));
        put(&byte, 1);
    }
}

static void put_array(const char *name, const char *dtype, int ndim, const int64_t *shape, const uint8_t *little,
                      size_t size) {
    put_number(strlen(name), 4);
    put(name, strlen(name));
    put_number(strlen(dtype), 4);
    put(dtype, strlen(dtype));
    put_number((uint64_t)ndim, 4);
    for (int i = 0; i < ndim; i++) put_number((uint64_t)shape[i], 8);
    for (size_t at = 0; at < size; at += 65536) {
        uint8_t leaf[32];
        sb_sha256(little + at, size - at < 65536 ? size - at : 65536, leaf);
        put(leaf, 32);
    }
}

static void test_digest(void) {
    enum { N = 50001 }; // 200,004 bytes: three leaves and a rest
    static uint32_t words[N];
    static uint8_t little[4 * N];
    for (uint32_t i = 0; i < N; i++) {
        words[i] = i * 0x9e3779b9u;
        for (int k = 0; k < 4; k++) little[4 * i + (uint32_t)k] = (uint8_t)(words[i] >> (8 * k));
    }
    int64_t n = N, sixteen[] = {16384}, none[] = {3, 0}, two[] = {2};
    uint64_t wide[2] = {0x0123456789abcdefu, 7};
    uint8_t wide_little[16] = {0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 7};
    uint8_t byte = 9;
    static const char *const names[] = {"layer.10", "layer.1", "", "z\xff", "a"};
    sb_array *arrays[5] = {NULL};
    bool made = sb_array_wrap(ctx, SB_U32, 1, &n, words, &arrays[0], &err) == SB_OK &&
                sb_array_wrap(ctx, SB_U32, 1, sixteen, words, &arrays[1], &err) == SB_OK &&
                sb_array_wrap(ctx, SB_F64, 2, none, NULL, &arrays[2], &err) == SB_OK &&
                sb_array_wrap(ctx, SB_U8, 0, NULL, &byte, &arrays[3], &err) == SB_OK &&
                sb_array_wrap(ctx, SB_U64, 1, two, wide, &arrays[4], &err) == SB_OK;
    CHECK(made, "%s", err.message);
    put_array("", "float64", 2, none, NULL, 0);
    put_array("a", "uint64", 1, two, wide_little, 16);
    put_array("layer.1", "uint32", 1, sixteen, little, 65536);
    put_array("layer.10", "uint32", 1, &n, little, sizeof little);
    put_array("z\xff", "uint8", 0, NULL, &byte, 1);
    uint8_t expected[32], digest[32];
    sb_sha256(text, length, expected);
    for (int threads = 1; threads <= 16; threads += 5) {
        sb_context *own = NULL;
        sb_context_options options = {.size = sizeof options, .threads = threads};
        CHECK(sb_context_new(&options, &own, &err) == SB_OK, "%s", err.message);
        CHECK(sb_digest_arrays(own, 5, names, (const sb_array *const *)arrays, digest, &err) == SB_OK &&
              memcmp(digest, expected, 32) == 0, "%d threads", threads);
        sb_context_free(own);
    }
    CHECK(sb_digest_arrays(ctx, 0, NULL, NULL, digest, &err) == SB_OK, "%s", err.message);
    sb_sha256("", 0, expected);
    CHECK(memcmp(digest, expected, 32) == 0, "of no arrays: the digest of nothing");
    static const char *const twice[] = {"b", "a", "b\n"}, *const same[] = {"b\n", "a", "b\n"};
    CHECK(sb_digest_arrays(ctx, 3, twice, (const sb_array *const *)arrays, digest, &err) == SB_OK, "%s", err.message);
    CHECK(sb_digest_arrays(ctx, 3, same, (const sb_array *const *)arrays, digest, &err) == SB_ERR_ARGUMENT &&
          strcmp(err.argument, "names") == 0 && strstr(err.message, "b\\x0a"), "%s", err.message);
    words[N - 1] ^= 1; // the last bit of the rest is seen
    uint8_t moved[32];
    CHECK(sb_digest_arrays(ctx, 3, twice, (const sb_array *const *)arrays, moved, &err) == SB_OK &&
          memcmp(moved, digest, 32) != 0, "a bit moved");
    for (int i = 0; i < 5; i++) sb_array_free(arrays[i]);
    free(text);

    // Many names in a bad order.
    enum { MANY = 1000 };
    static char storage[MANY][12];
    static const char *many[MANY];
    static const sb_array *one[MANY];
    sb_array *scalar = NULL;
    CHECK(sb_array_new(ctx, SB_F32, 0, NULL, &scalar, &err) == SB_OK, "%s", err.message);
    for (int order = 0; order < 3; order++) {
        for (int i = 0; i < MANY; i++) {
            int k = order == 0 ? i : order == 1 ? MANY - 1 - i : i * 617 % MANY;
            snprintf(storage[i], sizeof storage[i], "%d", k);
            many[i] = storage[i], one[i] = scalar;
        }
        CHECK(sb_digest_arrays(ctx, MANY, many, one, digest, &err) == SB_OK, "%s", err.message);
        if (order == 0) memcpy(moved, digest, 32);
        CHECK(memcmp(moved, digest, 32) == 0, "order %d", order);
    }
    sb_array_free(scalar);
}

int main(void) {
    CHECK(sb_context_new(NULL, &ctx, &err) == SB_OK, "%s", err.message);
    test_shapes();
    test_views();
    test_outlives();
    test_copy();
    test_digest();
    sb_context_free(ctx);
    return test_end();
}
