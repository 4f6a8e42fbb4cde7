/* Asks of a run: see asks.h. One lock over everything; the client's thread sends, judges replies,
 * writes them to the journal and syncs it once a round, so that answers which come together are
 * durable together. */
#include "run/asks/asks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "net/http.h"
#include "run/asks/journal.h"
#include "run/metrics.h"

#define IN_FLIGHT 64u
#define TRIES 8u
#define TIMEOUT_NS (UINT64_C(600) * 1000000000)
#define PATIENCE_NS (UINT64_C(300) * 1000000000)
#define PAUSE_NS UINT64_C(200000000) /* after the first try; twice as long after each */
#define LOOK_NS UINT64_C(1000000000) /* between two looks at what other processes were answered */
#define IDLE_MS 1000u

enum entry_state {
    ENTRY_QUEUED, /* to be sent, not before `due` */
    ENTRY_FLYING,
    ENTRY_WRITTEN, /* answered, and not durable yet */
    ENTRY_DONE,
    ENTRY_FAILED
};

struct host {
    struct host *next;
    char *name;
    uint32_t flying;
    uint64_t free_ns; /* when the next request may begin, by its rate */
};

/* One ask, however many wait for its answer. */
struct entry {
    struct entry *next; /* of those under way */
    struct hash128 key;
    struct host *host;
    struct ask_policy policy;
    enum entry_state state;
    uint32_t waiters;
    uint32_t tries;
    uint64_t due;
    char *text; /* the request: method NUL url NUL headers body */
    size_t url_at, headers_at, headers_n, body_at, body_n;
    struct journal_answer answer; /* WRITTEN, DONE */
    sluice_status status;         /* FAILED */
    char why[700];
};

struct asking {
    struct asks *asks;
    uint32_t n;
    struct entry **entries;
    uint64_t *tags;
    bool *own;                   /* made for this one: not in the journal, nor under way */
    struct sluice_answer *items; /* when done */
};

struct asks {
    struct asks_options options;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct journal *journal;
    struct http *http;
    struct entry *entries; /* under way, in order of begin */
    struct entry **last;
    struct host *hosts;
    uint64_t looked_ns;
    sluice_status broken; /* the journal can't be written */
    struct sluice_error why;
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
    asks->last = &asks->entries;
    pthread_mutex_init(&asks->mutex, NULL);
    pthread_cond_init(&asks->changed, NULL);
    status = journal_open(options->folder, options->warn, options->ctx, &asks->journal, err);
    if (status != SLUICE_OK) {
        asks_destroy(asks);
        return status;
    }
    *out = asks;
    return SLUICE_OK;
}

static void entry_free(struct entry *entry)
{
    free(entry->text);
    free(entry->answer.body);
    free(entry);
}

void asks_destroy(struct asks *asks)
{
    if (asks == NULL) {
        return;
    }
    http_destroy(asks->http);
    while (asks->entries != NULL) {
        struct entry *next = asks->entries->next;
        entry_free(asks->entries);
        asks->entries = next;
    }
    while (asks->hosts != NULL) {
        struct host *next = asks->hosts->next;
        free(asks->hosts->name);
        free(asks->hosts);
        asks->hosts = next;
    }
    journal_close(asks->journal);
    pthread_cond_destroy(&asks->changed);
    pthread_mutex_destroy(&asks->mutex);
    free(asks);
}

/* ---- requests ---- */

static sluice_status malformed(struct sluice_error *err, const char *what)
{
    return error_set(err, SLUICE_E_INTERNAL,
                     "(a defect of the stage) a request has %s; expected \"METHOD URL\", lines of "
                     "headers, an empty line and the body",
                     what);
}

