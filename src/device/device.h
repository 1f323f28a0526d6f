// SPDX-License-Identifier: Apache-2.0
// A device is one small struct of functions.
#ifndef SBI_DEVICE_H
#define SBI_DEVICE_H

#include "base.h"
#include "kernels.h"

struct sbi_op;     // ops.h
struct sbi_opened; // device_open.c

// An address on a device is one that arithmetic on bytes holds for; only where the memory is the host's may the host
// follow it. What is started on a device happens in the order in which it was started.
typedef struct sbi_device {
    const char *name;  // "cpu", "opencl:0.0" ...
    const char *level; // "opencl", "cuda", "hip"; NULL on the CPU, whose level is the context's
    void *self;
    bool apart;  // its memory is not the host's
    int64_t units; // groups that it runs at once, at least: its cores, multiprocessors; apart only
    bool single; // it has no binary64: it can be probed, not used
    // Zeroed memory of the device.
    void *(*allocate)(const struct sbi_device *device, const sbi_allocator *allocator, int64_t bytes, sb_error *err);
    void (*release)(const struct sbi_device *device, const sbi_allocator *allocator, void *data);
    // To the host and from it; done when they return.
    sb_status (*read)(const struct sbi_device *device, const void *from, void *to, int64_t bytes, sb_error *err);
    sb_status (*write)(const struct sbi_device *device, const void *from, void *to, int64_t bytes, sb_error *err);
    // Runs `groups` groups of a kernel; perhaps later than it returns. kernels and pool are those of the context: only a
    // CPU needs them.
    sb_status (*launch)(const struct sbi_device *device, const sbi_kernel_table *kernels, sbi_pool *pool,
                        sbi_kernel_id kernel, int64_t groups, const sbi_arg *args, sb_error *err);
    // Not NULL on the reference only: carries out a whole, checked operation by its definition.
    sb_status (*operation)(const struct sbi_device *device, const struct sbi_op *op, sb_error *err);
    // Copies between buffers of this device that do not overlap.
    sb_status (*copy)(const struct sbi_device *device, sbi_pool *pool, const void *from, void *to, int64_t bytes,
                      sb_error *err);
    // Of a device that is opened and closed: NULL for the CPU.
    void (*close)(struct sbi_device *device);
    struct sbi_opened *opened; // who uses it
} sbi_device;

extern const sbi_device sbi_cpu; // cpu_device.c

// ---- device_open.c
// The device of a name ("cpu", "opencl:P.D", "cuda:N", "hip:N"), opened and probed if this process does not use it already; source is who
// asked, for errors. kernels and pool are those the probes compare with. The caller leaves it when done.
sb_status sbi_device_open(const char *name, const char *source, const sbi_kernel_table *kernels, sbi_pool *pool,
                          const sbi_device **out, sb_error *err);
void sbi_device_keep(const sbi_device *device); // one more user of a device that is open
void sbi_device_leave(const sbi_device *device);

// ---- device_probe.c
// What a device must do as the CPU does, on 2^20 hostile operands an operation.
typedef struct sbi_conformance {
    int64_t cases, wrong;
    char first[200]; // of what is wrong: the operation and an example
} sbi_conformance;
sb_status sbi_device_probe(const sbi_device *device, const sbi_kernel_table *kernels, sbi_pool *pool, sbi_conformance *out,
                           sb_error *err);

// ---- program_cache.c
enum { SBI_PROGRAM_PATH = 4096 };
// Where the program of a text is kept; parts: what else it depends on, NULL last. False: nowhere.
bool sbi_program_path(const char *const *parts, const unsigned char *text, size_t size, char out[SBI_PROGRAM_PATH]);
// The program kept there, whole, of sbi_malloc_allocator; or NULL.
uint8_t *sbi_program_read(const char *path, size_t *size);
void sbi_program_keep(const char *path, const uint8_t *bytes, size_t size); // where that can be

// ---- opencl_device.c
typedef struct sbi_device_facts {
    char name[24]; // "opencl:0.0"
    char product[96], platform[96], driver[96];
    int64_t memory, largest; // bytes in all, and in one array
    int units; // cores, multiprocessors
    bool float64, atomics64, division; // division: float32 is divided as IEEE says where asked
} sbi_device_facts;
// Every device of every OpenCL platform; none where there is no driver.
sb_status sbi_opencl_list(sb_status (*visit)(void *user, const sbi_device_facts *facts, sb_error *err), void *user, sb_error *err);
sb_status sbi_opencl_open(int platform, int number, const char *source, sbi_device **out, sb_error *err);

// ---- cuda_device.c
// Every device of CUDA and HIP; none where there is no driver.
sb_status sbi_cuda_list(sb_status (*visit)(void *user, const sbi_device_facts *facts, sb_error *err), void *user, sb_error *err);
sb_status sbi_cuda_open(bool hip, int number, const char *source, sbi_device **out, sb_error *err);
#endif
