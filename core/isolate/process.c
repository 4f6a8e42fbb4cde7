/* Child processes from the parent's side: see process.h. */
#include "isolate/process.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "isolate/processInt.h"
#include "isolate/spawn.h"
#include "store/disk.h"

#define FDS_ABOVE 10     /* where descriptors lie that are put into a child's table */
#define PATIENCE_MS 2000 /* for a child that hung up to end */

/* ---- scratch ---- */

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)where;
    /* What can't be removed stays: the folder around it is the run's to wipe. */
    (void)(kind == FTW_DP || kind == FTW_DNR ? disk_rmdir(path) : disk_unlink(path));
    return 0;
}

static sluice_status make_scratch(struct process *process, const char *scratch,
                                  struct sluice_error *err)
{
    static _Atomic uint64_t serial;

    if (scratch == NULL) {
        return SLUICE_OK;
    }
    TRY(disk_mkdirs_absent(scratch, false, err));
    process->scratch = str_printf("%s/child-%ld-%llu", scratch, (long)getpid(),
                                  (unsigned long long)atomic_fetch_add(&serial, 1));
    if (process->scratch == NULL) {
        return error_nomem(err, "a child process");
    }
    if (disk_mkdir(process->scratch) != 0) {
        int errnum = errno;
        sluice_status status = error_errno(
            err, errnum, "cannot make the folder %s for a child process", process->scratch);
        free(process->scratch);
        process->scratch = NULL;
        return status;
    }
    return SLUICE_OK;
}

/* ---- starting ---- */

/* Moves a descriptor (taken) out of the way of 0 to 4; -1 = failed. */
static int move_up(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, FDS_ABOVE);

    close(fd);
    return moved;
}

/* fds: the child's ends of standard error, main channel, services. */
static sluice_status open_lines(struct process *process, int *fds, struct sluice_error *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return error_errno(err, errno, "cannot make a pipe for a child process");
    }
    process->complaints = ends[0];
    fds[0] = move_up(ends[1]);
    TRY(channel_pair(ends, err));
    process->main.fd = ends[0];
    fds[1] = move_up(ends[1]);
    TRY(channel_pair(ends, err));
    process->service = ends[0];
    fds[2] = move_up(ends[1]);
    if (fds[0] < 0 || fds[1] < 0 || fds[2] < 0) {
        return error_errno(err, EMFILE, "cannot make the lines to a child process");
    }
    TRY(area_create(&process->status, sizeof(struct status_page), AREA_PARENT_WRITES, err));
    TRY(area_create(&process->blame, sizeof(struct blame_page), AREA_CHILD_WRITES, err));
    return area_create(&process->main.reply, 0, AREA_CHILD_WRITES, err);
}

sluice_status process_start(struct spawner *spawner, const char *scratch,
                            const struct process_host *host, struct process **out,
                            struct sluice_error *err)
{
    struct process *process = calloc(1, sizeof *process);
    int fds[SPAWN_FDS] = { -1, -1, -1 };
    sluice_status status;

    *out = NULL;
    if (process == NULL) {
        return error_nomem(err, "a child process");
    }
    atomic_init(&process->refs, 1);
    process->host = *host;
    process->pid = -1;
    process->service = process->complaints = -1;
    process->main = (struct channel)CHANNEL_INIT;
    process->status = (struct area)AREA_INIT;
    process->blame = (struct area)AREA_INIT;
    pthread_mutex_init(&process->lock, NULL);
    pthread_mutex_init(&process->serving, NULL);
    status = make_scratch(process, scratch, err);
    if (status == SLUICE_OK) {
        status = open_lines(process, fds, err);
    }
    if (status == SLUICE_OK) {
        status = spawner_start(spawner, fds, &process->pid, err);
    }
    /* These ends are the child's now. One that stayed open here would hide its death: a line
     * ends when its last holder is gone. */
    for (int k = 0; k < SPAWN_FDS; k++) {
        if (fds[k] >= 0) {
            close(fds[k]);
        }
    }
    if (status != SLUICE_OK) {
        process->pid = -1;
        process_unref(process);
        return status;
    }
    *out = process;
    return SLUICE_OK;
}

