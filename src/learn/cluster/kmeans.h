// SPDX-License-Identifier: Apache-2.0
// What others take from k-means.
#ifndef SBI_KMEANS_H
#define SBI_KMEANS_H

#include "learn.h"

// rows[k] of call->x as k-means++ draws them for start number `start`, by the seed `random_state` of call's model (kmeans.c).
sb_status sbi_kmeans_careful_rows(const sbi_call *call, int64_t k, int64_t start, int64_t *rows, sb_error *err);
#endif
