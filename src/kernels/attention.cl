// SPDX-License-Identifier: Apache-2.0
// Attention, forward and backward by recomputation (contract T6), where lanes are loops: on a CPU (attention_tile.cl: on all others). q, y[b, t, h, d]; k, v[b, s, g, d].
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
// For scores the lanes are query rows (forward) or keys (backward), for sums of rows they are channels; the other
// operand is the same for all lanes and is read where it stands. An absent pair has the weight -0, which no present pair
// has: multiplied by a finite value it leaves no trace (but for the sign of a zero, which + (+0) and the totals remove),
// so only beside values that are not finite must it be told apart: by the `careful`.
//
// The method of blocks: T. Dao et al., "FlashAttention", 2022.
#include "function64.h"
#include "sum.h"
#include "attention.h"

#ifdef SBI_TUNED
#include "tuned/chains.h"
#endif

// Rows that are soon read, `stride` apart.
FN void NAME(sbi_call_rows)(GLOBAL const T *x, i32 rows, i64 stride, i32 d) {
    for (i32 i = 0; i < rows; i++) {
        for (i32 c = 0; c < d; c += 512 / T_BITS) { // each line of 64 bytes
            PREFETCH(x + i * stride + c);
        }
    }
}

// A group is 32 query rows of a head of a batch. d <= 256.
KERNEL void NAME(k_attention)(GLOBAL const T *RESTRICT q, GLOBAL const T *RESTRICT k, GLOBAL const T *RESTRICT v,
                              GLOBAL const uint8_t *RESTRICT mask, GLOBAL T *RESTRICT y, GLOBAL T *RESTRICT maximum,
                              GLOBAL f64 *RESTRICT total, i64 t, i64 h, i32 d, i64 s, i64 g, i64 first, i64 keys,
                              i64 ahead, i64 behind, i64 prefix, T scale GROUP_PARAM) {
    SHARED i32 shown[128];
    SHARED T weight[128 * 32]; // scores, then e: of lane l and key j at 32 j + l
    SHARED i32 turn[32];       // 0: no present key, 1: the first block with one, 2: a later one
    SHARED T keep[32];         // a
    SHARED T take[32];         // b
    SHARED f64 inverse[32];    // 1/L
    SHARED i32 odd[32];        // of the lane's channels one is not finite
    LANE_LARGE(T, query, 32, 256);
    LANE_ARRAY(T, sum, 32, 32);
    LANE_LARGE(T, part, 32, 256); // o; from here on lanes are channels
    LANE_LARGE(T, out, 32, 256);  // O
    LANE_VAR(i32, least, 32);     // keys of this block seen by position: least .. limit - 1
    LANE_VAR(i32, limit, 32);
    LANE_VAR(T, top, 32);         // m
    LANE_VAR(T, best, 32);        // M
    LANE_VAR(f64, mass, 32);      // L
    i64 tiles = (t + 31) / 32, pair = GROUP() / tiles, i0 = GROUP() % tiles * 32, batch = pair / h, head = pair % h;
    i32 rows = (i32)(t - i0 < 32 ? t - i0 : 32), blocks = (d + 31) / 32;
    i64 stride = g * d, position = first + i0; // blocks of keys that some row sees: those of the prefix, start .. last - 1
    i64 start = position > behind ? (position - behind) / 128 * 128 : 0;
    i64 last = position + rows + ahead > prefix ? position + rows + ahead : prefix;
    last = last < keys ? last : keys;
    GLOBAL const T *key_rows = k + (batch * s * g + head / (h / g)) * d;
    GLOBAL const T *value_rows = v + (batch * s * g + head / (h / g)) * d;
    GLOBAL const T *query_rows = q + ((batch * t + i0) * h + head) * d;
    NAME(sbi_call_rows)(query_rows, rows, h * d, d);
    PHASE(l, 32) { // (lanes without a row repeat the first)
        GLOBAL const T *from = query_rows + (l < rows ? l : 0) * h * d;
        for (i32 c = 0; c < d; c++) {
            ATI(query, l, c) = from[c];
        }
    }
    LANE_END
    for (i32 careful = 0, again = 1; TOGETHER(again); careful = 1) { // (a value that is not finite leaves no result finite)
        PHASE(l, 32) {
            AT(best, l) = SBI_NONE;
            AT(mass, l) = K(0.0);
            odd[l] = 0;
        }
        LANE_END
        for (i32 i = 0; i < rows * blocks; i++) {
            PHASE(l, 32) { ATI(out, l, i) = (T)0; }
            LANE_END
        }
        for (i64 b0 = sbi_next_block(0, prefix, start); TOGETHER(b0 < last); b0 = sbi_next_block(b0 + 128, prefix, start)) {
            i32 count = sbi_within(last - b0, 128), some = 0;
            PHASE(l, 32) {} // everyone has read what the block before has left
            PHASE_END
            PHASE(l, 32) {
                for (i32 j = l; j < count; j += 32) {
                    shown[j] = sbi_shown(mask, batch * s + b0 + j);
                }
                AT(least, l) = sbi_within(position + l - behind - b0, 128);
                AT(limit, l) = sbi_within(position + l + ahead + 1 - b0, count);
                AT(top, l) = SBI_NONE;
            }
            PHASE_END
            for (i32 j = 0; j < count; j++) {
                some |= shown[j];
            }
            if (!some) {
                continue; // (a block without a present key is absent)
            }
#define DOTS_OUT weight
#define DOTS_LANES(l, c) ATI(query, l, c)
#define DOTS_ROWS (key_rows + b0 * stride)
#define DOTS_STRIDE stride
#include "attention_dots.h"
            for (i32 j = 0; j < count; j++) {
                i32 always = b0 + j < prefix, open = shown[j];
                PHASE(l, 32) {
                    T x = (weight[j * 32 + l] + (T)0) * scale;
                    x = sbi_sees(open, always, j, AT(least, l), AT(limit, l)) ? x : SBI_NONE;
                    AT(top, l) = NAME(sbi_max)(AT(top, l), x);
                    weight[j * 32 + l] = x;
                }
                LANE_END
            }
            for (i32 j = 0; j < 32; j++) {
                PHASE(l, 32) { ATI(sum, l, j) = (T)0; }
                LANE_END
            }
            for (i32 j = 0; j < count; j++) {
                PHASE(l, 32) {
                    T x = weight[j * 32 + l], e = NAME(sbi_exp)(x - AT(top, l));
                    e = x == SBI_NONE ? SBI_ABSENT : e;
                    ATI(sum, l, j % 32) = ATI(sum, l, j % 32) + e;
                    weight[j * 32 + l] = e;
                }
                LANE_END
            }
            for (i32 w = 16; w > 0; w /= 2) {
                for (i32 j = 0; j < w; j++) {
                    PHASE(l, 32) { ATI(sum, l, j) = ATI(sum, l, j) + ATI(sum, l, j + w); }
                    LANE_END
                }
            }
            PHASE(l, 32) {
                T m = AT(top, l), old = AT(best, l), next = NAME(sbi_max)(old, m), mine = ATI(sum, l, 0) + (T)0;
                i32 state = m == SBI_NONE ? 0 : old == SBI_NONE ? 1 : 2;
                T a = NAME(sbi_exp)(old - next), b = NAME(sbi_exp)(m - next);
                f64 both = AT(mass, l) * (f64)a + (f64)mine * (f64)b;
                AT(mass, l) = state == 0 ? AT(mass, l) : state == 1 ? (f64)mine : both;
                AT(best, l) = next;
                turn[l] = state;
                keep[l] = a;
                take[l] = b;
            }
            PHASE_END
            for (i32 i = 0; i < rows * blocks; i++) {
                PHASE(l, 32) { ATI(part, l, i) = (T)0; }
                LANE_END
            }
#define ROWS_INTO part // e v
#define ROWS_FIRST 0
#define ROWS_COUNT rows
#define ROWS_FACTOR weight
#define ROWS_ROW 1
#define ROWS_STEP 32
#define ROWS_FROM (value_rows + b0 * stride)
#define ROWS_STRIDE stride
#define ROWS_STEPS count
#include "attention_rows.h"
            for (i32 i = 0; i < rows; i++) {
                i32 state = turn[i];
                T a = keep[i], b = take[i];
                for (i32 c = i * blocks; c < (i + 1) * blocks && state; c++) {
                    PHASE(l, 32) {
                        T o = ATI(part, l, c) + (T)0, old = ATI(out, l, c), both = NAME(FMA)(old, a, o * b);
                        ATI(out, l, c) = state == 1 ? o : both;
                    }
                    LANE_END
                }
            }
        }
        for (i32 i = 0; i < rows * blocks; i++) {
            PHASE(l, 32) { odd[l] |= !(ATI(out, l, i) - ATI(out, l, i) == (T)0); }
            LANE_END
        }
        again = sbi_begins_again(odd, 32, careful);
    }
    PHASE(l, 32) {
        i64 row = (batch * t + i0 + l) * h + head;
        turn[l] = AT(best, l) == SBI_NONE;
        inverse[l] = K(1.0) / AT(mass, l);
        if (l < rows && maximum) {
            maximum[row] = AT(best, l);
        }
        if (l < rows && total) {
            total[row] = sbi_canon_f64(AT(mass, l));
        }
    }
    PHASE_END
    for (i32 i = 0; i < rows; i++) {
        i32 none = turn[i];
        f64 r = inverse[i];
        for (i32 c = 0; c < d; c += 32) {
            GLOBAL T *to = y + ((batch * t + i0 + i) * h + head) * d + c;
            PHASE(l, sbi_lanes(d - c, 32)) {
                T x = NAME(sbi_canon)((T)((f64)ATI(out, l, i * blocks + c / 32) * r));
                to[l] = none ? (T)0 : x;
            }
            LANE_END
        }
    }
}

