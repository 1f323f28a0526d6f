// SPDX-License-Identifier: Apache-2.0
// Random numbers (contract T11): draws start .. start + size - 1 of a stream.
#include "check.h"
#include "ops.h"
#include "order.h"

enum { KIND, START, BOUND };
enum { DRAWS_32 = 1024, DRAWS_64 = 512 }; // draws a group

// Groups are counted from draw 0 of the stream; those that hold draws start .. start + size - 1 run.
static int64_t groups_of(int64_t start, int64_t size, int64_t draws) {
    return size ? (start % draws + size - 1) / draws + 1 : 0;
}

static sb_status random_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    sb_array *out = op->out[0];
    int64_t start = op->n[START];
    if (op->n[KIND] == SBI_RANDOM_INTEGERS) {
        const sbi_arg args[] = {SBI_WORD(op->u[0]), SBI_WORD(op->u[1]), SBI_INT(start), SBI_INT(out->size),
                                SBI_INT(op->n[BOUND]), SBI_OUT(out)};
        return sbi_launch(ctx, out->dtype == SB_I32 ? SBI_ID_k_random_integers_i32 : SBI_ID_k_random_integers, groups_of(start, out->size, DRAWS_64), args, err);
    }
    const sbi_arg args[] = {SBI_WORD(op->u[0]), SBI_WORD(op->u[1]), SBI_INT(start), SBI_INT(out->size), SBI_OUT(out)};
    sbi_kernel_id kernel = SBI_ID_k_random_bits_u32;
    int64_t draws = DRAWS_32;
    if (op->n[KIND] == SBI_RANDOM_UNIFORM && out->dtype == SB_F32) {
        kernel = SBI_ID_k_random_uniform_f32;
    } else if (op->n[KIND] == SBI_RANDOM_UNIFORM) {
        kernel = SBI_ID_k_random_uniform_f64;
        draws = DRAWS_64;
    } else if (op->n[KIND] == SBI_RANDOM_NORMAL && out->dtype == SB_F32) {
        kernel = SBI_ID_k_random_normal_f32;
    } else if (op->n[KIND] == SBI_RANDOM_NORMAL) {
        kernel = SBI_ID_k_random_normal_f64;
        draws = DRAWS_64;
    } else if (out->dtype == SB_U64) {
        kernel = SBI_ID_k_random_bits_u64;
        draws = DRAWS_64;
    }
    return sbi_launch(ctx, kernel, groups_of(start, out->size, draws), args, err);
}

// The first of the indices 0 .. bound - 1 sorted by (64-bit draw, index).
static sb_status choice_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    sb_array *out = op->out[0], *keys = NULL;
    int64_t n = op->n[BOUND];
    sb_status status = sbi_scratch(ctx, SB_U64, n, &keys, err);
    if (!status) {
        const sbi_arg args[] = {SBI_WORD(op->u[0]), SBI_WORD(op->u[1]), SBI_INT(0), SBI_INT(n), SBI_OUT(keys)};
        status = sbi_launch(ctx, SBI_ID_k_random_bits_u64, groups_of(0, n, DRAWS_64), args, err);
    }
    if (!status)
        status = sbi_order_top(ctx, keys, 1, n, 64, out->size, out, err);
    sbi_array_free(keys);
    return status;
}

static sb_status check_draws(int64_t start, int64_t size, sb_error *err) {
    if (start < 0)
        return sbi_fail(err, SB_ERR_ARGUMENT, "start", "start is %lld, it must not be negative", (long long)start);
    if (size > INT64_MAX - start)
        return sbi_fail(err, SB_ERR_SIZE, "start", "%lld draws from %lld on go beyond the stream's 2^63 - 1",
                        (long long)size, (long long)start);
    return SB_OK;
}

static sb_status draw(sb_context *ctx, int kind, uint64_t seed, uint64_t stream, int64_t start, int64_t bound,
                      sb_array *out, sb_error *err) {
    sb_status status = check_draws(start, out->size, err);
    if (status)
        return status;
    const sbi_op op = {.id = SBI_OP_RANDOM,
                       .kernels = kind == SBI_RANDOM_CHOICE ? choice_kernels : random_kernels,
                       .out = {out}, .n = {kind, start, bound}, .u = {seed, stream}};
    return sbi_run(ctx, &op, err);
}

static sb_status check_either(const sb_array *out, sb_dtype a, sb_dtype b, sb_error *err) {
    if (out->dtype == a || out->dtype == b)
        return SB_OK;
    return sbi_fail(err, SB_ERR_DTYPE, "out", "out is %s, it must be %s or %s", sbi_dtype_name(out->dtype),
                    sbi_dtype_name(a), sbi_dtype_name(b));
}

