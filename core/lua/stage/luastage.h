/* Stages written in Lua: adapters that give a script's function the vtable of a plugin. Depends on
 * script, sandbox, plugin. */
#ifndef SLUICE_LUA_LUASTAGE_H
#define SLUICE_LUA_LUASTAGE_H

#include "lua/script/script.h"

struct luastage;

/* Describes Lua stage number k of a script from its definition: role "filter", "annotate",
 * "heuristic", "transform", "reader", "gate" or "writer"; the definition table is at index
 * definition, the function at index function of L (the planner's state). Checks everything a user
 * can get wrong, with the place. The hash covers the function's source lines and its upvalues by
 * value (functions recursively; sorted), never string.dump. Gives. */
sluice_status luastage_create(struct script *, uint32_t k, lua_State *L, const char *role,
                              const char *name, int definition, int function, const char *where,
                              struct luastage **out, struct sluice_error *) MUST_USE;
void luastage_destroy(struct luastage *);
/* The descriptor (borrowed) and the hash, for registry_add with the luastage as user pointer. */
const struct sluice_stage *luastage_descriptor(const struct luastage *, struct hash128 *hash);

/* Runs the examples of Lua stage k (its member `examples`) with the default options. Of filters and
 * heuristics: { "text", keep = true|false, reason = "...", further fields by name }. Annotators and
 * transforms: gives = { ... }; readers: gives, bad = "reason", skips = true; writers: writes =
 * "..."; gates: measures = ..., or { sums = { ... }, judges = "pass"|"warn"|"halt" }. report is
 * called once an example; message says what went wrong, or "". */
struct luastage_examples {
    uint32_t kept, dropped; /* examples that say keep = true, or false */
    uint32_t others, failed;
};
sluice_status
luastage_run_examples(struct script *, uint32_t k,
                      void (*report)(void *ctx, uint32_t number, bool passed, const char *message),
                      void *ctx, struct luastage_examples *out, struct sluice_error *err) MUST_USE;
/* The option that a heuristic drops above (or below), or NULL. Borrowed. */
const char *luastage_bound(const struct script *, uint32_t k, bool above);
/* The role of stage k, as above. */
const char *luastage_role(const struct script *, uint32_t k);

/* Hash of the function at index: its source lines (from the script's texts) and upvalues by value.
 * A value that can't be hashed (userdata, coroutine, C function not of the sandbox) is
 * SLUICE_E_CONFIG naming the upvalue. */
sluice_status funchash(struct script *, lua_State *L, int index, struct hash128 *out,
                       struct sluice_error *) MUST_USE;

#endif
