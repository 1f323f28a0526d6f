// SPDX-License-Identifier: Apache-2.0
// What a recipe costs, from its shapes alone: nothing of its size is allocated.
#include "lm.h"

#include <string.h>

sb_status sbi_lm_describe(sb_context *ctx, const char *path, sb_lm_description *out,
                          sb_error *err) {
    sbi_recipe r;
    sbi_decoder shape = {0};
    sbi_arena *arena = sbi_arena_new(&ctx->allocator, err);
    sb_status status = arena ? sbi_recipe_load(ctx, arena, path, &r, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_decoder_layout(&ctx->allocator, &r.model, &shape, err);
    if (status == SB_OK) {
        int64_t set = 4 * shape.layout.extent, sequences = r.shards * r.shard_sequences,
                half = r.shards / 2, sets = 1;
        for (int64_t n = 1; n < r.shards; n *= 2) sets++;
        *out = (sb_lm_description){
            .parameters = shape.layout.elements,
            .steps = r.steps,
            .tokens_per_step = sequences * r.sequence_length,
            .state_bytes = 3 * set,
            .gradient_bytes = set,
            .gradient_sets = sets,
            .activation_bytes = sbi_pass_bytes(&r.model, r.shard_sequences, r.sequence_length),
            .step_read_bytes = sequences * (r.sequence_length + 1)};
        memcpy(out->name, r.name, sizeof out->name);
        int64_t nodes = sbi_tree_loose(r.shards, 0, half);
        if (sbi_tree_loose(r.shards, half, r.shards - half) > nodes)
            nodes = sbi_tree_loose(r.shards, half, r.shards - half);
        out->step_exchange_bytes = (nodes + 1) * set + 8 * r.shards;
        out->ledger_line_bytes = 19 * r.shards + 290;
        out->checkpoint_bytes = 12 * shape.layout.elements + r.text_length + 16;
        for (int64_t i = 0; i < shape.layout.count;
             i++) // about: names, shapes and spans of three tensors
            out->checkpoint_bytes += 3 * ((int64_t)strlen(shape.layout.items[i].name) + 90) + 34;
    }
    if (status == SB_OK && out->activation_bytes < 0)
        status = sbi_fail(err, SB_ERR_SIZE, "training", "the activations of a shard overflow");
    sbi_decoder_free(&shape);
    sbi_arena_free(arena);
    return status;
}
