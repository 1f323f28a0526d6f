// SPDX-License-Identifier: Apache-2.0
// Attention: bits against the definition of T6 as plain loops (one exp: the library's own), at every level and several
// thread counts; decode equals prefill; values that are masked are never seen; gradients against differences; bad input.
#include "samebits.h"
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;
static float value(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (float)(int32_t)((state * 2685821657736338717u) >> 32) * 0x1p-30f;
}

static sb_context *contexts[64];
static int context_count;

typedef struct shape {
    int64_t b, t, h, d, s, g;
    int causal;
    int64_t first, keys;
    double scale; // 0: the natural one
    int64_t window, prefix;
    const uint8_t *mask; // [b, s]
} shape;

static float canonical(float x) {
    const uint32_t bits = 0x7fc00000u;
    float nan;
    memcpy(&nan, &bits, sizeof nan);
    return x == x ? x : nan;
}
static float maximum_of(float a, float b) { // IEEE 754-2019
    if (a != a || b != b) return canonical(NAN);
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}

static float exponential(float x) {
    float y;
    sb_array *from = NULL, *to = NULL;
    sb_array_wrap(contexts[0], SB_F32, 0, NULL, &x, &from, NULL);
    sb_array_wrap(contexts[0], SB_F32, 0, NULL, &y, &to, NULL);
    sb_status status = sb_unary(contexts[0], SB_EXP, from, to, NULL);
    CHECK(status == SB_OK, "exp");
    sb_array_free(from), sb_array_free(to);
    return y;
}

// A product's sum, fed with its steps in order: T3.
typedef struct chain {
    float chunk, run, sum;
    int64_t at; // chunk the next step belongs to
} chain;
static void chain_move(chain *c, int64_t position) { // totals of chunks before this position's
    for (; c->at < position / 256; c->at++) {
        c->run += c->chunk;
        c->chunk = 0.0f;
        if (c->at % 64 == 63) {
            c->sum += c->run;
            c->run = 0.0f;
        }
    }
}
static void chain_step(chain *c, int64_t position, float x, float y) {
    chain_move(c, position);
    c->chunk = fmaf(x, y, c->chunk);
}
static float chain_end(chain *c) { return c->sum + (c->run + c->chunk); }
static float dot(const float *x, const float *y, int64_t d) {
    chain c = {0};
    for (int64_t i = 0; i < d; i++) chain_step(&c, i, x[i], y[i]);
    return chain_end(&c);
}

static float tree(float *lanes) {
    for (int s = 16; s > 0; s /= 2)
        for (int i = 0; i < s; i++) lanes[i] += lanes[i + s];
    return lanes[0] + 0.0f;
}

static int64_t key_count(const shape *p) { return p->keys ? p->keys : p->s; }
static float scale_of(const shape *p) { return (float)(p->scale != 0.0 ? p->scale : 1.0 / sqrt((double)p->d)); }
static const float *q_row(const shape *p, const float *q, int64_t b, int64_t i, int64_t h) { return q + ((b * p->t + i) * p->h + h) * p->d; }
static const float *k_row(const shape *p, const float *k, int64_t b, int64_t j, int64_t h) {
    return k + ((b * p->s + j) * p->g + h / (p->h / p->g)) * p->d;
}
static bool masked(const shape *p, int64_t b, int64_t i, int64_t j) {
    int64_t at = p->first + i;
    if (j >= key_count(p) || (p->mask && !p->mask[b * p->s + j])) return true;
    return j >= p->prefix && ((p->causal && j > at) || (p->window && j <= at - p->window));
}

static void define(const shape *p, const float *q, const float *k, const float *v, float *y, float *maximum, double *total) {
    float scale = scale_of(p), score[128], e[128];
    float *out = malloc((size_t)p->d * sizeof *out);
    for (int64_t r = 0; r < p->b * p->t * p->h; r++) {
        int64_t h = r % p->h, i = r / p->h % p->t, b = r / p->h / p->t, d = p->d;
        float M = -INFINITY;
        double L = 0.0;
        for (int64_t c = 0; c < d; c++) out[c] = 0.0f;
        for (int64_t b0 = 0; b0 < p->s; b0 += 128) {
            float m = -INFINITY, lanes[32] = {0}, a, w;
            bool here[128] = {0}, any = false;
            for (int64_t j = b0; j < b0 + 128 && j < p->s; j++) {
                if (masked(p, b, i, j)) continue;
                score[j - b0] = dot(q_row(p, q, b, i, h), k_row(p, k, b, j, h), d) * scale;
                if (score[j - b0] == -INFINITY) continue;
                here[j - b0] = any = true;
                m = maximum_of(m, score[j - b0]);
            }
            if (!any) continue;
            for (int64_t j = 0; j < 128; j++) {
                if (!here[j]) continue;
                e[j] = exponential(score[j] - m);
                lanes[j % 32] += e[j];
            }
            float l = tree(lanes), next = maximum_of(M, m);
            bool start = M == -INFINITY;
            a = exponential(M - next);
            w = exponential(m - next);
            L = start ? (double)l : L * (double)a + (double)l * (double)w;
            for (int64_t c = 0; c < d; c++) {
                float o = 0.0f;
                for (int64_t j = 0; j < 128; j++) {
                    if (here[j]) o = fmaf(e[j], k_row(p, v, b, b0 + j, h)[c], o);
                }
                o += 0.0f;
                out[c] = start ? o : fmaf(out[c], a, o * w);
            }
            M = next;
        }
        double inverse = 1.0 / L;
        for (int64_t c = 0; c < d; c++) y[r * d + c] = M == -INFINITY ? 0.0f : canonical((float)((double)out[c] * inverse));
        maximum[r] = M;
        total[r] = L;
    }
    free(out);
}

