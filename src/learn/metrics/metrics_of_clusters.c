// SPDX-License-Identifier: Apache-2.0
// Metrics of two clusterings, and of one.
//
// Order of arithmetic, in binary64. N rows; a_i, b_j the sizes of the clusters of truth and prediction, n_ij how many rows two of them share,
// only where that is not 0, ordered by i, then j: counts, exact (and their products below 2^53, N to 94 million). log is the contract's sequence.
// Pairs: s = sum n_ij^2, tp = s - N, fp = sum_ij n_ij b_j - s, fn = sum_ij n_ij a_i - s, tn = N^2 - fp - fn - s. rand: RN(RN(tp + tn) / sum of all);
// adjusted: 2 RN(RN(tp tn) - RN(fn fp)) / RN(RN((tp + fn)(fn + tn)) + RN((tp + fp)(fp + tn))), 1 where fn and fp are 0.
// Mutual information I = S(RN(RN(n / N) log(RN(RN(n N) / RN(a b))))), at least 0. Entropy H = S(RN(RN(a / N) log(RN(N / a)))). homogeneity
// h = I / H(truth), completeness c = I / H(prediction), 1 where that entropy is 0; v = RN(RN(1 + beta) RN(h c)) / RN(RN(beta h) + c).
// Normalized: I over the mean of both entropies: RN(RN(H + G) 0.5), sqrt(RN(H G)), the less, the greater; 1 where both have one cluster.
// Adjusted: RN(I - E) / RN(mean - E), the divisor at least 2^-52 away from 0. E = S over sizes (a_i, b_j) and n from max(1, a + b - N) to
// min(a, b) of RN(RN(RN(n / N) log(RN(RN(n N) / RN(a b)))) exp(g)), g = the chain F(a) + F(b) + F(N - a) + F(N - b) - F(N) - F(n) -
// F(a - n) - F(b - n) - F(N - a - b + n), F(m) = log m! = the chain of log 1 .. log m in two words (fast two-sums), each rounded once.
// Silhouette: distance RN(sqrt(S((x - y)(x - y)))) (T12); of row i to a cluster: S over its rows in order / their number, its own row left out
// (distance 0, number less 1); a to its own, b the least to another: RN(RN(b - a) / max(a, b)), 0 alone in a cluster. The mean is S / N.
#include "metric.h"

#include <string.h>

// ---- what two clusterings share

typedef struct contingency {
    int64_t cells, a_count, b_count;
    double *n, *a_of, *b_of; // [cells]: n_ij, a_i, b_j
    double *a, *b;           // sizes of clusters that are there
} contingency;

static sb_status sizes_of(const sbi_metric_call *call, const int64_t *label, double **size, double **there, int64_t *count, sb_error *err) {
    *size = sbi_metric_room(call, call->classes, err);
    *there = sbi_metric_room(call, call->classes, err);
    if (!*size || !*there) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < call->n; i++) (*size)[label[i]] += 1.0;
    for (int64_t k = 0; k < call->classes; k++)
        if ((*size)[k] > 0.0) (*there)[(*count)++] = (*size)[k];
    return SB_OK;
}

static sb_status share(const sbi_metric_call *call, contingency *out, sb_error *err) {
    const int64_t n = call->n;
    double *a = NULL, *b = NULL, *id = sbi_metric_room(call, n, err);
    int64_t *order = NULL;
    sb_status status;
    *out = (contingency){.n = sbi_metric_room(call, n, err), .a_of = sbi_metric_room(call, n, err), .b_of = sbi_metric_room(call, n, err)};
    if (!id || !out->n || !out->a_of || !out->b_of) return SB_ERR_MEMORY;
    if ((status = sizes_of(call, call->truth, &a, &out->a, &out->a_count, err)) || (status = sizes_of(call, call->guess, &b, &out->b, &out->b_count, err)))
        return status;
    for (int64_t i = 0; i < n; i++) id[i] = (double)(call->truth[i] * call->classes + call->guess[i]);
    if (call->classes >= INT64_C(1) << 26) return sbi_fail(err, SB_ERR_SIZE, "truth", "numbers of clusters reach %lld", (long long)call->classes);
    if ((status = sbi_metric_order(call, n, id, false, &order, err))) return status;
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = order[i], at = i == 0 ? 0 : id[row] == id[order[i - 1]] ? out->cells - 1 : out->cells;
        out->n[at] += 1.0;
        out->a_of[at] = a[call->truth[row]];
        out->b_of[at] = b[call->guess[row]];
        out->cells = at + 1;
    }
    return SB_OK;
}

