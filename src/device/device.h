// SPDX-License-Identifier: Apache-2.0
// A device is one small struct of functions.
#ifndef SBI_DEVICE_H
#define SBI_DEVICE_H

#include "base.h"
#include "kernels.h"

struct sbi_op; // ops.h

typedef struct sbi_device {
    const char *name; // "cpu", later "opencl:0.0" ...
    void *self;
    // Zeroed memory of the device.
    void *(*allocate)(const struct sbi_device *device, const sbi_allocator *allocator, int64_t bytes, sb_error *err);
    void (*release)(const struct sbi_device *device, const sbi_allocator *allocator, void *data);
    sb_status (*read)(const struct sbi_device *device, const void *from, void *to, int64_t bytes, sb_error *err);
    sb_status (*write)(const struct sbi_device *device, const void *from, void *to, int64_t bytes, sb_error *err);
    // Runs `groups` groups of a kernel and returns when they are done. kernels and pool are those of the context: only
    // a CPU needs them.
    sb_status (*launch)(const struct sbi_device *device, const sbi_kernel_table *kernels, sbi_pool *pool,
                        sbi_kernel_id kernel, int64_t groups, const sbi_arg *args, sb_error *err);
    // Not NULL on the reference only: carries out a whole, checked operation by its definition.
    sb_status (*operation)(const struct sbi_device *device, const struct sbi_op *op, sb_error *err);
    // Copies between buffers of this device that do not overlap.
    sb_status (*copy)(const struct sbi_device *device, sbi_pool *pool, const void *from, void *to, int64_t bytes,
                      sb_error *err);
} sbi_device;

extern const sbi_device sbi_cpu; // cpu.c
#endif
