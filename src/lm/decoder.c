// SPDX-License-Identifier: Apache-2.0
// The Llama-shaped decoder: forward, loss, backward.
//
// For rows x of the residual stream (T3, T4, T6, T7; every line its own operations, float32 between
// them):
//   x0 = embedding of the tokens
//   a  = rms_norm(x, norm1);  q, k, v = a Wq^T, a Wk^T, a Wv^T (+ biases);  q, k rotated by their
//   positions m  = attention(q, k, v), causal;                     x = x + (m Wo^T + bias) (gemm:
//   bias, then accumulate) b  = rms_norm(x, norm2);  g, u = b Wg^T, b Wu^T;     x = x + (swiglu(g,
//   u) Wd^T + bias) logits = rms_norm(x, norm) Wh^T, or x Wh^T without a final norm; Wh is the
//   embedding when tied
// Backward runs the lines in reverse. Where several products meet in one gradient they accumulate
// in the order gate, up and q, k, v; the residual's own gradient comes first: RN32(dx + d). A tied
// embedding gets the head's product first, then its segments.
#include "lm.h"

#include <stdio.h>
#include <string.h>

// ---------------------------------------------------------------- layout

static sb_status add_weight(sbi_decoder *d, const char *prefix, const char *name, int64_t rows,
                            int64_t columns, float deviation, bool bias, int64_t *weight,
                            int64_t *vector, sb_error *err) {
    char full[64];
    snprintf(full, sizeof full, "%s.weight", name);
    *weight = d->layout.count;
    sb_status status =
        sbi_layout_add(&d->layout, prefix, full, rows, columns, SBI_INITIAL_NORMAL, deviation, err);
    if (vector) *vector = -1;
    if (status == SB_OK && bias) {
        *vector = d->layout.count;
        snprintf(full, sizeof full, "%s.bias", name);
        status = sbi_layout_add(&d->layout, prefix, full, rows, 0, SBI_INITIAL_ZERO, 0.0f, err);
    }
    return status;
}

sb_status sbi_decoder_layout(const sbi_allocator *allocator, const sbi_model *model,
                             sbi_decoder *out, sb_error *err) {
    *out = (sbi_decoder){.allocator = *allocator, .model = *model, .norm = -1};
    sbi_decoder *d = out;
    int64_t width = model->hidden_size, wide = model->intermediate_size;
    bool bias = model->bias != 0;
    d->head_size = width / model->heads;
    int64_t narrow = model->kv_heads * d->head_size;
    float deviation = (float)model->initial_deviation; // of what writes into the residual stream:
                                                       // less, by 1/sqrt(2 layers)
    float output = (float)(model->initial_deviation / __builtin_sqrt(2.0 * (double)model->layers));
    sbi_layout_start(&d->layout, allocator);
    d->layers = sbi_allocate(allocator, model->layers, sizeof *d->layers, err);
    sb_status status = d->layers ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK)
        status = add_weight(d, "model.", "embed_tokens", model->vocabulary, width, deviation, false,
                            &d->embed, NULL, err);
    for (int64_t i = 0; i < model->layers && status == SB_OK; i++) {
        sbi_decoder_layer *l = &d->layers[i];
        char at[40];
        snprintf(at, sizeof at, "model.layers.%lld.", (long long)i);
        l->norm1 = d->layout.count;
        status = sbi_layout_add(&d->layout, at, "input_layernorm.weight", width, 0, SBI_INITIAL_ONE,
                                0.0f, err);
        if (status == SB_OK)
            status = add_weight(d, at, "self_attn.q_proj", width, width, deviation, bias, &l->q,
                                &l->q_bias, err);
        if (status == SB_OK)
            status = add_weight(d, at, "self_attn.k_proj", narrow, width, deviation, bias, &l->k,
                                &l->k_bias, err);
        if (status == SB_OK)
            status = add_weight(d, at, "self_attn.v_proj", narrow, width, deviation, bias, &l->v,
                                &l->v_bias, err);
        if (status == SB_OK)
            status = add_weight(d, at, "self_attn.o_proj", width, width, output, bias, &l->o,
                                &l->o_bias, err);
        l->norm2 = d->layout.count;
        if (status == SB_OK)
            status = sbi_layout_add(&d->layout, at, "post_attention_layernorm.weight", width, 0,
                                    SBI_INITIAL_ONE, 0.0f, err);
        if (status == SB_OK)
            status = add_weight(d, at, "mlp.gate_proj", wide, width, deviation, bias, &l->gate,
                                &l->gate_bias, err);
        if (status == SB_OK)
            status = add_weight(d, at, "mlp.up_proj", wide, width, deviation, bias, &l->up,
                                &l->up_bias, err);
        if (status == SB_OK)
            status = add_weight(d, at, "mlp.down_proj", width, wide, output, bias, &l->down,
                                &l->down_bias, err);
    }
    if (status == SB_OK && model->final_norm) {
        d->norm = d->layout.count;
        status = sbi_layout_add(&d->layout, "model.", "norm.weight", width, 0, SBI_INITIAL_ONE,
                                0.0f, err);
    }
    d->head = d->embed;
    if (status == SB_OK && !model->tie)
        status = add_weight(d, "", "lm_head", model->vocabulary, width, deviation, false, &d->head,
                            NULL, err);
    if (status != SB_OK) sbi_decoder_free(d);
    return status;
}

