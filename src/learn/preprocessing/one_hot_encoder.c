// SPDX-License-Identifier: Apache-2.0
// One-hot encoder.
//
// Problem. Features that are categories, as columns of 0 and 1: one column a category, 1 where it
// stands.
//
// Method. The categories of ordinal_encoder.c, in their order, rare ones as one at the end; NaN is
// a category like others, the last. With `drop` one category of a feature has no column: the first,
// the first where there are two, or the one that an array of d numbers names.
//
// Order of arithmetic. Comparisons; -0 and 0 are one category. The bound of a min_frequency p below
// 1 is RN64(n p). inverse_transform: in each feature's columns the first of the largest numbers;
// where none is above 0 the category that was dropped, or where none was what is unknown: NaN. NaN
// stands for rare ones, too; the second result says which number it is, -1: unknown.
//
// Cost: that of the ordinal encoder; transform_csr has no dense matrix.
//
// What can go wrong. A category that the fit did not see is refused (error), has no 1 (ignore), or
// is one of the rare ones where the feature has such (infrequent_if_exist).
#include "categories.h"

// The columns of feature j begin at from[j]; drop[j]: the number that has none, -1: all have one.
typedef struct hot_columns {
    sbi_categories c;
    int64_t *from, *drop;
    bool strict, grouped;
} hot_columns;

static sb_status read_columns(const sb_model *model, sbi_arena *arena, hot_columns *out,
                              sb_error *err) {
    const sb_array *drops = sbi_model_array(model, "drops");
    sb_status status = sbi_categories_read(model, arena, &out->c, err);
    if (status != SB_OK) return status;
    out->from = sbi_arena_allocate(arena, out->c.d + 1, sizeof *out->from, err);
    out->drop = sbi_arena_allocate(arena, out->c.d, sizeof *out->drop, err);
    if (!out->from || !out->drop) return SB_ERR_MEMORY;
    out->strict = sbi_model_is(model, "handle_unknown", "error");
    out->grouped = sbi_model_is(model, "handle_unknown", "infrequent_if_exist") || sbi_model_is(model, "handle_unknown", "warn");
    status = sbi_array_read(drops, out->drop, (size_t)out->c.d * sizeof *out->drop, err);
    for (int64_t j = 0; j < out->c.d && status == SB_OK; j++)
        out->from[j + 1] = out->from[j] + out->c.count[j] - (out->drop[j] >= 0);
    return status;
}

// The number of the category that an array of d names.
static sb_status find_named(const sbi_categories *c, int64_t j, double named, bool narrow,
                            int64_t *out, sb_error *err) {
    const int64_t at = sbi_categories_place(c, j, narrow ? (double)(float)named : named);
    if (at < 0)
        return sbi_fail(err, SB_ERR_ARGUMENT, "drop",
                        "The following categories were supposed to be dropped, but were not found "
                        "in the training data. Category: %g, Feature: %lld",
                        named, (long long)j);
    if (c->code[at] == c->rare[j])
        return sbi_fail(err, SB_ERR_ARGUMENT, "drop",
                        "Unable to drop category %g from feature %lld because it is infrequent",
                        named, (long long)j);
    *out = c->code[at];
    return SB_OK;
}

static sb_status find_drops(const sbi_call *call, const sbi_categories *c, int64_t *drop,
                            sb_error *err) {
    const sb_array *given = sbi_model_value(call->model, "drop")->array;
    const bool first = sbi_model_is(call->model, "drop", "first"),
               binary = sbi_model_is(call->model, "drop", "if_binary");
    double *named = NULL;
    sb_status status = given ? sbi_read_reals(call->ctx, given, &named, err) : SB_OK;
    if (status == SB_OK && given && given->size != c->d)
        status =
            sbi_fail(err, SB_ERR_SHAPE, "drop",
                     "`drop` should have length equal to the number of features (%lld), got %lld",
                     (long long)c->d, (long long)given->size);
    for (int64_t j = 0; j < c->d && status == SB_OK; j++) {
        drop[j] = first || (binary && c->count[j] == 2) ? 0 : -1;
        if (given) status = find_named(c, j, named[j], call->x->dtype == SB_F32, &drop[j], err);
    }
    sbi_release(&call->ctx->allocator, named);
    return status;
}

