// SPDX-License-Identifier: Apache-2.0
// The typed text of ref_gather.c: RN(S of the segment), +0 where it is empty; accumulated: RN(old + that).
void REF(ref_scatter_add)(int64_t v, int64_t width, int64_t count, sb_dtype dtype, const void *indices,
                          const REAL *source, int accumulate, REAL *out) {
    double *term = ref_memory(count, sizeof *term);
    for (int64_t row = 0; row < v; row++)
        for (int64_t c = 0; c < width; c++) {
            int64_t rank = 0;
            for (int64_t i = 0; i < count; i++)
                if (at(dtype, indices, i) == row)
                    term[rank++] = (double)source[i * width + c];
            REAL s = (REAL)ref_sum(rank, term, NULL);
            if (accumulate)
                s = out[row * width + c] + s;
            out[row * width + c] = REF_CANON(s);
        }
    free(term);
}
