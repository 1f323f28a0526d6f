// SPDX-License-Identifier: Apache-2.0
// Lanes of the unary functions, of float32 and of float64: the fixture's values, the same scaled up and down so that arguments
// reach huge and tiny ones, and lists of hard arguments: limits, ties, inputs near a tie, seams of the sequences, far reductions,
// zeros of a slope.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})
#define LENGTH(list) ((int64_t)(sizeof(list) / sizeof *(list)))

static const uint32_t hard32[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x00000003, 0x80000003, 0x007fffff, 0x807fffff, // zeros, subnormals
    0x00800000, 0x80800000, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0xbf7fffff, 0x7f7fffff,
    0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001,                         // infinities, NaN
    0x42b17217, 0x42b17218, 0xc2aeac50, 0xc2cff1b4, 0xc2cff1b5, 0xc2d20000,                         // exp over, under
    0x33800000, 0xb3800000, 0x34400000, 0x34000000, 0x34e00000, 0xb4600000, 0x35a80001,             // ties beside 1, 1/2
    0x3fc90fdb, 0x40490fdb, 0x4096cbe4, 0x4d7fffff, 0x4d800000, 0xcd800000, 0x6115cb11, 0x7e804000, // multiples of pi/2
    0x34c00000, 0x3c413d3a, 0x41178feb, 0x65d890d3, 0x6f31a8ec, 0xb7100000, 0xb4400000, 0xc6199998, // once misrounded
    0x5f18b878, 0xbfa3a4ba, 0xbfa3a4b9, 0xbfa3a4bb, 0xbfc3a4ba, 0xbf83a4b9,                         // silu' at its zero
};
static const uint64_t hard64[] = {
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
static const uint64_t seams64[] = {
    0xbfe80ead197f00b4, 0xbfe80ead197f00b5, 0xbfe60ead197f00b5, 0xbfe81429f9e97e4d, 0xbfe81429f9e97e4e, 0xbfe61429f9e97e4d, // gelu'
    0x3fdfffffffffffff, 0x3fe0000000000000, 0xbfe0000000000001, 0x403ae17b4c1e5a9d, 0xc03ae17b4c1e5a9d, 0xc035e66666666667,
};

typedef struct bits { // of elements, as wide as the type of the data
    const char *cell;
    const void *values;
    int64_t count;
} bits;

// The function of x, in parts.
static void apply(sbi_lane_run *run, sb_unary_kind kind, int64_t rows, sb_array *x, sb_array *y, sb_error *err) {
    for (sbi_part p = sbi_lane_first(run, rows); p.count; p = sbi_lane_next(run, p)) {
        sb_array *from = sbi_lane_part(run, x, p), *to = sbi_lane_part(run, y, p);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_unary(run->ctx, kind, from, to, err));
        }
    }
}

// A new array of listed values.
static sb_array *listed(sbi_lane_run *run, sb_dtype dtype, const bits *list, sb_error *err) {
    sb_array *x = sbi_lane_result(run, dtype, 1, &list->count);
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_array_write(x, list->values, sb_dtype_size(dtype) * (size_t)list->count, err));
    }
    return x;
}

