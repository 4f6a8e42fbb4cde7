/* A child process without rights: see test_apart.h. */
#include "cmd/test/test_apart.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/say.h"
#include "isolate/guards.h"

#define MEMORY (UINT64_C(4) << 30)

/* In the child. Its results fit into the pipe, so that nobody waits. */
static void run_child(void (*work)(void *ctx), void *ctx, size_t n, int fd)
{
    struct guards_grant grant = { .memory = MEMORY };
    struct sluice_error err = ERROR_INIT;

    if (guards_apply(&grant, &err) != SLUICE_OK) {
        say_to(stderr, "sluice: %s\n", err.message);
        _exit(1);
    }
    work(ctx);
    fflush(stdout);
    _exit(write(fd, ctx, n) == (ssize_t)n ? 0 : 1);
}

static sluice_status explain(int status, struct sluice_error *err)
{
    if (WIFSIGNALED(status)) {
        return error_set(err, SLUICE_E_INTERNAL, "a function of a library crashed: signal %d (%s)",
                         WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
    return error_set(err, SLUICE_E_INTERNAL,
                     "a function of a library ended its process with status %d",
                     WEXITSTATUS(status));
}

sluice_status test_apart(void (*work)(void *ctx), void *ctx, size_t n, struct sluice_error *err)
{
    int ends[2];
    int status = 0;
    ssize_t got;
    pid_t child;

    if (n > 4096 || pipe(ends) != 0) {
        return error_errno(err, n > 4096 ? EMSGSIZE : errno, "cannot make a pipe");
    }
    fflush(stdout);
    child = fork();
    if (child < 0) {
        status = errno;
        close(ends[0]);
        close(ends[1]);
        return error_errno(err, status, "cannot start a process");
    }
    if (child == 0) {
        close(ends[0]);
        run_child(work, ctx, n, ends[1]);
    }
    close(ends[1]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        close(ends[0]);
        return explain(status, err);
    }
    got = read(ends[0], ctx, n);
    close(ends[0]);
    return got == (ssize_t)n ? SLUICE_OK
                             : error_set(err, SLUICE_E_INTERNAL, "a child process gave no result");
}
