// SPDX-License-Identifier: Apache-2.0
// Truncated singular values.
//
// Problem. The k greatest singular values s_j of X, which is not centred, and their right vectors v_j: the k directions that keep most
// of the sum of squares.
//
// Method. randomized: a random subspace (linalg/random_svd.c; N. Halko and others, SIAM Review 53, 2011). arpack: the exact values
// (linalg/svd.c), of X in binary64.
//
// Order of arithmetic. randomized: as there, in the type of the data, k + n_oversamples vectors, n_iter iterations, normalized by QR unless
// power_iteration_normalizer is none (auto: where there are more than 2). k is n_components, or n where that is less. s, V rounded once
// to the type of the data; the entry of largest magnitude in a row of V^T, the first on a tie, is positive. With Z = X V^T (transform, a
// product of T3 in the type of the data): explained_variance_j = RN64(q_j / n), q as in standard_scaler.c without weights, of column j of
// Z; ratio_j = explained_variance_j / S over features of X of the same, 0 where that is 0. inverse_transform: the product of T3 of Z and V.
//
// Cost: 2 + 2 n_iter products n d (k + 10); exact 2 n d^2 and more.
//
// What can go wrong. k beyond the features is refused. Neighbouring singular values are not separated by few iterations.
#include "linalg.h"
#include "projection.h"

#define STREAM (UINT64_C(6) << 32)

static sb_status in_subspace(const sbi_call *call, int64_t k, double *s, double *vt, sb_error *err) {
    const sb_model *model = call->model;
    const int64_t iterations = sbi_model_integer(model, "n_iter");
    const sbi_random_svd_options options = {
        .k = k, .oversamples = sbi_model_integer(model, "n_oversamples"), .iterations = iterations, .stream = STREAM,
        .normalize = sbi_model_is(model, "power_iteration_normalizer", "auto") ? iterations > 2 : !sbi_model_is(model, "power_iteration_normalizer", "none"),
        .seed = sbi_model_seed(model, "random_state")};
    return sbi_random_svd(call->ctx, call->x, &options, s, vt, err);
}

static sb_status exactly(const sbi_call *call, int64_t k, double *s, double *vt, sb_error *err) {
    sb_context *ctx = call->ctx;
    const int64_t d = call->d, r = call->n < d ? call->n : d, vectors[2] = {r, d};
    const sb_array *x = NULL;
    sb_array *made = NULL, *values = NULL, *right = NULL;
    sb_status status;
    if ((status = sbi_array_as(ctx, SB_F64, call->x, &x, &made, err)) || (status = sbi_array_new(ctx, SB_F64, 1, &r, &values, err)) ||
        (status = sbi_array_new(ctx, SB_F64, 2, vectors, &right, err)) || (status = sbi_svd(ctx, x, NULL, values, right, err)))
        goto done;
    const sb_array some = sbi_some_rows(values, 0, k), rows = sbi_some_rows(right, 0, k);
    status = sbi_array_read(&some, s, (size_t)k * sizeof *s, err);
    if (status == SB_OK) status = sbi_array_read(&rows, vt, (size_t)(k * d) * sizeof *vt, err);
done:
    sbi_array_free(made);
    sbi_array_free(values);
    sbi_array_free(right);
    return status;
}

// each[columns] = RN64(q / n) of the columns of x; means: room for as many.
static sb_status variances(sb_context *ctx, const sb_array *x, double *means, double *each, sb_error *err) {
    sb_status status = sbi_column_moments(ctx, x, means, each, err);
    for (int64_t j = 0; j < x->shape[1] && status == SB_OK; j++) each[j] = each[j] / (double)x->shape[0];
    return status;
}

// explained_variance and its ratio, from the vectors of the model. numbers: room for 2 d.
static sb_status explain(const sbi_call *call, int64_t k, double *numbers, sb_error *err) {
    sb_context *ctx = call->ctx;
    const int64_t shape[2] = {call->n, k};
    sb_array *z = NULL;
    sb_status status = variances(ctx, call->x, numbers + call->d, numbers, err);
    const double total = status == SB_OK ? sbi_host_sum(call->d, numbers) : 0.0;
    if (status == SB_OK) status = sbi_array_new(ctx, call->x->dtype, 2, shape, &z, err);
    if (status == SB_OK) status = sbi_project(call, NULL, sbi_model_array(call->model, "components"), NULL, z, err);
    if (status == SB_OK) status = variances(ctx, z, numbers + call->d, numbers, err);
    if (status == SB_OK) status = sbi_model_fill(ctx, call->model, "explained_variance", numbers, err);
    for (int64_t j = 0; j < k; j++) numbers[j] = total > 0.0 ? numbers[j] / total : 0.0;
    if (status == SB_OK) status = sbi_model_fill(ctx, call->model, "explained_variance_ratio", numbers, err);
    sbi_array_free(z);
    return status;
}

sb_status sbi_truncated_svd_fit(sbi_call *call, sb_error *err) {
    sb_context *ctx = call->ctx;
    sb_model *model = call->model;
    const int64_t wanted = sbi_model_integer(model, "n_components"), d = call->d, k = wanted < call->n ? wanted : call->n;
    double *s = NULL, *vt = NULL;
    sb_status status = SB_OK;
    if (wanted > d)
        return sbi_fail(err, SB_ERR_ARGUMENT, "n_components", "n_components(%lld) must be <= n_features(%lld).", (long long)wanted, (long long)d);
    if (!(s = sbi_allocate(&ctx->allocator, 2 * d, sizeof *s, err)) || !(vt = sbi_allocate(&ctx->allocator, k * d, sizeof *vt, err))) {
        status = SB_ERR_MEMORY;
        goto done;
    }
    status = sbi_model_is(model, "algorithm", "arpack") ? exactly(call, k, s, vt, err) : in_subspace(call, k, s, vt, err);
    for (int64_t j = 0; j < k && status == SB_OK; j++)
        if (s[j] - s[j] != 0.0) status = sbi_fail(err, SB_ERR_NONFINITE, "x", "the singular values of x leave its type: scale the data");
    if (status != SB_OK) goto done;
    sbi_fix_row_signs(call->x->dtype, k, d, vt);
    if ((status = sbi_model_set_size(model, "k", k, err)) || (status = sbi_model_fill(ctx, model, "components", vt, err)) ||
        (status = sbi_model_fill(ctx, model, "singular_values", s, err)))
        goto done;
    status = explain(call, k, s, err);
done:
    sbi_release(&ctx->allocator, s);
    sbi_release(&ctx->allocator, vt);
    return status;
}

sb_status sbi_truncated_svd_transform(sbi_call *call, sb_error *err) {
    return sbi_project(call, NULL, sbi_model_array(call->model, "components"), NULL, call->out, err);
}

sb_status sbi_truncated_svd_inverse_transform(sbi_call *call, sb_error *err) {
    const sb_array *components = NULL;
    sb_array *made = NULL;
    sb_status status = sbi_array_as(call->ctx, call->x->dtype, sbi_model_array(call->model, "components"), &components, &made, err);
    if (status == SB_OK) status = sbi_gemm(call->ctx, NULL, call->x, components, NULL, call->out, err);
    sbi_array_free(made);
    return status;
}

sb_status sbi_truncated_svd_check(const sb_model *model, sb_error *err) {
    if (sbi_model_size(model, "k") < 1 || sbi_model_size(model, "d") < 1)
        return sbi_fail(err, SB_ERR_FORMAT, "components", "%lld singular vectors", (long long)sbi_model_size(model, "k"));
    return sbi_model_check_numbers(model, "components", -__builtin_inf(), err);
}
