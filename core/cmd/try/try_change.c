/* What changed between two runs of `sluice try`, and the older version of a script out of git. See
 * try.h. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/try/try.h"

#define MOST_TEXT ((size_t)16 << 20)

/* 0: now dropped, 1: now kept, 2: another reason. */
static int kind_of(const struct change *change)
{
    return change->before->reason == 0 ? 0 : change->after->reason == 0 ? 1 : 2;
}

static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a;
    const struct change *y = b;
    double dx = fate_distance(x->after);
    double dy = fate_distance(y->after);

    if (kind_of(x) != kind_of(y)) {
        return kind_of(x) < kind_of(y) ? -1 : 1;
    }
    if (dx != dy) {
        return dx < dy ? -1 : 1;
    }
    return x->row < y->row ? -1 : x->row > y->row;
}

sluice_status changes_make(const struct outcome *before, const struct outcome *after,
                           struct changes *changes, struct sluice_error *err)
{
    memset(changes, 0, sizeof *changes);
    changes->items = malloc((after->n + 1) * sizeof *changes->items);
    if (changes->items == NULL) {
        return error_nomem(err, "changes");
    }
    for (uint64_t i = 0; i < after->n; i++) {
        const struct fate *old = &before->fates[i];
        const struct fate *new = &after->fates[i];
        if (strcmp(outcome_reason(before, old->reason), outcome_reason(after, new->reason)) != 0) {
            struct change *change = &changes->items[changes->n++];
            *change = (struct change){ i, old, new };
            changes->dropped += kind_of(change) == 0;
            changes->kept += kind_of(change) == 1;
            changes->other += kind_of(change) == 2;
        }
    }
    qsort(changes->items, changes->n, sizeof *changes->items, compare_changes);
    return SLUICE_OK;
}

void changes_deinit(struct changes *changes)
{
    free(changes->items);
    memset(changes, 0, sizeof *changes);
}

/* ---- git ---- */

extern char **environ;

static sluice_status read_all(int fd, struct buf *out, struct sluice_error *err)
{
    for (;;) {
        ssize_t n;
        if (!buf_reserve(out, 65536)) {
            return error_nomem(err, "the script");
        }
        n = read(fd, out->data + out->size, 65536);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return error_errno(err, errno, "can't read what git shows");
        }
        if (n == 0) {
            return SLUICE_OK;
        }
        out->size += (size_t)n;
        if (out->size > MOST_TEXT) {
            return error_set(err, SLUICE_E_CONFIG, "what git shows is no script: more than %zu MiB",
                             MOST_TEXT >> 20);
        }
    }
}

static sluice_status spawn_git(char *const *arguments, int *output, pid_t *child,
                               struct sluice_error *err)
{
    posix_spawn_file_actions_t actions;
    int ends[2];
    int failure;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return error_errno(err, errno, "can't make a pipe");
    }
    failure = posix_spawn_file_actions_init(&actions);
    if (failure == 0) {
        failure = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        if (failure == 0) {
            failure =
                posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        }
        if (failure == 0) {
            failure = posix_spawnp(child, "git", &actions, NULL, arguments, environ);
        }
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (failure != 0) {
        close(ends[0]);
        return error_errno(err, failure, "can't start git, which --compare git:REV needs");
    }
    *output = ends[0];
    return SLUICE_OK;
}

sluice_status change_git(const char *path, const char *revision, char **text,
                         struct sluice_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? str_copy(".", 1)
                                 : str_copy(path, slash == path ? 1 : (size_t)(slash - path));
    char *object = str_printf("%s:./%s", revision, slash == NULL ? path : slash + 1);
    char *arguments[] = { (char *)(uintptr_t) "git",
                          (char *)(uintptr_t) "-C",
                          folder,
                          (char *)(uintptr_t) "show",
                          (char *)(uintptr_t) "--end-of-options",
                          object,
                          NULL };
    struct buf out = BUF_INIT;
    pid_t child = 0;
    int output = -1;
    int ended = 0;
    sluice_status status = folder == NULL || object == NULL
                               ? error_nomem(err, "a path")
                               : spawn_git(arguments, &output, &child, err);

    *text = NULL;
    if (status == SLUICE_OK) {
        status = read_all(output, &out, err);
        close(output);
        while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
        }
        if (status == SLUICE_OK && (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0)) {
            status = error_set(err, SLUICE_E_CONFIG,
                               "git does not show %s at '%s' (its message is above); expected a "
                               "revision in which the file is, such as git:HEAD",
                               path, revision);
        }
    }
    if (status == SLUICE_OK) {
        *text = buf_take(&out);
        status = *text == NULL ? error_nomem(err, "the script") : SLUICE_OK;
    }
    buf_deinit(&out);
    free(folder);
    free(object);
    return status;
}
