// SPDX-License-Identifier: Apache-2.0
// A model as a file: safetensors, whose metadata say what the arrays are. Loading trusts nothing: what a file says of
// parameters, sizes and arrays is checked by the rows, and then by the algorithm itself.
//
// Metadata: "format" "samebits.model" (its version, "1"), "release", "contract", and "model", a JSON object with a member each for
//   algorithm   its name
//   data        the dtype of the data it was fitted on
//   parameters  name: text, all that reach a bit, in the order of the rows; an array is "array", and the tensor parameter.NAME
//   sizes       name: number (-1: an axis that does not exist), in the order in which they were set
//   warnings    text
//   notes       key: text, keys ascending
// Tensors: parameters, then fitted arrays by their rows' names, in the order of the rows. Same model, same bytes.
//
// The digest of a model is that of its named arrays (contract T10) together with an array "model", uint8, of the bytes of that
// JSON object: it depends on neither release nor file.
#include "learn.h"
#include "safetensors.h"

#include <stdio.h>
#include <string.h>

static void add_text_member(sbi_text *text, const char *name, const char *value, bool first) {
    sbi_text_add(text, "%s", first ? "" : ", ");
    sbi_text_add_json_string(text, name, (int64_t)strlen(name));
    sbi_text_add(text, ": ");
    sbi_text_add_json_string(text, value, (int64_t)strlen(value));
}

static void write_descriptor(const sb_model *model, sbi_text *text) {
    bool first = true;
    sbi_text_add(text, "{");
    add_text_member(text, "algorithm", model->algorithm.name, true);
    add_text_member(text, "data", sbi_dtype_name(model->dtype), false);
    sbi_text_add(text, ", \"parameters\": {");
    for (const sbi_parameter_row *p = model->algorithm.parameters; p->name; p++) {
        sbi_text value;
        if (p->surface) continue;
        sbi_text_start(&value, text->allocator);
        sbi_value_write(&model->values[p - model->algorithm.parameters], &value);
        text->failed = text->failed || value.failed;
        if (!value.failed) add_text_member(text, p->name, value.bytes, first);
        first = false;
        sbi_text_free(&value);
    }
    sbi_text_add(text, "}, \"sizes\": {");
    for (int i = 0; i < model->size_count; i++)
        sbi_text_add(text, "%s\"%s\": %lld", i ? ", " : "", model->sizes[i].name, (long long)model->sizes[i].value);
    sbi_text_add(text, "}, ");
    add_text_member(text, "warnings", model->warnings ? model->warnings : "", true);
    sbi_text_add(text, ", \"notes\": {");
    for (int64_t i = 0; i < model->note_count; i++) add_text_member(text, model->notes[2 * i], model->notes[2 * i + 1], i == 0);
    sbi_text_add(text, "}}");
}

// The arrays of a model with their names: parameters first.
enum { MOST = SBI_PARAMETERS + SBI_FITTED + 1 };
typedef struct named_arrays {
    char names[MOST][SBI_NAME + 12];
    const sb_array *arrays[MOST];
    int count;
} named_arrays;

static void name_arrays(const sb_model *model, named_arrays *out) {
    out->count = 0;
    for (const sbi_parameter_row *p = model->algorithm.parameters; p->name; p++) {
        const sb_array *array = model->values[p - model->algorithm.parameters].array;
        if (!array) continue;
        snprintf(out->names[out->count], sizeof *out->names, "parameter.%s", p->name);
        out->arrays[out->count++] = array;
    }
    for (const sbi_fitted_row *f = model->algorithm.fitted; f->name; f++) {
        const sb_array *array = model->arrays[f - model->algorithm.fitted];
        if (!array) continue;
        snprintf(out->names[out->count], sizeof *out->names, "%s", f->name);
        out->arrays[out->count++] = array;
    }
}

static sb_status check_fitted(const sb_model *model, sb_error *err) {
    if (model->dtype) return SB_OK;
    return sbi_fail(err, SB_ERR_STATE, "model", "this %s is not fitted yet: there is nothing to keep", model->algorithm.class_name);
}