sb_status sbi_one_hot_encoder_fit(sbi_call *call, sb_error *err) {
    sbi_categories c;
    int64_t *drop = NULL, out = 0;
    sbi_arena *arena = sbi_arena_new(&call->ctx->allocator, err);
    sb_status status = arena ? sbi_categories_find(call, arena, false, &c, err) : SB_ERR_MEMORY;
    if (status == SB_OK && !(drop = sbi_arena_allocate(arena, c.d, sizeof *drop, err)))
        status = SB_ERR_MEMORY;
    if (status == SB_OK) status = find_drops(call, &c, drop, err);
    for (int64_t j = 0; j < call->d && status == SB_OK; j++) out += c.count[j] - (drop[j] >= 0);
    if (status == SB_OK) status = sbi_categories_keep(call, &c, err);
    if (status == SB_OK) status = sbi_model_set_size(call->model, "out", out, err);
    if (status == SB_OK)
        status = sbi_model_fill_integers(call->ctx, call->model, "drops", drop, err);
    sbi_arena_free(arena);
    return status;
}

// The column that holds the 1 of an entry, -1 where none does.
static sb_status column_of(const hot_columns *h, int64_t j, double x, int64_t *out, sb_error *err) {
    const int64_t at = sbi_categories_place(&h->c, j, x);
    if (at < 0 && h->strict)
        return sbi_fail(err, SB_ERR_ARGUMENT, "x",
                        "Found unknown categories [%g] in column %lld during transform", x,
                        (long long)j);
    const int64_t code = at >= 0      ? h->c.code[at]
                         : h->grouped ? h->c.rare[j]
                                      : -1,
                  drop = h->drop[j];
    *out = code < 0 || code == drop ? -1 : h->from[j] + code - (drop >= 0 && code > drop);
    return SB_OK;
}

// The columns of all entries, in the arena.
static sb_status find_columns(const sbi_call *call, sbi_arena *arena, int64_t **out,
                              sb_error *err) {
    hot_columns h;
    double *x = NULL;
    sb_status status = read_columns(call->model, arena, &h, err);
    if (status == SB_OK && !(*out = sbi_arena_allocate(arena, call->x->size, sizeof **out, err)))
        status = SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_read_reals(call->ctx, call->x, &x, err);
    for (int64_t i = 0; i < call->x->size && status == SB_OK; i++)
        status = column_of(&h, i % call->d, x[i], *out + i, err);
    sbi_release(&call->ctx->allocator, x);
    return status;
}

sb_status sbi_one_hot_encoder_transform(sbi_call *call, sb_error *err) {
    const int64_t width = sbi_model_size(call->model, "out");
    int64_t *column = NULL;
    double *out = NULL;
    sbi_arena *arena = sbi_arena_new(&call->ctx->allocator, err);
    sb_status status = arena ? find_columns(call, arena, &column, err) : SB_ERR_MEMORY;
    if (status == SB_OK && !(out = sbi_arena_allocate(arena, call->out->size, sizeof *out, err)))
        status = SB_ERR_MEMORY;
    for (int64_t i = 0; i < call->x->size && status == SB_OK; i++)
        if (column[i] >= 0) out[i / call->d * width + column[i]] = 1.0;
    if (status == SB_OK) status = sbi_write_reals(call->ctx, out, call->out, err);
    sbi_arena_free(arena);
    return status;
}

