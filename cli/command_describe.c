// SPDX-License-Identifier: Apache-2.0
// samebits describe.
#include "cli.h"

int cli_describe(int argc, char **argv) {
    static const char usage[] = "samebits describe [--json] [--json-out FILE] [--device D] [--isa L] [--threads N]";
    static const char about[] =
        "Says what this samebits is and can do: version, contract, devices and levels, every operation with the dtypes it\n"
        "takes, what it refuses and by which error, and the lanes that prove it, the functions and their proofs. All of it is\n"
        "found by asking the library, not by reading a list.\n"
        "Exit status: 0 good, 2 wrong usage, 3 it could not be found out.";
    bool json = false;
    const char *json_out = NULL;
    sb_context_options options = {.size = sizeof options, .trace = ""};
    const cli_flag flags[] = {
        {"--json", CLI_SWITCH, &json, 0, 0, NULL, "print JSON instead of lines"},
        {"--json-out", CLI_TEXT, &json_out, 0, 0, "FILE", "write it there as JSON"},
        CLI_MACHINE_FLAGS(options.device, options.isa, options.threads, 1),
        {0},
    };
    int operands = 0, status = cli_flags(argc, argv, usage, about, flags, &operands);
    if (status >= 0) {
        return status;
    }
    if (operands) {
        return cli_usage_error(usage, "describe takes flags only, and there is \"%s\"", cli_show(argv[1]));
    }
    sb_error err = {.status = SB_OK};
    sb_context *ctx = NULL;
    sb_report *report = NULL;
    sb_status done = sb_context_new(&options, &ctx, &err);
    if (done == SB_OK) {
        done = sb_describe(ctx, (const char *)cli_proofs, cli_proofs_size, &report, &err);
    }
    sb_context_free(ctx);
    return done == SB_OK ? cli_report("describe", report, json, json_out) : cli_failed("describe", &err);
}
