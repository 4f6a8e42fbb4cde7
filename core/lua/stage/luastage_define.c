/* The members of a stage's definition in a script. See luastageInt.h. */
#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/order.h"
#include "lua/sandbox/sandbox.h"
#include "lua/stage/luastageInt.h"
#include "plugin/option_table.h"

static char *copy(const char *text)
{
    return text == NULL ? NULL : str_copy(text, strlen(text));
}

sluice_status luadefine_fault(const struct luastage *stage, struct sluice_error *err,
                              const char *format, ...)
{
    char text[700];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return error_set(err, SLUICE_E_CONFIG, "stage '%s': %s", stage->name, text);
}

static sluice_status check_members(lua_State *L, int definition, const struct luastage *stage,
                                   struct sluice_error *err)
{
    static const char *const known[LUAROLES][18] = {
        [LUAROLE_FILTER] = { "row", "over", "run", "steps", "options", "needs", "reasons", "with",
                             "summary", "doc", "examples", NULL },
        [LUAROLE_ANNOTATE] = { "row", "over", "run", "steps", "options", "needs", "reasons", "with",
                               "adds", "asks", "summary", "doc", "examples", NULL },
        [LUAROLE_HEURISTIC] = { "measure", "over", "run", "steps", "options", "needs", "drop",
                                "reason", "examples", "summary", "doc", NULL },
        [LUAROLE_TRANSFORM] = { "row", "over", "run", "steps", "options", "needs", "gives",
                                "examples", "summary", "doc", NULL },
        [LUAROLE_READER] = { "record", "cut", "steps", "options", "gives", "examples", "summary",
                             "doc", NULL },
        [LUAROLE_GATE] = { "measure", "judge", "sums", "over", "steps", "options", "needs",
                           "examples", "summary", "doc", NULL },
        [LUAROLE_WRITER] = { "row", "over", "run", "steps", "options", "needs", "suffix", "header",
                             "examples", "summary", "doc", NULL },
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
            return luadefine_fault(stage, err, "unknown member '%s'%s%s%s", word,
                                   near == NULL ? "" : ", did you mean '", near == NULL ? "" : near,
                                   near == NULL ? "" : "'?");
        }
    }
    return SLUICE_OK;
}

/* The string member called name: a copy in *out, or fallback's where it is nil. */
sluice_status luadefine_text(lua_State *L, int definition, const struct luastage *stage,
                             const char *name, const char *fallback, char **out,
                             struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    lua_getfield(L, definition, name);
    if (!lua_isnil(L, -1) && lua_type(L, -1) != LUA_TSTRING) {
        status = luadefine_fault(stage, err, "%s: found a %s, expected a string", name,
                                 luaL_typename(L, -1));
    } else {
        *out = copy(lua_isnil(L, -1) ? fallback : lua_tostring(L, -1));
        if (*out == NULL && (fallback != NULL || !lua_isnil(L, -1))) {
            status = error_nomem(err, "a stage");
        }
    }
    lua_pop(L, 1);
    return status;
}

sluice_status luadefine_reason(struct luastage *stage, const char *word, struct sluice_error *err)
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

