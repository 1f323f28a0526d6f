// SPDX-License-Identifier: Apache-2.0
// AdamW and the clip by global norm against loops that follow the contract's text (T8), at every level and thread
// count; bad input; a caller that flushes subnormals.
#include "contexts.h"

#include <math.h>

static const int64_t sizes[] = {0, 1, 3, 255, 256, 257, 1000, 5003};

typedef struct state { float *p, *m, *v; } state;

static state state_new(int64_t n) {
    size_t bytes = (size_t)(n ? n : 1) * sizeof(float);
    return (state){malloc(bytes), malloc(bytes), malloc(bytes)};
}
static void state_free(state s) { free(s.p); free(s.m); free(s.v); }

static void adamw_by_text(const sb_adamw_options *o, const float *g, state s, int64_t n) {
    double lr = (double)o->learning_rate, wd = (double)o->weight_decay;
    float step = (float)(lr / (1.0 - o->beta1_power));
    float s2 = (float)(1.0 / sqrt(1.0 - o->beta2_power));
    float dec = (float)(1.0 - lr * wd);
    float a1 = (float)(1.0 - (double)o->beta1), a2 = (float)(1.0 - (double)o->beta2);
    for (int64_t i = 0; i < n; i++) {
        float first = a1 * g[i], second = a2 * g[i];
        second *= g[i];
        s.m[i] = canonical(fmaf(o->beta1, s.m[i], first));
        s.v[i] = canonical(fmaf(o->beta2, s.v[i], second));
        float d = fmaf(sqrtf(s.v[i]), s2, o->eps);
        float quotient = s.m[i] / d, kept = s.p[i] * dec;
        s.p[i] = canonical(fmaf(-step, quotient, kept));
    }
}

static sb_adamw_options usual(int64_t steps) {
    sb_adamw_options o = {.size = sizeof o, .learning_rate = 0.0013f, .beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f,
                          .weight_decay = 0.1f, .beta1_power = 1.0, .beta2_power = 1.0};
    for (int64_t i = 0; i < steps; i++) {
        o.beta1_power *= (double)o.beta1;
        o.beta2_power *= (double)o.beta2;
    }
    return o;
}

static void check_adamw(sb_context *ctx, const char *level, int64_t n, int kind, unsigned mode) {
    uint64_t seed = (uint64_t)n * 8 + (uint64_t)kind;
    state s = state_new(n), start = state_new(n);
    float *g = malloc((size_t)(n ? n : 1) * sizeof *g);
    for (int64_t i = 0; i < n; i++) {
        g[i] = next_float(&seed, kind);
        start.p[i] = s.p[i] = next_float(&seed, kind);
        start.m[i] = s.m[i] = next_float(&seed, kind);
        start.v[i] = s.v[i] = kind == ALL_BITS ? next_float(&seed, kind) : fabsf(next_float(&seed, kind));
    }
    const int64_t shape[] = {n};
    sb_array *ga = array_of(ctx, SB_F32, 1, shape, g), *p = array_of(ctx, SB_F32, 1, shape, start.p);
    sb_array *m = array_of(ctx, SB_F32, 1, shape, start.m), *v = array_of(ctx, SB_F32, 1, shape, start.v);
    for (int64_t step = 1; step <= 3; step++) {
        sb_adamw_options o = usual(step);
        adamw_by_text(&o, g, s, n);
        sb_error err = {0};
        set_caller_mode(mode);
        sb_status status = sb_adamw(ctx, &o, ga, p, m, v, &err);
        CHECK(caller_mode() == (mode & 0xffc0u), "the caller's mode moved");
        set_caller_mode(USUAL_MODE);
        CHECK(status == SB_OK, "%s", err.message);
    }
    CHECK(array_is(p, s.p) && array_is(m, s.m) && array_is(v, s.v), "%s n %lld kind %d", level, (long long)n, kind);
    sb_array_free(ga); sb_array_free(p); sb_array_free(m); sb_array_free(v);
    free(g);
    state_free(s);
    state_free(start);
}

static void test_adamw(void) {
    EACH_CONTEXT(c) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int kind = 0; kind < NUMBER_KINDS; kind++)
                check_adamw(c.ctx, c.level, sizes[i], kind, kind == SUBNORMAL ? HOSTILE_MODE : USUAL_MODE);
    }
}

