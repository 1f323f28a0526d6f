// SPDX-License-Identifier: Apache-2.0
// The typed text of ref_softmax.c (ref_both.h).
static void REF(row_take)(row_parts *p, int64_t n, const REAL *x) {
    const REAL infinity = (REAL)ref_float32(0x7f800000u);
    REAL m = -infinity;
    p->any = 0;
    for (int64_t j = 0; j < n; j++) {
        p->present[j] = !(x[j] == -infinity);
        if (p->present[j]) {
            m = REF_MAX(m, x[j]);
            p->any = 1;
        }
    }
    for (int64_t j = 0; j < n; j++) {
        p->d[j] = 0.0;
        p->e[j] = 0.0;
        if (p->present[j]) {
            REAL d = x[j] - m;
            p->d[j] = (double)d;
            p->e[j] = (double)REF_UNARY(SB_EXP, d);
        }
    }
    p->s = ref_sum(n, p->e, p->present);
}

// "y_j = RN(RN64(e_j r)). log-softmax_j = RN(RN64(d_j - log s))"; absent: +0, and -inf.
void REF(ref_softmax)(int64_t rows, int64_t count, int log, const REAL *x, REAL *y) {
    row_parts p = row_new(count);
    for (int64_t i = 0; i < rows; i++) {
        REF(row_take)(&p, count, x + i * count);
        double r = 1.0 / p.s, log_s = log && p.any ? ref_log64(p.s) : 0.0;
        for (int64_t j = 0; j < count; j++) {
            REAL *out = y + i * count + j;
            double t = log ? p.d[j] - log_s : p.e[j] * r;
            if (p.present[j])
                *out = REF_CANON((REAL)t);
            else
                *out = log ? -(REAL)ref_float32(0x7f800000u) : (REAL)0;
        }
    }
    row_free(&p);
}

// "D = S(RN64(y dy)), dx = RN(RN64(y RN64(dy - D)))"; of log-softmax "G = S(dy), dx = RN(RN64(dy - RN64(exp(y) G)))".
void REF(ref_softmax_backward)(int64_t rows, int64_t count, int log, const REAL *y, const REAL *dy, REAL *dx) {
    double *term = ref_memory(count, sizeof *term);
    for (int64_t i = 0; i < rows; i++) {
        const REAL *a = y + i * count, *b = dy + i * count;
        for (int64_t j = 0; j < count; j++)
            term[j] = log ? (double)b[j] : (double)a[j] * (double)b[j];
        double s = ref_sum(count, term, NULL);
        for (int64_t j = 0; j < count; j++) {
            double t;
            if (log) {
                t = (double)REF_UNARY(SB_EXP, a[j]) * s;
                t = (double)b[j] - t;
            } else {
                t = (double)b[j] - s;
                t = (double)a[j] * t;
            }
            dx[i * count + j] = REF_CANON((REAL)t); // (dx may be dy)
        }
    }
    free(term);
}

// "n_j = RN64(log s - d_j) (+inf where the target's entry is absent); loss = RN64(w_t n_t), without weights n_t; smoothed:
// RN64(RN64(a loss) + RN64(k S(RN64(w_j n_j))))". No target or no present entry: +0.
static double REF(loss_of)(row_parts *p, int64_t v, int64_t t, const REAL *weights, double smoothing) {
    double log_s = ref_log64(p->s), loss = (double)ref_float32(0x7f800000u);
    if (p->present[t])
        loss = log_s - p->d[t];
    else if (log_s != log_s || p->s - p->s != 0)
        loss = log_s - -(double)ref_float32(0x7f800000u);
    if (weights)
        loss = (double)weights[t] * loss;
    if (smoothing > 0) {
        for (int64_t j = 0; j < v; j++) {
            double n = log_s - p->d[j];
            p->term[j] = weights ? (double)weights[j] * n : n;
        }
        double a = 1.0 - smoothing, k = smoothing / (double)v, all = ref_sum(v, p->term, p->present);
        a = a * loss;
        k = k * all;
        loss = a + k;
    }
    return ref_canon64(loss);
}

// What a row counts in a mean.
static double REF(share_of)(const row_parts *p, int64_t t, const REAL *weights) {
    if (t < 0 || !p->any)
        return 0.0;
    return weights ? (double)weights[t] : 1.0;
}

void REF(ref_cross_entropy)(int64_t rows, int64_t v, sb_loss_reduction reduction, double smoothing, const REAL *logits,
                            const int64_t *targets, const REAL *weights, double *loss) {
    row_parts p = row_new(v);
    double *each = ref_memory(rows, sizeof *each), *share = ref_memory(rows, sizeof *share);
    for (int64_t i = 0; i < rows; i++) {
        REF(row_take)(&p, v, logits + i * v);
        each[i] = targets[i] >= 0 && p.any ? REF(loss_of)(&p, v, targets[i], weights, smoothing) : 0.0;
        share[i] = REF(share_of)(&p, targets[i], weights);
    }
    for (int64_t i = 0; reduction == SB_LOSS_EACH && i < rows; i++)
        loss[i] = each[i];
    if (reduction != SB_LOSS_EACH) {
        double total = ref_sum(rows, each, NULL);
        if (reduction == SB_LOSS_MEAN)
            total = total / ref_sum(rows, share, NULL);
        *loss = ref_canon64(total);
    }
    free(each);
    free(share);
    row_free(&p);
}

// "p = RN64(e_j r); h = RN64(p - [j = t]); q = RN64(w_t h), without weights h; smoothed: RN64(RN64(A h) + RN64(k RN64(
// RN64(p Q) - w_j))), A = RN64(a w_t), Q = S(w_j); RN(RN64(q G))"; e_j = +0 and w_j = +0 for an absent entry.
void REF(ref_cross_entropy_backward)(int64_t rows, int64_t v, sb_loss_reduction reduction, double smoothing, double scale,
                                     const REAL *logits, const int64_t *targets, const REAL *weights, REAL *dlogits) {
    row_parts p = row_new(v);
    double g = scale;
    if (reduction == SB_LOSS_MEAN) {
        double *share = ref_memory(rows, sizeof *share);
        for (int64_t i = 0; i < rows; i++) {
            REF(row_take)(&p, v, logits + i * v);
            share[i] = REF(share_of)(&p, targets[i], weights);
        }
        g = scale / ref_sum(rows, share, NULL);
        free(share);
    }
    for (int64_t i = 0; i < rows; i++) {
        int64_t t = targets[i];
        REF(row_take)(&p, v, logits + i * v); // (dlogits may be logits)
        double r = 1.0 / p.s, w = t >= 0 && weights ? (double)weights[t] : 1.0;
        for (int64_t j = 0; j < v; j++)
            p.term[j] = weights ? (double)weights[j] : 1.0;
        double all = ref_sum(v, p.term, p.present), a = 1.0 - smoothing, k = smoothing / (double)v;
        a = a * w;
        for (int64_t j = 0; j < v; j++) {
            REAL *out = dlogits + i * v + j;
            *out = 0;
            if (t < 0 || !p.any)
                continue;
            double share = p.e[j] * r, h = share - (j == t ? 1.0 : 0.0), q = w * h;
            if (smoothing > 0) {
                double rest = share * all;
                rest = rest - (p.present[j] ? p.term[j] : 0.0);
                rest = k * rest;
                q = a * h;
                q = q + rest;
            }
            q = q * g;
            *out = REF_CANON((REAL)q);
        }
    }
    row_free(&p);
}
