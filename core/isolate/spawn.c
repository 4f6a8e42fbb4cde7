/* The thread that starts child processes: see process.h. A child is this program once more, with
 * an empty table of descriptors and few variables of the environment: nothing that a plugin
 * could take along. */
#include "isolate/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isolate/process.h"

extern char **environ;

struct spawner {
    char *exe;
    char **environment; /* its strings are environ's */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t asked, done;
    const int *fds; /* of the request that waits: SPAWN_FDS of them */
    pid_t pid;
    int errnum;
    bool waiting, answered, stop;
};

/* What a child may know: where libraries and devices are, how much they may use, how to reach
 * the network if it is granted one. */
static const char *const kept[] = { "PATH=",
                                    "LD_LIBRARY_PATH=",
                                    "LANG=",
                                    "LC_",
                                    "TZ=",
                                    "OMP_",
                                    "MKL_",
                                    "OPENBLAS_",
                                    "CUDA_",
                                    "NVIDIA_",
                                    "HIP_",
                                    "ROCR_",
                                    "ASAN_OPTIONS=",
                                    "TSAN_OPTIONS=",
                                    "UBSAN_OPTIONS=",
                                    "http_proxy=",
                                    "https_proxy=",
                                    "no_proxy=",
                                    "HTTP_PROXY=",
                                    "HTTPS_PROXY=",
                                    "NO_PROXY=",
                                    "SLUICE_PLUGIN_PATH=" };

static char **make_environment(void)
{
    size_t n = 0;
    size_t used = 0;
    char **list;

    while (environ[n] != NULL) {
        n++;
    }
    list = calloc(n + 1, sizeof *list);
    for (size_t k = 0; list != NULL && k < n; k++) {
        for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
            if (strncmp(environ[k], kept[i], strlen(kept[i])) == 0) {
                list[used++] = environ[k];
                break;
            }
        }
    }
    return list;
}

/* Places 0 and 1 are /dev/null, 2 to 4 the descriptors given (all above 4), the rest closed. */
static int file_actions(posix_spawn_file_actions_t *actions, const int *fds)
{
    int failed = 0;

    for (int k = 0; k < SPAWN_FDS && failed == 0; k++) {
        failed = posix_spawn_file_actions_adddup2(actions, fds[k], 2 + k);
    }
    for (int k = 0; k < 2 && failed == 0; k++) {
        failed = posix_spawn_file_actions_addopen(actions, k, "/dev/null",
                                                  k == 0 ? O_RDONLY : O_WRONLY, 0);
    }
    return failed != 0 ? failed : posix_spawn_file_actions_addclosefrom_np(actions, 2 + SPAWN_FDS);
}

static int spawn(const struct spawner *spawner, const int *fds, pid_t *pid)
{
    char *const argv[] = { (char *)"sluice", (char *)"__isolate", NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;
    int failed = posix_spawn_file_actions_init(&actions);

    if (failed != 0) {
        return failed;
    }
    failed = posix_spawnattr_init(&attributes);
    if (failed != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return failed;
    }
    sigemptyset(&none);
    sigfillset(&all);
    failed = file_actions(&actions, fds);
    if (failed == 0) {
        /* A session of its own has no terminal, and an interrupt typed there is the parent's to
         * handle. */
        failed = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                           POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
    }
    if (failed == 0) {
        failed = posix_spawn(pid, spawner->exe, &actions, &attributes, argv, spawner->environment);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static void *spawner_main(void *ctx)
{
    struct spawner *spawner = ctx;

    pthread_mutex_lock(&spawner->lock);
    for (;;) {
        while (!spawner->stop && (!spawner->waiting || spawner->answered)) {
            pthread_cond_wait(&spawner->asked, &spawner->lock);
        }
        if (spawner->stop) {
            break;
        }
        spawner->errnum = spawn(spawner, spawner->fds, &spawner->pid);
        spawner->answered = true;
        pthread_cond_broadcast(&spawner->done);
    }
    pthread_mutex_unlock(&spawner->lock);
    return NULL;
}

sluice_status spawner_start(struct spawner *spawner, const int *fds, pid_t *pid,
                            struct sluice_error *err)
{
    int errnum;

    pthread_mutex_lock(&spawner->lock);
    while (spawner->waiting) {
        pthread_cond_wait(&spawner->done, &spawner->lock);
    }
    spawner->waiting = true;
    spawner->answered = false;
    spawner->fds = fds;
    pthread_cond_signal(&spawner->asked);
    while (!spawner->answered) {
        pthread_cond_wait(&spawner->done, &spawner->lock);
    }
    errnum = spawner->errnum;
    *pid = spawner->pid;
    spawner->waiting = false;
    spawner->answered = false;
    pthread_cond_broadcast(&spawner->done);
    pthread_mutex_unlock(&spawner->lock);
    return errnum == 0
               ? SLUICE_OK
               : error_errno(err, errnum, "cannot start a child process (%s)", spawner->exe);
}

static void spawner_free(struct spawner *spawner)
{
    pthread_cond_destroy(&spawner->asked);
    pthread_cond_destroy(&spawner->done);
    pthread_mutex_destroy(&spawner->lock);
    free(spawner->environment);
    free(spawner->exe);
    free(spawner);
}

sluice_status spawner_create(const char *exe, struct spawner **out, struct sluice_error *err)
{
    struct spawner *spawner = calloc(1, sizeof *spawner);
    int errnum;

    *out = NULL;
    if (spawner == NULL) {
        return error_nomem(err, "child processes");
    }
    exe = exe != NULL ? exe : "/proc/self/exe";
    spawner->exe = str_copy(exe, strlen(exe));
    spawner->environment = make_environment();
    pthread_mutex_init(&spawner->lock, NULL);
    pthread_cond_init(&spawner->asked, NULL);
    pthread_cond_init(&spawner->done, NULL);
    if (spawner->exe == NULL || spawner->environment == NULL) {
        spawner_free(spawner);
        return error_nomem(err, "child processes");
    }
    errnum = pthread_create(&spawner->thread, NULL, spawner_main, spawner);
    if (errnum != 0) {
        spawner_free(spawner);
        return error_errno(err, errnum, "cannot start the thread that starts child processes");
    }
    *out = spawner;
    return SLUICE_OK;
}

void spawner_destroy(struct spawner *spawner)
{
    if (spawner == NULL) {
        return;
    }
    pthread_mutex_lock(&spawner->lock);
    spawner->stop = true;
    pthread_cond_signal(&spawner->asked);
    pthread_mutex_unlock(&spawner->lock);
    pthread_join(spawner->thread, NULL);
    spawner_free(spawner);
}
