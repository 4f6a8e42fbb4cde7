/* Options declared in Lua: { max = { "float", 0.25, min = 0, max = 1, doc = "..." } } as a table of
 * the option engine, and parsed options as a Lua table. */
#ifndef SLUICE_LUA_LUAOPTIONS_H
#define SLUICE_LUA_LUAOPTIONS_H

#include <lua.h>

#include "plugin/options.h"

struct luaoptions;

/* Whose options they are. */
enum luaoptions_of { LUAOPTIONS_PLAIN, LUAOPTIONS_COMPOSITE, LUAOPTIONS_GATE };

/* Reads the declarations at index (nil = none). Types: bool int float string enum size duration
 * path glob column list map range, and in gates and composites node. extra are options that are put
 * in front, such as `over`; each has 16 bytes of the config, in their order. In a gate a
 * declaration may say judge = true: such an option has no part in the task key. Gives. */
sluice_status luaoptions_read(lua_State *, int index, const char *owner,
                              const struct sluice_option *extra, uint32_t n_extra,
                              enum luaoptions_of, struct luaoptions **out,
                              struct sluice_error *) MUST_USE;
void luaoptions_destroy(struct luaoptions *);
struct option_table luaoptions_table(const struct luaoptions *);
/* Pushes a table with every option's value in its Lua form. config is what options_config gave. */
void luaoptions_push(lua_State *, const struct luaoptions *, const void *config);
/* The same without those that are out of the task key: what a gate's measure may see. */
void luaoptions_push_keyed(lua_State *, const struct luaoptions *, const void *config);

#endif
