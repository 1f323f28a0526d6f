// SPDX-License-Identifier: Apache-2.0
// Reductions over an axis or over everything, variances, dots, and the totals that hosts read (contract T2).
#include "check.h"
#include "fold.h"

enum { KIND, OUTER, COUNT, INNER };

static int64_t blocks_of(int64_t count) { return count > 4096 ? (count - 1) / 4096 + 1 : 1; }
static int64_t tiles_of(int64_t inner) { return (inner - 1) / 64 + 1; }

static sb_status fold_level(sb_context *ctx, const sbi_fold *fold, int64_t blocks, bool last, sb_array *total,
                            sb_array *out, sb_error *err) {
    sbi_arg args[4 + 8];
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

// One fold of x[outer, count, inner], or of x and y, to out (RN, or the total where the kernel's own type is that).
static sb_status fold_of(sb_context *ctx, const int64_t *n, sbi_kernel_id first, const sb_array *const *in, int inputs,
                         sb_array *total, sb_error *err) {
    sbi_fold fold = {.first = first, .above = SBI_ID_k_sum_block_f64, .dtype = SB_F64, .outer = n[OUTER], .count = n[COUNT],
                     .inner = n[INNER], .divisor = 1.0, .inputs = inputs};
    for (int i = 0; i < inputs; i++) fold.input[i] = (sbi_arg)SBI_IN(in[i]);
    return sbi_fold_run(ctx, &fold, NULL, total, err);
}

static sb_status extremes_of(sb_context *ctx, const int64_t *n, const sb_array *x, sb_array *low, sb_array *high,
                             sb_error *err) {
    sbi_fold fold = {.first = SBI_TYPED(x->dtype, k_min_block), .above = SBI_TYPED(x->dtype, k_min_block), .dtype = x->dtype,
                     .outer = n[OUTER], .count = n[COUNT], .inner = n[INNER], .divisor = 1.0, .inputs = 1,
                     .input = {SBI_IN(x)}};
    sb_status status = sbi_fold_run(ctx, &fold, low, NULL, err);
    fold.first = fold.above = SBI_TYPED(x->dtype, k_max_block);
    return status ? status : sbi_fold_run(ctx, &fold, high, NULL, err);
}

sb_status sbi_fold_value(sb_context *ctx, sbi_kernel_id kernel, const sb_array *x, double *value, sb_error *err) {
    const int64_t n[] = {[OUTER] = 1, [COUNT] = x->size, [INNER] = 1};
    sb_array *total = NULL;
    sb_status status = sbi_scratch(ctx, SB_F64, 1, &total, err);
    if (status == SB_OK) status = fold_of(ctx, n, kernel, &x, 1, total, err);
    if (status == SB_OK) status = sbi_array_read(total, value, sizeof *value, err);
    sbi_array_free(total);
    return status;
}

// Whether any of the flags, each 0 or 1, is set.
static sb_status any_of(sb_context *ctx, const sb_array *flags, bool *any, sb_error *err) {
    double sum = 0.0;
    sb_status status = sbi_fold_value(ctx, SBI_ID_k_sum_block_f64, flags, &sum, err);
    *any = sum != 0.0;
    return status;
}

// The binary64 mean, mean[outer, inner]: one pass over x where no term looks like all, and no sum has overflowed.
static sb_status mean_of(sb_context *ctx, const int64_t *n, const sb_array *x, sb_array *mean, sb_error *err) {
    int64_t size = n[OUTER] * n[INNER];
    bool wide = x->dtype == SB_F64, again = false;
    sb_array *sum = NULL, *doubt = NULL, *low = NULL, *high = NULL, *shrunk = NULL;
    sb_status status;
    if ((status = sbi_scratch(ctx, SB_F64, size, &sum, err)) || (status = sbi_scratch(ctx, SB_F64, size, &doubt, err)) ||
        (status = fold_of(ctx, n, SBI_TYPED(x->dtype, k_sum_block), &x, 1, sum, err)))
        goto done;
    const sbi_arg first[] = {SBI_IN(x), SBI_IN(sum), SBI_OUT(mean), SBI_OUT(doubt), SBI_INT(n[COUNT]), SBI_INT(n[INNER]),
                             SBI_INT(size)};
    if ((status = sbi_launch(ctx, SBI_TYPED(x->dtype, k_mean_doubt), sbi_groups(size, 4096), first, err)) ||
        (status = any_of(ctx, doubt, &again, err)) || !again)
        goto done;
    if ((status = sbi_scratch(ctx, x->dtype, size, &low, err)) || (status = sbi_scratch(ctx, x->dtype, size, &high, err)) ||
        (status = extremes_of(ctx, n, x, low, high, err)))
        goto done;
    if (wide && ((status = sbi_scratch(ctx, SB_F64, size, &shrunk, err)) ||
                 (status = fold_of(ctx, n, SBI_ID_k_shrunk_block_f64, &x, 1, shrunk, err))))
        goto done;
    const sbi_arg mend[] = {SBI_IN(low), SBI_IN(high), SBI_IN(sum), SBI_IN(shrunk), SBI_OUT(mean), SBI_INT(n[COUNT]),
                            SBI_INT(size)};
    status = sbi_launch(ctx, SBI_TYPED(x->dtype, k_mean_mend), sbi_groups(size, 4096), mend, err);
done:
    sbi_array_free(sum);
    sbi_array_free(doubt);
    sbi_array_free(low);
    sbi_array_free(high);
    sbi_array_free(shrunk);
    return status;
}

// out[outer, inner] = S(d d) / divisor with d = RN64(x - mean), mean NULL for 0, or its root.
static sb_status spread_of(sb_context *ctx, const int64_t *n, const sb_array *x, const sb_array *mean, double divisor,
                           bool root, sb_array *out, sb_error *err) {
    int64_t size = n[OUTER] * n[INNER];
    bool again = false;
    sb_array *squares = NULL, *factor = NULL, *doubt = NULL, *zeros = NULL;
    const sb_array *in[] = {x, mean, NULL};
    sbi_kernel_id kernel = mean ? SBI_TYPED(x->dtype, k_deviation_block) : SBI_TYPED(x->dtype, k_square_block);
    sb_status status;
    if ((status = sbi_scratch(ctx, SB_F64, size, &squares, err)) ||
        (status = fold_of(ctx, n, kernel, in, mean ? 2 : 1, squares, err)))
        goto done;
    if (x->dtype == SB_F64) {
        if ((status = sbi_scratch(ctx, SB_F64, size, &factor, err)) || (status = sbi_scratch(ctx, SB_F64, size, &doubt, err)))
            goto done;
        const sbi_arg args[] = {SBI_IN(squares), SBI_OUT(factor), SBI_OUT(doubt), SBI_INT(size)};
        if ((status = sbi_launch(ctx, SBI_ID_k_spread_doubt_f64, sbi_groups(size, 4096), args, err)) ||
            (status = any_of(ctx, doubt, &again, err)))
            goto done;
    }
    if (again) {
        if (!mean && (status = sbi_scratch(ctx, SB_F64, size, &zeros, err))) goto done; // (scratch is zeros)
        in[1] = mean ? mean : zeros;
        in[2] = factor;
        if ((status = fold_of(ctx, n, SBI_ID_k_scaled_block_f64, in, 3, squares, err))) goto done;
    }
    const sbi_arg args[] = {SBI_IN(squares), SBI_IN(factor), SBI_OUT(out), SBI_INT(size), SBI_REAL(divisor), SBI_INT(root),
                            SBI_INT(again)};
    status = sbi_launch(ctx, SBI_TYPED(x->dtype, k_spread), sbi_groups(size, 4096), args, err);
done:
    sbi_array_free(squares);
    sbi_array_free(factor);
    sbi_array_free(doubt);
    sbi_array_free(zeros);
    return status;
}

static sb_status place_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    int64_t outer = op->n[OUTER], count = op->n[COUNT], inner = op->n[INNER];
    int64_t blocks = blocks_of(count), tiles = tiles_of(inner), least = op->n[KIND] == SB_ARGMIN;
    sb_dtype type = op->in[0]->dtype;
    sb_array *candidates = NULL;
    sb_status status = SB_OK;
    if (blocks > 1) status = sbi_scratch(ctx, SB_I64, outer * blocks * inner, &candidates, err);
    if (status == SB_OK) {
        const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_OUT(blocks > 1 ? candidates : op->out[0]), SBI_INT(count),
                                SBI_INT(inner), SBI_INT(blocks), SBI_INT(tiles), SBI_INT(least)};
        status = sbi_launch(ctx, SBI_TYPED(type, k_argmax_block), outer * blocks * tiles, args, err);
    }
    if (status == SB_OK && blocks > 1) {
        const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(candidates), SBI_OUT(op->out[0]), SBI_INT(count),
                                SBI_INT(inner), SBI_INT(blocks), SBI_INT(tiles), SBI_INT(least)};
        status = sbi_launch(ctx, SBI_TYPED(type, k_argmax_last), outer * tiles, args, err);
    }
    sbi_array_free(candidates);
    return status;
}

