/* Options declared in Lua: see luaoptions.h. */
#include "lua/stage/luaoptions.h"

#include <float.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/order.h"
#include "lua/luavalue.h"

struct luaoptions {
    char *owner;
    struct sluice_option *options;
    uint64_t n;
    uint64_t config_size;
    enum luaoptions_of of;
    char **texts; /* everything the options point to */
    size_t n_texts;
};

static const struct {
    const char *name;
    int32_t type;
    uint32_t size;
} kinds[] = {
    { "bool", SLUICE_OPT_BOOL, 8 },         { "int", SLUICE_OPT_INT, 8 },
    { "float", SLUICE_OPT_FLOAT, 8 },       { "string", SLUICE_OPT_STRING, 8 },
    { "enum", SLUICE_OPT_ENUM, 8 },         { "size", SLUICE_OPT_SIZE, 8 },
    { "duration", SLUICE_OPT_DURATION, 8 }, { "path", SLUICE_OPT_PATH, 8 },
    { "glob", SLUICE_OPT_STRING, 8 },       { "column", SLUICE_OPT_COLUMN, 8 },
    { "list", SLUICE_OPT_LIST, 16 },        { "map", SLUICE_OPT_MAP, 24 },
    { "range", SLUICE_OPT_RANGE, 16 },      { "node", SLUICE_OPT_NODE, 8 },
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

void luaoptions_destroy(struct luaoptions *options)
{
    if (options == NULL) {
        return;
    }
    for (size_t i = 0; i < options->n_texts; i++) {
        free(options->texts[i]);
    }
    free(options->texts);
    free(options->options);
    free(options->owner);
    free(options);
}

static const char *keep(struct luaoptions *options, char *text)
{
    char **texts =
        text == NULL ? NULL : realloc(options->texts, (options->n_texts + 1) * sizeof *texts);

    if (texts == NULL) {
        free(text);
        return NULL;
    }
    options->texts = texts;
    texts[options->n_texts++] = text;
    return text;
}

/* The default as canonical text. */
static sluice_status default_text(lua_State *L, struct luaoptions *options, const char *what,
                                  struct sluice_option *option, struct sluice_error *err)
{
    struct value value;
    struct buf text = BUF_INIT;
    sluice_status status = luavalue_read(L, -1, what, &value, err);

    if (status != SLUICE_OK || value.kind == VALUE_NIL) {
        return status;
    }
    if (value.kind == VALUE_STRING) {
        buf_append(&text, value.as.string.data, value.as.string.size);
    } else if (value.kind == VALUE_LIST) {
        for (size_t i = 0; i < value.as.list.n; i++) {
            const struct value *item = &value.as.list.items[i];
            buf_puts(&text, i > 0 ? "," : "");
            value_print_json(item, &text);
        }
    } else {
        value_print_json(&value, &text);
    }
    value_deinit(&value);
    option->def = keep(options, buf_take(&text));
    return option->def == NULL ? error_nomem(err, "options") : SLUICE_OK;
}

static sluice_status read_option(lua_State *L, int index, struct luaoptions *options,
                                 const char *name, struct sluice_option *option,
                                 struct sluice_error *err)
{
    char what[200];
    const char *type;
    size_t kind;
    const char *names[N_KINDS];
    const bool nodes = options->of != LUAOPTIONS_PLAIN;

    snprintf(what, sizeof what, "option '%s' of '%s'", name, options->owner);
    option->name = keep(options, str_copy(name, strlen(name)));
    if (lua_type(L, index) != LUA_TTABLE) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "%s: found a %s, expected a declaration such as { \"float\", 0.25, min = 0, max = 1 }",
            what, luaL_typename(L, index));
    }
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
        static const char *const known[] = { "min", "max", "doc", "choices", "required", "judge" };
        const bool gate = options->of == LUAOPTIONS_GATE;
        const size_t n_known = gate ? 6 : 5;
        bool ok = lua_isinteger(L, -2) && (lua_tointeger(L, -2) == 1 || lua_tointeger(L, -2) == 2);
        for (size_t k = 0; lua_type(L, -2) == LUA_TSTRING && k < n_known; k++) {
            ok = ok || strcmp(lua_tostring(L, -2), known[k]) == 0;
        }
        if (!ok) {
            const char *word = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
            const char *near = error_suggest(word, known, n_known);
            return error_set(
                err, SLUICE_E_CONFIG,
                "%s: unknown member '%s'%s%s%s; known: min, max, doc, choices, required%s", what,
                word, near == NULL ? "" : ", did you mean '", near == NULL ? "" : near,
                near == NULL ? "" : "'?", gate ? ", judge" : "");
        }
    }
    lua_rawgeti(L, index, 1);
    type = lua_tostring(L, -1);
    for (kind = 0; kind < N_KINDS; kind++) {
        names[kind] = kinds[kind].name;
        if (type != NULL && strcmp(kinds[kind].name, type) == 0) {
            break;
        }
    }
    if (kind == N_KINDS || (kinds[kind].type == SLUICE_OPT_NODE && !nodes)) {
        const char *near =
            type == NULL ? NULL : error_suggest(type, names, nodes ? N_KINDS : N_KINDS - 1);
        return error_set(err, SLUICE_E_CONFIG, "%s: unknown type '%s'%s%s%s", what,
                         type == NULL ? "nil" : type, near == NULL ? "" : ", did you mean '",
                         near == NULL ? "" : near, near == NULL ? "" : "'?");
    }
    lua_pop(L, 1);
    option->type = kinds[kind].type;
    option->offset = options->config_size;
    options->config_size += kinds[kind].size;
    lua_getfield(L, index, "doc");
    option->doc = keep(options, str_printf("%s", lua_isstring(L, -1) ? lua_tostring(L, -1) : name));
    lua_pop(L, 1);
    if (options->of == LUAOPTIONS_GATE) {
        lua_getfield(L, index, "judge");
        if (lua_toboolean(L, -1) || option->type == SLUICE_OPT_NODE) {
            option->flags |= SLUICE_OPTF_NO_OUTPUT;
        }
        lua_pop(L, 1);
    }
    lua_getfield(L, index, "choices");
    if (lua_isstring(L, -1)) {
        option->choices = keep(options, str_printf("%s", lua_tostring(L, -1)));
    }
    lua_pop(L, 1);
    lua_getfield(L, index, "min");
    lua_getfield(L, index, "max");
    if (lua_isnumber(L, -1) || lua_isnumber(L, -2)) {
        option->min = lua_isnumber(L, -2) ? lua_tonumber(L, -2) : -DBL_MAX;
        option->max = lua_isnumber(L, -1) ? lua_tonumber(L, -1) : DBL_MAX;
    }
    lua_pop(L, 2);
    lua_rawgeti(L, index, 2);
    TRY(default_text(L, options, what, option, err));
    lua_pop(L, 1);
    lua_getfield(L, index, "required");
    if (lua_toboolean(L, -1) && option->def == NULL) {
        option->flags |= SLUICE_OPTF_REQUIRED;
    }
    lua_pop(L, 1);
    return option->name == NULL || option->doc == NULL ? error_nomem(err, "options") : SLUICE_OK;
}

