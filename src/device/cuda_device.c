// SPDX-License-Identifier: Apache-2.0
// Devices of CUDA and of HIP, by way of the driver's library, which is opened when a device is asked for. The two are one
// interface under two sets of names (cuda_entries.h); the table `kinds` says in what they part.
//
// A kernel file's code comes, at its first use, from what was made when the library was built, if that fits the device (the driver
// says so); else from the vendor's compiler at run time, or from the cache of what that made (program_cache.c). All work goes into the default stream,
// in order; only reading and writing wait for it, and giving memory back.
#include "cuda_entries.h"
#include "device.h"
#include "gpu_code.h"

#include <stdio.h>
#include <string.h>

enum { MOST_ARGS = 24, MOST_COMPILERS = 4, LOG = 400 };

typedef struct cuda_kind {
    const char *name, *vendor;
    const char *driver[2], *compiler[MOST_COMPILERS]; // libraries, by preference
    const sbi_kernel_text *texts;
    const sbi_gpu_code *codes;
    const char *options[3]; // of the compiler: nothing is fused that is not written; division and roots are IEEE's by default
} cuda_kind;

static const cuda_kind kinds[] = {
    {"cuda", "NVIDIA", {"libcuda.so.1", "libcuda.so"}, {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}, sbi_texts_cuda, sbi_codes_cuda,
     {"--gpu-architecture=compute_80", "--fmad=false", "--std=c++17"}},
    {"hip", "AMD", {"libamdhip64.so", "libamdhip64.so.6"}, {"libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so"}, sbi_texts_hip, sbi_codes_hip,
     {"-O3", "-ffp-contract=off", "-std=c++17"}},
};

typedef struct sbi_cuda {
    sbi_device device;
    sbi_device_facts facts;
    const cuda_kind *kind;
    sbi_cuda_entries driver;
    sbi_cuda_compiler compiler;
    bool compiles; // the compiler is there
    int id;
    void *context;
    sbi_lock *lock; // of everything below
    unsigned process;
    void *modules[SBI_KERNEL_FILES], *functions[SBI_KERNEL_COUNT];
} sbi_cuda;

// ---- the driver

static void *open_first(const char *const *names, size_t count) {
    void *library = NULL;
    for (size_t i = 0; i < count && names[i] && !library; i++) library = sbi_library_open(names[i]);
    return library;
}

static bool load_driver(const cuda_kind *kind, sbi_cuda_entries *out) {
    void *library = open_first(kind->driver, sizeof kind->driver / sizeof *kind->driver);
    bool all = library != NULL;
    const bool cuda = kind == &kinds[0];
#define CUDA_FIND(entry, cuda_name, hip_name, parameters) \
    all = all && sbi_library_function(library, cuda ? cuda_name : hip_name, &out->entry, sizeof out->entry);
    CUDA_ENTRIES(CUDA_FIND)
    return all && out->Init(0) == CUDA_DONE;
}

static bool load_compiler(const cuda_kind *kind, sbi_cuda_compiler *out) {
    void *library = open_first(kind->compiler, MOST_COMPILERS);
    bool all = library != NULL;
    const bool cuda = kind == &kinds[0];
    CUDA_COMPILER_ENTRIES(CUDA_FIND)
#undef CUDA_FIND
    return all;
}

// Codes after which the driver refuses everything: a kernel that failed or ran too long, a device that went away.
static bool is_loss(int code) {
    return code == 46 || code == 700 || code == 702 || (code >= 709 && code <= 719);
}

static sb_status fail(const sbi_cuda *d, const char *what, int code, sb_error *err) {
    return sbi_fail(err, code == CUDA_NO_MEMORY ? SB_ERR_MEMORY : SB_ERR_DEVICE, code == CUDA_NO_MEMORY ? "" : "device",
                    "%s (%s): %s failed with the driver's code %d%s", d->facts.name, d->facts.product, what, code,
                    is_loss(code) ? ": the device is lost to this process, and what was on it" : "");
}

static sbi_device_facts facts_of(const cuda_kind *kind, const sbi_cuda_entries *driver, int number) {
    sbi_device_facts facts = {.float64 = true, .atomics64 = true, .division = true};
    char name[96] = "";
    int id = 0, version = 0;
    size_t bytes = 0;
    snprintf(facts.name, sizeof facts.name, "%s:%d", kind->name, number);
    if (driver->Device(&id, number) != CUDA_DONE || driver->Name(name, sizeof name - 1, id) != CUDA_DONE) strcpy(name, "unknown");
    sbi_escape(name, strlen(name), facts.product, sizeof facts.product);
    snprintf(facts.platform, sizeof facts.platform, "%s", kind->vendor);
    if (driver->Driver(&version) == CUDA_DONE) snprintf(facts.driver, sizeof facts.driver, "%d", version);
    if (driver->Attribute(&facts.units, kind == &kinds[0] ? CUDA_UNITS : HIP_UNITS, id) != CUDA_DONE || facts.units < 1) facts.units = 1;
    if (driver->Memory(&bytes, id) == CUDA_DONE) facts.memory = facts.largest = (int64_t)bytes;
    return facts;
}

