// SPDX-License-Identifier: Apache-2.0
#define IN float
#define T double
#define T_BITS 64
#define SBI_TUNED_NAME k_gemm_wide_tuned
#include "tuned/gemm_tuned.h"