void sbi_decoder_free(sbi_decoder *decoder) {
    sbi_tensors_free(&decoder->weights);
    sbi_array_free(decoder->cosine);
    sbi_array_free(decoder->sine);
    sbi_layout_free(&decoder->layout);
    if (decoder->allocator.release) sbi_release(&decoder->allocator, decoder->layers);
    *decoder = (sbi_decoder){0};
}

sb_status sbi_decoder_new(sb_context *ctx, const sbi_model *model, int64_t positions,
                          sbi_decoder *out, sb_error *err) {
    sb_status status = sbi_decoder_layout(&ctx->allocator, model, out, err);
    if (status != SB_OK) return status;
    int64_t shape[2] = {positions, out->head_size / 2};
    out->positions = positions;
    status = sbi_array_new(ctx, SB_F32, 2, shape, &out->cosine, err);
    if (status == SB_OK) status = sbi_array_new(ctx, SB_F32, 2, shape, &out->sine, err);
    if (status == SB_OK)
        status = sbi_rotary_table(ctx, model->rope_theta, out->cosine, out->sine, err);
    if (status == SB_OK) status = sbi_tensors_new(ctx, &out->layout, &out->weights, err);
    if (status != SB_OK) sbi_decoder_free(out);
    return status;
}

// ---------------------------------------------------------------- one pass

#define PASS_LAYER_ARRAYS 19
#define PASS_OTHER_ARRAYS 22

static sb_array *hold(sbi_pass *pass, sb_array *a) {
    pass->owned[pass->owned_count++] = a;
    return a;
}

// A new array; after a failure (*status) nothing more is made.
static sb_array *made(sb_context *ctx, sbi_pass *pass, sb_status *status, sb_dtype dtype, int ndim,
                      const int64_t *shape, sb_error *err) {
    sb_array *a = NULL;
    if (*status == SB_OK) *status = sbi_array_new(ctx, dtype, ndim, shape, &a, err);
    return *status == SB_OK ? hold(pass, a) : NULL;
}

static sb_array *seen(sbi_pass *pass, sb_status *status, sb_array *from, int ndim,
                      const int64_t *shape, sb_error *err) {
    sb_array *a = NULL;
    if (*status == SB_OK) *status = sbi_array_reshape(from, ndim, shape, &a, err);
    return *status == SB_OK ? hold(pass, a) : NULL;
}

