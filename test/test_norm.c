// SPDX-License-Identifier: Apache-2.0
// RMSNorm, LayerNorm and their backward against the definitions, and against central differences.
#include "grid.h"

#include <math.h>
#include <stdbool.h>

static void check(sb_context *ctx, int values, int64_t rows, int64_t d, int weighted) {
    int64_t size = rows * d;
    float *x = grid_values(values, size), *w = grid_values(values == 2 ? 0 : values, d), *dy = grid_values(values, size);
    float *y = grid_room(size, sizeof *y), *dx = grid_room(size, sizeof *dx), *dw = grid_room(d, sizeof *dw);
    double *r = grid_room(rows, sizeof *r), *terms = grid_room(size, sizeof *terms);
    const double eps = 1e-5;
    for (int64_t i = 0; i < rows; i++) {
        const float *at = x + i * d;
        for (int64_t j = 0; j < d; j++) terms[j] = (double)at[j] * (double)at[j];
        double v = grid_sum(terms, d, 1) / (double)d, root = sqrt(v + eps);
        r[i] = grid_canon64(1.0 / root);
        for (int64_t j = 0; j < d; j++) {
            double t = (double)at[j] * r[i];
            y[i * d + j] = grid_canon((float)(weighted ? t * (double)w[j] : t));
        }
        for (int64_t j = 0; j < d; j++) {
            double t = (double)at[j] * r[i], g = weighted ? (double)dy[i * d + j] * (double)w[j] : (double)dy[i * d + j];
            terms[j] = g * t;
        }
        double b = grid_sum(terms, d, 1) / (double)d;
        for (int64_t j = 0; j < d; j++) {
            double t = (double)at[j] * r[i], g = weighted ? (double)dy[i * d + j] * (double)w[j] : (double)dy[i * d + j];
            double tb = t * b, rest = g - tb;
            dx[i * d + j] = grid_canon((float)(r[i] * rest));
        }
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < d; j++) {
            double t = (double)x[i * d + j] * r[i];
            terms[i * d + j] = (double)dy[i * d + j] * t;
        }
    for (int64_t j = 0; j < d; j++) dw[j] = grid_canon((float)grid_sum(terms + j, rows, d));
    sb_array *a = ARRAY(ctx, SB_F32, x, rows, d), *b = ARRAY(ctx, SB_F32, w, d), *c = ARRAY(ctx, SB_F32, dy, rows, d);
    sb_array *out = ARRAY(ctx, SB_F32, NULL, rows, d), *kept = ARRAY(ctx, SB_F64, NULL, rows);
    sb_array *into = ARRAY(ctx, SB_F32, NULL, d), *weight = weighted ? b : NULL;
    DONE(sb_rms_norm(ctx, a, weight, eps, out, NULL, &err));
    EXPECT(out, y, "rms norm");
    DONE(sb_rms_norm(ctx, a, weight, eps, out, kept, &err));
    EXPECT(out, y, "rms norm");
    EXPECT(kept, r, "r");
    DONE(sb_rms_norm_backward(ctx, a, weight, kept, c, out, NULL, &err));
    EXPECT(out, dx, "dx");
    DONE(sb_rms_norm_backward(ctx, a, weight, kept, c, out, into, &err));
    EXPECT(out, dx, "dx");
    EXPECT(into, dw, "dweight");
    sb_array *arrays[] = {a, b, c, out, kept, into};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) sb_array_free(arrays[i]);
    void *rooms[] = {x, w, dy, y, dx, dw, r, terms};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) free(rooms[i]);
}

static void definitions(sb_context *ctx) {
    static const int64_t shapes[][2] = {{0, 7}, {1, 1}, {3, 2}, {5, 31}, {70, 64}, {6, 97}, {33, 200}, {2, 4096}, {2, 4099}, {4100, 3}, {4100, 70}};
    grid_state = 5;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int values = 0; values < GRID_KINDS; values++)
            for (int weighted = 0; weighted < 2; weighted++) {
                if (shapes[i][0] > 4000 && values > 1) continue;
                check(ctx, values, shapes[i][0], shapes[i][1], weighted);
            }
}

static void blocks_of_blocks(sb_context *ctx) { check(ctx, 1, 1, 4096 * 3 + 5, 1); }

// dx and dweight are the derivatives: L = sum over dy y, differences of a float64 evaluation.
static double objective(const double *x, const double *w, const float *dy, int64_t rows, int64_t d, double eps) {
    double sum = 0.0;
    for (int64_t i = 0; i < rows; i++) {
        double v = 0.0;
        for (int64_t j = 0; j < d; j++) v += x[i * d + j] * x[i * d + j];
        for (int64_t j = 0; j < d; j++) sum += (double)dy[i * d + j] * x[i * d + j] * w[j] / sqrt(v / (double)d + eps);
    }
    return sum;
}

