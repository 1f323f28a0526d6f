// SPDX-License-Identifier: Apache-2.0
// Lines of a file: the buffer holds one whole line, and grows where one is longer.
#include "lines.h"

#include <string.h>

enum { BUFFER = 1 << 18, LONGEST = 1 << 26 };

sb_status sbi_lines_open(const sbi_allocator *allocator, const char *path, sbi_lines *out, sb_error *err) {
    int64_t size = 0;
    *out = (sbi_lines){.allocator = *allocator, .next_line = 1, .capacity = BUFFER};
    sbi_escape(path, strlen(path), out->name, sizeof out->name);
    sb_status status = sbi_source_open(allocator, path, &out->source, &size, err);
    if (status == SB_OK && !(out->buffer = sbi_allocate(allocator, out->capacity + 1, 1, err))) status = SB_ERR_MEMORY;
    return status;
}

void sbi_lines_close(sbi_lines *lines) {
    sbi_source_close(lines->source);
    if (lines->buffer) sbi_release(&lines->allocator, lines->buffer);
    *lines = (sbi_lines){0};
}

sb_status sbi_lines_fail(const sbi_lines *lines, const char *what, sb_error *err) {
    return sbi_fail(err, SB_ERR_FORMAT, "path", "%s, line %lld: %s", lines->name, (long long)lines->line, what);
}

// More of the file behind what is there, which moves to the front; a longer buffer where it is full.
static sb_status refill(sbi_lines *lines, sb_error *err) {
    const int64_t kept = lines->end - lines->at;
    int64_t got = 0;
    if (kept == lines->capacity) {
        if (lines->capacity >= LONGEST) return sbi_lines_fail(lines, "a line of more than 2^26 bytes; is a quote left open?", err);
        char *longer = sbi_allocate(&lines->allocator, 2 * lines->capacity + 1, 1, err);
        if (!longer) return SB_ERR_MEMORY;
        memcpy(longer, lines->buffer + lines->at, (size_t)kept);
        sbi_release(&lines->allocator, lines->buffer);
        lines->buffer = longer;
        lines->capacity *= 2;
    } else {
        memmove(lines->buffer, lines->buffer + lines->at, (size_t)kept);
    }
    lines->at = 0;
    lines->end = kept;
    sb_status status = sbi_source_read(lines->source, lines->buffer + kept, lines->capacity - kept, &got, err);
    lines->end += got;
    lines->finished = status == SB_OK && lines->end < lines->capacity;
    return status;
}

// The length of the line at lines->at, without its end, and with it.
static sb_status find_line(sbi_lines *lines, bool quotes, int64_t *length, int64_t *whole, sb_error *err) {
    int64_t seen = 0;
    bool inside = false;
    for (;;) {
        for (; seen < lines->end - lines->at; seen++) {
            const char c = lines->buffer[lines->at + seen];
            if (c == '"' && quotes) inside = !inside;
            if (c == '\n') {
                lines->next_line++;
                if (inside) continue;
                *length = seen - (seen > 0 && lines->buffer[lines->at + seen - 1] == '\r');
                *whole = seen + 1;
                return SB_OK;
            }
        }
        if (lines->finished) break;
        sb_status status = refill(lines, err);
        if (status != SB_OK) return status;
    }
    if (inside) return sbi_lines_fail(lines, "a quote that opens here is not closed", err);
    *length = *whole = seen;
    if (seen > 0 && lines->buffer[lines->at + seen - 1] == '\r') *length = seen - 1;
    return SB_OK;
}

sb_status sbi_lines_next(sbi_lines *lines, bool quotes, char **text, int64_t *length, sb_error *err) {
    int64_t whole = 0;
    do {
        *text = NULL;
        lines->line = lines->next_line;
        sb_status status = find_line(lines, quotes, length, &whole, err);
        if (status != SB_OK || whole == 0) return status; // (nothing: the end)
        char *start = lines->buffer + lines->at;
        lines->at += whole;
        const bool mark = lines->line == 1 && *length >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0;
        *text = start + (mark ? 3 : 0);
        *length -= mark ? 3 : 0;
    } while (*length == 0);
    if (memchr(*text, 0, (size_t)*length)) return sbi_lines_fail(lines, "a NUL byte", err);
    return SB_OK;
}
