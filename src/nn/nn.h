// SPDX-License-Identifier: Apache-2.0
// nn: parameters, initial values, layers forward and backward, the optimizer with its groups,
// schedules.
#ifndef SBI_NN_H
#define SBI_NN_H

#include "ops.h"

// ---- parameters.c
// The layout of a model's parameters, in the order of the model. Weights, gradients and moments all
// share it: one flat array each, in which every tensor starts at a multiple of 16 elements (the
// gaps stay +0), so that adding two sets of gradients is one operation.
#define SBI_PARAMETER_NAME 96

typedef enum sbi_initial { SBI_INITIAL_NORMAL, SBI_INITIAL_ONE, SBI_INITIAL_ZERO } sbi_initial;

typedef struct sbi_parameter {
    char name[SBI_PARAMETER_NAME];
    int ndim; // 1 or 2
    int64_t shape[2];
    int64_t size, offset; // elements; where they start in the flat array
    sbi_initial initial;
    float deviation; // of SBI_INITIAL_NORMAL
} sbi_parameter;

typedef struct sbi_layout {
    sbi_allocator allocator;
    sbi_parameter *items;
    int64_t count, capacity;
    int64_t extent;   // elements of the flat array
    int64_t elements; // elements that are parameters
} sbi_layout;

void sbi_layout_start(sbi_layout *layout, const sbi_allocator *allocator);
// columns 0: a vector of `rows`. The name is `prefix` followed by `name`.
sb_status sbi_layout_add(sbi_layout *layout, const char *prefix, const char *name, int64_t rows,
                         int64_t columns, sbi_initial initial, float deviation, sb_error *err);
void sbi_layout_free(sbi_layout *layout);

// One value for every parameter: the flat array and a view of each tensor.
typedef struct sbi_tensors {
    const sbi_layout *layout;
    sb_array *flat;
    sb_array **items;
} sbi_tensors;
sb_status sbi_tensors_new(sb_context *ctx, const sbi_layout *layout, sbi_tensors *out,
                          sb_error *err); // zeros
void sbi_tensors_free(sbi_tensors *tensors);
// The tree digest (T10) of the tensors under their names.
sb_status sbi_tensors_digest(sb_context *ctx, const sbi_tensors *tensors, uint8_t out[32],
                             sb_error *err);

// Initial values. Tensor number i of the layout draws from stream `stream + i` of the seed:
//   normal: RN32(normal32 * deviation), draw e for element e; ones; zeros.
sb_status sbi_tensors_initialize(sb_context *ctx, sbi_tensors *weights, uint64_t seed,
                                 uint64_t stream, sb_error *err);

// ---- layers.c
// y[n, out] = x[n, in] w[out, in]^T (+ b[out]), added to y's old value if accumulate (T3).
sb_status sbi_linear(sb_context *ctx, const sb_array *x, const sb_array *w, const sb_array *b,
                     bool accumulate, sb_array *y, sb_error *err);
// dx = dy w (added to the old value if accumulate), dw = dy^T x, db = S over rows of dy. dx, db may
// be NULL.
sb_status sbi_linear_backward(sb_context *ctx, const sb_array *x, const sb_array *w,
                              const sb_array *dy, bool accumulate, sb_array *dx, sb_array *dw,
                              sb_array *db, sb_error *err);

// ---- optimizer.c
// A group holds for the parameters whose name its pattern matches ('*' stands for any characters);
// the first group that matches counts; a parameter without one has no decay and the plain learning
// rate.
typedef struct sbi_group {
    char pattern[SBI_PARAMETER_NAME];
    float weight_decay, rate_ratio; // its learning rate is RN32(lr * rate_ratio)
} sbi_group;

bool sbi_pattern_matches(const char *pattern, const char *name);

typedef struct sbi_optimizer {
    float beta1, beta2, eps;
    const sbi_group *groups;
    int64_t group_count;
    sbi_tensors first, second; // the moments m and v of T8
    double power[2];           // beta1^t and beta2^t: binary64 products, one a step
} sbi_optimizer;
// first and second zero, powers 1. Options are set by the caller.
sb_status sbi_optimizer_start(sb_context *ctx, const sbi_layout *layout, sbi_optimizer *optimizer,
                              sb_error *err);
// One AdamW step (T8) on every parameter in order.
sb_status sbi_optimizer_step(sb_context *ctx, sbi_optimizer *optimizer, float learning_rate,
                             const sbi_tensors *gradients, sbi_tensors *weights, sb_error *err);
void sbi_optimizer_free(sbi_optimizer *optimizer);

// ---- schedule.c
// rates[steps]: the learning rate of step 1 .. steps. See the file for the formula.
sb_status sbi_schedule_cosine(sb_context *ctx, int64_t steps, int64_t warm_up, double learning_rate,
                              double minimum_ratio, float *rates, sb_error *err);
#endif