/* Splits the text; makes strings of its first two words. */
static sluice_status parse_request(struct entry *entry, size_t n, struct sluice_error *err)
{
    char *text = entry->text;
    char *line = memchr(text, '\n', n);
    char *space = line == NULL ? NULL : memchr(text, ' ', (size_t)(line - text));
    size_t at;

    if (space == NULL || space == text ||
        memchr(space + 1, ' ', (size_t)(line - space - 1)) != NULL ||
        memchr(text, '\0', (size_t)(line - text)) != NULL) {
        return malformed(err, "no method and URL");
    }
    *space = '\0';
    *line = '\0';
    entry->url_at = (size_t)(space + 1 - text);
    entry->headers_at = at = (size_t)(line + 1 - text);
    while (at < n && text[at] != '\n') {
        char *end = memchr(text + at, '\n', n - at);
        char *colon = end == NULL ? NULL : memchr(text + at, ':', (size_t)(end - text) - at);
        if (colon == NULL || colon == text + at ||
            memchr(text + at, '\0', (size_t)(end - text) - at) != NULL ||
            memchr(text + at, '\r', (size_t)(end - text) - at) != NULL) {
            return malformed(err, "a header without a name");
        }
        at = (size_t)(end + 1 - text);
    }
    if (at >= n) {
        return malformed(err, "no end of its headers");
    }
    entry->headers_n = at - entry->headers_at;
    entry->body_at = at + 1;
    entry->body_n = n - at - 1;
    return SLUICE_OK;
}

static sluice_status find_host(struct asks *asks, struct entry *entry, struct sluice_error *err)
{
    const char *url = entry->text + entry->url_at;
    const char *name;
    size_t n;
    bool plain;
    struct host *host = asks->hosts;

    if (!http_host(url, strlen(url), &name, &n, &plain)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "\"%.300s\" can't be asked: expected http:// or "
                         "https:// and a server",
                         url);
    }
    for (uint32_t k = 0; k < entry->policy.n_hosts; k++) {
        const char *allowed = entry->policy.hosts[k];
        size_t length = strlen(allowed);
        bool same = length == n && memcmp(allowed, name, n) == 0;
        bool bare = plain && strchr(allowed, ':') == NULL && length <= n &&
                    memcmp(allowed, name, length) == 0 && (name[length] == ':' || length == n);
        if (!same && !bare) {
            continue;
        }
        while (host != NULL && strcmp(host->name, allowed) != 0) {
            host = host->next;
        }
        if (host == NULL) {
            host = calloc(1, sizeof *host);
            if (host == NULL || (host->name = str_copy(allowed, length)) == NULL) {
                free(host);
                return error_nomem(err, "asks");
            }
            host->next = asks->hosts;
            asks->hosts = host;
        }
        entry->host = host;
        return SLUICE_OK;
    }
    return error_set(err, SLUICE_E_CONFIG,
                     "%.*s is asked, which ask = { hosts = {...} } does not name; add it there if "
                     "it is meant",
                     (int)(n < 300 ? n : 300), name);
}

static struct hash128 key_of(struct hash128 stage, const void *text, size_t n)
{
    struct hash128 parts[2] = { stage, hash_bytes(text, n) };

    return hash_bytes(parts, sizeof parts);
}

/* Looks into the journal, now and then also at what other processes wrote. */
static sluice_status recall(struct asks *asks, struct entry *entry, struct sluice_error *err)
{
    uint64_t now = clock_ns();
    bool found = false;

    if (!journal_knows(asks->journal, entry->key) && now - asks->looked_ns > LOOK_NS) {
        TRY(journal_look(asks->journal, err));
        asks->looked_ns = now;
    }
    TRY(journal_read(asks->journal, entry->key, &found, &entry->answer, err));
    if (found) {
        entry->state = ENTRY_DONE;
    }
    return SLUICE_OK;
}

