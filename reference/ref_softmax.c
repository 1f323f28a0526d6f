// SPDX-License-Identifier: Apache-2.0
// T5: softmax and losses. An entry of -inf is absent: it contributes nothing. m = max; d_j = RN(x_j - m);
// e_j = exp(d_j); s = S(e); r = RN64(1/s).
#include "reference.h"

#include <stdlib.h>

typedef struct row_parts {
    int any;           // is an entry present
    double *d;         // d_j, widened
    double *e;         // e_j, widened
    double *term;      // room for the terms of another sum
    uint8_t *present;
    double s;
} row_parts;

static row_parts row_new(int64_t n) {
    row_parts p = {0, ref_memory(n, sizeof(double)), ref_memory(n, sizeof(double)), ref_memory(n, sizeof(double)),
                   ref_memory(n, 1), 0.0};
    return p;
}

static void row_free(row_parts *p) {
    free(p->d);
    free(p->e);
    free(p->term);
    free(p->present);
}

#define REF_TEXT "ref_softmax_typed.h"
#include "ref_both.h"
