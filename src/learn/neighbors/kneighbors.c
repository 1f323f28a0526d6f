// SPDX-License-Identifier: Apache-2.0
// Classes and targets by nearest neighbours.
//
// Problem. For a row the class that the weights of its k nearest neighbours favour, or the weighted mean of their targets.
//
// Method. nearest_neighbors.c finds them. (T. M. Cover, P. E. Hart, Nearest neighbor pattern classification, 1967.)
//
// Order of arithmetic, in binary64. The weight of a neighbour is 1, or with weights=distance RN64(1 / distance), the distance before
// its last rounding; where some are at distance 0 they alone count, 1 each. Votes of a class: its neighbours' weights added, nearest first,
// from +0; V the S of all classes' votes. Probability RN64(votes / V); predict: the first class of the most votes. Target:
// RN(RN64(S(RN64(w y)) / S(w))), terms numbered by rank.
//
// Cost: that of the search.
//
// What can go wrong. Distances that are all infinite give weights of 0: probabilities and targets are then NaN, and predict says the
// first class. scikit-learn also takes a function for weights, and several columns of classes; they are not there.
#include "search.h"

#include <string.h>

static sb_status keep(sbi_call *call, sb_error *err) {
    const sb_array *y = NULL;
    sb_array *kept = NULL, *made = NULL;
    sb_status status = sbi_search_keep(call, err);
    if (status == SB_OK) status = sbi_model_make(call->ctx, call->model, "fit_y", &kept, err);
    if (status == SB_OK && call->y->dtype == SB_I64) return sbi_copy(call->ctx, call->y, kept, err);
    if (status == SB_OK) status = sbi_array_as(call->ctx, kept->dtype, call->y, &y, &made, err);
    if (status == SB_OK) status = sbi_copy(call->ctx, y, kept, err);
    sbi_array_free(made);
    return status;
}

sb_status sbi_kneighbors_classifier_fit(sbi_call *call, sb_error *err) { return keep(call, err); }
sb_status sbi_kneighbors_regressor_fit(sbi_call *call, sb_error *err) { return keep(call, err); }
sb_status sbi_kneighbors_classifier_kneighbors(sbi_call *call, sb_error *err) { return sbi_search_kneighbors(call, err); }
sb_status sbi_kneighbors_regressor_kneighbors(sbi_call *call, sb_error *err) { return sbi_search_kneighbors(call, err); }

// votes[n, c], to be released.
static sb_status count_votes(const sbi_call *call, double **out, sb_error *err) {
    const sbi_allocator *allocator = &call->ctx->allocator;
    const int64_t k = sbi_model_integer(call->model, "n_neighbors"), c = sbi_model_size(call->model, "c");
    double *distance = NULL, *y = NULL, *votes = NULL, *weights = NULL;
    int64_t *index = NULL;
    sb_status status = sbi_search_nearest(call, &distance, &index, err);
    if (status == SB_OK) status = sbi_read_reals(call->ctx, sbi_model_array(call->model, "fit_y"), &y, err);
    if (status == SB_OK) {
        votes = sbi_allocate(allocator, call->n * c, sizeof *votes, err);
        weights = sbi_allocate(allocator, k, sizeof *weights, err);
        status = votes && weights ? SB_OK : SB_ERR_MEMORY;
    }
    for (int64_t i = 0; i < call->n && status == SB_OK; i++) {
        sbi_search_weights(call->model, k, distance + i * k, weights);
        for (int64_t j = 0; j < k; j++) {
            double *vote = &votes[i * c + (int64_t)y[index[i * k + j]]];
            *vote = *vote + weights[j];
        }
    }
    sbi_release(allocator, distance);
    sbi_release(allocator, index);
    sbi_release(allocator, y);
    sbi_release(allocator, weights);
    if (status == SB_OK)
        *out = votes;
    else
        sbi_release(allocator, votes);
    return status;
}

