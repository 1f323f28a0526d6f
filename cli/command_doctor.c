// SPDX-License-Identifier: Apache-2.0
// samebits doctor.
#include "cli.h"

int cli_doctor(int argc, char **argv) {
    static const char usage[] = "samebits doctor [--json] [--json-out FILE]";
    static const char about[] =
        "Shows the CPU levels built, usable and chosen, the threads, the compiler and what its work does at run time, the\n"
        "caller's floating-point environment, and what every usable level computes on hostile operands against exact integers.\n"
        "Exit status: 0 everything conforms, 1 something does not, 2 wrong usage, 3 it could not be found out.";
    bool json = false;
    const char *json_out = NULL;
    const cli_flag flags[] = {
        {"--json", CLI_SWITCH, &json, 0, 0, NULL, "print JSON instead of lines"},
        {"--json-out", CLI_TEXT, &json_out, 0, 0, "FILE", "write the report there as JSON"},
        {0},
    };
    int operands = 0, status = cli_flags(argc, argv, usage, about, flags, &operands);
    if (status >= 0) {
        return status;
    }
    if (operands) {
        return cli_usage_error(usage, "doctor takes flags only, and there is \"%s\"", cli_show(argv[1]));
    }
    sb_error err = {.status = SB_OK};
    sb_report *report = NULL;
    if (sb_doctor(&report, &err) != SB_OK) {
        return cli_failed("doctor", &err);
    }
    return cli_report("doctor", report, json, json_out);
}
