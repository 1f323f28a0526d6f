// SPDX-License-Identifier: Apache-2.0
// Lanes of random numbers. Parts of a stream, drawn from where they begin, must be those of the whole.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

enum { BITS, UNIFORM, NORMAL, INTEGERS };

static void draw(sbi_lane_run *run, int kind, sb_dtype dtype, int64_t n, int64_t start, int64_t bound, const char *name,
                 sb_error *err) {
    uint64_t seed = sbi_lane_word(run, "seed"), stream = sbi_lane_word(run, "stream");
    sb_array *out = sbi_lane_result(run, dtype, 1, SHAPE(n));
    for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p)) {
        sb_array *part = sbi_lane_part(run, out, p);
        int64_t from = start + p.first;
        sbi_lane_do(run, kind == BITS      ? sb_random_bits(run->ctx, seed, stream, from, part, err)
                         : kind == UNIFORM ? sb_random_uniform(run->ctx, seed, stream, from, part, err)
                         : kind == NORMAL  ? sb_random_normal(run->ctx, seed, stream, from, part, err)
                                           : sb_random_integers(run->ctx, seed, stream, from, bound, part, err));
    }
    sbi_lane_cell(run, name, out, err);
}

static const int64_t far_away = ((int64_t)1 << 34) + 3, last = (int64_t)1 << 62;

static sb_status run_bits(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 1300, 611);
    draw(run, BITS, SB_U32, n, 0, 0, "u32", err);
    draw(run, BITS, SB_U32, n, far_away, 0, "u32_far", err);
    draw(run, BITS, SB_U64, n, 0, 0, "u64", err);
    draw(run, BITS, SB_U64, n, last + 1, 0, "u64_last", err);
    return run->status;
}
static sb_status run_uniform(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 1300, 611);
    draw(run, UNIFORM, SB_F32, n, 5, 0, "f32", err);
    draw(run, UNIFORM, SB_F64, n, far_away, 0, "f64", err);
    return run->status;
}
static sb_status run_normal(sbi_lane_run *run, sb_error *err) {
    draw(run, NORMAL, SB_F32, sbi_lane_size(run, 5000, 611), 3, 0, "f32", err);
    draw(run, NORMAL, SB_F64, sbi_lane_size(run, 1300, 611), far_away, 0, "f64", err);
    return run->status;
}
static sb_status run_integers(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 600, 331);
    draw(run, INTEGERS, SB_I64, n, 0, 10, "below_10", err);
    draw(run, INTEGERS, SB_I64, n, far_away, 1000003, "below_1000003", err);
    draw(run, INTEGERS, SB_I64, n, last, INT64_MAX, "below_most", err);
    return run->status;
}
static sb_status run_permutation(sbi_lane_run *run, sb_error *err) {
    uint64_t seed = sbi_lane_word(run, "seed"), stream = sbi_lane_word(run, "stream");
    sb_array *some = sbi_lane_result(run, SB_I64, 1, SHAPE(sbi_lane_size(run, 200, 77)));
    sb_array *many = sbi_lane_result(run, SB_I64, 1, SHAPE(sbi_lane_size(run, 6000, 2311)));
    sbi_lane_do(run, sb_random_permutation(run->ctx, seed, stream, some, err));
    sbi_lane_do(run, sb_random_permutation(run->ctx, seed, stream, many, err));
    sbi_lane_cell(run, "some", some, err);
    return sbi_lane_cell(run, "many", many, err);
}

static sb_status run_integers32(sbi_lane_run *run, sb_error *err) {
    int64_t n = sbi_lane_size(run, 600, 331);
    draw(run, INTEGERS, SB_I32, n, 3, 10, "below_10", err);
    draw(run, INTEGERS, SB_I32, n, far_away, (int64_t)1 << 31, "below_most", err);
    return run->status;
}
static sb_status run_choice(sbi_lane_run *run, sb_error *err) {
    uint64_t seed = sbi_lane_word(run, "seed"), stream = sbi_lane_word(run, "stream");
    int64_t n = sbi_lane_size(run, 6000, 2311), some = sbi_lane_size(run, 20, 64);
    sb_array *few = sbi_lane_result(run, SB_I64, 1, SHAPE(some)), *many = sbi_lane_result(run, SB_I64, 1, SHAPE(n / 2));
    sbi_lane_do(run, sb_random_choice(run->ctx, seed, stream, n, few, err));
    sbi_lane_do(run, sb_random_choice(run->ctx, seed, stream, n, many, err));
    sbi_lane_cell(run, "few", few, err);
    return sbi_lane_cell(run, "many", many, err);
}

// Rows in parts have the draws of the whole; there and, in place, back.
static sb_status run_dropout(sbi_lane_run *run, sb_error *err) {
    static const double shares[] = {0.3, 0.0, 0.9, 0x1.000001p-1};
    static const char *const names[] = {"some", "none", "most", "tie"};
    sb_dtype real = sbi_lane_real(run);
    int64_t n = sbi_lane_size(run, 9, 5), d = sbi_lane_size(run, 700, 331);
    uint64_t seed = sbi_lane_word(run, "seed"), stream = sbi_lane_word(run, "stream");
    sb_array *x = sbi_lane_input(run, "x", real, 2, SHAPE(n, d));
    for (int i = 0; i < 4; i++) {
        sb_array *y = sbi_lane_result(run, real, 2, SHAPE(n, d));
        for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p))
            sbi_lane_do(run, sb_dropout(run->ctx, sbi_lane_part(run, x, p), shares[i], seed, stream, 1021 + p.first * d,
                                        sbi_lane_part(run, y, p), err));
        sbi_lane_cell(run, names[i], y, err);
    }
    sbi_lane_do(run, sb_dropout(run->ctx, x, 0.25, seed, stream, far_away, x, err));
    return sbi_lane_cell(run, "in_place", x, err);
}

#define PLACES (SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_ODD) | SBI_FIX(SBI_FIX_EMPTY) | SBI_FIX(SBI_FIX_ONE))

const sbi_lane sbi_lanes_random[] = {
    {.name = "random_bits", .kind = "random", .fixtures = PLACES, .rows = true, .run = run_bits},
    {.name = "random_uniform", .kind = "random", .fixtures = PLACES, .quick = true, .rows = true, .run = run_uniform},
    {.name = "random_normal", .kind = "random", .fixtures = PLACES, .rows = true, .run = run_normal},
    {.name = "random_integers", .kind = "random", .fixtures = PLACES, .rows = true, .run = run_integers},
    {.name = "random_permutation", .kind = "random", .fixtures = PLACES, .run = run_permutation},
    {.name = "random_integers_int32", .kind = "random", .fixtures = PLACES, .rows = true, .run = run_integers32},
    {.name = "random_choice", .kind = "random", .fixtures = PLACES, .run = run_choice},
    {.name = "dropout", .kind = "random", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = run_dropout},
    {.name = "dropout_f64", .kind = "random", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = run_dropout, .dtype = SB_F64},
    {.name = NULL},
};
