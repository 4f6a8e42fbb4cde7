/* Does a stage reach out of its process: does it write files, run programs, send signals,
 * talk to the network? The stage
 * runs on a thread whose system calls of that kind are held up by seccomp and told to this one,
 * which lets them through or refuses them. See kitInt.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "testkit/kitInt.h"
#include "run/pool.h"

struct outside {
    struct kit *kit;
    char scratch[PATH_MAX]; /* resolved */
    _Atomic int listener;   /* where the held calls come from; -1 = not yet, -2 = never */
    _Atomic int done;
    struct kit_outcome outcome;
    pthread_barrier_t start;
};

/* ---- which calls are held ---- */

enum kind { OPENS, CHANGES, RUNS, SIGNALS, CONNECTS };

struct held {
    int number;
    enum kind kind;
    int folder, path; /* arguments: -1 = the working directory, or none */
    const char *does; /* for people */
};

static const struct held calls[] = {
    { SCMP_SYS(open), OPENS, -1, 0, "writes to the file" },
    { SCMP_SYS(openat), OPENS, 0, 1, "writes to the file" },
    { SCMP_SYS(creat), CHANGES, -1, 0, "writes to the file" },
    { SCMP_SYS(truncate), CHANGES, -1, 0, "cuts the file" },
    { SCMP_SYS(unlink), CHANGES, -1, 0, "removes the file" },
    { SCMP_SYS(unlinkat), CHANGES, 0, 1, "removes the file" },
    { SCMP_SYS(rmdir), CHANGES, -1, 0, "removes the folder" },
    { SCMP_SYS(mkdir), CHANGES, -1, 0, "makes the folder" },
    { SCMP_SYS(mkdirat), CHANGES, 0, 1, "makes the folder" },
    { SCMP_SYS(rename), CHANGES, -1, 1, "renames a file to" },
    { SCMP_SYS(renameat), CHANGES, 2, 3, "renames a file to" },
    { SCMP_SYS(renameat2), CHANGES, 2, 3, "renames a file to" },
    { SCMP_SYS(link), CHANGES, -1, 1, "links" },
    { SCMP_SYS(linkat), CHANGES, 2, 3, "links" },
    { SCMP_SYS(symlink), CHANGES, -1, 1, "links" },
    { SCMP_SYS(symlinkat), CHANGES, 1, 2, "links" },
    { SCMP_SYS(chmod), CHANGES, -1, 0, "changes the mode of" },
    { SCMP_SYS(fchmodat), CHANGES, 0, 1, "changes the mode of" },
    { SCMP_SYS(execve), RUNS, -1, 0, "runs the program" },
    { SCMP_SYS(execveat), RUNS, 0, 1, "runs the program" },
    { SCMP_SYS(kill), SIGNALS, -1, -1, "sends a signal to the process" },
    { SCMP_SYS(tgkill), SIGNALS, -1, -1, "sends a signal to the process" },
    { SCMP_SYS(socket), CONNECTS, -1, -1, "opens a socket for the network" },
};

#define N_CALLS (sizeof calls / sizeof calls[0])

static int hold(scmp_filter_ctx filter)
{
    static const unsigned writing[] = { O_WRONLY, O_RDWR, O_CREAT, O_TRUNC };
    int failed = 0;

    for (size_t k = 0; k < N_CALLS && failed == 0; k++) {
        const struct held *call = &calls[k];
        if (call->kind == OPENS) {
            unsigned at = (unsigned)call->path + 1;
            for (size_t i = 0; i < sizeof writing / sizeof writing[0] && failed == 0; i++) {
                failed = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, call->number, 1,
                                          SCMP_CMP(at, SCMP_CMP_MASKED_EQ, writing[i], writing[i]));
            }
        } else if (call->kind == SIGNALS) {
            failed = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, call->number, 1,
                                      SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)getpid(), 0));
        } else if (call->kind == CONNECTS) {
            failed = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, call->number, 1,
                                      SCMP_A0(SCMP_CMP_EQ, AF_INET, 0));
            failed = failed != 0 ? failed
                                 : seccomp_rule_add(filter, SCMP_ACT_NOTIFY, call->number, 1,
                                                    SCMP_A0(SCMP_CMP_EQ, AF_INET6, 0));
        } else {
            failed = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, call->number, 0);
        }
        failed = failed == -EDOM || failed == -EFAULT ? 0 : failed; /* not on this machine */
    }
    return failed;
}

/* On the thread that is to be watched: gives the listener, or a negative number. */
static int watch_thread(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int failed = filter == NULL ? -ENOMEM : hold(filter);
    int listener = -1;

    if (failed == 0) {
        failed = seccomp_load(filter);
    }
    if (failed == 0) {
        listener = fcntl(seccomp_notify_fd(filter), F_DUPFD_CLOEXEC, 100);
    }
    if (filter != NULL) {
        seccomp_release(filter);
    }
    return listener;
}

/* ---- judging one ---- */

/* Another thread's text, which may be at an address where nothing is. */
static bool read_text(uint64_t address, char *text, size_t size)
{
    size_t n = 0;

    while (n + 1 < size) {
        struct iovec to = { .iov_base = text + n, .iov_len = 1 };
        struct iovec from = { .iov_base = (void *)(uintptr_t)(address + n), .iov_len = 1 };
        if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1) {
            return false;
        }
        if (text[n] == '\0') {
            return true;
        }
        n++;
    }
    text[n] = '\0';
    return true;
}

