// SPDX-License-Identifier: Apache-2.0
// Programs of an OpenCL device: built from the kernel text, or taken from the cache of a former build.
//
// The cache is a folder of files (SAMEBITS_CACHE, or samebits in XDG_CACHE_HOME or in ~/.cache; an empty SAMEBITS_CACHE
// is none). A file's name is the SHA-256 of the text, the options, the device and its driver; it holds the SHA-256 of the
// program and the program. It is written beside and renamed, so that processes never see half of one; one that is not
// whole, or that the driver does not take, is built anew. A cache that cannot be written is no error.
//
// Not for PoCL: it keeps what it compiled itself, and asked for a program's binary compiles every kernel in it once more, for
// any number of lanes (minutes for a file of ours).
#include "opencl_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 32, MOST_BYTES = 1 << 28, LOG = 300 };

static const char *options_of(const sbi_opencl *d) {
    return d->facts.division ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt" : "-cl-std=CL1.2";
}

static bool cache_folder(char *out, size_t size) {
    static const struct { const char *variable, *below; } places[] = {
        {"SAMEBITS_CACHE", ""}, {"XDG_CACHE_HOME", "/samebits"}, {"HOME", "/.cache/samebits"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *value = getenv(places[i].variable);
        if (value && (*value || i == 0))
            return *value && snprintf(out, size, "%s%s", value, places[i].below) < (int)size;
    }
    return false;
}

static void add_text(sbi_sha256 *hash, const char *text) { // with its end: no two lists of texts are one
    sbi_sha256_add(hash, text, strlen(text) + 1);
}

static bool cache_path(const sbi_opencl *d, const unsigned char *text, size_t size, char *out, size_t out_size) {
    char folder[3840], name[65];
    uint8_t digest[32];
    sbi_sha256 hash;
    if (!cache_folder(folder, sizeof folder)) return false;
    sbi_sha256_start(&hash);
    add_text(&hash, "samebits program 1");
    add_text(&hash, options_of(d));
    add_text(&hash, d->facts.platform);
    add_text(&hash, d->facts.product);
    add_text(&hash, d->facts.driver);
    sbi_sha256_add(&hash, text, size);
    sbi_sha256_end(&hash, digest);
    sbi_hex(digest, sizeof digest, name);
    return snprintf(out, out_size, "%s/%s.program", folder, name) < (int)out_size;
}

static cl_code build(const sbi_opencl *d, cl_program program) {
    return d->cl.BuildProgram(program, 1, &d->id, options_of(d), NULL, NULL);
}

static cl_program from_cache(const sbi_opencl *d, const char *path) {
    uint8_t *bytes = NULL, digest[HEAD];
    int64_t size = 0;
    cl_program program = NULL;
    if (sbi_file_read(&sbi_malloc_allocator, path, MOST_BYTES, &bytes, &size, NULL) != SB_OK) return NULL;
    if (size > HEAD) {
        const unsigned char *start = bytes + HEAD;
        const size_t length = (size_t)(size - HEAD);
        sbi_sha256 hash;
        cl_code code = CL_DONE, taken = CL_DONE;
        sbi_sha256_start(&hash);
        sbi_sha256_add(&hash, start, length);
        sbi_sha256_end(&hash, digest);
        if (memcmp(digest, bytes, HEAD) == 0)
            program = d->cl.CreateProgramWithBinary(d->context, 1, &d->id, &length, &start, &taken, &code);
        if (program && (code != CL_DONE || taken != CL_DONE || build(d, program) != CL_DONE)) {
            d->cl.ReleaseProgram(program);
            program = NULL;
        }
    }
    sbi_release(&sbi_malloc_allocator, bytes);
    return program;
}

static void to_cache(const sbi_opencl *d, const char *path, cl_program program) {
    char folder[4096];
    size_t size = 0;
    sbi_file *file = NULL;
    unsigned char *bytes = NULL;
    sbi_sha256 hash;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    if (d->cl.GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) != CL_DONE || size == 0 || size > MOST_BYTES - HEAD)
        return;
    bytes = sbi_allocate(&sbi_malloc_allocator, HEAD + (int64_t)size, 1, NULL);
    if (!bytes) return;
    unsigned char *start = bytes + HEAD;
    if (d->cl.GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof start, &start, NULL) != CL_DONE) goto done;
    sbi_sha256_start(&hash);
    sbi_sha256_add(&hash, start, size);
    sbi_sha256_end(&hash, bytes);
    if (sbi_folder_make(folder, NULL) == SB_OK && sbi_file_create(&sbi_malloc_allocator, path, &file, NULL) == SB_OK) {
        if (sbi_file_write(file, bytes, HEAD + (int64_t)size, NULL) != SB_OK || sbi_file_commit(file, NULL) != SB_OK)
            sbi_file_abandon(file);
    }
done:
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
    char path[4096], log[LOG];
    const char *start = (const char *)text;
    cl_code code = CL_DONE;
    const bool cached = !d->keeps_programs && cache_path(d, text, size, path, sizeof path);
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
