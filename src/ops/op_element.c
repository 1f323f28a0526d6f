// SPDX-License-Identifier: Apache-2.0
// Element by element: binary arithmetic with broadcasting, scaling, SwiGLU. (Unary functions: op_function.c.)
#include "check.h"
#include "ops.h"

enum { KIND, NDIM, SHAPE, STRIDE_A = SHAPE + SB_MAX_DIMS, STRIDE_B = STRIDE_A + SB_MAX_DIMS };

// The output's axes after those of length 1 are dropped and neighbours that both operands cross alike are merged.
typedef struct merged {
    int ndim; // at least 1
    int64_t shape[SB_MAX_DIMS], stride_a[SB_MAX_DIMS], stride_b[SB_MAX_DIMS];
} merged;

static merged merge_axes(const int64_t *n) {
    merged m = {.ndim = 0};
    for (int i = 0; i < n[NDIM]; i++) {
        int64_t size = n[SHAPE + i], a = n[STRIDE_A + i], b = n[STRIDE_B + i];
        int above = m.ndim - 1;
        if (size == 1) continue;
        if (above >= 0 && m.stride_a[above] == a * size && m.stride_b[above] == b * size) {
            m.shape[above] *= size;
            m.stride_a[above] = a;
            m.stride_b[above] = b;
        } else {
            m.shape[m.ndim] = size;
            m.stride_a[m.ndim] = a;
            m.stride_b[m.ndim++] = b;
        }
    }
    if (m.ndim == 0) m = (merged){.ndim = 1, .shape = {1}, .stride_a = {1}, .stride_b = {1}};
    return m;
}

static sb_status binary_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    sb_dtype type = op->out[0]->dtype;
    const sbi_kernel_id kernels[] = {[SB_ADD] = SBI_TYPED(type, k_add), [SB_SUB] = SBI_TYPED(type, k_sub),
                                     [SB_MUL] = SBI_TYPED(type, k_mul), [SB_DIV] = SBI_TYPED(type, k_div),
                                     [SB_MAXIMUM] = SBI_TYPED(type, k_maximum), [SB_MINIMUM] = SBI_TYPED(type, k_minimum),
                                     [SB_POW] = SBI_TYPED(type, k_pow)};
    if (op->out[0]->size == 0) return SB_OK;
    merged m = merge_axes(op->n);
    int axes = m.ndim - 1; // above the rows
    int64_t length = m.shape[axes], rows = op->out[0]->size / length;
    sb_array *layout = NULL;
    sb_status status = SB_OK;
    if (axes > 1) {
        int64_t table[3 * SB_MAX_DIMS];
        for (int i = 0; i < axes; i++) {
            table[3 * i] = m.shape[i];
            table[3 * i + 1] = m.stride_a[i];
            table[3 * i + 2] = m.stride_b[i];
        }
        status = sbi_scratch(ctx, SB_I64, 3 * axes, &layout, err);
        if (status == SB_OK) status = sbi_array_write(layout, table, (size_t)(3 * axes) * sizeof *table, err);
    }
    if (status == SB_OK) {
        int64_t together = length < 4096 ? 4096 / length : 1;
        const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_OUT(op->out[0]), SBI_IN(layout), SBI_INT(axes),
                                SBI_INT(rows), SBI_INT(length), SBI_INT(axes ? m.stride_a[0] : 0),
                                SBI_INT(axes ? m.stride_b[0] : 0), SBI_INT(m.stride_a[axes]), SBI_INT(m.stride_b[axes])};
        status = sbi_launch(ctx, kernels[op->n[KIND]], ((rows - 1) / together + 1) * sbi_groups(length, 4096), args, err);
    }
    sbi_array_free(layout);
    return status;
}

// Strides of an operand along the output's axes, 0 where it is broadcast. False if its shape does not fit.
static bool broadcast(const sb_array *x, const sb_array *out, int64_t *stride) {
    int64_t step = 1;
    if (x->ndim > out->ndim) return false;
    for (int i = 1; i <= out->ndim; i++) {
        int64_t have = i <= x->ndim ? x->shape[x->ndim - i] : 1, want = out->shape[out->ndim - i];
        if (have != want && have != 1) return false;
        stride[out->ndim - i] = have == 1 ? 0 : step;
        step *= have;
    }
    return true;
}

