// SPDX-License-Identifier: Apache-2.0
// The kernel dialect in C17 (and C++14, where `f64` is a class over integers). The same words stand, line by
// line, in opencl.h, and will in the dialects of other devices. Kernels use these words and each other; nothing else.
//
// A kernel is a row of phases. Within a phase the lanes are independent: PHASE(l, n) runs l = 0 .. n-1, n at most
// the kernel's lane count (in kernels/*.def). Close it with PHASE_END (a barrier on a GPU) or LANE_END (none: the
// next phase reads only values of its own lane). With SBI_REVERSE the lanes run backwards: bits must not move. WHEN is
// a branch with phases in it, which all lanes of a group take or none (no break, continue or return inside): PoCL copies
// all that follows a barrier in an `if`, so OpenCL writes a loop of at most one round.
#ifndef SBI_DIALECT_C_H
#define SBI_DIALECT_C_H

#include <stdint.h>

typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef float f32;

#ifdef __cplusplus
#define RESTRICT __restrict__
#define SHARED alignas(64)
#else
#define RESTRICT restrict
#define SHARED _Alignas(64)
#endif
#define KERNEL static
#define FN static inline
#define GLOBAL
#define TABLE static const // an array of constants beside the kernels
#define LOCAL // address space of a pointer to SHARED
#define GROUP_PARAM , i64 sbi_group, char *sbi_scratch SBI_UNUSED
#define GROUP() sbi_group

#if defined(__clang__)
#define SBI_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define SBI_INDEPENDENT _Pragma("GCC ivdep")
#define UNROLL _Pragma("GCC unroll 64")
#else
#define SBI_INDEPENDENT
#define UNROLL
#endif
#define UNROLL_LANE // over an array that is in a lane's registers where lanes are threads
#if defined(__GNUC__)
#define SBI_UNUSED __attribute__((unused))
#else
#define SBI_UNUSED
#endif
#if defined(__GNUC__)
#define PREFETCH(p) __builtin_prefetch(p) // a hint, for what hardware does not foresee: rows far apart
#else
#define PREFETCH(p) (void)(p)
#endif

FN char *sbi_take(char **scratch, i64 bytes) {
    char *at = *scratch;
    *scratch += bytes;
    return at;
}

#define AHEAD(p) PREFETCH((const void *)((uintptr_t)(p) + 4096)) // of a stream: a page on, perhaps beyond the array
#define ATOMIC_ADD(p, x) (void)__atomic_fetch_add(p, x, __ATOMIC_RELAXED) // u32 of GLOBAL; the order of sums reaches no bit
#ifdef SBI_REVERSE
#define PHASE(l, n) SBI_INDEPENDENT for (i32 l = (i32)(n)-1; l >= 0; l--)
#else
#define PHASE(l, n) SBI_INDEPENDENT for (i32 l = 0; l < (i32)(n); l++)
#endif
#define PHASE_END
#define LANE_END
#define TOGETHER(condition) (condition)
#define WHEN(condition) if (condition)
#define LANE_VAR(type, name, lanes) SHARED type name[lanes]
#define LANE_ARRAY(type, name, lanes, n) SHARED type name[n][lanes] // lanes innermost: a phase vectorises
#define LANE_LARGE(type, name, lanes, n) /* too large for a stack: the thread's scratch, whose size stands in scratch.def */ \
    type(*RESTRICT name)[lanes] = (type(*)[lanes])sbi_take(&sbi_scratch, (i64)(n) * (lanes) * (i64)sizeof(type))
#define AT(name, l) name[l]
#define ATI(name, l, i) name[i][l]

// Bits, leading zeros of x > 0, the high half of the exact product.
FN u32 BITS32(f32 x) { union { f32 f; u32 u; } v; v.f = x; return v.u; }
FN f32 FLOAT32(u32 x) { union { f32 f; u32 u; } v; v.u = x; return v.f; }
#define CLZ64(x) __builtin_clzll(x)
FN u64 MULHI64(u64 a, u64 b) {
    u64 a0 = (u32)a, a1 = a >> 32, b0 = (u32)b, b1 = b >> 32;
    u64 m = a1 * b0 + ((a0 * b0) >> 32), n = a0 * b1 + (u32)m;
    return a1 * b1 + (m >> 32) + (n >> 32);
}

// Binary64. A device without it has a class over 64-bit integers instead (C++), and constants as bits.
#include "../soft64.h"
#ifdef SBI_F64_CLASS
#include "f64_class.h"
#define K(x) FLOAT64(__builtin_bit_cast(u64, x))
#else
typedef double f64;
#define K(x) (x) // a binary64 constant, hexadecimal
#define SQRT64(x) __builtin_sqrt(x)
FN u64 BITS64(f64 x) { union { f64 f; u64 u; } v; v.f = x; return v.u; }
FN f64 FLOAT64(u64 x) { union { f64 f; u64 u; } v; v.u = x; return v.f; }
#endif

// One rounding. Used by products of kind T3 and by formulas of the contract that spell fma, nowhere else.
#include "../fma.h"
#define FMA(a, b, c) sbi_fma_f32(a, b, c)
#define FMA64(a, b, c) sbi_fma_f64(a, b, c)
#define LOW64(a, b, p) sbi_product_low(a, b, p) // a b - p exactly, where p = a b rounded

// Division of float32 and square roots, correctly rounded (an instruction under -fno-math-errno).
#define DIV32(a, b) ((a) / (b))
#define SQRT32(x) __builtin_sqrtf(x)

#include "../number.h"
#endif
