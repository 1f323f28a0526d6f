// SPDX-License-Identifier: Apache-2.0
// Among the rows of a fit: what estimators of neighbours share.
#ifndef SBI_SEARCH_H
#define SBI_SEARCH_H

#include "learn.h"

// The metric that the parameters name; *p is its power.
sbi_metric sbi_search_metric(const sb_model *model, double *p);
// fit: keeps x as fit_x, and how many rows it has.
sb_status sbi_search_keep(sbi_call *call, sb_error *err);
// The nearest n_neighbors rows of fit_x to each row of x: their distances and numbers, [n, n_neighbors] each, to be released.
sb_status sbi_search_nearest(const sbi_call *call, double **distance, int64_t **index, sb_error *err);
// The method kneighbors.
sb_status sbi_search_kneighbors(sbi_call *call, sb_error *err);
// The weights[k] of neighbours by their distances: 1 each, or with weights=distance one over the distance, where some are 0 those alone, 1 each.
void sbi_search_weights(const sb_model *model, int64_t k, const double *distance, double *weights);
#endif
