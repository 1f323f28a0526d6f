// SPDX-License-Identifier: Apache-2.0
// Attention where many lanes run at once, forward and backward: the arithmetic of attention.cl, and its order. All of it is
// products of tiles, whose chains lanes keep in registers (tile_chains.h), and between them exponentials. A lane takes the same
// places of the same outputs each time, so that those may stand in memory in between.
//
// What may not be finite is seen at the end, in what comes out: then the group begins again, `careful` of absent pairs.
#include "function64.h"
#include "sum.h"
#include "attention.h"
#define IN T
#define STAGE_NAME NAME(sbi_stage_head)
#include "stage.h"
#undef IN

#define SBI_OWN (256 / T_BITS)    // neighbouring rows of a lane's scores: 8 of float32, 4 of float64
#define SBI_STRIP (8 * SBI_OWN)    // rows of a group
#define SBI_PITCH (SBI_STRIP + 4)  // the distance of what is shared of one step and the next
#define SBI_SHARE (SBI_OWN / 2)   // rows of a lane's outputs, of which it has 8 neighbouring channels in each panel of 64
#define SBI_PANEL (8 * SBI_SHARE)
#define SBI_PARTS (512 / SBI_STRIP) // lanes that share four rows' exponentials
#define SBI_STEPS (1024 / T_BITS) // steps that are shared at a time

// Output i of lane l, of panels of 64 channels: its row in the strip, its channel.
FN i32 NAME(sbi_own_row)(i32 l, i32 i) { return l / 8 * SBI_SHARE + i % SBI_PANEL / 8; }
FN i32 NAME(sbi_own_channel)(i32 l, i32 i, i32 panels) { return i / SBI_PANEL % panels * 64 + l % 8 * 8 + i % 8; }

