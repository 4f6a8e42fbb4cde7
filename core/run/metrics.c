/* Live counters of a run: see metrics.h. */
#include "run/metrics.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

sluice_status metrics_init(struct metrics *metrics, const struct plan *plan,
                           struct sluice_error *err)
{
    metrics->n_phases = plan->n_phases;
    metrics->phases = calloc(plan->n_phases + 1, sizeof *metrics->phases);
    if (metrics->phases == NULL) {
        return error_nomem(err, "metrics");
    }
    for (uint32_t p = 0; p < plan->n_phases; p++) {
        metrics->phases[p].ops = calloc(plan->phases[p]->n_ops + 1, sizeof *metrics->phases[p].ops);
        if (metrics->phases[p].ops == NULL) {
            return error_nomem(err, "metrics");
        }
    }
    return SLUICE_OK;
}

void metrics_deinit(struct metrics *metrics)
{
    for (uint32_t p = 0; metrics->phases != NULL && p < metrics->n_phases; p++) {
        free(metrics->phases[p].ops);
    }
    free(metrics->phases);
    metrics->phases = NULL;
}

sluice_status metrics_part_init(struct phase_metrics *part, uint32_t n_ops,
                                struct sluice_error *err)
{
    memset(part, 0, sizeof *part);
    part->ops = calloc(n_ops + 1u, sizeof *part->ops);
    return part->ops == NULL ? error_nomem(err, "metrics") : SLUICE_OK;
}

void metrics_part_deinit(struct phase_metrics *part)
{
    free(part->ops);
    part->ops = NULL;
}

static void move_one(atomic_uint_fast64_t *part, atomic_uint_fast64_t *to,
                     atomic_uint_fast64_t *total)
{
    uint_fast64_t n = atomic_exchange_explicit(part, 0, memory_order_relaxed);

    if (n != 0) {
        METRIC_ADD(*to, n);
        if (total != NULL) {
            METRIC_ADD(*total, n);
        }
    }
}

void metrics_move(struct phase_metrics *part, uint32_t n_ops, struct phase_metrics *to,
                  struct phase_metrics *total)
{
#define MOVE(field) move_one(&part->field, &to->field, total == NULL ? NULL : &total->field)
    MOVE(source.work_ns);
    MOVE(source.wait_ns);
    MOVE(commit.work_ns);
    MOVE(commit.wait_ns);
    MOVE(raw_bytes);
    MOVE(text_bytes);
    for (uint32_t i = 0; i < n_ops; i++) {
        MOVE(ops[i].rows_in);
        MOVE(ops[i].rows_out);
        MOVE(ops[i].bytes_in);
        MOVE(ops[i].bytes_out);
        MOVE(ops[i].time.work_ns);
        MOVE(ops[i].time.wait_ns);
        MOVE(ops[i].asks.answered);
        MOVE(ops[i].asks.refused);
        MOVE(ops[i].asks.retries);
        MOVE(ops[i].asks.hedges);
        MOVE(ops[i].asks.bytes_out);
        MOVE(ops[i].asks.bytes_in);
        MOVE(ops[i].asks.known);
    }
#undef MOVE
}

uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* ---- work and waiting ---- */

/* Two readings in a span of half a millisecond are 0.4 % of it; a thread that is set aside for
 * another misses more than that. */
#define SPAN_SHORT_NS UINT64_C(500000)
#define ASSUMED_MAX_NS \
    UINT64_C(5000000) /* what short waits can add up to before the next reading */

static uint64_t thread_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* How much of the ns up to now was work. */
static uint64_t work_of(struct meter *meter, uint64_t ns)
{
    uint64_t before;
    uint64_t work;

    if (ns < SPAN_SHORT_NS && meter->assumed_ns < ASSUMED_MAX_NS) {
        meter->assumed_ns += ns;
        return ns;
    }
    before = meter->cpu_ns + meter->assumed_ns;
    meter->cpu_ns = thread_ns();
    meter->assumed_ns = 0;
    work = meter->cpu_ns > before ? meter->cpu_ns - before : 0;
    return work < ns ? work : ns;
}

void meter_begin(struct meter *meter)
{
    uint64_t now = clock_ns();

    (void)work_of(meter, now - meter->wall_ns);
    meter->wall_ns = now;
}

uint64_t meter_end(struct meter *meter, struct time_spent *time, bool away)
{
    uint64_t now = clock_ns();
    uint64_t ns = now - meter->wall_ns;
    uint64_t work = work_of(meter, ns);

    meter->wall_ns = now;
    METRIC_ADD(time->work_ns, away ? ns : work);
    METRIC_ADD(time->wait_ns, away ? 0 : ns - work);
    return ns;
}
