// SPDX-License-Identifier: Apache-2.0
// Reductions over an axis or over everything, and the totals that hosts read (contract T2).
#include "check.h"
#include "fold.h"

enum { KIND, OUTER, COUNT, INNER };

static int64_t blocks_of(int64_t count) { return count > 4096 ? (count - 1) / 4096 + 1 : 1; }
static int64_t tiles_of(int64_t inner) { return (inner - 1) / 64 + 1; }

static sb_status fold_level(sb_context *ctx, const sbi_fold *fold, int64_t blocks, bool last, sb_array *total,
                            sb_array *out, sb_error *err) {
    sbi_arg args[3 + 8];
    int64_t tiles = tiles_of(fold->inner);
    const sbi_arg rest[8] = {SBI_OUT(total), SBI_OUT(out), SBI_INT(fold->count), SBI_INT(fold->inner), SBI_INT(blocks),
                             SBI_INT(tiles), SBI_INT(last), SBI_REAL(last ? fold->divisor : 1.0)};
    for (int i = 0; i < fold->inputs; i++) args[i] = fold->input[i];
    for (int i = 0; i < 8; i++) args[fold->inputs + i] = rest[i];
    return sbi_launch(ctx, fold->first, fold->outer * blocks * tiles, args, err);
}

sb_status sbi_fold_run(sb_context *ctx, const sbi_fold *fold, sb_array *out, sb_array *total, sb_error *err) {
    sbi_fold level = *fold;
    sb_array *from = NULL, *to = NULL;
    sb_status status = SB_OK;
    if (fold->outer == 0 || fold->inner == 0) return SB_OK;
    for (int64_t blocks; (blocks = blocks_of(level.count)) > 1; level.count = blocks) {
        status = sbi_scratch(ctx, fold->dtype, fold->outer * blocks * fold->inner, &to, err);
        if (status == SB_OK) status = fold_level(ctx, &level, blocks, false, to, NULL, err);
        sbi_array_free(from);
        from = to;
        to = NULL;
        if (status != SB_OK) goto done;
        level.first = fold->above;
        level.inputs = 1;
        level.input[0] = (sbi_arg)SBI_IN(from);
    }
    status = fold_level(ctx, &level, 1, out != NULL, total, out, err);
done:
    sbi_array_free(from);
    return status;
}

static sb_status argmax_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    int64_t outer = op->n[OUTER], count = op->n[COUNT], inner = op->n[INNER];
    int64_t blocks = blocks_of(count), tiles = tiles_of(inner);
    sb_array *candidates = NULL;
    sb_status status = SB_OK;
    if (blocks > 1) status = sbi_scratch(ctx, SB_I64, outer * blocks * inner, &candidates, err);
    if (status == SB_OK) {
        const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_OUT(blocks > 1 ? candidates : op->out[0]), SBI_INT(count),
                                SBI_INT(inner), SBI_INT(blocks), SBI_INT(tiles)};
        status = sbi_launch(ctx, SBI_ID_k_argmax_block_f32, outer * blocks * tiles, args, err);
    }
    if (status == SB_OK && blocks > 1) {
        const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(candidates), SBI_OUT(op->out[0]), SBI_INT(count),
                                SBI_INT(inner), SBI_INT(blocks), SBI_INT(tiles)};
        status = sbi_launch(ctx, SBI_ID_k_argmax_last_f32, outer * tiles, args, err);
    }
    sbi_array_free(candidates);
    return status;
}

static sb_status reduce_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    sbi_fold fold = {.first = SBI_ID_k_sum_block_f32, .above = SBI_ID_k_sum_block_f64, .dtype = SB_F64,
                     .outer = op->n[OUTER], .count = op->n[COUNT], .inner = op->n[INNER], .divisor = 1.0,
                     .inputs = 1, .input = {SBI_IN(op->in[0])}};
    if (fold.outer == 0 || fold.inner == 0) return SB_OK;
    if (op->n[KIND] == SB_ARGMAX) return argmax_kernels(ctx, op, err);
    if (op->n[KIND] == SB_MEAN) fold.divisor = (double)fold.count;
    if (op->n[KIND] == SB_MAX) {
        fold.first = fold.above = SBI_ID_k_max_block_f32;
        fold.dtype = SB_F32;
    }
    return sbi_fold_run(ctx, &fold, op->out[0], NULL, err);
}

