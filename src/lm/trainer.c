// SPDX-License-Identifier: Apache-2.0
// The trainer: the state of a run (weights, moments, powers of beta, the step) and one step of it.
//
// Step t: shard k takes shard_sequences samples of sequence_length bytes and the bytes that follow
// them. Sample `row` starts at the integer in [0, train - sequence_length) that is draw ((t - 1) K
// + k) B + row of the data stream. Every shard computes its undivided loss S(loss_i) and its
// gradient with scale 1/N, N the targets of the whole step (RN64); the gradients combine by the
// tree of T10, are clipped by their global norm and applied by AdamW at the table's rate.
#include "lm.h"

#include <stdio.h>
#include <string.h>

static bool finite64(double x) { return x - x == 0.0; }

// The first tensor that holds an infinity or a NaN, or -1.
static sb_status first_nonfinite(sb_context *ctx, const sbi_tensors *tensors, int64_t *at,
                                 sb_error *err) {
    sb_status status = SB_OK;
    *at = -1;
    for (int64_t i = 0; i < tensors->layout->count && status == SB_OK && *at < 0; i++) {
        double squares;
        status = sbi_sum_squares(ctx, tensors->items[i], &squares, err);
        if (status == SB_OK && !finite64(squares)) *at = i;
    }
    return status;
}

// ---------------------------------------------------------------- shards

static sb_status make_gradient(void *user, sbi_gradient *out, sb_error *err) {
    sbi_trainer *t = user;
    sbi_tensors *tensors = sbi_allocate(&t->ctx->allocator, 1, sizeof *tensors, err);
    if (!tensors) return SB_ERR_MEMORY;
    sb_status status = sbi_tensors_new(t->ctx, &t->decoder.layout, tensors, err);
    if (status != SB_OK) {
        sbi_release(&t->ctx->allocator, tensors);
        return status;
    }
    *out = (sbi_gradient){.flat = tensors->flat, .views = tensors};
    return SB_OK;
}

static void drop_gradient(void *user, sbi_gradient *gradient) {
    sbi_trainer *t = user;
    sbi_tensors_free(gradient->views);
    sbi_release(&t->ctx->allocator, gradient->views);
}

static sb_status prepare_slot(sbi_trainer *t, sb_context *ctx, int slot, sb_error *err) {
    const sbi_recipe *r = t->recipe;
    sb_status status = SB_OK;
    if (!t->passes[slot].decoder)
        status = sbi_pass_new(ctx, &t->decoder, r->shard_sequences, r->sequence_length, true,
                              &t->passes[slot], err);
    if (status == SB_OK && !t->starts[slot])
        status = sbi_array_new(ctx, SB_I64, 1, &r->shard_sequences, &t->starts[slot], err);
    return status;
}

static sb_status compute_shard(void *user, sb_context *ctx, int slot, int64_t shard,
                               sbi_gradient *out, double *loss, sb_error *err) {
    sbi_trainer *t = user;
    const sbi_recipe *r = t->recipe;
    int64_t length = r->sequence_length, sequences = r->shard_sequences;
    int64_t first = (t->step * r->shards + shard) * sequences;
    double targets = (double)(r->shards * sequences * length);
    int64_t *starts = NULL;
    sb_status status = prepare_slot(t, ctx, slot, err);
    if (status != SB_OK) return status;
    sbi_pass *pass = &t->passes[slot];
    status = sbi_random_integers(ctx, (uint64_t)r->seed, SBI_STREAM_DATA, first,
                                 t->corpus->train - length, t->starts[slot], err);
    if (status == SB_OK &&
        !(starts = sbi_allocate(&ctx->allocator, sequences, sizeof *starts, err)))
        status = SB_ERR_MEMORY;
    if (status == SB_OK)
        status = sbi_array_read(t->starts[slot], starts, (size_t)sequences * sizeof *starts, err);
    if (status == SB_OK)
        status =
            sbi_corpus_gather(t->corpus, starts, sequences, length, pass->ids, pass->targets, err);
    if (status == SB_OK) status = sbi_decoder_forward(ctx, &t->decoder, pass, NULL, err);
    if (status == SB_OK) status = sbi_decoder_loss(ctx, pass, loss, err);
    if (status == SB_OK && !finite64(*loss)) {
        int64_t at;
        status = first_nonfinite(ctx, &t->decoder.weights, &at, err);
        if (status == SB_OK)
            status = sbi_fail(
                err, SB_ERR_NONFINITE, "loss",
                "step %lld, shard %lld: the loss is not finite (the first tensor that is not: %s)",
                (long long)t->step + 1, (long long)shard,
                at < 0 ? "none" : t->decoder.layout.items[at].name);
    }
    if (status == SB_OK)
        status = sbi_decoder_backward(ctx, &t->decoder, pass, 1.0 / targets, out->views, err);
    sbi_release(&ctx->allocator, starts);
    return status;
}

