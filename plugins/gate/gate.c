/* gate_check - observes the rows of an edge and judges them when all are counted: how many, which
 * share of another node's, which share of nulls, how many against an earlier snapshot. All counts
 * are integers that add up over tasks; thresholds only matter at the barrier, so changing one runs
 * nothing again. A null in a required column halts at once, as no later row can mend it. */
#include "gate.h"
#include "gate_schema.h"
#include "sluice_simple.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#define ACTION_WARN 1

#define LIMIT(member, text, largest)                                         \
    {                                                                        \
        .name = #member, .doc = text, .def = "-1", .type = SLUICE_OPT_FLOAT, \
        .flags = SLUICE_OPTF_NO_OUTPUT, .min = -1, .max = largest,           \
        .offset = offsetof(struct gate_config, member)                       \
    }

static const struct sluice_option options[] = {
    { .name = "rows_min",
      .doc = "Fewest rows; -1 is no limit.",
      .def = "-1",
      .type = SLUICE_OPT_INT,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .min = -1,
      .max = 1e15,
      .offset = offsetof(struct gate_config, rows_min) },
    { .name = "rows_max",
      .doc = "Most rows; -1 is no limit.",
      .def = "-1",
      .type = SLUICE_OPT_INT,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .min = -1,
      .max = 1e15,
      .offset = offsetof(struct gate_config, rows_max) },
    LIMIT(pass_rate_min, "Smallest share of the rows that left the node `of`; -1 is no limit.",
          1e9),
    LIMIT(pass_rate_max, "Largest share of the rows that left the node `of`; -1 is no limit.", 1e9),
    { .name = "of",
      .doc = "Node whose rows the pass rate is a share of.",
      .type = SLUICE_OPT_NODE,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .offset = offsetof(struct gate_config, of) },
    { .name = "nulls",
      .doc = "Columns whose nulls are counted, for null_max.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct gate_config, nulls) },
    { .name = "null_max",
      .doc = "Largest share of nulls by column, 0 to 1; the columns must be among `nulls`.",
      .type = SLUICE_OPT_MAP,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .offset = offsetof(struct gate_config, null_max) },
    { .name = "require",
      .doc = "Columns in which the first null halts the run.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct gate_config, require) },
    { .name = "schema",
      .doc = "Types that columns must have (\"utf8\", \"int64|float64\"); nulls don't matter here. "
             "Checked before any data.",
      .type = SLUICE_OPT_MAP,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .offset = offsetof(struct gate_config, schema) },
    { .name = "baseline",
      .doc = "Snapshot PATH@N whose rows are compared with.",
      .type = SLUICE_OPT_PATH,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .offset = offsetof(struct gate_config, baseline) },
    LIMIT(rows_ratio_min, "Smallest ratio of rows to the baseline's; -1 is no limit.", 1e15),
    LIMIT(rows_ratio_max, "Largest ratio of rows to the baseline's; -1 is no limit.", 1e15),
    { .name = "action",
      .doc = "What a missed threshold does; a null in a required column always halts.",
      .def = "halt",
      .choices = "halt|warn",
      .type = SLUICE_OPT_ENUM,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .offset = offsetof(struct gate_config, action) },
};

/* A column whose nulls are looked for. */
struct column {
    const char *name;
    double most; /* share of nulls; below 0 = no limit */
    int32_t index;
    bool required;
};

struct stage {
    const struct gate_config *config;
    struct column *columns;
    uint64_t n_columns;
    int64_t baseline_rows;
    int32_t row, id; /* places of _row and id, -1 = absent; for messages */
};

struct worker {
    const struct stage *stage;
    uint64_t rows;
    uint64_t *nulls; /* per column */
};

static sluice_status nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a gate");
}

/* ---- open ---- */

static struct column *column_of(struct stage *stage, const char *name, bool add)
{
    for (uint64_t k = 0; k < stage->n_columns; k++) {
        if (strcmp(stage->columns[k].name, name) == 0) {
            return &stage->columns[k];
        }
    }
    if (!add) {
        return NULL;
    }
    stage->columns[stage->n_columns] = (struct column){ .name = name, .most = -1, .index = -1 };
    return &stage->columns[stage->n_columns++];
}

static sluice_status read_columns(struct stage *stage, struct sluice_error *err)
{
    const struct gate_config *config = stage->config;

    stage->columns =
        calloc((size_t)(config->nulls.n + config->require.n) + 1, sizeof *stage->columns);
    if (stage->columns == NULL) {
        return nomem(err);
    }
    for (uint64_t i = 0; i < config->nulls.n; i++) {
        column_of(stage, config->nulls.items[i], true);
    }
    for (uint64_t i = 0; i < config->require.n; i++) {
        column_of(stage, config->require.items[i], true)->required = true;
    }
    for (uint64_t i = 0; i < config->null_max.n; i++) {
        struct column *column = column_of(stage, config->null_max.keys[i], false);
        sluice_status status;
        if (column == NULL) {
            char message[300];
            snprintf(message, sizeof message,
                     "null_max has a limit for the column '%.80s', whose nulls are not counted; "
                     "add it to `nulls`",
                     config->null_max.keys[i]);
            return sluice_fail(err, SLUICE_E_CONFIG, "null_max", message);
        }
        status = gate_share("null_max", config->null_max.keys[i], config->null_max.values[i],
                            &column->most, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

static sluice_status check_config(const struct gate_config *config, struct sluice_error *err)
{
    bool pass_rate = config->pass_rate_min >= 0 || config->pass_rate_max >= 0;
    bool ratio = config->rows_ratio_min >= 0 || config->rows_ratio_max >= 0;

    if (pass_rate && config->of == NULL) {
        return sluice_fail(err, SLUICE_E_CONFIG, "of",
                           "a pass rate needs the node whose rows it is a share of: of = docs");
    }
    if (ratio && config->baseline == NULL) {
        return sluice_fail(
            err, SLUICE_E_CONFIG, "baseline",
            "a ratio of rows needs the snapshot it is compared with: baseline = \"silver/web@12\"");
    }
    if ((config->rows_max >= 0 && config->rows_min > config->rows_max) ||
        (config->pass_rate_max >= 0 && config->pass_rate_min > config->pass_rate_max) ||
        (config->rows_ratio_max >= 0 && config->rows_ratio_min > config->rows_ratio_max)) {
        return sluice_fail(err, SLUICE_E_CONFIG, "",
                           "a smallest value is above its largest, so no run can pass");
    }
    return SLUICE_OK;
}

static void gate_close(void *shared)
{
    struct stage *stage = shared;

    free(stage->columns);
    free(stage);
}

static sluice_status gate_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *config, void **shared, struct sluice_error *err)
{
    struct stage *stage = calloc(1, sizeof *stage);
    sluice_status status;

    if (stage == NULL) {
        return nomem(err);
    }
    stage->config = config;
    status = check_config(stage->config, err);
    if (status == SLUICE_OK) {
        status = read_columns(stage, err);
    }
    if (status == SLUICE_OK && stage->config->baseline != NULL) {
        status = gate_baseline(api, host, stage->config->baseline, &stage->baseline_rows, err);
    }
    if (status != SLUICE_OK) {
        gate_close(stage);
        return status;
    }
    *shared = stage;
    return SLUICE_OK;
}

/* ---- prepare ---- */

static sluice_status gate_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct stage *stage = shared;
    const struct gate_schema schema = { .types = &stage->config->schema, .field = "schema" };
    sluice_status status = gate_schema_check(&schema, plan, err);

    stage->row = stage->id = -1;
    for (uint64_t k = 0; status == SLUICE_OK && k < stage->n_columns; k++) {
        status = plan->need(plan, 0, stage->columns[k].name, "", 0, &stage->columns[k].index, err);
    }
    if (status == SLUICE_OK && stage->config->require.n > 0) {
        status = plan->need(plan, 0, SLUICE_ROW, "uint64", 1, &stage->row, err);
        for (uint32_t k = 0; status == SLUICE_OK; k++) {
            const char *name;
            const char *type;
            status = plan->column(plan, 0, k, &name, &type);
            if (status != SLUICE_OK || name[0] == '\0') {
                break;
            }
            if (strcmp(name, "id") == 0 && gate_type_among(type, "utf8")) {
                status = plan->need(plan, 0, "id", "", 1, &stage->id, err);
            }
        }
    }
    return status;
}

/* ---- rows ---- */

static sluice_status halt(const struct stage *stage, const struct column *column,
                          const struct ArrowArray *array, int64_t row, struct sluice_error *err)
{
    char message[700];
    char place[80] = "";
    size_t n = 0;
    const char *id = stage->id >= 0 ? sluice_text(array->children[stage->id], row, &n) : "";

    if (stage->row >= 0) {
        snprintf(place, sizeof place, "row %" PRIu64 " of the split",
                 ((const uint64_t *)array->children[stage->row]->buffers[1])[row]);
    } else {
        snprintf(place, sizeof place, "row %lld of a batch", (long long)row);
    }
    snprintf(message, sizeof message,
             "the required column '%.100s' is null in %s%s%.*s%s. Likely cause: its records have "
             "lost this member or call it otherwise; see the file in an editor (a required column "
             "of s.contract says what it may be called now), or take the column out of `require`",
             column->name, place, n > 0 ? " (id '" : "", (int)(n < 200 ? n : 200), id,
             n > 0 ? "')" : "");
    return sluice_fail(err, SLUICE_E_HALT, column->name, message);
}

static sluice_status gate_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct stage *stage = worker->stage;

    (void)emit;
    for (uint64_t k = 0; k < stage->n_columns; k++) {
        const struct column *column = &stage->columns[k];
        const struct ArrowArray *values = batch->array->children[column->index];
        if (values->null_count == 0) {
            continue;
        }
        for (int64_t i = 0; i < batch->n; i++) {
            int64_t row = sluice_row(batch, i);
            if (sluice_is_null(values, row)) {
                if (column->required) {
                    return halt(stage, column, batch->array, row, err);
                }
                worker->nulls[k]++;
            }
        }
    }
    worker->rows += (uint64_t)batch->n;
    return SLUICE_OK;
}

/* ---- state: rows, then the nulls of each column, little-endian ---- */

static sluice_status put_number(struct sluice_io *io, uint64_t value)
{
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(value >> (8 * i));
    }
    return io->write(io, bytes, sizeof bytes);
}

