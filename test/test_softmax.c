// SPDX-License-Identifier: Apache-2.0
// Softmax, log-softmax and cross-entropy against their definitions. exp in float32 is the host's exponential in binary64,
// rounded: right but where that lands beside a tie, which none of these inputs does. The logarithm in binary64 is a
// written sequence: what depends on its last bit is compared within two units here, and exactly with the reference.
#include "grid.h"

#include <math.h>

static float exp32(float d) { return grid_canon((float)exp((double)d)); }

typedef struct row {
    float m;
    double s;
    float *e;
    int present;
} row;

static row define(const float *x, int64_t n) {
    row r = {-INFINITY, 0.0, grid_room(n, sizeof *r.e), 0};
    double *terms = grid_room(n, sizeof *terms);
    for (int64_t j = 0; j < n; j++) {
        if (x[j] == -INFINITY) continue;
        r.present++;
        if (x[j] > r.m || x[j] != x[j]) r.m = r.m != r.m ? r.m : x[j];
    }
    for (int64_t j = 0; j < n; j++) { // an absent term adds +0, which moves no accumulator: none is -0
        r.e[j] = x[j] == -INFINITY ? 0.0f : exp32(x[j] - r.m);
        terms[j] = (double)r.e[j];
    }
    r.s = grid_sum(terms, n, 1);
    free(terms);
    return r;
}

static float masked_value(int values) { // kind 7: rows with absent entries
    return values == GRID_KINDS ? (grid_word() % 3 ? grid_value(0) : -INFINITY) : grid_value(values);
}

static double ulps(double a, double b) {
    if (a != a || b != b) return (a != a) == (b != b) ? 0.0 : HUGE_VAL;
    if (a == b) return 0.0;
    return fabs(a - b) / (nextafter(fabs(b), HUGE_VAL) - fabs(b));
}

static void check(sb_context *ctx, int values, int64_t rows, int64_t n, int masked) {
    float *x = grid_room(rows * n, sizeof *x), *y = grid_room(rows * n, sizeof *y), *z = grid_room(rows * n, sizeof *z);
    float *g = grid_room(rows * n, sizeof *g);
    double *loss = grid_room(rows, sizeof *loss), *have = grid_room(rows, sizeof *have);
    int32_t *target = grid_room(rows, sizeof *target);
    const double scale = 1.0 / 7.0;
    for (int64_t i = 0; i < rows * n; i++) x[i] = masked_value(values);
    for (int64_t i = 0; i < rows; i++) target[i] = n ? (int32_t)(grid_word() % (uint32_t)n) : -1;
    if (masked && rows > 1) {
        for (int64_t j = 0; j < n; j++) x[n + j] = -INFINITY; // the second row has no present entry
        target[0] = -1;
    }
    for (int64_t i = 0; i < rows; i++) {
        const float *at = x + i * n;
        int32_t t = target[i];
        row r = define(at, n);
        double inverse = 1.0 / r.s, log_s = log(r.s);
        loss[i] = t >= 0 && r.present ? log_s - (double)(at[t] - r.m) : 0.0;
        for (int64_t j = 0; j < n; j++) {
            int absent = at[j] == -INFINITY;
            y[i * n + j] = absent ? 0.0f : grid_canon((float)((double)r.e[j] * inverse));
            z[i * n + j] = absent ? -INFINITY : grid_canon((float)((double)(at[j] - r.m) - log_s));
            double p = (double)r.e[j] * inverse;
            g[i * n + j] = t >= 0 && r.present ? grid_canon((float)((p - (j == t ? 1.0 : 0.0)) * scale)) : 0.0f;
        }
        free(r.e);
    }
    sb_array *a = ARRAY(ctx, SB_F32, x, rows, n), *out = ARRAY(ctx, SB_F32, NULL, rows, n);
    DONE(sb_softmax(ctx, a, out, &err));
    EXPECT(out, y, "softmax");
    DONE(sb_log_softmax(ctx, a, out, &err));
    EXPECT(out, z, "log-softmax");
    sb_array *targets = ARRAY(ctx, SB_I32, target, rows), *losses = ARRAY(ctx, SB_F64, NULL, rows);
    DONE(sb_cross_entropy(ctx, NULL, a, targets, NULL, losses, &err));
    DONE(sb_array_read(losses, have, (size_t)rows * sizeof *have, &err));
    for (int64_t i = 0; i < rows; i++)
        CHECK(ulps(have[i], loss[i]) <= 2.0 || fabs(have[i] - loss[i]) < 0x1p-50, "loss %lld: %a, expected %a",
              (long long)i, have[i], loss[i]);
    DONE(sb_cross_entropy_backward(ctx, NULL, a, targets, NULL, scale, out, &err));
    EXPECT(out, g, "gradient");
    DONE(sb_cross_entropy_backward(ctx, NULL, a, targets, NULL, scale, a, &err));
    EXPECT(a, g, "gradient in place");
    sb_array *arrays[] = {a, out, targets, losses};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) sb_array_free(arrays[i]);
    void *rooms[] = {x, y, z, g, loss, have, target};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) free(rooms[i]);
}