sb_status sbi_reduce(sb_context *ctx, sb_reduction kind, int axis, const sb_array *x, sb_array *out, sb_error *err) {
    static const char *const names[] = {"", "sum", "mean", "maximum", "argmax"};
    sbi_op op = {.id = SBI_OP_REDUCE, .kernels = reduce_kernels, .in = {x}, .out = {out}, .n = {kind, 1, x->size, 1}};
    int64_t shape[SB_MAX_DIMS];
    int ndim = 0;
    if (kind < SB_SUM || kind > SB_ARGMAX)
        return sbi_fail(err, SB_ERR_ARGUMENT, "kind", "kind is %d, which is no reduction", (int)kind);
    sb_status status = sbi_check_dtype(x, "x", SB_F32, err);
    if (status == SB_OK) status = sbi_check_dtype(out, "out", kind == SB_ARGMAX ? SB_I64 : SB_F32, err);
    if (status != SB_OK) return status;
    if (axis != SB_ALL) {
        int a = axis < 0 ? axis + x->ndim : axis;
        if (a < 0 || a >= x->ndim)
            return sbi_fail(err, SB_ERR_ARGUMENT, "axis", "axis is %d, x has %d dimensions", axis, x->ndim);
        op.n[COUNT] = x->shape[a];
        for (int i = 0; i < a; i++) op.n[OUTER] *= x->shape[i];
        for (int i = a + 1; i < x->ndim; i++) op.n[INNER] *= x->shape[i];
        for (int i = 0; i < x->ndim; i++)
            if (i != a) shape[ndim++] = x->shape[i];
    }
    if ((status = sbi_check_ndim(out, "out", ndim, err))) return status;
    for (int i = 0; i < ndim; i++)
        if ((status = sbi_check_length(out, "out", i, shape[i], err))) return status;
    if (kind != SB_SUM && op.n[COUNT] == 0 && out->size > 0)
        return sbi_fail(err, SB_ERR_EMPTY, "x", "the %s of nothing: x has no element along the axis", names[kind]);
    return sbi_run(ctx, &op, err);
}

static sb_status total_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *x = op->in[0];
    bool squares = op->n[1] != 0, wide = x->dtype == SB_F64;
    sbi_kernel_id narrow = squares ? SBI_ID_k_square_block_f32 : SBI_ID_k_sum_block_f32;
    sbi_fold fold = {.first = narrow, .above = SBI_ID_k_sum_block_f64, .dtype = SB_F64, .outer = 1, .count = op->n[0],
                     .inner = 1, .divisor = 1.0, .inputs = 1, .input = {SBI_IN(x)}};
    if (wide) fold.first = squares ? SBI_ID_k_square_block_f64 : SBI_ID_k_sum_block_f64;
    sb_array *total = NULL;
    sb_status status = sbi_scratch(ctx, SB_F64, 1, &total, err);
    if (status == SB_OK) status = sbi_fold_run(ctx, &fold, NULL, total, err);
    if (status == SB_OK) status = sbi_array_read(total, op->real_out, sizeof(double), err);
    sbi_array_free(total);
    return status;
}

static sb_status run_total(sb_context *ctx, const sb_array *x, int64_t squares, double *out, sb_error *err) {
    if (x->dtype != SB_F32 && x->dtype != SB_F64)
        return sbi_fail(err, SB_ERR_DTYPE, "x", "x is %s, it must be float32 or float64", sbi_dtype_name(x->dtype));
    const sbi_op op = {.id = SBI_OP_TOTAL, .kernels = total_kernels, .in = {x}, .n = {x->size, squares}, .real_out = out};
    return sbi_run(ctx, &op, err);
}

sb_status sbi_total(sb_context *ctx, const sb_array *x, double *out, sb_error *err) {
    return run_total(ctx, x, 0, out, err);
}

sb_status sbi_sum_squares(sb_context *ctx, const sb_array *x, double *out, sb_error *err) {
    return run_total(ctx, x, 1, out, err);
}