static sluice_status add_number(struct sluice_io *io, uint64_t *sum, struct sluice_error *err)
{
    unsigned char bytes[8];
    uint64_t value = 0;
    sluice_status status = io->read(io, bytes, sizeof bytes);

    for (int i = 0; status == SLUICE_OK && i < 8; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    if (status != SLUICE_OK || value > INT64_MAX - *sum) {
        return sluice_fail(err, status != SLUICE_OK ? status : SLUICE_E_DATA, "",
                           "the saved counts of a gate are damaged");
    }
    *sum += value;
    return SLUICE_OK;
}

static sluice_status gate_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;
    sluice_status status = put_number(io, worker->rows);

    for (uint64_t k = 0; status == SLUICE_OK && k < worker->stage->n_columns; k++) {
        status = put_number(io, worker->nulls[k]);
    }
    return status == SLUICE_OK
               ? SLUICE_OK
               : sluice_fail(err, status, "", "the counts of a gate can't be saved");
}

static sluice_status gate_merge(void *state, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    struct worker *worker = state;
    sluice_status status = add_number(io, &worker->rows, err);

    (void)version;
    for (uint64_t k = 0; status == SLUICE_OK && k < worker->stage->n_columns; k++) {
        status = add_number(io, &worker->nulls[k], err);
    }
    return status;
}

