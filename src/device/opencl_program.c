// SPDX-License-Identifier: Apache-2.0
// Programs of an OpenCL device: built from the kernel text, or taken from the cache of a former build (program_cache.c).
//
// No cache for PoCL: it keeps what it compiled itself, and asked for a program's binary compiles every kernel in it once more,
// for any number of lanes (minutes for a file of ours).
#include "opencl_device.h"

#include <string.h>

enum { MOST_BYTES = 1 << 28, LOG = 300 };

static const char *options_of(const sbi_opencl *d) {
    return d->facts.division ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt -D SBI_DIVIDE=sbi_plain_divide -D SBI_ROOT=sbi_plain_root"
                             : "-cl-std=CL1.2 -D SBI_DIVIDE=sbi_near_divide -D SBI_ROOT=sbi_near_root"; // kernels/residual.h
}

static bool cache_path(const sbi_opencl *d, const unsigned char *text, size_t size, char out[SBI_PROGRAM_PATH]) {
    const char *const parts[] = {"samebits program 1", options_of(d), d->facts.platform, d->facts.product, d->facts.driver, NULL};
    return sbi_program_path(parts, text, size, out);
}

static cl_code build(const sbi_opencl *d, cl_program program) {
    return d->cl.BuildProgram(program, 1, &d->id, options_of(d), NULL, NULL);
}

static cl_program from_cache(const sbi_opencl *d, const char *path) {
    size_t size = 0;
    cl_program program = NULL;
    cl_code code = CL_DONE, taken = CL_DONE;
    uint8_t *bytes = sbi_program_read(path, &size);
    const unsigned char *start = bytes;
    if (bytes) program = d->cl.CreateProgramWithBinary(d->context, 1, &d->id, &size, &start, &taken, &code);
    if (program && (code != CL_DONE || taken != CL_DONE || build(d, program) != CL_DONE)) {
        d->cl.ReleaseProgram(program);
        program = NULL;
    }
    sbi_release(&sbi_malloc_allocator, bytes);
    return program;
}

static void to_cache(const sbi_opencl *d, const char *path, cl_program program) {
    size_t size = 0;
    if (d->cl.GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) != CL_DONE || size == 0 || size > MOST_BYTES) return;
    unsigned char *bytes = sbi_allocate(&sbi_malloc_allocator, (int64_t)size, 1, NULL);
    if (bytes && d->cl.GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL) == CL_DONE) sbi_program_keep(path, bytes, size);
    sbi_release(&sbi_malloc_allocator, bytes);
}

// The log's first lines, on one.
static void read_log(const sbi_opencl *d, cl_program program, char out[LOG]) {
    size_t size = 0;
    char *log = NULL;
    out[0] = '\0';
    if (d->cl.GetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_DONE || size == 0 || size > MOST_BYTES) return;
    log = sbi_allocate(&sbi_malloc_allocator, (int64_t)size + 1, 1, NULL);
    if (log && d->cl.GetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, size, log, NULL) == CL_DONE) {
        size_t length = strlen(log);
        for (size_t i = 0; i < length; i++)
            if (log[i] == '\n' || log[i] == '\t') log[i] = ' ';
        sbi_escape(log, length, out, LOG);
    }
    sbi_release(&sbi_malloc_allocator, log);
}

sb_status sbi_opencl_program(sbi_opencl *d, const char *name, const unsigned char *text, size_t size, cl_program *out,
                             sb_error *err) {
    char path[SBI_PROGRAM_PATH], log[LOG];
    const char *start = (const char *)text;
    cl_code code = CL_DONE;
    const bool cached = !d->keeps_programs && cache_path(d, text, size, path);
    if (cached && (*out = from_cache(d, path))) return SB_OK;
    cl_program program = d->cl.CreateProgramWithSource(d->context, 1, &start, &size, &code);
    if (!program || code != CL_DONE) return sbi_opencl_fail(d, "taking a program", code, err);
    if ((code = build(d, program)) != CL_DONE) {
        read_log(d, program, log);
        d->cl.ReleaseProgram(program);
        return sbi_fail(err, SB_ERR_DEVICE, "device", "%s: the kernels of %s do not compile (code %d): %s", d->facts.name, name, (int)code, log);
    }
    if (cached) to_cache(d, path, program);
    *out = program;
    return SB_OK;
}
