// SPDX-License-Identifier: Apache-2.0
// Verification: cells, the table of golden values, the run over lanes, fixtures and splits.
#ifndef SBI_VERIFY_H
#define SBI_VERIFY_H

#include "proof.h"
#include "report.h"

typedef enum sbi_cell_state {
    SBI_CELL_IDENTICAL, SBI_CELL_DIVERGENT, SBI_CELL_REFUSED, SBI_CELL_ABSENT, SBI_CELL_COMPUTED, SBI_CELL_STATES
} sbi_cell_state;
extern const char *const sbi_cell_state_names[SBI_CELL_STATES];

typedef struct sbi_cell {
    const char *lane, *fixture; // (of lanes and fixtures, or of the reference table)
    char name[48];
    sbi_cell_state state;
    bool hashed; // there is a digest
    uint8_t digest[32];
    char note[160]; // why it is not IDENTICAL
} sbi_cell;

typedef struct sbi_cells { // growing
    sbi_cell *items;
    int64_t count, capacity;
    bool failed; // out of memory
} sbi_cells;
sbi_cell *sbi_cells_add(sbi_cells *cells); // zeroed; NULL when out of memory
void sbi_cells_free(sbi_cells *cells);
void sbi_cells_sort(sbi_cells *cells); // by lane, fixture, name, bytewise
int sbi_cell_order(const sbi_cell *a, const sbi_cell *b);

// The table of golden values: a line "# samebits golden values, contract N", a line of column names, then
// lane, fixture, cell, SHA-256 in hexadecimal, separated by tabs, in ascending order.
typedef struct sbi_references {
    sbi_arena *arena;
    sbi_cell *rows;
    int64_t count;
    uint8_t digest[32]; // SHA-256 of the text
} sbi_references;
sb_status sbi_references_read(const char *text, size_t size, sbi_references *out, sb_error *err);
void sbi_references_free(sbi_references *references);
// The rows of a lane and fixture: the first and how many.
const sbi_cell *sbi_references_of(const sbi_references *references, const char *lane, const char *fixture, int64_t *count);
void sbi_references_write(const sbi_cells *cells, sbi_text *out); // sorted cells as such a table

// Runs one lane on one fixture (and, for lanes with rows, in splits), judges its cells and appends them.
// references NULL: none exist, cells become COMPUTED.
sb_status sbi_verify_lane(sb_context *ctx, const sbi_lane *lane, sbi_fixture fixture, uint64_t seed, int64_t nudge,
                          const sbi_references *references, sbi_cells *cells, sbi_lane_run *run, sb_error *err);

// The lanes that a tier or a list of names chooses, NULL-terminated, in the arena.
sb_status sbi_verify_choose(sbi_arena *arena, sb_tier tier, const char *names, const sbi_lane ***out, int64_t *count, sb_error *err);

bool sbi_lane_in_tier(const sbi_lane *lane, sb_tier tier);

sb_status sbi_verify(sb_context *ctx, const sb_verify_options *options, sb_report **out, sb_error *err);
sb_status sbi_selftest(sb_context *ctx, const sb_verify_options *options, sb_report **out, sb_error *err);

// evidence.c: writes the document. references: the digest of what cells were held against, or NULL; more: further members, each
// with the comma before it.
void sbi_evidence_write(const sb_context *ctx, uint64_t seed, const char *tier, const uint8_t *references, const char *date,
                        const sbi_cells *cells, const char *more, sbi_text *json);

// file_digest.c
sb_status sbi_digest_file(const char *path, uint8_t bytes[32], uint8_t tree[32], int64_t *arrays, sb_error *err);

// compare.c
enum { SBI_AGREE = 0, SBI_DIFFER = 1, SBI_INCOMPARABLE = 3, SBI_SAME_FILE = 4 };
sb_status sbi_compare(int count, const char *const *paths, sb_report **out, sb_error *err);
#endif
