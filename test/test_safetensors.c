// SPDX-License-Identifier: Apache-2.0
// safetensors: round trips, the bytes themselves, and hostile files of every kind that others met.
#include "safetensors.h"
#include "test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sb_error error;

// Reads a copy that is exactly as long as the file, so that a sanitizer sees every byte read beyond it.
static sb_status read_bytes(const void *bytes, int64_t size) {
    uint8_t *copy = malloc((size_t)size + (size == 0));
    sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, NULL);
    sbi_safetensors file;
    memset(&error, 0, sizeof error);
    memcpy(copy, bytes, (size_t)size);
    sb_status status = sbi_safetensors_read(arena, copy, size, &file, &error);
    for (int64_t i = 0; status == SB_OK && i < file.count; i++) { // what was accepted can be used
        uint8_t *to = malloc((size_t)file.tensors[i].size + 1);
        sbi_tensor_copy(&file.tensors[i], to);
        free(to);
    }
    sbi_arena_free(arena);
    free(copy);
    return status;
}

static int64_t make_file(uint8_t *out, const char *header, int64_t data) {
    int64_t length = (int64_t)strlen(header);
    for (int i = 0; i < 8; i++) {
        out[i] = (uint8_t)(length >> 8 * i);
    }
    memcpy(out + 8, header, (size_t)length);
    memset(out + 8 + length, 0x5a, (size_t)data);
    return 8 + length + data;
}