sb_status sbi_pass_new(sb_context *ctx, const sbi_decoder *decoder, int64_t batch, int64_t length,
                       bool training, sbi_pass *out, sb_error *err) {
    const sbi_model *m = &decoder->model;
    int64_t n, size = decoder->head_size;
    *out = (sbi_pass){.decoder = decoder,
                      .batch = batch,
                      .length = length,
                      .training = training,
                      .layer_count = training ? m->layers : 1};
    if (batch < 1 || length < 1 || !sbi_multiply(batch, length, &n))
        return sbi_fail(err, SB_ERR_SIZE, "length", "%lld sequences of %lld tokens overflow",
                        (long long)batch, (long long)length);
    int64_t rows[2] = {n, m->hidden_size}, wide[2] = {n, m->intermediate_size},
            narrow[2] = {n, m->kv_heads * size};
    int64_t heads[4] = {batch, length, m->heads, size},
            groups[4] = {batch, length, m->kv_heads, size};
    int64_t per_head[3] = {batch, length, m->heads}, words[2] = {n, m->vocabulary};
    sb_status status = SB_OK;
    out->layers = sbi_allocate(&decoder->allocator, out->layer_count, sizeof *out->layers, err);
    out->owned =
        sbi_allocate(&decoder->allocator, PASS_LAYER_ARRAYS * out->layer_count + PASS_OTHER_ARRAYS,
                     sizeof *out->owned, err);
    if (!out->layers || !out->owned) status = SB_ERR_MEMORY;
#define NEW(dtype, ndim, shape) made(ctx, out, &status, dtype, ndim, shape, err)
#define SEE(from, ndim, shape) seen(out, &status, from, ndim, shape, err)
    for (int64_t i = 0; i < out->layer_count && status == SB_OK; i++) {
        sbi_pass_layer *l = &out->layers[i];
        l->input = NEW(SB_F32, 2, rows);
        l->normed1 = NEW(SB_F32, 2, rows);
        l->q = NEW(SB_F32, 2, rows);
        l->k = NEW(SB_F32, 2, narrow);
        l->v = NEW(SB_F32, 2, narrow);
        l->mixed = NEW(SB_F32, 2, rows);
        l->middle = NEW(SB_F32, 2, rows);
        l->normed2 = NEW(SB_F32, 2, rows);
        l->gate = NEW(SB_F32, 2, wide);
        l->up = NEW(SB_F32, 2, wide);
        l->gated = NEW(SB_F32, 2, wide);
        l->q4 = SEE(l->q, 4, heads);
        l->k4 = SEE(l->k, 4, groups);
        l->v4 = SEE(l->v, 4, groups);
        l->mixed4 = SEE(l->mixed, 4, heads);
        if (training) {
            l->r1 = NEW(SB_F64, 1, &n);
            l->r2 = NEW(SB_F64, 1, &n);
            l->maximum = NEW(SB_F32, 3, per_head);
            l->total = NEW(SB_F64, 3, per_head);
        }
    }
    out->ids = NEW(SB_I32, 1, &n);
    out->targets = NEW(SB_I32, 1, &n);
    out->output = NEW(SB_F32, 2, rows);
    out->logits = NEW(SB_F32, 2, words);
    out->loss = NEW(SB_F64, 1, &n);
    if (decoder->norm >= 0) {
        out->normed = NEW(SB_F32, 2, rows);
        out->r = NEW(SB_F64, 1, &n);
    }
    if (training) {
        out->dx = NEW(SB_F32, 2, rows);
        out->dnormed = NEW(SB_F32, 2, rows);
        out->dnorm = NEW(SB_F32, 2, rows);
        out->dgated = NEW(SB_F32, 2, wide);
        out->dmixed = NEW(SB_F32, 2, rows);
        out->dq = NEW(SB_F32, 2, rows);
        out->dk = NEW(SB_F32, 2, narrow);
        out->dv = NEW(SB_F32, 2, narrow);
        out->dmixed4 = SEE(out->dmixed, 4, heads);
        out->dq4 = SEE(out->dq, 4, heads);
        out->dk4 = SEE(out->dk, 4, groups);
        out->dv4 = SEE(out->dv, 4, groups);
    }
#undef NEW
#undef SEE
    if (status != SB_OK) sbi_pass_free(out);
    return status;
}

void sbi_pass_free(sbi_pass *pass) {
    if (!pass->decoder) return;
    for (int64_t i = pass->owned_count - 1; i >= 0; i--) sbi_array_free(pass->owned[i]);
    sbi_release(&pass->decoder->allocator, pass->owned);
    sbi_release(&pass->decoder->allocator, pass->layers);
    *pass = (sbi_pass){0};
}

