// SPDX-License-Identifier: Apache-2.0
// Stable sorting of rows (contract T1): NaN last in either direction, -0 = +0, equal ones in the order they stand in.
//
// Every element becomes an unsigned 64-bit key whose order is the order asked for; the keys of a row are then sorted
// by integers alone. A row of at most 256 is sorted in one step: the place of an element is the number of keys below
// its own, plus the equal ones before it. A longer row is sorted digit by digit of 8 bits, the lowest first (a radix
// sort: D. Knuth, "The Art of Computer Programming" 3, 5.2.5): the row is cut into runs of 2,048; k_sort_count counts
// the digits of every run, k_sort_places turns the counts of a row into first places, digit by digit and within a
// digit run by run, and k_sort_move puts the elements of every run, in their order, where they belong.

#if T_BITS == 32
FN i32 sort_lanes(i64 left, i32 lanes) { return left < lanes ? (i32)left : lanes; }

// 256 elements a group.
KERNEL void k_sort_keys_f32(GLOBAL const f32 *RESTRICT x, GLOBAL u64 *RESTRICT key, i64 size,
                            i32 descending GROUP_PARAM) {
    i64 first = GROUP() * 256;
    i32 lanes = sort_lanes(size - first, 256);
    u32 turn = descending ? 0xffffffffu : 0u;
    PHASE(l, lanes) {
        u32 bits = BITS32(x[first + l]);
        u32 magnitude = bits & 0x7fffffffu;
        u32 order = bits >> 31 ? 0x80000000u - magnitude : 0x80000000u + magnitude; // both zeros: 2^31
        order = order ^ turn;
        key[first + l] = magnitude > 0x7f800000u ? 0xffffffffu : order; // (no number has this key)
    } PHASE_END
}
KERNEL void k_sort_keys_i32(GLOBAL const i32 *RESTRICT x, GLOBAL u64 *RESTRICT key, i64 size,
                            i32 descending GROUP_PARAM) {
    i64 first = GROUP() * 256;
    i32 lanes = sort_lanes(size - first, 256);
    u32 turn = descending ? 0x7fffffffu : 0x80000000u;
    PHASE(l, lanes) { key[first + l] = (u32)x[first + l] ^ turn; } PHASE_END
}
KERNEL void k_sort_keys_i64(GLOBAL const i64 *RESTRICT x, GLOBAL u64 *RESTRICT key, i64 size,
                            i32 descending GROUP_PARAM) {
    i64 first = GROUP() * 256;
    i32 lanes = sort_lanes(size - first, 256);
    u64 turn = (u64)0x80000000u << 32;
    turn = descending ? ~turn : turn;
    PHASE(l, lanes) { key[first + l] = (u64)x[first + l] ^ turn; } PHASE_END
}

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
    i32 lanes = sort_lanes(runs - first, 16);
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
    i32 lanes = sort_lanes(runs - first, 16);
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

// values[row, j] = x[row, order[row, j]], bits kept; 256 elements of a row a group.
KERNEL void k_sort_gather_u32(GLOBAL const u32 *RESTRICT x, GLOBAL const i64 *RESTRICT order,
                              GLOBAL u32 *RESTRICT values, i64 n GROUP_PARAM) {
    i64 chunks = (n + 255) / 256, row = GROUP() / chunks * n, first = GROUP() % chunks * 256;
    i32 lanes = sort_lanes(n - first, 256);
    PHASE(l, lanes) {
        values[row + first + l] = x[row + order[row + first + l]];
    } PHASE_END
}
KERNEL void k_sort_gather_u64(GLOBAL const u64 *RESTRICT x, GLOBAL const i64 *RESTRICT order,
                              GLOBAL u64 *RESTRICT values, i64 n GROUP_PARAM) {
    i64 chunks = (n + 255) / 256, row = GROUP() / chunks * n, first = GROUP() % chunks * 256;
    i32 lanes = sort_lanes(n - first, 256);
    PHASE(l, lanes) {
        values[row + first + l] = x[row + order[row + first + l]];
    } PHASE_END
}
#endif
