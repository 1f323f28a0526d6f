// SPDX-License-Identifier: Apache-2.0
// The linear layer. (Norms, attention, the gated unit and the losses are operations already.)
#include "nn.h"

sb_status sbi_linear(sb_context *ctx, const sb_array *x, const sb_array *w, const sb_array *b,
                     bool accumulate, sb_array *y, sb_error *err) {
    sb_gemm_options options = {.size = sizeof options, .transpose_b = 1, .accumulate = accumulate};
    return sbi_gemm(ctx, &options, x, w, b, y, err);
}

sb_status sbi_linear_backward(sb_context *ctx, const sb_array *x, const sb_array *w,
                              const sb_array *dy, bool accumulate, sb_array *dx, sb_array *dw,
                              sb_array *db, sb_error *err) {
    sb_status status = SB_OK;
    if (dx) {
        sb_gemm_options options = {.size = sizeof options, .accumulate = accumulate};
        status = sbi_gemm(ctx, &options, dy, w, NULL, dx, err);
    }
    if (status == SB_OK) {
        sb_gemm_options options = {.size = sizeof options, .transpose_a = 1};
        status = sbi_gemm(ctx, &options, dy, x, NULL, dw, err);
    }
    if (status == SB_OK && db) status = sbi_reduce(ctx, SB_SUM, 0, dy, db, err);
    return status;
}