int64_t sbi_pass_bytes(const sbi_model *m, int64_t batch, int64_t length) {
    int64_t d = m->hidden_size, f = m->intermediate_size, g = m->kv_heads * (d / m->heads), rows,
            bytes;
    int64_t layer = 4 * (6 * d + 2 * g + 3 * f) + 16 + 12 * m->heads; // a row
    int64_t rest =
        4 * (2 + d + m->vocabulary) + 8 + (m->final_norm ? 4 * d + 8 : 0) + 4 * (5 * d + f + 2 * g);
    bool fits =
        sbi_multiply(batch, length, &rows) && sbi_multiply(rows, m->layers * layer + rest, &bytes);
    return fits ? bytes : -1;
}

// ---------------------------------------------------------------- cache

void sbi_cache_free(sbi_cache *cache) {
    if (!cache->decoder) return;
    for (int64_t i = 0; i < cache->decoder->model.layers; i++) {
        if (cache->keys) sbi_array_free(cache->keys[i]);
        if (cache->values) sbi_array_free(cache->values[i]);
    }
    sbi_release(&cache->decoder->allocator, cache->keys);
    sbi_release(&cache->decoder->allocator, cache->values);
    *cache = (sbi_cache){0};
}

sb_status sbi_cache_new(sb_context *ctx, const sbi_decoder *decoder, int64_t positions,
                        sbi_cache *out, sb_error *err) {
    int64_t layers = decoder->model.layers;
    int64_t shape[4] = {1, positions, decoder->model.kv_heads, decoder->head_size};
    *out = (sbi_cache){.decoder = decoder, .positions = positions};
    out->keys = sbi_allocate(&decoder->allocator, layers, sizeof *out->keys, err);
    out->values = sbi_allocate(&decoder->allocator, layers, sizeof *out->values, err);
    sb_status status = out->keys && out->values ? SB_OK : SB_ERR_MEMORY;
    for (int64_t i = 0; i < layers && status == SB_OK; i++) {
        status = sbi_array_new(ctx, SB_F32, 4, shape, &out->keys[i], err);
        if (status == SB_OK) status = sbi_array_new(ctx, SB_F32, 4, shape, &out->values[i], err);
    }
    if (status != SB_OK) sbi_cache_free(out);
    return status;
}

// Rows first .. first + count - 1 of a cache array, as [count, g * d] and as [1, count, g, d].
static sb_status cache_rows(sb_array *cache, int64_t first, int64_t count, sb_array **rows,
                            sb_array **rows4, sb_error *err) {
    const int64_t *shape = cache->shape;
    int64_t flat[2] = {shape[1], shape[2] * shape[3]}, four[4] = {1, count, shape[2], shape[3]};
    sb_array *whole = NULL;
    *rows = *rows4 = NULL;
    sb_status status = sbi_array_reshape(cache, 2, flat, &whole, err);
    if (status == SB_OK) status = sbi_array_slice(whole, first, count, rows, err);
    if (status == SB_OK) status = sbi_array_reshape(*rows, 4, four, rows4, err);
    sbi_array_free(whole);
    return status;
}

// ---------------------------------------------------------------- forward

#define TRY(call)                                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != SB_OK) goto done;                                                            \
    } while (0)

