/* contract_check: what a contract says of an edge as a whole, judged when all rows are there: how
 * many rows broke it, and how old the newest is. A time is compared with one that the pipeline
 * states, never with the clock: what a task gives must depend on its input and options alone, and a
 * repeated run must judge as the first one did. */
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <sluice_stage.h>

#include "cast_value.h"
#include "contract_time.h"
#include "gate.h"

struct check_config {
    const char *of, *time, *at;
    double limit;
    int64_t max_age; /* nanoseconds */
    int32_t unit, action;
};
enum { ACTION_HALT, ACTION_WARN };

static const struct sluice_option options[] = {
    { .name = "of",
      .doc = "Node before the contract: its rows that are not here broke it.",
      .type = SLUICE_OPT_NODE,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .offset = offsetof(struct check_config, of) },
    { .name = "limit",
      .doc = "Largest share of rows that may break the contract; -1 is no limit.",
      .def = "-1",
      .type = SLUICE_OPT_FLOAT,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .min = -1,
      .max = 1,
      .offset = offsetof(struct check_config, limit) },
    { .name = "time",
      .doc = "Column with the time of a row: ISO 8601 as text, or a whole number of `unit` since "
             "1970.",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct check_config, time) },
    { .name = "unit",
      .doc = "Of times that are numbers.",
      .def = "s",
      .choices = "s|ms|us|ns",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct check_config, unit) },
    { .name = "max_age",
      .doc = "How old the newest row may be at the time `at`.",
      .type = SLUICE_OPT_DURATION,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .min = 0,
      .max = 9e18,
      .offset = offsetof(struct check_config, max_age) },
    { .name = "at",
      .doc = "The time that ages are counted from, ISO 8601: an argument of the pipeline, as tasks "
             "know no clock.",
      .type = SLUICE_OPT_STRING,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .offset = offsetof(struct check_config, at) },
    { .name = "action",
      .doc = "What a broken rule does.",
      .def = "halt",
      .choices = "halt|warn",
      .type = SLUICE_OPT_ENUM,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .offset = offsetof(struct check_config, action) },
};

struct stage {
    const struct check_config *config;
    int64_t at; /* microseconds */
    struct cast_type type;
    int32_t index; /* of the time, or -1 */
};

struct counts {
    uint64_t rows, dated, unreadable;
    int64_t newest; /* microseconds, where dated > 0 */
};

struct worker {
    const struct stage *stage;
    struct counts counts;
};

static sluice_status check_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *given, void **shared, struct sluice_error *err)
{
    const struct check_config *config = given;
    struct stage *stage;
    char message[300];
    int64_t at = 0;
    sluice_status status;

    (void)api;
    (void)host;
    if (config->limit >= 0 && config->of == NULL) {
        return sluice_fail(err, SLUICE_E_CONFIG, "of",
                           "a limit needs the node whose rows it is a share of: of = docs");
    }
    if (config->time != NULL && config->at == NULL) {
        return sluice_fail(err, SLUICE_E_CONFIG, "at",
                           "freshness needs `at`, the time that ages are counted from, as tasks "
                           "know no clock: at = a.now with s.args { now = { \"string\" } }, and "
                           "now=$(date -u +%FT%TZ) on the command line");
    }
    if (config->at != NULL && !contract_time_read(config->at, strlen(config->at), &at)) {
        (void)snprintf(message, sizeof message,
                       "found \"%.80s\", expected a time such as 2026-03-01T10:00:00Z", config->at);
        return sluice_fail(err, SLUICE_E_CONFIG, "at", message);
    }
    status = sluice_shared_new(config, sizeof(struct stage), shared, err);
    if (status == SLUICE_OK) {
        stage = *shared;
        stage->at = at;
    }
    return status;
}