// A group is SBI_STRIP query rows of a head of a batch, as in k_attention.
KERNEL void NAME(k_attention_tile)(GLOBAL const T *RESTRICT q, GLOBAL const T *RESTRICT k, GLOBAL const T *RESTRICT v,
                                   GLOBAL const uint8_t *RESTRICT mask, GLOBAL T *RESTRICT y, GLOBAL T *RESTRICT maximum,
                                   GLOBAL f64 *RESTRICT total, i64 t, i64 h, i32 d, i64 s, i64 g, i64 first, i64 keys,
                                   i64 ahead, i64 behind, i64 prefix, T scale GROUP_PARAM) {
    SHARED T weight[128 * SBI_PITCH]; // of key j and row i at SBI_PITCH j + i: scores, then e. Before that: steps of q and k
    SHARED T other[68 * SBI_STEPS];   // maxima of the keys of a lane, sums by (position mod 32), and then steps of v
    SHARED i32 shown[128];
    SHARED i32 odd[128];              // of the lane's outputs one is not finite
    SHARED T top[SBI_STRIP];          // m
    SHARED i32 turn[SBI_STRIP];        // 0: no present key, 1: the first block with one, 2: a later one
    SHARED T keep[SBI_STRIP];          // a
    SHARED T take[SBI_STRIP];          // b
    SHARED f64 inverse[SBI_STRIP];     // 1/L
    LANE_VAR(T, best, SBI_STRIP);      // M, of row l
    LANE_VAR(f64, mass, SBI_STRIP);    // L
    LANE_LARGE(T, dots, 128, 8 * SBI_OWN);
    LANE_LARGE(T, part, 128, SBI_PANEL); // o
    i64 tiles = (t + SBI_STRIP - 1) / SBI_STRIP, pair = GROUP() / tiles, i0 = GROUP() % tiles * SBI_STRIP, batch = pair / h, head = pair % h;
    i32 rows = sbi_lanes(t - i0, SBI_STRIP);
    i64 stride = g * d, position = first + i0; // blocks of keys that some row sees: those of the prefix, start .. last - 1
    i64 start = position > behind ? (position - behind) / 128 * 128 : 0;
    i64 last = position + rows + ahead > prefix ? position + rows + ahead : prefix;
    last = last < keys ? last : keys;
    GLOBAL const T *key_rows = k + (batch * s * g + head / (h / g)) * d;
    GLOBAL const T *value_rows = v + (batch * s * g + head / (h / g)) * d;
    GLOBAL const T *query_rows = q + ((batch * t + i0) * h + head) * d;
    GLOBAL T *out_rows = y + ((batch * t + i0) * h + head) * d;
    for (i32 careful = 0, again = 1; TOGETHER(again); careful = 1) {
        PHASE(l, SBI_STRIP) {
            AT(best, l) = SBI_NONE;
            AT(mass, l) = K(0.0);
        }
        LANE_END
        for (i64 b0 = sbi_next_block(0, prefix, start); TOGETHER(b0 < last); b0 = sbi_next_block(b0 + 128, prefix, start)) {
            i32 count = sbi_within(last - b0, 128), some = !mask;
            PHASE(l, 128) {
                shown[l] = l < count && sbi_shown(mask, batch * s + b0 + l);
                for (i32 i = 0; i < 8 * SBI_OWN; i++) ATI(dots, l, i) = (T)0;
            }
            PHASE_END
            for (i32 j = 0; j < count && !some; j++) {
                some = shown[j];
            }
            if (!some) {
                continue; // (a block without a present key is absent)
            }
            for (i32 c = 0; TOGETHER(c < d); c += SBI_STEPS) {
                i32 depth = sbi_lanes(d - c, SBI_STEPS);
                PHASE(l, 128) {
                    NAME(sbi_stage_head)(query_rows + c, weight, h * d, 1, rows, depth, SBI_STRIP, SBI_STEPS, 128, l);
                    NAME(sbi_stage_head)(key_rows + b0 * stride + c, weight + SBI_PITCH * SBI_STEPS, stride, 1, count, depth, 128, SBI_STEPS, 128, l);
                }
                PHASE_END
                PHASE(l, 128) {
#define TILE_ROWS 8
#define TILE_COLUMNS SBI_OWN
#define TILE_OUT(i) ATI(dots, l, i)
#define TILE_X (weight + SBI_PITCH * SBI_STEPS + l / 8 * 8)
#define TILE_X_STEP 132
#define TILE_Y (weight + l % 8 * SBI_OWN)
#define TILE_Y_STEP SBI_PITCH
#define TILE_STEPS SBI_STEPS
#include "tile_chains.h"
                }
                PHASE_END
            }
            PHASE(l, 128) {
                LOCAL T *to = weight + l / 8 * 8 * SBI_PITCH + l % 8 * SBI_OWN;
                UNROLL_LANE for (i32 j = 0; j < 8; j++) {
                    UNROLL_LANE for (i32 i = 0; i < SBI_OWN; i++) to[j * SBI_PITCH + i] = ATI(dots, l, j * SBI_OWN + i);
                }
            }
            PHASE_END
            PHASE(l, 128) { // from here on a lane has four rows, and of each 32 those of some positions
                i32 four = l % (SBI_STRIP / 4) * 4, its = l / (SBI_STRIP / 4);
                T m[4];
                UNROLL_LANE for (i32 i = 0; i < 4; i++) m[i] = SBI_NONE;
                for (i32 j = its; j < 128; j += SBI_PARTS) {
                    i32 always = b0 + j < prefix, open = shown[j];
                    LOCAL T *at = weight + j * SBI_PITCH + four;
                    UNROLL_LANE for (i32 i = 0; i < 4; i++) {
                        i64 place = position + four + i - b0;
                        T x = (at[i] + (T)0) * scale;
                        x = sbi_sees(open, always, j, sbi_within(place - behind, 128), sbi_within(place + ahead + 1, count)) ? x : SBI_NONE;
                        m[i] = NAME(sbi_max)(m[i], x);
                        at[i] = x;
                    }
                }
                UNROLL_LANE for (i32 i = 0; i < 4; i++) other[its * SBI_STRIP + four + i] = m[i];
            }
            PHASE_END
            PHASE(l, SBI_STRIP) {
                T m = SBI_NONE;
                for (i32 p = 0; p < SBI_PARTS; p++) m = NAME(sbi_max)(m, other[p * SBI_STRIP + l]);
                top[l] = m;
            }
            PHASE_END
            PHASE(l, 128) {
                i32 four = l % (SBI_STRIP / 4) * 4, its = l / (SBI_STRIP / 4);
                for (i32 j0 = its; j0 < 32; j0 += SBI_PARTS) {
                    T sum[4];
                    UNROLL_LANE for (i32 i = 0; i < 4; i++) sum[i] = (T)0;
                    for (i32 j = j0; j < 128; j += 32) {
                        LOCAL T *at = weight + j * SBI_PITCH + four;
                        UNROLL_LANE for (i32 i = 0; i < 4; i++) {
                            T e = NAME(sbi_exp)(at[i] - top[four + i]);
                            e = at[i] == SBI_NONE ? SBI_ABSENT : e;
                            sum[i] = sum[i] + e;
                            at[i] = e;
                        }
                    }
                    UNROLL_LANE for (i32 i = 0; i < 4; i++) other[j0 * SBI_STRIP + four + i] = sum[i];
                }
            }
            PHASE_END
            PHASE(l, SBI_STRIP) {
                for (i32 w = 16; w > 0; w /= 2) {
                    for (i32 j = 0; j < w; j++) other[j * SBI_STRIP + l] = other[j * SBI_STRIP + l] + other[(j + w) * SBI_STRIP + l];
                }
                T m = top[l], old = AT(best, l), next = NAME(sbi_max)(old, m), mine = other[l] + (T)0;
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
            for (i32 c = 0; TOGETHER(c < d); c += 64) {
                PHASE(l, 128) {
                    for (i32 i = 0; i < SBI_PANEL; i++) ATI(part, l, i) = (T)0;
                }
                LANE_END
                for (i32 j0 = 0; TOGETHER(j0 < count); j0 += SBI_STEPS) {
                    PHASE(l, 128) {
                        NAME(sbi_stage_head)(value_rows + (b0 + j0) * stride + c, other, stride, 0, sbi_lanes(d - c, 64), sbi_lanes(count - j0, SBI_STEPS),
                                             64, SBI_STEPS, 128, l);
                    }
                    PHASE_END
                    PHASE(l, 128) {
#define TILE_ROWS SBI_SHARE
#define TILE_COLUMNS 8
#define TILE_OUT(i) ATI(part, l, i)
#define TILE_X (weight + j0 * SBI_PITCH + l / 8 * SBI_SHARE)
#define TILE_X_STEP SBI_PITCH
#define TILE_Y (other + l % 8 * 8)
#define TILE_Y_STEP 68
#define TILE_MARK (weight + j0 * SBI_PITCH + l / 8 * SBI_SHARE)
#define TILE_STEPS SBI_STEPS
#include "tile_chains.h"
                    }
                    PHASE_END
                }
                PHASE(l, 128) {
                    UNROLL_LANE for (i32 i = 0; i < SBI_SHARE; i++) {
                        i32 row = l / 8 * SBI_SHARE + i, state = row < rows ? turn[row] : 0;
                        GLOBAL T *to = out_rows + row * h * d + c + l % 8 * 8;
                        UNROLL_LANE for (i32 j = 0; j < 8; j++) {
                            if (state && c + l % 8 * 8 + j < d) {
                                T o = ATI(part, l, 8 * i + j) + (T)0;
                                to[j] = state == 1 ? o : NAME(FMA)(to[j], keep[row], o * take[row]);
                            }
                        }
                    }
                }
                LANE_END
            }
        }
        PHASE(l, 128) {} // everyone has read `turn`
        PHASE_END
        PHASE(l, SBI_STRIP) {
            turn[l] = AT(best, l) == SBI_NONE;
            inverse[l] = K(1.0) / AT(mass, l);
        }
        PHASE_END
        PHASE(l, 128) {
            odd[l] = 0;
            for (i32 i = 0; i < SBI_SHARE; i++) {
                i32 row = l / 8 * SBI_SHARE + i;
                for (i32 c = l % 8 * 8; c < d && row < rows; c += 64) {
                    GLOBAL T *to = out_rows + row * h * d + c;
                    for (i32 j = 0; j < 8 && c + j < d; j++) {
                        T o = turn[row] ? (T)0 : to[j];
                        odd[l] |= !(o - o == (T)0);
                        to[j] = turn[row] ? (T)0 : NAME(sbi_canon)((T)((f64)o * inverse[row]));
                    }
                }
            }
        }
        LANE_END
        again = sbi_begins_again(odd, 128, careful);
    }
    PHASE(l, rows) {
        i64 row = (batch * t + i0 + l) * h + head;
        if (maximum) {
            maximum[row] = AT(best, l);
        }
        if (total) {
            total[row] = sbi_canon_f64(AT(mass, l));
        }
    }
    LANE_END
}

// The backward of one side. The strip's rows are queries (their dQ into `to`, to_v is NULL) or keys (their dK into `to`, their dV into
// to_v, of each head: [b, s, h, d]); the other side's come in tiles of 64 positions, ascending. `work` holds of each row
// (b, t, h) M, RN32(RN64(1/L)) and D: [3, b, t, h]; pairs = b h. (Scores are made once a side: seven products where five
// would do, but groups that wait for none.) A group is a strip of a head of a batch.
KERNEL void NAME(k_attention_tile_backward)(GLOBAL const T *RESTRICT q, GLOBAL const T *RESTRICT k, GLOBAL const T *RESTRICT v,
                                            GLOBAL const uint8_t *RESTRICT mask, GLOBAL const T *RESTRICT dy, GLOBAL const T *RESTRICT work,
                                            GLOBAL T *RESTRICT to, GLOBAL T *RESTRICT to_v, i64 pairs, i64 t, i64 h, i32 d, i64 s, i64 g,
                                            i64 first, i64 keys, i64 ahead, i64 behind, i64 prefix, T scale GROUP_PARAM) {
    SHARED T weight[64 * SBI_PITCH]; // scores, then P: of the other side's row j and the strip's row i at SBI_PITCH j + i
    SHARED T change[64 * SBI_PITCH]; // dP, then dS
    SHARED T mine[SBI_STEPS / 2 * SBI_PITCH]; // steps of the strip, of the other side
    SHARED T other[SBI_STEPS / 2 * 68];
    SHARED T best[64]; // of the queries: M, 1/L, D
    SHARED T share[64];
    SHARED T mean[64];
    SHARED i32 open[64]; // rows that are there and not masked: of the strip, of the other side
    SHARED i32 shown[64];
    SHARED i32 odd[128]; // of the lane's outputs one is not finite
    LANE_LARGE(T, dots, 128, 4 * SBI_OWN);
    LANE_LARGE(T, chunk, 128, 8 * SBI_PANEL); // of `to`, four panels of 64 channels, and of to_v
    LANE_LARGE(T, run, 128, 8 * SBI_PANEL);
    i32 of_keys = to_v != 0, panels = (d + 63) / 64;
    i64 strips = ((of_keys ? s : t) + SBI_STRIP - 1) / SBI_STRIP, pair = GROUP() / strips, i0 = GROUP() % strips * SBI_STRIP;
    i64 batch = pair / h, head = pair % h, n = pairs * t, q_stride = h * d, k_stride = g * d;
    i32 rows = sbi_lanes((of_keys ? s : t) - i0, SBI_STRIP);
    i64 q_place = (batch * t * h + head) * d, k_place = (batch * s * g + head / (h / g)) * d;
    i64 to_place = ((batch * (of_keys ? s : t) + i0) * h + head) * d, place = of_keys ? i0 : first + i0;
    i64 start, last, always = of_keys ? 0 : prefix; // positions that some row sees: those before `always`, start .. last - 1
    if (of_keys) {
        start = i0 >= prefix && i0 - ahead > first ? i0 - ahead : first;
        last = i0 >= prefix && i0 + rows + behind < first + t ? i0 + rows + behind : first + t;
        last = i0 < keys ? last : start;
    } else {
        start = place > behind ? place - behind : 0;
        last = place + rows + ahead > prefix ? place + rows + ahead : prefix;
        last = last < keys ? last : keys;
    }
    for (i32 careful = 0, again = 1; TOGETHER(again); careful = 1) {
        PHASE(l, 128) {
            odd[l] = 0;
            for (i32 i = 0; i < (panels << of_keys) * SBI_PANEL; i++) {
                i32 row = NAME(sbi_own_row)(l, i), channel = NAME(sbi_own_channel)(l, i, panels);
                GLOBAL T *at = (i < panels * SBI_PANEL ? to : to_v) + to_place + row * q_stride + channel;
                ATI(chunk, l, i) = (T)0;
                ATI(run, l, i) = (T)0;
                if (row < rows && channel < d) {
                    *at = (T)0;
                }
            }
        }
        LANE_END
        i64 next = 0;
        for (i64 b0 = sbi_next_block(of_keys ? first : 0, always, start); TOGETHER(b0 < last); b0 = next) {
            i64 stop = b0 / 64 * 64 + 64 < last ? b0 / 64 * 64 + 64 : last, query = of_keys ? b0 - first : i0, key = of_keys ? i0 : b0;
            i32 count = (i32)(stop - b0), queries = of_keys ? count : rows;
            next = sbi_next_block(stop, always, start);
            PHASE(l, 64) {
                i32 is_query = l < (of_keys ? count : rows), is_key = l < (of_keys ? rows : count) && key + l < keys && sbi_shown(mask, batch * s + key + l);
                GLOBAL const T *values = work + (batch * t + query + l) * h + head;
                open[l] = of_keys ? is_key : is_query;
                shown[l] = of_keys ? is_query : is_key;
                best[l] = l < queries ? values[0] : (T)0;
                share[l] = l < queries ? values[n] : (T)0;
                mean[l] = l < queries ? values[2 * n] : (T)0;
            }
            PHASE_END
            for (i32 which = 0; TOGETHER(which < 2); which++) { // q k, dO v
                GLOBAL const T *query_rows = (which ? dy : q) + q_place + query * q_stride, *key_rows = (which ? v : k) + k_place + key * k_stride;
                PHASE(l, 128) {
                    for (i32 i = 0; i < 4 * SBI_OWN; i++) ATI(dots, l, i) = (T)0;
                }
                LANE_END
                for (i32 c = 0; TOGETHER(c < d); c += SBI_STEPS / 2) {
                    i32 depth = sbi_lanes(d - c, SBI_STEPS / 2);
                    PHASE(l, 128) {
                        NAME(sbi_stage_head)((of_keys ? key_rows : query_rows) + c, mine, of_keys ? k_stride : q_stride, 1, rows, depth, SBI_STRIP,
                                             SBI_STEPS / 2, 128, l);
                        NAME(sbi_stage_head)((of_keys ? query_rows : key_rows) + c, other, of_keys ? q_stride : k_stride, 1, count, depth, 64,
                                             SBI_STEPS / 2, 128, l);
                    }
                    PHASE_END
                    PHASE(l, 128) {
#define TILE_ROWS 4
#define TILE_COLUMNS SBI_OWN
#define TILE_OUT(i) ATI(dots, l, i)
#define TILE_X (other + l / 8 * 4)
#define TILE_X_STEP 68
#define TILE_Y (mine + l % 8 * SBI_OWN)
#define TILE_Y_STEP SBI_PITCH
#define TILE_STEPS (SBI_STEPS / 2)
#include "tile_chains.h"
                    }
                    PHASE_END
                }
                PHASE(l, 128) {
                    LOCAL T *at = (which ? change : weight) + l / 8 * 4 * SBI_PITCH + l % 8 * SBI_OWN;
                    UNROLL_LANE for (i32 j = 0; j < 4; j++) {
                        UNROLL_LANE for (i32 i = 0; i < SBI_OWN; i++) at[j * SBI_PITCH + i] = ATI(dots, l, j * SBI_OWN + i);
                    }
                }
                LANE_END
            }
            PHASE(l, 128) {} // everyone has the scores and dP of all lanes
            PHASE_END
            PHASE(l, 128) {
                i32 four = l % (SBI_STRIP / 4) * 4;
                i32 least = sbi_within(first + query - key - behind + 64, 128) - 64, limit = sbi_within(first + query - key + ahead + 65, 128) - 64;
                for (i32 j = l / (SBI_STRIP / 4); j < 64; j += SBI_PARTS) {
                    LOCAL T *w = weight + j * SBI_PITCH + four, *u = change + j * SBI_PITCH + four;
                    UNROLL_LANE for (i32 i = 0; i < 4; i++) {
                        i32 row = of_keys ? j : four + i, column = of_keys ? four + i : j; // of the query, of the key
                        T x = (w[i] + (T)0) * scale, e = NAME(sbi_exp)(x - best[row]) * share[row];
                        i32 present = sbi_sees(open[four + i] & shown[j], key + column < prefix, column - row, least, limit) && x != SBI_NONE;
                        T ds = e * ((u[i] + (T)0) - mean[row]) * scale;
                        w[i] = present ? e : SBI_ABSENT;
                        u[i] = present ? ds : (T)0;
                    }
                }
            }
            PHASE_END
            for (i32 panel = 0; TOGETHER(panel < panels << of_keys); panel++) { // dS k or dS q, P dO
                i32 of_v = panel >= panels, c = panel % panels * 64;
                GLOBAL const T *from = !of_keys ? k + k_place + key * k_stride : (of_v ? dy : q) + q_place + query * q_stride;
                for (i32 j0 = 0; TOGETHER(j0 < count); j0 += SBI_STEPS / 2) {
                    i64 stride = of_keys ? q_stride : k_stride;
                    PHASE(l, 128) {
                        NAME(sbi_stage_head)(from + j0 * stride + c, other, stride, 0, sbi_lanes(d - c, 64), sbi_lanes(count - j0, SBI_STEPS / 2),
                                             64, SBI_STEPS / 2, 128, l);
                    }
                    PHASE_END
                    PHASE(l, 128) {
#define TILE_ROWS SBI_SHARE
#define TILE_COLUMNS 8
#define TILE_OUT(i) ATI(chunk, l, panel * SBI_PANEL + i)
#define TILE_X ((of_v ? weight : change) + j0 * SBI_PITCH + l / 8 * SBI_SHARE)
#define TILE_X_STEP SBI_PITCH
#define TILE_Y (other + l % 8 * 8)
#define TILE_Y_STEP 68
#define TILE_MARK (weight + j0 * SBI_PITCH + l / 8 * SBI_SHARE)
#define TILE_STEPS (SBI_STEPS / 2)
#include "tile_chains.h"
                    }
                    PHASE_END
                }
            }
            if (next >= last || next / 256 != b0 / 256) {
                i32 full = next >= last || next / 16384 != b0 / 16384; // (a run of 64 chunks)
                PHASE(l, 128) {
                    for (i32 i = 0; i < (panels << of_keys) * SBI_PANEL; i++) {
                        i32 row = NAME(sbi_own_row)(l, i), channel = NAME(sbi_own_channel)(l, i, panels);
                        GLOBAL T *at = (i < panels * SBI_PANEL ? to : to_v) + to_place + row * q_stride + channel;
                        T r = ATI(run, l, i) + ATI(chunk, l, i);
                        ATI(chunk, l, i) = (T)0;
                        ATI(run, l, i) = full ? (T)0 : r;
                        if (full && row < rows && channel < d) {
                            *at = NAME(sbi_canon)(*at + r);
                            odd[l] |= !(r - r == (T)0);
                        }
                    }
                }
                LANE_END
            }
        }
        again = sbi_begins_again(odd, 128, careful);
    }
}

#undef SBI_OWN
#undef SBI_STRIP
#undef SBI_PITCH
#undef SBI_SHARE
#undef SBI_PANEL
#undef SBI_PARTS
#undef SBI_STEPS
