// SPDX-License-Identifier: Apache-2.0
// Exported: estimators.
#include "api.h"
#include "learn.h"
#include "metric.h"

int64_t sb_algorithm_count(void) { return sbi_algorithm_count(); }

const char *sb_algorithm_name(int64_t index) {
    sbi_algorithm algorithm;
    return index >= 0 && sbi_algorithm_at(index, &algorithm) ? algorithm.name : NULL; // (the row's own text)
}

int sb_algorithm_takes(const char *algorithm, const char *word) {
    sbi_algorithm row;
    return algorithm && word && sbi_algorithm_find(algorithm, &row) && sbi_row_has(row.input, word);
}

sb_status sb_model_new(sb_context *ctx, const char *algorithm, sb_model **out, sb_error *err) {
    NEED(out);
    *out = NULL;
    NEED(ctx); NEED(algorithm);
    RETURN_INSIDE(sbi_model_new(ctx, algorithm, out, err));
}

void sb_model_free(sb_model *model) { sbi_model_free(model); }

const char *sb_model_algorithm(const sb_model *model) { return model ? model->algorithm.name : NULL; }

sb_status sb_model_set(sb_model *model, const char *parameter, const char *text, sb_error *err) {
    NEED(model); NEED(parameter); NEED(text);
    RETURN_INSIDE(sbi_model_set(model, parameter, text, err));
}

sb_status sb_model_set_array(sb_context *ctx, sb_model *model, const char *parameter, const sb_array *value, sb_error *err) {
    NEED(ctx); NEED(model); NEED(parameter); NEED(value);
    RETURN_INSIDE(sbi_model_set_array(ctx, model, parameter, value, err));
}

sb_status sb_model_set_note(sb_model *model, const char *key, const char *text, sb_error *err) {
    NEED(model); NEED(key);
    return sbi_model_note(model, key, text, err);
}

const char *sb_model_note(const sb_model *model, const char *key) { return model && key ? sbi_model_find_note(model, key) : NULL; }

sb_status sb_model_fit(sb_context *ctx, sb_model *model, const char *method, const sb_data *data, sb_error *err) {
    NEED(ctx); NEED(model); NEED(method); NEED(data);
    sb_data known;
    sb_status status = sbi_api_options(data, &known, &sbi_data_struct, err);
    if (status != SB_OK) return status;
    RETURN_INSIDE(sbi_model_fit(ctx, model, method, &known, err));
}

sb_status sb_model_take(sb_context *ctx, sb_model *model, const sb_fitted *fitted, sb_error *err) {
    NEED(ctx); NEED(model); NEED(fitted);
    sb_fitted known;
    sb_status status = sbi_api_options(fitted, &known, &sbi_fitted_struct, err);
    if (status != SB_OK) return status;
    if (known.size_count < 0 || known.array_count < 0)
        return sbi_fail(err, SB_ERR_ARGUMENT, "fitted", "%d sizes and %d arrays", known.size_count, known.array_count);
    if (known.size_count) {
        NEED_FIELD(known, size_names); NEED_FIELD(known, sizes);
    }
    if (known.array_count) {
        NEED_FIELD(known, array_names); NEED_FIELD(known, arrays);
    }
    for (int i = 0; i < known.size_count; i++)
        if (!known.size_names[i]) return sbi_fail(err, SB_ERR_ARGUMENT, "size_names", "size_names[%d] is NULL", i);
    for (int i = 0; i < known.array_count; i++)
        if (!known.array_names[i] || !known.arrays[i])
            return sbi_fail(err, SB_ERR_ARGUMENT, known.array_names[i] ? "arrays" : "array_names", "number %d is NULL", i);
    RETURN_INSIDE(sbi_model_take(ctx, model, &known, err));
}

