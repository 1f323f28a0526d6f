// SPDX-License-Identifier: Apache-2.0
// Reductions, variances, totals against their definitions, and faults people met elsewhere.
#include "grid.h"

#include <math.h>

enum { VARIANCE = SB_NORM_MAX + 1, DEVIATION };

// The definitions, term by term, in binary64; a result in float32 is rounded. x[outer, count, inner].
static void define(int kind, sb_dtype real, const double *x, int64_t outer, int64_t count, int64_t inner, void *out) {
    double *terms = grid_room(count, sizeof *terms);
    for (int64_t o = 0; o < outer * inner; o++) {
        const double *at = x + o / inner * count * inner + o % inner;
        int64_t most = 0, least = 0;
        int nans = 0;
        double low = at[0], high = at[0], largest = 0.0, want = 0.0;
        for (int64_t j = 0; j < count; j++) {
            double v = at[j * inner], size = fabs(v);
            nans += v != v;
            if (v < low || (v == low && signbit(v))) low = v;
            if (v > high || (v == high && signbit(high))) high = v;
            if (size > largest) largest = size;
            double m = at[most * inner], l = at[least * inner];
            if (v == v && (m != m || v > m)) most = j;
            if (v == v && (l != l || v < l)) least = j;
            terms[j] = kind == SB_NORM1 ? size : kind == SB_NORM2 ? v * v : v;
        }
        double s = grid_sum(terms, count, 1), mean = !nans && low == high ? low + 0.0 : s / (double)count;
        switch (kind) {
        case SB_SUM: case SB_NORM1: want = s; break;
        case SB_NORM2: want = sqrt(s); break;
        case SB_MEAN: want = mean; break;
        case SB_MAX: want = high; break;
        case SB_MIN: want = low; break;
        case SB_NORM_MAX: want = largest; break;
        case SB_ARGMAX: ((int64_t *)out)[o] = most; continue;
        case SB_ARGMIN: ((int64_t *)out)[o] = least; continue;
        default: // the variance, the deviation
            for (int64_t j = 0; j < count; j++) terms[j] = (at[j * inner] - mean) * (at[j * inner] - mean);
            want = grid_sum(terms, count, 1) / (double)(kind == VARIANCE ? count - 1 : count);
            if (kind == DEVIATION) want = sqrt(want);
        }
        if (nans) want = grid_canon64((double)NAN);
        if (real == SB_F32) ((float *)out)[o] = grid_canon((float)want);
        else ((double *)out)[o] = grid_canon64(want);
    }
    free(terms);
}

static void check(sb_context *ctx, int kind, sb_dtype real, int values, int64_t outer, int64_t count, int64_t inner) {
    static const char *const names[] = {"", "sum", "mean", "max", "argmax", "min", "argmin", "norm1", "norm2", "norm max", "variance", "deviation"};
    int64_t size = outer * count * inner, n = outer * inner;
    float *narrow = grid_values(values, size);
    double *x = grid_room(size, sizeof *x);
    void *want = grid_room(n, 8);
    for (int64_t i = 0; i < size; i++) x[i] = real == SB_F32 ? (double)narrow[i] : (double)narrow[i] * (1.0 + 0x1p-40);
    define(kind, real, x, outer, count, inner, want);
    sb_array *a = ARRAY(ctx, real, real == SB_F32 ? (void *)narrow : (void *)x, outer, count, inner);
    sb_array *out = ARRAY(ctx, kind == SB_ARGMAX || kind == SB_ARGMIN ? SB_I64 : real, NULL, outer, inner);
    if (kind == VARIANCE) DONE(sb_variance(ctx, 1, 1, a, NULL, out, &err));
    else if (kind == DEVIATION) DONE(sb_deviation(ctx, -2, 0, a, NULL, out, &err));
    else DONE(sb_reduce(ctx, (sb_reduction)kind, 1, a, out, &err));
    EXPECT(out, want, names[kind]);
    sb_array_free(a);
    sb_array_free(out);
    free(narrow);
    free(x);
    free(want);
}

