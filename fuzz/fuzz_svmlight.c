// SPDX-License-Identifier: Apache-2.0
// Sparse rows as text: what is read, written again plainly, reads as the same rows.
#include "fuzz.h"
#include "json.h"
#include "svmlight.h"

static sb_status read_all(const char *path, sbi_text *out, sb_error *err) {
    sbi_svmlight *file = NULL;
    sbi_svmlight_row row;
    bool end = false;
    int64_t line = 0;
    sb_status status = sbi_svmlight_open(&fuzz_allocator, path, &file, err);
    sbi_text_add(out, "#\n"); // (a byte order mark that begins the first row's target begins no file)
    while (status == SB_OK) {
        status = sbi_svmlight_next(file, &row, &end, err);
        if (status != SB_OK || end) break;
        MUST(sbi_svmlight_line(file) > line && row.target_length > 0 && row.query >= -1);
        line = sbi_svmlight_line(file);
        sbi_text_add_bytes(out, row.target, row.target_length);
        if (row.query >= 0) sbi_text_add(out, " qid:%lld", (long long)row.query);
        for (int64_t i = 0; i < row.count; i++) {
            MUST(row.indices[i] >= 0 && (i == 0 || row.indices[i] > row.indices[i - 1]) && row.values[i] == row.values[i]);
            sbi_text_add(out, " %lld:", (long long)row.indices[i]);
            if (row.values[i] - row.values[i] != 0.0)
                sbi_text_add(out, row.values[i] > 0 ? "inf" : "-inf");
            else
                sbi_text_add_real(out, row.values[i]);
        }
        sbi_text_add(out, "\n");
    }
    sbi_svmlight_close(file);
    return status;
}

void fuzz_svmlight(const uint8_t *data, size_t size) {
    sb_error err = {0};
    sbi_text one, two;
    sbi_text_start(&one, &sbi_malloc_allocator);
    sbi_text_start(&two, &sbi_malloc_allocator);
    sb_status status = read_all(fuzz_file(0, data, size), &one, &err);
    MUST(status != SB_ERR_MEMORY);
    if (status == SB_OK) {
        MUST(read_all(fuzz_file(1, one.bytes, (size_t)one.length), &two, &err) == SB_OK);
        MUST(one.length == two.length && memcmp(one.bytes, two.bytes, (size_t)one.length) == 0);
    } else if (status != SB_OK) {
        fuzz_error(status, &err);
    }
    sbi_text_free(&one);
    sbi_text_free(&two);
}
