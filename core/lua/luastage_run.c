/* The vtable of Lua stages. One Lua state a worker; each row is a call of its own, and what goes wrong in one is that row's verdict alone.
 *
 * A row that needs more memory than the cap is judged again, alone in a fresh state, so that what other rows left behind can't decide.
 * A row that the watchdog found late is judged again in a fresh state under a count of instructions, so that the clock can't either.
 * See luastage.h. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lua/luastageInt.h"
#include "lua/sandbox.h"
#include "lua/scriptInt.h"
#include "plugin/stage.h"

#define FULL_CHECK 64    /* batches between two checks of large upvalues */
#define MANY_VALUES 2000 /* values that make upvalues large */

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

    for (uint32_t k = 0; plan->column(plan, 0, k, &found, &type) == SLUICE_OK && type[0] != '\0';
         k++) {
        if (strcmp(found, name) == 0) {
            return type;
        }
    }
    return strcmp(name, "_row") == 0 || strcmp(name, "_pos") == 0 ? "uint64" : "";
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
    if (instance->fields == NULL) {
        return error_nomem(err, "a stage in Lua");
    }
    for (uint32_t k = 0; k < stage->n_fields; k++) {
        TRY(need_field(instance, plan, &stage->fields[k], err));
    }
    TRY(plan->need(plan, 0, "_row", "uint64", 1, &instance->row_index, err));
    for (uint32_t k = 0; k < stage->n_adds; k++) {
        TRY(plan->add(plan, stage->adds[k].name, stage->adds[k].type, NULL, err));
    }
    return SLUICE_OK;
}

/* ---- upvalues ---- */

static sluice_status remember_upvalues(struct luaworker *worker, struct sluice_error *err)
{
    lua_State *L = worker->L;
    struct script *script = worker->instance->stage->script;
    uint32_t n = 0;

    while (lua_getupvalue(L, AT_FUNCTION, (int)n + 1) != NULL) {
        lua_pop(L, 1);
        n++;
    }
    free(worker->upvalues);
    worker->upvalues = calloc(n + 1, sizeof *worker->upvalues);
    worker->n_upvalues = 0;
    worker->n_values = 0;
    if (worker->upvalues == NULL) {
        return error_nomem(err, "a stage in Lua");
    }
    for (uint32_t k = 0; k < n; k++) {
        struct upvalue *upvalue = &worker->upvalues[k];
        uint64_t values = 0;
        TRY(funchash_upvalue(script, L, AT_FUNCTION, (int)k + 1, &upvalue->name, &upvalue->hash,
                             &values, err));
        worker->n_values += values;
        worker->n_upvalues++;
    }
    return SLUICE_OK;
}

/* A row that changes what the next row sees makes results depend on which worker judged which rows. */
static sluice_status check_upvalues(struct luaworker *worker, struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;

    worker->batches++;
    if (stage->ordered || (worker->n_values > MANY_VALUES && worker->batches % FULL_CHECK != 1)) {
        return SLUICE_OK;
    }
    for (uint32_t k = 0; k < worker->n_upvalues; k++) {
        struct hash128 hash;
        const char *name;
        uint64_t values;
        TRY(funchash_upvalue(stage->script, worker->L, AT_FUNCTION, (int)k + 1, &name, &hash,
                             &values, err));
        if (!hash_equal(hash, worker->upvalues[k].hash)) {
            return error_set(err, SLUICE_E_CONFIG,
                             "the function at %s:%d changes its upvalue '%s', so results would "
                             "depend on which worker gets which rows; "
                             "use a local inside the function, or run = \"ordered\"",
                             stage->file, stage->line, name == NULL ? "?" : name);
        }
    }
    return SLUICE_OK;
}

/* ---- workers ---- */

static sluice_status open_state(struct luaworker *worker, struct sluice_error *err)
{
    const struct luainstance *instance = worker->instance;
    const struct luastage *stage = instance->stage;
    lua_State *L = NULL;

    TRY(script_worker_open(stage->script, &L, err));
    worker->L = L;
    lua_settop(L, 0);
    if (!lua_checkstack(L, (int)instance->n_fields + 40)) {
        return error_nomem(err, "a stage in Lua");
    }
    script_push_stage(L, stage->k);
    lua_replace(L, AT_FUNCTION); /* the definition is not needed */
    luarow_push(worker);         /* doc, cache */
    luaoptions_push(L, stage->options, instance->config);
    lua_insert(L, AT_OPTIONS);
    memset(worker->loaded, 0, instance->n_fields * sizeof *worker->loaded);
    worker->n_loaded = 0;
    for (uint32_t k = 0; k < instance->n_fields; k++) {
        worker->names[k] = lua_pushstring(L, instance->fields[k].name);
    }
    return SLUICE_OK;
}

