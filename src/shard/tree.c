// SPDX-License-Identifier: Apache-2.0
// The fixed tree over shard numbers, and the threads that fill it. Which thread computes or
// combines what, and when, is schedule; the pairs and the order left + right are the tree's.
#include "shard.h"
#include "trace.h"

#include <stdatomic.h>
#include <string.h>

typedef struct slot {
    struct sbi_tree *tree;
    sb_context *ctx; // owned unless it is the tree's own
    int number;
} slot;

struct sbi_tree {
    sb_context *ctx;
    sbi_shard_job job;
    int64_t first, count;
    int slot_count;
    slot *slots;
    double *losses; // of the step under way
    sbi_trace_fork fork; // its shards and nodes in a trace
    // Guarded by the lock, which is held for a few pointer moves at a time:
    atomic_flag lock;
    int64_t next; // the next shard to compute
    sbi_gradient *spare, *waiting, *root;
    int64_t failed_shard; // the lowest, or -1
    sb_error failure;
};

static void lock(sbi_tree *tree) {
    while (atomic_flag_test_and_set_explicit(&tree->lock, memory_order_acquire)) {
    }
}

static void unlock(sbi_tree *tree) {
    atomic_flag_clear_explicit(&tree->lock, memory_order_release);
}

void sbi_tree_free(sbi_tree *tree) {
    if (!tree) return;
    sbi_tree_reset(tree);
    for (sbi_gradient *g = tree->spare, *next; g; g = next) {
        next = g->next;
        tree->job.drop(tree->job.user, g);
        sbi_release(&tree->ctx->allocator, g);
    }
    if (tree->slots)
        for (int i = 0; i < tree->slot_count; i++)
            if (tree->slots[i].ctx != tree->ctx) sbi_context_free(tree->slots[i].ctx);
    sbi_release(&tree->ctx->allocator, tree->slots);
    sbi_release(&tree->ctx->allocator, tree);
}

sb_status sbi_tree_new(sb_context *ctx, const sbi_shard_job *job, int64_t first, int64_t count,
                       sbi_tree **out, sb_error *err) {
    *out = NULL;
    if (job->shards < 1 || first < 0 || count < 0 || count > job->shards ||
        first > job->shards - count)
        return sbi_fail(err, SB_ERR_ARGUMENT, "shards", "shards %lld + %lld are not among %lld",
                        (long long)first, (long long)count, (long long)job->shards);
    sbi_tree *tree = sbi_allocate(&ctx->allocator, 1, sizeof *tree, err);
    if (!tree) return SB_ERR_MEMORY;
    tree->ctx = ctx;
    tree->job = *job;
    tree->first = first;
    tree->count = count;
    atomic_flag_clear(&tree->lock);
    int threads = sbi_pool_threads(ctx->pool);
    tree->slot_count = threads > 1 && count >= threads ? threads : 1;
    tree->slots = sbi_allocate(&ctx->allocator, tree->slot_count, sizeof *tree->slots, err);
    sb_status status = tree->slots ? SB_OK : SB_ERR_MEMORY;
    for (int i = 0; i < tree->slot_count && status == SB_OK; i++) {
        tree->slots[i] = (slot){.tree = tree, .number = i};
        if (tree->slot_count == 1)
            tree->slots[i].ctx = ctx;
        else
            status = sbi_context_share(ctx, 1, &tree->slots[i].ctx, err);
    }
    if (status == SB_OK)
        *out = tree;
    else
        sbi_tree_free(tree);
    return status;
}

int sbi_tree_slots(const sbi_tree *tree) { return tree->slot_count; }

sb_status sbi_tree_spare(sbi_tree *tree, sbi_gradient **out, sb_error *err) {
    lock(tree);
    sbi_gradient *g = tree->spare;
    if (g) tree->spare = g->next;
    unlock(tree);
    sb_status status = SB_OK;
    if (!g) {
        g = sbi_allocate(&tree->ctx->allocator, 1, sizeof *g, err);
        status = g ? tree->job.make(tree->job.user, g, err) : SB_ERR_MEMORY;
        if (status != SB_OK) {
            sbi_release(&tree->ctx->allocator, g);
            g = NULL;
        }
    }
    *out = g;
    return status;
}

static void give(sbi_tree *tree, sbi_gradient **list, sbi_gradient *g) {
    lock(tree);
    g->next = *list;
    *list = g;
    unlock(tree);
}

void sbi_tree_give(sbi_tree *tree, sbi_gradient *gradient) { give(tree, &tree->spare, gradient); }

enum { SHARD, NODE }; // in the order of a trace

