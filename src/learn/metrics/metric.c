// SPDX-License-Identifier: Apache-2.0
// The rows of metrics.def as a table, the check of what a metric is given, and the pieces that metrics share.
#include "metric.h"
#include "check.h"

#include <string.h>

typedef sb_status (*metric_run)(sbi_metric_call *call, sb_error *err);
typedef struct metric_row {
    const char *metric, *text[4];
    metric_run run; // NULL: a setting
} metric_row;

#define METRIC(name, inputs, result, about) sb_status sbi_metric_##name(sbi_metric_call *call, sb_error *err);
#define SETTING(metric, name, type, value, about)
#include "metrics.def"
#undef METRIC
#undef SETTING

#define METRIC(name, inputs, result, about) {#name, {inputs, result, about, NULL}, sbi_metric_##name},
#define SETTING(metric, name, type, value, about) {#metric, {#name, type, value, about}, NULL},
static const metric_row metric_rows[] = {
#include "metrics.def"
};
enum { ROWS = sizeof metric_rows / sizeof *metric_rows };

int64_t sbi_metric_count(void) {
    int64_t count = 0;
    for (int i = 0; i < ROWS; i++) count += metric_rows[i].run != NULL;
    return count;
}

// (test_metric holds that no list of settings is longer than its place.)
bool sbi_metric_at(int64_t index, sbi_metric_rows *out) {
    int at = 0;
    while (at < ROWS && !(metric_rows[at].run && index-- == 0)) at++;
    if (index >= 0 || at == ROWS) return false;
    const metric_row *row = metric_rows + at, *end = metric_rows + ROWS;
    *out = (sbi_metric_rows){.name = row->metric, .inputs = row->text[0], .result = row->text[1], .about = row->text[2], .run = row->run};
    for (int own = 0; ++row < end && !row->run && own < SBI_SETTINGS - 1; own++)
        out->settings[own] = (sbi_parameter_row){row->text[0], row->text[1], row->text[2], row->text[3], false};
    return true;
}

sb_status sbi_metric_find(const char *name, sbi_metric_rows *out, sb_error *err) {
    char shown[60];
    for (int64_t i = 0; sbi_metric_at(i, out); i++)
        if (strcmp(out->name, name) == 0) return SB_OK;
    return sbi_fail(err, SB_ERR_ARGUMENT, "metric", "there is no metric \"%s\" (docs/metrics.md lists them)", sbi_escape(name, strlen(name), shown, sizeof shown));
}

// ---- settings

static sb_status read_setting(sbi_metric_call *call, const char *setting, sb_error *err) {
    const sbi_algorithm named = {.name = call->metric->name};
    const sbi_parameter_row *row = call->metric->settings;
    const size_t length = strcspn(setting, "=");
    char shown[80];
    while (row->name && !(strlen(row->name) == length && memcmp(row->name, setting, length) == 0)) row++;
    if (row->name && setting[length]) return sbi_value_read(&named, row, setting + length + 1, &call->values[row - call->metric->settings], err);
    return sbi_fail(err, SB_ERR_ARGUMENT, "settings", "%s has no setting \"%s\" (docs/metrics.md lists them)", call->metric->name,
                    sbi_escape(setting, strlen(setting), shown, sizeof shown));
}

static sb_status read_settings(sbi_metric_call *call, const sb_metric_data *data, sb_error *err) {
    const sbi_algorithm named = {.name = call->metric->name};
    sb_status status = SB_OK;
    for (const sbi_parameter_row *row = call->metric->settings; row->name && status == SB_OK; row++)
        status = sbi_value_read(&named, row, row->value, &call->values[row - call->metric->settings], err);
    if (data->setting_count > 0 && !data->settings) return sbi_fail(err, SB_ERR_ARGUMENT, "settings", "settings is NULL");
    for (int64_t i = 0; i < data->setting_count && status == SB_OK; i++)
        status = data->settings[i] ? read_setting(call, data->settings[i], err) : sbi_fail(err, SB_ERR_ARGUMENT, "settings", "a setting is NULL");
    return status;
}

