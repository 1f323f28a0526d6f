// SPDX-License-Identifier: Apache-2.0
// The tables that a command is given: X, and where they are asked for a target and weights.
#include "cli.h"

#include <string.h>
#include <unistd.h>

enum { DATA, TARGET, WEIGHTS };

static bool is_file(const char *path) { return access(path, R_OK) == 0; }

// A table of one column is a vector.
static sb_status as_vector(const sb_table *table, sb_array **made, const sb_array **out, sb_error *err) {
    const sb_array *a = sb_table_array(table);
    sb_array *whole;
    *out = a;
    if (sb_array_ndim(a) != 2 || sb_array_shape(a)[1] != 1) {
        return SB_OK;
    }
    memcpy(&whole, &a, sizeof whole); // (it is read only)
    sb_status status = sb_array_reshape(whole, 1, sb_array_shape(a), made, err);
    *out = *made;
    return status;
}

// The target's words and numbers as numbers of classes: those that the model has, else its own.
static sb_status as_classes(sb_context *ctx, cli_input *in, sb_table *from, const char *column, sb_data *data, sb_error *err) {
    sb_status status = sb_table_labels(ctx, from, column, in->classes, &in->numbers, in->classes ? NULL : &data->classes, err);
    data->y = in->numbers;
    return status;
}

static sb_status read_column(sb_context *ctx, cli_input *in, sb_data *data, sb_error *err) {
    sb_status status = sb_table_split(ctx, in->tables[DATA], in->target, &in->rest, &in->y, err);
    data->x = in->rest;
    data->y = in->y;
    return status == SB_OK && in->labels ? as_classes(ctx, in, in->tables[DATA], in->target, data, err) : status;
}

// The targets of a table of svmlight stand in it.
static sb_status take_own(sb_context *ctx, cli_input *in, sb_data *data, sb_error *err) {
    sb_table *own = sb_table_target(in->tables[DATA]);
    sb_status status = sb_table_widen(ctx, in->tables[DATA], in->features, err);
    data->x = sb_table_array(in->tables[DATA]);
    if (status != SB_OK || in->target) {
        return status;
    }
    return in->labels ? as_classes(ctx, in, own, NULL, data, err) : as_vector(own, &in->y, &data->y, err);
}

static sb_status read_target(sb_context *ctx, cli_input *in, sb_dtype dtype, sb_data *data, sb_error *err) {
    sb_status status = in->words ? sb_table_read_words(ctx, in->target, 0, NULL, &in->tables[TARGET], err)
                                 : sb_table_read(ctx, in->target, dtype, &in->tables[TARGET], err);
    if (status != SB_OK) {
        return status;
    }
    return in->labels ? as_classes(ctx, in, in->tables[TARGET], NULL, data, err) : as_vector(in->tables[TARGET], &in->y, &data->y, err);
}

sb_status cli_input_read(sb_context *ctx, cli_input *in, sb_data *data, sb_error *err) {
    const sb_dtype dtype = in->narrow ? SB_F32 : (sb_dtype)0;
    const bool apart = in->target && is_file(in->target), column = in->target && !apart;
    sb_status status = column && in->words ? sb_table_read_words(ctx, in->data, dtype, in->target, &in->tables[DATA], err)
                                           : sb_table_read(ctx, in->data, dtype, &in->tables[DATA], err);
    if (status == SB_OK) {
        data->x = sb_table_array(in->tables[DATA]);
    }
    if (status == SB_OK && sb_table_target(in->tables[DATA])) {
        status = take_own(ctx, in, data, err);
    }
    if (status == SB_OK && in->target) {
        status = column ? read_column(ctx, in, data, err) : read_target(ctx, in, dtype, data, err);
    }
    if (status == SB_OK && in->weights) {
        status = sb_table_read(ctx, in->weights, SB_F64, &in->tables[WEIGHTS], err);
        status = status == SB_OK ? as_vector(in->tables[WEIGHTS], &in->w, &data->weights, err) : status;
    }
    return status;
}

void cli_input_free(cli_input *in) {
    sb_array_free(in->rest);
    sb_array_free(in->y);
    sb_array_free(in->w);
    sb_array_free(in->numbers);
    for (int i = DATA; i <= WEIGHTS; i++) {
        sb_table_free(in->tables[i]);
    }
}
