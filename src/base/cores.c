// SPDX-License-Identifier: Apache-2.0
// How many cores this process may use: by its affinity and the quotas of its groups.
#include "base.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
