/* Leases: who has something in hand, among processes on any hosts, with nothing but files that
 * are created if they are absent and never written again. FOLDER/NAME.1 is the first holder's;
 * when that one is taken for dead (store/member.h), who creates NAME.2 has it, and so on: two
 * never win one name. A lease saves work, and nothing is right because of it: a holder that was
 * only slow works on, and a record put if absent decides. Depends on member and store.h. */
#ifndef SLUICE_STORE_LEASE_H
#define SLUICE_STORE_LEASE_H

#include "store/member.h"

struct lease;

/* What was found where a lease was asked for. */
struct lease_found {
    struct holder holder; /* who has it, or whose place was taken */
    uint32_t lost;        /* so many before were taken for dead; after taking it, epoch - 1 */
};

/* Never waits. *out NULL: another one has it, or another thread of this process. found may be NULL.
 * reason: a word for people. Thread-safe. Gives. */
sluice_status lease_take(struct member *, const char *folder, const char *name, const char *reason,
                         struct lease **out, struct lease_found *found,
                         struct sluice_error *) MUST_USE;
/* Gives it back and frees, unless another one took it meanwhile. whole: the files of those who died
 * with it go, too; else they stay, and are counted when it is taken again. NULL is fine. */
void lease_drop(struct lease *, bool whole);
/* Whether nobody can have taken it since: its holder was never taken for dead. */
bool lease_fresh(const struct lease *);

/* Waits, looking again and again, until it is taken. SLUICE_E_CANCELLED once *stop (may be NULL) is
 * not 0. Gives. */
sluice_status lease_wait(struct member *, const char *folder, const char *name,
                         const _Atomic int *stop, struct lease **out,
                         struct sluice_error *) MUST_USE;

/* Who has it, taking nothing. m NULL: whoever can't be seen to be dead is believed to live. */
sluice_status lease_look(struct member *m, const char *folder, const char *name, bool *held,
                         struct holder *, struct sluice_error *) MUST_USE;

#endif
