// SPDX-License-Identifier: Apache-2.0
// Ledgers: two of them compared, and one cut behind a step. The first byte says where the second begins (in 1/256 of the
// size) and, by its last bit, whether the hashes are as they stand or made right first, so that what lies behind the
// chain is reached as well.
#include "fuzz.h"
#include "lm.h"

#include <unistd.h>

static void add_line(sbi_text *text, const char *line, int64_t length, char previous[65]) {
    int64_t start = text->length;
    sbi_text_add_bytes(text, line, length);
    sbi_text_add(text, ",\"previous\":\"%s\"}", previous);
    if (!text->failed) sbi_sha256_hex(text->bytes + start, text->length - start, previous);
    sbi_text_add(text, "\n");
}

// Every line with the hash of the one before it at its end; the last hash and the number of lines.
static void chain(sbi_text *text, const uint8_t *bytes, size_t size, char last[65], int64_t *lines) {
    memset(last, '0', 64);
    last[64] = 0;
    *lines = 0;
    sbi_text_start(text, &fuzz_allocator);
    for (size_t at = 0; at < size; ++*lines) {
        const uint8_t *end = memchr(bytes + at, '\n', size - at);
        size_t length = end ? (size_t)(end - bytes) - at : size - at;
        add_line(text, (const char *)bytes + at, (int64_t)length, last);
        at += length + 1;
    }
}

static void cut(const char *bytes, int64_t size, const char *last, int64_t step) {
    char path[100];
    sb_error err = {0};
    uint8_t *left = NULL;
    int64_t left_size = 0;
    snprintf(path, sizeof path, "%s/ledger.jsonl", fuzz_folder());
    MUST(sbi_file_append(path, bytes, size, NULL) == SB_OK);
    sb_status status = sbi_ledger_cut(&fuzz_allocator, path, "00", last, step, &err);
    MUST(sbi_file_read(&fuzz_allocator, path, INT64_MAX, &left, &left_size, NULL) == SB_OK || left_size == 0);
    if (left) MUST(left_size <= size && memcmp(left, bytes, (size_t)left_size) == 0 && (status == SB_OK || left_size == size));
    if (status != SB_OK) fuzz_error(status, &err);
    sbi_release(&fuzz_allocator, left);
    unlink(path);
}

void fuzz_ledger(const uint8_t *data, size_t size) {
    if (size < 1) return;
    sbi_text texts[2] = {0};
    char last[2][65];
    int64_t lines[2] = {0};
    size_t rest = size - 1, middle = rest * data[0] / 256;
    const uint8_t *starts[2] = {data + 1, data + 1 + middle};
    size_t sizes[2] = {middle, rest - middle};
    const char *paths[2];
    for (int i = 0; i < 2; i++) {
        bool sealed = data[0] & 1;
        chain(&texts[i], starts[i], sizes[i], last[i], &lines[i]);
        if (texts[i].failed || !texts[i].bytes) sealed = false;
        paths[i] = sealed ? fuzz_file(i, texts[i].bytes, (size_t)texts[i].length) : fuzz_file(i, starts[i], sizes[i]);
        if (sealed && lines[i] > 0 && i == 0) cut(texts[i].bytes, texts[i].length, last[i], lines[i] - 1);
        if (sealed && lines[i] > 1 && i == 1) cut(texts[i].bytes, texts[i].length, last[i], lines[i] - 2);
    }
    sb_lm_difference one, two, same;
    sb_error err = {0};
    sb_status status = sb_lm_ledger_compare(paths[0], paths[1], &one, &err);
    MUST(status == sb_lm_ledger_compare(paths[0], paths[1], &two, NULL));
    if (status == SB_OK) {
        MUST(memcmp(&one, &two, sizeof one) == 0 && (one.equal || one.field[0]));
        fuzz_printable(one.field);
        MUST(sb_lm_ledger_compare(paths[0], paths[0], &same, NULL) == SB_OK && same.equal);
    } else {
        fuzz_error(status, &err);
    }
    sbi_text_free(&texts[0]);
    sbi_text_free(&texts[1]);
}
