/* Checks that a stage leaves the process as it found it, call by call. See kitInt.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <float.h>
#include <langinfo.h>
#include <locale.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "testkit/kitInt.h"

extern char **environ;

/* Lines "name: value", sorted as they were made; two snapshots are compared line by line. */
typedef void (*snapshot)(struct buf *out);

static void proc_lines(struct buf *out, const char *const *names)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[512];

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        for (size_t k = 0; names[k] != NULL; k++) {
            if (strncmp(line, names[k], strlen(names[k])) == 0) {
                buf_puts(out, line);
            }
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void signals(struct buf *out)
{
    static const char *const names[] = { "SigBlk:", "SigIgn:", "SigCgt:", NULL };

    proc_lines(out, names);
}

static void print_timer(struct buf *out, const char *name, int result,
                        const struct itimerval *value)
{
    buf_printf(out, "interval timer (%s): %s\n", name,
               result != 0                                                   ? "?"
               : value->it_value.tv_sec != 0 || value->it_value.tv_usec != 0 ? "set"
                                                                             : "off");
}

static void print_timers(struct buf *out)
{
    struct itimerval value;
    int result = getitimer(ITIMER_REAL, &value);

    print_timer(out, "real", result, &value);
    result = getitimer(ITIMER_VIRTUAL, &value);
    print_timer(out, "virtual", result, &value);
    result = getitimer(ITIMER_PROF, &value);
    print_timer(out, "profiling", result, &value);
}

static void print_numbers(struct buf *out)
{
    volatile double small = DBL_MIN;

    buf_printf(out, "rounding mode: %d\n", fegetround());
    buf_printf(out, "subnormal numbers: %s\n", small / 2 > 0 ? "kept" : "flushed to zero");
    buf_printf(out, "floating-point traps: %d\n", fegetexcept());
}

static void state(struct buf *out)
{
    static const char *const names[] = { "Umask:", "NoNewPrivs:", "Seccomp:", NULL };
    char text[4096];
    cpu_set_t set;
    char hex[33];

    proc_lines(out, names);
    buf_printf(out, "locale: character set %s, decimal point %s, day %s\n", nl_langinfo(CODESET),
               nl_langinfo(RADIXCHAR), nl_langinfo(DAY_1));
    buf_printf(out, "thread's locale: %s\n",
               uselocale((locale_t)0) == LC_GLOBAL_LOCALE ? "the process's" : "its own");
    buf_printf(out, "working directory: %s\n", getcwd(text, sizeof text) != NULL ? text : "?");
    for (int k = 0; k < (int)RLIM_NLIMITS; k++) {
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)k, &limit) == 0) {
            buf_printf(out, "resource limit %d: %llu of %llu\n", k,
                       (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
        }
    }
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        hash_hex(hash_bytes(*entry, strlen(*entry)), hex);
        buf_printf(out, "environment variable %.*s: %s\n", (int)strcspn(*entry, "="), *entry, hex);
    }
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        buf_printf(out, "processors: %d\n", CPU_COUNT(&set));
    }
    buf_printf(out, "priority: %d\n", getpriority(PRIO_PROCESS, 0));
    if (prctl(PR_GET_NAME, text) == 0) {
        buf_printf(out, "name of the thread: %s\n", text);
    }
    print_numbers(out);
    print_timers(out);
}

static void descriptors(struct buf *out)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char target[4096];
        ssize_t n = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        if (n > 0 && strtol(entry->d_name, NULL, 10) != dirfd(folder)) {
            target[n] = '\0';
            buf_printf(out, "descriptor %s: %s\n", entry->d_name, target);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

static uint32_t count_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;
    uint32_t n = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        n += entry->d_name[0] != '.' ? 1 : 0;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return n;
}

/* ---- comparing ---- */

/* The first line of text that is not in other; false = none. */
static bool first_new(const char *text, const char *other, char line[256])
{
    for (const char *at = text; *at != '\0';) {
        size_t n = strcspn(at, "\n");
        bool found = false;
        for (const char *in = other; *in != '\0' && !found;) {
            size_t m = strcspn(in, "\n");
            found = n == m && memcmp(at, in, n) == 0;
            in += m + (in[m] != '\0' ? 1 : 0);
        }
        if (!found) {
            snprintf(line, 256, "%.*s", (int)(n < 250 ? n : 250), at);
            return true;
        }
        at += n + (at[n] != '\0' ? 1 : 0);
    }
    return false;
}

struct watching {
    snapshot take;
    struct buf before;
    const char *what; /* for people */
};

static void after_call(void *ctx, struct kit *kit, const char *call)
{
    struct watching *watching = ctx;
    struct buf now = BUF_INIT;
    char was[256] = "";
    char is[256] = "";

    watching->take(&now);
    if (first_new(buf_str(&now), buf_str(&watching->before), is) ||
        first_new(buf_str(&watching->before), buf_str(&now), was)) {
        first_new(buf_str(&watching->before), buf_str(&now), was);
        kit_fail(kit, "%s changes %s\n  before: %s\n  after:  %s", call, watching->what,
                 was[0] != '\0' ? was : "(nothing)", is[0] != '\0' ? is : "(nothing)");
    }
    buf_deinit(&now);
}

