/* Stages that end, block or change the process that they run in. */
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conform/bad.h"

#define MISCHIEF(NAME, SUMMARY, ...)                                                        \
    static sluice_status NAME##_process(void *state, const struct sluice_batch *batch,      \
                                        struct sluice_emit *emit, struct sluice_error *err) \
    {                                                                                       \
        if (bad_row(state, batch) >= 0) {                                                   \
            __VA_ARGS__;                                                                    \
        }                                                                                   \
        return bad_process(state, batch, emit, err);                                        \
    }                                                                                       \
    BAD_FILTER(NAME, SUMMARY, NAME##_process)

static volatile int forever = 1;

static void handler(int number)
{
    (void)number;
}

static void *sleeper(void *arg)
{
    (void)arg;
    while (forever) {
        sleep(1);
    }
    return NULL;
}

static void start_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, sleeper, NULL) == 0) {
        pthread_detach(thread);
    }
}

static void fork_child(void)
{
    pid_t child = fork();

    if (child == 0) {
        _exit(0);
    }
    if (child > 0) {
        waitpid(child, NULL, 0);
    }
}

static void block_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void use(int value)
{
    (void)value;
}

MISCHIEF(hangs, "Never returns", while (forever){});
MISCHIEF(exits, "Calls exit", exit(7));
MISCHIEF(aborts, "Calls abort", abort());
MISCHIEF(kills_itself, "Sends itself a signal", raise(SIGKILL));
MISCHIEF(forks, "Starts a process", fork_child());
MISCHIEF(changes_folder, "Calls chdir", use(chdir("/")));
MISCHIEF(handles_signals, "Installs a signal handler", signal(SIGUSR2, handler));
MISCHIEF(masks_signals, "Blocks a signal", block_signals());
MISCHIEF(sets_locale, "Calls setlocale", setlocale(LC_ALL, "C.UTF-8"));
MISCHIEF(sets_umask, "Calls umask", umask(0));
MISCHIEF(sets_environment, "Calls setenv", setenv("SLUICE_BAD", "1", 1));
MISCHIEF(rounds_otherwise, "Changes the rounding mode", fesetround(FE_UPWARD));
MISCHIEF(leaves_open, "Opens a file and forgets it", use(open("/dev/null", O_RDONLY)));
MISCHIEF(closes_others, "Closes a descriptor that is not its own", close(2));
MISCHIEF(opens_socket, "Opens a socket", use(socket(AF_INET, SOCK_STREAM, 0)));
MISCHIEF(leaves_thread, "Leaves a thread behind", start_thread());

BAD_PLUGIN("bad_process", &hangs_stage, &exits_stage, &aborts_stage, &kills_itself_stage,
           &forks_stage, &changes_folder_stage, &handles_signals_stage, &masks_signals_stage,
           &sets_locale_stage, &sets_umask_stage, &sets_environment_stage, &rounds_otherwise_stage,
           &leaves_open_stage, &closes_others_stage, &opens_socket_stage, &leaves_thread_stage)
