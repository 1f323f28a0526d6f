// SPDX-License-Identifier: Apache-2.0
// Attention, forward and backward by recomputation (contract T6). q, y[b, t, h, d]; k, v[b, s, g, d].
//
// Forward. Query row i of head n has position first + i and reads group n / (h / g). Blocks of 128 key positions from
// 0. score = RN32(dot(q, k) * scale), the dot an fma chain over d (T3). A key is absent if masked (key >= keys; mask 0;
// or, from the prefix on, key > position + ahead or key < position - behind: ahead is 0 if causal, behind window - 1)
// or its score is -inf. In a block with a present key: m = maximum; e = exp(RN32(score - m));
// l = sums by (position mod 32), ascending, then the tree 16, 8, 4, 2, 1, + (+0); o = chain over present keys ascending
// fma(e, v, o) from +0, + (+0). The first: M = m, L = l, O = o. Then M' = max(M, m), a = exp(RN32(M - M')),
// b = exp(RN32(m - M')), L = RN64(RN64(L a) + RN64(l b)), O = fma(O, a, RN32(o b)). y = RN32(RN64(O RN64(1/L))).
//
// Backward. P = RN32(exp(RN32(score - M)) * RN32(RN64(1/L))); D = RN32(S(RN64(dO y))); dP = dot(dO, v);
// dS = RN32(RN32(P * RN32(dP - D)) * scale). dQ, dK, dV are products (T3) whose k is the position of the key (dQ) or of
// the query (dK, dV), absent pairs skipped; heads of a group are added in ascending order.
//
// Lanes are query rows (forward, dQ) or keys (dK, dV); the other operand is the same for all lanes and is read where it
// stands. An absent pair has the weight -0, which no present pair has: multiplied by a finite value it leaves no trace
// (but for the sign of a zero, which + (+0) and the totals remove), so only beside values that are not finite must it
// be told apart. `plain` says which rows of the other operand are finite.
//
// The method of blocks: T. Dao et al., "FlashAttention", 2022.
#include "function64.h"
#include "sum.h"

#ifdef SBI_TUNED
#include "tuned/chains.h"
#endif

#if T_BITS == 32
#define SBI_NONE NAME(sbi_none)()     // -inf: the score of an absent key
#define SBI_ABSENT NAME(sbi_absent)() // -0: its weight
FN f32 sbi_none_f32(void) { return FLOAT32(0xff800000u); }
FN f64 sbi_none_f64(void) { return FLOAT64(0xfff0000000000000u); }
FN f32 sbi_absent_f32(void) { return FLOAT32(0x80000000u); }
FN f64 sbi_absent_f64(void) { return FLOAT64(0x8000000000000000u); }

// x as a place among 0 .. most.
FN i32 sbi_within(i64 x, i32 most) { return x < 0 ? 0 : x < most ? (i32)x : most; }

// 1 if the mask, where there is one, shows key i of the batch's keys.
FN i32 sbi_shown(GLOBAL const uint8_t *mask, i64 i) { return !mask || mask[i] != 0; }

// 1 if a query sees key j: in the prefix always, else by its place; only an open one.
FN i32 sbi_sees(i32 open, i32 always, i32 j, i32 least, i32 limit) {
    return open & (always | ((j >= least) & (j < limit)));
}

// The block from b on that a query may see: b itself, or `start` where nothing lies between the prefix and a window.
FN i64 sbi_next_block(i64 b, i64 prefix, i64 start) { return b >= prefix && b < start ? start : b; }
#endif

// 1 if x[0 .. d-1] are all finite.
FN i32 NAME(sbi_row_plain)(GLOBAL const T *RESTRICT x, i32 d) {
    i32 bad = 0;
    for (i32 c = 0; c < d; c++) {
        bad |= !(x[c] - x[c] == (T)0);
    }
    return !bad;
}

