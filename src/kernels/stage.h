// SPDX-License-Identifier: Apache-2.0
// A template: a function that brings what the lanes of a group share of an operand. Define STAGE_NAME and IN, the type of the
// data, which are taken as T; include.

// What lane l of `lanes` brings of width x steps values: to[s * (width + 4) + i] = item i of step s, zero from `items` and
// `depth` on. Memory holds rows `stride` apart: of steps if `along`, else of items; neighbours there go to neighbouring
// lanes. (width + 4: rows stay aligned for loads of four, and steps of one item fall into different banks.)
FN void STAGE_NAME(GLOBAL const IN *from, LOCAL T *to, i64 stride, i32 along, i32 items, i32 depth, i32 width, i32 steps,
                           i32 lanes, i32 l) {
    i32 i = along ? l / steps : l % width, s = along ? l % steps : l / width;
    i32 right = along ? lanes / steps : 0, down = along ? 0 : lanes / width;
    from += along ? i * stride + s : s * stride + i;
    to += s * (width + 4) + i;
    if (items >= width && depth >= steps) {
        for (i32 e = 0; e < width * steps / lanes; e++) {
            *to = (T)*from;
            to += down * (width + 4) + right;
            from += (down + right) * stride;
        }
    } else {
        for (i32 e = 0; e < width * steps / lanes; e++, i += right, s += down) {
            *to = i < items && s < depth ? (T)*from : (T)0;
            to += down * (width + 4) + right;
            from += (down + right) * stride;
        }
    }
}
#undef STAGE_NAME
