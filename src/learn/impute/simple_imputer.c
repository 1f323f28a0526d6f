// SPDX-License-Identifier: Apache-2.0
// Simple imputer.
//
// Problem. A table with holes: each hole of feature j takes one value s_j, made of the numbers of the fit that are there. An entry
// is a hole if it is NaN, or where missing_values is a number if it equals that number, rounded to the type of the data.
//
// Method. One statistic a feature; those of no number at all are left out, or kept as 0 (constant: fill_value) with
// keep_empty_features. With add_indicator follows, for each feature that had a hole in the fit, a column of 1 (hole) and 0.
//
// Order of arithmetic, in binary64, over the numbers that are there. mean: the mean of the contract (T2), terms with their
// row's number. median: of the ascending numbers x_0 .. x_(m-1) x_((m-1)/2) for odd m, else RN64(RN64(a + b) 0.5) of the middle two, and
// where a + b overflows RN64(0.5 a + 0.5 b). most_frequent: the number that stands most often, the least of several. constant:
// fill_value, 0 without one. All + 0, so none is -0. transform: numbers as they are, holes RN(s_j).
// inverse_transform: holes again where the indicator's column is not 0; features without such a column as they are.
//
// Cost: five readings for the mean; a sort of each feature for median and most_frequent; one reading for a transform.
//
// What can go wrong. NaN in the data is refused where missing_values is a number.
#include "learn.h"

// The numbers of x with NaN for holes, to be released.
static sb_status read_holes(const sbi_call *call, double **out, sb_error *err) {
    double hole = sbi_model_real(call->model, "missing_values");
    sb_status status = sbi_read_reals(call->ctx, call->x, out, err);
    if (status != SB_OK || hole != hole) return status;
    if (call->x->dtype == SB_F32) hole = (double)(float)hole;
    for (int64_t i = 0; i < call->x->size; i++) {
        double *x = *out + i;
        if (*x != *x) {
            status = sbi_fail(err, SB_ERR_NONFINITE, "x", "Input X contains NaN (element %lld), and missing_values is a number.", (long long)i);
            break;
        }
        if (*x == hole) *x = __builtin_nan("");
    }
    return status;
}

static sb_status find_means(const sbi_call *call, const double *x, double *mean, sb_error *err) {
    const int64_t shape[2] = {5, call->d};
    sb_array *holed = NULL, *moments = NULL;
    double *values = NULL;
    sb_status status;
    if ((status = sbi_array_new(call->ctx, call->x->dtype, 2, call->x->shape, &holed, err)) ||
        (status = sbi_write_reals(call->ctx, x, holed, err)) || (status = sbi_array_new(call->ctx, SB_F64, 2, shape, &moments, err)) ||
        (status = sbi_moments(call->ctx, holed, NULL, moments, err)) || (status = sbi_read_reals(call->ctx, moments, &values, err)))
        goto done;
    for (int64_t j = 0; j < call->d; j++) mean[j] = values[call->d + j];
done:
    sbi_array_free(holed);
    sbi_array_free(moments);
    sbi_release(&call->ctx->allocator, values);
    return status;
}

static double median_of(const double *sorted, int64_t count) {
    const double low = sorted[(count - 1) / 2], high = sorted[count / 2], sum = low + high;
    if (count % 2) return low;
    return sum - sum == 0.0 ? sum * 0.5 : 0.5 * low + 0.5 * high;
}

static double most_frequent_of(const double *sorted, int64_t count) {
    int64_t best = 0, longest = 0;
    for (int64_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && sorted[end] == sorted[i];) end++;
        if (end - i > longest) {
            longest = end - i;
            best = i;
        }
    }
    return sorted[best];
}

