// SPDX-License-Identifier: Apache-2.0
// Standard scaler.
//
// Problem. Features of different units: x_ij becomes (x_ij - m_j) / s_j, with m_j the mean and s_j the standard deviation
// (divisor: the weight) of feature j over the fit; an entry that is NaN is missing, and stays so.
//
// Method. Moments by two passes (contract T2), and where rows come in batches their combination (moments.c).
//
// Order of arithmetic, in binary64. Of a batch, over the rows that are there and weigh something, in their order:
// W = S(w), m = RN64(S(RN64(w x)) / W), Q = S(RN64(w RN64(t t))) with t = RN64(x - m); without weights no product with w. Where
// the least and the greatest entry of a feature are equal, m is that number (so Q is +0): a constant stays constant to the bit,
// in however many batches it comes. Batches are joined as moments.c says.
// var = RN64(Q / W); scale = RN64(sqrt(var)), 1 where var is 0.
// transform: RN(RN64(RN64(x - m) / scale)), one rounding out; backwards RN(RN64(RN64(x scale) + m)).
//
// Cost: five readings of the data for a fit, one for a transform.
//
// What can go wrong. A feature of nothing but NaN has mean and scale NaN. Values near the largest number overflow in Q: the
// variance is infinite and the feature becomes 0. scikit-learn calls features constant whose variance is below what its own
// rounding may have made; here only what is constant is.
#include "learn.h"

static const char *const names[SBI_MOMENTS] = {"n_samples_seen", "mean", "squares", "low", "high"};

static sb_status fit(sbi_call *call, bool goes_on, sb_error *err) {
    const int64_t d = call->d, shape[2] = {SBI_MOMENTS, d};
    sb_context *ctx = call->ctx;
    sb_array *moments = NULL;
    double *now = NULL, *before = NULL, *var = NULL;
    sb_status status;
    if ((status = sbi_array_new(ctx, SB_F64, 2, shape, &moments, err)) ||
        (status = sbi_moments(ctx, call->x, call->weights, moments, err)) || (status = sbi_read_reals(ctx, moments, &now, err)))
        goto done;
    if (!(before = sbi_allocate(&ctx->allocator, SBI_MOMENTS * d, sizeof *before, err)) ||
        !(var = sbi_allocate(&ctx->allocator, d, sizeof *var, err))) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    for (int i = 0; i < SBI_MOMENTS && goes_on; i++)
        if ((status = sbi_array_read(sbi_model_array(call->model, names[i]), before + i * d, (size_t)d * sizeof *before, err))) goto done;
    if (goes_on) sbi_moments_join(d, before, now);
    for (int i = 0; i < SBI_MOMENTS; i++)
        if ((status = sbi_model_fill(ctx, call->model, names[i], now + i * d, err))) goto done;
    for (int64_t j = 0; j < d; j++) var[j] = now[SBI_SQUARES * d + j] / now[SBI_WEIGHT * d + j];
    if ((status = sbi_model_fill(ctx, call->model, "var", var, err)) || !sbi_model_flag(call->model, "with_std")) goto done;
    for (int64_t j = 0; j < d; j++) var[j] = var[j] == 0.0 ? 1.0 : __builtin_sqrt(var[j]);
    status = sbi_model_fill(ctx, call->model, "scale", var, err);
done:
    sbi_array_free(moments);
    sbi_release(&ctx->allocator, now);
    sbi_release(&ctx->allocator, before);
    sbi_release(&ctx->allocator, var);
    return status;
}

sb_status sbi_standard_scaler_fit(sbi_call *call, sb_error *err) { return fit(call, false, err); }

sb_status sbi_standard_scaler_partial_fit(sbi_call *call, sb_error *err) {
    return fit(call, sbi_model_array(call->model, "mean") != NULL, err);
}

static sb_status scale(sbi_call *call, int back, sb_error *err) {
    const bool centred = sbi_model_flag(call->model, "with_mean");
    return sbi_columns(call->ctx, call->x, centred ? sbi_model_array(call->model, "mean") : NULL, sbi_model_array(call->model, "scale"),
                       back, call->out, err);
}
sb_status sbi_standard_scaler_transform(sbi_call *call, sb_error *err) { return scale(call, 0, err); }
sb_status sbi_standard_scaler_inverse_transform(sbi_call *call, sb_error *err) { return scale(call, 1, err); }

sb_status sbi_standard_scaler_check(const sb_model *model, sb_error *err) {
    const sb_array *given = sbi_model_array(model, "scale");
    const bool wanted = sbi_model_flag(model, "with_std"), kept = sbi_model_array(model, "squares") != NULL;
    if (kept != (sbi_model_array(model, "low") != NULL) || kept != (sbi_model_array(model, "high") != NULL))
        return sbi_fail(err, SB_ERR_FORMAT, "squares", "of squares, low and high some are there and some are not");
    if (wanted == (given != NULL)) return SB_OK;
    return sbi_fail(err, SB_ERR_FORMAT, "scale", "scale is there although with_std says otherwise, or missing");
}
