// SPDX-License-Identifier: Apache-2.0
// T6: attention. Blocks of 128 key positions from position 0. A key is absent if it is masked or its score is -inf; a
// block without a present key is absent. An absent key's v is never read.
#include "reference.h"

#include <stdlib.h>
#include <string.h>

static int masked(const ref_attention *o, int64_t batch, int64_t query, int64_t key) {
    int64_t position = o->first + query;
    if (key >= o->keys || (o->mask && o->mask[batch * o->s + key] == 0))
        return 1;
    if (key < o->prefix)
        return 0;
    return (o->causal && key > position) || (o->window && key <= position - o->window);
}

// score = RN32(dot (T3) scale).
static float score_of(const ref_attention *o, const float *q_row, const float *k_row) {
    float dot = ref_product(0, o->d, q_row, 1, k_row, 1, NULL);
    return dot * (float)o->scale;
}

// One query row of one head: scores of keys 0 .. keys-1 and which are present. Rows of k lie `step` floats apart.
static void scores_of(const ref_attention *o, int64_t batch, int64_t query, const float *q_row, const float *k, int64_t step,
                      float *score, uint8_t *present) {
    for (int64_t key = 0; key < o->keys; key++) {
        present[key] = 0;
        score[key] = 0.0f;
        if (masked(o, batch, query, key))
            continue;
        score[key] = score_of(o, q_row, k + key * step);
        present[key] = !(score[key] == -ref_float32(0x7f800000u));
    }
}

typedef struct block_result {
    int any;
    float m, l;
} block_result;

// m = max over the present keys; e = exp(RN32(s - m)); l: 32 lanes by position mod 32, then the tree of T2, in float32;
// o_c: chain over the present keys from +0 of fma(e, v, o), then + (+0).
static block_result one_block(int64_t first, int64_t last, int64_t d, const float *score, const uint8_t *present,
                              const float *v, int64_t step, float *o) {
    block_result r = {0, 0.0f, 0.0f};
    float lane[32] = {0}, e[128];
    for (int64_t key = first; key < last; key++)
        if (present[key]) {
            r.m = r.any ? ref_max32(r.m, score[key]) : ref_canon32(score[key]);
            r.any = 1;
        }
    for (int64_t key = first; key < last; key++)
        if (present[key]) {
            float difference = score[key] - r.m;
            e[key - first] = ref_unary(SB_EXP, difference);
            lane[key % 32] = lane[key % 32] + e[key - first];
        }
    for (int s = 16; s >= 1; s /= 2)
        for (int i = 0; i < s; i++)
            lane[i] = lane[i] + lane[i + s];
    r.l = lane[0] + 0.0f;
    for (int64_t c = 0; c < d; c++) {
        float chain = 0.0f;
        for (int64_t key = first; key < last; key++)
            if (present[key])
                chain = ref_fma32(e[key - first], v[key * step + c], chain);
        o[c] = chain + 0.0f;
    }
    return r;
}

void ref_attention_f32(const ref_attention *o, const float *q, const float *k, const float *v, float *y, float *maximum,
                       double *total) {
    int64_t step = o->g * o->d; // from one position to the next in k and v
    float *score = ref_memory(o->keys, sizeof *score), *sum = ref_memory(o->d, sizeof *sum),
          *block = ref_memory(o->d, sizeof *block);
    uint8_t *present = ref_memory(o->keys, 1);
    for (int64_t row = 0; row < o->b * o->t * o->h; row++) {
        int64_t head = row % o->h, query = row / o->h % o->t, batch = row / o->h / o->t;
        int64_t at = (batch * o->s * o->g + head / (o->h / o->g)) * o->d; // key position 0 of the head's group
        scores_of(o, batch, query, q + row * o->d, k + at, step, score, present);
        int any = 0;
        float m = -ref_float32(0x7f800000u);
        double l = 0.0;
        for (int64_t first = 0; first < o->keys; first += 128) {
            int64_t last = first + 128 < o->keys ? first + 128 : o->keys;
            block_result r = one_block(first, last, o->d, score, present, v + at, step, block);
            if (!r.any)
                continue;
            if (!any) { // "First present block: M = m, L = l, O = o"
                any = 1;
                m = r.m;
                l = (double)r.l;
                memcpy(sum, block, (size_t)o->d * sizeof *sum);
                continue;
            }
            // "M' = max(M, m); a = exp(RN32(M - M')); b = exp(RN32(m - M')); L = RN64(RN64(L a) + RN64(l b));
            // O = fma(O, a, RN32(o b))"
            float larger = ref_max32(m, r.m), d_a = m - larger, d_b = r.m - larger;
            float a = ref_unary(SB_EXP, d_a), b = ref_unary(SB_EXP, d_b);
            double la = l * (double)a, lb = (double)r.l * (double)b;
            l = la + lb;
            for (int64_t c = 0; c < o->d; c++) {
                float ob = block[c] * b;
                sum[c] = ref_fma32(sum[c], a, ob);
            }
            m = larger;
        }
        double r = any ? 1.0 / l : 0.0; // "y = RN32(RN64(O r)). No present key: y = +0, M = -inf, L = 0."
        for (int64_t c = 0; c < o->d; c++) {
            double t = any ? (double)sum[c] * r : 0.0;
            y[row * o->d + c] = ref_canon32((float)t);
        }
        if (maximum)
            maximum[row] = ref_canon32(m);
        if (total)
            total[row] = ref_canon64(l);
    }
    free(score);
    free(sum);
    free(block);
    free(present);
}

