// SPDX-License-Identifier: Apache-2.0
// Limited-memory BFGS (Nocedal 1980) over a metric M, and its form for absolute values (OWL-QN: Andrew, Gao 2007).
//
// Order of arithmetic, binary64, dots S(RN64(a b)). p is the gradient g, or where u_j has a weight L_j: g_j + L_j if u_j > 0, g_j - L_j if u_j < 0,
// else whichever of g_j + L_j < 0 and g_j - L_j > 0 holds, or 0. q = p; of the last ten steps s and changes y of g, newest first:
// a_i = RN64(s.q / s.y), q = RN64(q - RN64(a_i y)); q = RN64(c (M^-1 q)), c = RN64(s.y / y.(M^-1 y)) of the newest, 1 without one; oldest first:
// b = RN64(y.q / s.y), q = RN64(q + RN64(RN64(a_i - b) s)). The direction is -q, with weights 0 where -q_j p_j >= 0. A trial is RN64(u + RN64(t (-q))),
// t = 1, 1/2, ... 2^-39; with weights 0 where it has not the sign of u_j, or where that is 0 of -p_j. The first is taken whose objective is at
// most f + RN64(2^-13 p.(u' - u)) + 2^-48 |f|. A pair with s.y <= 0 is not kept.
//
// What can go wrong. A function that falls for ever ends with max_iter.
#include "quasi_newton.h"

#include <string.h>

enum { PAIRS = 10, TRIALS = 40 };

typedef struct search {
    sbi_minimum *m;
    int64_t size, count, newest;            // pairs kept, the place of the newest
    double *s, *y, *g, *p, *q, *to, *g_to;  // s, y: [PAIRS, size]
    double along[PAIRS], stretch;           // s.y of each; c
} search;

static double weighted(const search *w, const double *u) {
    if (!w->m->l1) return 0.0;
    for (int64_t j = 0; j < w->size; j++) w->q[j] = w->m->l1[j] * (u[j] < 0.0 ? -u[j] : u[j]);
    return sbi_host_sum(w->size, w->q);
}

static void pseudo_gradient(search *w) {
    w->m->most = 0.0;
    for (int64_t j = 0; j < w->size; j++) {
        const double g = w->g[j], u = w->m->u[j], l = w->m->l1 ? w->m->l1[j] : 0.0;
        w->p[j] = l == 0.0 ? g : u > 0.0 || (u == 0.0 && g + l < 0.0) ? g + l : u < 0.0 || g - l > 0.0 ? g - l : 0.0;
        const double size = w->p[j] < 0.0 ? -w->p[j] : w->p[j];
        if (!(size <= w->m->most)) w->m->most = size;
    }
}

// q = H p. Returns p.(-q) after the signs are looked at.
static double direction(search *w) {
    double a[PAIRS];
    memcpy(w->q, w->p, (size_t)w->size * sizeof *w->q);
    for (int64_t k = 0; k < w->count; k++) {
        const int64_t i = (w->newest + PAIRS - k) % PAIRS;
        a[i] = sbi_host_dot(w->size, w->s + i * w->size, w->q) / w->along[i];
        for (int64_t j = 0; j < w->size; j++) w->q[j] = w->q[j] - a[i] * w->y[i * w->size + j];
    }
    w->m->scale(w->m->user, w->q);
    for (int64_t j = 0; j < w->size; j++) w->q[j] = w->stretch * w->q[j];
    for (int64_t k = w->count - 1; k >= 0; k--) {
        const int64_t i = (w->newest + PAIRS - k) % PAIRS;
        const double by = a[i] - sbi_host_dot(w->size, w->y + i * w->size, w->q) / w->along[i];
        for (int64_t j = 0; j < w->size; j++) w->q[j] = w->q[j] + by * w->s[i * w->size + j];
    }
    for (int64_t j = 0; j < w->size && w->m->l1; j++)
        if (w->m->l1[j] > 0.0 && w->q[j] * w->p[j] <= 0.0) w->q[j] = 0.0;
    return 0.0 - sbi_host_dot(w->size, w->p, w->q);
}

