// SPDX-License-Identifier: Apache-2.0
// Lanes of attention: causal and not, grouped heads, several blocks of keys, a cache, backward.
#include "proof.h"

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

typedef struct setting {
    int64_t b, t, h, d, s, g;
    int causal, beyond; // beyond: the queries are the last t of the keys, and 7 rows of k and v after them are not present
} setting;

static sb_status run_attention(sbi_lane_run *run, const setting *p, int backward, sb_error *err) {
    int64_t b = p->b, t = sbi_lane_size(run, p->t, p->t - 3), h = p->h, g = p->g;
    int64_t d = run->fixture == SBI_FIX_ODD ? p->d + 1 : p->d, s = sbi_lane_size(run, p->s, p->s - 3);
    int64_t keys = s;
    s += p->beyond ? 7 : 0;
    const sb_attention_options options = {.size = sizeof options, .causal = p->causal, .first = p->beyond ? keys - t : 0,
                                          .keys = p->beyond ? keys : 0};
    sb_array *q = sbi_lane_input(run, "q", SB_F32, 4, SHAPE(b, t, h, d)), *k = sbi_lane_input(run, "k", SB_F32, 4, SHAPE(b, s, g, d));
    sb_array *v = sbi_lane_input(run, "v", SB_F32, 4, SHAPE(b, s, g, d)), *y = sbi_lane_result(run, SB_F32, 4, SHAPE(b, t, h, d));
    sb_array *maximum = sbi_lane_result(run, SB_F32, 3, SHAPE(b, t, h)), *total = sbi_lane_result(run, SB_F64, 3, SHAPE(b, t, h));
    for (sbi_part part = sbi_lane_first(run, b); part.count; part = sbi_lane_next(run, part)) {
        sb_array *qq = sbi_lane_part(run, q, part), *kk = sbi_lane_part(run, k, part), *vv = sbi_lane_part(run, v, part);
        sb_array *yy = sbi_lane_part(run, y, part), *mm = sbi_lane_part(run, maximum, part), *ll = sbi_lane_part(run, total, part);
        if (run->status == SB_OK) {
            sbi_lane_do(run, sb_attention(run->ctx, &options, qq, kk, vv, yy, mm, ll, err));
        }
    }
    if (!backward) {
        sbi_lane_cell(run, "maximum", maximum, err);
        sbi_lane_cell(run, "total", total, err);
        return sbi_lane_cell(run, "y", y, err);
    }
    sb_array *dy = sbi_lane_input(run, "dy", SB_F32, 4, SHAPE(b, t, h, d)), *dq = sbi_lane_result(run, SB_F32, 4, SHAPE(b, t, h, d));
    sb_array *dk = sbi_lane_result(run, SB_F32, 4, SHAPE(b, s, g, d)), *dv = sbi_lane_result(run, SB_F32, 4, SHAPE(b, s, g, d));
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
ATTENTION(backward, 1, 2, 40, 4, 16, 40, 2, .causal = 1)
ATTENTION(backward_full, 1, 1, 9, 2, 8, 150, 2, .causal = 0)
ATTENTION(backward_long, 1, 1, 290, 2, 4, 290, 1, .causal = 1)

// A size of 0 or 1 is in the number of queries and keys.
const sbi_lane sbi_lanes_attention[] = {
    {.name = "attention_causal", .kind = "attention", .fixtures = SBI_FIX_ALL, .quick = true, .rows = true, .counts_inputs = true, .run = run_causal},
    {.name = "attention_full", .kind = "attention", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = run_full},
    {.name = "attention_cache", .kind = "attention", .fixtures = SBI_FIX_ALL, .rows = true, .counts_inputs = true, .run = run_cache},
    {.name = "attention_backward", .kind = "attention", .fixtures = SBI_FIX_ALL, .quick = true, .training = true, .counts_inputs = true, .run = run_backward},
    {.name = "attention_backward_full", .kind = "attention", .fixtures = SBI_FIX_ALL, .training = true, .counts_inputs = true, .run = run_backward_full},
    {.name = "attention_backward_long", .kind = "attention", .fixtures = SBI_FIX(SBI_FIX_PLAIN) | SBI_FIX(SBI_FIX_WIDE), .training = true, .counts_inputs = true, .run = run_backward_long},
    {0},
};