static void define_backward(const shape *p, const float *q, const float *k, const float *v, const float *y, const float *maximum,
                            const double *total, const float *dy, float *dq, float *dk, float *dv) {
    int64_t d = p->d;
    float scale = scale_of(p);
    chain *kc = malloc((size_t)(p->s * d) * sizeof *kc), *vc = malloc((size_t)(p->s * d) * sizeof *vc), *qc = malloc((size_t)d * sizeof *qc);
    for (int64_t b = 0; b < p->b; b++) {
        for (int64_t h = 0; h < p->h; h++) {
            memset(kc, 0, (size_t)(p->s * d) * sizeof *kc);
            memset(vc, 0, (size_t)(p->s * d) * sizeof *vc);
            for (int64_t i = 0; i < p->t; i++) {
                int64_t r = (b * p->t + i) * p->h + h;
                const float *query = q + r * d, *slope = dy + r * d;
                double lanes[32] = {0};
                for (int64_t c = 0; c < d; c++) lanes[c % 32] += (double)slope[c] * (double)y[r * d + c];
                for (int s = 16; s > 0; s /= 2)
                    for (int l = 0; l < s; l++) lanes[l] += lanes[l + s];
                float D = (float)(lanes[0] + 0.0), share = (float)(1.0 / total[r]);
                memset(qc, 0, (size_t)d * sizeof *qc);
                for (int64_t j = 0; j < p->s; j++) {
                    if (masked(p, b, i, j)) continue;
                    const float *key = k_row(p, k, b, j, h);
                    float score = dot(query, key, d) * scale;
                    if (score == -INFINITY) continue;
                    float P = exponential(score - maximum[r]) * share;
                    float dS = P * (dot(slope, k_row(p, v, b, j, h), d) - D) * scale;
                    for (int64_t c = 0; c < d; c++) {
                        chain_step(&qc[c], j, dS, key[c]);
                        chain_step(&kc[j * d + c], p->first + i, dS, query[c]);
                        chain_step(&vc[j * d + c], p->first + i, P, slope[c]);
                    }
                }
                for (int64_t c = 0; c < d; c++) dq[r * d + c] = canonical(chain_end(&qc[c]));
            }
            bool start = h % (p->h / p->g) == 0;
            for (int64_t j = 0; j < p->s; j++) {
                for (int64_t c = 0; c < d; c++) {
                    int64_t to = k_row(p, dk, b, j, h) + c - dk;
                    float x = chain_end(&kc[j * d + c]), z = chain_end(&vc[j * d + c]);
                    dk[to] = canonical(start ? x : dk[to] + x);
                    dv[to] = canonical(start ? z : dv[to] + z);
                }
            }
        }
    }
    free(kc), free(vc), free(qc);
}

static sb_array *array(sb_context *ctx, sb_dtype dtype, int ndim, int64_t a, int64_t b, int64_t c, int64_t d, void *data) {
    sb_array *out = NULL;
    const int64_t dims[4] = {a, b, c, d};
    CHECK(sb_array_wrap(ctx, dtype, ndim, dims, data, &out, NULL) == SB_OK, "wrap");
    return out;
}

static float *numbers(int64_t count) {
    float *x = malloc((size_t)(count + 1) * sizeof *x);
    for (int64_t i = 0; i < count; i++) x[i] = value();
    return x;
}
static void *poison(int64_t bytes) {
    void *x = malloc((size_t)bytes + 1);
    memset(x, 0xa5, (size_t)bytes + 1);
    return x;
}
static bool same(const void *a, const void *b, int64_t bytes) { return memcmp(a, b, (size_t)bytes) == 0; }

