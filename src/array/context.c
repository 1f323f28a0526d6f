// SPDX-License-Identifier: Apache-2.0
// The context: which device, which level of its kernels, how many threads, whose memory. What options leave open, the
// environment decides (SAMEBITS_DEVICE, SAMEBITS_ISA, SAMEBITS_THREADS), then the machine. No bit depends on any of it.
#include "array.h"

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

static sb_status choose_device(const char *option, const sbi_device **out, sb_error *err) {
    setting asked = choose(option, "device", "SAMEBITS_DEVICE");
    if (asked.value && strcmp(asked.value, "cpu") != 0) {
        char text[80];
        sbi_escape(asked.value, strlen(asked.value), text, sizeof text);
        return sbi_fail(err, SB_ERR_DEVICE, asked.source, "%s: no device of the name \"%s\" in this build (there is: cpu)",
                        asked.source, text);
    }
    *out = &sbi_cpu;
    return SB_OK;
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

static sb_status make(const sbi_allocator *allocator, const sbi_device *device, const sbi_kernel_table *kernels,
                      int threads, sb_context **out, sb_error *err) {
    sb_context *ctx = sbi_allocate(allocator, 1, sizeof *ctx, err);
    if (!ctx) return SB_ERR_MEMORY;
    ctx->allocator = *allocator;
    ctx->device = device;
    ctx->kernels = kernels;
    ctx->pool = sbi_pool_new(allocator, threads, err);
    if (!ctx->pool) {
        sbi_release(allocator, ctx);
        return err ? err->status : SB_ERR_MEMORY;
    }
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
    const sbi_device *device = NULL;
    const sbi_kernel_table *kernels = NULL;
    int threads = 0;
    sb_status status = choose_device(options->device, &device, err);
    if (status == SB_OK) status = choose_level(options->isa, &kernels, err);
    if (status == SB_OK) status = choose_threads(options->threads, &threads, err);
    if (status == SB_OK) status = make(&allocator, device, kernels, threads, out, err);
    return status;
}

sb_status sbi_context_new_on(const sbi_device *device, int threads, sb_context **out, sb_error *err) {
    const sbi_kernel_table *kernels = NULL;
    sb_status status = choose_level(NULL, &kernels, err);
    if (status == SB_OK) status = choose_threads(threads, &threads, err);
    if (status == SB_OK) status = make(&sbi_malloc_allocator, device, kernels, threads, out, err);
    return status;
}

sb_status sbi_context_share(const sb_context *ctx, int threads, sb_context **out, sb_error *err) {
    if (threads < 1) threads = 1;
    return make(&ctx->allocator, ctx->device, ctx->kernels, threads, out, err);
}

void sbi_context_free(sb_context *ctx) {
    if (!ctx) return;
    sbi_pool_free(ctx->pool);
    sbi_allocator allocator = ctx->allocator;
    sbi_release(&allocator, ctx);
}