// ---- pairs

typedef struct pairs { double tp, fp, fn, tn; } pairs;

static pairs pairs_of(double n, const contingency *t) {
    double squares = 0.0, across = 0.0, down = 0.0;
    for (int64_t k = 0; k < t->cells; k++) {
        squares += t->n[k] * t->n[k];
        across += t->n[k] * t->b_of[k];
        down += t->n[k] * t->a_of[k];
    }
    const double fp = across - squares, fn = down - squares;
    return (pairs){squares - n, fp, fn, n * n - fp - fn - squares};
}

sb_status sbi_metric_rand_score(sbi_metric_call *call, sb_error *err) {
    contingency t;
    sb_status status = share(call, &t, err);
    if (status != SB_OK) return status;
    const pairs p = pairs_of((double)call->n, &t);
    const double right = p.tp + p.tn, all = right + p.fp + p.fn;
    return sbi_metric_number(call, right == all ? 1.0 : right / all, err);
}

sb_status sbi_metric_adjusted_rand_score(sbi_metric_call *call, sb_error *err) {
    contingency t;
    sb_status status = share(call, &t, err);
    if (status != SB_OK) return status;
    const pairs p = pairs_of((double)call->n, &t);
    if (p.fn == 0.0 && p.fp == 0.0) return sbi_metric_number(call, 1.0, err);
    const double right = p.tp * p.tn, wrong = p.fn * p.fp, one = (p.tp + p.fn) * (p.fn + p.tn), other = (p.tp + p.fp) * (p.fp + p.tn);
    return sbi_metric_number(call, 2.0 * (right - wrong) / (one + other), err);
}

// ---- information

static sb_status information(const sbi_metric_call *call, const contingency *t, double *out, sb_error *err) {
    const double n = (double)call->n;
    double *term = sbi_metric_room(call, t->cells, err);
    if (!term) return SB_ERR_MEMORY;
    for (int64_t k = 0; k < t->cells; k++) {
        const double above = t->n[k] * n, below = t->a_of[k] * t->b_of[k];
        term[k] = above / below;
    }
    sb_status status = sbi_metric_logs(call, t->cells, term, false, err);
    for (int64_t k = 0; k < t->cells; k++) {
        const double part = t->n[k] / n;
        term[k] = part * term[k];
    }
    const double sum = sbi_host_sum(t->cells, term);
    *out = sum > 0.0 ? sum : 0.0;
    return status;
}

static sb_status entropy(const sbi_metric_call *call, int64_t count, const double *size, double *out, sb_error *err) {
    const double n = (double)call->n;
    double *term = sbi_metric_room(call, count, err);
    if (!term) return SB_ERR_MEMORY;
    for (int64_t k = 0; k < count; k++) term[k] = n / size[k];
    sb_status status = sbi_metric_logs(call, count, term, false, err);
    for (int64_t k = 0; k < count; k++) {
        const double part = size[k] / n;
        term[k] = part * term[k];
    }
    *out = sbi_host_sum(count, term);
    return status;
}

typedef struct told { contingency t; double mutual, truth, guess; } told; // I, H(truth), H(prediction)

static sb_status tell(const sbi_metric_call *call, told *out, sb_error *err) {
    sb_status status = share(call, &out->t, err);
    if (status == SB_OK) status = information(call, &out->t, &out->mutual, err);
    if (status == SB_OK) status = entropy(call, out->t.a_count, out->t.a, &out->truth, err);
    return status == SB_OK ? entropy(call, out->t.b_count, out->t.b, &out->guess, err) : status;
}

static double part_of(double mutual, double entropy) { return entropy > 0.0 ? mutual / entropy : 1.0; }

sb_status sbi_metric_mutual_info_score(sbi_metric_call *call, sb_error *err) {
    told x;
    sb_status status = tell(call, &x, err);
    return status == SB_OK ? sbi_metric_number(call, x.mutual, err) : status;
}

sb_status sbi_metric_homogeneity_score(sbi_metric_call *call, sb_error *err) {
    told x;
    sb_status status = tell(call, &x, err);
    return status == SB_OK ? sbi_metric_number(call, part_of(x.mutual, x.truth), err) : status;
}

sb_status sbi_metric_completeness_score(sbi_metric_call *call, sb_error *err) {
    told x;
    sb_status status = tell(call, &x, err);
    return status == SB_OK ? sbi_metric_number(call, part_of(x.mutual, x.guess), err) : status;
}

