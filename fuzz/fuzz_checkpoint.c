// SPDX-License-Identifier: Apache-2.0
// Checkpoints: opened, evaluated on a text, and asked for two tokens. A file that has the form of one is tried as it stands
// and then with its seal and its state's digest made right, so that what lies behind these is reached as well.
#include "fuzz.h"
#include "lm.h"

#include <unistd.h>

static const char text[] = "In the beginning was the word, and it was long enough for a window or two of it.";

// What became of a file or folder. Most of the time goes into opening it, so the second time that a sealed file is used
// is by its folder, and one as it stands is evaluated alone.
typedef struct outcome {
    sb_status evaluated, generated;
    sb_lm_evaluation evaluation;
    uint8_t tokens[2];
} outcome;

static void evaluate(const char *path, outcome *out) {
    sb_error err = {0};
    memset(out, 0, sizeof *out);
    out->evaluated = sb_lm_evaluate(fuzz_context(), path, fuzz_file(3, text, sizeof text - 1), 1, &out->evaluation, &err);
    if (out->evaluated != SB_OK) fuzz_error(out->evaluated, &err);
}

static void use(const char *path, outcome *out) {
    sb_error err = {0};
    evaluate(path, out);
    const sb_lm_generation generation = {.size = sizeof generation, .checkpoint = path, .prompt = (const uint8_t *)text,
                                         .prompt_bytes = 3, .tokens = 2, .temperature = 1.0, .top_k = 40, .top_p = 0.9, .seed = 7};
    out->generated = sb_lm_generate(fuzz_context(), &generation, out->tokens, &err);
    if (out->generated != SB_OK) fuzz_error(out->generated, &err);
}

static void same(const outcome *one, const outcome *two) {
    MUST(one->evaluated == two->evaluated && one->generated == two->generated);
    if (one->evaluated == SB_OK) MUST(memcmp(&one->evaluation, &two->evaluation, sizeof one->evaluation) == 0);
    if (one->generated == SB_OK) MUST(memcmp(one->tokens, two->tokens, sizeof one->tokens) == 0);
}

// The digest of the tensors as they stand (T10).
static bool state_digest(sbi_arena *arena, const sbi_safetensors *file, char hex[65]) {
    const char **names = sbi_arena_allocate(arena, file->count + 1, sizeof *names, NULL);
    sb_array **arrays = sbi_arena_allocate(arena, file->count + 1, sizeof *arrays, NULL);
    uint8_t digest[32];
    bool good = names && arrays;
    for (int64_t i = 0; i < file->count && good; i++) {
        const sbi_tensor_view *view = &file->tensors[i];
        void *copy = malloc((size_t)view->size + 1);
        names[i] = view->name;
        good = copy && sb_array_new(fuzz_context(), view->dtype, view->ndim, view->shape, &arrays[i], NULL) == SB_OK;
        if (good) {
            sbi_tensor_copy(view, copy);
            good = sb_array_write(arrays[i], copy, (size_t)view->size, NULL) == SB_OK;
        }
        free(copy);
    }
    good = good && sb_digest_arrays(fuzz_context(), file->count, names, (const sb_array *const *)arrays, digest, NULL) == SB_OK;
    for (int64_t i = 0; i < file->count && arrays; i++) sb_array_free(arrays[i]);
    if (good) sbi_hex(digest, 32, hex);
    return good;
}

static void set(sbi_safetensors *file, const char *key, const char *value) {
    for (int64_t i = 0; i < file->metadata_count; i++)
        if (strcmp(file->keys[i], key) == 0) file->values[i] = value;
}

// Writes the file again with a recipe in full, the right digest and the right seal; false where it has no form to do so.
static bool seal(sbi_arena *arena, sbi_safetensors *file, const char *path) {
    static const char *const sealed[] = {"samebits.contract", "samebits.step", "samebits.state", "samebits.ledger",
                                         "samebits.best_step", "samebits.best_loss", "samebits.recipe"};
    char state[65], right[65];
    uint8_t digest[32];
    sbi_sha256 hash;
    sbi_recipe recipe;
    const char *written = sbi_safetensors_metadata(file, "samebits.recipe");
    if (!written || !state_digest(arena, file, state)) return false;
    if (sbi_recipe_read(fuzz_context(), arena, written, (int64_t)strlen(written), &recipe, NULL) == SB_OK)
        set(file, "samebits.recipe", recipe.text);
    set(file, "samebits.state", state);
    sbi_sha256_start(&hash);
    for (int i = 0; i < 7; i++) {
        const char *value = sbi_safetensors_metadata(file, sealed[i]);
        if (!value) return false;
        sbi_sha256_add(&hash, value, strlen(value) + 1);
    }
    sbi_sha256_end(&hash, digest);
    sbi_hex(digest, 32, right);
    set(file, "samebits.seal", right);
    return sbi_safetensors_write(&fuzz_allocator, path, file->tensors, file->count, file->keys, file->values,
                                 file->metadata_count, NULL) == SB_OK;
}

void fuzz_checkpoint(const uint8_t *data, size_t size) {
    char path[100];
    sbi_safetensors file;
    outcome one, two;
    const char *raw = fuzz_file(0, data, size);
    evaluate(raw, &one);
    evaluate(raw, &two);
    same(&one, &two);
    snprintf(path, sizeof path, "%s/model.safetensors", fuzz_folder());
    sbi_arena *arena = sbi_arena_new(&fuzz_allocator, NULL);
    if (arena && sbi_safetensors_read(arena, data, (int64_t)size, &file, NULL) == SB_OK && seal(arena, &file, path)) {
        use(path, &one);
        use(fuzz_folder(), &two);
        same(&one, &two);
    }
    unlink(path);
    sbi_arena_free(arena);
}
