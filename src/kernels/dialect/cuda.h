// SPDX-License-Identifier: Apache-2.0
// The kernel dialect in CUDA C++, line by line as in opencl.h: for nvcc and NVRTC (--fmad=false), and for clang's NVPTX
// target without any SDK (-nocudainc -nocudalib -ffp-contract=off).
#ifndef SBI_DIALECT_CUDA_H
#define SBI_DIALECT_CUDA_H

typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef unsigned char uint8_t;

#define RESTRICT __restrict__
#define SHARED __attribute__((shared))
#define KERNEL extern "C" __attribute__((global)) __attribute__((launch_bounds(256)))
#define FN static __attribute__((device)) inline
#define GLOBAL
#define TABLE static __attribute__((constant)) const
#define LOCAL
#define GROUP_PARAM
#define GROUP() sbi_group_number()
FN u32 sbi_lane_number() { u32 x; asm("mov.u32 %0, %%tid.x;" : "=r"(x)); return x; }
FN i64 sbi_group_number() { u32 x; asm("mov.u32 %0, %%ctaid.x;" : "=r"(x)); return x; }

#define UNROLL _Pragma("unroll")
#define UNROLL_LANE UNROLL
#define PREFETCH(p) (void)(p)
#define AHEAD(p) (void)(p)
FN void ATOMIC_ADD(u32 *p, u32 x) { asm volatile("red.add.u32 [%0], %1;" : : "l"(p), "r"(x) : "memory"); }

#define PHASE(l, n) \
    { \
        i32 l = (i32)sbi_lane_number(); \
        if (l < (i32)(n))
#define PHASE_END \
    } \
    __syncthreads();
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
FN i32 CLZ64(u64 x) { i32 n; asm("clz.b64 %0, %1;" : "=r"(n) : "l"(x)); return n; }
FN u64 MULHI64(u64 a, u64 b) { u64 p; asm("mul.hi.u64 %0, %1, %2;" : "=l"(p) : "l"(a), "l"(b)); return p; }

// Binary64.
typedef double f64;
#define K(x) (x)
FN u64 BITS64(f64 x) { union { f64 f; u64 u; } v; v.f = x; return v.u; }
FN f64 FLOAT64(u64 x) { union { f64 f; u64 u; } v; v.u = x; return v.f; }

// One rounding: used by products of kind T3 and by formulas of the contract that spell fma, nowhere else. As the
// instruction itself, so that a fused operation that stands elsewhere in the machine code was not written (tools/audit.py).
FN f32 FMA(f32 a, f32 b, f32 c) { f32 r; asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(c)); return r; }
FN f64 FMA64(f64 a, f64 b, f64 c) { f64 r; asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(r) : "d"(a), "d"(b), "d"(c)); return r; }
#define LOW64(a, b, p) FMA64(a, b, -(p))

// Division of float32 and square roots, correctly rounded. (The operator is every compiler's default, read by tools/audit.py.)
#define DIV32(a, b) ((a) / (b))
FN f32 SQRT32(f32 x) { f32 r; asm("sqrt.rn.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
FN f64 SQRT64(f64 x) { f64 r; asm("sqrt.rn.f64 %0, %1;" : "=d"(r) : "d"(x)); return r; }

#include "../number.h"
#endif