typedef struct run {
    float *q, *k, *v, *dy, *y, *maximum, *dq, *dk, *dv;
    double *total;
} run;

static void forward(sb_context *ctx, const shape *p, run *r) {
    sb_array *mask = p->mask ? array(ctx, SB_U8, 2, p->b, p->s, 0, 0, (void *)(uintptr_t)p->mask) : NULL;
    const sb_attention_options o = {sizeof o, p->causal, p->first, p->keys, p->scale, p->window, p->prefix, mask};
    sb_array *q = array(ctx, SB_F32, 4, p->b, p->t, p->h, p->d, r->q), *k = array(ctx, SB_F32, 4, p->b, p->s, p->g, p->d, r->k);
    sb_array *v = array(ctx, SB_F32, 4, p->b, p->s, p->g, p->d, r->v), *y = array(ctx, SB_F32, 4, p->b, p->t, p->h, p->d, r->y);
    sb_array *m = array(ctx, SB_F32, 3, p->b, p->t, p->h, 0, r->maximum), *l = array(ctx, SB_F64, 3, p->b, p->t, p->h, 0, r->total);
    sb_error err = {0};
    CHECK(sb_attention(ctx, &o, q, k, v, y, m, l, &err) == SB_OK, "%s", err.message);
    if (r->dy) {
        sb_array *dy = array(ctx, SB_F32, 4, p->b, p->t, p->h, p->d, r->dy), *dq = array(ctx, SB_F32, 4, p->b, p->t, p->h, p->d, r->dq);
        sb_array *dk = array(ctx, SB_F32, 4, p->b, p->s, p->g, p->d, r->dk), *dv = array(ctx, SB_F32, 4, p->b, p->s, p->g, p->d, r->dv);
        CHECK(sb_attention_backward(ctx, &o, q, k, v, y, m, l, dy, dq, dk, dv, &err) == SB_OK, "%s", err.message);
        sb_array_free(dy), sb_array_free(dq), sb_array_free(dk), sb_array_free(dv);
    }
    sb_array_free(q), sb_array_free(k), sb_array_free(v), sb_array_free(y), sb_array_free(m), sb_array_free(l), sb_array_free(mask);
}

static run run_new(const shape *p) {
    int64_t nq = p->b * p->t * p->h * p->d, nk = p->b * p->s * p->g * p->d, rows = p->b * p->t * p->h;
    return (run){numbers(nq), numbers(nk), numbers(nk), numbers(nq), poison(nq * 4), poison(rows * 4),
                 poison(nq * 4), poison(nk * 4), poison(nk * 4), poison(rows * 8)};
}
static void run_free(run *r) {
    free(r->q), free(r->k), free(r->v), free(r->dy), free(r->y), free(r->maximum), free(r->dq), free(r->dk), free(r->dv), free(r->total);
}

// Every context gives the bits of the definition. spoil: 0 plain; 1 a key whose score is -inf with NaN in v; 2 values and
// gradients not finite here and there; 3 NaN beyond the keys and where the mask is 0.
static void check_shape(shape p, int spoil) {
    run r = run_new(&p), want = r;
    int64_t nq = p.b * p.t * p.h * p.d, nk = p.b * p.s * p.g * p.d, rows = p.b * p.t * p.h;
    if (spoil == 1) {
        for (int64_t i = 0; i < nq; i += p.d) r.q[i] = 1.0f;
        for (int64_t j = 2; j < p.s * p.b * p.g; j += 5) {
            r.k[j * p.d] = -INFINITY;
            r.v[j * p.d + p.d - 1] = NAN;
        }
    }
    if (spoil == 2) {
        for (int64_t i = 3; i < nk; i += 211) r.v[i] = i % 2 ? INFINITY : NAN;
        for (int64_t i = 5; i < nq; i += 307) r.dy[i] = i % 2 ? INFINITY : -NAN;
        for (int64_t i = 5; i < nk; i += 1009) r.k[i] = NAN;
    }
    if (spoil == 3) {
        for (int64_t b = 0; b < p.b; b++) {
            for (int64_t i = 0; i < p.s * p.g * p.d; i++) {
                int64_t key = i / (p.g * p.d);
                if (key < key_count(&p) && !(p.mask && !p.mask[b * p.s + key])) continue;
                r.k[b * p.s * p.g * p.d + i] = NAN;
                r.v[b * p.s * p.g * p.d + i] = NAN;
            }
        }
    }
    want.y = poison(nq * 4), want.maximum = poison(rows * 4), want.total = poison(rows * 8);
    want.dq = poison(nq * 4), want.dk = poison(nk * 4), want.dv = poison(nk * 4);
    define(&p, r.q, r.k, r.v, want.y, want.maximum, want.total);
    define_backward(&p, r.q, r.k, r.v, want.y, want.maximum, want.total, r.dy, want.dq, want.dk, want.dv);
    for (int i = 0; i < context_count; i++) {
        forward(contexts[i], &p, &r);
#define SAME(x, count, size) \
    CHECK(same(r.x, want.x, (count) * (size)), #x ": %s, %d threads: b %lld t %lld h %lld d %lld s %lld g %lld causal %d spoil %d", \
          sb_context_isa(contexts[i]), sb_context_threads(contexts[i]), (long long)p.b, (long long)p.t, (long long)p.h, \
          (long long)p.d, (long long)p.s, (long long)p.g, p.causal, spoil)
        SAME(y, nq, 4);
        SAME(maximum, rows, 4);
        SAME(total, rows, 8);
        SAME(dq, nq, 4);
        SAME(dk, nk, 4);
        SAME(dv, nk, 4);
    }
    free(want.y), free(want.maximum), free(want.total), free(want.dq), free(want.dk), free(want.dv);
    run_free(&r);
}