sb_status sbi_random_bits(sb_context *ctx, uint64_t seed, uint64_t stream, int64_t start, sb_array *out,
                          sb_error *err) {
    sb_status status = check_either(out, SB_U32, SB_U64, err);
    return status ? status : draw(ctx, SBI_RANDOM_BITS, seed, stream, start, 0, out, err);
}

sb_status sbi_random_uniform(sb_context *ctx, uint64_t seed, uint64_t stream, int64_t start, sb_array *out,
                             sb_error *err) {
    sb_status status = check_either(out, SB_F32, SB_F64, err);
    return status ? status : draw(ctx, SBI_RANDOM_UNIFORM, seed, stream, start, 0, out, err);
}

sb_status sbi_random_normal(sb_context *ctx, uint64_t seed, uint64_t stream, int64_t start, sb_array *out,
                            sb_error *err) {
    sb_status status = check_either(out, SB_F32, SB_F64, err);
    return status ? status : draw(ctx, SBI_RANDOM_NORMAL, seed, stream, start, 0, out, err);
}

sb_status sbi_random_integers(sb_context *ctx, uint64_t seed, uint64_t stream, int64_t start, int64_t n, sb_array *out,
                              sb_error *err) {
    if (n < 1)
        return sbi_fail(err, SB_ERR_ARGUMENT, "n", "n is %lld, it must be at least 1", (long long)n);
    sb_status status = check_either(out, SB_I64, SB_I32, err);
    if (!status && out->dtype == SB_I32 && n > (int64_t)1 << 31)
        return sbi_fail(err, SB_ERR_ARGUMENT, "n", "n is %lld, int32 holds integers below 2^31", (long long)n);
    return status ? status : draw(ctx, SBI_RANDOM_INTEGERS, seed, stream, start, n, out, err);
}

sb_status sbi_random_choice(sb_context *ctx, uint64_t seed, uint64_t stream, int64_t n, sb_array *out, sb_error *err) {
    sb_status status = sbi_check_dtype(out, "out", SB_I64, err);
    if (!status)
        status = sbi_check_ndim(out, "out", 1, err);
    if (!status && n < out->size)
        status = sbi_fail(err, SB_ERR_ARGUMENT, "n", "n is %lld, and %lld of them are asked for", (long long)n,
                          (long long)out->size);
    return status ? status : draw(ctx, SBI_RANDOM_CHOICE, seed, stream, 0, n, out, err);
}

sb_status sbi_random_permutation(sb_context *ctx, uint64_t seed, uint64_t stream, sb_array *out, sb_error *err) {
    return sbi_random_choice(ctx, seed, stream, out->size, out, err);
}

enum { SIZE, FIRST };

// threshold: p 2^24 (exact) to the nearest integer, ties to even, by binary64's own rounding at 2^52.
static sb_status dropout_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    double p = op->r[0], rounded = p * 0x1p24 + 0x1p52, threshold = rounded - 0x1p52, kept = 1.0 - p;
    sb_dtype type = op->out[0]->dtype;
    const sbi_arg args[] = {SBI_WORD(op->u[0]), SBI_WORD(op->u[1]), SBI_INT(op->n[FIRST]), SBI_INT(op->n[SIZE]),
                            SBI_IN(op->in[0]), SBI_OUT(op->out[0]), SBI_WORD((uint64_t)threshold),
                            SBI_REAL(sbi_rounded(type, 1.0 / kept))};
    return sbi_launch(ctx, SBI_TYPED(type, k_dropout), groups_of(op->n[FIRST], op->n[SIZE], DRAWS_32), args, err);
}

sb_status sbi_dropout(sb_context *ctx, const sb_array *x, double p, uint64_t seed, uint64_t stream, int64_t start,
                      sb_array *y, sb_error *err) {
    sb_status status;
    if ((status = sbi_check_real(x, "x", err)) || (status = sbi_check_dtype(y, "y", x->dtype, err)) ||
        (status = sbi_check_like(y, "y", x, "x", err)) || (status = check_draws(start, x->size, err)))
        return status;
    double share = sbi_rounded(x->dtype, p);
    if (!(share >= 0.0 && share < 1.0))
        return sbi_fail(err, SB_ERR_ARGUMENT, "p", "p is %g, it must be at least 0 and below 1", p);
    const sbi_op op = {.id = SBI_OP_DROPOUT, .kernels = dropout_kernels, .in = {x}, .out = {y}, .n = {x->size, start},
                       .u = {seed, stream}, .r = {share}};
    return sbi_run(ctx, &op, err);
}