void luaworker_close(void *state)
{
    struct luaworker *worker = state;

    script_worker_close(worker->L);
    for (size_t i = 0; i < worker->n_messages; i++) {
        free(worker->messages[i]);
    }
    luaout_clear(worker);
    free(worker->builders);
    free(worker->marks);
    free(worker->messages);
    free(worker->verdicts);
    free(worker->upvalues);
    free(worker->names);
    free(worker->loaded);
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
    worker->names = calloc(instance->n_fields + 1, sizeof *worker->names);
    worker->loaded = calloc(instance->n_fields + 1, sizeof *worker->loaded);
    status = worker->names == NULL || worker->loaded == NULL ? error_nomem(err, "a stage in Lua")
                                                             : open_state(worker, err);
    if (status == SLUICE_OK) {
        status = remember_upvalues(worker, err);
    }
    if (status != SLUICE_OK) {
        luaworker_close(worker);
        return status;
    }
    *out = worker;
    return SLUICE_OK;
}

/* Throws the state away. In an ordered stage what rows left behind is lost, so there the caller must not. */
static sluice_status fresh_state(struct luaworker *worker, struct sluice_error *err)
{
    script_worker_close(worker->L);
    worker->L = NULL;
    TRY(open_state(worker, err));
    return remember_upvalues(worker, err);
}

/* ---- verdicts ---- */

static sluice_status mark_bad(struct luaworker *worker, struct sluice_verdict *verdict,
                              const char *reason, const char *detail, struct sluice_error *err)
{
    char *text;

    if (worker->n_messages == worker->message_capacity) {
        size_t capacity = worker->message_capacity * 2 + 16;
        char **messages = realloc(worker->messages, capacity * sizeof *messages);
        if (messages == NULL) {
            return error_nomem(err, "verdicts");
        }
        worker->messages = messages;
        worker->message_capacity = capacity;
    }
    text = str_printf("%s: %s", reason, detail);
    if (text == NULL) {
        return error_nomem(err, "verdicts");
    }
    utf8_clean(text);
    worker->messages[worker->n_messages++] = text;
    *verdict = (struct sluice_verdict){ .reason = SLUICE_VERDICT_BAD,
                                        .dup_of = text,
                                        .dup_of_length = (int32_t)strlen(text) };
    return SLUICE_OK;
}

/* "FILE:LINE: message" for what the function returned. */
static void place(const struct luaworker *worker, struct sluice_error *err)
{
    error_prefix(err, "%s:%d", worker->instance->stage->file, worker->instance->stage->line);
}

