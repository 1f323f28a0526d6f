// SPDX-License-Identifier: Apache-2.0
// Arrays of indices, int32 or int64, as gather, scatter and the embedding take them.
#ifndef SBI_INDEX_H
#define SBI_INDEX_H

#include "array.h"

// Of a dtype of indices, and every one in 0 .. limit - 1 (else SB_ERR_ARGUMENT, naming the first that is not).
sb_status sbi_index_check(const sb_array *indices, const char *name, int64_t limit, sb_error *err);
// The same for any array of uint8, int32 or int64.
sb_status sbi_index_range(const sb_array *a, const char *name, int64_t limit, sb_error *err);
// out: like x[v, ...], but indices' shape in place of v.
sb_status sbi_index_rows(const sb_array *x, const sb_array *indices, const sb_array *out, const char *name, sb_error *err);
// Indices as int64, by kernels: *wide is the array itself or *scratch, which the caller frees.
sb_status sbi_index_wide(sb_context *ctx, const sb_array *indices, const sb_array **wide, sb_array **scratch, sb_error *err);
#endif
