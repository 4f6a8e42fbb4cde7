/* measure - runs a command and says what it cost.
 *
 *   measure [-p] FILE COMMAND...     writes "WALL USER SYSTEM PEAK" to FILE: seconds, and KiB
 *
 * Processor time is that of the whole process tree, as wait4 has it. With -p, PEAK is the largest
 * sum of the proportional set sizes (Pss of /proc/PID/smaps_rollup) of the command and all its
 * descendants, looked at every 20 ms; shared pages count once, page cache not at all. Without,
 * PEAK is 0, so that looking costs nothing. Ends with the command's status. Depends on Linux. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES_MAX 4096

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long pss_of(pid_t pid)
{
    char path[64];
    char line[256];
    long pss = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "Pss: %ld kB", &pss) == 1) {
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return pss;
}

/* The parent of a process, or 0. The name in field 2 may hold anything; field 4 follows its ). */
static pid_t parent_of(pid_t pid)
{
    char path[64];
    char text[1024];
    const char *close;
    int parent = 0;
    size_t n = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file != NULL) {
        n = fread(text, 1, sizeof text - 1, file);
        fclose(file);
    }
    text[n] = '\0';
    close = strrchr(text, ')');
    return close != NULL && sscanf(close, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* Sum over a process and its descendants. */
static long pss_tree(pid_t root)
{
    static pid_t pids[PROCESSES_MAX];
    static pid_t parents[PROCESSES_MAX];
    static char inside[PROCESSES_MAX];
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    size_t n = 0;
    long sum = 0;
    int grew = 1;

    while (dir != NULL && n < PROCESSES_MAX && (entry = readdir(dir)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            pids[n] = (pid_t)atoi(entry->d_name);
            parents[n] = parent_of(pids[n]);
            inside[n] = pids[n] == root;
            n++;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    while (grew) {
        grew = 0;
        for (size_t i = 0; i < n; i++) {
            for (size_t k = 0; !inside[i] && k < n; k++) {
                if (inside[k] && parents[i] == pids[k]) {
                    inside[i] = 1;
                    grew = 1;
                }
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        sum += inside[i] ? pss_of(pids[i]) : 0;
    }
    return sum;
}

int main(int argc, char **argv)
{
    int watch = argc > 1 && strcmp(argv[1], "-p") == 0;
    struct rusage usage;
    long peak = 0;
    int status = 0;
    double start;
    double wall;
    FILE *out;
    pid_t child;

    argv += 1 + watch;
    if (argc < 3 + watch) {
        fprintf(stderr, "usage: measure [-p] FILE COMMAND...\n");
        return 2;
    }
    start = now();
    child = fork();
    if (child == 0) {
        execvp(argv[1], argv + 1);
        fprintf(stderr, "measure: can't run %s: %s\n", argv[1], strerror(errno));
        _exit(127);
    }
    while (child > 0) {
        pid_t done = wait4(child, &status, watch ? WNOHANG : 0, &usage);
        if (done == child) {
            break;
        }
        if (done < 0 && errno != EINTR) {
            child = -1;
        } else if (watch) {
            struct timespec pause = { 0, 20000000L };
            long pss = pss_tree(child);
            peak = pss > peak ? pss : peak;
            nanosleep(&pause, NULL);
        }
    }
    wall = now() - start;
    out = child > 0 ? fopen(argv[0], "we") : NULL;
    if (out == NULL) {
        fprintf(stderr, "measure: can't start %s or write %s: %s\n", argv[1], argv[0],
                strerror(errno));
        return 126;
    }
    fprintf(out, "%.3f %.3f %.3f %ld\n", wall,
            (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6,
            (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6, peak);
    fclose(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
