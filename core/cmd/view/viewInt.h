/* Private to core/cmd/view: facts as Lua tables (view_facts.c), and what views call
 * (view_host.c). All of these raise Lua errors. */
#ifndef SLUICE_CMD_VIEWINT_H
#define SLUICE_CMD_VIEWINT_H

#include <jansson.h>
#include <lua.h>
#include <stdio.h>

/* Once a state. */
void viewfacts_open(lua_State *);
/* Before and after the values of a call are pushed and used: tables that outlive it are no facts
 * any more. */
void viewfacts_begin(lua_State *);
void viewfacts_end(lua_State *);
/* Pushes a value, borrowed until viewfacts_end; NULL = nil. */
void viewfacts_push(lua_State *, const json_t *);
/* The array or object behind the table at an index; NULL = it is no fact of this call. */
json_t *viewfacts_source(lua_State *, int index);

/* Pushes the table of functions; what they print goes to out. */
void viewhost_push(lua_State *, FILE *out);

#endif
