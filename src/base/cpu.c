// SPDX-License-Identifier: Apache-2.0
// The CPU: how many cores this process may use, which levels of the kernels it runs, what it is called.
#include "base.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

// ---- cores

static int affinity_cores(void) {
    // The kernel's mask may be wider than a cpu_set_t: ask with growing sets.
    for (int cpus = 1024; cpus <= 1 << 16; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        if (!set) break;
        size_t bytes = CPU_ALLOC_SIZE((size_t)cpus);
        int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0) return count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online < 1 << 16 ? (int)online : 1;
}

// "QUOTA PERIOD" (cgroup 2) or a quota alone (cgroup 1, with the usual period); 0: no limit here.
static int quota_cores(const char *path) {
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    char line[64];
    long long quota = 0, period = 100000;
    bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    if (!read || sscanf(line, "%lld %lld", &quota, &period) < 1 || quota <= 0 || period <= 0) return 0;
    long long cores = (quota - 1) / period + 1;
    return cores < 1 << 16 ? (int)cores : 0;
}

static int cgroup_cores(void) {
    int least = quota_cores("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file) return least;
    char line[1024], path[1100] = "";
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "0::/", 4) != 0) continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(path, sizeof path, "/sys/fs/cgroup%s", line + 3);
    }
    fclose(file);
    for (size_t root = strlen("/sys/fs/cgroup"); strlen(path) >= root;) { // the group and all above it
        char name[1120];
        snprintf(name, sizeof name, "%s/cpu.max", path);
        int cores = quota_cores(name);
        if (cores > 0 && (least == 0 || cores < least)) least = cores;
        char *slash = strrchr(path, '/');
        if (!slash || (size_t)(slash - path) < root) break;
        *slash = '\0';
    }
    return least;
}

int sbi_cpu_cores(void) {
    int cores = affinity_cores(), limit = cgroup_cores();
    return limit > 0 && limit < cores ? limit : cores;
}

// ---- levels

#if defined(__x86_64__)
// x86-64-v3 and -v4 as the psABI lists them: every instruction set of the level, and the operating system saving the
// registers (xgetbv), without which the instructions fault.
static bool x86_level(int level) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
    // SSE3 SSSE3 FMA CX16 SSE4.1 SSE4.2 MOVBE POPCNT XSAVE OSXSAVE AVX F16C
    const unsigned first = 1u << 0 | 1u << 9 | 1u << 12 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 22 | 1u << 23 |
                           1u << 26 | 1u << 27 | 1u << 28 | 1u << 29;
    if ((c & first) != first) return false;
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    const unsigned registers = level == 4 ? 0xe6 : 0x06; // XMM, YMM; opmask, ZMM
    if ((low & registers) != registers) return false;
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !(c & 1u) || !(c >> 5 & 1u)) return false; // LAHF, LZCNT
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    unsigned second = 1u << 3 | 1u << 5 | 1u << 8;                                    // BMI1 AVX2 BMI2
    if (level == 4) second |= 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31; // AVX512 F DQ CD BW VL
    return (b & second) == second;
}
#endif

bool sbi_cpu_level_usable(const char *level) {
    if (strcmp(level, "plain") == 0 || strcmp(level, "reverse") == 0) return true;
#if defined(__x86_64__)
    if (strcmp(level, "v1") == 0) return true;
    if (strcmp(level, "v3") == 0) return x86_level(3);
    if (strcmp(level, "v4") == 0) return x86_level(3) && x86_level(4);
#elif defined(__aarch64__)
    if (strcmp(level, "neon") == 0) return true; // part of the base architecture
#endif
    return false;
}

// ---- names

static char model[128] = "unknown"; // written once, by find_model

static void keep_model(const char *text) {
    while (*text == ' ' || *text == '\t' || *text == ':') text++;
    size_t length = strcspn(text, "\n");
    while (length && text[length - 1] == ' ') length--;
    if (length) sbi_escape(text, length, model, sizeof model);
}

static void find_model(void) {
#if defined(__x86_64__)
    unsigned words[13] = {0};
    if (__get_cpuid(0x80000002u, &words[0], &words[1], &words[2], &words[3]) &&
        __get_cpuid(0x80000003u, &words[4], &words[5], &words[6], &words[7]) &&
        __get_cpuid(0x80000004u, &words[8], &words[9], &words[10], &words[11]))
        keep_model((const char *)words);
#else
    static const char *const keys[] = {"model name", "cpu model", "uarch", "Model", "CPU part", "vendor_id"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys && strcmp(model, "unknown") == 0; i++) {
        FILE *file = fopen("/proc/cpuinfo", "re");
        if (!file) return;
        char line[256];
        while (strcmp(model, "unknown") == 0 && fgets(line, sizeof line, file))
            if (strncmp(line, keys[i], strlen(keys[i])) == 0) keep_model(line + strlen(keys[i]));
        fclose(file);
    }
#endif
}

const char *sbi_cpu_model(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_model);
    return model;
}

const char *sbi_cpu_architecture(void) {
#if defined(__x86_64__)
    return "x86_64";
#elif defined(__aarch64__)
    return "aarch64";
#elif defined(__riscv) && __riscv_xlen == 64
    return "riscv64";
#elif defined(__s390x__)
    return "s390x";
#else
    return "unknown";
#endif
}
