// SPDX-License-Identifier: Apache-2.0
// What the library uses of OpenCL 1.2, declared here so that it is built without anyone's headers: types, numbers and
// the entry points, which are looked up in the driver when a device is opened.
#ifndef SBI_OPENCL_ENTRIES_H
#define SBI_OPENCL_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

typedef struct sbi_cl_platform *cl_platform;
typedef struct sbi_cl_device *cl_device;
typedef struct sbi_cl_context *cl_context;
typedef struct sbi_cl_queue *cl_queue;
typedef struct sbi_cl_memory *cl_memory;
typedef struct sbi_cl_program *cl_program;
typedef struct sbi_cl_kernel *cl_kernel;
typedef struct sbi_cl_event *cl_event; // (never made: NULL everywhere)
typedef int32_t cl_code;
typedef uint32_t cl_number;
typedef uint64_t cl_bits;

enum {
    CL_DONE = 0, CL_ALLOCATION_FAILED = -4, CL_OUT_OF_RESOURCES = -5, CL_OUT_OF_HOST_MEMORY = -6,
    CL_WRONG_BUFFER_SIZE = -61,
};
enum {
    CL_PLATFORM_NAME = 0x0902,
    CL_DEVICE_UNITS = 0x1002, CL_DEVICE_ADDRESS_BITS = 0x100d, CL_DEVICE_LARGEST = 0x1010, CL_DEVICE_FLOAT = 0x101b,
    CL_DEVICE_MEMORY = 0x101f, CL_DEVICE_LITTLE = 0x1026, CL_DEVICE_COMPILER = 0x1028,
    CL_DEVICE_NAME = 0x102b, CL_DEVICE_DRIVER = 0x102d, CL_DEVICE_EXTENSIONS = 0x1030,
    CL_DEVICE_DOUBLE = 0x1032,
    CL_PROGRAM_BINARY_SIZES = 0x1165, CL_PROGRAM_BINARIES = 0x1166, CL_PROGRAM_BUILD_LOG = 0x1183,
};
enum { CL_FLOAT_DIVIDE = 1 << 7, CL_MEMORY_READ_WRITE = 1 };
#define CL_EVERY_DEVICE 0xffffffffu

// OPENCL_ENTRY(name without "cl", parameters); each returns a cl_code unless it makes an object.
#define OPENCL_ENTRIES \
    OPENCL_ENTRY(cl_code, GetPlatformIDs, (cl_number, cl_platform *, cl_number *)) \
    OPENCL_ENTRY(cl_code, GetPlatformInfo, (cl_platform, cl_number, size_t, void *, size_t *)) \
    OPENCL_ENTRY(cl_code, GetDeviceIDs, (cl_platform, cl_bits, cl_number, cl_device *, cl_number *)) \
    OPENCL_ENTRY(cl_code, GetDeviceInfo, (cl_device, cl_number, size_t, void *, size_t *)) \
    OPENCL_ENTRY(cl_context, CreateContext, (const intptr_t *, cl_number, const cl_device *, void *, void *, cl_code *)) \
    OPENCL_ENTRY(cl_code, ReleaseContext, (cl_context)) \
    OPENCL_ENTRY(cl_queue, CreateCommandQueue, (cl_context, cl_device, cl_bits, cl_code *)) \
    OPENCL_ENTRY(cl_code, ReleaseCommandQueue, (cl_queue)) \
    OPENCL_ENTRY(cl_code, Flush, (cl_queue)) \
    OPENCL_ENTRY(cl_code, Finish, (cl_queue)) \
    OPENCL_ENTRY(cl_memory, CreateBuffer, (cl_context, cl_bits, size_t, void *, cl_code *)) \
    OPENCL_ENTRY(cl_code, ReleaseMemObject, (cl_memory)) \
    OPENCL_ENTRY(cl_code, EnqueueReadBuffer, (cl_queue, cl_memory, cl_number, size_t, size_t, void *, cl_number, const cl_event *, cl_event *)) \
    OPENCL_ENTRY(cl_code, EnqueueWriteBuffer, (cl_queue, cl_memory, cl_number, size_t, size_t, const void *, cl_number, const cl_event *, cl_event *)) \
    OPENCL_ENTRY(cl_code, EnqueueCopyBuffer, (cl_queue, cl_memory, cl_memory, size_t, size_t, size_t, cl_number, const cl_event *, cl_event *)) \
    OPENCL_ENTRY(cl_code, EnqueueFillBuffer, (cl_queue, cl_memory, const void *, size_t, size_t, size_t, cl_number, const cl_event *, cl_event *)) \
    OPENCL_ENTRY(cl_program, CreateProgramWithSource, (cl_context, cl_number, const char **, const size_t *, cl_code *)) \
    OPENCL_ENTRY(cl_program, CreateProgramWithBinary, (cl_context, cl_number, const cl_device *, const size_t *, const unsigned char **, cl_code *, cl_code *)) \
    OPENCL_ENTRY(cl_code, BuildProgram, (cl_program, cl_number, const cl_device *, const char *, void *, void *)) \
    OPENCL_ENTRY(cl_code, GetProgramInfo, (cl_program, cl_number, size_t, void *, size_t *)) \
    OPENCL_ENTRY(cl_code, GetProgramBuildInfo, (cl_program, cl_device, cl_number, size_t, void *, size_t *)) \
    OPENCL_ENTRY(cl_code, ReleaseProgram, (cl_program)) \
    OPENCL_ENTRY(cl_kernel, CreateKernel, (cl_program, const char *, cl_code *)) \
    OPENCL_ENTRY(cl_code, ReleaseKernel, (cl_kernel)) \
    OPENCL_ENTRY(cl_code, SetKernelArg, (cl_kernel, cl_number, size_t, const void *)) \
    OPENCL_ENTRY(cl_code, EnqueueNDRangeKernel, (cl_queue, cl_kernel, cl_number, const size_t *, const size_t *, const size_t *, cl_number, const cl_event *, cl_event *))

typedef struct sbi_opencl_entries {
#define OPENCL_ENTRY(result, name, parameters) result(*name) parameters;
    OPENCL_ENTRIES
#undef OPENCL_ENTRY
} sbi_opencl_entries;
#endif
