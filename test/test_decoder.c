// SPDX-License-Identifier: Apache-2.0
// The decoder against a model of its own written in plain double, loop by loop: the loss, and every
// tensor's gradient against central differences. Then what must hold to the bit: a cache gives the
// full pass's logits, a sequence alone gives what it gives in a batch, and levels and threads
// change nothing.
#include "lm.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- the model in double

typedef struct shape {
    int hidden, layers, heads, kv_heads, wide, vocabulary, tie, final_norm, bias;
    double theta, eps;
} shape;

// One set of parameters, by their names in the checkpoint.
typedef struct weights {
    const sbi_layout *layout;
    double **values;
} weights;

static const double *named(const weights *w, const char *name) {
    for (int64_t i = 0; i < w->layout->count; i++)
        if (strcmp(w->layout->items[i].name, name) == 0) return w->values[i];
    return NULL;
}

static const double *in_layer(const weights *w, int layer, const char *name) {
    char full[120];
    snprintf(full, sizeof full, "model.layers.%d.%s", layer, name);
    return named(w, full);
}

static void norm_row(const double *x, const double *w, int n, double eps, double *y) {
    double squares = 0.0;
    for (int i = 0; i < n; i++) squares += x[i] * x[i];
    double r = 1.0 / sqrt(squares / n + eps);
    for (int i = 0; i < n; i++) y[i] = x[i] * r * w[i];
}

static void linear_row(const double *x, const double *w, const double *b, int in, int out,
                       double *y) {
    for (int o = 0; o < out; o++) {
        double sum = b ? b[o] : 0.0;
        for (int i = 0; i < in; i++) sum += x[i] * w[o * in + i];
        y[o] = sum;
    }
}

static void rotate(double *x, int heads, int size, int position, double theta) {
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < size / 2; i++) {
            double angle = position * pow(theta, -2.0 * i / size), c = cos(angle), s = sin(angle);
            double a = x[h * size + i], b = x[h * size + i + size / 2];
            x[h * size + i] = a * c - b * s;
            x[h * size + i + size / 2] = b * c + a * s;
        }
}

// The mean loss of one sequence.
static double loss_of(const shape *m, const weights *w, const int32_t *ids, const int32_t *targets,
                      int length) {
    enum { WIDEST = 64, LONGEST = 160 };
    static double x[LONGEST][WIDEST], q[LONGEST][WIDEST], k[LONGEST][WIDEST], v[LONGEST][WIDEST];
    int size = m->hidden / m->heads, narrow = m->kv_heads * size;
    const double *embed = named(w, "model.embed_tokens.weight"),
                 *head = m->tie ? embed : named(w, "lm_head.weight");
    for (int t = 0; t < length; t++)
        memcpy(x[t], embed + ids[t] * m->hidden, (size_t)m->hidden * sizeof(double));
    for (int l = 0; l < m->layers; l++) {
        for (int t = 0; t < length; t++) {
            double a[WIDEST];
            norm_row(x[t], in_layer(w, l, "input_layernorm.weight"), m->hidden, m->eps, a);
            linear_row(a, in_layer(w, l, "self_attn.q_proj.weight"),
                       in_layer(w, l, "self_attn.q_proj.bias"), m->hidden, m->hidden, q[t]);
            linear_row(a, in_layer(w, l, "self_attn.k_proj.weight"),
                       in_layer(w, l, "self_attn.k_proj.bias"), m->hidden, narrow, k[t]);
            linear_row(a, in_layer(w, l, "self_attn.v_proj.weight"),
                       in_layer(w, l, "self_attn.v_proj.bias"), m->hidden, narrow, v[t]);
            rotate(q[t], m->heads, size, t, m->theta);
            rotate(k[t], m->kv_heads, size, t, m->theta);
        }
        for (int t = 0; t < length; t++) {
            double mixed[WIDEST] = {0}, out[WIDEST], b[WIDEST], gate[WIDEST], up[WIDEST];
            for (int h = 0; h < m->heads; h++) {
                int g = h / (m->heads / m->kv_heads);
                double score[LONGEST], total = 0.0;
                for (int s = 0; s <= t; s++) {
                    double dot = 0.0;
                    for (int i = 0; i < size; i++) dot += q[t][h * size + i] * k[s][g * size + i];
                    score[s] = exp(dot / sqrt(size));
                    total += score[s];
                }
                for (int s = 0; s <= t; s++)
                    for (int i = 0; i < size; i++)
                        mixed[h * size + i] += score[s] / total * v[s][g * size + i];
            }
            linear_row(mixed, in_layer(w, l, "self_attn.o_proj.weight"),
                       in_layer(w, l, "self_attn.o_proj.bias"), m->hidden, m->hidden, out);
            for (int i = 0; i < m->hidden; i++) x[t][i] += out[i];
            norm_row(x[t], in_layer(w, l, "post_attention_layernorm.weight"), m->hidden, m->eps, b);
            linear_row(b, in_layer(w, l, "mlp.gate_proj.weight"),
                       in_layer(w, l, "mlp.gate_proj.bias"), m->hidden, m->wide, gate);
            linear_row(b, in_layer(w, l, "mlp.up_proj.weight"), in_layer(w, l, "mlp.up_proj.bias"),
                       m->hidden, m->wide, up);
            for (int i = 0; i < m->wide; i++) gate[i] = gate[i] / (1.0 + exp(-gate[i])) * up[i];
            linear_row(gate, in_layer(w, l, "mlp.down_proj.weight"),
                       in_layer(w, l, "mlp.down_proj.bias"), m->wide, m->hidden, out);
            for (int i = 0; i < m->hidden; i++) x[t][i] += out[i];
        }
    }
    double loss = 0.0;
    for (int t = 0; t < length; t++) {
        double last[WIDEST], total = 0.0, wanted = 0.0;
        memcpy(last, x[t], sizeof last);
        if (m->final_norm) norm_row(x[t], named(w, "model.norm.weight"), m->hidden, m->eps, last);
        for (int o = 0; o < m->vocabulary; o++) {
            double logit = 0.0;
            for (int i = 0; i < m->hidden; i++) logit += last[i] * head[o * m->hidden + i];
            total += exp(logit);
            if (o == targets[t]) wanted = logit;
        }
        loss += log(total) - wanted;
    }
    return loss;
}

