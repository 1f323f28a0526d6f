// SPDX-License-Identifier: Apache-2.0
// A recording as a file: safetensors. Reading trusts nothing: what the descriptor says must be what a writer would write of what
// was read, and the digests in it must be those of the models and numbers that stand beside it.
//
// Metadata: "format" "samebits.recording 1", "release", "contract", and "recording", the descriptor: a JSON object of
//   steps      a list; each: name, algorithm, method, model (its digest), output
//   input      dtype, shape, sha256 (T10, of one array without a name); so is each output
//   decision   "none" "class" "largest" "threshold"
//   threshold  a number, else null
//   note       text
// Tensors: model.0, model.1 ..., uint8, the bytes of the models' files; then input and output, or neither.
#include "recording.h"
#include "safetensors.h"

#include <stdio.h>
#include <string.h>

const char *const sbi_decision_names[SBI_DECISIONS] = {"none", "class", "largest", "threshold"};

void sbi_recording_clear(sbi_recording *r) {
    for (int i = 0; i < r->count; i++) sbi_model_free(r->steps[i].owned);
    sbi_array_free(r->x);
    sbi_array_free(r->y);
    sbi_release(&sbi_malloc_allocator, r->kept_note);
    memset(r, 0, sizeof *r);
}

// ---- the descriptor

static void add_member(sbi_text *text, const char *key, const char *value) {
    sbi_text_add(text, "\"%s\": ", key);
    sbi_text_add_json_string(text, value, (int64_t)strlen(value));
    sbi_text_add(text, ", ");
}

static void add_recorded(sbi_text *text, const char *key, const sbi_recorded *a) {
    char hex[65];
    sbi_hex(a->digest, 32, hex);
    sbi_text_add(text, "\"%s\": {\"dtype\": \"%s\", \"shape\": [", key, sbi_dtype_name(a->dtype));
    for (int i = 0; i < a->ndim; i++) sbi_text_add(text, "%s%lld", i ? ", " : "", (long long)a->shape[i]);
    sbi_text_add(text, "], \"sha256\": \"%s\"}", hex);
}

static void write_descriptor(const sbi_recording *r, sbi_text *text) {
    char hex[65];
    sbi_text_add(text, "{\"steps\": [");
    for (int i = 0; i < r->count; i++) {
        const sbi_step *step = &r->steps[i];
        sbi_hex(step->digest, 32, hex);
        sbi_text_add(text, "%s{", i ? ", " : "");
        add_member(text, "name", step->name);
        add_member(text, "algorithm", step->model->algorithm.name);
        add_member(text, "method", step->method);
        add_member(text, "model", hex);
        add_recorded(text, "output", &step->output);
        sbi_text_add(text, "}");
    }
    sbi_text_add(text, "], ");
    add_recorded(text, "input", &r->input);
    sbi_text_add(text, ", ");
    add_member(text, "decision", sbi_decision_names[r->decision]);
    sbi_text_add(text, "\"threshold\": ");
    if (r->decision == SBI_DECIDES_THRESHOLD)
        sbi_text_add_real(text, r->threshold);
    else
        sbi_text_add(text, "null");
    sbi_text_add(text, ", ");
    sbi_text_add(text, "\"note\": ");
    sbi_text_add_json_string(text, r->note, (int64_t)strlen(r->note));
    sbi_text_add(text, "}");
}

static sb_status describe(const sbi_recording *r, sbi_text *text, sb_error *err) {
    sbi_text_start(text, &sbi_malloc_allocator);
    write_descriptor(r, text);
    return text->failed ? sbi_fail(err, SB_ERR_MEMORY, "", "out of memory for a recording's text") : SB_OK;
}

sb_status sbi_recording_identify(sbi_recording *r, sb_error *err) {
    sbi_text text;
    sb_status status = describe(r, &text, err);
    if (status == SB_OK) sb_sha256(text.bytes, (size_t)text.length, r->id);
    sbi_text_free(&text);
    return status;
}

// ---- writing

