/* What a Lua stage is, from its definition in the script: see luastage.h. */
#include "lua/stage/luastage.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/order.h"
#include "lua/sandbox/sandbox.h"
#include "lua/stage/luascan.h"
#include "lua/stage/luastageInt.h"
#include "lua/script/scriptInt.h"
#include "plugin/option_table.h"

#define MAX_HELPERS 64 /* functions that a row function reaches through upvalues */

static char *copy(const char *text)
{
    return text == NULL ? NULL : str_copy(text, strlen(text));
}

void luastage_destroy(struct luastage *stage)
{
    if (stage == NULL) {
        return;
    }
    for (uint32_t i = 0; i < stage->n_fields; i++) {
        free(stage->fields[i].name);
        free(stage->fields[i].type);
    }
    for (uint32_t i = 0; i < stage->n_adds; i++) {
        free(stage->adds[i].name);
        free(stage->adds[i].type);
    }
    for (uint32_t i = 0; i < stage->n_reasons; i++) {
        free(stage->reasons[i]);
    }
    for (uint32_t i = 0; i < stage->n_sums; i++) {
        free(stage->sums[i]);
    }
    luaoptions_destroy(stage->options);
    free(stage->sums);
    free(stage->suffix);
    free(stage->header);
    free(stage->fields);
    free(stage->adds);
    free(stage->reasons);
    free(stage->reason_words);
    free(stage->name);
    free(stage->where);
    free(stage->summary);
    free(stage->doc);
    free(stage->over);
    free(stage->file);
    free(stage);
}

/* ---- what the source mentions ---- */

static sluice_status scan_function(lua_State *L, const struct luastage *stage,
                                   const char *parameter, bool helper, struct luascan *scan,
                                   struct sluice_error *err)
{
    lua_Debug ar;
    const char *own;

    lua_pushvalue(L, -1);
    lua_getinfo(L, ">S", &ar);
    if (ar.source[0] != '@' || ar.linedefined <= 0) {
        return SLUICE_OK;
    }
    lua_pushvalue(L, -1);
    own = lua_getlocal(L, NULL, 1);
    lua_pop(L, 1);
    if (helper && (own == NULL || strcmp(own, parameter) != 0)) {
        own = ""; /* its literals count, its fields are not those of the row */
    }
    for (size_t i = 0; i < stage->script->n_files; i++) {
        const struct loaded_file *file = &stage->script->files[i];
        if (strcmp(file->name, ar.source + 1) == 0) {
            return luascan_read(scan, file->text, file->size, ar.linedefined, ar.lastlinedefined,
                                own == NULL ? "" : own, err);
        }
    }
    return SLUICE_OK;
}

/* Scans the function at the top and, through upvalues, those it calls. The stack below holds what
 * was seen. */
static sluice_status scan_all(lua_State *L, const struct luastage *stage, int function,
                              struct luascan *scan, struct sluice_error *err)
{
    int top = lua_gettop(L);
    int n = 1;
    const char *parameter;
    sluice_status status;

    if (!lua_checkstack(L, MAX_HELPERS + 20)) {
        return error_nomem(err, "a stage");
    }
    lua_pushvalue(L, function);
    lua_pushvalue(L, -1);
    parameter = lua_getlocal(L, NULL, 1);
    if (lua_gettop(L) > top + 1) { /* a function without parameters leaves itself */
        lua_settop(L, top + 1);
    }
    parameter = parameter == NULL ? "" : parameter;
    status = scan_function(L, stage, parameter, false, scan, err);
    for (int at = 0; at < n && status == SLUICE_OK; at++) {
        for (int k = 1; lua_getupvalue(L, top + 1 + at, k) != NULL && status == SLUICE_OK; k++) {
            bool fresh =
                lua_type(L, -1) == LUA_TFUNCTION && !lua_iscfunction(L, -1) && n < MAX_HELPERS;
            for (int i = 0; fresh && i < n; i++) {
                fresh = !lua_rawequal(L, -1, top + 1 + i);
            }
            if (!fresh) {
                lua_pop(L, 1);
                continue;
            }
            status = scan_function(L, stage, parameter, true, scan, err);
            n++; /* stays on the stack, to be looked through */
        }
    }
    lua_settop(L, top);
    return status;
}

