// SPDX-License-Identifier: Apache-2.0
// AdamW over all parameters, with groups by name pattern.
//
// Once a step, in binary64: power1 = RN64(power1 * beta1), power2 = RN64(power2 * beta2), where
// beta1 and beta2 are the float32 options widened; then T8 on every tensor, with the learning rate
// and decay of its group.
#include "nn.h"

bool sbi_pattern_matches(const char *pattern, const char *name) {
    const char *star = NULL, *resume = NULL; // the last '*', and where the text it swallows ends
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            resume = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == 0;
}

sb_status sbi_optimizer_start(sb_context *ctx, const sbi_layout *layout, sbi_optimizer *optimizer,
                              sb_error *err) {
    optimizer->power[0] = optimizer->power[1] = 1.0;
    sb_status status = sbi_tensors_new(ctx, layout, &optimizer->first, err);
    if (status == SB_OK) status = sbi_tensors_new(ctx, layout, &optimizer->second, err);
    return status;
}

void sbi_optimizer_free(sbi_optimizer *optimizer) {
    sbi_tensors_free(&optimizer->first);
    sbi_tensors_free(&optimizer->second);
}

sb_status sbi_optimizer_step(sb_context *ctx, sbi_optimizer *optimizer, float learning_rate,
                             const sbi_tensors *gradients, sbi_tensors *weights, sb_error *err) {
    const sbi_layout *layout = weights->layout;
    optimizer->power[0] = optimizer->power[0] * (double)optimizer->beta1;
    optimizer->power[1] = optimizer->power[1] * (double)optimizer->beta2;
    sb_status status = SB_OK;
    for (int64_t i = 0; i < layout->count && status == SB_OK; i++) {
        sb_adamw_options options = {.size = sizeof options,
                                    .learning_rate = (double)learning_rate,
                                    .beta1 = (double)optimizer->beta1,
                                    .beta2 = (double)optimizer->beta2,
                                    .eps = (double)optimizer->eps,
                                    .beta1_power = optimizer->power[0],
                                    .beta2_power = optimizer->power[1]};
        for (int64_t g = 0; g < optimizer->group_count; g++) {
            const sbi_group *group = &optimizer->groups[g];
            if (sbi_pattern_matches(group->pattern, layout->items[i].name)) {
                options.weight_decay = (double)group->weight_decay;
                options.learning_rate = (double)(learning_rate * group->rate_ratio);
                break;
            }
        }
        status = sbi_adamw(ctx, &options, gradients->items[i], weights->items[i],
                           optimizer->first.items[i], optimizer->second.items[i], err);
    }
    return status;
}
