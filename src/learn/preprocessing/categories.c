// SPDX-License-Identifier: Apache-2.0
// Categories of features: see categories.h.
//
// A category is rare if it stands less often than min_frequency says (a number of rows, or RN64(n
// min_frequency) of them); where more than max_categories are left, the group included, the most
// frequent max_categories - 1 stay, of equally frequent ones the last.
#include "categories.h"

#include <string.h>

static int64_t *integers(sbi_arena *arena, int64_t n, sb_error *err) {
    return sbi_arena_allocate(arena, n, sizeof(int64_t), err);
}
static double *reals(sbi_arena *arena, int64_t n, sb_error *err) {
    return sbi_arena_allocate(arena, n, sizeof(double), err);
}

int64_t sbi_categories_place(const sbi_categories *c, int64_t j, double x) {
    int64_t low = c->first[j], end = c->first[j + 1];
    const bool nan = end > low && c->value[end - 1] != c->value[end - 1];
    if (x != x) return nan ? end - 1 : -1;
    for (int64_t high = nan ? end - 1 : end; low < high;) {
        const int64_t middle = low + (high - low) / 2;
        if (c->value[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && c->value[low] == x ? low : -1;
}

enum { SLOTS = 4096, MOST_HASHED = SLOTS / 2 };

// The distinct ones of values[n], as they come, into to, by a table of places (D. E. Knuth, The Art of Computer Programming 3,
// 6.4): at most MOST_HASHED of them, else -1. All NaN are one; no zero has a sign.
static int64_t hash_distinct(int64_t n, const double *values, int32_t *slots, double *to) {
    int64_t count = 0;
    memset(slots, 0, SLOTS * sizeof *slots);
    for (int64_t i = 0; i < n; i++) {
        const double x = values[i] == values[i] ? values[i] : __builtin_nan("");
        uint64_t bits, other;
        memcpy(&bits, &x, sizeof bits);
        uint64_t at = (bits * UINT64_C(0x9e3779b97f4a7c15)) >> 52; // (of 4,096)
        for (; slots[at]; at = (at + 1) % SLOTS) {
            memcpy(&other, &to[slots[at] - 1], sizeof other);
            if (other == bits) break;
        }
        if (slots[at]) continue;
        if (count == MOST_HASHED) return -1;
        to[count++] = x;
        slots[at] = (int32_t)count;
    }
    return count;
}

// The distinct numbers of a column in order, into to; a zero without its sign. Where they are few, only they are sorted.
static sb_status distinct(const sbi_call *call, const double *x, int64_t j, sb_array *column,
                          sb_array *ordered, int32_t *slots, double *own, double *to, int64_t *count,
                          sb_error *err) {
    double *sorted = NULL;
    sb_status status;
    for (int64_t i = 0; i < call->n; i++) own[i] = x[i * call->d + j] + 0.0;
    const int64_t few = hash_distinct(call->n, own, slots, to), n = few < 0 ? call->n : few;
    sb_array from = sbi_some_rows(column, 0, n), into = sbi_some_rows(ordered, 0, n);
    *count = 0;
    if ((status = sbi_write_reals(call->ctx, few < 0 ? own : to, &from, err)) ||
        (status = sbi_sort(call->ctx, &from, 0, &into, err)) ||
        (status = sbi_read_reals(call->ctx, &into, &sorted, err)))
        return status;
    for (int64_t i = 0; i < n; i++)
        if (i == 0 ||
            (sorted[i] == sorted[i] ? sorted[i] != sorted[i - 1] : sorted[i - 1] == sorted[i - 1]))
            to[(*count)++] = sorted[i];
    sbi_release(&call->ctx->allocator, sorted);
    return SB_OK;
}

static sb_status find_all(const sbi_call *call, sbi_arena *arena, const double *x,
                          sbi_categories *out, sb_error *err) {
    const int64_t n = call->n, d = call->d;
    sb_array *column = NULL, *ordered = NULL;
    double *own = reals(arena, n, err), **each = sbi_arena_allocate(arena, d, sizeof *each, err),
           *found = reals(arena, n, err);
    int32_t *slots = sbi_arena_allocate(arena, SLOTS, sizeof *slots, err);
    sb_status status = own && each && found && slots ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_array_new(call->ctx, call->x->dtype, 1, &n, &column, err);
    if (status == SB_OK) status = sbi_array_new(call->ctx, call->x->dtype, 1, &n, &ordered, err);
    for (int64_t j = 0; j < d && status == SB_OK; j++) {
        int64_t count = 0;
        status = distinct(call, x, j, column, ordered, slots, own, found, &count, err);
        if (status == SB_OK && !(each[j] = reals(arena, count, err))) status = SB_ERR_MEMORY;
        if (status != SB_OK) break;
        memcpy(each[j], found, (size_t)count * sizeof *found);
        out->first[j + 1] = out->first[j] + count;
    }
    if (status == SB_OK && !(out->value = reals(arena, out->first[d], err))) status = SB_ERR_MEMORY;
    for (int64_t j = 0; j < d && status == SB_OK; j++)
        memcpy(out->value + out->first[j], each[j],
               (size_t)(out->first[j + 1] - out->first[j]) * sizeof *out->value);
    sbi_array_free(column);
    sbi_array_free(ordered);
    return status;
}

static sb_status bad(int64_t j, const char *why, sb_error *err) {
    return sbi_fail(err, SB_ERR_ARGUMENT, "categories",
                    "In column %lld, the predefined categories %s.", (long long)j, why);
}

// The caller's: of each feature how many, then they.
static sb_status take_given(const sbi_call *call, sbi_arena *arena, sbi_categories *out,
                            sb_error *err) {
    const sb_array *given = sbi_model_value(call->model, "categories")->array;
    double *numbers = NULL;
    int64_t at = 0;
    sb_status status = sbi_read_reals(call->ctx, given, &numbers, err);
    if (status == SB_OK && !(out->value = reals(arena, given->size, err))) status = SB_ERR_MEMORY;
    for (int64_t j = 0; j < call->d && status == SB_OK; j++) {
        const bool room = at < given->size && numbers[at] >= 1.0 &&
                          numbers[at] <= (double)(given->size - at - 1) &&
                          numbers[at] == (double)(int64_t)numbers[at];
        const int64_t count = room ? (int64_t)numbers[at++] : 0, from = out->first[j];
        if (!room)
            status = sbi_fail(
                err, SB_ERR_SHAPE, "categories",
                "Shape mismatch: if categories is an array, it has to be of shape (n_features,).");
        for (int64_t i = 0; i < count && status == SB_OK; i++) {
            const double x = numbers[at++] + 0.0;
            out->value[from + i] = call->x->dtype == SB_F32 ? (double)(float)x : x;
            if (i > 0 && out->value[from + i - 1] != out->value[from + i - 1])
                status = bad(j, "hold nan before the last", err);
            else if (i > 0 && out->value[from + i] == out->value[from + i - 1])
                status = bad(j, "contain duplicate elements", err);
            else if (i > 0 && out->value[from + i] < out->value[from + i - 1])
                status = sbi_fail(err, SB_ERR_ARGUMENT, "categories",
                                  "Unsorted categories are not supported for numerical categories");
        }
        out->first[j + 1] = from + count;
    }
    if (status == SB_OK && at != given->size)
        status = sbi_fail(
            err, SB_ERR_SHAPE, "categories",
            "Shape mismatch: if categories is an array, it has to be of shape (n_features,).");
    sbi_release(&call->ctx->allocator, numbers);
    return status;
}

// How often each stands in the fit, if it matters; where nothing may be unknown, all are there.
static sb_status count_all(const sbi_call *call, const double *x, const sbi_categories *c,
                           int64_t *often, sb_error *err) {
    const bool strict = sbi_model_is(call->model, "handle_unknown", "error");
    const bool given = sbi_model_value(call->model, "categories")->array != NULL;
    if (!given && sbi_model_value(call->model, "min_frequency")->kind == SBI_NONE &&
        sbi_model_value(call->model, "max_categories")->kind == SBI_NONE)
        return SB_OK;
    for (int64_t i = 0; i < call->x->size; i++) {
        const int64_t j = i % call->d, at = sbi_categories_place(c, j, x[i]);
        if (at >= 0)
            often[at]++;
        else if (strict)
            return sbi_fail(err, SB_ERR_ARGUMENT, "x",
                            "Found unknown categories [%g] in column %lld during fit", x[i],
                            (long long)j);
    }
    return SB_OK;
}

// Which of `count` are rare.
static sb_status find_rare(const sbi_call *call, sbi_arena *arena, const int64_t *often,
                           int64_t count, bool *rare, int64_t *found, sb_error *err) {
    const sbi_value *least = sbi_model_value(call->model, "min_frequency"),
                    *most = sbi_model_value(call->model, "max_categories");
    const double bound = least->kind == SBI_INTEGER ? least->real
                         : least->kind == SBI_REAL  ? (double)call->n * least->real
                                                    : 0.0;
    *found = 0;
    for (int64_t k = 0; k < count; k++) *found += rare[k] = (double)often[k] < bound;
    if (most->kind != SBI_INTEGER || most->integer >= count - *found + 1) return SB_OK;
    sb_array *a = NULL, *order = NULL;
    double *numbers = reals(arena, count, err);
    int64_t *ascending = integers(arena, count, err);
    sb_status status =
        numbers && ascending ? sbi_array_new(call->ctx, SB_F64, 1, &count, &a, err) : SB_ERR_MEMORY;
    for (int64_t k = 0; k < count && status == SB_OK; k++) numbers[k] = (double)often[k];
    if (status == SB_OK) status = sbi_write_reals(call->ctx, numbers, a, err);
    if (status == SB_OK) status = sbi_array_new(call->ctx, SB_I64, 1, &count, &order, err);
    if (status == SB_OK) status = sbi_argsort(call->ctx, a, 0, order, err);
    if (status == SB_OK)
        status = sbi_array_read(order, ascending, (size_t)count * sizeof *ascending, err);
    for (int64_t k = 0; k < count - (most->integer - 1) && status == SB_OK; k++)
        rare[ascending[k]] = true;
    *found = 0;
    for (int64_t k = 0; k < count; k++) *found += rare[k];
    sbi_array_free(a);
    sbi_array_free(order);
    return status;
}

static sb_status number(const sbi_call *call, sbi_arena *arena, const int64_t *often,
                        bool missing_apart, sbi_categories *c, sb_error *err) {
    for (int64_t j = 0; j < c->d; j++) {
        const int64_t from = c->first[j], all = c->first[j + 1] - from;
        const bool nan = missing_apart && c->value[from + all - 1] != c->value[from + all - 1];
        int64_t found = 0, next = 0;
        bool *rare = sbi_arena_allocate(arena, all, sizeof *rare, err);
        sb_status status = rare ? find_rare(call, arena, often + from, all - nan, rare, &found, err)
                                : SB_ERR_MEMORY;
        if (status != SB_OK) return status;
        for (int64_t k = 0; k < all - nan; k++)
            if (!rare[k]) c->code[from + k] = next++;
        for (int64_t k = 0; k < all - nan; k++)
            if (rare[k]) c->code[from + k] = next;
        if (nan) c->code[from + all - 1] = -1;
        c->rare[j] = found ? next : -1;
        c->count[j] = next + (found > 0);
    }
    return SB_OK;
}

sb_status sbi_categories_find(const sbi_call *call, sbi_arena *arena, bool missing_apart,
                              sbi_categories *out, sb_error *err) {
    double *x = NULL;
    int64_t *often;
    *out = (sbi_categories){.d = call->d,
                            .first = integers(arena, call->d + 1, err),
                            .count = integers(arena, call->d, err),
                            .rare = integers(arena, call->d, err)};
    if (!out->first || !out->count || !out->rare) return SB_ERR_MEMORY;
    sb_status status = sbi_read_reals(call->ctx, call->x, &x, err);
    if (status == SB_OK)
        status = sbi_model_value(call->model, "categories")->array
                     ? take_given(call, arena, out, err)
                     : find_all(call, arena, x, out, err);
    if (status == SB_OK && (!(out->code = integers(arena, out->first[call->d], err)) ||
                            !(often = integers(arena, out->first[call->d], err))))
        status = SB_ERR_MEMORY;
    if (status == SB_OK && (status = count_all(call, x, out, often, err)) == SB_OK)
        status = number(call, arena, often, missing_apart, out, err);
    sbi_release(&call->ctx->allocator, x);
    return status;
}

// ---- in a model

sb_status sbi_categories_keep(const sbi_call *call, const sbi_categories *c, sb_error *err) {
    sb_model *model = call->model;
    sb_status status = sbi_model_set_size(model, "cats", c->first[c->d], err);
    if (status == SB_OK) status = sbi_model_fill(call->ctx, model, "categories", c->value, err);
    if (status == SB_OK)
        status = sbi_model_fill_integers(call->ctx, model, "category_ends", c->first + 1, err);
    if (status == SB_OK) status = sbi_model_fill_integers(call->ctx, model, "codes", c->code, err);
    if (status == SB_OK)
        status = sbi_model_fill_integers(call->ctx, model, "counts", c->count, err);
    return status == SB_OK ? sbi_model_fill_integers(call->ctx, model, "rare", c->rare, err)
                           : status;
}

static sb_status read_integers(const sb_model *model, sbi_arena *arena, const char *name,
                               int64_t **out, sb_error *err) {
    const sb_array *a = sbi_model_array(model, name);
    if (!(*out = integers(arena, a->size, err))) return SB_ERR_MEMORY;
    return sbi_array_read(a, *out, (size_t)a->size * sizeof **out, err);
}

sb_status sbi_categories_read(const sb_model *model, sbi_arena *arena, sbi_categories *out,
                              sb_error *err) {
    const int64_t all = sbi_model_array(model, "categories")->size;
    double *values = NULL;
    int64_t *ends = NULL;
    sb_status status;
    *out = (sbi_categories){.d = sbi_model_array(model, "category_ends")->size};
    out->first = integers(arena, out->d + 1, err);
    out->value = reals(arena, all, err);
    if (!out->first || !out->value) return SB_ERR_MEMORY;
    if ((status = read_integers(model, arena, "category_ends", &ends, err)) ||
        (status = read_integers(model, arena, "codes", &out->code, err)) ||
        (status = read_integers(model, arena, "counts", &out->count, err)) ||
        (status = read_integers(model, arena, "rare", &out->rare, err)) ||
        (status = sbi_model_numbers(model, "categories", &values, err)))
        return status;
    memcpy(out->first + 1, ends, (size_t)out->d * sizeof *ends);
    memcpy(out->value, values, (size_t)all * sizeof *values);
    sbi_release(&model->allocator, values);
    return SB_OK;
}

// The categories of feature j ascend, NaN last, and are numbered in their order, rare ones after
// them.
static bool feature_in_order(const sbi_categories *c, int64_t j) {
    int64_t next = 0;
    for (int64_t k = c->first[j]; k < c->first[j + 1]; k++) {
        const bool nan = c->value[k] != c->value[k];
        if (nan ? k + 1 < c->first[j + 1] : k > c->first[j] && !(c->value[k - 1] < c->value[k]))
            return false;
        if (nan && c->code[k] == -1) continue;
        if (c->rare[j] >= 0 && c->code[k] == c->rare[j]) continue;
        if (c->code[k] != next++) return false;
    }
    return c->rare[j] == -1 ? c->count[j] == next : c->rare[j] == next && c->count[j] == next + 1;
}

static bool in_order(const sbi_categories *c, int64_t all) {
    if (c->d < 1) return false;
    for (int64_t j = 0; j < c->d; j++)
        if (c->first[j + 1] <= c->first[j] || c->first[j + 1] > all || !feature_in_order(c, j))
            return false;
    return c->first[c->d] == all;
}

// The note "categories", where there is one: for each feature null (numbers), or a JSON array of as
// many words as it has categories but NaN, whose places the categories then are.
static bool words_fit(const sbi_json *note, const sbi_categories *c) {
    const sbi_json *own = note->first;
    if (note->kind != SBI_JSON_ARRAY || note->length != c->d) return false;
    for (int64_t j = 0; j < c->d; j++, own = own->next) {
        const int64_t last = c->first[j + 1] - 1,
                      count = last + (c->value[last] == c->value[last]) - c->first[j];
        if (own->kind == SBI_JSON_NULL) continue;
        if (own->kind != SBI_JSON_ARRAY || own->length != count) return false;
        for (int64_t k = 0; k < count; k++)
            if (c->value[c->first[j] + k] != (double)k) return false;
    }
    return true;
}

sb_status sbi_categories_check(const sb_model *model, sb_error *err) {
    sbi_categories c;
    sbi_arena *arena = sbi_arena_new(&model->allocator, err);
    sb_status status = arena ? sbi_categories_read(model, arena, &c, err) : SB_ERR_MEMORY;
    const char *words = sbi_model_find_note(model, "categories");
    const sbi_json *note = NULL;
    if (status == SB_OK && !in_order(&c, sbi_model_size(model, "cats")))
        status =
            sbi_fail(err, SB_ERR_FORMAT, "categories",
                     "the categories of this model are not in order, or do not fit their codes");
    if (status == SB_OK && words)
        status = sbi_json_read(arena, words, (int64_t)strlen(words), &note, err);
    if (status == SB_OK && words && !words_fit(note, &c))
        status = sbi_fail(err, SB_ERR_FORMAT, "categories",
                          "the note \"categories\" does not name the categories of this model");
    sbi_arena_free(arena);
    return status;
}
