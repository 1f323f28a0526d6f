// SPDX-License-Identifier: Apache-2.0
// Fuzz targets: each is a function of any bytes that must return, must give the same twice, and must hold what it MUSTs.
// libFuzzer calls one (fuzz_entry.c), the replay of the corpus calls all (fuzz_replay.c).
#ifndef SBI_FUZZ_H
#define SBI_FUZZ_H

#include "base.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_TARGETS(X) \
    X(json) X(safetensors) X(recipe) X(ledger) X(evidence) X(references) X(checkpoint) X(real) X(flags) X(messages) X(trace) X(npy) X(csv) X(svmlight) X(model) X(recording) X(npz)
#define FUZZ_DECLARE(name) void fuzz_##name(const uint8_t *data, size_t size);
FUZZ_TARGETS(FUZZ_DECLARE)

#define MUST(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

// Memory in which no single request may be large: a hostile size ends in SB_ERR_MEMORY, not in minutes of work.
extern const sbi_allocator fuzz_allocator;
// A context of one thread over such memory, made once.
sb_context *fuzz_context(void);

// The bytes as a file that can be opened again and again: its path, valid until the next call with this slot (0 .. 3).
const char *fuzz_file(int slot, const void *bytes, size_t size);
// A folder for this process, in memory where the machine has such; removed at the end.
const char *fuzz_folder(void);

// An error is whole: its status is the one returned, its message a line of printable ASCII.
void fuzz_error(sb_status status, const sb_error *err);
// A report of a comparison: a verdict that there is, text for people, JSON that reads.
void fuzz_report(const sb_report *report);
// Text for people: printable ASCII and newlines.
void fuzz_printable(const char *text);
#endif
