/* What a Lua stage is, from its definition in the script: see luastage.h. */
#include "lua/luastage.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lua/luascan.h"
#include "lua/luastageInt.h"
#include "lua/scriptInt.h"
#include "plugin/option_table.h"

#define MAX_HELPERS 64 /* functions that a row function reaches through upvalues */

static char *copy(const char *text)
{
    return text == NULL ? NULL : str_copy(text, strlen(text));
}

static sluice_status fault(const struct luastage *stage, struct sluice_error *err,
                           const char *format, ...) PRINTF_LIKE(3, 4);

static sluice_status fault(const struct luastage *stage, struct sluice_error *err,
                           const char *format, ...)
{
    char text[700];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return error_set(err, SLUICE_E_CONFIG, "stage '%s': %s", stage->name, text);
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
    luaoptions_destroy(stage->options);
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

/* ---- members of the definition ---- */

static sluice_status check_members(lua_State *L, int definition, const struct luastage *stage,
                                   struct sluice_error *err)
{
    static const char *const known[3][16] = {
        { "row", "over", "run", "options", "needs", "reasons", "with", "summary", "doc", "examples",
          NULL },
        { "row", "over", "run", "options", "needs", "reasons", "with", "adds", "summary", "doc",
          NULL },
        { "measure", "over", "run", "options", "needs", "drop", "reason", "examples", "summary",
          "doc", NULL },
    };
    size_t n = 0;

    while (known[stage->role][n] != NULL) {
        n++;
    }
    for (lua_pushnil(L); lua_next(L, definition) != 0; lua_pop(L, 1)) {
        const char *word;
        const char *near;
        bool ok = false;
        if (lua_isinteger(L, -2)) {
            lua_Integer at = lua_tointeger(L, -2);
            if (at >= 1 && at <= 2) {
                continue;
            }
        }
        word = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : luaL_typename(L, -2);
        for (size_t i = 0; i < n; i++) {
            ok = ok || strcmp(known[stage->role][i], word) == 0;
        }
        if (!ok) {
            near = error_suggest(word, known[stage->role], n);
            return fault(stage, err, "unknown member '%s'%s%s%s", word,
                         near == NULL ? "" : ", did you mean '", near == NULL ? "" : near,
                         near == NULL ? "" : "'?");
        }
    }
    return SLUICE_OK;
}

/* The string member called name: a copy in *out, or fallback's where it is nil. */
static sluice_status read_text(lua_State *L, int definition, const struct luastage *stage,
                               const char *name, const char *fallback, char **out,
                               struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    lua_getfield(L, definition, name);
    if (!lua_isnil(L, -1) && lua_type(L, -1) != LUA_TSTRING) {
        status = fault(stage, err, "%s: found a %s, expected a string", name, luaL_typename(L, -1));
    } else {
        *out = copy(lua_isnil(L, -1) ? fallback : lua_tostring(L, -1));
        if (*out == NULL && (fallback != NULL || !lua_isnil(L, -1))) {
            status = error_nomem(err, "a stage");
        }
    }
    lua_pop(L, 1);
    return status;
}

static sluice_status add_reason(struct luastage *stage, const char *word, struct sluice_error *err)
{
    char **more;

    for (uint32_t i = 0; i < stage->n_reasons; i++) {
        if (strcmp(stage->reasons[i], word) == 0) {
            return SLUICE_OK;
        }
    }
    more = realloc(stage->reasons, (stage->n_reasons + 1) * sizeof *more);
    if (more == NULL) {
        return error_nomem(err, "a stage");
    }
    stage->reasons = more;
    more[stage->n_reasons] = copy(word);
    return more[stage->n_reasons] == NULL ? error_nomem(err, "a stage")
                                          : (stage->n_reasons++, SLUICE_OK);
}

static sluice_status add_field(struct luastage *stage, const char *name, size_t size,
                               const char *type, bool optional, int line, struct sluice_error *err)
{
    struct luafield *more = realloc(stage->fields, (stage->n_fields + 1) * sizeof *more);

    if (more == NULL) {
        return error_nomem(err, "a stage");
    }
    stage->fields = more;
    more[stage->n_fields] = (struct luafield){ str_copy(name, size), copy(type), optional, line };
    stage->n_fields++;
    return more[stage->n_fields - 1].name == NULL || more[stage->n_fields - 1].type == NULL
               ? error_nomem(err, "a stage")
               : SLUICE_OK;
}

static struct luafield *find_field(const struct luastage *stage, const char *name)
{
    for (uint32_t i = 0; i < stage->n_fields; i++) {
        if (strcmp(stage->fields[i].name, name) == 0) {
            return &stage->fields[i];
        }
    }
    return NULL;
}

/* needs = { "lang", "score:float64", "title?" } */
static sluice_status read_needs(lua_State *L, int definition, struct luastage *stage,
                                struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;
    lua_Integer n;

    lua_getfield(L, definition, "needs");
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        return SLUICE_OK;
    }
    if (!lua_istable(L, -1)) {
        status = fault(stage, err,
                       "needs: found a %s, expected a list such as { \"lang\", \"score:float64\", "
                       "\"title?\" }",
                       luaL_typename(L, -1));
        lua_pop(L, 1);
        return status;
    }
    n = (lua_Integer)lua_rawlen(L, -1);
    for (lua_Integer i = 1; i <= n && status == SLUICE_OK; i++) {
        const char *word;
        size_t size;
        struct cell_type type;
        bool optional;
        lua_rawgeti(L, -1, i);
        word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
        size = strcspn(word, ":");
        optional = size > 0 && word[size] == '\0' && word[size - 1] == '?';
        if (size == optional) {
            status = fault(stage, err,
                           "needs: item %d must be a column such as \"lang\", \"score:float64\" "
                           "or, where it may be missing, \"title?\"",
                           (int)i);
        } else if (word[size] == ':' && !cell_type_parse(word + size + 1, &type)) {
            status = fault(stage, err, "needs: \"%s\": unknown type", word);
        } else {
            status = add_field(stage, word, size - optional,
                               word[size] == ':' ? word + size + 1 : "", optional, 0, err);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return status;
}

static int by_column(const void *a, const void *b)
{
    return strcmp(((const struct luacolumn *)a)->name, ((const struct luacolumn *)b)->name);
}

/* adds = { n_chars = "int64" } */
static sluice_status read_adds(lua_State *L, int definition, struct luastage *stage,
                               struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    lua_getfield(L, definition, "adds");
    if (!lua_istable(L, -1)) {
        status = fault(
            stage, err,
            "adds: found %s, expected the columns that it adds: adds = { n_chars = \"int64\" }",
            luaL_typename(L, -1));
        lua_pop(L, 1);
        return status;
    }
    for (lua_pushnil(L); status == SLUICE_OK && lua_next(L, -2) != 0;) {
        struct luacolumn *more = realloc(stage->adds, (stage->n_adds + 1) * sizeof *more);
        struct luacolumn *column;
        if (more == NULL) {
            return error_nomem(err, "a stage");
        }
        stage->adds = more;
        column = &more[stage->n_adds];
        memset(column, 0, sizeof *column);
        if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING ||
            lua_tostring(L, -2)[0] == '_') {
            status =
                fault(stage, err,
                      "adds: found an item that is not name = \"type\"; names don't begin with _");
        } else if (!cell_type_parse(lua_tostring(L, -1), &column->cell)) {
            status = fault(stage, err,
                           "adds: %s: unknown type \"%s\"; expected bool, int8 to int64, uint8 to "
                           "uint64, float32, float64, utf8, json, binary, "
                           "list<...> of one of them, with ? where it may be null",
                           lua_tostring(L, -2), lua_tostring(L, -1));
        } else {
            column->name = copy(lua_tostring(L, -2));
            column->type = copy(lua_tostring(L, -1));
            stage->n_adds++;
            status = column->name == NULL || column->type == NULL ? error_nomem(err, "a stage")
                                                                  : SLUICE_OK;
        }
        lua_pop(L, 1);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    lua_pop(L, 1);
    if (stage->n_adds == 0) {
        return fault(stage, err, "adds names no column; expected adds = { n_chars = \"int64\" }");
    }
    qsort(stage->adds, stage->n_adds, sizeof *stage->adds, by_column);
    return SLUICE_OK;
}

static sluice_status read_run(lua_State *L, int definition, struct luastage *stage,
                              struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    lua_getfield(L, definition, "run");
    if (lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "ordered") == 0) {
        stage->ordered = true;
    } else if (!lua_isnil(L, -1) &&
               !(lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "stateless") == 0)) {
        status = fault(stage, err, "run: found %s, expected \"stateless\" or \"ordered\"",
                       lua_isstring(L, -1) ? lua_tostring(L, -1) : luaL_typename(L, -1));
    }
    lua_pop(L, 1);
    return status;
}