// ---------------------------------------------------------------- the check

static uint32_t state = 1;
static uint32_t word(void) { return state = state * 1664525u + 1013904223u, state >> 8; }
static float uniform(void) { return (float)((double)word() / 8388608.0 - 1.0); }

static sb_context *make_context(const char *isa, int threads) {
    sb_context *ctx = NULL;
    sb_context_options o = {.size = sizeof o, .isa = isa, .threads = threads};
    return sb_context_new(&o, &ctx, NULL) == SB_OK ? ctx : NULL;
}

static void fill(sbi_decoder *d, weights *w) {
    w->layout = &d->layout;
    w->values = calloc((size_t)d->layout.count, sizeof *w->values);
    state = 7;
    for (int64_t i = 0; i < d->layout.count; i++) {
        const sbi_parameter *p = &d->layout.items[i];
        float *values = malloc((size_t)p->size * sizeof *values);
        w->values[i] = malloc((size_t)p->size * sizeof(double));
        for (int64_t e = 0; e < p->size; e++) {
            values[e] = p->ndim == 1 && strstr(p->name, "norm") ? 1.0f + 0.25f * uniform()
                                                                : 0.4f * uniform();
            w->values[i][e] = (double)values[e];
        }
        sb_array_write(d->weights.items[i], values, (size_t)p->size * sizeof *values, NULL);
        free(values);
    }
}

