// SPDX-License-Identifier: Apache-2.0
// Flags by a table, messages, reports.
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *cli_show(const char *text) {
    static char texts[4][256];
    static int next;
    char *out = texts[next = (next + 1) % 4];
    size_t at = 0;
    for (; *text && at < sizeof texts[0] - 8; text++) {
        unsigned char c = (unsigned char)*text;
        if (c >= 0x20 && c < 0x7f) {
            out[at++] = (char)c;
        } else {
            at += (size_t)snprintf(out + at, 5, "\\x%02x", c);
        }
    }
    strcpy(out + at, *text ? "..." : "");
    return out;
}

int cli_usage_error(const char *usage, const char *format, ...) {
    va_list list;
    va_start(list, format);
    fprintf(stderr, "samebits: ");
    vfprintf(stderr, format, list);
    fprintf(stderr, "\nusage: %s\n", usage);
    va_end(list);
    return CLI_USAGE;
}

int cli_failed(const char *command, const sb_error *err) {
    fprintf(stderr, "samebits %s: %s%s%s%s: %s\n", command, sb_status_name(err->status), err->argument[0] ? " (" : "",
            err->argument, err->argument[0] ? ")" : "", err->message);
    switch (err->status) {
    case SB_ERR_ARGUMENT: case SB_ERR_DEVICE: return CLI_USAGE; // DEVICE: a device or level that is not there
    case SB_ERR_INTERRUPTED: return CLI_INTERRUPTED;
    default: return CLI_INCOMPLETE;
    }
}

static void print_help(const char *usage, const char *about, const cli_flag *flags) {
    printf("usage: %s\n\n%s\n", usage, about);
    int width = 22;
    for (const cli_flag *flag = flags; flag->name; flag++) {
        int needed = (int)(strlen(flag->name) + 1 + strlen(flag->value ? flag->value : ""));
        width = needed > width ? needed : width;
    }
    for (const cli_flag *flag = flags; flag->name; flag++) {
        printf("%s  %s %-*s %s\n", flag == flags ? "\n" : "", flag->name, width - (int)strlen(flag->name) - 1,
               flag->value ? flag->value : "", flag->help);
    }
}

bool cli_read_number(const char *text, uint64_t *out) {
    *out = 0;
    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9' || *out > (UINT64_MAX - (uint64_t)(*at - '0')) / 10) {
            return false;
        }
        *out = 10 * *out + (uint64_t)(*at - '0');
    }
    return *text != '\0';
}

static int set_flag(const cli_flag *flag, const char *value, const char *usage) {
    uint64_t number = 0;
    switch (flag->kind) {
    case CLI_SWITCH: *(bool *)flag->to = true; break;
    case CLI_TEXT:
        if (!*value) {
            return cli_usage_error(usage, "%s is empty: expected %s", flag->name, flag->value);
        }
        *(const char **)flag->to = value;
        break;
    case CLI_COUNT:
    case CLI_INTEGER:
        if (!cli_read_number(value, &number) || number < (uint64_t)flag->low || number > (uint64_t)flag->high) {
            return cli_usage_error(usage, "%s is \"%s\": expected a number from %lld to %lld", flag->name, cli_show(value),
                                   (long long)flag->low, (long long)flag->high);
        }
        if (flag->kind == CLI_COUNT) {
            *(int *)flag->to = (int)number;
        } else {
            *(int64_t *)flag->to = (int64_t)number;
        }
        break;
    case CLI_NUMBER:
        if (!cli_read_number(value, &number) || number < (uint64_t)flag->low) {
            return cli_usage_error(usage, "%s is \"%s\": expected a number from %lld to 2^64 - 1", flag->name, cli_show(value),
                                   (long long)flag->low);
        }
        *(uint64_t *)flag->to = number;
        break;
    case CLI_REAL:
        if (sb_parse_real(value, flag->to, NULL) != SB_OK) {
            return cli_usage_error(usage, "%s is \"%s\": expected a decimal number", flag->name, cli_show(value));
        }
        break;
    case CLI_EACH: {
        const cli_each *each = flag->to;
        if (!each->take(each->to, value)) {
            return cli_usage_error(usage, "%s is \"%s\": expected %s", flag->name, cli_show(value), flag->value);
        }
        break;
    }
    }
    return -1;
}

static const cli_flag *find_flag(const cli_flag *flags, const char *text, size_t length) {
    for (const cli_flag *flag = flags; flag->name; flag++) {
        if (strlen(flag->name) == length && memcmp(flag->name, text, length) == 0) {
            return flag;
        }
    }
    return NULL;
}

int cli_flags(int argc, char **argv, const char *usage, const char *about, const cli_flag *flags, int *operands) {
    bool flags_ended = false;
    int count = 0;
    for (int i = 1; i < argc; i++) {
        char *text = argv[i];
        size_t length = strcspn(text, "=");
        if (flags_ended || text[0] != '-' || text[1] == '\0') {
            argv[++count] = text;
            continue;
        }
        if (strcmp(text, "--") == 0) {
            flags_ended = true;
            continue;
        }
        if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
            print_help(usage, about, flags);
            return CLI_GOOD;
        }
        const cli_flag *flag = find_flag(flags, text, length);
        if (!flag) {
            return cli_usage_error(usage, "there is no flag %s (--help lists them)", cli_show(text));
        }
        if (flag->kind == CLI_SWITCH && text[length]) {
            return cli_usage_error(usage, "%s takes no value", flag->name);
        }
        const char *value = text[length] ? text + length + 1 : NULL;
        if (flag->kind != CLI_SWITCH && !value) {
            if (i + 1 == argc) {
                return cli_usage_error(usage, "%s needs a value: expected %s", flag->name, flag->value);
            }
            value = argv[++i];
        }
        int status = set_flag(flag, value, usage);
        if (status >= 0) {
            return status;
        }
    }
    *operands = count;
    return -1;
}

int cli_apart(const char *usage, const char *out, int count, char **inputs) {
    struct stat written, read;
    if (out && stat(out, &written) == 0) {
        for (int i = 0; i < count; i++) {
            if (stat(inputs[i], &read) == 0 && read.st_dev == written.st_dev && read.st_ino == written.st_ino) {
                return cli_usage_error(usage, "--json-out is %s, which is read as %s: expected another file", cli_show(out),
                                       cli_show(inputs[i]));
            }
        }
    }
    return -1;
}

int cli_report(const char *command, sb_report *report, bool json, const char *json_out) {
    int verdict = sb_report_verdict(report);
    sb_error err = {.status = SB_OK};
    fputs(json ? sb_report_json(report) : sb_report_text(report), stdout);
    if (json_out && sb_report_write(report, json_out, &err) != SB_OK) {
        int failed = cli_failed(command, &err);
        verdict = verdict == CLI_GOOD ? failed : verdict;
    }
    sb_report_free(report);
    return verdict;
}