/* The folder in which a path lies, resolved; "" = there is none. */
static void resolve_folder(int folder, const char *path, char out[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    char text[2 * PATH_MAX];
    char at[64] = ".";

    if (path[0] != '/' && folder >= 0) {
        snprintf(at, sizeof at, "/proc/self/fd/%d", folder);
    }
    snprintf(text, sizeof text, "%s%s%.*s", path[0] == '/' ? "" : at, path[0] == '/' ? "" : "/",
             slash == NULL ? 0 : (int)(slash - path) + 1, path);
    if (realpath(text[0] == '\0' ? "/" : text, out) == NULL) {
        out[0] = '\0';
    }
}

static bool below(const char *folder, const char *root)
{
    size_t n = strlen(root);

    return strncmp(folder, root, n) == 0 && (folder[n] == '/' || folder[n] == '\0');
}

/* May the call go on? If not the check has failed. */
static bool allowed(struct outside *outside, const struct seccomp_data *data)
{
    const struct held *call = NULL;
    char path[PATH_MAX] = "";
    char folder[PATH_MAX];

    for (size_t k = 0; k < N_CALLS; k++) {
        call = calls[k].number == data->nr ? &calls[k] : call;
    }
    if (call == NULL) {
        return true;
    }
    if (call->kind == SIGNALS) {
        kit_fail(outside->kit, "it %s %d (the call was refused)", call->does, (int)data->args[0]);
        return false;
    }
    if (call->kind == CONNECTS) {
        kit_fail(outside->kit, "it %s (the call was refused); stages ask servers with emit->ask",
                 call->does);
        return false;
    }
    if (!read_text(data->args[call->path], path, sizeof path)) {
        return true; /* the kernel refuses it, too */
    }
    resolve_folder(call->folder < 0 ? -1 : (int)data->args[call->folder], path, folder);
    if (call->kind != RUNS &&
        (below(folder, outside->scratch) || strcmp(path, "/dev/null") == 0 || folder[0] == '\0')) {
        return true;
    }
    kit_fail(outside->kit, "it %s %.500s (the call was refused)%s", call->does, path,
             call->kind == RUNS ? "" : "; temporary files belong into the host's scratch_dir");
    return false;
}

static void answer(struct outside *outside, int listener)
{
    struct seccomp_notif *call = NULL;
    struct seccomp_notif_resp *reply = NULL;

    if (seccomp_notify_alloc(&call, &reply) != 0) {
        return;
    }
    memset(call, 0, sizeof *call);
    if (seccomp_notify_receive(listener, call) == 0) {
        bool goes = allowed(outside, &call->data);
        memset(reply, 0, sizeof *reply);
        reply->id = call->id;
        reply->error = goes ? 0 : -EPERM;
        reply->flags = goes ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
        (void)seccomp_notify_respond(listener, reply);
    }
    seccomp_notify_free(call, reply);
}

/* ---- the two threads ---- */

static void run_watched(struct outside *outside)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    int listener = watch_thread();

    atomic_store(&outside->listener, listener < 0 ? -2 : listener);
    if (listener >= 0) {
        if (kit_bench_need(outside->kit, &options, &bench)) {
            kit_what(outside->kit, "ordinary rows");
            kit_exercise(&bench, 30, KIT_ORDINARY, NULL, NULL, &outside->outcome);
        }
        kit_bench_close(&bench);
    }
    atomic_store(&outside->done, 1);
}

/* Until the thread is done, and what it left running has nothing to say for a moment. */
static void supervise(struct outside *outside)
{
    bool over = false;

    while (!over) {
        int listener = atomic_load(&outside->listener);
        bool done = atomic_load(&outside->done) != 0;
        struct pollfd event = { .fd = listener, .events = POLLIN };
        if (poll(&event, listener >= 0 ? 1 : 0, 20) > 0) {
            if ((event.revents & POLLIN) == 0) {
                return;
            }
            answer(outside, listener);
        } else {
            over = done;
        }
    }
}

/* Both wait for each other, so that each is on a thread of its own. */
static sluice_status one_side(void *ctx, void *state, uint32_t i, bool *taken,
                              struct sluice_error *err)
{
    struct outside *outside = ctx;

    (void)state;
    (void)taken;
    (void)err;
    pthread_barrier_wait(&outside->start);
    if (i == 0) {
        run_watched(outside);
    } else {
        supervise(outside);
    }
    return SLUICE_OK;
}

void check_outside(struct kit *kit)
{
    struct outside outside = { .kit = kit, .listener = -1 };
    const struct pool_job job = { .ctx = &outside, .n = 2, .n_threads = 2, .run = one_side };
    struct sluice_error err = ERROR_INIT;
    bool drained;

    if (realpath(kit->scratch, outside.scratch) == NULL) {
        kit_fail(kit, "the kit's own folder %s is not there", kit->scratch);
        return;
    }
    if (pthread_barrier_init(&outside.start, NULL, 2) != 0) {
        kit_fail(kit, "the kit can't start a thread");
        return;
    }
    kit_outcome_init(&outside.outcome);
    if (pool_run(&job, &drained, &err) != SLUICE_OK) {
        kit_fail(kit, "%s", err.message);
    } else if (atomic_load(&outside.listener) < 0) {
        kit_skip(kit, "this system does not let a process watch its own system calls");
    } else {
        close(atomic_load(&outside.listener));
    }
    kit_outcome_deinit(&outside.outcome);
    pthread_barrier_destroy(&outside.start);
}