static sb_status reduce_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *x = op->in[0];
    sb_array *out = op->out[0];
    sb_dtype type = x->dtype;
    sbi_fold fold = {.above = sbi_sum_above(type), .dtype = SB_F64, .outer = op->n[OUTER], .count = op->n[COUNT],
                     .inner = op->n[INNER], .divisor = 1.0, .inputs = 1, .input = {SBI_IN(x)}};
    if (fold.outer == 0 || fold.inner == 0) return SB_OK;
    switch ((sb_reduction)op->n[KIND]) {
    case SB_SUM: fold.first = SBI_TYPED(type, k_sum_block); break;
    case SB_MEAN:
        if (type == SB_F64) return mean_of(ctx, op->n, x, out, err);
        fold.first = SBI_ID_k_sum_block_f32;
        fold.divisor = (double)fold.count;
        break;
    case SB_NORM1: fold.first = SBI_TYPED(type, k_size_block); break;
    case SB_NORM2: return spread_of(ctx, op->n, x, NULL, 1.0, true, out, err);
    case SB_MIN:
        fold.first = fold.above = SBI_TYPED(type, k_min_block);
        fold.dtype = type;
        break;
    case SB_MAX:
    case SB_NORM_MAX:
        fold.first = op->n[KIND] == SB_MAX ? SBI_TYPED(type, k_max_block) : SBI_TYPED(type, k_largest_block);
        fold.above = SBI_TYPED(type, k_max_block);
        fold.dtype = type;
        break;
    case SB_ARGMAX:
    case SB_ARGMIN: return place_kernels(ctx, op, err);
    }
    return sbi_fold_run(ctx, &fold, out, NULL, err);
}

