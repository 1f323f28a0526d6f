// SPDX-License-Identifier: Apache-2.0
// Lanes of whole models: a tiny decoder forward and backward, the same decoder with a key-value
// cache, and two steps of training from a recipe. On the reference they are this same code over the
// reference's operations.
#include "lm.h"
#include "proof.h"

#include <string.h>

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

// Weights of the fixture, an eighth of its values, so that a layer does not blow up what it is
// given.
static void fill_weights(sbi_lane_run *run, sbi_decoder *decoder, sb_error *err) {
    for (int64_t i = 0; i < decoder->layout.count && run->status == SB_OK; i++) {
        const sbi_parameter *p = &decoder->layout.items[i];
        sb_array *drawn = sbi_lane_input(run, p->name, SB_F32, p->ndim, p->shape);
        sbi_lane_do(run, sb_scale(run->ctx, drawn, 0.125, decoder->weights.items[i], err));
    }
}

static sb_status run_decoder(sbi_lane_run *run, const sbi_model *model, sb_error *err) {
    int64_t batch = 2, length = sbi_lane_size(run, 135, 7), n = batch * length;
    sbi_decoder decoder = {0};
    sbi_pass pass = {0};
    sbi_tensors gradients = {0};
    double loss = 0.0;
    sb_array *ids = sbi_lane_indices(run, "ids", SB_I32, 1, SHAPE(n), model->vocabulary);
    sb_array *targets = sbi_lane_indices(run, "targets", SB_I32, 1, SHAPE(n), model->vocabulary);
    sbi_lane_do(run, sbi_decoder_new(run->ctx, model, length, &decoder, err));
    fill_weights(run, &decoder, err);
    if (run->status == SB_OK)
        sbi_lane_do(run, sbi_pass_new(run->ctx, &decoder, batch, length, true, &pass, err));
    if (run->status == SB_OK)
        sbi_lane_do(run, sbi_tensors_new(run->ctx, &decoder.layout, &gradients, err));
    if (run->status == SB_OK) sbi_lane_do(run, sb_array_copy(run->ctx, ids, pass.ids, err));
    if (run->status == SB_OK) sbi_lane_do(run, sb_array_copy(run->ctx, targets, pass.targets, err));
    if (run->status == SB_OK)
        sbi_lane_do(run, sbi_decoder_forward(run->ctx, &decoder, &pass, NULL, err));
    if (run->status == SB_OK) sbi_lane_cell(run, "logits", pass.logits, err);
    if (run->status == SB_OK) sbi_lane_do(run, sbi_decoder_loss(run->ctx, &pass, &loss, err));
    sbi_lane_cell_real(run, "loss", loss, err);
    if (run->status == SB_OK)
        sbi_lane_do(
            run, sbi_decoder_backward(run->ctx, &decoder, &pass, 1.0 / (double)n, &gradients, err));
    if (run->status == SB_OK) sbi_lane_cell(run, "gradient", gradients.flat, err);
    sbi_tensors_free(&gradients);
    sbi_pass_free(&pass);
    sbi_decoder_free(&decoder);
    return run->status;
}

static const sbi_model grouped = {.hidden_size = 24,
                                  .layers = 2,
                                  .heads = 4,
                                  .kv_heads = 2,
                                  .intermediate_size = 40,
                                  .vocabulary = 19,
                                  .final_norm = 1,
                                  .bias = 1,
                                  .rope_theta = 10000.0,
                                  .norm_eps = 1e-5};
static const sbi_model tied = {.hidden_size = 16,
                               .layers = 1,
                               .heads = 2,
                               .kv_heads = 2,
                               .intermediate_size = 33,
                               .vocabulary = 23,
                               .tie = 1,
                               .rope_theta = 500.0,
                               .norm_eps = 1e-6};

static sb_status run_decoder_grouped(sbi_lane_run *run, sb_error *err) {
    return run_decoder(run, &grouped, err);
}
static sb_status run_decoder_tied(sbi_lane_run *run, sb_error *err) {
    return run_decoder(run, &tied, err);
}

