// SPDX-License-Identifier: Apache-2.0
// The order of a trace's lines (docs/trace.md). A trace is a tree of branches: the first is the context's own and goes
// to the file, line by line; the others are work that schedule may move between threads (shards of a step, nodes of their
// tree). They are opened in a fork, may run at once on contexts of their own, and keep their lines until the fork is
// joined: then they follow in the order of their names. So the file is the same, byte for byte, for any number of threads.
//
// A line's place is its branch's name and its number there: "12", "12.shard3.5", "12.node1-0.0".
#ifndef SBI_TRACE_H
#define SBI_TRACE_H

#include "array.h"

typedef struct sbi_trace_branch sbi_trace_branch;

sb_status sbi_trace_open(const sbi_allocator *allocator, const char *path, sbi_trace_branch **out, sb_error *err);
void sbi_trace_close(sbi_trace_branch *trace); // the first branch, or NULL
const char *sbi_trace_path(const sbi_trace_branch *trace);

// The next line's place, and the line, whole, with its newline.
void sbi_trace_place(const sbi_trace_branch *branch, char *out, size_t out_size);
sb_status sbi_trace_add(sbi_trace_branch *branch, const char *line, int64_t length, sb_error *err);

// Work on several contexts: fork on the one that has the trace, then for each piece begin and end on the context that does
// it, then join. Without a trace nothing happens. kind is in the order of its text; first, second: >= 0, or -1 (none).
typedef struct sbi_trace_fork {
    sbi_trace_branch *branch; // NULL: no fork is open
    int64_t line;
} sbi_trace_fork;
sbi_trace_fork sbi_trace_split(sb_context *ctx);
sb_status sbi_trace_begin(const sbi_trace_fork *fork, sb_context *ctx, int rank, const char *kind, int64_t first,
                          int64_t second, sbi_trace_branch **before, sb_error *err);
void sbi_trace_end(const sbi_trace_fork *fork, sb_context *ctx, sbi_trace_branch *before);
sb_status sbi_trace_join(sbi_trace_fork *fork, sb_error *err);
#endif
