/* Readers that read at random, each wrong in one way: what the conformance kit must name. A file of
 * whatever is cut into units of 100 bytes; a unit is a row that says how many bytes it has and what
 * they add up to. */
#include <stdio.h>

#include "bad.h"
#include "sluice_rows.h"

#define UNIT 100u

struct units_shared {
    const struct sluice_host_api *api;
    struct sluice_host *host;
};

struct units_worker {
    const struct units_shared *shared;
    void *held;
    uint64_t scanned;
    const unsigned char *kept; /* bytes of an earlier answer */
};

static sluice_status units_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    (void)shared;
    return plan->add(plan, "text", "utf8", NULL, err);
}

static sluice_status units_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct units_worker *worker = calloc(1, sizeof *worker);

    (void)err;
    *out = worker;
    if (worker == NULL) {
        return SLUICE_E_NOMEM;
    }
    worker->shared = shared;
    return SLUICE_OK;
}

static sluice_status units_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **out, struct sluice_error *err)
{
    struct units_shared *shared = calloc(1, sizeof *shared);

    (void)config;
    (void)err;
    if (shared == NULL) {
        return SLUICE_E_NOMEM;
    }
    *shared = (struct units_shared){ api, host };
    *out = shared;
    return SLUICE_OK;
}

static sluice_status give_units(const struct sluice_file *file, struct sluice_emit *emit,
                                uint64_t overlap, int64_t rows)
{
    sluice_status status = SLUICE_OK;

    for (uint64_t at = 0; at < file->bytes && status == SLUICE_OK; at += UNIT) {
        uint64_t end = at + UNIT < file->bytes ? at + UNIT : file->bytes;
        struct sluice_unit unit = {
            .size = sizeof unit, .begin = at > 0 ? at - overlap : at, .end = end, .rows = rows
        };
        status = emit->unit(emit, &unit);
    }
    return status;
}

static sluice_status good_survey(void *worker, const struct sluice_file *file,
                                 struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker;
    (void)err;
    return give_units(file, emit, 0, 1);
}

static sluice_status overlapping_survey(void *worker, const struct sluice_file *file,
                                        struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker;
    (void)err;
    return give_units(file, emit, 1, 1);
}

static sluice_status counting_survey(void *worker, const struct sluice_file *file,
                                     struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker;
    (void)err;
    return give_units(file, emit, 0, 2);
}

static sluice_status ask(struct sluice_emit *emit, uint64_t offset, uint64_t n)
{
    struct sluice_extent extent = { offset, n };
    struct sluice_ask ask = {
        .size = sizeof ask, .kind = SLUICE_ASK_BYTES, .payload = &extent, .n = sizeof extent
    };

    return emit->ask(emit, &ask);
}

static sluice_status good_scan(void *worker, struct sluice_scan *scan, struct sluice_emit *emit,
                               struct sluice_error *err)
{
    (void)worker;
    (void)err;
    return ask(emit, scan->begin, scan->end - scan->begin);
}

static sluice_status beyond_scan(void *worker, struct sluice_scan *scan, struct sluice_emit *emit,
                                 struct sluice_error *err)
{
    (void)worker;
    (void)err;
    return ask(emit, scan->begin, scan->file->bytes);
}

static sluice_status endless_resume(void *worker, const struct sluice_answers *answers,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker;
    (void)err;
    return ask(emit, answers->scan->begin, 1);
}

static sluice_status give(const unsigned char *data, uint64_t n, uint64_t more,
                          struct sluice_emit *emit, struct sluice_error *err)
{
    struct sluice_rows rows = sluice_rows_begin("t");
    uint64_t sum = more;
    char text[64];

    for (uint64_t i = 0; i < n; i++) {
        sum = sum * 31 + data[i];
    }
    snprintf(text, sizeof text, "%llu bytes, %llx", (unsigned long long)n, (unsigned long long)sum);
    sluice_rows_add(&rows, 0, text, strlen(text));
    sluice_rows_next(&rows);
    return sluice_rows_emit(&rows, SLUICE_OK, emit, err);
}

static sluice_status good_resume(void *worker, const struct sluice_answers *answers,
                                 struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker;
    return give((const unsigned char *)answers->items->data, answers->items->n, 0, emit, err);
}

static sluice_status remembering_resume(void *state, const struct sluice_answers *answers,
                                        struct sluice_emit *emit, struct sluice_error *err)
{
    struct units_worker *worker = state;

