// SPDX-License-Identifier: Apache-2.0
// Optimizer steps and the clip of gradients by their global norm (contract T8). Everything that is made once a step
// is scalar binary64, one rounding an operation, and rounded to the type of the data where the elements use it.
#include "check.h"
#include "ops.h"

enum { LEARNING_RATE, BETA1, BETA2, EPS, WEIGHT_DECAY, BETA1_POWER, BETA2_POWER };

static sb_status adam_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const double *r = op->r;
    int64_t size = op->n[0];
    bool decoupled = op->id == SBI_OP_ADAMW;
    sb_dtype type = op->in[0]->dtype;
    double step = sbi_rounded(type, r[LEARNING_RATE] / (1.0 - r[BETA1_POWER]));
    double s2 = sbi_rounded(type, 1.0 / __builtin_sqrt(1.0 - r[BETA2_POWER]));
    double decay = r[LEARNING_RATE] * r[WEIGHT_DECAY], kept = sbi_rounded(type, 1.0 - decay);
    double a1 = sbi_rounded(type, 1.0 - r[BETA1]), a2 = sbi_rounded(type, 1.0 - r[BETA2]);
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_OUT(op->out[0]), SBI_OUT(op->out[1]), SBI_OUT(op->out[2]),
                            SBI_INT(size), SBI_REAL(r[BETA1]), SBI_REAL(a1), SBI_REAL(r[BETA2]), SBI_REAL(a2),
                            SBI_REAL(s2), SBI_REAL(r[EPS]), SBI_REAL(step),
                            SBI_REAL(decoupled ? kept : r[WEIGHT_DECAY])};
    sbi_kernel_id kernel = decoupled ? SBI_TYPED(type, k_adamw) : SBI_TYPED(type, k_adam);
    return sbi_launch(ctx, kernel, sbi_groups(size, 256), args, err);
}

// 0 <= value < limit (1 or infinity); a NaN fails.
static sb_status check_option(double value, const char *name, double limit, sb_error *err) {
    if (value >= 0.0 && value < limit)
        return SB_OK;
    if (limit == 1.0)
        return sbi_fail(err, SB_ERR_ARGUMENT, name, "%s is %g, it must be at least 0 and below 1", name, value);
    return sbi_fail(err, SB_ERR_ARGUMENT, name, "%s is %g, it must be at least 0 and finite", name, value);
}

// All of g's type and shape.
static sb_status check_arrays(int count, const sb_array *const *arrays, const char *const *names, sb_error *err) {
    sb_status status = sbi_check_real(arrays[0], names[0], err);
    for (int i = 1; !status && i < count; i++)
        if (!(status = sbi_check_dtype(arrays[i], names[i], arrays[0]->dtype, err)))
            status = sbi_check_like(arrays[i], names[i], arrays[0], names[0], err);
    return status;
}

static sb_status run_adam(sb_context *ctx, sbi_op_id id, const sb_adamw_options *options, const sb_array *g, sb_array *p,
                          sb_array *m, sb_array *v, sb_error *err) {
    static const char *const names[] = {"learning_rate", "beta1", "beta2", "eps", "weight_decay"};
    static const bool below_one[] = {false, true, true, false, false};
    const sb_array *arrays[] = {g, p, m, v};
    static const char *const array_names[] = {"g", "p", "m", "v"};
    sb_status status = check_arrays(4, arrays, array_names, err);
    sbi_op op = {.id = id, .kernels = adam_kernels, .in = {g}, .out = {p, m, v}, .n = {g->size}, .keeps = 7,
                 .r = {options->learning_rate, options->beta1, options->beta2, options->eps, options->weight_decay,
                       options->beta1_power, options->beta2_power}};
    for (int i = 0; !status && i < 5; i++) {
        op.r[i] = sbi_rounded(g->dtype, op.r[i]);
        status = check_option(op.r[i], names[i], below_one[i] ? 1.0 : (double)__builtin_inf(), err);
    }
    if (!status)
        status = check_option(options->beta1_power, "beta1_power", 1.0, err);
    if (!status)
        status = check_option(options->beta2_power, "beta2_power", 1.0, err);
    return status ? status : sbi_run(ctx, &op, err);
}

sb_status sbi_adamw(sb_context *ctx, const sb_adamw_options *options, const sb_array *g, sb_array *p, sb_array *m,
                    sb_array *v, sb_error *err) {
    return run_adam(ctx, SBI_OP_ADAMW, options, g, p, m, v, err);
}

sb_status sbi_adam(sb_context *ctx, const sb_adamw_options *options, const sb_array *g, sb_array *p, sb_array *m,
                   sb_array *v, sb_error *err) {
    return run_adam(ctx, SBI_OP_ADAM, options, g, p, m, v, err);
}

enum { RATE, MOMENTUM, DAMPENING, DECAY };

