// SPDX-License-Identifier: Apache-2.0
// Searches in a k-d tree: the nearest points, those within a radius. What is left out, and why that is safe: near_tree.c.
//
// The k nearest so far are a heap, the worst on top; of two points as far the one of the greater number is worse. A ball's boxes that are
// inside as a whole are counted without a look at their points. Rows are shared among the threads, each by itself.
#include "near_tree.h"

enum { STRIP = 32 }; // rows a thread takes at a time

static bool worse(double far, int64_t name, double than, int64_t other) { return far > than || (far == than && name > other); }

// The heap far[n], name[n] without its place `at`, where this point, or a worse one from below, belongs.
static void sift(double *far, int64_t *name, int64_t n, int64_t at, double value, int64_t number) {
    for (int64_t next; (next = 2 * at + 1) < n; at = next) {
        if (next + 1 < n && worse(far[next + 1], name[next + 1], far[next], name[next])) next++;
        if (!worse(far[next], name[next], value, number)) break;
        far[at] = far[next];
        name[at] = name[next];
    }
    far[at] = value;
    name[at] = number;
}

static void order_heap(double *far, int64_t *name, int64_t n) { // the worst last
    for (int64_t end = n - 1; end > 0; end--) {
        const double value = far[end];
        const int64_t number = name[end];
        far[end] = far[0];
        name[end] = name[0];
        sift(far, name, end, 0, value, number);
    }
}

static void make_heap(double *far, int64_t *name, int64_t n) {
    for (int64_t i = n / 2 - 1; i >= 0; i--) sift(far, name, n, i, far[i], name[i]);
}

// ---- the nearest

typedef struct nearest {
    const sbi_near_tree *t;
    double x[SBI_NEAR_FEATURES];
    int64_t k, own, count;
    double *far;
    int64_t *name;
} nearest;

static void offer(nearest *q, double far, int64_t name) {
    if (q->count == q->k) {
        if (worse(q->far[0], q->name[0], far, name)) sift(q->far, q->name, q->k, 0, far, name);
        return;
    }
    q->far[q->count] = far;
    q->name[q->count] = name;
    if (++q->count == q->k) make_heap(q->far, q->name, q->k);
}

static void visit(nearest *q, sbi_near_node n, double least) {
    const sbi_near_tree *t = q->t;
    if (q->count == q->k && worse(least, t->least[n.at], q->far[0], q->name[0])) return;
    if (sbi_near_leaf(n)) {
        const int64_t start = sbi_near_start(n), count = sbi_near_end(t, n) - start;
        double far[SBI_NEAR_ROWS];
        sbi_near_measure(t, q->x, n.first, far);
        for (int64_t l = 0; l < count; l++)
            if ((q->count < q->k || far[l] <= q->far[0]) && t->name[start + l] != q->own) offer(q, far[l], t->name[start + l]);
        return;
    }
    sbi_near_node half[2];
    sbi_near_halves(n, half);
    const double far[2] = {sbi_near_least(t, q->x, half[0].at), sbi_near_least(t, q->x, half[1].at)};
    const int first = far[1] < far[0];
    visit(q, half[first], far[first]);
    visit(q, half[!first], far[!first]);
}

typedef struct nearest_job {
    const sbi_near_tree *t;
    const sb_array *x;
    int64_t k, self;
    double *far;
    int64_t *index;
} nearest_job;

static void nearest_strip(void *argument, int64_t strip) {
    const nearest_job *job = argument;
    const int64_t n = job->x->shape[0], end = (strip + 1) * STRIP < n ? (strip + 1) * STRIP : n;
    for (int64_t i = strip * STRIP; i < end; i++) {
        nearest q = {.t = job->t, .k = job->k, .own = job->self < 0 ? -1 : job->self + i, .far = job->far + i * job->k, .name = job->index + i * job->k};
        sbi_near_row(job->x, i, q.x);
        visit(&q, sbi_near_root(job->t), 0.0);
        order_heap(q.far, q.name, q.k);
    }
}

void sbi_near_nearest(const sbi_near_tree *t, const sb_array *x, int64_t k, int64_t self, double *far, int64_t *index) {
    nearest_job job = {t, x, k, self, far, index};
    sbi_pool_run(t->ctx->pool, sbi_groups(x->shape[0], STRIP), nearest_strip, &job);
}

// ---- within a radius

// The greatest number whose root is at most the radius: the root is monotone.
static double limit_of(double radius) {
    union { double value; uint64_t bits; } limit = {.value = radius * radius}, next;
    if (radius == __builtin_inf()) return radius;
    while (__builtin_sqrt(limit.value) > radius) limit.bits--;
    for (next.bits = limit.bits + 1; __builtin_sqrt(next.value) <= radius; next.bits++) limit = next;
    return limit.value;
}

