/* How long a server's answers took, the newest of them, and the time that a share of them took at
 * most. Depends on base. */
#ifndef SLUICE_RUN_LATENCIES_H
#define SLUICE_RUN_LATENCIES_H

#include "base/error.h"

struct latencies {
    uint64_t *newest; /* a ring */
    uint32_t n, next;
    uint32_t since; /* so many came since the quantile was found */
    double share;   /* of that; 0 = it is not known */
    uint64_t quantile;
};

/* That memory is short is as if it had not come. */
void latencies_add(struct latencies *, uint64_t ns);
/* The time that `share` of them (0.95) took at most. 0: too few came to tell, which is five beyond
 * it: a hundred for 0.95. */
uint64_t latencies_quantile(struct latencies *, double share);
void latencies_deinit(struct latencies *);

#endif