/* The entry of an ask: one that is under way, or a new one, which others can find then. */
static sluice_status enter(struct asks *asks, struct hash128 stage, const struct ask_policy *policy,
                           const char *text, size_t n, struct entry **out, struct sluice_error *err)
{
    struct hash128 key = key_of(stage, text, n);
    struct entry *entry = asks->entries;
    sluice_status status;

    while (entry != NULL && (!hash_equal(entry->key, key) || entry->state == ENTRY_FAILED)) {
        entry = entry->next;
    }
    if (entry != NULL) {
        entry->waiters++;
        *out = entry;
        return SLUICE_OK;
    }
    entry = calloc(1, sizeof *entry);
    if (entry == NULL || (entry->text = str_copy(text, n)) == NULL) {
        if (entry != NULL) {
            entry_free(entry);
        }
        return error_nomem(err, "an ask");
    }
    entry->key = key;
    entry->policy = *policy;
    entry->waiters = 1;
    status = parse_request(entry, n, err);
    if (status == SLUICE_OK) {
        status = find_host(asks, entry, err);
    }
    if (status == SLUICE_OK) {
        status = recall(asks, entry, err);
    }
    if (status != SLUICE_OK) {
        entry_free(entry);
        return status;
    }
    *asks->last = entry;
    asks->last = &entry->next;
    *out = entry;
    return SLUICE_OK;
}

static void leave(struct asks *asks, struct entry *entry)
{
    struct entry **at = &asks->entries;

    if (--entry->waiters > 0) {
        return;
    }
    if (entry->state == ENTRY_FLYING || entry->state == ENTRY_WRITTEN) {
        return; /* the thread sees that nobody waits (any more) */
    }
    while (*at != entry) {
        at = &(*at)->next;
    }
    *at = entry->next;
    if (*at == NULL) {
        asks->last = at;
    }
    entry_free(entry);
}

/* ---- the client's thread ---- */

static uint64_t pause_after(const struct asks *asks, const struct entry *entry,
                            uint64_t retry_after_ns)
{
    uint64_t most = entry->policy.patience_ns > 0 ? entry->policy.patience_ns : PATIENCE_NS;
    uint32_t doublings = entry->tries < 24 ? entry->tries - 1 : 23;
    uint64_t words[3] = { asks->options.seed, entry->key.lo, entry->tries };
    double part = 0.5 + (double)(hash_bytes(words, sizeof words).lo >> 11) / 9007199254740992.0;
    uint64_t pause = (uint64_t)((double)(PAUSE_NS << doublings) * part);

    pause = pause > retry_after_ns ? pause : retry_after_ns;
    return pause < most ? pause : most;
}

static bool is_passing(uint32_t status)
{
    return status == 0 || status == 408 || status == 425 || status == 429 || status >= 500;
}

static void fail(struct entry *entry, const struct http_reply *reply)
{
    char last[260];

    if (reply->status == 0) {
        snprintf(last, sizeof last, "%s", reply->error);
    } else {
        snprintf(last, sizeof last, "status %u", reply->status);
    }
    entry->state = ENTRY_FAILED;
    entry->status = SLUICE_E_IO;
    snprintf(entry->why, sizeof entry->why,
             "%.300s has not answered in %u tries (%s); see to it and run again: what was answered "
             "before is kept",
             entry->text + entry->url_at, entry->tries, last);
}

static void break_down(struct asks *asks, sluice_status status, const struct sluice_error *err)
{
    if (asks->broken == SLUICE_OK) {
        asks->broken = status;
        asks->why = *err;
    }
    pthread_cond_broadcast(&asks->changed);
}

static void keep(struct asks *asks, struct entry *entry, struct http_reply *reply)
{
    struct sluice_error err = ERROR_INIT;
    sluice_status status;

    entry->answer = (struct journal_answer){ .code = reply->status,
                                             .refused = reply->status >= 300,
                                             .body = reply->body,
                                             .body_n = reply->body_n };
    memcpy(entry->answer.type, reply->type, sizeof entry->answer.type);
    reply->body = NULL;
    entry->state = ENTRY_WRITTEN;
    status = journal_add(asks->journal, entry->key, &entry->answer, &err);
    if (status != SLUICE_OK) {
        break_down(asks, status, &err);
    }
}

