// SPDX-License-Identifier: Apache-2.0
// Optimizer steps and the clip of gradients by their global norm (contract T8). Everything that is made once a step
// is scalar binary64, one rounding an operation, and rounded to float32 where the elements use it.
#include "check.h"
#include "ops.h"

enum { LEARNING_RATE, BETA1, BETA2, EPS, WEIGHT_DECAY, BETA1_POWER, BETA2_POWER };

static sb_status adamw_kernels(sb_context *ctx, const sbi_op *op, sb_error *err) {
    const double *r = op->r;
    int64_t size = op->n[0];
    float step = (float)(r[LEARNING_RATE] / (1.0 - r[BETA1_POWER]));
    float s2 = (float)(1.0 / __builtin_sqrt(1.0 - r[BETA2_POWER]));
    double decay = r[LEARNING_RATE] * r[WEIGHT_DECAY];
    float dec = (float)(1.0 - decay), a1 = (float)(1.0 - r[BETA1]), a2 = (float)(1.0 - r[BETA2]);
    const sbi_arg args[] = {SBI_IN(op->in[0]), SBI_OUT(op->out[0]), SBI_OUT(op->out[1]), SBI_OUT(op->out[2]),
                            SBI_INT(size), SBI_REAL(r[BETA1]), SBI_REAL((double)a1), SBI_REAL(r[BETA2]),
                            SBI_REAL((double)a2), SBI_REAL((double)s2), SBI_REAL(r[EPS]), SBI_REAL((double)step),
                            SBI_REAL((double)dec)};
    return sbi_launch(ctx, SBI_ID_k_adamw_f32, size / 256 + (size % 256 != 0), args, err);
}

// 0 <= value < limit (1 or infinity); a NaN fails.
static sb_status check_option(double value, const char *name, double limit, sb_error *err) {
    if (value >= 0.0 && value < limit)
        return SB_OK;
    if (limit == 1.0)
        return sbi_fail(err, SB_ERR_ARGUMENT, name, "%s is %g, it must be at least 0 and below 1", name, value);
    return sbi_fail(err, SB_ERR_ARGUMENT, name, "%s is %g, it must be at least 0 and finite", name, value);
}

sb_status sbi_adamw(sb_context *ctx, const sb_adamw_options *options, const sb_array *g, sb_array *p, sb_array *m,
                    sb_array *v, sb_error *err) {
    static const char *const names[] = {"learning_rate", "beta1", "beta2", "eps",
                                        "weight_decay", "beta1_power", "beta2_power"};
    static const bool below_one[] = {false, true, true, false, false, true, true};
    const sb_array *arrays[] = {g, p, m, v};
    static const char *const array_names[] = {"g", "p", "m", "v"};
    sb_status status;
    sbi_op op = {.id = SBI_OP_ADAMW, .kernels = adamw_kernels, .in = {g}, .out = {p, m, v}, .n = {g->size}, .keeps = 7,
                 .r = {(double)options->learning_rate, (double)options->beta1, (double)options->beta2,
                       (double)options->eps, (double)options->weight_decay, options->beta1_power,
                       options->beta2_power}};
    for (int i = 0; i < 7; i++)
        if ((status = check_option(op.r[i], names[i], below_one[i] ? 1.0 : (double)__builtin_inf(), err)))
            return status;
    for (int i = 0; i < 4; i++) {
        if ((status = sbi_check_dtype(arrays[i], array_names[i], SB_F32, err)))
            return status;
        if ((status = sbi_check_like(arrays[i], array_names[i], g, "g", err)))
            return status;
    }
    return sbi_run(ctx, &op, err);
}

// norm = RN64(sqrt(S over the arrays of S(g g))); factor = RN32(min(1, RN64(max / RN64(norm + 1e-6)))).
// A product with the factor 1 moves no bit of a finite number, so it is left out.
sb_status sbi_clip_norm(sb_context *ctx, int64_t count, sb_array *const *grads, double max_norm, double *norm,
                        sb_error *err) {
    if (count < 0)
        return sbi_fail(err, SB_ERR_ARGUMENT, "count", "count is %lld, it must not be negative", (long long)count);
    if (!(max_norm > 0.0))
        return sbi_fail(err, SB_ERR_ARGUMENT, "max_norm", "max_norm is %g, it must be above 0", max_norm);
    for (int64_t i = 0; i < count; i++) {
        sb_status status = sbi_check_dtype(grads[i], "grads", SB_F32, err);
        if (status)
            return status;
    }
    sb_array *totals = NULL;
    double *squares = sbi_allocate(&ctx->allocator, count ? count : 1, sizeof *squares, err);
    sb_status status = squares ? SB_OK : SB_ERR_MEMORY;
    if (!status)
        status = sbi_scratch(ctx, SB_F64, count, &totals, err);
    for (int64_t i = 0; !status && i < count; i++) {
        status = sbi_sum_squares(ctx, grads[i], &squares[i], err);
        if (!status && !(squares[i] <= 0x1.fffffffffffffp+1023)) // (a sum of squares of finite float32 is finite)
            status = sbi_fail(err, SB_ERR_NONFINITE, "grads", "array %lld of grads holds an infinity or a NaN",
                              (long long)i);
    }
    double total = 0.0;
    if (!status)
        status = sbi_array_write(totals, squares, (size_t)count * sizeof *squares, err);
    if (!status)
        status = sbi_total(ctx, totals, &total, err);
    if (!status) {
        double length = __builtin_sqrt(total), padded = length + 1e-6, ratio = max_norm / padded;
        float factor = (float)(ratio < 1.0 ? ratio : 1.0);
        if (norm)
            *norm = length;
        for (int64_t i = 0; !status && i < count && factor < 1.0f; i++)
            status = sbi_scale(ctx, grads[i], (double)factor, grads[i], err);
    }
    sbi_array_free(totals);
    sbi_release(&ctx->allocator, squares);
    return status;
}