// A step along -q, to `to`; *found is false where no trial was good.
static sb_status try_steps(search *w, double *step, bool *found, sb_error *err) {
    sbi_minimum *m = w->m;
    double t = 1.0;
    *found = false;
    memcpy(step, w->q, (size_t)w->size * sizeof *step);
    for (int trial = 0; trial < TRIALS && !*found; trial++, t *= 0.5) {
        double f;
        for (int64_t j = 0; j < w->size; j++) {
            const double u = m->u[j], l = m->l1 ? m->l1[j] : 0.0, side = u != 0.0 ? u : -w->p[j];
            w->to[j] = u - t * step[j];
            if (l > 0.0 && !(w->to[j] * side > 0.0)) w->to[j] = 0.0;
        }
        sb_status status = m->value(m->user, w->to, &f, err);
        if (status != SB_OK) return status;
        f = f + weighted(w, w->to);
        for (int64_t j = 0; j < w->size; j++) w->q[j] = w->to[j] - m->u[j];
        const double slack = 0x1p-48 * (m->f < 0.0 ? -m->f : m->f), promised = 0x1p-13 * sbi_host_dot(w->size, w->p, w->q);
        *found = f <= m->f + promised + slack;
        if (*found) m->f = f;
    }
    return SB_OK;
}

// The pair of the step just taken.
static void remember(search *w) {
    const int64_t place = (w->newest + 1) % PAIRS, size = w->size;
    double *s = w->s + place * size, *y = w->y + place * size;
    for (int64_t j = 0; j < size; j++) {
        s[j] = w->to[j] - w->m->u[j];
        y[j] = w->g_to[j] - w->g[j];
    }
    const double along = sbi_host_dot(size, s, y);
    if (!(along > 0.0)) return;
    memcpy(w->q, y, (size_t)size * sizeof *y);
    w->m->scale(w->m->user, w->q);
    const double length = sbi_host_dot(size, y, w->q);
    w->stretch = length > 0.0 ? along / length : 1.0;
    w->along[place] = along;
    w->newest = place;
    w->count = w->count < PAIRS ? w->count + 1 : PAIRS;
}

static sb_status steps(const sbi_call *call, search *w, double *step, sb_error *err) {
    sbi_minimum *m = w->m;
    sb_status status = m->value(m->user, m->u, &m->f, err);
    if (status == SB_OK) status = m->slope(m->user, m->u, w->g, err);
    if (status == SB_OK) m->f = m->f + weighted(w, m->u);
    for (m->iterations = 0; status == SB_OK; m->iterations++) {
        bool found;
        pseudo_gradient(w);
        const double slope = direction(w);
        m->ended = m->most == 0.0 || m->enough(m->user, m->f, m->most, -0.5 * slope);
        if (m->ended || m->iterations == m->max_iter || !(slope < 0.0)) break;
        if ((status = sbi_call_progress(call, m->iterations, m->max_iter, err)) || (status = try_steps(w, step, &found, err)) || !found ||
            (status = m->slope(m->user, w->to, w->g_to, err)))
            break;
        remember(w);
        memcpy(m->u, w->to, (size_t)w->size * sizeof *m->u);
        memcpy(w->g, w->g_to, (size_t)w->size * sizeof *w->g);
    }
    return status;
}

sb_status sbi_minimise(const sbi_call *call, sbi_minimum *m, sb_error *err) {
    const int64_t n = m->size;
    double *block = sbi_allocate(&call->ctx->allocator, (2 * PAIRS + 6) * n, sizeof *block, err);
    if (!block) return SB_ERR_MEMORY;
    double *rest = block + 2 * PAIRS * n;
    search w = {.m = m, .size = n, .newest = PAIRS - 1, .s = block, .y = block + PAIRS * n, .g = rest, .p = rest + n, .q = rest + 2 * n,
                .to = rest + 3 * n, .g_to = rest + 4 * n, .stretch = 1.0};
    const sb_status status = steps(call, &w, rest + 5 * n, err);
    sbi_release(&call->ctx->allocator, block);
    return status;
}
