/* What claims.c (who has what), claim_log.c (the files) and claim_says.c (one entry) share. */
#ifndef SLUICE_RUN_CLAIMS_INT_H
#define SLUICE_RUN_CLAIMS_INT_H

#include "run/asks/claim_table.h"
#include "run/asks/claims.h"

#define CLAIMS_KEY 32u /* digits of a key */

struct party {
    struct holder holder;
    bool left;
    bool lives; /* when it was looked at last */
};

struct claims {
    char *folder;
    struct journal *journal;
    struct member *member;
    struct party *parties; /* the first one is this process */
    uint32_t n_parties, room;
    struct claim_table table;
    uint32_t generation, number; /* of the next entry */
    uint32_t alone;              /* who is, or CLAIM_NOBODY */
    bool crowded;                /* it is this process, and another one came */
    bool spoke;                  /* this process wrote something */
    bool knocked;                /* and waits for who is alone, since knocked_ns */
    uint64_t knocked_ns;
    uint64_t serial; /* so that no two entries of a process have the same bytes */
};

/* ---- claim_says.c ---- */

/* Where a process is among those that wrote. */
sluice_status claims_party(struct claims *, const struct holder *, uint32_t *at,
                           struct sluice_error *) MUST_USE;

/* Takes in one line. What can't be read says nothing, and is nobody's. summed: it stands in a sum.
 * *closed is set where the generation ends with it. */
sluice_status claims_apply(struct claims *, const char *text, size_t n, bool summed, bool *closed,
                           struct sluice_error *) MUST_USE;
void claims_set_alone(struct claims *, uint32_t who);

/* ---- claim_log.c ---- */

/* Takes in all that stands in the log by now. */
sluice_status claims_catch_up(struct claims *, struct sluice_error *) MUST_USE;
/* Appends an entry that says what `says` does, in JSON, with a comma before; *made false: somebody
 * else wrote meanwhile, and nothing was done. */
sluice_status claims_append(struct claims *, const char *says, bool *made,
                            struct sluice_error *) MUST_USE;
/* The same, again and again until it stands. */
sluice_status claims_say(struct claims *, const char *says, struct sluice_error *) MUST_USE;
void claims_put_key(struct buf *, struct hash128 key);

#endif
