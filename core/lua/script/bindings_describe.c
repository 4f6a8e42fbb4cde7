/* The functions of `core` that tell a describer of composites and of what they are made of. See
 * bindingsInt.h. */
#include "lua/script/bindingsInt.h"
#include "lua/stage/luaoptions.h"

/* core.composite(name, doc, example, declared) */
static int core_composite(lua_State *L)
{
    const struct script_describer *describer = bindings_of(L)->script->options.describer;
    struct luaoptions *table_of = NULL;
    struct sluice_error err = ERROR_INIT;
    const char *name = luaL_checkstring(L, 1);
    const char *doc = luaL_checkstring(L, 2);
    const char *example = luaL_checkstring(L, 3);
    struct option_table table;

    luaL_checktype(L, 4, LUA_TTABLE);
    if (luaoptions_read(L, 4, name, NULL, 0, LUAOPTIONS_COMPOSITE, &table_of, &err) != SLUICE_OK) {
        luaoptions_destroy(table_of);
        return bindings_raise(L, &err);
    }
    table = luaoptions_table(table_of);
    describer->composite(describer->ctx, name, doc, example, &table);
    luaoptions_destroy(table_of);
    return 0;
}

/* core.part(composite, stage) */
static int core_part(lua_State *L)
{
    const struct script_describer *describer = bindings_of(L)->script->options.describer;

    describer->part(describer->ctx, luaL_checkstring(L, 1), luaL_checkstring(L, 2));
    return 0;
}

const luaL_Reg bindings_describe[] = {
    { "composite", core_composite },
    { "part", core_part },
    { NULL, NULL },
};
