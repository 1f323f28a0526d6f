// SPDX-License-Identifier: Apache-2.0
// A checkpoint is one safetensors file: the tensors of the state (trainer.c) and, as metadata, the
// recipe in full, the step, the ledger's last hash, the digest of the state, the best evaluation so
// far, and a seal over all of these. Nothing of the machine, the folder or the way here is in it:
// the same state gives the same bytes. Its folder also holds a config.json, so that other programs
// find a Llama there. The file appears by a rename or not at all; a step's folder without it is
// none.
#include "lm.h"

#include <stdio.h>
#include <string.h>

#define CHECKPOINT_LIMIT (INT64_C(1) << 42)

static sb_status join(const char *folder, const char *name, char path[SBI_PATH], sb_error *err) {
    int length = snprintf(path, SBI_PATH, "%s/%s", folder, name);
    if (length < 0 || length >= SBI_PATH)
        return sbi_fail(err, SB_ERR_IO, "folder", "the folder's name is too long");
    return SB_OK;
}

sb_status sbi_checkpoint_path(const char *folder, int64_t step, const char *file,
                              char path[SBI_PATH], sb_error *err) {
    char name[80];
    snprintf(name, sizeof name, "step-%09lld%s%s", (long long)step, *file ? "/" : "", file);
    return join(folder, name, path, err);
}

// What the seal covers, in this order: SHA-256 of each value, its terminating NUL included.
static const char *const sealed[] = {
    "samebits.contract",  "samebits.step",      "samebits.state", "samebits.ledger",
    "samebits.best_step", "samebits.best_loss", "samebits.recipe"};
enum { SEALED = sizeof sealed / sizeof *sealed };

static void seal_of(const char *const values[SEALED], char out[65]) {
    sbi_sha256 hash;
    uint8_t digest[32];
    sbi_sha256_start(&hash);
    for (int i = 0; i < SEALED; i++) sbi_sha256_add(&hash, values[i], strlen(values[i]) + 1);
    sbi_sha256_end(&hash, digest);
    sbi_hex(digest, 32, out);
}

// ---------------------------------------------------------------- saving

static sb_status save_config(const sbi_recipe *r, const sbi_allocator *allocator, const char *path,
                             sb_error *err) {
    const sbi_model *m = &r->model;
    sbi_text text;
    sbi_file *file = NULL;
    sbi_text_start(&text, allocator);
    sbi_text_add(&text, "{\n  \"architectures\": [\"LlamaForCausalLM\"],\n  \"model_type\": "
                        "\"llama\",\n  \"hidden_act\": \"silu\",\n");
    sbi_text_add(&text,
                 "  \"hidden_size\": %lld,\n  \"intermediate_size\": %lld,\n  "
                 "\"num_hidden_layers\": %lld,\n",
                 (long long)m->hidden_size, (long long)m->intermediate_size, (long long)m->layers);
    sbi_text_add(&text,
                 "  \"num_attention_heads\": %lld,\n  \"num_key_value_heads\": %lld,\n  "
                 "\"head_dim\": %lld,\n",
                 (long long)m->heads, (long long)m->kv_heads,
                 (long long)(m->hidden_size / m->heads));
    sbi_text_add(
        &text,
        "  \"vocab_size\": %lld,\n  \"max_position_embeddings\": %lld,\n  \"rms_norm_eps\": ",
        (long long)m->vocabulary, (long long)r->sequence_length);
    sbi_text_add_real(&text, m->norm_eps);
    sbi_text_add(&text, ",\n  \"rope_theta\": ");
    sbi_text_add_real(&text, m->rope_theta);
    const char *bias = m->bias ? "true" : "false";
    sbi_text_add(
        &text,
        ",\n  \"attention_bias\": %s,\n  \"mlp_bias\": %s,\n  \"tie_word_embeddings\": %s,\n", bias,
        bias, m->tie ? "true" : "false");
    sbi_text_add(&text,
                 "  \"bos_token_id\": null,\n  \"eos_token_id\": null,\n  \"torch_dtype\": "
                 "\"float32\",\n  \"samebits_final_norm\": %s\n}\n",
                 m->final_norm ? "true" : "false");
    sb_status status = text.failed
                           ? sbi_fail(err, SB_ERR_MEMORY, "", "out of memory for config.json")
                           : sbi_file_create(allocator, path, &file, err);
    if (status == SB_OK) status = sbi_file_write(file, text.bytes, text.length, err);
    if (status == SB_OK) status = sbi_file_commit(file, err);
    if (status != SB_OK) sbi_file_abandon(file);
    sbi_text_free(&text);
    return status;
}

