/* Asks of a run: see asks.h. Here are the calls of those who ask and wait; the thread that asks is
 * in flights.c. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run/asks/asksInt.h"

struct asking {
    struct asks *asks;
    uint32_t n;
    struct entry **entries;
    uint64_t *tags;
    uint32_t done;               /* so many of the first are done */
    size_t n_failed;             /* of all, when it was looked at last */
    struct sluice_answer *items; /* when done */
};

/* ---- life ---- */

sluice_status asks_create(const struct asks_options *options, struct asks **out,
                          struct sluice_error *err)
{
    struct asks *asks = calloc(1, sizeof *asks);
    sluice_status status;

    *out = NULL;
    if (asks == NULL) {
        return error_nomem(err, "asks");
    }
    asks->options = *options;
    pthread_mutex_init(&asks->mutex, NULL);
    pthread_cond_init(&asks->changed, NULL);
    status = journal_open(options->folder, options->warn, options->ctx, &asks->journal, err);
    if (status == SLUICE_OK && options->claims != NULL) {
        journal_call(asks->journal, member_id(options->member));
        status = claims_open(options->claims, asks->journal, options->member, &asks->claims, err);
    }
    if (status != SLUICE_OK) {
        asks_destroy(asks);
        return status;
    }
    *out = asks;
    return SLUICE_OK;
}

void asks_destroy(struct asks *asks)
{
    if (asks == NULL) {
        return;
    }
    http_destroy(asks->http);
    while (asks->left != NULL) {
        struct entry *next = asks->left->left_next;
        if (!asks->left->in_map) {
            entry_free(asks->left);
        }
        asks->left = next;
    }
    for (size_t i = 0; i < asks->map_capacity; i++) {
        while (asks->map[i] != NULL) {
            struct entry *next = asks->map[i]->map_next;
            entry_free(asks->map[i]);
            asks->map[i] = next;
        }
    }
    while (asks->hosts != NULL) {
        struct host *next = asks->hosts->next;
        free(asks->hosts->name);
        latencies_deinit(&asks->hosts->latencies);
        free(asks->hosts);
        asks->hosts = next;
    }
    claims_close(asks->claims);
    journal_close(asks->journal);
    pthread_cond_destroy(&asks->changed);
    pthread_mutex_destroy(&asks->mutex);
    free(asks->map);
    free(asks->later);
    free(asks->given);
    free(asks);
}

/* ---- entering and leaving ---- */

struct hash128 asks_key(struct hash128 stage, const void *text, size_t n)
{
    struct hash128 parts[2] = { stage, hash_bytes(text, n) };

    return hash_bytes(parts, sizeof parts);
}

struct sluice_answer asks_answer(const struct journal_answer *answer, uint64_t tag)
{
    return (struct sluice_answer){ .size = sizeof(struct sluice_answer),
                                   .tag = tag,
                                   .status = answer->refused ? SLUICE_E_DATA : SLUICE_OK,
                                   .code = answer->code,
                                   .data = answer->body,
                                   .n = answer->body_n,
                                   .type = answer->type };
}

/* An entry that nobody knows of yet. */
static sluice_status make(struct hash128 key, const struct ask_policy *policy, const char *text,
                          size_t n, struct entry **out, const char **host, struct sluice_error *err)
{
    struct entry *entry = calloc(1, sizeof *entry);
    sluice_status status;

    if (entry == NULL) {
        return error_nomem(err, "an ask");
    }
    entry->key = key;
    entry->policy = *policy;
    entry->shots[0].entry = entry->shots[1].entry = entry;
    status = request_parse(text, n, &entry->asked, err);
    if (status == SLUICE_OK) {
        status = request_host(entry->asked.url, policy, host, err);
    }
    if (status != SLUICE_OK) {
        entry_free(entry);
        return status;
    }
    *out = entry;
    return SLUICE_OK;
}

/* Looks into the journal, now and then also at what other processes wrote. */
static sluice_status recall(struct asks *asks, struct entry *entry, struct sluice_error *err)
{
    uint64_t now = clock_ns();
    bool found = false;
    bool look;

    pthread_mutex_lock(&asks->mutex);
    look = now - asks->looked_ns > asks_look_ns(asks) && !journal_knows(asks->journal, entry->key);
    if (look) {
        asks->looked_ns = now;
    }
    pthread_mutex_unlock(&asks->mutex);
    if (look) {
        TRY(journal_look(asks->journal, err));
    }
    TRY(journal_read(asks->journal, entry->key, &found, &entry->answer, err));
    entry->state = found ? ENTRY_DONE : ENTRY_QUEUED;
    return SLUICE_OK;
}

