// SPDX-License-Identifier: Apache-2.0
// Stable sorting of rows (contract T1): NaN last in either direction, -0 = +0, equal ones in the order they stand in.
//
#define SORT_INFINITY_f32 FLOAT32(0x7f800000u)
#define SORT_INFINITY_f64 FLOAT64((u64)0x7ff00000u << 32)

// Every element becomes an unsigned 64-bit key whose order is the order asked for; the keys of a row are then sorted
// by integers alone. A row of at most 256 is sorted in one step: the place of an element is the number of keys below
// its own, plus the equal ones before it. A longer row is sorted digit by digit of 8 bits, the lowest first (a radix
// sort: D. Knuth, "The Art of Computer Programming" 3, 5.2.5): the row is cut into runs of 2,048; k_sort_count counts
// the digits of every run, k_sort_places turns the counts of a row into first places, digit by digit and within a
// digit run by run, and k_sort_move puts the elements of every run, in their order, where they belong.

// 256 elements a group.
KERNEL void NAME(k_sort_keys)(GLOBAL const T *RESTRICT x, GLOBAL u64 *RESTRICT key, i64 size, i32 descending GROUP_PARAM) {
    i64 first = GROUP() * 256;
    i32 lanes = sbi_lanes(size - first, 256);
    NAME(U) sign = (NAME(U))1 << (T_BITS - 1), all = ~(NAME(U))0, turn = descending ? all : (NAME(U))0;
    PHASE(l, lanes) {
        NAME(U) bits = NAME(BITS)(x[first + l]);
        NAME(U) magnitude = bits & ~sign;
        NAME(U) order = bits >> (T_BITS - 1) ? sign - magnitude : sign + magnitude; // both zeros: 2^(T_BITS - 1)
        order = order ^ turn;
        key[first + l] = magnitude > NAME(BITS)(NAME(SORT_INFINITY)) ? all : order; // (no number has this key)
    } PHASE_END
}

#if T_BITS == 32
KERNEL void k_sort_keys_i32(GLOBAL const i32 *RESTRICT x, GLOBAL u64 *RESTRICT key, i64 size,
                            i32 descending GROUP_PARAM) {
    i64 first = GROUP() * 256;
    i32 lanes = sbi_lanes(size - first, 256);
    u32 turn = descending ? 0x7fffffffu : 0x80000000u;
    PHASE(l, lanes) { key[first + l] = (u32)x[first + l] ^ turn; } PHASE_END
}
KERNEL void k_sort_keys_i64(GLOBAL const i64 *RESTRICT x, GLOBAL u64 *RESTRICT key, i64 size,
                            i32 descending GROUP_PARAM) {
    i64 first = GROUP() * 256;
    i32 lanes = sbi_lanes(size - first, 256);
    u64 turn = (u64)0x80000000u << 32;
    turn = descending ? ~turn : turn;
    PHASE(l, lanes) { key[first + l] = (u64)x[first + l] ^ turn; } PHASE_END
}

#define KEYS_NAME k_sort_keys_u8
#define KEYS_TYPE uint8_t
#define KEYS_ALL 0xffu
#include "sort_unsigned.h"

#define KEYS_NAME k_sort_keys_u32
#define KEYS_TYPE u32
#define KEYS_ALL 0xffffffffu
#include "sort_unsigned.h"

#define KEYS_NAME k_sort_keys_u64
#define KEYS_TYPE u64
#define KEYS_ALL (~(u64)0)
#include "sort_unsigned.h"

// Rows of n <= 256, one a group: order[place] = position in the row.
KERNEL void k_sort_short(GLOBAL const u64 *RESTRICT key, GLOBAL i64 *RESTRICT order, i32 n GROUP_PARAM) {
    SHARED u64 own[256];
    GLOBAL const u64 *row = key + GROUP() * n;
    GLOBAL i64 *to = order + GROUP() * n;
    PHASE(l, n) { own[l] = row[l]; } PHASE_END
    PHASE(l, n) {
        i32 place = 0;
        for (i32 j = 0; j < n; j++)
            place += own[j] < own[l] || (own[j] == own[l] && j < l);
        to[place] = l;
    } PHASE_END
}