/* ---- heuristics ---- */

static sluice_status read_bound(lua_State *L, int drop, struct luastage *stage, const char *side,
                                bool *has, struct sluice_option *out, struct sluice_error *err)
{
    struct option_table table = luaoptions_table(stage->options);
    const char *names[64];
    const char *near;
    size_t n = 0;
    sluice_status status = SLUICE_OK;
    const char *word;

    lua_getfield(L, drop, side);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        return SLUICE_OK;
    }
    word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    for (uint64_t k = 0; k < table.n; k++) {
        struct sluice_option option;
        if (!option_at(&table, k, &option)) {
            break;
        }
        if (strcmp(option.name, word) == 0) {
            *out = option;
            *has = true;
        }
        if (n < 64) {
            names[n++] = option.name;
        }
    }
    near = *has ? NULL : error_suggest(word, names, n);
    if (!*has) {
        status = fault(stage, err, "drop.%s names the option '%s', which is not declared%s%s%s",
                       side, word, near == NULL ? "" : "; did you mean '", near == NULL ? "" : near,
                       near == NULL ? "" : "'?");
    } else if (out->type != SLUICE_OPT_FLOAT && out->type != SLUICE_OPT_INT) {
        status =
            fault(stage, err, "drop.%s: the option '%s' must be a float or an int", side, word);
    } else if (out->def == NULL && (out->flags & SLUICE_OPTF_REQUIRED) == 0) {
        status = fault(stage, err, "drop.%s: the option '%s' needs a default, or required = true",
                       side, word);
    }
    lua_pop(L, 1);
    return status;
}

