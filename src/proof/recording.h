// SPDX-License-Identifier: Apache-2.0
// A recording: models one after another, and what they made of an input. See docs/replay.md.
#ifndef SBI_RECORDING_H
#define SBI_RECORDING_H

#include "learn.h"
#include "report.h"

enum { SBI_STEPS = 32, SBI_STEP_NAME = 64 }; // the most of one recording; bytes of a step's name

typedef struct sbi_recorded { // an array, known by its digest
    sb_dtype dtype;
    int ndim;
    int64_t shape[SB_MAX_DIMS];
    uint8_t digest[32]; // T10, of one array without a name
} sbi_recorded;

typedef struct sbi_step {
    char name[SBI_STEP_NAME], method[SBI_NAME];
    const sb_model *model;
    sb_model *owned; // the same, of a recording that was read
    uint8_t digest[32];
    sbi_recorded output;
} sbi_step;

// What a row of the last output decides: nothing, a class (whole numbers), its largest column, or whether its last one
// reaches the threshold.
typedef enum sbi_decision { SBI_DECIDES_NOTHING, SBI_DECIDES_CLASS, SBI_DECIDES_LARGEST, SBI_DECIDES_THRESHOLD, SBI_DECISIONS } sbi_decision;
extern const char *const sbi_decision_names[SBI_DECISIONS];

typedef struct sbi_recording {
    sbi_step steps[SBI_STEPS];
    int count;
    sbi_recorded input;
    sbi_decision decision;
    double threshold;
    const char *note;       // "" if none
    char *kept_note;        // the same, of a recording that was read
    char release[32];       // that wrote it
    sb_array *x, *y;        // input and last output; NULL where only hashes are kept
    uint8_t id[32];         // SHA-256 of the descriptor: the same with values and without
} sbi_recording;

void sbi_recording_clear(sbi_recording *r);
sb_status sbi_recorded_of(sb_context *ctx, const sb_array *a, sbi_recorded *out, sb_error *err);
bool sbi_recorded_same(const sbi_recorded *a, const sbi_recorded *b);
void sbi_recorded_show(const sbi_recorded *a, char out[160]); // "float64 [442, 10] 3f2a..."
sb_status sbi_step_call(sb_context *ctx, const sbi_step *step, const sb_array *x, sb_array **out, sb_error *err);
sb_status sbi_recording_identify(sbi_recording *r, sb_error *err); // fills id

// recording_file.c. Reading leaves nothing to be cleared where it fails.
sb_status sbi_recording_save(const sbi_recording *r, const char *path, sb_error *err);
sb_status sbi_recording_load(sb_context *ctx, const char *path, sbi_recording *out, sb_error *err);
sb_status sbi_recording_restore(sb_context *ctx, const void *bytes, int64_t size, sbi_recording *out, sb_error *err);

sb_status sbi_record(sb_context *ctx, const sb_record_options *options, const char *path, sb_report **out, sb_error *err);

// replay.c: what became of it.
enum { SBI_ROWS_SHOWN = 100 };
typedef struct sbi_row { // that differs
    int64_t row, column; // of the number that is furthest away
    uint64_t ulp;        // of whole numbers how far apart they are; SBI_NO_ULP: one side is NaN
    bool flips;          // its decision is another
} sbi_row;
#define SBI_NO_ULP UINT64_MAX

enum { SBI_IDENTICAL = 0, SBI_DIFFERENT = 1, SBI_REFUSED = 3 };
typedef struct sbi_replay {
    sb_context *ctx;
    sbi_recording recording;
    sbi_recorded outputs[SBI_STEPS];
    sb_status statuses[SBI_STEPS];
    char refusals[SBI_STEPS][160]; // in words, where the status is not SB_OK
    uint8_t *recorded, *computed;  // the last output, where both are there and of one shape
    int64_t row_count, columns, differing, flipping;
    sbi_row rows[SBI_ROWS_SHOWN], worst;
    const char *date;
    int verdict;
} sbi_replay;
const char *sbi_replay_verdict(int verdict);
bool sbi_replay_same(const sbi_replay *replay, int step);
void sbi_replay_ulp(sbi_text *text, uint64_t ulp); // "2", "NaN"
sb_status sbi_replay_run(sb_context *ctx, const char *path, const sb_replay_options *options, sb_report **out, sb_error *err);
void sbi_replay_page(const sbi_replay *replay, sbi_text *page); // replay_page.c
#endif
