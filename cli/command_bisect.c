// SPDX-License-Identifier: Apache-2.0
// samebits bisect.
#include "cli.h"

int cli_bisect(int argc, char **argv) {
    static const char usage[] = "samebits bisect A.trace B.trace [--json] [--json-out FILE]";
    static const char about[] =
        "Compares two traces (SAMEBITS_TRACE=FILE in front of any command writes one) and names the first operation that\n"
        "differs, with the hashes of its inputs. A trace is the same for any number of threads, level and device.\n"
        "Exit status: 0 SAME, 1 DIFFERENT, 2 wrong usage, 3 INCOMPARABLE (one ends before the other, or another contract)\n"
        "or a file that is no trace.";
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
    if (operands != 2) {
        return cli_usage_error(usage, "%d traces: expected two", operands);
    }
    if ((status = cli_apart(usage, json_out, operands, argv + 1)) >= 0) {
        return status;
    }
    sb_error err = {.status = SB_OK};
    sb_report *report = NULL;
    if (sb_trace_compare(argv[1], argv[2], &report, &err) != SB_OK) {
        return cli_failed("bisect", &err);
    }
    return cli_report("bisect", report, json, json_out);
}
