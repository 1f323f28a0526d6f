// SPDX-License-Identifier: Apache-2.0
#define IN double
#define T double
#define T_BITS 64
#define SBI_TUNED_NAME k_nearest_few_f64_tuned
#include "tuned/nearest_few_tuned.h"
