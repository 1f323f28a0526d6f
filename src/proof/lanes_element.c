// SPDX-License-Identifier: Apache-2.0
// Lanes of binary arithmetic with its broadcasts, of scaling, and of SwiGLU both ways.
#include "proof.h"

#include <string.h>

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

// One operation on arrays of one shape (rows in parts), a row for all rows, a column for all columns, one value, both
// operands broadcast, and in place.
static sb_status run_binary(sbi_lane_run *run, sb_binary_kind kind, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    int64_t n = sbi_lane_size(run, 9, 5), d = sbi_lane_size(run, 600, 97);
    sb_array *a = sbi_lane_input(run, "a", real, 2, SHAPE(n, d)), *b = sbi_lane_input(run, "b", real, 2, SHAPE(n, d));
    sb_array *row = sbi_lane_input(run, "row", real, 1, SHAPE(d)), *column = sbi_lane_input(run, "column", real, 2, SHAPE(n, 1));
    sb_array *one = sbi_lane_input(run, "one", real, 0, NULL), *out = sbi_lane_result(run, real, 2, SHAPE(n, d));
    for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p)) {
        sb_array *x = sbi_lane_part(run, a, p), *y = sbi_lane_part(run, b, p), *to = sbi_lane_part(run, out, p);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_binary(run->ctx, kind, x, y, to, err));
        }
    }
    sbi_lane_cell(run, "same", out, err);
    const struct { const char *name; const sb_array *a, *b; } cases[] = {
        {"row", a, row}, {"column", column, a}, {"one", a, one}, {"both", column, row}};
    for (int i = 0; i < 4; i++) {
        sb_array *to = sbi_lane_result(run, real, 2, SHAPE(n, d));
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_binary(run->ctx, kind, cases[i].a, cases[i].b, to, err));
        }
        sbi_lane_cell(run, cases[i].name, to, err);
    }
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_binary(run->ctx, kind, b, a, a, err));
    }
    return sbi_lane_cell(run, "in_place", a, err);
}

#define BINARY(name, kind) \
    static sb_status run_##name(sbi_lane_run *run, sb_error *err) { return run_binary(run, kind, err); }
BINARY(add, SB_ADD)
BINARY(sub, SB_SUB)
BINARY(mul, SB_MUL)
BINARY(div, SB_DIV)
BINARY(maximum, SB_MAXIMUM)
BINARY(minimum, SB_MINIMUM)

// The same, and a table of limits: zeros, ones, infinities, NaN, odd and even and broken exponents.
static sb_status run_pow(sbi_lane_run *run, sb_error *err) {
    static const uint32_t limits[] = {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0xbf000000, 0x40000000,
                                      0xc0000000, 0x40400000, 0xc0400000, 0x7f800000, 0xff800000, 0x7fc00000, 0x4b7fffff,
                                      0xcb7fffff, 0x4b800001, 0x59800000, 0xbfc00000, 0x00000001, 0x80000001, 0x7f7fffff};
    enum { LIMITS = sizeof limits / sizeof limits[0] };
    sb_dtype real = sbi_lane_real(run);
    run_binary(run, SB_POW, err);
    double wide[LIMITS];
    for (int i = 0; i < LIMITS; i++) {
        float value;
        memcpy(&value, &limits[i], sizeof value);
        wide[i] = (double)value;
    }
    sb_array *a = sbi_lane_result(run, real, 2, SHAPE(LIMITS, 1)), *b = sbi_lane_result(run, real, 2, SHAPE(1, LIMITS));
    sb_array *out = sbi_lane_result(run, real, 2, SHAPE(LIMITS, LIMITS));
    for (int i = 0; i < 2 && run->status == SB_OK; i++) {
        sbi_lane_do(run, sb_array_write(i ? b : a, real == SB_F64 ? (const void *)wide : limits, (real == SB_F64 ? 8 : 4) * LIMITS, err));
    }
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_binary(run->ctx, SB_POW, a, b, out, err));
    }
    return sbi_lane_cell(run, "limits", out, err);
}

