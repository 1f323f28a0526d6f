// SPDX-License-Identifier: Apache-2.0
// The list of kernels and the list of levels this library was built with (SBI_HAVE_V4 ... come from CMake).
#include "kernels.h"

#define SBI_KERNEL(name, lanes, count, ...) {#name, lanes, count, #__VA_ARGS__},
const sbi_kernel_info sbi_kernel_infos[SBI_KERNEL_COUNT] = {
#include "all_kernels.h"
};
#undef SBI_KERNEL

#define SBI_KERNEL_FILE(name) SBI_FIRST_##name,
#define SBI_KERNEL(name, lanes, count, ...)
const sbi_kernel_id sbi_kernel_firsts[SBI_KERNEL_FILES + 1] = {
#include "all_kernels.h"
    SBI_KERNEL_COUNT,
};

extern const sbi_kernel_table sbi_kernels_plain, sbi_kernels_reverse, sbi_kernels_v1, sbi_kernels_v3, sbi_kernels_v4,
    sbi_kernels_neon, sbi_kernels_soft64;

const sbi_kernel_table *const sbi_kernel_levels[] = {
#ifdef SBI_HAVE_V4
    &sbi_kernels_v4,
#endif
#ifdef SBI_HAVE_V3
    &sbi_kernels_v3,
#endif
#ifdef SBI_HAVE_V1
    &sbi_kernels_v1,
#endif
#ifdef SBI_HAVE_NEON
    &sbi_kernels_neon,
#endif
#ifdef SBI_HAVE_PLAIN
    &sbi_kernels_plain,
#endif
#ifdef SBI_HAVE_REVERSE // (a check of this project, left out of the one-file build)
    &sbi_kernels_reverse,
#endif
#ifdef SBI_HAVE_SOFT64 // (another)
    &sbi_kernels_soft64,
#endif
    NULL,
};