sb_status sbi_cuda_list(sb_status (*visit)(void *user, const sbi_device_facts *facts, sb_error *err), void *user, sb_error *err) {
    sb_status status = SB_OK;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        sbi_cuda_entries driver;
        int count = 0;
        if (!load_driver(&kinds[k], &driver) || driver.Count(&count) != CUDA_DONE) continue;
        for (int i = 0; i < count && status == SB_OK; i++) {
            const sbi_device_facts facts = facts_of(&kinds[k], &driver, i);
            status = visit(user, &facts, err);
        }
    }
    return status;
}

// Makes the device's context the thread's own until leave(); the driver's threads do not follow a fork.
static sb_status enter(const sbi_cuda *d, sb_error *err) {
    if (d->process != sbi_forks())
        return sbi_fail(err, SB_ERR_DEVICE, "device", "%s was opened before a fork: this process must open it itself", d->facts.name);
    int code = d->driver.Push(d->context);
    return code == CUDA_DONE ? SB_OK : fail(d, "taking its context", code, err);
}

static sb_status leave(const sbi_cuda *d, const char *what, int code, sb_error *err) {
    void *old;
    d->driver.Pop(&old);
    return code == CUDA_DONE ? SB_OK : fail(d, what, code, err);
}

// ---- memory

static void *cuda_allocate(const sbi_device *device, const sbi_allocator *allocator, int64_t bytes, sb_error *err) {
    (void)allocator;
    sbi_cuda *d = device->self;
    const size_t size = bytes > 0 ? (size_t)bytes : 1;
    void *address = NULL;
    if (enter(d, err) != SB_OK) return NULL;
    int code = d->driver.Allocate(&address, size);
    if (code == CUDA_DONE && (code = d->driver.Fill(address, 0, size, NULL)) != CUDA_DONE) {
        d->driver.Free(address);
        address = NULL;
    }
    if (code == CUDA_NO_MEMORY)
        sbi_fail(err, SB_ERR_MEMORY, "", "%s (%s): no memory for %lld bytes: it has %lld in all", d->facts.name, d->facts.product,
                 (long long)bytes, (long long)d->facts.memory);
    else if (code != CUDA_DONE)
        fail(d, "making an array", code, err);
    leave(d, "", CUDA_DONE, NULL);
    return code == CUDA_DONE ? address : NULL;
}

static void cuda_release(const sbi_device *device, const sbi_allocator *allocator, void *data) {
    (void)allocator;
    const sbi_cuda *d = device->self;
    if (data && enter(d, NULL) == SB_OK) leave(d, "giving memory back", d->driver.Free(data), NULL);
}

static sb_status cuda_read(const sbi_device *device, const void *from, void *to, int64_t bytes, sb_error *err) {
    const sbi_cuda *d = device->self;
    sb_status status = bytes > 0 ? enter(d, err) : SB_OK;
    return status != SB_OK || bytes <= 0 ? status : leave(d, "reading an array", d->driver.Read(to, from, (size_t)bytes), err);
}

static sb_status cuda_write(const sbi_device *device, const void *from, void *to, int64_t bytes, sb_error *err) {
    const sbi_cuda *d = device->self;
    sb_status status = bytes > 0 ? enter(d, err) : SB_OK;
    return status != SB_OK || bytes <= 0 ? status : leave(d, "writing an array", d->driver.Write(to, from, (size_t)bytes), err);
}

static sb_status cuda_copy(const sbi_device *device, sbi_pool *pool, const void *from, void *to, int64_t bytes, sb_error *err) {
    (void)pool;
    const sbi_cuda *d = device->self;
    sb_status status = bytes > 0 ? enter(d, err) : SB_OK;
    return status != SB_OK || bytes <= 0 ? status : leave(d, "copying an array", d->driver.Copy(to, from, (size_t)bytes, NULL), err);
}

// ---- kernels

