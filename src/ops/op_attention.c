// SPDX-License-Identifier: Apache-2.0
// Attention, forward and backward (contract T6).
#include "check.h"
#include "ops.h"

#include <stdio.h>
#include <string.h>

enum { DEEPEST = 256, STRIP = 32, TILE = 256, RUN = 64 * TILE }; // as in attention.cl: channels of a head; keys that are
// lanes, positions of a chunk, of a run

// Which keys a query at position p sees, for the kernels: those before the prefix, and p - behind .. p + ahead. Without a
// bound both are beyond any position, and small enough that no sum of them and a position overflows.
static const int64_t no_ahead = INT64_C(1) << 61, no_behind = INT64_C(5) << 60;

// Rows of a group where many lanes run at once, as in attention_tile.cl.
static int64_t rows_of(sb_dtype dtype) { return dtype == SB_F64 ? 32 : 64; }

static int64_t ahead_of(const sbi_op *op) { return op->n[6] ? 0 : no_ahead; }
static int64_t behind_of(const sbi_op *op) { return op->n[9] && op->n[9] <= no_behind ? op->n[9] - 1 : no_behind; }

static sb_status attention_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const int64_t *n = op->n;
    int64_t b = n[0], t = n[1], h = n[2], d = n[3], s = n[4], g = n[5], first = n[7], keys = n[8], prefix = n[10];
    const sbi_arg args[] = {
        SBI_IN(op->in[0]),      SBI_IN(op->in[1]),       SBI_IN(op->in[2]), SBI_IN(op->in[3]),  SBI_OUT(op->out[0]),
        SBI_OUT(op->out[1]),    SBI_OUT(op->out[2]),     SBI_INT(t),        SBI_INT(h),         SBI_INT(d),
        SBI_INT(s),             SBI_INT(g),              SBI_INT(first),    SBI_INT(keys),      SBI_INT(ahead_of(op)),
        SBI_INT(behind_of(op)), SBI_INT(prefix),         SBI_REAL(op->r[0])};
    const sb_dtype real = op->in[0]->dtype;
    if (ctx->device->apart) return sbi_launch(ctx, SBI_TYPED(real, k_attention_tile), b * h * sbi_groups(t, rows_of(real)), args, err);
    return sbi_launch(ctx, SBI_TYPED(real, k_attention), b * h * sbi_groups(t, STRIP), args, err);
}

// What belongs to rows, into work from `offset` on.
static sb_status row_values(sb_context *ctx, const sbi_op *op, sb_array *work, int64_t offset, sb_error *err) {
    const int64_t rows = op->n[0] * op->n[1] * op->n[2];
    const sbi_arg args[] = {SBI_IN(op->in[4]), SBI_IN(op->in[7]), SBI_IN(op->in[5]), SBI_IN(op->in[6]), SBI_OUT(work), SBI_INT(offset), SBI_INT(rows),
                            SBI_INT(op->n[3])};
    return sbi_launch(ctx, SBI_TYPED(op->in[0]->dtype, k_attention_rows), rows, args, err);
}

// dq, and dk and dv of each head, where many lanes run at once.
static sb_status backward_by_sides(sb_context *ctx, const sbi_op *op, sb_array *dk, sb_array *dv, sb_error *err) {
    const int64_t *n = op->n;
    int64_t b = n[0], t = n[1], h = n[2], d = n[3], s = n[4], g = n[5], first = n[7], keys = n[8], prefix = n[10];
    sb_dtype real = op->in[0]->dtype;
    sb_array *work = NULL;
    sb_status status = sbi_scratch(ctx, real, 3 * b * t * h, &work, err);
    if (status == SB_OK) status = row_values(ctx, op, work, 0, err);
    for (int side = 0; side < 2 && status == SB_OK; side++) {
        const sbi_arg args[] = {
            SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_IN(op->in[2]), SBI_IN(op->in[3]), SBI_IN(op->in[7]), SBI_IN(work), SBI_OUT(side ? dk : op->out[0]),
            SBI_OUT(side ? dv : NULL), SBI_INT(b * h), SBI_INT(t), SBI_INT(h), SBI_INT(d), SBI_INT(s), SBI_INT(g), SBI_INT(first), SBI_INT(keys),
            SBI_INT(ahead_of(op)), SBI_INT(behind_of(op)), SBI_INT(prefix), SBI_REAL(op->r[0])};
        status = sbi_launch(ctx, SBI_TYPED(real, k_attention_tile_backward), b * h * sbi_groups(side ? s : t, rows_of(real)), args, err);
    }
    sb_array_free(work);
    return status;
}

