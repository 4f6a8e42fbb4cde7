/* Test hooks of disk.c: operation log, kill points and injected failures (see disk.h). The one
 * mutable global state of the store: it stands for the machine that tests make fail, and is never
 * written outside of tests after the first operation.
 *
 * A record of the log, little-endian: u32 magic "SLOP", u32 op, u64 dev, u64 ino, u64 offset, u64
 * n, u32 length of path, u32 length of path2, path, path2 (absolute), n bytes of data. dev and ino
 * name the file of open, write and sync. A lock on the log is held from before the operation until
 * it is logged, so that the log's order is the order of the operations, among processes too. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hooks.h"
#include "store/diskInt.h"

#if HOOKS_ON

#define LOG_MAGIC 0x504f4c53u

enum hook_when { HOOK_BEFORE, HOOK_HALF, HOOK_AFTER };

struct disk_hooks {
    atomic_ullong count; /* operations so far */
    char log[4096];      /* "" = none */
    uint64_t kill_at;    /* 0 = never */
    enum hook_when kill_when;
    uint64_t fail_at; /* 0 = never */
    bool fail_onwards;
    int fail_op; /* an enum disk_op or 0 */
    int fail_errnum;
};

atomic_int disk_hooks_mode;
static struct disk_hooks hooks;
static pthread_mutex_t hooks_mutex = PTHREAD_MUTEX_INITIALIZER;

static const struct {
    const char *name;
    int value;
} error_names[] = {
    { "ENOSPC", ENOSPC }, { "EDQUOT", EDQUOT },         { "EIO", EIO },       { "EPERM", EPERM },
    { "EACCES", EACCES }, { "EROFS", EROFS },           { "EMLINK", EMLINK }, { "EXDEV", EXDEV },
    { "ENOSYS", ENOSYS }, { "EOPNOTSUPP", EOPNOTSUPP }, { "ENOMEM", ENOMEM }, { "EMFILE", EMFILE },
    { "EINVAL", EINVAL }, { "EEXIST", EEXIST },         { "ENOENT", ENOENT },
};

static const char *const op_names[] = { "",         "open",   "write",      "sync",
                                        "sync_dir", "link",   "unlink",     "mkdir",
                                        "rmdir",    "rename", "rename_new", "symlink" };

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void hooks_parse_kill(struct disk_hooks *h)
{
    const char *text = hook_text("SLUICE_TEST_KILL");
    char *end;

    if (text != NULL) {
        h->kill_at = strtoull(text, &end, 10);
        if (strcmp(end, ":half") == 0) {
            h->kill_when = HOOK_HALF;
        } else if (strcmp(end, ":after") == 0) {
            h->kill_when = HOOK_AFTER;
        }
        return;
    }
    text = hook_text("SLUICE_TEST_KILL_SEED");
    if (text != NULL) {
        uint64_t seed = strtoull(text, &end, 10);
        uint64_t range = *end == ':' ? strtoull(end + 1, NULL, 10) : 200;
        h->kill_at = 1 + mix(seed) % (range > 0 ? range : 1);
        h->kill_when = (enum hook_when)(mix(seed + 1) % 3);
    }
}

static void hooks_parse_fail(struct disk_hooks *h)
{
    const char *text = hook_text("SLUICE_TEST_FAIL");
    const char *colon = text == NULL ? NULL : strchr(text, ':');
    char *end;

    if (colon == NULL) {
        return;
    }
    h->fail_errnum = (int)strtol(colon + 1, NULL, 10);
    for (size_t i = 0; i < sizeof error_names / sizeof *error_names; i++) {
        if (strcmp(colon + 1, error_names[i].name) == 0) {
            h->fail_errnum = error_names[i].value;
        }
    }
    h->fail_at = strtoull(text, &end, 10);
    h->fail_onwards = *end == '+';
    for (size_t i = 1; i < sizeof op_names / sizeof *op_names; i++) {
        if (strlen(op_names[i]) == (size_t)(colon - text) &&
            strncmp(text, op_names[i], (size_t)(colon - text)) == 0) {
            h->fail_op = (int)i;
        }
    }
}

static int hooks_read(void)
{
    const char *log = hook_text("SLUICE_TEST_OPLOG");

    atomic_store(&hooks.count, 0);
    hooks.log[0] = '\0';
    hooks.kill_at = 0;
    hooks.kill_when = HOOK_BEFORE;
    hooks.fail_at = 0;
    hooks.fail_onwards = false;
    hooks.fail_op = 0;
    hooks.fail_errnum = 0;
    if (log != NULL && strlen(log) < sizeof hooks.log) {
        memcpy(hooks.log, log, strlen(log) + 1);
    }
    hooks_parse_kill(&hooks);
    hooks_parse_fail(&hooks);
    return hooks.log[0] != '\0' || hooks.kill_at > 0 || hooks.fail_errnum > 0 ? 2 : 1;
}

