/* Asks of several processes: which of them this one may send (claims.h). In a run of one process
 * all of it is a look at a file that is not there, now and then. */
#include <stdlib.h>
#include <string.h>

#include "run/asks/asksInt.h"

#define TRIES 8u
#define TIMEOUT_NS (UINT64_C(600) * 1000000000)
#define PATIENCE_NS (UINT64_C(300) * 1000000000)
#define WISHES 4096u /* in one entry of the log */

struct wishes {
    struct claim_wish *list;
    size_t n, room;
};

/* ---- what others ask ---- */

static bool in_hand(const struct entry *entry)
{
    return entry->state == ENTRY_FLYING || entry->state == ENTRY_KEEPING ||
           (entry->state == ENTRY_QUEUED && (entry->tries > 0 || entry->claimed));
}

/* All that this process asks now; it counts as claimed. The lock is held. */
static sluice_status list_hand(struct asks *asks, struct hash128 **keys, size_t *n,
                               struct sluice_error *err)
{
    *n = 0;
    *keys = malloc((asks->n + 1) * sizeof **keys);
    if (*keys == NULL) {
        return error_nomem(err, "asks");
    }
    for (size_t i = 0; i < asks->map_capacity; i++) {
        for (struct entry *entry = asks->map[i]; entry != NULL; entry = entry->map_next) {
            if (in_hand(entry)) {
                entry->claimed = true;
                (*keys)[(*n)++] = entry->key;
            }
        }
    }
    return SLUICE_OK;
}

static sluice_status share(struct asks *asks, struct sluice_error *err)
{
    struct hash128 *keys;
    size_t n;
    sluice_status status;

    pthread_mutex_lock(&asks->mutex);
    status = list_hand(asks, &keys, &n, err);
    pthread_mutex_unlock(&asks->mutex);
    if (status == SLUICE_OK) {
        status = claims_share(asks->claims, keys, n, err);
    }
    free(keys);
    return status;
}

static sluice_status give(struct asks *asks, struct sluice_error *err)
{
    struct hash128 *keys;
    size_t n;
    sluice_status status;

    pthread_mutex_lock(&asks->mutex);
    keys = asks->given;
    n = asks->given_n;
    asks->given = NULL;
    asks->given_n = asks->given_room = 0;
    pthread_mutex_unlock(&asks->mutex);
    status = claims_give(asks->claims, keys, n, err);
    free(keys);
    return status;
}

sluice_status claiming_look(struct asks *asks, uint64_t now, struct sluice_error *err)
{
    if (asks->claims == NULL || now - asks->claims_ns < asks_look_ns(asks)) {
        return SLUICE_OK;
    }
    asks->claims_ns = now;
    TRY(claims_look(asks->claims, err));
    if (claims_crowded(asks->claims)) {
        TRY(share(asks, err));
    }
    return give(asks, err);
}

/* ---- what this process asks ---- */

bool claiming_allows(const struct asks *asks, const struct entry *entry)
{
    return asks->claims == NULL || entry->claimed || claims_alone(asks->claims);
}

/* How long it can take at most until an ask is answered or fails, as its policy says. */
static uint64_t patience(const struct ask_policy *policy)
{
    uint64_t tries = policy->tries > 0 ? policy->tries : TRIES;
    uint64_t timeout = policy->timeout_ns > 0 ? policy->timeout_ns : TIMEOUT_NS;
    uint64_t pause = policy->patience_ns > 0 ? policy->patience_ns : PATIENCE_NS;
    uint64_t each = timeout + pause + UINT64_C(1000000000);

    return tries < UINT64_MAX / each ? tries * each : UINT64_MAX;
}

static bool has_waited(const struct entry *entry, uint64_t now)
{
    return entry->since_ns != 0 && now - entry->since_ns > patience(&entry->policy);
}

bool claiming_awaits(const struct asks *asks, const struct entry *entry, uint64_t now)
{
    return claims_held(asks->claims, entry->key) && !has_waited(entry, now);
}