/* Reasons: those listed, or every word among the literals of the function, and the stage's name. */
static sluice_status read_reasons(lua_State *L, int definition, struct luastage *stage,
                                  const struct luascan *scan, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;
    lua_Integer n;

    lua_getfield(L, definition, "reasons");
    if (!lua_isnil(L, -1) && !lua_istable(L, -1)) {
        status = luadefine_fault(
            stage, err,
            "reasons: found a %s, expected a list such as { \"too_short\", \"too_long\" }",
            luaL_typename(L, -1));
    } else if (lua_istable(L, -1)) {
        n = (lua_Integer)lua_rawlen(L, -1);
        for (lua_Integer i = 1; i <= n && status == SLUICE_OK; i++) {
            lua_rawgeti(L, -1, i);
            if (lua_type(L, -1) != LUA_TSTRING || luacall_has_nul(L, -1) ||
                !option_name_valid(lua_tostring(L, -1))) {
                status = luadefine_fault(stage, err,
                                         "reasons: item %d must be a word [a-z][a-z0-9_]*", (int)i);
            } else {
                status = luadefine_reason(stage, lua_tostring(L, -1), err);
            }
            lua_pop(L, 1);
        }
    } else {
        status = luadefine_reason(stage, stage->name, err);
        for (size_t i = 0; i < scan->n_literals && status == SLUICE_OK; i++) {
            if (option_name_valid(scan->literals[i].text)) {
                status = luadefine_reason(stage, scan->literals[i].text, err);
            }
        }
    }
    lua_pop(L, 1);
    if (status == SLUICE_OK && stage->n_reasons == 0) {
        status = luadefine_fault(stage, err, "reasons is empty");
    }
    return status;
}

static sluice_status join_reasons(struct luastage *stage, struct sluice_error *err)
{
    struct buf words = BUF_INIT;

    qsort(stage->reasons, stage->n_reasons, sizeof *stage->reasons, order_texts);
    for (uint32_t i = 0; i < stage->n_reasons; i++) {
        buf_puts(&words, i > 0 ? "|" : "");
        buf_puts(&words, stage->reasons[i]);
    }
    stage->reason_words = buf_take(&words);
    return stage->reason_words == NULL ? error_nomem(err, "a stage") : SLUICE_OK;
}

/* Fields of the source that needs does not list; doc.text is the column of `over`. */
static sluice_status read_fields(struct luastage *stage, const struct luascan *scan,
                                 struct sluice_error *err)
{
    for (size_t i = 0; i < scan->n_fields; i++) {
        const struct luascan_word *word = &scan->fields[i];
        if (luadefine_find(stage, word->text) == NULL) {
            TRY(luadefine_field(stage, word->text, strlen(word->text), "", false, word->line, err));
        }
    }
    if (stage->n_fields == 0) { /* doc goes elsewhere: to a helper in a table, say */
        TRY(luadefine_field(stage, "text", 4, "", false, 0, err));
    }
    return SLUICE_OK;
}

/* ---- the whole ---- */

static sluice_status read_definition(lua_State *L, struct luastage *stage, int definition,
                                     int function, struct sluice_error *err)
{
    struct luascan scan = { 0 };
    sluice_status status;
    lua_Debug ar;

    TRY(luadefine_read(L, definition, stage, err));
    lua_pushvalue(L, function);
    lua_getinfo(L, ">S", &ar);
    stage->file = copy(ar.source[0] == '@' || ar.source[0] == '=' ? ar.source + 1 : ar.source);
    stage->line = ar.linedefined;
    if (stage->file == NULL) {
        return error_nomem(err, "a stage");
    }
    status = scan_all(L, stage, function, &scan, err);
    if (status == SLUICE_OK && (stage->role == LUAROLE_FILTER || stage->role == LUAROLE_ANNOTATE)) {
        status = read_reasons(L, definition, stage, &scan, err);
    }
    if (status == SLUICE_OK && stage->role != LUAROLE_READER) {
        status = read_fields(stage, &scan, err);
    }
    luascan_deinit(&scan);
    TRY(status);
    return luastage_judges(stage) ? join_reasons(stage, err) : SLUICE_OK;
}