sb_status sbi_metric_v_measure_score(sbi_metric_call *call, sb_error *err) {
    const double beta = sbi_setting(call, "beta")->real;
    told x;
    sb_status status = tell(call, &x, err);
    if (status != SB_OK) return status;
    const double h = part_of(x.mutual, x.truth), c = part_of(x.mutual, x.guess), weighted = beta * h;
    return sbi_metric_number(call, h + c == 0.0 ? 0.0 : (1.0 + beta) * (h * c) / (weighted + c), err);
}

static double mean_of(const sbi_metric_call *call, double h, double g) {
    if (sbi_setting_is(call, "average_method", "min")) return h < g ? h : g;
    if (sbi_setting_is(call, "average_method", "max")) return h > g ? h : g;
    if (sbi_setting_is(call, "average_method", "geometric")) return __builtin_sqrt(h * g);
    return (h + g) * 0.5;
}

sb_status sbi_metric_normalized_mutual_info_score(sbi_metric_call *call, sb_error *err) {
    told x;
    sb_status status = tell(call, &x, err);
    if (status != SB_OK) return status;
    if (x.t.a_count == 1 && x.t.b_count == 1) return sbi_metric_number(call, 1.0, err);
    return sbi_metric_number(call, x.mutual <= 0x1p-52 ? 0.0 : x.mutual / mean_of(call, x.truth, x.guess), err);
}

// F(m), m = 0 .. n.
static sb_status log_factorials(const sbi_metric_call *call, int64_t n, double **out, sb_error *err) {
    double *f = *out = sbi_metric_room(call, n + 1, err), high = 0.0, low = 0.0;
    if (!f) return SB_ERR_MEMORY;
    for (int64_t m = 1; m <= n; m++) f[m] = (double)m;
    sb_status status = sbi_metric_logs(call, n, f + 1, false, err);
    for (int64_t m = 1; m <= n && status == SB_OK; m++) {
        const double sum = high + f[m], lost = high > f[m] ? f[m] - (sum - high) : high - (sum - f[m]);
        low = low + lost;
        high = sum;
        f[m] = high + low;
    }
    return status;
}

// What chance gives, of sizes a and b: terms of one pair of clusters are worked on together.
static sb_status expected(const sbi_metric_call *call, const contingency *t, double *out, sb_error *err) {
    const int64_t n = call->n;
    double *f = NULL, *gain = NULL, *chance = NULL, *each = NULL;
    int64_t room = 0, count = 0;
    sb_status status = log_factorials(call, n, &f, err);
    for (int pass = 0; pass < 2 && status == SB_OK; pass++) { // to count, then to write
        count = 0;
        for (int64_t i = 0; i < t->a_count; i++)
            for (int64_t j = 0; j < t->b_count; j++) {
                const int64_t a = (int64_t)t->a[i], b = (int64_t)t->b[j], first = a + b - n > 1 ? a + b - n : 1, last = a < b ? a : b;
                for (int64_t m = first; m <= last; m++, count++) {
                    if (!pass) continue;
                    const double above = (double)m * (double)n, below = (double)a * (double)b;
                    gain[count] = above / below;
                    chance[count] = f[a] + f[b] + f[n - a] + f[n - b] - f[n] - f[m] - f[a - m] - f[b - m] - f[n - a - b + m];
                    each[count] = (double)m / (double)n;
                }
            }
        if (pass) break;
        room = count;
        gain = sbi_metric_room(call, room, err);
        chance = sbi_metric_room(call, room, err);
        each = sbi_metric_room(call, room, err);
        if (!gain || !chance || !each) return SB_ERR_MEMORY;
    }
    if (status != SB_OK || (status = sbi_metric_logs(call, count, gain, false, err)) || (status = sbi_metric_logs(call, count, chance, true, err))) return status;
    for (int64_t k = 0; k < count; k++) {
        const double term = each[k] * gain[k];
        gain[k] = term * chance[k];
    }
    *out = sbi_host_sum(count, gain);
    return SB_OK;
}

sb_status sbi_metric_adjusted_mutual_info_score(sbi_metric_call *call, sb_error *err) {
    told x;
    double chance = 0.0;
    sb_status status = tell(call, &x, err);
    if (status != SB_OK) return status;
    if (x.t.a_count == 1 && x.t.b_count == 1) return sbi_metric_number(call, 1.0, err);
    if ((status = expected(call, &x.t, &chance, err))) return status;
    double below = mean_of(call, x.truth, x.guess) - chance;
    if (below < 0.0) below = below > -0x1p-52 ? -0x1p-52 : below;
    else below = below < 0x1p-52 ? 0x1p-52 : below;
    return sbi_metric_number(call, (x.mutual - chance) / below, err);
}

