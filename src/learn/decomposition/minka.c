// SPDX-License-Identifier: Apache-2.0
// The dimension of a principal subspace by its evidence (T. P. Minka, Automatic choice of dimensionality for PCA, NIPS 2000).
//
// Of the ranks q = 1 .. d-1 the one with the greatest L(q) = pu + pl + pv + pp - pa / 2 - q ln n / 2, the first on a tie, in binary64, left
// to right; logarithms those of the contract (T4). With the spectrum l_1 >= ... >= l_d, v = max(1e-15, S(l_j, j > q) / (d - q)), l'_j = l_j
// for j <= q and v beyond, m = d q - q (q + 1) / 2:
//   pu = chain over i = 1 .. q of + (ln Gamma(a) - a ln pi), a = (d - i + 1) / 2, after -q ln 2;  pl = -(S(ln l_j, j <= q) n / 2);
//   pv = -(ln v n (d - q) / 2);  pp = ln(2 pi) (m + q) / 2;
//   pa = S over i <= q, i < j <= d in row order of (ln((l_i - l_j) (1 / l'_j - 1 / l'_i)) + ln n).
// ln Gamma(a) of a whole or half a is the chain of ln(a - 1), ln(a - 2), ... from below, after 0 or ln(pi) / 2. A rank whose l_q is
// below 1e-15 is not asked, nor one without a number for its L; where no rank is left it is 1.
// Cost: d^3 / 3 logarithms.
#include "projection.h"

#define LN_2 0x1.62e42fefa39efp-1
#define LN_PI 0x1.250d048e7a1bdp+0
#define LN_TWO_PI 0x1.d67f1c864beb5p+0

typedef struct evidence {
    sb_context *ctx;
    int64_t n, d;
    const double *spectrum;
    double *gamma;   // [d + 2]: ln Gamma(i / 2)
    double *log;     // [d]: of the spectrum
    double *term;    // [d (d - 1) / 2]
    double log_n;
} evidence;

static sb_status log_gammas(evidence *e, sb_error *err) {
    const int64_t d = e->d;
    for (int64_t i = 0; i < d + 2; i++) e->gamma[i] = i < 3 ? 1.0 : (double)(i - 2) * 0.5; // ln Gamma(a) = ln(a - 1) + ln Gamma(a - 1)
    sb_status status = sbi_host_unary(e->ctx, SB_LOG, d + 2, e->gamma, err);
    e->gamma[1] = LN_PI * 0.5;
    for (int64_t i = 3; i < d + 2; i++) e->gamma[i] = e->gamma[i - 2] + e->gamma[i];
    return status;
}

static sb_status evidence_of(evidence *e, int64_t q, double *out, sb_error *err) {
    const double *l = e->spectrum, n = (double)e->n, left = (double)(e->d - q), m = (double)(e->d * q - q * (q + 1) / 2);
    double pu = -((double)q * LN_2), log_v = sbi_host_sum(e->d - q, l + q) / left;
    int64_t pairs = 0;
    log_v = log_v > 1e-15 ? log_v : 1e-15;
    const double v = log_v;
    sb_status status = sbi_host_unary(e->ctx, SB_LOG, 1, &log_v, err);
    for (int64_t i = 1; i <= q; i++) {
        const double half = (double)(e->d - i + 1) * 0.5 * LN_PI;
        pu = pu + (e->gamma[e->d - i + 1] - half);
    }
    for (int64_t i = 0; i < q; i++)
        for (int64_t j = i + 1; j < e->d; j++) e->term[pairs++] = (l[i] - l[j]) * (1.0 / (j < q ? l[j] : v) - 1.0 / l[i]);
    if (status == SB_OK) status = sbi_host_unary(e->ctx, SB_LOG, pairs, e->term, err);
    for (int64_t i = 0; i < pairs; i++) e->term[i] = e->term[i] + e->log_n;
    const double pl = -(sbi_host_sum(q, e->log) * n / 2.0), pv = -(log_v * n * left / 2.0), pp = LN_TWO_PI * (m + (double)q) / 2.0;
    const double pa = sbi_host_sum(pairs, e->term);
    *out = pu + pl + pv + pp - pa / 2.0 - (double)q * e->log_n / 2.0;
    return status;
}

sb_status sbi_minka_rank(sb_context *ctx, int64_t n, int64_t d, const double *spectrum, int64_t *rank, sb_error *err) {
    evidence e = {.ctx = ctx, .n = n, .d = d, .spectrum = spectrum, .log_n = (double)n};
    double most = 0.0, value = 0.0;
    bool any = false;
    sb_status status = SB_OK;
    e.gamma = sbi_allocate(&ctx->allocator, d + 2, sizeof(double), err);
    e.log = e.gamma ? sbi_allocate(&ctx->allocator, d, sizeof(double), err) : NULL;
    e.term = e.log ? sbi_allocate(&ctx->allocator, d * (d - 1) / 2 + 1, sizeof(double), err) : NULL;
    if (!e.term) status = SB_ERR_MEMORY;
    for (int64_t i = 0; i < d && status == SB_OK; i++) e.log[i] = spectrum[i];
    if (status == SB_OK) status = sbi_host_unary(ctx, SB_LOG, d, e.log, err);
    if (status == SB_OK) status = sbi_host_unary(ctx, SB_LOG, 1, &e.log_n, err);
    if (status == SB_OK) status = log_gammas(&e, err);
    *rank = 1;
    for (int64_t q = 1; q < d && status == SB_OK; q++) {
        if (spectrum[q - 1] < 1e-15) break;
        status = evidence_of(&e, q, &value, err);
        if (value != value || (any && !(value > most))) continue;
        any = true;
        most = value;
        *rank = q;
    }
    sbi_release(&ctx->allocator, e.gamma);
    sbi_release(&ctx->allocator, e.log);
    sbi_release(&ctx->allocator, e.term);
    return status;
}