static sb_status run_function(sbi_lane_run *run, sb_unary_kind kind, sb_error *err) {
    static const char *const names[] = {"x", "large", "small"};
    static const double factors[2][3] = {{1.0, 0x1p6, 0x1p-20}, {1.0, 0x1p9, 0x1p-40}};
    static const bits lists[2][2] = {{{"hard", hard32, LENGTH(hard32)}},
                                     {{"hard", hard64, LENGTH(hard64)}, {"seams", seams64, LENGTH(seams64)}}};
    sb_dtype real = sbi_lane_real(run);
    int64_t n = sbi_lane_size(run, 24, 5), d = sbi_lane_size(run, 400, 67);
    for (int i = 0; i < 3; i++) {
        sb_array *x = sbi_lane_input(run, names[i], real, 2, SHAPE(n, d)), *y = sbi_lane_result(run, real, 2, SHAPE(n, d));
        if (i > 0 && run->status == SB_OK) {
            sbi_lane_do(run, sb_scale(run->ctx, x, factors[real == SB_F64][i], x, err));
        }
        apply(run, kind, n, x, y, err);
        sbi_lane_cell(run, names[i], y, err);
    }
    for (const bits *list = lists[real == SB_F64], *end = list + 2; list < end && list->cell; list++) {
        sb_array *x = listed(run, real, list, err); // in place
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_unary(run->ctx, kind, x, x, err));
        }
        sbi_lane_cell(run, list->cell, x, err);
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
    static const uint32_t corners32[] = {0, 1, 2, 3, 0x13333332, 0x13333333, 0x13333334, 0x7ffffffe, 0x7fffffff,
                                         0x80000000, 0x80000001, 0x47e8d521, 0xb8172ade, 0xecccccca, 0xeccccccb, 0xeccccccc, 0xecccccce, 0xfffffffd,
                                         0xfffffffe, 0xffffffff};
    static const uint64_t corners64[] = {0, 0x7ff, 0x800, 0x1000, 0x6666666666666000, 0x6666666666666800, 0x66666666666667ff,
                                         0x6666666666665fff, 0x7fffffffffffffff, 0x7ffffffffffff7ff, 0x8000000000000000,
                                         0x8000000000000800, 0x9999999999999800, 0x9999999999999fff, 0xffffffffffffffff,
                                         0xfffffffffffff7ff, 0x0000000000123456, 0x00000fedcba98765, 0x0123456789abcdef};
    static const bits lists[] = {{"corners", corners32, LENGTH(corners32)}, {"corners", corners64, LENGTH(corners64)}};
    sb_dtype real = sbi_lane_real(run), word = real == SB_F64 ? SB_U64 : SB_U32;
    const bits *list = &lists[real == SB_F64];
    int64_t n = sbi_lane_size(run, 24, 5), d = sbi_lane_size(run, 400, 67);
    sb_array *x = sbi_lane_result(run, word, 2, SHAPE(n, d)), *y = sbi_lane_result(run, real, 2, SHAPE(n, d));
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_random_bits(run->ctx, sbi_lane_word(run, "seed"), 11, 0, x, err));
    }
    apply(run, SB_INVERSE_NORMAL, n, x, y, err);
    sbi_lane_cell(run, "y", y, err);
    sb_array *c = listed(run, word, list, err), *z = sbi_lane_result(run, real, 1, &list->count);
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_unary(run->ctx, SB_INVERSE_NORMAL, c, z, err));
    }
    return sbi_lane_cell(run, "corners", z, err);
}

#define ROW(lane, ...) {.kind = "function", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = run_##lane, __VA_ARGS__}
#define LANE(lane, is_quick) ROW(lane, .name = #lane, .quick = is_quick), ROW(lane, .name = #lane "_f64", .dtype = SB_F64)
#define NORMAL(...) {.kind = "function", .rows = true, .run = run_inverse_normal, __VA_ARGS__, \
                     .fixtures = SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_ODD) | SBI_FIX(SBI_FIX_EMPTY) | SBI_FIX(SBI_FIX_ONE)}
const sbi_lane sbi_lanes_function[] = {
    LANE(exp, true), LANE(log, false), LANE(sin, true), LANE(cos, false), LANE(rsqrt, false), LANE(sigmoid, false),
    LANE(silu, false), LANE(silu_grad, false), LANE(sqrt, false), LANE(neg, false), LANE(abs, false),
    LANE(tanh, false), LANE(expm1, false), LANE(log1p, false), LANE(exp2, false), LANE(log2, false),
    LANE(log10, false), LANE(erf, false), LANE(erfc, false), LANE(softplus, false), LANE(log_sigmoid, false),
    LANE(gelu, false), LANE(gelu_tanh, false), LANE(gelu_grad, false), LANE(gelu_tanh_grad, false),
    NORMAL(.name = "inverse_normal"), NORMAL(.name = "inverse_normal_f64", .dtype = SB_F64),
    {0},
};