static bool wish(struct wishes *wishes, const struct entry *entry, uint64_t now)
{
    if (wishes->n == wishes->room) {
        size_t room = wishes->room == 0 ? 64 : 2 * wishes->room;
        struct claim_wish *more = realloc(wishes->list, room * sizeof *more);
        if (more == NULL) {
            return false;
        }
        wishes->list = more;
        wishes->room = room;
    }
    wishes->list[wishes->n++] =
        (struct claim_wish){ .key = entry->key, .anyhow = has_waited(entry, now) };
    return true;
}

/* If what may be sent now to a server is not all claimed: all that, and half as much again as may
 * be in flight, so that many asks share an entry of the log. The lock is held. */
static bool wish_for_host(const struct asks *asks, const struct host *host, uint64_t now,
                          struct wishes *wishes)
{
    uint32_t room = host->most > host->flying ? host->most - host->flying : 0;
    uint32_t ahead = room + (host->most + 1) / 2;
    uint32_t k = 0;
    bool lacks = false;

    for (const struct entry *e = host->first; e != NULL && k < room && !lacks; e = e->behind) {
        lacks = !e->claimed && !journal_knows(asks->journal, e->key);
        k++;
    }
    if (!lacks || host->free_ns > now) {
        return true;
    }
    k = 0;
    for (const struct entry *e = host->first; e != NULL && k < ahead && wishes->n < WISHES;
         e = e->behind) {
        if (!e->claimed && !journal_knows(asks->journal, e->key) && !wish(wishes, e, now)) {
            return false;
        }
        k++;
    }
    return true;
}

/* The lock is held. */
static void heed(struct asks *asks, const struct claim_wish *wish, uint64_t now)
{
    struct entry *entry = entry_find(asks, wish->key);

    if (entry == NULL && wish->claim == CLAIM_OURS && !claims_alone(asks->claims)) {
        struct entry gone = { .key = wish->key, .claimed = true }; /* nobody waits any more */
        entry_disclaim(asks, &gone);
    }
    if (entry == NULL || !entry->in_line || entry->state != ENTRY_QUEUED) {
        return;
    }
    if (wish->claim == CLAIM_OURS) {
        entry->claimed = !claims_alone(asks->claims);
    } else if (wish->claim == CLAIM_ANOTHER) {
        entry_leave_line(entry);
        entry->state = ENTRY_AWAITED;
        entry->since_ns = entry->since_ns != 0 ? entry->since_ns : now;
        entry->due = now + asks_look_ns(asks);
        entry_wait(asks, entry);
    }
}

sluice_status claiming_take(struct asks *asks, uint64_t now, bool *later, struct sluice_error *err)
{
    struct wishes wishes = { NULL, 0, 0 };
    bool wrote = false;
    sluice_status status = SLUICE_OK;

    *later = false;
    if (asks->claims == NULL || claims_alone(asks->claims)) {
        return SLUICE_OK;
    }
    pthread_mutex_lock(&asks->mutex);
    for (struct host *host = asks->hosts; host != NULL && status == SLUICE_OK; host = host->next) {
        if (!wish_for_host(asks, host, now, &wishes)) {
            status = error_nomem(err, "claims");
        }
    }
    pthread_mutex_unlock(&asks->mutex);
    if (status == SLUICE_OK && wishes.n > 0) {
        status = claims_take(asks->claims, wishes.list, wishes.n, &wrote, err);
    }
    if (status == SLUICE_OK && wrote) {
        /* Who had it may have been answered before it gave it up, or died. */
        status = journal_catch_up(asks->journal, err);
    }
    pthread_mutex_lock(&asks->mutex);
    for (size_t k = 0; k < wishes.n && status == SLUICE_OK; k++) {
        *later = *later || wishes.list[k].claim == CLAIM_LATER;
        heed(asks, &wishes.list[k], now);
    }
    pthread_mutex_unlock(&asks->mutex);
    free(wishes.list);
    return status;
}