// What the backward kernel needs besides its operands stands in one array `work`:
//   keys and values with 32 rows as lanes, [b, s / 32, g, d, 32] each, +0 where no row is
//   for each row (b, t, h) its M, RN32(RN64(1/L)) and D: [3, b, t, h]
//   if a sum has more than 64 chunks, the runs of dq, of dk and of dv, each as large as they are

// x[b, s, g, d] with rows as lanes, from `offset` on. A group is 32 rows of a head group of a batch.
KERNEL void NAME(k_attention_turn)(GLOBAL const T *RESTRICT x, GLOBAL T *RESTRICT work, i64 offset, i64 s, i64 g, i32 d GROUP_PARAM) {
    i64 strips = (s + 31) / 32, group = GROUP() % g, strip = GROUP() / g % strips, batch = GROUP() / g / strips;
    i32 rows = sbi_lanes(s - strip * 32, 32);
    GLOBAL const T *from = x + ((batch * s + strip * 32) * g + group) * d;
    GLOBAL T *to = work + offset + GROUP() * d * 32;
    PHASE(l, 32) {
        for (i32 c = 0; c < d; c++) {
            to[c * 32 + l] = l < rows ? from[l * g * d + c] : (T)0;
        }
    }
    LANE_END
}

// What belongs to rows, from `offset` on, [3, n]. A group is a row.
KERNEL void NAME(k_attention_rows)(GLOBAL const T *RESTRICT y, GLOBAL const T *RESTRICT dy, GLOBAL const T *RESTRICT maximum,
                                   GLOBAL const f64 *RESTRICT total, GLOBAL T *RESTRICT work, i64 offset, i64 n, i32 d GROUP_PARAM) {
    SHARED f64 part[32];
    PHASE(l, 32) { part[l] = K(0.0); }
    LANE_END
    for (i32 c = 0; c < d; c += 32) {
        PHASE(l, sbi_lanes(d - c, 32)) {
            i64 at = GROUP() * d + c + l;
            part[l] = part[l] + (f64)dy[at] * (f64)y[at];
        }
        LANE_END
    }
    PHASE(l, 32) {} // everyone's part is whole
    PHASE_END
    sbi_sum_tree(part);
    PHASE(l, 1) {
        GLOBAL T *row = work + offset + GROUP();
        row[0] = maximum[GROUP()];
        row[n] = (T)(K(1.0) / total[GROUP()]);
        row[2 * n] = (T)(part[0] + K(0.0));
    }
    PHASE_END
}