// A group is 32 query rows of a head of a batch. d <= 256.
KERNEL void NAME(k_attention)(GLOBAL const T *RESTRICT q, GLOBAL const T *RESTRICT k, GLOBAL const T *RESTRICT v,
                              GLOBAL const uint8_t *RESTRICT mask, GLOBAL T *RESTRICT y, GLOBAL T *RESTRICT maximum,
                              GLOBAL f64 *RESTRICT total, i64 t, i64 h, i32 d, i64 s, i64 g, i64 first, i64 keys,
                              i64 ahead, i64 behind, i64 prefix, T scale GROUP_PARAM) {
    SHARED i32 plain[128];
    SHARED i32 shown[128];
    LANE_ARRAY(T, query, 32, 256);
    LANE_ARRAY(T, weight, 32, 128); // scores, then e
    LANE_ARRAY(T, sum, 32, 32);
    LANE_ARRAY(T, part, 32, 256); // o
    LANE_ARRAY(T, out, 32, 256);  // O
    LANE_VAR(i32, least, 32);     // keys of this block seen by position: least .. limit - 1
    LANE_VAR(i32, limit, 32);
    LANE_VAR(i32, turn, 32);      // 0: no present key, 1: the first block with one, 2: a later one
    LANE_VAR(T, top, 32);         // m
    LANE_VAR(T, best, 32);        // M
    LANE_VAR(T, keep, 32);        // a
    LANE_VAR(T, take, 32);        // b
    LANE_VAR(f64, mass, 32);      // L
    LANE_VAR(f64, inverse, 32);   // 1/L
    i64 tiles = (t + 31) / 32, pair = GROUP() / tiles, i0 = GROUP() % tiles * 32, batch = pair / h, head = pair % h;
    i32 rows = (i32)(t - i0 < 32 ? t - i0 : 32);
#include "attention_range.h"
    GLOBAL const T *key_rows = k + (batch * s * g + head / (h / g)) * d;
    GLOBAL const T *value_rows = v + (batch * s * g + head / (h / g)) * d;
    GLOBAL const T *query_rows = q + ((batch * t + i0) * h + head) * d;
    PHASE(l, 32) { // (lanes without a row repeat the first)
        GLOBAL const T *from = query_rows + (l < rows ? l : 0) * h * d;
        for (i32 c = 0; c < d; c++) {
            ATI(query, l, c) = from[c];
        }
        AT(best, l) = SBI_NONE;
        AT(mass, l) = K(0.0);
    }
    LANE_END
    for (i32 c = 0; c < d; c++) {
        PHASE(l, 32) { ATI(out, l, c) = (T)0; }
        LANE_END
    }
    for (i64 b0 = sbi_next_block(0, prefix, start); b0 < last; b0 = sbi_next_block(b0 + 128, prefix, start)) {
        i32 count = sbi_within(last - b0, 128), some = 0;
        GLOBAL const T *kb = key_rows + b0 * stride;
        GLOBAL const T *vb = value_rows + b0 * stride;
#define KEYS_ROWS vb
#include "attention_keys.h"
        if (!some) {
            continue; // (a block without a present key is absent)
        }
        PHASE(l, 32) { AT(top, l) = SBI_NONE; }
        LANE_END
#define DOTS_OUT weight
#define DOTS_LANES query
#define DOTS_ROWS kb
#include "attention_dots.h"
        for (i32 j = 0; j < count; j++) {
            i32 always = b0 + j < prefix, open = shown[j];
            PHASE(l, 32) {
                T x = (ATI(weight, l, j) + (T)0) * scale;
                x = sbi_sees(open, always, j, AT(least, l), AT(limit, l)) ? x : SBI_NONE;
                AT(top, l) = NAME(sbi_max)(AT(top, l), x);
                ATI(weight, l, j) = x;
            }
            LANE_END
        }
        for (i32 j = 0; j < 32; j++) {
            PHASE(l, 32) { ATI(sum, l, j) = (T)0; }
            LANE_END
        }
        for (i32 j = 0; j < count; j++) {
            PHASE(l, 32) {
                T x = ATI(weight, l, j), e = NAME(sbi_exp)(x - AT(top, l));
                e = x == SBI_NONE ? SBI_ABSENT : e;
                ATI(sum, l, j % 32) = ATI(sum, l, j % 32) + e;
                ATI(weight, l, j) = e;
            }
            LANE_END
        }
        for (i32 w = 16; w > 0; w /= 2) {
            for (i32 j = 0; j < w; j++) {
                PHASE(l, 32) { ATI(sum, l, j) = ATI(sum, l, j) + ATI(sum, l, j + w); }
                LANE_END
            }
        }
        for (i32 c = 0; c < d; c++) {
            PHASE(l, 32) { ATI(part, l, c) = (T)0; }
            LANE_END
        }
#define ROWS_INTO part // e v
#define ROWS_FACTOR weight
#define ROWS_FROM vb
#include "attention_rows.h"
        PHASE(l, 32) {
            T m = AT(top, l), old = AT(best, l), next = NAME(sbi_max)(old, m), mine = ATI(sum, l, 0) + (T)0;
            i32 state = m == SBI_NONE ? 0 : old == SBI_NONE ? 1 : 2;
            T a = NAME(sbi_exp)(old - next), b = NAME(sbi_exp)(m - next);
            f64 both = AT(mass, l) * (f64)a + (f64)mine * (f64)b;
            AT(mass, l) = state == 0 ? AT(mass, l) : state == 1 ? (f64)mine : both;
            AT(best, l) = next;
            AT(turn, l) = state;
            AT(keep, l) = a;
            AT(take, l) = b;
        }
        LANE_END
        for (i32 c = 0; c < d; c++) {
            PHASE(l, 32) {
                T o = ATI(part, l, c) + (T)0, old = ATI(out, l, c), both = NAME(FMA)(old, AT(keep, l), o * AT(take, l));
                ATI(out, l, c) = AT(turn, l) == 0 ? old : AT(turn, l) == 1 ? o : both;
            }
            LANE_END
        }
    }
    PHASE(l, 32) { AT(inverse, l) = K(1.0) / AT(mass, l); }
    LANE_END
    for (i32 c = 0; c < d; c++) {
        PHASE(l, 32) {
            T x = NAME(sbi_canon)((T)((f64)ATI(out, l, c) * AT(inverse, l)));
            ATI(out, l, c) = AT(best, l) == SBI_NONE ? (T)0 : x;
        }
        LANE_END
    }
    PHASE(l, rows) {
        i64 row = (batch * t + i0 + l) * h + head;
        for (i32 c = 0; c < d; c++) {
            y[row * d + c] = ATI(out, l, c);
        }
        if (maximum) {
            maximum[row] = AT(best, l);
        }
        if (total) {
            total[row] = sbi_canon_f64(AT(mass, l));
        }
    }
    LANE_END
}