static void definitions(sb_context *ctx) {
    static const int64_t shapes[][2] = {{0, 5}, {3, 0}, {1, 1}, {3, 1}, {4, 2}, {5, 31}, {3, 32}, {6, 97}, {2, 4096}, {2, 4097}, {1, 9000}};
    grid_state = 11;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int values = 0; values <= GRID_KINDS; values++)
            for (int masked = 0; masked < 2; masked++) check(ctx, values, shapes[i][0], shapes[i][1], masked);
}

static void vocabulary(sb_context *ctx) {
    check(ctx, 0, 3, 50257, 1);
    check(ctx, GRID_KINDS, 2, 50257, 0);
}

// Any row has the bits it has alone.
static void rows_alone(sb_context *ctx) {
    float *x = grid_values(0, 9 * 130);
    sb_array *a = ARRAY(ctx, SB_F32, x, 9, 130), *y = ARRAY(ctx, SB_F32, NULL, 9, 130);
    float *all = grid_room(9 * 130, sizeof *all);
    DONE(sb_softmax(ctx, a, y, &err));
    DONE(sb_array_read(y, all, 9 * 130 * sizeof *all, &err));
    for (int64_t i = 0; i < 9; i++) {
        sb_array *one = NULL, *to = ARRAY(ctx, SB_F32, NULL, 1, 130);
        DONE(sb_array_slice(a, i, 1, &one, &err));
        DONE(sb_softmax(ctx, one, to, &err));
        EXPECT(to, all + i * 130, "a row alone");
        sb_array_free(one);
        sb_array_free(to);
    }
    sb_array_free(a);
    sb_array_free(y);
    free(x);
    free(all);
}

static void rules(sb_context *ctx) {
    const float inf = INFINITY, nan = grid_float(0x7fc00000u);
    const float x[] = {-inf, -inf, -inf, inf, 1.0f, -inf, nan, 1.0f, -inf, 0.0f, 0.0f, -inf, -200.0f, 0.0f, 200.0f};
    const float y[] = {0.0f, 0.0f, 0.0f, nan, nan, 0.0f, nan, nan, 0.0f, 0.5f, 0.5f, 0.0f, 0.0f, 0.0f, 1.0f};
    sb_array *a = ARRAY(ctx, SB_F32, x, 5, 3), *out = ARRAY(ctx, SB_F32, NULL, 5, 3);
    DONE(sb_softmax(ctx, a, out, &err));
    EXPECT(out, y, "absent entries, infinities, NaN");
    sb_array_free(a);
    sb_array_free(out);
    // a vocabulary of one: certain, whatever the logit
    a = ARRAY(ctx, SB_F32, ((float[]){-3.0f, 7.0f}), 2, 1);
    sb_array *t = ARRAY(ctx, SB_I32, ((int32_t[]){0, -1}), 2), *loss = ARRAY(ctx, SB_F64, NULL, 2);
    DONE(sb_cross_entropy(ctx, NULL, a, t, NULL, loss, &err));
    EXPECT(loss, ((double[]){0.0, 0.0}), "certain");
    DONE(sb_cross_entropy_backward(ctx, NULL, a, t, NULL, 0.5, a, &err));
    EXPECT(a, ((float[]){0.0f, 0.0f}), "certain");
    sb_array_free(a);
    sb_array_free(t);
    sb_array_free(loss);
    // the target is absent while another entry is present
    a = ARRAY(ctx, SB_F32, ((float[]){-inf, 2.0f}), 1, 2);
    t = ARRAY(ctx, SB_I32, ((int32_t[]){0}), 1);
    loss = ARRAY(ctx, SB_F64, NULL, 1);
    DONE(sb_cross_entropy(ctx, NULL, a, t, NULL, loss, &err));
    EXPECT(loss, ((double[]){HUGE_VAL}), "an absent target");
    sb_array_free(a);
    sb_array_free(t);
    sb_array_free(loss);
}

