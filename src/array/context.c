// SPDX-License-Identifier: Apache-2.0
// The context: which device, which level of its kernels, how many threads, whose memory. What options leave open, the
// environment decides (SAMEBITS_DEVICE, SAMEBITS_ISA, SAMEBITS_THREADS, SAMEBITS_TILE, SAMEBITS_TRACE), then the machine. No bit depends on any of it.
#include "array.h"
#include "trace.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 1024 };

// A setting and who made it, for the error.
typedef struct setting {
    const char *value, *source; // value NULL: nobody
} setting;

static setting choose(const char *option, const char *option_name, const char *variable) {
    if (option) return (setting){option, option_name};
    const char *value = getenv(variable);
    return value && *value ? (setting){value, variable} : (setting){NULL, NULL};
}

static sb_status choose_level(const char *option, const sbi_kernel_table **out, sb_error *err) {
    static const char *const all[] = {"plain", "v1", "v3", "v4", "neon", "reverse"};
    setting asked = choose(option, "isa", "SAMEBITS_ISA");
    for (const sbi_kernel_table *const *table = sbi_kernel_levels; *table; table++) {
        const char *level = (*table)->level;
        if (asked.value ? strcmp(asked.value, level) != 0 : strcmp(level, "reverse") == 0) continue;
        if (sbi_cpu_level_usable(level)) {
            *out = *table;
            return SB_OK;
        }
        if (asked.value)
            return sbi_fail(err, SB_ERR_DEVICE, asked.source, "%s: this machine (%s) cannot run the level \"%s\"",
                            asked.source, sbi_cpu_model(), level);
    }
    if (!asked.value) return sbi_fail(err, SB_ERR_INTERNAL, "isa", "no level of the kernels runs here");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(asked.value, all[i]) == 0)
            return sbi_fail(err, SB_ERR_DEVICE, asked.source, "%s: the level \"%s\" is not one of %s", asked.source,
                            all[i], sbi_cpu_architecture());
    char text[80];
    sbi_escape(asked.value, strlen(asked.value), text, sizeof text);
    return sbi_fail(err, SB_ERR_ARGUMENT, asked.source,
                    "%s: unknown level \"%s\": expected plain, v1, v3, v4, neon or reverse", asked.source, text);
}

static sb_status choose_threads(int option, int *out, sb_error *err) {
    if (option < 0 || option > MOST_THREADS)
        return sbi_fail(err, SB_ERR_ARGUMENT, "threads", "threads: %d is not in 1 to %d (0: as the machine has)", option,
                        MOST_THREADS);
    if (option > 0) {
        *out = option;
        return SB_OK;
    }
    setting asked = choose(NULL, NULL, "SAMEBITS_THREADS");
    if (!asked.value) {
        int cores = sbi_cpu_cores();
        *out = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : cores;
        return SB_OK;
    }
    int number = 0;
    const char *at = asked.value;
    for (; *at >= '0' && *at <= '9' && number <= MOST_THREADS; at++) number = 10 * number + (*at - '0');
    if (*at || number < 1 || number > MOST_THREADS) {
        char text[80];
        sbi_escape(asked.value, strlen(asked.value), text, sizeof text);
        return sbi_fail(err, SB_ERR_ARGUMENT, asked.source, "%s: \"%s\" is not a whole number from 1 to %d",
                        asked.source, text, MOST_THREADS);
    }
    *out = number;
    return SB_OK;
}

static sb_status choose_tile(int *out, sb_error *err) {
    static const int all[] = {32, 64, 128};
    const setting asked = choose(NULL, NULL, "SAMEBITS_TILE");
    char text[80];
    *out = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all && asked.value; i++) {
        snprintf(text, sizeof text, "%d", all[i]);
        if (strcmp(asked.value, text) == 0) *out = all[i];
    }
    if (!asked.value || *out) return SB_OK;
    sbi_escape(asked.value, strlen(asked.value), text, sizeof text);
    return sbi_fail(err, SB_ERR_ARGUMENT, asked.source, "%s: \"%s\" is not 32, 64 or 128", asked.source, text);
}

