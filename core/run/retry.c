/* Whether a task that failed is tried again, and when. A policy of the pipeline decides
 * (events.retry; scripts/policies/retry.lua is the one that there is if nobody gives another), from
 * these facts:
 *
 *   { "class": "transient", "code": 8, "message": "…", "task": "…", "phase": "…", "host": "…",
 *     "failures": {"transient": 2, "memory": 0, "permanent": 0, "lost_worker": 0},   this one too
 *     "hosts": 0,          on which workers died with it
 *     "tasks": 100, "done": 20, "given_up": 1,     of the phase
 *     "random": 0.25 }     of the run's seed, the task and the failure's number: never of the clock
 *
 * Nothing that a run makes depends on what it says. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/hooks.h"
#include "run/runInt.h"

#define ATTEMPTS 3u
#define BASE_SECONDS 5.0

/* In 0..1, from what is the same in each run of this seed. */
static double random_of(const struct run *run, uint32_t p, const struct trouble *trouble)
{
    struct buf text = BUF_INIT;
    struct hash128 hash;

    buf_printf(&text, "retry %llu %s %u %u", (unsigned long long)run->plan->graph->seed,
               run->plan->phases[p]->name, trouble->task, trouble->n);
    hash = hash_bytes(text.data, text.size);
    buf_deinit(&text);
    return (double)(hash.lo >> 11) / (double)(UINT64_C(1) << 53);
}

static char *facts_text(const struct run *run, uint32_t p, const struct trouble_count *count,
                        size_t n_given_up, const struct trouble *trouble)
{
    char buffer[SPLIT_NAME];
    const char *task = phase_task_name(run->plan->phases[p], trouble->task, buffer);
    json_t *failures = json_object();
    json_t *json;
    char *text;

    for (int k = 0; k < TROUBLE_KINDS; k++) {
        json_object_set_new(failures, trouble_word((enum trouble_kind)k),
                            json_integer(count->by_kind[k]));
    }
    json =
        json_pack("{s:s, s:i, s:o, s:o, s:s, s:s, s:o, s:i, s:f, s:i, s:i, s:i}", "class",
                  trouble_word(trouble->kind), "code", (int)trouble->code, "message",
                  json_stringn_nocheck(trouble->message, strlen(trouble->message)), "task",
                  json_stringn_nocheck(task, strlen(task)), "phase", run->plan->phases[p]->name,
                  "host", trouble->host, "failures", failures, "hosts", (int)count->hosts, "random",
                  random_of(run, p, trouble), "tasks", (int)run->plan->phases[p]->n_tasks, "done",
                  (int)METRIC_GET(run->metrics.phases[p].done), "given_up", (int)n_given_up);
    text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
    return text;
}

/* Where no policy is asked: with a library alone, in tests. */
static double decide_plainly(const struct trouble_count *count, const struct trouble *trouble)
{
    switch (trouble->kind) {
    case TROUBLE_TRANSIENT:
        return count->by_kind[TROUBLE_TRANSIENT] < ATTEMPTS ? BASE_SECONDS : -1;
    case TROUBLE_MEMORY:
        return count->by_kind[TROUBLE_MEMORY] < 2 ? 0 : -1;
    case TROUBLE_LOST:
        return count->by_kind[TROUBLE_LOST] < ATTEMPTS || count->hosts < 2 ? 0 : -1;
    default:
        return -1;
    }
}

sluice_status retry_decide(const struct run *run, uint32_t p, const struct trouble_count *count,
                           size_t n_given_up, struct trouble *trouble, struct sluice_error *err)
{
    const char *speed = hook_text("SLUICE_TEST_RETRY"); /* divides what is waited */
    double seconds = -1;

    if (run->options.events.retry != NULL) {
        char *text = facts_text(run, p, count, n_given_up, trouble);
        sluice_status status =
            text == NULL ? error_nomem(err, "a failure")
                         : run->options.events.retry(run->options.events.ctx, text, &seconds, err);
        free(text);
        TRY(status);
    } else {
        seconds = decide_plainly(count, trouble);
    }
    if (seconds <= RETRY_HALT) {
        return error_set(err, trouble->code, "%s", trouble->message);
    }
    trouble->final = !(seconds >= 0);
    if (!trouble->final) {
        seconds = seconds > 86400 ? 86400 : seconds;
        seconds /= speed == NULL ? 1 : strtod(speed, NULL);
        trouble->delay_ns = (uint64_t)(seconds * 1e9);
    }
    return SLUICE_OK;
}
