// SPDX-License-Identifier: Apache-2.0
// Lanes of attention: causal and not, grouped heads, several blocks of keys, a cache, windows and masks, backward.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

typedef struct setting {
    int64_t b, t, h, d, s, g;
    int causal, beyond; // beyond: the queries are the last t of the keys, and 7 rows of k and v after them are not present
    int64_t window, prefix;
    int mask;
} setting;

// A key in three is absent; so are the second block of the first batch, and the third batch as a whole.
static sb_array *make_mask(sbi_lane_run *run, int64_t b, int64_t s, sb_error *err) {
    sb_array *drawn = sbi_lane_indices(run, "mask", SB_I32, 2, SHAPE(b, s), 3), *mask = sbi_lane_result(run, SB_U8, 2, SHAPE(b, s));
    int32_t *from = sbi_allocate(&sbi_malloc_allocator, b * s + 1, sizeof *from, err);
    uint8_t *to = sbi_allocate(&sbi_malloc_allocator, b * s + 1, 1, err);
    if (!from || !to) {
        sbi_lane_do(run, SB_ERR_MEMORY);
    }
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_array_read(drawn, from, (size_t)(b * s) * sizeof *from, err));
    }
    for (int64_t i = 0; run->status == SB_OK && i < b * s; i++) {
        int64_t batch = i / s, key = i % s;
        to[i] = from[i] != 0 && !(batch == 0 && key / 128 == 1) && batch != 2;
    }
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_array_write(mask, to, (size_t)(b * s), err));
    }
    sbi_release(&sbi_malloc_allocator, from);
    sbi_release(&sbi_malloc_allocator, to);
    return mask;
}

static sb_status run_attention(sbi_lane_run *run, const setting *p, int backward, sb_error *err) {
    sb_dtype real = sbi_lane_real(run);
    int64_t b = p->b, t = sbi_lane_size(run, p->t, p->t - 3), h = p->h, g = p->g;
    int64_t d = run->fixture == SBI_FIX_ODD ? p->d + 1 : p->d, s = sbi_lane_size(run, p->s, p->s - 3);
    int64_t keys = s;
    s += p->beyond ? 7 : 0;
    sb_array *mask = p->mask ? make_mask(run, b, s, err) : NULL;
    sb_attention_options options = {.size = sizeof options, .causal = p->causal, .first = p->beyond ? keys - t : 0,
                                    .keys = p->beyond ? keys : 0, .window = p->window, .prefix = p->prefix};
    sb_array *q = sbi_lane_input(run, "q", real, 4, SHAPE(b, t, h, d)), *k = sbi_lane_input(run, "k", real, 4, SHAPE(b, s, g, d));
    sb_array *v = sbi_lane_input(run, "v", real, 4, SHAPE(b, s, g, d)), *y = sbi_lane_result(run, real, 4, SHAPE(b, t, h, d));
    sb_array *maximum = sbi_lane_result(run, real, 3, SHAPE(b, t, h)), *total = sbi_lane_result(run, SB_F64, 3, SHAPE(b, t, h));
    for (sbi_part part = sbi_lane_first(run, b); part.count; part = sbi_lane_next(run, part)) {
        sb_array *qq = sbi_lane_part(run, q, part), *kk = sbi_lane_part(run, k, part), *vv = sbi_lane_part(run, v, part);
        sb_array *yy = sbi_lane_part(run, y, part), *mm = sbi_lane_part(run, maximum, part), *ll = sbi_lane_part(run, total, part);
        options.mask = mask ? sbi_lane_part(run, mask, part) : NULL;
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_attention(run->ctx, &options, qq, kk, vv, yy, mm, ll, err));
        }
    }
    if (!backward) {
        sbi_lane_cell(run, "maximum", maximum, err);
        sbi_lane_cell(run, "total", total, err);
        return sbi_lane_cell(run, "y", y, err);
    }
    sb_array *dy = sbi_lane_input(run, "dy", real, 4, SHAPE(b, t, h, d)), *dq = sbi_lane_result(run, real, 4, SHAPE(b, t, h, d));
    sb_array *dk = sbi_lane_result(run, real, 4, SHAPE(b, s, g, d)), *dv = sbi_lane_result(run, real, 4, SHAPE(b, s, g, d));
    options.mask = mask;
    if (run->status == SB_OK) {
        sbi_lane_do(run, sb_attention_backward(run->ctx, &options, q, k, v, y, maximum, total, dy, dq, dk, dv, err));
    }
    sbi_lane_cell(run, "dq", dq, err);
    sbi_lane_cell(run, "dk", dk, err);
    return sbi_lane_cell(run, "dv", dv, err);
}

