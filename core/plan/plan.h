/* The plan: a graph turned into phases of pure tasks. Depends on graph, splits, plugin, store.
 *
 * A *lane* is a source of tasks: the input splits of one reader, the virtual partitions of one
 * keyed stage, or the single task of a global stage. A *domain* is an ordered set of lanes that
 * unions bring together; its tasks are the lanes' tasks one after the other. The *level* of a node
 * is one more than its input's where a barrier lies between. A *phase* is what stands at one level
 * of one domain; its task t reads only what is named in the plan and commits once.
 *
 * An *op* is a place in a phase (see op.h). Ops of a phase are in topological order. Everything
 * here is read-only once built and shared by all workers. */
#ifndef SLUICE_PLAN_PLAN_H
#define SLUICE_PLAN_PLAN_H

#include "base/buf.h"
#include "base/hash.h"
#include "data/schema.h"
#include "plan/graph.h"
#include "plan/op.h"
#include "plan/splits.h"
#include "plugin/stage.h"
#include "store/listing.h"

struct statcache;

/* Raise when the core's own output changes for equal inputs: part of every task's key. */
#define PLAN_OUTPUT_EPOCH 2u

enum edge_load {
    LOAD_SAME,     /* task t loads what task t of the producing phase stored */
    LOAD_GATHER,   /* everything, in task order, with _pos */
    LOAD_KEYED,    /* partition t of every producing task, sorted by (key, position), with _pos */
    LOAD_BY_SPLIT, /* slice t of every producing task, merged by row */
    LOAD_BROADCAST /* everything, in task order, for every task */
};

struct plan_edge {
    uint32_t index;
    const char *name; /* "good>minhash": producer op > consumer */
    uint32_t producer_phase, producer_op;
    uint32_t store_op;
    enum edge_load load;
    /* LOAD_KEYED: virtual partitions; LOAD_BY_SPLIT: tasks of the consuming domain; else 1 */
    uint32_t n_partitions;
    struct schema schema; /* stored columns (after projection) */
    struct schema loaded; /* what a loader delivers (schema plus _pos or with _row) */
    /* LOAD_SAME, once projected: do its loaders read the rows' bytes from the input files again,
     * and why, or why not? See plan_again.c */
    bool again;
    const char *why;
};

enum lane_kind { LANE_SPLITS, LANE_PARTITIONS, LANE_GLOBAL };

struct lane {
    uint32_t index;
    enum lane_kind kind;
    const struct node *node; /* reader, keyed or global stage */
    uint32_t n_tasks;
    /* LANE_SPLITS */
    struct listing files; /* owned */
    struct splits splits; /* owned */
    bool listed;          /* files is there */
    bool planned;         /* splits is there */
    bool described;       /* of readers with survey, it was looked for */
    /* What the reader said of the first file: struct sluice_plan.described */
    const char *described_uri;
    const void *described_data;
    uint64_t described_n;
    /* What the manifest says that the files of a dataset hold, per file; NULL: nobody says so, it
     * is found out when they are read. */
    const struct hash128 *hashes;
    /* Files that are left out since a dataset has them, and their hashes; of a plan that is made,
     * not of one that was frozen. */
    struct listing_file *left_out;
    struct hash128 *left_hashes;
    size_t n_left_out;
};

struct phase {
    uint32_t index;
    uint32_t level;
    const char *name; /* "1-read_jsonl..write": level and first and last op, stable */
    struct op **ops;  /* topological */
    uint32_t n_ops, capacity;
    struct lane **lanes; /* of the plan, in domain order */
    uint32_t n_lanes;
    uint32_t n_tasks;
    uint32_t *depends; /* phases that must be complete before any task here */
    uint32_t n_depends;
    struct hash128 key; /* over its ops and their wiring */
};