// Met elsewhere: batches of unequal length averaged as if they were equal. 10 tokens of loss 2 and 100 of loss 1 are 12/11.
// Losses are made by a vocabulary of two: log(1 + e^g) for a gap g; the target count of the step divides, once.
static void unequal_batches(sb_context *ctx) {
    enum { N = 110 };
    float x[2 * N], *gradient = grid_room(2 * N, sizeof *gradient), *parts = grid_room(2 * N, sizeof *parts);
    int32_t target[N] = {0};
    for (int i = 0; i < N; i++) {
        x[2 * i] = 0.0f;
        x[2 * i + 1] = (float)log(expm1(i < 10 ? 2.0 : 1.0)); // loss 2, or 1, to a float32's precision
    }
    sb_array *a = ARRAY(ctx, SB_F32, x, N, 2), *t = ARRAY(ctx, SB_I32, target, N), *loss = ARRAY(ctx, SB_F64, NULL, N);
    sb_array *dx = ARRAY(ctx, SB_F32, NULL, N, 2);
    double total = 0.0;
    DONE(sb_cross_entropy(ctx, NULL, a, t, NULL, loss, &err));
    DONE(sb_total(ctx, loss, &total, &err));
    CHECK(fabs(total / N - 12.0 / 11.0) < 1e-6, "%.9f", total / N);
    DONE(sb_cross_entropy_backward(ctx, NULL, a, t, NULL, 1.0 / N, dx, &err));
    DONE(sb_array_read(dx, gradient, 2 * N * sizeof *gradient, &err));
    static const int64_t first[] = {0, 10}, count[] = {10, 100};
    double split = 0.0;
    for (int b = 0; b < 2; b++) {
        sb_array *xb = NULL, *tb = NULL, *lb = NULL, *db = NULL;
        double part = 0.0;
        DONE(sb_array_slice(a, first[b], count[b], &xb, &err));
        DONE(sb_array_slice(t, first[b], count[b], &tb, &err));
        DONE(sb_array_slice(loss, first[b], count[b], &lb, &err));
        DONE(sb_array_slice(dx, first[b], count[b], &db, &err));
        DONE(sb_cross_entropy(ctx, NULL, xb, tb, NULL, lb, &err));
        DONE(sb_total(ctx, lb, &part, &err));
        DONE(sb_cross_entropy_backward(ctx, NULL, xb, tb, NULL, 1.0 / N, db, &err));
        split += part;
        sb_array *views[] = {xb, tb, lb, db};
        for (int i = 0; i < 4; i++) sb_array_free(views[i]);
    }
    CHECK(fabs(split / N - 12.0 / 11.0) < 1e-6, "%.9f", split / N);
    DONE(sb_array_read(dx, parts, 2 * N * sizeof *parts, &err));
    CHECK(memcmp(parts, gradient, 2 * N * sizeof *parts) == 0, "the gradient of two batches is that of one");
    sb_array *all[] = {a, t, loss, dx};
    for (int i = 0; i < 4; i++) sb_array_free(all[i]);
    free(gradient);
    free(parts);
}

