// SPDX-License-Identifier: Apache-2.0
// The typed text of ref_norm.c (ref_both.h).
void REF(ref_norm)(int centred, int64_t rows, int64_t d, const REAL *x, const REAL *weight, const REAL *bias, double eps,
                   REAL *y, double *mean, double *r) {
    double *term = ref_memory(d, sizeof *term);
    for (int64_t i = 0; i < rows; i++) {
        const REAL *row = x + i * d;
        double m = 0.0, v;
        for (int64_t j = 0; j < d; j++)
            term[j] = (double)row[j];
        if (centred) {
            m = ref_mean(d, term);
            v = ref_spread(sizeof(REAL) == sizeof(double), d, term, m, (double)d, 0);
        } else {
            v = REF(ref_total)(d, row, 1);
            v = v / (double)d;
        }
        v = v + eps;
        v = ref_sqrt64(v);
        double inverse = 1.0 / v;
        if (mean)
            mean[i] = ref_canon64(m);
        if (r)
            r[i] = ref_canon64(inverse);
        for (int64_t j = 0; j < d; j++) {
            double t = term[j] - m;
            t = t * inverse;
            if (weight)
                t = t * (double)weight[j];
            if (bias)
                t = t + (double)bias[j];
            y[i * d + j] = REF_CANON((REAL)t);
        }
    }
    free(term);
}

// "g = RN64(dy w) (dy without w); A = RN64(S(g)/d) (RMSNorm: +0); B = RN64(S(RN64(g t))/d); dx = RN(RN64(r RN64(RN64(g - A) -
// RN64(t B)))); dw = RN(S over rows of RN64(dy t)); db = RN(S over rows of dy)". mean NULL: RMSNorm.
void REF(ref_norm_backward)(int64_t rows, int64_t d, const REAL *x, const REAL *weight, const double *mean, const double *r,
                            const REAL *dy, REAL *dx, REAL *dweight, REAL *dbias) {
    int64_t most = rows > d ? rows : d;
    double *term = ref_memory(most, sizeof *term), *t = ref_memory(most, sizeof *t), *g = ref_memory(d, sizeof *g);
    for (int64_t j = 0; j < d; j++) {
        for (int64_t i = 0; i < rows; i++) {
            double u = (double)x[i * d + j] - (mean ? mean[i] : 0.0);
            u = u * r[i];
            term[i] = (double)dy[i * d + j] * u;
            t[i] = (double)dy[i * d + j];
        }
        double w = ref_sum(rows, term, NULL), b = ref_sum(rows, t, NULL);
        if (dweight)
            dweight[j] = REF_CANON((REAL)w);
        if (dbias)
            dbias[j] = REF_CANON((REAL)b);
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < d; j++) {
            double u = (double)x[i * d + j] - (mean ? mean[i] : 0.0);
            t[j] = u * r[i];
            g[j] = (double)dy[i * d + j];
            if (weight)
                g[j] = g[j] * (double)weight[j];
            term[j] = g[j] * t[j];
        }
        double b = ref_sum(d, term, NULL), a = mean ? ref_sum(d, g, NULL) : 0.0;
        b = b / (double)d;
        if (mean)
            a = a / (double)d;
        for (int64_t j = 0; j < d; j++) {
            double u = t[j] * b, h = g[j] - a;
            u = h - u;
            u = r[i] * u;
            dx[i * d + j] = REF_CANON((REAL)u);
        }
    }
    free(term);
    free(t);
    free(g);
}