static void definitions(sb_context *ctx) {
    static const int64_t shapes[][3] = {{3, 1, 1},    {4, 7, 1},     {5, 32, 1},   {3, 33, 1},   {2, 1000, 1}, {2, 4096, 1},
                                        {2, 4097, 1}, {1, 20000, 1}, {2, 31, 2},   {3, 100, 5},  {1, 4100, 3}, {2, 65, 64},
                                        {1, 50, 65},  {2, 40, 130},  {1, 5000, 70}, {7, 3, 15},  {2, 1, 200}};
    grid_state = 7;
    for (int kind = SB_SUM; kind <= DEVIATION; kind++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int values = 0; values < GRID_KINDS; values++) {
                if (kind == VARIANCE && shapes[i][1] == 1) continue;
                check(ctx, kind, SB_F32, values, shapes[i][0], shapes[i][1], shapes[i][2]);
                if (values != 1) check(ctx, kind, SB_F64, values, shapes[i][0], shapes[i][1], shapes[i][2]);
            }
}

// Any axis of any array, positive or from the end, and all of it: [outer, count, inner] seen another way.
static void axes(sb_context *ctx) {
    float *x = grid_values(0, 3 * 4 * 5 * 6), want[360];
    double wide[360];
    int64_t where;
    for (int i = 0; i < 360; i++) wide[i] = (double)x[i];
    sb_array *a = ARRAY(ctx, SB_F32, x, 3, 4, 5, 6);
    sb_array *outs[4] = {ARRAY(ctx, SB_F32, NULL, 4, 5, 6), ARRAY(ctx, SB_F32, NULL, 3, 5, 6),
                         ARRAY(ctx, SB_F32, NULL, 3, 4, 6), ARRAY(ctx, SB_F32, NULL, 3, 4, 5)};
    static const int64_t seen[4][3] = {{1, 3, 120}, {3, 4, 30}, {12, 5, 6}, {60, 6, 1}};
    for (int i = 0; i < 4; i++) {
        define(SB_SUM, SB_F32, wide, seen[i][0], seen[i][1], seen[i][2], want);
        DONE(sb_reduce(ctx, SB_SUM, i, a, outs[i], &err));
        EXPECT(outs[i], want, "an axis");
        DONE(sb_reduce(ctx, SB_SUM, i - 4, a, outs[i], &err));
        EXPECT(outs[i], want, "an axis from the end");
    }
    sb_array *one = SCALAR(ctx, SB_F32, NULL), *at = SCALAR(ctx, SB_I64, NULL);
    for (int kind = SB_SUM; kind <= SB_NORM_MAX; kind++) {
        int place = kind == SB_ARGMAX || kind == SB_ARGMIN;
        define(kind, SB_F32, wide, 1, 360, 1, place ? (void *)&where : want);
        DONE(sb_reduce(ctx, (sb_reduction)kind, SB_ALL, a, place ? at : one, &err));
        if (place) EXPECT(at, &where, "all");
        else EXPECT(one, want, "all");
    }
    for (int i = 0; i < 4; i++) sb_array_free(outs[i]);
    sb_array_free(a);
    sb_array_free(one);
    sb_array_free(at);
    free(x);
}

// Totals in binary64, of float32 and of float64, and of squares.
static void totals(sb_context *ctx) {
    static const int64_t sizes[] = {0, 1, 31, 33, 4096, 4097, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t n = sizes[i];
        float *x = grid_values(1, n);
        double *terms = grid_room(n, sizeof *terms), *squares = grid_room(n, sizeof *squares), have = -1.0, want;
        sb_array *a = ARRAY(ctx, SB_F32, x, n);
        for (int64_t j = 0; j < n; j++) terms[j] = (double)x[j], squares[j] = terms[j] * terms[j];
        DONE(sb_total(ctx, a, &have, &err));
        want = grid_sum(terms, n, 1);
        CHECK(memcmp(&have, &want, 8) == 0, "total of %lld: %a, expected %a", (long long)n, have, want);
        DONE(sb_sum_squares(ctx, a, &have, &err));
        want = grid_sum(squares, n, 1);
        CHECK(memcmp(&have, &want, 8) == 0, "squares of %lld: %a, expected %a", (long long)n, have, want);
        for (int64_t j = 0; j < n; j++) terms[j] *= 1.0 + 0x1p-40, squares[j] = terms[j] * terms[j];
        sb_array *b = ARRAY(ctx, SB_F64, terms, n);
        DONE(sb_total(ctx, b, &have, &err));
        want = grid_sum(terms, n, 1);
        CHECK(memcmp(&have, &want, 8) == 0, "float64 total of %lld: %a, expected %a", (long long)n, have, want);
        DONE(sb_sum_squares(ctx, b, &have, &err));
        want = grid_sum(squares, n, 1);
        CHECK(memcmp(&have, &want, 8) == 0, "float64 squares of %lld: %a, expected %a", (long long)n, have, want);
        sb_array_free(a);
        sb_array_free(b);
        free(x);
        free(terms);
        free(squares);
    }
    double nan = 0.0;
    const uint64_t canonical = 0x7ff8000000000000u;
    float bad[3] = {1.0f, grid_float(0xffc12345u), 2.0f};
    sb_array *a = ARRAY(ctx, SB_F32, bad, 3);
    DONE(sb_total(ctx, a, &nan, &err));
    CHECK(memcmp(&nan, &canonical, 8) == 0, "a total's NaN is canonical");
    sb_array_free(a);
}