// One run a lane, 16 a group. Run r of a row is elements 2048 r .. 2048 r + 2047 of it; runs are numbered over all
// rows. count[256 run + digit]: how often the digit (8 bits from `shift` on) occurs in the run.
KERNEL void k_sort_count(GLOBAL const u64 *RESTRICT key, GLOBAL i64 *RESTRICT count, i64 n, i64 runs,
                         i32 shift GROUP_PARAM) {
    i64 row_runs = (n + 2047) / 2048, first = GROUP() * 16;
    i32 lanes = sbi_lanes(runs - first, 16);
    PHASE(l, lanes) {
        i64 run = first + l, from = run % row_runs * 2048, end = from + 2048 < n ? from + 2048 : n;
        GLOBAL const u64 *row = key + run / row_runs * n;
        GLOBAL i64 *own = count + run * 256;
        for (i32 digit = 0; digit < 256; digit++)
            own[digit] = 0;
        for (i64 j = from; j < end; j++)
            own[(row[j] >> shift) & 255u] += 1;
    } PHASE_END
}

// One row a group. In: the counts of its runs; out: the place in the row of the first element of that run and digit.
KERNEL void k_sort_places(GLOBAL i64 *RESTRICT count, i64 row_runs GROUP_PARAM) {
    SHARED i64 before[256];
    GLOBAL i64 *own = count + GROUP() * row_runs * 256;
    PHASE(l, 256) { // within a digit, run by run
        i64 sum = 0;
        for (i64 run = 0; run < row_runs; run++) {
            i64 here = own[run * 256 + l];
            own[run * 256 + l] = sum;
            sum += here;
        }
        before[l] = sum;
    } PHASE_END
    PHASE(l, 1) { // digit by digit
        i64 sum = 0;
        for (i32 digit = 0; digit < 256; digit++) {
            i64 here = before[digit];
            before[digit] = sum;
            sum += here;
        }
    } PHASE_END
    PHASE(l, 256) {
        for (i64 run = 0; run < row_runs; run++)
            own[run * 256 + l] += before[l];
    } PHASE_END
}

// Moves keys and positions to their places; the first pass numbers the positions itself.
KERNEL void k_sort_move(GLOBAL const u64 *RESTRICT key, GLOBAL const i64 *RESTRICT order, GLOBAL u64 *RESTRICT key_to,
                        GLOBAL i64 *RESTRICT order_to, GLOBAL i64 *RESTRICT place, i64 n, i64 runs, i32 shift,
                        i32 first_pass GROUP_PARAM) {
    i64 row_runs = (n + 2047) / 2048, first = GROUP() * 16;
    i32 lanes = sbi_lanes(runs - first, 16);
    PHASE(l, lanes) {
        i64 run = first + l, from = run % row_runs * 2048, end = from + 2048 < n ? from + 2048 : n;
        i64 row = run / row_runs * n;
        GLOBAL i64 *own = place + run * 256;
        for (i64 j = from; j < end; j++) {
            u64 moved = key[row + j];
            i64 to = own[(moved >> shift) & 255u];
            own[(moved >> shift) & 255u] = to + 1;
            key_to[row + to] = moved;
            order_to[row + to] = first_pass ? j : order[row + j];
        }
    } PHASE_END
}

// The least `most` keys of every run of 2,048 of a row, ascending, equal ones in the order they stand in, and where they
// stand in the row: in `place`, or, without it, their own number. One run a lane, 16 a group, runs numbered over all
// rows; a row's lists follow each other, the last may be shorter, `kept` keys in all.
KERNEL void k_top_run(GLOBAL const u64 *RESTRICT key, GLOBAL const i64 *RESTRICT place, GLOBAL u64 *RESTRICT key_to,
                      GLOBAL i64 *RESTRICT place_to, i64 n, i64 runs, i32 most, i64 kept GROUP_PARAM) {
    i64 row_runs = (n + 2047) / 2048, first = GROUP() * 16;
    i32 lanes = sbi_lanes(runs - first, 16);
    PHASE(l, lanes) {
        i64 run = first + l, row = run / row_runs, from = run % row_runs * 2048;
        i64 end = from + 2048 < n ? from + 2048 : n, to = row * kept + run % row_runs * most;
        i32 count = 0;
        for (i64 j = from; j < end; j++) {
            u64 own = key[row * n + j];
            if (count == most && own >= key_to[to + count - 1])
                continue;
            i32 at = count < most ? count : most - 1;
            for (; at > 0 && own < key_to[to + at - 1]; at--) {
                key_to[to + at] = key_to[to + at - 1];
                place_to[to + at] = place_to[to + at - 1];
            }
            key_to[to + at] = own;
            place_to[to + at] = place ? place[row * n + j] : j;
            count += count < most;
        }
    } PHASE_END
}