static sluice_status check_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct stage *stage = shared;
    const char *time = stage->config->time;
    char message[300];
    sluice_status status = SLUICE_OK;

    stage->index = -1;
    if (time == NULL) {
        return SLUICE_OK;
    }
    status = plan->need(plan, 0, time, "", 0, &stage->index, err);
    for (uint32_t k = 0; status == SLUICE_OK; k++) {
        const char *name;
        const char *type;
        status = plan->column(plan, 0, k, &name, &type);
        if (status != SLUICE_OK || (name[0] != '\0' && strcmp(name, time) != 0)) {
            continue;
        }
        if (cast_type_parse(type, &stage->type) && name[0] != '\0' &&
            (stage->type.kind == CAST_TEXT || stage->type.kind == CAST_INT ||
             stage->type.kind == CAST_UINT)) {
            return SLUICE_OK;
        }
        (void)snprintf(message, sizeof message,
                       "the column '%.80s' is %.80s, expected times as texts (ISO 8601) or whole "
                       "numbers",
                       time, name[0] == '\0' ? "hidden" : type);
        return sluice_fail(err, SLUICE_E_SCHEMA, time, message);
    }
    return status;
}

/* ---- rows ---- */

static bool time_of(const struct stage *stage, const struct cast_value *value, int64_t *micros)
{
    static const int64_t per_second[] = { 1, 1000, 1000000, 1000000000 };
    int64_t unit = per_second[stage->config->unit];
    int64_t number;

    if (value->is == VALUE_TEXT) {
        return contract_time_read(value->text, value->n, micros);
    }
    if (value->magnitude > (uint64_t)INT64_MAX / 1000000) {
        if (unit < 1000000 || value->magnitude > (uint64_t)INT64_MAX) {
            return false;
        }
    }
    number = value->negative ? -(int64_t)value->magnitude : (int64_t)value->magnitude;
    *micros = unit <= 1000000 ? number * (1000000 / unit) : number / (unit / 1000000);
    return true;
}

static sluice_status check_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct counts *counts = &worker->counts;

    (void)emit;
    counts->rows += (uint64_t)batch->n;
    for (int64_t i = 0; worker->stage->index >= 0 && i < batch->n; i++) {
        struct cast_value value;
        int64_t micros;
        if (!cast_read(worker->stage->type, batch->array->children[worker->stage->index],
                       sluice_row(batch, i), &value)) {
            return sluice_nomem(err);
        }
        if (value.is == VALUE_NONE || !time_of(worker->stage, &value, &micros)) {
            counts->unreadable++;
        } else {
            counts->newest =
                counts->dated == 0 || micros > counts->newest ? micros : counts->newest;
            counts->dated++;
        }
        free(value.own);
    }
    return SLUICE_OK;
}

/* ---- state ---- */

static sluice_status check_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;
    sluice_status status = io->write(io, &worker->counts, sizeof worker->counts);

    return status == SLUICE_OK
               ? SLUICE_OK
               : sluice_fail(err, status, "", "the counts of a contract can't be saved");
}

static sluice_status check_merge(void *state, struct sluice_io *io, uint64_t version,
                                 struct sluice_error *err)
{
    struct worker *worker = state;
    struct counts *sum = &worker->counts;
    struct counts more;
    sluice_status status = io->read(io, &more, sizeof more);

    (void)version;
    if (status != SLUICE_OK || more.rows > INT64_MAX - sum->rows || more.dated > more.rows ||
        more.unreadable > more.rows - more.dated) {
        return sluice_fail(err, status != SLUICE_OK ? status : SLUICE_E_DATA, "",
                           "the saved counts of a contract are damaged");
    }
    if (more.dated > 0 && (sum->dated == 0 || more.newest > sum->newest)) {
        sum->newest = more.newest;
    }
    sum->rows += more.rows;
    sum->dated += more.dated;
    sum->unreadable += more.unreadable;
    return SLUICE_OK;
}

static sluice_status check_load(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    struct worker *worker = state;

    memset(&worker->counts, 0, sizeof worker->counts);
    return check_merge(state, io, version, err);
}

/* ---- judge ---- */

