// SPDX-License-Identifier: Apache-2.0
// Lanes of the unary functions of binary64: the fixture's values, the same scaled up and down so that arguments reach large
// and tiny ones, and a list of hard arguments: limits, seams of the sequences, far reductions, zeros of a slope.
#include "proof.h"

static const uint64_t hard[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001, 0x000fffffffffffff, // zeros, subnormals
    0x8000000000000003, 0x0010000000000000, 0x8010000000000000, 0x20b0000000000001, 0x20a3456789abcdef,
    0x3ff0000000000000, 0xbff0000000000000, 0x3fefffffffffffff, 0x3ff0000000000001, 0xbfefffffffffffff, // beside 1
    0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, // infinities, NaN
    0xfff8000000000001, 0x7ff0000000000001, 0xfff4000000000000,
    0x40862e42fefa39ef, 0x40862e42fefa39f0, 0xc086232bdd7abcd2, 0xc0874910d52d3051, 0xc0874910d52d3052, // exp over, under
    0xc0874385446d71c3, 0xc0877be4ac8f1d2e, 0xc042b708872320e2, 0xc042b708872320e1, 0x404e000000000001, 0xc044000000000001,
    0x3fd62e42fefa39ef, 0xbfd62e42fefa39f0, 0x3ff0a2b23f3bab73, 0xbff0a2b23f3bab73, 0x3fc62e42fefa39ef, // n turns in exp
    0x3fe6a09e667f3bcc, 0x3fe6a09e667f3bcd, 0x3ff6a09e667f3bcc, 0x3ff6a09e667f3bcd, 0x3fdb000000000000, // and in log
    0xbfd28f5c28f5c28f, 0xbfd28f5c28f5c290, 0x3fda3d70a3d70a3d, 0x3fda3d70a3d70a3e, 0xbfd2bec333018867, 0x43b0000000000001,
    0x408f400000000000, 0x40c3880000000000, 0x4094d13f7ced9168, 0x40289fbe76c8b439, 0x4090000000000001, 0xc090c80000000000,
    0x3fe921fb54442d18, 0x3fe921fb54442d19, 0x3ff921fb54442d18, 0x400921fb54442d18, 0x4002d97c7f3321d2, // multiples of pi/4
    0x413fffffffffffff, 0x413fffff0c0d3c9d, 0x4140000000000000, 0xc140000000000001, 0x7506ac5b262ca1ff, // near to far
    0x6ea1c6d5aa5d1cf5, 0x44b52d02c7e14af6, 0x43f0000000000001, 0xc3dfffffffffffff, 0x7fdfffffffffffff,
    0xbff474973c84120b, 0xbff474973c84120c, 0xbff474973c84120a, 0xbff374973c84120b, 0xbff574973c84120c, // silu' at its zero
    0x4044000000000000, 0x4044000000000001, 0x4034000000000000, 0x4034000000000001, 0xc0687d6f2b3c4d5e, 0x4089000000000001,
    0x0df0000000000000, 0x0def4a5b6c7d8e9f, 0x71f0000000000000, 0x71f123456789abcd, 0xc050000000000000, 0xc050000000000001,
};
static const uint64_t seams[] = {
    0xbfe80ead197f00b4, 0xbfe80ead197f00b5, 0xbfe60ead197f00b5, 0xbfe81429f9e97e4d, 0xbfe81429f9e97e4e, 0xbfe61429f9e97e4d, // gelu'
    0x3fdfffffffffffff, 0x3fe0000000000000, 0xbfe0000000000001, 0x403ae17b4c1e5a9d, 0xc03ae17b4c1e5a9d, 0xc035e66666666667,
};
enum { HARD = sizeof hard / sizeof hard[0], SEAMS = sizeof seams / sizeof seams[0] };

