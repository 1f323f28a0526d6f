// SPDX-License-Identifier: Apache-2.0
// Ordinal encoder.
//
// Problem. Features that are categories, as numbers: the categories of feature j, c_0 < c_1 < ...,
// become 0, 1, ...
//
// Method. The distinct numbers of each feature of the fit, sorted, or those that `categories`
// gives: of each feature how many there are, then they, in ascending order. A missing entry, NaN,
// is a category of its own where the fit had one, and becomes encoded_missing_value. Words are the
// caller's: in the library they are their places among the categories, and what they are called
// stands in the note "categories", a JSON array of a feature's words each, null where a feature has
// numbers. Categories that stand less often than min_frequency says, a number of rows or a part of
// them, are one category, the last; where more than max_categories are left, it included, the most
// frequent max_categories - 1 stay, of equally frequent ones those of the largest numbers.
//
// Order of arithmetic. Comparisons; -0 and 0 are one category. The bound of a min_frequency p below
// 1 is RN64(n p). Codes are float64. inverse_transform: the category of a code; NaN where it is
// that of what is missing, unknown, or of the rare ones.
//
// Cost: a table of the distinct numbers of each feature and their sort (of the whole feature where
// they are more than 2,048), and a bisection an entry.
//
// What can go wrong. A category that the fit did not see is refused, or becomes unknown_value where
// handle_unknown is use_encoded_value.
#include "categories.h"

// NaN of feature j is a category.
static bool has_missing(const sbi_categories *c, int64_t j) {
    return c->value[c->first[j + 1] - 1] != c->value[c->first[j + 1] - 1];
}

static bool is_code(const sbi_categories *c, int64_t j, double x) {
    return x >= 0.0 && x < (double)c->count[j];
}

// What stands for unknown and for missing entries is there, and is no category's number.
static sb_status check_values(const sb_model *model, const sbi_categories *c, sb_error *err) {
    const bool strict = sbi_model_is(model, "handle_unknown", "error"),
               given = sbi_model_value(model, "unknown_value")->kind != SBI_NONE;
    const double unknown = sbi_model_real(model, "unknown_value"),
                 missing = sbi_model_real(model, "encoded_missing_value");
    if (!strict && !given)
        return sbi_fail(
            err, SB_ERR_ARGUMENT, "unknown_value",
            "unknown_value should be an integer or nan when handle_unknown is 'use_encoded_value'");
    if (strict && given)
        return sbi_fail(
            err, SB_ERR_ARGUMENT, "unknown_value",
            "unknown_value should only be set when handle_unknown is 'use_encoded_value', got %g.",
            unknown);
    for (int64_t j = 0; j < c->d; j++) {
        if (!strict && is_code(c, j, unknown))
            return sbi_fail(err, SB_ERR_ARGUMENT, "unknown_value",
                            "The used value for unknown_value %g is one of the values already used "
                            "for encoding the seen categories.",
                            unknown);
        if (has_missing(c, j) && is_code(c, j, missing))
            return sbi_fail(err, SB_ERR_ARGUMENT, "encoded_missing_value",
                            "encoded_missing_value (%g) is already used to encode a known category "
                            "in features: [%lld]",
                            missing, (long long)j);
    }
    return SB_OK;
}

sb_status sbi_ordinal_encoder_fit(sbi_call *call, sb_error *err) {
    sbi_categories c;
    sbi_arena *arena = sbi_arena_new(&call->ctx->allocator, err);
    sb_status status = arena ? sbi_categories_find(call, arena, true, &c, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = check_values(call->model, &c, err);
    if (status == SB_OK) status = sbi_categories_keep(call, &c, err);
    sbi_arena_free(arena);
    return status;
}

typedef sb_status (*entry_of)(const sb_model *model, const sbi_categories *c, int64_t j, double x,
                              double *out, sb_error *err);

static sb_status code_of(const sb_model *model, const sbi_categories *c, int64_t j, double x,
                         double *out, sb_error *err) {
    const int64_t at = sbi_categories_place(c, j, x);
    if (at < 0 && sbi_model_is(model, "handle_unknown", "error"))
        return sbi_fail(err, SB_ERR_ARGUMENT, "x",
                        "Found unknown categories [%g] in column %lld during transform", x,
                        (long long)j);
    *out = at < 0            ? sbi_model_real(model, "unknown_value")
           : c->code[at] < 0 ? sbi_model_real(model, "encoded_missing_value")
                             : (double)c->code[at];
    return SB_OK;
}

static bool same(double a, double b) { return a == b || (a != a && b != b); }

static sb_status category_of(const sb_model *model, const sbi_categories *c, int64_t j, double x,
                             double *out, sb_error *err) {
    const bool missing =
        has_missing(c, j) && same(x, sbi_model_real(model, "encoded_missing_value"));
    const bool unknown = !sbi_model_is(model, "handle_unknown", "error") &&
                         same(x, sbi_model_real(model, "unknown_value"));
    *out = __builtin_nan("");
    if (missing || unknown) return SB_OK;
    if (!is_code(c, j, x) || x != (double)(int64_t)x)
        return sbi_fail(err, SB_ERR_ARGUMENT, "x",
                        "%g in column %lld is the number of no category: there are %lld", x,
                        (long long)j, (long long)c->count[j]);
    const int64_t code = (int64_t)x;
    if (code == c->rare[j]) return SB_OK;
    int64_t at = c->first[j] + code; // (those that are rare are passed over)
    while (c->code[at] != code) at++;
    *out = c->value[at];
    return SB_OK;
}

static sb_status each(sbi_call *call, entry_of entry, sb_error *err) {
    double *x = NULL, *out = NULL;
    sbi_categories c;
    sbi_arena *arena = sbi_arena_new(&call->ctx->allocator, err);
    sb_status status = arena ? sbi_categories_read(call->model, arena, &c, err) : SB_ERR_MEMORY;
    if (status == SB_OK && !(out = sbi_arena_allocate(arena, call->x->size, sizeof *out, err)))
        status = SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_read_reals(call->ctx, call->x, &x, err);
    for (int64_t i = 0; i < call->x->size && status == SB_OK; i++)
        status = entry(call->model, &c, i % call->d, x[i], &out[i], err);
    if (status == SB_OK) status = sbi_write_reals(call->ctx, out, call->out, err);
    sbi_release(&call->ctx->allocator, x);
    sbi_arena_free(arena);
    return status;
}

sb_status sbi_ordinal_encoder_transform(sbi_call *call, sb_error *err) {
    return each(call, code_of, err);
}
sb_status sbi_ordinal_encoder_inverse_transform(sbi_call *call, sb_error *err) {
    return each(call, category_of, err);
}

sb_status sbi_ordinal_encoder_check(const sb_model *model, sb_error *err) {
    return sbi_categories_check(model, err);
}
