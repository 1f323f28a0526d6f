// SPDX-License-Identifier: Apache-2.0
// The typed text of ref_attention.c: REAL is float or double (ref_both.h).
static REAL REF(infinity)(void) {
    double wide = ref_float64(0x7ff0000000000000u);
    return (REAL)wide;
}

// score = RN32(dot (T3) scale).
static REAL REF(score_of)(const ref_attention *o, const REAL *q_row, const REAL *k_row) {
    REAL dot = REF(ref_product)(0, o->d, q_row, 1, k_row, 1, NULL);
    return dot * (REAL)o->scale;
}

// One query row of one head: scores of keys 0 .. keys-1 and which are present. Rows of k lie `step` floats apart.
static void REF(scores_of)(const ref_attention *o, int64_t batch, int64_t query, const REAL *q_row, const REAL *k, int64_t step,
                      REAL *score, uint8_t *present) {
    for (int64_t key = 0; key < o->keys; key++) {
        present[key] = 0;
        score[key] = (REAL)0;
        if (masked(o, batch, query, key))
            continue;
        score[key] = REF(score_of)(o, q_row, k + key * step);
        present[key] = !(score[key] == -REF(infinity)());
    }
}

typedef struct REF(block_result) {
    int any;
    REAL m, l;
} REF(block_result);

// m = max over the present keys; e = exp(RN32(s - m)); l: 32 lanes by position mod 32, then the tree of T2, in float32;
// o_c: chain over the present keys from +0 of fma(e, v, o), then + (+0).
static REF(block_result) REF(one_block)(int64_t first, int64_t last, int64_t d, const REAL *score, const uint8_t *present,
                              const REAL *v, int64_t step, REAL *o) {
    REF(block_result) r = {0, (REAL)0, (REAL)0};
    REAL lane[32] = {0}, e[128];
    for (int64_t key = first; key < last; key++)
        if (present[key]) {
            r.m = r.any ? REF_MAX(r.m, score[key]) : REF_CANON(score[key]);
            r.any = 1;
        }
    for (int64_t key = first; key < last; key++)
        if (present[key]) {
            REAL difference = score[key] - r.m;
            e[key - first] = REF_UNARY(SB_EXP, difference);
            lane[key % 32] = lane[key % 32] + e[key - first];
        }
    for (int s = 16; s >= 1; s /= 2)
        for (int i = 0; i < s; i++)
            lane[i] = lane[i] + lane[i + s];
    r.l = lane[0] + (REAL)0;
    for (int64_t c = 0; c < d; c++) {
        REAL chain = (REAL)0;
        for (int64_t key = first; key < last; key++)
            if (present[key])
                chain = REF_FMA(e[key - first], v[key * step + c], chain);
        o[c] = chain + (REAL)0;
    }
    return r;
}