static sluice_status gate_load(void *state, struct sluice_io *io, uint64_t version,
                               struct sluice_error *err)
{
    struct worker *worker = state;

    worker->rows = 0;
    memset(worker->nulls, 0, (size_t)worker->stage->n_columns * sizeof *worker->nulls);
    return gate_merge(state, io, version, err);
}

/* ---- judge ---- */

/* Appends one missed threshold to the message. */
__attribute__((format(printf, 3, 4))) static void
missed(const struct stage *stage, struct sluice_verdict_io *io, const char *format, ...)
{
    size_t used = strnlen(io->message, sizeof io->message - 1);
    va_list arguments;

    if (used > 0 && used < sizeof io->message - 1) {
        used += (size_t)snprintf(io->message + used, sizeof io->message - used, "; ");
    }
    if (used < sizeof io->message - 1) {
        va_start(arguments, format);
        vsnprintf(io->message + used, sizeof io->message - used, format, arguments);
        va_end(arguments);
    }
    io->outcome = stage->config->action == ACTION_WARN ? SLUICE_GATE_WARN : SLUICE_GATE_HALT;
}

static void judge_rows(const struct worker *worker, struct sluice_verdict_io *io)
{
    const struct gate_config *config = worker->stage->config;

    if (config->rows_min >= 0 && worker->rows < (uint64_t)config->rows_min) {
        missed(worker->stage, io,
               "rows = %" PRIu64 ", expected rows_min = %" PRId64
               " or more. Likely cause: less input than usual, or a stage before the gate drops "
               "more: see "
               "`sluice report` and `sluice why`",
               worker->rows, config->rows_min);
    }
    if (config->rows_max >= 0 && worker->rows > (uint64_t)config->rows_max) {
        missed(worker->stage, io,
               "rows = %" PRIu64 ", expected rows_max = %" PRId64
               " or fewer. Likely cause: more input than usual, or a filter or deduplication that "
               "no longer drops: "
               "see `sluice report`",
               worker->rows, config->rows_max);
    }
}