static void reduce_to(sb_context *ctx, sb_reduction kind, int axis, sb_array *x, sb_array *out, const void *want) {
    DONE(sb_reduce(ctx, kind, axis, x, out, &err));
    EXPECT(out, want, "known answer");
    sb_array_free(x);
    sb_array_free(out);
}

// Known answers: zeros, NaN, ties; order seen through cancellation.
static void rules(sb_context *ctx) {
    const float plus = 0.0f, minus = -0.0f, nan = grid_float(0x7fc00000u), inf = grid_float(0x7f800000u);
    const int64_t first = 0, third = 2;
    reduce_to(ctx, SB_SUM, 0, ARRAY(ctx, SB_F32, ((float[]){-0.0f, -0.0f}), 2), SCALAR(ctx, SB_F32, NULL), &plus);
    reduce_to(ctx, SB_MEAN, 0, ARRAY(ctx, SB_F32, ((float[]){-0.0f, -0.0f}), 2), SCALAR(ctx, SB_F32, NULL), &plus);
    reduce_to(ctx, SB_MAX, 0, ARRAY(ctx, SB_F32, ((float[]){-0.0f, -0.0f}), 2), SCALAR(ctx, SB_F32, NULL), &minus);
    reduce_to(ctx, SB_MAX, 0, ARRAY(ctx, SB_F32, ((float[]){0.0f, -0.0f}), 2), SCALAR(ctx, SB_F32, NULL), &plus);
    reduce_to(ctx, SB_MAX, 0, ARRAY(ctx, SB_F32, ((float[]){1.0f, grid_float(0xff812345u), inf}), 3), SCALAR(ctx, SB_F32, NULL), &nan);
    reduce_to(ctx, SB_SUM, 0, ARRAY(ctx, SB_F32, ((float[]){inf, 1.0f, -inf}), 3), SCALAR(ctx, SB_F32, NULL), &nan);
    reduce_to(ctx, SB_SUM, 0, ARRAY(ctx, SB_F32, NULL, 0), SCALAR(ctx, SB_F32, NULL), &plus);
    reduce_to(ctx, SB_SUM, 0, ARRAY(ctx, SB_F32, NULL, 0, 3), ARRAY(ctx, SB_F32, NULL, 3), (float[]){0, 0, 0});
    reduce_to(ctx, SB_SUM, SB_ALL, SCALAR(ctx, SB_F32, &inf), SCALAR(ctx, SB_F32, NULL), &inf);
    // the greatest of a NaN, a tie of zeros, all NaN, -inf beside NaN
    reduce_to(ctx, SB_ARGMAX, 0, ARRAY(ctx, SB_F32, ((float[]){nan, 1.0f, 2.0f, 2.0f}), 4), SCALAR(ctx, SB_I64, NULL), &third);
    reduce_to(ctx, SB_ARGMAX, 0, ARRAY(ctx, SB_F32, ((float[]){-0.0f, 0.0f}), 2), SCALAR(ctx, SB_I64, NULL), &first);
    reduce_to(ctx, SB_ARGMAX, 0, ARRAY(ctx, SB_F32, ((float[]){nan, nan, nan}), 3), SCALAR(ctx, SB_I64, NULL), &first);
    reduce_to(ctx, SB_ARGMAX, 0, ARRAY(ctx, SB_F32, ((float[]){nan, nan, -inf}), 3), SCALAR(ctx, SB_I64, NULL), &third);
    // equal terms: the mean is the term, whatever the count
    float same[3000];
    for (int i = 0; i < 3000; i++) same[i] = 14.62f;
    reduce_to(ctx, SB_MEAN, 0, ARRAY(ctx, SB_F32, same, 1000, 3), ARRAY(ctx, SB_F32, NULL, 3), same);
    for (int i = 0; i < 3000; i++) same[i] = 3.4e38f;
    reduce_to(ctx, SB_MEAN, 1, ARRAY(ctx, SB_F32, same, 1, 3000), ARRAY(ctx, SB_F32, NULL, 1), same);
    for (int i = 0; i < 3000; i++) same[i] = 0x1p-149f;
    reduce_to(ctx, SB_MEAN, 1, ARRAY(ctx, SB_F32, same, 1, 2999), ARRAY(ctx, SB_F32, NULL, 1), same);
    // ties far apart, across lanes and blocks: the lowest position
    float *long_row = grid_room(10000, sizeof *long_row);
    const int64_t at = 4321;
    long_row[4321] = long_row[4322] = long_row[4400] = long_row[9999] = 1.0f;
    reduce_to(ctx, SB_ARGMAX, SB_ALL, ARRAY(ctx, SB_F32, long_row, 100, 100), SCALAR(ctx, SB_I64, NULL), &at);
    free(long_row);
}