// ---- one clustering of points

// The points ordered by cluster, and where each cluster begins.
static sb_status by_cluster(const sbi_metric_call *call, int64_t *order, int64_t *first, sb_array **points, sb_error *err) {
    const int64_t n = call->n, d = call->columns;
    int64_t *at = sbi_arena_allocate(call->arena, call->classes, sizeof *at, err);
    double *x = sbi_metric_room(call, n * d, err);
    if (!at || !x) return SB_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++) first[call->guess[i] + 1]++;
    for (int64_t k = 0; k < call->classes; k++) first[k + 1] += first[k];
    memcpy(at, first, (size_t)call->classes * sizeof *at);
    for (int64_t i = 0; i < n; i++) order[at[call->guess[i]]++] = i;
    for (int64_t i = 0; i < n; i++) memcpy(x + i * d, call->y + order[i] * d, (size_t)d * sizeof *x);
    sb_status status = sbi_array_new(call->ctx, call->points->dtype, 2, call->points->shape, points, err);
    return status == SB_OK ? sbi_write_reals(call->ctx, x, *points, err) : status;
}

static double silhouette(const sbi_metric_call *call, const int64_t *first, int64_t own, double *distance) {
    double inside = 0.0, outside = __builtin_inf();
    for (int64_t j = 0; j < call->n; j++) distance[j] = __builtin_sqrt(distance[j]);
    if (first[own + 1] - first[own] == 1) return 0.0;
    for (int64_t k = 0; k < call->classes; k++) {
        const int64_t count = first[k + 1] - first[k];
        if (count == 0) continue;
        const double sum = sbi_host_sum(count, distance + first[k]);
        if (k == own) inside = sum / (double)(count - 1);
        else if (sum / (double)count < outside) outside = sum / (double)count;
    }
    const double most = inside > outside ? inside : outside;
    return most > 0.0 ? (outside - inside) / most : 0.0;
}

static sb_status silhouettes(const sbi_metric_call *call, double **out, sb_error *err) {
    enum { TOGETHER = 64 };
    const int64_t n = call->n, d = call->columns;
    int64_t there = 0, *order = sbi_arena_allocate(call->arena, n, sizeof *order, err), *first = sbi_arena_allocate(call->arena, call->classes + 1, sizeof *first, err);
    double *distance = sbi_metric_room(call, TOGETHER * n, err);
    sb_array *points = NULL, *apart = NULL;
    sb_status status = SB_ERR_MEMORY;
    if (!order || !first || !distance || !(*out = sbi_metric_room(call, n, err)) || (status = by_cluster(call, order, first, &points, err))) goto done;
    for (int64_t k = 0; k < call->classes; k++) there += first[k + 1] > first[k];
    if (there < 2 || there >= n) {
        status = sbi_fail(err, SB_ERR_ARGUMENT, "prediction", "Number of labels is %lld. Valid values are 2 to n_samples - 1 (inclusive)", (long long)there);
        goto done;
    }
    for (int64_t start = 0; start < n && status == SB_OK; start += TOGETHER) {
        const int64_t count = n - start < TOGETHER ? n - start : TOGETHER, shape[2] = {count, n};
        sb_array rows = *points;
        rows.shape[0] = count;
        rows.size = count * d;
        rows.data = points->data + start * d * (int64_t)sbi_dtype_size(points->dtype);
        if ((status = sbi_array_new(call->ctx, SB_F64, 2, shape, &apart, err)) || (status = sbi_distances(call->ctx, &rows, points, 0, apart, err)) ||
            (status = sbi_array_read(apart, distance, (size_t)(count * n) * sizeof *distance, err)))
            break;
        for (int64_t i = 0; i < count; i++) {
            const int64_t row = order[start + i];
            (*out)[row] = silhouette(call, first, call->guess[row], distance + i * n);
        }
        sbi_array_free(apart);
        apart = NULL;
    }
done:
    sbi_array_free(points);
    sbi_array_free(apart);
    return status;
}

sb_status sbi_metric_silhouette_samples(sbi_metric_call *call, sb_error *err) {
    double *each = NULL;
    sb_status status = silhouettes(call, &each, err);
    return status == SB_OK ? sbi_metric_array(call, 1, call->n, 1, each, err) : status;
}

sb_status sbi_metric_silhouette_score(sbi_metric_call *call, sb_error *err) {
    double *each = NULL;
    sb_status status = silhouettes(call, &each, err);
    return status == SB_OK ? sbi_metric_number(call, sbi_host_sum(call->n, each) / (double)call->n, err) : status;
}
