// SPDX-License-Identifier: Apache-2.0
// A model: an algorithm's rows, its parameters, sizes, named arrays. Everything here holds for every algorithm; what a
// method may take for granted (learn.h) is checked here.
#include "check.h"
#include "learn.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// ---- made and freed

sb_status sbi_model_new(sb_context *ctx, const char *algorithm, sb_model **out, sb_error *err) {
    sb_model *model = sbi_allocate(&ctx->allocator, 1, sizeof *model, err);
    sb_status status = SB_OK;
    if (!model) return SB_ERR_MEMORY;
    model->allocator = ctx->allocator;
    if (!sbi_algorithm_find(algorithm, &model->algorithm)) {
        char shown[80];
        status = sbi_fail(err, SB_ERR_ARGUMENT, "algorithm", "there is no algorithm \"%s\" (samebits describe lists them)",
                          sbi_escape(algorithm, strlen(algorithm), shown, sizeof shown));
    }
    for (const sbi_parameter_row *p = model->algorithm.parameters; status == SB_OK && p->name; p++)
        if (!p->surface) status = sbi_value_read(&model->algorithm, p, p->value, &model->values[p - model->algorithm.parameters], err);
    if (status == SB_OK)
        *out = model;
    else
        sbi_model_free(model);
    return status;
}

static void forget_fit(sb_model *model) {
    for (int i = 0; i < SBI_FITTED; i++) {
        sbi_array_free(model->arrays[i]);
        model->arrays[i] = NULL;
    }
    sbi_release(&model->allocator, model->warnings);
    model->warnings = NULL;
    model->dtype = 0;
    model->size_count = 0;
}

void sbi_model_free(sb_model *model) {
    if (!model) return;
    forget_fit(model);
    for (int i = 0; i < SBI_PARAMETERS; i++) sbi_array_free(model->values[i].array);
    for (int64_t i = 0; i < 2 * model->note_count; i++) sbi_release(&model->allocator, model->notes[i]);
    sbi_release(&model->allocator, model->notes);
    sbi_allocator allocator = model->allocator;
    sbi_release(&allocator, model);
}

static char *keep_text(const sbi_allocator *allocator, const char *text, sb_error *err) {
    size_t length = strlen(text);
    char *kept = sbi_allocate(allocator, (int64_t)length + 1, 1, err);
    if (kept) memcpy(kept, text, length);
    return kept;
}

// ---- parameters

static int parameter_number(const sb_model *model, const char *name) { // -1: none that reaches a bit
    for (const sbi_parameter_row *p = model->algorithm.parameters; p->name; p++)
        if (!p->surface && strcmp(p->name, name) == 0) return (int)(p - model->algorithm.parameters);
    return -1;
}

static sb_status find_parameter(const sb_model *model, const char *name, int *number, sb_error *err) {
    char known[300] = "", shown[60];
    *number = parameter_number(model, name);
    if (*number >= 0) return SB_OK;
    for (const sbi_parameter_row *p = model->algorithm.parameters; p->name; p++) {
        size_t used = strlen(known);
        if (!p->surface) snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", p->name);
    }
    return sbi_fail(err, SB_ERR_ARGUMENT, "parameter", "%s has no parameter \"%s\"; it has %s", model->algorithm.name,
                    sbi_escape(name, strlen(name), shown, sizeof shown), known);
}

// Shapes of arrays are written in parameters: those of a fitted model stay.
static sb_status check_open(const sb_model *model, const char *parameter, sb_error *err) {
    if (!model->dtype) return SB_OK;
    return sbi_fail(err, SB_ERR_STATE, parameter, "this %s is fitted: its %s stays; make a new model", model->algorithm.name, parameter);
}

sb_status sbi_model_set(sb_model *model, const char *parameter, const char *text, sb_error *err) {
    sbi_value value;
    int number;
    sb_status status = find_parameter(model, parameter, &number, err);
    if (status == SB_OK) status = check_open(model, parameter, err);
    if (status == SB_OK) status = sbi_value_read(&model->algorithm, &model->algorithm.parameters[number], text, &value, err);
    if (status != SB_OK) return status;
    sbi_array_free(model->values[number].array);
    model->values[number] = value;
    return SB_OK;
}