static void check_gradients(sb_context *ctx, const char *name, const shape *m, int batch,
                            int length) {
    sbi_model model = {.hidden_size = m->hidden,
                       .layers = m->layers,
                       .heads = m->heads,
                       .kv_heads = m->kv_heads,
                       .intermediate_size = m->wide,
                       .vocabulary = m->vocabulary,
                       .tie = m->tie,
                       .final_norm = m->final_norm,
                       .bias = m->bias,
                       .rope_theta = m->theta,
                       .norm_eps = m->eps};
    sbi_decoder d;
    sbi_pass pass;
    sbi_tensors gradients;
    weights w;
    sb_error err = {0};
    int n = batch * length;
    int32_t ids[320], targets[320];
    double loss = 0.0, expected = 0.0, worst = 0.0;
    CHECK(sbi_decoder_new(ctx, &model, length, &d, &err) == SB_OK, "%s", err.message);
    fill(&d, &w);
    for (int i = 0; i < n; i++) {
        ids[i] = (int32_t)(word() % (uint32_t)m->vocabulary);
        targets[i] = (int32_t)(word() % (uint32_t)m->vocabulary);
    }
    CHECK(sbi_pass_new(ctx, &d, batch, length, true, &pass, &err) == SB_OK, "%s", err.message);
    CHECK(sbi_tensors_new(ctx, &d.layout, &gradients, &err) == SB_OK, "%s", err.message);
    sb_array_write(pass.ids, ids, (size_t)n * sizeof *ids, NULL);
    sb_array_write(pass.targets, targets, (size_t)n * sizeof *targets, NULL);
    CHECK(sbi_decoder_forward(ctx, &d, &pass, NULL, &err) == SB_OK, "%s", err.message);
    CHECK(sbi_decoder_loss(ctx, &pass, &loss, &err) == SB_OK, "%s", err.message);
    CHECK(sbi_decoder_backward(ctx, &d, &pass, 1.0 / n, &gradients, &err) == SB_OK, "%s",
          err.message);
    for (int b = 0; b < batch; b++)
        expected += loss_of(m, &w, ids + b * length, targets + b * length, length);
    CHECK(fabs(loss - expected) < 1e-5 * expected, "%s: loss %.9g, in double %.9g", name, loss,
          expected);
    int64_t entries = 0;
    for (int64_t i = 0; i < d.layout.count; i++) {
        const sbi_parameter *p = &d.layout.items[i];
        float *found = malloc((size_t)p->size * sizeof *found);
        double scale = 0.0;
        sb_array_read(gradients.items[i], found, (size_t)p->size * sizeof *found, NULL);
        for (int64_t e = 0; e < p->size; e++) scale = fmax(scale, fabs((double)found[e]));
        int64_t tries = p->size < 24 ? p->size : 24; // a vector shorter than that is checked whole
        for (int64_t c = 0; c < tries; c++) {
            int64_t e = p->size * c / tries;
            double before = w.values[i][e], step = 1e-5, slope = 0.0;
            for (int side = -1; side <= 1; side += 2) {
                w.values[i][e] = before + side * step;
                for (int b = 0; b < batch; b++)
                    slope += side * loss_of(m, &w, ids + b * length, targets + b * length, length);
            }
            w.values[i][e] = before;
            slope = slope / (2.0 * step) / n;
            double error = fabs(slope - (double)found[e]) / (scale + 1e-12);
            worst = fmax(worst, error);
            CHECK(error < 1e-5, "%s: %s[%lld] is %.9g, central difference %.9g", name, p->name,
                  (long long)e, (double)found[e], slope);
            entries++;
        }
        free(found);
    }
    printf("%s: %lld entries of %lld tensors, worst %.2g of its tensor's largest\n", name,
           (long long)entries, (long long)d.layout.count, worst);
    for (int64_t i = 0; i < d.layout.count; i++) free(w.values[i]);
    free(w.values);
    sbi_tensors_free(&gradients);
    sbi_pass_free(&pass);
    sbi_decoder_free(&d);
}

// ---------------------------------------------------------------- to the bit

static void run_logits(sb_context *ctx, sbi_decoder *d, const int32_t *ids, int batch, int length,
                       float *logits) {
    sbi_pass pass;
    size_t n = (size_t)batch * (size_t)length;
    CHECK(sbi_pass_new(ctx, d, batch, length, false, &pass, NULL) == SB_OK, "pass");
    sb_array_write(pass.ids, ids, n * sizeof *ids, NULL);
    CHECK(sbi_decoder_forward(ctx, d, &pass, NULL, NULL) == SB_OK, "forward");
    sb_array_read(pass.logits, logits, n * (size_t)d->model.vocabulary * sizeof *logits, NULL);
    sbi_pass_free(&pass);
}

static void check_bits(void) {
    enum { LENGTH = 150, VOCABULARY = 31, BATCH = 3 };
    sbi_model model = {.hidden_size = 48,
                       .layers = 2,
                       .heads = 6,
                       .kv_heads = 2,
                       .intermediate_size = 56,
                       .vocabulary = VOCABULARY,
                       .final_norm = 1,
                       .rope_theta = 10000.0,
                       .norm_eps = 1e-5};
    static int32_t ids[BATCH * LENGTH];
    static float whole[BATCH * LENGTH * VOCABULARY], other[BATCH * LENGTH * VOCABULARY];
    sb_context *ctx = make_context(NULL, 2);
    sbi_decoder d;
    weights w;
    CHECK(sbi_decoder_new(ctx, &model, LENGTH, &d, NULL) == SB_OK, "decoder");
    fill(&d, &w);
    for (int64_t i = 0; i < d.layout.count; i++) free(w.values[i]);
    free(w.values);
    for (int i = 0; i < BATCH * LENGTH; i++) ids[i] = (int32_t)(word() % VOCABULARY);
    run_logits(ctx, &d, ids, BATCH, LENGTH, whole);
    for (int b = 0; b < BATCH; b++)
        run_logits(ctx, &d, ids + b * LENGTH, 1, LENGTH, other + b * LENGTH * VOCABULARY);
    CHECK(memcmp(whole, other, sizeof whole) == 0,
          "a sequence alone differs from the same sequence in a batch");

    static const int parts[][4] = {{LENGTH}, {1, LENGTH - 1}, {127, 3, 20}, {64, 64, 22}};
    for (size_t c = 0; c < sizeof parts / sizeof *parts + 1; c++) { // the last: one by one
        sbi_cache cache;
        int at = 0;
        CHECK(sbi_cache_new(ctx, &d, LENGTH + 5, &cache, NULL) == SB_OK, "cache");
        memset(other, 0, sizeof other);
        for (int part = 0; at < LENGTH; part++) {
            int n = c < sizeof parts / sizeof *parts ? parts[c][part] : 1;
            sbi_pass pass;
            CHECK(sbi_pass_new(ctx, &d, 1, n, false, &pass, NULL) == SB_OK, "pass");
            sb_array_write(pass.ids, ids + at, (size_t)n * sizeof *ids, NULL);
            CHECK(sbi_decoder_forward(ctx, &d, &pass, &cache, NULL) == SB_OK, "forward");
            sb_array_read(pass.logits, other + at * VOCABULARY,
                          (size_t)(n * VOCABULARY) * sizeof *other, NULL);
            sbi_pass_free(&pass);
            at += n;
        }
        CHECK(memcmp(whole, other, (size_t)(LENGTH * VOCABULARY) * sizeof *whole) == 0,
              "cache, way %zu: not the logits of the full pass", c);
        sbi_cache_free(&cache);
    }
    sbi_decoder_free(&d);
    sb_context_free(ctx);
}