sb_status sbi_one_hot_encoder_transform_csr(sbi_call *call, sb_error *err) {
    int64_t *column = NULL, *end = NULL, count = 0;
    sb_array *made = NULL;
    sbi_arena *arena = sbi_arena_new(&call->ctx->allocator, err);
    sb_status status = arena ? find_columns(call, arena, &column, err) : SB_ERR_MEMORY;
    if (status == SB_OK && !(end = sbi_arena_allocate(arena, call->n + 1, sizeof *end, err)))
        status = SB_ERR_MEMORY;
    for (int64_t i = 0; i < call->x->size && status == SB_OK; i++) {
        if (column[i] >= 0) column[count++] = column[i];
        end[i / call->d + 1] = count;
    }
    if (status == SB_OK) status = sbi_call_make(call, 0, call->n + 1, &made, err);
    if (status == SB_OK)
        status = sbi_array_write(made, end, (size_t)(call->n + 1) * sizeof *end, err);
    if (status == SB_OK) status = sbi_call_make(call, 1, count, &made, err);
    if (status == SB_OK && count)
        status = sbi_array_write(made, column, (size_t)count * sizeof *column, err);
    sbi_arena_free(arena);
    return status;
}

// The number of the category that a row's columns of feature j say, -1: unknown.
static int64_t number_of(const hot_columns *h, int64_t j, const double *row) {
    const int64_t width = h->from[j + 1] - h->from[j], drop = h->drop[j];
    int64_t best = -1;
    for (int64_t k = 0; k < width; k++)
        if (row[k] > (best < 0 ? 0.0 : row[best])) best = k;
    return best < 0 ? drop : best + (drop >= 0 && best >= drop);
}

static double value_of(const sbi_categories *c, int64_t j, int64_t number) {
    if (number < 0 || number == c->rare[j]) return __builtin_nan("");
    int64_t at = c->first[j] + number; // (those that are rare are passed over)
    while (c->code[at] != number) at++;
    return c->value[at];
}

sb_status sbi_one_hot_encoder_inverse_transform(sbi_call *call, sb_error *err) {
    hot_columns h;
    const int64_t n = call->n, d = sbi_model_size(call->model, "d");
    double *x = NULL, *out = NULL;
    int64_t *number = NULL;
    sbi_arena *arena = sbi_arena_new(&call->ctx->allocator, err);
    sb_status status = arena ? read_columns(call->model, arena, &h, err) : SB_ERR_MEMORY;
    if (status == SB_OK && (!(out = sbi_arena_allocate(arena, n * d, sizeof *out, err)) ||
                            !(number = sbi_arena_allocate(arena, n * d, sizeof *number, err))))
        status = SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_read_reals(call->ctx, call->x, &x, err);
    for (int64_t i = 0; i < n * d && status == SB_OK; i++) {
        const int64_t j = i % d;
        number[i] = number_of(&h, j, x + i / d * call->d + h.from[j]);
        out[i] = value_of(&h.c, j, number[i]);
        if (number[i] < 0 && h.strict)
            status = sbi_fail(err, SB_ERR_ARGUMENT, "x",
                              "Samples [%lld] can not be inverted when drop=None and "
                              "handle_unknown='error' because they contain all zeros",
                              (long long)(i / d));
    }
    if (status == SB_OK) status = sbi_write_reals(call->ctx, out, call->out, err);
    if (status == SB_OK && call->more[0])
        status = sbi_array_write(call->more[0], number, (size_t)(n * d) * sizeof *number, err);
    sbi_release(&call->ctx->allocator, x);
    sbi_arena_free(arena);
    return status;
}

sb_status sbi_one_hot_encoder_check(const sb_model *model, sb_error *err) {
    hot_columns h;
    sb_status status = sbi_categories_check(model, err);
    if (status != SB_OK) return status;
    sbi_arena *arena = sbi_arena_new(&model->allocator, err);
    status = arena ? read_columns(model, arena, &h, err) : SB_ERR_MEMORY;
    bool right = true;
    for (int64_t j = 0; status == SB_OK && j < h.c.d; j++)
        right = right && h.drop[j] >= -1 && h.drop[j] < h.c.count[j];
    for (int64_t k = 0; status == SB_OK && k < h.c.first[h.c.d]; k++)
        right = right && h.c.code[k] >= 0;
    if (status == SB_OK && !(right && sbi_model_size(model, "out") == h.from[h.c.d]))
        status = sbi_fail(err, SB_ERR_FORMAT, "drops",
                          "the columns of this model do not fit its categories");
    sbi_arena_free(arena);
    return status;
}
