/* The thread that asks: sends what is in line at each server, judges what comes back, writes
 * answers to the journal and syncs it once a round, so that answers which come together are
 * durable together. A request counts as in flight until its answer is durable, for until then a
 * kill would make it be asked again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run/asks/asksInt.h"

#define TRIES 8u
#define TIMEOUT_NS (UINT64_C(600) * 1000000000)
#define PATIENCE_NS (UINT64_C(300) * 1000000000)
#define PAUSE_NS UINT64_C(200000000) /* after the first try; twice as long after each */
#define SLACK_NS UINT64_C(10000000)  /* a rate may be caught up with by so much */
#define IDLE_NS UINT64_C(1000000000)
#define GROUP_NS UINT64_C(50000000) /* between two syncs that are requests to a store */

/* ---- what becomes of an ask ---- */

/* The first failure stands; everybody who waits hears of it. */
static void break_down(struct asks *asks, sluice_status status, const struct sluice_error *err)
{
    if (asks->broken == SLUICE_OK) {
        asks->broken = status;
        asks->why = *err;
    }
    pthread_cond_broadcast(&asks->changed);
}

static void cancel_shots(struct asks *asks, struct entry *entry)
{
    for (size_t i = 0; i < 2; i++) {
        if (entry->shots[i].flying) {
            http_cancel(asks->http, &entry->shots[i]);
            entry->shots[i].flying = false;
            entry->host->flying--;
        }
    }
}

/* Others who ask the same from now on ask anew. */
static void fail(struct asks *asks, struct entry *entry, const struct sluice_error *err)
{
    cancel_shots(asks, entry);
    entry_rest(asks, entry);
    entry_hide(asks, entry);
    entry_disclaim(asks, entry);
    entry->state = ENTRY_FAILED;
    entry->status = err->code;
    entry->why = str_copy(err->message, strlen(err->message));
    asks->n_failed++;
    pthread_cond_broadcast(&asks->changed);
}

static void give_up(struct asks *asks, struct entry *entry, const struct http_reply *reply)
{
    struct sluice_error err = ERROR_INIT;
    char last[260];

    if (reply->status == 0) {
        snprintf(last, sizeof last, "%s", reply->error);
    } else {
        snprintf(last, sizeof last, "status %u", reply->status);
    }
    (void)error_set(&err, SLUICE_E_IO,
                    "%.300s has not answered in %u %s (%s); see to it and run again: what was "
                    "answered before is kept",
                    entry->asked.url, entry->tries, entry->tries == 1 ? "try" : "tries", last);
    fail(asks, entry, &err);
}

static uint64_t pause_after(const struct asks *asks, const struct entry *entry,
                            const struct http_reply *reply)
{
    uint64_t most = entry->policy.patience_ns > 0 ? entry->policy.patience_ns : PATIENCE_NS;
    uint32_t doublings = entry->tries < 24 ? entry->tries - 1 : 23;
    uint64_t words[3] = { asks->options.seed, entry->key.lo, entry->tries };
    double part = 0.5 + (double)(hash_bytes(words, sizeof words).lo >> 11) / 9007199254740992.0;
    uint64_t pause = (uint64_t)((double)(PAUSE_NS << doublings) * part);

    if (reply->cut) {
        return 0; /* it says nothing of the server but that it was tired of a connection */
    }
    pause = pause > reply->retry_after_ns ? pause : reply->retry_after_ns;
    return pause < most ? pause : most;
}

/* What was asked, from the begin: where a server sent us once it need not send us again. */
static void try_again(struct asks *asks, struct entry *entry, const struct http_reply *reply)
{
    entry_rest(asks, entry);
    request_deinit(&entry->hop);
    entry->hops = 0;
    entry->host = entry->home;
    entry->state = ENTRY_QUEUED;
    entry->fresh = reply->cut;
    entry->due = clock_ns() + pause_after(asks, entry, reply);
    entry_wait(asks, entry);
}

