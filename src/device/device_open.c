// SPDX-License-Identifier: Apache-2.0
// Devices by name. One that is opened is opened once a process, however many contexts and arrays use it, and closed with
// the last of them: so arrays of two contexts on one device are on one device.
#include "device.h"

#include <stdatomic.h>
#include <string.h>

struct sbi_opened {
    sbi_device *device;
    int64_t uses;
    struct sbi_opened *next;
};

static struct sbi_opened *opened; // of this process, under the flag; nothing that takes long is done while it is held
static atomic_flag opened_held = ATOMIC_FLAG_INIT;

static void hold(void) {
    while (atomic_flag_test_and_set_explicit(&opened_held, memory_order_acquire)) {}
}

static void let_go(void) {
    atomic_flag_clear_explicit(&opened_held, memory_order_release);
}

void sbi_device_keep(const sbi_device *device) {
    if (!device->opened) return;
    hold();
    device->opened->uses++;
    let_go();
}

static void close_device(struct sbi_opened *entry) {
    entry->device->close(entry->device);
    sbi_release(&sbi_malloc_allocator, entry);
}

void sbi_device_leave(const sbi_device *device) {
    struct sbi_opened *entry = device->opened;
    if (!entry) return;
    hold();
    bool last = --entry->uses == 0;
    for (struct sbi_opened **at = &opened; last && *at; at = &(*at)->next)
        if (*at == entry) {
            *at = entry->next;
            break;
        }
    let_go();
    if (last) close_device(entry);
}

static const sbi_device *find(const char *name) { // and one more user of it
    const sbi_device *found = NULL;
    hold();
    for (struct sbi_opened *entry = opened; entry && !found; entry = entry->next)
        if (strcmp(entry->device->name, name) == 0) {
            entry->uses++;
            found = entry->device;
        }
    let_go();
    return found;
}

// "0.0" as two numbers, "0" as one; the text ends there.
static bool read_place(const char *text, int count, int numbers[]) {
    for (int i = 0; i < count; i++) {
        int digits = 0, number = 0;
        for (; *text >= '0' && *text <= '9' && digits < 4; text++, digits++) number = 10 * number + (*text - '0');
        if (digits == 0 || (digits > 1 && text[-digits] == '0') || *text != (i + 1 == count ? '\0' : '.')) return false;
        numbers[i] = number;
        text++;
    }
    return true;
}

static sb_status open_new(const char *name, const char *source, const sbi_kernel_table *kernels, sbi_pool *pool,
                          const sbi_device **out, sb_error *err) {
    int place[2];
    sbi_device *device = NULL;
    sbi_conformance found;
    sb_status status;
    if (strncmp(name, "opencl:", 7) == 0 && read_place(name + 7, 2, place)) {
        status = sbi_opencl_open(place[0], place[1], source, &device, err);
    } else if (strncmp(name, "cuda:", 5) == 0 && read_place(name + 5, 1, place)) {
        status = sbi_cuda_open(false, place[0], source, &device, err);
    } else if (strncmp(name, "hip:", 4) == 0 && read_place(name + 4, 1, place)) {
        status = sbi_cuda_open(true, place[0], source, &device, err);
    } else {
        char text[80];
        sbi_escape(name, strlen(name), text, sizeof text);
        status = sbi_fail(err, SB_ERR_DEVICE, source, "%s: no device of the name \"%s\" in this build (there are: cpu; opencl:P.D, device D of "
                          "OpenCL platform P; cuda:N; hip:N; counted from 0)", source, text);
    }
    if (status != SB_OK) return status;
    struct sbi_opened *entry = sbi_allocate(&sbi_malloc_allocator, 1, sizeof *entry, err);
    status = entry ? sbi_device_probe(device, kernels, pool, &found, err) : SB_ERR_MEMORY;
    if (status == SB_OK && found.wrong)
        status = sbi_fail(err, SB_ERR_DEVICE, source, "%s: %s does not conform and is refused: %lld of %lld probes are wrong; "
                          "the first: %s", source, device->name, (long long)found.wrong, (long long)found.cases, found.first);
    else if (status == SB_OK && device->single)
        status = sbi_fail(err, SB_ERR_DEVICE, source, "%s: %s is refused: it lacks binary64 (cl_khr_fp64); %lld probes of the rest are right",
                          source, device->name, (long long)found.cases);
    if (status != SB_OK) {
        device->close(device);
        sbi_release(&sbi_malloc_allocator, entry);
        return status;
    }
    *entry = (struct sbi_opened){device, 1, NULL};
    device->opened = entry;
    hold();
    entry->next = opened; // (another thread may have opened it meanwhile: then there are two, which is slower, no more)
    opened = entry;
    let_go();
    *out = device;
    return SB_OK;
}

sb_status sbi_device_open(const char *name, const char *source, const sbi_kernel_table *kernels, sbi_pool *pool,
                          const sbi_device **out, sb_error *err) {
    *out = strcmp(name, "cpu") == 0 ? &sbi_cpu : find(name);
    return *out ? SB_OK : open_new(name, source, kernels, pool, out, err);
}
