// SPDX-License-Identifier: Apache-2.0
// A k-d tree of points: build and distances.
//
// Tree. Points are split by the median of the feature in which they spread most, ties by number, down to leaves of 16, whose
// points lie feature by feature so that a row is compared with all of them at once. (J. L. Bentley, Multidimensional binary search
// trees used for associative searching, 1975.) Each node has the box of its points: their least and greatest number in each feature.
//
// Order of arithmetic: that of kernels/neighbors.cl for up to 32 features, where S of T2 is one term a lane and then
// halves added, absent lanes +0. |t|^p is the kernel k_pow itself.
//
// What is pruned, and why no result can differ. A point c of a box has low_j <= c_j <= high_j. Rounding is monotone, so RN64(x_j - c_j)
// lies between RN64(x_j - high_j) and RN64(x_j - low_j), and its size is at least g_j: the rounded distance of x_j from the box, 0 inside.
// Squares, sums in a fixed order, maxima and roots of numbers that are not negative are monotone in each operand, rounded as well. So the
// value *computed* for c is at least the value computed, in the same order, from g: no margin is needed, and a box is left out only
// if that value is above the bound (or equal to it, and every number of its points above the number that stands there). In the
// same way the farthest corner's value is the most that can be computed for a point inside.
// The power function is not proved monotone, but within 1 ulp (docs/functions64.tsv: 0.7). With e = 2^-52 relative, or 2^-1074
// absolute below the normal numbers, and at most 6 roundings of a sum, the value of c is at least (1 - e)^2 (1 - 2^-53)^12 times that
// of g less 32 2^-1073: above (1 - 2^-44) of it less 2^-1000. Where that of g overflows, that of c does or is above 2^1023. The root is
// another power: from such a least value its computed root, times 1 - 2^-44 less 2^-1000 once more, is below every computed root.
//
// Nothing of the tree's shape reaches a result, so threads build it in parallel.
//
// Cost: building m log m; a search looks at few leaves in few dimensions, at all of them in many.
//
// What can go wrong. Numbers that are not finite have no box: then there is no tree.
#include "near_tree.h"

enum { PIECES = 8 }; // parts of the build a thread takes on average

// ---- distances

static void power(const sbi_near_tree *t, double p, int64_t count, double *values) { // of at most 512
    const sbi_arg args[] = {{.in = values}, {.in = &p}, {.out = values}, {.in = NULL}, SBI_INT(0), SBI_INT(1), SBI_INT(count), SBI_INT(0), SBI_INT(0), SBI_INT(1), SBI_INT(0)};
    t->ctx->kernels->run[SBI_ID_k_pow_f64](args, 0, 1, NULL);
}

void sbi_near_measure(const sbi_near_tree *t, const double *x, int64_t leaf, double *far) {
    const double *value = t->value + leaf * t->d * SBI_NEAR_ROWS;
    double term[SBI_NEAR_FEATURES][SBI_NEAR_ROWS];
    for (int64_t j = 0; j < t->d; j++, value += SBI_NEAR_ROWS)
        for (int l = 0; l < SBI_NEAR_ROWS; l++) {
            const double apart = x[j] - value[l];
            term[j][l] = t->metric == SBI_EUCLIDEAN ? apart * apart : __builtin_fabs(apart);
        }
    if (t->metric == SBI_MINKOWSKI) power(t, t->p, t->d * SBI_NEAR_ROWS, term[0]);
    if (t->metric == SBI_CHEBYSHEV) {
        for (int64_t j = 1; j < t->d; j++)
            for (int l = 0; l < SBI_NEAR_ROWS; l++) term[0][l] = term[j][l] > term[0][l] ? term[j][l] : term[0][l];
    } else {
        for (int64_t half = t->half; half > 0; half /= 2)
            for (int64_t j = 0; j < half && j + half < t->d; j++)
                for (int l = 0; l < SBI_NEAR_ROWS; l++) term[j][l] = term[j][l] + term[j + half][l];
    }
    for (int l = 0; l < SBI_NEAR_ROWS; l++) far[l] = term[0][l];
}

// The same of one point, from the sizes of the differences.
static double measure_one(const sbi_near_tree *t, double *term) {
    if (t->metric == SBI_CHEBYSHEV) {
        double most = term[0];
        for (int64_t j = 1; j < t->d; j++) most = term[j] > most ? term[j] : most;
        return most;
    }
    if (t->metric == SBI_MINKOWSKI) power(t, t->p, t->d, term);
    if (t->metric == SBI_EUCLIDEAN)
        for (int64_t j = 0; j < t->d; j++) term[j] = term[j] * term[j];
    for (int64_t half = t->half; half > 0; half /= 2)
        for (int64_t j = 0; j < half && j + half < t->d; j++) term[j] = term[j] + term[j + half];
    return term[0];
}

