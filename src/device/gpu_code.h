// SPDX-License-Identifier: Apache-2.0
// A kernel file's machine code (an ELF object) or PTX, made when the library was built (SAMEBITS_GPU_CODE, tools/gpu_code.py): some for
// each file in the order in which a driver is to be asked, or none at all.
#ifndef SBI_GPU_CODE_H
#define SBI_GPU_CODE_H

#include <stddef.h>

typedef struct sbi_gpu_code {
    const char *name; // "gemm"; NULL last
    const char *chip; // "sm_90", "ptx", "gfx942"
    const unsigned char *code; // ends with a 0
    size_t size;
} sbi_gpu_code;
extern const sbi_gpu_code sbi_codes_cuda[], sbi_codes_hip[];
#endif
