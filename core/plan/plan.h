/* The plan: a graph turned into phases of pure tasks. Depends on graph, splits, plugin, store.
 *
 * A *lane* is a source of tasks: the input splits of one reader, the virtual partitions of one
 * keyed stage, or the single task of a global stage. A *domain* is an ordered set of lanes that
 * unions bring together; its tasks are the lanes' tasks one after the other. The *level* of a node
 * is one more than its input's where a barrier lies between. A *phase* is what stands at one level
 * of one domain; its task t reads only what is named in the plan and commits once.
 *
 * An *op* is a place in a phase: a reader, a loaded edge, a stage, a union, a collector of dropped
 * rows, or a stored edge. Ops of a phase are in topological order. Everything here is read-only
 * once built and shared by all workers. */
#ifndef SLUICE_PLAN_PLAN_H
#define SLUICE_PLAN_PLAN_H

#include "base/hash.h"
#include "data/schema.h"
#include "plan/graph.h"
#include "plan/splits.h"
#include "plugin/stage.h"
#include "store/listing.h"
#include "store/probe.h"

/* Raise when the core's own output changes for equal inputs: part of every task's key. */
#define PLAN_OUTPUT_EPOCH 2u
#define PLAN_NEEDS_MAX 256 /* columns that a stage may ask of a port */

enum op_kind { OP_READ, OP_LOAD, OP_STAGE, OP_UNION, OP_COLLECT, OP_STORE };

enum edge_load {
    LOAD_SAME,     /* task t loads what task t of the producing phase stored */
    LOAD_GATHER,   /* everything, in task order, with _pos */
    LOAD_KEYED,    /* partition t of every producing task, sorted by (key, position), with _pos */
    LOAD_BY_SPLIT, /* slice t of every producing task, merged by row */
    LOAD_BROADCAST /* everything, in task order, for every task */
};

struct plan_edge {
    uint32_t index;
    char *name; /* "good>minhash": producer op > consumer */
    uint32_t producer_phase, producer_op;
    uint32_t store_op;
    enum edge_load load;
    /* LOAD_KEYED: virtual partitions; LOAD_BY_SPLIT: tasks of the consuming domain; else 1 */
    uint32_t n_partitions;
    struct schema schema; /* stored columns (after projection) */
    struct schema loaded; /* what a loader delivers (schema plus _pos or with _row) */
    /* LOAD_SAME, once projected: do its loaders read the rows' bytes from the input files again,
     * and why, or why not (owned)? See again.c */
    bool again;
    char *why;
};

/* How an OP_LOAD comes by the columns that its edge does not store: from a reader's second pass
 * over the split. */
struct op_again {
    uint32_t op;      /* the OP_READ in its phase, of the lane that the reader stands for */
    int32_t *columns; /* per out slot of the load: slot of that OP_READ, or -1: stored; owned */
    uint32_t first_phase, first_op; /* the reader's first pass */
};

struct op_input {
    uint32_t op;
    uint32_t port;
};