const sbi_value *sbi_setting(const sbi_metric_call *call, const char *name) {
    static const sbi_value nothing = {.kind = SBI_NONE};
    for (const sbi_parameter_row *row = call->metric->settings; row->name; row++)
        if (strcmp(row->name, name) == 0) return &call->values[row - call->metric->settings];
    return &nothing;
}

bool sbi_setting_is(const sbi_metric_call *call, const char *name, const char *word) {
    const sbi_value *value = sbi_setting(call, name);
    return value->kind == SBI_WORD ? strcmp(value->word, word) == 0 : value->kind == SBI_NONE && strcmp(word, "none") == 0;
}

// ---- what it is given

static sb_status check_rows(const sb_array *a, const char *name, int64_t n, sb_error *err) {
    if (a->shape[0] == n) return SB_OK;
    return sbi_fail(err, SB_ERR_SHAPE, name, "Found input variables with inconsistent numbers of samples: [%lld, %lld]", (long long)n, (long long)a->shape[0]);
}

static sb_status take_classes(sbi_metric_call *call, const sb_array *a, const char *name, const int64_t **out, sb_error *err) {
    sb_status status;
    double *given = NULL;
    if ((status = sbi_check_ndim(a, name, 1, err)) || (status = check_rows(a, name, call->n, err))) return status;
    int64_t *numbers = sbi_arena_allocate(call->arena, a->size, sizeof *numbers, err);
    if (!numbers) return SB_ERR_MEMORY;
    status = sbi_read_reals(call->ctx, a, &given, err);
    for (int64_t i = 0; i < a->size && status == SB_OK; i++) {
        numbers[i] = given[i] >= 0.0 && given[i] < 0x1p31 ? (int64_t)given[i] : -1;
        if (numbers[i] < 0 || (double)numbers[i] != given[i])
            status = sbi_fail(err, SB_ERR_ARGUMENT, name, "%s[%lld] is %g: numbers of classes are whole, 0 to 2^31 - 1", name, (long long)i, given[i]);
        if (numbers[i] >= call->classes) call->classes = numbers[i] + 1;
    }
    sbi_release(&call->ctx->allocator, given);
    *out = numbers;
    return status;
}

static sb_status take_reals(sbi_metric_call *call, const sb_array *a, const char *name, const double **out, sb_error *err) {
    sb_status status;
    double *numbers = NULL, *kept;
    if ((status = sbi_check_real(a, name, err))) return status;
    if (a->ndim != 1 && a->ndim != 2) return sbi_fail(err, SB_ERR_SHAPE, name, "%s has %d dimensions, it must have 1 or 2", name, a->ndim);
    if ((status = check_rows(a, name, call->n, err)) || (status = sbi_read_reals(call->ctx, a, &numbers, err))) return status;
    for (int64_t i = 0; i < a->size && status == SB_OK; i++)
        if (numbers[i] - numbers[i] != 0.0)
            status = sbi_fail(err, SB_ERR_NONFINITE, name, "Input %s contains %s (element %lld).", name, numbers[i] != numbers[i] ? "NaN" : "infinity", (long long)i);
    if (status == SB_OK && (kept = sbi_arena_allocate(call->arena, a->size, sizeof *kept, err))) {
        memcpy(kept, numbers, (size_t)a->size * sizeof *kept);
        *out = kept;
    } else if (status == SB_OK) {
        status = SB_ERR_MEMORY;
    }
    sbi_release(&call->ctx->allocator, numbers);
    return status;
}