// float64 against the host's functions: within a few units of the last place. Options against sums written out.
static void wide_and_options(sb_context *ctx) {
    enum { N = 9, V = 37 };
    double x[N * V], w[V], y[N * V], z[N * V], have[N * V], dy[N * V], loss[N], share[N];
    int64_t target[N];
    for (int i = 0; i < N * V; i++) x[i] = (double)grid_value(0) * 3.0, dy[i] = (double)grid_value(0);
    for (int i = 0; i < V; i++) w[i] = fabs((double)grid_value(0)) + 0.1;
    for (int i = 0; i < N; i++) target[i] = i % 4 == 3 ? 5 : (int64_t)(grid_word() % V);
    for (int i = 0; i < N; i++) {
        double m = -HUGE_VAL, s = 0.0;
        for (int j = 0; j < V; j++) m = fmax(m, x[i * V + j]);
        for (int j = 0; j < V; j++) s += exp(x[i * V + j] - m);
        for (int j = 0; j < V; j++) y[i * V + j] = exp(x[i * V + j] - m) / s, z[i * V + j] = x[i * V + j] - m - log(s);
    }
    sb_array *a = ARRAY(ctx, SB_F64, x, N, V), *out = ARRAY(ctx, SB_F64, NULL, N, V), *slope = ARRAY(ctx, SB_F64, dy, N, V);
    sb_array *into = ARRAY(ctx, SB_F64, NULL, N, V), *weights = ARRAY(ctx, SB_F64, w, V), *t = ARRAY(ctx, SB_I64, target, N);
    sb_array *each = ARRAY(ctx, SB_F64, NULL, N), *one = SCALAR(ctx, SB_F64, NULL);
    for (int log_too = 0; log_too < 2; log_too++) {
        DONE(log_too ? sb_log_softmax(ctx, a, out, &err) : sb_softmax(ctx, a, out, &err));
        DONE(sb_array_read(out, have, sizeof have, &err));
        for (int i = 0; i < N * V; i++) {
            double want = log_too ? z[i] : y[i];
            CHECK(fabs(have[i] - want) <= 8 * 0x1p-52 * fabs(want), "%d: %a, expected %a", i, have[i], want);
        }
        DONE(log_too ? sb_log_softmax_backward(ctx, out, slope, into, &err) : sb_softmax_backward(ctx, out, slope, into, &err));
        DONE(sb_array_read(into, have, sizeof have, &err));
        for (int i = 0; i < N; i++) {
            double along = 0.0, total = 0.0;
            for (int j = 0; j < V; j++) along += y[i * V + j] * dy[i * V + j], total += dy[i * V + j];
            for (int j = 0; j < V; j++) {
                double p = y[i * V + j], d = dy[i * V + j], want = log_too ? d - p * total : p * (d - along);
                CHECK(fabs(have[i * V + j] - want) < 1e-14 * (1.0 + fabs(want)), "%a, expected %a", have[i * V + j], want);
            }
        }
    }
    // class 5 ignored; PyTorch's formulas, and central differences of the mean
    for (int way = 0; way < 4; way++) {
        sb_cross_entropy_options o = {.size = sizeof o, .ignores = 1, .ignore_index = 5, .label_smoothing = way & 1 ? 0.2 : 0.0};
        sb_array *use = way & 2 ? weights : NULL;
        double sum = 0.0, all = 0.0, got = 0.0;
        for (int i = 0; i < N; i++) {
            double own = way & 2 ? w[target[i]] : 1.0, smooth = 0.0;
            for (int j = 0; j < V; j++) smooth -= (way & 2 ? w[j] : 1.0) * z[i * V + j];
            loss[i] = target[i] == 5 ? 0.0 : (1.0 - o.label_smoothing) * own * -z[i * V + target[i]] + o.label_smoothing / V * smooth;
            share[i] = target[i] == 5 ? 0.0 : own;
            sum += loss[i];
            all += share[i];
        }
        DONE(sb_cross_entropy(ctx, &o, a, t, use, each, &err));
        DONE(sb_array_read(each, have, sizeof loss, &err));
        for (int i = 0; i < N; i++) CHECK(fabs(have[i] - loss[i]) < 1e-13 * (1.0 + loss[i]), "loss %a, expected %a", have[i], loss[i]);
        o.reduction = SB_LOSS_SUM;
        DONE(sb_cross_entropy(ctx, &o, a, t, use, one, &err));
        DONE(sb_array_read(one, &got, sizeof got, &err));
        CHECK(fabs(got - sum) < 1e-13 * sum, "sum %a, expected %a", got, sum);
        o.reduction = SB_LOSS_MEAN;
        DONE(sb_cross_entropy(ctx, &o, a, t, use, one, &err));
        DONE(sb_array_read(one, &got, sizeof got, &err));
        CHECK(fabs(got - sum / all) < 1e-13 * got, "mean %a, expected %a", got, sum / all);
        DONE(sb_cross_entropy_backward(ctx, &o, a, t, use, 3.0, into, &err));
        DONE(sb_array_read(into, have, sizeof have, &err));
        for (int i = 0; i < N * V; i += 5) {
            double keep = x[i], up = 0.0, down = 0.0;
            for (int side = 0; side < 2; side++) {
                x[i] = side ? keep - 1e-5 : keep + 1e-5;
                DONE(sb_array_write(a, x, sizeof x, &err));
                DONE(sb_cross_entropy(ctx, &o, a, t, use, one, &err));
                DONE(sb_array_read(one, side ? &down : &up, sizeof up, &err));
            }
            x[i] = keep;
            CHECK(fabs(have[i] - 3.0 * (up - down) / 2e-5) < 1e-8, "slope %d: %g, differences %g", i, have[i], 3.0 * (up - down) / 2e-5);
        }
        DONE(sb_array_write(a, x, sizeof x, &err));
    }
    sb_array *allocated[] = {a, out, slope, into, weights, t, each, one};
    for (size_t i = 0; i < sizeof allocated / sizeof *allocated; i++) sb_array_free(allocated[i]);
}

