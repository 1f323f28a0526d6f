// SPDX-License-Identifier: Apache-2.0
// Lanes of the unary functions: the fixture's values, the same scaled up and down so that arguments reach huge and tiny
// ones, and a list of hard arguments (limits, ties, far reductions, inputs near a tie of one of the functions).
#include "proof.h"

static const uint32_t hard[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x00000003, 0x80000003, 0x007fffff, 0x807fffff, // zeros, subnormals
    0x00800000, 0x80800000, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0xbf7fffff, 0x7f7fffff,
    0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001,                         // infinities, NaN
    0x42b17217, 0x42b17218, 0xc2aeac50, 0xc2cff1b4, 0xc2cff1b5, 0xc2d20000,                         // exp over, under
    0x33800000, 0xb3800000, 0x34400000, 0x34000000, 0x34e00000, 0xb4600000, 0x35a80001,             // ties beside 1, 1/2
    0x3fc90fdb, 0x40490fdb, 0x4096cbe4, 0x4d7fffff, 0x4d800000, 0xcd800000, 0x6115cb11, 0x7e804000, // multiples of pi/2
    0x34c00000, 0x3c413d3a, 0x41178feb, 0x65d890d3, 0x6f31a8ec, 0xb7100000, 0xb4400000, 0xc6199998, // once misrounded
    0x5f18b878, 0xbfa3a4ba, 0xbfa3a4b9, 0xbfa3a4bb, 0xbfc3a4ba, 0xbf83a4b9,                         // silu' at its zero
};
enum { HARD = sizeof hard / sizeof hard[0] };

static sb_status run_function(sbi_lane_run *run, sb_unary_kind kind, sb_error *err) {
    int64_t n = sbi_lane_size(run, 24, 5), d = sbi_lane_size(run, 400, 67);
    const char *const names[] = {"x", "large", "small"};
    const float factors[] = {1.0f, 0x1p6f, 0x1p-20f};
    for (int i = 0; i < 3; i++) {
        sb_array *x = sbi_lane_input(run, names[i], SB_F32, 2, (const int64_t[]){n, d});
        sb_array *y = sbi_lane_result(run, SB_F32, 2, (const int64_t[]){n, d});
        if (i > 0 && run->status == SB_OK) {
            sbi_lane_do(run, sb_scale(run->ctx, x, (double)factors[i], x, err));
        }
        for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p)) {
            sb_array *from = sbi_lane_part(run, x, p), *to = sbi_lane_part(run, y, p);
            if (run->status == SB_OK) {
                sbi_lane_do(run, sb_unary(run->ctx, kind, from, to, err));
            }
        }
        sbi_lane_cell(run, names[i], y, err);
    }
    sb_array *x = sbi_lane_result(run, SB_F32, 1, (const int64_t[]){HARD}); // in place
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_array_write(x, hard, sizeof hard, err));
    }
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_unary(run->ctx, kind, x, x, err));
    }
    return sbi_lane_cell(run, "hard", x, err);
}

#define FUNCTION(name, kind) \
    static sb_status run_##name(sbi_lane_run *run, sb_error *err) { return run_function(run, kind, err); }
FUNCTION(exp, SB_EXP)
FUNCTION(log, SB_LOG)
FUNCTION(sin, SB_SIN)
FUNCTION(cos, SB_COS)
FUNCTION(rsqrt, SB_RSQRT)
FUNCTION(sigmoid, SB_SIGMOID)
FUNCTION(silu, SB_SILU)
FUNCTION(silu_grad, SB_SILU_GRAD)
FUNCTION(sqrt, SB_SQRT)
FUNCTION(neg, SB_NEG)
FUNCTION(abs, SB_ABS)
FUNCTION(tanh, SB_TANH)
FUNCTION(expm1, SB_EXPM1)
FUNCTION(log1p, SB_LOG1P)
FUNCTION(exp2, SB_EXP2)
FUNCTION(log2, SB_LOG2)
FUNCTION(log10, SB_LOG10)
FUNCTION(erf, SB_ERF)
FUNCTION(erfc, SB_ERFC)
FUNCTION(softplus, SB_SOFTPLUS)
FUNCTION(log_sigmoid, SB_LOG_SIGMOID)
FUNCTION(gelu, SB_GELU)
FUNCTION(gelu_tanh, SB_GELU_TANH)
FUNCTION(gelu_grad, SB_GELU_GRAD)
FUNCTION(gelu_tanh_grad, SB_GELU_TANH_GRAD)

// Words of Philox, and the corners of the distribution: both ends, the middle, the seam of the two formulas.
static sb_status run_inverse_normal(sbi_lane_run *run, sb_error *err) {
    static const uint32_t corners[] = {0, 1, 2, 3, 0x13333332, 0x13333333, 0x13333334, 0x7ffffffe, 0x7fffffff,
                                       0x80000000, 0x80000001, 0x47e8d521, 0xb8172ade, 0xecccccca, 0xeccccccb, 0xeccccccc, 0xecccccce, 0xfffffffd,
                                       0xfffffffe, 0xffffffff};
    enum { CORNERS = sizeof corners / sizeof corners[0] };
    int64_t n = sbi_lane_size(run, 24, 5), d = sbi_lane_size(run, 400, 67);
    sb_array *x = sbi_lane_result(run, SB_U32, 2, (const int64_t[]){n, d});
    sb_array *y = sbi_lane_result(run, SB_F32, 2, (const int64_t[]){n, d});
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_random_bits(run->ctx, sbi_lane_word(run, "seed"), 11, 0, x, err));
    }
    for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p)) {
        sb_array *from = sbi_lane_part(run, x, p), *to = sbi_lane_part(run, y, p);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_unary(run->ctx, SB_INVERSE_NORMAL, from, to, err));
        }
    }
    sbi_lane_cell(run, "y", y, err);
    sb_array *c = sbi_lane_result(run, SB_U32, 1, (const int64_t[]){CORNERS});
    sb_array *z = sbi_lane_result(run, SB_F32, 1, (const int64_t[]){CORNERS});
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_array_write(c, corners, sizeof corners, err));
    }
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_unary(run->ctx, SB_INVERSE_NORMAL, c, z, err));
    }
    return sbi_lane_cell(run, "corners", z, err);
}

#define LANE(lane, is_quick) {.name = #lane, .kind = "function", .fixtures = SBI_FIX_ALL, .quick = is_quick, .rows = true, \
                              .counts_inputs = true, .run = run_##lane}
const sbi_lane sbi_lanes_function[] = {
    LANE(exp, true),      LANE(log, false),  LANE(sin, true),        LANE(cos, false),
    LANE(rsqrt, false),   LANE(sigmoid, false), LANE(silu, false),   LANE(silu_grad, false),
    LANE(sqrt, false),    LANE(neg, false),  LANE(abs, false),
    LANE(tanh, false),    LANE(expm1, false), LANE(log1p, false),    LANE(exp2, false),
    LANE(log2, false),    LANE(log10, false), LANE(erf, false),      LANE(erfc, false),
    LANE(softplus, false), LANE(log_sigmoid, false), LANE(gelu, false), LANE(gelu_tanh, false),
    LANE(gelu_grad, false), LANE(gelu_tanh_grad, false),
    {.name = "inverse_normal", .kind = "function", .rows = true, .run = run_inverse_normal,
     .fixtures = SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_ODD) | SBI_FIX(SBI_FIX_EMPTY) | SBI_FIX(SBI_FIX_ONE)},
    {0},
};
