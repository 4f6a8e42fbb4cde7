/* Who has claimed which ask: a table of keys. Depends on base. */
#ifndef SLUICE_RUN_CLAIM_TABLE_H
#define SLUICE_RUN_CLAIM_TABLE_H

#include "base/hash.h"

#define CLAIM_NOBODY UINT32_MAX

struct claim_place {
    struct hash128 key; /* zero = free */
    uint32_t holder;
};

struct claim_table {
    struct claim_place *places; /* open addressing, a power of two */
    size_t n, capacity;
    /* Whether a claim is over, for there is an answer: asked when the table is full. */
    bool (*over)(void *ctx, struct hash128 key);
    void *ctx;
};

/* false: out of memory. */
bool claim_put(struct claim_table *, struct hash128 key, uint32_t holder);
/* CLAIM_NOBODY: nobody. */
uint32_t claim_holder(const struct claim_table *, struct hash128 key);
void claim_table_deinit(struct claim_table *);

#endif