static sb_status sgd_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const double *r = op->r;
    int64_t size = op->n[0];
    sb_dtype type = op->in[0]->dtype;
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_OUT(op->out[0]), SBI_OUT(op->out[1]), SBI_INT(size),
                            SBI_REAL(r[RATE]), SBI_REAL(r[MOMENTUM]), SBI_REAL(sbi_rounded(type, 1.0 - r[DAMPENING])),
                            SBI_REAL(r[DECAY]), SBI_INT(op->n[1]), SBI_INT(op->n[2])};
    return sbi_launch(ctx, SBI_TYPED(type, k_sgd), sbi_groups(size, 256), args, err);
}

sb_status sbi_sgd(sb_context *ctx, const sb_sgd_options *options, const sb_array *g, sb_array *p, sb_array *m,
                  sb_error *err) {
    static const char *const names[] = {"learning_rate", "momentum", "dampening", "weight_decay"};
    const sb_array *arrays[] = {g, p, m};
    static const char *const array_names[] = {"g", "p", "m"};
    sb_status status = check_arrays(m ? 3 : 2, arrays, array_names, err);
    sbi_op op = {.id = SBI_OP_SGD, .kernels = sgd_kernels, .in = {g}, .out = {p, m},
                 .n = {g->size, options->first != 0, options->nesterov != 0},
                 .r = {options->learning_rate, options->momentum, options->dampening, options->weight_decay}};
    for (int i = 0; !status && i < 4; i++) {
        op.r[i] = sbi_rounded(g->dtype, op.r[i]);
        status = check_option(op.r[i], names[i], (double)__builtin_inf(), err);
    }
    if (status)
        return status;
    if (options->nesterov && (op.r[MOMENTUM] == 0.0 || op.r[DAMPENING] != 0.0))
        return sbi_fail(err, SB_ERR_ARGUMENT, "nesterov", "nesterov asks for a momentum above 0 and a dampening of 0");
    if (!m && op.r[MOMENTUM] != 0.0)
        return sbi_fail(err, SB_ERR_ARGUMENT, "m", "m is NULL and the momentum is %g", op.r[MOMENTUM]);
    op.keeps = options->first && op.r[MOMENTUM] != 0.0 ? 1 : 3;
    return sbi_run(ctx, &op, err);
}

// norm = RN64(sqrt(S over the arrays of S(g g))); factor = RN(min(1, RN64(max / RN64(norm + 1e-6)))).
// A product with the factor 1 moves no bit of a finite number, so it is left out.
sb_status sbi_clip_norm(sb_context *ctx, int64_t count, sb_array *const *grads, double max_norm, double *norm,
                        sb_error *err) {
    if (count < 0)
        return sbi_fail(err, SB_ERR_ARGUMENT, "count", "count is %lld, it must not be negative", (long long)count);
    if (!(max_norm > 0.0))
        return sbi_fail(err, SB_ERR_ARGUMENT, "max_norm", "max_norm is %g, it must be above 0", max_norm);
    for (int64_t i = 0; i < count; i++) {
        sb_status status = sbi_check_real(grads[i], "grads", err);
        if (status)
            return status;
        if (grads[i]->dtype != grads[0]->dtype)
            return sbi_fail(err, SB_ERR_DTYPE, "grads", "array %lld of grads is %s, array 0 is %s", (long long)i,
                            sbi_dtype_name(grads[i]->dtype), sbi_dtype_name(grads[0]->dtype));
    }
    sb_array *totals = NULL;
    double *squares = sbi_allocate(&ctx->allocator, count ? count : 1, sizeof *squares, err);
    sb_status status = squares ? SB_OK : SB_ERR_MEMORY;
    if (!status)
        status = sbi_scratch(ctx, SB_F64, count, &totals, err);
    for (int64_t i = 0; !status && i < count; i++) {
        status = sbi_sum_squares(ctx, grads[i], &squares[i], err);
        if (!status && !(squares[i] <= 0x1.fffffffffffffp+1023)) // (a sum of squares of finite float32 is finite)
            status = sbi_fail(err, SB_ERR_NONFINITE, "grads", grads[i]->dtype == SB_F32 ?
                              "array %lld of grads holds an infinity or a NaN" :
                              "the sum of squares of array %lld of grads is not finite", (long long)i);
    }
    double total = 0.0;
    if (!status)
        status = sbi_array_write(totals, squares, (size_t)count * sizeof *squares, err);
    if (!status)
        status = sbi_total(ctx, totals, &total, err);
    if (!status && !(total <= 0x1.fffffffffffffp+1023))
        status = sbi_fail(err, SB_ERR_NONFINITE, "grads", "the sum of squares of grads is not finite");
    if (!status) {
        double length = __builtin_sqrt(total), padded = length + 1e-6, ratio = max_norm / padded;
        double factor = count ? sbi_rounded(grads[0]->dtype, ratio < 1.0 ? ratio : 1.0) : 1.0;
        if (norm)
            *norm = length;
        for (int64_t i = 0; !status && i < count && factor < 1.0; i++)
            status = sbi_scale(ctx, grads[i], factor, grads[i], err);
    }
    sbi_array_free(totals);
    sbi_release(&ctx->allocator, squares);
    return status;
}
