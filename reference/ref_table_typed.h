// SPDX-License-Identifier: Apache-2.0
// Tables x[n, d], for one type.

void REF(ref_columns)(int64_t n, int64_t d, int back, const REAL *x, const double *a, const double *b, int wide, void *y) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++) {
            double t = (double)x[i * d + j];
            if (back) {
                if (b)
                    t = t * b[j];
                if (a)
                    t = t + a[j];
            } else {
                if (a)
                    t = t - a[j];
                if (b)
                    t = t / b[j];
            }
            REAL r = (REAL)t;
            if (wide)
                ((double *)y)[i * d + j] = ref_canon64(t);
            else
                ((REAL *)y)[i * d + j] = REF_CANON(r);
        }
}

// out[5, d]: the weight of the numbers that are there, their mean, the sum of squares about it, the least, the greatest.
void REF(ref_moments)(int64_t n, int64_t d, const REAL *x, const double *w, double *out) {
    double *term = ref_memory(n, sizeof *term);
    uint8_t *there = ref_memory(n, sizeof *there);
    for (int64_t j = 0; j < d; j++) {
        double low = ref_float64(0x7ff0000000000000u), high = -low;
        for (int64_t i = 0; i < n; i++) {
            double value = (double)x[i * d + j];
            there[i] = value == value && !(w && w[i] == 0.0);
            if (there[i]) {
                low = ref_min64(low, value);
                high = ref_max64(high, value);
            }
            term[i] = w ? w[i] : 1.0;
        }
        double weight = ref_sum(n, term, there);
        for (int64_t i = 0; i < n; i++) {
            double value = (double)x[i * d + j];
            term[i] = w ? w[i] * value : value;
        }
        double sum = ref_sum(n, term, there), mean = sum / weight;
        if (low == high)
            mean = low + 0.0;
        for (int64_t i = 0; i < n; i++) {
            double t = (double)x[i * d + j] - mean;
            t = t * t;
            term[i] = w ? w[i] * t : t;
        }
        double square = ref_sum(n, term, there);
        out[j] = weight;
        out[d + j] = ref_canon64(mean);
        out[2 * d + j] = ref_canon64(square);
        out[3 * d + j] = low;
        out[4 * d + j] = high;
    }
    free(term);
    free(there);
}

void REF(ref_segments)(int64_t n, int64_t d, int64_t k, const REAL *x, const int32_t *label, const double *w, double *sums,
                       double *totals) {
    double *term = ref_memory(n, sizeof *term);
    for (int64_t s = 0; s < k; s++) {
        for (int64_t j = 0; j <= d; j++) { // column d: the weights
            int64_t rank = 0;
            for (int64_t i = 0; i < n; i++) {
                if (label[i] != s)
                    continue;
                double weight = w ? w[i] : 1.0;
                if (j < d)
                    term[rank] = w ? weight * (double)x[i * d + j] : (double)x[i * d + j];
                else
                    term[rank] = weight;
                rank++;
            }
            double sum = ref_sum(rank, term, NULL);
            if (j < d)
                sums[s * d + j] = ref_canon64(sum);
            else
                totals[s] = sum;
        }
    }
    free(term);
}

static double REF(square_distance)(int64_t d, const REAL *x, const REAL *c) {
    double *term = ref_memory(d, sizeof *term);
    for (int64_t j = 0; j < d; j++) {
        double t = (double)x[j] - (double)c[j];
        term[j] = t * t;
    }
    double s = ref_sum(d, term, NULL);
    free(term);
    return ref_canon64(s);
}

void REF(ref_distances)(int64_t n, int64_t m, int64_t d, int root, const REAL *x, const REAL *c, void *out) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            double s = REF(square_distance)(d, x + i * d, c + j * d);
            if (root) {
                REAL r = (REAL)ref_sqrt64(s);
                ((REAL *)out)[i * m + j] = REF_CANON(r);
            } else {
                ((double *)out)[i * m + j] = s;
            }
        }
}

