// SPDX-License-Identifier: Apache-2.0
// A line of a trace, written from the record alone, so that every device that carries it out writes the same one.
#include "trace_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SLOTS(name) (int)(sizeof((sbi_op *)0)->name / sizeof *((sbi_op *)0)->name)
enum { INS = SLOTS(in), OUTS = SLOTS(out), NUMBERS = SLOTS(n), WORDS = SLOTS(u), REALS = SLOTS(r) };

// What one line can need: the place, the numbers, and lists of arrays with 8 sizes and a hash each.
_Static_assert(sizeof((sbi_trace_line *)0)->text >= 512 + NUMBERS * 21 + WORDS * 20 + REALS * 20 +
                                                        (INS + 2 * OUTS) * (SB_MAX_DIMS * 21 + 128),
               "a line of the largest record has room");

static void SBI_PRINTF(2, 3) add(sbi_trace_line *line, const char *format, ...) {
    size_t room = sizeof line->text - (size_t)line->length;
    va_list list;
    va_start(list, format);
    int length = vsnprintf(line->text + line->length, room, format, list);
    va_end(list);
    line->length += length < (int)room ? length : (int)room - 1;
}

static void add_bits(sbi_trace_line *line, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add(line, "\"%016llx\"", (unsigned long long)bits);
}

static sb_status add_array(sb_context *ctx, sbi_trace_line *line, const sb_array *a, sb_error *err) {
    uint8_t digest[32];
    char hex[65];
    sb_status status = sbi_digest_arrays(ctx, 1, (const char *const[]){""}, &a, digest, err);
    if (status != SB_OK) return status;
    sbi_hex(digest, sizeof digest, hex);
    add(line, "{\"dtype\":\"%s\",\"shape\":[", sbi_dtype_name(a->dtype));
    for (int i = 0; i < a->ndim; i++) add(line, i ? ",%lld" : "%lld", (long long)a->shape[i]);
    add(line, "],\"sha256\":\"%s\"}", hex);
    return SB_OK;
}

// A list of arrays, null where there is none (or where `which` leaves it out), without nulls at its end.
static sb_status add_arrays(sb_context *ctx, sbi_trace_line *line, const char *name, const sb_array *const *arrays,
                            int count, unsigned which, sb_error *err) {
    sb_status status = SB_OK;
    while (count > 0 && !(arrays[count - 1] && which >> (count - 1) & 1)) count--;
    add(line, ",\"%s\":[", name);
    for (int i = 0; i < count && status == SB_OK; i++) {
        add(line, "%s", i ? "," : "");
        if (arrays[i] && which >> i & 1)
            status = add_array(ctx, line, arrays[i], err);
        else
            add(line, "null");
    }
    add(line, "]");
    return status;
}

sb_status sbi_trace_inputs(sb_context *ctx, const sbi_op *op, sbi_trace_line *line, sb_error *err) {
    static const double zero = 0.0;
    char place[192];
    int numbers = NUMBERS, words = WORDS, reals = REALS; // without the zeros at the end
    line->length = 0;
    sbi_trace_place(ctx->trace, place, sizeof place);
    add(line, "{\"at\":\"%s\",\"op\":\"%s\",\"n\":[", place, sbi_op_names[op->id]);
    while (numbers > 0 && op->n[numbers - 1] == 0) numbers--;
    for (int i = 0; i < numbers; i++) add(line, i ? ",%lld" : "%lld", (long long)op->n[i]);
    add(line, "],\"u\":[");
    while (words > 0 && op->u[words - 1] == 0) words--;
    for (int i = 0; i < words; i++) add(line, "%s\"%016llx\"", i ? "," : "", (unsigned long long)op->u[i]);
    add(line, "],\"r\":[");
    while (reals > 0 && memcmp(&op->r[reals - 1], &zero, sizeof zero) == 0) reals--;
    for (int i = 0; i < reals; i++) {
        add(line, "%s", i ? "," : "");
        add_bits(line, op->r[i]);
    }
    add(line, "]");
    sb_status status = add_arrays(ctx, line, "in", op->in, INS, ~0u, err);
    if (status == SB_OK) status = add_arrays(ctx, line, "kept", (const sb_array *const *)op->out, OUTS, op->keeps, err);
    return status;
}

sb_status sbi_trace_result(sb_context *ctx, const sbi_op *op, sbi_trace_line *line, sb_error *err) {
    sb_status status = add_arrays(ctx, line, "out", (const sb_array *const *)op->out, OUTS, ~0u, err);
    if (status == SB_OK && op->real_out) {
        add(line, ",\"real\":");
        add_bits(line, *op->real_out);
    }
    add(line, "}\n");
    return status == SB_OK ? sbi_trace_add(ctx->trace, line->text, line->length, err) : status;
}
