/* table.h - all records of a corpus, kept in a nameless file so that memory holds 32 bytes of each,
 * and read back group by group.
 *
 * Depends on stats.h. Order of what is added does not matter: table_finish sorts. */
#ifndef STATS_TABLE_H
#define STATS_TABLE_H

#include "stats.h"

#define TABLE_KINDS 40

struct table_entry {
    uint64_t at; /* in the file: the name, then the moments */
    uint64_t n;  /* documents */
    uint32_t name_size, moments_size;
    uint16_t kind, stat; /* of table->kinds; of names, or 0 */
};

/* One group, as it lies in the file; borrowed until table_close. */
struct table_group {
    const char *name;
    size_t name_size;
    const char *moments;
    size_t moments_size;
};

struct table {
    const struct stats_names *names; /* borrowed */
    int file;                        /* -1: none yet */
    uint64_t size;
    struct sluice_bytes waiting; /* not yet written */
    struct table_entry *entries;
    uint64_t n, capacity;
    char *kinds[TABLE_KINDS]; /* owned; [0] "summary", [1] "histogram" */
    uint16_t n_kinds;
    const char *map; /* of the file, from table_finish on */
};

/* Zeroes and fills a table whose file is made in dir. */
sluice_status table_open(struct table *table, const struct stats_names *names, const char *dir,
                         struct sluice_error *err);
void table_close(struct table *table);

/* Adds a record; texts are copied. *bad: it is none, and nothing was added. */
sluice_status table_add(struct table *table, const char *const text[4], const size_t n[4],
                        bool *bad, struct sluice_error *err);

/* Sorts: kinds as they are in kinds[], which become sorted by name behind the first two; bins by
 * statistic and value, other groups by documents (the most first), then name, of which only the
 * first top_k of a kind stay. */
sluice_status table_finish(struct table *table, uint64_t top_k, struct sluice_error *err);

/* The entries of a kind (of a histogram: of a statistic, too): [*first, *end). */
void table_range(const struct table *table, int kind, int stat, uint64_t *first, uint64_t *end);

/* The k-th entry as a group. */
struct table_group table_group(const struct table *table, uint64_t k);

/* The i-th moments of a group. The caller deinits them. SLUICE_E_DATA, SLUICE_E_NOMEM. */
sluice_status table_moments(struct table_group group, int i, struct moments *out,
                            struct sluice_error *err);

#endif