static void check_cache_limits(void) {
    sbi_model model = {.hidden_size = 8,
                       .layers = 1,
                       .heads = 2,
                       .kv_heads = 1,
                       .intermediate_size = 8,
                       .vocabulary = 5,
                       .rope_theta = 100.0,
                       .norm_eps = 1e-5};
    sb_context *ctx = make_context(NULL, 1);
    sb_error err = {0};
    sbi_decoder d;
    sbi_cache cache;
    sbi_pass pass;
    CHECK(sbi_decoder_new(ctx, &model, 9, &d, NULL) == SB_OK, "decoder");
    CHECK(sbi_cache_new(ctx, &d, 4, &cache, NULL) == SB_OK, "cache");
    CHECK(sbi_pass_new(ctx, &d, 1, 3, false, &pass, NULL) == SB_OK, "pass");
    CHECK(sbi_decoder_forward(ctx, &d, &pass, &cache, &err) == SB_OK, "%s", err.message);
    CHECK(sbi_decoder_forward(ctx, &d, &pass, &cache, &err) == SB_ERR_STATE,
          "six tokens in four positions");
    CHECK(cache.used == 3, "a refused pass moved the cache");
    sbi_pass_free(&pass);
    CHECK(sbi_pass_new(ctx, &d, INT64_MAX / 2, 3, false, &pass, &err) == SB_ERR_SIZE,
          "an overflowing pass");
    sbi_cache_free(&cache);
    sbi_decoder_free(&d);
    model.hidden_size = INT64_MAX / 4;
    CHECK(sbi_decoder_new(ctx, &model, 9, &d, &err) == SB_ERR_SIZE, "an overflowing model: %s",
          err.message);
    sb_context_free(ctx);
}

int main(void) {
    static const shape plain = {.hidden = 12,
                                .layers = 2,
                                .heads = 2,
                                .kv_heads = 2,
                                .wide = 20,
                                .vocabulary = 13,
                                .final_norm = 1,
                                .theta = 10000.0,
                                .eps = 1e-5};
    static const shape grouped = {.hidden = 24,
                                  .layers = 2,
                                  .heads = 6,
                                  .kv_heads = 2,
                                  .wide = 28,
                                  .vocabulary = 11,
                                  .final_norm = 1,
                                  .bias = 1,
                                  .theta = 50.0,
                                  .eps = 1e-5};
    static const shape tied = {.hidden = 16,
                               .layers = 1,
                               .heads = 4,
                               .kv_heads = 1,
                               .wide = 24,
                               .vocabulary = 17,
                               .tie = 1,
                               .theta = 500.0,
                               .eps = 1e-6};
    sb_context *ctx = make_context(NULL, 2);
    check_gradients(ctx, "plain", &plain, 2, 9);
    check_gradients(ctx, "grouped, with biases", &grouped, 1, 12);
    check_gradients(ctx, "tied, without a final norm", &tied, 3, 7);
    static const shape small = {.hidden = 4,
                                .layers = 1,
                                .heads = 1,
                                .kv_heads = 1,
                                .wide = 4,
                                .vocabulary = 5,
                                .final_norm = 1,
                                .theta = 10000.0,
                                .eps = 1e-5};
    check_gradients(ctx, "over a block of attention", &small, 1, 140);
    sb_context_free(ctx);
    check_bits();
    check_cache_limits();
    return test_end();
}