static void refuse_adamw(sb_context *ctx, sb_adamw_options o, const char *argument) {
    const float before[] = {1.0f, 2.0f, 3.0f};
    sb_array *a[4];
    for (int i = 0; i < 4; i++) a[i] = array_of(ctx, SB_F32, 1, (int64_t[]){3}, before);
    sb_error err = {0};
    sb_status status = sb_adamw(ctx, &o, a[0], a[1], a[2], a[3], &err);
    CHECK(status == SB_ERR_ARGUMENT && strcmp(err.argument, argument) == 0, "%s: %s", argument, err.message);
    for (int i = 0; i < 4; i++) {
        CHECK(array_is(a[i], before), "%s changed array %d", argument, i);
        sb_array_free(a[i]);
    }
}

static void test_adamw_refusals(sb_context *ctx) {
    float nan32 = float_of(0x7fc00000u);
    sb_adamw_options o;
    o = usual(1); o.beta1 = 1.0f; refuse_adamw(ctx, o, "beta1");
    o = usual(1); o.beta1 = -0.1f; refuse_adamw(ctx, o, "beta1");
    o = usual(1); o.beta2 = 1.0f; refuse_adamw(ctx, o, "beta2");
    o = usual(1); o.beta2 = nan32; refuse_adamw(ctx, o, "beta2");
    o = usual(1); o.eps = -1e-8f; refuse_adamw(ctx, o, "eps");
    o = usual(1); o.eps = nan32; refuse_adamw(ctx, o, "eps");
    o = usual(1); o.learning_rate = INFINITY; refuse_adamw(ctx, o, "learning_rate");
    o = usual(1); o.learning_rate = -1.0f; refuse_adamw(ctx, o, "learning_rate");
    o = usual(1); o.weight_decay = nan32; refuse_adamw(ctx, o, "weight_decay");
    o = usual(1); o.beta1_power = 1.0; refuse_adamw(ctx, o, "beta1_power"); // no step was taken
    o = usual(1); o.beta2_power = (double)nan32; refuse_adamw(ctx, o, "beta2_power");
    const int64_t three[] = {3}, four[] = {4}, square[] = {2, 2};
    sb_array *a = array_of(ctx, SB_F32, 1, four, NULL), *b = array_of(ctx, SB_F32, 1, four, NULL);
    sb_array *c = array_of(ctx, SB_F32, 1, three, NULL), *d = array_of(ctx, SB_F32, 1, four, NULL);
    sb_array *e = array_of(ctx, SB_F64, 1, four, NULL), *f = array_of(ctx, SB_F32, 2, square, NULL);
    sb_error err = {0};
    o = usual(1);
    CHECK(sb_adamw(ctx, &o, a, b, c, d, &err) == SB_ERR_SHAPE && !strcmp(err.argument, "m"), "%s", err.message);
    CHECK(sb_adamw(ctx, &o, a, b, d, e, &err) == SB_ERR_DTYPE && !strcmp(err.argument, "v"), "%s", err.message);
    CHECK(sb_adamw(ctx, &o, a, f, b, d, &err) == SB_ERR_SHAPE && !strcmp(err.argument, "p"), "%s", err.message);
    CHECK(sb_adamw(ctx, &o, a, b, b, d, &err) == SB_ERR_OVERLAP, "%s", err.message);
    CHECK(sb_adamw(ctx, NULL, a, b, d, d, &err) == SB_ERR_ARGUMENT && !strcmp(err.argument, "options"), "%s", err.message);
    sb_array_free(a); sb_array_free(b); sb_array_free(c); sb_array_free(d); sb_array_free(e); sb_array_free(f);
}

// S of the contract (T2), by its text.
static double sum_by_text(const double *x, int64_t n) {
    if (n > 4096) {
        int64_t blocks = (n + 4095) / 4096;
        double *totals = malloc((size_t)blocks * sizeof *totals);
        for (int64_t b = 0; b < blocks; b++) totals[b] = sum_by_text(x + 4096 * b, n - 4096 * b < 4096 ? n - 4096 * b : 4096);
        double sum = sum_by_text(totals, blocks);
        free(totals);
        return sum;
    }
    double a[32] = {0};
    for (int64_t j = 0; j < n; j++) a[j % 32] += x[j];
    for (int s = 16; s > 0; s /= 2)
        for (int i = 0; i < s; i++) a[i] += a[i + s];
    return a[0] + 0.0;
}

