/* contract_profile and contract_infer: a contract that all rows keep. The first profiles the rows
 * of a split, the second adds the profiles up, in whatever order they come to the same. */
#include <stdio.h>

#include <sluice_rows.h>
#include <sluice_stage.h>
#include <sluice_verdicts.h>

#include "gate.h"
#include "gate_schema.h"
#include "profile.h"

#define COLUMNS_MAX 200

struct source {
    char name[256], type[100];
    int32_t index;
    struct cast_type cast;
    bool simple;  /* its values can be read */
    bool members; /* what a reader keeps of other members: each is a column */
};

struct stage {
    const void *config;
    struct source *sources; /* owned */
    uint32_t n;
};

struct worker {
    const struct stage *stage;
    struct profile *profile;
};

static sluice_status profile_open(const struct sluice_host_api *api, struct sluice_host *host,
                                  const void *config, void **shared, struct sluice_error *err)
{
    (void)api;
    (void)host;
    return sluice_shared_new(config, sizeof(struct stage), shared, err);
}

static void profile_close(void *shared)
{
    struct stage *stage = shared;

    free(stage->sources);
    free(stage);
}

static sluice_status profile_prepare(void *shared, struct sluice_plan *plan,
                                     struct sluice_error *err)
{
    struct stage *stage = shared;
    sluice_status status = SLUICE_OK;

    free(stage->sources);
    stage->n = 0;
    stage->sources = calloc(COLUMNS_MAX, sizeof *stage->sources);
    if (stage->sources == NULL) {
        return sluice_nomem(err);
    }
    for (uint32_t k = 0; status == SLUICE_OK; k++) {
        struct source *source = &stage->sources[stage->n];
        const char *name;
        const char *type;
        status = plan->column(plan, 0, k, &name, &type);
        if (status != SLUICE_OK || name[0] == '\0') {
            break;
        }
        if (stage->n == COLUMNS_MAX) {
            return sluice_fail(err, SLUICE_E_SCHEMA, name,
                               "the rows have more than 200 columns; take some with "
                               "s.keep_columns before");
        }
        (void)snprintf(source->name, sizeof source->name, "%s", name);
        (void)snprintf(source->type, sizeof source->type, "%.99s", type);
        source->simple = cast_type_parse(type, &source->cast) && source->cast.kind != CAST_JSON &&
                         source->cast.kind != CAST_BINARY;
        source->members = strcmp(name, "metadata") == 0 && gate_type_among(type, "json");
        status = plan->need(plan, 0, name, "", 0, &source->index, err);
        stage->n++;
    }
    return status == SLUICE_OK ? plan->add(plan, "profile", "utf8", NULL, err) : status;
}

/* The members of an object, each a column without a type of its own. */
static bool add_members(struct profile *profile, const struct ArrowArray *array, int64_t row)
{
    size_t n;
    const char *text = sluice_text(array, row, &n);
    json_t *object = n == 0 ? NULL : json_loadb(text, n, 0, NULL);
    const char *name;
    json_t *member;
    bool ok = true;

    json_object_foreach(object, name, member)
    {
        struct cast_value value = { 0 };
        json_int_t whole = json_integer_value(member);
        if (json_is_string(member)) {
            value.is = VALUE_TEXT;
            value.text = json_string_value(member);
            value.n = json_string_length(member);
        } else if (json_is_integer(member)) {
            value.is = VALUE_WHOLE;
            value.negative = whole < 0;
            value.magnitude = whole < 0 ? -(uint64_t)whole : (uint64_t)whole;
        } else if (json_is_real(member)) {
            value.is = VALUE_REAL;
            value.real = json_real_value(member);
        } else if (json_is_boolean(member)) {
            value.is = VALUE_BOOLEAN;
            value.truth = json_is_true(member);
        }
        ok = ok && profile_value(profile, name, "", &value,
                                 json_is_object(member) || json_is_array(member));
    }
    json_decref(object);
    return ok;
}

