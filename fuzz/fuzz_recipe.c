// SPDX-License-Identifier: Apache-2.0
// The recipe: its full text reads as itself. What it names is laid out and sized as `describe` does it.
#include "fuzz.h"
#include "lm.h"

void fuzz_recipe(const uint8_t *data, size_t size) {
    sb_context *ctx = fuzz_context();
    sb_error err = {0}, again = {0};
    sbi_recipe recipe, other;
    sb_lm_description one, two;
    sbi_arena *arena = sbi_arena_new(&fuzz_allocator, NULL);
    MUST(arena);
    sb_status status = sbi_recipe_read(ctx, arena, (const char *)data, (int64_t)size, &recipe, &err);
    if (status == SB_OK) {
        status = sbi_recipe_read(ctx, arena, recipe.text, recipe.text_length, &other, &again);
        MUST(status == SB_OK || status == SB_ERR_MEMORY);
        MUST(status != SB_OK || (strcmp(recipe.text, other.text) == 0 && strcmp(recipe.sha256, other.sha256) == 0));
        memset(&one, 0, sizeof one);
        memset(&two, 0, sizeof two);
        const char *path = fuzz_file(0, data, size);
        status = sb_lm_describe(ctx, path, &one, &err);
        MUST(status == sb_lm_describe(ctx, path, &two, &again));
        if (status == SB_OK)
            MUST(memcmp(&one, &two, sizeof one) == 0 && one.parameters > 0 && one.state_bytes > 0 && one.tokens_per_step > 0);
    }
    if (status != SB_OK) fuzz_error(status, err.status ? &err : &again);
    sbi_arena_free(arena);
}