static sb_status no_compile(const sbi_cuda *d, void *program, const char *name, int code, sb_error *err) {
    char *log = NULL, line[LOG] = "";
    size_t size = 0;
    if (d->compiler.LogSize(program, &size) == CUDA_DONE && size > 0 && (log = sbi_allocate(&sbi_malloc_allocator, (int64_t)size + 1, 1, NULL)) &&
        d->compiler.Log(program, log) == CUDA_DONE) {
        for (char *at = log; *at; at++)
            if (*at == '\n' || *at == '\t') *at = ' ';
        sbi_escape(log, strlen(log), line, sizeof line);
    }
    sbi_release(&sbi_malloc_allocator, log);
    return sbi_fail(err, SB_ERR_DEVICE, "device", "%s: the kernels of %s do not compile (code %d): %s", d->facts.name, name, code, line);
}

// Code of the library that the driver takes for this device. (It refuses what is for another.)
static bool take_code(sbi_cuda *d, int file) {
    for (const sbi_gpu_code *code = d->kind->codes; code->name && !d->modules[file]; code++)
        if (strcmp(code->name, d->kind->texts[file].name) == 0 && d->driver.Load(&d->modules[file], code->code) != CUDA_DONE)
            d->modules[file] = NULL;
    return d->modules[file] != NULL;
}

static bool cache_path(const sbi_cuda *d, const sbi_kernel_text *text, char out[SBI_PROGRAM_PATH]) {
    char version[32];
    int major = 0, minor = 0;
    const char *const *o = d->kind->options;
    const char *const parts[] = {"samebits program 1", d->kind->name, o[0], o[1], o[2], d->facts.product, d->facts.driver, version, NULL};
    if (d->compiler.Version(&major, &minor) != CUDA_DONE) return false;
    snprintf(version, sizeof version, "%d.%d", major, minor);
    return sbi_program_path(parts, text->text, text->size, out);
}

static sb_status compile(sbi_cuda *d, const sbi_kernel_text *text, uint8_t **code, size_t *size, sb_error *err) {
    const int count = (int)(sizeof d->kind->options / sizeof *d->kind->options);
    void *program = NULL;
    sb_status status = SB_OK;
    int failed = d->compiler.Create(&program, (const char *)text->text, text->name, 0, NULL, NULL); // (a text ends with a 0)
    if (failed != CUDA_DONE) return fail(d, "taking a program", failed, err);
    if ((failed = d->compiler.Compile(program, count, d->kind->options)) != CUDA_DONE)
        status = no_compile(d, program, text->name, failed, err);
    else if ((failed = d->compiler.CodeSize(program, size)) != CUDA_DONE)
        status = fail(d, "compiling a program", failed, err);
    else if (!(*code = sbi_allocate(&sbi_malloc_allocator, (int64_t)*size + 1, 1, err)))
        status = SB_ERR_MEMORY;
    else if ((failed = d->compiler.Code(program, (char *)*code)) != CUDA_DONE)
        status = fail(d, "loading a program", failed, err);
    d->compiler.Destroy(&program);
    return status;
}

static sb_status make_module(sbi_cuda *d, int file, sb_error *err) {
    const sbi_kernel_text *text = &d->kind->texts[file];
    char path[SBI_PROGRAM_PATH];
    size_t size = 0;
    if (take_code(d, file)) return SB_OK;
    if (!d->compiles)
        return sbi_fail(err, SB_ERR_DEVICE, "device", "%s (%s): the library has no code for it, and %s's compiler at run time is not there (%s)",
                        d->facts.name, d->facts.product, d->kind->vendor, d->kind->compiler[0]);
    const bool cached = cache_path(d, text, path);
    uint8_t *code = cached ? sbi_program_read(path, &size) : NULL;
    sb_status status = SB_OK;
    if (!code || d->driver.Load(&d->modules[file], code) != CUDA_DONE) {
        d->modules[file] = NULL;
        sbi_release(&sbi_malloc_allocator, code);
        code = NULL;
        status = compile(d, text, &code, &size, err);
        const int failed = status == SB_OK ? d->driver.Load(&d->modules[file], code) : CUDA_DONE;
        if (failed != CUDA_DONE) status = fail(d, "loading a program", failed, err);
        if (status == SB_OK && cached) sbi_program_keep(path, code, size);
        if (status != SB_OK) d->modules[file] = NULL;
    }
    sbi_release(&sbi_malloc_allocator, code);
    return status;
}

static sb_status make_function(sbi_cuda *d, sbi_kernel_id id, sb_error *err) {
    int file = 0;
    while (sbi_kernel_firsts[file + 1] <= id) file++;
    sb_status status = d->modules[file] ? SB_OK : make_module(d, file, err);
    if (status != SB_OK) return status;
    int code = d->driver.Function(&d->functions[id], d->modules[file], sbi_kernel_infos[id].name);
    return code == CUDA_DONE ? SB_OK : fail(d, sbi_kernel_infos[id].name, code, err);
}

