// SPDX-License-Identifier: Apache-2.0
// The typed text of ref_sum.c (ref_both.h).

// "Product terms (dot): RN64 of the product, then added."
void REF(ref_dot)(int64_t n, const REAL *a, const REAL *b, REAL *out) {
    double *term = ref_memory(n, sizeof *term);
    for (int64_t j = 0; j < n; j++)
        term[j] = (double)a[j] * (double)b[j];
    REAL s = (REAL)ref_sum(n, term, NULL);
    *out = REF_CANON(s);
    free(term);
}

double REF(ref_total)(int64_t n, const REAL *x, int squared) {
    double *term = ref_memory(n, sizeof *term);
    for (int64_t j = 0; j < n; j++)
        term[j] = squared ? (double)x[j] * (double)x[j] : (double)x[j];
    double s = ref_sum(n, term, NULL);
    free(term);
    return ref_canon64(s);
}

static REAL REF(size)(REAL x) { return x != x ? x : x < 0 || (x == 0 && 1 / x < 0) ? -x : x; }

static REAL REF(reduce_max)(int64_t n, const REAL *x, int sizes) {
    REAL m = sizes ? REF(size)(x[0]) : x[0];
    for (int64_t j = 0; j < n; j++)
        m = REF_MAX(m, sizes ? REF(size)(x[j]) : x[j]);
    return m;
}

static REAL REF(reduce_min)(int64_t n, const REAL *x) {
    REAL m = x[0];
    for (int64_t j = 0; j < n; j++)
        m = REF_MIN(m, x[j]);
    return m;
}

// "never pick a NaN while a number remains; lowest index on a tie".
static int64_t REF(reduce_place)(int64_t n, const REAL *x, int least) {
    int64_t best = -1;
    for (int64_t j = 0; j < n; j++)
        if (x[j] == x[j] && (best < 0 || (least ? x[j] < x[best] : x[j] > x[best])))
            best = j;
    return best < 0 ? 0 : best;
}

static REAL REF(reduce_real)(sb_reduction kind, int64_t n, const REAL *x) {
    if (kind == SB_MAX || kind == SB_NORM_MAX)
        return REF(reduce_max)(n, x, kind == SB_NORM_MAX);
    if (kind == SB_MIN)
        return REF(reduce_min)(n, x);
    double *term = ref_memory(n, sizeof *term), s;
    for (int64_t j = 0; j < n; j++)
        term[j] = (double)(kind == SB_NORM1 ? REF(size)(x[j]) : x[j]);
    if (kind == SB_MEAN)
        s = ref_mean(n, term);
    else if (kind == SB_NORM2)
        s = ref_spread(sizeof(REAL) == sizeof(double), n, term, 0.0, 1.0, 1);
    else
        s = ref_sum(n, term, NULL);
    free(term);
    REAL y = (REAL)s;
    return REF_CANON(y);
}

void REF(ref_reduce)(sb_reduction kind, int64_t outer, int64_t count, int64_t inner, const REAL *x, void *out) {
    REAL *term = ref_memory(count, sizeof *term), *real = out;
    int64_t *place = out;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            for (int64_t j = 0; j < count; j++)
                term[j] = x[(o * count + j) * inner + i];
            if (kind == SB_ARGMAX || kind == SB_ARGMIN)
                place[o * inner + i] = REF(reduce_place)(count, term, kind == SB_ARGMIN);
            else
                real[o * inner + i] = REF(reduce_real)(kind, count, term);
        }
    free(term);
}

void REF(ref_variance)(int64_t outer, int64_t count, int64_t inner, int64_t ddof, int root, const REAL *x, REAL *out,
                       double *mean) {
    double *term = ref_memory(count, sizeof *term);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            for (int64_t j = 0; j < count; j++)
                term[j] = (double)x[(o * count + j) * inner + i];
            double m = ref_mean(count, term);
            if (out) {
                REAL y = (REAL)ref_spread(sizeof(REAL) == sizeof(double), count, term, m, (double)(count - ddof), root);
                out[o * inner + i] = REF_CANON(y);
            }
            if (mean)
                mean[o * inner + i] = m;
        }
    free(term);
}