static bool has_socket(const struct buf *now, char line[256])
{
    struct buf news = BUF_INIT;
    const char *text = now->data != NULL ? now->data : "";
    bool found = false;

    for (const char *at = text; *at != '\0' && !found;) {
        size_t n = strcspn(at, "\n");
        buf_clear(&news);
        buf_append(&news, at, n);
        if (strstr(buf_str(&news), ": socket:") != NULL) {
            snprintf(line, 256, "%s", buf_str(&news));
            found = true;
        }
        at += n + (at[n] != '\0' ? 1 : 0);
    }
    buf_deinit(&news);
    return found;
}

/* Descriptors may be open between calls (scratch files), sockets may not. */
static void after_call_sockets(void *ctx, struct kit *kit, const char *call)
{
    struct watching *watching = ctx;
    struct buf now = BUF_INIT;
    char line[256];

    watching->take(&now);
    if (!has_socket(&watching->before, line) && has_socket(&now, line)) {
        kit_fail(kit, "%s opens a socket (%s); stages do not talk to the network by themselves",
                 call, line);
    }
    buf_deinit(&now);
}

/* Runs the stage with a look at the process after each call; strict: nothing may change between
 * calls, else only what is left at the end counts. */
static void watch(struct kit *kit, snapshot take, const char *what, bool strict)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    struct kit_outcome outcome;
    struct watching watching = { .take = take, .what = what };
    bool opened;

    /* Providers and the like are loaded by a first run. */
    kit_outcome_init(&outcome);
    take(&watching.before);
    opened = kit_bench_need(kit, &options, &bench);
    kit_what(kit, "ordinary rows");
    if (opened && strict) {
        after_call(&watching, kit, "open or prepare");
    }
    if (opened) {
        kit_exercise(&bench, 30, KIT_ORDINARY, strict ? after_call : after_call_sockets, &watching,
                     &outcome);
    }
    kit_outcome_deinit(&outcome);
    kit_bench_close(&bench);
    if (opened) {
        after_call(&watching, kit, "close (or a call before it)");
    }
    buf_deinit(&watching.before);
}

/* Opens what the kit itself needs, so that it is not taken for the stage's doing. */
static bool warm(struct kit *kit)
{
    struct registry_options options = { .exe_dir = kit->options.exe_dir };
    struct sluice_error err = ERROR_INIT;

    if (kit->registry == NULL && registry_create(&options, &kit->registry, &err) != SLUICE_OK) {
        return kit_fail(kit, "%s", err.message);
    }
    return true;
}

void check_signals(struct kit *kit)
{
    if (warm(kit)) {
        watch(kit, signals, "signal handlers or the signal mask", true);
    }
}

void check_process(struct kit *kit)
{
    if (warm(kit)) {
        watch(kit, state, "what belongs to the whole process", true);
    }
}

/* Descriptors of somebody else's, which a stage has to leave alone: without them a stage that
 * closes every number it can think of would close nothing, and not be found out. */
void check_descriptors(struct kit *kit)
{
    int others[4];

    if (!warm(kit)) {
        return;
    }
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
        others[k] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    watch(kit, descriptors, "the open file descriptors", false);
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
        if (others[k] >= 0) {
            close(others[k]);
        }
    }
}

/* ---- processes and threads ---- */

static bool children_left(struct kit *kit)
{
    struct rusage usage;
    int status;
    pid_t child = waitpid(-1, &status, WNOHANG);

    if (child >= 0) {
        return !kit_fail(kit, "it leaves a process behind (%s)",
                         child == 0 ? "still running" : "ended, and nobody waited for it");
    }
    if (getrusage(RUSAGE_CHILDREN, &usage) == 0 &&
        (usage.ru_minflt > 0 || usage.ru_utime.tv_usec > 0 || usage.ru_utime.tv_sec > 0)) {
        return !kit_fail(kit, "it started a process and waited for it; stages run in this process "
                              "alone");
    }
    return false;
}

static void after_call_children(void *ctx, struct kit *kit, const char *call)
{
    siginfo_t info;

    (void)ctx;
    if (atomic_load(&kit->report->forked) != 0) {
        kit_fail(kit, "%s calls fork", call);
    } else if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
        kit_fail(kit, "%s starts a process", call);
    }
}

void check_children(struct kit *kit)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    struct kit_outcome outcome;
    uint32_t before = count_threads();
    uint32_t after = before;
    bool opened;

    kit_outcome_init(&outcome);
    opened = kit_bench_need(kit, &options, &bench);
    kit_what(kit, "ordinary rows");
    if (opened) {
        after_call_children(NULL, kit, "open or prepare");
        kit_exercise(&bench, 30, KIT_ORDINARY, after_call_children, NULL, &outcome);
    }
    kit_outcome_deinit(&outcome);
    kit_bench_close(&bench);
    after_call_children(NULL, kit, "close");
    /* A thread that was told to end may need a moment. */
    for (int i = 0; i < 50; i++) {
        after = count_threads();
        if (after <= before) {
            break;
        }
        nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
    }
    if (after > before) {
        kit_fail(kit, "%u thread%s that it started still run%s after close", after - before,
                 after - before == 1 ? "" : "s", after - before == 1 ? "s" : "");
    } else {
        children_left(kit);
    }
}