sb_status sbi_decoder_forward(sb_context *ctx, const sbi_decoder *decoder, sbi_pass *pass,
                              sbi_cache *cache, sb_error *err) {
    const sbi_model *m = &decoder->model;
    sb_array *const *w = decoder->weights.items;
    int64_t first = cache ? cache->used : 0, length = pass->length;
    sb_array *k = NULL, *k4 = NULL, *v = NULL, *v4 = NULL; // rows of the cache
    sb_status status = SB_OK;
#define WEIGHT(i) ((i) < 0 ? NULL : w[i])
    if (cache && (pass->batch != 1 || pass->training || length > cache->positions - first))
        return sbi_fail(err, SB_ERR_STATE, "cache",
                        "%lld tokens do not fit a cache of %lld positions, %lld used",
                        (long long)(pass->batch * length), (long long)cache->positions,
                        (long long)first);
    sb_attention_options attention = {
        .size = sizeof attention, .causal = 1, .first = first, .keys = cache ? first + length : 0};
    TRY(sbi_embedding(ctx, w[decoder->embed], pass->ids, pass->layers[0].input, err));
    for (int64_t i = 0; i < m->layers; i++) {
        const sbi_decoder_layer *l = &decoder->layers[i];
        sbi_pass_layer *a = &pass->layers[pass->training ? i : 0];
        sb_array *next =
            pass->training && i + 1 < m->layers ? pass->layers[i + 1].input : pass->output;
        TRY(sbi_rms_norm(ctx, a->input, w[l->norm1], m->norm_eps, a->normed1, a->r1, err));
        TRY(sbi_linear(ctx, a->normed1, w[l->q], WEIGHT(l->q_bias), false, a->q, err));
        if (cache) {
            TRY(cache_rows(cache->keys[i], first, length, &k, &k4, err));
            TRY(cache_rows(cache->values[i], first, length, &v, &v4, err));
        }
        TRY(sbi_linear(ctx, a->normed1, w[l->k], WEIGHT(l->k_bias), false, cache ? k : a->k, err));
        TRY(sbi_linear(ctx, a->normed1, w[l->v], WEIGHT(l->v_bias), false, cache ? v : a->v, err));
        TRY(sbi_rotary(ctx, a->q4, decoder->cosine, decoder->sine, first, 0, a->q4, err));
        sb_array *keys = cache ? k4 : a->k4;
        TRY(sbi_rotary(ctx, keys, decoder->cosine, decoder->sine, first, 0, keys, err));
        TRY(sbi_attention(ctx, &attention, a->q4, cache ? cache->keys[i] : a->k4,
                          cache ? cache->values[i] : a->v4, a->mixed4, a->maximum, a->total, err));
        TRY(sbi_copy(ctx, a->input, a->middle, err));
        TRY(sbi_linear(ctx, a->mixed, w[l->o], WEIGHT(l->o_bias), true, a->middle, err));
        TRY(sbi_rms_norm(ctx, a->middle, w[l->norm2], m->norm_eps, a->normed2, a->r2, err));
        TRY(sbi_linear(ctx, a->normed2, w[l->gate], WEIGHT(l->gate_bias), false, a->gate, err));
        TRY(sbi_linear(ctx, a->normed2, w[l->up], WEIGHT(l->up_bias), false, a->up, err));
        TRY(sbi_swiglu(ctx, a->gate, a->up, a->gated, err));
        TRY(sbi_copy(ctx, a->middle, next, err));
        TRY(sbi_linear(ctx, a->gated, w[l->down], WEIGHT(l->down_bias), true, next, err));
        if (!pass->training && i + 1 < m->layers) TRY(sbi_copy(ctx, next, a->input, err));
        sbi_array_free(k);
        sbi_array_free(k4);
        sbi_array_free(v);
        sbi_array_free(v4);
        k = k4 = v = v4 = NULL;
    }
    if (decoder->norm >= 0)
        TRY(sbi_rms_norm(ctx, pass->output, w[decoder->norm], m->norm_eps, pass->normed, pass->r,
                         err));
    TRY(sbi_linear(ctx, decoder->norm >= 0 ? pass->normed : pass->output, w[decoder->head], NULL,
                   false, pass->logits, err));
    if (cache) cache->used += length;
done:
    sbi_array_free(k);
    sbi_array_free(k4);
    sbi_array_free(v);
    sbi_array_free(v4);
    return status;
}

sb_status sbi_decoder_loss(sb_context *ctx, sbi_pass *pass, double *loss, sb_error *err) {
    sb_status status = sbi_cross_entropy(ctx, NULL, pass->logits, pass->targets, NULL, pass->loss, err);
    return status == SB_OK ? sbi_total(ctx, pass->loss, loss, err) : status;
}

// ---------------------------------------------------------------- backward

