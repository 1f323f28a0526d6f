// SPDX-License-Identifier: Apache-2.0
// Histograms of integer codes, by feature (contract T9). Codes are read and checked before anything is written.
#include "check.h"
#include "index.h"
#include "ops.h"

enum { N, FEATURES, BINS };
enum { ROWS_A_PART = 16384, MOST_PARTS = 64, FEATURES_A_GROUP = 64, LANES = 256 };
static const int64_t most_counts = (int64_t)1 << 25; // in all parts: 256 MiB

static sb_status histogram_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *codes = op->in[0], *weights = op->in[1], *wide = NULL;
    int64_t n = op->n[N], features = op->n[FEATURES], size = op->out[0]->size;
    int64_t parts = n / ROWS_A_PART + 1, rows;
    if (parts > MOST_PARTS) parts = MOST_PARTS;
    if (parts > most_counts / size) parts = most_counts / size + (most_counts < size);
    rows = n / parts + 1;
    sb_array *part = NULL, *scratch = NULL;
    sb_status status = sbi_scratch(ctx, SB_U64, parts * size, &part, err);
    if (!status && weights) status = sbi_index_wide(ctx, weights, &wide, &scratch, err);
    if (!status) {
        const sbi_arg args[] = {SBI_IN(codes), SBI_IN(wide), SBI_OUT(part), SBI_INT(n), SBI_INT(features),
                                SBI_INT(op->n[BINS]), SBI_INT(rows)};
        status = sbi_launch(ctx, codes->dtype == SB_U8 ? SBI_ID_k_histogram_u8 : SBI_ID_k_histogram_i32,
                            parts * ((features - 1) / FEATURES_A_GROUP + 1), args, err);
    }
    if (!status) {
        const sbi_arg args[] = {SBI_IN(part), SBI_OUT(op->out[0]), SBI_INT(parts), SBI_INT(size)};
        status = sbi_launch(ctx, SBI_ID_k_histogram_sum, (size - 1) / LANES + 1, args, err);
    }
    sbi_array_free(scratch);
    sbi_array_free(part);
    return status;
}

sb_status sbi_histogram(sb_context *ctx, const sb_array *codes, const sb_array *weights, sb_array *counts, sb_error *err) {
    sb_status status;
    if (codes->dtype != SB_U8 && codes->dtype != SB_I32)
        return sbi_fail(err, SB_ERR_DTYPE, "codes", "codes is %s, it must be uint8 or int32", sbi_dtype_name(codes->dtype));
    if (codes->ndim != 1 && codes->ndim != 2)
        return sbi_fail(err, SB_ERR_SHAPE, "codes", "codes has %d dimensions, it must have 1 or 2", codes->ndim);
    if (weights && weights->dtype != SB_I32 && weights->dtype != SB_I64)
        return sbi_fail(err, SB_ERR_DTYPE, "weights", "weights is %s, it must be int32 or int64", sbi_dtype_name(weights->dtype));
    if (weights && ((status = sbi_check_ndim(weights, "weights", 1, err)) ||
                    (status = sbi_check_length(weights, "weights", 0, codes->shape[0], err))))
        return status;
    if ((status = sbi_check_dtype(counts, "counts", SB_I64, err)) || (status = sbi_check_ndim(counts, "counts", codes->ndim, err)) ||
        (codes->ndim == 2 && (status = sbi_check_length(counts, "counts", 0, codes->shape[1], err))))
        return status;
    int64_t bins = counts->shape[counts->ndim - 1];
    if (codes->dtype != SB_U8 || bins < 256)
        if ((status = sbi_index_range(codes, "codes", bins, err))) return status;
    const sbi_op op = {.id = SBI_OP_HISTOGRAM, .kernels = histogram_kernels, .in = {codes, weights}, .out = {counts},
                       .n = {codes->shape[0], codes->ndim == 2 ? codes->shape[1] : 1, bins}};
    return sbi_run(ctx, &op, err);
}