double sbi_near_surely(double value) {
    return (value < 0x1p1023 ? value : 0x1p1023) * (1.0 - 0x1p-44) - 0x1p-1000;
}

double sbi_near_least(const sbi_near_tree *t, const double *x, int64_t node) {
    const double *low = t->low + node * t->d, *high = t->high + node * t->d;
    double gap[SBI_NEAR_FEATURES];
    for (int64_t j = 0; j < t->d; j++) {
        const double below = low[j] - x[j], above = x[j] - high[j], most = below > above ? below : above;
        gap[j] = most > 0.0 ? most : 0.0;
    }
    const double far = measure_one(t, gap);
    return t->metric == SBI_MINKOWSKI ? sbi_near_surely(far) : far;
}

double sbi_near_most(const sbi_near_tree *t, const double *x, int64_t node) {
    const double *low = t->low + node * t->d, *high = t->high + node * t->d;
    double gap[SBI_NEAR_FEATURES];
    for (int64_t j = 0; j < t->d; j++) {
        const double below = x[j] - low[j], above = high[j] - x[j];
        gap[j] = __builtin_fabs(below > above ? below : above);
    }
    return measure_one(t, gap);
}

void sbi_near_reach(const sbi_near_tree *t, int64_t count, double *far) {
    if (t->metric == SBI_MINKOWSKI) power(t, 1.0 / t->p, count, far);
    if (t->metric == SBI_EUCLIDEAN)
        for (int64_t i = 0; i < count; i++) far[i] = __builtin_sqrt(far[i]);
}

void sbi_near_row(const sb_array *x, int64_t row, double *out) {
    const int64_t d = x->shape[1];
    const float *narrow = (const float *)(const void *)x->data + row * d;
    const double *wide = (const double *)(const void *)x->data + row * d;
    for (int64_t j = 0; j < d; j++) out[j] = x->dtype == SB_F64 ? wide[j] : (double)narrow[j];
}

// ---- the build

typedef struct point { double value; int64_t name; } point;
typedef struct building {
    sbi_near_tree *t;
    const sb_array *c;
    point *points;         // by place, in the end
    sbi_near_node *pieces; // for the threads
    int64_t count, size;   // of pieces; leaves of one at most
} building;

static bool before(point a, point b) { return a.value < b.value || (a.value == b.value && a.name < b.name); }

// The first `count` become the least. (C. A. R. Hoare, Algorithm 65: find, 1961; pivots by a multiplicative generator.)
static void select_least(point *points, int64_t n, int64_t count) {
    uint64_t state = (uint64_t)n;
    for (int64_t low = 0, high = n - 1; low < high;) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const point pivot = points[low + (int64_t)((state >> 33) % (uint64_t)(high - low + 1))];
        int64_t i = low, j = high;
        while (i <= j) {
            while (before(points[i], pivot)) i++;
            while (before(pivot, points[j])) j--;
            if (i > j) break;
            const point other = points[i];
            points[i++] = points[j];
            points[j--] = other;
        }
        if (count <= j) high = j;
        else if (count >= i) low = i;
        else break;
    }
}

// The box of a node, and the feature in which it is widest.
static int64_t bound(const building *b, sbi_near_node n) {
    sbi_near_tree *t = b->t;
    const int64_t start = sbi_near_start(n), end = sbi_near_end(t, n), d = t->d;
    double *low = t->low + n.at * d, *high = t->high + n.at * d, x[SBI_NEAR_FEATURES];
    int64_t least = b->points[start].name, widest = 0;
    sbi_near_row(b->c, least, low);
    sbi_near_row(b->c, least, high);
    for (int64_t i = start + 1; i < end; i++) {
        sbi_near_row(b->c, b->points[i].name, x);
        least = b->points[i].name < least ? b->points[i].name : least;
        for (int64_t j = 0; j < d; j++) {
            low[j] = x[j] < low[j] ? x[j] : low[j];
            high[j] = x[j] > high[j] ? x[j] : high[j];
        }
    }
    t->least[n.at] = least;
    for (int64_t j = 1; j < d; j++)
        if (high[j] - low[j] > high[widest] - low[widest]) widest = j;
    return widest;
}

static void fill_leaf(const building *b, int64_t leaf) {
    sbi_near_tree *t = b->t;
    const int64_t start = leaf * SBI_NEAR_ROWS, count = t->m - start < SBI_NEAR_ROWS ? t->m - start : SBI_NEAR_ROWS;
    for (int64_t l = 0; l < count; l++) {
        double x[SBI_NEAR_FEATURES];
        sbi_near_row(b->c, b->points[start + l].name, x);
        t->name[start + l] = b->points[start + l].name;
        for (int64_t j = 0; j < t->d; j++) t->value[(leaf * t->d + j) * SBI_NEAR_ROWS + l] = x[j];
    }
}

