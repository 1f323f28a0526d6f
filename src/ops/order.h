// SPDX-License-Identifier: Apache-2.0
// Stable order of rows of keys: the ground of sort, argsort, permutation and the embedding's gradient.
#ifndef SBI_ORDER_H
#define SBI_ORDER_H

#include "array.h"

// order[rows, n] int64: the positions 0 .. n-1 of every row by ascending key, equal keys by position. Only the lowest
// `bits` bits of the uint64 keys may differ within a row. Overwrites the keys. By kernels: not for the reference.
sb_status sbi_order(sb_context *ctx, sb_array *keys, int64_t rows, int64_t n, int bits, sb_array *order,
                    sb_error *err);
#endif