// ---------------------------------------------------------------- the state

static sb_status build_state(sbi_trainer *t, sb_error *err) {
    const sbi_layout *layout = &t->decoder.layout;
    const sbi_tensors *sets[3] = {&t->decoder.weights, &t->optimizer.first, &t->optimizer.second};
    static const char *const prefixes[3] = {"", "optimizer.first.", "optimizer.second."};
    sbi_state *s = &t->state;
    int64_t two = 2;
    s->arena = sbi_arena_new(&t->ctx->allocator, err);
    if (!s->arena) return SB_ERR_MEMORY;
    int64_t count = 3 * layout->count + 1;
    s->names = sbi_arena_allocate(s->arena, count, sizeof *s->names, err);
    s->arrays = sbi_arena_allocate(s->arena, count, sizeof *s->arrays, err);
    if (!s->names || !s->arrays) return SB_ERR_MEMORY;
    for (int set = 0; set < 3; set++)
        for (int64_t i = 0; i < layout->count; i++) {
            char name[SBI_PARAMETER_NAME + 24];
            int length = snprintf(name, sizeof name, "%s%s", prefixes[set], layout->items[i].name);
            s->names[s->count] = sbi_arena_string(s->arena, name, (size_t)length, err);
            if (!s->names[s->count]) return SB_ERR_MEMORY;
            s->arrays[s->count++] = sets[set]->items[i];
        }
    sb_status status = sbi_array_new(t->ctx, SB_F64, 1, &two, &s->power, err);
    s->names[s->count] = "optimizer.power";
    s->arrays[s->count++] = s->power;
    return status;
}

static sb_status refresh_state(sbi_trainer *t, sb_error *err) {
    return sbi_array_write(t->state.power, t->optimizer.power, sizeof t->optimizer.power, err);
}

sb_status sbi_trainer_digest(sbi_trainer *t, char state[65], sb_error *err) {
    uint8_t digest[32];
    sb_status status = refresh_state(t, err);
    if (status == SB_OK)
        status = sbi_digest_arrays(t->ctx, t->state.count, t->state.names,
                                   (const sb_array *const *)t->state.arrays, digest, err);
    if (status == SB_OK) sbi_hex(digest, 32, state);
    return status;
}

static int64_t array_bytes(const sb_array *a) {
    return a->size * (int64_t)sbi_dtype_size(a->dtype);
}

int64_t sbi_trainer_bytes(const sbi_trainer *t) {
    int64_t bytes = 0;
    for (int64_t i = 0; i < t->state.count; i++) bytes += array_bytes(t->state.arrays[i]);
    return bytes;
}

sb_status sbi_trainer_export(sbi_trainer *t, uint8_t *to, sb_error *err) {
    sb_status status = refresh_state(t, err);
    for (int64_t i = 0; i < t->state.count && status == SB_OK; i++) {
        int64_t bytes = array_bytes(t->state.arrays[i]);
        status = sbi_array_read(t->state.arrays[i], to, (size_t)bytes, err);
        to += bytes;
    }
    return status;
}

sb_status sbi_trainer_import(sbi_trainer *t, const uint8_t *from, sb_error *err) {
    sb_status status = SB_OK;
    for (int64_t i = 0; i < t->state.count && status == SB_OK; i++) {
        int64_t bytes = array_bytes(t->state.arrays[i]);
        status = sbi_array_write(t->state.arrays[i], from, (size_t)bytes, err);
        from += bytes;
    }
    return status == SB_OK
               ? sbi_array_read(t->state.power, t->optimizer.power, sizeof t->optimizer.power, err)
               : status;
}

// ---------------------------------------------------------------- the trainer

void sbi_trainer_free(sbi_trainer *t) {
    if (!t->ctx) return;
    sbi_tree_free(t->tree);
    for (int64_t i = 0; i < t->slots; i++) {
        if (t->passes) sbi_pass_free(&t->passes[i]);
        if (t->starts) sbi_array_free(t->starts[i]);
    }
    sbi_release(&t->ctx->allocator, t->passes);
    sbi_release(&t->ctx->allocator, t->starts);
    sbi_release(&t->ctx->allocator, t->losses);
    sbi_array_free(t->state.power);
    sbi_arena_free(t->state.arena);
    sbi_optimizer_free(&t->optimizer);
    sbi_decoder_free(&t->decoder);
    *t = (sbi_trainer){0};
}

