/* What all processes did: see tally.h. */
#include "run/facts/tally.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    struct run *run;
    struct tally *tally;
    bool mine;        /* lines of this process: counted in run->metrics already */
    uint32_t threads; /* of the process whose lines are read */
    double last;      /* of its attempts, in seconds after its begin */
    json_t *hosts;
};

static int32_t phase_of(const struct plan *plan, const char *name)
{
    for (uint32_t p = 0; name != NULL && p < plan->n_phases; p++) {
        if (strcmp(plan->phases[p]->name, name) == 0) {
            return (int32_t)p;
        }
    }
    return -1;
}

static uint64_t item(const json_t *array, size_t i)
{
    return (uint64_t)json_integer_value(json_array_get(array, i));
}

/* Those of put_asks(), as one object for each op; in older logs eight numbers without names, in
 * this order. */
static void add_asks(struct phase_metrics *metrics, uint32_t n_ops, const json_t *asks)
{
    static const char *const names[] = { "op",        "answered", "refused", "retries",
                                         "bytes_out", "bytes_in", "known",   "hedges" };
    bool named = json_is_object(json_array_get(asks, 0));
    size_t step = named ? 1 : 8;

    for (size_t k = 0; k + step <= json_array_size(asks); k += step) {
        uint64_t of[8];
        for (size_t i = 0; i < 8; i++) {
            of[i] = named ? (uint64_t)json_integer_value(
                                json_object_get(json_array_get(asks, k), names[i]))
                          : item(asks, k + i);
        }
        if (of[0] < n_ops) {
            struct ask_metrics *to = &metrics->ops[of[0]].asks;
            METRIC_ADD(to->answered, of[1]);
            METRIC_ADD(to->refused, of[2]);
            METRIC_ADD(to->retries, of[3]);
            METRIC_ADD(to->bytes_out, of[4]);
            METRIC_ADD(to->bytes_in, of[5]);
            METRIC_ADD(to->known, of[6]);
            METRIC_ADD(to->hedges, of[7]);
        }
    }
}

/* The numbers of put_work() in attempts.c, back into counters. */
static void add_work(struct phase_metrics *metrics, uint32_t n_ops, const json_t *line)
{
    const json_t *times = json_object_get(line, "times");
    const json_t *read = json_object_get(line, "read");
    const json_t *ops = json_object_get(line, "ops");

    METRIC_ADD(metrics->source.work_ns, item(times, 0));
    METRIC_ADD(metrics->source.wait_ns, item(times, 1));
    METRIC_ADD(metrics->commit.work_ns, item(times, 2));
    METRIC_ADD(metrics->commit.wait_ns, item(times, 3));
    METRIC_ADD(metrics->raw_bytes, item(read, 0));
    METRIC_ADD(metrics->text_bytes, item(read, 1));
    for (uint32_t i = 0; i < n_ops && json_array_size(ops) == 6 * (size_t)n_ops; i++) {
        struct op_metrics *op = &metrics->ops[i];
        METRIC_ADD(op->rows_in, item(ops, 6 * (size_t)i));
        METRIC_ADD(op->rows_out, item(ops, 6 * (size_t)i + 1));
        METRIC_ADD(op->bytes_in, item(ops, 6 * (size_t)i + 2));
        METRIC_ADD(op->bytes_out, item(ops, 6 * (size_t)i + 3));
        METRIC_ADD(op->time.work_ns, item(ops, 6 * (size_t)i + 4));
        METRIC_ADD(op->time.wait_ns, item(ops, 6 * (size_t)i + 5));
    }
    add_asks(metrics, n_ops, json_object_get(line, "asks"));
}

static bool is_outcome(const json_t *line, const char *outcome)
{
    const char *text = json_string_value(json_object_get(line, "outcome"));
    return text != NULL && strcmp(text, outcome) == 0;
}

static void add_attempt(struct reading *reading, const json_t *line)
{
    const struct plan *plan = reading->run->plan;
    int32_t p = phase_of(plan, json_string_value(json_object_get(line, "phase")));
    json_int_t peak = json_integer_value(json_object_get(line, "rss"));
    struct tally_phase *phase;

    if (peak > 0 && (uint64_t)peak > reading->tally->peak_bytes) {
        reading->tally->peak_bytes = (uint64_t)peak;
    }
    if (p < 0 || is_outcome(line, ATTEMPT_FOUND)) {
        return;
    }
    phase = &reading->tally->phases[p];
    phase->attempts += !is_outcome(line, ATTEMPT_LOST_WORKER);
    if (is_outcome(line, ATTEMPT_COMMITTED)) {
        phase->committed++;
        phase->cpu_seconds += json_number_value(json_object_get(line, "cpu"));
        phase->wall_seconds += json_number_value(json_object_get(line, "wall"));
    }
    phase->failed += is_outcome(line, ATTEMPT_FAILED);
    phase->lost += is_outcome(line, ATTEMPT_LOST_WORKER) || is_outcome(line, ATTEMPT_LOST_RACE) ||
                   is_outcome(line, ATTEMPT_LOST_TWIN) || is_outcome(line, ATTEMPT_SPECULATIVE);
    phase->resumed += json_object_get(line, "from_row") != NULL;
    phase->twins += json_is_true(json_object_get(line, "twin"));
    if (!reading->mine) {
        add_work(&reading->run->metrics.phases[p], plan->phases[p]->n_ops, line);
    }
}

static void each_line(void *ctx, const json_t *line)
{
    struct reading *reading = ctx;
    const char *worker = json_string_value(json_object_get(line, "worker"));

    if (worker != NULL) { /* the begin of a file */
        const char *host = json_string_value(json_object_get(line, "host"));
        reading->mine = reading->run->crew != NULL &&
                        strcmp(worker, member_id(crew_member(reading->run->crew))) == 0;
        reading->tally->processes++;
        json_object_set_new(reading->hosts, host == NULL ? "" : host, json_true());
    } else if (json_object_get(line, "left") != NULL) {
        if (!reading->mine) {
            reading->tally->core_seconds +=
                json_number_value(json_object_get(line, "seconds")) *
                (double)json_integer_value(json_object_get(line, "workers"));
        }
    } else {
        add_attempt(reading, line);
    }
}

sluice_status tally_open(struct run *run, struct tally *tally, struct sluice_error *err)
{
    struct reading reading = { .run = run, .tally = tally, .hosts = json_object() };
    sluice_status status = SLUICE_OK;

    memset(tally, 0, sizeof *tally);
    tally->phases = calloc(run->plan->n_phases + 1u, sizeof *tally->phases);
    if (tally->phases == NULL || reading.hosts == NULL) {
        status = error_nomem(err, "the report");
    } else if (run->execution != 0) {
        status = attempts_flush(run->attempts, err);
    }
    if (status == SLUICE_OK && run->execution != 0) {
        status = attempts_read(run->options.run_dir, run->execution, UINT64_MAX, each_line,
                               &reading, err);
        tally->hosts = (uint32_t)json_object_size(reading.hosts);
    }
    json_decref(reading.hosts);
    return status;
}

void tally_deinit(struct tally *tally)
{
    free(tally->phases);
    tally->phases = NULL;
}
