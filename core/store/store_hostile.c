/* A place that is as bad as one may be, for tests: see store_ops.h. `hostile://ANY/NAME` is an
 * object in the folder SLUICE_TEST_HOSTILE_ROOT, one flat file an object, its name encoded, with
 * its tag before its bytes: no folders, no links, no renaming; all that there is are whole puts,
 * puts of what is absent, ranges and lists of a few names a page.
 *
 * SLUICE_TEST_HOSTILE=SEED[:RATE] has one of RATE (default 10) requests go wrong, as SEED and the
 * number of the request in this process choose: it is refused; it is performed and its answer lost;
 * it is lost before it is performed; it is performed again, later, when others have come between;
 * and lists lack an object for the first looks at it. Without it all goes well.
 *
 * `alone://…` is the same without STORE_PUT_NEW.
 *
 * Changes go through disk.c, so that tests kill at each of them. */
#include "base/hooks.h"
#include "store/store_ops.h"

#if HOOKS_ON

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk.h"
#include "store/store_hostileInt.h"
#include "store/temp.h"

#define HEAD 33 /* bytes before an object's own: 32 of its tag and a newline */
#define LATE 8  /* requests that are kept for later, at most */

/* ---- faults ---- */

struct late {
    char *name;
    char *data;
    size_t n;
    bool only_new;
};

static struct {
    atomic_uint_fast64_t requests;
    pthread_mutex_t mutex; /* of what follows */
    struct late late[LATE];
    size_t n_late;
} state = { .mutex = PTHREAD_MUTEX_INITIALIZER };

uint64_t hostile_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

enum fault hostile_fault(uint64_t *number)
{
    const char *text = hook_text("SLUICE_TEST_HOSTILE");
    uint64_t n = atomic_fetch_add(&state.requests, 1) + 1;
    uint64_t seed;
    uint64_t rate = 10;
    uint64_t x;
    char *end;

    if (number != NULL) {
        *number = n;
    }
    if (text == NULL) {
        return NONE;
    }
    seed = strtoull(text, &end, 10);
    if (*end == ':') {
        rate = strtoull(end + 1, NULL, 10);
    }
    x = hostile_mix(seed * 0x9e3779b97f4a7c15u + n);
    return rate == 0 || x % rate != 0 ? NONE : (enum fault)(1 + (x >> 32) % (N_FAULTS - 1));
}

/* ---- names ---- */

const char *hostile_root(void)
{
    const char *folder = hook_text("SLUICE_TEST_HOSTILE_ROOT");

    return folder != NULL ? folder : "/nowhere";
}

/* Gives; NULL = out of memory. Names may be as long as a file's name on the disk below. */
static char *file_of(const char *name)
{
    struct buf out = BUF_INIT;

    buf_printf(&out, "%s/o", hostile_root());
    hostile_encode(strstr(name, "://") + 3, &out);
    return buf_take(&out);
}

/* ---- objects ---- */

enum store_answer hostile_failed(struct sluice_error *err, int errnum, const char *name)
{
    return store_failed(error_errno(err, errnum, "%s", name));
}

enum store_answer hostile_look(const char *name, int *fd, struct store_version *version,
                               struct sluice_error *err)
{
    char *path = file_of(name);
    char head[HEAD];
    struct stat st;

    if (path == NULL) {
        return hostile_failed(err, ENOMEM, name);
    }
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (*fd < 0) {
        return errno == ENOENT ? ANSWER_ABSENT : hostile_failed(err, errno, name);
    }
    if (fstat(*fd, &st) != 0 || pread(*fd, head, HEAD, 0) != HEAD) {
        close(*fd);
        *fd = -1;
        return hostile_failed(err, EIO, name);
    }
    memset(version, 0, sizeof *version);
    version->size = (uint64_t)st.st_size - HEAD;
    memcpy(version->tag, head, HEAD - 1);
    return ANSWER_DONE;
}

static enum store_answer object_stat(const char *name, struct store_version *version,
                                     struct sluice_error *err)
{
    int fd;
    enum store_answer answer =
        hostile_fault(NULL) == REFUSED ? ANSWER_AGAIN : hostile_look(name, &fd, version, err);

    if (answer == ANSWER_DONE) {
        close(fd);
    }
    return answer;
}

static enum store_answer object_open(struct store_file *file, struct sluice_error *err)
{
    return hostile_fault(NULL) == REFUSED
               ? ANSWER_AGAIN
               : hostile_look(file->name, &file->fd, &file->version, err);
}