static void differences(sb_context *ctx) {
    enum { ROWS = 3, D = 20 };
    const double eps = 1e-5, h = 1e-6;
    float *x = grid_values(0, ROWS * D), *w = grid_values(0, D), *dy = grid_values(0, ROWS * D), dx[ROWS * D], dw[D];
    double xs[ROWS * D], ws[D];
    for (int i = 0; i < ROWS * D; i++) xs[i] = (double)x[i];
    for (int i = 0; i < D; i++) ws[i] = (double)w[i];
    sb_array *a = ARRAY(ctx, SB_F32, x, ROWS, D), *b = ARRAY(ctx, SB_F32, w, D), *c = ARRAY(ctx, SB_F32, dy, ROWS, D);
    sb_array *y = ARRAY(ctx, SB_F32, NULL, ROWS, D), *r = ARRAY(ctx, SB_F64, NULL, ROWS), *to = ARRAY(ctx, SB_F32, NULL, D);
    DONE(sb_rms_norm(ctx, a, b, eps, y, r, &err));
    DONE(sb_rms_norm_backward(ctx, a, b, r, c, y, to, &err));
    DONE(sb_array_read(y, dx, sizeof dx, &err));
    DONE(sb_array_read(to, dw, sizeof dw, &err));
    for (int i = 0; i < ROWS * D; i++) {
        double keep = xs[i];
        xs[i] = keep + h;
        double up = objective(xs, ws, dy, ROWS, D, eps);
        xs[i] = keep - h;
        double slope = (up - objective(xs, ws, dy, ROWS, D, eps)) / (2.0 * h);
        xs[i] = keep;
        CHECK(fabs(slope - (double)dx[i]) < 1e-6 * (1.0 + fabs(slope)), "dx[%d] %g, differences %g", i, (double)dx[i], slope);
    }
    for (int i = 0; i < D; i++) {
        double keep = ws[i];
        ws[i] = keep + h;
        double up = objective(xs, ws, dy, ROWS, D, eps);
        ws[i] = keep - h;
        double slope = (up - objective(xs, ws, dy, ROWS, D, eps)) / (2.0 * h);
        ws[i] = keep;
        CHECK(fabs(slope - (double)dw[i]) < 1e-6 * (1.0 + fabs(slope)), "dw[%d] %g, differences %g", i, (double)dw[i], slope);
    }
    sb_array *all[] = {a, b, c, y, r, to};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
    free(x);
    free(w);
    free(dy);
}

// Great and small rows stay themselves (a float32 sum of squares would overflow or vanish).
static void magnitudes(sb_context *ctx) {
    const float x[] = {1e30f, -1e30f, 2e30f, -2e30f, 1e-30f, -1e-30f, 2e-30f, -2e-30f};
    float y[8];
    sb_array *a = ARRAY(ctx, SB_F32, x, 2, 4), *out = ARRAY(ctx, SB_F32, NULL, 2, 4);
    DONE(sb_rms_norm(ctx, a, NULL, 1e-100, out, NULL, &err));
    DONE(sb_array_read(out, y, sizeof y, &err));
    for (int i = 0; i < 8; i++) {
        double want = (i % 2 ? -1.0 : 1.0) * (i % 4 < 2 ? 1.0 : 2.0) / sqrt(2.5);
        CHECK(fabs((double)y[i] - want) < 1e-7, "%.9g, expected %.9g", (double)y[i], want);
    }
    sb_array_free(a);
    sb_array_free(out);
}