static uint64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* The lock is held, and given back while the journal is written. */
static void keep(struct asks *asks, struct entry *entry, struct http_reply *reply)
{
    struct sluice_error err = ERROR_INIT;
    sluice_status status;

    if (entry->policy.hedge_share > 0) { /* of one that was sent twice, since the first time */
        latencies_add(&entry->host->latencies, clock_ns() - entry->sent_ns);
    }
    cancel_shots(asks, entry);
    entry_rest(asks, entry);
    entry->answer = (struct journal_answer){ .code = reply->status,
                                             .refused = reply->status >= 400,
                                             .body = reply->body,
                                             .body_n = reply->body_n };
    memcpy(entry->answer.type, reply->type, sizeof entry->answer.type);
    entry->answer.when_ms = wall_ms();
    reply->body = NULL;
    entry->state = ENTRY_KEEPING;
    pthread_mutex_unlock(&asks->mutex);
    status = journal_add(asks->journal, entry->key, &entry->answer, &err);
    pthread_mutex_lock(&asks->mutex);
    entry->kept_next = asks->kept;
    asks->kept = entry;
    if (status != SLUICE_OK) {
        break_down(asks, status, &err);
    }
}

static void follow(struct asks *asks, struct entry *entry, const struct http_reply *reply)
{
    const struct request *from = entry->hop.text != NULL ? &entry->hop : &entry->asked;
    struct sluice_error err = ERROR_INIT;
    struct request to = { .text = NULL };
    struct host *host = NULL;
    const char *name;
    sluice_status status = SLUICE_OK;

    cancel_shots(asks, entry);
    entry_rest(asks, entry);
    if (entry->hops == REQUEST_HOPS) {
        status = error_set(&err, SLUICE_E_CONFIG,
                           "%.300s is sent on more than %u times, at last to %.300s; ask for "
                           "something else",
                           entry->asked.url, REQUEST_HOPS, from->url);
    }
    if (status == SLUICE_OK) {
        status =
            request_redirect(from, reply->status, reply->target, &entry->policy, &to, &name, &err);
    }
    if (status == SLUICE_OK && (host = host_find(asks, name)) == NULL) {
        request_deinit(&to);
        status = error_nomem(&err, "asks");
    }
    if (status != SLUICE_OK) {
        fail(asks, entry, &err);
        return;
    }
    request_deinit(&entry->hop);
    entry->hop = to;
    entry->hops++;
    entry->host = host;
    host_heed(host, &entry->policy);
    entry->state = ENTRY_QUEUED;
    entry_line_up(entry, true);
}

static bool is_passing(uint32_t status)
{
    return status == 0 || status == 408 || status == 425 || status == 429 || status >= 500;
}

static void done(void *ctx, void *tag, struct http_reply *reply)
{
    struct asks *asks = ctx;
    struct shot *shot = tag;
    struct entry *entry = shot->entry;

    pthread_mutex_lock(&asks->mutex);
    shot->flying = false;
    if (!is_passing(reply->status) && (reply->status < 300 || reply->status >= 400)) {
        keep(asks, entry, reply); /* in flight until it is durable */
        pthread_mutex_unlock(&asks->mutex);
        return;
    }
    entry->host->flying--;
    if (!is_passing(reply->status)) {
        follow(asks, entry, reply);
    } else if (entry->shots[0].flying || entry->shots[1].flying) {
        entry->fresh = reply->cut; /* the other one may still be answered */
    } else if (reply->hopeless ||
               entry->tries >= (entry->policy.tries > 0 ? entry->policy.tries : TRIES)) {
        give_up(asks, entry, reply);
    } else {
        try_again(asks, entry, reply);
    }
    pthread_mutex_unlock(&asks->mutex);
}

/* ---- rounds ---- */