static const struct {
    const char *name, *what;
    uint32_t role;
} roles[LUAROLES] = {
    [LUAROLE_FILTER] = { "filter", "A filter", SLUICE_ROLE_FILTER },
    [LUAROLE_ANNOTATE] = { "annotate", "An annotator", SLUICE_ROLE_ANNOTATOR },
    [LUAROLE_HEURISTIC] = { "heuristic", "A heuristic", SLUICE_ROLE_FILTER },
    [LUAROLE_TRANSFORM] = { "transform", "A transform", SLUICE_ROLE_TRANSFORM },
    [LUAROLE_READER] = { "reader", "A reader", SLUICE_ROLE_READER },
    [LUAROLE_GATE] = { "gate", "A gate", SLUICE_ROLE_GATE },
    [LUAROLE_WRITER] = { "writer", "A writer", SLUICE_ROLE_WRITER },
};

const char *luastage_role(const struct script *script, uint32_t k)
{
    return roles[script->stages[k]->role].name;
}

/* Memory of a worker's state: its libraries with this one stage, and what the script has made so
 * far beside its stages (in the planner's state, which holds them all). Measured: 80 KiB of a plain
 * script. */
#define STATE_BYTES (UINT64_C(256) << 10)
#define STAGE_BYTES (UINT64_C(16) << 10)

static uint64_t state_bytes(lua_State *L, uint32_t k)
{
    uint64_t held = (uint64_t)lua_gc(L, LUA_GCCOUNT) << 10;
    uint64_t stages = k * STAGE_BYTES;

    return STATE_BYTES + (held > stages + STATE_BYTES ? held - stages - STATE_BYTES : 0);
}

static void describe(struct luastage *stage, lua_State *L)
{
    struct option_table table = luaoptions_table(stage->options);

    stage->descriptor = (struct sluice_stage){
        .size = sizeof stage->descriptor,
        .name = stage->name,
        .version = "1",
        .bytes_per_batch = 20, /* text:words() and what is found among them, outside of the state */
        .summary = stage->summary,
        .doc = stage->doc,
        .role = roles[stage->role].role,
        /* A writer's files are cut where its rows say, so they come in order. */
        .mode = stage->ordered || stage->role == LUAROLE_WRITER ? SLUICE_MODE_ORDERED
                                                                : SLUICE_MODE_STATELESS,
        .flags = stage->role == LUAROLE_TRANSFORM ? SLUICE_STAGE_CONSUMES
                 : stage->asks                    ? SLUICE_STAGE_RECORDED
                                                  : 0,
        .options = table.n > 0 ? table.options : NULL,
        .n_options = table.n,
        .option_stride = table.stride,
        .config_size = table.config_size,
        .reasons = stage->reason_words,
        .cut = stage->role != LUAROLE_READER ? NULL
               : stage->whole                ? "none"
                                             : "newline",
        .bytes_worker = state_bytes(L, stage->k),
        .bytes_shared = script_new_list_bytes(stage->script),
        .state_version = stage->role == LUAROLE_GATE ? 1 : 0,
    };
    luastage_vtable(stage);
}

/* The header that a writer's function makes has a part in what is written. */
static sluice_status hash_header(struct luastage *stage, lua_State *L, int definition,
                                 struct hasher *hasher, struct sluice_error *err)
{
    struct hash128 code;
    sluice_status status;

    hasher_add_string(hasher, stage->suffix);
    hasher_add_u64(hasher, stage->header_n);
    hasher_add(hasher, stage->header == NULL ? "" : stage->header, stage->header_n);
    if (!stage->header_called) {
        return SLUICE_OK;
    }
    lua_getfield(L, definition, "header");
    status = funchash(stage->script, L, lua_gettop(L), &code, err);
    lua_pop(L, 1);
    hasher_add_hash(hasher, code);
    return status;
}

