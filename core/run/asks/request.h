/* The text of a request, as a stage writes it ("METHOD URL", lines of headers, an empty line, the
 * body), whom it may go to, and where a server that sends it elsewhere sends it. Depends on
 * plan/ask_policy.h and net/http_text.h. */
#ifndef SLUICE_RUN_REQUEST_H
#define SLUICE_RUN_REQUEST_H

#include "base/error.h"
#include "plan/ask_policy.h"

#define REQUEST_HOPS 5u

struct request {
    char *text; /* owned: holds all of the following */
    const char *method, *url;
    const char *headers; /* lines "Name: value\n" */
    size_t headers_n;
    const char *body;
    size_t body_n;
};

/* Copies the text. SLUICE_E_INTERNAL: it is no request. */
sluice_status request_parse(const char *text, size_t n, struct request *out,
                            struct sluice_error *) MUST_USE;
void request_deinit(struct request *);

/* The name by which the policy allows that this URL is asked; borrowed from the policy.
 * SLUICE_E_CONFIG: it does not. */
sluice_status request_host(const char *url, const struct ask_policy *, const char **name,
                           struct sluice_error *) MUST_USE;

/* What is asked when the answer to `from` has a status 3xx and names a target (NULL: none): with
 * 303 a GET, with 307 and 308 the same again, with 301 and 302 the same if it is GET or HEAD (RFC
 * 9110, 15.4). Headers that say who asks go to the same server alone. *name as of request_host.
 * SLUICE_E_CONFIG: it can't be followed; the message names both URLs, and what to do. */
sluice_status request_redirect(const struct request *from, uint32_t status, const char *target,
                               const struct ask_policy *, struct request *out, const char **name,
                               struct sluice_error *) MUST_USE;

#endif
