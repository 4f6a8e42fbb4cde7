/* What functions of `core` work on, and the place in the user's script that their errors name. See
 * bindingsInt.h. */
#include <string.h>

#include "lua/script/bindingsInt.h"

struct binding *bindings_own(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

struct binding *bindings_of(lua_State *L)
{
    struct binding *binding = bindings_own(L);

    if (binding->sealed) {
        luaL_error(L, "the pipeline is described before rows run: a row can't change it");
    }
    return binding;
}

void bindings_where(lua_State *L, const struct binding *binding, char *text, size_t size)
{
    lua_Debug ar;

    snprintf(text, size, "%s", binding->at);
    for (int level = 0; text[0] == '\0' && lua_getstack(L, level, &ar) != 0; level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.source[0] == '@' && ar.currentline > 0) {
            snprintf(text, size, "%s:%d", ar.source + 1, ar.currentline);
        }
    }
    if (text[0] == '\0') {
        snprintf(text, size, "%s",
                 binding->script->n_files > 0 ? binding->script->files[0].name : "script");
    }
}

/* err lies on the C stack of the caller, so its text is copied first. */
int bindings_raise(lua_State *L, const struct sluice_error *err)
{
    char where[300];

    bindings_where(L, bindings_own(L), where, sizeof where);
    if (strncmp(err->message, where, strlen(where)) == 0) {
        lua_pushstring(L, err->message);
    } else {
        lua_pushfstring(L, "%s: %s", where, err->message);
    }
    return lua_error(L);
}