// Adds a node and combines upwards as far as both sides are there.
static sb_status enter(sbi_tree *tree, sb_context *ctx, sbi_gradient *g, int level, int64_t index,
                       sb_error *err) {
    int64_t nodes = tree->job.shards; // of this level
    for (int l = 0; l < level; l++) nodes = nodes / 2 + nodes % 2;
    if (index < 0 || index >= nodes) {
        give(tree, &tree->spare, g);
        return sbi_fail(err, SB_ERR_ARGUMENT, "index", "level %d of the tree has no node %lld",
                        level, (long long)index);
    }
    for (;; level++, index /= 2, nodes = nodes / 2 + nodes % 2) {
        g->level = level;
        g->index = index;
        if (nodes == 1) {
            lock(tree);
            tree->root = g;
            unlock(tree);
            return SB_OK;
        }
        if (index == nodes - 1 && index % 2 == 0) continue; // the last odd one passes up
        lock(tree);
        sbi_gradient **at = &tree->waiting;
        while (*at && ((*at)->level != level || (*at)->index != (index ^ 1))) at = &(*at)->next;
        sbi_gradient *sibling = *at;
        if (sibling) {
            *at = sibling->next;
        } else {
            g->next = tree->waiting;
            tree->waiting = g;
        }
        unlock(tree);
        if (!sibling) return SB_OK;
        sbi_gradient *left = index % 2 ? sibling : g, *right = index % 2 ? g : sibling;
        sbi_trace_branch *before;
        sb_status status = sbi_trace_begin(&tree->fork, ctx, NODE, "node", level + 1, index / 2, &before, err);
        if (status == SB_OK) status = sbi_binary(ctx, SB_ADD, left->flat, right->flat, left->flat, err);
        sbi_trace_end(&tree->fork, ctx, before);
        give(tree, &tree->spare, right);
        if (status != SB_OK) {
            give(tree, &tree->spare, left);
            return status;
        }
        g = left;
    }
}

sb_status sbi_tree_add(sbi_tree *tree, sbi_gradient *gradient, int level, int64_t index,
                       sb_error *err) {
    return enter(tree, tree->ctx, gradient, level, index, err);
}

static void fill_slot(void *argument, int64_t number) {
    slot *s = (slot *)argument + number;
    sbi_tree *tree = s->tree;
    for (;;) {
        lock(tree);
        int64_t shard =
            tree->failed_shard < 0 && tree->next < tree->first + tree->count ? tree->next++ : -1;
        unlock(tree);
        if (shard < 0) return;
        sb_error failure = {0};
        sbi_gradient *g = NULL;
        sb_status status = sbi_tree_spare(tree, &g, &failure);
        if (status == SB_OK) {
            sbi_trace_branch *before;
            status = sbi_trace_begin(&tree->fork, s->ctx, SHARD, "shard", shard, -1, &before, &failure);
            if (status == SB_OK)
                status = tree->job.compute(tree->job.user, s->ctx, s->number, shard, g,
                                           &tree->losses[shard], &failure);
            sbi_trace_end(&tree->fork, s->ctx, before);
            if (status == SB_OK)
                status = enter(tree, s->ctx, g, 0, shard, &failure);
            else
                give(tree, &tree->spare, g);
        }
        if (status != SB_OK) {
            lock(tree);
            if (tree->failed_shard < 0 || shard < tree->failed_shard) {
                tree->failed_shard = shard;
                tree->failure = failure;
                tree->failure.status = status;
            }
            unlock(tree);
        }
    }
}

sb_status sbi_tree_compute(sbi_tree *tree, double *losses, sb_error *err) {
    tree->losses = losses;
    tree->next = tree->first;
    tree->failed_shard = -1;
    tree->fork = sbi_trace_split(tree->ctx);
    if (tree->slot_count == 1)
        fill_slot(tree->slots, 0);
    else
        sbi_pool_run(tree->ctx->pool, tree->slot_count, fill_slot, tree->slots);
    sb_status status = sbi_trace_join(&tree->fork, err);
    if (tree->failed_shard < 0) return status;
    if (err) *err = tree->failure;
    return tree->failure.status;
}

sbi_gradient *sbi_tree_waiting(sbi_tree *tree, sbi_gradient *after) {
    return after ? after->next : tree->waiting;
}

sbi_gradient *sbi_tree_root(sbi_tree *tree) { return tree->root; }

int64_t sbi_tree_loose(int64_t shards, int64_t first, int64_t count) {
    int64_t low = first, high = first + count,
            loose = 0; // the complete nodes of a level of `nodes`
    for (int64_t nodes = shards; low < high; nodes = nodes / 2 + nodes % 2) {
        if (nodes == 1) return loose + 1;
        if (low % 2 == 1) {
            loose++;
            low++;
        }
        if (high % 2 == 1 && high != nodes && low < high) {
            loose++;
            high--;
        }
        low /= 2;
        high = high / 2 + high % 2;
    }
    return loose;
}

void sbi_tree_reset(sbi_tree *tree) {
    while (tree->waiting) {
        sbi_gradient *g = tree->waiting;
        tree->waiting = g->next;
        give(tree, &tree->spare, g);
    }
    if (tree->root) {
        give(tree, &tree->spare, tree->root);
        tree->root = NULL;
    }
}