// A file of its own a context: the variable names the first context's, the others' are FILE.2, FILE.3 ...
static sb_status begin_trace(sb_context **ctx, const char *option, sb_error *err) {
    static atomic_uint serial; // no bit depends on it
    char path[4096];
    setting asked = choose(option, "trace", "SAMEBITS_TRACE");
    if (!asked.value || !*asked.value) return SB_OK;
    unsigned number = option ? 1 : atomic_fetch_add(&serial, 1) + 1;
    int length = snprintf(path, sizeof path, number == 1 ? "%s" : "%s.%u", asked.value, number);
    sb_status status = length < (int)sizeof path
                           ? sbi_named(sbi_trace_open(&(*ctx)->allocator, path, &(*ctx)->trace, err), asked.source, err)
                           : sbi_fail(err, SB_ERR_ARGUMENT, asked.source, "%s: a path of %d bytes", asked.source, length);
    if (status != SB_OK) {
        sbi_context_free(*ctx);
        *ctx = NULL;
    }
    return status;
}

// On the device given, or NULL: on the one that name, the environment or nobody asks for.
static sb_status make(const sbi_allocator *allocator, const sbi_device *device, const char *name, const sbi_kernel_table *kernels,
                      int threads, sb_context **out, sb_error *err) {
    int tile = 0;
    const sb_status refused = choose_tile(&tile, err);
    if (refused != SB_OK) return refused;
    sb_context *ctx = sbi_allocate(allocator, 1, sizeof *ctx, err);
    if (!ctx) return SB_ERR_MEMORY;
    ctx->tile = tile;
    ctx->allocator = *allocator;
    ctx->kernels = kernels;
    ctx->pool = sbi_pool_new(allocator, threads, err);
    if (!ctx->pool) {
        sbi_release(allocator, ctx);
        return err ? err->status : SB_ERR_MEMORY;
    }
    if (!device) { // (its probes compare it with the level and the threads that are chosen)
        const setting asked = choose(name, "device", "SAMEBITS_DEVICE");
        sb_status status = sbi_device_open(asked.value ? asked.value : "cpu", asked.source, kernels, ctx->pool, &device, err);
        if (status != SB_OK) {
            sbi_pool_free(ctx->pool);
            sbi_release(allocator, ctx);
            return status;
        }
    } else {
        sbi_device_keep(device);
    }
    ctx->device = device;
    *out = ctx;
    return SB_OK;
}

sb_status sbi_context_new(const sb_context_options *options, sb_context **out, sb_error *err) {
    static const sb_context_options defaults = {.size = sizeof defaults};
    if (!options) options = &defaults;
    if (!options->allocate != !options->release)
        return sbi_fail(err, SB_ERR_ARGUMENT, options->allocate ? "release" : "allocate",
                        "allocate and release come together or not at all");
    sbi_allocator allocator = sbi_malloc_allocator;
    if (options->allocate) allocator = (sbi_allocator){options->allocate, options->release, options->user};
    const sbi_kernel_table *kernels = NULL;
    int threads = 0;
    sb_status status = choose_level(options->isa, &kernels, err);
    if (status == SB_OK) status = choose_threads(options->threads, &threads, err);
    if (status == SB_OK) status = make(&allocator, NULL, options->device, kernels, threads, out, err);
    return status == SB_OK ? begin_trace(out, options->trace, err) : status;
}

sb_status sbi_context_new_on(const sbi_device *device, int threads, sb_context **out, sb_error *err) {
    const sbi_kernel_table *kernels = NULL;
    sb_status status = choose_level(NULL, &kernels, err);
    if (status == SB_OK) status = choose_threads(threads, &threads, err);
    if (status == SB_OK) status = make(&sbi_malloc_allocator, device, NULL, kernels, threads, out, err);
    return status == SB_OK ? begin_trace(out, NULL, err) : status;
}

sb_status sbi_context_share(const sb_context *ctx, int threads, sb_context **out, sb_error *err) {
    if (threads < 1) threads = 1;
    sb_status status = make(&ctx->allocator, ctx->device, NULL, ctx->kernels, threads, out, err);
    if (status == SB_OK) {
        (*out)->watch = ctx->watch;
        (*out)->watch_user = ctx->watch_user;
    }
    return status;
}

void sbi_context_free(sb_context *ctx) {
    if (!ctx) return;
    sbi_trace_close(ctx->trace); // (a shared context has none between its branches)
    sbi_pool_free(ctx->pool);
    sbi_device_leave(ctx->device);
    sbi_allocator allocator = ctx->allocator;
    sbi_release(&allocator, ctx);
}
