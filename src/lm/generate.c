// SPDX-License-Identifier: Apache-2.0
// Generation: one byte after another, each from the logits of the position before it, keys and
// values kept.
//
// temperature 0: the argmax of the logits (lowest index on a tie). Else, from logits x[v] (ids
// above 255 left out):
//   z = RN32(x * RN32(1 / temperature));  ranks: stable descending sort of z (ties: lowest index)
//   top-k: z becomes -inf from rank k on;  p = softmax(z) (T5)
//   c = binary64 running sum of p by rank, from +0; the nucleus ends at the first rank where c >=
//   top_p (else at the last) u = uniform32 draw number `position` (of the new byte in the sequence)
//   of the generation stream the first rank whose running sum exceeds RN64(u * c_end), else the
//   nucleus's last.
#include "lm.h"

#include <string.h>

#define POSITIONS_MAX (INT64_C(1) << 20)

static sb_status greedy(sb_context *ctx, const sb_array *logits, int64_t *token, sb_error *err) {
    sb_array *at = NULL;
    sb_status status = sbi_array_new(ctx, SB_I64, 0, NULL, &at, err);
    if (status == SB_OK) status = sbi_reduce(ctx, SB_ARGMAX, SB_ALL, logits, at, err);
    if (status == SB_OK) status = sbi_array_read(at, token, sizeof *token, err);
    sbi_array_free(at);
    return status;
}

sb_status sbi_sample(sb_context *ctx, sb_array *logits, double temperature, int64_t top_k,
                     double top_p, uint64_t seed, int64_t position, int64_t *token, sb_error *err) {
    int64_t n = logits->size, kept = 0, one = 1;
    sb_array *order = NULL, *draw = NULL, *p = NULL;
    float uniform = 0.0f;
    if (temperature == 0.0) return greedy(ctx, logits, token, err);
    float *z = sbi_allocate(&ctx->allocator, n, sizeof *z, err);
    int64_t *rank = sbi_allocate(&ctx->allocator, n, sizeof *rank, err);
    sb_status status = z && rank ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_scale(ctx, logits, 1.0 / temperature, logits, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_I64, 1, &n, &order, err);
    if (status == SB_OK) status = sbi_argsort(ctx, logits, 1, order, err);
    if (status == SB_OK) status = sbi_array_read(order, rank, (size_t)n * sizeof *rank, err);
    if (status == SB_OK && top_k > 0 && top_k < n) {
        static const uint32_t infinity = 0xff800000u;
        status = sbi_array_read(logits, z, (size_t)n * sizeof *z, err);
        for (int64_t r = top_k; r < n; r++) memcpy(&z[rank[r]], &infinity, sizeof infinity);
        if (status == SB_OK) status = sbi_array_write(logits, z, (size_t)n * sizeof *z, err);
    }
    if (status == SB_OK)
        status = sbi_array_new(ctx, SB_F32, logits->ndim, logits->shape, &p, err);
    if (status == SB_OK) status = sbi_softmax(ctx, logits, p, err);
    if (status == SB_OK) status = sbi_array_read(p, z, (size_t)n * sizeof *z, err);
    if (status == SB_OK) status = sbi_array_write(logits, z, (size_t)n * sizeof *z, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F32, 1, &one, &draw, err);
    if (status == SB_OK)
        status = sbi_random_uniform(ctx, seed, SBI_STREAM_GENERATE, position, draw, err);
    if (status == SB_OK) status = sbi_array_read(draw, &uniform, sizeof uniform, err);
    if (status == SB_OK) {
        double sum = 0.0, reached = 0.0;
        while (kept < n && !(kept > 0 && sum >= top_p)) sum = sum + (double)z[rank[kept++]];
        if (!(sum > 0.0)) // also NaN
            status =
                sbi_fail(err, SB_ERR_NONFINITE, "logits",
                         "the logits before position %lld are not finite", (long long)position);
        double target = (double)uniform * sum;
        *token = rank[kept - 1];
        for (int64_t r = 0; r < kept; r++) {
            reached = reached + (double)z[rank[r]];
            if (reached > target) {
                *token = rank[r];
                break;
            }
        }
    }
    sbi_array_free(p);
    sbi_array_free(draw);
    sbi_array_free(order);
    sbi_release(&ctx->allocator, rank);
    sbi_release(&ctx->allocator, z);
    return status;
}