// A copy in binary64: what the caller does with its own does not matter, and the text of a file does not depend on it.
sb_status sbi_model_set_array(sb_context *ctx, sb_model *model, const char *parameter, const sb_array *value, sb_error *err) {
    sb_array *copy = NULL;
    double *numbers = NULL;
    int number;
    sb_status status = find_parameter(model, parameter, &number, err);
    if (status == SB_OK) status = check_open(model, parameter, err);
    if (status == SB_OK && !sbi_row_array(model->algorithm.parameters[number].type))
        status = sbi_fail(err, SB_ERR_ARGUMENT, parameter, "%s of %s is an array; expected %s", parameter, model->algorithm.name,
                          model->algorithm.parameters[number].type);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F64, value->ndim, value->shape, &copy, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, value, &numbers, err);
    if (status == SB_OK) status = sbi_write_reals(ctx, numbers, copy, err);
    sbi_release(&ctx->allocator, numbers);
    if (status != SB_OK) {
        sbi_array_free(copy);
        return status;
    }
    sbi_array_free(model->values[number].array);
    model->values[number] = (sbi_value){.kind = SBI_ARRAY, .array = copy};
    return SB_OK;
}

const sbi_value *sbi_model_value(const sb_model *model, const char *parameter) {
    static const sbi_value nothing = {.kind = SBI_NONE};
    int number = parameter_number(model, parameter);
    return number < 0 ? &nothing : &model->values[number];
}
int64_t sbi_model_integer(const sb_model *model, const char *parameter) { return sbi_model_value(model, parameter)->integer; }
double sbi_model_real(const sb_model *model, const char *parameter) { return sbi_model_value(model, parameter)->real; }
bool sbi_model_flag(const sb_model *model, const char *parameter) { return sbi_model_value(model, parameter)->integer != 0; }
bool sbi_model_is(const sb_model *model, const char *parameter, const char *word) {
    const sbi_value *value = sbi_model_value(model, parameter);
    return value->kind == SBI_WORD ? strcmp(value->word, word) == 0 : value->kind == SBI_NONE && strcmp(word, "none") == 0;
}
uint64_t sbi_model_seed(const sb_model *model, const char *parameter) {
    const sbi_value *value = sbi_model_value(model, parameter);
    return value->kind == SBI_INTEGER ? (uint64_t)value->integer : 0;
}

const char *sbi_model_find_note(const sb_model *model, const char *key) {
    for (int64_t i = 0; i < model->note_count; i++)
        if (strcmp(model->notes[2 * i], key) == 0) return model->notes[2 * i + 1];
    return NULL;
}

sb_status sbi_model_note(sb_model *model, const char *key, const char *text, sb_error *err) {
    int64_t at = 0;
    if (!sbi_utf8_whole(key, (int64_t)strlen(key))) return sbi_fail(err, SB_ERR_ARGUMENT, "key", "the key of a note is not UTF-8");
    if (text && !sbi_utf8_whole(text, (int64_t)strlen(text))) // (a file could not give it back)
        return sbi_fail(err, SB_ERR_ARGUMENT, "text", "the text of a note is not UTF-8");
    while (at < model->note_count && strcmp(model->notes[2 * at], key) < 0) at++;
    const bool there = at < model->note_count && strcmp(model->notes[2 * at], key) == 0;
    char *kept = text ? keep_text(&model->allocator, text, err) : NULL;
    if (text && !kept) return SB_ERR_MEMORY;
    if (there && text) {
        sbi_release(&model->allocator, model->notes[2 * at + 1]);
        model->notes[2 * at + 1] = kept;
    } else if (there) {
        sbi_release(&model->allocator, model->notes[2 * at]);
        sbi_release(&model->allocator, model->notes[2 * at + 1]);
        model->note_count--;
        memmove(model->notes + 2 * at, model->notes + 2 * (at + 1), (size_t)(2 * (model->note_count - at)) * sizeof *model->notes);
    } else if (text) {
        char *name = keep_text(&model->allocator, key, err);
        char **grown = name ? sbi_allocate(&model->allocator, 2 * (model->note_count + 1), sizeof *grown, err) : NULL;
        if (!grown) {
            sbi_release(&model->allocator, name);
            sbi_release(&model->allocator, kept);
            return SB_ERR_MEMORY;
        }
        if (at) memcpy(grown, model->notes, (size_t)(2 * at) * sizeof *grown);
        grown[2 * at] = name;
        grown[2 * at + 1] = kept;
        if (at < model->note_count)
            memcpy(grown + 2 * at + 2, model->notes + 2 * at, (size_t)(2 * (model->note_count - at)) * sizeof *grown);
        sbi_release(&model->allocator, model->notes);
        model->notes = grown;
        model->note_count++;
    }
    return SB_OK;
}