sbi_near_ball sbi_near_ball_of(const sbi_near_tree *t, double radius) {
    return (sbi_near_ball){.t = t, .radius = radius, .limit = t->metric == SBI_EUCLIDEAN ? limit_of(radius) : radius};
}

bool sbi_near_outside(const sbi_near_ball *b, int64_t node) {
    double least = sbi_near_least(b->t, b->x, node);
    if (b->t->metric != SBI_MINKOWSKI) return least > b->limit;
    least = least > 0.0 ? least : 0.0;
    sbi_near_reach(b->t, 1, &least);
    return sbi_near_surely(least) > b->radius;
}

bool sbi_near_inside(const sbi_near_ball *b, int64_t node) {
    return b->t->metric != SBI_MINKOWSKI && sbi_near_most(b->t, b->x, node) <= b->limit;
}

uint32_t sbi_near_hits(const sbi_near_ball *b, sbi_near_node leaf, double *far) {
    const int64_t count = sbi_near_end(b->t, leaf) - sbi_near_start(leaf);
    uint32_t hits = 0;
    sbi_near_measure(b->t, b->x, leaf.first, far);
    if (b->t->metric == SBI_MINKOWSKI) sbi_near_reach(b->t, SBI_NEAR_ROWS, far);
    for (int l = 0; l < SBI_NEAR_ROWS; l++) hits |= (uint32_t)(far[l] <= b->limit) << l;
    return hits & ((UINT32_C(1) << count) - 1);
}

typedef struct finding {
    sbi_near_ball ball;
    int64_t enough, own, count;
    bool apart;  // distances are wanted
    double *far; // of what is found, and its numbers: NULL where it is only counted
    int64_t *name;
} finding;

static void find(finding *f, sbi_near_node n) {
    const sbi_near_tree *t = f->ball.t;
    if (f->count >= f->enough || sbi_near_outside(&f->ball, n.at)) return;
    const int64_t start = sbi_near_start(n), count = sbi_near_end(t, n) - start;
    if (!f->apart && f->own < 0 && sbi_near_inside(&f->ball, n.at)) {
        for (int64_t i = 0; f->name && i < count; i++) f->name[f->count + i] = t->name[start + i];
        f->count += count;
    } else if (sbi_near_leaf(n)) {
        double far[SBI_NEAR_ROWS];
        for (uint32_t hits = sbi_near_hits(&f->ball, n, far); hits; hits &= hits - 1) {
            const int l = __builtin_ctz(hits);
            if (t->name[start + l] == f->own) continue;
            if (f->apart) f->far[f->count] = t->metric == SBI_EUCLIDEAN ? __builtin_sqrt(far[l]) : far[l];
            if (f->name) f->name[f->count] = t->name[start + l];
            f->count++;
        }
    } else {
        sbi_near_node half[2];
        sbi_near_halves(n, half);
        find(f, half[0]);
        find(f, half[1]);
    }
}

typedef struct ball_job {
    const sb_array *x;
    finding each;
    int64_t self, *count; // counted
    const int64_t *start; // or listed
    double *far;
    int64_t *index;
} ball_job;

static void ball_strip(void *argument, int64_t strip) {
    const ball_job *job = argument;
    const int64_t n = job->x->shape[0], end = (strip + 1) * STRIP < n ? (strip + 1) * STRIP : n;
    for (int64_t i = strip * STRIP; i < end; i++) {
        finding f = job->each;
        f.own = job->self < 0 ? -1 : job->self + i;
        if (job->index) f.name = job->index + job->start[i];
        if (job->far) f.far = job->far + job->start[i];
        sbi_near_row(job->x, i, f.ball.x);
        find(&f, sbi_near_root(f.ball.t));
        if (job->count) job->count[i] = f.count;
        if (job->count) continue;
        make_heap(f.far, f.name, f.count);
        order_heap(f.far, f.name, f.count);
    }
}

void sbi_near_count(const sbi_near_tree *t, const sb_array *x, double radius, int64_t enough, int64_t *count) {
    ball_job job = {.x = x, .each = {.ball = sbi_near_ball_of(t, radius), .enough = enough}, .self = -1, .count = count};
    sbi_pool_run(t->ctx->pool, sbi_groups(x->shape[0], STRIP), ball_strip, &job);
}

void sbi_near_list(const sbi_near_tree *t, const sb_array *x, double radius, int64_t self, bool apart, const int64_t *start, double *far, int64_t *index) {
    ball_job job = {.x = x, .each = {.ball = sbi_near_ball_of(t, radius), .enough = INT64_MAX, .apart = apart}, .self = self, .start = start, .far = far, .index = index};
    sbi_pool_run(t->ctx->pool, sbi_groups(x->shape[0], STRIP), ball_strip, &job);
}