struct plan_options {
    const char *base_dir; /* of the script: relative patterns and paths */
    const char *run_dir;  /* absolute; for the stat cache */
    const char *scratch;
    uint64_t limit_files; /* 0 = all */
    uint64_t batch_bytes;
    bool check_only;                       /* no listing, no data: stop after schemas */
    const struct stage_services *services; /* host services handed to stages */
    /* Gives what runs an entry's code in child processes, to be opened in its place (a twin, see
     * core/isolate). The entry or the script asks for it; isolation may be all zeros. NULL: what
     * must be isolated is refused. */
    sluice_status (*isolate)(void *ctx, const struct registry_entry *,
                             const struct node_isolation *isolation,
                             const struct registry_entry **twin, struct sluice_error *err);
    void *isolate_ctx;
    /* Surveys the first of the files with a reader that is not prepared yet: what it said of it,
     * and whether it said anything. hashes as in struct lane. NULL: nobody does. */
    sluice_status (*describe)(void *ctx, struct stage *, const struct listing *,
                              const struct hash128 *hashes, struct buf *out, bool *said,
                              struct sluice_error *err);
    void *describe_ctx;
    bool in_process; /* for debuggers: nothing is isolated, whatever a script or an entry says */
    /* Of a plan that is frozen, or to be. keep: where the file that an option names is kept, and
     * what it holds; a path that it gave it answers with itself. thaw: gives the files of a reader
     * as they were listed once; *found false: they are listed now. NULL: files are used where they
     * are, and read for their hashes; all are listed. */
    sluice_status (*keep)(void *ctx, const char *path, const char **place, struct hash128 *hash,
                          struct sluice_error *err);
    sluice_status (*thaw)(void *ctx, const char *reader, struct listing *files,
                          const struct hash128 **hashes, bool *found, struct sluice_error *err);
    void *frozen_ctx;
    /* A folder in which every writer's dataset is, by its name, in place of where the script says.
     * NULL: it is there. */
    const char *datasets;
    struct statcache *inputs; /* what is known of input files; NULL = nothing; borrowed */
    bool frozen;              /* it was planned before: files are those that were listed then */
    /* Rows may end anywhere, with all of their columns: nothing need come of them but what an
     * observer of the chain is told. */
    bool open;
};

struct plan {
    struct arena arena;        /* everything here stands in it, and ends with it */
    const struct graph *graph; /* borrowed */
    struct plan_options options;
    struct phase **phases; /* in an order in which they can run */
    uint32_t n_phases;
    struct lane **lanes;
    uint32_t n_lanes;
    struct plan_edge **edges;
    uint32_t n_edges, edges_capacity;
    uint32_t n_tasks;   /* of all phases: task numbers are 0 .. n_tasks-1 in phase order */
    struct hash128 key; /* of the whole; of files their names and places, not what they hold */
};

/* Builds phases, opens and prepares every stage, propagates schemas, inserts providers, projects,
 * lists inputs, plans splits and keys; no input is read. registry gives providers. Gives. */
sluice_status plan_build(const struct graph *, struct registry *, const struct plan_options *,
                         struct plan **out, struct sluice_error *) MUST_USE;
void plan_destroy(struct plan *);

/* A hash of a stage's code and options: by what a survey of a file is remembered. */
sluice_status plan_stage_key(const struct stage *, struct hash128 *out,
                             struct sluice_error *) MUST_USE;

/* Task numbers. */
struct task_id {
    uint32_t phase, task;
};
struct task_id plan_task(const struct plan *, uint32_t number);
uint32_t plan_task_number(const struct plan *, struct task_id);
/* The lane of a task and its index in that lane. */
const struct lane *phase_lane(const struct phase *, uint32_t task, uint32_t *index);
/* The lane whose tasks load a keyed or gathered edge: that of the keyed or global stage behind it.
 * NULL: every task of the phase. */
const struct lane *phase_load_lane(const struct phase *, const struct op *load);
/* "web/a.jsonl.zst@0", "partition 7", "all". Borrowed or written to buffer. */
const char *phase_task_name(const struct phase *, uint32_t task, char buffer[SPLIT_NAME]);
/* The first of them, of a split of the lane. */
const char *lane_split_name(const struct lane *, size_t split, char buffer[SPLIT_NAME]);
/* Does a collector take what this OP_LOAD brings by itself, in its own order? Then nobody pushes
 * it. */
bool phase_pulls(const struct phase *, uint32_t load);
/* The op that feeds a port of op. */
static inline const struct op *phase_input(const struct phase *phase, const struct op *op,
                                           uint32_t port)
{
    return phase->ops[op_input(op, port)];
}
/* The op that carries a graph node, or NULL; *phase_out may be NULL. */
const struct op *plan_find_op(const struct plan *, const char *name,
                              const struct phase **phase_out);

#endif
