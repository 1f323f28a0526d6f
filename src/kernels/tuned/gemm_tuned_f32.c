// SPDX-License-Identifier: Apache-2.0
#define IN float
#define T float
#define T_BITS 32
#define SBI_TUNED_NAME k_gemm_f32_tuned
#include "tuned/gemm_tuned.h"