sb_status sbi_model_warn(sb_model *model, const char *category, const char *format, ...) {
    char sentence[400];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    size_t before = model->warnings ? strlen(model->warnings) : 0, size = before + strlen(category) + strlen(sentence) + 4;
    char *grown = sbi_allocate(&model->allocator, (int64_t)size, 1, NULL);
    if (!grown) return SB_ERR_MEMORY;
    snprintf(grown, size, "%s%s: %s\n", before ? model->warnings : "", category, sentence);
    sbi_release(&model->allocator, model->warnings);
    model->warnings = grown;
    return SB_OK;
}

// ---- sizes, and the arrays whose shapes are written in them

int64_t sbi_model_size(const sb_model *model, const char *name) {
    const sbi_value *value = sbi_model_value(model, name);
    for (int i = 0; i < model->size_count; i++)
        if (strcmp(model->sizes[i].name, name) == 0) return model->sizes[i].value;
    return value->kind == SBI_INTEGER ? value->integer : -1;
}

sb_status sbi_model_set_size(sb_model *model, const char *name, int64_t value, sb_error *err) {
    int at = 0;
    while (at < model->size_count && strcmp(model->sizes[at].name, name) != 0) at++;
    if (at == SBI_SIZES || strlen(name) >= SBI_NAME)
        return sbi_fail(err, SB_ERR_INTERNAL, name, "%s of %s is a size too many", name, model->algorithm.name);
    if (at == model->size_count) model->size_count++;
    snprintf(model->sizes[at].name, sizeof model->sizes[at].name, "%s", name);
    model->sizes[at].value = value;
    return SB_OK;
}

// The shape that a row writes: names of axes between spaces, n replaced by `rows` where it is not negative.
static sb_status shape_of(const sb_model *model, const char *row, const char *text, int64_t rows, int *ndim, int64_t *shape, sb_error *err) {
    char name[SBI_NAME];
    *ndim = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (length >= sizeof name || *ndim == SB_MAX_DIMS) return sbi_fail(err, SB_ERR_INTERNAL, row, "the shape of %s", row);
        memcpy(name, text, length);
        name[length] = 0;
        text += length + (text[length] == ' ');
        int64_t size = rows >= 0 && strcmp(name, "n") == 0 ? rows : *name >= '0' && *name <= '9' ? *name - '0' : sbi_model_size(model, name);
        if (size >= 0) shape[(*ndim)++] = size; // else the axis does not exist
    }
    return SB_OK;
}

static sb_dtype dtype_of(const char *text, sb_dtype data) {
    return strncmp(text, "data", 4) == 0 ? data : strncmp(text, "f64", 3) == 0 ? SB_F64 : strncmp(text, "i32", 3) == 0 ? SB_I32 : SB_I64;
}

static int fitted_number(const sb_model *model, const char *name) {
    int at = 0;
    while (model->algorithm.fitted[at].name && strcmp(model->algorithm.fitted[at].name, name) != 0) at++;
    return model->algorithm.fitted[at].name ? at : -1;
}

sb_array *sbi_model_array(const sb_model *model, const char *name) {
    int number = fitted_number(model, name);
    return number < 0 ? NULL : model->arrays[number];
}

sb_status sbi_model_make(sb_context *ctx, sb_model *model, const char *name, sb_array **out, sb_error *err) {
    int number = fitted_number(model, name), ndim;
    int64_t shape[SB_MAX_DIMS];
    sb_array *made = NULL;
    if (number < 0) return sbi_fail(err, SB_ERR_INTERNAL, name, "%s has no fitted array %s", model->algorithm.name, name);
    const sbi_fitted_row *row = &model->algorithm.fitted[number];
    sb_status status = shape_of(model, name, row->shape, -1, &ndim, shape, err);
    if (status == SB_OK) status = sbi_array_new(ctx, dtype_of(row->dtype, model->dtype), ndim, shape, &made, err);
    if (status != SB_OK) return status;
    sbi_array_free(model->arrays[number]);
    model->arrays[number] = made;
    if (out) *out = made;
    return SB_OK;
}

sb_status sbi_model_fill(sb_context *ctx, sb_model *model, const char *name, const double *values, sb_error *err) {
    sb_array *array = NULL;
    sb_status status = sbi_model_make(ctx, model, name, &array, err);
    return status == SB_OK ? sbi_write_reals(ctx, values, array, err) : status;
}

