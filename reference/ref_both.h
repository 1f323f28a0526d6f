// SPDX-License-Identifier: Apache-2.0
// Reads a definition once for each type of its data: REAL is float, then double; REF(ref_x) is ref_x_f32 or ref_x_f64.
// REF_TEXT names the definition.
#define REF_CANON REF_WIDTH(ref_canon)
#define REF_MAX REF_WIDTH(ref_max)
#define REF_MIN REF_WIDTH(ref_min)
#define REF_FMA REF_WIDTH(ref_fma)
#define REF_SQRT REF_WIDTH(ref_sqrt)

#define REAL float
#define REF_UNARY ref_unary
#define REF(name) name##_f32
#define REF_WIDTH(name) name##32
#include REF_TEXT
#undef REAL
#undef REF_UNARY
#undef REF
#undef REF_WIDTH

#define REAL double
#define REF_UNARY ref_unary64
#define REF(name) name##_f64
#define REF_WIDTH(name) name##64
#include REF_TEXT
#undef REAL
#undef REF_UNARY
#undef REF
#undef REF_WIDTH
