// SPDX-License-Identifier: Apache-2.0
// Which points chains of near ones connect, by a k-d tree.
//
// Sets of points, by union and find over places in the tree. A node whose box is no wider than the radius from corner to corner is one set
// from the start (no difference of two of its points is computed as more than that of the corners: near_tree.c). Then each point is joined
// with those before it that are near; what is already in its set is passed over, whole nodes where they are known to be one set. A
// thread has sets of its own, of the points it looked at; in the end they are joined. The result is a partition: no order of joining reaches it.
#include "near_tree.h"

#include <string.h>

enum { MOST_MEMBERS = 8, STRIP = 4 }; // leaves of points a member takes at a time

typedef struct member {
    const sbi_near_tree *t;
    sbi_near_ball ball;
    int64_t first, step; // its strips of leaves
    int64_t *root;       // of each place, another of its set, at most itself
    uint8_t *whole;      // of each node: it is one set
} member;

// Nodes that are one set by their size alone.
static void begin(member *m, sbi_near_node n) {
    const int64_t start = sbi_near_start(n), end = sbi_near_end(m->t, n);
    memcpy(m->ball.x, m->t->low + n.at * m->t->d, (size_t)m->t->d * sizeof(double));
    if (sbi_near_inside(&m->ball, n.at)) {
        memset(m->whole + n.at, 1, (size_t)(2 * (n.end - n.first) - 1)); // (and all below it)
        for (int64_t i = start; i < end; i++) m->root[i] = start;
    } else if (!sbi_near_leaf(n)) {
        sbi_near_node half[2];
        sbi_near_halves(n, half);
        begin(m, half[0]);
        begin(m, half[1]);
    }
}

// Joins the point at `place`, of the set *own, with the near ones of the node's that come before it.
static void look(member *m, sbi_near_node n, int64_t place, int64_t *own) {
    const int64_t start = sbi_near_start(n), end = sbi_near_end(m->t, n);
    if (start >= place || (m->whole[n.at] && sbi_find_root(m->root, start) == *own) || sbi_near_outside(&m->ball, n.at)) return;
    if (sbi_near_leaf(n)) {
        double far[SBI_NEAR_ROWS];
        uint32_t hits = sbi_near_hits(&m->ball, n, far);
        if (place < end) hits &= (UINT32_C(1) << (place - start)) - 1;
        if (!hits) return;
        for (; hits; hits &= hits - 1) *own = sbi_join_roots(m->root, *own, sbi_find_root(m->root, start + __builtin_ctz(hits)));
        for (int64_t i = start; i < end; i++)
            if (sbi_find_root(m->root, i) != *own) return;
        m->whole[n.at] = 1;
        return;
    }
    sbi_near_node half[2];
    sbi_near_halves(n, half);
    for (int i = 1; i >= 0; i--) look(m, half[i], place, own); // (the nearer places first)
    m->whole[n.at] = m->whole[half[0].at] && m->whole[half[1].at] && sbi_find_root(m->root, sbi_near_start(half[0])) == sbi_find_root(m->root, sbi_near_start(half[1]));
}

static void look_strips(void *argument, int64_t index) {
    member *m = (member *)argument + index;
    const sbi_near_tree *t = m->t;
    for (int64_t leaf = m->first; leaf < t->leaves; leaf += leaf % STRIP == STRIP - 1 ? m->step - STRIP + 1 : 1) {
        const int64_t start = leaf * SBI_NEAR_ROWS, end = start + SBI_NEAR_ROWS < t->m ? start + SBI_NEAR_ROWS : t->m;
        for (int64_t i = start; i < end; i++) {
            int64_t own = sbi_find_root(m->root, i);
            for (int64_t j = 0; j < t->d; j++) m->ball.x[j] = t->value[(leaf * t->d + j) * SBI_NEAR_ROWS + i - start];
            look(m, sbi_near_root(t), i, &own);
        }
    }
}

// group: the least number of each point's set.
static void name_sets(const sbi_near_tree *t, int64_t *root, int64_t *group) {
    for (int64_t i = 0; i < t->m; i++) group[i] = t->m;
    for (int64_t i = 0; i < t->m; i++) { // by the number of the root, first
        int64_t *least = &group[t->name[sbi_find_root(root, i)]];
        if (t->name[i] < *least) *least = t->name[i];
    }
    for (int64_t i = 0; i < t->m; i++) group[t->name[i]] = group[t->name[sbi_find_root(root, i)]];
}

sb_status sbi_near_groups(const sbi_near_tree *t, double radius, int64_t *group, sb_error *err) {
    const sbi_allocator *allocator = &t->ctx->allocator;
    const int64_t nodes = 2 * t->leaves - 1, threads = sbi_pool_threads(t->ctx->pool), count = threads < MOST_MEMBERS ? threads : MOST_MEMBERS;
    member members[MOST_MEMBERS];
    int64_t *root = sbi_allocate(allocator, count * t->m, sizeof *root, err);
    uint8_t *whole = root ? sbi_allocate(allocator, count * nodes, 1, err) : NULL;
    if (whole) {
        for (int64_t i = 0; i < count; i++)
            members[i] = (member){t, sbi_near_ball_of(t, radius), i * STRIP, count * STRIP, root + i * t->m, whole + i * nodes};
        for (int64_t i = 0; i < t->m; i++) root[i] = i;
        begin(members, sbi_near_root(t));
        for (int64_t i = 1; i < count; i++) {
            memcpy(members[i].root, root, (size_t)t->m * sizeof *root);
            memcpy(members[i].whole, whole, (size_t)nodes);
        }
        sbi_pool_run(t->ctx->pool, count, look_strips, members);
        for (int64_t i = 1; i < count; i++)
            for (int64_t j = 0; j < t->m; j++) sbi_join_roots(root, sbi_find_root(root, j), sbi_find_root(root, members[i].root[j]));
        name_sets(t, root, group);
    }
    sbi_release(allocator, root);
    sbi_release(allocator, whole);
    return whole ? SB_OK : SB_ERR_MEMORY;
}