// The same by tiles of one chunk, diagonal by diagonal: each pair's score is made once.
static sb_status backward_by_diagonals(sb_context *ctx, const sbi_op *op, sb_array *dk, sb_array *dv, sb_error *err) {
    const int64_t *n = op->n;
    int64_t b = n[0], t = n[1], h = n[2], d = n[3], s = n[4], g = n[5], first = n[7], keys = n[8], prefix = n[10];
    sb_dtype real = op->in[0]->dtype;
    sb_array *work = NULL;
    int64_t tiles = (first + t - 1) / TILE - first / TILE + 1, others = s ? sbi_groups(s, TILE) : 1;
    int64_t n_rows = b * t * h, turned = b * sbi_groups(s, STRIP) * STRIP * g * d, runs = 0, size;
    bool one_run = first / RUN == (first + t - 1) / RUN && s <= RUN;
    if (!one_run && !(sbi_multiply(b * h, t + 2 * s, &runs) && sbi_multiply(runs, d, &runs))) runs = INT64_MAX;
    if (!sbi_add(2 * turned + 3 * n_rows, runs, &size)) size = INT64_MAX; // (too large for any memory)
    sb_status status = sbi_scratch(ctx, real, size, &work, err);
    for (int i = 1; i <= 2 && status == SB_OK; i++) {
        const sbi_arg turn[] = {SBI_IN(op->in[i]), SBI_OUT(work), SBI_INT(i == 1 ? 0 : turned), SBI_INT(s), SBI_INT(g), SBI_INT(d)};
        status = sbi_launch(ctx, SBI_TYPED(real, k_attention_turn), b * sbi_groups(s, STRIP) * g, turn, err);
    }
    if (status == SB_OK) status = row_values(ctx, op, work, 2 * turned, err);
    for (int64_t diagonal = 0; diagonal < tiles + others - 1 && status == SB_OK; diagonal++) {
        int64_t low = diagonal < others ? 0 : diagonal - others + 1, high = diagonal < tiles ? diagonal : tiles - 1;
        const sbi_arg args[] = {
            SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_IN(op->in[3]), SBI_IN(op->in[7]), SBI_OUT(work), SBI_OUT(op->out[0]), SBI_OUT(dk), SBI_OUT(dv),
            SBI_INT(b * h), SBI_INT(t), SBI_INT(h), SBI_INT(d), SBI_INT(s), SBI_INT(g), SBI_INT(first), SBI_INT(keys),
            SBI_INT(ahead_of(op)), SBI_INT(behind_of(op)), SBI_INT(prefix), SBI_REAL(op->r[0]), SBI_INT(diagonal)};
        status = sbi_launch(ctx, SBI_TYPED(real, k_attention_backward), b * h * (high - low + 1), args, err);
    }
    sb_array_free(work);
    return status;
}

static sb_status attention_backward_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    int64_t b = op->n[0], t = op->n[1], h = op->n[2], d = op->n[3], s = op->n[4], g = op->n[5];
    int64_t heads = t ? h / g : 0; // without a query no head adds anything, however many there are
    const int64_t each[4] = {b, s, h, d};
    sb_array *of_heads[3] = {NULL, NULL, NULL}; // dk and dv of each head, where several share a row of keys
    sb_status status = SB_OK;
    for (int i = 1; i <= 2 && heads > 1 && b && status == SB_OK; i++) status = sbi_array_new(ctx, op->in[0]->dtype, 4, each, &of_heads[i], err);
    if (status == SB_OK && b * t * h > 0)
        status = (ctx->device->apart ? backward_by_sides : backward_by_diagonals)(ctx, op, heads > 1 ? of_heads[1] : op->out[1],
                                                                                  heads > 1 ? of_heads[2] : op->out[2], err);
    for (int i = 1; i <= 2 && heads != 1 && status == SB_OK; i++) {
        const sbi_arg args[] = {SBI_IN(of_heads[i]), SBI_OUT(op->out[i]), SBI_INT(heads), SBI_INT(d)};
        status = sbi_launch(ctx, SBI_TYPED(op->in[0]->dtype, k_attention_heads), b * s * g, args, err);
    }
    sb_array_free(of_heads[1]);
    sb_array_free(of_heads[2]);
    return status;
}