// LayerNorm by its definition, in both types.
static void check_layer(sb_context *ctx, sb_dtype real, int values, int64_t rows, int64_t d, int weighted) {
    int64_t size = rows * d;
    float *x = grid_values(values, size), *w = grid_values(0, d), *b = grid_values(0, d), *dy = grid_values(values, size);
    bool wide = real == SB_F64;
    double *xs = grid_room(size, 8), *ws = grid_room(d, 8), *bs = grid_room(d, 8), *ds = grid_room(size, 8), *t = grid_room(size, 8);
    double *terms = grid_room(size, 8), *g = grid_room(size, 8), *y = grid_room(size, 8), *dx = grid_room(size, 8), *dw = grid_room(d, 8), *db = grid_room(d, 8);
    double *mean = grid_room(rows, 8), *r = grid_room(rows, 8);
    const double eps = 1e-5, more = wide ? 1.0 + 0x1p-40 : 1.0;
    for (int64_t i = 0; i < size; i++) xs[i] = (double)x[i] * more, ds[i] = (double)dy[i] * more;
    for (int64_t i = 0; i < d; i++) ws[i] = (double)w[i] * more, bs[i] = (double)b[i] * more;
    for (int64_t i = 0; i < rows; i++) {
        const double *at = xs + i * d;
        int same = 1;
        for (int64_t j = 0; j < d; j++) same &= at[j] == at[0];
        mean[i] = same ? at[0] + 0.0 : grid_sum(at, d, 1) / (double)d;
        for (int64_t j = 0; j < d; j++) terms[j] = (at[j] - mean[i]) * (at[j] - mean[i]);
        double root = sqrt(grid_sum(terms, d, 1) / (double)d + eps);
        r[i] = 1.0 / root;
        for (int64_t j = 0; j < d; j++) {
            double u = t[i * d + j] = (at[j] - mean[i]) * r[i];
            if (weighted) u = u * ws[j], u = u + bs[j];
            y[i * d + j] = u;
            g[j] = weighted ? ds[i * d + j] * ws[j] : ds[i * d + j];
            terms[j] = g[j] * t[i * d + j];
        }
        double second = grid_sum(terms, d, 1) / (double)d, first = grid_sum(g, d, 1) / (double)d;
        for (int64_t j = 0; j < d; j++) {
            double tb = t[i * d + j] * second, rest = g[j] - first;
            rest = rest - tb;
            dx[i * d + j] = r[i] * rest;
        }
    }
    for (int64_t i = 0; i < size; i++) terms[i] = ds[i] * t[i];
    for (int64_t j = 0; j < d; j++) dw[j] = grid_sum(terms + j, rows, d), db[j] = grid_sum(ds + j, rows, d);
    const void *inputs[] = {wide ? (void *)xs : (void *)x, wide ? (void *)ws : (void *)w, wide ? (void *)bs : (void *)b, wide ? (void *)ds : (void *)dy};
    double *const wants[] = {y, dx, dw, db};
    for (int k = 0; k < 4; k++) // the results in float32, in place: an index behind is never ahead
        for (int64_t i = 0; !wide && i < (k < 2 ? size : d); i++) ((float *)(void *)wants[k])[i] = grid_canon((float)wants[k][i]);
    sb_array *a = ARRAY(ctx, real, inputs[0], rows, d), *weight = ARRAY(ctx, real, inputs[1], d), *bias = ARRAY(ctx, real, inputs[2], d);
    sb_array *slope = ARRAY(ctx, real, inputs[3], rows, d), *out = ARRAY(ctx, real, NULL, rows, d), *kept = ARRAY(ctx, SB_F64, NULL, rows);
    sb_array *middle = ARRAY(ctx, SB_F64, NULL, rows), *into = ARRAY(ctx, real, NULL, d), *shift = ARRAY(ctx, real, NULL, d);
    DONE(sb_layer_norm(ctx, a, weighted ? weight : NULL, weighted ? bias : NULL, eps, out, middle, kept, &err));
    EXPECT(out, y, "layer norm");
    EXPECT(middle, mean, "mean");
    EXPECT(kept, r, "r");
    DONE(sb_layer_norm_backward(ctx, a, weighted ? weight : NULL, middle, kept, slope, out, into, shift, &err));
    EXPECT(out, dx, "dx");
    EXPECT(into, dw, "dweight");
    EXPECT(shift, db, "dbias");
    sb_array *arrays[] = {a, weight, bias, slope, out, kept, middle, into, shift};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) sb_array_free(arrays[i]);
    void *rooms[] = {x, w, b, dy, xs, ws, bs, ds, t, terms, g, y, dx, dw, db, mean, r};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) free(rooms[i]);
}

static void layers(sb_context *ctx) {
    static const int64_t shapes[][2] = {{0, 7}, {1, 1}, {3, 2}, {5, 31}, {70, 64}, {6, 97}, {2, 4096}, {2, 4099}, {4100, 3}};
    static const int kinds[] = {0, 3, 5, 6};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int k = 0; k < 4; k++)
            for (int weighted = 0; weighted < 2; weighted++) {
                check_layer(ctx, SB_F32, kinds[k], shapes[i][0], shapes[i][1], weighted);
                check_layer(ctx, SB_F64, kinds[k], shapes[i][0], shapes[i][1], weighted);
            }
}