// To a file, or where path is NULL to memory.
static sb_status write_model(const sb_model *model, const char *path, void *to, int64_t capacity, int64_t *size, sb_error *err) {
    const sbi_allocator *allocator = &model->allocator;
    sbi_text text;
    named_arrays named;
    sbi_tensor_view *views = NULL;
    uint8_t *bytes = NULL, *at;
    int64_t total = 0;
    char contract[12];
    sb_status status = check_fitted(model, err);
    if (status != SB_OK) return status;
    sbi_text_start(&text, allocator);
    write_descriptor(model, &text);
    name_arrays(model, &named);
    for (int i = 0; i < named.count; i++) total += named.arrays[i]->size * (int64_t)sbi_dtype_size(named.arrays[i]->dtype);
    if (text.failed || !(views = sbi_allocate(allocator, named.count, sizeof *views, err)) ||
        !(bytes = sbi_allocate(allocator, total, 1, err))) {
        status = sbi_fail(err, SB_ERR_MEMORY, "", "out of memory for a model's file");
        goto done;
    }
    at = bytes;
    for (int i = 0; i < named.count && status == SB_OK; i++) {
        const sb_array *a = named.arrays[i];
        views[i] = (sbi_tensor_view){.name = named.names[i], .dtype = a->dtype, .ndim = a->ndim, .bytes = at,
                                     .size = a->size * (int64_t)sbi_dtype_size(a->dtype)};
        memcpy(views[i].shape, a->shape, sizeof views[i].shape);
        status = sbi_array_read(a, at, (size_t)views[i].size, err);
        at += views[i].size;
    }
    snprintf(contract, sizeof contract, "%d", SB_CONTRACT);
    const char *const keys[] = {"format", "release", "contract", "model"}, *const values[] = {"samebits.model 1", SB_VERSION, contract, text.bytes};
    if (status == SB_OK)
        status = path ? sbi_safetensors_write(allocator, path, views, named.count, keys, values, 4, err)
                      : sbi_safetensors_store(allocator, views, named.count, keys, values, 4, to, capacity, size, err);
done:
    sbi_text_free(&text);
    sbi_release(allocator, views);
    sbi_release(allocator, bytes);
    return status;
}

sb_status sbi_model_save(const sb_model *model, const char *path, sb_error *err) { return write_model(model, path, NULL, 0, NULL, err); }

sb_status sbi_model_store(const sb_model *model, void *to, int64_t capacity, int64_t *size, sb_error *err) {
    return write_model(model, NULL, to, capacity, size, err);
}

sb_status sbi_model_digest(sb_context *ctx, const sb_model *model, uint8_t out[32], sb_error *err) {
    sbi_text text;
    named_arrays named;
    const char *names[MOST];
    sb_array *descriptor = NULL;
    sb_status status = check_fitted(model, err);
    if (status != SB_OK) return status;
    sbi_text_start(&text, &ctx->allocator);
    write_descriptor(model, &text);
    name_arrays(model, &named);
    if (text.failed) status = sbi_fail(err, SB_ERR_MEMORY, "", "out of memory for a model's text");
    if (status == SB_OK) status = sbi_array_new(ctx, SB_U8, 1, &text.length, &descriptor, err);
    if (status == SB_OK) status = sbi_array_write(descriptor, text.bytes, (size_t)text.length, err);
    for (int i = 0; i < named.count; i++) names[i] = named.names[i];
    names[named.count] = "model";
    named.arrays[named.count] = descriptor;
    if (status == SB_OK) status = sbi_digest_arrays(ctx, named.count + 1, names, named.arrays, out, err);
    sbi_array_free(descriptor);
    sbi_text_free(&text);
    return status;
}

// ---- reading

static sb_status bad(sb_error *err, const char *what) {
    return sbi_fail(err, SB_ERR_FORMAT, what, "the model's text has no %s, or one of another kind", what);
}

static const sbi_json *text_member(const sbi_json *object, const char *name) { // without NULs
    const sbi_json *member = sbi_json_member(object, name);
    return member && member->kind == SBI_JSON_STRING && strlen(member->text) == (size_t)member->length ? member : NULL;
}

static sb_array *take_tensor(sb_context *ctx, const sbi_tensor_view *view, sb_status *status, sb_error *err) {
    sb_array *array = NULL;
    void *bytes = sbi_allocate(&ctx->allocator, view->size, 1, err);
    *status = bytes ? sbi_array_new(ctx, view->dtype, view->ndim, view->shape, &array, err) : SB_ERR_MEMORY;
    if (*status == SB_OK) {
        sbi_tensor_copy(view, bytes);
        *status = sbi_array_write(array, bytes, (size_t)view->size, err);
    }
    sbi_release(&ctx->allocator, bytes);
    if (*status == SB_OK) return array;
    sbi_array_free(array);
    return NULL;
}

static sb_status read_parameters(sb_context *ctx, sb_model *model, const sbi_json *given, const sbi_safetensors *file, int64_t *used,
                                 sb_error *err) {
    sb_status status = SB_OK;
    char name[SBI_NAME + 12];
    for (const sbi_json *member = given->first; member && status == SB_OK; member = member->next) {
        if (member->kind != SBI_JSON_STRING || strlen(member->text) != (size_t)member->length || member->key_length >= SBI_NAME ||
            strlen(member->key) != (size_t)member->key_length)
            return bad(err, "parameters");
        if (strcmp(member->text, "array") != 0) {
            status = sbi_model_set(model, member->key, member->text, err);
            continue;
        }
        snprintf(name, sizeof name, "parameter.%s", member->key);
        const sbi_tensor_view *view = sbi_safetensors_find(file, name);
        if (!view) return sbi_fail(err, SB_ERR_FORMAT, "parameters", "the array of a parameter is missing");
        sb_array *array = take_tensor(ctx, view, &status, err);
        if (status == SB_OK) status = sbi_model_set_array(ctx, model, member->key, array, err);
        sbi_array_free(array);
        ++*used;
    }
    if (status == SB_ERR_ARGUMENT) {
        status = SB_ERR_FORMAT;
        if (err) err->status = status;
    }
    return status;
}