// What the backward kernels need of each row (b, t, h): share = RN32(RN64(1/L)), delta = D. A group is a row.
KERNEL void NAME(k_attention_rows)(GLOBAL const T *RESTRICT y, GLOBAL const T *RESTRICT dy, GLOBAL const f64 *RESTRICT total,
                                   GLOBAL T *RESTRICT share, GLOBAL T *RESTRICT delta, i32 d GROUP_PARAM) {
    SHARED f64 part[32];
    PHASE(l, 32) { part[l] = K(0.0); }
    PHASE_END
    for (i32 c = 0; c < d; c += 32) {
        PHASE(l, sbi_lanes(d - c, 32)) {
            i64 at = GROUP() * d + c + l;
            part[l] = part[l] + (f64)dy[at] * (f64)y[at];
        }
        PHASE_END
    }
    sbi_sum_tree(part);
    PHASE(l, 1) {
        share[GROUP()] = (T)(K(1.0) / total[GROUP()]);
        delta[GROUP()] = (T)(part[0] + K(0.0));
    }
    PHASE_END
}

// dQ: a group is 32 query rows of a head of a batch, as in k_attention.
KERNEL void NAME(k_attention_dq)(GLOBAL const T *RESTRICT q, GLOBAL const T *RESTRICT k, GLOBAL const T *RESTRICT v,
                                 GLOBAL const uint8_t *RESTRICT mask, GLOBAL const T *RESTRICT dy,
                                 GLOBAL const T *RESTRICT maximum, GLOBAL const T *RESTRICT share,
                                 GLOBAL const T *RESTRICT delta, GLOBAL T *RESTRICT dq, i64 t, i64 h, i32 d, i64 s, i64 g,
                                 i64 first, i64 keys, i64 ahead, i64 behind, i64 prefix, T scale GROUP_PARAM) {
    SHARED i32 plain[128];
    SHARED i32 shown[128];
    LANE_ARRAY(T, query, 32, 256);
    LANE_ARRAY(T, slope, 32, 256);  // dO
    LANE_ARRAY(T, weight, 32, 128); // scores, then P
    LANE_ARRAY(T, change, 32, 128); // dP, then dS
    LANE_ARRAY(T, chunk, 32, 256);
    LANE_ARRAY(T, run, 32, 256);
    LANE_ARRAY(T, sum, 32, 256);
    LANE_VAR(i32, least, 32);
    LANE_VAR(i32, limit, 32);
    LANE_VAR(T, best, 32);
    LANE_VAR(T, part, 32);
    LANE_VAR(T, mean, 32);
    i64 tiles = (t + 31) / 32, pair = GROUP() / tiles, i0 = GROUP() % tiles * 32, batch = pair / h, head = pair % h;
    i32 rows = (i32)(t - i0 < 32 ? t - i0 : 32);
#include "attention_range.h"
    i64 row0 = (batch * t + i0) * h + head;
    GLOBAL const T *key_rows = k + (batch * s * g + head / (h / g)) * d;
    GLOBAL const T *value_rows = v + (batch * s * g + head / (h / g)) * d;
    PHASE(l, 32) { // (lanes without a row repeat the first)
        i64 row = row0 + (l < rows ? l : 0) * h;
        for (i32 c = 0; c < d; c++) {
            ATI(query, l, c) = q[row * d + c];
            ATI(slope, l, c) = dy[row * d + c];
        }
        AT(best, l) = maximum[row];
        AT(part, l) = share[row];
        AT(mean, l) = delta[row];
    }
    LANE_END
    for (i32 c = 0; c < d; c++) {
        PHASE(l, 32) {
            ATI(chunk, l, c) = (T)0;
            ATI(run, l, c) = (T)0;
            ATI(sum, l, c) = (T)0;
        }
        LANE_END
    }
    i64 after = 0;
    for (i64 b0 = sbi_next_block(0, prefix, start); b0 < last; b0 = after) {
        i32 count = sbi_within(last - b0, 128), some = 0;
        GLOBAL const T *kb = key_rows + b0 * stride;
        GLOBAL const T *vb = value_rows + b0 * stride;
        after = sbi_next_block(b0 + 128, prefix, start);
#define KEYS_ROWS kb
#include "attention_keys.h"
        if (some) {
#define DOTS_OUT weight
#define DOTS_LANES query
#define DOTS_ROWS kb
#include "attention_dots.h"
#define DOTS_OUT change
#define DOTS_LANES slope
#define DOTS_ROWS vb
#include "attention_dots.h"
            for (i32 j = 0; j < count; j++) {
                i32 always = b0 + j < prefix, open = shown[j];
                PHASE(l, 32) {
                    T x = (ATI(weight, l, j) + (T)0) * scale, p = NAME(sbi_exp)(x - AT(best, l)) * AT(part, l);
                    i32 there = sbi_sees(open, always, j, AT(least, l), AT(limit, l)) && x != SBI_NONE;
                    T ds = p * ((ATI(change, l, j) + (T)0) - AT(mean, l)) * scale;
                    ATI(weight, l, j) = there ? p : SBI_ABSENT;
                    ATI(change, l, j) = there ? ds : (T)0;
                }
                LANE_END
            }
#define ROWS_INTO chunk // dS k
#define ROWS_FACTOR change
#define ROWS_FROM kb
#include "attention_rows.h"
        }
        if (after / 256 > b0 / 256 || after >= last) {
            i32 full = after / 16384 > b0 / 16384;
#define CHUNK chunk
#define CHUNK_RUN run
#define CHUNK_SUM sum
#define CHUNK_COUNT d
#include "chunk_end.h"
        }
    }
    for (i32 c = 0; c < d; c++) {
        PHASE(l, 32) { ATI(sum, l, c) = NAME(sbi_canon)(ATI(sum, l, c) + ATI(run, l, c)); }
        LANE_END
    }
    PHASE(l, rows) {
        for (i32 c = 0; c < d; c++) {
            dq[(row0 + l * h) * d + c] = ATI(sum, l, c);
        }
    }
    LANE_END
}

