// SPDX-License-Identifier: Apache-2.0
#define IN float
#define T float
#define T_BITS 32
#define SBI_TUNED_NAME k_nearest_few_f32_tuned
#include "tuned/nearest_few_tuned.h"