static void spread_to(sb_context *ctx, int64_t ddof, sb_array *x, double mean, double variance, double deviation) {
    sb_array *out = SCALAR(ctx, SB_F64, NULL), *middle = SCALAR(ctx, SB_F64, NULL);
    DONE(sb_variance(ctx, SB_ALL, ddof, x, middle, out, &err));
    EXPECT(out, &variance, "a known variance");
    EXPECT(middle, &mean, "a known mean");
    DONE(sb_deviation(ctx, 0, ddof, x, NULL, out, &err));
    EXPECT(out, &deviation, "a known deviation");
    DONE(sb_reduce(ctx, SB_MEAN, SB_ALL, x, out, &err));
    EXPECT(out, &mean, "a known mean");
    sb_array_free(x);
    sb_array_free(out);
    sb_array_free(middle);
}

static void norm_to(sb_context *ctx, double a, double b, double norm1, double norm2, double largest) {
    sb_array *x = ARRAY(ctx, SB_F64, ((double[]){a, b}), 2);
    reduce_to(ctx, SB_NORM1, 0, ARRAY(ctx, SB_F64, ((double[]){a, b}), 2), SCALAR(ctx, SB_F64, NULL), &norm1);
    reduce_to(ctx, SB_NORM2, 0, ARRAY(ctx, SB_F64, ((double[]){a, b}), 2), SCALAR(ctx, SB_F64, NULL), &norm2);
    reduce_to(ctx, SB_NORM_MAX, 0, x, SCALAR(ctx, SB_F64, NULL), &largest);
}

// Known answers in float64: what overflows or vanishes on the way and not in the end.
static void wide_rules(sb_context *ctx) {
    const double most = 0x1.fffffffffffffp1023, inf = (double)INFINITY;
    spread_to(ctx, 0, ARRAY(ctx, SB_F64, ((double[]){2, 4, 4, 4, 5, 5, 7, 9}), 8), 5.0, 4.0, 2.0);
    spread_to(ctx, 1, ARRAY(ctx, SB_F64, ((double[]){-0.0, -0.0, 0.0}), 3), 0.0, 0.0, 0.0);
    spread_to(ctx, 2, ARRAY(ctx, SB_F64, ((double[]){most, most, most}), 3), most, 0.0, 0.0);
    spread_to(ctx, 0, ARRAY(ctx, SB_F64, ((double[]){0x1p1023, 0x1p1023, 0x1p1022, 0x1p1022}), 4), 0x1.8p1022, inf, 0x1p1021);
    spread_to(ctx, 0, ARRAY(ctx, SB_F64, ((double[]){-0x1p1023, 0x1p1023}), 2), 0.0, inf, 0x1p1023);
    spread_to(ctx, 0, ARRAY(ctx, SB_F64, ((double[]){-0x1p-800, 0x1p-800}), 2), 0.0, 0.0, 0x1p-800);
    spread_to(ctx, 0, ARRAY(ctx, SB_F64, ((double[]){-0x1p-530, 0x1p-530}), 2), 0.0, 0x1p-1060, 0x1p-530);
    double signs[64];
    for (int i = 0; i < 64; i++) signs[i] = i % 2 ? 0x1p510 : -0x1p510;
    spread_to(ctx, 0, ARRAY(ctx, SB_F64, signs, 64), 0.0, 0x1p1020, 0x1p510);
    norm_to(ctx, -3.0, 4.0, 7.0, 5.0, 4.0);
    norm_to(ctx, 0x3p700, -0x4p700, 0x7p700, 0x5p700, 0x4p700);
    norm_to(ctx, 0x3p-700, 0x4p-700, 0x7p-700, 0x5p-700, 0x4p-700);
    norm_to(ctx, -0.0, -0.0, 0.0, 0.0, 0.0);
    norm_to(ctx, -inf, 1.0, inf, inf, inf);
    // constant columns, as scalers met them; with one term moved the deviation is that of the exact numbers
    static const double constants[] = {14.62, -11.512925464970229};
    static const int64_t counts[] = {1000, 8, 22};
    double column[1000];
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < 3; k++) {
            for (int64_t i = 0; i < counts[k]; i++) column[i] = constants[c];
            spread_to(ctx, 0, ARRAY(ctx, SB_F64, column, counts[k]), constants[c], 0.0, 0.0);
        }
    long double sum = 0.0L, squares = 0.0L;
    for (int i = 0; i < 1000; i++) column[i] = 14.62 + (i % 2 ? 1e-10 : -1e-10), sum += (long double)column[i];
    for (int i = 0; i < 1000; i++) squares += ((long double)column[i] - sum / 1000) * ((long double)column[i] - sum / 1000);
    double have = 0.0, want = (double)sqrtl(squares / 1000);
    sb_array *x = ARRAY(ctx, SB_F64, column, 1000), *out = SCALAR(ctx, SB_F64, NULL);
    DONE(sb_deviation(ctx, 0, 0, x, NULL, out, &err));
    DONE(sb_array_read(out, &have, sizeof have, &err));
    CHECK(fabs(have - want) < 1e-4 * want, "a true spread of 1e-10: %a, expected %a", have, want); // (the mean is an ulp off)
    sb_array_free(x);
    sb_array_free(out);
}