static void send_now(struct asks *asks, struct entry *entry, uint64_t now)
{
    const struct request *request = entry->hop.text != NULL ? &entry->hop : &entry->asked;
    const struct ask_policy *policy = &entry->policy;
    struct http_request sent = { .method = request->method,
                                 .url = request->url,
                                 .headers = request->headers,
                                 .headers_n = request->headers_n,
                                 .body = request->body,
                                 .body_n = request->body_n,
                                 .timeout_ns =
                                     policy->timeout_ns > 0 ? policy->timeout_ns : TIMEOUT_NS,
                                 .fresh = entry->fresh };
    bool again = entry->state == ENTRY_FLYING;
    struct shot *shot = &entry->shots[entry->shots[0].flying ? 1 : 0];
    struct sluice_error err = ERROR_INIT;

    entry_leave_line(entry);
    entry->tries += !again && entry->hop.text == NULL;
    if (http_send(asks->http, &sent, shot, &err) != SLUICE_OK) {
        fail(asks, entry, &err);
        return;
    }
    entry->state = ENTRY_FLYING;
    entry->fresh = false;
    entry->bytes_out += request->body_n;
    entry->hedges += again;
    shot->flying = true;
    entry->host->flying++;
    if (policy->per_second > 0) {
        double pause = 1e9 / policy->per_second;
        uint64_t from =
            entry->host->free_ns + SLACK_NS > now ? entry->host->free_ns : now - SLACK_NS;
        entry->host->free_ns = from + (pause < 1e18 ? (uint64_t)pause : UINT64_C(1) << 60);
    }
    if (!again) {
        entry->sent_ns = now;
        entry->hedge_ns = policy->hedge_share > 0
                              ? latencies_quantile(&entry->host->latencies, policy->hedge_share)
                              : policy->hedge_ns;
    }
    if (!again && entry->hedge_ns > 0) {
        entry->due = now + entry->hedge_ns;
        entry_wait(asks, entry);
    }
}

/* Whoever waits may have it; the lock is held. */
static void finish(struct asks *asks, struct entry *entry, enum entry_state state)
{
    entry->state = state;
    if (entry->waiters == 0 && !entry->left) {
        entry_remove(asks, entry);
    }
}

/* What was written is durable now. Where each sync is a request, answers wait for each other a
 * little, so that requests are bounded by time and not by answers. */
static void settle(struct asks *asks, uint64_t now, uint64_t *next)
{
    struct sluice_error err = ERROR_INIT;
    sluice_status status;

    if (asks->kept == NULL) {
        return;
    }
    if (journal_puts(asks->journal) && now - asks->synced_ns < GROUP_NS) {
        uint64_t due = asks->synced_ns + GROUP_NS;
        *next = due < *next ? due : *next;
        return;
    }
    status = journal_sync(asks->journal, &err);
    asks->synced_ns = now;
    pthread_mutex_lock(&asks->mutex);
    if (status != SLUICE_OK) {
        break_down(asks, status, &err);
    }
    while (status == SLUICE_OK && asks->kept != NULL) {
        struct entry *entry = asks->kept;
        asks->kept = entry->kept_next;
        entry->host->flying--;
        finish(asks, entry, ENTRY_DONE);
    }
    pthread_cond_broadcast(&asks->changed);
    pthread_mutex_unlock(&asks->mutex);
}

static void break_down_if(struct asks *asks, sluice_status status, const struct sluice_error *err)
{
    if (status != SLUICE_OK) {
        pthread_mutex_lock(&asks->mutex);
        break_down(asks, status, err);
        pthread_mutex_unlock(&asks->mutex);
    }
}

/* Now and then, what other processes were answered meanwhile, and what they ask. */
static void look_around(struct asks *asks, uint64_t now)
{
    struct sluice_error err = ERROR_INIT;
    sluice_status status;
    bool look;

    pthread_mutex_lock(&asks->mutex);
    look = now - asks->looked_ns > asks_look_ns(asks);
    asks->looked_ns = look ? now : asks->looked_ns;
    pthread_mutex_unlock(&asks->mutex);
    status = look ? journal_look(asks->journal, &err) : SLUICE_OK;
    if (status == SLUICE_OK) {
        status = claiming_look(asks, now, &err);
    }
    break_down_if(asks, status, &err);
}

