// SPDX-License-Identifier: Apache-2.0
// Running sums over the last axis (contract T2).
#include "check.h"
#include "ops.h"

enum { ROWS, COUNT, EXCLUSIVE, REVERSE };
enum { CHUNK = 256, CHUNKS_A_GROUP = 16 };

typedef struct scan_type {
    sbi_kernel_id totals, bases, sums;
    sb_dtype sum;
} scan_type;

static scan_type type_of(sb_dtype dtype) {
    if (dtype == SB_I32)
        return (scan_type){SBI_ID_k_scan_totals_i32, SBI_ID_k_scan_bases_i32, SBI_ID_k_scan_sums_i32, SB_U32};
    if (dtype == SB_I64)
        return (scan_type){SBI_ID_k_scan_totals_i64, SBI_ID_k_scan_bases_i64, SBI_ID_k_scan_sums_i64, SB_U64};
    return (scan_type){SBI_TYPED(dtype, k_scan_totals), SBI_TYPED(dtype, k_scan_bases), SBI_TYPED(dtype, k_scan_sums), SB_F64};
}

static sb_status scan_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *x = op->in[0];
    scan_type type = type_of(x->dtype);
    int64_t rows = op->n[ROWS], n = op->n[COUNT], chunks = (n - 1) / CHUNK + 1, all = rows * chunks;
    int64_t groups = (all - 1) / CHUNKS_A_GROUP + 1;
    sb_array *base = NULL;
    sb_status status = sbi_scratch(ctx, type.sum, all, &base, err); // zeros: right where a row is one chunk
    const sbi_arg totals[] = {SBI_IN(x), SBI_OUT(base), SBI_INT(n), SBI_INT(all), SBI_INT(op->n[REVERSE])};
    if (!status && chunks > 1) status = sbi_launch(ctx, type.totals, groups, totals, err);
    const sbi_arg bases[] = {SBI_OUT(base), SBI_INT(chunks)};
    if (!status && chunks > 1) status = sbi_launch(ctx, type.bases, rows, bases, err);
    const sbi_arg sums[] = {SBI_IN(x), SBI_IN(base), SBI_OUT(op->out[0]), SBI_INT(n), SBI_INT(all), SBI_INT(op->n[REVERSE]),
                            SBI_INT(op->n[EXCLUSIVE])};
    if (!status) status = sbi_launch(ctx, type.sums, groups, sums, err);
    sbi_array_free(base);
    return status;
}

sb_status sbi_scan(sb_context *ctx, const sb_array *x, int exclusive, int reverse, sb_array *y, sb_error *err) {
    sb_status status;
    if (x->dtype != SB_F32 && x->dtype != SB_F64 && x->dtype != SB_I32 && x->dtype != SB_I64)
        return sbi_fail(err, SB_ERR_DTYPE, "x", "x is %s, it must be float32, float64, int32 or int64", sbi_dtype_name(x->dtype));
    if (x->ndim == 0) return sbi_fail(err, SB_ERR_SHAPE, "x", "x has no axis to sum along");
    if ((status = sbi_check_dtype(y, "y", x->dtype, err)) || (status = sbi_check_like(y, "y", x, "x", err))) return status;
    int64_t n = x->shape[x->ndim - 1];
    const sbi_op op = {.id = SBI_OP_SCAN, .kernels = scan_kernels, .in = {x}, .out = {y},
                       .n = {n ? x->size / n : 0, n, exclusive != 0, reverse != 0}};
    return sbi_run(ctx, &op, err);
}