static void split(building *b, sbi_near_node n, bool whole) { // else down to pieces
    if (!whole && n.end - n.first <= b->size) {
        b->pieces[b->count++] = n;
        return;
    }
    const int64_t widest = bound(b, n), start = sbi_near_start(n), end = sbi_near_end(b->t, n), d = b->t->d;
    if (sbi_near_leaf(n)) {
        fill_leaf(b, n.first);
        return;
    }
    sbi_near_node half[2];
    sbi_near_halves(n, half);
    for (int64_t i = start; i < end; i++) {
        const int64_t at = b->points[i].name * d + widest;
        b->points[i].value = b->c->dtype == SB_F64 ? ((const double *)(const void *)b->c->data)[at] : (double)((const float *)(const void *)b->c->data)[at];
    }
    select_least(b->points + start, end - start, sbi_near_start(half[1]) - start);
    split(b, half[0], whole);
    split(b, half[1], whole);
}

static void split_piece(void *argument, int64_t index) {
    building *b = argument;
    split(b, b->pieces[index], true);
}

// A tree is worth its build to so many searches: the whole search has a product for the Euclidean metric alone.
static bool serves(const sb_context *ctx, const sb_array *x, const sb_array *c, sbi_metric metric, int64_t features) {
    if (ctx->device != &sbi_cpu || metric == SBI_COSINE || c->shape[1] > features) return false;
    return c->shape[0] >= 512 && x->shape[0] >= (metric == SBI_EUCLIDEAN ? 256 : 16);
}

static bool all_finite(const sb_array *c) {
    double sum = 0.0; // of numbers times 0
    for (int64_t i = 0; i < c->size; i++)
        sum += 0.0 * (c->dtype == SB_F64 ? ((const double *)(const void *)c->data)[i] : (double)((const float *)(const void *)c->data)[i]);
    return sum == 0.0;
}

void sbi_near_tree_free(sbi_near_tree *t) {
    if (!t) return;
    const sbi_allocator *allocator = &t->ctx->allocator;
    void *const all[] = {t->value, t->name, t->low, t->high, t->least, t};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sbi_release(allocator, all[i]);
}

sb_status sbi_near_tree_new(sb_context *ctx, const sb_array *x, const sb_array *c, sbi_metric metric, double p, int64_t features,
                            sbi_near_tree **out, sb_error *err) {
    const sbi_allocator *allocator = &ctx->allocator;
    *out = NULL;
    if (!serves(ctx, x, c, metric, features) || !all_finite(x) || !all_finite(c)) return SB_OK;
    const int64_t m = c->shape[0], d = c->shape[1], leaves = sbi_groups(m, SBI_NEAR_ROWS), nodes = 2 * leaves - 1;
    sbi_near_tree *t = sbi_allocate(allocator, 1, sizeof *t, err);
    if (!t) return SB_ERR_MEMORY;
    *t = (sbi_near_tree){.ctx = ctx, .metric = metric, .p = p, .m = m, .d = d, .leaves = leaves};
    for (int64_t half = 1; half < d; half *= 2) t->half = half;
    building b = {.t = t, .c = c, .size = leaves / (PIECES * sbi_pool_threads(ctx->pool)) + 1};
    if ((t->value = sbi_allocate(allocator, leaves * SBI_NEAR_ROWS, (size_t)d * sizeof *t->value, err)) &&
        (t->name = sbi_allocate(allocator, leaves * SBI_NEAR_ROWS, sizeof *t->name, err)) && (t->low = sbi_allocate(allocator, nodes, (size_t)d * sizeof *t->low, err)) &&
        (t->high = sbi_allocate(allocator, nodes, (size_t)d * sizeof *t->high, err)) && (t->least = sbi_allocate(allocator, nodes, sizeof *t->least, err)) &&
        (b.points = sbi_allocate(allocator, m, sizeof *b.points, err)) &&
        (b.pieces = sbi_allocate(allocator, leaves / ((b.size + 1) / 2) + 1, sizeof *b.pieces, err))) {
        for (int64_t i = 0; i < m; i++) b.points[i].name = i;
        split(&b, sbi_near_root(t), false);
        sbi_pool_run(ctx->pool, b.count, split_piece, &b);
        *out = t;
    }
    sbi_release(allocator, b.points);
    sbi_release(allocator, b.pieces);
    if (!*out) sbi_near_tree_free(t);
    return *out ? SB_OK : SB_ERR_MEMORY;
}
