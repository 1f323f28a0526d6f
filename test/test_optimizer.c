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
    double lr = (double)(float)o->learning_rate, wd = (double)(float)o->weight_decay;
    float beta1 = (float)o->beta1, beta2 = (float)o->beta2, eps = (float)o->eps;
    float step = (float)(lr / (1.0 - o->beta1_power));
    float s2 = (float)(1.0 / sqrt(1.0 - o->beta2_power));
    float dec = (float)(1.0 - lr * wd);
    float a1 = (float)(1.0 - (double)beta1), a2 = (float)(1.0 - (double)beta2);
    for (int64_t i = 0; i < n; i++) {
        float first = a1 * g[i], second = a2 * g[i];
        second *= g[i];
        s.m[i] = canonical(fmaf(beta1, s.m[i], first));
        s.v[i] = canonical(fmaf(beta2, s.v[i], second));
        float d = fmaf(sqrtf(s.v[i]), s2, eps);
        float quotient = s.m[i] / d, kept = s.p[i] * dec;
        s.p[i] = canonical(fmaf(-step, quotient, kept));
    }
}

static sb_adamw_options usual(int64_t steps) {
    sb_adamw_options o = {.size = sizeof o, .learning_rate = 0.0013, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8,
                          .weight_decay = 0.1, .beta1_power = 1.0, .beta2_power = 1.0};
    for (int64_t i = 0; i < steps; i++) {
        o.beta1_power *= (double)(float)o.beta1;
        o.beta2_power *= (double)(float)o.beta2;
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
    double nan = (double)NAN;
    sb_adamw_options o;
    o = usual(1); o.beta1 = 1.0; refuse_adamw(ctx, o, "beta1");
    o = usual(1); o.beta1 = -0.1; refuse_adamw(ctx, o, "beta1");
    o = usual(1); o.beta2 = 1.0 - 1e-9; // (rounds to 1)
    refuse_adamw(ctx, o, "beta2");
    o = usual(1); o.beta2 = 1.0; refuse_adamw(ctx, o, "beta2");
    o = usual(1); o.beta2 = nan; refuse_adamw(ctx, o, "beta2");
    o = usual(1); o.eps = -1e-8; refuse_adamw(ctx, o, "eps");
    o = usual(1); o.eps = nan; refuse_adamw(ctx, o, "eps");
    o = usual(1); o.learning_rate = 1e300; refuse_adamw(ctx, o, "learning_rate");
    o = usual(1); o.learning_rate = -1.0; refuse_adamw(ctx, o, "learning_rate");
    o = usual(1); o.weight_decay = nan; refuse_adamw(ctx, o, "weight_decay");
    o = usual(1); o.beta1_power = 1.0; refuse_adamw(ctx, o, "beta1_power"); // no step was taken
    o = usual(1); o.beta2_power = nan; refuse_adamw(ctx, o, "beta2_power");
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

// ---- float64, Adam, SGD

static double canonical64(double x) { return x == x ? x : (double)NAN; }

// Values of 53 bits over a few binades.
static double next_double(uint64_t *seed) {
    return ldexp((double)(int64_t)(next_word(seed) | 1u), -63 - (int)(next_word(seed) % 5u));
}

static void adam_by_text(const sb_adamw_options *o, bool decoupled, const double *g, double *p, double *m, double *v, int64_t n) {
    double step = o->learning_rate / (1.0 - o->beta1_power), s2 = 1.0 / sqrt(1.0 - o->beta2_power);
    double decay = o->learning_rate * o->weight_decay, kept = 1.0 - decay, a1 = 1.0 - o->beta1, a2 = 1.0 - o->beta2;
    for (int64_t i = 0; i < n; i++) {
        double slope = decoupled || o->weight_decay == 0.0 ? g[i] : fma(o->weight_decay, p[i], g[i]);
        double first = a1 * slope, second = a2 * slope;
        second *= slope;
        m[i] = fma(o->beta1, m[i], first);
        v[i] = fma(o->beta2, v[i], second);
        double old = decoupled ? p[i] * kept : p[i], quotient = m[i] / fma(sqrt(v[i]), s2, o->eps);
        p[i] = canonical64(fma(-step, quotient, old));
    }
}

static void sgd_by_text(const sb_sgd_options *o, const double *g, double *p, double *m, int64_t n) {
    double kept = 1.0 - o->dampening;
    for (int64_t i = 0; i < n; i++) {
        double slope = o->weight_decay == 0.0 ? g[i] : fma(o->weight_decay, p[i], g[i]), own = kept * slope;
        if (o->momentum != 0.0) {
            m[i] = o->first ? slope : fma(o->momentum, m[i], own);
            slope = o->nesterov ? fma(o->momentum, m[i], slope) : m[i];
        }
        p[i] = fma(-o->learning_rate, slope, p[i]);
    }
}

enum { WIDTH = 1003 };
static void test_float64(sb_context *ctx, const char *level) {
    static double g[WIDTH], p[WIDTH], m[WIDTH], v[WIDTH];
    const int64_t shape[] = {WIDTH};
    uint64_t seed = 11;
    for (int kind = 0; kind < 6; kind++) { // AdamW, Adam, then SGD: plain, momentum, dampened, Nesterov
        for (int i = 0; i < WIDTH; i++) {
            g[i] = next_double(&seed);
            p[i] = next_double(&seed);
            m[i] = next_double(&seed);
            v[i] = fabs(next_double(&seed));
        }
        sb_array *ga = array_of(ctx, SB_F64, 1, shape, g), *pa = array_of(ctx, SB_F64, 1, shape, p);
        sb_array *ma = array_of(ctx, SB_F64, 1, shape, m), *va = array_of(ctx, SB_F64, 1, shape, v);
        double power1 = 1.0, power2 = 1.0;
        for (int step = 0; step < 3; step++) {
            power1 *= 0.9;
            power2 *= 0.95;
            sb_adamw_options a = {.size = sizeof a, .learning_rate = 0.0013, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8,
                                  .weight_decay = 0.1, .beta1_power = power1, .beta2_power = power2};
            sb_sgd_options s = {.size = sizeof s, .learning_rate = 0.013, .momentum = kind == 2 ? 0.0 : 0.9,
                                .dampening = kind == 4 ? 0.3 : 0.0, .weight_decay = kind == 3 ? 0.0 : 0.1, .nesterov = kind == 5,
                                .first = step == 0};
            sb_error err = {0};
            sb_status status = kind == 0   ? sb_adamw(ctx, &a, ga, pa, ma, va, &err)
                               : kind == 1 ? sb_adam(ctx, &a, ga, pa, ma, va, &err)
                                           : sb_sgd(ctx, &s, ga, pa, ma, &err);
            CHECK(status == SB_OK, "%s", err.message);
            if (kind < 2) adam_by_text(&a, kind == 0, g, p, m, v, WIDTH);
            else sgd_by_text(&s, g, p, m, WIDTH);
        }
        CHECK(array_is(pa, p) && array_is(ma, m) && array_is(va, v), "%s: float64, kind %d", level, kind);
        sb_array_free(ga); sb_array_free(pa); sb_array_free(ma); sb_array_free(va);
    }
}

// Powers of two, by hand, as PyTorch's SGD: the first buffer is the gradient itself, undampened.
static void test_sgd_known(sb_context *ctx, const char *level) {
    const int64_t one[] = {1};
    float g = 0.5f, p = 1.0f;
    sb_array *ga = array_of(ctx, SB_F32, 1, one, &g), *pa = array_of(ctx, SB_F32, 1, one, &p), *ma = array_of(ctx, SB_F32, 1, one, &p);
    sb_sgd_options o = {.size = sizeof o, .learning_rate = 0.25, .momentum = 0.5, .dampening = 0.75, .first = 1};
    CHECK(sb_sgd(ctx, &o, ga, pa, ma, NULL) == SB_OK && array_is(ma, &(float){0.5f}) && array_is(pa, &(float){0.875f}), "%s", level);
    o.first = 0; // m = 0.25 + 0.25 * 0.5
    CHECK(sb_sgd(ctx, &o, ga, pa, ma, NULL) == SB_OK && array_is(ma, &(float){0.375f}) && array_is(pa, &(float){0.78125f}), "%s", level);
    o = (sb_sgd_options){.size = sizeof o, .learning_rate = 0.25, .momentum = 0.5, .nesterov = 1, .weight_decay = 1.0};
    // slope = 0.5 + 0.78125, m = 0.1875 + slope, used = slope + m / 2
    CHECK(sb_sgd(ctx, &o, ga, pa, ma, NULL) == SB_OK && array_is(ma, &(float){1.46875f}) && array_is(pa, &(float){0.27734375f}), "%s", level);
    p = INFINITY; // without decay the parameter does not reach the buffer
    sb_array_write(pa, &p, sizeof p, NULL);
    o = (sb_sgd_options){.size = sizeof o, .learning_rate = 0.25, .momentum = 0.5, .first = 1};
    CHECK(sb_sgd(ctx, &o, ga, pa, ma, NULL) == SB_OK && array_is(ma, &g), "%s", level);
    sb_array_free(ga); sb_array_free(pa); sb_array_free(ma);
}

// Beyond float32: the norm of 2^200 and its clip, exactly; squares that leave binary64 are refused.
static void test_clip_float64(sb_context *ctx) {
    double x[] = {3 * 0x1p200, -4 * 0x1p200}, norm = 0.0;
    sb_array *a = array_of(ctx, SB_F64, 1, (int64_t[]){2}, x), *f = array_of(ctx, SB_F32, 1, (int64_t[]){2}, NULL);
    sb_error err = {0};
    CHECK(sb_clip_norm(ctx, 2, (sb_array *[]){a, f}, 1.0, &norm, &err) == SB_ERR_DTYPE && strstr(err.message, "array 1"), "%s", err.message);
    CHECK(sb_clip_norm(ctx, 1, &a, 0.625, &norm, &err) == SB_OK && norm == 5 * 0x1p200, "norm %a", norm);
    CHECK(array_is(a, (double[]){0.375, -0.5}), "clipped");
    x[0] = 0x1p600;
    sb_array_write(a, x, sizeof x, NULL);
    CHECK(sb_clip_norm(ctx, 1, &a, 0.625, &norm, &err) == SB_ERR_NONFINITE && array_is(a, x), "%s", err.message);
    sb_array_free(a); sb_array_free(f);
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
    sb_array *integers = array_of(ctx, SB_I64, 1, (int64_t[]){2}, NULL);
    double norm;
    sb_error err = {0};
    CHECK(sb_clip_norm(ctx, 2, (sb_array *[]){good, bad}, 1.0, &norm, &err) == SB_ERR_NONFINITE, "%s", err.message);
    CHECK(!strcmp(err.argument, "grads") && strstr(err.message, "array 1"), "%s: %s", err.argument, err.message);
    CHECK(array_is(good, values) && array_is(bad, values), "a refused clip changed something");
    CHECK(sb_clip_norm(ctx, 1, &good, 0.0, &norm, &err) == SB_ERR_ARGUMENT && !strcmp(err.argument, "max_norm"), "%s", err.message);
    CHECK(sb_clip_norm(ctx, 1, &good, (double)float_of(0x7fc00000u), &norm, &err) == SB_ERR_ARGUMENT, "%s", err.message);
    CHECK(sb_clip_norm(ctx, -1, &good, 1.0, &norm, &err) == SB_ERR_ARGUMENT, "%s", err.message);
    CHECK(sb_clip_norm(ctx, 1, &integers, 1.0, &norm, &err) == SB_ERR_DTYPE, "%s", err.message);
    sb_array_free(good); sb_array_free(bad); sb_array_free(integers);
}

int main(void) {
    test_adamw();
    test_clip();
    EACH_CONTEXT(c) {
        test_float64(c.ctx, c.level);
        test_sgd_known(c.ctx, c.level);
    }
    sb_context *ctx = NULL;
    CHECK(sb_context_new(NULL, &ctx, NULL) == SB_OK, "no context");
    test_adamw_refusals(ctx);
    test_clip_refusals(ctx);
    test_clip_float64(ctx);
    sb_context_free(ctx);
    return test_end();
}