sb_status sbi_checkpoint_save(sbi_trainer *t, const sbi_ledger *ledger, const char *state,
                              const char *folder, sb_error *err) {
    const sbi_allocator *allocator = &t->ctx->allocator;
    char path[SBI_PATH], step[24], best_step[24], best_loss[24], contract[12], seal[65];
    uint64_t bits;
    sbi_tensor_view *views = NULL;
    uint8_t *bytes = sbi_allocate(allocator, sbi_trainer_bytes(t), 1, err);
    sb_status status = bytes ? sbi_trainer_export(t, bytes, err) : SB_ERR_MEMORY;
    if (status == SB_OK && !(views = sbi_allocate(allocator, t->state.count, sizeof *views, err)))
        status = SB_ERR_MEMORY;
    if (status != SB_OK) goto done;
    const uint8_t *at = bytes;
    for (int64_t i = 0; i < t->state.count; i++) {
        const sb_array *a = t->state.arrays[i];
        views[i] = (sbi_tensor_view){.name = t->state.names[i],
                                     .dtype = a->dtype,
                                     .ndim = a->ndim,
                                     .bytes = at,
                                     .size = a->size * (int64_t)sbi_dtype_size(a->dtype)};
        memcpy(views[i].shape, a->shape, sizeof views[i].shape);
        at += views[i].size;
    }
    memcpy(&bits, &t->best_loss, sizeof bits);
    snprintf(step, sizeof step, "%lld", (long long)t->step);
    snprintf(best_step, sizeof best_step, "%lld", (long long)t->best_step);
    snprintf(best_loss, sizeof best_loss, "%016llx", (unsigned long long)bits);
    snprintf(contract, sizeof contract, "%d", SB_CONTRACT);
    const char *keys[SEALED + 3] = {"format", "samebits.checkpoint", "samebits.seal"},
                              *values[SEALED + 3] = {"pt", "1", seal};
    const char *const contents[SEALED] = {contract,  step,      state,          ledger->previous,
                                          best_step, best_loss, t->recipe->text};
    memcpy(keys + 3, sealed, sizeof sealed);
    memcpy(values + 3, contents, sizeof contents);
    seal_of(contents, seal);
    status = sbi_checkpoint_path(folder, t->step, "", path, err);
    if (status == SB_OK) status = sbi_folder_make(path, err);
    if (status == SB_OK) status = sbi_checkpoint_path(folder, t->step, "config.json", path, err);
    if (status == SB_OK) status = save_config(t->recipe, allocator, path, err);
    if (status == SB_OK)
        status = sbi_checkpoint_path(folder, t->step, SBI_CHECKPOINT_FILE, path, err);
    if (status == SB_OK)
        status = sbi_safetensors_write(allocator, path, views, t->state.count, keys, values,
                                       SEALED + 3, err);
done:
    sbi_release(allocator, views);
    sbi_release(allocator, bytes);
    return status;
}

// ---------------------------------------------------------------- a run's folder

static int64_t step_of(const char *name) { // "step-000000060", else -1
    int64_t step = 0;
    if (strncmp(name, "step-", 5) != 0 || strlen(name) != 14) return -1;
    for (const char *c = name + 5; *c; c++) {
        if (*c < '0' || *c > '9') return -1;
        step = 10 * step + (*c - '0');
    }
    return step;
}

static bool left_behind(const char *name) { // a temporary of base/file.c
    size_t length = strlen(name);
    return strncmp(name, ".samebits-", 10) == 0 && length > 4 &&
           strcmp(name + length - 4, ".tmp") == 0;
}

static sb_status remove_in(const char *folder, const char *name, sb_error *err) {
    char path[SBI_PATH];
    sb_status status = join(folder, name, path, err);
    return status == SB_OK ? sbi_file_remove(path, err) : status;
}

static sb_status remove_entry(void *user, const char *name, sb_error *err) {
    return remove_in(user, name, err);
}

static sb_status remove_temporary(void *user, const char *name, sb_error *err) {
    return left_behind(name) ? remove_in(user, name, err) : SB_OK;
}

// The checkpoint's file first: what is left after a kill is a folder without one, that is, no
// checkpoint.
static sb_status remove_checkpoint(const sbi_allocator *allocator, const char *folder, int64_t step,
                                   sb_error *err) {
    char path[SBI_PATH];
    sb_status status = sbi_checkpoint_path(folder, step, SBI_CHECKPOINT_FILE, path, err);
    if (status == SB_OK) status = sbi_file_remove(path, err);
    if (status == SB_OK) status = sbi_checkpoint_path(folder, step, "", path, err);
    if (status == SB_OK) status = sbi_folder_list(allocator, path, remove_entry, path, err);
    return status == SB_OK ? sbi_folder_remove(path, err) : status;
}

