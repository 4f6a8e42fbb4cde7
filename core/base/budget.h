/* Memory budgets: an atomic count of bytes with a limit, chained to a parent (stage -> run).
 * Depends on base/error. Thread-safe. A budget only counts; budget_alloc and friends count and
 * allocate. */
#ifndef SLUICE_BASE_BUDGET_H
#define SLUICE_BASE_BUDGET_H

#include <stdatomic.h>

#include "base/error.h"

struct budget {
    struct budget *parent; /* borrowed or NULL */
    uint64_t limit;        /* bytes; UINT64_MAX = none */
    _Atomic uint64_t used;
    _Atomic uint64_t peak;
};

void budget_init(struct budget *, struct budget *parent, uint64_t limit);
uint64_t budget_used(struct budget *);
uint64_t budget_peak(struct budget *);

/* Counted malloc (16-byte aligned): NULL when the budget or the system has no more. A NULL budget
 * counts nothing. Free with the same budget; size 0 gives a unique pointer. */
void *budget_alloc(struct budget *, uint64_t n);
void *budget_realloc(struct budget *, void *memory,
                     uint64_t n);                /* NULL: the old block is untouched */
void budget_free(struct budget *, void *memory); /* NULL is fine */

#endif