// The last row of logits, bytes only, as a vector.
static sb_status last_row(const sbi_pass *pass, sb_array **out, sb_error *err) {
    sb_array *row = NULL, *flat = NULL;
    int64_t vocabulary = pass->decoder->model.vocabulary;
    sb_status status = sbi_array_slice(pass->logits, pass->length - 1, 1, &row, err);
    if (status == SB_OK) status = sbi_array_reshape(row, 1, &vocabulary, &flat, err);
    if (status == SB_OK) status = sbi_array_slice(flat, 0, 256, out, err);
    sbi_array_free(flat);
    sbi_array_free(row);
    return status;
}

sb_status sbi_lm_generate(sb_context *ctx, const sb_lm_generation *o, uint8_t *out, sb_error *err) {
    sbi_checkpoint checkpoint = {0};
    sbi_decoder decoder = {0};
    sbi_pass prefill = {0}, next = {0};
    sbi_cache cache = {0};
    sb_array *row = NULL;
    int32_t *ids = NULL;
    double top_p = o->top_p == 0.0 ? 1.0 : o->top_p;
    if (o->prompt_bytes < 1 || o->prompt_bytes > POSITIONS_MAX)
        return sbi_fail(err, SB_ERR_ARGUMENT, "prompt_bytes",
                        "a prompt of %lld bytes; it must have 1 to %lld",
                        (long long)o->prompt_bytes, (long long)POSITIONS_MAX);
    if (o->tokens < 0 || o->tokens > POSITIONS_MAX - o->prompt_bytes)
        return sbi_fail(err, SB_ERR_ARGUMENT, "tokens",
                        "%lld tokens after a prompt of %lld; together they may be at most %lld",
                        (long long)o->tokens, (long long)o->prompt_bytes, (long long)POSITIONS_MAX);
    if (!(o->temperature >= 0.0 && o->temperature <= 1e6))
        return sbi_fail(err, SB_ERR_ARGUMENT, "temperature", "temperature must be from 0 to 1e6");
    if (o->temperature > 0.0 && o->temperature < 1e-6)
        return sbi_fail(err, SB_ERR_ARGUMENT, "temperature",
                        "temperature must be 0 or at least 1e-6");
    if (!(top_p > 0.0 && top_p <= 1.0))
        return sbi_fail(err, SB_ERR_ARGUMENT, "top_p", "top_p must be above 0 and at most 1");
    if (o->top_k < 0) return sbi_fail(err, SB_ERR_ARGUMENT, "top_k", "top_k must not be negative");
    sb_status status = sbi_checkpoint_open(ctx, o->checkpoint, &checkpoint, err);
    if (status != SB_OK) return status;
    int64_t positions = o->prompt_bytes + o->tokens;
    status = sbi_decoder_new(ctx, &checkpoint.recipe.model, positions, &decoder, err);
    if (status == SB_OK) status = sbi_checkpoint_weights(ctx, &checkpoint, &decoder, err);
    if (status == SB_OK) status = sbi_cache_new(ctx, &decoder, positions, &cache, err);
    if (status == SB_OK)
        status = sbi_pass_new(ctx, &decoder, 1, o->prompt_bytes, false, &prefill, err);
    if (status == SB_OK) status = sbi_pass_new(ctx, &decoder, 1, 1, false, &next, err);
    if (status == SB_OK &&
        !(ids = sbi_allocate(&ctx->allocator, o->prompt_bytes, sizeof *ids, err)))
        status = SB_ERR_MEMORY;
    if (status == SB_OK) {
        for (int64_t i = 0; i < o->prompt_bytes; i++) ids[i] = o->prompt[i];
        status = sbi_array_write(prefill.ids, ids, (size_t)o->prompt_bytes * sizeof *ids, err);
    }
    for (int64_t i = 0; i < o->tokens && status == SB_OK; i++) {
        sbi_pass *pass = i ? &next : &prefill;
        int64_t token = 0;
        status = sbi_decoder_forward(ctx, &decoder, pass, &cache, err);
        if (status == SB_OK) status = last_row(pass, &row, err);
        if (status == SB_OK)
            status = sbi_sample(ctx, row, o->temperature, o->top_k, top_p, o->seed,
                                o->prompt_bytes + i, &token, err);
        sbi_array_free(row);
        row = NULL;
        if (status == SB_OK) {
            int32_t id = (int32_t)token;
            out[i] = (uint8_t)token;
            status = sbi_array_write(next.ids, &id, sizeof id, err);
        }
    }
    sbi_release(&ctx->allocator, ids);
    sbi_pass_free(&next);
    sbi_pass_free(&prefill);
    sbi_cache_free(&cache);
    sbi_decoder_free(&decoder);
    sbi_checkpoint_close(&checkpoint);
    return status;
}