sb_status sbi_kneighbors_classifier_predict(sbi_call *call, sb_error *err) {
    const int64_t c = sbi_model_size(call->model, "c");
    double *votes = NULL;
    int64_t *label = NULL;
    sb_status status = count_votes(call, &votes, err);
    if (status == SB_OK && !(label = sbi_allocate(&call->ctx->allocator, call->n, sizeof *label, err))) status = SB_ERR_MEMORY;
    for (int64_t i = 0; i < call->n && status == SB_OK; i++)
        for (int64_t j = 1; j < c; j++)
            if (votes[i * c + j] > votes[i * c + label[i]]) label[i] = j;
    if (status == SB_OK) status = sbi_array_write(call->out, label, (size_t)call->n * sizeof *label, err);
    sbi_release(&call->ctx->allocator, votes);
    sbi_release(&call->ctx->allocator, label);
    return status;
}

sb_status sbi_kneighbors_classifier_predict_proba(sbi_call *call, sb_error *err) {
    const int64_t c = sbi_model_size(call->model, "c");
    double *votes = NULL;
    sb_status status = count_votes(call, &votes, err);
    for (int64_t i = 0; i < call->n && status == SB_OK; i++) {
        const double total = sbi_host_sum(c, votes + i * c);
        for (int64_t j = 0; j < c; j++) votes[i * c + j] = votes[i * c + j] / total;
    }
    if (status == SB_OK) status = sbi_write_reals(call->ctx, votes, call->out, err);
    sbi_release(&call->ctx->allocator, votes);
    return status;
}

sb_status sbi_kneighbors_classifier_score(sbi_call *call, sb_error *err) { return sbi_classifier_score(call, sbi_kneighbors_classifier_predict, err); }

sb_status sbi_kneighbors_regressor_predict(sbi_call *call, sb_error *err) {
    const sbi_allocator *allocator = &call->ctx->allocator;
    const int64_t n = call->n, k = sbi_model_integer(call->model, "n_neighbors"), known = sbi_model_size(call->model, "t"), t = known < 0 ? 1 : known;
    double *distance = NULL, *y = NULL, *weights = NULL, *terms = NULL, *result = NULL;
    int64_t *index = NULL;
    sb_status status = sbi_search_nearest(call, &distance, &index, err);
    if (status == SB_OK) status = sbi_read_reals(call->ctx, sbi_model_array(call->model, "fit_y"), &y, err);
    if (status == SB_OK) {
        weights = sbi_allocate(allocator, k, sizeof *weights, err);
        terms = sbi_allocate(allocator, k, sizeof *terms, err);
        result = sbi_allocate(allocator, n * t, sizeof *result, err);
        status = weights && terms && result ? SB_OK : SB_ERR_MEMORY;
    }
    for (int64_t i = 0; i < n && status == SB_OK; i++) {
        sbi_search_weights(call->model, k, distance + i * k, weights);
        const double total = sbi_host_sum(k, weights);
        for (int64_t j = 0; j < t; j++) {
            for (int64_t r = 0; r < k; r++) terms[r] = weights[r] * y[index[i * k + r] * t + j];
            result[i * t + j] = sbi_host_sum(k, terms) / total;
        }
    }
    if (status == SB_OK) status = sbi_write_reals(call->ctx, result, call->out, err);
    void *const all[] = {distance, index, y, weights, terms, result};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sbi_release(allocator, all[i]);
    return status;
}

sb_status sbi_kneighbors_regressor_score(sbi_call *call, sb_error *err) { return sbi_regressor_score(call, sbi_kneighbors_regressor_predict, err); }

sb_status sbi_kneighbors_classifier_check(const sb_model *model, sb_error *err) {
    const sb_array *y = sbi_model_array(model, "fit_y");
    const int64_t c = sbi_model_size(model, "c");
    int64_t *values = sbi_allocate(&model->allocator, y->size, sizeof *values, err);
    sb_status status = values ? sbi_array_read(y, values, (size_t)y->size * sizeof *values, err) : SB_ERR_MEMORY;
    for (int64_t i = 0; i < y->size && status == SB_OK; i++)
        if (values[i] < 0 || values[i] >= c) status = sbi_fail(err, SB_ERR_FORMAT, "fit_y", "row %lld has class %lld, of %lld", (long long)i, (long long)values[i], (long long)c);
    sbi_release(&model->allocator, values);
    return status;
}

sb_status sbi_kneighbors_regressor_check(const sb_model *model, sb_error *err) {
    (void)model, (void)err; // shapes are all there is
    return SB_OK;
}
