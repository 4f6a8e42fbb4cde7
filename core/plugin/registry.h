/* The registry of stages: finds plugins, probes and loads them, checks their descriptors, and looks
 * stages up by name. Owns copies of descriptors (zero-extended); a loaded plugin is never unloaded.
 * Depends on options. One thread only; the entries it hands out are immutable and live until
 * registry_destroy.
 *
 * Where plugins come from, in this order: registry_options.files (--plugin), search_path
 * (SLUICE_PLUGIN_PATH, absolute entries only), script_dir/plugins, data_home/sluice/plugins, and
 * the install tree (EXE_DIR/plugins, EXE_DIR/../lib/sluice/plugins). Those outside the install tree
 * are only touched when trusted, must not be world-writable, and are tried in a child process
 * first. Order never decides between two stages of one name: that is an error, unless the stage is
 * looked up under its plugin ("plugin.stage"). */
#ifndef SLUICE_PLUGIN_REGISTRY_H
#define SLUICE_PLUGIN_REGISTRY_H

#include "base/buf.h"
#include "base/hash.h"

#define PLUGIN_SCRIPT "script" /* plugin name of stages that a script defines */
#define PLUGIN_CORE "core"     /* plugin name of stages compiled into the core */

struct registry_options {     /* zeroed = install tree only; all borrowed for the call */
    const char *exe_dir;      /* folder of the sluice executable; NULL = ask /proc/self/exe */
    const char *const *files; /* --plugin */
    size_t n_files;
    const char *search_path; /* colon-separated, or NULL */
    const char *script_dir;  /* folder of the pipeline script, or NULL */
    const char *data_home;   /* $XDG_DATA_HOME, or NULL */
    bool trust; /* --trust: plugins outside the install tree are loaded into this process */
    /* this process is a child that runs foreign code: everything is loaded, untried */
    bool contained;
    struct hash128 expected; /* contained: what the files of --plugin must be; zero = anything */
    bool bare;               /* no install tree either (tests) */
    /* Program run as `prober __probe FILE` with the answer on fd 3; NULL = /proc/self/exe. */
    const char *prober;
    uint32_t probe_ms; /* time limit of a probe; 0 = 10,000 */
};

struct registry_plugin {
    const char *name, *version, *license; /* "" where unknown */
    /* "pcre2 10.42, simdjson 14.0.0+3e8dcc9cbff7": what else shapes its output (libraries.h); "" =
     * nothing */
    const char *libraries;
    const char *path; /* absolute path of the .so */
    /* "--plugin" "SLUICE_PLUGIN_PATH" "plugins/ beside the script" "data home" "install tree" */
    const char *found_by;
    const char *problem; /* NULL = loaded; else why not (then there are no stages) */
    bool standard;       /* from the install tree */
    bool loaded;   /* its stages are known; false for a standard plugin known from index.txt only */
    bool isolated; /* loaded in child processes only; what is known here was told by one */
    uint32_t abi_minor_built, abi_minor_needed;
    uint32_t verdict_stride; /* bytes of its struct sluice_verdict */
    struct hash128 hash;     /* XXH3-128 of the file, once loaded */
};

struct registry_entry {
    struct sluice_stage stage;            /* zero-extended copy; size is ours */
    const struct registry_plugin *plugin; /* NULL for stages added with registry_add */
    const char *plugin_name;              /* PLUGIN_CORE, PLUGIN_SCRIPT or the plugin's own name */
    const char *origin;                   /* path of the .so or the text given to registry_add */
    struct hash128 hash;                  /* of the .so, or as given */
    const char *libraries; /* versions of linked libraries that shape its output; "" = none */
    bool trusted; /* standard or core: emitted arrays are checked in depth only on request */
    /* Where its code may run. A plugin that is not standard is isolated unless it is trusted with
     * --trust; its functions are then not loaded into this process at all (only its descriptor is
     * known), and open and the others are NULL or must not be called. */
    enum registry_isolation {
        REGISTRY_IN_PROCESS,
        REGISTRY_ISOLATED,
        REGISTRY_ALWAYS_ISOLATED
    } isolation;
    bool serial; /* its code bears one call at a time: one worker is served at once */
    void *user;  /* of registry_add_user: what an adapter finds its stage by (stage_user) */
};

struct registry;

/* Fills search_path and data_home from the environment: buffer keeps the text of a derived
 * data_home ($HOME/.local/share). */
void registry_environment(struct registry_options *, char *buffer, size_t size);

