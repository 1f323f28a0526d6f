// SPDX-License-Identifier: Apache-2.0
// Embedding: rows of a table by their number; backward sums segments (T2) in ascending source order, numbered by rank.
#include "reference.h"

#include <stdlib.h>
#include <string.h>

void ref_embedding_f32(int64_t d, int64_t count, const float *table, const int32_t *ids, float *out) {
    for (int64_t i = 0; i < count; i++)
        memcpy(out + i * d, table + ids[i] * d, (size_t)d * sizeof *out); // a move keeps bits
}

void ref_embedding_backward_f32(int64_t v, int64_t d, int64_t count, const int32_t *ids, const float *dout,
                                int accumulate, float *dtable) {
    double *term = ref_memory(count, sizeof *term);
    for (int64_t row = 0; row < v; row++)
        for (int64_t c = 0; c < d; c++) {
            int64_t rank = 0;
            for (int64_t i = 0; i < count; i++)
                if (ids[i] == row)
                    term[rank++] = (double)dout[i * d + c];
            float s = (float)ref_sum(rank, term, NULL);
            if (accumulate)
                s = dtable[row * d + c] + s;
            dtable[row * d + c] = ref_canon32(s);
        }
    free(term);
}