static void refusals(sb_context *ctx) {
    sb_array *x = ARRAY(ctx, SB_F32, NULL, 2, 3), *row = ARRAY(ctx, SB_F32, NULL, 3), *one = SCALAR(ctx, SB_F32, NULL);
    sb_array *other = SCALAR(ctx, SB_F32, NULL), *i64 = ARRAY(ctx, SB_I64, NULL, 3), *none = ARRAY(ctx, SB_F32, NULL, 2, 0), *two = ARRAY(ctx, SB_F32, NULL, 2);
    sb_array *nothing = ARRAY(ctx, SB_F32, NULL, 0), *index = ARRAY(ctx, SB_I64, NULL, 2);
    REFUSED(sb_reduce(ctx, (sb_reduction)0, 0, x, row, &err), SB_ERR_ARGUMENT, "kind");
    REFUSED(sb_reduce(ctx, (sb_reduction)10, 0, x, row, &err), SB_ERR_ARGUMENT, "kind");
    REFUSED(sb_reduce(ctx, SB_SUM, 2, x, row, &err), SB_ERR_ARGUMENT, "axis");
    REFUSED(sb_reduce(ctx, SB_SUM, -3, x, row, &err), SB_ERR_ARGUMENT, "axis");
    REFUSED(sb_reduce(ctx, SB_SUM, 0, other, one, &err), SB_ERR_ARGUMENT, "axis");
    REFUSED(sb_reduce(ctx, SB_SUM, 1, x, row, &err), SB_ERR_SHAPE, "out");
    REFUSED(sb_reduce(ctx, SB_SUM, SB_ALL, x, row, &err), SB_ERR_SHAPE, "out");
    REFUSED(sb_reduce(ctx, SB_SUM, 0, x, i64, &err), SB_ERR_DTYPE, "out");
    REFUSED(sb_reduce(ctx, SB_ARGMAX, 0, x, row, &err), SB_ERR_DTYPE, "out");
    REFUSED(sb_reduce(ctx, SB_SUM, 0, i64, one, &err), SB_ERR_DTYPE, "x");
    REFUSED(sb_reduce(ctx, SB_MEAN, 1, none, two, &err), SB_ERR_EMPTY, "x");
    REFUSED(sb_reduce(ctx, SB_MAX, 1, none, two, &err), SB_ERR_EMPTY, "x");
    REFUSED(sb_reduce(ctx, SB_ARGMAX, 1, none, index, &err), SB_ERR_EMPTY, "x");
    REFUSED(sb_reduce(ctx, SB_MEAN, SB_ALL, none, one, &err), SB_ERR_EMPTY, "x");
    DONE(sb_reduce(ctx, SB_MEAN, 0, none, nothing, &err)); // no output: nothing is asked of nothing
    DONE(sb_reduce(ctx, SB_MAX, 0, none, nothing, &err));
    double total;
    REFUSED(sb_total(ctx, i64, &total, &err), SB_ERR_DTYPE, "x");
    REFUSED(sb_sum_squares(ctx, i64, &total, &err), SB_ERR_DTYPE, "x");
    sb_array *all[] = {x, row, one, other, i64, none, two, nothing, index};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sb_array_free(all[i]);
}