static void test_hostile(void) {
#define ONE(shape, begin, end) "{\"a\":{\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" begin "," end "]}}"
    static const struct { const char *header; int64_t data; sb_status status; const char *says; } files[] = {
        {"{}", 0, SB_OK, ""},
        {ONE("1", "0", "4"), 4, SB_OK, ""},
        {ONE("", "0", "4"), 4, SB_OK, ""},
        {ONE("0", "0", "0"), 0, SB_OK, ""},
        {ONE("1", "0", "4") "   ", 4, SB_OK, ""},
        {"{\"z\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[4,4]},\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
         "\"e\":{\"dtype\":\"U8\",\"shape\":[0,7],\"data_offsets\":[0,0]}}", 4, SB_OK, ""},
        {"{}", 1, SB_ERR_FORMAT, "belong to no tensor"},
        {" {}", 0, SB_ERR_FORMAT, "does not start"},
        {"[]", 0, SB_ERR_FORMAT, "does not start"},
        {"{}x", 0, SB_ERR_FORMAT, "byte 2"},
        {ONE("1000,1000", "0", "4"), 4, SB_ERR_FORMAT, "needs 4000000 bytes"},
        {ONE("1", "0", "8"), 8, SB_ERR_FORMAT, "needs 4 bytes"},
        {ONE("1", "0", "4"), 3, SB_ERR_FORMAT, "span"},
        {ONE("1", "4", "8"), 8, SB_ERR_FORMAT, "a gap"},
        {ONE("1", "4", "0"), 8, SB_ERR_FORMAT, "span"},
        {ONE("1", "-4", "0"), 8, SB_ERR_FORMAT, "span"},
        {ONE("1", "0.0", "4"), 4, SB_ERR_FORMAT, "span"},
        {ONE("1", "18446744073709551612", "0"), 4, SB_ERR_FORMAT, "span"},
        {ONE("-1", "0", "4"), 4, SB_ERR_FORMAT, "no size"},
        {ONE("1.0", "0", "4"), 4, SB_ERR_FORMAT, "no size"},
        {ONE("\"1\"", "0", "4"), 4, SB_ERR_FORMAT, "no size"},
        {ONE("4294967296,4294967296", "0", "0"), 0, SB_ERR_SIZE, "overflows"},         // 2^64 elements
        {ONE("4611686018427387904,4", "0", "0"), 0, SB_ERR_SIZE, "overflows"},         // wraps to 0 bytes
        {ONE("4611686018427387905", "0", "4"), 4, SB_ERR_SIZE, "overflows"},           // wraps to 4 bytes
        {ONE("0,4294967296,4294967296", "0", "0"), 0, SB_ERR_SIZE, "overflows"},
        {ONE("9223372036854775808", "0", "0"), 0, SB_ERR_FORMAT, "no size"},
        {ONE("1,1,1,1,1,1,1,1,1", "0", "4"), 4, SB_ERR_UNSUPPORTED, "9 dimensions"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
         8, SB_ERR_FORMAT, "second time"},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, SB_ERR_FORMAT, "second time"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
         12, SB_ERR_FORMAT, "an overlap"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
         4, SB_ERR_FORMAT, "an overlap"},
        {"{\"a\":{\"dtype\":\"F33\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, SB_ERR_FORMAT, "unknown dtype \"F33\""},
        {"{\"a\":{\"dtype\":\"F3\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, SB_ERR_FORMAT, "unknown dtype"},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, SB_ERR_UNSUPPORTED, "BF16"},
        {"{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, SB_ERR_FORMAT, "no dtype"},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, SB_ERR_FORMAT, "no dtype"},
        {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, SB_ERR_FORMAT, "needs a list"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, SB_ERR_FORMAT, "needs a list"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":{},\"data_offsets\":[0,4]}}", 4, SB_ERR_FORMAT, "needs a list"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 4, SB_ERR_FORMAT, "needs a list"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":0}}", 4, SB_ERR_FORMAT, "other than"},
        {"{\"a\":[]}", 0, SB_ERR_FORMAT, "no object"},
        {"{\"a\\u0000b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, SB_ERR_FORMAT, "a\\x00b"},
        {"{\"\\u001b[2J\":{\"dtype\":\"U7\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, SB_ERR_FORMAT, "\\x1b[2J"},
        {"{\"__metadata__\":{\"a\":\"b\"}}", 0, SB_OK, ""},
        {"{\"__metadata__\":{\"a\":1}}", 0, SB_ERR_FORMAT, "no text"},
        {"{\"__metadata__\":{\"a\":\"\\u0000\"}}", 0, SB_ERR_FORMAT, "no text"},
        {"{\"__metadata__\":[]}", 0, SB_ERR_FORMAT, "no object"},
        {"{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}}", 0, SB_ERR_FORMAT, "second time"},
    };
#undef ONE
    static uint8_t bytes[4096];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        int64_t size = make_file(bytes, files[i].header, files[i].data);
        sb_status status = read_bytes(bytes, size);
        CHECK(status == files[i].status && (status == SB_OK || strstr(error.message, files[i].says)), "%s: %s: %s", files[i].header,
              sb_status_name(status), error.message);
    }
    // Header lengths that lie: 2^64 - 1, 2^63, one more than there is, 0.
    static const uint64_t lengths[] = {UINT64_MAX, (uint64_t)1 << 63, 3, 0, UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        int64_t size = make_file(bytes, "{}", 0);
        for (int j = 0; j < 8; j++) {
            bytes[j] = (uint8_t)(lengths[i] >> 8 * j);
        }
        CHECK(read_bytes(bytes, size) == SB_ERR_FORMAT, "%" PRIu64, lengths[i]);
    }
    // A million dimensions.
    char *header = malloc(2100000);
    uint8_t *file = malloc(2200000);
    strcpy(header, "{\"a\":{\"dtype\":\"F32\",\"shape\":[");
    size_t at = strlen(header);
    for (int i = 0; i < 1000000; i++, at += 2) {
        memcpy(header + at, "1,", 2);
    }
    strcpy(header + at - 1, "],\"data_offsets\":[0,4]}}");
    CHECK(read_bytes(file, make_file(file, header, 4)) == SB_ERR_UNSUPPORTED && strstr(error.message, "1000000 dimensions"), "%s",
          error.message);
    free(file);
    free(header);
}

static const float values[6] = {1.0f, -0.0f, 1e-45f, 3.5f, -2.25f, 1e30f};
static const int64_t numbers[2] = {INT64_MIN, 5};
static const uint8_t letters[3] = {1, 2, 255};

static sb_status write_sample(const char *path) {
    const sbi_tensor_view tensors[] = {
        {"weight \"\xc3\xa9\n", SB_F32, 2, {2, 3}, (const uint8_t *)values, sizeof values},
        {"none", SB_F64, 3, {4, 0, 2}, NULL, 0},
        {"letters", SB_U8, 1, {3}, letters, sizeof letters},
        {"numbers", SB_I64, 1, {2}, (const uint8_t *)numbers, sizeof numbers},
        {"scalar", SB_F32, 0, {0}, (const uint8_t *)&values[3], 4},
    };
    const char *keys[] = {"step", "note"}, *texts[] = {"17", "a\tb\\"};
    return sbi_safetensors_write(&sbi_malloc_allocator, path, tensors, 5, keys, texts, 2, &error);
}

static void test_round_trip(const char *path) {
    uint8_t *bytes = NULL;
    int64_t size = 0;
    CHECK(write_sample(path) == SB_OK, "%s", error.message);
    CHECK(sbi_file_read(&sbi_malloc_allocator, path, 1 << 20, &bytes, &size, &error) == SB_OK, "%s", error.message);
    if (!bytes) {
        return;
    }
    CHECK(bytes[0] % 8 == 0 && bytes[8] == '{', "header padded");
    sbi_arena *arena = sbi_arena_new(&sbi_malloc_allocator, NULL);
    sbi_safetensors file;
    CHECK(sbi_safetensors_read(arena, bytes, size, &file, &error) == SB_OK, "%s", error.message);
    CHECK(file.count == 5 && file.metadata_count == 2, "%" PRId64, file.count);
    const char *step = sbi_safetensors_metadata(&file, "step"), *note = sbi_safetensors_metadata(&file, "note");
    CHECK(step && strcmp(step, "17") == 0 && note && strcmp(note, "a\tb\\") == 0, "metadata");
    CHECK(!sbi_safetensors_metadata(&file, "other") && !sbi_safetensors_find(&file, "other"), "absent");
    const sbi_tensor_view *weight = sbi_safetensors_find(&file, "weight \"\xc3\xa9\n");
    float back[6];
    CHECK(weight && weight->dtype == SB_F32 && weight->ndim == 2 && weight->shape[0] == 2 && weight->shape[1] == 3, "weight");
    sbi_tensor_copy(weight, back);
    CHECK(memcmp(back, values, sizeof values) == 0, "values");
    static const uint8_t little[8] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0x80}; // 1.0f, -0.0f on any machine
    CHECK(memcmp(weight->bytes, little, 8) == 0, "little-endian");
    const sbi_tensor_view *longs = sbi_safetensors_find(&file, "numbers");
    int64_t again[2];
    sbi_tensor_copy(longs, again); // (stands at an odd address: behind 27 bytes)
    CHECK(again[0] == INT64_MIN && again[1] == 5, "numbers");
    const sbi_tensor_view *none = sbi_safetensors_find(&file, "none");
    CHECK(none && none->size == 0 && none->ndim == 3 && none->shape[0] == 4, "empty");
    CHECK(sbi_safetensors_find(&file, "scalar")->ndim == 0, "scalar");
    sbi_arena_free(arena);

    // The file itself, byte for byte: the same on every machine.
    static const char header[] = "{\"__metadata__\":{\"step\":\"17\",\"note\":\"a\\u0009b\\\\\"},"
        "\"weight \\\"\xc3\xa9\\u000a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
        "\"none\":{\"dtype\":\"F64\",\"shape\":[4,0,2],\"data_offsets\":[24,24]},"
        "\"letters\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[24,27]},"
        "\"numbers\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[27,43]},"
        "\"scalar\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[43,47]}}";
    CHECK(memcmp(bytes + 8, header, sizeof header - 1) == 0, "%.*s", 400, (const char *)bytes + 8);
    static const uint8_t five[] = {0, 0, 0, 0, 0, 0, 0, 0x80, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x60, 0x40};
    CHECK(memcmp(bytes + size - 20, five, 20) == 0, "tail");

    // Cut anywhere, it is refused; with any bit flipped it is refused or says something else that is whole.
    for (int64_t cut = 0; cut < size; cut++) {
        CHECK(read_bytes(bytes, cut) == SB_ERR_FORMAT, "cut %" PRId64, cut);
    }
    int accepted = 0;
    for (int64_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        sb_status status = read_bytes(bytes, size);
        CHECK(status == SB_OK || status == SB_ERR_FORMAT || status == SB_ERR_SIZE || status == SB_ERR_UNSUPPORTED, "bit %" PRId64, bit);
        accepted += status == SB_OK;
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    CHECK(accepted >= 8 * 47 && accepted < 8 * size, "%d", accepted); // flips in the data are data
    sbi_release(&sbi_malloc_allocator, bytes);
}

static void test_refused_writes(const char *path) {
    const sbi_tensor_view good = {"a", SB_U8, 1, {3}, letters, 3};
    struct { sbi_tensor_view view; const char *why; } bad[] = {
        {{"a", SB_U8, 1, {4}, letters, 3}, "size"}, {{"\xff", SB_U8, 1, {3}, letters, 3}, "not UTF-8"},
        {{"__metadata__", SB_U8, 1, {3}, letters, 3}, "name"}, {{"b", 0, 1, {3}, letters, 3}, "dtype"},
        {{"b", SB_U8, 9, {3}, letters, 3}, "ndim"}, {{"b", SB_U8, 1, {-3}, letters, 3}, "shape"},
        {{"a", SB_U8, 1, {3}, letters, 3}, "twice"},
    };
    remove(path);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const sbi_tensor_view both[] = {good, bad[i].view};
        sb_status status = sbi_safetensors_write(&sbi_malloc_allocator, path, both, 2, NULL, NULL, 0, &error);
        CHECK(status == SB_ERR_ARGUMENT && error.status == SB_ERR_ARGUMENT, "%s: %s", bad[i].why, error.message);
        CHECK(access(path, F_OK) != 0, "%s left a file", bad[i].why);
    }
    const char *keys[] = {"k", "k"}, *texts[] = {"1", "2"};
    CHECK(sbi_safetensors_write(&sbi_malloc_allocator, path, &good, 1, keys, texts, 2, &error) == SB_ERR_ARGUMENT, "keys twice");
    CHECK(sbi_safetensors_write(&sbi_malloc_allocator, "no such folder/x", &good, 1, NULL, NULL, 0, &error) == SB_ERR_IO, "folder");
    CHECK(sbi_safetensors_write(&sbi_malloc_allocator, path, NULL, 0, NULL, NULL, 0, &error) == SB_OK, "nothing: %s", error.message);
    remove(path);
}

int main(void) {
    char path[64];
    snprintf(path, sizeof path, "test_safetensors_%ld.tmp", (long)getpid());
    test_hostile();
    test_round_trip(path);
    test_refused_writes(path);
    remove(path);
    return test_end();
}