// Four axes of which no two can be merged.
static sb_status run_broadcast(sbi_lane_run *run, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    int64_t n = sbi_lane_size(run, 3, 5), d = sbi_lane_size(run, 40, 7);
    sb_array *a = sbi_lane_input(run, "a", real, 4, SHAPE(n, 1, 4, 1)), *b = sbi_lane_input(run, "b", real, 4, SHAPE(1, 3, 1, d));
    sb_array *out = sbi_lane_result(run, real, 4, SHAPE(n, 3, 4, d));
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_binary(run->ctx, SB_MUL, a, b, out, err));
    }
    return sbi_lane_cell(run, "out", out, err);
}

static sb_status run_scale(sbi_lane_run *run, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    int64_t n = sbi_lane_size(run, 9, 5), d = sbi_lane_size(run, 600, 97);
    sb_array *x = sbi_lane_input(run, "x", real, 2, SHAPE(n, d)), *out = sbi_lane_result(run, real, 2, SHAPE(n, d));
    for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p)) {
        sb_array *from = sbi_lane_part(run, x, p), *to = sbi_lane_part(run, out, p);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_scale(run->ctx, from, 0.7, to, err));
        }
    }
    sbi_lane_cell(run, "out", out, err);
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_scale(run->ctx, x, -0x1.8p-3, x, err));
    }
    return sbi_lane_cell(run, "in_place", x, err);
}

static sb_status run_swiglu(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 6, 5), d = sbi_lane_size(run, 300, 97);
    sb_array *gate = sbi_lane_input(run, "gate", sbi_lane_real(run), 2, SHAPE(n, d)), *up = sbi_lane_input(run, "up", sbi_lane_real(run), 2, SHAPE(n, d));
    sb_array *dy = sbi_lane_input(run, "dy", sbi_lane_real(run), 2, SHAPE(n, d)), *y = sbi_lane_result(run, sbi_lane_real(run), 2, SHAPE(n, d));
    sb_array *dgate = sbi_lane_result(run, sbi_lane_real(run), 2, SHAPE(n, d)), *dup = sbi_lane_result(run, sbi_lane_real(run), 2, SHAPE(n, d));
    for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p)) {
        sb_array *g = sbi_lane_part(run, gate, p), *u = sbi_lane_part(run, up, p), *d_y = sbi_lane_part(run, dy, p);
        sb_array *to = sbi_lane_part(run, y, p), *dg = sbi_lane_part(run, dgate, p), *du = sbi_lane_part(run, dup, p);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_swiglu(run->ctx, g, u, to, err));
            sbi_lane_do(run, sb_swiglu_backward(run->ctx, g, u, d_y, dg, du, err));
        }
    }
    sbi_lane_cell(run, "y", y, err);
    sbi_lane_cell(run, "dgate", dgate, err);
    return sbi_lane_cell(run, "dup", dup, err);
}

#define LANE(lane, is_quick) {.name = #lane, .kind = "element", .fixtures = SBI_FIX_ALL, .quick = is_quick, .rows = true, \
                              .counts_inputs = true, .run = run_##lane}
#define LANE64(lane) {.name = #lane "_f64", .kind = "element", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, \
                      .run = run_##lane, .dtype = SB_F64}
const sbi_lane sbi_lanes_element[] = {
    LANE(add, false), LANE(sub, false), LANE(mul, true), LANE(div, false), LANE(maximum, false), LANE(minimum, false), LANE(pow, false),
    {.name = "broadcast", .kind = "element", .fixtures = SBI_FIX_ALL, .counts_inputs = true, .run = run_broadcast},
    LANE(scale, false), LANE(swiglu, false),
    LANE64(add), LANE64(sub), LANE64(mul), LANE64(div), LANE64(maximum), LANE64(minimum), LANE64(pow), LANE64(scale), LANE64(swiglu),
    {.name = "broadcast_f64", .kind = "element", .fixtures = SBI_FIX_ALL, .counts_inputs = true, .run = run_broadcast, .dtype = SB_F64},
    {0},
};