/* Declarations in order of their names, since the order of a Lua table's keys means nothing. */
static sluice_status read_all(lua_State *L, int index, struct luaoptions *options,
                              struct sluice_error *err)
{
    size_t n = 0;
    const char **names;
    sluice_status status = SLUICE_OK;

    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING) {
            return error_set(err, SLUICE_E_CONFIG,
                             "options of '%s': found a declaration without a name; write name = { "
                             "\"type\", default }",
                             options->owner);
        }
        n++;
    }
    if (n + options->n > OPTIONS_MAX) {
        return error_set(err, SLUICE_E_CONFIG,
                         "options of '%s': found %zu, at most %u are possible", options->owner, n,
                         OPTIONS_MAX);
    }
    names = calloc(n + 1, sizeof(const char *));
    if (names == NULL) {
        return error_nomem(err, "options");
    }
    n = 0;
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
        names[n++] = lua_tostring(L, -2);
    }
    qsort(names, n, sizeof *names, order_texts);
    for (size_t i = 0; i < n && status == SLUICE_OK; i++) {
        lua_getfield(L, index, names[i]);
        status =
            read_option(L, lua_gettop(L), options, names[i], &options->options[options->n], err);
        lua_pop(L, 1);
        options->n++;
    }
    free(names);
    return status;
}

sluice_status luaoptions_read(lua_State *L, int index, const char *owner,
                              const struct sluice_option *extra, uint32_t n_extra,
                              enum luaoptions_of of, struct luaoptions **out,
                              struct sluice_error *err)
{
    struct luaoptions *options = calloc(1, sizeof *options);
    struct option_table table;
    sluice_status status = SLUICE_OK;

