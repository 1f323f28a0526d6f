// SPDX-License-Identifier: Apache-2.0
// Products (contract T3).
#include "ops.h"

#include <string.h>

enum { FLAG_SCALED = 1, FLAG_BIAS = 2, FLAG_ACCUMULATE = 4 }; // as in gemm.cl

// The tile of C that a group takes (schedule, no bit depends on it): all of C for one thread or a small product, so that
// operands are packed once; else halves of the longer side, until there are two tiles a thread.
static void tile_size(int threads, int64_t m, int64_t n, int64_t k, int64_t *rows, int64_t *columns) {
    const int64_t small = 1 << 17; // multiplications that are not worth another thread
    *rows = (m + 31) / 32 * 32;
    *columns = (n + 31) / 32 * 32;
    for (int64_t tiles = 1; threads > 1 && tiles < 2 * (int64_t)threads; tiles *= 2) {
        int64_t *side = *rows > *columns ? rows : columns;
        if (*side <= 32 || (double)*rows * (double)*columns * (double)k < (double)small) {
            return;
        }
        *side = (*side / 2 + 31) / 32 * 32;
    }
}

static sb_status gemm_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sb_array *a = op->in[0], *b = op->in[1], *bias = op->in[2];
    sb_array *c = op->out[0];
    int64_t m = op->n[0], n = op->n[1], k = op->n[2], ta = op->n[3], tb = op->n[4];
    int64_t flags = (op->n[5] ? FLAG_SCALED : 0) | (bias ? FLAG_BIAS : 0) | (op->n[6] ? FLAG_ACCUMULATE : 0);
    if (m == 0 || n == 0) {
        return SB_OK;
    }
    if (m == 1) { // the columns of b with the only row of a
        const sbi_arg args[] = {SBI_IN(b), SBI_IN(a), SBI_IN(bias), SBI_OUT(c), SBI_INT(n), SBI_INT(k),
                                SBI_INT(tb ? k : 1), SBI_INT(tb ? 1 : n), SBI_INT(1), SBI_INT(flags), SBI_REAL(op->r[0])};
        return sbi_launch(ctx, SBI_ID_k_gemv_f32, (n + 255) / 256, args, err);
    }
    if (n == 1) { // the rows of a with the only column of b
        const sbi_arg args[] = {SBI_IN(a), SBI_IN(b), SBI_IN(bias), SBI_OUT(c), SBI_INT(m), SBI_INT(k),
                                SBI_INT(ta ? 1 : k), SBI_INT(ta ? m : 1), SBI_INT(0), SBI_INT(flags), SBI_REAL(op->r[0])};
        return sbi_launch(ctx, SBI_ID_k_gemv_f32, (m + 255) / 256, args, err);
    }
    int64_t rows, columns;
    tile_size(sbi_pool_threads(ctx->pool), m, n, k, &rows, &columns);
    const sbi_arg args[] = {SBI_IN(a),    SBI_IN(b),   SBI_IN(bias), SBI_OUT(c),     SBI_INT(m),           SBI_INT(n),    SBI_INT(k),
                            SBI_INT(ta),  SBI_INT(tb), SBI_INT(flags), SBI_REAL(op->r[0]), SBI_INT(rows), SBI_INT(columns)};
    return sbi_launch(ctx, SBI_ID_k_gemm_f32, ((m + rows - 1) / rows) * ((n + columns - 1) / columns), args, err);
}

// An operand as a matrix: rows and columns after the transposition; a vector is a row (a) or a column (b).
static sb_status operand(const sb_array *x, const char *name, int transpose, bool row, int64_t *rows, int64_t *columns,
                         int64_t *transposed, sb_error *err) {
    if (x->dtype != SB_F32) {
        return sbi_fail(err, SB_ERR_DTYPE, name, "%s is %s; products take float32", name, sb_dtype_name(x->dtype));
    }
    if (x->ndim == 1) {
        *rows = row ? 1 : x->shape[0];
        *columns = row ? x->shape[0] : 1;
        *transposed = 0;
        return SB_OK;
    }
    if (x->ndim != 2) {
        return sbi_fail(err, SB_ERR_SHAPE, name, "%s has %d dimensions; products take one or two", name, x->ndim);
    }
    *rows = x->shape[transpose ? 1 : 0];
    *columns = x->shape[transpose ? 0 : 1];
    *transposed = transpose != 0;
    return SB_OK;
}

sb_status sbi_gemm(sb_context *ctx, const sb_gemm_options *options, const sb_array *a, const sb_array *b,
                   const sb_array *bias, sb_array *c, sb_error *err) {
    sb_gemm_options o = {0};
    if (options) {
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    }
    int64_t m = 0, n = 0, k = 0, depth = 0, ta = 0, tb = 0;
    sb_status status = operand(a, "a", o.transpose_a, true, &m, &k, &ta, err);
    if (status == SB_OK) {
        status = operand(b, "b", o.transpose_b, false, &depth, &n, &tb, err);
    }
    if (status != SB_OK) {
        return status;
    }
    if (a->ndim == 1 && b->ndim == 1) {
        return sbi_fail(err, SB_ERR_SHAPE, "b", "a and b are both vectors; their product is sb_dot");
    }
    if (k != depth) {
        return sbi_fail(err, SB_ERR_SHAPE, "b", "op(a) has %lld columns, op(b) %lld rows; they must be equal",
                        (long long)k, (long long)depth);
    }
    if (c->dtype != SB_F32) {
        return sbi_fail(err, SB_ERR_DTYPE, "c", "c is %s; products write float32", sb_dtype_name(c->dtype));
    }
    bool vector = a->ndim == 1 || b->ndim == 1;
    int64_t length = a->ndim == 1 ? n : m;
    if (vector ? c->ndim != 1 || c->shape[0] != length : c->ndim != 2 || c->shape[0] != m || c->shape[1] != n) {
        return sbi_fail(err, SB_ERR_SHAPE, "c", "c does not have the product's shape, %lld by %lld%s", (long long)m,
                        (long long)n, vector ? ", as a vector" : "");
    }
    if (bias && bias->dtype != SB_F32) {
        return sbi_fail(err, SB_ERR_DTYPE, "bias", "bias is %s; it must be float32", sb_dtype_name(bias->dtype));
    }
    if (bias && (bias->ndim != 1 || bias->shape[0] != n)) {
        return sbi_fail(err, SB_ERR_SHAPE, "bias", "bias must be a vector of %lld, a value for each column of c",
                        (long long)n);
    }
    sbi_op op = {.id = SBI_OP_GEMM, .kernels = gemm_kernels};
    op.in[0] = a;
    op.in[1] = b;
    op.in[2] = bias;
    op.out[0] = c;
    op.n[0] = m;
    op.n[1] = n;
    op.n[2] = k;
    op.n[3] = ta;
    op.n[4] = tb;
    op.n[5] = o.scaled != 0;
    op.n[6] = o.accumulate != 0;
    op.keeps = o.accumulate != 0;
    op.r[0] = o.scaled ? (double)o.alpha : 1.0;
    return sbi_run(ctx, &op, err);
}