/* A reason and, behind it, value and limit. SLUICE_E_DATA: not what a verdict may be. */
static sluice_status read_reason(struct luaworker *worker, int index,
                                 struct sluice_verdict *verdict, struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;
    lua_State *L = worker->L;
    const char *word;
    uint32_t low = 0;
    uint32_t high = stage->n_reasons;

    if (lua_type(L, index) != LUA_TSTRING) {
        return error_set(err, SLUICE_E_DATA,
                         "the function returned a %s, expected nil (keep) or a reason such as "
                         "\"too_short\" (drop)",
                         luaL_typename(L, index));
    }
    word = lua_tostring(L, index);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(stage->reasons[middle], word);
        if (order == 0) {
            verdict->reason = (int32_t)middle + 1;
            break;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (verdict->reason == 0) {
        return error_set(err, SLUICE_E_DATA,
                         "the function returned the reason \"%.80s\", which is not a literal in "
                         "it; list it in reasons = { ... }",
                         word);
    }
    for (int k = 1; k <= 2; k++) {
        if (!lua_isnil(L, index + k) && lua_type(L, index + k) != LUA_TNUMBER) {
            return error_set(
                err, SLUICE_E_DATA,
                "behind the reason the function returned a %s, expected a number (the %s)",
                luaL_typename(L, index + k), k == 1 ? "value" : "limit");
        }
    }
    verdict->value = lua_tonumber(L, index + 1);
    verdict->limit = lua_tonumber(L, index + 2);
    return SLUICE_OK;
}

static double bound_of(const struct luainstance *instance, const struct sluice_option *option)
{
    const char *at = (const char *)instance->config + option->offset;

    return option->type == SLUICE_OPT_INT ? (double)*(const int64_t *)(const void *)at
                                          : *(const double *)(const void *)at;
}

static sluice_status read_measure(struct luaworker *worker, int index,
                                  struct sluice_verdict *verdict, struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;
    lua_State *L = worker->L;
    double value = lua_tonumber(L, index);

    if (lua_type(L, index) != LUA_TNUMBER) {
        return error_set(err, SLUICE_E_DATA, "measure returned a %s, expected a number",
                         luaL_typename(L, index));
    }
    if (value != value) {
        return error_set(
            err, SLUICE_E_DATA,
            "measure returned nan, expected a number; what is a text without words worth?");
    }
    verdict->value = value;
    if (stage->has_below) {
        verdict->limit = bound_of(worker->instance, &stage->below);
        verdict->reason = value < verdict->limit;
    }
    if (stage->has_above && verdict->reason == 0) {
        verdict->limit = bound_of(worker->instance, &stage->above);
        verdict->reason = value > verdict->limit;
    }
    return SLUICE_OK;
}

/* What the function left at index .. index + 3. */
sluice_status luaworker_result(struct luaworker *worker, int index, struct sluice_verdict *verdict,
                               struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;
    lua_State *L = worker->L;

    memset(verdict, 0, sizeof *verdict);
    switch (stage->role) {
    case LUAROLE_FILTER:
        return lua_isnil(L, index) ? SLUICE_OK : read_reason(worker, index, verdict, err);
    case LUAROLE_HEURISTIC:
        return read_measure(worker, index, verdict, err);
    default:
        if (lua_istable(L, index)) {
            return luaout_add(worker, index, err);
        }
        if (!lua_isnil(L, index)) {
            return error_set(
                err, SLUICE_E_DATA,
                "the function returned a %s, expected a table of columns, or nil and a reason",
                luaL_typename(L, index));
        }
        if (lua_isnil(L, index + 1)) {
            return error_set(err, SLUICE_E_DATA,
                             "the function returned nil; expected a table of columns, or nil and a "
                             "reason to drop the row");
        }
        return read_reason(worker, index + 1, verdict, err);
    }
}

/* ---- rows ---- */

static void seed_row(struct luaworker *worker)
{
    const struct luainstance *instance = worker->instance;
    uint64_t seed = instance->seed;
    const struct ArrowArray *rows;
    size_t n;

    if (instance->row_index >= 0) {
        rows = worker->array->children[instance->row_index];
        seed += ((const uint64_t *)rows->buffers[1])[worker->row] * UINT64_C(0x9E3779B97F4A7C15);
    }
    /* Rows of different splits have the same numbers: the beginning of their text tells them apart. */
    if (instance->text_field >= 0 && instance->fields[instance->text_field].index >= 0 &&
        !instance->fields[instance->text_field].type.list &&
        instance->fields[instance->text_field].type.cell >= CELL_TEXT) {
        const char *text = sluice_text(
            worker->array->children[instance->fields[instance->text_field].index], worker->row, &n);
        seed ^= hash_bytes(text, n < 64 ? n : 64).lo + n;
    }
    sandbox_seed(worker->L, seed);
}

/* Calls the function on the current row; four results are at the top on success: nil, reason, value, limit is the longest. */
static sluice_status call_row(struct luaworker *worker, struct sluice_error *err)
{
    lua_State *L = worker->L;

    if (worker->counting) {
        sandbox_limit(L, ROW_BUDGET);
    }
    seed_row(worker);
    lua_pushvalue(L, AT_FUNCTION);
    lua_pushvalue(L, AT_DOC);
    lua_pushvalue(L, AT_OPTIONS);
    return sandbox_call(L, 2, 4, err);
}

/* Judges the row again in a fresh state, under a count of instructions if it was late. */
static sluice_status call_again(struct luaworker *worker, bool late, struct sluice_error *err)
{
    const struct ArrowArray *array = worker->array;
    int64_t row = worker->row;
    struct sluice_error error = ERROR_INIT;

    worker->active = false;
    if (fresh_state(worker, &error) != SLUICE_OK) {
        *err = error;
        err->code = SLUICE_E_INTERNAL;
        return SLUICE_E_INTERNAL;
    }
    luarow_set(worker, array, row);
    worker->counting = late;
    return call_row(worker, err);
}

static sluice_status judge_row(struct luaworker *worker, const struct ArrowArray *array,
                               int64_t row, struct sluice_verdict *verdict,
                               struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;
    struct sluice_error error = ERROR_INIT;
    int base = AT_NAMES + (int)worker->instance->n_fields;
    const char *reason = "lua_error";
    bool placed = true; /* the message says where */
    sluice_status status;

    worker->counting = stage->ordered; /* its state can't be made anew for a second try */
    luarow_set(worker, array, row);
    status = call_row(worker, &error);
    if (!stage->ordered && (status == SLUICE_E_NOMEM || status == SLUICE_E_CANCELLED) &&
        worker->instance->api->cancelled(worker->instance->host) != 0) {
        return error_set(err, SLUICE_E_CANCELLED, "cancelled");
    }
    if (!stage->ordered && status == SLUICE_E_NOMEM) {
        status = call_again(worker, false, &error);
    }
    if (!stage->ordered && status == SLUICE_E_CANCELLED) {
        status = call_again(worker, true, &error);
    }
    if (status == SLUICE_E_INTERNAL) {
        *err = error;
        return status;
    }
    if (status == SLUICE_E_NOMEM) {
        reason = "lua_memory";
    } else if (status == SLUICE_E_DATA) {
        reason = "lua_endless";
        if (++worker->endless_rows >= ENDLESS_ROWS) {
            return error_set(err, SLUICE_E_CONFIG,
                             "%u rows in succession ran into the limit of %llu instructions "
                             "(%.500s): the function has an endless loop",
                             ENDLESS_ROWS, (unsigned long long)ROW_BUDGET, error.message);
        }
    } else if (status == SLUICE_OK) {
        worker->endless_rows = 0;
        status = luaworker_result(worker, base, verdict, &error);
        placed = status == SLUICE_OK;
        if (status == SLUICE_E_NOMEM) { /* the host's memory, not the script's */
            *err = error;
            return status;
        }
    }
    luarow_clear(worker);
    lua_settop(worker->L, base - 1);
    if (status != SLUICE_OK) {
        if (!placed || status == SLUICE_E_NOMEM) {
            place(worker, &error);
        }
        TRY(mark_bad(worker, verdict, reason, error.message, err));
    }
    if (stage->role == LUAROLE_ANNOTATE && (status != SLUICE_OK || verdict->reason != 0)) {
        TRY(luaout_blank(worker, err));
    }
    return SLUICE_OK;
}

/* Called by the watchdog now and then while rows are judged: two ticks without a new row, and the row is late. Async-signal-safe. */
static void tick(void *ctx)
{
    struct luaworker *worker = ctx;
    lua_State *L = worker->L;

    if (worker->active && !worker->counting && L != NULL &&
        worker->rows_done == worker->rows_seen) {
        sandbox_interrupt(L);
    }
    worker->rows_seen = worker->rows_done;
}

static sluice_status process_rows(struct luaworker *worker, const struct sluice_batch *batch,
                                  struct sluice_error *err)
{
    for (int64_t k = 0; k < batch->n; k++) {
        if ((k & 63) == 63 && worker->instance->api->cancelled(worker->instance->host) != 0) {
            return error_set(err, SLUICE_E_CANCELLED, "cancelled");
        }
        worker->rows_done++;
        TRY(judge_row(worker, batch->array, sluice_row(batch, k), &worker->verdicts[k], err));
    }
    return SLUICE_OK;
}

static sluice_status process(void *state, const struct sluice_batch *batch,
                             struct sluice_emit *emit, struct sluice_error *err)
{
    struct luaworker *worker = state;
    const struct luastage *stage = worker->instance->stage;
    const struct script_watch *watch = stage->script->options.watch;
    struct script_watching watching;
    struct ArrowArray columns;
    sluice_status status;

    for (size_t i = 0; i < worker->n_messages; i++) {
        free(worker->messages[i]);
    }
    worker->n_messages = 0;
    if (batch->n > worker->verdict_capacity) {
        struct sluice_verdict *verdicts =
            realloc(worker->verdicts, (size_t)batch->n * sizeof *verdicts);
        if (verdicts == NULL) {
            return error_nomem(err, "verdicts");
        }
        worker->verdicts = verdicts;
        worker->verdict_capacity = batch->n;
    }
    if (stage->role == LUAROLE_ANNOTATE) {
        TRY(luaout_begin(worker, err));
    }
    worker->rows_seen = UINT64_MAX;
    if (watch != NULL) {
        watch->begin(&watching, tick, worker);
    }
    status = process_rows(worker, batch, err);
    if (watch != NULL) {
        watch->end(&watching);
    }
    TRY(status);
    TRY(check_upvalues(worker, err));
    if (stage->role == LUAROLE_ANNOTATE) {
        TRY(luaout_finish(worker, batch->n, &columns, err));
        TRY(emit->batch(emit, &columns));
    }
    return emit->verdicts(emit, worker->verdicts, batch->n);
}

void luastage_vtable(struct sluice_stage *stage)
{
    stage->open = open_instance;
    stage->prepare = prepare;
    stage->worker_open = luaworker_open;
    stage->process = process;
    stage->worker_close = luaworker_close;
    stage->close = close_instance;
}
