// SPDX-License-Identifier: Apache-2.0
// Layouts, initial values, linear layers, the optimizer's groups, the schedule.
#include "nn.h"
#include "test.h"

#include <math.h>
#include <string.h>

static sb_context *ctx;

static void check_patterns(void) {
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {{"*", "", true},
                 {"*", "abc", true},
                 {"", "", true},
                 {"", "a", false},
                 {"a", "a", true},
                 {"a", "ab", false},
                 {"*norm.weight", "model.layers.3.input_layernorm.weight", true},
                 {"*norm.weight", "model.norm.weight", true},
                 {"*norm.weight", "model.norm.weights", false},
                 {"*.bias", "a.b.bias", true},
                 {"*.bias", "bias", false},
                 {"a*b*c", "aXbYbZc", true},
                 {"a*b*c", "aXcYb", false},
                 {"**a**", "bab", true},
                 {"*ab", "aab", true},
                 {"a*a", "a", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(sbi_pattern_matches(cases[i].pattern, cases[i].name) == cases[i].matches, "%s on %s",
              cases[i].pattern, cases[i].name);
}

static void check_schedule(void) {
    float rates[100], c;
    int64_t one = 1;
    sb_array *angle;
    CHECK(sbi_schedule_cosine(ctx, 100, 10, 0.003, 0.1, rates, NULL) == SB_OK, "schedule");
    CHECK(rates[0] == (float)(0.003 * 1.0 / 10.0) && rates[9] == (float)(0.003 * 10.0 / 10.0),
          "warm-up");
    CHECK(rates[99] == (float)(0.003 * (0.1 + 0.9 * ((1.0 + -1.0) * 0.5))),
          "the last is the minimum: %.9g", (double)rates[99]);
    sb_array_new(ctx, SB_F32, 1, &one, &angle, NULL);
    for (int t = 11; t <= 100; t++) {
        float a = (float)(3.14159265358979323846 * (t - 10) / 90.0);
        double exact =
            0.003 * (0.1 + 0.9 * (1.0 + cos(3.14159265358979323846 * (t - 10) / 90.0)) / 2.0);
        sb_array_write(angle, &a, sizeof a, NULL);
        CHECK(sb_unary(ctx, SB_COS, angle, angle, NULL) == SB_OK, "cos");
        sb_array_read(angle, &c, sizeof c, NULL);
        double half = (1.0 + (double)c) * 0.5;
        CHECK(rates[t - 1] == (float)(0.003 * (0.1 + 0.9 * half)), "step %d by the formula", t);
        CHECK(fabs((double)rates[t - 1] - exact) < 1e-9, "step %d: %.9g, the curve has %.9g", t,
              (double)rates[t - 1], exact);
        CHECK(rates[t - 1] < rates[t - 2], "step %d falls", t);
    }
    sb_array_free(angle);
    CHECK(sbi_schedule_cosine(ctx, 5, 5, 1.0, 0.0, rates, NULL) == SB_OK && rates[4] == 1.0f,
          "all warm-up");
    CHECK(sbi_schedule_cosine(ctx, 3, 0, 1.0, 1.0, rates, NULL) == SB_OK && rates[0] == 1.0f &&
              rates[2] == 1.0f,
          "constant");
    CHECK(sbi_schedule_cosine(ctx, 3, 4, 1.0, 0.0, rates, NULL) == SB_ERR_ARGUMENT,
          "more warm-up than steps");
    CHECK(sbi_schedule_cosine(ctx, 0, 0, 1.0, 0.0, rates, NULL) == SB_ERR_ARGUMENT, "no steps");
}

static void check_layout(void) {
    sbi_layout layout;
    sbi_tensors a, b;
    sb_error err = {0};
    uint8_t one[32], two[32];
    sbi_layout_start(&layout, &ctx->allocator);
    CHECK(sbi_layout_add(&layout, "x.", "weight", 5, 7, SBI_INITIAL_NORMAL, 0.5f, &err) == SB_OK,
          "add");
    CHECK(sbi_layout_add(&layout, "x.", "norm.weight", 7, 0, SBI_INITIAL_ONE, 0.0f, &err) == SB_OK,
          "add");
    CHECK(sbi_layout_add(&layout, "", "bias", 3, 0, SBI_INITIAL_ZERO, 0.0f, &err) == SB_OK, "add");
    CHECK(layout.elements == 45 && layout.items[1].offset == 48 && layout.items[2].offset == 64 &&
              layout.extent == 80,
          "offsets");
    CHECK(sbi_layout_add(&layout, "", "huge", INT64_MAX / 2, 3, SBI_INITIAL_ZERO, 0.0f, &err) ==
              SB_ERR_SIZE,
          "overflow");
    CHECK(sbi_layout_add(&layout, "", "huge", INT64_MAX / 4, 0, SBI_INITIAL_ZERO, 0.0f, &err) ==
              SB_ERR_SIZE,
          "overflow in bytes");
    CHECK(sbi_layout_add(&layout, "", "none", 0, 4, SBI_INITIAL_ZERO, 0.0f, &err) == SB_ERR_SIZE,
          "no rows");
    CHECK(layout.count == 3, "a refused parameter was kept");
    CHECK(sbi_tensors_new(ctx, &layout, &a, &err) == SB_OK &&
              sbi_tensors_new(ctx, &layout, &b, &err) == SB_OK,
          "%s", err.message);
    CHECK(sbi_tensors_initialize(ctx, &a, 42, 1000, &err) == SB_OK, "%s", err.message);
    float w[35], normal[35], flat[80];
    int64_t n = 35;
    sb_array *drawn;
    sb_array_new(ctx, SB_F32, 1, &n, &drawn, NULL);
    sb_random_normal(ctx, 42, 1000, 0, drawn, NULL);
    sb_array_read(drawn, normal, sizeof normal, NULL);
    sb_array_read(a.items[0], w, sizeof w, NULL);
    for (int i = 0; i < 35; i++)
        CHECK(w[i] == normal[i] * 0.5f, "element %d is %.9g", i, (double)w[i]);
    sb_array_free(drawn);
    sb_array_read(a.flat, flat, sizeof flat, NULL);
    for (int i = 35; i < 80; i++)
        CHECK(flat[i] == (i >= 48 && i < 55 ? 1.0f : 0.0f), "flat element %d is %.9g", i,
              (double)flat[i]);
    CHECK(sb_array_copy(ctx, a.flat, b.flat, NULL) == SB_OK, "copy");
    CHECK(sbi_tensors_digest(ctx, &a, one, NULL) == SB_OK &&
              sbi_tensors_digest(ctx, &b, two, NULL) == SB_OK && memcmp(one, two, 32) == 0,
          "digests");
    flat[50] = 2.0f;
    sb_array_write(b.flat, flat, sizeof flat, NULL);
    CHECK(sbi_tensors_digest(ctx, &b, two, NULL) == SB_OK && memcmp(one, two, 32) != 0,
          "another value, another digest");
    sbi_tensors_free(&a);
    sbi_tensors_free(&b);
    sbi_layout_free(&layout);
}

static void check_linear(void) {
    enum { N = 3, IN = 4, OUT = 2 };
    int64_t sx[2] = {N, IN}, sw[2] = {OUT, IN}, sy[2] = {N, OUT}, sb[1] = {OUT};
    float x[N * IN], w[OUT * IN], b[OUT] = {0.5f, -1.0f}, y[N * OUT], dy[N * OUT], dx[N * IN],
                                  dw[OUT * IN], db[OUT];
    sb_array *ax, *aw, *ab, *ay, *ady, *adx, *adw, *adb;
    for (int i = 0; i < N * IN; i++) x[i] = (float)(i * i % 7 - 3);
    for (int i = 0; i < OUT * IN; i++) w[i] = (float)(i * 3 % 5 - 2);
    for (int i = 0; i < N * OUT; i++) dy[i] = (float)(i % 4 - 1);
    sb_array_wrap(ctx, SB_F32, 2, sx, x, &ax, NULL);
    sb_array_wrap(ctx, SB_F32, 2, sw, w, &aw, NULL);
    sb_array_wrap(ctx, SB_F32, 1, sb, b, &ab, NULL);
    sb_array_wrap(ctx, SB_F32, 2, sy, y, &ay, NULL);
    sb_array_wrap(ctx, SB_F32, 2, sy, dy, &ady, NULL);
    sb_array_wrap(ctx, SB_F32, 2, sx, dx, &adx, NULL);
    sb_array_wrap(ctx, SB_F32, 2, sw, dw, &adw, NULL);
    sb_array_wrap(ctx, SB_F32, 1, sb, db, &adb, NULL);
    for (int i = 0; i < N * OUT; i++) y[i] = 100.0f;
    for (int i = 0; i < N * IN; i++) dx[i] = 10.0f;
    CHECK(sbi_linear(ctx, ax, aw, ab, true, ay, NULL) == SB_OK, "linear");
    CHECK(sbi_linear_backward(ctx, ax, aw, ady, true, adx, adw, adb, NULL) == SB_OK,
          "backward"); // small integers: exact
    for (int n = 0; n < N; n++)
        for (int o = 0; o < OUT; o++) {
            float sum = 100.0f + b[o];
            for (int i = 0; i < IN; i++) sum += x[n * IN + i] * w[o * IN + i];
            CHECK(y[n * OUT + o] == sum, "y[%d, %d] %.9g %.9g", n, o, (double)y[n * OUT + o],
                  (double)sum);
        }
    for (int n = 0; n < N; n++)
        for (int i = 0; i < IN; i++) {
            float sum = 10.0f;
            for (int o = 0; o < OUT; o++) sum += dy[n * OUT + o] * w[o * IN + i];
            CHECK(dx[n * IN + i] == sum, "dx[%d, %d]", n, i);
        }
    for (int o = 0; o < OUT; o++) {
        float bias = 0.0f;
        for (int n = 0; n < N; n++) bias += dy[n * OUT + o];
        CHECK(db[o] == bias, "db[%d]", o);
        for (int i = 0; i < IN; i++) {
            float sum = 0.0f;
            for (int n = 0; n < N; n++) sum += dy[n * OUT + o] * x[n * IN + i];
            CHECK(dw[o * IN + i] == sum, "dw[%d, %d]", o, i);
        }
    }
    sb_array *const all[] = {ax, aw, ab, ay, ady, adx, adw, adb};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
}

// Every parameter must move as sb_adamw moves it with its group's options.
static void check_groups(void) {
    static const sbi_group groups[] = {
        {"*norm.weight", 0.0f, 1.0f}, {"head*", 0.25f, 0.5f}, {"*", 0.1f, 1.0f}};
    static const struct {
        const char *name;
        float decay, ratio;
    } parameters[] = {
        {"a.weight", 0.1f, 1.0f}, {"a.norm.weight", 0.0f, 1.0f}, {"head.weight", 0.25f, 0.5f}};
    sbi_layout layout;
    sbi_tensors weights, gradients;
    sbi_optimizer optimizer = {
        .beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f, .groups = groups, .group_count = 3};
    sbi_layout_start(&layout, &ctx->allocator);
    for (int i = 0; i < 3; i++)
        sbi_layout_add(&layout, "", parameters[i].name, 50, 0, SBI_INITIAL_NORMAL, 1.0f, NULL);
    sbi_tensors_new(ctx, &layout, &weights, NULL);
    sbi_tensors_new(ctx, &layout, &gradients, NULL);
    sbi_tensors_initialize(ctx, &weights, 1, 0, NULL);
    CHECK(sbi_optimizer_start(ctx, &layout, &optimizer, NULL) == SB_OK, "start");
    float p[3][50], m[3][50] = {{0}}, v[3][50] = {{0}}, g[50], found[50];
    int64_t n = 50;
    double power1 = 1.0, power2 = 1.0;
    for (int i = 0; i < 3; i++) sb_array_read(weights.items[i], p[i], sizeof p[i], NULL);
    for (int step = 0; step < 3; step++) {
        float rate = 0.01f * (float)(step + 1);
        sbi_tensors_initialize(ctx, &gradients, (uint64_t)step + 9, 100, NULL);
        CHECK(sbi_optimizer_step(ctx, &optimizer, rate, &gradients, &weights, NULL) == SB_OK,
              "step");
        power1 *= (double)0.9f;
        power2 *= (double)0.95f;
        for (int i = 0; i < 3; i++) {
            sb_array *ag, *ap, *am, *av;
            sb_adamw_options o = {.size = sizeof o,
                                  .learning_rate = rate * parameters[i].ratio,
                                  .beta1 = 0.9f,
                                  .beta2 = 0.95f,
                                  .eps = 1e-8f,
                                  .weight_decay = parameters[i].decay,
                                  .beta1_power = power1,
                                  .beta2_power = power2};
            sb_array_read(gradients.items[i], g, sizeof g, NULL);
            sb_array_wrap(ctx, SB_F32, 1, &n, g, &ag, NULL);
            sb_array_wrap(ctx, SB_F32, 1, &n, p[i], &ap, NULL);
            sb_array_wrap(ctx, SB_F32, 1, &n, m[i], &am, NULL);
            sb_array_wrap(ctx, SB_F32, 1, &n, v[i], &av, NULL);
            CHECK(sb_adamw(ctx, &o, ag, ap, am, av, NULL) == SB_OK, "adamw");
            sb_array_read(weights.items[i], found, sizeof found, NULL);
            CHECK(memcmp(found, p[i], sizeof found) == 0, "%s after step %d", parameters[i].name,
                  step + 1);
            sb_array_free(ag);
            sb_array_free(ap);
            sb_array_free(am);
            sb_array_free(av);
        }
    }
    sbi_optimizer_free(&optimizer);
    sbi_tensors_free(&weights);
    sbi_tensors_free(&gradients);
    sbi_layout_free(&layout);
}

int main(void) {
    if (sb_context_new(NULL, &ctx, NULL) != SB_OK) return 1;
    check_patterns();
    check_schedule();
    check_layout();
    check_linear();
    check_groups();
    sb_context_free(ctx);
    return test_end();
}