bool disk_hooks_start(void)
{
    pthread_mutex_lock(&hooks_mutex);
    if (atomic_load(&disk_hooks_mode) == 0) {
        atomic_store(&disk_hooks_mode, hooks_read());
    }
    pthread_mutex_unlock(&hooks_mutex);
    return atomic_load(&disk_hooks_mode) == 2;
}

void disk_hooks_reload(void)
{
    pthread_mutex_lock(&hooks_mutex);
    atomic_store(&disk_hooks_mode, hooks_read());
    pthread_mutex_unlock(&hooks_mutex);
}

static void put_u32(struct buf *out, uint32_t value)
{
    unsigned char bytes[4] = { (unsigned char)value, (unsigned char)(value >> 8),
                               (unsigned char)(value >> 16), (unsigned char)(value >> 24) };

    buf_append(out, bytes, sizeof bytes);
}

static void put_u64(struct buf *out, uint64_t value)
{
    put_u32(out, (uint32_t)value);
    put_u32(out, (uint32_t)(value >> 32));
}

/* Absolute without resolving links; empty for none. A symlink's target stays as it is. */
static void put_path(struct buf *out, const char *path, bool verbatim)
{
    char cwd[4096];

    if (path == NULL) {
        return;
    }
    if (!verbatim && path[0] != '/' && getcwd(cwd, sizeof cwd) != NULL) {
        buf_puts(out, cwd);
        buf_putc(out, '/');
    }
    buf_puts(out, path);
}

/* One record by one write(): a log that can't be written stops the test loudly. */
static void log_call(int log_fd, const struct disk_call *call, uint64_t offset)
{
    struct buf record = BUF_INIT;
    struct buf path = BUF_INIT;
    struct buf path2 = BUF_INIT;
    struct stat st;
    uint64_t n = call->op == DISK_WRITE  ? call->done
                 : call->op == DISK_OPEN ? (uint64_t)call->flags
                                         : 0;

    memset(&st, 0, sizeof st);
    if (call->fd >= 0) {
        (void)fstat(call->fd, &st);
    }
    put_path(&path, call->path, call->op == DISK_SYMLINK);
    put_path(&path2, call->path2, false);
    put_u32(&record, LOG_MAGIC);
    put_u32(&record, (uint32_t)call->op);
    put_u64(&record, (uint64_t)st.st_dev);
    put_u64(&record, (uint64_t)st.st_ino);
    put_u64(&record, offset);
    put_u64(&record, n);
    put_u32(&record, (uint32_t)path.size);
    put_u32(&record, (uint32_t)path2.size);
    buf_append(&record, path.data, path.size);
    buf_append(&record, path2.data, path2.size);
    if (call->op == DISK_WRITE) {
        buf_append(&record, call->data, call->done);
    }
    if (record.failed || path.failed || path2.failed ||
        write(log_fd, record.data, record.size) != (ssize_t)record.size) {
        kill(getpid(), SIGKILL);
    }
    buf_deinit(&record);
    buf_deinit(&path);
    buf_deinit(&path2);
}

static bool hooks_fail(uint64_t count, const struct disk_call *call)
{
    if (hooks.fail_errnum == 0) {
        return false;
    }
    return hooks.fail_op == (int)call->op ||
           (hooks.fail_at > 0 &&
            (count == hooks.fail_at || (hooks.fail_onwards && count > hooks.fail_at)));
}

int disk_perform_hooked(struct disk_call *call)
{
    uint64_t count = atomic_fetch_add(&hooks.count, 1) + 1;
    bool killed = count == hooks.kill_at;
    bool failed = hooks_fail(count, call);
    size_t whole = call->n;
    uint64_t offset = 0;
    int log_fd = -1;
    int errnum = 0;

    if (hooks.log[0] != '\0') {
        /* Held across the operation, so that operations of all processes are logged in the order
         * in which they happened. A log with a gap would prove nothing: rather die. */
        log_fd = open(hooks.log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        if (log_fd < 0 || flock(log_fd, LOCK_EX) != 0) {
            kill(getpid(), SIGKILL);
        }
    }
    if (killed && (hooks.kill_when == HOOK_BEFORE ||
                   (hooks.kill_when == HOOK_HALF && call->op != DISK_WRITE))) {
        kill(getpid(), SIGKILL);
    }
    if (call->op == DISK_WRITE) {
        off_t place = lseek(call->fd, 0, SEEK_CUR);
        offset = place < 0 ? 0 : (uint64_t)place;
        if (failed || (killed && hooks.kill_when == HOOK_HALF)) {
            /* A write that fails, or is killed, leaves half of itself, as a full disk does. */
            call->n = whole / 2;
        }
    }
    if (!failed || (call->op == DISK_WRITE && call->n > 0)) {
        errnum = disk_perform(call);
        if (errnum == 0 && log_fd >= 0) {
            log_call(log_fd, call, offset);
        }
    }
    if (killed && hooks.kill_when != HOOK_BEFORE) {
        kill(getpid(), SIGKILL);
    }
    if (log_fd >= 0) {
        close(log_fd);
    }
    call->n = whole;
    return failed ? hooks.fail_errnum : errnum;
}

#endif
