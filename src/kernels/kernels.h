// SPDX-License-Identifier: Apache-2.0
// The kernels as the host sees them: an identifier, a lane count and the kinds of the arguments each, from the .def
// file beside every .cl file; and one table of functions per CPU level. Rows read
//     SBI_KERNEL(name, lanes, count, kind, kind, ...)
// where a kind is cf32 cf64 ci32 ci64 cu8 cu32 cu64 (pointer to const), f32p f64p i32p i64p u8p u32p u64p (pointer),
// or i32 i64 u32 u64 f32 f64 (a value).
#ifndef SBI_KERNELS_H
#define SBI_KERNELS_H

#include <stdint.h>

typedef union sbi_arg {
    const void *in;
    void *out;
    int64_t i;
    uint64_t u;
    double f; // a float32 value travels exactly
} sbi_arg;

// Runs groups first .. last-1.
typedef void (*sbi_kernel_run)(const sbi_arg *args, int64_t first, int64_t last);

#define SBI_KERNEL(name, lanes, count, ...) SBI_ID_##name,
typedef enum sbi_kernel_id {
#include "all_kernels.h"
    SBI_KERNEL_COUNT
} sbi_kernel_id;
#undef SBI_KERNEL

typedef struct sbi_kernel_info {
    const char *name;
    int lanes, count; // lanes a group, number of arguments
} sbi_kernel_info;
extern const sbi_kernel_info sbi_kernel_infos[SBI_KERNEL_COUNT];

typedef struct sbi_kernel_table {
    const char *level; // "plain", "v1", "v3", "v4", "neon", "reverse"
    sbi_kernel_run run[SBI_KERNEL_COUNT];
} sbi_kernel_table;

// The levels built into this library, best first, NULL last ("plain" is always there; "reverse" is plain with its
// lanes run backwards: a race check, never chosen by itself).
extern const sbi_kernel_table *const sbi_kernel_levels[];
#endif