#define ATTENTION(name, backward, ...) \
    static sb_status run_##name(sbi_lane_run *run, sb_error *err) { \
        static const setting p = {__VA_ARGS__}; \
        return run_attention(run, &p, backward, err); \
    }
ATTENTION(causal, 0, 3, 40, 4, 16, 40, 2, .causal = 1)
ATTENTION(full, 0, 2, 9, 2, 8, 150, 2, .causal = 0)
ATTENTION(cache, 0, 2, 5, 4, 24, 290, 1, .causal = 1, .beyond = 1)
ATTENTION(window, 0, 2, 20, 4, 8, 420, 2, .causal = 1, .beyond = 1, .window = 30, .prefix = 3)
ATTENTION(mask, 0, 3, 9, 2, 8, 300, 2, .mask = 1)
ATTENTION(backward, 1, 2, 40, 4, 16, 40, 2, .causal = 1)
ATTENTION(backward_full, 1, 1, 9, 2, 8, 150, 2, .causal = 0)
ATTENTION(backward_long, 1, 1, 290, 2, 4, 290, 1, .causal = 1)
ATTENTION(window_backward, 1, 1, 300, 2, 4, 300, 1, .causal = 1, .window = 20, .prefix = 2)
ATTENTION(mask_backward, 1, 3, 20, 4, 8, 150, 2, .causal = 1, .mask = 1)
ATTENTION(key_runs, 1, 1, 4, 1, 2, 16700, 1, .causal = 0) // sums of more than 16,384 keys, and of as many queries
ATTENTION(query_runs, 1, 1, 16700, 1, 2, 4, 1, .causal = 0)

#define LANE64(lane, some, in_rows, trains) {.name = "attention_" #lane "_f64", .kind = "attention", .fixtures = some, .rows = in_rows, \
                                             .training = trains, .counts_inputs = true, .run = run_##lane, .dtype = SB_F64}

// A size of 0 or 1 is in the number of queries and keys.
const sbi_lane sbi_lanes_attention[] = {
    {.name = "attention_causal", .kind = "attention", .fixtures = SBI_FIX_ALL, .quick = true, .rows = true, .counts_inputs = true, .run = run_causal},
    {.name = "attention_full", .kind = "attention", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = run_full},
    {.name = "attention_cache", .kind = "attention", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = run_cache},
    {.name = "attention_window", .kind = "attention", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = run_window},
    {.name = "attention_mask", .kind = "attention", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = run_mask},
    {.name = "attention_backward", .kind = "attention", .fixtures = SBI_FIX_ALL, .quick = true, .training = true, .counts_inputs = true, .run = run_backward},
    {.name = "attention_backward_full", .kind = "attention", .fixtures = SBI_FIX_ALL, .training = true, .counts_inputs = true, .run = run_backward_full},
    {.name = "attention_backward_long", .kind = "attention", .fixtures = SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_WIDE), .training = true, .counts_inputs = true, .run = run_backward_long},
    {.name = "attention_window_backward", .kind = "attention", .fixtures = SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_NONFINITE), .training = true, .counts_inputs = true, .run = run_window_backward},
    {.name = "attention_mask_backward", .kind = "attention", .fixtures = SBI_FIX_ALL, .training = true, .counts_inputs = true, .run = run_mask_backward},
    {.name = "attention_key_runs", .kind = "attention", .fixtures = SBI_FIX(SBI_FIX_PLAIN), .training = true, .counts_inputs = true, .run = run_key_runs},
    {.name = "attention_query_runs", .kind = "attention", .fixtures = SBI_FIX(SBI_FIX_PLAIN), .training = true, .counts_inputs = true, .run = run_query_runs},
    LANE64(causal, SBI_FIX_ALL, true, false), LANE64(full, SBI_FIX_ALL, true, false), LANE64(cache, SBI_FIX_ALL, true, false),
    LANE64(window, SBI_FIX_ALL, true, false), LANE64(mask, SBI_FIX_ALL, true, false), LANE64(backward, SBI_FIX_ALL, false, true),
    LANE64(backward_full, SBI_FIX_ALL, false, true),
    LANE64(backward_long, SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_WIDE), false, true),
    LANE64(window_backward, SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_NONFINITE), false, true),
    LANE64(mask_backward, SBI_FIX_ALL, false, true),
    LANE64(key_runs, SBI_FIX(SBI_FIX_PLAIN), false, true), LANE64(query_runs, SBI_FIX(SBI_FIX_PLAIN), false, true),
    {0},
};
