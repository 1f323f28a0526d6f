// SPDX-License-Identifier: Apache-2.0
// The frequencies of rotary embedding, correctly rounded.
#ifndef SBI_ROTARY_FREQUENCY_H
#define SBI_ROTARY_FREQUENCY_H

#include <stdint.h>

// The float32 (fraction 23) or float64 (52) nearest to theta^(-2 i / d): 1 <= theta < 2^128, 0 <= 2 i < d < 2^24.
double sbi_rotary_frequency(double theta, int64_t i, int64_t d, int fraction);
#endif
