// SPDX-License-Identifier: Apache-2.0
// shard: a step is K logical shards, part of the recipe and never of the hardware. Their gradients
// combine by a fixed tree over shard numbers (T10), wherever they were computed: here, on threads;
// in other processes, by messages.
#ifndef SBI_SHARD_H
#define SBI_SHARD_H

#include "ops.h"

// ---- tree.c
// Level 0 has the K shards. Level l + 1 has ceil(n / 2) nodes: node i is RN32(left + right) of
// nodes 2i and 2i + 1 of level l, element by element; a last one without a right neighbour passes
// up unchanged. The one node of the last level is the step's gradient. A node combines as soon as
// both sides are there, so few sets of gradients live at a time: about log2 K, and one for each
// thread.
typedef struct sbi_gradient {
    sb_array *flat; // what combines
    void *views;    // the maker's
    struct sbi_gradient *next;
    int level; // its place in the tree while it waits
    int64_t index;
} sbi_gradient;

typedef struct sbi_shard_job {
    int64_t shards; // K
    void *user;
    sb_status (*make)(void *user, sbi_gradient *out, sb_error *err); // allocates flat and views
    void (*drop)(void *user, sbi_gradient *gradient);
    // Computes one shard on a context and slot that no other call uses meanwhile: the gradient
    // (every element written) and the undivided loss in binary64.
    sb_status (*compute)(void *user, sb_context *ctx, int slot, int64_t shard, sbi_gradient *out,
                         double *loss, sb_error *err);
} sbi_shard_job;

typedef struct sbi_tree sbi_tree;

// A tree for a process that computes shards first .. first + count - 1 (count 0: none, it only
// combines what it gets). Whole shards go to threads where there are as many shards as threads:
// then each slot has a context of its own with one thread. Else there is one slot, and its
// operations use all threads.
sb_status sbi_tree_new(sb_context *ctx, const sbi_shard_job *job, int64_t first, int64_t count,
                       sbi_tree **out, sb_error *err);
int sbi_tree_slots(const sbi_tree *tree);
void sbi_tree_free(sbi_tree *tree);
// Computes the shards of the range and combines what the range holds; losses[K], written at the
// shards computed. Of several failures the one of the lowest shard is reported.
sb_status sbi_tree_compute(sbi_tree *tree, double *losses, sb_error *err);
// A spare gradient to fill with a node from another process, and the node's entry into the tree
// (also on failure it belongs to the tree again).
sb_status sbi_tree_spare(sbi_tree *tree, sbi_gradient **out, sb_error *err);
void sbi_tree_give(sbi_tree *tree, sbi_gradient *gradient); // a spare one back, unused
sb_status sbi_tree_add(sbi_tree *tree, sbi_gradient *gradient, int level, int64_t index,
                       sb_error *err);
// Nodes that wait for a side from elsewhere, one after another (NULL, then the last returned); the
// step's gradient, once everything is in (else NULL).
sbi_gradient *sbi_tree_waiting(sbi_tree *tree, sbi_gradient *after);
sbi_gradient *sbi_tree_root(sbi_tree *tree);
// How many nodes a process with these shards of K is left with: what it sends to the others.
int64_t sbi_tree_loose(int64_t shards, int64_t first, int64_t count);
void sbi_tree_reset(sbi_tree *tree); // everything becomes spare: the next step

// ---- message.c
// Framed messages between processes of one machine (host byte order).
typedef enum sbi_message_kind {
    SBI_MESSAGE_START = 1, // down: everything a worker must know
    SBI_MESSAGE_READY,     // up
    SBI_MESSAGE_STEP,      // down: a = step
    SBI_MESSAGE_LOSSES,    // up: binary64 losses of the worker's shards
    SBI_MESSAGE_NODE,      // up: a = level, b = index; the elements
    SBI_MESSAGE_GRADIENT,  // down: the combined gradient
    SBI_MESSAGE_STATE,     // up: digest of the worker's state after the step
    SBI_MESSAGE_ERROR,     // up: an sb_error
    SBI_MESSAGE_END        // down
} sbi_message_kind;

typedef struct sbi_message {
    uint32_t magic, kind;
    int64_t a, b, bytes;
} sbi_message;

sb_status sbi_message_send(int socket, sbi_message_kind kind, int64_t a, int64_t b,
                           const void *payload, int64_t bytes, sb_error *err);
// Receives the header; the payload follows by sbi_socket_receive. A kind other than `expected` is
// an error (SBI_MESSAGE_ERROR: the sender's own error).
sb_status sbi_message_receive(int socket, sbi_message_kind expected, sbi_message *out,
                              sb_error *err);
sb_status sbi_message_receive_any(int socket, sbi_message *out, sb_error *err);
#endif
