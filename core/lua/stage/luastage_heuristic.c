/* The members of a heuristic: the options that bound its measure. See luastageInt.h. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/stage/luastageInt.h"
#include "plugin/option_table.h"

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
        status = luadefine_fault(stage, err,
                                 "drop.%s names the option '%s', which is not declared%s%s%s", side,
                                 word, near == NULL ? "" : "; did you mean '",
                                 near == NULL ? "" : near, near == NULL ? "" : "'?");
    } else if (out->type != SLUICE_OPT_FLOAT && out->type != SLUICE_OPT_INT) {
        status = luadefine_fault(stage, err, "drop.%s: the option '%s' must be a float or an int",
                                 side, word);
    } else if (out->def == NULL && (out->flags & SLUICE_OPTF_REQUIRED) == 0) {
        status = luadefine_fault(
            stage, err, "drop.%s: the option '%s' needs a default, or required = true", side, word);
    }
    lua_pop(L, 1);
    return status;
}

sluice_status luadefine_heuristic(lua_State *L, int definition, struct luastage *stage,
                                  struct sluice_error *err)
{
    char *reason = NULL;
    sluice_status status;

    lua_getfield(L, definition, "drop");
    if (!lua_istable(L, -1)) {
        lua_pop(L, 1);
        return luadefine_fault(
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
        return luadefine_fault(stage, err, "drop names neither above nor below");
    }
    TRY(luadefine_text(L, definition, stage, "reason", stage->name, &reason, err));
    status =
        option_name_valid(reason)
            ? luadefine_reason(stage, reason, err)
            : luadefine_fault(stage, err, "reason: found \"%s\", expected [a-z][a-z0-9_]*", reason);
    free(reason);
    return status;
}