static sluice_status profile_process(void *state, const struct sluice_batch *batch,
                                     struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct stage *stage = worker->stage;
    bool ok = true;

    (void)emit;
    for (int64_t i = 0; ok && i < batch->n; i++) {
        int64_t row = sluice_row(batch, i);
        profile_row(worker->profile);
        for (uint32_t k = 0; ok && k < stage->n; k++) {
            const struct source *source = &stage->sources[k];
            const struct ArrowArray *array = batch->array->children[source->index];
            struct cast_value value = { 0 };
            bool null = sluice_is_null(array, row) != 0;
            if (source->members) {
                ok = null || add_members(worker->profile, array, row);
                continue;
            }
            ok = (!source->simple || cast_read(source->cast, array, row, &value)) &&
                 profile_value(worker->profile, source->name, source->type, &value,
                               !source->simple && !null);
            free(value.own);
        }
    }
    return ok ? SLUICE_OK : sluice_nomem(err);
}

/* Emits a row of one text; takes json. */
static sluice_status give(json_t *json, struct sluice_emit *emit, struct sluice_error *err)
{
    char *text = json == NULL ? NULL : json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT);
    struct sluice_rows rows = sluice_rows_begin("t");
    int ok =
        text != NULL && sluice_rows_add(&rows, 0, text, strlen(text)) && sluice_rows_next(&rows);

    json_decref(json);
    free(text);
    return sluice_rows_emit(&rows, ok ? SLUICE_OK : sluice_nomem(err), emit, err);
}

static sluice_status profile_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    const struct worker *worker = state;

    return give(profile_print(worker->profile), emit, err);
}

static sluice_status worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker;
    sluice_status status = sluice_worker_new(shared, sizeof *worker, out, err);

    if (status != SLUICE_OK) {
        return status;
    }
    worker = *out;
    worker->profile = profile_create();
    if (worker->profile == NULL) {
        free(worker);
        return sluice_nomem(err);
    }
    return SLUICE_OK;
}

static void worker_close(void *state)
{
    struct worker *worker = state;

    profile_destroy(worker->profile);
    free(worker);
}

const struct sluice_stage contract_profile_stage = {
    .size = sizeof contract_profile_stage,
    .name = "contract_profile",
    .version = "1.0",
    .summary = "What the values of a split's rows are like (part of `sluice contract infer`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_ORDERED,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .bytes_worker = 4 << 20,
    .open = profile_open,
    .prepare = profile_prepare,
    .worker_open = worker_open,
    .process = profile_process,
    .flush = profile_flush,
    .worker_close = worker_close,
    .close = profile_close,
};

/* ---- contract_infer ---- */

static sluice_status infer_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    sluice_status status = plan->need(plan, 0, "profile", "utf8", 0, NULL, err);

    (void)shared;
    return status == SLUICE_OK ? plan->add(plan, "contract", "json", NULL, err) : status;
}

static sluice_status judge(void *state, const struct sluice_batch *batch, int64_t row,
                           struct sluice_verdict *verdict, struct sluice_error *err)
{
    struct worker *worker = state;
    size_t n;
    const char *text = sluice_text(batch->array->children[0], row, &n);
    json_t *json = json_loadb(text, n, 0, NULL);
    bool damaged;
    bool ok = profile_add(worker->profile, json, &damaged);

    json_decref(json);
    if (damaged) {
        sluice_judge_bad(verdict, "no_profile: contract_profile did not write this");
    }
    return ok ? SLUICE_OK : sluice_nomem(err);
}

static sluice_status infer_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    return sluice_judge_rows(batch, emit, judge, state, err);
}

static sluice_status infer_flush(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    const struct worker *worker = state;

    return give(profile_contract(worker->profile), emit, err);
}

const struct sluice_stage contract_infer_stage = {
    .size = sizeof contract_infer_stage,
    .name = "contract_infer",
    .version = "1.0",
    .summary =
        "The contract that all rows keep, of their profiles (part of `sluice contract infer`)",
    .role = SLUICE_ROLE_TRANSFORM,
    .mode = SLUICE_MODE_GLOBAL,
    .flags = SLUICE_STAGE_HIDDEN | SLUICE_STAGE_CONSUMES,
    .bytes_worker = 4 << 20,
    .prepare = infer_prepare,
    .worker_open = worker_open,
    .process = infer_process,
    .flush = infer_flush,
    .worker_close = worker_close,
};