// dK and dV: a group is 32 keys of a head group of a batch; lanes are keys, query rows go in blocks of 64 positions.
KERNEL void NAME(k_attention_dkv)(GLOBAL const T *RESTRICT q, GLOBAL const T *RESTRICT k, GLOBAL const T *RESTRICT v,
                                  GLOBAL const uint8_t *RESTRICT mask, GLOBAL const T *RESTRICT dy,
                                  GLOBAL const T *RESTRICT maximum, GLOBAL const T *RESTRICT share,
                                  GLOBAL const T *RESTRICT delta, GLOBAL T *RESTRICT dk, GLOBAL T *RESTRICT dv, i64 t, i64 h,
                                  i32 d, i64 s, i64 g, i64 first, i64 keys, i64 ahead, i64 behind, i64 prefix,
                                  T scale GROUP_PARAM) {
    SHARED i32 plain[64];
    SHARED i32 shown[32];
    LANE_VAR(i32, always, 32); // a key of the prefix
    LANE_ARRAY(T, key, 32, 256);
    LANE_ARRAY(T, value, 32, 256);
    LANE_ARRAY(T, weight, 32, 64); // scores, then P
    LANE_ARRAY(T, change, 32, 64); // dP, then dS
    LANE_ARRAY(T, k_chunk, 32, 256);
    LANE_ARRAY(T, k_run, 32, 256);
    LANE_ARRAY(T, k_sum, 32, 256);
    LANE_ARRAY(T, v_chunk, 32, 256);
    LANE_ARRAY(T, v_run, 32, 256);
    LANE_ARRAY(T, v_sum, 32, 256);
    LANE_ARRAY(T, k_total, 32, 256); // of the group's heads so far
    LANE_ARRAY(T, v_total, 32, 256);
    i64 tiles = (s + 31) / 32, pair = GROUP() / tiles, j0 = GROUP() % tiles * 32, batch = pair / g, group = pair % g;
    i32 columns = (i32)(s - j0 < 32 ? s - j0 : 32), there = (i32)(keys - j0 < columns ? keys - j0 : columns);
    i64 stride = h * d, row0 = (batch * s + j0) * g + group, heads = h / g;
    i64 begin = j0 >= prefix && j0 - ahead > first ? j0 - ahead : first; // the queries that see one of these keys
    i64 end = j0 >= prefix && j0 + 32 + behind < first + t ? j0 + 32 + behind : first + t;
    i32 some = 0;
    PHASE(l, 32) { // (lanes without a key repeat the first)
        i64 from = (row0 + (l < there ? l : 0) * g) * d;
        for (i32 c = 0; c < d; c++) {
            ATI(key, l, c) = k[from + c];
            ATI(value, l, c) = v[from + c];
        }
        AT(always, l) = j0 + l < prefix;
        shown[l] = l < there && sbi_shown(mask, batch * s + j0 + l);
    }
    PHASE_END
    for (i32 j = 0; j < 32; j++) {
        some |= shown[j];
    }
    for (i64 head = group * heads; head < (group + 1) * heads; head++) {
        for (i32 c = 0; c < d; c++) {
            PHASE(l, 32) {
                ATI(k_chunk, l, c) = (T)0;
                ATI(k_run, l, c) = (T)0;
                ATI(k_sum, l, c) = (T)0;
                ATI(v_chunk, l, c) = (T)0;
                ATI(v_run, l, c) = (T)0;
                ATI(v_sum, l, c) = (T)0;
            }
            LANE_END
        }
        i64 stop = 0;
        for (i64 p0 = begin; p0 < end && some; p0 = stop) {
            stop = p0 / 64 * 64 + 64 < end ? p0 / 64 * 64 + 64 : end;
            i32 count = (i32)(stop - p0);
            i64 at = (batch * t + p0 - first) * h + head; // of row p0, in maximum, share and delta
            GLOBAL const T *qb = q + at * d;
            GLOBAL const T *pb = dy + at * d;
            PHASE(l, 32) {
                for (i32 i = l; i < count; i += 32) {
                    plain[i] = NAME(sbi_row_plain)(qb + i * stride, d) && NAME(sbi_row_plain)(pb + i * stride, d);
                }
            }
            PHASE_END
#define DOTS_OUT weight
#define DOTS_LANES key
#define DOTS_ROWS qb
#include "attention_dots.h"
#define DOTS_OUT change
#define DOTS_LANES value
#define DOTS_ROWS pb
#include "attention_dots.h"
            for (i32 i = 0; i < count; i++) {
                T best = maximum[at + i * h], part = share[at + i * h], mean = delta[at + i * h];
                i32 least = sbi_within(p0 + i - behind - j0, 32), limit = sbi_within(p0 + i + ahead + 1 - j0, 32);
                PHASE(l, 32) {
                    T x = (ATI(weight, l, i) + (T)0) * scale, p = NAME(sbi_exp)(x - best) * part;
                    i32 present = sbi_sees(shown[l], AT(always, l), l, least, limit) && x != SBI_NONE;
                    T ds = p * ((ATI(change, l, i) + (T)0) - mean) * scale;
                    ATI(weight, l, i) = present ? p : SBI_ABSENT;
                    ATI(change, l, i) = present ? ds : (T)0;
                }
                LANE_END
            }
#define ROWS_INTO k_chunk // dS q
#define ROWS_FACTOR change
#define ROWS_FROM qb
#include "attention_rows.h"
#define ROWS_INTO v_chunk // P dO
#define ROWS_FACTOR weight
#define ROWS_FROM pb
#include "attention_rows.h"
            if (stop % 256 == 0 || stop == end) {
                i32 full = stop % 16384 == 0;
#define CHUNK k_chunk
#define CHUNK_RUN k_run
#define CHUNK_SUM k_sum
#define CHUNK_COUNT d
#include "chunk_end.h"
#define CHUNK v_chunk
#define CHUNK_RUN v_run
#define CHUNK_SUM v_sum
#define CHUNK_COUNT d
#include "chunk_end.h"
            }
            PHASE(l, 32) {} // everyone has read `plain`
            PHASE_END
        }
        i32 start = head == group * heads;
        for (i32 c = 0; c < d; c++) {
            PHASE(l, 32) {
                T x = ATI(k_sum, l, c) + ATI(k_run, l, c), z = ATI(v_sum, l, c) + ATI(v_run, l, c);
                ATI(k_total, l, c) = start ? x : ATI(k_total, l, c) + x;
                ATI(v_total, l, c) = start ? z : ATI(v_total, l, c) + z;
            }
            LANE_END
        }
    }
    for (i32 c = 0; c < d; c++) {
        PHASE(l, 32) {
            ATI(k_total, l, c) = NAME(sbi_canon)(ATI(k_total, l, c));
            ATI(v_total, l, c) = NAME(sbi_canon)(ATI(v_total, l, c));
        }
        LANE_END
    }
    PHASE(l, columns) {
        i64 to = (row0 + l * g) * d;
        for (i32 c = 0; c < d; c++) {
            dk[to + c] = ATI(k_total, l, c);
            dv[to + c] = ATI(v_total, l, c);
        }
    }
    LANE_END
}