static void refusals(sb_context *ctx) {
    const int32_t high[] = {0, 3}, low[] = {-2, 0};
    unsigned char poison[2 * 3 * sizeof(float)];
    memset(poison, 0xa5, sizeof poison);
    sb_array *x = ARRAY(ctx, SB_F32, ((float[]){1, 2, 3, 4, 5, 6}), 2, 3), *y = ARRAY(ctx, SB_F32, NULL, 2, 3);
    sb_array *t = ARRAY(ctx, SB_I32, high, 2), *u = ARRAY(ctx, SB_I32, low, 2), *loss = ARRAY(ctx, SB_F64, NULL, 2);
    sb_array *one = SCALAR(ctx, SB_F32, NULL), *other = SCALAR(ctx, SB_F32, NULL), *wide = ARRAY(ctx, SB_U32, NULL, 2);
    sb_array *three = ARRAY(ctx, SB_F32, NULL, 3), *good = ARRAY(ctx, SB_I32, ((int32_t[]){0, 1}), 2);
    sb_array *no_words = ARRAY(ctx, SB_F32, NULL, 2, 0);
    REFUSED(sb_cross_entropy(ctx, NULL, x, t, NULL, loss, &err), SB_ERR_ARGUMENT, "targets");
    REFUSED(sb_cross_entropy(ctx, NULL, x, u, NULL, loss, &err), SB_ERR_ARGUMENT, "targets");
    REFUSED(sb_cross_entropy_backward(ctx, NULL, x, t, NULL, 1.0, y, &err), SB_ERR_ARGUMENT, "targets");
    REFUSED(sb_cross_entropy(ctx, NULL, no_words, good, NULL, loss, &err), SB_ERR_ARGUMENT, "targets");
    EXPECT(loss, poison, "nothing was written");
    EXPECT(y, poison, "nothing was written");
    REFUSED(sb_cross_entropy(ctx, NULL, x, wide, NULL, loss, &err), SB_ERR_DTYPE, "targets");
    REFUSED(sb_cross_entropy(ctx, NULL, three, good, NULL, loss, &err), SB_ERR_SHAPE, "logits");
    REFUSED(sb_cross_entropy(ctx, NULL, x, good, NULL, y, &err), SB_ERR_DTYPE, "loss");
    REFUSED(sb_cross_entropy_backward(ctx, NULL, x, good, NULL, 1.0, three, &err), SB_ERR_SHAPE, "dlogits");
    REFUSED(sb_softmax(ctx, one, other, &err), SB_ERR_SHAPE, "x");
    REFUSED(sb_softmax(ctx, x, three, &err), SB_ERR_SHAPE, "y");
    REFUSED(sb_softmax(ctx, wide, y, &err), SB_ERR_DTYPE, "x");
    REFUSED(sb_log_softmax(ctx, x, loss, &err), SB_ERR_DTYPE, "y");
    sb_array *all[] = {x, y, t, u, loss, one, other, wide, three, good, no_words};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
}

int main(void) {
    grid_run(definitions);
    grid_run(rows_alone);
    grid_run(rules);
    grid_run(unequal_batches);
    grid_run(wide_and_options);
    grid_run(refusals);
    sb_context *ctx = NULL;
    CHECK(sb_context_new(NULL, &ctx, NULL) == SB_OK, "a context");
    vocabulary(ctx);
    sb_context_free(ctx);
    return test_end();
}
