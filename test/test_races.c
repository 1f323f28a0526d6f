// SPDX-License-Identifier: Apache-2.0
// Runs lanes on an OpenCL device that no probe has judged, for test_races.py: under oclgrind, which
// watches every access of every lane. The library has no such way in; this program opens the device
// below it.
//
//     test_races race | uninitialised | clean        one kernel with that fault
//     test_races lanes FIXTURES LANES                lanes ("all": every one) on fixtures,
//     "odd,one"; then the kernels that ran
#include "array.h"
#include "contexts.h"
#include "opencl_device.h"
#include "proof.h"
#include "verify.h"

#include <stdlib.h>

static sb_error err;
static bool ran[SBI_KERNEL_COUNT];
static sbi_device watched; // the device, and which kernels were started there
static sb_status (*start)(const sbi_device *, const sbi_kernel_table *, sbi_pool *, sbi_kernel_id,
                          int64_t, const sbi_arg *, sb_error *);

static sb_status launch(const sbi_device *device, const sbi_kernel_table *kernels, sbi_pool *pool,
                        sbi_kernel_id kernel, int64_t groups, const sbi_arg *args, sb_error *why) {
    ran[kernel] = true;
    return start(device, kernels, pool, kernel, groups, args, why);
}

// oclgrind 21.10 does not count fills and copies as writes, and a write to a part of a buffer makes
// it forget the rest: so each becomes a write of the whole buffer.
static sbi_opencl *d;
static sbi_opencl_entries cl;

static cl_code write_part(cl_queue queue, cl_memory memory, cl_number blocking, size_t offset,
                          size_t size, const void *from, cl_number waits, const cl_event *before,
                          cl_event *event) {
    int64_t whole = 0;
    (void)blocking, (void)waits, (void)before,
        (void)event; // (none: opencl_device.c waits by finishing its queue)
    for (int64_t i = 0; i < d->count; i++)
        if (d->buffers[i].memory == memory) whole = d->buffers[i].bytes;
    if (whole == 0) whole = (int64_t)(offset + size); // (a new one, not yet on the list)
    unsigned char *bytes = malloc((size_t)whole);
    if (!bytes) return CL_OUT_OF_HOST_MEMORY;
    cl_code code = cl.EnqueueReadBuffer(queue, memory, 1, 0, (size_t)whole, bytes, 0, NULL, NULL);
    memcpy(bytes + offset, from, size);
    if (code == CL_DONE)
        code = cl.EnqueueWriteBuffer(queue, memory, 1, 0, (size_t)whole, bytes, 0, NULL, NULL);
    free(bytes);
    return code;
}

static cl_code fill(cl_queue queue, cl_memory memory, const void *pattern, size_t item,
                    size_t offset, size_t size, cl_number waits, const cl_event *before,
                    cl_event *event) {
    unsigned char *bytes = malloc(size);
    if (!bytes || item != 1) return CL_OUT_OF_HOST_MEMORY;
    memset(bytes, *(const unsigned char *)pattern, size);
    cl_code code = write_part(queue, memory, 1, offset, size, bytes, waits, before, event);
    free(bytes);
    return code;
}

static cl_code copy(cl_queue queue, cl_memory from, cl_memory to, size_t from_offset, size_t offset,
                    size_t size, cl_number waits, const cl_event *before, cl_event *event) {
    void *bytes = malloc(size);
    cl_code code =
        bytes ? cl.EnqueueReadBuffer(queue, from, 1, from_offset, size, bytes, 0, NULL, NULL)
              : CL_OUT_OF_HOST_MEMORY;
    if (code == CL_DONE) code = write_part(queue, to, 1, offset, size, bytes, waits, before, event);
    free(bytes);
    return code;
}

static void run_text(const char *text) {
    cl_program program = NULL;
    cl_code code = CL_DONE;
    const size_t lanes = 32, all = 64;
    sbi_device *device = &d->device;
    CHECK(sbi_opencl_program(d, "planted", (const unsigned char *)text, strlen(text), &program,
                             &err) == SB_OK,
          "%s", err.message);
    cl_kernel kernel = program ? d->cl.CreateKernel(program, "k_planted", &code) : NULL;
    void *out = device->allocate(device, &sbi_malloc_allocator, 64 * 4, &err);
    if (!kernel || !out) {
        CHECK(0, "no kernel (%d), or no memory", (int)code);
        return;
    }
    code = d->cl.SetKernelArg(kernel, 0, sizeof(cl_memory), &d->buffers[0].memory);
    if (code == CL_DONE)
        code = d->cl.EnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &all, &lanes, 0, NULL, NULL);
    if (code == CL_DONE) code = d->cl.Finish(d->queue);
    CHECK(code == CL_DONE, "%d", (int)code);
    d->cl.ReleaseKernel(kernel);
    d->cl.ReleaseProgram(program);
    device->release(device, &sbi_malloc_allocator, out);
}

