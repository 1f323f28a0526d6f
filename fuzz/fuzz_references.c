// SPDX-License-Identifier: Apache-2.0
// The table of golden values: what is taken, written again, is the same text from its third line on, and every row is
// found by its lane and fixture.
#include "fuzz.h"
#include "verify.h"

static const char *third_line(const char *text, const char *end) {
    for (int i = 0; i < 2; i++) text = (const char *)memchr(text, '\n', (size_t)(end - text)) + 1;
    return text;
}

void fuzz_references(const uint8_t *data, size_t size) {
    sb_error err = {0};
    sbi_references table;
    sbi_text text;
    sbi_text_start(&text, &sbi_malloc_allocator);
    sb_status status = sbi_references_read((const char *)data, size, &table, &err);
    if (status != SB_OK) {
        fuzz_error(status, &err);
    } else if (table.count > 0) {
        sbi_cells cells = {.items = table.rows, .count = table.count};
        sbi_references_write(&cells, &text);
        MUST(!text.failed);
        const char *rest = third_line((const char *)data, (const char *)data + size), *ours = third_line(text.bytes, text.bytes + text.length);
        size_t left = size - (size_t)(rest - (const char *)data);
        MUST(left == strlen(ours) && memcmp(rest, ours, left) == 0);
        for (int64_t i = 0, count; i < table.count; i++) {
            const sbi_cell *row = &table.rows[i], *found = sbi_references_of(&table, row->lane, row->fixture, &count);
            MUST(found <= row && row < found + count);
        }
    }
    sbi_text_free(&text);
    sbi_references_free(&table);
}
