// SPDX-License-Identifier: Apache-2.0
// The kernels as the host sees them: an identifier, a lane count and the kinds of the arguments each, from the .def
// file beside every .cl file; and one table of functions per CPU level. Rows read
//     SBI_KERNEL(name, lanes, count, kind, kind, ...)
// where a kind is cf32 cf64 ci32 ci64 cu8 cu32 cu64 (pointer to const), f32p f64p i32p i64p u8p u32p u64p (pointer),
// or i32 i64 u32 u64 f32 f64 (a value).
#ifndef SBI_KERNELS_H
#define SBI_KERNELS_H

#include <stddef.h>
#include <stdint.h>

typedef union sbi_arg {
    const void *in;
    void *out;
    int64_t i;
    uint64_t u;
    double f; // a float32 value travels exactly
} sbi_arg;

// Runs groups first .. last-1. scratch: as many bytes, aligned to 64, as the table says, for the time of the call.
typedef void (*sbi_kernel_run)(const sbi_arg *args, int64_t first, int64_t last, void *scratch);

// SBI_FIRST_gemm is the first kernel of gemm.def. (The name after it steps back, so that the kernel has that number.)
#define SBI_KERNEL_FILE(name) SBI_FIRST_##name, SBI_BEFORE_##name = SBI_FIRST_##name - 1,
#define SBI_KERNEL(name, lanes, count, ...) SBI_ID_##name,
typedef enum sbi_kernel_id {
#include "all_kernels.h"
    SBI_KERNEL_COUNT
} sbi_kernel_id;
#undef SBI_KERNEL

#define SBI_KERNEL_FILE(name) SBI_FILE_##name,
#define SBI_KERNEL(name, lanes, count, ...)
typedef enum sbi_kernel_file {
#include "all_kernels.h"
    SBI_KERNEL_FILES
} sbi_kernel_file;
#undef SBI_KERNEL

typedef struct sbi_kernel_info {
    const char *name;
    int lanes, count;  // lanes a group, number of arguments
    const char *kinds; // of the arguments, "cf32, f32p, i64"
} sbi_kernel_info;
extern const sbi_kernel_info sbi_kernel_infos[SBI_KERNEL_COUNT];
extern const sbi_kernel_id sbi_kernel_firsts[SBI_KERNEL_FILES + 1]; // of each file, and SBI_KERNEL_COUNT

// A kernel file's text in the dialect of some device, whole (cmake/embed_kernels.cmake), in the order of the files.
typedef struct sbi_kernel_text {
    const char *name; // "gemm"
    const unsigned char *text;
    size_t size;
} sbi_kernel_text;
extern const sbi_kernel_text sbi_texts_opencl[SBI_KERNEL_FILES + 1]; // NULL name last
extern const sbi_kernel_text sbi_texts_cuda[SBI_KERNEL_FILES + 1], sbi_texts_hip[SBI_KERNEL_FILES + 1];
extern const sbi_kernel_text sbi_texts_opencl_single[]; // probe_single alone, without binary64

// What a thread needs for a kernel beyond its stack. Most kernels need nothing.
typedef struct sbi_scratch_need {
    sbi_kernel_id kernel;
    int64_t bytes;
} sbi_scratch_need;

typedef struct sbi_kernel_table {
    const char *level; // "plain", "v1", "v3", "v4", "neon", "reverse"
    sbi_kernel_run run[SBI_KERNEL_COUNT];
    sbi_scratch_need scratch[24]; // (scratch.def); the last has 0 bytes
} sbi_kernel_table;

// The levels built into this library, best first, NULL last ("plain" is always there; "reverse" is plain with its
// lanes run backwards: a race check, never chosen by itself).
extern const sbi_kernel_table *const sbi_kernel_levels[];
#endif
