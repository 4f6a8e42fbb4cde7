/* Trying a plugin in a child process before it may touch this one: constructors run at dlopen,
 * before any check. The child is `prober __probe FILE`, answers on descriptor 3 with "ok" or "no"
 * and a message, and ends. See plugin_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plugin/plugin_file.h"
#include "plugin/registry.h"
#include "plugin/value.h"

#define ANSWER_FD 3
#define PROBE_MS 10000u

extern char **environ;

int probe_main(const char *path)
{
    struct rlimit no_core = { 0, 0 };
    struct sluice_error err = ERROR_INIT;
    struct plugin_file file;
    char answer[sizeof err.message + 4];
    int n;

    /* A plugin that crashes here is expected; leave no core file and don't outlive the parent. */
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (plugin_file_load(path, &file, &err) == SLUICE_OK) {
        plugin_file_deinit(&file);
        n = snprintf(answer, sizeof answer, "ok\n");
    } else {
        n = snprintf(answer, sizeof answer, "no\n%s", err.message);
    }
    return write(ANSWER_FD, answer, (size_t)n) == n ? 0 : 1;
}

/* Starts the child; *fd is the end of the pipe to read its answer from. */
static sluice_status spawn(const char *prober, const char *path, pid_t *child, int *fd,
                           struct sluice_error *err)
{
    char *const argv[] = { (char *)"sluice", (char *)"__probe", (char *)path, NULL };
    posix_spawn_file_actions_t actions;
    int ends[2];
    int errnum;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return error_errno(err, errno, "cannot make a pipe to try the plugin %s", path);
    }
    errnum = posix_spawn_file_actions_init(&actions);
    if (errnum == 0) {
        /* The answer's end first: /dev/null might otherwise land on it. dup2 clears CLOEXEC, also
         * onto itself (glibc). */
        errnum = posix_spawn_file_actions_adddup2(&actions, ends[1], ANSWER_FD);
        for (int i = 0; i < ANSWER_FD && errnum == 0; i++) {
            errnum = posix_spawn_file_actions_addopen(&actions, i, "/dev/null",
                                                      i == 0 ? O_RDONLY : O_WRONLY, 0);
        }
        if (errnum == 0) {
            errnum = posix_spawn(child, prober, &actions, NULL, argv, environ);
        }
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (errnum != 0) {
        close(ends[0]);
        return error_errno(err, errnum, "cannot start %s to try the plugin %s", prober, path);
    }
    *fd = ends[0];
    return SLUICE_OK;
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Appends what there is to read (the pipe does not block); false at its end. */
static bool read_some(int fd, char *answer, size_t size, size_t *used)
{
    while (*used < size - 1) {
        ssize_t n = read(fd, answer + *used, size - 1 - *used);
        if (n <= 0) {
            return n < 0 && (errno == EINTR || errno == EAGAIN);
        }
        *used += (size_t)n;
    }
    return false;
}

/* Waits for the child and its answer; false = it was killed at the deadline. */
static bool await(pid_t child, int fd, uint32_t ms, char *answer, size_t size, int *status)
{
    int64_t deadline = now_ms() + ms;
    size_t used = 0;
    bool open = true;

    *status = 0;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (;;) {
        int64_t left = deadline - now_ms();
        struct pollfd event = { .fd = fd, .events = POLLIN, .revents = 0 };
        pid_t ended;
        if (left <= 0) {
            kill(child, SIGKILL);
            while (waitpid(child, status, 0) < 0 && errno == EINTR) {
            }
            return false;
        }
        if (open) {
            poll(&event, 1, left < 50 ? (int)left : 50);
            open = event.revents == 0 || read_some(fd, answer, size, &used);
        } else {
            nanosleep(&(struct timespec){ 0, 200000 }, NULL);
        }
        ended = waitpid(child, status, WNOHANG);
        if (ended == child || (ended < 0 && errno == ECHILD)) {
            read_some(fd, answer, size, &used);
            answer[used] = '\0';
            return true;
        }
    }
}

sluice_status plugin_file_probe(const char *path, const char *prober, uint32_t ms,
                                struct sluice_error *err)
{
    char answer[1024] = "";
    pid_t child = -1;
    int fd = -1;
    int status;
    bool in_time;

    if (ms == 0) {
        ms = PROBE_MS;
    }
    TRY(spawn(prober != NULL ? prober : "/proc/self/exe", path, &child, &fd, err));
    in_time = await(child, fd, ms, answer, sizeof answer, &status);
    close(fd);
    if (!in_time) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "the plugin %s was not loaded within %u ms when tried in a process of its own", path,
            ms);
    }
    if (WIFSIGNALED(status)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "the plugin %s crashed when tried in a process of its own: signal %d "
                         "(%s); it is not loaded",
                         path, WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
    if (strncmp(answer, "no\n", 3) == 0) {
        utf8_clean(answer);
        return error_set(err, SLUICE_E_CONFIG, "%s", answer + 3);
    }
    if (strcmp(answer, "ok\n") != 0 || WEXITSTATUS(status) != 0) {
        return error_set(err, SLUICE_E_CONFIG,
                         "the plugin %s ended the process (exit status %d) when tried in one of "
                         "its own; it is not loaded",
                         path, WEXITSTATUS(status));
    }
    return SLUICE_OK;
}