sb_status sbi_model_fill_integers(sb_context *ctx, sb_model *model, const char *name, const int64_t *values, sb_error *err) {
    sb_array *array = NULL;
    sb_status status = sbi_model_make(ctx, model, name, &array, err);
    if (status != SB_OK) return status;
    if (array->dtype == SB_I64) return sbi_array_write(array, values, (size_t)array->size * sizeof *values, err);
    int32_t *narrow = sbi_allocate(&ctx->allocator, array->size, sizeof *narrow, err);
    if (!narrow) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < array->size; i++) narrow[i] = (int32_t)values[i];
    status = sbi_array_write(array, narrow, (size_t)array->size * sizeof *narrow, err);
    sbi_release(&ctx->allocator, narrow);
    return status;
}

sb_status sbi_model_check_arrays(const sb_model *model, sb_error *err) {
    for (const sbi_fitted_row *row = model->algorithm.fitted; row->name; row++) {
        const sb_array *array = model->arrays[row - model->algorithm.fitted];
        int64_t shape[SB_MAX_DIMS];
        int ndim;
        if (!array && strchr(row->dtype, '?')) continue;
        if (!array) return sbi_fail(err, SB_ERR_FORMAT, row->name, "the array %s of %s is missing", row->name, model->algorithm.name);
        if (array->dtype != dtype_of(row->dtype, model->dtype))
            return sbi_fail(err, SB_ERR_FORMAT, row->name, "%s is %s, it must be %s", row->name, sbi_dtype_name(array->dtype),
                            sbi_dtype_name(dtype_of(row->dtype, model->dtype)));
        sb_status status = shape_of(model, row->name, row->shape, -1, &ndim, shape, err);
        if (status != SB_OK) return status;
        bool same = array->ndim == ndim;
        for (int i = 0; same && i < ndim; i++) same = array->shape[i] == shape[i];
        if (!same) return sbi_fail(err, SB_ERR_FORMAT, row->name, "%s does not have the shape (%s) of this model", row->name, row->shape);
    }
    if (sbi_row_has(model->algorithm.input, "classes")) {
        sb_status status = sbi_classes_check(model, err);
        if (status != SB_OK) return status;
    }
    return model->algorithm.check(model, err);
}

// ---- calls

static const sbi_method_row *find_method(const sb_model *model, const char *name) {
    for (const sbi_method_row *m = model->algorithm.methods; m->name; m++)
        if (strcmp(m->name, name) == 0) return m;
    return NULL;
}

static bool is_fit(const sbi_method_row *m) { return !*m->dtype; }

// How many features x must have, -1: any. A partial_fit goes on with those of the fit; the way back begins with what transform gives.
static int64_t width_of(const sb_model *model, const sbi_method_row *method) {
    const sbi_method_row *forth = strcmp(method->name, "inverse_transform") == 0 ? find_method(model, "transform") : NULL;
    if (is_fit(method) && strcmp(method->name, "partial_fit") != 0) return -1;
    return sbi_model_size(model, forth && strlen(forth->shape) > 2 ? forth->shape + 2 : "d"); // ("n out")
}

static sb_status all_finite(sb_context *ctx, const sb_array *x, bool *finite, sb_error *err) {
    sb_array *most = NULL;
    double *value = NULL;
    *finite = true;
    if (x->size == 0) return SB_OK;
    sb_status status = sbi_scratch(ctx, x->dtype, 1, &most, err);
    if (status != SB_OK) return status;
    most->ndim = 0;
    status = sbi_reduce(ctx, SB_NORM_MAX, SB_ALL, x, most, err);
    if (status == SB_OK) status = sbi_read_reals(ctx, most, &value, err);
    if (status == SB_OK) *finite = *value - *value == 0.0;
    sbi_release(&ctx->allocator, value);
    sbi_array_free(most);
    return status;
}

// One pass for what is finite; only what is not is looked at number by number.
static sb_status check_finite(sb_context *ctx, const sb_array *x, const char *name, bool nan, sb_error *err) {
    double *values = NULL;
    const char *found = NULL;
    int64_t at = 0;
    bool finite = false;
    sb_status status = all_finite(ctx, x, &finite, err);
    if (status != SB_OK || finite || (status = sbi_read_reals(ctx, x, &values, err))) return status;
    for (int64_t i = 0; i < x->size && !found; i++) {
        at = i;
        if (values[i] != values[i] && !nan) found = "NaN";
        if (values[i] == values[i] && values[i] - values[i] != 0.0) found = "infinity";
    }
    const int64_t width = x->ndim > 1 ? x->shape[1] : 1;
    if (found && x->ndim == 2)
        status = sbi_fail(err, SB_ERR_NONFINITE, name, "Input %s contains %s (row %lld, column %lld, from 0).", strcmp(name, "x") == 0 ? "X" : name, found, (long long)(at / width), (long long)(at % width));
    else if (found)
        status = sbi_fail(err, SB_ERR_NONFINITE, name, "Input %s contains %s (element %lld, from 0).", name, found, (long long)at);
    sbi_release(&ctx->allocator, values);
    return status;
}