// The rows of a sequence come all at once, in halves or one by one: the cache must give the same
// logits.
static sb_status run_cache(sbi_lane_run *run, sb_error *err) {
    int64_t length = sbi_lane_size(run, 131, 9);
    sbi_decoder decoder = {0};
    sbi_cache cache = {0};
    sb_array *ids = sbi_lane_indices(run, "ids", SB_I32, 1, SHAPE(length), grouped.vocabulary);
    sb_array *logits = sbi_lane_result(run, SB_F32, 2, SHAPE(length, grouped.vocabulary));
    sbi_lane_do(run, sbi_decoder_new(run->ctx, &grouped, length, &decoder, err));
    fill_weights(run, &decoder, err);
    if (run->status == SB_OK)
        sbi_lane_do(run, sbi_cache_new(run->ctx, &decoder, length, &cache, err));
    for (sbi_part part = sbi_lane_first(run, length); part.count > 0 && run->status == SB_OK;
         part = sbi_lane_next(run, part)) {
        sbi_pass pass = {0};
        sb_array *some = sbi_lane_part(run, ids, part), *rows = sbi_lane_part(run, logits, part);
        sbi_lane_do(run, sbi_pass_new(run->ctx, &decoder, 1, part.count, false, &pass, err));
        if (run->status == SB_OK) sbi_lane_do(run, sb_array_copy(run->ctx, some, pass.ids, err));
        if (run->status == SB_OK)
            sbi_lane_do(run, sbi_decoder_forward(run->ctx, &decoder, &pass, &cache, err));
        if (run->status == SB_OK) sbi_lane_do(run, sb_array_copy(run->ctx, pass.logits, rows, err));
        sbi_pass_free(&pass);
    }
    sbi_lane_cell(run, "logits", logits, err);
    sbi_cache_free(&cache);
    sbi_decoder_free(&decoder);
    return run->status;
}

// Draws from rows of logits: greedy, by temperature, top-k and top-p.
static sb_status run_sample(sbi_lane_run *run, sb_error *err) {
    static const struct {
        double temperature, top_p;
        int64_t top_k;
    } ways[] = {{0.0, 1.0, 0}, {1.0, 1.0, 0}, {0.7, 1.0, 5}, {1.3, 0.8, 0}, {0.9, 0.9, 12}};
    enum { WAYS = sizeof ways / sizeof *ways };
    int64_t n = sbi_lane_size(run, 40, 7), v = sbi_lane_size(run, 97, 5), *drawn;
    sb_array *logits = sbi_lane_input(run, "logits", SB_F32, 2, SHAPE(n, v)),
             *tokens = sbi_lane_result(run, SB_I64, 2, SHAPE(n, WAYS));
    sb_array *work = sbi_lane_result(run, SB_F32, 1, SHAPE(v));
    drawn = run->status == SB_OK ? sbi_allocate(&run->ctx->allocator, n * WAYS, sizeof *drawn, err)
                                 : NULL;
    if (!drawn) sbi_lane_do(run, SB_ERR_MEMORY);
    for (int64_t i = 0; i < n * WAYS && run->status == SB_OK; i++) {
        sb_array *row = NULL, *flat = NULL;
        sbi_lane_do(run, sb_array_slice(logits, i / WAYS, 1, &row, err));
        if (run->status == SB_OK) sbi_lane_do(run, sb_array_reshape(row, 1, SHAPE(v), &flat, err));
        if (run->status == SB_OK) sbi_lane_do(run, sb_array_copy(run->ctx, flat, work, err));
        if (run->status == SB_OK)
            sbi_lane_do(run,
                        sbi_sample(run->ctx, work, ways[i % WAYS].temperature, ways[i % WAYS].top_k,
                                   ways[i % WAYS].top_p, 11, i / WAYS, &drawn[i], err));
        sb_array_free(flat);
        sb_array_free(row);
    }
    if (run->status == SB_OK)
        sbi_lane_do(run, sb_array_write(tokens, drawn, (size_t)(n * WAYS) * sizeof *drawn, err));
    if (drawn) sbi_release(&run->ctx->allocator, drawn);
    sbi_lane_cell(run, "last", work, err);
    return sbi_lane_cell(run, "tokens", tokens, err);
}

static const char training_recipe[] =
    "{\"recipe\": 1, \"name\": \"lane\","
    " \"model\": {\"hidden_size\": 16, \"layers\": 2, \"heads\": 2, \"kv_heads\": 1, "
    "\"intermediate_size\": 24},"
    " \"training\": {\"steps\": 3, \"shards\": 5, \"shard_sequences\": 2, \"sequence_length\": 11, "
    "\"seed\": 77,"
    " \"learning_rate\": 0.01, \"warm_up\": 1, \"clip\": 0.5}}";