// dQ, dK and dV of one head of a batch, of a tile of 256 query positions and 256 keys: a whole chunk of each of its sums.
// The tiles of a diagonal meet in none, so that a launch takes them all, and the diagonals follow each other: chunks are
// folded in ascending order. dk and dv are those of each head, [b, s, h, d]; pairs = b h. A group is (batch and head) +
// pairs * place on the diagonal.
KERNEL void NAME(k_attention_backward)(GLOBAL const T *RESTRICT q, GLOBAL const T *RESTRICT k, GLOBAL const uint8_t *RESTRICT mask,
                                       GLOBAL const T *RESTRICT dy, GLOBAL T *work, GLOBAL T *dq, GLOBAL T *dk, GLOBAL T *dv,
                                       i64 pairs, i64 t, i64 h, i32 d, i64 s, i64 g, i64 first, i64 keys, i64 ahead, i64 behind,
                                       i64 prefix, T scale, i64 diagonal GROUP_PARAM) {
    SHARED i32 shown[32];
    SHARED i32 odd[32];       // of the lane's channels one is not finite
    SHARED T weight[64 * 32]; // scores, then P: of query i and lane l at 32 i + l
    SHARED T change[64 * 32]; // dP, then dS
    LANE_VAR(i32, always, 32); // a key of the prefix
    LANE_LARGE(T, q_chunk, 32, 2048); // of 256 queries; from here on lanes are channels
    LANE_LARGE(T, k_chunk, 32, 256);  // of 32 keys
    LANE_LARGE(T, v_chunk, 32, 256);
    i64 pair = GROUP() % pairs, batch = pair / h, head = pair % h, q_from = first / 256, q_to = (first + t - 1) / 256;
    i64 k_to = s > 0 ? (s - 1) / 256 : 0, low = diagonal > k_to ? diagonal - k_to : 0;
    i64 q_tile = q_from + low + GROUP() / pairs, k_tile = diagonal - (q_tile - q_from), stride = h * d;
    i64 p_from = q_tile * 256 > first ? q_tile * 256 : first, p_to = q_tile * 256 + 256 < first + t ? q_tile * 256 + 256 : first + t;
    i64 k_from = k_tile * 256, k_end = k_from + 256 < s ? k_from + 256 : s, row0 = batch * t - first;
    i32 careful = 0, blocks = (d + 31) / 32, queries = (i32)(p_to - p_from);
    i64 turned = pairs / h * ((s + 31) / 32) * g * d * 32, n = pairs * t;
    GLOBAL const T *key = work, *value = work + turned, *maximum = value + turned, *share = maximum + n, *delta = share + n;
    GLOBAL T *runs = work + 2 * turned + 3 * n;
    i32 one_run = q_from / 64 == q_to / 64 && k_to < 64;
    GLOBAL T *q_run = one_run ? dq : runs, *k_run = one_run ? dk : runs + n * d, *v_run = one_run ? dv : runs + (n + pairs * s) * d;
    i32 seen = k_from < keys && (k_from < prefix || (k_from < p_to + ahead && k_end + behind > p_from));
    i32 edge = q_tile == q_from || q_tile == q_to || k_tile == 0 || k_tile == k_to || (q_tile + 1) % 64 < 2 || (k_tile + 1) % 64 < 2;
    if (!seen && !edge) {
        return; // (nothing to add, and no sum begins or ends)
    }
    if (seen) {
        i64 at = ((row0 + p_from) * h + head) * d;
        NAME(sbi_call_rows)(q + at, queries, stride, d);
        NAME(sbi_call_rows)(dy + at, queries, stride, d);
        NAME(sbi_call_rows)(dq + at, queries, stride, d);
        NAME(sbi_call_rows)(k + ((batch * s + k_from) * g + head / (h / g)) * d, (i32)(k_end - k_from), g * d, d);
    }
    for (i32 i = 0; i < queries * blocks; i++) {
        PHASE(l, 32) { ATI(q_chunk, l, i) = (T)0; }
        LANE_END
    }
    PHASE(l, 32) { odd[l] = 0; }
    LANE_END
    for (i64 p = p_from; p < p_to && seen; p++) {
        for (i32 c = 0; c < d; c += 32) {
            GLOBAL const T *x = q + ((row0 + p) * h + head) * d + c, *z = dy + ((row0 + p) * h + head) * d + c;
            PHASE(l, sbi_lanes(d - c, 32)) { odd[l] |= !((x[l] - x[l]) + (z[l] - z[l]) == (T)0); }
            LANE_END
        }
    }
    for (i64 j = k_from; j < k_end && j < keys && seen; j++) {
        for (i32 c = 0; c < d; c += 32) {
            GLOBAL const T *x = k + ((batch * s + j) * g + head / (h / g)) * d + c;
            PHASE(l, sbi_lanes(d - c, 32)) { odd[l] |= !(x[l] - x[l] == (T)0); }
            LANE_END
        }
    }
    careful = sbi_begins_again(odd, 32, 0);
    for (i64 j0 = k_from; TOGETHER(j0 < k_end); j0 += 32) {
        i32 columns = (i32)(k_end - j0 < 32 ? k_end - j0 : 32), there = sbi_within(keys - j0, columns), some = 0;
        i64 begin = j0 >= prefix && j0 - ahead > p_from ? j0 - ahead : p_from; // the queries that see one of these keys
        i64 end = j0 >= prefix && j0 + 32 + behind < p_to ? j0 + 32 + behind : p_to;
        GLOBAL const T *key_rows = k + ((batch * s + j0) * g + head / (h / g)) * d;
        NAME(sbi_call_rows)(dk + ((batch * s + j0) * h + head) * d, columns, stride, d);
        NAME(sbi_call_rows)(dv + ((batch * s + j0) * h + head) * d, columns, stride, d);
        i64 strip = ((batch * ((s + 31) / 32) + j0 / 32) * g + head / (h / g)) * 32 * d;
        PHASE(l, 32) {
            AT(always, l) = j0 + l < prefix;
            shown[l] = l < there && sbi_shown(mask, batch * s + j0 + l);
        }
        PHASE_END
        for (i32 l = 0; l < 32; l++) {
            some |= shown[l];
        }
        for (i32 i = 0; i < 32 * blocks; i++) {
            PHASE(l, 32) {
                ATI(k_chunk, l, i) = (T)0;
                ATI(v_chunk, l, i) = (T)0;
            }
            LANE_END
        }
        i64 stop = 0;
        for (i64 p = begin; TOGETHER(p < end && some); p = stop) {
            stop = p / 64 * 64 + 64 < end ? p / 64 * 64 + 64 : end;
            i32 count = (i32)(stop - p), before = (i32)(p - p_from);
            i64 at = (row0 + p) * h + head; // of row p, in maximum, share and delta
#define DOTS_OUT weight
#define DOTS_LANES(l, c) key[strip + (c) * 32 + l]
#define DOTS_ROWS (q + at * d)
#define DOTS_STRIDE stride
#include "attention_dots.h"
#define DOTS_OUT change
#define DOTS_LANES(l, c) value[strip + (c) * 32 + l]
#define DOTS_ROWS (dy + at * d)
#define DOTS_STRIDE stride
#include "attention_dots.h"
            for (i32 i = 0; i < count; i++) {
                T best = maximum[at + i * h], part = share[at + i * h], mean = delta[at + i * h];
                i32 least = sbi_within(p + i - behind - j0, 32), limit = sbi_within(p + i + ahead + 1 - j0, 32);
                PHASE(l, 32) {
                    T x = (weight[i * 32 + l] + (T)0) * scale, e = NAME(sbi_exp)(x - best) * part;
                    i32 present = sbi_sees(shown[l], AT(always, l), l, least, limit) && x != SBI_NONE;
                    T ds = e * ((change[i * 32 + l] + (T)0) - mean) * scale;
                    weight[i * 32 + l] = present ? e : SBI_ABSENT;
                    change[i * 32 + l] = present ? ds : (T)0;
                }
                LANE_END
            }
            PHASE(l, 32) {} // everyone has P and dS of all lanes
            PHASE_END
#define ROWS_INTO v_chunk // P dO
#define ROWS_FIRST 0
#define ROWS_COUNT 32
#define ROWS_FACTOR weight
#define ROWS_ROW 1
#define ROWS_STEP 32
#define ROWS_FROM (dy + at * d)
#define ROWS_STRIDE stride
#define ROWS_STEPS count
#include "attention_rows.h"
#define ROWS_INTO k_chunk // dS q
#define ROWS_FIRST 0
#define ROWS_COUNT 32
#define ROWS_FACTOR change
#define ROWS_ROW 1
#define ROWS_STEP 32
#define ROWS_FROM (q + at * d)
#define ROWS_STRIDE stride
#define ROWS_STEPS count
#include "attention_rows.h"
#define ROWS_INTO q_chunk // dS k
#define ROWS_FIRST before
#define ROWS_COUNT count
#define ROWS_FACTOR change
#define ROWS_ROW 32
#define ROWS_STEP 1
#define ROWS_FROM key_rows
#define ROWS_STRIDE (g * d)
#define ROWS_STEPS there
#include "attention_rows.h"
            PHASE(l, 32) {} // everyone has read them
            PHASE_END
        }
#define FOLD_CHUNK k_chunk
#define FOLD_ROWS columns
#define FOLD_INDEX q_tile
#define FOLD_FROM q_from
#define FOLD_TO q_to
#define FOLD_TOTAL dk
#define FOLD_RUN k_run
#define FOLD_AT(u) (((batch * s + j0 + u) * h + head) * d)
#include "attention_fold.h"
#define FOLD_CHUNK v_chunk
#define FOLD_ROWS columns
#define FOLD_INDEX q_tile
#define FOLD_FROM q_from
#define FOLD_TO q_to
#define FOLD_TOTAL dv
#define FOLD_RUN v_run
#define FOLD_AT(u) (((batch * s + j0 + u) * h + head) * d)
#include "attention_fold.h"
    }
#define FOLD_CHUNK q_chunk
#define FOLD_ROWS queries
#define FOLD_INDEX k_tile
#define FOLD_FROM 0
#define FOLD_TO k_to
#define FOLD_TOTAL dq
#define FOLD_RUN q_run
#define FOLD_AT(u) (((row0 + p_from + u) * h + head) * d)
#include "attention_fold.h"
}

// The gradient of a row of keys or values: those of the `heads` that share it, added in ascending order. A group is a row.
KERNEL void NAME(k_attention_heads)(GLOBAL const T *RESTRICT from, GLOBAL T *RESTRICT to, i64 heads, i32 d GROUP_PARAM) {
    for (i32 c = 0; c < d; c += 256) {
        PHASE(l, sbi_lanes(d - c, 256)) {
            T x = (T)0; // (a gradient is never -0)
            for (i64 head = 0; head < heads; head++) {
                x = x + from[(GROUP() * heads + head) * d + c + l];
            }
            to[GROUP() * d + c + l] = NAME(sbi_canon)(x);
        }
        LANE_END
    }
}