enum { MOST = SBI_STEPS + 2 };
typedef struct parts {
    sbi_tensor_view views[MOST];
    char names[SBI_STEPS][16];
    uint8_t *bytes[MOST];
    int count;
} parts;

static sb_status add_bytes(parts *p, const char *name, sb_dtype dtype, int ndim, const int64_t *shape, int64_t size, sb_error *err) {
    if (!(p->bytes[p->count] = sbi_allocate(&sbi_malloc_allocator, size, 1, err))) return SB_ERR_MEMORY;
    sbi_tensor_view *view = &p->views[p->count];
    *view = (sbi_tensor_view){.name = name, .dtype = dtype, .ndim = ndim, .bytes = p->bytes[p->count], .size = size};
    memcpy(view->shape, shape, (size_t)ndim * sizeof *shape);
    p->count++;
    return SB_OK;
}

static sb_status add_model(parts *p, int number, const sb_model *model, sb_error *err) {
    int64_t size = 0;
    sb_status status = sbi_model_store(model, NULL, 0, &size, err);
    snprintf(p->names[number], sizeof p->names[number], "model.%d", number);
    if (status == SB_OK) status = add_bytes(p, p->names[number], SB_U8, 1, &size, size, err);
    return status == SB_OK ? sbi_model_store(model, p->bytes[p->count - 1], size, &size, err) : status;
}

static sb_status add_array(parts *p, const char *name, const sb_array *a, sb_error *err) {
    const int64_t size = a->size * (int64_t)sbi_dtype_size(a->dtype);
    sb_status status = add_bytes(p, name, a->dtype, a->ndim, a->shape, size, err);
    return status == SB_OK ? sbi_array_read(a, p->bytes[p->count - 1], (size_t)size, err) : status;
}

sb_status sbi_recording_save(const sbi_recording *r, const char *path, sb_error *err) {
    parts p = {.count = 0};
    sbi_text text;
    char contract[12];
    sb_status status = describe(r, &text, err);
    for (int i = 0; i < r->count && status == SB_OK; i++) status = add_model(&p, i, r->steps[i].model, err);
    if (status == SB_OK && r->x) status = add_array(&p, "input", r->x, err);
    if (status == SB_OK && r->x) status = add_array(&p, "output", r->y, err);
    snprintf(contract, sizeof contract, "%d", SB_CONTRACT);
    const char *const keys[] = {"format", "release", "contract", "recording"};
    const char *const values[] = {"samebits.recording 1", SB_VERSION, contract, text.bytes};
    if (status == SB_OK) status = sbi_safetensors_write(&sbi_malloc_allocator, path, p.views, p.count, keys, values, 4, err);
    for (int i = 0; i < MOST; i++) sbi_release(&sbi_malloc_allocator, p.bytes[i]);
    sbi_text_free(&text);
    return status;
}

// ---- reading

static sb_status bad(sb_error *err, const char *argument, const char *what) {
    return sbi_fail(err, SB_ERR_FORMAT, argument, "this is no recording as samebits writes it: %s", what);
}

// A member that is a text of at most `most` bytes, without NULs.
static const char *text_member(const sbi_json *object, const char *key, int64_t most) {
    const sbi_json *member = sbi_json_member(object, key);
    const bool good = member && member->kind == SBI_JSON_STRING && member->length <= most && strlen(member->text) == (size_t)member->length;
    return good ? member->text : NULL;
}

static bool read_hash(const char *hex, uint8_t out[32]) {
    static const char digits[] = "0123456789abcdef";
    if (!hex || strlen(hex) != 64) return false;
    for (int i = 0; i < 64; i++) {
        const char *digit = strchr(digits, hex[i]);
        if (!digit) return false;
        out[i / 2] = (uint8_t)(i % 2 ? out[i / 2] * 16 + (digit - digits) : digit - digits);
    }
    return true;
}