/* Whether another process was answered before this one asked; then it is not asked. */
static bool was_answered(struct asks *asks, struct entry *entry)
{
    if ((entry->state != ENTRY_QUEUED && entry->state != ENTRY_AWAITED) ||
        !journal_knows(asks->journal, entry->key)) {
        return false;
    }
    if (entry->in_line) {
        entry_leave_line(entry);
    }
    entry->state = ENTRY_KEEPING;
    entry->kept_next = asks->found;
    asks->found = entry;
    return true;
}

static void take_found(struct asks *asks)
{
    while (asks->found != NULL) {
        struct entry *entry = asks->found;
        struct sluice_error err = ERROR_INIT;
        bool found;
        sluice_status status =
            journal_read(asks->journal, entry->key, &found, &entry->answer, &err);
        pthread_mutex_lock(&asks->mutex);
        asks->found = entry->kept_next;
        entry->fetched = false;
        if (status != SLUICE_OK) {
            fail(asks, entry, &err);
        }
        finish(asks, entry, status == SLUICE_OK ? ENTRY_DONE : ENTRY_FAILED);
        pthread_cond_broadcast(&asks->changed);
        pthread_mutex_unlock(&asks->mutex);
    }
}

/* What nobody waits for any more is given up, but for what was answered. */
static void give_up_left(struct asks *asks)
{
    while (asks->left != NULL) {
        struct entry *entry = asks->left;
        asks->left = entry->left_next;
        entry->left = false;
        if (entry->waiters == 0 && entry->state != ENTRY_KEEPING) {
            cancel_shots(asks, entry);
            entry_remove(asks, entry);
        }
    }
}

/* The lock is held. */
static void take_due(struct asks *asks, uint64_t now, uint64_t *next)
{
    struct entry *entry;

    while ((entry = entry_due(asks, now, next)) != NULL) {
        if (entry->state == ENTRY_FLYING && !entry_hedge(entry)) {
            entry->due = now + entry->hedge_ns;
            entry_wait(asks, entry);
        } else if (entry->state != ENTRY_AWAITED) {
            entry_line_up(entry, true);
        } else if (!was_answered(asks, entry)) {
            if (claiming_awaits(asks, entry, now)) {
                entry->due = now + asks_look_ns(asks);
                entry_wait(asks, entry);
            } else {
                entry->state = ENTRY_QUEUED;
                entry_line_up(entry, true);
            }
        }
    }
}

/* The lock is held. */
static void send_all(struct asks *asks, uint64_t now, uint64_t *next)
{
    for (struct host *host = asks->hosts; host != NULL; host = host->next) {
        while (host->first != NULL && host->flying < host->most && host->free_ns <= now &&
               asks->broken == SLUICE_OK) {
            if (was_answered(asks, host->first)) {
                continue;
            }
            if (!claiming_allows(asks, host->first)) {
                break;
            }
            send_now(asks, host->first, now);
        }
        if (host->first != NULL && host->flying < host->most && host->free_ns > now) {
            *next = host->free_ns < *next ? host->free_ns : *next;
        }
    }
}

static uint32_t go_round(void *ctx)
{
    struct asks *asks = ctx;
    struct sluice_error err = ERROR_INIT;
    uint64_t now = clock_ns();
    uint64_t next = now + (asks->claims == NULL ? IDLE_NS : asks_look_ns(asks));
    bool later = false;

    settle(asks, now, &next);
    look_around(asks, now);
    pthread_mutex_lock(&asks->mutex);
    give_up_left(asks);
    take_due(asks, now, &next);
    pthread_mutex_unlock(&asks->mutex);
    if (asks->broken == SLUICE_OK) { /* which this thread alone sets */
        break_down_if(asks, claiming_take(asks, now, &later, &err), &err);
    }
    pthread_mutex_lock(&asks->mutex);
    send_all(asks, now, &next);
    pthread_mutex_unlock(&asks->mutex);
    take_found(asks);
    return (uint32_t)((next - now + 999999) / 1000000);
}

sluice_status flights_start(struct asks *asks, struct sluice_error *err)
{
    struct http_user user = { .ctx = asks, .done = done, .round = go_round };

    return http_create(&user, &asks->http, err);
}
