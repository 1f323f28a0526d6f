// SPDX-License-Identifier: Apache-2.0
// samebits fit, predict, transform, score, call: estimators over tables in files.
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SETTINGS = 64, RESULTS = 3 };

typedef struct job {
    sb_context_options options;
    cli_input input;
    const char *out;
    int64_t rows;
    const char *settings[SETTINGS]; // "n_clusters=8"
    int setting_count, result; // which of a method's several
    bool quiet;
    // what is made of them
    sb_context *ctx;
    sb_model *model;
} job;

static bool take_setting(void *to, const char *value) {
    job *j = to;
    const char *equals = strchr(value, '=');
    if (!equals || equals == value || j->setting_count == SETTINGS) {
        return false;
    }
    j->settings[j->setting_count++] = value;
    return true;
}

static void free_job(job *j) {
    sb_model_free(j->model);
    cli_input_free(&j->input);
    sb_context_free(j->ctx);
}

static int show_progress(void *user, int64_t done, int64_t total) {
    int *shown = user;
    const int percent = total > 0 ? (int)((double)done / (double)total * 100.0) : 0;
    if (percent != *shown) {
        fprintf(stderr, "\r%3d %%", percent);
        *shown = percent;
    }
    return 0;
}

static sb_status set_all(job *j, sb_error *err) {
    char name[64];
    sb_status status = SB_OK;
    for (int i = 0; i < j->setting_count && status == SB_OK; i++) {
        const char *equals = strchr(j->settings[i], '=');
        snprintf(name, sizeof name, "%.*s", (int)(equals - j->settings[i]), j->settings[i]);
        status = sb_model_set(j->model, name, equals + 1, err);
    }
    return status;
}

static sb_status fit(job *j, const char *algorithm, sb_error *err) {
    int shown = -1;
    sb_data data = {.size = sizeof data};
    sb_status status = sb_context_new(&j->options, &j->ctx, err);
    if (status == SB_OK) {
        status = sb_model_new(j->ctx, algorithm, &j->model, err);
    }
    if (status == SB_OK) {
        status = set_all(j, err);
    }
    if (status == SB_OK) {
        j->input.words = j->input.labels = sb_algorithm_takes(algorithm, "classes");
        status = cli_input_read(j->ctx, &j->input, &data, err);
    }
    if (status != SB_OK) {
        return status;
    }
    data.user = &shown;
    if (isatty(STDERR_FILENO) && !j->quiet) {
        data.progress = show_progress;
    }
    status = sb_model_fit(j->ctx, j->model, "fit", &data, err);
    if (shown >= 0) {
        fprintf(stderr, "\r      \r");
    }
    if (status == SB_OK) {
        fputs(sb_model_warnings(j->model), stderr);
        status = sb_model_save(j->model, j->out, err);
    }
    return status;
}

static sb_status print_digest(const job *j, sb_error *err) {
    uint8_t digest[32];
    sb_status status = sb_model_digest(j->ctx, j->model, digest, err);
    if (status == SB_OK) {
        printf("model ");
        for (int i = 0; i < 32; i++) {
            printf("%02x", digest[i]);
        }
        printf("  %s\n", cli_show(j->out));
    }
    return status;
}

int cli_fit(int argc, char **argv) {
    static const char usage[] = "samebits fit ALGORITHM --data FILE --out MODEL [--set NAME=VALUE ...] [--target Y] [--weights FILE]";
    static const char about[] =
        "Fits an estimator (samebits describe lists them; docs/estimators.md) and keeps it in a safetensors file: the same bytes\n"
        "for the same data, parameters and seed on any machine. Prints the digest of the model.";
    job j = {.options = {.size = sizeof j.options}};
    const cli_flag flags[] = {
        {"--set", CLI_EACH, &(cli_each){take_setting, &j}, 0, 0, "NAME=VALUE", "a parameter; may come again"},
        CLI_INPUT_FLAGS(j.input),
        {"--out", CLI_TEXT, &j.out, 0, 0, "MODEL", "where to write the model"},
        {"--quiet", CLI_SWITCH, &j.quiet, 0, 0, NULL, "no progress"},
        CLI_MACHINE_FLAGS(j.options.device, j.options.isa, j.options.threads, 1),
        {0},
    };
    int operands = 0, status = cli_flags(argc, argv, usage, about, flags, &operands);
    if (status >= 0) {
        return status;
    }
    if (operands != 1 || !j.input.data || !j.out) {
        return cli_usage_error(usage, "expected one algorithm, --data and --out");
    }
    sb_error err = {.status = SB_OK};
    sb_status done = fit(&j, argv[1], &err);
    if (done == SB_OK) {
        done = print_digest(&j, &err);
    }
    free_job(&j);
    return done == SB_OK ? CLI_GOOD : cli_failed("fit", &err);
}

