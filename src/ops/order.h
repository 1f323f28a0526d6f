// SPDX-License-Identifier: Apache-2.0
// Stable order of rows of keys: the ground of sort, argsort, permutation and scatter.
#ifndef SBI_ORDER_H
#define SBI_ORDER_H

#include "array.h"

// order[rows, n] int64: the positions 0 .. n-1 of every row by ascending key, equal keys by position. Only the lowest
// `bits` bits of the uint64 keys may differ within a row. Overwrites the keys. By kernels: not for the reference.
sb_status sbi_order(sb_context *ctx, sb_array *keys, int64_t rows, int64_t n, int bits, sb_array *order,
                    sb_error *err);

// The uint64 keys of x, whose order is that of T1, either way: kernels.
sb_status sbi_order_keys(sb_context *ctx, const sb_array *x, int descending, sb_array *keys, sb_error *err);
int sbi_order_bits(sb_dtype dtype); // that may differ in these keys; 0: the type has no order here

// places[rows, k] int64: the first k positions of every row in that order, 0 <= k <= n. Overwrites the keys.
sb_status sbi_order_top(sb_context *ctx, sb_array *keys, int64_t rows, int64_t n, int bits, int64_t k, sb_array *places,
                        sb_error *err);

// out[rows, k] = x[row, index[row, j]], rows of x n long, bits kept: kernels.
sb_status sbi_take(sb_context *ctx, const sb_array *x, const sb_array *index, int64_t rows, int64_t n, int64_t k,
                   sb_array *out, sb_error *err);
#endif
