/* groups.h - the moments of groups of documents in memory: a table from (kind, name) to an array of
 * moments, in the order in which groups were met.
 *
 * Depends on moments.h. The caller owns a table and deinits it; zeroed memory is an empty one. */
#ifndef STATS_GROUPS_H
#define STATS_GROUPS_H

#include "moments.h"

struct group {
    uint64_t hash;
    uint32_t kind, name_size;
    int n; /* moments */
    const char *name;
    struct moments moments[];
};

struct groups {
    struct group **list; /* in the order of groups_meet */
    uint32_t n, capacity;
    uint32_t *slots; /* index + 1 */
    uint32_t n_slots;
    uint64_t bytes; /* upper estimate of the memory that the groups take, whatever they hold */
};

/* The group of that kind and name, made with n empty moments when it is new; NULL: out of
 * memory. */
struct group *groups_meet(struct groups *groups, uint32_t kind, const void *name,
                          uint32_t name_size, int n);

/* Forgets all groups. */
void groups_deinit(struct groups *groups);

#endif
