/* contract_rows: the rules of a contract on columns, before any data, and on each row. */
#include "contract.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include <sluice_stage.h>
#include <sluice_verdicts.h>

#include "gate.h"
#include "gate_schema.h"

#define MAP_OPTION(member, text)                              \
    {                                                         \
        .name = #member, .doc = text, .type = SLUICE_OPT_MAP, \
        .offset = offsetof(struct contract_config, member)    \
    }
#define LIST_OPTION(member, text)                              \
    {                                                          \
        .name = #member, .doc = text, .type = SLUICE_OPT_LIST, \
        .offset = offsetof(struct contract_config, member)     \
    }

static const struct sluice_option options[] = {
    { .name = "name",
      .doc = "What the contract is called in manifests and messages.",
      .def = "contract",
      .type = SLUICE_OPT_STRING,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .offset = offsetof(struct contract_config, name) },
    MAP_OPTION(columns, "Columns that must be there, with their types (\"utf8\", "
                        "\"int64|float64\", \"any\"); nulls don't matter here."),
    LIST_OPTION(optional, "Those of them that need not be there."),
    LIST_OPTION(required, "Columns without nulls."),
    MAP_OPTION(range, "Smallest and largest value of a column, \"0..1\", \"0..\"; texts are "
                      "compared by bytes."),
    MAP_OPTION(length, "Fewest and most characters of a text, \"1..10000\"."),
    MAP_OPTION(regex, "Expression (PCRE2) that is found in every text of a column."),
    MAP_OPTION(allowed, "The values that a column may have, as a list of JSON: "
                        "'[\"en\", \"de\"]'."),
    { .name = "evolution",
      .doc = "add: columns that the contract does not have may be there; fixed: they may not, nor "
             "other members of records.",
      .def = "add",
      .choices = "add|fixed",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct contract_config, evolution) },
    { .name = "broken",
      .doc = "What becomes of a row that breaks a rule: it is set aside, which max_bad counts, or "
             "dropped.",
      .def = "quarantine",
      .choices = "quarantine|drop",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct contract_config, broken) },
};

struct stage {
    const struct contract_config *config;
    struct contract_rule *rules;
    size_t n_rules;
    int32_t metadata; /* column of what a reader keeps of other members, or -1 */
};

struct worker {
    const struct stage *stage;
    struct contract_matcher matcher;
    char detail[700];
};

static void forget_rules(struct stage *stage)
{
    for (size_t k = 0; k < stage->n_rules; k++) {
        contract_rule_deinit(&stage->rules[k]);
    }
    free(stage->rules);
    stage->rules = NULL;
    stage->n_rules = 0;
}

static sluice_status rows_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *config, void **shared, struct sluice_error *err)
{
    (void)api;
    (void)host;
    return sluice_shared_new(config, sizeof(struct stage), shared, err);
}

static void rows_close(void *shared)
{
    forget_rules(shared);
    free(shared);
}

/* ---- prepare ---- */

static sluice_status find_type(struct sluice_plan *plan, const char *column, const char **type)
{
    for (uint32_t k = 0;; k++) {
        const char *name;
        sluice_status status = plan->column(plan, 0, k, &name, type);
        if (status != SLUICE_OK || name[0] == '\0') {
            *type = NULL;
            return status;
        }
        if (strcmp(name, column) == 0) {
            return SLUICE_OK;
        }
    }
}

