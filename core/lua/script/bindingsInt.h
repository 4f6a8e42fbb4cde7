/* Private to core/lua/script/bindings*.c, which are one table of functions, `core`, by what they
 * work on: bindings.c makes the table, bindings_place.c has what all share, bindings_graph.c nodes,
 * bindings_stage.c the stages they run, bindings_isolation.c, bindings_asking.c and
 * bindings_class.c their options `isolate`, `ask` and `class`, bindings_args.c options, the
 * script's arguments and files that it reads, bindings_pipeline.c the pipeline and its policies,
 * bindings_list.c lists of phrases, bindings_describe.c what the library's composites are. */
#ifndef SLUICE_LUA_BINDINGSINT_H
#define SLUICE_LUA_BINDINGSINT_H

#include <lauxlib.h>

#include "lua/script/scriptInt.h"

/* In the registry: { definition, function } of each stage that the script defines; { name, judge,
 * options } of each policy. */
#define STAGES_KEY "sluice.stages"
#define POLICIES_KEY "sluice.policies"

/* bindings_place.c: what the function of `core` that runs works on: its first upvalue. bindings_of
 * raises an error once the script has run: rows change no pipeline. */
struct binding *bindings_own(lua_State *);
struct binding *bindings_of(lua_State *);
/* Raises err at the user's place; doesn't return. */
int bindings_raise(lua_State *, const struct sluice_error *err);

/* The functions of each file, under their names in `core`, ended by NULL. */
extern const luaL_Reg bindings_graph[];
extern const luaL_Reg bindings_stage[];
extern const luaL_Reg bindings_args[];
extern const luaL_Reg bindings_pipeline[];
extern const luaL_Reg bindings_list[];
extern const luaL_Reg bindings_describe[]; /* only where the script's describer asks */

/* The value of an option that is the host's, unless the stage has one of that name itself; NULL =
 * it is not given. */
const struct value *bindings_host_option(const struct node *, const char *name);
/* Removes it: the stage does not see it. */
void bindings_forget_option(struct node *, const char *name);

/* Every stage takes the option `isolate`: moves it to node->isolation. */
sluice_status bindings_take_isolation(struct node *, struct sluice_error *err) MUST_USE;
/* One that asks servers takes the option `ask`, and needs it: moves it to node->asking. */
sluice_status bindings_take_asking(struct graph *, struct node *,
                                   struct sluice_error *err) MUST_USE;
/* Every writer takes the option `class`: moves it to node->class. */
sluice_status bindings_take_class(struct graph *, struct node *, struct sluice_error *err) MUST_USE;
/* And the option `mode`: moves it to node->mode. */
sluice_status bindings_take_mode(struct node *, struct sluice_error *err) MUST_USE;

#endif