static sb_status read_sizes(sb_model *model, const sbi_json *given, sb_error *err) {
    for (const sbi_json *member = given->first; member; member = member->next) {
        int64_t value;
        if (!sbi_json_integer(member, &value) || value < -1 || member->key_length >= SBI_NAME || member->key_length < 1 ||
            strlen(member->key) != (size_t)member->key_length || model->size_count == SBI_SIZES)
            return bad(err, "sizes");
        sb_status status = sbi_model_set_size(model, member->key, value, err);
        if (status != SB_OK) return status;
    }
    if (sbi_model_size(model, "n") < 1 || sbi_model_size(model, "d") < 1) return bad(err, "sizes");
    return SB_OK;
}

static sb_status read_descriptor(sb_context *ctx, sbi_arena *arena, const sbi_safetensors *file, sb_model **out, int64_t *used, sb_error *err) {
    const char *format = sbi_safetensors_metadata(file, "format"), *text = sbi_safetensors_metadata(file, "model");
    const sbi_json *root, *algorithm, *data, *parameters, *sizes, *warnings, *notes;
    sb_model *model = NULL;
    if (!format || strcmp(format, "samebits.model 1") != 0 || !text)
        return sbi_fail(err, SB_ERR_FORMAT, "format", "this file is no model: its metadata hold no format \"samebits.model 1\"");
    sb_status status = sbi_json_read(arena, text, (int64_t)strlen(text), &root, err);
    if (status != SB_OK) return status;
    if (!(algorithm = text_member(root, "algorithm"))) return bad(err, "algorithm");
    if (!(data = text_member(root, "data"))) return bad(err, "data");
    if (!(parameters = sbi_json_member(root, "parameters")) || parameters->kind != SBI_JSON_OBJECT) return bad(err, "parameters");
    if (!(sizes = sbi_json_member(root, "sizes")) || sizes->kind != SBI_JSON_OBJECT) return bad(err, "sizes");
    if (!(warnings = text_member(root, "warnings"))) return bad(err, "warnings");
    if (!(notes = sbi_json_member(root, "notes")) || notes->kind != SBI_JSON_OBJECT) return bad(err, "notes");
    if ((status = sbi_model_new(ctx, algorithm->text, &model, err)) != SB_OK) {
        if (status == SB_ERR_ARGUMENT) status = SB_ERR_UNSUPPORTED; // of a release to come
        if (err) err->status = status;
        return status;
    }
    *out = model;
    sb_dtype dtype = strcmp(data->text, "float32") == 0 ? SB_F32 : strcmp(data->text, "float64") == 0 ? SB_F64 : 0;
    if (!dtype) return bad(err, "data");
    if ((status = read_parameters(ctx, model, parameters, file, used, err)) || (status = read_sizes(model, sizes, err))) return status;
    model->dtype = dtype;
    model->warnings = sbi_allocate(&model->allocator, warnings->length + 1, 1, err);
    if (!model->warnings) return SB_ERR_MEMORY;
    memcpy(model->warnings, warnings->text, (size_t)warnings->length);
    for (const sbi_json *note = notes->first; note && status == SB_OK; note = note->next) {
        if (note->kind != SBI_JSON_STRING || strlen(note->text) != (size_t)note->length || strlen(note->key) != (size_t)note->key_length)
            return bad(err, "notes");
        status = sbi_model_note(model, note->key, note->text, err);
    }
    return status;
}

sb_status sbi_model_restore(sb_context *ctx, const void *bytes, int64_t size, sb_model **out, sb_error *err) {
    sbi_safetensors file;
    sb_model *model = NULL;
    int64_t used = 0;
    sbi_arena *arena = sbi_arena_new(&ctx->allocator, err);
    sb_status status = arena ? sbi_safetensors_read(arena, bytes, size, &file, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = read_descriptor(ctx, arena, &file, &model, &used, err);
    for (const sbi_fitted_row *f = model ? model->algorithm.fitted : NULL; f && f->name && status == SB_OK; f++) {
        const sbi_tensor_view *view = sbi_safetensors_find(&file, f->name);
        if (!view) continue;
        model->arrays[f - model->algorithm.fitted] = take_tensor(ctx, view, &status, err);
        used++;
    }
    if (status == SB_OK && used != file.count)
        status = sbi_fail(err, SB_ERR_FORMAT, "arrays", "the file has arrays that %s does not", model->algorithm.name);
    if (status == SB_OK) status = sbi_model_check_arrays(model, err);
    if (status == SB_OK)
        *out = model;
    else
        sbi_model_free(model);
    sbi_arena_free(arena);
    return status;
}

sb_status sbi_model_load(sb_context *ctx, const char *path, sb_model **out, sb_error *err) {
    uint8_t *bytes = NULL;
    int64_t size = 0;
    sb_status status = sbi_file_read(&ctx->allocator, path, INT64_C(1) << 46, &bytes, &size, err);
    if (status == SB_OK) status = sbi_model_restore(ctx, bytes, size, out, err);
    sbi_release(&ctx->allocator, bytes);
    return status;
}
