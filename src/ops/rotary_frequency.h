// SPDX-License-Identifier: Apache-2.0
// The frequencies of rotary embedding, correctly rounded.
#ifndef SBI_ROTARY_FREQUENCY_H
#define SBI_ROTARY_FREQUENCY_H

#include <stdint.h>

// The float32 nearest to theta^(-2 i / d): theta finite and at least 1, 0 <= 2 i < d < 2^24.
float sbi_rotary_frequency(float theta, int64_t i, int64_t d);
#endif