static void check_shapes(void) {
    static const shape shapes[] = {
        {1, 1, 1, 1, 1, 1, 1, 0, 0, .scale = 0},     {1, 5, 2, 4, 5, 1, 1, 0, 0, .scale = 0},      {2, 33, 2, 8, 33, 2, 1, 0, 0, .scale = 0},
        {1, 70, 4, 7, 70, 2, 1, 0, 0, .scale = 0},   {2, 9, 1, 30, 140, 1, 0, 0, 0, .scale = 0},   {1, 40, 2, 6, 300, 1, 1, 251, 291, .scale = 0.3},
        {1, 3, 3, 65, 130, 3, 1, 0, 0, .scale = 0},  {1, 2, 1, 256, 20, 1, 0, 0, 17, .scale = 0},  {1, 300, 1, 3, 300, 1, 1, 0, 0, .scale = 0},
        {1, 6, 2, 5, 270, 2, 1, 200, 3, .scale = 0}, {1, 4, 1, 4, 9, 1, 1, 0, 0, .scale = -1},  {1, 0, 2, 4, 5, 1, 1, 0, 0, .scale = 0},
        {1, 4, 2, 4, 0, 1, 1, 0, 0, .scale = 0},     {1, 600, 1, 2, 40, 1, 0, 100, 0, .scale = 0}, {1, 5, 1, 8, 600, 1, 0, 0, 0, .scale = 4.0},
        {1, 40, 2, 4, 600, 1, 1, 540, 0, 0, .window = 70},               // blocks before the window
        {1, 40, 2, 4, 600, 1, 1, 560, 590, 0, .window = 100, .prefix = 5}, // and a block of prefix before them
        {2, 300, 2, 3, 300, 1, 1, 0, 0, 0, .window = 1},                 // each token itself
        {1, 300, 1, 3, 300, 1, 1, 0, 0, 0, .window = 20, .prefix = 140}, {1, 30, 1, 3, 100, 1, 0, 10, 0, 0, .window = 7},
        {1, 9, 2, 5, 140, 2, 1, 0, 0, 0, .prefix = 133},                 // a prefix ahead of every query
        {1, 20, 1, 4, 50, 1, 1, 60, 0, 0, .window = 15},                 // the window lies beyond the keys: rows of zeros
        {1, 700, 1, 2, 700, 1, 1, 0, 0, 0, .window = 130, .prefix = 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        check_shape(shapes[i], 0);
        check_shape(shapes[i], 1);
        check_shape(shapes[i], 2);
    }
    check_shape((shape){2, 20, 2, 8, 150, 1, 1, 30, 50, .scale = 0}, 3);
    check_shape((shape){1, 20, 2, 8, 150, 2, 0, 0, 131, .scale = 0}, 3);
    static uint8_t mask[2 * 400];
    for (int i = 0; i < 800; i++) mask[i] = value() > 0.0f && i / 128 != 1 ? (uint8_t)(i % 3 + 1) : 0; // a block without a key
    for (int spoil = 0; spoil < 4; spoil++) {
        check_shape((shape){2, 40, 4, 8, 400, 2, 1, 330, 380, 0, .mask = mask}, spoil);
        check_shape((shape){2, 70, 2, 4, 300, 1, 1, 200, 0, 0, .window = 90, .prefix = 30, .mask = mask}, spoil);
        check_shape((shape){2, 9, 2, 4, 400, 1, 0, 0, 0, 0, .mask = mask}, spoil);
    }
    memset(mask + 300, 0, 300); // the second of two batches has no key at all
    check_shape((shape){2, 40, 2, 4, 300, 1, 1, 200, 0, 0, .mask = mask}, 3);
}

// A token decoded with a cache has the bits of the same token in a prefill, whatever stands in the cache behind it; and a
// batch's sequence has the bits it has alone.
static void check_decode(shape whole) {
    enum { KEYS = 200 };
    int64_t row = whole.h * whole.d, n = whole.g * whole.d, bytes = KEYS * n * 4;
    run r = run_new(&whole);
    free(r.dy);
    r.dy = NULL;
    for (int i = 0; i < context_count; i += 3) {
        forward(contexts[i], &whole, &r);
        for (int64_t b = 0; b < whole.b; b++) {
            shape alone = whole;
            alone.b = 1, alone.mask = whole.mask ? whole.mask + b * whole.s : NULL;
            run part = {.q = r.q + b * whole.t * row, .k = r.k + b * whole.s * n, .v = r.v + b * whole.s * n};
            part.y = poison(whole.t * row * 4), part.maximum = poison(whole.t * whole.h * 4), part.total = poison(whole.t * whole.h * 8);
            forward(contexts[i], &alone, &part);
            CHECK(same(part.y, r.y + b * whole.t * row, whole.t * row * 4), "%s: sequence %lld alone", sb_context_isa(contexts[i]), (long long)b);
            for (int64_t at = 0; at < whole.t; at += 37) {
                uint8_t mask[KEYS] = {0};
                run one = {.q = part.q + at * row, .k = poison(bytes), .v = poison(bytes), .y = poison(row * 4),
                           .maximum = poison(whole.h * 4), .total = poison(whole.h * 8)};
                memset(one.k, 0xff, (size_t)bytes); // NaN
                memset(one.v, 0xff, (size_t)bytes);
                memcpy(one.k, part.k, (size_t)((at + 1) * n) * 4);
                memcpy(one.v, part.v, (size_t)((at + 1) * n) * 4);
                if (alone.mask) memcpy(mask, alone.mask, (size_t)at + 1);
                shape step = alone;
                step.t = 1, step.s = KEYS, step.first = at, step.keys = at + 1, step.mask = alone.mask ? mask : NULL;
                forward(contexts[i], &step, &one);
                CHECK(same(one.y, part.y + at * row, row * 4), "%s: token %lld", sb_context_isa(contexts[i]), (long long)at);
                step.keys = 0; // the causal mask alone hides the rest
                forward(contexts[i], &step, &one);
                CHECK(same(one.y, part.y + at * row, row * 4), "%s: token %lld, by the mask", sb_context_isa(contexts[i]), (long long)at);
                free(one.k), free(one.v), free(one.y), free(one.maximum), free(one.total);
            }
            free(part.y), free(part.maximum), free(part.total);
        }
    }
    run_free(&r);
}

static void check_decodes(void) {
    static uint8_t mask[2 * 150];
    for (int i = 0; i < 300; i++) mask[i] = value() > -1.0f;
    check_decode((shape){1, 150, 4, 16, 150, 2, 1, 0, 0, .scale = 0});
    check_decode((shape){2, 150, 4, 8, 150, 2, 1, 0, 0, .window = 40});
    check_decode((shape){2, 150, 4, 8, 150, 1, 1, 0, 0, .mask = mask});
    check_decode((shape){2, 150, 2, 8, 150, 2, 1, 0, 0, .window = 20, .prefix = 1, .mask = mask});
}

// Met elsewhere as NaN: a row without a present key is zeros, and gives nothing backward.
static void check_masked_row(void) {
    const shape p = {1, 4, 1, 4, 6, 1, 0, 0, 0, .scale = 0};
    run r = run_new(&p);
    for (int64_t i = 0; i < 16; i++) r.q[i] = 1.0f;
    for (int64_t i = 0; i < 24; i++) r.k[i] = -INFINITY;
    for (int64_t i = 0; i < 24; i++) r.v[i] = NAN;
    forward(contexts[0], &p, &r);
    for (int64_t i = 0; i < 16; i++) CHECK(r.y[i] == 0.0f && !signbit(r.y[i]) && r.dq[i] == 0.0f, "%lld", (long long)i);
    for (int64_t i = 0; i < 24; i++) CHECK(r.dk[i] == 0.0f && r.dv[i] == 0.0f, "%lld", (long long)i);
    CHECK(r.maximum[0] == -INFINITY && r.total[0] == 0.0, "statistics");
    run_free(&r);
}

// The gradients are those of the function: central differences of sum(y * dy), attention in binary64.
static double objective(const shape *p, const double *q, const double *k, const double *v, const float *dy) {
    double sum = 0.0;
    for (int64_t r = 0; r < p->b * p->t * p->h; r++) {
        int64_t h = r % p->h, i = r / p->h % p->t, b = r / p->h / p->t, d = p->d;
        double mass = 0.0, out[64] = {0};
        for (int64_t j = 0; j < p->s; j++) {
            if (masked(p, b, i, j)) continue;
            int64_t at = ((b * p->s + j) * p->g + h / (p->h / p->g)) * d;
            double score = 0.0;
            for (int64_t c = 0; c < d; c++) score += q[r * d + c] * k[at + c];
            double e = exp(score / sqrt((double)d));
            mass += e;
            for (int64_t c = 0; c < d; c++) out[c] += e * v[at + c];
        }
        for (int64_t c = 0; c < d; c++) sum += out[c] / mass * (double)dy[r * d + c];
    }
    return sum;
}
static void check_gradients(void) {
    const shape p = {2, 7, 4, 8, 7, 2, 1, 0, 0, .scale = 0};
    run r = run_new(&p);
    int64_t nq = p.b * p.t * p.h * p.d, nk = p.b * p.s * p.g * p.d;
    double *wide[3];
    const float *from[3] = {r.q, r.k, r.v}, *gradient[3] = {r.dq, r.dk, r.dv};
    for (int i = 0; i < 3; i++) {
        int64_t count = i == 0 ? nq : nk;
        wide[i] = malloc((size_t)count * sizeof(double));
        for (int64_t j = 0; j < count; j++) wide[i][j] = (double)from[i][j];
    }
    forward(contexts[0], &p, &r);
    for (int i = 0; i < 3; i++) {
        int64_t count = i == 0 ? nq : nk;
        for (int64_t j = 0; j < count; j += 11) {
            double x = wide[i][j], h = 1e-5;
            wide[i][j] = x + h;
            double up = objective(&p, wide[0], wide[1], wide[2], r.dy);
            wide[i][j] = x - h;
            double down = objective(&p, wide[0], wide[1], wide[2], r.dy), want = (up - down) / (2.0 * h);
            wide[i][j] = x;
            CHECK(fabs(want - (double)gradient[i][j]) < 2e-5 * (1.0 + fabs(want)), "gradient %d of %lld: %g, not %g", i, (long long)j,
                  (double)gradient[i][j], want);
        }
    }
    free(wide[0]), free(wide[1]), free(wide[2]);
    run_free(&r);
}

// float64: near the same formulas in long double, every context alike, a token decoded alone, a row without a key.
static void check_wide(shape p) {
    int64_t nq = p.b * p.t * p.h * p.d, nk = p.b * p.s * p.g * p.d, rows = p.b * p.t * p.h;
    double *x[8], *first[4] = {0};
    const int64_t size[8] = {nq, nk, nk, nq, nq, nk, nk, nq}; // q k v y dq dk dv dy
    for (int i = 0; i < 8; i++) {
        x[i] = malloc((size_t)size[i] * 8);
        for (int64_t j = 0; j < size[i]; j++) x[i][j] = (double)value() + (double)value() * 0x1p-31;
    }
    double *m = malloc((size_t)rows * 8), *l = malloc((size_t)rows * 8);
    for (int n = 0; n < context_count; n++) {
        sb_context *ctx = contexts[n];
        sb_array *mask = p.mask ? array(ctx, SB_U8, 2, p.b, p.s, 0, 0, (void *)(uintptr_t)p.mask) : NULL, *a[8];
        const sb_attention_options o = {sizeof o, p.causal, p.first, p.keys, p.scale, p.window, p.prefix, mask};
        for (int i = 0; i < 8; i++) a[i] = size[i] == nq && i != 1 && i != 2 && i != 5 && i != 6 ? array(ctx, SB_F64, 4, p.b, p.t, p.h, p.d, x[i]) : array(ctx, SB_F64, 4, p.b, p.s, p.g, p.d, x[i]);
        sb_array *am = array(ctx, SB_F64, 3, p.b, p.t, p.h, 0, m), *al = array(ctx, SB_F64, 3, p.b, p.t, p.h, 0, l);
        sb_error err = {0};
        CHECK(sb_attention(ctx, &o, a[0], a[1], a[2], a[3], am, al, &err) == SB_OK, "%s", err.message);
        CHECK(sb_attention_backward(ctx, &o, a[0], a[1], a[2], a[3], am, al, a[7], a[4], a[5], a[6], &err) == SB_OK, "%s", err.message);
        for (int i = 3; i < 7; i++) {
            if (n == 0) memcpy(first[i - 3] = malloc((size_t)size[i] * 8), x[i], (size_t)size[i] * 8);
            CHECK(same(x[i], first[i - 3], size[i] * 8), "float64: output %d, %s", i, sb_context_isa(ctx));
        }
        for (int i = 0; i < 8; i++) sb_array_free(a[i]);
        sb_array_free(am), sb_array_free(al), sb_array_free(mask);
    }
    long double *dk = calloc((size_t)nk, sizeof *dk), *dv = calloc((size_t)nk, sizeof *dv), *e = malloc((size_t)p.s * sizeof *e);
    const double scale = p.scale != 0.0 ? p.scale : 1.0 / sqrt((double)p.d);
    for (int64_t r = 0; r < rows; r++) {
        int64_t h = r % p.h, i = r / p.h % p.t, b = r / p.h / p.t, d = p.d;
        long double mass = 0, out[64] = {0}, whole = 0, dq[64] = {0};
#define AT_KEY(j) (((b * p.s + (j)) * p.g + h / (p.h / p.g)) * d)
        for (int64_t j = 0; j < p.s; j++) {
            long double score = 0;
            for (int64_t c = 0; c < d; c++) score += (long double)x[0][r * d + c] * (long double)x[1][AT_KEY(j) + c];
            e[j] = masked(&p, b, i, j) ? 0 : expl(score * (long double)scale);
            mass += e[j];
        }
        for (int64_t j = 0; j < p.s; j++)
            for (int64_t c = 0; c < d && e[j] > 0; c++) out[c] += e[j] / mass * (long double)x[2][AT_KEY(j) + c];
        for (int64_t c = 0; c < d; c++) {
            whole += out[c] * (long double)x[7][r * d + c];
            CHECK(fabsl(out[c] - (long double)x[3][r * d + c]) < 1e-14L, "float64 y");
        }
        for (int64_t j = 0; j < p.s; j++) {
            if (e[j] == 0) continue;
            long double dp = 0, P = e[j] / mass;
            for (int64_t c = 0; c < d; c++) dp += (long double)x[7][r * d + c] * (long double)x[2][AT_KEY(j) + c];
            long double ds = P * (dp - whole) * (long double)scale;
            for (int64_t c = 0; c < d; c++) {
                dq[c] += ds * (long double)x[1][AT_KEY(j) + c];
                dk[AT_KEY(j) + c] += ds * (long double)x[0][r * d + c];
                dv[AT_KEY(j) + c] += P * (long double)x[7][r * d + c];
            }
        }
        for (int64_t c = 0; c < d; c++) CHECK(fabsl(dq[c] - (long double)x[4][r * d + c]) < 1e-13L, "float64 dq");
    }
    for (int64_t i = 0; i < nk; i++) {
        CHECK(fabsl(dk[i] - (long double)x[5][i]) < 1e-13L, "float64 dk: %g", (double)dk[i] - x[5][i]);
        CHECK(fabsl(dv[i] - (long double)x[6][i]) < 1e-13L, "float64 dv: %g", (double)dv[i] - x[6][i]);
    }
    for (int i = 0; i < 8; i++) free(x[i]);
    for (int i = 0; i < 4; i++) free(first[i]);
    free(m), free(l), free(dk), free(dv), free(e);
}

static void check_wides(void) {
    static uint8_t mask[2 * 290];
    for (int i = 0; i < 580; i++) mask[i] = value() > -1.0f && i >= 290; // the first of two batches has no key
    check_wide((shape){2, 40, 4, 16, 40, 2, 1, 0, 0, .scale = 0});
    check_wide((shape){1, 9, 2, 7, 290, 1, 0, 0, 280, .scale = 0.3});
    check_wide((shape){1, 300, 1, 4, 300, 1, 1, 0, 0, .window = 20, .prefix = 3});
    check_wide((shape){2, 20, 2, 5, 290, 1, 1, 265, 0, .window = 150, .mask = mask});
}

static void check_refusals(void) {
    sb_context *ctx = contexts[0];
    static float data[4096];
    static double wide[64];
    sb_error err;
    sb_array *q = array(ctx, SB_F32, 4, 1, 3, 4, 8, data), *k = array(ctx, SB_F32, 4, 1, 5, 2, 8, data + 100);
    sb_array *v = array(ctx, SB_F32, 4, 1, 5, 2, 8, data + 200), *y = array(ctx, SB_F32, 4, 1, 3, 4, 8, data + 300);
    sb_array *k3 = array(ctx, SB_F32, 4, 1, 5, 3, 8, data + 400), *kd = array(ctx, SB_F32, 4, 1, 5, 2, 7, data + 600);
    sb_array *flat = array(ctx, SB_F32, 3, 3, 4, 8, 0, data), *m = array(ctx, SB_F32, 3, 1, 3, 4, 0, data + 800);
    sb_array *l = array(ctx, SB_F64, 3, 1, 3, 4, 0, wide), *bad = array(ctx, SB_F32, 3, 1, 4, 3, 0, data + 900);
    sb_array *deep = array(ctx, SB_F32, 4, 1, 1, 1, 300, data), *deep_k = array(ctx, SB_F32, 4, 1, 1, 1, 300, data + 1000);
    sb_array *deep_y = array(ctx, SB_F32, 4, 1, 1, 1, 300, data + 2000);
#define REFUSED(call, expected, name) CHECK((call) == expected && strcmp(err.argument, name) == 0, "%s: %s", err.argument, err.message)
    CHECK(sb_attention(ctx, NULL, q, k, v, y, NULL, NULL, &err) == SB_OK, "%s", err.message);
    REFUSED(sb_attention(ctx, NULL, flat, k, v, y, NULL, NULL, &err), SB_ERR_SHAPE, "q");
    REFUSED(sb_attention(ctx, NULL, q, k3, v, y, NULL, NULL, &err), SB_ERR_SHAPE, "k");
    REFUSED(sb_attention(ctx, NULL, q, kd, v, y, NULL, NULL, &err), SB_ERR_SHAPE, "k");
    REFUSED(sb_attention(ctx, NULL, q, k, kd, y, NULL, NULL, &err), SB_ERR_SHAPE, "v");
    REFUSED(sb_attention(ctx, NULL, q, k, v, y, l, NULL, &err), SB_ERR_DTYPE, "maximum");
    REFUSED(sb_attention(ctx, NULL, q, k, v, y, m, bad, &err), SB_ERR_DTYPE, "total");
    REFUSED(sb_attention(ctx, NULL, q, k, v, y, bad, l, &err), SB_ERR_SHAPE, "maximum");
    REFUSED(sb_attention(ctx, NULL, deep, deep_k, deep_k, deep_y, NULL, NULL, &err), SB_ERR_UNSUPPORTED, "q");
    CHECK(sb_attention(ctx, NULL, q, k, v, q, NULL, NULL, &err) == SB_ERR_OVERLAP, "%s", err.message);
    const sb_attention_options before = {.size = sizeof before, .first = -1}, more = {.size = sizeof more, .keys = 6};
    const sb_attention_options odd = {.size = sizeof odd, .scale = INFINITY}, large = {.size = sizeof large, .scale = 1e300};
    REFUSED(sb_attention(ctx, &before, q, k, v, y, NULL, NULL, &err), SB_ERR_ARGUMENT, "first");
    const sb_attention_options last = {.size = sizeof last, .first = INT64_C(1) << 62}, after = {.size = sizeof after, .first = last.first + 1};
    CHECK(sb_attention(ctx, &last, q, k, v, y, NULL, NULL, &err) == SB_OK, "%s", err.message);
    REFUSED(sb_attention(ctx, &after, q, k, v, y, NULL, NULL, &err), SB_ERR_ARGUMENT, "first");
    REFUSED(sb_attention(ctx, &more, q, k, v, y, NULL, NULL, &err), SB_ERR_ARGUMENT, "keys");
    sb_array *flags = array(ctx, SB_U8, 2, 1, 4, 0, 0, data);
    const sb_attention_options short_mask = {.size = sizeof short_mask, .mask = flags}, real_mask = {.size = sizeof real_mask, .mask = m};
    REFUSED(sb_attention(ctx, &short_mask, q, k, v, y, NULL, NULL, &err), SB_ERR_SHAPE, "mask");
    REFUSED(sb_attention(ctx, &real_mask, q, k, v, y, NULL, NULL, &err), SB_ERR_DTYPE, "mask");
    sb_array_free(flags);
    REFUSED(sb_attention(ctx, &large, q, k, v, y, NULL, NULL, &err), SB_ERR_NONFINITE, "scale");
    REFUSED(sb_attention(ctx, &odd, q, k, v, y, NULL, NULL, &err), SB_ERR_NONFINITE, "scale");
    sb_array_free(q), sb_array_free(k), sb_array_free(v), sb_array_free(y), sb_array_free(k3), sb_array_free(kd), sb_array_free(flat);
    sb_array_free(m), sb_array_free(l), sb_array_free(bad), sb_array_free(deep), sb_array_free(deep_k), sb_array_free(deep_y);
}

int main(void) {
    static const char *const levels[] = {NULL, "plain", "reverse", "v1", "v3", "v4", "neon"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        for (int threads = 1; threads <= 7; threads += 3) {
            const sb_context_options o = {.size = sizeof o, .isa = levels[i], .threads = threads};
            if (sb_context_new(&o, &contexts[context_count], NULL) == SB_OK) {
                context_count++;
            }
        }
    }
    CHECK(context_count >= 9, "%d contexts", context_count);
    check_shapes();
    check_decodes();
    check_masked_row();
    check_gradients();
    check_wides();
    check_refusals();
    for (int i = 0; i < context_count; i++) {
        sb_context_free(contexts[i]);
    }
    return test_end();
}