/* Scans; loads the files given by --plugin. SLUICE_E_CONFIG when one of those can't be loaded.
 * Gives. */
sluice_status registry_create(const struct registry_options *, struct registry **out,
                              struct sluice_error *err) MUST_USE;
void registry_destroy(struct registry *); /* NULL is fine; no stage may be open */

/* Looks up "stage" or "plugin.stage"; a name that a stage had before is one of it. SLUICE_E_CONFIG:
 * unknown (with a suggestion and every path tried and why it gave nothing), or found in two
 * plugins. Borrowed. */
sluice_status registry_find(struct registry *, const char *name, const struct registry_entry **out,
                            struct sluice_error *err) MUST_USE;
/* Loads one more file (`s.plugin "./acme.so"`): the same rule and checks. An already loaded
 * file gives the same handle. */
sluice_status registry_load(struct registry *, const char *path, const struct registry_plugin **out,
                            struct sluice_error *err) MUST_USE;
/* Looks a stage up in one plugin. */
sluice_status registry_find_in(struct registry *, const struct registry_plugin *, const char *stage,
                               const struct registry_entry **out,
                               struct sluice_error *err) MUST_USE;

/* Adds a stage that is not from a file: plugin_name is PLUGIN_CORE (trusted; takes part in lookup
 * by bare name) or PLUGIN_SCRIPT (found by bare name only when nothing else has it). Checks the
 * descriptor as if it were a plugin's. *stage is copied, but what its pointers reach (names, option
 * table) is borrowed until registry_destroy; origin is copied. Refuses a second stage of the name
 * in the same plugin_name. out may be NULL. */
sluice_status registry_add(struct registry *, const struct sluice_stage *stage,
                           const char *plugin_name, const char *origin, struct hash128 hash,
                           const struct registry_entry **out, struct sluice_error *err) MUST_USE;
/* The same with a pointer that the stage's open gets back by stage_user(host). Borrowed until
 * registry_destroy. */
sluice_status registry_add_user(struct registry *, const struct sluice_stage *stage, void *user,
                                const char *plugin_name, const char *origin, struct hash128 hash,
                                const struct registry_entry **out,
                                struct sluice_error *err) MUST_USE;

/* Marks an entry of registry_add as REGISTRY_ALWAYS_ISOLATED (stages that call foreign
 * functions). */
void registry_isolate_always(struct registry *, const struct registry_entry *);
/* Marks such an entry as serial. */
void registry_serialise(struct registry *, const struct registry_entry *);
/* Says which libraries shape the output of such an entry. Copies. */
sluice_status registry_set_libraries(struct registry *, const struct registry_entry *,
                                     const char *libraries, struct sluice_error *err) MUST_USE;

/* The stage that provides such derived columns ("words"); NULL = no plugin has one. */
sluice_status registry_find_provider(struct registry *, const char *derived,
                                     const struct registry_entry **out,
                                     struct sluice_error *err) MUST_USE;

/* Loads everything that may be loaded; problems are kept in the plugin list. Call before listing.
 */
sluice_status registry_load_all(struct registry *, struct sluice_error *err) MUST_USE;
size_t registry_count(const struct registry *); /* stages, sorted by name, then plugin */
const struct registry_entry *registry_at(const struct registry *, size_t k);
size_t registry_plugin_count(const struct registry *); /* in the order found */
const struct registry_plugin *registry_plugin_at(const struct registry *, size_t k);
/* Plugins that the build left out: "name: reason" lines of skipped.txt. NULL past the end. */
const char *registry_skipped(const struct registry *, size_t k);
/* Folders looked at that gave nothing, as "path: why". NULL past the end. */
const char *registry_tried(const struct registry *, size_t k);
/* Text of plugins/index.txt ("file.so stage stage ...\n" by file name) for the install tree: lets a
 * lookup load one file, not all. Only a hint: a stale index costs time, never correctness. */
sluice_status registry_index(struct registry *, struct buf *out, struct sluice_error *err) MUST_USE;

/* Descriptor checks of one stage (SLUICE_E_INTERNAL), after zero-extension. */
sluice_status registry_check_stage(const struct sluice_stage *, struct sluice_error *err) MUST_USE;

/* Body of the hidden command `__probe FILE`: loads FILE in this process, checks it, writes what is
 * in it to fd 3; returns the exit status. The caller has dropped the rights of the process and does
 * nothing else with it. */
int probe_main(const char *path);
/* Answers that the plugin can't be tried, and why; false = nobody listens. */
bool probe_fail(const struct sluice_error *);

#endif
