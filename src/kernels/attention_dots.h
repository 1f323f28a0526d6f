// SPDX-License-Identifier: Apache-2.0
// A template for the body of a kernel: both dots of attention's gradient, of the row of each lane with each of `count`
// rows of the other operand: weight(l, j) = dot(DOTS_A(l), row j of DOTS_X), change(l, j) = dot(DOTS_B(l), row j of
// DOTS_Z), fma chains over the d channels from +0 (T3). Define, then include:
//   DOTS_MOST        the length of weight and change; what lies beyond count is made +0
//   DOTS_A, DOTS_B   arrays of lanes, by channel
//   DOTS_X, DOTS_Z   pointers to rows, `stride` apart
for (i32 j = 0; j < DOTS_MOST; j++) {
    PHASE(l, 32) {
        ATI(weight, l, j) = (T)0;
        ATI(change, l, j) = (T)0;
    }
    LANE_END
}
for (i32 low = 0; low < count; low += 8) { // two rows by four channels a phase
    i32 high = low + 8 < count ? low + 8 : count, c = 0;
    for (; c + 4 <= d; c += 4) {
        i32 j = low;
        for (; j + 2 <= high; j += 2) {
            GLOBAL const T *x = DOTS_X + j * stride + c;
            GLOBAL const T *z = DOTS_Z + j * stride + c;
            PHASE(l, 32) {
                T a0 = ATI(DOTS_A, l, c), a1 = ATI(DOTS_A, l, c + 1);
                T a2 = ATI(DOTS_A, l, c + 2), a3 = ATI(DOTS_A, l, c + 3);
                T y0 = ATI(DOTS_B, l, c), y1 = ATI(DOTS_B, l, c + 1);
                T y2 = ATI(DOTS_B, l, c + 2), y3 = ATI(DOTS_B, l, c + 3);
                UNROLL for (i32 u = 0; u < 2; u++) {
                    T r = ATI(weight, l, j + u), e = ATI(change, l, j + u);
                    r = NAME(FMA)(x[u * stride], a0, r);
                    r = NAME(FMA)(x[u * stride + 1], a1, r);
                    r = NAME(FMA)(x[u * stride + 2], a2, r);
                    r = NAME(FMA)(x[u * stride + 3], a3, r);
                    e = NAME(FMA)(z[u * stride], y0, e);
                    e = NAME(FMA)(z[u * stride + 1], y1, e);
                    e = NAME(FMA)(z[u * stride + 2], y2, e);
                    e = NAME(FMA)(z[u * stride + 3], y3, e);
                    ATI(weight, l, j + u) = r;
                    ATI(change, l, j + u) = e;
                }
            }
            LANE_END
        }
        for (; j < high; j++) {
            for (i32 n = c; n < c + 4; n++) {
                PHASE(l, 32) {
                    ATI(weight, l, j) = NAME(FMA)(DOTS_X[j * stride + n], ATI(DOTS_A, l, n), ATI(weight, l, j));
                    ATI(change, l, j) = NAME(FMA)(DOTS_Z[j * stride + n], ATI(DOTS_B, l, n), ATI(change, l, j));
                }
                LANE_END
            }
        }
    }
    for (; c < d; c++) {
        for (i32 j = low; j < high; j++) {
            PHASE(l, 32) {
                ATI(weight, l, j) = NAME(FMA)(DOTS_X[j * stride + c], ATI(DOTS_A, l, c), ATI(weight, l, j));
                ATI(change, l, j) = NAME(FMA)(DOTS_Z[j * stride + c], ATI(DOTS_B, l, c), ATI(change, l, j));
            }
            LANE_END
        }
    }
}
#undef DOTS_MOST
#undef DOTS_A
#undef DOTS_B
#undef DOTS_X
#undef DOTS_Z