sluice_status luadefine_field(struct luastage *stage, const char *name, size_t size,
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

struct luafield *luadefine_find(const struct luastage *stage, const char *name)
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
        status = luadefine_fault(
            stage, err,
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
            status = luadefine_fault(
                stage, err,
                "needs: item %d must be a column such as \"lang\", \"score:float64\" "
                "or, where it may be missing, \"title?\"",
                (int)i);
        } else if (word[size] == ':' && !cell_type_parse(word + size + 1, &type)) {
            status = luadefine_fault(stage, err, "needs: \"%s\": unknown type", word);
        } else {
            status = luadefine_field(stage, word, size - optional,
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

/* adds = { n_chars = "int64" }, or gives = ... */
static sluice_status read_columns(lua_State *L, int definition, struct luastage *stage,
                                  const char *member, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    lua_getfield(L, definition, member);
    if (!lua_istable(L, -1)) {
        status = luadefine_fault(
            stage, err,
            "%s: found %s, expected the columns that it %s: %s = { n_chars = \"int64\" }", member,
            luaL_typename(L, -1), member, member);
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
            status = luadefine_fault(
                stage, err,
                "%s: found an item that is not name = \"type\"; names don't begin with _", member);
        } else if (!cell_type_parse(lua_tostring(L, -1), &column->cell)) {
            status = luadefine_fault(
                stage, err,
                "%s: %s: unknown type \"%s\"; expected bool, int8 to int64, uint8 to "
                "uint64, float32, float64, utf8, json, binary, "
                "list<...> of one of them, with ? where it may be null",
                member, lua_tostring(L, -2), lua_tostring(L, -1));
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
        return luadefine_fault(stage, err,
                               "%s names no column; expected %s = { n_chars = \"int64\" }", member,
                               member);
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
        status = luadefine_fault(stage, err, "run: found %s, expected \"stateless\" or \"ordered\"",
                                 lua_isstring(L, -1) ? lua_tostring(L, -1) : luaL_typename(L, -1));
    }
    lua_pop(L, 1);
    return status;
}

/* asks = true: its function is given `ask`. */
static sluice_status read_asks(lua_State *L, int definition, struct luastage *stage,
                               struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    lua_getfield(L, definition, "asks");
    stage->asks = lua_toboolean(L, -1) != 0;
    if (!lua_isnil(L, -1) && !lua_isboolean(L, -1)) {
        status = luadefine_fault(stage, err, "asks: found a %s, expected true or false",
                                 luaL_typename(L, -1));
    } else if (stage->asks && stage->ordered) {
        status = luadefine_fault(stage, err,
                                 "a stage that asks is stateless: leave run = \"ordered\" away, "
                                 "its function is called again for each answer");
    }
    lua_pop(L, 1);
    return status;
}

#define STEPS_LEAST 1000
#define STEPS_MOST INT64_C(1000000000000)

static sluice_status read_steps(lua_State *L, int definition, struct luastage *stage,
                                struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;
    lua_Integer steps = (lua_Integer)SANDBOX_ROW_STEPS;

    if (lua_getfield(L, definition, "steps") != LUA_TNIL) {
        int exact = 0;
        steps = lua_type(L, -1) == LUA_TNUMBER ? lua_tointegerx(L, -1, &exact) : 0;
        if (exact == 0 || steps < STEPS_LEAST || steps > STEPS_MOST) {
            status = luadefine_fault(stage, err,
                                     "steps: found %s, expected how many a row may take beside "
                                     "512 for each byte that it reads: 1000 to 10^12, 10^7 where "
                                     "it is not given",
                                     lua_type(L, -1) == LUA_TNUMBER ? lua_tostring(L, -1)
                                                                    : luaL_typename(L, -1));
        }
    }
    lua_pop(L, 1);
    stage->steps = (uint64_t)steps;
    return status;
}

/* ---- readers, gates, writers ---- */

static sluice_status read_cut(lua_State *L, int definition, struct luastage *stage,
                              struct sluice_error *err)
{
    char *cut = NULL;
    sluice_status status = luadefine_text(L, definition, stage, "cut", "newline", &cut, err);

    if (status == SLUICE_OK) {
        stage->whole = strcmp(cut, "none") == 0;
        if (!stage->whole && strcmp(cut, "newline") != 0) {
            status = luadefine_fault(stage, err,
                                     "cut: found \"%s\", expected \"newline\" (a call a line) or "
                                     "\"none\" (a call a file)",
                                     cut);
        }
    }
    free(cut);
    return status;
}

/* sums = { "short", "chars" } */
static sluice_status read_sums(lua_State *L, int definition, struct luastage *stage,
                               struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;
    lua_Integer n;

    if (lua_getfield(L, definition, "judge") != LUA_TFUNCTION) {
        return luadefine_fault(stage, err, "judge: found a %s, expected function(sums, o, count)",
                               luaL_typename(L, -1));
    }
    if (lua_getfield(L, definition, "sums") == LUA_TNIL) {
        lua_pop(L, 2);
        return SLUICE_OK;
    }
    n = lua_istable(L, -1) ? (lua_Integer)lua_rawlen(L, -1) : 0;
    if (n == 0 || n > SUMS_MAX) {
        return luadefine_fault(
            stage, err, "sums: expected the names of 1 to %u sums: sums = { \"short\" }", SUMS_MAX);
    }
    stage->sums = calloc((size_t)n, sizeof *stage->sums);
    if (stage->sums == NULL) {
        return error_nomem(err, "a stage");
    }
    for (lua_Integer i = 1; i <= n && status == SLUICE_OK; i++) {
        const char *word;
        lua_rawgeti(L, -1, i);
        word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
        if (!option_name_valid(word) || strcmp(word, "rows") == 0) {
            status = luadefine_fault(
                stage, err, "sums: item %d must be a word [a-z][a-z0-9_]*, other than \"rows\"",
                (int)i);
        } else {
            stage->sums[stage->n_sums] = copy(word);
            status = stage->sums[stage->n_sums++] == NULL ? error_nomem(err, "a stage") : SLUICE_OK;
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
    if (status != SLUICE_OK) {
        return status;
    }
    qsort(stage->sums, stage->n_sums, sizeof *stage->sums, order_texts);
    for (uint32_t i = 1; i < stage->n_sums; i++) {
        if (strcmp(stage->sums[i - 1], stage->sums[i]) == 0) {
            return luadefine_fault(stage, err, "sums: found \"%s\" twice", stage->sums[i]);
        }
    }
    return SLUICE_OK;
}

/* suffix and header of a writer. */
static sluice_status read_files(lua_State *L, int definition, struct luastage *stage,
                                struct sluice_error *err)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const char *header;
    size_t n;

    TRY(luadefine_text(L, definition, stage, "suffix", "", &stage->suffix, err));
    n = strlen(stage->suffix);
    if (n < 2 || n > 30 || stage->suffix[0] != '.' || strspn(stage->suffix + 1, letters) != n - 1) {
        return luadefine_fault(
            stage, err,
            "suffix: found \"%s\", expected what the files' names end in, such as \".tsv\"",
            stage->suffix);
    }
    switch (lua_getfield(L, definition, "header")) {
    case LUA_TNIL:
        break;
    case LUA_TFUNCTION:
        stage->header_called = true;
        break;
    case LUA_TSTRING:
        header = lua_tolstring(L, -1, &stage->header_n);
        stage->header = str_copy(header, stage->header_n);
        if (stage->header == NULL) {
            return error_nomem(err, "a stage");
        }
        break;
    default:
        return luadefine_fault(stage, err, "header: found a %s, expected a string or function(o)",
                               luaL_typename(L, -1));
    }
    lua_pop(L, 1);
    return SLUICE_OK;
}

/* ---- options ---- */

/* Options that every stage of the role has. Each has 16 bytes of the config, in this order; `over`
 * is the first. */
static void add_common(struct luastage *stage)
{
    static const struct sluice_option files[] = {
        { .name = "path",
          .doc = "Dataset folder that is written.",
          .type = SLUICE_OPT_PATH,
          .flags = SLUICE_OPTF_OUTPUT_PATH | SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED },
        { .name = "compression",
          .doc = "Codec of the files.",
          .def = "zstd",
          .choices = "none|gzip|zstd",
          .type = SLUICE_OPT_ENUM },
        { .name = "level",
          .doc = "Level of the codec (gzip to 9, zstd to 22); 0 is its default.",
          .def = "0",
          .type = SLUICE_OPT_INT,
          .max = 22 },
        { .name = "shard_size",
          .doc = "Uncompressed bytes after which a file is ended, at the end of a row.",
          .def = "256MiB",
          .type = SLUICE_OPT_SIZE,
          .min = 1,
          .max = 1e15 },
    };

    if (stage->role == LUAROLE_READER) {
        return;
    }
    stage->common[stage->n_common++] = (struct sluice_option){ .name = "over",
                                                               .doc = "Column that doc.text is.",
                                                               .def = stage->over,
                                                               .type = SLUICE_OPT_COLUMN };
    for (size_t k = 0; stage->role == LUAROLE_WRITER && k < sizeof files / sizeof files[0]; k++) {
        stage->common[stage->n_common] = files[k];
        stage->common[stage->n_common].offset = (uint64_t)16 * stage->n_common;
        stage->n_common++;
    }
}

/* ---- all ---- */

sluice_status luadefine_read(lua_State *L, int definition, struct luastage *stage,
                             struct sluice_error *err)
{
    int top = lua_gettop(L);
    sluice_status status;

    TRY(check_members(L, definition, stage, err));
    TRY(luadefine_text(L, definition, stage, "over", "text", &stage->over, err));
    TRY(luadefine_text(L, definition, stage, "doc", NULL, &stage->doc, err));
    TRY(luadefine_text(L, definition, stage, "summary", NULL, &stage->summary, err));
    TRY(read_run(L, definition, stage, err));
    TRY(read_steps(L, definition, stage, err));
    TRY(read_needs(L, definition, stage, err));
    add_common(stage);
    lua_getfield(L, definition, "options");
    status = luaoptions_read(L, lua_gettop(L), stage->name, stage->common, stage->n_common,
                             stage->role == LUAROLE_GATE ? LUAOPTIONS_GATE : LUAOPTIONS_PLAIN,
                             &stage->options, err);
    lua_pop(L, 1);
    TRY(status);
    switch (stage->role) {
    case LUAROLE_FILTER:
        break;
    case LUAROLE_ANNOTATE:
        TRY(read_asks(L, definition, stage, err));
        status = read_columns(L, definition, stage, "adds", err);
        break;
    case LUAROLE_HEURISTIC:
        status = luadefine_heuristic(L, definition, stage, err);
        break;
    case LUAROLE_TRANSFORM:
        stage->n_places = 1;
        status = read_columns(L, definition, stage, "gives", err);
        break;
    case LUAROLE_READER:
        stage->n_places = 2;
        TRY(read_cut(L, definition, stage, err));
        status = read_columns(L, definition, stage, "gives", err);
        break;
    case LUAROLE_GATE:
        status = read_sums(L, definition, stage, err);
        break;
    case LUAROLE_WRITER:
        status = read_files(L, definition, stage, err);
        break;
    }
    lua_settop(L, top);
    return status;
}