    return give((const unsigned char *)answers->items->data, answers->items->n, worker->scanned++,
                emit, err);
}

static sluice_status keeping_resume(void *state, const struct sluice_answers *answers,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    struct units_worker *worker = state;
    const volatile unsigned char *kept = worker->kept;
    uint64_t before = kept != NULL ? kept[0] : 0;

    worker->kept = (const unsigned char *)answers->items->data;
    return give(worker->kept, answers->items->n, before, emit, err);
}

/* Frees in resume alone. */
static sluice_status holding_scan(void *state, struct sluice_scan *scan, struct sluice_emit *emit,
                                  struct sluice_error *err)
{
    struct units_worker *worker = state;

    worker->held = worker->shared->api->alloc(worker->shared->host, 1000);
    return worker->held == NULL ? SLUICE_E_NOMEM : good_scan(state, scan, emit, err);
}

static sluice_status holding_resume(void *state, const struct sluice_answers *answers,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    struct units_worker *worker = state;

    worker->shared->api->free(worker->shared->host, worker->held);
    worker->held = NULL;
    return good_resume(state, answers, emit, err);
}

/* In two rounds, the second of which asks for the halves, the later one first: nothing is wrong. */
static sluice_status rounds_scan(void *worker, struct sluice_scan *scan, struct sluice_emit *emit,
                                 struct sluice_error *err)
{
    (void)worker;
    (void)err;
    return ask(emit, scan->begin, 1);
}

static sluice_status rounds_resume(void *state, const struct sluice_answers *answers,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    const struct sluice_scan *scan = answers->scan;
    uint64_t half = (scan->end - scan->begin) / 2;
    const struct sluice_answer *later = answers->items;
    const struct sluice_answer *first;
    char unit[UNIT];
    sluice_status status;

    (void)state;
    if (answers->n == 1) {
        status = ask(emit, scan->begin + half, scan->end - scan->begin - half);
        return status == SLUICE_OK ? ask(emit, scan->begin, half) : status;
    }
    first = (const struct sluice_answer *)((const char *)later + answers->stride);
    memcpy(unit, first->data, first->n);
    memcpy(unit + first->n, later->data, later->n);
    return give((const unsigned char *)unit, first->n + later->n, 0, emit, err);
}

#define UNITS(stage_name, survey_fn, scan_fn, resume_fn)                                 \
    static const struct sluice_stage stage_name = { .size = sizeof stage_name,           \
                                                    .name = #stage_name,                 \
                                                    .version = "1",                      \
                                                    .summary = "A reader that is wrong", \
                                                    .role = SLUICE_ROLE_READER,          \
                                                    .mode = SLUICE_MODE_STATELESS,       \
                                                    .cut = "own",                        \
                                                    .open = units_open,                  \
                                                    .close = free,                       \
                                                    .prepare = units_prepare,            \
                                                    .worker_open = units_worker_open,    \
                                                    .worker_close = free,                \
                                                    .survey = survey_fn,                 \
                                                    .scan = scan_fn,                     \
                                                    .resume = resume_fn }

UNITS(units_fine, good_survey, good_scan, good_resume);
UNITS(units_overlap, overlapping_survey, good_scan, good_resume);
UNITS(units_miscount, counting_survey, good_scan, good_resume);
UNITS(units_beyond, good_survey, beyond_scan, good_resume);
UNITS(units_endless, good_survey, good_scan, endless_resume);
UNITS(units_remember, good_survey, good_scan, remembering_resume);
UNITS(units_keep, good_survey, good_scan, keeping_resume);
UNITS(units_hold, good_survey, holding_scan, holding_resume);
UNITS(units_rounds, good_survey, rounds_scan, rounds_resume);

static const struct sluice_stage *const stages[] = { &units_fine,   &units_overlap, &units_miscount,
                                                     &units_beyond, &units_endless, &units_remember,
                                                     &units_keep,   &units_hold,    &units_rounds,
                                                     NULL };
static const struct sluice_plugin plugin = { .size = sizeof plugin,
                                             .abi_major = SLUICE_ABI_MAJOR,
                                             .abi_minor_built = SLUICE_ABI_MINOR,
                                             .abi_minor_needed = 1,
                                             .verdict_stride = sizeof(struct sluice_verdict),
                                             .name = "bad_units",
                                             .version = "1",
                                             .stages = stages };

SLUICE_EXPORT const struct sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
