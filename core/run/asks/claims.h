/* Whose an ask is, among the processes of a run: what one of them has on its way no other one
 * sends. They tell each other in a log, RUN/claims, to which one appends by creating its next file
 * if that is absent: all read the same entries in the same order, on every store, and nothing
 * depends on lists or clocks. An entry says who wrote it and what it asks from now on, many asks at
 * once; who is the only one that lives says just that (alone), and then nothing more until another
 * one writes, so that a run of one process costs one entry.
 *
 * Nothing is right because of it: the journal of answers is, and what was claimed is looked up
 * there once more before it is sent. A holder that died (store/member.h) holds nothing; one that
 * was only slow asks a second time what was taken from it. When a log is long, what is open is
 * summed up and the next log begins; the files of the one before go.
 *
 *   RUN/claims/000001.000001   generation, number
 *   RUN/claims/000001.sum      what was open when that generation ended
 *
 * One thread at a time. Depends on journal and store/member.h. */
#ifndef SLUICE_RUN_CLAIMS_H
#define SLUICE_RUN_CLAIMS_H

#include "run/asks/journal.h"
#include "store/member.h"

struct claims;

enum claim {
    CLAIM_LATER,  /* another one has yet to say what it asks: come back */
    CLAIM_OURS,   /* to be asked by this process, if the journal does not know it by now */
    CLAIM_ANOTHER /* another one that lives asks it */
};

struct claim_wish {
    struct hash128 key;
    bool anyhow; /* whoever has it: it was waited for long enough */
    enum claim claim;
};

/* journal, member: borrowed until claims_close; what others that are met here write is expected in
 * the journal. Nothing is written. Gives. */
sluice_status claims_open(const char *folder, struct journal *, struct member *,
                          struct claims **out, struct sluice_error *) MUST_USE;
/* Says that this process asks nothing more, if it ever said anything; NULL is fine. */
void claims_close(struct claims *);

/* Takes in what others wrote since. */
sluice_status claims_look(struct claims *, struct sluice_error *) MUST_USE;
/* Whether this process need not say what it asks. */
bool claims_alone(const struct claims *);
/* Whether it must, for another one has come: claims_share. */
bool claims_crowded(const struct claims *);
/* Says what it asks at present, n of them: it is not alone any more. */
sluice_status claims_share(struct claims *, const struct hash128 *keys, size_t n,
                           struct sluice_error *) MUST_USE;
/* Claims what no other one has. Where this process is alone then, all is ours. *wrote: the journal
 * is to be looked at before anything is sent. */
sluice_status claims_take(struct claims *, struct claim_wish *wishes, size_t n, bool *wrote,
                          struct sluice_error *) MUST_USE;
/* Says of what it had claimed that it does not ask it, and that there is no answer. */
sluice_status claims_give(struct claims *, const struct hash128 *keys, size_t n,
                          struct sluice_error *) MUST_USE;
/* Whether another one that lives has it, as far as was looked. */
bool claims_held(const struct claims *, struct hash128 key);

#endif