static sb_status cuda_launch(const sbi_device *device, const sbi_kernel_table *table, sbi_pool *pool, sbi_kernel_id id, int64_t groups,
                             const sbi_arg *args, sb_error *err) {
    (void)table, (void)pool;
    sbi_cuda *d = device->self;
    const sbi_kernel_info *info = &sbi_kernel_infos[id];
    sbi_arg values[MOST_ARGS];
    void *places[MOST_ARGS];
    const char *kind = info->kinds;
    if (groups <= 0) return SB_OK;
    if (groups > INT32_MAX || info->count > MOST_ARGS)
        return sbi_fail(err, SB_ERR_UNSUPPORTED, "device", "%s: %s in %lld groups: at most %d", d->facts.name, info->name, (long long)groups, INT32_MAX);
    for (int i = 0; i < info->count; i++) { // (a narrow integer is the first half of a wide one: these hosts are little-endian)
        const float narrow = (float)args[i].f;
        values[i] = args[i];
        if (strncmp(kind, "f32", 3) == 0 && kind[3] != 'p') memcpy(&values[i], &narrow, sizeof narrow);
        places[i] = &values[i];
        kind += strcspn(kind, ",");
        kind += strspn(kind, ", ");
    }
    sb_status status = enter(d, err);
    if (status != SB_OK) return status;
    sbi_lock_take(d->lock);
    if (!d->functions[id]) status = make_function(d, id, err);
    sbi_lock_leave(d->lock);
    int code = CUDA_DONE;
    if (status == SB_OK)
        code = d->driver.Launch(d->functions[id], (unsigned)groups, 1, 1, (unsigned)info->lanes, 1, 1, 0, NULL, places, NULL);
    const sb_status after = leave(d, info->name, code, err);
    return status != SB_OK ? status : after;
}

// ---- opening and closing

static void cuda_close(sbi_device *device) {
    sbi_cuda *d = device->self;
    if (d->context && enter(d, NULL) == SB_OK) { // else all of it is the parent's
        for (int i = 0; i < SBI_KERNEL_FILES; i++)
            if (d->modules[i]) d->driver.Unload(d->modules[i]);
        leave(d, "", CUDA_DONE, NULL);
        d->driver.Leave(d->id);
    }
    sbi_lock_free(d->lock);
    sbi_release(&sbi_malloc_allocator, d);
}

static sb_status find_device(sbi_cuda *d, int number, const char *source, sb_error *err) {
    const cuda_kind *kind = d->kind;
    int count = 0;
    if (!load_driver(kind, &d->driver))
        return sbi_fail(err, SB_ERR_DEVICE, source, "%s: %s:%d needs %s's driver, and this machine has none that works (%s)", source, kind->name,
                        number, kind->vendor, kind->driver[0]);
    d->compiles = load_compiler(kind, &d->compiler);
    if (!d->compiles && !kind->codes->name)
        return sbi_fail(err, SB_ERR_DEVICE, source, "%s: %s:%d needs %s's compiler at run time, which is not there (%s)", source, kind->name,
                        number, kind->vendor, kind->compiler[0]);
    if (d->driver.Count(&count) != CUDA_DONE || number >= count)
        return sbi_fail(err, SB_ERR_DEVICE, source, "%s: there is no device %s:%d: the driver shows %d, counted from 0", source, kind->name,
                        number, count);
    d->facts = facts_of(kind, &d->driver, number);
    return SB_OK;
}

sb_status sbi_cuda_open(bool hip, int number, const char *source, sbi_device **out, sb_error *err) {
    sbi_cuda *d = sbi_allocate(&sbi_malloc_allocator, 1, sizeof *d, err);
    if (!d) return SB_ERR_MEMORY;
    d->kind = &kinds[hip];
    d->device = (sbi_device){.name = d->facts.name, .level = d->kind->name, .self = d, .apart = true, .allocate = cuda_allocate, .release = cuda_release,
                             .read = cuda_read, .write = cuda_write, .launch = cuda_launch, .copy = cuda_copy, .close = cuda_close};
    d->process = sbi_forks();
    d->lock = sbi_lock_new(&sbi_malloc_allocator, err);
    sb_status status = d->lock ? find_device(d, number, source, err) : SB_ERR_MEMORY;
    int code = CUDA_DONE;
    if (status == SB_OK && (code = d->driver.Device(&d->id, number)) == CUDA_DONE) code = d->driver.Retain(&d->context, d->id);
    if (code != CUDA_DONE) status = fail(d, "opening it", code, err);
    d->device.units = d->facts.units;
    if (status == SB_OK)
        *out = &d->device;
    else
        cuda_close(&d->device);
    return status;
}
