// SPDX-License-Identifier: Apache-2.0
// The table of hand-tuned kernels. At the levels compiled with SBI_TUNED (v3, v4, neon) a kernel named here stands in
// the level's table in its tuned form, everywhere else in its portable one (from the .cl file): the same arguments, the
// same groups, the same bits.
#ifndef SBI_TUNED_H
#define SBI_TUNED_H

#define k_gemm_f32 k_gemm_f32_tuned // gemm_tuned.h
#define k_gemm_f64 k_gemm_f64_tuned
#define k_gemm_wide k_gemm_wide_tuned
#define k_gemv_f32 k_gemv_f32_tuned // gemv_tuned.h
#define k_gemv_f64 k_gemv_f64_tuned
#define k_gemv_wide k_gemv_wide_tuned
#define k_nearest_few_f32 k_nearest_few_f32_tuned // nearest_few_tuned.h
#define k_nearest_few_f64 k_nearest_few_f64_tuned
#endif
