// SPDX-License-Identifier: Apache-2.0
// A template for the body of a kernel whose lanes are query rows: what they see of the `count` keys from b0 on. By
// position least .. limit - 1; by the mask those that are shown, `some` if there are any. Define, then include:
//   KEYS_ROWS   a pointer to rows, `stride` apart: plain[j] says which are finite
PHASE(l, 32) {} // everyone has read those of the block before
PHASE_END
PHASE(l, 32) {
    for (i32 j = l; j < count; j += 32) {
        plain[j] = NAME(sbi_row_plain)(KEYS_ROWS + j * stride, d);
        shown[j] = sbi_shown(mask, batch * s + b0 + j);
    }
    AT(least, l) = sbi_within(position + l - behind - b0, 128);
    AT(limit, l) = sbi_within(position + l + ahead + 1 - b0, count);
}
PHASE_END
for (i32 j = 0; j < count; j++) {
    some |= shown[j];
}
#undef KEYS_ROWS
