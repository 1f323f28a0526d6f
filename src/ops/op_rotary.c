// SPDX-License-Identifier: Apache-2.0
// Rotary embedding: the table of cosines and sines, and the turn of queries and keys.
#include "check.h"
#include "ops.h"
#include "rotary_frequency.h"

// Positions below 2^29: there a position times a float32 is exact in binary64.
static const int64_t position_limit = (int64_t)1 << 29;
static const int64_t half_limit = (int64_t)1 << 20;

static sb_status table_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    int64_t positions = op->n[0], half = op->n[1];
    sb_array *frequencies = NULL;
    sb_dtype type = op->out[0]->dtype;
    double *host = sbi_allocate(&ctx->allocator, half ? half : 1, sizeof *host, err);
    sb_status status = host ? sbi_scratch(ctx, type, half, &frequencies, err) : SB_ERR_MEMORY;
    for (int64_t i = 0; !status && i < half; i++) {
        double frequency = sbi_rotary_frequency(op->r[0], i, 2 * half, type == SB_F32 ? 23 : 52);
        if (type == SB_F32)
            ((float *)(void *)host)[i] = (float)frequency;
        else
            host[i] = frequency;
    }
    if (!status)
        status = sbi_array_write(frequencies, host, (size_t)half * sbi_dtype_size(type), err);
    if (!status) {
        const sbi_arg args[] = {SBI_IN(frequencies), SBI_OUT(op->out[0]), SBI_OUT(op->out[1]), SBI_INT(half)};
        status = sbi_launch(ctx, SBI_TYPED(type, k_rotary_table), positions, args, err);
    }
    sbi_array_free(frequencies);
    sbi_release(&ctx->allocator, host);
    return status;
}

static sb_status check_table(const sb_array *table, const char *name, sb_dtype type, sb_error *err) {
    sb_status status = sbi_check_dtype(table, name, type, err);
    return status ? status : sbi_check_ndim(table, name, 2, err);
}

sb_status sbi_rotary_table(sb_context *ctx, double theta, sb_array *cos_table, sb_array *sin_table, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_real(cos_table, "cos_table", err)))
        return status;
    double base = sbi_rounded(cos_table->dtype, theta);
    if (!(base >= 1.0 && base < 0x1p128))
        return sbi_fail(err, SB_ERR_ARGUMENT, "theta", "theta is %g, it must be at least 1 and below 2^128", theta);
    if ((status = check_table(cos_table, "cos_table", cos_table->dtype, err)) ||
        (status = check_table(sin_table, "sin_table", cos_table->dtype, err)) ||
        (status = sbi_check_like(sin_table, "sin_table", cos_table, "cos_table", err)))
        return status;
    if (cos_table->shape[0] > position_limit)
        return sbi_fail(err, SB_ERR_SIZE, "cos_table", "a table of %lld positions: at most 2^29 are possible",
                        (long long)cos_table->shape[0]);
    if (cos_table->shape[1] > half_limit)
        return sbi_fail(err, SB_ERR_SIZE, "cos_table", "a table of %lld frequencies: at most 2^20 are possible",
                        (long long)cos_table->shape[1]);
    const sbi_op op = {.id = SBI_OP_ROTARY_TABLE, .kernels = table_kernels, .out = {cos_table, sin_table},
                       .n = {cos_table->shape[0], cos_table->shape[1]}, .r = {base}};
    return sbi_run(ctx, &op, err);
}

enum { B, TIME, HEADS, D, FIRST, INVERSE };

static sb_status rotary_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const int64_t *n = op->n, groups = n[B] * n[TIME], half = n[D] / 2;
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_IN(op->in[2]), SBI_OUT(op->out[0]),
                            SBI_INT(n[TIME]), SBI_INT(n[HEADS]), SBI_INT(half), SBI_INT(n[FIRST]),
                            SBI_INT(n[INVERSE])};
    return sbi_launch(ctx, SBI_TYPED(op->out[0]->dtype, k_rotary), groups, args, err);
}

sb_status sbi_rotary(sb_context *ctx, const sb_array *x, const sb_array *cos_table, const sb_array *sin_table,
                     int64_t first, int inverse, sb_array *y, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_real(x, "x", err)) || (status = sbi_check_ndim(x, "x", 4, err)) ||
        (status = sbi_check_dtype(y, "y", x->dtype, err)) || (status = sbi_check_like(y, "y", x, "x", err)) ||
        (status = check_table(cos_table, "cos_table", x->dtype, err)) ||
        (status = check_table(sin_table, "sin_table", x->dtype, err)) ||
        (status = sbi_check_like(sin_table, "sin_table", cos_table, "cos_table", err)))
        return status;
    int64_t b = x->shape[0], t = x->shape[1], h = x->shape[2], d = x->shape[3], positions = cos_table->shape[0];
    if (d % 2 != 0)
        return sbi_fail(err, SB_ERR_SHAPE, "x", "the last axis of x has length %lld, it must be even", (long long)d);
    if (d / 2 > half_limit)
        return sbi_fail(err, SB_ERR_SIZE, "x", "the last axis of x has length %lld: at most 2^21 is possible",
                        (long long)d);
    if ((status = sbi_check_length(cos_table, "cos_table", 1, d / 2, err)))
        return status;
    if (first < 0)
        return sbi_fail(err, SB_ERR_ARGUMENT, "first", "first is %lld, it must not be negative", (long long)first);
    if (first > positions || t > positions - first)
        return sbi_fail(err, SB_ERR_SHAPE, "cos_table", "%lld positions from %lld on are asked for, the tables have %lld",
                        (long long)t, (long long)first, (long long)positions);
    const sbi_op op = {.id = SBI_OP_ROTARY, .kernels = rotary_kernels, .in = {x, cos_table, sin_table}, .out = {y},
                       .n = {b, t, h, d, first, inverse != 0}};
    return sbi_run(ctx, &op, err);
}