static void done(void *ctx, void *tag, struct http_reply *reply)
{
    struct asks *asks = ctx;
    struct entry *entry = tag;
    uint32_t tries;

    pthread_mutex_lock(&asks->mutex);
    tries = entry->policy.tries > 0 ? entry->policy.tries : TRIES;
    entry->host->flying--;
    if (!is_passing(reply->status)) {
        keep(asks, entry, reply);
    } else if (entry->tries >= tries) {
        fail(entry, reply);
        pthread_cond_broadcast(&asks->changed);
    } else {
        entry->state = ENTRY_QUEUED;
        entry->due = clock_ns() + pause_after(asks, entry, reply->retry_after_ns);
    }
    pthread_mutex_unlock(&asks->mutex);
}

static void send(struct asks *asks, struct entry *entry)
{
    struct http_request request = { .method = entry->text,
                                    .url = entry->text + entry->url_at,
                                    .headers = entry->text + entry->headers_at,
                                    .headers_n = entry->headers_n,
                                    .body = entry->text + entry->body_at,
                                    .body_n = entry->body_n,
                                    .timeout_ns = entry->policy.timeout_ns > 0
                                                      ? entry->policy.timeout_ns
                                                      : TIMEOUT_NS };
    struct sluice_error err = ERROR_INIT;

    entry->tries++;
    if (http_send(asks->http, &request, entry, &err) != SLUICE_OK) {
        entry->state = ENTRY_FAILED;
        entry->status = err.code;
        snprintf(entry->why, sizeof entry->why, "%.600s", err.message);
        pthread_cond_broadcast(&asks->changed);
        return;
    }
    entry->state = ENTRY_FLYING;
    entry->host->flying++;
}

/* What nobody waits for is given up; what was written is durable now. */
static void settle(struct asks *asks)
{
    struct sluice_error err = ERROR_INIT;
    struct entry **at = &asks->entries;
    bool told = false;

    if (journal_sync(asks->journal, &err) != SLUICE_OK) {
        break_down(asks, err.code, &err);
        return;
    }
    while (*at != NULL) {
        struct entry *entry = *at;
        if (entry->state == ENTRY_WRITTEN) {
            entry->state = ENTRY_DONE;
            told = true;
        }
        if (entry->waiters > 0) {
            at = &entry->next;
            continue;
        }
        if (entry->state == ENTRY_FLYING) {
            http_cancel(asks->http, entry);
            entry->host->flying--;
        }
        *at = entry->next;
        entry_free(entry);
    }
    asks->last = at;
    if (told) {
        pthread_cond_broadcast(&asks->changed);
    }
}

static uint32_t go_round(void *ctx)
{
    struct asks *asks = ctx;
    uint64_t now = clock_ns();
    uint64_t next = now + (uint64_t)IDLE_MS * 1000000;

    pthread_mutex_lock(&asks->mutex);
    settle(asks);
    for (struct entry *entry = asks->entries; entry != NULL; entry = entry->next) {
        struct host *host = entry->host;
        uint32_t most = entry->policy.in_flight > 0 ? entry->policy.in_flight : IN_FLIGHT;
        uint64_t due = entry->due > host->free_ns ? entry->due : host->free_ns;
        if (entry->state != ENTRY_QUEUED || host->flying >= most) {
            continue;
        }
        if (due > now) {
            next = due < next ? due : next;
            continue;
        }
        send(asks, entry);
        if (entry->policy.per_second > 0) {
            host->free_ns = now + (uint64_t)(1e9 / entry->policy.per_second);
        }
    }
    pthread_mutex_unlock(&asks->mutex);
    return (uint32_t)((next - now + 999999) / 1000000);
}

/* ---- calls ---- */

sluice_status asks_begin(struct asks *asks, struct hash128 stage, const struct ask_policy *policy,
                         const struct stage_result *result, struct asking **out,
                         struct sluice_error *err)
{
    struct asking *asking = calloc(1, sizeof *asking);
    sluice_status status = SLUICE_OK;
    bool fetch = false;

