// SPDX-License-Identifier: Apache-2.0
// A template for the body of a phase: TILE_ROWS x TILE_COLUMNS chains of products (T3) of lane l, kept in registers while they take
// TILE_STEPS steps of what lanes share: TILE_OUT(i * TILE_COLUMNS + j) = fma(x[i], y[j], itself), x and y moving on by
// TILE_X_STEP and TILE_Y_STEP. Define these and
//   TILE_X, TILE_Y   pointers to what is shared
//   TILE_MARK        if products may be absent: likewise to their weights (-0: absent), which stand as x does; only a `careful` reader looks
// then include.
{
    T r[TILE_ROWS * TILE_COLUMNS];
    LOCAL const T *at_x = TILE_X, *at_y = TILE_Y;
    UNROLL_LANE for (i32 i = 0; i < TILE_ROWS * TILE_COLUMNS; i++) r[i] = TILE_OUT(i);
#ifdef TILE_MARK
    LOCAL const T *at_mark = TILE_MARK;
    for (i32 w = 0; w < TILE_STEPS && careful; w++) {
        UNROLL_LANE for (i32 i = 0; i < TILE_ROWS; i++) {
            i32 absent = NAME(BITS)(at_mark[i]) == NAME(BITS)(SBI_ABSENT);
            UNROLL_LANE for (i32 j = 0; j < TILE_COLUMNS; j++) {
                T taken = NAME(FMA)(at_x[i], at_y[j], r[i * TILE_COLUMNS + j]);
                r[i * TILE_COLUMNS + j] = absent ? r[i * TILE_COLUMNS + j] : taken;
            }
        }
        at_x += TILE_X_STEP;
        at_y += TILE_Y_STEP;
        at_mark += TILE_X_STEP;
    }
    for (i32 w = 0; w < TILE_STEPS && !careful; w++) {
#else
    for (i32 w = 0; w < TILE_STEPS; w++) {
#endif
        UNROLL_LANE for (i32 i = 0; i < TILE_ROWS; i++) {
            UNROLL_LANE for (i32 j = 0; j < TILE_COLUMNS; j++) r[i * TILE_COLUMNS + j] = NAME(FMA)(at_x[i], at_y[j], r[i * TILE_COLUMNS + j]);
        }
        at_x += TILE_X_STEP;
        at_y += TILE_Y_STEP;
    }
    UNROLL_LANE for (i32 i = 0; i < TILE_ROWS * TILE_COLUMNS; i++) TILE_OUT(i) = r[i];
}
#undef TILE_ROWS
#undef TILE_COLUMNS
#undef TILE_OUT
#undef TILE_X
#undef TILE_X_STEP
#undef TILE_Y
#undef TILE_Y_STEP
#undef TILE_MARK
#undef TILE_STEPS