// One operand: dtype and shape[ndim].
static sb_status expect(const sb_array *x, const char *name, sb_dtype dtype, int ndim, const int64_t *shape, sb_error *err) {
    if (x->dtype != dtype) {
        return sbi_fail(err, SB_ERR_DTYPE, name, "%s is %s; it must be %s", name, sb_dtype_name(x->dtype), sb_dtype_name(dtype));
    }
    bool same = x->ndim == ndim;
    for (int i = 0; same && i < ndim; i++) {
        same = x->shape[i] == shape[i];
    }
    if (same) {
        return SB_OK;
    }
    char sizes[96]; // of at most four axes
    int length = 0;
    for (int i = 0; i < ndim; i++) {
        length += snprintf(sizes + length, sizeof sizes - (size_t)length, " %lld", (long long)shape[i]);
    }
    return sbi_fail(err, SB_ERR_SHAPE, name, "%s must have %d dimensions:%s", name, ndim, sizes);
}

// Fills op->n, op->r and the mask from the options and the shapes of q and k, which it checks.
static sb_status describe(const sb_attention_options *options, const sb_array *q, const sb_array *k, sbi_op *op, sb_error *err) {
    sb_attention_options o = {0};
    if (options) {
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    }
    sb_status status = sbi_check_real(q, "q", err);
    if (status != SB_OK) {
        return status;
    }
    if (q->ndim != 4 || k->ndim != 4) {
        const char *name = q->ndim != 4 ? "q" : "k";
        return sbi_fail(err, SB_ERR_SHAPE, name, "%s must have 4 dimensions: q[b, t, h, d], k[b, s, g, d]", name);
    }
    int64_t b = q->shape[0], h = q->shape[2], d = q->shape[3], s = k->shape[1], g = k->shape[2];
    if (k->shape[0] != b || k->shape[3] != d) {
        return sbi_fail(err, SB_ERR_SHAPE, "k", "k[%lld, s, g, %lld] does not fit q[%lld, t, h, %lld]", (long long)k->shape[0],
                        (long long)k->shape[3], (long long)b, (long long)d);
    }
    if (g == 0 || h % g != 0) {
        return sbi_fail(err, SB_ERR_SHAPE, "k", "%lld heads cannot share %lld groups evenly", (long long)h, (long long)g);
    }
    if (d == 0) {
        return sbi_fail(err, SB_ERR_SHAPE, "q", "a head needs at least one channel");
    }
    if (d > DEEPEST) {
        return sbi_fail(err, SB_ERR_UNSUPPORTED, "q", "a head has %lld channels; at most %d are supported", (long long)d, DEEPEST);
    }
    if (o.first < 0 || o.first > INT64_C(1) << 62) {
        return sbi_fail(err, SB_ERR_ARGUMENT, "first", "first is %lld; a position is between 0 and 2^62", (long long)o.first);
    }
    if (o.keys < 0 || o.keys > s) {
        return sbi_fail(err, SB_ERR_ARGUMENT, "keys", "keys is %lld; k has %lld rows", (long long)o.keys, (long long)s);
    }
    if (o.window < 0) {
        return sbi_fail(err, SB_ERR_ARGUMENT, "window", "window is %lld; it is a number of keys, or 0: none", (long long)o.window);
    }
    if (o.prefix < 0) {
        return sbi_fail(err, SB_ERR_ARGUMENT, "prefix", "prefix is %lld; it is a number of keys", (long long)o.prefix);
    }
    double scale = sbi_rounded(q->dtype, o.scale);
    if (!(scale - scale == 0.0)) {
        return sbi_fail(err, SB_ERR_NONFINITE, "scale", "scale must be finite in %s", sb_dtype_name(q->dtype));
    }
    if (o.mask) {
        status = expect(o.mask, "mask", SB_U8, 2, k->shape, err);
        if (status != SB_OK) {
            return status;
        }
    }
    op->n[0] = b;
    op->n[1] = q->shape[1];
    op->n[2] = h;
    op->n[3] = d;
    op->n[4] = s;
    op->n[5] = g;
    op->n[6] = o.causal != 0;
    op->n[7] = o.first;
    op->n[8] = o.keys ? o.keys : s;
    op->n[9] = o.window;
    op->n[10] = o.prefix < op->n[8] ? o.prefix : op->n[8];
    op->r[0] = scale != 0.0 ? scale : sbi_rounded(q->dtype, 1.0 / __builtin_sqrt((double)d));
    op->in[3] = o.mask;
    return SB_OK;
}

