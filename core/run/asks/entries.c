/* Asks under way: found by their keys, in line at their servers, or waiting for a time. */
#include <stdlib.h>
#include <string.h>

#include "run/asks/asksInt.h"

#define IN_FLIGHT 64u

uint64_t asks_look_ns(const struct asks *asks)
{
    return journal_puts(asks->journal) ? ASKS_LOOK_FAR_NS : ASKS_LOOK_NS;
}

/* ---- by key ---- */

static struct entry **chain_of(struct entry **map, size_t capacity, struct hash128 key)
{
    return &map[(size_t)key.lo & (capacity - 1)];
}

struct entry *entry_find(const struct asks *asks, struct hash128 key)
{
    struct entry *entry =
        asks->map_capacity == 0 ? NULL : *chain_of(asks->map, asks->map_capacity, key);

    while (entry != NULL && !hash_equal(entry->key, key)) {
        entry = entry->map_next;
    }
    return entry;
}

static bool grow_map(struct asks *asks)
{
    size_t capacity = asks->map_capacity == 0 ? 64 : 2 * asks->map_capacity;
    struct entry **map = calloc(capacity, sizeof(struct entry *));

    if (map == NULL) {
        return false;
    }
    for (size_t i = 0; i < asks->map_capacity; i++) {
        while (asks->map[i] != NULL) {
            struct entry *entry = asks->map[i];
            struct entry **chain = chain_of(map, capacity, entry->key);
            asks->map[i] = entry->map_next;
            entry->map_next = *chain;
            *chain = entry;
        }
    }
    free(asks->map);
    asks->map = map;
    asks->map_capacity = capacity;
    return true;
}

/* Room for all entries, so that none can fail to be put there later. */
static bool grow_later(struct asks *asks)
{
    size_t capacity = asks->later_capacity == 0 ? 64 : 2 * asks->later_capacity;
    struct entry **later = realloc(asks->later, capacity * sizeof(struct entry *));

    if (later == NULL) {
        return false;
    }
    asks->later = later;
    asks->later_capacity = capacity;
    return true;
}

bool entry_enter(struct asks *asks, struct entry *entry)
{
    struct entry **chain;

    if ((asks->map_n == asks->map_capacity && !grow_map(asks)) ||
        (asks->n == asks->later_capacity && !grow_later(asks))) {
        return false;
    }
    chain = chain_of(asks->map, asks->map_capacity, entry->key);
    entry->map_next = *chain;
    *chain = entry;
    entry->in_map = true;
    asks->map_n++;
    asks->n++;
    return true;
}

void entry_hide(struct asks *asks, struct entry *entry)
{
    struct entry **at;

    if (!entry->in_map) {
        return;
    }
    at = chain_of(asks->map, asks->map_capacity, entry->key);
    while (*at != entry) {
        at = &(*at)->map_next;
    }
    *at = entry->map_next;
    entry->in_map = false;
    asks->map_n--;
}

struct host *host_find(struct asks *asks, const char *name)
{
    struct host *host = asks->hosts;

    while (host != NULL && strcmp(host->name, name) != 0) {
        host = host->next;
    }
    if (host == NULL) {
        host = calloc(1, sizeof *host);
        if (host == NULL || (host->name = str_copy(name, strlen(name))) == NULL) {
            free(host);
            return NULL;
        }
        host->most = UINT32_MAX;
        host->next = asks->hosts;
        asks->hosts = host;
    }
    return host;
}

void host_heed(struct host *host, const struct ask_policy *policy)
{
    uint32_t most = policy->in_flight > 0 ? policy->in_flight : IN_FLIGHT;

    host->most = host->most < most ? host->most : most;
}

/* ---- in line ---- */

void entry_line_up(struct entry *entry, bool first)
{
    struct host *host = entry->host;

    entry->before = first ? NULL : host->last;
    entry->behind = first ? host->first : NULL;
    *(entry->before == NULL ? &host->first : &entry->before->behind) = entry;
    *(entry->behind == NULL ? &host->last : &entry->behind->before) = entry;
    entry->in_line = true;
}

void entry_leave_line(struct entry *entry)
{
    struct host *host = entry->host;

    *(entry->before == NULL ? &host->first : &entry->before->behind) = entry->behind;
    *(entry->behind == NULL ? &host->last : &entry->behind->before) = entry->before;
    entry->in_line = false;
}

/* No more than an eighth of what may be in flight, so that a server which is slow with everything
 * is not asked everything twice. */
bool entry_hedge(struct entry *entry)
{
    struct host *host = entry->host;

    entry->hedging = host->hedging < (host->most + 7) / 8;
    host->hedging += entry->hedging;
    return entry->hedging;
}

/* ---- with a time ---- */

static void put_at(struct asks *asks, size_t at, struct entry *entry)
{
    asks->later[at] = entry;
    entry->later = at + 1;
}

static void sift(struct asks *asks, size_t at)
{
    struct entry *entry = asks->later[at];

    while (at > 0 && asks->later[(at - 1) / 2]->due > entry->due) {
        put_at(asks, at, asks->later[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < asks->later_n && asks->later[child + 1]->due < asks->later[child]->due) {
            child++;
        }
        if (child >= asks->later_n || asks->later[child]->due >= entry->due) {
            break;
        }
        put_at(asks, at, asks->later[child]);
        at = child;
    }
    put_at(asks, at, entry);
}

void entry_wait(struct asks *asks, struct entry *entry)
{
    put_at(asks, asks->later_n++, entry);
    sift(asks, asks->later_n - 1);
}

static void leave_later(struct asks *asks, struct entry *entry)
{
    size_t at = entry->later - 1;
    struct entry *last = asks->later[--asks->later_n];

    entry->later = 0;
    if (last != entry) {
        put_at(asks, at, last);
        sift(asks, at);
    }
}

struct entry *entry_due(struct asks *asks, uint64_t now, uint64_t *next)
{
    struct entry *entry = asks->later_n == 0 ? NULL : asks->later[0];

    if (entry != NULL && entry->due > now) {
        *next = entry->due < *next ? entry->due : *next;
        return NULL;
    }
    if (entry != NULL) {
        leave_later(asks, entry);
    }
    return entry;
}

void entry_rest(struct asks *asks, struct entry *entry)
{
    if (entry->in_line) {
        entry_leave_line(entry);
    }
    if (entry->later != 0) {
        leave_later(asks, entry);
    }
    if (entry->hedging) {
        entry->host->hedging--;
        entry->hedging = false;
    }
}

/* ---- the end ---- */

void entry_free(struct entry *entry)
{
    request_deinit(&entry->asked);
    request_deinit(&entry->hop);
    free(entry->answer.body);
    free(entry->why);
    free(entry);
}

void entry_disclaim(struct asks *asks, struct entry *entry)
{
    if (!entry->claimed) {
        return;
    }
    entry->claimed = false;
    if (asks->given_n == asks->given_room) {
        size_t room = asks->given_room == 0 ? 64 : 2 * asks->given_room;
        struct hash128 *more = realloc(asks->given, room * sizeof *more);
        if (more == NULL) {
            return; /* others wait for it until this process has left, or for as long as they may */
        }
        asks->given = more;
        asks->given_room = room;
    }
    asks->given[asks->given_n++] = entry->key;
}

void entry_remove(struct asks *asks, struct entry *entry)
{
    if (entry->state != ENTRY_DONE) {
        entry_disclaim(asks, entry);
    }
    entry_rest(asks, entry);
    entry_hide(asks, entry);
    asks->n--;
    entry_free(entry);
}