struct process *process_ref(struct process *process)
{
    atomic_fetch_add_explicit(&process->refs, 1, memory_order_relaxed);
    return process;
}

void process_unref(struct process *process)
{
    if (process == NULL ||
        atomic_fetch_sub_explicit(&process->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (process->pid > 0 && !process->over) {
        kill(process->pid, SIGKILL);
        while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    channel_close(&process->main);
    area_close(&process->status);
    area_close(&process->blame);
    if (process->service >= 0) {
        close(process->service);
    }
    if (process->complaints >= 0) {
        close(process->complaints);
    }
    if (process->scratch != NULL) {
        nftw(process->scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    }
    free(process->scratch);
    pthread_mutex_destroy(&process->lock);
    pthread_mutex_destroy(&process->serving);
    free(process);
}

struct channel *process_main(struct process *process)
{
    return &process->main;
}

const char *process_scratch(const struct process *process)
{
    return process->scratch;
}

/* ---- ending ---- */

/* Under the lock: keeps the end of what the child wrote to its standard error. */
static void read_complaints(struct process *process)
{
    char piece[512];
    ssize_t n;

    /* More than a pipe holds: a child that never stops complaining is not waited for. */
    for (int k = 0; k < 256 && (n = read(process->complaints, piece, sizeof piece)) > 0; k++) {
        size_t room = sizeof process->words;
        size_t got = (size_t)n;
        size_t kept = process->n_words + got > room ? room - got : process->n_words;
        memmove(process->words, process->words + (process->n_words - kept), kept);
        memcpy(process->words + kept, piece, got);
        process->n_words = kept + got;
    }
}

/* The last line of them that is not blank, cleaned; "" = none. */
static void last_words(const struct process *process, char *out, size_t size)
{
    size_t end = process->n_words;
    size_t begin;
    size_t n;

    while (end > 0 && strchr(" \n\r\t", process->words[end - 1]) != NULL) {
        end--;
    }
    begin = end;
    while (begin > 0 && process->words[begin - 1] != '\n') {
        begin--;
    }
    n = end - begin < size ? end - begin : size - 1;
    if (n > 0) {
        memcpy(out, process->words + begin, n);
    }
    out[n] = '\0';
    n = strlen(out); /* what follows a NUL is left out */
    utf8_clean(out);
}

/* Waits for the child to end by itself; false = it did not. */
static bool wait_for(pid_t pid, int *status)
{
    const struct timespec pause = { .tv_nsec = 1000000 };

    for (int k = 0; k < PATIENCE_MS; k++) {
        pid_t ended = waitpid(pid, status, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR)) {
            return true;
        }
        nanosleep(&pause, NULL);
    }
    return false;
}

static void kill_and_wait(pid_t pid, int *status)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR) {
    }
}

static void describe(int status, char *text, size_t n)
{
    if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        if (name != NULL) {
            snprintf(text, n, "SIG%s", name);
        } else {
            snprintf(text, n, "signal %d", WTERMSIG(status));
        }
    } else {
        snprintf(text, n, "exit status %d", WEXITSTATUS(status));
    }
}

/* Under the lock. */
static void note_death(struct process *process, const char *how)
{
    int status = 0;

    if (how != NULL) {
        kill_and_wait(process->pid, &status);
        snprintf(process->how, sizeof process->how, "%s", how);
    } else if (wait_for(process->pid, &status)) {
        describe(status, process->how, sizeof process->how);
        process->killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    } else {
        kill_and_wait(process->pid, &status);
        snprintf(process->how, sizeof process->how, "it hung up");
    }
    process->over = process->dead = true;
    read_complaints(process);
    last_words(process, process->last, sizeof process->last);
}