typedef struct survey {
    const sbi_allocator *allocator;
    const char *folder;
    int64_t newest, keep, best; // newest: with a checkpoint
    const sbi_recipe *recipe;   // NULL: only the newest is asked for
    bool counting;              // the first pass; the second removes
    int64_t count, seen;        // scheduled ones in all, and so far in the second pass
} survey;

static bool complete(const char *folder, int64_t step) {
    char path[SBI_PATH];
    return sbi_checkpoint_path(folder, step, SBI_CHECKPOINT_FILE, path, NULL) == SB_OK &&
           sbi_file_present(path);
}

// An interruption leaves a checkpoint of its own. It goes once there is a newer one, and does not push
// out a scheduled one: so a run that was interrupted keeps what an undisturbed one keeps.
static bool scheduled(const sbi_recipe *r, int64_t step) {
    return step == 0 || step == r->steps || (r->every > 0 && step % r->every == 0);
}

static sb_status survey_entry(void *user, const char *name,
                              sb_error *err) { // names come in order, so steps ascend
    survey *s = user;
    int64_t step = step_of(name);
    if (step < 0)
        return !s->counting && left_behind(name) ? remove_in(s->folder, name, err) : SB_OK;
    bool whole = complete(s->folder, step);
    if (s->counting) {
        s->count += whole && s->recipe && scheduled(s->recipe, step);
        if (whole) s->newest = step;
        return SB_OK;
    }
    if (!whole) return remove_checkpoint(s->allocator, s->folder, step, err);
    bool stays = scheduled(s->recipe, step) ? s->seen++ >= s->count - s->keep || step == s->best
                                            : step == s->newest;
    if (!stays)
        return remove_checkpoint(s->allocator, s->folder, step, err);
    char path[SBI_PATH];
    sb_status status = sbi_checkpoint_path(s->folder, step, "", path, err);
    return status == SB_OK ? sbi_folder_list(s->allocator, path, remove_temporary, path, err)
                           : status;
}

sb_status sbi_checkpoint_prune(const sbi_trainer *t, const char *folder, sb_error *err) {
    const sbi_allocator *allocator = &t->ctx->allocator;
    survey s = {.allocator = allocator,
                .folder = folder,
                .recipe = t->recipe,
                .keep = t->recipe->keep,
                .best = t->best_step,
                .counting = true};
    sb_status status = sbi_folder_list(allocator, folder, survey_entry, &s, err);
    s.counting = false;
    return status == SB_OK ? sbi_folder_list(allocator, folder, survey_entry, &s, err) : status;
}

sb_status sbi_checkpoint_newest(const sbi_allocator *allocator, const char *folder,
                                char path[SBI_PATH], sb_error *err) {
    survey s = {.folder = folder, .newest = -1, .counting = true};
    sb_status status = sbi_folder_list(allocator, folder, survey_entry, &s, err);
    if (status == SB_OK && s.newest < 0) {
        char shown[160];
        return sbi_fail(err, SB_ERR_STATE, "folder", "%s holds no checkpoint",
                        sbi_escape(folder, strlen(folder), shown, sizeof shown));
    }
    return status == SB_OK ? sbi_checkpoint_path(folder, s.newest, SBI_CHECKPOINT_FILE, path, err)
                           : status;
}

// ---------------------------------------------------------------- opening

static sb_status malformed(sb_error *err, const char *what) {
    return sbi_fail(err, SB_ERR_FORMAT, "checkpoint",
                    "this is no checkpoint of a language model: %s", what);
}

static bool hexadecimal(const char *text, size_t digits) {
    return text && strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
}

static bool whole_number(const char *text, int64_t *out) {
    bool negative = text && *text == '-';
    const char *c = negative ? text + 1 : text;
    int64_t value = 0;
    if (!c || !*c || strlen(c) > 12) return false;
    for (; *c; c++) {
        if (*c < '0' || *c > '9') return false;
        value = 10 * value + (*c - '0');
    }
    *out = negative ? -value : value;
    return true;
}

