// SPDX-License-Identifier: Apache-2.0
// OpenCL devices (1.2 and up), by way of the driver's loader, which is opened when a device is asked for.
//
// OpenCL's memory has no addresses that hold outside a kernel: an array's address is a number of ours, from which the
// buffer and the place in it are found again at a launch (cmake/embed_kernels.cmake gives every pointer of a kernel its
// place as a further argument). All work goes into one queue, in order; only reading and writing wait for it.
#include "opencl_device.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

// A queue is emptied after so many launches: scratch that was given back stays with the device until then.
enum { MOST_WAITING = 512, MOST_PLATFORMS = 32, MOST_DEVICES = 64, SPACE_BITS = 48, PAGE = 4096 };

// ---- the driver

static const char *const loaders[] = {"libOpenCL.so.1", "libOpenCL.so"};

static bool load(sbi_opencl_entries *cl) {
    void *library = NULL;
    for (size_t i = 0; i < sizeof loaders / sizeof *loaders && !library; i++) library = sbi_library_open(loaders[i]);
    bool all = library != NULL;
#define OPENCL_ENTRY(result, name, parameters) \
    all = all && sbi_library_function(library, "cl" #name, &cl->name, sizeof cl->name);
    OPENCL_ENTRIES
#undef OPENCL_ENTRY
    return all;
}

static const char *words_of(cl_code code) {
    switch (code) {
    case CL_ALLOCATION_FAILED: case CL_OUT_OF_RESOURCES: case CL_OUT_OF_HOST_MEMORY: return "out of memory or resources";
    case -14: return "a command before it failed"; // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    case -2: case -36: return "the device is lost";
    case -54: return "more lanes than the device runs at once";
    default: return "refused";
    }
}

sb_status sbi_opencl_fail(const sbi_opencl *d, const char *what, cl_code code, sb_error *err) {
    return sbi_fail(err, SB_ERR_DEVICE, "device", "%s (%s): %s failed with OpenCL's code %d: %s", d->facts.name, d->facts.product,
                    what, (int)code, words_of(code));
}

// ---- what is there

static void tell(const sbi_opencl_entries *cl, cl_device id, cl_number what, void *out, size_t size) {
    memset(out, 0, size);
    if (cl->GetDeviceInfo(id, what, size, out, NULL) != CL_DONE) memset(out, 0, size);
}

static void tell_text(const sbi_opencl_entries *cl, cl_device id, cl_number what, char *out, size_t size) {
    char text[512] = "";
    if (cl->GetDeviceInfo(id, what, sizeof text - 1, text, NULL) != CL_DONE) strcpy(text, "unknown");
    sbi_escape(text, strlen(text), out, size);
}

static bool has_extension(const sbi_opencl_entries *cl, cl_device id, const char *name) {
    static const size_t most = 16384;
    size_t size = 0, length = strlen(name);
    if (cl->GetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &size) != CL_DONE || size == 0 || size > most) return false;
    char *text = sbi_allocate(&sbi_malloc_allocator, (int64_t)size + 1, 1, NULL);
    bool found = false;
    if (text && cl->GetDeviceInfo(id, CL_DEVICE_EXTENSIONS, size, text, NULL) == CL_DONE)
        for (const char *at = text; (at = strstr(at, name)) && !found; at += length)
            found = (at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0');
    sbi_release(&sbi_malloc_allocator, text);
    return found;
}

static sbi_device_facts facts_of(const sbi_opencl_entries *cl, cl_platform platform, int p, cl_device id, int d) {
    sbi_device_facts facts = {.memory = 0};
    char text[256] = "";
    uint64_t memory, largest, doubles, floats;
    cl_number units;
    snprintf(facts.name, sizeof facts.name, "opencl:%d.%d", p, d);
    if (cl->GetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof text - 1, text, NULL) != CL_DONE) strcpy(text, "unknown");
    sbi_escape(text, strlen(text), facts.platform, sizeof facts.platform);
    tell_text(cl, id, CL_DEVICE_NAME, facts.product, sizeof facts.product);
    tell_text(cl, id, CL_DEVICE_DRIVER, facts.driver, sizeof facts.driver);
    tell(cl, id, CL_DEVICE_MEMORY, &memory, sizeof memory);
    tell(cl, id, CL_DEVICE_LARGEST, &largest, sizeof largest);
    tell(cl, id, CL_DEVICE_DOUBLE, &doubles, sizeof doubles);
    tell(cl, id, CL_DEVICE_FLOAT, &floats, sizeof floats);
    facts.memory = (int64_t)(memory >> 1 > INT64_MAX / 4 ? (uint64_t)INT64_MAX / 4 : memory);
    facts.largest = (int64_t)(largest >> 1 > INT64_MAX / 4 ? (uint64_t)INT64_MAX / 4 : largest);
    tell(cl, id, CL_DEVICE_UNITS, &units, sizeof units);
    facts.units = units > 0 && units < INT32_MAX ? (int)units : 1;
    facts.float64 = doubles != 0;
    facts.division = (floats & CL_FLOAT_DIVIDE) != 0;
    facts.atomics64 = has_extension(cl, id, "cl_khr_int64_base_atomics");
    return facts;
}

