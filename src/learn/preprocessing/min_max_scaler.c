// SPDX-License-Identifier: Apache-2.0
// Min-max scaler.
//
// Problem. Features of different units: feature j of the fit, from its least number l_j to its greatest h_j, becomes the range
// from a to b; an entry that is NaN is missing, and stays so.
//
// Method. Extremes are exact, so rows may come in any order and in any batches: the same bits.
//
// Order of arithmetic, in binary64. l and h over the numbers that are there, a zero without its sign. r = RN64(h - l);
// scale = RN64(RN64(b - a) / r); where r is 0, or so small that this is not finite, RN64(b - a); where h - l overflows
// RN64(0.5 RN64(RN64(b - a) / RN64(0.5 h - 0.5 l))). min = RN64(a - RN64(l scale)).
// transform: RN(RN64(RN64(x scale) + min)), one rounding out; with clip then the larger of that and a, the smaller of that and
// b, both rounded to the type of the data. Backwards RN(RN64(RN64(x - min) / scale)).
//
// Cost: five readings of the data for a fit (those of all moments), one for a transform.
//
// What can go wrong. A feature of nothing but NaN has extremes, scale and min NaN. Where l is far from 0 and r small, min is
// large and takes digits from the result, as in scikit-learn; one outlier presses all others together.
#include "learn.h"

static double lower(double a, double b) { return a < b || b != b ? a : b; } // a NaN gives way
static double higher(double a, double b) { return a > b || b != b ? a : b; }

static double scale_of(double width, double low, double high) {
    const double range = high - low, halved = 0.5 * high - 0.5 * low;
    const double scale = range - range == 0.0 || range != range ? width / range : 0.5 * (width / halved);
    return range != range || scale - scale == 0.0 ? scale : width;
}

static sb_status check_range(const double *range, sb_error *err) {
    if (range[0] < range[1] && range[1] - range[0] < __builtin_inf()) return SB_OK;
    return sbi_fail(err, SB_ERR_ARGUMENT, "feature_range", "Minimum of desired feature range must be smaller than maximum. Got (%g, %g).", range[0], range[1]);
}

static sb_status fit(sbi_call *call, bool goes_on, sb_error *err) {
    enum { WEIGHT, LOW = 3, HIGH, MOMENTS }; // rows of moments
    const int64_t d = call->d, shape[2] = {MOMENTS, d};
    const double *to = sbi_model_value(call->model, "feature_range")->numbers;
    sb_context *ctx = call->ctx;
    sb_array *moments = NULL;
    double *now = NULL, *low = NULL, *high = NULL, *line = NULL;
    int64_t seen = 0;
    sb_status status;
    if ((status = check_range(to, err)) || (status = sbi_array_new(ctx, SB_F64, 2, shape, &moments, err)) ||
        (status = sbi_moments(ctx, call->x, NULL, moments, err)) || (status = sbi_read_reals(ctx, moments, &now, err)))
        goto done;
    if (goes_on && ((status = sbi_read_reals(ctx, sbi_model_array(call->model, "data_min"), &low, err)) ||
                    (status = sbi_read_reals(ctx, sbi_model_array(call->model, "data_max"), &high, err)) ||
                    (status = sbi_array_read(sbi_model_array(call->model, "n_samples_seen"), &seen, sizeof seen, err))))
        goto done;
    if (!(line = sbi_allocate(&ctx->allocator, 3 * d, sizeof *line, err))) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    for (int64_t j = 0; j < d; j++) {
        double *least = now + LOW * d + j, *greatest = now + HIGH * d + j;
        const bool any = now[WEIGHT * d + j] > 0.0;
        *least = any ? *least + 0.0 : __builtin_nan("");
        *greatest = any ? *greatest + 0.0 : __builtin_nan("");
        if (goes_on) {
            *least = lower(low[j], *least);
            *greatest = higher(high[j], *greatest);
        }
        line[j] = scale_of(to[1] - to[0], *least, *greatest);
        line[d + j] = to[0] - *least * line[j];
        line[2 * d + j] = *greatest - *least;
    }
    seen += call->n;
    if ((status = sbi_model_fill(ctx, call->model, "scale", line, err)) || (status = sbi_model_fill(ctx, call->model, "min", line + d, err)) ||
        (status = sbi_model_fill(ctx, call->model, "data_min", now + LOW * d, err)) ||
        (status = sbi_model_fill(ctx, call->model, "data_max", now + HIGH * d, err)) ||
        (status = sbi_model_fill(ctx, call->model, "data_range", line + 2 * d, err)))
        goto done;
    status = sbi_model_fill_integers(ctx, call->model, "n_samples_seen", &seen, err);
done:
    sbi_array_free(moments);
    sbi_release(&ctx->allocator, now);
    sbi_release(&ctx->allocator, low);
    sbi_release(&ctx->allocator, high);
    sbi_release(&ctx->allocator, line);
    return status;
}

sb_status sbi_min_max_scaler_fit(sbi_call *call, sb_error *err) { return fit(call, false, err); }

sb_status sbi_min_max_scaler_partial_fit(sbi_call *call, sb_error *err) {
    return fit(call, sbi_model_array(call->model, "data_min") != NULL, err);
}

static sb_status clip(sbi_call *call, sb_error *err) {
    const double *to = sbi_model_value(call->model, "feature_range")->numbers;
    sb_array *end = NULL;
    sb_status status = sbi_scratch(call->ctx, call->out->dtype, 1, &end, err);
    if (status == SB_OK) status = sbi_write_reals(call->ctx, to, end, err);
    if (status == SB_OK) status = sbi_binary(call->ctx, SB_MAXIMUM, call->out, end, call->out, err);
    if (status == SB_OK) status = sbi_write_reals(call->ctx, to + 1, end, err);
    if (status == SB_OK) status = sbi_binary(call->ctx, SB_MINIMUM, call->out, end, call->out, err);
    sbi_array_free(end);
    return status;
}

sb_status sbi_min_max_scaler_transform(sbi_call *call, sb_error *err) {
    const sb_array *min = sbi_model_array(call->model, "min"), *scale = sbi_model_array(call->model, "scale");
    sb_status status = sbi_columns(call->ctx, call->x, min, scale, 1, call->out, err);
    return status == SB_OK && sbi_model_flag(call->model, "clip") ? clip(call, err) : status;
}

sb_status sbi_min_max_scaler_inverse_transform(sbi_call *call, sb_error *err) {
    const sb_array *min = sbi_model_array(call->model, "min"), *scale = sbi_model_array(call->model, "scale");
    return sbi_columns(call->ctx, call->x, min, scale, 0, call->out, err);
}

sb_status sbi_min_max_scaler_check(const sb_model *model, sb_error *err) {
    int64_t seen;
    sb_status status = sbi_array_read(sbi_model_array(model, "n_samples_seen"), &seen, sizeof seen, err);
    if (status != SB_OK) return status;
    if ((status = check_range(sbi_model_value(model, "feature_range")->numbers, err)) == SB_OK && seen >= sbi_model_size(model, "n")) return SB_OK;
    return sbi_fail(err, SB_ERR_FORMAT, status ? "feature_range" : "n_samples_seen", "fewer rows were seen than the last batch had, or the range is empty");
}
