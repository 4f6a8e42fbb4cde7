/* sluice stop: an order to all who work on a run (run/work/stop.h). Those of this machine are
 * told at once, by a signal; others see it with their next heartbeat. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/look/look.h"
#include "run/work/crew.h"
#include "run/work/stop.h"

static const struct arg_spec stop_specs[] = {
    { "--now", NULL, "give up what is in hand, too" },
    { "--wait", "SECONDS", "until all have ended; still there after so long: status 5" },
    { "--undo", NULL, "take the order back, so that `sluice work` may go on" },
    { "--json", NULL, "one JSON object" },
};

/* Those that can't be seen to be dead. */
static sluice_status list_workers(const char *dir, struct member_file **list, size_t *n,
                                  struct sluice_error *err)
{
    char *workers = store_join(dir, "workers");
    sluice_status status =
        workers == NULL ? error_nomem(err, "a path") : member_files(workers, list, n, err);

    free(workers);
    return status;
}

/* How many of them were told at once. */
static size_t tell(const struct member_file *list, size_t n, bool now)
{
    struct owner self;
    size_t told = 0;

    owner_self(&self);
    for (size_t i = 0; i < n; i++) {
        const struct owner *owner = &list[i].holder.owner;
        if (strcmp(list[i].kind, "gc") != 0 && owner_look(owner, &self) == OWNER_LIVES) {
            told += kill(owner->pid, now ? SIGTERM : SIGUSR1) == 0;
        }
    }
    return told;
}

static sluice_status wait_for(const char *dir, uint64_t seconds, size_t *left,
                              struct sluice_error *err)
{
    static const struct timespec pause = { 0, 100000000 };
    uint64_t until = member_clock() + seconds * UINT64_C(1000000000);

    do {
        struct member_file *list = NULL;
        TRY(list_workers(dir, &list, left, err));
        free(list);
        if (*left > 0) {
            nanosleep(&pause, NULL);
        }
    } while (*left > 0 && member_clock() < until);
    return SLUICE_OK;
}

static sluice_status give_order(const char *dir, const struct args *args, bool json,
                                struct sluice_error *err)
{
    bool now = args_get(args, "--now") != NULL;
    const char *wait = args_get(args, "--wait");
    struct member_file *list = NULL;
    uint64_t seconds = 0;
    size_t n = 0;
    size_t left = 0;
    size_t told;
    char host[64];
    char by[256];

    if (wait != NULL) {
        TRY(args_word_number(wait, "--wait", 86400u * 365u, &seconds, err));
    }
    owner_host(host, sizeof host);
    snprintf(by, sizeof by, "`sluice stop` on %s", host);
    TRY(stop_give(dir, now, by, err));
    TRY(list_workers(dir, &list, &n, err));
    told = tell(list, n, now);
    free(list);
    if (wait != NULL) {
        TRY(wait_for(dir, seconds, &left, err));
    }
    if (json) {
        say("{\"event\":\"stop\",\"processes\":%zu,\"told\":%zu,\"left\":%zu}\n", n, told,
            wait != NULL ? left : n);
    } else if (n == 0) {
        say("nobody works on it; `sluice work` will not until `sluice run` or `sluice stop "
            "--undo`\n");
    } else {
        say("%zu process%s told to stop%s\n", n, n == 1 ? " is" : "es are",
            told < n ? ", those elsewhere within a heartbeat (15 s)" : "");
    }
    return wait != NULL && left > 0
               ? error_set(err, SLUICE_E_IO, "%zu process%s still at work after %llu s", left,
                           left == 1 ? " is" : "es are", (unsigned long long)seconds)
               : SLUICE_OK;
}

int cmd_stop(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice stop RUN [--now] [--wait SECONDS]",
        .text =
            "Stops all processes that work on a run, on whatever host: they take no more tasks, "
            "finish what they have in\nhand (within SLUICE_DRAIN seconds, 90 if that is not "
            "set) and end with 130. The order stays: `sluice work`\nis refused until the next "
            "`sluice run`.",
        .specs = stop_specs,
        .n_specs = sizeof stop_specs / sizeof stop_specs[0],
        .least = 1,
        .most = 1,
    };
    struct args args;
    struct sluice_error err = ERROR_INIT;
    sluice_status status = SLUICE_OK;
    bool json;
    char *dir;
    int ended = command_args(&command, argc, argv, &args);

    if (ended >= 0) {
        return ended;
    }
    json = args_get(&args, "--json") != NULL;
    dir = session_run_dir(args.words[0]);
    if (dir == NULL) {
        status = error_nomem(&err, "a path");
    } else if (!look_is_run(args.words[0])) {
        status = error_set(&err, SLUICE_E_CONFIG,
                           "no run in %s: plan.json is not there; give a run directory or the name "
                           "of a pipeline that ran here",
                           dir);
    } else if (args_get(&args, "--undo") != NULL) {
        status = stop_undo(dir, &err);
    } else {
        status = give_order(dir, &args, json, &err);
    }
    free(dir);
    return status == SLUICE_OK ? 0 : session_fail(&err, json);
}
