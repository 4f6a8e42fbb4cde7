/* A pipeline script: loads it in the deterministic sandbox and turns it into a graph; opens it
 * again in the state of every worker.
 *
 * The script runs at least twice: once for the planner, with a `core` that builds the graph, and
 * once for each worker of a Lua stage, with a `core` that only counts, so that the worker finds its
 * function: stages in Lua are numbered in the order in which the script defines them, and the
 * script must define the same ones each time (checked by name and source hash). Owns the text of
 * the script and of every module it requires: workers never read files again. Depends on graph and
 * plugin. */
#ifndef SLUICE_LUA_SCRIPT_H
#define SLUICE_LUA_SCRIPT_H

#include <lua.h>
#include <stdatomic.h>

#include "plan/graph.h"

struct script;

struct script_arg {
    const char *name, *value;
};

/* A watchdog that the host lends: between begin and end it calls tick(ctx) on the calling thread
 * (from a signal handler) every few milliseconds of its processor time. Without one an endless loop
 * in a row is never found. */
struct script_watching {
    uint64_t room[16];
};
struct script_watch {
    void (*begin)(struct script_watching *, void (*tick)(void *ctx), void *ctx);
    void (*end)(struct script_watching *);
};

/* A file of a script. name is relative to where it was found ("web.lua", "heuristics/digits.lua").
 */
struct script_file {
    const char *name, *path, *text;
    size_t size;
};

/* Is told what the standard library has: for people who look at it. */
struct script_describer {
    void *ctx;
    /* A composite, when it is defined; texts are "" where there are none. */
    void (*composite)(void *ctx, const char *name, const char *doc, const char *example,
                      const struct option_table *);
    /* A stage that a composite puts into the pipeline; each time. */
    void (*part)(void *ctx, const char *composite, const char *stage);
};

struct script_options {
    const char *path; /* absolute */
    const char *text; /* what stands for the text of that file, or NULL: it is read */
    /* The script and its modules, the script first: then no file is read. Borrowed for the call. */
    const struct script_file *files;
    size_t n_files;
    /* Where a plugin or library that the script names by an absolute path is; NULL: there. */
    const char *(*place)(void *ctx, const char *path);
    void *place_ctx;
    /* what relative paths in the script mean: its folder, also when a copy of it runs */
    const char *base_dir;
    const char *cwd; /* what relative paths given on the command line mean */
    /* where `require "x.y"` finds x/y.lua after the script's folder: the Lua standard library */
    const char *module_dir;
    const struct script_arg *args; /* name=value from the command line */
    size_t n_args;
    struct registry *registry;
    uint64_t memory; /* bytes a state may use; 0 = 256 MiB */
    bool foreign;    /* ffi.def may load: a child process that has given up its rights */
    bool testing;    /* the script may define stages and return no pipeline (`sluice test`) */
    const struct script_watch *watch; /* borrowed until script_destroy; NULL = no watchdog */
    /* once it is not 0 whatever runs in Lua ends soon; or NULL. Borrowed */
    const _Atomic int *stop;
    /* Is told each argument that the script declares, before values are looked at; or NULL. type is
     * the name that the script gave. */
    void (*declared)(void *ctx, const char *type, const struct sluice_option *);
    void *declared_ctx;
    const struct script_describer *describer; /* borrowed; NULL = nobody asks */
};

/* Runs the script. A script that returns no pipeline is SLUICE_E_CONFIG. Errors point at FILE:LINE
 * of the user's script. Gives script and graph (destroy the graph first; stages of the script live
 * in the registry and borrow from the script). */
sluice_status script_load(const struct script_options *, struct script **out, struct graph **graph,
                          struct sluice_error *) MUST_USE;
void script_destroy(struct script *);

/* Files that were loaded: the script itself first, then modules in order. Borrowed. */
const struct script_file *script_files(const struct script *, size_t *n);

/* A fresh state for Lua stage number k, in which the script has run with a counting core; on the
 * stack: nothing. Of the stages only this one is kept: with hundreds of them, states that keep all
 * take gigabytes. Its function is reached with script_push_stage. Close with script_worker_close.
 * Thread-safe for different states. */
sluice_status script_worker_open(struct script *, uint32_t k, lua_State **out,
                                 struct sluice_error *) MUST_USE;
void script_worker_close(lua_State *);
/* Pushes the definition table and then the function of Lua stage number k, which must be that of
 * the state. */
void script_push_stage(lua_State *, uint32_t k);

/* Calls policy k's judge with the run's measures (a JSON text); outcome 0 nothing, 1 warn, 2 halt.
 * message is filled for 1 and 2. */
sluice_status script_judge(struct script *, uint32_t policy, const char *run_json, int *outcome,
                           char message[1000], struct sluice_error *) MUST_USE;

/* Asks policy k what becomes of a task that failed (facts: see run/retry.c). *said false: it leaves
 * that to others. *seconds: until it is tried again, SCRIPT_GIVE_UP or SCRIPT_HALT. */
#define SCRIPT_GIVE_UP (-1.0)
#define SCRIPT_HALT (-2.0)
sluice_status script_retry(struct script *, uint32_t policy, const char *facts_json, bool *said,
                           double *seconds, struct sluice_error *) MUST_USE;

/* Asks policy k whether a second copy of a task in hand is begun (facts: see run/late.c). */
sluice_status script_speculate(struct script *, uint32_t policy, const char *facts_json, bool *said,
                               bool *wanted, struct sluice_error *) MUST_USE;

/* Examples of heuristics (kept and dropped) for `sluice test`: number of Lua stages and their
 * definitions. */
uint32_t script_n_stages(const struct script *);
/* Path of the k-th library that ffi.def names; NULL past the end. */
const char *script_library(const struct script *, uint32_t k);
const char *script_stage_name(const struct script *, uint32_t k);

#endif
