// SPDX-License-Identifier: Apache-2.0
// Categories of features, as encoders number them.
//
// Of each feature the distinct numbers of the fit in ascending order, NaN last, or those that the
// caller gives. Where frequencies are bounded, rare ones are one group, numbered after the others.
#ifndef SBI_CATEGORIES_H
#define SBI_CATEGORIES_H

#include "learn.h"

typedef struct sbi_categories {
    int64_t d;
    int64_t *first; // [d + 1]: those of feature j are value[first[j]] .. value[first[j + 1] - 1]
    double *value;  // NaN: what is missing, last of its feature
    int64_t *code;  // of each: its number after rare ones were put together
    int64_t *count; // [d]: how many numbers there are then
    int64_t *rare;  // [d]: the number of the group of rare ones; -1: there is none
} sbi_categories;

// Of the rows of a fit; missing_apart: NaN belongs to no group, and is not counted (its code is
// -1). Arrays are of the arena.
sb_status sbi_categories_find(const sbi_call *call, sbi_arena *arena, bool missing_apart,
                              sbi_categories *out, sb_error *err);
// Into the model's arrays (categories, category_ends, codes, counts, rare) and its size "cats"; and
// back.
sb_status sbi_categories_keep(const sbi_call *call, const sbi_categories *categories,
                              sb_error *err);
sb_status sbi_categories_read(const sb_model *model, sbi_arena *arena, sbi_categories *out,
                              sb_error *err);
// The place of x among the values of feature j, -1 where it is none of them.
int64_t sbi_categories_place(const sbi_categories *categories, int64_t j, double x);
// What a loaded model has is in order, its words too: the note "categories", a JSON array; for each
// feature null (numbers), or its words in their order, NaN not among them, whose places are the
// categories then.
sb_status sbi_categories_check(const sb_model *model, sb_error *err);
#endif
