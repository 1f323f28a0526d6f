// SPDX-License-Identifier: Apache-2.0
// Embedding lookup and its gradient against loops that follow the contract's text (T2, segments), at every level and
// thread count: repeated ids, segments beyond one block of the sum and beyond a block of blocks, hostile numbers, ids
// out of range refused before anything is written.
#include "contexts.h"

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

typedef struct fixture {
    int64_t v, d, n;
    int32_t *ids;
    float *table, *out, *dout, *old, *fresh, *added; // out: the gather; fresh, added: the gradient without and with old
} fixture;

static float *floats(int64_t n, int kind, uint64_t *seed) {
    float *x = malloc((size_t)(n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = next_float(seed, kind);
    return x;
}

// skew: most positions hold one id.
static fixture make(int64_t v, int64_t d, int64_t n, int kind, bool skew) {
    uint64_t seed = (uint64_t)(v * 1000003 + d * 1009 + n * 8 + kind);
    fixture f = {.v = v, .d = d, .n = n};
    f.table = floats(v * d, kind, &seed);
    f.old = floats(v * d, kind, &seed);
    f.dout = floats(n * d, kind, &seed);
    f.out = floats(n * d, PLAIN, &seed);
    f.fresh = floats(v * d, PLAIN, &seed);
    f.added = floats(v * d, PLAIN, &seed);
    f.ids = malloc((size_t)(n + 1) * sizeof *f.ids);
    double *terms = malloc((size_t)(n + 1) * sizeof *terms);
    for (int64_t i = 0; i < n; i++) {
        uint64_t w = next_word(&seed);
        f.ids[i] = skew && w % 16 ? (int32_t)(v / 2) : (int32_t)((w >> 8) % (uint64_t)v);
        memcpy(f.out + i * d, f.table + f.ids[i] * d, (size_t)d * sizeof(float));
    }
    for (int64_t r = 0; r < v; r++)
        for (int64_t c = 0; c < d; c++) {
            int64_t count = 0;
            for (int64_t i = 0; i < n; i++)
                if (f.ids[i] == r) terms[count++] = (double)f.dout[i * d + c];
            float sum = (float)sum_by_text(terms, count), old = f.old[r * d + c] + sum;
            f.fresh[r * d + c] = canonical(sum);
            f.added[r * d + c] = canonical(old);
        }
    free(terms);
    return f;
}

static void check(sb_context *ctx, const char *level, const fixture *f) {
    const int64_t table_shape[] = {f->v, f->d}, rows_shape[] = {f->n, f->d};
    sb_array *table = array_of(ctx, SB_F32, 2, table_shape, f->table), *ids = array_of(ctx, SB_I32, 1, &f->n, f->ids);
    sb_array *out = array_of(ctx, SB_F32, 2, rows_shape, NULL), *dout = array_of(ctx, SB_F32, 2, rows_shape, f->dout);
    sb_array *dtable = array_of(ctx, SB_F32, 2, table_shape, f->old);
    sb_error err = {0};
    CHECK(sb_embedding(ctx, table, ids, out, &err) == SB_OK && array_is(out, f->out), "%s lookup [%lld, %lld] of %lld %s", level, (long long)f->v, (long long)f->d, (long long)f->n, err.message);
    CHECK(sb_embedding_backward(ctx, ids, dout, 1, dtable, &err) == SB_OK && array_is(dtable, f->added), "%s accumulated [%lld, %lld] of %lld %s", level, (long long)f->v, (long long)f->d, (long long)f->n, err.message);
    CHECK(sb_embedding_backward(ctx, ids, dout, 0, dtable, &err) == SB_OK && array_is(dtable, f->fresh), "%s gradient [%lld, %lld] of %lld %s", level, (long long)f->v, (long long)f->d, (long long)f->n, err.message);
    sb_array_free(table); sb_array_free(ids); sb_array_free(out); sb_array_free(dout); sb_array_free(dtable);
}

static void fixture_free(fixture f) {
    free(f.ids); free(f.table); free(f.out); free(f.dout); free(f.old); free(f.fresh); free(f.added);
}

static void refused(sb_status status, sb_status expected, const sb_error *err, const char *argument) {
    CHECK(status == expected && !strcmp(err->argument, argument), "%s %s: %s", sb_status_name(status), err->argument, err->message);
}

static void test_refusals(sb_context *ctx) {
    const float poison[] = {7, 7, 7, 7, 7, 7};
    const int32_t negative[] = {0, 1, -1}, above[] = {3, 0, 1}, good[] = {0, 1, 2};
    const int64_t three[] = {3}, shape[] = {3, 2}, wide[] = {3, 3}, cube[] = {1, 3, 2};
    sb_array *table = array_of(ctx, SB_F32, 2, shape, poison), *out = array_of(ctx, SB_F32, 2, shape, poison);
    sb_array *ids = array_of(ctx, SB_I32, 1, three, good), *wider = array_of(ctx, SB_F32, 2, wide, NULL);
    sb_array *real_ids = array_of(ctx, SB_F32, 1, three, NULL), *deep = array_of(ctx, SB_F32, 3, cube, NULL);
    sb_error err = {0};
    for (int k = 0; k < 2; k++) {
        sb_array *bad = array_of(ctx, SB_I32, 1, three, k ? above : negative);
        refused(sb_embedding(ctx, table, bad, out, &err), SB_ERR_ARGUMENT, &err, "ids");
        refused(sb_embedding_backward(ctx, bad, out, 0, table, &err), SB_ERR_ARGUMENT, &err, "ids");
        CHECK(array_is(out, poison) && array_is(table, poison), "something was written");
        sb_array_free(bad);
    }
    refused(sb_embedding(ctx, table, real_ids, out, &err), SB_ERR_DTYPE, &err, "ids");
    refused(sb_embedding(ctx, deep, ids, out, &err), SB_ERR_SHAPE, &err, "table");
    refused(sb_embedding(ctx, table, ids, wider, &err), SB_ERR_SHAPE, &err, "out");
    refused(sb_embedding_backward(ctx, ids, wider, 0, table, &err), SB_ERR_SHAPE, &err, "dout");
    CHECK(sb_embedding(ctx, table, ids, table, &err) == SB_ERR_OVERLAP, "%s", err.message);
    sb_array_free(table); sb_array_free(out); sb_array_free(ids); sb_array_free(wider); sb_array_free(real_ids); sb_array_free(deep);
}

int main(void) {
    static const struct { int64_t v, d, n; bool skew; } cases[] = {
        {5, 7, 0, false}, {1, 1, 1, false}, {9, 33, 40, false}, {300, 3, 1000, false}, {70000, 1, 300, false},
        {2, 65, 100, true}, {3, 2, 4096, true}, {4, 3, 4700, true}, {2, 35, 9000, true}, {3, 0, 5, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int kind = 0; kind < (k == 4 ? 1 : NUMBER_KINDS); kind++) {
            fixture f = make(cases[k].v, cases[k].d, cases[k].n, kind, cases[k].skew);
            EACH_CONTEXT(c) { check(c.ctx, c.level, &f); }
            fixture_free(f);
        }
    sb_context *ctx = NULL;
    CHECK(sb_context_new(NULL, &ctx, NULL) == SB_OK, "no context");
    fixture f = make(1, 1, (int64_t)4096 * 4096 + 4096 * 40 + 77, WIDE, false); // the third level of the sum
    check(ctx, "default", &f);
    fixture_free(f);
    f = make(2, 1, (int64_t)3000000, WIDE, true); // 700 blocks
    check(ctx, "default", &f);
    fixture_free(f);
    test_refusals(ctx);
    sb_context_free(ctx);
    return test_end();
}