/* Joins those who wait for the same, or makes the entry known. *again: it was answered, and is not
 * under way any more, since the journal was looked at. */
static sluice_status join(struct asks *asks, struct entry *entry, const char *name,
                          struct entry **out, bool *again, struct sluice_error *err)
{
    struct entry *other = entry_find(asks, entry->key);

    *again =
        other == NULL && entry->state == ENTRY_QUEUED && journal_knows(asks->journal, entry->key);
    if (*again) {
        return SLUICE_OK;
    }
    if (other == NULL && entry->state == ENTRY_QUEUED && asks->options.recorded) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "the answer of %.300s is not among the run's recorded ones, and nothing is "
            "asked again; put the files of its folder " ASKS_FOLDER " back",
            entry->asked.url);
    }
    if (other == NULL) {
        entry->home = entry->host = host_find(asks, name);
        if (entry->host == NULL || !entry_enter(asks, entry)) {
            return error_nomem(err, "an ask");
        }
        if (entry->state == ENTRY_QUEUED) {
            host_heed(entry->host, &entry->policy);
            entry->fetched = true;
            entry_line_up(entry, false);
        }
        other = entry;
    }
    other->waiters++;
    *out = other;
    return SLUICE_OK;
}

/* The entry of an ask: one that is under way, or a new one, which others can find then. */
static sluice_status enter(struct asks *asks, struct hash128 stage, const struct ask_policy *policy,
                           const char *text, size_t n, struct entry **out, struct sluice_error *err)
{
    struct hash128 key = asks_key(stage, text, n);
    struct entry *entry = NULL;
    const char *host;
    bool again = true;
    sluice_status status = SLUICE_OK;

    pthread_mutex_lock(&asks->mutex);
    *out = entry_find(asks, key);
    if (*out != NULL) {
        (*out)->waiters++;
    }
    pthread_mutex_unlock(&asks->mutex);
    if (*out != NULL) {
        return SLUICE_OK;
    }
    TRY(make(key, policy, text, n, &entry, &host, err));
    while (status == SLUICE_OK && again) {
        status = recall(asks, entry, err);
        if (status == SLUICE_OK) {
            pthread_mutex_lock(&asks->mutex);
            status = join(asks, entry, host, out, &again, err);
            pthread_mutex_unlock(&asks->mutex);
        }
    }
    if (*out != entry) {
        entry_free(entry);
    }
    return status;
}

static void leave(struct asks *asks, struct entry *entry)
{
    if (--entry->waiters > 0 || entry->left || entry->state == ENTRY_KEEPING) {
        return; /* others wait, or the client's thread has it in hand */
    }
    if (entry->state == ENTRY_FLYING) {
        entry->left = true;
        entry->left_next = asks->left;
        asks->left = entry;
    } else {
        entry_remove(asks, entry);
    }
}

/* ---- calls ---- */

static struct asking *asking_create(struct asks *asks, uint32_t n)
{
    struct asking *asking = calloc(1, sizeof *asking);

    if (asking != NULL) {
        asking->asks = asks;
        asking->entries = calloc(n + 1u, sizeof(struct entry *));
        asking->tags = calloc(n + 1u, sizeof *asking->tags);
    }
    if (asking != NULL && (asking->entries == NULL || asking->tags == NULL)) {
        asking_end(asking);
        asking = NULL;
    }
    return asking;
}

/* All have entered: what is in line is to be sent. */
static sluice_status set_off(struct asks *asks, const struct asking *asking,
                             struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;
    bool fetch = false;

    pthread_mutex_lock(&asks->mutex);
    for (uint32_t k = 0; k < asking->n; k++) {
        fetch = fetch || asking->entries[k]->state == ENTRY_QUEUED;
    }
    if (fetch && asks->http == NULL) {
        status = flights_start(asks, err);
    } else if (fetch) {
        http_wake(asks->http);
    }
    pthread_mutex_unlock(&asks->mutex);
    return status;
}

sluice_status asks_begin(struct asks *asks, struct hash128 stage, const struct ask_policy *policy,
                         const struct stage_result *result, struct asking **out,
                         struct sluice_error *err)
{
    struct asking *asking = asking_create(asks, result->n_asks);
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (asking == NULL) {
        return error_nomem(err, "asks");
    }
    for (uint32_t k = 0; k < result->n_asks && status == SLUICE_OK; k++) {
        const struct stage_ask *ask = &result->asks[k];
        asking->tags[k] = ask->tag;
        status = enter(asks, stage, policy, result->asked.data + ask->offset, (size_t)ask->size,
                       &asking->entries[k], err);
        asking->n += status == SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = set_off(asks, asking, err);
    }
    if (status != SLUICE_OK) {
        asking_end(asking);
        return status;
    }
    *out = asking;
    return SLUICE_OK;
}