// Whether what is not finite in X shows in the result of this method (algorithms.def).
static bool shows(const sb_model *model, const sbi_method_row *method) {
    static const char *const names[] = {"predict", "decision_function", "transform", "inverse_transform"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(method->name, names[i]) == 0) return strcmp(method->dtype, "data") == 0 && sbi_row_has(model->algorithm.input, "linear");
    return false;
}

// X of such a method, from its result.
static sb_status check_shown(const sbi_call *call, sb_error *err) {
    bool finite = false;
    sb_status status = call->out && call->out->size > 0 ? all_finite(call->ctx, call->out, &finite, err) : SB_OK;
    return status != SB_OK || finite ? status : check_finite(call->ctx, call->x, "x", false, err);
}

static sb_status check_rows(const sb_array *a, const char *name, int64_t n, sb_error *err) {
    if (a->ndim >= 1 && a->shape[0] == n) return SB_OK;
    return sbi_fail(err, SB_ERR_SHAPE, name, "%s has %lld rows, X has %lld", name, (long long)(a->ndim ? a->shape[0] : 0), (long long)n);
}

// Numbers of classes: not negative; *count is one more than the greatest.
static sb_status check_classes(const sbi_call *call, const sb_array *y, int64_t *count, sb_error *err) {
    double *values = NULL;
    sb_status status = sbi_read_reals(call->ctx, y, &values, err);
    *count = 0;
    for (int64_t i = 0; i < y->size && status == SB_OK; i++) {
        if (values[i] < 0.0 || values[i] >= 0x1p31)
            status = sbi_fail(err, SB_ERR_ARGUMENT, "y", "y[%lld] is %lld: numbers of classes are 0 to 2^31 - 1", (long long)i, (long long)values[i]);
        else if ((int64_t)values[i] >= *count)
            *count = (int64_t)values[i] + 1;
    }
    sbi_release(&call->ctx->allocator, values);
    return status;
}

static sb_status check_data(const sb_data *data, const sbi_method_row *method, sbi_call *call, sb_error *err) {
    const char *input = call->model->algorithm.input;
    const bool classes = sbi_row_has(input, "classes"), targets = sbi_row_has(input, "targets");
    const bool needs_y = (is_fit(method) || strcmp(method->name, "score") == 0) && (sbi_row_has(input, "target") || classes);
    const char *name = call->model->algorithm.class_name;
    sb_status status;
    if (sbi_takes_no_x(method->name)) {
        call->n = data->rows;
        call->d = sbi_model_size(call->model, "d");
        if (*method->shape != 'n' || call->n >= 1) return SB_OK;
        return sbi_fail(err, SB_ERR_ARGUMENT, "rows", "Invalid value for 'n_samples': %lld . %s gives one row at least.", (long long)call->n, method->name);
    }
    call->itself = !data->x && sbi_row_has(input, "itself") && !is_fit(method);
    call->x = call->itself ? sbi_model_array(call->model, "fit_x") : data->x;
    if (!call->x) return sbi_fail(err, SB_ERR_ARGUMENT, "x", "x is NULL");
    if (data->indptr) {
        if (!sbi_row_has(input, "sparse"))
            return sbi_fail(err, SB_ERR_UNSUPPORTED, "indptr", "sparse data was passed, and %s takes dense data only", name);
        if ((status = sbi_dense_of(call->ctx, data, &call->dense, err))) return status;
        call->x = call->dense;
    }
    if ((status = sbi_check_real(call->x, "x", err)) || (status = sbi_check_ndim(call->x, "x", 2, err))) return status;
    call->n = call->x->shape[0];
    call->d = call->x->shape[1];
    if (call->n < 1)
        return sbi_fail(err, SB_ERR_EMPTY, "x", "Found array with 0 sample(s) (shape=(0, %lld)) while a minimum of 1 is required by %s.",
                        (long long)call->d, name);
    if (call->d < 1)
        return sbi_fail(err, SB_ERR_EMPTY, "x", "Found array with 0 feature(s) (shape=(%lld, 0)) while a minimum of 1 is required by %s.",
                        (long long)call->n, name);
    int64_t known = width_of(call->model, method);
    if (known >= 0 && known != call->d)
        return sbi_fail(err, SB_ERR_SHAPE, "x", "X has %lld features, but %s is expecting %lld features as input", (long long)call->d,
                        name, (long long)known);
    if (!shows(call->model, method) && (status = check_finite(call->ctx, call->x, "x", sbi_row_has(input, "nan"), err))) return status;
    if (needs_y) {
        if (!data->y) return sbi_fail(err, SB_ERR_ARGUMENT, "y", "%s of %s requires y, and y is NULL", method->name, name);
        if (classes) {
            if ((status = sbi_check_dtype(data->y, "y", SB_I64, err)) || (status = sbi_check_ndim(data->y, "y", 1, err))) return status;
        } else {
            if ((status = sbi_check_real(data->y, "y", err))) return status;
            if (data->y->ndim != 1 && !(targets && data->y->ndim == 2))
                return sbi_fail(err, SB_ERR_SHAPE, "y", "y has %d dimensions, it must have 1%s", data->y->ndim, targets ? " or 2" : "");
            if ((status = check_finite(call->ctx, data->y, "y", false, err))) return status;
        }
        if ((status = check_rows(data->y, "y", call->n, err)) || (classes && (status = check_classes(call, data->y, &call->classes, err)))) return status;
        call->y = data->y;
    }
    if (data->weights && (is_fit(method) || strcmp(method->name, "score") == 0)) {
        if (!sbi_row_has(input, "weights") && (is_fit(method) || !sbi_row_has(input, "score_weights"))) return sbi_fail(err, SB_ERR_UNSUPPORTED, "weights", "%s takes no sample weights", name);
        if ((status = sbi_check_dtype(data->weights, "weights", SB_F64, err)) || (status = sbi_check_ndim(data->weights, "weights", 1, err)) ||
            (status = check_rows(data->weights, "weights", call->n, err)) ||
            (status = check_finite(call->ctx, data->weights, "weights", false, err)))
            return status;
        call->weights = data->weights;
    }
    call->progress = data->progress;
    call->user = data->user;
    return SB_OK;
}