// x seen as [outer, count, inner], and out without the axis.
static sb_status check_axis(int axis, const sb_array *x, const sb_array *out, const char *name, int64_t *n, sb_error *err) {
    int64_t shape[SB_MAX_DIMS];
    int ndim = 0;
    sb_status status;
    n[OUTER] = n[INNER] = 1;
    n[COUNT] = x->size;
    if (axis != SB_ALL) {
        int a = axis < 0 ? axis + x->ndim : axis;
        if (a < 0 || a >= x->ndim)
            return sbi_fail(err, SB_ERR_ARGUMENT, "axis", "axis is %d, x has %d dimensions", axis, x->ndim);
        n[COUNT] = x->shape[a];
        for (int i = 0; i < a; i++) n[OUTER] *= x->shape[i];
        for (int i = a + 1; i < x->ndim; i++) n[INNER] *= x->shape[i];
        for (int i = 0; i < x->ndim; i++)
            if (i != a) shape[ndim++] = x->shape[i];
    }
    if ((status = sbi_check_ndim(out, name, ndim, err))) return status;
    for (int i = 0; i < ndim; i++)
        if ((status = sbi_check_length(out, name, i, shape[i], err))) return status;
    return SB_OK;
}

sb_status sbi_reduce(sb_context *ctx, sb_reduction kind, int axis, const sb_array *x, sb_array *out, sb_error *err) {
    static const char *const names[] = {"", "sum", "mean", "maximum", "argmax", "minimum", "argmin", "norm", "norm",
                                        "maximum norm"};
    sbi_op op = {.id = SBI_OP_REDUCE, .kernels = reduce_kernels, .in = {x}, .out = {out}, .n = {kind}};
    if (kind < SB_SUM || kind > SB_NORM_MAX)
        return sbi_fail(err, SB_ERR_ARGUMENT, "kind", "kind is %d, which is no reduction", (int)kind);
    bool place = kind == SB_ARGMAX || kind == SB_ARGMIN, of_nothing = kind == SB_SUM || kind == SB_NORM1 || kind == SB_NORM2;
    sb_status status;
    if ((status = sbi_check_real(x, "x", err)) || (status = sbi_check_dtype(out, "out", place ? SB_I64 : x->dtype, err)) ||
        (status = check_axis(axis, x, out, "out", op.n, err)))
        return status;
    if (!of_nothing && op.n[COUNT] == 0 && out->size > 0)
        return sbi_fail(err, SB_ERR_EMPTY, "x", "the %s of nothing: x has no element along the axis", names[kind]);
    return sbi_run(ctx, &op, err);
}

enum { DDOF = INNER + 1, ROOT };

static sb_status variance_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    sb_array *mean = op->out[1], *own = NULL;
    sb_status status = SB_OK;
    if (!op->out[0]) return mean_of(ctx, op->n, op->in[0], mean, err);
    if (!mean) {
        status = sbi_scratch(ctx, SB_F64, op->out[0]->size, &own, err);
        mean = own;
    }
    if (status == SB_OK) status = mean_of(ctx, op->n, op->in[0], mean, err);
    if (status == SB_OK)
        status = spread_of(ctx, op->n, op->in[0], mean, (double)(op->n[COUNT] - op->n[DDOF]), op->n[ROOT] != 0, op->out[0], err);
    sbi_array_free(own);
    return status;
}