/* The mutex is held. One that failed ends the waiting at once. */
static bool all_done(struct asking *asking)
{
    if (asking->n_failed != asking->asks->n_failed) {
        for (uint32_t k = asking->done; k < asking->n; k++) {
            if (asking->entries[k]->state == ENTRY_FAILED) {
                return true;
            }
        }
        asking->n_failed = asking->asks->n_failed;
    }
    while (asking->done < asking->n && asking->entries[asking->done]->state == ENTRY_DONE) {
        asking->done++;
    }
    return asking->done == asking->n;
}

bool asking_done(struct asking *asking)
{
    bool is_done;

    pthread_mutex_lock(&asking->asks->mutex);
    is_done = asking->asks->broken != SLUICE_OK || all_done(asking);
    pthread_mutex_unlock(&asking->asks->mutex);
    return is_done;
}

static bool stopped(const struct asks *asks)
{
    return asks->options.cancelled != NULL &&
           atomic_load_explicit(asks->options.cancelled, memory_order_relaxed) != 0;
}

static void wait_a_little(struct asks *asks)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50000000L; /* then it is seen whether the run is being stopped */
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_cond_timedwait(&asks->changed, &asks->mutex, &until);
}

static sluice_status outcome(const struct asking *asking, struct sluice_error *err)
{
    const struct asks *asks = asking->asks;

    if (asks->broken != SLUICE_OK) {
        if (err != NULL) {
            *err = asks->why;
        }
        return asks->broken;
    }
    for (uint32_t k = 0; k < asking->n; k++) {
        const struct entry *entry = asking->entries[k];
        if (entry->state == ENTRY_FAILED) {
            return entry->why == NULL ? error_nomem(err, "asks")
                                      : error_set(err, entry->status, "%s", entry->why);
        }
    }
    return SLUICE_OK;
}

sluice_status asking_wait(struct asking *asking, const struct sluice_answer **items, uint32_t *n,
                          struct sluice_error *err)
{
    struct asks *asks = asking->asks;
    sluice_status status;

    pthread_mutex_lock(&asks->mutex);
    while (!all_done(asking) && asks->broken == SLUICE_OK && !stopped(asks)) {
        wait_a_little(asks);
    }
    status = outcome(asking, err);
    if (status == SLUICE_OK && !all_done(asking)) {
        status = error_set(err, SLUICE_E_CANCELLED, "the run is being stopped");
    }
    pthread_mutex_unlock(&asks->mutex);
    TRY(status);
    if (asking->items == NULL) {
        asking->items = calloc(asking->n + 1u, sizeof *asking->items);
    }
    if (asking->items == NULL) {
        return error_nomem(err, "answers");
    }
    for (uint32_t k = 0; k < asking->n; k++) { /* an entry that is done does not change */
        asking->items[k] = asks_answer(&asking->entries[k]->answer, asking->tags[k]);
    }
    *items = asking->items;
    *n = asking->n;
    return SLUICE_OK;
}

void asking_count(const struct asking *asking, struct ask_metrics *metrics)
{
    pthread_mutex_lock(&asking->asks->mutex);
    for (uint32_t k = 0; k < asking->n; k++) {
        struct entry *entry = asking->entries[k];
        if (!entry->fetched || entry->counted) {
            METRIC_ADD(metrics->known, 1);
            continue;
        }
        entry->counted = true;
        METRIC_ADD(metrics->answered, 1);
        METRIC_ADD(metrics->refused, entry->answer.refused);
        METRIC_ADD(metrics->retries, entry->tries - 1);
        METRIC_ADD(metrics->hedges, entry->hedges);
        METRIC_ADD(metrics->bytes_out, entry->bytes_out);
        METRIC_ADD(metrics->bytes_in, entry->answer.body_n);
    }
    pthread_mutex_unlock(&asking->asks->mutex);
}

void asking_end(struct asking *asking)
{
    if (asking == NULL) {
        return;
    }
    if (asking->n > 0) {
        struct asks *asks = asking->asks;
        pthread_mutex_lock(&asks->mutex);
        for (uint32_t k = 0; k < asking->n; k++) {
            leave(asks, asking->entries[k]);
        }
        if (asks->left != NULL) {
            http_wake(asks->http);
        }
        pthread_mutex_unlock(&asks->mutex);
    }
    free(asking->entries);
    free(asking->tags);
    free(asking->items);
    free(asking);
}