sb_status sbi_decoder_backward(sb_context *ctx, const sbi_decoder *decoder, sbi_pass *pass,
                               double scale, sbi_tensors *gradients, sb_error *err) {
    const sbi_model *m = &decoder->model;
    sb_array *const *w = decoder->weights.items, **g = gradients->items;
    sb_attention_options attention = {.size = sizeof attention, .causal = 1};
    sb_status status = SB_OK;
#define GRADIENT(i) ((i) < 0 ? NULL : g[i])
    TRY(sbi_cross_entropy_backward(ctx, NULL, pass->logits, pass->targets, NULL, scale, pass->logits, err));
    if (decoder->norm >= 0) {
        TRY(sbi_linear_backward(ctx, pass->normed, w[decoder->head], pass->logits, false,
                                pass->dnormed, g[decoder->head], NULL, err));
        TRY(sbi_rms_norm_backward(ctx, pass->output, w[decoder->norm], pass->r, pass->dnormed,
                                  pass->dx, g[decoder->norm], err));
    } else {
        TRY(sbi_linear_backward(ctx, pass->output, w[decoder->head], pass->logits, false, pass->dx,
                                g[decoder->head], NULL, err));
    }
    for (int64_t i = m->layers - 1; i >= 0; i--) {
        const sbi_decoder_layer *l = &decoder->layers[i];
        sbi_pass_layer *a = &pass->layers[i];
        TRY(sbi_linear_backward(ctx, a->gated, w[l->down], pass->dx, false, pass->dgated,
                                g[l->down], GRADIENT(l->down_bias), err));
        TRY(sbi_swiglu_backward(ctx, a->gate, a->up, pass->dgated, a->gate, a->up,
                                err)); // now their gradients
        TRY(sbi_linear_backward(ctx, a->normed2, w[l->gate], a->gate, false, pass->dnormed,
                                g[l->gate], GRADIENT(l->gate_bias), err));
        TRY(sbi_linear_backward(ctx, a->normed2, w[l->up], a->up, true, pass->dnormed, g[l->up],
                                GRADIENT(l->up_bias), err));
        TRY(sbi_rms_norm_backward(ctx, a->middle, w[l->norm2], a->r2, pass->dnormed, pass->dnorm,
                                  g[l->norm2], err));
        TRY(sbi_binary(ctx, SB_ADD, pass->dx, pass->dnorm, pass->dx, err));
        TRY(sbi_linear_backward(ctx, a->mixed, w[l->o], pass->dx, false, pass->dmixed, g[l->o],
                                GRADIENT(l->o_bias), err));
        TRY(sbi_attention_backward(ctx, &attention, a->q4, a->k4, a->v4, a->mixed4, a->maximum,
                                   a->total, pass->dmixed4, pass->dq4, pass->dk4, pass->dv4, err));
        TRY(sbi_rotary(ctx, pass->dq4, decoder->cosine, decoder->sine, 0, 1, pass->dq4, err));
        TRY(sbi_rotary(ctx, pass->dk4, decoder->cosine, decoder->sine, 0, 1, pass->dk4, err));
        TRY(sbi_linear_backward(ctx, a->normed1, w[l->q], pass->dq, false, pass->dnormed, g[l->q],
                                GRADIENT(l->q_bias), err));
        TRY(sbi_linear_backward(ctx, a->normed1, w[l->k], pass->dk, true, pass->dnormed, g[l->k],
                                GRADIENT(l->k_bias), err));
        TRY(sbi_linear_backward(ctx, a->normed1, w[l->v], pass->dv, true, pass->dnormed, g[l->v],
                                GRADIENT(l->v_bias), err));
        TRY(sbi_rms_norm_backward(ctx, a->input, w[l->norm1], a->r1, pass->dnormed, pass->dnorm,
                                  g[l->norm1], err));
        TRY(sbi_binary(ctx, SB_ADD, pass->dx, pass->dnorm, pass->dx, err));
    }
    TRY(sbi_embedding_backward(ctx, pass->ids, pass->dx, decoder->head == decoder->embed,
                               g[decoder->embed], err));
done:
    return status;
}
