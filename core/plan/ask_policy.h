/* What a stage may ask of servers, as the pipeline says (`ask = {...}` beside the stage's options).
 * It never decides what an answer is, so it is in no key. */
#ifndef SLUICE_PLAN_ASK_POLICY_H
#define SLUICE_PLAN_ASK_POLICY_H

#include <stdint.h>

struct ask_policy {
    const char *const *hosts; /* "host" or "host:port", exactly; none: nothing may be asked */
    uint32_t n_hosts;
    uint32_t in_flight;   /* requests at once to one host; 0 = 64. Of several the least counts */
    double per_second;    /* requests begun a second to one host; 0 = no limit */
    uint32_t tries;       /* of one request before the task fails; 0 = 8 */
    uint64_t timeout_ns;  /* of one try; 0 = 10 min */
    uint64_t patience_ns; /* longest pause between two tries (Retry-After too); 0 = 5 min */
    uint64_t hedge_ns;    /* without an answer for so long it is asked a second time; 0 = never */
    double hedge_share; /* or for longer than this share of the server's answers took; 0 = never */
};

#endif