// Every tensor of the state must be there as its layout says, and nothing else.
static sb_status check_tensors(const sbi_checkpoint *c, const sbi_allocator *allocator,
                               sb_error *err) {
    static const char *const prefixes[3] = {"", "optimizer.first.", "optimizer.second."};
    sbi_decoder shape = {0};
    sb_status status = sbi_decoder_layout(allocator, &c->recipe.model, &shape, err);
    if (status != SB_OK) return status;
    for (int set = 0; set < 3 && status == SB_OK; set++)
        for (int64_t i = 0; i < shape.layout.count && status == SB_OK; i++) {
            const sbi_parameter *p = &shape.layout.items[i];
            char name[SBI_PARAMETER_NAME + 24];
            snprintf(name, sizeof name, "%s%s", prefixes[set], p->name);
            const sbi_tensor_view *v = sbi_safetensors_find(&c->file, name);
            if (!v)
                status =
                    sbi_fail(err, SB_ERR_FORMAT, "checkpoint", "the checkpoint lacks %s", name);
            else if (v->dtype != SB_F32 || v->ndim != p->ndim ||
                     memcmp(v->shape, p->shape, (size_t)p->ndim * sizeof *p->shape) != 0)
                status = sbi_fail(err, SB_ERR_FORMAT, "checkpoint",
                                  "%s is not the float32 tensor of %lld x %lld that the recipe has",
                                  name, (long long)p->shape[0],
                                  (long long)(p->ndim > 1 ? p->shape[1] : 1));
        }
    const sbi_tensor_view *power = sbi_safetensors_find(&c->file, "optimizer.power");
    if (status == SB_OK &&
        (!power || power->dtype != SB_F64 || power->ndim != 1 || power->shape[0] != 2))
        status = malformed(err, "optimizer.power is not two binary64 numbers");
    if (status == SB_OK && c->file.count != 3 * shape.layout.count + 1)
        status = malformed(err, "it holds tensors that its recipe does not have");
    sbi_decoder_free(&shape);
    return status;
}

static sb_status read_metadata(sb_context *ctx, sbi_checkpoint *c, sb_error *err) {
    const sbi_safetensors *f = &c->file;
    const char *kind = sbi_safetensors_metadata(f, "samebits.checkpoint"),
               *contract = sbi_safetensors_metadata(f, "samebits.contract");
    const char *state = sbi_safetensors_metadata(f, "samebits.state"),
               *ledger = sbi_safetensors_metadata(f, "samebits.ledger");
    const char *loss = sbi_safetensors_metadata(f, "samebits.best_loss"),
               *recipe = sbi_safetensors_metadata(f, "samebits.recipe");
    int64_t version;
    if (!kind || strcmp(kind, "1") != 0)
        return malformed(err, "its metadata has no samebits.checkpoint of 1");
    if (!whole_number(contract, &version) || version != SB_CONTRACT)
        return sbi_fail(err, SB_ERR_UNSUPPORTED, "checkpoint",
                        "the checkpoint is of another contract than %d", SB_CONTRACT);
    if (!hexadecimal(state, 64) || !hexadecimal(ledger, 64) || !hexadecimal(loss, 16) || !recipe)
        return malformed(err, "its metadata lacks a digest, the best loss or the recipe");
    memcpy(c->state, state, 65);
    memcpy(c->ledger, ledger, 65);
    uint64_t bits = 0;
    for (int i = 0; i < 16; i++)
        bits = bits << 4 | (uint64_t)(loss[i] <= '9' ? loss[i] - '0' : loss[i] - 'a' + 10);
    memcpy(&c->best_loss, &bits, sizeof bits);
    sb_status status =
        sbi_recipe_read(ctx, c->arena, recipe, (int64_t)strlen(recipe), &c->recipe, err);
    if (status != SB_OK) return status;
    if (strcmp(c->recipe.text, recipe) != 0)
        return malformed(err, "its recipe is not written in full");
    const char *values[SEALED], *seal = sbi_safetensors_metadata(f, "samebits.seal");
    char wanted[65];
    for (int i = 0; i < SEALED; i++)
        if (!(values[i] = sbi_safetensors_metadata(f, sealed[i])))
            return malformed(err, "its metadata is not complete");
    seal_of(values, wanted);
    if (!seal || strcmp(seal, wanted) != 0)
        return malformed(
            err, "its metadata does not have the seal that it names: it was changed or damaged");
    if (!whole_number(sbi_safetensors_metadata(f, "samebits.step"), &c->step) || c->step < 0 ||
        c->step > c->recipe.steps ||
        !whole_number(sbi_safetensors_metadata(f, "samebits.best_step"), &c->best_step) ||
        c->best_step < -1 || c->best_step > c->step)
        return malformed(err, "its steps are not those of its recipe");
    return SB_OK;
}