static sluice_status read_heuristic(lua_State *L, int definition, struct luastage *stage,
                                    struct sluice_error *err)
{
    char *reason = NULL;
    sluice_status status;

    lua_getfield(L, definition, "drop");
    if (!lua_istable(L, -1)) {
        lua_pop(L, 1);
        return fault(
            stage, err,
            "drop must name the option that bounds the measure: drop = { above = \"max\" }");
    }
    status = read_bound(L, lua_gettop(L), stage, "above", &stage->has_above, &stage->above, err);
    if (status == SLUICE_OK) {
        status =
            read_bound(L, lua_gettop(L), stage, "below", &stage->has_below, &stage->below, err);
    }
    lua_pop(L, 1);
    TRY(status);
    if (!stage->has_above && !stage->has_below) {
        return fault(stage, err, "drop names neither above nor below");
    }
    TRY(read_text(L, definition, stage, "reason", stage->name, &reason, err));
    status = option_name_valid(reason)
                 ? add_reason(stage, reason, err)
                 : fault(stage, err, "reason: found \"%s\", expected [a-z][a-z0-9_]*", reason);
    free(reason);
    return status;
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

/* Scans the function at the top and, through upvalues, those it calls. The stack below holds what was seen. */
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

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Reasons: those listed, or every word among the literals of the function, and the stage's name. */
static sluice_status read_reasons(lua_State *L, int definition, struct luastage *stage,
                                  const struct luascan *scan, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;
    lua_Integer n;

    lua_getfield(L, definition, "reasons");
    if (!lua_isnil(L, -1) && !lua_istable(L, -1)) {
        status =
            fault(stage, err,
                  "reasons: found a %s, expected a list such as { \"too_short\", \"too_long\" }",
                  luaL_typename(L, -1));
    } else if (lua_istable(L, -1)) {
        n = (lua_Integer)lua_rawlen(L, -1);
        for (lua_Integer i = 1; i <= n && status == SLUICE_OK; i++) {
            lua_rawgeti(L, -1, i);
            if (lua_type(L, -1) != LUA_TSTRING || !option_name_valid(lua_tostring(L, -1))) {
                status =
                    fault(stage, err, "reasons: item %d must be a word [a-z][a-z0-9_]*", (int)i);
            } else {
                status = add_reason(stage, lua_tostring(L, -1), err);
            }
            lua_pop(L, 1);
        }
    } else {
        status = add_reason(stage, stage->name, err);
        for (size_t i = 0; i < scan->n_literals && status == SLUICE_OK; i++) {
            if (option_name_valid(scan->literals[i].text)) {
                status = add_reason(stage, scan->literals[i].text, err);
            }
        }
    }
    lua_pop(L, 1);
    if (status == SLUICE_OK && stage->n_reasons == 0) {
        status = fault(stage, err, "reasons is empty");
    }
    return status;
}

static sluice_status join_reasons(struct luastage *stage, struct sluice_error *err)
{
    struct buf words = BUF_INIT;

    qsort(stage->reasons, stage->n_reasons, sizeof *stage->reasons, by_text);
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
        if (find_field(stage, word->text) == NULL) {
            TRY(add_field(stage, word->text, strlen(word->text), "", false, word->line, err));
        }
    }
    if (stage->n_fields == 0) { /* doc goes elsewhere: to a helper in a table, say */
        TRY(add_field(stage, "text", 4, "", false, 0, err));
    }
    stage->needs_text = find_field(stage, "text") != NULL;
    return SLUICE_OK;
}

