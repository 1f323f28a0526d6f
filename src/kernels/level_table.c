// SPDX-License-Identifier: Apache-2.0
// Compiled once per CPU level: the table of its kernels, named sbi_kernels_LEVEL.
#include "kernels.h"

#ifdef SBI_TUNED
#include "tuned/panels.h"
#include "tuned/tuned.h"
#endif

#define SBI_JOIN_(a, b) a##_##b
#define SBI_JOIN(a, b) SBI_JOIN_(a, b)
#define SBI_TEXT_(x) #x
#define SBI_STRING(x) SBI_TEXT_(x)

#ifdef __cplusplus
extern "C" {
#endif
#define SBI_KERNEL(name, lanes, count, ...) \
    void SBI_JOIN(name, SBI_LEVEL)(const sbi_arg *args, int64_t first, int64_t last, void *scratch);
#include "all_kernels.h"
#undef SBI_KERNEL

#define SBI_KERNEL(name, lanes, count, ...) SBI_JOIN(name, SBI_LEVEL),
#define SBI_SCRATCH(id, bytes) {id, bytes},
extern const sbi_kernel_table SBI_JOIN(sbi_kernels, SBI_LEVEL);
const sbi_kernel_table SBI_JOIN(sbi_kernels, SBI_LEVEL) = {SBI_STRING(SBI_LEVEL), {
#include "all_kernels.h"
}, {
#include "scratch.def"
    {SBI_KERNEL_COUNT, 0},
}};
#ifdef __cplusplus
}
#endif