    *out = NULL;
    if (asking == NULL ||
        (asking->entries = calloc(result->n_asks + 1u, sizeof(struct entry *))) == NULL ||
        (asking->tags = calloc(result->n_asks + 1u, sizeof *asking->tags)) == NULL ||
        (asking->own = calloc(result->n_asks + 1u, sizeof *asking->own)) == NULL) {
        asking_end(asking);
        return error_nomem(err, "asks");
    }
    asking->asks = asks;
    pthread_mutex_lock(&asks->mutex);
    for (uint32_t k = 0; k < result->n_asks && status == SLUICE_OK; k++) {
        const struct stage_ask *ask = &result->asks[k];
        asking->tags[k] = ask->tag;
        status = enter(asks, stage, policy, result->asked.data + ask->offset, (size_t)ask->size,
                       &asking->entries[k], err);
        if (status == SLUICE_OK) {
            asking->n++;
            fetch = fetch || asking->entries[k]->state == ENTRY_QUEUED;
            asking->own[k] =
                asking->entries[k]->state == ENTRY_QUEUED && asking->entries[k]->waiters == 1;
        }
    }
    if (status == SLUICE_OK && fetch && asks->http == NULL) {
        struct http_user user = { .ctx = asks, .done = done, .round = go_round };
        status = http_create(&user, &asks->http, err);
    }
    if (asks->http != NULL) {
        http_wake(asks->http);
    }
    pthread_mutex_unlock(&asks->mutex);
    if (status != SLUICE_OK) {
        asking_end(asking);
        return status;
    }
    *out = asking;
    return SLUICE_OK;
}

/* The mutex is held. */
static bool all_done(const struct asking *asking)
{
    for (uint32_t k = 0; k < asking->n; k++) {
        if (asking->entries[k]->state == ENTRY_FAILED) {
            return true;
        }
    }
    for (uint32_t k = 0; k < asking->n; k++) {
        if (asking->entries[k]->state != ENTRY_DONE) {
            return false;
        }
    }
    return true;
}

bool asking_done(const struct asking *asking)
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
            return error_set(err, entry->status, "%s", entry->why);
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
        const struct journal_answer *answer = &asking->entries[k]->answer;
        asking->items[k] =
            (struct sluice_answer){ .size = sizeof(struct sluice_answer),
                                    .tag = asking->tags[k],
                                    .status = answer->refused ? SLUICE_E_DATA : SLUICE_OK,
                                    .code = answer->code,
                                    .data = answer->body,
                                    .n = answer->body_n,
                                    .type = answer->type };
    }
    *items = asking->items;
    *n = asking->n;
    return SLUICE_OK;
}

void asking_count(const struct asking *asking, struct ask_metrics *metrics)
{
    for (uint32_t k = 0; k < asking->n; k++) { /* an entry that is done does not change */
        const struct entry *entry = asking->entries[k];
        if (!asking->own[k]) {
            METRIC_ADD(metrics->known, 1);
            continue;
        }
        METRIC_ADD(metrics->answered, 1);
        METRIC_ADD(metrics->refused, entry->answer.refused);
        METRIC_ADD(metrics->retries, entry->tries - 1);
        METRIC_ADD(metrics->bytes_out, entry->tries * (uint64_t)entry->body_n);
        METRIC_ADD(metrics->bytes_in, entry->answer.body_n);
    }
}

void asking_end(struct asking *asking)
{
    if (asking == NULL) {
        return;
    }
    if (asking->n > 0) {
        pthread_mutex_lock(&asking->asks->mutex);
        for (uint32_t k = 0; k < asking->n; k++) {
            leave(asking->asks, asking->entries[k]);
        }
        if (asking->asks->http != NULL) {
            http_wake(asking->asks->http);
        }
        pthread_mutex_unlock(&asking->asks->mutex);
    }
    free(asking->entries);
    free(asking->tags);
    free(asking->own);
    free(asking->items);
    free(asking);
}
