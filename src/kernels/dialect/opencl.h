// SPDX-License-Identifier: Apache-2.0
// The kernel dialect in OpenCL C 1.2, line by line as in c.h. A phase is a guarded body; one work-item is one lane.
#ifndef SBI_DIALECT_OPENCL_H
#define SBI_DIALECT_OPENCL_H

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
typedef double f64;
typedef uchar uint8_t;

#define RESTRICT restrict
#define SHARED __local
#define KERNEL __kernel
#define FN static inline
#define GLOBAL __global
#define TABLE __constant
#define LOCAL __local
#define GROUP_PARAM
#define GROUP() ((i64)get_group_id(0))

#define UNROLL __attribute__((opencl_unroll_hint))
#define PREFETCH(p) (void)(p)
#define AHEAD(p) (void)(p)

#define PHASE(l, n) \
    { \
        i32 l = (i32)get_local_id(0); \
        if (l < (i32)(n))
#define PHASE_END \
    } \
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#define LANE_END }
#define LANE_VAR(type, name, lanes) type name
#define LANE_ARRAY(type, name, lanes, n) type name[n]
#define AT(name, l) name
#define ATI(name, l, i) name[i]

#define K(x) (x)

// One rounding. Used by products of kind T3 and by formulas of the contract that spell fma, nowhere else.
#define FMA(a, b, c) fma((f32)(a), (f32)(b), (f32)(c))
#define FMA64(a, b, c) fma((f64)(a), (f64)(b), (f64)(c))
#define LOW64(a, b, p) fma((f64)(a), (f64)(b), -(f64)(p))

// Correctly rounded square roots (-cl-fp32-correctly-rounded-divide-sqrt), and bits.
#define SQRT32(x) sqrt((f32)(x))
#define SQRT64(x) sqrt((f64)(x))
#define BITS32(x) as_uint((f32)(x))
#define FLOAT32(x) as_float((u32)(x))
#define BITS64(x) as_ulong((f64)(x))
#define FLOAT64(x) as_double((u64)(x))
#define MULHI64(a, b) mul_hi((u64)(a), (u64)(b))

#include "../number.h"
#endif
