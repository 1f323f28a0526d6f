// SPDX-License-Identifier: Apache-2.0
// samebits record, samebits replay.
#include "cli.h"

#include <string.h>
#include <time.h>

enum { MODELS = 32 };

static const char *today(bool wanted, char date[16]) {
    time_t now = time(NULL);
    struct tm day;
    return wanted && gmtime_r(&now, &day) && strftime(date, 16, "%Y-%m-%d", &day) ? date : NULL;
}

// What both commands end in: a report, its parts where they are asked for.
static int end(const char *command, sb_status status, const sb_error *err, sb_report *report, const char *page, bool json, const char *json_out) {
    sb_error why = {.status = SB_OK};
    if (status != SB_OK) {
        return cli_failed(command, err);
    }
    int failed = page && sb_report_write_page(report, page, &why) != SB_OK ? cli_failed(command, &why) : CLI_GOOD;
    int verdict = cli_report(command, report, json, json_out);
    return verdict == CLI_GOOD ? failed : verdict;
}

int cli_record(int argc, char **argv) {
    static const char usage[] = "samebits record MODEL [MODEL ...] --data FILE --out RECORDING [--method M] [--no-values] [--threshold T]";
    static const char about[] =
        "Runs fitted models (samebits fit) one after another over a table and writes a recording (docs/replay.md): the models,\n"
        "the input, the output and the hashes of all three. samebits replay computes it again. Each model but the last\n"
        "transforms what the next is given.";
    cli_input input = {.words = true};
    sb_context_options machine = {.size = sizeof machine};
    sb_data data = {.size = sizeof data};
    sb_record_options options = {.size = sizeof options, .data = &data, .method = "predict"};
    const char *out = NULL, *json_out = NULL, *threshold = NULL;
    bool no_values = false, json = false, date = false;
    char day[16];
    const cli_flag flags[] = {
        {"--data", CLI_TEXT, &input.data, 0, 0, "FILE", "the table X: .npy, .npz (FILE.npz:NAME), .svmlight, or csv (a first line of names is a header)"},
        {"--target", CLI_TEXT, &input.target, 0, 0, "Y", "a column of it that is no input, by its name or its number from 0"},
        {"--float32", CLI_SWITCH, &input.narrow, 0, 0, NULL, "read the numbers as float32 (float64, or what an .npy file holds)"},
        {"--method", CLI_TEXT, &options.method, 0, 0, "M", "the method of the last model (predict)"},
        {"--threshold", CLI_TEXT, &threshold, 0, 0, "T", "a row's decision is whether its last number is at least this"},
        {"--no-values", CLI_SWITCH, &no_values, 0, 0, NULL, "keep hashes of input and output only"},
        {"--note", CLI_TEXT, &options.note, 0, 0, "TEXT", "words to keep with it"},
        {"--out", CLI_TEXT, &out, 0, 0, "RECORDING", "where to write it"},
        {"--date", CLI_SWITCH, &date, 0, 0, NULL, "put today's date into the document"},
        {"--json-out", CLI_TEXT, &json_out, 0, 0, "FILE", "write the evidence document there, for samebits compare"},
        {"--json", CLI_SWITCH, &json, 0, 0, NULL, "print JSON instead of lines"},
        CLI_MACHINE_FLAGS(machine.device, machine.isa, machine.threads, 1),
        {0},
    };
    int operands = 0, status = cli_flags(argc, argv, usage, about, flags, &operands);
    if (status >= 0) {
        return status;
    }
    if (operands < 1 || operands > MODELS || !input.data || !out) {
        return cli_usage_error(usage, "expected 1 to %d models, --data and --out", MODELS);
    }
    if (threshold && sb_parse_real(threshold, &options.threshold, NULL) != SB_OK) {
        return cli_usage_error(usage, "--threshold is \"%s\": expected a decimal number", cli_show(threshold));
    }
    sb_error err = {.status = SB_OK};
    sb_context *ctx = NULL;
    sb_report *report = NULL;
    sb_model *models[MODELS] = {NULL};
    sb_status done = sb_context_new(&machine, &ctx, &err);
    for (int i = 0; i < operands && done == SB_OK; i++) {
        done = sb_model_load(ctx, argv[1 + i], &models[i], &err);
    }
    if (done == SB_OK) {
        input.features = sb_model_features(models[0]);
        done = cli_input_read(ctx, &input, &data, &err);
    }
    options.models = (const sb_model *const *)models;
    options.model_count = operands;
    options.hashes_only = no_values;
    options.thresholded = threshold != NULL;
    options.date = today(date, day);
    if (done == SB_OK) {
        done = sb_record(ctx, &options, out, &report, &err);
    }
    cli_input_free(&input);
    for (int i = 0; i < operands; i++) {
        sb_model_free(models[i]);
    }
    sb_context_free(ctx);
    return end("record", done, &err, report, NULL, json, json_out);
}