static sb_status find(const sb_model *model, const char *name, bool fits, const sbi_method_row **out, sb_error *err) {
    char known[200] = "", shown[60];
    *out = find_method(model, name);
    if (*out && is_fit(*out) == fits) return SB_OK;
    for (const sbi_method_row *m = model->algorithm.methods; m->name; m++) {
        size_t used = strlen(known);
        if (is_fit(m) == fits) snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", m->name);
    }
    return sbi_fail(err, SB_ERR_ARGUMENT, "method", "%s has no method \"%s\" %s; it has %s", model->algorithm.name,
                    sbi_escape(name, strlen(name), shown, sizeof shown), fits ? "that fits" : "that gives a result", known);
}

// Shapes of parameters that are arrays, whose axes may be sizes of the data.
static sb_status check_array_parameters(const sbi_call *call, sb_error *err) {
    const sb_model *model = call->model;
    for (const sbi_parameter_row *p = model->algorithm.parameters; p->name; p++) {
        const sb_array *array = model->values[p - model->algorithm.parameters].array;
        int64_t shape[SB_MAX_DIMS];
        int ndim;
        if (!array || !*sbi_row_array(p->type)) continue; // (without a shape in its row: the algorithm looks)
        sb_status status = shape_of(model, p->name, sbi_row_array(p->type), call->n, &ndim, shape, err);
        bool same = ndim == array->ndim;
        for (int i = 0; same && i < ndim; i++) same = shape[i] == array->shape[i];
        same = same || (ndim == 0 && array->size == 1); // (one number for an axis that does not exist)
        if (status == SB_OK && !same)
            status = sbi_fail(err, SB_ERR_SHAPE, p->name, "%s of %s has another shape than (%s) with these parameters and X", p->name,
                              model->algorithm.name, sbi_row_array(p->type));
        if (status == SB_OK) status = check_finite(call->ctx, array, p->name, false, err);
        if (status != SB_OK) return status;
    }
    return SB_OK;
}