// Met elsewhere: a large mean. 16 values mean + i * 1e-3 rounded to float32; the first output, correctly rounded from exact
// arithmetic. Rows of equal values: zeros. Great values stay themselves.
static void large_mean(sb_context *ctx) {
    static const struct { double mean; uint32_t bits; } cases[] = {{0.0, 0xbfabbae3u}, {100.0, 0xbfabb72eu}, {1000.0, 0xbfabb687u}, {10000.0, 0xbfaa6922u}};
    sb_array *x = ARRAY(ctx, SB_F32, NULL, 1, 16), *y = ARRAY(ctx, SB_F32, NULL, 1, 16);
    float values[16];
    for (int c = 0; c < 4; c++) {
        for (int i = 0; i < 16; i++) values[i] = (float)(cases[c].mean + i * 1e-3);
        DONE(sb_array_write(x, values, sizeof values, &err));
        DONE(sb_layer_norm(ctx, x, NULL, NULL, 1e-5, y, NULL, NULL, &err));
        DONE(sb_array_read(y, values, sizeof values, &err));
        int64_t away = (int64_t)grid_bits(values[0]) - (int64_t)cases[c].bits;
        CHECK(away == 0, "mean %g: %08x, %lld ulp from %08x", cases[c].mean, grid_bits(values[0]), (long long)away, cases[c].bits);
    }
    sb_array_free(x);
    sb_array_free(y);
    x = ARRAY(ctx, SB_F32, ((float[]){2, 2, 14, 14}), 2, 2);
    y = ARRAY(ctx, SB_F32, NULL, 2, 2);
    DONE(sb_layer_norm(ctx, x, NULL, NULL, 1e-5, y, NULL, NULL, &err));
    EXPECT(y, ((float[]){0, 0, 0, 0}), "equal values");
    sb_array_free(x);
    sb_array_free(y);
    x = ARRAY(ctx, SB_F32, ((float[]){1e30f, -1e30f, 2e30f, -2e30f}), 1, 4);
    y = ARRAY(ctx, SB_F32, NULL, 1, 4);
    DONE(sb_layer_norm(ctx, x, NULL, NULL, 1e-5, y, NULL, NULL, &err));
    DONE(sb_array_read(y, values, 4 * sizeof *values, &err));
    CHECK(fabs((double)values[0] - 0.632455532) < 1e-7 && fabs((double)values[3] + 1.264911064) < 2e-7, "%.9g %.9g",
          (double)values[0], (double)values[3]);
    sb_array_free(x);
    sb_array_free(y);
}

static void refusals(sb_context *ctx) {
    sb_array *x = ARRAY(ctx, SB_F32, NULL, 2, 3), *y = ARRAY(ctx, SB_F32, NULL, 2, 3), *w = ARRAY(ctx, SB_F32, NULL, 3);
    sb_array *r = ARRAY(ctx, SB_F64, NULL, 2), *two = ARRAY(ctx, SB_F32, NULL, 2), *none = ARRAY(ctx, SB_F32, NULL, 2, 0);
    sb_array *also = ARRAY(ctx, SB_F32, NULL, 2, 0), *z = ARRAY(ctx, SB_F32, NULL, 2, 3), *i32 = ARRAY(ctx, SB_I32, NULL, 2, 3);
    REFUSED(sb_rms_norm(ctx, x, w, 0.0, y, r, &err), SB_ERR_ARGUMENT, "eps");
    REFUSED(sb_rms_norm(ctx, x, w, -1e-5, y, r, &err), SB_ERR_ARGUMENT, "eps");
    REFUSED(sb_rms_norm(ctx, x, w, (double)NAN, y, r, &err), SB_ERR_ARGUMENT, "eps");
    REFUSED(sb_rms_norm(ctx, x, two, 1e-5, y, r, &err), SB_ERR_SHAPE, "weight");
    REFUSED(sb_rms_norm(ctx, x, w, 1e-5, two, r, &err), SB_ERR_SHAPE, "y");
    REFUSED(sb_rms_norm(ctx, x, w, 1e-5, y, two, &err), SB_ERR_DTYPE, "r");
    REFUSED(sb_rms_norm(ctx, two, w, 1e-5, y, r, &err), SB_ERR_SHAPE, "x");
    REFUSED(sb_rms_norm(ctx, i32, w, 1e-5, y, r, &err), SB_ERR_DTYPE, "x");
    REFUSED(sb_rms_norm(ctx, none, NULL, 1e-5, also, r, &err), SB_ERR_EMPTY, "x");
    REFUSED(sb_rms_norm_backward(ctx, x, w, r, two, z, NULL, &err), SB_ERR_SHAPE, "dy");
    REFUSED(sb_rms_norm_backward(ctx, x, w, r, y, z, two, &err), SB_ERR_SHAPE, "dweight");
    sb_array *all[] = {x, y, w, r, two, none, also, z, i32};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
}

int main(void) {
    grid_run(definitions);
    grid_run(blocks_of_blocks);
    grid_run(differences);
    grid_run(magnitudes);
    grid_run(layers);
    grid_run(large_mean);
    grid_run(refusals);
    return test_end();
}