// Met elsewhere: float32 accumulators stop at 2^24.
static void stuck_sum(sb_context *ctx, int64_t rows) {
    float *ones = grid_room(2 * rows, sizeof *ones), want[2] = {(float)rows, (float)rows};
    for (int64_t i = 0; i < 2 * rows; i++) ones[i] = 1.0f;
    sb_array *x = NULL, *out = ARRAY(ctx, SB_F32, NULL, 2), *one = SCALAR(ctx, SB_F32, NULL);
    DONE(sb_array_wrap(ctx, SB_F32, 2, SHAPE(rows, 2), ones, &x, &err));
    DONE(sb_reduce(ctx, SB_SUM, 0, x, out, &err));
    EXPECT(out, want, "stuck sum");
    want[0] = want[1] = 1.0f;
    DONE(sb_reduce(ctx, SB_MEAN, 0, x, out, &err));
    EXPECT(out, want, "stuck mean");
    want[0] = (float)(2 * rows);
    DONE(sb_reduce(ctx, SB_SUM, SB_ALL, x, one, &err));
    EXPECT(one, want, "stuck sum of all");
    ones[0] = 3.0f; // terms that are not all equal: their mean is divided, not known
    want[0] = (float)(rows + 2);
    want[1] = (float)rows;
    DONE(sb_reduce(ctx, SB_SUM, 0, x, out, &err));
    EXPECT(out, want, "stuck sum, one term of 3");
    want[0] = (float)((double)(rows + 2) / (double)rows);
    want[1] = 1.0f;
    DONE(sb_reduce(ctx, SB_MEAN, 0, x, out, &err));
    EXPECT(out, want, "stuck mean, one term of 3");
    sb_array_free(x);
    sb_array_free(out);
    sb_array_free(one);
    free(ones);
}

// 1.79769313e301, 500,000 times: the mean is that number, the variance +0.
static void streamed_mean(sb_context *ctx) {
    enum { ROWS = 500000 };
    double *x = grid_room(ROWS, sizeof *x), value;
    const uint64_t bits = 0x7e7ad7f29984d910u;
    memcpy(&value, &bits, 8);
    for (int i = 0; i < ROWS; i++) x[i] = value;
    spread_to(ctx, 0, ARRAY(ctx, SB_F64, x, ROWS), value, 0.0, 0.0);
    free(x);
}

// ones[rows, 4, 15], the mean over the first two axes, seen as [4 rows, 15].
static void long_mean(sb_context *ctx, int64_t rows) {
    float *ones = grid_room(60 * rows, sizeof *ones);
    for (int64_t i = 0; i < 60 * rows; i++) ones[i] = 1.0f;
    sb_array *x = NULL, *flat = NULL, *out = ARRAY(ctx, SB_F32, NULL, 15);
    DONE(sb_array_wrap(ctx, SB_F32, 3, SHAPE(rows, 4, 15), ones, &x, &err));
    DONE(sb_array_reshape(x, 2, SHAPE(4 * rows, 15), &flat, &err));
    DONE(sb_reduce(ctx, SB_MEAN, 0, flat, out, &err));
    EXPECT(out, ones, "long mean");
    sb_array_free(x);
    sb_array_free(flat);
    sb_array_free(out);
    free(ones);
}

int main(int argc, char **argv) {
    int full = argc > 1 && strcmp(argv[1], "full") == 0; // the sizes of the cases as people met them: 2.5 GB
    grid_run(definitions);
    grid_run(axes);
    grid_run(totals);
    grid_run(rules);
    grid_run(wide_rules);
    grid_run(refusals);
    sb_context *ctx = NULL;
    CHECK(sb_context_new(NULL, &ctx, NULL) == SB_OK, "a context");
    stuck_sum(ctx, 20000000);
    streamed_mean(ctx);
    long_mean(ctx, full ? 10000000 : 1000000);
    sb_context_free(ctx);
    return test_end();
}