// The devices of platform p, or -1 where there is no such platform.
static int devices_of(const sbi_opencl_entries *cl, int p, cl_platform *platform, cl_device devices[MOST_DEVICES]) {
    cl_platform platforms[MOST_PLATFORMS];
    cl_number count = 0;
    if (cl->GetPlatformIDs(MOST_PLATFORMS, platforms, &count) != CL_DONE || p >= (int)count || p >= MOST_PLATFORMS) return -1;
    *platform = platforms[p];
    if (cl->GetDeviceIDs(platforms[p], CL_EVERY_DEVICE, MOST_DEVICES, devices, &count) != CL_DONE) return 0;
    return count < MOST_DEVICES ? (int)count : MOST_DEVICES;
}

sb_status sbi_opencl_list(sb_status (*visit)(void *user, const sbi_device_facts *facts, sb_error *err), void *user, sb_error *err) {
    sbi_opencl_entries cl;
    cl_platform platform = NULL;
    cl_device devices[MOST_DEVICES];
    sb_status status = SB_OK;
    if (!load(&cl)) return SB_OK;
    for (int p = 0, count; status == SB_OK && (count = devices_of(&cl, p, &platform, devices)) >= 0; p++)
        for (int d = 0; d < count && status == SB_OK; d++) {
            const sbi_device_facts facts = facts_of(&cl, platform, p, devices[d], d);
            status = visit(user, &facts, err);
        }
    return status;
}

// ---- memory

static sb_status same_process(const sbi_opencl *d, sb_error *err) { // (the driver's threads do not follow a fork)
    if (d->process == sbi_forks()) return SB_OK;
    return sbi_fail(err, SB_ERR_DEVICE, "device", "%s was opened before a fork: this process must open it itself", d->facts.name);
}