sb_status sbi_trainer_new(sb_context *ctx, const sbi_recipe *recipe, const sbi_corpus *corpus,
                          int64_t first, int64_t count, sbi_trainer *out, sb_error *err) {
    sbi_trainer *t = out;
    *t = (sbi_trainer){.ctx = ctx, .recipe = recipe, .corpus = corpus, .best_step = -1};
    t->optimizer = (sbi_optimizer){.beta1 = (float)recipe->beta1,
                                   .beta2 = (float)recipe->beta2,
                                   .eps = (float)recipe->eps,
                                   .groups = recipe->groups,
                                   .group_count = recipe->group_count};
    const sbi_shard_job job = {.shards = recipe->shards,
                               .user = t,
                               .make = make_gradient,
                               .drop = drop_gradient,
                               .compute = compute_shard};
    int64_t tokens, all;
    if (!sbi_multiply(recipe->shards, recipe->shard_sequences, &tokens) ||
        !sbi_multiply(tokens, recipe->sequence_length, &all))
        return sbi_fail(err, SB_ERR_SIZE, "training", "the tokens of a step overflow");
    sb_status status =
        sbi_decoder_new(ctx, &recipe->model, recipe->sequence_length, &t->decoder, err);
    if (status == SB_OK) status = sbi_optimizer_start(ctx, &t->decoder.layout, &t->optimizer, err);
    if (status == SB_OK) status = build_state(t, err);
    if (status == SB_OK) status = sbi_tree_new(ctx, &job, first, count, &t->tree, err);
    if (status == SB_OK) {
        t->slots = sbi_tree_slots(t->tree);
        t->passes = sbi_allocate(&ctx->allocator, t->slots, sizeof *t->passes, err);
        t->starts = sbi_allocate(&ctx->allocator, t->slots, sizeof *t->starts, err);
        t->losses = sbi_allocate(&ctx->allocator, recipe->shards, sizeof *t->losses, err);
        if (!t->passes || !t->starts || !t->losses) status = SB_ERR_MEMORY;
    }
    if (status != SB_OK) sbi_trainer_free(t);
    return status;
}

sb_status sbi_trainer_initialize(sbi_trainer *t, sb_error *err) {
    return sbi_tensors_initialize(t->ctx, &t->decoder.weights, (uint64_t)t->recipe->seed,
                                  SBI_STREAM_WEIGHTS, err);
}

sb_status sbi_trainer_compute(sbi_trainer *t, sb_error *err) {
    sbi_tree_reset(t->tree);
    return sbi_tree_compute(t->tree, t->losses, err);
}

sb_status sbi_trainer_check(sbi_trainer *t, const sbi_tensors *gradient, sb_error *err) {
    const sbi_parameter *parameters = t->decoder.layout.items;
    int64_t tensor, at = -1;
    sbi_gradient *again = NULL;
    double loss;
    sb_status status = first_nonfinite(t->ctx, gradient, &tensor, err);
    if (status != SB_OK || tensor < 0) return status;
    status = sbi_tree_spare(t->tree, &again, err);
    for (int64_t shard = 0; shard < t->recipe->shards && status == SB_OK && at < 0; shard++) {
        status = compute_shard(t, t->ctx, 0, shard, again, &loss, err);
        if (status == SB_OK) status = first_nonfinite(t->ctx, again->views, &at, err);
        if (status == SB_OK && at >= 0)
            status = sbi_fail(err, SB_ERR_NONFINITE, "gradient",
                              "step %lld, shard %lld: the gradient of %s is not finite",
                              (long long)t->step + 1, (long long)shard, parameters[at].name);
    }
    if (again) sbi_tree_give(t->tree, again);
    if (status != SB_OK) return status;
    return sbi_fail(err, SB_ERR_NONFINITE, "gradient",
                    "step %lld: the gradient of %s, summed over the shards, is not finite",
                    (long long)t->step + 1, parameters[tensor].name);
}

sb_status sbi_trainer_apply(sbi_trainer *t, sbi_tensors *gradient, sb_error *err) {
    double norm;
    sb_status status = SB_OK;
    if (t->recipe->clip > 0.0)
        status = sbi_clip_norm(t->ctx, t->decoder.layout.count, gradient->items, t->recipe->clip,
                               &norm, err);
    if (status == SB_OK)
        status = sbi_optimizer_step(t->ctx, &t->optimizer, t->recipe->rates[t->step], gradient,
                                    &t->decoder.weights, err);
    if (status == SB_OK) t->step++;
    return status;
}

sb_status sbi_trainer_loss(sbi_trainer *t, double *loss, sb_error *err) {
    const sbi_recipe *r = t->recipe;
    sb_array *losses = NULL;
    sb_status status = sbi_array_new(t->ctx, SB_F64, 1, &r->shards, &losses, err);
    if (status == SB_OK)
        status = sbi_array_write(losses, t->losses, (size_t)r->shards * sizeof *t->losses, err);
    if (status == SB_OK) status = sbi_total(t->ctx, losses, loss, err);
    if (status == SB_OK)
        *loss = *loss / (double)(r->shards * r->shard_sequences * r->sequence_length);
    sbi_array_free(losses);
    return status;
}
