// SPDX-License-Identifier: Apache-2.0
// samebits metric: how good predictions are, from tables in files.
#include "cli.h"

#include <stdlib.h>

enum { SETTINGS = 16 };

typedef struct job {
    sb_context_options options;
    const char *truth, *prediction, *weights, *out;
    const char *settings[SETTINGS]; // "average=macro"
    int64_t setting_count;
    // what is made of them
    sb_context *ctx;
    sb_table *tables[3];
    sb_array *vectors[3], *result;
} job;

static bool take_setting(void *to, const char *value) {
    job *j = to;
    if (j->setting_count == SETTINGS) {
        return false;
    }
    j->settings[j->setting_count++] = value;
    return true;
}

// The array of a file; a table of one column is a vector. X of silhouettes may have one column: there it stays.
static sb_status read_array(job *j, int at, const char *path, bool points, const sb_array **out, sb_error *err) {
    sb_status status = sb_table_read(j->ctx, path, at == 2 ? SB_F64 : (sb_dtype)0, &j->tables[at], err);
    if (status != SB_OK) {
        return status;
    }
    const sb_array *a = sb_table_array(j->tables[at]);
    *out = a;
    if (points || sb_array_ndim(a) != 2 || sb_array_shape(a)[1] != 1) {
        return SB_OK;
    }
    status = sb_array_new(j->ctx, sb_array_dtype(a), 1, sb_array_shape(a), &j->vectors[at], err);
    const size_t bytes = (size_t)sb_array_size(a) * sb_dtype_size(sb_array_dtype(a));
    void *copy = malloc(bytes ? bytes : 1);
    if (status == SB_OK && !copy) {
        *err = (sb_error){.status = SB_ERR_MEMORY, .message = "out of memory for a column"};
        status = SB_ERR_MEMORY;
    }
    if (status == SB_OK) {
        status = sb_array_read(a, copy, bytes, err);
    }
    if (status == SB_OK) {
        status = sb_array_write(j->vectors[at], copy, bytes, err);
    }
    free(copy);
    *out = j->vectors[at];
    return status;
}

static sb_status run(job *j, const char *metric, sb_error *err) {
    sb_metric_data data = {.size = sizeof data, .settings = j->settings, .setting_count = j->setting_count};
    const bool points = metric[0] == 's' && metric[1] == 'i'; // silhouette_...
    sb_status status = sb_context_new(&j->options, &j->ctx, err);
    if (status == SB_OK) {
        status = read_array(j, 0, j->truth, points, &data.truth, err);
    }
    if (status == SB_OK) {
        status = read_array(j, 1, j->prediction, false, &data.prediction, err);
    }
    if (status == SB_OK && j->weights) {
        status = read_array(j, 2, j->weights, false, &data.weights, err);
    }
    if (status == SB_OK) {
        status = sb_metric(j->ctx, metric, &data, &j->result, err);
    }
    return status == SB_OK && j->out ? sb_array_save(j->result, j->out, err) : status;
}

// One number a line, of a matrix one row.
static sb_status print(const sb_array *a, sb_error *err) {
    const int64_t size = sb_array_size(a), columns = sb_array_ndim(a) == 2 ? sb_array_shape(a)[1] : 1;
    double *values = malloc((size_t)size * sizeof *values + 1);
    if (!values) {
        *err = (sb_error){.status = SB_ERR_MEMORY, .message = "out of memory for a result"};
        return SB_ERR_MEMORY;
    }
    sb_status status = sb_array_read(a, values, (size_t)size * sizeof *values, err);
    for (int64_t i = 0; i < size && status == SB_OK; i++) {
        printf("%.17g%c", values[i], (i + 1) % columns ? ' ' : '\n');
    }
    free(values);
    return status;
}

int cli_metric(int argc, char **argv) {
    static const char usage[] = "samebits metric NAME --truth FILE --prediction FILE [--weights FILE] [--set NAME=VALUE ...] [--out FILE]";
    static const char about[] =
        "Computes one of scikit-learn's metrics (docs/metrics.md lists them) from columns in files, csv or npy: numbers of classes from 0,\n"
        "values, scores; of silhouettes the points as truth and their clusters as prediction. Prints the numbers, or writes them to --out.";
    job j = {.options = {.size = sizeof j.options}};
    const cli_flag flags[] = {
        {"--truth", CLI_TEXT, &j.truth, 0, 0, "FILE", "what is"},
        {"--prediction", CLI_TEXT, &j.prediction, 0, 0, "FILE", "what was predicted"},
        {"--weights", CLI_TEXT, &j.weights, 0, 0, "FILE", "a weight a row"},
        {"--set", CLI_EACH, &(cli_each){take_setting, &j}, 0, 0, "NAME=VALUE", "a setting; may come again"},
        {"--out", CLI_TEXT, &j.out, 0, 0, "FILE", "where to write the result: csv where it ends in .csv, else npy"},
        CLI_MACHINE_FLAGS(j.options.device, j.options.isa, j.options.threads, 1),
        {0},
    };
    int operands = 0, status = cli_flags(argc, argv, usage, about, flags, &operands);
    if (status >= 0) {
        return status;
    }
    if (operands != 1 || !j.truth || !j.prediction) {
        return cli_usage_error(usage, "expected one metric, --truth and --prediction");
    }
    sb_error err = {.status = SB_OK};
    sb_status done = run(&j, argv[1], &err);
    if (done == SB_OK && !j.out) {
        done = print(j.result, &err);
    }
    sb_array_free(j.result);
    for (int i = 0; i < 3; i++) {
        sb_array_free(j.vectors[i]);
        sb_table_free(j.tables[i]);
    }
    sb_context_free(j.ctx);
    return done == SB_OK ? CLI_GOOD : cli_failed("metric", &err);
}
