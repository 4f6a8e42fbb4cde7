/* HTTP over libcurl: many requests at once on one thread. Knows requests and replies; when to ask,
 * whom, and how often is its user's affair (run/asks). Depends on base; libcurl is loaded when the
 * first client is made, so that a program that asks nobody needs none.
 *
 * No proxies, cookies, passwords or settings of the environment; certificates are checked;
 * redirections are not followed: they are replies. A request is sent once: where libcurl would
 * repeat one by itself, over a connection that the server had closed meanwhile, it ends instead. */
#ifndef SLUICE_NET_HTTP_H
#define SLUICE_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HTTP_BODY_MAX ((uint64_t)64 << 20)

struct http_request { /* borrowed for the call */
    const char *method, *url;
    const char *headers; /* lines "Name: value\n" */
    size_t headers_n;
    const char *body;
    size_t body_n;
    uint64_t timeout_ns;
    bool fresh; /* over a connection of its own */
};

struct http_reply {
    uint32_t status;         /* 0: none came, and error says why */
    bool cut;                /* status 0: a connection in use before was closed under it */
    bool hopeless;           /* status 0: an answer came that can't be taken */
    uint64_t retry_after_ns; /* what the server asks for; 0 = nothing */
    const char *target;      /* 3xx: where it sends us, as a whole URL; NULL = nowhere */
    char type[128];          /* content type, "" = none said */
    char *body;              /* body_n bytes and SLUICE_PADDING readable ones; owned */
    size_t body_n;
    char error[200];
};

struct http;

struct http_user {
    void *ctx;
    /* A request has ended. tag as given to http_send; who keeps the body sets it to NULL. */
    void (*done)(void *ctx, void *tag, struct http_reply *);
    /* Called in each round of the thread: may send and give up; how many milliseconds until it is
     * to be called again at the latest. */
    uint32_t (*round)(void *ctx);
};

/* SLUICE_E_CONFIG: there is no libcurl, or this program was built without. Starts the thread, on
 * which both functions are called. Gives. */
sluice_status http_create(const struct http_user *, struct http **out,
                          struct sluice_error *) MUST_USE;
void http_destroy(struct http *); /* ends all requests, without done; NULL is fine */
/* Makes the thread begin a round at once. From any thread. */
void http_wake(struct http *);

/* On the thread alone. SLUICE_E_NOMEM. */
sluice_status http_send(struct http *, const struct http_request *, void *tag,
                        struct sluice_error *) MUST_USE;
/* Ends a request: done is not called for it. */
void http_cancel(struct http *, void *tag);

#endif
