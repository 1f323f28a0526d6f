// SPDX-License-Identifier: Apache-2.0
// Status and error: names, filling in an sb_error, printable text from foreign bytes.
#include "base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

sb_status sbi_fail(sb_error *err, sb_status status, const char *argument, const char *format, ...) {
    if (err) {
        va_list list;
        va_start(list, format);
        err->status = status;
        snprintf(err->argument, sizeof err->argument, "%s", argument ? argument : "");
        vsnprintf(err->message, sizeof err->message, format, list);
        va_end(list);
    }
    return status;
}

const char *sbi_escape(const char *bytes, size_t length, char *out, size_t out_size) {
    static const char digits[] = "0123456789abcdef";
    if (out_size == 0) return out;
    size_t at = 0, cut = 0; // cut: the last place where "..." still fits
    bool whole = true;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        bool plain = c >= 0x20 && c < 0x7f && c != '\\';
        size_t need = plain ? 1 : 4;
        if (at + need + 1 > out_size) {
            whole = false;
            break;
        }
        if (plain) {
            out[at] = (char)c;
        } else {
            out[at] = '\\';
            out[at + 1] = 'x';
            out[at + 2] = digits[c >> 4];
            out[at + 3] = digits[c & 15];
        }
        at += need;
        if (at + 4 <= out_size) cut = at;
    }
    if (!whole) {
        at = cut;
        for (int dots = 0; dots < 3 && at + 1 < out_size; dots++) out[at++] = '.';
    }
    out[at] = '\0';
    return out;
}
