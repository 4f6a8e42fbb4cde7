/* A batch in the making: columns are put in their places one by one, and the first failure sticks,
 * so that who puts them asks once, at the end. Depends on column. One thread. */
#ifndef SLUICE_DATA_DRAFT_H
#define SLUICE_DATA_DRAFT_H

#include "data/column.h"

struct draft {
    uint32_t n;
    struct column **columns; /* owned, as what is in it */
    sluice_status status;    /* the first failure */
};

/* A draft of n places, all without a column. Ends with draft_end or draft_end_like, whatever
 * failed. */
void draft_init(struct draft *, uint32_t n);
void draft_put(struct draft *, uint32_t k, struct column *);      /* takes; NULL = out of memory */
void draft_share(struct draft *, uint32_t k, struct column *);    /* a reference of its own */
void draft_move(struct draft *, uint32_t k, struct ArrowArray *); /* takes, as column_create */
/* For columns that are made by a function with a status: draft_place(d, k, make(…, &column, err),
 * &column). The column, which is taken, is not looked at where the status is a failure. */
void draft_place(struct draft *, uint32_t k, sluice_status, struct column **);
bool draft_ok(const struct draft *); /* false: what is put from now on is dropped */

/* The batch of length rows. Gives. Out of memory is said in err; for other failures err is as who
 * met them left it. */
sluice_status draft_end(struct draft *, int64_t length, struct batch **out,
                        struct sluice_error *) MUST_USE;
/* The same with the rows that `like` selects; like has the columns' length. */
sluice_status draft_end_like(struct draft *, const struct batch *like, struct batch **out,
                             struct sluice_error *) MUST_USE;

#endif
