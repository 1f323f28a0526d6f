// SPDX-License-Identifier: Apache-2.0
// samebits compare.
#include "cli.h"

int cli_compare(int argc, char **argv) {
    static const char usage[] = "samebits compare A.json B.json [C.json ...] [--json] [--json-out FILE]";
    static const char about[] =
        "Compares evidence documents (samebits verify --json-out) and groups the machines by what they computed. It needs\n"
        "nothing but the documents.\n"
        "Exit status: 0 AGREE, 1 DIFFER, 2 wrong usage, 3 INCOMPARABLE (nothing in common, other seeds or contracts) or\n"
        "a file that is no evidence document, 4 SAME FILE (one document given twice).";
    bool json = false;
    const char *json_out = NULL;
    const cli_flag flags[] = {
        {"--json", CLI_SWITCH, &json, 0, 0, NULL, "print JSON instead of lines"},
        {"--json-out", CLI_TEXT, &json_out, 0, 0, "FILE", "write the comparison there as JSON"},
        {0},
    };
    int operands = 0, status = cli_flags(argc, argv, usage, about, flags, &operands);
    if (status >= 0) {
        return status;
    }
    if (operands < 2) {
        return cli_usage_error(usage, "%d documents: expected at least two", operands);
    }
    if ((status = cli_apart(usage, json_out, operands, argv + 1)) >= 0) {
        return status;
    }
    sb_error err = {.status = SB_OK};
    sb_report *report = NULL;
    if (sb_compare(operands, (const char *const *)argv + 1, &report, &err) != SB_OK) {
        return cli_failed("compare", &err);
    }
    return cli_report("compare", report, json, json_out);
}