void process_kill(struct process *process, const char *how)
{
    bool first;
    char text[sizeof process->how];
    char words[sizeof process->last];

    pthread_mutex_lock(&process->lock);
    first = !process->over;
    if (first) {
        note_death(process, how);
    }
    snprintf(text, sizeof text, "%s", process->how);
    snprintf(words, sizeof words, "%s", process->last);
    pthread_mutex_unlock(&process->lock);
    if (first && process->host.died != NULL) {
        process->host.died(process->host.ctx, text, words);
    }
}

void process_ended(struct process *process)
{
    int status;

    pthread_mutex_lock(&process->lock);
    if (!process->over) {
        if (!wait_for(process->pid, &status)) {
            kill_and_wait(process->pid, &status);
        }
        process->over = true;
    }
    pthread_mutex_unlock(&process->lock);
}

uint64_t process_culprit(struct process *process)
{
    const struct blame_page *page = (const struct blame_page *)(void *)process->blame.data;
    uint64_t serial;

    pthread_mutex_lock(&process->lock);
    serial = process->late;
    pthread_mutex_unlock(&process->lock);
    return serial != 0 ? serial : atomic_load(&page->serial);
}

bool process_dead(struct process *process)
{
    bool dead;

    pthread_mutex_lock(&process->lock);
    dead = process->dead;
    pthread_mutex_unlock(&process->lock);
    return dead;
}

bool process_killed(struct process *process)
{
    bool killed;

    pthread_mutex_lock(&process->lock);
    killed = process->killed;
    pthread_mutex_unlock(&process->lock);
    return killed;
}

void process_how(struct process *process, bool words, char *text, size_t n)
{
    pthread_mutex_lock(&process->lock);
    snprintf(text, n, "%s%s%s", process->how,
             words && process->last[0] != '\0' ? "; its last words: " : "",
             words ? process->last : "");
    pthread_mutex_unlock(&process->lock);
}

/* ---- channels ---- */

static bool send_page(struct process *process, struct area *area, enum channel_area which)
{
    struct packet packet = { .op = OP_AREA, .size = area->size, .arg = which };

    if (!channel_send(process->main.fd, &packet, NULL, 0, area->fd, true)) {
        return false;
    }
    close(area->fd);
    area->fd = -1;
    return true;
}

bool process_send_pages(struct process *process)
{
    return send_page(process, &process->status, AREA_STATUS) &&
           send_page(process, &process->blame, AREA_BLAME);
}

sluice_status process_reserve(struct channel *channel, size_t bytes, struct sluice_error *err)
{
    size_t size = 1 << 16;

    /* One huge batch does not keep its memory for good. */
    if (bytes <= channel->request.size &&
        (channel->request.size <= AREA_KEPT || bytes > channel->request.size / 8)) {
        return SLUICE_OK;
    }
    while (size < bytes && size <= SIZE_MAX / 4) {
        size *= 2;
    }
    return area_create(&channel->request, size, AREA_PARENT_WRITES, err);
}

sluice_status process_channel(struct process *process, struct channel *out,
                              struct sluice_error *err)
{
    uint64_t serial = atomic_fetch_add(&process->serials, 1) + 1;
    const struct packet packet = { .op = OP_WORKER, .arg = (int64_t)serial };
    int ends[2];

    *out = (struct channel)CHANNEL_INIT;
    out->serial = serial;
    TRY(channel_pair(ends, err));
    out->fd = ends[0];
    /* A child that is gone is noticed by the first call. */
    (void)channel_send(process->main.fd, &packet, NULL, 0, ends[1], true);
    close(ends[1]);
    return area_create(&out->reply, 0, AREA_CHILD_WRITES, err);
}

void process_drain(struct process *process)
{
    if (pthread_mutex_trylock(&process->lock) == 0) {
        read_complaints(process);
        pthread_mutex_unlock(&process->lock);
    }
}