// The logarithm of a density whose axes are those of the table: start - S((x - mean)^2 scale) / 2.
void REF(ref_gaussians)(int64_t n, int64_t m, int64_t d, const REAL *x, const double *mean, const double *scale, const double *start,
                        double *out) {
    double *term = ref_memory(d, sizeof *term);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < m; c++) {
            for (int64_t j = 0; j < d; j++) {
                double t = (double)x[i * d + j] - mean[c * d + j];
                t = t * t;
                term[j] = t * scale[c * d + j];
            }
            double half = 0.5 * ref_sum(d, term, NULL);
            out[i * m + c] = ref_canon64(start[c] - half);
        }
    free(term);
}

// "the lowest on a tie; a NaN is never picked while a number remains".
void REF(ref_nearest)(int64_t n, int64_t m, int64_t d, const REAL *x, const REAL *c, int32_t *label, double *distance) {
    for (int64_t i = 0; i < n; i++) {
        double least = 0.0;
        int64_t best = -1;
        for (int64_t j = 0; j < m; j++) {
            double s = REF(square_distance)(d, x + i * d, c + j * d);
            if (best < 0 || s < least || (least != least && s == s)) {
                best = j;
                least = s;
            }
        }
        label[i] = (int32_t)best;
        if (distance)
            distance[i] = least;
    }
}

// How far two rows are apart by a metric, before its last step; a NaN is an infinity.
static double REF(far)(int64_t d, int kind, double p, const REAL *x, const REAL *c) {
    double *term = ref_memory(d, sizeof *term), *xx = ref_memory(d, sizeof *xx), *cc = ref_memory(d, sizeof *cc), far = 0.0;
    for (int64_t j = 0; j < d; j++) {
        double t = (double)x[j] - (double)c[j], size = t < 0.0 ? -t : t;
        term[j] = kind == 0 ? t * t : kind == 3 ? ref_pow64(size, p) : kind == 4 ? (double)x[j] * (double)c[j] : size;
        xx[j] = (double)x[j] * (double)x[j];
        cc[j] = (double)c[j] * (double)c[j];
        if (kind == 2 && size > far)
            far = size;
    }
    if (kind != 2)
        far = ref_sum(d, term, NULL);
    if (kind == 4) {
        double product = ref_sum(d, xx, NULL) * ref_sum(d, cc, NULL), sizes = ref_sqrt64(product);
        double q = sizes == 0.0 ? 0.0 : far / sizes;
        if (q > 1.0)
            q = 1.0;
        if (q < -1.0)
            q = -1.0;
        far = 1.0 - q;
    }
    free(term);
    free(xx);
    free(cc);
    return far == far ? far : ref_float64(0x7ff0000000000000u);
}

// "Neighbours: lowest index": the points in the order of (distance, index), the first k.
void REF(ref_neighbors)(int64_t n, int64_t m, int64_t d, int64_t k, int kind, int64_t self, double p, const REAL *x, const REAL *c, double *far,
                        int64_t *index) {
    for (int64_t i = 0; i < n; i++) {
        int64_t have = 0;
        for (int64_t j = 0; j < m; j++) {
            if (self >= 0 && j == self + i)
                continue;
            double value = REF(far)(d, kind, p, x + i * d, c + j * d);
            int64_t at = have < k ? have++ : k;
            while (at > 0 && far[i * k + at - 1] > value) {
                if (at < k) {
                    far[i * k + at] = far[i * k + at - 1];
                    index[i * k + at] = index[i * k + at - 1];
                }
                at--;
            }
            if (at < k) {
                far[i * k + at] = value;
                index[i * k + at] = j;
            }
        }
    }
}

void REF(ref_within)(int64_t n, int64_t m, int64_t d, int kind, double radius, double p, const REAL *x, const REAL *c, uint8_t *inside) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            double far = REF(far)(d, kind, p, x + i * d, c + j * d);
            if (kind == 0)
                far = ref_sqrt64(far);
            if (kind == 3)
                far = ref_pow64(far, 1.0 / p);
            inside[i * m + j] = far <= radius;
        }
}

void REF(ref_apart)(int64_t pairs, int64_t d, int kind, double p, const REAL *x, const REAL *c, const int64_t *rows, const int64_t *places,
                    double *far) {
    for (int64_t i = 0; i < pairs; i++)
        far[i] = REF(far)(d, kind, p, x + rows[i] * d, c + places[i] * d);
}