// Each feature's numbers in ascending order (NaN last), and `of` of them.
static sb_status find_by_order(const sbi_call *call, const double *x, const int64_t *present, double (*of)(const double *, int64_t), double *out,
                               sb_error *err) {
    const int64_t n = call->n, d = call->d;
    sb_context *ctx = call->ctx;
    sb_array *column = NULL, *ordered = NULL;
    double *sorted = NULL, *own = sbi_allocate(&ctx->allocator, n, sizeof *own, err);
    sb_status status = own ? SB_OK : SB_ERR_MEMORY;
    if (status == SB_OK) status = sbi_array_new(ctx, call->x->dtype, 1, &n, &column, err);
    if (status == SB_OK) status = sbi_array_new(ctx, call->x->dtype, 1, &n, &ordered, err);
    for (int64_t j = 0; j < d && status == SB_OK; j++) {
        if (present[j] == 0) continue;
        for (int64_t i = 0; i < n; i++) own[i] = x[i * d + j];
        if ((status = sbi_write_reals(ctx, own, column, err)) || (status = sbi_sort(ctx, column, 0, ordered, err)) ||
            (status = sbi_read_reals(ctx, ordered, &sorted, err)))
            break;
        out[j] = of(sorted, present[j]);
        sbi_release(&ctx->allocator, sorted);
        sorted = NULL;
    }
    sbi_release(&ctx->allocator, own);
    sbi_array_free(column);
    sbi_array_free(ordered);
    return status;
}

// Sizes and arrays from the statistics and from how many numbers each feature has.
static sb_status keep(const sbi_call *call, const double *statistic, const int64_t *present, sb_error *err) {
    const int64_t d = call->d;
    const bool marks = sbi_model_flag(call->model, "add_indicator");
    int64_t kept = 0, marked = 0, *features = sbi_allocate(&call->ctx->allocator, d, sizeof *features, err);
    sb_status status = features ? SB_OK : SB_ERR_MEMORY;
    for (int64_t j = 0; j < d && status == SB_OK; j++) {
        kept += statistic[j] == statistic[j];
        if (marks && present[j] < call->n) features[marked++] = j;
    }
    if (status == SB_OK) status = sbi_model_set_size(call->model, "marked", marked, err);
    if (status == SB_OK) status = sbi_model_set_size(call->model, "out", kept + marked, err);
    if (status == SB_OK) status = sbi_model_fill(call->ctx, call->model, "statistics", statistic, err);
    if (status == SB_OK && marks) status = sbi_model_fill_integers(call->ctx, call->model, "indicator_features", features, err);
    sbi_release(&call->ctx->allocator, features);
    return status;
}

sb_status sbi_simple_imputer_fit(sbi_call *call, sb_error *err) {
    const int64_t d = call->d;
    const sb_model *model = call->model;
    const sbi_allocator *allocator = &call->ctx->allocator;
    const double fill = sbi_model_real(model, "fill_value"); // (0 where it is none)
    const bool constant = sbi_model_is(model, "strategy", "constant"), keeps = sbi_model_flag(model, "keep_empty_features");
    double *x = NULL, *statistic = sbi_allocate(allocator, d, sizeof *statistic, err);
    int64_t *present = sbi_allocate(allocator, d, sizeof *present, err);
    sb_status status = statistic && present ? read_holes(call, &x, err) : SB_ERR_MEMORY;
    for (int64_t i = 0; i < call->x->size && status == SB_OK; i++) present[i % d] += x[i] == x[i];
    if (status == SB_OK && sbi_model_is(model, "strategy", "mean")) status = find_means(call, x, statistic, err);
    if (status == SB_OK && sbi_model_is(model, "strategy", "median")) status = find_by_order(call, x, present, median_of, statistic, err);
    if (status == SB_OK && sbi_model_is(model, "strategy", "most_frequent"))
        status = find_by_order(call, x, present, most_frequent_of, statistic, err);
    for (int64_t j = 0; j < d && status == SB_OK; j++) {
        if (constant) statistic[j] = fill;
        if (present[j] == 0) statistic[j] = !keeps ? __builtin_nan("") : constant ? fill : 0.0;
        statistic[j] = statistic[j] + 0.0;
    }
    if (status == SB_OK) status = keep(call, statistic, present, err);
    sbi_release(allocator, x);
    sbi_release(allocator, statistic);
    sbi_release(allocator, present);
    return status;
}

// What a transform or its inverse reads of the model.
typedef struct rules { double *statistic, *features; int64_t marked, kept; } rules;

static void free_rules(const sbi_call *call, rules *r) {
    sbi_release(&call->model->allocator, r->statistic);
    sbi_release(&call->model->allocator, r->features);
}