void REF(ref_attention)(const ref_attention *o, const REAL *q, const REAL *k, const REAL *v, REAL *y, REAL *maximum,
                       double *total) {
    int64_t step = o->g * o->d; // from one position to the next in k and v
    REAL *score = ref_memory(o->keys, sizeof *score), *sum = ref_memory(o->d, sizeof *sum),
          *block = ref_memory(o->d, sizeof *block);
    uint8_t *present = ref_memory(o->keys, 1);
    for (int64_t row = 0; row < o->b * o->t * o->h; row++) {
        int64_t head = row % o->h, query = row / o->h % o->t, batch = row / o->h / o->t;
        int64_t at = (batch * o->s * o->g + head / (o->h / o->g)) * o->d; // key position 0 of the head's group
        REF(scores_of)(o, batch, query, q + row * o->d, k + at, step, score, present);
        int any = 0;
        REAL m = -REF(infinity)();
        double l = 0.0;
        for (int64_t first = 0; first < o->keys; first += 128) {
            int64_t last = first + 128 < o->keys ? first + 128 : o->keys;
            REF(block_result) r = REF(one_block)(first, last, o->d, score, present, v + at, step, block);
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
            REAL larger = REF_MAX(m, r.m), d_a = m - larger, d_b = r.m - larger;
            REAL a = REF_UNARY(SB_EXP, d_a), b = REF_UNARY(SB_EXP, d_b);
            double la = l * (double)a, lb = (double)r.l * (double)b;
            l = la + lb;
            for (int64_t c = 0; c < o->d; c++) {
                REAL ob = block[c] * b;
                sum[c] = REF_FMA(sum[c], a, ob);
            }
            m = larger;
        }
        double r = any ? 1.0 / l : 0.0; // "y = RN32(RN64(O r)). No present key: y = +0, M = -inf, L = 0."
        for (int64_t c = 0; c < o->d; c++) {
            double t = any ? (double)sum[c] * r : 0.0;
            y[row * o->d + c] = REF_CANON((REAL)t);
        }
        if (maximum)
            maximum[row] = REF_CANON(m);
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
void REF(ref_attention_backward)(const ref_attention *o, const REAL *q, const REAL *k, const REAL *v, const REAL *y,
                                const REAL *maximum, const double *total, const REAL *dy, REAL *dq, REAL *dk,
                                REAL *dv) {
    int64_t d = o->d, key_step = o->g * d, query_step = o->h * d, shared = o->h / o->g, keys = o->keys, t = o->t;
    // [t, keys], and transposed [keys, t] by a step
    REAL *p = ref_memory(t * keys, sizeof *p), *ds = ref_memory(t * keys, sizeof *ds);
    uint8_t *present = ref_memory(t * keys, 1), *column = ref_memory(t, 1);
    double *term = ref_memory(d, sizeof *term);
    for (int64_t i = 0; i < o->b * o->s * o->g * d; i++) {
        dk[i] = (REAL)0;
        dv[i] = (REAL)0;
    }
    for (int64_t batch = 0; batch < o->b; batch++)
        for (int64_t head = 0; head < o->h; head++) {
            int64_t at_q = (batch * t * o->h + head) * d, at_k = (batch * o->s * o->g + head / shared) * d;
            for (int64_t i = 0; i < t; i++) {
                const REAL *q_row = q + at_q + i * query_step, *dy_row = dy + at_q + i * query_step,
                            *y_row = y + at_q + i * query_step;
                int64_t row = (batch * t + i) * o->h + head;
                REF(scores_of)(o, batch, i, q_row, k + at_k, key_step, p + i * keys, present + i * keys);
                for (int64_t c = 0; c < d; c++)
                    term[c] = (double)dy_row[c] * (double)y_row[c];
                REAL whole = (REAL)ref_sum(d, term, NULL);
                double inverse = 1.0 / total[row];
                REAL r = (REAL)inverse;
                for (int64_t key = 0; key < keys; key++) {
                    int64_t at = i * keys + key;
                    if (!present[at])
                        continue;
                    REAL difference = p[at] - maximum[row];
                    REAL e = REF_UNARY(SB_EXP, difference);
                    p[at] = e * r;
                    REAL dp = REF(ref_product)(0, d, dy_row, 1, v + at_k + key * key_step, 1, NULL);
                    REAL rest = dp - whole;
                    REAL product = p[at] * rest;
                    ds[at] = product * (REAL)o->scale;
                }
                for (int64_t c = 0; c < d; c++) {
                    REAL x = REF(ref_product)(0, keys, ds + i * keys, 1, k + at_k + c, key_step, present + i * keys);
                    dq[at_q + i * query_step + c] = REF_CANON(x);
                }
            }
            for (int64_t key = 0; key < keys; key++) {
                for (int64_t i = 0; i < t; i++)
                    column[i] = present[i * keys + key];
                for (int64_t c = 0; c < d; c++) {
                    REAL x = REF(ref_product)(o->first, t, p + key, keys, dy + at_q + c, query_step, column);
                    REAL z = REF(ref_product)(o->first, t, ds + key, keys, q + at_q + c, query_step, column);
                    REAL *into_v = dv + at_k + key * key_step + c, *into_k = dk + at_k + key * key_step + c;
                    if (head % shared == 0) {
                        *into_v = REF_CANON(x);
                        *into_k = REF_CANON(z);
                    } else {
                        x = *into_v + x;
                        z = *into_k + z;
                        *into_v = REF_CANON(x);
                        *into_k = REF_CANON(z);
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
