// SPDX-License-Identifier: Apache-2.0
// Status and error: names, filling in an sb_error, printable text from foreign bytes.
#include "base.h"

#include <errno.h>
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

const char *sbi_reason(int number, char spare[SBI_REASON_SIZE]) {
    switch (number) {
    case ENOENT: return "no such file or folder";
    case ENOTDIR: return "a part of the path is not a folder";
    case EISDIR: return "it is a folder";
    case EACCES: case EPERM: return "permission denied";
    case EEXIST: return "it exists already";
    case ENOTEMPTY: return "the folder is not empty";
    case ENOSPC: return "no space left on the device";
    case EDQUOT: return "quota exceeded";
    case EFBIG: return "file too large";
    case EROFS: return "read-only file system";
    case EMFILE: case ENFILE: return "too many open files";
    case ENAMETOOLONG: return "name too long";
    case ELOOP: return "too many symbolic links";
    case EIO: return "input/output error";
    case ENOMEM: return "out of memory";
    case EAGAIN: return "a limit of this user or machine is reached";
    case EPIPE: case ECONNRESET: return "its socket is closed";
    case ENXIO: return "it is a pipe or a device that nothing stands behind";
    }
    snprintf(spare, SBI_REASON_SIZE, "error %d", number);
    return spare;
}

sb_status sbi_fail_file(sb_error *err, const char *path, const char *what, int number) {
    char name[200], spare[SBI_REASON_SIZE];
    sbi_escape(path, strlen(path), name, sizeof name);
    return sbi_fail(err, SB_ERR_IO, "path", "cannot %s %s: %s", what, name, sbi_reason(number, spare));
}

sb_status sbi_named(sb_status status, const char *argument, sb_error *err) {
    if (status != SB_OK && err && strcmp(err->argument, "path") == 0)
        snprintf(err->argument, sizeof err->argument, "%s", argument);
    return status;
}
