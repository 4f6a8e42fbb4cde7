/* Trying a plugin in a child process before it may touch this one: constructors run at dlopen,
 * before any check. The child is `prober __probe FILE`, answers on descriptor 3 with "ok" and the
 * plugin's description, or "no" and a message, and ends. See plugin_file.h. */
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

#include "plugin/plugin_describe.h"
#include "plugin/plugin_file.h"
#include "plugin/registry.h"
#include "plugin/value.h"

#define ANSWER_FD 3
#define PROBE_MS 10000u

extern char **environ;

static bool answer_all(struct buf *answer)
{
    size_t done = 0;

    while (done < answer->size) {
        ssize_t n = write(ANSWER_FD, answer->data + done, answer->size - done);
        if (n < 0 && errno != EINTR) {
            break;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return done == answer->size && !answer->failed;
}

bool probe_fail(const struct sluice_error *err)
{
    struct buf answer = BUF_INIT;
    bool ok;

    buf_puts(&answer, "no\n");
    buf_puts(&answer, err->message);
    ok = answer_all(&answer);
    buf_deinit(&answer);
    return ok;
}

int probe_main(const char *path)
{
    struct rlimit no_core = { 0, 0 };
    struct sluice_error err = ERROR_INIT;
    struct plugin_file file;
    struct buf answer = BUF_INIT;
    sluice_status status;
    bool ok;

    /* A plugin that crashes here is expected; leave no core file and don't outlive the parent. */
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    status = plugin_file_load(path, &file, &err);
    if (status == SLUICE_OK) {
        buf_puts(&answer, "ok\n");
        status = plugin_describe(&file, &answer, &err);
        plugin_file_deinit(&file);
    }
    ok = status == SLUICE_OK ? answer_all(&answer) : probe_fail(&err);
    buf_deinit(&answer);
    return ok ? 0 : 1;
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

/* Appends what there is to read (the pipe does not block); false at its end, or when it is too
 * much. */
static bool read_some(int fd, struct buf *answer)
{
    while (answer->size <= PLUGIN_DESCRIPTION_MAX + 3) {
        ssize_t n;
        if (!buf_reserve(answer, 65536)) {
            return false;
        }
        n = read(fd, answer->data + answer->size, 65536);
        if (n <= 0) {
            return n < 0 && (errno == EINTR || errno == EAGAIN);
        }
        answer->size += (size_t)n;
    }
    return false;
}

/* Waits for the child and its answer; false = it was killed at the deadline, or for saying too
 * much. */
static bool await(pid_t child, int fd, uint32_t ms, struct buf *answer, int *status)
{
    int64_t deadline = now_ms() + ms;
    bool open = true;

    *status = 0;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (;;) {
        int64_t left = deadline - now_ms();
        struct pollfd event = { .fd = fd, .events = POLLIN, .revents = 0 };
        pid_t ended;
        if (left <= 0 || answer->size > PLUGIN_DESCRIPTION_MAX + 3) {
            kill(child, SIGKILL);
            while (waitpid(child, status, 0) < 0 && errno == EINTR) {
            }
            return false;
        }
        if (open) {
            poll(&event, 1, left < 50 ? (int)left : 50);
            open = event.revents == 0 || read_some(fd, answer);
        } else {
            nanosleep(&(struct timespec){ 0, 200000 }, NULL);
        }
        ended = waitpid(child, status, WNOHANG);
        if (ended == child || (ended < 0 && errno == ECHILD)) {
            read_some(fd, answer);
            return true;
        }
    }
}

static sluice_status judge(const char *path, struct buf *answer, bool in_time, int status,
                           uint32_t ms, struct sluice_error *err)
{
    char message[1024];

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
    if (answer->size > 3 && memcmp(answer->data, "no\n", 3) == 0) {
        snprintf(message, sizeof message, "%s", buf_str(answer) + 3);
        utf8_clean(message);
        return error_set(err, SLUICE_E_CONFIG, "%s", message);
    }
    if (answer->size < 3 || memcmp(answer->data, "ok\n", 3) != 0 || WEXITSTATUS(status) != 0) {
        return error_set(err, SLUICE_E_CONFIG,
                         "the plugin %s ended the process (exit status %d) when tried in one of "
                         "its own; it is not loaded",
                         path, WEXITSTATUS(status));
    }
    return SLUICE_OK;
}

sluice_status plugin_file_probe(const char *path, const char *prober, uint32_t ms, struct buf *out,
                                struct sluice_error *err)
{
    struct buf answer = BUF_INIT;
    pid_t child = -1;
    int fd = -1;
    int ended = 0;
    bool in_time;
    sluice_status status;

    if (ms == 0) {
        ms = PROBE_MS;
    }
    TRY(spawn(prober != NULL ? prober : "/proc/self/exe", path, &child, &fd, err));
    in_time = await(child, fd, ms, &answer, &ended);
    close(fd);
    status = buf_status(&answer, err);
    if (status == SLUICE_OK) {
        status = judge(path, &answer, in_time, ended, ms, err);
    }
    if (status == SLUICE_OK) {
        buf_append(out, answer.data + 3, answer.size - 3);
        status = buf_status(out, err);
    }
    buf_deinit(&answer);
    return status;
}
