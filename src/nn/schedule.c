// SPDX-License-Identifier: Apache-2.0
// Learning rates as a table of float32: warm-up, then half a cosine. Whoever trains reads the
// table, never the formula.
//
// For step t = 1 .. steps, W = warm_up, lr and q = minimum_ratio binary64; each operation rounded
// to binary64:
//   t <= W:  rate_t = RN32((lr * t) / W)
//   else:    a_t = RN32((0x1.921fb54442d18p+1 * (t - W)) / (steps - W))       (the angle, 0 to pi;
//   float32)
//            c_t = cos(a_t), the correctly rounded float32 value of T4
//            rate_t = RN32(lr * (q + (1 - q) * ((1 + c_t) * 0.5)))
#include "nn.h"

sb_status sbi_schedule_cosine(sb_context *ctx, int64_t steps, int64_t warm_up, double learning_rate,
                              double minimum_ratio, float *rates, sb_error *err) {
    sb_array *angles = NULL;
    if (steps < 1 || warm_up < 0 || warm_up > steps)
        return sbi_fail(err, SB_ERR_ARGUMENT, "warm_up",
                        "a warm-up of %lld steps does not fit %lld steps", (long long)warm_up,
                        (long long)steps);
    for (int64_t t = 1; t <= steps; t++)
        rates[t - 1] =
            t <= warm_up
                ? 0.0f
                : (float)(0x1.921fb54442d18p+1 * (double)(t - warm_up) / (double)(steps - warm_up));
    sb_status status = sbi_array_new(ctx, SB_F32, 1, &steps, &angles, err);
    if (status == SB_OK)
        status = sbi_array_write(angles, rates, (size_t)steps * sizeof *rates, err);
    if (status == SB_OK) status = sbi_unary(ctx, SB_COS, angles, angles, err);
    if (status == SB_OK) status = sbi_array_read(angles, rates, (size_t)steps * sizeof *rates, err);
    sbi_array_free(angles);
    for (int64_t t = 1; t <= steps && status == SB_OK; t++) {
        if (t <= warm_up) {
            rates[t - 1] = (float)(learning_rate * (double)t / (double)warm_up);
        } else {
            double half = (1.0 + (double)rates[t - 1]) * 0.5;
            rates[t - 1] = (float)(learning_rate * (minimum_ratio + (1.0 - minimum_ratio) * half));
        }
    }
    return status;
}
