// SPDX-License-Identifier: Apache-2.0
// prove_estimate: the host's double value of a judged function, many at a time, for the judge of `samebits prove`.
#ifndef SBI_PROVE_ESTIMATE_H
#define SBI_PROVE_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

// The judged functions by number: the order of sbi_judged_functions.
enum {
    SBI_J_EXP, SBI_J_LOG, SBI_J_SIN, SBI_J_COS, SBI_J_RSQRT, SBI_J_SIGMOID, SBI_J_SILU, SBI_J_SILU_GRAD, SBI_J_NORMAL,
    SBI_J_TANH, SBI_J_EXPM1, SBI_J_LOG1P, SBI_J_EXP2, SBI_J_LOG2, SBI_J_LOG10, SBI_J_ERF, SBI_J_ERFC,
    SBI_J_SOFTPLUS, SBI_J_LOG_SIGMOID, SBI_J_GELU, SBI_J_GELU_TANH, SBI_J_GELU_GRAD, SBI_J_GELU_TANH_GRAD
};

// values[count] of the inputs' function, each within 2^-43 of the exact value, relative, where |that| < 2^200 and not where
// sbi_estimate_cancels; beyond, a huge value; NaN outside the domain, -0 where a limit of 0 is reached from below.
// outputs are read for SBI_J_NORMAL only: a step is taken from there.
void sbi_estimate(int number, const uint32_t *inputs, const uint32_t *outputs, int64_t count, double *values);
// Beside a zero of the function other than at 0, where its estimate says nothing. Of NaN: is there such a zero?
bool sbi_estimate_cancels(int number, double x);

// clear[count]: the output is the right one for certain, its estimate being further than 2^-40 from both ties around it.
void sbi_estimate_clear(const uint32_t *outputs, const double *values, int64_t count, uint8_t *clear);
#endif
