// SPDX-License-Identifier: Apache-2.0
// prove_judge: says of outputs of a unary function whether each is the correctly rounded value of the exact function,
// by other means than the kernels: the host's double functions where they lie clear of a tie, MPFR for the rest.
#ifndef SBI_PROVE_JUDGE_H
#define SBI_PROVE_JUDGE_H

#include "samebits.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct sbi_judged {
    const char *name;
    sb_unary_kind kind;
    int number; // its place in this table
} sbi_judged;

extern const sbi_judged sbi_judged_functions[]; // ended by a row without a name
extern const bool sbi_judge_has_mpfr;

enum { SBI_HARDEST = 64 };
typedef struct sbi_hard_case {
    double distance; // from a tie, relative
    uint32_t input, output;
} sbi_hard_case;

typedef struct sbi_verdict {
    int64_t checked;     // went to MPFR: within 2^-40 of a tie, or a disagreement
    int64_t misrounded;  // proved wrong
    int64_t undecided;   // would have gone to MPFR, which is not built in
    uint32_t wrong_input, wrong_output; // the first misrounded
    int hardest_count;
    sbi_hard_case hardest[SBI_HARDEST]; // nearest to a tie first (ties of tiny arguments left out)
} sbi_verdict;

// Judges count outputs; inputs and outputs as bit patterns. Adds to *verdict.
void sbi_judge(const sbi_judged *function, const uint32_t *inputs, const uint32_t *outputs, int64_t count,
               sbi_verdict *verdict);
void sbi_verdict_add(sbi_verdict *to, const sbi_verdict *from);
#endif