sb_status sbi_checkpoint_open(sb_context *ctx, const char *path, sbi_checkpoint *out,
                              sb_error *err) {
    char inside[SBI_PATH];
    int64_t size;
    *out = (sbi_checkpoint){.allocator = ctx->allocator};
    sb_status status;
    if (!sbi_file_present(path)) { // a folder, or nothing: then the reading below says so
        bool here = join(path, SBI_CHECKPOINT_FILE, inside, NULL) == SB_OK && sbi_file_present(inside);
        status = here ? SB_OK : sbi_checkpoint_newest(&ctx->allocator, path, inside, err);
        if (status == SB_ERR_MEMORY) return status;
        if (status == SB_OK) path = inside;
    }
    out->arena = sbi_arena_new(&ctx->allocator, err);
    status =
        out->arena ? sbi_file_read(&ctx->allocator, path, CHECKPOINT_LIMIT, &out->bytes, &size, err)
                   : SB_ERR_MEMORY;
    if (status == SB_OK)
        status = sbi_safetensors_read(out->arena, out->bytes, size, &out->file, err);
    if (status == SB_OK) status = read_metadata(ctx, out, err);
    if (status == SB_OK) status = check_tensors(out, &ctx->allocator, err);
    if (status != SB_OK) sbi_checkpoint_close(out);
    return sbi_named(status, "checkpoint", err);
}

void sbi_checkpoint_close(sbi_checkpoint *c) {
    sbi_arena_free(c->arena);
    if (c->bytes) sbi_release(&c->allocator, c->bytes);
    *c = (sbi_checkpoint){0};
}

static sb_status load(const sbi_checkpoint *c, const char *name, sb_array *to, sb_error *err) {
    const sbi_tensor_view *v = sbi_safetensors_find(&c->file, name);
    uint8_t *host = sbi_allocate(&c->allocator, v->size, 1, err);
    if (!host) return SB_ERR_MEMORY;
    sbi_tensor_copy(v, host);
    sb_status status = sbi_array_write(to, host, (size_t)v->size, err);
    sbi_release(&c->allocator, host);
    return status;
}

static sb_status check_digest(const sbi_checkpoint *c, const char *state, sb_error *err) {
    if (strcmp(state, c->state) == 0) return SB_OK;
    return sbi_fail(
        err, SB_ERR_FORMAT, "checkpoint",
        "the checkpoint's tensors do not have the digest that it names: it was changed or damaged");
}

// The digest covers the whole state, so all of it is looked at, whatever is wanted.
static sb_status check_file(sb_context *ctx, const sbi_checkpoint *c, sb_error *err) {
    int64_t count = c->file.count;
    uint8_t digest[32];
    char hex[65];
    const char **names = sbi_arena_allocate(c->arena, count, sizeof *names, err);
    sb_array **arrays = sbi_arena_allocate(c->arena, count, sizeof *arrays, err);
    if (!names || !arrays) return SB_ERR_MEMORY;
    sb_status status = SB_OK;
    for (int64_t i = 0; i < count && status == SB_OK; i++) {
        const sbi_tensor_view *v = &c->file.tensors[i];
        names[i] = v->name;
        status = sbi_array_new(ctx, v->dtype, v->ndim, v->shape, &arrays[i], err);
        if (status == SB_OK) status = load(c, v->name, arrays[i], err);
    }
    if (status == SB_OK)
        status = sbi_digest_arrays(ctx, count, names, (const sb_array *const *)arrays, digest, err);
    for (int64_t i = 0; i < count; i++) sbi_array_free(arrays[i]);
    if (status != SB_OK) return status;
    sbi_hex(digest, sizeof digest, hex);
    return check_digest(c, hex, err);
}

sb_status sbi_checkpoint_weights(sb_context *ctx, const sbi_checkpoint *c, sbi_decoder *decoder,
                                 sb_error *err) {
    sb_status status = check_file(ctx, c, err);
    for (int64_t i = 0; i < decoder->layout.count && status == SB_OK; i++)
        status = load(c, decoder->layout.items[i].name, decoder->weights.items[i], err);
    return status;
}

sb_status sbi_checkpoint_restore(const sbi_checkpoint *c, sbi_trainer *t, sb_error *err) {
    char state[65];
    sb_status status = SB_OK;
    for (int64_t i = 0; i < t->state.count && status == SB_OK; i++)
        status = load(c, t->state.names[i], t->state.arrays[i], err);
    if (status == SB_OK)
        status = sbi_array_read(t->state.power, t->optimizer.power, sizeof t->optimizer.power, err);
    t->step = c->step;
    t->best_step = c->best_step;
    t->best_loss = c->best_loss;
    if (status == SB_OK) status = sbi_trainer_digest(t, state, err);
    return status == SB_OK ? check_digest(c, state, err) : status;
}