static void object_close(struct store_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
}

/* The name is asked again each time, as by a request with If-Match: no object stays as it was for
 * who has it open. */
static enum store_answer object_read(struct store_file *file, struct store_extent *extents,
                                     size_t n, struct sluice_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct store_extent *e = &extents[i];
        struct store_version now;
        enum store_answer answer;
        ssize_t got;
        int fd;
        if (hostile_fault(NULL) == REFUSED) {
            return ANSWER_AGAIN;
        }
        answer = hostile_look(file->name, &fd, &now, err);
        if (answer != ANSWER_DONE) {
            return answer;
        }
        if (strcmp(now.tag, file->version.tag) != 0) {
            close(fd);
            return ANSWER_DIFFERS;
        }
        got = e->offset >= now.size ? 0 : pread(fd, e->data, e->n, (off_t)(e->offset + HEAD));
        close(fd);
        if (got < 0) {
            return hostile_failed(err, errno, file->name);
        }
        e->got = (size_t)got;
    }
    return ANSWER_DONE;
}

static enum store_answer object_look(struct store_file *file, struct store_version *version,
                                     struct sluice_error *err)
{
    return object_stat(file->name, version, err);
}

/* ---- writing ---- */

/* All changes of objects pass one after the other: a store is one machine for each of them. */
static int lock_all(void)
{
    char path[4096];
    sluice_status ignored = disk_mkdirs_absent(hostile_root(), false, NULL);
    int fd;

    (void)ignored;
    snprintf(path, sizeof path, "%s/.lock", hostile_root());
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR) {
    }
    return fd;
}

/* Copies or takes the bytes into a new file, whole or not at all. */
static enum store_answer store_bytes(const char *name, const char *path, const void *data, size_t n,
                                     struct sluice_error *err)
{
    char head[HEAD + 1];
    char *temp;
    int fd;
    int errnum = temp_create(hostile_root(), &temp, &fd);
    sluice_status status;

    if (errnum != 0) {
        free(temp);
        return hostile_failed(err, errnum, name);
    }
    hash_hex(hash_bytes(data, n), head);
    head[HEAD - 1] = '\n';
    status = disk_write_all(fd, temp, head, HEAD, err);
    if (status == SLUICE_OK) {
        status = disk_write_all(fd, temp, data, n, err);
    }
    close(fd);
    errnum = status == SLUICE_OK ? disk_rename(temp, path) : 0;
    if (status != SLUICE_OK || errnum != 0) {
        (void)disk_unlink(temp);
    }
    free(temp);
    return status != SLUICE_OK ? store_failed(status)
           : errnum != 0       ? hostile_failed(err, errnum, name)
                               : ANSWER_DONE;
}

static enum store_answer perform(const char *name, const void *data, size_t n, bool only_new,
                                 const struct store_version *expected, struct sluice_error *err)
{
    char *path = file_of(name);
    struct store_version now;
    enum store_answer answer;
    int lock;
    int fd;

    if (path == NULL) {
        return hostile_failed(err, ENOMEM, name);
    }
    lock = lock_all();
    answer = hostile_look(name, &fd, &now, err);
    if (answer == ANSWER_DONE) {
        close(fd);
    }
    if (only_new && answer == ANSWER_DONE) {
        answer = ANSWER_EXISTS;
    } else if (expected != NULL && answer == ANSWER_DONE && !store_version_equal(&now, expected)) {
        answer = ANSWER_DIFFERS;
    } else if (answer == ANSWER_DONE || (answer == ANSWER_ABSENT && expected == NULL)) {
        answer = store_bytes(name, path, data, n, err);
    }
    if (lock >= 0) {
        close(lock);
    }
    free(path);
    return answer;
}

/* Performs one request that was sent twice, and the second time was on its way till now. */
static void perform_late(void)
{
    struct late late = { NULL, NULL, 0, false };

    pthread_mutex_lock(&state.mutex);
    if (state.n_late > 0) {
        late = state.late[--state.n_late];
    }
    pthread_mutex_unlock(&state.mutex);
    if (late.name != NULL) {
        (void)perform(late.name, late.data, late.n, late.only_new, NULL, NULL);
        free(late.name);
        free(late.data);
    }
}