static sb_status run_training(sbi_lane_run *run, sb_error *err) {
    enum { BYTES = 500 };
    sbi_recipe recipe;
    sbi_trainer trainer = {0};
    uint8_t text[BYTES];
    int64_t letters[BYTES];
    sb_array *drawn = sbi_lane_indices(run, "text", SB_I64, 1, SHAPE(BYTES), 60);
    sb_array *norm = sbi_lane_input(run, "norm", SB_F32, 1, SHAPE(16)),
             *losses = sbi_lane_result(run, SB_F64, 1, SHAPE(5));
    sbi_arena *arena = sbi_arena_new(&run->ctx->allocator, err);
    sbi_lane_do(run, arena ? SB_OK : SB_ERR_MEMORY);
    if (run->status == SB_OK)
        sbi_lane_do(run, sbi_recipe_read(run->ctx, arena, training_recipe,
                                         (int64_t)sizeof training_recipe - 1, &recipe, err));
    if (run->status == SB_OK) sbi_lane_do(run, sb_array_read(drawn, letters, sizeof letters, err));
    for (int i = 0; i < BYTES && run->status == SB_OK; i++) text[i] = (uint8_t)(letters[i] + 64);
    const sbi_corpus corpus = {
        .allocator = run->ctx->allocator, .bytes = text, .size = BYTES, .train = BYTES - 100};
    if (run->status == SB_OK)
        sbi_lane_do(run,
                    sbi_trainer_new(run->ctx, &recipe, &corpus, 0, recipe.shards, &trainer, err));
    if (run->status == SB_OK) sbi_lane_do(run, sbi_trainer_initialize(&trainer, err));
    if (run->status == SB_OK)
        sbi_lane_do(run, sb_array_copy(run->ctx, norm,
                                       trainer.decoder.weights.items[trainer.decoder.norm], err));
    if (run->status == SB_OK) sbi_lane_cell(run, "initial", trainer.decoder.weights.flat, err);
    for (int step = 0; step < 2 && run->status == SB_OK; step++) {
        sbi_lane_do(run, sbi_trainer_compute(&trainer, err));
        if (run->status != SB_OK) break;
        sbi_gradient *gradient = sbi_tree_root(trainer.tree);
        sbi_lane_cell(run, step ? "gradient2" : "gradient1", gradient->flat, err);
        sbi_lane_do(run, sb_array_write(losses, trainer.losses, 5 * sizeof *trainer.losses, err));
        sbi_lane_cell(run, step ? "losses2" : "losses1", losses, err);
        if (run->status == SB_OK)
            sbi_lane_do(run, sbi_trainer_apply(&trainer, gradient->views, err));
    }
    if (run->status == SB_OK) sbi_lane_cell(run, "weights", trainer.decoder.weights.flat, err);
    if (run->status == SB_OK) sbi_lane_cell(run, "first", trainer.optimizer.first.flat, err);
    if (run->status == SB_OK) sbi_lane_cell(run, "second", trainer.optimizer.second.flat, err);
    sbi_trainer_free(&trainer);
    sbi_arena_free(arena);
    return run->status;
}

// These lanes call what lies below the exported functions, which set the contract's floating-point
// environment: so each run sets it here, as they do.
#define INSIDE(name)                                                                               \
    static sb_status name##_inside(sbi_lane_run *run, sb_error *err) {                             \
        const sbi_fpenv before = sbi_fpenv_enter();                                                \
        const sb_status status = name(run, err);                                                   \
        sbi_fpenv_leave(before);                                                                   \
        return status;                                                                             \
    }
INSIDE(run_decoder_grouped)
INSIDE(run_decoder_tied)
INSIDE(run_cache)
INSIDE(run_sample)
INSIDE(run_training)

#define SOME                                                                                       \
    (SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_ODD) | SBI_FIX(SBI_FIX_WIDE) |                       \
     SBI_FIX(SBI_FIX_SUBNORMAL))
const sbi_lane sbi_lanes_model[] = {
    {.name = "decoder_grouped",
     .kind = "model",
     .fixtures = SOME,
     .training = true,
     .counts_inputs = true,
     .run = run_decoder_grouped_inside},
    {.name = "decoder_tied",
     .kind = "model",
     .fixtures = SOME,
     .training = true,
     .counts_inputs = true,
     .run = run_decoder_tied_inside},
    {.name = "decoder_cache",
     .kind = "model",
     .fixtures = SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_ODD),
     .quick = true,
     .rows = true,
     .counts_inputs = true,
     .run = run_cache_inside},
    {.name = "sample",
     .kind = "model",
     .fixtures = SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_TIES) | SBI_FIX(SBI_FIX_ODD),
     .counts_inputs = true,
     .run = run_sample_inside},
    {.name = "training",
     .kind = "model",
     .fixtures = SBI_FIX(SBI_FIX_PLAIN),
     .training = true,
     .counts_inputs = true,
     .run = run_training_inside},
    {.name = NULL},
};
