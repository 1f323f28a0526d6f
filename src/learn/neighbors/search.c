// SPDX-License-Identifier: Apache-2.0
// What estimators of neighbours share. Order of arithmetic: kernels/neighbors.cl; neighbours are ordered by how far they are before
// the last step, then by number; a distance is that last step's RN64, and where it is given out one rounding more.
#include "search.h"

#include <string.h>

sbi_metric sbi_search_metric(const sb_model *model, double *p) {
    static const struct { const char *name; sbi_metric metric; } names[] = {
        {"euclidean", SBI_EUCLIDEAN}, {"l2", SBI_EUCLIDEAN}, {"manhattan", SBI_MANHATTAN}, {"cityblock", SBI_MANHATTAN}, {"l1", SBI_MANHATTAN},
        {"chebyshev", SBI_CHEBYSHEV}, {"cosine", SBI_COSINE}};
    const double power = sbi_model_is(model, "p", "none") ? 2.0 : sbi_model_real(model, "p");
    *p = 1.0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (sbi_model_is(model, "metric", names[i].name)) return names[i].metric;
    if (power == 1.0) return SBI_MANHATTAN;
    if (power == 2.0) return SBI_EUCLIDEAN;
    if (power - power != 0.0) return SBI_CHEBYSHEV;
    *p = power;
    return SBI_MINKOWSKI;
}

sb_status sbi_search_keep(sbi_call *call, sb_error *err) {
    sb_array *kept = NULL;
    sb_status status = sbi_model_make(call->ctx, call->model, "fit_x", &kept, err);
    if (status == SB_OK) status = sbi_copy(call->ctx, call->x, kept, err);
    return status ? status : sbi_model_fill_integers(call->ctx, call->model, "n_samples_fit", &call->n, err);
}

sb_status sbi_search_nearest(const sbi_call *call, double **distance, int64_t **index, sb_error *err) {
    sb_context *ctx = call->ctx;
    const int64_t k = sbi_model_integer(call->model, "n_neighbors"), m = sbi_model_size(call->model, "n"), shape[2] = {call->n, k};
    const sb_array *points = NULL;
    sb_array *made = NULL, *far = NULL, *places = NULL;
    double p;
    const sbi_metric metric = sbi_search_metric(call->model, &p);
    sb_status status;
    *distance = NULL;
    *index = NULL;
    if (k > m - call->itself)
        return sbi_fail(err, SB_ERR_ARGUMENT, "n_neighbors", "Expected n_neighbors %s n_samples_fit, but n_neighbors = %lld, n_samples_fit = %lld, n_samples = %lld",
                        call->itself ? "<" : "<=", (long long)k, (long long)m, (long long)call->n);
    if ((status = sbi_array_as(ctx, call->x->dtype, sbi_model_array(call->model, "fit_x"), &points, &made, err)) ||
        (status = sbi_array_new(ctx, SB_F64, 2, shape, &far, err)) || (status = sbi_array_new(ctx, SB_I64, 2, shape, &places, err)) ||
        (status = sbi_neighbors(ctx, call->x, points, k, metric, p, call->itself ? 0 : -1, far, places, err)) ||
        (status = sbi_reach(ctx, metric, p, far, err)) || (status = sbi_read_reals(ctx, far, distance, err)))
        goto done;
    if (!(*index = sbi_allocate(&ctx->allocator, call->n * k, sizeof **index, err)))
        status = SB_ERR_MEMORY;
    else
        status = sbi_array_read(places, *index, (size_t)(call->n * k) * sizeof **index, err);
done:
    sbi_array_free(made);
    sbi_array_free(far);
    sbi_array_free(places);
    if (status != SB_OK) {
        sbi_release(&ctx->allocator, *distance);
        sbi_release(&ctx->allocator, *index);
        *distance = NULL;
        *index = NULL;
    }
    return status;
}

sb_status sbi_search_kneighbors(sbi_call *call, sb_error *err) {
    double *distance = NULL;
    int64_t *index = NULL;
    sb_status status = sbi_search_nearest(call, &distance, &index, err);
    if (status == SB_OK) status = sbi_write_reals(call->ctx, distance, call->out, err);
    if (status == SB_OK && call->more[0]) status = sbi_array_write(call->more[0], index, (size_t)call->more[0]->size * sizeof *index, err);
    sbi_release(&call->ctx->allocator, distance);
    sbi_release(&call->ctx->allocator, index);
    return status;
}

void sbi_search_weights(const sb_model *model, int64_t k, const double *distance, double *weights) {
    const bool by_distance = sbi_model_is(model, "weights", "distance");
    const bool hit = distance[0] == 0.0; // (nearest first)
    for (int64_t i = 0; i < k; i++) weights[i] = !by_distance ? 1.0 : hit ? (distance[i] == 0.0 ? 1.0 : 0.0) : 1.0 / distance[i];
}
