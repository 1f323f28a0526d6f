// SPDX-License-Identifier: Apache-2.0
// Attention, forward and backward by recomputation (contract T6). q, y[b, t, h, d]; k, v[b, s, g, d].
//
// Forward. Query row i of head n has position first + i and reads group n / (h / g). Blocks of 128 key positions from
// 0. score = RN32(dot(q, k) * scale), the dot an fma chain over d (T3). A key is absent if masked (key >= keys, or
// key > position if causal) or its score is -inf. In a block with a present key: m = maximum; e = exp(RN32(score - m));
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
#include "function.h"

#define SBI_NONE FLOAT32(0xff800000u)   // -inf: the score of an absent key
#define SBI_ABSENT FLOAT32(0x80000000u) // -0: its weight

// 1 if x[0 .. d-1] are all finite.
FN i32 NAME(sbi_row_plain)(GLOBAL const T *RESTRICT x, i32 d) {
    i32 bad = 0;
    for (i32 c = 0; c < d; c++) {
        bad |= (BITS32(x[c]) & 0x7f800000u) == 0x7f800000u;
    }
    return !bad;
}

// A group is 32 query rows of a head of a batch. d <= 256.
KERNEL void NAME(k_attention)(GLOBAL const T *RESTRICT q, GLOBAL const T *RESTRICT k, GLOBAL const T *RESTRICT v,
                              GLOBAL T *RESTRICT y, GLOBAL T *RESTRICT maximum, GLOBAL f64 *RESTRICT total, i64 t, i64 h,
                              i32 d, i64 s, i64 g, i32 causal, i64 first, i64 keys, T scale GROUP_PARAM) {
    SHARED i32 plain[128];
    LANE_ARRAY(T, query, 32, 256);
    LANE_ARRAY(T, weight, 32, 128); // scores, then e
    LANE_ARRAY(T, sum, 32, 32);
    LANE_ARRAY(T, part, 32, 256); // o
    LANE_ARRAY(T, out, 32, 256);  // O
    LANE_VAR(i32, limit, 32);     // keys present in this block by position
    LANE_VAR(i32, turn, 32);      // 0: no present key, 1: the first block with one, 2: a later one
    LANE_VAR(T, top, 32);         // m
    LANE_VAR(T, best, 32);        // M
    LANE_VAR(T, keep, 32);        // a
    LANE_VAR(T, take, 32);        // b
    LANE_VAR(f64, mass, 32);      // L
    LANE_VAR(f64, inverse, 32);   // 1/L
    i64 tiles = (t + 31) / 32, pair = GROUP() / tiles, i0 = GROUP() % tiles * 32, batch = pair / h, head = pair % h;
    i32 rows = (i32)(t - i0 < 32 ? t - i0 : 32);
    i64 stride = g * d, last = causal && first + i0 + rows < keys ? first + i0 + rows : keys;
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
    for (i64 b0 = 0; b0 < last; b0 += 128) {
        i32 count = (i32)(last - b0 < 128 ? last - b0 : 128);
        GLOBAL const T *kb = key_rows + b0 * stride;
        GLOBAL const T *vb = value_rows + b0 * stride;
        PHASE(l, 32) {
            for (i32 j = l; j < count; j += 32) {
                plain[j] = NAME(sbi_row_plain)(vb + j * stride, d);
            }
            i64 seen = causal ? first + i0 + l + 1 - b0 : (i64)count;
            AT(limit, l) = seen < count ? (i32)seen : count;
            AT(top, l) = SBI_NONE;
        }
        PHASE_END
        for (i32 j = 0; j < 128; j++) {
            PHASE(l, 32) { ATI(weight, l, j) = (T)0; }
            LANE_END
        }
        for (i32 j0 = 0; j0 < count; j0 += 16) { // dots: four keys by four channels a phase
            i32 j1 = j0 + 16 < count ? j0 + 16 : count, c = 0;
            for (; c + 4 <= d; c += 4) {
                i32 j = j0;
                for (; j + 4 <= j1; j += 4) {
                    GLOBAL const T *x = kb + j * stride + c;
                    PHASE(l, 32) {
                        T q0 = ATI(query, l, c), q1 = ATI(query, l, c + 1);
                        T q2 = ATI(query, l, c + 2), q3 = ATI(query, l, c + 3);
                        UNROLL for (i32 u = 0; u < 4; u++) {
                            T r = ATI(weight, l, j + u);
                            r = FMA(x[u * stride], q0, r);
                            r = FMA(x[u * stride + 1], q1, r);
                            r = FMA(x[u * stride + 2], q2, r);
                            r = FMA(x[u * stride + 3], q3, r);
                            ATI(weight, l, j + u) = r;
                        }
                    }
                    LANE_END
                }
                for (; j < j1; j++) {
                    GLOBAL const T *x = kb + j * stride + c;
                    PHASE(l, 32) {
                        T r = ATI(weight, l, j);
                        r = FMA(x[0], ATI(query, l, c), r);
                        r = FMA(x[1], ATI(query, l, c + 1), r);
                        r = FMA(x[2], ATI(query, l, c + 2), r);
                        r = FMA(x[3], ATI(query, l, c + 3), r);
                        ATI(weight, l, j) = r;
                    }
                    LANE_END
                }
            }
            for (; c < d; c++) {
                for (i32 j = j0; j < j1; j++) {
                    PHASE(l, 32) { ATI(weight, l, j) = FMA(kb[j * stride + c], ATI(query, l, c), ATI(weight, l, j)); }
                    LANE_END
                }
            }
        }
        for (i32 j = 0; j < count; j++) {
            PHASE(l, 32) {
                T x = (ATI(weight, l, j) + (T)0) * scale;
                x = j < AT(limit, l) ? x : SBI_NONE;
                AT(top, l) = sbi_max_f32(AT(top, l), x);
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
                T x = ATI(weight, l, j), e = sbi_exp_f32(x - AT(top, l));
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
        for (i32 j = 0; j < count; j += 4) { // e v: four keys by four channels a phase
            GLOBAL const T *x = vb + j * stride;
            i32 c = 0, four = j + 4 <= count && plain[j] && plain[j + 1] && plain[j + 2] && plain[j + 3];
            for (; four && c + 4 <= d; c += 4) {
                PHASE(l, 32) {
                    T e0 = ATI(weight, l, j), e1 = ATI(weight, l, j + 1);
                    T e2 = ATI(weight, l, j + 2), e3 = ATI(weight, l, j + 3);
                    UNROLL for (i32 u = 0; u < 4; u++) {
                        T r = ATI(part, l, c + u);
                        r = FMA(e0, x[c + u], r);
                        r = FMA(e1, x[stride + c + u], r);
                        r = FMA(e2, x[2 * stride + c + u], r);
                        r = FMA(e3, x[3 * stride + c + u], r);
                        ATI(part, l, c + u) = r;
                    }
                }
                LANE_END
            }
            for (i32 i = j; i < j + 4 && i < count; i++, x += stride) {
                for (i32 n = c; n < d; n++) {
                    PHASE(l, 32) {
                        T e = ATI(weight, l, i), r = ATI(part, l, n), next = FMA(e, x[n], r);
                        ATI(part, l, n) = BITS32(e) == 0x80000000u ? r : next;
                    }
                    LANE_END
                }
            }
        }
        PHASE(l, 32) {
            T m = AT(top, l), old = AT(best, l), next = sbi_max_f32(old, m), mine = ATI(sum, l, 0) + (T)0;
            i32 state = m == SBI_NONE ? 0 : old == SBI_NONE ? 1 : 2;
            T a = sbi_exp_f32(old - next), b = sbi_exp_f32(m - next);
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
                T o = ATI(part, l, c) + (T)0, old = ATI(out, l, c), both = FMA(old, AT(keep, l), o * AT(take, l));
                ATI(out, l, c) = AT(turn, l) == 0 ? old : AT(turn, l) == 1 ? o : both;
            }
            LANE_END
        }
        PHASE(l, 32) {} // everyone has read `plain`
        PHASE_END
    }
    PHASE(l, 32) { AT(inverse, l) = K(1.0) / AT(mass, l); }
    LANE_END
    for (i32 c = 0; c < d; c++) {
        PHASE(l, 32) {
            T x = sbi_canon_f32((T)((f64)ATI(out, l, c) * AT(inverse, l)));
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
    LANE_VAR(f64, acc, 32);
    GLOBAL const T *y_row = y + GROUP() * d;
    GLOBAL const T *dy_row = dy + GROUP() * d;
    i32 whole = d - d % 32;
    PHASE(l, 32) { AT(acc, l) = K(0.0); }
    LANE_END
    for (i32 c = 0; c < whole; c += 32) {
        PHASE(l, 32) { AT(acc, l) = AT(acc, l) + (f64)dy_row[c + l] * (f64)y_row[c + l]; }
        LANE_END
    }
    PHASE(l, d - whole) { AT(acc, l) = AT(acc, l) + (f64)dy_row[whole + l] * (f64)y_row[whole + l]; }
    LANE_END
    PHASE(l, 32) { part[l] = AT(acc, l); }
    PHASE_END
    for (i32 w = 16; w > 0; w /= 2) {
        PHASE(l, w) { part[l] = part[l] + part[l + w]; }
        PHASE_END
    }
    PHASE(l, 1) {
        share[GROUP()] = (T)(K(1.0) / total[GROUP()]);
        delta[GROUP()] = (T)(part[0] + K(0.0));
    }
    PHASE_END
}

// dQ: a group is 32 query rows of a head of a batch, as in k_attention.
KERNEL void NAME(k_attention_dq)(GLOBAL const T *RESTRICT q, GLOBAL const T *RESTRICT k, GLOBAL const T *RESTRICT v,
                                 GLOBAL const T *RESTRICT dy, GLOBAL const T *RESTRICT maximum,
                                 GLOBAL const T *RESTRICT share, GLOBAL const T *RESTRICT delta, GLOBAL T *RESTRICT dq, i64 t,
                                 i64 h, i32 d, i64 s, i64 g, i32 causal, i64 first, i64 keys, T scale GROUP_PARAM) {
    SHARED i32 plain[128];
    LANE_ARRAY(T, query, 32, 256);
    LANE_ARRAY(T, slope, 32, 256);  // dO
    LANE_ARRAY(T, weight, 32, 128); // scores, then P
    LANE_ARRAY(T, change, 32, 128); // dP, then dS
    LANE_ARRAY(T, chunk, 32, 256);
    LANE_ARRAY(T, run, 32, 256);
    LANE_ARRAY(T, sum, 32, 256);
    LANE_VAR(i32, limit, 32);
    LANE_VAR(T, best, 32);
    LANE_VAR(T, part, 32);
    LANE_VAR(T, mean, 32);
    i64 tiles = (t + 31) / 32, pair = GROUP() / tiles, i0 = GROUP() % tiles * 32, batch = pair / h, head = pair % h;
    i32 rows = (i32)(t - i0 < 32 ? t - i0 : 32);
    i64 stride = g * d, last = causal && first + i0 + rows < keys ? first + i0 + rows : keys;
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
    for (i64 b0 = 0; b0 < last; b0 += 128) {
        i32 count = (i32)(last - b0 < 128 ? last - b0 : 128);
        GLOBAL const T *kb = key_rows + b0 * stride;
        GLOBAL const T *vb = value_rows + b0 * stride;
        PHASE(l, 32) {
            for (i32 j = l; j < count; j += 32) {
                plain[j] = NAME(sbi_row_plain)(kb + j * stride, d);
            }
            i64 seen = causal ? first + i0 + l + 1 - b0 : (i64)count;
            AT(limit, l) = seen < count ? (i32)seen : count;
        }
        PHASE_END
        for (i32 j = 0; j < 128; j++) {
            PHASE(l, 32) {
                ATI(weight, l, j) = (T)0;
                ATI(change, l, j) = (T)0;
            }
            LANE_END
        }
        for (i32 j0 = 0; j0 < count; j0 += 8) { // both dots: two keys by four channels a phase
            i32 j1 = j0 + 8 < count ? j0 + 8 : count, c = 0;
            for (; c + 4 <= d; c += 4) {
                i32 j = j0;
                for (; j + 2 <= j1; j += 2) {
                    GLOBAL const T *x = kb + j * stride + c;
                    GLOBAL const T *z = vb + j * stride + c;
                    PHASE(l, 32) {
                        T q0 = ATI(query, l, c), q1 = ATI(query, l, c + 1);
                        T q2 = ATI(query, l, c + 2), q3 = ATI(query, l, c + 3);
                        T p0 = ATI(slope, l, c), p1 = ATI(slope, l, c + 1);
                        T p2 = ATI(slope, l, c + 2), p3 = ATI(slope, l, c + 3);
                        UNROLL for (i32 u = 0; u < 2; u++) {
                            T r = ATI(weight, l, j + u), e = ATI(change, l, j + u);
                            r = FMA(x[u * stride], q0, r);
                            r = FMA(x[u * stride + 1], q1, r);
                            r = FMA(x[u * stride + 2], q2, r);
                            r = FMA(x[u * stride + 3], q3, r);
                            e = FMA(z[u * stride], p0, e);
                            e = FMA(z[u * stride + 1], p1, e);
                            e = FMA(z[u * stride + 2], p2, e);
                            e = FMA(z[u * stride + 3], p3, e);
                            ATI(weight, l, j + u) = r;
                            ATI(change, l, j + u) = e;
                        }
                    }
                    LANE_END
                }
                for (; j < j1; j++) {
                    for (i32 n = c; n < c + 4; n++) {
                        PHASE(l, 32) {
                            ATI(weight, l, j) = FMA(kb[j * stride + n], ATI(query, l, n), ATI(weight, l, j));
                            ATI(change, l, j) = FMA(vb[j * stride + n], ATI(slope, l, n), ATI(change, l, j));
                        }
                        LANE_END
                    }
                }
            }
            for (; c < d; c++) {
                for (i32 j = j0; j < j1; j++) {
                    PHASE(l, 32) {
                        ATI(weight, l, j) = FMA(kb[j * stride + c], ATI(query, l, c), ATI(weight, l, j));
                        ATI(change, l, j) = FMA(vb[j * stride + c], ATI(slope, l, c), ATI(change, l, j));
                    }
                    LANE_END
                }
            }
        }
        for (i32 j = 0; j < count; j++) {
            PHASE(l, 32) {
                T x = (ATI(weight, l, j) + (T)0) * scale, p = sbi_exp_f32(x - AT(best, l)) * AT(part, l);
                i32 there = j < AT(limit, l) && x != SBI_NONE;
                T ds = p * ((ATI(change, l, j) + (T)0) - AT(mean, l)) * scale;
                ATI(weight, l, j) = there ? p : SBI_ABSENT;
                ATI(change, l, j) = there ? ds : (T)0;
            }
            LANE_END
        }
        for (i32 j = 0; j < count; j += 4) { // dS k: four keys by four channels a phase
            GLOBAL const T *x = kb + j * stride;
            i32 c = 0, four = j + 4 <= count && plain[j] && plain[j + 1] && plain[j + 2] && plain[j + 3];
            for (; four && c + 4 <= d; c += 4) {
                PHASE(l, 32) {
                    T e0 = ATI(change, l, j), e1 = ATI(change, l, j + 1);
                    T e2 = ATI(change, l, j + 2), e3 = ATI(change, l, j + 3);
                    UNROLL for (i32 u = 0; u < 4; u++) {
                        T r = ATI(chunk, l, c + u);
                        r = FMA(e0, x[c + u], r);
                        r = FMA(e1, x[stride + c + u], r);
                        r = FMA(e2, x[2 * stride + c + u], r);
                        r = FMA(e3, x[3 * stride + c + u], r);
                        ATI(chunk, l, c + u) = r;
                    }
                }
                LANE_END
            }
            for (i32 i = j; i < j + 4 && i < count; i++, x += stride) {
                for (i32 n = c; n < d; n++) {
                    PHASE(l, 32) {
                        T r = ATI(chunk, l, n), next = FMA(ATI(change, l, i), x[n], r);
                        ATI(chunk, l, n) = BITS32(ATI(weight, l, i)) == 0x80000000u ? r : next;
                    }
                    LANE_END
                }
            }
        }
        if ((b0 + 128) % 256 == 0 || b0 + 128 >= last) {
            i32 full = (b0 + 128) % 16384 == 0;
            for (i32 c = 0; c < d; c++) {
                PHASE(l, 32) {
                    T r = ATI(run, l, c) + ATI(chunk, l, c);
                    ATI(chunk, l, c) = (T)0;
                    ATI(sum, l, c) = full ? ATI(sum, l, c) + r : ATI(sum, l, c);
                    ATI(run, l, c) = full ? (T)0 : r;
                }
                LANE_END
            }
        }
        PHASE(l, 32) {} // everyone has read `plain`
        PHASE_END
    }
    for (i32 c = 0; c < d; c++) {
        PHASE(l, 32) { ATI(sum, l, c) = sbi_canon_f32(ATI(sum, l, c) + ATI(run, l, c)); }
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
                                  GLOBAL const T *RESTRICT dy, GLOBAL const T *RESTRICT maximum,
                                  GLOBAL const T *RESTRICT share, GLOBAL const T *RESTRICT delta, GLOBAL T *RESTRICT dk,
                                  GLOBAL T *RESTRICT dv, i64 t, i64 h, i32 d, i64 s, i64 g, i32 causal, i64 first, i64 keys,
                                  T scale GROUP_PARAM) {
    SHARED i32 plain[64];
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
    i64 begin = causal && j0 > first ? j0 : first, end = first + t;
    PHASE(l, 32) { // (lanes without a key repeat the first)
        i64 from = (row0 + (l < there ? l : 0) * g) * d;
        for (i32 c = 0; c < d; c++) {
            ATI(key, l, c) = k[from + c];
            ATI(value, l, c) = v[from + c];
        }
    }
    LANE_END
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
        for (i64 p0 = begin; p0 < end && there > 0; p0 = stop) {
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
            for (i32 i = 0; i < 64; i++) {
                PHASE(l, 32) {
                    ATI(weight, l, i) = (T)0;
                    ATI(change, l, i) = (T)0;
                }
                LANE_END
            }
            for (i32 i0 = 0; i0 < count; i0 += 8) { // both dots: two rows by four channels a phase
                i32 i1 = i0 + 8 < count ? i0 + 8 : count, c = 0;
                for (; c + 4 <= d; c += 4) {
                    i32 i = i0;
                    for (; i + 2 <= i1; i += 2) {
                        GLOBAL const T *x = qb + i * stride + c;
                        GLOBAL const T *z = pb + i * stride + c;
                        PHASE(l, 32) {
                            T a0 = ATI(key, l, c), a1 = ATI(key, l, c + 1), a2 = ATI(key, l, c + 2), a3 = ATI(key, l, c + 3);
                            T b0 = ATI(value, l, c), b1 = ATI(value, l, c + 1);
                            T b2 = ATI(value, l, c + 2), b3 = ATI(value, l, c + 3);
                            UNROLL for (i32 u = 0; u < 2; u++) {
                                T r = ATI(weight, l, i + u), e = ATI(change, l, i + u);
                                r = FMA(x[u * stride], a0, r);
                                r = FMA(x[u * stride + 1], a1, r);
                                r = FMA(x[u * stride + 2], a2, r);
                                r = FMA(x[u * stride + 3], a3, r);
                                e = FMA(z[u * stride], b0, e);
                                e = FMA(z[u * stride + 1], b1, e);
                                e = FMA(z[u * stride + 2], b2, e);
                                e = FMA(z[u * stride + 3], b3, e);
                                ATI(weight, l, i + u) = r;
                                ATI(change, l, i + u) = e;
                            }
                        }
                        LANE_END
                    }
                    for (; i < i1; i++) {
                        for (i32 n = c; n < c + 4; n++) {
                            PHASE(l, 32) {
                                ATI(weight, l, i) = FMA(qb[i * stride + n], ATI(key, l, n), ATI(weight, l, i));
                                ATI(change, l, i) = FMA(pb[i * stride + n], ATI(value, l, n), ATI(change, l, i));
                            }
                            LANE_END
                        }
                    }
                }
                for (; c < d; c++) {
                    for (i32 i = i0; i < i1; i++) {
                        PHASE(l, 32) {
                            ATI(weight, l, i) = FMA(qb[i * stride + c], ATI(key, l, c), ATI(weight, l, i));
                            ATI(change, l, i) = FMA(pb[i * stride + c], ATI(value, l, c), ATI(change, l, i));
                        }
                        LANE_END
                    }
                }
            }
            for (i32 i = 0; i < count; i++) {
                T best = maximum[at + i * h], part = share[at + i * h], mean = delta[at + i * h];
                i64 seen = causal ? p0 + i + 1 - j0 : (i64)there;
                i32 limit = seen < there ? (i32)seen : there;
                PHASE(l, 32) {
                    T x = (ATI(weight, l, i) + (T)0) * scale, p = sbi_exp_f32(x - best) * part;
                    i32 present = l < limit && x != SBI_NONE;
                    T ds = p * ((ATI(change, l, i) + (T)0) - mean) * scale;
                    ATI(weight, l, i) = present ? p : SBI_ABSENT;
                    ATI(change, l, i) = present ? ds : (T)0;
                }
                LANE_END
            }
            for (i32 i = 0; i < count; i += 4) { // P dO and dS q: four rows by two channels a phase
                GLOBAL const T *x = qb + i * stride;
                GLOBAL const T *z = pb + i * stride;
                i32 c = 0, four = i + 4 <= count && plain[i] && plain[i + 1] && plain[i + 2] && plain[i + 3];
                for (; four && c + 2 <= d; c += 2) {
                    PHASE(l, 32) {
                        T w0 = ATI(weight, l, i), w1 = ATI(weight, l, i + 1);
                        T w2 = ATI(weight, l, i + 2), w3 = ATI(weight, l, i + 3);
                        T e0 = ATI(change, l, i), e1 = ATI(change, l, i + 1);
                        T e2 = ATI(change, l, i + 2), e3 = ATI(change, l, i + 3);
                        UNROLL for (i32 u = 0; u < 2; u++) {
                            T r = ATI(k_chunk, l, c + u), w = ATI(v_chunk, l, c + u);
                            r = FMA(e0, x[c + u], r);
                            r = FMA(e1, x[stride + c + u], r);
                            r = FMA(e2, x[2 * stride + c + u], r);
                            r = FMA(e3, x[3 * stride + c + u], r);
                            w = FMA(w0, z[c + u], w);
                            w = FMA(w1, z[stride + c + u], w);
                            w = FMA(w2, z[2 * stride + c + u], w);
                            w = FMA(w3, z[3 * stride + c + u], w);
                            ATI(k_chunk, l, c + u) = r;
                            ATI(v_chunk, l, c + u) = w;
                        }
                    }
                    LANE_END
                }
                for (i32 o = i; o < i + 4 && o < count; o++, x += stride, z += stride) {
                    for (i32 n = c; n < d; n++) {
                        PHASE(l, 32) {
                            T r = ATI(k_chunk, l, n), w = ATI(v_chunk, l, n), p = ATI(weight, l, o);
                            T next = FMA(ATI(change, l, o), x[n], r), also = FMA(p, z[n], w);
                            ATI(k_chunk, l, n) = BITS32(p) == 0x80000000u ? r : next;
                            ATI(v_chunk, l, n) = BITS32(p) == 0x80000000u ? w : also;
                        }
                        LANE_END
                    }
                }
            }
            if (stop % 256 == 0 || stop == end) {
                i32 full = stop % 16384 == 0;
                for (i32 c = 0; c < d; c++) {
                    PHASE(l, 32) {
                        T r = ATI(k_run, l, c) + ATI(k_chunk, l, c), w = ATI(v_run, l, c) + ATI(v_chunk, l, c);
                        ATI(k_chunk, l, c) = (T)0;
                        ATI(v_chunk, l, c) = (T)0;
                        ATI(k_sum, l, c) = full ? ATI(k_sum, l, c) + r : ATI(k_sum, l, c);
                        ATI(v_sum, l, c) = full ? ATI(v_sum, l, c) + w : ATI(v_sum, l, c);
                        ATI(k_run, l, c) = full ? (T)0 : r;
                        ATI(v_run, l, c) = full ? (T)0 : w;
                    }
                    LANE_END
                }
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
            ATI(k_total, l, c) = sbi_canon_f32(ATI(k_total, l, c));
            ATI(v_total, l, c) = sbi_canon_f32(ATI(v_total, l, c));
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
