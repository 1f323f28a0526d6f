// SPDX-License-Identifier: Apache-2.0
// samebits verify, samebits selftest.
#include "cli.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct request { // what the two commands have in common
    sb_context_options context;
    sb_verify_options verify;
    bool quick, training, all, json, list, date, quiet;
    const char *json_out;
} request;

// The rows of both: which lanes, where, and what is told.
#define CHOICE_FLAGS(r) \
    {"--quick", CLI_SWITCH, &(r).quick, 0, 0, NULL, "one lane of each kind"}, \
    {"--training", CLI_SWITCH, &(r).training, 0, 0, NULL, "the training of neural networks, alone"}, \
    {"--all", CLI_SWITCH, &(r).all, 0, 0, NULL, "everything"}, \
    {"--lanes", CLI_TEXT, &(r).verify.lanes, 0, 0, "A,B", "these lanes, whatever their kind"}, \
    CLI_MACHINE_FLAGS((r).context.device, (r).context.isa, (r).context.threads, 1)
#define REPORT_FLAGS(r) \
    {"--json-out", CLI_TEXT, &(r).json_out, 0, 0, "FILE", "write the document there as JSON"}, \
    {"--json", CLI_SWITCH, &(r).json, 0, 0, NULL, "print JSON instead of lines"}, \
    {"--quiet", CLI_SWITCH, &(r).quiet, 0, 0, NULL, "no progress"}

static void show_progress(void *user, const char *lane, int64_t done, int64_t total) {
    (void)user;
    fprintf(stderr, "\r%4lld of %lld  %-40.40s", (long long)done + 1, (long long)total, lane);
}

static void list_lanes(void) {
    for (int64_t i = 0; i < sb_lane_count(); i++) {
        printf("%-28s %-12s%s%s\n", sb_lane_name(i), sb_lane_kind(i), sb_lane_in_tier(i, SB_TIER_QUICK) ? " quick" : "",
               sb_lane_in_tier(i, SB_TIER_TRAINING) ? " training" : "");
    }
}

typedef sb_status (*verifier)(sb_context *ctx, const sb_verify_options *options, sb_report **out, sb_error *err);

static int carry_out(const char *command, const char *usage, request *r, verifier run) {
    sb_error err = {.status = SB_OK};
    sb_context *ctx = NULL;
    sb_report *report = NULL;
    char date[16];
    if (r->list) {
        list_lanes();
        return CLI_GOOD;
    }
    if (r->quick + r->training + r->all + (r->verify.lanes != NULL) > 1) {
        return cli_usage_error(usage, "--quick, --training, --all and --lanes exclude each other: expected one of them");
    }
    r->verify.tier = r->quick ? SB_TIER_QUICK : r->training ? SB_TIER_TRAINING : r->all ? SB_TIER_ALL : SB_TIER_DEFAULT;
    r->verify.references = (const char *)cli_golden;
    r->verify.references_size = cli_golden_size;
    r->verify.progress = isatty(STDERR_FILENO) && !r->quiet ? show_progress : NULL;
    if (r->date) {
        time_t now = time(NULL);
        struct tm day;
        r->verify.date = gmtime_r(&now, &day) && strftime(date, sizeof date, "%Y-%m-%d", &day) ? date : NULL;
    }
    sb_status status = sb_context_new(&r->context, &ctx, &err);
    if (status == SB_OK) {
        status = run(ctx, &r->verify, &report, &err);
    }
    if (r->verify.progress) {
        fprintf(stderr, "\r%60s\r", "");
    }
    sb_context_free(ctx);
    if (status != SB_OK) {
        return cli_failed(command, &err);
    }
    return cli_report(command, report, r->json, r->json_out);
}

int cli_verify(int argc, char **argv) {
    static const char usage[] = "samebits verify [--quick | --training | --all | --lanes A,B] [--seed N] [--device D] [--isa L] "
                                "[--threads N] [--json-out FILE] [--json]";
    static const char about[] =
        "Runs operations and models over hostile inputs, whole, in halves and row by row, and compares every output with\n"
        "its golden value. Each cell is IDENTICAL, DIVERGENT, REFUSED or ABSENT.\n"
        "Exit status: 0 everything asked for ran and was IDENTICAL, 1 something DIVERGENT, 2 wrong usage, 3 incomplete.\n"
        "With --seed N, a number that somebody else chose, there are no golden values: the document holds what this\n"
        "machine computed, to be compared with another's (samebits compare), and only splits are compared here.";
    request r = {.context = {.size = sizeof r.context}, .verify = {.size = sizeof r.verify}};
    const cli_flag flags[] = {
        CHOICE_FLAGS(r),
        {"--list", CLI_SWITCH, &r.list, 0, 0, NULL, "list the lanes and stop"},
        {"--seed", CLI_NUMBER, &r.verify.seed, 1, 0, "N", "inputs drawn from this number"},
        {"--date", CLI_SWITCH, &r.date, 0, 0, NULL, "put today's date into the document"},
        REPORT_FLAGS(r),
        {0},
    };
    int operands = 0, status = cli_flags(argc, argv, usage, about, flags, &operands);
    if (status >= 0) {
        return status;
    }
    if (operands) {
        return cli_usage_error(usage, "verify takes flags only, and there is \"%s\"", cli_show(argv[1]));
    }
    return carry_out("verify", usage, &r, sb_verify);
}

int cli_selftest(int argc, char **argv) {
    static const char usage[] = "samebits selftest [--quick | --training | --all | --lanes A,B] [--device D] [--isa L] [--threads N] "
                                "[--json-out FILE] [--json]";
    static const char about[] =
        "Proves that verify can fail: every lane, untouched, must read IDENTICAL, and DIVERGENT once one input is moved by one\n"
        "ulp (an index or a seed by one where there is no float input).\n"
        "Exit status: 0 when it can fail in every lane, 1 when not, 2 wrong usage, 3 without golden values.";
    request r = {.context = {.size = sizeof r.context}, .verify = {.size = sizeof r.verify}};
    const cli_flag flags[] = {
        CHOICE_FLAGS(r),
        REPORT_FLAGS(r),
        {0},
    };
    int operands = 0, status = cli_flags(argc, argv, usage, about, flags, &operands);
    if (status >= 0) {
        return status;
    }
    if (operands) {
        return cli_usage_error(usage, "selftest takes flags only, and there is \"%s\"", cli_show(argv[1]));
    }
    return carry_out("selftest", usage, &r, sb_selftest);
}
