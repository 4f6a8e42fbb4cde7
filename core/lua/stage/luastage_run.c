/* Instances and workers of Lua stages, one Lua state a worker: the frame of their vtable. See
 * luastageInt.h. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lua/stage/luastageInt.h"
#include "lua/sandbox/sandbox.h"
#include "lua/script/scriptInt.h"
#include "plugin/stage.h"

/* ---- instances ---- */

static sluice_status open_instance(const struct sluice_host_api *api, struct sluice_host *host,
                                   const void *config, void **shared, struct sluice_error *err)
{
    struct luainstance *instance = calloc(1, sizeof *instance);

    if (instance == NULL) {
        return error_nomem(err, "a stage in Lua");
    }
    instance->stage = stage_user(host);
    instance->api = api;
    instance->host = host;
    instance->config = config;
    instance->seed = api->seed(host, 0);
    *shared = instance;
    return SLUICE_OK;
}

static void close_instance(void *shared)
{
    struct luainstance *instance = shared;

    free(instance->fields);
    free(instance);
}

/* The type of the column of the input called name; "" = there is none. */
static const char *column_type(struct sluice_plan *plan, const char *name)
{
    const char *found = "";
    const char *type = "";
    enum sluice_hidden hidden;

    for (uint32_t k = 0; plan->column(plan, 0, k, &found, &type) == SLUICE_OK && type[0] != '\0';
         k++) {
        if (strcmp(found, name) == 0) {
            return type;
        }
    }
    hidden = sluice_hidden_of(name);
    return hidden == SLUICE_HIDDEN_ROW || hidden == SLUICE_HIDDEN_POS
               ? sluice_hidden_columns[hidden].type
               : "";
}

/* A field that the source mentions and the input does not have: the place, and the nearest name. */
static sluice_status unknown_column(const struct luastage *stage, const struct luafield *field,
                                    struct sluice_plan *plan, const char *column,
                                    struct sluice_error *err)
{
    const char *names[64];
    const char *near;
    const char *type = "";
    size_t n = 0;

    while (n < 63 && plan->column(plan, 0, (uint32_t)n, &names[n], &type) == SLUICE_OK &&
           type[0] != '\0') {
        n++;
    }
    names[n++] = "text";
    near = error_suggest(field->name, names, n);
    return error_field(err, SLUICE_E_SCHEMA, column,
                       "%s:%d: unknown field '%s': rows have no column '%s'%s%s%s", stage->file,
                       field->line, field->name, column, near == NULL ? "" : ", did you mean '",
                       near == NULL ? "" : near, near == NULL ? "" : "'?");
}

static sluice_status need_field(struct luainstance *instance, struct sluice_plan *plan,
                                const struct luafield *field, struct sluice_error *err)
{
    const struct luastage *stage = instance->stage;
    const char *over = *(const char *const *)instance->config;
    const char *column = strcmp(field->name, "text") == 0 ? over : field->name;
    struct bound_field *bound = &instance->fields[instance->n_fields];
    const char *type;

    if (field->line > 0 && column_type(plan, column)[0] == '\0') {
        return unknown_column(stage, field, plan, column, err);
    }
    TRY(plan->need(plan, 0, column, field->type, field->optional, &bound->index, err));
    bound->name = field->name;
    if (bound->index >= 0) {
        type = column_type(plan, column);
        if (!cell_type_parse(type, &bound->type)) {
            return error_field(err, SLUICE_E_SCHEMA, column,
                               "the column '%s' is %s, which stages in Lua can't read; they read "
                               "bool, integers, floats, utf8, "
                               "binary, json and lists of them",
                               column, type);
        }
    }
    if (strcmp(field->name, "text") == 0) {
        instance->text_field = (int32_t)instance->n_fields;
    }
    instance->n_fields++;
    return SLUICE_OK;
}