static bool read_recorded(const sbi_json *object, sbi_recorded *out) {
    const char *dtype = text_member(object, "dtype", 16);
    const sbi_json *shape = sbi_json_member(object, "shape");
    if (!dtype || !shape || shape->kind != SBI_JSON_ARRAY || shape->length > SB_MAX_DIMS) return false;
    for (int i = SB_F32; i <= SB_U64; i++)
        if (strcmp(dtype, sbi_dtype_name((sb_dtype)i)) == 0) out->dtype = (sb_dtype)i;
    for (const sbi_json *size = shape->first; size; size = size->next)
        if (!sbi_json_integer(size, &out->shape[out->ndim++]) || out->shape[out->ndim - 1] < 0) return false;
    return out->dtype && read_hash(text_member(object, "sha256", 64), out->digest);
}

static sb_status read_step(sb_context *ctx, const sbi_json *object, const sbi_safetensors *file, sbi_recording *r, sb_error *err) {
    sbi_step *step = &r->steps[r->count];
    uint8_t digest[32];
    char tensor[16];
    snprintf(tensor, sizeof tensor, "model.%d", r->count);
    const char *name = text_member(object, "name", SBI_STEP_NAME - 1), *method = text_member(object, "method", SBI_NAME - 1);
    const sbi_tensor_view *view = sbi_safetensors_find(file, tensor);
    if (!name || !method || !read_hash(text_member(object, "model", 64), step->digest) ||
        !read_recorded(sbi_json_member(object, "output"), &step->output))
        return bad(err, "steps", "a step lacks its name, method, model or output");
    if (!view || view->dtype != SB_U8 || view->ndim != 1) return bad(err, "steps", "the bytes of a model are missing");
    snprintf(step->name, sizeof step->name, "%s", name);
    snprintf(step->method, sizeof step->method, "%s", method);
    sb_status status = sbi_model_restore(ctx, view->bytes, view->size, &step->owned, err);
    if (status != SB_OK) return status;
    step->model = step->owned;
    r->count++;
    if ((status = sbi_model_digest(ctx, step->owned, digest, err)) != SB_OK) return status;
    return memcmp(digest, step->digest, 32) == 0 ? SB_OK : bad(err, "steps", "a model is not the one that was recorded");
}

static sb_status read_values(sb_context *ctx, const sbi_tensor_view *view, const sbi_recorded *expected, sb_array **out, sb_error *err) {
    sbi_recorded found;
    void *bytes = sbi_allocate(&ctx->allocator, view->size, 1, err);
    sb_status status = bytes ? sbi_array_new(ctx, view->dtype, view->ndim, view->shape, out, err) : SB_ERR_MEMORY;
    if (status == SB_OK) {
        sbi_tensor_copy(view, bytes);
        status = sbi_array_write(*out, bytes, (size_t)view->size, err);
    }
    sbi_release(&ctx->allocator, bytes);
    if (status == SB_OK) status = sbi_recorded_of(ctx, *out, &found, err);
    if (status != SB_OK || sbi_recorded_same(&found, expected)) return status;
    return bad(err, view->name, "its numbers are not those that were recorded");
}

static sb_status read_descriptor(sb_context *ctx, sbi_arena *arena, const char *text, const sbi_safetensors *file, sbi_recording *r, sb_error *err) {
    const sbi_json *root;
    sb_status status = sbi_json_read(arena, text, (int64_t)strlen(text), &root, err);
    if (status != SB_OK) return status;
    const sbi_json *steps = sbi_json_member(root, "steps"), *threshold = sbi_json_member(root, "threshold");
    const char *decision = text_member(root, "decision", 16), *note = text_member(root, "note", INT64_C(1) << 20);
    if (!steps || steps->kind != SBI_JSON_ARRAY || steps->length < 1 || steps->length > SBI_STEPS)
        return bad(err, "steps", "it has no list of steps, or too long a one");
    if (!read_recorded(sbi_json_member(root, "input"), &r->input)) return bad(err, "input", "what it says of the input");
    if (!note) return bad(err, "note", "the note");
    if (!decision) return bad(err, "decision", "the decision");
    for (r->decision = 0; r->decision < SBI_DECISIONS && strcmp(decision, sbi_decision_names[r->decision]) != 0;) r->decision++;
    if (r->decision == SBI_DECISIONS || (r->decision == SBI_DECIDES_THRESHOLD && !(threshold && sbi_json_real(threshold, &r->threshold))))
        return bad(err, "decision", "the decision");
    if (!(r->kept_note = sbi_allocate(&sbi_malloc_allocator, (int64_t)strlen(note) + 1, 1, err))) return SB_ERR_MEMORY;
    memcpy(r->kept_note, note, strlen(note));
    r->note = r->kept_note;
    for (const sbi_json *step = steps->first; step && status == SB_OK; step = step->next) status = read_step(ctx, step, file, r, err);
    if (status != SB_OK) return status;
    const sb_dtype dtype = r->steps[r->count - 1].output.dtype;
    const bool real = dtype == SB_F32 || dtype == SB_F64, fits = r->decision == SBI_DECIDES_NOTHING || (r->decision == SBI_DECIDES_CLASS) == !real;
    return fits ? SB_OK : bad(err, "decision", "its output cannot decide so");
}