static sb_status take_weights(sbi_metric_call *call, const sb_array *weights, sb_error *err) {
    sb_status status;
    double *ones;
    if (!weights) {
        if (!(ones = sbi_metric_room(call, call->n, err))) return SB_ERR_MEMORY;
        for (int64_t i = 0; i < call->n; i++) ones[i] = 1.0;
        call->w = ones;
        call->total = (double)call->n;
        return SB_OK;
    }
    if (!sbi_row_has(call->metric->inputs, "weights")) return sbi_fail(err, SB_ERR_UNSUPPORTED, "weights", "%s takes no sample weights", call->metric->name);
    if ((status = sbi_check_ndim(weights, "weights", 1, err)) || (status = take_reals(call, weights, "weights", &call->w, err))) return status;
    for (int64_t i = 0; i < call->n; i++)
        if (call->w[i] < 0.0) return sbi_fail(err, SB_ERR_ARGUMENT, "weights", "weights[%lld] is %g: weights may not be negative", (long long)i, call->w[i]);
    call->total = sbi_host_sum(call->n, call->w);
    return call->total > 0.0 ? SB_OK : sbi_fail(err, SB_ERR_ARGUMENT, "weights", "Weights sum to zero, can't be normalized");
}

static sb_status take_data(sbi_metric_call *call, const sb_metric_data *data, sb_error *err) {
    const char *inputs = call->metric->inputs;
    const sb_array *truth = data->truth, *guess = data->prediction;
    sb_status status;
    if (!truth || !guess) return sbi_fail(err, SB_ERR_ARGUMENT, truth ? "prediction" : "truth", "%s is NULL", truth ? "prediction" : "truth");
    if (truth->ndim < 1 || truth->shape[0] < 1) return sbi_fail(err, SB_ERR_EMPTY, "truth", "%s needs a row at least", call->metric->name);
    if (data->classes < 0 || data->classes > INT64_C(1) << 31) return sbi_fail(err, SB_ERR_ARGUMENT, "classes", "classes is %lld", (long long)data->classes);
    call->n = truth->shape[0];
    call->classes = data->classes;
    if (guess->ndim < 1) return sbi_fail(err, SB_ERR_SHAPE, "prediction", "prediction has no rows");
    call->several = guess->ndim == 2;
    call->narrow = guess->dtype == SB_F32;
    call->columns = call->several ? guess->shape[1] : 1;
    if (sbi_row_has(inputs, "points")) {
        if ((status = sbi_check_real(truth, "truth", err)) || (status = sbi_check_ndim(truth, "truth", 2, err)) ||
            (status = take_reals(call, truth, "truth", &call->y, err)))
            return status;
        call->points = truth;
        call->columns = truth->shape[1];
    } else if (sbi_row_has(inputs, "values")) {
        if ((status = take_reals(call, truth, "truth", &call->y, err)) || (status = take_reals(call, guess, "prediction", &call->p, err))) return status;
        if (truth->size != guess->size || truth->size == 0)
            return sbi_fail(err, SB_ERR_SHAPE, "prediction", "y_true and y_pred have different number of output (%lld!=%lld)", (long long)(truth->size / call->n),
                            (long long)(guess->size / call->n));
    } else if ((status = take_classes(call, truth, "truth", &call->truth, err))) {
        return status;
    }
    if (sbi_row_has(inputs, "scores") && (status = take_reals(call, guess, "prediction", &call->p, err))) return status;
    if (!call->p && (status = take_classes(call, guess, "prediction", &call->guess, err))) return status;
    return take_weights(call, data->weights, err);
}

sb_status sbi_metric_run(sb_context *ctx, const char *name, const sb_metric_data *data, sb_array **out, sb_error *err) {
    sbi_metric_rows metric;
    sbi_metric_call call = {.ctx = ctx, .metric = &metric, .out = out};
    sb_status status = sbi_metric_find(name, &metric, err);
    if (status != SB_OK) return status;
    if (!(call.arena = sbi_arena_new(&ctx->allocator, err))) return SB_ERR_MEMORY;
    if ((status = read_settings(&call, data, err)) == SB_OK && (status = take_data(&call, data, err)) == SB_OK) status = metric.run(&call, err);
    sbi_arena_free(call.arena);
    return status;
}

// ---- pieces

