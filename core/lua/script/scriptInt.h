/* A script while it runs: shared by script.c, bindings*.c and the stages that a script defines. */
#ifndef SLUICE_LUA_SCRIPTINT_H
#define SLUICE_LUA_SCRIPTINT_H

#include <pthread.h>

#include "base/buf.h"
#include "base/hash.h"
#include "lua/stage/luastage.h"
#include "lua/script/script.h"

struct loaded_file {
    char *name, *path, *text;
    size_t size;
};

/* Phrases that functions look for: made by the planner, read by the states of all workers. */
struct script_list {
    char *spec; /* owned: where they came from, with the options */
    char hash[33];
    char comment[16];
    uint32_t flags;
    struct text_phrases *phrases;
};

struct script {
    struct script_options options;
    char *path, *base_dir, *cwd, *module_dir, *folder;
    struct script_arg *args; /* owned copies */
    size_t n_args;
    struct loaded_file *files;
    struct buf *codes; /* of each file: the chunk that the planner compiled, for all other states */
    size_t n_files;
    struct script_list *lists;
    size_t n_lists;
    uint64_t list_bytes; /* of those that a stage has declared */
    lua_State *L;        /* the planner's state */
    struct graph *graph; /* being built; NULL afterwards */
    struct luastage **stages;
    char **stage_names;
    uint32_t n_stages;
    struct ffi_module *ffi; /* functions of shared libraries that it defines */
};

/* What the functions of `core` work on: one a state. */
struct binding {
    struct script *script;
    bool planning; /* false: the counting core of a worker */
    uint32_t only; /* the stage that a worker wants */
    uint32_t n_nodes, n_stages, n_functions;
    char at[256];  /* place that overrides the stack's, or "" */
    bool returned; /* core.pipeline was called */
    bool sealed;   /* the script has run: what it describes stands */
};

/* bindings.c: pushes the table `core`. The binding must outlive the state. */
void bindings_push(lua_State *, struct binding *);
/* bindings_place.c: "web.lua:14", the innermost place in a file of the user's. */
void bindings_where(lua_State *, const struct binding *, char *text, size_t size);

/* Where the plugin or library at this path is. Borrowed. */
static inline const char *script_place(const struct script *script, const char *path)
{
    return script->options.place == NULL ? path
                                         : script->options.place(script->options.place_ctx, path);
}

/* Memory of the lists that were made since it was asked last: the stage that asks declares it. */
uint64_t script_new_list_bytes(struct script *);

#define SCRIPT_BYTES (UINT64_C(16) << 20)
#define SCRIPT_LIST_BYTES (UINT64_C(2) << 30)

/* script_files.c: adds the file at path to script->files under a name (the first is the script,
 * whose text may be given). found NULL: an absent file is an error; else *found says whether it is
 * there. */
sluice_status script_file(struct script *, const char *path, const char *name, uint64_t max,
                          bool *found, struct sluice_error *) MUST_USE;
/* A file of at most max bytes that the script reads as text, under the path that it says: part of
 * the script from then on, as its modules are, so that all workers and every frozen plan see the
 * same one. Borrowed. */
sluice_status script_text(struct script *, const char *path, uint64_t max, bool planning,
                          const struct loaded_file **out, struct sluice_error *) MUST_USE;
/* Loads the chunk of a module ("x.y", or the script with name NULL) and leaves it as a
 * function on the stack. */
sluice_status script_chunk(struct script *, lua_State *, const char *module, bool planning,
                           struct sluice_error *) MUST_USE;

#endif
