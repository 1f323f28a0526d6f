// SPDX-License-Identifier: Apache-2.0
// A k-d tree of points, so that a search in few dimensions need not look at all of them. near_tree.c says why no result can differ.
#ifndef SBI_NEAR_TREE_H
#define SBI_NEAR_TREE_H

#include "ops.h"

enum { SBI_NEAR_ROWS = 16, SBI_NEAR_FEATURES = 32 }; // points of a leaf; the most features

typedef struct sbi_near_tree {
    sb_context *ctx;
    sbi_metric metric;
    double p;
    int64_t m, d, leaves, half; // half: the first step of a sum of d terms
    double *value;              // [leaves, d, 16]: the points of a leaf, feature by feature
    int64_t *name;              // [leaves, 16]: their numbers
    double *low, *high;         // [nodes, d]: the box of a node's points
    int64_t *least;             // [nodes]: the least of their numbers
} sbi_near_tree;

// Of m points in all, those of leaves first .. end - 1. Nodes are numbered parent, left, right, all of left before right.
typedef struct sbi_near_node { int64_t at, first, end; } sbi_near_node;
static inline sbi_near_node sbi_near_root(const sbi_near_tree *t) { return (sbi_near_node){0, 0, t->leaves}; }
static inline bool sbi_near_leaf(sbi_near_node n) { return n.end - n.first == 1; }
static inline void sbi_near_halves(sbi_near_node n, sbi_near_node half[2]) {
    const int64_t middle = n.first + (n.end - n.first) / 2;
    half[0] = (sbi_near_node){n.at + 1, n.first, middle};
    half[1] = (sbi_near_node){n.at + 2 * (middle - n.first), middle, n.end};
}
static inline int64_t sbi_near_start(sbi_near_node n) { return n.first * SBI_NEAR_ROWS; } // places of its points
static inline int64_t sbi_near_end(const sbi_near_tree *t, sbi_near_node n) {
    return n.end * SBI_NEAR_ROWS < t->m ? n.end * SBI_NEAR_ROWS : t->m;
}

// ---- near_tree.c
// How many features a tree is faster in than a look at all points: measured at 100,000 to 400,000 points, up to 64 neighbours; of
// clusters, whose counts end early, at 200,000 x 16.
static inline int64_t sbi_near_few(sbi_metric metric) { return metric == SBI_EUCLIDEAN ? 8 : 12; }
enum { SBI_NEAR_FEW_OF_CLUSTERS = 16 };
// The tree of points c[m, d], where it serves searches of rows x[n, d] and d is at most `features`; else *out is NULL, and all points
// are to be looked at. c need not outlive the call.
sb_status sbi_near_tree_new(sb_context *ctx, const sb_array *x, const sb_array *c, sbi_metric metric, double p, int64_t features,
                            sbi_near_tree **out, sb_error *err);
void sbi_near_tree_free(sbi_near_tree *t); // NULL is fine
// far[16]: how far x[d] is from the points of a leaf, before the last step: the bits of kernels/neighbors.cl.
void sbi_near_measure(const sbi_near_tree *t, const double *x, int64_t leaf, double *far);
// The least that computed value can be for a point of the node; the most (metrics but MINKOWSKI).
double sbi_near_least(const sbi_near_tree *t, const double *x, int64_t node);
double sbi_near_most(const sbi_near_tree *t, const double *x, int64_t node);
// The last step, of `count` at most 32 values in place.
void sbi_near_reach(const sbi_near_tree *t, int64_t count, double *far);
void sbi_near_row(const sb_array *x, int64_t row, double *out); // a row as doubles

double sbi_near_surely(double value); // of a power: what a greater operand's is computed as, at least

// ---- near_search.c: searches, of each row of x[n, d]
// As sbi_neighbors: far[n, k], index[n, k].
void sbi_near_nearest(const sbi_near_tree *t, const sb_array *x, int64_t k, int64_t self, double *far, int64_t *index);
// count[n]: how many points are at most radius away; where there are `enough`, some number from there on.
void sbi_near_count(const sbi_near_tree *t, const sb_array *x, double radius, int64_t enough, int64_t *count);
// Their numbers, into index[start[i] ..], room for as many as they are: with `apart` by their distances (far), then by number; else
// ascending, and far is zeros. self not negative: row i's own point, self + i, is left out.
void sbi_near_list(const sbi_near_tree *t, const sb_array *x, double radius, int64_t self, bool apart, const int64_t *start, double *far, int64_t *index);

// The points that are at most a radius away from x.
typedef struct sbi_near_ball {
    const sbi_near_tree *t;
    double x[SBI_NEAR_FEATURES], radius, limit; // limit: before the last step
} sbi_near_ball;
sbi_near_ball sbi_near_ball_of(const sbi_near_tree *t, double radius); // x is to be filled
bool sbi_near_outside(const sbi_near_ball *b, int64_t node);           // surely all of the node's points are
bool sbi_near_inside(const sbi_near_ball *b, int64_t node);
// A bit for each of a leaf's points that is inside. far[16]: their distances, of EUCLIDEAN the squares.
uint32_t sbi_near_hits(const sbi_near_ball *b, sbi_near_node leaf, double *far);

// ---- near_groups.c
// Sets of places by union and find: root[i] is another place of i's set, at most i; of the set's root itself.
static inline int64_t sbi_find_root(int64_t *root, int64_t i) {
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
}
static inline int64_t sbi_join_roots(int64_t *root, int64_t a, int64_t b) { return a < b ? (root[b] = a) : (root[a] = b); }
// group[m]: of the points that chains of points at most radius apart connect, the least number.
sb_status sbi_near_groups(const sbi_near_tree *t, double radius, int64_t *group, sb_error *err);
#endif
