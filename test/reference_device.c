// SPDX-License-Identifier: Apache-2.0
// The reference as a device: memory is the caller's memory, a record goes to its definition, kernels are refused.
#include "reference_device.h"

#include "array.h"
#include "ops.h"
#include "reference.h"

#include <string.h>

static void *reference_allocate(const sbi_device *device, const sbi_allocator *allocator, int64_t bytes, sb_error *err) {
    (void)device;
    return sbi_allocate(allocator, bytes, 1, err);
}

static void reference_release(const sbi_device *device, const sbi_allocator *allocator, void *data) {
    (void)device;
    sbi_release(allocator, data);
}

static sb_status reference_move(const sbi_device *device, const void *from, void *to, int64_t bytes, sb_error *err) {
    (void)device, (void)err;
    if (bytes > 0)
        memmove(to, from, (size_t)bytes);
    return SB_OK;
}

static sb_status reference_copy(const sbi_device *device, sbi_pool *pool, const void *from, void *to, int64_t bytes,
                                sb_error *err) {
    (void)pool;
    return reference_move(device, from, to, bytes, err);
}

static sb_status reference_random(const sbi_op *op, sb_error *err) {
    int64_t start = op->n[1], n = op->out[0]->size;
    sb_dtype dtype = op->out[0]->dtype;
    void *out = op->out[0]->data;
    switch (op->n[0]) {
    case SBI_RANDOM_BITS: ref_random_bits(op->u[0], op->u[1], start, n, dtype, out); return SB_OK;
    case SBI_RANDOM_UNIFORM: ref_random_uniform(op->u[0], op->u[1], start, n, dtype, out); return SB_OK;
    case SBI_RANDOM_NORMAL: ref_random_normal(op->u[0], op->u[1], start, n, dtype, out); return SB_OK;
    case SBI_RANDOM_INTEGERS: ref_random_integers(op->u[0], op->u[1], start, op->n[2], n, dtype, out); return SB_OK;
    case SBI_RANDOM_CHOICE: ref_random_choice(op->u[0], op->u[1], op->n[2], n, out); return SB_OK;
    default: return sbi_fail(err, SB_ERR_INTERNAL, "", "the reference knows no random kind %lld", (long long)op->n[0]);
    }
}

static ref_attention attention_of(const sbi_op *op) {
    const int64_t *n = op->n;
    return (ref_attention){.b = n[0], .t = n[1], .h = n[2], .d = n[3], .s = n[4], .g = n[5], .causal = n[6] != 0,
                           .first = n[7], .keys = n[8], .scale = op->r[0], .window = n[9], .prefix = n[10],
                           .mask = op->in[3] ? (const uint8_t *)op->in[3]->data : NULL};
}

// Matrix `index` of a batch.
static void reference_gemm(const sbi_op *op, int64_t index) {
    const int64_t *n = op->n, m = n[0], width = n[1], k = n[2], at_a = index * m * k, at_b = n[8] ? 0 : index * k * width;
    const int64_t at_c = index * m * width;
    const void *a = op->in[0]->data, *b = op->in[1]->data, *bias = op->in[2] ? op->in[2]->data : NULL;
    void *c = op->out[0]->data;
    const int ta = n[3] != 0, tb = n[4] != 0, scaled = n[5] != 0, accumulate = n[6] != 0;
    const double alpha = op->r[0];
    if (op->out[0]->dtype == SB_F32)
        ref_gemm_f32(ta, tb, m, width, k, (const float *)a + at_a, (const float *)b + at_b, bias, scaled, (float)alpha,
                     accumulate, (float *)c + at_c);
    else if (op->in[0]->dtype == SB_F32)
        ref_gemm_wide(ta, tb, m, width, k, (const float *)a + at_a, (const float *)b + at_b, bias, scaled, alpha, accumulate,
                      (double *)c + at_c);
    else
        ref_gemm_f64(ta, tb, m, width, k, (const double *)a + at_a, (const double *)b + at_b, bias, scaled, alpha, accumulate,
                     (double *)c + at_c);
}

// The definition for the type of the data.
#define TYPED(name, ...) (wide ? name##_f64(__VA_ARGS__) : name##_f32(__VA_ARGS__))