sb_status sbi_binary(sb_context *ctx, sb_binary_kind kind, const sb_array *a, const sb_array *b, sb_array *out,
                     sb_error *err) {
    sbi_op op = {.id = SBI_OP_BINARY, .kernels = binary_kernels, .in = {a, b}, .out = {out}, .n = {kind, out->ndim}};
    sb_status status;
    if (kind < SB_ADD || kind > SB_POW)
        return sbi_fail(err, SB_ERR_ARGUMENT, "kind", "kind is %d, which is no binary operation", (int)kind);
    if ((status = sbi_check_real(a, "a", err)) || (status = sbi_check_dtype(b, "b", a->dtype, err)) ||
        (status = sbi_check_dtype(out, "out", a->dtype, err)))
        return status;
    for (int i = 0; i < out->ndim; i++) op.n[SHAPE + i] = out->shape[i];
    if (!broadcast(a, out, &op.n[STRIDE_A]))
        return sbi_fail(err, SB_ERR_SHAPE, "a", "a cannot be broadcast to the shape of out");
    if (!broadcast(b, out, &op.n[STRIDE_B]))
        return sbi_fail(err, SB_ERR_SHAPE, "b", "b cannot be broadcast to the shape of out");
    for (int i = 1; i <= out->ndim; i++) { // out is no larger than a and b make it
        bool in_a = i <= a->ndim && a->shape[a->ndim - i] == out->shape[out->ndim - i];
        bool in_b = i <= b->ndim && b->shape[b->ndim - i] == out->shape[out->ndim - i];
        bool one = out->shape[out->ndim - i] == 1 && (i <= a->ndim || i <= b->ndim);
        if (!in_a && !in_b && !one)
            return sbi_fail(err, SB_ERR_SHAPE, "out", "out has length %lld on axis %d, where a and b have 1",
                            (long long)out->shape[out->ndim - i], out->ndim - i);
    }
    return sbi_run(ctx, &op, err);
}

static sb_status scale_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_OUT(op->out[0]), SBI_INT(op->n[0]), SBI_REAL(op->r[0])};
    return sbi_launch(ctx, SBI_TYPED(op->out[0]->dtype, k_scale), sbi_groups(op->n[0], 4096), args, err);
}

sb_status sbi_scale(sb_context *ctx, const sb_array *x, double factor, sb_array *out, sb_error *err) {
    const sbi_op op = {.id = SBI_OP_SCALE, .kernels = scale_kernels, .in = {x}, .out = {out}, .n = {x->size},
                       .r = {sbi_rounded(x->dtype, factor)}};
    sb_status status;
    if ((status = sbi_check_real(x, "x", err)) || (status = sbi_check_dtype(out, "out", x->dtype, err)) ||
        (status = sbi_check_like(out, "out", x, "x", err)))
        return status;
    return sbi_run(ctx, &op, err);
}

// All of the type and shape of the first.
static sb_status check_alike(int count, const sb_array *const *arrays, const char *const *names, sb_error *err) {
    sb_status status = sbi_check_real(arrays[0], names[0], err);
    for (int i = 1; status == SB_OK && i < count; i++) {
        status = sbi_check_dtype(arrays[i], names[i], arrays[0]->dtype, err);
        if (status == SB_OK) status = sbi_check_like(arrays[i], names[i], arrays[0], names[0], err);
    }
    return status;
}

static sb_status swiglu_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_OUT(op->out[0]), SBI_INT(op->n[0])};
    return sbi_launch(ctx, SBI_TYPED(op->out[0]->dtype, k_swiglu), sbi_groups(op->n[0], 4096), args, err);
}

sb_status sbi_swiglu(sb_context *ctx, const sb_array *gate, const sb_array *up, sb_array *y, sb_error *err) {
    const sbi_op op = {.id = SBI_OP_SWIGLU, .kernels = swiglu_kernels, .in = {gate, up}, .out = {y}, .n = {gate->size}};
    const sb_array *arrays[] = {gate, up, y};
    static const char *const names[] = {"gate", "up", "y"};
    sb_status status = check_alike(3, arrays, names, err);
    return status ? status : sbi_run(ctx, &op, err);
}

static sb_status swiglu_backward_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_IN(op->in[1]), SBI_IN(op->in[2]),
                            SBI_OUT(op->out[0]), SBI_OUT(op->out[1]), SBI_INT(op->n[0])};
    return sbi_launch(ctx, SBI_TYPED(op->out[0]->dtype, k_swiglu_backward), sbi_groups(op->n[0], 4096), args, err);
}

sb_status sbi_swiglu_backward(sb_context *ctx, const sb_array *gate, const sb_array *up, const sb_array *dy,
                              sb_array *dgate, sb_array *dup, sb_error *err) {
    const sbi_op op = {.id = SBI_OP_SWIGLU_BACKWARD, .kernels = swiglu_backward_kernels, .in = {gate, up, dy},
                       .out = {dgate, dup}, .n = {gate->size}};
    const sb_array *arrays[] = {gate, up, dy, dgate, dup};
    static const char *const names[] = {"gate", "up", "dy", "dgate", "dup"};
    sb_status status = check_alike(5, arrays, names, err);
    return status ? status : sbi_run(ctx, &op, err);
}
