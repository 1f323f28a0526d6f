// SPDX-License-Identifier: Apache-2.0
// proof: lanes and fixtures, evidence documents, compare.
//
// A lane runs one operation (or model) through the public interface on inputs drawn from its fixture and reports every
// output as a cell, a SHA-256. The same lane text runs on every device, on the reference (which writes the golden
// values) and on sabotaged kernels. A lane file looks like
//
//     static sb_status run_softmax(sbi_lane_run *run, sb_error *err) {
//         int64_t n = sbi_lane_size(run, 7, 5), d = sbi_lane_size(run, 600, 97);
//         sb_array *x = sbi_lane_input(run, "x", SB_F32, 2, (int64_t[]){n, d});
//         sb_array *y = sbi_lane_result(run, SB_F32, 2, (int64_t[]){n, d});
//         for (sbi_part p = sbi_lane_first(run, n); p.count; p = sbi_lane_next(run, p)) // whole, halves, row by row
//             sbi_lane_do(run, sb_softmax(run->ctx, sbi_lane_part(run, x, p), sbi_lane_part(run, y, p), err));
//         return sbi_lane_cell(run, "y", y, err);
//     }
//
// Arrays made by a run belong to it and are freed after it. After a failure (run->status) every helper does nothing.
#ifndef SBI_PROOF_H
#define SBI_PROOF_H

#include "base.h"

typedef enum sbi_fixture {
    SBI_FIX_PLAIN,     // uniform in (-2, 2), more than 12 significant bits
    SBI_FIX_TIES,      // few distinct values, halfway cases of sums and roundings
    SBI_FIX_WIDE,      // exponents over +-40 binades
    SBI_FIX_SUBNORMAL, // around and below 2^-126, results subnormal too
    SBI_FIX_ZEROS,     // +0 and -0 among plain values
    SBI_FIX_OFFSET,    // 10000 + small
    SBI_FIX_ODD,       // plain values, odd sizes
    SBI_FIX_EMPTY,     // size 0 where legal
    SBI_FIX_ONE,       // size 1
    SBI_FIX_NONFINITE, // infinities and NaN among plain values, where legal
    SBI_FIX_COUNT
} sbi_fixture;
#define SBI_FIX(f) (1u << (f))
#define SBI_FIX_ALL (SBI_FIX(SBI_FIX_COUNT) - 1u)
extern const char *const sbi_fixture_names[SBI_FIX_COUNT];

typedef enum sbi_split { SBI_WHOLE, SBI_HALVES, SBI_ROWS } sbi_split;
typedef struct sbi_part {
    int64_t first, count; // count is -1 in the one part of an empty batch (sbi_lane_part knows): 0 would end the loop
    int64_t rows;         // of the whole batch
} sbi_part;

typedef struct sbi_lane_run {
    sb_context *ctx;
    const struct sbi_lane *lane;
    uint64_t seed;      // 0: the fixtures of the golden file
    sbi_fixture fixture;
    sbi_split split;
    int64_t nudge;      // selftest: index of the input value (counted over the run) that is changed; -1: none
    uint8_t poison;     // added to the bytes that result arrays hold at first (0xa5)
    sb_dtype real;      // describe: what arrays that the lane asks for as float32 become; 0: float32
    sb_status status;
    // private
    int64_t inputs_seen;   // values that a nudge may change
    char nudged[64];       // "x[17]": what the nudge changed, "" if nothing
    void (*report)(void *user, const char *cell, const uint8_t digest[32], const sb_array *array);
    void *user;
    sb_array **arrays;
    int64_t count, capacity;
} sbi_lane_run;

typedef struct sbi_lane {
    const char *name;      // "gemm_nt"; in float64: "gemm_nt_f64"
    const char *kind;      // "product" "sum" "element" "function" "attention" "random" "order" "optimizer" "model" ...
    unsigned fixtures;     // SBI_FIX bits
    bool quick;            // in verify --quick
    bool training;         // only with --training or --all
    bool rows;             // whole, halves and row by row must agree
    bool counts_inputs;    // selftest adds one ulp to a float input (false: there is none; it changes an index or a word)
    sb_status (*run)(sbi_lane_run *run, sb_error *err);
    sb_dtype dtype;        // of the data: 0 is SB_F32; SB_F64 gives native binary64 fixtures
} sbi_lane;

// The lanes: one array per file, ended by a row without a name, listed in lanes.c.
extern const sbi_lane sbi_lanes_gemm[], sbi_lanes_attention[], sbi_lanes_reduce[], sbi_lanes_element[], sbi_lanes_function[],
    sbi_lanes_softmax[], sbi_lanes_norm[], sbi_lanes_rotary[], sbi_lanes_embedding[], sbi_lanes_scan[], sbi_lanes_histogram[], sbi_lanes_sort[], sbi_lanes_random[],
    sbi_lanes_optimizer[], sbi_lanes_linalg[], sbi_lanes_table[], sbi_lanes_estimators[], sbi_lanes_metrics[], sbi_lanes_model[];
extern const sbi_lane *const sbi_lane_files[]; // NULL last

// standard, except: odd under SBI_FIX_ODD, 0 under SBI_FIX_EMPTY, 1 under SBI_FIX_ONE.
int64_t sbi_lane_size(const sbi_lane_run *run, int64_t standard, int64_t odd);
// The type of the lane's data.
static inline sb_dtype sbi_lane_real(const sbi_lane_run *run) { return run->lane->dtype ? run->lane->dtype : SB_F32; }
// A new float32 (or float64) array of fixture values, drawn by (seed, lane, fixture, name) with integers alone. shape[ndim].
sb_array *sbi_lane_input(sbi_lane_run *run, const char *name, sb_dtype dtype, int ndim, const int64_t *shape);
// [n] float64 numbers beside the data, never 0: the magnitudes of fixture values, 1 added.
sb_array *sbi_lane_sizes(sbi_lane_run *run, const char *name, int64_t n, sb_error *err);
// uint8, int32 or int64 values in [0, bound).
sb_array *sbi_lane_indices(sbi_lane_run *run, const char *name, sb_dtype dtype, int ndim, const int64_t *shape, int64_t bound);
// A word in place of a number that the caller would choose (the seed or stream of a random lane).
uint64_t sbi_lane_word(sbi_lane_run *run, const char *name);
// A new output array, filled with a poison (0xa5 bytes).
sb_array *sbi_lane_result(sbi_lane_run *run, sb_dtype dtype, int ndim, const int64_t *shape);
sbi_part sbi_lane_first(const sbi_lane_run *run, int64_t rows);
sbi_part sbi_lane_next(const sbi_lane_run *run, sbi_part part); // count 0 at the end
sb_array *sbi_lane_part(sbi_lane_run *run, sb_array *a, sbi_part part); // a slice of the leading axis
void sbi_lane_do(sbi_lane_run *run, sb_status status);
// Reports an output: SHA-256 of its dtype, shape and little-endian bytes. Returns run->status.
sb_status sbi_lane_cell(sbi_lane_run *run, const char *name, const sb_array *a, sb_error *err);
sb_status sbi_lane_cell_real(sbi_lane_run *run, const char *name, double value, sb_error *err);

// Runs a lane: fills what is private, calls lane->run, frees its arrays. run: ctx, lane, seed, fixture, split, nudge,
// report and user are the caller's. Returns the status of the run.
sb_status sbi_lane_carry_out(sbi_lane_run *run, sb_error *err);
const sbi_lane *sbi_lane_find(const char *name, size_t length); // NULL if there is none
#endif
