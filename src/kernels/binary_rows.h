// SPDX-License-Identifier: Apache-2.0
// A template: out = BINARY(a, b) element by element, with broadcasting. Define BINARY_NAME and BINARY(a, b), include.
//
// The output is seen as rows[.., length] after the host has merged the axes that can be merged; within a row a and b
// advance by step_a, step_b (0 or 1 an element; both 1 where length is 1). The starts of row r are r * row_a, r * row_b
// where one axis remains above the rows; where several do, layout holds axes rows of (size, stride of a, stride of b).
// A group is 4,096 elements of one row or as many whole rows as fit into 4,096 elements.
// No RESTRICT: out may be a or b.
KERNEL void BINARY_NAME(GLOBAL const T *a, GLOBAL const T *b, GLOBAL T *out, GLOBAL const i64 *layout, i32 axes,
                        i64 rows, i64 length, i64 row_a, i64 row_b, i32 step_a, i32 step_b GROUP_PARAM) {
    i64 pieces = (length + 4095) / 4096, together = 4096 / length > 0 ? 4096 / length : 1;
    i64 piece = GROUP() % pieces * 4096, row = GROUP() / pieces * together;
    i64 end = row + together < rows ? row + together : rows;
    i32 n = (i32)(length - piece < 4096 ? length - piece : 4096);
    for (; row < end; row++) {
        i64 at_a = row * row_a, at_b = row * row_b, at = row * length + piece;
        if (axes > 1) {
            i64 left = row;
            at_a = 0;
            at_b = 0;
            for (i32 axis = axes - 1; axis >= 0; axis--) {
                i64 size = layout[3 * axis], i = left % size;
                left = left / size;
                at_a = at_a + i * layout[3 * axis + 1];
                at_b = at_b + i * layout[3 * axis + 2];
            }
        }
        at_a = at_a + piece * step_a;
        at_b = at_b + piece * step_b;
        if (step_a && step_b) {
            for (i32 j = 0; j < n; j += 256) {
                PHASE(l, sbi_lanes(n - j, 256)) {
                    out[at + j + l] = NAME(sbi_canon)(BINARY(a[at_a + j + l], b[at_b + j + l]));
                } LANE_END
            }
        } else if (step_a) { // b is one value (read before out, which it may lie in, is written)
            T one = b[at_b];
            for (i32 j = 0; j < n; j += 256) {
                PHASE(l, sbi_lanes(n - j, 256)) {
                    out[at + j + l] = NAME(sbi_canon)(BINARY(a[at_a + j + l], one));
                } LANE_END
            }
        } else {
            T one = a[at_a];
            for (i32 j = 0; j < n; j += 256) {
                PHASE(l, sbi_lanes(n - j, 256)) {
                    out[at + j + l] = NAME(sbi_canon)(BINARY(one, b[at_b + j + l]));
                } LANE_END
            }
        }
    }
}
#undef BINARY_NAME
#undef BINARY
