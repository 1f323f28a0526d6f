// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files (format 1 to 3, NEP 1): the header is read and checked against the size of the file, the elements are
// converted in passing. Booleans, integers of 8 to 64 bits, float16, float32, float64, either byte order, C or Fortran order.
// Whatever else NumPy can write (objects, structures, text, complex numbers, dates) is SB_ERR_UNSUPPORTED by its name.
#ifndef SBI_NPY_H
#define SBI_NPY_H

#include "base.h"

typedef struct sbi_npy {
    char kind;     // 'b' bool, 'i' 'u' integers, 'f' floats
    int item;      // bytes of an element
    bool big;      // big-endian
    bool fortran;  // first index fastest
    int ndim;
    int64_t shape[SB_MAX_DIMS], size; // elements
    int64_t offset;                   // of the first element in the file
} sbi_npy;

// The header, at the start of bytes[available]; the whole file has `total` bytes. Errors name the byte.
sb_status sbi_npy_header(const uint8_t *bytes, int64_t available, int64_t total, sbi_npy *out, sb_error *err);
// The dtype in which nothing is lost: SB_F32 (floats of up to 32 bits), SB_F64, SB_I64, SB_U64 (uint64 alone).
sb_dtype sbi_npy_dtype(const sbi_npy *npy);
// Elements first .. first + count - 1, in the order of the file, from their bytes to their places in the row-major array
// to[size]: SB_F32, SB_F64 (nearest), SB_I64 or SB_U64 (bools and integers that it holds; else SB_ERR_DTYPE).
sb_status sbi_npy_convert(const sbi_npy *npy, const uint8_t *bytes, int64_t first, int64_t count, sb_dtype dtype, void *to, sb_error *err);

// A file: its header; then, with the header, all elements.
sb_status sbi_npy_open(const sbi_allocator *allocator, const char *path, sbi_npy *out, sb_error *err);
sb_status sbi_npy_read(const sbi_allocator *allocator, const char *path, const sbi_npy *npy, sb_dtype dtype, void *to, sb_error *err);
#endif