    *out = NULL;
    index = lua_absindex(L, index);
    if (options == NULL) {
        return error_nomem(err, "options");
    }
    options->owner = str_copy(owner, strlen(owner));
    options->options = calloc(OPTIONS_MAX, sizeof *options->options);
    if (options->owner == NULL || options->options == NULL) {
        luaoptions_destroy(options);
        return error_nomem(err, "options");
    }
    options->of = of;
    for (uint32_t k = 0; k < n_extra; k++) {
        options->options[options->n++] = extra[k];
        options->config_size += 16;
    }
    if (lua_type(L, index) == LUA_TTABLE) {
        status = read_all(L, index, options, err);
    } else if (!lua_isnoneornil(L, index)) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "options of '%s': found a %s, expected a table of declarations", owner,
                           luaL_typename(L, index));
    }
    if (status == SLUICE_OK) {
        options->config_size = options->config_size == 0 ? 8 : options->config_size;
        table = luaoptions_table(options);
        status = option_table_check(&table, err);
        if (status != SLUICE_OK && err != NULL) {
            err->code = SLUICE_E_CONFIG;
            status = SLUICE_E_CONFIG;
        }
    }
    if (status != SLUICE_OK) {
        luaoptions_destroy(options);
        return status;
    }
    *out = options;
    return SLUICE_OK;
}

struct option_table luaoptions_table(const struct luaoptions *options)
{
    return (struct option_table){ .owner = options->owner,
                                  .options = options->options,
                                  .n = options->n,
                                  .stride = sizeof *options->options,
                                  .config_size = options->config_size,
                                  .scripted = true };
}

static void push_text(lua_State *L, const char *text)
{
    if (text == NULL) {
        lua_pushnil(L);
    } else {
        lua_pushstring(L, text);
    }
}

static void push_choice(lua_State *L, const char *choices, int32_t k)
{
    while (choices != NULL && k-- > 0) {
        choices = strchr(choices, '|');
        choices = choices == NULL ? NULL : choices + 1;
    }
    if (choices == NULL) {
        lua_pushnil(L);
    } else {
        lua_pushlstring(L, choices, strcspn(choices, "|"));
    }
}

static void push_options(lua_State *L, const struct luaoptions *options, const void *config,
                         uint32_t without)
{
    lua_createtable(L, 0, (int)options->n);
    for (uint64_t k = 0; k < options->n; k++) {
        const struct sluice_option *option = &options->options[k];
        if ((option->flags & without) != 0) {
            continue;
        }
        const char *at = (const char *)config + option->offset;
        const struct sluice_list *list = (const void *)at;
        const struct sluice_map *map = (const void *)at;
        switch (option->type) {
        case SLUICE_OPT_BOOL:
            lua_pushboolean(L, *(const uint8_t *)at);
            break;
        case SLUICE_OPT_DURATION: /* seconds */
            lua_pushnumber(L, (double)*(const int64_t *)(const void *)at / 1e9);
            break;
        case SLUICE_OPT_INT:
            lua_pushinteger(L, *(const int64_t *)(const void *)at);
            break;
        case SLUICE_OPT_SIZE:
            lua_pushinteger(L, (lua_Integer) * (const uint64_t *)(const void *)at);
            break;
        case SLUICE_OPT_FLOAT:
            lua_pushnumber(L, *(const double *)(const void *)at);
            break;
        case SLUICE_OPT_ENUM:
            push_choice(L, option->choices, *(const int32_t *)(const void *)at);
            break;
        case SLUICE_OPT_RANGE:
            lua_createtable(L, 2, 0);
            lua_pushnumber(L, ((const struct sluice_range *)(const void *)at)->lo);
            lua_rawseti(L, -2, 1);
            lua_pushnumber(L, ((const struct sluice_range *)(const void *)at)->hi);
            lua_rawseti(L, -2, 2);
            break;
        case SLUICE_OPT_LIST:
            lua_createtable(L, (int)list->n, 0);
            for (uint64_t i = 0; i < list->n; i++) {
                lua_pushstring(L, list->items[i]);
                lua_rawseti(L, -2, (lua_Integer)i + 1);
            }
            break;
        case SLUICE_OPT_MAP:
            lua_createtable(L, 0, (int)map->n);
            for (uint64_t i = 0; i < map->n; i++) {
                lua_pushstring(L, map->values[i]);
                lua_setfield(L, -2, map->keys[i]);
            }
            break;
        default:
            push_text(L, *(const char *const *)(const void *)at);
            break;
        }
        lua_setfield(L, -2, option->name);
    }
}

void luaoptions_push(lua_State *L, const struct luaoptions *options, const void *config)
{
    push_options(L, options, config, 0);
}

void luaoptions_push_keyed(lua_State *L, const struct luaoptions *options, const void *config)
{
    push_options(L, options, config, SLUICE_OPTF_NO_OUTPUT);
}
