/* This process among those that work on a run: it joins with a file of its own in RUN/workers, its
 * heart beats while it is there (a thread), and it heeds RUN/stop. The lead of a run, which one
 * `run` or `gc` has at a time, is a lease. Depends on store. */
#ifndef SLUICE_RUN_CREW_H
#define SLUICE_RUN_CREW_H

#include "store/lease.h"

struct crew;

struct crew_events {
    void *ctx;
    /* Somebody stops the run (`sluice stop`): now, or when what is in hand is done. On the crew's
     * thread, with each beat. NULL = nobody cares. */
    void (*stop)(void *ctx, bool now);
    /* What it does at present: a JSON object as text; free(). NULL = nothing to say. */
    char *(*state)(void *ctx);
};

/* kind: "run", "work", "task", "gc". Gives. */
sluice_status crew_join(const char *run_dir, const char *kind, const struct crew_events *,
                        struct crew **out, struct sluice_error *) MUST_USE;
/* Gives up the lead if it has it, and leaves; NULL is fine. */
void crew_leave(struct crew *);

struct member *crew_member(const struct crew *);
const char *crew_leases(const struct crew *); /* the folder RUN/leases */

/* Takes the lead. Another one has it: SLUICE_E_IO with field "lock", and the message names it.
 * Where it can't be told yet whether that one lives, waits until it can. */
sluice_status crew_lead(struct crew *, const _Atomic int *stop, struct sluice_error *) MUST_USE;

/* Whether somebody leads the run, and who, in words, "" when that can't be told; holder may be
 * NULL. By one who has not joined: who can't be seen to be dead is believed to live. */
sluice_status crew_led(const char *run_dir, bool *led, char holder[256],
                       struct sluice_error *) MUST_USE;
/* The error of crew_lead for that. */
sluice_status crew_refuse(const char *run_dir, const char *holder, struct sluice_error *);

#endif