int cli_replay(int argc, char **argv) {
    static const char usage[] = "samebits replay RECORDING [--data FILE] [--report F.html] [--json] [--json-out FILE] [--device D]";
    static const char about[] =
        "Computes a recording again, here, and says whether the same came out: which rows differ, by how many units in the\n"
        "last place, and whether a decision flips. Documents of several machines: samebits compare.\n"
        "Exit status: 0 IDENTICAL, 1 DIFFERENT, 2 wrong usage (another input than was recorded included), 3 REFUSED (a step\n"
        "could not be computed here), or a file that is no recording.";
    cli_input input = {.words = true};
    sb_context_options machine = {.size = sizeof machine};
    sb_data data = {.size = sizeof data};
    sb_replay_options options = {.size = sizeof options};
    const char *page = NULL, *json_out = NULL;
    bool json = false, date = false;
    char day[16];
    const cli_flag flags[] = {
        {"--data", CLI_TEXT, &input.data, 0, 0, "FILE", "the input, where the recording holds hashes only; checked by its hash"},
        {"--target", CLI_TEXT, &input.target, 0, 0, "Y", "a column of it that is no input, by its name or its number from 0"},
        {"--float32", CLI_SWITCH, &input.narrow, 0, 0, NULL, "read the numbers as float32 (float64, or what an .npy file holds)"},
        {"--report", CLI_TEXT, &page, 0, 0, "F.html", "write a page there that a reviewer can read and sign"},
        {"--date", CLI_SWITCH, &date, 0, 0, NULL, "put today's date into page and document"},
        {"--json-out", CLI_TEXT, &json_out, 0, 0, "FILE", "write the evidence document there, for samebits compare"},
        {"--json", CLI_SWITCH, &json, 0, 0, NULL, "print JSON instead of lines"},
        CLI_MACHINE_FLAGS(machine.device, machine.isa, machine.threads, 1),
        {0},
    };
    int operands = 0, status = cli_flags(argc, argv, usage, about, flags, &operands);
    if (status >= 0) {
        return status;
    }
    if (operands != 1) {
        return cli_usage_error(usage, "expected one recording");
    }
    if (input.target && !input.data) {
        return cli_usage_error(usage, "--target is a column of --data, which is not there");
    }
    if ((status = cli_apart(usage, json_out, 1, argv + 1)) >= 0) {
        return status;
    }
    sb_error err = {.status = SB_OK};
    sb_context *ctx = NULL;
    sb_report *report = NULL;
    sb_status done = sb_context_new(&machine, &ctx, &err);
    if (done == SB_OK && input.data) {
        done = cli_input_read(ctx, &input, &data, &err);
        options.data = &data;
    }
    options.date = today(date, day);
    if (done == SB_OK) {
        done = sb_replay(ctx, argv[1], &options, &report, &err);
    }
    cli_input_free(&input);
    sb_context_free(ctx);
    return end("replay", done, &err, report, page, json, json_out);
}