static sb_status reference_operation(const sbi_device *device, const sbi_op *op, sb_error *err) {
    (void)device;
    const int64_t *n = op->n;
    const double *r = op->r;
    const void *in[8];
    void *out[3];
    bool wide = op->out[0] && op->out[0]->dtype == SB_F64; // the type of the data (an operation with other outputs says so)
    int64_t item = op->out[0] ? (int64_t)sb_dtype_size(op->out[0]->dtype) : 0;
    for (int i = 0; i < 8; i++)
        in[i] = op->in[i] ? op->in[i]->data : NULL;
    for (int i = 0; i < 3; i++)
        out[i] = op->out[i] ? op->out[i]->data : NULL;
    switch (op->id) {
    case SBI_OP_GEMM:
        for (int64_t i = 0; i < n[7]; i++)
            reference_gemm(op, i);
        return SB_OK;
    case SBI_OP_DOT:
        TYPED(ref_dot, n[0], in[0], in[1], out[0]);
        return SB_OK;
    case SBI_OP_REDUCE:
        if (op->in[0]->dtype == SB_F64)
            ref_reduce_f64((sb_reduction)n[0], n[1], n[2], n[3], in[0], out[0]);
        else
            ref_reduce_f32((sb_reduction)n[0], n[1], n[2], n[3], in[0], out[0]);
        return SB_OK;
    case SBI_OP_VARIANCE:
        wide = op->in[0]->dtype == SB_F64;
        TYPED(ref_variance, n[1], n[2], n[3], n[4], n[5] != 0, in[0], out[0], out[1]);
        return SB_OK;
    case SBI_OP_TOTAL:
        *op->real_out = op->in[0]->dtype == SB_F32 ? ref_total_f32(n[0], in[0], n[1] != 0)
                                                   : ref_total_f64(n[0], in[0], n[1] != 0);
        return SB_OK;
    case SBI_OP_BINARY:
        TYPED(ref_binary, (sb_binary_kind)n[0], (int)n[1], n + 2, n + 10, n + 18, in[0], in[1], out[0]);
        return SB_OK;
    case SBI_OP_SCALE:
        if (wide)
            ref_scale_f64(n[0], in[0], r[0], out[0]);
        else
            ref_scale_f32(n[0], in[0], (float)r[0], out[0]);
        return SB_OK;
    case SBI_OP_UNARY:
        TYPED(ref_unary, (sb_unary_kind)n[0], n[1], in[0], out[0]);
        return SB_OK;
    case SBI_OP_SWIGLU:
        TYPED(ref_swiglu, n[0], in[0], in[1], out[0]);
        return SB_OK;
    case SBI_OP_SWIGLU_BACKWARD:
        TYPED(ref_swiglu_backward, n[0], in[0], in[1], in[2], out[0], out[1]);
        return SB_OK;
    case SBI_OP_SOFTMAX:
        TYPED(ref_softmax, n[0], n[1], n[2] != 0, in[0], out[0]);
        return SB_OK;
    case SBI_OP_SOFTMAX_BACKWARD:
        TYPED(ref_softmax_backward, n[0], n[1], n[2] != 0, in[0], in[1], out[0]);
        return SB_OK;
    case SBI_OP_CROSS_ENTROPY:
        if (op->in[0]->dtype == SB_F64)
            ref_cross_entropy_f64(n[0], n[1], (sb_loss_reduction)n[2], r[0], in[0], in[1], in[2], out[0]);
        else
            ref_cross_entropy_f32(n[0], n[1], (sb_loss_reduction)n[2], r[0], in[0], in[1], in[2], out[0]);
        return SB_OK;
    case SBI_OP_CROSS_ENTROPY_BACKWARD:
        TYPED(ref_cross_entropy_backward, n[0], n[1], (sb_loss_reduction)n[2], r[0], r[1], in[0], in[1], in[2],
              out[0]);
        return SB_OK;
    case SBI_OP_RMS_NORM:
    case SBI_OP_LAYER_NORM:
        TYPED(ref_norm, op->id == SBI_OP_LAYER_NORM, n[0], n[1], in[0], in[1], in[2], r[0], out[0], out[1], out[2]);
        return SB_OK;
    case SBI_OP_RMS_NORM_BACKWARD:
    case SBI_OP_LAYER_NORM_BACKWARD:
        TYPED(ref_norm_backward, n[0], n[1], in[0], in[1], in[2], in[3], in[4], out[0], out[1], out[2]);
        return SB_OK;
    case SBI_OP_ROTARY_TABLE:
        if (wide)
            ref_rotary_table_f64(n[0], n[1], r[0], out[0], out[1]);
        else
            ref_rotary_table_f32(n[0], n[1], (float)r[0], out[0], out[1]);
        return SB_OK;
    case SBI_OP_ROTARY:
        TYPED(ref_rotary, n[0], n[1], n[2], n[3], n[4], n[5] != 0, in[0], in[1], in[2], out[0]);
        return SB_OK;
    case SBI_OP_ATTENTION: {
        ref_attention o = attention_of(op);
        TYPED(ref_attention, &o, in[0], in[1], in[2], out[0], out[1], out[2]);
        return SB_OK;
    }
    case SBI_OP_ATTENTION_BACKWARD: {
        ref_attention o = attention_of(op);
        TYPED(ref_attention_backward, &o, in[0], in[1], in[2], in[4], in[5], in[6], in[7], out[0], out[1], out[2]);
        return SB_OK;
    }
    case SBI_OP_GATHER: ref_gather(n[1] * item, n[2], in[0], op->in[1]->dtype, in[1], out[0]); return SB_OK;
    case SBI_OP_TAKE_ALONG: ref_take_along(item, n[0], n[1], n[2], in[0], op->in[1]->dtype, in[1], out[0]); return SB_OK;
    case SBI_OP_SCATTER: ref_scatter(n[1] * item, n[2], op->in[0]->dtype, in[0], in[1], out[0]); return SB_OK;
    case SBI_OP_SCATTER_ADD:
        if (op->out[0]->dtype == SB_I64)
            ref_scatter_add_i64(n[0], n[1], n[2], op->in[0]->dtype, in[0], in[1], n[3] != 0, out[0]);
        else if (wide)
            ref_scatter_add_f64(n[0], n[1], n[2], op->in[0]->dtype, in[0], in[1], n[3] != 0, out[0]);
        else
            ref_scatter_add_f32(n[0], n[1], n[2], op->in[0]->dtype, in[0], in[1], n[3] != 0, out[0]);
        return SB_OK;
    case SBI_OP_HISTOGRAM:
        ref_histogram(op->in[0]->dtype, n[0], n[1], n[2], in[0], op->in[1] ? op->in[1]->dtype : SB_I64, in[1], out[0]);
        return SB_OK;
    case SBI_OP_SCAN: ref_scan(op->in[0]->dtype, n[0], n[1], n[2] != 0, n[3] != 0, in[0], out[0]); return SB_OK;
    case SBI_OP_ARGSORT: ref_argsort(op->in[0]->dtype, n[0], n[1], n[2] != 0, in[0], out[0]); return SB_OK;
    case SBI_OP_SORT: ref_sort(op->in[0]->dtype, n[0], n[1], n[2] != 0, in[0], out[0]); return SB_OK;
    case SBI_OP_TOP_K: ref_top_k(op->in[0]->dtype, n[0], n[1], n[2] != 0, n[3], in[0], out[0], out[1]); return SB_OK;
    case SBI_OP_UNIQUE:
        *op->real_out = (double)ref_unique(op->in[0]->dtype, n[0], in[0], out[0], out[1], out[2]);
        return SB_OK;
    case SBI_OP_DROPOUT:
        if (wide)
            ref_dropout_f64(op->u[0], op->u[1], n[1], n[0], r[0], in[0], out[0]);
        else
            ref_dropout_f32(op->u[0], op->u[1], n[1], n[0], (float)r[0], in[0], out[0]);
        return SB_OK;
    case SBI_OP_RANDOM: return reference_random(op, err);
    case SBI_OP_ADAMW:
        if (wide)
            ref_adamw_f64(n[0], r[0], r[1], r[2], r[3], r[4], r[5], r[6], in[0], out[0], out[1], out[2]);
        else
            ref_adamw_f32(n[0], (float)r[0], (float)r[1], (float)r[2], (float)r[3], (float)r[4], r[5], r[6], in[0],
                          out[0], out[1], out[2]);
        return SB_OK;
    case SBI_OP_ADAM:
        if (wide)
            ref_adam_f64(n[0], r[0], r[1], r[2], r[3], r[4], r[5], r[6], in[0], out[0], out[1], out[2]);
        else
            ref_adam_f32(n[0], (float)r[0], (float)r[1], (float)r[2], (float)r[3], (float)r[4], r[5], r[6], in[0],
                         out[0], out[1], out[2]);
        return SB_OK;
    case SBI_OP_SGD:
        if (wide)
            ref_sgd_f64(n[0], n[1] != 0, n[2] != 0, r[0], r[1], r[2], r[3], in[0], out[0], out[1]);
        else
            ref_sgd_f32(n[0], n[1] != 0, n[2] != 0, (float)r[0], (float)r[1], (float)r[2], (float)r[3], in[0], out[0],
                        out[1]);
        return SB_OK;
    case SBI_OP_COLUMNS:
        if (op->in[0]->dtype == SB_F64)
            ref_columns_f64(n[0], n[1], n[2] != 0, in[0], in[1], in[2], 1, out[0]);
        else
            ref_columns_f32(n[0], n[1], n[2] != 0, in[0], in[1], in[2], wide, out[0]);
        return SB_OK;
    case SBI_OP_MOMENTS:
        if (op->in[0]->dtype == SB_F64)
            ref_moments_f64(n[0], n[1], in[0], in[1], out[0]);
        else
            ref_moments_f32(n[0], n[1], in[0], in[1], out[0]);
        return SB_OK;
    case SBI_OP_SEGMENTS:
        if (op->in[0]->dtype == SB_F64)
            ref_segments_f64(n[0], n[1], n[2], in[0], in[1], in[2], out[0], out[1]);
        else
            ref_segments_f32(n[0], n[1], n[2], in[0], in[1], in[2], out[0], out[1]);
        return SB_OK;
    case SBI_OP_DISTANCE:
        if (op->in[0]->dtype == SB_F64)
            ref_distances_f64(n[0], n[1], n[2], n[3] != 0, in[0], in[1], out[0]);
        else
            ref_distances_f32(n[0], n[1], n[2], n[3] != 0, in[0], in[1], out[0]);
        return SB_OK;
    case SBI_OP_GAUSSIAN:
        if (op->in[0]->dtype == SB_F64)
            ref_gaussians_f64(n[0], n[1], n[2], in[0], in[1], in[2], in[3], out[0]);
        else
            ref_gaussians_f32(n[0], n[1], n[2], in[0], in[1], in[2], in[3], out[0]);
        return SB_OK;
    case SBI_OP_NEAREST:
        if (op->in[0]->dtype == SB_F64)
            ref_nearest_f64(n[0], n[1], n[2], in[0], in[1], out[0], out[1]);
        else
            ref_nearest_f32(n[0], n[1], n[2], in[0], in[1], out[0], out[1]);
        return SB_OK;
    case SBI_OP_NEIGHBORS:
        if (op->in[0]->dtype == SB_F64)
            ref_neighbors_f64(n[0], n[1], n[2], n[3], (int)n[4], n[5], op->r[0], in[0], in[1], out[0], out[1]);
        else
            ref_neighbors_f32(n[0], n[1], n[2], n[3], (int)n[4], n[5], op->r[0], in[0], in[1], out[0], out[1]);
        return SB_OK;
    case SBI_OP_WITHIN:
        if (op->in[0]->dtype == SB_F64)
            ref_within_f64(n[0], n[1], n[2], (int)n[3], op->r[0], op->r[1], in[0], in[1], out[0]);
        else
            ref_within_f32(n[0], n[1], n[2], (int)n[3], op->r[0], op->r[1], in[0], in[1], out[0]);
        return SB_OK;
    case SBI_OP_APART:
        if (op->in[0]->dtype == SB_F64)
            ref_apart_f64(n[0], n[1], (int)n[2], op->r[0], in[0], in[1], in[2], in[3], out[0]);
        else
            ref_apart_f32(n[0], n[1], (int)n[2], op->r[0], in[0], in[1], in[2], in[3], out[0]);
        return SB_OK;
    case SBI_OP_COPY:
        if (n[0] > 0)
            memmove(out[0], in[0], (size_t)n[0]);
        return SB_OK;
    case SBI_OP_COUNT: break;
    }
    return sbi_fail(err, SB_ERR_INTERNAL, "", "the reference knows no operation %d", (int)op->id);
}

static const sbi_device reference_device = {
    .name = "reference",
    .allocate = reference_allocate,
    .release = reference_release,
    .read = reference_move,
    .write = reference_move,
    .operation = reference_operation,
    .copy = reference_copy,
};

sb_status reference_context(sb_context **out, sb_error *err) {
    return sbi_context_new_on(&reference_device, 1, out, err);
}
