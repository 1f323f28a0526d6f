// SPDX-License-Identifier: Apache-2.0
// A template for probe.cl and probe_single.cl: the arithmetic of T.

// Arithmetic. The last three are canaries: a product and a sum that someone might fuse, a sum that someone might take
// back, a division that someone might turn into a product.
KERNEL void NAME(k_probe)(GLOBAL const NAME(U) *RESTRICT a, GLOBAL const NAME(U) *RESTRICT b, GLOBAL const NAME(U) *RESTRICT c,
                          GLOBAL NAME(U) *RESTRICT out, i64 n GROUP_PARAM) {
    i64 first = GROUP() * 256;
    i32 lanes = sbi_lanes(n - first, 256);
    PHASE(l, lanes) {
        T x = NAME(FLOAT)(a[first + l]), y = NAME(FLOAT)(b[first + l]), z = NAME(FLOAT)(c[first + l]);
        GLOBAL NAME(U) *at = out + first + l;
        at[0] = NAME(BITS)(NAME(sbi_canon)(x + y));
        at[n] = NAME(BITS)(NAME(sbi_canon)(x - y));
        at[2 * n] = NAME(BITS)(NAME(sbi_canon)(x * y));
        at[3 * n] = NAME(BITS)(NAME(sbi_canon)(NAME(DIV)(x, y)));
        at[4 * n] = NAME(BITS)(NAME(sbi_canon)(NAME(SQRT)(x)));
        at[5 * n] = NAME(BITS)(NAME(sbi_canon)(NAME(FMA)(x, y, z)));
        at[6 * n] = NAME(BITS)(NAME(sbi_max)(x, y));
        at[7 * n] = NAME(BITS)(NAME(sbi_min)(x, y));
        at[8 * n] = (NAME(U))((x < y ? 1 : 0) | (x <= y ? 2 : 0) | (x > y ? 4 : 0) | (x >= y ? 8 : 0) | (x == y ? 16 : 0) | (x != y ? 32 : 0));
        at[9 * n] = NAME(BITS)(NAME(sbi_canon)(x * y + z));
        at[10 * n] = NAME(BITS)(NAME(sbi_canon)((x + y) - x));
        at[11 * n] = NAME(BITS)(NAME(sbi_canon)(NAME(DIV)(x, (T)3.0f)));
    }
    PHASE_END
}
