// SPDX-License-Identifier: Apache-2.0
// Reads a kernel text once for each type of its data: T is f32, then f64, T_BITS its width, NAME(k_x) is k_x_f32 or
// k_x_f64. What a text has only once stands in it between `#if T_BITS == 32` and `#endif`. SBI_TEXT names the text.
#define SBI_NAME_(a, b) a##_##b
#define SBI_NAME(a, b) SBI_NAME_(a, b)
#define NAME(x) SBI_NAME(x, T)

#define T f32
#define T_BITS 32
#include SBI_TEXT
#undef T
#undef T_BITS

#define T f64
#define T_BITS 64
#include SBI_TEXT
#undef T
#undef T_BITS
