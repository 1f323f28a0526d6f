// SPDX-License-Identifier: Apache-2.0
// One line of a trace: an operation's record with the hashes of its arrays before and after (docs/trace.md).
#ifndef SBI_TRACE_LINE_H
#define SBI_TRACE_LINE_H

#include "ops.h"
#include "trace.h"

typedef struct sbi_trace_line {
    char text[8192]; // as far as it is known
    int length;
} sbi_trace_line;

sb_status sbi_trace_inputs(sb_context *ctx, const sbi_op *op, sbi_trace_line *line, sb_error *err);
// After the operation: completes the line and adds it to the context's trace.
sb_status sbi_trace_result(sb_context *ctx, const sbi_op *op, sbi_trace_line *line, sb_error *err);
#endif