static sb_status read_rules(const sbi_call *call, rules *r, sb_error *err) {
    *r = (rules){.marked = sbi_model_size(call->model, "marked")};
    r->kept = sbi_model_size(call->model, "out") - r->marked;
    sb_status status = sbi_model_numbers(call->model, "statistics", &r->statistic, err);
    return status == SB_OK && r->marked ? sbi_model_numbers(call->model, "indicator_features", &r->features, err) : status;
}

sb_status sbi_simple_imputer_transform(sbi_call *call, sb_error *err) {
    const int64_t d = call->d;
    rules r;
    double *x = NULL, *out = NULL, *to;
    sb_status status;
    if ((status = read_rules(call, &r, err)) || (status = read_holes(call, &x, err))) goto done;
    if (!(to = out = sbi_allocate(&call->ctx->allocator, call->out->size, sizeof *out, err))) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    for (int64_t i = 0; i < call->n; i++) {
        const double *row = x + i * d;
        for (int64_t j = 0; j < d; j++)
            if (r.statistic[j] == r.statistic[j]) *to++ = row[j] == row[j] ? row[j] : r.statistic[j];
        for (int64_t k = 0; k < r.marked; k++) {
            const double marked = row[(int64_t)r.features[k]];
            *to++ = marked == marked ? 0.0 : 1.0;
        }
    }
    status = sbi_write_reals(call->ctx, out, call->out, err);
done:
    free_rules(call, &r);
    sbi_release(&call->ctx->allocator, x);
    sbi_release(&call->ctx->allocator, out);
    return status;
}

// Features that were left out were holes throughout, and are again.
sb_status sbi_simple_imputer_inverse_transform(sbi_call *call, sb_error *err) {
    const int64_t d = sbi_model_size(call->model, "d");
    const double hole = sbi_model_real(call->model, "missing_values");
    rules r = {0};
    double *x = NULL, *out = NULL;
    sb_status status;
    if (!sbi_model_flag(call->model, "add_indicator"))
        return sbi_fail(err, SB_ERR_ARGUMENT, "add_indicator", "'inverse_transform' works only when 'SimpleImputer' is instantiated with "
                        "'add_indicator=True'. Got 'add_indicator=False' instead.");
    if ((status = read_rules(call, &r, err)) || (status = sbi_read_reals(call->ctx, call->x, &x, err))) goto done;
    if (!(out = sbi_allocate(&call->ctx->allocator, call->out->size, sizeof *out, err))) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    for (int64_t i = 0; i < call->n; i++) {
        const double *row = x + i * call->d;
        double *to = out + i * d;
        for (int64_t j = 0, at = 0; j < d; j++) to[j] = r.statistic[j] == r.statistic[j] ? row[at++] : hole;
        for (int64_t k = 0; k < r.marked; k++)
            if (row[r.kept + k] != 0.0) to[(int64_t)r.features[k]] = hole;
    }
    status = sbi_write_reals(call->ctx, out, call->out, err);
done:
    free_rules(call, &r);
    sbi_release(&call->ctx->allocator, x);
    sbi_release(&call->ctx->allocator, out);
    return status;
}

// Features of the indicator ascend, and the width of the result is theirs and that of the statistics that are numbers.
sb_status sbi_simple_imputer_check(const sb_model *model, sb_error *err) {
    const int64_t d = sbi_model_size(model, "d"), marked = sbi_model_size(model, "marked");
    const bool marks = sbi_model_array(model, "indicator_features") != NULL;
    double *statistic = NULL, *feature = NULL, last = -1.0;
    int64_t kept = 0;
    bool right = sbi_model_flag(model, "add_indicator") == marks && marked >= 0 && (marks || marked == 0);
    sb_status status = sbi_model_numbers(model, "statistics", &statistic, err);
    if (status == SB_OK && marks) status = sbi_model_numbers(model, "indicator_features", &feature, err);
    for (int64_t j = 0; j < d && status == SB_OK; j++) kept += statistic[j] == statistic[j];
    for (int64_t k = 0; k < marked && right && status == SB_OK; k++) {
        right = feature[k] > last && feature[k] < (double)d;
        last = feature[k];
    }
    if (status == SB_OK && !(right && sbi_model_size(model, "out") == kept + marked))
        status = sbi_fail(err, SB_ERR_FORMAT, "indicator_features", "the statistics and the features of the indicator do not fit together");
    sbi_release(&model->allocator, statistic);
    sbi_release(&model->allocator, feature);
    return status;
}