static sb_status run_function(sbi_lane_run *run, sb_unary_kind kind, sb_error *err) {
    int64_t n = sbi_lane_size(run, 24, 5), d = sbi_lane_size(run, 400, 67);
    const char *const names[] = {"x", "large", "small"};
    const double factors[] = {1.0, 0x1p9, 0x1p-40};
    for (int i = 0; i < 3; i++) {
        sb_array *x = sbi_lane_input(run, names[i], SB_F64, 2, (const int64_t[]){n, d});
        sb_array *y = sbi_lane_result(run, SB_F64, 2, (const int64_t[]){n, d});
        if (i > 0 && run->status == SB_OK) {
            sbi_lane_do(run, sb_scale(run->ctx, x, factors[i], x, err));
        }
        for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p)) {
            sb_array *from = sbi_lane_part(run, x, p), *to = sbi_lane_part(run, y, p);
            if (run->status == SB_OK) {
                sbi_lane_do(run, sb_unary(run->ctx, kind, from, to, err));
            }
        }
        sbi_lane_cell(run, names[i], y, err);
    }
    const struct { const char *name; const uint64_t *values; int64_t count; } lists[] = {{"hard", hard, HARD}, {"seams", seams, SEAMS}};
    for (int i = 0; i < 2; i++) {
        sb_array *x = sbi_lane_result(run, SB_F64, 1, &lists[i].count); // in place
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_array_write(x, lists[i].values, 8 * (size_t)lists[i].count, err));
        }
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_unary(run->ctx, kind, x, x, err));
        }
        sbi_lane_cell(run, lists[i].name, x, err);
    }
    return run->status;
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
    static const uint64_t corners[] = {0, 0x7ff, 0x800, 0x1000, 0x6666666666666000, 0x6666666666666800, 0x66666666666667ff,
                                       0x6666666666665fff, 0x7fffffffffffffff, 0x7ffffffffffff7ff, 0x8000000000000000,
                                       0x8000000000000800, 0x9999999999999800, 0x9999999999999fff, 0xffffffffffffffff,
                                       0xfffffffffffff7ff, 0x0000000000123456, 0x00000fedcba98765, 0x0123456789abcdef};
    enum { CORNERS = sizeof corners / sizeof corners[0] };
    int64_t n = sbi_lane_size(run, 24, 5), d = sbi_lane_size(run, 400, 67);
    sb_array *x = sbi_lane_result(run, SB_U64, 2, (const int64_t[]){n, d});
    sb_array *y = sbi_lane_result(run, SB_F64, 2, (const int64_t[]){n, d});
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
    sb_array *c = sbi_lane_result(run, SB_U64, 1, (const int64_t[]){CORNERS});
    sb_array *z = sbi_lane_result(run, SB_F64, 1, (const int64_t[]){CORNERS});
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_array_write(c, corners, sizeof corners, err));
    }
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_unary(run->ctx, SB_INVERSE_NORMAL, c, z, err));
    }
    return sbi_lane_cell(run, "corners", z, err);
}

#define LANE(lane) {.name = #lane "_f64", .kind = "function", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, \
                    .run = run_##lane, .dtype = SB_F64}
const sbi_lane sbi_lanes_function64[] = {
    LANE(exp), LANE(log), LANE(sin), LANE(cos), LANE(rsqrt), LANE(sigmoid), LANE(silu), LANE(silu_grad), LANE(sqrt), LANE(neg),
    LANE(abs), LANE(tanh), LANE(expm1), LANE(log1p), LANE(exp2), LANE(log2), LANE(log10), LANE(erf), LANE(erfc), LANE(softplus),
    LANE(log_sigmoid), LANE(gelu), LANE(gelu_tanh), LANE(gelu_grad), LANE(gelu_tanh_grad),
    {.name = "inverse_normal_f64", .kind = "function", .rows = true, .run = run_inverse_normal, .dtype = SB_F64,
     .fixtures = SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_ODD) | SBI_FIX(SBI_FIX_EMPTY) | SBI_FIX(SBI_FIX_ONE)},
    {0},
};