// The text is the one that would be written of what was read: no other spaces, members or numbers.
static sb_status check_text(const sbi_recording *r, const char *given, sb_error *err) {
    sbi_text text;
    sb_status status = describe(r, &text, err);
    if (status == SB_OK && strcmp(text.bytes, given) != 0) status = bad(err, "recording", "its text has another form");
    sbi_text_free(&text);
    return status;
}

sb_status sbi_recording_restore(sb_context *ctx, const void *bytes, int64_t size, sbi_recording *out, sb_error *err) {
    sbi_safetensors file;
    memset(out, 0, sizeof *out);
    sbi_arena *arena = sbi_arena_new(&ctx->allocator, err);
    sb_status status = arena ? sbi_safetensors_read(arena, bytes, size, &file, err) : SB_ERR_MEMORY;
    if (status != SB_OK) goto done;
    const char *format = sbi_safetensors_metadata(&file, "format"), *text = sbi_safetensors_metadata(&file, "recording");
    const char *contract = sbi_safetensors_metadata(&file, "contract"), *release = sbi_safetensors_metadata(&file, "release");
    char known[12];
    snprintf(known, sizeof known, "%d", SB_CONTRACT);
    if (!format || strcmp(format, "samebits.recording 1") != 0 || !text || !contract || !release || strlen(release) >= sizeof out->release) {
        status = bad(err, "format", "its metadata hold no format \"samebits.recording 1\"");
        goto done;
    }
    if (strcmp(contract, known) != 0) {
        char shown[40];
        status = sbi_fail(err, SB_ERR_UNSUPPORTED, "contract", "it was recorded under contract %s, this release follows %s",
                          sbi_escape(contract, strlen(contract), shown, sizeof shown), known);
        goto done;
    }
    snprintf(out->release, sizeof out->release, "%s", release);
    if ((status = read_descriptor(ctx, arena, text, &file, out, err)) || (status = check_text(out, text, err))) goto done;
    const sbi_tensor_view *input = sbi_safetensors_find(&file, "input"), *output = sbi_safetensors_find(&file, "output");
    if (!input != !output || file.count != out->count + (input ? 2 : 0)) {
        status = bad(err, "tensors", "its tensors are not the models, and input and output or neither");
        goto done;
    }
    if (input && ((status = read_values(ctx, input, &out->input, &out->x, err)) ||
                  (status = read_values(ctx, output, &out->steps[out->count - 1].output, &out->y, err))))
        goto done;
    status = sbi_recording_identify(out, err);
done:
    if (status != SB_OK) sbi_recording_clear(out);
    sbi_arena_free(arena);
    return status;
}

sb_status sbi_recording_load(sb_context *ctx, const char *path, sbi_recording *out, sb_error *err) {
    uint8_t *bytes = NULL;
    int64_t size = 0;
    sb_status status = sbi_file_read(&ctx->allocator, path, INT64_C(1) << 46, &bytes, &size, err);
    if (status == SB_OK) status = sbi_recording_restore(ctx, bytes, size, out, err);
    sbi_release(&ctx->allocator, bytes);
    return status;
}
