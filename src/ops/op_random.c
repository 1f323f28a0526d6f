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
        return sbi_launch(ctx, SBI_ID_k_random_integers, groups_of(start, out->size, DRAWS_64), args, err);
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

// The indices sorted by (64-bit draw, index).
static sb_status permutation_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    sb_array *out = op->out[0], *keys = NULL;
    sb_status status = sbi_scratch(ctx, SB_U64, out->size, &keys, err);
    if (!status) {
        const sbi_arg args[] = {SBI_WORD(op->u[0]), SBI_WORD(op->u[1]), SBI_INT(0), SBI_INT(out->size), SBI_OUT(keys)};
        status = sbi_launch(ctx, SBI_ID_k_random_bits_u64, groups_of(0, out->size, DRAWS_64), args, err);
    }
    if (!status)
        status = sbi_order(ctx, keys, 1, out->size, 64, out, err);
    sbi_array_free(keys);
    return status;
}

static sb_status draw(sb_context *ctx, int kind, uint64_t seed, uint64_t stream, int64_t start, int64_t bound,
                      sb_array *out, sb_error *err) {
    if (start < 0)
        return sbi_fail(err, SB_ERR_ARGUMENT, "start", "start is %lld, it must not be negative", (long long)start);
    if (out->size > INT64_MAX - start)
        return sbi_fail(err, SB_ERR_SIZE, "start", "%lld draws from %lld on go beyond the stream's 2^63 - 1",
                        (long long)out->size, (long long)start);
    const sbi_op op = {.id = SBI_OP_RANDOM,
                       .kernels = kind == SBI_RANDOM_PERMUTATION ? permutation_kernels : random_kernels,
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
    sb_status status = sbi_check_dtype(out, "out", SB_I64, err);
    return status ? status : draw(ctx, SBI_RANDOM_INTEGERS, seed, stream, start, n, out, err);
}

sb_status sbi_random_permutation(sb_context *ctx, uint64_t seed, uint64_t stream, sb_array *out, sb_error *err) {
    sb_status status = sbi_check_dtype(out, "out", SB_I64, err);
    if (!status)
        status = sbi_check_ndim(out, "out", 1, err);
    return status ? status : draw(ctx, SBI_RANDOM_PERMUTATION, seed, stream, 0, 0, out, err);
}
