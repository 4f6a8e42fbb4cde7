/* What this process may use: see limits.h. */
#include "run/limits.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_number(const char *path, uint64_t *out)
{
    FILE *file = fopen(path, "re");
    unsigned long long number;
    bool ok = file != NULL && fscanf(file, "%llu", &number) == 1;

    if (file != NULL) {
        fclose(file);
    }
    if (ok) {
        *out = number;
    }
    return ok;
}

static uint64_t environment(const char *name)
{
    const char *text = getenv(name);
    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

uint32_t limits_workers(void)
{
    cpu_set_t set;
    uint64_t n = 1;
    uint64_t quota;
    uint64_t period;
    FILE *file;

    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        n = (uint64_t)CPU_COUNT(&set);
    }
    file = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (file != NULL) {
        unsigned long long a;
        unsigned long long b;
        if (fscanf(file, "%llu %llu", &a, &b) == 2 && b > 0 && (a + b - 1) / b < n) {
            n = (a + b - 1) / b;
        }
        fclose(file);
    } else if (read_number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &quota) &&
               read_number("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &period) && quota > 0 &&
               quota < UINT64_C(1) << 40 && period > 0 && (quota + period - 1) / period < n) {
        n = (quota + period - 1) / period;
    }
    if (environment("SLURM_CPUS_PER_TASK") > 0 && environment("SLURM_CPUS_PER_TASK") < n) {
        n = environment("SLURM_CPUS_PER_TASK");
    }
    return n > 0 ? (uint32_t)n : 1;
}

uint64_t limits_memory(void)
{
    uint64_t bytes = UINT64_C(1) << 30;
    uint64_t limit;
    char line[200];
    FILE *file = fopen("/proc/meminfo", "re");

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        unsigned long long kib;
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1) {
            bytes = (uint64_t)kib << 10;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    if ((read_number("/sys/fs/cgroup/memory.max", &limit) ||
         read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes", &limit)) &&
        limit < bytes) {
        bytes = limit;
    }
    limit = environment("SLURM_MEM_PER_NODE") << 20;
    if (limit > 0 && limit < bytes) {
        bytes = limit;
    }
    bytes = bytes / 10 * 8;
    return bytes < UINT64_C(256) << 20 ? UINT64_C(256) << 20 : bytes;
}
