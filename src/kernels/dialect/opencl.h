// SPDX-License-Identifier: Apache-2.0
// The kernel dialect in OpenCL C 1.2, line by line as in c.h. A phase is a guarded body; one work-item is one lane.
#ifndef SBI_DIALECT_OPENCL_H
#define SBI_DIALECT_OPENCL_H

#pragma OPENCL FP_CONTRACT OFF

typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
typedef uchar uint8_t;

#ifdef SBI_F64_CLASS
#define RESTRICT __restrict__
template <class A> A SBI_VALUE(A x) { return x; } // tools/cxx_text.py
#else
#define RESTRICT restrict
#endif
#define SHARED __local
#define KERNEL __kernel
#define FN static inline
#define GLOBAL __global
#define TABLE __constant
#define LOCAL __local
#define GROUP_PARAM
#define GROUP() ((i64)get_group_id(0))

#define UNROLL __attribute__((opencl_unroll_hint))
#define UNROLL_LANE UNROLL
#define PREFETCH(p) (void)(p)
#define AHEAD(p) (void)(p)
#define ATOMIC_ADD(p, x) (void)atomic_add(p, x)

#define PHASE(l, n) \
    { \
        i32 l = (i32)get_local_id(0); \
        if (l < (i32)(n))
#define PHASE_END \
    } \
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#define LANE_END }
#define TOGETHER(condition) (barrier(CLK_LOCAL_MEM_FENCE), (condition))
#define WHEN(condition) for (i32 sbi_once = (condition) ? 1 : 0; TOGETHER(sbi_once); sbi_once = 0)
#define LANE_VAR(type, name, lanes) type name
#define LANE_ARRAY(type, name, lanes, n) type name[n]
#define LANE_LARGE(type, name, lanes, n) LANE_ARRAY(type, name, lanes, n)
#define AT(name, l) name
#define ATI(name, l, i) name[i]

// Bits, leading zeros of x > 0, the high half of the exact product.
#define BITS32(x) as_uint((f32)(x))
#define FLOAT32(x) as_float((u32)(x))
#define CLZ64(x) ((i32)clz((u64)(x)))
#define MULHI64(a, b) mul_hi((u64)(a), (u64)(b))

// Binary64. A device without it has a class over 64-bit integers instead (C++ for OpenCL), and constants as bits.
#ifdef SBI_F64_CLASS
#include "../soft64.h"
#include "f64_class.h"
#define FMA64(a, b, c) FLOAT64(sbi_soft_fma(BITS64(a), BITS64(b), BITS64(c)))
#define LOW64(a, b, p) FMA64(a, b, -(p))
#elif defined(SBI_NO_F64) // opencl_single.h
typedef u64 f64;
#define BITS64(x) (x)
#define FLOAT64(x) (x)
#else
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double f64;
#define K(x) (x)
#define SQRT64(x) sqrt((f64)(x))
#define BITS64(x) as_ulong((f64)(x))
#define FLOAT64(x) as_double((u64)(x))
#define FMA64(a, b, c) fma((f64)(a), (f64)(b), (f64)(c))
#define LOW64(a, b, p) fma((f64)(a), (f64)(b), -(f64)(p))
#endif

// One rounding. Used by products of kind T3 and by formulas of the contract that spell fma, nowhere else.
#define FMA(a, b, c) fma((f32)(a), (f32)(b), (f32)(c))

// Division of float32 and square roots, correctly rounded. Who builds the text says how: SBI_DIVIDE is sbi_plain_divide where the
// device promises that of its own (-cl-fp32-correctly-rounded-divide-sqrt), else sbi_near_divide; SBI_ROOT likewise.
FN f32 sbi_plain_divide(f32 a, f32 b) { return a / b; }
FN f32 sbi_plain_root(f32 x) { return sqrt(x); }
#define ROUGH_DIVIDE(a, b) sbi_plain_divide(a, b)
#define ROUGH_ROOT(x) sbi_plain_root(x)
#include "../residual.h"
#define DIV32(a, b) SBI_DIVIDE(a, b)
#define SQRT32(x) SBI_ROOT(x)

#include "../number.h"
#endif