static sluice_status judge_pass_rate(const struct worker *worker, struct sluice_verdict_io *io,
                                     struct sluice_error *err)
{
    const struct gate_config *config = worker->stage->config;
    int64_t of;
    double rate;

    if (config->pass_rate_min < 0 && config->pass_rate_max < 0) {
        return SLUICE_OK;
    }
    of = io->count(io, config->of);
    if (of < 0) {
        char message[300];
        snprintf(message, sizeof message,
                 "how many rows left the node '%.100s' is not known at this gate; of must name a "
                 "node before it",
                 config->of);
        return sluice_fail(err, SLUICE_E_CONFIG, "of", message);
    }
    if (of == 0) {
        missed(worker->stage, io,
               "pass_rate can't be judged: no row left '%.100s'. Likely cause: the input is empty",
               config->of);
        return SLUICE_OK;
    }
    rate = (double)worker->rows / (double)of;
    if (config->pass_rate_min >= 0 && rate < config->pass_rate_min) {
        missed(worker->stage, io,
               "pass_rate = %.6g (%" PRIu64 " of the %" PRId64
               " rows that left '%.100s'), expected pass_rate_min = %.6g or more. Likely cause: a "
               "filter between "
               "them became stricter or the input changed: see `sluice why` for the reasons",
               rate, worker->rows, of, config->of, config->pass_rate_min);
    }
    if (config->pass_rate_max >= 0 && rate > config->pass_rate_max) {
        missed(worker->stage, io,
               "pass_rate = %.6g (%" PRIu64 " of the %" PRId64
               " rows that left '%.100s'), expected pass_rate_max = %.6g or less. Likely cause: a "
               "filter between "
               "them no longer drops: see `sluice report`",
               rate, worker->rows, of, config->of, config->pass_rate_max);
    }
    return SLUICE_OK;
}