sb_status sbi_attention(sb_context *ctx, const sb_attention_options *options, const sb_array *q, const sb_array *k,
                        const sb_array *v, sb_array *y, sb_array *maximum, sb_array *total, sb_error *err) {
    sbi_op op = {.id = SBI_OP_ATTENTION, .kernels = attention_kernels};
    sb_status status = describe(options, q, k, &op, err);
    const struct { const sb_array *array; const char *name; sb_dtype dtype; int ndim; const int64_t *shape; } all[] = {
        {q, "q", q->dtype, 4, q->shape}, {k, "k", q->dtype, 4, k->shape},
        {v, "v", q->dtype, 4, k->shape}, {y, "y", q->dtype, 4, q->shape},
        {maximum, "maximum", q->dtype, 3, q->shape}, {total, "total", SB_F64, 3, q->shape}};
    for (size_t i = 0; status == SB_OK && i < sizeof all / sizeof *all; i++) {
        if (all[i].array) {
            status = expect(all[i].array, all[i].name, all[i].dtype, all[i].ndim, all[i].shape, err);
        }
    }
    if (status != SB_OK) {
        return status;
    }
    op.in[0] = q;
    op.in[1] = k;
    op.in[2] = v;
    op.out[0] = y;
    op.out[1] = maximum;
    op.out[2] = total;
    return sbi_run(ctx, &op, err);
}

sb_status sbi_attention_backward(sb_context *ctx, const sb_attention_options *options, const sb_array *q,
                                 const sb_array *k, const sb_array *v, const sb_array *y, const sb_array *maximum,
                                 const sb_array *total, const sb_array *dy, sb_array *dq, sb_array *dk, sb_array *dv,
                                 sb_error *err) {
    sbi_op op = {.id = SBI_OP_ATTENTION_BACKWARD, .kernels = attention_backward_kernels};
    sb_status status = describe(options, q, k, &op, err);
    const struct { const sb_array *array; const char *name; sb_dtype dtype; int ndim; const int64_t *shape; } all[] = {
        {q, "q", q->dtype, 4, q->shape},   {k, "k", q->dtype, 4, k->shape},   {v, "v", q->dtype, 4, k->shape},
        {y, "y", q->dtype, 4, q->shape},   {maximum, "maximum", q->dtype, 3, q->shape}, {total, "total", SB_F64, 3, q->shape},
        {dy, "dy", q->dtype, 4, q->shape}, {dq, "dq", q->dtype, 4, q->shape}, {dk, "dk", q->dtype, 4, k->shape},
        {dv, "dv", q->dtype, 4, k->shape}};
    for (size_t i = 0; status == SB_OK && i < sizeof all / sizeof *all; i++) {
        status = expect(all[i].array, all[i].name, all[i].dtype, all[i].ndim, all[i].shape, err);
    }
    if (status != SB_OK) {
        return status;
    }
    for (int i = 0; i < 7; i++) {
        op.in[i < 3 ? i : i + 1] = all[i].array;
    }
    op.out[0] = dq;
    op.out[1] = dk;
    op.out[2] = dv;
    return sbi_run(ctx, &op, err);
}
