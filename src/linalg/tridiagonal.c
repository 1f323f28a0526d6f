// SPDX-License-Identifier: Apache-2.0
// The symmetric tridiagonal eigenproblem: T = Z diag(d) Z^T from its diagonal d and the entries e beside it.
//
// Method: implicit QL with Wilkinson's shift (H. Bowdler, R. S. Martin, C. Reinsch, J. H. Wilkinson, "The QR and QL algorithms
// for symmetric matrices", Numerische Mathematik 11, 1968; B. N. Parlett, The Symmetric Eigenvalue Problem, 8.14).
// Order of arithmetic, in binary64, every written operation rounded; length(f, g) = RN64(sqrt(RN64(RN64(f f) + RN64(g g)))).
// For l = 0 .. n-1, until it ends: m is the first index >= l with |e_m| <= 2^-53 (|d_m| + |d_m+1|) or |e_m| < 2^-500, or n-1; m = l
// ends it. Else g = (d_l+1 - d_l) / (2 e_l), r = length(g, 1), g = (d_m - d_l) + e_l / (g + (g < 0 ? -r : r)), s = c = 1, p = 0, and for
// i = m-1 down to l: f = s e_i, b = c e_i, r = e_i+1 = length(f, g); where r = 0: d_i+1 = d_i+1 - p, e_m = 0, and l begins again; else
// s = f / r, c = g / r, g = d_i+1 - p, r = (d_i - g) s + (2 c) b, p = s r, d_i+1 = g + p, g = c r - b, and columns i, i+1 of Z turn:
// (x, y) becomes (c x - s y, s x + c y). After them d_l = d_l - p, e_l = g, e_m = 0. (e_m of m = n-1 does not count.)
// Then ascending by d, equal ones in the order of their indices.
// Cost: about 1.6 steps an eigenvalue; some 5 n^3 operations for Z, in strips that stay in the cache, shared among threads.
// What can go wrong: no convergence after 50 n steps, which has never been seen: SB_ERR_INTERNAL.
#include "linalg.h"

#include <string.h>

enum { STRIP = 32, KEPT = 1 << 16 }; // columns a strip; rotations gathered before they are applied

typedef struct turn {
    int64_t at;
    double c, s;
} turn;

typedef struct turns {
    int64_t n, count;
    turn *list;
    double *zt; // zt[n, n]: row i is column i of Z
    sbi_pool *pool;
} turns;

static void turn_strip(void *argument, int64_t index) {
    const turns *t = argument;
    const int64_t first = index * STRIP, left = t->n - first, width = left < STRIP ? left : STRIP;
    for (int64_t k = 0; k < t->count; k++) {
        const double c = t->list[k].c, s = t->list[k].s;
        double *x = t->zt + t->list[k].at * t->n + first, *y = x + t->n;
        if (width == STRIP) {
            for (int64_t i = 0; i < STRIP; i++) {
                const double a = x[i], b = y[i];
                x[i] = c * a - s * b;
                y[i] = s * a + c * b;
            }
        } else {
            for (int64_t i = 0; i < width; i++) {
                const double a = x[i], b = y[i];
                x[i] = c * a - s * b;
                y[i] = s * a + c * b;
            }
        }
    }
}

static void apply(turns *t) {
    if (t->count) sbi_pool_run(t->pool, sbi_groups(t->n, STRIP), turn_strip, t);
    t->count = 0;
}

static double magnitude(double x) { return x < 0.0 ? -x : x; }
static double length(double f, double g) { return __builtin_sqrt(f * f + g * g); }

// One step of the loop over l, m > l. t: where the rotations go; NULL where Z is not asked for.
static void step(double *d, double *e, int64_t l, int64_t m, turns *t) {
    double g = (d[l + 1] - d[l]) / (2.0 * e[l]), r = length(g, 1.0);
    g = (d[m] - d[l]) + e[l] / (g + (g < 0.0 ? -r : r));
    double s = 1.0, c = 1.0, p = 0.0;
    for (int64_t i = m - 1; i >= l; i--) {
        const double f = s * e[i], b = c * e[i];
        r = length(f, g);
        e[i + 1] = r;
        if (r == 0.0) {
            d[i + 1] -= p;
            e[m] = 0.0;
            return;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2.0 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        if (t) {
            if (t->count == KEPT) apply(t);
            t->list[t->count++] = (turn){i, c, s};
        }
    }
    d[l] -= p;
    e[l] = g;
    e[m] = 0.0;
}

// Ascending, stable: order[k] is the index of the k-th.
static void sort_values(int64_t n, const double *d, int64_t *order, int64_t *spare) {
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t at = 0; at < n; at += 2 * width) {
            const int64_t middle = at + width < n ? at + width : n, end = middle + width < n ? middle + width : n;
            for (int64_t i = at, j = middle, k = at; k < end; k++)
                spare[k] = j == end || (i < middle && d[order[i]] <= d[order[j]]) ? order[i++] : order[j++];
        }
        memcpy(order, spare, (size_t)n * sizeof *order);
    }
}

sb_status sbi_tridiagonal(sb_context *ctx, int64_t n, double *d, double *e, double *zt, sb_error *err) {
    turns t = {.n = n, .zt = zt, .pool = ctx->pool};
    int64_t *order = sbi_allocate(&ctx->allocator, 2 * n + 1, sizeof *order, err), steps = 0;
    double *kept = order ? sbi_allocate(&ctx->allocator, (zt ? n * n : n) + 1, sizeof *kept, err) : NULL;
    if (kept && zt) t.list = sbi_allocate(&ctx->allocator, KEPT, sizeof *t.list, err);
    sb_status status = kept && (!zt || t.list) ? SB_OK : SB_ERR_MEMORY;
    for (int64_t l = 0; l < n && status == SB_OK;) {
        int64_t m = l;
        for (; m < n - 1; m++) {
            const double size = magnitude(e[m]);
            if (size <= 0x1p-53 * (magnitude(d[m]) + magnitude(d[m + 1])) || size < 0x1p-500) break;
        }
        if (m == l) {
            l++;
        } else if (steps++ == 50 * n) {
            status = sbi_fail(err, SB_ERR_INTERNAL, "a", "the eigenvalues did not converge in %lld steps", (long long)steps);
        } else {
            step(d, e, l, m, zt ? &t : NULL);
        }
    }
    if (status == SB_OK) {
        if (zt) apply(&t);
        sort_values(n, d, order, order + n);
        memcpy(kept, d, (size_t)n * sizeof *d);
        for (int64_t i = 0; i < n; i++) d[i] = kept[order[i]];
        if (zt) memcpy(kept, zt, (size_t)(n * n) * sizeof *zt);
        for (int64_t i = 0; i < n && zt; i++) memcpy(zt + i * n, kept + order[i] * n, (size_t)n * sizeof *zt);
    }
    sbi_release(&ctx->allocator, t.list);
    sbi_release(&ctx->allocator, kept);
    sbi_release(&ctx->allocator, order);
    return status;
}
