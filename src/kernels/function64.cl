// SPDX-License-Identifier: Apache-2.0
// The unary kernels of binary64, one a function (contract T4), so that each is a loop that vectorises.
#include "function64.h"

#if T_BITS == 64
FN f64 sbi_sqrt_f64(f64 x) { return sbi_canon_f64(SQRT64(x)); }
FN f64 sbi_neg_f64(f64 x) { return x == x ? FLOAT64(BITS64(x) ^ 0x8000000000000000u) : SBI_NAN64; }
FN f64 sbi_abs_f64(f64 x) { return x == x ? FLOAT64(BITS64(x) & 0x7fffffffffffffffu) : SBI_NAN64; }

#define UNARY k_exp_f64
#define VALUE(x) sbi_exp_f64(x)
#include "unary.h"

#define UNARY k_log_f64
#define VALUE(x) sbi_log_f64(x)
#include "unary.h"

#define UNARY k_sin_f64
#define VALUE(x) sbi_sin_near_f64(x)
#define FAR(x) sbi_turn_is_far(x)
#define FAR_VALUE(x) sbi_sin_far_f64(x)
#include "unary.h"

#define UNARY k_cos_f64
#define VALUE(x) sbi_cos_near_f64(x)
#define FAR(x) sbi_turn_is_far(x)
#define FAR_VALUE(x) sbi_cos_far_f64(x)
#include "unary.h"

#define UNARY k_rsqrt_f64
#define VALUE(x) sbi_rsqrt_f64(x)
#include "unary.h"

#define UNARY k_sigmoid_f64
#define VALUE(x) sbi_sigmoid_f64(x)
#include "unary.h"

#define UNARY k_silu_f64
#define VALUE(x) sbi_silu_f64(x)
#include "unary.h"

#define UNARY k_silu_grad_f64
#define VALUE(x) sbi_silu_grad_f64(x)
#include "unary.h"

#define UNARY k_sqrt_f64
#define VALUE(x) sbi_sqrt_f64(x)
#include "unary.h"

#define UNARY k_neg_f64
#define VALUE(x) sbi_neg_f64(x)
#include "unary.h"

#define UNARY k_abs_f64
#define VALUE(x) sbi_abs_f64(x)
#include "unary.h"

#define UNARY k_tanh_f64
#define VALUE(x) sbi_tanh_f64(x)
#include "unary.h"

#define UNARY k_expm1_f64
#define VALUE(x) sbi_expm1_f64(x)
#include "unary.h"

#define UNARY k_log1p_f64
#define VALUE(x) sbi_log1p_f64(x)
#include "unary.h"

#define UNARY k_exp2_f64
#define VALUE(x) sbi_exp2_f64(x)
#include "unary.h"

#define UNARY k_log2_f64
#define VALUE(x) sbi_log2_f64(x)
#include "unary.h"

#define UNARY k_log10_f64
#define VALUE(x) sbi_log10_f64(x)
#include "unary.h"

#define UNARY k_softplus_f64
#define VALUE(x) sbi_softplus_f64(x)
#include "unary.h"

#define UNARY k_log_sigmoid_f64
#define VALUE(x) sbi_log_sigmoid_f64(x)
#include "unary.h"

#define UNARY k_gelu_tanh_f64
#define VALUE(x) sbi_gelu_tanh_f64(x)
#include "unary.h"

#define UNARY k_gelu_tanh_grad_f64
#define VALUE(x) sbi_gelu_tanh_grad_f64(x)
#include "unary.h"

#define UNARY k_erf_f64
#define VALUE(x) sbi_erf_f64(x)
#include "unary.h"

#define UNARY k_erfc_f64
#define VALUE(x) sbi_erfc_f64(x)
#include "unary.h"

#define UNARY k_gelu_f64
#define VALUE(x) sbi_gelu_f64(x)
#include "unary.h"

#define UNARY k_gelu_grad_f64
#define VALUE(x) sbi_gelu_grad_f64(x)
#include "unary.h"

#define UNARY k_inverse_normal_f64
#define VALUE(x) sbi_normal_f64(x)
#define FROM u64
#include "unary.h"
#endif
