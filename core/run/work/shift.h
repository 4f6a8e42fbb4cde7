/* What this process has in hand of a phase. While no other process works on the run it has the
 * whole phase by one lease ("all") and a task costs no file; once there are others, it takes a
 * lease for each task in hand, gives the phase up, and takes task by task as all do. A task that
 * it has had for long gets a lease in any case, so that it is known at which task somebody died.
 *
 *   RUN/leases/HEX/all.1      HEX: of the plan and the phase
 *   RUN/leases/HEX/12.1       task 12 of the phase; HEX/0c/12.1 where there are many
 *   RUN/leases/HEX/12.twin.1  a second copy of it, of which there is one at most
 *   RUN/leases/HEX/12.won     one of the two has committed it
 *
 * Nothing of it stays when the phase is complete. Depends on crew. */
#ifndef SLUICE_RUN_SHIFT_H
#define SLUICE_RUN_SHIFT_H

#include "run/work/crew.h"
#include "base/hash.h"

struct shift;

struct shift_options {
    struct crew *crew;
    struct hash128 name; /* of the plan and the phase */
    uint32_t n_tasks;    /* of the phase */
    bool single;         /* it wants some of them, never the phase */
    uint32_t n_hands;    /* tasks at a time */
};

sluice_status shift_begin(const struct shift_options *, struct shift **out,
                          struct sluice_error *) MUST_USE;
/* complete: nothing of the phase is left to do. NULL is fine. */
void shift_end(struct shift *, bool complete);

/* Whether another process may work on the phase. */
bool shift_shared(struct shift *);

/* A task in hand; it belongs to the shift. */
struct hold;
/* Takes a task; *out NULL: another one has it, or it can't be told now: come back later. lost (may
 * be NULL): whom it was taken from, who died with it; lost->lost 0 = nobody; of one that was not
 * taken, who has it, if that is known (its id is not ""). Thread-safe. */
sluice_status shift_take(struct shift *, uint32_t task, struct hold **out, struct lease_found *lost,
                         struct sluice_error *) MUST_USE;
/* The same for a second copy of a task that another process has. */
sluice_status shift_twin(struct shift *, uint32_t task, struct hold **out,
                         struct sluice_error *) MUST_USE;
bool shift_is_twin(const struct hold *);
/* Whether somebody is at a second copy of a task. */
bool shift_has_twin(const struct shift *, uint32_t task);
/* Of a task of which there are two copies: one of them is committed. That it can't be said or
 * seen costs the other one's work. */
void shift_win(const struct shift *, uint32_t task);
void shift_unwin(const struct shift *, uint32_t task); /* that was wrong */
bool shift_won(const struct shift *, uint32_t task);
/* Gives it back; done: it will not be taken again. A twin in vain keeps its place: there is not
 * another one while this process is at the phase. */
void shift_give(struct shift *, struct hold *, bool done);
/* Whether it may have been taken by another one meanwhile: this process stood still too long. */
bool shift_doubtful(const struct shift *, const struct hold *);

/* A few times a second, on one thread. */
void shift_tick(struct shift *);

/* Waits until nobody who lives has anything in hand of the phase any more: all that they say of
 * their tasks is said then. Not longer than a few seconds. */
void shift_settle(struct shift *);

/* Removes the leases of the dead, of all phases. */
sluice_status shift_sweep(struct crew *, struct sluice_error *) MUST_USE;

#endif
