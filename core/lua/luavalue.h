/* Between Lua values and option values. */
#ifndef SLUICE_LUA_LUAVALUE_H
#define SLUICE_LUA_LUAVALUE_H

#include <lua.h>

#include "plugin/value.h"

/* Reads the Lua value at index: sequences become lists, tables with string keys maps, {} an empty
 * map. Functions, userdata and mixed tables are refused with the path. Depth at most 16. */
sluice_status luavalue_read(lua_State *, int index, const char *what, struct value *out,
                            struct sluice_error *) MUST_USE;
/* Pushes it. */
void luavalue_push(lua_State *, const struct value *);

#endif