struct op {
    uint32_t index;
    enum op_kind kind;
    char *name;              /* unique in the plan; the node's name for stages */
    const struct node *node; /* NULL for providers and edges */
    struct stage *stage;     /* OP_READ, OP_STAGE: opened and prepared; owned by the plan */
    const struct sluice_stage *kind_of; /* of stage; borrowed */
    struct op_input *consumers;         /* (op, port) in order */
    uint32_t n_consumers;
    int32_t inputs[2]; /* ops feeding port 0 and 1; -1. A union: see n_union */
    uint32_t *union_inputs;
    uint32_t n_union;
    struct schema out; /* slots of the batches it pushes */
    bool *live;        /* out slots that somebody downstream uses */
    /* per port: slot of the input for each needed column, -1 = optional and absent */
    int32_t *need[2];
    uint32_t n_need[2]; /* at most PLAN_NEEDS_MAX */
    /* OP_READ: out slot k comes from the reader's column ~from[k], or is made by the host (0).
     * OP_STAGE: out slot k comes from input slot from[k], or from emitted column ~from[k].
     * OP_UNION: from[input * out.n + k], -1 = null. OP_STORE: slot of the k-th stored column. */
    int32_t *from;
    int32_t row_slot;       /* slot of _row in out, or -1 */
    struct plan_edge *edge; /* OP_LOAD, OP_STORE */
    /* OP_LOAD: one per reader, where the edge's rows are read again; owned */
    struct op_again *agains;
    uint32_t n_agains;
    /* OP_READ: a second pass for an OP_LOAD, which drives it; none of its rows is counted */
    bool again;
    uint32_t *drops_of; /* OP_COLLECT: ops whose dropped rows it gathers */
    uint32_t n_drops_of;
    /* OP_COLLECT: per drops_of: slot of that op's input for each out column, -1 = null */
    int32_t **drop_from;
    /* OP_COLLECT: the OP_LOAD bringing rows dropped in an earlier phase, or -1 */
    int32_t drop_load;
    bool side;        /* feeds a port 1, so it is driven before the others */
    uint32_t lane;    /* OP_READ: index in the phase's lanes */
    int32_t *part_of; /* OP_READ: per out slot: index of the {part} of the path, or -1 */
    struct stage_output *outputs; /* writers; owned */
    uint32_t n_outputs;
    uint32_t n_emitted;       /* OP_READ: columns that the reader emits */
    struct stage_note *notes; /* owned */
    uint32_t n_notes;
    struct hash128 key;   /* of everything static that shapes its output */
    char *key_text;       /* the same for people: options and versions */
    bool writes;          /* a writer: has output files */
    char *dataset;        /* writers: absolute folder */
    bool isolated;        /* its stage runs in child processes */
    bool quarantine_late; /* a row that takes it too long is set aside instead of ending the run */
};

enum lane_kind { LANE_SPLITS, LANE_PARTITIONS, LANE_GLOBAL };

struct lane {
    uint32_t index;
    enum lane_kind kind;
    const struct node *node; /* reader, keyed or global stage */
    uint32_t n_tasks;
    /* LANE_SPLITS */
    struct listing files;     /* owned */
    struct input_info *infos; /* per file; owned */
    struct splits splits;     /* owned */
    bool planned;             /* splits is there */
};

struct phase {
    uint32_t index;
    uint32_t level;
    char *name;      /* "1-read_jsonl..write": level and first and last op, stable */
    struct op **ops; /* owned, topological */
    uint32_t n_ops, capacity;
    struct lane **lanes; /* borrowed from the plan, in domain order */
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
    /* Probes n files (in parallel where threads are at hand). Compressed files of at least `large`
     * bytes need their decoded size. */
    sluice_status (*probe)(void *ctx, const struct listing_file *files, size_t n, uint64_t large,
                           struct input_info *infos, struct sluice_error *err);
    void *probe_ctx;
    /* Gives what runs an entry's code in child processes, to be opened in its place (a twin, see
     * core/isolate). The entry or the script asks for it; isolation may be all zeros. NULL: what
     * must be isolated is refused. */
    sluice_status (*isolate)(void *ctx, const struct registry_entry *,
                             const struct node_isolation *isolation,
                             const struct registry_entry **twin, struct sluice_error *err);
    void *isolate_ctx;
    bool in_process; /* for debuggers: nothing is isolated, whatever a script or an entry says */
};

struct plan {
    const struct graph *graph; /* borrowed */
    struct plan_options options;
    struct phase **phases; /* in an order in which they can run */
    uint32_t n_phases;
    struct lane **lanes;
    uint32_t n_lanes;
    struct plan_edge **edges;
    uint32_t n_edges;
    uint32_t n_tasks;   /* of all phases: task numbers are 0 .. n_tasks-1 in phase order */
    struct hash128 key; /* of the whole */
};

/* Builds phases, opens and prepares every stage, propagates schemas, inserts providers, projects,
 * lists and probes inputs, plans splits and keys. registry gives providers. Gives. */
sluice_status plan_build(const struct graph *, struct registry *, const struct plan_options *,
                         struct plan **out, struct sluice_error *) MUST_USE;
void plan_destroy(struct plan *);

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
const char *phase_task_name(const struct phase *, uint32_t task, char buffer[64]);
/* The op that carries a graph node, or NULL; *phase_out may be NULL. */
const struct op *plan_find_op(const struct plan *, const char *name,
                              const struct phase **phase_out);

#endif