static bool listed(const struct sluice_list *list, const char *name)
{
    for (uint64_t i = 0; i < list->n; i++) {
        if (strcmp(list->items[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static sluice_status add_rule(struct stage *stage, struct sluice_plan *plan,
                              enum contract_kind kind, const char *column, const char *asked,
                              struct sluice_error *err)
{
    struct contract_rule *rule = &stage->rules[stage->n_rules];
    const char *type;
    char message[300];
    sluice_status status = find_type(plan, column, &type);

    memset(rule, 0, sizeof *rule);
    rule->kind = kind;
    rule->column = column;
    rule->asked = asked;
    rule->index = -1;
    if (status != SLUICE_OK) {
        return status;
    }
    if (type == NULL && listed(&stage->config->optional, column)) {
        return SLUICE_OK;
    }
    status = plan->need(plan, 0, column, "", 0, &rule->index, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if ((type == NULL || !cast_type_parse(type, &rule->type)) && kind != CONTRACT_NULL) {
        (void)snprintf(
            message, sizeof message,
            "%s: the column '%.100s' is %.60s; this rule is for texts, numbers and bools",
            contract_reason(kind), column, type == NULL ? "hidden" : type);
        return sluice_fail(err, SLUICE_E_SCHEMA, column, message);
    }
    stage->n_rules++;
    return contract_rule_read(rule, err);
}

static sluice_status add_map(struct stage *stage, struct sluice_plan *plan, enum contract_kind kind,
                             const struct sluice_map *map, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    for (uint64_t i = 0; status == SLUICE_OK && i < map->n; i++) {
        status = add_rule(stage, plan, kind, map->keys[i], map->values[i], err);
    }
    return status;
}

static sluice_status add_rules(struct stage *stage, struct sluice_plan *plan,
                               struct sluice_error *err)
{
    const struct contract_config *config = stage->config;
    size_t most = (size_t)(config->required.n + config->range.n + config->length.n +
                           config->regex.n + config->allowed.n);
    sluice_status status = SLUICE_OK;

    forget_rules(stage);
    stage->rules = calloc(most + 1, sizeof *stage->rules);
    if (stage->rules == NULL) {
        return sluice_nomem(err);
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < config->required.n; i++) {
        status = add_rule(stage, plan, CONTRACT_NULL, config->required.items[i], "", err);
    }
    if (status == SLUICE_OK) {
        status = add_map(stage, plan, CONTRACT_RANGE, &config->range, err);
    }
    if (status == SLUICE_OK) {
        status = add_map(stage, plan, CONTRACT_LENGTH, &config->length, err);
    }
    if (status == SLUICE_OK) {
        status = add_map(stage, plan, CONTRACT_REGEX, &config->regex, err);
    }
    return status == SLUICE_OK ? add_map(stage, plan, CONTRACT_ALLOWED, &config->allowed, err)
                               : status;
}

/* What the manifests downstream say of the contract. */
static sluice_status note(const struct contract_config *config, struct sluice_plan *plan,
                          struct sluice_error *err)
{
    json_t *types = json_object();
    json_t *all = json_object();
    char *text = NULL;
    sluice_status status;

    for (uint64_t i = 0; types != NULL && i < config->columns.n; i++) {
        json_object_set_new(types, config->columns.keys[i], json_string(config->columns.values[i]));
    }
    json_object_set_new(all, "name", json_string(config->name));
    json_object_set_new(all, "evolution",
                        json_string(config->evolution == EVOLUTION_FIXED ? "fixed" : "add"));
    json_object_set_new(all, "columns", types);
    text = all == NULL ? NULL : json_dumps(all, JSON_SORT_KEYS | JSON_COMPACT);
    json_decref(all);
    status = text == NULL ? sluice_nomem(err) : plan->note(plan, "contract", text, err);
    free(text);
    return status;
}

static sluice_status rows_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct stage *stage = shared;
    const struct contract_config *config = stage->config;
    const struct gate_schema schema = { .types = &config->columns,
                                        .may_lack = &config->optional,
                                        .fixed = config->evolution == EVOLUTION_FIXED,
                                        .field = "columns" };
    const char *type;
    sluice_status status = gate_schema_check(&schema, plan, err);

    if (status == SLUICE_OK) {
        status = add_rules(stage, plan, err);
    }
    stage->metadata = -1;
    if (status == SLUICE_OK) {
        status = find_type(plan, "metadata", &type);
    }
    /* Other members: none may be there, or one of them is what a column was called before. */
    if (status == SLUICE_OK && type != NULL && gate_type_among(type, "json") &&
        (schema.fixed || config->required.n > 0)) {
        status = plan->need(plan, 0, "metadata", "", 1, &stage->metadata, err);
    }
    return status == SLUICE_OK ? note(config, plan, err) : status;
}

/* ---- rows ---- */

/* A row that breaks a rule: dropped for the rule's reason, or set aside with what is wrong. */
static void breaks(const struct stage *stage, enum contract_kind kind, char *detail,
                   struct sluice_verdict *verdict)
{
    if (stage->config->broken == BROKEN_DROP) {
        verdict->reason = (int32_t)kind;
    } else {
        sluice_judge_bad(verdict, detail);
    }
}

static void describe_null(const struct worker *worker, const struct contract_rule *rule,
                          const struct sluice_batch *batch, int64_t row, char *detail, size_t room)
{
    const struct stage *stage = worker->stage;
    char name[80];
    char shown[80];
    size_t n;
    const char *text;
    int used =
        snprintf(detail, room, "contract_null: the required column '%.80s' is null", rule->column);

    if (stage->metadata < 0) {
        return;
    }
    text = sluice_text(batch->array->children[stage->metadata], row, &n);
    if (n > 0 && contract_renamed(rule, stage->rules, stage->n_rules, &worker->matcher, text, n,
                                  name, shown)) {
        (void)snprintf(detail + used, room - (size_t)used,
                       "; the record has '%.79s' instead (%.79s): was it renamed?", name, shown);
    }
}

static bool kept(struct worker *worker, const struct contract_rule *rule,
                 const struct sluice_batch *batch, int64_t row, bool *nomem)
{
    const struct ArrowArray *array = batch->array->children[rule->index];
    struct cast_value value;
    bool limit = false;
    bool good = true;
    char shown[80];

    if (rule->kind == CONTRACT_NULL) {
        good = !sluice_is_null(array, row);
        if (!good) {
            describe_null(worker, rule, batch, row, worker->detail, sizeof worker->detail);
        }
        return good;
    }
    *nomem = !cast_read(rule->type, array, row, &value);
    if (!*nomem && value.is != VALUE_NONE) {
        good = contract_rule_kept(rule, &worker->matcher, &value, &limit);
    }
    if (!good) {
        contract_show(&value, shown);
        (void)snprintf(worker->detail, sizeof worker->detail,
                       "%s: the column '%.80s' is %s, the contract says %.200s%s",
                       contract_reason(rule->kind), rule->column, shown, rule->asked,
                       limit ? " (the expression backtracks too much on this text)" : "");
    }
    free(value.own);
    return good;
}

/* Members beside the columns, where there may be none. */
static bool has_others(struct worker *worker, const struct sluice_batch *batch, int64_t row)
{
    const struct stage *stage = worker->stage;
    struct cast_value value = { .is = VALUE_TEXT };
    char shown[80];

    if (stage->config->evolution != EVOLUTION_FIXED || stage->metadata < 0) {
        return false;
    }
    value.text = sluice_text(batch->array->children[stage->metadata], row, &value.n);
    if (value.n <= 2) { /* null, {} */
        return false;
    }
    contract_show(&value, shown);
    (void)snprintf(worker->detail, sizeof worker->detail,
                   "contract_extra: the record has members that the contract does not: %s", shown);
    return true;
}

static sluice_status judge_row(struct worker *worker, const struct sluice_batch *batch, int64_t row,
                               struct sluice_verdict *verdict, char **detail,
                               struct sluice_error *err)
{
    const struct stage *stage = worker->stage;
    enum contract_kind kind = 0;
    bool nomem = false;

    for (size_t k = 0; kind == 0 && k < stage->n_rules; k++) {
        if (!kept(worker, &stage->rules[k], batch, row, &nomem)) {
            kind = stage->rules[k].kind;
        }
        if (nomem) {
            return sluice_nomem(err);
        }
    }
    if (kind == 0 && has_others(worker, batch, row)) {
        kind = CONTRACT_EXTRA;
    }
    if (kind == 0) {
        return SLUICE_OK;
    }
    if (stage->config->broken == BROKEN_QUARANTINE) {
        *detail = malloc(strlen(worker->detail) + 1);
        if (*detail == NULL) {
            return sluice_nomem(err);
        }
        memcpy(*detail, worker->detail, strlen(worker->detail) + 1);
    }
    breaks(stage, kind, *detail, verdict);
    return SLUICE_OK;
}

static sluice_status rows_process(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    char **details = calloc((size_t)batch->n + 1, sizeof *details);
    sluice_status status = verdicts == NULL || details == NULL ? sluice_nomem(err) : SLUICE_OK;

    for (int64_t i = 0; status == SLUICE_OK && i < batch->n; i++) {
        status = judge_row(state, batch, sluice_row(batch, i), &verdicts[i], &details[i], err);
    }
    if (status == SLUICE_OK) {
        status = emit->verdicts(emit, verdicts, batch->n);
    }
    for (int64_t i = 0; details != NULL && i < batch->n; i++) {
        free(details[i]);
    }
    free(details);
    free(verdicts);
    return status;
}

static sluice_status rows_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker;
    sluice_status status = sluice_worker_new(shared, sizeof *worker, out, err);

    if (status != SLUICE_OK) {
        return status;
    }
    worker = *out;
    status = contract_matcher_init(&worker->matcher, err);
    if (status != SLUICE_OK) {
        free(worker);
    }
    return status;
}

static void rows_worker_close(void *state)
{
    struct worker *worker = state;

    contract_matcher_deinit(&worker->matcher);
    free(worker);
}

const struct sluice_stage contract_rows_stage = {
    .size = sizeof contract_rows_stage,
    .name = "contract_rows",
    .version = "1.0",
    .summary = "The rules of a contract on columns and on each row",
    .doc =
        "What `s.contract` puts into the pipeline. Columns and types are checked before any data "
        "is read; a column that is missing is refused with what it may be called now. The rules "
        "on rows are checked in the order required, range, length, regex, allowed, extra; the "
        "first that is broken counts. Nulls keep every rule but `required`. A record without a "
        "required member is quarantined with the member of it that may be its new name: of the "
        "same type, keeping the column's other rules, with the name most alike.",
    .example = "docs | s.contract { columns = { text = \"utf8\" }, required = { \"text\" }, "
               "range = { year = { 1990, 2100 } } }",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct contract_config),
    .bytes_per_batch = 1,
    .reasons = CONTRACT_REASONS,
    .open = rows_open,
    .prepare = rows_prepare,
    .worker_open = rows_worker_open,
    .process = rows_process,
    .worker_close = rows_worker_close,
    .close = rows_close,
};
