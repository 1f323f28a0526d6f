// SPDX-License-Identifier: Apache-2.0
// The kernel dialect in HIP C++, line by line as in cuda.h: for hiprtc, and for clang's AMDGPU target without any SDK
// (-x hip -nogpuinc -nogpulib -ffp-contract=off).
#ifndef SBI_DIALECT_HIP_H
#define SBI_DIALECT_HIP_H

typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef unsigned char uint8_t;

#define RESTRICT __restrict__
#define SHARED __attribute__((shared))
#define KERNEL extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define FN static __attribute__((device)) inline __attribute__((always_inline))
#define GLOBAL
#define TABLE static __attribute__((constant)) const
#define LOCAL
#define GROUP_PARAM
#define GROUP() ((i64)__builtin_amdgcn_workgroup_id_x())

#define UNROLL _Pragma("unroll")
#define UNROLL_LANE UNROLL
#define PREFETCH(p) (void)(p)
#define AHEAD(p) (void)(p)
#define ATOMIC_ADD(p, x) (void)__hip_atomic_fetch_add(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)

#define PHASE(l, n) \
    { \
        i32 l = (i32)__builtin_amdgcn_workitem_id_x(); \
        if (l < (i32)(n))
#define PHASE_END \
    } \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
    __builtin_amdgcn_s_barrier(); \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#define LANE_END }
#define TOGETHER(condition) (condition)
#define WHEN(condition) if (condition)
#define LANE_VAR(type, name, lanes) type name
#define LANE_ARRAY(type, name, lanes, n) type name[n]
#define LANE_LARGE(type, name, lanes, n) LANE_ARRAY(type, name, lanes, n)
#define AT(name, l) name
#define ATI(name, l, i) name[i]

// Bits, leading zeros of x > 0, the high half of the exact product.
FN u32 BITS32(f32 x) { union { f32 f; u32 u; } v; v.f = x; return v.u; }
FN f32 FLOAT32(u32 x) { union { f32 f; u32 u; } v; v.u = x; return v.f; }
FN i32 CLZ64(u64 x) { return __builtin_clzll(x); }
FN u64 MULHI64(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }

// Binary64.
typedef double f64;
#define K(x) (x)
FN u64 BITS64(f64 x) { union { f64 f; u64 u; } v; v.f = x; return v.u; }
FN f64 FLOAT64(u64 x) { union { f64 f; u64 u; } v; v.u = x; return v.f; }

// One rounding. Used by products of kind T3 and by formulas of the contract that spell fma, nowhere else.
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#define FMA64(a, b, c) __builtin_fma(a, b, c)
#define LOW64(a, b, p) FMA64(a, b, -(p))

// Division of float32 and square roots, correctly rounded: HIP's default, read by tools/audit.py.
#define DIV32(a, b) ((a) / (b))
#define SQRT32(x) __builtin_sqrtf(x)
#define SQRT64(x) __builtin_sqrt(x)

#include "../number.h"
#endif