sb_status sbi_model_fit(sb_context *ctx, sb_model *model, const char *method, const sb_data *data, sb_error *err) {
    const sbi_method_row *row;
    sbi_call call = {.ctx = ctx, .model = model, .method = method};
    const bool goes_on = strcmp(method, "partial_fit") == 0 && model->dtype;
    sb_status status = find(model, method, true, &row, err);
    if (status == SB_OK) status = check_data(data, row, &call, err);
    if (status == SB_OK && call.classes && goes_on) status = sbi_classes_set(model, data->classes, call.classes, true, err);
    if (status != SB_OK) {
        sbi_array_free(call.dense);
        return status;
    }
    for (const sbi_fitted_row *f = model->algorithm.fitted; goes_on && f->name; f++)
        if (f->kept && !model->arrays[f - model->algorithm.fitted]) {
            sbi_array_free(call.dense);
            return sbi_fail(err, SB_ERR_UNSUPPORTED, "model", "this %s was fitted elsewhere (sb_model_take): %s, from which partial_fit goes on, is not there",
                            model->algorithm.class_name, f->name);
        }
    if (!goes_on) forget_fit(model);
    if (!goes_on) model->dtype = call.x->dtype;
    status = sbi_model_set_size(model, "n", call.n, err);
    if (status == SB_OK) status = sbi_model_set_size(model, "d", call.d, err);
    if (status == SB_OK && call.y && call.y->dtype != SB_I64)
        status = sbi_model_set_size(model, "t", call.y->ndim == 2 ? call.y->shape[1] : -1, err);
    if (status == SB_OK && call.classes && !goes_on) status = sbi_classes_set(model, data->classes, call.classes, false, err);
    if (status == SB_OK) status = check_array_parameters(&call, err);
    if (status == SB_OK) status = row->run(&call, err);
    if (status == SB_OK) status = sbi_model_check_arrays(model, err);
    if (status != SB_OK) forget_fit(model); // half a fit is none
    sbi_array_free(call.dense);
    return status;
}

static sb_status take_array(sb_context *ctx, sb_model *model, const char *name, const sb_array *from, sb_error *err) {
    double *values = NULL;
    sb_array *to = NULL;
    char shown[60];
    if (fitted_number(model, name) < 0)
        return sbi_fail(err, SB_ERR_ARGUMENT, "array_names", "%s has no fitted array \"%s\"", model->algorithm.name,
                        sbi_escape(name, strlen(name), shown, sizeof shown));
    sb_status status = sbi_model_make(ctx, model, name, &to, err);
    if (status != SB_OK) return status;
    bool same = to->ndim == from->ndim;
    for (int i = 0; same && i < to->ndim; i++) same = to->shape[i] == from->shape[i];
    if (!same)
        return sbi_fail(err, SB_ERR_ARGUMENT, name, "%s does not have the shape (%s) that the sizes give", name,
                        model->algorithm.fitted[fitted_number(model, name)].shape);
    if (to->dtype == from->dtype) return sbi_copy(ctx, from, to, err);
    status = sbi_read_reals(ctx, from, &values, err);
    if (status == SB_OK) status = sbi_write_reals(ctx, values, to, err);
    sbi_release(&ctx->allocator, values);
    return status;
}

sb_status sbi_model_take(sb_context *ctx, sb_model *model, const sb_fitted *fitted, sb_error *err) {
    sb_status status = SB_OK;
    if (model->dtype)
        return sbi_fail(err, SB_ERR_STATE, "model", "this %s is fitted: make a new model", model->algorithm.name);
    if (fitted->dtype != SB_F32 && fitted->dtype != SB_F64)
        return sbi_fail(err, SB_ERR_ARGUMENT, "dtype", "dtype is %d: expected float32 or float64", (int)fitted->dtype);
    model->dtype = fitted->dtype;
    for (int i = 0; i < fitted->size_count && status == SB_OK; i++) {
        if (fitted->sizes[i] < -1 || strlen(fitted->size_names[i]) >= SBI_NAME || model->size_count == SBI_SIZES)
            status = sbi_fail(err, SB_ERR_ARGUMENT, "sizes", "a size is %lld, or its name too long, or there are too many", (long long)fitted->sizes[i]);
        else
            status = sbi_model_set_size(model, fitted->size_names[i], fitted->sizes[i], err);
    }
    if (status == SB_OK && (sbi_model_size(model, "n") < 1 || sbi_model_size(model, "d") < 1))
        status = sbi_fail(err, SB_ERR_ARGUMENT, "sizes", "n and d must be there, at least 1");
    if (status == SB_OK && sbi_row_has(model->algorithm.input, "classes")) {
        if (!fitted->classes)
            status = sbi_fail(err, SB_ERR_ARGUMENT, "classes", "%s has classes, and they have no names", model->algorithm.name);
        else
            status = sbi_classes_set(model, fitted->classes, 1, false, err);
    }
    for (int i = 0; i < fitted->array_count && status == SB_OK; i++)
        status = take_array(ctx, model, fitted->array_names[i], fitted->arrays[i], err);
    if (status == SB_OK) status = sbi_model_check_arrays(model, err);
    if (status == SB_ERR_FORMAT) { // (there is no file here)
        status = SB_ERR_ARGUMENT;
        if (err) err->status = status;
    }
    if (status != SB_OK) forget_fit(model);
    return status;
}