double *sbi_metric_room(const sbi_metric_call *call, int64_t n, sb_error *err) { return sbi_arena_allocate(call->arena, n, sizeof(double), err); }

sb_status sbi_metric_array(const sbi_metric_call *call, int ndim, int64_t rows, int64_t columns, const double *values, sb_error *err) {
    const int64_t shape[2] = {rows, columns};
    sb_status status = sbi_array_new(call->ctx, SB_F64, ndim, shape, call->out, err);
    if (status == SB_OK && (status = sbi_write_reals(call->ctx, values, *call->out, err))) {
        sbi_array_free(*call->out);
        *call->out = NULL;
    }
    return status;
}

sb_status sbi_metric_number(const sbi_metric_call *call, double value, sb_error *err) {
    value = value == value ? value : __builtin_nan("");
    return sbi_metric_array(call, 0, 1, 1, &value, err);
}

sb_status sbi_metric_logs(const sbi_metric_call *call, int64_t n, double *x, bool back, sb_error *err) {
    sb_array *a = NULL;
    sb_status status;
    if (n == 0) return SB_OK;
    if ((status = sbi_array_new(call->ctx, SB_F64, 1, &n, &a, err))) return status;
    if ((status = sbi_write_reals(call->ctx, x, a, err)) == SB_OK && (status = sbi_unary(call->ctx, back ? SB_EXP : SB_LOG, a, a, err)) == SB_OK)
        status = sbi_array_read(a, x, (size_t)n * sizeof *x, err);
    sbi_array_free(a);
    return status;
}

sb_status sbi_metric_order(const sbi_metric_call *call, int64_t n, const double *x, bool descending, int64_t **order, sb_error *err) {
    sb_array *a = NULL, *indices = NULL;
    sb_status status;
    if (!(*order = sbi_arena_allocate(call->arena, n, sizeof **order, err))) return SB_ERR_MEMORY;
    if ((status = sbi_array_new(call->ctx, SB_F64, 1, &n, &a, err)) || (status = sbi_write_reals(call->ctx, x, a, err)) ||
        (status = sbi_array_new(call->ctx, SB_I64, 1, &n, &indices, err)) || (status = sbi_argsort(call->ctx, a, descending, indices, err)))
        goto done;
    status = sbi_array_read(indices, *order, (size_t)n * sizeof **order, err);
done:
    sbi_array_free(a);
    sbi_array_free(indices);
    return status;
}

sb_status sbi_metric_sums(const sbi_metric_call *call, const int64_t *label, int64_t k, double *sums, sb_error *err) {
    const int64_t n = call->n, terms[2] = {n, 1}, segments[2] = {k + 1, 1};
    sb_array *x = NULL, *labels = NULL, *sum = NULL, *total = NULL;
    sb_status status;
    int32_t *narrow = sbi_arena_allocate(call->arena, n, sizeof *narrow, err);
    double *all = sbi_metric_room(call, k + 1, err);
    if (!narrow || !all) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) narrow[i] = (int32_t)(label[i] < 0 ? k : label[i]);
    if ((status = sbi_array_new(call->ctx, SB_F64, 2, terms, &x, err)) || (status = sbi_write_reals(call->ctx, call->w, x, err)) ||
        (status = sbi_array_new(call->ctx, SB_I32, 1, &n, &labels, err)) ||
        (status = sbi_array_write(labels, narrow, (size_t)n * sizeof *narrow, err)) ||
        (status = sbi_array_new(call->ctx, SB_F64, 2, segments, &sum, err)) || (status = sbi_array_new(call->ctx, SB_F64, 1, segments, &total, err)) ||
        (status = sbi_segments(call->ctx, x, labels, NULL, sum, total, err)) || (status = sbi_array_read(sum, all, (size_t)(k + 1) * sizeof *all, err)))
        goto done;
    memcpy(sums, all, (size_t)k * sizeof *sums);
done:
    sbi_array_free(x);
    sbi_array_free(labels);
    sbi_array_free(sum);
    sbi_array_free(total);
    return status;
}