// to[row, j] = from[row, j] for j < kept, rows of `from` n long; 256 elements of a row a group.
KERNEL void k_top_cut(GLOBAL const i64 *RESTRICT from, GLOBAL i64 *RESTRICT to, i64 n, i64 kept GROUP_PARAM) {
    i64 chunks = (kept + 255) / 256, row = GROUP() / chunks, first = GROUP() % chunks * 256;
    PHASE(l, sbi_lanes(kept - first, 256)) { to[row * kept + first + l] = from[row * n + first + l]; } PHASE_END
}

// Runs of equal keys in sorted order (unique): place j begins one if its key is another than the one before. A group is
// 4,096 places. count[group]: how many begin there.
FN i32 unique_begins(GLOBAL const u64 *key, GLOBAL const i64 *order, i64 j) {
    return j == 0 || key[order[j]] != key[order[j - 1]];
}
KERNEL void k_unique_count(GLOBAL const u64 *RESTRICT key, GLOBAL const i64 *RESTRICT order, GLOBAL i64 *RESTRICT count,
                           i64 n GROUP_PARAM) {
    SHARED i32 begun[256];
    i64 first = GROUP() * 4096;
    PHASE(l, 256) {
        begun[l] = 0;
        for (i64 j = first + l; j < n && j < first + 4096; j += 256)
            begun[l] += unique_begins(key, order, j);
    } PHASE_END
    PHASE(l, 1) {
        i64 sum = 0;
        for (i32 i = 0; i < 256; i++)
            sum += begun[i];
        count[GROUP()] = sum;
    } PHASE_END
}
// first[groups] = how many begin before each group; first[groups], the last, all of them. One group.
KERNEL void k_unique_first(GLOBAL i64 *RESTRICT first, i64 groups GROUP_PARAM) {
    GLOBAL i64 *own = first + GROUP() * (groups + 1);
    PHASE(l, 1) {
        i64 sum = 0;
        for (i64 i = 0; i <= groups; i++) {
            i64 here = i < groups ? own[i] : 0;
            own[i] = sum;
            sum += here;
        }
    } PHASE_END
}
// start[u]: the place where run u begins; source[u]: the position in x of its first element; inverse (or NULL): the run of
// every position.
KERNEL void k_unique_runs(GLOBAL const u64 *RESTRICT key, GLOBAL const i64 *RESTRICT order,
                          GLOBAL const i64 *RESTRICT first, GLOBAL i64 *RESTRICT start, GLOBAL i64 *RESTRICT source,
                          GLOBAL i64 *RESTRICT inverse, i64 n GROUP_PARAM) {
    PHASE(l, 1) {
        i64 run = first[GROUP()] - 1, from = GROUP() * 4096, end = from + 4096 < n ? from + 4096 : n;
        for (i64 j = from; j < end; j++) {
            if (unique_begins(key, order, j)) {
                run += 1;
                start[run] = j;
                source[run] = order[j];
            }
            if (inverse)
                inverse[order[j]] = run;
        }
    } PHASE_END
}
// count[u]: the length of run u; 0 beyond the last. 256 a group.
KERNEL void k_unique_lengths(GLOBAL const i64 *RESTRICT start, GLOBAL i64 *RESTRICT count, i64 runs, i64 n GROUP_PARAM) {
    i64 first = GROUP() * 256;
    PHASE(l, sbi_lanes(n - first, 256)) {
        i64 u = first + l, end = u + 1 < runs ? start[u + 1] : n;
        count[u] = u < runs ? end - start[u] : 0;
    } PHASE_END
}

#define TAKE_NAME k_take_u8
#define TAKE_TYPE uint8_t
#include "take.h"

#define TAKE_NAME k_take_u32
#define TAKE_TYPE u32
#include "take.h"

#define TAKE_NAME k_take_u64
#define TAKE_TYPE u64
#include "take.h"
#endif