// Per head of one batch, with query rows and keys numbered by their absolute positions:
//   P = RN32(exp(RN32(score - M)) RN32(RN64(1/L))); D = RN32(S over the head of RN64(dO y)); dP = T3 product over d of
//   dO and v; dS = RN32(RN32(P RN32(dP - D)) scale); dV[key] = T3 over query positions of P dO; dK likewise of dS Q;
//   dQ = T3 over key positions of dS K. Absent pairs are skipped. Heads of a group are added ascending in float32.
void ref_attention_backward_f32(const ref_attention *o, const float *q, const float *k, const float *v, const float *y,
                                const float *maximum, const double *total, const float *dy, float *dq, float *dk,
                                float *dv) {
    int64_t d = o->d, key_step = o->g * d, query_step = o->h * d, shared = o->h / o->g, keys = o->keys, t = o->t;
    // [t, keys], and transposed [keys, t] by a step
    float *p = ref_memory(t * keys, sizeof *p), *ds = ref_memory(t * keys, sizeof *ds);
    uint8_t *present = ref_memory(t * keys, 1), *column = ref_memory(t, 1);
    double *term = ref_memory(d, sizeof *term);
    for (int64_t i = 0; i < o->b * o->s * o->g * d; i++) {
        dk[i] = 0.0f;
        dv[i] = 0.0f;
    }
    for (int64_t batch = 0; batch < o->b; batch++)
        for (int64_t head = 0; head < o->h; head++) {
            int64_t at_q = (batch * t * o->h + head) * d, at_k = (batch * o->s * o->g + head / shared) * d;
            for (int64_t i = 0; i < t; i++) {
                const float *q_row = q + at_q + i * query_step, *dy_row = dy + at_q + i * query_step,
                            *y_row = y + at_q + i * query_step;
                int64_t row = (batch * t + i) * o->h + head;
                scores_of(o, batch, i, q_row, k + at_k, key_step, p + i * keys, present + i * keys);
                for (int64_t c = 0; c < d; c++)
                    term[c] = (double)dy_row[c] * (double)y_row[c];
                float whole = (float)ref_sum(d, term, NULL);
                double inverse = 1.0 / total[row];
                float r = (float)inverse;
                for (int64_t key = 0; key < keys; key++) {
                    int64_t at = i * keys + key;
                    if (!present[at])
                        continue;
                    float difference = p[at] - maximum[row];
                    float e = ref_unary(SB_EXP, difference);
                    p[at] = e * r;
                    float dp = ref_product(0, d, dy_row, 1, v + at_k + key * key_step, 1, NULL);
                    float rest = dp - whole;
                    float product = p[at] * rest;
                    ds[at] = product * (float)o->scale;
                }
                for (int64_t c = 0; c < d; c++) {
                    float x = ref_product(0, keys, ds + i * keys, 1, k + at_k + c, key_step, present + i * keys);
                    dq[at_q + i * query_step + c] = ref_canon32(x);
                }
            }
            for (int64_t key = 0; key < keys; key++) {
                for (int64_t i = 0; i < t; i++)
                    column[i] = present[i * keys + key];
                for (int64_t c = 0; c < d; c++) {
                    float x = ref_product(o->first, t, p + key, keys, dy + at_q + c, query_step, column);
                    float z = ref_product(o->first, t, ds + key, keys, q + at_q + c, query_step, column);
                    float *into_v = dv + at_k + key * key_step + c, *into_k = dk + at_k + key * key_step + c;
                    if (head % shared == 0) {
                        *into_v = ref_canon32(x);
                        *into_k = ref_canon32(z);
                    } else {
                        x = *into_v + x;
                        z = *into_k + z;
                        *into_v = ref_canon32(x);
                        *into_k = ref_canon32(z);
                    }
                }
            }
        }
    free(p);
    free(ds);
    free(present);
    free(column);
    free(term);
}