/* ---- the whole ---- */

static sluice_status read_definition(lua_State *L, struct luastage *stage, int definition,
                                     int function, struct sluice_error *err)
{
    struct luascan scan = { 0 };
    sluice_status status;
    lua_Debug ar;

    TRY(check_members(L, definition, stage, err));
    TRY(read_text(L, definition, stage, "over", "text", &stage->over, err));
    TRY(read_text(L, definition, stage, "doc", NULL, &stage->doc, err));
    TRY(read_text(L, definition, stage, "summary", NULL, &stage->summary, err));
    TRY(read_run(L, definition, stage, err));
    TRY(read_needs(L, definition, stage, err));
    stage->over_option = (struct sluice_option){ .name = "over",
                                                 .doc = "Column that doc.text is.",
                                                 .def = stage->over,
                                                 .type = SLUICE_OPT_COLUMN };
    lua_getfield(L, definition, "options");
    status =
        luaoptions_read(L, lua_gettop(L), stage->name, &stage->over_option, &stage->options, err);
    lua_pop(L, 1);
    TRY(status);
    if (stage->role == LUAROLE_ANNOTATE) {
        TRY(read_adds(L, definition, stage, err));
    }
    if (stage->role == LUAROLE_HEURISTIC) {
        TRY(read_heuristic(L, definition, stage, err));
    }
    lua_pushvalue(L, function);
    lua_getinfo(L, ">S", &ar);
    stage->file = copy(ar.source[0] == '@' || ar.source[0] == '=' ? ar.source + 1 : ar.source);
    stage->line = ar.linedefined;
    if (stage->file == NULL) {
        return error_nomem(err, "a stage");
    }
    status = scan_all(L, stage, function, &scan, err);
    if (status == SLUICE_OK && stage->role != LUAROLE_HEURISTIC) {
        status = read_reasons(L, definition, stage, &scan, err);
    }
    if (status == SLUICE_OK) {
        status = read_fields(stage, &scan, err);
    }
    luascan_deinit(&scan);
    TRY(status);
    return join_reasons(stage, err);
}

static void describe(struct luastage *stage)
{
    struct option_table table = luaoptions_table(stage->options);

    stage->descriptor = (struct sluice_stage){
        .size = sizeof stage->descriptor,
        .name = stage->name,
        .version = "1",
        .summary = stage->summary,
        .doc = stage->doc,
        .role = stage->role == LUAROLE_ANNOTATE ? SLUICE_ROLE_ANNOTATOR : SLUICE_ROLE_FILTER,
        .mode = stage->ordered ? SLUICE_MODE_ORDERED : SLUICE_MODE_STATELESS,
        .options = table.options,
        .n_options = table.n,
        .option_stride = table.stride,
        .config_size = table.config_size,
        .reasons = stage->reason_words,
        .bytes_worker = UINT64_C(16) << 20,
    };
    luastage_vtable(&stage->descriptor);
}

/* Everything but the function's hash, which also covers what the definition says. */
static sluice_status hash_stage(struct luastage *stage, lua_State *L, int function,
                                struct sluice_error *err)
{
    struct hasher *hasher;
    struct hash128 code;

    TRY(funchash(stage->script, L, function, &code, err));
    hasher = hasher_create();
    if (hasher == NULL) {
        return error_nomem(err, "hashing");
    }
    hasher_add_hash(hasher, code);
    hasher_add_u64(hasher, (uint64_t)stage->role);
    hasher_add_u64(hasher, stage->ordered);
    hasher_add_string(hasher, stage->reason_words);
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
    stage->hash = hasher_digest(hasher);
    hasher_destroy(hasher);
    return SLUICE_OK;
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
    stage->role = strcmp(role, "filter") == 0     ? LUAROLE_FILTER
                  : strcmp(role, "annotate") == 0 ? LUAROLE_ANNOTATE
                                                  : LUAROLE_HEURISTIC;
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
        status = fault(stage, err, "its function must be written in Lua");
    } else {
        status = read_definition(L, stage, definition, function, err);
    }
    if (status == SLUICE_OK && (stage->summary == NULL || stage->summary[0] == '\0' ||
                                strchr(stage->summary, '\n') != NULL)) {
        free(stage->summary);
        stage->summary = str_printf("%s in Lua, %s",
                                    stage->role == LUAROLE_FILTER     ? "A filter"
                                    : stage->role == LUAROLE_ANNOTATE ? "An annotator"
                                                                      : "A heuristic",
                                    where);
        status = stage->summary == NULL ? error_nomem(err, "a stage") : SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        describe(stage);
        status = hash_stage(stage, L, function, err);
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
