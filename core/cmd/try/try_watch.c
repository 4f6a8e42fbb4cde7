/* Waiting for a file to be saved. Editors write in place or put a new file under the name, so the
 * folders are watched, by inotify. See try.h. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "cmd/try/try.h"
#include "run/metrics.h"

#define SETTLE_MS 15 /* an editor may write twice */

struct watched {
    char *name; /* in the folder */
    int folder; /* inotify's number */
};

struct watch {
    int fd;
    struct watched *files;
    size_t n;
};

sluice_status watch_open(struct watch **out, struct sluice_error *err)
{
    struct watch *watch = calloc(1, sizeof *watch);

    *out = NULL;
    if (watch == NULL) {
        return error_nomem(err, "watching");
    }
    watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch->fd < 0) {
        int failure = errno;
        free(watch);
        return error_errno(err, failure, "can't watch files (inotify)");
    }
    *out = watch;
    return SLUICE_OK;
}

void watch_close(struct watch *watch)
{
    if (watch == NULL) {
        return;
    }
    for (size_t i = 0; i < watch->n; i++) {
        free(watch->files[i].name);
    }
    free(watch->files);
    close(watch->fd);
    free(watch);
}

sluice_status watch_file(struct watch *watch, const char *path, struct sluice_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    char *folder = slash == NULL ? str_copy(".", 1)
                                 : str_copy(path, slash == path ? 1 : (size_t)(slash - path));
    struct watched *more;
    int number;

    if (folder == NULL) {
        return error_nomem(err, "watching");
    }
    number = inotify_add_watch(watch->fd, folder, IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE);
    if (number < 0) {
        int failure = errno;
        error_errno(err, failure, "can't watch %s", folder);
        free(folder);
        return err->code;
    }
    free(folder);
    for (size_t i = 0; i < watch->n; i++) {
        if (watch->files[i].folder == number && strcmp(watch->files[i].name, name) == 0) {
            return SLUICE_OK;
        }
    }
    more = realloc(watch->files, (watch->n + 1) * sizeof *more);
    if (more == NULL) {
        return error_nomem(err, "watching");
    }
    watch->files = more;
    more[watch->n].folder = number;
    more[watch->n].name = str_copy(name, strlen(name));
    return more[watch->n++].name == NULL ? error_nomem(err, "watching") : SLUICE_OK;
}

/* Reads what happened; true when it was about one of the files. */
static bool read_events(struct watch *watch)
{
    union {
        struct inotify_event event;
        char bytes[8192];
    } room;
    bool ours = false;
    ssize_t n;

    while ((n = read(watch->fd, room.bytes, sizeof room.bytes)) > 0) {
        for (ssize_t at = 0; at < n;) {
            struct inotify_event event;
            const char *name = room.bytes + at + sizeof event;
            memcpy(&event, room.bytes + at, sizeof event);
            ours = ours || (event.mask & IN_Q_OVERFLOW) != 0;
            for (size_t i = 0; event.len > 0 && i < watch->n; i++) {
                ours = ours || (watch->files[i].folder == event.wd &&
                                (event.mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0 &&
                                strcmp(watch->files[i].name, name) == 0);
            }
            at += (ssize_t)sizeof event + (ssize_t)event.len;
        }
    }
    return ours;
}

sluice_status watch_wait(struct watch *watch, bool *stopped, uint64_t *saved_ns,
                         struct sluice_error *err)
{
    struct pollfd waiting = { .fd = watch->fd, .events = POLLIN };
    bool ours = false;

    *stopped = false;
    while (atomic_load(&session_drain) == 0) {
        int n = poll(&waiting, 1, ours ? SETTLE_MS : 500);
        if (n < 0 && errno != EINTR) {
            return error_errno(err, errno, "can't wait for the file");
        }
        if (n == 0 && ours) {
            return SLUICE_OK;
        }
        if (n > 0 && read_events(watch)) {
            *saved_ns = ours ? *saved_ns : clock_ns();
            ours = true;
        }
    }
    *stopped = true;
    return SLUICE_OK;
}
