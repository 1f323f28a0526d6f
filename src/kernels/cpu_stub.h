// SPDX-License-Identifier: Apache-2.0
// Compiled once per kernel file and CPU level: the text as C, and for each of its kernels one function of kind
// sbi_kernel_run, named name_LEVEL. SBI_TEXT and SBI_ROWS name the .cl and the .def file, SBI_LEVEL the level.
#include "dialect/c.h"

#define SBI_JOIN_(a, b) a##_##b
#define SBI_JOIN(a, b) SBI_JOIN_(a, b)

#include "both.h"

typedef union sbi_arg {
    const void *in;
    void *out;
    i64 i;
    u64 u;
    double f;
} sbi_arg;

#define SBI_GET_cf32(a) ((const f32 *)(a).in)
#define SBI_GET_cf64(a) ((const f64 *)(a).in)
#define SBI_GET_ci32(a) ((const i32 *)(a).in)
#define SBI_GET_ci64(a) ((const i64 *)(a).in)
#define SBI_GET_cu8(a) ((const uint8_t *)(a).in)
#define SBI_GET_cu32(a) ((const u32 *)(a).in)
#define SBI_GET_cu64(a) ((const u64 *)(a).in)
#define SBI_GET_f32p(a) ((f32 *)(a).out)
#define SBI_GET_f64p(a) ((f64 *)(a).out)
#define SBI_GET_i32p(a) ((i32 *)(a).out)
#define SBI_GET_i64p(a) ((i64 *)(a).out)
#define SBI_GET_u8p(a) ((uint8_t *)(a).out)
#define SBI_GET_u32p(a) ((u32 *)(a).out)
#define SBI_GET_u64p(a) ((u64 *)(a).out)
#define SBI_GET_i32(a) ((i32)(a).i)
#define SBI_GET_i64(a) ((a).i)
#define SBI_GET_u32(a) ((u32)(a).u)
#define SBI_GET_u64(a) ((a).u)
#define SBI_GET_f32(a) ((f32)(a).f)
#define SBI_GET_f64(a) FLOAT64((a).u) // (may be a class)

#define SBI_ARGS_1(p, t) SBI_GET_##t(*(p))
#define SBI_ARGS_2(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_1((p) + 1, __VA_ARGS__)
#define SBI_ARGS_3(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_2((p) + 1, __VA_ARGS__)
#define SBI_ARGS_4(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_3((p) + 1, __VA_ARGS__)
#define SBI_ARGS_5(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_4((p) + 1, __VA_ARGS__)
#define SBI_ARGS_6(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_5((p) + 1, __VA_ARGS__)
#define SBI_ARGS_7(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_6((p) + 1, __VA_ARGS__)
#define SBI_ARGS_8(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_7((p) + 1, __VA_ARGS__)
#define SBI_ARGS_9(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_8((p) + 1, __VA_ARGS__)
#define SBI_ARGS_10(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_9((p) + 1, __VA_ARGS__)
#define SBI_ARGS_11(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_10((p) + 1, __VA_ARGS__)
#define SBI_ARGS_12(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_11((p) + 1, __VA_ARGS__)
#define SBI_ARGS_13(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_12((p) + 1, __VA_ARGS__)
#define SBI_ARGS_14(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_13((p) + 1, __VA_ARGS__)
#define SBI_ARGS_15(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_14((p) + 1, __VA_ARGS__)
#define SBI_ARGS_16(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_15((p) + 1, __VA_ARGS__)
#define SBI_ARGS_17(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_16((p) + 1, __VA_ARGS__)
#define SBI_ARGS_18(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_17((p) + 1, __VA_ARGS__)
#define SBI_ARGS_19(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_18((p) + 1, __VA_ARGS__)
#define SBI_ARGS_20(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_19((p) + 1, __VA_ARGS__)
#define SBI_ARGS_21(p, t, ...) SBI_GET_##t(*(p)), SBI_ARGS_20((p) + 1, __VA_ARGS__)

#ifdef __cplusplus
#define SBI_C extern "C"
#else
#define SBI_C
#endif
#define SBI_KERNEL(name, lanes, count, ...) \
    SBI_C void SBI_JOIN(name, SBI_LEVEL)(const sbi_arg *args, i64 first, i64 last, void *scratch); \
    SBI_C void SBI_JOIN(name, SBI_LEVEL)(const sbi_arg *args, i64 first, i64 last, void *scratch) { \
        for (i64 group = first; group < last; group++) \
            name(SBI_ARGS_##count(args, __VA_ARGS__), group, (char *)scratch); \
    }
#include SBI_ROWS