sb_status sb_model_call(sb_context *ctx, const sb_model *model, const char *method, const sb_data *data, sb_array **out, sb_error *err) {
    NEED(out);
    *out = NULL;
    NEED(ctx); NEED(model); NEED(method); NEED(data);
    sb_data known;
    sb_status status = sbi_api_options(data, &known, &sbi_data_struct, err);
    if (status != SB_OK) return status;
    RETURN_INSIDE(sbi_model_call(ctx, model, method, &known, 1, out, err));
}

sb_status sb_model_call_many(sb_context *ctx, const sb_model *model, const char *method, const sb_data *data, int count, sb_array **out, sb_error *err) {
    NEED(out);
    if (count < 1 || count > SBI_RESULTS) return sbi_fail(err, SB_ERR_ARGUMENT, "count", "%d results: expected 1 to %d", count, SBI_RESULTS);
    for (int i = 0; i < count; i++) out[i] = NULL;
    NEED(ctx); NEED(model); NEED(method); NEED(data);
    sb_data known;
    sb_status status = sbi_api_options(data, &known, &sbi_data_struct, err);
    if (status != SB_OK) return status;
    RETURN_INSIDE(sbi_model_call(ctx, model, method, &known, count, out, err));
}

int64_t sb_model_features(const sb_model *model) { return model && model->dtype ? sbi_model_size(model, "d") : -1; }

int sb_model_fitted(const sb_model *model) { return model && model->dtype; }

const char *sb_model_warnings(const sb_model *model) { return model && model->warnings ? model->warnings : ""; }

// The row of the index-th array that is there, -1 beyond the last.
static int array_row(const sb_model *model, int64_t index) {
    for (int i = 0; model && index >= 0 && model->algorithm.fitted[i].name; i++)
        if (model->arrays[i] && index-- == 0) return i;
    return -1;
}

int64_t sb_model_array_count(const sb_model *model) {
    int64_t count = 0;
    while (array_row(model, count) >= 0) count++;
    return count;
}

const char *sb_model_array_name(const sb_model *model, int64_t index) {
    int row = array_row(model, index);
    return row < 0 ? NULL : model->algorithm.fitted[row].name;
}

const sb_array *sb_model_array(const sb_model *model, const char *name) { return model && name ? sbi_model_array(model, name) : NULL; }

sb_status sb_model_save(const sb_model *model, const char *path, sb_error *err) {
    NEED(model); NEED(path);
    RETURN_INSIDE(sbi_model_save(model, path, err));
}

sb_status sb_model_load(sb_context *ctx, const char *path, sb_model **out, sb_error *err) {
    NEED(out);
    *out = NULL;
    NEED(ctx); NEED(path);
    RETURN_INSIDE(sbi_model_load(ctx, path, out, err));
}

sb_status sb_model_store(const sb_model *model, void *to, int64_t capacity, int64_t *size, sb_error *err) {
    NEED(model); NEED(size);
    *size = 0;
    RETURN_INSIDE(sbi_model_store(model, to, capacity, size, err));
}

sb_status sb_model_restore(sb_context *ctx, const void *bytes, int64_t size, sb_model **out, sb_error *err) {
    NEED(out);
    *out = NULL;
    NEED(ctx); NEED(bytes);
    if (size < 0) return sbi_fail(err, SB_ERR_ARGUMENT, "size", "%lld bytes", (long long)size);
    RETURN_INSIDE(sbi_model_restore(ctx, bytes, size, out, err));
}

sb_status sb_model_digest(sb_context *ctx, const sb_model *model, uint8_t out[32], sb_error *err) {
    NEED(ctx); NEED(model); NEED(out);
    RETURN_INSIDE(sbi_model_digest(ctx, model, out, err));
}

static sb_status check_table_dtype(sb_dtype dtype, sb_error *err) {
    if (!dtype || dtype == SB_F32 || dtype == SB_F64) return SB_OK;
    return sbi_fail(err, SB_ERR_DTYPE, "dtype", "dtype is %d: expected 0, float32 or float64", (int)dtype);
}