__attribute__((format(printf, 3, 4))) static void
broken(const struct stage *stage, struct sluice_verdict_io *io, const char *format, ...)
{
    size_t used = strnlen(io->message, sizeof io->message - 1);
    va_list arguments;

    if (used > 0 && used < sizeof io->message - 3) {
        used += (size_t)snprintf(io->message + used, sizeof io->message - used, "; ");
    }
    va_start(arguments, format);
    (void)vsnprintf(io->message + used, sizeof io->message - used, format, arguments);
    va_end(arguments);
    io->outcome = stage->config->action == ACTION_WARN ? SLUICE_GATE_WARN : SLUICE_GATE_HALT;
}

static void judge_age(const struct stage *stage, const struct counts *counts,
                      struct sluice_verdict_io *io)
{
    char newest[40];
    int64_t age;

    if (stage->config->time == NULL) {
        return;
    }
    if (counts->dated == 0) {
        broken(
            stage, io,
            "freshness can't be judged: none of %" PRIu64
            " rows has a time in '%.80s' (ISO 8601, or a whole number). Likely cause: no rows, or "
            "times of another form",
            counts->rows, stage->config->time);
        return;
    }
    contract_time_print(counts->newest, newest);
    age = stage->at - counts->newest;
    if (age / 1000 > stage->config->max_age / 1000000) {
        broken(stage, io,
               "the newest row is of %s by '%.80s', %.1f hours before %.40s, expected max_age = "
               "%.1f hours or less%s. Likely cause: a part of the input did not come",
               newest, stage->config->time, (double)age / 3.6e9, stage->config->at,
               (double)stage->config->max_age / 3.6e12,
               counts->unreadable > 0 ? " (some rows have no readable time)" : "");
    }
}

static sluice_status check_judge(void *state, struct sluice_verdict_io *io,
                                 struct sluice_error *err)
{
    const struct worker *worker = state;
    const struct stage *stage = worker->stage;
    double share;
    int64_t of;

    io->outcome = SLUICE_GATE_PASS;
    io->message[0] = '\0';
    judge_age(stage, &worker->counts, io);
    if (stage->config->limit < 0) {
        return SLUICE_OK;
    }
    of = io->count(io, stage->config->of);
    if (of < 0 || (uint64_t)of < worker->counts.rows) {
        return sluice_fail(err, SLUICE_E_CONFIG, "of",
                           "how many rows came to the contract is not known at this gate; of must "
                           "name the node before it");
    }
    share = of == 0 ? 0 : (double)((uint64_t)of - worker->counts.rows) / (double)of;
    if (share > stage->config->limit) {
        broken(stage, io,
               "%" PRIu64 " of %" PRId64
               " rows (%.6g) break the contract, expected limit = %.6g or less: see `sluice why`",
               (uint64_t)of - worker->counts.rows, of, share, stage->config->limit);
    }
    return SLUICE_OK;
}

static sluice_status check_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

const struct sluice_stage contract_check_stage = {
    .size = sizeof contract_check_stage,
    .name = "contract_check",
    .version = "1.0",
    .summary =
        "What a contract says of all rows together: how many break it, how old the newest is",
    .doc = "What `s.contract` puts into the pipeline for `limit` and `freshness`, judged once all "
           "rows are counted, before anything is published; changing a limit runs nothing again.",
    .example = "docs | s.contract { freshness = { column = \"crawled\", max_age = \"36h\", at = "
               "\"2026-03-01\" }, limit = 0.001 }",
    .role = SLUICE_ROLE_GATE,
    .mode = SLUICE_MODE_ORDERED,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct check_config),
    .state_version = 1,
    .bytes_worker = 4096,
    .open = check_open,
    .prepare = check_prepare,
    .worker_open = check_worker_open,
    .process = check_process,
    .save = check_save,
    .load = check_load,
    .merge = check_merge,
    .judge = check_judge,
    .worker_close = free,
    .close = free,
};