static sb_status run_variance(sb_context *ctx, int axis, int64_t ddof, int64_t root, const sb_array *x, sb_array *mean,
                              sb_array *out, sb_error *err) {
    sbi_op op = {.id = SBI_OP_VARIANCE, .kernels = variance_kernels, .in = {x}, .out = {out, mean}, .n = {[DDOF] = ddof, [ROOT] = root}};
    sb_status status;
    if ((status = sbi_check_real(x, "x", err)) || (status = sbi_check_dtype(out, "out", x->dtype, err)) ||
        (mean && (status = sbi_check_dtype(mean, "mean", SB_F64, err))) ||
        (status = check_axis(axis, x, out, "out", op.n, err)) || (mean && (status = sbi_check_like(mean, "mean", out, "out", err))))
        return status;
    if (op.n[COUNT] == 0 && out->size > 0)
        return sbi_fail(err, SB_ERR_EMPTY, "x", "the variance of nothing: x has no element along the axis");
    if (ddof < 0 || (ddof >= op.n[COUNT] && out->size > 0))
        return sbi_fail(err, SB_ERR_ARGUMENT, "ddof", "ddof is %lld, it must be in 0 .. %lld, below the number of terms",
                        (long long)ddof, (long long)op.n[COUNT] - 1);
    return sbi_run(ctx, &op, err);
}

sb_status sbi_variance(sb_context *ctx, int axis, int64_t ddof, const sb_array *x, sb_array *mean, sb_array *out,
                       sb_error *err) {
    return run_variance(ctx, axis, ddof, 0, x, mean, out, err);
}

sb_status sbi_deviation(sb_context *ctx, int axis, int64_t ddof, const sb_array *x, sb_array *mean, sb_array *out,
                        sb_error *err) {
    return run_variance(ctx, axis, ddof, 1, x, mean, out, err);
}

sb_status sbi_mean(sb_context *ctx, int axis, const sb_array *x, sb_array *mean, sb_error *err) {
    sbi_op op = {.id = SBI_OP_VARIANCE, .kernels = variance_kernels, .in = {x}, .out = {NULL, mean}};
    sb_status status;
    if ((status = sbi_check_real(x, "x", err)) || (status = sbi_check_dtype(mean, "mean", SB_F64, err)) ||
        (status = check_axis(axis, x, mean, "mean", op.n, err)))
        return status;
    if (op.n[COUNT] == 0 && mean->size > 0)
        return sbi_fail(err, SB_ERR_EMPTY, "x", "the mean of nothing: x has no element along the axis");
    return sbi_run(ctx, &op, err);
}

static sb_status dot_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    sb_dtype type = op->out[0]->dtype;
    const sbi_fold fold = {.first = SBI_TYPED(type, k_dot_block), .above = sbi_sum_above(type), .dtype = SB_F64, .outer = 1,
                           .count = op->n[0], .inner = 1, .divisor = 1.0, .inputs = 2,
                           .input = {SBI_IN(op->in[0]), SBI_IN(op->in[1])}};
    return sbi_fold_run(ctx, &fold, op->out[0], NULL, err);
}

sb_status sbi_dot(sb_context *ctx, const sb_array *a, const sb_array *b, sb_array *out, sb_error *err) {
    const sbi_op op = {.id = SBI_OP_DOT, .kernels = dot_kernels, .in = {a, b}, .out = {out}, .n = {a->size}};
    sb_status status;
    if ((status = sbi_check_real(a, "a", err)) || (status = sbi_check_dtype(b, "b", a->dtype, err)) ||
        (status = sbi_check_dtype(out, "out", a->dtype, err)) || (status = sbi_check_ndim(a, "a", 1, err)) ||
        (status = sbi_check_ndim(b, "b", 1, err)) || (status = sbi_check_length(b, "b", 0, a->size, err)) ||
        (status = sbi_check_ndim(out, "out", 0, err)))
        return status;
    return sbi_run(ctx, &op, err);
}

static sb_status total_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    sb_dtype type = op->in[0]->dtype;
    sbi_kernel_id kernel = op->n[1] ? SBI_TYPED(type, k_square_block) : SBI_TYPED(type, k_sum_block);
    return sbi_fold_value(ctx, kernel, op->in[0], op->real_out, err);
}

static sb_status run_total(sb_context *ctx, const sb_array *x, int64_t squares, double *out, sb_error *err) {
    const sbi_op op = {.id = SBI_OP_TOTAL, .kernels = total_kernels, .in = {x}, .n = {x->size, squares}, .real_out = out};
    sb_status status = sbi_check_real(x, "x", err);
    return status ? status : sbi_run(ctx, &op, err);
}

sb_status sbi_total(sb_context *ctx, const sb_array *x, double *out, sb_error *err) {
    return run_total(ctx, x, 0, out, err);
}

sb_status sbi_sum_squares(sb_context *ctx, const sb_array *x, double *out, sb_error *err) {
    return run_total(ctx, x, 1, out, err);
}