static void keep_late(const char *name, const void *data, size_t n, bool only_new)
{
    struct late late = { str_copy(name, strlen(name)), malloc(n + 1), n, only_new };
    bool kept = false;

    pthread_mutex_lock(&state.mutex);
    if (late.name != NULL && late.data != NULL && state.n_late < LATE) {
        if (n > 0) {
            memcpy(late.data, data, n);
        }
        state.late[state.n_late++] = late;
        kept = true;
    }
    pthread_mutex_unlock(&state.mutex);
    if (!kept) {
        free(late.name);
        free(late.data);
    }
}

static enum store_answer request(const char *name, const void *data, size_t n, bool only_new,
                                 const struct store_version *expected, struct sluice_error *err)
{
    uint64_t number;
    enum fault fault = hostile_fault(&number);
    enum store_answer answer;

    if (number % 5 == 0) {
        perform_late();
    }
    switch (fault) {
    case REFUSED:
        return ANSWER_AGAIN;
    case LOST_BEFORE:
        return ANSWER_UNKNOWN;
    case LOST_AFTER:
        answer = perform(name, data, n, only_new, expected, err);
        return answer == ANSWER_FAILED ? answer : ANSWER_UNKNOWN;
    case REPEATED:
        /* A put of other bytes later would be the store's last word: only what may be repeated at
         * any time is. */
        if (expected == NULL) {
            keep_late(name, data, n, only_new);
        }
        break;
    case NONE:
    case N_FAULTS:
        break;
    }
    return perform(name, data, n, only_new, expected, err);
}

static enum store_answer object_put_new(const char *name, const void *data, size_t n,
                                        unsigned flags, struct sluice_error *err)
{
    (void)flags;
    return request(name, data, n, true, NULL, err);
}

static enum store_answer object_put(const char *name, const void *data, size_t n, unsigned flags,
                                    struct sluice_error *err)
{
    (void)flags;
    return request(name, data, n, false, NULL, err);
}

static enum store_answer object_put_if(const char *name, const struct store_version *expected,
                                       const void *data, size_t n, struct sluice_error *err)
{
    return request(name, data, n, false, expected, err);
}

static enum store_answer object_upload(const char *name, int from, uint64_t n,
                                       struct sluice_error *err)
{
    char *data = malloc((size_t)n + 1);
    enum store_answer answer;

    if (data == NULL || (n > 0 && pread(from, data, (size_t)n, 0) != (ssize_t)n)) {
        free(data);
        return hostile_failed(err, data == NULL ? ENOMEM : EIO, name);
    }
    answer = request(name, data, (size_t)n, false, NULL, err);
    free(data);
    return answer;
}

static enum store_answer object_remove(const char *name, struct sluice_error *err)
{
    enum fault fault = hostile_fault(NULL);
    char *path = file_of(name);
    int errnum;
    int lock;

    if (path == NULL || fault == REFUSED || fault == LOST_BEFORE) {
        free(path);
        return path == NULL       ? hostile_failed(err, ENOMEM, name)
               : fault == REFUSED ? ANSWER_AGAIN
                                  : ANSWER_UNKNOWN;
    }
    lock = lock_all();
    errnum = disk_unlink(path);
    if (lock >= 0) {
        close(lock);
    }
    free(path);
    if (errnum != 0 && errnum != ENOENT) {
        return hostile_failed(err, errnum, name);
    }
    return fault == LOST_AFTER ? ANSWER_UNKNOWN : errnum == 0 ? ANSWER_DONE : ANSWER_ABSENT;
}

const struct store_ops store_hostile = {
    .scheme = "hostile",
    .caps = STORE_PUT_NEW | STORE_REPLACE_IF,
    .tries = 40,
    .open = object_open,
    .close = object_close,
    .read = object_read,
    .look = object_look,
    .stat = object_stat,
    .list = hostile_list,
    .put_new = object_put_new,
    .put_if = object_put_if,
    .put = object_put,
    .upload = object_upload,
    .remove = object_remove,
};

/* The same, where nobody can be sure to be the first. */
const struct store_ops store_alone = {
    .scheme = "alone",
    .tries = 40,
    .open = object_open,
    .close = object_close,
    .read = object_read,
    .look = object_look,
    .stat = object_stat,
    .list = hostile_list,
    .put_new = object_put_new,
    .put_if = object_put_if,
    .put = object_put,
    .upload = object_upload,
    .remove = object_remove,
};

#else

typedef int store_hostile_is_for_tests;

#endif