/* The function with its upvalues, and what the definition says. What only a gate's judge sees has
 * no part in it: it judges sums that are kept, so a change of it runs nothing again. */
static sluice_status hash_stage(struct luastage *stage, lua_State *L, int definition, int function,
                                struct sluice_error *err)
{
    struct hasher *hasher;
    struct hash128 code;
    sluice_status status = SLUICE_OK;

    TRY(funchash(stage->script, L, function, &code, err));
    hasher = hasher_create();
    if (hasher == NULL) {
        return error_nomem(err, "hashing");
    }
    hasher_add_hash(hasher, code);
    hasher_add_u64(hasher, (uint64_t)stage->role);
    hasher_add_u64(hasher, stage->ordered);
    hasher_add_u64(hasher, SANDBOX_PRICES);
    hasher_add_u64(hasher, stage->steps);
    if (stage->asks) {
        hasher_add_string(hasher, "asks");
    }
    hasher_add_string(hasher, stage->reason_words == NULL ? "" : stage->reason_words);
    for (uint32_t i = 0; i < stage->n_fields; i++) {
        hasher_add_string(hasher, stage->fields[i].name);
        hasher_add_string(hasher, stage->fields[i].type);
        hasher_add_u64(hasher, stage->fields[i].optional);
    }
    for (uint32_t i = 0; i < stage->n_adds; i++) {
        hasher_add_string(hasher, stage->adds[i].name);
        hasher_add_string(hasher, stage->adds[i].type);
    }
    hasher_add_string(hasher, stage->has_above ? stage->above.name : "");
    hasher_add_string(hasher, stage->has_below ? stage->below.name : "");
    for (uint32_t i = 0; i < stage->n_sums; i++) {
        hasher_add_string(hasher, stage->sums[i]);
    }
    hasher_add_u64(hasher, stage->whole);
    if (stage->role == LUAROLE_WRITER) {
        status = hash_header(stage, L, definition, hasher, err);
    }
    stage->hash = hasher_digest(hasher);
    hasher_destroy(hasher);
    return status;
}

sluice_status luastage_create(struct script *script, uint32_t k, lua_State *L, const char *role,
                              const char *name, int definition, int function, const char *where,
                              struct luastage **out, struct sluice_error *err)
{
    struct luastage *stage = calloc(1, sizeof *stage);
    int top = lua_gettop(L);
    sluice_status status;

    *out = NULL;
    if (stage == NULL) {
        return error_nomem(err, "a stage");
    }
    definition = lua_absindex(L, definition);
    function = lua_absindex(L, function);
    stage->script = script;
    stage->k = k;
    for (int i = 0; i < LUAROLES; i++) {
        if (strcmp(roles[i].name, role) == 0) {
            stage->role = (enum luarole)i;
        }
    }
    stage->name = copy(name);
    stage->where = copy(where);
    if (stage->name == NULL || stage->where == NULL) {
        status = error_nomem(err, "a stage");
    } else if (!option_name_valid(name)) {
        status = error_set(
            err, SLUICE_E_CONFIG,
            "found the name \"%.80s\" for a stage, expected [a-z][a-z0-9_]*, at most 63 bytes",
            name);
    } else if (lua_iscfunction(L, function)) {
        status = luadefine_fault(stage, err, "its function must be written in Lua");
    } else {
        status = read_definition(L, stage, definition, function, err);
    }
    if (status == SLUICE_OK && (stage->summary == NULL || stage->summary[0] == '\0' ||
                                strchr(stage->summary, '\n') != NULL)) {
        free(stage->summary);
        stage->summary = str_printf("%s in Lua, %s", roles[stage->role].what, where);
        status = stage->summary == NULL ? error_nomem(err, "a stage") : SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        describe(stage, L);
        status = hash_stage(stage, L, definition, function, err);
    }
    lua_settop(L, top);
    if (status != SLUICE_OK) {
        luastage_destroy(stage);
        return status;
    }
    *out = stage;
    return SLUICE_OK;
}

const struct sluice_stage *luastage_descriptor(const struct luastage *stage, struct hash128 *hash)
{
    *hash = stage->hash;
    return &stage->descriptor;
}
