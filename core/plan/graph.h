/* The pipeline as its script describes it: nodes and what flows between them. Built by core/lua,
 * read by the planner. All that a graph holds is in its arena. Single-threaded. Depends on plugin.
 *
 * A *node* is a stream of rows: the output of a source or of a configured stage. Nodes are created
 * inputs first, so ids are a topological order and are the same each time the script runs. */
#ifndef SLUICE_PLAN_GRAPH_H
#define SLUICE_PLAN_GRAPH_H

#include "base/arena.h"
#include "plan/ask_policy.h"
#include "plugin/options.h"
#include "plugin/registry.h"

enum node_kind {
    NODE_FILES,   /* a set of input files; only a reader stage may follow */
    NODE_STAGE,   /* a configured stage of a plugin or of the script */
    NODE_UNION,   /* rows of all inputs, first input's first; equal schemas */
    NODE_DROPPED, /* the rows dropped between the last reader, union or fork and inputs[0] */
    NODE_DATASET, /* files of a snapshot; only a reader may follow (patterns[0] = PATH or PATH@N) */
    /* the rows as they come, stored by the phase that ends here: what changes behind it makes
     * nothing before it run again */
    NODE_CHECKPOINT
};

/* What `isolate = ...` of a stage says; zeroed = the default of the stage's origin. */
struct node_isolation {
    bool given, on;       /* given: the script says something */
    bool network, gpu;    /* granted */
    bool quarantine_late; /* on_timeout = "quarantine" */
    uint32_t threads;     /* 0 = as many as there are workers */
    uint32_t max_deaths;  /* 0 = the default */
    uint64_t memory;      /* bytes; 0 = the default */
    uint64_t timeout_ns;  /* of a call; 0 = the default */
};

/* What a writer's dataset is: see classes.c for the rules. */
enum node_class { CLASS_NONE, CLASS_BRONZE, CLASS_SILVER, CLASS_GOLD };

/* What becomes of the rows that a writer's dataset has: a run's take their place (also where
 * nothing is said), or come behind them. Where it is said, manifests name all input files
 * (store/appends.h). */
enum node_mode { MODE_NONE, MODE_REBUILD, MODE_APPEND };

/* What is spilled of rows that a later phase takes up again: plan_again.c. */
enum graph_spill {
    SPILL_AUTO,      /* positions, where reading again is known to be cheap */
    SPILL_ROWS,      /* always whole rows */
    SPILL_POSITIONS, /* positions wherever rows can be read again, whatever that costs */
};

enum node_fork { FORK_OPEN, FORK_YES, FORK_NO };

struct node {
    uint32_t id; /* index in graph->nodes */
    enum node_kind kind;
    /* unique and stable: given by s.named or "kind", "kind_2", ... in order of creation */
    char *name;
    bool has_name; /* given by the script */
    char *where;   /* "web.lua:14" */
    uint32_t inputs[8];
    uint32_t n_inputs; /* union: up to 8; stage: port 0, port 1 */
    char **patterns;   /* files */
    uint32_t n_patterns;
    uint64_t split_bytes; /* files: target of an input split */
    uint64_t max_record;  /* files */
    /* files: datasets (PATH, PATH@N) that hold the ones which are left out; in the arena.
     * since_new: one that changed under its old name is as good as a new one, else an error. */
    const char **since;
    uint32_t n_since;
    bool since_new;
    const struct registry_entry *entry; /* stage */
    struct value named, positional;     /* stage: options as the script gave them */
    bool text;                          /* stage: they are text, as on a command line */
    struct node_isolation isolation;    /* stage */
    struct ask_policy asking;           /* stage; its texts stand in the graph's arena */
    enum node_class class;              /* writer */
    enum node_mode mode;                /* writer */
    const char *class_note; /* bronze: its source, gold: its tokenizer, or NULL; in the arena */
    uint32_t partitions;    /* input of a keyed stage: virtual partitions */
    bool fill;              /* union: null where an input lacks a column of another */
    /* nodes of one composite share a group number > 0: inside it, using a node twice is no fork */
    uint32_t group;
    enum node_fork fork; /* graph_restrict: what the whole graph said */
};

struct graph_arg {
    char *name, *type, *value, *doc;
}; /* declared script arguments and their final values */

/* A policy judges metrics at every barrier; see core/lua. */
struct graph_policy {
    char *name;
    int32_t reference;
};

struct graph {
    struct arena arena;
    char *name; /* of the pipeline */
    struct node **nodes;
    uint32_t n_nodes, node_room;
    uint32_t *sinks; /* writer and gate nodes that the pipeline returned */
    uint32_t n_sinks, sink_room;
    struct graph_arg *args;
    uint32_t n_args, arg_room;
    struct graph_policy *policies;
    uint32_t n_policies;
    double max_bad_share;  /* default 0.001; < 0 = unused */
    int64_t max_bad_count; /* < 0 = unused */
    uint64_t seed;
    enum graph_spill spill;
};

struct graph *graph_create(void);
void graph_destroy(struct graph *);

/* Adds a node and gives it a default name. where is copied. The node is owned by the graph. */
sluice_status graph_add(struct graph *, enum node_kind, const char *base_name, const char *where,
                        struct node **out, struct sluice_error *err) MUST_USE;
/* Adds an input; refuses ids not below node->id (no cycles by construction) and more inputs than
 * the kind takes. */
sluice_status graph_connect(struct graph *, struct node *, uint32_t input,
                            struct sluice_error *err) MUST_USE;
/* Renames; SLUICE_E_CONFIG when taken or not [A-Za-z0-9_.-]+. */
sluice_status graph_rename(struct graph *, uint32_t id, const char *name,
                           struct sluice_error *err) MUST_USE;
sluice_status graph_sink(struct graph *, uint32_t id, struct sluice_error *err) MUST_USE;
/* Whether the rows of node id go several ways (x.dropped looks no further back). */
bool graph_is_fork(const struct graph *, uint32_t id);
/* The node itself or, of a checkpoint, the one whose rows it stores. */
uint32_t graph_made_by(const struct graph *, uint32_t id);
/* Leaves only node *id and what feeds it, without the gates on the way, and no sinks; forks stay
 * forks. Ids change: *id becomes that of the same node, or of what stands before it if it is a
 * gate. */
sluice_status graph_restrict(struct graph *, uint32_t *id, struct sluice_error *err) MUST_USE;
/* The options of a stage node as option_args; borrows from the node. */
struct option_args node_args(const struct node *);
/* Node by name, or NULL. */
struct node *graph_find(const struct graph *, const char *name);
/* Checks what can be checked without schemas: every sink is a writer or gate, readers follow files,
 * ports are connected, no node is left unused (a warning list is returned by graph_unused). */
sluice_status graph_validate(const struct graph *, struct sluice_error *err) MUST_USE;

/* classes.c: the name of a class, NULL of none; and whether what the script says of datasets'
 * classes is so: part of graph_validate. */
const char *graph_class_name(enum node_class);
sluice_status graph_check_classes(const struct graph *, struct sluice_error *err) MUST_USE;

/* feeds.c: whether rows that node `from` reads or gives are among those that node `to` gets, be it
 * unchanged or as what stages made of them; what only comes in beside them (port 1: a list, a
 * table) is not. */
bool graph_feeds(const struct graph *, uint32_t from, uint32_t to);

#endif