static void judge_nulls(const struct worker *worker, struct sluice_verdict_io *io)
{
    for (uint64_t k = 0; k < worker->stage->n_columns; k++) {
        const struct column *column = &worker->stage->columns[k];
        double share = worker->rows == 0 ? 0 : (double)worker->nulls[k] / (double)worker->rows;
        if (column->most >= 0 && share > column->most) {
            missed(worker->stage, io,
                   "null rate of '%.80s' = %.6g (%" PRIu64 " of %" PRIu64
                   " rows), expected null_max = %.6g or less. Likely cause: some input files have "
                   "lost "
                   "the member '%.80s' or call it otherwise: see `sluice why`",
                   column->name, share, worker->nulls[k], worker->rows, column->most, column->name);
        }
    }
}

static void judge_ratio(const struct worker *worker, struct sluice_verdict_io *io)
{
    const struct gate_config *config = worker->stage->config;
    double ratio;

    if (config->baseline == NULL) {
        return;
    }
    ratio = (double)worker->rows / (double)worker->stage->baseline_rows;
    if (config->rows_ratio_min >= 0 && ratio < config->rows_ratio_min) {
        missed(worker->stage, io,
               "rows_ratio = %.6g (%" PRIu64 " rows, the baseline %.200s has %" PRId64
               "), expected rows_ratio_min = %.6g or more. Likely cause: a part of the input is "
               "missing: `sluice report` of both runs shows which stage gave other counts",
               ratio, worker->rows, config->baseline, worker->stage->baseline_rows,
               config->rows_ratio_min);
    }
    if (config->rows_ratio_max >= 0 && ratio > config->rows_ratio_max) {
        missed(worker->stage, io,
               "rows_ratio = %.6g (%" PRIu64 " rows, the baseline %.200s has %" PRId64
               "), expected rows_ratio_max = %.6g or less. Likely cause: input is read twice, or "
               "a filter no longer drops: `sluice report` of both runs shows which stage gave "
               "other counts",
               ratio, worker->rows, config->baseline, worker->stage->baseline_rows,
               config->rows_ratio_max);
    }
}

static sluice_status gate_judge(void *state, struct sluice_verdict_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;

    io->outcome = SLUICE_GATE_PASS;
    io->message[0] = '\0';
    judge_rows(worker, io);
    judge_nulls(worker, io);
    judge_ratio(worker, io);
    return judge_pass_rate(worker, io, err);
}

/* ---- life ---- */

static sluice_status gate_worker_open(void *shared, void **out, struct sluice_error *err)
{
    const struct stage *stage = shared;
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker != NULL) {
        worker->stage = stage;
        worker->nulls = calloc((size_t)stage->n_columns + 1, sizeof *worker->nulls);
    }
    if (worker == NULL || worker->nulls == NULL) {
        free(worker);
        return nomem(err);
    }
    *out = worker;
    return SLUICE_OK;
}

static void gate_worker_close(void *state)
{
    struct worker *worker = state;

    free(worker->nulls);
    free(worker);
}

static const struct sluice_stage gate_stage = {
    .size = sizeof gate_stage,
    .name = "gate_check",
    .version = "1.0",
    .summary = "Counts rows and nulls and halts the run, or warns, when they are not as expected",
    .doc = "What `s.gate` puts into the pipeline. Every threshold is judged once all rows are "
           "counted, before anything is published; changing one runs nothing "
           "again. `require` halts at the first null. `schema` is checked before any data is read.",
    .example = "docs | s.gate { rows = { min = 1000 }, null_rate = { text = 0.01 }, pass_rate = { "
               "min = 0.10, of = docs } }",
    .role = SLUICE_ROLE_GATE,
    .mode = SLUICE_MODE_ORDERED,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct gate_config),
    .state_version = 1,
    .bytes_worker = 4096,
    .open = gate_open,
    .prepare = gate_prepare,
    .worker_open = gate_worker_open,
    .process = gate_process,
    .save = gate_save,
    .load = gate_load,
    .merge = gate_merge,
    .judge = gate_judge,
    .worker_close = gate_worker_close,
    .close = gate_close,
};

SLUICE_PLUGIN("gate", "1.1", "MIT", &gate_stage, &contract_rows_stage, &contract_check_stage,
              &contract_profile_stage, &contract_infer_stage);
