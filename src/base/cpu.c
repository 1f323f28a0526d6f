// SPDX-License-Identifier: Apache-2.0
// The CPU: which levels of the kernels it runs, what it is called.
#include "base.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

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
    if (strcmp(level, "v3") == 0 || strcmp(level, "soft64") == 0) return x86_level(3);
    if (strcmp(level, "v4") == 0) return x86_level(3) && x86_level(4);
#else
    if (strcmp(level, "soft64") == 0) return true;
#endif
#if defined(__aarch64__)
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
#elif !defined(SAMEBITS_NO_FILES)
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
#elif defined(__arm__)
    return "arm";
#else
    return "unknown";
#endif
}
