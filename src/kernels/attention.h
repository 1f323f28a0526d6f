// SPDX-License-Identifier: Apache-2.0
// What the texts of attention share.
#ifndef SBI_ATTENTION_H
#define SBI_ATTENTION_H

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

// 1 if one of odd[lanes] is set and nobody was `careful` yet: what all lanes wrote is read by all.
FN i32 sbi_begins_again(LOCAL const i32 *odd, i32 lanes, i32 careful) {
    i32 again = 0;
    PHASE(l, lanes) {} PHASE_END
    for (i32 l = 0; l < lanes; l++) {
        again |= odd[l] & !careful;
    }
    PHASE(l, lanes) {} PHASE_END
    return again;
}
#endif
