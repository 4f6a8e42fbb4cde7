/* join - columns of a table at the rows that they belong to. The table is the side input; every
 * worker holds it whole (a broadcast join). */
#ifndef JOIN_H
#define JOIN_H

#include <text/text_layout.h>

/* ---- The table: keys and values, as bytes that layout_write gives ---- */

struct join_table {
    const struct sluice_host_api *api;
    struct sluice_host *host;
    char *rows;      /* owned, of the host: a uint32_t n, n bytes of a key, the values */
    uint64_t *slots; /* owned, of the host: 1 + where the row of a key begins; 0 = free */
    uint64_t size, capacity, n_rows, n_slots;
};

void join_table_init(struct join_table *, const struct sluice_host_api *, struct sluice_host *);
void join_table_deinit(struct join_table *);

/* The values that belong to a key, borrowed until the next row is added; NULL = there are none. */
const char *join_table_find(const struct join_table *, const void *key, uint64_t n);

/* Adds a row; *there instead where the key has one. SLUICE_E_NOMEM; SLUICE_E_DATA: the key is
 * 4 GiB or more. */
sluice_status join_table_add(struct join_table *, const void *key, uint64_t n, const void *values,
                             uint64_t n_values, bool *there);

#endif