// The result that is asked for, with the settings that are given.
static sb_status call_one(job *j, const char *method, sb_data *data, sb_array **out, sb_error *err) {
    char settings[1000] = "";
    sb_array *all[RESULTS] = {NULL};
    for (int i = 0; i < j->setting_count; i++) {
        const size_t used = strlen(settings);
        snprintf(settings + used, sizeof settings - used, "%s%s", used ? " " : "", j->settings[i]);
    }
    data->settings = settings;
    sb_status status = sb_model_call_many(j->ctx, j->model, method, data, j->result + 1, all, err);
    for (int i = 0; i < j->result; i++) {
        sb_array_free(all[i]);
    }
    *out = all[j->result];
    return status;
}

static sb_status call(job *j, const char *method, const char *path, sb_array **out, sb_error *err) {
    sb_data data = {.size = sizeof data};
    sb_status status = sb_context_new(&j->options, &j->ctx, err);
    if (status == SB_OK) {
        status = sb_model_load(j->ctx, path, &j->model, err);
    }
    if (status == SB_OK && j->input.data) {
        j->input.classes = sb_model_note(j->model, "classes");
        j->input.words = j->input.labels = sb_algorithm_takes(sb_model_algorithm(j->model), "classes");
        j->input.features = sb_model_features(j->model);
        status = cli_input_read(j->ctx, &j->input, &data, err);
    }
    data.rows = j->rows;
    if (status == SB_OK) {
        status = call_one(j, method, &data, out, err);
    }
    if (status != SB_OK || !j->out) {
        return status;
    }
    const bool labels = strcmp(method, "predict") == 0 && sb_algorithm_takes(sb_model_algorithm(j->model), "classes");
    return labels ? sb_labels_save(j->ctx, *out, j->input.classes, j->out, err) : sb_array_save(*out, j->out, err);
}

// One number, in full.
static sb_status print_number(const sb_array *a, sb_error *err) {
    double value = 0.0;
    float narrow = 0.0f;
    const bool single = sb_array_dtype(a) == SB_F32;
    sb_status status = single ? sb_array_read(a, &narrow, sizeof narrow, err) : sb_array_read(a, &value, sizeof value, err);
    if (status == SB_OK) {
        printf("%.17g\n", single ? (double)narrow : value);
    }
    return status;
}

int cli_method(int argc, char **argv) {
    char usage[160];
    static const char about[] =
        "Calls a method of a fitted estimator on a table: each row of the result has the bits it has alone, on any machine. A\n"
        "number is printed; a table is written to --out, csv where that ends in .csv, else npy.";
    const bool any = strcmp(argv[0], "call") == 0;
    job j = {.options = {.size = sizeof j.options}, .rows = 1};
    const cli_flag flags[] = {
        CLI_INPUT_FLAGS(j.input),
        {"--rows", CLI_INTEGER, &j.rows, 1, INT64_MAX, "N", "how many rows a method gives that takes no table (sample)"},
        {"--out", CLI_TEXT, &j.out, 0, 0, "FILE", "where to write the result"},
        {"--set", CLI_EACH, &(cli_each){take_setting, &j}, 0, 0, "NAME=VALUE", "a parameter that has another value in this call; may come again"},
        {"--result", CLI_COUNT, &j.result, 0, RESULTS - 1, "N", "which of a method's several results, from 0 (kneighbors: distances, indices)"},
        CLI_MACHINE_FLAGS(j.options.device, j.options.isa, j.options.threads, 1),
        {0},
    };
    snprintf(usage, sizeof usage, any ? "samebits %s METHOD MODEL [--data FILE | --rows N] [--target Y] [--out FILE]" : "samebits %s MODEL --data FILE [--target Y] [--out FILE]", argv[0]);
    int operands = 0, status = cli_flags(argc, argv, usage, about, flags, &operands);
    if (status >= 0) {
        return status;
    }
    if (operands != 1 + any || (!j.input.data && !any)) {
        return cli_usage_error(usage, "expected %sa model and --data", any ? "a method, " : "");
    }
    sb_error err = {.status = SB_OK};
    sb_array *out = NULL;
    sb_status done = call(&j, any ? argv[1] : argv[0], argv[1 + any], &out, &err);
    const bool number = out && sb_array_ndim(out) == 0;
    if (done == SB_OK && number) {
        done = print_number(out, &err);
    } else if (done == SB_OK && !j.out) {
        sb_array_free(out);
        free_job(&j);
        return cli_usage_error(usage, "%s gives a table: expected --out", any ? argv[1] : argv[0]);
    }
    sb_array_free(out);
    free_job(&j);
    return done == SB_OK ? CLI_GOOD : cli_failed(argv[0], &err);
}
