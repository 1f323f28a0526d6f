// SPDX-License-Identifier: Apache-2.0
// What is called of CUDA's driver and of HIP's runtime, which has the same functions under names of its own, and of their
// compilers at run time (NVRTC, hiprtc). Declared here, so that no SDK is needed. A code of 0 is success.
#ifndef SBI_CUDA_ENTRIES_H
#define SBI_CUDA_ENTRIES_H

#include <stddef.h>

// An address of the device is as wide as one of the host: the 64-bit machines that have such devices are such machines.
#define CUDA_ENTRIES(ENTRY) \
    ENTRY(Init, "cuInit", "hipInit", (unsigned flags)) \
    ENTRY(Driver, "cuDriverGetVersion", "hipDriverGetVersion", (int *version)) \
    ENTRY(Count, "cuDeviceGetCount", "hipGetDeviceCount", (int *count)) \
    ENTRY(Device, "cuDeviceGet", "hipDeviceGet", (int *device, int number)) \
    ENTRY(Name, "cuDeviceGetName", "hipDeviceGetName", (char *name, int size, int device)) \
    ENTRY(Memory, "cuDeviceTotalMem_v2", "hipDeviceTotalMem", (size_t *bytes, int device)) \
    ENTRY(Attribute, "cuDeviceGetAttribute", "hipDeviceGetAttribute", (int *value, int attribute, int device)) \
    ENTRY(Retain, "cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain", (void **context, int device)) \
    ENTRY(Leave, "cuDevicePrimaryCtxRelease_v2", "hipDevicePrimaryCtxRelease", (int device)) \
    ENTRY(Push, "cuCtxPushCurrent_v2", "hipCtxPushCurrent", (void *context)) \
    ENTRY(Pop, "cuCtxPopCurrent_v2", "hipCtxPopCurrent", (void **context)) \
    ENTRY(Allocate, "cuMemAlloc_v2", "hipMalloc", (void **address, size_t bytes)) \
    ENTRY(Free, "cuMemFree_v2", "hipFree", (void *address)) \
    ENTRY(Fill, "cuMemsetD8Async", "hipMemsetD8Async", (void *address, unsigned char value, size_t bytes, void *stream)) \
    ENTRY(Write, "cuMemcpyHtoD_v2", "hipMemcpyHtoD", (void *to, const void *from, size_t bytes)) \
    ENTRY(Read, "cuMemcpyDtoH_v2", "hipMemcpyDtoH", (void *to, const void *from, size_t bytes)) \
    ENTRY(Copy, "cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync", (void *to, const void *from, size_t bytes, void *stream)) \
    ENTRY(Load, "cuModuleLoadData", "hipModuleLoadData", (void **module, const void *image)) \
    ENTRY(Unload, "cuModuleUnload", "hipModuleUnload", (void *module)) \
    ENTRY(Function, "cuModuleGetFunction", "hipModuleGetFunction", (void **function, void *module, const char *name)) \
    ENTRY(Launch, "cuLaunchKernel", "hipModuleLaunchKernel", \
          (void *function, unsigned x, unsigned y, unsigned z, unsigned lanes, unsigned lanes_y, unsigned lanes_z, \
           unsigned shared, void *stream, void **arguments, void **extra))
#define CUDA_COMPILER_ENTRIES(ENTRY) \
    ENTRY(Version, "nvrtcVersion", "hiprtcVersion", (int *major, int *minor)) \
    ENTRY(Create, "nvrtcCreateProgram", "hiprtcCreateProgram", \
          (void **program, const char *text, const char *name, int headers, const char *const *bodies, const char *const *names)) \
    ENTRY(Compile, "nvrtcCompileProgram", "hiprtcCompileProgram", (void *program, int count, const char *const *options)) \
    ENTRY(CodeSize, "nvrtcGetPTXSize", "hiprtcGetCodeSize", (void *program, size_t *size)) \
    ENTRY(Code, "nvrtcGetPTX", "hiprtcGetCode", (void *program, char *code)) \
    ENTRY(LogSize, "nvrtcGetProgramLogSize", "hiprtcGetProgramLogSize", (void *program, size_t *size)) \
    ENTRY(Log, "nvrtcGetProgramLog", "hiprtcGetProgramLog", (void *program, char *log)) \
    ENTRY(Destroy, "nvrtcDestroyProgram", "hiprtcDestroyProgram", (void **program))

#define CUDA_MEMBER(name, cuda, hip, parameters) int (*name) parameters;
typedef struct sbi_cuda_entries {
    CUDA_ENTRIES(CUDA_MEMBER)
} sbi_cuda_entries;
typedef struct sbi_cuda_compiler {
    CUDA_COMPILER_ENTRIES(CUDA_MEMBER)
} sbi_cuda_compiler;
#undef CUDA_MEMBER

enum { CUDA_UNITS = 16, HIP_UNITS = 63 }; // the attribute: how many multiprocessors
enum { CUDA_DONE = 0, CUDA_NO_MEMORY = 2 }; // (HIP's codes of the same meaning)
#endif