static void check_clip(sb_context *ctx, const char *level, int64_t count, int kind, double max_norm) {
    uint64_t seed = (uint64_t)(count * 16 + kind);
    sb_array *grads[64] = {0};
    float *values[64];
    double *totals = malloc((size_t)(count + 1) * sizeof *totals);
    for (int64_t k = 0; k < count; k++) {
        int64_t n = sizes[(size_t)k % (sizeof sizes / sizeof *sizes)];
        double *squares = calloc((size_t)(n + 1), sizeof *squares);
        values[k] = malloc((size_t)(n + 1) * sizeof(float));
        for (int64_t i = 0; i < n; i++) {
            values[k][i] = next_float(&seed, kind);
            squares[i] = (double)values[k][i] * (double)values[k][i];
        }
        totals[k] = sum_by_text(squares, n);
        grads[k] = array_of(ctx, SB_F32, 1, (int64_t[]){n}, values[k]);
        free(squares);
    }
    double expected = sqrt(sum_by_text(totals, count)), ratio = max_norm / (expected + 1e-6), norm = -1.0;
    float factor = (float)(ratio < 1.0 ? ratio : 1.0);
    sb_error err = {0};
    CHECK(sb_clip_norm(ctx, count, grads, max_norm, &norm, &err) == SB_OK, "%s", err.message);
    CHECK(norm == expected, "%s: %lld arrays kind %d: norm %a, expected %a", level, (long long)count, kind, norm, expected);
    for (int64_t k = 0; k < count; k++) {
        for (int64_t i = 0; i < sb_array_size(grads[k]); i++) values[k][i] *= factor;
        CHECK(array_is(grads[k], values[k]), "%s: array %lld kind %d max %g", level, (long long)k, kind, max_norm);
        sb_array_free(grads[k]);
        free(values[k]);
    }
    free(totals);
}

static void test_clip(void) {
    EACH_CONTEXT(c) {
        for (int kind = PLAIN; kind <= FEW; kind++) {
            check_clip(c.ctx, c.level, 9, kind, 1.0);
            check_clip(c.ctx, c.level, 40, kind, 0x1.5p-3);
            check_clip(c.ctx, c.level, 2, kind, 1e30); // nothing to clip
        }
        check_clip(c.ctx, c.level, 0, PLAIN, 1.0);
        check_clip(c.ctx, c.level, 1, PLAIN, (double)INFINITY);
    }
}

static void test_clip_refusals(sb_context *ctx) {
    float values[] = {1.0f, 2.0f, float_of(0x7f800000u)};
    sb_array *good = array_of(ctx, SB_F32, 1, (int64_t[]){2}, values), *bad = array_of(ctx, SB_F32, 1, (int64_t[]){3}, values);
    sb_array *wide = array_of(ctx, SB_F64, 1, (int64_t[]){2}, NULL);
    double norm;
    sb_error err = {0};
    CHECK(sb_clip_norm(ctx, 2, (sb_array *[]){good, bad}, 1.0, &norm, &err) == SB_ERR_NONFINITE, "%s", err.message);
    CHECK(!strcmp(err.argument, "grads") && strstr(err.message, "array 1"), "%s: %s", err.argument, err.message);
    CHECK(array_is(good, values) && array_is(bad, values), "a refused clip changed something");
    CHECK(sb_clip_norm(ctx, 1, &good, 0.0, &norm, &err) == SB_ERR_ARGUMENT && !strcmp(err.argument, "max_norm"), "%s", err.message);
    CHECK(sb_clip_norm(ctx, 1, &good, (double)float_of(0x7fc00000u), &norm, &err) == SB_ERR_ARGUMENT, "%s", err.message);
    CHECK(sb_clip_norm(ctx, -1, &good, 1.0, &norm, &err) == SB_ERR_ARGUMENT, "%s", err.message);
    CHECK(sb_clip_norm(ctx, 1, &wide, 1.0, &norm, &err) == SB_ERR_DTYPE, "%s", err.message);
    sb_array_free(good); sb_array_free(bad); sb_array_free(wide);
}

int main(void) {
    test_adamw();
    test_clip();
    sb_context *ctx = NULL;
    CHECK(sb_context_new(NULL, &ctx, NULL) == SB_OK, "no context");
    test_adamw_refusals(ctx);
    test_clip_refusals(ctx);
    sb_context_free(ctx);
    return test_end();
}
