// SPDX-License-Identifier: Apache-2.0
// The tree of a trace's branches: see trace.h.
#include "trace.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 160 }; // a fork in a fork in a fork

struct sbi_trace_branch {
    sbi_allocator allocator;
    sbi_file *file;      // of the first branch; the others keep their lines
    char name[NAME];     // "" or "12.shard3."
    int rank;            // kinds in their order, then first and second
    int64_t first, second;
    int64_t line;        // the next one's number
    char *text;
    int64_t length, capacity;
    atomic_flag lock;    // of the list below
    sbi_trace_branch *children, *next; // of the fork that is open in this branch; brothers
};

static sbi_trace_branch *new_branch(const sbi_allocator *allocator, sb_error *err) {
    sbi_trace_branch *branch = sbi_allocate(allocator, 1, sizeof *branch, err);
    if (!branch) return NULL;
    branch->allocator = *allocator;
    atomic_flag_clear(&branch->lock);
    return branch;
}

static void free_branch(sbi_trace_branch *branch) {
    if (!branch) return;
    while (branch->children) {
        sbi_trace_branch *child = branch->children;
        branch->children = child->next;
        free_branch(child);
    }
    sbi_allocator allocator = branch->allocator;
    sbi_file_abandon(branch->file);
    sbi_release(&allocator, branch->text);
    sbi_release(&allocator, branch);
}

static sb_status add_bytes(sbi_trace_branch *branch, const char *bytes, int64_t length, sb_error *err) {
    if (branch->file) return sbi_named(sbi_file_write(branch->file, bytes, length, err), "trace", err);
    int64_t needed = branch->length + length;
    if (needed > branch->capacity) {
        int64_t capacity = needed > 2 * branch->capacity ? needed + 4096 : 2 * branch->capacity;
        char *text = sbi_allocate(&branch->allocator, capacity, 1, err);
        if (!text) return SB_ERR_MEMORY;
        if (branch->length) memcpy(text, branch->text, (size_t)branch->length);
        sbi_release(&branch->allocator, branch->text);
        branch->text = text;
        branch->capacity = capacity;
    }
    memcpy(branch->text + branch->length, bytes, (size_t)length);
    branch->length = needed;
    return SB_OK;
}

sb_status sbi_trace_open(const sbi_allocator *allocator, const char *path, sbi_trace_branch **out, sb_error *err) {
    char head[80];
    int length = snprintf(head, sizeof head, "{\"samebits\":\"trace\",\"format\":1,\"contract\":%d}\n", SB_CONTRACT);
    sbi_trace_branch *branch = new_branch(allocator, err);
    if (!branch) return SB_ERR_MEMORY;
    sb_status status = sbi_file_start(allocator, path, &branch->file, err);
    if (status == SB_OK) status = add_bytes(branch, head, length, err);
    if (status == SB_OK)
        *out = branch;
    else
        free_branch(branch);
    return status;
}

void sbi_trace_close(sbi_trace_branch *trace) { free_branch(trace); }

const char *sbi_trace_path(const sbi_trace_branch *trace) { return sbi_file_path(trace->file); }

void sbi_trace_place(const sbi_trace_branch *branch, char *out, size_t out_size) {
    snprintf(out, out_size, "%s%lld", branch->name, (long long)branch->line);
}

sb_status sbi_trace_add(sbi_trace_branch *branch, const char *line, int64_t length, sb_error *err) {
    branch->line++;
    return add_bytes(branch, line, length, err);
}

// ---- forks

sbi_trace_fork sbi_trace_split(sb_context *ctx) {
    return (sbi_trace_fork){ctx->trace, ctx->trace ? ctx->trace->line++ : 0};
}

sb_status sbi_trace_begin(const sbi_trace_fork *fork, sb_context *ctx, int rank, const char *kind, int64_t first,
                          int64_t second, sbi_trace_branch **before, sb_error *err) {
    *before = ctx->trace;
    sbi_trace_branch *parent = fork->branch;
    if (!parent) return SB_OK;
    sbi_trace_branch *branch = new_branch(&parent->allocator, err);
    if (!branch) return SB_ERR_MEMORY;
    char numbers[48];
    snprintf(numbers, sizeof numbers, second < 0 ? "%lld" : "%lld-%lld", (long long)first, (long long)second);
    int length = snprintf(branch->name, sizeof branch->name, "%s%lld.%s%s.", parent->name, (long long)fork->line, kind, numbers);
    if (length >= NAME) {
        free_branch(branch);
        return sbi_fail(err, SB_ERR_UNSUPPORTED, "trace", "the trace forks too deep");
    }
    branch->rank = rank;
    branch->first = first;
    branch->second = second;
    while (atomic_flag_test_and_set_explicit(&parent->lock, memory_order_acquire)) {}
    branch->next = parent->children;
    parent->children = branch;
    atomic_flag_clear_explicit(&parent->lock, memory_order_release);
    ctx->trace = branch;
    return SB_OK;
}

void sbi_trace_end(const sbi_trace_fork *fork, sb_context *ctx, sbi_trace_branch *before) {
    if (fork->branch) ctx->trace = before;
}

static bool comes_before(const sbi_trace_branch *a, const sbi_trace_branch *b) {
    if (a->rank != b->rank) return a->rank < b->rank;
    return a->first != b->first ? a->first < b->first : a->second < b->second;
}

// Merge sort of a list.
static sbi_trace_branch *sorted(sbi_trace_branch *list) {
    if (!list || !list->next) return list;
    sbi_trace_branch *half = list, *end = list->next;
    while (end && end->next) {
        half = half->next;
        end = end->next->next;
    }
    sbi_trace_branch *b = sorted(half->next), *out = NULL, **at = &out;
    half->next = NULL;
    for (sbi_trace_branch *a = sorted(list); a || b; at = &(*at)->next) {
        sbi_trace_branch **from = !b || (a && comes_before(a, b)) ? &a : &b;
        *at = *from;
        *from = (*from)->next;
    }
    return out;
}

sb_status sbi_trace_join(sbi_trace_fork *fork, sb_error *err) {
    sbi_trace_branch *parent = fork->branch;
    sb_status status = SB_OK;
    if (!parent) return SB_OK;
    *fork = (sbi_trace_fork){0};
    parent->children = sorted(parent->children);
    while (parent->children) {
        sbi_trace_branch *child = parent->children;
        if (status == SB_OK && child->length) status = add_bytes(parent, child->text, child->length, err);
        parent->children = child->next;
        free_branch(child);
    }
    return status;
}