typedef struct golden {
    const sbi_references *references;
    const char *lane, *fixture;
} golden;

// A cell must have its golden value here, too.
static void judge(void *user, const char *name, const uint8_t digest[32], const sb_array *array) {
    const golden *g = user;
    int64_t count = 0;
    const sbi_cell *rows = sbi_references_of(g->references, g->lane, g->fixture, &count);
    (void)array;
    for (int64_t i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0) {
            CHECK(memcmp(rows[i].digest, digest, 32) == 0, "%s/%s/%s is DIVERGENT", g->lane,
                  g->fixture, name);
            return;
        }
    CHECK(0, "%s/%s/%s has no golden value", g->lane, g->fixture, name);
}

static void run_lanes(sb_context *ctx, const sbi_references *references, const char *fixtures,
                      const char *names) {
    for (const sbi_lane *const *file = sbi_lane_files; *file; file++)
        for (const sbi_lane *lane = *file; lane->name; lane++) {
            const char *at = strstr(names, lane->name);
            while (at && ((at > names && at[-1] != ',') ||
                          (at[strlen(lane->name)] && at[strlen(lane->name)] != ',')))
                at = strstr(at + 1, lane->name);
            for (int f = 0; f < SBI_FIX_COUNT && (at || strcmp(names, "all") == 0); f++) {
                golden g = {references, lane->name, sbi_fixture_names[f]};
                sbi_lane_run run = {.ctx = ctx,
                                    .lane = lane,
                                    .fixture = (sbi_fixture)f,
                                    .nudge = -1,
                                    .report = judge,
                                    .user = &g};
                if (!(lane->fixtures & SBI_FIX(f)) || !strstr(fixtures, g.fixture)) continue;
                CHECK(sbi_lane_carry_out(&run, &err) == SB_OK, "%s on %s: %s", lane->name,
                      g.fixture, err.message);
                printf("%s %s\n", lane->name, sbi_fixture_names[f]);
                fflush(stdout);
            }
        }
    for (int i = 0; i < SBI_KERNEL_COUNT; i++)
        if (ran[i]) printf("ran %s\n", sbi_kernel_infos[i].name);
}

int main(int argc, char **argv) {
    static const char race[] =
        "__kernel void k_planted(__global float *x) { __local float s[32]; int l = "
        "get_local_id(0); s[l] = 0.0f;"
        " barrier(CLK_LOCAL_MEM_FENCE); s[l] = l; x[get_global_id(0)] = s[l ^ 1]; }";
    static const char uninitialised[] =
        "__kernel void k_planted(__global float *x) { __local float s[32]; int l = "
        "get_local_id(0); if (l) s[l] = l;"
        " barrier(CLK_LOCAL_MEM_FENCE); if (s[l ^ 1] > 3.0f) x[get_global_id(0)] = 1.0f; }";
    static const char clean[] = "__kernel void k_planted(__global float *x) { __local float s[32]; "
                                "int l = get_local_id(0); s[l] = l;"
                                " barrier(CLK_LOCAL_MEM_FENCE); x[get_global_id(0)] = s[l ^ 1]; }";
    sbi_device *device = NULL;
    sb_context *ctx = NULL;
    sbi_references references = {0};
    uint8_t *text = NULL;
    int64_t size = 0;
    CHECK(argc > 1 && sbi_opencl_open(0, 0, "test", &device, &err) == SB_OK, "%s", err.message);
    if (!device) return test_end();
    d = device->self;
    cl = d->cl;
    d->cl.EnqueueFillBuffer = fill;
    d->cl.EnqueueCopyBuffer = copy;
    d->cl.EnqueueWriteBuffer = write_part;
    printf("on %s\n", d->facts.platform);
    if (strcmp(argv[1], "lanes") == 0 && argc == 4) {
        watched = *device;
        start = device->launch;
        watched.launch = launch;
        CHECK(sbi_context_new_on(&watched, 1, &ctx, &err) == SB_OK, "%s", err.message);
        CHECK(sbi_file_read(&sbi_malloc_allocator, GOLDEN, INT32_MAX, &text, &size, &err) ==
                      SB_OK &&
                  sbi_references_read((const char *)text, (size_t)size, &references, &err) == SB_OK,
              "%s", err.message);
        if (ctx && references.count) run_lanes(ctx, &references, argv[2], argv[3]);
        sbi_references_free(&references);
        sbi_release(&sbi_malloc_allocator, text);
        sb_context_free(ctx);
    } else {
        run_text(strcmp(argv[1], "race") == 0            ? race
                 : strcmp(argv[1], "uninitialised") == 0 ? uninitialised
                                                         : clean);
    }
    device->close(device);
    return test_end();
}