sb_status sb_table_read(sb_context *ctx, const char *path, sb_dtype dtype, sb_table **out, sb_error *err) {
    NEED(out);
    *out = NULL;
    NEED(ctx); NEED(path);
    sb_status status = check_table_dtype(dtype, err);
    if (status != SB_OK) return status;
    RETURN_INSIDE(sbi_table_read(ctx, path, dtype, false, NULL, out, err));
}

sb_status sb_table_read_words(sb_context *ctx, const char *path, sb_dtype dtype, const char *column, sb_table **out, sb_error *err) {
    NEED(out);
    *out = NULL;
    NEED(ctx); NEED(path);
    sb_status status = check_table_dtype(dtype, err);
    if (status != SB_OK) return status;
    RETURN_INSIDE(sbi_table_read(ctx, path, dtype, true, column, out, err));
}

void sb_table_free(sb_table *table) { sbi_table_free(table); }

sb_table *sb_table_target(const sb_table *table) { return table ? sbi_table_target(table) : NULL; }

sb_status sb_table_widen(sb_context *ctx, sb_table *table, int64_t columns, sb_error *err) {
    NEED(ctx); NEED(table);
    RETURN_INSIDE(sbi_table_widen(ctx, table, columns, err));
}

const sb_array *sb_table_array(const sb_table *table) { return table ? sbi_table_array(table) : NULL; }

const char *sb_table_name(const sb_table *table, int64_t column) { return table ? sbi_table_name(table, column) : NULL; }

const char *sb_table_word(const sb_table *table, int64_t column, int64_t number) { return table ? sbi_table_word(table, column, number) : NULL; }

sb_status sb_table_labels(sb_context *ctx, sb_table *table, const char *column, const char *classes, sb_array **y, const char **names, sb_error *err) {
    NEED(y);
    *y = NULL;
    if (names) *names = NULL;
    NEED(ctx); NEED(table);
    RETURN_INSIDE(sbi_table_labels(ctx, table, column, classes, y, names, err));
}

sb_status sb_labels_save(sb_context *ctx, const sb_array *numbers, const char *classes, const char *path, sb_error *err) {
    NEED(ctx); NEED(numbers); NEED(classes); NEED(path);
    RETURN_INSIDE(sbi_labels_save(ctx, numbers, classes, path, err));
}

sb_status sb_table_split(sb_context *ctx, const sb_table *table, const char *column, sb_array **rest, sb_array **picked, sb_error *err) {
    NEED(rest); NEED(picked);
    *rest = *picked = NULL;
    NEED(ctx); NEED(table); NEED(column);
    RETURN_INSIDE(sbi_table_split(ctx, table, column, rest, picked, err));
}

sb_status sb_array_save(const sb_array *a, const char *path, sb_error *err) {
    NEED(a); NEED(path);
    RETURN_INSIDE(sbi_table_write(a, path, err));
}

// ---- metrics

int64_t sb_metric_count(void) { return sbi_metric_count(); }

const char *sb_metric_name(int64_t index) {
    sbi_metric_rows metric;
    return index >= 0 && sbi_metric_at(index, &metric) ? metric.name : NULL; // (the row's own text)
}

int sb_metric_takes(const char *metric, const char *word) {
    sbi_metric_rows row;
    return metric && word && sbi_metric_find(metric, &row, NULL) == SB_OK && sbi_row_has(row.inputs, word);
}

sb_status sb_metric(sb_context *ctx, const char *metric, const sb_metric_data *data, sb_array **out, sb_error *err) {
    NEED(out);
    *out = NULL;
    NEED(ctx); NEED(metric); NEED(data);
    sb_metric_data known;
    sb_status status = sbi_api_options(data, &known, &sbi_metric_struct, err);
    if (status != SB_OK) return status;
    RETURN_INSIDE(sbi_metric_run(ctx, metric, &known, out, err));
}