static sluice_status prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct luainstance *instance = shared;
    const struct luastage *stage = instance->stage;

    free(instance->fields);
    instance->fields = calloc(stage->n_fields + 1, sizeof *instance->fields);
    instance->n_fields = 0;
    instance->text_field = -1;
    instance->row_index = -1;
    if (instance->fields == NULL) {
        return error_nomem(err, "a stage in Lua");
    }
    for (uint32_t k = 0; k < stage->n_fields; k++) {
        TRY(need_field(instance, plan, &stage->fields[k], err));
    }
    if (stage->role != LUAROLE_READER) {
        /* What a transform gives says by it where it came from; it seeds the random numbers of the
         * others. */
        TRY(plan->need(plan, 0, SLUICE_ROW, "uint64", stage->role != LUAROLE_TRANSFORM,
                       &instance->row_index, err));
    }
    for (uint32_t k = 0; k < stage->n_adds; k++) {
        TRY(plan->add(plan, stage->adds[k].name, stage->adds[k].type, NULL, err));
    }
    if (stage->role == LUAROLE_TRANSFORM) {
        return plan->add(plan, SLUICE_ORIGIN, "uint64", NULL, err);
    }
    if (stage->role == LUAROLE_READER) {
        TRY(plan->add(plan, SLUICE_BEGIN, "uint64", NULL, err));
        return plan->add(plan, SLUICE_END, "uint64", NULL, err);
    }
    return stage->role == LUAROLE_WRITER ? luawrite_prepare(instance, plan, err) : SLUICE_OK;
}

/* ---- what outlives a row ---- */

/* Pushes the member of the definition at index, and what messages call it. */
/* ---- workers ---- */

void luaworker_close(void *state)
{
    struct luaworker *worker = state;

    script_worker_close(worker->L);
    luaverdict_clear(worker);
    luaread_forget(worker, 0);
    luaout_close(worker);
    sluice_bytes_free(&worker->out);
    free(worker->header);
    free(worker->bad);
    free(worker->sums);
    free(worker->row_sums);
    free(worker->messages);
    free(worker->verdicts);
    free(worker->names);
    free(worker->loaded);
    luaask_close(worker);
    free(worker);
}

sluice_status luaworker_open(void *shared, void **out, struct sluice_error *err)
{
    struct luainstance *instance = shared;
    struct luaworker *worker = calloc(1, sizeof *worker);
    sluice_status status;

    if (worker == NULL) {
        return error_nomem(err, "a stage in Lua");
    }
    worker->instance = instance;
    worker->push = instance->stage->role == LUAROLE_READER ? luaread_push : luacall_push_row;
    worker->give = instance->stage->role == LUAROLE_TRANSFORM ? luagive_emit
                   : instance->stage->role == LUAROLE_READER  ? luaread_give
                   : instance->stage->asks                    ? luaask_ask
                                                              : NULL;
    worker->names = calloc(instance->n_fields + 1, sizeof *worker->names);
    worker->loaded = calloc(instance->n_fields + 1, sizeof *worker->loaded);
    status = worker->names == NULL || worker->loaded == NULL ? error_nomem(err, "a stage in Lua")
                                                             : luaask_open(worker, err);
    if (status == SLUICE_OK) {
        status = luaworker_begin(worker, err);
    }
    if (status == SLUICE_OK && instance->stage->role == LUAROLE_GATE) {
        status = luagate_open(worker, err);
    }
    if (status == SLUICE_OK && instance->stage->role == LUAROLE_WRITER) {
        status = luawrite_open(worker, err);
    }
    if (status != SLUICE_OK) {
        luaworker_close(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

/* ---- vtable ---- */

void luastage_vtable(struct luastage *stage)
{
    struct sluice_stage *vtable = &stage->descriptor;

    vtable->open = open_instance;
    vtable->prepare = prepare;
    vtable->worker_open = luaworker_open;
    vtable->worker_close = luaworker_close;
    vtable->close = close_instance;
    switch (stage->role) {
    case LUAROLE_FILTER:
    case LUAROLE_ANNOTATE:
    case LUAROLE_HEURISTIC:
        vtable->process = luaverdict_process;
        vtable->resume = stage->asks ? luaask_resume : NULL;
        break;
    case LUAROLE_TRANSFORM:
        vtable->process = luagive_process;
        break;
    case LUAROLE_READER:
        vtable->read = luaread_read;
        break;
    case LUAROLE_GATE:
        vtable->process = luagate_process;
        vtable->save = luagate_save;
        vtable->load = luagate_load;
        vtable->merge = luagate_merge;
        vtable->judge = luagate_judge;
        break;
    case LUAROLE_WRITER:
        vtable->process = luawrite_process;
        break;
    }
}
