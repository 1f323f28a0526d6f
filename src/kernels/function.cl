// SPDX-License-Identifier: Apache-2.0
// The unary kernels, one a function (contract T4), so that each is a loop that vectorises.
#include "function.h"
#include "quick.h"

#if T_BITS == 32
FN f32 sbi_sqrt_f32(f32 x) { return sbi_canon_f32(SQRT32(x)); }
FN f32 sbi_neg_f32(f32 x) { return x == x ? FLOAT32(BITS32(x) ^ 0x80000000u) : SBI_NAN32; }
FN f32 sbi_abs_f32(f32 x) { return x == x ? FLOAT32(BITS32(x) & 0x7fffffffu) : SBI_NAN32; }

#define UNARY k_exp_f32
#define VALUE(x) sbi_exp_f32(x)
#define QUICK sbi_quick_exp_f32
#include "unary.h"

#define UNARY k_log_f32
#define VALUE(x) sbi_log_f32(x)
#define QUICK sbi_quick_log_f32
#include "unary.h"

#define UNARY k_sin_f32
#define VALUE(x) sbi_sin_near_f32(x)
#define FAR(x) sbi_trig_is_far(x)
#define FAR_VALUE(x) sbi_sin_far_f32(x)
#define QUICK sbi_quick_sin_f32
#include "unary.h"

#define UNARY k_cos_f32
#define VALUE(x) sbi_cos_near_f32(x)
#define FAR(x) sbi_trig_is_far(x)
#define FAR_VALUE(x) sbi_cos_far_f32(x)
#define QUICK sbi_quick_cos_f32
#include "unary.h"

#define UNARY k_rsqrt_f32
#define VALUE(x) sbi_rsqrt_f32(x)
#include "unary.h"

#define UNARY k_sigmoid_f32
#define VALUE(x) sbi_sigmoid_f32(x)
#define QUICK sbi_quick_sigmoid_f32
#include "unary.h"

#define UNARY k_silu_f32
#define VALUE(x) sbi_silu_f32(x)
#define QUICK sbi_quick_silu_f32
#include "unary.h"

#define UNARY k_silu_grad_f32
#define VALUE(x) sbi_silu_grad_f32(x)
#define QUICK sbi_quick_silu_grad_f32
#include "unary.h"

#define UNARY k_sqrt_f32
#define VALUE(x) sbi_sqrt_f32(x)
#include "unary.h"

#define UNARY k_neg_f32
#define VALUE(x) sbi_neg_f32(x)
#include "unary.h"

#define UNARY k_abs_f32
#define VALUE(x) sbi_abs_f32(x)
#include "unary.h"

#define UNARY k_inverse_normal_f32
#define VALUE(x) sbi_normal_f32(x)
#define FROM u32
#include "unary.h"

#define UNARY k_tanh_f32
#define VALUE(x) sbi_tanh_f32(x)
#define QUICK sbi_quick_tanh_f32
#include "unary.h"

#define UNARY k_expm1_f32
#define VALUE(x) sbi_expm1_f32(x)
#define QUICK sbi_quick_expm1_f32
#include "unary.h"

#define UNARY k_log1p_f32
#define VALUE(x) sbi_log1p_f32(x)
#define QUICK sbi_quick_log1p_f32
#include "unary.h"

#define UNARY k_exp2_f32
#define VALUE(x) sbi_exp2_f32(x)
#define QUICK sbi_quick_exp2_f32
#include "unary.h"

#define UNARY k_log2_f32
#define VALUE(x) sbi_log2_f32(x)
#define QUICK sbi_quick_log2_f32
#include "unary.h"

#define UNARY k_log10_f32
#define VALUE(x) sbi_log10_f32(x)
#define QUICK sbi_quick_log10_f32
#include "unary.h"

#define UNARY k_erf_f32
#define VALUE(x) sbi_erf_f32(x)
#include "unary.h"

#define UNARY k_erfc_f32
#define VALUE(x) sbi_erfc_f32(x)
#include "unary.h"

#define UNARY k_softplus_f32
#define VALUE(x) sbi_softplus_f32(x)
#define QUICK sbi_quick_softplus_f32
#include "unary.h"

#define UNARY k_log_sigmoid_f32
#define VALUE(x) sbi_log_sigmoid_f32(x)
#define QUICK sbi_quick_log_sigmoid_f32
#include "unary.h"

#define UNARY k_gelu_f32
#define VALUE(x) sbi_gelu_f32(x)
#include "unary.h"

#define UNARY k_gelu_tanh_f32
#define VALUE(x) sbi_gelu_tanh_f32(x)
#include "unary.h"

#define UNARY k_gelu_grad_f32
#define VALUE(x) sbi_gelu_grad_f32(x)
#include "unary.h"

#define UNARY k_gelu_tanh_grad_f32
#define VALUE(x) sbi_gelu_tanh_grad_f32(x)
#include "unary.h"
#endif