// Part number `which` of a row's text, between commas; false where there is none.
static bool part_of(const char *text, int which, char part[SBI_NAME * 2]) {
    for (; which > 0; which--) {
        text = strstr(text, ", ");
        if (!text) return false;
        text += 2;
    }
    snprintf(part, SBI_NAME * 2, "%.*s", (int)strcspn(text, ","), text);
    return true;
}

static sb_status make_result(sbi_call *call, const sbi_method_row *row, int which, int64_t length, sb_error *err) {
    char dtype[SBI_NAME * 2], shape[SBI_NAME * 2];
    int64_t sizes[SB_MAX_DIMS] = {length};
    int ndim = 1;
    if (!part_of(row->dtype, which, dtype) || !part_of(row->shape, which, shape))
        return sbi_fail(err, SB_ERR_ARGUMENT, "count", "%s of %s has %d results", row->name, call->model->algorithm.name, which);
    if (*shape == '*' && length < 0) return SB_OK; // the method knows
    sb_status status = *shape == '*' ? SB_OK : shape_of(call->model, row->name, shape, call->n, &ndim, sizes, err);
    return status ? status : sbi_array_new(call->ctx, dtype_of(dtype, call->x ? call->x->dtype : call->model->dtype), ndim, sizes, which ? &call->more[which - 1] : &call->out, err);
}

sb_status sbi_call_make(sbi_call *call, int which, int64_t length, sb_array **out, sb_error *err) {
    sb_status status = make_result(call, find_method(call->model, call->method), which, length, err);
    *out = which ? call->more[which - 1] : call->out;
    return status;
}

// Parameters that hold for one call: "n_neighbors=3 radius=0.5". The copy owns nothing but itself.
static sb_status with_settings(const sb_model *model, const char *settings, sb_model **out, sb_error *err) {
    char name[SBI_NAME], text[SBI_NAME];
    sb_status status = SB_OK;
    int number;
    if (!(*out = sbi_allocate(&model->allocator, 1, sizeof **out, err))) return SB_ERR_MEMORY;
    memcpy(*out, model, sizeof **out);
    while (settings && *settings && status == SB_OK) {
        const size_t length = strcspn(settings, "= "), rest = settings[length] == '=' ? strcspn(settings + length + 1, " ") : 0;
        if (length == 0 || length >= sizeof name || rest == 0 || rest >= sizeof text)
            return sbi_fail(err, SB_ERR_ARGUMENT, "settings", "settings are NAME=VALUE between spaces");
        snprintf(name, sizeof name, "%.*s", (int)length, settings);
        snprintf(text, sizeof text, "%.*s", (int)rest, settings + length + 1);
        status = find_parameter(model, name, &number, err);
        if (status == SB_OK) status = sbi_value_read(&model->algorithm, &model->algorithm.parameters[number], text, &(*out)->values[number], err);
        settings += length + 1 + rest;
        settings += *settings == ' ';
    }
    return status;
}

sb_status sbi_model_call(sb_context *ctx, const sb_model *model, const char *method, const sb_data *data, int count, sb_array **out, sb_error *err) {
    const sbi_method_row *row;
    sbi_call call = {.ctx = ctx, .method = method};
    sb_status status = find(model, method, false, &row, err);
    if (status != SB_OK) return status;
    if (!model->dtype)
        return sbi_fail(err, SB_ERR_STATE, "model", "this %s instance is not fitted yet: fit it before %s", model->algorithm.class_name, method);
    if ((status = with_settings(model, data->settings, &call.model, err)) || (status = check_data(data, row, &call, err))) goto done;
    for (int i = 0; i < count && status == SB_OK; i++) status = make_result(&call, row, i, -1, err);
    if (status == SB_OK) status = row->run(&call, err);
    if (status == SB_OK && shows(model, row)) status = check_shown(&call, err);
    for (int i = 0; i < SBI_RESULTS; i++) {
        sb_array *result = i ? call.more[i - 1] : call.out;
        if (status == SB_OK && i < count)
            out[i] = result;
        else
            sbi_array_free(result);
    }
done:
    sbi_array_free(call.dense);
    sbi_release(&model->allocator, call.model);
    return status;
}

sb_status sbi_call_progress(const sbi_call *call, int64_t done, int64_t total, sb_error *err) {
    if (!call->progress || call->progress(call->user, done, total) == 0) return SB_OK;
    return sbi_fail(err, SB_ERR_INTERRUPTED, "", "stopped on request after %lld of %lld", (long long)done, (long long)total);
}
