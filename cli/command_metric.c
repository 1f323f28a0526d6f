// SPDX-License-Identifier: Apache-2.0
// samebits metric: how good predictions are, from tables in files.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

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

enum { TRUTH, PREDICTION, WEIGHTS };

static sb_status read_table(job *j, int at, const char *path, bool labels, sb_error *err) {
    return labels ? sb_table_read_words(j->ctx, path, 0, NULL, &j->tables[at], err) : sb_table_read(j->ctx, path, at == WEIGHTS ? SB_F64 : (sb_dtype)0, &j->tables[at], err);
}

static int64_t count_words(const sb_table *table) {
    int64_t count = 0;
    while (sb_table_word(table, 0, count)) {
        count++;
    }
    return count;
}

// Where the words of two tables, each ascending by their bytes, stand among those of both.
static void merge_words(const sb_table *a, const sb_table *b, int64_t *place_a, int64_t *place_b) {
    int64_t i = 0, k = 0;
    for (int64_t place = 0;; place++) {
        const char *u = sb_table_word(a, 0, i), *v = sb_table_word(b, 0, k);
        if (!u && !v) {
            return;
        }
        const int order = !u ? 1 : !v ? -1 : strcmp(u, v);
        if (order <= 0) {
            place_a[i++] = place;
        }
        if (order >= 0) {
            place_b[k++] = place;
        }
    }
}

// The array of a table; one of one column is a vector, its numbers in new places where there are such. X of silhouettes may have
// one column: there it stays.
static sb_status as_array(job *j, int at, bool points, const int64_t *places, const sb_array **out, sb_error *err) {
    const sb_array *a = sb_table_array(j->tables[at]);
    *out = a;
    if (points || sb_array_ndim(a) != 2 || sb_array_shape(a)[1] != 1) {
        return SB_OK;
    }
    sb_status status = sb_array_new(j->ctx, sb_array_dtype(a), 1, sb_array_shape(a), &j->vectors[at], err);
    const size_t bytes = (size_t)sb_array_size(a) * sb_dtype_size(sb_array_dtype(a));
    void *copy = malloc(bytes ? bytes : 1);
    if (status == SB_OK && !copy) {
        *err = (sb_error){.status = SB_ERR_MEMORY, .message = "out of memory for a column"};
        status = SB_ERR_MEMORY;
    }
    if (status == SB_OK) {
        status = sb_array_read(a, copy, bytes, err);
    }
    for (int64_t i = 0; i < sb_array_size(a) && status == SB_OK && places; i++) {
        double *number = (double *)copy + i; // (NaN: nothing stood there)
        *number = *number == *number ? (double)places[(int64_t)*number] : *number;
    }
    if (status == SB_OK) {
        status = sb_array_write(j->vectors[at], copy, bytes, err);
    }
    free(copy);
    *out = j->vectors[at];
    return status;
}

// Labels that are words become numbers of one list of classes, ascending by their bytes.
static sb_status as_arrays(job *j, const char *metric, bool points, sb_metric_data *data, sb_error *err) {
    const int64_t words[2] = {count_words(j->tables[TRUTH]), count_words(j->tables[PREDICTION])};
    if (sb_metric_takes(metric, "classes") && (words[0] > 0) != (words[1] > 0)) {
        *err = (sb_error){.status = SB_ERR_ARGUMENT, .argument = "prediction", .message = "the classes of one file are words, those of the other are numbers"};
        return SB_ERR_ARGUMENT;
    }
    int64_t *places = malloc((size_t)(words[0] + words[1] + 1) * sizeof *places);
    if (!places) {
        *err = (sb_error){.status = SB_ERR_MEMORY, .message = "out of memory for words"};
        return SB_ERR_MEMORY;
    }
    merge_words(j->tables[TRUTH], j->tables[PREDICTION], places, places + words[0]);
    sb_status status = as_array(j, TRUTH, points, words[0] ? places : NULL, &data->truth, err);
    if (status == SB_OK) {
        status = as_array(j, PREDICTION, false, words[1] ? places + words[0] : NULL, &data->prediction, err);
    }
    free(places);
    return status;
}

static sb_status run(job *j, const char *metric, sb_error *err) {
    sb_metric_data data = {.size = sizeof data, .settings = j->settings, .setting_count = j->setting_count};
    const bool points = sb_metric_takes(metric, "points"), both = sb_metric_takes(metric, "classes") || sb_metric_takes(metric, "clusters");
    sb_status status = sb_context_new(&j->options, &j->ctx, err);
    if (status == SB_OK) {
        status = read_table(j, TRUTH, j->truth, both || sb_metric_takes(metric, "scores"), err);
    }
    if (status == SB_OK) {
        status = read_table(j, PREDICTION, j->prediction, both || points, err);
    }
    if (status == SB_OK) {
        status = as_arrays(j, metric, points, &data, err);
    }
    if (status == SB_OK && j->weights) {
        status = read_table(j, WEIGHTS, j->weights, false, err);
        status = status == SB_OK ? as_array(j, WEIGHTS, false, NULL, &data.weights, err) : status;
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
        "Computes one of scikit-learn's metrics (docs/metrics.md lists them) from columns in files, csv or npy: numbers of classes from 0\n"
        "or words (numbered by their bytes), values, scores; of silhouettes the points as truth and their clusters as prediction. Prints the numbers, or writes them to --out.";
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
