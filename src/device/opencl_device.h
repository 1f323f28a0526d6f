// SPDX-License-Identifier: Apache-2.0
// An OpenCL device from within: what opencl_device.c and opencl_program.c share.
#ifndef SBI_OPENCL_DEVICE_H
#define SBI_OPENCL_DEVICE_H

#include "device.h"
#include "opencl_entries.h"

enum { SBI_OPENCL_MOST_ARGS = 24 };

typedef struct sbi_opencl_kernel {
    cl_kernel handle; // NULL: not made yet
    unsigned char size[SBI_OPENCL_MOST_ARGS]; // of the argument, or of what it points to
    bool points[SBI_OPENCL_MOST_ARGS], real[SBI_OPENCL_MOST_ARGS];
} sbi_opencl_kernel;

typedef struct sbi_opencl_buffer {
    uintptr_t start; // its address: of nothing, but arithmetic and order hold
    int64_t bytes;
    cl_memory memory;
} sbi_opencl_buffer;

typedef struct sbi_opencl {
    sbi_device device;
    sbi_device_facts facts;
    sbi_opencl_entries cl;
    cl_device id;
    cl_context context;
    cl_queue queue; // in order
    sbi_lock *lock; // of everything below
    unsigned process;
    bool keeps_programs; // its driver has a cache of its own
    int waiting; // launches since the queue was last empty
    int64_t used; // bytes in buffers
    uintptr_t next;
    sbi_opencl_buffer *buffers; // ascending
    int64_t count, capacity;
    cl_program programs[SBI_KERNEL_FILES];
    sbi_opencl_kernel kernels[SBI_KERNEL_COUNT];
} sbi_opencl;

// ---- opencl_program.c
// The program of a text, from the cache of a former build or built now. The lock is held. A failure shows the log.
sb_status sbi_opencl_program(sbi_opencl *d, const char *name, const unsigned char *text, size_t size, cl_program *out,
                             sb_error *err);
sb_status sbi_opencl_fail(const sbi_opencl *d, const char *what, cl_code code, sb_error *err); // an entry point refused
#endif
