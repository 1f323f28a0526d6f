// SPDX-License-Identifier: Apache-2.0
// A template: the sorting keys of unsigned integers, 256 a group. Define KEYS_NAME, KEYS_TYPE, KEYS_ALL (its greatest value),
// include.
KERNEL void KEYS_NAME(GLOBAL const KEYS_TYPE *RESTRICT x, GLOBAL u64 *RESTRICT key, i64 size, i32 descending GROUP_PARAM) {
    i64 first = GROUP() * 256;
    u64 turn = descending ? (u64)KEYS_ALL : (u64)0;
    PHASE(l, sbi_lanes(size - first, 256)) { key[first + l] = (u64)x[first + l] ^ turn; } PHASE_END
}
#undef KEYS_NAME
#undef KEYS_TYPE
#undef KEYS_ALL