static int64_t place_of(const sbi_opencl *d, uintptr_t address) { // the last buffer that starts at or before it, or -1
    int64_t low = -1, high = d->count;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (d->buffers[middle].start <= address)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// The buffer of an address and the place in it.
static sb_status find_buffer(const sbi_opencl *d, const void *address, cl_memory *memory, int64_t *offset, sb_error *err) {
    int64_t at = place_of(d, (uintptr_t)address);
    if (at >= 0) {
        const sbi_opencl_buffer *buffer = &d->buffers[at];
        *offset = (int64_t)((uintptr_t)address - buffer->start);
        *memory = buffer->memory;
        if (*offset <= buffer->bytes) return SB_OK; // (an empty view may stand at the end)
    }
    return sbi_fail(err, SB_ERR_INTERNAL, "device", "an address that is none of %s", d->facts.name);
}

static bool grow(sbi_opencl *d, sb_error *err) {
    if (d->count < d->capacity) return true;
    int64_t capacity = d->capacity ? 2 * d->capacity : 256;
    sbi_opencl_buffer *longer = sbi_allocate(&sbi_malloc_allocator, capacity, sizeof *longer, err);
    if (!longer) return false;
    if (d->count) memcpy(longer, d->buffers, (size_t)d->count * sizeof *longer);
    sbi_release(&sbi_malloc_allocator, d->buffers);
    d->buffers = longer;
    d->capacity = capacity;
    return true;
}

static void *no_memory(const sbi_opencl *d, int64_t bytes, sb_error *err) {
    sbi_fail(err, SB_ERR_MEMORY, "", "%s (%s): no memory for %lld bytes: %lld of %lld are in use, one array may have %lld", d->facts.name,
             d->facts.product, (long long)bytes, (long long)d->used, (long long)d->facts.memory, (long long)d->facts.largest);
    return NULL;
}

static void *opencl_allocate(const sbi_device *device, const sbi_allocator *allocator, int64_t bytes, sb_error *err) {
    (void)allocator;
    sbi_opencl *d = device->self;
    const int64_t size = bytes > 0 ? bytes : 1;
    const unsigned char zero = 0;
    cl_code code = CL_DONE;
    void *address = NULL;
    if (same_process(d, err) != SB_OK) return NULL;
    sbi_lock_take(d->lock);
    if (size > d->facts.largest || size > d->facts.memory - d->used) {
        no_memory(d, bytes, err);
        goto done;
    }
    if (!grow(d, err)) goto done;
    cl_memory memory = d->cl.CreateBuffer(d->context, CL_MEMORY_READ_WRITE, (size_t)size, NULL, &code);
    if (memory && code == CL_DONE)
        code = d->cl.EnqueueFillBuffer(d->queue, memory, &zero, sizeof zero, 0, (size_t)size, 0, NULL, NULL);
    if (!memory || code != CL_DONE) {
        if (memory) d->cl.ReleaseMemObject(memory);
        if (code == CL_ALLOCATION_FAILED || code == CL_OUT_OF_RESOURCES || code == CL_OUT_OF_HOST_MEMORY || code == CL_WRONG_BUFFER_SIZE)
            no_memory(d, bytes, err);
        else
            sbi_opencl_fail(d, "making a buffer", code, err);
        goto done;
    }
    d->buffers[d->count++] = (sbi_opencl_buffer){d->next, size, memory};
    address = (void *)d->next;
    d->next += ((uintptr_t)size + 2 * PAGE - 1) / PAGE * PAGE; // (never two buffers that touch)
    d->used += size;
done:
    sbi_lock_leave(d->lock);
    return address;
}

static void opencl_release(const sbi_device *device, const sbi_allocator *allocator, void *data) {
    (void)allocator;
    sbi_opencl *d = device->self;
    if (!data || same_process(d, NULL) != SB_OK) return;
    sbi_lock_take(d->lock);
    int64_t at = place_of(d, (uintptr_t)data);
    if (at >= 0 && d->buffers[at].start == (uintptr_t)data) {
        d->cl.ReleaseMemObject(d->buffers[at].memory); // (the driver keeps it for what is in the queue)
        d->used -= d->buffers[at].bytes;
        memmove(&d->buffers[at], &d->buffers[at + 1], (size_t)(d->count - at - 1) * sizeof *d->buffers);
        d->count--;
    }
    sbi_lock_leave(d->lock);
}

// The buffer and the place in it of an array that is the caller's: nobody gives it back now.
static sb_status held_buffer(sbi_opencl *d, const void *data, cl_memory *memory, int64_t *offset, sb_error *err) {
    sb_status status = same_process(d, err);
    if (status != SB_OK) return status;
    sbi_lock_take(d->lock);
    status = find_buffer(d, data, memory, offset, err);
    sbi_lock_leave(d->lock);
    return status;
}

static sb_status opencl_read(const sbi_device *device, const void *from, void *to, int64_t bytes, sb_error *err) {
    sbi_opencl *d = device->self;
    cl_memory memory = NULL;
    int64_t offset = 0;
    sb_status status = bytes > 0 ? held_buffer(d, from, &memory, &offset, err) : same_process(d, err);
    if (status != SB_OK || bytes <= 0) return status;
    cl_code code = d->cl.EnqueueReadBuffer(d->queue, memory, 1, (size_t)offset, (size_t)bytes, to, 0, NULL, NULL);
    return code == CL_DONE ? SB_OK : sbi_opencl_fail(d, "reading an array", code, err);
}

static sb_status opencl_write(const sbi_device *device, const void *from, void *to, int64_t bytes, sb_error *err) {
    sbi_opencl *d = device->self;
    cl_memory memory = NULL;
    int64_t offset = 0;
    sb_status status = bytes > 0 ? held_buffer(d, to, &memory, &offset, err) : same_process(d, err);
    if (status != SB_OK || bytes <= 0) return status;
    cl_code code = d->cl.EnqueueWriteBuffer(d->queue, memory, 1, (size_t)offset, (size_t)bytes, from, 0, NULL, NULL);
    return code == CL_DONE ? SB_OK : sbi_opencl_fail(d, "writing an array", code, err);
}

static sb_status opencl_copy(const sbi_device *device, sbi_pool *pool, const void *from, void *to, int64_t bytes, sb_error *err) {
    (void)pool;
    sbi_opencl *d = device->self;
    cl_memory source = NULL, target = NULL;
    int64_t at = 0, place = 0;
    sb_status status = same_process(d, err);
    if (status != SB_OK || bytes <= 0) return status;
    sbi_lock_take(d->lock);
    status = find_buffer(d, from, &source, &at, err);
    if (status == SB_OK) status = find_buffer(d, to, &target, &place, err);
    if (status == SB_OK) {
        cl_code code = d->cl.EnqueueCopyBuffer(d->queue, source, target, (size_t)at, (size_t)place, (size_t)bytes, 0, NULL, NULL);
        if (code != CL_DONE) status = sbi_opencl_fail(d, "copying an array", code, err);
    }
    sbi_lock_leave(d->lock);
    return status;
}

// ---- launches

// A kernel's arguments from the words of its row: "cf32, f32p, i64".
static bool read_kinds(sbi_opencl_kernel *kernel, const sbi_kernel_info *info) {
    const char *at = info->kinds;
    if (info->count > SBI_OPENCL_MOST_ARGS) return false;
    for (int i = 0; i < info->count; i++) {
        bool points = *at == 'c';
        at += points;
        kernel->real[i] = *at++ == 'f';
        kernel->size[i] = (unsigned char)(*at == '8' ? 1 : *at == '3' ? 4 : 8);
        at += *at == '8' ? 1 : 2;
        points = points || *at == 'p';
        kernel->points[i] = points;
        while (*at == 'p' || *at == ',' || *at == ' ') at++;
    }
    return *at == '\0';
}

static sb_status make_kernel(sbi_opencl *d, sbi_kernel_id id, sb_error *err) {
    const sbi_kernel_info *info = &sbi_kernel_infos[id];
    sbi_opencl_kernel *kernel = &d->kernels[id];
    cl_code code = CL_DONE;
    int file = 0;
    while (sbi_kernel_firsts[file + 1] <= id) file++;
    const sbi_kernel_text *text = d->device.single ? sbi_texts_opencl_single : &sbi_texts_opencl[file];
    sb_status status = SB_OK;
    if (d->device.single && file != SBI_FILE_probe_single)
        return sbi_fail(err, SB_ERR_UNSUPPORTED, "device", "%s (%s) has no binary64, which %s needs", d->facts.name, d->facts.product, info->name);
    if (!d->programs[file]) status = sbi_opencl_program(d, text->name, text->text, text->size, &d->programs[file], err);
    if (status != SB_OK) return status;
    if (!read_kinds(kernel, info)) return sbi_fail(err, SB_ERR_INTERNAL, "device", "the row of %s is not understood", info->name);
    cl_kernel handle = d->cl.CreateKernel(d->programs[file], info->name, &code);
    if (!handle || code != CL_DONE) return sbi_opencl_fail(d, info->name, code, err);
    kernel->handle = handle;
    return SB_OK;
}

// Argument i as OpenCL takes it, and for a pointer its place behind all others.
static sb_status set_argument(sbi_opencl *d, const sbi_opencl_kernel *kernel, int i, const sbi_arg *arg, int *places, sb_error *err) {
    const int32_t half = (int32_t)arg->i;
    const float narrow = (float)arg->f;
    const void *value = kernel->size[i] == 8 ? (const void *)arg : kernel->real[i] ? (const void *)&narrow : (const void *)&half;
    cl_code code;
    if (kernel->points[i]) {
        cl_memory memory = NULL;
        int64_t place = 0;
        sb_status status = arg->in ? find_buffer(d, arg->in, &memory, &place, err) : SB_OK;
        if (status != SB_OK) return status;
        place /= kernel->size[i];
        code = d->cl.SetKernelArg(kernel->handle, (cl_number)i, sizeof memory, arg->in ? &memory : NULL);
        if (code == CL_DONE) code = d->cl.SetKernelArg(kernel->handle, (cl_number)(*places)++, sizeof place, &place);
    } else {
        code = d->cl.SetKernelArg(kernel->handle, (cl_number)i, kernel->size[i], value);
    }
    return code == CL_DONE ? SB_OK : sbi_opencl_fail(d, "an argument of a kernel", code, err);
}

static sb_status opencl_launch(const sbi_device *device, const sbi_kernel_table *kernels, sbi_pool *pool, sbi_kernel_id id,
                               int64_t groups, const sbi_arg *args, sb_error *err) {
    (void)kernels, (void)pool;
    sbi_opencl *d = device->self;
    const sbi_kernel_info *info = &sbi_kernel_infos[id];
    const sbi_opencl_kernel *kernel = &d->kernels[id];
    const size_t lanes = (size_t)info->lanes, all = (size_t)groups * lanes;
    int places = info->count;
    sb_status status = same_process(d, err);
    if (status != SB_OK) return status;
    sbi_lock_take(d->lock);
    if (!kernel->handle) status = make_kernel(d, id, err);
    for (int i = 0; i < info->count && status == SB_OK; i++) status = set_argument(d, kernel, i, &args[i], &places, err);
    if (status == SB_OK) {
        cl_code code = d->cl.EnqueueNDRangeKernel(d->queue, kernel->handle, 1, NULL, &all, &lanes, 0, NULL, NULL);
        if (code == CL_DONE) code = ++d->waiting % MOST_WAITING == 0 ? d->cl.Finish(d->queue) : d->cl.Flush(d->queue);
        if (code != CL_DONE) status = sbi_opencl_fail(d, info->name, code, err);
    }
    sbi_lock_leave(d->lock);
    return status;
}

// ---- opening and closing

static void opencl_close(sbi_device *device) {
    sbi_opencl *d = device->self;
    if (d->process == sbi_forks()) { // else all of it is the parent's
        if (d->queue) d->cl.Finish(d->queue);
        for (int64_t i = 0; i < d->count; i++) d->cl.ReleaseMemObject(d->buffers[i].memory);
        for (int i = 0; i < SBI_KERNEL_COUNT; i++)
            if (d->kernels[i].handle) d->cl.ReleaseKernel(d->kernels[i].handle);
        for (int i = 0; i < SBI_KERNEL_FILES; i++)
            if (d->programs[i]) d->cl.ReleaseProgram(d->programs[i]);
        if (d->queue) d->cl.ReleaseCommandQueue(d->queue);
        if (d->context) d->cl.ReleaseContext(d->context);
    }
    sbi_lock_free(d->lock);
    sbi_release(&sbi_malloc_allocator, d->buffers);
    sbi_release(&sbi_malloc_allocator, d);
}

// The device of a place that exists, with its facts; else what is wrong with the place.
static sb_status find_device(sbi_opencl *d, int p, int number, const char *source, sb_error *err) {
    cl_platform platform = NULL;
    cl_device devices[MOST_DEVICES];
    if (!load(&d->cl))
        return sbi_fail(err, SB_ERR_DEVICE, source, "%s: opencl:%d.%d needs an OpenCL driver, and this machine has no loader (%s)", source,
                        p, number, loaders[0]);
    int count = devices_of(&d->cl, p, &platform, devices), platforms = 0;
    if (count > number) {
        d->id = devices[number];
        d->facts = facts_of(&d->cl, platform, p, d->id, number);
        return SB_OK;
    }
    if (count >= 0)
        return sbi_fail(err, SB_ERR_DEVICE, source, "%s: there is no device opencl:%d.%d: platform %d has %d, counted from 0", source, p,
                        number, p, count);
    while (devices_of(&d->cl, platforms, &platform, devices) >= 0) platforms++;
    return sbi_fail(err, SB_ERR_DEVICE, source, "%s: there is no device opencl:%d.%d: OpenCL shows %d platforms here, counted from 0",
                    source, p, number, platforms);
}

static sb_status usable(const sbi_opencl *d, const char *source, sb_error *err) {
    cl_number compiler, little, bits;
    tell(&d->cl, d->id, CL_DEVICE_COMPILER, &compiler, sizeof compiler);
    tell(&d->cl, d->id, CL_DEVICE_LITTLE, &little, sizeof little);
    tell(&d->cl, d->id, CL_DEVICE_ADDRESS_BITS, &bits, sizeof bits);
    const bool host_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    const char *lacks = !compiler ? "a compiler" : (little != 0) != host_little ? "the host's order of bytes" : NULL;
    if (!lacks) return SB_OK;
    return sbi_fail(err, SB_ERR_DEVICE, source, "%s: %s (%s) is refused: it lacks %s", source, d->facts.name, d->facts.product, lacks);
}

sb_status sbi_opencl_open(int platform, int number, const char *source, sbi_device **out, sb_error *err) {
    static atomic_uint serial; // devices apart from each other also in their addresses
    sbi_opencl *d = sbi_allocate(&sbi_malloc_allocator, 1, sizeof *d, err);
    cl_code code = CL_DONE;
    if (!d) return SB_ERR_MEMORY;
    d->device = (sbi_device){.name = d->facts.name, .level = "opencl", .self = d, .apart = true, .allocate = opencl_allocate, .release = opencl_release,
                             .read = opencl_read, .write = opencl_write, .launch = opencl_launch, .copy = opencl_copy, .close = opencl_close};
    d->process = sbi_forks();
    d->next = UINTPTR_MAX / 2 + 1 + ((uintptr_t)(atomic_fetch_add(&serial, 1) % 0x7000) << (sizeof(uintptr_t) > 4 ? SPACE_BITS : 0));
    d->lock = sbi_lock_new(&sbi_malloc_allocator, err);
    sb_status status = d->lock ? find_device(d, platform, number, source, err) : SB_ERR_MEMORY;
    if (status == SB_OK) status = usable(d, source, err);
    if (status == SB_OK) {
        d->context = d->cl.CreateContext(NULL, 1, &d->id, NULL, NULL, &code);
        if (d->context) d->queue = d->cl.CreateCommandQueue(d->context, d->id, 0, &code);
        if (!d->context || !d->queue) status = sbi_opencl_fail(d, "opening it", code, err);
    }
    d->device.single = !d->facts.float64;
    d->device.units = d->facts.units;
    d->keeps_programs = strcmp(d->facts.platform, "Portable Computing Language") == 0;
    if (status == SB_OK)
        *out = &d->device;
    else
        opencl_close(&d->device);
    return status;
}
